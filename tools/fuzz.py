"""Hand in nonsense: ``python -m tools.fuzz [--seconds 600] [--seed 1]``.

Each round invents a class, much of it broken (:mod:`tools.broken_classes`), grades it as ``seqattn
grade-class`` does, and looks whether what must always hold does: a row for every student, a reason
for every miss, no traceback, bounded time and memory, nothing changed that was handed in, nobody's
files felt by anybody else, the same when it is done again. Most rounds use a judge that runs
nothing; some the real one. A round runs in a process of its own. What fails is kept, and its seed
printed: ``--seed SEED --rounds N:M`` repeats it.
"""

import argparse
import csv
import hashlib
import io
import json
import math
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import jsonschema
import typer

from seqattn.grading.answers import exercise_of, find_answer
from seqattn.grading.bank import exercises, load
from seqattn.grading.classroom import commands, run
from seqattn.grading.classroom.roster import candidates, find_person, read_roster
from seqattn.grading.classroom.submissions import collect
from seqattn.grading.grades import SCHEMA, Grade, Verdict, harmless, plain
from seqattn.grading.judge import Judge
from seqattn.grading.notebook import UnreadableError, read_submission
from seqattn.grading.sandbox.host import Limits
from tools.broken_classes import Class, Inventor

# Of processor time, for each file and grading; reading one must take seconds, whatever it is.
SECONDS_A_FILE = 15.0
# On the clock, for a round: what takes longer hangs.
PATIENCE = 20 * 60
MOST_MEMORY = 1536 * 2**20
# One round in so many is judged for real.
REAL = 40
SEED = "a seed that no page may show"


class BrokenError(AssertionError):
    """Something that must always hold does not."""


def must(holds: object, what: str) -> None:
    if not holds:
        raise BrokenError(what)


# --- a judge that runs nothing -------------------------------------------------------------------


class Stub(Judge):
    """Stands in for the judge: what an answer is worth is drawn from the answer itself."""

    def __init__(
        self, seed: str | None = None, limits: Limits | None = None, like: Judge | None = None
    ):
        self.seed = seed or ""
        self.sandbox = SimpleNamespace(isolation="full (nothing runs)", wait=lambda: None)

    def __enter__(self) -> "Stub":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def grade(self, path: Path, exercise: str | None = None) -> Grade:
        try:
            submission = read_submission(path)
        except UnreadableError as error:
            return Grade(path.name, "", f"unreadable: {error}", [], self.seed, "")
        name = exercise_of(submission)
        if name is None or (exercise and name != exercise):
            return Grade(path.name, "", "unmatched: of another exercise", [], self.seed, "")
        verdicts, answers = [], {}
        for q in load(name).questions:
            answer = answers[q.id] = find_answer(submission, load(name), q)
            if answer.state != "found":
                verdict, points, hint = answer.state, 0, answer.detail
            else:
                digest = hashlib.sha256(answer.code.encode("utf-8", "surrogatepass")).digest()
                points = digest[0] % (q.points + 1)
                verdict = "pass" if points == q.points else "partial" if points else "fail"
                hint = "" if verdict == "pass" else f"as drawn: {answer.code[:80]}"
                if digest[1] < 8:
                    verdict, points, hint = "not_judged", 0, "too busy"
            title, read = q.title, q.read
            verdicts.append(
                Verdict(q.id, title, verdict, points, q.points, hint, line=answer.line, read=read)
            )
        isolation = self.sandbox.isolation
        return Grade(path.name, name, "", verdicts, self.seed, isolation, answers=answers)


@contextmanager
def judged_by(judge: type) -> Iterator[None]:
    real, run.Judge = run.Judge, judge  # type: ignore[misc]
    try:
        yield
    finally:
        run.Judge = real  # type: ignore[misc]


# --- what must hold ------------------------------------------------------------------------------


def seqattn(*arguments: object) -> SimpleNamespace:
    """Run a command of ``seqattn`` in this process."""
    app = typer.Typer()
    commands.register(app)
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = app([*map(str, arguments)], standalone_mode=False)
    return SimpleNamespace(status=status or 0, out=out.getvalue(), err=err.getvalue())


def snapshot(folder: Path) -> dict[str, tuple]:
    """Note all that is in a folder: kinds, times and content."""
    found: dict[str, tuple] = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = b""
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        found[str(path)] = (about.st_mode, about.st_mtime_ns, about.st_size, digest)
    return found


def reports(out: Path) -> dict[str, bytes]:
    """Read what a grading wrote, but for what it keeps for itself."""
    files = (p for p in out.rglob("*") if p.is_file() and ".graded" not in p.parts)
    return {str(p.relative_to(out)): p.read_bytes() for p in files}


def rows_of(out: Path) -> list[dict[str, str]]:
    text = (out / "grades.csv").read_bytes().decode("utf-8")
    return list(csv.DictReader(io.StringIO(text, newline="")))


class Sound(HTMLParser):
    """A page with nothing in it that runs or is fetched, every element closed."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.feed(text)
        self.close()
        must(not self.open, f"a page leaves {self.open} open")

    def handle_starttag(self, tag: str, attributes: list) -> None:
        names = {name for name, _ in attributes}
        must(tag not in ("script", "img", "iframe", "object", "svg"), f"a page holds {tag}")
        must(not {n for n in names if n.startswith("on") or n == "src"}, f"{tag} has {names}")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        must(self.open and self.open.pop() == tag, f"a page closes {tag} where it is not open")


def look_at(made: Class, out: Path) -> None:
    """Check all reports of a grading."""
    rows = rows_of(out)
    handed = collect(made.folder)
    roster = read_roster(made.roster) if made.roster else []
    known = {row["student"] for row in rows}
    for person in roster:
        must(harmless(person.id) in known, f"{person.id!r} has no row")
    said = "\0".join(f"{row['file']}\0{row['notes']}" for row in rows)
    for one in handed:
        must(plain(one.label) in said, f"{one.label!r} is in no row")
    for row in rows:
        must(row["status"] in STATUSES, f"a row is {row['status']!r}")
        told = row["points"] or row["notes"] or row["status"] == "absent"
        must(told, f"no points and no reason: {row}")
    records = [json.loads(p.read_text("utf-8")) for p in (out / "students").glob("*.json")]
    must(len(records) == sum(row["status"] != "absent" for row in rows), "a record is missing")
    for record in records:
        jsonschema.validate(record, SCHEMA)
        for v in record["verdicts"]:
            must(v["points"] is None or 0 <= v["points"] <= v["out_of"], f"{v}")
            whole = v["points"] == v["out_of"] or v["verdict"] == "not_attempted"
            must(whole or v["hint"] or v["notes"], f"a miss without a reason: {v}")
    pages = list((out / "feedback").glob("*.html"))
    must(len(pages) == len(records), "a page is missing")
    for page in [*pages, out / "summary.html"]:
        text = page.read_text("utf-8")
        Sound(text)
        must(SEED not in text, f"{page.name} shows the seed")
        must("\x1b" not in text, f"{page.name} moves the cursor")
    ElementTree.fromstring((out / "junit.xml").read_bytes())
    for path in out.glob("*.csv"):
        if path.name == "overrides.csv":
            continue
        text = path.read_bytes().decode("utf-8")
        for cells in csv.reader(io.StringIO(text, newline="")):
            formulas = [c for c in cells if c.lstrip()[:1] in ("=", "+", "-", "@")]
            must(not formulas, f"{path.name} starts a formula: {formulas}")
    for path in (out / "gradescope").rglob("results.json"):
        results = json.loads(path.read_text("utf-8"))
        must(SEED not in json.dumps(results), "Gradescope shows the seed")
    for path in out.rglob("*"):
        must(not path.is_symlink() and path.suffix != ".part", f"{path} was left")


STATUSES = ("graded", "pending", "absent", "unreadable", "unmatched", "grader_error")


def alone(made: Class, rng: random.Random, root: Path, out: Path, jobs: int) -> None:
    """Grade one student's files without all others: the row stays what it is."""
    roster = read_roster(made.roster) if made.roster else []
    owners: dict[str, list] = {}
    handed = collect(made.folder, lambda named: bool(candidates(named, roster)))
    for one in handed:
        person, _ = find_person(one, roster)
        if person:
            owners.setdefault(person.id, []).append(one)
    if not owners:
        return
    who = rng.choice(sorted(owners))
    lone = root / "alone"
    others = {one.path for one in handed} - {one.path for one in owners[who]}
    places = {one.path.parent for one in owners[who]}
    # What lies beside a file may be its evidence, or the archive that it came from.
    for path in sorted(path for place in places for path in place.iterdir()):
        if path in others or (path.is_dir() and not path.is_symlink()):
            continue
        beside = lone / path.relative_to(made.folder)
        beside.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.is_file():
            shutil.copy2(path, beside, follow_symlinks=False)
        else:
            os.mkfifo(beside)
            shutil.copystat(path, beside)  # the newest of several files counts
    for path in made.folder.glob("submission_metadata.*"):
        if path.is_file() and not path.is_symlink():
            shutil.copy2(path, lone)
    done = grade(lone, made.roster, root / "out-alone", jobs)
    must(done.status in (0, 1), f"alone: {done.err}")

    def mine(folder: Path) -> list[dict]:
        rows = [r for r in rows_of(folder) if r["student"] == harmless(who)]
        # The class decides which exercises have columns.
        return [{k: v for k, v in row.items() if v} for row in rows]

    must(mine(root / "out-alone") == mine(out), f"{who!r} is graded otherwise alone")


def grade(folder: Path, roster: Path | None, out: Path, jobs: int) -> SimpleNamespace:
    more = ["--roster", roster] if roster else []
    return seqattn(
        "grade-class", folder, "-o", out, "-j", jobs, "--seed", SEED, "--allow-weak", *more
    )


def one_round(root: Path, seed: str, real: bool) -> None:
    """Invent a class, grade it, look."""
    rng = random.Random(seed)
    inventor = Inventor(rng)
    made = inventor.whole(root)
    before = snapshot(made.folder)
    first, second = root / "out", root / "again"
    done = grade(made.folder, made.roster, first, 1)
    must(snapshot(made.folder) == before, "what was handed in was changed")
    if done.status == 2:
        must(re.fullmatch(r"seqattn: .+", done.err.strip(), re.DOTALL), f"said: {done.err!r}")
        nothing = "there are no files" in done.err
        must(made.breakable or nothing, f"refused: {done.err}")
        must(not (first / "grades.csv").exists(), "refused, and graded all the same")
        return
    must(done.status in (0, 1), f"status {done.status}")
    look_at(made, first)
    stored = reports(first)
    grade(made.folder, made.roster, first, 1)
    must(reports(first) == stored, "grading again changed the reports")
    grade(made.folder, made.roster, second, 2)
    must(reports(second) == stored, "two jobs come to other reports than one")
    alone(made, rng, root, first, 1)
    must(snapshot(made.folder) == before, "what was handed in was changed")
    by_hand(made, inventor, first)


def by_hand(made: Class, inventor: Inventor, out: Path) -> None:
    """Give points by hand: all of them count, or none and the reason is said."""
    records = [json.loads(p.read_text("utf-8")) for p in (out / "students").glob("*.json")]
    table, given = inventor.overrides(sorted(records, key=lambda r: (r["student"], r["file"])))
    stored = reports(out)
    (out / "overrides.csv").write_bytes(table)
    done = grade(made.folder, made.roster, out, 1)
    if done.status == 2:
        must(given is None, f"points refused: {done.err}")
        must("overrides.csv" in done.err, f"said: {done.err!r}")
        (out / "overrides.csv").unlink()
        must(reports(out) == stored, "points were refused, and reports changed")
        return
    must((out / "overrides.csv").read_bytes() == table, "the table was changed")
    look_at(made, out)
    rows = {(row["student"], row["exercise"]): row for row in rows_of(out)}
    for (student, question), points in (given or {}).items():
        row = rows[harmless(student), question.partition(" ")[0]]
        must(float(row[question]) == float(points), f"{student!r} {question}: {points} not given")
        must("points given by hand" in row["notes"], f"{student!r} {question}: not marked")


# --- rounds --------------------------------------------------------------------------------------


def work(root: Path, seed: str, real: bool, answer: Any) -> None:
    """Run a round in a process of its own, and say what it cost or what is broken."""
    os.setpgid(0, 0)
    os.environ["TMPDIR"] = str(root / "tmp")
    (root / "tmp").mkdir(parents=True)
    tempfile.tempdir = None
    try:
        if real:
            one_round(root, seed, real)
        else:
            with judged_by(Stub):
                one_round(root, seed, real)
        files = sum(1 for p in (root / "in").rglob("*") if not p.is_dir())
        mine = time.process_time()
        must(mine < SECONDS_A_FILE * 5 * (files + 1), f"{mine:.0f} s for {files} files")
        memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        must(memory < MOST_MEMORY, f"{memory >> 20} MB")
        left = sorted(p.name for p in (root / "tmp").iterdir())
        must(not left, f"temporary files were left: {left}")
    except BaseException:
        answer.send(traceback.format_exc())
    else:
        answer.send(files)


@dataclass
class Result:
    """What came of fuzzing."""

    rounds: int = 0
    real: int = 0
    files: int = 0
    failed: list[str] = field(default_factory=list)


def fuzz(
    seconds: float,
    seed: str,
    *,
    folder: Path,
    first: int = 0,
    last: int | None = None,
    clock: float = math.inf,
    tell: Callable[[str], None] = lambda said: None,
) -> Result:
    """Run rounds for some processor time.

    Parameters
    ----------
    seconds : float
        How much, of this process and its children.
    seed : str
        Of all rounds.
    folder : Path
        Where classes are put; those of failed rounds stay.
    first, last : int
        Which rounds.
    clock : float
        Seconds on the clock after which no round begins.
    tell : callable
        Hears of each failure.
    """
    for name in exercises():
        load(name)  # before rounds are forked off
    context: Any = multiprocessing.get_context("fork")
    found, started, end = Result(), _spent(), time.monotonic() + clock
    number = first
    while _spent() - started < seconds and (last is None or number <= last):
        if time.monotonic() > end:
            break
        root = folder / f"round-{number}"
        shutil.rmtree(root, ignore_errors=True)
        # The second round is real, so that a short run has one.
        real = number % REAL == 1
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(root, f"{seed} {number}", real, theirs))
        process.start()
        theirs.close()
        try:
            said = ours.recv() if ours.poll(PATIENCE) else f"it hangs: {PATIENCE} s"
        except EOFError:
            said = "its process died"
        process.join(5)
        if process.is_alive():
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
        found.rounds += 1
        found.real += real
        if isinstance(said, int):
            found.files += said
            shutil.rmtree(root)
        else:
            again = f"python -m tools.fuzz --seed {seed} --rounds {number}:{number}"
            found.failed.append(f"round {number}, kept in {root}; again: {again}\n{said}")
            tell(found.failed[-1])
        number += 1
    return found


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600, help="of processor time")
    parser.add_argument("--minutes", type=float, default=math.inf, help="on the clock, at most")
    parser.add_argument("--seed", default=None, help="repeats the rounds that were told this seed")
    parser.add_argument("--rounds", default="", help="FIRST:LAST, to repeat some alone")
    parser.add_argument("--keep", type=Path, default=None, help="folder for what fails")
    arguments = parser.parse_args()
    seed = arguments.seed or f"{random.SystemRandom().getrandbits(32):08x}"
    first, _, last = arguments.rounds.partition(":")
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))
    print(f"seed {seed}, {arguments.seconds:g} s of processor time, in {folder}", flush=True)
    found = fuzz(
        arguments.seconds,
        seed,
        folder=folder,
        first=int(first or 0),
        last=int(last) if last else None,
        clock=60 * arguments.minutes,
        tell=lambda said: print(said, flush=True),
    )
    print(f"{found.rounds} rounds ({found.real} real), {found.files} files handed in, "
          f"{len(found.failed)} failed")  # fmt: skip
    if not found.failed and not arguments.keep:
        shutil.rmtree(folder)
    sys.exit(bool(found.failed))


if __name__ == "__main__":
    main()
