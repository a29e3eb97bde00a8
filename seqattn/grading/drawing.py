"""What draws and oracles of banks share: random arrays, masks, attention in loops, gradients."""

from collections.abc import Callable

import numpy as np

__all__ = [
    "COMMON_SIZES",
    "central_differences",
    "fill_pads",
    "mixture",
    "normal",
    "padding",
    "softmax_rows",
]

# Kinds of cases that suit most questions: sentences, queries, keys, and three sizes of vectors.
COMMON_SIZES = {
    "ordinary": (2, 3, 5, 4, 6, 7),
    "other sizes": (5, 2, 3, 5, 2, 3),
    "all sizes equal": (3, 3, 3, 3, 3, 3),
    "one word": (2, 3, 1, 4, 3, 5),
    "one sentence": (1, 1, 4, 2, 3, 5),
    "padded": (3, 2, 5, 4, 3, 2),
}


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Draw float32 numbers from a normal distribution."""
    return (scale * rng.normal(size=shape)).astype(np.float32)


def padding(rng: np.random.Generator, batch: int, keys: int, *, empty: bool = False) -> np.ndarray:
    """Draw a padding mask (batch, keys): True at real words, of which every row has one.

    At least one row is padded. With ``empty`` one row has nothing but pads.
    """
    mask = np.ones((batch, keys), bool)
    for b in range(batch):
        mask[b, rng.integers(1, keys + 1) :] = False
    mask[0, -1] = keys == 1
    if empty:
        mask[rng.integers(batch)] = False
    return mask


def fill_pads(rng: np.random.Generator, states: np.ndarray, mask: np.ndarray, scale: float) -> None:
    """Put large numbers where the mask is False: what stands in the padding must not matter."""
    states[~mask] = normal(rng, int((~mask).sum()), states.shape[-1], scale=scale)


def softmax_rows(scores: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """Turn scores (..., keys) into weights, in float64 whatever the scores are in.

    A row with nothing to attend, or without keys, gives zeros.
    """
    mask = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
    attended = np.where(mask, scores.astype(np.float64), -np.inf)
    top = attended.max(-1, keepdims=True, initial=-np.inf)
    raised = np.exp(attended - np.where(np.isfinite(top), top, 0))
    return raised / np.where(mask.any(-1, keepdims=True), raised.sum(-1, keepdims=True), 1)


def mixture(weights: np.ndarray, states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Add up weight times state (batch, keys, d) where the mask is True; nothing else is read."""
    mixed = np.zeros((len(states), states.shape[-1]))
    for b, i in np.argwhere(mask):
        mixed[b] += weights[b, i] * states[b, i]
    return mixed


# Of an input, for its gradient.
STEP = 1e-5


def central_differences(function: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """Differentiate a function of an array, entry by entry; the array is as before afterwards."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        kept = x[place]
        x[place] = kept + STEP
        above = function(x)
        x[place] = kept - STEP
        gradient[place] = (above - function(x)) / (2 * STEP)
        x[place] = kept
    return gradient
