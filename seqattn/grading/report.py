"""Say a grade: to a reader in a terminal, to a program, and on a page of its own."""

import csv
import html
import io
import json
import re
from collections.abc import Sequence
from importlib.metadata import version

from seqattn.grading.bank import load
from seqattn.grading.verdicts import Grade, Verdict

__all__ = [
    "SCHEMA",
    "as_csv",
    "as_html",
    "as_json",
    "as_record",
    "as_text",
    "details",
    "harmless",
    "page",
]

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
}
_GRADE: dict = {
    "schema": {"const": 3},
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
    content = {"schema": 3, "seqattn": version("seqattn"), **grade.to_dict()}
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


def as_html(grade: Grade, book: str = "") -> str:
    """Write a grade as a page: nothing in it is the learner's but as plain text.

    Parameters
    ----------
    grade : Grade
        The grade.
    book : str
        Address of the book, so that what to read again is a link.
    """
    head = grade.problem or _score(grade)
    # Without the seed: a page goes to a student, and who knows the seed knows the cases.
    foot = f"isolation: {grade.isolation}"
    body = "".join(_section(v, book) for v in grade.verdicts)
    notes = "".join(f"<p>note: {_text(note)}</p>" for note in grade.notes)
    return _document(grade.file, f"<p>{_text(head)}</p>{notes}{body}<footer>{_text(foot)}</footer>")


def _section(v: Verdict, book: str) -> str:
    lines = [f"<p>{_text(line)}</p>" for line in details(v) if not line.startswith("read again")]
    if v.read:
        page_, _, title = v.read.partition(": ")
        where = _text(title or page_)
        if book:
            where = f'<a href="{_text(book.rstrip("/"))}/{_text(page_)}.html">{where}</a>'
        lines.append(f"<p>Read again: {where}</p>")
    return (
        f'<section class="{_text(v.verdict)}"><h2>{_text(v.question)} {_text(v.title)}: '
        f"{'?' if v.pending else v.points} of {v.out_of}</h2>"
        f"<p><strong>{_text(WORDS[v.verdict])}</strong></p>"
        f"{''.join(lines)}</section>"
    )


def page(title: str, tables: list[tuple[str, list[list[object]]]]) -> str:
    """Write tables with titles as a page."""
    parts = []
    for name, rows in tables:
        cells = ["".join(f"<td>{_text(str(c))}</td>" for c in row) for row in rows]
        parts.append(f"<h2>{_text(name)}</h2><table><tr>{'</tr><tr>'.join(cells)}</tr></table>")
    return _document(title, "".join(parts))


def _document(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{_text(title)}</h1>{body}</body></html>\n"
    )


def _text(text: str) -> str:
    return html.escape(plain(text))


STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}h2{font-size:1.1rem;margin:0}section{border-left:4px solid #b45309;"
    "padding:.2rem 1rem;margin:1rem 0}section.pass{border-color:#0072b2}"
    "section.not_attempted{border-color:#777}p{margin:.3rem 0}footer{color:#555;margin-top:2rem}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem}td{padding:.2rem .8rem .2rem 0;"
    "border-bottom:1px solid #ccc;vertical-align:top}a{color:#0060a0}"
)
