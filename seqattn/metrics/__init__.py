"""Scores for translations (BLEU, chrF) and for alignments (AER), all at corpus level.

A corpus score is computed from counts summed over the corpus. It is *not* the mean of sentence
scores, and the two must not be set side by side.
"""

from seqattn.metrics.alignment import (
    AlignmentQuality,
    alignment_error_rate,
    alignment_precision_recall,
)
from seqattn.metrics.translation import CorpusScore, corpus_bleu, corpus_chrf

# No public names: what `seqattn.training` scores with.
from seqattn.metrics.translation import Scorer as Scorer
from seqattn.metrics.translation import score_texts as score_texts

__all__ = [
    "AlignmentQuality",
    "CorpusScore",
    "alignment_error_rate",
    "alignment_precision_recall",
    "corpus_bleu",
    "corpus_chrf",
]
