"""What runs the tests: what it says of their times, its busy loops, and which rows are tried."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import sample
from tools import test as stages

ROOT = Path(__file__).resolve().parents[1]


def test_the_slowest_tests_of_all_stages_are_named_in_order(tmp_path):
    for stage, times in {"unit": (1.5, 0.1), "grading": (7.25,)}.items():
        cases = "".join(f'<testcase classname="{stage}" name="t{t}" time="{t}"/>' for t in times)
        (tmp_path / f"{stage}.xml").write_text(f"<testsuites>{cases}</testsuites>")
    assert [line.split() for line in stages.slowest(tmp_path, 2)] == [
        ["7.2", "s", "grading", "t7.25"],
        ["1.5", "s", "unit", "t1.5"],
    ]


def test_every_stage_has_a_budget_and_half_more_is_too_much(monkeypatch, tmp_path):
    budget = json.loads(stages.BUDGET.read_text(encoding="utf-8"))
    assert set(budget) == set(stages.STAGES)
    assert stages.beyond("unit", 1.5 * budget["unit"]) is None
    said = stages.beyond("unit", 1.51 * budget["unit"])
    assert "tests/budget.json" in said
    assert stages.beyond("unit", 3.0 * budget["unit"], slower=2.0) is None
    assert stages.beyond("unit", 3.1 * budget["unit"], slower=2.0) is not None
    monkeypatch.setattr(stages, "run", lambda *_: (1.0, 1e6))
    monkeypatch.setattr(sys, "argv", ["test", "unit"])
    monkeypatch.delenv("SEQATTN_TESTS", raising=False)
    with pytest.raises(SystemExit, match="stage unit took 1000000 s"):
        stages.main()


def test_a_slower_machine_is_measured_and_a_quicker_one_gets_no_less_room(monkeypatch):
    monkeypatch.setattr(stages, "LOAD", f"print({3 * stages.PACE})")
    assert stages.slowness(2) == pytest.approx(3)
    monkeypatch.setattr(stages, "LOAD", f"print({stages.PACE / 3})")
    assert stages.slowness(2) == 1
    begun = os.times().children_user
    monkeypatch.undo()
    assert stages.slowness(1) >= 1
    assert os.times().children_user > begun


def test_each_notebook_that_had_to_run_has_room_of_its_own(tmp_path):
    budget = json.loads(stages.BUDGET.read_text(encoding="utf-8"))["notebooks"]
    assert stages.beyond("notebooks", 1.51 * budget, stages.EACH_COMMIT) is not None
    report = tmp_path / "notebooks.xml"
    cases = [
        ("chapters-01", "1"),
        ("chapters-01", "2"),
        ("chapters-02", "1"),
        ("solutions-01", "1"),
    ]
    text = "".join(f'<testcase classname="{folder}.nb" name="{n}"/>' for folder, n in cases)
    report.write_text(f"<testsuites>{text}</testsuites>")
    ran = stages.notebooks_run(report)
    assert ran == stages.EACH_COMMIT + 1
    assert stages.beyond("notebooks", 1.5 * (budget + stages.NOTEBOOK), ran) is None
    assert stages.beyond("notebooks", 1.51 * (budget + stages.NOTEBOOK), ran) is not None


def test_busy_loops_end_with_what_they_disturb(monkeypatch):
    loops, popen = [], subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *arguments: loops.append(popen(*arguments)) or loops[-1]
    )

    def disturb():
        with stages.busy(2):
            assert [loop.poll() for loop in loops] == [None, None]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        disturb()
    assert None not in [loop.poll() for loop in loops]


def test_busy_loops_end_with_a_process_that_is_killed():
    code = (
        "import os, signal\nfrom tools.test import busy\n"
        "with busy(1): os.kill(os.getpid(), signal.SIGKILL)"
    )
    # The loop holds the pipe open for as long as it lives.
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -9


def test_a_commit_has_a_turn_of_its_own_and_keeps_it(tmp_path):
    assert sample.turn(tmp_path) == 0  # no history

    def git(*arguments):
        who = (
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "-c",
            "init.defaultBranch=x",
        )
        subprocess.run(["git", *who, "-C", str(tmp_path), *arguments], check=True)

    git("init", "--quiet")
    assert sample.turn(tmp_path) == 0
    turns = []
    for words in ("one", "two"):
        git("commit", "--quiet", "--allow-empty", "--message", words)
        turns.append(sample.turn(tmp_path))
        (tmp_path / words).touch()  # not committed
        assert sample.turn(tmp_path) == turns[-1]
    assert turns[0] != turns[1]
    assert 0 not in turns


@pytest.mark.parametrize("thorough", [False, True])
def test_turns_try_every_row_of_a_table_and_leave_the_weekly_tests_out(
    thorough, monkeypatch, pytestconfig
):
    conftest = next(
        plugin
        for plugin in pytestconfig.pluginmanager.get_plugins()
        if getattr(plugin, "__file__", None) == str(ROOT / "tests" / "conftest.py")
    )
    monkeypatch.setattr(conftest, "THOROUGH", thorough)

    class Item(SimpleNamespace):
        __hash__ = object.__hash__

    def item(name, **marks):
        marked = {key: SimpleNamespace(args=args) for key, args in marks.items()}
        return Item(nodeid=name, callspec=None, get_closest_marker=marked.get)

    rows = [item(f"t.py::test_row[{n}]", sampled=(3,)) for n in range(7)]
    other, weekly = item("t.py::test_other[0]"), item("t.py::test_weekly", weekly=())
    left = []
    config = SimpleNamespace(
        hook=SimpleNamespace(pytest_deselected=lambda items: left.append(len(items)))
    )
    tried = []
    for turn in range(3):
        monkeypatch.setattr(sample, "turn", lambda turn=turn: turn)
        items = [*rows, other, weekly]
        conftest.pytest_collection_modifyitems(config, items)
        tried.append([one.nodeid for one in items])
    if thorough:
        assert all(len(names) == 9 for names in tried)
        return
    assert all(other.nodeid in names and weekly.nodeid not in names for names in tried)
    assert sorted(map(len, tried)) == [3, 3, 4]
    assert sorted(name for names in tried for name in names) == sorted(
        [row.nodeid for row in rows] + 3 * [other.nodeid]
    )
    assert left == [9 - len(names) for names in tried]
