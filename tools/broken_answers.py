"""Break right answers of a question in named ways, at one place each.

:func:`mutants_of` changes an expression or leaves out a statement (:mod:`tools.broken_expressions`
says what each may become), or changes what goes into a function and what comes out of it.
:mod:`tools.answer_mutants` has the grader judge what this makes.
"""

import ast
import copy
import pickle
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from seqattn.grading.bank import Question
from seqattn.grading.questions import expression
from tools.broken_expressions import broken_expressions, broken_statements, called_name, receiver_of

__all__ = ["FORMS", "Mutant", "forms_of", "mutants_of"]


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
                name, inner = called_name(node), receiver_of(node)
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
    made = [[*(_sites(t, q) if q.asks_for_a_test else ()), *_whole(t, q, FORMS)] for t in trees]
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
    lists = [n for n in nodes if isinstance(n, ast.List) and q.asks_for_a_test]
    tried = [n for one in lists for n in ast.walk(one) if isinstance(n, ast.Constant)]
    for place, node in enumerate(nodes):
        inside = [f for f in functions if node in within[id(f)]]
        for operator, change, new in (
            broken_statements(node) if q.asks_for_a_test and inside else ()
        ):
            yield operator, change, _replaced(again(), place, new)
        names = [a.arg for f in inside for a in f.args.args if a.arg != "self"]
        if isinstance(node, ast.expr):
            if any(isinstance(f, ast.FunctionDef) and _in_signature(f, node) for f in inside):
                continue
            if any(node is n for n in tried):
                continue
            for operator, new in broken_expressions(node, names):
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
