"""Set an answer's output beside the oracle's, and say in words how they differ.

:func:`difference` judges an output, whatever it consists of; :func:`same` tells whether two answers
gave the same; :func:`close` is what both ask of arrays of numbers.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from seqattn.grading.bank import TWO_DECIMALS
from seqattn.grading.redaction import sizes_in, type_name, visible_shape
from seqattn.grading.sandbox import wire

__all__ = [
    "ABSOLUTE",
    "RELATIVE",
    "Difference",
    "DifferenceKind",
    "close",
    "difference",
    "same",
    "same_bytes",
]

# Answers compute in float32, oracles in float64.
RELATIVE, ABSOLUTE = 1e-3, 2e-5
# Measured numbers that differ by less come of the same mistake.
ALIKE = 5e-3

DifferenceKind = Literal["nothing", "missing", "type", "shape", "dtype", "nan", "value", "flag"]


@dataclass(frozen=True)
class Difference:
    """How an output differs from what was expected.

    Attributes
    ----------
    kind : DifferenceKind
        What differs first; ``flag`` is a property that does not hold.
    text : str
        In words, without any value of the case.
    """

    kind: DifferenceKind
    text: str


def difference(
    got: Any,
    expected: Any,
    where: str = "the result",
    tolerance: tuple[float, float] = TWO_DECIMALS,
    sizes: frozenset[int] = frozenset(),
    dtype: str = "float32",
) -> Difference | None:
    """Compare plain data from the sandbox with an oracle's output.

    Parameters
    ----------
    got : object
        From :mod:`seqattn.grading.sandbox.wire`.
    expected : ndarray, number, str, or tuple, list or dict of those
        From the oracle; floats in float64.
    where : str
        What to call it.
    tolerance : tuple of two floats
        How far plain numbers may be off, absolutely or relatively.
    sizes : set of int
        Sizes of the case's inputs, which may be named.
    dtype : str
        Of the floating-point inputs, which results keep.

    Returns
    -------
    Difference or None
        None where they agree.
    """
    if got is None and where.startswith("gradient of "):
        out = "something on the way leaves the graph (.data, detach, no_grad, a second Parameter)"
        return Difference("flag", f"no {where.replace('of', 'reaches', 1)}: {out}")
    if got is None and expected is not None:
        return _differs("nothing", where, "is None: did you forget to return it?")
    if isinstance(expected, dict):
        return _dicts(got, expected, where, tolerance, sizes, dtype)
    if isinstance(expected, tuple | list):
        return _sequences(got, expected, where, tolerance, sizes, dtype)
    if isinstance(expected, np.ndarray):
        return _arrays(got, expected, where, sizes, dtype)
    if expected is True and got is False:
        return Difference("flag", f"this should hold and does not: {where}")
    if isinstance(expected, str | bool):
        right = type(got) is type(expected) and got == expected
        return None if right else _differs("value", where, "is not as expected")
    return _numbers(got, expected, where, tolerance, sizes)


def close(
    a: Any,
    b: Any,
    relative: float = RELATIVE,
    absolute: float = ABSOLUTE,
    equal_nan: bool = True,
) -> bool:
    """Tell whether two arrays of numbers have one shape and agree, but for what rounding does.

    Parameters
    ----------
    a, b : array_like
        The second is the right one, where one of them is.
    relative, absolute : float
        How far each number of ``a`` may be off: by a share of the one in ``b``, and besides.
    equal_nan : bool
        Whether NaN agrees with NaN.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape:
        return False
    if np.isfinite(a).all() and np.isfinite(b).all():
        # What np.allclose asks, in a third of its time, and often.
        return bool((np.abs(a - b) <= absolute + relative * np.abs(b)).all())
    return bool(np.allclose(a, b, rtol=relative, atol=absolute, equal_nan=equal_nan))


def same(one: Any, other: Any) -> bool:
    """Tell whether two outputs from the sandbox agree, NaN with NaN included."""
    if isinstance(one, wire.Tensor) and isinstance(other, wire.Tensor):
        a, b = one.array, other.array
        return same_bytes(a, b) or close(a, b)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        # A wire.Other is a tuple, too, and agrees if it names the same type.
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return close(one, other)
    if isinstance(other, int | float):
        one = _only(one)
    if isinstance(one, int | float) and isinstance(other, int | float):
        near = abs(one - other) <= max(TWO_DECIMALS[0], ALIKE * abs(other))
        return near or (one != one and other != other)
    return type(one) is type(other) and one == other


def same_bytes(one: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two arrays are the same to the last bit: most that agree are, and it is quick.

    Parameters
    ----------
    one, other : ndarray
        Of numbers.
    """
    alike = one.shape == other.shape and one.dtype == other.dtype
    return alike and one.tobytes() == other.tobytes()


_PLURAL = {"is": "are", "has": "have", "holds": "hold"}


def _differs(kind: DifferenceKind, where: str, text: str) -> Difference:
    """Say of a part of the result what ``text``, which begins with a verb, says of one thing."""
    name = re.split(r" of |,", where)[0]
    if name.endswith("s") and not name.endswith(("ss", "us", "is", "as")):
        verb, _, rest = text.partition(" ")
        text = f"{_PLURAL[verb]} {rest}"
    return Difference(kind, f"{where} {text}")


def _dicts(
    got: Any,
    expected: dict,
    where: str,
    tolerance: tuple[float, float],
    sizes: frozenset[int],
    dtype: str,
) -> Difference | None:
    if not isinstance(got, dict):
        return _differs("type", where, f"is {_kind(got, sizes)}; expected a dict")
    for name, value in expected.items():
        if name not in got:
            return _differs("missing", where, f"has no entry {name}")
        if found := difference(got.get(name), value, name, tolerance, sizes, dtype):
            return found
    return None


def _sequences(
    got: Any,
    expected: tuple | list,
    where: str,
    tolerance: tuple[float, float],
    sizes: frozenset[int],
    dtype: str,
) -> Difference | None:
    plain = isinstance(got, tuple | list) and not isinstance(got, wire.Tensor | wire.Other)
    if not plain or len(got) != len(expected):
        count = f"{len(got)} things" if plain else _kind(got, sizes)
        return _differs("type", where, f"is {count}; expected {len(expected)} things in a row")
    for number, (a, b) in enumerate(zip(got, expected), start=1):
        if found := difference(a, b, f"{where}, part {number},", tolerance, sizes, dtype):
            return found
    return None


def _arrays(
    got: Any, expected: np.ndarray, where: str, sizes: frozenset[int], dtype: str
) -> Difference | None:
    if not isinstance(got, wire.Tensor):
        return _differs("type", where, f"is {_kind(got, sizes)}; expected a torch tensor")
    if got.array.shape != expected.shape:
        seen = visible_shape(got.array.shape, {*sizes, *sizes_in(expected)})
        return _differs("shape", where, f"has shape {seen}; expected {expected.shape}")
    if expected.dtype.kind in "biu":
        return _exact(got, expected, where)
    if not got.dtype.startswith(("float", "bfloat")):
        return _differs("type", where, f"holds {got.dtype}; expected floating point numbers")
    if got.dtype != dtype:
        return _differs(
            "dtype", where, f"holds {got.dtype}, but the inputs hold {dtype}: keep their dtype"
        )
    if np.isnan(got.array).any() and not np.isnan(expected).any():
        return _differs("nan", where, "has NaN in it")
    # What was computed in less than the inputs' precision shows here.
    relative = RELATIVE if dtype == "float32" else 1e-9
    absolute = ABSOLUTE * relative / RELATIVE
    if not close(got.array, expected, relative, absolute, equal_nan=False):
        return _differs("value", where, "has the right shape and wrong values")
    return None


def _exact(got: wire.Tensor, expected: np.ndarray, where: str) -> Difference | None:
    """Compare flags, or token ids."""
    kind, named = ("bool", "bool") if expected.dtype == bool else ("int", "whole numbers")
    if not got.dtype.startswith(kind):
        return _differs("type", where, f"holds {got.dtype}; expected {named}")
    if not np.array_equal(got.array, expected):
        return _differs("value", where, "has the right shape and wrong values")
    return None


def _numbers(
    got: Any, expected: float, where: str, tolerance: tuple[float, float], sizes: frozenset[int]
) -> Difference | None:
    got = _only(got)
    if isinstance(got, bool) or not isinstance(got, int | float):
        return _differs("type", where, f"is {_kind(got, sizes)}; expected a number")
    if got != got and expected == expected:
        return _differs("nan", where, "is NaN")
    if not abs(got - expected) <= max(tolerance[0], tolerance[1] * abs(expected)):
        return _differs("value", where, "is not the right number")
    return None


def _only(value: Any) -> Any:
    """Take the one number out of a tensor, a list or a tuple that holds nothing else."""
    while isinstance(value, tuple | list) and not isinstance(value, wire.Tensor | wire.Other):
        if len(value) != 1:
            return value
        value = value[0]
    array = value.array if isinstance(value, wire.Tensor) else value
    return array.item() if isinstance(array, np.ndarray) and array.size == 1 else value


def _kind(value: Any, sizes: frozenset[int]) -> str:
    if isinstance(value, wire.Tensor):
        return f"a tensor of shape {visible_shape(value.array.shape, set(sizes))}"
    if isinstance(value, wire.Other):
        return f"of type {type_name(value.type)}"
    if value is None:
        return "None"
    return f"of type {type(value).__name__}"
