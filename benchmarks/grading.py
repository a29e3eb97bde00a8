"""Time the grader: a check, a grade, and a class of 100 students with 15 questions each.

    python -m benchmarks.grading [--students 100] [--jobs 2]

The class hands in two exercises (6 and 9 questions); three answers of four are right, the others
are known mistakes or left out. Nothing is kept. Load on the machine shows: run it alone.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from seqattn.grading.bank import load

ROOT = Path(__file__).parents[1]
EXERCISES = ("03_additive", "04_luong")


def hand_in(folder: Path, students: int) -> int:
    """Write a class's notebooks; return the number of questions."""
    chance = random.Random(0)
    count = 0
    for number in range(students):
        mine = folder / f"student{number:03}"
        mine.mkdir(parents=True)
        for name in EXERCISES:
            exercise = load(name)
            path = ROOT / "exercises" / f"{name}.ipynb"
            notebook = json.loads(path.read_text(encoding="utf-8"))
            for cell in notebook["cells"]:
                asked = cell["metadata"].get("seqattn", {}).get("question")
                if not asked:
                    continue
                q, dice = exercise.question(asked), chance.random()
                count += 1
                right, wrong = chance.choice(q.right), chance.choice(q.wrong).code
                if dice < 0.95:
                    marker = "".join(cell["source"]).split("\n", 1)[0]
                    cell["source"] = f"{marker}\n{right if dice < 0.75 else wrong}"
            (mine / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return count


def timed(*arguments: object) -> float:
    """Run the command line; return its seconds."""
    command = [sys.executable, "-c", "from seqattn.cli import main; main()", *map(str, arguments)]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 2:
        raise SystemExit(done.stderr)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    load_before = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, load {load_before:.1f} before the start")
    for name in EXERCISES:
        notebook = ROOT / "exercises" / f"{name}.ipynb"
        # The first run fills the disk's cache.
        for command in ("check", "grade"):
            seconds = [timed(command, notebook) for _ in range(4)][1:]
            print(
                f"seqattn {command} {name}: {statistics.median(seconds):.1f} s (median of 3, warm)"
            )
    with tempfile.TemporaryDirectory() as folder:
        questions = hand_in(Path(folder, "in"), arguments.students)
        seconds = timed(
            "grade-class", Path(folder, "in"), "-o", Path(folder, "out"), "-j", arguments.jobs
        )
        print(
            f"grade-class: {arguments.students} students, {questions} questions, "
            f"-j {arguments.jobs}: {seconds:.0f} s, {1000 * seconds / questions:.0f} ms a question"
        )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"memory: {peak:.0f} MB in the largest process; each job adds one that imports torch")


if __name__ == "__main__":
    main()
