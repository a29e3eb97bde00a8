"""Heads side by side, and coverage as a chart."""

import pytest
import torch
from matplotlib import colors, pyplot

from seqattn.plots import BLUE, GREY, ORANGE, plot_coverage, plot_heads

SOURCE, TARGET = ["the", "cat", "sat"], ["le", "chat"]


def test_each_head_has_its_map_and_its_entropy():
    weights = torch.stack([torch.eye(3)[:2], torch.full((2, 3), 1 / 3)])
    panels = plot_heads(weights, SOURCE, TARGET)
    assert [p.get_title() for p in panels] == ["head 1: entropy 0%", "head 2: entropy 100%"]
    for panel, expected in zip(panels, weights):
        drawn = torch.tensor(panel.collections[0].get_array()).view(2, 3)
        torch.testing.assert_close(drawn.float(), expected, atol=1e-6, rtol=0)
    limits = {tuple(p.collections[0].get_clim()) for p in panels}
    assert limits == {(0.0, 1.0)}


def test_heads_fill_lines_and_leave_no_empty_frame():
    panels = plot_heads(torch.full((5, 2, 3), 1 / 3), SOURCE, TARGET, columns=2)
    assert len(panels) == 5
    assert panels[0].figure.axes == panels


def test_bars_are_totals_and_their_colour_says_under_and_over():
    weights = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.6, 0.0]])
    ax = plot_coverage(weights, SOURCE)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([2.4, 0.6, 0.0])
    found = [bar.get_facecolor() for bar in ax.patches]
    assert found == [colors.to_rgba(c) for c in (ORANGE, BLUE, GREY)]
    assert [label.get_text() for label in ax.get_xticklabels()] == SOURCE


def test_other_shapes_are_refused(unchecked):
    with pytest.raises(ValueError, match="len"):
        plot_heads(torch.full((2, 3, 3), 1 / 3), SOURCE, TARGET)
    with pytest.raises(ValueError, match=r"\(target, len\(source\)\)"):
        plot_coverage(torch.full((2, 2), 0.5), SOURCE)


def test_coverage_goes_on_the_axes_that_it_is_given():
    _, ax = pyplot.subplots()
    assert plot_coverage(torch.full((2, 3), 1 / 3), SOURCE, ax=ax) is ax
