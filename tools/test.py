"""Run the tests in stages, the quickest first, and stop at the first stage that fails.

``python -m tools.test`` runs everything; ``python -m tools.test unit`` one stage (or several).
``--busy 16`` keeps the processors busy meanwhile: no test may fail because others compute too.
Beside so many, ``--workers 16`` is done sooner than the usual one for each processor.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
# nbval is for the notebooks' stage, and takes each process 2 s to import.
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval"]
# Workers share the cores, one torch thread each. loadscope keeps a module in one worker; where
# modules are few and long, loadgroup keeps together only what is marked so.
WORKERS = "as many workers as were asked for"
BY_MODULE = ["-n", WORKERS, "--dist", "loadscope"]
BY_TEST = ["-n", WORKERS, "--dist", "loadgroup"]
PAGES = "book or browser"
NO_GRADING = ["--ignore=tests/grading"]  # has a stage of its own
# Seconds of a processor for each stage, on a machine that takes PACE seconds for LOAD.
BUDGET = ROOT / "tests" / "budget.json"
PACE = 0.4
LOAD = """
import time
begun, x = time.process_time(), 0
for i in range(5_000_000):
    x += i * i % 7
print(time.process_time() - begun)
"""
# That of the notebooks is for the two that every commit runs. Where others have to run, as
# something changed that they read, each may take so much more.
EACH_COMMIT, NOTEBOOK = 2, 45
# Ends with whoever started it, however that one ends.
LOOP = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(10**6):
        pass
"""

STAGES: dict[str, list[list[str]]] = {
    "static": [
        [sys.executable, "-m", "ruff", "format", "--check", "."],
        [sys.executable, "-m", "ruff", "check", "."],
        [sys.executable, "-m", "mypy"],
        [sys.executable, "-m", "tools.notebooks", "drift"],
    ],
    "unit": [
        [
            *PYTEST,
            *BY_MODULE,
            "-m",
            f"not ({PAGES} or slow)",
            "seqattn",
            "tests",
            *NO_GRADING,
            "--ignore=tests/browser",
        ]
    ],
    # Whole commands, trainings, exports and compilers.
    "slow": [[*PYTEST, *BY_TEST, "-m", f"slow and not ({PAGES})", "tests", *NO_GRADING]],
    # Known right and wrong answers, hostile ones, the commands: each in processes of its own.
    "grading": [[*PYTEST, *BY_MODULE, "tests/grading"]],
    # In empty folders, with the wheel alone: nbval runs every cell and compares what it prints.
    "notebooks": [[sys.executable, "-m", "tools.alone", *BY_MODULE]],
    # Each worker has a browser; the book is built once for all.
    "book": [[*PYTEST, *BY_TEST, "-m", PAGES, "tests", *NO_GRADING]],
}


def run(stage: str, report: Path, workers: int) -> tuple[float, float]:
    """Run one stage, its tests' times into a report; exit where it fails.

    Returns
    -------
    tuple of float
        What it took, in seconds of the clock and of a processor.
    """
    started, before = time.monotonic(), os.times()
    environment = os.environ | {
        "KERAS_BACKEND": "torch",
        "TQDM_DISABLE": "1",
        "OMP_NUM_THREADS": "1",
        # Each of thousands of processes would compile our modules anew.
        "PYTHONDONTWRITEBYTECODE": "",
    }
    for command in STAGES[stage]:
        times = [f"--junitxml={report}"] if {"pytest", "tools.alone"} & {*command} else []
        command = [str(workers) if word is WORKERS else word for word in command]
        status = subprocess.run([*command, *times], cwd=ROOT, env=environment).returncode
        if status:
            raise SystemExit(f"stage {stage!r} failed: {' '.join(command[1:])}")
    now = os.times()
    computed = now.children_user + now.children_system
    computed -= before.children_user + before.children_system
    return time.monotonic() - started, computed


def notebooks_run(report: Path) -> int:
    """Count the notebooks of a run's report; a folder holds one."""
    cases = ElementTree.parse(report).iter("testcase")
    return len({case.get("classname", "").partition(".")[0] for case in cases})


def slowness(workers: int) -> float:
    """Measure how many times as long as the budget's machine this one computes; at least 1.

    All workers at once, since two that share a core's units slow each other down.
    """
    command = [sys.executable, "-c", LOAD]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(workers)]
    seconds = [float(process.communicate()[0]) for process in started]
    return max(1.0, sum(seconds) / workers / PACE)


def beyond(stage: str, seconds: float, notebooks: int = 0, slower: float = 1.0) -> str | None:
    """Say by how much a stage computed longer than its budget, if by more than half of it.

    Parameters
    ----------
    stage : str
        Its name.
    seconds : float
        Of a processor.
    notebooks : int
        How many ran, in the stage that runs them.
    slower : float
        How many times as long this machine takes for the same.

    Examples
    --------
    >>> beyond("static", 0.1)
    >>> beyond("static", 1e6)[:42]
    'stage static took 1000000 s of a processor'
    """
    budget = json.loads(BUDGET.read_text(encoding="utf-8"))[stage]
    budget += NOTEBOOK * max(0, notebooks - EACH_COMMIT)
    budget *= slower
    if seconds <= 1.5 * budget:
        return None
    return (
        f"stage {stage} took {seconds:.0f} s of a processor; its budget is {budget:.0f} s "
        f"and a half on this machine: make its tests quicker, or room in {BUDGET.relative_to(ROOT)}"
    )


def slowest(folder: Path, count: int = 10) -> list[str]:
    """Name the slowest tests of all reports in a folder, with their seconds."""
    cases = [
        case for path in folder.glob("*.xml") for case in ElementTree.parse(path).iter("testcase")
    ]
    cases.sort(key=lambda case: -float(case.get("time", 0)))
    return [
        f"{float(case.get('time', 0)):8.1f} s  {case.get('classname')} {case.get('name')}"
        for case in cases[:count]
    ]


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Have so many processes compute nothing, as fast as they can."""
    command = [sys.executable, "-c", LOOP, str(os.getpid())]
    started = [subprocess.Popen(command) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in started:
            loop.kill()
            loop.wait()


def main() -> None:
    """Run the stages asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", choices=[[], *STAGES], help="default: all")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="beside N busy loops")
    cores = min(4, os.cpu_count() or 1)
    parser.add_argument("--workers", type=int, default=cores, metavar="N", help="at a time")
    arguments = parser.parse_args()
    # In the background a shell has its children ignore Ctrl-C, and what they start ignores it too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    times: list[str] = []
    late: list[str | None] = []
    with busy(arguments.busy), tempfile.TemporaryDirectory() as folder:
        for stage in arguments.stages or STAGES:
            print(f"== {stage}", flush=True)
            report = Path(folder) / f"{stage}.xml"
            seconds, computed = run(stage, report, arguments.workers)
            times.append(f"{stage} {seconds:.0f} s ({computed:.0f} s of a processor)")
            # Beside others and with everything tried, it may take what it takes.
            if not arguments.busy and os.environ.get("SEQATTN_TESTS") != "thorough":
                ran = notebooks_run(report) if stage == "notebooks" else 0
                late.append(beyond(stage, computed, ran, slowness(arguments.workers)))
        print("== the slowest tests", *slowest(Path(folder)), sep="\n")
    print(f"== all passed: {', '.join(times)}")
    if said := [line for line in late if line]:
        raise SystemExit("\n".join(f"== {line}" for line in said))


if __name__ == "__main__":
    main()
