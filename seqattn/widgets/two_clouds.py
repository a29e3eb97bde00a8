"""Two clouds of gradient estimates, with a baseline and without, around one true gradient."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["TwoClouds"]

ESTIMATES, MOST = 150, 6  # points of a cloud; an estimate takes up to 2**6 draws
BASELINES = ("mean reward", "best")
# Lehmer's generator: its products are exact in the 53 bits of a JavaScript number.
FACTOR, MODULUS, FIRST = 48_271, 2**31 - 1, 12_345


class TwoClouds(LiveFigure):
    r"""Score-function estimates of one gradient, drawn as points in the plane of its three scores.

    .. math:: g = \frac{1}{n} \sum_{k=1}^{n} (r_{I_k} - b)\, \nabla_e \log \alpha_{I_k}

    On the left b is 0, on the right a baseline; the draws are the same. The exact gradient, a sum
    over all positions, is the arrow in both.

    Parameters
    ----------
    scores : sequence of float
        Three scores e; the weights are their softmax.
    labels : sequence of str
        Names of the three positions.
    rewards : sequence of float
        What fetching each position earns, from -4 to 4.
    shift : float
        Added to all rewards, from 0 to 10.
    baseline : {"mean reward", "best"}
        The expected reward, or the b of least variance.
    draws : int
        Each estimate is the mean of two to this power of draws, from 0 to 6.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there are not three positions, or an option is out of its limits.

    References
    ----------
    Williams (1992), "Simple Statistical Gradient-Following Algorithms for Connectionist
    Reinforcement Learning".

    Examples
    --------
    >>> figure = TwoClouds([0.0, 0.0, 0.0], rewards=[1.0, 0.0, 0.0])
    >>> [round(g, 3) for g in figure.numbers()["gradient"]]
    [0.222, -0.111, -0.111]
    """

    _js = "two_clouds.js"
    _moves = ("rewards", "shift", "baseline", "draws")
    _title = "One gradient, two clouds of estimates"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "You add 10 to every reward. What happens to the true gradient, and to the "
        "estimates without a baseline?",
        "options": [
            "The gradient grows, and so do the estimates.",
            "The gradient stays, and the estimates spread out.",
            "Nothing happens to either.",
            "The gradient stays, and the estimates become biased.",
        ],
        "answer": 1,
        "tests": "shift",
        "explain": [
            "A constant adds nothing to the gradient: an expected reward that is 10 higher for "
            "all scores has the same slope.",
            "Whatever was drawn now looks like a success and is made likelier. Only the average "
            "over many draws takes that back.",
            "True of their mean alone. Each single estimate is now about 10 times a direction.",
            "Their mean stays where it was: a constant times the gradient of a log-probability "
            "averages to zero.",
        ],
    }

    scores = Numbers(traitlets.Float()).tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rewards = Numbers(traitlets.Float()).tag(sync=True)
    shift = traitlets.Float(0.0).tag(sync=True)
    baseline = traitlets.Enum(BASELINES, BASELINES[0]).tag(sync=True)
    draws = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        scores: Sequence[float] = (1.0, 1.25, -0.75),
        labels: Sequence[str] = ("cat", "sat", "mat"),
        rewards: Sequence[float] = (-0.2, -1.5, -3.0),
        shift: float = 0.0,
        baseline: str = "mean reward",
        draws: int = 0,
        **options: Any,
    ) -> None:
        if len(labels) != 3:
            raise ValueError(f"labels has {len(labels)} entries; expected 3, the plane has no more")
        if not 0 <= shift <= 10:
            raise ValueError(f"shift is {shift}; expected a number from 0 to 10")
        if baseline not in BASELINES:
            raise ValueError(f"baseline is {baseline!r}; expected one of {', '.join(BASELINES)}")
        if draws not in range(MOST + 1):
            raise ValueError(f"draws is {draws}; expected an exponent of two, from 0 to {MOST}")
        super().__init__(
            scores=floats(scores, "scores", 3),
            labels=[str(label) for label in labels],
            rewards=floats(rewards, "rewards", 3),
            shift=float(shift),
            baseline=baseline,
            draws=draws,
            **options,
        )

    @traitlets.validate("scores", "rewards")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("labels", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute gradient, noise and the clouds' means by PyTorch in float64."""
        weights = torch.tensor(self.scores, dtype=torch.float64).softmax(0)
        rewards = torch.tensor(self.rewards, dtype=torch.float64) + self.shift
        slopes = torch.eye(3, dtype=torch.float64) - weights  # row i: the gradient of log weight i
        sizes = slopes.square().sum(1)
        expected = weights @ rewards
        if self.baseline == "best":
            baseline = (weights * sizes) @ rewards / (weights @ sizes)
        else:
            baseline = expected
        gradient = weights * (rewards - expected)
        n = 2**self.draws
        counts = torch.tensor(_drawn(weights.tolist(), n), dtype=torch.float64)
        found: dict[str, Any] = {
            "weights": weights.tolist(),
            "rewards": rewards.tolist(),
            "expected_reward": expected.item(),
            "baseline": baseline.item(),
            "draws": n,
            "gradient": gradient.tolist(),
        }
        for name, b in (("without", 0.0), ("with", baseline)):
            second = weights @ ((rewards - b).square() * sizes)
            variance = (second - gradient.square().sum()).clamp(min=0.0) / n
            found[f"noise_{name}"] = variance.sqrt().item()
            estimates = counts @ ((rewards - b).unsqueeze(1) * slopes) / n
            found[f"mean_{name}"] = estimates.mean(0).tolist()
        return found


def _drawn(weights: Sequence[float], n: int) -> list[list[int]]:
    """Count, for each estimate, how often each of three positions was drawn in n draws."""
    state, found = FIRST, []
    for _ in range(ESTIMATES):
        counts = [0, 0, 0]
        for _ in range(n):
            state = state * FACTOR % MODULUS
            u = state / MODULUS
            counts[0 if u < weights[0] else 1 if u < weights[0] + weights[1] else 2] += 1
        found.append(counts)
    return found
