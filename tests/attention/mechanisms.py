"""The mechanisms whose score compares one query with one key, each with its oracle.

What is added here is tested in ``test_attention.py`` and ``test_scores.py``. The list of all kinds,
those with a past, several heads or a window included, is ``KINDS`` of ``test_every_kind.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from seqattn import (
    Attention,
    BahdanauAttention,
    LuongAttention,
    ReducedRankAttention,
    ScaledDotProductAttention,
    Score,
    additive_score,
    concat_score,
    dot_score,
    general_score,
    padding_mask,
    reduced_rank_score,
    scaled_dot_score,
)
from tests import oracles

# Distinct primes: no swapped axis fits.
BATCH, QUERIES, KEYS, D_QUERY, D_KEY, D_VALUE, D_ATTN, RANK = 3, 5, 7, 11, 13, 17, 19, 2


@dataclass(frozen=True)
class Scored:
    """A module, the function behind its score, and the oracle for one query and one key.

    The parameters of ``module.score`` bear the names of the function's and the oracle's arguments.
    """

    name: str
    make: Callable[[], Attention]
    function: Callable[..., torch.Tensor]
    oracle: Callable[..., float]
    d_query: int = D_QUERY
    d_key: int = D_KEY

    def build(self, dtype: torch.dtype = torch.float64, **options) -> Attention:
        attention = self.make(**options).to(dtype)
        if getattr(attention.score, "b", None) is not None:
            nn.init.normal_(attention.score.b)  # starts at zero, which would hide it
        return attention

    def inputs(self, dtype=torch.float64, batch=BATCH, queries=QUERIES, keys=KEYS):
        """Queries, keys and values."""
        return (
            torch.randn(batch, queries, self.d_query, dtype=dtype),
            torch.randn(batch, keys, self.d_key, dtype=dtype),
            torch.randn(batch, keys, D_VALUE, dtype=dtype),
        )


def weights_of(score: Score) -> dict[str, torch.Tensor]:
    return {name: p.detach() for name, p in score.named_parameters()}


def as_arrays(tensors: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: t.double().numpy() for name, t in tensors.items()}


def a_mask(batch: int = BATCH, keys: int = KEYS) -> torch.Tensor:
    """Padding: the first sentence is full, the others shorter."""
    return padding_mask(torch.tensor([keys, *range(1, batch)]), keys)


SCORED = [
    Scored(
        "additive",
        lambda **o: BahdanauAttention(D_QUERY, D_KEY, D_ATTN, **o),
        additive_score,
        oracles.additive,
    ),
    Scored(
        "additive with bias",
        lambda **o: BahdanauAttention(D_QUERY, D_KEY, D_ATTN, bias=True, **o),
        additive_score,
        oracles.additive,
    ),
    Scored(
        "dot",
        lambda **o: LuongAttention(D_KEY, D_KEY, "dot", **o),
        dot_score,
        oracles.dot,
        d_query=D_KEY,
    ),
    Scored(
        "general",
        lambda **o: LuongAttention(D_QUERY, D_KEY, **o),
        general_score,
        oracles.general,
    ),
    Scored(
        "concat",
        lambda **o: LuongAttention(D_QUERY, D_KEY, "concat", D_ATTN, **o),
        concat_score,
        oracles.concat,
    ),
    Scored(
        "reduced rank",
        lambda **o: ReducedRankAttention(D_QUERY, D_KEY, RANK, **o),
        reduced_rank_score,
        oracles.reduced_rank,
    ),
    Scored(
        "scaled dot",
        lambda **o: ScaledDotProductAttention(**o),
        scaled_dot_score,
        oracles.scaled_dot,
        d_query=D_KEY,
    ),
]
NAMES = [mechanism.name for mechanism in SCORED]
