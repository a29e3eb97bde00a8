"""How good translators are: scores, comparisons, a check-up, and IBM Model 1 to measure them by.

Training validates with :func:`evaluate`; nothing here imports from training.
"""

from seqattn.evaluation.compare import Comparison, compare, plot_comparison
from seqattn.evaluation.doctor import Finding, examine
from seqattn.evaluation.evaluate import (
    AttentionSummary,
    Evaluation,
    LengthScore,
    alignment_links,
    evaluate,
    summarize_attention,
)
from seqattn.evaluation.ibm1 import ibm1_error_rates, ibm1_links
from seqattn.evaluation.probes import Moved, which_steps_move

__all__ = [
    "AttentionSummary",
    "Comparison",
    "Evaluation",
    "Finding",
    "LengthScore",
    "Moved",
    "alignment_links",
    "compare",
    "evaluate",
    "examine",
    "ibm1_error_rates",
    "ibm1_links",
    "plot_comparison",
    "summarize_attention",
    "which_steps_move",
]
