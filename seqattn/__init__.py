"""Attention in sequence-to-sequence models: the package behind the course.

Importing it needs torch, numpy and jaxtyping only, and these not before a name is asked for: the
command line answers at once. The names stand in the order of the course.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from seqattn.attention import (
        AdditiveAttention,
        AdditiveScore,
        Attention,
        AttentionOutput,
        BahdanauAttention,
        ConcatScore,
        CoverageAttention,
        CoverageOutput,
        CrossAttention,
        DotScore,
        EfficientAttention,
        GeneralScore,
        HardAttention,
        HardOutput,
        LocalAttention,
        LocationAttention,
        LocationScore,
        LuongAttention,
        Mechanism,
        Memory,
        MultiHeadAttention,
        MultiplicativeAttention,
        Past,
        ReducedRankAttention,
        ReducedRankScore,
        ScaledDotProductAttention,
        ScaledDotScore,
        Score,
        SelfAttention,
        additive_score,
        attend,
        block_mask,
        causal_mask,
        check_padding,
        concat_score,
        coverage_loss,
        dot_score,
        general_score,
        global_mask,
        location_score,
        masked_softmax,
        padding_mask,
        reduced_rank_score,
        scaled_dot_score,
        score_function_loss,
        strided_mask,
        window_mask,
        windowed_attention,
    )
    from seqattn.metrics import alignment_error_rate, attention_entropy, effective_positions
    from seqattn.plots import plot_attention

# In the order of the course, not of the alphabet.
__all__ = [  # noqa: RUF022
    "padding_mask",
    "causal_mask",
    "window_mask",
    "strided_mask",
    "global_mask",
    "block_mask",
    "masked_softmax",
    "attend",
    "additive_score",
    "dot_score",
    "scaled_dot_score",
    "general_score",
    "concat_score",
    "reduced_rank_score",
    "location_score",
    "Score",
    "AdditiveScore",
    "DotScore",
    "ScaledDotScore",
    "GeneralScore",
    "ConcatScore",
    "ReducedRankScore",
    "LocationScore",
    "Attention",
    "AttentionOutput",
    "Mechanism",
    "Memory",
    "Past",
    "BahdanauAttention",
    "AdditiveAttention",
    "EfficientAttention",
    "LuongAttention",
    "MultiplicativeAttention",
    "ScaledDotProductAttention",
    "ReducedRankAttention",
    "LocationAttention",
    "MultiHeadAttention",
    "SelfAttention",
    "CrossAttention",
    "LocalAttention",
    "CoverageAttention",
    "CoverageOutput",
    "coverage_loss",
    "HardAttention",
    "HardOutput",
    "score_function_loss",
    "windowed_attention",
    "check_padding",
    "attention_entropy",
    "effective_positions",
    "alignment_error_rate",
    "plot_attention",
]

# Where a name is that seqattn.attention does not have.
_ELSEWHERE = {
    "attention_entropy": "seqattn.metrics",
    "effective_positions": "seqattn.metrics",
    "alignment_error_rate": "seqattn.metrics",
    "plot_attention": "seqattn.plots",
}


def __getattr__(name: str) -> typing.Any:
    """Import what is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_ELSEWHERE.get(name, "seqattn.attention")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the names, imported or not."""
    return sorted({*globals(), *__all__})
