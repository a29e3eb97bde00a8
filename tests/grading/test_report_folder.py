"""What a grading does with the folder of its reports, and with what is told of it."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from seqattn.grading.classroom import reports
from seqattn.grading.classroom import run as classroom_run
from seqattn.grading.classroom.folder import alone, load_run, noted, prune
from tests.grading.conftest import ROOT, seqattn
from tests.grading.week import files_in, rows

pytestmark = pytest.mark.usefixtures("graded_by_words")


def test_another_weeks_submissions_need_another_folder(week, tmp_path):
    one, two, out = week("one", al="02_softmax 1"), week("two", al="02_softmax 2"), tmp_path / "out"
    assert seqattn("grade-class", one, "-o", out).returncode == 0
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    before = (out / "grades.csv").read_bytes(), (out / "run.json").read_bytes()
    done = seqattn("grade-class", two, "-o", out)
    assert done.returncode == 2
    assert f"{out} holds the reports on {one}: name another folder with -o" in done.stderr
    assert f"if the same class handed in again, `seqattn regrade --diff {out}` has" in done.stderr
    done = seqattn("grade-class", one, "-o", out, "--exercise", "02_softmax")
    assert done.returncode == 2
    assert ((out / "grades.csv").read_bytes(), (out / "run.json").read_bytes()) == before
    assert "grade without --exercise again, or name another folder" in done.stderr
    assert f"--seed {load_run(out)['seed']} gives the same cases" in done.stderr
    assert seqattn("grade-class", one, "-o", out).returncode == 0
    done = seqattn("grade-class", one.rename(tmp_path / "moved"), "-o", out)
    assert f"if they only moved, `seqattn regrade --diff {out}` has --submissions" in done.stderr


def test_an_interrupted_first_grading_keeps_its_seed(week, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(classroom_run, "grade_all", interrupted)
        done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 2
    assert "seqattn: interrupted" not in done.stderr  # that is said by what hears of Ctrl-C first
    assert "the same command goes on" in done.stderr
    seed = load_run(out)["seed"]
    seqattn("grade-class", one, "-o", out)
    assert load_run(out)["seed"] == seed


def test_what_nobody_has_any_more_is_removed_and_nothing_else(week, tmp_path):
    one, out = week("one", al="02_softmax 1", bo="03_additive 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    assert "students/bo-03_additive.json" in files_in(out)
    ours = files_in(out)
    (out / "students" / "mine.json").write_text("mine")
    (out / "feedback" / "bo-03_additive.html.bak").write_text("mine")
    (one / "bo" / "0.ipynb").unlink()
    seqattn("grade-class", one, "-o", out)
    gone = ours - files_in(out)
    assert gone == {
        "students/bo-03_additive.json",
        "gradescope/bo-03_additive/results.json",
        "feedback/bo-03_additive.html",
    }
    assert {"students/mine.json", "feedback/bo-03_additive.html.bak"} <= files_in(out)
    assert not (out / "gradescope" / "bo-03_additive").exists()


def test_what_an_earlier_release_listed_by_name_is_removed_too(week, tmp_path):
    one, out = week("one", al="02_softmax 1", bo="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    run = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**run, "written": [*run["written"]]}))
    (out / "feedback" / "bo-02_softmax.html").write_text("mine")
    later = (out / "run.json").stat().st_mtime + 1
    os.utime(out / "feedback" / "bo-02_softmax.html", (later, later))
    (one / "bo" / "0.ipynb").unlink()
    assert seqattn("grade-class", one, "-o", out).returncode == 0
    found = {name for name in files_in(out) if "bo" in name}
    assert found == {"feedback/bo-02_softmax.html"}


@pytest.mark.parametrize(
    "name",
    ["../precious.json", "students/../../precious.json", "/etc/passwd", "overrides.csv", "run.json",
     "gradescope/../results.json", "students/link.json", "students/deep/er.json"],
)  # fmt: skip
def test_no_list_makes_it_remove_what_is_not_its_own(name, tmp_path):
    out = tmp_path / "out"
    for path in (
        tmp_path / "precious.json", out / "overrides.csv", out / "run.json", out / "results.json",
        out / "students" / "deep" / "er.json",
    ):  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    (out / "gradescope").mkdir()
    (out / "students" / "link.json").symlink_to(tmp_path / "precious.json")
    before = files_in(tmp_path)
    mine = noted({name: "mine"})
    for kept in (mine, [name], name):
        prune(out, kept, [])
    assert files_in(tmp_path) == before
    assert (out / "students" / "link.json").is_symlink()


def test_changes_are_counted_by_student(week, tmp_path):
    one, out = week("one", al="{", bo="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (one / "al" / "0.ipynb").write_text("02_softmax 2")
    (one / "bo" / "0.ipynb").write_text("02_softmax 0")
    done = seqattn("regrade", "--diff", out, "-o", out)
    assert "3 changes for 2 students" in done.stdout
    assert seqattn("regrade", "--diff", out, "-o", out).stdout.strip() == "no score changed"


def test_a_regrading_is_told_where_things_lie_now(week, tmp_path):
    one, out, again = week("one", al="02_softmax 1"), tmp_path / "out", tmp_path / "again"
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name\n1,Al\n")
    seqattn("grade-class", one, "-o", out, "--roster", roster)
    one, roster = one.rename(tmp_path / "moved"), roster.rename(tmp_path / "names.csv")
    done = seqattn("regrade", "--diff", out, "-o", again)
    assert f"there is no {tmp_path / 'one'}: --submissions says where they lie now" in done.stderr
    done = seqattn("regrade", "--diff", out, "-o", again, "--submissions", one)
    assert f"there is no {tmp_path / 'roster.csv'}: --roster says where" in done.stderr
    assert not again.exists()
    for folder in (again, out):  # also into the folder itself, which names the old place
        moved = ("--submissions", one, "--roster", roster)
        done = seqattn("regrade", "--diff", out, "-o", folder, *moved)
        assert done.stdout.strip() == "no score changed", done.stderr
        assert load_run(folder)["submissions"] == str(one)


def test_an_archive_or_a_notebook_is_not_called_an_empty_folder(tmp_path):
    (tmp_path / "export.zip").write_bytes(b"PK")
    (tmp_path / "nb.ipynb").write_text("{}")
    done = seqattn("grade-class", tmp_path / "export.zip", "-o", tmp_path / "out")
    assert "export.zip is an archive: unpack it into a folder first" in done.stderr
    done = seqattn("grade-class", tmp_path / "nb.ipynb", "-o", tmp_path / "out")
    assert "nb.ipynb is a file; expected a folder" in done.stderr
    assert not (tmp_path / "out").exists()


def test_two_gradings_never_write_into_one_folder(week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    with alone(out):
        done = seqattn("grade-class", one, "-o", out)
        assert done.returncode == 2
        assert f"another grading writes into {out}: wait for it" in done.stderr
    assert seqattn("grade-class", one, "-o", out).returncode == 0


def test_a_refused_grading_leaves_no_folder_behind(week, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("colour\nred\n")
    done = seqattn("grade-class", week("one", al="{"), "-o", tmp_path / "out", "--roster", roster)
    assert (done.returncode, (tmp_path / "out").exists()) == (2, False)


@pytest.mark.parametrize(
    "book", ["javascript:alert(1)", " javascript:x", "java\tscript:x", "data:,x"]
)
def test_a_link_leads_to_the_web_or_to_a_path(book, week, tmp_path):
    done = seqattn("grade-class", week("one", al="{"), "-o", tmp_path / "out", "--book", book)
    assert done.returncode == 2
    assert "expected http://..., https://... or a relative path" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("book", ["https://x.org/a:b", "http://x", "../my book", "book/index?a:b"])
def test_a_books_address_is_taken(book, week, tmp_path):
    done = seqattn("grade-class", week("one", al="{"), "-o", tmp_path / "out", "--book", book)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_no_job_is_none_and_a_reader_that_leaves_is_no_failure(tmp_path):
    command = [sys.executable, "-m", "seqattn"]
    none = [*command, "grade-class", str(tmp_path), "-o", str(tmp_path / "out"), "-j", "0"]
    assert subprocess.run(none, capture_output=True, check=False).returncode == 2
    page = tmp_path / "nb.ipynb"
    page.write_text("{")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*command, "grade", str(page)],
        stdout=write, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
    )  # fmt: skip
    os.close(write)
    assert "no page was written" not in done.stderr


def test_files_with_the_names_of_reports_are_never_overwritten_without_a_record(week, tmp_path):
    one, two, out = week("one", al="02_softmax 1"), week("two", al="02_softmax 2"), tmp_path / "out"
    out.mkdir()
    (out / "summary.html").write_text("mine")
    refused = seqattn("grade-class", one, "-o", out)
    assert (refused.returncode, (out / "summary.html").read_text()) == (2, "mine")
    assert "no run.json that says what it is of: name another folder" in refused.stderr
    (out / "summary.html").unlink()
    seqattn("grade-class", one, "-o", out)
    # The table was taken away, or the record lost: what is of another week is refused all the same.
    (out / "grades.csv").rename(tmp_path / "uploaded.csv")
    assert "holds the reports on" in seqattn("grade-class", two, "-o", out).stderr
    (out / "run.json").write_text('{"submissions": 5, "seed": 7}')
    assert "no run.json" in seqattn("grade-class", two, "-o", out).stderr


def test_what_a_person_put_beside_the_records_is_no_record(week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (out / "students" / "notes.json").write_text('{"about": "al"}')
    (out / "students" / "todo.json").write_text("call Bo")
    done = seqattn("regrade", "--diff", out, "-o", tmp_path / "new")
    assert (done.returncode, done.stdout.strip().splitlines()[-1]) == (0, "no score changed")


def test_reports_lie_above_what_was_handed_in_or_beside_it_but_not_on_it(week, tmp_path):
    one = week("one", al="02_softmax 1")
    done = seqattn("grade-class", one, "-o", one)
    assert done.returncode == 2
    assert "is what was handed in: name another folder for the reports" in done.stderr
    assert not list(tmp_path.rglob(".lock"))
    for _ in range(2):
        assert seqattn("grade-class", one, "-o", tmp_path).returncode == 0
    assert [r["points"] for r in rows(tmp_path / "grades.csv")] == ["1"]


def test_an_id_that_changes_its_case_leaves_no_old_record(week, tmp_path):
    one, out = week("one", Bo="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (one / "Bo").rename(one / "bo")
    seqattn("grade-class", one, "-o", out)
    found = [name for name in sorted(files_in(out)) if "bo-" in name.casefold()]
    assert {name.partition("/")[2][:2] for name in found} == {"bo"}
    assert len(found) == 3


def test_changes_are_those_of_a_student_whatever_the_records_are_called(week, tmp_path):
    names = {"a b": "02_softmax 1", "a+b": "02_softmax 0"}
    one, out, new = week("one", **names), tmp_path / "out", tmp_path / "new"
    seqattn("grade-class", one, "-o", out)
    shutil.rmtree(one / "a b")
    done = seqattn("regrade", "--diff", out, "-o", new)
    assert [line.split(":")[0].strip() for line in done.stdout.splitlines()] == [
        "1 changes for 1 students",
        "a b-02_softmax  q1",
    ]


@pytest.mark.parametrize(
    "key", ["submissions", "seed", "roster", "exercise", "allow_weak", "absent_as_zero", "book"]
)
@pytest.mark.parametrize("value", [None, 7, [], {}])
def test_a_broken_record_of_a_grading_is_called_so(key, value, week, tmp_path):
    out = tmp_path / "out"
    seqattn("grade-class", week("one", al="02_softmax 1"), "-o", out)
    told = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps(told | {key: value}))
    done = seqattn("regrade", "--diff", out, "-o", tmp_path / "new")
    assert done.returncode == 2
    assert "run.json cannot be read" in done.stderr


@pytest.mark.parametrize("verdicts", [None, 7, [7], [{}], {"q1": 1}])
def test_a_broken_record_of_a_student_is_passed_over(verdicts, week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    path = out / "students" / "al-02_softmax.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"verdicts": verdicts}))
    done = seqattn("regrade", "--diff", out, "-o", tmp_path / "new")
    assert "al-02_softmax  q1: none -> 1 pass" in done.stdout


def test_a_file_is_no_folder_for_reports(week, tmp_path):
    (tmp_path / "out").write_text("mine")
    done = seqattn("grade-class", week("one", al="02_softmax 1"), "-o", tmp_path / "out")
    assert f"-o {tmp_path / 'out'} is a file; expected a folder for the reports" in done.stderr
    assert (tmp_path / "out").read_text() == "mine"


def test_a_students_folder_is_none_for_reports(week, tmp_path):
    one = week("one", al="02_softmax 1", bo="02_softmax 1")
    done = seqattn("grade-class", one, "-o", one / "al")
    assert done.returncode == 2
    assert "was handed in, it seems: name a new folder for the reports" in done.stderr
    for _ in range(2):  # among the submissions a folder of its own will do
        assert seqattn("grade-class", one, "-o", one / "reports").returncode == 0
    assert [r["student"] for r in rows(one / "reports" / "grades.csv")] == ["al", "bo"]


def test_a_run_that_is_too_deep_is_none(week, tmp_path):
    one = week("one", al="02_softmax 1", bo="02_softmax 1")
    (one / "bo" / ".graded").mkdir()
    (one / "bo" / "run.json").write_text("[" * 100_000)
    assert seqattn("grade-class", one, "-o", tmp_path / "out").returncode == 0
    assert [r["points"] for r in rows(tmp_path / "out" / "grades.csv")] == ["1", "1"]


def test_two_files_that_became_readable_are_two_changes(week, tmp_path):
    one, out, new = week("one", al="{;{"), tmp_path / "out", tmp_path / "new"
    seqattn("grade-class", one, "-o", out)
    (one / "al" / "0.ipynb").write_text("02_softmax 1")
    (one / "al" / "1.ipynb").write_text("03_additive 1")
    done = seqattn("regrade", "--diff", out, "-o", new)
    assert len(done.stdout.splitlines()) == 5


def test_what_an_interrupted_writing_left_is_removed_with_its_student(week, tmp_path, monkeypatch):
    one, out = week("one", al="02_softmax 1", bo="02_softmax 1"), tmp_path / "out"
    write = reports.write_whole

    def interrupted(path, text):
        write(path, text)
        if path.parent.name == "feedback" and path.name.startswith("bo"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reports, "write_whole", interrupted)
        assert seqattn("grade-class", one, "-o", out).returncode != 0
    assert (out / "feedback" / "bo-02_softmax.html").is_file()
    (one / "bo").rename(one / "cy")
    seqattn("grade-class", one, "-o", out)
    assert not [name for name in files_in(out) if "bo" in name]


def test_pages_of_a_folder_that_was_copied_are_removed_and_changed_ones_stay(week, tmp_path):
    one, out = week("one", al="02_softmax 1", bo="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    for path in out.rglob("*"):  # a copy has other times
        os.utime(path, (2e9, 2e9))
    os.utime(out / "run.json", (1e9, 1e9))
    (out / "feedback" / "bo-02_softmax.html").write_text("well done")
    (one / "bo").rename(one / "cy")
    seqattn("grade-class", one, "-o", out)
    assert [n for n in files_in(out) if "bo" in n] == ["feedback/bo-02_softmax.html"]


@pytest.mark.parametrize("name", ["moodle.csv", "junit.xml", "similar.csv", "run.json"])
def test_no_file_of_somebody_elses_is_written_over(name, week, tmp_path):
    out = tmp_path / "course"
    out.mkdir()
    (out / name).write_text("mine")
    done = seqattn("grade-class", week("one", al="02_softmax 1"), "-o", out)
    assert done.returncode == 2
    why = f"{out} holds {name}, and no run.json that says what it is of"
    assert (why if name != "run.json" else f"{out / name} is of no grading") in done.stderr
    assert files_in(out) <= {name, ".lock"}
    assert (out / name).read_text() == "mine"


def test_another_week_in_the_same_folder_of_submissions_needs_another_for_its_reports(
    week, tmp_path, monkeypatch
):
    one, out = week("one", al="02_softmax 1", bo="{"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    before = files_in(out), (out / "grades.csv").read_bytes()
    week("one", al="03_additive 1", bo="03_additive 1")
    with monkeypatch.context() as patched:  # it is refused before anything is graded
        patched.setattr("seqattn.grading.classroom.run.grade_all", None)
        done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 2
    assert f"{out} holds reports on 02_softmax, and what was handed in now is 03_add" in done.stderr
    assert (files_in(out), (out / "grades.csv").read_bytes()) == before
    week("one", bo="02_softmax 1")  # one is late with what all others had
    assert seqattn("grade-class", one, "-o", out).returncode == 0


@pytest.mark.parametrize("table", ["", "overrides.csv"])
def test_new_reports_beside_the_class_keep_nobody_from_its_folder(table, week, tmp_path):
    one = week("one/class", al="02_softmax 1", bo="02_softmax 1").parent
    if table:
        (one / "report").mkdir()
        (one / "report" / table).write_text("student,question,points\n")
    for _ in range(2):
        done = seqattn("grade-class", one, "-o", one / "report")
        assert done.returncode == 0, done.stderr
        assert [r["student"] for r in rows(one / "report" / "grades.csv")] == ["al", "bo"]
