"""Several maps side by side."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from seqattn.metrics import attention_entropy
from seqattn.plots.maps import plot_attention
from seqattn.plots.style import import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_heads"]


def plot_heads(
    weights: Float[Tensor, "heads target source"],
    source: Sequence[str],
    target: Sequence[str],
    *,
    columns: int = 4,
) -> "list[Axes]":
    """Draw the map of each head, all on one colour scale, with its mean entropy as a title.

    The entropy is a share of the largest possible, that of equal weights on all source words.

    Parameters
    ----------
    weights : (heads, target, source)
        Weights of one sentence, padding cut off.
    source, target : sequence of str
        The words.
    columns : int
        Maps beside each other.

    Returns
    -------
    list of Axes
        One for each head.

    Raises
    ------
    ValueError
        If shapes do not fit, or the numbers are no weights.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import torch
    >>> len(plot_heads(torch.eye(2).expand(3, 2, 2), ["the", "cat"], ["le", "chat"]))
    3
    """
    heads = weights.shape[0]
    columns = min(columns, heads)
    lines = math.ceil(heads / columns)
    # Room for the longest word beside the first map of a line and above each.
    width = 1.2 + columns * max(1.6, 0.26 * len(source))
    height = lines * (0.9 + max(1.4, 0.24 * len(target)))
    _, grid = import_pyplot().subplots(
        lines, columns, figsize=(width, height), squeeze=False, layout="constrained"
    )
    entropies = attention_entropy(weights.detach(), normalized=True).nanmean(-1)
    panels = list(grid.flat)
    for head, panel in enumerate(panels[:heads]):
        title = f"head {head + 1}: entropy {entropies[head]:.0%}"
        plot_attention(weights[head], source, target, ax=panel, cbar=False, annotate=False)
        panel.set(xlabel="", ylabel="")
        panel.set_title(title, fontsize=9)
        if head % columns:
            panel.set_yticklabels([])
    for panel in panels[heads:]:
        panel.remove()
    return panels[:heads]
