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


READ = ["seqattn/__init__.py", "seqattn/core.py"]
OTHERS = [
    "seqattn/other.py", "seqattn/third.py", "seqattn/data.json", "seqattn/data/models/m.json",
    "seqattn-0.1.0.dist-info/RECORD", "seqattn-0.1.0.dist-info/METADATA",
]  # fmt: skip


def make_wheel(folder):
    for name in (*READ, *OTHERS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("Version: 1\n\nREADME\n", encoding="utf-8")
    (folder / "seqattn_watch.py").write_text(green.WATCH, encoding="utf-8")
    return folder


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An unpacked wheel, and an empty record."""
    monkeypatch.setattr(green, "RECORD", tmp_path / "record.txt")
    monkeypatch.delenv("SEQATTN_TESTS", raising=False)
    return make_wheel(tmp_path / "installed")


def run(copied, installed, cells=3, verdict="", read=READ):
    """Pretend that pytest ran a copy's cells; then look at the record again."""
    case = f'<testcase classname="{copied.parent.name}.{copied.name}" name="Cell">'
    report = installed.parent / "report.xml"
    report.write_text(f"<testsuite>{cells * f'{case}{verdict}</testcase>'}</testsuite>")
    watched = json.dumps({"read": read, "seconds": 1.5})
    green.watch_file(copied, installed).write_text(watched, encoding="utf-8")
    green.add(green.read(), report, [copied], installed)
    return green.holds(green.read(), copied, installed)


@pytest.mark.parametrize(
    ("changed", "stays"),
    [
        ("seqattn/core.py", False),
        ("seqattn/other.py", True),  # not read
        ("seqattn/data.json", True),
        ("seqattn/data/models/m.json", False),  # libraries read them and tell nobody
        ("seqattn/new.json", False),  # something lists what there is
        ("seqattn-0.1.0.dist-info/RECORD", True),  # digests of all other files
    ],
)
@pytest.mark.parametrize("read", [READ, ["seqattn-0.1.0.dist-info/METADATA", *READ]])
def test_what_passed_is_run_again_once_something_changed_that_it_read(
    read, changed, stays, notebook, installed
):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    assert not green.holds(green.read(), copied, installed)
    assert run(copied, installed, read=read)
    (installed / changed).write_text("2", encoding="utf-8")
    assert green.holds(green.read(), copied, installed) == stays


@pytest.mark.parametrize(
    ("text", "stays"), [("Version: 1\n\nnews\n", True), ("Version: 2\n\nREADME\n", False)]
)
def test_of_the_packages_description_the_head_counts(text, stays, notebook, installed):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    metadata = "seqattn-0.1.0.dist-info/METADATA"
    assert run(copied, installed, read=[metadata])
    (installed / metadata).write_text(text, encoding="utf-8")
    assert green.holds(green.read(), copied, installed) == stays


def test_a_folder_stands_for_its_files_where_most_were_read(notebook, installed):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    most = [*READ, "seqattn/other.py"]
    assert green.folded(READ[:1], installed) == READ[:1]
    assert green.folded(most, installed) == ["seqattn/"]
    assert run(copied, installed, read=most)
    (installed / "seqattn" / "third.py").write_text("2", encoding="utf-8")
    assert not green.holds(green.read(), copied, installed)


def test_one_notebook_in_two_places_has_one_digest(notebook, installed, tmp_path):
    other = make_wheel(tmp_path / "elsewhere" / "installed")
    (other / "seqattn" / "__pycache__").mkdir()
    (other / "seqattn" / "__pycache__" / "core.pyc").write_text("x", encoding="utf-8")
    (other / "seqattn-0.1.0.dist-info" / "WHEEL").write_text("x", encoding="utf-8")
    here = alone.copy(notebook, installed.parent / "alone", installed)
    there = alone.copy(notebook, other.parent / "alone", other)
    assert here.read_text() != there.read_text()
    for read in (None, READ):
        assert green.digest(here, installed, read) == green.digest(there, other, read)


def test_a_changed_cell_output_tag_or_claim_is_run_again(notebook, installed):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    assert run(copied, installed)
    whole = copied.read_text(encoding="utf-8")
    for change in (
        lambda cell: cell.update(source="print(2)"),
        lambda cell: cell["outputs"].append(nbformat.v4.new_output("stream", text="1")),
        lambda cell: cell.metadata.update(tags=["nbval-ignore-output"]),
    ):
        other = nbformat.reads(whole, as_version=4)
        change(other.cells[1])
        nbformat.write(other, copied)
        assert not green.holds(green.read(), copied, installed)
    copied.write_text(whole, encoding="utf-8")
    assert green.holds(green.read(), copied, installed)


def test_nothing_is_spared_that_failed_or_ran_in_part_or_started_another_process(
    notebook, installed, monkeypatch
):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    assert not run(copied, installed, verdict="<failure/>")
    assert not run(copied, installed, cells=2)
    assert run(copied, installed, read=None)  # it started a process: all may have been read
    (installed / "seqattn" / "other.py").write_text("2", encoding="utf-8")
    assert not green.holds(green.read(), copied, installed)
    assert run(copied, installed)
    monkeypatch.setenv("SEQATTN_TESTS", "thorough")
    assert not green.holds(green.read(), copied, installed)


def test_the_record_has_a_line_for_each_notebook_and_python_and_forgives_merges(
    notebook, installed, monkeypatch
):
    copied = alone.copy(notebook, installed.parent / "alone", installed)
    assert run(copied, installed)
    ours = green.RECORD.read_text(encoding="utf-8")
    monkeypatch.setattr(green, "PYTHON", "3.99-Linux-riscv")
    assert not green.holds(green.read(), copied, installed)
    assert run(copied, installed)
    both = green.RECORD.read_text(encoding="utf-8").splitlines()
    assert both == [*ours.splitlines(), both[-1]]
    # A merge keeps the lines of both sides; what is there no more is forgotten.
    merged = [*both, both[-1].replace(green.read()[-1].digest, 32 * "0"), "alone 3.99-Linux-risc"]
    green.RECORD.write_text("\n".join(merged) + "\n<<<<<<< ours\n", encoding="utf-8")
    assert green.holds(green.read(), copied, installed)
    assert run(copied, installed)
    assert green.RECORD.read_text(encoding="utf-8").splitlines() == both
    copied.parent.rename(installed.parent / "renamed")
    assert run(installed.parent / "renamed" / copied.name, installed)
    assert {entry.name for entry in green.read()} == {"renamed"}


def test_a_record_that_cannot_be_read_spares_nothing(installed):
    for damaged in ("{", "one two three", "\0"):
        green.RECORD.write_text(damaged, encoding="utf-8")
        assert green.read() == []


def test_each_commit_has_two_notebooks_whatever_the_record_says(monkeypatch):
    sources = [path for name in alone.FOLDERS for path in (alone.ROOT / name).glob("*.ipynb")]
    tried = set()
    for turn in range(100):
        monkeypatch.setattr(alone.sample, "turn", lambda turn=turn: turn)
        now = alone.chosen(sources)
        assert sorted(path.parent.name for path in now) == sorted(alone.FOLDERS)
        tried |= now
    assert tried == set(sources)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import seqattn.other", ["seqattn/__init__.py", "seqattn/other.py", "seqattn_watch.py"]),
        ("open('seqattn/data.json')", ["seqattn/data.json", "seqattn_watch.py"]),
        (
            "import sys, seqattn.other; del sys.modules['seqattn.other']",
            ["seqattn/__init__.py", "seqattn/other.py", "seqattn_watch.py"],
        ),
        ("import subprocess, sys; subprocess.run([sys.executable, '-c', ''])", None),
        ("import os; os.system('true')", None),
    ],
)
def test_a_kernel_says_what_it_read_unless_it_started_others(code, expected, installed):
    for path in installed.glob("seqattn/*.py"):
        path.write_text("", encoding="utf-8")
    listed = installed / "listed.json"
    code = "\n".join((green.FIRST, code, green.LAST.format(str(listed))))
    for _ in range(2):  # the second time from compiled files
        subprocess.run([sys.executable, "-c", code], cwd=installed, check=True)
        watched = json.loads(listed.read_text(encoding="utf-8"))
        assert watched["read"] == expected
        assert watched["seconds"] > 0
