"""Submissions made from the exercise that is handed out, and what judges them."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
import typer

from seqattn.grading import commands
from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.bank import Wrong, load
from seqattn.grading.classroom import run
from seqattn.grading.judge import Judge
from seqattn.grading.sandbox.host import Limits, Sandbox
from tests.grading.week import grade_of
from tools import hand_in
from tools.hand_in import question_of

ROOT = Path(__file__).resolve().parents[2]
NAME = "03_additive"
# Long enough for what is honest or huge on a busy machine, short enough for what never ends.
LIMITS = Limits(seconds=4.0, idle=2.0)
STUB = hand_in.stub(NAME)
EXERCISE = load(NAME)
RIGHT = {q.id: q.right[0] for q in EXERCISE.questions}
POINTS = {q.id: q.points for q in EXERCISE.questions}


def wrong(question: str, name: str) -> Wrong:
    """Find a wrong answer of the bank by its name; its place in the list is nobody's business."""
    return next(w for w in EXERCISE.question(question).wrong if w.name == name)


NO_TANH = wrong("q1", "no tanh")


def text(cell) -> str:
    return "".join(cell["source"])


def filled(answers: dict[str, str]) -> dict:
    """Fill the stub: the marker line stays, the answer follows."""
    return hand_in.filled(NAME, answers)


def answer_cell(notebook: dict, question: str) -> dict:
    return next(c for c in notebook["cells"] if question_of(c) == question)


def missing_layers() -> list[str]:
    if not sys.platform.startswith("linux"):
        return ["Landlock", "seccomp"]
    from seqattn.grading.sandbox.confine import layers

    return [name for name in ("Landlock", "seccomp") if name not in layers()]


UNCONFINED = missing_layers()
needs_isolation = pytest.mark.skipif(
    bool(UNCONFINED), reason=f"this system has no {' and no '.join(UNCONFINED)}"
)


def pytest_terminal_summary(terminalreporter):
    if UNCONFINED:
        terminalreporter.section("HOSTILE ANSWERS WERE NOT TESTED", sep="!", red=True, bold=True)
        terminalreporter.line(f"This system has no {' and no '.join(UNCONFINED)}: the sandbox's")
        terminalreporter.line("tests were skipped. Run them on Linux 5.13 or newer.")


@pytest.fixture(scope="session")
def judge():
    with AuthorsJudge("0123", LIMITS) as judge:
        yield judge


class SharedWorkers(Judge):
    """A judge whose worker served others before it, and will: to start one takes seconds.

    Each answer is computed in a fork of the worker, which it cannot change.
    """

    idle: ClassVar[list[Sandbox]] = []

    def __enter__(self):
        if self.idle:
            turns = self.sandbox.turns
            self.sandbox.close()
            self.sandbox = self.idle.pop()
            self.sandbox.turns = turns
        return super().__enter__()

    def __exit__(self, *exception):
        self.idle.append(self.sandbox)


@pytest.fixture(scope="module")
def shared_workers():
    """Have classes graded without a worker of their own for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "Judge", SharedWorkers)
        yield
    while SharedWorkers.idle:
        SharedWorkers.idle.pop().close()


def seqattn(*arguments):
    """Run a command in this process; return its status and what it printed."""
    app = typer.Typer()
    commands.register(app)
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = app([*map(str, arguments)], standalone_mode=False)
    return SimpleNamespace(returncode=status or 0, stdout=out.getvalue(), stderr=err.getvalue())


def assert_large_enough(q):
    """Assert that a question's bank has enough answers and hints to mean something."""
    assert len(q.wrong) >= 5
    assert len(q.right) >= 2
    assert len({w.name for w in q.wrong}) == len({w.hint for w in q.wrong}) == len(q.wrong)
    assert all(0 <= w.keeps < q.points for w in q.wrong)
    assert [w.hint for w in q.wrong if len(w.hint) <= 40] == []


@pytest.fixture
def grade(judge, tmp_path):
    """Grade a notebook given as a dict, or a file's bytes; return the grade."""

    def grade(content, name="mine.ipynb"):
        path = tmp_path / name
        if isinstance(content, dict):
            content = json.dumps(content).encode()
        path.write_bytes(content)
        found = judge.grade(path)
        assert path.read_bytes() == content, "the learner's file was changed"
        return found

    return grade


@pytest.fixture
def graded_by_words(monkeypatch):
    """Have files graded by what stands in them, as "02_softmax 1" for a point of two."""

    def grade_all(files, seed, store, **more):
        store.mkdir(parents=True, exist_ok=True)
        return {handed.label: grade_of(handed.path, seed) for handed in files}

    monkeypatch.setattr(run, "grade_all", grade_all)
    monkeypatch.setattr(run, "exercise_in", lambda path: grade_of(path, "").exercise)


@pytest.fixture
def week(tmp_path):
    """Make folders of what was handed in."""

    def week(name, **files):
        for owner, text in files.items():
            for number, one in enumerate(text.split(";")):
                path = tmp_path / name / owner / f"{number}.ipynb"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(one)
        return tmp_path / name

    return week


def verdicts(grade) -> dict[str, str]:
    return {v.question: v.verdict for v in grade.verdicts}


def verdict(grade, question):
    return next(v for v in grade.verdicts if v.question == question)
