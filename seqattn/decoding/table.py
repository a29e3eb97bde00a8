"""A model that is a table of probabilities: what every search can be tried on by hand."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from seqattn.decoding.interface import Hypotheses, Step
from seqattn.specials import BOS, EOS, PAD, SPECIALS

__all__ = ["Table", "TableModel"]

END = SPECIALS[EOS]
NEVER_WRITTEN = (SPECIALS[PAD], SPECIALS[BOS])

Table = Mapping[str, Mapping[str, float]]
"""The probability of each next word after a beginning: its words with spaces between; "" at first.

``"<eos>"`` ends a sentence.
"""


class TableModel:
    """Next words as a table has them, for any search: it offers ``begin`` and ``step``.

    Parameters
    ----------
    table : mapping
        From a beginning to the probabilities of the next word. A beginning that is not listed ends
        there. What is missing to 1 belongs to words that no search may take.

    Attributes
    ----------
    words : list of str
        The vocabulary, special tokens first; a word's place is its id.
    longest : int
        No sentence of the table has more tokens, its end included.

    Raises
    ------
    ValueError
        If there is no row for the empty beginning, a beginning is not words with a space between,
        a row has no word, or one that no search may write, a number is no probability, or a row
        sums to more than 1.

    Examples
    --------
    Greedy search takes *a*, and there is something better:

    >>> from seqattn.decoding import beam_search, greedy
    >>> table = {"": {"a": 0.6, "b": 0.4}, "a": {"c": 0.6, "<eos>": 0.4}}
    >>> model = TableModel(table)
    >>> [model.read(find(model, *model.source)) for find in (greedy, beam_search)]
    [['a c'], ['b']]
    """

    def __init__(self, table: Table):
        self.table = checked(table)
        seen = {word: None for row in table.values() for word in row if word not in SPECIALS}
        self.words = [*SPECIALS, *seen]
        self.longest = 2 + max(len(beginning.split()) for beginning in table)
        ids = {word: i for i, word in enumerate(self.words)}
        places = {beginning: i for i, beginning in enumerate(table)}
        ends = len(places)  # where all beginnings go that are not listed
        self._start = places[""]
        self._logits = torch.full((ends + 1, len(ids)), -torch.inf, dtype=torch.float64)
        self._logits[ends, EOS] = 0.0
        self._next = torch.full((ends + 1, len(ids)), ends)
        self._next[:, BOS] = self._start
        for beginning, row in table.items():
            at = places[beginning]
            for word, p in row.items():
                self._logits[at, ids[word]] = math.log(p) if p else -torch.inf
                self._next[at, ids[word]] = places.get(f"{beginning} {word}".strip(), ends)
            # No search takes padding, and none shares anew what it leaves out.
            rest = 1 - sum(row.values())
            self._logits[at, PAD] = math.log(rest) if rest > 1e-12 else -torch.inf

    @property
    def source(self) -> tuple[Tensor, Tensor]:
        """A source of one sentence, and its length: the table has read it already."""
        return torch.tensor([[EOS]]), torch.tensor([1])

    def begin(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, None]:
        """Begin each sentence at the empty beginning."""
        return torch.full((len(source),), self._start), None

    def step(self, tokens: Tensor, state: Tensor, memory: None) -> Step:
        """Read the last token of each sentence and look the next ones up."""
        state = self._next[state, tokens]
        return Step(self._logits[state], None, state)

    def read(self, found: Hypotheses) -> list[str]:
        """Give the words of what a search found, without the ends."""
        return [
            " ".join(self.words[i] for i in row if i not in (PAD, EOS))
            for row in found.tokens.tolist()
        ]


def checked(table: Table) -> Table:
    """Give the table back, or say what is wrong with it."""
    if "" not in table:
        raise ValueError('the table has no row for ""; expected the first words there')
    for beginning, row in table.items():
        if " ".join(filter(None, beginning.split(" "))) != beginning:
            raise ValueError(
                f"the beginning {beginning!r} has a space too many; expected words with one space "
                "between, and none at the ends"
            )
        if not any(row.values()):
            raise ValueError(
                f"after {beginning!r} the table has no word; expected no row where a sentence ends"
            )
        for word, p in row.items():
            if not isinstance(word, str) or not word or " " in word or word in NEVER_WRITTEN:
                raise ValueError(
                    f"after {beginning!r} the table has {word!r}; expected one word, which is not "
                    f"{' or '.join(NEVER_WRITTEN)}"
                )
            if not 0 <= p <= 1:
                raise ValueError(
                    f"after {beginning!r} the table gives {word!r} {p}; expected from 0 to 1"
                )
        if sum(row.values()) > 1 + 1e-6:
            raise ValueError(
                f"after {beginning!r} the table's row sums to {sum(row.values()):.3f}; "
                "expected at most 1"
            )
    return table
