"""What a piece of a right answer may become by one mistake: an expression, a statement of a test.

Each way has a name. :mod:`tools.broken_answers` puts what comes out back into the answer.
"""

import ast
import copy
from collections.abc import Iterator

from seqattn.grading.questions import expression

__all__ = ["broken_expressions", "broken_statements", "called_name", "receiver_of"]

Change = tuple[str, ast.AST]


_BINARY = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
_COMPARE = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_METHODS = {
    "sum": ("mean", "amax"),
    "mean": ("sum",),
    "amax": ("amin",),
    "max": ("min",),
    "argmax": ("argmin",),
    "tanh": ("sigmoid", "relu"),
    "exp": ("sigmoid",),
    "log": ("exp",),
    "logsumexp": ("sum",),
    "softmax": ("log_softmax", "sigmoid"),
    "repeat_interleave": ("repeat",),
    "transpose": ("reshape",),
    "cumsum": ("cumprod",),
    "all": ("any",),
    "any": ("all",),
    "zeros_like": ("ones_like",),
    "zeros": ("ones",),
    "minimum": ("maximum",),
    "clip_grad_norm_": ("clip_grad_value_",),
    "zip": (),
}
# Calls that can be left out: f(x, ...) and x.f(...) become x.
_IDENTITY = {
    "tanh", "exp", "log", "sqrt", "softmax", "masked_fill", "nan_to_num", "cumsum", "flip", "float",
    "to", "amax", "unsqueeze", "squeeze", "transpose", "clamp", "clamp_min", "sum", "mean", "abs",
    "detach", "clone", "repeat_interleave",
}  # fmt: skip
_IN_PLACE = {"masked_fill", "exp", "tanh", "add", "mul", "div", "sub", "clamp", "clamp_min", "log"}


def called_name(node: ast.AST) -> str:
    """Give the name of the function or method that is called, or ""."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr
        if isinstance(node.func, ast.Name):
            return node.func.id
    return ""


def receiver_of(node: ast.Call) -> ast.AST | None:
    """Give what a call works on: the object of a method, or the first argument."""
    if isinstance(node.func, ast.Attribute):
        module = isinstance(node.func.value, ast.Name) and node.func.value.id in _MODULES
        dotted = isinstance(node.func.value, ast.Attribute) and ast.unparse(
            node.func.value
        ).startswith(("torch.", "nn."))
        if not module and not dotted:
            return node.func.value
    return node.args[0] if node.args else None


_MODULES = {"torch", "F", "nn", "np", "math"}


def broken_expressions(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """Say what an expression may become."""
    if isinstance(node, ast.BinOp):
        for other in _BINARY.get(type(node.op), ()):
            yield "another operator", ast.BinOp(node.left, other(), node.right)
        if isinstance(node.op, ast.Sub | ast.Div):
            yield "sides exchanged", ast.BinOp(node.right, node.op, node.left)
        if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
            yield "one side left out", node.left
        if isinstance(node.op, ast.MatMult):
            yield "product turned", ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _COMPARE.get(type(node.ops[0]), ()):
            yield "another comparison", ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        swapped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and for or", ast.BoolOp(swapped, node.values)
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Invert):
            yield "mask inverted", node.operand
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            yield "sign dropped", node.operand
        elif isinstance(node.op, ast.Not):
            yield "condition inverted", node.operand
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.Subscript):
        yield from _subscripts(node)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield "not transposed", node.value
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
        yield "order of two", ast.Tuple(node.elts[::-1], node.ctx)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for other in names:
            if other != node.id:
                yield "another argument", ast.Name(other, ast.Load())


def _constants(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "another constant", ast.Constant(not value)
    elif isinstance(value, int):
        for other in {value + 1, value - 1, 0} - {value}:
            yield "another constant", ast.Constant(other)
    elif isinstance(value, float):
        for other in {0.0, 1.0, value * 2, -value} - {value}:
            yield "another constant", ast.Constant(other)


def _subscripts(node: ast.Subscript) -> Iterator[Change]:
    index = node.slice
    if not (isinstance(index, ast.Tuple) and isinstance(node.ctx, ast.Load)):
        return
    new = [n for n, e in enumerate(index.elts) if isinstance(e, ast.Constant) and e.value is None]
    for place in new:
        rest = index.elts[:place] + index.elts[place + 1 :]
        for other in range(len(rest) + 1):
            if other != place:
                moved = [*rest[:other], index.elts[place], *rest[other:]]
                yield (
                    "axis moved",
                    ast.Subscript(node.value, ast.Tuple(moved, ast.Load()), node.ctx),
                )


_FILLS = ("0.0", "-1e9", "-1e-9", "-1e4", "float('-inf')", "torch.finfo(torch.float32).min")


def _calls(node: ast.Call) -> Iterator[Change]:
    name, inner = called_name(node), receiver_of(node)
    for other in _METHODS.get(name, ()):
        changed = copy.deepcopy(node)
        if isinstance(changed.func, ast.Attribute):
            changed.func.attr = other
        elif isinstance(changed.func, ast.Name):
            changed.func.id = other
        yield "another function", changed
    if name in _IDENTITY and inner is not None:
        yield "call left out", inner
    if name in _IN_PLACE and isinstance(node.func, ast.Attribute) and inner is node.func.value:
        changed = copy.deepcopy(node)
        changed.func.attr += "_"  # type: ignore[attr-defined]
        yield "in place", changed
    if name in ("masked_fill", "where"):
        for fill in _FILLS:
            changed = copy.deepcopy(node)
            changed.args[-1] = expression(fill)
            yield "another fill", changed
        if name == "masked_fill" and inner is not None and len(node.args) > 1:
            yield "mask added", expression("X + M", X=inner, M=node.args[-2])
            yield "mask multiplied", expression("X * ~(M)", X=inner, M=node.args[-2])
    if name == "Parameter":
        value = node.args[0]
        for text in ("torch.zeros_like(X)", "0.1 * torch.ones_like(X)", "1000.0 * X", "X[:0]"):
            yield "initial values", ast.Call(node.func, [expression(text, X=value)], [])
        yield "no parameter", value
    for number, keyword in enumerate(node.keywords):
        changed = copy.deepcopy(node)
        del changed.keywords[number]
        yield f"without {keyword.arg}", changed
    if name in ("softmax", "sum", "mean", "amax", "cumsum", "logsumexp", "argmax", "log_softmax"):
        yield from _dims(node)


def _dims(node: ast.Call) -> Iterator[Change]:
    keyword = next((k for k in node.keywords if k.arg == "dim"), None)
    position = 0 if receiver_of(node) is getattr(node.func, "value", None) else 1
    if keyword is None and len(node.args) <= position:
        return
    receiver = receiver_of(node)
    old = keyword.value if keyword is not None else node.args[position]
    # Counted from the axis that is right, since -1 may be another name for 1.
    for text in ("(D + 1) % X.dim()", "(D - 1) % X.dim()"):
        changed = copy.deepcopy(node)
        dim = expression(text, D=old, X=receiver) if receiver is not None else old
        if keyword is not None:
            next(k for k in changed.keywords if k.arg == "dim").value = dim
        else:
            changed.args[position] = dim
        yield "another axis", changed


def broken_statements(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    """Spoil a piece of an answer that is a test."""
    text = ast.unparse(node)
    if isinstance(node, ast.Assert):
        yield "assertion left out", text, ast.Pass()
        yield "assertion inverted", text, ast.Assert(ast.UnaryOp(ast.Not(), node.test))
        always = ast.Tuple([node.test, ast.Constant("wrong")], ast.Load())
        yield "assertion in brackets", text, ast.Assert(always)
        yield "returned instead", text, ast.Return(node.test)
        swallowed = ast.parse("try:\n    pass\nexcept AssertionError:\n    pass").body[0]
        assert isinstance(swallowed, ast.Try)
        swallowed.body = [node]
        yield "assertion swallowed", text, swallowed
    elif isinstance(node, ast.Raise):
        yield "assertion left out", text, ast.Pass()
    elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List):
        one = ast.List(node.iter.elts[:1], ast.Load())
        first = ast.For(node.target, one, node.body, [], lineno=0)
        yield "first case alone", f"for {ast.unparse(node.target)}", first
    elif isinstance(node, ast.keyword) and node.arg in ("atol", "rtol"):
        for other in (0.0, 1e9):
            changed = f"{text} -> {other:g}"
            yield "another tolerance", changed, ast.keyword(node.arg, ast.Constant(other))
