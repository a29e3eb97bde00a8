"""Reports on a class: ``grades.csv``, other tables, a page for each student; and what changed.

:func:`all_reports` makes them, :func:`read_records` reads the students' records again, and
:func:`list_changes` sets those of two gradings side by side.
"""

import csv
import io
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from seqattn.grading.bank import load
from seqattn.grading.classroom.lms import as_gradescope, as_junit, as_moodle
from seqattn.grading.classroom.overrides import (
    Overrides,
    apply_overrides,
    by_hand,
    by_the_grader,
)
from seqattn.grading.classroom.run import Result
from seqattn.grading.classroom.similarity import Pair, similar_pairs
from seqattn.grading.classroom.submissions import natural
from seqattn.grading.feedback import as_html, page
from seqattn.grading.grades import (
    WORDS,
    as_csv,
    as_record,
    harmless,
    write_whole,
)

__all__ = [
    "Change",
    "all_reports",
    "as_changes",
    "file_names",
    "list_changes",
    "read_records",
    "write_reports",
]


def all_reports(
    results: list[Result],
    *,
    overrides: Overrides | None = None,
    absent_as_zero: bool = False,
    book: str = "",
) -> dict[str, str]:
    """Make all reports of a class.

    Parameters
    ----------
    results : list of Result
        From :func:`seqattn.grading.classroom.run.settle`.
    overrides : dict, optional
        From :func:`seqattn.grading.classroom.overrides.read_overrides`.
    absent_as_zero : bool
        Give those who handed in nothing 0 points instead of a blank.
    book : str
        Address of the book, for links in the feedback.

    Returns
    -------
    dict of str to str
        Text by the file's name below the folder of reports.
    """
    for result in results:
        if result.person and result.grade and overrides:
            result.grade = apply_overrides(result.grade, result.person.id, overrides)
    names = file_names(results)
    files: dict[str, str] = {
        "grades.csv": grades_table(results, absent_as_zero),
        "questions.csv": as_csv([r.grade for r in results if r.grade], _labels(results)),
        "moodle.csv": as_moodle(results, absent_as_zero),
        "junit.xml": as_junit(results),
        "summary.html": as_summary(results),
        "similar.csv": as_similar(similar(results)),
    }
    for result, name in zip(results, names):
        if result.grade is not None:
            who = result.person.id if result.person else ""
            record = as_record(result.grade, student=who, problem=result.problem)
            files[f"students/{name}.json"] = record
            files[f"gradescope/{name}/results.json"] = as_gradescope(result.grade)
            files[f"feedback/{name}.html"] = as_html(result.grade, book, student=_called(result))
    return files


def write_reports(out: Path, files: dict[str, str]) -> None:
    """Write what :func:`all_reports` made into a folder."""
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)


def file_names(results: list[Result]) -> list[str]:
    """Name the files of each result: letters, digits, dots and dashes, no name twice."""
    names: list[str] = []
    taken: set[str] = set()
    for result in results:
        exercise = result.grade.exercise if result.grade else ""
        who = result.person.id if result.person else f"unmatched-{result.label}"
        name = re.sub(r"[^\w.@-]+", "_", f"{who}-{exercise}" if exercise else who)
        name = _cut(name.strip("._")) or "student"
        free = (name if n == 1 else f"{name}-{n}" for n in count(1))
        names.append(next(name for name in free if name.casefold() not in taken))
        taken.add(names[-1].casefold())
    return names


def _cut(name: str) -> str:
    """Shorten a name to what any file system takes: 255 bytes, with what is put around it."""
    return name.encode()[:180].decode("utf-8", "ignore")


def _called(result: Result) -> str:
    return (result.person.name or result.person.id) if result.person else result.label


def _labels(results: list[Result]) -> list[str]:
    return [r.person.id if r.person else r.label for r in results if r.grade]


def grades_table(results: list[Result], absent_as_zero: bool) -> str:
    """Write a row for each student and exercise: points in all, and for each question.

    A file that fits nobody, or could not be read, has a row of its own, and so has a student who
    handed in nothing. ``chapters/grading_a_class.md`` explains the columns to instructors.
    """
    asked = {
        r.grade.exercise: [v.question for v in r.grade.verdicts]
        for r in results
        if r.grade and r.grade.exercise
    }
    columns = [(e, q) for e in sorted(asked) for q in asked[e]]
    stream = io.StringIO()
    table = csv.writer(stream)
    head = ["student", "name", "email", "file", "exercise", "status", "points", "out_of"]
    table.writerow([*head, *(f"{e} {q}" for e, q in columns), "notes"])
    for r in results:
        person = [r.person.id, r.person.name, r.person.email] if r.person else ["", "", ""]
        if r.grade is None:
            points = [0] if absent_as_zero and r.is_absent else [""]
            row = [*person, "", "", "absent", *points, "", *[""] * len(columns), r.problem]
        else:
            g = r.grade
            got = {(g.exercise, v.question): "" if v.pending else v.points for v in g.verdicts}
            # Where points are pending, a sum would look like the whole.
            total: Any = g.points if g.verdicts and not g.pending else ""
            pending = [f"{v.question} {WORDS[v.verdict]}" for v in g.verdicts if v.pending]
            given = [f"{v.question}: {note}" for v in g.verdicts for note in by_hand(v)]
            said = [r.problem, g.problem, *pending, *given, *g.notes, *g.flags]
            notes = "; ".join(filter(None, said))
            row = [*person, r.label, g.exercise, _status(r), total, g.out_of or ""]
            row += [*(got.get(c, "") for c in columns), notes]
        table.writerow([harmless(cell) for cell in row])
    return stream.getvalue()


# --- the class as a whole ----------------------------------------------------------------------


def similar(results: list[Result]) -> list[Pair]:
    """Find pairs of students whose answers resemble each other, within each exercise."""
    prints: dict[str, dict[str, dict]] = defaultdict(dict)
    for r in results:
        if r.prints and r.grade:
            prints[r.grade.exercise][r.person.id if r.person else r.label] = r.prints
    pairs = [pair for exercise in sorted(prints) for pair in similar_pairs(prints[exercise])]
    # A group's members have one file.
    files = {(r.person.id if r.person else r.label): r.label for r in results if r.prints}
    return [pair for pair in pairs if files[pair.one] != files[pair.other]]


def as_similar(pairs: list[Pair]) -> str:
    """Write pairs as a table. It proves nothing: look before you speak."""
    stream = io.StringIO()
    table = csv.writer(stream)
    table.writerow(["one", "other", "share", "same_but_for_names"])
    for p in pairs:
        table.writerow([harmless(p.one), harmless(p.other), p.share, " ".join(p.questions)])
    return stream.getvalue()


def as_summary(results: list[Result]) -> str:
    """Write a page on the class: how many passed each question, and what went wrong most often."""
    graded = [r.grade for r in results if r.grade and r.grade.verdicts and not r.problem]
    lines: list[tuple[str, list[list[object]]]] = []
    files = Counter(_status(r) for r in results)
    lines.append(("Files", [[status, number] for status, number in sorted(files.items())]))
    for exercise in sorted({g.exercise for g in graded}):
        mine = [g for g in graded if g.exercise == exercise]
        whole = [g.points for g in mine if not g.pending]
        middle = f"{median(whole):g}" if whole else "none yet"
        title = (
            f"{load(exercise).title}: {len(mine)} students, median {middle} of "
            f"{mine[0].out_of} points"
        )
        if len(whole) < len(mine):
            title += f", {len(mine) - len(whole)} with points pending and not counted"
        rows: list[list[object]] = [
            ["question", "right", "points on average", "most frequent mistake"]
        ]
        for number, q in enumerate(mine[0].verdicts):
            verdicts = [g.verdicts[number] for g in mine if not g.verdicts[number].pending]
            if not verdicts:
                rows.append([f"{q.question} {q.title}", "pending", "pending", ""])
                continue
            right = sum(v.verdict == "pass" for v in verdicts)
            mean = sum(v.points for v in verdicts) / len(verdicts)
            mistakes = Counter(v.mistake for v in verdicts if v.mistake)
            common = sorted(mistakes.items(), key=lambda x: (-x[1], x[0]))[:1]
            said = f"{common[0][0]} ({common[0][1]})" if common else ""
            share = f"{right}\u00a0({100 * right / len(verdicts):.0f}%)"
            if pending := len(mine) - len(verdicts):
                share += f", {pending}\u00a0pending"
            rows.append([f"{q.question} {q.title}", share, f"{mean:.1f} of {q.out_of}", said])
        lines.append((title, rows))
    return page("Class summary", lines)


def _status(r: Result) -> str:
    if r.grade is None:
        return "absent"
    problem = r.problem.partition(":")[0] or r.grade.problem.partition(":")[0]
    return problem or ("pending" if r.grade.pending else "graded")


def read_records(folder: Path) -> dict[str, dict]:
    """Read the record of each student that an earlier grading left, and nothing else there.

    Returns
    -------
    dict of str to dict
        By student and exercise. Where nobody knows whose it is, by the name of the record.
    """
    records = {}
    for path in sorted((folder / "students").glob("*.json"), key=lambda p: natural(p.name)):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if _is_record(record):
            # Names of files may have changed places: ids that differ in a sign alone share them.
            whose = f"{record['student']}-{record['exercise']}".strip("-")
            name = whose if record["student"] else path.stem
            taken = (name if n == 1 else f"{name} ({n})" for n in count(1))
            records[next(free for free in taken if free not in records)] = record
    return records


def _is_record(record: object) -> bool:
    match record:
        case {"problem": str(), "student": str(), "exercise": str(), "verdicts": [*verdicts]}:
            return all(isinstance(v, dict) and v.keys() >= VERDICT for v in verdicts)
    return False


# --- a grading beside an earlier one --------------------------------------------------------------


VERDICT = {"question", "points", "verdict"}


@dataclass(frozen=True)
class Change:
    """A question whose points are not what they were.

    Attributes
    ----------
    record : str
        Name of the student's record.
    student : str
        Whose it is; empty for a file that fits nobody. One student may have several records.
    question : str
        Which question; ``file`` where it could not be read before or cannot be now.
    before, after : str
        Points and verdict.
    """

    record: str
    student: str
    question: str
    before: str
    after: str


def list_changes(old: dict[str, dict], new: dict[str, dict]) -> list[Change]:
    """List the questions whose points or verdicts differ between two gradings."""
    changes = []
    for name in sorted(old.keys() | new.keys()):
        was, is_ = _points_of(old.get(name)), _points_of(new.get(name))
        student = (new.get(name) or old[name]).get("student", name)
        most = [
            {v["question"]: v.get("out_of") for v in (record or {}).get("verdicts", ())}
            for record in (old.get(name), new.get(name))
        ]
        for question in sorted(was.keys() | is_.keys()):
            before, after = was.get(question, "none"), is_.get(question, "none")
            if question in was and question in is_ and most[0] != most[1]:
                before, after = (
                    f"{said}, of {of.get(question)}" for said, of in zip((before, after), most)
                )
            if before != after:
                changes.append(Change(name, student, question, before, after))
    return changes


def _points_of(record: dict | None) -> dict[str, str]:
    if record is None:
        return {}
    if record["problem"]:
        return {"file": record["problem"]}
    return {v["question"]: _told(v) for v in record["verdicts"]}


def _told(v: dict) -> str:
    """Say what became of an answer: also what it would have been without a person's points."""
    said = f"{'?' if v['points'] is None else v['points']} {v['verdict']}"  # pending: no points
    by_grader = by_the_grader(v.get("notes") or [])
    return f"{said}, by hand ({by_grader} by the grader)" if by_grader else said


def as_changes(changes: list[Change]) -> str:
    """Write changes for a terminal."""
    if not changes:
        return "no score changed"
    said = f"{len(changes)} changes for {len({c.student for c in changes} - {''})} students"
    if strays := {c.record for c in changes if not c.student}:
        said += f", and for {len(strays)} files that fit nobody"
    lines = [f"  {c.record}  {c.question}: {c.before} -> {c.after}" for c in changes]
    return "\n".join([said, *lines])
