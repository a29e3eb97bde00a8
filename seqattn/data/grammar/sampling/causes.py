"""Random sentences about why: because, so, if."""

from dataclasses import replace
from random import Random

from seqattn.data.grammar.adverbials import join, lead
from seqattn.data.grammar.clauses import Clause, statement
from seqattn.data.grammar.complements import BE, predicate
from seqattn.data.grammar.lexicon import adjective, verb
from seqattn.data.grammar.noun_phrases import NP, PRONOUNS, NounPhrase, Pronoun, features
from seqattn.data.grammar.phrases import Phrase
from seqattn.data.grammar.sampling.actions import ACTIONS, giving, intransitive, transitive
from seqattn.data.grammar.sampling.clauses import FUTURE, PAST, PRESENT, Frames, clause
from seqattn.data.grammar.sampling.nouns import HUMAN, chance
from seqattn.data.grammar.sampling.scenes import doer, kind_of
from seqattn.data.grammar.sampling.states import weather
from seqattn.data.grammar.verb_groups import Tense

__all__ = ["because", "if_", "pronoun_for", "reason_for", "so", "with_pronoun"]

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
