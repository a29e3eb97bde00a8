"""What is said of a result that is not of the form that the question asks for."""

import pytest

from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.bank import load
from seqattn.grading.forms import misfit, same_form

NUMBER, TEXT, NONE = ["number"], ["text"], ["None"]


def row(*inside):
    return ["tuple", len(inside), list(inside)]


def entries(**inside):
    return ["dict", inside]


@pytest.mark.parametrize(
    ("got", "asked", "said"),
    [
        (NONE, NUMBER, "Your function returned None: is a `return` missing?"),
        (NONE, row(NUMBER), "Your function returned None: is a `return` missing?"),
        (NONE, NONE, ""),
        (row(NUMBER, NUMBER), row(NUMBER, NUMBER, NUMBER), "Expected 3 results, got 2."),
        (row(NUMBER), row(NUMBER, NUMBER), "Expected 2 results, got 1."),
        (NUMBER, row(NUMBER, NUMBER), "Expected 2 results, got a number."),
        (["list", 2, [NUMBER, NUMBER]], row(NUMBER, NUMBER), ""),
        (["tensor", [2]], row(NUMBER, NUMBER), ""),
        (
            ["tensor", [2, 3]],
            row(["tensor", [2, 3]], ["tensor", [3]]),
            "Expected 2 results, got a tensor of shape (2, …).",
        ),
        (row(row(NUMBER)), row(row(NUMBER, TEXT)), "Result 1 holds 1 thing; expected 2."),
        (
            row(row(NONE)),
            row(row(row())),
            "Part 1 of result 1 is None; expected an empty list.",
        ),
        (["tensor", [2]], ["tensor", []], "Your result has shape (2,); expected ()."),
        (
            entries(a=NUMBER),
            entries(a=NUMBER, b=TEXT),
            "Your result has no entry b; expected a dict with a and b.",
        ),
        (
            entries(),
            entries(a=NUMBER, b=TEXT),
            "Your result lacks the entries a and b; expected a dict with a and b.",
        ),
        (
            entries(a=NUMBER, extra=TEXT),
            entries(a=NUMBER),
            "Your result has 1 entry too many: extra; expected a dict with a.",
        ),
        (
            entries(a=NUMBER, hidden=TEXT),
            entries(a=NUMBER),
            "Your result has 1 entry too many; expected a dict with a.",
        ),
        (NUMBER, entries(a=NUMBER), "Your result is a number; expected a dict with a."),
        (entries(a=NONE), entries(a=TEXT), ""),
        (["dict"], entries(a=TEXT), ""),
        ("tuple", row(NUMBER), ""),
    ],
)
def test_forms_are_told_apart_in_words(got, asked, said):
    assert misfit(got, asked, "{'extra': 1}", {2}) == said


def test_a_list_is_of_the_same_form_as_a_tuple():
    assert same_form(["list", 1, [NUMBER]], row(NUMBER))
    assert not same_form(row(NUMBER), row(TEXT))
    assert same_form(entries(a=row(NUMBER)), entries(a=["list", 1, [NUMBER]]))


@pytest.fixture(scope="module")
def judge():
    with AuthorsJudge("forms") as judge:
        yield judge


@pytest.mark.parametrize(
    ("exercise", "question"),
    [
        ("10_local", "q5"),
        ("11_coverage", "q3"),
        ("13_heads", "q7"),
        ("14_self_attention", "q7"),
        ("17_evaluation", "q3"),
    ],
)
def test_a_forgotten_return_is_said_before_any_named_mistake(judge, exercise, question):
    q = load(exercise).question(question)
    code = f"{q.right[0]}\n_answer = {q.entry}\ndef {q.entry}(*given):\n    _answer(*given)\n"
    found = judge.judge_code(exercise, question, code)
    assert found.points == 0
    assert not found.mistake
    assert found.hint == "Your function returned None: is a `return` missing?"


@pytest.mark.parametrize(
    ("exercise", "question", "change", "said"),
    [
        ("13_heads", "q4", "R[:2]", "Expected 3 results, got 2."),
        ("11_coverage", "q3", "(R[0], R[1], 0)", "Expected 2 results, got 3."),
        ("14_self_attention", "q7", "[row[:3] for row in R]", "Result 1 holds 3 things; exp"),
        ("14_self_attention", "q4", "R[0]", "Expected 2 results, got a tensor"),
        ("17_evaluation", "q6", "{**R, 'note': 1}", "Your result has 1 entry too many: note;"),
        ("15_positions", "q6", "{k: R[k] for k in ('source', 'target')}", "has no entry verdict"),
        ("13_heads", "q7", "{k: R[k] for k in list(R)[:3]}", "Your result has no entry fixed;"),
        ("12_hard", "q2", "R.expand(3)", "expected ()."),
    ],
)
def test_what_is_missing_is_said_before_any_named_mistake(judge, exercise, question, change, said):
    q = load(exercise).question(question)
    changed = change.replace("R", "found")
    code = f"{q.right[0]}\n_answer = {q.entry}\ndef {q.entry}(*given):\n"
    code += f"    found = _answer(*given)\n    return {changed}\n"
    found = judge.judge_code(exercise, question, code)
    assert said in found.hint
    assert not found.mistake
