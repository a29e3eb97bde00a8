"""What a GPU does with all this, in order of worth: ``python -m benchmarks.gpu [--book]``.

Each part is a process of its own that ends within eight minutes, so ten minutes with a GPU bring
the first part or two, and the same command goes on with the others later: what was measured is in
``--work`` and is not measured again, down to the single test and the single row of a table. A part
that fails says so, and the next one begins. What was cut short twice is passed over, so that it
cannot keep all that comes after it from its turn. The parts:

==============  ====================================================================================
tests           every test that is marked for a device, bfloat16 and ``torch.compile`` included
speed           tokens per second of each preset in fp32, tf32 and bf16, beside ``nn.Transformer``;
                with peak memory, the input's share of the time, and the share of the device's limit
joeynmt         the contest of ``benchmarks.train``, with JoeyNMT where ``--joeynmt`` names a Python
reach-PRESET    seconds of a training of three minutes to validation BLEU 30 and 36
quality         Transformer-tiny as its preset has it, to the end, and its test scores
notebook-NAME   the capstone's notebooks in full mode, one after the other
compiled        speed on one batch, with ``torch.compile`` and without
==============  ====================================================================================

``--book`` stores what came in ``seqattn/data/measured/gpu.json`` and on the page of benchmarks.
``--device cpu --tiny`` runs everything in minutes of a CPU, to see that it works; the book does not
take that.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import quality, tested, train
from benchmarks.measure import write_block
from benchmarks.race import (
    CPU,
    Standing,
    matrix_product_rate,
    read_arguments,
    settle,
    standing_lines,
    timed,
)
from benchmarks.study import MEASURED, Study
from seqattn.attention import causal_mask, padding_mask
from seqattn.data import Batches, CorpusConfig, Example, Vocabularies, encode_pairs, read_split
from seqattn.evaluation import evaluate
from seqattn.models import ModelConfig, build_model
from seqattn.models.output_layer import tie_matrices
from seqattn.models.seq2seq import Output
from seqattn.models.transformer import SinusoidalPositions
from seqattn.precision import computes_bf16
from seqattn.process import prepare_process
from seqattn.specials import PAD
from seqattn.training import (
    RunFolder,
    make_optimizer,
    new_run,
    preset_names,
    read_preset,
    resumed_run,
    update,
)
from seqattn.training.losses import attention_penalty
from seqattn.training.presets import Preset
from seqattn.translator import Translator

ROOT = Path(__file__).resolve().parents[1]
# Seconds: a part is asked to end, and then ended.
ASKED, ENDED = 7.25 * 60, 8 * 60
TRIES = 2  # of a measurement that is cut short
PYTEST_ENDED = (0, 1, 5)  # all passed; some failed; none was left to run
PRECISIONS = ("bf16", "tf32", "fp32")
TOY = ("fixed", "toy")  # presets that are made for the toy corpus
PEERS = {f"nn.Transformer as {name}": name for name in ("transformer-tiny", "transformer-small")}
NOTEBOOKS = {
    name: ROOT / "chapters" / f"{name}.py" for name in ("18_build", "19_judge", "20_study")
}
NOT_YET = "Not yet measured on a GPU: `python -m benchmarks.gpu --book` does it where there is one."
Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """How much of everything."""

    presets: dict[str, Preset]
    corpora: dict[str, CorpusConfig]  # of the presets that are not of the first
    corpus: CorpusConfig
    seconds: float  # of a measurement of speed
    sample: int  # batches that it goes through
    reach: tuple[str, ...]  # presets
    budget: dict[str, Any]  # of their trainings
    marks: tuple[float, ...]  # BLEU
    compiler: str

    def corpus_of(self, preset: str) -> CorpusConfig:
        """Give what a preset is for."""
        return self.corpora.get(preset, self.corpus)


def full() -> Setting:
    """Give the setting whose numbers count."""
    return Setting(
        presets={name: read_preset(name) for name in preset_names()},
        corpora={name: CorpusConfig() for name in TOY},
        corpus=CorpusConfig("multi30k", "de", "en"),
        seconds=3.0,
        sample=12,
        reach=("transformer-tiny", "luong-parallel", "bahdanau"),
        budget={"minutes": 3.0, "epochs": None},
        marks=(30.0, 36.0),
        compiler="inductor",
    )


def tiny() -> Setting:
    """Give a setting for a CPU in which nothing is left out but size."""
    short = {"steps": 4, "epochs": None, "validate_every": 2, "batch_tokens": 64, "average": 2,
             "log_every": 1}  # fmt: skip
    small = {
        "bahdanau": ModelConfig("bahdanau", d_embed=8, d_hidden=8),
        "transformer-tiny": ModelConfig(
            "transformer", d_hidden=8, d_feedforward=8, heads=2, tie="all"
        ),
    }
    presets = {
        name: replace(
            read_preset(name),
            model=model,
            subwords=0,
            training=replace(read_preset(name).training, **short),
        )
        for name, model in small.items()
    }
    return Setting(
        presets=presets,
        corpora={},
        corpus=CorpusConfig(pairs=400),
        seconds=0.01,
        sample=2,
        reach=("bahdanau",),
        budget={},
        marks=(0.0, 101.0),
        compiler="eager",
    )


class UnfinishedError(Exception):
    """A part was asked to end, and goes on another time."""


@dataclass(frozen=True)
class Job:
    """Where a part works, and with what."""

    device: torch.device
    setting: Setting
    study: Study
    joeynmt: str | None

    def cell(self, key: str, measure: Callable[..., Row], *arguments: Any) -> Row:
        """Give a measurement from the work folder; measure first if it is not there.

        What fails is told in its row, and is tried again the next time. What was cut short
        :data:`TRIES` times is not: it would be so again, and those after it would never begin.
        """
        begun = self.study.work / f"{key}.begun"
        tries = len(begun.read_text(encoding="utf-8")) if begun.is_file() else 0
        if tries >= TRIES:
            return {"failed": f"{key} did not end, {tries} times; remove {begun} to try again"}
        self.study.work.mkdir(parents=True, exist_ok=True)
        begun.write_text("." * (tries + 1), encoding="utf-8")
        try:
            row = self.study.run(key, measure, *arguments)
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            row = {"failed": told(error)}
        begun.unlink()
        return row

    def folder(self, name: str) -> Path:
        """Give a folder of this part's own."""
        path = self.study.work / name
        path.mkdir(parents=True, exist_ok=True)
        return path


def told(error: BaseException) -> str:
    """Give the first line of an error, with its kind."""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"[:200]


# --- the tests -----------------------------------------------------------------------------------


def tests(job: Job) -> Iterator[Row]:
    """Run what is marked for a device, on this one."""
    path = job.folder("tests") / "tests.jsonl"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "-p", "no:cacheprovider"]
    command += ["-p", tested.__name__, "-m", "device", "-k", job.device.type, "tests"]
    # Each row of their tables; and each is kept when it ends.
    every = os.environ | {"SEQATTN_TESTS": "thorough", tested.FILE: str(path)}
    done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, env=every)
    if done.returncode not in PYTEST_ENDED:
        raise RuntimeError(f"pytest ended with {done.returncode}")
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
    return row


# --- speed ---------------------------------------------------------------------------------------


class TorchTransformer(nn.Module):
    """PyTorch's own Transformer in the sizes of one of ours, called as ours is."""

    def __init__(self, config: ModelConfig, source: int, target: int):
        super().__init__()
        size = config.d_hidden
        sizes = {"nhead": config.heads, "dim_feedforward": config.d_feedforward,
                 "dropout": config.dropout, "batch_first": True, "norm_first": True}  # fmt: skip
        self.scale = size**0.5
        self.source = nn.Embedding(source, size, padding_idx=PAD)
        self.target = nn.Embedding(target, size, padding_idx=PAD)
        self.positions, self.dropout = SinusoidalPositions(), nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            size,
            num_decoder_layers=config.layers,
            # Built here, because PyTorch warns of its own choice of nested tensors.
            custom_encoder=nn.TransformerEncoder(
                nn.TransformerEncoderLayer(size, **sizes),
                config.layers,
                nn.LayerNorm(size),
                enable_nested_tensor=False,
            ),
            **sizes,
        )
        self.vocabulary = nn.Linear(size, target)
        tie_matrices(config.tie, self.source, self.target, self.vocabulary)

    def _read(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        return self.dropout(self.positions(embedding(ids) * self.scale))

    def forward(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Output:
        padding = ~padding_mask(lengths, source.shape[1])  # here True means: do not look
        states = self.transformer(
            self._read(self.source, source),
            self._read(self.target, inputs),
            tgt_mask=~causal_mask(inputs.shape[1], device=inputs.device),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return Output(self.vocabulary(states), None)


def preset_of(name: str) -> str:
    """Give the preset in whose sizes a contestant is built."""
    return PEERS.get(name, name)


def contestants(job: Job) -> list[str]:
    """Name what is timed: our presets, and PyTorch's Transformer beside its like."""
    ours = list(job.setting.presets)
    return ours + [peer for peer, name in PEERS.items() if name in ours]


def read_examples(job: Job, name: str) -> dict:
    """Read a preset's pairs as ids, and the sizes of its vocabularies."""
    preset, corpus = job.setting.presets[name], job.setting.corpus_of(name)
    reading = {key: getattr(preset, key) for key in ("subwords", "joint", "min_count")}
    copying = preset.model.copy
    key = "-".join(map(str, ("examples", corpus.name, *reading.values(), copying)))

    def read() -> dict:
        pairs = read_split(corpus, "train")
        vocabularies = Vocabularies.learn(pairs, corpus.languages, **reading)
        examples = encode_pairs(pairs, vocabularies, copying=copying)
        return {"sizes": list(map(len, vocabularies)), "examples": examples}

    return job.study.run(key, read)


def build(job: Job, name: str, sizes: Sequence[int]) -> nn.Module:
    """Build what is to be timed, with fresh weights, on the CPU."""
    torch.manual_seed(0)
    config = job.setting.presets[preset_of(name)].model
    made = TorchTransformer(config, *sizes) if name in PEERS else build_model(config, *sizes)
    return made.train()


@contextmanager
def products(precision: str) -> Iterator[None]:
    """Let matrix products of 32 bits keep them all, or have 19 of them as tf32 does."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    shorter = precision == "tf32"
    torch.set_float32_matmul_precision("high" if shorter else "highest")
    torch.backends.cudnn.allow_tf32 = shorter
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


@dataclass
class Updates:
    """Updates of one model on some batches, again and again."""

    preset: Preset
    model: nn.Module
    batches: Batches
    rows: Sequence[list[int]]
    device: torch.device
    bf16: bool

    def __post_init__(self) -> None:
        self.model = self.model.to(self.device)
        self.optimizer = make_optimizer(self.model)
        self.called: nn.Module = self.model
        self.penalty = attention_penalty(self.preset.training)
        self.stream = cycle(self.rows)

    def take(self) -> int:
        """Bring a batch to the device, and do no more."""
        rows = next(self.stream)
        self.batches.take(rows).to(self.device)
        return self.batches.count_tokens(rows)

    def make(self) -> int:
        """Make an update; count its target tokens."""
        rows = next(self.stream)
        made = update(
            self.called,
            self.optimizer,
            self.batches.take(rows).to(self.device),
            lr=1e-4,
            smoothing=self.preset.training.smoothing,
            penalty=self.penalty,
            bf16=self.bf16,
        )
        self.norm = made.norm
        return self.batches.count_tokens(rows)

    def once(self) -> float:
        """Give the seconds of an update for each batch."""
        settle(self.device)
        began = time.perf_counter()
        for _ in self.rows:
            self.make()
        settle(self.device)
        if not self.norm.item() < 1e9:
            raise ArithmeticError(f"the norm of the gradient is {self.norm.item()}")
        return time.perf_counter() - began


def updates(job: Job, name: str, precision: str, sample: int, device: torch.device) -> Updates:
    """Prepare updates on so many batches, spread evenly over an epoch."""
    preset, data = job.setting.presets[preset_of(name)], read_examples(job, preset_of(name))
    examples = [Example(*pair) for pair in data["examples"]]
    batches = Batches(examples, tokens=preset.training.batch_tokens)
    plan = sorted(batches.plan(0), key=lambda rows: len(examples[rows[0]].target))
    rows = [plan[(2 * i + 1) * len(plan) // (2 * sample)] for i in range(sample)]
    model = build(job, name, data["sizes"])
    return Updates(preset, model, batches, rows, device, precision == "bf16")


def operations(job: Job, name: str) -> Row:
    """Count the operations of matrix products for a target token, on a CPU: it has no others.

    On a GPU a recurrent layer is one operator of cuDNN's, which PyTorch does not count.
    """
    work = updates(job, name, "fp32", 1, CPU)
    with FlopCounterMode(display=False) as counter:
        tokens = work.make()
    return {"flop_per_token": counter.get_total_flops() / tokens}


def tokens_per_second(job: Job, name: str, precision: str) -> Row:
    """Time updates, and say what they need."""
    setting, device = job.setting, job.device
    counted = job.study.run(f"operations-{name}", operations, job, name)
    with products(precision):
        work = updates(job, name, precision, setting.sample, device)
        work.once()  # warm
        gpu = device.type == "cuda"
        if gpu:
            torch.cuda.reset_peak_memory_stats(device)
        found = timed(work.make, setting.seconds, device)
        peak = torch.cuda.max_memory_allocated(device) / 2**20 if gpu else None
        work.once()  # still a number?
        brought = timed(work.take, setting.seconds / 10, device)
        kind = torch.bfloat16 if precision == "bf16" else torch.float32
        width, rows = work.preset.model.d_hidden, work.preset.training.batch_tokens
        limit = matrix_product_rate(kind, rows, device, hidden=width, seconds=setting.seconds / 15)
    speed = found["tokens"] / found["seconds"]
    return {
        "tokens_per_second": round(speed, 1),
        "peak_mib": None if peak is None else round(peak, 1),
        "input_share": round(speed * brought["seconds"] / brought["tokens"], 4),
        "limit_share": round(speed * counted["flop_per_token"] / limit, 4),
    }


def speed(job: Job) -> Iterator[Row]:
    """Time every contestant in every precision."""
    for precision in PRECISIONS:
        for name in contestants(job):
            row = job.cell(f"speed-{name}-{precision}", tokens_per_second, job, name, precision)
            yield {"what": name, "precision": precision, **row}


def compiled_speed(job: Job, name: str, precision: str) -> Row:
    """Time one batch of the middle with the compiler's program and without, in turns."""
    with products(precision):
        work = updates(job, name, precision, 1, job.device)
        work.once()
        torch.compiler.reset()
        program = torch.compile(work.model, backend=job.setting.compiler)
        found: dict[str, list[float]] = {"plain": [], "compiled": []}
        work.called = program
        to_compile = work.once()
        for _ in range(3):
            for kind, called in (("plain", work.model), ("compiled", program)):
                work.called = called
                work.once()
                done = timed(work.make, job.setting.seconds / 3, job.device)
                found[kind].append(done["tokens"] / done["seconds"])
    ratios = sorted(b / a for a, b in zip(found["plain"], found["compiled"], strict=True))
    plain, compiled = (round(sorted(values)[1], 1) for values in found.values())
    return {
        "plain": plain,
        "compiled": compiled,
        "ratio": round(ratios[1], 3),
        "low": round(ratios[0], 3),
        "high": round(ratios[-1], 3),
        "seconds_to_compile": round(to_compile, 1),
    }


def compiled(job: Job) -> Iterator[Row]:
    """Compile what may be trained so, the usual precision of a GPU first."""
    for precision in PRECISIONS:
        for name in job.setting.presets:
            row = job.cell(f"compiled-{name}-{precision}", compiled_speed, job, name, precision)
            yield {"what": name, "precision": precision, **row}


def joeynmt(job: Job) -> Iterator[Row]:
    """Hold the contest of ``benchmarks.train`` on this device."""
    corpus = job.setting.corpus.name
    given = ["--device", str(job.device), "--corpus", corpus, "--rounds", "3", "--seconds", "2"]
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
    records = [r for r in RunFolder(folder / "run").records() if r["kind"] == "valid"]
    first = {
        f"{mark:g}": next((r["seconds"] for r in records if r["bleu"] >= mark), None)
        for mark in job.setting.marks
    }
    best = max(records, key=lambda record: record["bleu"])
    yield {
        "what": name,
        **found,
        "seconds_to": first,
        "best_bleu": round(best["bleu"], 2),
        "seconds": records[-1]["seconds"],
        "updates": records[-1]["step"],
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
        quality.test_again(run.path, str(job.device))
    yield {**found, "run": {**quality.read_run(run.path), "machine": None}}


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
        client.execute()
        return {"seconds": round(time.perf_counter() - began, 1)}

    yield {"what": name, **job.cell(f"notebook-{name}", run)}


# --- all of them ---------------------------------------------------------------------------------

Part = Callable[[Job], Iterator[Row]]


def parts(setting: Setting) -> dict[str, Part]:
    """List the parts in order of worth."""
    return {
        "tests": tests,
        "speed": speed,
        **{f"reach-{name}": lambda job, name=name: reach(job, name) for name in setting.reach},
        "joeynmt": joeynmt,
        "quality": full_quality,
        "compiled": compiled,
        **{f"notebook-{name}": lambda job, name=name: notebook(job, name) for name in NOTEBOOKS},
    }


def write(path: Path, state: str, rows: Sequence[Row], why: str | None = None) -> None:
    """Keep how a part stands; a reader never meets half a file."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps({"state": state, "why": why, "rows": rows}), encoding="utf-8")
    unfinished.replace(path)


def run_part(name: str, options: argparse.Namespace) -> None:
    """Do a part in this process, and keep its rows as they come."""
    prepare_process()
    setting = tiny() if options.tiny else full()
    study = Study("gpu", options.work / "cells", options.result)
    job = Job(torch.device(options.device), setting, study, options.joeynmt)
    path, rows = options.work / f"{name}.json", []
    write(path, "unfinished", rows)
    try:
        for row in parts(setting)[name](job):
            rows.append(row)
            write(path, "unfinished", rows)
            print(f"  {summary(row)}", flush=True)
    except UnfinishedError as error:
        return write(path, "unfinished", rows, told(error))
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        return write(path, "failed", rows, told(error))
    failed = [row["failed"] for row in rows if "failed" in row]
    write(path, "failed" if failed else "done", rows, "; ".join(failed)[:500] or None)


def summary(row: Row) -> str:
    """Tell a row on the terminal, in a line."""
    return ", ".join(f"{k} {v}" for k, v in row.items() if not isinstance(v, dict | list))


def run_apart(name: str, options: argparse.Namespace) -> None:
    """Do a part in a process of its own, and end it when its time is over."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--part", name]
    command += ["--device", options.device, "--work", str(options.work)]
    command += ["--tiny"] if options.tiny else []
    command += ["--joeynmt", options.joeynmt] if options.joeynmt else []
    path = options.work / f"{name}.json"
    write(path, "unfinished", [])
    with (options.work / f"{name}.log").open("w", encoding="utf-8") as log:
        status = obeyed(command, log)
    stands = json.loads(path.read_text(encoding="utf-8"))
    if stands["state"] == "unfinished" and stands["why"] is None:
        if status is None:
            write(path, "unfinished", stands["rows"], "its eight minutes were over")
        else:
            why = f"its process ended with {status}; see {name}.log"
            write(path, "failed", stands["rows"], why)


def obeyed(
    command: Sequence[str], log: IO[str], asked: float = ASKED, ended: float = ENDED
) -> int | None:
    """Run a command for no longer than a part may take; give its status, None if it was ended."""
    process = subprocess.Popen(command, cwd=ROOT, stderr=log, start_new_session=True)
    try:
        return process.wait(timeout=asked)
    except subprocess.TimeoutExpired:
        return None
    finally:  # Ctrl-C comes by here as well
        family = descendants(process.pid)  # a notebook's kernel has a session of its own
        if process.poll() is None:
            process.terminate()  # a training saves, and ends
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=ended - asked)
            family |= descendants(process.pid)
        with suppress(ProcessLookupError):  # whoever it started and left behind
            os.killpg(process.pid, signal.SIGKILL)
        for one in family & set(running()):
            with suppress(ProcessLookupError):
                os.kill(one.number, signal.SIGKILL)
        process.wait()


class Running(NamedTuple):
    """A process: numbers are used again, but not with the same beginning."""

    number: int
    began: str


def running() -> dict[Running, int]:
    """Give each process and the number of its parent; none where there is no /proc."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            rest = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            found[Running(int(path.parent.name), rest[19])] = int(rest[1])
    return found


def descendants(number: int) -> set[Running]:
    """Give whom a process has started, and whom those have."""
    everybody, found, new = running(), set[Running](), {number}
    while new:
        children = {one for one, parent in everybody.items() if parent in new} - found
        found |= children
        new = {one.number for one in children}
    return found


# --- what the book shows -------------------------------------------------------------------------


def collect(options: argparse.Namespace, card: Row) -> dict:
    """Put together what the parts have left."""
    found = {}
    for name in parts(tiny() if options.tiny else full()):
        path = options.work / f"{name}.json"
        if path.is_file():
            found[name] = json.loads(path.read_text(encoding="utf-8"))
    return {"card": card, "parts": found}


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Give a table in Markdown whose first column is words."""
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) - 1)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def _number(value: float | None, form: str = ",.0f") -> str:
    return "" if value is None else format(value, form)


def page_lines(record: dict | None) -> list[str]:
    """Give what the book's page says, in Markdown; that nothing was measured, if so it is."""
    if record is None:
        return [NOT_YET]
    card, stands, lines = record["card"], record["parts"], list[str]()
    # Rows of trainings bear the preset in the name of their part.
    rows: dict[str, list[Row]] = {}
    for name, part in stands.items():
        good = [row for row in part["rows"] if "failed" not in row]
        kind = name.partition("-")[0]
        rows.setdefault(kind, []).extend(good)

    def show(title: str, body: list[str]) -> None:
        lines.extend([f"**{title}**", "", *body, ""])

    if found := stands.get("tests", {}).get("rows"):
        told = found[0]
        bad = f"; not so {told['failed']}" if "failed" in told else ""
        text = f"{told['passed']} tests passed on the device, {told['skipped']} skipped{bad}."
        show("Tests", [text])
    if found := rows.get("speed"):
        heads = ("what", "precision", "tokens/s", "peak MiB", "input", "share of limit")
        body = [
            (r["what"], r["precision"], _number(r["tokens_per_second"]), _number(r["peak_mib"]),
             _number(r["input_share"], ".1%"), _number(r["limit_share"], ".1%"))
            for r in found
        ]  # fmt: skip
        show("Training", table(heads, body))
    if found := rows.get("reach"):
        marks = list(found[0]["seconds_to"])
        heads = ("preset", *(f"seconds to {mark}" for mark in marks), "best BLEU", "updates",
                 "seconds", "before the first update")  # fmt: skip
        body = [
            (r["what"], *(_number(r["seconds_to"][m]) or "not reached" for m in marks),
             _number(r["best_bleu"], ".2f"), _number(r["updates"]), _number(r["seconds"]),
             _number(r["prepared_seconds"], ".1f"))
            for r in found
        ]  # fmt: skip
        show("Validation BLEU, greedy, validations included in the time", table(heads, body))
    for found_row in rows.get("joeynmt", []):
        standings = {
            title: [Standing(**row) for row in standing]
            for title, standing in found_row["parts"].items()
        }
        lines += [*standing_lines(standings), ""]
        if not found_row["joeynmt"]:
            lines += ["JoeyNMT was not at hand.", ""]
    for found_row in rows.get("quality", []):
        groups = quality.aggregate([found_row["run"]])
        show("Transformer-tiny to the end of its preset", quality.summary_table(groups))
    if found := rows.get("compiled"):
        heads = ("what", "precision", "tokens/s", "compiled", "ratio", "seconds to compile")
        body = [
            (r["what"], r["precision"], _number(r["plain"]), _number(r["compiled"]),
             f"{r['ratio']:.2f} ({r['low']:.2f} to {r['high']:.2f})",
             _number(r["seconds_to_compile"]))
            for r in found
        ]  # fmt: skip
        show("Compiled, on one batch of middling length", table(heads, body))
    if found := rows.get("notebook"):
        body = [(r["what"], _number(r["seconds"])) for r in found]
        show("Notebooks in full mode", table(("notebook", "seconds"), body))
    left = [f"{name} ({part['state']}: {part['why'] or 'cut short'})"
            for name, part in stands.items() if part["state"] != "done"]  # fmt: skip
    left += [f"{name} (not begun)" for name in parts(full()) if name not in stands]
    if left:
        lines += [f"Not finished: {'; '.join(left)}.", ""]
    where = f"{card['device']}, CUDA {card['cuda']}, PyTorch {card['torch']}"
    return [*lines, f"Measured on {card['date']} by `{card['command']}`: {where}."]


# --- the command ---------------------------------------------------------------------------------


def make_card(options: argparse.Namespace, study: Study) -> Row:
    """Say what measures."""
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU"
    setting = "tiny" if options.tiny else "full"
    card = study.card(device=name, cuda=torch.version.cuda, setting=setting)
    return {**card, "command": f"{card['command']} --book"}


def check_folder(work: Path, card: Row) -> None:
    """Refuse to mix what two machines measured."""
    path, same = work / "card.json", ("device", "torch", "cuda", "setting")
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        other = [
            f"{key} {before[key]}, here {card[key]}" for key in same if before[key] != card[key]
        ]
        if other:
            raise SystemExit(
                f"{work} was measured with {'; '.join(other)}: name another folder with --work"
            )
    work.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(card), encoding="utf-8")


def main(given: Sequence[str] | None = None) -> None:
    """Do the parts that are not done, or those that are named; store what came if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="parts, by name; all if none is named")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu with --tiny")
    parser.add_argument("--tiny", action="store_true", help="small models, to try the command")
    parser.add_argument("--joeynmt", help="the Python of an environment with joeynmt==2.3")
    parser.add_argument("--work", type=Path, default=Path("runs") / "gpu", help="what was measured")
    parser.add_argument("--result", type=Path, default=MEASURED / "gpu.json")
    parser.add_argument("--book", action="store_true", help="store what came in the book")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    options.work = options.work.absolute()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no GPU here; --device cpu --tiny tries the command")
    if options.book and (options.tiny or device.type != "cuda"):
        raise SystemExit("--book stores what a GPU did, and not --tiny or --device cpu")
    known = list(parts(tiny() if options.tiny else full()))
    if unknown := [name for name in options.only if name not in known]:
        raise SystemExit(f"no part {unknown[0]!r}; expected some of {', '.join(known)}")
    if options.part:
        return run_part(options.part, options)
    study = Study("gpu", options.work / "cells", options.result)
    card = make_card(options, study)
    check_folder(options.work, card)
    for name in options.only or known:
        path = options.work / f"{name}.json"
        if path.is_file() and json.loads(path.read_text(encoding="utf-8"))["state"] == "done":
            print(f"{name}: done before", flush=True)
            continue
        print(f"{name}:", flush=True)
        run_apart(name, options)
        stands = json.loads(path.read_text(encoding="utf-8"))
        print(f"{name}: {stands['state']}" + (f", {stands['why']}" if stands["why"] else ""))
        if options.book:  # after each part: who has ten minutes may be cut off
            keep(study, collect(options, card))
    record = collect(options, card)
    print("", *page_lines(record), sep="\n")
    if options.book:
        keep(study, record)


def keep(study: Study, record: dict) -> None:
    """Store a record, and show it on the page."""
    study.write(record)
    write_block("gpu", page_lines(record))


if __name__ == "__main__":
    main()
