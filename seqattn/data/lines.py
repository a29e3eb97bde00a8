"""Lines of text from files and streams, and what to say of those that cannot be read."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader, BytesIO, TextIOWrapper
from os import PathLike
from pathlib import Path

__all__ = ["CorpusError", "read_lines", "stream_lines"]


class CorpusError(ValueError):
    """A corpus is not what its reader needs: the message says where and how to mend it."""


def read_lines(path: str | PathLike[str], encoding: str = "utf-8") -> list[str]:
    """Read the lines of a text file; only a line feed ends one, whatever else looks like an end.

    Parameters
    ----------
    path : path
        Text file, or such packed with gzip (``.gz``).
    encoding : str
        Of the text.

    Returns
    -------
    list of str
        Without their ends.

    Raises
    ------
    CorpusError
        If there is no such file, or it is wrongly encoded or packed.
    """
    path = Path(path)
    if path.is_dir():
        raise CorpusError(f"{path} is a folder; expected a file")
    if not path.is_file():
        raise CorpusError(f"there is no file {path}")
    raw = path.read_bytes()
    if path.suffix == ".gz":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise CorpusError(f"{path} is no gzip file, or not a whole one ({error})") from error
    try:
        text = raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        number = raw[: error.start].decode(encoding).count("\n") + 1
        raise _undecodable(str(path), number, error, raw) from error
    except LookupError as error:
        raise _unknown_encoding(error) from error
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def stream_lines(
    file: BufferedReader | BytesIO, encoding: str = "utf-8", *, name: str
) -> Iterator[str]:
    r"""Read lines as :func:`read_lines` does, of a stream that need not have ended.

    Parameters
    ----------
    file : binary file
        As in ``sys.stdin.buffer``.
    encoding : str
        Of the text.
    name : str
        What errors call it.

    Yields
    ------
    str
        A line without its end.

    Raises
    ------
    CorpusError
        If it is wrongly encoded.

    Examples
    --------
    >>> from io import BytesIO
    >>> list(stream_lines(BytesIO("Größe\r\n\nzwei".encode()), name="input"))
    ['Größe', '', 'zwei']
    """
    try:
        text = TextIOWrapper(file, encoding=encoding, errors="strict", newline="\n")
    except LookupError as error:
        raise _unknown_encoding(error) from error
    number = 0
    try:
        for line in text:
            first = number == 0
            number += 1
            line = line.removesuffix("\n").removesuffix("\r")
            yield line.removeprefix("\ufeff") if first else line
    except UnicodeDecodeError as error:
        # The decoder has a piece of the stream, from behind the lines that it has given.
        number += error.object.count(b"\n", 0, error.start) + 1
        raise _undecodable(name, number, error, error.object if number == 1 else b"") from error
    finally:
        text.detach()  # whose stream it is may use it further


def _undecodable(name: str, line: int, error: UnicodeDecodeError, begin: bytes) -> CorpusError:
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    guess = "utf-16" if begin.startswith(marks) else "latin-1"
    return CorpusError(
        f"{name}, line {line}: byte 0x{error.object[error.start]:02x} is no {error.encoding}; "
        f"state its encoding, as in --encoding {guess}"
    )


def _unknown_encoding(error: LookupError) -> CorpusError:
    return CorpusError(f"{error}; expected one such as utf-8, latin-1 or utf-16")
