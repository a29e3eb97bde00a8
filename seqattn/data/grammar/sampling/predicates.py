"""Random actions and states: the frames that a clause is made from.

Actions say who does what, to what, to whom, and where; states what someone or something is, has, or
feels, where it is, and what befell it.
"""

from collections.abc import Callable
from random import Random

from seqattn.data.grammar.adverbials import manner, place
from seqattn.data.grammar.clauses import (
    AGED,
    BE,
    BE_PASSIVE,
    MISS,
    Clause,
    Degree,
    aged,
    comparative,
    it_is,
    passive,
    predicate,
    profession,
    there_is,
)
from seqattn.data.grammar.lexicon import (
    ADJECTIVES,
    NUMERALS,
    VERBS,
    Adjective,
    adjectives_for,
    nouns_of,
)
from seqattn.data.grammar.noun_phrases import NP, Listing, NounPhrase, features
from seqattn.data.grammar.phrases import Phrase
from seqattn.data.grammar.sampling.nouns import (
    ANIMATE,
    DEFINITE,
    HUMAN,
    OBJECT,
    PLACE,
    PLACES,
    SUBJECT,
    THING_PLACES,
    TOPIC,
    Frame,
    Scene,
    chance,
    choose_act,
    choose_subject,
    choose_where,
    kind_of,
    listing,
    noun_phrase,
    object_pronoun,
    same_noun,
    subject_phrase,
)

__all__ = [
    "ACTIONS",
    "FEELINGS",
    "LASTING",
    "STATES",
    "UNCHANGING",
    "description",
    "giving",
    "intransitive",
    "motion",
    "pronoun_object",
    "transitive",
    "weather",
]

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


THINGS = frozenset(["thing", "clothes", "readable"])
# Who may be between two and twelve years old.
YOUNG = frozenset(["young", "pet", "brother", "sister", "cousin"])


def description(rng: Random, scene: Scene) -> Clause | None:
    """Fill: the queen is (very) happy."""
    subject = scene.subject
    if subject is None:
        adj = rng.choice([adj for adj in ADJECTIVES if adj.predicate_tags])
        subject = _described(rng, adj, scene)
    else:
        candidates = _predicates(subject)
        if not candidates:
            return None
        adj = rng.choice(candidates)
    return Clause(subject, BE, complement=predicate(adj, very=chance(rng, 0.2)))


def _predicates(subject: NounPhrase) -> list[Adjective]:
    if isinstance(subject, NP) and "name" not in subject.noun.tags:
        return list(adjectives_for(subject.noun, predicate=True))
    return [adj for adj in ADJECTIVES if "person" in adj.predicate_tags]


def _described(rng: Random, adj: Adjective, scene: Scene) -> NounPhrase:
    if "person" in adj.predicate_tags and chance(rng, 0.6):
        return subject_phrase(rng, HUMAN, fresh=scene.fresh, negated=scene.negated)
    return noun_phrase(rng, adj.predicate_tags, TOPIC)


def comparison(rng: Random, scene: Scene) -> Clause | None:
    """Fill: the queen is taller than the king."""
    if scene.subject is not None:
        candidates = [adj for adj in _predicates(scene.subject) if adj.comparative]
        subject = scene.subject
        if not candidates:
            return None
        adj = rng.choice(candidates)
    else:
        adj = rng.choice([adj for adj in ADJECTIVES if adj.comparative])
        subject = _described(rng, adj, scene)
    kind = kind_of(subject)
    if kind & HUMAN and chance(rng, 0.3):
        than: NounPhrase = object_pronoun(rng, subject, human=True, things=False, them=scene.fresh)
    else:
        comparable = kind & HUMAN or kind & adj.predicate_tags
        than = noun_phrase(rng, comparable, DEFINITE)
        if same_noun(subject, than):
            return None
    # "less big" is no English: one says "smaller".
    lesser: Degree = "less" if adj.comparative.startswith("more") else "more"
    degree: Degree = rng.choice(("more", "more", "more", "as", lesser))
    return Clause(subject, BE, complement=comparative(adj, than, degree))


def location(rng: Random, scene: Scene) -> Clause | None:
    """Fill: the key is under the table; she is at the market."""
    if scene.subject is not None and not kind_of(scene.subject) & ANIMATE:
        return None
    if scene.subject is None and chance(rng, 0.45):
        thing = noun_phrase(rng, THINGS, SUBJECT)
        return Clause(thing, BE, adjuncts=(choose_where(rng, THING_PLACES),))
    subject = choose_subject(rng, ANIMATE, scene)
    places = PLACES | {"on": frozenset(["seat"]), "under": frozenset(["under"])}
    return Clause(subject, BE, adjuncts=(choose_where(rng, places),))


def idiom(rng: Random, scene: Scene) -> Clause | None:
    """Fill: the boy is hungry, le garçon a faim."""
    act = choose_act(rng, "IDIOMS", scene)
    return Clause(*act) if act else None


def age(rng: Random, scene: Scene) -> Clause | None:
    """Fill: she is ten years old, elle a dix ans."""
    if chance(rng, 0.5) and scene.subject is None:
        subject: NounPhrase = noun_phrase(rng, YOUNG, TOPIC)
    else:
        subject = choose_subject(rng, HUMAN, scene)
    if isinstance(subject, Listing) or not kind_of(subject) & (YOUNG | {"pronoun", "name"}):
        return None
    years = aged(rng.choice(tuple(NUMERALS)))
    return Clause(subject, AGED, complement=years)


def trade(rng: Random, scene: Scene) -> Clause | None:
    """Fill: my aunt is a singer, ma tante est chanteuse."""
    if scene.subject is not None and not kind_of(scene.subject) & HUMAN:
        return None
    subject = choose_subject(rng, frozenset(["kin"]), scene)
    feminine = features(subject).feminine
    trades = [job for job in nouns_of(frozenset(["work"])) if job.feminine == feminine]
    job = rng.choice(trades)
    if isinstance(subject, NP) and "work" in subject.noun.tags:
        return None
    return Clause(subject, BE, complement=profession(job))


def undergoing(rng: Random, scene: Scene) -> Clause | None:
    """Fill: the letter was written by the queen, la lettre a été écrite par la reine."""
    candidates = [
        verb
        for verb in VERBS["TRANSITIVE"]
        if not (verb.tail or verb.particle or "state" in verb.traits)
    ]
    if scene.subject is not None:
        candidates = [verb for verb in candidates if verb.objects & kind_of(scene.subject)]
        if not candidates:
            return None
    verb = rng.choice(candidates)
    subject = scene.subject or noun_phrase(rng, verb.objects, SUBJECT)
    agents = verb.subjects & HUMAN or verb.subjects
    agent = noun_phrase(rng, agents, SUBJECT)
    if same_noun(subject, agent):
        return None
    return Clause(subject, BE_PASSIVE, complement=passive(verb, agent))


def existence(rng: Random, scene: Scene) -> Clause | None:
    """Fill: there are three cats in the garden, il y a trois chats dans le jardin."""
    if scene.subject is not None:
        return None
    things = chance(rng, 0.4)
    tags = THINGS | {"food", "fare", "drink"} if things else frozenset(["animal", "person"])
    thing = noun_phrase(
        rng, tags, OBJECT._replace(owned=0.0, indefinite=1.0), negated=scene.negated
    )
    if thing.det in ("the", "this", ""):
        return None
    clause = there_is(thing)
    if thing.noun.countable:
        return clause.having(choose_where(rng, THING_PLACES if things else PLACES))
    return clause.having(
        choose_where(rng, {"on": frozenset(["table"]), "in": frozenset(["kitchen"])})
    )


def weather(rng: Random, scene: Scene) -> Clause | None:
    """Fill: it is raining, il pleut."""
    return None if scene.subject else it_is(rng.choice(VERBS["WEATHER"]))


def missing(rng: Random, scene: Scene) -> Clause | None:
    """Fill: i miss you, tu me manques."""
    if scene.subject is not None and not kind_of(scene.subject) & HUMAN:
        return None
    subject = choose_subject(rng, MISS.subjects, scene)
    if chance(rng, 0.5):
        missed: NounPhrase = object_pronoun(
            rng, subject, human=True, things=False, them=scene.fresh
        )
    else:
        missed = noun_phrase(rng, MISS.objects, DEFINITE)
    return Clause(subject, MISS, object=missed)


# Frames and how often each is chosen. The first four tell how someone is, and may explain a deed.
FEELINGS: dict[Frame, int] = {description: 12, idiom: 9, location: 4, age: 3}
STATES: dict[Frame, int] = FEELINGS | {
    description: 14,
    comparison: 7,
    location: 9,
    idiom: 6,
    trade: 3,
    undergoing: 6,
    existence: 7,
    weather: 2,
    missing: 4,
}
# Frames that no adverb or time goes with, and of those the ones that "never" does not go with.
UNCHANGING = (comparison, age, trade, missing, existence)
LASTING = (comparison, age, trade)
