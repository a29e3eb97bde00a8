"""Run every notebook as a reader does: ``python -m tools.alone``.

Each is copied into an empty folder of its own, where nothing of the project is at hand but the
wheel. There nbval runs every cell again and compares what it prints with what is stored, and what
the page claims is checked in the same kernel (:mod:`tools.claims`). What passed before and reads
nothing that changed since is spared (:mod:`tools.green`). Arguments go to pytest: ``python -m
tools.alone -k bottleneck``.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import nbformat
import pytest

from seqattn.grading.bank import exercises, load
from tools import claims, green, notebooks, sample
from tools.build import build_wheel

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("chapters", "solutions")
SANITIZE = ROOT / "tests" / "nbval_sanitize.cfg"
# Seconds that a kernel may take to start, and a cell to run: nobody's verdict on how fast they are,
# but an end for what hangs.
START, CELL = 30 * 60, 4 * 3600
# The last cell of each copy: whose code was it that ran?
WHENCE = "import seqattn\nassert seqattn.__file__.startswith({!r}), seqattn.__file__"


def install(folder: Path) -> Path:
    """Unpack the wheel into a folder."""
    with zipfile.ZipFile(build_wheel()) as wheel:
        wheel.extractall(folder)
    (folder / "seqattn_watch.py").write_text(green.WATCH, encoding="utf-8")
    return folder


def copy(path: Path, folder: Path, installed: Path) -> Path:
    """Copy a notebook into an empty folder, with cells that check it.

    Each claim is checked where it stands; the last cell asks where seqattn came from, and what of
    it was read.
    """
    folder.mkdir()
    notebook = nbformat.read(path, as_version=4)
    if path.parent == notebooks.CHAPTERS:
        said = claims.passages(notebooks.read_source(path.with_suffix(".py")))
        notebook = claims.with_checks(notebook, claims.read(claims.table(path)), said)
    copied = folder / path.name
    last = (
        WHENCE.format(str(installed)),
        green.LAST.format(str(green.watch_file(copied, installed))),
    )
    notebook.cells.insert(0, nbformat.v4.new_code_cell(green.FIRST))
    notebook.cells.append(nbformat.v4.new_code_cell("\n".join(last)))
    nbformat.write(notebook, copied)
    return copied


def left_behind(folders: list[Path]) -> list[str]:
    """Name what notebooks left in their folders, but for the evidence of experiments."""
    evidence = {question.evidence for name in exercises() for question in load(name).questions}
    return [
        str(path.relative_to(folder.parent))
        for folder in folders
        for path in folder.iterdir()
        if path.suffix != ".ipynb" and path.name not in evidence
    ]


def chosen(sources: list[Path]) -> set[Path]:
    """Choose one notebook of each folder, which runs whatever the record says: a commit's turn."""
    turn = sample.turn()
    folders = [[path for path in sources if path.parent.name == name] for name in FOLDERS]
    return {paths[turn % len(paths)] for paths in folders}


def main() -> None:
    """Copy, run, look what is left; exit as pytest does, or with 1 if anything was left behind."""
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary).resolve()
        installed = install(here / "installed")
        sources = [path for name in FOLDERS for path in sorted((ROOT / name).glob("*.ipynb"))]
        turn = chosen(sources)
        folders = [here / f"{path.parent.name}-{path.stem}" for path in sources]
        every = [copy(path, folder, installed) for path, folder in zip(sources, folders)]
        known = green.read()
        copies = [
            copied
            for path, copied in zip(sources, every)
            if path in turn or not green.holds(known, copied, installed)
        ]
        if spared := len(sources) - len(copies):
            print(f"{spared} of {len(sources)} notebooks are as they were when they last passed")
        asked = [word for word in sys.argv[1:] if word.startswith("--junitxml=")]
        report = Path(asked[0].partition("=")[2] if asked else here / "report.xml")
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(here),
            "--nbval", f"--nbval-kernel-startup-timeout={START}", f"--nbval-cell-timeout={CELL}",
            f"--nbval-sanitize-with={SANITIZE}",
            *sys.argv[1:], f"--junitxml={report.resolve()}", *(str(path.parent) for path in copies),
        ]  # fmt: skip
        environment = os.environ | {"PYTHONPATH": str(installed)}  # comes before this checkout
        # Data of this machine would be something that no record knows of.
        environment.pop("SEQATTN_DATA", None)
        # As they were executed: same thread count, same text. And threads of two workers that wait
        # for each other take minutes for seconds.
        environment["OMP_NUM_THREADS"] = "1"
        status = subprocess.run(command, cwd=here, env=environment, check=False).returncode
        print(*slowest(copies, installed), sep="\n")
        if report.exists() and green.add(known, report.resolve(), every, installed):
            print(f"{green.RECORD.relative_to(ROOT)} says anew what passed: commit it too")
        if left := left_behind(folders):
            raise SystemExit(f"left behind: {', '.join(left)}")
        nothing_left = status == pytest.ExitCode.NO_TESTS_COLLECTED and spared
        raise SystemExit(0 if nothing_left else status)


def slowest(copies: list[Path], installed: Path, count: int = 5) -> list[str]:
    """Name the notebooks that computed longest, with the seconds of a processor that they took."""
    took = [
        (listed["seconds"], path.parent.name)
        for path in copies
        if (listed := green.watched(path, installed))
    ]
    return [
        f"{seconds:8.1f} s of a processor  {name}"
        for seconds, name in sorted(took, reverse=True)[:count]
    ]


if __name__ == "__main__":
    main()
