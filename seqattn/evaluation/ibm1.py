"""What attention's alignments are measured against: IBM Model 1, trained by NLTK."""

from collections.abc import Sequence
from typing import Any

from seqattn.data.pairs import TextPair
from seqattn.data.tokenization import tokenize
from seqattn.extras import require
from seqattn.metrics.alignment_error import alignment_error_rate
from seqattn.metrics.symmetrization import METHODS, symmetrize
from seqattn.settings import check_whole

__all__ = ["ibm1_error_rates", "ibm1_links"]

Links = set[tuple[int, int]]

# Of EM. On the toy corpus more of them change the error rate by less than half a point.
ITERATIONS = 5


def ibm1_links(
    train: Sequence[TextPair],
    test: Sequence[TextPair],
    *,
    languages: tuple[str, str] = ("en", "fr"),
    iterations: int = ITERATIONS,
    reverse: bool = False,
) -> list[Links]:
    r"""Align words by IBM Model 1: which word translates which, whatever the order.

    Expectation maximisation of the probabilities of a target word, given a source word:

    .. math:: t(y \mid x) \propto \sum_{\text{pairs}} \sum_{i, j}
              \frac{t(y_j \mid x_i)}{\sum_{i'} t(y_j \mid x_{i'})} \, [x_i = x, y_j = y]

    where i = 0 stands for the empty word. Each target word is then linked with the source word that
    is likeliest to have brought it forth, or with none if the empty word is.

    Parameters
    ----------
    train, test : sequence of TextPair
        To learn from, and to align. Links that they have are not looked at.
    languages : (str, str)
        Of source and target; see :func:`~seqattn.data.tokenize`.
    iterations : int
        Passes of EM over the training pairs.
    reverse : bool
        Model the source, given the target: each *source* word is linked with one target word.

    Returns
    -------
    list of set of (source, target)
        For each test pair, counted from 0.

    Raises
    ------
    ImportError
        If NLTK is missing.
    ValueError
        If there are no training pairs, iterations is below 1 or no whole number, or languages are
        not two.

    References
    ----------
    Brown et al. (1993), "The Mathematics of Statistical Machine Translation", section 4.1. NLTK's
    :class:`nltk.translate.IBMModel1` does the work. (It counts a target word that a sentence has
    twice as if each were half a word.)

    Examples
    --------
    >>> known = [("the cat", "le chat"), ("the dog", "le chien"), ("a cat", "un chat")]
    >>> pairs = [TextPair(*pair) for pair in known]
    >>> [found] = ibm1_links(pairs, [TextPair("the dog", "chien le")])
    >>> sorted(found)
    [(0, 1), (1, 0)]
    """
    translate: Any = require("nltk.translate", "IBM Model 1", "nmt")
    check_whole("iterations", iterations, least=1)
    if isinstance(languages, str) or len(languages) != 2:
        raise ValueError(f"languages are {languages!r}; expected two, of source and target")
    if not train:
        raise ValueError("no sentence pairs to train IBM Model 1 on; expected at least one")

    def read(pairs: Sequence[TextPair]) -> list[Any]:
        sides = [
            (tokenize(p.source, languages[0]), tokenize(p.target, languages[1])) for p in pairs
        ]
        # NLTK wants what is generated first, and what it is generated from second.
        return [translate.AlignedSent(*(side if reverse else side[::-1])) for side in sides]

    model = translate.IBMModel1(read(train), iterations)
    found = []
    for sentence in read(test):
        model.align(sentence)
        links = [(i, j) for j, i in sentence.alignment if i is not None]
        found.append({(j, i) if reverse else (i, j) for i, j in links})
    return found


def ibm1_error_rates(
    train: Sequence[TextPair],
    test: Sequence[TextPair],
    *,
    languages: tuple[str, str] = ("en", "fr"),
    iterations: int = ITERATIONS,
    most: int | None = None,
) -> dict[str, float]:
    """Alignment error rates of IBM Model 1, for each way to combine its two directions.

    Parameters
    ----------
    train : sequence of TextPair
        To learn from.
    test : sequence of TextPair
        To align; each with its gold links.
    languages, iterations
        As in :func:`ibm1_links`.
    most : int, optional
        Learn from so many training pairs, the first, and no more; by default from all. NLTK takes
        about half a minute for both directions of the toy corpus; 10,000 pairs take seconds, and
        cost a third of a point.

    Returns
    -------
    dict of str to float
        For each method of :func:`~seqattn.metrics.symmetrize` an error rate from 0 to 1.
        ``"target"`` is the model as it comes, from source to target.

    Raises
    ------
    ImportError
        If NLTK is missing.
    ValueError
        If there are no training pairs, a test pair has no gold links, most is below 1 or no whole
        number, or as :func:`ibm1_links`.

    Examples
    --------
    >>> words = [("the cat", "le chat"), ("the dog", "le chien"), ("a cat", "un chat")]
    >>> pairs = [TextPair(*pair, frozenset({(0, 0), (1, 1)})) for pair in words]
    >>> ibm1_error_rates(pairs, pairs)["grow-diag"]
    0.0
    """
    if most is not None:
        check_whole("most", most, least=1)
    gold = [pair.links for pair in test if pair.links is not None]
    if len(gold) < len(test) or not gold:
        raise ValueError(
            f"{len(gold)} of {len(test)} test pairs have gold links; expected all, and at least one"
        )
    forward, backward = (
        ibm1_links(train[:most], test, languages=languages, iterations=iterations, reverse=reverse)
        for reverse in (False, True)
    )
    found = {}
    for method in METHODS:
        links = [symmetrize(*both, method) for both in zip(forward, backward, strict=True)]
        found[method] = alignment_error_rate(links, gold, gold)
    return found
