"""Measurements from several seeds: every one as a dot, their mean and spread beside it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seqattn.plots.style import INK, PALETTE, import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_distributions", "plot_spread"]

Rows = Sequence[Mapping[str, Any]]


def plot_spread(
    rows: Rows,
    value: str,
    *,
    by: str = "model",
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw one measurement of several models, trained from several seeds each.

    Each seed is a dot. The diamond is their mean and the bar reaches one standard deviation to each
    side, drawn by seaborn. The bars say how seeds scatter and not how sure a mean is: with few
    seeds, a difference within them is none to speak of.

    Parameters
    ----------
    rows : sequence of mappings
        One for each training, as :meth:`seqattn.training.Trial.row` gives them. Rows without the
        measurement are left out.
    value : str
        Name of the measurement.
    by : str
        Name of what the trainings are grouped by, in the order in which it comes.
    label : str, optional
        Of the axis, with its unit; ``value`` if not given.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If no row has the measurement.
    ImportError
        If matplotlib or seaborn is missing.

    Examples
    --------
    >>> rows = [{"model": m, "bleu": b} for m, b in (("a", 30.0), ("a", 32.0), ("b", 35.0))]
    >>> ax = plot_spread(rows, "bleu", label="BLEU")
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_yticklabels()]
    ('BLEU', ['a', 'b'])
    """
    seaborn, table, order = _prepare(rows, value, by)
    if ax is None:
        height = 1.2 + 0.45 * len(order)
        _, ax = import_pyplot().subplots(figsize=(5.8, height), layout="constrained")
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(order))]
    common = {"data": table, "x": value, "y": by, "order": order, "hue": by, "hue_order": order,
              "palette": colours, "legend": False, "orient": "h", "ax": ax}  # fmt: skip
    seaborn.stripplot(**common, size=6, alpha=0.65, jitter=False)
    seaborn.pointplot(
        **common, errorbar="sd", capsize=0.25, marker="D", markersize=6, linestyle="none",
        err_kws={"linewidth": 1.5, "color": INK},
    )  # fmt: skip
    ax.set(xlabel=value if label is None else label, ylabel="")
    ax.grid(True, axis="x")
    return ax


def plot_distributions(
    values: Mapping[str, Any],
    *,
    label: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how a number is distributed in several groups, as cumulative curves (by seaborn).

    A curve says for each number which share of the group is at or below it: no bins to choose.

    Parameters
    ----------
    values : mapping from name to sequence of float
        The groups. NaN are left out.
    label : str
        Of the horizontal axis, with its unit.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If there is no number at all.
    ImportError
        If matplotlib or seaborn is missing.

    Examples
    --------
    >>> ax = plot_distributions({"a": [0.0, 0.5, 1.0], "b": [0.2, 0.3]}, label="weight")
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('weight', ['a', 'b'])
    """
    rows = [
        {"value": float(number), "group": name}
        for name, numbers in values.items()
        for number in numbers
        if float(number) == float(number)
    ]
    seaborn, table, order = _prepare(rows, "value", "group")
    if ax is None:
        _, ax = import_pyplot().subplots(layout="constrained")
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(order))]
    seaborn.ecdfplot(table, x="value", hue="group", hue_order=order, palette=colours, ax=ax)
    ax.set(xlabel=label, ylabel="share at or below")
    legend = ax.get_legend()
    if legend is not None:
        legend.set_title("")
    return ax


def _prepare(rows: Rows, value: str, by: str) -> tuple[Any, dict[str, list[Any]], list[str]]:
    """Give seaborn, the table that it takes, and the groups in their order."""
    import_pyplot()
    try:
        import seaborn
    except ImportError as error:
        raise ImportError('this figure needs seaborn: pip install "seqattn[viz]"') from error
    known = [row for row in rows if row.get(value) is not None]
    if not known:
        raise ValueError(f"none of {len(rows)} rows has {value!r}; expected at least one")
    table = {name: [row[name] for row in known] for name in (value, by)}
    return seaborn, table, list(dict.fromkeys(table[by]))
