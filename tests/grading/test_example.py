"""A small input on which an answer goes wrong is shown, and it is none of the hidden ones."""

import re

import numpy as np
import pytest

from seqattn.grading.answers import Answer
from seqattn.grading.bank import load
from seqattn.grading.cases import MOST_SHOWN, draw_cases, shown_cases
from seqattn.grading.compare import written
from seqattn.grading.jobs import Task
from seqattn.grading.sandbox import wire
from seqattn.grading.sandbox.host import LateError
from tests.grading.conftest import filled, verdict


def test_a_wrong_answer_sees_a_small_case_with_both_results(grade):
    code = "def masked_softmax(scores, mask):\n    return torch.softmax(scores * mask, -1)\n"
    found = verdict(grade(filled({"q2": code})), "q2")
    names = [line.split(" = ")[0].split(":")[0].split(" ")[0] for line in found.example]
    assert names == ["scores", "mask", "yours", "right"]
    assert found.example[-2] != found.example[-1]


def test_a_right_answer_and_one_that_raises_see_none(grade):
    code = "def masked_softmax(scores, mask):\n    return scores.nothing()\n"
    assert verdict(grade(filled({"q2": code})), "q2").example == []
    right = load("03_additive").question("q2").right[1]
    assert verdict(grade(filled({"q2": right})), "q2").example == []


@pytest.mark.parametrize("trouble", [LateError("600 s"), ValueError("a fault of ours")])
def test_trouble_with_the_example_leaves_the_verdict_as_it_is(trouble, grade, judge, monkeypatch):
    def fail(q):
        raise trouble

    judge._kept.clear()
    monkeypatch.setattr("seqattn.grading.judge.shown_cases", fail)
    wrong = load("03_additive").question("q2").wrong[0]
    found = verdict(grade(filled({"q2": wrong.code})), "q2")
    assert (found.mistake, found.points, found.example) == (wrong.name, wrong.keeps, [])


def test_what_is_shown_is_small_and_drawn_by_itself():
    q = load("02_softmax").question("q1")
    shown = shown_cases(q)
    assert shown
    assert all(sum(np.size(x) for x in case.inputs) <= MOST_SHOWN for case in shown)
    hidden = [case.inputs[0] for case in draw_cases("02_softmax", q, "any", 5)]
    assert not any(np.array_equal(case.inputs[0], x) for case in shown for x in hidden)


def test_an_answer_cannot_carry_a_hidden_case_into_what_is_shown(grade):
    code = (
        "KEPT = []\n"
        "def masked_softmax(scores, mask):\n"
        "    KEPT.append(tuple(scores.flatten().tolist()))\n"
        "    return torch.full_like(scores, float(len(set(KEPT))))\n"
    )
    found = verdict(grade(filled({"q2": code})), "q2")
    # The process that computes the example has seen none of the hidden cases.
    [yours] = [line.split(":")[1] for line in found.example if line.startswith("yours")]
    seen = {int(digits) for digits in re.findall(r"\d+", yours)}
    assert max(seen) <= len(shown_cases(load("03_additive").question("q2")))


def test_numbers_are_written_to_two_decimals_without_minus_zero():
    q = load("02_softmax").question("q1")
    case = shown_cases(q)[0]
    value = np.full(case.expected.shape, 0.126, np.float32)
    value[..., 0] = -0.0
    lines = written(q, case, wire.Tensor(value, "float32"))
    assert lines[-2].startswith("yours (sentence 1): [0.  , 0.13")


PROBED = [
    # What is shown of a module, of a measure behind a softmax, of a loop, of numbers; and NaN.
    ("03_additive", "q5", "mask ignored", ["W_q", "W_k", "v", "query", "keys", "mask"]),
    ("08_reading_maps", "q2", "all positions counted", ["weights", "mask"]),
    ("07_training", "q3", "goes on after the end", ["batch", "bos", "eos", "pad", "max_len"]),
    ("05_scaled", "q3", "sign", ["sizes", "variances"]),
    ("02_softmax", "q3", "pads times zero", ["states", "w", "mask"]),
]


@pytest.mark.parametrize(("name", "question", "mistake", "inputs"), PROBED)
def test_probed_questions_and_hostile_pads_are_shown(name, question, mistake, inputs, judge):
    q = load(name).question(question)
    code = next(w.code for w in q.wrong if w.name == mistake)
    task = Task(load(name), q, [], [])
    lines = judge._example(task, Answer(code))
    assert [line.split(" = ")[0] for line in lines[:-2]] == inputs
    assert [line[:5] for line in lines[-2:]] == ["yours", "right"]
    assert lines[-2][5:] != lines[-1][5:]
    assert judge._example(task, Answer(q.right[0])) == []
