"""Dropout, with masks that a CPU draws quickly."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Dropout", "check_dropout", "dropout"]


def check_dropout(p: float) -> None:
    """Refuse what is no probability from 0 to below 1, NaN included."""
    if not 0 <= p < 1:
        raise ValueError(f"dropout is {p}; expected a probability from 0 to below 1")


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    r"""Set each number to 0 with probability p, and divide the others by :math:`1 - p`.

    Parameters
    ----------
    x : tensor
        Features or attention weights.
    p : float
        From 0 to below 1. On a CPU rounded to a multiple of 1/65,536 where numbers are drawn, and
        exact in :math:`1 - p`, by which the others are divided.
    training : bool
        Outside training nothing is dropped.

    Returns
    -------
    same shape as x
        With the same mean, over all masks, but for that rounding.

    Notes
    -----
    PyTorch draws a CPU's mask number by number, which takes longer than the matrix products around
    it in a small Transformer. Here one random number of 64 bits serves four features.

    Raises
    ------
    ValueError
        If p is not from 0 to below 1.

    References
    ----------
    Srivastava et al. (2014), "Dropout: A Simple Way to Prevent Neural Networks from Overfitting".

    Examples
    --------
    >>> _ = torch.manual_seed(4)
    >>> dropout(torch.ones(8), 0.5)
    tensor([2., 0., 2., 0., 0., 2., 2., 0.])
    """
    check_dropout(p)
    if not training or p == 0.0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, p)
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    lanes = draws.view(torch.int16)[: x.numel()].view(x.shape)  # from −32,768 to 32,767
    kept = lanes >= min(round(p * 2**16), 2**16 - 1) - 2**15
    return x * kept.to(x.dtype).mul_(1 / (1 - p))


class Dropout(nn.Dropout):
    """:func:`dropout` as a layer."""

    def __init__(self, p: float):
        check_dropout(p)
        super().__init__(p)

    def forward(self, input: Tensor) -> Tensor:
        """Drop features in training, and only there."""
        return dropout(input, self.p, self.training)
