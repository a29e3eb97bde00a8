"""Timing two ways side by side, and putting what was found into the book."""

import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from multiprocessing import get_context
from pathlib import Path

import torch

from seqattn import process

__all__ = [
    "Comparison",
    "compare",
    "compare_memory",
    "print_heading",
    "processor",
    "told_range",
    "write_block",
    "write_lines",
    "write_table",
]

PAGE = Path(__file__).resolve().parents[1] / "chapters" / "benchmarks.md"
ROUNDS, SECONDS = 7, 0.4
Work = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """What two ways cost, and how often the first is the second: median, lowest and highest."""

    title: str
    peer: str
    ours: float
    theirs: float
    unit: str
    ratio: float
    low: float
    high: float
    bar: float

    @property
    def holds(self) -> bool:
        """Whether the ratio stays within its bar."""
        return self.ratio <= self.bar

    def __str__(self) -> str:
        """Give a line for the terminal."""
        verdict = "" if self.holds else "   above its bar"
        return (
            f"{self.title + ' / ' + self.peer:72s}{self.ours:9.2f}{self.theirs:9.2f} {self.unit:3s}"
            f"{self.ratio:6.2f} [{self.low:.2f}, {self.high:.2f}]  (bar {self.bar:.2f}){verdict}"
        )


def print_heading() -> None:
    """Say what the numbers depend on."""
    print(f"{_machine()}\nours, theirs, ratio [lowest, highest of the rounds] (bar: at most)")


def compare(title: str, peer: str, ours: Work, theirs: Work, bar: float) -> Comparison:
    """Time two ways in turns and print how many times as long the first takes as the second."""
    for work in (ours, theirs):  # warm up
        work()
    pairs = [(_per_call(ours), _per_call(theirs)) for _ in range(ROUNDS)]
    mine, other = (statistics.median(times) * 1e3 for times in zip(*pairs, strict=True))
    ratios = [a / b for a, b in pairs]
    found = Comparison(
        title, peer, mine, other, "ms", statistics.median(ratios), min(ratios), max(ratios), bar
    )
    print(found, flush=True)
    return found


def compare_memory(title: str, peer: str, ours: Work, theirs: Work, bar: float) -> Comparison:
    """Set the peak memory of one way against another's, each in a process of its own."""
    mine, other = peak_memory(ours), peak_memory(theirs)
    ratio = mine / other
    found = Comparison(title, peer, mine, other, "MiB", ratio, ratio, ratio, bar)
    print(found, flush=True)
    return found


def peak_memory(work: Work) -> float:
    """MiB that a function of a module needs beyond what its process had before it."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_grown, (work,))


def told_range(ratio: float, low: float, high: float) -> str:
    """Write a ratio and its range so that a narrow column breaks between the two alone."""
    return f"{ratio:.2f} ({low:.2f}\u00a0to\u00a0{high:.2f})"


def write_table(name: str, rows: Sequence[Comparison], how: str) -> None:
    """Put a table between the marks of its name on the book's page of benchmarks."""
    lines = [
        "| what | against | ours | theirs | ratio | bar |",
        "|---|---|---:|---:|---:|---:|",
        *(
            f"| {_held(row.title)} | {_held(row.peer)} | {row.ours:,.2f}\u00a0{row.unit} "
            f"| {row.theirs:,.2f}\u00a0{row.unit} | {told_range(row.ratio, row.low, row.high)} "
            f"| {row.bar:.2f} |"
            for row in rows
        ),
    ]
    write_lines(name, lines, how)


def _held(text: str) -> str:
    """Keep a size such as T 64 on one line."""
    return re.sub(r"\b([BTDd]) (?=\d)", "\\1\u00a0", text)


def write_lines(name: str, lines: Sequence[str], how: str) -> None:
    """Put lines between the marks of their name on the page; say what measured them, and where."""
    write_block(name, [*lines, "", f"Measured on {date.today()} by `{how}`: {_machine()}."])


def write_block(name: str, lines: Sequence[str], page: Path | None = None) -> None:
    """Put lines between the marks of their name on a page of the book, usually of benchmarks."""
    page = page or PAGE
    text = page.read_text(encoding="utf-8")
    start, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    if text.count(start) != 1 or text.count(end) != 1:
        raise SystemExit(f"{page} lacks the marks {start.strip()} and {end}")
    before, rest = text.split(start)
    after = rest.split(end)[1]
    page.write_text(f"{before}{start}{chr(10).join(lines)}\n{end}{after}", encoding="utf-8")
    print(f"wrote the table {name!r} of {page.name}")


def _per_call(work: Work) -> float:
    """Seconds for a call, over about SECONDS."""
    started, calls = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        work()
        calls += 1
    return (time.perf_counter() - started) / calls


def _grown(work: Work) -> float:
    torch.set_num_threads(1)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # Linux: forget the peak so far
    before = process.peak_memory("cpu")
    work()
    after = process.peak_memory("cpu")
    assert before is not None
    assert after is not None
    return after - before


def _machine() -> str:
    python = ".".join(map(str, sys.version_info[:3]))
    threads = torch.get_num_threads()
    return (
        f"PyTorch {torch.__version__}, Python {python}, {threads} thread{'s' * (threads != 1)} of "
        f"{processor()}"
    )


def processor() -> str:
    """Name this machine's processor."""
    try:
        names = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "an unnamed processor"
    found = [line.partition(":")[2].strip() for line in names if line.startswith("model name")]
    return found[0] if found else "an unnamed processor"
