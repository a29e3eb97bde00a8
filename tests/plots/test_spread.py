"""Plots of several seeds: every dot is there, means and spreads are those of the numbers."""

import statistics
import sys

import numpy as np
import pytest

from seqattn.plots import plot_distributions, plot_spread

VALUES = {"luong": [30.0, 32.0, 37.0], "bahdanau": [31.0, 31.5, 32.5], "fixed": [9.0]}
ROWS = [{"model": m, "seed": s, "bleu": b} for m, v in VALUES.items() for s, b in enumerate(v)]


def test_every_seed_is_a_dot_and_the_bar_is_mean_and_standard_deviation():
    ax = plot_spread([*ROWS, {"model": "fixed", "bleu": None}], "bleu", label="BLEU")
    dots = [c.get_offsets()[:, 0].tolist() for c in ax.collections if len(c.get_offsets())]
    assert dots == list(VALUES.values())
    assert [text.get_text() for text in ax.get_yticklabels()] == list(VALUES)
    means = [float(np.nanmax(line.get_xdata())) for line in ax.lines if line.get_marker() == "D"]
    assert means == pytest.approx([statistics.mean(v) for v in VALUES.values()])
    ends = [line.get_xdata() for line in ax.lines if line.get_marker() != "D"]
    ends = [np.asarray(e, float) for e in ends if np.isfinite(np.asarray(e, float)).any()]
    found = sorted({round(float(np.nanmin(e)), 6) for e in ends})
    for values in (VALUES["luong"], VALUES["bahdanau"]):
        low = statistics.mean(values) - statistics.stdev(values)
        assert any(abs(low - other) < 1e-5 for other in found)
    assert ax.get_xlabel() == "BLEU"


def test_a_measurement_that_no_row_has_is_named():
    with pytest.raises(ValueError, match="none of 7 rows has 'memory'"):
        plot_spread(ROWS, "memory")


def test_a_cumulative_curve_reaches_every_number_in_order():
    ax = plot_distributions({"a": [0.1, 0.3, 0.3, float("nan")], "b": [0.2]}, label="weight")
    curves = {len(line.get_xdata()): line for line in ax.lines}
    assert sorted(curves[4].get_xdata()[1:]) == [0.1, 0.3, 0.3]
    assert curves[4].get_ydata()[-1] == 1.0
    assert ax.get_ylabel() == "share at or below"


def test_they_are_drawn_where_they_are_asked_to_be():
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2)
    assert plot_spread(ROWS, "bleu", ax=left) is left
    assert plot_distributions({"a": [0.1]}, ax=right) is right
    assert len(plt.get_fignums()) == 1


def test_without_seaborn_what_to_install_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "seaborn", None)
    with pytest.raises(ImportError, match=r"needs seaborn: pip install \"seqattn\[viz\]\""):
        plot_spread(ROWS, "bleu")
