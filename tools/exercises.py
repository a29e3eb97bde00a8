"""From ``solutions/NN_name.py`` to the solution, the exercise that learners get, and its bank.

``python -m tools.exercises [NN ...]`` writes three files for each exercise:

- ``solutions/NN_name.ipynb``: with answers, run, its outputs stored;
- ``exercises/NN_name.ipynb``: with stubs, never run;
- ``seqattn/grading/banks/NN_name.bank``: questions, oracles and known mistakes, packed.

Running it twice changes nothing.
"""

import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat

from seqattn.grading.answers import digest_of, marker
from seqattn.grading.bank import Exercise, Question, pack
from tools.notebooks import execute, read_source, write

__all__ = ["Made", "drift", "make"]

ROOT = Path(__file__).resolve().parents[1]
ANSWER = re.compile(
    r"^(?P<indent>[ ]*)# BEGIN ANSWER(?: stub: (?P<stub>[^\n]*))?\n"
    r"(?P<code>.*?)^[ ]*# END ANSWER\n?",
    re.MULTILINE | re.DOTALL,
)


class Made:
    """What one source gives.

    Attributes
    ----------
    solution, exercise : NotebookNode
        The notebooks; the solution has not been run.
    bank : bytes
        Packed.
    """

    def __init__(self, solution: Any, exercise: Any, bank: bytes):
        self.solution, self.exercise, self.bank = solution, exercise, bank


def sources(only: list[str] | None = None) -> list[Path]:
    """List the sources of the exercises, all or those that begin with a given prefix."""
    found = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))
    return [p for p in found if not only or p.name.startswith(tuple(only))]


def make(source: Path) -> Made:
    """Make the notebooks and the bank of a source.

    Raises
    ------
    ValueError
        If source and bank do not fit each other.
    """
    bank_path = source.with_name(f"bank_{source.name}")
    bank_text = bank_path.read_text(encoding="utf-8")
    space: dict[str, Any] = {"__name__": source.stem}
    exec(compile(bank_text, str(bank_path), "exec"), space)
    known: Exercise = space["EXERCISE"]

    solution, exercise = read_source(source), read_source(source)
    asked = [c.metadata["question"] for c in solution.cells if "question" in c.metadata]
    if asked != [q.id for q in known.questions]:
        raise ValueError(
            f"{source.name} asks {asked}; its bank has other questions or another order"
        )
    pristine = {}
    _narrow([*solution.cells, *exercise.cells])
    for with_answer, stub in zip(solution.cells, exercise.cells, strict=True):
        for cell in (with_answer, stub):
            _move_metadata(cell)
        question = stub.metadata.get("seqattn", {}).get("question")
        if question:
            q = known.question(question)
            with_answer.source = f"{marker(q)}\n" + _with_answer(with_answer.source)
            stub.source = f"{marker(q)}\n" + _without_answer(stub.source, q)
            # The same cell in both, whatever is in it.
            with_answer.id = stub.id = f"{source.stem[:2]}-{question}"
            pristine[question] = {
                "cell_id": stub.id,
                "source": stub.source,
                "key": digest_of(with_answer.source),
            }
        elif question := stub.metadata.get("seqattn", {}).get("check"):
            pristine[question]["check"] = stub.source
        elif ANSWER.search(stub.source):
            # An experiment: nobody looks for it, but learners are not to be given it.
            with_answer.source = _with_answer(with_answer.source)
            stub.source = _without_answer(stub.source, None)
    for cell in exercise.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    text = "\n".join(cell.source for cell in exercise.cells)
    release = hashlib.sha256(text.encode()).hexdigest()[:12]
    for notebook in (solution, exercise):
        notebook.metadata.seqattn["exercise"] = source.stem
        notebook.metadata.seqattn["release"] = release
    return Made(solution, exercise, pack(bank_text, pristine, release))


def _narrow(cells: list[Any]) -> None:
    """Format what surrounds the answers for the page, whose column of code has room for less."""
    cells = [c for c in cells if c.cell_type == "code" and not ANSWER.search(c.source)]
    chapters = ROOT / "chapters" / "ruff.toml"
    between = "\n\n# the next cell\n"
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--config", chapters, "-"],
        input=between.join(c.source for c in cells),
        capture_output=True,
        text=True,
        check=True,
    )
    for cell, text in zip(cells, done.stdout.split(between.strip("\n")), strict=True):
        cell.source = text.strip("\n")


def _move_metadata(cell: Any) -> None:
    """Keep our keys in one place, out of the way of other tools'."""
    own = {k: cell.metadata.pop(k) for k in ("question", "check") if k in cell.metadata}
    if own:
        cell.metadata["seqattn"] = own


def _with_answer(source: str) -> str:
    return ANSWER.sub(lambda match: match["code"], source).rstrip("\n")


def _without_answer(source: str, q: Question | None) -> str:
    if q and not ANSWER.search(source):
        raise ValueError(f"{q.id} has no lines between BEGIN ANSWER and END ANSWER")

    def stub(match: re.Match) -> str:
        todo = f'raise NotImplementedError("{q.id}: {q.entry}")' if q else "..."
        line = match["stub"] or todo
        return f"{match['indent']}{line}\n"

    return ANSWER.sub(stub, source).rstrip("\n")


def paths(source: Path) -> tuple[Path, Path, Path]:
    """Give where the solution, the exercise and the bank of a source go."""
    name = source.stem
    bank = ROOT / "seqattn" / "grading" / "banks" / f"{name}.bank"
    return source.with_suffix(".ipynb"), ROOT / "exercises" / f"{name}.ipynb", bank


def drift(source: Path) -> list[str]:
    """Say which generated files are not what their source gives."""
    made = make(source)
    solution, exercise, bank = paths(source)
    stale = []
    if not bank.is_file() or bank.read_bytes() != made.bank:
        stale.append(bank)
    for path, fresh in ((solution, made.solution), (exercise, made.exercise)):
        stored = nbformat.read(path, as_version=4) if path.is_file() else None
        if stored is None or _essence(stored) != _essence(fresh):
            stale.append(path)
    again = f"run `make exercises ONLY={source.name[:2]}`"
    return [f"{path.relative_to(ROOT)} is older than {source.name}: {again}" for path in stale]


def _essence(notebook: Any) -> list:
    cells = [(c.id, c.cell_type, c.source, dict(c.metadata)) for c in notebook.cells]
    return [*cells, dict(notebook.metadata.seqattn)]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Make notebooks and banks from solutions/.")
    parser.add_argument("only", nargs="*", help="exercise numbers, such as 03")
    chosen = sources(parser.parse_args().only)
    if not chosen:
        sys.exit(f"no exercise begins with that in {ROOT / 'solutions'}")
    for source in chosen:
        made = make(source)
        solution, exercise, bank = paths(source)
        for folder in (exercise.parent, bank.parent):
            folder.mkdir(exist_ok=True)
        bank.write_bytes(made.bank)
        write(made.exercise, exercise)
        write(execute(made.solution), solution)
        print(f"{source.stem}: solution, exercise and bank written")


if __name__ == "__main__":
    main()
