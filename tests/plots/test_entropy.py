"""Entropy by position, as a curve."""

import numpy as np
import pytest
import torch
from matplotlib import colors

from seqattn import padding_mask
from seqattn.plots import ORANGE, plot_entropy_curve


def test_the_entropy_curve_is_the_median_and_its_band_the_middle_half():
    shares = torch.tensor([0.5, 0.6, 0.7, 0.8, 0.9])
    weights = torch.stack([shares, 1 - shares], -1)[:, None].expand(-1, 4, -1)
    ax = plot_entropy_curve(weights, label="additive", color=ORANGE)

    def entropy(p):
        return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))

    (line,) = ax.lines
    assert line.get_xdata().tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(line.get_ydata(), entropy(0.7), atol=1e-6)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose([band.min(), band.max()], entropy(np.array([0.8, 0.6])), atol=1e-6)
    assert colors.to_rgba(line.get_color()) == colors.to_rgba(ORANGE)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["additive"]


def test_sentences_count_as_far_as_they_reach():
    weights = torch.full((4, 5, 3), 1 / 3)
    weights[0] = torch.eye(3)[0]
    real = padding_mask(torch.tensor([5, 4, 3, 3]))
    ax = plot_entropy_curve(weights, real[:, :, None].expand(-1, -1, 3))
    # Only two sentences reach the fourth position.
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 1.0, atol=1e-6)
    assert plot_entropy_curve(weights, ax=ax) is ax
    assert len(ax.lines) == 2
    assert ax.get_legend() is None


def test_too_few_sentences_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 3, 4\).*expected a batch of at least three"):
        plot_entropy_curve(torch.full((2, 3, 4), 0.25))
