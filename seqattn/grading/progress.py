"""How far a learner is: all exercises, with the points of the notebooks in a folder."""

from dataclasses import dataclass
from pathlib import Path

from seqattn.grading.answers import exercise_of
from seqattn.grading.bank import exercises, load, require_keys
from seqattn.grading.judge import Judge
from seqattn.grading.notebook import UnreadableError, read_submission

__all__ = ["Line", "as_text", "progress"]


@dataclass(frozen=True)
class Line:
    """An exercise and how far it is.

    Attributes
    ----------
    exercise, title : str
        Which one.
    file : str
        The notebook, "" if there is none.
    points, out_of : int
        What it earns now.
    open_ : list of str
        Questions that are not all right.
    """

    exercise: str
    title: str
    file: str
    points: float
    out_of: int
    open_: list[str]


def progress(folder: Path) -> list[Line]:
    """Grade the exercise notebooks in a folder; the best counts where there are several.

    Raises
    ------
    NoKeysError
        In the students' edition.
    """
    require_keys()
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.ipynb")):
        try:
            name = exercise_of(read_submission(path))
        except UnreadableError:
            continue
        if name:
            found.setdefault(name, []).append(path)
    lines = []
    with Judge() as judge:
        for name in exercises():
            known = load(name)
            grades = [(path, judge.grade(path)) for path in found.get(name, [])]
            if not grades:
                lines.append(Line(name, known.title, "", 0, known.points, []))
                continue
            path, best = max(grades, key=lambda g: g[1].points)
            left = [
                v.question + (" (not judged)" if v.pending else "")
                for v in best.verdicts
                if v.points < v.out_of
            ]
            lines.append(Line(name, known.title, path.name, best.points, known.points, left))
    return lines


def as_text(lines: list[Line]) -> str:
    """Write progress for a terminal, with a bar for each exercise."""
    width = max(len(line.title) for line in lines)
    rows = []
    for line in lines:
        filled = round(20 * line.points / line.out_of)
        left = f"  open: {', '.join(line.open_)}" if line.open_ else ""
        state = left if line.file else "  not begun"
        bar = "#" * filled + "." * (20 - filled)
        score = f"{line.points:>2}/{line.out_of}"
        rows.append(f"{line.exercise[:2]}  {line.title:{width}}  {bar}  {score}{state}")
    total, most = sum(x.points for x in lines), sum(x.out_of for x in lines)
    return "\n".join([*rows, f"{total} of {most} points"])
