"""Attention: masks, scores, the core that composes them, and the names of the literature."""

from seqattn.attention.core import Attention, AttentionOutput, attend, masked_softmax
from seqattn.attention.coverage import CoverageAttention, CoverageOutput, coverage_loss
from seqattn.attention.hard import HardAttention, HardOutput, score_function_loss
from seqattn.attention.local import LocalAttention
from seqattn.attention.masks import causal_mask, padding_mask
from seqattn.attention.mechanism import Mechanism, Memory, Past
from seqattn.attention.multihead import CrossAttention, MultiHeadAttention, SelfAttention
from seqattn.attention.named import (
    AdditiveAttention,
    BahdanauAttention,
    EfficientAttention,
    LocationAttention,
    LuongAttention,
    MultiplicativeAttention,
    ReducedRankAttention,
    ScaledDotProductAttention,
)
from seqattn.attention.patterns import (
    block_mask,
    global_mask,
    strided_mask,
    window_mask,
    windowed_attention,
)
from seqattn.attention.score_modules import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ReducedRankScore,
    ScaledDotScore,
    Score,
)
from seqattn.attention.scores import (
    additive_score,
    concat_score,
    dot_score,
    general_score,
    location_score,
    reduced_rank_score,
    scaled_dot_score,
)

__all__ = [
    "AdditiveAttention",
    "AdditiveScore",
    "Attention",
    "AttentionOutput",
    "BahdanauAttention",
    "ConcatScore",
    "CoverageAttention",
    "CoverageOutput",
    "CrossAttention",
    "DotScore",
    "EfficientAttention",
    "GeneralScore",
    "HardAttention",
    "HardOutput",
    "LocalAttention",
    "LocationAttention",
    "LocationScore",
    "LuongAttention",
    "Mechanism",
    "Memory",
    "MultiHeadAttention",
    "MultiplicativeAttention",
    "Past",
    "ReducedRankAttention",
    "ReducedRankScore",
    "ScaledDotProductAttention",
    "ScaledDotScore",
    "Score",
    "SelfAttention",
    "additive_score",
    "attend",
    "block_mask",
    "causal_mask",
    "concat_score",
    "coverage_loss",
    "dot_score",
    "general_score",
    "global_mask",
    "location_score",
    "masked_softmax",
    "padding_mask",
    "reduced_rank_score",
    "scaled_dot_score",
    "score_function_loss",
    "strided_mask",
    "window_mask",
    "windowed_attention",
]
