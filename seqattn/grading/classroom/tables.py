"""Tables that people write: CSV files, as spreadsheets of many countries save them."""

import csv
import io
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MOST", "Table", "is_overrides", "read_table", "saved_again"]

MOST = 10 * 2**20  # bytes: more is no table of a class
# Lines before the head: empty ones, and one with which spreadsheets name the separator.
BEFORE = re.compile(r"(?:[ \t]*\r?\n|sep=(?P<sep>.)\r?\n)*", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """A CSV file: the names of its columns, and its rows with the lines on which they end."""

    columns: list[str]
    numbered: list[tuple[int, dict[str, str]]]

    def must_name_once(self, wanted: Collection[str], path: Path) -> None:
        """Refuse two columns of one name, where one of that name is read.

        Raises
        ------
        ValueError
            With the name.
        """
        names = [c.strip().casefold() for c in self.columns]
        if twice := [name for name in wanted if names.count(name) > 1]:
            raise ValueError(f"{path} has two columns called {twice[0]}")


def is_overrides(name: str) -> bool:
    """Tell points by hand, and what people and programs keep of them, by the name of the file."""
    return "overrides" in name.casefold()


def read_table(path: Path) -> Table:
    """Read a CSV file, as spreadsheets save it.

    Raises
    ------
    ValueError
        If it is none; the message names the file, and the line where there is one.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected a CSV file")
    if path.stat().st_size > MOST:
        raise ValueError(f"{path} is larger than {MOST >> 20} MB: no table of a class")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text ({error.reason}): save it as CSV UTF-8"
        ) from None
    before = BEFORE.match(text)
    skipped, named = (before[0].count("\n"), before["sep"]) if before else (0, None)
    text = text[before.end() :] if before else text
    separator = named or _separator(text)
    # Strict: behind a quotation mark that is not closed, all further lines would be one text.
    stream = io.StringIO(text, newline="")
    reader = csv.DictReader(stream, delimiter=separator, strict=True)
    try:
        columns = [str(c) for c in reader.fieldnames or []]
        rows = []
        for row in reader:
            line = skipped + reader.line_num
            rows.append((line, _cells(row, columns, f"{path}, line {line}")))
    except csv.Error as error:
        line = skipped + reader.line_num + 1
        said = f"{error}: is a quotation mark in it not closed?"
        raise ValueError(f"{path}, line {line}: {said}") from None
    return Table(columns, rows)


def _separator(text: str) -> str:
    """Tell by the head how fields are separated: in many countries by semicolons, or by tabs."""
    head = text.partition("\n")[0]
    return max((s for s in "\t;," if s in head), key=head.count, default=",")


def saved_again(content: bytes) -> list[str]:
    """Give what a CSV file may have been before a spreadsheet saved it in its own way.

    That is with a byte order mark, another separator, other quotation marks and ends of lines. What
    is no table gives nothing.
    """
    try:
        text = content.decode("utf-8-sig")
        rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)]
    except (UnicodeDecodeError, csv.Error):
        return []
    found = []
    for end in ("\r\n", "\n"):
        stream = io.StringIO()
        csv.writer(stream, lineterminator=end).writerows(rows)
        found.append(stream.getvalue())
    return found


def _cells(row: dict, columns: list[str], where: str) -> dict[str, str]:
    """Take the texts of a row; a comma that separates nothing would shift them."""
    more = row.get(None) or []
    if any(text.strip() for text in more):
        raise ValueError(
            f"{where}: {len(columns) + len(more)} fields, but the head names {len(columns)}: put a "
            "text that has the separator in it into quotation marks"
        )
    texts = [text for text in row.values() if isinstance(text, str)]
    if len(texts) == 1 and re.search(r"[\t;,]", texts[0]):
        raise ValueError(f"{where}: {texts[0]!r} is not separated as the head is")
    return {column: (text or "").strip() for column, text in row.items() if column}
