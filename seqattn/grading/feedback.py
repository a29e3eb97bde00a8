"""Feedback as a page: beside a notebook, and inside one: ``feedback("03_additive.ipynb")``."""

import hashlib
import itertools
import re
from pathlib import Path

from seqattn.grading.book import address
from seqattn.grading.editions import require_keys
from seqattn.grading.judge import Judge
from seqattn.grading.reading import UnreadableError
from seqattn.grading.report import answers_of, as_fragment, as_html, as_json, as_text
from seqattn.grading.submission import Answer
from seqattn.grading.verdicts import Grade
from seqattn.grading.writing import write_whole

__all__ = ["Feedback", "feedback", "write_page"]

SOURCE = re.compile(r'<meta name="seqattn-source" content="([0-9a-f]+)">')


class Feedback:
    """A grade that notebooks show as a page and terminals as text.

    Attributes
    ----------
    grade : Grade
        The grade itself.
    """

    def __init__(self, grade: Grade, answers: dict[str, Answer] | None = None):
        self.grade = grade
        self._answers = answers

    def __repr__(self) -> str:
        return as_text(self.grade)

    def _repr_html_(self) -> str:
        return as_fragment(self.grade, address(), answers=self._answers)


def feedback(notebook: str | Path) -> Feedback:
    """Grade a notebook that was saved, and show points and hints. The file is not changed."""
    require_keys()
    path = Path(notebook)
    with Judge() as judge:
        grade = judge.grade(path)
    return Feedback(grade, _answers(path, grade))


def write_page(notebook: Path, grade: Grade, out: Path | None = None) -> Path:
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
    answers = _answers(notebook, grade)
    write_whole(page, as_html(grade, address(), answers=answers, source=source))
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


def _answers(path: Path, grade: Grade) -> dict[str, Answer]:
    try:
        return answers_of(path, grade.exercise) if grade.exercise else {}
    except (UnreadableError, OSError):
        return {}
