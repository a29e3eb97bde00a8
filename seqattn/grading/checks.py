"""The checks that a learner can see, run as anyone could: all cells in order, in a fresh process.

Of the notebook only the code plays a part: neither what it printed before, nor files beside it. It
is never changed. ``pytest --nbval`` comes to the same result, in more time.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from seqattn.grading.bank import Exercise
from seqattn.grading.cells import run_cells
from seqattn.grading.reading import read_submission
from seqattn.grading.submission import find_answer

__all__ = ["Check", "run_checks"]

# Notebooks of earlier releases print it themselves.
CHECK = re.compile(r"^(?:with checking|print)\(\"(q\d+)(?: looks right)?\"\)", re.MULTILINE)
SECONDS_FOR_A_CELL = 60


@dataclass(frozen=True)
class Check:
    """What became of a visible check.

    Attributes
    ----------
    question : str
        Whose check it is.
    state : str
        ``right``, ``wrong``, ``not_attempted`` or ``missing`` (the check cell is gone).
    message : str
        What the check said.
    """

    question: str
    state: str
    message: str = ""


def run_checks(path: Path, exercise: Exercise) -> list[Check]:
    """Run a notebook's checks.

    Parameters
    ----------
    path : Path
        The notebook.
    exercise : Exercise
        Which exercise it is.

    Returns
    -------
    list of Check
        One for each question.

    Raises
    ------
    UnreadableError
        If the file is no notebook.
    """
    submission = read_submission(path)
    sources = [cell.source for cell in submission.cells if cell.kind == "code"]
    failures = run_cells(sources, SECONDS_FOR_A_CELL)
    states = {q.id: find_answer(submission, exercise, q).state for q in exercise.questions}
    checks = {}
    for number, source in enumerate(sources):
        for question in CHECK.findall(source):
            error = failures.get(number)
            if error is None:
                checks[question] = Check(question, "right")
            elif states.get(question) == "not_attempted" or error[0] == "NotImplementedError":
                checks[question] = Check(question, "not_attempted")
            else:
                name, message = error
                text = message if name == "AssertionError" and message else f"{name}: {message}"
                checks[question] = Check(question, "wrong", text)
    return [checks.get(q.id, Check(q.id, "missing")) for q in exercise.questions]


def as_text(checks: list[Check]) -> str:
    """Write the checks for a terminal."""
    says = {
        "right": "looks right",
        "not_attempted": "not answered yet",
        "missing": "its check cell is gone; `seqattn grade` has a copy",
    }
    return "\n".join(f"  {c.question}  {says.get(c.state, c.message)}" for c in checks)


def as_json(checks: list[Check]) -> str:
    """Write the checks for a program."""
    return json.dumps([vars(c) for c in checks], ensure_ascii=False)
