"""Chapters: the stored notebook matches its source, and storing it is reproducible."""

import copy
import json
import shutil

import nbformat
import pytest

from tools import notebooks

SOURCE = """\
# ---
# jupyter:
#   seqattn:
#     minutes: 1
# ---
# %% [markdown]
# # A chapter
# %% tags=["install"]
INSTALL
# %%
print("one")
print("two")
# %%
from ipywidgets import FloatSlider, HBox
HBox([FloatSlider(value=0.5), FloatSlider(value=0.25)])
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "42_test.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", notebooks.sources(), ids=lambda path: path.stem)
def test_the_stored_notebook_matches_its_source(path):
    assert notebooks.drift(path) is None


@pytest.mark.parametrize("path", notebooks.sources(), ids=lambda path: path.stem)
def test_no_text_goes_on_for_longer_than_a_breath(path):
    cells = [c for c in notebooks.read_source(path).cells if c.cell_type == "markdown"]
    assert {c.source[:60]: n for c in cells if (n := len(c.source.split())) > 250} == {}


def test_the_install_cell_is_the_shared_one(source):
    assert notebooks.read_source(source).cells[1].source == notebooks.INSTALL_CELL


def test_inserting_a_cell_renames_no_other(source):
    before = [cell.id for cell in notebooks.read_source(source).cells]
    source.write_text(
        SOURCE.replace("# %%\nprint", "# %%\nx = 1\n# %%\nprint", 1), encoding="utf-8"
    )
    after = [cell.id for cell in notebooks.read_source(source).cells]
    assert set(before) < set(after)
    assert len(set(after)) == len(after)


def test_drift_names_a_missing_an_old_and_an_unrun_notebook(source):
    assert "is missing" in notebooks.drift(source)
    notebook = notebooks.read_source(source)
    notebooks.write(notebook, source.with_suffix(".ipynb"))
    assert "never run" in notebooks.drift(source)
    source.write_text(SOURCE.replace("two", "three"), encoding="utf-8")
    assert "is older than" in notebooks.drift(source)


@pytest.mark.slow
def test_prose_is_renewed_and_what_was_shown_stays(source):
    shown = notebooks.execute(notebooks.read_source(source))
    better = SOURCE.replace("A chapter", "A better chapter")
    tags = 'tags=["hide-output", "nbval-ignore-output"]'
    better = better.replace(
        "# %%\nprint", f'# %% mystnb={{"image": {{"alt": "One."}}}} {tags}\nprint'
    )
    source.write_text(better, encoding="utf-8")
    renewed = notebooks.renew_prose(shown, notebooks.read_source(source))
    assert renewed.cells[0].source == "# A better chapter"
    assert renewed.cells[2].metadata.mystnb == {"image": {"alt": "One."}}
    assert renewed.cells[2].metadata.tags == ["hide-output", "nbval-ignore-output"]
    assert renewed.cells[2].outputs == shown.cells[2].outputs
    assert renewed.cells[3:] == shown.cells[3:]
    assert renewed.metadata.widgets == shown.metadata.widgets
    notebooks.write(renewed, source.with_suffix(".ipynb"))
    assert notebooks.drift(source) is None
    source.write_text(better.replace("hide-output", "raises-exception"), encoding="utf-8")
    assert notebooks.renew_prose(shown, notebooks.read_source(source)) is None
    source.write_text(SOURCE.replace("two", "three"), encoding="utf-8")
    assert notebooks.renew_prose(shown, notebooks.read_source(source)) is None


def test_a_figures_script_is_renewed_and_what_it_shows_stays():
    stored = nbformat.read(notebooks.CHAPTERS / "01_bottleneck.ipynb", as_version=4)
    notebooks.renew_figures(stored)
    wanted = copy.deepcopy(stored)
    models = stored.metadata.widgets[notebooks.WIDGET_STATE]["state"].values()
    scripts = [model["state"] for model in models if "_esm" in model["state"]]
    assert len(scripts) > 1
    scripts[0]["_esm"] = "an older script"
    scripts[1]["_css"] = "an older style"
    assert notebooks.renew_figures(stored) == 2
    assert stored == wanted


def test_drift_names_figures_with_an_older_style(tmp_path):
    for suffix in (".py", ".ipynb"):
        shutil.copy(notebooks.CHAPTERS / f"12_hard{suffix}", tmp_path)
    path = tmp_path / "12_hard.ipynb"
    stored = nbformat.read(path, as_version=4)
    assert notebooks.drift(path.with_suffix(".py")) is None
    models = stored.metadata.widgets[notebooks.WIDGET_STATE]["state"].values()
    next(m["state"] for m in models if "_css" in m["state"])["_css"] = "an older style"
    notebooks.write(stored, path)
    assert "the style of before: run `make prose ONLY=12`" in notebooks.drift(
        path.with_suffix(".py")
    )


@pytest.mark.slow
def test_executing_twice_gives_the_same_file(source):
    first = notebooks.execute(notebooks.read_source(source))
    second = notebooks.execute(notebooks.read_source(source))
    assert nbformat.writes(first) == nbformat.writes(second)
    assert notebooks.write(first, source.with_suffix(".ipynb")) is True
    assert notebooks.write(second, source.with_suffix(".ipynb")) is False
    assert first.cells[2].outputs[0].text == "one\ntwo\n"
    state = first.metadata.widgets[notebooks.WIDGET_STATE]["state"]
    view = first.cells[3].outputs[0].data[notebooks.WIDGET_VIEW]["model_id"]
    assert view == f"{1:032x}"
    children = json.loads(json.dumps(state[view]["state"]["children"]))
    assert [state[child.removeprefix("IPY_MODEL_")]["state"]["value"] for child in children] == [
        0.5,
        0.25,
    ]
