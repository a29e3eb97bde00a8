"""Answers that are tests: right ones of any style pass, and none gets on by looking elsewhere."""

import numpy as np
import pytest
import torch

from seqattn.grading import tells_apart
from seqattn.grading.bank import load
from seqattn.grading.drawing import softmax_rows
from seqattn.grading.questions import RIGHT_CODE, a_test

NAME = "02_softmax"
Q = load(NAME).question("q6")
KINDS = [kind for stage in Q.stages for kind in stage.kinds]
HEAD = "def check_masked_softmax(masked_softmax):\n"
ONE = "    w = masked_softmax(torch.zeros(1, 2), torch.tensor([[True, False]]))\n"
TRY = """\
    w = masked_softmax(torch.tensor([[0.0, 0.0, 9.0]]), torch.tensor([[True, True, False]]))
    fine = torch.allclose(w, torch.tensor([[0.5, 0.5, 0.0]]))
"""


def made(text):
    space = {"torch": torch, "math": __import__("math")}
    exec(text, space)
    return space["masked_softmax"]


def test_rows_of_weights_come_in_float64_and_from_no_keys_come_none():
    scores = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
    weights = softmax_rows(scores, np.array([[True, True, False], [False] * 3]))
    assert weights.dtype == np.float64
    assert abs(weights[0].sum() - 1) < 1e-15
    assert not weights[1].any()
    assert softmax_rows(np.zeros((2, 0))).shape == (2, 0)


def test_right_programs_are_right_and_each_broken_one_belongs_to_a_stage():
    rng = np.random.default_rng(0)
    programs, _ = Q.draw(rng, RIGHT_CODE)
    assert len(programs) >= 5
    for scale in (1.0, 2e4):
        scores = (scale * rng.normal(size=(4, 5))).astype(np.float32)
        mask = rng.random((4, 5)) < 0.5
        mask[2] = False
        expected = softmax_rows(scores.astype(np.float64), mask)
        for text in programs:
            leaf = torch.tensor(scores).requires_grad_()
            weights = made(text)(leaf, torch.tensor(mask))
            np.testing.assert_allclose(weights.detach(), expected, atol=2e-6)
            weights.square().sum().backward()
            assert leaf.grad.isfinite().all(), "a test may ask for gradients"
    assert all(RIGHT_CODE in stage.kinds for stage in Q.stages)
    broken = [kind for kind in KINDS if kind != RIGHT_CODE]
    assert len(set(broken)) == len(broken) >= 15
    with pytest.raises(ValueError, match="no broken program is called 'nothing'; there are"):
        Q.draw(rng, "nothing")


def test_the_order_says_nothing():
    orders = set()
    for seed in range(40):
        programs, seeds = Q.draw(np.random.default_rng(seed), "mask inverted")
        assert len(programs) == len(seeds) == 3
        orders.add(Q.oracle(programs, seeds)["verdicts"])
    assert len(orders) == 3


@pytest.mark.parametrize(
    "code",
    [
        # Random numbers without a seed, many of them; prints; arguments by name.
        HEAD + "    for n in range(60):\n"
        "        s, m = torch.randn(3, 4), torch.rand(3, 4) < 0.6\n"
        "        m[0] = bool(n % 2)\n"
        "        s = torch.where(m, s + (-3e4, 0, 3e4)[n % 3], 500.0)\n"
        "        keep = s.clone()\n"
        "        print(w := masked_softmax(mask=m, scores=s))\n"
        "        want = torch.softmax(s.double().masked_fill(~m, -1e300), -1) * m\n"
        "        assert (s == keep).all()\n"
        "        torch.testing.assert_close(w.double(), want, atol=1e-4, rtol=1e-3)\n"
        "    assert masked_softmax(s[:1], m[:1]).shape == (1, 4)\n",
        # By unittest, in plain numbers.
        "import unittest\n" + HEAD + "    t = unittest.TestCase()\n"
        "    for e in (0.0, -2e4, 2e4):\n"
        "        for rows, m in (([[e, e + 1, 80], [80, e + 1, e]], [[1, 1, 0], [0, 1, 1]]),\n"
        "                        ([[e + 1, 80, e], [80, 80, 80]], [[1, 0, 1], [0, 0, 0]]),\n"
        "                        ([[e, e + 1, 9]], [[1, 1, 0]])):\n"
        "            s = torch.tensor(rows)\n"
        "            w = masked_softmax(s, torch.tensor(m).bool()).tolist()\n"
        "            t.assertEqual(s.tolist(), rows)\n"
        "            for x, r, k in zip(w, rows, m):\n"
        "                for y, value, word in zip(x, r, k):\n"
        "                    p = 0.26894 if value == e else 0.73106\n"
        "                    t.assertAlmostEqual(y, p * word, places=3)\n",
    ],
)
def test_right_tests_of_any_style_pass(code, judge):
    found = judge.judge_code(NAME, "q6", code)
    assert (found.verdict, found.hint) == ("pass", "")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("    assert masked_softmax.__name__ == 'masked_softmax'\n", "keeps silent on every"),
        ("    assert masked_softmax.__module__ == '__main__'\n", "keeps silent on every"),
        ("    import inspect\n    inspect.getsource(masked_softmax)\n", "is call it"),
        ("    assert 'finfo' in masked_softmax.__code__.co_names\n", "is call it"),
        ("    masked_softmax.__wrapped__\n", "is call it"),
        ("    global n\n    n += 1\n    assert n % 2\nn = 0\n", "another time: it hangs on"),
        ("    assert torch.rand(()) < 0.5\n", "another time: it hangs on"),
        (f"{TRY}    assert fine\n    return fine\n", "A test returns nothing"),
        (
            f"{ONE}    assert w[0, 0] == 1\n",
            "1 of 6 right programs. One of them adds 1e-7 to each row",
        ),
        (f"{TRY}    assert w is masked_softmax\n", "refuses every program"),
        (f"{TRY}    assert w[1, 0] == 0\n", "IndexError. So it ends with every program"),
        (
            f"{TRY}    if not fine:\n        raise SystemExit\n",
            "as it would with one short sentence",
        ),
        (f"{TRY}    assert w[0, 2] > 0\n", "refuses right code, however it is written"),
        ("    while True:\n        pass\n", "a loop that never ends"),
    ],
)
def test_what_is_no_test_of_a_function_is_told_so(code, said, judge):
    found = judge.judge_code(NAME, "q6", HEAD + code)
    assert found.points == 0
    assert said in found.hint


def test_a_test_that_misses_something_hears_what_and_how_much(judge):
    code = Q.right[0].replace("assert weights.shape == given.shape", "pass")
    code = code.replace("[2, 1, 0], [1]", "[1]")
    found = judge.judge_code(NAME, "q6", code)
    assert found.points == 2
    assert found.hint == (
        "Your test keeps silent on 2 of 19 broken programs. One of them keeps the mask of an "
        "earlier call and uses it again."
    )
    assert found.example == []


def test_what_came_back_is_not_believed():
    inputs = Q.draw(np.random.default_rng(0), "mask inverted")
    for value in (None, 5, {}, {"verdicts": ("passes",), "raised": ()}, {"verdicts": 3}):
        assert Q.explain([(inputs, value)]) == ""


def test_programs_without_a_word_on_them_are_refused():
    with pytest.raises(ValueError, match="no comment says what is special about\ndef f"):
        a_test("f", "RIGHT\ndef f(x):\n    return x\nWRONG\nno | R -> -R\n    turns the sign\n")


def asserts(function):
    assert function(1) == 1, "one"


@pytest.mark.parametrize(
    ("test", "right", "said"),
    [
        (asserts, lambda x: x, None),
        (asserts, lambda x: 2, "^your test refuses right code: one"),
        (lambda f: f(1) == 1, lambda x: x, "^a test returns nothing"),
        (lambda f: None, lambda x: x, "^your test keeps silent on broken code: sign turned$"),
    ],
)
def test_the_visible_check_says_what_a_test_is(test, right, said):
    def sign_turned(x):
        return -x

    if said is None:
        tells_apart(test, right, sign_turned)
        return
    with pytest.raises(AssertionError, match=said):
        tells_apart(test, right, sign_turned)
