"""What runs the notebooks as a reader does: in empty folders, with the wheel alone."""

from types import SimpleNamespace

import nbformat
import pytest

from tools import alone


@pytest.fixture
def notebook(tmp_path):
    path = tmp_path / "42_test.ipynb"
    cells = [nbformat.v4.new_code_cell("print(1)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_copy_stands_alone_and_asks_whose_code_it_ran(notebook, tmp_path):
    copied = alone.copy(notebook, tmp_path / "alone", tmp_path / "installed")
    assert [path.name for path in copied.parent.iterdir()] == ["42_test.ipynb"]
    first, last = nbformat.read(copied, as_version=4).cells
    assert first.source == "print(1)"
    with pytest.raises(AssertionError, match="seqattn"):  # this checkout's
        exec(last.source, {})
    exec(alone.WHENCE.format(str(alone.ROOT)), {})


def test_what_a_notebook_leaves_is_named_but_for_evidence(notebook, tmp_path, monkeypatch):
    folder = alone.copy(notebook, tmp_path / "alone", tmp_path / "installed").parent
    assert alone.left_behind([folder]) == []
    (folder / "scaling.npz").write_text("x", encoding="utf-8")
    assert alone.left_behind([folder]) == ["alone/scaling.npz"]
    asked = SimpleNamespace(questions=[SimpleNamespace(evidence="scaling.npz")])
    monkeypatch.setattr(alone, "load", lambda name: asked)
    assert alone.left_behind([folder]) == []
    (folder / "model.pt").write_text("x", encoding="utf-8")
    assert alone.left_behind([folder]) == ["alone/model.pt"]
