"""The toy corpus: as many different pairs as asked for, of the lengths asked for.

Everything is drawn from a seeded generator: the same arguments give the same pairs on any machine.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from seqattn.data.grammar.alignment import Pair, cat_on_the_mat, pair
from seqattn.data.grammar.phrases import Phrase
from seqattn.data.grammar.sampling.long import sentence_of
from seqattn.data.grammar.sampling.sentences import sentence

__all__ = ["Splits", "by_length", "generate", "sentence_of_length", "splits"]

SHORTEST, LONGEST = 3, 100
# Sentences up to this length are drawn whole; longer ones are built to measure.
ORDINARY = 12
# Draws in a row that may bring nothing new before we say that nothing is left.
PATIENCE = 1_000


class Splits(NamedTuple):
    """Pairs to learn from, to choose by, and to be judged on."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def generate(
    n: int,
    *,
    seed: int = 0,
    min_len: int = 3,
    max_len: int = ORDINARY,
    exclude: Collection[str] = (),
) -> list[Pair]:
    """Draw different sentence pairs.

    Parameters
    ----------
    n : int
        Number of pairs.
    seed : int
        Seed of the draw.
    min_len, max_len : int
        Bounds of the source length, in tokens, from 3 to 100.
    exclude : collection of str
        Source texts that must not come.

    Returns
    -------
    list of Pair
        No source sentence comes twice.

    Raises
    ------
    ValueError
        If the bounds make no sense, or the grammar has too few sentences between them.

    Examples
    --------
    >>> [found] = generate(1, seed=3, min_len=5, max_len=6)
    >>> 5 <= len(found.source) <= 6
    True
    """
    _check_lengths(min_len, max_len)
    return _take(n, _different(Random(seed), min_len, max_len, exclude))


def sentence_of_length(length: int, *, seed: int = 0) -> Pair:
    """Draw a sentence of exactly so many source tokens, from 3 to 100.

    Examples
    --------
    >>> len(sentence_of_length(60).source)
    60
    """
    return generate(1, seed=seed, min_len=length, max_len=length)[0]


def splits(
    train: int = 40_000,
    valid: int = 1_000,
    test: int = 1_000,
    *,
    seed: int = 0,
    min_len: int = 3,
    max_len: int = ORDINARY,
) -> Splits:
    """Draw pairs to train on, and others to validate and test on.

    No source sentence is in two splits (sentences that differ in one word may be), and every word
    of the held-out pairs, in both languages, occurs in the training pairs. "The cat sat on the mat"
    and the same "today" are kept from training: the test pairs begin with them, if the lengths
    allow it and their words are known.

    Parameters
    ----------
    train, valid, test : int
        Numbers of pairs.
    seed : int
        Seed of the draw.
    min_len, max_len : int
        Bounds of the source length, in tokens.

    Returns
    -------
    Splits
        Named tuple (train, valid, test) of lists of :class:`Pair`.

    Raises
    ------
    ValueError
        If the bounds make no sense, the grammar has too few such sentences, or the training pairs
        hold too few words.

    Examples
    --------
    >>> corpus = splits(train=800, valid=5, test=5)
    >>> [len(split) for split in corpus]
    [800, 5, 5]
    """
    _check_lengths(min_len, max_len)
    shown = [cat_on_the_mat(), cat_on_the_mat(today=True)]
    exclude = [kept.source_text for kept in shown]
    different = _different(Random(seed), min_len, max_len, exclude)
    learnt = _take(train, different)
    readable = _in_words_of(learnt)
    fitting = [kept for kept in shown if min_len <= len(kept.source) <= max_len and readable(kept)]
    chosen = _take(valid, different, readable)
    judged = fitting[:test]
    return Splits(learnt, chosen, judged + _take(test - len(judged), different, readable))


def by_length(
    lengths: Iterable[int], each: int, *, known: Sequence[Pair], seed: int = 0
) -> list[Pair]:
    """Draw test pairs of given lengths, to see how a translator fares as sentences grow.

    Parameters
    ----------
    lengths : iterable of int
        Source lengths, in tokens.
    each : int
        Number of pairs of each length.
    known : sequence of Pair
        Training pairs: none of their source sentences comes, and no word that they do not hold.
    seed : int
        Seed of the draw.

    Returns
    -------
    list of Pair
        The shortest first.

    Raises
    ------
    ValueError
        If a length is out of bounds, or the grammar has too few such sentences.

    Examples
    --------
    >>> known = generate(800)
    >>> [len(pair.source) for pair in by_length([5, 20], 2, known=known)]
    [5, 5, 20, 20]
    """
    readable, seen = _in_words_of(known), {pair.source_text for pair in known}
    found = []
    for length in sorted(lengths):
        _check_lengths(length, length)
        found += _take(each, _different(Random(seed), length, length, seen), readable)
    return found


def _in_words_of(known: Sequence[Pair]) -> Callable[[Pair], bool]:
    """Tell whether a pair has only words that known pairs have."""
    english_words = {word for pair in known for word in pair.source}
    french_words = {word for pair in known for word in pair.target}

    def readable(pair: Pair) -> bool:
        return english_words.issuperset(pair.source) and french_words.issuperset(pair.target)

    return readable


def _check_lengths(min_len: int, max_len: int) -> None:
    if not SHORTEST <= min_len <= max_len <= LONGEST:
        raise ValueError(
            f"min_len = {min_len} and max_len = {max_len}; expected "
            f"{SHORTEST} <= min_len <= max_len <= {LONGEST} (source tokens)"
        )


def _different(
    rng: Random, min_len: int, max_len: int, exclude: Collection[str]
) -> Iterator[Pair | None]:
    """Draw without end; ``None`` stands for a sentence that came before."""
    seen = set(exclude)
    while True:
        drawn = pair(_draw(rng, min_len, max_len))
        if drawn.source_text in seen:
            yield None
        else:
            seen.add(drawn.source_text)
            yield drawn


def _take(
    n: int, pairs: Iterator[Pair | None], fits: Callable[[Pair], bool] = lambda _: True
) -> list[Pair]:
    taken: list[Pair] = []
    in_vain = 0
    while len(taken) < n:
        drawn = next(pairs)
        if drawn is not None and fits(drawn):
            taken.append(drawn)
            in_vain = 0
        else:
            in_vain += 1
        if in_vain > PATIENCE:
            raise ValueError(
                f"found {len(taken)} of {n} pairs and then none in {PATIENCE} draws; "
                "ask for fewer pairs, for longer sentences, or train on more"
            )
    return taken


def _draw(rng: Random, min_len: int, max_len: int) -> Phrase:
    length = rng.randint(min_len, max_len)
    if length > ORDINARY:
        return sentence_of(rng, length)
    while True:
        phrase = sentence(rng)
        if min_len <= len(phrase.en) <= min(max_len, ORDINARY):
            return phrase
