"""What a decoder carries from step to step, and what a step gives."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqattn.attention import Past
from seqattn.models.recurrent import Hidden

__all__ = ["State", "Step", "stack_steps"]


class State(NamedTuple):
    """All that a decoder carries from one step to the next; every tensor has the batch first.

    Attributes
    ----------
    hidden : Hidden
        States, and memory cells, of the recurrent layers.
    fed : (batch, d_features), or None
        Readout of the last step, with input feeding only.
    context : (batch, d_encoder), or None
        The fixed vector, in a decoder without attention only.
    past : Past, or None
        What the attention must know of the steps before.
    """

    hidden: Hidden
    fed: Tensor | None = None
    context: Tensor | None = None
    past: Past | None = None


class Step(NamedTuple):
    """What one step gives.

    Attributes
    ----------
    logits : (batch, vocabulary)
        Scores of the token that this step produces.
    weights : (batch, keys), or None
        Where it looked; None without attention.
    state : State, or whatever else its decoder carries
        For the next step.
    """

    logits: Tensor
    weights: Tensor | None
    state: Any


def stack_steps(steps: Sequence[Tensor | None]) -> Tensor | None:
    """Put what each step gave side by side, as (batch, steps, ...); None where steps gave None."""
    given = [x for x in steps if x is not None]
    return torch.stack(given, 1) if given else None
