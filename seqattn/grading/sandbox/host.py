"""The judge's side of the sandbox: start a worker, give it jobs, read what its children send.

:class:`Limits` says what a job may use, :class:`JobResult` what became of it. :class:`Sandbox` runs
jobs; :class:`Turns` has those of several sandboxes run side by side, or one alone.
"""

import contextlib
import importlib.util
import io
import json
import os
import selectors
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from seqattn.grading.sandbox import wire

__all__ = [
    "Ending",
    "JobResult",
    "LateError",
    "Limits",
    "Sandbox",
    "Turns",
    "WorkerDiedError",
    "frames",
]

WORKER = Path(__file__).with_name("worker.py")
PACKAGE = Path(__file__).resolve().parents[2]
# What the machine's libraries read besides Python's own files.
SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/cuda"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/dev/null", "/dev/urandom"),
    *("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
)
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


KILLED = "killed by the system"


@dataclass
class JobResult:
    """What became of a job.

    Attributes
    ----------
    messages : list
        What the child sent, in order.
    ending : Ending
        ``timeout`` where it computed too long, ``waited`` where it spent too long without
        computing, all its pauses together; ``late`` where neither limit of time was reached before
        the backstop was, ``broken`` where the fault is the sandbox's own.
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


class WorkerDiedError(Exception):
    """The worker itself is gone: nobody's answer is to blame."""


class Sandbox:
    """A worker and the way to talk to it. Use it as a context manager.

    Parameters
    ----------
    limits : Limits, optional
        For each job.
    turns : Turns, optional
        Shared by sandboxes that work at the same time.

    Examples
    --------
    >>> job = {"prelude": "import torch", "context": [], "probe": "", "cases": [{"inputs": (2.0,),
    ...        "upstream": None, "twice": False}], "answers": [{"id": "a", "name": "f",
    ...        "code": "def f(x): return 3 * x"}]}
    >>> with Sandbox() as sandbox:
    ...     outcome = sandbox.run(job)
    >>> outcome.ending, outcome.messages[1]["result"]["value"]
    ('done', 6.0)
    """

    def __init__(self, limits: Limits | None = None, turns: Turns | None = None):
        self.limits = limits or Limits()
        self.turns = turns or Turns()
        self.layers: list[str] = []
        self.versions: dict[str, str] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="seqattn-")
        self._worker: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._forks = sys.platform.startswith("linux") and hasattr(os, "pidfd_open")

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker and remove its folder."""
        self._forget()
        self._folder.cleanup()

    @property
    def isolation(self) -> str:
        """Say in a few words how well answers are contained here."""
        if {"Landlock", "seccomp", "limits"} <= set(self.layers):
            return "full (Landlock, seccomp, limits)"
        if self.layers:
            missing = [name for name in ("Landlock", "seccomp") if name not in self.layers]
            return f"weak: process, limits and timeout only, no {' and no '.join(missing)} here"
        return "weak: process and timeout only"

    def start(self) -> None:
        """Start the worker if it is not running; it imports torch while the caller goes on."""
        if self._worker is not None or not self._forks:
            return
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(WORKER), str(theirs.fileno()), self._folder.name]
        self._worker = subprocess.Popen(
            command,
            cwd=self._folder.name,
            env=self._environment(),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        self._control = ours
        ours.sendall(self._configuration())

    def wait(self) -> None:
        """Start the worker if need be, and wait until it is ready."""
        self.start()
        if self._forks and not self.versions:
            hello = self._reply()
            self.layers = hello.pop("layers")
            self.versions = hello

    def run(self, job: dict, limits: Limits | None = None) -> JobResult:
        """Run a job in a child of its own.

        A job that waits, gets too little of the processor, or is killed where the memory is full
        is tried once more while no other one runs.

        Parameters
        ----------
        job : dict
            As :func:`runner.run` says. Its cases may be the frame of what is said there.
        limits : Limits, optional
            The sandbox's own if not given.

        Raises
        ------
        WorkerDiedError
            If the worker died twice in a row, or the child before it came to an answer.
        LateError
            If the backstop was reached twice: the machine is too busy to say anything.
        """
        limits = limits or self.limits
        with self.turns.beside():
            outcome = self._run(job, limits)
        # The system kills where memory runs out, and that may be the fault of those beside it.
        if outcome.ending in ("waited", "late") or outcome.detail == KILLED:
            with self.turns.alone():
                outcome = self._run(job, limits)
        if outcome.ending == "late":
            got = f", and had {outcome.seconds:.1f} of the processor" if outcome.seconds else ""
            raise LateError(f"it did not end within {limits.wall:.0f} seconds{got}")
        if outcome.ending == "broken":
            raise WorkerDiedError("the sandbox failed before the answer")
        return outcome

    def _run(self, job: dict, limits: Limits) -> JobResult:
        if not self._forks:
            return self._run_once(job, limits)
        for attempt in (1, 2):
            try:
                self.wait()
                return self._run_forked(job, limits)
            except (WorkerDiedError, BrokenPipeError, ConnectionError):
                self._forget()
                if attempt == 2:
                    raise WorkerDiedError("the sandbox's worker died twice") from None
        raise AssertionError

    def _forget(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.wait()
        if self._control is not None:
            self._control.close()
        self._worker, self._control, self.versions = None, None, {}

    # --- with a worker that forks

    def _run_forked(self, job: dict, limits: Limits) -> JobResult:
        request = {
            "seconds": limits.seconds,
            "idle": limits.idle,
            "wall": limits.wall,
            "memory": limits.memory,
            "preload": job.get("preload", []),
        }
        assert self._control is not None
        data = _encoded(job)
        (result_read, result_write), (print_read, print_write) = os.pipe(), os.pipe()
        # Not a pipe: the child need not wait for this process to fill it.
        given = [os.memfd_create("job"), result_write, print_write]
        try:
            try:
                with open(given[0], "wb", closefd=False) as file:
                    file.write(data)
                os.lseek(given[0], 0, os.SEEK_SET)
                socket.send_fds(self._control, [json.dumps(request).encode()], given)
            finally:
                for descriptor in given:
                    os.close(descriptor)
            flood, results, prints = self._exchange(
                (result_read, limits.results), (print_read, limits.prints)
            )
        finally:
            os.close(result_read)
            os.close(print_read)
        if flood:
            self._control.sendall(b"x")
        report = self._reply()
        outcome = JobResult(frames(results), seconds=report["seconds"])
        outcome.printed = prints[:4000].decode("utf-8", "replace")
        outcome.ending, outcome.detail = _ending(report, outcome.messages, flood)
        return outcome

    def _exchange(
        self, results: tuple[int, int], prints: tuple[int, int]
    ) -> tuple[str, bytes, bytes]:
        """Drain both pipes until they close or one of them floods."""
        received = {results[0]: bytearray(), prints[0]: bytearray()}
        caps = dict([results, prints])
        totals = dict.fromkeys(received, 0)
        selector = selectors.DefaultSelector()
        for descriptor in received:
            selector.register(descriptor, selectors.EVENT_READ)
        flood = ""
        while selector.get_map() and not flood:
            for key, _ in selector.select():
                piece = os.read(key.fd, 1 << 20)
                if not piece:
                    selector.unregister(key.fd)
                    continue
                totals[key.fd] += len(piece)
                if key.fd == results[0] or totals[key.fd] < 1 << 16:
                    received[key.fd] += piece
                if totals[key.fd] > caps[key.fd]:
                    flood = f"more than {caps[key.fd] >> 20} MiB"
        selector.close()
        return flood, bytes(received[results[0]]), bytes(received[prints[0]])

    def _reply(self) -> dict:
        assert self._control is not None
        data = b""
        while not data.endswith(b"\n"):
            if not (piece := self._control.recv(65536)):
                raise WorkerDiedError
            data += piece
        return json.loads(data)

    # --- where there is no fork, or no safe one

    def _run_once(self, job: dict, limits: Limits) -> JobResult:
        worker = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WORKER), "once"],
            cwd=self._folder.name,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        data = self._configuration(seconds=limits.seconds) + _encoded(job)
        try:
            results, _ = worker.communicate(data, timeout=limits.wall)
        except subprocess.TimeoutExpired:
            worker.kill()
            results, _ = worker.communicate()
            return JobResult(frames(results), "late")
        outcome = JobResult(frames(results))
        report = {
            "signal": max(0, -worker.returncode),
            "status": worker.returncode,
            "stopped": "timeout" if worker.returncode == wire.EXHAUSTED else "",
        }
        outcome.ending, outcome.detail = _ending(report, outcome.messages, "")
        return outcome

    # --- both

    def _environment(self) -> dict[str, str]:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        system = {k: os.environ[k] for k in ("SYSTEMROOT", "LD_LIBRARY_PATH") if k in os.environ}
        quiet = {"CUDA_VISIBLE_DEVICES": "", "PYTORCH_NVML_BASED_CUDA_CHECK": "0"}
        return {
            "HOME": self._folder.name,
            "TMPDIR": self._folder.name,
            **threads,
            **system,
            **quiet,
        }

    def _configuration(self, **more: float) -> bytes:
        packages = _package_folders()
        python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
        roots = [*packages, *python, str(Path(sys.base_prefix) / "lib"), *SYSTEM]
        config: dict = {"packages": packages, "roots": roots, "hidden": [str(PACKAGE)], **more}
        return json.dumps(config).encode() + b"\n"


def _encoded(job: dict) -> bytes:
    """Put a job into words; its cases, which many jobs have in common, stand in a frame behind."""
    cases = job["cases"]
    if not isinstance(cases, bytes):
        cases = wire.encode(cases)
    return wire.encode({name: part for name, part in job.items() if name != "cases"}) + cases


def _package_folders() -> list[str]:
    """Find the folders from which answers import, torch's and NumPy's: by name, not by habit."""
    folders = []
    for name in ("torch", "numpy"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            folders.append(str(Path(spec.origin).resolve().parents[1]))
    return list(dict.fromkeys(folders))


def frames(data: bytes) -> list[Any]:
    """Read messages until they end, or make no sense."""
    messages: list[Any] = []
    stream = io.BytesIO(data)
    with contextlib.suppress(EOFError, wire.MalformedError):
        while stream.tell() < len(data):
            messages.append(wire.read(stream))
    return messages


def _ending(report: dict, messages: list[Any], flood: str) -> tuple[Ending, str]:
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
        return "memory", KILLED
    if report["signal"]:
        return "crashed", f"signal {report['signal']}"
    return "crashed", f"the process ended itself with status {report['status']}"
