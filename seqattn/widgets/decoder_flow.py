"""Three steps of a decoder as boxes and arrows: change one, and see which others can move."""

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from seqattn.widgets.base import LiveFigure

__all__ = ["DecoderFlow"]

STEPS = 3
BOXES = ("y", "s", "alpha", "c", "f", "p")
ORDERS = ("before", "after")
READOUTS = ("tanh", "linear", "maxout", "state alone")


class DecoderFlow(LiveFigure):
    r"""What a change reaches in a decoder that is told the true words.

    The boxes of step t are the last word :math:`y_{t-1}`, the state :math:`s_t`, the weights
    :math:`\alpha_t`, the context :math:`c_t`, the readout's features :math:`\tilde s_t` and the
    probabilities :math:`p_t`. An arrow stands for "is computed from". What a chain of arrows leads
    to can move; nothing else can.

    Parameters
    ----------
    order : {"after", "before"}
        Whether the decoder asks after its update, with :math:`s_t`, or before it, with
        :math:`s_{t-1}`.
    fed : bool
        Whether the update reads what attention gave: :math:`c_t` if the decoder asks before it,
        :math:`\tilde s_{t-1}` if after it.
    readout : {"tanh", "linear", "maxout", "state alone"}
        What the features are made of: state and context, both and the last word (twice), or the
        state alone.
    what : {"y", "s", "alpha", "c", "f", "p"}
        Kind of the box that is changed.
    step : int
        Its step, from 1 to 3.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If an order, readout, box or step is unknown.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), section 3.1; Luong, Pham and Manning (2015), sections 3 and
    3.3.

    Examples
    --------
    >>> DecoderFlow("after", what="c", step=2).numbers()["s"]
    []
    >>> DecoderFlow("after", fed=True, what="c", step=2).numbers()["s"]
    [3]
    >>> DecoderFlow("before", fed=True, what="c", step=2).numbers()["s"]
    [2, 3]
    """

    _js = "decoder_flow.js"
    _moves = ("order", "fed", "readout", "what", "step")
    _title = "What a change can reach"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "The decoder updates first and asks with its new state, and nothing is fed "
        "back. The context of step 2 is replaced by noise. What else moves?",
        "options": [
            "Everything that is computed after it.",
            "The features and the probabilities of step 2, and nothing else.",
            "The state of step 3, and all that follows from it.",
        ],
        "answer": 1,
        "tests": "step",
        "explain": [
            "Only what is computed from it. The state of step 3 reads the last state and the "
            "last word; neither has seen this context.",
            "The context enters the readout of its own step, and no arrow leads back into the "
            "recurrence.",
            "So it would be with feeding. Without it, no arrow leads from a context to a state.",
        ],
    }

    order = traitlets.Unicode("after").tag(sync=True)
    fed = traitlets.Bool(False).tag(sync=True)
    readout = traitlets.Unicode("tanh").tag(sync=True)
    what = traitlets.Unicode("c").tag(sync=True)
    step = traitlets.Int(3).tag(sync=True)

    def __init__(
        self,
        order: str = "after",
        fed: bool = False,
        readout: str = "tanh",
        what: str = "c",
        step: int = 3,
        **options: Any,
    ) -> None:
        for name, given, known in (
            ("order", order, ORDERS),
            ("readout", readout, READOUTS),
            ("what", what, BOXES),
            ("step", step, range(1, STEPS + 1)),
        ):
            if given not in known:
                raise ValueError(
                    f"{name} is {given!r}; expected one of {', '.join(map(repr, known))}"
                )
        super().__init__(
            order=order, fed=bool(fed), readout=readout, what=what, step=step, **options
        )

    def arrows(self) -> list[tuple[str, str, int]]:
        """List what is computed from what: from, to, and how many steps later."""
        before = self.order == "before"
        found = [("y", "s", 0), ("s", "s", 1), ("s", "alpha", int(before)), ("alpha", "c", 0)]
        if self.fed:
            found.append(("c", "s", 0) if before else ("f", "s", 1))
        found.append(("s", "f", 0))
        if self.readout != "state alone":
            found.append(("c", "f", 0))
        if self.readout in ("linear", "maxout"):
            found.append(("y", "f", 0))
        return [*found, ("f", "p", 0)]

    def numbers(self) -> dict[str, Any]:
        """Follow the arrows from the changed box; give the steps of each kind that are reached."""
        arrows, reached = self.arrows(), {(self.what, self.step)}
        ahead = list(reached)
        while ahead:
            box, t = ahead.pop()
            new = {(b, t + later) for a, b, later in arrows if a == box and t + later <= STEPS}
            ahead += new - reached
            reached |= new
        reached.remove((self.what, self.step))
        moved = {box: sorted(t for other, t in reached if other == box) for box in BOXES}
        return {**moved, "boxes_that_move": len(reached)}
