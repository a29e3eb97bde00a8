"""Vocabularies: tokens to ids and back, of whole words or of subwords, for both languages.

:class:`Vocabulary` says what the rest of the package asks of one. :class:`Words` has an id for each
word of the training sentences, :class:`Subwords` (needs ``seqattn[nmt]``) for the pieces that
byte-pair encoding finds. :class:`Vocabularies` holds the two of a translator.
"""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from seqattn.data.pairs import TextPair
from seqattn.data.tokenization import join, tokenize, without_marks
from seqattn.extras import require
from seqattn.settings import check_whole, refuse_text
from seqattn.specials import EOS, PAD, SPECIALS, UNK

__all__ = ["Subwords", "Vocabularies", "Vocabulary", "Words"]


@runtime_checkable
class Vocabulary(Protocol):
    """Text to ids and back. Ids 0 to 3 are those of ``seqattn.specials``.

    Attributes
    ----------
    kind : str
        "words" or "subwords".
    """

    kind: str

    def __len__(self) -> int:
        """Give the number of tokens, the special ones included."""

    def encode(self, text: str, more: Sequence[str] = ()) -> list[int]:
        """Give the ids of a sentence, without special tokens.

        ``more`` are out-of-vocabulary words that have ids of their own, after all others.
        """

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many sentences."""

    def unknown(self, text: str) -> list[str]:
        """Give the words of a sentence that it cannot hold."""

    def tokens(self, ids: Sequence[int], more: Sequence[str] = ()) -> list[str]:
        """Give what each id stands for, legibly."""

    def decode(self, ids: Sequence[int], more: Sequence[str] = ()) -> str:
        """Give the sentence as it is printed; padding and sentence ends are left out."""

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""


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
    TypeError
        If one string is given where several are due, here or to a method.

    Examples
    --------
    >>> words = Words.learn(["the cat sat", "the mat"], "en")
    >>> words.encode("The dog sat."), words.decode([4, 6, 2])
    ([4, 3, 7, 3], 'the mat')
    """

    kind = "words"

    def __init__(self, words: Sequence[str], language: str):
        refuse_text("words", words, "a list of words")
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

        Raises
        ------
        ValueError
            If ``min_count`` is no whole number or below 1.
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

        Raises
        ------
        ValueError
            If ``min_count`` is no whole number or below 1.
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
        refuse_text("more", more, "a list of words")
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
        refuse_text("texts", texts, "a list of sentences")
        return [self.encode(text) for text in texts]

    def unknown(self, text: str) -> list[str]:
        """Give the words of a sentence that are not in the vocabulary, each once."""
        words = dict.fromkeys(tokenize(text, self.language))
        return [word for word in words if self._id(word) == UNK]

    def tokens(self, ids: Sequence[int], more: Sequence[str] = ()) -> list[str]:
        """Give what each id stands for, with ``more`` after the vocabulary's own."""
        refuse_text("more", more, "a list of words")
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


def _count(texts: Iterable[str], language: str) -> Counter[str]:
    refuse_text("texts", texts, "many sentences")
    return Counter(word for text in texts for word in tokenize(text, language))


def _rank(counts: Counter[str], min_count: int) -> list[str]:
    check_whole("min_count", min_count, least=1)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [word for word, n in ranked if n >= min_count]


class Subwords:
    """A vocabulary of frequent pieces of words, found by byte-pair encoding.

    The pieces are made of bytes, all 256 of which are in it: every text in every script can be
    written with them, and what is decoded is what was encoded, to the last space. Pieces do not
    cross words; the space before a word belongs to its first piece.

    Parameters
    ----------
    pieces : sequence of str
        All but the special tokens, in the order of their ids, from 4 on, each byte as one letter.
    merges : sequence of (str, str)
        Which pieces grow together, the most important first.

    Raises
    ------
    TypeError
        If one string is given where several are due, here or to a method.

    References
    ----------
    Sennrich, Haddow and Birch (2016), "Neural Machine Translation of Rare Words with Subword
    Units"; Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", for bytes.

    Examples
    --------
    >>> texts = ["der große Hund", "ein großer Hund", "die Hunde"] * 9
    >>> subwords = Subwords.learn(texts, size=270)
    >>> subwords.tokens(subwords.encode("große Hunde"))
    ['▁gr', 'oß', 'e', '▁Hund', 'e']
    >>> subwords.decode(subwords.encode("  Ünknown,  wörds 🐈 "))
    '  Ünknown,  wörds 🐈 '
    """

    kind = "subwords"

    def __init__(self, pieces: Sequence[str], merges: Sequence[tuple[str, str]]):
        tokenizers = require("tokenizers", "a subword vocabulary", "nmt")
        refuse_text("pieces", pieces, "a list of pieces")
        self.pieces = (*SPECIALS, *pieces)
        self.merges = [(left, right) for left, right in merges]
        # The special tokens are not announced as such: a text that spells "<eos>" stays a text.
        self._tokenizer = tokenizers.Tokenizer(
            tokenizers.models.BPE(
                vocab={piece: i for i, piece in enumerate(self.pieces)}, merges=self.merges
            )
        )
        self._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        self._tokenizer.decoder = tokenizers.decoders.ByteLevel()

    @classmethod
    def learn(cls, texts: Iterable[str], size: int = 8_000) -> "Subwords":
        """Find the pieces in training sentences: never in those held out.

        Parameters
        ----------
        texts : iterable of str
            Training sentences; of both languages for a joint vocabulary.
        size : int
            Number of tokens, the special ones included; fewer if the texts do not hold as many.

        Returns
        -------
        Subwords
            The vocabulary.

        Raises
        ------
        ValueError
            If the size is no whole number, or leaves no room for the 256 bytes.
        """
        check_whole("size", size)
        if size < 256 + len(SPECIALS):
            raise ValueError(
                f"size is {size}; expected at least {256 + len(SPECIALS)}: "
                "256 bytes and the special tokens"
            )
        refuse_text("texts", texts, "many sentences")
        tokenizers = require("tokenizers", "a subword vocabulary", "nmt")
        learner = tokenizers.Tokenizer(tokenizers.models.BPE())
        learner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size - len(SPECIALS),
            min_frequency=2,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        learner.train_from_iterator((" " + text for text in texts), trainer)
        model = json.loads(learner.to_str())["model"]
        pieces = sorted(model["vocab"], key=model["vocab"].get)
        # Older versions write a merge as "left right".
        merges = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
        return cls(pieces, [(left, right) for left, right in merges])

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str, more: Sequence[str] = ()) -> list[int]:
        """Give the ids of a sentence, without special tokens; no word is beyond them."""
        return self._tokenizer.encode(" " + text).ids

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many sentences."""
        refuse_text("texts", texts, "a list of sentences")
        return [found.ids for found in self._tokenizer.encode_batch([" " + t for t in texts])]

    def word_numbers(self, text: str, language: str) -> list[int]:
        """Say which word of the text each piece belongs to.

        A model of pieces draws maps between pieces, and people link words:
        :func:`~seqattn.metrics.merge_pieces` takes these numbers from the one to the other. The
        pieces of ``encode`` alone are numbered; ``<eos>`` is a further word of its own.

        Parameters
        ----------
        text : str
            As it was encoded.
        language : str
            Of the words; see :func:`~seqattn.data.tokenize`.

        Returns
        -------
        list of int
            For each piece the number of its word, from 0 and in order. White space counts with the
            word that follows.

        Raises
        ------
        ValueError
            If there is no word in the text.

        Examples
        --------
        >>> subwords = Subwords.learn(["les hiboux mangent"] * 9, size=268)
        >>> pieces = subwords.tokens(subwords.encode("les hiboux"))
        >>> numbers = subwords.word_numbers("les hiboux", "fr")
        >>> ["".join(p for p, n in zip(pieces, numbers) if n == word) for word in (0, 1)]
        ['▁les', '▁hiboux']
        """
        ends, at, folded = [], 0, text.lower().replace("’", "'")
        for token in tokenize(text, language):
            word = without_marks(token)
            at = folded.index(word, at) + len(word)
            ends.append(at)
        if not ends:
            raise ValueError(f"{text!r} has no word; expected a sentence")
        pieces = self._tokenizer.encode(" " + text).offsets  # one letter further on, by the space
        return [min(bisect_left(ends, end - 1), len(ends) - 1) for _, end in pieces]

    def unknown(self, text: str) -> list[str]:
        """Give nothing: bytes spell every text."""
        return []

    def tokens(self, ids: Sequence[int], more: Sequence[str] = ()) -> list[str]:
        """Give what each id stands for, legibly: ▁ is a space, � a part of a letter."""
        return [SPECIALS[i] if i < len(SPECIALS) else self._text([i]) for i in ids]

    def decode(self, ids: Sequence[int], more: Sequence[str] = ()) -> str:
        """Give the sentence as it is printed; padding and sentence ends are left out."""
        text = self._tokenizer.decode([i for i in ids if not PAD <= i <= EOS])
        return text.removeprefix(" ")

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        return {
            "kind": self.kind,
            "pieces": list(self.pieces[len(SPECIALS) :]),
            "merges": [list(merge) for merge in self.merges],
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Subwords":
        """Come back from :meth:`to_dict`."""
        return cls(values["pieces"], [(left, right) for left, right in values["merges"]])

    def _text(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids)).replace(" ", "▁")


class Vocabularies(NamedTuple):
    """Both vocabularies of a translator.

    Attributes
    ----------
    source, target : Vocabulary
        One and the same object if subwords were learnt together; whole words that were are two
        lists with the same ids.
    """

    source: Vocabulary
    target: Vocabulary

    @classmethod
    def learn(
        cls,
        pairs: Sequence[TextPair],
        languages: tuple[str, str],
        *,
        subwords: int = 0,
        joint: bool = False,
        min_count: int = 1,
    ) -> "Vocabularies":
        """Learn both from the training pairs.

        Parameters
        ----------
        pairs : sequence of TextPair
            Training pairs; nothing that is held out.
        languages : (str, str)
            Of source and target.
        subwords : int
            Size of a subword vocabulary; 0 for whole words.
        joint : bool
            Whether the two languages share one vocabulary.
        min_count : int
            How often a word must occur; of whole words alone.

        Returns
        -------
        Vocabularies
            Source and target.

        Raises
        ------
        ValueError
            If ``min_count`` is no whole number of at least 1, or asked of subwords, or ``subwords``
            leaves no room for all bytes.

        Examples
        --------
        >>> pairs = [TextPair("the cat", "le chat"), TextPair("the owl", "le hibou")]
        >>> [len(v) for v in Vocabularies.learn(pairs, ("en", "fr"))]
        [7, 7]
        """
        check_whole("min_count", min_count, least=1)
        if subwords and min_count != 1:
            raise ValueError(
                f"min_count is {min_count} and subwords is {subwords}; expected whole words "
                "(subwords=0) with it: subwords spell rare words"
            )
        sources, targets = [p.source for p in pairs], [p.target for p in pairs]
        if joint and not subwords:
            return cls(*Words.learn_together(sources, targets, languages, min_count=min_count))
        if joint:
            shared = Subwords.learn([*sources, *targets], subwords)
            return cls(shared, shared)
        if subwords:
            return cls(Subwords.learn(sources, subwords), Subwords.learn(targets, subwords))
        return cls(
            Words.learn(sources, languages[0], min_count=min_count),
            Words.learn(targets, languages[1], min_count=min_count),
        )

    @property
    def shared(self) -> bool:
        """Whether an id means the same token in both languages."""
        if isinstance(self.source, Words) and isinstance(self.target, Words):
            return self.source.words == self.target.words
        return self.source is self.target

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        shared = self.source is self.target
        return {
            "source": self.source.to_dict(),
            "target": None if shared else self.target.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Vocabularies":
        """Come back from :meth:`to_dict`."""
        source = _from_dict(values["source"])
        return cls(source, source if values["target"] is None else _from_dict(values["target"]))


def _from_dict(values: dict[str, Any]) -> Vocabulary:
    kinds = {kind.kind: kind for kind in (Words, Subwords)}
    if values["kind"] not in kinds:
        raise ValueError(
            f"vocabulary of kind {values['kind']!r}; expected one of {', '.join(kinds)}"
        )
    return kinds[values["kind"]].from_dict(values)
