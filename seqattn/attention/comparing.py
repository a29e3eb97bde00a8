"""The comparison inside additive scores, of all queries at once within bounded memory."""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = ["compare_additively"]

# Numbers that the comparison of many queries holds at once: 64 MiB in single precision.
MOST_AT_ONCE = 2**24


def compare_additively(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """V · tanh(query + key) for every pair, both already in the comparison space."""
    # A size of 1 would broadcast without a word.
    if not query.shape[-1] == keys.shape[-1] == v.shape[0]:
        raise ValueError(
            f"W_q gives {query.shape[-1]} features, W_k {keys.shape[-1]} and v weighs "
            f"{v.shape[0]}; expected d_attn of each"
        )
    if query.dim() == 2:
        return torch.tanh(query.unsqueeze(1) + keys) @ v
    at_once = max(MOST_AT_ONCE // max(keys.numel(), 1), 1)
    if query.shape[1] <= at_once:
        return _compare_all(query, keys, v)
    # Else a block of (batch, queries, keys, d_attn) would grow with the product of both lengths,
    # and with gradients it would stay: each block is computed again when its gradient is due.
    blocks = [
        checkpoint(_compare_all, block, keys, v, use_reentrant=False, preserve_rng_state=False)
        for block in query.split(at_once, 1)
    ]
    return torch.cat(blocks, 1)


def _compare_all(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    return torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)) @ v
