"""One head stays inside the triangle of the values; two heads of half the size leave it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import attend
from seqattn.attention.scores import scaled_dot_score
from seqattn.data.book import TINY
from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["TwoHeads"]


class TwoHeads(LiveFigure):
    r"""Three states with two numbers each, asked by one head or by two heads of size 1.

    All projections are the identity. One head scores with both numbers and averages whole states.
    Of two heads the first scores and averages first numbers alone, the second second numbers; their
    two outputs side by side are a point again.

    Parameters
    ----------
    query : (x, y)
        What asks, each number from -6 to 6.
    words : sequence of 3 str
        Names of the states.
    states : sequence of 3 pairs
        Keys and values; not on one line.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there are not three states with two numbers each, or they lie on a line.

    Examples
    --------
    >>> figure = TwoHeads()
    >>> [round(x, 3) for x in figure.numbers()["one_head"]]
    [0.221, 0.805]
    >>> [round(x, 3) for x in figure.numbers()["two_heads"]]
    [0.512, 1.105]
    """

    _js = "two_heads.js"
    _moves = ("query",)
    _title = "One average, or an average for each number"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "The context of one head never leaves the triangle of the three states. Two "
        "heads, each with one of the two numbers, also return averages. Can their point leave it?",
        "options": [
            "No: each head returns an average, and averages stay inside.",
            "Yes: each number has an average of its own, with its own weights.",
            "Yes, but only if some weight is negative.",
        ],
        "answer": 1,
        "tests": "query",
        "explain": [
            "Each output stays between the smallest and the largest of its own numbers. That keeps "
            "the point in a box around the triangle, not in the triangle.",
            "The first number may come from one state and the second from another. The point stays "
            "in the dashed box, which has corners where no state is.",
            "No head has a negative weight. One head would need one to get to such a point.",
        ],
    }

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    states = Numbers().tag(sync=True)
    query = Numbers(traitlets.Float()).tag(sync=True)

    def __init__(
        self,
        query: Sequence[float] = (0.5, 1.0),
        words: Sequence[str] = TINY.words,
        states: Sequence[Sequence[float]] | None = None,
        **options: Any,
    ) -> None:
        table = torch.as_tensor(TINY.h if states is None else states).double()
        if table.shape != (3, 2) or abs(float(torch.det(table[1:] - table[0]))) < 1e-6:
            raise ValueError(
                f"states are {table.tolist()}; expected three with two numbers each, not on a line"
            )
        super().__init__(
            query=floats(query, "query", 2),
            words=[str(word) for word in words],
            states=table.tolist(),
            **options,
        )

    @traitlets.validate("words", "query")
    def _right_number(self, proposal: Any) -> Any:
        wanted = {"words": 3, "query": 2}[proposal["trait"].name]
        if len(proposal["value"]) != wanted:
            raise traitlets.TraitError(
                f"{proposal['trait'].name} has {len(proposal['value'])} entries; expected {wanted}"
            )
        return proposal["value"]

    def numbers(self) -> dict[str, Any]:
        """Compute both attentions by the package's functions in float64."""
        states = torch.tensor(self.states, dtype=torch.float64)
        query = torch.tensor(self.query, dtype=torch.float64)
        whole = attend(scaled_dot_score(query[None], states[None]), states[None])
        # Each number is a head: a batch of two, with keys and values of size 1.
        parts = states.T[..., None]
        heads = attend(scaled_dot_score(query[:, None], parts), parts)
        point = heads.context[:, 0]
        edges = (states[1:] - states[0]).T
        second, third = torch.linalg.solve(edges, point - states[0]).tolist()
        needed = [1 - second - third, second, third]
        return {
            "weights_of_one_head": whole.weights[0].tolist(),
            "weights_of_head_1": heads.weights[0].tolist(),
            "weights_of_head_2": heads.weights[1].tolist(),
            "one_head": whole.context[0].tolist(),
            "two_heads": point.tolist(),
            "one_average_would_need": needed,
            "two_heads_lie": "outside" if min(needed) < -1e-9 else "inside",
        }
