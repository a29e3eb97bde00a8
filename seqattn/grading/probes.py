"""Probes: code that runs beside an answer in the sandbox and turns what it does into plain values.

A probe defines ``probe(answer, *inputs)``, and knows ``wanted``: the entries of its result that
count in this case, or None where all of it is to be seen. Those with braces are templates, which
are filled in below and in the banks.

With :func:`module` a bank that asks for a module needs no more than a forward pass in NumPy:
parameters, state and gradients are the same questions for every module. So it is with a measure of
attention weights, :func:`map_measure`.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from seqattn.grading.drawing import central_differences, softmax_rows

__all__ = [
    "DECODING",
    "PLAIN",
    "TRAINING_STEP",
    "map_measure",
    "module",
    "number_probe",
    "table_probe",
    "value_probe",
]

# What is asked for is the value: tensors, arrays and lists of numbers say the same.
PLAIN = """
def plain(x):
    x = x.tolist() if hasattr(x, "tolist") else x
    if isinstance(x, str | bytes):
        raise TypeError("a text is no number: leave out the quotation marks")
    if isinstance(x, tuple | list):
        return tuple(map(plain, x))
    try:
        return float(x)
    except TypeError:
        raise TypeError("a value of type " + type(x).__name__ + " is no number") from None
"""
number_probe = f"""{PLAIN}
def probe(answer):
    return plain(answer)
"""

# Of functions whose result is numbers.
value_probe = f"""{PLAIN}
import copy

def left(a, b):
    if torch.is_tensor(a):
        return torch.equal(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(left, a, b))
    return a == b

def probe(answer, *inputs):
    kept = copy.deepcopy(inputs)
    found = plain(answer(*inputs))
    if not left(inputs, kept):
        raise ValueError("your function changes what it is given: work on a copy")
    return found
"""

# Of open experiments: a dict of rows of numbers, or a function that derives it from the evidence.
table_probe = f"""{PLAIN}
def probe(answer, evidence):
    table = answer(evidence) if callable(answer) else answer
    if not isinstance(table, dict):
        return table
    return {{str(k): plain(row) for k, row in table.items()}}
"""


# Of a training step: two of them, on a small model, with an optimizer that counts.
TRAINING_STEP = """
class Note(nn.Module):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def forward(self, x):
        self.seen.append(self.training)
        return x

class Tiny(nn.Module):
    def __init__(self, E, W, b, seen):
        super().__init__()
        self.E, self.out = nn.Parameter(E.clone()), nn.Linear(*W.T.shape)
        self.out.weight, self.out.bias = nn.Parameter(W.clone()), nn.Parameter(b.clone())
        # Where dropout would be.
        self.inside, self.seen = nn.Sequential(Note(seen)), seen

    def forward(self, tokens):
        self.seen.append(self.training)
        return self.out(self.inside(self.E[tokens]))

# torch.optim would load its compiler, which wants to write caches.
class Descent:
    def __init__(self, parameters):
        self.parameters, self.steps = list(parameters), 0
        self.moving = [torch.zeros_like(p) for p in self.parameters]
        groups = self.parameters[:1], self.parameters[1:]
        self.param_groups = [{{"params": group, "lr": {rate}}} for group in groups]

    def zero_grad(self, set_to_none=True):
        for p in self.parameters:
            p.grad = None if set_to_none or p.grad is None else torch.zeros_like(p)

    @torch.no_grad()
    def step(self, closure=None):
        with torch.enable_grad():
            loss = closure() if closure else None
        self.steps += 1
        for p, v in zip(self.parameters, self.moving):
            if p.grad is not None:
                v.mul_({momentum}).add_(p.grad)
                p -= {rate} * v
        return loss

def probe(train_step, E, W, b, y, pad, max_norm):
    seen = []
    model = Tiny(E, W, b, seen)
    optimizer = Descent(model.parameters())
    # What an earlier batch may have left behind.
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    model.eval()
    found, plain = {{}}, True
    for step, moved in {moved}.items():
        loss = train_step(model, optimizer, y, pad, max_norm)
        plain = plain and isinstance(loss, int | float | np.floating)
        found[f"{{step}} loss"] = loss
        found |= zip(moved, [p.detach().clone() for p in model.parameters()])
    found |= {{"steps of the optimizer": optimizer.steps, "a plain number": plain}}
    found["every module in training mode"] = bool(seen) and all(seen)
    # The rest earns nothing; they tell mistakes apart.
    left = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    return found | {{"left": left, "modes": (*seen, model.training)}}
"""

# Of a decoding loop, on a decoder of four tables.
DECODING = """
def probe(decode, A, B, C, D, start, bos, eos, pad, max_len):
    calls, sizes = [0], set()

    def step(tokens, state):
        calls[0] += 1
        sizes.add(tuple(tokens.shape))
        if calls[0] > 50:
            raise RuntimeError("step was called more than 50 times: is there an end?")
        (s,) = state
        logits = A[tokens] + s @ B
        # What comes next depends on the words that were chosen.
        return logits, (torch.tanh(s @ C + D[logits.argmax(-1)]),)

    words = decode(step, (start.clone(),), len(start), bos, eos, pad, max_len)
    found = {"the words": words, "step gets a token for each sentence": sizes == {(len(start),)}}
    return found | {"calls of step": calls[0]}
"""


# --- a module -------------------------------------------------------------------------------------

_MODULE = """
def row(x):
    return tuple(x) if isinstance(x, tuple | list) else (x,)

def equal(a, b):
    return a.dtype == b.dtype and torch.equal(a, b)

def left(a, b):
    # NaN at pads is no other number than it was.
    return equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())

def alike(ours, theirs):
    return all(
        equal(a, b) or (a.shape == b.shape and torch.allclose(a, b, atol=1e-5, equal_nan=True))
        for a, b in zip(ours, theirs)
    )

def rounded(o):
    o = o.detach().numpy()
    # 0 and 1 are the same in any precision.
    digits = o[(o != 0) & (o != 1)]
    return digits.size > 0 and bool((digits == digits.astype(np.float32)).all())

def copies(inputs):
    return [x.detach().clone() if torch.is_tensor(x) else x for x in inputs]

def beginning(named, other):
    # Biases may begin at zero.
    drawn = [p.detach() for name, p in named.items() if name[:1] != "b"]
    # Python takes less time for a few numbers than PyTorch, which is watched besides.
    flat = [x.flatten().tolist() for x in drawn]
    tables = [x.tolist() for x in drawn if x.dim() == 2]
    first = [p.flatten().tolist() for p in named.values()]
    return {{
        "the initial values differ from one another": all(
            len(x) == 1 or len(set(x)) > 1 for x in flat
        ),
        # Units that begin alike stay alike.
        "no two rows or columns begin alike": all(
            len(set(map(tuple, lines))) == len(lines)
            for rows in tables
            for lines in (rows, list(zip(*rows)))
        ),
        "another module begins with other numbers": not named
        or [p.flatten().tolist() for p in other.parameters()] != first,
        "the initial values are neither tiny nor huge": all(
            len(x) > 0 and 1e-3 < math.sqrt(sum(v * v for v in x) / len(x)) < 5 for x in flat
        ),
    }}

def habits(made, other, fresh, evaluating, double, inputs, kept, outputs, named):
    found = {{}}
    found["the inputs are left as they are"] = all(
        left(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(inputs, kept)
    )
    found["another module with the same parameters computes the same"] = alike(
        outputs, row(fresh(*copies(kept)))
    )
    found["evaluation mode computes what training mode does"] = alike(
        outputs, row(evaluating(*copies(kept)))
    )
    turned = [x.detach().flip(0) if isinstance(x, torch.Tensor) else x for x in inputs]
    # A batch of one is the same turned round: other numbers, then.
    floats = lambda x: torch.is_tensor(x) and x.is_floating_point()
    turned = [x * 0.5 if floats(x) else x for x in turned]
    found["a second call is computed like the first"] = alike(
        row(made(*turned)), row(other(*turned))
    )
    found["a third call gives what the first gave"] = alike(outputs, row(made(*copies(kept))))
    before = {{id(p) for p in named.values()}}
    after = {{id(p) for p in made.parameters()}}
    found["the parameters are the same after a call"] = after == before
    found["state_dict holds the parameters and nothing else"] = set(made.state_dict()) == set(named)
    lists = [x for x in vars(made).values() if isinstance(x, list | tuple)]
    found["no parameter is hidden in a list"] = not any(
        isinstance(p, nn.Parameter) for x in lists for p in x
    )
    # With digits that float32 lacks, which a result must have as well.
    precise = [x.detach().double() * (1 + 1e-9) if floats(x) else x for x in inputs]
    try:
        found["the precision of the inputs is kept"] = all(
            o.dtype == torch.float64 and not rounded(o) for o in row(double(*precise))
        )
    except RuntimeError:  # two precisions met
        found["the precision of the inputs is kept"] = False
    return found

def probe(Module, sizes, values, inputs):
    made = Module(*sizes)
    named = dict(made.named_parameters())
    shapes = [f"{{name}} {{tuple(p.shape)}}" for name, p in sorted(named.items())]
    found = {{"parameters": ", ".join(shapes)}}
    # How it behaves besides is looked at where that counts, and in one case of each kind.
    whole = wanted is None or "parameters" in wanted
    modules = [made]
    if whole:
        modules += Module(*sizes), Module(*sizes), Module(*sizes).eval()
        found |= beginning(named, modules[1])
    with torch.no_grad():
        for module in modules:
            theirs = dict(module.named_parameters())
            for name, value in values.items():
                p = theirs.get(name)
                if p is not None and p.shape == value.shape:
                    p.copy_(value)
    inputs = tuple(
        x.requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for x in inputs
    )
    kept = copies(inputs) if whole else []
    outputs = row(made(*inputs))
    if whole:
        double = Module(*sizes).double()
        found |= habits(*modules, double, inputs, kept, outputs, named)
    found.update(zip({outputs}, outputs))
    if not whole and not any(name.startswith("gradient") for name in wanted):
        return found
    found["gradients can flow from every result"] = all(o.requires_grad for o in outputs)
    made.zero_grad()
    if outputs[0].requires_grad:
        outputs[0].square().sum().backward()
    found["gradients reach the inputs"] = all(
        x.grad is not None for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad
    )
    for name in values:
        p = named.get(name)
        found[f"gradient of {{name}}"] = None if p is None or p.grad is None else p.grad.clone()
    for name, place in {places}.items():
        found[f"gradient of {{name}}"] = inputs[place].grad
    found["they flow in evaluation mode, too"] = all(
        o.requires_grad for o in row(made.eval()(*copies(inputs)))
    )
    return found
"""

_MODULE_PARTS = (
    "parameters",
    "the parameters are the same after a call",
    "state_dict holds the parameters and nothing else",
    "no parameter is hidden in a list",
    "the initial values differ from one another",
    "no two rows or columns begin alike",
    "another module begins with other numbers",
    "the initial values are neither tiny nor huge",
    # What keeps a copy of a parameter, or draws dice, fails what comes below as well.
    "another module with the same parameters computes the same",
    "a second call is computed like the first",
    "a third call gives what the first gave",
    "evaluation mode computes what training mode does",
    "the inputs are left as they are",
    "the precision of the inputs is kept",
)
_FLOWS = (
    "gradients reach the inputs",
    "gradients can flow from every result",
    "they flow in evaluation mode, too",
)


def module(
    forward: Callable[..., Any],
    outputs: tuple[str, ...],
    parameters: tuple[str, ...],
    inputs: tuple[str, ...] = (),
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
    parameters, inputs : tuple of str
        Whose gradients count.
    """
    places = {name: list(signature(forward).parameters).index(name) for name in inputs}

    def oracle(sizes: tuple, values: dict[str, np.ndarray], given: tuple) -> dict:
        def first() -> float:
            return float((_row(forward(*given, **values))[0] ** 2).sum())

        shapes = ", ".join(f"{name} {values[name].shape}" for name in sorted(values))
        found = {**dict.fromkeys((*_MODULE_PARTS, *_FLOWS), True), "parameters": shapes}
        found.update(zip(outputs, _row(forward(*given, **values))))
        for name, value in {**values, **{name: given[at] for name, at in places.items()}}.items():
            # The array is moved where it lies, so the function need not be told.
            found[f"gradient of {name}"] = central_differences(lambda _: first(), value)
        return found

    def shown(sizes: tuple, values: dict[str, np.ndarray], given: tuple) -> dict[str, Any]:
        named = zip(list(signature(forward).parameters), given)
        return {**values, **dict(named)}

    return {
        "shown": shown,
        "probe": _MODULE.format(outputs=repr(outputs), places=repr(places)),
        "oracle": oracle,
        "parts": {
            "parameters": _MODULE_PARTS,
            " and ".join(outputs): outputs,
            "gradients": (*(f"gradient of {name}" for name in (*parameters, *inputs)), *_FLOWS),
        },
    }


def _row(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


# --- a measure of attention weights ---------------------------------------------------------------

# Of a measure of attention weights: these are always a softmax of something, so gradients are asked
# for by that.
_MAP_MEASURE = """
def probe(answer, scores, upstream, *more):
    weights = torch.softmax(scores, -1)
    kept, given = weights.clone(), weights.clone()
    result = answer(given, *more)
    found = {
        "the result": result,
        "the weights are left as they are": torch.equal(given, kept),
        "gradient of the scores behind the weights": None,
    }
    again = answer(kept.clone(), *more)
    found["a second call gives the same"] = (
        not isinstance(result, torch.Tensor) or torch.equal(result.nan_to_num(), again.nan_to_num())
    )
    exact = torch.softmax(scores.double() * 1.0000001, -1)
    double = answer(exact, *more)
    rounded = answer(exact.float().double(), *more)
    found["double precision is kept"] = isinstance(double, torch.Tensor) and (
        double.dtype == torch.float64
        # What float32 can hold as well was computed, or returned, in it; but for about 0, and 1.
        and not bool(((double == double.float()) & (double > 1e-6) & (double != 1)).any())
        and (bool((exact > 0.999).any()) or not torch.equal(double, rounded))
    )
    scores.requires_grad_()
    weights = torch.softmax(scores, -1)
    try:
        result = answer(weights, *more)
        pulled = (result * upstream).sum()
        gradient, own = torch.autograd.grad(pulled, [scores, weights])
        # The second earns nothing; it tells mistakes apart.
        found |= {"gradient of the scores behind the weights": gradient, "by the weights": own}
    except (RuntimeError, TypeError, AttributeError):
        pass
    return found
"""

_RESULT = "the result"
_STEADY = ("the weights are left as they are", "a second call gives the same")
_PULLED = ("gradient of the scores behind the weights", "double precision is kept")


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
        return {
            _RESULT: result,
            _PULLED[0]: gradient,
            **dict.fromkeys((*_STEADY, _PULLED[1]), True),
        }

    def shown(scores: np.ndarray, upstream: np.ndarray, *more: Any) -> dict[str, Any]:
        names = list(signature(measure).parameters)
        return dict(zip(names, (softmax_rows(scores), *more)))

    parts = {**dict.fromkeys(values, (_RESULT, *_STEADY)), "gradients": _PULLED}
    return {"shown": shown, "probe": _MAP_MEASURE, "oracle": oracle, "parts": parts}
