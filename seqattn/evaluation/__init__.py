"""How good translators are: scores, comparisons, a check-up, and what to measure them by.

Recovery from a wrong word and the tree of a search look into one model; IBM Model 1 and a copyist
stand beside.

Training validates with :func:`evaluate`; nothing here imports from training.
"""

from seqattn.evaluation.compare import Comparison, compare, plot_comparison
from seqattn.evaluation.copyist import copy_nearest, one_word_away
from seqattn.evaluation.doctor import Finding, examine
from seqattn.evaluation.evaluate import (
    AttentionSummary,
    Evaluation,
    LengthScore,
    alignment_links,
    evaluate,
    missing_words,
    summarize_attention,
)
from seqattn.evaluation.ibm1 import ibm1_error_rates, ibm1_links
from seqattn.evaluation.probes import Moved, which_steps_move
from seqattn.evaluation.recovery import Recovery, recovery
from seqattn.evaluation.tree import beam_tree

__all__ = [
    "AttentionSummary",
    "Comparison",
    "Evaluation",
    "Finding",
    "LengthScore",
    "Moved",
    "Recovery",
    "alignment_links",
    "beam_tree",
    "compare",
    "copy_nearest",
    "evaluate",
    "examine",
    "ibm1_error_rates",
    "ibm1_links",
    "missing_words",
    "one_word_away",
    "plot_comparison",
    "recovery",
    "summarize_attention",
    "which_steps_move",
]
