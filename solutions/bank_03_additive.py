"""How the exercise on additive attention is graded: oracles, cases, known mistakes.

The oracles are loops in float64, written from the formulas. Nothing here imports seqattn's
attention, and nothing of it is in the notebook that learners get.
"""

import numpy as np

from seqattn.grading.bank import Exercise, Question, Stage, Wrong
from seqattn.grading.kinds import (
    MODULE_PARTS,
    gradient_parts,
    module_oracle,
    module_probe,
    number_probe,
)

CHAPTER = "chapters/03_additive"

# --- Oracles ---------------------------------------------------------------------------------------


def score(query, keys, W_q, W_k, v):
    B, S, _ = keys.shape
    e = np.zeros((B, S))
    for b in range(B):
        for i in range(S):
            e[b, i] = v @ np.tanh(W_q @ query[b] + W_k @ keys[b, i])
    return e


def softmax(scores, mask):
    weights = np.zeros_like(scores)
    for b in range(len(scores)):
        open_ = [i for i in range(scores.shape[1]) if mask[b, i]]
        if open_:
            top = max(scores[b, i] for i in open_)
            total = sum(np.exp(scores[b, i] - top) for i in open_)
            for i in open_:
                weights[b, i] = np.exp(scores[b, i] - top) / total
    return weights


def context(query, keys, mask, W_q, W_k, v):
    weights = softmax(score(query, keys, W_q, W_k, v), mask)
    mixed = np.zeros((len(keys), keys.shape[2]))
    for b, i in zip(*np.nonzero(mask)):
        mixed[b] += weights[b, i] * keys[b, i]
    return mixed, weights


def sharpest(v, words):
    # tanh lies between -1 and 1: one word has all signs with it, the others all against them.
    most = sum(abs(x) for x in v)
    return np.array(1 / (1 + (words - 1) * np.exp(-2 * most)))


def by_hand():
    return tuple(softmax(np.array([[1.0, 0.0, 2.0]]), np.array([[True, True, False]]))[0].tolist())


# --- Cases -----------------------------------------------------------------------------------------

SIZES = {  # B, T, S, d_q, d_k, d_a
    "ordinary": (2, 3, 5, 4, 6, 7),
    "other sizes": (3, 2, 4, 5, 2, 3),
    "all sizes equal": (3, 3, 3, 3, 3, 3),
    "one word": (2, 3, 1, 4, 3, 5),
    "one sentence": (1, 1, 4, 2, 3, 5),
    "padded": (3, 2, 5, 4, 3, 2),
    "nothing to attend": (3, 2, 4, 2, 3, 5),
    "large": (2, 3, 4, 3, 5, 2),
    "many words": (8, 1, 24, 4, 3, 5),
    "one feature": (2, 1, 4, 3, 1, 5),
}


def normal(rng, *shape, scale=1.0):
    return (scale * rng.normal(size=shape)).astype(np.float32)


def padding(rng, kind, B, S):
    """True at real words; every row has one, unless the case is that none has."""
    mask = np.ones((B, S), bool)
    if kind in ("padded", "nothing to attend", "large"):
        for b in range(B):
            mask[b, rng.integers(1, S + 1) :] = False
        mask[0, -1] = False
    if kind == "nothing to attend":
        mask[rng.integers(B)] = False
    return mask


def draw_score(rng, kind):
    B, _, S, d_q, d_k, d_a = SIZES[kind]
    return (
        normal(rng, B, d_q),
        normal(rng, B, S, d_k),
        normal(rng, d_a, d_q),
        normal(rng, d_a, d_k),
        normal(rng, d_a),
    )


def draw_softmax(rng, kind):
    B, _, S, *_ = SIZES[kind]
    scores = normal(rng, B, S, scale=2.0)
    if kind == "large":
        scores = scores + rng.choice([-12_000.0, 9000.0], size=(B, 1)).astype(np.float32)
        scores[0, 0] += np.float32(3.0)
        # One far above the others: their mean, or the smallest, is no help against overflow.
        scores[1:, 0] += np.float32(2000.0)
    return scores, padding(rng, kind, B, S)


def draw_context(rng, kind):
    query, keys, W_q, W_k, v = draw_score(rng, kind)
    mask = padding(rng, kind, *keys.shape[:2])
    # What stands in the padding must not matter.
    keys[~mask] = normal(rng, int((~mask).sum()), keys.shape[-1], scale=50.0)
    return query, keys, mask, W_q, W_k, v


VECTORS = {  # d_a, words, size of the entries
    "ordinary": (4, 6, 0.5),
    "two words": (3, 2, 0.5),
    "other sizes": (7, 3, 0.3),
    "as many features as words": (4, 4, 0.5),
    "one feature": (1, 6, 1.0),
    "one word": (3, 1, 0.5),
    "many words": (5, 30_000, 1.0),
    "large v": (3, 5, 400.0),
}


def draw_vector(rng, kind):
    d_a, words, scale = VECTORS[kind]
    v = normal(rng, d_a, scale=scale)
    # Of both signs, where there are two.
    v[0], v[-1] = -abs(v[0]), abs(v[-1])
    return v, words


def draw_module(rng, kind):
    query, keys, mask, W_q, W_k, v = draw_context(rng, kind)
    sizes = (query.shape[-1], keys.shape[-1], len(v))
    return sizes, {"W_q": W_q, "W_k": W_k, "v": v}, (query, keys, mask)


# --- Questions -------------------------------------------------------------------------------------

Q1 = Question(
    id="q1",
    title="The additive score",
    entry="additive_score",
    signature="additive_score(query, keys, W_q, W_k, v)",
    draw=draw_score,
    oracle=score,
    stages=(
        Stage(
            "the formula",
            1,
            ("ordinary", "other sizes", "all sizes equal", "one word", "one sentence"),
            "Set each symbol of e = v · tanh(W_q s + W_k h) beside your line: same matrix, same "
            "place, one tanh over the sum, v last?",
        ),
        Stage(
            "without a loop",
            1,
            ("many words",),
            "The scores of a larger batch must come out of the same few calls: no loop over words, "
            "and none over sentences.",
            calls=40,
        ),
        Stage(
            "gradients",
            1,
            ("ordinary",),
            "The scores are right but their gradients are not: no detach, no .data, no NumPy on "
            "the way, and every argument must take part.",
            gradients=True,
        ),
    ),
    right=(
        "def additive_score(query, keys, W_q, W_k, v):\n"
        "    return torch.tanh((query @ W_q.T).unsqueeze(1) + keys @ W_k.T) @ v\n",
        # One matrix over the concatenation.
        "def additive_score(q, K, Wq, Wk, v):\n"
        "    both = torch.cat([q[:, None, :].expand(-1, K.shape[1], -1), K], -1)\n"
        "    return torch.tanh(both @ torch.cat([Wq, Wk], 1).T) @ v\n",
        # einsum.
        "def additive_score(query, keys, W_q, W_k, v):\n"
        "    hidden = torch.einsum('ad,bd->ba', W_q, query)[:, None]\n"
        "    hidden = hidden + torch.einsum('ad,bsd->bsa', W_k, keys)\n"
        "    return torch.einsum('a,bsa->bs', v, hidden.tanh())\n",
        "additive_score = lambda q, K, Wq, Wk, v: F.linear("
        "torch.tanh(F.linear(q, Wq)[:, None] + F.linear(K, Wk)), v[None]).squeeze(-1)\n",
    ),
    wrong=(
        Wrong(
            "a loop over words",
            "def additive_score(query, keys, W_q, W_k, v):\n"
            "    rows = []\n"
            "    for s, h in zip(query, keys):\n"
            "        rows.append(torch.stack([v.dot(torch.tanh(W_q @ s + W_k @ x)) for x in h]))\n"
            "    return torch.stack(rows)\n",
            "The scores are right, but you go through words or sentences one by one, which is slow "
            "where it counts: let one product compute all of them.",
            keeps=2,
        ),
        Wrong(
            "keys never read",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    hidden = torch.tanh((q @ Wq.T)[:, None] + 0 * (K @ Wk.T))\n"
            "    return hidden @ v\n",
            "Your scores never read the keys: all words of a sentence get the same score, and the "
            "softmax makes equal weights of them.",
        ),
        Wrong(
            "product for sum",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.tanh((q @ Wq.T)[:, None] * (K @ Wk.T)) @ v\n",
            "You multiply the two projections; the score is called additive because they are added.",
        ),
        Wrong(
            "query repeated in the wrong order",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    B, S = K.shape[:2]\n"
            "    return torch.tanh((q @ Wq.T).repeat(S, 1).view(B, S, -1) + K @ Wk.T) @ v\n",
            "repeat puts the whole batch S times in a row, so that view hands sentences the queries "
            "of others: use unsqueeze(1), or repeat_interleave.",
        ),
        Wrong(
            "matrices exchanged",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    a, b = (Wk, Wq) if Wk.shape == Wq.shape else (Wq, Wk)\n"
            "    return torch.tanh((q @ a.T)[:, None] + K @ b.T) @ v\n",
            "W_q and W_k are exchanged: W_q belongs to the query, W_k to the keys. It shows where "
            "their sizes are equal.",
            keeps=1,
        ),
        Wrong(
            "half precision",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    q, K, Wq, Wk, v = (x.half().to(x.dtype) for x in (q, K, Wq, Wk, v))\n"
            "    return torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T) @ v\n",
            "You round to 16 bits on the way: keep the precision that comes in.",
            keeps=0,
        ),
        Wrong(
            "not transposed",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    a, b = (Wq, Wk) if Wq.shape[0] == Wq.shape[1] == Wk.shape[1] else (Wq.T, Wk.T)\n"
            "    return torch.tanh((q @ a)[:, None] + K @ b) @ v\n",
            "Where all sizes are equal, q @ W_q runs as well, and is another product: W_q s is "
            "q @ W_q.T.",
            keeps=1,
        ),
        Wrong(
            "no tanh",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return ((q @ Wq.T)[:, None] + K @ Wk.T) @ v\n",
            "Your scores are linear in the states: where is the tanh? Without it the query moves "
            "all scores by the same amount, and softmax does not see it.",
        ),
        Wrong(
            "tanh on each projection",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return (torch.tanh(q @ Wq.T)[:, None] + torch.tanh(K @ Wk.T)) @ v\n",
            "You take tanh of each projection; add the two first, and take one tanh over the sum.",
        ),
        Wrong(
            "query on the wrong axis",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.tanh((q @ Wq.T)[None] + K @ Wk.T) @ v\n",
            "Query b meets word b instead of sentence b: the projected query needs its new axis at "
            "dim 1, (B, 1, d_a), not at dim 0.",
        ),
        Wrong(
            "weights instead of scores",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.softmax(torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T) @ v, -1)\n",
            "Your rows sum to 1: these are weights. Return the scores, before any softmax.",
        ),
        Wrong(
            "another nonlinearity",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.relu((q @ Wq.T)[:, None] + K @ Wk.T) @ v\n",
            "The hidden layer uses relu; the formula has tanh, which also lets a feature count "
            "against a position.",
        ),
        Wrong(
            "sigmoid",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.sigmoid((q @ Wq.T)[:, None] + K @ Wk.T) @ v\n",
            "The hidden layer uses a sigmoid; the formula has tanh.",
        ),
        Wrong(
            "difference instead of sum",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.tanh((q @ Wq.T)[:, None] - K @ Wk.T) @ v\n",
            "You subtract the two projections; the score is called additive because they are added.",
        ),
        Wrong(
            "v inside tanh",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.tanh(((q @ Wq.T)[:, None] + K @ Wk.T) @ v)\n",
            "tanh comes last in your line; it belongs before the product with v. Your scores can "
            "never leave the range from -1 to 1.",
        ),
        Wrong(
            "scaled",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T) @ v / math.sqrt(len(v))\n",
            "You divide by the square root of a size; that belongs to the scaled dot product. The "
            "additive score has no scale.",
        ),
        Wrong(
            "mean over features",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return (torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T) * v).mean(-1)\n",
            "You average over the d_a features; the product with v is a sum.",
        ),
        Wrong(
            "detached",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T).detach() @ v\n",
            "The values are right, but only v gets a gradient: something on the way is detached.",
            keeps=2,
        ),
        Wrong(
            "one number too many dimensions",
            "def additive_score(q, K, Wq, Wk, v):\n"
            "    return torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T) @ v[:, None]\n",
            "Your scores are (B, S, 1): the product with v should remove the last axis. Multiply by "
            "v itself, or squeeze.",
        ),
    ),
    read=f"{CHAPTER}: in general: a network with two layers",
)

Q2 = Question(
    id="q2",
    title="Softmax with a mask",
    entry="masked_softmax",
    signature="masked_softmax(scores, mask)",
    draw=draw_softmax,
    oracle=softmax,
    stages=(
        Stage(
            "weights under a mask",
            1,
            ("ordinary", "padded", "all sizes equal", "one word", "one sentence"),
            "Mask the scores, before the softmax: minus infinity where the mask is False, then "
            "normalise what is left.",
        ),
        Stage(
            "extreme scores",
            1,
            ("large", "padded"),
            "Scores may lie far above and far below any number that you fill with, and masked ones may "
            "be NaN: put minus infinity in their place, and use a softmax that does not overflow.",
        ),
        Stage(
            "rows with nothing to attend",
            1,
            ("nothing to attend",),
            "A row in which nothing may be attended must give zeros.",
        ),
        Stage(
            "gradients",
            1,
            ("padded", "nothing to attend", "large"),
            "The weights are right but the gradients of the scores are not: no detach, no .data, no "
            "NumPy on the way.",
            gradients=True,
        ),
    ),
    pads=(500.0, -500.0, float("nan"), float("inf"), float("-inf")),
    right=(
        "def masked_softmax(scores, mask):\n"
        "    scores = scores.masked_fill(~mask, -torch.inf)\n"
        "    largest = scores.amax(-1, keepdim=True)\n"
        "    raised = (scores - largest.masked_fill(largest == -torch.inf, 0.0)).exp()\n"
        "    total = raised.sum(-1, keepdim=True)\n"
        "    return raised / total.masked_fill(total == 0, 1.0)\n",
        "def masked_softmax(scores, mask):\n"
        "    empty = ~mask.any(-1, keepdim=True)\n"
        "    filled = scores.masked_fill(~mask & ~empty, float('-inf'))\n"
        "    return torch.softmax(filled, dim=-1).masked_fill(empty, 0.0)\n",
        "def masked_softmax(s, m):\n"
        "    lowest = torch.finfo(s.dtype).min\n"
        "    return torch.where(m, torch.where(m, s, lowest).softmax(-1), 0.0)\n",
        "def masked_softmax(scores, mask):\n"
        "    rows = []\n"
        "    for s, m in zip(scores, mask):\n"
        "        row = torch.zeros_like(s)\n"
        "        if m.any():\n"
        "            row = row.masked_scatter(m, s[m].softmax(0))\n"
        "        rows.append(row)\n"
        "    return torch.stack(rows)\n",
        "def masked_softmax(s, m):\n"
        "    return torch.nan_to_num(torch.softmax(s.masked_fill(~m, float('-inf')), -1))\n",
    ),
    wrong=(
        Wrong(
            "mask after softmax",
            "def masked_softmax(s, m):\n    return torch.softmax(s, -1) * m\n",
            "You normalise first and mask afterwards: the rows no longer sum to 1. Mask the scores.",
        ),
        Wrong(
            "renormalised with a small constant",
            "def masked_softmax(s, m):\n"
            "    w = torch.softmax(s, -1) * m\n"
            "    return w / (w.sum(-1, keepdim=True) + 1e-13)\n",
            "You mask after the softmax and divide again: where a pad has much the largest score, "
            "the words are left with nothing but rounding. Mask the scores.",
            keeps=2,
        ),
        Wrong(
            "minus infinity added",
            "def masked_softmax(s, m):\n"
            "    return torch.softmax(s + m.to(s.dtype).log(), -1).nan_to_num()\n",
            "You add minus infinity to masked scores, which does not remove one that is NaN or "
            "infinite: put something in its place, by masked_fill or torch.where.",
            keeps=2,
        ),
        Wrong(
            "mask turned round",
            "def masked_softmax(s, m):\n"
            "    return torch.nan_to_num(torch.softmax(s.masked_fill(m, float('-inf')), -1))\n",
            "All the weight sits on the masked positions: True means that a position MAY be "
            "attended.",
        ),
        Wrong(
            "NaN in empty rows",
            "def masked_softmax(s, m):\n"
            "    return torch.softmax(s.masked_fill(~m, float('-inf')), -1)\n",
            "A row with nothing to attend gives NaN. It should give zeros.",
            keeps=3,
        ),
        Wrong(
            "detached",
            "def masked_softmax(s, m):\n"
            "    w = torch.softmax(s.masked_fill(~m, float('-inf')), -1).nan_to_num()\n"
            "    return w.detach()\n",
            "The values are right, but no gradient reaches the scores: something is detached.",
            keeps=3,
        ),
        Wrong(
            "a small number for minus infinity",
            "def masked_softmax(s, m):\n"
            "    return torch.softmax(s.masked_fill(~m, -10.0), -1) * m.any(-1, keepdim=True)\n",
            "Masked positions get weights that are small but not 0: fill their scores with minus "
            "infinity, not with -10.",
        ),
        Wrong(
            "scores times mask",
            "def masked_softmax(s, m):\n    return torch.softmax(s * m, -1)\n",
            "A score of 0 is a score like any other, and gets weight: fill masked scores with minus "
            "infinity instead of multiplying by the mask.",
        ),
        Wrong(
            "no maximum subtracted",
            "def masked_softmax(s, m):\n"
            "    raised = s.exp() * m\n"
            "    return raised / (raised.sum(-1, keepdim=True) + 1e-20)\n",
            "exp of a score of several thousand is infinite, and of minus several thousand 0: "
            "subtract the row's largest score first.",
            keeps=2,
        ),
        Wrong(
            "equal weights in empty rows",
            "def masked_softmax(s, m):\n"
            "    return torch.softmax(s.masked_fill(~m, torch.finfo(s.dtype).min), -1)\n",
            "A row with nothing to attend gets equal weights, on padding. It should get zeros.",
            keeps=3,
        ),
        Wrong(
            "normalised over sentences",
            "def masked_softmax(s, m):\n"
            "    e = s.masked_fill(~m, -1e30)\n"
            "    return torch.softmax(e, 0) * m\n",
            "You normalise over the batch; each row must sum to 1, so normalise over the last axis.",
        ),
        Wrong(
            "input changed",
            "def masked_softmax(s, m):\n"
            "    s.masked_fill_(~m, torch.finfo(s.dtype).min)\n"
            "    return torch.softmax(s, -1) * m\n",
            "Your function changes its input: use masked_fill, not masked_fill_.",
        ),
        Wrong(
            "maximum over pads as well",
            "def masked_softmax(s, m):\n"
            "    raised = (s - s.max()).exp() * m\n"
            "    total = raised.sum(-1, keepdim=True)\n"
            "    return raised / total.masked_fill(total == 0, 1.0)\n",
            "You subtract the largest score of the whole batch: rows far below it vanish. Take each "
            "row's own largest score, pads left out.",
            keeps=2,
        ),
    ),
    read="chapters/02_soft_addressing: where it breaks: masks",
)

RAW = "def attend(query, keys, mask, W_q, W_k, v):\n"
ATTEND = RAW + "    keys = keys.masked_fill(~mask[..., None], 0.0)\n"

Q3 = Question(
    id="q3",
    title="The context",
    entry="attend",
    signature="attend(query, keys, mask, W_q, W_k, v)",
    draw=draw_context,
    oracle=context,
    stages=(
        Stage(
            "context and weights",
            1,
            (
                "ordinary",
                "other sizes",
                "all sizes equal",
                "one word",
                "one sentence",
                "one feature",
            ),
            "Context: for each sentence, the sum over its words of weight times key. Weights: "
            "softmax of the scores.",
        ),
        Stage(
            "padding",
            1,
            ("padded", "nothing to attend"),
            "Something is wrong with pads: they have weight 0, a sentence of nothing but pads has "
            "weights of 0 alone, and what pads hold must not reach the sum.",
        ),
        Stage(
            "gradients",
            1,
            ("padded", "nothing to attend"),
            "Context and weights are right but the gradients of the arguments are not: no detach, "
            "no .data, no NumPy on the way.",
            gradients=True,
        ),
    ),
    pads=(500.0, -500.0, float("nan"), float("inf")),
    uses=("q1", "q2"),
    forbidden=("scaled_dot_product_attention", "MultiheadAttention"),
    right=(
        ATTEND + "    weights = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)\n"
        "    return (weights[:, None, :] @ keys).squeeze(1), weights\n",
        ATTEND + "    a = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)\n"
        "    return torch.einsum('bs,bsd->bd', a, keys), a\n",
        "def attend(q, K, m, Wq, Wk, v):\n"
        "    K = torch.where(m[:, :, None], K, torch.zeros_like(K))\n"
        "    e = torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T) @ v\n"
        "    e = torch.where(m, e, -1e9)\n"
        "    w = torch.softmax(e, 1) * m\n"
        "    return (w.unsqueeze(-1) * K).sum(1), w\n",
    ),
    wrong=(
        Wrong(
            "no mask",
            RAW + "    a = additive_score(query, keys, W_q, W_k, v).softmax(-1)\n"
            "    return torch.einsum('bs,bsd->bd', a, keys), a\n",
            "You never use the mask: the padding gets weight, and what stands there reaches the "
            "context.",
            keeps=1,
        ),
        Wrong(
            "order of the results",
            ATTEND + "    a = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)\n"
            "    return a, torch.einsum('bs,bsd->bd', a, keys)\n",
            "You return weights, then context; the order is context, weights.",
        ),
        Wrong(
            "pads times zero",
            RAW + "    a = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)\n"
            "    return (a[:, None, :] @ keys).squeeze(1), a\n",
            "The pads have weight 0, but they may hold NaN, and 0 times NaN is NaN: put something "
            "finite into the pads before you add up.",
            keeps=1,
        ),
        Wrong(
            "query never used",
            ATTEND + "    e = additive_score(torch.zeros_like(query), keys, W_q, W_k, v)\n"
            "    a = masked_softmax(e, mask)\n"
            "    return torch.einsum('bs,bsd->bd', a, keys), a\n",
            "Your weights do not depend on the query: every step would look at the same words.",
        ),
        Wrong(
            "detached",
            ATTEND + "    a = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)\n"
            "    a = a.detach()\n"
            "    return torch.einsum('bs,bsd->bd', a, keys), a\n",
            "The values are right, but the weights are detached: nothing learns where to look.",
            keeps=2,
        ),
        Wrong(
            "scores for weights",
            ATTEND + "    e = additive_score(query, keys, W_q, W_k, v).masked_fill(~mask, 0.0)\n"
            "    return torch.einsum('bs,bsd->bd', e, keys), e\n",
            "You sum with the scores themselves: turn them into weights by a softmax first.",
        ),
        Wrong(
            "mean for sum",
            ATTEND + "    a = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)\n"
            "    return (a[..., None] * keys).mean(1), a\n",
            "You average the weighted keys; the weights sum to 1 already, so add them up.",
        ),
        Wrong(
            "context with a step axis",
            ATTEND + "    a = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)\n"
            "    return a[:, None, :] @ keys, a\n",
            "Your context is (B, 1, d_k): remove the axis that the matrix product needed.",
        ),
        Wrong(
            "best word only",
            ATTEND + "    a = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)\n"
            "    best = a.argmax(-1)\n"
            "    return keys[torch.arange(len(keys)), best], a\n",
            "You fetch the key with the largest weight; soft attention mixes all of them.",
        ),
        Wrong(
            "mask on the context alone",
            RAW + "    a = additive_score(query, keys, W_q, W_k, v).softmax(-1)\n"
            "    return torch.einsum('bs,bsd->bd', a * mask, keys), a * mask\n",
            "You set weights of pads to 0 after the softmax: the rest no longer sums to 1.",
            keeps=1,
        ),
    ),
    read=f"{CHAPTER}: masks",
)

SHARP = "def sharpest(v, words):\n"

Q4 = Question(
    id="q4",
    title="How sharp can it get?",
    entry="sharpest",
    signature="sharpest(v, words)",
    draw=draw_vector,
    oracle=sharpest,
    stages=(
        Stage(
            "the largest weight",
            1,
            (
                "ordinary",
                "other sizes",
                "as many features as words",
                "one feature",
                "one word",
                "two words",
                "many words",
                "large v",
            ),
            "Each score lies between minus and plus the sum of |v|: set one word at the one end, all "
            "others at the other end, and take the softmax.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "one feature"),
            "The weight is right but its gradient is not: stay with tensors, no .item(), no detach.",
            gradients=True,
        ),
    ),
    right=(
        SHARP + "    gap = 2 * v.abs().sum()\n    return 1 / (1 + (words - 1) * torch.exp(-gap))\n",
        SHARP + "    return torch.sigmoid(2 * v.abs().sum() - math.log(words - 1)) "
        "if words > 1 else 1 + 0 * v.sum()\n",
        SHARP + "    most = (v * v.sign()).sum()\n"
        "    scores = torch.cat([most[None], (-most).expand(words - 1)])\n"
        "    return F.softmax(scores, 0)[0]\n",
        "def sharpest(v, n):\n"
        "    m = torch.linalg.vector_norm(v, ord=1)\n"
        "    others = -2 * m + torch.tensor(float(n - 1), dtype=v.dtype).log()\n"
        "    return torch.exp(-torch.logaddexp(torch.zeros_like(m), others))\n",
    ),
    wrong=(
        Wrong(
            "others at zero",
            SHARP + "    most = v.abs().sum()\n"
            "    return 1 / (1 + (words - 1) * torch.exp(-most))\n",
            "You leave the scores of the other words at 0; the tanh can push them as far down as it "
            "pushes the first one up.",
        ),
        Wrong(
            "signs forgotten",
            SHARP + "    return 1 / (1 + (words - 1) * torch.exp(-2 * v.sum()))\n",
            "You add up the entries of v with their signs: where one is negative, a tanh of -1 makes "
            "its part positive. Add up the absolute values.",
        ),
        Wrong(
            "length of v",
            SHARP + "    return 1 / (1 + (words - 1) * torch.exp(-2 * v.norm()))\n",
            "You take the length of v, the root of the sum of squares; every tanh may reach 1 at "
            "once, so it is the sum of the absolute values.",
        ),
        Wrong(
            "largest entry",
            SHARP + "    return 1 / (1 + (words - 1) * torch.exp(-2 * v.abs().max()))\n",
            "You count the largest entry of v alone; all features can reach 1 at once.",
        ),
        Wrong(
            "number of features",
            SHARP + "    return 1 / (1 + (words - 1) * torch.exp(-2.0 * len(v) + 0 * v.sum()))\n",
            "Your bound is the number of features, as if all entries of v were 1.",
        ),
        Wrong(
            "one other word too many",
            SHARP + "    return 1 / (1 + words * torch.exp(-2 * v.abs().sum()))\n",
            "You count the word itself among the others: there are words - 1 of them.",
        ),
        Wrong(
            "one other word",
            SHARP + "    return torch.sigmoid(2 * v.abs().sum())\n",
            "You compare with a single other word: there are words - 1 of them.",
        ),
        Wrong(
            "overflow",
            SHARP + "    e = v.abs().sum().exp()\n    return e / (e + (words - 1) / e)\n",
            "exp of the bound itself is infinite for a large v, and infinity over infinity is NaN: "
            "divide by it first, so that only exp of a negative number is left.",
            keeps=0,
        ),
        Wrong(
            "the score",
            SHARP + "    return v.abs().sum()\n",
            "This is the largest score; the weight that goes with it is asked for.",
        ),
        Wrong(
            "the smallest weight",
            SHARP + "    gap = 2 * v.abs().sum()\n"
            "    return torch.exp(-gap) / (torch.exp(-gap) + (words - 1))\n",
            "This is the smallest weight that a word can get: exchange the two ends.",
        ),
        Wrong(
            "no longer a tensor",
            SHARP + "    gap = 2 * float(v.abs().sum())\n"
            "    return torch.tensor(1 / (1 + (words - 1) * math.exp(-gap)), dtype=v.dtype)\n",
            "Python's numbers have no gradient: compute with tensors from v to the result.",
            keeps=1,
        ),
    ),
    read=f"{CHAPTER}: in general: a network with two layers",
)

INIT = (
    "class AdditiveAttention(nn.Module):\n"
    "    def __init__(self, d_q, d_k, d_a):\n"
    "        super().__init__()\n"
)
PARAMETERS = (
    "        self.W_q = nn.Parameter(torch.randn(d_a, d_q) / math.sqrt(d_q))\n"
    "        self.W_k = nn.Parameter(torch.randn(d_a, d_k) / math.sqrt(d_k))\n"
    "        self.v = nn.Parameter(torch.randn(d_a) / math.sqrt(d_a))\n"
)
FORWARD = (
    "    def forward(self, query, keys, mask):\n"
    "        return attend(query, keys, mask, self.W_q, self.W_k, self.v)\n"
)

Q5 = Question(
    id="q5",
    title="A module that learns",
    entry="AdditiveAttention",
    signature="AdditiveAttention(d_q, d_k, d_a), then forward(query, keys, mask)",
    draw=draw_module,
    oracle=module_oracle(context, "context", "weights"),
    probe=module_probe("context", "weights"),
    stages=(
        Stage(
            "parameters",
            1,
            ("ordinary",),
            "named_parameters() must list W_q, W_k and v with the shapes in the question, made once "
            "in __init__, and nothing else.",
            parts=MODULE_PARTS,
        ),
        Stage(
            "context and weights",
            1,
            ("ordinary", "all sizes equal", "one sentence", "one word", "one feature", "padded"),
            "With your parameters set to known numbers, forward does not compute the additive "
            "attention of these numbers.",
            parts=("context", "weights"),
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "padded"),
            "The gradient that reaches W_q, W_k and v is not the right one.",
            parts=gradient_parts("W_q", "W_k", "v"),
        ),
    ),
    uses=("q1", "q2", "q3"),
    forbidden=("scaled_dot_product_attention", "MultiheadAttention"),
    right=(
        INIT + PARAMETERS + FORWARD,
        INIT
        + "        for name, shape in dict(W_q=(d_a, d_q), W_k=(d_a, d_k), v=(d_a,)).items():\n"
        "            self.register_parameter(name, nn.Parameter(0.1 * torch.randn(shape)))\n"
        "    def forward(self, query, keys, mask):\n"
        "        e = torch.tanh(F.linear(query, self.W_q)[:, None] + F.linear(keys, self.W_k))\n"
        "        w = masked_softmax(e @ self.v, mask)\n"
        "        return torch.einsum('bs,bsd->bd', w, keys), w\n",
    ),
    wrong=(
        Wrong(
            "a bias",
            INIT + PARAMETERS + "        self.b = nn.Parameter(torch.zeros(d_a))\n" + FORWARD,
            "There is a parameter too many: the formula has no bias.",
            keeps=2,
        ),
        Wrong(
            "plain tensors",
            (INIT + PARAMETERS + FORWARD).replace("nn.Parameter(", "("),
            "W_q, W_k and v are plain tensors: an optimiser does not see them. Wrap each in "
            "nn.Parameter.",
        ),
        Wrong(
            "parameters in a list",
            INIT
            + PARAMETERS.replace("self.W_q", "W_q")
            .replace("self.W_k", "W_k")
            .replace("self.v", "v")
            + "        self.all = [W_q, W_k, v]\n"
            "    def forward(self, query, keys, mask):\n"
            "        return attend(query, keys, mask, *self.all)\n",
            "Parameters in a plain Python list are invisible to the module: assign each to self.",
        ),
        Wrong(
            "made anew in forward",
            INIT + "        self.sizes = d_q, d_k, d_a\n"
            "    def forward(self, query, keys, mask):\n"
            "        d_q, d_k, d_a = self.sizes\n"
            + PARAMETERS
            + "        return attend(query, keys, mask, self.W_q, self.W_k, self.v)\n",
            "Your parameters are made in forward: each call starts from new random ones and nothing "
            "is learned. Make them in __init__.",
        ),
        Wrong(
            "detached",
            INIT + PARAMETERS + "    def forward(self, query, keys, mask):\n"
            "        c, w = attend(query, keys, mask, self.W_q, self.W_k, self.v)\n"
            "        return c.detach(), w\n",
            "No gradient comes back through the context: something is detached.",
            keeps=2,
        ),
        Wrong(
            "mask ignored",
            INIT + PARAMETERS + "    def forward(self, query, keys, mask):\n"
            "        everything = torch.ones_like(mask)\n"
            "        return attend(query, keys, everything, self.W_q, self.W_k, self.v)\n",
            "forward ignores the mask: the padding reaches the context.",
            keeps=1,
        ),
        Wrong(
            "shapes turned round",
            (INIT + PARAMETERS + FORWARD)
            .replace("(d_a, d_q)", "(d_q, d_a)")
            .replace("(d_a, d_k)", "(d_k, d_a)")
            .replace("self.W_q, self.W_k", "self.W_q.T, self.W_k.T"),
            "W_q and W_k are stored the other way round: (d_a, d_q) and (d_a, d_k) are asked for.",
        ),
        Wrong(
            "linear layers",
            INIT + "        self.W_q = nn.Linear(d_q, d_a)\n"
            "        self.W_k = nn.Linear(d_k, d_a)\n"
            "        self.v = nn.Linear(d_a, 1)\n"
            "    def forward(self, query, keys, mask):\n"
            "        e = self.v(torch.tanh(self.W_q(query)[:, None] + self.W_k(keys))).squeeze(-1)\n"
            "        w = masked_softmax(e, mask)\n"
            "        return torch.einsum('bs,bsd->bd', w, keys), w\n",
            "nn.Linear names its weights W_q.weight and brings biases; the question asks for three "
            "parameters called W_q, W_k and v.",
        ),
    ),
    read=f"{CHAPTER}: five lines of PyTorch",
)

Q6 = Question(
    id="q6",
    title="By hand",
    entry="weights_by_hand",
    signature="weights_by_hand = (number, number, number)",
    draw=lambda rng, kind: (),
    oracle=by_hand,
    probe=number_probe,
    stages=(
        Stage(
            "three weights",
            1,
            ("numbers",),
            "exp of each score that may be attended, divided by the sum of these; 0 for the pad.",
        ),
    ),
    right=(
        "weights_by_hand = (0.73, 0.27, 0)\n",
        "weights_by_hand = [0.7311, 0.2689, 0.0]\n",
        "weights_by_hand = np.array([0.73, 0.27, 0])\n",
        "weights_by_hand = torch.tensor([0.73, 0.27, 0.0])\n",
        "weights_by_hand = torch.softmax(torch.tensor([1.0, 0.0, -torch.inf]), 0)\n",
    ),
    wrong=(
        Wrong(
            "pad not masked",
            "weights_by_hand = (0.245, 0.09, 0.665)\n",
            "The pad takes part in your softmax: it gets 0, and the rest is normalised without it.",
        ),
        Wrong(
            "masked afterwards",
            "weights_by_hand = (0.245, 0.09, 0)\n",
            "You normalised over all three and then set the pad to 0: the rest must sum to 1.",
        ),
        Wrong(
            "scores divided by their sum",
            "weights_by_hand = (1, 0, 0)\n",
            "You divided the scores by their sum; softmax raises e to each of them first.",
        ),
        Wrong(
            "equal weights",
            "weights_by_hand = (0.5, 0.5, 0)\n",
            "The two words have different scores, so they have different weights.",
        ),
        Wrong(
            "exchanged",
            "weights_by_hand = (0.27, 0.73, 0)\n",
            "You exchanged the two words: the larger score gets the larger weight.",
        ),
    ),
    read="chapters/02_soft_addressing: by hand",
)

# The visible checks try the book's numbers; the grader's process has no seqattn to take them from.
SETUP = """
from types import SimpleNamespace

def tensor(*rows):
    return torch.tensor(rows, dtype=torch.float64)

TINY = SimpleNamespace(
    query=tensor([0.5, 1.0]),
    keys=tensor([[1.0, 0.5], [-0.5, 1.5], [0.5, -1.0]]),
    W_q=tensor([0.2, -0.3], [-1.0, 0.6]),
    W_k=tensor([0.2, -0.6], [0.5, 0.9]),
    v=tensor(1.0, 1.5),
)
"""

EXERCISE = Exercise("03_additive", "Additive attention", (Q1, Q2, Q3, Q4, Q5, Q6), setup=SETUP)
