"""Products of two vectors in the plane: what direction and length do to a score."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import attend
from seqattn.attention.scores import dot_score, general_score
from seqattn.data.book import TINY
from seqattn.widgets.base import LiveFigure, floats

__all__ = ["ScoreGeometry"]

SCORES = ("dot", "cosine", "general")


class ScoreGeometry(LiveFigure):
    r"""Three states and a query as arrows, scored by a product that the reader chooses.

    .. math:: s^\top h_i = \lVert s\rVert\,\lVert h_i\rVert \cos\theta_i

    Parameters
    ----------
    words : sequence of str
        Names of the states.
    states : sequence of (x, y)
        A 2-dimensional encoder state h for each word.
    W : sequence of (x, y)
        The rows of the matrix of the general score.
    stretched : int
        Which state the reader may make longer.
    score : {"dot", "cosine", "general"}
        The product.
    angle, length : float
        The query in polar form: degrees from -180 to 180, and length from 0 to 3.
    stretch : float
        How many times as long the stretched state is, from 0.25 to 3.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If a vector has not two numbers, W not two rows, or an option is out of its limits.

    Examples
    --------
    *Cat* points best, *sat* is longer:

    >>> figure = ScoreGeometry()
    >>> figure.words[figure.numbers()["largest"]]
    'sat'
    >>> figure.score = "cosine"
    >>> figure.words[figure.numbers()["largest"]]
    'cat'
    """

    _js = "score_geometry.js"
    _moves = ("score", "angle", "length", "stretch")
    _title = "Direction and length in a product"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "Make the query s twice as long, in the same direction. What happens to the "
        "order of the words, and to their weights?",
        "options": [
            "The order may change, since a long query reaches the long state better.",
            "The order stays, and the weights become sharper.",
            "Nothing changes, for the angles are the same.",
        ],
        "answer": 1,
        "tests": "length",
        "explain": [
            "Every score is doubled, that of a short state too. No two can change places.",
            "Every score is doubled, so their differences are doubled as well. The query's length "
            "works as an inverse temperature.",
            "That holds for the cosine, which sees angles alone. The dot product sees lengths too.",
        ],
    }

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    states: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    W: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    stretched = traitlets.Int(1).tag(sync=True)
    score = traitlets.Enum(SCORES, "dot").tag(sync=True)
    angle = traitlets.Float().tag(sync=True)
    length = traitlets.Float().tag(sync=True)
    stretch = traitlets.Float(1.0).tag(sync=True)

    def __init__(
        self,
        words: Sequence[str] = TINY.words,
        states: Sequence[Sequence[float]] | None = None,
        W: Sequence[Sequence[float]] | None = None,
        stretched: int = 1,
        score: str = "dot",
        angle: float | None = None,
        length: float | None = None,
        stretch: float = 1.0,
        **options: Any,
    ) -> None:
        vectors = [floats(h, "a state", 2) for h in (TINY.h if states is None else states)]
        if len(vectors) != len(words):
            raise ValueError(f"there are {len(vectors)} states; expected {len(words)}, one a word")
        rows = [floats(row, "a row of W", 2) for row in (TINY.W if W is None else W)]
        if len(rows) != 2:
            raise ValueError(f"W has {len(rows)} rows; expected 2, for a query of two numbers")
        if not 0 <= stretched < len(vectors):
            raise ValueError(
                f"stretched is {stretched}; expected the index of one of {len(vectors)} states, "
                "counting from 0"
            )
        if score not in SCORES:
            raise ValueError(f"score is {score!r}; expected one of {', '.join(SCORES)}")
        x, y = TINY.s.tolist()
        super().__init__(
            words=[str(word) for word in words],
            states=vectors,
            W=rows,
            stretched=stretched,
            score=score,
            angle=round(math.degrees(math.atan2(y, x)), 1) if angle is None else float(angle),
            length=round(math.hypot(x, y), 3) if length is None else float(length),
            stretch=float(stretch),
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Compute lengths, cosines, scores and weights by PyTorch in float64."""
        turn = math.radians(self.angle)
        s = self.length * torch.tensor([math.cos(turn), math.sin(turn)], dtype=torch.float64)
        h = torch.tensor(self.states, dtype=torch.float64)
        h[self.stretched] *= self.stretch
        W = torch.tensor(self.W, dtype=torch.float64)
        asked = s @ W if self.score == "general" else s
        lengths = h.norm(dim=-1)
        both = asked.norm() * lengths
        cosines = torch.where(both > 0, h @ asked / both.clamp(min=1e-300), 0.0)
        if self.score == "general":
            scores = general_score(s[None], h[None], W)
        elif self.score == "dot":
            scores = dot_score(s[None], h[None])
        else:
            scores = cosines[None]
        weights = attend(scores, h[None]).weights[0]
        return {
            "score": self.score,
            "query": s.tolist(),
            "compared_with": asked.tolist(),
            "lengths": lengths.tolist(),
            "cosines": cosines.tolist(),
            "scores": scores[0].tolist(),
            "weights": weights.tolist(),
            "largest": int(scores.argmax()),
            "smallest": int(scores.argmin()),
        }
