"""Penalties of sentences, applied to log-probabilities before these are compared."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

__all__ = ["LEAST_COVERAGE", "coverage_penalty", "length_penalty"]

LEAST_COVERAGE = 1e-4


def length_penalty(lengths: Int[Tensor, "..."], alpha: float) -> Float[Tensor, "..."]:
    r"""Length penalty of Wu et al., :math:`\mathrm{lp}(n) = \left(\frac{5 + n}{6}\right)^\alpha`.

    A sum of log-probabilities falls with every token, so that without it short sentences win.

    Parameters
    ----------
    lengths : integers, any shape
        Number of tokens n, the end of the sentence included.
    alpha : float
        0 compares sums as they are; 1 divides them by (5 + n) / 6, which ranks long sentences
        nearly as means over the tokens do, and short ones less so.

    Returns
    -------
    same shape as lengths
        Divisors, 1 or more for sentences of a token or more.

    Raises
    ------
    ValueError
        If alpha is negative: short sentences win even without a penalty on long ones.

    References
    ----------
    Wu et al. (2016), "Google's Neural Machine Translation System", equation 14.

    Examples
    --------
    >>> import torch
    >>> length_penalty(torch.tensor([1, 7, 13]), alpha=1.0)
    tensor([1., 2., 3.])
    """
    if alpha < 0:
        raise ValueError(f"length_penalty is {alpha}; expected 0 or more")
    return ((5 + lengths) / 6) ** alpha


def coverage_penalty(
    coverage: Float[Tensor, "*sentences keys"],
    beta: float,
    mask: Bool[Tensor, "*sentences keys"] | None = None,
) -> Float[Tensor, "*sentences"]:
    r"""Coverage penalty of Wu et al., for source positions that were hardly looked at.

    .. math::
        \mathrm{cp} = \beta \sum_{i=1}^{S} \log \min\Big(\sum_{t=1}^{T} \alpha_{ti}, 1\Big)

    It is added to the log-probability. It is 0 if each position has got a total weight of 1 or
    more, and negative otherwise: a translation that leaves source words out loses.

    Parameters
    ----------
    coverage : (..., keys)
        Sum of the weights over the target's steps.
    beta : float
        β, 0 or more.
    mask : (..., keys) bool, optional
        True at real source positions.

    Returns
    -------
    (...)
        Summands, 0 or less, in nats. A position with less than 0.0001 counts as having that, so
        that a position never seen, as local attention has many, does not make all sentences alike.

    Raises
    ------
    ValueError
        If beta is negative: leaving words out would win.

    References
    ----------
    Wu et al. (2016), equation 14, where the sum of the weights is written
    :math:`\sum_j p_{i,j}`.

    Examples
    --------
    >>> import torch
    >>> coverage_penalty(torch.tensor([1.7, 1.0, 0.5]), beta=1.0)
    tensor(-0.6931)
    """
    if beta < 0:
        raise ValueError(f"coverage_penalty is {beta}; expected 0 or more")
    summands = coverage.clamp(LEAST_COVERAGE, 1.0).log()
    if mask is not None:
        summands = summands.masked_fill(~mask, 0.0)
    return beta * summands.sum(-1)
