"""Run the cells of a notebook one after the other, as a kernel would, in a process of their own.

Where the system can fork, the process begins with torch imported, which a kernel spends most of its
start on. Its folder is empty and goes with it. It is the learner's own code on their own machine,
so nothing is confined here; the judge never runs a notebook.
"""

import multiprocessing
import os
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["run_cells"]

Failure = tuple[str, str]


def run_cells(sources: list[str], seconds: float) -> dict[int, Failure]:
    """Run code cells; return the name and the message of what each failing cell raised.

    Parameters
    ----------
    sources : list of str
        The cells, in order. A cell that fails does not keep the others from running.
    seconds : float
        For each cell. The process is ended with the first that takes longer.
    """
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=_work, args=(sources, folder, theirs), daemon=True)
        process.start()
        theirs.close()
        failures = _listen(ours, len(sources), seconds)
        process.kill()
        process.join()
    return failures


def _listen(pipe: Connection, count: int, seconds: float) -> dict[int, Failure]:
    failures: dict[int, Failure] = {}
    for number in range(count):
        deadline = time.monotonic() + seconds
        if not pipe.poll(max(0.0, deadline - time.monotonic())):
            late = ("Timeout", f"it took longer than {seconds:.0f} seconds")
            return failures | {number: late} | _unrun(number + 1, count)
        try:
            name, message = pipe.recv()
        except (EOFError, OSError):
            ended = ("Crash", "the process ended here")
            return failures | {number: ended} | _unrun(number + 1, count)
        if name:
            failures[number] = str(name), str(message)
    return failures


def _unrun(start: int, count: int) -> dict[int, Failure]:
    return {n: ("NotRun", "an earlier cell kept it from running") for n in range(start, count)}


def _work(sources: list[str], folder: str, pipe: Connection) -> None:
    os.chdir(folder)
    os.environ |= {"MPLBACKEND": "agg", "TQDM_DISABLE": "1", "IPYTHONDIR": folder}
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
    for source in sources:
        result = shell.run_cell(source, store_history=False)
        pipe.send(_failure(result.error_before_exec or result.error_in_exec))
    os._exit(0)


def _failure(error: Any) -> Failure:
    if error is None:
        return "", ""
    try:
        return type(error).__name__, str(error)[:2000]
    except BaseException:
        return type(error).__name__, ""
