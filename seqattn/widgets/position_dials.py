"""Sinusoidal positions as dials, and their dot products as a map of distances."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.models.transformer import sinusoidal_positions
from seqattn.widgets.base import LiveFigure

__all__ = ["PositionDials"]

PLACES = 32  # of the map: positions 0 to 31


class PositionDials(LiveFigure):
    r"""Each pair of features as a clock hand, and what positions have in common by distance.

    Shown are :math:`P_p` as hands, the same turned by a shift, :math:`R_n P_p`, beside
    :math:`P_{p+n}`, and the dot products :math:`P_p \cdot P_q` of the first 32 positions.

    Parameters
    ----------
    position : int
        p, from 0 to 31.
    shift : int
        n, from 0 to 31.
    size : {"4", "16", "64"}
        d, the number of features.
    base : {"10", "100", "10000"}
        Of the rates.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    traitlets.TraitError
        If a size or a base is none of these, or a position or a shift out of its range.

    Examples
    --------
    >>> figure = PositionDials(position=0, shift=5, size="4")
    >>> [round(x, 2) for x in figure.numbers()["products"][:6]]
    [2.0, 1.54, 0.58, 0.01, 0.35, 1.28]
    """

    _js = "position_dials.js"
    _moves = ("position", "shift", "size", "base")
    _title = "A position is a row of dials"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "Take position 5 and the one three places further, and multiply their vectors. "
        "Now move both together, to 25 and 28. What does the product do?",
        "options": ["It grows.", "It stays the same.", "It goes up and down.", "It falls."],
        "answer": 1,
        "tests": "position",
        "explain": [
            "All positions have the same length, the root of d/2: later ones are not larger.",
            "Each pair gives the cosine of the angle between two hands, and both hands have turned "
            "by the same angle.",
            "Each sine does. The sum of sine times sine and cosine times cosine does not.",
            "It falls as the distance grows, and not even then all the way. Here the distance is "
            "always 3.",
        ],
    }

    position = traitlets.Int(5, min=0, max=PLACES - 1).tag(sync=True)
    shift = traitlets.Int(3, min=0, max=PLACES - 1).tag(sync=True)
    size = traitlets.Enum(["4", "16", "64"], "16").tag(sync=True)
    base = traitlets.Enum(["10", "100", "10000"], "10000").tag(sync=True)

    def numbers(self) -> dict[str, Any]:
        """Compute the hands, the shifted hands and the products by the package in float64."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            table = sinusoidal_positions(2 * PLACES, int(self.size), base=float(self.base))
        finally:
            torch.set_default_dtype(before)
        here, there = table[self.position], table[self.position + self.shift]
        return {
            "product": float(here @ there),
            "length": float(here.norm()),
            "hands": here.unflatten(0, (-1, 2)).tolist(),
            "shifted": there.unflatten(0, (-1, 2)).tolist(),
            "products": (table[:PLACES] @ here).tolist(),
        }
