"""The folder of a class's reports: who writes into it, what it is of, and what was written there.

``run.json`` says what the grading was told and what it wrote. It is saved before anything is graded
where there are no reports yet, so that an interrupted grading goes on with its seed, and otherwise
after the reports: it always agrees with them.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seqattn.grading.classroom.overrides import Judged, earlier_judged
from seqattn.grading.grades import write_whole
from seqattn.locking import LOCK, locked

__all__ = [
    "BusyError",
    "alone",
    "earlier_reports",
    "has_reports",
    "held_run",
    "is_for_reports",
    "judged_by_hand",
    "load_run",
    "must_be_of",
    "prune",
    "save_run",
]

# What a grading is told, and what it takes where nothing is said; the first two must be there.
TOLD = {
    "submissions": "",
    "seed": "",
    "roster": "",
    "exercise": "",
    "allow_weak": False,
    "absent_as_zero": False,
    "book": "",
}
PER_STUDENT = ("students", "feedback", "gradescope")
# What stands in the folder for each student, and is removed when nobody has it any more.
OF_A_STUDENT = re.compile(
    r"(students/NAME\.json|gradescope/NAME/results\.json|feedback/NAME\.html)".replace(
        "NAME", r"[^/\\.][^/\\]*"
    )
)


def save_run(out: Path, run: dict) -> None:
    """Keep what a grading was told, so that it can be done again; on a full disk, keep the last."""
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "run.json", json.dumps(run, indent=1) + "\n")


def load_run(folder: Path) -> dict:
    """Read what a grading was told.

    Raises
    ------
    ValueError
        If the folder holds no report of a class.
    """
    path = folder / "run.json"
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        run = {**TOLD, **run}
        for name, usual in TOLD.items():
            if not isinstance(run[name], type(usual)):
                raise TypeError
        if not (run["submissions"] and run["seed"]):
            raise ValueError
    except (OSError, ValueError, TypeError, RecursionError):
        what = "cannot be read" if path.exists() else "is missing"
        raise ValueError(f"{folder} holds no report of grade-class: {path} {what}") from None
    return run


def held_run(out: Path) -> dict:
    """Read what the grading in a folder was told; nothing where there was none."""
    try:
        return load_run(out)
    except ValueError:
        return {}


def judged_by_hand(*runs: dict) -> list[Judged]:
    """Put together which answers points by hand were given to; the last grading knows best."""
    found = {one[:3]: one for run in runs for one in earlier_judged(run.get("by_hand"))}
    return [*found.values()]


def has_reports(out: Path) -> bool:
    """Tell a folder with reports from one in which a grading has only begun, or none."""
    return any((out / name).exists() for name in ("grades.csv", "summary.html", *PER_STUDENT))


def is_for_reports(out: Path) -> bool:
    """Tell whether a folder is new, empty, or one in which a grading has been."""
    own = {LOCK, "overrides.csv"}
    return not out.exists() or {p.name for p in out.iterdir()} <= own or bool(held_run(out))


def earlier_reports(submissions: Path) -> list[Path]:
    """Find the reports on what was handed in that lie among it: they are no student's.

    A folder that says so of other submissions, which are still there, is not passed over: a student
    may have made it.
    """
    found = []
    for path in sorted(submissions.rglob("run.json")):
        if path.parent != submissions and (path.parent / ".graded").is_dir():
            held = held_run(path.parent)
            here = held and held["submissions"] == str(submissions.resolve())
            moved = held and not Path(held["submissions"]).exists() and has_reports(path.parent)
            if here or moved:
                found.append(path.parent)
    return found


def must_be_of(out: Path, *runs: dict) -> None:
    """Refuse a folder with reports on something else: points given by hand would go to strangers.

    Parameters
    ----------
    out : Path
        The folder.
    *runs : dict
        Gradings, with one of which it may agree.

    Raises
    ------
    ValueError
        If it agrees with none, or does not say what it holds; the message says what it holds.
    """
    if not has_reports(out) and not (out / "overrides.csv").is_file():
        return
    try:
        held = load_run(out)
    except ValueError:
        if not has_reports(out):
            return  # points that were written down before the first grading
        raise ValueError(
            f"{out} holds files with the names of reports, and no run.json that says what they are "
            "of: name another folder with -o"
        ) from None

    def agrees(run: dict) -> bool:
        return all(held[key] == run[key] for key in ("submissions", "exercise"))

    if not any(map(agrees, runs)):
        only = f", exercise {held['exercise']} alone" if held["exercise"] else ""
        mend = "name another folder with -o"
        if any(held["submissions"] == run["submissions"] for run in runs):
            said = f"with --exercise {held['exercise']}" if only else "without --exercise"
            mend = f"grade {said} again, or {mend} (--seed {held['seed']} gives the same cases)"
        elif not Path(held["submissions"]).exists():
            mend += f"; if they only moved, `seqattn regrade --diff {out}` has --submissions"
        holds = "holds the reports on" if has_reports(out) else "was begun for"
        raise ValueError(f"{out} {holds} {held['submissions']}{only}: {mend}")
    if held["roster"] and not any(run["roster"] for run in runs):
        raise ValueError(
            f"{out} was graded with --roster {held['roster']}: name it again, or another folder "
            "with -o"
        )


class BusyError(Exception):
    """Another grading writes into the folder."""


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keep the folder for one grading while it writes there.

    Raises
    ------
    BusyError
        If another has it.
    """
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    busy = f"another grading writes into {out}: wait for it, or name another folder with -o"
    with locked(out, BusyError(busy)):
        try:
            yield
        finally:
            if made and [path.name for path in out.iterdir()] == [LOCK]:
                # Refused before anything was written: nothing is left behind.
                with suppress(OSError):
                    (out / LOCK).unlink()
                    out.rmdir()


def prune(out: Path, before: object, now: list[str]) -> None:
    """Remove what an earlier grading wrote for students who do not have it any more.

    Parameters
    ----------
    out : Path
        The folder.
    before : list of str
        Files below the folder, as ``run.json`` lists them. What is not in it stays, and so does
        what was changed since it was written, lies outside the folder, or has another name than
        such files have.
    now : list of str
        Files that were written now.
    """
    # By what the disk calls them: where it knows no case, an old name may be that of a new file.
    kept = {_identity(path) for name in now if (path := out / name).is_file()}
    record = out / "run.json"
    written = record.stat().st_mtime_ns if record.is_file() else 0
    for name in before if isinstance(before, list) else ():
        if not (isinstance(name, str) and OF_A_STUDENT.fullmatch(name)):
            continue
        path = out / name
        inside = path.resolve().is_relative_to(out.resolve())
        if not inside or path.is_symlink() or not path.is_file():
            continue
        if _identity(path) in kept:
            continue
        if path.stat().st_mtime_ns > written:  # somebody wrote into it
            continue
        path.unlink()
        if path.name == "results.json" and not any(path.parent.iterdir()):
            path.parent.rmdir()


def _identity(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_dev, about.st_ino
