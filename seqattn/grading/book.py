"""Where the book stands, so that a report can lead back to the passage that it names."""

import re
import unicodedata
from functools import cache
from importlib.resources import files
from pathlib import Path

__all__ = ["address", "link", "published"]

ROOT = Path(__file__).resolve().parents[2]


@cache
def published() -> str:
    """Return the address under which the book was published, or nothing.

    The wheel carries it (``tools/wheel.py`` writes it down); a copy of the course asks its
    ``_config.yml``.
    """
    written = files("seqattn.grading") / "address.txt"
    if written.is_file():
        return written.read_text(encoding="utf-8").strip()
    if not (ROOT / "tools" / "address.py").is_file():
        return ""
    from tools import address as tools_address

    return tools_address.book()


def address() -> str:
    """Return where the reader at this machine finds the book: published, built here, or nothing."""
    built = ROOT / "_build" / "html"
    return published() or (built.as_uri() if (built / "index.html").is_file() else "")


def link(read: str, book: str) -> str:
    """Give the address of what a question says to read again; "" where the book has none.

    Parameters
    ----------
    read : str
        Page and heading.
    book : str
        The book's address.

    Examples
    --------
    >>> link("chapters/03_additive: by hand", "https://example.org/book/")
    'https://example.org/book/chapters/03_additive.html#by-hand'
    """
    page, _, heading = read.partition(": ")
    if not (book and page):
        return ""
    anchor = _anchor(heading)
    return f"{book.rstrip('/')}/{page}.html" + (f"#{anchor}" if anchor else "")


def _anchor(heading: str) -> str:
    """Name a heading as Sphinx does."""
    letters = unicodedata.normalize("NFKD", heading.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-\d]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", letters))
