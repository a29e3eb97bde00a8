"""What grading a notebook gives: a verdict for each question, and the grade that they make."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from seqattn.grading.answers import Answer

__all__ = ["Grade", "Verdict", "VerdictName"]

VerdictName = Literal[
    "pass",
    "partial",
    "fail",
    "not_attempted",
    "missing",
    "syntax_error",
    "error",
    "timeout",
    "memory",
    "crashed",
    "output_limit",
    "forbidden",
    "not_judged",
    "grader_error",
]


@dataclass(frozen=True)
class Verdict:
    """What became of a question.

    Attributes
    ----------
    question, title : str
        Which one.
    verdict : VerdictName
        What the answer did; ``not_judged`` (the machine was too busy) and ``grader_error`` where
        points are pending. ``not_attempted``, ``missing`` and ``syntax_error`` are states of
        :class:`~seqattn.grading.answers.Answer`; ``timeout``, ``memory``, ``crashed`` and
        ``output_limit`` come of how its process ended.
    points : float
        What it earned; a person may give half points, the grader gives whole ones. Pending points
        are not earned yet: look at ``pending`` before you count a 0.
    out_of : int
        What it could have earned.
    hint : str
        One sentence, empty where there is nothing to say.
    mistake : str
        Name of the mistake if it was recognised.
    line : int
        Line of the learner's cell: where it raised, or where the result comes from; else 0.
    shapes : str
        Where shapes differ: what came and what was expected.
    lost : list of str
        Stages that brought no points.
    read : str
        Where to read again.
    notes : list of str
        On how the answer was found.
    example : list of str
        A small input on which it is wrong, what came back and what is right; no hidden case.
    """

    question: str
    title: str
    verdict: VerdictName
    points: float
    out_of: int
    hint: str = ""
    mistake: str = ""
    line: int = 0
    shapes: str = ""
    lost: list[str] = field(default_factory=list)
    read: str = ""
    notes: list[str] = field(default_factory=list)
    example: list[str] = field(default_factory=list)

    @property
    def pending(self) -> bool:
        """Whether nothing is known about the answer yet, through no fault of its own."""
        return self.verdict in ("not_judged", "grader_error")


@dataclass(frozen=True)
class Grade:
    """What became of a notebook.

    Attributes
    ----------
    file : str
        Its name.
    exercise : str
        Which exercise it is, empty where that is unknown.
    problem : str
        Why it could not be graded, empty where it could: begins with ``unreadable`` or
        ``unmatched``.
    verdicts : list of Verdict
        One for each question.
    seed : str
        From which the cases were drawn: the same seed gives the same cases.
    isolation : str
        How well the answers were contained.
    notes : list of str
        On the file as a whole, for its author.
    flags : list of str
        For the instructor alone.
    answers : dict of str to Answer
        What was graded, by question, for whoever shows it beside what is said of it. No part of the
        record: :meth:`to_dict` leaves it out.
    """

    file: str
    exercise: str
    problem: str
    verdicts: list[Verdict]
    seed: str
    isolation: str
    notes: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict, compare=False, repr=False)

    @property
    def points(self) -> float:
        """Sum of the points, without those that are pending."""
        return sum(v.points for v in self.verdicts)

    @property
    def pending(self) -> int:
        """Sum of what questions are worth about which nothing is known yet."""
        return sum(v.out_of for v in self.verdicts if v.pending)

    @property
    def out_of(self) -> int:
        """Sum of what could have been earned."""
        return sum(v.out_of for v in self.verdicts)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Grade":
        """Make a grade of what :meth:`to_dict` gave."""
        known = {k: v for k, v in content.items() if k not in ("points", "out_of", "pending")}
        return cls(**{**known, "verdicts": [Verdict(**v) for v in known["verdicts"]]})

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        sums = {"points": self.points, "out_of": self.out_of, "pending": self.pending}
        record = asdict(replace(self, answers={}))
        del record["answers"]
        return {**record, **sums}
