"""A translation with the attention map that it came with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Translation"]


@dataclass(frozen=True)
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
