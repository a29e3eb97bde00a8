"""Hand in nonsense: ``python -m tools.fuzz [--seconds 600] [--seed 1]``.

Each round invents a class (folders, archives, notebooks, names, a roster, points given by hand),
breaks some of it, grades it as ``seqattn grade-class`` does, and looks whether what must always
hold does: a row for every student, a reason for every miss, no traceback, bounded time and memory,
nothing changed that was handed in, nobody's files felt by anybody else, the same when it is done
again. Most rounds use a judge that runs nothing; some the real one. A round runs in a process of
its own. What fails is kept, and its seed printed: ``--seed SEED --rounds N:M`` repeats it.
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
import zipfile
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
import yaml

from seqattn.grading.answers import exercise_of, find_answer
from seqattn.grading.bank import exercises, load
from seqattn.grading.classroom import commands, run
from seqattn.grading.classroom.roster import collect, find_person, read_roster
from seqattn.grading.judge import Judge
from seqattn.grading.notebook import UnreadableError, read_submission
from seqattn.grading.report import SCHEMA, Grade, Verdict, harmless, plain
from seqattn.grading.sandbox.jobs import Limits
from tools import hand_in

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


# --- inventing -----------------------------------------------------------------------------------

# fmt: off
WORDS = [
    *("", " ", "\n", "\r\n", "\t", "\0", "\ufeff", "\u2028", "\u202eabc", "\ud800", "\U0001f600"),
    *("é", "e\u0301", "\u0130", "ß", "\u6f22" * 30, "a" * 300, "=1+1", "@sum", "-1", "|x", "%d"),
    *("<script>alert(1)</script>", "]]>", "&amp;", "\x1b[2J", "{{ 7 * 7 }}", "{% raw %}", "${x}"),
    *("../up", "/etc/passwd", "C:\\x", "q1", "q99", "null", "NaN", "1e999", "0x10", "'", '"', ","),
    *(";", "ada", "Ada Lovelace", "ada@x.org", "# Question q1", "# Question q2 (4 points).", "%%"),
    "```",
]
CODES = [
    "(" * 3000, "x = " + "9" * 5000, "def f(:\n", "\t  \tx", "x = '\\N{nothing}'", "\x0c\x0b",
    "await x", "x = " + "-" * 5000 + "1", "x = " + "1+" * 4000 + "1", "x = a" + ".b" * 5000,
    "x = f" + "()" * 3000, "x = " + "[" * 90 + "1," * 2000 + "]" * 90,
    "if 1:\n if 1:\n  pass", "import " + "a." * 900 + "a",
    "\n".join(" " * n + "if x:" for n in range(120)), "lambda: " * 500 + "0", "@" * 100,
    "x = '''" + "y" * 60_000, "? " * 3000, "!ls\n" * 200, "%magic\n" * 60, "from x import *",
    "class additive_score: pass", "additive_score = 3",
    "def additive_score(*a): return additive_score", "x=1;" * 9000, "#" * 49_000,
    "def additive_score(a, b, c, d, e):\n" + "    a = a + 1\n" * 3000 + "    return a",
    "match x:\n case [*_]: pass", "x: int = 1", "nonlocal x", "return", "yield", "print('\\ud800')",
    "additive_score = lambda *a: None\n" * 400, "# Question q2\n# Question q1\n", "def é(): pass",
]
VALUES: list[Any] = [
    None, True, 0, -1, 1.5, float("inf"), float("nan"), 10**30, "", "code", "markdown", "x" * 5000,
    [], {}, [[]], {"": {}}, ["a", 1, None], {"question": "q1"}, {"question": ["q1"]},
    {"seqattn": []}, [None] * 50,
]
ENDINGS = [
    ".ipynb", ".ipynb", ".ipynb", ".py", ".md", ".zip", ".txt", ".ipynb.txt", ".IPYNB", "", ".json",
]
# fmt: on
NAMES = [
    *("02_softmax", "03_additive", "03_additive", "04_scores"),
    *("05_scaled", "07_training", "08_reading_maps"),
]


@dataclass
class Class:
    """What a round hands in."""

    folder: Path
    roster: Path | None = None
    people: list[str] = field(default_factory=list)
    # What an instructor must mend before anything can be graded, if it is broken.
    breakable: bool = False


class Inventor:
    """Draws what is handed in."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def one(self, things: list) -> Any:
        return self.rng.choice(things)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def answer(self, name: str, question: str) -> str:
        q = load(name).question(question)
        dice = self.rng.random()
        if dice < 0.4:
            return self.one(q.right)
        if dice < 0.7:
            return self.one(q.wrong).code
        code = self.one(CODES) if dice < 0.9 else self.one(WORDS)
        return code + "\n" + self.one(q.right) if self.chance(0.5) else code

    def notebook(self) -> dict:
        name = self.one(NAMES)
        asked = [q.id for q in load(name).questions if self.chance(0.8)]
        content = hand_in.filled(name, {q: self.answer(name, q) for q in asked})
        for _ in range(self.one([0, 0, 0, 1, 3, 10])):
            self.mutate(content)
        return content

    def mutate(self, content: Any) -> None:
        """Change something somewhere in a notebook."""
        places: list[tuple[Any, Any]] = []

        def walk(node: Any) -> None:
            pairs = node.items() if isinstance(node, dict) else enumerate(node)
            for key, value in list(pairs):
                places.append((node, key))
                if isinstance(value, dict | list):
                    walk(value)

        walk(content)
        if not places:
            return
        node, key = self.one(places)
        dice = self.rng.random()
        if dice < 0.3:
            node[key] = json.loads(json.dumps(self.one(VALUES)))
        elif dice < 0.5:
            node[key] = self.one(WORDS)
        elif dice < 0.65:
            del node[key]
        elif isinstance(node, list):
            node.insert(key, json.loads(json.dumps(self.one(places)[0])))
        elif dice < 0.8:
            node[self.one(WORDS)] = node[key]
        elif isinstance(node[key], str):
            node[key] = node[key] + self.one(CODES)

    def text(self, content: dict) -> bytes:
        """Write a notebook in one of its forms."""
        dice = self.rng.random()
        cells = content.get("cells")
        sources = [
            _joined(c.get("source")) if isinstance(c, dict) else ""
            for c in (cells if isinstance(cells, list) else [])
        ]
        if dice < 0.8:
            said = json.dumps(content, ensure_ascii=self.chance(0.5))
        elif dice < 0.9:
            said = "\n\n".join(f"# %%\n{source}" for source in sources)
        else:
            said = "\n\n".join(f"```python\n{source}\n```" for source in sources)
        return said.encode("utf-8", "surrogatepass")

    def damaged(self, data: bytes) -> bytes:
        """Damage bytes."""
        data_ = bytearray(data)
        for _ in range(self.one([1, 1, 3, 20])):
            at = self.rng.randrange(len(data_) + 1)
            dice = self.rng.random()
            if dice < 0.3 and data_:
                data_[min(at, len(data_) - 1)] = self.rng.randrange(256)
            elif dice < 0.5:
                del data_[at:]
            elif dice < 0.65:
                data_[at:at] = self.one(WORDS).encode("utf-8", "surrogatepass")
            elif dice < 0.75:
                data_[at:at] = self.rng.randbytes(self.one([1, 8, 300]))
            elif dice < 0.85:
                data_[at : at + 40] = bytes(40)
            elif dice < 0.9:
                data_[at:at] = bytes(data_[:2000]) * 3
            elif dice < 0.93:
                return bytes(data_).decode("utf-8", "replace").encode("utf-16")
            elif dice < 0.96:
                data_[at:at] = b"[" * self.one([100, 100_000])
            else:
                data_[at:at] = b"9" * self.one([100, 50_000])
        return bytes(data_)

    def archive(self) -> bytes:
        stream = io.BytesIO()
        methods = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
        with zipfile.ZipFile(stream, "w", self.one(methods)) as archive:
            for _ in range(self.one([0, 1, 1, 1, 2, 5])):
                entry = zipfile.ZipInfo(self.name() + self.one(ENDINGS) or "x")
                entry.compress_type = self.one(methods)
                entry.external_attr = self.one([0, 0o644 << 16, 0o120777 << 16, 0o40755 << 16])
                dice = self.rng.random()
                if dice < 0.7:
                    content = self.text(self.notebook())
                elif dice < 0.8:
                    content = b"0" * 3_000_000
                else:
                    content = self.rng.randbytes(200)
                archive.writestr(entry, content)
        data = stream.getvalue()
        return self.damaged(data) if self.chance(0.5) else data

    def name(self) -> str:
        """Draw a name that a file system takes."""
        word = "".join(self.one(WORDS) for _ in range(self.one([1, 1, 2])))
        word = re.sub(r"[/\0]", "_", word).encode("utf-8", "surrogatepass")[:150]
        word = word.decode("utf-8", "ignore").strip(".") or "x"
        return word if self.chance(0.9) else f".{word}"

    def put(self, path: Path) -> None:
        """Hand in one file, whatever it may be."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() or path.is_symlink():
                return
            dice = self.rng.random()
            if dice < 0.03:
                path.symlink_to(self.one(["/etc/passwd", "/dev/zero", path.name, "..", "nowhere"]))
            elif dice < 0.05:
                os.mkfifo(path)
            elif dice < 0.07:
                path.mkdir()
            elif path.name.lower().endswith(".zip") or dice < 0.15:
                path.write_bytes(self.archive())
            elif dice < 0.2:
                path.write_bytes(self.rng.randbytes(self.one([0, 1, 5000])))
            else:
                data = self.text(self.notebook())
                path.write_bytes(self.damaged(data) if self.chance(0.3) else data)
            if self.chance(0.1) and not path.is_symlink():
                os.utime(path, (self.one([0, 1, 2**31, 10**9]),) * 2)
        except OSError:
            pass  # a name that this system has not

    def table(self, rows: list[list[str]], nasty: bool) -> bytes:
        stream = io.StringIO()
        csv.writer(stream).writerows(rows)
        data = stream.getvalue().encode("utf-8", "surrogatepass")
        if nasty and self.chance(0.5):
            return self.damaged(data)
        return data

    def whole(self, root: Path) -> Class:
        """Invent a class."""
        folder = root / "in"
        folder.mkdir(parents=True)
        people = [f"s{n}" for n in range(self.one([1, 3, 6]))]
        if self.chance(0.3):
            people.append(self.name())
        made = Class(folder, people=people)
        layout = self.one(["folders", "flat", "moodle", "canvas", "gradescope", "anything"])
        users: dict[str, Any] = {}
        for number, who in enumerate(people):
            for count in range(self.one([0, 1, 1, 1, 2, 4])):
                ending = self.one(ENDINGS)
                name = {
                    "folders": f"{who}/{self.name()}{ending}",
                    "flat": f"{who}{ending}",
                    "moodle": f"Student {who}_{number}_assignsubmission_file_/{count}{ending}",
                    "canvas": f"{re.sub('[^a-z]', '', who) or 'x'}_{number}_{count}_nb{ending}",
                    "gradescope": f"submission_{number}/{self.name()}{ending}",
                    "anything": f"{self.name()}/{self.name()}{ending}",
                }[layout]
                self.put(folder / name.lstrip("/"))
                if layout == "gradescope":
                    mine = {":name": f"Student {who}", ":email": f"{who}@x.org", ":sid": who}
                    users[f"submission_{number}"] = {":submitters": [mine]}
        if layout == "gradescope":
            made.breakable = True
            for _ in range(self.one([0, 0, 1, 3])):
                self.mutate(users)
            said = yaml.safe_dump(users).encode("utf-8", "replace")
            path = folder / "submission_metadata.yml"
            path.write_bytes(self.damaged(said) if self.chance(0.2) else said)
        if self.chance(0.6):
            nasty = self.chance(0.4)
            made.breakable |= nasty
            made.roster = root / "roster.csv"
            rows = [["id", "name", "email"]]
            rows += [[p, f"Student {p}", f"{p}@x.org"] for p in [*people, "absent"]]
            if nasty:
                rows[self.rng.randrange(len(rows))][self.rng.randrange(3)] = self.one(WORDS)
            made.roster.write_bytes(self.table(rows, nasty))
        return made

    def overrides(self, grades: list[dict]) -> tuple[bytes, dict[tuple[str, str], str] | None]:
        """Give points by hand: a table, and what it gives if it makes sense."""
        given: dict[tuple[str, str], str] = {}
        for record in grades:
            for v in record["verdicts"]:
                if record["student"] and self.chance(0.2):
                    key = record["student"], f"{record['exercise']} {v['question']}"
                    given[key] = str(self.rng.randrange(2 * v["out_of"] + 1) / 2)
        rows = [["student", "question", "points", "reason"]]
        rows += [[*key, points, self.one(["", "late", "=1+1"])] for key, points in given.items()]
        # What a table cannot carry as it is: blanks around a name, or half a character.
        sound = all(key[0] == key[0].strip() and key[0].isprintable() for key in given)
        if self.chance(0.5) or not sound:
            rows.append([self.one(WORDS) for _ in range(4)])
            rows[self.rng.randrange(len(rows))][self.rng.randrange(4)] = self.one(WORDS)
            return self.table(rows, True), None
        return self.table(rows, False), given


def _joined(source: object) -> str:
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


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
    for one in collect(made.folder):
        person, _ = find_person(one, roster)
        if person:
            owners.setdefault(person.id, []).append(one)
    if not owners:
        return
    who = rng.choice(sorted(owners))
    lone = root / "alone"
    for one in owners[who]:
        beside = lone / one.path.relative_to(made.folder)
        beside.parent.mkdir(parents=True, exist_ok=True)
        if one.path.is_symlink() or one.path.is_file():
            shutil.copy2(one.path, beside, follow_symlinks=False)
        else:
            os.mkfifo(beside)
            shutil.copystat(one.path, beside)  # the newest of several files counts
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
