"""A window over six words: its centre, its width, the Gaussian, and what the row sums to."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.core import masked_softmax
from seqattn.widgets.base import LiveFigure, Numbers, floats, masked_entropy

__all__ = ["LocalWindow"]

MOST_PADS = 6


class LocalWindow(LiveFigure):
    r"""Local-p at one step: a centre :math:`p = S\,\sigma(z)`, a window, and weights in it.

    The reader moves z, which a network would predict from the decoder state, and the half-width D;
    switches the Gaussian off and renormalisation on; and adds padding, which a wrong program
    counts into the length S.

    Parameters
    ----------
    scores : sequence of float
        One score for each word.
    labels : sequence of str
        The words.
    z : float
        What goes into the sigmoid, from -4 to 4.
    half_width : int
        D, from 1 to 4.
    gaussian, renormalize : bool
        Whether the Gaussian favours words near the centre, and whether weights are made to sum to 1
        again.
    pads : int
        Padding behind the words, from 0 to 6.
    counts_pads : bool
        Whether S is the padded length. No pad is ever attended.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there is not one score for each word, or an option is out of its limits.

    References
    ----------
    Luong, Pham and Manning (2015), section 3.2, equations 9 and 10.

    Examples
    --------
    >>> found = LocalWindow([0.8, 2.5, 1.2, -0.9, -0.3, 0.5], z=0.4).numbers()
    >>> round(found["centre"], 3), found["seen"], round(found["row_sum"], 2)
    (3.592, [2, 3, 4, 5], 0.42)
    """

    _js = "local_window.js"
    _moves = ("z", "half_width", "gaussian", "renormalize", "pads", "counts_pads")
    _title = "Six words through a window"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "“cat” has the best score, 2.5. You move z from −1 to 0.4, and with it the "
        "centre from 1.6 to 3.6. What becomes of the weight of “cat”?",
        "options": [
            "It stays the largest: its score has not changed.",
            "It shrinks smoothly, as the Gaussian falls.",
            "It shrinks, but for one jump up, and then drops to exactly 0.",
            "It shrinks, and the others grow, so that the sum stays 1.",
        ],
        "answer": 2,
        "explain": [
            "Scores compete inside the window alone. Once “cat” is outside, its score is not even "
            "computed.",
            "So it would if the Gaussian alone did the work. But Luong et al. cut at a distance of "
            "D, where the Gaussian is still 0.14 high.",
            "As soon as the centre is beyond 3, “cat” at position 1 is more than D = 2 away. No "
            "score, however large, brings it back. (The jump: at 2 one word leaves the window "
            "and another comes in, and the softmax is shared out anew.)",
            "The row does not sum to 1 in the first place: read the row sum. The Gaussian shrinks "
            "whatever is not at the centre.",
        ],
        "tests": "z",
    }

    scores = Numbers(traitlets.Float()).tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    z = traitlets.Float(-1.0).tag(sync=True)
    half_width = traitlets.Int(2, min=1, max=4).tag(sync=True)
    gaussian = traitlets.Bool(True).tag(sync=True)
    renormalize = traitlets.Bool(False).tag(sync=True)
    pads = traitlets.Int(0, min=0, max=MOST_PADS).tag(sync=True)
    counts_pads = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        scores: Sequence[float] = (0.8, 2.5, 1.2, -0.9, -0.3, 0.5),
        labels: Sequence[str] = ("the", "cat", "sat", "on", "the", "mat"),
        z: float = -1.0,
        half_width: int = 2,
        *,
        gaussian: bool = True,
        renormalize: bool = False,
        pads: int = 0,
        counts_pads: bool = False,
        **options: Any,
    ) -> None:
        if not 1 <= half_width <= 4 or not 0 <= pads <= MOST_PADS:
            raise ValueError(
                f"half_width is {half_width} and pads is {pads}; expected 1 to 4 and 0 to "
                f"{MOST_PADS}"
            )
        super().__init__(
            scores=floats(scores, "scores", len(labels)),
            labels=[str(label) for label in labels],
            z=float(z),
            half_width=half_width,
            gaussian=bool(gaussian),
            renormalize=bool(renormalize),
            pads=pads,
            counts_pads=bool(counts_pads),
            **options,
        )

    @traitlets.validate("scores")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("labels", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute window, weights and their sum by PyTorch in float64."""
        words = len(self.labels)
        length = words + (self.pads if self.counts_pads else 0)
        centre = length * torch.sigmoid(torch.tensor(self.z, dtype=torch.float64))
        distance = torch.arange(words, dtype=torch.float64) - centre
        seen = distance.abs() <= self.half_width
        scores = torch.tensor(self.scores, dtype=torch.float64)
        weights = masked_softmax(scores[None], seen[None])[0]
        if self.gaussian:
            weights = weights * torch.exp(-(distance**2) / (2 * (self.half_width / 2) ** 2))
        total = weights.sum()
        if self.renormalize and total > 0:
            weights = weights / total
        shares = (weights / total.clamp(min=1e-300) if not self.renormalize else weights).tolist()
        return {
            "z": self.z,
            "centre": centre.item(),
            "half_width": self.half_width,
            "pads": self.pads,
            "gaussian": float(self.gaussian),
            "seen": seen.nonzero()[:, 0].tolist(),
            "weights": weights.tolist(),
            "row_sum": weights.sum().item(),
            "effective_positions": math.exp(masked_entropy(shares)) if total > 0 else 0.0,
        }
