"""Invent what a class hands in, much of it broken: folders, archives, notebooks, names, tables.

:mod:`tools.fuzz` grades it and looks whether what must always hold does.
"""

import csv
import io
import json
import os
import random
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from seqattn.grading.bank import load
from tools import hand_in

__all__ = ["Class", "Inventor"]

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
            # A line of its own in a name is taken for a quotation mark that is not closed.
            made.breakable |= nasty or any("\n" in who for who in people)
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
