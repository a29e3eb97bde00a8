"""Training speed, side by side: ``python -m benchmarks.train [--joeynmt PYTHON]``.

Target tokens per second on Multi30k (or the toy corpus), embeddings of 256, states of 512,
8,000 subwords. First like for like: the same batches, 32 bits, and for JoeyNMT the same
architecture (as set here, it feeds its attentional vector to the next step). Then each as it
comes: random batches for the tutorial's loop and for JoeyNMT, buckets and bfloat16 for ours, on a
GPU with updates that are replayed from CUDA graphs.

The limit is what a matrix product of the model's own size does on this machine in the same
precision, divided by the operations that an update needs for a token, counted while it runs.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.race import (
    CPU,
    DROPOUT,
    EMBED,
    HIDDEN,
    JOEY_BAHDANAU,
    JOEY_LUONG,
    Standing,
    commands,
    matrix_product_rate,
    obey,
    race,
    read_arguments,
    report,
    write_examples,
    write_standings,
)
from benchmarks.textbook import TextbookModel
from seqattn.data import Batches, Example
from seqattn.models import ModelConfig, build_model
from seqattn.training import make_optimizer, update
from seqattn.training.graphs import GraphedUpdates, shape_of

SIZES = {"d_embed": EMBED, "d_hidden": HIDDEN, "dropout": DROPOUT}
MODELS = {
    "bahdanau": ModelConfig("bahdanau", **SIZES),
    "luong": ModelConfig("luong", **SIZES),
    "luong additive": ModelConfig("luong", score="additive", **SIZES),
    "luong, not fed": ModelConfig("luong", input_feeding=False, **SIZES),
}
Data = dict


def ours(
    data: Data,
    model: str,
    batching: str,
    bf16: bool,
    device: torch.device = CPU,
    graphs: bool = False,
    wrap: Callable[[nn.Module], nn.Module] | None = None,
):
    """Give what makes an update of one of our models and counts its target tokens.

    With ``graphs`` the updates are replayed, as a training on a GPU makes them; all shapes of
    batches are recorded here. ``wrap`` makes of the model what is called, as where several
    processes train together.
    """
    torch.manual_seed(0)
    built = build_model(MODELS[model], *data["sizes"]).to(device).train()
    optimizer, called = make_optimizer(built), wrap(built) if wrap else built
    batches = Batches([Example(*pair) for pair in data["examples"]])
    options = {"smoothing": 0.1, "bf16": bf16}
    graphed = GraphedUpdates(built, optimizer, **options) if graphs else None

    def learn(rows: list[int]) -> int:
        batch = batches.take(rows).to(device)
        if graphed is not None:
            made = graphed(batch, lr=5e-4)
        else:
            made = update(called, optimizer, batch, lr=5e-4, **options)
        if not made.norm.item() < 1e9:
            raise SystemExit("the update is no number")
        return batches.count_tokens(rows)

    if graphed is not None:
        shapes = {shape_of(batches.take(rows)): rows for rows in data[batching]}
        for rows in shapes.values():
            learn(rows)
            learn(rows)
        if not graphed.records():
            raise SystemExit("its updates could not be recorded")
    stream = cycle(data[batching])
    return lambda: learn(next(stream))


def textbook(data: Data, batching: str, device: torch.device = CPU):
    """Give what makes an update of the tutorials' model."""
    torch.manual_seed(0)
    model = TextbookModel(*data["sizes"], EMBED, HIDDEN, DROPOUT).to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    stream = cycle(data[batching])

    def work() -> int:
        pairs = [data["examples"][row] for row in next(stream)]
        source, target = (
            torch.nn.utils.rnn.pad_sequence([torch.tensor(s) for s in side], batch_first=True).to(
                device
            )
            for side in ([s for s, _ in pairs], [[1, *t] for _, t in pairs])
        )
        logits = model(source, torch.tensor([len(s) for s, _ in pairs]), target)
        wanted = target[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        return int((wanted != 0).sum())

    return work


def limits(
    path: Path, names: dict[str, list[str]], rows: int, device: torch.device = CPU
) -> dict[str, float]:
    """Give the tokens per second that the matrix products alone would allow ours."""
    data, found = json.loads(path.read_text()), {}
    rates = {bf16: matrix_product_rate(torch.bfloat16 if bf16 else torch.float32, rows, device)
             for bf16 in (False, True)}  # fmt: skip
    print(
        f"matrix product ({rows} x {HIDDEN}) x ({HIDDEN} x {3 * HIDDEN}): "
        f"{rates[False] / 1e9:,.0f} GFLOP/s in 32 bits, {rates[True] / 1e9:,.0f} in bfloat16"
    )
    for name, (kind, model, batching, precision, _) in names.items():
        if kind == "ours":
            work = ours(data, model, batching, False)
            with FlopCounterMode(display=False) as counter:
                tokens = sum(work() for _ in range(3))
            found[name] = rates[precision == "bf16"] * tokens / counter.get_total_flops()
    return found


def hold(arguments: argparse.Namespace) -> dict[str, list[Standing]]:
    """Let all contestants train in turns: on the same batches, then each as it comes."""
    same = {
        "textbook loop": ["textbook", "-", "bucketed", "fp32", "launched"],
        "ours, bahdanau": ["ours", "bahdanau", "bucketed", "fp32", "launched"],
        "ours, luong": ["ours", "luong", "bucketed", "fp32", "launched"],
        "ours, luong additive": ["ours", "luong additive", "bucketed", "fp32", "launched"],
    }
    as_is = {
        "ours, bahdanau, fp32": ["ours", "bahdanau", "bucketed", "fp32", "recorded"],
        "ours, luong, fp32": ["ours", "luong", "bucketed", "fp32", "recorded"],
        "textbook loop, random": ["textbook", "-", "random", "fp32", "recorded"],
        "ours, bahdanau, bf16": ["ours", "bahdanau", "bucketed", "bf16", "recorded"],
        "ours, luong, bf16": ["ours", "luong", "bucketed", "bf16", "recorded"],
        "ours, luong not fed, bf16": ["ours", "luong, not fed", "bucketed", "bf16", "recorded"],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.json"
        write_examples(path, arguments.corpus, arguments.tokens)
        print(
            f"PyTorch {torch.__version__}, {arguments.threads} threads, {arguments.corpus}, "
            f"batches of {arguments.tokens} tokens, {arguments.rounds} rounds"
        )
        parts = {}
        for title, names, batching in (
            ("Same batches, 32 bits", same, "bucketed"),
            ("Each as it comes", as_is, "random"),
        ):
            joey = {
                name: [batching, score, str(arguments.threads)]
                for name, score in ((JOEY_BAHDANAU, "bahdanau"), (JOEY_LUONG, "luong"))
            }
            started, base = commands(arguments, path, "train", names, joey)
            print(f"\n{title}")
            found = limits(path, names, arguments.tokens, arguments.device)
            speeds = race(started, rounds=arguments.rounds, seconds=arguments.seconds)
            parts[title] = report(speeds, base, found)
    return parts


def main() -> None:
    """Run the contest, or be one of its contestants."""
    arguments = read_arguments(__doc__.splitlines()[0], device=True)
    if arguments.contestant:
        file, kind, model, batching, precision, way = arguments.contestant
        data = json.loads(Path(file).read_text())
        where = arguments.device
        if kind == "textbook":
            return obey(textbook(data, batching, where), where)
        graphs = way == "recorded" and where.type == "cuda"  # a CPU has none
        return obey(ours(data, model, batching, precision == "bf16", where, graphs), where)
    if arguments.book and arguments.device != CPU:
        raise SystemExit(
            "--book is for the CPU's tables; a GPU has `python -m benchmarks.gpu --book`"
        )
    parts = hold(arguments)
    if arguments.book:
        how = "python -m benchmarks.train --joeynmt PYTHON --book"
        write_standings("training", parts, how, arguments)


if __name__ == "__main__":
    main()
