"""The parts of ``benchmarks.gpu``: what each measures, in order of worth.

==============  ====================================================================================
tests           every test that is marked for a device, bfloat16 and ``torch.compile`` included
speed           tokens per second of each preset in fp32, tf32 and bf16, beside ``nn.Transformer``;
                with peak memory, the input's share of the time, and the share of the device's limit
graphs          the same updates replayed from CUDA graphs, as a training on a GPU makes them
quality         Transformer-tiny as its preset has it, to the end: its test scores, and the seconds
                to validation BLEU 30 and 36
joeynmt         the contest of ``benchmarks.train``, with JoeyNMT where ``--joeynmt`` names a Python
reach-PRESET    seconds of a training of three minutes to validation BLEU 30 and 36
compiled        speed on one batch, with ``torch.compile`` and without
notebook-NAME   the capstone's notebooks in full mode
==============  ====================================================================================

A part gives rows as it gets them. What it measured lies in the work folder, and is not measured
again, down to the single test and the single row of a table.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import finished_runs, quality, tested, train
from benchmarks.gpu_job import Job, Row, Setting, UnfinishedError
from benchmarks.gpu_speed import compiled, graphs, speed
from benchmarks.race import read_arguments
from seqattn.data import read_split
from seqattn.evaluation import evaluate
from seqattn.precision import computes_bf16
from seqattn.training import RunFolder, new_run, resumed_run
from seqattn.translator import Translator

ROOT = Path(__file__).resolve().parents[1]
PYTEST_ENDED = (0, 1, 5)  # all passed; some failed; none was left to run
MARK = "pytest.mark.device"
NOTEBOOKS = {
    name: ROOT / "chapters" / f"{name}.py" for name in ("18_build", "19_judge", "20_study")
}
TRAININGS = {"18_build": Path("runs/capstone/main")}  # in the folder of the notebooks

# --- the tests -----------------------------------------------------------------------------------


def tests(job: Job) -> Iterator[Row]:
    """Run what is marked for a device, on this one."""
    path = job.folder("tests") / "tests.jsonl"
    # Only the files that bear the mark: others want packages that a training machine may lack.
    files = sorted(str(f) for f in (ROOT / "tests").rglob("test_*.py") if MARK in f.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "-p", "no:cacheprovider"]
    command += ["-p", tested.__name__, "-m", "device", "-k", job.device.type, *files]
    # Each row of their tables; and each is kept when it ends.
    every = os.environ | {"SEQATTN_TESTS": "thorough", tested.FILE: str(path)}
    done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, env=every)
    if done.returncode not in PYTEST_ENDED:
        raise RuntimeError(f"pytest ended with {done.returncode}; see tests.log")
    yield count_tests(tested.read_lines(path))


def count_tests(lines: Sequence[tested.Line]) -> Row:
    """Count what tests have left."""
    stands = tested.standings(lines)
    outcomes = [line["outcome"] for line in stands.values()]
    bad = [name for name, line in stands.items() if line["outcome"] in ("failed", "began")]
    row: Row = {
        "passed": outcomes.count("passed"),
        "skipped": outcomes.count("skipped"),
        "seconds": round(sum(float(line["seconds"]) for line in stands.values()), 1),
    }
    if bad or not row["passed"]:
        row["failed"] = f"tests: {', '.join(bad) or 'none passed'}"
        row["failing"] = bad
    return row


# --- beside others --------------------------------------------------------------------------------


def joeynmt(job: Job) -> Iterator[Row]:
    """Hold the contest of ``benchmarks.train`` on this device."""
    corpus = job.setting.corpus.name
    given = ["--device", str(job.device), "--corpus", corpus, "--rounds", "3", "--seconds", "1"]
    given += ["--joeynmt", job.joeynmt] if job.joeynmt else []

    def hold() -> Row:
        parts = train.hold(read_arguments("", given, device=True))
        return {title: [asdict(row) for row in rows] for title, rows in parts.items()}

    row = job.cell(f"joeynmt-{bool(job.joeynmt)}", hold)
    yield row if "failed" in row else {"parts": row, "joeynmt": bool(job.joeynmt)}


# --- whole trainings -----------------------------------------------------------------------------


def train_to_the_end(job: Job, name: str, folder: Path, budget: dict[str, Any]) -> Row:
    """Train a preset in a folder, or go on there; give the seconds before its first update.

    Raises
    ------
    UnfinishedError
        If a signal came first. The run is saved.
    """
    preset, prepared = job.setting.presets[name], folder / "prepared.json"
    run, began = RunFolder(folder / "run"), time.perf_counter()
    if run.last.is_file() and prepared.is_file():
        trainer = resumed_run(run.path, device=job.device, quiet=True)
    else:
        settings = {**budget, "bf16": computes_bf16(job.device)}
        trainer = new_run(
            run.path,
            job.setting.corpus_of(name),
            model=preset.model,
            training=replace(preset.training, **settings),
            subwords=preset.subwords,
            joint=preset.joint,
            min_count=preset.min_count if preset.subwords == 0 else None,
            device=job.device,
            overwrite=True,
            quiet=True,
        )
        row = {"prepared_seconds": round(time.perf_counter() - began, 1)}
        prepared.write_text(json.dumps(row), encoding="utf-8")
    outcome = trainer.run()
    if outcome.reason == "interrupted":
        raise UnfinishedError(f"saved at update {outcome.state.step}")
    return json.loads(prepared.read_text(encoding="utf-8"))


def reach(job: Job, name: str) -> Iterator[Row]:
    """Say when a short training first had each BLEU on the validation pairs."""
    folder = job.folder(f"reach-{name}")
    found = train_to_the_end(job, name, folder, job.setting.budget)
    yield {"what": f"{name}, short", **found, **reached(folder / "run", job.setting.marks)}


def reached(run: Path, marks: Sequence[float]) -> Row:
    """Say when a run first had each BLEU, and what it came to."""
    told = RunFolder(run).records()
    records = [r for r in told if r["kind"] == "valid"]
    pace = statistics.median(r["tokens_per_second"] for r in told if r["kind"] == "train")
    first = {
        f"{mark:g}": next((r["seconds"] for r in records if r["bleu"] >= mark), None)
        for mark in marks
    }
    best = max(records, key=lambda record: record["bleu"])
    return {
        "seconds_to": first,
        "best_bleu": round(best["bleu"], 2),
        "seconds": records[-1]["seconds"],
        "updates": records[-1]["step"],
        "tokens_per_second": pace,
    }


def full_quality(job: Job) -> Iterator[Row]:
    """Train Transformer-tiny as long as its preset says, and test it as the book's runs are."""
    name = "transformer-tiny"
    folder = job.folder("quality")
    found = train_to_the_end(job, name, folder, {})
    run = RunFolder(folder / "run")
    if not (run.path / "test.json").is_file():
        translator = Translator.load(run.path, device=job.device)
        pairs = read_split(job.setting.corpus_of(name), "test")
        run.write("test.json", evaluate(translator, pairs, details=True).to_dict())
    if not (run.path / "test-beam5-tokenized.json").is_file():
        quality.translate_tests(run.path, str(job.device))
    marks = reached(run.path, job.setting.marks)
    yield {
        "what": name,
        **found,
        **marks,
        "run": {**finished_runs.read_run(run.path), "machine": None},
    }


def notebook(job: Job, name: str) -> Iterator[Row]:
    """Run a notebook in full mode, in one folder with those before it."""
    import nbclient

    from tools import notebooks

    read = notebooks.read_source(NOTEBOOKS[name])
    flags = [cell for cell in read.cells if "\nFULL = False" in f"\n{cell.source}"]
    if len(flags) != 1:
        raise ValueError(f"{name} has {len(flags)} cells with FULL = False; expected one")
    flags[0].source = flags[0].source.replace("FULL = False", "FULL = True")

    def run() -> Row:
        began = time.perf_counter()
        client = nbclient.NotebookClient(
            read,
            timeout=None,
            kernel_name="python3",
            resources={"metadata": {"path": str(job.folder("notebooks"))}},
        )
        try:
            client.execute()
        except (AssertionError, nbclient.exceptions.DeadKernelError) as error:
            raise UnfinishedError("its kernel was ended") from error  # so nbclient tells of SIGTERM
        return {"seconds": round(time.perf_counter() - began, 1)}

    try:
        yield {"what": name, **job.cell(f"notebook-{name}", run)}
    finally:
        yield from trained_in(job, name)


def trained_in(job: Job, name: str) -> Iterator[Row]:
    """Say what the training of a notebook reached, be it finished or not."""
    folder = RunFolder(job.folder("notebooks") / TRAININGS.get(name, "none"))
    if any(record["kind"] == "valid" for record in folder.records()):
        yield {"what": f"{name}, its training", **reached(folder.path, job.setting.marks)}


# --- all of them ---------------------------------------------------------------------------------

Part = Callable[[Job], Iterator[Row]]


def parts(setting: Setting) -> dict[str, Part]:
    """List the parts in order of worth."""
    return {
        "tests": tests,
        "speed": speed,
        "graphs": graphs,
        "quality": full_quality,
        "joeynmt": joeynmt,
        "compiled": compiled,
        **{f"reach-{name}": lambda job, name=name: reach(job, name) for name in setting.reach},
        **{f"notebook-{name}": lambda job, name=name: notebook(job, name) for name in NOTEBOOKS},
    }
