"""How much attention each source word got: in all, as bars, and step after step, as curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from seqattn.metrics import coverage_report
from seqattn.plots.style import BLUE, GREY, ORANGE, as_weights, import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_coverage", "plot_coverage_curve"]


def plot_coverage(
    weights: Float[Tensor, "target source"],
    source: Sequence[str],
    *,
    ax: "Axes | None" = None,
    low: float = 0.5,
    high: float = 2.0,
) -> "Axes":
    """Draw how much attention each source word got in all, against its fair share.

    Parameters
    ----------
    weights : (target, source)
        Weights of one sentence, padding cut off.
    source : sequence of str
        The words.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    low, high : float
        As in :func:`~seqattn.metrics.coverage_report`: bars below ``low`` shares are grey, those
        above ``high`` orange.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If shapes do not fit, or the numbers are no weights.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import torch
    >>> ax = plot_coverage(torch.tensor([[0.9, 0.1], [0.8, 0.2]]), ["the", "cat"])
    >>> len(ax.patches)
    2
    """
    steps, colours, share = _judge(weights, source, low, high)
    if ax is None:
        size = (max(4.0, 1.0 + 0.45 * len(source)), 3.0)
        _, ax = import_pyplot().subplots(figsize=size, layout="constrained")
    ax.bar(range(len(source)), steps.sum(0), color=colours)
    ax.axhline(share, color=GREY, linestyle="--", linewidth=1)
    ax.set(ylabel="total attention", title="Coverage (dashed: fair share)")
    turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(source)), source, parse_math=False, **turn)
    return ax


def plot_coverage_curve(
    weights: Float[Tensor, "target source"],
    source: Sequence[str],
    *,
    ax: "Axes | None" = None,
    low: float = 0.5,
    high: float = 2.0,
) -> "Axes":
    """Draw how the attention that each source word has got adds up, step after step.

    Words that end with less than ``low`` shares or more than ``high`` are named and coloured; the
    dashed line is the fair share, which grows with the steps.

    Parameters
    ----------
    weights, source, ax, low, high
        As in :func:`plot_coverage`.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError, ImportError
        As :func:`plot_coverage`.

    Examples
    --------
    >>> import torch
    >>> ax = plot_coverage_curve(torch.tensor([[0.9, 0.1], [0.9, 0.1]]), ["the", "cat"])
    >>> ax.lines[0].get_ydata().round(1).tolist()
    [0.0, 0.9, 1.8]
    """
    steps, colours, share = _judge(weights, source, low, high)
    totals = np.concatenate([np.zeros((1, len(source))), steps.cumsum(0)])
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=(5.8, 3.6), layout="constrained")
    for word, line, colour in zip(source, totals.T, colours):
        ax.plot(line, color=colour, alpha=1.0 if colour != BLUE else 0.5)
        if colour != BLUE:
            ax.annotate(
                word,
                (len(steps), line[-1]),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                parse_math=False,
                annotation_clip=False,
            )
    ax.plot([0, len(steps)], [0, share], "--", color=GREY, linewidth=1)
    ax.set(xlabel="target words written", ylabel="attention so far", xlim=(0, len(steps)))
    ax.set_ylim(bottom=0)
    return ax


def _judge(
    weights: Tensor, source: Sequence[str], low: float, high: float
) -> tuple[np.ndarray, list[str], float]:
    """Give weights as numbers, the colour of each source word, and the share that is fair."""
    steps = as_weights(weights, (weights.shape[0], len(source)), "(target, len(source))")
    report = coverage_report(weights.detach().unsqueeze(0), low=low, high=high)
    flags = zip(report.under[0].tolist(), report.over[0].tolist(), strict=True)
    colours = [GREY if under else ORANGE if over else BLUE for under, over in flags]
    return steps, colours, float(report.share[0])
