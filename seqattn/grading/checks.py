"""The checks that a learner can see, run as anyone could: by nbval, in a fresh kernel.

The notebook is copied to an empty folder without its outputs, so that neither what it printed
before nor files beside it play a part. It is never changed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from seqattn.grading.bank import Exercise
from seqattn.grading.reading import UnreadableError, read_submission
from seqattn.grading.submission import find_answer

__all__ = ["Check", "run_checks"]

CHECK = re.compile(r"^print\(\"(q\d+) looks right\"\)", re.MULTILINE)
RAISED = re.compile(
    r"^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt|Exit))(?:: ?(.*))?$", re.MULTILINE
)
# JUnit cannot hold the escape character and spells it out.
COLOURS = re.compile(r"(?:\x1b|#x1B)\[[0-9;]*m")
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
        If the file is no notebook, or its kernel does not start.
    """
    submission = read_submission(path)
    sources = [cell.source for cell in submission.cells if cell.kind == "code"]
    failures = _failures(sources)
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


def _failures(sources: list[str]) -> dict[int, tuple[str, str]]:
    """Give name and message of the exception of each code cell that raised."""
    import nbformat

    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(notebook, str(Path(folder, "notebook.ipynb")))
        command = [sys.executable, "-m", "pytest", "--nbval", "notebook.ipynb", "-q"]
        command += ["-c", os.devnull, "--rootdir", ".", "--noconftest", "-p", "no:cacheprovider"]
        command += [f"--nbval-cell-timeout={SECONDS_FOR_A_CELL}", "--junitxml=result.xml"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        result = Path(folder, "result.xml")
        if not result.is_file():
            last = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no output"]
            raise UnreadableError(f"the checks did not run: {last[0]}")
        return _parse(result.read_text(encoding="utf-8"))


def _parse(junit: str) -> dict[int, tuple[str, str]]:
    failures = {}
    for case in ElementTree.fromstring(junit).iter("testcase"):
        number = re.search(r"Cell (\d+)$", case.get("name", ""))
        fault = next((f for f in case if f.tag in ("failure", "error")), None)
        if number and fault is not None:
            text = COLOURS.sub("", fault.text or "")
            raised = RAISED.findall(text)
            late = "it took too long" if "timed out" in text.lower() else ""
            failures[int(number[1])] = raised[-1] if raised else ("Failure", late)
    return failures


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
