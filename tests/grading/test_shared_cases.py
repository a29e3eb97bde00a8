"""Stages share their cases, and what rows of shares and dice promise is kept in each of them."""

import io
from dataclasses import replace

import numpy as np
import pytest

from seqattn.grading.bank import exercises, load
from seqattn.grading.cases import DOUBLE, draw_cases
from seqattn.grading.compare import _through_softmax, fault
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


def test_what_is_counted_is_asked_for_apart():
    plain = drawn("13_heads", "q7")[0]
    calls, reads, others = (
        plain._replace(stage=replace(plain.stage, **more))
        for more in ({"calls": 3}, {"reads": 9}, {"reads": 10})
    )
    cases = Cases([plain, calls, reads, plain, others, calls])
    assert cases.calls == [[0, 3], [1, 5], [2], [4]]
    sent = wire.read(io.BytesIO(cases.frame))
    assert [(one["count"], one["reads"]) for one in sent] == [
        (False, plain.stage.reads),
        (True, plain.stage.reads),
        (True, 9),
        (True, 10),
    ]


@pytest.mark.parametrize(
    ("name", "question"),
    [("08_reading_maps", "q3"), ("08_reading_maps", "q4"), ("09_explanations", "q3")],
)
def test_rows_of_shares_sum_to_1_wherever_an_answer_is_judged_by_them(name, question):
    cases = drawn(name, question)
    assert DOUBLE in {case.kind for case in cases}
    for case in cases:
        shares = [x for x in case.inputs if x.dtype.kind == "f"]
        mask = next((x for x in case.inputs if x.dtype == bool), np.ones(shares[0].shape, bool))
        tolerance = 1e-12 if case.kind == DOUBLE else 1e-6
        for weights in shares:
            # A mask of steps chooses rows, one of words places in them.
            steps = mask.ndim < weights.ndim
            rows = weights[mask] if steps else np.where(mask, weights, 0)
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


@pytest.mark.parametrize(
    ("gradient", "weights", "heard"),
    [
        # Rows that do not sum to 1 come from no softmax: there everything counts.
        ([1.0, 2.0, 3.0], [0.5, 0.3, 0.0], [1.0, 2.0, 3.0]),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]),
        ([1.0, 2.0, 3.0], [0.5, 0.5, 0.0], [-0.5, 0.5, 0.0]),
        # What is no number is seen, though the weight there is 0.
        ([1.0, 2.0, np.nan], [0.5, 0.5, 0.0], [-0.5, 0.5, np.nan]),
        ([1.0, 2.0, np.inf], [0.5, 0.5, 0.0], [-0.5, 0.5, np.inf]),
        ([1.0, np.nan, 3.0], [0.5, 0.5, 0.0], [np.nan, np.nan, 0.0]),
        # Pads count as they are.
        ([1.0, 2.0, 3.0], [0.5, 0.5, np.nan], [-0.5, 0.5, 3.0]),
    ],
)
def test_a_softmax_hears_what_is_no_constant_and_has_a_weight(gradient, weights, heard):
    found = _through_softmax(np.array([gradient]), np.array([weights]))
    np.testing.assert_allclose(found, [heard])


def test_without_rows_that_sum_to_1_a_constant_is_another_gradient():
    case = gradient_case("09_explanations", "q3", "ordinary")
    case = case._replace(shares={name: 2 * rows for name, rows in case.shares.items()})
    right = {n: g.copy() for n, g in case.expected.items()}
    assert faulty(case, right) is None
    assert faulty(case, right | {"first": right["first"] + 3.0}) is not None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_gradient_that_is_no_number_is_wrong_even_where_the_weight_is_0(value):
    case = gradient_case("09_explanations", "q3", "with zeros")
    spoiled = {n: g.copy() for n, g in case.expected.items()}
    spoiled["first"][case.shares["first"] == 0] = value
    assert faulty(case, spoiled) is not None


def test_what_depends_on_nothing_needs_no_gradient():
    case = gradient_case("09_explanations", "q2", "ordinary")
    none = {"result": {"gradients": None}}
    flat = case._replace(expected={n: 0 * g for n, g in case.expected.items()})
    assert fault(none, case) is not None
    assert fault(none, flat) is None


def test_of_dice_no_gradient_is_asked():
    case = next(c for c in drawn("02_softmax", "q4") if c.upstream is not None)
    assert set(case.expected) == {"weights"}


UNDECIDED = [(name, q) for name in exercises() for q in load(name).questions if q.undecided]


@pytest.mark.parametrize(("name", "q"), UNDECIDED, ids=[f"{name}-{q.id}" for name, q in UNDECIDED])
def test_rounding_decides_no_variation(name, q):
    for seed in range(10):
        varied = [c for c in draw_cases(name, q, f"seed {seed}", 1) if c.base >= 0]
        assert len(varied) >= len(q.arguments)
        assert not any(q.undecided(*case.inputs) for case in varied)
