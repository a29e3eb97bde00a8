"""How the learning rate, and the share of true inputs, change while a model trains."""

import math
from collections.abc import Callable

__all__ = [
    "LEARNING_RATES",
    "SAMPLING",
    "constant",
    "cosine",
    "exponential_decay",
    "inverse_sigmoid_decay",
    "inverse_square_root",
    "linear_decay",
    "warm_up",
]


def warm_up(step: int, steps: int) -> float:
    r"""Rise linearly over the first steps, :math:`\min(1, i / n)`.

    Parameters
    ----------
    step : int
        Number i of the update, from 1.
    steps : int
        Length n of the rise; 0 for none.

    Examples
    --------
    >>> [warm_up(i, 4) for i in (1, 2, 4, 9)]
    [0.25, 0.5, 1.0, 1.0]
    """
    return min(1.0, step / steps) if steps else 1.0


def constant(step: int, steps: int, done: float) -> float:
    """Warm up, and stay.

    Parameters
    ----------
    step, steps : int
        As in :func:`warm_up`.
    done : float
        Share of the budget that is used up.
    """
    return warm_up(step, steps)


def cosine(step: int, steps: int, done: float) -> float:
    r"""Warm up, and fall along a cosine to 0 at the end of the budget, whatever it is counted in.

    .. math:: \min(1, i / n) \cdot \tfrac{1}{2}(1 + \cos \pi d)

    Parameters
    ----------
    step, steps : int
        As in :func:`warm_up`.
    done : float
        Share d of the budget that is used up, from 0 to 1: of steps, of epochs or of time.

    References
    ----------
    Loshchilov and Hutter (2017), "SGDR: Stochastic Gradient Descent with Warm Restarts", eq. (5).

    Examples
    --------
    >>> [round(cosine(500, 100, done), 3) for done in (0.0, 0.5, 1.0)]
    [1.0, 0.5, 0.0]
    """
    return warm_up(step, steps) * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


def inverse_square_root(step: int, steps: int, done: float) -> float:
    r"""Warm up, and fall with the square root, :math:`\min(i / n, \sqrt{n / i})`; no end is needed.

    Parameters
    ----------
    step, steps : int
        As in :func:`warm_up`; without a warm-up, n is 1.
    done : float
        Share of the budget that is used up; not needed.

    References
    ----------
    Vaswani et al. (2017), equation 3, up to a constant.

    Examples
    --------
    >>> [inverse_square_root(i, 100, done=0.0) for i in (50, 100, 400)]
    [0.5, 1.0, 0.5]
    """
    return min(warm_up(step, steps), math.sqrt(max(steps, 1) / step))


def linear_decay(step: int, slope: float, *, floor: float = 0.0) -> float:
    r"""Probability of a true input, :math:`\epsilon_i = \max(\epsilon, 1 - c\,i)`.

    Parameters
    ----------
    step : int
        Number i of the update.
    slope : float
        c, above 0.
    floor : float
        Smallest probability ε.

    References
    ----------
    Bengio et al. (2015), "Scheduled Sampling for Sequence Prediction with Recurrent Neural
    Networks", section 2.4, with k = 1.

    Examples
    --------
    >>> [linear_decay(i, 0.25, floor=0.1) for i in (0, 2, 4)]
    [1.0, 0.5, 0.1]
    """
    return max(floor, 1 - slope * step)


def exponential_decay(step: int, base: float) -> float:
    r"""Probability of a true input, :math:`\epsilon_i = k^i` with k < 1.

    References
    ----------
    Bengio et al. (2015), section 2.4.

    Examples
    --------
    >>> [exponential_decay(i, 0.5) for i in (0, 1, 2)]
    [1.0, 0.5, 0.25]
    """
    return base**step


def inverse_sigmoid_decay(step: int, pace: float) -> float:
    r"""Probability of a true input, :math:`\epsilon_i = k / (k + e^{i/k})` with k ≥ 1.

    It begins at k/(k + 1), near 1 for a large k, falls through one half at :math:`i = k \ln k`, and
    ends near 0.

    References
    ----------
    Bengio et al. (2015), section 2.4.

    Examples
    --------
    >>> [round(inverse_sigmoid_decay(i, 100), 2) for i in (0, 461, 900)]
    [0.99, 0.5, 0.01]
    """
    return pace / (pace + math.exp(min(step / pace, 700.0)))


LEARNING_RATES: dict[str, Callable[[int, int, float], float]] = {
    "cosine": cosine,
    "inverse_square_root": inverse_square_root,
    "constant": constant,
}
"""Factor of the learning rate, from (step, warm-up steps, share of the budget)."""

SAMPLING: dict[str, Callable[[int, float], float]] = {
    "linear": linear_decay,
    "exponential": exponential_decay,
    "inverse_sigmoid": inverse_sigmoid_decay,
}
"""Probability of a true input, from (step, constant of the schedule)."""
