"""What attention itself is asked for in training, beside the right words."""

from collections.abc import Callable

import torch
from torch import Tensor

from seqattn.attention import coverage_loss, padding_mask
from seqattn.data import Batch
from seqattn.specials import PAD
from seqattn.training.config import TrainingConfig
from seqattn.training.regularizers import doubly_stochastic_penalty

__all__ = ["Penalty", "attention_penalty"]

Penalty = Callable[[Tensor, Batch], Tensor]
"""From the weights (batch, steps, keys) of a batch to a scalar, a mean over its tokens."""


def attention_penalty(config: TrainingConfig) -> Penalty | None:
    """Put the terms together that a configuration adds to the loss; None if it adds none.

    Raises
    ------
    ValueError
        When the penalty is asked of a model without attention.

    Examples
    --------
    >>> attention_penalty(TrainingConfig(steps=1)) is None
    True
    """
    if not (config.doubly_stochastic_penalty or config.coverage_loss):
        return None

    def penalty(weights: Tensor | None, batch: Batch) -> Tensor:
        if weights is None:
            raise ValueError(
                "doubly_stochastic_penalty and coverage_loss need attention, and the model has none"
            )
        # In 16 bits the sums over a sentence would lose small weights.
        weights = weights.to(torch.promote_types(weights.dtype, torch.float32))
        written = batch.targets != PAD
        read = padding_mask(batch.lengths, batch.source.shape[1])
        looked_at = config.doubly_stochastic_penalty * doubly_stochastic_penalty(
            weights, written, read
        )
        return looked_at + config.coverage_loss * coverage_loss(weights, None, written)

    return penalty
