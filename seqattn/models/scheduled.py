"""Scheduled sampling: training on inputs that are partly the model's own."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from seqattn.models.steps import Step, stack_steps

__all__ = ["mix_inputs"]


def mix_inputs(
    step: Callable[[Tensor, Any, Any], Step],
    inputs: Tensor,
    state: Any,
    memory: Any,
    *,
    teacher_forcing: float,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Run step by step, reading now the true token and now the model's own best guess.

    Each token of each sentence is drawn by itself. No gradient passes through a guess: what is
    trained is not the probability of the sentence, and the objective is biased.

    Parameters
    ----------
    step : callable
        ``(tokens, state, memory) -> Step``.
    inputs : (batch, steps) integers
        True inputs; the first is always read.
    state, memory
        Where to start, and what to look at.
    teacher_forcing : float
        Probability of reading the true token.
    generator : torch.Generator, optional
        Source of the draws.

    Returns
    -------
    logits : (batch, steps, vocabulary)
        Row t scores the token that follows input t.
    weights : (batch, steps, keys), or None
        Where the model looked to produce it.

    References
    ----------
    Bengio et al. (2015), "Scheduled Sampling for Sequence Prediction with Recurrent Neural
    Networks"; Huszár (2015), "How (not) to Train your Generative Model", for the bias.
    """
    device = inputs.device if generator is None else generator.device
    draws = torch.rand(inputs.shape, generator=generator, device=device)
    true = (draws < teacher_forcing).to(inputs.device)
    steps: list[Step] = []
    for t, tokens in enumerate(inputs.unbind(1)):
        if steps:
            tokens = torch.where(true[:, t], tokens, steps[-1].logits.argmax(-1))
        steps.append(step(tokens, state, memory))
        state = steps[-1].state
    logits = torch.stack([step.logits for step in steps], 1)
    return logits, stack_steps([step.weights for step in steps])
