"""A trained bilinear form cut down to lower ranks: what is left of a map, and of a translator."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.widgets.base import LiveFigure, floats

__all__ = ["RankSlider"]

DIGITS = 3  # a page stores every weight of every map


class RankSlider(LiveFigure):
    r"""An attention map at every rank of a truncated matrix, with what the translations are worth.

    Rank k keeps the first k terms of :math:`W = \sum_j \sigma_j a_j b_j^\top`; the share of the
    squared length that it keeps is :math:`\sum_{j\le k}\sigma_j^2 / \sum_j\sigma_j^2`.

    Parameters
    ----------
    values : sequence of float
        All singular values of the matrix, largest first.
    maps : mapping from rank to (T, S) weights
        The map of one sentence at each rank shown, ranks rising. Kept to three decimals.
    bleu : mapping from rank to sequence of float
        BLEU at each of these ranks, one number for each trained model.
    source, target : sequence of str
        S source words and T target words.
    step : int
        Index of the rank shown first.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there is no map, one has another shape than the words, a rank is more than there are
        singular values, or BLEU has other ranks than the maps.

    Examples
    --------
    >>> maps = {1: [[0.6, 0.4]], 2: [[0.9, 0.1]]}
    >>> figure = RankSlider([2.0, 1.0], maps, {1: [10.0], 2: [20.0]}, ["the", "cat"], ["chat"])
    >>> figure.numbers()["kept"], figure.numbers()["bleu"]
    (0.8, [10.0])
    """

    _js = "rank_slider.js"
    _moves = ("step",)
    _title = "How many directions does a score need?"
    _question: ClassVar[Mapping[str, Any]] = {}

    values = traitlets.List(traitlets.Float()).tag(sync=True)
    ranks = traitlets.List(traitlets.Int()).tag(sync=True)
    maps: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    bleu: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    source = traitlets.List(traitlets.Unicode()).tag(sync=True)
    target = traitlets.List(traitlets.Unicode()).tag(sync=True)
    step = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        values: Sequence[float],
        maps: Mapping[int, Sequence[Sequence[float]] | torch.Tensor],
        bleu: Mapping[int, Sequence[float]],
        source: Sequence[str],
        target: Sequence[str],
        step: int = 0,
        **options: Any,
    ) -> None:
        if not maps:
            raise ValueError("maps is empty; expected at least one map")
        if list(bleu) != list(maps):
            raise ValueError(
                f"bleu has the ranks {list(bleu)}; expected those of maps, {list(maps)}"
            )
        if max(maps) > len(values):
            raise ValueError(
                f"maps has rank {max(maps)}; expected at most {len(values)}, the number of "
                "singular values"
            )
        tables = {rank: torch.as_tensor(table).double() for rank, table in maps.items()}
        for rank, table in tables.items():
            if tuple(table.shape) != (len(target), len(source)):
                raise ValueError(
                    f"the map of rank {rank} has the shape {tuple(table.shape)}; expected "
                    f"({len(target)}, {len(source)}): a row for each of the target words, a column "
                    "for each of the source words"
                )
        super().__init__(
            values=[float(f"{x:.4g}") for x in floats(values, "values")],
            ranks=[int(rank) for rank in tables],
            maps=[
                [[round(weight, DIGITS) for weight in row] for row in table.tolist()]
                for table in tables.values()
            ],
            bleu=[[round(float(x), 1) for x in found] for found in bleu.values()],
            source=[str(word) for word in source],
            target=[str(word) for word in target],
            step=range(len(tables))[step],
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Give the rank, its share of the matrix, its map and BLEU, by PyTorch in float64."""
        squares = torch.tensor(self.values, dtype=torch.float64).square()
        rank = self.ranks[self.step]
        return {
            "rank": rank,
            "kept": float(squares[:rank].sum() / squares.sum()),
            "bleu": self.bleu[self.step],
            "map": torch.tensor(self.maps[self.step], dtype=torch.float64).tolist(),
        }
