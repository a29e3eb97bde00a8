"""A rule to measure translators against: it has learned nothing, and looks sentences up."""

from collections.abc import Sequence

import torch

from seqattn.data.pairs import TextPair

__all__ = ["copy_nearest", "one_word_away"]


def copy_nearest(pairs: Sequence[TextPair], train: Sequence[TextPair]) -> list[str]:
    """Give each source the translation of the training source that is most like it.

    That is the one of as many words with the most words in the same places. Where no training
    source is as long, all of them are asked.

    Parameters
    ----------
    pairs : sequence of TextPair
        Whose sources are to be translated; their targets are not read.
    train : sequence of TextPair
        What to copy from, at least one pair. Words are what white space separates.

    Returns
    -------
    list of str
        A training target for each pair. Among equally near ones the first wins.

    Raises
    ------
    ValueError
        If there is nothing to copy from.

    Examples
    --------
    >>> train = [TextPair("a cat sat", "un chat assis"), TextPair("a dog ran", "un chien a couru")]
    >>> copy_nearest([TextPair("the dog ran", "")], train)
    ['un chien a couru']
    """
    if not train:
        raise ValueError("no training pairs; expected at least one to copy from")
    number: dict[str, int] = {}
    known = [[number.setdefault(word, len(number)) for word in p.source.split()] for p in train]
    rows_of: dict[int, list[int]] = {}
    for row, ids in enumerate(known):
        rows_of.setdefault(len(ids), []).append(row)
    tables: dict[int, tuple[list[int], torch.Tensor]] = {}
    found = []
    for pair in pairs:
        asked = torch.tensor([number.get(word, -1) for word in pair.source.split()])
        width = len(asked)
        if width not in tables:
            rows = rows_of.get(width) or list(range(len(train)))
            # -2 stands where a shorter source has no word: like nothing.
            padded = [known[row][:width] + [-2] * (width - len(known[row])) for row in rows]
            tables[width] = rows, torch.tensor(padded).view(len(rows), width)
        rows, table = tables[width]
        shared = table.eq(asked).sum(1)
        found.append(train[rows[int((shared == shared.max()).nonzero()[0])]].target)
    return found


def one_word_away(pairs: Sequence[TextPair], train: Sequence[TextPair]) -> list[bool]:
    """Say of each source whether exchanging one word of it, or none, gives a training source.

    Parameters
    ----------
    pairs, train : sequences of TextPair
        Whose sources are compared. Words are what white space separates.

    Returns
    -------
    list of bool
        One for each of the pairs.

    Examples
    --------
    >>> train = [TextPair("the cat sat", "le chat s'est assis")]
    >>> one_word_away([TextPair("the dog sat", ""), TextPair("the dog ran", "")], train)
    [True, False]
    """
    seen = {hole for pair in train for hole in _holes(pair)}
    return [not seen.isdisjoint(_holes(pair)) for pair in pairs]


def _holes(pair: TextPair) -> list[tuple[str | None, ...]]:
    """Give the source as it is, and with each of its words left out in turn."""
    words = pair.source.split()
    return [tuple(words), *((*words[:i], None, *words[i + 1 :]) for i in range(len(words)))]
