"""Score functions: how well does query s fit key h?

Each function is its equation. It takes the weights as arguments, shaped as in the literature
(output first). Under it stands the module that owns the weights and calls it. A query is one
decoder state ``(batch, d_query)``, giving scores ``(batch, keys)``, or all the states of a sentence
``(batch, queries, d_query)``, giving ``(batch, queries, keys)``.

What depends on the keys alone is done once per sentence: a module's ``project_keys`` does it, and
its ``compare`` hands the result to the function with None in place of the keys' weights. To add a
score, write its equation and subclass :class:`Score` under it.

One file, though long: the equations are there to be compared with each other.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from seqattn.settings import check_whole

__all__ = [
    "AdditiveScore",
    "ConcatScore",
    "DotScore",
    "GeneralScore",
    "LocationScore",
    "ReducedRankScore",
    "ScaledDotScore",
    "Score",
    "additive_score",
    "concat_score",
    "dot_score",
    "general_score",
    "location_score",
    "reduced_rank_score",
    "scaled_dot_score",
    "truncate_rank",
]

Query = Float[Tensor, "batch *queries d_query"]
Keys = Float[Tensor, "batch keys d_key"]
Scores = Float[Tensor, "batch *queries keys"]

# Numbers that an additive comparison of many queries holds at once: 64 MiB in single precision.
MOST_AT_ONCE = 2**24


class Score(nn.Module):
    """A score with its weights: what a new score function subclasses.

    ``project_keys`` holds what depends on the keys alone; ``compare`` takes queries and projected
    keys. Calling the module does both.
    """

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys d_projected"]:
        """Do the part of the work that depends on the keys alone; here: none."""
        return keys

    def compare(self, query: Query, projected: Float[Tensor, "batch keys d_projected"]) -> Scores:
        """Score queries against projected keys."""
        raise NotImplementedError(f"{type(self).__name__} must define compare(query, projected)")

    def forward(self, query: Query, keys: Keys) -> Scores:
        """Score queries against keys: ``compare(query, project_keys(keys))``."""
        return self.compare(query, self.project_keys(keys))


def additive_score(
    query: Query,
    keys: Keys,
    W_q: Float[Tensor, "d_attn d_query"],
    W_k: Float[Tensor, "d_attn d_key"] | None,
    v: Float[Tensor, " d_attn"],
    b: Float[Tensor, " d_attn"] | None = None,
) -> Scores:
    r"""Additive score, :math:`e_{ti} = v^\top \tanh(W_q s_t + W_k h_i + b)`.

    Here :math:`s_t` is whatever state asks at step t. Bahdanau et al. ask with the one before the
    step, which they write :math:`s_{t-1}`.

    Parameters
    ----------
    query : (batch, [queries,] d_query)
        Decoder state or states, s.
    keys : (batch, keys, d_key)
        Encoder states, h.
    W_q, W_k : (d_attn, d_query), (d_attn, d_key)
        Projections of query and key into the comparison space. With None for W_k the keys are
        projected already.
    v : (d_attn,)
        Weight of each comparison feature in the score.
    b : (d_attn,), optional
        Bias inside the tanh. The paper leaves all biases out of its equations.

    Returns
    -------
    (batch, [queries,] keys)
        Scores, unbounded in general but within :math:`\pm\lVert v \rVert_1` for a given v.

    Raises
    ------
    ValueError
        If the batch sizes differ, a size does not fit its weight, or v or b is not (d_attn,).

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
    _check_size("query", query, "W_q", W_q)
    _check_vectors(W_q, v, b)
    query, keys = F.linear(query, W_q, b), _project("keys", keys, "W_k", W_k)
    # A size of 1 would broadcast without a word.
    if not query.shape[-1] == keys.shape[-1] == v.shape[0]:
        of_keys = "the projected keys have" if W_k is None else "W_k"
        raise ValueError(
            f"W_q gives {query.shape[-1]} features, {of_keys} {keys.shape[-1]} and v weighs "
            f"{v.shape[0]}; expected d_attn of each"
        )
    if query.dim() == 2:
        return _compare_additively(query, keys, v)
    return _compare_in_blocks(query, keys.unsqueeze(1), v)


def _compare_additively(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    return torch.tanh(query.unsqueeze(-2) + keys) @ v


def _compare_in_blocks(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """Compare many queries, some at a time: all pairs would grow with the product of both lengths.

    With gradients they would stay; so each block is computed again when its gradient is due.
    """
    at_once = max(MOST_AT_ONCE // max(keys.numel(), 1), 1)
    if query.shape[1] <= at_once:
        return _compare_additively(query, keys, v)
    blocks = [
        checkpoint(
            _compare_additively, block, keys, v, use_reentrant=False, preserve_rng_state=False
        )
        for block in query.split(at_once, 1)
    ]
    return torch.cat(blocks, 1)


class AdditiveScore(Score):
    """Additive score with its weights; see :func:`additive_score`.

    Parameters
    ----------
    d_query, d_key, d_attn : int
        Sizes of query, key and comparison space.
    bias : bool
        Whether to add b inside the tanh. The paper leaves all biases out of its equations.
    """

    def __init__(self, d_query: int, d_key: int, d_attn: int, *, bias: bool = False):
        super().__init__()
        self.W_q = _weight(d_attn=d_attn, d_query=d_query)
        self.W_k = _weight(d_attn=d_attn, d_key=d_key)
        self.v = nn.Parameter(_weight(rows=1, d_attn=d_attn).detach()[0])
        self.b = nn.Parameter(torch.zeros(d_attn)) if bias else None

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys d_attn"]:
        """Compute W_k h for every key, once per sentence."""
        return _project("keys", keys, "W_k", self.W_k)

    def compare(self, query: Query, projected: Float[Tensor, "batch keys d_attn"]) -> Scores:
        """Score queries against W_k h."""
        return additive_score(query, projected, self.W_q, None, self.v, self.b)


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


class DotScore(Score):
    """Dot score: no weights; see :func:`dot_score`."""

    def compare(self, query: Query, projected: Keys) -> Scores:
        """Score queries against the keys as they are."""
        return dot_score(query, projected)


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


class ScaledDotScore(Score):
    """Scaled dot score: no weights; see :func:`scaled_dot_score`."""

    def compare(self, query: Query, projected: Keys) -> Scores:
        """Score queries against the keys as they are."""
        return scaled_dot_score(query, projected)


def general_score(query: Query, keys: Keys, W: Float[Tensor, "d_query d_key"] | None) -> Scores:
    r"""General (bilinear) score, :math:`e_{ti} = s_t^\top W h_i`.

    Computed as :math:`s^\top(Wh)`: :math:`(s^\top W)h` would be cheaper for one query, and dearer
    once there are more queries than keys, as in a beam search, where they share one :math:`Wh`.

    Parameters
    ----------
    query, keys
        As in :func:`additive_score`.
    W : (d_query, d_key)
        The bilinear form. With None the keys are projected already, to :math:`Wh`.

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
    if W is not None and tuple(W.shape) != (query.shape[-1], keys.shape[-1]):
        raise ValueError(
            f"W has shape {tuple(W.shape)}; expected (d_query, d_key) = "
            f"{(query.shape[-1], keys.shape[-1])}"
        )
    return dot_score(query, _project("keys", keys, "W", W))


class GeneralScore(Score):
    """General (bilinear) score with its weights; see :func:`general_score`.

    Parameters
    ----------
    d_query, d_key : int
        Sizes of query and key.
    """

    def __init__(self, d_query: int, d_key: int):
        super().__init__()
        self.W = _weight(d_query=d_query, d_key=d_key)

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys d_query"]:
        """Compute W h for every key, once per sentence."""
        return _project("keys", keys, "W", self.W)

    def compare(self, query: Query, projected: Float[Tensor, "batch keys d_query"]) -> Scores:
        """Score queries against W h."""
        _check_size("query", query, "W transposed", self.W.T)
        return general_score(query, projected, None)


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
    if W.dim() != 2 or W.shape[1] != d_query + d_key:
        raise ValueError(
            f"W has shape {tuple(W.shape)}; expected (d_attn, d_query + d_key), with "
            f"{d_query} + {d_key} columns"
        )
    return additive_score(query, keys, W[:, :d_query], W[:, d_query:], v)


class ConcatScore(Score):
    """Concat score with its weights, the additive score in one matrix; see :func:`concat_score`.

    Parameters
    ----------
    d_query, d_key, d_attn : int
        Sizes of query, key and comparison space.
    """

    def __init__(self, d_query: int, d_key: int, d_attn: int):
        super().__init__()
        self.d_query = d_query
        self.W = _weight(d_attn=d_attn, d_query_and_d_key=d_query + d_key)
        self.v = nn.Parameter(_weight(rows=1, d_attn=d_attn).detach()[0])

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys d_attn"]:
        """Apply the key's block of W, once per sentence."""
        return _project("keys", keys, "W[:, d_query:]", self.W[:, self.d_query :])

    def compare(self, query: Query, projected: Float[Tensor, "batch keys d_attn"]) -> Scores:
        """Score queries by the query's block of W, as the additive score that this is."""
        return additive_score(query, projected, self.W[:, : self.d_query], None, self.v)


def reduced_rank_score(
    query: Query,
    keys: Keys,
    U: Float[Tensor, "rank d_query"],
    V: Float[Tensor, "rank d_key"] | None,
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
        Projections into the shared space of dimension ``rank``. With None for V the keys are
        projected already.

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
    return dot_score(_project("query", query, "U", U), _project("keys", keys, "V", V))


class ReducedRankScore(Score):
    """Reduced-rank bilinear score with its weights; see :func:`reduced_rank_score`.

    Parameters
    ----------
    d_query, d_key : int
        Sizes of query and key.
    rank : int
        Size k of the shared space.
    """

    def __init__(self, d_query: int, d_key: int, rank: int):
        super().__init__()
        self.U = _weight(rank=rank, d_query=d_query)
        self.V = _weight(rank=rank, d_key=d_key)

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys rank"]:
        """Compute V h for every key, once per sentence."""
        return _project("keys", keys, "V", self.V)

    def compare(self, query: Query, projected: Float[Tensor, "batch keys rank"]) -> Scores:
        """Score queries against V h."""
        return reduced_rank_score(query, projected, self.U, None)


def truncate_rank(
    W: Float[Tensor, "d_query d_key"], rank: int
) -> tuple[Float[Tensor, "rank d_query"], Float[Tensor, "rank d_key"]]:
    r"""Cut a bilinear form down to rank k: the two thin matrices nearest to it.

    With the singular value decomposition :math:`W = \sum_j \sigma_j a_j b_j^\top`, largest values
    first, row j of U is :math:`\sqrt{\sigma_j}\, a_j` and row j of V is
    :math:`\sqrt{\sigma_j}\, b_j`. No other matrix of rank k is nearer to W than
    :math:`U^\top V` in the Frobenius norm; the rest is :math:`\sqrt{\sum_{j>k} \sigma_j^2}`. That
    says nothing of how well it scores.

    Parameters
    ----------
    W : (d_query, d_key)
        The form of :func:`~seqattn.general_score`.
    rank : int
        Size k of the shared space, from 1 to ``min(d_query, d_key)``.

    Returns
    -------
    U, V : (rank, d_query), (rank, d_key)
        What :func:`~seqattn.reduced_rank_score` takes.

    Raises
    ------
    ValueError
        If W is no matrix or the rank is out of range.

    References
    ----------
    Eckart and Young (1936), "The approximation of one matrix by another of lower rank".

    Examples
    --------
    >>> import torch
    >>> U, V = truncate_rank(torch.diag(torch.tensor([9.0, 4.0, 1.0])), 2)
    >>> (U.T @ V).diagonal()
    tensor([9., 4., 0.])
    """
    if W.dim() != 2:
        raise ValueError(f"W has shape {tuple(W.shape)}; expected (d_query, d_key)")
    check_whole("rank", rank)
    if not 1 <= rank <= min(W.shape):
        raise ValueError(f"rank is {rank}; expected 1 to min(d_query, d_key) = {min(W.shape)}")
    left, values, right = torch.linalg.svd(W, full_matrices=False)
    roots = values[:rank].sqrt().unsqueeze(1)
    return roots * left.mT[:rank], roots * right[:rank]


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
    _check_size("query", query, "W", W)
    positions = keys.shape[1]
    if positions > W.shape[0]:
        raise ValueError(
            f"the source has {positions} positions and W has rows for {W.shape[0]}, its max_len: "
            "position by position is all that this score knows (build it with a larger max_len, "
            "or take a score that compares)"
        )
    return F.linear(query, W[:positions])


class LocationScore(Score):
    """Location score with its weights: the keys are counted, not read; see :func:`location_score`.

    Parameters
    ----------
    d_query : int
        Size of the query.
    max_len : int
        Most positions of a source, ``<eos>`` and padding included.
    """

    def __init__(self, d_query: int, max_len: int):
        super().__init__()
        self.W = _weight(max_len=max_len, d_query=d_query)

    def compare(self, query: Query, projected: Keys) -> Scores:
        """Score every position that there is."""
        return location_score(query, projected, self.W)


def _project(name: str, x: Tensor, weight_name: str, W: Tensor | None) -> Tensor:
    """Give W x, or x itself where it has been projected before; refuse sizes that do not fit."""
    if W is None:
        return x
    _check_size(name, x, weight_name, W)
    return F.linear(x, W)


def _check_size(name: str, x: Tensor, weight_name: str, W: Tensor) -> None:
    if W.dim() != 2:
        raise ValueError(
            f"{weight_name} has shape {tuple(W.shape)}; expected two axes, what comes out and what "
            "goes in"
        )
    if x.shape[-1] != W.shape[1]:
        raise ValueError(
            f"{name} of size {x.shape[-1]} cannot meet {weight_name} of shape "
            f"{tuple(W.shape)}, which takes size {W.shape[1]}"
        )


def _check_vectors(W_q: Tensor, v: Tensor, b: Tensor | None) -> None:
    """Refuse a v or b with other axes: b would broadcast, v would leave an axis behind."""
    if v.dim() != 1:
        raise ValueError(f"v has shape {tuple(v.shape)}; expected (d_attn,)")
    if b is not None and tuple(b.shape) != (W_q.shape[0],):
        raise ValueError(
            f"b has shape {tuple(b.shape)}; expected (d_attn,) = ({W_q.shape[0]},), a bias for "
            "each feature that W_q gives"
        )


def check_pair(query: Tensor, keys: Tensor) -> None:
    """Refuse queries and keys that are not one batch of each, of real numbers."""
    for name, x in (("query", query), ("keys", keys)):
        if not x.is_floating_point():
            raise TypeError(f"{name}: dtype {x.dtype}; expected real numbers: {name}.float()")
    if keys.dim() != 3 or query.dim() not in (2, 3) or query.shape[0] != keys.shape[0]:
        raise ValueError(
            f"query has shape {tuple(query.shape)} and keys, or what they were projected to, have "
            f"shape {tuple(keys.shape)}; expected (batch, [queries,] d_query) and (batch, keys, "
            "d_key) with the same batch"
        )


def _weight(**sizes: int) -> nn.Parameter:
    """Make a matrix of two sizes, which have their names for what refuses them, rows first."""
    for name, size in sizes.items():
        check_whole(name, size, least=1)
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(*sizes.values())))
