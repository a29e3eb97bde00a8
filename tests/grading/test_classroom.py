# ruff: noqa: E501 -- one line a case
"""A class: who is who, the same reports whatever the number of jobs, resuming, regrading."""

import copy
import csv
import errno
import html
import io
import json
import os
import re
import shutil
import time
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml

from seqattn.grading import answers
from seqattn.grading.classroom.folder import load_run, save_run
from seqattn.grading.classroom.lms import as_gradescope, as_junit, autograder_zip
from seqattn.grading.classroom.overrides import Given, check_overrides, read_overrides
from seqattn.grading.classroom.reports import all_reports, list_changes, write_reports
from seqattn.grading.classroom.roster import Person, find_person, read_roster
from seqattn.grading.classroom.run import (
    Result,
    WeakIsolationError,
    _cache_name,
    exercise_in,
    grade_all,
    settle,
)
from seqattn.grading.classroom.submissions import Handed, collect
from seqattn.grading.grades import SCHEMA, Grade, Verdict, as_text
from seqattn.grading.judge import Judge
from seqattn.grading.notebook import Submission
from seqattn.grading.sandbox.host import Sandbox
from tests.grading.conftest import NO_TANH, RIGHT, STUB, filled, seqattn

pytestmark = pytest.mark.usefixtures("shared_workers")
ROSTER = "id,name,email\nada,Ada Lovelace,ada@x.org\nbob,Bob,b@x.org\ncy,Cy,c@x.org\neve,Éve Li,e@x.org\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a class with every kind of hand-in."""
    root = tmp_path_factory.mktemp("handed")

    def put(name, content):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    put("ada/03_additive.ipynb", filled(RIGHT))
    put("ada/.ipynb_checkpoints/03_additive-checkpoint.ipynb", STUB)
    put("ada/__pycache__/x.py", "")
    old = put("Bob_123_assignsubmission_file_/first.ipynb", filled({}))
    os.utime(old, (1, 1))
    put("Bob_123_assignsubmission_file_/second (2).ipynb", filled({"q1": NO_TANH.code}))
    put("mallory.ipynb", filled({"q6": RIGHT["q6"]}))
    put("eveli.ipynb", "<html>log in</html>")
    (root / "link.ipynb").symlink_to("/etc/passwd")
    put("roster.csv", ROSTER)
    return root


@pytest.fixture(scope="module")
def roster(folder):
    return read_roster(folder / "roster.csv")


def handed(folder):
    return [f for f in collect(folder) if not f.label.endswith("roster.csv")]


@pytest.fixture(scope="module")
def graded(folder, tmp_path_factory, shared_workers):
    return grade_all(handed(folder), "s", tmp_path_factory.mktemp("store"), jobs=2)


@pytest.fixture
def results(folder, graded, roster):
    return settle(handed(folder), copy.deepcopy(graded), roster)


def table(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def contents(out):
    files = (p for p in out.rglob("*") if p.is_file() and ".graded" not in p.parts)
    return {str(p.relative_to(out)): p.read_bytes() for p in files}


def test_t_117_and_t_122_every_student_and_every_file_has_a_row(results, tmp_path):
    write_reports(tmp_path, all_reports(results))
    rows = {r["student"] or r["file"]: r for r in table(tmp_path / "grades.csv")}
    assert {k: (r["status"], r["points"]) for k, r in rows.items()} == {
        "ada": ("graded", "16"),
        "bob": ("graded", "0"),
        "cy": ("absent", ""),
        "eve": ("unreadable", ""),
        "mallory.ipynb": ("unmatched", "1"),
        "link.ipynb": ("unmatched", ""),
    }


def test_t_122_absent_is_blank_or_zero_as_asked(results, tmp_path):
    write_reports(tmp_path, all_reports(results, absent_as_zero=True))
    assert {r["student"]: r["points"] for r in table(tmp_path / "grades.csv")}["cy"] == "0"


def test_t_030_the_newest_file_counts_and_the_other_is_named(results):
    [bob] = [r for r in results if r.person and r.person.id == "bob"]
    assert bob.label.endswith("second (2).ipynb")
    assert "duplicate: the newest file counts; not counted: Bob_123" in bob.grade.notes[0]


@pytest.mark.parametrize(
    ("called", "found", "why"),
    [
        (("Ada Lovelace",), "ada", ""),
        (("ADA",), "ada", ""),
        (("a@x.org", "ada@x.org"), "ada", ""),
        (("lovelaceada",), "ada", ""),
        (("eve li",), "eve", ""),
        (("mallory",), "", "nobody on the roster is called mallory"),
        (("ada", "bob"), "", "may be any of ada, bob"),
    ],
)
def test_t_121_a_student_is_found_or_listed_but_never_guessed(called, found, why, roster, folder):
    one = type(handed(folder)[0])(folder, "x", called)
    person, problem = find_person(one, roster)
    assert (person.id if person else "") == found
    assert why in problem


def test_t_121_platforms_names_are_read(tmp_path):
    for name in (
        "Ann B_77_assignsubmission_file_03.ipynb",
        "canvasann_9_8_nb.ipynb",
        "grade/nb.ipynb",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    submitters = [{":name": "Gil", ":email": "g@x.org", ":sid": None}]
    export = {"grade": {":submitters": submitters, ":score": 3.0}}
    (tmp_path / "submission_metadata.yml").write_text(yaml.safe_dump(export))
    assert {f.called for f in collect(tmp_path)} == {("Ann B",), ("canvasann",), ("g@x.org", "Gil")}
    (tmp_path / "submission_metadata.yml").write_text("- of something else")
    with pytest.raises(ValueError, match="does not say who handed in what"):
        collect(tmp_path)


def hand_in(folder, owner, answers):
    path = folder / f"{owner}_assignsubmission_file_" / "03_additive.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps(filled(answers)))


def test_two_people_of_one_name_are_two(tmp_path, shared_workers):
    hand_in(tmp_path, "Wei Zhang_101", RIGHT)
    hand_in(tmp_path, "Wei Zhang_202", {})
    files = collect(tmp_path)
    grades = grade_all(files, "s", tmp_path / "store", jobs=1)
    found = {r.person.id: r.grade.points for r in settle(files, copy.deepcopy(grades), [])}
    assert found == {"Wei Zhang (101)": 16, "Wei Zhang (202)": 0}
    (tmp_path / "roster.csv").write_text("id,name\n101,Wei Zhang\n202,Wei Zhang\n303,Bo Li\n")
    # Moodle's numbers are no ids.
    on_roster = settle(files, grades, read_roster(tmp_path / "roster.csv"))
    assert {r.person.id: r.is_absent for r in on_roster if r.person} == {
        "101": False, "202": False, "303": True,
    }  # fmt: skip
    assert sum(r.person is None for r in on_roster) == 2


def settled(tmp_path, labels, people):
    """Settle empty files as if each were the same exercise."""
    for label in labels:
        (tmp_path / label).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / label).write_text("{}")
    files = collect(tmp_path)
    grades = {f.label: Grade(f.label, "03_additive", "", [], "s", "full") for f in files}
    return settle(files, grades, [Person(*p) for p in people])


@pytest.mark.parametrize(
    ("tops", "people", "kept"),
    [
        (["Jo Smith_100_assignsubmission_file", "Jo Smith_101_assignsubmission_file"], [("510", "Jo Smith")], []),
        (["Anne Marie Li_201_assignsubmission_file", "Anne Marie Li_202_assignsubmission_file"],
         [("601", "Anne-Marie Li"), ("602", "Anne Marie Li")], []),
        (["smithjo_512_900_a.ipynb", "smithjo_77_901_a.ipynb"], [("1", "Jo Smith")], []),
        (["smithjo_512_900_a.ipynb", "smithjo_77_901_a.ipynb"], [("512", "Jo Smith")], ["smithjo_512_900_a.ipynb"]),
        (["510", "Jo Smith_101_assignsubmission_file"], [("510", "Jo Smith")], ["510/a.ipynb"]),
        (["Éloïse Ñandú", "Eloise Nandu"], [("1", "Éloïse Ñandú")], ["Éloïse Ñandú/a.ipynb"]),
        (["jo+1@u", "jo 1@u"], [("jo+1@u",)], ["jo+1@u/a.ipynb"]),
    ],
)  # fmt: skip
def test_files_of_two_people_do_not_go_to_one(tops, people, kept, tmp_path):
    labels = [top if top.endswith(".ipynb") else f"{top}/a.ipynb" for top in tops]
    results = settled(tmp_path, labels, people)
    assert [r.label for r in results if r.person and r.grade] == kept
    stray = [r for r in results if r.person is None]
    assert len(stray) == len(labels) - len(kept)
    assert all("may be either of" in r.problem and "to the id" in r.problem for r in stray)
    # Of everybody whose name it may be nobody is called absent.
    assert not any(r.is_absent for r in results)


def test_an_id_and_the_exact_name_are_one_students(tmp_path):
    [one] = settled(tmp_path, ["510.ipynb", "Jo Smith/a.ipynb"], [("510", "Jo Smith")])
    assert "duplicate" in one.grade.notes[0]


def test_attempts_of_one_number_are_one_students(tmp_path):
    labels = ["smithjo_512_900_a.ipynb", "smithjo_512_901_a.ipynb"]
    [one] = settled(tmp_path, labels, [("1", "Jo Smith")])
    assert "duplicate" in one.grade.notes[0]


def test_a_chapter_or_an_empty_exercise_beside_a_good_one_is_a_row(tmp_path):
    chapter = "unmatched: this is the chapter of 04_scores, not the exercise"
    problems = {
        "a.ipynb": "",
        "b.ipynb": chapter,
        "04_scores.py": "unreadable: the file is empty",
        "help.py": "unreadable: the file is empty",
    }
    files = [Handed(tmp_path / name, name, ("Ada",)) for name in problems]
    grades = {}
    for one in files:
        one.path.write_text("")
        exercise = "" if problems[one.label] else "03_additive"
        grades[one.label] = Grade(one.label, exercise, problems[one.label], [], "s", "full")
    assert {r.label for r in settle(files, grades, [])} == {"a.ipynb", "b.ipynb", "04_scores.py"}


def test_a_number_that_changes_with_the_exercise_makes_nobody_another(tmp_path):
    files = [Handed(tmp_path, n, ("Ada",), n) for n in ("101", "202")]
    names = {"101": "03_additive", "202": "04_scores"}
    grades = {n: Grade(n, name, "", [], "s", "full") for n, name in names.items()}
    for file in files:
        (tmp_path / file.label).write_text("")
    assert {r.person.id for r in settle(files, grades, [])} == {"Ada"}


@pytest.mark.parametrize(
    ("export", "called", "who"),
    [
        ("First name,Last name,ID number,Email address\nAda,Lovelace,7,al@u.edu", "Ada Lovelace", "7"),
        ("First name,Surname,ID number,Email address\nAda,Lovelace,,al@u.edu", "Ada Lovelace", "al@u.edu"),
        ('Student,ID,SIS User ID,Section\n"Lovelace, Ada",7,u1,A\nPoints Possible,,,', "lovelaceada", "7"),
        ('Student,ID,SIS User ID,Section\n"Lovelace, Ada",7,u1,A', "Ada Lovelace", "7"),
        ("First Name,Last Name,SID,Email\nAda,Lovelace,7,al@u.edu", "al@u.edu", "7"),
        ("id;name;email\n7;Ada Lovelace;al@u.edu", "ada lovelace", "7"),
        ("First name,Last name\nAda,Lovelace", "Ada Lovelace", "Ada Lovelace"),
    ],
)  # fmt: skip
def test_a_platforms_own_roster_is_read(export, called, who, tmp_path):
    (tmp_path / "roster.csv").write_text(export + "\n")
    [person] = roster = read_roster(tmp_path / "roster.csv")
    assert find_person(Handed(tmp_path, "x", (called,)), roster) == (person, "")
    assert person.id == who


def test_a_name_may_have_dots_in_it(tmp_path):
    for name in ("ada.byron.ipynb", "ada.lovelace.ipynb", "eve@uni.edu.ipynb.txt", "bob.zip"):
        (tmp_path / name).write_text("{}")
    assert {f.called for f in collect(tmp_path)} == {
        ("ada.byron",), ("ada.lovelace",), ("eve@uni.edu",), ("bob",)
    }  # fmt: skip


def test_a_file_may_have_two_endings(tmp_path):
    for name in ("ada.ipynb.zip", "bob.nbconvert.ipynb", "eve.ipynb.ipynb", ".ipynb"):
        (tmp_path / name).write_text("{}")
    assert {f.called for f in collect(tmp_path)} >= {("ada",), ("bob",), ("eve",)}


def test_a_file_that_is_too_large_is_named_by_its_size_and_not_read(folder, tmp_path, monkeypatch):
    path = tmp_path / "ada.ipynb"
    path.write_text("{}")
    [one] = collect(tmp_path)
    _cache_name(one, "s", None)  # the banks are read once
    monkeypatch.setattr("seqattn.grading.classroom.run.MOST_BYTES", 1)
    monkeypatch.setattr(Path, "read_bytes", None)
    before = _cache_name(one, "s", None)
    path.write_text("{ }")
    assert _cache_name(one, "s", None) != before


@pytest.mark.parametrize("command", ["grade-class", "gradescope"])
def test_an_exercise_that_is_none_is_refused_before_anything(command, tmp_path):
    done = seqattn(command, tmp_path, "--out", tmp_path / "out", "--exercise", "03")
    assert done.returncode == 2
    assert "03" in done.stderr
    assert not (tmp_path / "out").exists()


def test_t_120_the_reports_are_the_same_whatever_the_number_of_jobs(
    folder, roster, graded, tmp_path
):
    alone = grade_all(handed(folder), "s", tmp_path / "store", jobs=1)
    for name, grades in (("one", alone), ("two", graded)):
        copied = copy.deepcopy(grades)
        write_reports(tmp_path / name, all_reports(settle(handed(folder), copied, roster)))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_t_118_an_interrupted_run_goes_on_where_it_stopped(folder, tmp_path):
    seen = []

    def stop(done, total, one, grade):
        seen.append(one.label)
        raise KeyboardInterrupt

    files = handed(folder)
    with pytest.raises(KeyboardInterrupt):
        grade_all(files, "s", tmp_path, tell=stop)
    rest = []
    found = grade_all(files, "s", tmp_path, tell=lambda d, t, one, g: rest.append(one.label))
    assert list(found) == [f.label for f in files]
    assert seen[0] not in rest
    assert len(rest) < len(files)


def test_a_changed_file_is_graded_again(folder, tmp_path):
    shutil.copytree(folder / "ada", tmp_path / "in" / "ada")
    files = collect(tmp_path / "in")
    assert grade_all(files, "s", tmp_path / "st")[files[0].label].points == 16
    files[0].path.write_text(json.dumps(STUB), encoding="utf-8")
    assert grade_all(files, "s", tmp_path / "st")[files[0].label].points == 0


def test_t_115_a_class_is_not_graded_in_weak_isolation_unless_told(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(Sandbox, "isolation", property(lambda self: "weak: for a test"))
    files = handed(folder)[:1]
    with pytest.raises(WeakIsolationError):
        grade_all(files, "s", tmp_path)
    assert len(grade_all(files, "s", tmp_path, allow_weak=True)) == 1


# --- the files -----------------------------------------------------------------------------------


def test_each_record_follows_the_schema(results, tmp_path):
    write_reports(tmp_path, all_reports(results))
    records = list((tmp_path / "students").glob("*.json"))
    assert len(records) == 5
    for path in records:
        jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), SCHEMA)


def nasty():
    hint = "=cmd|'/c calc'!A1 \x1b[0m <script>alert(1)</script> \x00"
    v = Verdict("q1", "T", "fail", 0, 2, hint=hint, read="chapters/03_additive: x")
    from seqattn.grading.classroom.roster import Person

    grade = Grade("=a.ipynb", "03_additive", "", [v], "s", "full")
    return [Result(Person("=1+1", "@sum", "-x@y"), grade, "=a.ipynb")]


def test_text_that_is_none_keeps_no_report_from_being_written(tmp_path):
    [one] = nasty()
    one.grade.verdicts[0] = Verdict("q1", "T", "error", 0, 2, hint="ValueError: \ud800")
    one.label = "\udcff.ipynb"
    write_reports(tmp_path, all_reports([one]))
    as_text(one.grade).encode("utf-8")


def test_t_092_no_report_carries_a_formula_or_markup(tmp_path):
    write_reports(tmp_path, all_reports(nasty(), book="https://example.org/book/"))
    for path in tmp_path.rglob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))):
            assert all(cell.lstrip()[:1] not in ("=", "+", "-", "@") for cell in row if cell)
    for path in tmp_path.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert "<script>" not in page
        assert "\x1b" not in page
    [page] = [p.read_text("utf-8") for p in (tmp_path / "feedback").iterdir()]
    assert 'href="https://example.org/book/chapters/03_additive.html#x"' in page
    ElementTree.fromstring((tmp_path / "junit.xml").read_text(encoding="utf-8"))


def test_gradescope_and_junit_have_every_question(results):
    [ada] = [r for r in results if r.person and r.person.id == "ada"]
    tests = json.loads(as_gradescope(ada.grade))["tests"]
    assert sum(t["score"] for t in tests) == sum(t["max_score"] for t in tests) == 16
    suites = ElementTree.fromstring(as_junit(results)).findall("testsuite")
    assert [s.get("tests") for s in suites if s.get("name") == "ada"] == ["6"]
    assert sum(len(s.findall("testcase/error")) for s in suites) == 2


def test_moodle_has_a_row_for_each_person(results, tmp_path):
    write_reports(tmp_path, all_reports(results))
    rows = {r["student"]: r for r in table(tmp_path / "moodle.csv")}
    assert {k: r["Grade"] for k, r in rows.items()} == {
        "ada": "16",
        "bob": "0",
        "cy": "",
        "eve": "",
    }
    assert NO_TANH.hint in rows["bob"]["Feedback comments"]
    # Moodle would take the end of an id for the number of somebody else.
    identifiers = {id_: row["Identifier"] for id_, row in rows.items()}
    assert identifiers == {"ada": "", "bob": "Participant 123", "cy": "", "eve": ""}


def test_the_summary_names_the_most_frequent_mistake(results, tmp_path):
    write_reports(tmp_path, all_reports(results))
    said = (tmp_path / "summary.html").read_text(encoding="utf-8")
    assert f"{NO_TANH.name} (1)" in said
    assert "2 students, median 8 of 16 points" in said


def test_a_fault_of_the_grader_is_a_blank_and_never_a_zero(tmp_path):
    one = nasty()[0]
    one.grade.verdicts[0] = Verdict("q1", "T", "grader_error", 0, 2)
    write_reports(tmp_path, all_reports([one]))
    [row] = table(tmp_path / "grades.csv")
    assert (row["points"], row["03_additive q1"]) == ("", "")
    [row] = table(tmp_path / "moodle.csv")
    assert row["Grade"] == ""


def test_the_autograder_is_packed_the_same_twice(tmp_path):
    (tmp_path / "seqattn-1.whl").write_bytes(b"wheel")
    for name in ("a.zip", "b.zip"):
        autograder_zip("03_additive", tmp_path / "seqattn-1.whl", tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert set(archive.namelist()) == {"setup.sh", "run_autograder", "seqattn-1.whl"}
        assert "--exercise 03_additive" in archive.read("run_autograder").decode()


def test_an_exercise_is_known_before_it_is_graded(folder, tmp_path):
    [notebook] = (folder / "ada").glob("*.ipynb")
    assert exercise_in(notebook) == "03_additive"
    (tmp_path / "a.ipynb").write_text("{")
    assert exercise_in(tmp_path / "a.ipynb") == exercise_in(tmp_path / "none.ipynb") == ""


def test_an_autograder_has_the_seed_of_the_class(folder, tmp_path, monkeypatch):
    seeds = []

    class Noted(Judge):
        def __init__(self, seed=None):
            seeds.append(seed)
            super().__init__(seed)

    monkeypatch.setattr("seqattn.grading.judge.Judge", Noted)
    options = ("--exercise", "02_softmax", "--out", tmp_path / "results.json")
    for seed in ((), ("--seed", "a b")):
        assert seqattn("gradescope", folder / "ada", *options, *seed).returncode == 0
    assert seeds == [None, "a b"]
    wheel = tmp_path / "seqattn-1.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("seqattn/grading/banks/03_additive.bank", "")
    packed = ("autograder", "03_additive", "--wheel", wheel, "-o", tmp_path / "a.zip")
    assert seqattn(*packed, "--seed", "a b").returncode == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert "results.json --seed 'a b'" in archive.read("run_autograder").decode()


# --- regrading -----------------------------------------------------------------------------------


def test_t_119_only_what_changed_is_listed():
    def record(points, verdict):
        one = {"question": "q1", "points": points, "verdict": verdict}
        return {
            "problem": "",
            "verdicts": [one, {"question": "q2", "points": 1, "verdict": "pass"}],
        }

    changes = list_changes(
        {"ada": record(0, "fail")}, {"ada": record(3, "pass"), "bob": record(1, "x")}
    )
    assert [(c.record, c.question, c.before, c.after) for c in changes] == [
        ("ada", "q1", "0 fail", "3 pass"),
        ("bob", "q1", "none", "1 x"),
        ("bob", "q2", "none", "1 pass"),
    ]


@pytest.mark.slow
def test_t_119_a_class_is_graded_and_regraded_with_points_given_by_hand(folder, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER, encoding="utf-8")
    shutil.copytree(folder, tmp_path / "in", symlinks=True)
    (tmp_path / "in" / "roster.csv").unlink()
    out, again = tmp_path / "out", tmp_path / "again"
    done = seqattn("grade-class", tmp_path / "in", "--roster", roster, "-o", out, "-j", 2)
    assert done.returncode == 0, done.stderr
    assert "files fit nobody on the roster, or several people" in done.stderr
    before = contents(out)
    seed = load_run(out)["seed"]
    assert seqattn("grade-class", tmp_path / "in", "--roster", roster, "-o", out).returncode == 0
    assert contents(out) == before
    (out / "overrides.csv").write_text("student,question,points,reason\nbob,q1,2,said so orally\n")
    done = seqattn("regrade", "--diff", out, "-o", again)
    assert done.returncode == 0, done.stderr
    assert load_run(again)["seed"] == seed
    assert "bob-03_additive  q1: 0 fail -> 2 partial, by hand (0 by" in done.stdout
    assert "1 changes for 1 students" in done.stdout
    assert (
        "points given by hand (0 by the grader): said so orally"
        in (again / "grades.csv").read_text()
    )
    assert {r["student"]: r["points"] for r in table(again / "grades.csv")}["bob"] == "2"
    third = seqattn("regrade", "--diff", again, "-o", tmp_path / "third")
    assert third.stdout.strip().endswith("no score changed")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("ada,q1,many", "line 2: 'many' is no number"),
        ("ada,q1,nan", "line 2: nan points"),
        ("ada,q1,inf", "line 2: inf points"),
        ("ada,q1,0.3", "whole or half points"),
        ("ada,q1,1\nada,q1,2", "line 3: q1 of ada is given points a second time"),
        ("ada,q1,1000", "line 2: 1000 points for ada, q1: expected 0 to 3"),
        ("ada,q1,-5", "line 2: -5 points for ada, q1"),
        ("ada,q1,1\nadam,q1,1", "line 3: nobody here is called 'adam'"),
        ("ada,q77,1", "line 2: ada has no graded question 'q77'"),
        ("cy,q1,1", "line 2: cy has no graded question 'q1'"),
    ],
)
def test_overrides_that_make_no_sense_are_refused(rows, why, results, tmp_path):
    (tmp_path / "o.csv").write_text(f"student,question,points\n{rows}\n")
    with pytest.raises(ValueError, match=re.escape(why)):
        check_overrides(read_overrides(tmp_path / "o.csv"), results)
    assert read_overrides(tmp_path / "none.csv") == {}


def test_points_for_a_question_of_several_exercises_must_say_which(results):
    [ada] = [r for r in results if r.person and r.person.id == "ada" and r.grade]
    other = copy.deepcopy(ada)
    other.grade = Grade(**{**vars(ada.grade), "exercise": "04_scores"})
    both = [ada, other]
    with pytest.raises(ValueError, match="ada has q1 in 2 exercises; write '"):
        check_overrides({("ada", "q1"): Given(1, "", 2)}, both)
    check_overrides({("ada", f"{ada.grade.exercise} q1"): Given(1, "", 2)}, both)


def test_half_points_and_who_gave_them_stand_in_the_table(results, tmp_path):
    (tmp_path / "o.csv").write_text("student,question,points,reason\nada,q1,2.5,late\n")
    given = read_overrides(tmp_path / "o.csv")
    check_overrides(given, results)
    write_reports(tmp_path, all_reports(results, overrides=given))
    [ada] = [row for row in table(tmp_path / "grades.csv") if row["student"] == "ada"]
    assert (ada["03_additive q1"], ada["points"]) == ("2.5", "15.5")
    assert "q1: points given by hand (3 by the grader): late" in ada["notes"]
    record = json.loads((tmp_path / "students" / "ada-03_additive.json").read_text())
    jsonschema.validate(record, SCHEMA)


def test_a_roster_that_names_nobody_or_one_twice_is_refused(tmp_path):
    path = tmp_path / "roster.csv"
    for text, why in (
        ("id,name\n", "nobody below it"),
        ("id,name\nada,Ada\nada,Bob\n", "line 3: ada is also Ada"),
        ("colour\nred\n", "expected id, name or email"),
        ("id,name\nada," + "x" * 200_000, "line 2: field larger"),
        ("id,name\nada,\0\n", None),
    ):
        path.write_text(text, encoding="utf-8")
        if why:
            with pytest.raises(ValueError, match=why):
                read_roster(path)
        else:
            read_roster(path)
    path.write_bytes("id,name\né,É\n".encode("utf-16"))
    with pytest.raises(ValueError, match="not UTF-8"):
        read_roster(path)


def damaged(method):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("nb.ipynb", json.dumps(filled(RIGHT)))
    data = bytearray(stream.getvalue())
    middle = len(data) // 2
    data[middle : middle + 200] = b"\x99" * 200
    return bytes(data)


def two_notebooks():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for folder in ("first", "second"):
            archive.writestr(f"{folder}/nb.ipynb", json.dumps(filled(RIGHT)))
    return stream.getvalue()


def cells_of(*sources):
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


HOSTILE = {
    "deflate": damaged(zipfile.ZIP_DEFLATED),
    "lzma": damaged(zipfile.ZIP_LZMA),
    "bzip2": damaged(zipfile.ZIP_BZIP2),
    "two of one name": two_notebooks(),
    "newlines": cells_of("\n" * 60_000 + "x"),
    "blanks": cells_of((" " * 500 + "\n") * 100 + "# Question q1\n" + "? " * 20_000),
    "fences": b"```python\n" * 20_000,
    "many cells": cells_of(*["def additive_score(): pass\n" + "x = 1\n" * 1400] * 1900),
    "magics": cells_of(*["x=[" + "1," * 22_000 + "]\n" + "%a\n" * 55] * 40),
    "magics in many cells": cells_of(*["x=[" + "1," * 400 + "]\n" + "%a\n" * 55] * 2_000),
    "many digits": b'{"cells": [' + b"9" * 100_000 + b"]}",
    "deep": b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_costs_its_author_a_row_and_nobody_else_anything(name, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "mal.ipynb").write_bytes(HOSTILE[name])
    (tmp_path / "in" / "ada.ipynb").write_text(json.dumps(filled(RIGHT)))
    files = collect(tmp_path / "in")
    before = time.process_time()
    grades = grade_all(files, "s", tmp_path / "store")
    # Of this process: reading what was handed in, not judging it.
    assert time.process_time() - before < 30
    assert grades["ada.ipynb"].points == 16
    assert grades["mal.ipynb"].points == 0
    assert grades["mal.ipynb"].problem or all(v.hint for v in grades["mal.ipynb"].verdicts[:1])
    write_reports(tmp_path / "out", all_reports(settle(files, grades, [])))
    assert len(table(tmp_path / "out" / "grades.csv")) == 2


def test_no_tree_of_a_file_is_kept_once_it_is_graded(folder, tmp_path):
    files = [f for f in collect(folder) if f.label.startswith("ada")]
    grade_all(files, "s", tmp_path)
    for remembered in (answers._traits_of, answers._clean, answers._tree):
        assert remembered.cache_info().currsize == 0


def test_a_fault_of_ours_in_reading_a_file_is_told_and_not_kept(folder, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("seqattn.grading.judge.exercise_of", broken)
    files = [f for f in collect(folder) if f.label.startswith("ada")]
    [grade] = grade_all(files, "s", tmp_path).values()
    assert grade.problem == "grader_error: reading it failed (ZeroDivisionError)"
    assert not list(tmp_path.iterdir())


def test_what_a_folder_contains_never_speaks_for_another_student(tmp_path):
    (tmp_path / "eve").mkdir()
    (tmp_path / "eve" / "nb.ipynb").write_text("{}")
    users = {"users": [{"name": "Ada", "email": "ada@x.org"}], "eve": {"users": []}}
    (tmp_path / "eve" / "submission_metadata.json").write_text(json.dumps(users))
    os.mkfifo(tmp_path / "eve" / "submission_metadata.yml")
    assert [(f.label, f.called) for f in collect(tmp_path)] == [("eve/nb.ipynb", ("eve",))]


@pytest.mark.parametrize(
    "text",
    ["a: {}", "a: 1", "a: {users: 1}", "a: {users: [1]}", "- a", "[" * 5000, "a: &x [*x]", "a: \0"],
)
def test_an_export_that_says_nothing_of_its_submitters_is_refused_in_a_sentence(text, tmp_path):
    (tmp_path / "submission_metadata.yml").write_text(text)
    with pytest.raises(ValueError, match="does not say who handed in what"):
        collect(tmp_path)


@pytest.mark.parametrize("users", ["''", "[]", "[{}]", "[{name: ''}]"])
def test_an_entry_that_names_nobody_leaves_the_folder_its_name(users, tmp_path):
    (tmp_path / "submission_metadata.yml").write_text(f"a: {{users: {users}}}")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "nb.ipynb").write_text("{}")
    [handed] = collect(tmp_path)
    assert find_person(handed, []) == (Person("a"), "")


def test_what_is_no_text_names_nobody(tmp_path):
    """Names that refer to each other would be text of any length."""
    doubled = ", ".join(f"&x{n + 1} [*x{n}, *x{n}]" for n in range(60))
    users = f"[{{more: [&x0 [a], {doubled}], name: *x60, email: a@x.org, sid: 7}}]"
    (tmp_path / "submission_metadata.yml").write_text(f"a: {{users: {users}}}")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "nb.ipynb").write_text("{}")
    [found] = collect(tmp_path)
    assert found.called == ("a@x.org", "7")


def test_names_that_begin_alike_or_with_a_dot_keep_their_files(tmp_path):
    names = {
        "leean_11_1_nb.ipynb",
        "leeanna_12_2_answer.txt",
        "leeanna_12_3_more.txt",
        ".hidden.ipynb",
        "._nb.ipynb",
        ".DS_Store",
    }
    for name in names:
        (tmp_path / name).write_text("{}")
    found = {f.label for f in collect(tmp_path)}
    assert found == names - {"._nb.ipynb", ".DS_Store"}


def test_evidence_has_a_number_of_its_own_on_canvas(tmp_path):
    for name in ("annb_1_70_nb.ipynb", "annb_1_71_scaling.npz", "annbo_2_72_scaling.npz"):
        (tmp_path / name).write_text(name)
    own = Submission(tmp_path / "annb_1_70_nb.ipynb", [])
    assert own.evidence("scaling.npz") == b"annb_1_71_scaling.npz"
    (tmp_path / "annb_1_71_scaling.npz").unlink()
    assert own.evidence("scaling.npz") is None


def test_a_long_name_has_reports_too(tmp_path):
    person = Person("\u6f22" * 80)
    result = Result(person, Grade("nb", "03_additive", "", [], "s", ""), "nb")
    write_reports(tmp_path, all_reports([result, result]))
    assert len(list((tmp_path / "feedback").iterdir())) == 2


def test_a_full_disk_is_said_and_keeps_the_seed(folder, tmp_path, monkeypatch):
    out = tmp_path / "out"
    save_run(out, {"submissions": str(folder), "seed": "abc"})
    room = Path.write_text

    def full(path, text, *args, **options):
        if path.parent.is_relative_to(out):
            room(path, text[:1], *args, **options)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return room(path, text, *args, **options)

    monkeypatch.setattr(Path, "write_text", full)
    done = seqattn("grade-class", folder / "ada", "-o", out, "-j", 1)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "the same command goes on" in done.stderr
    monkeypatch.undo()
    assert load_run(out)["seed"] == "abc"
    assert not list(out.rglob("*.part"))


def test_no_page_of_a_student_says_the_seed(results, tmp_path):
    secret = "an unguessable seed"
    for result in results:
        if result.grade:
            result.grade = Grade(**{**vars(result.grade), "seed": secret})
    write_reports(tmp_path, all_reports(results))
    for path in [*(tmp_path / "feedback").iterdir(), *(tmp_path / "gradescope").rglob("*.json")]:
        assert secret not in path.read_text(encoding="utf-8")


def test_a_link_in_a_circle_is_a_row_of_its_own(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "eve.ipynb").symlink_to("eve.ipynb")
    (tmp_path / "in" / "ada.ipynb").write_text(json.dumps(filled(RIGHT)))
    done = seqattn("grade-class", tmp_path / "in", "-o", tmp_path / "in" / "out", "-j", 1)
    assert done.returncode == 0, done.stderr
    rows = {r["student"]: r["status"] for r in table(tmp_path / "in" / "out" / "grades.csv")}
    assert rows == {"ada": "graded", "eve": "unreadable"}
    # What a grading wrote below the submissions is nobody's.
    again = seqattn("grade-class", tmp_path / "in", "-o", tmp_path / "in" / "out", "-j", 1)
    assert "2 rows" in again.stdout


def test_what_cannot_be_graded_beside_what_can_is_noted(tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "nb.ipynb").write_text(json.dumps(filled(RIGHT)))
    (tmp_path / "ada" / "helpers.py").write_text("x = 1")
    (tmp_path / "ada" / "old.ipynb").write_text("<html>")
    files = collect(tmp_path)
    row, old = settle(files, grade_all(files, "s", tmp_path / "store"), [])
    assert row.grade.points == 16
    [note] = row.grade.notes
    assert note.startswith("not graded: ada/helpers.py: unreadable: not JSON, and no notebook")
    # A notebook is no helper: what is lost with it nobody knows.
    assert old.label == "ada/old.ipynb"
    assert old.grade.problem.startswith("unreadable: a web page, not a notebook")


def test_results_never_depend_on_who_else_handed_in(folder, roster, graded, tmp_path):
    """Each student's record, page and row are the same in a class of one."""
    files = handed(folder)
    copied = copy.deepcopy(graded)
    write_reports(tmp_path / "all", all_reports(settle(files, copied, roster)))
    compared = 0
    for person in roster:
        own = [f for f in files if find_person(f, roster)[0] == person]
        if not own:
            continue
        grades = grade_all(own, "s", tmp_path / f"store-{person.id}")
        write_reports(tmp_path / person.id, all_reports(settle(own, grades, roster)))
        for kind in ("students", "feedback"):
            for path in (tmp_path / person.id / kind).iterdir():
                assert path.read_bytes() == (tmp_path / "all" / kind / path.name).read_bytes()
                compared += 1
        rows = [table(tmp_path / where / "grades.csv") for where in (person.id, "all")]
        one, other = ([{k: v for k, v in r.items() if v} for r in found if r["student"] == person.id]
                      for found in rows)  # fmt: skip
        assert one == other
    assert compared == 6


def test_a_failure_of_ours_is_no_zero_at_gradescope():
    ours = Grade("nb", "", "grader_error: reading it failed (KeyError)", [], "s", "")
    assert "score" not in json.loads(as_gradescope(ours))
    theirs = Grade("nb", "", "unreadable: the file is empty", [], "s", "")
    assert json.loads(as_gradescope(theirs))["score"] == 0


def test_the_page_of_a_student_names_them_and_shows_their_code(results, tmp_path):
    write_reports(tmp_path, all_reports(results, book="https://example.org"))
    page = (tmp_path / "feedback" / "bob-03_additive.html").read_text(encoding="utf-8")
    assert "<title>Additive attention: Bob</title>" in page
    assert NO_TANH.code.split("\n")[0] in html.unescape(page)
    assert '<span data-line="' in page
    assert "https://example.org/chapters/03_additive.html#" in page


@pytest.mark.slow
def test_gradescope_hears_of_a_failure_of_ours(folder, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("seqattn.grading.judge.exercise_of", broken)
    done = seqattn("gradescope", folder / "ada", "--out", tmp_path / "results.json")
    assert done.returncode == 2
    assert "reading it failed (ZeroDivisionError): run it again" in done.stderr
    assert "score" not in json.loads((tmp_path / "results.json").read_text())


@pytest.mark.slow
def test_gradescope_writes_its_results(folder, tmp_path):
    done = seqattn("gradescope", folder / "ada", "--out", tmp_path / "r" / "results.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "r" / "results.json").read_text())
    assert len(found["tests"]) == 6
    assert "hand in one" not in found["output"]


def test_gradescope_says_which_of_several_notebooks_it_grades(folder, tmp_path):
    both = tmp_path / "both"
    both.mkdir()
    [notebook] = (folder / "ada").glob("*.ipynb")
    for name in ("a.ipynb", "b.ipynb"):
        shutil.copy(notebook, both / name)
    assert seqattn("gradescope", both, "--out", tmp_path / "r.json").returncode == 0
    said = json.loads((tmp_path / "r.json").read_text())["output"]
    assert "of 2 notebooks b.ipynb is graded: hand in one" in said
