"""The commands for whoever grades a class."""

import errno
import os
import secrets
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqattn.console import INSTRUCTORS, fail, must_exist

if TYPE_CHECKING:
    from seqattn.grading.classroom.overrides import Overrides
    from seqattn.grading.classroom.roster import Person
    from seqattn.grading.classroom.run import Result
    from seqattn.grading.classroom.submissions import Handed
    from seqattn.grading.grades import Grade

__all__ = ["Book", "must_be_an_address", "register"]

# Each job imports torch: more than a few cost memory first.
CORES = min(8, os.cpu_count() or 1)
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
Submissions = Annotated[
    Path, typer.Argument(help="Folder with a file or a folder for each student.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many at a time.")]
Roster = Annotated[
    Path | None, typer.Option(help="CSV file with the columns id, name, email (any of them).")
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="Folder for the reports; one for each assignment.")
]
Only = Annotated[str | None, typer.Option(help="The exercise that is expected, as 03_additive.")]
Weak = Annotated[bool, typer.Option(help="Go on where answers cannot be fully contained.")]
Zero = Annotated[bool, typer.Option(help="0 points for those who handed in nothing; else blank.")]
Book = Annotated[str, typer.Option(help="Address of the book, for links in the feedback.")]
Seed = Annotated[
    str | None,
    typer.Option(help="Seed of the hidden cases; else that of the reports in --out, else drawn."),
]
Fixed = Annotated[
    str | None,
    typer.Option(help="Seed of the hidden cases, as grade-class says; else drawn at each run."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("grade-class", rich_help_panel=INSTRUCTORS)(grade_class)
    for command in (regrade, gradescope, autograder):
        app.command(rich_help_panel=INSTRUCTORS)(command)


def _must_be_known(exercise: str | None) -> None:
    from seqattn.grading.bank import load

    try:
        if exercise:
            load(exercise)
    except ValueError as error:
        raise fail(str(error)) from None


def must_be_an_address(book: str) -> None:
    """Stop where ``--book`` would lead a reader to no book."""
    from seqattn.grading.feedback import check_address

    try:
        check_address(book)
    except ValueError as error:
        raise fail(f"--book: {error}") from None


def _must_be_a_folder(path: Path, mend: str = "") -> None:
    """Stop where what was handed in is one file, or lies elsewhere."""
    if not path.exists():
        raise fail(f"there is no {path}{mend}")
    if path.is_dir():
        return
    if path.suffix.lower() in ARCHIVES:
        raise fail(f"{path} is an archive: unpack it into a folder first, and name the folder")
    raise fail(f"{path} is a file; expected a folder with what was handed in")


def _must_lie_elsewhere(out: Path, submissions: Path) -> None:
    """Stop before reports are written into a file, or over what was handed in."""
    from seqattn.grading.classroom.folder import is_for_reports

    if out.exists() and not out.is_dir():
        raise fail(f"-o {out} is a file; expected a folder for the reports")
    if submissions.resolve() == out.resolve():
        raise fail(f"-o {out} is what was handed in: name another folder for the reports")
    if out.resolve().is_relative_to(submissions.resolve()) and not is_for_reports(out):
        raise fail(f"-o {out} was handed in, it seems: name a new folder for the reports")


def grade_class(
    submissions: Submissions,
    out: Out,
    jobs: Jobs = CORES,
    roster: Roster = None,
    exercise: Only = None,
    seed: Seed = None,
    allow_weak: Weak = False,
    absent_as_zero: Zero = False,
    book: Book = "",
) -> None:
    """Grade what a class handed in. Interrupted, the same command goes on where it stopped."""
    from seqattn.grading.classroom.folder import load_run
    from seqattn.grading.feedback import published

    _must_be_known(exercise)
    must_be_an_address(book)
    _must_be_a_folder(submissions)
    _must_lie_elsewhere(out, submissions)
    if roster:
        must_exist(roster)
    with _alone(out):
        try:
            seed = seed or load_run(out)["seed"]
        except ValueError:
            seed = secrets.token_hex(8)
        run = {
            "submissions": str(submissions.resolve()),
            "roster": str(roster.resolve()) if roster else "",
            "exercise": exercise or "",
            "seed": seed,
            "allow_weak": allow_weak,
            "absent_as_zero": absent_as_zero,
            "book": book or published(),
        }
        results = _grade_and_report([run], out, jobs, out / "overrides.csv")
    said = f"{out}: {len(results)} rows in grades.csv, one page and one record a student"
    print(f"{said}, summary.html; seed {seed}")
    _warn(results, absent_as_zero)


def regrade(
    old: Annotated[Path, typer.Option("--diff", help="Folder of the grading to set beside.")],
    out: Out,
    jobs: Jobs = CORES,
    submissions: Annotated[Path | None, typer.Option(help="Where they lie now.")] = None,
    roster: Annotated[Path | None, typer.Option(help="Where the roster lies now.")] = None,
) -> None:
    """Grade again as before (same seed, roster, options), and list what changed.

    Points that a person gave (overrides.csv in the old folder) stay.
    """
    from seqattn.grading.classroom.folder import load_run
    from seqattn.grading.classroom.reports import as_changes, list_changes, read_records

    try:
        was = load_run(old)
    except ValueError as error:
        raise fail(str(error)) from None
    run = {key: value for key, value in was.items() if key != "written"}
    if submissions is not None:
        run["submissions"] = str(submissions.resolve())
    if roster is not None:
        run["roster"] = str(roster.resolve())
    _must_be_a_folder(Path(run["submissions"]), ": --submissions says where they lie now")
    _must_be_known(run["exercise"])
    _must_lie_elsewhere(out, Path(run["submissions"]))
    if run["roster"] and not Path(run["roster"]).is_file():
        raise fail(f"there is no {run['roster']}: --roster says where the roster lies now")
    overrides, kept = old / "overrides.csv", out / "overrides.csv"
    given = overrides.read_bytes() if overrides.is_file() else b""
    if kept.is_file() and kept.read_bytes() != given:
        raise fail(
            f"{kept} differs from {overrides}: copy the rows that you want into the latter, "
            "and move the former away"
        )
    before = read_records(old)
    with _alone(out):
        results = _grade_and_report([run, was], out, jobs, overrides)
        if given and not kept.is_file():  # last: now they are known to make sense
            kept.write_bytes(given)
        text = as_changes(list_changes(before, read_records(out)))
        (out / "changes.txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    _warn(results, run["absent_as_zero"])


def gradescope(
    submission: Annotated[Path, typer.Argument(help="Folder with what one student handed in.")],
    out: Annotated[Path, typer.Option(help="Where to write results.json.")],
    exercise: Only = None,
    allow_weak: Weak = False,
    seed: Fixed = None,
) -> None:
    """Grade one submission inside Gradescope's autograder."""
    from seqattn.grading.bank import must_know_answers
    from seqattn.grading.classroom.lms import as_gradescope
    from seqattn.grading.classroom.run import grade_one
    from seqattn.grading.classroom.submissions import collect
    from seqattn.grading.grades import Grade
    from seqattn.grading.judge import Judge

    must_know_answers()
    _must_be_known(exercise)
    _must_be_a_folder(submission)
    try:
        files = collect(submission)
    except ValueError as error:
        raise fail(str(error)) from None
    with Judge(seed) as judge:
        judge.sandbox.wait()
        if not judge.sandbox.isolation.startswith("full") and not allow_weak:
            raise fail(f"isolation is {judge.sandbox.isolation}; --allow-weak goes on all the same")
        grades = [grade_one(judge, f.path, exercise) for f in files]
    readable = [g for g in grades if not g.problem]
    nothing = Grade("", "", "unreadable: no notebook was handed in", [], "", "")
    chosen = (readable or grades or [nothing])[-1]
    if len(readable) > 1:
        [where] = {f.label for f, g in zip(files, grades, strict=True) if g is chosen}
        chosen.notes.append(f"of {len(readable)} notebooks {where} is graded: hand in one")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(as_gradescope(chosen), encoding="utf-8", errors="replace")
    if chosen.pending:
        print(f"seqattn: {chosen.pending} points are pending: run it again", file=sys.stderr)
        raise typer.Exit(1)
    if chosen.problem.startswith("grader_error"):
        raise fail(f"{chosen.problem}: run it again")


def autograder(
    exercise: Annotated[str, typer.Argument(help="Its name, as 03_additive.")],
    wheel: Annotated[Path, typer.Option(help="The course's wheel, with answers.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The archive.")],
    allow_weak: Weak = False,
    seed: Fixed = None,
) -> None:
    """Pack an autograder for Gradescope."""
    from seqattn.grading.bank import load
    from seqattn.grading.classroom.lms import autograder_zip, check_wheel

    must_exist(wheel)
    try:
        load(exercise)
        check_wheel(wheel)
    except ValueError as error:
        raise fail(str(error)) from None
    options = ["--allow-weak"] if allow_weak else []
    options += ["--seed", shlex.quote(seed)] if seed else []
    autograder_zip(exercise, wheel, out, " ".join(options))
    print(f"{out}: upload it as the autograder of {exercise}")


# --- shared --------------------------------------------------------------------------------------


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep the folder of the reports for this command."""
    from seqattn.grading.classroom.folder import BusyError, alone

    try:
        with alone(out):
            yield
    except BusyError as error:
        raise fail(str(error)) from None
    except OSError as error:
        raise _stopped(error, out) from None


def _grade_and_report(runs: list[dict], out: Path, jobs: int, overrides: Path) -> list["Result"]:
    """Grade what lies in a folder, and write the reports into another.

    Of the gradings of which the other folder may hold reports, the first is done.
    """
    from seqattn.grading.bank import must_know_answers
    from seqattn.grading.classroom.folder import (
        held_run,
        judged_by_hand,
        must_be_as_written,
        must_be_of,
        must_be_of_class,
        must_share_an_exercise,
    )
    from seqattn.grading.classroom.overrides import (
        check_overrides,
        must_be_there,
        read_overrides,
        what_was_judged,
    )
    from seqattn.grading.classroom.reports import read_records
    from seqattn.grading.classroom.roster import read_roster
    from seqattn.grading.classroom.run import exercise_in, settle

    must_know_answers()
    run = runs[0]
    try:
        must_be_of(out, *runs)
        must_be_as_written(out)
        roster = read_roster(Path(run["roster"])) if run["roster"] else []
        records = read_records(out).values()
        reported = {record["student"] for record in records} - {""}
        must_be_of_class(out, reported, {person.id for person in roster}, run["roster"])
        must_be_there(overrides, judged_by_hand(held_run(overrides.parent)))
        given = read_overrides(overrides)
        files = _handed_in(Path(run["submissions"]), out, roster)
        before = {record["exercise"] for record in records} - {""}
        if before:  # here already: grading may take an hour
            must_share_an_exercise(out, before, {exercise_in(h.path) for h in files} - {""})
    except (OSError, ValueError) as error:
        raise fail(str(error)) from None
    results = settle(files, _grade(files, run, out, jobs), roster)
    try:
        earlier = judged_by_hand(held_run(out), run)
        idle = check_overrides(given, results, earlier)
        judged = what_was_judged(given, results, earlier)
    except ValueError as error:
        raise fail(f"{overrides}: {error}") from None
    try:
        now = {r.grade.exercise for r in results if r.grade} - {""}
        must_share_an_exercise(out, before, now)
    except ValueError as error:
        raise fail(str(error)) from None
    _write(out, {**run, "by_hand": judged}, results, given)
    for line in idle:
        print(f"look at: {overrides}, {line}", file=sys.stderr)
    return results


def _handed_in(submissions: Path, out: Path, roster: list["Person"]) -> list["Handed"]:
    """List what was handed in; reports that lie among it are no student's.

    Raises
    ------
    ValueError
        If there is nothing.
    """
    from seqattn.grading.classroom.folder import earlier_reports
    from seqattn.grading.classroom.roster import candidates
    from seqattn.grading.classroom.submissions import collect

    own = out.resolve()
    reports = [report.resolve() for report in earlier_reports(submissions)]
    if own.is_relative_to(submissions.resolve()):
        reports.append(own)
    if others := [str(report) for report in reports if report != own]:
        print(f"left out, as reports of gradings: {', '.join(others)}", file=sys.stderr)
    # Of a file its folder counts: links are not followed, least of all those that lead in a circle.
    files = [
        handed
        for handed in collect(submissions, lambda named: bool(candidates(named, roster)))
        for place in [handed.path.parent.resolve()]
        if not any(place.is_relative_to(report) for report in reports)
    ]
    if not files:
        raise ValueError(f"there are no files in {submissions}")
    return files


def _grade(files: list["Handed"], run: dict, out: Path, jobs: int) -> dict[str, "Grade"]:
    """Grade files, and tell of each."""
    from seqattn.grading.classroom.folder import (
        has_reports,
        held_run,
        judged_by_hand,
        save_run,
    )
    from seqattn.grading.classroom.run import WeakIsolationError, grade_all
    from seqattn.grading.grades import plain

    started = time.monotonic()

    def tell(done: int, total: int, handed: "Handed", grade: "Grade") -> None:
        spent = time.monotonic() - started
        result = grade.problem or f"{grade.points} of {grade.out_of}"
        result += f", {grade.pending} pending" if grade.pending else ""
        print(plain(f"[{done}/{total}, {spent:.0f} s] {handed.label}: {result}"), flush=True)

    try:
        if not has_reports(out):  # else it has to agree with them
            save_run(out, {**run, "by_hand": judged_by_hand(held_run(out), run)})
        return grade_all(
            files,
            run["seed"],
            out / ".graded",
            jobs=jobs,
            exercise=run["exercise"] or None,
            allow_weak=run["allow_weak"],
            tell=tell,
        )
    except WeakIsolationError as error:
        weak = f"isolation here is {error}; a class is not graded so unless you say --allow-weak"
        raise fail(weak) from None
    except KeyboardInterrupt:
        raise fail(f"what is graded is kept in {out}: the same command goes on") from None


def _write(out: Path, run: dict, results: list["Result"], given: "Overrides") -> None:
    """Write the reports, remove those of students who have none any more, and list them."""
    from seqattn.grading.classroom.folder import held_run, noted, prune, save_run
    from seqattn.grading.classroom.reports import all_reports, write_reports

    zero, book = run["absent_as_zero"], run["book"]
    files = all_reports(results, overrides=given, absent_as_zero=zero, book=book)
    held = held_run(out)
    known = noted(files, held.get("written"))
    # Noted before: what is written when this is interrupted is ours, too.
    save_run(out, {**held, "by_hand": run["by_hand"], "written": known})
    write_reports(out, files)
    prune(out, known, files)
    save_run(out, {**run, "written": noted(files)})


def _stopped(error: OSError, out: Path) -> typer.Exit:
    mend = "make room" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "mend that"
    return fail(
        f"stopped: {error.strerror or error}; what is graded is kept in {out}: {mend}, and the "
        "same command goes on"
    )


def _warn(results: list["Result"], absent_as_zero: bool) -> None:
    """Say aloud what a person must look at; nothing of it is hidden in a 0."""
    from seqattn.grading.classroom.overrides import ANOTHER_ANSWER

    unmatched = [r for r in results if r.person is None]
    pending = [r for r in results if r.grade and r.grade.pending]
    unread = [r for r in results if r.grade and r.grade.problem]
    for many, what in (
        (unmatched, "files fit nobody on the roster, or several people"),
        (unread, "files could not be graded"),
        (pending, "notebooks have points pending: run the command again, with less beside it"),
    ):
        if many:
            print(f"look at: {len(many)} {what}", file=sys.stderr)
    flags = [flag for r in results if r.grade for flag in r.grade.flags]
    notes = [note for r in results if r.grade for note in r.grade.notes]
    if others := sum(ANOTHER_ANSWER in flag for flag in flags):
        said = "answers are not those that points by hand were given to"
        print(f"look at: {others} {said}", file=sys.stderr)
    if several := sum(note.startswith("duplicate: ") for note in notes):
        said = "rows are of a student who handed in several files for the exercise"
        print(f"look at: {several} {said}", file=sys.stderr)
    absent = sum(r.is_absent for r in results)
    if absent_as_zero and absent and unmatched:
        owners = f"though {len(unmatched)} files have no owner"
        print(f"look at: {absent} people got 0 as absent, {owners}", file=sys.stderr)
    if pending:
        raise typer.Exit(1)
