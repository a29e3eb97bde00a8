"""Random questions."""

from dataclasses import replace
from random import Random

from seqattn.data.grammar.clauses import interrogate, question
from seqattn.data.grammar.french import agree
from seqattn.data.grammar.lexicon import Noun, nouns_of
from seqattn.data.grammar.noun_phrases import PRONOUNS
from seqattn.data.grammar.phrases import Features, Phrase, say
from seqattn.data.grammar.sampling.actions import ACTIONS, intransitive, motion
from seqattn.data.grammar.sampling.clauses import ANY, Frames, clause
from seqattn.data.grammar.sampling.nouns import HUMAN, chance
from seqattn.data.grammar.sampling.relatives import without_object
from seqattn.data.grammar.sampling.states import FEELINGS

__all__ = ["QUESTIONS"]

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


def subject(rng: Random) -> Phrase:
    """Ask: who ate the cake?"""
    return interrogate(clause(rng, subject=PRONOUNS["he"], frames=ACTIONS | FEELINGS, fresh=False))


def object_(rng: Random) -> Phrase:
    """Ask: what does he eat? which book did she read?"""
    asked = without_object(rng, ANY)
    if asked is None:
        return object_(rng)
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


QUESTIONS = {yes_no: 4, circumstance: 3, object_: 3, subject: 2}
