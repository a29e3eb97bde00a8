"""What an exercise is to its grader: questions, oracles, cases, and the mistakes that it knows.

A bank is a plain Python file beside the solution (``solutions/bank_NN_name.py``) that defines
``EXERCISE``. ``make exercises`` packs it into the package, so that grading needs the wheel alone.

There are two wheels from one source: one that grades, and one that knows the exercises but no
answers. ``python -m tools.build wheels`` makes both. The students' wheel finds exercises and runs
their visible checks; of each bank it holds what the exercise itself says.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

__all__ = [
    "EDITION",
    "TWO_DECIMALS",
    "Exercise",
    "NoKeysError",
    "Pristine",
    "Question",
    "Stage",
    "Wrong",
    "exercises",
    "knows_answers",
    "load",
    "must_know_answers",
    "pack",
    "require_keys",
    "without_keys",
]

# How far a number of two decimals may be off, absolutely or relatively.
TWO_DECIMALS = 0.0051, 1e-4
PRELUDE = """\
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""


@dataclass(frozen=True)
class Stage:
    """A part of a question that brings points of its own.

    Attributes
    ----------
    name : str
        What it looks at, in a few words: "the formula", "pads".
    points : int
        What it is worth.
    kinds : tuple of str
        Kinds of cases; each is drawn several times.
    hint : str
        What to say where the mistake is not known.
    parts : tuple of str
        Of answers that are dicts: the entries that count. All of the answer by default.
    gradients : bool
        Compare the gradients of the inputs instead of the outputs.
    calls : int
        More calls of PyTorch than this for one case are a loop where none is wanted; 0 for any.
    reads : int
        More numbers than this computed straight from inputs that hold more are a program that
        touches what it should leave alone; 0 for any.
    tolerance : tuple of two floats
        How far plain numbers may be off, absolutely or relatively; by default two decimals, as
        the texts ask for.
    read : str
        Where to read again whoever loses this stage first, if not where the question says.
    """

    name: str
    points: int
    kinds: tuple[str, ...]
    hint: str
    parts: tuple[str, ...] = ()
    gradients: bool = False
    calls: int = 0
    reads: int = 0
    tolerance: tuple[float, float] = TWO_DECIMALS
    read: str = ""


@dataclass(frozen=True)
class Wrong:
    """A plausible wrong answer and what to say to whoever gives it.

    Attributes
    ----------
    name : str
        The mistake, in a few words.
    code : str
        The answer.
    hint : str
        One sentence that names the mistake. It must not give away hidden cases.
    keeps : int
        Points that it gets all the same.
    read : str
        Where to read again, if not where the question or its stage says.
    """

    name: str
    code: str
    hint: str
    keeps: int = 0
    read: str = ""


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes
    ----------
    id, title : str
        As in "q1" and "The additive score".
    entry : str
        Name of what the learner writes.
    signature : str
        How it is called.
    stages : tuple of Stage
        Where the points come from.
    draw : callable
        ``draw(rng, kind)`` gives a case's inputs: a tuple of float32 and bool arrays and numbers.
    oracle : callable
        The right output for inputs in float64; NumPy, and nothing of seqattn.
    right : tuple of str
        Right answers, the first of them the reference that later questions may use.
    wrong : tuple of Wrong
        Wrong answers.
    read : str
        Where to read again.
    probe : str
        Code that defines ``probe(answer, *inputs)``, for answers that are not plain functions.
    uses : tuple of str
        Ids of questions whose reference answers are at hand.
    forbidden : tuple of str
        Names of operators that may not be called, by whatever name they are reached, and packages
        that may not be imported, as ``the package nltk``.
    pads : tuple of float
        What stands at pads in cases that are drawn besides: padding must not matter, whatever it
        holds. Questions with a mask (batch, keys) get them by themselves.
    shares : tuple of str
        Names of arguments whose rows sum to 1, on which an answer may rely. Variations replace
        whole sentences, never such an argument alone. Gradients are compared as a softmax in front
        would hear them: without a constant per row, and not where a weight is 0.
    dice : tuple of str
        Names of arguments that are random numbers: of them no gradients are asked for.
    undecided : callable, optional
        ``undecided(*inputs)`` tells whether rounding decides what is right there. Variations are
        drawn again until it does not.
    evidence : str
        For open experiments: the name of the ``.npz`` file that the learner saves beside the
        notebook. Its arrays, a dict, are the only input of the question: ``draw`` makes a file's
        worth of them for the tests, the oracle derives the learner's numbers from them again.
    shown : callable, optional
        ``shown(*inputs)`` names what a learner may see of a case where that is not the inputs
        themselves, by their names: a dict, empty where there is nothing to see.
    explain : callable, optional
        Of questions that ask for a test: ``explain(results)`` says in a sentence what one does
        whose mistake is not known, from pairs of a case's inputs and what came back; or "".
    inspect : callable
        ``inspect(arrays)`` says in a sentence what keeps the evidence from being evidence, or "".
    """

    id: str
    title: str
    entry: str
    signature: str
    stages: tuple[Stage, ...]
    draw: Callable[[np.random.Generator, str], tuple]
    oracle: Callable[..., Any]
    right: tuple[str, ...]
    wrong: tuple[Wrong, ...]
    read: str
    probe: str = ""
    uses: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    pads: tuple[float, ...] = (500.0, -500.0)
    shares: tuple[str, ...] = ()
    dice: tuple[str, ...] = ()
    undecided: Callable[..., bool] | None = None
    evidence: str = ""
    shown: Callable[..., dict[str, Any]] | None = None
    explain: Callable[[Iterable[tuple[tuple, Any]]], str] | None = None
    inspect: Callable[[dict[str, np.ndarray]], str] = lambda arrays: ""

    @property
    def asks_for_a_test(self) -> bool:
        """Whether the answer is itself a test, which is tried on programs."""
        return self.explain is not None

    @property
    def arguments(self) -> list[str]:
        """Names of what it is called with, from its signature."""
        inside = re.fullmatch(rf"{self.entry}\((.*)\)", self.signature)
        return inside[1].split(", ") if inside else []

    def to_show(self, inputs: tuple) -> dict[str, Any]:
        """Name what may be shown of a case's inputs."""
        if self.shown:
            return self.shown(*inputs)
        return dict(zip(self.arguments, inputs, strict=True)) if self.arguments else {}

    @property
    def points(self) -> int:
        """What the question is worth."""
        return sum(stage.points for stage in self.stages)


@dataclass(frozen=True)
class Pristine:
    """A cell of the exercise as it was handed out: what an answer is told from.

    Attributes
    ----------
    cell_id, source : str
        Of the cell in which the answer goes.
    key : str
        Digest of the solution's answer.
    check : str
        The visible check: what it refuses, grading refuses.
    """

    cell_id: str
    source: str
    key: str = ""
    check: str = ""


@dataclass(frozen=True)
class Exercise:
    """An exercise notebook, as its grader sees it.

    Attributes
    ----------
    name, title : str
        As in "03_additive" and "Additive attention".
    questions : tuple of Question
        In order.
    prelude : str
        Imports that every answer may rely on.
    setup : str
        What the visible checks need besides; the notebook imports it from the course's package.
    pristine : dict of str to Pristine
        The empty answer cell of each question.
    release : str
        Fingerprint of the notebook that was handed out.
    fingerprint : str
        Of all that grading depends on.
    """

    name: str
    title: str
    questions: tuple[Question, ...]
    prelude: str = PRELUDE
    setup: str = ""
    pristine: dict[str, Pristine] = field(default_factory=dict)
    release: str = ""
    fingerprint: str = ""

    @property
    def points(self) -> int:
        """What the exercise is worth."""
        return sum(question.points for question in self.questions)

    def question(self, name: str) -> Question:
        """Find a question by its id."""
        return next(q for q in self.questions if q.id == name)


def pack(bank: str, pristine: dict[str, dict[str, str]], release: str) -> bytes:
    """Pack a bank's source, so that nobody reads an answer by accident."""
    content = json.dumps({"bank": bank, "pristine": pristine, "release": release}, sort_keys=True)
    return zlib.compress(content.encode(), 9)


def exercises() -> list[str]:
    """List the exercises that are installed."""
    folder = files("seqattn.grading") / "banks"
    if not folder.is_dir():
        return []
    return sorted(f.name.removesuffix(".bank") for f in folder.iterdir() if f.name[-5:] == ".bank")


@cache
def load(name: str) -> Exercise:
    """Load an exercise by its name.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if name not in exercises():
        known = ", ".join(exercises()) or "none"
        raise ValueError(f"no exercise {name!r}; there are: {known}")
    packed = (files("seqattn.grading") / "banks" / f"{name}.bank").read_bytes()
    content = json.loads(zlib.decompress(packed))
    space: dict[str, Any] = {"__name__": f"bank_{name}"}
    exec(compile(content["bank"], f"<bank {name}>", "exec"), space)
    exercise: Exercise = space["EXERCISE"]
    exercise.pristine.update({q: Pristine(**cell) for q, cell in content["pristine"].items()})
    digest = hashlib.sha256(packed).hexdigest()[:12]
    return Exercise(**{**vars(exercise), "release": content["release"], "fingerprint": digest})


# --- the students' edition ------------------------------------------------------------------------

# In the students' wheel alone, beside this file.
EDITION = "edition.txt"


class NoKeysError(Exception):
    """Grading was asked of a package that holds no answers."""

    def __init__(self) -> None:
        super().__init__(
            "this is the students' edition of the course: it holds no reference answers and no "
            "hidden cases, so that points come from your instructor; seqattn check NOTEBOOK runs "
            "the checks that you can see"
        )


def knows_answers() -> bool:
    """Tell whether this package can grade."""
    return not (files("seqattn.grading") / EDITION).is_file()


def require_keys() -> None:
    """Refuse to grade where there is nothing to grade by.

    Raises
    ------
    NoKeysError
        In the students' edition.
    """
    if not knows_answers():
        raise NoKeysError


def must_know_answers() -> None:
    """End a command as :func:`require_keys` refuses."""
    from seqattn.console import fail

    try:
        require_keys()
    except NoKeysError as error:
        raise fail(str(error)) from None


def without_keys(name: str) -> bytes:
    """Pack a bank that says what the exercise says: questions, points and empty answer cells.

    Parameters
    ----------
    name : str
        The exercise.
    """
    exercise = load(name)
    pristine = {q: {"cell_id": p.cell_id, "source": p.source} for q, p in exercise.pristine.items()}
    return pack(_stated(exercise), pristine, exercise.release)


_HEAD = """\
from seqattn.grading.bank import Exercise, NoKeysError, Question, Stage


def absent(*inputs):
    raise NoKeysError

"""


def _stated(exercise: Exercise) -> str:
    lines = [_HEAD, "QUESTIONS = ("]
    for q in exercise.questions:
        said = {"id": q.id, "title": q.title, "entry": q.entry, "signature": q.signature}
        said |= {"read": q.read, "evidence": q.evidence}
        fields = ", ".join(f"{field}={value!r}" for field, value in said.items())
        stage = f"Stage('all', {q.points}, (), '')"
        empty = "draw=absent, oracle=absent, right=(), wrong=()"
        lines.append(f"    Question({fields}, stages=({stage},), {empty}),")
    lines += [")", f"EXERCISE = Exercise({exercise.name!r}, {exercise.title!r}, QUESTIONS)"]
    return "\n".join(lines) + "\n"
