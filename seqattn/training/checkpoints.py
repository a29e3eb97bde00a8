"""What a run keeps: the checkpoint to go on from, the best weights, and those to be averaged.

The file itself is written by :mod:`seqattn.translator.checkpoint`, which needs no training to read
one; what stands in it, and when it is written, is here.
"""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seqattn.translator.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from seqattn.translator.run_folder import RunFolder

__all__ = [
    "Checkpointer",
    "TrainingState",
    "average_weights",
    "optimizer_tensors",
    "random_states",
    "restore_optimizer",
    "restore_random",
]


@dataclass
class TrainingState:
    """Where a training stands.

    Attributes
    ----------
    step : int
        Updates made.
    epoch, index : int
        Passes over the corpus finished, and batches used of the next.
    seconds : float
        Time taken, validations included.
    validated, looked : int
        Steps of the last validation, and of the last look by ``first_look``.
    best, best_step, perplexity : float, int, float
        Best validation BLEU, when that was, and what the perplexity was then.
    waited : int
        Validations since.
    loss, tokens : float, int
        Sums since the last line of the log.
    kept : list of [BLEU, step]
        Validations whose weights are kept for the average, the best first.
    """

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0
    validated: int = 0
    looked: int = 0
    best: float = -1.0
    best_step: int = 0
    perplexity: float = math.inf
    waited: int = 0
    loss: float = 0.0
    tokens: int = 0
    kept: list[list[float]] = field(default_factory=list)


class Checkpointer:
    """Writes the checkpoints of a run.

    Parameters
    ----------
    model : nn.Module
        What is trained.
    optimizer : Optimizer
        What trains it.
    run : RunFolder
        Where to.
    header : mapping
        Plain values that every checkpoint holds: settings and vocabularies.
    average : int
        How many of the best validations' weights to keep for the average.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        run: RunFolder,
        header: Mapping[str, Any],
        *,
        average: int = 0,
    ):
        self.model = model
        self.optimizer = optimizer
        self.run = run
        self.header = header
        self.average_of = average

    def save(self, state: TrainingState, random: Mapping[str, Tensor]) -> None:
        """Write the checkpoint to go on from; only then delete what it no longer names."""
        tensors = {**optimizer_tensors(self.model, self.optimizer), **random}
        self._write(self.run.last, state, self._weights(), tensors)
        wanted = {self.run.kept(step) for _, step in state.kept}
        for path in self.run.all_kept():
            if path not in wanted:
                path.unlink()

    def save_best(self, state: TrainingState) -> None:
        """Write the weights to be used."""
        self._write(self.run.best, state, self._weights())

    def keep(self, state: TrainingState, bleu: float) -> None:
        """Keep the weights for the average, if they are among the best validations'."""
        ranked = sorted([*state.kept, [bleu, state.step]], reverse=True)[: self.average_of]
        if [bleu, state.step] in ranked:
            path = self.run.kept(state.step)
            self.run.make_folder(path.parent)
            write_checkpoint(path, self._weights(), {})
        state.kept = ranked

    def average(self, state: TrainingState) -> dict[str, Tensor]:
        """Give the mean of the weights that were kept."""
        return average_weights(self.run.kept(int(step)) for _, step in state.kept)

    def save_average(self, state: TrainingState, weights: Mapping[str, Tensor]) -> None:
        """Write averaged weights, which are then those to be used."""
        named = {f"model.{name}": value for name, value in weights.items()}
        self._write(self.run.average, state, named)

    def forget_average(self) -> None:
        """Delete averaged weights, which further updates make stale."""
        with suppress(FileNotFoundError):
            self.run.average.unlink()

    def _weights(self) -> dict[str, Tensor]:
        return {f"model.{name}": value for name, value in self.model.state_dict().items()}

    def _write(
        self,
        path: Path,
        state: TrainingState,
        weights: Mapping[str, Tensor],
        more: Mapping[str, Tensor] | None = None,
    ) -> None:
        write_checkpoint(
            path,
            {**weights, **(more or {})},
            # Threads: their number decides in which order sums are made.
            {**self.header, "position": asdict(state), "threads": torch.get_num_threads()},
        )


def average_weights(paths: Iterable[Path]) -> dict[str, Tensor]:
    r"""Average the weights of several checkpoints, :math:`\frac{1}{n} \sum_i \theta_i`.

    Parameters
    ----------
    paths : iterable of Path
        Checkpoints of one model; at least one.

    Returns
    -------
    dict of str to Tensor
        What ``load_state_dict`` takes; summed in 64 bits, in the checkpoints' own precision.

    Raises
    ------
    CheckpointError
        If one cannot be read.
    ValueError
        If there is none, or their weights have other names.

    References
    ----------
    Vaswani et al. (2017), section 6.1, who average the last ones; Izmailov et al. (2018),
    "Averaging Weights Leads to Wider Optima and Better Generalization".
    """
    found = [read_checkpoint(path, only="model.").weights for path in paths]
    if not found:
        raise ValueError("there is no checkpoint; expected at least one")
    if any(weights.keys() != found[0].keys() for weights in found):
        raise ValueError("the checkpoints' weights differ in name; expected those of one model")
    return {
        name: torch.stack([weights[name].double() for weights in found]).mean(0).to(first.dtype)
        for name, first in found[0].items()
    }


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Name what the optimiser remembers of each parameter: ``optimizer.NAME:KEY``."""
    found = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            found[f"optimizer.{name}:{key}"] = torch.as_tensor(value)
    return found


def restore_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer, checkpoint: Checkpoint
) -> None:
    """Put back what :func:`optimizer_tensors` named."""
    parameters = dict(model.named_parameters())
    for place, tensor in checkpoint.named("optimizer.").items():
        name, key = place.rsplit(":", 1)
        optimizer.state[parameters[name]][key] = tensor.to(parameters[name].device)


def random_states(device: torch.device, rank: int = 0) -> dict[str, Tensor]:
    """Where the random numbers of a process stand, from which dropout is drawn."""
    states = {_random_name("cpu", rank): torch.get_rng_state()}
    if device.type == "cuda":
        states[_random_name("cuda", rank)] = torch.cuda.get_rng_state(device)
    return states


def restore_random(tensors: Mapping[str, Tensor], device: torch.device, rank: int = 0) -> bool:
    """Put back what :func:`random_states` gave; False if it gave nothing for this process."""
    if _random_name("cpu", rank) not in tensors:
        return False
    torch.set_rng_state(tensors[_random_name("cpu", rank)])
    name = _random_name("cuda", rank)
    if device.type == "cuda" and name in tensors:
        torch.cuda.set_rng_state(tensors[name], device)
    return True


def _random_name(kind: str, rank: int) -> str:
    return f"random.{kind}.{rank}" if rank else f"random.{kind}"
