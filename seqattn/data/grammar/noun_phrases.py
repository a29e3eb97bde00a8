"""Noun phrases: determiners, adjectives on either side, owners, numerals, pronouns, lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from seqattn.data.grammar import french
from seqattn.data.grammar.french import begins_with_vowel_sound
from seqattn.data.grammar.lexicon import NUMERALS, Adjective, Noun
from seqattn.data.grammar.phrases import SILENCE, Bead, Features, Phrase, Words, say

__all__ = [
    "NP",
    "PRONOUNS",
    "Listing",
    "Nominal",
    "NounPhrase",
    "Pronoun",
    "features",
    "nominal",
    "stressed",
]


class Pronoun(NamedTuple):
    """A personal pronoun in all its cases."""

    subject: str
    object: str
    sujet: str
    direct: str
    indirect: str
    stressed: str
    features: Features


# English leaves the gender of "i", "you", "we" and "they" open, and the number of "you": the
# masculine and the familiar "tu" are fixed here. "they_f" and "it_f" are the pronouns of a
# feminine noun that stands earlier in the sentence.
PRONOUNS = {
    "i": Pronoun("i", "me", "je", "me", "me", "moi", Features(1)),
    "you": Pronoun("you", "you", "tu", "te", "te", "toi", Features(2)),
    "he": Pronoun("he", "him", "il", "le", "lui", "lui", Features(3)),
    "she": Pronoun("she", "her", "elle", "la", "lui", "elle", Features(3, feminine=True)),
    "it": Pronoun("it", "it", "il", "le", "lui", "lui", Features(3)),
    "it_f": Pronoun("it", "it", "elle", "la", "lui", "elle", Features(3, feminine=True)),
    "we": Pronoun("we", "us", "nous", "nous", "nous", "nous", Features(1, plural=True)),
    "they": Pronoun("they", "them", "ils", "les", "leur", "eux", Features(3, plural=True)),
    "they_f": Pronoun(
        "they", "them", "elles", "les", "leur", "elles", Features(3, plural=True, feminine=True)
    ),
}

# Masculine, feminine, plural.
DETERMINERS = {
    "the": ("le", "la", "les"),
    "this": ("ce", "cette", "ces"),
    "my": ("mon", "ma", "mes"),
    "your": ("ton", "ta", "tes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
    "every": ("chaque", "chaque", ""),
    "many": ("", "", "beaucoup de"),
}
POSSESSIVES = ("my", "your", "his", "her", "our", "their")
CONJUNCTIONS = {"and": "et", "or": "ou"}
BEFORE_VOWEL = {
    **{"ce": "cet", "ma": "mon", "ta": "ton", "sa": "son"},
    **{"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"},
}


@dataclass(frozen=True, slots=True)
class NP:
    """A noun with what belongs to it.

    ``det`` is the English determiner: "the", "a", "this", a possessive, "every", "many", "all the",
    "some", "any", or "" for a bare noun ("bread", "cats") and for a name. ``of`` is what a
    container holds ("a cup of tea") and ``after`` a relative clause, already said.
    """

    noun: Noun
    det: str = "the"
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    number: str = ""
    owner: NP | None = None
    of: Noun | None = None
    after: Phrase = SILENCE


@dataclass(frozen=True, slots=True)
class Listing:
    """Several noun phrases: "the king, the queen and marie"."""

    items: tuple[NP, ...]
    conjunction: str = "and"


NounPhrase = NP | Listing | Pronoun


class Nominal(NamedTuple):
    """A noun phrase that has been said, with what agrees with it.

    ``english`` differs from ``features`` where English alone agrees with another word: there *are*.
    """

    phrase: Phrase
    features: Features
    english: Features


def features(np: NounPhrase) -> Features:
    """Give person, number and gender; a list is feminine only if all its members are."""
    match np:
        case Pronoun():
            return np.features
        case Listing():
            return Features(
                3, plural=True, feminine=all(features(item).feminine for item in np.items)
            )
        case NP():
            return Features(3, np.plural, np.noun.feminine)


def nominal(np: NounPhrase | Nominal, *, negated: bool = False, general: bool = False) -> Nominal:
    """Say a subject or an object.

    ``negated``: it is the object of a negated verb, where *un*, *du* and *des* become *de*.
    ``general``: a bare noun means the whole kind, where French says *le* and *les*.
    """
    if isinstance(np, Nominal):
        return np
    if isinstance(np, Pronoun):
        phrase = say(np.subject, np.sujet)
    elif isinstance(np, Listing):
        phrase = _listing(np, negated=negated, general=general)
    else:
        phrase = _noun_phrase(np, negated=negated, general=general)
    return Nominal(phrase, features(np), features(np))


def stressed(pronoun: Pronoun) -> Phrase:
    """Say a pronoun after a preposition: with him, avec lui."""
    return say(pronoun.object, pronoun.stressed)


def _listing(np: Listing, *, negated: bool, general: bool) -> Phrase:
    *head, last = (nominal(item, negated=negated, general=general).phrase for item in np.items)
    phrase = head[0]
    for item in head[1:]:
        phrase = phrase + say(",", ",") + item
    return (phrase + say(np.conjunction, CONJUNCTIONS[np.conjunction]) + last).named(
        "list of nouns"
    )


def _noun_phrase(np: NP, *, negated: bool, general: bool) -> Phrase:
    thing = Bead()
    phrase = _with_adjectives(np, thing)
    if np.number:
        phrase = say(np.number, NUMERALS[np.number], "numeral") + phrase
    if np.of:
        phrase = (phrase + say("of", "de") + say(np.of.en, np.of.fr)).named("quantity")
    if np.owner:
        phrase = _owned(np, np.owner, phrase)
    elif np.det or "name" not in np.noun.tags:
        phrase = _determiner(np, phrase.fr, thing, negated=negated, general=general) + phrase
    return phrase + np.after


def _with_adjectives(np: NP, thing: Bead) -> Phrase:
    """Put the adjectives before the English noun, and on their sides of the French one."""
    noun = np.noun
    en, fr = (noun.en_plural, noun.fr_plural) if np.plural else (noun.en, noun.fr)
    phrase, after = Phrase(thing(en), thing(fr)), SILENCE
    for adj in reversed(np.adjectives):
        form = french.agree(adj.fr, adj.feminine, features(np))
        if adj.before and not np.plural:
            form = _euphonic(form, phrase.fr[0].text)
        said = say(adj.en, form, f"adjective {'before' if adj.before else 'after'} the noun")
        if adj.before:
            phrase = said + phrase
        else:
            phrase = Phrase(said.en + phrase.en, phrase.fr, phrase.names | said.names)
            after = Phrase((), said.fr) + after
    return phrase + after


def _owned(np: NP, whose: NP, phrase: Phrase) -> Phrase:
    """Say whose it is: the king 's cat, le chat du roi, where "'s" stands for *le* and *de*."""
    owner, bead = nominal(whose).phrase, Bead()
    article = "les" if np.plural else "la" if np.noun.feminine else "le"
    return Phrase(
        owner.en + bead("'s") + phrase.en,
        bead(article, "the") + phrase.fr + bead("de") + owner.fr,
        phrase.names | owner.names | {"owner"},
    )


def _determiner(np: NP, following: Words, thing: Bead, *, negated: bool, general: bool) -> Phrase:
    """Say the determiner; that of a bare noun is said in French alone, on the noun's own bead."""
    bead, column = Bead(), 2 if np.plural else int(np.noun.feminine)
    adjective_first = following[0].beads != (thing,) and not np.number
    match np.det:
        case "all the":
            article = Bead()
            everyone = "toutes" if np.noun.feminine else "tous"
            return Phrase(
                bead("all") + article("the"), bead(everyone) + article("les", "the")
            ).named("quantifier")
        case "":
            if np.number:
                return SILENCE
            if general:
                return Phrase((), thing(DETERMINERS["the"][column], "the"))
            some = _some(np, thing, negated=negated, adjective_first=adjective_first)
            return Phrase((), some, frozenset(["bare noun"]))
        case "some" | "any":
            some = _some(np, bead, negated=negated, adjective_first=adjective_first)
            return Phrase(bead(np.det), some, frozenset(["some or any"]))
        case "a":
            one = "une" if np.noun.feminine else "un"
            return Phrase(bead("a"), bead("de") if negated else bead(one))
    form = _euphonic(DETERMINERS[np.det][column], following[0].text)
    en = bead("these" if np.det == "this" and np.plural else np.det)
    phrase = Phrase(en, bead(form, "the" if np.det == "the" else ""))
    if np.det in POSSESSIVES:
        return phrase.named("possessive")
    if np.det in ("every", "many"):
        return phrase.named("quantifier")
    return phrase.named("demonstrative") if np.det == "this" else phrase


def _some(np: NP, bead: Bead, *, negated: bool, adjective_first: bool) -> Words:
    """Say *du*, *de la*, *des*, or the *de* of a negation and of "de grands chats"."""
    if negated or (np.plural and adjective_first):
        return bead("de", "some")
    if np.plural:
        return bead("des", "some")
    return bead("de", "some") + bead("la" if np.noun.feminine else "le", "some")


def _euphonic(form: str, following: str) -> str:
    """Choose *cet*, *mon*, *bel* … before a vowel sound."""
    return BEFORE_VOWEL.get(form, form) if begins_with_vowel_sound(following) else form
