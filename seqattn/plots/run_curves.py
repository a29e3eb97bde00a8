"""A training run as curves over its updates: loss, BLEU and perplexity, and the learning rate."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seqattn.plots.style import BLUE, GREEN, GREY, ORANGE, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_curves"]

Records = Sequence[Mapping[str, Any]]


def plot_curves(records: Records) -> "Figure":
    r"""Draw loss, BLEU and perplexity, and the learning rate, over the updates.

    Parameters
    ----------
    records : sequence of mappings
        Of a run's log, as ``RunFolder.records`` reads them.

    Returns
    -------
    Figure
        Three panels; one without records stays empty. It belongs to no window.

    Examples
    --------
    >>> valid = {"kind": "valid", "step": 9, "bleu": 31.0, "perplexity": 7.5}
    >>> [panel.get_ylabel() for panel in plot_curves([valid]).axes]
    ['loss\n(nats per token)', 'BLEU', 'learning\nrate', 'perplexity']
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 7.2), layout="constrained")
    loss, bleu, rate = figure.subplots(3, sharex=True)
    train = [record for record in records if record["kind"] == "train"]
    valid = [record for record in records if record["kind"] == "valid"]
    _draw(loss, train, "loss", GREY, "-")
    loss.set_ylabel("loss\n(nats per token)")
    _draw(bleu, valid, "bleu", BLUE, "o-")
    bleu.set_ylabel("BLEU", color=BLUE)
    for record in records:
        if record["kind"] == "average":
            bleu.plot(record["step"], record["bleu"], "*", color=GREEN, markersize=12)
            bleu.annotate("average", (record["step"], record["bleu"]), ha="right", va="bottom")
    perplexity = bleu.twinx()
    _draw(perplexity, valid, "perplexity", ORANGE, "s--")
    perplexity.set_ylabel("perplexity", color=ORANGE)
    perplexity.set_yscale("log")
    _draw(rate, train, "lr", GREY, "-")
    rate.set(ylabel="learning\nrate", xlabel="update")
    for panel in (loss, bleu, rate):
        tidy(panel)
    return figure


def _draw(panel: "Axes", records: Records, name: str, colour: str, style: str) -> None:
    found = [(record["step"], record[name]) for record in records if record.get(name) is not None]
    if found:
        panel.plot(*zip(*found), style, color=colour, markersize=4)
