"""Who has a row in the tables of a class, and what stands in it."""

import json
import os
import shutil

import pytest

from seqattn.grading.classroom.submissions import collect
from seqattn.grading.grades import harmless
from tests.grading.conftest import seqattn
from tests.grading.week import files_in, rows

pytestmark = pytest.mark.usefixtures("graded_by_words")


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


def test_a_repository_with_more_before_the_name_than_those_of_others_is_nobodys(week, tmp_path):
    one, out = (
        week("one", **{"w3-bo": "02_softmax 2", "w3-jo-al": "02_softmax 0"}),
        tmp_path / "out",
    )
    (tmp_path / "r.csv").write_text("identifier,github_username\n1,al\n2,bo\n3,cy\n")
    seqattn("grade-class", one, "-o", out, "--roster", tmp_path / "r.csv")
    found = {r["student"]: r for r in rows(out / "grades.csv")}
    assert [found[id_]["points"] for id_ in ("1", "2", "3")] == ["", "2", ""]
    assert "perhaps not absent: w3-jo-al" in found["1"]["notes"]
    assert "may be of 1 or of somebody whose name ends in -al: rename" in found[""]["notes"]
    # Another assignment of several people is one.
    week("one", **{"w3-jo-bo": "02_softmax 1"})
    seqattn("grade-class", one, "-o", out, "--roster", tmp_path / "r.csv")
    found = [(r["student"], r["points"]) for r in rows(out / "grades.csv")]
    assert ("1", "0") in found
    assert "" not in {student for student, _ in found}


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


def test_reports_that_moved_with_the_submissions_are_no_student(week, tmp_path):
    one = week("one", al="02_softmax 1")
    seqattn("grade-class", one, "-o", one / "report")
    done = seqattn("grade-class", one.rename(tmp_path / "moved"), "-o", tmp_path / "out")
    assert [r["student"] for r in rows(tmp_path / "out" / "grades.csv")] == ["al"]
    assert "left out, as reports of gradings" in done.stderr


def test_settings_beside_a_notebook_make_no_row(week, tmp_path):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    (one / "al" / "data").mkdir()
    for name in ("requirements.txt", "config.json"):
        (one / "al" / "data" / name).write_text("{}")
    seqattn("grade-class", one, "-o", out)
    assert [r["Grade"] for r in rows(out / "moodle.csv")] == ["1"]
    assert len(rows(out / "grades.csv")) == 1


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


def test_a_folder_called_like_its_file_is_a_folder(tmp_path):
    folder = tmp_path / "al.ipynb"
    folder.mkdir()
    (folder / "al.ipynb").write_text("{}")
    [handed] = collect(tmp_path)
    assert handed.kind == "folder"
