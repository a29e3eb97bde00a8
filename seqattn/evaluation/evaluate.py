"""How good a translator is, on sentences that it was not trained on."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from operator import eq
from typing import Any

import torch
from torch import Tensor

from seqattn.data.pairs import TextPair
from seqattn.data.tokenization import tokenize
from seqattn.metrics import (
    alignment_error_rate,
    attention_entropy,
    corpus_bleu,
    corpus_chrf,
    coverage_report,
    hard_alignment,
    perplexity,
    symmetrize,
    tokenized_bleu,
)
from seqattn.metrics.bleu import Scorer
from seqattn.translator import Translation, Translator

__all__ = [
    "METHOD",
    "THRESHOLD",
    "AttentionSummary",
    "Evaluation",
    "LengthScore",
    "alignment_links",
    "bleu_scorer",
    "evaluate",
    "missing_words",
    "score_by_length",
    "summarize_attention",
]

# How links are taken from maps: a row's largest weight and all above the threshold, combined with
# the columns as two directions of a statistical aligner usually are. From 0.2 to 0.3 the error rate
# on validation pairs of the toy corpus hardly changes.
METHOD, THRESHOLD = "grow-diag", 0.25
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
        get if all got the same. See :func:`~seqattn.metrics.coverage_report`.
    """

    entropy: float
    relative: float
    under: float
    over: float


@dataclass(frozen=True)
class Evaluation:
    """Scores of a translator.

    BLEU, chrF and exact matches judge what the model writes by itself; the perplexity judges what
    it expects when it is told the true beginning of each translation. The two can disagree.

    Attributes
    ----------
    bleu, chrf : float
        From 0 to 100, of plain text; BLEU of tokens instead, if a language was named.
    signature : str
        sacrebleu's record of how BLEU was computed.
    length_ratio : float, or None
        Tokens of the translations per reference token, as BLEU counts them; None if the references
        have none.
    exact : float
        Share of the translations that are the reference, from 0 to 1.
    perplexity : float
        Per target token, under teacher forcing.
    aer : float, or None
        Alignment error rate of the attention, from 0 to 1, where gold alignments of the model's
        words are known and the model is made to write the reference. The links are read from rows
        and columns together; see :func:`alignment_links`.
    aer_rows : float, or None
        The same, of the largest weight of each row alone: one link for each target word.
    sentences : int
        Number of pairs.
    lengths : list of LengthScore, or None
        BLEU by the length of the source, if asked for.
    attention : AttentionSummary, or None
        Entropy and coverage of the attention while the model wrote, if asked for.
    """

    bleu: float
    chrf: float
    signature: str
    length_ratio: float | None
    exact: float
    perplexity: float
    aer: float | None
    aer_rows: float | None
    sentences: int
    lengths: list[LengthScore] | None = None
    attention: AttentionSummary | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON; what was not asked for is left out."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None or name not in ("lengths", "attention")
        }


def evaluate(
    translator: Translator,
    pairs: Sequence[TextPair],
    *,
    beam: int = 1,
    length_penalty: float | None = None,
    lowercase: bool = False,
    language: str | None = None,
    details: bool = False,
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
    length_penalty : float, optional
        Of a beam: exponent of :func:`~seqattn.decoding.length_penalty`, that of
        :meth:`~seqattn.translator.Translator.translate` if not given. To be chosen on validation.
    lowercase : bool
        Whether BLEU, chrF and exact matches ignore case.
    language : str, optional
        Of the translations, as in "de": BLEU is then that of lower-cased text as Moses tokenises
        it, see :func:`~seqattn.metrics.tokenized_bleu`.
    details : bool
        Whether to look closer: BLEU by length, and what the attention did.

    Returns
    -------
    Evaluation
        All scores.

    Raises
    ------
    ValueError
        If there are no pairs, or a length penalty is asked of greedy search or is no penalty.
    ImportError
        If sacrebleu is missing.
    """
    if not pairs:
        raise ValueError("no sentence pairs to evaluate on; expected at least one")
    if beam == 1 and length_penalty is not None:
        raise ValueError(
            f"length_penalty={length_penalty} with beam=1; expected a beam of 2 or more: greedy "
            "search has no length penalty"
        )
    penalty = {} if length_penalty is None else {"length_penalty": length_penalty}
    found = translator.translate([pair.source for pair in pairs], beam=beam, **penalty)
    texts, references = [known.text for known in found], [pair.target for pair in pairs]
    fold = (lambda lines: [line.lower() for line in lines]) if lowercase else list
    score = bleu_scorer(lowercase=lowercase, language=language)
    bleu = score(texts, references)
    forced = translator.force(pairs)
    nats = -sum(known.score for known in forced)
    return Evaluation(
        bleu=bleu.score,
        chrf=corpus_chrf(texts, references, lowercase=lowercase).score,
        signature=bleu.signature,
        length_ratio=bleu.length_ratio,
        exact=sum(map(eq, *map(fold, (texts, references)))) / len(pairs),
        perplexity=perplexity(nats / sum(len(known.tokens) for known in forced)),
        aer=_error_rate(translator, forced, pairs, METHOD, THRESHOLD),
        aer_rows=_error_rate(translator, forced, pairs, "target"),
        sentences=len(pairs),
        lengths=score_by_length(texts, pairs, score) if details else None,
        attention=summarize_attention(found) if details else None,
    )


def bleu_scorer(*, lowercase: bool = False, language: str | None = None) -> Scorer:
    """Choose how BLEU is computed: of plain text, or as older papers have it in a language."""
    if language is not None:
        return partial(tokenized_bleu, language=language)
    return partial(corpus_bleu, lowercase=lowercase)


def _error_rate(
    translator: Translator,
    forced: Sequence[Translation],
    pairs: Sequence[TextPair],
    method: str,
    threshold: float | None = None,
) -> float | None:
    """AER of the attention when the model writes the reference; None where it is not defined."""
    if any(vocabulary.kind != "words" for vocabulary in translator.vocabularies):
        return None  # gold links count words, maps count tokens
    gold = [pair.links for pair in pairs if pair.links is not None]
    maps = [known.weights for known in forced if known.weights is not None]
    if len(gold) < len(pairs) or len(maps) < len(pairs):
        return None
    links = [alignment_links(weights, method, threshold) for weights in maps]
    return alignment_error_rate(links, gold, gold)


def alignment_links(
    weights: Tensor, method: str = "target", threshold: float | None = None
) -> set[tuple[int, int]]:
    """Link each target word with the source word that has the largest weight.

    Parameters
    ----------
    weights : (target tokens, source tokens)
        With a row and a column for ``<eos>``, last.
    method, threshold
        Other ways, as in :func:`~seqattn.metrics.hard_alignment`. :func:`evaluate` reports
        ``"grow-diag"`` with a threshold of 0.25, which looks at the columns as well, and so can
        link a target word with several source words.

    Returns
    -------
    set of (source, target)
        Counted from 0. A target word that looks at the source's ``<eos>`` most has no link by its
        row. Columns are compared between words alone.

    Raises
    ------
    ValueError
        If weights have other axes, or as :func:`~seqattn.metrics.hard_alignment`.

    Examples
    --------
    >>> import torch
    >>> alignment_links(torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.1, 0.6], [0.0, 0.0, 1.0]]))
    {(0, 0)}
    >>> sorted(alignment_links(torch.tensor([[0.5, 0.4, 0.1], [0.0, 0.0, 1.0]]), "grow-diag"))
    [(0, 0), (1, 0)]
    """
    if weights.dim() != 2:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}; expected (target tokens, source tokens), "
            "the map of one sentence"
        )
    end = weights.shape[1] - 1
    words = weights[None, :-1]
    [forward] = hard_alignment(words)
    if threshold is not None:
        [above] = hard_alignment(words, threshold=threshold)
        forward = above if method == "target" else forward | above
    [backward] = hard_alignment(words[:, :, :-1], method="source")
    forward = {(source, target) for source, target in forward if source != end}
    return symmetrize(forward, backward, method)


def missing_words(text: str, pair: TextPair, *, language: str = "fr") -> list[bool]:
    """Say which source words a translation left out, as far as gold links can tell.

    A source word counts as missing if none of the words that it is linked with in the reference
    occurs in the translation. That is a rough judgement: a synonym is taken for a gap, and a word
    that occurs for another reason for a translation.

    Parameters
    ----------
    text : str
        The translation to be judged.
    pair : TextPair
        Source, reference and the links between their words.
    language : str
        Of the translation; see :func:`~seqattn.data.tokenize`.

    Returns
    -------
    list of bool
        A flag for each source word up to the last that has a link; words without one are never
        missing.

    Raises
    ------
    ValueError
        If the pair has no links.

    Examples
    --------
    >>> links = frozenset({(0, 0), (1, 1)})
    >>> missing_words("le chien", TextPair("the cat", "le chat", links))
    [False, True]
    """
    if not pair.links:
        raise ValueError(f"{pair.source!r} has no links; expected a pair with gold links")
    found, reference = set(tokenize(text, language)), tokenize(pair.target, language)
    words: list[set[str]] = [set() for _ in range(1 + max(source for source, _ in pair.links))]
    for source, target in pair.links:
        words[source].add(reference[target])
    return [bool(linked) and found.isdisjoint(linked) for linked in words]


def score_by_length(
    texts: Sequence[str], pairs: Sequence[TextPair], bleu: Scorer
) -> list[LengthScore]:
    """Give BLEU for sources of 1 to 5 words, 6 to 10, 11 to 15, 16 to 20, 21 to 30, 31 to 50, more.

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
        The shortest first; lengths that do not occur are left out, and so are blank sources.
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
