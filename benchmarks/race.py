"""Contestants in turns: one process for each, one window of time for each in every round.

A contestant is a program that begins its first line with "ready", reads a number of seconds from
standard input, works for about as long, and answers with a line of JSON:
``{"tokens": ..., "seconds": ...}``. While one works, the others wait. What is compared are the
ratios within each round, so that a machine that slows down for a while slows all of them down.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch

from benchmarks.measure import told_range, write_lines
from seqattn.data import Batches, CorpusConfig, Vocabularies, encode_pairs, read_split
from seqattn.process import prepare_process

JOEY_BAHDANAU, JOEY_LUONG = "JoeyNMT, bahdanau score", "JoeyNMT, luong score"
EMBED, HIDDEN, SUBWORDS, DROPOUT = 256, 512, 8000, 0.2
CPU = torch.device("cpu")


def settle(device: torch.device) -> None:
    """Wait until a device has done all that it was asked for: a GPU works behind us."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def write_examples(path: Path, corpus: str, tokens: int) -> None:
    """Write encoded sentences, and two ways to batch them, for every contestant to read."""
    config = CorpusConfig(corpus, "de", "en") if corpus != "toy" else CorpusConfig()
    pairs = read_split(config, "train")
    vocabularies = Vocabularies.learn(pairs, config.languages, subwords=SUBWORDS)
    examples = encode_pairs(pairs, vocabularies)
    buckets = Batches(examples, tokens=tokens)
    rows = list(range(len(examples)))
    Random(0).shuffle(rows)
    # As many sentences in a random batch as in a bucketed one, on average.
    size = max(len(rows) // len(buckets), 1)
    batchings = {
        "bucketed": buckets.plan(0),
        "random": [rows[i : i + size] for i in range(0, len(rows) - size + 1, size)],
    }
    sizes = list(map(len, vocabularies))
    data = {"sizes": sizes, "tokens": tokens, "examples": examples, **batchings}
    path.write_text(json.dumps(data))


def timed(work: Callable[[], int], seconds: float, device: torch.device) -> dict[str, float]:
    """Work for about so long; give how many tokens were done in what time."""
    settle(device)
    began, tokens = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        tokens += work()
    settle(device)
    return {"tokens": tokens, "seconds": time.perf_counter() - began}


def obey(work: Callable[[], int], device: torch.device = CPU) -> None:
    """Be a contestant: work when told to, and say how many tokens were done in what time."""
    work()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(work, float(line), device)), flush=True)


def read_arguments(
    description: str,
    given: Sequence[str] | None = None,
    *,
    trained: bool = False,
    device: bool = False,
    search: bool = False,
) -> argparse.Namespace:
    """Read what every contest of translators may be told, and set up this process."""
    parser = argparse.ArgumentParser(description=description)
    if trained:
        parser.add_argument("run", nargs="?", help="folder of a run, or a checkpoint")
    else:
        parser.add_argument("--corpus", default="multi30k", choices=["multi30k", "toy"])
        parser.add_argument("--tokens", type=int, default=1024, help="target tokens in a batch")
    if device:
        parser.add_argument("--device", type=torch.device, default=CPU, help="cpu or cuda")
    if search:
        parser.add_argument("--search", action="store_true", help="searches, not trainings")
    parser.add_argument("--joeynmt", help="the Python of an environment with joeynmt==2.3")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each window")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--book", action="store_true", help="put the tables into the book")
    parser.add_argument("--contestant", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    arguments.device = getattr(arguments, "device", CPU)
    if trained and not (arguments.run or arguments.contestant):
        parser.error("expected the folder of a run")
    prepare_process()
    torch.set_num_threads(arguments.threads)
    return arguments


def commands(
    arguments: argparse.Namespace,
    path: Path,
    job: str,
    ours: Mapping[str, Sequence[str]],
    joey: Mapping[str, Sequence[str]],
) -> tuple[dict[str, list[str]], str]:
    """Give what starts each contestant, JoeyNMT's if there is one, and whom to compare with."""
    us = [sys.executable, "-m", f"benchmarks.{job}", "--threads", str(arguments.threads)]
    them = [arguments.joeynmt, str(Path(__file__).with_name("joey.py"))]
    if arguments.device != CPU:
        us += ["--device", str(arguments.device)]
        them += ["--device", str(arguments.device)]
    found = {name: [*us, "--contestant", str(path), *what] for name, what in ours.items()}
    if arguments.joeynmt:
        them += [job, str(path)]
        found |= {name: [*them, *what] for name, what in joey.items()}
    return found, next(iter(joey if arguments.joeynmt else ours))


@contextmanager
def contestants(
    commands: Mapping[str, Sequence[str]],
) -> Iterator[dict[str, "subprocess.Popen[str]"]]:
    """Start every contestant; wait until all are ready; end them all in the end."""
    started: dict[str, subprocess.Popen[str]] = {}
    try:
        for name, command in commands.items():
            started[name] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        for name, process in started.items():
            assert process.stdout is not None
            said = process.stdout.readline().strip()
            if not said.startswith("ready"):
                raise SystemExit(f"{name} did not start: {' '.join(commands[name])}")
            if "JoeyNMT" in said:
                print(f"{name}, {said}", flush=True)
        yield started
    finally:
        for process in started.values():
            process.kill()
            with suppress(BrokenPipeError), process:  # closes its pipes, and waits
                pass


def race(
    commands: Mapping[str, Sequence[str]], *, rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Give tokens per second of each contestant in each round; a first round is left out."""
    speeds: dict[str, list[float]] = {name: [] for name in commands}
    with contestants(commands) as processes:
        for number in range(rounds + 1):
            # Another one begins each round, so that what comes with time falls on all alike.
            first = number % len(processes)
            for name, process in [*processes.items()][first:] + [*processes.items()][:first]:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(f"{seconds}\n")
                process.stdin.flush()
                told = json.loads(process.stdout.readline())
                if number:
                    speeds[name].append(told["tokens"] / told["seconds"])
    return speeds


@dataclass(frozen=True)
class Standing:
    """The speed of a contestant beside that of its peer, in tokens per second: medians."""

    name: str
    speed: float
    peer: str
    ratio: float
    low: float
    high: float
    share: float | None

    def __str__(self) -> str:
        share = "" if self.share is None else f"{self.share:7.0%} of the limit"
        return (
            f"{self.name:30s}{self.speed:8,.0f}{self.ratio:7.2f} ({self.low:.2f} to "
            f"{self.high:.2f}) times {self.peer}{share}"
        )


def report(
    speeds: Mapping[str, Sequence[float]],
    base: str,
    limits: Mapping[str, float] | None = None,
) -> list[Standing]:
    """Print and give how each contestant stands beside its peer, with the spread over rounds.

    The peer of a model with Luong's own score is JoeyNMT's with that score, where it took part;
    that of every other model, the contestant named `base`.
    """
    table = []
    for name, found in speeds.items():
        luong = "luong" in name and "additive" not in name and "JoeyNMT" not in name
        peer = JOEY_LUONG if luong and JOEY_LUONG in speeds else base
        ratios = [a / b for a, b in zip(found, speeds[peer], strict=True)]
        limit = (limits or {}).get(name)
        speed, ratio = statistics.median(found), statistics.median(ratios)
        share = None if limit is None else speed / limit
        table.append(Standing(name, speed, peer, ratio, min(ratios), max(ratios), share))
        print(table[-1], flush=True)
    return table


def write_standings(
    name: str,
    parts: Mapping[str, Sequence[Standing]],
    how: str,
    arguments: argparse.Namespace,
    unit: str = "tokens/s",
) -> None:
    """Put one table for each part on the book's page of benchmarks, and say how long each had."""
    turns = f"Each had {arguments.rounds} rounds of {arguments.seconds:g} s, in turns."
    write_lines(name, [*standing_lines(parts, unit), "", turns], how)


def standing_lines(parts: Mapping[str, Sequence[Standing]], unit: str = "tokens/s") -> list[str]:
    """Give one table in Markdown for each part."""
    lines: list[str] = []
    for title, table in parts.items():
        lines += [f"**{title}**", "", f"| what | {unit} | beside | ratio |"]
        lines += ["|---|---:|---|---:|"]
        shared = any(row.share is not None for row in table)
        if shared:
            lines[-2:] = [f"{lines[-2]} share of limit |", f"{lines[-1]}---:|"]
        for row in table:
            share = "" if row.share is None else f"{row.share:.0%}"
            lines.append(
                f"| {row.name} | {row.speed:,.0f} | {row.peer} "
                f"| {told_range(row.ratio, row.low, row.high)} |" + f" {share} |" * shared
            )
        lines.append("")
    return lines[:-1]


def matrix_product_rate(
    dtype: torch.dtype,
    rows: int,
    device: torch.device = CPU,
    *,
    hidden: int = HIDDEN,
    seconds: float = 0.2,
) -> float:
    """Measure floating-point operations per second of a product of the model's own size."""
    a = torch.randn(rows, hidden).to(device, dtype)
    b = torch.randn(hidden, 3 * hidden).to(device, dtype)

    def work() -> int:
        for _ in range(1 if device == CPU else 100):  # a GPU is asked for many before it answers
            a @ b
        settle(device)
        return 1 if device == CPU else 100

    work()
    rates = [timed(work, seconds, device) for _ in range(5)]
    return max(2 * r["tokens"] * rows * hidden * 3 * hidden / r["seconds"] for r in rates)
