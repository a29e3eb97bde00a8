"""The entropy of many sentences as a curve over the steps of the target."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.metrics import attention_entropy
from seqattn.plots.style import BLUE, import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_entropy_curve"]


def plot_entropy_curve(
    weights: Float[Tensor, "batch target source"],
    mask: Bool[Tensor, "batch target source"] | None = None,
    *,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str = BLUE,
) -> "Axes":
    """Draw how spread attention is at each target position: the median and the middle half.

    The entropy is a share of the largest possible, that of equal weights on the real positions.

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
    TypeError
        If the mask is not boolean.
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
