"""Curves over the steps of the target: entropy of many sentences, coverage of one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.diagnostics import attention_entropy
from seqattn.maps import coverage_report
from seqattn.plots.style import BLUE, GREY, ORANGE, as_weights, import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_coverage_curve", "plot_entropy_curve"]


def plot_entropy_curve(
    weights: Float[Tensor, "batch target source"],
    mask: Bool[Tensor, "batch target source"] | None = None,
    *,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str = BLUE,
) -> "Axes":
    """Draw how spread attention is at each target position: the median and the middle half.

    Call it again on the same Axes, with another colour, to set two models side by side.

    Parameters
    ----------
    weights : (batch, target, source)
        Weights of several sentences.
    mask : (batch, target, source) bool, optional
        True at real source positions of real target positions. A position of the target counts the
        sentences that reach it; where fewer than three do, nothing is drawn.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    label : str, optional
        What the legend calls the curve.
    color : str
        Of the curve and its band.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If no target position is reached by three sentences, or the mask does not fit.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import torch
    >>> ax = plot_entropy_curve(torch.full((4, 6, 5), 0.2))
    >>> ax.lines[0].get_ydata().tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    entropy = attention_entropy(weights.detach(), mask, normalized=True).double().cpu().numpy()
    counted = np.flatnonzero((~np.isnan(entropy)).sum(0) >= 3)
    if not counted.size:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}, and no target position is reached by "
            "three sentences; expected a batch of at least three"
        )
    low, middle, high = np.nanquantile(entropy[:, counted], (0.25, 0.5, 0.75), axis=0)
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=(5.8, 3.2), layout="constrained")
    ax.fill_between(counted + 1, low, high, color=color, alpha=0.2, linewidth=0)
    ax.plot(counted + 1, middle, color=color, label=label)
    ax.set(xlabel="target position", ylabel="entropy\n(share of max.)", ylim=(0, 1.05))
    if label is not None:
        ax.legend()
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
    weights : (target, source)
        Weights of one sentence, padding cut off.
    source : sequence of str
        The words.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    low, high : float
        As in :func:`~seqattn.maps.coverage_report`.

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
    >>> ax = plot_coverage_curve(torch.tensor([[0.9, 0.1], [0.9, 0.1]]), ["the", "cat"])
    >>> ax.lines[0].get_ydata().round(1).tolist()
    [0.0, 0.9, 1.8]
    """
    steps = weights.shape[0]
    as_weights(weights, (steps, len(source)), "(target, len(source))")
    report = coverage_report(weights.detach().unsqueeze(0), low=low, high=high)
    totals = np.zeros((steps + 1, len(source)))
    totals[1:] = weights.detach().double().cpu().numpy().cumsum(0)
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=(5.8, 3.6), layout="constrained")
    for i, word in enumerate(source):
        colour = GREY if report.under[0, i] else ORANGE if report.over[0, i] else BLUE
        ax.plot(totals[:, i], color=colour, alpha=1.0 if colour != BLUE else 0.5)
        if colour != BLUE:
            ax.annotate(
                word,
                (steps, totals[-1, i]),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                parse_math=False,
                annotation_clip=False,
            )
    ax.plot([0, steps], [0, float(report.share[0])], "--", color=GREY, linewidth=1)
    ax.set(xlabel="target words written", ylabel="attention so far", xlim=(0, steps))
    ax.set_ylim(bottom=0)
    return ax
