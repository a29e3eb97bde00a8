"""Points that a person gives: what they are for, and that none is lost."""

import csv
import io
import json
import shutil

import pytest

from seqattn.grading.classroom.reports import list_changes
from tests.grading.conftest import seqattn
from tests.grading.week import files_in, rows

pytestmark = pytest.mark.usefixtures("graded_by_words")


def test_what_was_told_agrees_with_the_reports_even_where_points_by_hand_are_refused(
    week, tmp_path
):
    one, out = week("one", al="02_softmax 1"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    before = (out / "run.json").read_bytes()
    (out / "overrides.csv").write_text("student,question,points\nbo,q1,2\n")
    assert seqattn("grade-class", one, "-o", out, "--seed", "other").returncode == 2
    assert (out / "run.json").read_bytes() == before


def test_points_by_hand_that_make_no_sense_are_not_copied(week, tmp_path):
    one, out, again = week("one", al="02_softmax 1"), tmp_path / "out", tmp_path / "again"
    seqattn("grade-class", one, "-o", out)
    (out / "overrides.csv").write_text("student,question,points\nbo,q1,2\n")
    assert "nobody here is called 'bo'" in seqattn("regrade", "--diff", out, "-o", again).stderr
    (out / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    done = seqattn("regrade", "--diff", out, "-o", again)
    assert done.returncode == 0, done.stderr
    assert (again / "overrides.csv").read_bytes() == (out / "overrides.csv").read_bytes()


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


def test_points_of_last_week_are_not_given_for_another_exercise(week, tmp_path):
    one, out = week("one", al="02_softmax 1", bo="02_softmax 1"), tmp_path / "out"
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


def test_points_may_be_written_down_before_there_are_reports(week, tmp_path):
    one = week("one", al="02_softmax 1")
    (one / "report").mkdir()
    (one / "report" / "overrides.csv").write_text("student,question,points\nal,q1,2\n")
    assert seqattn("grade-class", one, "-o", one / "report").returncode == 0


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


@pytest.mark.parametrize("name", ["grades.csv", "questions.csv", "moodle.csv"])
def test_a_report_that_a_spreadsheet_only_saved_again_is_no_change(name, week, tmp_path):
    one, out = week("one", al="02_softmax 1", bo="02_softmax 0"), tmp_path / "out"
    seqattn("grade-class", one, "-o", out)
    written = (out / name).read_bytes()
    table = [*csv.reader(io.StringIO(written.decode(), newline=""))]
    stream = io.StringIO()
    csv.writer(stream, delimiter=";", quoting=csv.QUOTE_ALL).writerows(table)
    (out / name).write_bytes(stream.getvalue().encode("utf-8-sig"))
    done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 0, done.stderr
    assert (out / name).read_bytes() == written
    # And what was changed there is still refused.
    (out / name).write_bytes(stream.getvalue().replace("al", "ali").encode("utf-8-sig"))
    done = seqattn("grade-class", one, "-o", out)
    assert done.returncode == 2
    assert f"{out / name} was changed since it was written" in done.stderr
