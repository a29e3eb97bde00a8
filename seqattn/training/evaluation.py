"""How good a translator is, on sentences that it was not trained on."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from seqattn.data.pairs import TextPair
from seqattn.metrics import alignment_error_rate, corpus_bleu, corpus_chrf
from seqattn.training.losses import perplexity
from seqattn.translator import Translation, Translator

__all__ = ["Evaluation", "alignment_links", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """Scores of a translator.

    The first four judge what the model writes by itself; the perplexity judges what it expects when
    it is told the true beginning of each translation. The two can disagree.

    Attributes
    ----------
    bleu, chrf : float
        From 0 to 100, of plain text.
    signature : str
        sacrebleu's record of how BLEU was computed.
    exact : float
        Share of the translations that are the reference, from 0 to 1.
    perplexity : float
        Per target token, under teacher forcing.
    aer : float, or None
        Alignment error rate of the attention, from 0 to 1, where gold alignments of the model's
        words are known: each target word of the reference is linked with the source word that has
        the largest weight when the model is made to write it.
    sentences : int
        Number of pairs.
    """

    bleu: float
    chrf: float
    signature: str
    exact: float
    perplexity: float
    aer: float | None
    sentences: int

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        return asdict(self)


def evaluate(
    translator: Translator,
    pairs: Sequence[TextPair],
    *,
    beam: int = 1,
    lowercase: bool = False,
) -> Evaluation:
    """Translate sentences, and set the translations beside the references.

    Parameters
    ----------
    translator : Translator
        What to judge.
    pairs : sequence of TextPair
        Held-out pairs.
    beam : int
        Width of the beam; 1 is greedy search.
    lowercase : bool
        Whether BLEU and chrF ignore case.

    Returns
    -------
    Evaluation
        All scores.

    Raises
    ------
    ValueError
        If there are no pairs.
    """
    if not pairs:
        raise ValueError("no sentence pairs to evaluate on; expected at least one")
    texts = [found.text for found in translator.translate([p.source for p in pairs], beam=beam)]
    references = [pair.target for pair in pairs]
    bleu = corpus_bleu(texts, references, lowercase=lowercase)
    forced = translator.force(pairs)
    nats = -sum(known.score for known in forced)
    return Evaluation(
        bleu=bleu.score,
        chrf=corpus_chrf(texts, references, lowercase=lowercase).score,
        signature=bleu.signature,
        exact=sum(a == b for a, b in zip(texts, references, strict=True)) / len(pairs),
        perplexity=perplexity(nats / sum(len(known.tokens) for known in forced)),
        aer=_error_rate(translator, forced, pairs),
        sentences=len(pairs),
    )


def _error_rate(
    translator: Translator, forced: Sequence[Translation], pairs: Sequence[TextPair]
) -> float | None:
    """AER of the attention when the model writes the reference; None where it is not defined."""
    if any(vocabulary.kind != "words" for vocabulary in translator.vocabularies):
        return None  # gold links count words, maps count tokens
    gold = [pair.links for pair in pairs if pair.links is not None]
    maps = [known.weights for known in forced if known.weights is not None]
    if len(gold) < len(pairs) or len(maps) < len(pairs):
        return None
    return alignment_error_rate([alignment_links(weights) for weights in maps], gold, gold)


def alignment_links(weights: Tensor) -> set[tuple[int, int]]:
    """Link each target word with the source word that has the largest weight.

    Parameters
    ----------
    weights : (target tokens, source tokens)
        With a row and a column for ``<eos>``, last.

    Returns
    -------
    set of (source, target)
        Counted from 0. A target word that looks at the source's ``<eos>`` most has no link.

    Examples
    --------
    >>> import torch
    >>> alignment_links(torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.1, 0.6], [0.0, 0.0, 1.0]]))
    {(0, 0)}
    """
    end = weights.shape[1] - 1
    best = weights[:-1].argmax(1).tolist()
    return {(source, target) for target, source in enumerate(best) if source != end}
