"""What a search asks of a model, and what it gives back."""

from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.models.steps import Step
from seqattn.specials import BOS, PAD

__all__ = ["Hypotheses", "StepModel", "length_limits", "permitted", "rule_out", "select"]

Tree = TypeVar("Tree")


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

    Examples
    --------
    >>> select((torch.tensor([5.0, 6.0]), None), torch.tensor([1, 1, 0]))
    (tensor([6., 6., 5.]), None)
    """
    if tree is None:
        return tree
    if isinstance(tree, Tensor):
        return tree.index_select(0, rows)  # type: ignore[return-value]
    if isinstance(tree, tuple):
        parts = [select(part, rows) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)  # type: ignore
    raise TypeError(
        f"a state or a memory holds a {type(tree).__name__}; expected tensors with the batch "
        "first, None, and tuples of these"
    )


def length_limits(
    max_len: int | Int[Tensor, " batch"], source: Int[Tensor, "batch keys"]
) -> Int[Tensor, " batch"]:
    """Give each sentence its longest allowed length, in tokens."""
    limits = torch.as_tensor(max_len, device=source.device).expand(source.shape[0])
    if limits.numel() and int(limits.min()) < 1:
        raise ValueError(f"max_len is {int(limits.min())}; expected at least 1")
    return limits


def permitted(logits: Float[Tensor, "batch vocabulary"]) -> Float[Tensor, "batch vocabulary"]:
    """Rule out what is never an output: padding and ``<bos>``.

    Other tokens keep the log-probability that the model gives them; nothing is shared out anew.
    """
    return rule_out(logits.clone())


def rule_out(scores: Float[Tensor, "batch vocabulary"]) -> Float[Tensor, "batch vocabulary"]:
    """Rule out padding and ``<bos>`` in place."""
    scores[:, [PAD, BOS]] = -torch.inf
    return scores
