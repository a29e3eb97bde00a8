"""Words on beads: how one derivation speaks two languages and aligns itself.

A *bead* is one piece of meaning. Every word that says it, in either language, is threaded on it.
Two words are linked exactly when they share a bead, however far apart they stand: the gold
alignment is never computed from the sentences, it is how the sentences were made.

===================  ==========================  =================
one piece of meaning  English                     French
===================  ==========================  =================
a negation            not                         ne … pas
an idiom              is hungry                   a faim
a tense               is eating                   mange
===================  ==========================  =================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["SILENCE", "Bead", "Features", "Phrase", "Word", "Words", "also", "links", "say"]


class Features(NamedTuple):
    """What a subject passes on to the words that agree with it."""

    person: int = 3
    plural: bool = False
    feminine: bool = False


class Word(NamedTuple):
    """A word of either language, the beads it is on, and its kind where spelling depends on it."""

    text: str
    beads: tuple[Bead, ...]
    kind: str = ""


Words = tuple[Word, ...]


class Bead:
    """One piece of meaning; calling it says words on it.

    Examples
    --------
    >>> negation, eating = Bead(), Bead()
    >>> french = negation("ne") + eating("mange") + negation("pas")
    >>> sorted(links(negation("not") + eating("eat"), french))
    [(0, 0), (0, 2), (1, 1)]
    """

    __slots__ = ()

    def __call__(self, text: str, kind: str = "") -> Words:
        """Say words on this bead."""
        return tuple(Word(token, (self,), kind) for token in text.split())


def also(words: Words, bead: Bead) -> Words:
    """Thread words on one more bead.

    "did" is the auxiliary and, at the front of a question, its mark too.
    """
    return tuple(word._replace(beads=(*word.beads, bead)) for word in words)


def links(english: Words, french: Words) -> frozenset[tuple[int, int]]:
    """Collect the pairs (English position, French position) of words that share a bead."""
    positions: dict[Bead, list[int]] = {}
    for i, word in enumerate(english):
        for bead in word.beads:
            positions.setdefault(bead, []).append(i)
    return frozenset(
        (i, j)
        for j, word in enumerate(french)
        for bead in word.beads
        for i in positions.get(bead, ())
    )


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a part of a sentence says in each language, and the constructions that made it.

    ``a + b`` says a, then b, in both languages. Where the languages order their parts differently,
    ``Phrase(a.en + b.en, b.fr + a.fr)`` does.
    """

    en: Words = ()
    fr: Words = ()
    names: frozenset[str] = frozenset()

    def __add__(self, other: Phrase) -> Phrase:
        return Phrase(self.en + other.en, self.fr + other.fr, self.names | other.names)

    def named(self, *names: str) -> Phrase:
        """Record that these constructions were used."""
        return Phrase(self.en, self.fr, self.names.union(names))


SILENCE = Phrase()


def say(english: str, french: str, *names: str) -> Phrase:
    """Say one piece of meaning in both languages: all its words are linked.

    Examples
    --------
    >>> next_to = say("next to", "à côté de")
    >>> len(links(next_to.en, next_to.fr))
    6
    """
    bead = Bead()
    return Phrase(bead(english), bead(french), frozenset(names))
