"""Wrong answers that once kept points, or heard what is not true: what they get and hear now."""

import pytest

from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.bank import load

ERASE = """
def erase(weights, mask, k):
    own = weights.masked_fill(~mask, 0.0)
    left = own * (own.argsort(-1, True).argsort(-1) >= k)
    total = left.sum(-1, keepdim=True)
    return {}
""".replace("argsort(-1, True)", "argsort(dim=-1, descending=True, stable=True)")
MODULE = """
class AdditiveAttention(nn.Module):
    def __init__(self, d_q, d_k, d_a):
        super().__init__()
        self.W_q, self.W_k = (nn.Parameter(torch.randn(d_a, d)) for d in (d_q, d_k))
        self.v = nn.Parameter(torch.randn(d_a))
        {made}
    def forward(self, query, keys, mask):
        keys = keys.masked_fill(~mask[..., None], 0.0)
        {first}
        e = torch.tanh((query @ self.W_q.T)[:, None] + {keys} @ {W}.T) @ self.v
        weights = masked_softmax(e, mask)
        return (weights[:, None] @ {values})[:, 0], weights
"""
PLAIN = {"made": "", "first": "", "keys": "keys", "W": "self.W_k", "values": "keys"}
LUONG = """
class LuongAttention(nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.W = nn.Parameter(torch.randn(d_query, d_key) / math.sqrt(d_query))
        self.kept = self.W.detach().clone()
    def forward(self, query, keys, mask):
        scores = general_score(query, keys, self.kept).masked_fill(~mask, -torch.inf)
        weights = scores.softmax(-1)
        return (weights[:, None] @ keys)[:, 0], weights
"""
RESCORED = """
def rescored(log_probs, lengths, weights, mask, alpha, beta):
    made = torch.arange(weights.shape[1]) < lengths[:, None]
    totals = weights.masked_fill(~made[..., None], 0.0).sum(1)[:, mask]
    T = lengths.to(log_probs.dtype)
    return log_probs / ((5 + T) / 6) ** alpha + beta * {}.log().sum(-1)
"""
STEP = """
def train_step(model, optimizer, y, pad, max_norm):
    model.train()
    optimizer.zero_grad()
    loss = torch.clamp(sequence_loss(y, model(y[:, :-1]), pad), 0, max_norm)
    loss.backward()
    optimizer.step()
    return float(loss)
"""
SOFTMAX = """
def softmax(scores, temperature):
    z = scores / temperature
    raised = (z - z.amax(-1, keepdim=True)).exp(){}
    return raised / (raised.sum(-1, keepdim=True){})
"""
FEW_DIGITS = "Given float64, your result is right to a few digits only, which costs the points for "
FAINT = "A faint rest does not sum to 1 in yours"
ANOTHER = "another module with the same parameters computes the same"
# Exercise and question, the answer, its points, and what it hears.
IN_PLACE = """
def read_on(queries, keys, mask, W_q, W_k, w_c, v):
    keys = keys.masked_fill(~mask[..., None], 0.0)
    coverage = torch.zeros_like(keys[..., 0])
    rows = []
    for t in range(queries.shape[1]):
        x = (queries[:, t] @ W_q.T)[:, None] + keys @ W_k.T + coverage[..., None] * w_c
        e = (torch.tanh(x) @ v).masked_fill(~mask, -1e9)
        rows.append(e.softmax(-1).masked_fill(~mask, 0.0))
        coverage += rows[-1]
    return torch.stack(rows, 1), coverage
"""
WRONG = {
    "a floor of 1e-9": (
        "09_explanations",
        "q2",
        ERASE.format("left / total.clamp(min=1e-9)"),
        4,
        FAINT,
    ),
    "a summand of 1e-12": (
        "09_explanations",
        "q2",
        ERASE.format("left / (total + 1e-12)"),
        4,
        FAINT,
    ),
    "normalize and its eps": (
        "09_explanations",
        "q2",
        ERASE.format("F.normalize(left, p=1)"),
        4,
        FAINT,
    ),
    "a threshold": (
        "09_explanations",
        "q2",
        ERASE.format("left / torch.where(total > 1e-9, total, 1.0)"),
        4,
        FAINT,
    ),
    "keys detached in the sum": (
        "03_additive",
        "q5",
        MODULE.format(**PLAIN | {"values": "keys.detach()"}),
        2,
        "an encoder behind them would learn from the scores alone",
    ),
    "keys detached in the score": (
        "03_additive",
        "q5",
        MODULE.format(**PLAIN | {"keys": "keys.detach()"}),
        2,
        "an encoder behind them would learn from the weighted sum alone",
    ),
    "half of the keys' gradient": (
        "03_additive",
        "q5",
        MODULE.format(**PLAIN | {"first": "keys = (keys + keys.detach()) / 2"}),
        2,
        "the keys by both their ways",
    ),
    "no gradients in evaluation mode": (
        "03_additive",
        "q5",
        MODULE.format(**PLAIN | {"first": "torch.set_grad_enabled(self.training)"}),
        2,
        "After eval() your results are detached",
    ),
    "a copy of one of three": (
        "03_additive",
        "q5",
        MODULE.format(
            **PLAIN | {"made": "self.kept = self.W_k.detach().clone()", "W": "self.kept"}
        ),
        0,
        ANOTHER,
    ),
    "a copy of W": ("04_scores", "q4", LUONG, 0, ANOTHER),
    "totals of 1e-3 and more": (
        "07_training",
        "q6",
        RESCORED.format("totals.clamp(1e-3, 1)"),
        2,
        "stopped early",
    ),
    "a summand before the logarithm": (
        "07_training",
        "q6",
        RESCORED.format("(totals.clamp(max=1) + 1e-8)"),
        2,
        "Your result is nearly right, off by some per cent at most: is something rounded to less",
    ),
    "the loss cut off": ("07_training", "q2", STEP, 3, "You cut off the loss"),
    "a summand of 1e-8": (
        "02_softmax",
        "q1",
        SOFTMAX.format("", " + 1e-8"),
        2,
        FEW_DIGITS + "gradients",
    ),
    "a summand of 1e-3": (
        "02_softmax",
        "q1",
        SOFTMAX.format("", " + 1e-3"),
        2,
        FEW_DIGITS + "gradients",
    ),
    "in float32": (
        "02_softmax",
        "q1",
        SOFTMAX.format(".float().to(scores.dtype)", ""),
        2,
        FEW_DIGITS + "gradients",
    ),
    "an axis by its place": (
        "09_explanations",
        "q2",
        ERASE.format("left").replace("argsort(dim=-1", "argsort(-1"),
        0,
        "Name its arguments: dim=-1, descending=True, stable=True.",
    ),
    "a sum in place": (
        "11_coverage",
        "q2",
        IN_PLACE,
        3,
        "a tensor that the gradient still needs was changed in place",
    ),
}


@pytest.fixture(scope="module")
def judge():
    with AuthorsJudge("wrong") as judge:
        yield judge


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_lose_points_and_hear_why(name, judge):
    exercise, question, code, points, said = WRONG[name]
    verdict = judge.judge_code(exercise, question, code)
    assert (verdict.points, verdict.verdict == "pass") == (points, False)
    assert said in verdict.hint


def test_what_float64_alone_shows_is_told_by_its_digits(judge):
    # The same as a known mistake, in another form.
    half = SOFTMAX.format("", "").rstrip() + ".half().to(scores.dtype)\n"
    half = half.replace(
        "raised / (raised.sum(-1, keepdim=True))", "(raised / raised.sum(-1, True))"
    )
    verdict = judge.judge_code("02_softmax", "q1", half)
    assert verdict.mistake == "weights in half precision"
    assert load("02_softmax").question("q1").points == verdict.points + 1
