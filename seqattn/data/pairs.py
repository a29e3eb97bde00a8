"""Sentence pairs from files of your own: two aligned files, or one with tabs.

And lines of text from files and streams, with what to say of those that cannot be read.
"""

import codecs
import gzip
import logging
import zlib
from collections.abc import Iterator, Sequence
from io import BufferedReader, BytesIO, TextIOWrapper
from os import PathLike
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from seqattn.settings import check_whole

__all__ = [
    "CorpusError",
    "TextPair",
    "hold_out",
    "lower_case",
    "read_lines",
    "read_pairs",
    "read_table",
    "stream_lines",
]

Empty = Literal["drop", "raise"]
log = logging.getLogger(__name__)


class CorpusError(ValueError):
    """A corpus is not what its reader needs: the message says where and how to mend it."""


class TextPair(NamedTuple):
    """A sentence and its translation, as plain text.

    Attributes
    ----------
    source, target : str
        As they are printed: neither tokenised nor lower-cased.
    links : set of (source, target), or None
        Gold alignment of the words, counted from 0, where it is known.
    """

    source: str
    target: str
    links: frozenset[tuple[int, int]] | None = None


def lower_case(pair: TextPair) -> TextPair:
    """Give a pair in lower case; its links stay."""
    return pair._replace(source=pair.source.lower(), target=pair.target.lower())


def read_pairs(
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    encoding: str = "utf-8",
    empty: Empty = "drop",
) -> list[TextPair]:
    r"""Read two files of which line i of one translates line i of the other.

    Parameters
    ----------
    source, target : path
        Text files, or such packed with gzip (``.gz``).
    encoding : str
        Of both.
    empty : {"drop", "raise"}
        What to do with a pair of which a side is blank: leave it out and log how many were left
        out, or stop.

    Returns
    -------
    list of TextPair
        In the order of the files, without blanks at the ends.

    Raises
    ------
    CorpusError
        If a file is missing, wrongly encoded or without a pair, or the two do not match in length.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     german, english = Path(folder, "a.de"), Path(folder, "a.en")
    ...     _ = german.write_text("Ein Hund.\nZwei Hunde.\n")
    ...     _ = english.write_text("A dog.\nTwo dogs.\n")
    ...     read_pairs(german, english)[1].target
    'Two dogs.'
    """
    sources, targets = read_lines(source, encoding), read_lines(target, encoding)
    if len(sources) != len(targets):
        raise CorpusError(
            f"{source} has {len(sources)} lines and {target} has {len(targets)}; expected as many: "
            "line i of one is the translation of line i of the other"
        )
    return _checked(list(zip(sources, targets, strict=True)), f"{source} and {target}", empty)


def read_table(
    path: str | PathLike[str],
    *,
    columns: tuple[int, int] = (0, 1),
    encoding: str = "utf-8",
    empty: Empty = "drop",
) -> list[TextPair]:
    """Read one file with a pair on each line, its columns separated by tabs.

    Parameters
    ----------
    path : path
        Text file, or such packed with gzip (``.gz``).
    columns : (int, int)
        Where source and target stand, counted from 0; further columns are ignored.
    encoding, empty
        As in :func:`read_pairs`.

    Returns
    -------
    list of TextPair
        In the order of the file.

    Raises
    ------
    CorpusError
        As in :func:`read_pairs`, or if a line has too few columns.
    """
    rows = []
    for number, line in enumerate(read_lines(path, encoding), start=1):
        cells = line.split("\t")
        if line.strip() and len(cells) <= max(columns):
            raise CorpusError(
                f"{path}, line {number}: {len(cells)} column(s); expected at least "
                f"{max(columns) + 1}, separated by tabs, or two files: name the second with "
                "another --data"
            )
        rows.append((cells[columns[0]], cells[columns[1]]) if line.strip() else ("", ""))
    return _checked(rows, str(path), empty)


def hold_out(pairs: Sequence[TextPair], *sizes: int, seed: int = 0) -> tuple[list[TextPair], ...]:
    """Keep pairs back from training.

    Pairs with the same source go together, so that nothing that is kept back was seen in training
    under another translation.

    Parameters
    ----------
    pairs : sequence of TextPair
        All there are.
    sizes : int
        How many pairs each held-out part is to have; it may get fewer, never more.
    seed : int
        Seed of the draw.

    Returns
    -------
    tuple of lists of TextPair
        What is left for training, and then each held-out part, in their old order.

    Raises
    ------
    ValueError
        If a size is no whole number or negative; as a CorpusError, if nothing would be left.

    Examples
    --------
    >>> pairs = [TextPair(f"{i} Katzen", f"{i} cats") for i in range(10)]
    >>> [len(part) for part in hold_out(pairs, 2, 3)]
    [5, 2, 3]
    """
    for size in sizes:
        check_whole("the size of a held-out part", size, least=0)
    groups: dict[str, list[int]] = {}
    for i, pair in enumerate(pairs):
        groups.setdefault(pair.source, []).append(i)
    drawn = list(groups.values())
    Random(seed).shuffle(drawn)
    parts: list[list[int]] = []
    for size in sizes:
        part: list[int] = []
        later = []
        for group in drawn:
            if len(part) + len(group) <= size:
                part += group
            else:
                later.append(group)
        parts.append(part)
        drawn = later
    if not drawn:
        raise CorpusError(
            f"{len(pairs)} pairs; expected more than the {sum(sizes)} that are held out"
        )
    rest = [i for group in drawn for i in group]
    return tuple([pairs[i] for i in sorted(part)] for part in (rest, *parts))


def _checked(rows: list[tuple[str, str]], name: str, empty: Empty) -> list[TextPair]:
    pairs, blank = [], []
    for number, (source, target) in enumerate(rows, start=1):
        if source.strip() and target.strip():
            pairs.append(TextPair(source.strip(), target.strip()))
        else:
            blank.append(number)
    if blank and empty == "raise":
        raise CorpusError(
            f"{name}, line {blank[0]}: a side of the pair is blank ({len(blank)} such in all); "
            "delete the line in both languages, or read with empty='drop'"
        )
    if not pairs:
        raise CorpusError(f"{name}: no sentence pair in {len(rows)} lines")
    if blank:
        log.warning(
            "%s: left out %d of %d pairs with a blank side, the first at line %d",
            name, len(blank), len(rows), blank[0],
        )  # fmt: skip
    return pairs


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
