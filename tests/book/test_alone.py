"""Each notebook runs alone: an empty folder, and of the project nothing but the wheel."""

import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from seqattn.grading.bank import exercises, load
from tools import build

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("solutions/*.ipynb")])
WHENCE = "import seqattn\nassert seqattn.__file__.startswith({!r}), seqattn.__file__"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Unpack the wheel into a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(build.build_wheel()) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.mark.notebooks
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_notebook_needs_the_wheel_and_nothing_else_of_the_project(
    path, installed, tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(installed))  # comes before this checkout
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(WHENCE.format(str(installed))))
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=1800, resources=resources).execute()
    # And leaves nothing behind but the evidence of experiments.
    evidence = {q.evidence for name in exercises() for q in load(name).questions}
    assert {p.name for p in tmp_path.iterdir()} <= evidence
