"""The toy corpus: as many different pairs as asked for, of the lengths asked for.

A :class:`Pair` is a phrase, spelt out in both languages, with its gold alignment and the names of
the constructions that it shows. Everything is drawn from a seeded generator: the same arguments
give the same pairs on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from seqattn.data.grammar import english, french
from seqattn.data.grammar.adverbials import (
    CONJUNCTIONS,
    FREQUENCY,
    MANNER,
    PREPOSITIONS,
    TIMES,
    place,
    time,
)
from seqattn.data.grammar.clauses import Clause, statement
from seqattn.data.grammar.lexicon import ADJECTIVES, NAMES, NOUNS, NUMERALS, VERBS, noun, verb
from seqattn.data.grammar.noun_phrases import DETERMINERS, NP, PRONOUNS
from seqattn.data.grammar.phrases import Phrase, links
from seqattn.data.grammar.sampling.sentences import sentence, sentence_of
from seqattn.settings import check_whole

__all__ = [
    "CONSTRUCTIONS",
    "Pair",
    "Splits",
    "by_length",
    "cat_on_the_mat",
    "generate",
    "lemmas",
    "pair",
    "sentence_of_length",
    "splits",
]


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence, its translation, and their gold alignment.

    Attributes
    ----------
    source, target : tuple of str
        English and French tokens, in lower case. An apostrophe ends a French token ("l'", "n'") and
        begins an English one ("'s").
    links : frozenset of (int, int)
        Which source position goes with which target position. Links are many-to-many and all sure,
        and each token of either sentence has at least one. An idiom is linked all to all ("is
        hungry", *a faim*); *to* goes with its infinitive, *est-ce que* with the auxiliary that the
        English question moves, and an article that only French has with its noun.
    constructions : frozenset of str
        The constructions of the grammar that the pair shows; the keys of ``CONSTRUCTIONS``.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: frozenset[tuple[int, int]]
    constructions: frozenset[str]

    @property
    def source_text(self) -> str:
        """The English tokens, with spaces between."""
        return " ".join(self.source)

    @property
    def target_text(self) -> str:
        """The French tokens, with spaces between."""
        return " ".join(self.target)


def pair(phrase: Phrase) -> Pair:
    """Spell a phrase in both languages and read off its links.

    Examples
    --------
    >>> said = statement(Clause(NP(noun("owl")), verb("sleep"), negation="not"))
    >>> pair(said).source_text, pair(said).target_text
    ('the owl does not sleep', 'le hibou ne dort pas')
    """
    source = english.spell([word.text for word in phrase.en])
    target = french.spell(phrase.fr)
    return Pair(
        source=tuple(source),
        target=tuple(word.text for word in target),
        links=links(phrase.en, target),
        constructions=phrase.names,
    )


def cat_on_the_mat(*, today: bool = False) -> Pair:
    """Give the sentence that every chapter returns to.

    "Sat" is *s'est assis*: the grammar makes every past event a *passé composé*, and the three
    French words, linked with one English word, show why alignment is not one to one. (*Était
    assis*, "was seated", would describe the state.)

    Examples
    --------
    >>> cat_on_the_mat().target_text
    "le chat s' est assis sur le tapis"
    """
    said = Clause(NP(noun("cat")), verb("sit"), "past", adjuncts=(place("on", NP(noun("mat"))),))
    return pair(statement(said.having(time("today")) if today else said))


# Every name that a pair's ``constructions`` can hold, and a pair that shows it.
CONSTRUCTIONS = {
    # Around the noun.
    "adjective before the noun": ("a big dog", "un gros chien"),
    "adjective after the noun": ("a red apple", "une pomme rouge"),
    "possessive": ("her book", "son livre"),
    "owner": ("the king 's cat", "le chat du roi"),
    "demonstrative": ("this child", "cet enfant"),
    "quantifier": ("many cats", "beaucoup de chats"),
    "numeral": ("three cats", "trois chats"),
    "quantity": ("a cup of tea", "une tasse de thé"),
    "bare noun": ("he eats bread", "il mange du pain"),
    "some or any": ("some water", "de l' eau"),
    "list of nouns": ("the king and the queen", "le roi et la reine"),
    "relative clause with qui": ("the cat that sleeps", "le chat qui dort"),
    "relative clause with que": ("the apple that he ate", "la pomme qu' il a mangée"),
    # Around the verb.
    "progressive": ("she is eating", "elle mange"),
    "passé composé with avoir": ("she ate", "elle a mangé"),
    "passé composé with être": ("she left", "elle est partie"),
    "imparfait": ("she was eating", "elle mangeait"),
    "future": ("she will eat", "elle mangera"),
    "near future": ("she is going to eat", "elle va manger"),
    "modal verb": ("she can swim", "elle peut nager"),
    "reflexive verb": ("she wakes up", "elle se réveille"),
    "negation": ("she does not eat", "elle ne mange pas"),
    "negative adverb": ("she never eats", "elle ne mange jamais"),
    "adverb of frequency": ("she often eats", "elle mange souvent"),
    "adverb of manner": ("she walks slowly", "elle marche lentement"),
    "object pronoun": ("i see him", "je le vois"),
    "two object pronouns": ("he gives it to her", "il le lui donne"),
    "recipient": ("he gives a ball to the dog", "il donne une balle au chien"),
    "swapped roles": ("i miss you", "tu me manques"),
    "prepositional phrase": ("on the mat", "sur le tapis"),
    "time phrase": ("last week", "la semaine dernière"),
    # Being.
    "predicate adjective": ("the queen is happy", "la reine est heureuse"),
    "degree": ("very happy", "très heureuse"),
    "comparative": ("taller than him", "plus grande que lui"),
    "profession": ("she is a doctor", "elle est médecin"),
    "age": ("she is ten years old", "elle a dix ans"),
    "passive": ("it was found by the king", "il a été trouvé par le roi"),
    "there is": ("there is a cat", "il y a un chat"),
    "weather": ("it is raining", "il pleut"),
    # Questions and several clauses.
    "yes-no question": ("does he sleep ?", "est-ce qu' il dort ?"),
    "question with a question word": ("what does he eat ?", "qu' est-ce qu' il mange ?"),
    "question for the subject": ("who is sleeping ?", "qui dort ?"),
    "coordinated clauses": ("he sings and she dances", "il chante et elle danse"),
    "coordinated verbs": ("he sings and dances", "il chante et danse"),
    "pronoun for a noun": ("he buys an apple and eats it", "il achète une pomme et la mange"),
    "clause with that": ("he thinks that she sings", "il pense qu' elle chante"),
    "clause with because": ("he eats because he is hungry", "il mange parce qu' il a faim"),
    "clause with when": ("he smiles when she sings", "il sourit quand elle chante"),
    "clause with while": ("he works while she sings", "il travaille pendant qu' elle chante"),
    "clause with if": ("if it rains , he stays", "s' il pleut , il reste"),
}


def lemmas() -> dict[str, tuple[str, ...]]:
    """List the dictionary forms of the English words, by part of speech.

    Examples
    --------
    >>> words = lemmas()
    >>> "mouse" in words["nouns"], "look for" in words["verbs"]
    (True, True)
    >>> sum(map(len, words.values())) > 350
    True
    """
    verbs = [entry.en for table in VERBS.values() for entry in table]
    question_words = ("who", "what", "which", "how many", "where", "when", "why")
    return {
        "nouns": tuple(entry.en for entry in NOUNS),
        "names": tuple(entry.en for entry in NAMES),
        "adjectives": tuple(entry.en for entry in ADJECTIVES),
        "verbs": tuple(dict.fromkeys(verbs)),
        "adverbs": (*FREQUENCY, *MANNER, "very", "never", "not", "no longer"),
        "times": tuple(TIMES),
        "prepositions": tuple(PREPOSITIONS),
        "conjunctions": (*CONJUNCTIONS, "or"),
        "determiners": (*DETERMINERS, "a", "some", "any", "all"),
        "numerals": tuple(NUMERALS),
        "pronouns": tuple(dict.fromkeys(pronoun.subject for pronoun in PRONOUNS.values())),
        "question words": question_words,
    }


SHORTEST, LONGEST = 3, 100
# Sentences up to this length are drawn whole; longer ones are built to measure.
ORDINARY = 12
# Draws in a row that may bring nothing new before we say that nothing is left.
PATIENCE = 1_000


class Splits(NamedTuple):
    """Pairs to learn from, to choose by, and to be judged on."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def generate(
    n: int,
    *,
    seed: int = 0,
    min_len: int = 3,
    max_len: int = ORDINARY,
    exclude: Collection[str] = (),
) -> list[Pair]:
    """Draw different sentence pairs.

    Parameters
    ----------
    n : int
        Number of pairs.
    seed : int
        Seed of the draw.
    min_len, max_len : int
        Bounds of the source length, in tokens, from 3 to 100.
    exclude : collection of str
        Source texts that must not come.

    Returns
    -------
    list of Pair
        No source sentence comes twice.

    Raises
    ------
    ValueError
        If the bounds make no sense, the number is negative or no whole one, or the grammar has too
        few sentences between them.

    Examples
    --------
    >>> [found] = generate(1, seed=3, min_len=5, max_len=6)
    >>> 5 <= len(found.source) <= 6
    True
    """
    _check_lengths(min_len, max_len)
    return _take(n, _different(Random(seed), min_len, max_len, exclude))


def sentence_of_length(length: int, *, seed: int = 0) -> Pair:
    """Draw a sentence of exactly so many source tokens, from 3 to 100.

    Examples
    --------
    >>> len(sentence_of_length(60).source)
    60
    """
    return generate(1, seed=seed, min_len=length, max_len=length)[0]


def splits(
    train: int = 40_000,
    valid: int = 1_000,
    test: int = 1_000,
    *,
    seed: int = 0,
    min_len: int = 3,
    max_len: int = ORDINARY,
) -> Splits:
    """Draw pairs to train on, and others to validate and test on.

    No source sentence is in two splits (sentences that differ in one word may be), and every word
    of the held-out pairs, in both languages, occurs in the training pairs. "The cat sat on the mat"
    and the same "today" are kept from training: the test pairs begin with them, if the lengths
    allow it and their words are known.

    Parameters
    ----------
    train, valid, test : int
        Numbers of pairs.
    seed : int
        Seed of the draw.
    min_len, max_len : int
        Bounds of the source length, in tokens.

    Returns
    -------
    Splits
        Named tuple (train, valid, test) of lists of :class:`Pair`.

    Raises
    ------
    ValueError
        If the bounds make no sense, the grammar has too few such sentences, or the training pairs
        hold too few words.

    Examples
    --------
    >>> corpus = splits(train=800, valid=5, test=5)
    >>> [len(split) for split in corpus]
    [800, 5, 5]
    """
    _check_lengths(min_len, max_len)
    shown = [cat_on_the_mat(), cat_on_the_mat(today=True)]
    exclude = [kept.source_text for kept in shown]
    different = _different(Random(seed), min_len, max_len, exclude)
    learnt = _take(train, different)
    readable = _in_words_of(learnt)
    fitting = [kept for kept in shown if min_len <= len(kept.source) <= max_len and readable(kept)]
    chosen = _take(valid, different, readable)
    judged = fitting[:test]
    return Splits(learnt, chosen, judged + _take(test - len(judged), different, readable))


def by_length(
    lengths: Iterable[int], each: int, *, known: Sequence[Pair], seed: int = 0
) -> list[Pair]:
    """Draw test pairs of given lengths, to see how a translator fares as sentences grow.

    Parameters
    ----------
    lengths : iterable of int
        Source lengths, in tokens.
    each : int
        Number of pairs of each length.
    known : sequence of Pair
        Training pairs: none of their source sentences comes, and no word that they do not hold.
    seed : int
        Seed of the draw.

    Returns
    -------
    list of Pair
        The shortest first.

    Raises
    ------
    ValueError
        If a length is out of bounds, or the grammar has too few such sentences.

    Examples
    --------
    >>> known = generate(800)
    >>> [len(pair.source) for pair in by_length([5, 20], 2, known=known)]
    [5, 5, 20, 20]
    """
    readable, seen = _in_words_of(known), {pair.source_text for pair in known}
    found = []
    for length in sorted(lengths):
        _check_lengths(length, length)
        found += _take(each, _different(Random(seed), length, length, seen), readable)
    return found


def _in_words_of(known: Sequence[Pair]) -> Callable[[Pair], bool]:
    """Tell whether a pair has only words that known pairs have."""
    english_words = {word for pair in known for word in pair.source}
    french_words = {word for pair in known for word in pair.target}

    def readable(pair: Pair) -> bool:
        return english_words.issuperset(pair.source) and french_words.issuperset(pair.target)

    return readable


def _check_lengths(min_len: int, max_len: int) -> None:
    if not SHORTEST <= min_len <= max_len <= LONGEST:
        raise ValueError(
            f"min_len = {min_len} and max_len = {max_len}; expected "
            f"{SHORTEST} <= min_len <= max_len <= {LONGEST} (source tokens)"
        )


def _different(
    rng: Random, min_len: int, max_len: int, exclude: Collection[str]
) -> Iterator[Pair | None]:
    """Draw without end; ``None`` stands for a sentence that came before."""
    seen = set(exclude)
    while True:
        drawn = pair(_draw(rng, min_len, max_len))
        if drawn.source_text in seen:
            yield None
        else:
            seen.add(drawn.source_text)
            yield drawn


def _take(
    n: int, pairs: Iterator[Pair | None], fits: Callable[[Pair], bool] = lambda _: True
) -> list[Pair]:
    check_whole("the number of pairs", n, least=0)
    taken: list[Pair] = []
    in_vain = 0
    while len(taken) < n:
        drawn = next(pairs)
        if drawn is not None and fits(drawn):
            taken.append(drawn)
            in_vain = 0
        else:
            in_vain += 1
        if in_vain > PATIENCE:
            raise ValueError(
                f"found {len(taken)} of {n} pairs and then none in {PATIENCE} draws; "
                "ask for fewer pairs, for longer sentences, or train on more"
            )
    return taken


def _draw(rng: Random, min_len: int, max_len: int) -> Phrase:
    length = rng.randint(min_len, max_len)
    if length > ORDINARY:
        return sentence_of(rng, length)
    while True:
        phrase = sentence(rng)
        if min_len <= len(phrase.en) <= min(max_len, ORDINARY):
            return phrase
