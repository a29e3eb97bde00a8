"""Score modules: the score functions with their weights.

A module splits the work in two: ``project_keys`` does what depends on the keys alone, once per
sentence, and ``compare`` does the rest at each decoder step. To add a score, write its equation in
:mod:`seqattn.attention.scores` and subclass :class:`Score` here.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqattn.attention.checks import check_pair, check_size
from seqattn.attention.comparing import compare_additively
from seqattn.attention.scores import (
    Keys,
    Query,
    Scores,
    dot_score,
    location_score,
    scaled_dot_score,
)

__all__ = [
    "AdditiveScore",
    "ConcatScore",
    "DotScore",
    "GeneralScore",
    "LocationScore",
    "ReducedRankScore",
    "ScaledDotScore",
    "Score",
]


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


class AdditiveScore(Score):
    """Additive score with its weights; see :func:`additive_score`.

    Parameters
    ----------
    d_query, d_key, d_attn : int
        Sizes of query, key and comparison space.
    bias : bool
        Whether to add b inside the tanh. The paper has none.
    """

    def __init__(self, d_query: int, d_key: int, d_attn: int, *, bias: bool = False):
        super().__init__()
        self.W_q = _weight(d_attn, d_query)
        self.W_k = _weight(d_attn, d_key)
        self.v = nn.Parameter(_weight(1, d_attn).detach()[0])
        self.b = nn.Parameter(torch.zeros(d_attn)) if bias else None

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys d_attn"]:
        """Compute W_k h for every key, once per sentence."""
        check_size("keys", keys, "W_k", self.W_k)
        return F.linear(keys, self.W_k)

    def compare(self, query: Query, projected: Float[Tensor, "batch keys d_attn"]) -> Scores:
        """Add the projected query, squash, and weigh by v."""
        check_pair(query, projected)
        check_size("query", query, "W_q", self.W_q)
        return compare_additively(F.linear(query, self.W_q, self.b), projected, self.v)


class DotScore(Score):
    """Dot score: no weights; see :func:`dot_score`."""

    def compare(self, query: Query, projected: Keys) -> Scores:
        """Take dot products."""
        return dot_score(query, projected)


class ScaledDotScore(Score):
    """Scaled dot score: no weights; see :func:`scaled_dot_score`."""

    def compare(self, query: Query, projected: Keys) -> Scores:
        """Take scaled dot products."""
        return scaled_dot_score(query, projected)


class GeneralScore(Score):
    """General (bilinear) score with its weights; see :func:`general_score`.

    Parameters
    ----------
    d_query, d_key : int
        Sizes of query and key.
    """

    def __init__(self, d_query: int, d_key: int):
        super().__init__()
        self.W = _weight(d_query, d_key)

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys d_query"]:
        """Compute W h for every key: dearer for one query, cheaper for the steps of a sentence."""
        check_size("keys", keys, "W", self.W)
        return F.linear(keys, self.W)

    def compare(self, query: Query, projected: Float[Tensor, "batch keys d_query"]) -> Scores:
        """Take dot products with the projected keys."""
        check_size("query", query, "W transposed", self.W.T)
        return dot_score(query, projected)


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
        self.W = _weight(d_attn, d_query + d_key)
        self.v = nn.Parameter(_weight(1, d_attn).detach()[0])

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys d_attn"]:
        """Apply the key's block of W, once per sentence."""
        check_size("keys", keys, "W[:, d_query:]", self.W[:, self.d_query :])
        return F.linear(keys, self.W[:, self.d_query :])

    def compare(self, query: Query, projected: Float[Tensor, "batch keys d_attn"]) -> Scores:
        """Add the query's block of W, squash, and weigh by v."""
        check_pair(query, projected)
        check_size("query", query, "W[:, :d_query]", self.W[:, : self.d_query])
        return compare_additively(F.linear(query, self.W[:, : self.d_query]), projected, self.v)


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
        self.U = _weight(rank, d_query)
        self.V = _weight(rank, d_key)

    def project_keys(self, keys: Keys) -> Float[Tensor, "batch keys rank"]:
        """Compute V h for every key, once per sentence."""
        check_size("keys", keys, "V", self.V)
        return F.linear(keys, self.V)

    def compare(self, query: Query, projected: Float[Tensor, "batch keys rank"]) -> Scores:
        """Take dot products in the shared space."""
        check_size("query", query, "U", self.U)
        return dot_score(F.linear(query, self.U), projected)


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
        self.W = _weight(max_len, d_query)

    def compare(self, query: Query, projected: Keys) -> Scores:
        """Score every position that there is."""
        return location_score(query, projected, self.W)


def _weight(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))
