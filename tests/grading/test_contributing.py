"""The question that CONTRIBUTING shows is one: it is made, and judged, as it stands there."""

import re

import pytest

from seqattn.grading import bank
from seqattn.grading.audit import AuthorsJudge, audit
from tests.grading.conftest import ROOT, assert_large_enough
from tools import exercises as authoring
from tools.answer_mutants import DRAWS, LIMITS, try_mutants

NAME = "90_twice"


@pytest.fixture(scope="module")
def blocks():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("\n## Add an exercise\n")[1].split("\n## ")[0]
    solution, questions = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return solution, questions.replace("NN_name", NAME)


@pytest.fixture(scope="module", autouse=True)
def made(blocks, tmp_path_factory):
    """Install it as the only exercise."""
    root = tmp_path_factory.mktemp("package")
    (root / "banks").mkdir()
    for name, text in zip((f"{NAME}.py", f"bank_{NAME}.py"), blocks):
        (root / name).write_text(text, encoding="utf-8")
    made = authoring.make(root / f"{NAME}.py")
    (root / "banks" / f"{NAME}.bank").write_bytes(made.bank)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bank, "files", lambda package: root)
        yield made


def test_a_question_takes_thirty_lines(blocks):
    assert blocks[1].count("\n") <= 30


def test_learners_get_a_stub(made):
    [stub] = [c.source for c in made.exercise.cells if "question" in c.metadata.get("seqattn", {})]
    assert 'raise NotImplementedError("q1: double")' in stub
    assert "2 * x" not in stub


def test_all_of_its_answers_are_judged_as_it_says():
    rows = audit(NAME)
    assert [row.name for row in rows if not row.good] == []
    [q] = bank.load(NAME).questions
    assert len(rows) == len(q.right) + 1 + len(q.wrong)
    assert_large_enough(q)


def test_its_visible_check_takes_right_answers_and_no_mutant_passes():
    [q] = bank.load(NAME).questions
    with AuthorsJudge("mutants", LIMITS, draws=DRAWS) as judge:
        assert judge.refusals(NAME, "q1", q.right) == ["", ""]
        row = try_mutants(judge, NAME, q)
    assert [m.name for m in row.survivors] == []
