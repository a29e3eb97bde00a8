"""Coverage: attention that knows where it has looked before."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seqattn.attention.core import Mechanism, Memory, Past
from seqattn.attention.masks import check_bool
from seqattn.attention.named import BahdanauAttention
from seqattn.precision import at_least_single

__all__ = ["CoverageAttention", "CoverageOutput", "coverage_loss"]


class CoverageOutput(NamedTuple):
    """What attention with coverage returns.

    Attributes
    ----------
    context : (batch, [queries,] d_value)
        Weighted sum of the values.
    weights : (batch, [queries,] keys)
        Where each query looked.
    coverage : (batch, keys)
        Sum of the weights so far, this call's included: hand it to the next step. For the loss take
        the sum *before* a step; see :func:`coverage_loss`.
    """

    context: Tensor
    weights: Tensor
    coverage: Tensor


class CoverageAttention(Mechanism):
    r"""Additive attention that feels how much it has attended to each position before.

    .. math::
        c_{ti} &= \sum_{t' < t} \alpha_{t'i} \\
        e_{ti} &= v^\top \tanh(W_q s_t + W_k h_i + w_c c_{ti} + b)

    The vector :math:`w_c` starts at zero, where this is additive attention: See et al. add coverage
    to a model that has been trained without.

    Parameters
    ----------
    d_query, d_key, d_attn : int
        Sizes of decoder state, encoder state and comparison space.
    bias : bool
        Whether to add b, which See et al. have in their equation 11.
    dropout : float
        Attention dropout; the coverage sums the weights before it.

    References
    ----------
    See, Liu and Manning (2017), "Get To The Point: Summarization with Pointer-Generator Networks",
    equations 10 and 11. Tu et al. (2016), "Modeling Coverage for Neural Machine Translation", have
    a learned coverage vector instead.

    Examples
    --------
    >>> attention = CoverageAttention(d_query=3, d_key=4, d_attn=5)
    >>> memory = attention.remember(torch.randn(2, 7, 4))
    >>> coverage = None
    >>> for query in torch.randn(6, 2, 3):  # six steps of two sentences
    ...     context, weights, coverage = attention(query, memory, coverage=coverage)
    >>> torch.allclose(coverage.sum(-1), torch.tensor(6.0))
    True
    """

    def __init__(
        self, d_query: int, d_key: int, d_attn: int, *, bias: bool = False, dropout: float = 0.0
    ):
        super().__init__()
        self.attention = BahdanauAttention(d_query, d_key, d_attn, bias=bias, dropout=dropout)
        self.w_c = nn.Parameter(torch.zeros(d_attn))

    def remember(
        self,
        keys: Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Memory:
        """Project the keys once, for all the queries to come; see :meth:`Mechanism.remember`."""
        return self.attention.remember(keys, values, mask)

    def first_past(self, keys: Float[Tensor, "batch keys d_key"]) -> Past:
        """Start with a source that nobody has looked at."""
        return Past(coverage=_nothing_seen(keys))

    def look(
        self,
        query: Float[Tensor, "batch *queries d_query"],
        memory: Memory,
        past: Past | None = None,
    ) -> tuple[Float[Tensor, "batch *queries d_value"], Float[Tensor, "batch *queries keys"], Past]:
        """Attend with the coverage so far; see :meth:`Mechanism.look`."""
        output = self(query, memory, coverage=None if past is None else past.coverage)
        return output.context, output.weights, Past(coverage=output.coverage)

    def forward(
        self,
        query: Float[Tensor, "batch *queries d_query"],
        keys: Memory | Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        coverage: Float[Tensor, "batch keys"] | None = None,
    ) -> CoverageOutput:
        """Attend with one query per sentence, or with several, one after the other.

        Parameters
        ----------
        query : (batch, [queries,] d_query)
            Decoder state or states. Several are taken in turn, as each changes the coverage that
            the next one feels.
        keys : Memory, or (batch, keys, d_key)
            What :meth:`remember` returned, or raw keys.
        values, mask : optional
            As in :meth:`remember`; only together with raw keys.
        coverage : (batch, keys), optional
            Sum of the weights before; zero if not given.

        Returns
        -------
        CoverageOutput
            Context, weights, and the coverage after.

        Raises
        ------
        TypeError
            If values or a mask come beside a Memory, or the mask is not boolean.
        ValueError
            If sizes do not fit.
        """
        memory = self._recall(keys, values, mask)
        if coverage is None:
            coverage = _nothing_seen(memory.keys)
        elif coverage.shape != memory.keys.shape[:2]:
            raise ValueError(
                f"coverage has shape {tuple(coverage.shape)}; expected (batch, keys) = "
                f"{tuple(memory.keys.shape[:2])}, the sum of the weights so far"
            )
        if query.dim() == 2:
            felt = memory.keys + coverage.unsqueeze(-1).to(self.w_c.dtype) * self.w_c
            context, weights = self.attention(query, memory._replace(keys=felt))
            return CoverageOutput(context, weights, coverage + weights)
        contexts, rows = [], []
        for t, one in enumerate(query.unbind(1)):
            context, weights, coverage = self(
                one, _at_step(memory, t, query.shape[1]), None, None, coverage
            )
            contexts.append(context)
            rows.append(weights)
        if not rows:
            empty = query.new_zeros(*query.shape[:2], memory.values.shape[-1])
            return CoverageOutput(
                empty, query.new_zeros(*query.shape[:2], coverage.shape[1]), coverage
            )
        return CoverageOutput(torch.stack(contexts, 1), torch.stack(rows, 1), coverage)


def _nothing_seen(keys: Tensor) -> Tensor:
    """Start a sum of weights, in 32 bits at least: in 16, a small weight added to 1 is lost."""
    return keys.new_zeros(keys.shape[:2], dtype=at_least_single(keys.dtype))


def coverage_loss(
    weights: Float[Tensor, "batch *steps keys"],
    coverage: Float[Tensor, "batch *steps keys"] | None = None,
    target_mask: Bool[Tensor, " batch *steps"] | None = None,
) -> Float[Tensor, ""]:
    r"""Penalty for attending again where one has attended before.

    .. math:: \frac{1}{N} \sum_t \sum_i \min(\alpha_{ti}, c_{ti})

    A first look at a position costs nothing; a later one costs what it shares with those before. So
    a source word that needs several target words is made to pay, too.

    Two others are about coverage: the coverage penalty, which a beam search adds to the score of a
    translation (:func:`~seqattn.decoding.coverage_penalty`), and the doubly stochastic penalty of a
    training, which wants each source word looked at
    (:func:`~seqattn.training.regularizers.doubly_stochastic_penalty`).

    Parameters
    ----------
    weights : (batch, [steps,] keys)
        Attention weights.
    coverage : same shape, optional
        Sum of the weights *before* each step. The sum after it would make every minimum the weight
        itself, and the loss a constant. If not given, it is summed up from ``weights``, which then
        need their axis of steps.
    target_mask : (batch, [steps]) bool, optional
        True at real target tokens; N counts those.

    Returns
    -------
    scalar
        Mean over real target tokens, between 0 and 1, in 32 bits at least; 0 if there are none.

    Raises
    ------
    ValueError
        If the shapes differ, or steps are needed and not there.
    TypeError
        If the mask is not boolean.

    References
    ----------
    See, Liu and Manning (2017), equation 12; they add it with a weight of 1 near the end of
    training.

    Examples
    --------
    The second step looks where the first did, the third elsewhere:

    >>> weights = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    >>> coverage_loss(weights)
    tensor(0.3333)
    """
    weights = weights.to(at_least_single(weights.dtype))
    if coverage is None:
        if weights.dim() != 3:
            raise ValueError(
                f"weights have shape {tuple(weights.shape)} and no coverage is given; expected "
                "(batch, steps, keys), from which it can be summed up"
            )
        coverage = weights.cumsum(1) - weights
    if coverage.shape != weights.shape:
        raise ValueError(
            f"coverage has shape {tuple(coverage.shape)}; expected that of the weights, "
            f"{tuple(weights.shape)}: the coverage before each step"
        )
    per_token = torch.minimum(weights, coverage).sum(-1)
    if target_mask is None:
        return per_token.sum() / max(per_token.numel(), 1)
    check_bool(target_mask, "target_mask")
    if target_mask.shape != per_token.shape:
        raise ValueError(
            f"target_mask has shape {tuple(target_mask.shape)}; expected {tuple(per_token.shape)}, "
            "one flag per target token"
        )
    return per_token.masked_fill(~target_mask, 0.0).sum() / target_mask.sum().clamp(min=1)


def _at_step(memory: Memory, t: int, steps: int) -> Memory:
    """Give a memory the row of its mask that one query of several sees."""
    mask, (batch, keys) = memory.mask, memory.keys.shape[:2]
    if mask is None or mask.shape == (batch, keys):
        return memory
    if mask.shape not in ((batch, steps, keys), (1, steps, keys), (steps, keys)):
        return memory  # refused with its shape where it is used
    return memory._replace(mask=mask[..., t, :].expand(batch, keys))
