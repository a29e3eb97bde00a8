"""What training minimises."""

import math
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from seqattn.specials import PAD

__all__ = ["TokenLoss", "cross_entropy", "perplexity"]


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
    total = F.cross_entropy(
        logits.flatten(0, 1).float() if logits.dtype.itemsize < 4 else logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return TokenLoss(total, (targets != PAD).sum())


def perplexity(nats_per_token: float) -> float:
    """Turn nats per token into a number of equally likely tokens, :math:`e^L`.

    Examples
    --------
    >>> round(perplexity(math.log(8)), 6)
    8.0
    """
    return math.exp(min(nats_per_token, 700.0))
