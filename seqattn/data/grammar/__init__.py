"""Our own English→French grammar: unlimited sentence pairs with gold word alignments.

The corpus (:func:`generate`, :func:`splits`, :func:`sentence_of_length`) draws sentences at random.
The same rules say a sentence of your own: build a :class:`Clause`, and :func:`pair` spells it.

>>> sleeping = Clause(NP(noun("owl")), verb("sleep"), "progressive", negation="not")
>>> pair(statement(sleeping)).target_text
'le hibou ne dort pas'

How it is made, from the bottom up: ``phrases`` (words on beads: the links); ``english`` and
``french`` (forms and spelling); ``tables`` of words and the ``lexicon`` that reads them; the rules
in ``noun_phrases``, ``verb_groups``, ``adverbials`` and ``clauses``; ``sampling``, random choices
that make sense; ``corpus``, which makes pairs of what was said, as many as asked for.
"""

from seqattn.data.grammar.adverbials import join, lead, manner, place, time
from seqattn.data.grammar.clauses import (
    Clause,
    interrogate,
    question,
    statement,
    that,
    two_verbs,
    who,
)
from seqattn.data.grammar.corpus import (
    CONSTRUCTIONS,
    Pair,
    Splits,
    by_length,
    cat_on_the_mat,
    generate,
    lemmas,
    pair,
    sentence_of_length,
    splits,
)
from seqattn.data.grammar.lexicon import adjective, noun, verb
from seqattn.data.grammar.noun_phrases import NP, PRONOUNS, Listing

__all__ = [
    "CONSTRUCTIONS",
    "NP",
    "PRONOUNS",
    "Clause",
    "Listing",
    "Pair",
    "Splits",
    "adjective",
    "by_length",
    "cat_on_the_mat",
    "generate",
    "interrogate",
    "join",
    "lead",
    "lemmas",
    "manner",
    "noun",
    "pair",
    "place",
    "question",
    "sentence_of_length",
    "splits",
    "statement",
    "that",
    "time",
    "two_verbs",
    "verb",
    "who",
]
