"""What runs the notebooks as a reader does: in empty folders, with the wheel alone."""

import json
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest

from tools import alone, green


@pytest.fixture
def notebook(tmp_path):
    path = tmp_path / "42_test.ipynb"
    cells = [nbformat.v4.new_code_cell("print(1)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_copy_stands_alone_and_asks_whose_code_it_ran(notebook, tmp_path):
    copied = alone.copy(notebook, tmp_path / "alone", tmp_path / "installed")
    assert [path.name for path in copied.parent.iterdir()] == ["42_test.ipynb"]
    before, own, last = nbformat.read(copied, as_version=4).cells
    assert (before.source, own.source) == (green.FIRST, "print(1)")
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


MODULES = ["seqattn/__init__.py", "seqattn/core.py"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An unpacked wheel, and an empty record."""
    folder = tmp_path / "installed"
    for name in (*MODULES, "seqattn/other.py", "seqattn/data.json", "seqattn/grading/bank.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1", encoding="utf-8")
    (folder / "seqattn_watch.py").write_text(green.WATCH, encoding="utf-8")
    monkeypatch.setattr(green, "RECORD", tmp_path / "record.json")
    monkeypatch.delenv("SEQATTN_TESTS", raising=False)
    return folder


def run(copied, installed, cells=3, verdict="", modules=MODULES):
    """Pretend that pytest ran a copy's cells; then look at the record again."""
    case = f'<testcase classname="{copied.parent.name}.{copied.name}" name="Cell">'
    report = installed.parent / "report.xml"
    report.write_text(f"<testsuite>{cells * f'{case}{verdict}</testcase>'}</testsuite>")
    green.modules_file(copied, installed).write_text(json.dumps(modules), encoding="utf-8")
    green.add(green.read(), report, [copied], installed)
    return green.holds(green.read(), copied, installed)


@pytest.mark.parametrize(
    ("changed", "stays"),
    [
        ("seqattn/core.py", False),
        ("seqattn/other.py", True),  # not imported
        ("seqattn/data.json", False),
        ("seqattn/grading/bank.json", True),  # the grader was not imported
    ],
)
def test_what_passed_is_run_again_once_something_changed_that_it_read(
    changed, stays, notebook, installed
):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    assert not green.holds(green.read(), copied, installed)
    assert run(copied, installed)
    (installed / changed).write_text("2", encoding="utf-8")
    assert green.holds(green.read(), copied, installed) == stays


def test_a_changed_cell_output_or_claim_is_run_again(notebook, installed):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    assert run(copied, installed)
    for change in (
        lambda cell: cell.update(source="print(2)"),
        lambda cell: cell["outputs"].append(nbformat.v4.new_output("stream", text="1")),
    ):
        other = nbformat.read(notebook, as_version=4)
        change(other.cells[0])
        nbformat.write(other, copied)
        assert not green.holds(green.read(), copied, installed)


def test_nothing_is_spared_that_failed_or_ran_in_part_or_started_another_process(
    notebook, installed, monkeypatch
):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    assert not run(copied, installed, verdict="<failure/>")
    assert not run(copied, installed, cells=2)
    assert run(copied, installed, modules=None)  # it started a process: all may have been read
    (installed / "seqattn" / "other.py").write_text("2", encoding="utf-8")
    assert not green.holds(green.read(), copied, installed)
    assert run(copied, installed)
    monkeypatch.setenv("SEQATTN_TESTS", "thorough")
    assert not green.holds(green.read(), copied, installed)


def test_a_record_that_cannot_be_read_spares_nothing(installed):
    for damaged in ("{", "[]"):
        green.RECORD.write_text(damaged, encoding="utf-8")
        assert green.read() == {}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import seqattn.other", ["seqattn/__init__.py", "seqattn/other.py", "seqattn_watch.py"]),
        ("import subprocess, sys; subprocess.run([sys.executable, '-c', ''])", None),
        ("import os; os.system('true')", None),
    ],
)
def test_a_kernel_says_what_it_imported_unless_it_started_others(code, expected, installed):
    listed = installed / "listed.json"
    code = "\n".join((green.FIRST, code, green.LAST.format(str(listed))))
    subprocess.run([sys.executable, "-c", code], cwd=installed, check=True)
    assert json.loads(listed.read_text(encoding="utf-8")) == expected
