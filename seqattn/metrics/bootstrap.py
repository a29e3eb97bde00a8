"""How much of a BLEU score hangs on the sentences: counts of each, drawn again and again."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.extras import require

__all__ = [
    "PairedBootstrap",
    "bleu_from_counts",
    "bootstrap_bleu",
    "paired_bootstrap",
    "sentence_counts",
]


class PairedBootstrap(NamedTuple):
    """What draws of the sentences say of the difference of two systems.

    Attributes
    ----------
    difference : float
        BLEU of the second minus BLEU of the first, on all sentences.
    low, high : float
        The middle 95% of the difference over the draws.
    p : float
        How often a draw's difference lies at least as far from the one seen as that lies from zero:
        one more than these draws, divided by one more than all draws, so that it is never zero.
    """

    difference: float
    low: float
    high: float
    p: float


def sentence_counts(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Int[Tensor, "sentences 10"]:
    """Count, sentence by sentence, what BLEU is computed from, through sacrebleu.

    Counts add up: those of a corpus, or of any draw from it, are the sums of its sentences', and
    :func:`~seqattn.metrics.bleu_from_counts` makes BLEU of the sums.

    Parameters
    ----------
    hypotheses, references : sequence of str
        Plain text, one reference for each.
    lowercase, tokenize
        As in :func:`~seqattn.metrics.corpus_bleu`.

    Returns
    -------
    (sentences, 10), int64
        Of each: tokens of the hypothesis, tokens of the reference, n-grams that are right for n
        from 1 to 4 (clipped), and n-grams of the hypothesis for n from 1 to 4.

    Raises
    ------
    TypeError
        If either is one string instead of a sequence of them.
    ValueError
        If hypotheses and references do not match in number, or there are none.
    ImportError
        If sacrebleu is missing.

    Examples
    --------
    >>> sentence_counts(["le le le le le le"], ["le chat est sur le tapis"]).tolist()
    [[6, 6, 2, 0, 0, 0, 6, 5, 4, 3]]
    """
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise TypeError("got one string; expected a sequence with one string per sentence")
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(
            f"{len(hypotheses)} hypotheses and {len(references)} references; "
            "expected as many of each, and at least one"
        )
    metric = require("sacrebleu", "this score", "nmt").BLEU(lowercase=lowercase, tokenize=tokenize)
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        found = metric.corpus_score([hypothesis], [[reference]])
        rows.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
    return torch.tensor(rows)


def bleu_from_counts(counts: Int[Tensor, "*draws 10"]) -> Float[Tensor, "*draws"]:
    """Compute BLEU of summed counts, as :func:`~seqattn.metrics.corpus_bleu` does.

    Where no n-gram of some length is right, the count is taken as 1/2, for the next such length as
    1/4, and so on ("exp" in sacrebleu's signature); where none is right at all, or there is no
    4-gram, BLEU is 0.

    Parameters
    ----------
    counts : (..., 10)
        Sums of rows of :func:`~seqattn.metrics.sentence_counts`.

    Returns
    -------
    (...), float64
        From 0 to 100.

    Raises
    ------
    ValueError
        If the last dimension is not 10.

    Examples
    --------
    >>> bleu_from_counts(torch.tensor([4, 7, 4, 3, 2, 1, 4, 3, 2, 1])).item()
    47.236655274101466
    """
    if counts.shape[-1:] != (10,):
        raise ValueError(f"counts has shape {tuple(counts.shape)}; expected 10 numbers in each row")
    counts = counts.double()
    written, wanted, right, total = counts.split([1, 1, 4, 4], -1)
    none = right == 0
    smoothed = torch.where(none, 0.5 ** none.double().cumsum(-1), right) / total.clamp(min=1)
    mean = smoothed.log().mean(-1).exp()
    brevity = (1 - wanted / written.clamp(min=1)).clamp(max=0).exp().squeeze(-1)
    # Too short for an n-gram of four, or nothing right: no geometric mean.
    empty = (total == 0).any(-1) | none.all(-1)
    return torch.where(empty, 0.0, 100 * brevity * mean)


def bootstrap_bleu(
    counts: Int[Tensor, "sentences 10"], *, draws: int = 1000, seed: int = 0
) -> Float[Tensor, " draws"]:
    """Draw as many sentences as there are, with replacement, and score each draw.

    Equal numbers of sentences, draws and equal seeds give the same draws: so two systems are
    compared on the same sentences.

    Parameters
    ----------
    counts : (sentences, 10)
        From :func:`~seqattn.metrics.sentence_counts`.
    draws : int
        How many.
    seed : int
        Of the draws.

    Returns
    -------
    (draws,), float64
        BLEU of each.

    Raises
    ------
    ValueError
        If there is no draw or no sentence.

    References
    ----------
    Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation".

    Examples
    --------
    >>> counts = sentence_counts(["a b c d", "a b c e"], ["a b c d", "a b c d"])
    >>> sorted({round(score, 1) for score in bootstrap_bleu(counts, draws=50).tolist()})
    [50.0, 72.3, 100.0]
    """
    if draws < 1 or len(counts) < 1:
        raise ValueError(f"{draws} draws of {len(counts)} sentences; expected at least one of each")
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randint(len(counts), (draws, len(counts)), generator=generator)
    return bleu_from_counts(counts[chosen].sum(1))


def paired_bootstrap(
    first: Int[Tensor, "sentences 10"],
    second: Int[Tensor, "sentences 10"],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> PairedBootstrap:
    r"""Ask whether other sentences would tell two systems apart as these do.

    .. math:: p = \frac{1 + \#\{\,|d^*_k - d| \ge |d|\,\}}{1 + K}

    d is the difference on all sentences, d*_k that on draw k of K, both systems on the same draw.

    Parameters
    ----------
    first, second : (sentences, 10)
        Counts of both on the same sentences, from :func:`~seqattn.metrics.sentence_counts`.
    draws, seed
        As in :func:`~seqattn.metrics.bootstrap_bleu`.

    Returns
    -------
    PairedBootstrap
        ``difference``, its interval, and ``p``.

    Raises
    ------
    ValueError
        If the two are not of the same sentences, or there is no draw.

    Notes
    -----
    p counts differences in both directions. That of :func:`~seqattn.evaluation.compare` is
    sacrebleu's, which takes the mean of \|d*\| from \|d*\| and so counts one tail: where p is
    small, it is about half of this one.

    References
    ----------
    Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation"; Efron and
    Tibshirani (1993), *An Introduction to the Bootstrap*.

    Examples
    --------
    >>> counts = sentence_counts(["a b c d", "a b c e"], ["a b c d", "a b c d"])
    >>> paired_bootstrap(counts, counts)
    PairedBootstrap(difference=0.0, low=0.0, high=0.0, p=1.0)
    """
    if first.shape != second.shape:
        raise ValueError(
            f"counts of shapes {tuple(first.shape)} and {tuple(second.shape)}; expected both "
            "systems on the same sentences"
        )
    drawn = bootstrap_bleu(second, draws=draws, seed=seed) - bootstrap_bleu(
        first, draws=draws, seed=seed
    )
    seen = (bleu_from_counts(second.sum(0)) - bleu_from_counts(first.sum(0))).item()
    low, high = drawn.quantile(torch.tensor([0.025, 0.975], dtype=drawn.dtype)).tolist()
    as_far = int(((drawn - seen).abs() >= abs(seen)).sum())
    return PairedBootstrap(seen, low, high, (1 + as_far) / (1 + draws))
