"""Random clauses: a frame, then tense, negation, modal, adverb and time for its verb.

And relative clauses, one in another: the dog that chased the cat that ate the fish.
"""

from dataclasses import replace
from random import Random

from seqattn.data.grammar.adverbials import time
from seqattn.data.grammar.clauses import BE, BE_PASSIVE, GOING, Clause, that, who
from seqattn.data.grammar.lexicon import VERBS, Noun, Verb
from seqattn.data.grammar.noun_phrases import NP, NounPhrase
from seqattn.data.grammar.sampling.nouns import (
    ANIMATE,
    HUMAN,
    Frame,
    Scene,
    chance,
    kind_of,
    subject_phrase,
)
from seqattn.data.grammar.sampling.predicates import ACTIONS, LASTING, STATES, UNCHANGING
from seqattn.data.grammar.verb_groups import Tense

__all__ = [
    "ANY",
    "FUTURE",
    "PAST",
    "PRESENT",
    "Frames",
    "clause",
    "tells_tense",
    "time_for",
    "with_relative",
    "without_object",
]

PRESENT: tuple[Tense, ...] = ("present", "progressive")
PAST: tuple[Tense, ...] = ("past", "past progressive", "perfect")
FUTURE: tuple[Tense, ...] = ("future",)
ANY = PRESENT + PAST + FUTURE

TENSE_WEIGHTS: dict[Tense, int] = {
    "present": 30,
    "progressive": 20,
    "past": 26,
    "past progressive": 7,
    "perfect": 8,
    "future": 9,
}
EVER: tuple[Tense, ...] = ("present", "past", "perfect", "future")
# When each negation and adverb can be said.
NEGATION_TENSES: dict[str, tuple[Tense, ...]] = {
    "not": ANY,
    "never": EVER,
    "no longer": ("present", "progressive"),
}
ADVERB_TENSES: dict[str, tuple[Tense, ...]] = {
    "often": EVER,
    "always": EVER,
    "sometimes": EVER,
    "rarely": EVER,
    "already": ("progressive", "perfect"),
    "still": ("progressive", "past progressive"),
}
TIMES_OF: dict[str, tuple[str, ...]] = {
    "present": ("every day", "every morning", "at night", "in the evening", "on sunday"),
    "progressive": ("now", "today"),
    "past": ("yesterday", "last week", "last night", "last year", "today"),
    "past progressive": ("yesterday", "last night"),
    "perfect": ("today",),
    "future": ("tomorrow", "tonight", "next week", "next year"),
    "state": ("now", "today"),
}
Frames = dict[Frame, int]
# A sentence of one clause is mostly about a deed.
FRAMES: Frames = {frame: 7 * weight for frame, weight in ACTIONS.items()} | STATES
SKILLS = frozenset(["swim", "dance", "sing", "read", "write", "drive", "paint", "draw", "play"])


def clause(
    rng: Random,
    *,
    tenses: tuple[Tense, ...] = ANY,
    subject: NounPhrase | None = None,
    fresh: bool = True,
    frames: Frames = FRAMES,
    deeds: tuple[str, ...] = (),
    plain: bool = False,
) -> Clause:
    """Choose a clause that makes sense.

    Parameters
    ----------
    tenses : tuple of str
        Tenses that fit the rest of the sentence.
    subject : NounPhrase, optional
        Who does it, if settled.
    fresh : bool
        Whether no noun has been named before.
    frames : dict
        Frames to choose from, with weights.
    deeds : tuple of str
        English verbs to choose from; all that the frames know if empty.
    plain : bool
        Leave out negation, modal, adverb and time, which a dependent clause can do without.
    """
    functions, weights = tuple(frames), tuple(frames.values())
    while True:
        negation = (
            "" if plain else rng.choices(("", "not", "never", "no longer"), (84, 12, 3, 1))[0]
        )
        (frame,) = rng.choices(functions, weights)
        draft = frame(rng, Scene(subject, fresh, bool(negation), deeds))
        if draft is None or (frame in LASTING and negation not in ("", "not")):
            continue
        draft = replace(draft, negation=negation)
        if not plain and chance(rng, 0.2):
            finished = _with_modal(rng, draft, tenses)
        else:
            finished = _with_tense(rng, draft, frame, tenses, plain=plain)
        if finished is not None:
            return finished


def _tenses_of(verb: Verb) -> tuple[Tense, ...]:
    if verb is BE_PASSIVE:
        return ("past", "perfect", "future")
    if "state" in verb.traits:
        return ("present", "past", "future")
    if "event" in verb.traits:
        return EVER
    return ANY


def _with_tense(
    rng: Random, draft: Clause, frame: Frame, tenses: tuple[Tense, ...], *, plain: bool
) -> Clause | None:
    verb = draft.verb
    possible = [tense for tense in _tenses_of(verb) if tense in tenses]
    possible = [tense for tense in possible if tells_tense(verb, tense)]
    if draft.negation:
        possible = [tense for tense in possible if tense in NEGATION_TENSES[draft.negation]]
    if not possible:
        return None
    (tense,) = rng.choices(possible, [TENSE_WEIGHTS[tense] for tense in possible])
    draft = replace(draft, tense=tense)
    if plain or frame in UNCHANGING:
        return draft
    if not draft.negation and verb is not BE_PASSIVE and verb.en != "miss" and chance(rng, 0.12):
        adverbs = [adverb for adverb, fits in ADVERB_TENSES.items() if tense in fits]
        if verb is BE and tense == "present":
            adverbs.append("still")
        if adverbs:
            return replace(draft, adverb=rng.choice(adverbs))
    lasting = "state" in verb.traits and verb is not BE and verb not in VERBS["IDIOMS"]
    if lasting or draft.negation in ("never", "no longer") or not chance(rng, 0.16):
        return draft
    return draft.having(time(time_for(rng, draft)))


def tells_tense(verb: Verb, tense: Tense) -> bool:
    """Say whether English shows the tense: "they read" is present or past, so it is never past."""
    return tense != "past" or verb.past != verb.base


def time_for(rng: Random, said: Clause) -> str:
    """Choose a time phrase that goes with the tense."""
    lasting = "state" in said.verb.traits and said.tense == "present"
    return rng.choice(TIMES_OF["state" if lasting else said.tense])


def _with_modal(rng: Random, draft: Clause, tenses: tuple[Tense, ...]) -> Clause | None:
    """Put a verb before the verb: can swim, has to work, is going to sing."""
    verb = draft.verb
    if "state" in verb.traits or verb is BE_PASSIVE or draft.negation not in ("", "not"):
        return None
    modal = GOING if chance(rng, 0.3) else rng.choice(VERBS["MODAL"])
    if modal is GOING:
        if "future" not in tenses:
            return None
        draft = replace(draft, modal=GOING, tense="progressive")
        return draft.having(time(rng.choice(TIMES_OF["future"]))) if chance(rng, 0.25) else draft
    if verb in VERBS["WEATHER"]:
        return None
    if modal.en == "have" and draft.negation:
        return None
    if modal.en not in ("can", "want", "try") and not kind_of(draft.subject) & HUMAN:
        return None
    if modal.particle == "how" and verb.base not in SKILLS:
        return None
    if modal.en in ("begin", "like", "prefer") and "event" in verb.traits:
        return None
    fits: tuple[Tense, ...] = ("present",) if "bare" in modal.traits else ("present", "past")
    possible = [tense for tense in fits if tense in tenses]
    return replace(draft, modal=modal, tense=rng.choice(possible)) if possible else None


def with_relative(
    rng: Random, np: NounPhrase | None, tenses: tuple[Tense, ...], *, depth: int = 1
) -> NP | None:
    """Add a relative clause to a noun that can bear one, and to the last noun of that clause."""
    if not isinstance(np, NP) or np.det not in ("the", "a") or np.of or np.owner:
        return None
    np = replace(np, det="the")
    if np.noun.tags & ANIMATE and chance(rng, 0.7):
        deed = clause(rng, tenses=tenses, subject=np, frames=ACTIONS, plain=True, fresh=False)
        if depth > 1 and not deed.to:
            deeper = with_relative(rng, deed.object, tenses, depth=depth - 1)
            deed = replace(deed, object=deeper or deed.object)
        return who(np, deed)
    deed_to_it = without_object(rng, tenses, np.noun, fresh=False)
    return that(np, deed_to_it) if deed_to_it else None


def without_object(
    rng: Random, tenses: tuple[Tense, ...], thing: Noun | None = None, *, fresh: bool = True
) -> Clause | None:
    """Choose a transitive clause, its object left out: what ... the girl eats.

    ``thing``: what the object will be, if that is settled; there may be no verb for it.
    """
    doings = [
        verb
        for verb in VERBS["TRANSITIVE"]
        if not (verb.tail or verb.particle or "general" in verb.traits or verb.en == "have")
        and (thing is None or verb.objects & thing.tags)
    ]
    if not doings:
        return None
    verb = rng.choice(doings)
    fits: list[Tense] = ["present", "past"]
    if not verb.traits & {"state", "event"}:
        fits.append("progressive")
    possible = [tense for tense in fits if tense in tenses and tells_tense(verb, tense)]
    who_does = subject_phrase(rng, verb.subjects, fresh=fresh)
    return Clause(who_does, verb, rng.choice(possible)) if possible else None
