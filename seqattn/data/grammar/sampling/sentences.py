"""Random sentences: one clause, or several that belong together."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from seqattn.data.grammar.adverbials import join, time
from seqattn.data.grammar.clauses import Clause, statement, two_verbs
from seqattn.data.grammar.lexicon import VERBS, verb
from seqattn.data.grammar.noun_phrases import Nominal, NounPhrase
from seqattn.data.grammar.phrases import Phrase, say
from seqattn.data.grammar.sampling.actions import ACTIONS
from seqattn.data.grammar.sampling.causes import because, if_, pronoun_for, so, with_pronoun
from seqattn.data.grammar.sampling.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Frames,
    clause,
    tells_tense,
    time_for,
)
from seqattn.data.grammar.sampling.nouns import OBJECT, chance, noun_phrase, subject_phrase
from seqattn.data.grammar.sampling.questions import QUESTIONS
from seqattn.data.grammar.sampling.relatives import with_relative
from seqattn.data.grammar.sampling.scenes import ANIMATE, doer, kind_of
from seqattn.data.grammar.sampling.states import FEELINGS, description
from seqattn.data.grammar.verb_groups import Tense

__all__ = ["sentence"]

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
