"""One source gives stub, solution and bank; no answer gets into what learners are given."""

import ast
import json
import zipfile

import pytest

from seqattn.grading.bank import exercises, load
from tests.grading.conftest import RIGHT, ROOT, STUB, question_of, text
from tools import build
from tools import exercises as making

SOURCES = making.sources()


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_generated_files_are_those_of_their_source(source):
    assert making.drift(source) == []


def test_making_it_twice_gives_the_same_bytes():
    one, two = making.make(SOURCES[0]), making.make(SOURCES[0])
    assert one.bank == two.bank
    assert one.exercise == two.exercise


def test_the_stub_was_never_run_and_raises_where_answers_go():
    for cell in STUB["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
        if question_of(cell):
            assert "NotImplementedError" in text(cell) or "= None" in text(cell)
            ast.parse(text(cell))


@pytest.mark.parametrize("name", exercises())
def test_lines_of_code_fit_the_page(name):
    """88 letters, as in chapters (chapters/ruff.toml); formatters leave long texts as they are."""
    cells = json.loads((ROOT / "exercises" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [c for c in cells if c["cell_type"] == "code"]
    code = [c for c in code if not {"install", "remove-input"} & set(c["metadata"].get("tags", []))]
    assert len(code) > 8
    assert [line for c in code for line in text(c).splitlines() if len(line) > 88] == []


def statements(code):
    tree = ast.parse(code)
    returns = (n for n in ast.walk(tree) if isinstance(n, ast.Return | ast.Assign) and n.value)
    return {ast.unparse(n.value) for n in returns if len(ast.unparse(n.value)) > 25}


@pytest.mark.parametrize("name", exercises())
def test_no_answer_is_in_the_stub(name):
    handed_out = (ROOT / "exercises" / f"{name}.ipynb").read_text(encoding="utf-8")
    assert "BEGIN ANSWER" not in handed_out
    for q in load(name).questions:
        for code in [*q.right, *(w.code for w in q.wrong)]:
            for statement in statements(code):
                assert json.dumps(statement)[1:-1] not in handed_out
        assert not any(w.hint in handed_out for w in q.wrong)


def test_no_answer_can_be_read_by_accident_in_the_wheel():
    with zipfile.ZipFile(build.build_wheel()) as wheel:
        names = wheel.namelist()
        banks = [n for n in names if "grading/banks/" in n]
        content = b"".join(wheel.read(n) for n in banks)
    assert [n for n in names if "solutions" in n or "exercises" in n] == []
    assert len(banks) == len(SOURCES)
    assert b"def additive_score" not in content
    with zipfile.ZipFile(build.build_wheel()) as wheel:
        for name in wheel.namelist():
            if "grading" in name and name.endswith(".py"):
                assert b"\nWRONG\n" not in wheel.read(name)


def test_a_source_that_does_not_fit_its_bank_is_refused(tmp_path):
    text = SOURCES[0].read_text(encoding="utf-8").replace('question="q2"', 'question="q9"')
    (tmp_path / SOURCES[0].name).write_text(text, encoding="utf-8")
    bank = SOURCES[0].with_name(f"bank_{SOURCES[0].name}").read_text(encoding="utf-8")
    (tmp_path / f"bank_{SOURCES[0].name}").write_text(bank, encoding="utf-8")
    with pytest.raises(ValueError, match="q9"):
        making.make(tmp_path / SOURCES[0].name)


def test_the_solution_holds_the_reference_answers():
    solution = (ROOT / "solutions" / "03_additive.ipynb").read_text(encoding="utf-8")
    assert "BEGIN ANSWER" not in solution
    assert set(RIGHT) == {question_of(c) for c in json.loads(solution)["cells"]} - {""}
