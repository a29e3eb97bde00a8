"""A question of a bank written as one text: what is asked, its stages, right and wrong answers.

::

    q1: Twice as much
    double(x)
    read chapters/02_soft_addressing: By hand
    the formula, 1 point: ordinary; one word
        Each entry comes back twice as large.
    gradients, 1 point, backward: ordinary
        Something on the way is detached.
    RIGHT
    def double(x):
        return x + x
    double = lambda x: x.mul(2)
    WRONG
    not doubled | x + x -> x
        Your result is the input: add it to itself.
    detached, keeps 1 | R -> R.detach()
        The values are right, but no gradient reaches the input.
    rounded to whole numbers
        | y = x.round()
        | return y + y
        You round before you add: keep the digits.

A stage is a line with its name, points and kinds of cases, and a hint below it. ``backward`` looks
at gradients instead of results; ``40 calls``, ``9 numbers read`` and ``within 1e-4 or 0.01`` are
its ``calls``, ``reads`` and ``tolerance``. Right answers are Python, one after the other. Where a
stage or a mistake is the matter of another section than the question's, a line below its hint says
so, as ``read chapters/02_soft_addressing: By hand``.

A mistake is a line with its name and what is changed, and its hint below. A change is a piece of
the first right answer, or of the first that has it, which must occur there exactly once, and what
stands there instead; several are separated by semicolons. ``R`` is what the function returns. Where
the mistake has another shape, there stands the body of the function, or the whole of it.

Arrows and semicolons separate only with a blank beside them (``old -> new``, ``one; other``), and
not inside a text in quotation marks; the arrow of ``def f(x) -> Tensor:`` is Python's.

A question's answer may be a test, which keeps silent on right programs and refuses broken ones
(:func:`a_test`). A bank lists programs as it lists answers: right ones, then what is changed in
them, with what to say of a test that does not notice::

    RIGHT
    # fills with the smallest number
    def double(x):
        return x + x
    WRONG
    not doubled | x + x -> x
        returns its input

Above each right program stands a comment: what it does in its own way. A broken program's name is
the kind of case in which it is drawn, each time beside right ones and twice; :data:`RIGHT_CODE` is
the kind in which all right ones are. Neither name nor type nor source tells them apart, nor does
their order, and what runs the test is not told either: it sends back what the test said of each.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from seqattn.grading.bank import Question, Stage, Wrong
from seqattn.grading.compare import exception_name
from seqattn.grading.parsing import parse, parse_expression
from seqattn.grading.probes import number_probe

__all__ = [
    "RIGHT_CODE",
    "WRONG_FORMS",
    "a_test",
    "expression",
    "mistakes",
    "patch",
    "question",
    "right_answers",
]

# Right numbers in the wrong form, for any question whose first right answer gives a tensor.
WRONG_FORMS = """
a list | R -> R.tolist()
    You return a list: return the tensor itself.
a NumPy array | R -> R.detach().numpy()
    You return a NumPy array, where the gradient ends: return the torch tensor.
"""

_SHEET = re.compile(
    r"(?P<id>q\d+): (?P<title>[^\n]+)\n(?P<signature>[^\n]+)\nread (?P<read>[^\n]+)\n"
    r"(?P<stages>.+\n)RIGHT\n(?P<right>.+\n)WRONG\n(?P<wrong>.+)",
    re.DOTALL,
)
_STAGE = re.compile(r"(?P<name>.+), (?P<points>\d+) points?(?P<options>(, .+?)?): (?P<kinds>.+)")
_ARROW = r" ->(?: |$)"
_READ = re.compile(r"read ((?:chapters|exercises)/\w+: .+)")
_MISTAKE = re.compile(r"(?P<name>.+?)(, keeps (?P<keeps>\d+))?( \| (?P<change>.+))?")


def question(
    text: str, *, parts: Mapping[str, tuple[str, ...]] | None = None, **more: Any
) -> Question:
    """Make a question of text.

    Parameters
    ----------
    text : str
        See above. Of numbers worked out by hand, ``name = number``, nothing need be drawn.
    parts : dict of str to tuple of str, optional
        By the name of a stage: the entries of the result that count there.
    **more
        What else a :class:`~seqattn.grading.bank.Question` has.

    Raises
    ------
    ValueError
        If a line cannot be read, or a change does not fit.
    """
    sheet = _SHEET.fullmatch(text)
    if not sheet:
        raise ValueError(f"expected a title, a signature, read ..., RIGHT and WRONG in\n{text}")
    entry = re.split(r"[ (]", sheet["signature"])[0]
    right = right_answers(sheet["right"], entry)
    if " = " in sheet["signature"]:
        more = {"draw": lambda rng, kind: (), "probe": number_probe, **more}
    try:
        stages, wrong = _stages(sheet["stages"], parts or {}), mistakes(sheet["wrong"], right)
    except ValueError as error:
        raise ValueError(f"{sheet['id']}, {error}") from error
    return Question(
        id=sheet["id"],
        title=sheet["title"],
        entry=entry,
        signature=sheet["signature"],
        stages=stages,
        right=right,
        wrong=wrong,
        read=sheet["read"],
        **more,
    )


def _entries(text: str) -> list[tuple[str, list[str]]]:
    """Cut text into unindented lines, each with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    for line in filter(str.strip, text.splitlines()):
        if line[0] != " ":
            found.append((line, []))
        elif not found:
            raise ValueError(f"nothing stands above {line.strip()!r}")
        else:
            found[-1][1].append(line.strip())
    return found


def _stages(text: str, parts: Mapping[str, tuple[str, ...]]) -> tuple[Stage, ...]:
    found = []
    for line, hint in _entries(text):
        stage = _STAGE.fullmatch(line)
        if not stage:
            raise ValueError(f"expected NAME, N points: KINDS; found {line!r}")
        options: dict[str, Any] = {"parts": parts.get(stage["name"], ())}
        for option in stage["options"].split(", ")[1:]:
            match option.split():
                case ["backward"]:
                    options["gradients"] = True
                case [number, "calls"]:
                    options["calls"] = int(number)
                case [number, "numbers", "read"]:
                    options["reads"] = int(number)
                case ["within", absolute, "or", relative]:
                    options["tolerance"] = float(absolute), float(relative)
                case _:
                    raise ValueError(f"stage {stage['name']!r} has no option {option!r}")
        kinds = tuple(stage["kinds"].split("; "))
        said, read = _hint(hint)
        found.append(Stage(stage["name"], int(stage["points"]), kinds, said, read=read, **options))
    if left := parts.keys() - {stage.name for stage in found}:
        raise ValueError(f"parts are given for stages that there are not: {', '.join(left)}")
    return tuple(found)


def _hint(lines: list[str]) -> tuple[str, str]:
    """Part the lines of a hint from the one that says where to read again."""
    read = [found[1] for line in lines if (found := _READ.fullmatch(line))]
    return " ".join(x for x in lines if not _READ.fullmatch(x)), "".join(read)


def right_answers(text: str, entry: str) -> tuple[str, ...]:
    """Cut Python text into answers, each of which ends where it defines ``entry``."""
    lines, first, found = text.splitlines(), 0, []
    for node in parse(text).body:
        names = [getattr(node, "name", "")]
        if isinstance(node, ast.Assign):
            names = [ast.unparse(target) for target in node.targets]
        if entry in names:
            found.append("\n".join(lines[first : node.end_lineno]).strip("\n") + "\n")
            first = node.end_lineno or 0
    return tuple(found)


def mistakes(text: str, right: tuple[str, ...]) -> tuple[Wrong, ...]:
    """Read a table of mistakes.

    Parameters
    ----------
    text : str
        The table.
    right : tuple of str
        Right answers. A change applies to the first that holds all that is to be changed.
    """
    found = []
    for line, below in _entries(text):
        row = _MISTAKE.fullmatch(line)
        assert row, "any line has a name"
        lines = [row["change"] or "", *(x[2:] for x in below if x.startswith("| "))]
        change = [piece for x in lines if x for piece in _split(x)]
        hint, read = _hint([x for x in below if not x.startswith("| ")])
        if not change or not hint:
            raise ValueError(f"mistake {row['name']!r} needs a change and a hint")
        try:
            code = _changed(change, right)
            parse(code)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"mistake {row['name']!r}: {error}") from error
        found.append(Wrong(row["name"], code, hint, int(row["keeps"] or 0), read))
    return tuple(found)


def _split(line: str) -> list[str]:
    """Cut a line at semicolons; all pieces are indented like the line."""
    indent = line[: len(line) - len(line.lstrip())]
    return [indent + piece for piece in _cut(line.strip(), r"; ")]


# A text in a line of Python, and the head of a function with the type of its result.
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_HEAD = re.compile(r"(\s*(?:async )?def \w+\([^\n]*\)) ->( (?!def )[^\n]*:)")


def _cut(line: str, separator: str, most: int = 0) -> list[str]:
    """Cut a line where a separator stands that is none of Python's."""
    hidden = _TEXT.sub(lambda text: "\0" * len(text[0]), _HEAD.sub(r"\1\0\0\0\2", line))
    pieces: list[str] = []
    end = 0
    for found in re.finditer(separator, hidden):
        if most and len(pieces) == most:
            break
        pieces.append(line[end : found.start()])
        end = found.end()
    return [*pieces, line[end:]]


def _changed(change: list[str], right: tuple[str, ...]) -> str:
    if not _is_patch(change[0]):
        if re.match(r"def |class |@", change[0]):
            return "\n".join(change) + "\n"
        head = right[0].splitlines()[0]
        return "\n".join([head, *(f"    {line}" for line in change)]) + "\n"
    # Lines without an arrow go on with what stands there instead.
    patches: list[list[str]] = []
    for line in change:
        if _is_patch(line):
            patches.append(_cut(line, _ARROW, most=1))
        else:
            patches[-1][1] += f"\n{line}"
    olds = [old for old, _ in patches if old != "R"]
    code = next((x for x in right if all(old in x for old in olds)), right[0])
    for old, new in patches:
        code = _results(code, new) if old == "R" else patch(code, old, new)
    return code


def _is_patch(line: str) -> bool:
    return len(_cut(line, _ARROW)) > 1


def patch(code: str, old: str, new: str) -> str:
    """Put something else where ``old`` stands, its further lines indented like the line of ``old``.

    Raises
    ------
    ValueError
        If ``old`` does not occur exactly once.
    """
    if code.count(old) != 1:
        raise ValueError(f"{old!r} occurs {code.count(old)} times, expected once, in\n{code}")
    line = next(x for x in code.splitlines() if old in x)
    indent = line[: len(line) - len(line.lstrip())]
    return code.replace(old, new.replace("\n", f"\n{indent}"))


def expression(text: str, **parts: ast.AST) -> ast.expr:
    """Parse an expression, and put nodes in the place of names."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return parts.get(node.id, node)

    return Fill().visit(parse_expression(text).body)


def _results(code: str, text: str) -> str:
    """Put an expression of ``R`` in the place of what functions return, but for inner ones."""

    class Visit(ast.NodeTransformer):
        inside = False

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            if not self.inside:
                self.inside = True
                self.generic_visit(node)
                self.inside = False
            return node

        def visit_Return(self, node: ast.Return) -> ast.AST:
            if node.value is not None:
                node.value = expression(text, R=node.value)
            return node

    return ast.unparse(ast.fix_missing_locations(Visit().visit(parse(code)))) + "\n"


RIGHT_CODE = "right code"

# Of a test: what it says of programs, each of them made anew. Of these it gets a built-in callable,
# which has a name, and nothing else that tells one from another.
_PROBE = """
import functools
import random

def probe(test, programs, seeds):
    verdicts, raised, errors = [], [], []
    for text, seed in zip(programs, seeds):
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.default_generator.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        space = {{"__name__": "__main__", "torch": torch, "F": F, "nn": nn, "math": math}}
        exec(compile(text, "<program>", "exec"), space)
        program = functools.lru_cache(maxsize=0)(space[{program}])
        del program.__wrapped__
        error = None
        try:
            verdict = "passes" if test(program) is None else "returns"
        except (Exception, SystemExit) as caught:
            verdict, error = "refuses", None if isinstance(caught, AssertionError) else caught
        verdicts.append(verdict)
        raised.append(type(error).__name__ if error else "")
        errors.append(error)
    # Where it fails whatever it is given, the mistake is in the test itself.
    if all(errors):
        raise errors[0]
    return {{"verdicts": tuple(verdicts), "raised": tuple(raised)}}
"""

Said = Literal["passes", "refuses", "returns"]
# What a test said of each program, by the program's text.
Heard = Mapping[str, list[tuple[Said, str]]]


def a_test(program: str, programs: str) -> dict[str, Any]:
    """Give what belongs to a question that asks for a test: cases, probe, oracle and hints.

    Every stage should have the kind :data:`RIGHT_CODE`, so that a test that refuses right code
    earns nothing. Each kind is drawn once: a test may try each program on many inputs.

    Parameters
    ----------
    program : str
        What the programs are called.
    programs : str
        Right and broken ones, as above.

    Raises
    ------
    ValueError
        If a right program has no comment, or a change does not fit.
    """
    first, _, second = programs.partition("\nWRONG\n")
    codes = right_answers(first.removeprefix("RIGHT\n"), program)
    for code in codes:
        if not code.startswith("# "):
            raise ValueError(f"no comment says what is special about\n{code}")
    broken = mistakes(second, tuple(code.partition("\n")[2] for code in codes))
    right = {_bare(code): code.partition("\n")[0].removeprefix("# ") for code in codes}
    texts = {wrong.name: _bare(wrong.code) for wrong in broken}
    says = {texts[wrong.name]: wrong.hint.rstrip(".") for wrong in broken}

    def draw(rng: np.random.Generator, kind: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
        if kind == RIGHT_CODE:
            drawn = [*right]
        elif kind in texts:
            # Twice: a test that hangs on chance, or on what came before, differs with itself.
            drawn = [texts[kind], texts[kind], [*right][rng.integers(len(right))]]
        else:
            raise ValueError(f"no broken program is called {kind!r}; there are {[*texts]}")
        seeds = rng.integers(2**31, size=len(drawn))
        return tuple(drawn[n] for n in rng.permutation(len(drawn))), tuple(map(int, seeds))

    def oracle(drawn: tuple[str, ...], seeds: tuple[int, ...]) -> dict[str, Any]:
        return {"verdicts": tuple("passes" if text in right else "refuses" for text in drawn)}

    def explain(results: Iterable[tuple[tuple, Any]]) -> str:
        return _explain(_heard(results), right, says)

    return {
        "draw": draw,
        "oracle": oracle,
        "probe": _PROBE.format(program=repr(program)),
        "explain": explain,
        # Not even a program's text: it is what is to be found out.
        "shown": lambda drawn, seeds: {},
    }


def _bare(code: str) -> str:
    """Write a program without comments, all in the same style."""
    return ast.unparse(parse(code)) + "\n"


def _heard(results: Iterable[tuple[tuple, Any]]) -> Heard:
    """Sort what came back by program; nothing that came back is believed."""
    heard: dict[str, list[tuple[Said, str]]] = {}
    for (drawn, _), value in results:
        entries: dict[str, Any] = value if isinstance(value, dict) else {}
        verdicts, raised = entries.get("verdicts", ()), entries.get("raised", ())
        if all(isinstance(x, tuple | list) and len(x) == len(drawn) for x in (verdicts, raised)):
            for text, verdict, error in zip(drawn, verdicts, raised):
                heard.setdefault(text, []).append((verdict, str(error)))
    return heard


def _explain(heard: Heard, right: Mapping[str, str], says: Mapping[str, str]) -> str:
    """Say what a test does, in the words of the bank."""
    verdicts = {text: {verdict for verdict, _ in found} for text, found in heard.items()}
    if any("returns" in found for found in verdicts.values()):
        return (
            "Your test returns something. A test returns nothing: it says what must hold with "
            "assert, which raises an AssertionError where it does not hold."
        )
    refused = [text for text in right if "refuses" in verdicts.get(text, ())]
    unseen = [text for text in says if "passes" in verdicts.get(text, ())]
    if len(refused) == len(right) and not unseen:
        return f"Your test refuses every program it is given, right ones too{_raised(heard)}."
    if any(len(found) > 1 for found in verdicts.values()):
        return (
            "Your test refuses a program one time and lets the same program pass another time: it "
            "hangs on random numbers, or on what it was given before. Choose the numbers yourself, "
            "or set a seed in the test."
        )
    if refused:
        stops = _raised({text: heard[text] for text in refused})
        if len(refused) == len(right):
            return f"Your test refuses right code, however it is written{stops}: what must hold?"
        count = f"{len(refused)} of {len(right)} right programs"
        return f"Your test refuses {count}{stops}. One of them {right[refused[0]]}."
    if not unseen:
        return ""
    count = f"Your test keeps silent on {len(unseen)} of {len(says)} broken programs."
    if len(unseen) == len(says):
        return f"{count} Is there an assert in it that can fail?"
    return f"{count} One of them {says[unseen[0]]}."


def _raised(heard: Heard) -> str:
    """Name an exception that is no AssertionError, where one came of each program."""
    raised = [{name for _, name in found if name} for found in heard.values()]
    if not raised or not all(raised):
        return ""
    name = exception_name(min(raised[0]))
    return f", where it stops with {name}, which is no AssertionError"
