r"""Numbers that describe attention weights: how spread out they are, and what they point at.

A function that looks at rows takes weights ``(batch, keys)`` or ``(batch, [heads,] queries,
keys)``; one that needs whole maps says so. Each gives one number, or one set of links, per row or
sentence. A row that attends nowhere, because its mask leaves nothing or because its weights are all
zero (padding), has no entropy: its result is NaN, so that it cannot be mistaken for a perfectly
focused row, whose entropy is 0. Average with :func:`torch.nanmean`, which leaves such rows out.

All weights that are compared should come from one place in the decoder, without attention dropout.
Weights show where the context vector came from, not why the model said what it said.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqattn.attention.masks import check_lengths, expand_mask
from seqattn.metrics.symmetrization import symmetrize
from seqattn.precision import at_least_single

__all__ = [
    "PatternScores",
    "attention_entropy",
    "effective_positions",
    "hard_alignment",
    "jensen_shannon",
    "max_weight",
    "pattern_scores",
    "weight_distance",
]

Weights = Float[Tensor, "*rows keys"]
PerRow = Float[Tensor, "*rows"]


def attention_entropy(
    weights: Weights,
    mask: Bool[Tensor, "..."] | None = None,
    *,
    base: float | None = None,
    normalized: bool = False,
) -> PerRow:
    r"""Entropy of each row of weights: 0 for all weight on one position, log S for uniform.

    So it is for rows that sum to 1. Those of local attention sum to less unless they are made to.

    .. math:: H_t = -\sum_i \alpha_{ti} \log \alpha_{ti}, \qquad 0 \log 0 = 0

    Parameters
    ----------
    weights : (batch, [heads,] [queries,] keys)
        Attention weights.
    mask : bool, optional
        True where a position may be attended, shaped as for
        :func:`~seqattn.masked_softmax`. What lies outside is ignored. To leave out padded *target*
        rows as well, combine both: ``target_mask[:, :, None] & source_mask[:, None, :]``.
    base : float, optional
        Base of the logarithm, and so the unit: nats if not given, bits for 2.
    normalized : bool
        Divide by log S, where S is the number of positions that the row may attend (its true
        length, if the mask says so). Only then can sentences of different lengths be compared: the
        result is from 0 to 1 for each. The base cancels. A row of length 1 gives 0.

    Returns
    -------
    (batch, [heads,] [queries])
        Entropy in nats (or as ``base`` says); NaN for a row that attends nowhere. Its gradient is
        finite everywhere, also where a weight is exactly 0, so that it can serve in a loss.

    Raises
    ------
    ValueError
        If the base is not a positive number other than 1, or the mask does not fit.

    References
    ----------
    Shannon (1948), "A Mathematical Theory of Communication", section 6. On attention weights:
    Ghader and Monz (2017), "What does Attention in Neural Machine Translation Pay Attention to?".

    Examples
    --------
    >>> weights = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> attention_entropy(weights, base=2)
    tensor([1., 0., nan])
    >>> attention_entropy(weights, base=2).nanmean()
    tensor(0.5000)
    """
    if base is not None and (not base > 0 or base == 1):
        raise ValueError(f"base is {base}; expected a positive number other than 1 (2 for bits)")
    weights, lengths, attends = _prepare(weights, mask)
    # The logarithm never sees a 0: its value would be harmless (0 · -inf is patched by entr or
    # xlogy), its gradient not. Subtracting from 0.0 avoids the minus zero of a one-hot row.
    entropy = 0.0 - (weights * weights.where(weights > 0, 1.0).log()).sum(-1)
    if normalized:
        # Rounding may lift a uniform row above 1.
        entropy = (entropy / lengths.log().where(lengths > 1, 1.0)).clamp(max=1.0)
    elif base is not None:
        entropy = entropy / math.log(base)
    return entropy.where(attends, torch.nan)


def effective_positions(
    weights: Weights,
    mask: Bool[Tensor, "..."] | None = None,
    *,
    threshold: float | None = None,
) -> PerRow:
    r"""How many positions a row attends to, in effect.

    .. math:: n_t = \exp(H_t) \qquad\text{or}\qquad n_t = |\{i : \alpha_{ti} > \theta\}|

    The exponential of the entropy is the number of equal weights that would be as spread out: k for
    a row uniform over k positions, and it need not be an integer. Counting weights above a fixed
    threshold θ is common, but depends on the length: with θ = 0.1 a uniform row over 9 positions
    has 9 effective positions and one over 10 has none.

    Parameters
    ----------
    weights, mask
        As in :func:`~seqattn.attention_entropy`.
    threshold : float, optional
        θ, from 0 to below 1: count the weights strictly above it instead.

    Returns
    -------
    (batch, [heads,] [queries])
        Number of positions, from 1 to the length of the row (a count above a threshold may be 0);
        NaN for a row that attends nowhere.

    Raises
    ------
    ValueError
        If the threshold is out of range, or the mask does not fit.

    References
    ----------
    Hill (1973), "Diversity and Evenness: A Unifying Notation and Its Consequences", for the
    exponential of the entropy as an effective number.

    Examples
    --------
    >>> uniform = torch.full((1, 10), 0.1)
    >>> effective_positions(uniform).round(decimals=3)
    tensor([10.])
    >>> effective_positions(uniform, threshold=0.1)
    tensor([0.])
    """
    if threshold is None:
        return attention_entropy(weights, mask).exp()
    _check_threshold(threshold)
    weights, _, attends = _prepare(weights, mask)
    return (weights > threshold).sum(-1).to(weights.dtype).where(attends, torch.nan)


def max_weight(weights: Weights, mask: Bool[Tensor, "..."] | None = None) -> PerRow:
    r"""Largest weight of each row, :math:`\max_i \alpha_{ti}`.

    Parameters
    ----------
    weights, mask
        As in :func:`~seqattn.attention_entropy`.

    Returns
    -------
    (batch, [heads,] [queries])
        Largest weight, from 1/S (uniform over S positions) to 1; NaN for a row that attends
        nowhere.

    Raises
    ------
    ValueError
        If the mask does not fit.

    Examples
    --------
    >>> max_weight(torch.tensor([[0.2, 0.7, 0.1]]))
    tensor([0.7000])
    """
    weights, _, attends = _prepare(weights, mask)
    return weights.amax(-1).where(attends, torch.nan)


class PatternScores(NamedTuple):
    """How far each head follows a simple pattern: means over the rows that can follow it.

    Attributes
    ----------
    previous, own, next : (heads)
        Mean weight of row t on position t - 1, t and t + 1, over rows that have such a position.
    last : (heads)
        Mean weight on the last real position, the end of the sentence in a translator.
    entropy : (heads)
        Mean entropy, as a share of the largest that the row's allowed positions permit: from 0
        (one position) to 1 (all alike). Rows with a single allowed position are left out.
    """

    previous: Float[Tensor, " heads"]
    own: Float[Tensor, " heads"]
    next: Float[Tensor, " heads"]
    last: Float[Tensor, " heads"]
    entropy: Float[Tensor, " heads"]


def pattern_scores(
    weights: Float[Tensor, "batch heads positions positions"],
    lengths: Int[Tensor, " batch"],
    *,
    causal: bool = False,
) -> PatternScores:
    r"""Score the heads of a self-attention by the patterns that their rows follow.

    .. math::
        \mathrm{previous}_h = \frac{1}{\sum_b (n_b - 1)} \sum_b \sum_{t=1}^{n_b-1}
        \alpha^{h}_{b,t,t-1}

    and so on: one mean over all rows of all sentences together. A row of uniform weights over n
    positions scores 1/n in each of the first four.

    Parameters
    ----------
    weights : (batch, heads, positions, positions)
        Attention weights; row t asks.
    lengths : (batch,) integers
        Number of real positions, first in each sentence. Nothing beyond them counts.
    causal : bool
        Whether row t could see positions up to t alone; then ``next`` is NaN, and entropies are
        shares of :math:`\log(t + 1)`.

    Returns
    -------
    PatternScores
        NaN where no row can follow the pattern.

    Raises
    ------
    ValueError
        If the maps are not square, or lengths do not fit.
    TypeError
        If lengths are not whole numbers in a tensor.

    References
    ----------
    Voita et al. (2019), "Analyzing Multi-Head Self-Attention", section 5.2, for heads that follow a
    position.

    Examples
    --------
    >>> steps_back = torch.eye(3).roll(1, dims=0)[None, None]  # row t looks at t - 1
    >>> pattern_scores(steps_back, torch.tensor([3])).previous
    tensor([1.])
    """
    batch, size = len(weights), weights.shape[-1]
    if weights.dim() != 4 or weights.shape[-2] != size:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}; expected (batch, heads, positions, "
            "positions), a square map for each head"
        )
    weights = weights.to(at_least_single(weights.dtype))
    check_lengths(lengths, batch)
    if not bool(((lengths >= 1) & (lengths <= size)).all()):
        raise ValueError(f"lengths are {lengths.tolist()}; expected each from 1 to {size}")
    at = torch.arange(size, device=weights.device)
    real = at < lengths.to(weights.device)[:, None]
    allowed = real[:, :, None] & real[:, None, :]
    if causal:
        allowed = allowed & (at[:, None] >= at)
    # What stands outside may be anything, NaN as well.
    known = weights.masked_fill(~allowed[:, None], 0.0)

    def mean_on(chosen: Tensor) -> Tensor:
        chosen = chosen & allowed
        total = known.masked_fill(~chosen[:, None], 0.0).sum((0, 2, 3))
        return total / chosen.sum().to(total.dtype)  # 0/0 is NaN: nothing was asked

    steps = at[:, None] - at
    last = at == lengths.to(weights.device)[:, None] - 1
    entropy = attention_entropy(known, allowed, normalized=True)
    choice = (allowed.sum(-1) > 1)[:, None].expand_as(entropy)
    return PatternScores(
        previous=mean_on(steps == 1),
        own=mean_on(steps == 0),
        next=mean_on(steps == -1),
        last=mean_on(last[:, None, :]),
        entropy=entropy.where(choice, torch.nan).transpose(0, 1).flatten(1).nanmean(1),
    )


def weight_distance(first: Weights, second: Weights) -> PerRow:
    r"""Total variation distance between two rows of weights.

    .. math:: d_t = \frac{1}{2} \sum_i |\alpha_{ti} - \beta_{ti}|

    It is the share of the one row's weight that stands elsewhere in the other: 0 for equal rows, 1
    for rows that look at different positions.

    Parameters
    ----------
    first, second : (batch, [heads,] [queries,] keys)
        Weights of two models, or two heads, over the same positions.

    Returns
    -------
    (batch, [heads,] [queries])
        Distances from 0 to 1; NaN where a row attends nowhere.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> weight_distance(torch.tensor([[0.7, 0.3, 0.0]]), torch.tensor([[0.5, 0.3, 0.2]]))
    tensor([0.2000])
    """
    attend = _attend_both(first, second)
    return ((first - second).abs().sum(-1) / 2).where(attend, torch.nan)


def jensen_shannon(first: Weights, second: Weights) -> PerRow:
    r"""Jensen–Shannon divergence between two rows of weights, in nats.

    .. math::
        \mathrm{JSD}(\alpha, \beta) &= \tfrac12 \mathrm{KL}(\alpha \| m)
        + \tfrac12 \mathrm{KL}(\beta \| m) \\
        m &= \tfrac12 (\alpha + \beta)

    It is 0 for equal rows and ln 2 = 0.693 for rows that look at different positions. Unlike the
    Kullback–Leibler divergence it is symmetric, and finite where one of the weights is 0.

    Parameters
    ----------
    first, second : (batch, [heads,] [queries,] keys)
        Weights of two models, or two heads, over the same positions.

    Returns
    -------
    (batch, [heads,] [queries])
        Divergences from 0 to ln 2; NaN where a row attends nowhere.

    Raises
    ------
    ValueError
        If the shapes differ.

    References
    ----------
    Lin (1991), "Divergence Measures Based on the Shannon Entropy".

    Examples
    --------
    >>> jensen_shannon(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))
    tensor([0.6931])
    """
    attend = _attend_both(first, second)
    middle = (first + second) / 2
    # A weight of 0 adds nothing, and its logarithm must not be seen by the gradient.
    parts = [w * _safe_log(w / middle.where(middle > 0, 1.0)) for w in (first, second)]
    return (sum(parts).sum(-1) / 2).clamp(min=0).where(attend, torch.nan)  # type: ignore[union-attr]


def _safe_log(ratio: Tensor) -> Tensor:
    return ratio.where(ratio > 0, 1.0).log()


def _attend_both(first: Tensor, second: Tensor) -> Tensor:
    """Mark the rows that attend somewhere in both maps, of one shape."""
    if first.shape != second.shape:
        raise ValueError(
            f"weights have shapes {tuple(first.shape)} and {tuple(second.shape)}; expected two "
            "maps of the same words"
        )
    return (first.sum(-1) > 0) & (second.sum(-1) > 0)


def hard_alignment(
    weights: Float[Tensor, "batch queries keys"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    threshold: float | None = None,
    method: str = "target",
) -> list[set[tuple[int, int]]]:
    r"""Word alignment links that the weights suggest.

    Each target position is linked to the source position with the largest weight (the first, if
    several are equal), or to all those with a weight above a threshold.

    The largest weight of each row gives a target word exactly one link and may give a source word
    none, whatever the truth. Its counterpart is the largest weight of each *column*: the target
    position that looks at a source position most. ``method`` combines the two as two directions of
    a statistical aligner are combined.

    Parameters
    ----------
    weights : (batch, queries, keys)
        Attention weights; row t belongs to the target word produced at step t.
    mask : bool, optional
        As in :func:`~seqattn.attention_entropy`. Rows that attend nowhere get no link, so give a
        mask over both target and source if the batch is padded.
    threshold : float, optional
        From 0 to below 1: link every position with a weight strictly above it. Combined with the
        columns, it adds such links to those of the rows' largest weights; with ``"source"``, which
        takes columns alone, it has no effect.
    method : str
        ``"target"`` takes rows alone and ``"source"`` columns alone; the others combine them, see
        :func:`~seqattn.metrics.symmetrize`. A column compares weights of different rows, so
        rows must not be padding.

    Returns
    -------
    list of set of (source, target)
        One set of links per sentence, counted from 0, as
        :func:`~seqattn.alignment_error_rate` takes them.

    Raises
    ------
    ValueError
        If weights are not (batch, queries, keys), the threshold is out of range, there is no such
        method, or the mask does not fit.

    References
    ----------
    Luong, Pham and Manning (2015), section 5.4, take the largest weight of each row. Zouhar and
    Pylypenko (2021), "Leveraging Neural Machine Translation for Word Alignment", compare
    thresholds, rows and columns.

    Examples
    --------
    >>> weights = torch.tensor([[[0.1, 0.9], [0.6, 0.4]]])
    >>> sorted(hard_alignment(weights)[0])
    [(0, 1), (1, 0)]
    >>> sorted(hard_alignment(weights, threshold=0.3)[0])
    [(0, 1), (1, 0), (1, 1)]

    Two source words for one target word:

    >>> weights = torch.tensor([[[0.9, 0.1, 0.0], [0.0, 0.4, 0.6]]])
    >>> sorted(hard_alignment(weights, method="grow-diag")[0])
    [(0, 0), (1, 1), (2, 1)]
    """
    if weights.dim() != 3:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}; expected (batch, queries, keys)"
        )
    if threshold is not None:
        _check_threshold(threshold)
    weights, _, _ = _prepare(weights, mask)
    rows, columns = _largest(weights, -1), _largest(weights, -2)
    if threshold is not None:
        above = weights > threshold
        rows = above if method == "target" else rows | above
    pairs = zip(_links(rows), _links(columns), strict=True)
    return [symmetrize(forward, backward, method) for forward, backward in pairs]


def _largest(weights: Tensor, dim: int) -> Tensor:
    """Mark the first largest entry along an axis, unless all are 0."""
    marked = torch.zeros_like(weights, dtype=torch.bool)
    if weights.numel():
        marked.scatter_(dim, weights.argmax(dim, keepdim=True), True)
    return marked & (weights > 0)


def _links(chosen: Tensor) -> list[set[tuple[int, int]]]:
    """Turn marks (batch, target, source) into sets of (source, target)."""
    links: list[set[tuple[int, int]]] = [set() for _ in chosen]
    for sentence, target, source in chosen.nonzero().tolist():
        links[sentence].add((source, target))
    return links


def _prepare(weights: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Blank what the mask forbids; count attendable positions; say which rows attend at all.

    In 32 bits at least: half of that can neither count far nor add up many weights.
    """
    weights = weights.to(at_least_single(weights.dtype))
    if mask is None:
        lengths = weights.new_full(weights.shape[:-1], weights.shape[-1])
    else:
        allowed = expand_mask(mask, weights).expand_as(weights)
        weights = weights.masked_fill(~allowed, 0.0)
        lengths = allowed.sum(-1).to(weights.dtype)
    return weights, lengths, weights.sum(-1) > 0


def _check_threshold(threshold: float) -> None:
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold is {threshold}; expected a weight from 0 to below 1")
