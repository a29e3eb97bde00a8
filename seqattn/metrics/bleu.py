"""Scores for translations: BLEU and chrF, through sacrebleu and at corpus level; perplexity."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from seqattn.extras import require

__all__ = [
    "CorpusScore",
    "Scorer",
    "corpus_bleu",
    "corpus_chrf",
    "moses_tokens",
    "perplexity",
    "tokenized_bleu",
]


class CorpusScore(NamedTuple):
    """A corpus score with what is needed to compare it.

    Attributes
    ----------
    score : float
        From 0 to 100, higher is better.
    signature : str
        sacrebleu's record of references, case, tokenisation, smoothing and version. Scores with
        different signatures are not comparable.
    length_ratio : float, or None
        Of BLEU: tokens of the hypotheses per reference token, h / r in
        :func:`~seqattn.metrics.corpus_bleu`. Below 1 they are too short, and the score is lowered
        by the brevity penalty, which can be had from this alone. None for chrF, and if the
        references have no tokens.
    """

    score: float
    signature: str
    length_ratio: float | None = None


Scorer = Callable[[Sequence[str], Sequence[str]], CorpusScore]
"""From hypotheses and references to a score."""


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
    references; of several references of a sentence, r counts the one whose length is closest. A
    share of zero is smoothed: see :func:`~seqattn.metrics.bleu_from_counts`.

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
        ``score`` from 0 to 100 and ``signature``: report both. And ``length_ratio``.

    Raises
    ------
    ValueError
        If hypotheses and references do not match in number, there are none, or sentences have
        different numbers of references.
    TypeError
        If either is one string instead of a sequence of them, or a text is no string, or several
        references of each sentence are one word each, as the words of one reference are.
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
    >>> corpus_bleu(["the cat"], ["the cat sat on a mat"]).length_ratio == 2 / 6
    True
    """
    sacrebleu = require("sacrebleu", "this score", "nmt")
    metric = sacrebleu.BLEU(lowercase=lowercase, tokenize=tokenize)
    return _score_texts(metric, hypotheses, references)


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
    sacrebleu = require("sacrebleu", "this score", "nmt")
    return _score_texts(
        sacrebleu.CHRF(lowercase=lowercase, word_order=word_order), hypotheses, references
    )


def moses_tokens(texts: Iterable[str], language: str) -> list[str]:
    """Lower-case and tokenise as the Moses scripts do, punctuation normalised, tokens spaced out.

    Parameters
    ----------
    texts : iterable of str
        Plain text.
    language : str
        Theirs, as in "de".

    Returns
    -------
    list of str
        One for each text: tokens with spaces between them.

    Raises
    ------
    ImportError
        If sacremoses is missing.

    Examples
    --------
    >>> moses_tokens(["The cat’s here, isn't it?"], "en")
    ["the cat 's here , isn 't it ?"]
    """
    sacremoses = require("sacremoses", "tokenised BLEU", "nmt")
    normalizer = sacremoses.MosesPunctNormalizer(lang=language)
    tokenizer = sacremoses.MosesTokenizer(lang=language)
    return [
        tokenizer.tokenize(normalizer.normalize(text.lower()), return_str=True, escape=False)
        for text in texts
    ]


def tokenized_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, language: str
) -> CorpusScore:
    """BLEU of lower-cased, tokenised text: what most papers on Multi30k report.

    It is computed as the script ``multi-bleu.perl`` does, on tokens that were made before. Numbers
    with different tokenisers are not comparable, which is why sacrebleu makes its own from plain
    text; prefer :func:`~seqattn.metrics.corpus_bleu` where no older paper must be compared with.

    Parameters
    ----------
    hypotheses, references : sequence of str
        Plain text; both are tokenised here.
    language : str
        Of both, as in "de".

    Returns
    -------
    CorpusScore
        ``score``, ``signature``, which names the tokeniser, and ``length_ratio``.

    Raises
    ------
    ValueError, TypeError, ImportError
        As :func:`~seqattn.metrics.corpus_bleu`.

    Examples
    --------
    >>> f"{tokenized_bleu(['A dog runs fast.'], ['a dog runs fast .'], language='en').score:.1f}"
    '100.0'
    """
    sacremoses = require("sacremoses", "tokenised BLEU", "nmt")
    sacrebleu = require("sacrebleu", "BLEU", "nmt")
    for texts in (hypotheses, references):
        if isinstance(texts, str):
            raise TypeError(f"{texts!r} is one string; expected a list of strings")
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"a text is {text!r}; expected a string")
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    found = _score_texts(
        metric, moses_tokens(hypotheses, language), moses_tokens(references, language)
    )
    moses = f"case:lc|tok:moses-{language}-sacremoses-{sacremoses.__version__}"
    signature = found.signature.replace("case:mixed", moses).replace("|tok:none", "")
    return found._replace(signature=signature)


def perplexity(nats_per_token: float) -> float:
    """Turn nats per token into a number of equally likely tokens, :math:`e^L`.

    Parameters
    ----------
    nats_per_token : float
        Mean cross-entropy L.

    Returns
    -------
    float
        1 or more, and at most :math:`e^{700}`; 8 says that the model is as unsure as among 8
        tokens, all equally likely.

    Examples
    --------
    >>> round(perplexity(math.log(8)), 6)
    8.0
    """
    return math.exp(min(nats_per_token, 700.0))


def _holds_several(group: Any) -> bool:
    """Tell references of one sentence from the only one, and from what is neither."""
    return isinstance(group, Iterable) and not isinstance(group, str)


def _score_texts(
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
    groups: list[list[Any]] = [
        list(group) if _holds_several(group) else [group] for group in references
    ]
    for text in (*hypotheses, *chain.from_iterable(groups)):
        if not isinstance(text, str):
            raise TypeError(
                f"a text is {text!r}; expected a string: sacrebleu splits it into words itself"
            )
    if len({len(group) for group in groups}) != 1 or not groups[0]:
        raise ValueError(
            "expected the same number of references for every hypothesis, at least one; got from "
            f"{min(map(len, groups))} to {max(map(len, groups))} (each reference is one string, "
            "not a list of its words)"
        )
    words = [" " not in text.strip() for group in groups if len(group) > 1 for text in group]
    if words and all(words) and any(" " in text.strip() for text in hypotheses):
        raise TypeError(
            f"every reference is one word, such as {groups[0][0]!r}, and the hypotheses are not; "
            "expected a sentence as one string, not as a list of its words"
        )
    # sacrebleu wants the first references of all sentences, then the second ones, and so on.
    streams = [list(stream) for stream in zip(*groups, strict=True)]
    found = metric.corpus_score(list(hypotheses), streams)
    # A metric of characters counts no tokens, and a reference may be empty.
    written, wanted = (getattr(found, name, 0) for name in ("sys_len", "ref_len"))
    ratio = written / wanted if wanted else None
    return CorpusScore(found.score, str(metric.get_signature()), ratio)
