"""Feedback as a page: beside a notebook, and inside one: ``feedback("03_additive.ipynb")``.

What a question says to read again becomes a link into the book, wherever that stands.
"""

import hashlib
import itertools
import re
import unicodedata
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqattn.grading.answers import Answer
from seqattn.grading.bank import load, require_keys
from seqattn.grading.grades import (
    WORDS,
    Grade,
    Verdict,
    as_json,
    as_text,
    details,
    plain,
    score,
    write_whole,
)
from seqattn.grading.judge import Judge

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = [
    "Feedback",
    "address",
    "as_fragment",
    "as_html",
    "check_address",
    "feedback",
    "link",
    "page",
    "published",
    "write_page",
]

ROOT = Path(__file__).resolve().parents[2]
SOURCE = re.compile(r'<meta name="seqattn-source" content="([0-9a-f]+)">')
# More of an answer than this is no help to look at.
MOST_LINES = 500


class Feedback:
    """A grade that notebooks show as a page and terminals as text.

    Attributes
    ----------
    grade : Grade
        The grade itself.
    """

    def __init__(self, grade: Grade):
        self.grade = grade

    def __repr__(self) -> str:
        return as_text(self.grade)

    def _repr_html_(self) -> str:
        return as_fragment(self.grade, address())


def feedback(notebook: str | Path) -> Feedback:
    """Grade a notebook that was saved, and show points and hints. The file is not changed."""
    require_keys()
    with Judge() as judge:
        return Feedback(judge.grade(Path(notebook)))


def write_page(notebook: Path, grade: Grade, out: Path | None = None, book: str = "") -> Path:
    """Write the feedback page of a notebook: nothing that is not an earlier page of it is replaced.

    Parameters
    ----------
    notebook : Path
        What was graded.
    grade : Grade
        What came of it.
    out : Path, optional
        Folder for the page and, beside it, the record as JSON. By default the page alone is written
        beside the notebook, as ``NAME.feedback.html``.
    book : str
        Address of the book; by default where it was published, or built here.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    OSError
        If nothing can be written there.
    """
    folder = out or notebook.parent
    folder.mkdir(parents=True, exist_ok=True)
    # Two notebooks of one name may go into one folder: a digest of its place tells whose a page is.
    source = hashlib.sha256(str(notebook.absolute()).encode("utf-8", "surrogatepass")).hexdigest()
    endings = [".json", ".html"] if out else [".feedback.html"]
    for number in itertools.count(1):
        stem = notebook.stem if number == 1 else f"{notebook.stem}-{number}"
        *record, page = (folder / f"{stem}{ending}" for ending in endings)
        if not any(path.exists() or path.is_symlink() for path in (*record, page)):
            break
        if _source_of(page) == source:
            break
    write_whole(page, as_html(grade, book or address(), source=source))
    for path in record:
        write_whole(path, as_json(grade))
    return page


def _source_of(page: Path) -> str:
    """Read whose page it is; "" where it is none of ours."""
    try:
        with page.open(encoding="utf-8", errors="replace") as stream:
            found = SOURCE.search(stream.read(1000))
    except OSError:
        return ""
    return found[1] if found else ""


# --- a grade as a page ---------------------------------------------------------------------------


def as_html(
    grade: Grade,
    book: str = "",
    *,
    student: str = "",
    source: str = "",
) -> str:
    """Write a grade as a page: nothing in it is the learner's but as plain text.

    Parameters
    ----------
    grade : Grade
        The grade; its ``answers`` are shown beside what is said of them.
    book : str
        Address of the book, so that what to read again is a link.
    student : str
        Whose it is; the file stands for its author where nobody is named.
    source : str
        What tells whether a page that lies there already is of the same file.
    """
    exercise = load(grade.exercise).title if grade.exercise else ""
    title = ": ".join(filter(None, [exercise, student or grade.file]))
    shown = _shown(grade, book)
    return (
        _templates()
        .get_template("page.html")
        .render(title=title, grade=shown, tables=[], source=source)
    )


def as_fragment(grade: Grade, book: str = "") -> str:
    """Write a grade as a piece of a page, for what shows it inside a page of its own."""
    macros: Any = (
        _templates()
        .get_template("page.html")
        .make_module({"title": "", "grade": None, "tables": [], "source": ""})
    )
    inside = macros.feedback(_shown(grade, book))
    return f'<div class="seqattn-page">{macros.style()}{inside}</div>'


def page(title: str, tables: list[tuple[str, list[list[object]]]]) -> str:
    """Write tables with titles as a page."""
    return (
        _templates()
        .get_template("page.html")
        .render(title=title, grade=None, tables=tables, source="")
    )


def _shown(grade: Grade, book: str) -> dict[str, Any]:
    return {
        "head": grade.problem or score(grade),
        "notes": grade.notes,
        "questions": [_question(v, book, grade.answers.get(v.question)) for v in grade.verdicts],
        # Without the seed: a page goes to a student, and who knows the seed knows the cases.
        "foot": f"isolation: {grade.isolation}",
        "without_links": not book and any(v.read for v in grade.verdicts),
    }


def _question(v: Verdict, book: str, answer: Answer | None) -> dict[str, Any]:
    said = [line for line in details(v) if not line.startswith("read again: ")]
    # Lines are counted in the learner's own cell; what helps it from other cells comes before.
    code = answer.code.split("\n")[answer.offset :] if answer else []
    while code and not code[-1].strip():
        code.pop()
    page_, _, heading = v.read.partition(": ")
    return {
        "id": v.question,
        "title": v.title,
        "state": v.verdict,
        "verdict": WORDS[v.verdict],
        "points": "?" if v.pending else v.points,
        "out_of": v.out_of,
        "details": said,
        "example": [plain(line) for line in v.example],
        # Without a link the page has to be named.
        "read": (heading or page_) if book else v.read,
        "link": link(v.read, book),
        "line": v.line,
        "code": [{"at": n, "text": t} for n, t in enumerate(code[:MOST_LINES], start=1)],
        "more": max(0, len(code) - MOST_LINES),
    }


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: object) -> object:
        return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=PackageLoader("seqattn.grading"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
    )


# --- where the book stands -----------------------------------------------------------------------


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


def check_address(book: str) -> str:
    """Return the book's address where a link may lead there: to the web, or a path from the page.

    Raises
    ------
    ValueError
        If it is of another kind, as ``javascript:`` is.
    """
    scheme = re.match(r"([^/?#]*?):", book)
    odd = book != book.strip() or re.search(r"[\x00-\x1f\x7f]", book)
    if odd or (scheme and scheme[1].lower() not in ("http", "https")):
        raise ValueError(
            f"{plain(book)!r} is no address of a book; expected http://..., https://... or a "
            "relative path"
        )
    return book


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
