"""What is said of numbers beside the right ones holds in all cases; else nothing is said."""

import math

import numpy as np
import pytest

from seqattn.grading.bank import load
from seqattn.grading.cases import draw_cases
from seqattn.grading.compare import difference, fault, same
from seqattn.grading.diagnosis import diagnose
from seqattn.grading.relations import Seen, by_sizes, located, quantities, related
from seqattn.grading.sandbox import wire

SHAPES = ((2, 3, 4), (3, 5, 4), (1, 3, 3))


def cases_of(change, shapes=SHAPES):
    """Make cases in which an answer gives a change of the right results, and of an input x."""
    rng = np.random.default_rng(1)
    found = []
    for shape in shapes:
        right, x = rng.normal(size=shape), 2 + rng.random(shape[-1])
        found.append(Seen(change(right, x), right, {"x": x, "n": 3}))
    return found


def shifted(b, axis, by):
    moved = np.roll(b, by, axis)
    index = [slice(None)] * b.ndim
    index[axis] = 0 if by > 0 else -1
    moved[tuple(index)] = 7.0
    return moved


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b, x: abs(b), "is the right one without its sign."),
        (lambda b, x: b**2, "is the square of the right one."),
        (lambda b, x: 1 - b, "is one minus the right one."),
        (lambda b, x: np.minimum(b, 1), "never above 1."),
        (lambda b, x: b.round(), "rounded to a whole number."),
        (lambda b, x: b + x, "Your result is the right one plus x."),
        (lambda b, x: b / x, "Your result is the right one divided by x."),
        (lambda b, x: 3 * b, "Your result is the right one times n."),
        (lambda b, x: x + 0 * b, "Your result is x, as it came in."),
        (lambda b, x: b.mean(-1, keepdims=True) + 0 * b, "Along the last axis all numbers"),
        (lambda b, x: b.mean(1, keepdims=True) + 0 * b, "Along the axis in the middle all"),
        (lambda b, x: shifted(b, 1, 1), "in the middle your numbers stand one place too late."),
        (lambda b, x: shifted(b, -1, -1), "last axis your numbers stand one place too early."),
        (lambda b, x: b.cumsum(1), "in the middle your numbers are running sums"),
        (lambda b, x: np.diff(b, axis=-1, prepend=0), "the right numbers are running sums of"),
        (lambda b, x: np.sort(b, -1), "along the last axis they stand in another order."),
        (lambda b, x: b.ravel()[::-1].reshape(b.shape), "but at other places."),
        (lambda b, x: b + b**3, ""),
        (lambda b, x: b + np.sin(50 * b), ""),
    ],
)
def test_a_relation_is_named_where_it_holds_in_every_case(change, said):
    found = related(cases_of(change))
    assert said in found if said else found == ""


def test_what_holds_in_some_cases_alone_is_not_said():
    seen = cases_of(lambda b, x: b**2)
    assert related([*seen, seen[0]._replace(yours=seen[0].right + 1)]) == ""
    # Few numbers, or all the same, agree by chance.
    assert related([Seen(np.array(4.0), np.array(2.0), {})] * 2) == ""
    assert related([Seen(np.ones(9), -np.ones(9), {})] * 2) == ""


def off(where, by):
    def change(b, x):
        b = b.copy()
        b[where] = by(b[where])
        return b

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (off(np.s_[..., -1], lambda b: b + 1), "Only the last place along the last axis is wrong."),
        (off(np.s_[:, :1], lambda b: b - 1), "Only the first place along the axis in the middle"),
        (off(np.s_[:, 1:], lambda b: b - 1), "in the middle the first place alone is right."),
        (lambda b, x: b + 0.1 + b**2, "wrong it is too large."),
        (lambda b, x: b - 0.1 - b**2, "wrong it is too small."),
        (lambda b, x: b * (1.5 + b**2), "too far from 0, with the right sign."),
        (lambda b, x: b / (1.5 + b**2), "too near 0, with the right sign."),
        (lambda b, x: b + np.sin(50 * b), ""),
    ],
)
def test_it_is_said_where_numbers_are_wrong_and_on_which_side(change, said):
    found = located(cases_of(change, ((2, 3, 4), (3, 5, 4))))
    assert said in found if said else found == ""


def test_zeros_that_are_missed_are_told():
    right = np.array([[0.0, 0.5, 0.5], [0.3, 0.0, 0.7]])
    one = Seen(np.where(right == 0, 0.1, right), right, {})
    assert located([one, one]) == "Yours is wrong only where what is right is exactly 0."
    one = Seen(np.where(right == 0, 0, right**2 + 0.2), right, {})
    assert located([one, one]) == "Yours is right only where what is right is exactly 0."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b, d, T, x: b + T * d**2, "Yours is too large by d² · T."),
        (lambda b, d, T, x: b - 2 * T * d, "Yours is too small by 2 · d · T."),
        (lambda b, d, T, x: b * T, "Yours is the right one times T."),
        (lambda b, d, T, x: b / x, "Yours is the right one divided by x.shape[1]."),
        (lambda b, d, T, x: b + T**2 + d, ""),
        (lambda b, d, T, x: b + 5, ""),
    ],
)
def test_a_number_may_be_off_by_a_product_of_sizes(change, said):
    rng = np.random.default_rng(2)
    inputs = [
        {"d": int(d), "T": int(T), "flag": True, "x": np.zeros((4, int(w)))}
        for d, T, w in zip(*(rng.integers(2, 12, size=8) for _ in range(3)))
    ]
    right = np.array([3.0 * one["d"] + one["T"] for one in inputs])
    yours = [change(b, one["d"], one["T"], one["x"].shape[1]) for b, one in zip(right, inputs)]
    found = by_sizes(np.array(yours), right, [quantities(one) for one in inputs])
    assert found == said


def heard(name, question, change, draws=2):
    """Give back what an answer hears that changes the right one as it likes."""
    q = load(name).question(question)
    cases = draw_cases(name, q, "relations", draws)
    results, wrong = {}, {}
    for n, case in enumerate(cases):
        if case.upstream is not None:
            continue
        value = change(case)
        if isinstance(value, np.ndarray):
            value = wire.Tensor(value.astype(np.float32), "float32")
        results[n] = {"result": {"value": value}}
        if found := fault(results[n], case):
            wrong[n] = found
    return diagnose(q, cases, results, wrong)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"the multiplications": lambda b, d, heads, T, S: b - T * S * d},
            "too small by d · T · S.",
        ),
        ({"the rows": lambda b, d, heads, T, S: S * heads}, "if T were S."),
        ({"the weights": lambda b, d, heads, T, S: b * heads}, "the right one times heads."),
    ],
)
def test_a_bill_that_is_wrong_hears_by_how_much(change, said):
    def spoil(case):
        right = case.expected
        if "T were S" in said:
            d, heads, T, S = case.inputs
            return load("13_heads").question("q4").oracle(d, heads, S, T)
        return right | {name: float(f(right[name], *case.inputs)) for name, f in change.items()}

    assert said in heard("13_heads", "q4", spoil)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (lambda v: "no dropout" if v == "dropout is worse" else v, "where 'dropout is worse' is"),
        (lambda v: "no difference seen", "You say 'no difference seen' too often."),
        (lambda v: "better", "One of your texts is none of those that may be said:"),
        (lambda v: v[::-1], "One of your texts is none of those that may be said:"),
    ],
)
def test_a_verdict_that_is_wrong_hears_which(verdict, said):
    def spoil(case):
        return case.expected | {"verdict": verdict(case.expected["verdict"])}

    assert said in heard("12_hard", "q6", spoil, 5)


def test_kinds_that_alone_are_right_are_named():
    def spoil(case):
        right, few = case.expected, case.kind in ("one sentence", "one word")
        return right if few else right + np.sin(7 * np.arange(right.size)).reshape(right.shape)

    said = heard("14_self_attention", "q5", spoil)
    assert said.startswith("Your answer is right here alone: one")


def test_no_kind_is_right_for_the_sake_of_a_stage_that_looks_at_something_else():
    def spoil(case):
        through = [x + x * (1 - x) * math.sin(1e4 * x) for x in case.expected["through"]]
        return case.expected | {"through": tuple(through)}

    # The variance is right everywhere, and one kind of case is for the variance alone.
    assert "right here alone" not in heard("05_scaled", "q2", spoil)


def test_a_part_of_a_part_is_named_by_both_numbers():
    found = difference(((1.0, 2.0), (3.0, 4.0)), ((1.0, 2.0), (3.0, 5.0)))
    assert found.text == "the result, part 2, part 2, is not the right number"


@pytest.mark.parametrize(
    ("got", "expected", "right"),
    [
        (math.inf, math.inf, True),
        (5.0, math.inf, False),
        (-math.inf, math.inf, False),
        (math.inf, 5.0, False),
        (5.001, 5.0, True),
    ],
)
def test_what_is_infinite_has_no_neighbours(got, expected, right):
    assert (difference(got, expected, tolerance=(0.01, 0.01)) is None) == right
    assert same(got, expected) == right
