"""The commands that check and grade exercises."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqattn.grading.classroom import commands as classroom

if TYPE_CHECKING:
    from seqattn.grading.verdicts import Grade

__all__ = ["register"]

Notebook = Annotated[Path, typer.Argument(help="An exercise notebook, with your answers.")]
Notebooks = Annotated[list[Path], typer.Argument(help="Exercise notebooks, with your answers.")]
Seed = Annotated[str | None, typer.Option(help="Repeat the grading that was told this seed.")]
Out = Annotated[Path | None, typer.Option(help="Folder for JSON and a page for each notebook.")]
Name = Annotated[str, typer.Argument(help="An exercise, as 03_additive or exercises/03.")]


def register(app: typer.Typer) -> None:
    """Add the commands for learners, authors and instructors."""
    for command in (check, grade, progress, audit):
        app.command()(command)
    classroom.register(app)


def check(notebook: Notebook) -> None:
    """Run the checks that you can see, in a fresh process. Your file is not changed."""
    from seqattn.grading.bank import load
    from seqattn.grading.checks import as_text, run_checks
    from seqattn.grading.matching import match
    from seqattn.grading.reading import UnreadableError, read_submission

    _must_exist(notebook)
    try:
        name = match(read_submission(notebook))
        if name is None:
            raise _fail(f"{notebook}: none of its cells belongs to an exercise of this course")
        exercise = load(name)
        checks = run_checks(notebook, exercise)
    except UnreadableError as error:
        raise _fail(f"{notebook}: {error}") from None
    right = sum(c.state == "right" for c in checks)
    print(f"{notebook.name}: {exercise.title}, {right} of {len(checks)} look right\n")
    print(as_text(checks))
    if right == len(checks):
        print(f"\nNext: seqattn grade {notebook}")
    raise typer.Exit(right < len(checks))


def grade(notebooks: Notebooks, seed: Seed = None, out: Out = None) -> None:
    """Grade answers: points, and for each miss the mistake by name. Your files are not changed.

    Answers are tried on hidden cases in a process that can do nothing but compute; the notebook
    itself is not run.
    """
    from seqattn.grading.judge import Judge
    from seqattn.grading.report import as_html, as_json, as_text

    for notebook in notebooks:
        _must_exist(notebook)
        if notebook.is_dir():
            raise _fail(f"{notebook} is a folder: grade-class grades folders, progress your own")
    grades: list[Grade] = []
    with Judge(seed) as judge:
        for notebook in notebooks:
            found = judge.grade(notebook)
            grades.append(found)
            print(as_text(found), flush=True)
            if out is not None:
                out.mkdir(parents=True, exist_ok=True)
                (out / f"{notebook.stem}.json").write_text(as_json(found), "utf-8", "replace")
                (out / f"{notebook.stem}.html").write_text(as_html(found), "utf-8", "replace")
    if any(g.problem or g.pending for g in grades):
        raise typer.Exit(1)


def progress(
    folder: Annotated[Path, typer.Argument(help="Where your exercise notebooks lie.")] = Path(
        "exercises"
    ),
) -> None:
    """Show all exercises with the points that your notebooks earn now."""
    from seqattn.grading.progress import as_text
    from seqattn.grading.progress import progress as lines

    _must_exist(folder)
    print(as_text(lines(folder)))


def audit(
    exercise: Name,
    seeds: Annotated[int, typer.Option(help="On how many seeds to try each answer.")] = 1,
) -> None:
    """Try every answer that an exercise's bank knows; print which stage catches which."""
    from seqattn.grading.audit import as_text
    from seqattn.grading.audit import audit as rows
    from seqattn.grading.bank import exercises

    wanted = Path(exercise).stem
    name = next((e for e in exercises() if e.startswith(wanted)), None)
    if name is None:
        raise _fail(f"no exercise begins with {wanted}; there are: {', '.join(exercises())}")
    found = rows(name, seeds)
    print(as_text(name, found))
    raise typer.Exit(not all(r.good for r in found))


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise _fail(f"there is no {path}")


def _fail(message: str) -> typer.Exit:
    print(f"seqattn: {message}", file=sys.stderr)
    return typer.Exit(2)
