"""The tool that runs the tests: what it says of their times, and that its busy loops end."""

import subprocess
import sys
from pathlib import Path

import pytest

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
