"""Rows of a batch during a search: which are left, what each wrote, and its best tokens."""

from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.decoding.protocol import Hypotheses
from seqattn.specials import PAD

__all__ = ["few", "gather", "nothing", "precise", "spread", "top_first"]

# A search goes on without the sentences that have ended once so few of the batch are left: moving
# the others has its price as well.
FEW = 0.75
# Tokens of a vocabulary that are looked at together.
GROUP = 32
Values = TypeVar("Values", Tensor, Tensor | None)


def few(rows: Tensor, of: Tensor) -> bool:
    """Whether so few rows are left of those in work that a search should go on with them alone."""
    return len(rows) <= FEW * len(of)


def nothing(source: Tensor) -> Hypotheses:
    """Give what every search finds for an empty batch: no sentences, and no weights."""
    none = source.new_zeros(0)
    return Hypotheses(none[:, None], none, none.float(), None)


def spread(values: Values, rows: Tensor, batch: int) -> Values:
    """Give each sentence of the batch its own row: zeros, or padding, where it had ended."""
    if values is None or len(rows) == batch:
        return values
    return values.new_zeros(batch, *values.shape[1:]).index_copy_(0, rows, values)


def top_first(
    values: Float[Tensor, "rows n"], k: int
) -> tuple[Float[Tensor, "rows k"], Int[Tensor, "rows k"]]:
    """Take the k largest of each row, best first; of equal ones those that come first.

    ``torch.topk`` leaves open which of equal values it takes, and half precision makes many equal.
    """
    n = values.shape[1]
    groups = n // GROUP
    if groups <= k:
        return _sort_first(values, k)
    # The k best are in the k groups with the largest members, or in what is left over.
    whole, of_group = groups * GROUP, torch.arange(GROUP, device=values.device)
    leaders = values[:, :whole].unflatten(1, (groups, GROUP)).amax(-1)
    best = _sort_first(leaders, k)[1].sort(dim=1).values
    columns = (best[..., None] * GROUP + of_group).flatten(1)
    left_over = torch.arange(whole, n, device=values.device).expand(len(values), -1)
    columns = torch.cat([columns, left_over], 1)
    top, index = _sort_first(values.gather(1, columns), k)
    return top, columns.gather(1, index)


def _sort_first(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    n = values.shape[1]
    k = min(k, n)
    top, index = values.topk(min(k + 1, n))
    index = index[:, :k].contiguous()
    tied = (top[:, k - 1] == top[:, k]).nonzero()[:, 0] if k < n else index[:0, 0]
    if len(tied):
        # Of those equal to the k-th, the first: by counting, for a sort of all would cost far more.
        rows, least = values[tied], top[tied, k - 1 : k]
        equal = rows == least
        spare = k - (rows > least).sum(1, keepdim=True)
        kept = (rows > least) | (equal & (equal.cumsum(1, dtype=torch.int32) <= spare))
        index[tied] = kept.nonzero()[:, 1].view(-1, k)
    # Within the k: by index first, then stably by value.
    index = index.sort(dim=1).values
    top, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return top, index.gather(1, order)


def precise(logits: Tensor) -> torch.dtype:
    """Give the type to sum log-probabilities in: halves would lose what a search is after."""
    return torch.promote_types(logits.dtype, torch.float32)


def gather(tokens: Tensor, scores: Tensor, maps: list[Tensor | None]) -> Hypotheses:
    """Put sentences (batch, steps), padded, with their scores and each step's weights together."""
    written = tokens != PAD
    width = max(int(written.sum(1).max()), 1)
    weights = None
    if maps[0] is not None:
        weights = torch.stack([m for m in maps if m is not None], 1)[:, :width]
        weights = weights.masked_fill(~written[:, :width, None], 0.0)
    return Hypotheses(tokens[:, :width], written.sum(1), scores, weights)
