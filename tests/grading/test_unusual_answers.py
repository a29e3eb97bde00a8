"""Right answers whose ways reach into the grader itself: they cost no point."""

import pytest

from seqattn.grading.audit import AuthorsJudge

UNUSUAL = {
    "torch.vmap where calls are counted": (
        "03_additive",
        "q1",
        """
def additive_score(query, keys, W_q, W_k, v):
    one = lambda s, H: torch.mv(torch.tanh(torch.mv(W_q, s) + H @ W_k.T), v)
    return torch.vmap(one)(query, keys.repeat_interleave(len(query) // len(keys), 0))
""",
    ),
    "behind thousands of words on the way to it": (
        "03_additive",
        "q1",
        60 * ("# " + 100 * "tried " + "\n")
        + """
def additive_score(query, keys, W_q, W_k, v):
    keys = keys.repeat_interleave(len(query) // len(keys), 0)
    features = torch.tanh((query @ W_q.T)[:, None] + keys @ W_k.T)
    return features @ v
""",
    ),
    "helpers asked of a sentence without words": (
        "03_additive",
        "q3",
        """
def attend(query, keys, mask, W_q, W_k, v):
    contexts, maps = [], []
    for s, H, m in zip(query, keys, mask):
        e = additive_score(s[None], H[m][None], W_q, W_k, v)
        a = masked_softmax(e, torch.ones_like(e, dtype=torch.bool))[0]
        contexts.append(a @ H[m])
        maps.append(torch.zeros_like(H[:, 0]).masked_scatter(m, a))
    return torch.stack(contexts), torch.stack(maps)
""",
    ),
    "the results of a module in a list": (
        "04_scores",
        "q4",
        """
class LuongAttention(nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.W = nn.Parameter(torch.randn(d_query, d_key) / math.sqrt(d_query))

    def forward(self, query, keys, mask):
        e = general_score(query, keys, self.W)
        a = e.masked_fill(~mask, -torch.inf).softmax(-1)
        return [torch.einsum("bs,bsd->bd", a, keys), a]
""",
    ),
    "a softmax by its logarithm": (
        "04_scores",
        "q5",
        """
def location_weights(query, W, mask):
    e = (query @ W[: mask.shape[1]].T).masked_fill(~mask, -torch.inf)
    return (e - e.logsumexp(-1, keepdim=True)).exp()
""",
    ),
    "derivatives by torch.func": (
        "05_scaled",
        "q2",
        """
def measure(queries, keys):
    from torch.func import jacrev, vmap
    plain = torch.einsum("nd,nsd->ns", queries, keys)
    both = plain, plain / queries.shape[1] ** 0.5
    slopes = [vmap(jacrev(lambda x: torch.softmax(x, 0)))(e) for e in both]
    through = [J.diagonal(dim1=1, dim2=2).sum(1).mean() for J in slopes]
    return {"variance": [e.var() for e in both], "through": through}
""",
    ),
    "a closure for the optimizer": (
        "07_training",
        "q2",
        """
def train_step(model, optimizer, y, pad, max_norm):
    model.train()
    def closure():
        optimizer.zero_grad()
        loss = sequence_loss(y, model(y[:, :-1]), pad)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        return loss
    return optimizer.step(closure).item()
""",
    ),
    "a minimum from rows that sum to 1": (
        "08_reading_maps",
        "q4",
        """
def coverage_loss(weights, real):
    new = F.relu(weights - coverage(weights)).sum(-1)
    return (1 - new)[real].mean()
""",
    ),
    "a divergence from rows that sum to 1": (
        "09_explanations",
        "q3",
        """
def apart(first, second, mask):
    p, q = (w.masked_fill(~mask, 0.0) for w in (first, second))
    f = lambda x: x * torch.where(x > 0, x, 1.0).log()
    return 1 + (f(p) + f(q) - f(p + q)).sum(-1) / math.log(4)
""",
    ),
    "all orders in one batch": (
        "15_positions",
        "q5",
        """
def order_blind(model, ids):
    # All orders of all sentences in one batch.
    from itertools import permutations
    last = ids.shape[1] - 1
    orders = torch.tensor([[*order, last] for order in permutations(range(last))])
    found = model(ids[:, orders].flatten(0, 1)).unflatten(0, (len(ids), -1))
    return bool(((found - model(ids)[:, None]).abs() <= 1e-4).all())
""",
    ),
    "the other half as it is": (
        "16_transformer",
        "q4",
        """
def merge_halves(m1, z1, a1, m2, z2, a2):
    # Where one half is empty, the other as it is.
    first, second, m = m2 == -math.inf, m1 == -math.inf, torch.maximum(m1, m2)
    empty = first | second
    top = m.masked_fill(empty, 0.0)
    one = torch.where(empty, 1.0, (m1.masked_fill(second, 0.0) - top).exp())
    two = torch.where(empty, 1.0, (m2.masked_fill(first, 0.0) - top).exp())
    z = torch.where(first, z1, torch.where(second, z2, one * z1 + two * z2))
    a = one[:, None] * a1 + two[:, None] * a2
    return m, z, torch.where(first[:, None], a1, torch.where(second[:, None], a2, a))
""",
    ),
    "sums of exponentials, one after the other": (
        "02_softmax",
        "q1",
        """
def softmax(scores, temperature):
    z = scores / temperature
    return (z - torch.logcumsumexp(z, -1)[:, -1:]).exp()
""",
    ),
    "directions of the square, in float32": (
        "05_scaled",
        "q4",
        """
def factors(W, k):
    squares, V = torch.linalg.eigh(W.T @ W)
    V = V[:, squares.argsort(descending=True)[:k]]
    U = W @ V
    sizes = U.norm(dim=0)
    return (U / sizes.sqrt()).T, (V * sizes.sqrt()).T
""",
    ),
    "a row written only where something is left": (
        "09_explanations",
        "q2",
        """
def erase(weights, mask, k):
    left = torch.zeros_like(weights)
    for b, (w, m) in enumerate(zip(weights, mask)):
        order = w.masked_fill(~m, -1.0).argsort(descending=True, stable=True).tolist()
        kept = [i for i in order if m[i]][k:]
        if kept and w[kept].sum() > 0:
            left[b, kept] = w[kept] / w[kept].sum()
    return left
""",
    ),
    "a softmax of logarithms": (
        "09_explanations",
        "q2",
        """
def erase(weights, mask, k):
    own = weights.masked_fill(~mask, 0.0)
    ranks = own.masked_fill(~mask, -1.0).argsort(dim=-1, descending=True, stable=True).argsort(-1)
    kept = (ranks >= k) & (own > 0)
    scores = torch.where(kept, own, 1.0).log().masked_fill(~kept, -torch.inf)
    some = kept.any(-1, keepdim=True)
    return torch.where(some, scores.masked_fill(~some, 0.0).softmax(-1), 0.0)
""",
    ),
    "sentence by sentence in a module": (
        "03_additive",
        "q5",
        """
class AdditiveAttention(nn.Module):
    def __init__(self, d_q, d_k, d_a):
        super().__init__()
        self.W_q, self.W_k = (nn.Parameter(torch.randn(d_a, d) / d**0.5) for d in (d_q, d_k))
        self.v = nn.Parameter(torch.rand(d_a) - 0.5)
    def forward(self, query, keys, mask):
        contexts, weights = [], []
        for s, h, m in zip(query, keys, mask):
            h = h.masked_fill(~m[:, None], 0.0)
            e = torch.tanh(self.W_q @ s + h @ self.W_k.T) @ self.v
            a = torch.where(m, e, -1e30).softmax(0) * m
            contexts.append(a @ h)
            weights.append(a)
        return torch.stack(contexts), torch.stack(weights)
""",
    ),
    "words whose totals are added up in lists": (
        "07_training",
        "q6",
        """
def rescored(log_probs, lengths, weights, mask, alpha, beta):
    found = []
    for log_prob, n, rows in zip(log_probs, lengths.tolist(), weights):
        totals = torch.stack([rows[:n, i].sum() for i in range(len(mask)) if mask[i]])
        penalty = (5 + n) / 6
        found.append(log_prob * penalty**-alpha + beta * totals.log().clamp(max=0).sum())
    return torch.stack(found)
""",
    ),
    "no gradient for dice": (
        "02_softmax",
        "q4",
        """
def drop_weights(weights, p, training, coins):
    kept = torch.heaviside(coins - p, torch.ones((), dtype=coins.dtype))
    return weights * kept / (1 - p) if training else weights
""",
    ),
}


@pytest.fixture(scope="module")
def judge():
    with AuthorsJudge("unusual") as judge:
        yield judge


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_right_answers_earn_all_points(name, judge):
    exercise, question, code = UNUSUAL[name]
    verdict = judge.judge_code(exercise, question, code)
    assert verdict.verdict == "pass", verdict.hint


def test_a_misspelt_forward_is_no_answer_that_was_not_written(judge):
    code = UNUSUAL["the results of a module in a list"][2].replace("def forward", "def foward")
    verdict = judge.judge_code("04_scores", "q4", code)
    assert verdict.verdict == "error"
    assert verdict.hint == "The test calls a module that has no method with the name forward."
