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
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_right_answers_earn_all_points(name: str) -> None:
    exercise, question, code = UNUSUAL[name]
    with AuthorsJudge("unusual") as judge:
        verdict = judge.judge_code(exercise, question, code)
    assert verdict.verdict == "pass", verdict.hint
