"""Who handed in what: files, students and the roster, as platforms hand them out.

A student is never guessed: a file whose name fits nobody on the roster, or more than one person, is
listed as unmatched.
"""

import csv
import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Handed", "Person", "collect", "find_person", "read_roster"]

NOTEBOOKS = (".ipynb", ".py", ".md", ".zip", ".ipynb.txt", ".ipynb.json")
# Moodle: "Ada Lovelace_12345_assignsubmission_file"; Canvas: "lovelaceada_12345_67890_name.ipynb".
MOODLE = re.compile(r"^(?P<name>.+?)_\d+_assignsubmission_")
CANVAS = re.compile(r"^(?P<name>[a-z]+)(_LATE)?_\d+_\d+_")
ID, NAME = ("id", "student id", "username"), ("name", "full name")
EMAIL = ("email", "email address")


@dataclass(frozen=True)
class Person:
    """Somebody on the roster, or known from a file name alone."""

    id: str
    name: str = ""
    email: str = ""

    @property
    def keys(self) -> set[str]:
        """What a file may call this person."""
        every = {self.id, self.name, self.email, self.email.partition("@")[0]}
        words = self.name.split()
        if len(words) > 1:
            # Canvas writes the family name first and leaves out the blanks.
            every.add("".join([*words[1:], words[0]]))
            every.add(f"{words[-1]}, {' '.join(words[:-1])}")
        return {_plain(key) for key in every if key}


@dataclass(frozen=True)
class Handed:
    """A file that was handed in.

    Attributes
    ----------
    path : Path
        Where it lies.
    label : str
        Its path below the folder of submissions: what reports call it.
    called : tuple of str
        What it says about its author: names, addresses.
    """

    path: Path
    label: str
    called: tuple[str, ...] = field(default_factory=tuple)


def collect(folder: Path) -> list[Handed]:
    """List what was handed in, without what Jupyter and the system keep beside it.

    Where a folder holds notebooks, other files in it belong to them and are not listed.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(p.startswith(".") or p in ("__pycache__", "__MACOSX") for p in parts)
        if not hidden and (path.is_symlink() or not path.is_dir()):
            found.append(path)
    metadata = {p.parent: p for p in found if p.name == "submission_metadata.json"}
    listed = [p for p in found if p not in metadata.values()]
    usual = [p for p in listed if p.name.lower().endswith(NOTEBOOKS)]
    kept = [p for p in listed if p in usual or not _has_company(p, usual, folder)]
    return [
        Handed(p, str(p.relative_to(folder)), _called(p, folder, metadata.get(p.parent)))
        for p in kept
    ]


def _has_company(path: Path, usual: list[Path], folder: Path) -> bool:
    if path.parent != folder:
        return any(p.parent == path.parent for p in usual)
    prefix = MOODLE.match(path.name) or CANVAS.match(path.name)
    # Side by side without names to tell whose is whose: only evidence is left out.
    if prefix is None:
        return path.suffix in (".npz", ".csv", ".json", ".txt", ".yml", ".yaml")
    return any(p.name.startswith(prefix["name"]) for p in usual)


def _called(path: Path, folder: Path, metadata: Path | None) -> tuple[str, ...]:
    called: list[str] = []
    if metadata is not None:
        called += _from_gradescope(metadata)
    top = path.relative_to(folder).parts[0]
    for pattern in (MOODLE, CANVAS):
        if match := pattern.match(top):
            called.append(match["name"])
    if not called:
        called.append(top.partition(".")[0] if path.parent == folder else top)
    return tuple(called)


def _from_gradescope(metadata: Path) -> list[str]:
    try:
        content = json.loads(metadata.read_text(encoding="utf-8"))
        users = content["users"]
        return [str(u[k]) for u in users for k in ("email", "sid", "name") if u.get(k)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def read_roster(path: Path) -> list[Person]:
    """Read a roster: a CSV file with a column of ids, and if possible names and addresses.

    Raises
    ------
    ValueError
        If no column says who is meant.
    """
    with path.open(encoding="utf-8-sig", newline="") as stream:
        table = csv.DictReader(stream)
        columns = {_plain(c): c for c in table.fieldnames or []}

        def column(names: Iterable[str]) -> str | None:
            return next((columns[n] for n in map(_plain, names) if n in columns), None)

        id_, name, email = column(ID), column(NAME), column(EMAIL)
        if not (key := id_ or email or name):
            have = ", ".join(table.fieldnames or []) or "none"
            raise ValueError(f"{path} has the columns {have}; expected id, name or email")
        rows = [{k: (v or "").strip() for k, v in row.items() if k} for row in table]
    people = [Person(r[key], r.get(name or "", ""), r.get(email or "", "")) for r in rows if r[key]]
    return list({p.id: p for p in people}.values())


def find_person(handed: Handed, roster: list[Person]) -> tuple[Person | None, str]:
    """Find whose file it is, or say why nobody was found."""
    if not roster:
        return Person(handed.called[0]), ""
    wanted = {_plain(c) for c in handed.called}
    fitting = [p for p in roster if p.keys & wanted]
    if len(fitting) == 1:
        return fitting[0], ""
    called = " or ".join(handed.called)
    if not fitting:
        return None, f"nobody on the roster is called {called}"
    return None, f"{called} may be any of {', '.join(p.id for p in fitting)}"


def _plain(text: str) -> str:
    """Drop case, accents and blanks, in which rosters and file names differ."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c) and not c.isspace())
