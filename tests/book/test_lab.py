"""The learner's folder: updates arrive, and nothing that somebody wrote is ever lost."""

import re
import sys

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jupyter_client.kernelspec import KernelSpecManager
from nbformat.sign import NotebookNotary

from tools import lab

NAME = "chapters/01_x.ipynb"


@pytest.fixture(autouse=True)
def _own_signatures(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path_factory.mktemp("data") / "jupyter"))


def put(path, text, outputs=()):
    cell = nbformat.v4.new_code_cell(text, id="a", outputs=list(outputs))
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)


def text(path):
    return nbformat.read(path, as_version=4).cells[0].source


@pytest.fixture
def places(tmp_path):
    """Where notebooks are built, where learners work; the first version is in both."""
    built, folder = tmp_path / "built", tmp_path / "notebooks"
    put(built / NAME, "1")
    assert lab.sync(built, folder) == []
    return built, folder


def test_a_missing_notebook_is_brought_and_trusted(places):
    _, folder = places
    assert text(folder / NAME) == "1"
    brought = nbformat.read(folder / NAME, as_version=4)
    assert NotebookNotary(data_dir=lab.jupyter_data_dir()).check_signature(brought)


def test_an_untouched_or_merely_run_notebook_is_renewed(places):
    built, folder = places
    put(folder / NAME, "1", [nbformat.v4.new_output("stream", text="ran")])
    put(built / NAME, "2")
    assert lab.sync(built, folder) == []
    assert text(folder / NAME) == "2"


def test_a_notebook_with_the_newest_text_keeps_its_outputs(places):
    built, folder = places
    put(folder / NAME, "1", [nbformat.v4.new_output("stream", text="ran")])
    before = (folder / NAME).read_bytes()
    assert lab.sync(built, folder) == []
    assert (folder / NAME).read_bytes() == before


def test_work_on_the_newest_version_is_left_without_a_word(places):
    built, folder = places
    put(folder / NAME, "1, answered")
    assert lab.sync(built, folder) == []
    assert [p.name for p in (folder / "chapters").iterdir()] == ["01_x.ipynb"]


@pytest.mark.parametrize("mine", ["edited", "unreadable", "unknown"])
def test_work_is_kept_and_a_new_version_lies_beside_it_once(places, mine):
    built, folder = places
    put(built / NAME, "2")
    if mine == "unreadable":
        (folder / NAME).write_text("{ not a notebook")
    else:
        put(folder / NAME, "mine")
    if mine == "unknown":
        (folder / lab.RECORD).unlink()
    before = (folder / NAME).read_bytes()
    (message,) = lab.sync(built, folder)
    assert message.endswith("was kept; its new version is 01_x.new.ipynb")
    assert text(folder / "chapters" / "01_x.new.ipynb") == "2"
    (folder / "chapters" / "01_x.new.ipynb").unlink()
    assert lab.sync(built, folder) == []
    put(built / NAME, "3")
    assert len(lab.sync(built, folder)) == 1
    assert text(folder / "chapters" / "01_x.new.ipynb") == "3"
    assert (folder / NAME).read_bytes() == before


def test_a_notebook_that_left_the_course_stays_with_its_learner(places):
    built, folder = places
    put(folder / NAME, "1, answered")
    (built / NAME).rename(built / "chapters" / "02_y.ipynb")
    for _ in range(2):
        assert lab.sync(built, folder) == []
        assert text(folder / NAME) == "1, answered"
    assert (folder / "chapters" / "02_y.ipynb").exists()


def test_a_broken_record_costs_no_work(places):
    built, folder = places
    for broken in ("{", "[]"):
        (folder / lab.RECORD).write_text(broken)
        put(folder / NAME, "mine")
        lab.sync(built, folder)
        assert text(folder / NAME) == "mine"


def test_notebooks_have_one_thread_and_terminals_as_many_as_before(tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "KERNELS", tmp_path)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    lab.write_kernel()
    monkeypatch.setenv("JUPYTER_PATH", lab.environment()["JUPYTER_PATH"])
    found = KernelSpecManager().get_kernel_spec("python3")
    assert found.env == {"OMP_NUM_THREADS": "1"}
    assert found.argv[0] == sys.executable
    assert "OMP_NUM_THREADS" not in lab.environment()


def test_cleaning_leaves_the_learners_folder_and_git_ignores_it():
    make = (lab.ROOT / "Makefile").read_text(encoding="utf-8")
    removed = re.search(r"^clean:.*\n\t@rm -rf (.*)$", make, re.MULTILINE)[1].split()
    assert lab.FOLDER.name not in removed
    assert f"/{lab.FOLDER.name}/" in (lab.ROOT / ".gitignore").read_text(encoding="utf-8").split()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["edit", "edit new", "update", "sync", "delete", "lose record"]),
            st.integers(0, 3),
        ),
        max_size=12,
    )
)
def test_whatever_happens_no_written_text_disappears(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("any")
    built, folder = root / "built", root / "notebooks"
    put(built / NAME, "ours 0")
    lab.sync(built, folder)
    mine = {}
    for step, number in steps:
        if step.startswith("edit"):
            name = "01_x.new.ipynb" if step == "edit new" else "01_x.ipynb"
            put(folder / "chapters" / name, f"mine {number}")
            mine[name] = f"mine {number}"
        elif step == "update":
            put(built / NAME, f"ours {number}")
        elif step == "delete":
            (folder / NAME).unlink(missing_ok=True)
            mine.pop("01_x.ipynb", None)
        elif step == "lose record":
            (folder / lab.RECORD).unlink(missing_ok=True)
        else:
            lab.sync(built, folder)
            assert (folder / NAME).exists()
        for name, written in mine.items():
            assert text(folder / "chapters" / name) == written
