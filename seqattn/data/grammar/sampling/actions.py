"""Random deeds: who does what, to what, to whom, and where."""

from collections.abc import Callable
from random import Random

from seqattn.data.grammar.adverbials import manner, place
from seqattn.data.grammar.clauses import Clause
from seqattn.data.grammar.lexicon import nouns_of
from seqattn.data.grammar.noun_phrases import NP, NounPhrase, features
from seqattn.data.grammar.phrases import Phrase
from seqattn.data.grammar.sampling.nouns import (
    DEFINITE,
    HUMAN,
    OBJECT,
    PLACE,
    SUBJECT,
    chance,
    listing,
    noun_phrase,
    object_pronoun,
)
from seqattn.data.grammar.sampling.scenes import (
    ANIMATE,
    PLACES,
    Frame,
    Scene,
    choose_act,
    choose_where,
    same_noun,
)

__all__ = ["ACTIONS", "giving", "intransitive", "motion", "pronoun_object", "transitive"]

MANNERS = ("slowly", "quickly", "quietly")


def intransitive(rng: Random, scene: Scene) -> Clause | None:
    """Fill: she sings with him; the cat sits on the mat."""
    act = choose_act(rng, "INTRANSITIVE", scene)
    if act is None:
        return None
    subject, verb = act
    options: dict[str, tuple[float, Callable[[], Phrase]]] = {
        "sits": (0.9, lambda: choose_where(rng, {"on": frozenset(["seat"])})),
        "lives": (
            1.0,
            lambda: choose_where(rng, {"in": frozenset(["home"]), "near": PLACES["near"]}),
        ),
        "behind": (0.6, lambda: choose_where(rng, {"behind": PLACES["behind"]})),
        "on": (0.25, lambda: choose_where(rng, {"on": frozenset(["seat"])})),
        "with": (0.22, lambda: place("with", _companion(rng, subject))),
        "slowly": (0.2, lambda: manner(rng.choice(MANNERS))),
        "place": (0.35, lambda: choose_where(rng, PLACES)),
    }
    for trait, (probability, adjunct) in options.items():
        if trait in verb.traits and chance(rng, probability):
            return Clause(subject, verb, adjuncts=(adjunct(),))
    if "with" in verb.traits and features(subject).plural and chance(rng, 0.3):
        return Clause(subject, verb, adjuncts=(manner("together"),))
    return Clause(subject, verb)


def _companion(rng: Random, subject: NounPhrase) -> NounPhrase:
    if chance(rng, 0.4):
        return object_pronoun(rng, subject, human=True, things=False)
    return noun_phrase(rng, HUMAN, SUBJECT)


def transitive(rng: Random, scene: Scene) -> Clause | None:
    """Fill: the girl eats a red apple; cats like milk; he plays the piano."""
    act = choose_act(rng, "TRANSITIVE", scene)
    if act is None:
        return None
    subject, verb = act
    if "general" in verb.traits:
        tag = rng.choice(sorted(verb.objects))
        kind = rng.choice(nouns_of(frozenset([tag])))
        return Clause(
            subject, verb, object=NP(kind, rng.choice(("", "", "this")), plural=kind.countable)
        )
    if verb.en == "play":
        return Clause(subject, verb, object=NP(rng.choice(nouns_of(verb.objects))))
    definite = verb.en == "be afraid of"
    if not (definite or scene.negated) and chance(rng, 0.04):
        several = listing(rng, verb.objects, 2 + chance(rng, 0.4))
        return Clause(subject, verb, object=several) if several else None
    style = DEFINITE if definite else OBJECT
    thing = noun_phrase(rng, verb.objects, style, negated=scene.negated)
    return None if same_noun(subject, thing) else Clause(subject, verb, object=thing)


def pronoun_object(rng: Random, scene: Scene) -> Clause | None:
    """Fill: i see him, je le vois; they obey her, ils lui obéissent."""
    act = choose_act(rng, "TRANSITIVE", scene)
    if act is None:
        return None
    subject, verb = act
    human, things = bool(verb.objects & HUMAN), not verb.objects <= ANIMATE and not verb.tail
    if not human and not (things and scene.fresh):
        return None
    return Clause(
        subject,
        verb,
        object=object_pronoun(rng, subject, human=human, things=things, them=scene.fresh),
    )


def giving(rng: Random, scene: Scene) -> Clause | None:
    """Fill: he gives a book to the girl; she shows it to them, elle le leur montre."""
    act = choose_act(rng, "DATIVE", scene)
    if act is None:
        return None
    subject, verb = act
    gift: NounPhrase = noun_phrase(rng, verb.objects, OBJECT, negated=scene.negated)
    if scene.fresh and chance(rng, 0.55):
        gift = object_pronoun(rng, subject, human=False, things=True, them=True)
    recipient: NounPhrase = noun_phrase(rng, HUMAN, DEFINITE)
    if chance(rng, 0.5):
        recipient = object_pronoun(rng, subject, human=True, things=False, them=scene.fresh)
    if same_noun(subject, recipient) or gift is recipient:
        return None
    return Clause(subject, verb, object=gift, to=recipient)


def motion(rng: Random, scene: Scene) -> Clause | None:
    """Fill: she goes to the market, elle va au marché."""
    act = choose_act(rng, "MOTION", scene)
    if act is None:
        return None
    subject, verb = act
    goal = noun_phrase(rng, frozenset(["goal"]), PLACE)
    return Clause(subject, verb, adjuncts=(place("at" if verb.en == "arrive" else "to", goal),))


# Frames and how often each is chosen; all that a dependent clause needs.
ACTIONS: dict[Frame, int] = {
    intransitive: 4,
    transitive: 4,
    pronoun_object: 1,
    giving: 1,
    motion: 1,
}
