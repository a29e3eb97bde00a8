"""Whole attention maps: how much of the source was covered, and pieces merged into words."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.attention.masks import check_bool
from seqattn.precision import at_least_single

__all__ = ["CoverageReport", "coverage_report", "merge_pieces"]


class CoverageReport(NamedTuple):
    """How much attention each source position got in all; padding is 0 and False.

    Attributes
    ----------
    total : (batch, keys)
        Sum of its weights over real target tokens.
    share : (batch,)
        What each would get if all got the same: target length over source length, the mean of
        ``total`` whatever the map.
    under, over : (batch, keys) bool
        Positions with much less, or much more, than their share, or than was expected.
    """

    total: Tensor
    share: Tensor
    under: Tensor
    over: Tensor


def coverage_report(
    weights: Float[Tensor, "batch steps keys"],
    target_mask: Bool[Tensor, "batch steps"] | None = None,
    source_mask: Bool[Tensor, "batch keys"] | None = None,
    *,
    low: float = 0.5,
    high: float = 2.0,
    expected: float | Float[Tensor, "batch keys"] | None = None,
) -> CoverageReport:
    """Find source positions that a translation may have left out, or said twice.

    Attention is a hint and no proof: a word can be translated from its neighbour's state.

    Parameters
    ----------
    weights : (batch, steps, keys)
        Attention weights.
    target_mask, source_mask : bool, optional
        True at real tokens.
    low, high : float
        Under is below ``low`` shares, over is above ``high`` shares.
    expected : float, or (batch, keys), optional
        The total that each position should get, in place of its share: with 1 a word needs the
        weight of one target token. A share is T_t/T_s, so a translation that leaves out a clause is
        short and lowers its own bar; a total does not move, but calls a translation short that is
        rightly so. Compare the lengths first.

    Returns
    -------
    CoverageReport
        Totals, shares, and which positions are under or over.

    Raises
    ------
    ValueError
        If a mask or what is expected does not fit, or ``low`` is above ``high``.
    TypeError
        If a mask is not boolean.

    References
    ----------
    Tu et al. (2016), "Modeling Coverage for Neural Machine Translation", section 2.2, for over- and
    under-translation.

    Examples
    --------
    >>> weights = torch.tensor([[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.8, 0.2, 0.0]]])
    >>> report = coverage_report(weights)
    >>> report.total, report.over
    (tensor([[2.8000, 0.2000, 0.0000]]), tensor([[ True, False, False]]))

    One word stands for six. Each of them got its share, and a sixth of what a word needs:

    >>> one = torch.full((1, 1, 6), 1 / 6)
    >>> coverage_report(one).under.any(), coverage_report(one, expected=1.0).under.all()
    (tensor(False), tensor(True))
    """
    if low > high:
        raise ValueError(f"low is {low} and high is {high}; expected low to be the lower")
    batch, steps, keys = weights.shape
    target = _real(target_mask, (batch, steps), weights, "target_mask")
    source = _real(source_mask, (batch, keys), weights, "source_mask")
    kind = weights.dtype
    weights = weights.to(at_least_single(kind))  # many small weights are to be added
    total = weights.where(target.unsqueeze(-1), 0.0).sum(1).masked_fill(~source, 0.0)
    share = target.sum(1) / source.sum(1).clamp(min=1)
    fair = share.unsqueeze(1) if expected is None else torch.as_tensor(expected).to(total)
    if fair.dim() and expected is not None and fair.shape != total.shape:
        raise ValueError(
            f"expected has shape {tuple(fair.shape)}; one number, or (batch, keys) = "
            f"{(batch, keys)} would fit"
        )
    # Rounding must not decide where all got the same.
    slack = 1e-6 * fair
    under = source & (total < low * fair - slack)
    over = source & (total > high * fair + slack)
    return CoverageReport(total.to(kind), share.to(kind), under, over)


def merge_pieces(
    weights: Float[Tensor, "steps keys"],
    target_words: Sequence[int],
    source_words: Sequence[int],
) -> Float[Tensor, "words_t words_s"]:
    """Merge the pieces of words: a map between words from a map between subwords.

    Columns are *summed*: attention to a word is attention to any of its pieces. Rows are
    *averaged*, as each piece of a target word looked somewhere. So rows still sum to 1.

    Parameters
    ----------
    weights : (steps, keys)
        A map between pieces.
    target_words, source_words : sequences of int
        For each piece the number of its word, from 0, without gaps.

    Returns
    -------
    (target words, source words)
        The map between words.

    Raises
    ------
    ValueError
        If the numbers do not fit the map, or leave a word without pieces.

    Examples
    --------
    Two pieces of one target word, two of the second source word:

    >>> weights = torch.tensor([[0.2, 0.5, 0.3], [0.4, 0.0, 0.6]])
    >>> merge_pieces(weights, [0, 0], [0, 1, 1])
    tensor([[0.3000, 0.7000]])
    """
    columns = _membership(source_words, weights.shape[1], "source_words").to(weights)
    rows = _membership(target_words, weights.shape[0], "target_words").to(weights)
    return (rows / rows.sum(0)).mT @ weights @ columns


def _membership(words: Sequence[int], pieces: int, name: str) -> Tensor:
    """(pieces, words) of 0 and 1."""
    numbers = torch.as_tensor(words, dtype=torch.long)
    if len(numbers) != pieces:
        raise ValueError(f"{name} has {len(numbers)} numbers for {pieces} pieces")
    if sorted(set(words)) != list(range(len(set(words)))):
        raise ValueError(f"{name} are {list(words)}; expected words numbered from 0 without gaps")
    return numbers[:, None] == torch.arange(len(set(words)))


def _real(mask: Tensor | None, shape: tuple[int, int], like: Tensor, name: str) -> Tensor:
    if mask is None:
        return torch.ones(shape, dtype=torch.bool, device=like.device)
    check_bool(mask, name)
    if mask.shape != shape:
        raise ValueError(f"{name} has shape {tuple(mask.shape)}; expected {shape}")
    return mask
