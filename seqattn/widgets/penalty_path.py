"""What a penalty on attention weights does to one row, step by step."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["PenaltyPath"]

STEPS = 100
PENALTIES = ("entropy", "1 − Σα²", "Σ|α|")


class PenaltyPath(LiveFigure):
    r"""One row of three weights, moved by gradient descent on a penalty and on nothing else.

    .. math:: e \leftarrow e - \lambda\, \nabla_e R(\mathrm{softmax}\, e)

    The row is a point of the triangle whose corners are rows with all weight on one word.

    Parameters
    ----------
    scores : sequence of float
        Three scores e at the start.
    labels : sequence of str
        Names of the three positions.
    penalty : {"entropy", "1 − Σα²", "Σ|α|"}
        R: the entropy in nats, one minus the sum of squares, or the sum of absolute values.
    factor : float
        λ, from -1 to 1.
    steps : int
        Number of steps taken, from 0 to 100.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there are not three positions, or an option is out of its limits.

    Examples
    --------
    >>> for penalty in ("entropy", "Σ|α|"):
    ...     figure = PenaltyPath(penalty=penalty, steps=100)
    ...     print([round(w, 3) for w in figure.numbers()["weights"]])
    [0.001, 0.999, 0.0]
    [0.407, 0.522, 0.071]
    """

    _js = "penalty_path.js"
    _moves = ("penalty", "factor", "steps")
    _title = "One row under a penalty"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "The penalty is the sum of absolute weights, Σ|α|, which makes many things "
        "sparse. You take 100 steps down its slope. Where does the row go?",
        "options": [
            "To a corner: small weights become zero.",
            "To the middle: all weights become equal.",
            "Nowhere.",
        ],
        "answer": 2,
        "tests": "steps",
        "explain": [
            "Free weights would all shrink to zero. These are not negative and sum to 1, so the "
            "sum of their absolute values is 1 for every row.",
            "Nothing pulls there: the sum is 1 in the middle, too.",
            "The sum is 1 for every row that a softmax can make. A constant has no slope.",
        ],
    }

    scores = Numbers(traitlets.Float()).tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    penalty = traitlets.Enum(PENALTIES, PENALTIES[2]).tag(sync=True)
    factor = traitlets.Float(1.0).tag(sync=True)
    steps = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        scores: Sequence[float] = (1.0, 1.25, -0.75),
        labels: Sequence[str] = ("cat", "sat", "mat"),
        penalty: str = "Σ|α|",
        factor: float = 1.0,
        steps: int = 0,
        **options: Any,
    ) -> None:
        if len(labels) != 3:
            raise ValueError(f"labels has {len(labels)} entries; expected 3, a triangle's corners")
        if penalty not in PENALTIES:
            raise ValueError(f"penalty is {penalty!r}; expected one of {', '.join(PENALTIES)}")
        if not -1 <= factor <= 1:
            raise ValueError(f"factor is {factor}; expected a number from -1 to 1")
        if not 0 <= steps <= STEPS:
            raise ValueError(f"steps is {steps}; expected a number from 0 to {STEPS}")
        super().__init__(
            scores=floats(scores, "scores", 3),
            labels=[str(label) for label in labels],
            penalty=penalty,
            factor=float(factor),
            steps=steps,
            **options,
        )

    @traitlets.validate("scores")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("labels", proposal)

    def numbers(self) -> dict[str, Any]:
        """Take the steps by PyTorch's gradients in float64."""
        scores = torch.tensor(self.scores, dtype=torch.float64, requires_grad=True)
        first = scores.softmax(0).tolist()
        for _ in range(self.steps):
            (slope,) = torch.autograd.grad(self._of(scores.softmax(0)), scores)
            scores = (scores - self.factor * slope).detach().requires_grad_()
        (slope,) = torch.autograd.grad(self._of(scores.softmax(0)), scores)
        weights = scores.detach().softmax(0)
        return {
            "first_weights": first,
            "weights": weights.tolist(),
            "slope": slope.tolist(),
            "entropy": torch.special.entr(weights).sum().item(),
            "sum_of_squares": weights.square().sum().item(),
        }

    def _of(self, weights: Tensor) -> Tensor:
        if self.penalty == "entropy":
            return -(weights * weights.log()).sum()
        if self.penalty == "1 − Σα²":
            return 1 - weights.square().sum()
        return weights.abs().sum()
