"""The commands as a learner and as an instructor type them."""

import json
import os
import re
import subprocess
import sys

import pytest

from seqattn.grading import commands
from seqattn.grading.bank import exercises
from seqattn.grading.feedback import feedback
from seqattn.grading.progress import as_text, progress
from seqattn.grading.self_check import run_cells
from tests.grading.conftest import EXERCISE, NO_TANH, RIGHT, ROOT, STUB, filled, seqattn

pytestmark = pytest.mark.slow


def write(folder, name, content):
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_checks_of_the_stub_are_unanswered_and_the_file_stays(tmp_path):
    path = write(tmp_path, "mine.ipynb", STUB)
    before = path.read_bytes()
    done = seqattn("check", path)
    assert done.returncode == 1
    assert done.stdout.count("not answered yet") == len(EXERCISE.questions)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["mine.ipynb"]


def test_the_checks_of_right_answers_look_right():
    done = seqattn("check", ROOT / "solutions" / "03_additive.ipynb")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("looks right") == len(EXERCISE.questions)


def test_a_wrong_answer_hears_what_its_check_says(tmp_path):
    notebook = filled(RIGHT | {"q6": "weights_by_hand = (0.24, 0.09, 0.67)"})
    notebook["cells"][3]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "old"}]
    (tmp_path / "conftest.py").write_text("raise SystemExit", encoding="utf-8")
    (tmp_path / "torch.py").write_text("raise SystemExit", encoding="utf-8")
    done = seqattn("check", write(tmp_path, "mine.ipynb", notebook))
    assert done.returncode == 1
    assert "q6  a pad gets no weight at all" in done.stdout
    assert done.stdout.count("looks right") == len(EXERCISE.questions) - 1


def test_an_answer_that_calls_one_not_written_yet_is_told_so(tmp_path):
    done = seqattn("check", write(tmp_path, "mine.ipynb", filled({"q3": RIGHT["q3"]})))
    assert "q3  it calls additive_score, which is q1 and not answered yet" in done.stdout
    assert done.stdout.count("  not answered yet") == len(EXERCISE.questions) - 1


def test_grade_prints_points_and_hints(tmp_path):
    done = seqattn("grade", write(tmp_path, "mine.ipynb", filled({"q1": NO_TANH.code})))
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 of 16 points" in done.stdout
    assert NO_TANH.hint in done.stdout


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", exercises())
def test_each_stub_fails_exactly_at_its_checks_and_each_solution_nowhere(name):
    for folder, red in (("exercises", True), ("solutions", False)):
        notebook = json.loads((ROOT / folder / f"{name}.ipynb").read_text(encoding="utf-8"))
        code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
        checks = {n for n, c in enumerate(code) if "check" in c["metadata"].get("seqattn", {})}
        found = run_cells(["".join(c["source"]) for c in code], 60)
        assert set(found) == (checks if red else set())


def test_a_cell_that_ends_the_process_or_never_ends_is_told_from_those_after_it():
    assert run_cells(["1", "import os; os._exit(0)", "2"], 60)[1] == (
        "Crash",
        "the process ended here",
    )
    late = run_cells(["1", "while True: pass", "2"], 2)
    assert [late[n][0] for n in sorted(late)] == ["Timeout", "NotRun"]


def test_progress_of_a_file_is_refused(tmp_path):
    path = tmp_path / "03_additive.ipynb"
    path.write_text("{}")
    done = seqattn("progress", path)
    assert done.returncode == 2
    assert "is a file" in done.stderr


def test_progress_lists_all_exercises_with_points(tmp_path):
    write(tmp_path, "mine.ipynb", filled({"q1": RIGHT["q1"]}))
    lines = {line.exercise: line for line in progress(tmp_path)}
    assert set(lines) == set(exercises())
    assert (lines["03_additive"].points, lines["03_additive"].file) == (3, "mine.ipynb")
    assert "q1" not in lines["03_additive"].open_
    assert "3/16" in as_text(list(lines.values()))


@pytest.mark.parametrize("beside", [".", "exercises", "chapters"])
def test_progress_finds_the_exercises_from_where_one_stands(beside, tmp_path, monkeypatch, capsys):
    for folder in ("exercises", "chapters"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "exercises", "mine.ipynb", filled({"q1": RIGHT["q1"]}))
    monkeypatch.chdir(tmp_path / beside)
    commands.progress()
    assert "3/16" in capsys.readouterr().out


def test_the_audit_shows_what_caught_what():
    done = seqattn("audit", "exercises/02")
    assert done.returncode == 0
    assert "0 not as the bank says" in done.stdout
    # The stages of the last question, and a mistake that loses the third of them alone.
    assert re.search(r"calls and batches \(1\), caught \d+", done.stdout)
    assert re.search(r"pads in front of the words alone +\.\.x +2/3", done.stdout)


def test_feedback_in_a_notebook_is_a_page_and_a_text(tmp_path):
    path = write(tmp_path, "mine.ipynb", filled({"q1": NO_TANH.code}))
    shown = feedback(path)
    assert "where is the tanh" in repr(shown)
    assert "where is the tanh" in shown._repr_html_()
    assert path.read_text(encoding="utf-8") == json.dumps(filled({"q1": NO_TANH.code}))


@pytest.mark.parametrize("command", ["check", "grade"])
def test_a_file_that_is_not_there_is_said_so(command, tmp_path):
    done = seqattn(command, tmp_path / "none.ipynb")
    assert done.returncode == 2
    assert done.stderr.strip() == f"seqattn: there is no {tmp_path / 'none.ipynb'}"


def test_plain_nbval_passes_the_solution_and_fails_the_stub_at_its_checks(tmp_path):
    nbval = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider"]
    nbval += ["-c", os.devnull, "--rootdir", ".", "mine.ipynb"]
    nbval += ["--nbval-kernel-startup-timeout=1800", "--nbval-cell-timeout=1800"]
    code = [c for c in STUB["cells"] if c["cell_type"] == "code"]
    checks = [i for i, c in enumerate(code) if "check" in c["metadata"].get("seqattn", {})]
    for submission, expected in ((STUB, checks), (filled(RIGHT), [])):
        write(tmp_path, "mine.ipynb", submission)
        done = subprocess.run(nbval, cwd=tmp_path, capture_output=True, text=True, check=False)
        found = [int(i) for i in re.findall(r"^FAILED mine.ipynb::Cell (\d+)", done.stdout, re.M)]
        assert found == expected, done.stdout
        assert done.returncode == bool(expected)
