"""Questions that are more than a function: probes, oracles and parts that belong together.

A bank that asks for a module needs no more than a forward pass in NumPy: parameters, state and
gradients are the same questions for every module. So it is with a measure of attention weights.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from seqattn.grading.drawing import softmax_rows
from seqattn.grading.oracle import central_differences
from seqattn.grading.probes import MAP_MEASURE, MODULE

__all__ = ["map_measure", "module"]

MODULE_PARTS = (
    "parameters",
    "the parameters are the same after a call",
    "state_dict holds the parameters and nothing else",
    "no parameter is hidden in a list",
    "the initial values differ from one another",
    "no two rows or columns begin alike",
    "another module begins with other numbers",
    "the initial values are neither tiny nor huge",
    "a second call is computed like the first",
    "a third call gives what the first gave",
    "evaluation mode computes what training mode does",
    "the inputs are left as they are",
    "the precision of the inputs is kept",
)
RESULT = "the result"
STEADY = ("the weights are left as they are", "a second call gives the same")
PULLED = ("gradient of the scores behind the weights", "double precision is kept")
FLOWS = ("gradients reach the inputs", "gradients can flow from every result")


def module(
    forward: Callable[..., Any], outputs: tuple[str, ...], parameters: tuple[str, ...]
) -> dict[str, Any]:
    """Give the probe, the oracle and the parts of a question that asks for a module.

    Its cases are ``(sizes, values, inputs)``: the arguments of the constructor, a dict of the
    values to which parameters are set, and the arguments of the call. Its stages are called
    "parameters", "gradients" and, for what it computes, like its outputs: "context and weights".

    Parameters
    ----------
    forward : callable
        ``forward(*inputs, **values)`` in NumPy: one output, or a tuple.
    outputs : tuple of str
        What to call the outputs, in order.
    parameters : tuple of str
        Whose gradients count.
    """

    def oracle(sizes: tuple, values: dict[str, np.ndarray], inputs: tuple) -> dict:
        def first() -> float:
            return float((_row(forward(*inputs, **values))[0] ** 2).sum())

        shapes = ", ".join(f"{name} {values[name].shape}" for name in sorted(values))
        found = {**dict.fromkeys((*MODULE_PARTS, *FLOWS), True), "parameters": shapes}
        found.update(zip(outputs, _row(forward(*inputs, **values))))
        for name, value in values.items():
            # The array is moved where it lies, so the function need not be told.
            found[f"gradient of {name}"] = central_differences(lambda _: first(), value)
        return found

    def shown(sizes: tuple, values: dict[str, np.ndarray], inputs: tuple) -> dict[str, Any]:
        named = zip(list(signature(forward).parameters), inputs)
        return {**values, **dict(named)}

    return {
        "shown": shown,
        "probe": MODULE.format(outputs=repr(outputs)),
        "oracle": oracle,
        "parts": {
            "parameters": MODULE_PARTS,
            " and ".join(outputs): outputs,
            "gradients": (*(f"gradient of {name}" for name in parameters), *FLOWS),
        },
    }


def map_measure(measure: Callable[..., np.ndarray], values: tuple[str, ...]) -> dict[str, Any]:
    """Give the probe, the oracle and the parts of a question that asks for a measure of weights.

    Its cases are the scores behind the weights, weights of the results, and further arguments. Its
    last stage is called "gradients".

    Parameters
    ----------
    measure : callable
        ``measure(weights, *more)`` in NumPy.
    values : tuple of str
        Stages that look at values.
    """

    def oracle(scores: np.ndarray, upstream: np.ndarray, *more: Any) -> dict:
        def total() -> float:
            return float((measure(softmax_rows(scores), *more) * upstream).sum())

        result = measure(softmax_rows(scores), *more)
        gradient = central_differences(lambda _: total(), scores)
        return {RESULT: result, PULLED[0]: gradient, **dict.fromkeys((*STEADY, PULLED[1]), True)}

    def shown(scores: np.ndarray, upstream: np.ndarray, *more: Any) -> dict[str, Any]:
        names = list(signature(measure).parameters)
        return dict(zip(names, (softmax_rows(scores), *more)))

    parts = {**dict.fromkeys(values, (RESULT, *STEADY)), "gradients": PULLED}
    return {"shown": shown, "probe": MAP_MEASURE, "oracle": oracle, "parts": parts}


def _row(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)
