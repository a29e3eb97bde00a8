"""What is settled before a random clause is filled, and where its people and things may be."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from seqattn.data.grammar.adverbials import place
from seqattn.data.grammar.clauses import Clause
from seqattn.data.grammar.lexicon import VERBS, Verb
from seqattn.data.grammar.noun_phrases import NP, Nominal, NounPhrase, Pronoun
from seqattn.data.grammar.phrases import Phrase
from seqattn.data.grammar.sampling.nouns import HUMAN, PLACE, noun_phrase, subject_phrase

__all__ = [
    "ANIMATE",
    "PLACES",
    "THING_PLACES",
    "Frame",
    "Scene",
    "choose_act",
    "choose_subject",
    "choose_where",
    "doer",
    "kind_of",
    "same_noun",
]

ANIMATE = HUMAN | {"animal"}
PLACES = {  # preposition: the nouns it goes with
    "in": frozenset(["inside"]),
    "at": frozenset(["goal"]),
    "near": frozenset(["near"]),
    "next to": frozenset(["near"]),
    "in front of": frozenset(["near"]),
    "behind": frozenset(["near", "plant"]),
}
THING_PLACES = {
    "in": frozenset(["kitchen", "bedroom", "garden", "box", "bag", "basket"]),
    "on": frozenset(["surface"]),
    "under": frozenset(["under"]),
}


class Scene(NamedTuple):
    """What is settled before a frame is filled.

    ``subject`` is who does it, if the sentence has said so already; ``fresh``: no noun has been
    named yet; ``negated``: the verb will be; ``deeds``: the English verbs that fit, if not any.
    """

    subject: NounPhrase | None = None
    fresh: bool = True
    negated: bool = False
    deeds: tuple[str, ...] = ()


# A frame gives None where the scene's subject cannot do such a thing (tables do not sleep) or the
# draw made no sense; the caller then tries another.
Frame = Callable[[Random, Scene], Clause | None]


def kind_of(subject: NounPhrase | Nominal) -> frozenset[str]:
    """List the tags that decide what a subject can do; pronouns, names and lists are people."""
    match subject:
        case Nominal():
            return frozenset()
        case NP() if "name" in subject.noun.tags:
            return HUMAN | {"name"}
        case NP():
            return subject.noun.tags
        case Pronoun():
            return HUMAN | {"pronoun"}
        case _:
            return HUMAN


def doer(said: Clause) -> NounPhrase:
    """Give the subject of a clause that is still a plan, as random clauses are."""
    if isinstance(said.subject, Nominal):
        raise TypeError("the subject has been said already; expected a noun phrase or pronoun")
    return said.subject


def choose_act(rng: Random, table: str, scene: Scene) -> tuple[NounPhrase, Verb] | None:
    """Choose a verb from a table, and who does it."""
    verbs = VERBS[table]
    if scene.deeds:
        verbs = tuple(verb for verb in verbs if verb.en in scene.deeds)
    if scene.subject is not None:
        kind = kind_of(scene.subject)
        verbs = tuple(verb for verb in verbs if verb.subjects & kind)
    if not verbs:
        return None
    verb = rng.choice(verbs)
    return choose_subject(rng, verb.subjects, scene), verb


def choose_subject(rng: Random, tags: frozenset[str], scene: Scene) -> NounPhrase:
    """Take the scene's subject, or choose one."""
    if scene.subject is not None:
        return scene.subject
    return subject_phrase(rng, tags, fresh=scene.fresh, negated=scene.negated)


def choose_where(rng: Random, places: dict[str, frozenset[str]]) -> Phrase:
    """Choose a preposition and a place that goes with it."""
    preposition = rng.choice(tuple(places))
    return place(preposition, noun_phrase(rng, places[preposition], PLACE))


def same_noun(one: NounPhrase, other: NounPhrase | None) -> bool:
    """Say whether two phrases name the same noun: a pirate does not save "the pirate"."""
    return isinstance(one, NP) and isinstance(other, NP) and one.noun is other.noun
