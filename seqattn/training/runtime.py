"""What a training runs in: several processes, signals that end it, threads of a CPU."""

import copy
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import nn

from seqattn.data.batches import Batch, Batches
from seqattn.extras import require
from seqattn.precision import autocast
from seqattn.process import available_cores
from seqattn.training.losses import cross_entropy

__all__ = [
    "Interrupts",
    "Processes",
    "fastest_threads",
]

Found = TypeVar("Found")


class Processes:
    """Those that train together; usually this one alone.

    Started by ``accelerate launch -m seqattn train ...``, each process reads its own rows of every
    batch, so that all together make the updates that one process would make; gradients are averaged
    between them. The first process alone writes the files of the run, validates, and speaks.
    ``accelerate launch --multi_gpu --num_processes 2 -m seqattn train --device cpu ...`` does the
    same with two processes on a CPU.

    Parameters
    ----------
    device : torch.device
        Where this process computes.

    Attributes
    ----------
    rank, count : int
        Number of this process, from 0, and of all.

    Examples
    --------
    >>> alone = Processes(torch.device("cpu"))
    >>> alone.count, alone.share([5, 6, 7]), alone.gather([2.0])
    (1, [5, 6, 7], [[2.0]])
    """

    def __init__(self, device: torch.device):
        self.rank, self.count = 0, 1
        self._accelerator: Any = None
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            accelerate = require("accelerate", "training in several processes", "nmt")
            # Precision is our own affair, whatever the launcher was told.
            self._accelerator = accelerate.Accelerator(
                cpu=device.type == "cpu", mixed_precision="no"
            )
            self.rank = self._accelerator.process_index
            self.count = self._accelerator.num_processes

    @property
    def lead(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def prepare(self, model: nn.Module) -> nn.Module:
        """Give what is called in training: it averages gradients between the processes."""
        return model if self._accelerator is None else self._accelerator.prepare_model(model)

    def share(self, rows: Sequence[int]) -> list[int]:
        """Give the rows of a batch that are this process's; none if there are too few."""
        return list(rows[self.rank :: self.count])

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Give the numbers of every process, in their order."""
        if self._accelerator is None:
            return [list(values)]
        here = torch.tensor(values, dtype=torch.float64, device=self._accelerator.device)
        return self._accelerator.gather(here).view(self.count, -1).tolist()

    def gather_objects(self, value: Found) -> list[Found]:
        """Give a value of every process, in their order."""
        if self._accelerator is None:
            return [value]
        from accelerate.utils import gather_object

        return gather_object([value])

    def first(self, work: Callable[[], Found]) -> Found:
        """Let the first process alone do something, and give what it found to all."""
        if self._accelerator is None:
            return work()
        from accelerate.utils import broadcast_object_list

        return broadcast_object_list([work() if self.lead else None])[0]

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Let one process of each machine go first: a download is then there for the others."""
        if self._accelerator is None:
            yield
        else:
            with self._accelerator.local_main_process_first():
                yield

    def close(self) -> None:
        """Take leave of the others."""
        if self._accelerator is not None:
            self._accelerator.end_training()


class Interrupts:
    """Notes a request to stop, for a loop that looks at it between two updates.

    A second request is no longer noted but obeyed at once. Outside the main thread, where Python
    lets nobody listen to signals, it notes nothing.

    Parameters
    ----------
    patient : bool
        Whether a second request, too, is only noted. A launcher of several processes sends one to
        each of them when one was interrupted, and kills after half a minute whom it did not reach.

    Attributes
    ----------
    received : int, or None
        Number of the signal.

    Examples
    --------
    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     interrupts.received == signal.SIGTERM
    True
    """

    def __init__(self, *, patient: bool = False) -> None:
        self.patient = patient
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            numbers = [signal.SIGINT, signal.SIGTERM]
            hangup = getattr(signal, "SIGHUP", None)  # which is not on every system
            if hangup is not None and signal.getsignal(hangup) != signal.SIG_IGN:  # by nohup
                numbers.append(hangup)
            for number in numbers:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        if not self.patient:
            self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


def fastest_threads(model: nn.Module, batches: Batches, *, bf16: bool = False) -> int:
    """Try out numbers of threads on a copy of the model, and give the fastest.

    The products of a small model are short, and threads that wait for each other spin: where
    another program uses a core as well, two threads can be seven times slower than one.

    Parameters
    ----------
    model : nn.Module
        On the CPU; neither it nor the random numbers are changed.
    batches : Batches
        What will be trained on.
    bf16 : bool
        Compute in bfloat16 where that is safe.

    Returns
    -------
    int
        A power of 2, or the number of cores.
    """
    cores = available_cores()
    candidates = [n for n in (1, 2, 4, 8, 16) if n < cores] + [cores]
    if cores == 1:
        return 1
    before = torch.get_num_threads()
    trial = copy.deepcopy(model).train()
    batch = next(batches.epoch(0))
    seconds = {}
    with torch.random.fork_rng(devices=[]):
        for threads in candidates:
            torch.set_num_threads(threads)
            _time(trial, batch, bf16)  # the first time at a shape plans its products
            seconds[threads] = min(_time(trial, batch, bf16) for _ in range(2))
            if seconds[threads] > 2 * min(seconds.values()):
                break
    torch.set_num_threads(before)
    return min(seconds, key=seconds.__getitem__)


def _time(model: nn.Module, batch: Batch, bf16: bool) -> float:
    began = time.perf_counter()
    with autocast(batch.source.device, bf16):
        logits = model(batch.source, batch.lengths, batch.inputs).logits
    cross_entropy(logits, batch.targets).mean.backward()
    return time.perf_counter() - began
