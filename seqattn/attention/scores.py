"""Score functions: how well does query s fit key h?

Each function is its equation. It takes the weights as arguments, shaped as in the literature
(output first); the modules that own them are in :mod:`seqattn.attention.score_modules`. A query is
one decoder state ``(batch, d_query)``, giving scores ``(batch, keys)``, or all the states of a
sentence ``(batch, queries, d_query)``, giving ``(batch, queries, keys)``.
"""

import math

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from seqattn.attention.checks import check_pair, check_size
from seqattn.attention.comparing import compare_additively

__all__ = [
    "additive_score",
    "concat_score",
    "dot_score",
    "general_score",
    "location_score",
    "reduced_rank_score",
    "scaled_dot_score",
]

Query = Float[Tensor, "batch *queries d_query"]
Keys = Float[Tensor, "batch keys d_key"]
Scores = Float[Tensor, "batch *queries keys"]


def additive_score(
    query: Query,
    keys: Keys,
    W_q: Float[Tensor, "d_attn d_query"],
    W_k: Float[Tensor, "d_attn d_key"],
    v: Float[Tensor, " d_attn"],
    b: Float[Tensor, " d_attn"] | None = None,
) -> Scores:
    r"""Additive score, :math:`e_{ti} = v^\top \tanh(W_q s_t + W_k h_i + b)`.

    Parameters
    ----------
    query : (batch, [queries,] d_query)
        Decoder state or states, s.
    keys : (batch, keys, d_key)
        Encoder states, h.
    W_q, W_k : (d_attn, d_query), (d_attn, d_key)
        Projections of query and key into the comparison space.
    v : (d_attn,)
        Weight of each comparison feature in the score.
    b : (d_attn,), optional
        Bias inside the tanh. The paper has none.

    Returns
    -------
    (batch, [queries,] keys)
        Scores, unbounded in general but within :math:`\pm\lVert v \rVert_1` for a given v.

    Raises
    ------
    ValueError
        If the batch sizes differ or a size does not fit its weight.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), "Neural Machine Translation by Jointly Learning to Align and
    Translate", section A.1.2.

    Examples
    --------
    >>> import torch
    >>> one = torch.ones(1, 1)
    >>> additive_score(one, torch.tensor([[[0.0], [1.0]]]), one, one, torch.tensor([2.0]))
    tensor([[1.5232, 1.9281]])
    """
    check_pair(query, keys)
    check_size("query", query, "W_q", W_q)
    check_size("keys", keys, "W_k", W_k)
    return compare_additively(F.linear(query, W_q, b), F.linear(keys, W_k), v)


def dot_score(
    query: Float[Tensor, "batch *queries d"], keys: Float[Tensor, "batch keys d"]
) -> Scores:
    r"""Dot score, :math:`e_{ti} = s_t^\top h_i = |s_t|\,|h_i| \cos\theta_{ti}`.

    Parameters
    ----------
    query : (batch, [queries,] d)
        Decoder state or states, s.
    keys : (batch, keys, d)
        Encoder states, h, of the same size as the query.

    Returns
    -------
    (batch, [queries,] keys)
        Scores.

    Raises
    ------
    ValueError
        If the batch sizes or the two sizes d differ.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.1, "dot".

    Examples
    --------
    >>> import torch
    >>> dot_score(torch.tensor([[1.0, 2.0]]), torch.tensor([[[3.0, 0.0], [0.0, 1.0]]]))
    tensor([[3., 2.]])
    """
    check_pair(query, keys)
    if query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"query has size {query.shape[-1]} and keys have size {keys.shape[-1]}; a dot product "
            "needs equal sizes (general_score compares different ones)"
        )
    if query.dim() == 2:
        return (keys @ query.unsqueeze(-1)).squeeze(-1)
    return query @ keys.mT


def scaled_dot_score(
    query: Float[Tensor, "batch *queries d"], keys: Float[Tensor, "batch keys d"]
) -> Scores:
    r"""Scaled dot score, :math:`e_{ti} = s_t^\top h_i / \sqrt{d}`.

    If the components of query and key are independent with mean 0 and variance 1, the dot product
    has variance d; the scale brings it back to 1.

    Parameters
    ----------
    query, keys
        As in :func:`dot_score`.

    Returns
    -------
    (batch, [queries,] keys)
        Scores.

    Raises
    ------
    ValueError
        As :func:`dot_score`.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", equation 1 and footnote 4.

    Examples
    --------
    >>> import torch
    >>> scaled_dot_score(torch.ones(1, 4), torch.ones(1, 2, 4))
    tensor([[2., 2.]])
    """
    # Scaling the query and not the scores: fewer numbers, and half precision overflows later.
    return dot_score(query / math.sqrt(query.shape[-1]), keys)


def general_score(query: Query, keys: Keys, W: Float[Tensor, "d_query d_key"]) -> Scores:
    r"""General (bilinear) score, :math:`e_{ti} = s_t^\top W h_i`.

    Computed as :math:`(s^\top W)h`: one small product per query, where :math:`s^\top(Wh)` would
    transform every key.

    Parameters
    ----------
    query, keys
        As in :func:`additive_score`.
    W : (d_query, d_key)
        The bilinear form.

    Returns
    -------
    (batch, [queries,] keys)
        Scores.

    Raises
    ------
    ValueError
        If the batch sizes differ or W does not fit.

    References
    ----------
    Luong, Pham and Manning (2015), section 3.1, "general".

    Examples
    --------
    >>> import torch
    >>> W = torch.tensor([[0.0, 1.0]])  # reads the second component of each key
    >>> general_score(torch.tensor([[2.0]]), torch.tensor([[[5.0, 1.0], [5.0, 3.0]]]), W)
    tensor([[2., 6.]])
    """
    check_pair(query, keys)
    if tuple(W.shape) != (query.shape[-1], keys.shape[-1]):
        raise ValueError(
            f"W has shape {tuple(W.shape)}; expected (d_query, d_key) = "
            f"{(query.shape[-1], keys.shape[-1])}"
        )
    return dot_score(query @ W, keys)


def concat_score(
    query: Query,
    keys: Keys,
    W: Float[Tensor, "d_attn d_query_plus_d_key"],
    v: Float[Tensor, " d_attn"],
) -> Scores:
    r"""Concat score, :math:`e_{ti} = v^\top \tanh(W [s_t; h_i])`.

    With :math:`W = [W_q | W_k]` the product splits into :math:`W_q s_t + W_k h_i`: this *is* the
    additive score, and it is computed as such, without ever building the concatenation.

    Parameters
    ----------
    query, keys
        As in :func:`additive_score`.
    W : (d_attn, d_query + d_key)
        Projection of the concatenation, in which the query comes first.
    v : (d_attn,)
        Weight of each comparison feature.

    Returns
    -------
    (batch, [queries,] keys)
        Scores.

    Raises
    ------
    ValueError
        If the batch sizes differ or W does not fit.

    References
    ----------
    Luong, Pham and Manning (2015), section 3.1, "concat".

    Examples
    --------
    >>> import torch
    >>> W = torch.tensor([[1.0, 1.0]])
    >>> concat_score(torch.ones(1, 1), torch.tensor([[[0.0], [1.0]]]), W, torch.tensor([2.0]))
    tensor([[1.5232, 1.9281]])
    """
    d_query, d_key = query.shape[-1], keys.shape[-1]
    if W.shape[1] != d_query + d_key:
        raise ValueError(
            f"W has {W.shape[1]} columns; expected d_query + d_key = {d_query} + {d_key}"
        )
    return additive_score(query, keys, W[:, :d_query], W[:, d_query:], v)


def reduced_rank_score(
    query: Query, keys: Keys, U: Float[Tensor, "rank d_query"], V: Float[Tensor, "rank d_key"]
) -> Scores:
    r"""Reduced-rank bilinear score, :math:`e_{ti} = s_t^\top U^\top V h_i = (U s_t)^\top (V h_i)`.

    The matrix :math:`U^\top V` has rank at most k and costs :math:`k(d_q + d_k)` parameters where a
    full W costs :math:`d_q d_k`. It is one attention head of a Transformer, without the scale:
    U projects queries, V projects keys.

    Parameters
    ----------
    query, keys
        As in :func:`additive_score`.
    U, V : (rank, d_query), (rank, d_key)
        Projections into the shared space of dimension ``rank``.

    Returns
    -------
    (batch, [queries,] keys)
        Scores.

    Raises
    ------
    ValueError
        If the batch sizes differ or U or V does not fit.

    References
    ----------
    Luong, Pham and Manning (2015) give the full form; the factorisation is that of the query and
    key projections in Vaswani et al. (2017), section 3.2.2.

    Examples
    --------
    >>> import torch
    >>> U, V = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0]])
    >>> reduced_rank_score(torch.tensor([[3.0, 9.0]]), torch.tensor([[[1.0], [2.0]]]), U, V)
    tensor([[ 6., 12.]])
    """
    check_pair(query, keys)
    check_size("query", query, "U", U)
    check_size("keys", keys, "V", V)
    return dot_score(F.linear(query, U), F.linear(keys, V))


def location_score(
    query: Query, keys: Float[Tensor, "batch keys _"], W: Float[Tensor, "max_len d_query"]
) -> Scores:
    r"""Location score, :math:`e_{ti} = (W s_t)_i`: by the query alone, whatever stands there.

    Row i of W scores position i, so there are as many positions as rows. No key is looked at: two
    sources that lead to one query get one row of weights.

    Parameters
    ----------
    query : (batch, [queries,] d_query)
        Decoder state or states, s.
    keys : (batch, keys, d_key)
        Encoder states, for their number alone.
    W : (max_len, d_query)
        One row for each position, from 0; those beyond the keys are not used.

    Returns
    -------
    (batch, [queries,] keys)
        Scores.

    Raises
    ------
    ValueError
        If there are more keys than rows, the batch sizes differ, or W does not fit.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.1, equation 8. There, words beyond the last row are ignored.

    Examples
    --------
    >>> import torch
    >>> W = torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    >>> location_score(torch.tensor([[2.0, 3.0]]), torch.randn(1, 2, 7), W)
    tensor([[2., 3.]])
    """
    check_pair(query, keys)
    check_size("query", query, "W", W)
    positions = keys.shape[1]
    if positions > W.shape[0]:
        raise ValueError(
            f"the source has {positions} positions and W has rows for {W.shape[0]}, its max_len: "
            "position by position is all that this score knows (build it with a larger max_len, "
            "or take a score that compares)"
        )
    return F.linear(query, W[:positions])
