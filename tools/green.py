"""Notebooks found green are not run again while nothing has changed that they read.

Each copy that :mod:`tools.alone` runs begins by importing :data:`WATCH` and ends by having it write
down which files of ours the kernel read. The record, ``tests/green.txt``, is committed with what
it is about. A line for each notebook, and for each Python that ran it, holds a digest of the
notebook with its claims, of those files, of the constraints and of the Python. Two notebooks run
whatever the record says, others with each commit; with ``SEQATTN_TESTS=thorough`` all of them run,
and the record is neither read nor written.
"""

import hashlib
import json
import os
import platform
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import nbformat

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "green.txt"
HEAD = "# notebook, Python, digest, what it read of the wheel (* for all): see tools/green.py\n"
# Whoever runs this, on a machine of this kind, gets what another got.
PYTHON = "-".join(
    (f"{sys.version_info.major}.{sys.version_info.minor}", platform.system(), platform.machine())
)
ALL = "*"
# A module for each kernel. What another process reads is not seen: then everything counts.
WATCH = '''
"""Say which files of this folder the process has read, and how long it computed."""
import importlib.util, json, os, sys, time

STARTS = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
HERE = os.path.dirname(os.path.realpath(__file__)) + os.sep
read, started = set(), []

def watch(event, arguments):
    if event in STARTS:
        started.append(event)
    elif event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if path.startswith(HERE) or path.endswith(".pyc"):  # those may lie elsewhere
            read.add(path)

sys.addaudithook(watch)

def source(path):
    """Where a compiled file comes from."""
    try:
        return importlib.util.source_from_cache(path) if path.endswith(".pyc") else path
    except ValueError:
        return path

def report(path):
    # What was imported before this module, or with it, counts too.
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    files = {file for file in map(source, files | read) if file.startswith(HERE)}
    found = sorted(file[len(HERE):].replace(os.sep, "/") for file in files if os.path.isfile(file))
    if started or "multiprocessing.popen_spawn_posix" in sys.modules:
        found = None
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"read": found, "seconds": time.process_time()}, file)
'''
FIRST = "import seqattn_watch"
LAST = "import seqattn_watch\nseqattn_watch.report({!r})"


class Entry(NamedTuple):
    """A line of the record."""

    name: str
    python: str
    digest: str
    read: list[str] | None  # None: any file

    def __str__(self) -> str:
        read = [ALL] if self.read is None else sorted(self.read)
        return " ".join((self.name, self.python, self.digest, *read))


def thorough() -> bool:
    """Whether everything is to be tried."""
    return os.environ.get("SEQATTN_TESTS") == "thorough"


def read() -> list[Entry]:
    """Give the record; an empty one if everything is to be tried.

    A merge may leave several lines for a notebook, of which one may hold; lines that cannot be read
    spare nothing.
    """
    if thorough() or not RECORD.is_file():
        return []
    entries = []
    for line in RECORD.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if len(words) > 3 and not line.startswith("#"):
            files = None if words[3:] == [ALL] else words[3:]
            entries.append(Entry(*words[:3], files))
    return entries


def holds(known: Iterable[Entry], copied: Path, installed: Path) -> bool:
    """Whether a copy was found green, and all that it read is as it was."""
    name = copied.parent.name
    return any(
        entry.digest == digest(copied, installed, entry.read)
        for entry in known
        if (entry.name, entry.python) == (name, PYTHON)
    )


def digest(copied: Path, installed: Path, read: list[str] | None) -> str:
    """Sum up what a notebook's outcome depends on.

    Parameters
    ----------
    copied : Path
        The copy, its checks included.
    installed : Path
        Folder of the unpacked wheel.
    read : list of str, or None
        Files of the wheel that it read, and folders, with a slash at the end, of which all files
        count; None if it may have read any.
    """
    # Where this run's temporary folder lies is no part of it, nor are ids that copying draws.
    cells = [
        (
            cell.cell_type,
            cell.source.replace(str(installed.parent), ""),
            cell.get("outputs"),
            cell.metadata,
        )
        for cell in nbformat.read(copied, as_version=4).cells
    ]
    files = shipped(installed)
    # Data are listed, to see what there is, and some are read by libraries that tell nobody.
    data = [name for name in files if not name.endswith(".py")]
    counts = None if read is None else {*read, "seqattn/data/models/"}
    whole = hashlib.sha256(json.dumps([PYTHON, data, cells], sort_keys=True).encode())
    for name in sorted(files):
        if counts is None or not counts.isdisjoint((name, folder(name))):
            whole.update(name.encode() + hashlib.sha256(files[name]).digest())
    for path in (ROOT / "constraints.txt", ROOT / "tests" / "nbval_sanitize.cfg"):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:32]


def folder(name: str) -> str:
    """Give the folder of a file, with a slash at the end."""
    return name[: name.rfind("/") + 1]


def folded(read: list[str] | None, installed: Path) -> list[str] | None:
    """Let a folder stand for its files where at least half of them were read: lines stay short."""
    if read is None:
        return None
    of_folder = Counter(map(folder, shipped(installed)))
    seen = Counter(map(folder, read))
    most = {name for name, count in seen.items() if name and 2 * count >= of_folder[name]}
    return sorted(most | {name for name in read if folder(name) not in most})


def shipped(installed: Path) -> dict[str, bytes]:
    """Give what the files of an unpacked wheel hold, but for what building it says of itself.

    Of the description of the package only its head counts: below it stands the README.
    """
    files = {
        path.relative_to(installed).as_posix(): path.read_bytes()
        for path in installed.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    return {
        name: content.partition(b"\n\n")[0] if name.endswith("/METADATA") else content
        for name, content in files.items()
        if not name.endswith((".dist-info/RECORD", ".dist-info/WHEEL"))
    }


def passed(report: Path) -> dict[str, int]:
    """Count each folder's passed cells in a run's report; without those where one failed."""
    counts: dict[str, int] = {}
    failed = set()
    for case in ElementTree.parse(report).iter("testcase"):
        folder = case.get("classname", "").partition(".")[0]
        counts[folder] = counts.get(folder, 0) + 1
        if len(case):  # a failure, an error, a skip
            failed.add(folder)
    return {folder: count for folder, count in counts.items() if folder not in failed}


def add(known: list[Entry], report: Path, copies: list[Path], installed: Path) -> bool:
    """Write down the notebooks of which every cell ran and passed; forget those without a copy.

    Returns
    -------
    bool
        Whether the record changed.
    """
    if thorough():
        return False
    green, names = passed(report), {copied.parent.name for copied in copies}
    entries = [entry for entry in known if entry.name in names]
    for copied in copies:
        cells = nbformat.read(copied, as_version=4).cells
        name, listed = copied.parent.name, watched(copied, installed)
        ran = green.get(name) == sum(cell.cell_type == "code" for cell in cells)
        if ran and listed is not None:
            entries = [entry for entry in entries if entry[:2] != (name, PYTHON)]
            what = folded(listed["read"], installed)
            entries.append(Entry(name, PYTHON, digest(copied, installed, what), what))
    before = RECORD.read_bytes() if RECORD.is_file() else b""
    text = HEAD + "".join(f"{line}\n" for line in sorted({str(entry) for entry in entries}))
    RECORD.write_text(text, encoding="utf-8")
    return RECORD.read_bytes() != before


def watched(copied: Path, installed: Path) -> dict | None:
    """Give what a copy's last cell wrote down; None if it never came to that."""
    path = watch_file(copied, installed)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def watch_file(copied: Path, installed: Path) -> Path:
    """Where a copy's last cell writes what it read, and how long it computed."""
    return installed.parent / f"{copied.parent.name}.watched.json"
