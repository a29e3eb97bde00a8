"""Whose a file is: rosters as people and platforms write them, names as platforms spell them."""

import re
import tempfile
import time
from pathlib import Path

import pytest

from seqattn.grading.classroom.roster import (
    Person,
    candidates,
    find_person,
    read_roster,
)
from seqattn.grading.classroom.submissions import Handed, collect, natural


def roster(tmp_path, text):
    path = tmp_path / "roster.csv"
    path.write_text(text, encoding="utf-8")
    return read_roster(path)


def found(people, label):
    """Give the id of whose a file is, or why it is nobody's."""
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / label
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        [handed] = collect(Path(root))
    person, problem = find_person(handed, people)
    return person.id if person else problem


def named(*names):
    return [Person(str(number), name) for number, name in enumerate(names, 501)]


def test_whoever_has_no_id_yet_is_known_by_address_or_name(tmp_path):
    people = roster(tmp_path, "id,name,email\n1,Al,al@u\n,Bo,bo@u\n,Cy,\n,,\n")
    assert [p.id for p in people] == ["1", "bo@u", "Cy"]
    assert found(people, "Bo_2_assignsubmission_file/nb.ipynb") == "bo@u"


def test_the_line_of_canvas_that_is_nobodys_is_left_out(tmp_path):
    people = roster(tmp_path, 'Student,ID,Section\n"    Points Possible",,\n"Lovelace, Ada",7,A\n')
    assert [p.id for p in people] == ["7"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id,name\n1,Smith, Jo\n", "line 2: 3 fields, but the head names 2: put a text"),
        ("id;name\n1;Bo\n2;Smith; Jo\n", "line 3: 3 fields, but the head names 2"),
    ],
)
def test_a_comma_that_separates_nothing_makes_no_other_person(text, why, tmp_path):
    with pytest.raises(ValueError, match=re.escape(why)):
        roster(tmp_path, text)


def test_empty_fields_at_the_end_of_a_line_are_nothing(tmp_path):
    assert [p.name for p in roster(tmp_path, 'id,name\n1,"Smith, Jo",,\n')] == ["Smith, Jo"]


@pytest.mark.parametrize(
    ("name", "spelt"),
    [
        ("Pat O'Brien", "Pat OBrien"),
        ("O'Connor, Sue", "Sue OConnor"),
        ("Tim O’Neil", "Tim O'Neil"),
        ("Lee D'Arcy", "Lee D_Arcy"),
        ("Anne-Marie Ray", "Anne Marie Ray"),
        ("Łukasz Żak", "Lukasz Zak"),
        ("Jan Groß", "Jan Gross"),
        ("Søren Ærø", "Soren Aero"),
        ("O'Brien, Pat", "obrienpat"),
    ],
)
def test_a_platforms_own_spelling_is_understood(name, spelt):
    people = named("Mia Ray", name, "Sue Connor")
    assert found(people, f"{spelt}_77_assignsubmission_file_/nb.ipynb") == "502"


def test_the_closest_spelling_decides():
    people = named("Éloïse Ñandú", "Eloise Nandu", "Jo O'Dea", "Jo ODea")
    for person in people:
        assert found(people, f"{person.name}_7_assignsubmission_file_/nb.ipynb") == person.id
    assert "may be any of 503, 504" in found(people, "Jo O_Dea_7_assignsubmission_file_/nb.ipynb")


def test_an_id_without_its_dash_is_no_other_id():
    people = [Person("1-1", "Al"), Person("2", "Bo")]
    assert "nobody on the roster is called 11" in found(people, "11/nb.ipynb")


@pytest.mark.parametrize(
    "label",
    ["510/nb.ipynb", "510.ipynb", "510_Jo Smith_x/nb.ipynb", "510_smithjo.ipynb",
     "510_Jo Smith_77_assignsubmission_file_/nb.ipynb"],
)  # fmt: skip
def test_a_file_that_is_renamed_to_an_id_is_assigned(label):
    people = [Person("510", "Jo Smith"), Person("511", "Jo Smith"), Person("ada", "Ada Lovelace")]
    assert found(people, label) == "510"


@pytest.mark.parametrize(
    ("label", "id_"),
    [
        ("jsmith_Jon Smith/nb.ipynb", "jsmith"),
        ("al@u.edu_Al Albers.ipynb", "al@u.edu"),
        ("s_510_Anna X/nb.ipynb", "s_510"),
        ("s_510_Anna X_7_assignsubmission_file/nb.ipynb", "s_510"),
    ],
)
def test_any_id_before_its_own_name_assigns_a_file(label, id_):
    ids = {"jsmith": "Jon Smith", "al@u.edu": "Al Albers", "s_510": "Anna X", "s": "Sue"}
    assert found([Person(i, name) for i, name in ids.items()], label) == id_


@pytest.mark.parametrize("label", ["2_softmax.ipynb", "03_Additive.ipynb", "510_07.ipynb"])
def test_a_number_before_something_else_than_the_name_is_no_id(label):
    people = [Person("2", "Tina Two"), Person("03", "Dora Drei"), Person("510", "Jo")]
    assert "nobody" in found(people, label)


def test_an_id_before_the_name_of_another_may_be_eithers():
    people = [Person("512", "Ulf Zorn"), Person("513", "Bo Berg")]
    assert "may be any of 512, 513" in found(people, "512_Bo Berg/nb.ipynb")


def test_an_id_beats_the_number_of_moodle():
    people = [Person("509", "Jo", "", "Participant 100"), Person("510", "Al", "", "Participant 1")]
    assert found(people, "510_Al_100_assignsubmission_file/nb.ipynb") == "510"
    assert found(people, "510_100_assignsubmission_file/nb.ipynb") == "510"


def test_only_the_number_of_canvas_may_be_an_id():
    people = [Person("702", "Pat Kay"), Person("703", "Pat Kay")]
    assert "any of 702, 703" in found(people, "Pat Kay_702_assignsubmission_file/nb.ipynb")
    assert found(people, "kaypat_702_900_nb.ipynb") == "702"


def test_a_name_that_stands_twice_alone_is_refused(tmp_path):
    why = "line 3: Jo Smith stands twice without an id or address"
    with pytest.raises(ValueError, match=why):
        roster(tmp_path, "name\nJo Smith\nJo Smith\n")


def test_vowel_signs_tell_names_apart():
    people = named("राम", "कर्म", "José Ruiz")
    assert "nobody" in found(people, "रमा/nb.ipynb")
    assert "nobody" in found(people, "करम/nb.ipynb")
    assert found(people, "Jose-Ruiz/nb.ipynb") == "503"


def test_the_own_order_of_a_name_is_closer_than_the_other():
    people = named("Kim Lee", "Lee Kim")
    assert found(people, "Lee Kim_5_assignsubmission_file/nb.ipynb") == "502"
    assert found(people, "Kim, Lee/nb.ipynb") == "502"
    # Canvas leaves out the blank, and with it what would tell the orders apart.
    assert "any of 501, 502" in found(people, "leekim_5_6_nb.ipynb")


def test_a_first_word_that_is_no_number_is_no_id():
    people = [Person("lee", "Lee Wu"), Person("511", "Jo Smith")]
    assert "nobody" in found(people, "lee_ann.ipynb")


@pytest.mark.parametrize("label", ["02_softmax.ipynb", "02_softmax (1).ipynb", "02_softmax/a.py"])
def test_the_number_of_an_exercise_is_nobodys_id(label):
    assert "nobody" in found([Person("02", "Jo Smith"), Person("2", "Bo")], label)


def test_what_is_nobodys_says_how_to_mend_it():
    people = [Person("510", "Jo Smith"), Person("511", "Jo Smith")]
    assert found(people, "Jo Smith_7_assignsubmission_file_/nb.ipynb") == (
        "Jo Smith may be any of 510, 511: rename the folder to the right id"
    )
    assert found(people, "Mal.ipynb") == (
        "nobody on the roster is called Mal: rename the file to the student's id"
    )


WORKSHEET = """Identifier,Full name,ID number,Email address,Status,Grade,Maximum grade
Participant 100,Jo Smith,,jo@u,,,
Participant 101,Jo Smith,,js@u,,,
Participant 102,Bo Li,,bo@u,,,
"""


def test_moodles_number_decides_where_the_roster_is_moodles_worksheet(tmp_path):
    people = roster(tmp_path, WORKSHEET)
    assert found(people, "Jo Smith_100_assignsubmission_file/nb.ipynb") == "jo@u"
    assert found(people, "Jo Smith_101_assignsubmission_file/nb.ipynb") == "js@u"
    assert found(people, "Li Bo_102_assignsubmission_file/nb.ipynb") == "bo@u"
    assert found(people, "Participant_102_assignsubmission_file/nb.ipynb") == "bo@u"
    # A worksheet of another assignment has other people's numbers.
    other = found(people, "Zoe Quux_102_assignsubmission_file/nb.ipynb")
    assert other.startswith("by Moodle's number it is of bo@u, Bo Li, but not by its name: rename")
    # One of the two is wrong: nobody guesses which.
    clash = found(people, "Bo Li_101_assignsubmission_file/nb.ipynb")
    assert "may be any of js@u, bo@u" in clash


def test_a_worksheet_without_names_is_a_roster_too(tmp_path):
    people = roster(tmp_path, "Identifier,Status\nParticipant 100,\nParticipant 101,\n")
    label = "Participant_101_assignsubmission_file/nb.ipynb"
    assert found(people, label) == "Participant 101"


def test_matching_a_large_class_takes_no_time(tmp_path):
    people = [Person(f"s{n}", f"First{n} Last{n}", f"s{n}@u") for n in range(600)]
    before = time.process_time()
    for n in range(600):
        handed = Handed(tmp_path, f"Last{n}_{n}_assignsubmission_file/a", (f"First{n} Last-{n}",))
        assert find_person(handed, people)[0] is people[n]
    assert time.process_time() - before < 10


# --- where files lie


def labelled(root, *names, text="{}"):
    for name in names:
        path = root / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {handed.label: handed for handed in collect(root / "in")}


def test_a_platforms_only_folder_and_folders_of_exercises_are_nobodys(tmp_path):
    names = [f"Course-123/{who}_7_assignsubmission_file/a.ipynb" for who in ("Al Li", "Bo")]
    assert {h.called for h in labelled(tmp_path / "1", *names).values()} == {("Al Li",), ("Bo",)}
    names = ["03_additive/al.ipynb", "03_additive/bo.ipynb", "05_scaled/al/nb.ipynb"]
    found = labelled(tmp_path / "2", *names, "03_additive/roster.csv")
    assert {label: h.called for label, h in found.items()} == {
        "03_additive/al.ipynb": ("al",),
        "03_additive/bo.ipynb": ("bo",),
        "05_scaled/al/nb.ipynb": ("al",),
    }
    # A folder of one student may hold what looks like the files of others.
    names = ["al/Bo Li_7_assignsubmission_file/a.ipynb", "cy/a.ipynb"]
    assert {h.called for h in labelled(tmp_path / "3", *names).values()} == {("al",), ("cy",)}
    names = ["Al Li_1_assignsubmission_file/Bo_7_assignsubmission_file/a.ipynb"]
    assert {h.called for h in labelled(tmp_path / "4", *names).values()} == {("Al Li",)}


def test_a_notebook_that_a_browser_saved_under_another_name_is_one(tmp_path):
    notebook = '{"cells": [], "nbformat": 4}'
    found = labelled(tmp_path, "bo.json", "cy.txt", "di/03.json", text=notebook)
    assert found.keys() == {"bo.json", "cy.txt", "di/03.json"}
    found = labelled(tmp_path, "notes.txt", "di/README.md", "roster.CSV")
    assert found.keys() == {"bo.json", "cy.txt", "di/03.json", "di/README.md"}


def test_what_programs_hide_is_no_hand_in_and_a_notebook_without_a_name_is(tmp_path):
    hidden = (".virtual_documents/a.ipynb", ".vscode/settings.json", "._a.ipynb", "desktop.ini")
    names = [f"al/{name}" for name in (*hidden, ".ipynb", "a.ipynb")]
    found = labelled(tmp_path, *names, ".~lock.roster.csv#", "~$marks.xlsx")
    assert found.keys() == {"al/.ipynb", "al/a.ipynb"}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("03_additive.ipynb", "03_additive (1).ipynb"),
        ("03_additive.ipynb", "03_additive-1.ipynb"),
        ("attempt 9/a.ipynb", "attempt 10/a.ipynb"),
        ("smithjo_7_999_a.ipynb", "smithjo_7_1000_a-1.ipynb"),
    ],
)
def test_files_of_one_time_are_counted_as_people_count(older, newer):
    assert natural(older) < natural(newer)


def test_moodles_group_before_a_name_is_no_other_name(tmp_path):
    people = roster(tmp_path, "Identifier,Full name\nParticipant 11,Al Ab\nTeilnehmer/in12,Bo\n")
    assert found(people, "Group A-Al Ab_11_assignsubmission_file/n.ipynb") == "Al Ab"
    assert found(people, "Bo_12_assignsubmission_file/n.ipynb") == "Bo"
    assert "not by its name" in found(people, "Group A-Cy_11_assignsubmission_file/n.ipynb")


def test_beside_a_platforms_folder_may_lie_a_roster_and_reports(tmp_path):
    names = [f"Course/{who}_7_assignsubmission_file/a.ipynb" for who in ("Al", "Bo")]
    names += ["roster.csv", "report/run.json"]
    (tmp_path / "1" / "in" / "new").mkdir(parents=True)
    assert {h.called for h in labelled(tmp_path / "1", *names).values()} == {("Al",), ("Bo",)}
    names = ["export/submission_1/a.ipynb", "export/submission_metadata.yml"]
    text = "submission_1: {users: [{name: Al}, {name: Bo}]}"
    assert labelled(tmp_path / "2", *names, text=text).keys() == {"export/submission_1/a.ipynb"}
    assert [h.called for h in collect(tmp_path / "2" / "in")] == [("Al",), ("Bo",)]


def test_an_ending_that_is_a_name_is_no_group_where_the_whole_is_one(tmp_path):
    sheet = "Identifier,Full name\nParticipant 11,Marie Roux\nParticipant 12,Anne-Marie Roux\n"
    people = roster(tmp_path, sheet)
    assert "not by its name" in found(
        people, "Anne-Marie Roux_11_assignsubmission_file/n.ipynb"
    ) or ("may be any of" in found(people, "Anne-Marie Roux_11_assignsubmission_file/n.ipynb"))


def test_files_of_two_exercises_are_no_company(tmp_path):
    names = ["02_softmax/libo_5_6_nb.ipynb", "03_additive/libo_5_7_answers.pdf"]
    assert labelled(tmp_path, *names).keys() == set(names)


def test_a_notebook_that_is_cut_off_is_not_passed_over(tmp_path):
    text = '{"cells": [' + '{"cell_type": "code"}' * 9
    assert labelled(tmp_path, "510.json", text=text).keys() == {"510.json"}


def test_one_file_that_looks_like_canvas_makes_no_platform(tmp_path):
    found = labelled(tmp_path, "510/week_3_2_final.ipynb")
    assert [h.called for h in found.values()] == [("510",)]


def test_an_identifier_that_is_an_id_is_no_moodles_number(tmp_path):
    people = roster(tmp_path, "identifier,email\ns100,ada@u\n")
    assert "nobody on the roster is called Bob" in found(
        people, "Bob_100_assignsubmission_file/n.ipynb"
    )


# --- GitHub Classroom


GITHUB = """identifier,github_username,github_id,name
"100","ada-l","1","Ada Lovelace"
"101","bob7","2","Bob"
"102","","",""
"""


def test_the_roster_of_github_classroom_names_its_repositories(tmp_path):
    people = roster(tmp_path, GITHUB)
    assert [(p.id, p.name, p.identifier) for p in people] == [
        ("100", "Ada Lovelace", ""),
        ("101", "Bob", ""),
        ("102", "", ""),
    ]
    assert found(people, "week-3-Ada-L/03_additive.ipynb") == "100"
    assert found(people, "ada-l.ipynb") == "100"
    assert "nobody" in found(people, "week-3-al/03_additive.ipynb")
    # Nobody knows where the assignment's name ends and the student's begins.
    several = [*people, Person("103", "Cy", github="hw-ada-l")]
    assert "may be any of 100, 103: rename the folder" in found(several, "w-hw-ada-l/a.ipynb")


def test_a_worksheet_of_moodle_stays_one_with_names_on_github(tmp_path):
    sheet = "Identifier,Full name,Email address,github_username\nParticipant 11,Ada,a@u,ada-l\n"
    [ada] = roster(tmp_path, sheet)
    assert (ada.id, ada.participant, ada.github) == ("a@u", "11", "ada-l")


def test_a_repository_may_lie_in_the_folder_of_its_assignment(tmp_path):
    people = roster(tmp_path, GITHUB)
    for name in ("w3-ada-l", "w3-bob7"):
        (tmp_path / "in" / "w3-submissions" / name).mkdir(parents=True)
        (tmp_path / "in" / "w3-submissions" / name / "03_additive.ipynb").write_text("{}")
    handed = collect(tmp_path / "in", lambda one: bool(candidates(one, people)))
    assert [find_person(one, people)[0] for one in handed] == [people[0], people[1]]


@pytest.mark.parametrize("label", ["510_03_additive.ipynb", "510_03_additive (1).ipynb"])
def test_an_id_before_the_name_of_an_exercise_assigns_a_file(label):
    assert found([Person("510", "Jo"), Person("03", "Al")], label) == "510"
