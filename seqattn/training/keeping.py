"""What a run keeps: the checkpoint to go on from, the best weights, and those to be averaged."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seqattn.training.checkpoints import optimizer_tensors, read_checkpoint, write_checkpoint
from seqattn.training.position import Position
from seqattn.training.runs import RunFolder

__all__ = ["Keeper", "average_weights"]


class Keeper:
    """Writes the checkpoints of a run.

    Parameters
    ----------
    model : nn.Module
        What is trained.
    optimizer : Optimizer
        What trains it.
    run : RunFolder
        Where to.
    data : mapping
        Plain values that every checkpoint holds: settings and vocabularies.
    average : int
        How many of the best validations' weights to keep for the average.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        run: RunFolder,
        data: Mapping[str, Any],
        *,
        average: int = 0,
    ):
        self.model = model
        self.optimizer = optimizer
        self.run = run
        self.data = data
        self.most = average

    def save(self, position: Position, random: Mapping[str, Tensor]) -> None:
        """Write the checkpoint to go on from; only then delete what it no longer names."""
        tensors = {**optimizer_tensors(self.model, self.optimizer), **random}
        self._write(self.run.last, position, self._weights(), tensors)
        wanted = {self.run.kept(step) for _, step in position.kept}
        for path in self.run.all_kept():
            if path not in wanted:
                path.unlink()

    def save_best(self, position: Position) -> None:
        """Write the weights to be used."""
        self._write(self.run.best, position, self._weights())

    def keep(self, position: Position, bleu: float) -> None:
        """Keep the weights for the average, if they are among the best validations'."""
        ranked = sorted([*position.kept, [bleu, position.step]], reverse=True)[: self.most]
        if [bleu, position.step] in ranked:
            path = self.run.kept(position.step)
            self.run.make_folder(path.parent)
            write_checkpoint(path, self._weights(), {})
        position.kept = ranked

    def average(self, position: Position) -> dict[str, Tensor]:
        """Give the mean of the weights that were kept."""
        return average_weights(self.run.kept(int(step)) for _, step in position.kept)

    def save_average(self, position: Position, weights: Mapping[str, Tensor]) -> None:
        """Write averaged weights, which are then those to be used."""
        named = {f"model.{name}": value for name, value in weights.items()}
        self._write(self.run.average, position, named)

    def forget_average(self) -> None:
        """Delete averaged weights, which further updates make stale."""
        with suppress(FileNotFoundError):
            self.run.average.unlink()

    def _weights(self) -> dict[str, Tensor]:
        return {f"model.{name}": value for name, value in self.model.state_dict().items()}

    def _write(
        self,
        path: Path,
        position: Position,
        weights: Mapping[str, Tensor],
        more: Mapping[str, Tensor] | None = None,
    ) -> None:
        # Sums are ordered by the number of threads.
        state = {"position": asdict(position), "threads": torch.get_num_threads()}
        write_checkpoint(path, {**weights, **(more or {})}, {**self.data, **state})


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
    if not found or any(weights.keys() != found[0].keys() for weights in found):
        raise ValueError(
            f"{len(found)} checkpoints, of which all should be of one model; expected at least one"
        )
    return {
        name: torch.stack([weights[name].double() for weights in found]).mean(0).to(first.dtype)
        for name, first in found[0].items()
    }
