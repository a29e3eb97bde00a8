"""Stored figures: the same at each run, in colours of the page, put into it with their words."""

import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import torch
from docutils import nodes
from matplotlib.colors import to_hex, to_rgb
from sphinx.errors import ExtensionError

from seqattn import plot_attention
from seqattn.plots import (
    name_lines,
    plot_distributions,
    plot_masked,
    plot_spread,
    plot_translator,
    plot_weights,
    style,
    use_style,
)  # fmt: skip
from seqattn.plots.svg import figure_png, figure_svg
from tests.plots.test_maps_and_charts import contrast
from tools import plots_ext
from tools.notebooks import CHAPTERS

SVG = "{http://www.w3.org/2000/svg}"
ASSETS = Path(__file__).resolve().parents[2] / "_assets"
WORDS = ["le", "chat", "dort", "<eos>"]
COLUMN = 336  # pixels that a page 390 wide leaves to a figure in a fold
TEXT_COLOURS = [*style.PALETTE, style.INK, *(getattr(style, name) for name in (
    "QUERY", "KEYS", "VALUES", "SCORES", "WEIGHTS", "CONTEXT"))]  # fmt: skip


@pytest.fixture(autouse=True)
def _styled():
    plt.switch_backend("Agg")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        use_style()
        yield


def maps():
    _, panels = plt.subplots(1, 3, figsize=(8.4, 3.6))
    for panel in panels:
        weights = torch.rand(4, 5).softmax(-1)
        mask = torch.ones(4, 5, dtype=torch.bool).tril(3)
        plot_attention(weights * mask, list("abcde"), WORDS, ax=panel, mask=mask, links=[(1, 1)])


def lines():
    _, ax = plt.subplots()
    for name in ("Adam", "gradient descent"):
        ax.semilogy([1, 2, 3], torch.rand(3) + 0.1, "s-", label=name)
    ax.fill_between([1, 2, 3], 0.1, 1, alpha=0.2, lw=0)
    ax.set(xlabel="$s_{t-1}$", title="Two\nlines")
    name_lines(ax)


FIGURES = {
    "diagram": lambda: plot_translator(["the", "cat"], WORDS, bidirectional=True, training=True),
    "maps": maps,
    "lines": lines,
    "scale": lambda: plot_attention(torch.eye(4), WORDS, WORDS),
    "masked": lambda: plot_masked([[0.5, float("nan"), 0.5]], [True, True, False]),
    "bars": lambda: plot_weights({"a": torch.eye(4)[0], "b": torch.eye(4)[1]}, WORDS),
    "dots": lambda: plot_spread([{"model": "a", "bleu": b} for b in (30.0, 33.0)], "bleu"),
    "steps": lambda: plot_distributions({"a": [0.1, 0.5, 0.9], "b": [0.2, 0.3]}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_stored_twice_the_same_in_colours_of_the_page(name):
    def stored():
        torch.manual_seed(0)
        FIGURES[name]()
        figure = plt.gcf()
        before = [*figure.get_size_inches(), figure.dpi]
        found = figure_svg(figure), figure_png(figure)
        assert [*figure.get_size_inches(), figure.dpi] == before
        plt.close(figure)
        return found

    text, picture = stored()
    assert stored() == (text, picture)
    root = ElementTree.fromstring(text)
    assert [child.get("class") for child in root] == ["paper", "wide", "narrow"]
    used = {value for element in root.iter() for value in element.attrib}
    assert not used & {"id", "style", "clip-path", "href"}
    drawn = plots_ext.inline(text, 'what "it" shows')
    assert not re.findall(r'="#', drawn)
    assert 'aria-label="what &quot;it&quot; shows"' in drawn
    assert len(text) < 60_000


def test_a_phone_gets_letters_of_the_same_size_and_panels_below_each_other():
    maps()
    _, wide, narrow = ElementTree.fromstring(figure_svg(plt.gcf()))
    assert float(wide.get("width")) == style.WIDE
    assert float(narrow.get("width")) <= style.NARROW
    assert float(narrow.get("height")) > 2 * float(wide.get("height"))
    sizes = [
        min(float(t.get("font-size", 14)) for t in svg.iter(f"{SVG}text")) for svg in (wide, narrow)
    ]
    assert min(sizes) >= 9


@pytest.mark.parametrize("path", sorted(CHAPTERS.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_no_letter_of_a_stored_figure_is_small_on_a_phone(path):
    notebook = nbformat.read(path, as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    stored = [o.data["image/svg+xml"] for o in outputs if "image/svg+xml" in o.get("data", ())]
    assert stored
    for figure in stored:
        _, _, narrow = ElementTree.fromstring(figure)
        # A drawing that is wider than the column is shrunk to it, and its letters with it.
        shrunk = min(1, COLUMN / float(narrow.get("width")))
        for part in narrow.iter():
            if (size := part.get("font-size")) is not None:
                letters = "".join(part.itertext())
                least = 8.5 if part.tag == f"{SVG}tspan" else 9.5  # an index may be smaller
                assert float(size) * shrunk >= least, letters


def test_what_has_a_colour_of_its_own_or_no_words_stops_the_build(tmp_path):
    app = SimpleNamespace(srcdir=tmp_path, env=SimpleNamespace(docname="page"))
    plt.plot([1, 2], color="#123456")
    (tmp_path / "own.svg").write_text(figure_svg(plt.gcf()), encoding="utf-8")
    plt.close()
    lines()
    (tmp_path / "fine.svg").write_text(figure_svg(plt.gcf()), encoding="utf-8")

    def build(uri, alt):
        page = nodes.container("", nodes.image(uri=uri, alt=alt))
        plots_ext.put_figures_into_the_text(app, page)
        return page.astext(), page.children

    with pytest.raises(ExtensionError, match=r"page: own\.svg has no text alternative"):
        build("own.svg", " ")
    with pytest.raises(ExtensionError, match="has the colour '#123456'"):
        build("own.svg", "A line.")
    (figure,) = build("fine.svg", "Two lines.")[1]
    assert isinstance(figure, nodes.raw)
    assert 'aria-label="Two lines."' in figure.astext()


def theme(name):
    """Give the variables of a theme, from the style sheets."""
    sheets = [(ASSETS / sheet).read_text() for sheet in ("seqattn.css", "plots.css")]
    text = "".join(sheet.partition("@media print")[0] for sheet in sheets)
    light = re.findall(r'html, html\[data-theme="light"\] \{(.*?)\}', text, re.DOTALL)
    light += re.findall(r"html\[data-theme\] \{(.*?)\}", text, re.DOTALL)
    dark = re.findall(r'html\[data-theme="dark"\] \{(.*?)\}', text, re.DOTALL)
    blocks = light if name == "light" else light + dark
    found = re.findall(r"--sa-([\w-]+): (#\w+)", "".join(blocks))
    return {variable: to_hex(colour) for variable, colour in found}


@pytest.mark.parametrize("name", ["light", "dark"])
def test_figures_can_be_read_in_both_themes(name):
    known = theme(name)
    ground = known["ground"]
    for colour in TEXT_COLOURS:
        assert contrast(known[style.ON_PAGE[colour]], ground) >= 4.5, style.ON_PAGE[colour]
    if name == "light":  # what is stored is what the page shows
        for colour, variable in style.ON_PAGE.items():
            assert contrast(colour, known[variable]) < 1.02, variable
    stops = [style._oklab(known[stop]) for stop in ("ground", "map-mid", "map-high")]
    for weight in np.linspace(0, 1, 101):
        share = 2 * style._share(weight)
        part = int(min(share, 1.999))
        cell = style._from_oklab(stops[part] + (share - part) * (stops[part + 1] - stops[part]))
        if name == "light":
            assert (
                np.abs(np.subtract(to_rgb(cell), to_rgb(style.weight_colours()(weight)))).max()
                < 0.01
            )
        number = known[style.ON_PAGE[style.on_cell(weight)]]
        assert contrast(number, cell) >= 4.5, (weight, cell)


def test_a_line_leaves_out_what_no_eye_sees():
    _, ax = plt.subplots()
    steps = np.linspace(0, 1, 2000)
    ax.step(steps, steps)
    drawing = figure_svg(ax.figure).split("</svg>")[0]
    line = max(re.findall(r'<path[^>]* d="([^"]*)"', drawing), key=len)
    assert len(line) < 8000  # of 30,000 letters
    points = np.array(re.findall(r"-?[\d.]+", line), float).reshape(-1, 2)
    (x0, y0), (x1, y1) = points[0], points[-1]
    straight = y0 + (points[:, 0] - x0) * (y1 - y0) / (x1 - x0)
    assert np.abs(points[:, 1] - straight).max() < 1  # pixel


def test_a_legend_stands_above_the_first_panel():
    figure, panels = plt.subplots(1, 3)
    panels[2].plot([0, 1], label="named")
    name_lines(panels[2])
    assert panels[0].get_legend()
    assert not panels[2].get_legend()
    assert [text.get_text() for text in panels[2].texts] == ["named"]
    plt.close(figure)
