"""Places of live figures: what a page stores of them, and what it refuses."""

import json
import re
from pathlib import Path

import pytest
from ipywidgets import FloatSlider
from ipywidgets.embed import dependency_state

from seqattn.widgets import SoftmaxTemperature
from tools import figures

ROOT = Path(__file__).resolve().parents[2]


def state(widget):
    return dependency_state([widget], drop_defaults=False)


def test_a_place_holds_what_the_figure_needs_and_no_script():
    figure = SoftmaxTemperature(temperature=2.5, caption="</script> in a caption")
    made = figures.place(*figures.stored(state(figure), figure.model_id), [700, 500])
    assert 'data-figure="SoftmaxTemperature"' in made
    assert "--on-phone:700px;--on-wide:500px" in made
    data = re.search(r'<script type="application/json">(.*?)</script>', made, re.DOTALL)[1]
    traits = json.loads(data)
    assert traits["temperature"] == 2.5
    assert traits["caption"] == "</script> in a caption"
    assert not [name for name in traits if name.startswith("_")]
    # What is said of it waits, unless it asks nothing or was answered.
    assert " data-asks " in made
    answered = SoftmaxTemperature()
    answered.predicted = 1
    for told in (answered, SoftmaxTemperature(predict=False)):
        assert "data-asks" not in figures.place(*figures.stored(state(told), told.model_id))


def test_another_widget_is_refused_by_name():
    slider = FloatSlider()
    with pytest.raises(figures.UnknownWidgetError, match="FloatSlider"):
        figures.stored(state(slider), slider.model_id)


def test_views_of_a_page_become_places_in_order():
    one, two = SoftmaxTemperature(title="one"), SoftmaxTemperature(title="two")
    views = [
        f'<p>{i}</p><script type="{figures.VIEW}">{{"model_id": "{w.model_id}"}}</script>'
        for i, w in enumerate((one, two))
    ]
    models = state(one) | state(two)
    body = figures.page_with_places("".join(views), models, "no such page")
    assert figures.VIEW not in body
    assert re.findall(r'"title":"(\w+)"|<p>(\d)</p>', body) == [
        ("", "0"), ("one", ""), ("", "1"), ("two", ""),
    ]  # fmt: skip
    assert re.findall(r'<div class="sa-place" id="(.*?)"', body) == [
        "no such page-SoftmaxTemperature", "no such page-SoftmaxTemperature-2",
    ]  # fmt: skip


def test_a_stored_picture_stands_where_no_script_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "STILLS", tmp_path / "stills")
    figures.STILLS.mkdir()
    one, two = SoftmaxTemperature(title="one"), SoftmaxTemperature(title="two")
    for i, kept in enumerate((one, SoftmaxTemperature(title="another"))):
        known = figures.read(kept.get_state())
        (figures.STILLS / figures.still_name("chapters/02", i, known)).touch()
    body = figures.page_with_places(
        "".join(
            f'<script type="{figures.VIEW}">{{"model_id": "{w.model_id}"}}</script>'
            for w in (one, two)
        ),
        state(one) | state(two),
        "chapters/02",
    )
    expected = figures.still_name("chapters/02", 0, figures.read(one.get_state()))
    stills = re.findall(r'<noscript>(<img src="(.*?)" alt="(.*?)"|<p>)', body)
    assert [found[1:] for found in stills] == [
        (f"../_static/stills/{expected}", "Live figure: one"),
        ("", ""),
    ]


def test_every_picture_is_of_the_figure_as_it_is():
    """If this fails after a notebook changed: python -m tools.figure_heights."""
    wanted = {
        figures.still_name(f"chapters/{notebook.stem}", i, traits)
        for notebook in (ROOT / "chapters").glob("*.ipynb")
        for i, (_, traits) in enumerate(figures.in_notebook(notebook))
    }
    assert len(wanted) > 40
    assert {path.name for path in figures.STILLS.iterdir()} == wanted


def test_each_script_names_what_it_uses_of_the_shared_one(tmp_path):
    figures.write_scripts(tmp_path)
    shared = (tmp_path / "figures" / "core.js").read_text(encoding="utf-8")
    offered = set(re.search(r"shared: \{ (.*?) \}", shared)[1].split(", "))
    for kind in figures.kinds():
        text = (tmp_path / "figures" / f"{kind}.js").read_text(encoding="utf-8")
        used = set(re.search(r"shared: \{ (.*?) \}", text)[1].split(", "))
        assert used <= offered
        assert "live" in used


def test_figures_and_pages_have_one_palette():
    page, figure = (
        re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in (ROOT / "_assets" / "seqattn.css", figures.HERE / "figure.css")
    )

    def colours(style, selector):
        rules = re.findall(
            rf"(?:^|\n)(?:@media screen \{{ )?{re.escape(selector)}[^{{]*\{{(.*?)\}}",
            style,
            re.DOTALL,
        )
        return dict(re.findall(r"--sa-(\w+): (#\w+)", " ".join(rules)))

    roles = {"query", "keys", "values", "scores", "weights", "context", "soft", "warm", "ink"}
    for in_pages, in_figures in (
        ("html, html[data-theme", ".sa-fig"),
        ('html[data-theme="dark"]', 'html[data-theme="dark"] .sa-fig'),
    ):
        ours, theirs = colours(page, in_pages), colours(figure, in_figures)
        assert roles <= ours.keys() & theirs.keys()
        assert {role: theirs[role] for role in roles} == {role: ours[role] for role in roles}
