"""Subword vocabularies by byte-pair encoding: no word is unknown (needs ``seqattn[nmt]``)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from seqattn.data.words import SPECIALS
from seqattn.extras import require
from seqattn.specials import EOS, PAD

__all__ = ["Subwords"]


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
            If the size leaves no room for the 256 bytes.
        """
        if size < 256 + len(SPECIALS):
            raise ValueError(
                f"size is {size}; expected at least {256 + len(SPECIALS)}: "
                "256 bytes and the special tokens"
            )
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
        return [found.ids for found in self._tokenizer.encode_batch([" " + t for t in texts])]

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
