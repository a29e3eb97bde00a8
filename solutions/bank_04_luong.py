"""How the exercise on Luong's scores is graded: oracles, cases, known mistakes."""

from itertools import pairwise

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import COMMON_SIZES, mixture, normal, padding, softmax_rows
from seqattn.grading.kinds import module
from seqattn.grading.probes import DECODING, TRAINING_STEP, value_probe
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def general(query, keys, W):
    return np.array([[s @ W @ h for h in sentence] for s, sentence in zip(query, keys)])


def concat(query, projected, W, v):
    shares = query @ W[:, : query.shape[1]].T
    return np.array([[v @ np.tanh(s + h) for h in H] for s, H in zip(shares, projected)])


def scaled_attention(queries, keys, values):
    scores = np.array([[[q @ k for k in K] for q in Q] for Q, K in zip(queries, keys)])
    weights = softmax_rows(scores / queries.shape[-1] ** 0.5)
    return np.array(
        [[sum(w * v for w, v in zip(row, V)) for row in A] for A, V in zip(weights, values)]
    )


def luong(query, keys, mask, W):
    weights = softmax_rows(general(query, keys, W), mask)
    return mixture(weights, keys, mask), weights


def loss(y, logits, pad):
    real = np.argwhere(y[:, 1:] != pad)
    rows = [logits[b, t] - logits[b, t].max() for b, t in real]
    losses = [np.log(np.exp(r).sum()) - r[y[b, t + 1]] for r, (b, t) in zip(rows, real)]
    return np.array(sum(losses) / len(losses))


RATE, MOMENTUM = 0.5, 0.5
TRAINING = "every module in training mode"
MOVED = {
    step: (f"embedding after the {step} step", f"projection after the {step} step")
    for step in ("first", "second")
}


def loss_and_gradients(E, W, y, pad):
    """Mean loss of logits = E[token] W^T and its gradients, written out."""
    g_E, g_W, count, total = np.zeros_like(E), np.zeros_like(W), 0, 0.0
    for sentence in y:
        for token, target in pairwise(sentence):
            if target != pad:
                p = softmax_rows(W @ E[token])
                total -= np.log(p[target])
                count += 1
                p[target] -= 1
                g_E[token] += W.T @ p
                g_W += np.outer(p, E[token])
    return total / count, g_E / count, g_W / count


def norm(*gradients):
    return float(np.sqrt(sum((g**2).sum() for g in gradients)))


def two_updates(E, W, y, pad, max_norm):
    """Two steps of gradient descent with momentum."""
    E, W = E.copy(), W.copy()
    v_E, v_W = np.zeros_like(E), np.zeros_like(W)
    found = {}
    for step, moved in MOVED.items():
        found[f"{step} loss"], g_E, g_W = loss_and_gradients(E, W, y, pad)
        factor = min(1.0, max_norm / (norm(g_E, g_W) + 1e-6))
        v_E, v_W = MOMENTUM * v_E + factor * g_E, MOMENTUM * v_W + factor * g_W
        E, W = E - RATE * v_E, W - RATE * v_W
        found |= zip(moved, (E, W))
    return {**found, "steps of the optimizer": 2, TRAINING: True, "a plain number": True}


def words_of(A, B, C, D, start, bos, eos, pad, max_len):
    """Decode sentence by sentence; tell by how much the best word was ahead, at the closest call."""
    rows, ahead = [], []
    for s in start:
        token, words = bos, []
        while len(words) < max_len and (token != eos or not words):
            logits = A[token] + s @ B
            ahead += np.diff(np.sort(logits)[-2:]).tolist()
            token = int(np.argmax(logits))
            s = np.tanh(s @ C + D[token])
            words.append(token)
        rows.append(words)
    return rows, min(ahead)


def decode(A, B, C, D, start, bos, eos, pad, max_len):
    rows, _ = words_of(A, B, C, D, start, bos, eos, pad, max_len)
    longest = max(map(len, rows))
    padded = np.array([row + [pad] * (longest - len(row)) for row in rows])
    found = {"the words": padded, "step gets a token for each sentence": True}
    return found | {"calls of step": longest}


def measure(queries, keys):
    plain = np.array([[q @ k for k in row] for q, row in zip(queries, keys)])
    found = {"variance": (), "through": (), "the arguments are left as they are": True}
    for scores in (plain, plain / queries.shape[1] ** 0.5):
        found["variance"] += (float(((scores - scores.mean()) ** 2).mean()),)
        rows = softmax_rows(scores)
        found["through"] += (float(np.mean([sum(a - a**2 for a in row) for row in rows])),)
    return found


def right_power(sizes, variances):
    x, y = np.log(np.array(sizes)), np.log(np.array(variances))
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum() / 2)


# --- Cases -----------------------------------------------------------------------------------------

SIZES = COMMON_SIZES | {  # B, T, S, d_q, d_k, d_a
    "one number a vector": (2, 3, 4, 1, 1, 2),
    "loud pads": (4, 2, 3, 4, 2, 2),
    "padded in front": (3, 2, 5, 2, 4, 2),
    "quiet words": (3, 2, 4, 3, 5, 2),
    "large": (2, 3, 4, 5, 7, 2),
}
SHAPES = "ordinary; other sizes; all sizes equal; one word; one sentence; one number a vector"


def draw_dot(rng, kind):
    B, _, S, d, *_ = SIZES[kind]
    scale = 1000.0 if kind == "large" else 1.0
    return normal(rng, B, d, scale=scale), normal(rng, B, S, d, scale=scale)


def draw_general(rng, kind):
    B, _, S, d_q, d_k, _ = SIZES[kind]
    scale = 1000.0 if kind == "large" else 1.0
    query, keys = normal(rng, B, d_q, scale=scale), normal(rng, B, S, d_k, scale=scale)
    return query, keys, normal(rng, d_q, d_k)


def draw_concat(rng, kind):
    B, _, S, d_q, d_k, d_a = SIZES[kind]
    query, keys, W = normal(rng, B, d_q), normal(rng, B, S, d_k), normal(rng, d_a, d_q + d_k)
    return query, keys @ W[:, d_q:].T, W, normal(rng, d_a)


def draw_scaled(rng, kind):
    B, T, S, d, d_v, _ = SIZES[kind]
    d_v = d if kind == "all sizes equal" else d_v
    queries, keys, values = normal(rng, B, T, d), normal(rng, B, S, d), normal(rng, B, S, d_v)
    if kind == "large":
        # Far apart within a row, and whole rows far above and far below zero.
        queries *= 150
        keys[..., 0] = 1
        queries[..., 0] = 300 * d**0.5 * (-1.0) ** np.arange(T)
        queries[:, 0, 1:] /= 150  # and one of them close together
    return queries, keys, values


def draw_luong(rng, kind):
    query, keys, W = draw_general(rng, kind)
    mask = np.ones(keys.shape[:2], bool)
    if kind == "quiet words":
        # Scores far below any number that might stand for minus infinity; sums without rounding.
        query[:], W[0] = 0.0, 0.0
        query[:, 0], W[0, 0] = 1.0, 1.0
        keys[..., 0] = np.round(8 * keys[..., 0]) / 8 - 12_000
        mask[0, -1] = False
        keys[0, -1] = 0.0
    if kind in ("padded", "loud pads", "padded in front"):
        mask = padding(rng, *keys.shape[:2])
        mask = mask[:, ::-1].copy() if kind == "padded in front" else mask
        for b, i in np.argwhere(~mask) if kind != "padded" else ():
            # Whatever the words score, the pad scores hundreds more.
            projected = query[b] @ W
            keys[b, i] = rng.choice([150, 600, 1e12]) * projected / (projected @ projected)
    return W.shape, {"W": W}, (query, keys, mask)


# Ids of pad, start and end. Zero may be any of them, or a word.
IDS = {
    "pad is 0": (0, 1, 2),
    "pad is last": (6, 4, 0),
    "pad in the middle": (3, 0, 5),
    "end is 0": (1, 2, 0),
}
WORDS = 7


def draw_sentences(rng, kind, lengths):
    pad, bos, eos = IDS.get(kind, (5, 1, 0))
    words = [w for w in range(WORDS) if w not in (pad, bos, eos)]
    y = rng.choice(words, size=(len(lengths), max(lengths))).astype(np.int64)
    y[:, 0] = bos
    for b, length in enumerate(lengths):
        y[b, length - 1], y[b, length:] = eos, pad
    return y, pad


LENGTHS = {
    "one sentence": (5,),
    "full": (6, 6),
    # As many targets as words, and as many sentences as targets.
    "square": (8, 5, 3, 2, 6, 7, 4),
}


def draw_loss(rng, kind):
    lengths = LENGTHS.get(kind, tuple(rng.permutation([6, 5, 3, 2])))
    y, pad = draw_sentences(rng, kind, lengths)
    logits = normal(rng, len(lengths), int(max(lengths)) - 1, WORDS, scale=2.0)
    # What a decoder says where nothing is asked.
    logits[y[:, 1:] == pad] *= 10
    return y, logits * (100 if kind == "sure" else 1), pad


def draw_updates(rng, kind):
    """Draw a model whose gradient is longer than 1 at both steps."""
    max_norm = 0.1 if kind == "clipped" else 100.0
    while True:
        y, pad = draw_sentences(rng, kind, tuple(rng.permutation([6, 5, 3])))
        E, W = normal(rng, WORDS, 3, scale=1.5), normal(rng, WORDS, 3, scale=1.5)
        _, *first = loss_and_gradients(E.astype(np.float64), W.astype(np.float64), y, pad)
        if norm(*first) > 1.2:
            return E, W, y, pad, max_norm


DECODER_IDS = {
    "other ids": (6, 4, 5),
    "end is 0": (6, 5, 0),
    "pad is the end": (2, 1, 2),
    "start is the end": (0, 2, 2),
    "start is the pad": (0, 0, 2),
}


def draw_decoder(rng, kind):
    """Draw a decoder whose sentences end at different steps, and none at a close call."""
    pad, bos, eos = DECODER_IDS.get(kind, (0, 1, 2))
    max_len = {"one step": 1, "cut off": 3}.get(kind, 8)
    while True:
        A, B, C, D = (normal(rng, *s, scale=1.5) for s in ((7, 7), (3, 7), (3, 3), (7, 3)))
        if kind != "any word":
            A[:, [x for x in (pad, bos) if x != eos]] -= 50.0
        A[:, eos] += {"cut off": -50.0, "one step": -50.0, "all at once": 50.0}.get(kind, 0.0)
        start = normal(rng, 1 if kind == "one sentence" else 4, 3, scale=2.0)
        exact = [x.astype(np.float64) for x in (A, B, C, D, start)]
        rows, ahead = words_of(*exact, bos, eos, pad, max_len)
        lengths = sorted(map(len, rows))
        if kind in ("one step", "cut off", "all at once"):
            good = True
        elif kind == "one sentence":
            good = 3 <= lengths[0] < max_len
        else:
            good = 1 < lengths[0] < lengths[-1] < max_len
        if kind == "any word":
            good = good and any({pad, bos} & {*row[:-2]} for row in rows)
        # So that float32 and float64 pick the same words, with room to spare.
        if good and ahead >= 0.02:
            return A, B, C, D, start, bos, eos, pad, max_len


def draw_draws(rng, kind):
    sizes = {"many": (200, 5, 9), "large": (150, 4, 36), "square": (30, 30, 30)}
    n, S, d = sizes.get(kind, (150, 6, 4))
    shift = np.float32(0.7 if kind == "not centred" else 0.0)
    return normal(rng, n, d) + shift, normal(rng, n, S, d) + shift


def draw_table(rng, kind):
    sizes = {"powers of two": [2.0**n for n in range(1, 8)], "two sizes": [5.0, 80.0]}
    sizes = sizes.get(kind, [3.0, 10.0, 50.0, 400.0])
    power = rng.uniform(-2.0, -0.5) if kind == "falling" else rng.uniform(0.3, 2.5)
    variances = [float(rng.uniform(1.5, 4) * d**power) for d in sizes]
    order = rng.permutation(len(sizes)) if kind == "in any order" else range(len(sizes))
    return [sizes[n] for n in order], [variances[n] for n in order]


# --- Questions -----------------------------------------------------------------------------------

GRADIENTS = """gradients, 1 point, backward: ordinary; one sentence
    The scores are right but their gradients are not: no detach, no .data, no NumPy on the way, and
    every argument must take part.
"""
WEIGHTS = """
weights instead of scores | R -> R.softmax(-1)
    Your rows sum to 1: these are weights. Return the scores, before any softmax.
"""
# Mistakes of a product with the keys; QUERY stands for what they are multiplied by.
PRODUCT = f"""{WEIGHTS}{WRONG_FORMS}
one axis too many | return keys @ QUERY[:, :, None]
    Your scores are (B, S, 1): remove the last axis.
keys never read | return QUERY.sum(-1, keepdim=True).expand(-1, keys.shape[1])
    Your scores never read the keys: every word of a sentence gets the same score.
rows mixed up | B, S, _ = keys.shape; return (QUERY.repeat(S, 1).view(B, S, -1) * keys).sum(-1)
    Queries of other sentences get in: repeat followed by view puts rows in the wrong places. Use a
    new axis, or repeat_interleave.
over the words | return (QUERY[:, None] * keys).sum(1)
    You add up over the words, dim 1: the dot product adds up the last axis, the entries.
over the batch | return (QUERY[:, None] * keys).sum(0)
    You add up over the batch, dim 0: each sentence has scores of its own.
every query with every sentence | return QUERY @ keys.transpose(1, 2)
    Every query meets the keys of every sentence: query b belongs to sentence b alone.
squeezed too much | return (keys @ QUERY[:, :, None]).squeeze()
    squeeze() without an axis also removes the batch of one sentence, and the sentence of one word:
    name the axis.
in place | return keys.mul_(QUERY[:, None]).sum(-1)
    You multiply the keys in place, so that whoever reads them next finds other numbers: work on a
    copy, without methods like mul_() and without *=.
half precision | return (QUERY.half()[:, None] * keys.half()).sum(-1).float()
    You compute in 16 bits, which hold three digits and end at 65,504: stay in the dtype that comes
    in.
largest product alone | return (QUERY[:, None] * keys).amax(-1)
    You take the largest of the products; a dot product adds all of them up.
distance | return -(QUERY[:, None] - keys).square().sum(-1)
    This is the negative squared distance, in which the lengths of the keys count, too; the product
    is asked for.
absolute values | return (QUERY[:, None] * keys).sum(-1).abs()
    Your scores are never negative: a key that points the other way has a score below 0.
"""

Q1 = question(
    f"""q1: The dot score
dot_score(query, keys)
read chapters/02_soft_addressing: By hand
the formula, 1 point: {SHAPES}; large
    Multiply each key of a sentence with that sentence's query, entry by entry, and add up the last
    axis.
{GRADIENTS}RIGHT
def dot_score(query, keys):
    return (query[:, None, :] * keys).sum(-1)
def dot_score(query, keys):
    return torch.einsum('bd,bsd->bs', query, keys)
def dot_score(query, keys):
    return torch.bmm(keys, query.unsqueeze(2)).squeeze(2)
WRONG
scaled | R -> R / math.sqrt(query.shape[-1])
    You divide by the square root of d; Luong's dot score is not scaled.
cosine | return F.cosine_similarity(query[:, None], keys, dim=-1)
    You divide by the lengths of the vectors: that is their cosine. The dot product keeps the
    lengths.
not summed | .sum(-1) ->
    You multiply entry by entry and stop: a dot product adds up the d products.
query on the wrong axis | query[:, None, :] -> query[None]
    Query b meets word b instead of sentence b: the query needs its new axis at dim 1.
mean for sum | .sum(-1) -> .mean(-1)
    You average over the d products; a dot product is their sum.
detached, keeps 1 | query[ -> query.detach()[
    The values are right, but no gradient reaches the query: it is detached.
sum for product | * keys -> + keys
    You add query and key where their entries must be multiplied.
keys detached, keeps 1 | * keys -> * keys.detach()
    The values are right, but no gradient reaches the keys: the encoder would not learn.
"""
    + PRODUCT.replace("QUERY", "query"),
    draw=draw_dot,
    oracle=lambda query, keys: general(query, keys, np.eye(query.shape[1])),
)

Q2 = question(
    f"""q2: The general score
general_score(query, keys, W)
read exercises/04_luong: The general score
the formula, 2 points: {SHAPES}; large
    The score of word i is sᵀ W h_i, with W of shape (d_q, d_k): its rows meet the query, its
    columns the key. Nothing else happens to it.
{GRADIENTS}RIGHT
def general_score(query, keys, W):
    return torch.einsum('bd,de,bse->bs', query, W, keys)
def general_score(query, keys, W):
    return torch.bmm(keys, (query @ W).unsqueeze(2)).squeeze(2)
def general_score(query, keys, W):
    return (query[:, None] * (keys @ W.T)).sum(-1)
WRONG
W transposed | bd,de -> bd,ed
    You use the transpose of W, which fits only where d_q equals d_k: W is (d_q, d_k), rows for the
    query.
scaled | R -> R / math.sqrt(query.shape[-1])
    Your scores are off by a constant factor: Luong's general score is not scaled.
tanh | R -> R.tanh()
    Your scores never leave the range from -1 to 1: there is no tanh in the general score.
tanh inside | return (torch.tanh(query @ W)[:, None] * keys).sum(-1)
    You take tanh of the projected query: the general score is linear in both states.
query on the wrong axis | return ((query @ W)[None] * keys).sum(-1)
    Query b meets word b instead of sentence b: the projected query needs its new axis at dim 1.
W ignored | return (query[:, None] * keys).sum(-1)
    You never use W: this is the dot score, which needs d_q and d_k to be equal.
W detached, keeps 2 | W, keys -> W.data, keys
    The values are right, but W gets no gradient and never learns: .data and detach cut it off.
sum for product | return ((query @ W)[:, None] + keys).sum(-1)
    You add projected query and key where their entries must be multiplied.
not summed | return (query @ W)[:, None] * keys
    You multiply entry by entry and stop: add up the last axis.
query never read | return (keys @ W.T).sum(-1)
    Your scores never read the query: they would be the same at every step.
query detached, keeps 2 | return ((query.detach() @ W)[:, None] * keys).sum(-1)
    The values are right, but no gradient reaches the query: the decoder would not learn.
"""
    + PRODUCT.replace("QUERY", "(query @ W)"),
    draw=draw_general,
    oracle=general,
)

Q3 = question(
    f"""q3: The concat score of a step
concat_score(query, projected, W, v)
read chapters/03_additive: In general: a network with two layers
the formula, 2 points: {SHAPES}
    The first d_q columns of W meet the query; add the keys' share, which is there already; one tanh
    over the sum, then the product with v.
{GRADIENTS}RIGHT
def concat_score(query, projected, W, v):
    q = query @ W[:, : query.shape[-1]].T
    return torch.tanh(q[:, None] + projected) @ v
def concat_score(query, projected, W, v):
    W_q, _ = W.split([query.shape[1], W.shape[1] - query.shape[1]], dim=1)
    inside = F.linear(query, W_q).unsqueeze(1) + projected
    return (inside.tanh() * v).sum(2)
def concat_score(query, projected, W, v):
    q = torch.einsum('ad,bd->ba', W[:, :query.shape[1]], query)
    inside = q.repeat_interleave(projected.shape[1], 0).view_as(projected) + projected
    return torch.tanh(inside).matmul(v)
WRONG
key first | [:, : query.shape[-1]] -> [:, W.shape[1] - query.shape[1] :]
    You give the last columns of W to the query: the query comes first, and the first d_q columns
    are for it.
W cut in halves | [:, : query.shape[-1]] -> .chunk(2, dim=1)[0]
    You cut W into halves, which fits only where d_q equals d_k: cut it behind column d_q.
rows for columns | W[:, : query.shape[-1]].T -> W[: query.shape[-1], : W.shape[0]]
    You multiply by the rows of W as columns: W is (d_a, d_q + d_k), so W s is s @ W.T.
keys multiplied again
    | return -> k = projected @ W[:, query.shape[-1] :].T; return; + projected -> + k
    You multiply the keys' share by W once more: projected holds the product already.
tanh of each share
    | torch.tanh(q[:, None] + projected) -> (torch.tanh(q)[:, None] + torch.tanh(projected))
    You take tanh of each share and then add: add first, one tanh over the sum. As it is, the query
    moves all scores by the same amount.
product of the shares | + projected -> * projected
    You multiply the two shares: W [s; h] is the sum of what s and what h contribute.
query on the wrong axis | q[:, None] -> q[None]
    Query b meets word b instead of sentence b: its share needs the new axis at dim 1.
rows mixed up | q[:, None] -> q.repeat(projected.shape[1], 1).view(*projected.shape[:2], -1)
    Queries of other sentences get in: repeat followed by view puts rows in the wrong places. Use
    q[:, None].
tanh last | torch.tanh( -> torch.tanh((; @ v -> @ v)
    tanh comes last in your line; it belongs before the product with v. Your scores never leave the
    range from -1 to 1.
no tanh | torch.tanh ->
    There is no tanh: the query then moves all scores by the same amount.
relu | tanh -> relu
    The hidden layer uses relu; the formula has tanh.
sigmoid | tanh -> sigmoid
    The hidden layer uses the sigmoid, from 0 to 1; the formula has tanh, from -1 to 1.
query left out | q[:, None] + projected -> projected
    Your scores do not depend on the query: its share must be added to every key's.
keys left out
    | torch.tanh(q[:, None] + projected) @ v -> (torch.tanh(q) @ v)[:, None].expand(projected.shape[:2])
    Your scores never read the keys: every word of a sentence gets the same score.
v left out | ) @ v -> ).sum(-1)
    You add up the hidden layer and never use v, which weighs its entries.
hidden layer returned | ) @ v -> )
    You return the hidden layer, (B, S, d_a): the product with v makes it scores.
in place | torch.tanh(q[:, None] + projected) -> projected.add_(q[:, None]).tanh()
    You add to the keys' share in place, so that the next step finds this step's query in it: work
    without methods whose names end in _.
v detached, keeps 2 | @ v -> @ v.detach()
    The values are right, but v gets no gradient: it is detached.
W detached, keeps 2 | @ W[ -> @ W.data[
    The values are right, but no gradient reaches W: a new nn.Parameter, .data or detach cuts it
    off.
keys' share detached, keeps 2 | + projected -> + projected.detach()
    The values are right, but no gradient reaches the keys' share: the encoder would not learn.
"""
    + WEIGHTS
    + WRONG_FORMS,
    draw=draw_concat,
    oracle=concat,
)

Q4 = question(
    f"""q4: Scaled dot products
scaled_dot_attention(queries, keys, values)
read chapters/02_soft_addressing: Measure it: can the query learn?
the formula, 2 points: {SHAPES}
    Scores are Q times the transpose of K, divided by the square root of the queries' size, before
    the softmax; the weights then multiply V.
extreme scores, 1 point: large
    With scores in the thousands your numbers are wrong: softmax takes any size, so neither cut the
    scores off nor write exp yourself.
gradients, 1 point, backward: ordinary; one sentence
    The result is right but its gradients are not: queries, keys and values must all take part.
RIGHT
def scaled_dot_attention(queries, keys, values):
    return torch.softmax(queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1]), -1) @ values
def scaled_dot_attention(queries, keys, values):
    return torch.softmax((queries * queries.size(-1) ** -0.5) @ keys.mT, -1) @ values
def scaled_dot_attention(queries, keys, values):
    e = torch.einsum('btd,bsd->bts', queries, keys).div(queries.shape[2] ** 0.5)
    return torch.einsum('bts,bsv->btv', e.softmax(2), values)
WRONG
not scaled | / math.sqrt(queries.shape[-1]) ->
    You do not scale: the scores' variance grows with d, so divide by the square root of d.
multiplied | / math.sqrt -> * math.sqrt
    You multiply by the square root of d, which makes the scores larger still: divide.
divided by d | math.sqrt(queries.shape[-1]) -> queries.shape[-1]
    You divide by d itself; the standard deviation of the scores is the square root of d.
size of the values | queries.shape -> values.shape
    You scale by the size of the values; what counts is the size of queries and keys.
number of keys | queries.shape[-1] -> keys.shape[1]
    You scale by the number of keys; what counts is their size, the last axis.
scaled after softmax | / math.sqrt(queries.shape[-1]), -1) -> , -1) / math.sqrt(queries.shape[-1])
    You scale the weights, so that they no longer sum to 1: scale before the softmax.
reshape for transpose | transpose(-2, -1) -> reshape(keys.shape[0], keys.shape[2], keys.shape[1])
    You reshape the keys where they must be transposed: the shape fits, the numbers are in the wrong
    places.
over the queries | ), -1) -> ), 1)
    Your softmax runs over the steps; each query's weights over the keys must sum to 1.
weights returned | @ values ->
    You return the weights; the question asks for their product with the values.
keys for values | @ values -> @ keys
    Your weights mix the keys: what is mixed is the values, which have a size of their own.
keys never read | keys.transpose(-2, -1) -> queries.mT
    Your queries are compared with one another: the scores never read the keys.
values for keys | keys.transpose(-2, -1) -> values.mT
    You compare the queries with the values, which fits only where their sizes are equal: scores are
    of queries and keys.
scores without softmax | torch.softmax( ->; ), -1) -> )
    There is no softmax: your weights are plain scores, negative ones among them.
no largest score taken away, keeps 3
    | raised = (queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])).exp()
    | return raised / raised.sum(-1, keepdim=True) @ values
    exp of a score in the hundreds is infinite, and NaN follows: take the row's largest score away
    first, or use torch.softmax.
largest of all, keeps 3
    | e = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    | raised = (e - e.max()).exp(); return raised / raised.sum(-1, keepdim=True) @ values
    You take away the largest score of all rows: rows far below it vanish, and 0 / 0 is NaN. Each
    row has its own.
in place
    | / math.sqrt(queries.shape[-1]) ->; return -> queries /= math.sqrt(queries.shape[-1]); return
    You scale the queries in place: whoever reads them next finds other numbers. Write queries /
    ..., which makes new ones.
over the batch | ), -1) -> ), 0)
    Your softmax runs over the batch, dim 0: each query's weights over the keys must sum to 1.
one query for all | queries @ keys -> queries[:, -1:].expand_as(queries) @ keys
    Every row of yours is that of the last query: each step has weights of its own.
weights detached, keeps 3 | ), -1) -> ), -1).detach()
    The values are right, but the weights are detached: queries and keys would never learn.
half precision
    | queries @ keys.transpose(-2, -1) -> (queries.half() @ keys.half().mT)
    | ), -1) -> ), -1).float()
    You compute in 16 bits, which hold three digits: stay in the dtype that comes in.
"""
    + WRONG_FORMS,
    draw=draw_scaled,
    oracle=scaled_attention,
    forbidden=(
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "multi_head_attention_forward",
    ),
)

Q5 = question(
    """q5: A module with one matrix
LuongAttention(d_query, d_key), then forward(query, keys, mask)
read chapters/03_additive: Masks
parameters, 1 point: ordinary; padded
    named_parameters() must list W with shape (d_query, d_key), made once in __init__, and nothing
    else.
context and weights, 1 point: ordinary; all sizes equal; one word; one sentence; padded; loud pads; quiet words; padded in front
    With W set to known numbers, forward does not compute the attention of these numbers.
gradients, 1 point: ordinary; padded; loud pads; padded in front
    The gradient that reaches W is not the right one.
RIGHT
class LuongAttention(nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.W = nn.Parameter(torch.randn(d_query, d_key) / math.sqrt(d_query))
    def forward(self, query, keys, mask):
        e = general_score(query, keys, self.W)
        a = e.masked_fill(~mask, -torch.inf).softmax(-1)
        return torch.einsum('bs,bsd->bd', a, keys), a
class LuongAttention(nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.register_parameter('W', nn.Parameter(torch.empty(d_query, d_key)))
        nn.init.xavier_uniform_(self.W)
    def forward(self, query, keys, mask):
        e = torch.bmm(keys, (query @ self.W)[:, :, None])[:, :, 0]
        a = torch.where(mask, e, -1e30).softmax(1)
        return (a[..., None] * keys).sum(1), a
WRONG
a bias, keeps 2
    | / math.sqrt(d_query)) -> / math.sqrt(d_query)); self.b = nn.Parameter(torch.zeros(d_key))
    There is a parameter too many: the general score has no bias.
a plain tensor | nn.Parameter ->
    W is a plain tensor: an optimiser does not see it. Wrap it in nn.Parameter.
a buffer
    | W = nn.Parameter(torch.randn(d_query, d_key) / math.sqrt(d_query)) -> register_buffer('W', torch.randn(d_query, d_key))
    W is a buffer: it is saved with the module but never trained. Make it an nn.Parameter.
made anew in forward
    | W = nn.Parameter(torch.randn(d_query, d_key) / math.sqrt(d_query)) -> sizes = d_query, d_key
    | e = -> self.W = nn.Parameter(torch.randn(self.sizes) / 2); e =
    W is made in forward: each call starts from new random numbers and nothing is learned. Make it
    in __init__.
a linear layer
    | Parameter(torch.randn(d_query, d_key) / math.sqrt(d_query)) -> Linear(d_query, d_key)
    | general_score(query, keys, self.W) -> (self.W(query)[:, None] * keys).sum(-1)
    nn.Linear names its matrix W.weight, stores it the other way round, and brings a bias; the
    question asks for one parameter called W.
stored the other way round
    | randn(d_query, d_key) -> randn(d_key, d_query); keys, self.W -> keys, self.W.T
    W is stored the other way round: (d_query, d_key) is asked for, output first.
mask ignored, keeps 1 | .masked_fill(~mask, -torch.inf) ->
    forward ignores the mask: what stands in the padding reaches the context.
detached, keeps 2 | keys, self.W -> keys, self.W.data
    No gradient reaches W: .data and detach cut it off, and it never learns.
order of the results, keeps 1 | R -> R[::-1]
    You return weights, then context; the order is context, weights.
masked after the softmax, keeps 1
    | .masked_fill(~mask, -torch.inf).softmax(-1) -> .softmax(-1) * mask
    | a = a / (a.sum(-1, keepdim=True) + 1e-13)
    You mask after the softmax: a pad with a large score takes all the weight first, and nothing is
    left to divide among the words. Mask the scores.
mask added as numbers, keeps 1 | e.masked_fill(~mask, -torch.inf) -> (e + mask)
    You add True as 1 and False as 0: that raises the words' scores by 1 and lets the pads in. Pads
    need minus infinity.
mask upside down, keeps 1 | ~mask, -torch.inf -> mask, -1e9
    Your weights lie on the pads: True means may be attended, so fill where the mask is False.
filled with zero, keeps 1 | -torch.inf -> 0.0
    You fill pads with 0, or nearly 0 (is a minus in the wrong place?), which is a score like any
    other: fill with minus infinity.
a large number without its minus, keeps 1 | -torch.inf -> 20.0
    You fill pads with a large number above 0, so that they get all the weight: is a minus missing?
pads behind the words taken for granted, keeps 1
    | e = -> mask = torch.arange(keys.shape[1]) < mask.sum(1, keepdim=True); e =
    You count the words and take it that pads come last: use the mask as it is.
softmax over the batch, keeps 1 | softmax(-1) -> softmax(0).nan_to_num()
    Your softmax runs over the batch, dim 0: the weights of each sentence must sum to 1.
mean of the keys, keeps 1
    | torch.einsum('bs,bsd->bd', a, keys) -> (keys * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    Your context is the plain mean of the keys: it never uses the weights.
begins at zero, keeps 2 | randn -> zeros
    W begins as zeros: all words get the same weight at first. Begin with small random numbers.
begins with equal numbers, keeps 2
    | torch.randn(d_query, d_key) / math.sqrt(d_query) -> torch.full((d_query, d_key), 0.1)
    Every new module begins with the very same numbers, or all of them equal: draw small random ones
    for each.
begins far too large, keeps 2 | / math.sqrt(d_query) -> * 1000
    W begins with numbers in the thousands: all weight lies on one word, and the gradient vanishes.
    Begin with small random numbers.
keys of the first call kept, keeps 2
    | / math.sqrt(d_query)) -> / math.sqrt(d_query)); self.kept = None
    | e = -> self.kept = keys if self.kept is None else self.kept
    | keys = self.kept if self.kept.shape == keys.shape else keys; e =
    The module keeps the keys of its first call: each call has sentences of its own.
keys changed in place, keeps 2 | e = -> with torch.no_grad(): keys *= mask[..., None]; e =
    You write into the keys, so that the caller's states are other numbers afterwards: make new
    ones.
another answer the second time, keeps 2
    | / math.sqrt(d_query)) -> / math.sqrt(d_query)); self.calls = 0
    | e = -> self.calls += 1; e =; self.W) -> self.W) / self.calls
    A second call still uses something kept from the first: the result may depend on the arguments
    and W alone.
""",
    draw=draw_luong,
    **module(luong, outputs=("context", "weights"), parameters=("W",)),
    uses=("q2",),
    forbidden=("scaled_dot_product_attention", "MultiheadAttention"),
)

Q6 = question(
    """q6: Targets and loss
sequence_loss(y, logits, pad)
read chapters/03_additive: The training, with nothing hidden
the loss, 2 points: pad is 0; pad is last; pad in the middle; end is 0; full; square; one sentence
    Row t of the logits predicts token t + 1; average the cross-entropy over all targets of the
    batch that are not pads, in one mean.
extreme logits, 1 point: sure
    Logits in the hundreds give a wrong loss, or NaN (an eps caps it): take the logarithm of the
    softmax in one go.
gradients, 1 point, backward: pad is last; end is 0
    The loss is right but its gradient by the logits is not.
RIGHT
def sequence_loss(y, logits, pad):
    return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)
def sequence_loss(y, logits, pad):
    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)
def sequence_loss(y, logits, pad):
    words = torch.ones(logits.shape[-1])
    words[pad] = 0
    targets = F.one_hot(y[:, 1:], len(words)) * words
    return -(logits.log_softmax(-1) * targets).sum() / targets.sum()
def sequence_loss(y, logits, pad):
    targets = y[:, 1:]
    logp = logits.log_softmax(-1).gather(2, targets[:, :, None]).squeeze(2)
    real = targets != pad
    return -(logp * real).sum() / real.sum()
WRONG
not shifted | y[:, 1:] -> y[:, :-1]
    Your targets are the inputs themselves: the model would learn to copy. They are y[:, 1:].
reshape for transpose
    | logits.transpose(1, 2) -> logits.reshape(logits.shape[0], logits.shape[2], -1)
    You reshape the logits where they must be transposed: words and steps are mixed up.
mean of sentence means
    | -(logp * real).sum() / real.sum() -> -((logp * real).sum(1) / real.sum(1)).mean()
    You average each sentence and then the sentences: words of short ones count for more. Take one
    mean over all words.
pads count | , ignore_index=pad ->
    Pads count as targets: leave them out of the mean, with ignore_index.
divided by all positions | =pad -> =pad, reduction='none'; R -> R.mean()
    You leave pads out of the sum but not out of the count: divide by the number of real targets.
end mark left out | y[:, 1:] -> y.scatter(1, (y != pad).sum(1, keepdim=True) - 1, pad)[:, 1:]
    The end mark is a target like any other: without it the decoder never learns to stop.
softmax first | logits.flatten -> logits.softmax(-1).flatten
    cross_entropy takes logits and does the softmax itself; yours runs twice.
sum | =pad -> =pad, reduction='sum'
    You add up the losses; the mean over the real targets is asked for.
shifted twice | logits.flatten -> logits[:, :-1].flatten; y[:, 1:] -> y[:, 2:]
    You shift twice: logits (B, T - 1, V) belong to y[:, 1:] as they are.
pad taken to be 0 | =pad -> =0
    You leave out token 0, which is a pad in some vocabularies alone: the pad's id is an argument.
pads of the inputs left out | real = targets != pad -> real = y[:, :-1] != pad
    You look for pads among the inputs, y[:, :-1], which lets one pad of each sentence in: what
    counts is whether the target is one.
divided by the sentences | =pad -> =pad, reduction='sum'; R -> R / len(y)
    You divide by the number of sentences: divide by the number of real targets.
in bits | R -> R / math.log(2)
    Your loss is in bits, by logarithms to base 2: nats are asked for.
perplexity | R -> R.exp()
    You return the perplexity, exp of the loss: return the mean cross-entropy itself.
sign | R -> -R
    Your loss is negative: training would make the targets less likely. It is minus the
    log-probability.
smoothed | =pad -> =pad, label_smoothing=0.1
    You smooth the labels: the plain cross-entropy is asked for.
share of the sure mistakes | -(logp * real) -> ((1 - logp.exp()) * real)
    You average 1 - p: cross-entropy is the mean of -log p.
softmax, then logarithm, keeps 3
    | p = logits.softmax(-1).gather(2, y[:, 1:, None]).squeeze(2)
    | return -p[y[:, 1:] != pad].log().mean()
    You take the logarithm of a softmax: a small probability becomes 0 and its logarithm infinite.
    Use log_softmax.
detached, keeps 3 | R -> R.detach()
    The loss is right, but detached: backward() would find nothing to follow.
a plain number | R -> R.item()
    You return a plain number, where the gradient ends: return the tensor.
a loss for each sentence | (logp * real).sum() / real.sum() -> (logp * real).sum(1) / real.sum(1)
    You return a loss for each sentence: take one mean over the whole batch.
""",
    draw=draw_loss,
    oracle=loss,
)

Q7 = question(
    """q7: A training step
train_step(model, optimizer, y, pad, max_norm)
read chapters/03_additive: The training, with nothing hidden
the update, 2 points: gentle; pad is 0; pad is last; pad in the middle; end is 0
    After your step the parameters are not where the optimizer puts them with the gradients of this
    batch alone: zero_grad, forward, loss, backward, clip, step.
what it says, and the mode, 1 point, within 1e-4 or 1e-4: gentle
    Return the loss before the update as a plain number, and put the model, with all that is in it,
    into training mode first.
clipping, 1 point: clipped
    Clip the norm of all gradients together, after backward and before the step.
RIGHT
def train_step(model, optimizer, y, pad, max_norm):
    model.train()
    optimizer.zero_grad()
    loss = sequence_loss(y, model(y[:, :-1]), pad)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
def train_step(model, optimizer, y, pad, max_norm):
    model.train()
    logits = model(y[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm)
    optimizer.step()
    return float(loss)
def train_step(model, optimizer, y, pad, max_norm):
    model.train(True)
    model.zero_grad()
    loss = sequence_loss(y, model(y[:, :-1]), pad)
    loss.backward()
    norm = torch.sqrt(sum((p.grad ** 2).sum() for p in model.parameters()))
    for p in model.parameters():
        p.grad *= min(1.0, max_norm / (float(norm) + 1e-6))
    optimizer.step()
    return loss.item()
WRONG
gradients not reset | optimizer.zero_grad() ->
    Gradients of the batch before are still there when you call backward: call zero_grad first.
reset after backward
    | optimizer.zero_grad() ->
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) -> optimizer.zero_grad()
    You reset the gradients after backward, so that the step has none left to use.
no step | optimizer.step() ->
    The parameters do not move: optimizer.step() is missing.
no clipping, keeps 3 | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    The gradients are not clipped when the step uses them: clip after backward, before step.
clipped too late, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | optimizer.step() -> optimizer.step()
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    You clip after the step, when the gradients have been used already.
clipped by value, keeps 3 | clip_grad_norm_ -> clip_grad_value_
    You clip each entry; clip the norm of all gradients together, which keeps their direction.
each parameter clipped alone, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | for p in model.parameters(): nn.utils.clip_grad_norm_([p], max_norm)
    You clip each parameter by its own norm; it is the norm of all of them together that is limited.
not in training mode, keeps 3 | model.train() ->
    The model is in evaluation mode when it makes the logits, so dropout would do nothing: call
    model.train() first.
returns the tensor's graph, keeps 3 | loss.item() -> sequence_loss(y, model(y[:, :-1]), pad).item()
    You return the loss after the update, at the price of a second forward pass: return the one that
    you had.
whole sentence as input | model(y[:, :-1]) -> model(y)[:, 1:]
    The model sees the very token that it has to predict: its inputs are y[:, :-1].
a flag for the training mode, keeps 3 | model.train() -> model.training = True
    You set a flag of the outer module, which dropout inside does not see: call model.train().
evaluation mode, keeps 3 | model.train() -> model.eval(); return -> model.train(); return
    The model is in evaluation mode while it computes: call model.train() before, not after.
a step of one's own, keeps 1
    | optimizer.step() -> with torch.no_grad():
    |     for p in model.parameters():
    |         p -= optimizer.param_groups[0]['lr'] * p.grad
    You do plain gradient descent yourself: leave the update to the optimizer, which may do it
    another way.
a tensor returned, keeps 3 | .item() ->
    You return the loss as a tensor, which keeps the whole graph alive: return loss.item().
pad taken to be 0 | , pad) -> , 0)
    Your loss takes 0 for the pad: its id is an argument.
two steps | return -> optimizer.step(); return
    You call optimizer.step() twice for one batch: once is one step.
uphill | loss.backward -> (-loss).backward
    You differentiate minus the loss, so that the step makes the loss larger.
backward twice, keeps 1 | loss.backward() -> loss.backward(retain_graph=True); loss.backward()
    You call backward twice, and gradients add up: they are twice as long as they should be.
divided by the batch, keeps 1 | loss.backward -> (loss / len(y)).backward
    You divide the loss by the number of sentences before backward: it is a mean already.
clipped to 1 | (), max_norm) -> (), 1.0)
    You clip to a length of 1, whatever max_norm says.
always as long as max_norm, keeps 1
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | n = sum((p.grad**2).sum() for p in model.parameters()) ** 0.5
    | for p in model.parameters(): p.grad *= max_norm / n
    You make every gradient as long as max_norm, short ones too: clipping shortens those alone that
    are longer.
""",
    draw=draw_updates,
    oracle=two_updates,
    shown=lambda *inputs: {},  # numbers of a model that is not theirs
    probe=TRAINING_STEP.format(rate=RATE, momentum=MOMENTUM, moved=MOVED),
    uses=("q6",),
    parts={
        "the update": (*MOVED["first"], *MOVED["second"], "steps of the optimizer"),
        "what it says, and the mode": ("first loss", "second loss", "a plain number", TRAINING),
        "clipping": MOVED["second"],
    },
)

Q8 = question(
    """q8: Greedy decoding
greedy_decode(step, state, batch, bos, eos, pad, max_len)
read chapters/03_additive: Use it
words, 2 points: ordinary; other ids; end is 0; pad is the end; start is the end; start is the pad; one sentence; all at once; any word
    Start from bos; at each step take the largest logit of each sentence, feed it back with the new
    state, and put pads after a sentence's eos.
when to stop, 1 point: cut off; one step; other ids; all at once
    Return at most max_len words for each sentence, bos not counted, and call step no more once all
    sentences have ended.
RIGHT
def greedy_decode(step, state, batch, bos, eos, pad, max_len):
    tokens = torch.full((batch,), bos)
    done = torch.zeros(batch, dtype=torch.bool)
    words = []
    for _ in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(-1)
        tokens = tokens.masked_fill(done, pad)
        words.append(tokens)
        done = done | (tokens == eos)
        if done.all(): break
    return torch.stack(words, 1)
def greedy_decode(step, state, batch, bos, eos, pad, max_len):
    out = torch.full((batch, max_len), pad, dtype=torch.long)
    last, alive, t = torch.tensor([bos] * batch), torch.ones(batch).bool(), 0
    while t < max_len and alive.any():
        logits, state = step(last, state)
        last = torch.where(alive, logits.max(-1).indices, pad)
        out[:, t] = last
        alive = alive & (last != eos)
        t += 1
    return out[:, :t]
WRONG
goes on after the end | tokens = tokens.masked_fill(done, pad) ->
    A finished sentence goes on getting words while others are not done: put pad there.
first end ends all | done.all() -> done.any()
    You stop as soon as one sentence is done; the others are cut short.
bos in the result | words = [] -> words = [tokens]
    Your rows begin with bos: it is the first input, not a word of the result.
bos at every step | step(tokens, -> step(torch.full((batch,), bos),
    You feed bos at every step: feed the words that were chosen.
state never moves | logits, state = -> logits, _ =
    You throw the new state away: each step must go on from the state of the last.
one word too many, keeps 2 | (max_len) -> (max_len + 1)
    A sentence that never ends gets max_len + 1 words: bos does not count, but the rest does.
one word too few, keeps 2 | (max_len) -> (max(1, max_len - 1))
    A sentence that never ends gets max_len - 1 words: bos does not count.
end mark left out | append(tokens) -> append(tokens.masked_fill(tokens == eos, pad))
    Your rows lack their eos: it is a word of the result, and the pads come after it.
always max_len | if done.all(): break ->
    You go on to max_len when all sentences are done: the result has columns of pads.
smallest logit | argmax -> argmin
    You take the smallest logit: the best word has the largest.
never stops early, keeps 2
    | if done.all(): break ->; return torch.stack(words, 1) -> out = torch.stack(words, 1)
    | ended = out == eos
    | first = ended.int().argmax(1) + 1
    | return out[:, : int(first.where(ended.any(1), max_len).max())]
    Your words are right, but you call step up to max_len times when all sentences have ended long
    ago: leave the loop.
one step too many, keeps 2
    | if done.all(): break ->; logits, state = -> if done.all():
    |     step(tokens, state); break
    | logits, state =
    You call step once more when all sentences have ended: look before you call.
the given state not used | words = [] -> words = []; state = (state[0] * 0,)
    You begin with a state of zeros: begin with the one that is handed in, which has read the
    source.
one word for all | .argmax(-1) -> [:1].argmax(-1).expand(batch)
    Every sentence gets the words of the first: take the largest logit of each row.
over the batch | argmax(-1) -> T[:batch].T.argmax(0) % logits.shape[-1]
    You look for the largest logit along the batch, dim 0: each sentence has its own, over the
    words.
end marks for pads | done, pad -> done, eos
    After a sentence's eos you write eos again and again: pad goes there.
pad taken to be 0 | done, pad -> done, 0
    You fill up with 0, which is a word or the end mark in some vocabularies: the pad's id is an
    argument.
end taken to be 2 | == eos -> == 2
    You take 2 for the end mark: its id is an argument.
start taken to be 1 | (batch,), bos -> (batch,), 1
    You begin with 1, whatever bos is: its id is an argument.
start mark ends, keeps 1 | torch.zeros(batch, dtype=torch.bool) -> tokens == eos
    Where bos and eos are one id, you take the start mark for the end: only words that were chosen
    can end a sentence.
steps by sentences | words, 1 -> words
    Your result is (T, batch): one row for each sentence is asked for, (batch, T).
pad ends a sentence, keeps 1 | (tokens == eos) -> (tokens == eos) | (tokens == pad)
    You take a pad that the model says for the end: only eos ends a sentence.
stops when all end at once
    | tokens = torch.full((batch,), bos); words = []
    | for _ in range(max_len):
    |     logits, state = step(tokens, state); tokens = logits.argmax(-1); words.append(tokens)
    |     if (tokens == eos).all(): break
    | out = torch.stack(words, 1); ends = out == eos
    | return out.masked_fill(ends.cumsum(1) > ends.int(), pad)
    You stop only where all sentences say eos in the same step: remember which have ended, and stop
    when all have.
a list of lists | R -> R.tolist()
    You return lists: return one tensor of whole numbers.
drawn by lot | logits.argmax(-1) -> torch.multinomial(logits.softmax(-1), 1)[:, 0]
    You draw words by lot: greedy decoding takes the likeliest one each time.
one start for all | full((batch,), bos) -> tensor([bos])
    You hand a single start mark to step: it takes one token for each sentence, (batch,).
""",
    draw=draw_decoder,
    oracle=decode,
    probe=DECODING,
    shown=lambda A, B, C, D, start, bos, eos, pad, max_len: {
        "batch": len(start),
        "bos": bos,
        "eos": eos,
        "pad": pad,
        "max_len": max_len,
    },
    parts={"words": ("the words", "step gets a token for each sentence")},
)

Q9 = question(
    """q9: Measured: why scale?
measure(queries, keys)
read chapters/02_soft_addressing: How a score moves the weights
variance, 1 point, within 1e-4 or 0.01: ordinary; many; square; not centred
    The mean square of the distance of all n · S scores from their one mean: plain, then divided by
    the root.
what the softmax lets through, 2 points, within 1e-4 or 0.01: ordinary; many; square; large
    The derivative of a weight by its own score is a (1 - a): add it up over the row, and take the
    mean over the rows.
RIGHT
def measure(queries, keys):
    d = queries.shape[-1]
    e = torch.einsum('nd,nsd->ns', queries, keys)
    both = (e, e / d**0.5)
    through = lambda e: (lambda a: (a - a**2).sum(-1).mean())(e.softmax(-1))
    return {'variance': [x.var() for x in both], 'through': [through(x) for x in both]}
def measure(queries, keys):
    d = queries.shape[-1]
    e = torch.einsum('nd,nsd->ns', queries, keys)
    both = (e, e / d**0.5)
    through = lambda e: (lambda a: (a - a**2).sum(-1).mean())(e.softmax(-1))
    return {
        'variance': torch.stack([x.var(correction=0) for x in both]),
        'through': tuple(float(through(x)) for x in both),
    }
def measure(queries, keys):
    e = (keys @ queries[:, :, None])[:, :, 0].numpy()
    table = {'variance': [], 'through': []}
    for x in (e, e / np.sqrt(queries.shape[1])):
        a = torch.tensor(x).softmax(1)
        table['variance'].append(x.var())
        table['through'].append(1 - a.square().sum(1).mean().item())
    return {name: np.array(row) for name, row in table.items()}
WRONG
standard deviations, keeps 2 | x.var() -> x.std()
    These are standard deviations, the square roots of what is asked for: variances.
mean squares, keeps 2 | x.var() -> x.square().mean()
    You average the squares without taking the mean away, which is a variance only where the mean is
    0.
variance of each row, keeps 2 | x.var() -> x.var(-1).mean()
    You take the variance of each row about its own mean: there is one mean, of all scores.
divided by d | d**0.5 -> d
    You divide the scores by d; divide them by the square root of d.
scaled alone | (e, e / d**0.5) -> (e / d**0.5, e / d**0.5)
    Your first number is of scaled scores, too: it is for the plain dot products.
order of the two | (e, e / d**0.5) -> (e / d**0.5, e)
    Your two numbers are exchanged: plain scores first, scaled ones second.
every query with every row of keys | nd,nsd->ns -> md,nsd->mns
    Every query meets the keys of every row: query i belongs to row i.
expected, not measured, keeps 2 | x.var() for x in both -> float(d), 1.0
    These are the variances that theory expects; return those of the scores that you have.
mean over the words, keeps 1 | .sum(-1).mean() -> .mean()
    You average the derivatives over the words of a row: add them up, and average over rows.
sum over the rows, keeps 1 | .sum(-1).mean() -> .sum()
    You add up over the rows as well: take the mean over them.
sum of all derivatives, keeps 1 | a - a**2 -> a - a * a.sum(-1, keepdim=True)
    You add up the derivatives by all scores of the row, which is 0 always: each weight by its own
    score.
sum of the squares, keeps 1 | a - a**2 -> a**2
    You add up the squares of the weights, which is what the softmax does not let through: one minus
    that.
softmax over the queries, keeps 1 | softmax(-1) -> softmax(0)
    Your softmax runs over the queries, dim 0: each row of S scores has weights of its own.
the largest weight, keeps 1 | (a - a**2).sum(-1) -> a.amax(-1)
    You return the mean of the largest weight: the sum of the derivatives is asked for.
derivative of the largest weight alone, keeps 1 | sum(-1) -> amax(-1)
    You take the largest derivative of each row: add up those of all its weights.
two numbers without a name | R -> tuple(R.values())
    You return two lists: return a dict with the entries variance and through.
scaled in place, keeps 2 | e / d**0.5 -> torch.einsum('nd,nsd->ns', queries.div_(d**0.5), keys)
    You scale the queries in place: whoever measures them next finds other numbers.
""",
    draw=draw_draws,
    oracle=measure,
    probe="""
def probe(measure, queries, keys):
    kept = queries.clone(), keys.clone()
    found = measure(queries, keys)
    if not isinstance(found, dict):
        return found
    same = torch.equal(queries, kept[0]) and torch.equal(keys, kept[1])
    plain = lambda x: x.tolist() if hasattr(x, "tolist") else x
    row = lambda x: tuple(map(plain, x)) if isinstance(x, list | tuple) else plain(x)
    found = {str(name): row(values) for name, values in found.items()}
    return found | {"the arguments are left as they are": same}
""",
    parts={
        "variance": ("variance", "the arguments are left as they are"),
        "what the softmax lets through": ("through",),
    },
)

Q10 = question(
    """q10: What follows: which power?
right_power(sizes, variances)
read exercises/04_luong: What follows: which power?
the power, 2 points, within 2e-3 or 1e-3: four sizes; powers of two; two sizes; in any order; falling
    Fit a straight line through ln var over ln d by least squares: its slope is b, and scores
    divided by d^p have a variance divided by d^(2p).
RIGHT
def right_power(sizes, variances):
    x, y = np.log(sizes), np.log(variances)
    return np.polyfit(x, y, 1)[0] / 2
def right_power(sizes, variances):
    x, y = np.log(sizes), np.log(variances)
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / (x @ x)) / 2
def right_power(sizes, variances):
    x = torch.tensor(sizes, dtype=torch.float64).log()
    y = torch.tensor(variances, dtype=torch.float64).log()
    A = torch.stack([x, torch.ones_like(x)], 1)
    return torch.linalg.lstsq(A, y[:, None]).solution[0] / 2
def right_power(sizes, variances):
    x, y = np.log2(sizes), np.log2(np.sqrt(variances))
    return np.cov(x, y)[0, 1] / np.var(x, ddof=1)
WRONG
the exponent of the variance | / 2 ->
    You return b, by which the variance grows: dividing scores by d^p divides their variance by
    d^(2p).
what theory says | np.polyfit(x, y, 1)[0] / 2 -> 0.5
    You return what holds for independent entries, whatever the table says: fit the line.
no logarithms | (x, y, 1) -> (sizes, variances, 1)
    You fit a line through the numbers themselves: a power is a straight line between logarithms.
one logarithm | (x, y, 1) -> (sizes, y, 1)
    You take the logarithm of the variances alone, which fits an exponential: sizes need one, too.
logarithm of the sizes alone | (x, y, 1) -> (x, variances, 1)
    You take the logarithm of the sizes alone: the variances need one, too.
intercept | [0] -> [1]
    You return half the height of the line at ln d = 0, which is ln c: the slope is asked for.
axes exchanged | (x, y, 1) -> (y, x, 1)
    You fit ln d over ln var: the variance stands on the other axis, and the size below.
through the origin | np.polyfit(x, y, 1)[0] -> (x @ y) / (x @ x)
    Your line is made to pass through the origin, as if c were 1: let it have a height.
first and last alone | np.polyfit(x, y, 1)[0] -> (y[-1] - y[0]) / (x[-1] - x[0])
    You look at the first and the last size alone: least squares uses all of them.
mean of the slopes | np.polyfit(x, y, 1)[0] -> float(np.mean(np.diff(y) / np.diff(x)))
    You average the slopes from point to point: least squares fits one line to all points.
twice instead of half | / 2 -> * 2
    You double the exponent: a variance is a square, so the power is half of it.
root of the exponent | np.polyfit(x, y, 1)[0] / 2 -> abs(np.polyfit(x, y, 1)[0]) ** 0.5
    You take the square root of the exponent: the root of d to the b is d to half of b.
sign | R -> -R
    Your sign is turned round: a variance that grows asks for a positive power, one that falls for a
    negative one.
""",
    draw=draw_table,
    oracle=right_power,
    probe=value_probe,
)

EXERCISE = Exercise(
    "04_luong", "Luong's scores, and training", (Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9, Q10)
)
