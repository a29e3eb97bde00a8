"""Random noun phrases that make sense: what is eaten is food, what is worn is clothes.

And what is settled before a random clause is filled: who does it, and where people and things may
be.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from seqattn.data.grammar.adverbials import place
from seqattn.data.grammar.clauses import Clause
from seqattn.data.grammar.lexicon import (
    NAMES,
    VERBS,
    Adjective,
    Noun,
    Verb,
    adjectives_for,
    noun,
    nouns_of,
)
from seqattn.data.grammar.noun_phrases import (
    NP,
    POSSESSIVES,
    PRONOUNS,
    Listing,
    Nominal,
    NounPhrase,
    Pronoun,
    features,
)
from seqattn.data.grammar.phrases import Phrase

__all__ = [
    "ANIMATE",
    "DEFINITE",
    "HUMAN",
    "OBJECT",
    "PLACE",
    "PLACES",
    "SUBJECT",
    "THING_PLACES",
    "TOPIC",
    "Frame",
    "Scene",
    "chance",
    "choose_act",
    "choose_subject",
    "choose_where",
    "doer",
    "kind_of",
    "listing",
    "noun_phrase",
    "object_pronoun",
    "same_noun",
    "subject_phrase",
]

HUMAN = frozenset(["person", "kin"])
OWNED = frozenset(
    [
        "thing",
        "clothes",
        "readable",
        "instrument",
        "vehicle",
        "pet",
        "kin",
        "food",
        "bedroom",
        "house",
        "garden",
        "kitchen",
    ]
)
NUMBERS = ("two", "three", "four", "five", "six", "seven", "ten", "twelve")
HELD = {
    "cup": ("tea", "coffee"),
    "glass": ("water", "milk", "juice", "wine"),
    "bottle": ("water", "juice", "wine"),
}


class Style(NamedTuple):
    """How often a noun phrase is owned, indefinite, plural, described; and may it be bare."""

    owned: float
    indefinite: float
    plural: float = 0.25
    described: float = 0.24
    bare: bool = True


SUBJECT = Style(owned=0.1, indefinite=0.12, bare=False)
OBJECT = Style(owned=0.2, indefinite=0.32)
DEFINITE = Style(owned=0.2, indefinite=0.0, bare=False)
PLACE = Style(owned=0.08, indefinite=0.08, plural=0.03, described=0.12, bare=False)
# What is described by the sentence needs no adjective beside it.
TOPIC = Style(owned=0.1, indefinite=0.0, described=0.0, bare=False)
# Of two adjectives these come last in English: a big red ball.
CLOSEST = frozenset(
    [
        "red",
        "blue",
        "green",
        "yellow",
        "black",
        "white",
        "grey",
        "wild",
        "french",
        "english",
        "magic",
        "round",
    ]
)


def chance(rng: Random, probability: float) -> bool:
    """Toss a coin."""
    return rng.random() < probability


def subject_phrase(
    rng: Random, tags: frozenset[str], *, fresh: bool = True, negated: bool = False
) -> NounPhrase:
    """Choose who does it.

    ``fresh``: nothing has been named before, so "they" can only be *ils*. Later in a sentence it
    would take the gender of what it stands for, and is left to those who know what that is.
    ``negated``: they do not do it, which must not leave open whether "all" or only "some" do not.
    """
    style = DEFINITE if negated else SUBJECT
    human, others = tags & HUMAN, tags - HUMAN
    if not human or (others and chance(rng, 0.35)):
        return noun_phrase(rng, others or tags, style)
    kind = rng.random()
    if kind < 0.34 and "person" in human:
        pronouns = ("i", "you", "he", "she", "we", "they")
        return PRONOUNS[rng.choice(pronouns if fresh else pronouns[:-1])]
    if kind < 0.44:
        return NP(rng.choice(NAMES), "")
    if kind < 0.49:
        pair = rng.sample(nouns_of(human), 2)
        return Listing(tuple(NP(item, "my" if "kin" in item.tags else "the") for item in pair))
    return noun_phrase(rng, human, style)


def object_pronoun(
    rng: Random, subject: NounPhrase, *, human: bool, things: bool = False, them: bool = True
) -> Pronoun:
    """Choose a pronoun for the object, but none that would mean the subject itself.

    ``them``: no noun stands before that "them" or "it" could be taken to mean.
    """
    names = ["me", "you", "him", "her", "us"] if human else []
    names += ["it"] * (things and them) + ["them"] * them
    itself = {1: ("me", "us"), 2: ("you",), 3: ()}[features(subject).person]
    chosen = rng.choice([name for name in names if name not in itself])
    return next(pronoun for pronoun in PRONOUNS.values() if pronoun.object == chosen)


def listing(rng: Random, tags: frozenset[str], size: int) -> Listing | None:
    """Choose several different things, if there are so many: a cow, three pigs and the horse."""
    things = [thing for thing in nouns_of(tags) if thing.countable and "only" not in thing.tags]
    if len(things) < size:
        return None
    items: list[NP] = []
    for thing in rng.sample(things, size):
        if "kin" in thing.tags:
            items.append(NP(thing, "my"))
        elif chance(rng, 0.3):
            items.append(NP(thing, "", plural=True, number=rng.choice(NUMBERS)))
        else:
            items.append(NP(thing, rng.choice(("a", "the"))))
    return Listing(tuple(items))


def noun_phrase(rng: Random, tags: frozenset[str], style: Style, *, negated: bool = False) -> NP:
    """Choose a noun that has one of the tags, a determiner, and sometimes adjectives.

    ``negated``: it is the object of a negated verb, where English says "any" and not "some".
    """
    thing = rng.choice(nouns_of(tags))
    if "only" in thing.tags:
        return NP(thing, "the")
    adjectives = _adjectives(rng, thing, style.described)
    if not thing.countable:
        vague = ("any",) if negated else ("some",)
        determiners = ("", "", *vague, "the") if style.bare else ("the", "this")
        return NP(thing, rng.choice(determiners), adjectives=adjectives if chance(rng, 0.5) else ())
    several = chance(rng, style.plural)
    if "kin" in thing.tags or (thing.tags & OWNED and chance(rng, style.owned)):
        return _owned(rng, thing, several, adjectives)
    if chance(rng, style.indefinite):
        return _indefinite(rng, thing, several, adjectives, bare=style.bare, negated=negated)
    if several:
        every = ("the",) if style in (DEFINITE, TOPIC) else ("all the",)
        determiner = rng.choice(("the", "the", "the", "the", "this", "number", *every))
        if determiner == "number":
            return NP(thing, "the", True, adjectives, number=rng.choice(NUMBERS))
        return NP(thing, determiner, True, adjectives)
    each = ("every",) if style is SUBJECT else ()
    return NP(thing, rng.choice(("the",) * 12 + ("this", *each)), adjectives=adjectives)


def _owned(rng: Random, thing: Noun, several: bool, adjectives: tuple[Adjective, ...]) -> NP:
    several = several and thing.en not in ("mother", "father")
    if not chance(rng, 0.25):
        return NP(thing, rng.choice(POSSESSIVES), several, adjectives)
    if chance(rng, 0.35):
        return NP(thing, plural=several, adjectives=adjectives, owner=NP(rng.choice(NAMES), ""))
    owner = NP(rng.choice(nouns_of(frozenset(["person"]))))
    return NP(thing, plural=several, adjectives=adjectives, owner=owner)


def _indefinite(
    rng: Random,
    thing: Noun,
    several: bool,
    adjectives: tuple[Adjective, ...],
    *,
    bare: bool,
    negated: bool,
) -> NP:
    if not several:
        if thing.en in HELD and chance(rng, 0.5):
            return NP(thing, "a", of=noun(rng.choice(HELD[thing.en])))
        return NP(thing, "a", adjectives=adjectives)
    if negated:
        return NP(thing, "any", True, adjectives)
    if chance(rng, 0.4):
        return NP(thing, "", True, adjectives, number=rng.choice(NUMBERS))
    return NP(
        thing, rng.choice(("some", "many", "") if bare else ("some", "many")), True, adjectives
    )


def _adjectives(rng: Random, thing: Noun, probability: float) -> tuple[Adjective, ...]:
    candidates = adjectives_for(thing)
    if not candidates or not chance(rng, probability):
        return ()
    before = [adj for adj in candidates if adj.before]
    after = [adj for adj in candidates if adj.en in CLOSEST]
    if before and after and chance(rng, 0.12):
        return rng.choice(before), rng.choice(after)
    return (rng.choice(candidates),)


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
