"""Pairs: phrases spelt out in both languages, with their gold alignment."""

from __future__ import annotations

from dataclasses import dataclass

from seqattn.data.grammar import english, spelling
from seqattn.data.grammar.adverbials import place, time
from seqattn.data.grammar.clauses import Clause, statement
from seqattn.data.grammar.lexicon import noun, verb
from seqattn.data.grammar.noun_phrases import NP
from seqattn.data.grammar.phrases import Phrase, links

__all__ = ["Pair", "cat_on_the_mat", "pair"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence, its translation, and their gold alignment.

    Attributes
    ----------
    source, target : tuple of str
        English and French tokens, in lower case; an apostrophe ends a token ("l'", "n'").
    links : frozenset of (int, int)
        Which source position goes with which target position. Links are many-to-many and all sure,
        and each token of either sentence has at least one. An idiom is linked all to all ("is
        hungry", *a faim*); *to* goes with its infinitive, *est-ce que* with the auxiliary that the
        English question moves, and an article that only French has with its noun.
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
