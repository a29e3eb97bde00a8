"""Errors without the data of hidden cases: what their messages may say to a learner."""

import ast
import builtins
import re
from collections.abc import Iterable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from seqattn.grading.syntax import parse

__all__ = ["exception_name", "redact", "sizes_in", "type_name", "visible_shape"]

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
