"""What each of the quicker ways brings to an update: ``python -m benchmarks.gains [--book]``.

Three of our models train on the same batches in 32 bits: as they are, and without one of the two
things in the code that are there for speed alone, which are dropout masks that a CPU draws four
features at a time (``seqattn/dropout.py``) and memory that stays with the process
(``seqattn/process.py``). What brings less than a tenth of an update to every model is to go.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch.nn import functional as F

from benchmarks import train
from benchmarks.race import (
    CPU,
    Standing,
    commands,
    contestants,
    obey,
    race,
    read_arguments,
    report,
    timed,
    write_examples,
    write_standings,
)
from seqattn import dropout, process
from seqattn.training import read_preset

AS_IT_IS, MASKS, MEMORY = "as it is", "with PyTorch's dropout", "with memory given back"
PROCESSES, HALF = "as two processes", "one of two"
MODELS = {
    "bahdanau": train.MODELS["bahdanau"],
    "luong": train.MODELS["luong"],
    # With a vocabulary for each language, as the other two have.
    "transformer-tiny": replace(read_preset("transformer-tiny").model, tie="output"),
}


def take_out(part: str) -> None:
    """Do in this process as PyTorch and the C library do by themselves."""
    if part == MASKS:
        own = dropout.dropout
        for module in list(sys.modules.values()):
            if getattr(module, "dropout", None) is own:
                module.dropout = F.dropout
    elif part == MEMORY:
        process._ask_library = lambda *_: None


def hold(arguments: argparse.Namespace) -> dict[str, list[Standing]]:
    """Let each model train in turns with all, and without one."""
    parts = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.json"
        write_examples(path, arguments.corpus, arguments.tokens)
        for model in MODELS:
            names = {part: [model, part] for part in (AS_IT_IS, MASKS, MEMORY, PROCESSES)}
            started, base = commands(arguments, path, "gains", names, {})
            title = f"{model}, {arguments.threads} threads, batches of {arguments.tokens:,} tokens"
            print(f"\n{title}")
            speeds = race(started, rounds=arguments.rounds, seconds=arguments.seconds)
            parts[title] = report(speeds, base)
    return parts


def halve(data: train.Data, which: int) -> train.Data:
    """Give every other sentence of each batch that has several."""
    shared = [rows for rows in data["bucketed"] if len(rows) > 1]
    return {**data, "bucketed": [rows[which::2] for rows in shared]}


def obey_as_two(work: Callable[[], int], other: Sequence[str]) -> None:
    """Be a contestant of two processes that work at the same time: this one and another."""
    with contestants({HALF: other}) as started:
        beside = started[HALF]
        assert beside.stdin is not None
        assert beside.stdout is not None
        work()
        print("ready", flush=True)
        for line in sys.stdin:
            beside.stdin.write(line)
            beside.stdin.flush()
            found = [timed(work, float(line), CPU), json.loads(beside.stdout.readline())]
            # They end an update apart, so their speeds are added, and not what they did.
            speed = sum(part["tokens"] / part["seconds"] for part in found)
            print(json.dumps({"tokens": speed, "seconds": 1.0}), flush=True)


def be(arguments: argparse.Namespace) -> None:
    """Be a contestant."""
    file, model, part = arguments.contestant
    train.MODELS = MODELS
    data = json.loads(Path(file).read_text())
    if part in (PROCESSES, HALF):
        torch.set_num_threads(max(arguments.threads // 2, 1))
        data = halve(data, int(part == HALF))
    work = train.ours(data, model, "bucketed", False)
    if part != PROCESSES:
        return obey(work)
    other = [sys.executable, *sys.orig_argv[1:-1], HALF]
    return obey_as_two(work, other)


def main() -> None:
    """Run the contest, or be one of its contestants."""
    take_out(sys.argv[-1])  # before anything is set up
    arguments = read_arguments(__doc__.splitlines()[0])
    if arguments.contestant:
        return be(arguments)
    print(f"PyTorch {torch.__version__}, {arguments.corpus}, {arguments.rounds} rounds")
    parts = hold(arguments)
    if arguments.book:
        write_standings("gains", parts, "python -m benchmarks.gains --book")


if __name__ == "__main__":
    main()
