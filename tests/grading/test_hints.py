"""What is said of an answer that nobody foresaw is true of it."""

import re
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.bank import exercises, load
from seqattn.grading.cases import DOUBLE, FIRST, OTHERS, draw_cases
from seqattn.grading.compare import Difference, fault
from seqattn.grading.diagnosis import advice, diagnose
from seqattn.grading.sandbox import wire
from tests.grading.conftest import EXERCISE


@pytest.fixture(scope="module")
def every_case():
    """Draw cases of every function; here, since each worker imports this module."""
    drawn = {
        (name, q.id): (q, draw_cases(name, q, "diagnosis", 2))
        for name in exercises()
        for q in load(name).questions
        if q.arguments and not q.probe
    }
    # Of results by name another test below tells.
    return {
        key: (q, cases) for key, (q, cases) in drawn.items() if type(cases[0].expected) is not dict
    }


def each(change):
    """Spoil every result in the same way, but flags that come with numbers."""

    def spoil(right, case, cases):
        if isinstance(right, tuple):
            return tuple(x if x.dtype.kind == "b" else spoil(x, case, cases) for x in right)
        return change(right)

    return spoil


def of_base(kind):
    """Give what the case gave that was varied, as an answer does that never looks."""
    return lambda right, case, cases: cases[case.base].expected if case.kind == kind else right


def leaking(right, case, cases):
    """Let sentences see one another."""
    if isinstance(right, tuple):
        return tuple(leaking(r, case, cases) for r in right)
    return right + right.sum(0) if right.ndim else right


def only(kind):
    waves = each(lambda x: x + np.sin(7 * np.arange(1, x.size + 1)).reshape(x.shape))
    return lambda right, case, cases: waves(right, case, cases) if case.kind == kind else right


def noisy(right):
    return right * (1 + 0.01 * np.cos(np.arange(right.size).reshape(right.shape)))


AT_PADS = "not 0 at places where the mask is False"


def on_pads(right, case, cases):
    """Give what the mask rules out a share, all other numbers some noise."""
    mask = next((x for x in case.inputs if getattr(x, "ndim", 0) == 2 and x.dtype == bool), None)
    if mask is None or not isinstance(right, np.ndarray) or right.shape != mask.shape:
        return noisy(right) if isinstance(right, np.ndarray) else right
    return np.where(mask, right, right + 0.3 * (right == 0))


# How right results are spoiled, and what may be said of it; one of these, or nothing.
SPOILED = {
    "sign": (each(lambda x: -x), ("opposite sign", "minus the")),
    "factor": (each(lambda x: 3 * x), ("by a factor", "times the same number")),
    "twice": (each(lambda x: 2 * x), ("by a factor", "twice the")),
    "half": (each(lambda x: x / 2), ("by a factor", "half the")),
    "inverse": (each(lambda x: 1 / x if x.ndim == 0 else x), ("one over the",)),
    "shift": (
        each(lambda x: x + 0.5),
        ("by a constant in each row", "larger than the right one by the same amount"),
    ),
    "flipped": (each(lambda x: x[..., ::-1] if x.ndim else x), ("runs the wrong way",)),
    "transposed": (
        each(lambda x: np.swapaxes(x, -1, -2) if x.ndim > 2 else x),
        ("Rows and columns",),
    ),
    "batch turned": (each(lambda x: x[::-1] if x.ndim else x), ("in another order",)),
    "on pads": (on_pads, (AT_PADS,)),
    "first for all": (
        each(lambda x: x[:1] + 0 * x if x.ndim else x),
        ("the same result in yours",),
    ),
    "noise": (each(noisy), ("nearly right",)),
    "batch seen": (leaking, ("changes when the others do", "changes when the first one does")),
    "more flags": (
        each(lambda x: x | True),
        ("True at places that must be False", "stays the same when"),
    ),
    "fewer flags": (
        each(lambda x: x & False),
        ("False at places that must be True", "stays the same when"),
    ),
    "pads": (only("pads that hold nan"), ("until the padding holds nan:",)),
    "one kind": (only("large"), ("wrong here: large.",)),
    "softmax": (
        each(lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True) if x.ndim else x),
        ("sum to 1, as weights do",),
    ),
    "not normalised": (
        each(lambda x: x**2 + 0.01 * np.sin(40 * x)),
        ("do not sum to 1",),
    ),
    "over the batch": (
        each(lambda x: x / x.sum(0) if x.ndim > 1 else x),
        ("sum to 1 over the batch",),
    ),
} | {
    f"another {name}": (of_base(f"another {name}"), (f"the same when {name} changes,",))
    for name in ("mask", "query", "temperature", "W")
}
# Also true of results that are spoiled in one of these ways, wherever it is said.
ALSO_TRUE = {
    "factor": ("Yours goes above 1;",),
    "not normalised": ("Yours goes", "wrong it is too"),
    "sign": ("do not sum to 1",),
    "noise": ("do not sum to 1",),
    "another mask": (AT_PADS,),
    "on pads": ("do not sum to 1", "nearly right", "until the padding holds", "wrong here:"),
    "shift": ("do not sum to 1", AT_PADS),
    "first for all": ("changes when", "stays the same when"),
    "batch turned": ("changes when", "stays the same when", AT_PADS, "along its first axis"),
    "over the batch": ("changes when", "do not sum to 1"),
    "one kind": ("do not sum to 1", "nearly right"),
    "batch seen": (AT_PADS, "do not sum to 1", "by a factor", "by a constant in each row"),
    # Where a result has one number for each sentence, its row is the batch.
    "flipped": ("changes when the others do", AT_PADS),
    "softmax": ("changes when the others do", AT_PADS),
}
# What test_relations.py finds true of numbers, whatever was done to them.
OF_RELATIONS = (
    *("Wherever a number of yours", "right here alone", "You have the right numbers, but"),
    *("all numbers of yours are the same", "place alone is right", "right one plus"),
    *(
        "right only where what is right is exactly 0",
        "All numbers of your result are",
        "are off by the same amount",
    ),
)


def said_of(q, cases, spoil, varied):
    """Give back what an answer with these results hears, with variations of a case or without."""
    results, wrong = {}, {}
    for n, case in enumerate(cases):
        if case.upstream is not None or case.kind == DOUBLE or (case.base >= 0 and not varied):
            continue
        value = spoil(case.expected, case, cases)
        values = value if isinstance(value, tuple) else (value,)
        tensors = [_tensor(np.asarray(v)) for v in values]
        value = tuple(tensors) if isinstance(value, tuple) else tensors[0]
        results[n] = {"result": {"value": value}}
        if found := fault(results[n], case):
            wrong[n] = found
    return diagnose(q, cases, results, wrong) if wrong else ""


def _tensor(array):
    floats = array.dtype.kind == "f"
    return wire.Tensor(
        array.astype(np.float32) if floats else array, "float32" if floats else "bool"
    )


@pytest.mark.parametrize("how", SPOILED)
def test_what_is_said_is_what_was_done(how, every_case):
    spoil, allowed = SPOILED[how]
    heard = []
    for ((name, question), (q, cases)), varied in product(every_case.items(), (True, False)):
        right = cases[0].expected
        if ("flags" in how) != (isinstance(right, np.ndarray) and right.dtype.kind == "b"):
            continue
        with np.errstate(all="ignore"):
            if said := said_of(q, cases, spoil, varied):
                true = (*allowed, *ALSO_TRUE.get(how, ()), *OF_RELATIONS)
                fits = any(x in said for x in true)
                heard.append((f"{name} {question}", said, fits))
    assert [h for h in heard if not h[2]] == []
    assert any(text in said for _, said, _ in heard for text in allowed), f"nobody hears {allowed}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x, gain, bias, eps: (x, gain[::-1], bias, eps), "if gain were turned round"),
        (lambda x, gain, bias, eps: (x[..., ::-1], gain, bias, eps), "if x were turned round"),
        (lambda x, gain, bias, eps: (x, gain, bias, 1.0), "if eps were 1."),
    ],
)
def test_an_answer_to_other_inputs_is_told_which(change, said, every_case):
    q, cases = every_case["16_transformer", "q1"]
    results, wrong = {}, {}
    for n, case in enumerate(cases):
        if case.upstream is None:
            results[n] = {"result": {"value": _tensor(q.oracle(*change(*case.inputs)))}}
            if found := fault(results[n], case):
                wrong[n] = found
    assert said in diagnose(q, cases, results, wrong)


def test_one_input_that_several_stages_share_counts_once():
    q = load("11_coverage").question("q5")
    cases = draw_cases("11_coverage", q, "diagnosis", 3)
    place = q.arguments.index("V")

    def heard(wrong):
        results = {}
        for n, case in enumerate(cases):
            inputs = [*case.inputs]
            inputs[place] += n in wrong
            value = q.oracle(*inputs)
            tensors = [wire.Tensor(x, str(x.dtype)) for x in value]
            results[n] = {"result": {"value": tuple(tensors)}}
        found = {n: one for n in wrong if (one := fault(results[n], cases[n]))}
        return found, diagnose(q, cases, results, found)

    first = next(n for n, case in enumerate(cases) if case.kind == "other ids")
    wrong, said = heard([n for n, c in enumerate(cases) if c.inputs is cases[first].inputs])
    assert len(wrong) > 1
    assert "would be right if" not in said
    _, said = heard([n for n, case in enumerate(cases) if case.base < 0 and case.kind != DOUBLE])
    assert "Where yours is wrong, it is what would be right if V were larger by 1." in said


def test_what_an_oracle_is_warned_of_reaches_no_terminal(every_case, recwarn):
    q, cases = every_case["16_transformer", "q1"]
    tried = []

    def oracle(*inputs):
        tried.append(inputs)
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=1)
        return q.oracle(*inputs)

    wrong = {n: Difference("value", "") for n, case in enumerate(cases) if case.upstream is None}
    results = {n: {"result": {"value": _tensor(noisy(cases[n].expected))}} for n in wrong}
    diagnose(replace(q, oracle=oracle), cases, results, wrong)
    assert tried
    assert not recwarn.list


def test_of_results_with_nan_it_is_not_said_for_which_inputs_they_are_right(every_case):
    q, cases = every_case["16_transformer", "q1"]
    # With other inputs NaN may be right: nothing follows from that.
    spoiled = replace(q, oracle=lambda *inputs: np.nan * q.oracle(*inputs))
    results, wrong = {}, {}
    for n, case in enumerate(cases):
        if case.upstream is None and case.kind != DOUBLE and case.base < 0:
            results[n] = {"result": {"value": _tensor(np.nan * case.expected)}}
            wrong[n] = fault(results[n], case)
    assert {found.kind for found in wrong.values()} == {"nan"}
    assert "would be right if" not in diagnose(spoiled, cases, results, wrong)


@pytest.mark.parametrize("count", [2, 60])
def test_texts_that_may_be_said_are_listed_while_they_are_few(count):
    q = load("12_hard").question("q6")
    case = draw_cases("12_hard", q, "diagnosis", 1)[-1]
    texts = [f"text {'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]}" for n in range(count)]
    cases = [
        case._replace(inputs=(*case.inputs,), expected={**case.expected, "verdict": text})
        for text in texts
    ]
    results = {
        n: {"result": {"value": {**case.expected, "verdict": "maybe"}}} for n in range(count)
    }
    said = diagnose(q, cases, results, dict.fromkeys(results, Difference("value", "")))
    assert ("none of those that may be said: text aa, text ab." in said) == (count == 2)
    assert len(said) < 300


def test_every_variation_is_of_a_kind_that_is_told(every_case):
    kinds = {case.kind for _, cases in every_case.values() for case in cases if case.base >= 0}
    assert {FIRST, OTHERS} <= kinds
    assert all(re.match(r"another \w+$", kind) for kind in kinds - {FIRST, OTHERS})


# Plain numbers: what is done to all of them, and what is said of it.
OF_NUMBERS = {
    "a constant": (lambda x: 0.5, "Yours is the same number whatever it is given;"),
    "one more": (lambda x: x + 1, "larger than the right one by the same amount"),
    "turned": (lambda x: 2 - x, "and the right one add up to the same"),
    "below": (lambda x: x - x**2 - 1, "Yours goes below 0;"),
    "less": (lambda x: x**2 * 0.9, "Wherever yours is wrong it is too small."),
    "more or less": (lambda x: 0.9 - 0.8 * x, ""),
}


@pytest.mark.parametrize("how", OF_NUMBERS)
def test_of_single_numbers_it_is_said_what_holds_in_every_case(how):
    change, said = OF_NUMBERS[how]
    q = load("08_reading_maps").question("q5")
    cases = draw_cases("08_reading_maps", q, "diagnosis", 3)
    results, wrong = {}, {}
    for n, case in enumerate(cases):
        value = {**case.expected, "the rate": float(change(case.expected["the rate"]))}
        results[n] = {"result": {"value": value}}
        if found := fault(results[n], case):
            wrong[n] = found
    found = diagnose(q, cases, results, wrong)
    assert said in found if said else found == ""


BY_HAND = {
    (0.73, 0.73, 0.0): "Yours add up to 1.46;",
    (0.73, -0.27, 0.0): "A number of yours is below 0;",
    (1.73, 0.27, 0.0): "A number of yours is above 1;",
    (0.70, 0.30, 0.0): "the others are right: look at number 1 and number 2 again.",
    (0.40, 0.50, 0.1): "",
}


@pytest.mark.parametrize("numbers", BY_HAND)
def test_of_numbers_by_hand_it_is_said_which_are_wrong_and_how(numbers):
    q = load("03_additive").question("q6")
    cases = draw_cases("03_additive", q, "diagnosis", 3)[:1]
    results = {0: {"result": {"value": numbers}}}
    found = diagnose(q, cases, results, {0: fault(results[0], cases[0])})
    assert BY_HAND[numbers] in found if BY_HAND[numbers] else found == ""


def test_of_several_parts_it_is_said_which_one_is_wrong_and_how():
    q = load("04_scores").question("q4")
    cases = draw_cases("04_scores", q, "diagnosis", 1)
    results, wrong = {}, {}
    for n, case in enumerate(cases):
        right = case.expected
        spoiled = {"context": noisy(right["context"]), "weights": right["weights"] ** 2}
        value = {**right, **{name: _tensor(np.asarray(x)) for name, x in spoiled.items()}}
        results[n] = {"result": {"value": value}}
        if found := fault(results[n], case):
            wrong[n] = found
    said = "Looking at weights alone: The rows of your result do not sum to 1."
    assert diagnose(q, cases, results, wrong) == said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a, b: (2 * a, b), "number 1 of variance alone: Yours is the right one times"),
        (lambda a, b: (a + 0.2 * a**2, b), "number 1 of variance alone: Wherever yours is wrong"),
        (lambda a, b: (a, 1.5 - (b - 1) ** 2), "Only number 2 of variance is wrong"),
    ],
)
def test_of_rows_of_numbers_it_is_said_which_one_is_wrong(change, said):
    q = load("05_scaled").question("q2")
    cases = draw_cases("05_scaled", q, "diagnosis", 1)
    results, wrong = {}, {}
    for n, case in enumerate(cases):
        value = {**case.expected, "variance": change(*case.expected["variance"])}
        results[n] = {"result": {"value": value}}
        if found := fault(results[n], case):
            wrong[n] = found
    assert said in diagnose(q, cases, results, wrong)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("additive_score() takes 1 positional argument but 5 were given", True),
        ("sort() got an unexpected keyword argument 'axis'", False),
    ],
)
def test_only_a_wrong_call_of_the_answer_hears_how_it_is_called(message, said):
    text = advice({"type": "TypeError", "message": message}, EXERCISE.question("q1"))
    assert text.startswith("It is called as additive_score(query,") == said


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("argsort() takes from 1 to 0 positional arguments but 1 were given", True),
        ("sort() received an invalid combination of arguments - got (Tensor, int, stable=b", True),
        ("sort() received an invalid combination of arguments - got (list)", False),
        ("argsort(): argument 'dim' must be int, not str", False),
    ],
)
def test_who_sorts_by_places_is_told_the_names(message, said):
    text = advice({"type": "TypeError", "message": message}, EXERCISE.question("q1"))
    assert text.startswith("Name its arguments: dim=-1") == said


LOOKS = """def self_attention(X, W_q, W_k, W_v, lengths, causal):
    T = X.shape[1]
    real = torch.arange(T) < lengths[:, None]
    keep = real[:, None, :].repeat(1, T, 1)
    if {condition}:
        keep = keep.tril()
    e = (X @ W_q) @ (X @ W_k).mT / math.sqrt(W_k.shape[1])
    weights = e.masked_fill(~keep, -math.inf).softmax(-1)
    return (weights @ (X @ W_v)).masked_fill(~real[:, :, None], 0.0)
"""
SAYS = """def may_say(a, b, interval):
    if a["signature"] != b["signature"] or a["sentences"] != b["sentences"]:
        return "not comparable"
    if a["sentences"] in (a["chosen on"], b["chosen on"]):
        return "flattered"
    if {condition}:
        return "no difference seen"
    if len(a["scores"]) < 2 or len(b["scores"]) < 2:
        return "two trainings"
    if max(a["scores"]) < min(b["scores"]):
        return "b is better"
    return "a is better" if max(b["scores"]) < min(a["scores"]) else "no difference seen"
"""
WINDOW = """def in_window(centres, D, lengths, size):
    i = torch.arange(size)
    return (i[None] - centres[:, None] <= D) & (i[None] < lengths[:, None])
"""


@pytest.mark.parametrize(
    ("exercise", "question", "code", "mistaken_for"),
    [
        ("14_self_attention", "q1", LOOKS.format(condition="not causal"), ""),
        ("14_self_attention", "q1", LOOKS.format(condition="True"), "always causal"),
        ("14_self_attention", "q1", LOOKS.format(condition="False"), "never causal"),
        ("17_evaluation", "q5", SAYS.format(condition="not interval[0] <= 0 <= interval[1]"), ""),
        ("17_evaluation", "q5", SAYS.format(condition="interval[1] >= 0"), "only the upper end"),
    ],
)
def test_a_condition_turned_round_is_no_named_mistake(
    exercise, question, code, mistaken_for, judge
):
    found = judge.judge_code(exercise, question, code)
    assert found.verdict in ("fail", "partial")
    assert found.mistake == mistaken_for


@pytest.mark.parametrize("seed", ["hs1", "r2", "z0", "z1"])
def test_a_result_stays_the_same_only_if_it_does_so_twice(seed):
    with AuthorsJudge(seed) as judge:
        found = judge.judge_code("10_local", "q1", WINDOW)
    assert "stays the same" not in found.hint
