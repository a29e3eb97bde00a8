"""Penalties on attention weights that do what their name says when they are *added* to a loss.

The sum of a row of softmax weights is 1 whatever they are, so an L1 penalty on them is a constant
with no gradient. What spreads or sharpens a row is its entropy, or its sum of squares.
"""

from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.attention.masks import check_bool, expand_mask
from seqattn.metrics import attention_entropy
from seqattn.precision import at_least_single

__all__ = ["doubly_stochastic_penalty", "entropy_penalty", "sparsity_penalty"]

Maps = Float[Tensor, "batch *heads steps keys"]
Real = Bool[Tensor, "batch steps"]


def entropy_penalty(
    weights: Maps, target_mask: Real | None = None, source_mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, ""]:
    r"""Mean normalised entropy of the rows: added to a loss, it *sharpens* attention.

    Subtract it, or give it a negative factor, to keep attention spread. Its unit is the largest
    entropy that a row of its length can have, so that long sentences do not weigh more.

    Parameters
    ----------
    weights : (batch, [heads,] steps, keys)
        Attention weights.
    target_mask : (batch, steps) bool, optional
        True at real target tokens; the mean is over those.
    source_mask : bool, optional
        True where a position may be attended, as for :func:`~seqattn.attention_entropy`.

    Returns
    -------
    scalar
        From 0 (one position in each row) to 1 (uniform rows); 0 if there are no rows.

    Raises
    ------
    ValueError
        If a mask does not fit.
    TypeError
        If it is not boolean.

    Examples
    --------
    >>> import torch
    >>> entropy_penalty(torch.full((1, 2, 4), 0.25))
    tensor(1.)
    """
    weights = _at_real_steps(weights, target_mask)
    if source_mask is not None:
        weights = weights.masked_fill(~expand_mask(source_mask, weights), 0.0)
    entropy = attention_entropy(weights, source_mask, normalized=True)
    return _mean(entropy, _attends(weights))


def sparsity_penalty(weights: Maps, target_mask: Real | None = None) -> Float[Tensor, ""]:
    r"""Mean of :math:`1 - \sum_i \alpha_{ti}^2`: added to a loss, it *sharpens* attention.

    Its gradient in the scores is largest for rows that are neither uniform nor decided. (Also known
    as the Gini impurity; 1 over the sum of squares is an effective number of positions.)

    Parameters
    ----------
    weights : (batch, [heads,] steps, keys)
        Attention weights.
    target_mask : (batch, steps) bool, optional
        True at real target tokens; the mean is over those.

    Returns
    -------
    scalar
        From 0 (one position in each row) to below 1.

    Raises
    ------
    ValueError
        If the mask does not fit.
    TypeError
        If it is not boolean.

    Examples
    --------
    >>> import torch
    >>> sparsity_penalty(torch.full((1, 2, 4), 0.25))
    tensor(0.7500)
    """
    weights = _at_real_steps(weights, target_mask)
    return _mean(1.0 - weights.square().sum(-1), _attends(weights))


def doubly_stochastic_penalty(
    weights: Maps,
    target_mask: Real | None = None,
    source_mask: Bool[Tensor, "batch keys"] | None = None,
    *,
    target: float = 1.0,
) -> Float[Tensor, ""]:
    r"""Mean of :math:`(\kappa - \sum_t \alpha_{ti})^2`: added, it makes all positions looked at.

    Parameters
    ----------
    weights : (batch, [heads,] steps, keys)
        Attention weights.
    target_mask : (batch, steps) bool, optional
        True at real target tokens; the sum is over those.
    source_mask : (batch, keys) bool, optional
        True at real source tokens; the mean is over those.
    target : float
        Total attention wanted on each source position, κ. The paper's 1 presumes about as many
        steps as positions.

    Returns
    -------
    scalar
        0 if each source position got ``target`` in total.

    Raises
    ------
    ValueError
        If a mask does not fit.
    TypeError
        If it is not boolean.

    References
    ----------
    Xu et al. (2015), "Show, Attend and Tell", equation 14, "doubly stochastic" attention.

    Examples
    --------
    >>> import torch
    >>> doubly_stochastic_penalty(torch.eye(3)[None])
    tensor(0.)
    """
    weights = _at_real_steps(weights, target_mask)
    missing = (target - weights.sum(-2)).square()
    if source_mask is None:
        return missing.mean()
    return _mean(missing, _placed(source_mask, missing))


def _at_real_steps(weights: Tensor, target_mask: Tensor | None) -> Tensor:
    """Set the rows of padded steps to zero, NaN included: rows that attend nowhere.

    In 32 bits at least, for the sums to come.
    """
    weights = weights.to(at_least_single(weights.dtype))
    if target_mask is None:
        return weights
    return weights.where(_placed(target_mask, weights[..., 0]).unsqueeze(-1), 0.0)


def _attends(weights: Tensor) -> Tensor:
    """Say which rows attend anywhere. A row with NaN counts, so that the mean is NaN as well."""
    return weights.sum(-1) != 0


def _mean(values: Tensor, kept: Tensor) -> Tensor:
    """Average over what is kept; 0 if nothing is."""
    return values.where(kept, 0.0).sum() / kept.expand_as(values).sum().clamp(min=1)


def _placed(mask: Tensor, values: Tensor) -> Tensor:
    """Give a (batch, n) mask the axis of heads that (batch, [heads,] n) values have."""
    check_bool(mask)
    if mask.shape != (values.shape[0], values.shape[-1]):
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}; expected "
            f"{(values.shape[0], values.shape[-1])}, one flag per sentence and token"
        )
    return mask if values.dim() == 2 else mask.unsqueeze(1)
