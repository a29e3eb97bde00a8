"""Tokenization: a sentence into words and punctuation, and back, to the last space."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from seqattn.settings import refuse_text

__all__ = ["detokenize", "join", "tokenize", "without_marks"]

# An apostrophe ends a French word (l' homme) and begins an English ending (king 's).
WORDS = {
    "fr": re.compile(r"aujourd'hui|\w+(?:-\w+)*'?|[^\w\s]"),
    "en": re.compile(r"'s\b|\w+(?:-\w+)*|[^\w\s]"),
}
NO_BREAK_SPACE = "\u00a0"
# On the side of a token where the text is not spaced as usual: nothing stands between it and its
# neighbour, or a space does.
GLUE, SPACE = "￭", "▁"


def tokenize(text: str, language: str) -> list[str]:
    """Split a sentence into words and punctuation, in lower case.

    :func:`join` undoes it, for any text (:func:`detokenize` does not): what comes back is the text
    in lower case, with straight apostrophes for curly ones and one space wherever there was white
    space of any kind; at its ends there is none. Where that takes more than the usual rules, a mark
    says so: ``￭`` stands on the side of a token that touches its neighbour, ``▁`` where there is a
    space in spite of the rules.

    Parameters
    ----------
    text : str
        As it is printed.
    language : str
        "fr" for French apostrophes and question marks; any other language is treated like English.

    Examples
    --------
    >>> tokenize("L’homme n'a pas vu le chat.", "fr")
    ["l'", 'homme', "n'", 'a', 'pas', 'vu', 'le', 'chat', '.']
    >>> tokenize("Is the king's cat asleep?", "en")
    ['is', 'the', 'king', "'s", 'cat', 'asleep', '?']
    >>> tokenize("Don't pay $3.5 (yet)...", "en")
    ['don', "￭'￭", 't', 'pay', '$￭', '3', '.￭', '5', '(￭', 'yet', '￭)', '.', '.', '.']
    """
    text = text.lower().replace("’", "'")
    found = list(WORDS["fr" if language == "fr" else "en"].finditer(text))
    tokens = [match[0] for match in found]
    # Marks go to punctuation, so that a word is the same word within brackets.
    words = [token[0].isalnum() or token[0] == "_" for token in tokens]
    marked = tokens.copy()
    for i, (left, right) in enumerate(pairwise(found)):
        spaced = left.end() < right.start()
        if spaced == bool(_between(left[0], right[0], language)):
            continue
        mark = SPACE if spaced else GLUE
        if words[i + 1] and not words[i] and tokens[i] not in (GLUE, SPACE):
            marked[i] += mark
        else:
            marked[i + 1] = mark + marked[i + 1]
    return marked


def join(tokens: Sequence[str], language: str) -> str:
    """Put tokens together as a text: the inverse of :func:`tokenize`, which reads its marks.

    Raises
    ------
    TypeError
        If the tokens are one string.

    Examples
    --------
    >>> join(["l'", "homme", "rit", "."], "fr")
    "l'homme rit."
    >>> join(tokenize("www.example.org: 1,000 e-mails - don't!", "en"), "en")
    "www.example.org: 1,000 e-mails - don't!"
    """
    refuse_text("tokens", tokens, "a list of tokens, as tokenize gives it")
    text, before, after = "", "", ""
    for number, token in enumerate(tokens):
        mark, word, mark_after = _split_marks(token)
        if number:
            asked = mark or after
            usual = _between(before, word, language)
            text += {GLUE: "", SPACE: " "}.get(asked, usual)
        text += word
        before, after = word, mark_after
    return text


def without_marks(token: str) -> str:
    """Give a token as it stands in the text.

    Examples
    --------
    >>> without_marks("￭)"), without_marks("word")
    (')', 'word')
    """
    return _split_marks(token)[1]


def _split_marks(token: str) -> tuple[str, str, str]:
    """Take the marks off: the one before, the token, the one after. One alone is a token itself."""
    before = after = ""
    if len(token) > 1 and token[0] in (GLUE, SPACE):
        before, token = token[0], token[1:]
    if len(token) > 1 and token[-1] in (GLUE, SPACE):
        token, after = token[:-1], token[-1]
    return before, token, after


def _between(left: str, right: str, language: str) -> str:
    """Give what usually stands between two tokens: what :func:`detokenize` puts there."""
    if right[0].isalnum() and not left.endswith("'"):
        return " "
    pair = detokenize([left, right], "fr" if language == "fr" else "en")
    return "" if right in (".", "!", ";", ":") else pair[len(left) : len(pair) - len(right)]


def detokenize(tokens: Sequence[str], language: Literal["en", "fr"]) -> str:
    """Set the words of the toy corpus as they are printed; not the inverse of :func:`tokenize`.

    It knows the usual spaces of English and French and reads no marks: :func:`join` takes any text
    that :func:`tokenize` split back to what it was.

    Raises
    ------
    TypeError
        If the tokens are one string.

    Examples
    --------
    >>> detokenize("l' homme n' a pas vu le chat , mais il rit".split(), "fr")
    "l'homme n'a pas vu le chat, mais il rit"
    >>> detokenize("is the king 's cat asleep ?".split(), "en")
    "is the king's cat asleep?"
    """
    refuse_text("tokens", tokens, "a list of tokens, as tokenize gives it")
    text = " ".join(tokens).replace(" ,", ",")
    if language == "en":
        return text.replace(" 's", "'s").replace(" ?", "?")
    # French sets a question mark off with a space, and the line must not break there.
    return text.replace("' ", "'").replace(" ?", NO_BREAK_SPACE + "?")
