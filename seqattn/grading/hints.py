"""Say what is wrong with an answer, and what to do about it.

Known mistakes bring hints of their own, from the bank. What is here is for the others: what an
exception means, how a result differs from the right one, what an answer does and does not look at.
Nothing is guessed: each sentence says what was seen, on cases that differ in one thing, or between
an answer's numbers and the right ones.
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import permutations
from operator import itemgetter
from typing import Any

import numpy as np

from seqattn.grading.bank import Question, Stage
from seqattn.grading.cases import DIGITS, DOUBLE, FIRST, MOST_SHOWN, OTHERS, Case
from seqattn.grading.compare import ABSOLUTE, RELATIVE, difference
from seqattn.grading.oracle import expected_output
from seqattn.grading.relations import Seen, by_sizes, located, quantities, related
from seqattn.grading.sandbox import wire
from seqattn.grading.sandbox.jobs import Limits, Outcome
from seqattn.grading.syntax import parse

__all__ = ["advice", "diagnose", "ending_hint", "hint_for", "reordered", "result_line", "written"]

_ENDINGS = {
    "timeout": "it computed longer than {s:g} seconds (of processor time): is there a loop that "
    "never ends?",
    "waited": "it waited longer than {i:g} seconds without computing anything, and did so again: "
    "leave out what sleeps, or waits for somebody",
    "memory": "it needed more memory than an answer may use",
    "crashed": "the process died ({d})",
    # How much depends on the hidden cases.
    "output_limit": "it printed or returned too much",
}


def ending_hint(outcome: Outcome, limits: Limits) -> str:
    """Say how a process ended that did not come to its end."""
    return _ENDINGS[outcome.ending].format(s=limits.seconds, i=limits.idle, d=outcome.detail)


def hint_for(fault: tuple[str, str], stage: Stage) -> str:
    """Put a fault that is nobody's known mistake into a sentence."""
    kind, text = fault[0], fault[1].rstrip(".")
    if kind == "value":
        return stage.hint
    if kind == "gradient" and "NaN" in text:
        back = "on the way back 0 times infinity or NaN is NaN, so fill what must not count"
        return f"{text}: {back} before you compute with it, not after."
    text = text if text.endswith("?") else f"{text}."
    return f"{text} {stage.hint}" if kind in ("nan", "gradient") else text


def advice(error: dict, q: Question) -> str:
    """Say what to do about an exception, where there is something to say."""
    kind, message = error["type"], error["message"]
    if kind == "NameError":
        return (
            "Imports, functions and constants of other cells are at hand; what another cell "
            "computed lives in your session only: restart and run all to see."
        )
    if kind == "TypeError" and "argument" in message:
        return f"It is called as {q.signature}."
    if kind in ("ModuleNotFoundError", "PermissionError", "OSError", "FileNotFoundError"):
        return "Answers are graded without files, network and other packages."
    if "CUDA" in message or "NVIDIA" in message:
        return "Answers are graded on a CPU: leave tensors on the device that they come with."
    if kind == "EOFError":
        return "Nobody is there to type: take what you need from the arguments."
    if kind == "SystemExit":
        return "An answer must not end the process: return instead."
    if kind == "RecursionError":
        return "Your function calls itself without end."
    if q.explain:
        return "So it ends with every program, right ones too: all you can do with one is call it."
    return ""


def reordered(code: str, q: Question) -> str:
    """Say so if an answer takes the right arguments in another order."""
    asked = re.match(rf"{q.entry}\(([\w, ]+)\)", q.signature)
    for node in parse(code).body:
        if asked and isinstance(node, ast.FunctionDef) and node.name == q.entry:
            names, wanted = [a.arg for a in node.args.args], asked[1].split(", ")
            if names != wanted and sorted(names) == sorted(wanted):
                return f"Your arguments are in another order: it is called as {q.signature}."
    return ""


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What the line that returns a result has to do with, whatever comes before it.
_OF_THE_RETURN = ("nothing", "type", "shape", "dtype")


def result_line(code: str, entry: str, kind: str) -> int:
    """Find the line of an answer that is to blame for a wrong result; 0 where it may be any.

    An answer of one statement is wrong there. In a longer one wrong values may come from any line,
    or from one that is missing: none is blamed for what another may have done.

    Parameters
    ----------
    code, entry : str
        The answer, and the name that it defines.
    kind : str
        What is wrong, as :class:`~seqattn.grading.compare.Difference` has it.
    """
    found = 0
    for node in parse(code).body:
        targets = getattr(node, "targets", [])
        if any(isinstance(t, ast.Name) and t.id == entry for t in targets):
            found = node.lineno
        elif isinstance(node, _NAMED) and node.name == entry:
            inside = node.body[1:] if ast.get_docstring(node) is not None else node.body
            returns = [n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value]
            alone = inside == returns and len(returns) == 1
            blamed = alone or (kind in _OF_THE_RETURN and len(returns) == 1)
            found = returns[0].lineno if blamed else 0
    return found


# --- mistakes that no bank foresees -------------------------------------------------------------


def diagnose(
    q: Question, cases: list[Case], results: Mapping[int, dict], wrong: Mapping[int, Any]
) -> str:
    """Say in a sentence what an answer does, or "" where nothing stands out.

    Parameters
    ----------
    q : Question
        The question.
    cases : list of Case
        All of them.
    results : mapping of int to dict
        What came back, by number of case.
    wrong : mapping of int
        Numbers of the cases that are not right.
    """
    if wrong and (text := _parameters(cases[min(wrong)], results[min(wrong)])):
        return text
    if text := _texts(cases, results, wrong):
        return text
    got = {n: _arrays_of(results[n], case) for n, case in enumerate(cases) if n in results}
    looks = (
        *(_looks_at, _flags, _by_hand, _numbers, _pads),
        *(_as_if, _related, _nearly, _where, _single_numbers, _located),
    )
    for look in looks:
        if text := look(q, cases, got, wrong):
            return text
    return _sound(cases, wrong)


Got = Mapping[int, tuple[np.ndarray, ...]]


def _arrays_of(result: dict, case: Case) -> tuple[np.ndarray, ...]:
    """Take the arrays of numbers that came back, and plain numbers as such."""
    value = result.get("result", {}).get("value")
    if isinstance(value, dict):
        values = [_row(value.get(name)) for name in _compared(case)]
    else:
        values = list(value) if type(value) in (tuple, list) else [value]
    found = [v.array if isinstance(v, wire.Tensor) else v for v in values]
    numeric = [np.asarray(v, np.float64) for v in found if _numeric(v)]
    return tuple(numeric) if len(numeric) == len(values) else ()


def _compared(case: Case) -> list[str]:
    """Name the entries of a result that are numbers; gradients are another matter."""
    if not isinstance(case.expected, dict):
        return []
    return [
        name
        for name in case.stage.parts or case.expected
        if _numeric(_row(case.expected[name])) and not name.startswith("gradient")
    ]


def _row(value: Any) -> Any:
    """Make an array of an entry that is a row of plain numbers, or a table of such rows."""
    if type(value) not in (tuple, list) or not value:
        return value
    if all(type(x) in (tuple, list) for x in value):
        rows = [_row(x) for x in value]
        table = all(isinstance(x, np.ndarray) and x.shape == rows[0].shape for x in rows)
        return np.stack(rows) if table else value
    plain = all(_numeric(x) for x in value)
    return np.array(value) if plain and not any(map(np.ndim, value)) else value


def _numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fbiu"
    return isinstance(value, int | float) and not isinstance(value, bool)


def _right(case: Case) -> tuple[np.ndarray, ...]:
    expected = case.expected if isinstance(case.expected, tuple) else (case.expected,)
    if isinstance(case.expected, dict):
        expected = tuple(_row(case.expected[name]) for name in _compared(case))
    if case.upstream is not None or not all(_numeric(e) for e in expected):
        return ()
    return tuple(np.asarray(e, np.float64) for e in expected)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def _named(case: Case) -> list[str]:
    """Say what to call the parts of a result; of a single one nothing need be said."""
    if isinstance(case.expected, dict):
        whole = case._replace(stage=replace(case.stage, parts=()))
        return _compared(case) if len(_compared(whole)) > 1 else [""]
    names = [f"the {nth} result" for nth in _ORDINALS[: len(_right(case))]]
    return names if len(names) > 1 else [""]


def _pairs(cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> list[tuple]:
    """Set what came back beside what is right, wherever they differ in values alone.

    Each pair is followed by the name of the part of the result.
    """
    pairs = []
    for n in wrong:
        for a, b, name in zip(got.get(n, ()), _right(cases[n]), _named(cases[n])):
            if a.shape == b.shape and np.isfinite(a).all() and not _close(a, b):
                pairs.append((a, b, name))
    return pairs


def _close(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(
        np.allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
    )


# Of a variation of the batch: which sentence stays, and which ones change.
_SENTENCES = {OTHERS: (0, "first", "the others do"), FIRST: (1, "second", "the first one does")}


def _looks_at(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Compare each variation with the case that was varied."""
    for n, case in enumerate(cases):
        if case.base < 0 or n not in wrong:
            continue
        parts = zip(got.get(case.base, ()), got.get(n, ()), _right(cases[case.base]), _right(case))
        for (one, other, right, moved), part in zip(parts, _named(case)):
            if one.shape != other.shape or right.shape != moved.shape:
                continue
            if case.kind in _SENTENCES:
                row, stays, change = _SENTENCES[case.kind]
                kept = right.ndim and len(right) > row and _close(right[row], moved[row])
                if kept and one.ndim and len(one) > row and not _close(one[row], other[row]):
                    return (
                        f"Your result for the {stays} sentence changes when {change}: each may "
                        "depend on its own sentence alone."
                    )
            elif _close(one, other) and not _close(right, moved):
                name = case.kind.removeprefix("another ")
                yours = part.replace("the ", "Your ", 1) or "Your result"
                return f"{yours} stays the same when {name} changes, but the right one changes."
    return ""


def _parameters(case: Case, result: dict) -> str:
    """Set a module's parameters beside those that are asked for; name none but the latter."""
    value = result.get("result", {}).get("value")
    if not isinstance(case.expected, dict) or not isinstance(value, dict):
        return ""
    listed = [found.get("parameters") for found in (case.expected, value)]
    asked, theirs = [dict(_PARAMETER.findall(str(text or ""))) for text in listed]
    if asked == theirs:
        return ""
    if missing := [name for name in asked if name not in theirs]:
        return (
            f"No parameter is called {' or '.join(missing)}: in __init__, assign an nn.Parameter "
            f"to self.{missing[0]}. (A layer such as nn.Linear keeps its own under other names.)"
        )
    if other := [name for name in asked if theirs[name] != asked[name]]:
        return f"{other[0]} has another shape than the question asks for."
    return f"There are more parameters than {', '.join(asked)}."


_PARAMETER = re.compile(r"([\w.]+) (\([\d, ]*\))")


def _flags(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Say in which direction flags are wrong, where it is one."""
    too_many = too_few = False
    for n in wrong:
        right = cases[n].expected
        if not (isinstance(right, np.ndarray) and right.dtype == bool):
            return ""
        for flags in got.get(n, ()):
            if flags.shape == right.shape:
                too_many |= bool((flags.astype(bool) & ~right).any())
                too_few |= bool((~flags.astype(bool) & right).any())
    if too_many == too_few:
        return ""
    one, other = ("True", "False") if too_many else ("False", "True")
    return f"Yours is {one} at places that must be {other}, and nowhere the other way round."


# Of a single number: what it is to the right one.
_TO_A_NUMBER = {
    "minus the": lambda a, b: -b,
    "twice the": lambda a, b: 2 * b,
    "half the": lambda a, b: b / 2,
    "one over the": lambda a, b: 1 / b if b else np.nan,
    "the square root of the": lambda a, b: np.sqrt(b) if b > 0 else np.nan,
}


def _by_hand(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Look at numbers that were worked out by hand: there are few, and they are rounded."""
    if q.arguments or not wrong or len(cases) > 1:
        return ""
    tolerance = cases[0].stage.tolerance

    def close(a: Any, b: Any) -> np.ndarray:
        return np.isclose(a, b, atol=tolerance[0], rtol=tolerance[1])

    right = _right(cases[0])
    yours = got.get(0, ())
    if any(x.size != 1 for x in (*yours, *right)) or len(yours) != len(right):
        return ""
    a, b = (np.array([x.item() for x in side]) for side in (yours, right))
    if len(b) == 1:
        for text, relation in _TO_A_NUMBER.items():
            # What was rounded may have been doubled afterwards.
            if np.isclose(a[0], relation(a[0], b[0]), atol=2 * tolerance[0], rtol=tolerance[1]):
                return f"Yours is {text} right one."
    if ((b >= 0) & (b <= 1)).all():
        if (a < 0).any():
            return "A number of yours is below 0; what is right lies between 0 and 1."
        if (a > 1).any():
            return "A number of yours is above 1; what is right lies between 0 and 1."
    if len(b) > 1 and close(b.sum(), 1) and not np.isclose(a.sum(), 1, atol=0.011):
        return f"Yours add up to {a.sum():.2f}; the right ones add up to 1."
    fine = close(a, b)
    if fine.any() and not fine.all():
        places = " and ".join(f"number {n}" for n, one in enumerate(fine, start=1) if not one)
        return f"Of your {len(b)} numbers the others are right: look at {places} again."
    return ""


# Of a row with more numbers none is told from its place.
_FEW = 4


def _single_numbers(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Set single numbers, or each of a few in a row, beside the right ones over all cases.

    No number is named: an answer might put one of a hidden case there.
    """
    columns: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
    sizes_of: dict[str, list[dict[str, float]]] = {}
    for n, case in enumerate(cases):
        for a, b, name in zip(got.get(n, ()), _right(case), _named(case)):
            if a.size != b.size or not b.size or (b.ndim and b.size > _FEW):
                return ""
            sizes_of.setdefault(name, []).append(quantities(_given(q, case)))
            for place, pair in enumerate(zip(a.flat, b.flat)):
                columns.setdefault((name, b.size, place), []).append(pair)
    sizes = {name: size for name, size, _ in columns}
    if len(wrong) < 3 or len(columns) != sum(sizes.values()):
        return ""
    absolute, relative = cases[min(wrong)].stage.tolerance
    off = []
    for (name, size, place), pairs in columns.items():
        yours, right = (np.array(x) for x in zip(*pairs))
        if np.allclose(yours, right, atol=absolute, rtol=relative):
            continue
        off.append((name, size, place))
        if text := by_sizes(yours, right, sizes_of[name]) or _over_cases(yours, right):
            number = f"number {place + 1}" if size > 1 else ""
            which = " of ".join(filter(None, (number, name)))
            return f"Looking at {which} alone: {text}" if which else text
    for name, size, place in off:
        if sum(key[0] == name for key in off) == 1 < size:
            which = f" of {name}" if name else ""
            return f"Only number {place + 1}{which} is wrong: look at it again."
    return ""


def _over_cases(a: np.ndarray, b: np.ndarray) -> str:
    """Say what holds of a number in every case, right or wrong."""
    if len(a) < 3 or not np.isfinite(a).all() or np.ptp(b) < 0.05:
        return ""
    apart = a - b
    if np.ptp(a) < ABSOLUTE:
        return "Yours is the same number whatever it is given; the right one changes."
    if np.ptp(apart) < ABSOLUTE:
        more = "larger" if apart[0] > 0 else "smaller"
        return f"Yours is {more} than the right one by the same amount in every case."
    if (b != 0).all() and np.ptp(a / b) < RELATIVE:
        return "Yours is the right one times the same number in every case."
    if np.ptp(a + b) < ABSOLUTE:
        return "Yours and the right one add up to the same in every case: is a sign the wrong one?"
    if b.min() >= -ABSOLUTE and b.max() <= 1 + ABSOLUTE:
        below, above = a.min() < -ABSOLUTE, a.max() > 1 + ABSOLUTE
        if below or above:
            where = "below 0 and above 1" if below and above else "below 0" if below else "above 1"
            return f"Yours goes {where}; the right one stays between 0 and 1 in every case."
    if (apart > -ABSOLUTE).all() or (apart < ABSOLUTE).all():
        which = "large" if apart.max() > ABSOLUTE else "small"
        return f"Wherever yours is wrong it is too {which}."
    return ""


def _numbers(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Set the answer's numbers beside the right ones, all of them, and then each part by itself."""
    every = _pairs(cases, got, wrong)
    if text := _relation([(a, b) for a, b, _ in every]):
        return text
    for part in dict.fromkeys(name for _, _, name in every if name):
        if text := _relation([(a, b) for a, b, name in every if name == part]):
            return f"Looking at {part} alone: {text}"
    return ""


def _relation(every: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """Name a relation of numbers to the right ones if it holds everywhere."""
    for text, relation in _TO_A_NUMBER.items():
        if every and all(b.size == 1 and _close(a, relation(a, b)) for a, b in every):
            return f"Yours is {text} right one."
    pairs = [(a, b) for a, b in every if b.size > 1]
    if len(pairs) < 2:
        return ""
    if all(_close(a, -b) for a, b in pairs):
        return "Your result has the opposite sign of the right one, everywhere."
    if all(_factor(a, b) for a, b in pairs):
        return "Your result differs from the right one by a factor, the same for a whole case."
    # A row of one number is off by some constant, whatever became of it: two have to have more.
    rows = sum(b.shape[-1] > 1 for _, b in pairs)
    if rows > 1 and all(_shifted(a, b) for a, b in pairs):
        if all(b.ndim == 1 for _, b in pairs):
            return "Within a case, all numbers of your result are off by the same amount."
        return "Your result differs from the right one by a constant in each row."
    several = [(a, b) for a, b in pairs if b.ndim > 1 and len(b) > 1]
    if several and all(
        _close(a, a[:1] + 0 * a) and not _close(b, b[:1] + 0 * b) for a, b in several
    ):
        return "All sentences get the same result in yours; the right ones differ."
    for axes, text in _AXES.items():
        if all(_reordered(a, b, axes) for a, b in pairs):
            return text
    for axis, text in ((0, "the batch"), (-2, "the steps")):
        if all(_sums(a, axis) and _sums(b, -1) and not _sums(a, -1) for a, b in pairs):
            return f"Your numbers sum to 1 over {text} instead of over each row."
    if all(_sums(b, -1) and not _sums(a, -1) for a, b in pairs):
        return "The rows of your result do not sum to 1."
    if all(_sums(a, -1) and (a >= 0).all() and not _sums(b, -1) for a, b in pairs):
        return "The rows of your result sum to 1, as weights do; the right ones do not."
    return ""


def _pads(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Look where a mask (batch, keys) lets nothing through, and what is right is 0."""
    for n in wrong:
        hostile = cases[n].kind.startswith("pads that hold")
        mask = None if hostile else _mask_in(cases[n].inputs)
        if mask is None:
            continue
        for a, b in zip(got.get(n, ()), _right(cases[n])):
            if a.shape != b.shape or b.ndim < 2 or (len(b), b.shape[-1]) != mask.shape:
                continue
            pads = np.broadcast_to(~mask.reshape(len(b), *[1] * (b.ndim - 2), -1), b.shape)
            if pads.any() and not b[pads].any() and (np.abs(a[pads]) > ABSOLUTE).any():
                return "Yours is not 0 at places where the mask is False; what is right is 0 there."
    return ""


def _mask_in(inputs: Any) -> np.ndarray | None:
    """Find the first mask (batch, keys) among inputs, whatever they are wrapped in."""
    if isinstance(inputs, np.ndarray):
        return inputs if inputs.dtype == bool and inputs.ndim == 2 else None
    if not isinstance(inputs, tuple | list):
        return None
    return next((m for m in map(_mask_in, inputs) if m is not None), None)


# What an answer may have done to an argument: an array, a plain number, a list.
_CHANGES: dict[str, Callable[[np.ndarray], Any]] = {
    "turned round from end to end along its first axis": lambda x: x[::-1],
    "turned round from end to end along its last axis": lambda x: x[..., ::-1],
    "1 everywhere": np.ones_like,
    "0 everywhere": np.zeros_like,
    "turned round from True to False": lambda x: ~x if x.dtype == bool else x,
    "of the opposite sign": lambda x: -x if x.dtype.kind == "f" else x,
    "twice as large": lambda x: 2 * x if x.dtype.kind == "f" else x,
    "half as large": lambda x: x / 2 if x.dtype.kind == "f" else x,
    "without its signs": lambda x: abs(x) if x.dtype.kind == "f" else x,
    "larger by 1": lambda x: x + 1 if x.dtype.kind == "i" else x,
    "smaller by 1": lambda x: x - 1 if x.dtype.kind == "i" else x,
    "that of the first sentence for all": lambda x: np.repeat(x[:1], len(x), axis=0),
    "its own mean over the sentences": lambda x: (
        np.repeat(x.mean(0, keepdims=True), len(x), axis=0) if x.dtype.kind == "f" else x
    ),
}
_CHANGES_OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "1": lambda x: type(x)(1),
    "0": lambda x: type(x)(0),
    "larger by 1": lambda x: x + 1,
    "smaller by 1": lambda x: x - 1,
    "of the opposite sign": lambda x: -x,
    "twice as large": lambda x: 2 * x,
    "half as large": lambda x: x / 2 if isinstance(x, float) else x // 2,
    "squared": lambda x: x**2,
}
_CHANGES_OF_FLAGS: dict[str, Callable[[bool], Any]] = {
    "turned round from True to False": lambda x: not x
}
_CHANGES_OF_LISTS: dict[str, Callable[[Any], Any]] = {
    "turned round from end to end": lambda x: x[::-1],
    "its first entry alone": lambda x: x[:1],
    "without its last entry": lambda x: x[:-1],
    "without its first entry": lambda x: x[1:],
}


def _changes_of(value: Any) -> dict[str, Callable[[Any], Any]]:
    if isinstance(value, bool):
        return _CHANGES_OF_FLAGS
    if isinstance(value, int | float):
        return _CHANGES_OF_NUMBERS
    if isinstance(value, np.ndarray) and value.ndim:
        return _CHANGES
    return _CHANGES_OF_LISTS if isinstance(value, list) else {}


# Longer lists of texts help nobody.
_LONGEST_LIST = 200
# Cases in which that is tried: where so many agree it is no chance.
_TRIED = 6


def _given(q: Question, case: Case) -> dict[str, Any]:
    """Name the inputs of a case, if they are what the answer is called with."""
    if len(q.arguments) != len(case.inputs):
        return {}
    given, shown = dict(zip(q.arguments, case.inputs)), q.to_show(case.inputs)
    return given if all(shown.get(name) is x for name, x in given.items()) else {}


def _as_if(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Set an answer beside what is right for other inputs, which it may have made of its own."""
    tried = [n for n in wrong if _right(cases[n]) and not cases[n].kind.startswith("pads ")]
    if len(tried) < 2 or not _given(q, cases[tried[0]]):
        return ""
    if any(np.isnan(x).any() for n in wrong for x in got.get(n, ())):
        return ""  # NaN comes of other things than of the inputs
    tried = tried[:_TRIED]

    def fits(**change: Callable[[dict[str, Any]], Any]) -> bool:
        return all(_right_for(q, cases[n], change, got.get(n, ())) for n in tried)

    first = _given(q, cases[tried[0]])
    for name, value in first.items():
        for text, change in _changes_of(value).items():
            if fits(**{name: partial(_changed, name, change)}):
                if np.ndim(value) < 2:
                    text = text.partition(" along ")[0]
                return f"Yours is what would be right if {name} were {text}."
    for one, other in permutations(first, 2):
        if _shape_of(first[one]) != _shape_of(first[other]):
            continue
        if one < other and fits(**{one: itemgetter(other), other: itemgetter(one)}):
            return f"Yours is what would be right if {one} and {other} were exchanged."
        if fits(**{one: itemgetter(other)}):
            return f"Yours is what would be right if {one} were {other}."
    return ""


def _changed(name: str, change: Callable[[Any], Any], given: dict[str, Any]) -> Any:
    return change(given[name])


def _shape_of(value: Any) -> Any:
    return (value.dtype, value.ndim) if isinstance(value, np.ndarray) else type(value)


def _right_for(
    q: Question, case: Case, change: Mapping[str, Callable[[dict[str, Any]], Any]], yours: tuple
) -> bool:
    """Tell whether a result is right for the inputs of a case but for a change to some of them."""
    given = _given(q, case)
    try:
        with np.errstate(all="ignore"):
            changed = given | {name: make(given) for name, make in change.items()}
            if all(np.array_equal(changed[name], given[name]) for name in given):
                return False
            expected = expected_output(q, tuple(changed.values()), None)
        right = _right(case._replace(expected=expected))
    except Exception:  # an oracle need not take everything
        return False
    # Where it makes no difference, something else is wrong.
    return (
        0 < len(right) == len(yours)
        and all(_close(a, b) for a, b in zip(yours, right))
        and not all(_close(a, b) for a, b in zip(_right(case), right))
    )


def _by_part(look: Callable[[list[Seen]], str]) -> Callable[..., str]:
    """Look at all that is wrong, and then at each part of the results by itself."""

    def looking(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
        every = []
        for n in wrong:
            given = _given(q, cases[n])
            for a, b, name in zip(got.get(n, ()), _right(cases[n]), _named(cases[n])):
                if a.shape == b.shape and np.isfinite(a).all() and not _close(a, b):
                    every.append((name, Seen(a, b, given)))
        if text := look([seen for _, seen in every]):
            return text
        for part in dict.fromkeys(name for name, _ in every if name):
            if text := look([seen for name, seen in every if name == part]):
                return f"Looking at {part} alone: {text}"
        return ""

    return looking


_related, _located = _by_part(related), _by_part(located)


def _nearly(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    pairs = [(a, b) for a, b, _ in _pairs(cases, got, wrong)]
    if pairs and all(
        np.isfinite(b).all() and np.allclose(a, b, rtol=0.03, atol=0.01 * np.abs(b).max())
        for a, b in pairs
    ):
        if not q.arguments:
            return "You are near: was something rounded on the way? Round the result alone."
        return (
            "Your result is nearly right, off by some per cent at most: is something rounded to "
            "less precision, or a small constant added?"
        )
    return ""


def _factor(a: np.ndarray, b: np.ndarray) -> bool:
    top = np.abs(b).argmax()
    if not (b.flat[top] and a.flat[top]):
        return False
    return _close(a * (b.flat[top] / a.flat[top]), b)


def _shifted(a: np.ndarray, b: np.ndarray) -> bool:
    difference = a - b
    return _close(difference, np.broadcast_to(difference[..., :1], a.shape))


def _sums(x: np.ndarray, axis: int) -> bool:
    return x.ndim >= max(2, -axis) and _close(x.sum(axis), np.ones_like(x.sum(axis)))


_AXES = {
    "transposed": "Rows and columns of your result are exchanged.",
    "flipped": "The last axis of your result runs the wrong way.",
    "rows": "The rows of your result are the right ones in another order.",
}


def _reordered(a: np.ndarray, b: np.ndarray, how: str) -> bool:
    if a.ndim < 2:
        return False
    if how == "transposed":
        return a.shape[-1] == a.shape[-2] and _close(np.swapaxes(a, -1, -2), b)
    if how == "flipped":
        return _close(a[..., ::-1], b)
    flat, right = a.reshape(-1, a.shape[-1]), b.reshape(-1, a.shape[-1])
    return 1 < len(flat) <= 6 and any(
        _close(flat[list(order)], right) for order in permutations(range(len(flat)))
    )


def _where(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Name the kinds of cases that alone are wrong."""
    kinds = {cases[n].kind for n in wrong}
    sound = {case.kind for case in cases} - kinds
    pads = sorted(k for k in kinds if k.startswith("pads that hold"))
    if pads and len(pads) == len(kinds):
        held = ", ".join(k.removeprefix("pads that hold ") for k in pads)
        return f"Your result is right until the padding holds {held}: it must not matter."
    if sound and len(kinds) <= 3 and "ordinary" not in kinds:
        return f"Your answer is right elsewhere and wrong here: {', '.join(sorted(kinds))}."
    return ""


def _sound(cases: list[Case], wrong: Mapping[int, Any]) -> str:
    """Name the kinds of cases that alone are right."""
    kinds = {case.kind for case in cases if case.base < 0 and case.kind != DOUBLE}
    kinds = {kind for kind in kinds if not kind.startswith("pads that hold")}
    sound = sorted(kinds - {cases[n].kind for n in wrong})
    if sound and len(sound) <= 3 and len(sound) < len(kinds) / 2 and "ordinary" not in sound:
        return f"Your answer is right here alone: {', '.join(sound)}."
    return ""


def _texts(cases: list[Case], results: Mapping[int, dict], wrong: Mapping[int, Any]) -> str:
    """Say which texts are wrong, where an answer is one, or has one among its entries."""
    said = []
    for n in wrong:
        value, right = results.get(n, {}).get("result", {}).get("value"), cases[n].expected
        if not isinstance(right, dict):
            value, right = {"": value}, {"": right}
        if not isinstance(value, dict):
            return ""
        for name in set(cases[n].stage.parts or right) - {"parameters"}:
            ours, theirs = value.get(name), right.get(name)
            if isinstance(ours, str) and isinstance(theirs, str) and ours != theirs:
                said.append((ours, theirs))
    if len(said) < 2:
        return ""
    ours, theirs = (set(side) for side in zip(*said))
    known = {x for case in cases for x in _texts_of(case.expected)}
    if any(re.search(r"\d", x) for x in known):
        return ""  # of a case, perhaps
    if not ours <= known:
        listed = ", ".join(sorted(known))
        of_few = f"One of your texts is none of those that may be said: {listed}."
        return of_few if len(listed) <= _LONGEST_LIST else ""
    if len(ours) == len(theirs) == 1:
        return (
            f"You say {ours.pop()!r} where {theirs.pop()!r} is right, and elsewhere you are right."
        )
    if len(ours) == 1:
        return f"You say {ours.pop()!r} too often."
    if len(theirs) == 1:
        return f"You do not say {theirs.pop()!r} where it is right."
    return ""


def _texts_of(expected: Any) -> list[str]:
    named = expected if isinstance(expected, dict) else {"": expected}
    values = [x for name, x in named.items() if name != "parameters"]
    return [x for x in values if isinstance(x, str)]


# --- an input on which it is wrong ---------------------------------------------------------------


def written(q: Question, case: Case, value: object) -> list[str]:
    """Write a case and what came back for it, a line or more for each array.

    Of results with more than one sentence the first that is wrong is written, and of those with
    several entries the first one. There is nothing to write where a text is wrong.
    """
    lines = [f"{name} = {_text(x)}" for name, x in q.to_show(case.inputs).items()]
    which, right = "", case.expected
    if isinstance(right, dict) and isinstance(value, dict):
        names = case.stage.parts or tuple(right)
        tolerance = case.stage.tolerance
        off = [n for n in names if difference(value.get(n), right[n], tolerance=tolerance)]
        # By its name, unless it is the only entry with numbers.
        which = f", {off[0]}" if len(names) > 1 or _named(case) != [""] else ""
        value, right = value.get(off[0]), right[off[0]]
    if isinstance(right, str):
        return []  # a property of the code, whatever its inputs
    if isinstance(value, wire.Tensor) and isinstance(right, np.ndarray) and right.ndim > 1:
        apart = [n for n, (a, b) in enumerate(zip(value.array, right)) if not _near(a, b)]
        if apart and len(right) > 1:
            which += f" (sentence {apart[0] + 1})"
            value, right = value._replace(array=value.array[apart[0]]), right[apart[0]]
    return [*lines, f"yours{which}: {_text(value)}", f"right{which}: {_text(right)}"]


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=RELATIVE, atol=ABSOLUTE))


def _text(value: object) -> str:
    if isinstance(value, tuple | list) and not isinstance(value, wire.Tensor | wire.Other):
        return "(" + ", ".join(map(_text, value)) + ")"
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    array = value.array if isinstance(value, wire.Tensor) else value
    if not isinstance(array, np.ndarray):
        return str(array)[:80]
    if array.size > MOST_SHOWN:
        return f"a tensor of shape {array.shape}"
    # Adding 0 turns -0 into 0; flags are easier to read as 1 and 0.
    shown = np.round(array.astype(np.float64), 2) + 0.0 if array.dtype.kind == "f" else array
    shown = shown.astype(int) if shown.dtype == bool else shown
    return np.array2string(shown, separator=", ", max_line_width=88, threshold=MOST_SHOWN)
