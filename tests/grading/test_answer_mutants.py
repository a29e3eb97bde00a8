"""No changed right answer passes; visible check and grading refuse the same forms."""

import ast
import os
from functools import cache

import pytest

from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.bank import exercises, load
from tools.answer_mutants import DRAWS, LIMITS, equivalents, try_mutants, written_rows
from tools.broken_answers import forms_of, mutants_of

# With each commit a part of the mutants of every fourth question; once a week all, which is 1.
SHARE = float(os.environ.get("SEQATTN_MUTANTS", 0.03))
QUESTIONS = [(name, q) for name in exercises() for q in load(name).questions if not q.evidence]
every_question = pytest.mark.parametrize(
    ("name", "q"), QUESTIONS, ids=[f"{name}-{q.id}" for name, q in QUESTIONS]
)


@pytest.fixture(scope="session")
def judge():
    with AuthorsJudge("mutants", LIMITS, draws=DRAWS) as judge:
        yield judge


@pytest.fixture(scope="session")
def row_of(judge):
    """Try each question's mutants once."""
    return cache(lambda name, q: try_mutants(judge, name, q, SHARE))


@pytest.mark.slow
@pytest.mark.sampled(4)
@every_question
def test_no_mutant_passes_and_most_hear_their_mistake(name, q, row_of):
    row = row_of(name, q)
    assert [m.name for m in row.survivors] == []
    assert row.made >= row.tried >= 20
    assert row.unused == [], "listed as equivalent, but there is no such mutant that passes"
    assert row.named >= 0.3 * row.caught
    cells = written_rows()[row.name]
    assert (cells if SHARE == 1 else cells[:1]) == row.cells()[: None if SHARE == 1 else 1], (
        f"python -m tools.answer_mutants --write {name[:2]}:{q.id}"
    )


@pytest.mark.slow
@pytest.mark.skipif(SHARE < 1, reason="a share of all mutants: SEQATTN_MUTANTS=1 tries them all")
def test_of_all_mutants_four_in_five_hear_their_mistake(row_of):
    rows = [row_of(name, q) for name, q in QUESTIONS]
    assert sum(row.named for row in rows) >= 0.8 * sum(row.caught for row in rows)


def test_the_table_holds_every_question_and_what_is_promised():
    rows = written_rows()
    assert list(rows) == [f"{name} {q.id}" for name, q in QUESTIONS]
    made, caught, named = (sum(int(cells[n]) for cells in rows.values()) for n in range(3))
    assert made >= 1500
    assert named >= 0.8 * caught


def test_every_equivalent_mutant_has_its_reason():
    general, *exercises = equivalents().values()
    for listed in [general, *(entries for one in exercises for entries in one.values())]:
        assert all(len(entry["reason"]) > 15 for entry in listed)


@pytest.mark.sampled(2)
@every_question
def test_the_visible_check_accepts_right_answers_and_refuses_wrong_forms(name, q, judge):
    assert judge.refusals(name, q.id, q.right) == [""] * len(q.right)
    # Each form of one right answer with each commit; of all of them once a week.
    forms = forms_of(q, None if SHARE == 1 else 1)
    verdicts = judge.judge_many(name, q.id, [m.code for m in forms])
    graded = [m for m, v in zip(forms, verdicts) if v.verdict != "pass"]
    said = judge.refusals(name, q.id, [m.code for m in graded])
    assert [m.name for m, text in zip(graded, said) if not text] == []


def test_what_the_visible_check_refuses_does_not_pass(judge, monkeypatch):
    name, q = QUESTIONS[0]
    pristine = load(name).pristine[q.id]
    stricter = type(pristine)(**{**vars(pristine), "check": f"assert {q.entry} is None, 'never'"})
    monkeypatch.setitem(load(name).pristine, q.id, stricter)
    found = judge.judge_code(name, q.id, q.right[0])
    assert found.verdict != "pass"
    assert found.hint == "The visible check refuses it: never"


def test_mutants_are_other_programs_that_parse():
    _, q = QUESTIONS[0]
    texts = [m.code for m in mutants_of(q)]
    assert len({ast.dump(ast.parse(t)) for t in texts}) == len(texts) > 100
