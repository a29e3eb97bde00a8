"""What a grading does with the folder of its reports, and with what it is told."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from seqattn.grading.answers import Answer
from seqattn.grading.classroom import reports
from seqattn.grading.classroom import run as classroom_run
from seqattn.grading.classroom.folder import alone, load_run, noted, prune
from seqattn.grading.classroom.reports import list_changes
from seqattn.grading.classroom.submissions import collect
from seqattn.grading.grades import Grade, Verdict, harmless
from tests.grading.conftest import ROOT, seqattn


@pytest.fixture(autouse=True)
def graded(monkeypatch):
    """Have files graded by what stands in them, as "02_softmax 1" for a point of two."""

    def grade_all(files, seed, store, **more):
        store.mkdir(parents=True, exist_ok=True)
        return {handed.label: grade_of(handed.path, seed) for handed in files}

    monkeypatch.setattr(classroom_run, "grade_all", grade_all)


def grade_of(path, seed):
    words = path.read_text().split()
    if len(words) != 2:
        return Grade(path.name, "", "unreadable: not JSON", [], seed, "")
    right = int(words[1])
    first = Verdict(
        "q1", "First", "pass" if right else "fail", right, 2, hint="" if right else "oh"
    )
    # No fingerprint is taken of an answer in this state.
    answers = {"q1": Answer(path.read_text(), "missing")}
    return Grade(path.name, words[0], "", [first], seed, "full", answers=answers)


@pytest.fixture
def week(tmp_path):
    """Make folders of what was handed in."""

    def week(name, **files):
        for owner, text in files.items():
            for number, one in enumerate(text.split(";")):
                path = tmp_path / name / owner / f"{number}.ipynb"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(one)
        return tmp_path / name

    return week


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def files_in(out):
    return {
        path.relative_to(out).as_posix()
        for path in out.rglob("*")
        if path.is_file() and ".graded" not in path.parts
    }


# --- one folder for each assignment


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


def test_what_was_told_agrees_with_the_reports_even_where_points_by_hand_are_refused(
    week, tmp_path
):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    before = (out / "run.json").read_bytes()
    (out / "overrides.csv").write_text("student,question,points\nbo,q1,2\n")
    assert seqattn("grade-class", one, "-o", out, "--seed", "other").returncode == 2
    assert (out / "run.json").read_bytes() == before


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


# --- what an earlier grading left


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


# --- regrading


def test_points_by_hand_that_make_no_sense_are_not_copied(week, tmp_path):
    one, out, again = week("one", al="02_softmax 1"), tmp_path / "out", tmp_path / "again"
    seqattn("grade-class", one, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nbo,q1,2\n")
    assert "nobody here is called 'bo'" in seqattn("regrade", "--diff", out, "-o", again).stderr
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    done = seqattn("regrade", "--diff", out, "-o", again)
    assert done.returncode == 0, done.stderr
    assert (again / "overrides.csv").read_bytes() == (out / "overrides.csv").read_bytes()


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


# --- what is no folder of submissions


def test_an_archive_or_a_notebook_is_not_called_an_empty_folder(tmp_path):
    (tmp_path / "export.zip").write_bytes(b"PK")
    (tmp_path / "nb.ipynb").write_text("{}")
    done = seqattn("grade-class", tmp_path / "export.zip", "-o", tmp_path / "out")
    assert "export.zip is an archive: unpack it into a folder first" in done.stderr
    done = seqattn("grade-class", tmp_path / "nb.ipynb", "-o", tmp_path / "out")
    assert "nb.ipynb is a file; expected a folder" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_earlier_report_among_the_submissions_is_no_student(week, tmp_path):
    one = week("one", al="02_softmax 1")
    seqattn("grade-class", one, "-o", one / "report")
    week("one", eve="02_softmax 0")
    (one / "eve" / "run.json").write_text("{}")  # of something else
    done = seqattn("grade-class", one, "-o", tmp_path / "out")
    assert [r["student"] for r in rows(tmp_path / "out" / "grades.csv")] == ["al", "eve"]
    assert f"left out, as reports of gradings: {one / 'report'}" in done.stderr
    shutil.rmtree(one / "report" / ".graded")  # as copies are that leave out what is hidden
    seqattn("grade-class", one, "-o", tmp_path / "out")
    assert [r["student"] for r in rows(tmp_path / "out" / "grades.csv")] == ["al", "eve"]
    # Its own reports are not worth a word.
    assert "left out" not in seqattn("grade-class", one, "-o", one / "report").stderr


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


# --- rows of a student


def test_a_second_notebook_that_cannot_be_read_is_not_lost(week, tmp_path):
    one, out = week("one", al="02_softmax 2;{", bo="02_softmax 2"), tmp_path / "out"
    (one / "bo" / "README.md").write_text("how to read this")
    done = seqattn("grade-class", one, "-o", out)
    assert "look at: 1 files could not be graded" in done.stderr
    found = [(r["student"], r["status"], r["points"]) for r in rows(out / "grades.csv")]
    assert found == [("al", "graded", "2"), ("al", "unreadable", ""), ("bo", "graded", "2")]
    assert {"students/al.json", "feedback/al.html"} <= files_in(out)
    moodle = {r["student"]: r for r in rows(out / "moodle.csv")}
    assert {id_: row["Grade"] for id_, row in moodle.items()} == {"al": "", "bo": "2"}
    assert moodle["al"]["Feedback comments"] == "1.ipynb: unreadable: not JSON"
    [bo] = [r for r in rows(out / "grades.csv") if r["student"] == "bo"]
    assert "README.md" in bo["notes"]
    junit = (out / "junit.xml").read_text(encoding="utf-8")
    assert junit.count("<error") == 1


def test_each_notebook_that_cannot_be_read_has_its_row(week, tmp_path):
    seqattn("grade-class", week("one", al="{;{"), "-o", tmp_path / "out")
    found = [(r["file"], r["status"], r["notes"]) for r in rows(tmp_path / "out" / "grades.csv")]
    assert found == [(f"al/{n}.ipynb", "unreadable", "unreadable: not JSON") for n in (0, 1)]


def test_a_repository_with_more_before_the_name_than_another_is_not_the_same_students(
    week, tmp_path
):
    names = {"w3-al": "02_softmax 2", "w3-jo-al": "02_softmax 0", "w4-al": "03_additive 1"}
    one, out = week("one", **names), tmp_path / "out"
    (tmp_path / "r.csv").write_text("identifier,github_username\n1,al\n2,\n")
    seqattn("grade-class", one, "-o", out, "--roster", tmp_path / "r.csv")
    found = [(r["student"], r["file"]) for r in rows(out / "grades.csv")]
    files = [("1", "w3-al/0.ipynb"), ("1", "w4-al/0.ipynb"), ("2", ""), ("", "w3-jo-al/0.ipynb")]
    assert found == files


def test_nobody_is_absent_whose_file_it_may_be(week, tmp_path):
    names = {"Jo Smith_7_assignsubmission_file": "02_softmax 2", "Bo": "02_softmax 1"}
    one, out = week("one", **names), tmp_path / "out"
    (tmp_path / "r.csv").write_text("id,name\n510,Jo Smith\n511,Jo Smith\n512,Bo\n513,Cy\n")
    options = ("--roster", tmp_path / "r.csv", "--absent-as-zero")
    done = seqattn("grade-class", one, "-o", out, *options)
    expected = {"510": "", "511": "", "512": "1", "513": "0"}
    assert {r["student"]: r["Grade"] for r in rows(out / "moodle.csv")} == expected
    found = {r["student"]: r for r in rows(out / "grades.csv") if r["student"]}
    assert {id_: r["points"] for id_, r in found.items()} == expected
    assert "perhaps not absent: Jo Smith_7" in found["510"]["notes"]
    assert "look at: 1 people got 0 as absent" in done.stderr
    # With an id one of the two has a file, and perhaps the other as well.
    week("one", **{"510": "03_additive 2"})
    seqattn("grade-class", one, "-o", out, *options)
    [row] = [r for r in rows(out / "grades.csv") if r["student"] == "510"]
    assert row["notes"].startswith("perhaps not all: Jo Smith_7")


def test_moodles_table_names_exercises_a_maximum_and_why_points_were_given(week, tmp_path):
    texts = {"al": "02_softmax 2;03_additive 2", "bo": "02_softmax 0;03_additive 0"}
    one, out = week("one", **texts), tmp_path / "out"
    out.mkdir()
    given = "student,question,points,reason\nbo,02_softmax q1,1,said so orally\n"
    (out / "overrides.csv").write_text(given)
    seqattn("grade-class", one, "-o", out)
    found = {r["student"]: r for r in rows(out / "moodle.csv")}
    assert {id_: (r["Grade"], r["Maximum grade"]) for id_, r in found.items()} == {
        "al": ("4", "4"), "bo": ("1", "4"),
    }  # fmt: skip
    assert found["al"]["Feedback comments"] == ""
    assert found["bo"]["Feedback comments"] == (
        "02_softmax q1: oh; 02_softmax q1: points given by hand (0 by the grader): said so orally; "
        "03_additive q1: oh"
    )


def test_moodles_own_numbers_stand_in_its_table(week, tmp_path):
    one = week("one", **{"Al Li_100_assignsubmission_file": "02_softmax 1"})
    seqattn("grade-class", one, "-o", tmp_path / "out")
    sheet = (
        "Identifier,Full name,Email address\nParticipant 100,Al Li,al@u\nParticipant 9,Bo,bo@u\n"
    )
    (tmp_path / "r.csv").write_text(sheet)
    seqattn("grade-class", one, "-o", tmp_path / "two", "--roster", tmp_path / "r.csv")
    named = [[r["Identifier"] for r in rows(tmp_path / o / "moodle.csv")] for o in ("out", "two")]
    assert named == [["Participant 100"], ["Participant 100", "Participant 9"]]


def test_moodle_takes_its_table_as_it_is(week, tmp_path):
    """Its importer wants three columns, and passes over grades that were changed since."""
    one = week("one", **{"Al Li_100_assignsubmission_file": "02_softmax 1"})
    (tmp_path / "r.csv").write_text(
        "Identifier,Full name,Grade,Last modified (grade)\n"
        'Participant 100,Al Li,1.00,"Sunday, 1 November 2026, 10:00 AM"\nParticipant 9,Bo,,-\n'
    )
    seqattn("grade-class", one, "-o", tmp_path / "out", "--roster", tmp_path / "r.csv")
    found = rows(tmp_path / "out" / "moodle.csv")
    assert found[0].keys() >= {"Identifier", "Grade", "Last modified (grade)"}
    changed = [r["Last modified (grade)"] for r in found]
    assert changed == ["Sunday, 1 November 2026, 10:00 AM", ""]


def test_a_long_id_is_no_number_of_moodle(week, tmp_path):
    one = week("one", **{"2023000000042": "02_softmax 1"})
    (tmp_path / "r.csv").write_text("id,name\n2023000000042,Al\n")
    seqattn("grade-class", one, "-o", tmp_path / "out", "--roster", tmp_path / "r.csv")
    [row] = rows(tmp_path / "out" / "moodle.csv")
    assert (row["student"], row["Identifier"]) == ("2023000000042", "")


def test_a_name_or_a_comma_in_points_by_hand_says_what_to_write(week, tmp_path):
    one, out = week("one", bär="02_softmax 1"), tmp_path / "out"
    (tmp_path / "r.csv").write_text("id,name\n502,Bär\n", encoding="utf-8")
    out.mkdir()
    for text, why in (
        ("student,question,points\nBär,q1,1\n", "nobody here is called 'Bär': write 502"),
        ("student;question;points\n502;q1;1,5\n", "'1,5' is no number of points: write 1.5"),
        ("student,question,points\n502,q1,1,late,but\n", "5 fields, but the head names 3"),
    ):
        (out / "overrides.csv").write_text(text, encoding="utf-8")
        assert why in seqattn("grade-class", one, "-o", out, "--roster", tmp_path / "r.csv").stderr


def test_files_of_one_time_and_late_files_are_called_so(week, tmp_path):
    one = week("one", al="02_softmax 1;02_softmax 2")
    for path in (one / "al").iterdir():
        os.utime(path, (1, 1))
    (one / "libo_LATE_5_6_nb.ipynb").write_text("02_softmax 1")
    seqattn("grade-class", one, "-o", tmp_path / "out")
    notes = {r["student"]: r["notes"] for r in rows(tmp_path / "out" / "grades.csv")}
    assert notes["al"] == (
        "duplicate: the newest files are of one time, and the last of them by name counts; "
        "not counted: al/0.ipynb"
    )
    assert notes["libo"] == "late: Canvas says so in the name of the file"


@pytest.mark.parametrize("sign", ["=", "＝", "\ufeff=", "\u200b＋", " @", "\t=", "＠"])
def test_no_sign_that_a_spreadsheet_takes_for_one_begins_a_cell(sign):
    assert str(harmless(f"{sign}1+1")).startswith("'")
    assert [harmless(cell) for cell in ("a=1", "", "Éa", 3)] == ["a=1", "", "Éa", 3]


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


def test_points_by_hand_are_for_what_they_were_given_and_a_changed_page_stays(week, tmp_path):
    one, two, out = week("one", al="02_softmax 1", bo="02_softmax 1"), week("two", al="x"), "out"
    out = tmp_path / out
    seqattn("grade-class", one, "-o", out)
    page = out / "feedback" / "bo-02_softmax.html"
    page.write_text(page.read_text(encoding="utf-8") + "my comment", encoding="utf-8")
    (one / "bo" / "0.ipynb").unlink()
    seqattn("grade-class", one, "-o", out)
    assert "my comment" in page.read_text(encoding="utf-8")
    assert not (out / "students" / "bo-02_softmax.json").exists()
    for name in ("students", "feedback", "gradescope"):
        shutil.rmtree(out / name)
    for path in [*out.glob("*.csv"), *out.glob("*ml")]:
        path.unlink()
    (out / "overrides.csv").write_text("student,question,points\nal,q1,1\n")
    assert "was begun for" in seqattn("grade-class", two, "-o", out).stderr


def test_points_by_hand_say_so_when_the_answer_is_another(week, tmp_path):
    one, out, new = week("one", al="02_softmax 1", bo="02_softmax 0"), tmp_path / "out", "new"
    new = tmp_path / new
    seqattn("grade-class", one, "-o", out)
    table = out / "overrides.csv"
    table.write_text("student,question,points,reason\nal,q1,2,oral\nbo,02_softmax q1,1,oral\n")

    def flagged(folder=out):
        return [r["student"] for r in rows(folder / "grades.csv") if "another answer" in r["notes"]]

    seqattn("grade-class", one, "-o", out)
    assert flagged() == []
    (one / "al").rename(one / "x")
    (one / "bo").rename(one / "al")
    (one / "x").rename(one / "bo")
    for _ in range(2):  # it stays until a person has looked
        seqattn("grade-class", one, "-o", out)
        assert flagged() == ["al", "bo"]
    seqattn("regrade", "--diff", out, "-o", new)
    assert flagged(new) == ["al", "bo"]
    table.write_text(table.read_text().replace("al,q1,2,oral", "al,q1,2,looked again"))
    seqattn("grade-class", one, "-o", out)
    assert flagged() == ["bo"]


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


# --- points by hand, and who has what


def test_points_of_last_week_are_not_given_for_another_exercise(week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    seqattn("grade-class", one, "-o", out)
    before = files_in(out), (out / "grades.csv").read_bytes()
    (one / "al" / "0.ipynb").write_text("03_additive 1")
    done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 2
    assert "line 2: these points were given for 02_softmax: remove the row" in done.stderr
    assert (files_in(out), (out / "grades.csv").read_bytes()) == before


def test_an_answer_handed_in_after_points_by_hand_is_told_of(week, tmp_path):
    one, out = week("one", al="02_softmax 0"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nal,q1,0.5\n")
    seqattn("grade-class", one, "-o", out)
    (one / "al" / "0.ipynb").write_text("02_softmax 1")
    done = seqattn("grade-class", one, "-o", out)
    assert "look at: 1 answers are not those that points by hand were given to" in done.stderr


def test_points_by_hand_for_a_file_that_became_unreadable_stop_nobody(week, tmp_path):
    one, out = week("one", al="02_softmax 1", bo="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\nbo,q1,2\n")
    (one / "al" / "0.ipynb").write_text("{")
    done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 0
    al, bo = rows(out / "grades.csv")
    assert "look at:" in done.stderr
    assert "overrides.csv, line 2: al has no graded question 'q1'" in done.stderr
    assert (al["points"], bo["points"]) == ("", "2")


def test_points_for_one_question_stand_in_one_row(week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    out.mkdir()
    (out / "overrides.csv").write_text("student,question,points\nal,q1,1\nal,02_softmax q1,0\n")
    done = seqattn("grade-class", one, "-o", out)
    assert "line 2: q1 and 02_softmax q1 of al are one question: keep one row" in done.stderr


def test_a_roster_that_was_forgotten_changes_nobodys_name(week, tmp_path):
    one, out = week("one", Al="02_softmax 1"), tmp_path / "out"
    (tmp_path / "r.csv").write_text("id,name\n7,Al\n8,Bo\n")
    seqattn("grade-class", one, "-o", out, "--roster", tmp_path / "r.csv")
    before = (out / "grades.csv").read_bytes()
    done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 2
    assert f"was graded with --roster {tmp_path / 'r.csv'}: name it again" in done.stderr
    assert (out / "grades.csv").read_bytes() == before


def test_each_of_a_group_has_the_grade(week, tmp_path):
    one = week("one", submission_1="02_softmax 1", submission_2="02_softmax 2")
    people = [{":email": f"{who}@u", ":name": who} for who in ("Al", "Bo")]
    entries = {
        "submission_1": {":submitters": people},
        "submission_2": {":submitters": [{":name": "Cy"}]},
    }
    (one / "submission_metadata.yml").write_text(json.dumps(entries))
    (tmp_path / "r.csv").write_text("id,name,email\n1,Al,al@u\n2,Bo,bo@u\n3,Cy,cy@u\n")
    for options in ((), ("--roster", tmp_path / "r.csv")):
        out = tmp_path / f"out{len(options)}"
        done = seqattn("grade-class", one, "-o", out, *options)
        al, bo, cy = sorted(rows(out / "grades.csv"), key=lambda r: r["student"].casefold())
        assert [r["points"] for r in (al, bo, cy)] == ["1", "1", "2"]
        assert "handed in together with Bo@u" in al["notes"]
        assert "handed in together with Al@u" in bo["notes"]
        assert cy["notes"] == done.stderr == ""
        assert len(list((out / "feedback").iterdir())) == 3


def test_two_of_one_name_are_two_though_one_file_cannot_be_read(week, tmp_path):
    names = {f"Wei_{n}_assignsubmission_file": text for n, text in ((1, "{"), (2, "02_softmax 2"))}
    one = week("one", **names)
    seqattn("grade-class", one, "-o", tmp_path / "out")
    found = [(r["student"], r["status"]) for r in rows(tmp_path / "out" / "grades.csv")]
    assert found == [("Wei (1)", "unreadable"), ("Wei (2)", "graded")]
    (tmp_path / "r.csv").write_text("id,name\n5,Wei\n")
    seqattn("grade-class", one, "-o", tmp_path / "two", "--roster", tmp_path / "r.csv")
    found = [(r["student"], r["status"]) for r in rows(tmp_path / "two" / "grades.csv")]
    assert found == [("5", "absent"), ("", "unmatched"), ("", "unmatched")]


def test_no_two_records_have_one_name(week, tmp_path):
    one, out = week("one", **{"x y": "{", "x_y": "{", "x_y-2": "{"}), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    names = {path.stem for path in (out / "students").iterdir()}
    assert names == {"x_y", "x_y-2", "x_y-2-2"}


def test_a_sum_that_may_lack_a_file_is_blank(week, tmp_path):
    names = {"510": "03_additive 2", "Jo_7_assignsubmission_file": "02_softmax 2"}
    (tmp_path / "r.csv").write_text("id,name\n510,Jo\n511,Jo\n")
    seqattn(
        "grade-class", week("one", **names), "-o", tmp_path / "out", "--roster", tmp_path / "r.csv"
    )
    assert {r["Grade"] for r in rows(tmp_path / "out" / "moodle.csv")} == {""}


def test_a_student_who_calls_a_folder_a_report_is_not_absent(week, tmp_path):
    one, out = week("one", al="02_softmax 1", bo="02_softmax 2"), tmp_path / "out"
    (one / "bo" / ".graded").mkdir()
    (one / "bo" / "run.json").write_text('{"submissions": "x", "seed": "y"}')
    seqattn("grade-class", one, "-o", out)
    assert [r["points"] for r in rows(out / "grades.csv")] == ["1", "2"]


def test_a_picture_beside_a_notebook_makes_no_sum_blank(week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    (one / "al" / "img").mkdir()
    (one / "al" / "img" / "x.png").write_text("picture")
    seqattn("grade-class", one, "-o", out)
    [row] = rows(out / "moodle.csv")
    assert row["Grade"] == "1"
    [row] = rows(out / "grades.csv")
    assert "not graded: al/img/x.png" in row["notes"]


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


def test_points_by_hand_make_the_verdict_and_say_what_to_do_with_a_stranger(week, tmp_path):
    one, out = week("one", al="02_softmax 0", bo="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\nbo,q1,0\n")
    seqattn("grade-class", one, "-o", out)
    tests = [
        json.loads((out / "gradescope" / f"{who}-02_softmax" / "results.json").read_text())["tests"]
        for who in ("al", "bo")
    ]
    assert [one["status"] for [one] in tests] == ["passed", "failed"]
    (out / "overrides.csv").write_text("student,question,points\ncy,q1,2\n")
    done = seqattn("grade-class", one, "-o", out)
    assert "make no sense (correct these rows, or remove them): line 2: nobody" in done.stderr


def test_a_regrading_tells_of_another_maximum_and_of_points_that_a_person_keeps_low():
    def record(points, out_of, note=""):
        verdict = {"question": "q1", "points": points, "out_of": out_of, "verdict": "pass"}
        return {"al": {"problem": "", "student": "al", "verdicts": [verdict | {"notes": [note]}]}}

    def changes(old, new):
        return [(c.before, c.after) for c in list_changes(old, new)]

    assert changes(record(3, 3), record(3, 3)) == []
    assert changes(record(3, 3), record(3, 4)) == [("3 pass, of 3", "3 pass, of 4")]
    by_hand = [f"points given by hand ({n} by the grader)" for n in (0, 3)]
    assert changes(record(2, 3, by_hand[0]), record(2, 3, by_hand[1])) == [
        ("2 pass, by hand (0 by the grader)", "2 pass, by hand (3 by the grader)")
    ]


def test_an_id_before_no_name_makes_nobody_absent(week, tmp_path):
    one, out = week("one", **{"510_Xy": "02_softmax 1", "511": "02_softmax 1"}), tmp_path / "out"
    (tmp_path / "r.csv").write_text("id,name\n510,Jo\n511,Bo\n")
    seqattn("grade-class", one, "-o", out, "--roster", tmp_path / "r.csv", "--absent-as-zero")
    assert {r["student"]: r["Grade"] for r in rows(out / "moodle.csv")} == {
        "510": "",
        "511": "1",
    }


@pytest.mark.parametrize(
    ("text", "safe"), [("x;=1+1", "x;'=1+1"), ("a; @SUM(1)", "a; '@SUM(1)"), ("a; b-c", "a; b-c")]
)
def test_no_formula_begins_behind_a_semicolon(text, safe):
    assert harmless(text) == safe


def test_what_points_by_hand_were_given_to_is_not_forgotten(week, tmp_path):
    one, out, new = week("one", al="02_softmax 0"), tmp_path / "out", tmp_path / "new"
    answer = one / "al" / "0.ipynb"
    table = out / "overrides.csv"

    def flagged(folder):
        [row] = rows(folder / "grades.csv")
        return "another answer" in row["notes"]

    seqattn("grade-class", one, "-o", out)
    seqattn("regrade", "--diff", out, "-o", new)  # there were no points yet
    table.write_text("student,question,points\nal,q1,2\n")
    seqattn("grade-class", one, "-o", out)
    answer.write_text("{")  # for a while it cannot be read
    seqattn("grade-class", one, "-o", out)
    answer.write_text("02_softmax 1")
    seqattn("grade-class", one, "-o", out)
    assert flagged(out)
    assert seqattn("regrade", "--diff", out, "-o", new).returncode == 0
    assert flagged(new)
    for name in ("students", "feedback", "gradescope"):  # or the reports were thrown away
        shutil.rmtree(out / name)
    for name in ("grades.csv", "summary.html"):
        (out / name).unlink()
    seqattn("grade-class", one, "-o", out)
    assert flagged(out)


def test_reports_that_moved_with_the_submissions_are_no_student(week, tmp_path):
    one = week("one", al="02_softmax 1")
    seqattn("grade-class", one, "-o", one / "report")
    done = seqattn("grade-class", one.rename(tmp_path / "moved"), "-o", tmp_path / "out")
    assert [r["student"] for r in rows(tmp_path / "out" / "grades.csv")] == ["al"]
    assert "left out, as reports of gradings" in done.stderr


def test_points_may_be_written_down_before_there_are_reports(week, tmp_path):
    one = week("one", al="02_softmax 1")
    (one / "report").mkdir()
    (one / "report" / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    assert seqattn("grade-class", one, "-o", one / "report").returncode == 0


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


def test_settings_beside_a_notebook_make_no_row(week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    (one / "al" / "data").mkdir()
    for name in ("requirements.txt", "config.json"):
        (one / "al" / "data" / name).write_text("{}")
    seqattn("grade-class", one, "-o", out)
    assert [r["Grade"] for r in rows(out / "moodle.csv")] == ["1"]
    assert len(rows(out / "grades.csv")) == 1


def test_points_by_hand_whose_student_has_nothing_now_stop_nobody(week, tmp_path):
    one, out = week("one", al="02_softmax 0", bo="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    seqattn("grade-class", one, "-o", out)
    (one / "al").rename(tmp_path / "al")
    done = seqattn("grade-class", one, "-o", out)
    assert (done.returncode, len(rows(out / "grades.csv"))) == (0, 1)
    assert "line 2: nobody here is called 'al'" in done.stderr
    (tmp_path / "al").rename(one / "al")
    (one / "al" / "0.ipynb").write_text("02_softmax 1")
    seqattn("grade-class", one, "-o", out)
    assert "another answer" in rows(out / "grades.csv")[0]["notes"]


def test_to_name_the_exercise_is_no_look_at_another_answer(week, tmp_path):
    one, out = week("one", al="02_softmax 0;03_additive 0"), tmp_path / "out"
    (one / "al" / "1.ipynb").rename(tmp_path / "1.ipynb")
    seqattn("grade-class", one, "-o", out)
    table = out / "overrides.csv"
    table.write_text("student,question,points\nal,q1,2\n")
    seqattn("grade-class", one, "-o", out)
    (tmp_path / "1.ipynb").rename(one / "al" / "1.ipynb")
    assert "has q1 in 2 exercises" in seqattn("grade-class", one, "-o", out).stderr
    table.write_text("student,question,points\nal,02_softmax q1,2\n")
    seqattn("grade-class", one, "-o", out)
    assert [r["points"] for r in rows(out / "grades.csv")] == ["2", "0"]
    (one / "al" / "0.ipynb").write_text("02_softmax 1")
    seqattn("grade-class", one, "-o", out)
    assert "another answer" in rows(out / "grades.csv")[0]["notes"]


def test_a_broken_list_of_what_was_judged_is_none(week, tmp_path):
    one, out = week("one", al="02_softmax 0"), tmp_path / "out"
    out.mkdir()
    (out / "overrides.csv").write_text("student,question,points\nal,q1,0.5\n")
    for kept in (7, {"al": 1}, [7], [["al", "02_softmax", "q1", 0.5, "", 7]]):
        seqattn("grade-class", one, "-o", out)
        told = json.loads((out / "run.json").read_text())
        assert len(told["by_hand"]) == 1
        (out / "run.json").write_text(json.dumps(told | {"by_hand": kept}))


def test_a_question_that_a_person_passed_has_no_mistake(week, tmp_path):
    one, out = week("one", al="02_softmax 0"), tmp_path / "out"
    out.mkdir()
    (out / "overrides.csv").write_text("student,question,points,reason\nal,q1,2,oral\n")
    seqattn("grade-class", one, "-o", out)
    page = (out / "feedback" / "al-02_softmax.html").read_text(encoding="utf-8")
    assert "oral" in page
    assert ">oh" not in page


# --- what must not be lost


def test_points_by_hand_are_not_dropped_with_their_table(week, tmp_path):
    one, out, new = week("one", al="02_softmax 0"), tmp_path / "out", tmp_path / "new"
    seqattn("grade-class", one, "-o", out)
    table = out / "overrides.csv"
    table.write_text("student,question,points\nal,q1,2\n")
    seqattn("grade-class", one, "-o", out)
    before = (out / "grades.csv").read_bytes()
    table.rename(out / "overrides old.csv")
    for command in (("grade-class", one, "-o", out), ("regrade", "--diff", out, "-o", new)):
        done = seqattn(*command)
        assert done.returncode == 2
        assert f"{table} is missing, and points were given by it (al q1: 2)" in done.stderr
        assert "overrides old.csv is not read" in done.stderr
        assert "leave its first line alone in it to take them back" in done.stderr
    assert (out / "grades.csv").read_bytes() == before
    table.write_text("student,question,points\n")
    assert seqattn("grade-class", one, "-o", out).returncode == 0
    assert rows(out / "grades.csv")[0]["points"] == "0"
    table.write_text("student,question,points\nal,q1,2\n")
    seqattn("grade-class", one, "-o", out)
    table.write_text("")  # the disk was full
    assert f"{table} is empty, and points" in seqattn("grade-class", one, "-o", out).stderr
    table.write_text("student,question,points\n")
    seqattn("grade-class", one, "-o", out)
    table.unlink()  # nothing is lost with it now
    (out / "overrides old.csv").unlink()
    assert seqattn("grade-class", one, "-o", out).returncode == 0


@pytest.mark.parametrize("name", ["Overrides.csv", "overrides.csv.txt", "overrides (1).xlsx"])
def test_points_in_a_table_of_another_name_are_not_passed_over(name, week, tmp_path):
    one, out = week("one", al="02_softmax 0"), tmp_path / "out"
    out.mkdir()
    (out / name).write_text("student,question,points\nal,q1,2\n")
    done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 2
    assert f"there is no {out / 'overrides.csv'}, and {name} is not read: " in done.stderr
    (out / "overrides.csv").write_text("student,question,points\nal,q1,1\n")
    assert seqattn("grade-class", one, "-o", out).returncode == 0


def test_backups_beside_points_by_hand_make_a_folder_no_students(week, tmp_path):
    one = week("one", al="02_softmax 0")
    (one / "report").mkdir()
    for name in ("overrides.csv", "overrides old.csv", "overrides.csv~", ".~lock.overrides.csv#"):
        (one / "report" / name).write_text("student,question,points\nal,q1,2\n")
    assert seqattn("grade-class", one, "-o", one / "report").returncode == 0
    assert [r["points"] for r in rows(one / "report" / "grades.csv")] == ["2"]


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


def test_the_roster_of_another_class_is_refused(week, tmp_path):
    one, out = week("one", al="02_softmax 1", bo="02_softmax 1"), tmp_path / "out"
    ours, theirs, later = (tmp_path / f"{name}.csv" for name in ("ours", "theirs", "later"))
    ours.write_text("id,name\n1,al\n2,bo\n")
    theirs.write_text("id,name\n8,cy\n9,di\n")
    later.write_text("id,name\n2,bo\n3,ed\n")
    seqattn("grade-class", one, "-o", out)  # at first without
    assert seqattn("grade-class", one, "-o", out, "--roster", ours).returncode == 0
    before = files_in(out)
    for command in ("grade-class", one), ("regrade", "--diff", out):
        done = seqattn(*command, "-o", out, "--roster", theirs)
        assert done.returncode == 2
        assert f"{out} holds reports on 2 students, of whom 0 are on {theirs}" in done.stderr
        assert f"graded with --roster {ours}" in done.stderr
    assert files_in(out) == before
    ours.write_text("id,name\n01,al\n02,bo\n")
    done = seqattn("grade-class", one, "-o", out, "--roster", ours)
    assert f"{ours}; that had other people or ids then (1, 2): put them back, or" in done.stderr
    # Half of them are still there.
    assert seqattn("grade-class", one, "-o", out, "--roster", later).returncode == 0


def test_points_by_hand_do_not_go_when_a_roster_gives_another_id(week, tmp_path):
    one, out = week("one", al="02_softmax 0"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    seqattn("grade-class", one, "-o", out)
    before = (out / "grades.csv").read_bytes()
    (tmp_path / "r.csv").write_text("id,name\n7,al\n")
    done = seqattn("grade-class", one, "-o", out, "--roster", tmp_path / "r.csv")
    assert done.returncode == 2
    assert "line 2: nobody here is called 'al': write 7, the student's id" in done.stderr
    assert (out / "grades.csv").read_bytes() == before


def test_another_week_in_the_same_folder_of_submissions_needs_another_for_its_reports(
    week, tmp_path
):
    one, out = week("one", al="02_softmax 1", bo="{"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    before = files_in(out), (out / "grades.csv").read_bytes()
    week("one", al="03_additive 1", bo="03_additive 1")
    done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 2
    assert f"{out} holds reports on 02_softmax, and what was handed in now is 03_add" in done.stderr
    assert (files_in(out), (out / "grades.csv").read_bytes()) == before
    week("one", bo="02_softmax 1")  # one is late with what all others had
    assert seqattn("grade-class", one, "-o", out).returncode == 0


def test_a_class_that_hands_in_again_keeps_its_points_by_hand(week, tmp_path):
    first, again = week("first", al="02_softmax 0"), week("again", al="02_softmax 0", bo="{")
    out = tmp_path / "out"
    seqattn("grade-class", first, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    seqattn("grade-class", first, "-o", out)
    done = seqattn("regrade", "--diff", out, "-o", out, "--submissions", again)
    assert done.returncode == 0, done.stderr
    found = [(r["student"], r["points"]) for r in rows(out / "grades.csv")]
    assert found == [("al", "2"), ("bo", "")]
    assert seqattn("grade-class", again, "-o", out).returncode == 0


@pytest.mark.parametrize("name", ["grades.csv", "moodle.csv"])
def test_points_that_were_written_into_a_report_are_not_written_over(name, week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    changed = (out / name).read_bytes().replace(b",1,", b",2,")
    (out / name).write_bytes(changed)
    for command in (("grade-class", one), ("regrade", "--diff", out)):
        done = seqattn(*command, "-o", out)
        assert done.returncode == 2
        assert f"{out / name} was changed since it was written" in done.stderr
        assert (out / name).read_bytes() == changed
    (out / name).rename(tmp_path / name)
    assert seqattn("grade-class", one, "-o", out).returncode == 0


def test_a_folder_called_like_its_file_is_a_folder(tmp_path):
    folder = tmp_path / "al.ipynb"
    folder.mkdir()
    (folder / "al.ipynb").write_text("{}")
    [handed] = collect(tmp_path)
    assert handed.kind == "folder"


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
