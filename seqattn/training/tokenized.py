"""BLEU as older papers have it: of lower-cased text, in tokens that were made before."""

from collections.abc import Iterable, Sequence

from seqattn.extras import require
from seqattn.metrics import CorpusScore, score_texts

__all__ = ["moses_tokens", "tokenized_bleu"]


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
        ``score`` and ``signature``, which names the tokeniser.

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
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    score, signature = score_texts(
        metric, moses_tokens(hypotheses, language), moses_tokens(references, language)
    )
    moses = f"case:lc|tok:moses-{language}-sacremoses-{sacremoses.__version__}"
    return CorpusScore(score, signature.replace("case:mixed", moses).replace("|tok:none", ""))
