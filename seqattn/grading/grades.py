"""Verdicts and grades: what grading a notebook gives, and how it is written as text, JSON and CSV.

A :class:`Verdict` for each question makes a :class:`Grade`, whose record follows :data:`SCHEMA`.
Pages are made by :mod:`seqattn.grading.feedback`.
"""

import csv
import io
import json
import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from seqattn.grading.answers import Answer
from seqattn.grading.bank import load

__all__ = [
    "SCHEMA",
    "WORDS",
    "Grade",
    "Verdict",
    "VerdictName",
    "as_csv",
    "as_json",
    "as_record",
    "as_text",
    "details",
    "harmless",
    "plain",
    "score",
    "write_whole",
]

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
        Why it could not be graded, empty where it could: begins with ``unreadable``,
        ``unmatched`` or, where the fault is the grader's, ``grader_error``.
    verdicts : list of Verdict
        One for each question; none where there is a problem.
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
        return neat(sum(v.points for v in self.verdicts))

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


# --- how it is written ----------------------------------------------------------------------------

WORDS: dict[VerdictName, str] = {
    "pass": "right",
    "partial": "partly right",
    "fail": "not right yet",
    "not_attempted": "not answered yet",
    "missing": "no answer found",
    "syntax_error": "not Python",
    "error": "raises an error",
    "timeout": "takes too long",
    "memory": "takes too much memory",
    "crashed": "crashes",
    "output_limit": "prints too much",
    "forbidden": "uses what it may not",
    "not_judged": "not judged, points pending",
    "grader_error": "the grader failed, points pending",
}

# Rises when a field of a record comes, goes or means something else. (When answers are judged in
# another way, `ENGINE` of classroom/run.py rises.)
RECORD = 4
# What as_json and as_record write, as JSON Schema.
_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_TEXTS = {"type": "array", "items": _TEXT}
_VERDICT: dict = {
    "question": _TEXT,
    "title": _TEXT,
    "verdict": {"enum": list(WORDS)},
    # null: pending, to be judged again.
    "points": {"type": ["number", "null"]},
    "out_of": _NUMBER,
    "hint": _TEXT,
    "mistake": _TEXT,
    "line": _NUMBER,
    "shapes": _TEXT,
    "lost": _TEXTS,
    "read": _TEXT,
    "notes": _TEXTS,
    "example": _TEXTS,
}
_GRADE: dict = {
    "schema": {"const": RECORD},
    "seqattn": _TEXT,
    "file": _TEXT,
    "exercise": _TEXT,
    "problem": _TEXT,
    "verdicts": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "properties": _VERDICT,
            "required": list(_VERDICT),
        },
    },
    "seed": _TEXT,
    "isolation": _TEXT,
    "notes": _TEXTS,
    "flags": _TEXTS,
    "points": _NUMBER,
    "out_of": _NUMBER,
    "pending": _NUMBER,
}
SCHEMA: dict = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Grade of one notebook by seqattn",
    "type": "object",
    "additionalProperties": False,
    "properties": {**_GRADE, "student": _TEXT},
    "required": list(_GRADE),
}


def as_text(grade: Grade) -> str:
    """Write a grade for a terminal."""
    if grade.problem:
        return f"{plain(grade.file)}: {plain(grade.problem)}"
    title = load(grade.exercise).title
    lines = [f"{plain(grade.file)}: {title}, {score(grade)}", ""]
    width = max(len(v.title) for v in grade.verdicts)
    for v in grade.verdicts:
        points = f"{'?' if v.pending else v.points}/{v.out_of}"
        lines.append(f"  {v.question}  {v.title:{width}}  {points:>5}  {WORDS[v.verdict]}")
        lines += [f"      {text}" for text in details(v)]
    lines += [f"\nnote: {plain(note)}" for note in grade.notes]
    lines += ["", f"Hidden cases from seed {grade.seed}. Isolation: {grade.isolation}."]
    return "\n".join(lines)


def score(grade: Grade) -> str:
    """Say how many points there are, and how many are not known yet."""
    pending = f", {grade.pending} pending: grade again" if grade.pending else ""
    return f"{grade.points} of {grade.out_of} points{pending}"


def details(v: Verdict) -> list[str]:
    """Say what a learner should know of a verdict, line by line."""
    lines = []
    if v.hint:
        lines.append((f"line {v.line}: " if v.line else "") + v.hint)
    if v.shapes and v.shapes not in v.hint:
        lines.append(f"shapes: {v.shapes}")
    if v.lost and v.points:
        lines.append(f"lost: {', '.join(v.lost)}")
    if v.read:
        lines.append(f"read again: {v.read}")
    return [plain(line) for line in lines + [f"note: {note}" for note in v.notes]]


def plain(text: str) -> str:
    """Make visible what is no text: a message must not move a cursor, nor keep a file from it."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", _escaped, text)


def _escaped(match: re.Match) -> str:
    return repr(match[0])[1:-1]


def as_json(grade: Grade) -> str:
    """Write a grade for a program. ``schema`` says which fields to expect."""
    content = {"schema": RECORD, "seqattn": version("seqattn"), **grade.to_dict()}
    for v, plain_v in zip(grade.verdicts, content["verdicts"], strict=True):
        plain_v["points"] = None if v.pending else v.points
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_record(grade: Grade, student: str, problem: str = "") -> str:
    """Write a student's record, as :func:`as_json` does, with the name."""
    content = json.loads(as_json(grade)) | {"student": student}
    content["problem"] = problem or content["problem"]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_csv(grades: Sequence[Grade], names: Sequence[str] | None = None) -> str:
    """Write grades as a table, a row for each notebook and question."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(
        ["file", "exercise", "question", "verdict", "points", "out_of", "mistake", "hint"]
    )
    for grade, name in zip(grades, names or [g.file for g in grades]):
        name = str(harmless(name))
        if grade.problem:
            problem = harmless(grade.problem)
            table.writerow([name, "", "", grade.problem.split(":")[0], "", "", "", problem])
        for v in grade.verdicts:
            points = "" if v.pending else v.points
            row = [grade.exercise, v.question, v.verdict, points, v.out_of, v.mistake, v.hint]
            table.writerow([name, *map(harmless, row)])
    return stream.getvalue()


def neat(points: float) -> float:
    """Write whole points without a decimal point."""
    return int(points) if points == int(points) else points


# What nobody sees at the beginning of a cell, and a spreadsheet may skip.
UNSEEN = re.compile(r"^[\s\x00-\x1f\ufeff\u200b-\u200f\u2060]+")


def harmless(cell: object) -> object:
    """Keep a spreadsheet from taking text for a formula."""
    if not isinstance(cell, str):
        return cell
    # A fullwidth sign is taken for the sign.
    first = unicodedata.normalize("NFKC", UNSEEN.sub("", cell)[:1])
    formula = cell[:1] in ("\t", "\r") or (first and first in "=+-@|%")
    # Where a semicolon separates, a cell may begin within this one.
    cell = re.sub(r"(;\s*)(?=[=+@|%-])", r"\1'", cell)
    return f"'{plain(cell)}" if formula else plain(cell)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is never seen half written, whatever happens meanwhile.

    The grader's own: :func:`~seqattn.translator.checkpoint.write_atomically` also waits for the
    disk, as what took hours must and a report need not, and importing it imports torch.
    """
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        # The tables end their lines as spreadsheets expect; nothing may be translated.
        beside.write_text(text, encoding="utf-8", errors="replace", newline="")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
