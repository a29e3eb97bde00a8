"""A decoder that never moves: weights, and the coverage that they add up to, step by step."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention import masked_softmax
from seqattn.attention.coverage import coverage_loss
from seqattn.attention.scores import additive_score
from seqattn.data.book import TINY
from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["CoverageSteps"]

STEPS = 6


class CoverageSteps(LiveFigure):
    r"""Additive attention with coverage, asked the same question at every step.

    Scores are :math:`v^\top \tanh(W_q s + W_k h_i + w_c c_{ti})`, with the coverage :math:`c_{ti}`
    before the step. The reader steps on, changes :math:`w_c`, and moves the query, which is the
    same at all steps.

    Parameters
    ----------
    W_q, W_k : (2, 2), optional
        Projections of query and keys; those of :data:`seqattn.data.book.TINY` if not given.
    v : (2,), optional
        Weights of the two features.
    states : (n, 2), optional
        Encoder states h, one for each word.
    query : (2,), optional
        Decoder state s, from -2 to 2.
    w_c : (2,)
        What coverage adds to each feature, from -3 to 3.
    step : int
        Number of steps taken, from 1 to 6.
    words : sequence of str, optional
        Names of the states.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    References
    ----------
    See, Liu and Manning (2017), equations 10 to 12.

    Examples
    --------
    >>> stuck = CoverageSteps(w_c=(-1.0, -2.0), step=3)
    >>> [[round(w, 2) for w in row] for row in stuck.numbers()["weights"]]
    [[0.52, 0.32, 0.16], [0.28, 0.46, 0.26], [0.29, 0.31, 0.4]]
    """

    _js = "coverage_steps.js"
    _moves = ("step", "w_c", "query")
    _title = "A decoder that never moves"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "The decoder asks the same question at every step, and w_c = 0. What will the "
        "second row of weights be?",
        "options": [
            "It moves on to the next word.",
            "The same as the first.",
            "It becomes uniform.",
        ],
        "answer": 1,
        "explain": [
            "Nothing tells it that a step has passed: query and keys are what they were.",
            "Nothing in the score has changed, and so nothing in the weights. Coverage grows, but "
            "with w_c = 0 nobody feels it. Step on, then lower both numbers of w_c.",
            "Only if the scores became equal, and nothing in them has changed.",
        ],
        "tests": "step",
    }

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    W_q = Numbers().tag(sync=True)
    W_k = Numbers().tag(sync=True)
    v = Numbers(traitlets.Float()).tag(sync=True)
    states = Numbers().tag(sync=True)
    query = Numbers(traitlets.Float()).tag(sync=True)
    w_c = Numbers(traitlets.Float()).tag(sync=True)
    step = traitlets.Int(1, min=1, max=STEPS).tag(sync=True)

    def __init__(
        self,
        W_q: Sequence[Sequence[float]] | torch.Tensor = TINY.W_q,
        W_k: Sequence[Sequence[float]] | torch.Tensor = TINY.W_k,
        v: Sequence[float] | torch.Tensor = TINY.v,
        states: Sequence[Sequence[float]] | torch.Tensor = TINY.h,
        query: Sequence[float] | torch.Tensor = TINY.s,
        w_c: Sequence[float] | torch.Tensor = (0.0, 0.0),
        step: int = 1,
        words: Sequence[str] = TINY.words,
        **options: Any,
    ) -> None:
        rows = [floats(state, "a state", 2) for state in states]
        if len(rows) != len(words):
            raise ValueError(
                f"there are {len(rows)} states; expected {len(words)}, one for each word"
            )
        super().__init__(
            W_q=[floats(row, "a row of W_q", 2) for row in W_q],
            W_k=[floats(row, "a row of W_k", 2) for row in W_k],
            v=floats(v, "v", 2),
            states=rows,
            query=floats(query, "query", 2),
            w_c=floats(w_c, "w_c", 2),
            step=step,
            words=[str(word) for word in words],
            **options,
        )

    @traitlets.validate("states")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("words", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute every step up to this one by PyTorch in float64."""
        W_q, W_k, v, s, h, w_c = (
            torch.tensor(x, dtype=torch.float64)
            for x in (self.W_q, self.W_k, self.v, self.query, self.states, self.w_c)
        )
        rows, scores, losses = [], [], []
        coverage = torch.zeros(len(h), dtype=torch.float64)
        for _ in range(self.step):
            # What coverage adds to a key is part of the key: the score is the additive one.
            felt = h @ W_k.T + coverage[:, None] * w_c
            now = additive_score(s[None], felt[None], W_q, None, v)[0]
            scores.append(now)
            rows.append(masked_softmax(now))
            losses.append(coverage_loss(rows[-1][None], coverage[None]).item())
            coverage = coverage + rows[-1]
        return {
            "scores": torch.stack(scores).tolist(),
            "weights": torch.stack(rows).tolist(),
            "coverage": coverage.tolist(),
            "losses": losses,
        }
