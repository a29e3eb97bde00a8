"""A matrix between query and key turns the question: every state asks for its neighbour."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import attend
from seqattn.attention.scores import general_score
from seqattn.widgets.base import LiveFigure

__all__ = ["TurnedQuestion"]

STATES = 6


class TurnedQuestion(LiveFigure):
    r"""Six states round a circle; one of them asks, through a matrix that turns.

    .. math::

       e_{ij} = \kappa\, x_i^\top W x_j, \qquad
       W = \cos\varphi \begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}
         + \sin\varphi \begin{pmatrix} 0 & 1 \\ -1 & 0 \end{pmatrix}

    The first part is symmetric and compares; the second is skew and orders.

    Parameters
    ----------
    turn : float
        The angle φ in degrees, from -180 to 180: how far W turns the question.
    asking : int
        Which state asks, from 0 to 5.
    sharpness : float
        The factor κ before the product, from 0.5 to 20.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If ``asking`` is none of the states.

    Examples
    --------
    >>> TurnedQuestion(turn=0.0).numbers()["largest"]  # like asks for like: itself
    [0]
    >>> TurnedQuestion(turn=60.0).numbers()["largest"]  # the next one
    [1]
    >>> TurnedQuestion(turn=90.0).numbers()["own_score"]  # the skew part never scores itself
    0.0
    """

    _js = "turned_question.js"
    _moves = ("turn", "asking", "sharpness")
    _title = "Ask for the next one"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "With no turn every state asks for itself. Which turn makes the symmetric part "
        "vanish, so that the skew part is left alone, and whom does state 1 then look at?",
        "options": [
            "A turn of 60°: it looks at state 2 alone.",
            "A turn of 90°: it looks at states 2 and 3 alike, and gives itself a score of zero.",
            "A turn of 180°: it looks at state 4, the opposite one.",
        ],
        "answer": 1,
        "tests": "turn",
        "explain": [
            "That turn does ask for state 2. But cos 60° is a half: half of the symmetric part is "
            "still there.",
            "The cosine of 90° is zero. The question points between states 2 and 3, and at a right "
            "angle to state 1 itself.",
            "There the skew part vanishes: sin 180° is zero. What is left is symmetric, with a "
            "minus sign.",
        ],
    }

    turn = traitlets.Float(0.0).tag(sync=True)
    asking = traitlets.Int(0).tag(sync=True)
    sharpness = traitlets.Float(4.0).tag(sync=True)

    def __init__(
        self, turn: float = 0.0, asking: int = 0, sharpness: float = 4.0, **options: Any
    ) -> None:
        if not 0 <= asking < STATES:
            raise ValueError(f"asking is {asking}; expected a state from 0 to {STATES - 1}")
        super().__init__(
            turn=float(turn), asking=int(asking), sharpness=float(sharpness), **options
        )

    def numbers(self) -> dict[str, Any]:
        """Compute scores, weights and the parts of W by PyTorch in float64."""
        angles = torch.arange(STATES, dtype=torch.float64) * (2 * math.pi / STATES)
        x = torch.stack([angles.cos(), angles.sin()], dim=-1)
        phi = math.radians(self.turn)
        cos, sin = math.cos(phi), math.sin(phi)
        W = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
        s = x[self.asking]
        scores = self.sharpness * general_score(s[None], x[None], W)
        weights = attend(scores, x[None]).weights[0]
        top = scores[0] > scores.max() - 1e-9  # two states may be equally near
        return {
            "symmetric_part": cos,
            "skew_part": sin,
            "question": (s @ W).tolist(),
            "scores": [round(score, 9) + 0.0 for score in scores[0].tolist()],
            "weights": weights.tolist(),
            "own_score": round(scores[0, self.asking].item(), 9) + 0.0,
            "largest": top.nonzero()[:, 0].tolist(),
        }
