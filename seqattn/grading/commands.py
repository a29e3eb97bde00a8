"""The commands that check and grade exercises."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqattn.console import INSTRUCTORS, LEARNERS, fail, must_exist
from seqattn.grading.classroom import commands as classroom
from seqattn.grading.classroom.commands import Book, must_be_an_address

if TYPE_CHECKING:
    from seqattn.grading.grades import Grade

__all__ = ["register"]

Notebook = Annotated[Path, typer.Argument(help="An exercise notebook, with your answers.")]
Notebooks = Annotated[list[Path], typer.Argument(help="Exercise notebooks, with your answers.")]
Seed = Annotated[
    str | None,
    typer.Option(help="Draw the hidden cases from this seed, which an earlier grading printed."),
]
Out = Annotated[Path | None, typer.Option(help="Folder for each notebook's page, and its JSON.")]
Name = Annotated[str, typer.Argument(help="An exercise, as 03_additive or exercises/03.")]


def register(app: typer.Typer) -> None:
    """Add the commands for learners, authors and instructors."""
    for command in (check, grade, progress):
        app.command(rich_help_panel=LEARNERS)(command)
    app.command(rich_help_panel=INSTRUCTORS)(audit)
    classroom.register(app)


def check(notebook: Notebook) -> None:
    """Run the checks that you can see, in a fresh process. Your file is not changed."""
    from seqattn.grading.answers import exercise_of, no_exercise
    from seqattn.grading.bank import knows_answers, load
    from seqattn.grading.notebook import UnreadableError, read_submission
    from seqattn.grading.self_check import as_text, run_checks

    must_exist(notebook)
    try:
        submission = read_submission(notebook)
        name = exercise_of(submission)
        if name is None:
            raise fail(f"{notebook}: {no_exercise(submission)}")
        exercise = load(name)
        checks = run_checks(notebook, exercise)
    except UnreadableError as error:
        raise fail(f"{notebook}: {error}") from None
    right = sum(c.state == "right" for c in checks)
    print(f"{notebook.name}: {exercise.title}, {right} of {len(checks)} look right\n")
    print(as_text(checks))
    if right == len(checks):
        print(f"\nNext: {f'seqattn grade {notebook}' if knows_answers() else 'hand it in'}")
    raise typer.Exit(right < len(checks))


def grade(notebooks: Notebooks, seed: Seed = None, out: Out = None, book: Book = "") -> None:
    """Grade answers: points, and a hint for each miss. Your files are not changed.

    A hint names the mistake where it is a known one. Answers are tried on hidden cases in a process
    that can do nothing but compute; the notebook itself is not run. A page with all of it, your
    answers included, is written beside the notebook.
    """
    from seqattn.grading.bank import must_know_answers
    from seqattn.grading.grades import as_text
    from seqattn.grading.judge import Judge

    for notebook in notebooks:
        must_exist(notebook)
        if notebook.is_dir():
            raise fail(f"{notebook} is a folder: grade-class grades folders, progress your own")
    must_know_answers()
    must_be_an_address(book)
    grades: list[Grade] = []
    with Judge(seed) as judge:
        for notebook in notebooks:
            found = judge.grade(notebook)
            grades.append(found)
            print(as_text(found), flush=True)
            _write_page(notebook, found, out, book)
    if any(g.problem or g.pending for g in grades):
        raise typer.Exit(1)


def _write_page(notebook: Path, found: "Grade", out: Path | None, book: str = "") -> None:
    """Write the feedback page, with ``--out`` the record too; where that fails the grade stands."""
    from seqattn.grading.feedback import write_page

    if out is None and (notebook.is_symlink() or not notebook.is_file()):
        return
    try:
        page = write_page(notebook, found, out, book)
    except OSError as error:
        where = out or notebook.parent
        said = (
            f"seqattn: no page was written in {where} ({error.strerror or error}); the grade stands"
        )
        print(f"{said}, and --out FOLDER puts its page elsewhere", file=sys.stderr)
        return
    print(f"Page: {page}", flush=True)


def progress(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Where your exercise notebooks lie.", show_default="exercises"),
    ] = None,
) -> None:
    """Show all exercises with the points that your notebooks earn now."""
    from seqattn.grading.bank import NoKeysError
    from seqattn.grading.progress import as_text
    from seqattn.grading.progress import progress as lines

    if folder is None:
        # Behind `!`, and in a terminal that opens beside a notebook, one stands a folder deeper.
        places = (Path("exercises"), Path("../exercises"))
        folder = next((place for place in places if place.is_dir()), places[0])
    must_exist(folder)
    if not folder.is_dir():
        raise fail(f"{folder} is a file; `seqattn grade` shows its points, progress wants a folder")
    try:
        print(as_text(lines(folder)))
    except NoKeysError as error:
        raise fail(str(error)) from None


def audit(
    exercise: Name,
    seeds: Annotated[int, typer.Option(min=1, help="On how many seeds to try each answer.")] = 1,
) -> None:
    """Try every answer that an exercise's bank knows; print which stage catches which."""
    from seqattn.grading.audit import as_text
    from seqattn.grading.audit import audit as rows
    from seqattn.grading.bank import exercises, must_know_answers

    must_know_answers()
    wanted = Path(exercise).stem
    name = next((e for e in exercises() if e.startswith(wanted)), None)
    if name is None:
        raise fail(f"no exercise begins with {wanted}; there are: {', '.join(exercises())}")
    found = rows(name, seeds)
    print(as_text(name, found))
    raise typer.Exit(not all(r.good for r in found))
