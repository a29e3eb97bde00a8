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
