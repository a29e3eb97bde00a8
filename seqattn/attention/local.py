"""Local attention: look at a window of positions and never at the rest."""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqattn.attention.core import (
    AttentionOutput,
    Mechanism,
    Memory,
    Past,
    masked_softmax,
    weighted_sum,
)
from seqattn.attention.masks import check_bool, forget_unseen, may_look
from seqattn.attention.named import LuongAttention
from seqattn.attention.scores import check_pair
from seqattn.dropout import dropout
from seqattn.precision import at_least_single, autocast
from seqattn.settings import check_whole

__all__ = ["LocalAttention"]


class LocalAttention(Mechanism):
    r"""Luong's local attention: the window :math:`[p_t - D, p_t + D]` around a centre.

    With ``alignment="monotonic"`` (local-m) the centre is the target position, :math:`p_t = t`, and
    the weights are a softmax over the window. With ``"predictive"`` (local-p) it is predicted, and
    a Gaussian favours positions near it:

    .. math::
        p_t &= S \cdot \sigma(v_p^\top \tanh(W_p s_t)) \\
        \alpha_{ti} &= \mathrm{softmax}_{\text{window}}(e_{ti})
        \exp\Big({-\frac{(i - p_t)^2}{2\sigma^2}}\Big), \quad \sigma = D/2

    S is the true length of each sentence, without padding, which may stand on its left or on its
    right: positions count from the first real token. As in the paper, the Gaussian leaves
    rows that sum to less than 1, and the window is cut at the sentence's ends. The window's
    positions are *gathered*: the others are not scored, and the products of a step cost
    the same for any length; only the row of weights grows with it.

    Positions and centres count from 0.

    Parameters
    ----------
    d_query, d_key : int
        Sizes of decoder state and encoder state.
    window : int
        D, at least 1: up to 2D + 1 positions are seen, 2D if the centre is between two.
    alignment : {"predictive", "monotonic"}
        Where the centre comes from.
    score : {"general", "dot", "concat"}
        As in :class:`~seqattn.LuongAttention`.
    renormalize : bool
        Whether to make rows sum to 1 again after the Gaussian. The paper does not.
    dropout : float
        Attention dropout, on the weights after the Gaussian; those returned are the ones before.

    Raises
    ------
    ValueError
        If the window is below 1 or no whole number, or alignment or score is unknown.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.2, equations 9 and 10.

    Examples
    --------
    >>> attention = LocalAttention(d_query=3, d_key=4, window=2)
    >>> context, weights = attention(torch.randn(1, 3), torch.randn(1, 50, 4))
    >>> int((weights > 0).sum()) <= 5
    True
    """

    def __init__(
        self,
        d_query: int,
        d_key: int,
        window: int,
        alignment: Literal["predictive", "monotonic"] = "predictive",
        score: Literal["general", "dot", "concat"] = "general",
        *,
        renormalize: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_whole("window", window, least=1)
        if alignment not in ("predictive", "monotonic"):
            raise ValueError(
                f"alignment is {alignment!r}; expected 'predictive' (local-p) "
                "or 'monotonic' (local-m)"
            )
        self.window = window
        self.renormalize = renormalize
        # Never called: it lends its score, its dropout and ``remember``. Its parameters have the
        # names and shapes of global attention, so that either can take over the other's.
        self.global_attention = LuongAttention(d_query, d_key, score, dropout=dropout)
        if alignment == "predictive":
            self.W_p = nn.Parameter(torch.empty(d_query, d_query))
            self.v_p = nn.Parameter(torch.empty(d_query))
            bound = 1 / math.sqrt(d_query)
            nn.init.uniform_(self.W_p, -bound, bound)
            nn.init.uniform_(self.v_p, -bound, bound)
        else:
            self.register_parameter("W_p", None)
            self.register_parameter("v_p", None)

    def remember(
        self,
        keys: Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "batch keys"] | None = None,
    ) -> Memory:
        """Project the keys once, for all the queries to come.

        ``mask`` is a padding mask, (batch, keys): real tokens without gaps, with padding behind or
        before them. Its sums are the lengths S.

        Raises
        ------
        TypeError
            If the mask is not boolean.
        ValueError
            If values or mask do not fit the keys, or the mask has gaps: S and the positions would
            be wrong. (They are looked for on a CPU alone, where a look costs no wait, and not while
            a program is compiled or transformed.)
        """
        _sentences(Memory(keys, keys if values is None else values, mask))
        _refuse_gaps(mask)
        return self.global_attention.remember(keys, values, mask)

    def first_past(self, keys: Float[Tensor, "batch keys d_key"]) -> Past | None:
        """Start counting at 0; local-p, which needs no count, knows nothing."""
        if self.v_p is not None:
            return None
        return Past(step=torch.zeros(keys.shape[0], dtype=torch.long, device=keys.device))

    def look(
        self,
        query: Float[Tensor, "batch *queries d_query"],
        memory: Memory,
        past: Past | None = None,
    ) -> tuple[
        Float[Tensor, "batch *queries d_value"], Float[Tensor, "batch *queries keys"], Past | None
    ]:
        """Attend at the step that the past has reached; see :meth:`Mechanism.look`."""
        if past is None or past.step is None:
            return *self(query, memory), past
        steps = 1 if query.dim() == 2 else query.shape[1]
        context, weights = self(query, memory, position=past.step)
        return context, weights, past._replace(step=past.step + steps)

    def forward(
        self,
        query: Float[Tensor, "batch *queries d_query"],
        keys: Memory | Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "batch keys"] | None = None,
        position: int | Int[Tensor, " batch"] | None = None,
    ) -> AttentionOutput:
        """Attend with one query per sentence, or with all of them at once.

        Parameters
        ----------
        query : (batch, [queries,] d_query)
            Decoder state or states.
        keys : Memory, or (batch, keys, d_key)
            What :meth:`remember` returned, or raw keys. (One query on raw keys projects those of
            its window alone.)
        values, mask : optional
            As in :meth:`remember`; only together with raw keys.
        position : int or (batch,) integers, optional
            For local-m, the target position t of the query, or of the first of several, from 0. One
            query needs it; several start at 0 without it.

        Returns
        -------
        AttentionOutput
            ``context`` (batch, [queries,] d_value) and ``weights`` (batch, [queries,] keys), 0
            outside the window. Where local-m has run past the end of a sentence by more than D,
            nothing is seen and both are 0.

        Raises
        ------
        TypeError
            If values or a mask come beside a Memory, or the mask is not boolean.
        ValueError
            If sizes do not fit, the mask has gaps (see :meth:`remember`), local-m is not told the
            position of one query, or the position is negative or no whole number (of a tensor, the
            kind is looked at, and not what it holds).
        """
        one = query.dim() == 2
        raw = False
        if one and not isinstance(keys, Memory):
            raw = True
            memory = Memory(keys, keys if values is None else values, mask)
        else:
            memory = self._recall(keys, values, mask)
        queries = query.unsqueeze(1) if one else query
        check_pair(query, memory.keys)
        starts, lengths = _sentences(memory)
        if raw:
            _refuse_gaps(mask)
        centres = self._centres(queries, lengths, position, one)
        context, weights = self._attend(queries, memory, starts, lengths, centres, raw)
        if one:
            context, weights = context[:, 0], weights[:, 0]
        return AttentionOutput(context, weights)

    def reach(
        self, query: Float[Tensor, "batch queries d_query"], size: int, step: int = 0
    ) -> Bool[Tensor, "batch queries keys"]:
        """Say which positions are in the window of each query; see :meth:`Mechanism.reach`."""
        every = super().reach(query, size)
        lengths = torch.full((query.shape[0],), size, device=query.device)
        centres = self._centres(query, lengths, step, one=False).unsqueeze(-1)
        near = (torch.arange(size, device=query.device) - centres).abs() <= self.window
        return every & near

    def _centres(
        self, queries: Tensor, lengths: Tensor, position: int | Tensor | None, one: bool
    ) -> Tensor:
        """Give p_t of each query, (batch, queries), in 32 bits or more whatever the model's."""
        kind = at_least_single(queries.dtype)
        if self.v_p is not None:
            with autocast(queries.device, False):
                features = torch.tanh(queries.to(kind) @ self.W_p.to(kind).mT)
                return torch.sigmoid(features @ self.v_p.to(kind)) * lengths.unsqueeze(1)
        if position is None:
            if one:
                raise ValueError(
                    "monotonic alignment needs the position of the query, from 0: position=..."
                )
            position = 0
        _check_position(position, queries.shape[0])
        first_step = torch.as_tensor(position, device=queries.device).expand(queries.shape[0])
        steps = torch.arange(queries.shape[1], device=queries.device)
        return (first_step.unsqueeze(1) + steps).to(kind)

    def _attend(
        self,
        queries: Tensor,
        memory: Memory,
        starts: Tensor | None,
        lengths: Tensor,
        centres: Tensor,
        raw: bool,
    ) -> tuple[Tensor, Tensor]:
        batch, steps = centres.shape
        if not memory.keys.shape[1]:  # nothing to gather
            empty = queries.new_zeros(batch, steps, 0)
            return weighted_sum(empty, memory.values), empty
        offsets = torch.arange(2 * self.window + 1, device=centres.device)
        positions = (centres.detach() - self.window).ceil().long().unsqueeze(-1) + offsets
        distance = positions - centres.unsqueeze(-1)
        seen = (positions >= 0) & (positions < lengths[:, None, None]) & (distance <= self.window)
        # What lies outside is read from the window's last place, so that nothing else is touched.
        last = (centres.detach() + self.window).floor().long().minimum(lengths[:, None] - 1)
        positions = positions.minimum(last.unsqueeze(-1)).clamp(min=0)
        if starts is not None:
            positions = positions + starts[:, None, None]
        # Each query with its window is a sentence of its own.
        keys, values = (_gather(x, positions) for x in (memory.keys, memory.values))
        seen, distance = seen.flatten(0, 1), distance.flatten(0, 1)
        score = self.global_attention.score
        if raw:
            keys, values = forget_unseen(keys, seen), forget_unseen(values, seen)
            keys = score.project_keys(keys)
        weights = masked_softmax(score.compare(queries.flatten(0, 1), keys), seen)
        if self.v_p is not None:
            near = torch.exp(-(distance**2) / (2 * (self.window / 2) ** 2))
            weights = weights * near.to(weights.dtype)
            if self.renormalize:
                total = weights.sum(-1, keepdim=True)
                weights = weights / total.where(total > 0, 1.0)
        kept = dropout(weights, self.global_attention.dropout, self.training)
        context = weighted_sum(kept, values).unflatten(0, (batch, steps))
        spread = weights.new_zeros(batch, steps, memory.keys.shape[1])
        spread = spread.scatter_add(-1, positions, weights.unflatten(0, (batch, steps)))
        return context, spread


def _gather(x: Tensor, positions: Tensor) -> Tensor:
    """Take positions (batch, steps, window) of (batch, keys, size), a sentence for each step."""
    rows = torch.arange(x.shape[0], device=x.device)[:, None, None]
    return x[rows, positions].flatten(0, 1)


def _check_position(position: int | Tensor, batch: int) -> None:
    """Refuse what are no whole numbers; a tensor by its kind and shape, whatever it holds."""
    if not isinstance(position, Tensor):
        check_whole("position", position, least=0)
    elif position.is_floating_point() or position.dtype == torch.bool:
        raise ValueError(f"position has dtype {position.dtype}; expected whole numbers")
    elif position.shape not in ((), (batch,)):
        raise ValueError(
            f"position has shape {tuple(position.shape)}; expected ({batch},), one for each "
            "sentence"
        )


def _sentences(memory: Memory) -> tuple[Tensor | None, Tensor]:
    """Give the first real position of each sentence, None for 0 in all, and its length."""
    keys, values, mask = memory
    batch, size = keys.shape[:2]
    if values.dim() != 3 or values.shape[:2] != keys.shape[:2]:
        raise ValueError(
            f"values have shape {tuple(values.shape)}; expected (batch, keys, d_value) = "
            f"({batch}, {size}, d_value)"
        )
    if mask is None:
        return None, torch.full((batch,), size, device=keys.device)
    check_bool(mask)
    if mask.shape != (batch, size):
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}; local attention expected a padding mask, "
            f"(batch, keys) = {(batch, size)}"
        )
    return (mask.int().argmax(-1) if size else None), mask.sum(-1)


def _refuse_gaps(mask: Tensor | None) -> None:
    """Refuse padding between real tokens, where a look is cheap and possible at all."""
    if mask is None or mask.device.type != "cpu" or not may_look(mask):
        return
    if torch._C._are_functorch_transforms_active():  # as torch.func.vmap does
        return
    begun = mask.int().diff(dim=-1, prepend=mask.new_zeros(len(mask), 1).int()) > 0
    several = (begun.sum(-1) > 1).nonzero()[:, 0].tolist()
    if several:
        raise ValueError(
            f"the mask of sentence {several[0]} has padding between real tokens; local attention "
            "expected real tokens without gaps, with padding behind or before them"
        )
