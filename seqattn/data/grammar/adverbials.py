"""Adverbs, places, times and the words that join clauses."""

from dataclasses import dataclass

from seqattn.data.grammar.noun_phrases import NounPhrase, Pronoun, nominal, stressed
from seqattn.data.grammar.phrases import Phrase, say

__all__ = [
    "CONJUNCTIONS",
    "FREQUENCY",
    "MANNER",
    "PREPOSITIONS",
    "TIMES",
    "Time",
    "join",
    "manner",
    "place",
    "time",
]

# Before the English verb, after the finite French one: he often eats, il mange souvent.
FREQUENCY = {
    "often": "souvent",
    "always": "toujours",
    "sometimes": "parfois",
    "rarely": "rarement",
    "already": "déjà",
    "still": "encore",
}
MANNER = {
    "slowly": "lentement",
    "quickly": "rapidement",
    "quietly": "silencieusement",
    "together": "ensemble",
}
PREPOSITIONS = {
    "in": "dans",
    "on": "sur",
    "under": "sous",
    "behind": "derrière",
    "in front of": "devant",
    "near": "près de",
    "next to": "à côté de",
    "with": "avec",
    "without": "sans",
    "at": "à",
    "to": "à",
    "by": "par",
}
CONJUNCTIONS = {
    "and": "et",
    "but": "mais",
    "so": "donc",
    "because": "parce que",
    "when": "quand",
    "while": "pendant que",
    "if": "si",
    "that": "que",
}
CLAUSE_NAMES = {
    "because": "clause with because",
    "when": "clause with when",
    "while": "clause with while",
    "if": "clause with if",
    "that": "clause with that",
}


@dataclass(frozen=True, slots=True)
class Time:
    """A time phrase: its pieces in English order, and whether French swaps the two."""

    pieces: tuple[tuple[str, str], ...]
    swapped: bool = False


TIMES = {
    "today": Time((("today", "aujourd'hui"),)),
    "now": Time((("now", "maintenant"),)),
    "yesterday": Time((("yesterday", "hier"),)),
    "tomorrow": Time((("tomorrow", "demain"),)),
    "tonight": Time((("tonight", "ce soir"),)),
    "every day": Time((("every", "tous"), ("day", "les jours"))),
    "every morning": Time((("every", "tous"), ("morning", "les matins"))),
    "at night": Time((("at", "la"), ("night", "nuit"))),
    "in the evening": Time((("in the", "le"), ("evening", "soir"))),
    "on sunday": Time((("on", "le"), ("sunday", "dimanche"))),
    "last week": Time((("last", "dernière"), ("week", "la semaine")), swapped=True),
    "last night": Time((("last", "dernière"), ("night", "la nuit")), swapped=True),
    "last year": Time((("last", "dernière"), ("year", "la année")), swapped=True),
    "next week": Time((("next", "prochaine"), ("week", "la semaine")), swapped=True),
    "next year": Time((("next", "prochaine"), ("year", "la année")), swapped=True),
}


def time(en: str) -> Phrase:
    """Say a time phrase: last week, la semaine dernière."""
    entry = TIMES[en]
    phrases = [say(english, french) for english, french in entry.pieces]
    french_order = reversed(phrases) if entry.swapped else phrases
    return Phrase(
        tuple(word for phrase in phrases for word in phrase.en),
        tuple(word for phrase in french_order for word in phrase.fr),
        frozenset(["time phrase"]),
    )


def manner(en: str) -> Phrase:
    """Say an adverb that stands at the end: slowly, lentement."""
    return say(en, MANNER[en], "adverb of manner")


def place(preposition: str, np: NounPhrase) -> Phrase:
    """Say a preposition and what it governs: in front of the house, with him."""
    head = say(preposition, PREPOSITIONS[preposition], "prepositional phrase")
    return head + (stressed(np) if isinstance(np, Pronoun) else nominal(np).phrase)


def join(first: Phrase, conjunction: str, second: Phrase, *, comma: bool = False) -> Phrase:
    """Say two clauses with a conjunction between: he sleeps because he is tired."""
    name = CLAUSE_NAMES.get(conjunction, "coordinated clauses")
    link = say(conjunction, CONJUNCTIONS[conjunction], name)
    return first + (say(",", ",") + link if comma else link) + second


def lead(conjunction: str, first: Phrase, second: Phrase) -> Phrase:
    """Say two clauses with the conjunction in front: if it rains, he will stay."""
    name = CLAUSE_NAMES[conjunction]
    return say(conjunction, CONJUNCTIONS[conjunction], name) + first + say(",", ",") + second
