"""Figures of a run: the error rate over the updates, BLEU over the length."""

import numpy as np
import pytest
from matplotlib import colors

from seqattn.evaluation import LengthScore
from seqattn.plots import BLUE, ORANGE, plot_bleu_by_length, plot_error_rate

LOG = [
    {"kind": "valid", "step": 20, "aer": 0.7, "aer_rows": 0.8},
    {"kind": "train", "step": 50, "loss": 1.0},
    {"kind": "valid", "step": 300, "aer": 0.12, "aer_rows": 0.25},
    {"kind": "average", "step": 300, "aer": 0.1, "aer_rows": 0.2},
]


def test_the_error_rate_falls_over_the_updates_towards_the_baselines():
    ax = plot_error_rate(LOG, baselines={"IBM Model 1": 0.15}, label="attention", color=ORANGE)
    curve, line = ax.lines
    np.testing.assert_allclose(curve.get_xydata(), [[20, 70], [300, 12]])
    assert colors.to_rgba(curve.get_color()) == colors.to_rgba(ORANGE)
    assert set(line.get_ydata()) == {15.0}
    assert [text.get_text() for text in ax.texts] == ["IBM Model 1"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["attention"]
    assert (ax.get_xscale(), ax.get_ylim()[0]) == ("log", 0)
    assert plot_error_rate(LOG, which="aer_rows", ax=ax) is ax
    np.testing.assert_allclose(ax.lines[2].get_ydata(), [80, 25])


@pytest.mark.parametrize("log", [[], [{"kind": "valid", "step": 5, "aer": None}], LOG[1:2]])
def test_a_log_without_error_rates_is_refused(log):
    with pytest.raises(ValueError, match=f"no validation with 'aer' among {len(log)} records"):
        plot_error_rate(log)


def test_every_translator_has_its_line_over_the_lengths():
    groups = [LengthScore(3, 5, 7, 90.0), LengthScore(6, 10, 9, 60.0)]
    ax = plot_bleu_by_length({"attention": groups, "fixed": groups[:1]}, trained_to=12)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[4, 90], [8, 60]])
    np.testing.assert_allclose(ax.lines[1].get_xydata(), [[4, 90]])
    found = [colors.to_rgba(line.get_color()) for line in ax.lines[:2]]
    assert found == [colors.to_rgba(BLUE), colors.to_rgba(ORANGE)]
    assert set(ax.lines[2].get_xdata()) == {12.5}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["attention", "fixed"]
    assert plot_bleu_by_length({"other": groups}, ax=ax) is ax
    assert len(ax.lines) == 4


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="no scores by length"):
        plot_bleu_by_length({"fixed": []})
