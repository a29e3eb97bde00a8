"""Every known answer gets what it deserves, whatever cases are drawn."""

import os
import re
from contextlib import ExitStack
from functools import cache

import pytest
import yaml

from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.bank import exercises, load
from seqattn.grading.cases import draw_cases
from seqattn.grading.sandbox.host import Limits
from tests.grading.conftest import EXERCISE, LIMITS, ROOT, assert_large_enough

QUESTIONS = [(name, q) for name in exercises() for q in load(name).questions]
every_question = pytest.mark.parametrize(
    ("name", "q"), QUESTIONS, ids=[f"{name}-{q.id}" for name, q in QUESTIONS]
)
# With each commit one seed, and three cases of each kind: a mistake that shows by luck alone is
# likelier to be missed, and then the test fails. Each week five seeds, and five cases, as graded.
WEEKLY = int(os.environ.get("SEQATTN_SEEDS", 1))
SEEDS, DRAWS = "abcdefghij"[:WEEKLY], 3 if WEEKLY == 1 else 5
every_seed = pytest.mark.parametrize(
    "seed", [SEEDS[0], *(pytest.param(s, marks=pytest.mark.slow) for s in SEEDS[1:])]
)


@pytest.fixture(scope="session")
def judges():
    """One judge for each seed: its first process takes a second to start."""
    with ExitStack() as stack:
        yield cache(lambda seed: stack.enter_context(AuthorsJudge(seed, LIMITS, draws=DRAWS)))


@every_seed
@every_question
def test_wrong_answers_lose_the_right_points_and_hear_their_mistake(name, q, seed, judges):
    verdicts = judges(seed).judge_many(name, q.id, [w.code for w in q.wrong])
    found = dict(zip([w.name for w in q.wrong], verdicts, strict=True))
    assert {w: (v.points, v.mistake) for w, v in found.items()} == {
        w.name: (w.keeps, w.name) for w in q.wrong
    }
    assert {w: v.hint for w, v in found.items()} == {w.name: w.hint for w in q.wrong}


@every_seed
@every_question
def test_right_answers_of_any_style_get_full_points(name, q, seed, judges):
    found = judges(seed).judge_many(name, q.id, q.right)
    assert [(v.verdict, v.points) for v in found] == [("pass", q.points)] * len(q.right)


@every_question
def test_banks_are_large_enough_to_mean_something(name, q):
    assert_large_enough(q)


def test_bugs_that_were_shipped_are_mistakes_with_hints():
    bugs = yaml.safe_load((ROOT / "solutions" / "real_bugs.yml").read_text(encoding="utf-8"))
    known = {f"{name[:2]} {q.id} {w.name}" for name, q in QUESTIONS for w in q.wrong}
    assert all(bug["source"] and bug["what"] and bug["mistakes"] for bug in bugs)
    assert {name for bug in bugs for name in bug["mistakes"]} - known == set()


def read_again(q):
    """Give all places that a question sends its readers to."""
    return [q.read, *(part.read for part in (*q.stages, *q.wrong) if part.read)]


@every_question
def test_what_to_read_again_is_a_page_of_the_book(name, q):
    for read in read_again(q):
        page, _, title = read.partition(": ")
        assert title
        assert (ROOT / f"{page}.ipynb").is_file() or (ROOT / f"{page}.md").is_file()


def test_a_mistake_or_a_stage_may_send_to_a_place_of_its_own(judge):
    q = load("06_decoder").question("q3")
    wrong = next(w for w in q.wrong if w.name == "the smaller of two")
    found = judge.judge_code("06_decoder", "q3", wrong.code)
    assert (wrong.read, q.read) == (found.read, "chapters/06_decoder: One step, in two orders")
    assert found.read != q.read
    q = load("04_scores").question("q4")
    wrong = next(w for w in q.wrong if w.name == "a plain tensor")
    found = judge.judge_code("04_scores", "q4", wrong.code)
    assert (found.read, wrong.read) == (q.stages[0].read, "")
    assert found.read != q.read


@pytest.mark.parametrize("name", exercises())
def test_the_stated_points_are_those_that_are_given(name):
    exercise = load(name)
    stub = (ROOT / "exercises" / f"{name}.ipynb").read_text(encoding="utf-8")
    stated = [int(n) for n in re.findall(r"# Question q\d+ \((\d+) points?\)", stub)]
    assert stated == [q.points for q in exercise.questions]
    assert sum(stated) == exercise.points


def test_the_engine_is_proven_on_questions_of_every_kind():
    assert len(QUESTIONS) >= 15
    kinds = {
        "a module": [
            q for _, q in QUESTIONS if "Module" in q.probe and "parameters" in str(q.stages)
        ],
        "a training step": [q for _, q in QUESTIONS if q.entry == "train_step"],
        "decoding": [q for _, q in QUESTIONS if q.entry == "greedy_decode"],
        "a number": [
            q for _, q in QUESTIONS if q.probe and "float(x)" in q.probe and not q.evidence
        ],
        "an experiment": [q for _, q in QUESTIONS if q.title.startswith("Measured")],
        "a function": [q for _, q in QUESTIONS if not q.probe],
        "a test": [q for _, q in QUESTIONS if q.asks_for_a_test],
    }
    assert all(kinds.values())


def test_the_exercise_has_as_many_points_as_its_questions():
    assert EXERCISE.points == sum(stage.points for q in EXERCISE.questions for stage in q.stages)
    assert 4 <= len(EXERCISE.questions) <= 6


def test_an_unknown_mistake_still_gets_a_hint(judge):
    code = (
        "def additive_score(q, K, Wq, Wk, v):\n"
        "    K = K.repeat_interleave(len(q) // len(K), 0)\n"
        "    return torch.cos((q @ Wq.T)[:, None] + K @ Wk.T) @ v"
    )
    found = judge.judge_code("03_additive", "q1", code)
    assert (found.verdict, found.mistake) == ("fail", "")
    assert "tanh" in found.hint


@pytest.fixture
def impatient(judge, monkeypatch):
    """Have the judge end early what never ends."""
    monkeypatch.setattr(judge.sandbox, "limits", Limits(seconds=0.5))


def test_one_that_never_stops_costs_those_beside_it_nothing(judge, impatient, monkeypatch):
    right = EXERCISE.question("q1").right[0]
    endless = "def additive_score(q, K, Wq, Wk, v):\n    while True:\n        pass"
    runs, run = [], judge.sandbox.run
    monkeypatch.setattr(judge.sandbox, "run", lambda *job: runs.append(job) or run(*job))
    found = judge.judge_many("03_additive", "q1", [right, endless, right, right])
    assert [v.verdict for v in found] == ["pass", "timeout", "pass", "pass"]
    assert len(runs) == 3  # all of them, the endless one alone, those after it


def _module(W_q, weight=""):
    """Write a module with another first parameter."""
    return load("03_additive").question("q5").right[0].replace(
        "nn.Parameter(torch.randn(d_a, d_q) / math.sqrt(d_q))", W_q
    ).replace("self.W_q, ", f"self.W_q{weight}, ")  # fmt: skip


@pytest.mark.parametrize(
    ("question", "code", "said"),
    [
        ("q1", "def additive_score(q, K, Wq, Wk, v):\n    print(q)", "did you forget to return"),
        ("q1", "def additive_score(q, K, Wq, Wk, v):\n    return K", "expected"),
        (
            "q1",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    K = K.repeat_interleave(len(q) // len(K), 0)\n"
            "    return (torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T) @ v).numpy()",
            "expected a torch tensor",
        ),
        ("q1", "def additive_score(q):\n    return q", "It is called as additive_score(query"),
        ("q1", "def additive_score(*x):\n    return helper(x)", "what another cell computed"),
        (
            "q2",
            "def masked_softmax(s, m):\n    return torch.rand_like(s)",
            "not deterministic",
        ),
        (
            "q2",
            "def masked_softmax(s, m):\n"
            "    s *= 1.0001\n"
            "    return torch.softmax(torch.where(m, s, -1e30), -1) * m",
            "changes scores: work on a copy",
        ),
        ("q6", "weights_by_hand = 'much'", "a text is no number"),
        # Right but in float64, where a small constant shows.
        (
            "q2",
            "def masked_softmax(s, m):\n"
            "    w = torch.softmax(s.masked_fill(~m, -torch.inf), -1).nan_to_num()\n"
            "    return w / (w.sum(-1, keepdim=True) + 1e-6)",
            "a small constant is added",
        ),
        # A known mistake and another one behind it: the first is named.
        (
            "q3",
            "def attend(query, keys, mask, W_q, W_k, v):\n"
            "    a = torch.softmax(additive_score(query, keys, W_q, W_k, v), -1)\n"
            "    return a.detach(), (a[..., None] * keys).sum(1)",
            "the order is context, weights",
        ),
        (
            "q5",
            _module("nn.Linear(d_q, d_a, bias=False)", ".weight"),
            "No parameter is called W_q:",
        ),
        ("q5", _module("nn.Parameter(torch.randn(1, d_q).repeat(d_a, 1))"), "columns begin alike"),
    ],
)
def test_hints_for_what_no_bank_foresees(question, code, said, judge):
    assert said in judge.judge_code("03_additive", question, code).hint


@pytest.mark.parametrize("taken", ["with torch.no_grad():\n        ", "weights = weights.data; "])
def test_a_measure_without_gradients_hears_that_none_arrives(taken, judge):
    code = (
        f"def entropy(weights):\n    {taken}h = -(weights * (weights + 1e-9).log()).sum(-1)\n"
        "    return h.float()\n"
    )
    found = judge.judge_code("08_reading_maps", "q1", code)
    assert found.points == 2
    assert "no gradient reaches the scores behind the weights" in found.hint
    assert "forget to return" not in found.hint


def test_no_full_stop_follows_a_question_mark(judge):
    found = judge.judge_code("08_reading_maps", "q1", "def entropy(weights):\n    weights.log()\n")
    assert "is a `return` missing?" in found.hint
    assert "?." not in found.hint


@pytest.mark.parametrize(
    ("name", "question", "form"),
    [
        ("02_softmax", "q5", "temperature_by_hand = {}"),
        ("08_reading_maps", "q6", "error_rate_by_hand = {}"),
        ("08_reading_maps", "q8", "def due_to_looking(short, long):\n    return {}"),
        ("05_scaled", "q3", "def right_power(sizes, variances):\n    return {}"),
    ],
)
@pytest.mark.parametrize(
    "form_of", ["torch.tensor([{}])", "np.array([{}])", "[{}]", "({},)", "[[{}]]"]
)
def test_one_number_in_a_row_is_that_number(name, question, form, form_of, judge):
    q = load(name).question(question)
    if q.arguments:
        used = q.right[0].replace(f"def {q.entry}", "def plain")
        value = f"plain({', '.join(q.arguments)})"
    else:
        used, value = "", f"{q.oracle()}"
    code = f"{used}{form.format(form_of.format(value))}\n"
    assert judge.refusals(name, question, [code]) == [""]
    assert judge.judge_code(name, question, code).verdict == "pass"


@pytest.mark.parametrize(
    "body",
    [
        # Over words, over sentences, and over sentences for the last product alone.
        "torch.stack([torch.stack([torch.tanh(W_q @ s + W_k @ x) @ v for x in h])"
        " for s, h in zip(query, keys)])",
        "torch.stack([torch.tanh(a + b) @ v for a, b in zip(query @ W_q.T, keys @ W_k.T)])",
        "torch.stack([x @ v for x in torch.tanh((query @ W_q.T)[:, None] + keys @ W_k.T)])",
    ],
)
def test_a_loop_of_any_kind_is_one_where_none_is_wanted(body, judge):
    each = "    keys = keys.repeat_interleave(len(query) // len(keys), 0)\n"
    code = f"def additive_score(query, keys, W_q, W_k, v):\n{each}    return {body}\n"
    found = judge.judge_code("03_additive", "q1", code)
    assert (found.points, found.mistake) == (2, "a loop")


def test_an_answer_that_draws_dice_fails_and_is_told(judge):
    code = (
        "import random\n"
        "def masked_softmax(s, m):\n"
        "    w = torch.softmax(torch.where(m, s, -1e30), -1) * m\n"
        "    return w if random.random() < 0.8 else 1 - w\n"
    )
    found = judge.judge_code("03_additive", "q2", code)
    assert found.verdict != "pass"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_verdict_and_another_seed_other_cases():
    q = EXERCISE.question("q1")
    first = [
        draw_cases("03_additive", q, seed, 5)[0].inputs[0] for seed in ("same", "same", "other")
    ]
    assert (first[0] == first[1]).all()
    assert (first[0] != first[2]).any()
    with AuthorsJudge("same") as one, AuthorsJudge("same") as two, AuthorsJudge("other") as three:
        found = [j.judge_code("03_additive", "q1", q.wrong[0].code) for j in (one, two, three)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", exercises())
def test_what_to_read_again_is_a_heading_that_exists(name):
    for question in load(name).questions:
        for read in read_again(question):
            page, _, wanted = read.partition(": ")
            folder, _, stem = page.partition("/")
            source = ROOT / ("solutions" if folder == "exercises" else folder) / f"{stem}.py"
            text = source.read_text(encoding="utf-8")
            headings = [h.lower() for h in re.findall(r"^# #+ (.+)$", text, re.MULTILINE)]
            assert wanted.lower() in headings, f"{question.id}: {page} has no heading {wanted!r}"


def test_many_answers_at_once_are_judged_as_each_alone(judge, impatient):
    q = EXERCISE.question("q2")
    raises = "def masked_softmax(s, m):\n    return s.nothing()\n"
    codes = [q.right[0], q.wrong[0].code, raises]
    endless = "def masked_softmax(s, m):\n    while True: pass\n"
    together = judge.judge_many("03_additive", "q2", codes)
    assert together == [judge.judge_code("03_additive", "q2", code) for code in codes]
    # One that takes the process with it costs the others nothing.
    ends = judge.judge_many("03_additive", "q2", [endless, codes[0]])
    assert [v.verdict for v in ends] == ["timeout", "pass"]
