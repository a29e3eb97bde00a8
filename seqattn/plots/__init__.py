"""Attention maps and weight charts in the one style of the course (needs ``seqattn[viz]``).

A function that draws one picture draws on an Axes, its own or yours, and returns it; one that draws
several returns a list of Axes. None shows or stores anything.
Importing this package needs no matplotlib; drawing does.
"""

from seqattn.plots.charts import plot_statistics, plot_weights
from seqattn.plots.coverage import plot_coverage, plot_coverage_curve
from seqattn.plots.defaults import use_style
from seqattn.plots.diagrams import (
    plot_masked,
    plot_sum_of_arrows,
    plot_transformer,
    plot_translator,
)
from seqattn.plots.entropy import plot_entropy_curve
from seqattn.plots.grids import plot_heads
from seqattn.plots.maps import plot_attention
from seqattn.plots.progress import plot_bleu_by_length, plot_error_rate
from seqattn.plots.spread import plot_distributions, plot_spread
from seqattn.plots.style import (
    BLUE,
    CONTEXT,
    GREEN,
    GREY,
    GROUND,
    INK,
    KEYS,
    ORANGE,
    PALETTE,
    PINK,
    QUERY,
    SCORES,
    VALUES,
    WEIGHTS,
    name_lines,
)
from seqattn.plots.tables import ResultTable, experiment_card

__all__ = [
    "BLUE",
    "CONTEXT",
    "GREEN",
    "GREY",
    "GROUND",
    "INK",
    "KEYS",
    "ORANGE",
    "PALETTE",
    "PINK",
    "QUERY",
    "SCORES",
    "VALUES",
    "WEIGHTS",
    "ResultTable",
    "experiment_card",
    "name_lines",
    "plot_attention",
    "plot_bleu_by_length",
    "plot_coverage",
    "plot_coverage_curve",
    "plot_distributions",
    "plot_entropy_curve",
    "plot_error_rate",
    "plot_heads",
    "plot_masked",
    "plot_spread",
    "plot_statistics",
    "plot_sum_of_arrows",
    "plot_transformer",
    "plot_translator",
    "plot_weights",
    "use_style",
]
