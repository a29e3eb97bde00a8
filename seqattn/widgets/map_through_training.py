"""An attention map scrubbed through the training of its model."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import traitlets

from seqattn.widgets.base import LiveFigure, masked_entropy

__all__ = ["MapThroughTraining"]

DIGITS = 3  # a page stores every weight of every map


class MapThroughTraining(LiveFigure):
    """The attention map of one sentence at several moments of a training.

    A slider goes through the training. The mouse, a finger or two more sliders choose a cell; its
    weight is read out, and drawn over the whole training.

    Parameters
    ----------
    maps : mapping from update to (T, S) weights
        A map for each moment of the training, in order, with a row for each target word and a
        column for each source word. Kept to three decimals.
    source, target : sequence of str
        S source words and T target words.
    step : int
        Index of the moment shown first.
    row, column : int
        The cell chosen first.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there is no map, or one has another shape than the words.

    Examples
    --------
    >>> maps = {0: [[0.5, 0.5], [0.5, 0.5]], 100: [[0.9, 0.1], [0.2, 0.8]]}
    >>> figure = MapThroughTraining(maps, ["the", "cat"], ["le", "chat"], step=1, row=1, column=1)
    >>> figure.numbers()["weight"], figure.numbers()["cell_through_training"]
    (0.8, [0.5, 0.8])
    """

    _js = "map_through_training.js"
    _moves = ("step", "row", "column")
    _title = "The map, as it learns"

    updates = traitlets.List(traitlets.Int()).tag(sync=True)
    maps: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    source = traitlets.List(traitlets.Unicode()).tag(sync=True)
    target = traitlets.List(traitlets.Unicode()).tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    row = traitlets.Int().tag(sync=True)
    column = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        maps: Mapping[int, Sequence[Sequence[float]] | torch.Tensor],
        source: Sequence[str],
        target: Sequence[str],
        step: int = 0,
        row: int = 0,
        column: int = 0,
        **options: Any,
    ) -> None:
        if not maps:
            raise ValueError("maps is empty; expected at least one map")
        tables = {update: torch.as_tensor(table).double() for update, table in maps.items()}
        for update, table in tables.items():
            if tuple(table.shape) != (len(target), len(source)):
                raise ValueError(
                    f"the map after {update} updates has the shape {tuple(table.shape)}; expected "
                    f"({len(target)}, {len(source)}): a row for each of the target words, a column "
                    "for each of the source words"
                )
        super().__init__(
            updates=[int(update) for update in tables],
            maps=[
                [[round(weight, DIGITS) for weight in weights] for weights in table.tolist()]
                for table in tables.values()
            ],
            source=[str(word) for word in source],
            target=[str(word) for word in target],
            step=range(len(tables))[step],
            row=range(len(target))[row],
            column=range(len(source))[column],
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Read the chosen cell, its row and its course by PyTorch in float64."""
        maps = torch.tensor(self.maps, dtype=torch.float64)
        weights = maps[self.step, self.row]
        return {
            "updates": self.updates[self.step],
            "row": self.row,
            "column": self.column,
            "map": maps[self.step].tolist(),
            "weight": weights[self.column].item(),
            "largest": self.source[int(weights.argmax())],
            "entropy": masked_entropy(weights.tolist()),
            "cell_through_training": maps[:, self.row, self.column].tolist(),
        }
