"""Attention in sequence-to-sequence models: the package behind the course.

Importing it needs torch, numpy and jaxtyping only. The names stand in the order of the course.
"""

from seqattn.attention import (
    AdditiveAttention,
    AdditiveScore,
    Attention,
    AttentionOutput,
    BahdanauAttention,
    ConcatScore,
    DotScore,
    GeneralScore,
    LuongAttention,
    Memory,
    MultiHeadAttention,
    ReducedRankAttention,
    ReducedRankScore,
    ScaledDotProductAttention,
    ScaledDotScore,
    Score,
    additive_score,
    attend,
    causal_mask,
    concat_score,
    dot_score,
    general_score,
    masked_softmax,
    padding_mask,
    reduced_rank_score,
    scaled_dot_score,
)
from seqattn.diagnostics import attention_entropy, effective_positions
from seqattn.metrics import alignment_error_rate
from seqattn.plots import plot_attention

# In the order of the course, not of the alphabet.
__all__ = [  # noqa: RUF022
    "padding_mask",
    "causal_mask",
    "masked_softmax",
    "attend",
    "additive_score",
    "dot_score",
    "scaled_dot_score",
    "general_score",
    "concat_score",
    "reduced_rank_score",
    "Score",
    "AdditiveScore",
    "DotScore",
    "ScaledDotScore",
    "GeneralScore",
    "ConcatScore",
    "ReducedRankScore",
    "Attention",
    "AttentionOutput",
    "Memory",
    "BahdanauAttention",
    "AdditiveAttention",
    "LuongAttention",
    "ScaledDotProductAttention",
    "ReducedRankAttention",
    "MultiHeadAttention",
    "attention_entropy",
    "effective_positions",
    "alignment_error_rate",
    "plot_attention",
]
