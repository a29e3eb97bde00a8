"""Questions that are more than a function: ready-made probes for the sandbox, and their oracles.

A probe runs beside the answer and turns what it does into plain values; its oracle computes the
same values from the formula. A bank that asks for a module needs no more than a forward pass in
NumPy: parameters, state and gradients are the same questions for every module.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from seqattn.grading.oracle import central_differences

__all__ = [
    "MODULE_PARTS",
    "gradient_parts",
    "module_oracle",
    "module_probe",
    "number_probe",
    "table_probe",
]

MODULE_PARTS = ("parameters", "same parameters", "state", "hidden in a list")

_MODULE = """
def probe(Module, sizes, values, inputs):
    made = Module(*sizes)
    named = dict(made.named_parameters())
    shapes = [f"{{name}} {{tuple(p.shape)}}" for name, p in sorted(named.items())]
    found = {{"parameters": ", ".join(shapes)}}
    with torch.no_grad():
        for name, value in values.items():
            if name in named and named[name].shape == value.shape:
                named[name].copy_(value)
    outputs = made(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    before = {{id(p) for p in named.values()}}
    found["same parameters"] = {{id(p) for p in made.parameters()}} == before
    found["state"] = set(made.state_dict()) == set(named)
    lists = [x for x in vars(made).values() if isinstance(x, list | tuple)]
    found["hidden in a list"] = any(isinstance(p, nn.Parameter) for x in lists for p in x)
    found.update(zip({outputs}, outputs))
    made.zero_grad()
    if outputs[0].requires_grad:
        outputs[0].square().sum().backward()
    for name in values:
        p = named.get(name)
        found[f"gradient of {{name}}"] = None if p is None or p.grad is None else p.grad.clone()
    return found
"""

# Tensors and NumPy's numbers count as numbers: what is asked for is the value.
number_probe = """
def probe(answer):
    def plain(x):
        return tuple(map(plain, x)) if isinstance(x, tuple | list) else float(x)
    return plain(answer)
"""

# Of open experiments: a dict of rows of numbers, or a function that derives it from the evidence.
table_probe = """
def probe(answer, evidence):
    table = answer(evidence) if callable(answer) else answer
    if not isinstance(table, dict):
        return table
    return {str(k): tuple(float(x) for x in row) for k, row in table.items()}
"""


def module_probe(*outputs: str) -> str:
    """Write the probe of a module: its parameters, its outputs, the gradients that reach it.

    The cases of such a question are ``(sizes, values, inputs)``: the arguments of the constructor,
    a dict of the values to which parameters are set, and the arguments of the call.

    Parameters
    ----------
    *outputs : str
        What to call the outputs, in order.
    """
    return _MODULE.format(outputs=repr(outputs))


def gradient_parts(*parameters: str) -> tuple[str, ...]:
    """Name the entries that hold the gradients of parameters."""
    return tuple(f"gradient of {name}" for name in parameters)


def module_oracle(forward: Callable[..., Any], *outputs: str) -> Callable[..., dict]:
    """Make the oracle that belongs to :func:`module_probe`.

    Parameters
    ----------
    forward : callable
        ``forward(*inputs, **values)`` in NumPy: one output, or a tuple.
    *outputs : str
        As in the probe.
    """

    def oracle(sizes: tuple, values: dict[str, np.ndarray], inputs: tuple) -> dict:
        def first() -> float:
            return float((_row(forward(*inputs, **values))[0] ** 2).sum())

        shapes = ", ".join(f"{name} {values[name].shape}" for name in sorted(values))
        found = {
            "parameters": shapes,
            "same parameters": True,
            "state": True,
            "hidden in a list": False,
        }
        found.update(zip(outputs, _row(forward(*inputs, **values))))
        for name, value in values.items():
            # The array is moved where it lies, so the function need not be told.
            found[f"gradient of {name}"] = central_differences(lambda _: first(), value)
        return found

    return oracle


def _row(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)
