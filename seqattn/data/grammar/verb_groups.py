"""Verb groups: tense, negation, adverbs, clitic pronouns, modals, and participles that agree.

=================  ======================  ======================  ==========================
tense              English                 French                  aligned
=================  ======================  ======================  ==========================
present            eats, does (not) eat    mange                   1–1, 2–1
progressive        is eating               mange                   2–1
past               ate                     a mangé                 1–2
(with *did*)       did (not) eat           a mangé                 did–a, eat–mangé
past, of a state   wanted, did (not) want  voulait                 1–1, 2–1
past progressive   was eating              mangeait                2–1
perfect            has eaten               a mangé                 has–a, eaten–mangé
future             will eat                mangera                 2–1
=================  ======================  ======================  ==========================
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from seqattn.data.grammar import english
from seqattn.data.grammar.french import Simple, agree, conjugate, participle
from seqattn.data.grammar.lexicon import Verb
from seqattn.data.grammar.phrases import Bead, Features, Words, also

__all__ = ["NEGATIONS", "Clitic", "Tense", "VerbGroup", "is_compound", "verb_group"]

Tense = Literal["present", "progressive", "past", "past progressive", "perfect", "future"]

SIMPLE: dict[Tense, Simple] = {
    "present": "présent",
    "progressive": "présent",
    "past progressive": "imparfait",
    "future": "futur",
}
NEGATIONS = {"not": "pas", "never": "jamais", "no longer": "plus"}
REFLEXIVE = {
    (1, False): "me",
    (2, False): "te",
    (3, False): "se",
    (1, True): "nous",
    (3, True): "se",
}
# The fixed order of the pronouns before a French verb: il me le donne, il le lui donne.
RANK = {
    **dict.fromkeys(["me", "te", "se", "nous"], 0),
    **dict.fromkeys(["le", "la", "les"], 1),
    **dict.fromkeys(["lui", "leur"], 2),
    "y": 3,
}


@dataclass(frozen=True, slots=True)
class Clitic:
    """A pronoun before the French verb; ``direct`` pronouns make the participle agree."""

    text: str
    bead: Bead
    features: Features
    direct: bool


class VerbGroup(NamedTuple):
    """The verb with all that clings to it; ``auxiliary`` is what an English question moves."""

    auxiliary: Words
    en: Words
    fr: Words


def is_compound(verb: Verb, tense: Tense) -> bool:
    """Say whether French uses the *passé composé*."""
    return tense == "perfect" or (tense == "past" and "state" not in verb.traits)


def verb_group(
    verb: Verb,
    tense: Tense,
    subject: Features,
    sujet: Features,
    *,
    modal: Verb | None = None,
    negation: str = "",
    adverb: tuple[str, str] | None = None,
    clitics: tuple[Clitic, ...] = (),
    antecedent: Features | None = None,
    question: bool = False,
) -> VerbGroup:
    """Say a verb in both languages.

    ``subject`` is what the English verb agrees with and ``sujet`` the French one: they differ in
    "there are" (il y a) and "i miss you" (tu me manques). ``adverb`` is an adverb of frequency in
    both languages. ``antecedent`` is the noun of a relative clause whose object it is: la pomme
    qu'il a mangée.
    """
    finite = modal or verb
    compound = is_compound(finite, tense)
    act, not_, how_often = Bead(), Bead(), Bead()
    # A compound tense has a bead for its auxiliary; a simple one says everything on one.
    aux = Bead() if compound else act

    helper, main = _english_forms(finite, tense, subject, support=question or negation == "not")
    auxiliary = aux(helper) if main else _on_both(helper, act, aux)
    en = not_(negation)
    if helper == "can" and negation == "not" and not question:
        auxiliary, en = _on_both("cannot", act, not_), ()
    if adverb:
        en += how_often(adverb[0])
    en += (act(main) if helper else _on_both(main, act, aux)) + act(finite.particle)

    preceding = [clitic.features for clitic in clitics if clitic.direct]
    if antecedent:
        preceding.append(antecedent)
    middle = not_(NEGATIONS[negation]) if negation else ()
    if adverb:
        middle += how_often(adverb[1])
    if finite.clitic:
        clitics += (_bound_clitic(finite, act, sujet),)
    if compound:
        agreeing = sujet if finite.with_etre else preceding[0] if preceding else Features()
        done = participle(finite.infinitive)
        fr = aux(_auxiliary(finite, sujet)) + middle
        fr += act(agree(done, done + "e", Features() if modal else agreeing))
    else:
        simple = SIMPLE.get(tense, "imparfait")
        fr = act(conjugate(finite.infinitive, simple, sujet.person, sujet.plural)) + middle
    fr += act(finite.tail)

    if modal:
        then = Bead()
        en += (() if "bare" in modal.traits else then("to")) + then(verb.en)
        if verb.clitic:
            clitics += (_bound_clitic(verb, then, sujet),)
        fr += _in_order(clitics) + then(f"{verb.infinitive} {verb.tail}")
    else:
        fr = _in_order(clitics) + fr
    return VerbGroup(auxiliary, en, (not_("ne") if negation else ()) + fr)


def _on_both(text: str, first: Bead, second: Bead) -> Words:
    words = first(text)
    return words if first is second else also(words, second)


def _auxiliary(verb: Verb, sujet: Features) -> str:
    infinitive = "être" if verb.with_etre else "avoir"
    return conjugate(infinitive, "présent", sujet.person, sujet.plural)


def _bound_clitic(verb: Verb, bead: Bead, sujet: Features) -> Clitic:
    text = REFLEXIVE[sujet.person, sujet.plural] if verb.clitic == "se" else verb.clitic
    return Clitic(text, bead, sujet, direct=False)


def _in_order(clitics: tuple[Clitic, ...]) -> Words:
    ordered = sorted(clitics, key=lambda clitic: RANK[clitic.text])
    return tuple(word for clitic in ordered for word in clitic.bead(clitic.text))


def _english_forms(
    verb: Verb, tense: Tense, subject: Features, *, support: bool
) -> tuple[str, str]:
    """Give the auxiliary ("" if none) and the main verb ("" if the auxiliary is all there is)."""
    base = verb.base
    if "bare" in verb.traits:
        return base, ""
    match tense:
        case "progressive" | "past progressive":
            return english.be(subject, was=tense != "progressive"), english.gerund(base)
        case "perfect":
            return english.have(subject), verb.participle
        case "future":
            return "will", base
    if base == "be":
        return english.be(subject, was=tense == "past"), ""
    if support:
        return ("did" if tense == "past" else english.do(subject)), base
    return "", verb.past if tense == "past" else english.present(base, subject)
