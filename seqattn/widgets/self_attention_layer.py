"""Self-attention over a sentence: exchange words, forbid looking ahead, turn the question."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import attend
from seqattn.attention.masks import causal_mask
from seqattn.attention.scores import scaled_dot_score
from seqattn.widgets.base import LiveFigure

__all__ = ["SelfAttentionLayer"]

WORDS = ("The", "cat", "sat", "on", "the", "mat", "today", ".")
# Given by hand: nouns near one direction, words of grammar near another.
STATES = (
    (-1.3, -0.2),
    (1.4, 0.5),
    (-0.3, 1.5),
    (-1.0, 0.8),
    (-1.2, -0.4),
    (1.2, 0.9),
    (0.6, 1.2),
    (-0.5, -1.2),
)


class SelfAttentionLayer(LiveFigure):
    r"""The words of a sentence ask each other, in two dimensions.

    .. math::

       \alpha = \mathrm{softmax}\Big(\frac{(X R_\varphi)\, X^\top}{\sqrt 2}\Big), \qquad
       Y = \alpha X

    Keys and values are the states themselves; queries are the states, turned by the angle φ.

    Parameters
    ----------
    first, second : int
        Which places exchange their words, from 0 to 7; equal for none.
    causal : bool
        Whether no word may look at a later place.
    turn : float
        The angle φ between queries and keys of one word in degrees, from 0 to 180.
    word : int
        Which word is watched, from 0 to 7, wherever it stands.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If a place or a word is none of the eight.

    Examples
    --------
    >>> SelfAttentionLayer(first=1, second=5).numbers()["moved"]  # sat, while cat and mat change
    0.0
    >>> SelfAttentionLayer(first=1, second=5, causal=True).numbers()["moved"] > 0.1
    True
    """

    _js = "self_attention_layer.js"
    _moves = ("first", "second", "causal", "turn", "word")
    _title = "Eight words ask each other"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "You exchange “cat” and “mat”. What happens to the output of “sat”?",
        "options": [
            "It changes: the words around it are different now.",
            "Nothing at all.",
            "It changes a little, because weights depend on the distance.",
            "It becomes the output of another word.",
        ],
        "answer": 1,
        "tests": "second",
        "explain": [
            "Nothing in the formula knows what stands before a word, or after it.",
            "The sum adds up the same numbers in another order.",
            "There is no distance in the formula yet.",
            "That happens to no word. The rows of “cat” and “mat” move along with them.",
        ],
    }

    words: "traitlets.List[str]" = traitlets.List(list(WORDS)).tag(sync=True)
    states: "traitlets.List[Any]" = traitlets.List([list(x) for x in STATES]).tag(sync=True)
    first = traitlets.Int(1).tag(sync=True)
    second = traitlets.Int(1).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    turn = traitlets.Float(0.0).tag(sync=True)
    word = traitlets.Int(2).tag(sync=True)

    def __init__(
        self,
        first: int = 1,
        second: int = 1,
        *,
        causal: bool = False,
        turn: float = 0.0,
        word: int = 2,
        **options: Any,
    ) -> None:
        for name, place in (("first", first), ("second", second), ("word", word)):
            if not 0 <= place < len(WORDS):
                raise ValueError(f"{name} is {place}; expected a place from 0 to {len(WORDS) - 1}")
        super().__init__(
            first=int(first),
            second=int(second),
            causal=bool(causal),
            turn=float(turn),
            word=int(word),
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Compute weights and outputs in float64, and how far the watched output moved."""
        order = list(range(len(WORDS)))
        order[self.first], order[self.second] = order[self.second], order[self.first]
        weights, outputs = self._layer(order)
        at = order.index(self.word)
        before = self._layer(sorted(order))[1][self.word]
        moved = (outputs[at] - before).norm().item()
        return {
            "order": order,
            "place": at,
            "weights": weights.tolist(),
            "outputs": outputs.tolist(),
            "output": outputs[at].tolist(),
            "moved": round(moved, 9) + 0.0,
        }

    def _layer(self, order: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.tensor(STATES, dtype=torch.float64)[order]
        phi = math.radians(self.turn)
        cos, sin = math.cos(phi), math.sin(phi)
        queries = x @ torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
        mask = causal_mask(len(WORDS))[None] if self.causal else None
        found = attend(scaled_dot_score(queries[None], x[None]), x[None], mask)
        return found.weights[0], found.context[0]
