"""Random relative clauses, one in another: the dog that chased the cat that ate the fish."""

from dataclasses import replace
from random import Random

from seqattn.data.grammar.clauses import Clause, that, who
from seqattn.data.grammar.lexicon import VERBS, Noun
from seqattn.data.grammar.noun_phrases import NP, NounPhrase
from seqattn.data.grammar.sampling.actions import ACTIONS
from seqattn.data.grammar.sampling.clauses import clause, tells_tense
from seqattn.data.grammar.sampling.nouns import chance, subject_phrase
from seqattn.data.grammar.sampling.scenes import ANIMATE
from seqattn.data.grammar.verb_groups import Tense

__all__ = ["with_relative", "without_object"]


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
