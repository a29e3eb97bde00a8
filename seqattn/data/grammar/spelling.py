"""What French does to neighbouring words: elision, contraction, and the joining of tokens.

The grammar puts whole words in order; this pass, the last one, lets them meet. Beads travel with
the letters: *à* + *le* is one word, *au*, on the beads of both.
"""

from collections.abc import Sequence
from typing import Literal

from seqattn.data.grammar.phrases import Word, Words

__all__ = ["begins_with_vowel_sound", "detokenize", "spell"]

VOWELS = frozenset("aàâeéèêiîoôuœy")
# "le hibou", "le héros": an h that forbids elision. Other words in h- behave as if it were absent.
ASPIRATED = frozenset(
    [
        "hache",
        "haches",
        "harpe",
        "harpes",
        "hérisson",
        "hérissons",
        "héros",
        "hibou",
        "hiboux",
        "huit",
    ]
)
ELIDED = {"je", "me", "te", "se", "le", "la", "de", "ne", "que"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
NO_BREAK_SPACE = "\u00a0"


def begins_with_vowel_sound(word: str) -> bool:
    """Say whether a preceding word elides before this one.

    Examples
    --------
    >>> [begins_with_vowel_sound(word) for word in ("ami", "homme", "héros", "chat", "onze")]
    [True, True, False, False, False]
    """
    if word[0] == "h":
        return word not in ASPIRATED
    return word[0] in VOWELS and word != "onze"


def spell(words: Words) -> Words:
    """Absorb, elide and contract.

    Words have a *kind* where their spelling hangs on their part of speech: the article *le*
    contracts with *à*, the pronoun *le* does not (à le voir); a partitive or indefinite article
    ("some") vanishes after the preposition *de* (besoin + de + de l'eau = besoin d'eau).
    """
    return tuple(_contract(_elide(_absorb(words))))


def _absorb(words: Words) -> list[Word]:
    kept: list[Word] = []
    for word in words:
        if word.kind == "some" and kept and kept[-1].text == "de" and kept[-1].kind != "some":
            kept[-1] = _merge(kept[-1], word, "de")
        else:
            kept.append(word)
    return kept


def _elide(words: list[Word]) -> list[Word]:
    spelt = list(words)
    for i in range(len(words) - 1):
        text, following = words[i].text, words[i + 1].text
        before_il = text == "si" and following in ("il", "ils")
        if before_il or (text in ELIDED and begins_with_vowel_sound(following)):
            spelt[i] = words[i]._replace(text=text[:-1] + "'")
    return spelt


def _contract(words: list[Word]) -> list[Word]:
    kept: list[Word] = []
    for word in words:
        article = word.kind in ("the", "some")
        contracted = CONTRACTED.get((kept[-1].text, word.text)) if kept and article else None
        if contracted:
            kept[-1] = _merge(kept[-1], word, contracted)
        else:
            kept.append(word)
    return kept


def _merge(first: Word, second: Word, text: str) -> Word:
    beads = first.beads + tuple(bead for bead in second.beads if bead not in first.beads)
    return Word(text, beads, first.kind)


def detokenize(tokens: Sequence[str], language: Literal["en", "fr"]) -> str:
    """Join tokens as they are printed.

    Examples
    --------
    >>> detokenize("l' homme n' a pas vu le chat , mais il rit".split(), "fr")
    "l'homme n'a pas vu le chat, mais il rit"
    >>> detokenize("is the king 's cat asleep ?".split(), "en")
    "is the king's cat asleep?"
    """
    text = " ".join(tokens).replace(" ,", ",")
    if language == "en":
        return text.replace(" 's", "'s").replace(" ?", "?")
    # French sets a question mark off with a space, and the line must not break there.
    return text.replace("' ", "'").replace(" ?", NO_BREAK_SPACE + "?")
