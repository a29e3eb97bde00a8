"""Say a grade: to a reader in a terminal, to a program, and on a page of its own."""

import csv
import html
import io
import json
from collections.abc import Sequence
from importlib.metadata import version

from seqattn.grading.bank import load
from seqattn.grading.verdicts import Grade, Verdict

__all__ = ["as_csv", "as_html", "as_json", "as_text"]

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
    "grader_error": "could not be graded",
}


def as_text(grade: Grade) -> str:
    """Write a grade for a terminal."""
    if grade.problem:
        return f"{grade.file}: {grade.problem}"
    title = load(grade.exercise).title
    lines = [f"{grade.file}: {title}, {grade.points} of {grade.out_of} points", ""]
    width = max(len(v.title) for v in grade.verdicts)
    for v in grade.verdicts:
        score = f"{v.points}/{v.out_of}"
        lines.append(f"  {v.question}  {v.title:{width}}  {score:>5}  {WORDS[v.verdict]}")
        lines += [f"      {text}" for text in _details(v)]
    lines += ["", f"Hidden cases from seed {grade.seed}. Isolation: {grade.isolation}."]
    return "\n".join(lines)


def _details(v: Verdict) -> list[str]:
    lines = []
    if v.hint:
        lines.append((f"line {v.line}: " if v.line else "") + v.hint)
    if v.lost and v.points:
        lines.append(f"lost: {', '.join(v.lost)}")
    if v.read:
        lines.append(f"read again: {v.read}")
    return lines + [f"note: {note}" for note in v.notes]


def as_json(grade: Grade) -> str:
    """Write a grade for a program. ``schema`` says which fields to expect."""
    content = {"schema": 1, "seqattn": version("seqattn"), **grade.to_dict()}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_csv(grades: Sequence[Grade]) -> str:
    """Write grades as a table, a row for each notebook and question."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(
        ["file", "exercise", "question", "verdict", "points", "out_of", "mistake", "hint"]
    )
    for grade in grades:
        name = _harmless(grade.file)
        if grade.problem:
            table.writerow([name, "", "", grade.problem.split(":")[0], "", "", "", grade.problem])
        for v in grade.verdicts:
            row = [grade.exercise, v.question, v.verdict, v.points, v.out_of, v.mistake, v.hint]
            table.writerow([name, *map(_harmless, row)])
    return stream.getvalue()


def _harmless(cell: object) -> object:
    """Keep a spreadsheet from taking text for a formula."""
    if isinstance(cell, str) and cell[:1] in "=+-@\t\r":
        return f"'{cell}"
    return cell


def as_html(grade: Grade) -> str:
    """Write a grade as a page: nothing in it is the learner's but as plain text."""
    text = html.escape
    rows = []
    for v in grade.verdicts:
        details = "".join(f"<p>{text(line)}</p>" for line in _details(v))
        rows.append(
            f'<section class="{text(v.verdict)}"><h2>{text(v.question)} {text(v.title)}: '
            f"{v.points} of {v.out_of}</h2><p><strong>{text(WORDS[v.verdict])}</strong></p>"
            f"{details}</section>"
        )
    head = text(grade.problem) if grade.problem else f"{grade.points} of {grade.out_of} points"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(grade.file)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{text(grade.file)}</h1><p>{head}</p>{''.join(rows)}"
        f"<footer>seed {text(grade.seed)}, isolation: {text(grade.isolation)}</footer>"
        "</body></html>\n"
    )


STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}h2{font-size:1.1rem;margin:0}section{border-left:4px solid #b45309;"
    "padding:.2rem 1rem;margin:1rem 0}section.pass{border-color:#0072b2}"
    "section.not_attempted{border-color:#777}p{margin:.3rem 0}footer{color:#555;margin-top:2rem}"
)
