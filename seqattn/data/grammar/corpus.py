"""The toy corpus: English sentences, their French translations, and who translates whom.

Everything is drawn from a seeded generator: the same arguments give the same pairs on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from seqattn.data.grammar import english, spelling
from seqattn.data.grammar.adverbials import place, time
from seqattn.data.grammar.clauses import Clause, statement
from seqattn.data.grammar.lexicon import noun, verb
from seqattn.data.grammar.noun_phrases import NP
from seqattn.data.grammar.phrases import Phrase, links
from seqattn.data.grammar.sampling.long import sentence_of
from seqattn.data.grammar.sampling.sentences import sentence

__all__ = ["Pair", "Splits", "cat_on_the_mat", "generate", "pair", "sentence_of_length", "splits"]

SHORTEST, LONGEST = 3, 100
# Sentences up to this length are drawn whole; longer ones are built to measure.
ORDINARY = 12
# Draws in a row that may bring nothing new before we say that nothing is left.
PATIENCE = 1_000


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence, its translation, and their gold alignment.

    Attributes
    ----------
    source, target : tuple of str
        English and French tokens, in lower case; an apostrophe ends a token ("l'", "n'").
    links : frozenset of (int, int)
        Which source position goes with which target position. Links are many-to-many and all sure:
        each token of either sentence has at least one.
    constructions : frozenset of str
        The constructions of the grammar that the pair shows; the keys of ``CONSTRUCTIONS``.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: frozenset[tuple[int, int]]
    constructions: frozenset[str]

    @property
    def source_text(self) -> str:
        """The English tokens, with spaces between."""
        return " ".join(self.source)

    @property
    def target_text(self) -> str:
        """The French tokens, with spaces between."""
        return " ".join(self.target)


class Splits(NamedTuple):
    """Pairs to learn from, to choose by, and to be judged on."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def pair(phrase: Phrase) -> Pair:
    """Spell a phrase in both languages and read off its links.

    Examples
    --------
    >>> said = statement(Clause(NP(noun("owl")), verb("sleep"), negation="not"))
    >>> pair(said).source_text, pair(said).target_text
    ('the owl does not sleep', 'le hibou ne dort pas')
    """
    source = english.spell([word.text for word in phrase.en])
    target = spelling.spell(phrase.fr)
    return Pair(
        source=tuple(source),
        target=tuple(word.text for word in target),
        links=links(phrase.en, target),
        constructions=phrase.names,
    )


def cat_on_the_mat(*, today: bool = False) -> Pair:
    """Give the sentence that every chapter returns to.

    "Sat" is *s'est assis*: the grammar makes every past event a *passé composé*, and the three
    French words, linked with one English word, show why alignment is not one to one. (*Était
    assis*, "was seated", would describe the state.)

    Examples
    --------
    >>> cat_on_the_mat().target_text
    "le chat s' est assis sur le tapis"
    """
    said = Clause(NP(noun("cat")), verb("sit"), "past", adjuncts=(place("on", NP(noun("mat"))),))
    return pair(statement(said.having(time("today")) if today else said))


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

    No source sentence is in two splits, and every word of the held-out pairs, in both languages,
    occurs in the training pairs. "The cat sat on the mat" and the same "today" are kept from
    training: the test pairs begin with them, if the lengths allow it and their words are known.

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
    english_words = {word for known in learnt for word in known.source}
    french_words = {word for known in learnt for word in known.target}

    def readable(held_out: Pair) -> bool:
        return english_words.issuperset(held_out.source) and french_words.issuperset(
            held_out.target
        )

    fitting = [kept for kept in shown if min_len <= len(kept.source) <= max_len and readable(kept)]
    chosen = _take(valid, different, readable)
    judged = fitting[:test]
    return Splits(learnt, chosen, judged + _take(test - len(judged), different, readable))


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
