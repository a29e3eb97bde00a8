"""What an answer's numbers are to the right ones, whatever question they answer.

``plainly_related``, ``related`` (what is rarer) and ``located`` look at all cases that came out
wrong, ``by_sizes`` and ``over_cases`` at a single number in all cases, right ones too; each says in
a sentence what holds in every one of them, or "". ``quantities`` lists a case's sizes for
``by_sizes``. What is said is true of the numbers; what the mistake was it leaves open. No number of
a case is named, and of its sizes none.

An answer that gives in every case what is right for scaled scores, or for the mask turned round,
has scaled them or turned it. :func:`right_for_other_inputs` tries what one may do to an argument by
mistake.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations, product
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from seqattn.grading.bank import Question
from seqattn.grading.cases import Case, Got, expected_output, named_inputs, right_numbers
from seqattn.grading.compare import ABSOLUTE, RELATIVE, Difference, close

__all__ = [
    "TO_A_NUMBER",
    "Seen",
    "by_sizes",
    "located",
    "nearly_right",
    "over_cases",
    "plainly_related",
    "quantities",
    "related",
    "right_for_other_inputs",
]


class Seen(NamedTuple):
    """What came back beside what is right, in a case where they differ.

    Attributes
    ----------
    yours, right : ndarray
        Of one shape, in float64; all of ``yours`` is finite.
    inputs : dict
        The arguments of the answer by their names, where these are known.
    """

    yours: np.ndarray
    right: np.ndarray
    inputs: Mapping[str, Any]


# Of a single number: what it is to the right one.
TO_A_NUMBER: dict[str, Callable[[Any], Any]] = {
    "minus the": lambda b: -b,
    "twice the": lambda b: 2 * b,
    "half the": lambda b: b / 2,
    "one over the": lambda b: 1 / b if b else np.nan,
    "the square root of the": lambda b: np.sqrt(b) if b > 0 else np.nan,
}


def plainly_related(seen: Sequence[Seen]) -> str:
    """Say what is plainest: a sign, a factor, a constant, an order, sums that are not 1.

    Parameters
    ----------
    seen : sequence of Seen
        One for each case that is wrong.
    """
    for text, change in TO_A_NUMBER.items():
        if seen and all(s.right.size == 1 and close(s.yours, change(s.right)) for s in seen):
            return f"Yours is {text} right one."
    pairs = [(s.yours, s.right) for s in seen if s.right.size > 1]
    if len(pairs) < 2:
        return ""
    if all(close(a, -b) for a, b in pairs):
        return "Your result has the opposite sign of the right one, everywhere."
    if all(_factor(a, b) for a, b in pairs):
        return "Your result differs from the right one by a factor, the same for a whole case."
    # A row of one number is off by some constant, whatever became of it: two have to have more.
    rows = sum(b.shape[-1] > 1 for _, b in pairs)
    if rows > 1 and all(_shifted(a, b) for a, b in pairs):
        if all(b.ndim == 1 for _, b in pairs):
            return "Within a case, all numbers of your result are off by the same amount."
        return "Your result differs from the right one by a constant in each row."
    if all(np.ptp(a) < ABSOLUTE < np.ptp(b) for a, b in pairs):
        zeros = not any(a.any() for a, _ in pairs)
        same = "0" if zeros else "the same"
        return f"All numbers of your result are {same}; the right ones differ."
    several = [(a, b) for a, b in pairs if b.ndim > 1 and len(b) > 1]
    if several and all(close(a, a[:1] + 0 * a) and not close(b, b[:1] + 0 * b) for a, b in several):
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


def _factor(a: np.ndarray, b: np.ndarray) -> bool:
    top = np.abs(b).argmax()
    if not (b.flat[top] and a.flat[top]):
        return False
    return close(a * (b.flat[top] / a.flat[top]), b)


def _shifted(a: np.ndarray, b: np.ndarray) -> bool:
    difference = a - b
    return close(difference, np.broadcast_to(difference[..., :1], a.shape))


def _sums(x: np.ndarray, axis: int) -> bool:
    return x.ndim >= max(2, -axis) and close(x.sum(axis), np.ones_like(x.sum(axis)))


_AXES = {
    "transposed": "Rows and columns of your result are exchanged.",
    "flipped": "The last axis of your result runs the wrong way.",
    "rows": "The rows of your result are the right ones in another order.",
}


def _reordered(a: np.ndarray, b: np.ndarray, how: str) -> bool:
    if a.ndim < 2:
        return False
    if how == "transposed":
        return a.shape[-1] == a.shape[-2] and close(np.swapaxes(a, -1, -2), b)
    if how == "flipped":
        return close(a[..., ::-1], b)
    flat, right = a.reshape(-1, a.shape[-1]), b.reshape(-1, a.shape[-1])
    return 1 < len(flat) <= 6 and any(
        close(flat[list(order)], right) for order in permutations(range(len(flat)))
    )


def nearly_right(seen: Sequence[Seen]) -> bool:
    """Tell whether all numbers are off by some per cent at most."""
    return bool(seen) and all(
        np.isfinite(right).all()
        and np.allclose(yours, right, rtol=0.03, atol=0.01 * np.abs(right).max())
        for yours, right, _ in seen
    )


# Numbers in all cases together that cannot agree by chance.
_ENOUGH = 6


def _all_differ(seen: Sequence[Seen]) -> bool:
    """Tell whether there are enough numbers, and not all the same, to see a relation in them."""
    numbers = np.concatenate([s.right.ravel() for s in seen] or [np.zeros(0)])
    return numbers.size >= _ENOUGH and len(np.unique(numbers.round(6))) >= _ENOUGH / 2


# What each number is made of by the right one.
_EACH: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "is the right one without its sign": np.abs,
    "is the square of the right one": np.square,
    "is the root of the right one": np.sqrt,
    "is one minus the right one": lambda b: 1 - b,
    "is one over the right one": lambda b: 1 / b,
    "is e to the power of the right one": np.exp,
    "is the logarithm of the right one": np.log,
    "is the tanh of the right one": np.tanh,
    "is the logistic function of the right one": lambda b: 1 / (1 + np.exp(-b)),
    "is the right one, but never above 1": lambda b: np.minimum(b, 1),
    "is the right one, but never below 0": lambda b: np.maximum(b, 0),
    "is the right one, rounded to a whole number": np.round,
    "is the right one, rounded down to a whole number": np.floor,
    "is the right one as a percentage": lambda b: 100 * b,
}


def related(seen: Sequence[Seen]) -> str:
    """Say how an answer's numbers can be had from the right ones, if from nothing else than these.

    Parameters
    ----------
    seen : sequence of Seen
        One for each case that is wrong.
    """
    if len(seen) < 2 or not _all_differ(seen):
        return ""
    with np.errstate(all="ignore"):
        for text, change in _EACH.items():
            if all(close(s.yours, change(s.right)) for s in seen):
                return f"Each number of yours {text}."
        return _with_inputs(seen) or _rearranged(seen)


# What becomes of a result R with an input x, in words.
_WITH = {
    "plus {}": np.add,
    "minus {}": np.subtract,
    "times {}": np.multiply,
    "divided by {}": np.divide,
}


def _with_inputs(seen: Sequence[Seen]) -> str:
    for name in seen[0].inputs:
        given = [_fitting(s.inputs.get(name), s.right) for s in seen]
        if any(x is None for x in given):
            continue
        if all(close(s.yours, x + 0 * s.right) for s, x in zip(seen, given)):
            return f"Your result is {name}, as it came in."
        for text, change in _WITH.items():
            if all(close(s.yours, change(s.right, x)) for s, x in zip(seen, given)):
                return f"Your result is the right one {text.format(name)}."
    return ""


def _fitting(value: Any, right: np.ndarray) -> Any:
    """Give an input as it would meet a result: by its last axes, or else by its first ones."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not (isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "fbiu"):
        return None
    value = value.astype(np.float64)
    if value.ndim > right.ndim or not np.isfinite(value).all():
        return None
    if value.shape == right.shape[right.ndim - value.ndim :]:
        return value
    if value.shape == right.shape[: value.ndim]:
        return value.reshape(*value.shape, *[1] * (right.ndim - value.ndim))
    return None


def _axes(seen: Sequence[Seen], least: int) -> Iterator[tuple[int, str]]:
    """Name the axes that all results have, and of which some have at least so many places."""
    depth = seen[0].right.ndim
    if any(s.right.ndim != depth for s in seen):
        return
    names = {0: "the first axis"} if depth > 1 else {}
    for axis in (-1, *range(depth - 1)):
        if max(s.right.shape[axis] for s in seen) >= least:
            yield axis, names.get(axis, "the last axis" if axis == -1 else "the axis in the middle")


def _rearranged(seen: Sequence[Seen]) -> str:
    several = [s for s in seen if s.right.ndim and s.right.size > 1]
    if len(several) < len(seen):
        return ""
    for axis, name in _axes(seen, 2):
        long = [s for s in seen if s.right.shape[axis] > 1]
        if all(np.ptp(s.yours, axis).max() < ABSOLUTE for s in long) and any(
            np.ptp(s.right, axis).max() > 100 * ABSOLUTE for s in long
        ):
            return f"Along {name} all numbers of yours are the same; the right ones differ."
    for axis, name in _axes(seen, 3):
        moved = [(np.moveaxis(s.yours, axis, 0), np.moveaxis(s.right, axis, 0)) for s in seen]
        more = [pair for pair in moved if len(pair[0]) > 2]
        if all(close(a[1:], b[:-1]) for a, b in more):
            return f"Along {name} your numbers stand one place too late."
        if all(close(a[:-1], b[1:]) for a, b in more):
            return f"Along {name} your numbers stand one place too early."
        if all(close(a, b.cumsum(0)) for a, b in moved):
            return f"Along {name} your numbers are running sums of the right ones."
        if all(close(a.cumsum(0), b) for a, b in moved):
            return f"Along {name} the right numbers are running sums of yours."
        if all(close(np.sort(a, 0), np.sort(b, 0)) for a, b in moved):
            return f"You have the right numbers, but along {name} they stand in another order."
    if all(close(np.sort(s.yours.ravel()), np.sort(s.right.ravel())) for s in seen):
        return "You have the right numbers, but at other places."
    return ""


# --- where they are wrong, and in which direction -------------------------------------------------


def located(seen: Sequence[Seen]) -> str:
    """Say where in the results, or on which side of the right ones, the wrong numbers lie.

    Parameters
    ----------
    seen : sequence of Seen
        One for each case that is wrong.
    """
    if len(seen) < 2:
        return ""
    off = [~np.isclose(s.yours, s.right, rtol=RELATIVE, atol=ABSOLUTE) for s in seen]
    if all(s.right.ndim and s.right.size > 1 for s in seen) and (text := _places(seen, off)):
        return text
    yours = np.concatenate([s.yours[o] for s, o in zip(seen, off)])
    right = np.concatenate([s.right[o] for s, o in zip(seen, off)])
    whole = all((x == x.round()).all() for x in (yours, right))
    if len(yours) < _ENOUGH or whole:  # of ids and flags none is larger than another
        return ""
    if (yours > right).all():
        return "Wherever a number of yours is wrong it is too large."
    if (yours < right).all():
        return "Wherever a number of yours is wrong it is too small."
    if (np.sign(yours) * np.sign(right) >= 0).all():
        if (abs(yours) > abs(right)).all():
            return "Wherever a number of yours is wrong it is too far from 0, with the right sign."
        if (abs(yours) < abs(right)).all():
            return "Wherever a number of yours is wrong it is too near 0, with the right sign."
    return ""


# Of more places along an axis none is told from its number.
_COLUMNS = 6


def _places(seen: Sequence[Seen], off: Sequence[np.ndarray]) -> str:
    if all(np.array_equal(o, o & (s.right == 0)) for s, o in zip(seen, off)):
        return "Yours is wrong only where what is right is exactly 0."
    if all((o | (s.right == 0)).all() for s, o in zip(seen, off)) and all(
        not (o & (s.right == 0)).any() and (s.right == 0).any() for s, o in zip(seen, off)
    ):
        return "Yours is right only where what is right is exactly 0."
    for axis, name in _axes(seen, 2):
        if any(o.shape[axis] < 2 for o in off):
            continue
        # For each place along the axis: whether something there is wrong.
        rows = [np.array(np.moveaxis(o, axis, 0).reshape(o.shape[axis], -1).any(1)) for o in off]
        for where, wrong, fine in (
            ("the first", slice(0, 1), slice(1, None)),
            ("the last", slice(-1, None), slice(0, -1)),
        ):
            if not any(row[fine].any() for row in rows):
                return f"Only {where} place along {name} is wrong."
            if all(row[fine].all() for row in rows) and not any(row[wrong].any() for row in rows):
                return f"Along {name} {where} place alone is right."
        count = len(rows[0])
        if count <= _COLUMNS and all(len(row) == count for row in rows):
            some = np.any(rows, axis=0)
            if some.sum() == 1:
                return f"Only place {some.argmax() + 1} along {name} is wrong."
    return ""


# --- single numbers that are counted out of sizes -------------------------------------------------


def quantities(inputs: Mapping[str, Any]) -> dict[str, float]:
    """List the positive numbers that a case consists of: its plain numbers, and sizes of arrays."""
    found = {}
    for name, x in inputs.items():
        if isinstance(x, int | float) and not isinstance(x, bool):
            found[name] = float(x)
        elif isinstance(x, np.ndarray):
            found |= {f"{name}.shape[{n}]": float(size) for n, size in enumerate(x.shape)}
    return found


# Whole factors, and halves, that a forgotten term may have.
_FACTORS = (1.0, 2.0, 0.5, 3.0, 4.0, 6.0, 8.0)
# Powers in a term: three quantities at most, and no more than four of them multiplied.
_MOST, _DEGREE = 3, 4


def by_sizes(yours: np.ndarray, right: np.ndarray, given: Sequence[Mapping[str, float]]) -> str:
    """Say by which product of sizes a number is off in every case, or what it is multiplied by.

    Parameters
    ----------
    yours, right : ndarray
        A number for each case.
    given : sequence of dict
        The :func:`quantities` of each case.
    """
    columns = _columns(given)
    if len(yours) < 4 or not columns or not np.isfinite(yours).all():
        return ""
    with np.errstate(all="ignore"):
        if (right != 0).all() and (yours != 0).all():
            ratio = yours / right
            for name, x in columns.items():
                if np.ptp(x) and close(ratio, x):
                    return f"Yours is the right one times {name}."
                if np.ptp(x) and close(ratio, 1 / x):
                    return f"Yours is the right one divided by {name}."
        apart = yours - right
        if not (apart > 0).all() and not (apart < 0).all():
            return ""
        for name, x in _terms(columns):
            for factor in _FACTORS:
                if np.ptp(x) and np.allclose(abs(apart), factor * x, rtol=1e-6, atol=1e-6):
                    term = name if factor == 1 else f"{factor:g} · {name}"
                    return f"Yours is too {'large' if apart[0] > 0 else 'small'} by {term}."
    return ""


def over_cases(yours: np.ndarray, right: np.ndarray) -> str:
    """Say what holds of a number in every case, right or wrong.

    Parameters
    ----------
    yours, right : ndarray
        A number for each case.
    """
    a, b = yours, right
    if len(a) < 3 or not np.isfinite(a).all() or np.ptp(b) < 0.05:
        return ""
    if np.isin([a, b], (0, 1)).all():
        return _flags(a == 1, b == 1)
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


def _flags(yours: np.ndarray, right: np.ndarray) -> str:
    """Say in which direction answers are wrong of which there are two."""
    wrong = yours != right
    if len(set(yours.tolist())) == 1:
        return "Yours is the same whatever it is given; the right one changes."
    if wrong.all():
        return "Yours is the opposite of the right one in every case."
    for flag, one, other in (
        (True, "True (or 1)", "False (or 0)"),
        (False, "False (or 0)", "True (or 1)"),
    ):
        if wrong.any() and (yours[wrong] == flag).all():
            return f"Wherever yours is wrong it is {one} where {other} is right."
    return ""


def _columns(given: Sequence[Mapping[str, float]]) -> dict[str, np.ndarray]:
    """Give each quantity's numbers in all cases; one name alone for those that are always equal."""
    found: dict[str, np.ndarray] = {}
    for name in given[0] if given else ():
        x = np.array([one.get(name, np.nan) for one in given])
        if (x > 0).all() and not any(np.array_equal(x, other) for other in found.values()):
            found[name] = x
    return found


def _terms(columns: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Multiply quantities, the plainest products first."""
    powers = ("", "", "²", "³")
    made = []
    for count in range(1, _MOST + 1):
        for names in combinations(columns, count):
            for exponents in product((1, 2, 3), repeat=count):
                if sum(exponents) <= _DEGREE:
                    name = " · ".join(n + powers[e] for n, e in zip(names, exponents))
                    made.append((sum(exponents), name, names, exponents))
    for _, name, names, exponents in sorted(made, key=lambda term: term[0]):
        yield name, np.prod([columns[n] ** e for n, e in zip(names, exponents)], axis=0)


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
# How the same is called of a single row.
_OF_ROWS = {
    "turned round from end to end along its first axis": "turned round from end to end",
    "that of the first sentence for all": "its own first number everywhere",
    "its own mean over the sentences": "its own mean everywhere",
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
    "the other one of True and False": lambda x: not x
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
    q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]
) -> str:
    """Set an answer beside what is right for other inputs, which it may have made of its own."""
    tried = [n for n in faults if right_numbers(cases[n]) and not cases[n].kind.startswith("pads ")]
    # Stages may share their inputs, and ask for several parts of one result.
    if len({id(cases[n].inputs) for n in tried}) < 2 or not named_inputs(q, cases[tried[0]]):
        return ""
    if any(np.isnan(x).any() for n in faults for x in got.get(n, ())):
        return ""  # NaN comes of other things than of the inputs
    tried = tried[:_TRIED]

    def fits(**change: Callable[[dict[str, Any]], Any]) -> bool:
        return all(_right_for(q, cases[n], change, got.get(n, ())) for n in tried)

    first = named_inputs(q, cases[tried[0]])
    for name, value in first.items():
        for text, change in _changes_of(value).items():
            if fits(**{name: partial(_changed, name, change)}):
                if np.ndim(value) < 2:
                    text = _OF_ROWS.get(text, text)
                if isinstance(value, bool) and all(
                    named_inputs(q, cases[n])[name] is value for n in tried
                ):
                    text = str(not value)  # what it should have been is worth saying
                return f"Where yours is wrong, it is what would be right if {name} were {text}."
    for one, other in permutations(first, 2):
        if _shape_of(first[one]) != _shape_of(first[other]):
            continue
        if one < other and fits(**{one: itemgetter(other), other: itemgetter(one)}):
            said = "it is what would be right if"
            return f"Where yours is wrong, {said} {one} and {other} were exchanged."
        if fits(**{one: itemgetter(other)}):
            return f"Where yours is wrong, it is what would be right if {one} were {other}."
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
        # Inputs that no case has may be beyond an oracle: a learner need not hear NumPy say so.
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
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
