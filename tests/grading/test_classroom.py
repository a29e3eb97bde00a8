# ruff: noqa: E501 -- one line a case
"""A class: who is who, the same reports whatever the number of jobs, resuming, regrading."""

import csv
import io
import json
import os
import shutil
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from xml.etree import ElementTree

import jsonschema
import pytest
import typer

from seqattn.grading.classroom import commands
from seqattn.grading.classroom.collecting import collect, find_person, read_roster
from seqattn.grading.classroom.lms import as_gradescope, as_junit, autograder_zip
from seqattn.grading.classroom.outputs import read_overrides, write_all
from seqattn.grading.classroom.regrade import compare, load_run
from seqattn.grading.classroom.run import Result, WeakIsolationError, grade_all, settle
from seqattn.grading.report import SCHEMA, as_text
from seqattn.grading.sandbox.host import Sandbox
from seqattn.grading.verdicts import Grade, Verdict
from tests.grading.conftest import EXERCISE, RIGHT, STUB, filled

WRONG = EXERCISE.question("q1").wrong[0]
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
    put("Bob_123_assignsubmission_file_/second (2).ipynb", filled({"q1": WRONG.code}))
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
def graded(folder, tmp_path_factory):
    return grade_all(handed(folder), "s", tmp_path_factory.mktemp("store"), jobs=2)


@pytest.fixture
def results(folder, graded, roster):
    copied = {label: Grade.from_dict(g.to_dict()) for label, g in graded.items()}
    return settle(handed(folder), copied, roster)


def table(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def contents(out):
    files = (p for p in out.rglob("*") if p.is_file() and ".graded" not in p.parts)
    return {str(p.relative_to(out)): p.read_bytes() for p in files}


def test_t_117_and_t_122_every_student_and_every_file_has_a_row(results, tmp_path):
    write_all(tmp_path, results)
    rows = {r["student"] or r["file"]: r for r in table(tmp_path / "grades.csv")}
    assert {k: (r["status"], r["points"]) for k, r in rows.items()} == {
        "ada": ("graded", "15"),
        "bob": ("graded", "0"),
        "cy": ("absent", ""),
        "eve": ("unreadable", ""),
        "mallory.ipynb": ("unmatched", "1"),
        "link.ipynb": ("unmatched", ""),
    }


def test_t_122_absent_is_blank_or_zero_as_asked(results, tmp_path):
    write_all(tmp_path, results, absent_as_zero=True)
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
    users = {"users": [{"name": "Gil", "email": "g@x.org"}]}
    (tmp_path / "grade" / "submission_metadata.json").write_text(json.dumps(users))
    assert {f.called for f in collect(tmp_path)} == {("Ann B",), ("canvasann",), ("g@x.org", "Gil")}


def test_t_120_the_reports_are_the_same_whatever_the_number_of_jobs(
    folder, roster, graded, tmp_path
):
    alone = grade_all(handed(folder), "s", tmp_path / "store", jobs=1)
    for name, grades in (("one", alone), ("two", graded)):
        copied = {label: Grade.from_dict(g.to_dict()) for label, g in grades.items()}
        write_all(tmp_path / name, settle(handed(folder), copied, roster))
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
    assert grade_all(files, "s", tmp_path / "st")[files[0].label].points == 15
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
    write_all(tmp_path, results)
    records = list((tmp_path / "students").glob("*.json"))
    assert len(records) == 5
    for path in records:
        jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), SCHEMA)


def nasty():
    hint = "=cmd|'/c calc'!A1 \x1b[0m <script>alert(1)</script> \x00"
    v = Verdict("q1", "T", "fail", 0, 2, hint=hint, read="chapters/03_additive: x")
    from seqattn.grading.classroom.collecting import Person

    grade = Grade("=a.ipynb", "03_additive", "", [v], "s", "full")
    return [Result(Person("=1+1", "@sum", "-x@y"), grade, "=a.ipynb")]


def test_text_that_is_none_keeps_no_report_from_being_written(tmp_path):
    [one] = nasty()
    one.grade.verdicts[0] = Verdict("q1", "T", "error", 0, 2, hint="ValueError: \ud800")
    one.label = "\udcff.ipynb"
    write_all(tmp_path, [one])
    as_text(one.grade).encode("utf-8")


def test_t_092_no_report_carries_a_formula_or_markup(tmp_path):
    write_all(tmp_path, nasty(), book="https://example.org/book/")
    for path in tmp_path.rglob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))):
            assert all(cell.lstrip()[:1] not in ("=", "+", "-", "@") for cell in row if cell)
    for path in tmp_path.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert "<script>" not in page
        assert "\x1b" not in page
    [page] = [p.read_text("utf-8") for p in (tmp_path / "feedback").iterdir()]
    assert 'href="https://example.org/book/chapters/03_additive.html"' in page
    ElementTree.fromstring((tmp_path / "junit.xml").read_text(encoding="utf-8"))


def test_gradescope_and_junit_have_every_question(results):
    [ada] = [r for r in results if r.person and r.person.id == "ada"]
    tests = json.loads(as_gradescope(ada.grade))["tests"]
    assert sum(t["score"] for t in tests) == sum(t["max_score"] for t in tests) == 15
    suites = ElementTree.fromstring(as_junit(results)).findall("testsuite")
    assert [s.get("tests") for s in suites if s.get("name") == "ada"] == ["6"]
    assert sum(len(s.findall("testcase/error")) for s in suites) == 2


def test_moodle_has_a_row_for_each_person(results, tmp_path):
    write_all(tmp_path, results)
    rows = {r["Identifier"]: r for r in table(tmp_path / "moodle.csv")}
    assert {k: r["Grade"] for k, r in rows.items()} == {
        "ada": "15",
        "bob": "0",
        "cy": "",
        "eve": "",
    }
    assert WRONG.hint in rows["bob"]["Feedback comments"]


def test_the_summary_names_the_most_frequent_mistake(results, tmp_path):
    write_all(tmp_path, results)
    said = (tmp_path / "summary.html").read_text(encoding="utf-8")
    assert f"{WRONG.name} (1)" in said
    assert "2 students, median 7.5 of 15 points" in said


def test_a_fault_of_the_grader_is_a_blank_and_never_a_zero(tmp_path):
    one = nasty()[0]
    one.grade.verdicts[0] = Verdict("q1", "T", "grader_error", 0, 2)
    write_all(tmp_path, [one])
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


# --- regrading -----------------------------------------------------------------------------------


def test_t_119_only_what_changed_is_listed():
    def record(points, verdict):
        one = {"question": "q1", "points": points, "verdict": verdict}
        return {
            "problem": "",
            "verdicts": [one, {"question": "q2", "points": 1, "verdict": "pass"}],
        }

    changes = compare({"ada": record(0, "fail")}, {"ada": record(3, "pass"), "bob": record(1, "x")})
    assert [(c.record, c.question, c.before, c.after) for c in changes] == [
        ("ada", "q1", "0 fail", "3 pass"),
        ("bob", "q1", "none", "1 x"),
        ("bob", "q2", "none", "1 pass"),
    ]


def seqattn(*arguments):
    """Run a command in this process; return its status and what it printed."""
    app = typer.Typer()
    commands.register(app)
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = app([*map(str, arguments)], standalone_mode=False)
    return SimpleNamespace(returncode=status or 0, stdout=out.getvalue(), stderr=err.getvalue())


@pytest.mark.slow
def test_t_119_a_class_is_graded_and_regraded_with_points_given_by_hand(folder, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER, encoding="utf-8")
    shutil.copytree(folder, tmp_path / "in", symlinks=True)
    (tmp_path / "in" / "roster.csv").unlink()
    out, again = tmp_path / "out", tmp_path / "again"
    done = seqattn("grade-class", tmp_path / "in", "--roster", roster, "-o", out, "-j", 2)
    assert done.returncode == 0, done.stderr
    assert "files fit nobody on the roster" in done.stderr
    before = contents(out)
    seed = load_run(out)["seed"]
    assert seqattn("grade-class", tmp_path / "in", "--roster", roster, "-o", out).returncode == 0
    assert contents(out) == before
    (out / "overrides.csv").write_text("student,question,points,reason\nbob,q1,2,said so orally\n")
    done = seqattn("regrade", "--diff", out, "-o", again)
    assert done.returncode == 0, done.stderr
    assert load_run(again)["seed"] == seed
    assert "bob-03_additive  q1: 0 fail -> 2 fail" in done.stdout
    assert "1 changes for 1 students" in done.stdout
    assert {r["student"]: r["points"] for r in table(again / "grades.csv")}["bob"] == "2"
    third = seqattn("regrade", "--diff", again, "-o", tmp_path / "third")
    assert third.stdout.strip().endswith("no score changed")


def test_overrides_that_make_no_sense_are_refused(tmp_path):
    (tmp_path / "o.csv").write_text("student,question,points\nada,q1,many\n")
    with pytest.raises(ValueError, match="line 2"):
        read_overrides(tmp_path / "o.csv")
    assert read_overrides(tmp_path / "none.csv") == {}


@pytest.mark.slow
def test_gradescope_writes_its_results(folder, tmp_path):
    done = seqattn("gradescope", folder / "ada", "--out", tmp_path / "r" / "results.json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads((tmp_path / "r" / "results.json").read_text())["tests"]) == 6
