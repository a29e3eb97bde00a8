"""Multi-head attention: scaled dot-product attentions side by side, each in its subspace.

That with rotary positions, ``RotaryAttention``, stands beside the other kinds of positions, in
:mod:`seqattn.models.transformer`.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqattn.attention.core import (
    AttentionOutput,
    Mechanism,
    Memory,
    Past,
    masked_softmax,
    weighted_sum,
)
from seqattn.attention.masks import expand_mask, forget_unseen
from seqattn.attention.scores import scaled_dot_score
from seqattn.dropout import check_dropout, dropout
from seqattn.settings import check_whole

__all__ = ["CrossAttention", "MultiHeadAttention", "SelfAttention"]


class MultiHeadAttention(Mechanism):
    r"""Multi-head attention over another sequence, or over the queries' own.

    .. math::
        \mathrm{head}_h
        &= \mathrm{softmax}\Big(\frac{QW^Q_h (KW^K_h)^\top}{\sqrt{d_h}}\Big) VW^V_h \\
        \mathrm{MultiHead}(Q, K, V) &= [\mathrm{head}_1; \dots; \mathrm{head}_H]\, W^O

    One class serves self-attention (queries alone), cross-attention (queries and keys) and causal
    attention (``mask=causal_mask(size)[None]``): they differ in what they are given.

    Parameters
    ----------
    d_model : int
        Size of queries, keys, values and output. Divided among the heads: d_h = d_model / heads.
    heads : int
        How many. One head is scaled dot-product attention between projections.
    bias : bool
        Whether the four projections have one.
    dropout : float
        Probability of dropping a weight, in training only. The weights *returned* are those before.

    Raises
    ------
    ValueError
        If ``heads`` does not divide ``d_model``, one is no whole number, or dropout is no
        probability.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2.

    Examples
    --------
    >>> attention = MultiHeadAttention(d_model=8, heads=2)
    >>> words, source = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
    >>> attention(words).weights.shape  # self-attention
    torch.Size([3, 2, 5, 5])
    >>> attention(words, source).weights.shape  # cross-attention
    torch.Size([3, 2, 5, 7])
    """

    def __init__(self, d_model: int, heads: int, *, bias: bool = True, dropout: float = 0.0):
        super().__init__()
        check_whole("d_model", d_model, least=1)
        check_whole("heads", heads)
        if heads < 1 or d_model % heads:
            raise ValueError(
                f"{heads} heads cannot share d_model={d_model} evenly; "
                "expected a number of heads that divides it"
            )
        check_dropout(dropout)
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, d_model, bias=bias)
        self.value = nn.Linear(d_model, d_model, bias=bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)
        for projection in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def remember(
        self,
        keys: Float[Tensor, "batch keys d_model"],
        values: Float[Tensor, "batch keys d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Memory:
        """Project keys and values once, for all the queries; see :meth:`Mechanism.remember`.

        Keys and values of the result are (batch, heads, keys, d_head).

        Raises
        ------
        ValueError
            If keys and values are not (batch, keys, d_model), of one shape.
        """
        self._check(keys=keys, values=values)
        known = forget_unseen(keys, mask)
        values = known if values is None or values is keys else forget_unseen(values, mask)
        keys = known
        return Memory(self._split(self.key(keys)), self._split(self.value(values)), mask)

    def look(
        self,
        query: Float[Tensor, "batch *queries d_model"],
        memory: Memory,
        past: Past | None = None,
    ) -> tuple[
        Float[Tensor, "batch *queries d_model"], Float[Tensor, "batch *queries keys"], Past | None
    ]:
        """Attend, and give the mean of the heads' weights; see :meth:`Mechanism.look`."""
        context, weights = self(query, memory)
        return context, weights.mean(1), past

    def forward(
        self,
        query: Float[Tensor, "batch *queries d_model"],
        keys: Memory | Float[Tensor, "batch keys d_model"] | None = None,
        values: Float[Tensor, "batch keys d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = True,
    ) -> AttentionOutput:
        """Attend with one query per sentence, or with all of them at once.

        Parameters
        ----------
        query : (batch, [queries,] d_model)
            What asks.
        keys : Memory, or (batch, keys, d_model), optional
            What :meth:`remember` returned, or what is to be remembered now; the queries themselves
            if not given (self-attention).
        values, mask : optional
            As in :meth:`remember`; only together with raw keys.
        need_weights : bool
            If False, no weights are returned, and PyTorch's fused operator does the work in less
            time and memory, except in training with dropout on a CPU. Either way every value is
            multiplied by its weight, so that NaN in a value which this query may not attend but
            another one may is NaN in the context.

        Returns
        -------
        AttentionOutput
            ``context`` (batch, [queries,] d_model), after the output projection, and ``weights``
            (batch, heads, [queries,] keys), or None where they are not needed.

        Raises
        ------
        TypeError
            If values or a mask come beside a Memory, which holds its own, or the mask is not
            boolean.
        ValueError
            If sizes do not fit, or one query per sentence is to attend to itself.
        """
        one = query.dim() == 2
        if keys is None:
            if one:
                raise ValueError(
                    f"query has shape {tuple(query.shape)} and keys are not given; for "
                    "self-attention expected (batch, queries, d_model)"
                )
            keys = query
        self._check(query=query)
        memory = self._recall(keys, values, mask)
        if memory.keys.shape[0] != query.shape[0]:
            raise ValueError(
                f"query has a batch of {query.shape[0]} and keys one of {memory.keys.shape[0]}"
            )
        queries = self._split(self.query(query[:, None] if one else query))
        heads, weights = self._attend(queries, memory, need_weights)
        context = self.output(heads.transpose(1, 2).flatten(2))
        if one:
            context, weights = context[:, 0], None if weights is None else weights[:, :, 0]
        return AttentionOutput(context, weights)  # type: ignore[arg-type]

    def _check(
        self,
        query: Tensor | None = None,
        keys: Tensor | None = None,
        values: Tensor | None = None,
    ) -> None:
        """Refuse other shapes: PyTorch's operator would take values of another length or batch."""
        size = self.output.in_features
        if query is not None and (query.dim() not in (2, 3) or query.shape[-1] != size):
            raise ValueError(
                f"query has shape {tuple(query.shape)}; expected (batch, [queries,] d_model) with "
                f"d_model = {size}"
            )
        if keys is not None and (keys.dim() != 3 or keys.shape[-1] != size):
            raise ValueError(
                f"keys have shape {tuple(keys.shape)}; expected (batch, keys, d_model) with "
                f"d_model = {size} (a mask goes by its name, mask=...)"
            )
        if keys is not None and values is not None and values.shape != keys.shape:
            raise ValueError(
                f"values have shape {tuple(values.shape)}; expected that of the keys, "
                f"{tuple(keys.shape)}"
            )

    def _split(self, x: Tensor) -> Tensor:
        """(batch, positions, d_model) to (batch, heads, positions, d_head)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _attend(
        self, q: Tensor, memory: Memory, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        k, v, mask = memory
        shape = (*q.shape[:3], k.shape[2])
        drops = self.training and self.dropout > 0
        if not need_weights and not (drops and q.device.type == "cpu"):  # which fuses no dropout
            if mask is not None:
                mask = expand_mask(mask, torch.empty(shape, device="meta"))
            return _fused(q, k, v, mask, self.dropout if drops else 0.0), None
        # Each head of each sentence is a sentence of its own, save for the mask.
        scores = scaled_dot_score(q.flatten(0, 1), k.flatten(0, 1)).view(shape)
        weights = masked_softmax(scores, mask)
        kept = dropout(weights, self.dropout, self.training)
        heads = weighted_sum(kept.flatten(0, 1), v.flatten(0, 1)).view(q.shape)
        return heads, weights if need_weights else None


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """Attend by PyTorch's own operator."""
    slow = q.device.type == "cpu" and q.dtype.itemsize < 4 and torch.is_grad_enabled()
    if slow and (q.requires_grad or k.requires_grad or v.requires_grad):
        # Backwards it is many times slower in half precision than in single, on a CPU.
        with torch.autocast("cpu", enabled=False):
            return _fused(q.float(), k.float(), v.float(), mask, dropout).to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, mask, dropout_p=dropout)


# One class: what makes attention self- or cross- is what it is called with.
SelfAttention = CrossAttention = MultiHeadAttention
