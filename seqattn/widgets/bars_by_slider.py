"""Bars that a slider exchanges: one row of numbers for each setting."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.widgets.base import LiveFigure, floats

__all__ = ["BarsBySlider", "Recency"]


class BarsBySlider(LiveFigure):
    """One bar chart for each position of a slider, with a linear or a logarithmic axis.

    Parameters
    ----------
    series : mapping from setting to sequence of float
        The bars at each setting of the slider, in order. Rows may differ in length.
    labels : sequence of str, optional
        Names of the bars; 1, 2, 3, … if not given.
    slider_label : str
        What the slider sets.
    xlabel, ylabel : str
        Axis labels, with units.
    log : bool
        Start with a logarithmic axis; then all numbers must be positive or zero.
    choice : int
        Index of the setting shown first; the last one by default.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Examples
    --------
    >>> figure = BarsBySlider({"small": [1.0, 2.0], "large": [3.0, 5.0, 7.0]})
    >>> figure.numbers()["values"]
    [3.0, 5.0, 7.0]
    """

    _js = "bars_by_slider.js"
    _moves = ("choice", "log")
    _title = "One row of bars for each setting"

    settings: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    series: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    slider_label = traitlets.Unicode().tag(sync=True)
    xlabel = traitlets.Unicode().tag(sync=True)
    ylabel = traitlets.Unicode().tag(sync=True)
    choice = traitlets.Int().tag(sync=True)
    log = traitlets.Bool().tag(sync=True)

    def __init__(
        self,
        series: Mapping[Any, Sequence[float]],
        labels: Sequence[str] = (),
        slider_label: str = "setting",
        xlabel: str = "",
        ylabel: str = "",
        log: bool = False,
        choice: int = -1,
        **options: Any,
    ) -> None:
        rows = [floats(row, f"series[{key!r}]") for key, row in series.items()]
        if not rows:
            raise ValueError("series is empty; expected at least one setting with its bars")
        longest = max(map(len, rows))
        if labels and len(labels) < longest:
            raise ValueError(f"there are {len(labels)} labels; the longest row has {longest} bars")
        if log and min(map(min, rows)) < 0:
            raise ValueError("log=True needs numbers of at least 0; a negative one came")
        super().__init__(
            settings=[key if isinstance(key, int | float) else str(key) for key in series],
            series=rows,
            labels=[str(label) for label in labels],
            slider_label=slider_label,
            xlabel=xlabel,
            ylabel=ylabel,
            log=bool(log),
            choice=range(len(rows))[choice],
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Return what the figure shows now; ``first_over_last`` is NaN (null) without a last."""
        values = self.series[self.choice]
        row = torch.tensor(values, dtype=torch.float64)
        return {
            "setting": self.settings[self.choice],
            "values": values,
            "total": row.sum().item(),
            "first_over_last": (row[0] / row[-1]).item() if values[-1] else None,
        }


class Recency(BarsBySlider):
    r"""How much each input still reaches the last state of a recurrent network.

    Bars of :math:`\lVert\partial h_T/\partial x_i\rVert` (Frobenius norm) for each length T,
    relative to the last input.

    Parameters
    ----------
    series : mapping from length T to T numbers, optional
        If not given, the norms of an untrained GRU with 32 units, averaged over 8 seeds.
    **options
        As in :class:`BarsBySlider`.

    Examples
    --------
    >>> Recency().numbers()["values"][-1]
    1.0
    """

    _js = "bars_by_slider.js"
    _title = "What the last state still feels of each word"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "On a logarithmic axis, what shape do the bars of a long sentence make?",
        "options": [
            "Level: each word counts alike.",
            "Close to a straight line: each step back costs the same factor.",
            "A valley: the first and the last words count most.",
        ],
        "answer": 1,
        "explain": [
            "A fixed vector does not weigh words alike: the recent ones rule it.",
            "Each step back multiplies by one more Jacobian, so influence falls by a factor at "
            "each step, which a logarithmic axis draws as a line.",
            "That would need a second reader that starts from the other end, as a bidirectional "
            "encoder has.",
        ],
    }

    def __init__(
        self,
        series: Mapping[Any, Sequence[float]] | None = None,
        slider_label: str = "words in the sentence, T",
        xlabel: str = "position i of the word",
        ylabel: str = "influence on the last state, last word = 1",
        log: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(
            series={T: _untrained_norms(T) for T in (5, 10, 15, 20, 25, 30)}
            if series is None
            else series,
            slider_label=slider_label,
            xlabel=xlabel,
            ylabel=ylabel,
            log=log,
            **options,
        )


def _untrained_norms(T: int, size: int = 32, seeds: int = 8) -> list[float]:
    """Norms of the Jacobian of the last GRU state by each input, relative to the last."""
    total = torch.zeros(T, dtype=torch.float64)
    with torch.random.fork_rng(devices=[]):
        for seed in range(seeds):
            torch.manual_seed(seed)
            gru = torch.nn.GRU(size, size, batch_first=True).double()
            inputs = torch.randn(1, T, size, dtype=torch.float64).expand(size, -1, -1)
            inputs = inputs.clone().requires_grad_()
            last = gru(inputs)[0][:, -1]
            # Row r of the batch is asked for the gradient of unit r: the whole Jacobian at once.
            (jacobian,) = torch.autograd.grad(last.diagonal().sum(), inputs)
            total += jacobian.square().sum((0, 2)).sqrt()
    return (total / total[-1]).tolist()
