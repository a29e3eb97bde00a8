"""Coverage of the source, as bars and as curves."""

import numpy as np
import pytest
import torch
from matplotlib import colors, pyplot

from seqattn.plots import BLUE, GREY, ORANGE, plot_coverage, plot_coverage_curve

SOURCE = ["the", "cat", "sat"]
every_chart = pytest.mark.parametrize("draw", [plot_coverage, plot_coverage_curve])


def test_bars_are_totals_and_their_colour_says_under_and_over():
    weights = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.6, 0.0]])
    ax = plot_coverage(weights, SOURCE)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([2.4, 0.6, 0.0])
    found = [bar.get_facecolor() for bar in ax.patches]
    assert found == [colors.to_rgba(c) for c in (ORANGE, BLUE, GREY)]
    assert [label.get_text() for label in ax.get_xticklabels()] == SOURCE


def test_coverage_adds_up_and_names_what_is_over_and_under():
    weights = torch.tensor([[0.8, 0.2, 0.0], [1.0, 0.0, 0.0], [0.2, 0.75, 0.05], [0.9, 0.1, 0.0]])
    ax = plot_coverage_curve(weights, SOURCE)
    *lines, share = ax.lines
    for column, line in enumerate(lines):
        expected = np.concatenate([[0], weights[:, column].numpy().cumsum()])
        np.testing.assert_allclose(line.get_ydata(), expected, atol=1e-6)
    found = [colors.to_rgba(line.get_color()) for line in lines]
    assert found == [colors.to_rgba(c) for c in (ORANGE, BLUE, GREY)]
    assert [text.get_text() for text in ax.texts] == ["the", "sat"]
    np.testing.assert_allclose(share.get_ydata(), [0, 4 / 3])


@every_chart
def test_coverage_goes_on_the_axes_that_it_is_given(draw):
    _, ax = pyplot.subplots()
    assert draw(torch.full((2, 3), 1 / 3), SOURCE, ax=ax) is ax


@every_chart
def test_a_map_of_another_size_is_refused(draw, unchecked):
    with pytest.raises(ValueError, match=r"\(target, len\(source\)\)"):
        draw(torch.full((2, 2), 0.5), SOURCE)
