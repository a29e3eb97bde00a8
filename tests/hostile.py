"""Pads that do harm wherever they can: the one place where tests get their padding from.

A pad of zeros is friendly: a mask that leaks a little, or comes too late, survives it.
"""

import pytest
import torch

# What a pad holds. In a key the huge ones score far above all others, with one sign or the other.
RUBBISH = {"huge": 1e4, "minus huge": -1e4, "infinite": torch.inf, "NaN": torch.nan}
every_rubbish = pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH)
either_side = pytest.mark.parametrize("side", ["right", "left"])


def spoil(x, real, rubbish):
    """Overwrite what stands where `real`, (batch, positions) of x, is False."""
    return x.masked_fill(~real.view(*real.shape, *[1] * (x.dim() - 2)), rubbish)


def surround(x, rubbish, n=3, side="right", dim=1):
    """Put n pads behind or before each sentence."""
    shape = list(x.shape)
    shape[dim] = n
    pads = torch.full(shape, rubbish, dtype=x.dtype)
    return torch.cat([x, pads] if side == "right" else [pads, x], dim)


def spoil_embeddings(embedding, source, real, rubbish):
    """From now on, let an embedding give rubbish at the pads of this source."""

    def spoiled(part, given, output):
        return spoil(output, real, rubbish) if given[0].shape == source.shape else output

    return embedding.register_forward_hook(spoiled)


def other_words(source, real, vocabulary):
    """Put any words at all at padding."""
    return torch.where(real, source, torch.randint(0, vocabulary, source.shape))
