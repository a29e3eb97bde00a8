"""What lies in a folder of submissions: whose each file and each folder is, by what is in it."""

import json
import zipfile

import pytest

from seqattn.grading.classroom.roster import Person, candidates, find_person
from seqattn.grading.classroom.submissions import collect

MOODLE = "assignsubmission_file"


@pytest.fixture
def handed(tmp_path):
    """Hand files in; give what each says of its author, by label, with a roster or without."""

    def handed(*names, people=()):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
        roster = [Person(*person) for person in people]
        found = collect(tmp_path, lambda one: bool(candidates(one, roster)))
        return {one.label: one.called[0] for one in found}

    return handed


def pack(path, *files):
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.write(file, file.name)


# --- folders around those of students


@pytest.mark.parametrize(
    "names",
    [
        (f"A1/Al_1_{MOODLE}/a.ipynb", f"A2/Bo_7_{MOODLE}/a.ipynb"),
        (f"03_additive/A1/Al_1_{MOODLE}/a.ipynb", f"03_additive/A1/Bo_2_{MOODLE}/a.ipynb"),
        (f"new/A1/Al_1_{MOODLE}/a.ipynb", f"new/A2/Bo_2_{MOODLE}/a.ipynb"),
        (f"A1/Al_1_{MOODLE}/a.ipynb", "03_additive/Bo.ipynb"),
        ("class/Al/a.ipynb", "class/Bo/b.ipynb"),
        ("class/Al/a.ipynb", "class/Bo/b.ipynb", "class/README.md"),
        ("week 3/03_additive/Al.ipynb", "week 3/03_additive/Bo.ipynb"),
        ("03 Additive/Al.ipynb", "03 Additive/Bo.ipynb", "05-scaled/Al/b.ipynb"),
        ("w/03_additive/Al/a.ipynb", "w/05_scaled/Bo/b.ipynb", "w/05_scaled/Al/b.ipynb"),
    ],
)  # fmt: skip
def test_what_is_around_everybody_is_nobodys(names, handed):
    assert {*handed(*names).values()} - {"README"} == {"Al", "Bo"}


@pytest.mark.parametrize(
    "names",
    [
        ("class/Al.ipynb", "class/Bo.ipynb"),
        ("section A/Al.ipynb", "section A/Bo/b.ipynb", "section B/Cy.ipynb", "section B/Di.ipynb"),
        ("A/03_additive/Al.ipynb", "A/03_additive/Bo/b.ipynb", "B/05_scaled/Cy.ipynb",
         "B/05_scaled/Di/b.ipynb"),
        ("section A/Al.ipynb", "section A/Bo.ipynb", "section A/typo.ipynb"),
    ],
)  # fmt: skip
def test_where_names_of_the_roster_stand_there_is_the_class(names, handed):
    found = handed(*names, people=[("1", "Al"), ("2", "Bo"), ("3", "Cy"), ("4", "Di")])
    assert {*found.values()} - {"typo"} in ({"Al", "Bo"}, {"Al", "Bo", "Cy", "Di"})


@pytest.mark.parametrize(
    "names",
    [
        ("al/1.ipynb", "bo/1.ipynb"),
        ("al/1.ipynb", "al/2.ipynb", "bo/1.ipynb", "bo/2.ipynb"),
        ("al/01/a.ipynb", "al/2/a.ipynb", "bo/01/a.ipynb", "bo/2/a.ipynb"),
    ],
)
def test_notebooks_with_numbers_for_names_are_not_of_those_with_these_ids(names, handed):
    found = handed(*names, people=[("1", "Cy"), ("2", "Di"), ("01", "Ed")])
    assert {*found.values()} == {"al", "bo"}


@pytest.mark.parametrize(
    ("names", "whose"),
    [
        (("al/03_additive/a.ipynb", "al/05_scaled/b.ipynb"), {"al"}),
        (("al/one.ipynb", "al/two.ipynb"), {"al"}),
        (("al/exercises/a.ipynb", "al/drafts/b.ipynb", "bo/exercises/a.ipynb", "bo/more/b.ipynb"),
         {"al", "bo"}),
        (("al/a.ipynb", "cy/bo/a.ipynb", "cy/al/a.ipynb"), {"al", "cy"}),
        ((f"al/Bo_7_{MOODLE}/a.ipynb", "cy/a.ipynb"), {"al", "cy"}),
        ((f"Al_1_{MOODLE}/Bo_7_{MOODLE}/a.ipynb",), {"Al"}),
        (("al/one/a.ipynb", "al/two/b.ipynb", "cy/run.json", "cy/a.ipynb"), {"al", "cy"}),
    ],
)  # fmt: skip
def test_a_students_folder_stays_one(names, whose, handed):
    assert {*handed(*names).values()} == whose


def test_a_folder_with_a_dot_in_its_name_is_known_by_all_of_it(tmp_path, handed):
    people = [("1", "Al", "al@u.org"), ("2", "J. R. Bo", "bo@u.org")]
    own = handed("al@u.org/one/a.ipynb", "al@u.org/two/b.ipynb", people=people)
    assert {*own.values()} == {"al@u.org"}
    (tmp_path / "al@u.org").rename(tmp_path / "A")
    (tmp_path / "A" / "one").rename(tmp_path / "A" / "al@u.org")
    (tmp_path / "A" / "two").rename(tmp_path / "A" / "J. R. Bo")
    both = handed("B/al@u.org/c.ipynb", "B/bo@u.org/c.ipynb", people=people)
    assert {*both.values()} == {"al@u.org", "J. R. Bo", "bo@u.org"}


def test_who_is_on_the_roster_has_a_folder_and_not_those_named_in_it(handed):
    people = [("1", "Al"), ("2", "Bo")]
    assert {*handed("Al/Bo/a.ipynb", "Al/Al/a.ipynb", people=people).values()} == {"Al"}


def test_an_export_in_a_folder_with_a_students_name_is_one(handed):
    names = (f"A1/Al_1_{MOODLE}/a.ipynb", f"A1/Bo_7_{MOODLE}/a.ipynb")
    assert {*handed(*names, people=[("A1", "Cy")]).values()} == {"Al", "Bo"}


def test_nobody_is_told_to_call_the_folder_of_many_after_one(tmp_path, handed):
    people = [Person("1", "Al"), Person("2", "Bo"), Person("3", "Cy")]
    handed("class/Al.ipynb", "class/Bo/b.ipynb", "class/x/b.ipynb", "Cy/a.ipynb")
    said = {one.label: find_person(one, people)[1] for one in collect(tmp_path)}
    mend = ": rename the folder to the student's id"
    assert said["class/x/b.ipynb"].endswith(mend)
    for label in ("class/Al.ipynb", "class/Bo/b.ipynb"):
        told = f"{mend}, or, if class is nobody's folder, take out what is in it"
        assert said[label].endswith(told)


def test_each_exercise_may_have_an_export_of_its_own(tmp_path, handed):
    for exercise, who in (("03_additive", "al@u"), ("05_scaled", "bo@u")):
        (tmp_path / exercise).mkdir()
        users = {"submission_1": {":submitters": [{":email": who}]}}
        (tmp_path / exercise / "submission_metadata.yml").write_text(json.dumps(users))
    names = ("03_additive/submission_1/a.ipynb", "05_scaled/submission_1/a.ipynb")
    assert handed(*names) == dict(zip(names, ("al@u", "bo@u"), strict=True))


# --- archives


def test_an_archive_beside_what_was_unpacked_from_it_is_not_handed_in_twice(tmp_path, handed):
    handed("al/a.ipynb", "al/b.ipynb", "bo.ipynb", "cy/a.ipynb")
    pack(tmp_path / "al" / "work.zip", tmp_path / "al" / "a.ipynb", tmp_path / "al" / "b.ipynb")
    pack(tmp_path / "cy.zip", tmp_path / "cy" / "a.ipynb")
    assert handed().keys() == {"al/a.ipynb", "al/b.ipynb", "bo.ipynb", "cy/a.ipynb"}
    (tmp_path / "al" / "b.ipynb").write_text("[]")  # of the same size: the archive holds another
    assert "al/work.zip" in handed()


def test_an_archive_of_the_class_stays_nobodys_when_a_folder_is_renamed(tmp_path, handed):
    handed("al/a.ipynb", "bo/a.ipynb")
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for who in ("al", "bo"):
            archive.write(tmp_path / who / "a.ipynb", f"{who}/a.ipynb")
    (tmp_path / "bo").rename(tmp_path / "512")
    assert handed().keys() == {"al/a.ipynb", "512/a.ipynb"}


def test_an_archive_beside_several_exports_is_nobodys(tmp_path, handed):
    names = (f"A1/Al_1_{MOODLE}/a.ipynb", f"A2/Bo_7_{MOODLE}/a.ipynb")
    handed(*names, "roster.csv", "notes.pdf")
    for part, who in (("A1", f"Al_1_{MOODLE}"), ("A2", f"Bo_7_{MOODLE}")):
        with zipfile.ZipFile(tmp_path / f"{part}.zip", "w") as archive:
            archive.write(tmp_path / part / who / "a.ipynb", f"{who}/a.ipynb")
    assert handed().keys() == {*names}
    with zipfile.ZipFile(tmp_path / "A2.zip", "a") as archive:
        archive.writestr(f"Cy_9_{MOODLE}/a.ipynb", "[]")  # late, and not unpacked
    assert handed("cy.zip").keys() == {*names, "A2.zip", "cy.zip"}  # late, by mail
    (tmp_path / "di.txt").write_text('{"cells": []}')  # so a browser saved it
    assert "di.txt" in handed()


def test_what_was_handed_out_or_another_has_makes_no_students_archive_one_of_the_class(
    tmp_path, handed
):
    handed("maps.npz", "attention.py", "al.ipynb")
    (tmp_path / "al.ipynb").write_text("[]")
    with zipfile.ZipFile(tmp_path / "bo.zip", "w") as archive:
        archive.writestr("mine.ipynb", "{ }")
        for beside in ("maps.npz", "attention.py"):
            archive.write(tmp_path / beside, beside)
    pack(tmp_path / "cy.zip", tmp_path / "al.ipynb")
    assert handed().keys() == {"attention.py", "al.ipynb", "bo.zip", "cy.zip"}
    handed("stubs/1.ipynb", "stubs/2.ipynb")
    for owner in ("di", "ed_7_8_mine"):
        pack(tmp_path / f"{owner}.zip", *(tmp_path / "stubs" / f"{n}.ipynb" for n in (1, 2)))
    assert {"di.zip", "ed_7_8_mine.zip"} <= handed(people=[("1", "Di")]).keys()


# --- groups


def test_a_groups_folder_keeps_its_name(tmp_path, handed):
    users = [{"name": "Al", "email": "al@u"}, {"name": "Bob", "email": "bob@home"}]
    told = tmp_path / "submission_metadata.yml"
    told.write_text(json.dumps({"submission_1": {"users": users}}))
    handed("submission_1/a.ipynb")
    people = [Person("1", "Al"), Person("2", "Robert")]
    said = [find_person(one, people)[1] for one in collect(tmp_path)]
    assert "nobody on the roster is called bob@home or Bob: " in said[1]
    assert said[1].endswith("write the student's id for it into submission_metadata.yml")
    (tmp_path / "submission_1").rename(tmp_path / "2")
    with pytest.raises(ValueError, match=r"names submission_1, handed in by al@u and bob@home, wh"):
        collect(tmp_path)
    (tmp_path / "2").rename(tmp_path / "submission_1")
    told.write_text(told.read_text().replace("bob@home", "2"))
    assert [find_person(one, people)[0] for one in collect(tmp_path)] == people


def test_an_id_with_zeros_in_front_is_no_other_number(tmp_path, handed):
    told = tmp_path / "submission_metadata.yml"
    told.write_text("submission_1:\n  :submitters:\n  - :sid: 0070\n    :name: null\n")
    assert handed("submission_1/a.ipynb") == {"submission_1/a.ipynb": "0070"}


def test_an_address_tells_people_of_one_name_apart(tmp_path, handed):
    users = {f"submission_{n}": {"users": [{"name": "Jo", "email": f"jo{n}@u"}]} for n in (1, 2, 3)}
    (tmp_path / "submission_metadata.yml").write_text(json.dumps(users))
    handed(*(f"{name}/a.ipynb" for name in users))
    people = [Person("1", "Jo", "jo1@u"), Person("2", "Jo", "jo2@u")]
    found = [find_person(one, people) for one in collect(tmp_path)]
    assert [person for person, _ in found] == [*people, None]
    assert "jo3@u or Jo may be any of 1, 2" in found[2][1]
    third = collect(tmp_path)[2]  # a name that stands for an id is no id
    assert find_person(third, [Person("Jo", "Jo"), Person("jo2@u", "Jo", "jo2@u")])[0] is None
