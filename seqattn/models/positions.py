"""Where in the sentence: attention alone sees a set, so that order has to be put in."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqattn.precision import at_least_single

__all__ = ["LearnedPositions", "SinusoidalPositions", "sinusoidal_positions"]

Embedded = Float[Tensor, "batch positions d_model"]


def sinusoidal_positions(
    length: int, d_model: int, *, start: int = 0, device: torch.device | None = None
) -> Float[Tensor, "length d_model"]:
    r"""Sines and cosines of the position at wavelengths from 2π to 20,000π.

    .. math::
        P_{p,2k} = \sin(p / 10000^{2k/d}), \qquad P_{p,2k+1} = \cos(p / 10000^{2k/d})

    A shift by n positions turns each pair (2k, 2k+1) by the same angle wherever it begins, so it is
    a linear map; and the dot product of two positions depends on their distance alone.

    Parameters
    ----------
    length : int
        How many positions.
    d_model : int
        Size d, even.
    start : int
        The first position.
    device : torch.device, optional
        Where to make them.

    Returns
    -------
    (length, d_model)
        One row for each position, in the default dtype.

    Raises
    ------
    ValueError
        If ``d_model`` is odd: sines and cosines come in pairs.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.5.

    Examples
    --------
    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if d_model % 2:
        raise ValueError(f"d_model is {d_model}; expected an even number, sines with cosines")
    kind = at_least_single(torch.get_default_dtype())
    steps = torch.arange(0, d_model, 2, device=device, dtype=kind)
    rates = torch.exp(-math.log(10_000) / d_model * steps)
    angles = torch.arange(start, start + length, device=device)[:, None] * rates
    table = torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    return table.to(torch.get_default_dtype())


class SinusoidalPositions(nn.Module):
    """Add :func:`sinusoidal_positions` to embeddings; for any length, with nothing to learn."""

    def forward(self, embedded: Embedded, start: int = 0) -> Embedded:
        """Add the positions from ``start`` on."""
        length, d_model = embedded.shape[1:]
        table = sinusoidal_positions(length, d_model, start=start, device=embedded.device)
        return embedded + table.to(embedded.dtype)


class LearnedPositions(nn.Module):
    """Add one learned vector for each position, up to the longest length.

    Parameters
    ----------
    max_len : int
        How many positions there are.
    d_model : int
        Size of the vectors.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def forward(self, embedded: Embedded, start: int = 0) -> Embedded:
        """Add the positions from ``start`` on.

        Raises
        ------
        ValueError
            If the sentence is longer than what was learned.
        """
        end = start + embedded.shape[1]
        if end > len(self.table):
            raise ValueError(
                f"the sentence reaches position {end}; learned positions end at {len(self.table)} "
                "(build the model with a larger max_len, or with sinusoidal positions)"
            )
        return embedded + self.table[start:end]
