"""Length penalties: what a total log-probability is divided by before sentences are compared."""

from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["length_penalty"]


def length_penalty(lengths: Int[Tensor, "..."], alpha: float) -> Float[Tensor, "..."]:
    r"""Length penalty of Wu et al., :math:`\mathrm{lp}(n) = \left(\frac{5 + n}{6}\right)^\alpha`.

    A sum of log-probabilities falls with every token, so that without it short sentences win.

    Parameters
    ----------
    lengths : integers, any shape
        Number of tokens n, the end of the sentence included.
    alpha : float
        0 compares sums as they are; near 1, means over the tokens.

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
