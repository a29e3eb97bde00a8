"""What crosses the pipe: JSON with raw arrays behind it. Never pickle, which can run code.

A frame is the length of the JSON (8 bytes), the JSON, and the bytes of the arrays. In the JSON each
value is itself if it is None, a bool, a number or a string; anything else is an object that says
what it is. What cannot be sent is replaced by the name of its type.
"""

import io
import json
import math
from typing import Any, NamedTuple

import numpy as np

# Exit status of a child whose sandbox failed before the answer ran.
BROKEN = 70
# Exit status of a process that ended itself since its processor time was up.
EXHAUSTED = 71
MAX_BYTES = 64 * 2**20
# Of a text that an answer hands back, and entries of a list; what is sent to it comes whole.
MAX_TEXT = 10_000
MAX_DEPTH = 20
MAX_BITS = 1000
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
# By name, and the names of types: NumPy works the name of a type out anew each time.
_BY_NAME = {name: np.dtype(name) for name in DTYPES}
_NAMES = {dtype: name for name, dtype in _BY_NAME.items()}


class TooMuchError(Exception):
    """More data than a frame may hold."""


class MalformedError(Exception):
    """Bytes that are no frame."""


class Tensor(NamedTuple):
    """A torch tensor, as the process without torch sees it.

    Attributes
    ----------
    array : ndarray
        Its values.
    dtype : str
        Its own dtype; ``bfloat16`` has no NumPy equivalent and travels as float32.
    """

    array: np.ndarray
    dtype: str


class Other(NamedTuple):
    """Something that does not travel; only the name of its type does."""

    type: str


def encode(value: Any, most_text: int | None = None) -> bytes:
    """Turn a value into a frame, each text cut after so many characters, if it is said how many."""
    arrays = _Arrays(most_text)
    tree = _encode(value, arrays, 0)
    described = [{"dtype": _NAMES[a.dtype], "shape": list(a.shape)} for a in arrays.found]
    header = json.dumps({"tree": tree, "arrays": described}).encode()
    body = b"".join(a.tobytes() for a in arrays.found)
    if len(header) + len(body) > MAX_BYTES:
        raise TooMuchError(f"{(len(header) + len(body)) >> 20} MiB")
    return len(header).to_bytes(8, "big") + header + body


class _Arrays:
    """The arrays of a frame, how many bytes they take, and how long its texts may be."""

    def __init__(self, most_text: int | None) -> None:
        self.most_text = most_text
        self.found: list[np.ndarray] = []
        self._size = 0

    def add(self, array: np.ndarray) -> int:
        self._size += array.nbytes
        if self._size > MAX_BYTES:
            raise TooMuchError(f"a tensor of shape {tuple(array.shape)}")
        self.found.append(array)
        return len(self.found) - 1


def _encode(value: Any, arrays: _Arrays, depth: int) -> Any:
    kind = type(value)
    if value is None or kind in (bool, float):
        return value
    if kind is int:
        return value if value.bit_length() < MAX_BITS else {"other": "int with over 300 digits"}
    if kind is str:
        return value[: arrays.most_text]
    if depth == MAX_DEPTH:
        return {"other": "too deeply nested"}
    if kind is list or (isinstance(value, tuple) and kind is not Tensor and kind is not Other):
        if len(value) > MAX_TEXT:
            raise TooMuchError(f"a list of {len(value)} entries")
        # A NamedTuple arrives as a tuple.
        name = "list" if kind is list else "tuple"
        return {name: [_encode(v, arrays, depth + 1) for v in value]}
    if kind is dict:
        if len(value) > MAX_TEXT:
            raise TooMuchError(f"a dict of {len(value)} entries")
        return {"dict": [[str(k), _encode(v, arrays, depth + 1)] for k, v in value.items()]}
    if kind is Tensor:
        return {"tensor": arrays.add(value.array), "dtype": value.dtype}
    if kind is np.ndarray and value.dtype in _NAMES:
        return {"array": arrays.add(value)}
    return {"other": value.type if kind is Other else kind.__name__[:80]}


def read(stream: io.BufferedIOBase) -> Any:
    """Read one frame; raise EOFError at the end of the stream, MalformedError for nonsense."""
    size = int.from_bytes(_exactly(stream, 8), "big")
    if size > MAX_BYTES:
        raise MalformedError("the header is too long")
    try:
        header = json.loads(_exactly(stream, size))
        arrays, total = [], 0
        for entry in header["arrays"]:
            dtype, shape = _known(entry["dtype"]), entry["shape"]
            if len(shape) > 16 or any(type(n) is not int or n < 0 for n in shape):
                raise MalformedError("an impossible shape")
            count = math.prod(shape)
            total += count * dtype.itemsize
            if total > MAX_BYTES:
                raise MalformedError("the arrays are too large")
            data = _exactly(stream, count * dtype.itemsize)
            arrays.append(np.frombuffer(data, dtype).reshape(shape))
        return _decode(header["tree"], arrays, 0)
    except (
        *(ValueError, KeyError, TypeError, IndexError, AttributeError),
        *(RecursionError, ArithmeticError, MemoryError),
    ) as error:
        raise MalformedError(str(error)[:200]) from None


def _known(name: str) -> np.dtype:
    if name not in _BY_NAME:
        raise MalformedError("an unknown dtype")
    return _BY_NAME[name]


def _decode(node: Any, arrays: list[np.ndarray], depth: int) -> Any:
    # The sender may be anybody: what _encode never makes is refused here.
    if depth > MAX_DEPTH + 1:
        raise MalformedError("too deeply nested")
    if not isinstance(node, dict):
        if isinstance(node, list):
            raise MalformedError("a bare list")
        if isinstance(node, int) and node.bit_length() >= MAX_BITS:
            raise MalformedError("a number of many digits")
        return node
    if "list" in node:
        return [_decode(n, arrays, depth + 1) for n in node["list"]]
    if "tuple" in node:
        return tuple(_decode(n, arrays, depth + 1) for n in node["tuple"])
    if "dict" in node:
        return {str(k): _decode(v, arrays, depth + 1) for k, v in node["dict"]}
    if "tensor" in node:
        return Tensor(arrays[node["tensor"]], str(node["dtype"]))
    if "array" in node:
        return arrays[node["array"]]
    return Other(str(node["other"])[:80])


def _exactly(stream: io.BufferedIOBase, count: int) -> bytes:
    data = stream.read(count) if count else b""
    if len(data) != count:
        raise EOFError
    return data
