"""Questions that are more than a function: ready-made probes for the sandbox, and their oracles.

A probe runs beside the answer and turns what it does into plain values; its oracle computes the
same values from the formula. A bank that asks for a module needs no more than a forward pass in
NumPy: parameters, state and gradients are the same questions for every module.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from seqattn.grading.oracle import central_differences

__all__ = ["PLAIN", "module", "number_probe", "table_probe", "value_probe"]

MODULE_PARTS = (
    "parameters",
    "the parameters are the same after a call",
    "state_dict holds the parameters and nothing else",
    "no parameter is hidden in a list",
    "the initial values differ from one another",
    "another module begins with other numbers",
    "the initial values are neither tiny nor huge",
    "a second call is computed like the first",
    "the inputs are left as they are",
    "the precision of the inputs is kept",
)
FLOWS = ("gradients reach the inputs", "gradients can flow from every result")

_MODULE = """
def probe(Module, sizes, values, inputs):
    made = Module(*sizes)
    named = dict(made.named_parameters())
    shapes = [f"{{name}} {{tuple(p.shape)}}" for name, p in sorted(named.items())]
    found = {{"parameters": ", ".join(shapes)}}
    # Biases may begin at zero.
    drawn = [p.detach().clone() for name, p in named.items() if name[:1] != "b"]
    other = Module(*sizes)
    found["the initial values differ from one another"] = all(
        x.numel() == 1 or x.unique().numel() > 1 for x in drawn
    )
    first = [p.flatten().tolist() for p in named.values()]
    found["another module begins with other numbers"] = not named or (
        [p.flatten().tolist() for p in other.parameters()] != first
    )
    found["the initial values are neither tiny nor huge"] = all(
        1e-3 < float(x.square().mean().sqrt()) < 5 for x in drawn
    )
    with torch.no_grad():
        for module in (made, other):
            for name, value in values.items():
                p = dict(module.named_parameters()).get(name)
                if p is not None and p.shape == value.shape:
                    p.copy_(value)
    row = lambda x: x if isinstance(x, tuple) else (x,)
    inputs = tuple(
        x.requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for x in inputs
    )
    kept = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    outputs = row(made(*inputs))
    found["the inputs are left as they are"] = all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(inputs, kept)
    )
    turned = [x.detach().flip(0) if isinstance(x, torch.Tensor) else x for x in inputs]
    # A batch of one is the same turned round: other numbers, then.
    turned = [x * 0.5 if torch.is_tensor(x) and x.is_floating_point() else x for x in turned]
    found["a second call is computed like the first"] = all(
        torch.allclose(a, b, atol=1e-5, equal_nan=True)
        for a, b in zip(row(made(*turned)), row(other(*turned)))
    )
    before = {{id(p) for p in named.values()}}
    after = {{id(p) for p in made.parameters()}}
    found["the parameters are the same after a call"] = after == before
    found["state_dict holds the parameters and nothing else"] = set(made.state_dict()) == set(named)
    lists = [x for x in vars(made).values() if isinstance(x, list | tuple)]
    found["no parameter is hidden in a list"] = not any(
        isinstance(p, nn.Parameter) for x in lists for p in x
    )
    found.update(zip({outputs}, outputs))
    found["gradients can flow from every result"] = all(o.requires_grad for o in outputs)
    double = Module(*sizes).double()
    floats = lambda x: torch.is_tensor(x) and x.is_floating_point()
    # With digits that float32 lacks, which a result must have as well, but for 0 and 1.
    precise = [x.detach().double() * (1 + 1e-9) if floats(x) else x for x in inputs]
    digits = lambda o: o[(o != 0) & (o != 1)]
    try:
        found["the precision of the inputs is kept"] = all(
            o.dtype == torch.float64
            and not (digits(o).numel() and bool((digits(o) == digits(o).float()).all()))
            for o in row(double(*precise))
        )
    except RuntimeError:  # two precisions met
        found["the precision of the inputs is kept"] = False
    made.zero_grad()
    if outputs[0].requires_grad:
        outputs[0].square().sum().backward()
    found["gradients reach the inputs"] = all(
        x.grad is not None for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad
    )
    for name in values:
        p = named.get(name)
        found[f"gradient of {{name}}"] = None if p is None or p.grad is None else p.grad.clone()
    return found
"""

# What is asked for is the value: tensors, arrays and lists of numbers say the same.
PLAIN = """
def plain(x):
    x = x.tolist() if hasattr(x, "tolist") else x
    if isinstance(x, str | bytes):
        raise TypeError("a text is no number: leave out the quotation marks")
    return tuple(map(plain, x)) if isinstance(x, tuple | list) else float(x)
"""
number_probe = f"""{PLAIN}
def probe(answer):
    return plain(answer)
"""

# Of functions whose result is numbers.
value_probe = f"""{PLAIN}
def probe(answer, *inputs):
    return plain(answer(*inputs))
"""

# Of open experiments: a dict of rows of numbers, or a function that derives it from the evidence.
table_probe = f"""{PLAIN}
def probe(answer, evidence):
    table = answer(evidence) if callable(answer) else answer
    if not isinstance(table, dict):
        return table
    return {{str(k): plain(row) for k, row in table.items()}}
"""


def module(
    forward: Callable[..., Any], outputs: tuple[str, ...], parameters: tuple[str, ...]
) -> dict[str, Any]:
    """Give the probe, the oracle and the parts of a question that asks for a module.

    Its cases are ``(sizes, values, inputs)``: the arguments of the constructor, a dict of the values
    to which parameters are set, and the arguments of the call. Its stages are called "parameters",
    "gradients" and, for what it computes, like its outputs: "context and weights".

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

    return {
        "probe": _MODULE.format(outputs=repr(outputs)),
        "oracle": oracle,
        "parts": {
            "parameters": MODULE_PARTS,
            " and ".join(outputs): outputs,
            "gradients": (*(f"gradient of {name}" for name in parameters), *FLOWS),
        },
    }


def _row(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)
