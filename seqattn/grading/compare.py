"""Compare an answer's output with the oracle's; say the difference without giving a case away.

:func:`difference` judges an output, whatever it consists of; :func:`same` tells whether two answers
gave the same; :func:`close` is what both ask of arrays of numbers. :func:`fault` judges all that
came back for a case, and :func:`alike` sets two answers' side by side. Hidden cases stay hidden:
:func:`redact` takes their data out of messages, and what names sizes, types and exceptions stands
behind it. :func:`written` writes out a case that may be shown.
"""

import ast
import builtins
import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, Literal

import numpy as np

from seqattn.grading.bank import TWO_DECIMALS, Question
from seqattn.grading.cases import DIGITS, DOUBLE, MOST_SHOWN, Case, part_names
from seqattn.grading.parsing import parse
from seqattn.grading.sandbox import wire

__all__ = [
    "ABSOLUTE",
    "PRECISE",
    "RELATIVE",
    "Difference",
    "DifferenceKind",
    "alike",
    "close",
    "difference",
    "exception_name",
    "fault",
    "redact",
    "same",
    "same_bytes",
    "sizes_in",
    "type_name",
    "visible_shape",
    "written",
]

# Answers compute in float32, oracles in float64.
RELATIVE, ABSOLUTE = 1e-3, 2e-5
# Of answers that were given float64.
PRECISE = 1e-9
# Measured numbers that differ by less come of the same mistake.
ALIKE = 5e-3

# Of an output; from "error" on, of what an answer did besides.
DifferenceKind = Literal[
    "nothing", "missing", "type", "shape", "dtype", "nan", "value", "flag",
    "error", "random", "calls", "reads", "changed", "gradient",
]  # fmt: skip


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


def same(one: Any, other: Any, relative: float = RELATIVE) -> bool:
    """Tell whether two outputs from the sandbox agree, NaN with NaN included.

    Parameters
    ----------
    one, other : object
        From :mod:`seqattn.grading.sandbox.wire`.
    relative : float
        How far the numbers of tensors may lie apart: by this share.
    """
    if isinstance(one, wire.Tensor) and isinstance(other, wire.Tensor):
        a, b = one.array, other.array
        if (one.dtype == "bool") != (other.dtype == "bool"):  # flags are no numbers
            return False
        return same_bytes(a, b) or close(a, b, relative, _absolute(relative))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k], relative) for k in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        # A wire.Other is a tuple, too, and agrees if it names the same type.
        return len(one) == len(other) and all(same(a, b, relative) for a, b in zip(one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return close(one, other)
    if isinstance(other, int | float):
        one = _only(one)
    if isinstance(one, int | float) and isinstance(other, int | float):
        if one == other or (one != one and other != other):
            return True
        # What is infinite has no neighbours.
        return math.isfinite(other) and abs(one - other) <= max(TWO_DECIMALS[0], ALIKE * abs(other))
    return type(one) is type(other) and one == other


def _absolute(relative: float) -> float:
    """Give how far a number may be off whatever its size, where others may be off by a share."""
    return ABSOLUTE * relative / RELATIVE


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
        count = f"{len(got)} thing{'s' * (len(got) != 1)}" if plain else _kind(got, sizes)
        return _differs("type", where, f"is {count}; expected {len(expected)} things in a row")
    where = where.removesuffix(",")
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
    relative = RELATIVE if dtype == "float32" else PRECISE
    if not close(got.array, expected, relative, _absolute(relative), equal_nan=False):
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
    bound = max(tolerance[0], tolerance[1] * abs(expected)) if math.isfinite(expected) else 0
    if got != expected and not abs(got - expected) <= bound:
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


# --- the whole outcome of a case -----------------------------------------------------------------


def fault(one: dict, case: Case) -> Difference | None:
    """Say what is wrong with the outcome of a case, its result set beside the oracle's; or None."""
    if "error" in one:
        return Difference("error", f"{one['error']['type']}: {one['error']['message']}")
    result = one["result"]
    if case.upstream is not None:
        return _wrong_gradients(result.get("gradients"), case)
    value, expected = result.get("value"), case.expected
    if case.stage.parts and isinstance(value, dict):
        expected = {name: expected[name] for name in case.stage.parts}
    if "again" in result and not same(result["value"], result["again"]):
        again = "not deterministic: the same inputs gave another result the second time"
        return Difference("random", again)
    dtype = "float64" if case.kind == DOUBLE else "float32"
    if difference(value, expected, tolerance=case.stage.tolerance, dtype=dtype):
        # Once more, for words in which sizes are named.
        sizes = frozenset(sizes_in(case.inputs))
        found = difference(
            value, expected, tolerance=case.stage.tolerance, sizes=sizes, dtype=dtype
        )
        assert found, "the same comparison differs again"
        return found
    calls = result.get("calls")
    if case.stage.calls and isinstance(calls, int) and calls > case.stage.calls:
        return Difference(
            "calls",
            f"your function calls PyTorch {calls} times, where one call on whole tensors does: "
            "write it without a loop",
        )
    read = result.get("read")
    if case.stage.reads and isinstance(read, int) and read > case.stage.reads:
        return Difference(
            "reads",
            f"your function computes {read} numbers from its long inputs, where {case.stage.reads} "
            "are more than enough: choose the rows first",
        )
    if "inputs" in result and (changed := _changed(result["inputs"], case.inputs)):
        return Difference(
            "changed",
            f"your function changes input {changed}: work on a copy, without methods like name_(), "
            "+= and x[...] =",
        )
    return None


def _wrong_gradients(gradients: Any, case: Case) -> Difference | None:
    if not isinstance(gradients, dict):
        # Of what depends on nothing PyTorch knows no gradient at all.
        if not any(right.any() for right in case.expected.values()):
            return None
        return Difference(
            "gradient", "no gradient reaches any argument: something on the way is detached"
        )
    for name, expected in case.expected.items():
        got = gradients.get(name)
        if got is None and not expected.any():
            continue  # PyTorch gives none where nothing depends on it
        if got is None:
            return Difference(
                "gradient", f"no gradient reaches {name}: something on the way is detached"
            )
        if isinstance(got, wire.Tensor) and got.array.shape == expected.shape:
            # Where there is no derivative any number will do, but a number.
            free = np.isnan(expected) & np.isfinite(got.array)
            expected = np.where(free, got.array, np.where(np.isnan(expected), 0.0, expected))
            if name in case.shares:
                weights = case.shares[name]
                expected = _through_softmax(expected, weights)
                got = got._replace(array=_through_softmax(got.array, weights))
        if found := difference(got, expected, f"the gradient of {name}"):
            return found if found.kind == "value" else replace(found, kind="gradient")
    return None


def _through_softmax(gradient: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Leave of a gradient what a softmax in front of the weights would hear.

    It hears no constant in a row that sums to 1, and nothing where a weight is 0, as long as there
    is a number.
    """
    rows = abs(np.nansum(weights, -1, keepdims=True) - 1) < 1e-3
    with np.errstate(invalid="ignore"):  # gradients may be infinite
        mean = np.where(weights > 0, weights * gradient, 0).sum(-1, keepdims=True)
        heard = gradient - np.where(rows & ~np.isnan(weights), mean, 0)
    return np.where(rows & (weights == 0) & np.isfinite(gradient), 0, heard)


def _changed(after: Any, before: tuple) -> int:
    if isinstance(after, tuple | list) and len(after) == len(before):
        for number, (a, b) in enumerate(zip(after, before), start=1):
            if isinstance(b, np.ndarray):
                array = getattr(a, "array", None)
                if array is None or not (
                    same_bytes(array, b) or np.array_equal(array, b, equal_nan=True)
                ):
                    return number
    return 0


def alike(
    one: dict, other: dict, parts: Collection[str] | None = None, relative: float = RELATIVE
) -> bool:
    """Tell whether two answers did the same with a case, or the same in some parts of a dict.

    Parameters
    ----------
    one, other : dict
        What came back for the case.
    parts : collection of str, optional
        The entries of a dict that count; all of them if not given.
    relative : float
        How far numbers may lie apart: by this share.
    """
    if "error" in one or "error" in other:
        return (
            "error" in one and "error" in other and one["error"]["type"] == other["error"]["type"]
        )
    a, b = one["result"], other["result"]
    if parts is not None and isinstance(a.get("value"), dict) and isinstance(b.get("value"), dict):
        return all(same(a["value"].get(name), b["value"].get(name), relative) for name in parts)
    # How often PyTorch was called, and for how much, is another question.
    aside = {"calls": 0, "read": 0}
    return same({**a, **aside}, {**b, **aside}, relative)


# --- hidden cases stay hidden: what may be said of them -------------------------------------------

# Sizes are no secret, and PyTorch's messages name a few; many numbers in a row are data.
MOST_NUMBERS = 8
QUOTED = re.compile(r"(?<!\w)(['\"])(.*?)\1(?!\w)")
FLOAT = re.compile(r"-?\d+\.\d*(e[-+]?\d+)?|-?\d+e[-+]?\d+", re.IGNORECASE)


def redact(error: dict, code: str) -> dict:
    r"""Take out of an error whatever may have come from a hidden case and not from the answer.

    What an answer raises by itself may say anything, so that its message counts only as far as it
    stands in the answer's code. What Python and libraries raise keeps its words and its sizes;
    quoted texts that neither stand in the code nor name a type, fractions and long rows of numbers
    become "…".

    Parameters
    ----------
    error : dict
        ``type``, ``message`` and ``line``, the line of the answer's code.
    code : str
        The answer.

    Returns
    -------
    dict
        The same with another ``message``.

    Examples
    --------
    >>> error = {"type": "KeyError", "message": "'0.25 0.75'", "line": 2}
    >>> redact(error, "def f(x):\n    return {}[str(x)]\n")["message"]
    '…'
    """
    message = error["message"]
    if error["type"] in ("SyntaxError", "ForbiddenError"):
        return error  # written by this package
    if _raises(code, error["line"]) and message not in code:
        return {**error, "message": ""}
    message = QUOTED.sub(lambda m: m[0] if m[2] in code or m[2] in TYPES else "…", message)
    message = FLOAT.sub("…", message)
    if len(re.findall(r"\d+", message)) > MOST_NUMBERS:
        message = re.sub(r"\d+", "…", message)
    return {**error, "message": message}


def _raises(code: str, line: int) -> bool:
    """Say whether a line of the answer raises by itself."""
    try:
        nodes = list(ast.walk(parse(code)))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return True  # nothing is known of it
    return any(
        isinstance(node, ast.Raise | ast.Assert) and node.lineno <= line <= (node.end_lineno or 0)
        for node in nodes
    )


EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
) | {"ForbiddenError", "LinAlgError", "OutOfMemoryError", "TooMuchError", "BackendCompilerFailed"}
TYPES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type)) | {
    *("function", "method", "builtin_function_or_method", "generator", "module", "ndarray"),
    *("Size", "dtype", "device", "Parameter", "Generator", "ellipsis", "NoneType", "dict_values"),
    *("Tensor", "numpy.ndarray", "torch.dtype", "torch.Size", "torch.device"),
    # What max and its like give where `.values` was forgotten.
    *(
        f"torch.return_types.{x}"
        for x in ("max", "min", "sort", "topk", "median", "mode", "cummax")
    ),
}


def exception_name(name: str) -> str:
    """Give the name of an exception's type if it is Python's or PyTorch's; an answer makes any."""
    return name if name in EXCEPTIONS else "Exception"


def type_name(name: str) -> str:
    """Give the name of a type if it is Python's or PyTorch's; an answer makes any."""
    ours = name.startswith(("tensor on ", "tensor of ", "int with over ", "too deeply "))
    return name if name in TYPES or ours else "an object of its own"


def sizes_in(value: Any) -> set[int]:
    """Collect the sizes of all arrays in a case, and its whole numbers."""
    if isinstance(value, np.ndarray):
        return set(value.shape)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return {size for one in value for size in sizes_in(one)}
    return {value} if type(value) is int else set()


def visible_shape(shape: Iterable[int], sizes: set[int]) -> str:
    """Write a shape with the sizes that come from the case's own, alone or two together."""
    pairs = list(combinations_with_replacement(sorted(sizes), 2))
    known = {0, 1, *sizes, *(a + b for a, b in pairs), *(a * b for a, b in pairs)}
    written = [str(n) if n in known else "…" for n in shape]
    return f"({', '.join(written)}{',' if len(written) == 1 else ''})"


# --- a case that may be shown, and what came back -------------------------------------------------


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
        which = f", {off[0]}" if len(names) > 1 or part_names(case) != [""] else ""
        value, right = value.get(off[0]), right[off[0]]
    if isinstance(right, str):
        return []  # a property of the code, whatever its inputs
    if isinstance(value, wire.Tensor) and isinstance(right, np.ndarray) and right.ndim > 1:
        apart = [n for n, (a, b) in enumerate(zip(value.array, right)) if not close(a, b)]
        if apart and len(right) > 1:
            which += f" (sentence {apart[0] + 1})"
            value, right = value._replace(array=value.array[apart[0]]), right[apart[0]]
    return [*lines, f"yours{which}: {_text(value)}", f"right{which}: {_text(right)}"]


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
