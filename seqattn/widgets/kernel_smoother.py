"""Attention as kernel smoothing: the Nadaraya–Watson estimator under the reader's hand."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import attend
from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["KernelSmoother"]

# 0.5 + 0.4 sin(2x) plus fixed noise, at uneven places: gaps show how the kernel reaches.
X = (
    0.15,
    0.3,
    0.62,
    0.8,
    1.05,
    1.2,
    1.31,
    1.7,
    1.85,
    2.4,
    2.52,
    2.75,
    3.1,
    3.3,
    3.42,
    3.9,
    4.1,
    4.6,
    4.75,
)
NOISE = (3, -5, 4, -2, -6, 5, 1, -4, 6, 2, -5, 4, -3, 6, -2, 3, -4, 5, -1)
Y = tuple(round(0.5 + 0.4 * math.sin(2 * x) + n / 60, 3) for x, n in zip(X, NOISE, strict=True))


class KernelSmoother(LiveFigure):
    r"""Prediction :math:`\hat y(x) = \sum_i \alpha_i y_i` with Gaussian weights.

    The weights are :math:`\alpha = \mathrm{softmax}(-(x - x_i)^2 / 2h^2)`: attention whose query is
    the place x, whose keys are the places of the data, and whose values are their heights.

    Parameters
    ----------
    x, y : sequence of float
        Data: keys and values.
    position : float, optional
        Where to predict (the query); the middle of the data if not given.
    bandwidth : float
        h, from 0.03 to 3, in units of x.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    References
    ----------
    Nadaraya (1964), "On estimating regression"; Watson (1964), "Smooth regression analysis".

    Examples
    --------
    >>> KernelSmoother([0.0, 1.0], [2.0, 4.0], position=0.5).numbers()["prediction"]
    3.0
    """

    _js = "kernel_smoother.js"
    _moves = ("position", "bandwidth")
    _title = "Kernel smoothing is attention over data points"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "You make the bandwidth very large. What does the curve become?",
        "options": [
            "The flat line at the mean of all y.",
            "A path through every data point.",
            "The straight line that fits best.",
        ],
        "answer": 0,
        "explain": [
            "Every point gets the same weight, as with a high temperature: here the temperature "
            "is the square of the bandwidth.",
            "That is the other end: a very small bandwidth copies the nearest point.",
            "The prediction is an average of the y. Equal weights know nothing of a slope.",
        ],
        "tests": "bandwidth",
    }

    x = Numbers(traitlets.Float()).tag(sync=True)
    y = Numbers(traitlets.Float()).tag(sync=True)
    position = traitlets.Float().tag(sync=True)
    bandwidth = traitlets.Float(0.3).tag(sync=True)

    def __init__(
        self,
        x: Sequence[float] = X,
        y: Sequence[float] = Y,
        position: float | None = None,
        bandwidth: float = 0.25,
        **options: Any,
    ) -> None:
        places = floats(x, "x")
        if not bandwidth > 0:
            raise ValueError(f"bandwidth is {bandwidth}; expected a number above 0")
        if position is None:
            position = round((min(places) + max(places)) / 2, 2)
        super().__init__(
            x=places,
            y=floats(y, "y", len(places)),
            position=float(position),
            bandwidth=float(bandwidth),
            **options,
        )

    @traitlets.validate("y")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("x", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute weights and prediction by PyTorch in float64."""
        keys = torch.tensor([self.x], dtype=torch.float64)
        values = torch.tensor([self.y], dtype=torch.float64).unsqueeze(-1)
        scores = -((self.position - keys) ** 2) / 2
        prediction, weights = attend(scores, values, temperature=self.bandwidth**2)
        return {
            "position": self.position,
            "bandwidth": self.bandwidth,
            "weights": weights[0].tolist(),
            "prediction": prediction.item(),
        }
