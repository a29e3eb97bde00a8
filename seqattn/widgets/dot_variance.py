"""Products of vectors that grow longer: what a scale does depends on what the vectors are."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor, nn
from torch.nn import functional as F

from seqattn.context_managers import own_random
from seqattn.widgets.base import LiveFigure

__all__ = ["DotVariance"]

EXPONENTS = tuple(range(2, 11))  # d is 4 to 1024
KEYS, SHOWN, MEASURED, INPUTS = 10, 6, 200, 64
FACTORS: Mapping[str, Callable[[int], float]] = {
    "÷ √d": lambda d: 1 / math.sqrt(d),
    "none": lambda d: 1.0,
    "× √d": math.sqrt,
}


def _normal(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float32)  # whatever a notebook's default is


def _independent(d: int) -> tuple[Tensor, Tensor]:
    return _normal(MEASURED, d), _normal(MEASURED, KEYS, d)


def _of_length_one(d: int) -> tuple[Tensor, Tensor]:
    query, keys = _independent(d)
    return F.normalize(query, dim=-1), F.normalize(keys, dim=-1)


def _states(d: int) -> tuple[Tensor, Tensor]:
    """Let an untrained GRU read ten random words, and another go on from there."""
    reader, writer = (nn.GRU(INPUTS, d, batch_first=True, dtype=torch.float32) for _ in range(2))
    keys, last = reader(_normal(MEASURED, KEYS, INPUTS))
    queries, _ = writer(_normal(MEASURED, KEYS, INPUTS), last)
    return queries[:, -1], keys


def _projected(d: int) -> tuple[Tensor, Tensor]:
    """Bring each state to mean 0 and variance 1, then through a fresh matrix of its own."""
    found = []
    for states in _states(d):
        matrix = nn.init.xavier_uniform_(torch.empty(d, d, dtype=torch.float32))
        found.append(F.linear(F.layer_norm(states, (d,)), matrix))
    return found[0], found[1]


KINDS: Mapping[str, Callable[[int], tuple[Tensor, Tensor]]] = {
    "independent": _independent,
    "length 1": _of_length_one,
    "GRU states": _states,
    "normed, projected": _projected,
}


@cache
def _measure(seed: int) -> tuple[list[Any], list[list[float]]]:
    """Draw queries and keys of every kind and size: some rows of products, and how far they spread.

    The spread is the root mean square of a product about the mean of its row.
    """
    products, spreads = [], []
    with own_random(), torch.no_grad():
        torch.manual_seed(seed)
        for draw in KINDS.values():
            rows = []
            for exponent in EXPONENTS:
                query, keys = draw(2**exponent)
                rows.append((keys @ query.unsqueeze(-1)).squeeze(-1))
            products.append([_short(row[:SHOWN]) for row in rows])
            spreads.append([float(f"{row.var(-1).mean().sqrt():.4g}") for row in rows])
    return products, spreads


def _short(values: Tensor) -> list[Any]:
    """Keep four significant digits: a page stores every product."""
    return [[float(f"{x:.4g}") for x in row] for row in values.tolist()]


class DotVariance(LiveFigure):
    r"""Ten keys, a query, and a factor before their products, as the vectors grow longer.

    .. math:: \alpha = \mathrm{softmax}_i(c\, q^\top k_i), \qquad c \in \{1/\sqrt d, 1, \sqrt d\}

    The products are drawn when the figure is made, from vectors of four kinds: with independent
    components of mean 0 and variance 1; the same brought to length 1; states of an untrained
    PyTorch GRU, asked by the state of another; and these after layer normalisation and a fresh
    Xavier matrix for queries and one for keys.

    Parameters
    ----------
    kind : {"independent", "length 1", "GRU states", "normed, projected"}
        What the vectors are.
    factor : {"÷ √d", "none", "× √d"}
        What is done with a product.
    exponent : int
        The size d is two to this power, from 2 to 10.
    draw : int
        Which of six drawn rows is shown, from 0.
    seed : int
        Of the draws.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If an option is out of its limits.

    Examples
    --------
    >>> figure = DotVariance(kind="independent", exponent=10)
    >>> round(max(figure.numbers()["weights"]), 2)  # hardly anything is left for the others
    1.0
    >>> figure.factor = "÷ √d"
    >>> round(max(figure.numbers()["weights"]), 2)
    0.31
    """

    _js = "dot_variance.js"
    _moves = ("kind", "factor", "exponent", "draw")
    _title = "What a root does to ten weights"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "These vectors have length 1, and their products are taken as they are. The "
        "size d goes from 4 to 1024. What happens to the ten weights?",
        "options": [
            "They run into one: large vectors have large products.",
            "They become nearly equal.",
            "They stay about as they are, since the lengths do.",
        ],
        "answer": 1,
        "tests": "exponent",
        "explain": [
            "That holds for vectors whose components stay as large as they were. Here the length "
            "stays, so each component shrinks.",
            "In many dimensions nearly all directions are at right angles. The product of two "
            "vectors of length 1 is the cosine of their angle, and it shrinks to zero.",
            "The lengths stay, the angles do not: in many dimensions nearly all directions are at "
            "right angles.",
        ],
    }

    kinds = traitlets.List(traitlets.Unicode(), list(KINDS)).tag(sync=True)
    products: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    spreads: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    kind = traitlets.Enum(tuple(KINDS), "length 1").tag(sync=True)
    factor = traitlets.Enum(tuple(FACTORS), "none").tag(sync=True)
    exponent = traitlets.Int(2).tag(sync=True)
    draw = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        kind: str = "length 1",
        factor: str = "none",
        exponent: int = 2,
        draw: int = 0,
        seed: int = 0,
        **options: Any,
    ) -> None:
        for name, value, allowed in (("kind", kind, KINDS), ("factor", factor, FACTORS)):
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")
        if exponent not in EXPONENTS:
            raise ValueError(f"exponent is {exponent}; expected 2 to 10, for d from 4 to 1024")
        if not 0 <= draw < SHOWN:
            raise ValueError(f"draw is {draw}; expected a row from 0 to {SHOWN - 1}")
        options.setdefault("predict", kind == "length 1" and factor == "none")  # as it asks
        products, spreads = _measure(seed)
        super().__init__(
            products=products,
            spreads=spreads,
            kind=kind,
            factor=factor,
            exponent=exponent,
            draw=draw,
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Scale the drawn products and give their weights, by PyTorch in float64."""
        kind, at, d = self.kinds.index(self.kind), self.exponent - EXPONENTS[0], 2**self.exponent
        scale = FACTORS[self.factor](d)
        products = torch.tensor(self.products[kind][at][self.draw], dtype=torch.float64)
        scores = scale * products
        weights = scores.softmax(0)
        return {
            "d": d,
            "factor": scale,
            "spread": scale * self.spreads[kind][at],
            "scores": scores.tolist(),
            "weights": weights.tolist(),
            "largest": int(scores.argmax()),
        }
