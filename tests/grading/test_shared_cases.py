"""Stages share their cases, and what rows of shares and dice promise is kept in each of them."""

import numpy as np
import pytest

from seqattn.grading.bank import load
from seqattn.grading.cases import DOUBLE, draw_cases
from seqattn.grading.compare import fault
from seqattn.grading.jobs import Cases, by_answer
from seqattn.grading.sandbox import wire
from seqattn.grading.sandbox.host import JobResult


def drawn(name, question, draws=2):
    return Cases(draw_cases(name, load(name).question(question), "shared", draws))


def outcome(*messages):
    return JobResult([{"answer": "a", **message} for message in messages], "done")


def test_one_call_serves_all_stages_of_a_kind():
    cases = drawn("13_heads", "q7")
    assert sorted(n for call in cases.calls for n in call) == [*range(len(cases))]
    assert len(cases.calls) < len(cases)
    for call in cases.calls:
        assert len({cases[n].stage.name for n in call}) == len(call)
        assert len({cases[n].kind for n in call}) == 1
    results = [{"case": n, "result": {"value": n}} for n in range(len(cases.calls))]
    found = by_answer(outcome(*results), cases)["a"]
    assert {n: one["result"]["value"] for n, one in found.items()} == {
        n: number for number, call in enumerate(cases.calls) for n in call
    }


@pytest.mark.parametrize("number", [-1, 10_000])
def test_a_result_of_a_call_that_was_not_made_stays_to_be_seen(number):
    cases = drawn("13_heads", "q7")
    found = by_answer(outcome({"case": number, "result": {"value": 1}}), cases)["a"]
    assert set(found) - set(range(len(cases)))


def test_gradients_and_values_are_asked_for_apart():
    cases = drawn("09_explanations", "q3")
    for call in cases.calls:
        assert len({cases[n].upstream is None for n in call}) == 1


@pytest.mark.parametrize(
    ("name", "question"), [("08_reading_maps", "q3"), ("08_reading_maps", "q4")]
)
def test_rows_of_shares_sum_to_1_wherever_an_answer_is_judged_by_them(name, question):
    cases = drawn(name, question)
    assert DOUBLE in {case.kind for case in cases}
    for case in cases:
        weights, *real = case.inputs
        rows = weights[real[0]] if real else weights
        tolerance = 1e-12 if case.kind == DOUBLE else 1e-6
        if case.kind != DOUBLE or not real:
            assert abs(rows.sum(-1) - 1).max() < tolerance, case.kind


def gradient_case(name, question, kind):
    return next(c for c in drawn(name, question) if c.upstream is not None and c.kind == kind)


def faulty(case, gradients):
    tensors = {n: wire.Tensor(g.astype(np.float32), "float32") for n, g in gradients.items()}
    return fault({"result": {"value": None, "gradients": tensors}}, case)


def test_a_constant_in_a_row_of_shares_is_no_other_gradient():
    case = gradient_case("09_explanations", "q3", "ordinary")
    right = {n: g.copy() for n, g in case.expected.items()}
    assert faulty(case, right) is None
    assert faulty(case, right | {"first": right["first"] + 3.0}) is None
    tilted = right["first"] + np.arange(right["first"].shape[-1])
    assert faulty(case, right | {"first": tilted}) is not None
    assert faulty(case, right | {"first": np.zeros_like(tilted)}) is not None


def test_of_dice_no_gradient_is_asked():
    case = next(c for c in drawn("02_softmax", "q4") if c.upstream is not None)
    assert set(case.expected) == {"weights"}
