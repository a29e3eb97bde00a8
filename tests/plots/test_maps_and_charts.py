"""Attention maps and charts: what is drawn, read back from the figure."""

import builtins
import itertools

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle

from seqattn import attention_entropy, masked_softmax, plot_attention
from seqattn.plots import INK, ORANGE, PALETTE, plot_statistics, plot_weights, use_style
from seqattn.plots.style import weight_colours

SOURCE = ["the", "cat", "sat", "on", "mats"]
TARGET = ["le", "chat", "assis"]


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    import matplotlib
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a figure was shown"))
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield


@pytest.fixture
def weights():
    return torch.randn(3, 5).softmax(-1)


def cells_of(ax):
    (mesh,) = ax.collections
    return mesh


def boxes(ax, **wanted):
    found = [p for p in ax.patches if isinstance(p, Rectangle)]
    return [p for p in found if all(getattr(p, f"get_{k}")() == v for k, v in wanted.items())]


def luminance(colour):
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(channels, [0.2126, 0.7152, 0.0722]))


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_rows_are_target_words_from_the_top_and_columns_source_words(weights):
    ax = plot_attention(weights, SOURCE, TARGET)
    np.testing.assert_allclose(cells_of(ax).get_array(), weights)
    assert [t.get_text() for t in ax.get_xticklabels()] == SOURCE
    assert [t.get_text() for t in ax.get_yticklabels()] == TARGET
    assert ax.get_xlim() == (0, 5)
    assert ax.get_ylim() == (3, 0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("source", "target")


def test_the_scale_is_fixed_so_that_noise_is_not_blown_up():
    nearly_uniform = 0.2 + 0.001 * torch.tensor([[1.0, -1, 0, 0, 0]]).expand(3, -1)
    assert cells_of(plot_attention(nearly_uniform, SOURCE, TARGET)).get_clim() == (0, 1)
    shaded = plot_attention(nearly_uniform, SOURCE, TARGET, vmin=0.1, vmax=0.4)
    assert cells_of(shaded).get_clim() == (0.1, 0.4)


@pytest.mark.parametrize("shape", [(5, 3), (2, 5), (4, 5), (3, 6), (1, 3, 5), (15,)])
def test_a_map_that_does_not_fit_its_words_is_refused(shape, unchecked):
    expected = r"expected \(len\(target\), len\(source\)\) = \(3, 5\)"
    with pytest.raises(ValueError, match=expected):
        plot_attention(torch.zeros(shape), SOURCE, TARGET)


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan"), float("inf")])
def test_numbers_that_are_no_weights_are_refused(weights, bad):
    weights[1, 2] = bad
    with pytest.raises(ValueError, match="these are no attention weights"):
        plot_attention(weights, SOURCE, TARGET)


def test_rows_of_zeros_and_rows_below_one_are_drawn():
    plot_attention(torch.tensor([[0.0] * 5, [0.1] * 5, [0.2] * 5]), SOURCE, TARGET)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_any_dtype_with_or_without_gradient(weights, dtype):
    plot_attention(weights.to(dtype).requires_grad_(), SOURCE, TARGET)
    plot_attention(weights.numpy(), SOURCE, TARGET)


def test_links_outline_their_cells(weights):
    ax = plot_attention(weights, SOURCE, TARGET, links={(4, 0), (1, 2)})
    outlined = boxes(ax, fill=False)
    centres = {tuple(np.round(box.get_center(), 6)) for box in outlined}
    assert centres == {(4.5, 0.5), (1.5, 2.5)}
    assert {to_hex(box.get_edgecolor()) for box in outlined} == {ORANGE}


@pytest.mark.parametrize("link", [(5, 0), (0, 3), (-1, 0)])
def test_links_outside_the_map_are_refused(weights, link):
    with pytest.raises(ValueError, match=r"lies outside 5 source and 3 target words"):
        plot_attention(weights, SOURCE, TARGET, links=[link])


def test_forbidden_cells_are_hatched_and_carry_no_colour_and_no_number():
    mask = torch.ones(3, 5).tril().bool()
    weights = masked_softmax(torch.randn(1, 3, 5), mask[None])[0]
    ax = plot_attention(weights, SOURCE, TARGET, mask=mask, annotate=True)
    hatched = {tuple(map(int, box.get_xy())) for box in boxes(ax, hatch="////")}
    assert hatched == {(k, q) for q in range(3) for k in range(5) if not mask[q, k]}
    assert cells_of(ax).get_array().mask.tolist() == (~mask).tolist()
    assert len(ax.texts) == mask.sum()


def test_a_mask_over_source_words_holds_for_every_row(weights):
    mask = torch.tensor([True, True, True, True, False])
    ax = plot_attention(weights * mask, SOURCE, TARGET, mask=mask)
    assert len(boxes(ax, hatch="////")) == 3


def test_a_mask_that_does_not_fit_is_refused(weights):
    with pytest.raises(ValueError, match=r"expected \(target, source\) = \(3, 5\) or \(source,\)"):
        plot_attention(weights, SOURCE, TARGET, mask=torch.ones(3).bool())


def test_a_mask_that_is_not_boolean_is_refused(weights, unchecked):
    with pytest.raises(TypeError, match=r"mask has dtype torch\.int64; expected"):
        plot_attention(weights, SOURCE, TARGET, mask=torch.ones(3, 5, dtype=torch.long))


def test_numbers_are_printed_only_where_they_are_legible(weights):
    assert len(plot_attention(weights, SOURCE, TARGET).texts) == 15
    assert not plot_attention(weights, SOURCE, TARGET, annotate=False).texts
    long = ["word"] * 9
    crowded = torch.full((9, 9), 1 / 9)
    assert not plot_attention(crowded, long, long).texts
    assert len(plot_attention(crowded, long, long, annotate=True).texts) == 81


def test_printed_numbers_stand_in_their_cell_and_contrast_with_it():
    ramp = torch.linspace(0, 1, 8)[:, None]
    ax = plot_attention(ramp, ["x"], [str(i) for i in range(8)], annotate=True)
    for i, text in enumerate(ax.texts):
        assert text.get_text() == f"{ramp[i, 0]:.2f}"
        assert text.get_position() == (0.5, i + 0.5)
        assert contrast(text.get_color(), weight_colours()(float(ramp[i, 0]))) >= 4


def test_colours_can_be_told_apart_and_read():
    shades = [luminance(weight_colours()(x)) for x in np.linspace(0, 1, 21)]
    assert all(b < a for a, b in itertools.pairwise(shades))  # also in greyscale
    assert all(contrast(colour, "white") >= 4.5 for colour in (*PALETTE, INK))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("word", ["$5 to $9", "_x_", r"\alpha", "%", "▁the", "ключ", "λόγος", ""])
def test_words_are_shown_as_they_are(word):
    for ax in (
        plot_attention(torch.ones(1, 1), [word], [word]),
        plot_weights(torch.ones(1), [word]),
        plot_statistics(torch.ones(1, 1), [word])[-1],
    ):
        ax.figure.canvas.draw()
        (label,) = ax.get_xticklabels()
        assert label.get_text() == word
        assert not label.get_parse_math()


@pytest.mark.parametrize("length", [1, 6, 40, 100])
def test_words_of_any_sentence_fit_beside_their_cells_and_inside_the_figure(length):
    use_style()
    words = [f"word{i}" for i in range(length)]
    ax = plot_attention(torch.full((length, length), 1 / length), words, words, title="A map")
    ax.figure.canvas.draw()
    cell = ax.get_window_extent().height / length
    assert all(t.get_window_extent().height <= 1.35 * cell for t in ax.get_yticklabels())
    whole = ax.figure.bbox
    drawn = ax.get_tightbbox()
    assert whole.x0 <= drawn.x0
    assert drawn.x1 <= whole.x1
    assert whole.y0 <= drawn.y0
    assert drawn.y1 <= whole.y1


def test_an_axes_that_is_given_is_used(weights):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    assert plot_attention(weights, SOURCE, TARGET, ax=left, cbar=False, title="left") is left
    assert plot_weights(weights[0], SOURCE, ax=right, title="right") is right
    assert figure.axes == [left, right]
    assert (left.get_title(), right.get_title()) == ("left", "right")
    assert plt.get_fignums() == [figure.number]


def test_the_colour_scale_may_be_left_out(weights):
    assert len(plot_attention(weights, SOURCE, TARGET).child_axes) == 1
    assert not plot_attention(weights, SOURCE, TARGET, cbar=False).child_axes


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot_attention(torch.zeros(3, 0), [], TARGET),
        lambda: plot_attention(torch.zeros(0, 5), SOURCE, []),
        lambda: plot_weights(torch.zeros(0), []),
        lambda: plot_statistics(torch.zeros(0, 5), []),
    ],
)
def test_nothing_to_draw_is_refused(draw):
    with pytest.raises(ValueError, match="there is nothing to draw"):
        draw()


def test_bars_show_the_weights_on_a_scale_from_0_to_1(weights):
    ax = plot_weights(weights[0], SOURCE)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(weights[0].tolist())
    assert ax.get_ylim() == (0, 1)
    assert ax.get_legend() is None


def test_bars_of_several_rows_stand_side_by_side_with_a_legend(weights):
    named = {"dot": weights[0], "general": weights[1], "concat": weights[2]}
    ax = plot_weights(named, SOURCE, title="Three scores")
    assert [t.get_text() for t in ax.get_legend().get_texts()] == list(named)
    for container, row, colour in zip(ax.containers, named.values(), PALETTE, strict=False):
        assert [bar.get_height() for bar in container] == pytest.approx(row.tolist())
        assert to_hex(container[0].get_facecolor()) == colour
    edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(edges))


def test_long_words_under_bars_are_slanted():
    words = ["representatives"] * 5
    ax = plot_weights(torch.full((5,), 0.2), words)
    assert {t.get_rotation() for t in ax.get_xticklabels()} == {45}


def test_bars_refuse_weights_that_do_not_fit_the_words(weights):
    with pytest.raises(ValueError, match=r"expected \(len\(words\),\) = \(3,\)"):
        plot_weights({"dot": weights[0]}, TARGET)


def test_statistics_are_those_of_diagnostics(weights):
    panels = plot_statistics(weights, TARGET)
    expected = attention_entropy(weights[None], normalized=True)[0]
    for line in panels[0].lines:
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-6)
    np.testing.assert_allclose(panels[1].lines[0].get_ydata(), weights.amax(-1))
    entropy = attention_entropy(weights[None])[0]
    np.testing.assert_allclose(panels[2].lines[0].get_ydata(), entropy.exp(), rtol=1e-6)
    assert [t.get_text() for t in panels[-1].get_xticklabels()] == TARGET


def test_statistics_count_only_what_the_mask_allows():
    mask = torch.ones(3, 3).tril().bool()
    weights = mask / mask.sum(-1, keepdim=True)
    panels = plot_statistics(weights, TARGET, mask=mask)
    np.testing.assert_allclose(panels[0].lines[0].get_ydata(), [0, 1, 1], atol=1e-6)


def test_statistics_refuse_rows_that_do_not_fit_the_words(weights):
    with pytest.raises(ValueError, match=r"expected \(len\(target\), source\) = \(2, 5\)"):
        plot_statistics(weights, TARGET[:2])


def test_a_missing_matplotlib_is_named_with_the_command_that_installs_it(weights, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    for draw in (
        lambda: plot_attention(weights, SOURCE, TARGET),
        lambda: plot_weights(weights[0], SOURCE),
        lambda: plot_statistics(weights, TARGET),
        use_style,
    ):
        with pytest.raises(ImportError, match=r'pip install "seqattn\[viz\]"'):
            draw()
