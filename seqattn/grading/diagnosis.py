"""Name what is wrong with an answer whose mistake no bank foresees, from what it did.

Nothing is guessed: each sentence says what was seen, on cases that differ in one thing, or between
an answer's numbers and the right ones.
"""

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np

from seqattn.grading.bank import Question
from seqattn.grading.outcomes import Case
from seqattn.grading.sandbox import wire
from seqattn.grading.variations import FIRST, OTHERS

__all__ = ["diagnose"]


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
    got = {n: _arrays_of(results[n]) for n, case in enumerate(cases) if n in results}
    for look in (_looks_at, _numbers, _nearly, _where):
        if text := look(q, cases, got, wrong):
            return text
    return ""


Got = Mapping[int, tuple[np.ndarray, ...]]


def _arrays_of(result: dict) -> tuple[np.ndarray, ...]:
    """Take the arrays of floats that came back, and plain numbers as such."""
    value = result.get("result", {}).get("value")
    values = value if type(value) in (tuple, list) else (value,)
    found = [v.array if isinstance(v, wire.Tensor) else v for v in values]
    numeric = [np.asarray(v, np.float64) for v in found if _numeric(v)]
    return tuple(numeric) if len(numeric) == len(values) else ()


def _numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fbiu"
    return isinstance(value, int | float)


def _right(case: Case) -> tuple[np.ndarray, ...]:
    expected = case.expected if isinstance(case.expected, tuple) else (case.expected,)
    if case.upstream is not None or not all(_numeric(e) for e in expected):
        return ()
    return tuple(np.asarray(e, np.float64) for e in expected)


def _pairs(cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> list[tuple]:
    """Set what came back beside what is right, wherever they differ in values alone."""
    pairs = []
    for n in wrong:
        for a, b in zip(got.get(n, ()), _right(cases[n])):
            if a.shape == b.shape and np.isfinite(a).all() and not _close(a, b):
                pairs.append((a, b))
    return pairs


def _close(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-3, atol=2e-5, equal_nan=True))


# Of a variation of the batch: which sentence stays, and which ones change.
_SENTENCES = {OTHERS: (0, "first", "the others do"), FIRST: (1, "second", "the first one does")}


def _looks_at(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Compare each variation with the case that was varied."""
    for n, case in enumerate(cases):
        if case.base < 0 or n not in wrong:
            continue
        parts = zip(got.get(case.base, ()), got.get(n, ()), _right(cases[case.base]), _right(case))
        for one, other, right, moved in parts:
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
                return f"Your result stays the same with another {name}, and the right one changes."
    return ""


# Of a single number: what it is to the right one.
_TO_A_NUMBER = {
    "minus the": lambda a, b: -b,
    "twice the": lambda a, b: 2 * b,
    "half the": lambda a, b: b / 2,
    "one over the": lambda a, b: 1 / b if b else np.nan,
}


def _numbers(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    """Set the answer's numbers beside the right ones: a relation counts if it holds everywhere."""
    every = _pairs(cases, got, wrong)
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
    if all(_shifted(a, b) for a, b in pairs):
        return "Your result differs from the right one by a constant in each row."
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


def _nearly(q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]) -> str:
    pairs = _pairs(cases, got, wrong)
    if pairs and all(np.allclose(a, b, rtol=0.03, atol=0.01 * np.abs(b).max()) for a, b in pairs):
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
    return a.shape[-1] > 1 and _close(difference, np.broadcast_to(difference[..., :1], a.shape))


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
    if sound and len(kinds) <= 2 and "ordinary" not in kinds:
        return f"Your answer is right elsewhere and wrong here: {', '.join(sorted(kinds))}."
    return ""
