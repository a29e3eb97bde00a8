"""Word vocabularies: one id for each word that the training sentences hold."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from seqattn.data.grammar import detokenize
from seqattn.specials import EOS, PAD, UNK

__all__ = ["SPECIALS", "Words", "join", "tokenize"]

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
# An apostrophe ends a French word (l' homme) and begins an English ending (king 's).
WORDS = {
    "fr": re.compile(r"aujourd'hui|\w+(?:-\w+)*'?|[^\w\s]"),
    "en": re.compile(r"'s\b|\w+(?:-\w+)*|[^\w\s]"),
}


# On the side of a token where the text is not spaced as usual: nothing stands between it and its
# neighbour, or a space does.
GLUE, SPACE = "￭", "▁"


def tokenize(text: str, language: str) -> list[str]:
    """Split a sentence into words and punctuation, in lower case.

    ``join`` undoes it, for any text: what comes back is the text in lower case, with straight
    apostrophes for curly ones and one space wherever there was white space of any kind; at its ends
    there is none. Where that takes more than the usual rules, a mark says so: ``￭`` stands on the
    side of a token that touches its neighbour, ``▁`` where there is a space in spite of the rules.

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
    """Put words together as they are printed: :func:`tokenize`, undone.

    Examples
    --------
    >>> join(["l'", "homme", "rit", "."], "fr")
    "l'homme rit."
    >>> join(tokenize("www.example.org: 1,000 e-mails - don't!", "en"), "en")
    "www.example.org: 1,000 e-mails - don't!"
    """
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
    """Give what usually stands between two tokens, as the grammar prints its sentences."""
    if right[0].isalnum() and not left.endswith("'"):
        return " "
    pair = detokenize([left, right], "fr" if language == "fr" else "en")
    return "" if right in (".", "!", ";", ":") else pair[len(left) : len(pair) - len(right)]


def _count(texts: Iterable[str], language: str) -> Counter[str]:
    return Counter(word for text in texts for word in tokenize(text, language))


def _rank(counts: Counter[str], min_count: int) -> list[str]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [word for word, n in ranked if n >= min_count]


class Words:
    """A vocabulary of words.

    Parameters
    ----------
    words : sequence of str
        All but the special tokens, in the order of their ids, from 4 on.
    language : str
        How to split and to join; see :func:`tokenize`.

    Raises
    ------
    ValueError
        If a word comes twice.

    Examples
    --------
    >>> words = Words.learn(["the cat sat", "the mat"], "en")
    >>> words.encode("The dog sat."), words.decode([4, 6, 2])
    ([4, 3, 7, 3], 'the mat')
    """

    kind = "words"

    def __init__(self, words: Sequence[str], language: str):
        self.words = (*SPECIALS, *words)
        self.language = language
        self._ids = {word: i for i, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            twice = [word for word, n in Counter(self.words).items() if n > 1]
            raise ValueError(f"word {twice[0]!r} comes twice; expected each word once")

    @classmethod
    def learn(cls, texts: Iterable[str], language: str, *, min_count: int = 1) -> "Words":
        """Collect the words of the training sentences: never of those held out.

        Parameters
        ----------
        texts : iterable of str
            Training sentences of one language.
        language : str
            Theirs.
        min_count : int
            How often a word must occur.

        Returns
        -------
        Words
            The commonest word first.
        """
        return cls(_rank(_count(texts, language), min_count), language)

    @classmethod
    def learn_together(
        cls,
        sources: Iterable[str],
        targets: Iterable[str],
        languages: tuple[str, str],
        *,
        min_count: int = 1,
    ) -> "tuple[Words, Words]":
        """Collect the words of both languages: one list for two that split and join differently.

        Parameters
        ----------
        sources, targets : iterables of str
            Training sentences.
        languages : (str, str)
            Of sources and targets.
        min_count : int
            How often a word must occur on one of the two sides.

        Returns
        -------
        (Words, Words)
            Of source and target, with the same ids.
        """
        counts = _count(sources, languages[0]) | _count(targets, languages[1])
        words = _rank(counts, min_count)
        return cls(words, languages[0]), cls(words, languages[1])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str, more: Sequence[str] = ()) -> list[int]:
        """Give the ids of a sentence, without special tokens; unknown words are ``<unk>``.

        Those in ``more`` have ids after the vocabulary's own, in their order.
        """
        beyond = {word: len(self) + n for n, word in enumerate(more)}
        return [
            beyond.get(word, UNK) if (known := self._id(word)) == UNK else known
            for word in tokenize(text, self.language)
        ]

    def _id(self, word: str) -> int:
        """Look a word up; with marks that it never had in training, the same word without."""
        return self._ids.get(word, self._ids.get(without_marks(word), UNK))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many sentences."""
        return [self.encode(text) for text in texts]

    def unknown(self, text: str) -> list[str]:
        """Give the words of a sentence that are not in the vocabulary, each once."""
        words = dict.fromkeys(tokenize(text, self.language))
        return [word for word in words if self._id(word) == UNK]

    def tokens(self, ids: Sequence[int], more: Sequence[str] = ()) -> list[str]:
        """Give what each id stands for, with ``more`` after the vocabulary's own."""
        size = len(self)
        return [self.words[i] if i < size else more[i - size] for i in ids]

    def decode(self, ids: Sequence[int], more: Sequence[str] = ()) -> str:
        """Give the sentence as it is printed; padding and sentence ends are left out."""
        return join(self.tokens([i for i in ids if not PAD <= i <= EOS], more), self.language)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        return {"kind": self.kind, "language": self.language, "words": list(self.words[4:])}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Words":
        """Come back from :meth:`to_dict`."""
        return cls(values["words"], values["language"])
