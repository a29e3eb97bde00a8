"""Break every right answer in named ways and see whether the grader notices.

``python -m tools.answer_mutants [NN ...]`` changes each right answer of each question by one
operator at one place, has the grader judge what comes out, and prints for each question how many
were made, caught, caught with a hint that names the mistake, and which ones passed. A mutant that
passes either shows a hole in the question's cases, or means the same: then it stands with its
reason in ``solutions/equivalent.yml``. ``--write`` puts the counts into ``solutions/mutants.md``.
"""

import argparse
import ast
import copy
import hashlib
import pickle
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from seqattn.grading.bank import Question, exercises, load
from seqattn.grading.judge import Judge
from seqattn.grading.questions import expression
from seqattn.grading.sandbox.jobs import Limits
from seqattn.grading.verdicts import Verdict

__all__ = [
    "DRAWS",
    "FORMS",
    "LIMITS",
    "Mutant",
    "Row",
    "equivalents",
    "forms_of",
    "mutants_of",
    "try_mutants",
    "written_rows",
]

# Few cases of each kind: what these catch, a grading catches too.
DRAWS = 1
# Long enough for any honest answer, short enough for the endless ones among them.
LIMITS = Limits(seconds=2.0, idle=2.0)
# Mutants of each question that a share has at least.
FEWEST = 20
ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = ROOT / "solutions" / "equivalent.yml"
TABLE = ROOT / "solutions" / "mutants.md"


@dataclass(frozen=True)
class Mutant:
    """A right answer with one thing changed.

    Attributes
    ----------
    operator : str
        What was done.
    change : str
        Where: the code before and after.
    code : str
        The answer.
    """

    operator: str
    change: str
    code: str

    @property
    def name(self) -> str:
        """Operator and change."""
        return f"{self.operator}: {self.change}"


# --- Operators on expressions: what a node may become --------------------------------------------

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


def _called(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr
        if isinstance(node.func, ast.Name):
            return node.func.id
    return ""


def _receiver(node: ast.Call) -> ast.AST | None:
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


def _expressions(node: ast.AST, names: list[str]) -> Iterator[Change]:
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
    name, inner = _called(node), _receiver(node)
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
    position = 0 if _receiver(node) is getattr(node.func, "value", None) else 1
    if keyword is None and len(node.args) <= position:
        return
    receiver = _receiver(node)
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


# --- Operators on whole functions, in code before the body or around the result ------------------

# What becomes of a result R.
_RESULTS = {
    "detached": "R.detach()",
    "float32 returned": "R.float()",
    "float64 returned": "R.double()",
    "float16 returned": "R.half()",
    "rounded to float16": "R.half().to(R.dtype)",
    "rounded to float32": "R.float().to(R.dtype)",
    "NumPy returned": "R.detach().numpy()",
    "list returned": "R.tolist()",
    "wrapped in a list": "[R]",
    "negated": "-R",
    "scaled": "R * 1.01",
    "moved": "R + 1e-3",
    "batch turned round": "R.flip(0)",
    "last axis turned round": "R.flip(-1)",
    "first sentence for all": "R[:1].expand_as(R)",
    "first sentence alone": "R[:1]",
    "mean over the batch": "R.mean(0, keepdim=True).expand_as(R)",
    "softmax of the result": "R.softmax(-1)",
    "transposed": "R.mT",
    "squeezed": "R.squeeze()",
    "an axis too many": "R.unsqueeze(0)",
    "nothing returned": "None",
    "mask times result": "R * mask",
}
# Of these, what is wrong with the form of a result rather than with its values.
FORMS = {
    *("float32 returned", "float64 returned", "float16 returned", "NumPy returned"),
    *("list returned", "wrapped in a list", "nothing returned", "an axis too many"),
    "returned instead",
}
_ON_FLOATS = {"detached", "rounded to float16", "rounded to float32", "scaled", "moved", "negated"}
_ON_AXES = {
    *("batch turned round", "last axis turned round", "transposed", "squeezed"),
    *("mean over the batch", "first sentence for all", "first sentence alone"),
}
# What becomes of an argument A before the answer sees it.
_ARGUMENTS = {
    "argument of zeros": "torch.zeros_like(A) if isinstance(A, torch.Tensor) else type(A)(0)",
    "argument of ones": "torch.ones_like(A) if isinstance(A, torch.Tensor) else type(A)(1)",
    "argument of the first sentence": "A[:1].expand_as(A)",
    "argument turned round": "A.flip(0)",
    "argument turned round at the end": "A.flip(-1)",
    "argument averaged": "A.mean(0, keepdim=True).expand_as(A)",
    "argument detached": "A.detach()",
    "argument in float16": "A.half().to(A.dtype)",
    "argument in float32": "A.float().to(A.dtype)",
    "argument of the first call": "_KEPT.setdefault(getattr(A, 'shape', 0), A)",
}
# Arguments that are something else, in all exercises.
_NO_TENSORS = {
    *("model", "optimizer", "max_norm", "step", "state", "batch", "bos", "eos", "pad", "max_len"),
    *(
        "words",
        "temperature",
        "sizes",
        "variances",
        "predicted",
        "sure",
        "possible",
        "maps",
        "bins",
    ),
    *("short", "long", "causal", "p", "training", "k", "most"),
}
_OF_FLOATS = {"argument detached", "argument in float16", "argument in float32"}
# Statements before the result is returned.
_SPOILED = {
    "input set to zero": "A.detach().zero_()",
    "input doubled": "A.detach().mul_(2)",
}
# The same, of what a mask M covers.
_SPOILED_AT_PADS = "A.detach().masked_fill_(~M[..., None], 0.0)"
# Of a module, whose mode must not matter.
_MODES = {
    "another result in evaluation": "R if self.training else R * 0.5",
    "another result in training": "R * 0.5 if self.training else R",
}
_LATE_MASKS = {
    "mask after softmax": "R * M",
    "mask after softmax, with 1e-13": "(R * M) / ((R * M).sum(-1, keepdim=True) + 1e-13)",
    "mask after softmax, clamped": "(R * M) / (R * M).sum(-1, keepdim=True).clamp(min=1e-9)",
    "mask after softmax, no constant": "((R * M) / (R * M).sum(-1, keepdim=True)).nan_to_num()",
}


def _functions(tree: ast.Module, entry: str) -> list[ast.FunctionDef]:
    """Find what is called: the function, or a class's forward."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            found.append(node)
        if isinstance(node, ast.ClassDef) and node.name == entry:
            found += [n for n in node.body if isinstance(n, ast.FunctionDef)]
    return [f for f in found if f.name in (entry, "forward")]


def _whole(
    tree: ast.Module, q: Question, operators: Collection[str] = ()
) -> Iterator[tuple[str, str, ast.Module]]:
    """Change what goes into a function as a whole, or comes out of it; by these operators alone."""
    again = _copies(tree)
    for number, function in enumerate(_functions(tree, q.entry)):

        def changed(make: Callable[[ast.FunctionDef], None], number: int = number) -> ast.Module:
            other = again()
            make(_functions(other, q.entry)[number])
            return other

        names = [a.arg for a in function.args.args if a.arg != "self"]
        results = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
        parts = max(
            (len(r.value.elts) for r in results if isinstance(r.value, ast.Tuple)), default=0
        )
        for name, text in _RESULTS.items():
            if operators and name not in operators:
                continue
            if name in _ON_FLOATS and _result_kind(q)[0] not in ("f", "?"):
                continue
            if name in _ON_AXES and _result_kind(q)[1] == 0:
                continue
            if name in FORMS and _result_kind(q)[0] == "number":
                continue  # numbers are accepted in any form
            for part in range(parts) if parts else [None]:
                where = "the result" if part is None else f"part {part + 1} of the result"
                yield name, where, changed(_Return(text, part))
        if operators:
            continue
        if function.name == "forward":
            for name, text in _MODES.items():
                yield name, "part 1 of the result", changed(_Return(text, 0 if parts else None))
        for argument, mask in _masked(q, names):
            line = ast.unparse(expression(_SPOILED_AT_PADS, A=_name(argument), M=_name(mask)))
            spoil = _Return("R", None, before=line, guard=argument)
            yield "pads set to zero", argument, changed(spoil)
        for argument, kind in zip(names, _kinds(q, len(names))):
            for name, text in _ARGUMENTS.items():
                if name in _OF_FLOATS and kind not in ("f", "?"):
                    continue
                body = ast.parse(_argument_line(argument, text)).body
                yield name, argument, changed(lambda f, b=body: f.body.__setitem__(slice(0, 0), b))
            tensor = kind != "number" and argument not in _NO_TENSORS
            for name, text in _SPOILED.items() if tensor else ():
                line = _replace_name(text, argument)
                yield name, argument, changed(_Return("R", None, before=line, guard=argument))
        masks = [n for n in names if n in ("mask", "m")]
        if masks and "softmax" in ast.unparse(function):
            for name, text in _LATE_MASKS.items():
                yield name, masks[0], changed(_MaskLate(text, masks[0]))


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _masked(q: Question, names: list[str]) -> Iterator[tuple[str, str]]:
    """Pair the arguments that hold a vector for each position with the mask that covers them."""
    inputs = q.draw(np.random.default_rng(0), q.stages[0].kinds[0])
    given = dict(zip(names, inputs[-1] if inputs and isinstance(inputs[-1], tuple) else inputs))
    arrays = {name: x for name, x in given.items() if isinstance(x, np.ndarray)}
    for mask, flags in arrays.items():
        for name, x in arrays.items() if flags.dtype == bool and flags.ndim == 2 else ():
            if x.dtype != bool and x.ndim == 3 and x.shape[:2] == flags.shape:
                yield name, mask


def _kinds(q: Question, count: int) -> list[str]:
    """Say of each argument whether it is an array of floats (f), flags (b), ids (i), or none."""
    inputs = q.draw(np.random.default_rng(0), q.stages[0].kinds[0])
    if not q.arguments or (q.probe and any(isinstance(x, np.ndarray) for x in inputs)):
        return ["?"] * count
    kinds = [x.dtype.kind if isinstance(x, np.ndarray) else "number" for x in inputs]
    return (kinds + ["?"] * count)[:count]


@cache  # asked at every node, and an oracle may train a model
def _result_kind(q: Question) -> tuple[str, int]:
    """Say whether a result holds floats (f), flags (b) or ids (i), and how many axes it has."""
    result = q.oracle(*q.draw(np.random.default_rng(0), q.stages[0].kinds[0]))
    result = next(iter(result.values())) if isinstance(result, dict) else result
    if isinstance(result, int | float) and not isinstance(result, bool):
        return "number", 0
    if isinstance(result, np.ndarray) and result.dtype.kind in "iu":
        return "i", result.ndim
    if not q.arguments or q.probe:
        return "?", -1
    return (result.dtype.kind, result.ndim) if isinstance(result, np.ndarray) else ("?", -1)


def _replace_name(text: str, name: str) -> str:
    return ast.unparse(expression(text, A=_name(name)))


def _argument_line(argument: str, text: str) -> str:
    return (
        f"if not isinstance({argument}, torch.Tensor) or {argument}.dim() > 0:\n"
        f"    {argument} = {_replace_name(text, argument)}\n"
    )


class _Return:
    """Changes every return of a function."""

    def __init__(self, text: str, part: int | None, before: str = "", guard: str = ""):
        self.text, self.part, self.before, self.guard = text, part, before, guard

    def __call__(self, function: ast.FunctionDef) -> None:
        outer = self

        class Visit(ast.NodeTransformer):
            def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
                value = node.value
                if value is None:
                    return node
                if outer.before:
                    guard = f"if isinstance({outer.guard}, torch.Tensor):\n    {outer.before}"
                    kept = ast.Assign([ast.Name("result_", ast.Store())], value, lineno=0)
                    back = ast.parse("return result_", mode="exec").body[0]
                    return [kept, *ast.parse(guard).body, back]
                if outer.part is None:
                    node.value = expression(outer.text, R=value)
                elif isinstance(value, ast.Tuple) and outer.part < len(value.elts):
                    value.elts[outer.part] = expression(outer.text, R=value.elts[outer.part])
                return node

        Visit().visit(function)


class _MaskLate:
    """Leaves scores unmasked and puts the mask on the weights instead."""

    def __init__(self, text: str, mask: str):
        self.text, self.mask = text, mask

    def __call__(self, function: ast.FunctionDef) -> None:
        outer = self

        class Visit(ast.NodeTransformer):
            def visit_Call(self, node: ast.Call) -> ast.AST:
                self.generic_visit(node)
                name, inner = _called(node), _receiver(node)
                if name == "masked_fill" and inner is not None:
                    return inner
                if name == "where" and len(node.args) == 3:
                    return node.args[1]
                if name == "softmax" and inner is not None:
                    mask = "M.reshape(M.shape[0], *[1] * (R.dim() - 2), M.shape[-1])"
                    shaped = expression(mask, M=ast.Name(outer.mask, ast.Load()), R=node)
                    return expression(outer.text, R=node, M=shaped)
                return node

        Visit().visit(function)


# --- All of them ---------------------------------------------------------------------------------


def mutants_of(q: Question) -> list[Mutant]:
    """Make all mutants of a question's right answers; each text once."""
    trees = [ast.parse(code) for code in q.right]
    return _texts(
        q,
        [[*_sites(t, q), *_whole(t, q), *_numbers(t, q), *_loops(t, q)] for t in trees],
    )


def forms_of(q: Question, answers: int | None = None) -> list[Mutant]:
    """Make those of :data:`FORMS` alone, of the first so many right answers or of all."""
    trees = [ast.parse(code) for code in q.right[:answers]]
    made = [[*(_sites(t, q) if q.explain else ()), *_whole(t, q, FORMS)] for t in trees]
    return _texts(q, [[one for one in of_one if one[0] in FORMS] for of_one in made])


def _texts(q: Question, made: list[list[tuple[str, str, ast.Module]]]) -> list[Mutant]:
    seen = {ast.unparse(ast.parse(code)) for code in q.right}
    found = []
    for of_one in made:
        for operator, change, mutated in of_one:
            text = ast.unparse(mutated)
            if text not in seen:
                seen.add(text)
                text = f"_KEPT = {{}}\n{text}\n" if "_KEPT" in text else f"{text}\n"
                found.append(Mutant(operator, change, text))
    return found


def _copies(tree: ast.Module) -> Callable[[], ast.Module]:
    """Make copies of a tree, several times as fast as the module copy does."""
    packed = pickle.dumps(tree, pickle.HIGHEST_PROTOCOL)
    return lambda: pickle.loads(packed)


def _sites(tree: ast.Module, q: Question) -> Iterator[tuple[str, str, ast.Module]]:
    """Change one node at a time, and leave out one statement at a time."""
    nodes = _nodes(tree)
    again = _copies(tree)
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.Lambda)]
    within = {id(f): {*ast.walk(f)} for f in functions}
    # Another number to try makes another test, not a broken one.
    lists = [n for n in nodes if isinstance(n, ast.List) and q.explain]
    tried = [n for one in lists for n in ast.walk(one) if isinstance(n, ast.Constant)]
    for place, node in enumerate(nodes):
        inside = [f for f in functions if node in within[id(f)]]
        for operator, change, new in _of_tests(node) if q.explain and inside else ():
            yield operator, change, _replaced(again(), place, new)
        names = [a.arg for f in inside for a in f.args.args if a.arg != "self"]
        if isinstance(node, ast.expr):
            if any(isinstance(f, ast.FunctionDef) and _in_signature(f, node) for f in inside):
                continue
            if any(node is n for n in tried):
                continue
            for operator, new in _expressions(node, names):
                before, after = ast.unparse(node), ast.unparse(new)
                if before != after:
                    yield operator, f"{before} -> {after}", _replaced(again(), place, new)
            floats = _result_kind(q)[0] in ("f", "?")
            if floats and isinstance(node, ast.BinOp | ast.Call) and _is_assigned(nodes, node):
                detached = expression("X.detach()", X=node)
                yield "detached", ast.unparse(node), _replaced(again(), place, detached)
        elif isinstance(node, ast.Expr | ast.If | ast.AugAssign | ast.Assign) and inside:
            if isinstance(node, ast.If) and "break" not in ast.unparse(node):
                continue
            yield (
                "statement left out",
                " ".join(ast.unparse(node).split()),
                _replaced(again(), place, ast.Pass()),
            )


def _of_tests(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
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


def _in_signature(function: ast.FunctionDef, node: ast.AST) -> bool:
    return any(n is node for n in ast.walk(function.args))


def _is_assigned(nodes: list[ast.AST], node: ast.AST) -> bool:
    return any(isinstance(n, ast.Assign) and n.value is node for n in nodes)


def _nodes(tree: ast.AST) -> list[ast.AST]:
    return [n for n in ast.walk(tree) if not isinstance(n, ast.Load | ast.Store)]


def _replaced(tree: ast.Module, place: int, new: ast.AST) -> ast.Module:
    """Put another node into a tree, which is changed."""
    target = _nodes(tree)[place]
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if value is target:
                setattr(node, name, new)
                return tree
            if isinstance(value, list):
                for n, one in enumerate(value):
                    if one is target:
                        value[n] = new
                        return tree
    return tree


def _loops(tree: ast.Module, q: Question) -> Iterator[tuple[str, str, ast.Module]]:
    """Give an answer one sentence at a time, where calls are counted."""
    stage = next((s for s in q.stages if s.calls), None)
    if stage is None:
        return
    inputs = q.draw(np.random.default_rng(0), stage.kinds[0])
    batched = [isinstance(x, np.ndarray) and len(x) == len(inputs[0]) for x in inputs]
    rows = [f"{a}[b : b + 1]" if one else a for a, one in zip(q.arguments, batched)]
    body = f"torch.cat([whole_({', '.join(rows)}) for b in range(len({q.arguments[0]}))])"
    other = copy.deepcopy(tree)
    other.body += ast.parse(
        f"whole_ = {q.entry}\ndef {q.entry}({', '.join(q.arguments)}):\n    return {body}"
    ).body
    yield "loop over the batch", "each sentence by itself", other


# Of answers that are numbers rather than functions.
_OTHER_NUMBERS = ("-X", "2 * X", "X / 2", "X + 1", "X - 1", "X ** 0.5", "1 / X", "str(X)", "None")


def _numbers(tree: ast.Module, q: Question) -> Iterator[tuple[str, str, ast.Module]]:
    last = tree.body[-1]
    if q.arguments or not isinstance(last, ast.Assign):
        return
    values = last.value.elts if isinstance(last.value, ast.Tuple | ast.List) else [last.value]
    for place, value in enumerate(values):
        if not isinstance(value, ast.Constant | ast.UnaryOp):
            continue
        for text in _OTHER_NUMBERS:
            other = copy.deepcopy(tree)
            target = other.body[-1]
            assert isinstance(target, ast.Assign)
            new = expression(text, X=value)
            if isinstance(target.value, ast.Tuple | ast.List):
                target.value.elts[place] = new
            else:
                target.value = new
            yield "another number", ast.unparse(new), other


@dataclass(frozen=True)
class Row:
    """What became of a question's mutants.

    Attributes
    ----------
    exercise, question : str
        Whose.
    made, tried, equivalent, caught, named : int
        How many; ``named`` of those caught got a hint that says what is wrong with this answer
        rather than what the stage is about.
    survivors : list of Mutant
        Those that passed and are not listed as equivalent.
    unnamed : list of (Mutant, Verdict)
        Those that got the stage's hint.
    unused : list of str
        Patterns of equivalents that fit no mutant that passed.
    reasons : list of str
        Why the equivalent ones mean the same.
    """

    exercise: str
    question: str
    made: int
    tried: int
    equivalent: int
    caught: int
    named: int
    survivors: list[Mutant]
    unnamed: list[tuple[Mutant, Verdict]]
    unused: list[str]
    reasons: list[str]

    @property
    def name(self) -> str:
        """Exercise and question."""
        return f"{self.exercise} {self.question}"

    def cells(self) -> list[str]:
        """Give what stands in the table behind the name."""
        share = f"{self.named / max(1, self.caught):.0%}"
        why = "; ".join(self.reasons).replace("|", "\\|")
        counts = (self.made, self.caught, self.named)
        return [*map(str, counts), share, str(self.equivalent), why]


@cache
def equivalents() -> dict[str, Any]:
    """Read which mutants mean the same as their answers, by exercise and question."""
    return yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or {}


def try_mutants(judge: Judge, exercise: str, q: Question, share: float = 1.0) -> Row:
    """Have mutants of a question judged: all, or a share, the same whenever it is asked for.

    The share is taken in the order of a digest of their texts. An entry of the equivalent ones is
    unused if no mutant of its name passes; of a share, if there is no mutant of its name.
    """
    listed = equivalents().get(exercise, {}).get(q.id, [])
    patterns, general = _patterns(listed), _patterns(equivalents()["every"])
    every = mutants_of(q)
    by_digest = sorted(every, key=lambda m: hashlib.sha256(m.code.encode()).digest())
    sample = set(by_digest[: max(FEWEST, round(share * len(every)))])
    mutants = [m for m in every if m in sample]
    verdicts = judge.judge_many(exercise, q.id, [m.code for m in mutants])
    hints = {stage.hint for stage in q.stages}
    passed = [m for m, v in zip(mutants, verdicts) if v.verdict == "pass"]
    same = [m for m in passed if any(p.fullmatch(m.name) for p in [*patterns, *general])]
    reasons = {
        entry["reason"]: None
        for entry, p in zip([*listed, *equivalents()["every"]], [*patterns, *general])
        if any(p.fullmatch(m.name) for m in same)
    }
    expected = passed if share == 1 else every
    caught = [(m, v) for m, v in zip(mutants, verdicts) if v.verdict != "pass"]
    unnamed = [(m, v) for m, v in caught if v.hint in hints]
    return Row(
        exercise,
        q.id,
        len(every),
        len(mutants),
        len(same),
        len(caught),
        len(caught) - len(unnamed),
        [m for m in passed if m not in same],
        unnamed,
        [p.pattern for p in patterns if not any(p.fullmatch(m.name) for m in expected)],
        list(reasons),
    )


_HEAD = """\
# Mutants of the right answers

`python -m tools.answer_mutants --write` makes this table, on cases that are always the same. Each
right answer of each question is changed at one place after the other. *Caught* ones lose points;
*named* are those of them whose hint says what is wrong with this very answer; *the same* mean what
the right answer means, for the reasons given. No other passes.

| question | made | caught | named | share | the same | why |
|---|---:|---:|---:|---:|---:|---|
"""


def written_rows() -> dict[str, list[str]]:
    """Read the table: its cells by exercise and question."""
    rows = re.findall(r"(?m)^\| (\d\d_\w+ q\d+) \| (.*) \|$", TABLE.read_text(encoding="utf-8"))
    return {name: re.split(r" \| ", cells) for name, cells in rows}


def _write(found: list[Row]) -> None:
    """Put rows into the table; those of other questions stay."""
    rows = written_rows() if TABLE.exists() else {}
    rows |= {row.name: row.cells() for row in found}
    asked = [f"{name} {q.id}" for name in exercises() for q in load(name).questions]
    rows = {name: rows[name] for name in asked if name in rows}
    made, caught, named, same = (sum(int(row[n]) for row in rows.values()) for n in (0, 1, 2, 4))
    total = [*map(str, (made, caught, named)), f"{named / max(1, caught):.0%}", str(same), ""]
    lines = [f"| {' | '.join([name, *cells])} |\n" for name, cells in rows.items()]
    lines.append(f"| {' | '.join(['all', *total])} |\n")
    TABLE.write_text(_HEAD + "".join(lines), encoding="utf-8")


def _patterns(listed: list[dict[str, str]]) -> list[re.Pattern[str]]:
    """Make patterns in which a star alone stands for any text: code is full of brackets."""
    return [re.compile(re.escape(e["mutant"]).replace(r"\*", ".*")) for e in listed]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Try mutants of the right answers.")
    parser.add_argument("only", nargs="*", help="exercise numbers, such as 03, or 03:q2")
    parser.add_argument("--seed", default="mutants", help="of the hidden cases")
    parser.add_argument("--unnamed", action="store_true", help="list what got a general hint")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.relative_to(ROOT)}")
    options = parser.parse_args()
    rows: list[Row] = []
    total: Counter[str] = Counter()
    print(f"{'question':22}{'made':>6}{'same':>6}{'caught':>8}{'named':>7}  survivors")
    with Judge(options.seed, LIMITS, draws=DRAWS) as judge:
        for name in exercises():
            for q in load(name).questions:
                if q.evidence:
                    continue
                if options.only and not f"{name[:2]}:{q.id}".startswith(tuple(options.only)):
                    continue
                row = try_mutants(judge, name, q)
                rows.append(row)
                left = len(row.survivors)
                counts = f"{row.made:6}{row.equivalent:6}{row.caught:8}{row.named:7}{left:11}"
                print(f"{row.name:22}{counts}", flush=True)
                for mutant in row.survivors:
                    print(f"    {mutant.name}")
                for mutant, verdict in row.unnamed if options.unnamed else []:
                    print(f"    ? {mutant.name}\n        {verdict.hint}")
                total += Counter(
                    made=row.made,
                    same=row.equivalent,
                    caught=row.caught,
                    named=row.named,
                    left=left,
                )
    share = total["named"] / max(1, total["caught"])
    print(f"{total['made']} made, {total['same']} the same, {total['caught']} caught, ", end="")
    print(f"{share:.0%} of them named, {total['left']} not caught")
    if options.write and not total["left"]:
        _write(rows)
    sys.exit(bool(total["left"]))


if __name__ == "__main__":
    main()
