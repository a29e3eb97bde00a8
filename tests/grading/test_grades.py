"""What a grade says, and that nothing in it can hurt whoever reads it."""

import csv
import io
import json

from seqattn.grading.feedback import as_html
from seqattn.grading.grades import as_csv, as_json, as_text
from tests.grading.conftest import EXERCISE, RIGHT, STUB, filled

NASTY = "def additive_score(*a):\n    raise ValueError('=1+1 <script>alert(1)</script>')"


def test_the_text_names_points_mistake_line_and_chapter(grade):
    wrong = EXERCISE.question("q2").wrong[0]
    said = as_text(grade(filled(RIGHT | {"q1": NASTY, "q2": wrong.code})))
    assert "9 of 16 points" in said
    assert "line 3: ValueError" in said
    assert wrong.hint in said
    assert "read again: chapters/03_additive" in said
    assert "Traceback" not in said


def test_the_page_shows_markup_as_text(grade):
    page = as_html(grade(filled({"q1": NASTY}), name="<b>.ipynb"))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;.ipynb" in page


def test_the_table_starts_no_formula(grade):
    table = list(
        csv.DictReader(io.StringIO(as_csv([grade(filled({"q1": NASTY}), name="=a.ipynb")])))
    )
    assert len(table) == len(EXERCISE.questions)
    assert table[0]["file"] == "'=a.ipynb"
    assert all(cell[:1] not in "=+-@" for row in table for cell in row.values() if cell)


def test_the_table_has_a_row_for_what_could_not_be_read(grade):
    [row] = csv.DictReader(io.StringIO(as_csv([grade(b"")])))
    assert row["verdict"] == "unreadable"


def test_the_json_says_all(grade):
    found = grade(STUB)
    content = json.loads(as_json(found))
    assert content["schema"] == 4
    assert (content["points"], content["out_of"]) == (0, EXERCISE.points)
    assert [v["question"] for v in content["verdicts"]] == [q.id for q in EXERCISE.questions]
    assert content["seed"] == found.seed


def test_the_same_file_and_seed_give_the_same_report(grade):
    notebook = filled(RIGHT | {"q2": EXERCISE.question("q2").wrong[2].code})
    assert as_json(grade(notebook)) == as_json(grade(notebook))
