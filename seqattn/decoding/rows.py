"""The rows of a batch during a search: how long each may get, which are left, what each wrote."""

from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.decoding.interface import Hypotheses
from seqattn.settings import check_whole
from seqattn.specials import BOS, PAD

__all__ = [
    "NEVER_WRITTEN",
    "few_left",
    "length_limits",
    "log_probabilities",
    "no_hypotheses",
    "permitted",
    "scatter_rows",
    "to_hypotheses",
]

# A search goes on without the sentences that have ended once so few of the batch are left: moving
# the others has its price as well.
FEW = 0.75
# What no search writes.
NEVER_WRITTEN = (PAD, BOS)
Values = TypeVar("Values", Tensor, Tensor | None)


def length_limits(
    max_len: int | Int[Tensor, " batch"], source: Int[Tensor, "batch keys"]
) -> Int[Tensor, " batch"]:
    """Give each sentence its longest allowed length, in tokens."""
    if not isinstance(max_len, Tensor):
        check_whole("max_len", max_len, least=1)
    elif max_len.is_floating_point() or max_len.dtype == torch.bool:
        raise ValueError(f"max_len holds {max_len.dtype}; expected whole numbers")
    elif max_len.shape not in ((), source.shape[:1]):
        raise ValueError(
            f"max_len has shape {tuple(max_len.shape)}; expected ({len(source)},), one for each "
            "sentence"
        )
    limits = torch.as_tensor(max_len, device=source.device).expand(source.shape[0])
    if limits.numel() and int(limits.min()) < 1:
        raise ValueError(f"max_len is {int(limits.min())}; expected at least 1")
    return limits


def permitted(logits: Float[Tensor, "batch vocabulary"]) -> Float[Tensor, "batch vocabulary"]:
    """Rule out what is never an output: padding and ``<bos>``.

    Other tokens keep the log-probability that the model gives them; nothing is shared out anew.
    """
    logits = logits.clone()
    logits[:, list(NEVER_WRITTEN)] = -torch.inf
    return logits


def log_probabilities(
    logits: Float[Tensor, "batch vocabulary"], tokens: Int[Tensor, "batch n"]
) -> Float[Tensor, "batch n"]:
    """Give the log-probabilities of some tokens of each row."""
    # On a CPU faster than logsumexp, which takes a pass more over the vocabulary.
    return logits.log_softmax(-1).gather(1, tokens)


def few_left(rows: Tensor, of: Tensor) -> bool:
    """Whether so few rows are left of those in work that a search should go on with them alone."""
    return len(rows) <= FEW * len(of)


def no_hypotheses(source: Tensor) -> Hypotheses:
    """Give what every search finds for an empty batch: no sentences, and no weights."""
    none = source.new_zeros(0)
    return Hypotheses(none[:, None], none, none.float(), None)


def scatter_rows(values: Values, rows: Tensor, batch: int) -> Values:
    """Give each sentence of the batch its own row: zeros, or padding, where it had ended."""
    if values is None or len(rows) == batch:
        return values
    return values.new_zeros(batch, *values.shape[1:]).index_copy_(0, rows, values)


def to_hypotheses(tokens: Tensor, scores: Tensor, maps: list[Tensor | None]) -> Hypotheses:
    """Put sentences (batch, steps), padded, with their scores and each step's weights together."""
    if scores.isnan().any():
        raise ValueError(
            "the model gave logits that are NaN, not a number: its weights, or what it reads, hold "
            "NaN or infinite numbers"
        )
    written = tokens != PAD
    width = max(int(written.sum(1).max()), 1)
    weights = None
    if maps[0] is not None:
        weights = torch.stack([m for m in maps if m is not None], 1)[:, :width]
        weights = weights.masked_fill(~written[:, :width, None], 0.0)
    return Hypotheses(tokens[:, :width], written.sum(1), scores, weights)
