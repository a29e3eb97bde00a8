"""Diagrams: what is drawn, read back from the figure."""

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba
from torch import nn

from seqattn import MultiHeadAttention
from seqattn.data import TINY
from seqattn.models import Transformer
from seqattn.plots import (
    CONTEXT,
    WEIGHTS,
    plot_masked,
    plot_sum_of_arrows,
    plot_transformer,
    plot_translator,
)

SOURCE, TARGET = ["the", "old", "cat"], ["le", "vieux", "chat", "dort", "<eos>"]


def texts(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def arrows(ax):
    """Number of arrows: annotations without a text."""
    return sum(text.get_text() == "" for text in ax.texts)


def test_one_vector_feeds_every_step():
    ax = plot_translator(SOURCE, TARGET, title="one")
    shown = texts(ax)
    assert [t for t in shown if t.startswith("$")] == [
        *(f"$h_{{{i}}}$" for i in (1, 2, 3)), "$c$", *(f"$s_{{{t}}}$" for t in range(1, 6))
    ]  # fmt: skip
    assert {*SOURCE, *TARGET, "context", "translation"} <= set(shown)
    # Words in 3, between states 2 + 4, to c 1, from c 5, words out 5, fed back 4.
    assert arrows(ax) == 3 + 2 + 4 + 1 + 5 + 5 + 4
    assert ax.get_title(loc="left") == "one" or ax.get_title() == "one"


def test_both_directions_end_in_the_context():
    # A second arrow between neighbours, and one from the first state to c.
    one, both = (plot_translator(SOURCE, TARGET, bidirectional=b) for b in (False, True))
    assert arrows(both) - arrows(one) == 2 + 1


def test_training_feeds_the_reference_and_sends_a_gradient_back():
    ax = plot_translator(SOURCE, TARGET, training=True)
    assert {"reference", "gradient"} < set(texts(ax))
    assert "translation" not in texts(ax)
    assert arrows(ax) - arrows(plot_translator(SOURCE, TARGET)) == len(TARGET) + 1


def test_weights_are_lines_between_every_two_states_as_thick_as_they_are_large():
    weights = torch.rand(5, 3, generator=torch.Generator().manual_seed(0)).softmax(-1)
    ax = plot_translator(SOURCE, TARGET, weights=weights)
    assert "$c$" not in texts(ax)
    lines = [line for line in ax.lines if to_rgba(line.get_color()) == to_rgba(WEIGHTS)]
    widths = torch.tensor([line.get_linewidth() for line in lines])
    assert torch.equal(widths.argsort(), weights.flatten().argsort())
    with pytest.raises(ValueError, match=r"\(5, 3\)"):
        plot_translator(SOURCE, TARGET, weights=weights.T)


def test_an_empty_sentence_is_refused():
    with pytest.raises(ValueError, match="0 source and 5 target words"):
        plot_translator([], TARGET)


def test_a_transformer_is_drawn_with_the_parts_that_the_default_has():
    model = Transformer(11, 13, layers=1)

    def parts(kind):
        return sum(isinstance(module, kind) for module in model.modules())

    shown = texts(plot_transformer(title="whole"))
    assert model.decoder[0].pre_norm
    assert shown.count("norm") == parts(nn.LayerNorm)
    assert sum("attention" in text for text in shown) == parts(MultiHeadAttention)
    assert shown.count("feed-forward") == parts(nn.Sequential)
    assert shown.count("embedding") == parts(nn.Embedding)
    # What each sub-layer makes is added to what it read, and positions to both embeddings.
    assert shown.count("+") == parts(MultiHeadAttention) + parts(nn.Sequential) + 2
    # Cross-attention gets keys and values from the encoder.
    assert [shown.count(f"${letter}$") for letter in "qkv"] == [3, 3, 3]
    assert {"causal\nmask", "padding\nmask", "positional\nencoding", "softmax"} < set(shown)


def test_shortened_arrows_end_at_the_context():
    weights = torch.tensor([0.5, 0.25, 0.25]).double()
    ax = plot_sum_of_arrows(weights, TINY.h, TINY.words)
    (dot,) = (line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(dot.get_xydata()[0], weights @ TINY.h)
    assert to_rgba(dot.get_color()) == to_rgba(CONTEXT)
    assert {*TINY.words, "0.50", "0.25"} < set(texts(ax))
    with pytest.raises(ValueError, match=r"expected \(3, 2\)"):
        plot_sum_of_arrows(weights, TINY.h.T, TINY.words)
    with pytest.raises(ValueError, match="no attention weights"):
        plot_sum_of_arrows([1.0, 1.0, 1.0], TINY.h, TINY.words)


def test_a_grid_of_weights_shows_what_a_wrong_mask_made():
    weights = torch.tensor([[0.5, 0.25, 0.25], [float("nan"), 1.0, 0.0]])
    ax = plot_masked(weights, torch.tensor([True, True, False]))
    assert texts(ax) == [".50", ".25", ".25", "NaN", "1", "0"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "pad"]
    assert sum(patch.get_hatch() is not None for patch in ax.patches) == 2
    with pytest.raises(ValueError, match="one flag for each key"):
        plot_masked(weights, [True, False])


def test_weights_may_have_a_gradient_and_half_the_bits():
    weights = torch.tensor([0.5, 0.25, 0.25], dtype=torch.bfloat16, requires_grad=True)
    ax = plot_sum_of_arrows(weights, TINY.h.to(torch.bfloat16), TINY.words)
    assert ax.texts[-1].get_text().startswith("context")
