"""How far back the last state of a recurrent network still feels its inputs."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.context_managers import own_random
from seqattn.widgets.base import LiveFigure, floats

__all__ = ["Recency"]


class Recency(LiveFigure):
    r"""How much each input still reaches the last state of a recurrent network.

    Bars of :math:`\lVert\partial h_T/\partial x_i\rVert` (Frobenius norm) for each length T,
    relative to the last input, on a logarithmic axis.

    Parameters
    ----------
    series : mapping from length T to T numbers, optional
        Positive numbers. If not given, the norms of an untrained GRU with 32 units, averaged over
        8 seeds.
    choice : int
        Index of the length shown first; the last one by default.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Examples
    --------
    >>> Recency({2: [0.5, 1.0], 3: [0.01, 0.1, 1.0]}).numbers()["factor_per_step"]
    10.0
    """

    _js = "recency.js"
    _moves = ("choice",)
    _title = "How much each word still affects the last state"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "On a logarithmic axis, what shape do the bars of a long sentence make?",
        "options": [
            "Level: each word counts alike.",
            "Close to a straight line: each step back costs the same factor.",
            "A valley: the first and the last words count most.",
        ],
        "answer": 1,
        "explain": [
            "The state of an untrained GRU does not weigh words alike: the recent ones rule it.",
            "Each step back multiplies by one more Jacobian, so influence falls by a factor at "
            "each step, which a logarithmic axis draws as a line.",
            "That would need a second reader that starts from the other end, as a bidirectional "
            "encoder has.",
        ],
        "tests": "choice",
    }

    lengths = traitlets.List(traitlets.Int()).tag(sync=True)
    series: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    choice = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        series: Mapping[int, Sequence[float]] | None = None,
        choice: int = -1,
        **options: Any,
    ) -> None:
        if series is None:
            series = {T: _untrained_norms(T) for T in (5, 10, 15, 20, 25, 30)}
        if not series:
            raise ValueError("series is empty; expected at least one length with its numbers")
        rows = {T: floats(row, f"series[{T}]") for T, row in series.items()}
        for T, row in rows.items():
            if len(row) != T or min(row) <= 0:
                raise ValueError(f"series[{T}] is {row}; expected {T} numbers above 0")
        super().__init__(
            lengths=list(rows),
            series=list(rows.values()),
            choice=range(len(rows))[choice],
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Return the bars, and the factor by which they grow from one word to the next."""
        values = self.series[self.choice]
        row = torch.tensor(values, dtype=torch.float64)
        steps = max(1, len(values) - 1)
        return {
            "length": self.lengths[self.choice],
            "values": values,
            "first_over_last": (row[0] / row[-1]).item(),
            "factor_per_step": ((row[-1] / row[0]) ** (1 / steps)).item(),
        }


def _untrained_norms(T: int, size: int = 32, seeds: int = 8) -> list[float]:
    """Norms of the Jacobian of the last GRU state by each input, relative to the last."""
    total = torch.zeros(T, dtype=torch.float64)
    with own_random():
        for seed in range(seeds):
            torch.manual_seed(seed)
            # Drawn in single precision, whatever the caller's default is.
            gru = torch.nn.GRU(size, size, batch_first=True, dtype=torch.float32).double()
            inputs = torch.randn(1, T, size, dtype=torch.float64).expand(size, -1, -1)
            inputs = inputs.clone().requires_grad_()
            last = gru(inputs)[0][:, -1]
            # Row r of the batch is asked for the gradient of unit r: the whole Jacobian at once.
            (jacobian,) = torch.autograd.grad(last.diagonal().sum(), inputs)
            total += jacobian.square().sum((0, 2)).sqrt()
    return (total / total[-1]).tolist()
