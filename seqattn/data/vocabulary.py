"""What the rest of the package asks of a vocabulary, and the two that a translator has."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from seqattn.data.pairs import TextPair
from seqattn.data.subwords import Subwords
from seqattn.data.words import Words

__all__ = ["Vocabularies", "Vocabulary"]


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

        ``more`` are unknown words that have ids of their own, after all others.
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


class Vocabularies(NamedTuple):
    """Both vocabularies of a translator.

    Attributes
    ----------
    source, target : Vocabulary
        One and the same object if they were learnt together.
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
            If words are to be shared.

        Examples
        --------
        >>> pairs = [TextPair("the cat", "le chat"), TextPair("the owl", "le hibou")]
        >>> [len(v) for v in Vocabularies.learn(pairs, ("en", "fr"))]
        [7, 7]
        """
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
