"""The same few products in another order: softmax attention block by block, and linear attention.

The first gives what :func:`~seqattn.attention.scaled_dot_score` and the core give, to rounding, and
never holds a whole row of scores. The second moves a bracket, which the softmax forbids, so it is
another function. Both are written to be read; fast kernels do the first on a GPU's small memory.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.attention.core import weighted_sum
from seqattn.attention.masks import expand_mask, forget_unseen
from seqattn.attention.scores import scaled_dot_score
from seqattn.settings import check_whole

__all__ = ["linear_attention", "online_softmax_attention"]

Queries = Float[Tensor, "batch queries d_key"]
Keys = Float[Tensor, "batch keys d_key"]
Values = Float[Tensor, "batch keys d_value"]
Contexts = Float[Tensor, "batch queries d_value"]


class _Running(NamedTuple):
    """What is kept of the keys so far: the largest score, and both sums relative to it."""

    top: Tensor  # (batch, queries, 1)
    total: Tensor  # (batch, queries, 1)
    context: Tensor  # (batch, queries, d_value)


def online_softmax_attention(
    query: Queries,
    keys: Keys,
    values: Values,
    mask: Bool[Tensor, "..."] | None = None,
    *,
    block: int = 64,
) -> Contexts:
    r"""Scaled dot-product attention that reads keys and values one block after the other.

    For each query three things are kept: the largest score so far :math:`m`, the sum of
    exponentials :math:`z` and the sum of values :math:`a`, both relative to :math:`m`. A block with
    scores :math:`e_i` changes them to

    .. math::
        m' &= \max(m, \max_i e_i) \\
        z' &= e^{m - m'} z + \sum_i e^{e_i - m'} \\
        a' &= e^{m - m'} a + \sum_i e^{e_i - m'} v_i

    and at the end the context is :math:`a/z`. This is exact; it needs memory for
    ``queries * block`` scores in place of ``queries * keys``, as long as no gradient is asked for:
    for that, autograd keeps every block, where FlashAttention computes it again. There are no
    weights to return.

    Parameters
    ----------
    query : (batch, queries, d_key)
        What asks.
    keys : (batch, keys, d_key)
        What is compared.
    values : (batch, keys, d_value)
        What the weighted sum is taken of.
    mask : bool, optional
        True = may be attended, shaped as :func:`~seqattn.attention.masks.expand_mask` says.
    block : int
        How many keys are read at a time, at least 1; the last block may be shorter.

    Returns
    -------
    (batch, queries, d_value)
        Contexts; 0 where a query may attend nothing.

    Raises
    ------
    ValueError
        If the block is below 1 or no whole number, or shapes do not fit.
    TypeError
        If the mask is not boolean.

    References
    ----------
    Milakov and Gimelshein (2018), "Online normalizer calculation for softmax", algorithm 3; Dao et
    al. (2022), "FlashAttention", section 3.1.

    Examples
    --------
    >>> x = torch.randn(2, 7, 4)
    >>> whole = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    >>> torch.allclose(online_softmax_attention(x, x, x, block=3), whole, atol=1e-6)
    True
    """
    check_whole("block", block, least=1)
    seen = _check(query, keys, values, mask)
    keys, values = forget_unseen(keys, mask), forget_unseen(values, mask)
    none = query.new_zeros(*query.shape[:2], 1)
    running = _Running(none - torch.inf, none, none.expand(-1, -1, values.shape[-1]))
    for first in range(0, keys.shape[1], block):
        part = slice(first, first + block)
        scores = scaled_dot_score(query, keys[:, part])
        if seen is not None:
            scores = scores.masked_fill(~seen[..., part], -torch.inf)
        running = _read(running, scores, values[:, part])
    # Where nothing was seen both sums are 0.
    return running.context / running.total.masked_fill(running.total == 0, 1.0)


def _read(running: _Running, scores: Tensor, values: Tensor) -> _Running:
    """Add a block of keys."""
    top = torch.maximum(running.top, scores.amax(-1, keepdim=True))
    # As long as nothing was seen the largest score is −∞, and −∞ − (−∞) would be NaN. What is
    # subtracted cancels in the end, so it passes no gradient.
    floor = top.masked_fill(top == -torch.inf, 0.0).detach()
    old, new = (running.top - floor).exp(), (scores - floor).exp()
    return _Running(
        top.detach(),
        old * running.total + new.sum(-1, keepdim=True),
        old * running.context + weighted_sum(new, values),
    )


def linear_attention(
    query: Queries,
    keys: Keys,
    values: Values,
    mask: Bool[Tensor, "batch keys"] | None = None,
    *,
    causal: bool = False,
) -> Contexts:
    r"""Attention whose similarity is a product of features, so that keys and values meet first.

    .. math::
        c_t = \frac{\phi(q_t)^\top \sum_i \phi(k_i) v_i^\top}{\phi(q_t)^\top \sum_i \phi(k_i)},
        \qquad \phi(x) = \mathrm{elu}(x) + 1

    Work and memory grow with the number of keys, and not with queries times keys. This is not a
    faster softmax: the weights are others, and no kernel with finitely many features gives those
    of the softmax exactly.

    Parameters
    ----------
    query : (batch, queries, d_key)
        What asks.
    keys : (batch, keys, d_key)
        What is compared.
    values : (batch, keys, d_value)
        What the weighted sum is taken of.
    mask : (batch, keys) bool, optional
        True = may be attended. What stands at the other positions never reaches a result.
    causal : bool
        Whether query t sees keys 0 to t alone; then there are as many queries as keys.

    Returns
    -------
    (batch, queries, d_value)
        Contexts; 0 where a query may attend nothing.

    Raises
    ------
    ValueError
        If shapes do not fit.
    TypeError
        If the mask is not boolean.

    References
    ----------
    Katharopoulos et al. (2020), "Transformers are RNNs", equations 4 to 9.

    Examples
    --------
    >>> x = torch.randn(2, 7, 4)
    >>> linear_attention(x, x, x).shape
    torch.Size([2, 7, 4])
    """
    if mask is not None and mask.shape != keys.shape[:2]:
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}; expected (batch, keys) = "
            f"{tuple(keys.shape[:2])}: one flag per source position"
        )
    _check(query, keys, values, mask)
    if causal and query.shape[1] != keys.shape[1]:
        raise ValueError(
            f"there are {query.shape[1]} queries and {keys.shape[1]} keys; causal linear attention "
            "expects one query for each key"
        )
    keys, values = forget_unseen(keys, mask), forget_unseen(values, mask)
    asked, known = _features(query), _features(keys)
    if mask is not None:
        known = known * mask[..., None]  # φ(0) is 1, not 0
    if causal:
        # A sum for each position: what a recurrent network would carry as its state.
        table = (known.unsqueeze(-1) * values.unsqueeze(-2)).cumsum(1)
        context = (asked.unsqueeze(-2) @ table).squeeze(-2)
        total = (asked * known.cumsum(1)).sum(-1, keepdim=True)
    else:
        context = asked @ (known.mT @ values)
        total = asked @ known.sum(1).unsqueeze(-1)
    return context / total.masked_fill(total == 0, 1.0)


def _features(x: Tensor) -> Tensor:
    """Give elu(x) + 1. Below 0 that is exp(x), which loses digits by way of exp(x) − 1."""
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def _check(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor | None:
    """Refuse what does not fit; give the mask over the scores."""
    if (
        not query.dim() == keys.dim() == values.dim() == 3
        or query.shape[0] != keys.shape[0]
        or query.shape[-1] != keys.shape[-1]
        or keys.shape[:2] != values.shape[:2]
    ):
        raise ValueError(
            f"query, keys and values have shapes {tuple(query.shape)}, {tuple(keys.shape)} and "
            f"{tuple(values.shape)}; expected (batch, queries, d_key), (batch, keys, d_key) and "
            "(batch, keys, d_value)"
        )
    if mask is None:
        return None
    scores = torch.empty(*query.shape[:2], keys.shape[1], device="meta")
    return expand_mask(mask, scores)
