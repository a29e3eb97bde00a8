"""Batches of sentences of similar length: nearly without padding, and the same on every run."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from seqattn.data.pairs import TextPair
from seqattn.data.vocabulary import Vocabularies
from seqattn.settings import check_whole
from seqattn.specials import BOS, EOS, PAD

__all__ = ["Batch", "Batches", "Example", "encode_pairs", "make_batch", "pad"]

# Batches have a multiple of so many rows, and sources a multiple of so many columns: then there are
# fewer shapes, for each of which a training on a GPU records an update.
ROWS, COLUMNS = 8, 4


class Example(NamedTuple):
    """A pair as ids, each sentence ended by ``<eos>``."""

    source: list[int]
    target: list[int]


class Batch(NamedTuple):
    """Some pairs as tensors, padded with 0 on the right.

    Attributes
    ----------
    source : (batch, keys) integers
        Source tokens, ``<eos>`` last.
    lengths : (batch,) integers
        Numbers of real source tokens.
    inputs : (batch, steps) integers
        What the decoder reads: ``<bos>``, then the target without its ``<eos>``.
    targets : (batch, steps) integers
        What it is to produce: the target, ``<eos>`` last. Column t follows column t of ``inputs``.
    rows : list of int
        Which examples these are.
    """

    source: Tensor
    lengths: Tensor
    inputs: Tensor
    targets: Tensor
    rows: list[int]

    @property
    def tokens(self) -> int:
        """Number of real target tokens: what a loss is averaged over."""
        return int((self.targets != PAD).sum())

    def to(self, device: torch.device | str) -> "Batch":
        """Move every tensor."""
        source, lengths, inputs, targets = (part.to(device) for part in self[:4])
        return Batch(source, lengths, inputs, targets, self.rows)


def encode_pairs(
    pairs: Sequence[TextPair], vocabularies: Vocabularies, *, copying: bool = False
) -> list[Example]:
    """Turn pairs into ids, with ``<eos>``.

    For a model that copies, the unknown words of a source have ids after those of the vocabulary,
    in the order in which they come, and so they have in its target; see
    :class:`~seqattn.models.PointerGenerator`.
    """
    if copying:
        found = []
        for pair in pairs:
            oov_words = vocabularies.source.unknown(pair.source)
            source = vocabularies.source.encode(pair.source, oov_words)
            found.append(
                Example([*source, EOS], [*vocabularies.target.encode(pair.target, oov_words), EOS])
            )
        return found
    sources = vocabularies.source.encode_all([pair.source for pair in pairs])
    targets = vocabularies.target.encode_all([pair.target for pair in pairs])
    return [Example([*s, EOS], [*t, EOS]) for s, t in zip(sources, targets, strict=True)]


def pad(sentences: Sequence[Sequence[int]], columns: int = 1) -> Int[Tensor, "batch columns"]:
    """Put sentences below each other, padded to a multiple of ``columns``.

    Examples
    --------
    >>> pad([[5, 6, 2], [7, 2]], columns=2)
    tensor([[5, 6, 2, 0],
            [7, 2, 0, 0]])
    """
    width = -(-max(map(len, sentences)) // columns) * columns
    return torch.tensor([[*s, *[PAD] * (width - len(s))] for s in sentences])


def make_batch(examples: Sequence[Example], rows: Sequence[int]) -> Batch:
    """Put some examples into tensors, and shift the targets.

    Examples
    --------
    >>> batch = make_batch([Example([5, 2], [6, 7, 2]), Example([8, 9, 2], [4, 2])], rows=[0, 1])
    >>> batch.inputs.tolist(), batch.targets.tolist()
    ([[1, 6, 7], [1, 4, 0]], [[6, 7, 2], [4, 2, 0]])
    """
    chosen = [examples[row] for row in rows]
    return Batch(
        source=pad([example.source for example in chosen], COLUMNS),
        lengths=torch.tensor([len(example.source) for example in chosen]),
        inputs=pad([[BOS, *example.target[:-1]] for example in chosen]),
        targets=pad([example.target for example in chosen]),
        rows=list(rows),
    )


class Batches:
    """Examples, in batches of sentences of similar length.

    An epoch holds each example once. Examples are ordered by target length, then by source length,
    and cut into batches; equals are shuffled before, batches after. So every epoch has the same
    shapes, in another order, and it depends on seed and number alone: a run can be taken up at any
    batch.

    Parameters
    ----------
    examples : sequence of Example
        From :func:`encode_pairs`.
    tokens : int
        Most target tokens in a batch, padding included. A batch has at least 8 rows all the same,
        if there are as many.
    seed : int
        Seed of the shuffles.

    Raises
    ------
    ValueError
        If there are no examples, or ``tokens`` is no whole number or below 1.

    Examples
    --------
    >>> examples = [Example([5] * n + [2], [6] * n + [2]) for n in range(1, 20)]
    >>> batches = Batches(examples, tokens=100)
    >>> [tuple(batch.targets.shape) for batch in batches.epoch(0)]
    [(8, 12), (3, 4), (8, 20)]
    """

    def __init__(self, examples: Sequence[Example], *, tokens: int = 2048, seed: int = 0):
        check_whole("tokens", tokens, least=1)
        if not examples:
            raise ValueError("no examples; expected at least 1")
        self.examples = examples
        self.tokens = tokens
        self.seed = seed
        self._sizes = [(len(target), len(source)) for source, target in examples]
        self._length = len(self._cut(self._order(Random(0))))

    def __len__(self) -> int:
        """Give the number of batches in an epoch."""
        return self._length

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Give the batches of an epoch, from one of them on.

        Raises
        ------
        ValueError
            If there is no such batch; ``len(self)`` stands behind the last one.
        """
        check_whole("start", start, least=0)
        if start > len(self):
            raise ValueError(f"start is {start}; expected at most {len(self)}, all the batches")
        return map(self.take, self.plan(number)[start:])

    def take(self, rows: Sequence[int]) -> Batch:
        """Make a batch of these rows; without any, one whose targets are all padding.

        Several processes share each batch. One that has no row of it still takes part, with a loss
        of 0.

        Raises
        ------
        TypeError
            If the rows are no sequence.
        ValueError
            If a row is no whole number from 0 to below the number of examples.
        """
        if not isinstance(rows, Sequence):
            raise TypeError(f"rows are {rows!r}; expected a list of numbers of examples")
        for row in rows:
            check_whole("a row", row, least=0)
            if row >= len(self.examples):
                raise ValueError(f"a row is {row}; expected below {len(self.examples)}")
        if rows:
            return make_batch(self.examples, rows)
        idle = make_batch(self.examples, [0])
        return idle._replace(targets=torch.full_like(idle.targets, PAD), rows=[])

    def count_tokens(self, rows: Sequence[int]) -> int:
        """Count the target tokens of these rows, padding left out."""
        return sum(self._sizes[row][0] for row in rows)

    def plan(self, number: int) -> list[list[int]]:
        """Give the rows of each batch of an epoch."""
        # A text as seed: the same stream in every version of Python.
        rng = Random(f"{self.seed} {number}")
        batches = self._cut(self._order(rng))
        rng.shuffle(batches)
        return batches

    def _order(self, rng: Random) -> list[int]:
        """Sort the rows, longest first; sources up and down in turn, so that neighbours match."""
        rows = list(range(len(self.examples)))
        rng.shuffle(rows)

        def key(row: int) -> tuple[int, int]:
            target, source = self._sizes[row]
            return -target, source if target % 2 else -source

        return sorted(rows, key=key)

    def _cut(self, order: list[int]) -> list[list[int]]:
        batches, start = [], 0
        while start < len(order):
            size = self._rows(self._sizes[order[start]][0])
            # Sources far longer than targets take their room, too.
            widest = max(self._sizes[row][1] for row in order[start : start + size])
            size = min(size, self._rows(widest // 2))
            batches.append(order[start : start + size])
            start += size
        return batches

    def _rows(self, columns: int) -> int:
        return max(self.tokens // max(columns, 1) // ROWS, 1) * ROWS
