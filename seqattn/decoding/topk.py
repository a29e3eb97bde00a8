"""The best tokens of a vocabulary, the same ones on every machine."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["top_first"]

# Tokens of a vocabulary that are looked at together.
GROUP = 32


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
