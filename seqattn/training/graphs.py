"""Updates recorded as CUDA graphs, for a GPU that would wait for Python.

An update of a small model is many short kernels, and to launch each of them from Python takes
longer than it runs. A CUDA graph is the list of an update's kernels, launched as one.
"""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from seqattn.data.batches import Batch
from seqattn.training.losses import TokenLoss
from seqattn.training.step import Update, update

__all__ = ["GraphedUpdates"]

log = logging.getLogger(__name__)

# Graphs that are kept: each holds the addresses of a batch of one shape. An epoch of Multi30k in
# batches of 2,048 tokens has about 80 shapes, in every epoch the same.
MOST = 256

Recorder = Callable[[Callable[[], Update]], tuple[Callable[[], Any], Update]]
"""From an update to what repeats it, and to what it will have reported after each repetition."""


class Recorded(NamedTuple):
    """An update of one shape: where it reads its batch, what repeats it, where it reports."""

    batch: Batch
    replay: Callable[[], Any]
    made: Update


def shape_of(batch: Batch) -> tuple[int, ...]:
    """Give the sizes by which a graph is found again: rows, source columns, target columns."""
    return (*batch.source.shape, batch.targets.shape[1])


class GraphedUpdates:
    """:func:`~seqattn.training.update`, recorded for each shape of batch and then replayed.

    The first batch of a shape is learned from as usual, which also plans its products. The second
    is recorded. What an update draws (dropout) is drawn anew each time, and the learning rate is
    read from the device. Gradients of parameters are of no use to the caller afterwards. The graphs
    keep about as much memory as the largest update needs; a plain update that lacks it gets it.

    Parameters
    ----------
    model : StepwiseModel
        In training mode, on a GPU. Its parameters stay where they are in memory.
    optimizer : AdamW
        From :func:`~seqattn.training.make_optimizer`.
    recorder : callable, optional
        Records on this GPU.
    **options
        ``smoothing``, ``clip``, ``penalty`` and ``bf16`` of :func:`~seqattn.training.update`, the
        same each time.

    References
    ----------
    "Accelerating PyTorch with CUDA Graphs" (2021), PyTorch's blog.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.AdamW,
        *,
        recorder: Recorder | None = None,
        **options: Any,
    ):
        self.model, self.optimizer, self.options = model, optimizer, options
        self.rate = torch.zeros((), device=next(model.parameters()).device)
        self._record: Recorder | None = recorder or graph_recorder(self.rate.device)
        self._seen: set[tuple[int, ...]] = set()
        self._recorded: dict[tuple[int, ...], Recorded] = {}

    def __call__(self, batch: Batch, *, lr: float) -> Update:
        """Make one update on one batch; the result is that of :func:`~seqattn.training.update`."""
        self.rate.fill_(lr)
        shape = shape_of(batch)
        if shape not in self._recorded:
            full = len(self._recorded) >= MOST
            if self._record is None or full or shape not in self._seen:
                self._seen.add(shape)
                return self._launch(batch)
            if not self._try_to_record(batch, shape):
                return self._launch(batch)
        own, replay, made = self._recorded[shape]
        for place, part in zip(own[:4], batch[:4], strict=True):
            place.copy_(part)
        replay()
        # Copies, for the next update reports in the same place.
        return Update(TokenLoss(*(x.clone() for x in made.loss)), made.norm.clone())

    def _try_to_record(self, batch: Batch, shape: tuple[int, ...]) -> bool:
        """Record an update; or never again, for a training is worth more than its speed."""
        assert self._record is not None
        own = batch._replace(**{n: getattr(batch, n).clone() for n in batch._fields[:4]})
        self._let_capture(True)
        try:
            self._recorded[shape] = Recorded(own, *self._record(lambda: self._update(own)))
        except RuntimeError as error:
            self._stop(error)
            return False
        finally:
            self._let_capture(False)
        return True

    def _let_capture(self, wanted: bool) -> None:
        """Tell the optimizer, which warns of it where nothing is recorded."""
        for group in self.optimizer.param_groups:
            group["capturable"] = wanted

    def _launch(self, batch: Batch) -> Update:
        """Make an update as usual; if the graphs leave it too little memory, without them."""
        try:
            return self._update(batch)
        except torch.cuda.OutOfMemoryError as error:
            if not self._recorded:
                raise
            self._stop(error)
        return self._update(batch)

    def _stop(self, error: Exception) -> None:
        log.warning("updates go on without CUDA graphs: %s", str(error))  # which holds no tensors
        self._record = None
        self._recorded.clear()

    def records(self) -> bool:
        """Whether updates are recorded; they are not once one of them could not be."""
        return self._record is not None

    def _update(self, batch: Batch) -> Update:
        # The rate is a tensor: a graph would keep a number as it was when it was recorded.
        return update(self.model, self.optimizer, batch, lr=self.rate, **self.options)


def graph_recorder(device: torch.device) -> Recorder:
    """Give a recorder on a GPU whose graphs, which run one at a time, share their memory."""
    pool = torch.cuda.graph_pool_handle()

    def record(work: Callable[[], Update]) -> tuple[Callable[[], Any], Update]:
        with torch.cuda.device(device):
            graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
            numbers = torch.cuda.default_generators[torch.cuda.current_device()]
            before = numbers.clone_state()
            try:
                with torch.cuda.graph(graph, pool=pool):
                    made = work()
            except RuntimeError:  # PyTorch may leave both as they are while it records
                torch.cuda.set_stream(stream)
                numbers.graphsafe_set_state(before)
                raise

        def replay() -> None:
            with torch.cuda.device(device):
                graph.replay()

        return replay, made

    return record


def repeat(work: Callable[[], Update]) -> tuple[Callable[[], Any], Update]:
    """Record nothing, but do the work anew each time: for a device that has no graphs."""
    made = Update(TokenLoss(torch.zeros(()), torch.zeros((), dtype=torch.long)), torch.zeros(()))

    def replay() -> None:
        again = work()
        for place, value in zip((*made.loss, made.norm), (*again.loss, again.norm), strict=True):
            place.copy_(value)

    return replay, made
