"""The folder of a class's reports: who writes into it, what it is of, and what was written there.

``run.json`` says what the grading was told and what it wrote. It is saved before anything is graded
where there are no reports yet, so that an interrupted grading goes on with its seed, and otherwise
after the reports: it always agrees with them. What is going to be written is noted before.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seqattn.grading.classroom.overrides import Judged, earlier_judged
from seqattn.grading.classroom.tables import is_overrides, saved_again
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
    "must_be_as_written",
    "must_be_of",
    "must_be_of_class",
    "must_share_an_exercise",
    "noted",
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
FOR_THE_CLASS = (
    *("grades.csv", "questions.csv", "moodle.csv", "junit.xml", "summary.html", "similar.csv"),
    "changes.txt",
)
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
        if isinstance(listed := run.get("written"), list):
            run["written"] = _noted_by_name(path, listed)
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
    return bool(_reports_in(out))


def _reports_in(out: Path) -> list[str]:
    return [name for name in (*FOR_THE_CLASS, *PER_STUDENT) if (out / name).exists()]


def is_for_reports(out: Path) -> bool:
    """Tell whether a folder is new, empty, or one in which a grading has been."""
    if not out.exists() or held_run(out):
        return True
    return all(path.name == LOCK or is_overrides(path.name) for path in out.iterdir())


def earlier_reports(submissions: Path) -> list[Path]:
    """Find the reports on what was handed in that lie among it: they are no student's.

    A folder that says so of other submissions, which are still there, is not passed over: a student
    may have made it.
    """
    found = []
    for path in sorted(submissions.rglob("run.json")):
        # A copy may lack what is hidden, and a grading that only began has nothing else.
        written = has_reports(path.parent)
        if path.parent != submissions and (written or (path.parent / ".graded").is_dir()):
            held = held_run(path.parent)
            here = held and held["submissions"] == str(submissions.resolve())
            moved = held and not Path(held["submissions"]).exists() and written
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
    held, there = held_run(out), _reports_in(out)
    if there and not held:
        raise ValueError(
            f"{out} holds {there[0]}, and no run.json that says what it is of: name another folder "
            "with -o"
        )
    if not held:
        if (out / "run.json").exists():
            raise ValueError(f"{out / 'run.json'} is of no grading: name another folder with -o")
        return  # it is new, or points were written down before the first grading
    if not there and not (out / "overrides.csv").is_file():
        return

    def agrees(run: dict) -> bool:
        return all(held[key] == run[key] for key in ("submissions", "exercise"))

    if not any(map(agrees, runs)):
        only = f", exercise {held['exercise']} alone" if held["exercise"] else ""
        mend = "name another folder with -o"
        if any(held["submissions"] == run["submissions"] for run in runs):
            said = f"with --exercise {held['exercise']}" if only else "without --exercise"
            mend = f"grade {said} again, or {mend} (--seed {held['seed']} gives the same cases)"
        else:
            again = Path(held["submissions"]).exists()
            when = "the same class handed in again" if again else "they only moved"
            mend += f"; if {when}, `seqattn regrade --diff {out}` has --submissions"
        holds = "holds the reports on" if has_reports(out) else "was begun for"
        raise ValueError(f"{out} {holds} {held['submissions']}{only}: {mend}")
    if held["roster"] and not any(run["roster"] for run in runs):
        raise ValueError(
            f"{out} was graded with --roster {held['roster']}: name it again, or another folder "
            "with -o"
        )


def must_be_as_written(out: Path) -> None:
    """Refuse to write over what a person wrote into a report on the class.

    Raises
    ------
    ValueError
        With the file that was changed.
    """
    written = _noted_before(held_run(out).get("written"))
    for name in FOR_THE_CLASS:
        path = out / name
        if name not in written or not path.is_file():
            continue
        content = path.read_bytes()
        texts = [content]
        if path.suffix == ".csv":  # a spreadsheet that only saved it again changed nothing
            texts += [text.encode() for text in saved_again(content)]
        if not any(_digest(text) in written[name] for text in texts):
            raise ValueError(
                f"{path} was changed since it was written, and would be written anew: move it away "
                f"(points by hand belong in {out / 'overrides.csv'}), and give the command again"
            )


def must_be_of_class(out: Path, reported: set[str], roster: set[str], named: str) -> None:
    """Refuse a roster on which hardly anybody stands who has reports: it is of another class.

    Parameters
    ----------
    out : Path
        The folder.
    reported, roster : set of str
        Ids of those who have reports there, and of those on the roster.
    named : str
        Where the roster lies.

    Raises
    ------
    ValueError
        If fewer than half stand there; the message says which roster was theirs.
    """
    was, still = held_run(out).get("roster"), len(reported & roster)
    if was and 2 * still < len(reported):
        then = f"it was graded with --roster {was}: name theirs"
        if was == named:
            ids = ", ".join(sorted(reported - roster)[:3])
            then = f"that had other people or ids then ({ids}): put them back"
        raise ValueError(
            f"{out} holds reports on {len(reported)} students, of whom {still} are on {named}; "
            f"{then}, or name another folder with -o"
        )


def must_share_an_exercise(out: Path, reported: set[str], found: set[str]) -> None:
    """Refuse to write over reports on other exercises: the same folder has been filled anew.

    Parameters
    ----------
    out : Path
        The folder of the reports.
    reported, found : set of str
        Exercises on which there are reports, and those that were handed in now.

    Raises
    ------
    ValueError
        If they have none in common.
    """
    if reported and found and reported.isdisjoint(found):
        was, now = (", ".join(sorted(names)) for names in (reported, found))
        raise ValueError(
            f"{out} holds reports on {was}, and what was handed in now is {now}: name another "
            "folder with -o"
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


def noted(files: dict[str, str], before: object = None) -> dict[str, list[str]]:
    """Note files by what stands in them, with what stood in them before, for ``run.json``."""
    found = _noted_before(before)
    for name, text in files.items():
        found.setdefault(name, []).append(_digest(text.encode(errors="replace")))
    return found


def _noted_before(kept: object) -> dict[str, list[str]]:
    """Read what ``run.json`` keeps of files; what makes no sense there is nothing."""
    pairs = kept.items() if isinstance(kept, dict) else ()
    return {name: [*texts] for name, texts in pairs if isinstance(texts, list)}


def _noted_by_name(record: Path, listed: list) -> dict[str, list[str]]:
    """Note files of which an earlier release kept the names; what is newer is somebody's own."""
    last = record.stat().st_mtime_ns
    files = {name: record.parent / name for name in listed if isinstance(name, str)}
    there = {name: path for name, path in files.items() if path.is_file()}
    there = {name: path for name, path in there.items() if path.stat().st_mtime_ns <= last}
    return {name: [_digest(path.read_bytes())] for name, path in there.items()}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def prune(out: Path, before: object, now: Collection[str]) -> None:
    """Remove what an earlier grading wrote for students who do not have it any more.

    Parameters
    ----------
    out : Path
        The folder.
    before : dict of str to list of str
        Files below the folder, as :func:`noted`. What is not in it stays, and so does what was
        changed since it was written, lies outside the folder, or has another name than such files
        have.
    now : collection of str
        Files that were written now.
    """
    # By what the disk calls them: where it knows no case, an old name may be that of a new file.
    kept = {_identity(path) for name in now if (path := out / name).is_file()}
    for name, texts in _noted_before(before).items():
        if not OF_A_STUDENT.fullmatch(name):
            continue
        path = out / name
        inside = path.resolve().is_relative_to(out.resolve())
        if not inside or path.is_symlink() or not path.is_file():
            continue
        if _identity(path) in kept:
            continue
        if _digest(path.read_bytes()) not in texts:  # somebody wrote into it
            continue
        path.unlink()
        if path.name == "results.json" and not any(path.parent.iterdir()):
            path.parent.rmdir()


def _identity(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_dev, about.st_ino
