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
notebook-NAME   the capstone's notebooks in full mode, one after the other
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
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import quality, tested, train
from benchmarks.race import (
    CPU,
    matrix_product_rate,
    read_arguments,
    settle,
    timed,
)
from benchmarks.study import Study
from seqattn.attention import causal_mask, padding_mask
from seqattn.data import Batches, CorpusConfig, Example, Vocabularies, encode_pairs, read_split
from seqattn.evaluation import evaluate
from seqattn.models import ModelConfig, build_model
from seqattn.models.output_layer import tie_matrices
from seqattn.models.seq2seq import Output
from seqattn.models.transformer import SinusoidalPositions
from seqattn.precision import computes_bf16
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
from seqattn.training.graphs import GraphedUpdates, repeat
from seqattn.training.losses import attention_penalty
from seqattn.training.presets import Preset
from seqattn.translator import Translator

ROOT = Path(__file__).resolve().parents[1]
TRIES = 2  # of a measurement that is cut short
PYTEST_ENDED = (0, 1, 5)  # all passed; some failed; none was left to run
MARK = "pytest.mark.device"
PRECISIONS = ("bf16", "tf32", "fp32")
TOY = ("fixed", "toy")  # presets that are made for the toy corpus
PEERS = {f"nn.Transformer as {name}": name for name in ("transformer-tiny", "transformer-small")}
NOTEBOOKS = {
    name: ROOT / "chapters" / f"{name}.py" for name in ("18_build", "19_judge", "20_study")
}
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
        seconds=1.5,
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
        except UnfinishedError:
            raise
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
    # Only the files that bear the mark: others want packages that a training machine may lack.
    files = sorted(str(f) for f in (ROOT / "tests").rglob("test_*.py") if MARK in f.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "-p", "no:cacheprovider"]
    command += ["-p", tested.__name__, "-m", "device", "-k", job.device.type, *files]
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
        row["failing"] = bad
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
        self.graphed: GraphedUpdates | None = None
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
        batch = self.batches.take(rows).to(self.device)
        if self.graphed is not None:
            made = self.graphed(batch, lr=1e-4)
        else:
            made = update(
                self.called,
                self.optimizer,
                batch,
                lr=1e-4,
                smoothing=self.preset.training.smoothing,
                penalty=self.penalty,
                bf16=self.bf16,
            )
        self.norm = made.norm
        return self.batches.count_tokens(rows)

    def record(self) -> GraphedUpdates:
        """Give the same updates as CUDA graphs; on a CPU, which has none, done anew."""
        return GraphedUpdates(
            self.model,
            self.optimizer,
            recorder=None if self.device.type == "cuda" else repeat,
            smoothing=self.preset.training.smoothing,
            penalty=self.penalty,
            bf16=self.bf16,
        )

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


def in_turns(job: Job, work: Updates, ways: dict[str, Callable[[], None]]) -> Row:
    """Time plain updates and those of another way in turns; give the medians and their ratios."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(3):
        for way, go in ways.items():
            go()
            work.once()
            done = timed(work.make, job.setting.seconds / 3, job.device)
            found[way].append(done["tokens"] / done["seconds"])
    plain, other = found.values()
    ratios = sorted(b / a for a, b in zip(plain, other, strict=True))
    return {
        **{way: round(statistics.median(values), 1) for way, values in found.items()},
        "ratio": round(ratios[1], 3),
        "low": round(ratios[0], 3),
        "high": round(ratios[-1], 3),
    }


def graphed_speed(job: Job, name: str, precision: str) -> Row:
    """Time updates from CUDA graphs and launched one by one, on the batches of the speed."""
    with products(precision):
        work = updates(job, name, precision, job.setting.sample, job.device)
        graphed, began = work.record(), time.perf_counter()

        def replay() -> None:
            work.graphed = graphed

        def launch() -> None:
            work.graphed = None

        replay()
        for _ in range(2):  # as usual, then recorded
            work.once()
        took = time.perf_counter() - began
        if not graphed.records():
            raise RuntimeError("its updates could not be recorded")
        row = in_turns(job, work, {"plain": launch, "graphs": replay})
    return {**row, "seconds_to_record": round(took, 1)}


def graphs(job: Job) -> Iterator[Row]:
    """Compare updates from CUDA graphs, which a training on a GPU makes, with plain ones."""
    for precision in PRECISIONS:
        for name in job.setting.presets:
            row = job.cell(f"graphs-{name}-{precision}", graphed_speed, job, name, precision)
            yield {"what": name, "precision": precision, **row}


def compiled_speed(job: Job, name: str, precision: str) -> Row:
    """Time one batch of the middle with the compiler's program and without, in turns."""
    with products(precision):
        work = updates(job, name, precision, 1, job.device)
        work.once()
        torch.compiler.reset()
        program = torch.compile(work.model, backend=job.setting.compiler)

        def call_program() -> None:
            work.called = program

        def call_model() -> None:
            work.called = work.model

        call_program()
        to_compile = work.once()
        row = in_turns(job, work, {"plain": call_model, "compiled": call_program})
    return {**row, "seconds_to_compile": round(to_compile, 1)}


def compiled(job: Job) -> Iterator[Row]:
    """Compile what may be trained so, the usual precision of a GPU first.

    Transformers come first: the compiler writes out a recurrent decoder's loop, and takes longer.
    """
    presets = job.setting.presets
    order = sorted(presets, key=lambda name: presets[name].model.architecture != "transformer")
    for precision in PRECISIONS:
        for name in order:
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
        quality.test_again(run.path, str(job.device))
    marks = reached(run.path, job.setting.marks)
    yield {"what": name, **found, **marks, "run": {**quality.read_run(run.path), "machine": None}}


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

    yield {"what": name, **job.cell(f"notebook-{name}", run)}


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
