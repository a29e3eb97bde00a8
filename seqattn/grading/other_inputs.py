"""For which other inputs an answer would be right: those that it may have made of its own.

An answer that gives in every case what is right for scaled scores, or for the mask turned round,
has scaled them or turned it. :func:`right_for_other_inputs` tries what one may do to an argument by
mistake.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import permutations
from operator import itemgetter
from typing import Any

import numpy as np

from seqattn.grading.bank import Question
from seqattn.grading.cases import Case, Got, expected_output, named_inputs, right_numbers
from seqattn.grading.compare import close

__all__ = ["right_for_other_inputs"]

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


# Cases in which that is tried: where so many agree it is no chance.
_TRIED = 6


def right_for_other_inputs(
    q: Question, cases: list[Case], got: Got, wrong: Mapping[int, Any]
) -> str:
    """Set an answer beside what is right for other inputs, which it may have made of its own."""
    tried = [n for n in wrong if right_numbers(cases[n]) and not cases[n].kind.startswith("pads ")]
    if len(tried) < 2 or not named_inputs(q, cases[tried[0]]):
        return ""
    if any(np.isnan(x).any() for n in wrong for x in got.get(n, ())):
        return ""  # NaN comes of other things than of the inputs
    tried = tried[:_TRIED]

    def fits(**change: Callable[[dict[str, Any]], Any]) -> bool:
        return all(_right_for(q, cases[n], change, got.get(n, ())) for n in tried)

    first = named_inputs(q, cases[tried[0]])
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
    given = named_inputs(q, case)
    try:
        with np.errstate(all="ignore"):
            changed = given | {name: make(given) for name, make in change.items()}
            if all(np.array_equal(changed[name], given[name]) for name in given):
                return False
            expected = expected_output(q, tuple(changed.values()), None)
        right = right_numbers(case._replace(expected=expected))
    except Exception:  # an oracle need not take everything
        return False
    # Where it makes no difference, something else is wrong.
    return (
        0 < len(right) == len(yours)
        and all(close(a, b) for a, b in zip(yours, right))
        and not all(close(a, b) for a, b in zip(right_numbers(case), right))
    )
