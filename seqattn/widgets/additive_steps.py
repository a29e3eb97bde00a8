"""The additive score on the tiny example, every step in sight."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import attend
from seqattn.attention.scores import additive_score
from seqattn.data.book import TINY
from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["AdditiveSteps"]


class AdditiveSteps(LiveFigure):
    r"""Additive score :math:`v^\top \tanh(W_q s + W_k h_i)` as a worked table that moves.

    Parameters
    ----------
    W_q, W_k : (2, 2), optional
        Projections of query and keys; those of :data:`seqattn.data.book.TINY` if not given.
    v : (2,), optional
        Weights of the two features.
    states : (n, 2), optional
        Encoder states h, one for each word.
    query : (2,), optional
        Decoder state s; the reader moves it, from -2 to 2.
    words : sequence of str, optional
        Names of the states.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), appendix A.1.2.

    Examples
    --------
    >>> [round(w, 2) for w in AdditiveSteps().numbers()["weights"]]
    [0.52, 0.32, 0.16]
    """

    _js = "additive_steps.js"
    _moves = ("query",)
    _title = "The additive score, step by step"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "The term W_q s is the same for all three words. Can a change of s change "
        "which word gets the largest weight?",
        "options": [
            "No: what is added to every word cancels in the softmax.",
            "Yes: it is added before the tanh, which bends it differently for each word.",
            "No: it can make the weights sharper or flatter, but their order stays.",
        ],
        "answer": 1,
        "explain": [
            "It would cancel if it were added to the scores. It is added inside the tanh.",
            "The shift moves each word to another part of the tanh, flat for some and steep for "
            "others. Move s₁ to −1 and s₂ to 0.5 and see the largest weight change places.",
            "That is what a temperature does: it multiplies all scores. Here the tanh bends each "
            "word's sum differently, and the order changes too.",
        ],
        "tests": "query",
    }

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    W_q = Numbers().tag(sync=True)
    W_k = Numbers().tag(sync=True)
    v = Numbers(traitlets.Float()).tag(sync=True)
    states = Numbers().tag(sync=True)
    query = Numbers(traitlets.Float()).tag(sync=True)

    def __init__(
        self,
        W_q: Sequence[Sequence[float]] | torch.Tensor = TINY.W_q,
        W_k: Sequence[Sequence[float]] | torch.Tensor = TINY.W_k,
        v: Sequence[float] | torch.Tensor = TINY.v,
        states: Sequence[Sequence[float]] | torch.Tensor = TINY.h,
        query: Sequence[float] | torch.Tensor = TINY.s,
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
            words=[str(word) for word in words],
            **options,
        )

    @traitlets.validate("states")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("words", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute every step by PyTorch in float64."""
        W_q, W_k, v, s, h = (
            torch.tensor(x, dtype=torch.float64)
            for x in (self.W_q, self.W_k, self.v, self.query, self.states)
        )
        shifted = W_q @ s + h @ W_k.T
        scores = additive_score(s[None], h[None], W_q, W_k, v)
        context, weights = attend(scores, h[None])
        return {
            "query": self.query,
            "projected_query": (W_q @ s).tolist(),
            "projected_keys": (h @ W_k.T).tolist(),
            "sums": shifted.tolist(),
            "tanh": shifted.tanh().tolist(),
            "scores": scores[0].tolist(),
            "weights": weights[0].tolist(),
            "context": context[0].tolist(),
        }
