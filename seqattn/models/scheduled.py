"""Scheduled sampling: training on inputs that are partly the model's own."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

from seqattn.models.steps import Step, stack_steps

__all__ = ["DrawPer", "feeds_guesses", "mix_inputs"]

DrawPer = Literal["token", "step"]


def feeds_guesses(training: bool, teacher_forcing: float) -> bool:
    """Say whether a forward pass has to mix its inputs: in training, below a probability of 1.

    Raises
    ------
    ValueError
        If ``teacher_forcing`` is no probability.
    """
    if not 0.0 <= teacher_forcing <= 1.0:
        raise ValueError(f"teacher_forcing is {teacher_forcing}; expected 0 to 1")
    return training and teacher_forcing < 1.0


def mix_inputs(
    step: Callable[[Tensor, Any, Any], Step],
    inputs: Tensor,
    state: Any,
    memory: Any,
    *,
    teacher_forcing: float,
    draw_per: DrawPer = "token",
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Run step by step, reading now the true token and now the model's own best guess.

    Each token of each sentence is drawn by itself, or each step once for the whole batch. No
    gradient passes through a guess: what is trained is not the probability of the sentence, and the
    objective is biased.

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
    draw_per : {"token", "step"}
        Whether to draw for each token, as in the paper, or once for all tokens of a step, as much
        code does. Shares are the same on average; the second makes losses noisier.
    generator : torch.Generator, optional
        Source of the draws.

    Returns
    -------
    logits : (batch, steps, vocabulary)
        Row t scores the token that follows input t.
    weights : (batch, steps, keys), or None
        Where the model looked to produce it.

    Raises
    ------
    ValueError
        If ``draw_per`` is unknown.

    References
    ----------
    Bengio et al. (2015), "Scheduled Sampling for Sequence Prediction with Recurrent Neural
    Networks"; Huszár (2015), "How (not) to Train your Generative Model", for the bias.
    """
    if draw_per not in ("token", "step"):
        raise ValueError(f"draw_per is {draw_per!r}; expected 'token' or 'step'")
    device = inputs.device if generator is None else generator.device
    rows = inputs.shape[0] if draw_per == "token" else 1
    draws = torch.rand(rows, inputs.shape[1], generator=generator, device=device)
    true = (draws < teacher_forcing).to(inputs.device)
    steps: list[Step] = []
    for t, tokens in enumerate(inputs.unbind(1)):
        if steps:
            tokens = torch.where(true[:, t], tokens, steps[-1].logits.argmax(-1))
        steps.append(step(tokens, state, memory))
        state = steps[-1].state
    logits = torch.stack([step.logits for step in steps], 1)
    return logits, stack_steps([step.weights for step in steps])
