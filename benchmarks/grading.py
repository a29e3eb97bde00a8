"""Time the grader: a check, a grade, and a class of 100 students with 15 questions each.

    python -m benchmarks.grading [--students 100] [--questions 15] [--jobs 2] [--compare 1 8]

The class hands in three exercises of six questions; three answers of four are right, the others
are known mistakes or left out. Of the last exercise each student only works on as many questions
as make ``--questions`` in all: the cells of the others stand as they were handed out, which costs
the grader next to nothing, and they are not counted. ``--compare`` grades it again with other
numbers of jobs and says whether all reports are equal. Nothing is kept. Load on the machine
shows: run it alone, or look at the seconds of processor time, which it lengthens less.
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
from tools import hand_in

ROOT = Path(__file__).parents[1]
EXERCISES = ("03_additive", "04_scores", "07_training")


def write_class(folder: Path, students: int, questions: int) -> int:
    """Write a class's notebooks, of so many questions each; return the number of questions."""
    chance = random.Random(0)
    asked = [(name, q) for name in EXERCISES for q in load(name).questions][:questions]
    for number in range(students):
        mine = folder / f"student{number:03}"
        mine.mkdir(parents=True)
        handed: dict[str, dict[str, str]] = {name: {} for name, _ in asked}
        for name, q in asked:
            dice = chance.random()
            right, wrong = chance.choice(q.right), chance.choice(q.wrong).code
            if dice < 0.95:
                handed[name][q.id] = right if dice < 0.75 else wrong
        for name, answers in handed.items():
            notebook = hand_in.filled(name, answers)
            (mine / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return students * len(asked)


def timed(*arguments: object) -> float:
    """Run the command line; return its seconds."""
    command = [sys.executable, "-c", "from seqattn.cli import main; main()", *map(str, arguments)]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 2:
        raise SystemExit(done.stderr)
    return time.perf_counter() - started


def spent() -> float:
    """Processor time of all children so far: what a busy machine does not lengthen."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--questions", type=int, default=15, help="for each student, at most 18")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--compare", type=int, nargs="*", default=[], metavar="JOBS")
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
        questions = write_class(Path(folder, "in"), arguments.students, arguments.questions)
        reports = {}
        for jobs in (arguments.jobs, *arguments.compare):
            out = Path(folder, f"out-{jobs}")
            before = spent()
            seconds = timed(
                "grade-class", Path(folder, "in"), "-o", out, "-j", jobs, "--seed", "benchmark"
            )
            # But for what a grading keeps for itself.
            files = (p for p in out.rglob("*") if p.is_file() and ".graded" not in p.parts)
            reports[jobs] = {p.relative_to(out): p.read_bytes() for p in files}
            used = spent() - before
            cores = min(jobs, os.cpu_count() or 1)
            print(
                f"grade-class: {arguments.students} students, {questions} questions, -j {jobs}: "
                f"{seconds:.0f} s, {1000 * seconds / questions:.0f} ms a question"
            )
            print(
                f"  {used:.1f} s of processor time, {1000 * used / questions:.1f} ms a question: "
                f"{used / cores:.0f} s if {cores} cores were busy all the time, "
                f"{100 * used / cores / seconds:.0f} % of what it took"
            )
        for jobs in arguments.compare:
            same = reports[jobs] == reports[arguments.jobs]
            print(f"-j {jobs} and -j {arguments.jobs}: {'equal' if same else 'DIFFERENT'} reports")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"memory: {peak:.0f} MB in the largest process; each job adds one that imports torch")


if __name__ == "__main__":
    main()
