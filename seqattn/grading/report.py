"""Say a grade: to a reader in a terminal, to a program, and on a page of its own."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqattn.grading.bank import load
from seqattn.grading.book import link
from seqattn.grading.reading import read_submission
from seqattn.grading.submission import Answer, find_answer
from seqattn.grading.verdicts import Grade, Verdict

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = [
    "SCHEMA",
    "answers_of",
    "as_csv",
    "as_fragment",
    "as_html",
    "as_json",
    "as_record",
    "as_text",
    "details",
    "harmless",
    "page",
]

# More of an answer than this is no help to look at.
MOST_LINES = 500
WORDS = {
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
    "schema": {"const": 4},
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
    lines = [f"{plain(grade.file)}: {title}, {_score(grade)}", ""]
    width = max(len(v.title) for v in grade.verdicts)
    for v in grade.verdicts:
        score = f"{'?' if v.pending else v.points}/{v.out_of}"
        lines.append(f"  {v.question}  {v.title:{width}}  {score:>5}  {WORDS[v.verdict]}")
        lines += [f"      {text}" for text in details(v)]
    lines += [f"\nnote: {plain(note)}" for note in grade.notes]
    lines += ["", f"Hidden cases from seed {grade.seed}. Isolation: {grade.isolation}."]
    return "\n".join(lines)


def _score(grade: Grade) -> str:
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
    content = {"schema": 4, "seqattn": version("seqattn"), **grade.to_dict()}
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


def harmless(cell: object) -> object:
    """Keep a spreadsheet from taking text for a formula."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("=", "+", "-", "@", "\t", "\r", "|", "%"):
        return f"'{plain(cell)}"
    return plain(cell) if isinstance(cell, str) else cell


def as_html(
    grade: Grade,
    book: str = "",
    *,
    student: str = "",
    answers: Mapping[str, Answer] | None = None,
    source: str = "",
) -> str:
    """Write a grade as a page: nothing in it is the learner's but as plain text.

    Parameters
    ----------
    grade : Grade
        The grade.
    book : str
        Address of the book, so that what to read again is a link.
    student : str
        Whose it is; the file stands for its author where nobody is named.
    answers : dict of str to Answer, optional
        What was graded, by question: shown beside what is said of it.
    source : str
        What tells whether a page that lies there already is of the same file.
    """
    exercise = load(grade.exercise).title if grade.exercise else ""
    title = ": ".join(filter(None, [exercise, student or grade.file]))
    shown = _shown(grade, book, answers or {})
    return (
        _templates()
        .get_template("page.html")
        .render(title=title, grade=shown, tables=[], source=source)
    )


def as_fragment(
    grade: Grade, book: str = "", *, answers: Mapping[str, Answer] | None = None
) -> str:
    """Write a grade as a piece of a page, for what shows it inside a page of its own."""
    macros: Any = (
        _templates()
        .get_template("page.html")
        .make_module({"title": "", "grade": None, "tables": [], "source": ""})
    )
    inside = macros.feedback(_shown(grade, book, answers or {}))
    return f'<div class="seqattn-page">{macros.style()}{inside}</div>'


def page(title: str, tables: list[tuple[str, list[list[object]]]]) -> str:
    """Write tables with titles as a page."""
    return (
        _templates()
        .get_template("page.html")
        .render(title=title, grade=None, tables=tables, source="")
    )


def answers_of(path: Path, name: str) -> dict[str, Answer]:
    """Find what a notebook that was graded answers, by question.

    Raises
    ------
    UnreadableError
        If it cannot be read any more.
    """
    exercise, submission = load(name), read_submission(path)
    return {q.id: find_answer(submission, exercise, q) for q in exercise.questions}


def _shown(grade: Grade, book: str, answers: Mapping[str, Answer]) -> dict[str, Any]:
    return {
        "head": grade.problem or _score(grade),
        "notes": grade.notes,
        "questions": [_question(v, book, answers.get(v.question)) for v in grade.verdicts],
        # Without the seed: a page goes to a student, and who knows the seed knows the cases.
        "foot": f"isolation: {grade.isolation}",
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
