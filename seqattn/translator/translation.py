"""A translation with the attention map that it came with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Translation"]


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation and how it came about.

    Attributes
    ----------
    source, text : str
        What was asked for, and its translation.
    source_tokens, tokens : list of str
        What the model read and wrote, ``<eos>`` included.
    weights : (tokens, source_tokens), or None
        Row t is where the model looked to write token t; None without attention.
    score : float
        Log-probability of the tokens, in nats.
    """

    source: str
    text: str
    source_tokens: list[str]
    tokens: list[str]
    weights: Tensor | None
    score: float

    def __eq__(self, other: object) -> bool:
        """Say whether all is equal, weights to the last bit. There is no hash: lists have none."""
        if not isinstance(other, Translation):
            return NotImplemented
        mine, theirs = ({**vars(one), "weights": None} for one in (self, other))
        if mine != theirs or (self.weights is None) != (other.weights is None):
            return False
        return self.weights is other.weights or torch.equal(self.weights, other.weights)  # type: ignore

    __hash__ = None  # type: ignore[assignment]

    def plot(self, ax: "Axes | None" = None, **options: Any) -> "Axes":
        """Draw the attention map; options as in :func:`~seqattn.plot_attention`.

        Raises
        ------
        ValueError
            If the model has no attention.
        """
        from seqattn.plots import plot_attention

        if self.weights is None:
            raise ValueError("this model has no attention: there is no map to draw")
        return plot_attention(self.weights, self.source_tokens, self.tokens, ax=ax, **options)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        weights = None if self.weights is None else self.weights.tolist()
        return {**vars(self), "weights": weights}
