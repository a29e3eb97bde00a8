"""Scores for word alignments: the error rate, precision and recall, all at corpus level."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import NamedTuple

__all__ = ["AlignmentQuality", "alignment_error_rate", "alignment_precision_recall", "link_set"]

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
    TypeError
        If a link is no pair of whole numbers, as where links of one sentence pair stand alone.

    References
    ----------
    Och and Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models",
    on evaluation.

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
    TypeError
        If a link is no pair of whole numbers.

    References
    ----------
    Och and Ney (2003), on evaluation.

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


def link_set(links: Links) -> set[Link]:
    """Give the links of one sentence pair as a set.

    Raises
    ------
    TypeError
        If one is no pair of whole numbers: what is not would agree with nothing, in silence.
    """
    found = set()
    for link in links:
        pair = tuple(link) if isinstance(link, Sequence) else ()
        if len(pair) != 2 or not all(isinstance(n, Integral) for n in pair):
            raise TypeError(
                f"a link is {link!r}; expected a pair (source, target) of whole numbers, and a set "
                "of such pairs for each sentence pair"
            )
        found.add(pair)
    return found


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
    entries = zip(predicted, sure, possible, strict=True)
    links = [(link_set(a), link_set(s), link_set(p)) for a, s, p in entries]
    sets = [(a, s, s | p) for a, s, p in links]
    return _LinkCounts(
        predicted=sum(len(a) for a, _, _ in sets),
        sure=sum(len(s) for _, s, _ in sets),
        hit_sure=sum(len(a & s) for a, s, _ in sets),
        hit_possible=sum(len(a & p) for a, _, p in sets),
    )
