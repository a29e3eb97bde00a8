"""Numbers on translations (BLEU, chrF), on alignments (AER) and on attention weights (entropy).

All of them take plain texts, links or weights, and no model; what judges a whole translator stands
in :mod:`seqattn.evaluation`.

A corpus score is computed from counts summed over the corpus. It is *not* the mean of sentence
scores, and the two must not be set side by side.
"""

from seqattn.metrics.alignment_error import (
    AlignmentQuality,
    alignment_error_rate,
    alignment_precision_recall,
)
from seqattn.metrics.attention_maps import CoverageReport, coverage_report, merge_pieces
from seqattn.metrics.attention_weights import (
    PatternScores,
    attention_entropy,
    effective_positions,
    hard_alignment,
    jensen_shannon,
    max_weight,
    pattern_scores,
    weight_distance,
)
from seqattn.metrics.bleu import (
    CorpusScore,
    corpus_bleu,
    corpus_chrf,
    perplexity,
    tokenized_bleu,
)
from seqattn.metrics.bootstrap import (
    PairedBootstrap,
    bleu_from_counts,
    bootstrap_bleu,
    paired_bootstrap,
    sentence_counts,
)
from seqattn.metrics.bottleneck import gradient_reach, longest_countable, superpose, unpack
from seqattn.metrics.ranking import kendall_tau, roc_area
from seqattn.metrics.symmetrization import symmetrize

__all__ = [
    "AlignmentQuality",
    "CorpusScore",
    "CoverageReport",
    "PairedBootstrap",
    "PatternScores",
    "alignment_error_rate",
    "alignment_precision_recall",
    "attention_entropy",
    "bleu_from_counts",
    "bootstrap_bleu",
    "corpus_bleu",
    "corpus_chrf",
    "coverage_report",
    "effective_positions",
    "gradient_reach",
    "hard_alignment",
    "jensen_shannon",
    "kendall_tau",
    "longest_countable",
    "max_weight",
    "merge_pieces",
    "paired_bootstrap",
    "pattern_scores",
    "perplexity",
    "roc_area",
    "sentence_counts",
    "superpose",
    "symmetrize",
    "tokenized_bleu",
    "unpack",
    "weight_distance",
]
