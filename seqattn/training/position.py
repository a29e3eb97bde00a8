"""Where a training stands, how it ended, and how both are told."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seqattn.training.evaluation import Evaluation

__all__ = ["Outcome", "Position", "average_record", "train_record", "valid_line", "valid_record"]


@dataclass
class Position:
    """Where a training stands.

    Attributes
    ----------
    step : int
        Updates made.
    epoch, index : int
        Passes over the corpus finished, and batches used of the next.
    seconds : float
        Time taken, validations included.
    validated, looked : int
        Steps of the last validation, and of the last early look.
    best, best_step, perplexity : float, int, float
        Best validation BLEU, when that was, and what the perplexity was then.
    waited : int
        Validations since.
    loss, tokens : float, int
        Sums since the last line of the log.
    kept : list of [BLEU, step]
        Validations whose weights are kept for the average, the best first.
    """

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0
    validated: int = 0
    looked: int = 0
    best: float = -1.0
    best_step: int = 0
    perplexity: float = math.inf
    waited: int = 0
    loss: float = 0.0
    tokens: int = 0
    kept: list[list[float]] = field(default_factory=list)


class Outcome(NamedTuple):
    """How a run ended.

    Attributes
    ----------
    reason : {"done", "early", "interrupted"}
        The budget is used up; no gain for too long; a signal.
    position : Position
        Where it stands.
    signal : int, or None
        Number of the signal.
    """

    reason: str
    position: Position
    signal: int | None


def train_record(position: Position, rate: float, norm: float, speed: float) -> dict[str, Any]:
    """Make a line of the log from the sums since the last one."""
    return {
        "kind": "train",
        "step": position.step,
        "epoch": position.epoch,
        "loss": position.loss / position.tokens,
        "lr": rate,
        "norm": norm,
        "tokens_per_second": round(speed),
        "seconds": round(position.seconds, 3),
    }


def valid_record(position: Position, found: Evaluation) -> dict[str, Any]:
    """Make a line of the log from a validation."""
    return {
        "kind": "valid",
        "step": position.step,
        "epoch": position.epoch,
        "seconds": round(position.seconds, 3),
        **found.to_dict(),
    }


def average_record(position: Position, found: Evaluation, *, kept: bool) -> dict[str, Any]:
    """Make a line of the log from the validation of averaged weights."""
    return {
        "kind": "average",
        "step": position.step,
        "steps": sorted(int(step) for _, step in position.kept),
        "kept": kept,
        **found.to_dict(),
    }


def valid_line(position: Position, found: Evaluation) -> str:
    """Tell people of a validation."""
    minutes, seconds = divmod(int(position.seconds), 60)
    aer = "" if found.aer is None else f"  AER {100 * found.aer:4.1f} %"
    best = "  best so far" if position.best_step == position.step else ""
    return (
        f"{minutes:3d}:{seconds:02d}  update {position.step:6d}  BLEU {found.bleu:5.1f}"
        f"  perplexity {found.perplexity:6.2f}{aer}{best}"
    )
