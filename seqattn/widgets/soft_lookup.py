"""Soft addressing in two dimensions: turn a query and read a mixture of values."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch.nn import functional as F

from seqattn.attention.core import attend
from seqattn.attention.scores import dot_score
from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["SoftLookup"]


class SoftLookup(LiveFigure):
    r"""A dictionary that answers every query with a mixture of its values.

    .. math:: o = \sum_i \alpha_i v_i, \qquad \alpha = \mathrm{softmax}(q^\top k_i / \tau)

    Parameters
    ----------
    names : sequence of str
        Names of the entries.
    key_vectors : sequence of (x, y)
        A 2-dimensional key k for each entry.
    values : sequence of float
        A number v for each entry.
    angle, length : float
        The query in polar form: degrees from -180 to 180, and length from 0 to 2.5.
    temperature : float
        τ, from 0.05 to 20.
    hard : bool
        Take the entry with the largest score alone (argmax) in place of the mixture.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Examples
    --------
    A query of length zero prefers nothing and gets the mean:

    >>> SoftLookup(length=0.0).numbers()["output"]
    25.0
    """

    _js = "soft_lookup.js"
    _moves = ("angle", "length", "temperature", "hard")
    _title = "A dictionary that answers every query"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "Tick “hard” and turn the query slowly through the full circle. "
        "What does the answer do?",
        "options": [
            "It changes a little with every step, only less smoothly than before.",
            "It stays the same for a long stretch, then jumps.",
            "It jumps at every quarter of the circle, since there are four keys.",
        ],
        "answer": 1,
        "explain": [
            "The mixture does so. One value alone has nothing in between.",
            "Between two jumps a small turn changes nothing at all, so nothing tells the query "
            "which way to turn.",
            "It jumps where two keys fit equally well. That depends on the keys, and these keys "
            "are not a quarter turn apart.",
        ],
        "tests": "hard",
    }

    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    key_vectors = Numbers().tag(sync=True)
    values = Numbers(traitlets.Float()).tag(sync=True)
    angle = traitlets.Float().tag(sync=True)
    length = traitlets.Float().tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    hard = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        names: Sequence[str] = ("k₁", "k₂", "k₃", "k₄"),
        key_vectors: Sequence[Sequence[float]] = (
            (1.5, 0.4),
            (0.5, 1.4),
            (-1.2, 0.7),
            (-0.3, -1.3),
        ),
        values: Sequence[float] = (10.0, 20.0, 30.0, 40.0),
        angle: float = 40.0,
        length: float = 1.2,
        temperature: float = 1.0,
        hard: bool = False,
        **options: Any,
    ) -> None:
        if not temperature > 0:
            raise ValueError(f"temperature is {temperature}; expected a number above 0")
        vectors = [floats(vector, "a key vector", 2) for vector in key_vectors]
        if len(vectors) != len(names):
            raise ValueError(
                f"there are {len(vectors)} key vectors; expected {len(names)}, one a name"
            )
        super().__init__(
            names=[str(name) for name in names],
            key_vectors=vectors,
            values=floats(values, "values", len(names)),
            angle=float(angle),
            length=float(length),
            temperature=float(temperature),
            hard=bool(hard),
            **options,
        )

    @traitlets.validate("key_vectors", "values")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("names", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute scores, weights and the answer by PyTorch in float64."""
        turn = math.radians(self.angle)
        query = [self.length * math.cos(turn), self.length * math.sin(turn)]
        memory = torch.tensor([self.key_vectors], dtype=torch.float64)
        values = torch.tensor([self.values], dtype=torch.float64).unsqueeze(-1)
        scores = dot_score(torch.tensor([query], dtype=torch.float64), memory)
        output, weights = attend(scores, values, temperature=self.temperature)
        largest = int(scores.argmax())
        if self.hard:
            weights = F.one_hot(scores.argmax(-1), scores.shape[-1]).double()
            output = values[:, largest]
        return {
            "query": query,
            "temperature": self.temperature,
            "hard": self.hard,
            "scores": scores[0].tolist(),
            "weights": weights[0].tolist(),
            "largest": largest,
            "output": output.item(),
        }
