"""The core that every attention of this package composes: score → mask → normalise → weighted sum.

The lines that mask, normalise and sum exist once, here.
"""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.attention.masks import clear_unseen, expand_mask, floors, forget_unseen, surely_all
from seqattn.attention.mechanism import Mechanism, Memory
from seqattn.attention.score_modules import Score
from seqattn.dropout import dropout

__all__ = ["Attention", "AttentionOutput", "attend", "masked_softmax"]


class AttentionOutput(NamedTuple):
    """What attention returns.

    Attributes
    ----------
    context : (batch, [queries,] d_value)
        Weighted sum of the values.
    weights : (batch, [queries,] keys)
        Non-negative; each row sums to 1, or to 0 where no position may be attended. Always the
        weights before attention dropout.
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
        If the mask is not boolean.

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
        scores = (scores - top) / temperature
    weights = _block(scores, mask).softmax(dim)
    return weights if mask is None else clear_unseen(weights, mask)


def _block(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else scores.where(mask, floors(mask, scores.dtype))


def attend(
    scores: Float[Tensor, "batch *queries keys"],
    values: Float[Tensor, "batch keys d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    temperature: float = 1.0,
) -> AttentionOutput:
    r"""Turn scores into weights and take the weighted sum, :math:`c_t = \sum_i \alpha_{ti} h_i`.

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
        If scores and values do not agree in batch or keys; or as :func:`masked_softmax`.

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
    context = _weighted_sum(weights, values)
    # Values are many and contexts few: what is not finite in the one shows in the other, as NaN.
    if mask is not None and not surely_all(context.detach().sum().isfinite()):
        context = _weighted_sum(weights, forget_unseen(values, mask))
    return AttentionOutput(context, weights)


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
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout is {dropout}; expected a probability from 0 to below 1")
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
            If values or a mask come beside a Memory, which holds its own.
        ValueError
            If sizes do not fit.
        """
        memory = self._recall(keys, values, mask)
        weights = self.normalize(self.score.compare(query, memory.keys), memory.mask)
        kept = dropout(weights, self.dropout, self.training)
        return AttentionOutput(_weighted_sum(kept, memory.values), weights)


def _weighted_sum(weights: Tensor, values: Tensor) -> Tensor:
    if values.dim() != 3 or values.shape[:2] != (weights.shape[0], weights.shape[-1]):
        raise ValueError(
            f"values have shape {tuple(values.shape)}; expected (batch, keys, d_value) = "
            f"({weights.shape[0]}, {weights.shape[-1]}, d_value) to fit weights of shape "
            f"{tuple(weights.shape)}"
        )
    if weights.dim() == 2:
        return (weights.unsqueeze(1) @ values).squeeze(1)
    return weights @ values
