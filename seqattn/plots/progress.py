"""A run's log and tests as figures: alignment that emerges, scores that fall with length.

Both take plain results, ``RunFolder.records()`` and ``Evaluation.lengths``, and no models.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seqattn.plots.style import BLUE, GREY, PALETTE, import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_bleu_by_length", "plot_error_rate"]


def plot_error_rate(
    records: Sequence[Mapping[str, Any]],
    *,
    baselines: Mapping[str, float] | None = None,
    which: str = "aer",
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str = BLUE,
) -> "Axes":
    """Draw how the alignment error rate of the attention falls with the updates.

    Nobody tells the model which word translates which. Early validations (``first_look`` of
    :class:`~seqattn.training.TrainingConfig`) show the beginning, and the axis of updates is
    logarithmic. Call it again on the same Axes, with another colour, for another run.

    Parameters
    ----------
    records : sequence of mappings
        Of a run's log, as ``RunFolder.records`` reads them.
    baselines : mapping from name to number, optional
        Error rates from 0 to 1 that do not change, such as one of
        :func:`~seqattn.evaluation.ibm1_error_rates`: dashed lines.
    which : {"aer", "aer_rows"}
        As in :class:`~seqattn.evaluation.Evaluation`.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    label : str, optional
        What the legend calls the curve.
    color : str
        Of the curve.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If no validation in the log has an error rate.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> log = [{"kind": "valid", "step": 20, "aer": 0.7}, {"kind": "valid", "step": 90, "aer": 0.1}]
    >>> ax = plot_error_rate(log, baselines={"IBM Model 1": 0.2})
    >>> ax.lines[0].get_ydata().tolist(), [text.get_text() for text in ax.texts]
    ([70.0, 10.0], ['IBM Model 1'])
    """
    points = [
        (record["step"], 100 * record[which])
        for record in records
        if record["kind"] == "valid" and record.get(which) is not None
    ]
    if not points:
        raise ValueError(
            f"no validation with {which!r} among {len(records)} records; expected the log of a "
            "model of words with attention, on a corpus with gold links, such as the toy corpus"
        )
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=(5.8, 3.6), layout="constrained")
    ax.plot(*zip(*points), "o-", color=color, label=label)
    for name, rate in (baselines or {}).items():
        ax.axhline(100 * rate, linestyle="--", color=GREY, linewidth=1.5)
        ax.annotate(
            name, (0.99, 100 * rate), xycoords=("axes fraction", "data"),
            xytext=(0, 3), textcoords="offset points", ha="right",
        )  # fmt: skip
    ax.set(xscale="log", xlabel="updates", ylabel="alignment\nerror rate (%)")
    ax.set_ylim(bottom=0)
    if label is not None:
        ax.legend()
    return ax


def plot_bleu_by_length(
    lengths: Mapping[str, Sequence[Any]],
    *,
    trained_to: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw BLEU against the length of the source, a line for each translator.

    Parameters
    ----------
    lengths : mapping from name to list of LengthScore
        ``lengths`` of :class:`~seqattn.evaluation.Evaluation`, which
        :func:`~seqattn.evaluation.evaluate` gives with ``details=True``, or of the systems of a
        :class:`~seqattn.evaluation.Comparison`. A point stands in the middle of its lengths.
    trained_to : int, optional
        Longest source in training: a dotted line.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If there is nothing to draw.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> from seqattn.evaluation import LengthScore
    >>> groups = [LengthScore(3, 5, 9, 80.0), LengthScore(6, 10, 9, 50.0)]
    >>> ax = plot_bleu_by_length({"fixed": groups})
    >>> ax.lines[0].get_xdata().tolist()
    [4.0, 8.0]
    """
    if not any(lengths.values()):
        raise ValueError("no scores by length; expected at least one (evaluate with details=True)")
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=(5.8, 3.6), layout="constrained")
    for i, (name, groups) in enumerate(lengths.items()):
        middles = [(group.shortest + group.longest) / 2 for group in groups]
        scores = [group.bleu for group in groups]
        ax.plot(middles, scores, "o-", color=PALETTE[i % len(PALETTE)], label=name)
    if trained_to is not None:
        ax.axvline(trained_to + 0.5, linestyle=":", color=GREY, linewidth=1.5)
        ax.annotate(
            "longer than in training", (trained_to + 0.5, 1), xycoords=("data", "axes fraction"),
            xytext=(4, -4), textcoords="offset points", va="top",
        )  # fmt: skip
    ax.set(xlabel="words of the source", ylabel="BLEU", ylim=(0, 105), xlim=(0, None))
    ax.legend()
    return ax
