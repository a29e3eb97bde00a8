"""Charts of weights: bars for one step, curves of concentration over a sentence."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.metrics import attention_entropy, effective_positions, max_weight
from seqattn.plots.style import GREY, INK, PALETTE, as_weights, import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_statistics", "plot_weights"]


def plot_weights(
    weights: Float[Tensor, " keys"] | np.ndarray | Mapping[str, Any],
    words: Sequence[str],
    *,
    ax: "Axes | None" = None,
    title: str | None = None,
) -> "Axes":
    """Draw one row of weights as bars, or several rows side by side.

    The axis runs from 0 to 1, so that no bar is cut off and two charts can be compared.

    Parameters
    ----------
    weights : (keys,), or mapping from name to (keys,)
        Weights over the words. With a mapping there is one colour per name, and a legend.
    words : sequence of str
        The words that are weighted.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    title : str, optional
        Title of the chart.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If a row does not have one weight per word, or the numbers are no weights.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import torch
    >>> ax = plot_weights(torch.tensor([0.7, 0.2, 0.1]), ["cat", "sat", "mat"])
    >>> ax.get_ylabel()
    'weight'
    """
    named = dict(weights) if isinstance(weights, Mapping) else {"": weights}
    rows = {name: as_weights(row, (len(words),), "(len(words),)") for name, row in named.items()}
    if ax is None:
        _, ax = import_pyplot().subplots(layout="constrained")
    places, width = np.arange(len(words)), 0.8 / len(rows)
    for i, (name, heights) in enumerate(rows.items()):
        middle = places + (i - (len(rows) - 1) / 2) * width
        ax.bar(middle, heights, 0.92 * width, color=PALETTE[i % len(PALETTE)], label=name)
    ax.set(ylim=(0, 1), ylabel="weight")
    ax.grid(False, axis="x")
    _write_words(ax, words)
    if isinstance(weights, Mapping):
        # Above the bars, which may reach the top.
        ax.legend(ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    if title is not None:
        ax.set_title(title, pad=28 if isinstance(weights, Mapping) else 8)
    return ax


def plot_statistics(
    weights: Float[Tensor, "target source"],
    target: Sequence[str],
    *,
    mask: Bool[Tensor, "target source"] | None = None,
) -> "list[Axes]":
    """Draw how concentrated attention is at each target word, in three panels.

    From the top: entropy as a share of its maximum, the largest weight, and the effective number of
    positions (the exponential of the entropy).

    Parameters
    ----------
    weights : (target, source)
        Weights of one sentence (and one head), padding cut off.
    target : sequence of str
        The words produced.
    mask : bool, (target, source), optional
        True where a position may be attended.

    Returns
    -------
    list of 3 Axes
        One per panel, sharing their horizontal axis.

    Raises
    ------
    ValueError
        If the rows are not as many as the words, the mask has another shape, or the numbers are no
        weights.
    TypeError
        If the mask is not boolean.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import torch
    >>> panels = plot_statistics(torch.tensor([[0.9, 0.1], [0.5, 0.5]]), ["le", "chat"])
    >>> len(panels)
    3
    """
    as_weights(weights, (len(target), weights.shape[-1]), "(len(target), source)")
    # On the CPU, since not every device has numbers of 64 bits.
    batch = weights.detach().cpu().double().unsqueeze(0)
    allowed = None if mask is None else mask.cpu().unsqueeze(0)
    rows = (
        ("entropy (share of max.)", attention_entropy(batch, allowed, normalized=True), 1.0),
        ("largest weight", max_weight(batch, allowed), 1.0),
        ("effective positions", effective_positions(batch, allowed), float(weights.shape[-1])),
    )
    _, panels = import_pyplot().subplots(
        len(rows), sharex=True, figsize=(5.8, 5.4), layout="constrained"
    )
    for panel, (label, values, top) in zip(panels, rows, strict=True):
        # Markers on a faint line: words are not a scale, the line only guides the eye.
        panel.plot(values[0].cpu().numpy(), "-", color=GREY, alpha=0.35)
        panel.plot(values[0].cpu().numpy(), "o", color=INK)
        panel.set(ylim=(0, 1.08 * top))
        panel.set_title(label, loc="left", size=12, weight="normal")
    _write_words(panels[-1], target)
    return list(panels)


def _write_words(ax: "Axes", words: Sequence[str]) -> None:
    wide = len(words) * max(map(len, words)) > 45
    turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(words)), words, parse_math=False, **(turn if wide else {}))
    ax.tick_params(axis="x", length=0)
