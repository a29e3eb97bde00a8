"""How fast each preset learns on a device: the parts ``speed``, ``graphs`` and ``compiled``."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.gpu_job import Job, Row
from benchmarks.race import CPU, matrix_product_rate, settle, timed
from seqattn.attention import causal_mask, padding_mask
from seqattn.data import Batches, Example, Vocabularies, encode_pairs, read_split
from seqattn.models import ModelConfig, build_model
from seqattn.models.output_layer import tie_matrices
from seqattn.models.seq2seq import Output
from seqattn.models.transformer import SinusoidalPositions
from seqattn.specials import PAD
from seqattn.training import make_optimizer, update
from seqattn.training.graphs import GraphedUpdates, repeat
from seqattn.training.losses import attention_penalty
from seqattn.training.presets import Preset

PRECISIONS = ("bf16", "tf32", "fp32")
PEERS = {f"nn.Transformer as {name}": name for name in ("transformer-tiny", "transformer-small")}


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

    def make_all(self) -> int:
        """Make an update for each batch: they are of many sizes, and only a whole pass is fair."""
        return sum(self.make() for _ in self.rows)

    def take_all(self) -> int:
        """Bring each batch to the device."""
        return sum(self.take() for _ in self.rows)

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
        self.make_all()
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
    # Plain attention, because the counter does not see the products of the fused one.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
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
        found = timed(work.make_all, setting.seconds, device)
        peak = torch.cuda.max_memory_allocated(device) / 2**20 if gpu else None
        work.once()  # still a number?
        brought = timed(work.take_all, setting.seconds / 10, device)
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
            done = timed(work.make_all, job.setting.seconds / 3, job.device)
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
