"""Points that a person gives in place of the grader's: ``overrides.csv``."""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from seqattn.grading.classroom.tables import is_overrides, read_table
from seqattn.grading.grades import Grade, Verdict, VerdictName, harmless

if TYPE_CHECKING:
    from seqattn.grading.classroom.run import Result

__all__ = [
    "ANOTHER_ANSWER",
    "Given",
    "Judged",
    "Overrides",
    "apply_overrides",
    "by_hand",
    "check_overrides",
    "earlier_judged",
    "must_be_there",
    "read_overrides",
    "what_was_judged",
]

# A further line of a reason that is a row itself: student, question, points.
SWALLOWED = re.compile(r"\n[^,;\t\n]+[,;\t]\s*(\w+ )?q\d+\s*[,;\t]")
BY_HAND = "points given by hand"
ANOTHER_ANSWER = "points by hand were given to another answer"


class Given(NamedTuple):
    """Points that a person gave, why, and the line of the table that says so."""

    points: float
    reason: str = ""
    line: int = 0


# By student and question.
Overrides = dict[tuple[str, str], Given]


def read_overrides(path: Path) -> Overrides:
    """Read points that a person gave: columns student, question, points, reason.

    Raises
    ------
    ValueError
        If a row makes no sense in itself; the message names its line. Whether student and question
        exist, and whether so many points can be had, :func:`check_overrides` says.
    """
    if not path.is_file():
        return {}
    found: Overrides = {}
    table = read_table(path)
    table.must_name_once(("student", "question", "points", "reason"), path)
    names = {c.strip().casefold() for c in table.columns}
    if names and not names >= {"student", "question", "points"}:
        have = ", ".join(table.columns)
        raise ValueError(
            f"{path} has the columns {have}; expected student, question, points, reason"
        )
    for number, cells in table.numbered:
        where = f"{path}, line {number}"
        row = {column.strip().casefold(): text for column, text in cells.items()}
        if not any(row.values()):
            continue
        student = row["student"]
        # The sign that keeps a spreadsheet from taking an id for a formula is not the id's own.
        if student.startswith("'") and harmless(student[1:]) == student:
            student = student[1:]
        key = (student, row["question"])
        try:
            points = float(row["points"])
        except ValueError:
            raise ValueError(f"{where}: {_no_number(row['points'])}") from None
        if not (math.isfinite(points) and 2 * points == int(2 * points)):
            raise ValueError(f"{where}: {row['points']} points; expected whole or half points")
        if SWALLOWED.search(row.get("reason", "")):
            raise ValueError(f"{where}: is a quotation mark before it not closed?")
        if key in found:
            raise ValueError(f"{where}: {key[1]} of {key[0]} is given points a second time")
        whole = int(points) if points == int(points) else points
        found[key] = Given(whole, row.get("reason", ""), number)
    return found


def must_be_there(path: Path, judged: Sequence["Judged"]) -> None:
    """Refuse to go on without the table, where points were given by it or stand in another file.

    Parameters
    ----------
    path : Path
        Where the table is looked for.
    judged : sequence of Judged
        What it gave points to.

    Raises
    ------
    ValueError
        If it is missing or empty; the message says what would be lost, and what to do.
    """
    if path.is_file() and (path.read_bytes().strip() or not judged):
        return
    missing = "empty" if path.is_file() else "missing"
    files = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    others = [p.name for p in files if is_overrides(p.name) and not p.name.startswith((".", "~"))]
    others = [name for name in others if name != path.name]
    unread = f", and {others[0]} is not read" if others else ""
    if judged:
        given = [f"{one.student} {one.question}: {one.points}" for one in judged[:3]]
        more = ", ..." if len(judged) > 3 else ""
        raise ValueError(
            f"{path} is {missing}, and points were given by it ({', '.join(given)}{more}){unread}: "
            "put it back, or leave its first line alone in it to take them back"
        )
    if others:
        raise ValueError(
            f"there is no {path}{unread}: save it as CSV under that name, or move it away"
        )


def _no_number(points: str) -> str:
    """Say what is wrong with text that stands where points belong."""
    with_a_point = points.replace(",", ".")
    mend = f": write {with_a_point}" if re.fullmatch(r"\d+\.\d+", with_a_point) else ""
    return f"{points!r} is no number of points{mend}"


def check_overrides(
    overrides: Overrides, results: list["Result"], earlier: Sequence["Judged"] = ()
) -> list[str]:
    """Refuse points for students or questions that there are not, or more than can be had.

    Parameters
    ----------
    overrides : dict
        From :func:`read_overrides`.
    results : list of Result
        Of the class.
    earlier : sequence of Judged
        What was given points already: if that is not there now, nobody else waits for it.

    Returns
    -------
    list of str
        Rows that find nothing now, and why.

    Raises
    ------
    ValueError
        With a line for each, which names the table's.
    """
    most: dict[tuple[str, str], int] = {}
    told: dict[tuple[str, str], list[str]] = defaultdict(list)  # in which exercises
    for r in results:
        if r.person and r.grade:
            for v in r.grade.verdicts:
                told[r.person.id, v.question].append(f"{r.grade.exercise} {v.question}")
                for name in (v.question, f"{r.grade.exercise} {v.question}"):
                    most[r.person.id, name] = v.out_of
    students = {r.person.id for r in results if r.person}
    unread = {r.person.id for r in results if r.person and r.grade and r.grade.problem}
    wrong: list[str] = []
    idle: list[str] = []
    for (student, question), given in overrides.items():
        why = ""
        if student not in students:
            why = f"nobody here is called {student!r}{_id_of(student, results)}"
        elif (student, question) not in most:
            why = f"{student} has no graded question {question!r}"
        elif len(several := told.get((student, question), [])) > 1:
            why = f"{student} has {question} in {len(several)} exercises; write '{several[0]}'"
        elif not 0 <= given.points <= most[student, question]:
            expected = f"expected 0 to {most[student, question]}"
            why = f"{given.points} points for {student}, {question}: {expected}"
        elif several and (student, several[0]) in overrides:
            why = f"{question} and {several[0]} of {student} are one question: keep one row"
        # Whose name stands where the id belongs is here: nothing is gone but the points.
        gone = (student, question) not in most and not _id_of(student, results)
        known = student in unread or any(one.is_of(student, question, given) for one in earlier)
        if why:
            (idle if gone and known else wrong).append(f"line {given.line}: {why}")
    if wrong:
        head = "points given by hand make no sense (correct these rows, or remove them):"
        raise ValueError("\n  ".join([head, *wrong]))
    return idle


def _id_of(name: str, results: list["Result"]) -> str:
    """Say what to write for somebody of whom the table has the name, where there is one such."""
    ids = sorted({r.person.id for r in results if r.person and r.person.name == name})
    return f": write {' or '.join(ids)}, the student's id" if ids else ""


def apply_overrides(grade: Grade, student: str, overrides: Overrides) -> Grade:
    """Put a person's points in place of the grader's, and say so."""
    verdicts = []
    for v in grade.verdicts:
        _, found = _given_to(v, grade, student, overrides)
        if found is not None:
            points, reason, _ = found
            before = "none" if v.pending else v.points
            note = f"{BY_HAND} ({before} by the grader)" + (reason and f": {reason}")
            notes = [n for n in v.notes if not n.startswith(BY_HAND)]
            verdict: VerdictName = "pass" if points >= v.out_of else "partial" if points else "fail"
            if verdict == "pass":  # then the grader's reasons are none
                v = Verdict(v.question, v.title, verdict, v.points, v.out_of)
            v = replace(v, verdict=verdict, points=points, notes=[*notes, note])
        verdicts.append(v)
    return Grade(**{**vars(grade), "verdicts": verdicts})


class Judged(NamedTuple):
    """An answer that a person gave points to: which one it was, and the row that says so.

    Attributes
    ----------
    student, exercise, question : str
        Whose answer, and to what.
    points, reason : float, str
        As in the table.
    fingerprint : str
        Of the answer.
    """

    student: str
    exercise: str
    question: str
    points: float
    reason: str
    fingerprint: str

    def is_of(self, student: str, question: str, given: Given) -> bool:
        """Tell whether a row of the table is the one by which points were given."""
        named = question in (self.question, f"{self.exercise} {self.question}")
        return named and (self.student, self.points, self.reason) == (student, *given[:2])


def earlier_judged(kept: object) -> list[Judged]:
    """Read what ``run.json`` keeps of points by hand; what makes no sense there is none."""
    found = []
    for one in kept if isinstance(kept, list) else ():
        match one:
            case [str(), str(), str(), int() | float(), str(), str()]:
                found.append(Judged(*one))
    return found


def what_was_judged(
    overrides: Overrides, results: list["Result"], earlier: Sequence[Judged]
) -> list[Judged]:
    """Say which answers points by hand are for, and flag those that are not what they were.

    Parameters
    ----------
    overrides : dict
        From :func:`read_overrides`.
    results : list of Result
        Those whose answer has changed since its points were given get a flag.
    earlier : sequence of Judged
        What this gave when points were given.

    Returns
    -------
    list of Judged
        What was judged stays until the row of the table changes, also where it cannot be seen now.

    Raises
    ------
    ValueError
        If points were given for an answer to another exercise.
    """
    found: dict[tuple[str, str, str], Judged] = {}
    for one in earlier:
        if any(one.is_of(*key, given) for key, given in overrides.items()):
            found[one[:3]] = one
    for r in results:
        if not (r.person and r.grade):
            continue
        for v in r.grade.verdicts:
            name, given = _given_to(v, r.grade, r.person.id, overrides)
            if given is None:
                continue
            answer = r.grade.answers.get(v.question)
            code = answer.code if answer else ""
            digest = hashlib.sha256(code.encode(errors="replace")).hexdigest()[:16]
            now = Judged(r.person.id, r.grade.exercise, v.question, *given[:2], digest)
            was = found.setdefault(now[:3], now)
            if was is now and name == v.question:
                _must_be_of_this(now, given, earlier)
            if was.fingerprint != digest:
                again = "look again, and change its row (the reason, say)"
                r.grade.flags.append(f"{v.question}: {ANOTHER_ANSWER}: {again}")
    return [*found.values()]


def _must_be_of_this(now: Judged, given: Given, earlier: Sequence[Judged]) -> None:
    for one in earlier:
        if one.exercise != now.exercise and one.is_of(now.student, now.question, given):
            raise ValueError(
                f"line {given.line}: these points were given for {one.exercise}: remove the row, "
                f"or write '{now.exercise} {now.question}' if you mean that"
            )


def _given_to(
    v: Verdict, grade: Grade, student: str, overrides: Overrides
) -> tuple[str, Given | None]:
    """Find the points that a person gave to an answer, and what the table calls its question."""
    for name in (f"{grade.exercise} {v.question}", v.question):
        if (student, name) in overrides:
            return name, overrides[student, name]
    return "", None


def by_the_grader(notes: Sequence[str]) -> str:
    """Take from an answer's notes what the grader gave where a person did; "" where none did."""
    found = [re.search(r"\((\S+) by the grader\)", n) for n in notes if n.startswith(BY_HAND)]
    return next((match[1] for match in found if match), "")


def by_hand(v: Verdict) -> list[str]:
    """List what is noted of points that a person gave to an answer."""
    return [note for note in v.notes if note.startswith(BY_HAND)]
