"""What training minimises: the cross-entropy of the words, and what is asked of the attention."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from seqattn.attention import coverage_loss, padding_mask
from seqattn.data.batches import Batch
from seqattn.specials import PAD
from seqattn.training.config import TrainingConfig
from seqattn.training.regularizers import doubly_stochastic_penalty

__all__ = ["Penalty", "TokenLoss", "attention_penalty", "cross_entropy"]


class TokenLoss(NamedTuple):
    """A loss as a sum and what it was summed over.

    Sums can be added over batches. Means of batches cannot: ten tokens at 2.0 and 190 at 5.0 have a
    mean of 4.85, not of 3.5.

    Attributes
    ----------
    total : scalar
        In nats, over all real tokens.
    tokens : scalar
        Number of these.
    """

    total: Tensor
    tokens: Tensor

    @property
    def mean(self) -> Tensor:
        """Nats per token."""
        return self.total / self.tokens


def cross_entropy(
    logits: Float[Tensor, "batch steps vocabulary"],
    targets: Int[Tensor, "batch steps"],
    *,
    smoothing: float = 0.0,
) -> TokenLoss:
    r"""Cross-entropy of known targets, padding left out, labels smoothed if asked for.

    .. math::
        L = -\sum_{t:\, y_t \neq \text{pad}}
            \Bigl[(1 - \varepsilon) \log p_t(y_t) + \frac{\varepsilon}{V} \sum_k \log p_t(k)\Bigr]

    Parameters
    ----------
    logits : (batch, steps, vocabulary)
        Scores before softmax; computed with in 32 bits at least.
    targets : (batch, steps) integers
        Token that each step is to produce; 0 is padding.
    smoothing : float
        Label smoothing: the share ε of the probability that goes to all V tokens alike. Smoothed
        losses have no perplexity: they cannot fall below the entropy of the smoothed label.

    Returns
    -------
    TokenLoss
        ``total`` and ``tokens``; ``mean`` is what is usually shown.

    Raises
    ------
    ValueError
        If the smoothing is no share from 0 to 1.

    References
    ----------
    Szegedy et al. (2016), "Rethinking the Inception Architecture for Computer Vision", section 7,
    for the smoothing; Vaswani et al. (2017), section 5.4.

    Examples
    --------
    >>> import torch
    >>> loss = cross_entropy(torch.zeros(1, 3, 8), torch.tensor([[5, 2, 0]]))
    >>> loss.tokens, loss.mean.exp()
    (tensor(2), tensor(8.))
    """
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing is {smoothing}; expected a share from 0 to 1")
    real = targets != PAD
    # Whatever stands at padding: 0 times NaN, its gradient, would be NaN.
    known = logits.where(real.unsqueeze(-1), 0.0)
    total = F.cross_entropy(
        known.to(torch.promote_types(known.dtype, torch.float32)).flatten(0, 1),
        targets.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )
    return TokenLoss(total, real.sum())


Penalty = Callable[[Tensor, Batch], Tensor]
"""From the weights (batch, steps, keys) of a batch to a scalar, a mean over the batch."""


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
        total = weights.new_zeros(())
        if factor := config.doubly_stochastic_penalty:
            total = total + factor * doubly_stochastic_penalty(weights, written, read)
        if factor := config.coverage_loss:
            total = total + factor * coverage_loss(weights, None, written)
        return total

    return penalty
