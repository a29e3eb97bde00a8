"""Random sentences of any length: lists, relative clauses, and one clause after another."""

from dataclasses import replace
from random import Random

from seqattn.data.grammar.adverbials import join
from seqattn.data.grammar.clauses import Clause, statement
from seqattn.data.grammar.lexicon import verb
from seqattn.data.grammar.noun_phrases import Nominal
from seqattn.data.grammar.phrases import SILENCE, Phrase
from seqattn.data.grammar.sampling.actions import ACTIONS
from seqattn.data.grammar.sampling.causes import reason_for, with_pronoun
from seqattn.data.grammar.sampling.clauses import PAST, PRESENT, clause
from seqattn.data.grammar.sampling.nouns import HUMAN, chance, listing, subject_phrase
from seqattn.data.grammar.sampling.relatives import with_relative
from seqattn.data.grammar.sampling.states import FEELINGS
from seqattn.data.grammar.verb_groups import Tense

__all__ = ["sentence_of"]

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
