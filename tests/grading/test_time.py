"""What an answer may take is counted on the processor: how busy the machine is decides nothing."""

import csv
import io
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import typer

from seqattn.grading import commands
from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.classroom import commands as classroom
from seqattn.grading.classroom.lms import as_gradescope
from seqattn.grading.classroom.overrides import Given
from seqattn.grading.classroom.reports import all_reports, as_summary, write_reports
from seqattn.grading.classroom.roster import Person
from seqattn.grading.classroom.run import Result, grade_all
from seqattn.grading.classroom.submissions import collect
from seqattn.grading.feedback import as_html
from seqattn.grading.grades import SCHEMA, Grade, Verdict, as_text
from seqattn.grading.sandbox.host import (
    JobResult,
    LateError,
    Limits,
    Sandbox,
    Turns,
    WorkerDiedError,
)
from seqattn.grading.self_check import run_cells
from tests.grading.conftest import NAME, NO_TANH, RIGHT, filled, verdict

ENDLESS = "while True: pass\n" + RIGHT["q1"]
SLEEPING = "import time\ntime.sleep(1000)\n" + RIGHT["q1"]
DOZING = "import time\nwhile True: time.sleep(0.01)\n" + RIGHT["q1"]
linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the sandbox forks on Linux"
)


def job(code, **more):
    cases = [{"inputs": (2.0,), "upstream": None, "twice": False}]
    answer = {"id": "a", "name": "f", "code": code}
    return {"prelude": "", "context": [], "probe": "", "cases": cases, "answers": [answer]} | more


def computing(seconds):
    """Write a right answer that takes some processor time."""
    wait = f"end = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"
    return "import time\n" + wait + RIGHT["q1"]


def test_right_answers_that_share_a_processor_get_their_points():
    limits = Limits(seconds=1.0)
    with ExitStack() as stack:
        first = stack.enter_context(AuthorsJudge("s", limits))
        others = [stack.enter_context(AuthorsJudge("s", limits, like=first)) for _ in range(4)]
        with ThreadPoolExecutor(5) as pool:
            found = pool.map(
                lambda judge: judge.judge_code(NAME, "q1", computing(0.6)), [first, *others]
            )
            assert [v.verdict for v in found] == ["pass"] * 5


@pytest.fixture
def sandbox(judge):
    return judge.sandbox


@pytest.fixture
def limit(sandbox, monkeypatch):
    """Set limits for a test; return a list that fills with what comes of each try."""
    tries, run = [], sandbox._run

    def keep(*arguments):
        tries.append(run(*arguments))
        return tries[-1]

    def limit(**limits):
        monkeypatch.setattr(sandbox, "limits", Limits(**limits))
        monkeypatch.setattr(sandbox, "_run", keep)
        return tries

    return limit


def test_what_computes_without_end_is_told_so_and_not_tried_again(judge, limit):
    tries = limit(seconds=0.5)
    found = judge.judge_code(NAME, "q1", ENDLESS)
    assert (found.verdict, found.points, len(tries)) == ("timeout", 0, 1)
    assert "computed longer than 0.5 seconds (of processor time)" in found.hint
    assert "loop that never ends" in found.hint


def test_threads_count_together(sandbox, limit):
    code = (
        "import threading\ndef spin():\n    while True: pass\n"
        "threading.Thread(target=spin).start()\nthreading.Event().wait()\n"
    )
    limit(seconds=0.5)
    assert sandbox.run(job(code)).ending == "timeout"


@linux
@pytest.mark.parametrize("code", [SLEEPING, DOZING])
def test_what_waits_without_computing_is_tried_alone_and_told_so(code, judge, limit):
    tries = limit(idle=0.5)
    found = judge.judge_code(NAME, "q1", code)
    assert (found.verdict, found.points) == ("timeout", 0)
    assert [t.ending for t in tries] == ["waited", "waited"]
    assert "without computing" in found.hint
    assert "loop" not in found.hint


@linux
def test_waiting_for_the_grader_to_read_is_no_waiting(sandbox, limit, monkeypatch):
    limit(idle=0.3)
    exchange = sandbox._exchange

    def late(*arguments):
        time.sleep(1.5)
        return exchange(*arguments)

    monkeypatch.setattr(sandbox, "_exchange", late)
    # More than a pipe holds.
    code = "print('x' * 10**6)\ndef f(x):\n    return x\n"
    assert sandbox.run(job(code)).ending == "done"


@linux
def test_the_kernel_ends_what_the_worker_cannot_watch(sandbox, limit):
    limit(seconds=0.5)
    with ThreadPoolExecutor(1) as pool:
        sandbox.wait()
        worker = sandbox._worker.pid
        running = pool.submit(sandbox.run, job("while True: pass"))
        children = Path(f"/proc/{worker}/task/{worker}/children")
        while not (child := children.read_text().strip()):
            assert not running.done()
            time.sleep(0.01)
        os.kill(worker, signal.SIGSTOP)
        try:
            ended = os.pidfd_open(int(child))
            select.select([ended], [], [])
            os.close(ended)
        finally:
            os.kill(worker, signal.SIGCONT)
        assert running.result().ending == "timeout"


@pytest.mark.parametrize("code", [ENDLESS, SLEEPING])
def test_what_the_machine_is_too_busy_for_is_not_judged(code, judge, limit):
    tries = limit(wall=0.2)
    found = judge.judge_code(NAME, "q1", code)
    assert (found.verdict, found.pending) == ("not_judged", True)
    assert [t.ending for t in tries] == ["late", "late"]
    assert "too busy" in found.hint
    assert "not your score" in found.hint


def test_what_was_late_beside_others_is_judged_alone(judge, sandbox, monkeypatch):
    run, first = sandbox._run, [JobResult(ending="late")]
    monkeypatch.setattr(sandbox, "_run", lambda *job: first.pop() if first else run(*job))
    assert judge.judge_code(NAME, "q1", RIGHT["q1"]).verdict == "pass"


def test_mistakes_that_could_not_be_computed_cost_nobody_a_hint(judge, sandbox, monkeypatch):
    run = sandbox._run

    def late(job, limits):
        return run(job, limits) if len(job["answers"]) == 1 else JobResult(ending="late")

    judge._kept.clear()
    monkeypatch.setattr(sandbox, "_run", late)
    assert judge.judge_code(NAME, "q1", NO_TANH.code).verdict == "not_judged"
    monkeypatch.undo()
    assert judge.judge_code(NAME, "q1", NO_TANH.code).mistake == NO_TANH.name


def test_where_the_sandbox_itself_fails_no_answer_is_to_blame(judge, sandbox, monkeypatch):
    monkeypatch.setattr(sandbox, "_run", lambda *job: JobResult(ending="broken"))
    with pytest.raises(WorkerDiedError):
        sandbox.run({})
    found = judge.judge_code(NAME, "q1", RIGHT["q1"])
    assert (found.verdict, found.pending) == ("grader_error", True)
    assert "not your score" in found.hint


def test_whoever_is_alone_has_nobody_beside():
    turns, seen = Turns(), []
    inside, leave, wanted = threading.Event(), threading.Event(), threading.Event()

    def beside():
        with turns.beside():
            inside.set()
            leave.wait()
            seen.append("beside")

    def alone():
        wanted.set()
        with turns.alone():
            seen.append("alone")

    threads = [threading.Thread(target=beside), threading.Thread(target=alone)]
    threads[0].start()
    inside.wait()
    threads[1].start()
    wanted.wait()
    leave.set()
    for thread in threads:
        thread.join()
    assert seen == ["beside", "alone"]
    with turns.beside():
        seen.append("again")


# --- where the sandbox cannot fork ---------------------------------------------------------------


def test_an_endless_answer_ends_itself_where_there_is_no_fork(monkeypatch):
    with Sandbox(Limits(seconds=0.5)) as sandbox:
        monkeypatch.setattr(sandbox, "_forks", False)
        assert sandbox.run(job("while True: pass")).ending == "timeout"


def test_a_waiting_answer_is_not_judged_where_there_is_no_fork(monkeypatch):
    with Sandbox(Limits(wall=0.5)) as sandbox:
        monkeypatch.setattr(sandbox, "_forks", False)
        with pytest.raises(LateError, match="did not end within"):
            sandbox.run(job("import time\ntime.sleep(1000)"))


def test_a_visible_check_may_take_processor_time_and_no_more():
    found = run_cells(["import time; time.sleep(1)", "while True: pass", "1"], 0.5)
    assert found == {
        1: ("Timeout", "it computed longer than 0.5 seconds (of processor time)"),
        2: ("NotRun", "an earlier cell kept it from running"),
    }


# --- what is said about it -----------------------------------------------------------------------


@pytest.fixture(params=["not_judged", "grader_error"])
def pending(request):
    hint = "this machine was too busy to judge it: grade again; this is not your score"
    verdicts = [Verdict("q1", "One", "pass", 3, 3), Verdict("q2", "Two", request.param, 0, 4, hint)]
    grade = Grade("a.ipynb", NAME, "", verdicts, "s", "full")
    return Result(Person("ada", "Ada", "a@x.org"), grade, "a.ipynb")


def table(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_points_that_are_pending_are_a_zero_in_no_report(pending, tmp_path):
    write_reports(tmp_path, all_reports([pending]))
    [row] = table(tmp_path / "grades.csv")
    assert (row["status"], row["points"], row[f"{NAME} q1"], row[f"{NAME} q2"]) == (
        "pending",
        "",
        "3",
        "",
    )
    assert "q2" in row["notes"]
    assert "points pending" in row["notes"]
    assert [r["points"] for r in table(tmp_path / "questions.csv")] == ["3", ""]
    assert [r["Grade"] for r in table(tmp_path / "moodle.csv")] == [""]
    [record] = [json.loads(p.read_text("utf-8")) for p in (tmp_path / "students").iterdir()]
    jsonschema.validate(record, SCHEMA)
    assert [v["points"] for v in record["verdicts"]] == [3, None]
    assert (record["points"], record["pending"]) == (3, 4)
    tests = json.loads(as_gradescope(pending.grade))
    assert ["score" in t for t in tests["tests"]] == [True, False]
    assert ["status" in t for t in tests["tests"]] == [True, False]
    assert "4 points are pending" in tests["output"]
    [suite] = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    for said in (as_text(pending.grade), as_html(pending.grade)):
        assert "3 of 7 points, 4 pending" in said
        assert "points pending" in said
        assert "0/4" not in said
        assert "0 of 4" not in said


def test_the_class_summary_counts_nobody_who_is_pending(pending):
    said = as_summary([pending])
    assert "median none yet of 7 points, 1 with points pending and not counted" in said
    assert "<td>q2 Two</td><td>pending</td><td>pending</td>" in said
    assert "<td>pending</td><td>1</td>" in said


def test_points_given_by_hand_end_the_waiting(pending, tmp_path):
    write_reports(tmp_path, all_reports([pending], overrides={("ada", "q2"): Given(2, "by eye")}))
    [row] = table(tmp_path / "grades.csv")
    assert (row["status"], row["points"], row[f"{NAME} q2"]) == ("graded", "5", "2")


@pytest.fixture
def busy(monkeypatch):
    """Have the machine be too busy for one question's answer."""
    run = Sandbox._run

    def late(self, job, limits):
        mine = any("# mine" in answer["code"] for answer in job["answers"])
        return JobResult(ending="late") if mine else run(self, job, limits)

    monkeypatch.setattr(Sandbox, "_run", late)


@pytest.fixture
def handed_in(tmp_path):
    path = tmp_path / "in" / "ada" / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    answers = RIGHT | {"q1": "# mine\n" + RIGHT["q1"]}
    path.write_text(json.dumps(filled(answers)), encoding="utf-8")
    return path


def test_a_grade_with_points_pending_is_no_success(busy, handed_in, tmp_path, capsys):
    with pytest.raises(typer.Exit) as ended:
        commands.grade([handed_in])
    assert ended.value.exit_code == 1
    assert "13 of 16 points, 3 pending" in capsys.readouterr().out
    with pytest.raises(typer.Exit) as ended:
        classroom.gradescope(handed_in.parent, tmp_path / "results.json")
    assert ended.value.exit_code == 1
    assert "3 points are pending" in capsys.readouterr().err
    scores = [t.get("score") for t in json.loads((tmp_path / "results.json").read_text())["tests"]]
    assert scores.count(None) == 1
    with pytest.raises(typer.Exit) as ended:
        classroom.grade_class(handed_in.parents[1], tmp_path / "out", jobs=1)
    assert ended.value.exit_code == 1
    told = capsys.readouterr()
    assert "1 notebooks have points pending" in told.err
    assert "13 of 16, 3 pending" in told.out


def test_what_is_pending_is_judged_by_the_next_run(busy, handed_in, tmp_path, monkeypatch):
    files = collect(handed_in.parents[1])
    [grade] = grade_all(files, "s", tmp_path / "store").values()
    assert verdict(grade, "q1").verdict == "not_judged"
    monkeypatch.undo()
    [grade] = grade_all(files, "s", tmp_path / "store").values()
    assert grade.points == grade.out_of


# --- a grader that is killed ---------------------------------------------------------------------

GRADER = """
import sys
from seqattn.grading.sandbox.host import Sandbox

sandbox = Sandbox()
sandbox.wait()
print(sandbox._worker.pid, sandbox._folder.name, flush=True)
sandbox.run({job!r})
"""


@linux
@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(1000)"])
def test_a_grader_that_is_killed_leaves_neither_folder_nor_processes(code):
    script = GRADER.format(job=job(code))
    grader = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    worker, folder = grader.stdout.readline().split()
    assert Path(folder).is_dir()
    ended = os.pidfd_open(int(worker))
    grader.kill()
    grader.wait()
    grader.stdout.close()
    select.select([ended], [], [])
    os.close(ended)
    assert not Path(folder).exists()
