"""Tables that people write: quotation marks, heads, separators, and what each refusal says."""

import re

import pytest

from seqattn.grading.classroom.overrides import read_overrides
from seqattn.grading.classroom.roster import read_roster
from seqattn.grading.classroom.tables import read_table


@pytest.fixture
def table(tmp_path):
    def table(text):
        path = tmp_path / "t.csv"
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return table


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('student,question,points,reason\nal,q1,2,"good\nbo,q1,3,ok\ncy,q1,3,ok\n', 2),
        ('student,question,points,reason\nal,q1,2,"good\nbo,q1,3,"ok"\n', 2),
    ],
)
def test_a_quotation_mark_that_is_not_closed_swallows_no_line(text, line, table):
    why = rf"line {line}: .*is a quotation mark in it not closed\?"
    with pytest.raises(ValueError, match=why):
        read_overrides(table(text))


def test_nor_do_two_stray_marks(table):
    text = 'student,question,points,reason\nal,q1,1,"good\nbo,q1,2,said so"\n'
    with pytest.raises(ValueError, match="line 3: is a quotation mark before it not closed"):
        read_overrides(table(text))


def test_nor_does_one_that_closes_in_a_name_further_down(table):
    text = 'id,name\n1,"Al\n2,Bo"\n3,Cy\n'
    with pytest.raises(ValueError, match="line 3: is a quotation mark before it not closed"):
        read_roster(table(text))


def test_a_reason_may_have_two_lines_and_a_quotation(table):
    text = 'Student;Question;Points;Reason\r\nal;q1;2;"said ""so"",\r\norally"\r\n;;;\r\n'
    given = read_overrides(table(text))
    assert given["al", "q1"][:2] == (2, 'said "so",\norally')
    assert len(given) == 1


@pytest.mark.parametrize("text", ["al,q1,2\n", "who,question,points\n", "student\n"])
def test_a_head_that_lacks_a_column_is_refused_even_without_rows(text, table):
    why = f"has the columns {text.strip().replace(',', ', ')}; expected student, question, points"
    with pytest.raises(ValueError, match=re.escape(why)):
        read_overrides(table(text))


def test_an_empty_table_gives_nothing(table):
    assert read_overrides(table("")) == {}
    assert read_overrides(table("\n")) == {}


@pytest.mark.parametrize("before", ["", "\n", "sep=;\n", "\r\nsep=;\r\n\n"])
def test_what_spreadsheets_put_before_the_head_is_passed_over(before, table):
    found = read_table(table(f"{before}ID;Name, first\n7;Al\n"))
    assert found.columns == ["ID", "Name, first"]
    assert found.numbered == [(2 + before.count("\n"), {"ID": "7", "Name, first": "Al"})]


def test_two_columns_of_one_name_are_refused(table):
    with pytest.raises(ValueError, match="two columns called id"):
        read_roster(table("id,name,ID\n1,Al,2\n"))


def test_columns_that_nobody_reads_may_have_one_name(table):
    assert [p.id for p in read_roster(table("id,note,note\n1,a,b\n"))] == ["1"]
    assert read_roster(table(",,id\n,,7\n"))[0].id == "7"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id\n510,Jo\n", "2 fields, but the head names 1"),
        ("id\n510;Jo\n", "'510;Jo' is not separated as the head is"),
        (",,\n1,2\n", "has the columns"),
    ],
)
def test_a_head_that_does_not_fit_its_rows_is_refused(text, why, table):
    with pytest.raises(ValueError, match=re.escape(why)):
        read_roster(table(text))


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(ValueError, match="is a folder; expected a CSV file"):
        read_roster(tmp_path)


def test_the_sign_against_formulas_is_not_the_ids_own(table):
    assert [*read_overrides(table("student,question,points\n'@ada,q1,1\n'al,q1,1\n"))] == [
        ("@ada", "q1"),
        ("'al", "q1"),
    ]


def test_a_row_that_is_separated_otherwise_makes_no_student(table):
    with pytest.raises(ValueError, match="line 3: '2;Bo' is not separated as the head is"):
        read_roster(table("id,name\n1,Al\n2;Bo\n"))
