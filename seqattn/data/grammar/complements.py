"""What may follow *be*: adjectives, comparisons, professions, ages, participles, and *there is*.

Each function gives a complement: it waits for the subject's features and agrees with them.
"""

from dataclasses import replace
from typing import Literal

from seqattn.data.grammar.adverbials import place
from seqattn.data.grammar.clauses import Clause, Complement
from seqattn.data.grammar.french import agree, participle
from seqattn.data.grammar.lexicon import NUMERALS, VERBS, Adjective, Noun, Verb
from seqattn.data.grammar.noun_phrases import (
    NP,
    Nominal,
    NounPhrase,
    Pronoun,
    features,
    nominal,
    stressed,
)
from seqattn.data.grammar.phrases import Bead, Features, Phrase, say
from seqattn.data.grammar.verb_groups import Tense

Degree = Literal["more", "less", "as"]

__all__ = [
    "AGED",
    "BE",
    "BE_PASSIVE",
    "Degree",
    "aged",
    "comparative",
    "it_is",
    "passive",
    "predicate",
    "profession",
    "there_is",
]

BE, THERE, AGED, _ = VERBS["SPECIAL"]
# "was eaten" is an event, "a été mangé"; "was tired" is a state, "était fatigué".
BE_PASSIVE = replace(BE, traits=frozenset(["event"]))


def predicate(adj: Adjective, *, very: bool = False) -> Complement:
    """Say an adjective of the subject: the queen is (very) happy."""

    def complement(subject: Features) -> Phrase:
        degree = say("very", "très", "degree") if very else Phrase()
        return (degree + say(adj.en, agree(adj.fr, adj.feminine, subject))).named(
            "predicate adjective"
        )

    return complement


def comparative(adj: Adjective, than: NounPhrase, degree: Degree = "more") -> Complement:
    """Compare: taller than the queen, plus grand que la reine."""

    def complement(subject: Features) -> Phrase:
        form = agree(adj.fr, adj.feminine, subject)
        if degree == "more" and not adj.comparative.startswith("more "):
            head = say(adj.comparative, f"plus {form}")
        else:
            head = say(degree, {"more": "plus", "less": "moins", "as": "aussi"}[degree])
            head += say(adj.en, form)
        other = stressed(than) if isinstance(than, Pronoun) else nominal(than).phrase
        link = say("as" if degree == "as" else "than", "que")
        return (head + link + other).named("comparative")

    return complement


def profession(noun: Noun) -> Complement:
    """Say what someone is by trade, without an article in French: she is a nurse."""

    def complement(subject: Features) -> Phrase:
        if subject.plural:
            return say(noun.en_plural, noun.fr_plural, "profession")
        return say(f"a {noun.en}", noun.fr, "profession")

    return complement


def passive(verb: Verb, agent: NP) -> Complement:
    """Say what is done to the subject and by whom; goes with ``BE_PASSIVE``."""
    if verb.tail or verb.particle:
        raise ValueError(f"{verb.en!r} has no direct object in both languages, so no passive here")

    def complement(subject: Features) -> Phrase:
        done = participle(verb.infinitive)
        return (say(verb.participle, agree(done, done + "e", subject)) + place("by", agent)).named(
            "passive"
        )

    return complement


def aged(years: str) -> Complement:
    """Say an age, which one *has* in French: she is ten years old; goes with ``AGED``."""

    def complement(subject: Features) -> Phrase:
        return (say(years, NUMERALS[years]) + say("years old", "ans")).named("age")

    return complement


def there_is(np: NP, tense: Tense = "present", *, negation: str = "") -> Clause:
    """Say that something exists: there are, *il y a*, where English alone agrees."""
    bead = Bead()
    there = Phrase(bead("there"), bead("il"), frozenset(["there is"]))
    subject = Nominal(there, Features(), features(np))
    return Clause(subject, THERE, tense, object=np, negation=negation)


def it_is(weather: Verb, tense: Tense = "present") -> Clause:
    """Speak of the weather, whose subject is no thing: it rains."""
    it = say("it", "il", "weather")
    return Clause(Nominal(it, Features(), Features()), weather, tense)
