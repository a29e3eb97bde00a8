"""The interface between searches and models: what a search asks of one, and what it gives back."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from jaxtyping import Int
from torch import Tensor

__all__ = ["Hypotheses", "Step", "StepModel", "select"]

Tree = TypeVar("Tree")


class Step(NamedTuple):
    """What one step gives.

    Attributes
    ----------
    logits : (batch, vocabulary)
        Scores of the token that this step produces.
    weights : (batch, keys), or None
        Where it looked; None without attention.
    state : State, or whatever else its decoder carries
        For the next step.
    """

    logits: Tensor
    weights: Tensor | None
    state: Any


@runtime_checkable
class StepModel(Protocol):
    """A model that every search can drive, recurrent or not.

    State and memory are tensors, None, or (named) tuples of such, with the batch first in every
    tensor: a search moves sentences about with :func:`select` and knows nothing else of them.
    """

    def begin(self, source: Tensor, lengths: Tensor) -> tuple[Any, Any]:
        """Read the source; return the first state and what every step will look at."""

    def step(self, tokens: Tensor, state: Any, memory: Any) -> Step:
        """Read the last token of each sentence (batch,); return ``logits, weights, state``."""


class Hypotheses(NamedTuple):
    """Sentences that a search found.

    Attributes
    ----------
    tokens : (batch, steps) integers
        Without ``<bos>``; ``<eos>`` is kept and followed by padding alone. A sentence that was cut
        off at its longest allowed length has no ``<eos>``.
    lengths : (batch,) integers
        Number of tokens, ``<eos>`` included.
    scores : (batch,)
        Total log-probability in nats, before any length penalty; −inf where a search found fewer
        sentences than it was asked for.
    weights : (batch, steps, keys), or None
        Row t is where the model looked to produce token t; zeros at padding.
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor
    weights: Tensor | None


def select(tree: Tree, rows: Int[Tensor, " rows"]) -> Tree:
    """Pick sentences out of a state or a memory, in any order and as often as wanted.

    Parameters
    ----------
    tree : Tensor, None, or a (named) tuple of such
        Every tensor has the batch first.
    rows : (rows,) integers
        Which sentences.

    Returns
    -------
    same kind as tree
        A copy; rows that name one sentence twice share nothing.

    Raises
    ------
    TypeError
        If something else is in the tree.
    ValueError
        If its tensors do not hold the same number of sentences: a mask for all of them, (queries,
        keys) or (1, queries, keys), has no row to pick.

    Examples
    --------
    >>> import torch
    >>> select((torch.tensor([5.0, 6.0]), None), torch.tensor([1, 1, 0]))
    (tensor([6., 6., 5.]), None)
    """
    shapes = list(_shapes(tree))
    if len({shape[:1] for shape in shapes}) > 1 or () in shapes:
        raise ValueError(
            f"a state or a memory holds tensors of shapes {', '.join(map(str, shapes))}; expected "
            "the batch first in all of them (a mask for all sentences is expanded to the batch)"
        )
    return _pick(tree, rows)


def _shapes(tree: Any) -> Iterator[tuple[int, ...]]:
    if isinstance(tree, Tensor):
        yield tuple(tree.shape)
    elif isinstance(tree, tuple):
        for part in tree:
            yield from _shapes(part)
    elif tree is not None:
        raise TypeError(
            f"a state or a memory holds a {type(tree).__name__}; expected tensors with the batch "
            "first, None, and tuples of these"
        )


def _pick(tree: Any, rows: Tensor) -> Any:
    if isinstance(tree, Tensor):
        return tree.index_select(0, rows)
    if tree is None:
        return tree
    parts = [_pick(part, rows) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
