"""Run the cells of a notebook one after the other, as a kernel would, in a process of their own.

Where the system can fork, the process begins with torch imported, which a kernel spends most of its
start on. Its folder is empty and goes with it. It is the learner's own code on their own machine,
so nothing is confined here; the judge never runs a notebook.
"""

import multiprocessing
import os
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from seqattn.grading.checking import STRICT

__all__ = ["run_cells"]

Failure = tuple[str, str]
# Seconds on the clock that a cell may wait without computing. A busy machine must not end it.
PATIENCE = 1800.0


def run_cells(sources: list[str], seconds: float) -> dict[int, Failure]:
    """Run code cells; return the name and the message of what each failing cell raised.

    Parameters
    ----------
    sources : list of str
        The cells, in order. A cell that fails does not keep the others from running.
    seconds : float
        Processor time for each cell. The process is ended with the first that takes longer.
    """
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        work = (sources, seconds, folder, theirs)
        process = context.Process(target=_work, args=work, daemon=True)
        process.start()
        theirs.close()
        failures = _listen(ours, len(sources))
        process.kill()
        process.join()
    return failures


def _listen(pipe: Connection, count: int) -> dict[int, Failure]:
    failures: dict[int, Failure] = {}
    for number in range(count):
        if not pipe.poll(PATIENCE):
            late = ("Timeout", f"after {PATIENCE:.0f} seconds it had not ended")
            return failures | {number: late} | _unrun(number + 1, count)
        try:
            name, message = pipe.recv()
        except (EOFError, OSError):
            ended = ("Crash", "the process ended here")
            return failures | {number: ended} | _unrun(number + 1, count)
        if name:
            failures[number] = str(name), str(message)
        elif message:
            late = ("Timeout", str(message))
            return failures | {number: late} | _unrun(number + 1, count)
    return failures


def _unrun(start: int, count: int) -> dict[int, Failure]:
    return {n: ("NotRun", "an earlier cell kept it from running") for n in range(start, count)}


class _Watch:
    """Ends this process when a cell has computed too long, and says so."""

    def __init__(self, seconds: float, pipe: Connection):
        self._seconds, self._pipe = seconds, pipe
        self._since = time.process_time()
        self._lock = threading.Lock()
        threading.Thread(target=self._look, daemon=True).start()

    def send(self, failure: Failure) -> None:
        """Report a cell; the next one begins now."""
        with self._lock:
            self._pipe.send(failure)
            self._since = time.process_time()

    def _look(self) -> None:
        while True:
            time.sleep(0.1)
            with self._lock:
                if time.process_time() - self._since > self._seconds:
                    late = f"it computed longer than {self._seconds:g} seconds (of processor time)"
                    self._pipe.send(("", late))
                    os._exit(0)


def _work(sources: list[str], seconds: float, folder: str, pipe: Connection) -> None:
    os.chdir(folder)
    os.environ |= {"MPLBACKEND": "agg", "TQDM_DISABLE": "1", "IPYTHONDIR": folder, STRICT: "1"}
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    # No history file, no jedi: nothing that looks at the learner's home.
    config.HistoryManager.enabled = False
    shell: Any = InteractiveShell.instance(config=config)
    shell.showtraceback = lambda *args, **kwargs: None
    watch = _Watch(seconds, pipe)
    for source in sources:
        result = shell.run_cell(source, store_history=False)
        watch.send(_failure(result.error_before_exec or result.error_in_exec))
    os._exit(0)


def _failure(error: Any) -> Failure:
    if error is None:
        return "", ""
    try:
        return type(error).__name__, str(error)[:2000]
    except BaseException:
        return type(error).__name__, ""
