"""The core that every attention of this package composes: score → mask → softmax → weighted sum.

From query to context: the scores are in :mod:`seqattn.attention.scores`, and what is done with them
is here (what may be seen is worked out in :mod:`seqattn.attention.masks`);
:mod:`seqattn.attention.named` puts the two together under the names of the literature. The two
steps after the score are :func:`masked_softmax` and :func:`weighted_sum`.

- :meth:`Attention.forward` attends inside a model: a recurrent decoder calls
  :meth:`Mechanism.look`, which calls ``forward``; the Transformer calls ``forward`` itself, that of
  its several heads. The memory was made ready once, by ``remember``, which sets unseen keys and
  values to 0 *beforehand*; in training, weights are dropped.
- No model calls :func:`attend`: it is the same as one function, for scores that are at hand
  already, as in the chapters and in tests. It has seen no values before, so it sets unseen
  ones to 0 itself.

Mechanisms with an idea of their own come to :func:`masked_softmax` and :func:`weighted_sum`, too:
several heads and a window call them, coverage and a hard choice hold an :class:`Attention` that
does. There are two exceptions: PyTorch's fused operator, which multi-head attention uses where
nobody asks for its weights; and :mod:`seqattn.attention.reordered`, where the softmax is taken
block by block, or not at all.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seqattn.attention.masks import expand_mask, forget_unseen
from seqattn.attention.scores import Score
from seqattn.dropout import check_dropout, dropout
from seqattn.precision import held_temperature

__all__ = [
    "Attention",
    "AttentionOutput",
    "Mechanism",
    "Memory",
    "Past",
    "attend",
    "masked_softmax",
    "weighted_sum",
]


class AttentionOutput(NamedTuple):
    """What attention returns.

    Attributes
    ----------
    context : (batch, [queries,] d_value)
        Weighted sum of the values.
    weights : (batch, [queries,] keys)
        Non-negative; each row sums to 1, to 0 where no position may be attended, and to less than 1
        under the Gaussian of local attention. Several heads have an axis of their own after the
        batch, and may return None. Always the weights before attention dropout.
    """

    context: Tensor
    weights: Tensor


def masked_softmax(
    scores: Float[Tensor, "*rows keys"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    temperature: float = 1.0,
    dim: int = -1,
) -> Float[Tensor, "*rows keys"]:
    r"""Softmax over the positions that may be attended.

    .. math:: \alpha_i = \frac{m_i \exp(e_i/\tau)}{\sum_j m_j \exp(e_j/\tau)}

    Parameters
    ----------
    scores : (batch, [heads,] [queries,] keys)
        Scores e. Without a mask, any shape.
    mask : bool, optional
        True = may be attended, shaped as :func:`~seqattn.attention.masks.expand_mask` says:
        ``(batch, keys)``, ``(batch, queries, keys)`` or ``(queries, keys)``.
    temperature : float
        τ > 0. Small values sharpen towards the largest score, large ones flatten towards uniform.
    dim : int
        Axis to normalise over. A mask needs the last one.

    Returns
    -------
    same shape as scores
        Weights. Masked positions get exactly 0 and pass no gradient, whatever their scores are, NaN
        and infinite ones included; a row with no attendable position is all zeros, never NaN.

    Raises
    ------
    ValueError
        If the temperature is not positive, the mask does not fit, or a mask comes with another axis
        than the last.
    TypeError
        If the scores are no real numbers, or the mask is not boolean.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), equation 6, for the softmax; Hinton, Vinyals and Dean (2015),
    "Distilling the Knowledge in a Neural Network", section 2, for the temperature.

    Examples
    --------
    >>> import torch
    >>> masked_softmax(torch.tensor([[0.0, 0.0, 5.0]]), torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    if not scores.is_floating_point():
        raise TypeError(f"scores have dtype {scores.dtype}; expected real numbers: scores.float()")
    if not temperature > 0:
        raise ValueError(
            f"temperature is {temperature}; expected a number above 0 "
            "(for the limit at 0 take the argmax of the scores)"
        )
    if mask is not None:
        if dim not in (-1, scores.dim() - 1):
            raise ValueError(f"a mask needs dim=-1, the axis of the keys; got dim={dim}")
        mask = expand_mask(mask, scores)
    if temperature != 1.0 and scores.numel():
        # Subtract first: dividing large half-precision scores by a small τ would overflow.
        top = _block(scores, mask).amax(dim, keepdim=True).detach()
        scores = (scores - top) / held_temperature(temperature, scores.dtype)
    weights = _block(scores, mask).softmax(dim)
    if mask is None:
        return weights
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def _block(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Put −inf where nothing may be attended: softmax turns it into exactly 0.

    A row that is blocked altogether gets 0 instead: its softmax would be NaN, backward as well.
    """
    if mask is None:
        return scores
    possible = mask.any(-1, keepdim=True)
    floor = torch.zeros_like(possible, dtype=scores.dtype).masked_fill(possible, -torch.inf)
    return scores.where(mask, floor)


def weighted_sum(weights: Tensor, values: Tensor) -> Tensor:
    r"""Sum the values, each times its weight, :math:`c_t = \sum_i \alpha_{ti} h_i`.

    Parameters
    ----------
    weights : (batch, [queries,] keys)
        Weights α.
    values : (batch, keys, d_value)
        Values h.

    Returns
    -------
    (batch, [queries,] d_value)
        Contexts c.

    Raises
    ------
    ValueError
        If weights and values do not agree in batch or keys, or weights have other axes.
    """
    if weights.dim() not in (2, 3):
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}; expected (batch, [queries,] keys) "
            "(several heads, with values of their own, become sentences by flatten(0, 1))"
        )
    if values.dim() != 3 or values.shape[:2] != (weights.shape[0], weights.shape[-1]):
        raise ValueError(
            f"values have shape {tuple(values.shape)}; expected (batch, keys, d_value) = "
            f"({weights.shape[0]}, {weights.shape[-1]}, d_value) to fit weights of shape "
            f"{tuple(weights.shape)}"
            + (" (a mask goes by its name, mask=...)" if values.dtype == torch.bool else "")
        )
    if weights.dim() == 2:
        return (weights.unsqueeze(1) @ values).squeeze(1)
    return weights @ values


def attend(
    scores: Float[Tensor, "batch *queries keys"],
    values: Float[Tensor, "batch keys d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    temperature: float = 1.0,
) -> AttentionOutput:
    r"""Turn scores into weights and take the weighted sum, :math:`c_t = \sum_i \alpha_{ti} h_i`.

    Decoders do this step by step with ``Mechanism.look``, from a memory that they make once.

    Parameters
    ----------
    scores : (batch, [queries,] keys)
        Scores e.
    values : (batch, keys, d_value)
        Values, usually the encoder states h.
    mask : bool, optional
        As in :func:`masked_softmax`.
    temperature : float
        As in :func:`masked_softmax`.

    Returns
    -------
    AttentionOutput
        ``context`` (batch, [queries,] d_value) and ``weights`` (batch, [queries,] keys). A value
        that no query may attend never reaches the context, NaN and infinite values included.

    Raises
    ------
    ValueError
        If scores and values do not agree in batch or keys, or scores have other axes; or as
        :func:`masked_softmax`.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), equations 5 and 6.

    Examples
    --------
    >>> import torch
    >>> attend(torch.zeros(1, 2), torch.tensor([[[1.0, 0.0], [3.0, 4.0]]])).context
    tensor([[2., 2.]])
    """
    weights = masked_softmax(scores, mask, temperature=temperature)
    # A weight of 0 does not remove what is not finite: 0 · ∞ is no number.
    return AttentionOutput(weighted_sum(weights, forget_unseen(values, mask)), weights)


class Memory(NamedTuple):
    """A source sentence, made ready for many queries by ``remember``.

    Attributes
    ----------
    keys : (batch, keys, d_projected)
        Keys after ``score.project_keys``; with several heads (batch, heads, keys, d_head).
    values : (batch, keys, d_value)
        What the weighted sum is taken of; with several heads (batch, heads, keys, d_head).
    mask : bool, or None
        True where a position may be attended, in the shape that ``remember`` was given.
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
    A mechanism of your own, which looks at all real words alike, in a decoder:

    >>> import torch
    >>> from seqattn.attention.masks import forget_unseen
    >>> from seqattn.models import AttentionDecoder
    >>> class Average(Mechanism):
    ...     def remember(self, keys, values=None, mask=None):
    ...         if mask is None:
    ...             mask = torch.ones(keys.shape[:2], dtype=torch.bool)
    ...         return Memory(keys, forget_unseen(keys if values is None else values, mask), mask)
    ...
    ...     def forward(self, query, memory):
    ...         weights = memory.mask / memory.mask.sum(-1, keepdim=True).clamp(min=1)
    ...         return weighted_sum(weights, memory.values), weights
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
        """Attend, one decoder step or several: with the past, and handing on what is known now.

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

        Raises
        ------
        ValueError
            If the query has other axes.
        """
        if query.dim() != 3:
            raise ValueError(
                f"query has shape {tuple(query.shape)}; expected (batch, queries, d_query), the "
                "states of several steps"
            )
        shape = (*query.shape[:2], size)
        return torch.ones(shape, dtype=torch.bool, device=query.device)

    def _recall(self, keys: Memory | Tensor, values: Tensor | None, mask: Tensor | None) -> Memory:
        """Take a memory as it is, and make one of raw keys."""
        if not isinstance(keys, Memory):
            return self.remember(keys, values, mask)
        if values is not None or mask is not None:
            raise TypeError("a Memory holds its values and mask: give them to remember() instead")
        return keys


class Attention(Mechanism):
    """Soft attention with any score function.

    Parameters
    ----------
    score : Score
        Compares queries with keys.
    normalize : callable
        ``(scores, mask) -> weights``.
    dropout : float
        Probability of dropping a weight after normalisation, in training only. What is kept is
        scaled up, so that rows sum to 1 only on average; the weights *returned* are those before
        dropout.

    Raises
    ------
    ValueError
        If dropout is no probability from 0 to below 1.
    TypeError
        If the score is none.

    Examples
    --------
    Do the work that depends on the sentence alone once, then attend at every decoder step:

    >>> import torch
    >>> from seqattn.attention import AdditiveScore
    >>> attention = Attention(AdditiveScore(d_query=3, d_key=4, d_attn=5))
    >>> memory = attention.remember(torch.randn(2, 7, 4))
    >>> context, weights = attention(torch.randn(2, 3), memory)
    >>> context.shape, weights.shape
    (torch.Size([2, 4]), torch.Size([2, 7]))
    """

    def __init__(
        self,
        score: Score,
        normalize: Callable[..., Tensor] = masked_softmax,
        dropout: float = 0.0,
    ):
        super().__init__()
        if not (hasattr(score, "project_keys") and hasattr(score, "compare")):
            raise TypeError(f"score is {score!r}; expected a score module, such as DotScore()")
        check_dropout(dropout)
        self.score = score
        self.normalize = normalize
        self.dropout = dropout

    def remember(
        self,
        keys: Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Memory:
        """Project the keys once, for all the queries to come; see :meth:`Mechanism.remember`."""
        known = forget_unseen(keys, mask)
        values = known if values is None else forget_unseen(values, mask)
        return Memory(self.score.project_keys(known), values, mask)

    def forward(
        self,
        query: Float[Tensor, "batch *queries d_query"],
        keys: Memory | Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> AttentionOutput:
        """Attend with one query per sentence, or with all of them at once.

        Parameters
        ----------
        query : (batch, [queries,] d_query)
            Decoder state or states.
        keys : Memory, or (batch, keys, d_key)
            What :meth:`remember` returned, or raw keys to be remembered now.
        values, mask : optional
            As in :meth:`remember`; only together with raw keys.

        Returns
        -------
        AttentionOutput
            ``context`` (batch, [queries,] d_value) and ``weights`` (batch, [queries,] keys).

        Raises
        ------
        TypeError
            If values or a mask come beside a Memory, which holds its own, or the mask is not
            boolean.
        ValueError
            If sizes do not fit.
        """
        memory = self._recall(keys, values, mask)
        weights = self.normalize(self.score.compare(query, memory.keys), memory.mask)
        kept = dropout(weights, self.dropout, self.training)
        return AttentionOutput(weighted_sum(kept, memory.values), weights)
