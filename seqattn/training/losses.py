"""What training minimises: the cross-entropy of the words, and what is asked of the attention."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from seqattn.attention import coverage_loss, padding_mask
from seqattn.attention.masks import surely_all
from seqattn.data.batches import Batch
from seqattn.regularizers import doubly_stochastic_penalty
from seqattn.specials import PAD
from seqattn.training.config import TrainingConfig

__all__ = ["Penalty", "TokenLoss", "attention_penalty", "cross_entropy"]

# Logits that a CPU works on at once: few enough to stay in its cache from one operator to the next.
CACHED = 2**18


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
        Share ε of the probability that goes to all V tokens alike. Smoothed losses have no
        perplexity: they cannot fall below the entropy of the smoothed label.

    Returns
    -------
    TokenLoss
        ``total`` and ``tokens``; ``mean`` is what is usually shown.

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
    real = targets != PAD
    losses = _CrossEntropy.apply(logits.flatten(0, 1), targets.flatten(), smoothing)
    total = losses.where(real.flatten(), 0.0).sum()
    return TokenLoss(total, real.sum())


class _CrossEntropy(torch.autograd.Function):
    """Cross-entropy of each row, computed block by block.

    Log-probabilities of a whole batch are as large as its logits, tens of megabytes; PyTorch's own
    function makes several tensors of that size, and twice as many in half precision.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        ctx.smoothing = smoothing
        losses, normalisers = [], []
        for x, y in zip(_blocks(logits), targets.split(_rows(logits))):
            log_z = x.logsumexp(-1)
            loss = log_z - (1 - smoothing) * x.gather(-1, y[:, None])[:, 0]
            losses.append(loss - smoothing * x.mean(-1) if smoothing else loss)
            normalisers.append(log_z)
        ctx.save_for_backward(logits, targets, torch.cat(normalisers))
        return torch.cat(losses)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor, None, None]:
        """Softmax less the smoothed label, times what is given for the row."""
        logits, targets, normalisers = ctx.saved_tensors
        gradient, size = torch.empty_like(logits), _rows(logits)
        parts = (given, targets, normalisers, gradient)
        for x, (g, y, log_z, out) in zip(_blocks(logits), zip(*(p.split(size) for p in parts))):
            p = (x - log_z[:, None]).exp_()
            if ctx.smoothing:
                p -= ctx.smoothing / p.shape[-1]
            p.scatter_add_(-1, y[:, None], p.new_full((len(p), 1), ctx.smoothing - 1))
            p.mul_(g[:, None])
            if not surely_all(log_z.isfinite()):  # 0 · NaN, where no gradient is due
                p.masked_fill_((g == 0)[:, None], 0.0)
            out.copy_(p)
        return gradient, None, None


def _rows(logits: Tensor) -> int:
    if logits.device.type != "cpu":
        return max(len(logits), 1)
    return max(CACHED // max(logits.shape[-1], 1), 1)


def _blocks(logits: Tensor) -> Iterator[Tensor]:
    """Cut into blocks of rows, in 32 bits at least; one at a time, so that it is still cached."""
    for x in logits.split(_rows(logits)):
        yield x.float() if x.dtype.itemsize < 4 else x


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
