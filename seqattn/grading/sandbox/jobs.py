"""What a job may use, and what became of it."""

import contextlib
import io
from dataclasses import dataclass, field
from typing import Any

from seqattn.grading.sandbox import wire

__all__ = ["Limits", "Outcome", "ending", "frames"]

# The status of a child whose sandbox failed before the answer ran.
BROKEN = 70


@dataclass(frozen=True)
class Limits:
    """What one job may use.

    Attributes
    ----------
    seconds : float
        Wall-clock time.
    memory : int
        Bytes, on top of what torch itself takes.
    prints : int
        Bytes that may be printed; the first few thousand are kept.
    results : int
        Bytes that may be returned.
    """

    seconds: float = 10.0
    memory: int = 2**30
    prints: int = 16 * 2**20
    results: int = 256 * 2**20


@dataclass
class Outcome:
    """What became of a job.

    Attributes
    ----------
    messages : list
        What the child sent, in order.
    ending : str
        ``done``, ``timeout``, ``output_limit``, ``memory``, ``crashed``, or ``broken`` where the
        fault is the sandbox's own.
    detail : str
        More on an ending that is not ``done``.
    printed : str
        The beginning of what was printed.
    seconds : float
        Wall-clock time.
    """

    messages: list[Any] = field(default_factory=list)
    ending: str = "done"
    detail: str = ""
    printed: str = ""
    seconds: float = 0.0


def frames(data: bytes) -> list[Any]:
    """Read messages until they end, or make no sense."""
    messages: list[Any] = []
    stream = io.BytesIO(data)
    with contextlib.suppress(EOFError, wire.MalformedError):
        while stream.tell() < len(data):
            messages.append(wire.read(stream))
    return messages


def ending(report: dict, messages: list[Any], flood: str) -> tuple[str, str]:
    """Name how a child ended, from what its parent saw: the ending, and more on it."""
    if flood:
        return "output_limit", flood
    # SIGXCPU: the processor's clock ran out before the wall's.
    if report.get("timed_out") or report["signal"] == 24:
        return "timeout", ""
    if messages and messages[-1] == {"event": "done"}:
        return "done", ""
    if not messages and report["status"] == BROKEN:
        return "broken", ""
    if report["signal"] == 9:
        return "memory", "killed by the system"
    if report["signal"]:
        return "crashed", f"signal {report['signal']}"
    return "crashed", f"the process ended itself with status {report['status']}"
