"""What every attention offers, so that any decoder can use it."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

__all__ = ["Mechanism", "Memory", "Past"]


class Memory(NamedTuple):
    """A source sentence, made ready for many queries by ``remember``.

    Attributes
    ----------
    keys : (batch, keys, d_projected)
        Keys after ``score.project_keys``; with several heads (batch, heads, keys, d_head).
    values : (batch, keys, d_value)
        What the weighted sum is taken of; with several heads (batch, heads, keys, d_head).
    mask : (batch, keys) bool, or None
        True where a position may be attended.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor | None = None


class Past(NamedTuple):
    """What a step must know of those before it; a decoder carries it in its state.

    Attributes
    ----------
    step : (batch,) integers, or None
        Number of steps before.
    coverage : (batch, keys), or None
        Sum of the weights of those steps.
    """

    step: Tensor | None = None
    coverage: Tensor | None = None


class Mechanism(nn.Module):
    """A kind of attention.

    A mechanism defines ``remember`` and ``forward``, whose result begins with ``context`` and
    ``weights``. One that must know of earlier steps also defines :meth:`first_past` and
    :meth:`look`.

    Examples
    --------
    A mechanism of your own, which looks everywhere alike, in a decoder:

    >>> import torch
    >>> from seqattn.models import AttentionDecoder
    >>> class Average(Mechanism):
    ...     def remember(self, keys, values=None, mask=None):
    ...         return Memory(keys, keys if values is None else values, mask)
    ...
    ...     def forward(self, query, memory):
    ...         batch, keys = memory.keys.shape[:2]
    ...         weights = query.new_full((batch, keys), 1 / keys)
    ...         return (weights[:, None] @ memory.values)[:, 0], weights
    >>> decoder = AttentionDecoder(13, 4, 7, d_encoder=10, attention=Average())
    """

    def remember(
        self,
        keys: Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Memory:
        """Do what depends on the sentence alone, once, for all the queries to come.

        The result is yours to pass on; nothing is cached on the module. What stands at positions
        that no query may attend never reaches a result or a gradient, NaN included: every mechanism
        of this package sets it to zero here, and one of your own should, too
        (:func:`~seqattn.attention.masks.forget_unseen`).

        Parameters
        ----------
        keys : (batch, keys, d_key)
            Encoder states.
        values : (batch, keys, d_value), optional
            What to take the weighted sum of; the keys themselves if not given.
        mask : bool, optional
            True = may be attended; as in :func:`~seqattn.masked_softmax`.

        Returns
        -------
        Memory
            Keys, values and mask.
        """
        raise NotImplementedError(f"{type(self).__name__} must define remember")

    def first_past(self, keys: Float[Tensor, "batch keys d_key"]) -> Past | None:
        """Give what there is to know before the first step; None where steps know nothing."""
        return None

    def look(
        self,
        query: Float[Tensor, "batch *queries d_query"],
        memory: Memory,
        past: Past | None = None,
    ) -> tuple[
        Float[Tensor, "batch *queries d_value"], Float[Tensor, "batch *queries keys"], Past | None
    ]:
        """Attend as a decoder does: with what is known of the past, handing on what is known now.

        Parameters
        ----------
        query : (batch, [queries,] d_query)
            Decoder state, or those of several steps in their order.
        memory : Memory
            From :meth:`remember`.
        past : Past, or None
            From :meth:`first_past` or the last call.

        Returns
        -------
        context : (batch, [queries,] d_value)
            Weighted sums.
        weights : (batch, [queries,] keys)
            Where each step looked.
        past : Past, or None
            For the next step.
        """
        context, weights = self(query, memory)[:2]
        return context, weights, past

    def reach(
        self, query: Float[Tensor, "batch queries d_query"], size: int, step: int = 0
    ) -> Bool[Tensor, "batch queries keys"]:
        """Say which positions of a sentence each query looks at: here, all.

        Parameters
        ----------
        query : (batch, queries, d_query)
            Decoder states of several steps in their order.
        size : int
            Number of positions of each sentence, which is not padded.
        step : int
            Number of steps before the first.

        Returns
        -------
        (batch, queries, keys) bool
            False where a weight is 0 whatever the keys are, as outside a window.
        """
        shape = (*query.shape[:2], size)
        return torch.ones(shape, dtype=torch.bool, device=query.device)

    def _recall(self, keys: Memory | Tensor, values: Tensor | None, mask: Tensor | None) -> Memory:
        """Take a memory as it is, and make one of raw keys."""
        if not isinstance(keys, Memory):
            return self.remember(keys, values, mask)
        if values is not None or mask is not None:
            raise TypeError("a Memory holds its values and mask: give them to remember() instead")
        return keys
