"""The commands that check and grade exercises."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seqattn.grading.verdicts import Grade

__all__ = ["register"]

Notebook = Annotated[Path, typer.Argument(help="An exercise notebook, with your answers.")]
Notebooks = Annotated[
    list[Path],
    typer.Argument(help="Exercise notebooks, or folders of them (one for each learner)."),
]
Seed = Annotated[str | None, typer.Option(help="Repeat the grading that was told this seed.")]
Out = Annotated[
    Path | None, typer.Option(help="Folder for grades.csv, and JSON and a page for each notebook.")
]


def register(app: typer.Typer) -> None:
    """Add ``check`` and ``grade``."""
    app.command()(check)
    app.command()(grade)


def check(notebook: Notebook) -> None:
    """Run the checks that you can see, in a fresh kernel. Your file is not changed."""
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
    from seqattn.grading.report import as_csv, as_html, as_json, as_text

    files = _collect(notebooks)
    grades = []
    with Judge(seed) as judge:
        for number, file in enumerate(files, start=1):
            found = judge.grade(file)
            grades.append(found)
            print(as_text(found) if out is None else _line(found, number, len(files)), flush=True)
            if out is not None:
                stem = _unique(file, files)
                _write(out / f"{stem}.json", as_json(found))
                _write(out / f"{stem}.html", as_html(found))
    if out is not None:
        _write(out / "grades.csv", as_csv(grades))
        print(f"{out / 'grades.csv'}: {len(grades)} notebooks, seed {judge.seed}")
    if any(g.problem or any(v.verdict == "grader_error" for v in g.verdicts) for g in grades):
        raise typer.Exit(1)


def _line(found: "Grade", number: int, total: int) -> str:
    result = found.problem or f"{found.points} of {found.out_of}"
    return f"[{number}/{total}] {found.file}: {result}"


def _collect(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        _must_exist(path)
        files += _notebooks(path) if path.is_dir() else [path]
    if not files:
        raise _fail(f"there are no files in {', '.join(map(str, paths))}")
    return files


def _notebooks(folder: Path) -> list[Path]:
    """List what was handed in, without what Jupyter and the system keep beside it."""
    inside = (p for p in sorted(folder.rglob("*")) if p.is_file() or p.is_symlink())
    return [p for p in inside if not any(x.startswith(".") for x in p.relative_to(folder).parts)]


def _unique(file: Path, files: list[Path]) -> str:
    """Name a report after its notebook, and after the folder where names repeat."""
    twins = [f for f in files if f.stem == file.stem]
    return file.stem if len(twins) == 1 else "-".join([*file.parts[-3:-1], file.stem]).strip("/")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise _fail(f"there is no {path}")


def _fail(message: str) -> typer.Exit:
    print(f"seqattn: {message}", file=sys.stderr)
    return typer.Exit(2)
