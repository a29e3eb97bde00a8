"""The linear regime of the additive score, where the query drops out."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import masked_softmax
from seqattn.attention.scores import additive_score
from seqattn.data.book import TINY
from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["LinearRegime"]


class LinearRegime(LiveFigure):
    r"""Weights of two queries under :math:`v^\top\tanh(\lambda(W_q s + W_k h_i))`, as λ moves.

    For small λ the tanh is a straight line, the query adds the same to every score, and the softmax
    cancels that: both queries get the same weights.

    Parameters
    ----------
    W_q, W_k, v, states, words : optional
        As in :class:`AdditiveSteps`; the tiny example if not given.
    queries : two sequences of 2 float
        Two decoder states to compare.
    scale : float
        λ; the reader moves it from 0.01 to 10.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Examples
    --------
    >>> LinearRegime(scale=0.001).numbers()["max_difference"] < 1e-8
    True
    """

    _js = "linear_regime.js"
    _moves = ("scale",)
    _title = "Only the curvature of the tanh lets the query matter"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "You shrink everything inside the tanh by a factor of ten. By what factor does "
        "the difference between the weights of the two queries shrink, once the scale is small?",
        "options": [
            "10: all scores shrink by ten",
            "100: the query’s part and the keys’ part, ten each",
            "1000",
        ],
        "answer": 2,
        "explain": [
            "That would be the linear term of tanh, and it is the same for both queries up to a "
            "constant, which cancels.",
            "The tanh has no quadratic term: it is an odd function.",
            "tanh x = x − x³/3 + …: the linear term cancels, the cubic term is the first in which "
            "the query matters, and 10³ = 1000.",
        ],
        "tests": "scale",
    }

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    W_q = Numbers().tag(sync=True)
    W_k = Numbers().tag(sync=True)
    v = Numbers(traitlets.Float()).tag(sync=True)
    states = Numbers().tag(sync=True)
    queries = Numbers().tag(sync=True)
    scale = traitlets.Float(1.0).tag(sync=True)

    def __init__(
        self,
        W_q: Sequence[Sequence[float]] | torch.Tensor = TINY.W_q,
        W_k: Sequence[Sequence[float]] | torch.Tensor = TINY.W_k,
        v: Sequence[float] | torch.Tensor = TINY.v,
        states: Sequence[Sequence[float]] | torch.Tensor = TINY.h,
        queries: Sequence[Sequence[float]] | torch.Tensor = ((0.5, 1.0), (-1.0, 0.5)),
        words: Sequence[str] = TINY.words,
        scale: float = 1.0,
        **options: Any,
    ) -> None:
        if not scale > 0:
            raise ValueError(f"scale is {scale}; expected a number above 0")
        if len(queries) != 2:
            raise ValueError(f"there are {len(queries)} queries; expected 2, to compare")
        size_k, size_q = len(states[0]), len(queries[0])
        super().__init__(
            W_q=[floats(row, "a row of W_q", size_q) for row in W_q],
            W_k=[floats(row, "a row of W_k", size_k) for row in W_k],
            v=floats(v, "v", len(W_q)),
            states=[floats(state, "a state", size_k) for state in states],
            queries=[floats(query, "a query", size_q) for query in queries],
            words=[str(word) for word in words],
            scale=float(scale),
            **options,
        )

    @traitlets.validate("states")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("words", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute both rows of weights and their difference by PyTorch in float64."""
        W_q, W_k, v, s, h = (
            torch.tensor(x, dtype=torch.float64)
            for x in (self.W_q, self.W_k, self.v, self.queries, self.states)
        )
        scores = additive_score(self.scale * s[None], self.scale * h[None], W_q, W_k, v)
        first, second = masked_softmax(scores)[0]
        difference = (first - second).abs().max()
        # Against how far the weights are from uniform: shows that more than uniformity is at work.
        contrast = (first - 1 / len(self.words)).abs().max()
        return {
            "scale": self.scale,
            "first_weights": first.tolist(),
            "second_weights": second.tolist(),
            "max_difference": difference.item(),
            "relative_difference": (difference / contrast).item(),
        }
