"""Heads side by side."""

import pytest
import torch

from seqattn.plots import plot_heads

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


def test_other_shapes_are_refused(unchecked):
    with pytest.raises(ValueError, match="len"):
        plot_heads(torch.full((2, 3, 3), 1 / 3), SOURCE, TARGET)
