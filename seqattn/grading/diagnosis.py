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
from seqattn.grading.variations import OTHERS

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
    got = {n: _first(results[n], case) for n, case in enumerate(cases) if n in results}
    for look in (_looks_at, _numbers, _where):
        if text := look(q, cases, got, wrong):
            return text
    return ""


def _first(result: dict, case: Case) -> np.ndarray | None:
    """Take the array that came back, or the first of several that is wrong."""
    if case.upstream is not None:
        return None
    value = result.get("result", {}).get("value")
    values = value if type(value) in (tuple, list) else (value,)
    right = _right(case)
    for one, expected in zip(values, right):
        if isinstance(one, wire.Tensor) and one.array.dtype.kind == "f":
            array = np.asarray(one.array, np.float64)
            if len(right) == 1 or not _close(array, expected):
                return array
    return None


def _right(case: Case) -> tuple:
    return case.expected if isinstance(case.expected, tuple) else (case.expected,)


def _close(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=2e-5, equal_nan=True)


def _looks_at(q: Question, cases: list[Case], got: dict, wrong: Mapping[int, Any]) -> str:
    """Compare each variation with the case that was varied."""
    for n, case in enumerate(cases):
        if case.base < 0 or n not in wrong or got.get(n) is None or got.get(case.base) is None:
            continue
        one, other = got[case.base], got[n]
        right, moved = _right(cases[case.base])[0], _right(case)[0]
        if one.shape != other.shape:
            continue
        if case.kind == OTHERS:
            if one.ndim and _close(right[0], moved[0]) and not _close(one[0], other[0]):
                return (
                    "Your result for the first sentence changes when the other sentences of the "
                    "batch do: each may depend on its own sentence alone."
                )
        elif _close(one, other) and not _close(right, moved):
            name = case.kind.removeprefix("another ")
            return f"Your result does not depend on {name}: it is the same for any other."
    return ""


def _numbers(q: Question, cases: list[Case], got: dict, wrong: Mapping[int, Any]) -> str:
    """Set the answer's numbers beside the right ones: a relation counts if it holds everywhere."""
    pairs = []
    for n in wrong:
        if (one := got.get(n)) is None:
            continue
        fits = [r for r in _right(cases[n]) if np.shape(r) == one.shape]
        if not fits or not np.isfinite(one).all():
            continue
        pairs.append((one, np.asarray(fits[0], np.float64)))
    pairs = [(a, b) for a, b in pairs if b.size > 1]
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
    return ""


def _factor(a: np.ndarray, b: np.ndarray) -> bool:
    top = np.abs(b).argmax()
    return bool(b.flat[top]) and a.flat[top] != 0 and _close(a * (b.flat[top] / a.flat[top]), b)


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


def _where(q: Question, cases: list[Case], got: dict, wrong: Mapping[int, Any]) -> str:
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
