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

__all__ = ["NEGATIONS", "Clitic", "Tense", "VerbGroup", "VerbPlan", "is_compound", "verb_group"]

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


@dataclass(frozen=True, slots=True)
class VerbPlan:
    """What is to be said with a verb.

    ``subject`` is what the English verb agrees with and ``sujet`` the French one: they differ in
    "there are" (il y a) and "i miss you" (tu me manques). ``adverb`` is an adverb of frequency in
    both languages. ``antecedent`` is the noun of a relative clause whose object it is: la pomme
    qu'il a mangée.
    """

    verb: Verb
    tense: Tense
    subject: Features
    sujet: Features
    modal: Verb | None = None
    negation: str = ""
    adverb: tuple[str, str] | None = None
    clitics: tuple[Clitic, ...] = ()
    antecedent: Features | None = None
    question: bool = False

    @property
    def finite(self) -> Verb:
        """The verb that bears the tense."""
        return self.modal or self.verb


class VerbGroup(NamedTuple):
    """The verb with all that clings to it; ``auxiliary`` is what an English question moves."""

    auxiliary: Words
    en: Words
    fr: Words


class _Beads(NamedTuple):
    """The pieces of meaning: the act, its auxiliary, not, how often, and the act after a modal."""

    act: Bead
    aux: Bead
    not_: Bead
    how_often: Bead
    then: Bead


def is_compound(verb: Verb, tense: Tense) -> bool:
    """Say whether French uses the *passé composé*."""
    return tense == "perfect" or (tense == "past" and "state" not in verb.traits)


def verb_group(plan: VerbPlan) -> VerbGroup:
    """Say a verb in both languages."""
    act = Bead()
    # A compound tense has a bead for its auxiliary; a simple one says everything on one.
    aux = Bead() if is_compound(plan.finite, plan.tense) else act
    beads = _Beads(act, aux, Bead(), Bead(), Bead())
    auxiliary, en = _english_side(plan, beads)
    return VerbGroup(auxiliary, en, _french_side(plan, beads))


def _english_side(plan: VerbPlan, beads: _Beads) -> tuple[Words, Words]:
    """Say the auxiliary, and the rest: not, adverb, verb, particle, infinitive."""
    act, aux, not_, how_often, then = beads
    helper, main = _english_forms(plan)
    auxiliary = aux(helper) if main else _on_both(helper, act, aux)
    en = not_(plan.negation)
    if helper == "can" and plan.negation == "not" and not plan.question:
        auxiliary, en = _on_both("cannot", act, not_), ()
    if plan.adverb:
        en += how_often(plan.adverb[0])
    en += (act(main) if helper else _on_both(main, act, aux)) + act(plan.finite.particle)
    if plan.modal:
        en += (() if "bare" in plan.modal.traits else then("to")) + then(plan.verb.en)
    return auxiliary, en


def _french_side(plan: VerbPlan, beads: _Beads) -> Words:
    """Say *ne*, pronouns, finite verb, *pas*, adverb, participle; after a modal, the infinitive."""
    act, aux, not_, how_often, then = beads
    finite, sujet = plan.finite, plan.sujet
    middle: Words = not_(NEGATIONS[plan.negation]) if plan.negation else ()
    if plan.adverb:
        middle += how_often(plan.adverb[1])
    if is_compound(finite, plan.tense):
        infinitive = "être" if finite.with_etre else "avoir"
        fr = aux(conjugate(infinitive, "présent", sujet.person, sujet.plural))
        fr += middle + act(_participle(plan))
    else:
        tense = SIMPLE.get(plan.tense, "imparfait")
        fr = act(conjugate(finite.infinitive, tense, sujet.person, sujet.plural)) + middle
    fr += act(finite.tail)

    clitics = plan.clitics
    if plan.verb.clitic:
        clitics += (_bound_clitic(plan.verb, then if plan.modal else act, sujet),)
    if plan.modal:
        fr += _in_order(clitics) + then(f"{plan.verb.infinitive} {plan.verb.tail}")
    else:
        fr = _in_order(clitics) + fr
    return (not_("ne") if plan.negation else ()) + fr


def _participle(plan: VerbPlan) -> str:
    """Make the participle agree: with être, the subject; with avoir, an object that precedes."""
    preceding = [clitic.features for clitic in plan.clitics if clitic.direct]
    if plan.antecedent:
        preceding.append(plan.antecedent)
    if plan.finite.with_etre:
        agreeing = plan.sujet
    elif plan.modal or not preceding:
        agreeing = Features()
    else:
        agreeing = preceding[0]
    done = participle(plan.finite.infinitive)
    return agree(done, done + "e", agreeing)


def _on_both(text: str, first: Bead, second: Bead) -> Words:
    words = first(text)
    return words if first is second else also(words, second)


def _bound_clitic(verb: Verb, bead: Bead, sujet: Features) -> Clitic:
    text = REFLEXIVE[sujet.person, sujet.plural] if verb.clitic == "se" else verb.clitic
    return Clitic(text, bead, sujet, direct=False)


def _in_order(clitics: tuple[Clitic, ...]) -> Words:
    ordered = sorted(clitics, key=lambda clitic: RANK[clitic.text])
    return tuple(word for clitic in ordered for word in clitic.bead(clitic.text))


def _english_forms(plan: VerbPlan) -> tuple[str, str]:
    """Give the auxiliary ("" if none) and the main verb ("" if the auxiliary is all there is)."""
    verb, subject, was = plan.finite, plan.subject, plan.tense.startswith("past")
    if "bare" in verb.traits:
        return verb.base, ""
    match plan.tense:
        case "progressive" | "past progressive":
            return english.be(subject, was=was), english.gerund(verb.base)
        case "perfect":
            return english.have(subject), verb.participle
        case "future":
            return "will", verb.base
    if verb.base == "be":
        return english.be(subject, was=was), ""
    if plan.question or plan.negation == "not":
        return ("did" if was else english.do(subject)), verb.base
    return "", verb.past if was else english.present(verb.base, subject)
