"""Small changes of French sentences, each to be held against what a score says of it."""

from collections.abc import Callable

__all__ = ["EDITS"]


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _misspelt(sentence: str) -> str:
    words = sentence.split(" ")
    if not words[-1].isalpha():
        return sentence
    last = words[-1]
    words[-1] = last[:-1] if last.endswith("e") and len(last) > 2 else last + "e"
    return " ".join(words)


def _twice(sentence: str) -> str:
    words = sentence.split(" ")
    middle = len(words) // 2
    return " ".join([*words[: middle + 1], *words[middle:]])


def _front(sentence: str) -> str:
    words = sentence.split(" ")
    return " ".join([*words[-2:], *words[:-2]])


def _opposite(sentence: str) -> str:
    words = sentence.split(" ")
    if "ne" not in words or "pas" not in words[words.index("ne") :]:
        return sentence
    words.remove("ne")
    words.remove("pas")
    return " ".join(words)


EDITS: dict[str, Callable[[str], str]] = {
    "capital first": _capital,
    "last word misspelt": _misspelt,
    "a word twice": _twice,
    "last two words first": _front,
    "not dropped": _opposite,
}
"""Functions from a sentence to the edited one.

"last word misspelt" puts an *e* at the end or takes it away, and leaves questions alone; "not
dropped" leaves out *ne* and *pas*. Where an edit finds nothing to change, the sentence stays as it
is.

>>> EDITS["not dropped"]("le hibou ne dort pas")
'le hibou dort'
"""
