"""More about a test than one number: scores by length, and what the attention did."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from seqattn.data.pairs import TextPair
from seqattn.diagnostics import attention_entropy
from seqattn.maps import coverage_report
from seqattn.metrics import Scorer
from seqattn.translator import Translation

__all__ = ["AttentionSummary", "LengthScore", "score_by_length", "summarize_attention"]

# Words of the source; the last class is open.
BOUNDS = (1, 6, 11, 16, 21, 31, 51, 10**9)


@dataclass(frozen=True)
class LengthScore:
    """BLEU of the sentences of some lengths.

    Attributes
    ----------
    shortest, longest : int
        Of these sentences' sources, in words.
    sentences : int
        Number of them: of few, BLEU says little.
    bleu : float
        From 0 to 100.
    """

    shortest: int
    longest: int
    sentences: int
    bleu: float

    @property
    def words(self) -> str:
        """The lengths, as a table says them."""
        if self.shortest == self.longest:
            return str(self.shortest)
        return f"{self.shortest} to {self.longest}"


@dataclass(frozen=True)
class AttentionSummary:
    """What the attention did while a model wrote its translations.

    Attributes
    ----------
    entropy : float
        Mean over the tokens written, in nats.
    relative : float
        The same as a share of the largest possible entropy, from 0 to 1: comparable between
        sentences of different lengths.
    under, over : float
        Share of the source tokens that got less than half, or more than twice, of what each would
        get if all got the same. See :func:`~seqattn.maps.coverage_report`.
    """

    entropy: float
    relative: float
    under: float
    over: float


def score_by_length(
    texts: Sequence[str], pairs: Sequence[TextPair], bleu: Scorer
) -> list[LengthScore]:
    """Give BLEU for sentences of 1 to 5 words, of 6 to 10, and so on.

    Parameters
    ----------
    texts : sequence of str
        Translations.
    pairs : sequence of TextPair
        Sources and references.
    bleu : callable
        From hypotheses and references to a score, as :func:`~seqattn.metrics.corpus_bleu`.

    Returns
    -------
    list of LengthScore
        The shortest first; lengths that do not occur are left out.
    """
    lengths = [len(pair.source.split()) for pair in pairs]
    found = []
    for low, high in pairwise(BOUNDS):
        rows = [i for i, length in enumerate(lengths) if low <= length < high]
        if rows:
            score = bleu([texts[i] for i in rows], [pairs[i].target for i in rows]).score
            within = [lengths[i] for i in rows]
            found.append(LengthScore(min(within), max(within), len(rows), score))
    return found


def summarize_attention(translations: Sequence[Translation]) -> AttentionSummary | None:
    """Average entropy and coverage over translations; None for a model without attention.

    Means are over tokens and not over sentences. Blank sentences are left out.
    """
    maps = [t.weights for t in translations if t.weights is not None and len(t.source_tokens) > 1]
    if not maps:
        return None
    entropies = torch.cat([attention_entropy(weights[None])[0] for weights in maps])
    shares = torch.cat([attention_entropy(weights[None], normalized=True)[0] for weights in maps])
    reports = [coverage_report(weights[None]) for weights in maps]
    under, over = (
        torch.cat([getattr(report, side)[0] for report in reports]).double().mean().item()
        for side in ("under", "over")
    )
    return AttentionSummary(entropies.nanmean().item(), shares.nanmean().item(), under, over)
