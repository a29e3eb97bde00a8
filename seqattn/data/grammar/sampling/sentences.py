"""Random sentences: one clause, several that belong together, questions; and of any length."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from seqattn.data.grammar.adverbials import join, lead, time
from seqattn.data.grammar.clauses import (
    BE,
    Clause,
    interrogate,
    predicate,
    question,
    statement,
    two_verbs,
)
from seqattn.data.grammar.french import agree
from seqattn.data.grammar.lexicon import VERBS, Noun, adjective, nouns_of, verb
from seqattn.data.grammar.noun_phrases import NP, PRONOUNS, Nominal, NounPhrase, Pronoun, features
from seqattn.data.grammar.phrases import SILENCE, Features, Phrase, say
from seqattn.data.grammar.sampling.clauses import (
    ANY,
    FUTURE,
    PAST,
    PRESENT,
    Frames,
    clause,
    tells_tense,
    time_for,
    with_relative,
    without_object,
)
from seqattn.data.grammar.sampling.nouns import (
    ANIMATE,
    HUMAN,
    OBJECT,
    chance,
    doer,
    kind_of,
    listing,
    noun_phrase,
    subject_phrase,
)
from seqattn.data.grammar.sampling.predicates import (
    ACTIONS,
    FEELINGS,
    description,
    giving,
    intransitive,
    motion,
    transitive,
    weather,
)
from seqattn.data.grammar.verb_groups import Tense

__all__ = ["sentence", "sentence_of"]

GETTING = [verb(en) for en in ("buy", "find", "take", "steal", "choose")]
USING = [
    verb(en, "TRANSITIVE")
    for en in ["eat", "drink", "read", "wear", "sell", "wash", "break", "open", "repair", "carry"]
]
# Tense of the main clause, tense of the clause with "when".
WHEN_TENSES: tuple[tuple[Tense, Tense], ...] = (
    ("present", "present"),
    ("past progressive", "past"),
)


def sentence(rng: Random) -> Phrase:
    """Choose a sentence of ordinary length."""
    while True:
        (kind,) = rng.choices(tuple(SENTENCES), tuple(SENTENCES.values()))
        phrase = kind(rng)
        if phrase is not None:
            return phrase


def simple(rng: Random) -> Phrase:
    """Say one clause."""
    return statement(clause(rng))


def ask(rng: Random) -> Phrase:
    """Ask a question."""
    (kind,) = rng.choices(tuple(QUESTIONS), tuple(QUESTIONS.values()))
    return kind(rng)


def time_first(rng: Random) -> Phrase:
    """Say: yesterday, the king danced."""
    said = clause(rng, frames=ACTIONS, plain=True)
    return time(time_for(rng, said)) + say(",", ",") + statement(said)


def relative(rng: Random) -> Phrase | None:
    """Say: the cat that ate the mouse sleeps; he reads the book that she wrote."""
    tenses = rng.choice((PRESENT, PAST))
    said = clause(rng, tenses=tenses, plain=True)
    if said.to or isinstance(said.subject, Nominal):
        return None
    described = with_relative(rng, said.object, tenses)
    if described:
        return statement(replace(said, object=described))
    described = with_relative(rng, doer(said), tenses)
    return statement(replace(said, subject=described)) if described else None


def when(rng: Random) -> Phrase:
    """Say: the king was sleeping when the queen arrived."""
    main, dependent = rng.choice(WHEN_TENSES)
    return _joined_deeds(rng, "when", main, dependent)


def while_(rng: Random) -> Phrase:
    """Say: she is singing while the child is sleeping."""
    tense: Tense = rng.choice(("progressive", "past progressive"))
    return _joined_deeds(rng, "while", tense, tense)


def _joined_deeds(rng: Random, conjunction: str, first: Tense, second: Tense) -> Phrase:
    main = clause(rng, tenses=(first,), frames=ACTIONS, plain=True)
    dependent = clause(rng, tenses=(second,), frames=ACTIONS, plain=True, fresh=False)
    if "state" in main.verb.traits | dependent.verb.traits:
        return _joined_deeds(rng, conjunction, first, second)
    return join(statement(main), conjunction, statement(dependent))


def thinking(rng: Random) -> Phrase:
    """Say: my sister thinks that the cat is hungry."""
    think = rng.choice(VERBS["CLAUSAL"])
    speaker = subject_phrase(rng, think.subjects)
    past = think.en in ("say", "think") and chance(rng, 0.25)
    if past:
        # After a past, only the imparfait needs no pluperfect: elle a dit qu'elle était fatiguée.
        thought = _about(rng, speaker, ("past",), FEELINGS)
    elif think.en == "hope" or chance(rng, 0.3):
        thought = _about(rng, speaker, FUTURE, ACTIONS)
    else:
        thought = clause(rng, fresh=False, plain=chance(rng, 0.6))
    main = Clause(speaker, think, "past" if past else "present")
    return join(statement(main), "that", statement(thought))


def two_clauses(rng: Random) -> Phrase | None:
    """Say: the queen sings and the king dances; he is tired, but he works."""
    tenses = rng.choice((PRESENT, PAST))
    first = clause(rng, tenses=tenses, frames=ACTIONS | FEELINGS, plain=True)
    if chance(rng, 0.5) or not kind_of(first.subject) & ANIMATE:
        second = clause(rng, tenses=tenses, plain=True, fresh=False)
        return join(statement(first), "and", statement(second))
    second = _about(rng, doer(first), tenses, ACTIONS | {description: 2})
    if first.verb.en == second.verb.en:
        return None
    return join(statement(first), "but", statement(second), comma=True)


def _about(rng: Random, subject: NounPhrase, tenses: tuple[Tense, ...], frames: Frames) -> Clause:
    """Choose a clause about the same person or animal, named by a pronoun."""
    return with_pronoun(
        clause(rng, tenses=tenses, subject=subject, frames=frames, plain=True, fresh=False)
    )


def two_deeds(rng: Random) -> Phrase | None:
    """Say: the girl runs and jumps, with the subject said once."""
    tenses: tuple[Tense, ...] = (rng.choice(("present", "past")),)
    first = clause(rng, tenses=tenses, frames=ACTIONS, plain=True)
    second = clause(
        rng, tenses=tenses, subject=doer(first), frames=ACTIONS, plain=True, fresh=False
    )
    return None if first.verb.en == second.verb.en else two_verbs(first, second)


def taking_up(rng: Random) -> Phrase | None:
    """Say: she buys an apple and eats it, where the French pronoun has the apple's gender."""
    tense: Tense = rng.choice(("present", "past"))
    get = rng.choice(GETTING)
    thing = noun_phrase(rng, get.objects, OBJECT)
    subject = subject_phrase(rng, get.subjects)
    uses = [
        use
        for use in USING
        if use.subjects & kind_of(subject)
        and use.objects & thing.noun.tags
        and tells_tense(use, tense)
    ]
    if not uses or thing.of or "animal" in thing.noun.tags:
        return None
    first = Clause(subject, get, tense, object=thing)
    second = Clause(subject, rng.choice(uses), tense, object=pronoun_for(thing))
    return two_verbs(first, second).named("pronoun for a noun")


# Why: because, so, if.

# What makes people and animals do things: a state, and the deeds that it explains.
CAUSES = {
    "be hungry": ("eat",),
    "be thirsty": ("drink",),
    "be sleepy": ("sleep", "rest", "sit"),
    "be cold": ("close", "wear", "run"),
    "be hot": ("swim", "drink", "open"),
    "be late": ("hurry", "run", "leave", "drive"),
    "be angry": ("leave", "break", "throw"),
    "tired": ("sleep", "rest", "sit", "stay"),
    "happy": ("sing", "dance", "smile", "laugh", "kiss"),
    "sad": ("cry", "leave", "sing"),
    "sick": ("rest", "stay", "sleep"),
    "lazy": ("sleep", "rest", "stay"),
    "curious": ("follow", "look for", "visit", "watch", "open", "read"),
    "jealous": ("follow", "cry", "steal", "push"),
    "clever": ("find", "learn", "understand", "explain"),
    "brave": ("save", "protect", "chase", "help"),
    "kind": ("help", "give", "offer", "invite", "feed"),
    "rich": ("buy", "build"),
    "poor": ("sell", "steal"),
    "strong": ("carry", "push", "pull"),
    "shy": ("hide", "smile"),
    "funny": ("laugh", "jump"),
}
INDOORS = ("stay", "sleep", "read", "come back", "hurry", "have fun", "work", "leave", "close")
DEEDS: Frames = {intransitive: 4, transitive: 4, giving: 1}
SIMPLE_PAST: tuple[Tense, ...] = ("past",)


def because(rng: Random) -> Phrase:
    """Say: the girl sleeps because she is tired."""
    deeds, states = rng.choice(((PRESENT, PRESENT), (SIMPLE_PAST, PAST), (FUTURE, PRESENT)))
    deed, state = _deed_and_cause(rng, deeds, states)
    return join(statement(deed), "because", statement(with_pronoun(state)))


def so(rng: Random) -> Phrase:
    """Say: the boy is hungry, so he eats an apple."""
    tenses = rng.choice((PRESENT, SIMPLE_PAST))
    deed, state = _deed_and_cause(rng, tenses, tenses, fresh=False)
    return join(statement(state), "so", statement(with_pronoun(deed)), comma=True)


def if_(rng: Random) -> Phrase:
    """Say: if it rains, the boy will stay at the school; if he is tired, he will sleep."""
    tenses: tuple[Tense, ...] = rng.choice((FUTURE, ("present",)))
    if chance(rng, 0.4):
        condition = clause(rng, tenses=("present",), frames={weather: 1}, plain=True)
        result = clause(rng, tenses=tenses, frames=ACTIONS, deeds=INDOORS, plain=True)
    else:
        deed, condition = _deed_and_cause(rng, tenses, ("present",), fresh=False)
        result = with_pronoun(deed)
    return lead("if", statement(condition), statement(result))


def reason_for(rng: Random, deed: Clause, tenses: tuple[Tense, ...]) -> Clause | None:
    """Choose a state that explains a deed, if there is one."""
    states = [state for state, deeds in CAUSES.items() if deed.verb.en in deeds]
    return _state(deed, rng.choice(states), tenses) if states else None


def _deed_and_cause(
    rng: Random, deeds: tuple[Tense, ...], states: tuple[Tense, ...], *, fresh: bool = True
) -> tuple[Clause, Clause]:
    """Choose what someone does and the state that makes them do it, both with the full subject."""
    while True:
        state = rng.choice(tuple(CAUSES))
        deed = clause(rng, tenses=deeds, frames=DEEDS, deeds=CAUSES[state], plain=True, fresh=fresh)
        cause = _state(deed, state, states)
        if cause is not None:
            return deed, cause


def _state(deed: Clause, en: str, tenses: tuple[Tense, ...]) -> Clause | None:
    """Say the state of who did the deed, or ``None`` where it is not said of such a subject."""
    subject = doer(deed)
    tense: Tense = "past" if "past" in tenses else "present"
    if en.startswith("be "):
        idiom = verb(en, "IDIOMS")
        return Clause(subject, idiom, tense) if idiom.subjects & kind_of(subject) else None
    adj = adjective(en)
    if isinstance(subject, NP) and subject.adjectives:
        # The lazy princess need not be called lazy again.
        return None
    if not adj.predicate_tags & kind_of(subject):
        return None
    return Clause(subject, BE, tense, complement=predicate(adj))


def with_pronoun(said: Clause) -> Clause:
    """Take the subject up with a pronoun."""
    return replace(said, subject=pronoun_for(doer(said)))


def pronoun_for(np: NounPhrase) -> Pronoun:
    """Choose the pronoun that takes a noun phrase up, of its gender in French."""
    if isinstance(np, Pronoun):
        return np
    _, plural, feminine = features(np)
    if plural:
        return PRONOUNS["they_f" if feminine else "they"]
    if kind_of(np) & HUMAN:
        return PRONOUNS["she" if feminine else "he"]
    return PRONOUNS["it_f" if feminine else "it"]


# Questions.

# English does not ask "when has he come?".
WHEN = tuple(tense for tense in ANY if tense != "perfect")


def yes_no(rng: Random) -> Phrase:
    """Ask: does the king dance?"""
    return question(clause(rng))


def circumstance(rng: Random) -> Phrase:
    """Ask where, when or why: where did the queen sleep?"""
    word, mot = rng.choice((("where", "où"), ("when", "quand"), ("why", "pourquoi")))
    if word == "why":
        asked = clause(rng, tenses=WHEN, frames=ACTIONS | FEELINGS, plain=True)
        return question(asked, front=say(word, mot))
    frames: Frames = {intransitive: 3, motion: 1} if word == "where" else ACTIONS
    asked = clause(rng, tenses=WHEN, frames=frames, plain=True)
    return question(replace(asked, adjuncts=()), front=say(word, mot))


def for_subject(rng: Random) -> Phrase:
    """Ask: who ate the cake?"""
    return interrogate(clause(rng, subject=PRONOUNS["he"], frames=ACTIONS | FEELINGS, fresh=False))


def for_object(rng: Random) -> Phrase:
    """Ask: what does he eat? which book did she read?"""
    asked = without_object(rng, ANY)
    if asked is None:
        return for_object(rng)
    objects = asked.verb.objects
    if chance(rng, 0.5):
        people = objects & HUMAN
        return question(asked, front=say("who", "qui") if people else say("what", "que"))
    things = [thing for thing in nouns_of(objects) if _can_be_counted(thing)]
    if not things:
        return question(asked, front=say("what", "que"))
    thing = rng.choice(things)
    if chance(rng, 0.5):
        front = say("how many", "combien de") + say(thing.en_plural, thing.fr_plural)
        return question(asked, front=front, antecedent=Features(3, True, thing.feminine))
    looks = Features(3, chance(rng, 0.3), thing.feminine)
    forms = (thing.en_plural, thing.fr_plural) if looks.plural else (thing.en, thing.fr)
    front = say("which", agree("quel", "quelle", looks)) + say(*forms)
    return question(asked, front=front, antecedent=looks)


def _can_be_counted(thing: Noun) -> bool:
    return thing.countable and not thing.tags & {"only", "kin"}


QUESTIONS = {yes_no: 4, circumstance: 3, for_object: 3, for_subject: 2}


SENTENCES: dict[Callable[[Random], Phrase | None], int] = {
    simple: 60,
    ask: 14,
    time_first: 2,
    because: 4,
    so: 2,
    when: 2,
    while_: 2,
    if_: 2,
    thinking: 4,
    two_clauses: 5,
    two_deeds: 3,
    taking_up: 3,
    relative: 8,
}


# Sentences of any length: lists, relative clauses, and one clause after another.

# What must be left for one more clause, in tokens.
ROOM = 6
HERDS = frozenset(["animal"])
GOODS = frozenset(["thing", "food", "clothes"])


def sentence_of(rng: Random, length: int) -> Phrase:
    """Add clause to clause until the sentence has exactly so many English tokens."""
    while True:
        tenses = rng.choice((PRESENT, PAST))
        phrase, last = _opening(rng, tenses)
        joined = ""
        for _ in range(8 * length):
            if len(phrase.en) == length:
                return phrase
            more, following, conjunction = _continuation(rng, tenses, last, joined)
            after = len(phrase.en) + len(more.en)
            if after == length or after <= length - ROOM:
                phrase, last, joined = phrase + more, following, conjunction


def _opening(rng: Random, tenses: tuple[Tense, ...]) -> tuple[Phrase, Clause]:
    """Choose how the sentence begins, and give the clause that the next part may refer to."""
    if tenses is PAST or chance(rng, 0.8):
        first = clause(rng, tenses=tenses, frames=ACTIONS | FEELINGS)
        return statement(first), first
    speaker = Clause(subject_phrase(rng, HUMAN), verb("say"))
    first = clause(rng, tenses=tenses, frames=ACTIONS | FEELINGS, fresh=False)
    return join(statement(speaker), "that", statement(first)), first


def _continuation(
    rng: Random, tenses: tuple[Tense, ...], before: Clause, joined: str
) -> tuple[Phrase, Clause, str]:
    """Choose how the sentence goes on.

    ``before`` is the clause it follows and ``joined`` the conjunction of that: two clauses in a row
    may say "and", but not "because" or "while".
    """
    linked = joined in ("because", "while")
    reason = None
    if not linked and not isinstance(before.subject, Nominal) and chance(rng, 0.6):
        reason = reason_for(rng, before, tenses)
    if reason is not None:
        return join(SILENCE, "because", statement(with_pronoun(reason))), reason, "because"
    if not linked and before.tense in ("progressive", "past progressive") and not before.modal:
        during = clause(rng, tenses=(before.tense,), frames=ACTIONS, plain=True, fresh=False)
        return join(SILENCE, "while", statement(during)), during, "while"
    following = clause(rng, tenses=tenses, plain=chance(rng, 0.6), fresh=False)
    conjunction = "but" if joined == "and" and chance(rng, 0.3) else "and"
    said = _enriched(rng, following, tenses)
    return join(SILENCE, conjunction, statement(said), comma=True), following, conjunction


def _enriched(rng: Random, said: Clause, tenses: tuple[Tense, ...]) -> Clause:
    """Lengthen a clause from within: a list, or relative clauses on its last noun."""
    if said.verb.en in ("buy", "sell", "draw", "look for") and not said.negation:
        goods = GOODS if said.verb.en in ("buy", "sell") else HERDS
        return replace(said, object=listing(rng, goods, rng.choice((3, 4, 5))))
    if said.to or said.adjuncts or not chance(rng, 0.6):
        return said
    described = with_relative(rng, said.object, tenses, depth=3)
    return replace(said, object=described) if described else said
