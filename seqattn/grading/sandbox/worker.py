"""The worker: imports torch once, then forks a confined child for each job. Run by the host.

``python -I -S worker.py FD FOLDER`` serves jobs over the socket FD, and removes its FOLDER if the
host is gone. ``python -I -S worker.py once`` runs a single job from standard input in this process,
where there is no fork to rely on.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

# Seconds between two looks at a child.
TICK = 0.1
# Bytes of results that are sent together: what a pipe holds.
TOGETHER = 1 << 16
# Descriptor of the Landlock ruleset, out of the way of those that a child arranges.
RULES = 100
FOLDER = str(Path(__file__).resolve().parents[1])


class HostGoneError(Exception):
    """Nobody is left to work for."""


def prepare(config: dict) -> Any:
    """Import what answers use, with one thread; return the modules that run a job."""
    sys.path += config["packages"]
    import torch

    sys.path.insert(0, FOLDER)
    from sandbox import runner, wire

    sys.path.remove(FOLDER)
    # Libraries ask for this folder when they are imported; looking for one means trying to write.
    tempfile.tempdir = os.getcwd()
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    # First uses that load code or start caches: once here instead of in every child.
    torch.softmax(torch.ones(2, 2) @ torch.ones(2, 2), -1).tanh().sum().item()
    _set_aside()
    return runner, wire


def _set_aside() -> None:
    """Keep the collector away from all that was imported by now.

    Pages that a child does not write to need not be copied, and its collector has less to look at:
    to look at PyTorch's compiler once takes a child seconds.
    """
    gc.collect()
    gc.freeze()


def serve(control: socket.socket) -> None:
    """Fork a child for each request on the control socket; raise HostGoneError when it closes."""
    config = json.loads(_line(control))
    runner, wire = prepare(config)
    confine, files, found = _confinement(config)
    import torch

    hello = {"layers": found, "torch": torch.__version__, "python": sys.version.split()[0]}
    control.sendall(json.dumps(hello).encode() + b"\n")
    while True:
        message, descriptors, *_ = socket.recv_fds(control, 65536, 3)
        if not message:
            raise HostGoneError
        request = json.loads(message)
        # Slow to import, or impossible to import once confined: before the fork, and only once.
        if missing := [name for name in request["preload"] if name not in sys.modules]:
            for name in missing:
                importlib.import_module(name)
            _set_aside()
        child = os.fork()
        if child == 0:
            control.close()
            _child(request, descriptors, runner, wire, confine, files)
        report = _watch(child, request, control, descriptors[1:])
        for descriptor in descriptors:
            os.close(descriptor)
        control.sendall(json.dumps(report).encode() + b"\n")


def _confinement(config: dict) -> tuple[Any, int | None, list[str]]:
    if not sys.platform.startswith("linux"):
        return None, None, []
    sys.path.insert(0, FOLDER)
    from sandbox import confine

    sys.path.remove(FOLDER)
    found = list(confine.layers())
    if "seccomp" in found:
        # What of it is the same for all children is assembled here.
        confine.seccomp_filter()
    if "Landlock" not in found:
        return confine, None, found
    rules = confine.ruleset(confine.readable(config["roots"], config["hidden"]))
    os.dup2(rules, RULES)
    os.close(rules)
    return confine, RULES, found


def _child(
    request: dict, descriptors: list[int], runner: Any, wire: Any, confine: Any, files: int | None
) -> NoReturn:
    """Be the child: input from the first descriptor, results to the second, prints to the third."""
    status = wire.BROKEN
    try:
        os.setsid()
        incoming, outgoing, prints = descriptors
        with open(incoming, "rb") as pipe:
            job = _job(pipe, wire)
        os.dup2(prints, 1)
        os.dup2(prints, 2)
        os.dup2(outgoing, 3)
        os.closerange(4, RULES)
        os.closerange(RULES + 1, 4096)
        sys.stdout = os.fdopen(1, "w", 1, errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, errors="replace", closefd=False)
        if confine is not None:
            confine.enter(int(request["seconds"]) + 2, request["memory"], files)
        _results(job, 3, runner, wire)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        # No exit handlers, no flushing threads: what was not sent by now is not sent.
        os._exit(status)


def _job(stream: Any, wire: Any) -> dict:
    """Read a job, and its cases from the frame behind it."""
    return {**wire.read(stream), "cases": wire.read(stream)}


def _results(job: dict, descriptor: int, runner: Any, wire: Any) -> None:
    waiting = bytearray()
    with open(descriptor, "wb", buffering=0) as stream:

        def send(message: Any) -> None:
            nonlocal waiting
            waiting += wire.encode(message, wire.MAX_TEXT)
            # A few at a time, so that the host need not wake for each; but whatever happens to an
            # answer, what came of those before it is there.
            if len(waiting) > TOGETHER or "event" in message:
                data, waiting = memoryview(waiting), bytearray()
                while data:
                    data = data[stream.write(data) :]

        runner.run(job, send)


def _watch(child: int, limits: dict, control: socket.socket, pipes: list[int]) -> dict:
    """Wait for the child; kill it when it has used up a limit, or when the host says anything."""
    started = before = time.monotonic()
    used = idle = 0.0
    stopped = ""
    handle = os.pidfd_open(child)
    either: list[Any] = [handle, control]
    while not (ready := select.select(either, [], [], TICK)[0]):
        now = time.monotonic()
        computed, waits = _look_at(child)
        if waits and not any(map(_holds_data, pipes)):
            # Where this process had to wait for its own turn, nobody knows what the child did.
            idle += max(0.0, min(now - before, 2 * TICK) - (computed - used))
        used, before = computed, now
        times = {"timeout": used, "waited": idle, "late": now - started}
        caps = {"timeout": limits["seconds"], "waited": limits["idle"], "late": limits["wall"]}
        if stopped := next((name for name in times if times[name] >= caps[name]), ""):
            break
    if handle not in ready:
        os.kill(child, signal.SIGKILL)
    select.select([handle], [], [])
    os.close(handle)
    # Where nothing forbids it, the child may have left others in its group.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    if control in ready and not control.recv(1):
        raise HostGoneError
    used = usage.ru_utime + usage.ru_stime
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    # The kernel's own limit, where this process came too late. It counts in whole ticks.
    if ended_by in (signal.SIGKILL, signal.SIGXCPU) and used >= 0.9 * limits["seconds"]:
        stopped = "timeout"
    return {
        "signal": ended_by,
        "status": os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
        "stopped": stopped,
        "seconds": used,
        "memory": usage.ru_maxrss,
    }


def _look_at(child: int) -> tuple[float, bool]:
    """Return the processor seconds of a child, and whether all its threads sleep."""
    try:
        fields = _stat(Path(f"/proc/{child}/stat"))
        states = [_stat(path)[0] for path in Path(f"/proc/{child}/task").glob("*/stat")]
    except OSError:
        # It ends just now, or a thread of it does.
        return 0.0, False
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    # R: computes, or stands in line for a processor. D: waits for a disk.
    return seconds, not {"R", "D"} & {*states}


def _stat(path: Path) -> list[str]:
    """Return what follows the name, which may be anything."""
    return path.read_text(errors="replace").rpartition(")")[2].split()


def _holds_data(pipe: int) -> bool:
    """Tell whether a pipe holds what the host has not read yet: it may be full."""
    # Not everywhere, and not needed where there is no fork.
    import fcntl
    import termios

    return any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))


def once() -> None:
    """Run a single job: configuration and job from standard input, results to standard output."""
    results = os.dup(1)
    os.dup2(2, 1)
    config = json.loads(sys.stdin.buffer.readline())
    runner, wire = prepare(config)
    job = _job(sys.stdin.buffer, wire)
    threading.Thread(
        target=_end_after, args=(config["seconds"], wire.EXHAUSTED), daemon=True
    ).start()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with contextlib.suppress(BaseException):
        _results(job, results, runner, wire)
    os._exit(0)


def _end_after(seconds: float, status: int) -> NoReturn:
    """End this process when it has computed for so long from now on."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        time.sleep(TICK)
    os._exit(status)


def _line(control: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        if not (piece := control.recv(65536)):
            raise HostGoneError
        data += piece
    return data


if __name__ == "__main__":
    if sys.argv[1] == "once":
        once()
    else:
        with contextlib.suppress(HostGoneError, ConnectionError):
            serve(socket.socket(fileno=int(sys.argv[1])))
        # Only a host that was killed leaves a worker behind.
        shutil.rmtree(sys.argv[2], ignore_errors=True)
