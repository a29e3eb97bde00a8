"""What the oracle expects: outputs in float64, and gradients by central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np

from seqattn.grading.bank import Question

__all__ = ["central_differences", "expected_output", "upstream_for"]

STEP = 1e-5


def expected_output(q: Question, inputs: tuple, upstream: Any) -> Any:
    """Compute what is right for a case.

    Parameters
    ----------
    q : Question
        The question.
    inputs : tuple
        Of the case, in float32.
    upstream : tuple of ndarray, or None
        Weights of the outputs whose gradients are asked for.

    Returns
    -------
    object
        The oracle's output, or the gradients by the floating-point inputs: a dict of the names of
        the arguments.
    """
    exact = [_exact(x) for x in inputs]
    # What pads hold may be infinite: no news.
    with np.errstate(all="ignore"):
        return q.oracle(*exact) if upstream is None else _gradients(q, exact, upstream)


def _gradients(q: Question, exact: list, upstream: Any) -> dict[str, np.ndarray]:
    def total() -> float:
        outputs = _arrays(q.oracle(*exact))
        return sum(float((o[w != 0] * w[w != 0]).sum()) for o, w in zip(outputs, upstream))

    # The inputs are moved where they lie, so the argument that is moved need not be named.
    return {
        name: central_differences(lambda _: total(), x)
        for name, x in zip(q.arguments, exact)
        if isinstance(x, np.ndarray) and x.dtype == np.float64
    }


def central_differences(function: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """Differentiate a function of an array, entry by entry; the array is as before afterwards."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        kept = x[place]
        x[place] = kept + STEP
        above = function(x)
        x[place] = kept - STEP
        gradient[place] = (above - function(x)) / (2 * STEP)
        x[place] = kept
    return gradient


def upstream_for(q: Question, inputs: tuple, rng: np.random.Generator) -> tuple:
    """Draw a weight for each number that the oracle gives; 0 for what is not finite."""
    with np.errstate(all="ignore"):
        outputs = _arrays(q.oracle(*[_exact(x) for x in inputs]))
    weights = (rng.normal(size=o.shape) for o in outputs)
    return tuple(
        np.where(np.isfinite(o), w, 0).astype(np.float32) for o, w in zip(outputs, weights)
    )


def _exact(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if value.dtype == np.float32 else value.copy()
    if isinstance(value, dict):
        return {name: _exact(v) for name, v in value.items()}
    return tuple(map(_exact, value)) if isinstance(value, tuple) else value


def _arrays(value: Any) -> list[np.ndarray]:
    return [value] if isinstance(value, np.ndarray) else [a for v in value for a in _arrays(v)]
