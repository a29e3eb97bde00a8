"""Two wheels from one source: what each holds, and what each can do."""

import json
import subprocess
import sys
import zipfile
import zlib

import pytest

from seqattn.grading import bank
from seqattn.grading.bank import exercises, load
from seqattn.grading.classroom.lms import check_wheel
from seqattn.grading.questions import WRONG_FORMS
from seqattn.grading.sandbox.host import Sandbox
from tests.grading.conftest import EXERCISE, RIGHT, ROOT, STUB, filled
from tools import build


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Unpack both wheels."""
    root = tmp_path_factory.mktemp("editions")
    for edition in build.EDITIONS:
        with zipfile.ZipFile(build.build_wheel(edition)) as wheel:
            wheel.extractall(root / edition)
    return root


def seqattn(folder, *arguments, cwd=None):
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\nfrom seqattn.cli import main; main()"
    command = [sys.executable, "-I", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def everything(folder):
    """Join all text of an edition, banks unpacked."""
    texts = []
    for path in sorted((folder / "seqattn" / "grading").rglob("*")):
        if path.suffix == ".bank":
            texts.append(json.loads(zlib.decompress(path.read_bytes()))["bank"])
        elif path.is_file():
            texts.append(path.read_text(encoding="utf-8"))
    return "\n".join(texts)


def test_both_hold_the_same_files_but_for_the_mark_and_the_banks(installed):
    found = [
        {str(p.relative_to(installed / e)): p.read_bytes() for p in (installed / e).rglob("*.*")
         if p.is_file() and p.name != "RECORD"}
        for e in build.EDITIONS
    ]  # fmt: skip
    instructors, students = found
    differ = {name for name in instructors if instructors[name] != students.get(name)}
    assert students.keys() - instructors.keys() == {f"seqattn/grading/{bank.EDITION}"}
    assert differ == {f"seqattn/grading/banks/{name}.bank" for name in exercises()}


def test_no_answer_no_mistake_and_no_oracle_is_in_the_wheel_for_students(installed):
    students, instructors = (everything(installed / e) for e in ("students", "instructors"))
    for name in exercises():
        exercise = load(name)
        for q in exercise.questions:
            # That a list is no tensor is said to anybody, of any question.
            own = [w for w in q.wrong if w.hint not in WRONG_FORMS]
            said = [*(w.hint for w in own), *(stage.hint for stage in q.stages)]
            secret = [*q.right, *(w.code for w in q.wrong), *said]
            assert not [text for text in secret if repr(text)[1:-1] in students or text in students]
        assert all(p.key not in students for p in exercise.pristine.values())
        bank = (ROOT / "solutions" / f"bank_{name}.py").read_text(encoding="utf-8")
        # The same look finds them where they are.
        assert bank in instructors
        assert bank not in students
    for path in (installed / "students").rglob("*.bank"):
        content = json.loads(zlib.decompress(path.read_bytes()))
        assert "np." not in content["bank"]
        assert all(set(cell) == {"cell_id", "source"} for cell in content["pristine"].values())


@pytest.mark.parametrize("name", exercises())
def test_what_the_exercise_says_is_kept(name):
    """Its questions, points, cells and release are those of the whole bank."""
    content = json.loads(zlib.decompress(bank.without_keys(name)))
    space = {}
    exec(content["bank"], space)
    made, whole = space["EXERCISE"], load(name)
    assert (made.name, made.title, made.points) == (whole.name, whole.title, whole.points)
    for mine, theirs in zip(made.questions, whole.questions, strict=True):
        for field in ("id", "title", "entry", "signature", "points", "read", "evidence"):
            assert getattr(mine, field) == getattr(theirs, field)
    assert content["release"] == whole.release
    assert content["pristine"].keys() == whole.pristine.keys()
    with pytest.raises(bank.NoKeysError):
        made.questions[0].oracle()


@pytest.mark.slow
def test_students_check_and_are_told_in_a_sentence_that_points_come_from_elsewhere(
    installed, tmp_path
):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(filled(RIGHT)), encoding="utf-8")
    done = seqattn(installed / "students", "check", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("looks right") == len(EXERCISE.questions)
    assert "Next: hand it in" in done.stdout
    path.write_text(json.dumps(STUB), encoding="utf-8")
    done = seqattn(installed / "students", "check", path)
    assert done.stdout.count("not answered yet") == len(EXERCISE.questions)
    for command in (
        ("grade", path),
        ("progress", tmp_path),
        ("audit", "03"),
        ("grade-class", tmp_path, "-o", tmp_path / "out"),
        ("gradescope", tmp_path, "--out", tmp_path / "results.json"),
    ):
        done = seqattn(installed / "students", *command)
        assert (done.returncode, done.stdout) == (2, ""), command
        assert done.stderr == f"seqattn: {bank.NoKeysError()}\n"
    assert "seqattn check" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["mine.ipynb"]


@pytest.mark.slow
def test_instructors_grade(installed, tmp_path):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(filled(RIGHT)), encoding="utf-8")
    done = seqattn(installed / "instructors", "grade", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{EXERCISE.points} of {EXERCISE.points} points" in done.stdout
    assert (tmp_path / "mine.feedback.html").is_file()


def test_no_autograder_is_packed_with_a_wheel_that_cannot_grade(tmp_path):
    check_wheel(build.build_wheel("instructors"))
    with pytest.raises(ValueError, match="students' edition"):
        check_wheel(build.build_wheel("students"))
    (tmp_path / "x.whl").write_bytes(b"wheel")
    with pytest.raises(ValueError, match="no wheel"):
        check_wheel(tmp_path / "x.whl")


def test_a_wheel_of_another_address_is_built_anew(monkeypatch):
    inside = "seqattn/grading/address.txt"
    monkeypatch.setenv("SEQATTN_PUBLISH_BOOK", "https://example.org/book")
    with zipfile.ZipFile(build.build_wheel()) as wheel:
        assert wheel.read(inside) == b"https://example.org/book"
    monkeypatch.undo()
    with zipfile.ZipFile(build.build_wheel()) as wheel:
        assert wheel.read(inside).decode() == build.address.book()


def test_an_edition_that_there_is_not_is_said_so(monkeypatch):
    monkeypatch.setenv("SEQATTN_EDITION", "everybody")
    with pytest.raises(SystemExit, match="expected instructors or students"):
        build.build_wheel()


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        (["Landlock", "seccomp", "limits"], "`full (Landlock, seccomp, limits)`"),
        (["limits", "seccomp"], "`weak: ... no Landlock`"),
        (["limits", "Landlock"], "`no seccomp here`"),
        ([], "`weak: process and timeout only`"),
    ],
)
def test_the_page_on_grading_explains_each_isolation_that_a_report_may_name(layers, said):
    sandbox = Sandbox()
    sandbox.layers = layers
    text = (ROOT / "chapters" / "grading_a_class.md").read_text(encoding="utf-8")
    assert said in text
    begins, _, ends = said.strip("`").partition(" ... ")
    assert begins in sandbox.isolation
    assert ends in sandbox.isolation
    sandbox.close()


def test_the_page_on_grading_names_what_the_students_edition_leaves_out():
    text = (ROOT / "chapters" / "grading_a_class.md").read_text(encoding="utf-8")
    assert "python -m tools.build wheels" in text
    for edition in build.EDITIONS:
        assert f"`{build.wheels(edition).relative_to(ROOT)}`" in text
