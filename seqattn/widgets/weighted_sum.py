"""The context as a weighted sum: one slider for each source word."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import attend
from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["WeightedSum"]

WORDS = ("The", "cat", "sat", "on", "the", "mat")
STATES = ((-0.6, 0.5), (1.6, 0.8), (0.2, 1.7), (-1.5, -0.4), (-0.5, -0.9), (1.1, -1.3))
# Hand-set, to show the idea: one row of scores for each French word about to be produced.
SCORES = {
    "Le": (2.2, 1.3, -0.4, -0.8, 0.6, -0.5),
    "chat": (0.8, 2.5, 1.2, -0.9, -0.3, 0.5),
    "assis": (-0.6, 1.1, 2.4, 1.0, -0.8, 0.2),
    "tapis": (-0.7, 0.2, 0.1, 0.9, 1.3, 2.6),
}


class WeightedSum(LiveFigure):
    r"""Context :math:`c = \sum_i \alpha_i h_i`, drawn tip to tail.

    The reader picks the target word about to be produced, or moves one score for each source word.

    Parameters
    ----------
    words : sequence of str
        Source words.
    values : sequence of (x, y)
        A 2-dimensional state h for each source word.
    scores : mapping from target word to scores, or one sequence of scores
        Scores e to start from, from -5 to 5.
    target : str, optional
        The target word shown first; the first of the mapping if not given, or “chat” of the
        built-in scores.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Examples
    --------
    >>> figure = WeightedSum(["a", "b"], [(1.0, 0.0), (0.0, 2.0)], scores=[0.0, 0.0])
    >>> figure.numbers()["context"]
    [0.5, 1.0]
    """

    _js = "weighted_sum.js"
    _moves = ("target", "scores")
    _title = "The context is a weighted sum of the source states"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "Can any setting of the scores put the context outside the shaded shape "
        "that the six states span?",
        "options": [
            "Yes, with one very large score.",
            "Yes, since states lie on both sides of 0.",
            "No.",
        ],
        "answer": 2,
        "explain": [
            "One very large score sends the context to the state of that word, a corner or a point "
            "inside, and no further.",
            "An average of points on both sides of 0 still lies between them: no weight is "
            "negative, so nothing is ever subtracted.",
            "The weights are not negative and sum to 1, so the context is an average of the "
            "states: it stays in their convex hull.",
        ],
        "tests": "scores",
    }

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    values = Numbers().tag(sync=True)
    # A list of pairs: notebooks store mappings in alphabetical order.
    targets: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    target = traitlets.Unicode().tag(sync=True)
    scores = Numbers(traitlets.Float()).tag(sync=True)

    def __init__(
        self,
        words: Sequence[str] = WORDS,
        values: Sequence[Sequence[float]] = STATES,
        scores: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
        target: str | None = None,
        **options: Any,
    ) -> None:
        if scores is None:
            scores = SCORES
            target = "chat" if target is None else target
        if not isinstance(scores, Mapping):
            scores = {"": scores}
        targets = {
            name: floats(row, f"scores of {name!r}", len(words)) for name, row in scores.items()
        }
        target = next(iter(targets)) if target is None else target
        if target not in targets:
            raise ValueError(f"target is {target!r}; expected one of {list(targets)}")
        options.setdefault("predict", values is STATES)  # the question is about these
        states = [floats(state, "a state in values", 2) for state in values]
        if len(states) != len(words):
            raise ValueError(
                f"values has {len(states)} states; expected one for each of {len(words)} words"
            )
        super().__init__(
            words=[str(word) for word in words],
            values=states,
            targets=[[name, row] for name, row in targets.items()],
            target=target,
            scores=targets[target],
            **options,
        )

    @traitlets.observe("target")
    def _take_scores(self, change: Any) -> None:
        self.scores = dict(self.targets).get(change["new"], self.scores)

    @traitlets.validate("values", "scores")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("words", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute weights and context by PyTorch in float64."""
        scores = torch.tensor([self.scores], dtype=torch.float64)
        context, weights = attend(scores, torch.tensor([self.values], dtype=torch.float64))
        # As JavaScript's toFixed does, ties go up.
        cents = Decimal("0.01")
        rounded = [Decimal(w).quantize(cents, ROUND_HALF_UP) for w in weights[0].tolist()]
        return {
            # No target's, once a score was moved.
            "target": self.target if self.scores == dict(self.targets).get(self.target) else "",
            "scores": self.scores,
            "weights": weights[0].tolist(),
            "sum_of_rounded_weights": float(sum(rounded)),
            "context": context[0].tolist(),
        }
