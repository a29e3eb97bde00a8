"""What a job may use, and what became of it."""

import contextlib
import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from seqattn.grading.sandbox import wire

__all__ = ["Ending", "JobResult", "LateError", "Limits", "Turns", "ending", "frames"]

Ending = Literal["done", "timeout", "waited", "output_limit", "memory", "crashed", "late", "broken"]


@dataclass(frozen=True)
class Limits:
    """What one job may use. How busy the machine is plays no part in it.

    Attributes
    ----------
    seconds : float
        Processor time, of all its threads together.
    idle : float
        Seconds in which no thread of it computes, nor stands in line for a processor.
    wall : float
        Seconds on the clock after which nothing can be said about it: see :class:`LateError`.
    memory : int
        Bytes, on top of what torch itself takes.
    prints : int
        Bytes that may be printed; the first few thousand are kept.
    results : int
        Bytes that may be returned.
    """

    seconds: float = 10.0
    idle: float = 10.0
    wall: float = 600.0
    memory: int = 2**30
    prints: int = 16 * 2**20
    results: int = 256 * 2**20


@dataclass
class JobResult:
    """What became of a job.

    Attributes
    ----------
    messages : list
        What the child sent, in order.
    ending : Ending
        ``timeout`` where it computed too long, ``waited`` where it did not compute at all; ``late``
        where neither limit of time was reached before the backstop was, ``broken`` where the fault
        is the sandbox's own.
    detail : str
        More on an ending that is not ``done``.
    printed : str
        The beginning of what was printed.
    seconds : float
        Processor time.
    """

    messages: list[Any] = field(default_factory=list)
    ending: Ending = "done"
    detail: str = ""
    printed: str = ""
    seconds: float = 0.0


class LateError(Exception):
    """A job got too little of the processor, even alone: nobody's answer is to blame."""


class Turns:
    """Has jobs run side by side, or one alone.

    Examples
    --------
    >>> turns = Turns()
    >>> with turns.beside():
    ...     pass
    >>> with turns.alone():
    ...     pass
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._closed = False

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        """Run beside others, once nobody wants to be alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Run once all others have ended, and keep new ones waiting."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._closed = True
            self._changed.wait_for(lambda: self._running == 0)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()


def frames(data: bytes) -> list[Any]:
    """Read messages until they end, or make no sense."""
    messages: list[Any] = []
    stream = io.BytesIO(data)
    with contextlib.suppress(EOFError, wire.MalformedError):
        while stream.tell() < len(data):
            messages.append(wire.read(stream))
    return messages


def ending(report: dict, messages: list[Any], flood: str) -> tuple[Ending, str]:
    """Name how a child ended, from what its parent saw: the ending, and more on it."""
    if flood:
        return "output_limit", flood
    if report.get("stopped"):
        return report["stopped"], ""
    if messages and messages[-1] == {"event": "done"}:
        return "done", ""
    if not messages and report["status"] == wire.BROKEN:
        return "broken", ""
    if report["signal"] == 9:
        return "memory", "killed by the system"
    if report["signal"]:
        return "crashed", f"signal {report['signal']}"
    return "crashed", f"the process ended itself with status {report['status']}"
