"""Notebooks found green are not run again while nothing has changed that they read.

Each copy that :mod:`tools.alone` runs begins by importing :data:`WATCH` and ends by having it write
down which modules of ours are loaded. The record, ``.green.json`` beside the project's other
files, holds for each notebook a digest of itself with its claims, of those modules, of what else
the wheel carries for them, of Python and the constraints. A run with ``SEQATTN_TESTS=thorough``
neither reads nor writes it.
"""

import hashlib
import json
import os
import platform
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / ".green.json"
# A module for each kernel. What another process reads is not seen: then everything counts.
WATCH = '''
"""Say which files of a folder this process has imported."""
import json, sys
from pathlib import Path

STARTS = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
started = []
sys.addaudithook(lambda event, _: event in STARTS and started.append(event))

def report(path):
    here = Path(__file__).parent
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    ours = {Path(file) for file in files if file} & {*here.rglob("*.py")}
    alone = not started and "multiprocessing.popen_spawn_posix" not in sys.modules
    found = sorted(file.relative_to(here).as_posix() for file in ours) if alone else None
    Path(path).write_text(json.dumps(found), encoding="utf-8")
'''
FIRST = "import seqattn_watch"
LAST = "import seqattn_watch\nseqattn_watch.report({!r})"


def read() -> dict[str, dict]:
    """Give the record; an empty one if everything is to be tried, or if it cannot be read."""
    if os.environ.get("SEQATTN_TESTS") == "thorough":
        return {}
    try:
        found = json.loads(RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def holds(known: dict[str, dict], copied: Path, installed: Path) -> bool:
    """Whether a copy was found green, and all that it read is as it was."""
    entry = known.get(copied.parent.name)
    return entry is not None and entry["digest"] == digest(copied, installed, entry["modules"])


def digest(copied: Path, installed: Path, modules: list[str] | None) -> str:
    """Sum up what a notebook's outcome depends on.

    Parameters
    ----------
    copied : Path
        The copy, its checks included.
    installed : Path
        Folder of the unpacked wheel.
    modules : list of str, or None
        Files of the wheel that it imported; None if it may have read any.
    """
    files = [path for path in installed.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    if modules is not None:
        graded = any(name.startswith("seqattn/grading/") for name in modules)
        files = [
            path
            for path in files
            if (name := path.relative_to(installed).as_posix()) in modules
            or (path.suffix != ".py" and (graded or not name.startswith("seqattn/grading/")))
        ]
    # Where this run's temporary folder lies is no part of it, nor are ids that copying draws.
    cells = [
        (cell.cell_type, cell.source.replace(str(installed.parent), ""), cell.get("outputs"))
        for cell in nbformat.read(copied, as_version=4).cells
    ]
    whole = hashlib.sha256(json.dumps([sys.version, platform.platform(), cells]).encode())
    pins = [ROOT / "constraints.txt", ROOT / "tests" / "nbval_sanitize.cfg"]
    for path in [*sorted(files), *pins]:
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


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


def add(known: dict[str, dict], report: Path, copies: list[Path], installed: Path) -> None:
    """Write down the notebooks of which every cell ran and passed."""
    if os.environ.get("SEQATTN_TESTS") == "thorough":
        return
    green = passed(report)
    for copied in copies:
        cells = nbformat.read(copied, as_version=4).cells
        ran = green.get(copied.parent.name)
        listed = modules_file(copied, installed)
        if ran == sum(cell.cell_type == "code" for cell in cells) and listed.exists():
            modules = json.loads(listed.read_text(encoding="utf-8"))
            entry = {"modules": modules, "digest": digest(copied, installed, modules)}
            known[copied.parent.name] = entry
    RECORD.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def modules_file(copied: Path, installed: Path) -> Path:
    """Where a copy's last cell writes what it imported."""
    return installed.parent / f"{copied.parent.name}.modules.json"
