"""What each of the quicker ways brings to an update: ``python -m benchmarks.gains [--book]``.

Three of our models train on the same batches in 32 bits: as they are, and without one of the two
things in the code that are there for speed alone, which are dropout masks that a CPU draws four
features at a time (``seqattn/dropout.py``) and memory that stays with the process
(``seqattn/process.py``). What brings less than a tenth of an update to every model is to go. And
they train as two processes that have half of the threads and of every batch each, and exchange
gradients, as ``accelerate launch`` lets them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import distributed
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from benchmarks import train
from benchmarks.race import (
    Standing,
    commands,
    obey,
    race,
    read_arguments,
    report,
    write_examples,
    write_standings,
)
from seqattn import dropout, process
from seqattn.training import read_preset

AS_IT_IS, MASKS, MEMORY = "as it is", "with PyTorch's dropout", "with memory given back"
PROCESSES, PEER = "as two processes", "the second of two"
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


def obey_in_step(work: Callable[[], int], lead: bool) -> None:
    """Be one of two processes that train together: the first is a contestant, and leads.

    They exchange gradients in every update, so both make as many.
    """

    def shared(value: float) -> float:
        told = torch.tensor(value, dtype=torch.float64)
        distributed.broadcast(told, 0)
        return told.item()

    work()
    if lead:
        print("ready", flush=True)
    while True:
        line = sys.stdin.readline() if lead else ""
        seconds = shared(float(line) if line else 0.0)
        if not seconds:
            return
        began, tokens = time.perf_counter(), 0
        while shared(time.perf_counter() - began < seconds):
            tokens += work()
        both = torch.tensor(tokens)
        distributed.all_reduce(both)
        if lead:
            took = time.perf_counter() - began
            print(json.dumps({"tokens": both.item(), "seconds": took}), flush=True)


def be_one_of_two(arguments: argparse.Namespace, data: train.Data) -> None:
    """Be the contestant of two processes, which starts the other, or that one."""
    file, model, part = arguments.contestant
    lead = part == PROCESSES
    command = [sys.executable, *sys.orig_argv[1:-1], PEER]
    beside = [subprocess.Popen(command)] if lead else []
    torch.set_num_threads(max(arguments.threads // 2, 1))
    distributed.init_process_group(
        "gloo", init_method=f"file://{file}.{model}", rank=int(not lead), world_size=2
    )
    work = train.ours(
        halve(data, int(not lead)), model, "bucketed", False, wrap=DistributedDataParallel
    )
    try:
        obey_in_step(work, lead)
    except RuntimeError:
        if lead:
            raise  # the second: the first is gone, for a contestant is killed in the end
    for other in beside:
        other.wait()


def be(arguments: argparse.Namespace) -> None:
    """Be a contestant."""
    file, model, part = arguments.contestant
    train.MODELS = MODELS
    data = json.loads(Path(file).read_text())
    if part in (PROCESSES, PEER):
        return be_one_of_two(arguments, data)
    obey(train.ours(data, model, "bucketed", False))


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
