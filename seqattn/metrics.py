r"""Scores for translations (BLEU, chrF) and for alignments (AER), all at corpus level.

A corpus score is computed from counts summed over the corpus. It is *not* the mean of sentence
scores, and the two must not be set side by side.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

__all__ = [
    "AlignmentQuality",
    "CorpusScore",
    "alignment_error_rate",
    "alignment_precision_recall",
    "corpus_bleu",
    "corpus_chrf",
]

Link = tuple[int, int]
Links = Iterable[Link]


class AlignmentQuality(NamedTuple):
    """Precision and recall of alignment links.

    Attributes
    ----------
    precision : float
        Share of the predicted links that are possible, from 0 to 1; NaN if none was predicted.
    recall : float
        Share of the sure links that were predicted, from 0 to 1; NaN if there is none.
    """

    precision: float
    recall: float


class CorpusScore(NamedTuple):
    """A corpus score with what is needed to compare it.

    Attributes
    ----------
    score : float
        From 0 to 100, higher is better.
    signature : str
        sacrebleu's record of references, case, tokenisation, smoothing and version. Scores with
        different signatures are not comparable.
    """

    score: float
    signature: str


Scorer = Callable[[Sequence[str], Sequence[str]], CorpusScore]
"""From hypotheses and references to a score."""


def alignment_error_rate(
    predicted: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]
) -> float:
    r"""Alignment error rate of a corpus: 0 is perfect, 1 is nothing right.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}, \qquad S \subseteq P

    A are the predicted links, S those that annotators were sure of, P those that they thought
    possible. Each count is summed over the corpus first.

    Parameters
    ----------
    predicted, sure, possible : sequence of sets of (source, target)
        One set of links per sentence pair, all counted from the same number (this package counts
        from 0; some gold files count from 1). A link that occurs twice counts once. Sure links are
        possible by definition, whether or not ``possible`` repeats them.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If the three do not have one entry per sentence pair, or hold neither predicted nor sure
        links.

    References
    ----------
    Och and Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models",
    section 6.

    Examples
    --------
    Of three predictions one is sure, one is possible and one is wrong:

    >>> alignment_error_rate([{(0, 0), (1, 2), (2, 1)}], [{(0, 0)}], [{(1, 2)}])
    0.25
    """
    counts = _count_links(predicted, sure, possible)
    total = counts.predicted + counts.sure
    if total == 0:
        raise ValueError("no predicted and no sure link in the corpus: the error rate is undefined")
    return 1 - (counts.hit_sure + counts.hit_possible) / total


def alignment_precision_recall(
    predicted: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]
) -> AlignmentQuality:
    r"""Precision against the possible links and recall of the sure ones, over a corpus.

    .. math:: \mathrm{precision} = \frac{|A \cap P|}{|A|}, \qquad
              \mathrm{recall} = \frac{|A \cap S|}{|S|}

    Parameters
    ----------
    predicted, sure, possible
        As in :func:`~seqattn.alignment_error_rate`.

    Returns
    -------
    AlignmentQuality
        ``precision`` and ``recall``.

    Raises
    ------
    ValueError
        If the three do not have one entry per sentence pair.

    References
    ----------
    Och and Ney (2003), section 6.

    Examples
    --------
    >>> alignment_precision_recall([{(0, 0), (1, 2), (2, 1), (3, 3)}], [{(0, 0)}], [{(1, 2)}])
    AlignmentQuality(precision=0.5, recall=1.0)
    """
    counts = _count_links(predicted, sure, possible)
    return AlignmentQuality(
        counts.hit_possible / counts.predicted if counts.predicted else float("nan"),
        counts.hit_sure / counts.sure if counts.sure else float("nan"),
    )


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> CorpusScore:
    r"""BLEU of a corpus, through sacrebleu.

    .. math:: \mathrm{BLEU} = 100 \, \min(1, e^{1 - r/h})
              \Bigl(\prod_{n=1}^{4} p_n\Bigr)^{1/4}

    where p_n is the share of the n-grams of the hypotheses that occur in their references (each
    counted at most as often as there), and h and r are the total lengths of hypotheses and
    references.

    Parameters
    ----------
    hypotheses : sequence of str
        Translations as plain text: detokenised, subwords joined.
    references : sequence of str, or of sequences of str
        The human translation of each, as plain text; or several of each, the same number for all.
    lowercase : bool
        Ignore case. Raises the score: state it.
    tokenize : str
        sacrebleu's tokenisation; ``"13a"`` is the usual one for European languages.

    Returns
    -------
    CorpusScore
        ``score`` from 0 to 100 and ``signature``. Report both.

    Raises
    ------
    ValueError
        If hypotheses and references do not match in number, or there are none.
    TypeError
        If either is one string instead of a sequence of them.
    ImportError
        If sacrebleu is missing.

    References
    ----------
    Papineni et al. (2002), "BLEU: a Method for Automatic Evaluation of Machine Translation"; Post
    (2018), "A Call for Clarity in Reporting BLEU Scores".

    Examples
    --------
    >>> bleu = corpus_bleu(["the cat sat on the mat"], ["the cat sat on a mat"])
    >>> f"{bleu.score:.1f}"
    '53.7'
    """
    sacrebleu = _import_sacrebleu()
    metric = sacrebleu.BLEU(lowercase=lowercase, tokenize=tokenize)
    return score_texts(metric, hypotheses, references)


def corpus_chrf(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    word_order: int = 0,
) -> CorpusScore:
    r"""Character n-gram F-score (chrF2) of a corpus, through sacrebleu.

    .. math:: \mathrm{chrF}_\beta = 100 \, (1 + \beta^2) \,
              \frac{\mathrm{chrP} \cdot \mathrm{chrR}}{\beta^2\,\mathrm{chrP} + \mathrm{chrR}},
              \qquad \beta = 2

    where chrP and chrR are precision and recall of character n-grams, averaged over n = 1..6. It
    needs no tokenisation and forgives a wrong word ending, which BLEU counts as a wrong word.

    Parameters
    ----------
    hypotheses, references, lowercase
        As in :func:`~seqattn.metrics.corpus_bleu`.
    word_order : int
        Longest word n-gram that counts beside the characters: 0 for chrF, 2 for chrF++.

    Returns
    -------
    CorpusScore
        ``score`` from 0 to 100 and ``signature``.

    Raises
    ------
    ValueError, TypeError, ImportError
        As :func:`~seqattn.metrics.corpus_bleu`.

    References
    ----------
    Popović (2015), "chrF: character n-gram F-score for automatic MT evaluation".

    Examples
    --------
    >>> chrf = corpus_chrf(["the cat sat on the mat"], ["the cats sit on the mat"])
    >>> f"{chrf.score:.1f}"
    '70.3'
    """
    sacrebleu = _import_sacrebleu()
    return score_texts(
        sacrebleu.CHRF(lowercase=lowercase, word_order=word_order), hypotheses, references
    )


class _LinkCounts(NamedTuple):
    predicted: int
    sure: int
    hit_sure: int
    hit_possible: int


def _count_links(
    predicted: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]
) -> _LinkCounts:
    if not len(predicted) == len(sure) == len(possible):
        raise ValueError(
            f"{len(predicted)} sentence pairs in predicted, {len(sure)} in sure, {len(possible)} "
            "in possible; expected one set of links per sentence pair in each"
        )
    sets = [(set(a), set(s), {*s, *p}) for a, s, p in zip(predicted, sure, possible, strict=True)]
    return _LinkCounts(
        predicted=sum(len(a) for a, _, _ in sets),
        sure=sum(len(s) for _, s, _ in sets),
        hit_sure=sum(len(a & s) for a, s, _ in sets),
        hit_possible=sum(len(a & p) for a, _, p in sets),
    )


def score_texts(
    metric: Any, hypotheses: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]
) -> CorpusScore:
    """Score texts with a metric of sacrebleu's, or say what is wrong with them."""
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise TypeError("got one string; expected a sequence with one string per sentence")
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(
            f"{len(hypotheses)} hypotheses and {len(references)} references; "
            "expected as many of each, and at least one"
        )
    groups = [[group] if isinstance(group, str) else list(group) for group in references]
    if len({len(group) for group in groups}) != 1:
        raise ValueError(
            "expected the same number of references for every hypothesis; got from "
            f"{min(map(len, groups))} to {max(map(len, groups))}"
        )
    # sacrebleu wants the first references of all sentences, then the second ones, and so on.
    streams = [list(stream) for stream in zip(*groups, strict=True)]
    score = metric.corpus_score(list(hypotheses), streams).score
    return CorpusScore(score, str(metric.get_signature()))


def _import_sacrebleu() -> Any:
    try:
        import sacrebleu
    except ImportError as error:
        raise ImportError('this score needs sacrebleu: pip install "seqattn[nmt]"') from error
    return sacrebleu
