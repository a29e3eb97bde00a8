"""Several processes that train one model together, on several GPUs or on the cores of a CPU."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import nn

from seqattn.extras import require

__all__ = ["Processes", "process_rank"]

Found = TypeVar("Found")


def process_rank() -> int:
    """Give the number of this process among those that were launched together; alone it is 0."""
    return int(os.environ.get("RANK", "0"))


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
        """Let the first process do something, and give what it found to all."""
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
