"""Feedback inside a notebook: ``feedback("03_additive.ipynb")`` shows what the command prints."""

from pathlib import Path

from seqattn.grading.judge import Judge
from seqattn.grading.report import as_html, as_text
from seqattn.grading.verdicts import Grade

__all__ = ["Feedback", "feedback"]


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
        page = as_html(self.grade)
        return page[page.index("<body>") + 6 : page.index("</body>")]


def feedback(notebook: str | Path) -> Feedback:
    """Grade a notebook that was saved, and show points and hints. The file is not changed."""
    with Judge() as judge:
        return Feedback(judge.grade(Path(notebook)))
