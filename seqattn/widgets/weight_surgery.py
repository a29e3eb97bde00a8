"""Forge the weights of two machines that answer alike, and see whose answer cares."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.metrics import jensen_shannon
from seqattn.widgets.base import LiveFigure, Numbers

__all__ = ["WeightSurgery"]


class WeightSurgery(LiveFigure):
    r"""One sentence, two classifiers, and weights that the reader moves.

    .. math:: p = \sigma\Big(\sum_i \beta_i m_i\Big), \qquad m_i = w^\top h_i + b

    A linear readout of a weighted mean is the weighted mean of its readouts of the single states
    :math:`m_i`, the margins. So a sentence is known by its margins, whatever the states are.

    Parameters
    ----------
    words : sequence of str
        The sentence.
    margins : mapping of str to (words,)
        For each machine by its name, what it would answer to each state alone, in nats: positive
        for the answer that it gives.
    own : mapping of str to (words,)
        For each machine, its own weights.
    answer : str
        The answer that both give.
    machine : str, optional
        Whose weights are moved; the first if not given.
    weights : (words,), optional
        Weights to begin with, from 0 to 1, not yet divided by their sum; the machine's own if not
        given. If all are 0 they count as uniform.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there is no such machine, or the machines of ``margins`` and ``own`` differ.

    Examples
    --------
    All weight on a state that says nothing:

    >>> figure = WeightSurgery(["on", "it"], {"A": [4.0, 0.0]}, {"A": [0.5, 0.5]}, weights=[0, 1])
    >>> figure.numbers()["probability"]
    0.5
    """

    _js = "weight_surgery.js"
    _moves = ("machine", "weights")
    _title = "Forge the weights"
    _question: ClassVar[Mapping[str, Any]] = {}

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    machines = traitlets.List(traitlets.Unicode()).tag(sync=True)
    margins = Numbers(help="One row for each machine.").tag(sync=True)
    own = Numbers(help="One row for each machine.").tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)
    machine = traitlets.Unicode().tag(sync=True)
    weights = Numbers(traitlets.Float()).tag(sync=True)

    def __init__(
        self,
        words: Sequence[str],
        margins: Mapping[str, Sequence[float]],
        own: Mapping[str, Sequence[float]],
        answer: str = "this",
        machine: str | None = None,
        weights: Sequence[float] | None = None,
        **options: Any,
    ) -> None:
        machines = list(margins)
        if list(own) != machines:
            raise ValueError(f"own has weights of {list(own)}; expected those of {machines}")
        chosen = machines[0] if machine is None else machine
        if chosen not in machines:
            raise ValueError(f"machine is {chosen!r}; expected one of {machines}")
        rows = [[list(map(float, given[name])) for name in machines] for given in (margins, own)]
        for name, row in [(n, r) for part in rows for n, r in zip(machines, part, strict=True)]:
            if len(row) != len(words):
                raise ValueError(
                    f"machine {name!r} has {len(row)} numbers; expected {len(words)}, one a word"
                )
        start = rows[1][machines.index(chosen)] if weights is None else weights
        super().__init__(
            words=[str(word) for word in words],
            machines=machines,
            margins=rows[0],
            own=rows[1],
            answer=str(answer),
            machine=chosen,
            weights=[float(w) for w in start],
            **options,
        )

    @traitlets.validate("weights")
    def _fits(self, proposal: Any) -> Any:
        return self._one_for_each("words", proposal)

    def numbers(self) -> dict[str, Any]:
        """Compute the answer under the moved weights by PyTorch in float64."""
        at = self.machines.index(self.machine)
        m, own, raw = (
            torch.tensor(row, dtype=torch.float64)
            for row in (self.margins[at], self.own[at], self.weights)
        )
        own = own / own.sum()
        weights = raw / raw.sum() if raw.sum() > 0 else torch.full_like(raw, 1 / len(raw))
        probability, before = (w.dot(m).sigmoid().item() for w in (weights, own))
        return {
            "weights": weights.tolist(),
            "own_weights": own.tolist(),
            "answers_of_single_states": m.sigmoid().tolist(),
            "own_probability": before,
            "probability": probability,
            "moved": abs(probability - before),
            "divergence": jensen_shannon(own[None], weights[None]).item(),
            "lowest": m.min().sigmoid().item(),
            "highest": m.max().sigmoid().item(),
        }
