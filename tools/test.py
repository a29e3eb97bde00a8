"""Run the tests in stages, the quickest first, and stop at the first stage that fails.

``python -m tools.test`` runs everything; ``python -m tools.test unit`` one stage (or several).
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-q"]
# Workers share the cores, one torch thread each. loadscope keeps a module in one worker.
PARALLEL = ["-n", str(min(4, os.cpu_count() or 1)), "--dist", "loadscope"]
WHOLE = "book or browser or slow"

STAGES: dict[str, list[list[str]]] = {
    "static": [
        [sys.executable, "-m", "ruff", "format", "--check", "."],
        [sys.executable, "-m", "ruff", "check", "."],
        [sys.executable, "-m", "mypy"],
        [sys.executable, "-m", "tools.notebooks", "drift"],
    ],
    "unit": [
        [*PYTEST, *PARALLEL, "-m", f"not ({WHOLE})", "seqattn", "tests", "--ignore=tests/grading"]
    ],
    # Known right and wrong answers, hostile ones, the commands: each in processes of its own.
    "grading": [[*PYTEST, *PARALLEL, "tests/grading"]],
    # In empty folders, with the wheel alone: nbval runs every cell and compares what it prints.
    "notebooks": [[sys.executable, "-m", "tools.alone", *PARALLEL]],
    "book": [[*PYTEST, "-m", WHOLE, "tests", "--ignore=tests/grading"]],
}


def run(stage: str) -> float:
    """Run one stage; exit at its first failing command; return its seconds."""
    started = time.perf_counter()
    environment = os.environ | {"KERAS_BACKEND": "torch", "TQDM_DISABLE": "1"}
    if stage != "book":
        environment |= {"OMP_NUM_THREADS": "1"}
    for command in STAGES[stage]:
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if status:
            raise SystemExit(f"stage {stage!r} failed: {' '.join(command[1:])}")
    return time.perf_counter() - started


def main() -> None:
    """Run the stages asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", choices=[[], *STAGES], help="default: all")
    times = {}
    for stage in parser.parse_args().stages or STAGES:
        print(f"== {stage}", flush=True)
        times[stage] = run(stage)
    print("== all passed: " + ", ".join(f"{name} {s:.0f} s" for name, s in times.items()))


if __name__ == "__main__":
    main()
