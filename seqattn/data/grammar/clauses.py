"""Clauses: who does what, said as a statement, a question or a relative clause.

A :class:`Clause` is a plan; the functions say it. Both languages come out of the same plan, so a
pronoun object stands after the English verb and before the French one, and stays one bead.

The second half says what may follow *be*: adjectives, comparisons, professions, ages, participles,
and *there is*. Each of its functions gives a complement, which waits for the subject's features and
agrees with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from seqattn.data.grammar.adverbials import FREQUENCY, join, place
from seqattn.data.grammar.french import agree, participle
from seqattn.data.grammar.lexicon import NUMERALS, VERBS, Adjective, Noun, Verb, verb
from seqattn.data.grammar.noun_phrases import (
    NP,
    Nominal,
    NounPhrase,
    Pronoun,
    features,
    nominal,
    stressed,
)
from seqattn.data.grammar.phrases import SILENCE, Bead, Features, Phrase, also, say
from seqattn.data.grammar.verb_groups import (
    Clitic,
    Tense,
    VerbGroup,
    VerbPlan,
    is_compound,
    verb_group,
)

__all__ = [
    "AGED",
    "BE",
    "BE_PASSIVE",
    "Clause",
    "Complement",
    "Degree",
    "aged",
    "comparative",
    "interrogate",
    "it_is",
    "passive",
    "predicate",
    "profession",
    "question",
    "statement",
    "that",
    "there_is",
    "two_verbs",
    "who",
]

Complement = Callable[[Features], Phrase]
Degree = Literal["more", "less", "as"]
GOING = verb("go", "MODAL")
MISS = verb("miss")
BE, THERE, AGED, _ = VERBS["SPECIAL"]
# "was eaten" is an event, "a été mangé"; "was tired" is a state, "était fatigué".
BE_PASSIVE = replace(BE, traits=frozenset(["event"]))


@dataclass(frozen=True, slots=True)
class Clause:
    """Who does what, to what, when and how.

    ``to`` is who receives the object. ``complement`` agrees with the subject ("is tall"), while
    ``adjuncts`` (places, times, clauses with *that*) do not. ``negation`` is "", "not", "never" or
    "no longer"; ``adverb`` one of ``FREQUENCY``; ``modal`` a verb before the verb ("can swim").
    """

    subject: NounPhrase | Nominal
    verb: Verb
    tense: Tense = "present"
    object: NounPhrase | None = None
    to: NounPhrase | None = None
    complement: Complement | None = None
    adjuncts: tuple[Phrase, ...] = ()
    negation: str = ""
    adverb: str = ""
    modal: Verb | None = None

    def having(self, *adjuncts: Phrase) -> Clause:
        """Add places, times and the like at the end."""
        return replace(self, adjuncts=self.adjuncts + adjuncts)


class _Said(NamedTuple):
    """The parts of a clause, before statement or question puts them in order."""

    subject: Phrase
    group: VerbGroup
    rest: Phrase


def statement(clause: Clause, *, antecedent: Features | None = None) -> Phrase:
    """Say a clause as a statement: the cat sleeps, le chat dort."""
    subject, group, rest = _say_parts(clause, antecedent=antecedent)
    return Phrase(
        subject.en + group.auxiliary + group.en + rest.en,
        subject.fr + group.fr + rest.fr,
        subject.names | rest.names,
    )


def question(
    clause: Clause, *, front: Phrase = SILENCE, antecedent: Features | None = None
) -> Phrase:
    """Say a clause as a question with *est-ce que*, which translates the fronted auxiliary.

    ``front`` is a question word or phrase ("what", "how many cats"), ``antecedent`` its features
    where it is the object: combien de pommes est-ce qu'il a mangées ?
    """
    subject, group, rest = _say_parts(clause, antecedent=antecedent, asked=True)
    mark = Bead()
    return Phrase(
        front.en + also(group.auxiliary, mark) + subject.en + group.en + rest.en,
        front.fr + mark("est-ce que") + subject.fr + group.fr + rest.fr,
        front.names | subject.names | rest.names,
    ) + say("?", "?", "question with a question word" if front.en else "yes-no question")


def interrogate(clause: Clause) -> Phrase:
    """Ask for the subject: who sleeps, qui dort. The clause's own subject is replaced."""
    who = Nominal(say("who", "qui"), Features(), Features())
    return statement(replace(clause, subject=who)) + say("?", "?", "question for the subject")


def two_verbs(first: Clause, second: Clause) -> Phrase:
    """Say two clauses of one subject, which is said once: he sings and dances."""
    shared = nominal(first.subject)
    silent = replace(second, subject=shared._replace(phrase=SILENCE))
    return join(statement(first), "and", statement(silent)).named("coordinated verbs")


def who(np: NP, clause: Clause) -> NP:
    """Add a relative clause whose subject is the noun: the cat that sleeps, le chat qui dort."""
    pronoun = say("who" if np.noun.human else "that", "qui", "relative clause with qui")
    subject = Nominal(pronoun, features(np), features(np))
    return replace(np, after=statement(replace(clause, subject=subject)))


def that(np: NP, clause: Clause) -> NP:
    """Add a relative clause whose object is the noun: the book that he reads."""
    if clause.verb.tail or clause.object:
        raise ValueError(
            f"{clause.verb.en!r} leaves no direct object for the relative pronoun to be"
        )
    pronoun = say("that", "que", "relative clause with que")
    return replace(np, after=pronoun + statement(clause, antecedent=features(np)))


def _say_parts(clause: Clause, *, antecedent: Features | None = None, asked: bool = False) -> _Said:
    if clause.verb is MISS:
        return _say_missing(clause, asked=asked)
    subject = nominal(clause.subject)
    verb, rest = clause.verb, SILENCE
    clitics: list[Clitic] = []
    if isinstance(clause.object, Pronoun):
        verb, phrase = _pronoun_object(verb, clause.object, clitics)
        rest += phrase
    elif clause.object:
        direct = not verb.tail
        general = "general" in verb.traits
        rest += nominal(
            clause.object, negated=bool(clause.negation) and direct, general=general
        ).phrase
    if isinstance(clause.to, Pronoun):
        bead, pronoun = Bead(), clause.to
        rest += Phrase(bead(f"to {pronoun.object}"))
        clitics.append(Clitic(pronoun.indirect, bead, pronoun.features, direct=False))
    elif clause.to:
        rest += (say("to", "à") + nominal(clause.to).phrase).named("recipient")
    if clitics:
        rest = rest.named("object pronoun" if len(clitics) == 1 else "two object pronouns")
    if clause.complement:
        rest += clause.complement(subject.features)
    for adjunct in clause.adjuncts:
        rest += adjunct
    group = _group(
        replace(clause, verb=verb), subject.english, subject.features, clitics, antecedent, asked
    )
    return _Said(subject.phrase, group, rest.named(*_names(clause)))


def _pronoun_object(verb: Verb, pronoun: Pronoun, clitics: list[Clitic]) -> tuple[Verb, Phrase]:
    """Put a pronoun object where French wants it, and give the English words.

    Direct: il le voit. With *à*: il lui obéit, where the pronoun swallows the *à*. With *de*: il a
    besoin de lui.
    """
    if verb.tail.endswith("de"):
        return verb, stressed(pronoun)
    bead, indirect = Bead(), verb.tail == "à"
    text = pronoun.indirect if indirect else pronoun.direct
    clitics.append(Clitic(text, bead, pronoun.features, direct=not indirect))
    return replace(verb, tail=""), Phrase(bead(pronoun.object))


def _say_missing(clause: Clause, *, asked: bool) -> _Said:
    """Say that one misses another: who is missed is the French subject (tu me manques)."""
    if clause.object is None:
        raise ValueError("'miss' needs an object: who is missed is the subject in French")
    misser, missed = clause.subject, clause.object
    bead = Bead()
    clitics: list[Clitic] = []
    if isinstance(misser, Pronoun):
        experiencer = Phrase(bead(misser.subject))
        clitics.append(Clitic(misser.indirect, bead, misser.features, direct=False))
        verb = replace(clause.verb, tail="")
    else:
        experiencer, verb = nominal(misser).phrase, clause.verb
    if isinstance(missed, Pronoun):
        absent = say(missed.object, missed.sujet)
    else:
        absent = nominal(missed).phrase
    misser_features = misser.features if isinstance(misser, Nominal) else features(misser)
    group = _group(
        replace(clause, verb=verb), misser_features, features(missed), clitics, None, asked
    )
    rest = Phrase(absent.en, () if clitics else experiencer.fr)
    for adjunct in clause.adjuncts:
        rest += adjunct
    names = (*_names(clause), *experiencer.names, *absent.names, "swapped roles")
    return _Said(Phrase(experiencer.en, absent.fr), group, rest.named(*names))


def _group(
    clause: Clause,
    subject: Features,
    sujet: Features,
    clitics: list[Clitic],
    antecedent: Features | None,
    asked: bool,
) -> VerbGroup:
    return verb_group(
        VerbPlan(
            clause.verb,
            clause.tense,
            subject,
            sujet,
            modal=clause.modal,
            negation=clause.negation,
            adverb=(clause.adverb, FREQUENCY[clause.adverb]) if clause.adverb else None,
            clitics=tuple(clitics),
            antecedent=antecedent,
            question=asked,
        )
    )


def _names(clause: Clause) -> list[str]:
    """List the constructions that the verb group shows."""
    finite = clause.modal or clause.verb
    names = {
        "not": ["negation"],
        "never": ["negative adverb"],
        "no longer": ["negative adverb"],
        "": [],
    }[clause.negation][:]
    if clause.modal:
        names.append("near future" if clause.modal is GOING else "modal verb")
    elif clause.tense == "progressive":
        names.append("progressive")
    if is_compound(finite, clause.tense):
        names.append("passé composé with " + ("être" if finite.with_etre else "avoir"))
    elif clause.tense in ("past", "past progressive"):
        names.append("imparfait")
    elif clause.tense == "future":
        names.append("future")
    if clause.verb.clitic == "se":
        names.append("reflexive verb")
    if clause.adverb:
        names.append("adverb of frequency")
    return names


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
