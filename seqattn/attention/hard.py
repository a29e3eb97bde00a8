"""Hard attention: fetch one position, drawn at random or the best, and learn to choose it."""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.attention.core import Attention, Mechanism, Memory
from seqattn.attention.masks import check_bool
from seqattn.attention.scores import Score

__all__ = ["HardAttention", "HardOutput", "score_function_loss"]


class HardOutput(NamedTuple):
    """What hard attention returns.

    Attributes
    ----------
    context : (batch, [queries,] d_value)
        The value at the chosen position; zeros where none may be attended.
    weights : (batch, [queries,] keys)
        The probabilities from which the position is chosen.
    position : (batch, [queries]) integers
        The chosen position, from 0; −1 where none may be attended.
    log_prob : (batch, [queries])
        Log-probability of the choice, in nats, with its gradient; 0 where there was none.
    """

    context: Tensor
    weights: Tensor
    position: Tensor
    log_prob: Tensor


class HardAttention(Mechanism):
    r"""Attention that fetches one value, :math:`c_t = v_I` with :math:`I \sim \alpha_t`.

    A drawn position passes no gradient to the scores. Two ways round that:

    - the score-function estimator (REINFORCE), unbiased and noisy: train with
      :func:`score_function_loss` beside the loss;
    - ``gradient="straight-through"``, biased, and noisy too: the context is the fetched value, but
      its gradient is that of the soft context :math:`\sum_i \alpha_{ti} v_i`. An
      :class:`~seqattn.models.AttentionDecoder`, which hands on no log-probabilities, needs this,
      and warns without it.

    Parameters
    ----------
    score : Score
        Compares queries with keys.
    choice : {"sample", "argmax"}
        Draw in training and take the most likely position in evaluation, or always the latter.
    gradient : {"none", "straight-through"}
        What reaches the scores through the context.

    Raises
    ------
    ValueError
        If choice or gradient is unknown.
    TypeError
        If the score is none.

    References
    ----------
    Xu et al. (2015), "Show, Attend and Tell", section 4.1. Bengio, Léonard and Courville (2013),
    "Estimating or Propagating Gradients Through Stochastic Neurons", for straight-through.

    Examples
    --------
    >>> from seqattn import AdditiveScore
    >>> attention = HardAttention(AdditiveScore(d_query=3, d_key=4, d_attn=5)).eval()
    >>> found = attention(torch.randn(2, 3), torch.randn(2, 7, 4))
    >>> bool((found.position == found.weights.argmax(-1)).all())
    True
    """

    def __init__(
        self,
        score: Score,
        choice: Literal["sample", "argmax"] = "sample",
        gradient: Literal["none", "straight-through"] = "none",
    ):
        super().__init__()
        if choice not in ("sample", "argmax"):
            raise ValueError(f"choice is {choice!r}; expected 'sample' or 'argmax'")
        if gradient not in ("none", "straight-through"):
            raise ValueError(f"gradient is {gradient!r}; expected 'none' or 'straight-through'")
        self.soft = Attention(score)
        self.choice = choice
        self.gradient = gradient

    def remember(
        self,
        keys: Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Memory:
        """Project the keys once, for all the queries to come; see :meth:`Mechanism.remember`."""
        return self.soft.remember(keys, values, mask)

    def forward(
        self,
        query: Float[Tensor, "batch *queries d_query"],
        keys: Memory | Float[Tensor, "batch keys d_key"],
        values: Float[Tensor, "batch keys d_value"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        generator: torch.Generator | None = None,
    ) -> HardOutput:
        """Fetch one value for each query.

        Parameters
        ----------
        query, keys, values, mask
            As in :meth:`Attention.forward`.
        generator : torch.Generator, optional
            Draws from this generator instead of the global one.

        Returns
        -------
        HardOutput
            Context, probabilities, position and its log-probability.

        Raises
        ------
        TypeError, ValueError
            As :meth:`Attention.forward`.
        """
        memory = self._recall(keys, values, mask)
        soft, weights = self.soft(query, memory)
        total = weights.sum(-1)
        if not weights.shape[-1]:  # no position to draw, nor the best of none
            return HardOutput(soft, weights, torch.full_like(total, -1, dtype=torch.long), total)
        possible = total != 0  # and where it is NaN, which log_prob then is, too
        # A row with nothing to choose from still needs something that can be drawn.
        chances = weights.detach().masked_fill(~(total > 0).unsqueeze(-1), 1.0)
        if self.choice == "sample" and self.training:
            flat = chances.flatten(0, -2)
            position = torch.multinomial(flat, 1, generator=generator).view(possible.shape)
        else:
            position = chances.argmax(-1)
        # Fetched, not summed with weights of 0 and 1: beside it may stand anything.
        rows = position.flatten(1) if position.dim() > 1 else position.unsqueeze(1)
        fetched = memory.values.gather(1, rows.unsqueeze(-1).expand(-1, -1, soft.shape[-1]))
        context = fetched.view(soft.shape).masked_fill(~possible.unsqueeze(-1), 0.0)
        if self.gradient == "straight-through":
            context = context.detach() + (soft - soft.detach())
        chosen = weights.gather(-1, position.unsqueeze(-1)).squeeze(-1)
        log_prob = torch.where(possible, chosen, 1.0).log()
        return HardOutput(context, weights, position.masked_fill(~possible, -1), log_prob)


def score_function_loss(
    log_prob: Float[Tensor, "*choices"],
    reward: Float[Tensor, "*choices"],
    baseline: Float[Tensor, "..."] | float = 0.0,
    mask: Bool[Tensor, "*choices"] | None = None,
) -> Float[Tensor, ""]:
    r"""Surrogate whose gradient estimates that of the expected reward, with its sign turned.

    .. math:: -\frac{1}{N} \sum_n (r_n - b)\, \log p(I_n)

    Its *value* means nothing; its gradient is, on average, that of :math:`-\mathbb{E}[r]`. The
    baseline b changes the noise and not the average, as long as it does not depend on the choice:
    take a running mean of rewards, or what greedy choice earns.

    Parameters
    ----------
    log_prob : any shape
        Log-probabilities of the choices, with gradient.
    reward : same shape
        What each choice earned; no gradient is taken of it.
    baseline : float, or what broadcasts against reward
        Subtracted from the rewards.
    mask : same shape, bool, optional
        True at real choices; N counts those.

    Returns
    -------
    scalar
        To be minimised.

    Raises
    ------
    ValueError
        If reward, mask or what is left of the reward have another shape than ``log_prob``.
    TypeError
        If the mask is not boolean.

    References
    ----------
    Williams (1992), "Simple Statistical Gradient-Following Algorithms for Connectionist
    Reinforcement Learning"; Xu et al. (2015), equation 12, for attention.

    Examples
    --------
    >>> log_prob = torch.tensor([0.25, 0.75]).log().requires_grad_()
    >>> score_function_loss(log_prob, torch.tensor([1.0, 0.0])).backward()
    >>> log_prob.grad
    tensor([-0.5000, -0.0000])
    """
    for name, other in (("reward", reward), ("mask", mask)):
        if other is not None and other.shape != log_prob.shape:
            raise ValueError(
                f"{name} has shape {tuple(other.shape)}; expected that of log_prob, "
                f"{tuple(log_prob.shape)}"
            )
    advantage = (reward - baseline).detach()
    if advantage.shape != log_prob.shape:
        raise ValueError(
            f"reward less baseline has shape {tuple(advantage.shape)}; expected that of log_prob, "
            f"{tuple(log_prob.shape)}"
        )
    if mask is None:
        return -(advantage * log_prob).sum() / max(advantage.numel(), 1)
    check_bool(mask)
    # Before the product, whose gradient would else meet whatever stands where no choice was.
    advantage, log_prob = (x.masked_fill(~mask, 0.0) for x in (advantage, log_prob))
    return -(advantage * log_prob).sum() / mask.sum().clamp(min=1)
