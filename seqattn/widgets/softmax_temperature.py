"""Softmax, temperature and mask: move the scores and see the weights."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import masked_softmax
from seqattn.widgets.base import LiveFigure, Numbers, floats, masked_entropy

__all__ = ["SoftmaxTemperature"]


class SoftmaxTemperature(LiveFigure):
    r"""Weights :math:`\alpha = \mathrm{softmax}(e/\tau)` under the reader's hand.

    A slider for each score and one for the temperature, a mask flag for each position; below, the
    weights and the entropy as functions of the temperature.

    Parameters
    ----------
    scores : sequence of float
        One score e for each position, from -5 to 5.
    labels : sequence of str
        Names of the positions.
    temperature : float
        τ, from 0.05 to 20.
    mask : sequence of bool, optional
        True = may be attended; all True if not given.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Examples
    --------
    >>> SoftmaxTemperature([0.0, 0.0], ["left", "right"]).numbers()["weights"]
    [0.5, 0.5]
    """

    _js = "softmax_temperature.js"
    _moves = ("scores", "temperature", "mask")
    _title = "From scores to weights: softmax and its temperature"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "You untick a position. What happens to the weights of the others?",
        "options": [
            "Nothing: each keeps its weight.",
            "Each grows by the same amount.",
            "Each grows by the same factor.",
        ],
        "answer": 2,
        "explain": [
            "Then they would no longer sum to 1.",
            "Their ratios depend on differences of scores alone, and those have not changed.",
            "One term leaves the denominator, which all the others share.",
        ],
        "tests": "mask",
    }

    scores = Numbers(traitlets.Float()).tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    mask = Numbers(traitlets.Bool()).tag(sync=True)

    def __init__(
        self,
        scores: Sequence[float] = (0.4, 2.0, 1.1, -0.3, 0.9),
        labels: Sequence[str] = ("the", "cat", "sat", "on", "mat"),
        temperature: float = 1.0,
        mask: Sequence[bool] | None = None,
        **options: Any,
    ) -> None:
        if not temperature > 0:
            raise ValueError(f"temperature is {temperature}; expected a number above 0")
        mask = [True] * len(labels) if mask is None else [bool(m) for m in mask]
        if len(mask) != len(labels):
            raise ValueError(f"mask has {len(mask)} flags; expected one for each label")
        super().__init__(
            scores=floats(scores, "scores", len(labels)),
            labels=[str(label) for label in labels],
            temperature=float(temperature),
            mask=mask,
            **options,
        )

    @traitlets.validate("scores", "mask")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("labels", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute weights, entropy in nats and the rest by PyTorch in float64."""
        scores = torch.tensor([self.scores], dtype=torch.float64)
        mask = torch.tensor([self.mask])
        weights = masked_softmax(scores, mask, temperature=self.temperature)[0].tolist()
        entropy = masked_entropy(weights)
        return {
            "scores": self.scores,
            "mask": self.mask,
            "temperature": self.temperature,
            "weights": weights,
            "entropy": entropy,
            "effective_positions": math.exp(entropy) if any(self.mask) else 0.0,
            "largest": weights.index(max(weights)) if any(self.mask) else "none",
        }
