"""How the exercise on Luong's scores is graded: oracles, cases, known mistakes."""

from itertools import pairwise

import numpy as np

from seqattn.grading.bank import Exercise, Question, Stage, Wrong
from seqattn.grading.drawing import normal, padding, softmax_rows
from seqattn.grading.kinds import (
    MODULE_PARTS,
    gradient_parts,
    module_oracle,
    module_probe,
    number_probe,
)

# Where a question is explained, until a chapter does.
PAGE = "exercises/04_luong"

# --- Oracles ---------------------------------------------------------------------------------------


def dot(query, keys):
    return np.array([[sum(s * h) for h in sentence] for s, sentence in zip(query, keys)])


def general(query, keys, W):
    return np.array([[s @ W @ h for h in sentence] for s, sentence in zip(query, keys)])


def concat(query, projected, W, v):
    shares = W[:, : query.shape[1]]
    return np.array(
        [[v @ np.tanh(shares @ s + h) for h in sentence] for s, sentence in zip(query, projected)]
    )


def scaled_attention(queries, keys, values):
    out = []
    for Q, K, V in zip(queries, keys, values):
        weights = softmax_rows(np.array([[q @ k / len(q) ** 0.5 for k in K] for q in Q]))
        out.append([sum(w * v for w, v in zip(row, V)) for row in weights])
    return np.array(out)


def luong(query, keys, mask, W):
    weights = softmax_rows(general(query, keys, W), mask)
    return np.array([sum(w * h for w, h in zip(a, x)) for a, x in zip(weights, keys)]), weights


def loss(y, logits, pad):
    losses = []
    for sentence, rows in zip(y, logits):
        for target, row in zip(sentence[1:], rows):
            if target != pad:
                top = row.max()
                losses.append(top + np.log(np.exp(row - top).sum()) - row[target])
    return np.array(sum(losses) / len(losses))


RATE, MOMENTUM = 0.5, 0.5


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
    for step in ("first", "second"):
        found[f"{step} loss"], g_E, g_W = loss_and_gradients(E, W, y, pad)
        factor = min(1.0, max_norm / (norm(g_E, g_W) + 1e-6))
        v_E, v_W = MOMENTUM * v_E + factor * g_E, MOMENTUM * v_W + factor * g_W
        E, W = E - RATE * v_E, W - RATE * v_W
        found[f"embedding after the {step} step"] = E
        found[f"projection after the {step} step"] = W
    found["steps of the optimizer"] = 2
    return {**found, "every module in training mode": True, "a plain number": True}


def words_of(A, B, C, D, start, bos, eos, pad, max_len):
    rows = []
    for s in start:
        token, words = bos, []
        while len(words) < max_len and (token != eos or not words):
            token = int(np.argmax(A[token] + s @ B))
            s = np.tanh(s @ C + D[token])
            words.append(token)
        rows.append(words)
    return rows


def decode(A, B, C, D, start, bos, eos, pad, max_len):
    rows = words_of(A, B, C, D, start, bos, eos, pad, max_len)
    longest = max(map(len, rows))
    padded = np.array([row + [pad] * (longest - len(row)) for row in rows])
    return {
        "the words": padded,
        "step gets a token for each sentence": True,
        "calls of step": longest,
    }


def measure(queries, keys):
    plain = np.array([[q @ k for k in row] for q, row in zip(queries, keys)])
    table = {"variance": [], "through": []}
    for scores in (plain, plain / queries.shape[1] ** 0.5):
        table["variance"].append(float(((scores - scores.mean()) ** 2).mean()))
        weights = softmax_rows(scores)
        table["through"].append(float(np.mean([sum(a - a**2 for a in row) for row in weights])))
    found = {name: tuple(row) for name, row in table.items()}
    return found | {"the arguments are left as they are": True}


def right_power(sizes, variances):
    x, y = np.log(np.array(sizes)), np.log(np.array(variances))
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum() / 2)


# --- Cases -----------------------------------------------------------------------------------------

SIZES = {  # B, T, S, d_q, d_k, d_a
    "ordinary": (2, 3, 5, 4, 6, 7),
    "other sizes": (5, 2, 3, 5, 2, 3),
    "all sizes equal": (3, 3, 3, 3, 3, 3),
    "one word": (2, 3, 1, 4, 3, 5),
    "one sentence": (1, 1, 4, 2, 3, 5),
    "one number a vector": (2, 3, 4, 1, 1, 2),
    "padded": (3, 2, 5, 4, 3, 2),
    "loud pads": (4, 2, 3, 4, 2, 2),
    "padded in front": (3, 2, 5, 2, 4, 2),
    "quiet words": (3, 2, 4, 3, 5, 2),
    "large": (2, 3, 4, 5, 7, 2),
}
SHAPES = (
    "ordinary",
    "other sizes",
    "all sizes equal",
    "one word",
    "one sentence",
    "one number a vector",
)


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


def draw_loss(rng, kind):
    T = 6
    lengths = {
        "one sentence": (5,),
        "full": (T, T),
        # As many targets as words, and as many sentences as targets.
        "square": (8, 5, 3, 2, 6, 7, 4),
    }.get(kind, tuple(rng.permutation([T, T - 1, 3, 2])))
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
    B = 1 if kind == "one sentence" else 4
    d = 3
    pad, bos, eos = DECODER_IDS.get(kind, (0, 1, 2))
    max_len = 1 if kind == "one step" else 8 if kind != "cut off" else 3
    while True:
        A, B_, C, D = (normal(rng, *s, scale=1.5) for s in ((7, 7), (3, 7), (3, 3), (7, 3)))
        if kind != "any word":
            A[:, [x for x in (pad, bos) if x != eos]] -= 50.0
        if kind in ("cut off", "one step"):
            A[:, eos] -= 50.0
        if kind == "all at once":
            A[:, eos] += 50.0
        start = normal(rng, B, d, scale=2.0)
        case = (A, B_, C, D, start, bos, eos, pad, max_len)
        exact = [x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in case]
        rows = words_of(*exact)
        lengths = {len(row) for row in rows}
        if kind == "any word" and not any({pad, bos} & {*row[:-2]} for row in rows):
            continue
        if kind in ("one step", "cut off", "all at once"):
            good = True
        elif kind == "one sentence":
            good = 3 <= max(lengths) < max_len
        else:
            good = len(lengths) > 1 and min(lengths) > 1 and max(lengths) < max_len
        if good and _clear(case):
            return case


def _clear(case):
    """Tell whether float32 and float64 pick the same words, with room to spare."""
    A, B, C, D, start, bos, eos, _, max_len = case
    for s in start.astype(np.float64):
        token = bos
        for _ in range(max_len):
            second, first = np.sort(A[token] + s @ B)[-2:]
            if first - second < 0.02:
                return False
            token = int(np.argmax(A[token] + s @ B))
            s = np.tanh(s @ C + D[token])
            if token == eos:
                break
    return True


def draw_draws(rng, kind):
    n, S, d = {"many": (200, 5, 9), "large": (150, 4, 36), "square": (30, 30, 30)}.get(
        kind, (150, 6, 4)
    )
    shift = 0.7 if kind == "not centred" else 0.0
    return normal(rng, n, d) + np.float32(shift), normal(rng, n, S, d) + np.float32(shift)


def draw_table(rng, kind):
    sizes = (
        [float(2**n) for n in range(1, 8)] if kind == "powers of two" else [3.0, 10.0, 50.0, 400.0]
    )
    if kind == "two sizes":
        sizes = [5.0, 80.0]
    power = rng.uniform(-2.0, -0.5) if kind == "falling" else rng.uniform(0.3, 2.5)
    variances = [float(rng.uniform(1.5, 4) * d**power) for d in sizes]
    order = rng.permutation(len(sizes)) if kind == "in any order" else range(len(sizes))
    return [sizes[n] for n in order], [variances[n] for n in order]


# --- Questions -------------------------------------------------------------------------------------

GRADIENTS = Stage(
    "gradients",
    1,
    ("ordinary", "one sentence"),
    "The scores are right but their gradients are not: no detach, no .data, no NumPy on the way, "
    "and every argument must take part.",
    gradients=True,
)


def forms(head, value):
    """Right numbers in the wrong form."""
    return (
        Wrong(
            "a list",
            f"{head}    return ({value}).tolist()\n",
            "You return a list: return the tensor, through which gradients can flow.",
        ),
        Wrong(
            "a NumPy array",
            f"{head}    return ({value}).detach().numpy()\n",
            "You return a NumPy array, where the gradient ends: return the torch tensor.",
        ),
    )


DOT = "def dot_score(query, keys):\n"
DOTS = "(query[:, None] * keys).sum(-1)"

Q1 = Question(
    id="q1",
    title="The dot score",
    entry="dot_score",
    signature="dot_score(query, keys)",
    draw=draw_dot,
    oracle=dot,
    stages=(
        Stage(
            "the formula",
            1,
            (*SHAPES, "large"),
            "Multiply each key of a sentence with that sentence's query, entry by entry, and add up "
            "the last axis.",
        ),
        GRADIENTS,
    ),
    right=(
        DOT + "    return (query[:, None, :] * keys).sum(-1)\n",
        DOT + "    return torch.einsum('bd,bsd->bs', query, keys)\n",
        DOT + "    return torch.bmm(keys, query.unsqueeze(2)).squeeze(2)\n",
    ),
    wrong=(
        Wrong(
            "scaled",
            DOT + "    return (query[:, None] * keys).sum(-1) / math.sqrt(query.shape[-1])\n",
            "You divide by the square root of d; Luong's dot score is not scaled.",
        ),
        Wrong(
            "cosine",
            DOT + "    return F.cosine_similarity(query[:, None], keys, dim=-1)\n",
            "You divide by the lengths of the vectors: that is their cosine. The dot product keeps "
            "the lengths.",
        ),
        Wrong(
            "weights instead of scores",
            DOT + "    return torch.softmax((query[:, None] * keys).sum(-1), -1)\n",
            "Your rows sum to 1: these are weights. Return the scores, before any softmax.",
        ),
        Wrong(
            "not summed",
            DOT + "    return query[:, None] * keys\n",
            "You multiply entry by entry and stop: a dot product adds up the d products.",
        ),
        Wrong(
            "query on the wrong axis",
            DOT + "    return (query[None] * keys).sum(-1)\n",
            "Query b meets word b instead of sentence b: the query needs its new axis at dim 1.",
        ),
        Wrong(
            "mean for sum",
            DOT + "    return (query[:, None] * keys).mean(-1)\n",
            "You average over the d products; a dot product is their sum.",
        ),
        Wrong(
            "one axis too many",
            DOT + "    return keys @ query[:, :, None]\n",
            "Your scores are (B, S, 1): remove the last axis.",
        ),
        Wrong(
            "detached",
            DOT + "    return (query.detach()[:, None] * keys).sum(-1)\n",
            "The values are right, but no gradient reaches the query: it is detached.",
            keeps=1,
        ),
        Wrong(
            "keys never read",
            DOT + "    return query.sum(-1, keepdim=True).expand(-1, keys.shape[1])\n",
            "Your scores never read the keys: every word of a sentence gets the same score.",
        ),
        Wrong(
            "sum for product",
            DOT + "    return (query[:, None] + keys).sum(-1)\n",
            "You add query and key where their entries must be multiplied.",
        ),
        Wrong(
            "rows mixed up",
            DOT + "    B, S, _ = keys.shape\n"
            "    return (query.repeat(S, 1).view(B, S, -1) * keys).sum(-1)\n",
            "Queries of other sentences get in: repeat followed by view puts rows in the wrong "
            "places. Use a new axis, or repeat_interleave.",
        ),
        Wrong(
            "over the words",
            DOT + "    return (query[:, None] * keys).sum(1)\n",
            "You add up over the words, dim 1: the dot product adds up the last axis, the entries.",
        ),
        Wrong(
            "over the batch",
            DOT + "    return (query[:, None] * keys).sum(0)\n",
            "You add up over the batch, dim 0: each sentence has scores of its own.",
        ),
        Wrong(
            "every query with every sentence",
            DOT + "    return query @ keys.transpose(1, 2)\n",
            "Every query meets the keys of every sentence: query b belongs to sentence b alone.",
        ),
        Wrong(
            "squeezed too much",
            DOT + "    return (keys @ query[:, :, None]).squeeze()\n",
            "squeeze() without an axis also removes the batch of one sentence, and the sentence of "
            "one word: name the axis.",
        ),
        Wrong(
            "in place",
            DOT + "    return keys.mul_(query[:, None]).sum(-1)\n",
            "You multiply the keys in place, so that whoever reads them next finds other numbers: "
            "work on a copy, without methods like mul_() and without *=.",
        ),
        Wrong(
            "half precision",
            DOT + "    return (query.half()[:, None] * keys.half()).sum(-1).float()\n",
            "You compute in 16 bits, which hold three digits and end at 65,504: stay in the dtype "
            "that comes in.",
        ),
        Wrong(
            "largest product alone",
            DOT + "    return (query[:, None] * keys).amax(-1)\n",
            "You take the largest of the products; a dot product adds all of them up.",
        ),
        Wrong(
            "distance",
            DOT + "    return -(query[:, None] - keys).square().sum(-1)\n",
            "This is the negative squared distance, in which the lengths of the keys count, too; "
            "the product is asked for.",
        ),
        Wrong(
            "absolute values",
            DOT + "    return (query[:, None] * keys).sum(-1).abs()\n",
            "Your scores are never negative: a key that points the other way has a score below 0.",
        ),
        *forms(DOT, "(query[:, None] * keys).sum(-1)"),
        Wrong(
            "keys detached",
            DOT + "    return (query[:, None] * keys.detach()).sum(-1)\n",
            "The values are right, but no gradient reaches the keys: the encoder would not learn.",
            keeps=1,
        ),
    ),
    read=f"{PAGE}: The dot score",
)

GENERAL = "def general_score(query, keys, W):\n"

Q2 = Question(
    id="q2",
    title="The general score",
    entry="general_score",
    signature="general_score(query, keys, W)",
    draw=draw_general,
    oracle=general,
    stages=(
        Stage(
            "the formula",
            2,
            (*SHAPES, "large"),
            "The score of word i is sᵀ W h_i, with W of shape (d_q, d_k): its rows meet the query, "
            "its columns the key. Nothing else happens to it.",
        ),
        GRADIENTS,
    ),
    right=(
        GENERAL + "    return torch.einsum('bd,de,bse->bs', query, W, keys)\n",
        GENERAL + "    return torch.bmm(keys, (query @ W).unsqueeze(2)).squeeze(2)\n",
        GENERAL + "    return (query[:, None] * (keys @ W.T)).sum(-1)\n",
    ),
    wrong=(
        Wrong(
            "W transposed",
            GENERAL + "    return torch.einsum('bd,ed,bse->bs', query, W, keys)\n",
            "You use the transpose of W, which fits only where d_q equals d_k: W is (d_q, d_k), "
            "rows for the query.",
        ),
        Wrong(
            "scaled",
            GENERAL + "    e = torch.einsum('bd,de,bse->bs', query, W, keys)\n"
            "    return e / math.sqrt(query.shape[-1])\n",
            "Your scores are off by a constant factor: Luong's general score is not scaled.",
        ),
        Wrong(
            "weights instead of scores",
            GENERAL + "    return torch.einsum('bd,de,bse->bs', query, W, keys).softmax(-1)\n",
            "Your rows sum to 1: these are weights. Return the scores, before any softmax.",
        ),
        Wrong(
            "tanh",
            GENERAL + "    return torch.einsum('bd,de,bse->bs', query, W, keys).tanh()\n",
            "Your scores never leave the range from -1 to 1: there is no tanh in the general score.",
        ),
        Wrong(
            "tanh inside",
            GENERAL + "    return (torch.tanh(query @ W)[:, None] * keys).sum(-1)\n",
            "You take tanh of the projected query: the general score is linear in both states.",
        ),
        Wrong(
            "query on the wrong axis",
            GENERAL + "    return ((query @ W)[None] * keys).sum(-1)\n",
            "Query b meets word b instead of sentence b: the projected query needs its new axis at "
            "dim 1.",
        ),
        Wrong(
            "W ignored",
            GENERAL + "    return (query[:, None] * keys).sum(-1)\n",
            "You never use W: this is the dot score, which needs d_q and d_k to be equal.",
        ),
        Wrong(
            "W detached",
            GENERAL + "    return torch.einsum('bd,de,bse->bs', query, W.data, keys)\n",
            "The values are right, but W gets no gradient and never learns: .data and detach cut it "
            "off.",
            keeps=2,
        ),
        Wrong(
            "keys never read",
            GENERAL + "    return (query @ W).sum(-1, keepdim=True).expand(-1, keys.shape[1])\n",
            "Your scores never read the keys: every word of a sentence gets the same score.",
        ),
        Wrong(
            "sum for product",
            GENERAL + "    return ((query @ W)[:, None] + keys).sum(-1)\n",
            "You add projected query and key where their entries must be multiplied.",
        ),
        Wrong(
            "rows mixed up",
            GENERAL + "    B, S, _ = keys.shape\n"
            "    return ((query @ W).repeat(S, 1).view(B, S, -1) * keys).sum(-1)\n",
            "Queries of other sentences get in: repeat followed by view puts rows in the wrong "
            "places. Use a new axis, or repeat_interleave.",
        ),
        Wrong(
            "over the words",
            GENERAL + "    return ((query @ W)[:, None] * keys).sum(1)\n",
            "You add up over the words, dim 1: the dot product adds up the last axis, the entries.",
        ),
        Wrong(
            "over the batch",
            GENERAL + "    return ((query @ W)[:, None] * keys).sum(0)\n",
            "You add up over the batch, dim 0: each sentence has scores of its own.",
        ),
        Wrong(
            "every query with every sentence",
            GENERAL + "    return (query @ W) @ keys.transpose(1, 2)\n",
            "Every query meets the keys of every sentence: query b belongs to sentence b alone.",
        ),
        Wrong(
            "squeezed too much",
            GENERAL + "    return (keys @ (query @ W)[:, :, None]).squeeze()\n",
            "squeeze() without an axis also removes the batch of one sentence, and the sentence of "
            "one word: name the axis.",
        ),
        Wrong(
            "in place",
            GENERAL + "    return keys.mul_((query @ W)[:, None]).sum(-1)\n",
            "You multiply the keys in place, so that whoever reads them next finds other numbers: "
            "work on a copy, without methods like mul_() and without *=.",
        ),
        Wrong(
            "half precision",
            GENERAL + "    return ((query @ W).half()[:, None] * keys.half()).sum(-1).float()\n",
            "You compute in 16 bits, which hold three digits and end at 65,504: stay in the dtype "
            "that comes in.",
        ),
        Wrong(
            "largest product alone",
            GENERAL + "    return ((query @ W)[:, None] * keys).amax(-1)\n",
            "You take the largest of the products; a dot product adds all of them up.",
        ),
        Wrong(
            "distance",
            GENERAL + "    return -((query @ W)[:, None] - keys).square().sum(-1)\n",
            "This is the negative squared distance, in which the lengths of the keys count, too; "
            "the product is asked for.",
        ),
        Wrong(
            "absolute values",
            GENERAL + "    return ((query @ W)[:, None] * keys).sum(-1).abs()\n",
            "Your scores are never negative: a key that points the other way has a score below 0.",
        ),
        *forms(GENERAL, "((query @ W)[:, None] * keys).sum(-1)"),
        Wrong(
            "not summed",
            GENERAL + "    return (query @ W)[:, None] * keys\n",
            "You multiply entry by entry and stop: add up the last axis.",
        ),
        Wrong(
            "one axis too many",
            GENERAL + "    return keys @ (query @ W)[:, :, None]\n",
            "Your scores are (B, S, 1): remove the last axis.",
        ),
        Wrong(
            "query never read",
            GENERAL + "    return (keys @ W.T).sum(-1)\n",
            "Your scores never read the query: they would be the same at every step.",
        ),
        Wrong(
            "query detached",
            GENERAL + "    return ((query.detach() @ W)[:, None] * keys).sum(-1)\n",
            "The values are right, but no gradient reaches the query: the decoder would not learn.",
            keeps=2,
        ),
    ),
    read=f"{PAGE}: The general score",
)

CONCAT = "def concat_score(query, projected, W, v):\n"
SHARE = "    q = query @ W[:, : query.shape[-1]].T\n"

Q3 = Question(
    id="q3",
    title="The concat score of a step",
    entry="concat_score",
    signature="concat_score(query, projected, W, v)",
    draw=draw_concat,
    oracle=concat,
    stages=(
        Stage(
            "the formula",
            2,
            SHAPES,
            "The first d_q columns of W meet the query; add the keys' share, which is there already; "
            "one tanh over the sum, then the product with v.",
        ),
        GRADIENTS,
    ),
    right=(
        CONCAT + SHARE + "    return torch.tanh(q[:, None] + projected) @ v\n",
        CONCAT + "    W_q, _ = W.split([query.shape[1], W.shape[1] - query.shape[1]], dim=1)\n"
        "    inside = F.linear(query, W_q).unsqueeze(1) + projected\n"
        "    return (inside.tanh() * v).sum(2)\n",
        CONCAT + "    q = torch.einsum('ad,bd->ba', W[:, :query.shape[1]], query)\n"
        "    inside = q.repeat_interleave(projected.shape[1], 0).view_as(projected) + projected\n"
        "    return torch.tanh(inside).matmul(v)\n",
    ),
    wrong=(
        Wrong(
            "key first",
            CONCAT + "    q = query @ W[:, W.shape[1] - query.shape[1] :].T\n"
            "    return torch.tanh(q[:, None] + projected) @ v\n",
            "You give the last columns of W to the query: the query comes first, and the first d_q "
            "columns are for it.",
        ),
        Wrong(
            "W cut in halves",
            CONCAT + "    q = query @ W.chunk(2, dim=1)[0].T\n"
            "    return torch.tanh(q[:, None] + projected) @ v\n",
            "You cut W into halves, which fits only where d_q equals d_k: cut it behind column d_q.",
        ),
        Wrong(
            "rows for columns",
            CONCAT + "    q = query @ W[: query.shape[-1], : W.shape[0]]\n"
            "    return torch.tanh(q[:, None] + projected) @ v\n",
            "You multiply by the rows of W as columns: W is (d_a, d_q + d_k), so W s is s @ W.T.",
        ),
        Wrong(
            "keys multiplied again",
            CONCAT + SHARE + "    k = projected @ W[:, query.shape[-1] :].T\n"
            "    return torch.tanh(q[:, None] + k) @ v\n",
            "You multiply the keys' share by W once more: projected holds the product already.",
        ),
        Wrong(
            "tanh of each share",
            CONCAT + SHARE + "    return (torch.tanh(q)[:, None] + torch.tanh(projected)) @ v\n",
            "You take tanh of each share and then add: add first, one tanh over the sum. As it is, "
            "the query moves all scores by the same amount.",
        ),
        Wrong(
            "product of the shares",
            CONCAT + SHARE + "    return torch.tanh(q[:, None] * projected) @ v\n",
            "You multiply the two shares: W [s; h] is the sum of what s and what h contribute.",
        ),
        Wrong(
            "query on the wrong axis",
            CONCAT + SHARE + "    return torch.tanh(q[None] + projected) @ v\n",
            "Query b meets word b instead of sentence b: its share needs the new axis at dim 1.",
        ),
        Wrong(
            "rows mixed up",
            CONCAT
            + SHARE
            + "    q = q.repeat(projected.shape[1], 1).view(*projected.shape[:2], -1)\n"
            "    return torch.tanh(q + projected) @ v\n",
            "Queries of other sentences get in: repeat followed by view puts rows in the wrong "
            "places. Use q[:, None].",
        ),
        Wrong(
            "tanh last",
            CONCAT + SHARE + "    return torch.tanh((q[:, None] + projected) @ v)\n",
            "tanh comes last in your line; it belongs before the product with v. Your scores never "
            "leave the range from -1 to 1.",
        ),
        Wrong(
            "no tanh",
            CONCAT + SHARE + "    return (q[:, None] + projected) @ v\n",
            "There is no tanh: the query then moves all scores by the same amount.",
        ),
        Wrong(
            "weights instead of scores",
            CONCAT + SHARE + "    return (torch.tanh(q[:, None] + projected) @ v).softmax(-1)\n",
            "Your rows sum to 1: these are weights. Return the scores, before any softmax.",
        ),
        Wrong(
            "relu",
            CONCAT + SHARE + "    return torch.relu(q[:, None] + projected) @ v\n",
            "The hidden layer uses relu; the formula has tanh.",
        ),
        Wrong(
            "sigmoid",
            CONCAT + SHARE + "    return torch.sigmoid(q[:, None] + projected) @ v\n",
            "The hidden layer uses the sigmoid, from 0 to 1; the formula has tanh, from -1 to 1.",
        ),
        Wrong(
            "query left out",
            CONCAT + SHARE + "    return torch.tanh(projected) @ v\n",
            "Your scores do not depend on the query: its share must be added to every key's.",
        ),
        Wrong(
            "keys left out",
            CONCAT
            + SHARE
            + "    return (torch.tanh(q) @ v)[:, None].expand(projected.shape[:2])\n",
            "Your scores never read the keys: every word of a sentence gets the same score.",
        ),
        Wrong(
            "v left out",
            CONCAT + SHARE + "    return torch.tanh(q[:, None] + projected).sum(-1)\n",
            "You add up the hidden layer and never use v, which weighs its entries.",
        ),
        Wrong(
            "hidden layer returned",
            CONCAT + SHARE + "    return torch.tanh(q[:, None] + projected)\n",
            "You return the hidden layer, (B, S, d_a): the product with v makes it scores.",
        ),
        Wrong(
            "in place",
            CONCAT + SHARE + "    return projected.add_(q[:, None]).tanh() @ v\n",
            "You add to the keys' share in place, so that the next step finds this step's query in it: "
            "work without methods whose names end in _.",
        ),
        Wrong(
            "v detached",
            CONCAT + SHARE + "    return torch.tanh(q[:, None] + projected) @ v.detach()\n",
            "The values are right, but v gets no gradient: it is detached.",
            keeps=2,
        ),
        Wrong(
            "W detached",
            CONCAT
            + SHARE.replace("@ W[", "@ W.data[")
            + "    return torch.tanh(q[:, None] + projected) @ v\n",
            "The values are right, but no gradient reaches W: a new nn.Parameter, .data or detach "
            "cuts it off.",
            keeps=2,
        ),
        Wrong(
            "keys' share detached",
            CONCAT + SHARE + "    return torch.tanh(q[:, None] + projected.detach()) @ v\n",
            "The values are right, but no gradient reaches the keys' share: the encoder would not "
            "learn.",
            keeps=2,
        ),
        *forms(CONCAT + SHARE, "torch.tanh(q[:, None] + projected) @ v"),
    ),
    read="chapters/03_additive: In general: a network with two layers",
)

SCALED = "def scaled_dot_attention(queries, keys, values):\n"
PRODUCT = "queries @ keys.transpose(-2, -1)"
ROOT = "math.sqrt(queries.shape[-1])"

Q4 = Question(
    id="q4",
    title="Scaled dot products",
    entry="scaled_dot_attention",
    signature="scaled_dot_attention(queries, keys, values)",
    draw=draw_scaled,
    oracle=scaled_attention,
    stages=(
        Stage(
            "the formula",
            2,
            SHAPES,
            "Scores are Q times the transpose of K, divided by the square root of the queries' "
            "size, before the softmax; the weights then multiply V.",
        ),
        Stage(
            "extreme scores",
            1,
            ("large",),
            "With scores in the thousands your numbers are wrong: softmax takes any size, so neither cut the scores off nor write exp yourself.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "one sentence"),
            "The result is right but its gradients are not: queries, keys and values must all take "
            "part.",
            gradients=True,
        ),
    ),
    forbidden=(
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "multi_head_attention_forward",
    ),
    right=(
        SCALED + f"    return torch.softmax({PRODUCT} / {ROOT}, -1) @ values\n",
        SCALED
        + "    return torch.softmax((queries * queries.size(-1) ** -0.5) @ keys.mT, -1) @ values\n",
        SCALED
        + "    e = torch.einsum('btd,bsd->bts', queries, keys).div(queries.shape[2] ** 0.5)\n"
        "    return torch.einsum('bts,bsv->btv', e.softmax(2), values)\n",
    ),
    wrong=(
        Wrong(
            "not scaled",
            SCALED + f"    return torch.softmax({PRODUCT}, -1) @ values\n",
            "You do not scale: the scores' variance grows with d, so divide by the square root of d.",
        ),
        Wrong(
            "multiplied",
            SCALED + f"    return torch.softmax({PRODUCT} * {ROOT}, -1) @ values\n",
            "You multiply by the square root of d, which makes the scores larger still: divide.",
        ),
        Wrong(
            "divided by d",
            SCALED + f"    return torch.softmax({PRODUCT} / queries.shape[-1], -1) @ values\n",
            "You divide by d itself; the standard deviation of the scores is the square root of d.",
        ),
        Wrong(
            "size of the values",
            SCALED
            + f"    return torch.softmax({PRODUCT} / math.sqrt(values.shape[-1]), -1) @ values\n",
            "You scale by the size of the values; what counts is the size of queries and keys.",
        ),
        Wrong(
            "number of keys",
            SCALED
            + f"    return torch.softmax({PRODUCT} / math.sqrt(keys.shape[1]), -1) @ values\n",
            "You scale by the number of keys; what counts is their size, the last axis.",
        ),
        Wrong(
            "scaled after softmax",
            SCALED + f"    return (torch.softmax({PRODUCT}, -1) / {ROOT}) @ values\n",
            "You scale the weights, so that they no longer sum to 1: scale before the softmax.",
        ),
        Wrong(
            "reshape for transpose",
            SCALED + "    turned = keys.reshape(keys.shape[0], keys.shape[2], keys.shape[1])\n"
            f"    return torch.softmax(queries @ turned / {ROOT}, -1) @ values\n",
            "You reshape the keys where they must be transposed: the shape fits, the numbers are in "
            "the wrong places.",
        ),
        Wrong(
            "over the queries",
            SCALED + f"    return torch.softmax({PRODUCT} / {ROOT}, 1) @ values\n",
            "Your softmax runs over the steps; each query's weights over the keys must sum to 1.",
        ),
        Wrong(
            "weights returned",
            SCALED + f"    return torch.softmax({PRODUCT} / {ROOT}, -1)\n",
            "You return the weights; the question asks for their product with the values.",
        ),
        Wrong(
            "keys for values",
            SCALED + f"    return torch.softmax({PRODUCT} / {ROOT}, -1) @ keys\n",
            "Your weights mix the keys: what is mixed is the values, which have a size of their own.",
        ),
        Wrong(
            "keys never read",
            SCALED + f"    return torch.softmax(queries @ queries.mT / {ROOT}, -1) @ values\n",
            "Your queries are compared with one another: the scores never read the keys.",
        ),
        Wrong(
            "scores without softmax",
            SCALED + f"    return {PRODUCT} / {ROOT} @ values\n",
            "There is no softmax: your weights are plain scores, negative ones among them.",
        ),
        Wrong(
            "no largest score taken away",
            SCALED + f"    raised = ({PRODUCT} / {ROOT}).exp()\n"
            "    return raised / raised.sum(-1, keepdim=True) @ values\n",
            "exp of a score in the hundreds is infinite, and NaN follows: take the row's largest "
            "score away first, or use torch.softmax.",
            keeps=3,
        ),
        Wrong(
            "largest of all",
            SCALED + f"    e = {PRODUCT} / {ROOT}\n    raised = (e - e.max()).exp()\n"
            "    return raised / raised.sum(-1, keepdim=True) @ values\n",
            "You take away the largest score of all rows: rows far below it vanish, and 0 / 0 is "
            "NaN. Each row has its own.",
            keeps=3,
        ),
        Wrong(
            "in place",
            SCALED + f"    queries /= {ROOT}\n    return torch.softmax({PRODUCT}, -1) @ values\n",
            "You scale the queries in place: whoever reads them next finds other numbers. Write "
            "queries / ..., which makes new ones.",
        ),
        Wrong(
            "over the batch",
            SCALED + f"    return torch.softmax({PRODUCT} / {ROOT}, 0) @ values\n",
            "Your softmax runs over the batch, dim 0: each query's weights over the keys must sum "
            "to 1.",
        ),
        Wrong(
            "one query for all",
            SCALED + "    q = queries[:, -1:].expand_as(queries)\n"
            f"    return torch.softmax(q @ keys.mT / {ROOT}, -1) @ values\n",
            "Every row of yours is that of the last query: each step has weights of its own.",
        ),
        Wrong(
            "weights detached",
            SCALED + f"    return torch.softmax({PRODUCT} / {ROOT}, -1).detach() @ values\n",
            "The values are right, but the weights are detached: queries and keys would never learn.",
            keeps=3,
        ),
        Wrong(
            "half precision",
            SCALED + f"    e = (queries.half() @ keys.half().mT) / {ROOT}\n"
            "    return torch.softmax(e, -1).float() @ values\n",
            "You compute in 16 bits, which hold three digits: stay in the dtype that comes in.",
        ),
        *forms(SCALED, f"torch.softmax({PRODUCT} / {ROOT}, -1) @ values"),
    ),
    read=f"{PAGE}: Scaled dot products",
)

INIT = (
    "class LuongAttention(nn.Module):\n"
    "    def __init__(self, d_query, d_key):\n"
    "        super().__init__()\n"
)
W_MADE = "        self.W = nn.Parameter(torch.randn(d_query, d_key) / math.sqrt(d_query))\n"
FORWARD = "    def forward(self, query, keys, mask):\n"
MIXED = (
    "        a = e.masked_fill(~mask, -torch.inf).softmax(-1)\n"
    "        return torch.einsum('bs,bsd->bd', a, keys), a\n"
)
SCORED = "        e = general_score(query, keys, self.W)\n"

Q5 = Question(
    id="q5",
    title="A module with one matrix",
    entry="LuongAttention",
    signature="LuongAttention(d_query, d_key), then forward(query, keys, mask)",
    draw=draw_luong,
    oracle=module_oracle(luong, "context", "weights"),
    probe=module_probe("context", "weights"),
    stages=(
        Stage(
            "parameters",
            1,
            ("ordinary", "padded"),
            "named_parameters() must list W with shape (d_query, d_key), made once in __init__, and "
            "nothing else.",
            parts=MODULE_PARTS,
        ),
        Stage(
            "context and weights",
            1,
            (
                "ordinary",
                "all sizes equal",
                "one word",
                "one sentence",
                "padded",
                "loud pads",
                "quiet words",
                "padded in front",
            ),
            "With W set to known numbers, forward does not compute the attention of these numbers.",
            parts=("context", "weights"),
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "padded", "loud pads", "padded in front"),
            "The gradient that reaches W is not the right one.",
            parts=gradient_parts("W"),
        ),
    ),
    uses=("q2",),
    forbidden=("scaled_dot_product_attention", "MultiheadAttention"),
    right=(
        INIT + W_MADE + FORWARD + SCORED + MIXED,
        INIT + "        self.register_parameter('W', nn.Parameter(torch.empty(d_query, d_key)))\n"
        "        nn.init.xavier_uniform_(self.W)\n"
        + FORWARD
        + "        e = torch.bmm(keys, (query @ self.W)[:, :, None])[:, :, 0]\n"
        "        a = torch.where(mask, e, -1e30).softmax(1)\n"
        "        return (a[..., None] * keys).sum(1), a\n",
    ),
    wrong=(
        Wrong(
            "a bias",
            INIT
            + W_MADE
            + "        self.b = nn.Parameter(torch.zeros(d_key))\n"
            + FORWARD
            + SCORED
            + MIXED,
            "There is a parameter too many: the general score has no bias.",
            keeps=2,
        ),
        Wrong(
            "a plain tensor",
            (INIT + W_MADE + FORWARD + SCORED + MIXED).replace("nn.Parameter(", "("),
            "W is a plain tensor: an optimiser does not see it. Wrap it in nn.Parameter.",
        ),
        Wrong(
            "a buffer",
            INIT
            + "        self.register_buffer('W', torch.randn(d_query, d_key))\n"
            + FORWARD
            + SCORED
            + MIXED,
            "W is a buffer: it is saved with the module but never trained. Make it an nn.Parameter.",
        ),
        Wrong(
            "made anew in forward",
            INIT
            + "        self.sizes = d_query, d_key\n"
            + FORWARD
            + "        self.W = nn.Parameter(torch.randn(self.sizes) / 2)\n"
            + SCORED
            + MIXED,
            "W is made in forward: each call starts from new random numbers and nothing is learned. "
            "Make it in __init__.",
        ),
        Wrong(
            "a linear layer",
            INIT
            + "        self.W = nn.Linear(d_query, d_key)\n"
            + FORWARD
            + "        e = (self.W(query)[:, None] * keys).sum(-1)\n"
            + MIXED,
            "nn.Linear names its matrix W.weight, stores it the other way round, and brings a bias; "
            "the question asks for one parameter called W.",
        ),
        Wrong(
            "stored the other way round",
            INIT
            + W_MADE.replace("torch.randn(d_query, d_key)", "torch.randn(d_key, d_query)")
            + FORWARD
            + SCORED.replace("self.W", "self.W.T")
            + MIXED,
            "W is stored the other way round: (d_query, d_key) is asked for, output first.",
        ),
        Wrong(
            "mask ignored",
            INIT
            + W_MADE
            + FORWARD
            + SCORED
            + MIXED.replace("e.masked_fill(~mask, -torch.inf)", "e"),
            "forward ignores the mask: what stands in the padding reaches the context.",
            keeps=1,
        ),
        Wrong(
            "detached",
            INIT + W_MADE + FORWARD + SCORED.replace("self.W", "self.W.data") + MIXED,
            "No gradient reaches W: .data and detach cut it off, and it never learns.",
            keeps=2,
        ),
        Wrong(
            "order of the results",
            INIT
            + W_MADE
            + FORWARD
            + SCORED
            + MIXED.replace(
                "return torch.einsum('bs,bsd->bd', a, keys), a",
                "return a, torch.einsum('bs,bsd->bd', a, keys)",
            ),
            "You return weights, then context; the order is context, weights.",
            keeps=1,
        ),
        Wrong(
            "masked after the softmax",
            INIT + W_MADE + FORWARD + SCORED + "        a = e.softmax(-1) * mask\n"
            "        a = a / (a.sum(-1, keepdim=True) + 1e-13)\n"
            "        return torch.einsum('bs,bsd->bd', a, keys), a\n",
            "You mask after the softmax: a pad with a large score takes all the weight first, and "
            "nothing is left to divide among the words. Mask the scores.",
            keeps=1,
        ),
        Wrong(
            "mask added as numbers",
            INIT
            + W_MADE
            + FORWARD
            + SCORED
            + MIXED.replace("e.masked_fill(~mask, -torch.inf)", "(e + mask)"),
            "You add True as 1 and False as 0: that raises the words' scores by 1 and lets the pads "
            "in. Pads need minus infinity.",
            keeps=1,
        ),
        Wrong(
            "mask upside down",
            INIT + W_MADE + FORWARD + SCORED + MIXED.replace("~mask, -torch.inf", "mask, -1e9"),
            "Your weights lie on the pads: True means may be attended, so fill where the mask is "
            "False.",
            keeps=1,
        ),
        Wrong(
            "filled with zero",
            INIT + W_MADE + FORWARD + SCORED + MIXED.replace("-torch.inf", "0.0"),
            "You fill pads with 0, or nearly 0 (is a minus in the wrong place?), which is a score like "
            "any other: fill with minus infinity.",
            keeps=1,
        ),
        Wrong(
            "pads behind the words taken for granted",
            INIT
            + W_MADE
            + FORWARD
            + "        mask = torch.arange(keys.shape[1]) < mask.sum(1, keepdim=True)\n"
            + SCORED
            + MIXED,
            "You count the words and take it that pads come last: use the mask as it is.",
            keeps=1,
        ),
        Wrong(
            "softmax over the batch",
            INIT
            + W_MADE
            + FORWARD
            + SCORED
            + MIXED.replace("softmax(-1)", "softmax(0).nan_to_num()"),
            "Your softmax runs over the batch, dim 0: the weights of each sentence must sum to 1.",
            keeps=1,
        ),
        Wrong(
            "mean of the keys",
            INIT
            + W_MADE
            + FORWARD
            + SCORED
            + MIXED.replace(
                "torch.einsum('bs,bsd->bd', a, keys)",
                "(keys * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)",
            ),
            "Your context is the plain mean of the keys: it never uses the weights.",
            keeps=1,
        ),
        Wrong(
            "begins at zero",
            (INIT + W_MADE + FORWARD + SCORED + MIXED).replace("torch.randn(", "torch.zeros("),
            "W begins as zeros: all words get the same weight at first. Begin with small random "
            "numbers.",
            keeps=2,
        ),
        Wrong(
            "begins with equal numbers",
            INIT
            + "        self.W = nn.Parameter(torch.full((d_query, d_key), 0.1))\n"
            + FORWARD
            + SCORED
            + MIXED,
            "Every new module begins with the very same numbers, or all of them equal: draw small "
            "random ones for each.",
            keeps=2,
        ),
        Wrong(
            "begins far too large",
            INIT + W_MADE.replace("/ math.sqrt(d_query)", "* 1000") + FORWARD + SCORED + MIXED,
            "W begins with numbers in the thousands: all weight lies on one word, and the gradient "
            "vanishes. Begin with small random numbers.",
            keeps=2,
        ),
        Wrong(
            "keys of the first call kept",
            INIT
            + W_MADE
            + "        self.kept = None\n"
            + FORWARD
            + "        self.kept = keys if self.kept is None else self.kept\n"
            + "        keys = self.kept if self.kept.shape == keys.shape else keys\n"
            + SCORED
            + MIXED,
            "The module keeps the keys of its first call: each call has sentences of its own.",
            keeps=2,
        ),
        Wrong(
            "keys changed in place",
            INIT
            + W_MADE
            + FORWARD
            + "        with torch.no_grad():\n            keys *= mask[..., None]\n"
            + SCORED
            + MIXED,
            "You write into the keys, so that the caller's states are other numbers afterwards: "
            "make new ones.",
            keeps=2,
        ),
        Wrong(
            "another answer the second time",
            INIT
            + W_MADE
            + "        self.calls = 0\n"
            + FORWARD
            + "        self.calls += 1\n"
            + SCORED.replace("self.W)", "self.W) / self.calls")
            + MIXED,
            "A second call still uses something kept from the first: the result may depend on the "
            "arguments and W alone.",
            keeps=2,
        ),
    ),
    read=f"{PAGE}: A module with one matrix",
)

LOSS = "def sequence_loss(y, logits, pad):\n"

Q6 = Question(
    id="q6",
    title="Targets and loss",
    entry="sequence_loss",
    signature="sequence_loss(y, logits, pad)",
    draw=draw_loss,
    oracle=loss,
    stages=(
        Stage(
            "the loss",
            2,
            (*IDS, "full", "square", "one sentence"),
            "Row t of the logits predicts token t + 1; average the cross-entropy over all targets "
            "of the batch that are not pads, in one mean.",
        ),
        Stage(
            "extreme logits",
            1,
            ("sure",),
            "Logits in the hundreds give a wrong loss, or NaN (an eps caps it): take the logarithm of the "
            "softmax in one go.",
        ),
        Stage(
            "gradients",
            1,
            ("pad is last", "end is 0"),
            "The loss is right but its gradient by the logits is not.",
            gradients=True,
        ),
    ),
    right=(
        LOSS
        + "    return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)\n",
        LOSS + "    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)\n",
        LOSS + "    words = torch.ones(logits.shape[-1])\n    words[pad] = 0\n"
        "    targets = F.one_hot(y[:, 1:], len(words)) * words\n"
        "    return -(logits.log_softmax(-1) * targets).sum() / targets.sum()\n",
        LOSS + "    targets = y[:, 1:]\n"
        "    logp = logits.log_softmax(-1).gather(2, targets[:, :, None]).squeeze(2)\n"
        "    real = targets != pad\n"
        "    return -(logp * real).sum() / real.sum()\n",
    ),
    wrong=(
        Wrong(
            "not shifted",
            LOSS
            + "    return F.cross_entropy(logits.transpose(1, 2), y[:, :-1], ignore_index=pad)\n",
            "Your targets are the inputs themselves: the model would learn to copy. They are y[:, 1:].",
        ),
        Wrong(
            "reshape for transpose",
            LOSS + "    turned = logits.reshape(logits.shape[0], logits.shape[2], -1)\n"
            "    return F.cross_entropy(turned, y[:, 1:], ignore_index=pad)\n",
            "You reshape the logits where they must be transposed: words and steps are mixed up.",
        ),
        Wrong(
            "mean of sentence means",
            LOSS
            + "    each = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], reduction='none')\n"
            "    real = (y[:, 1:] != pad).float()\n"
            "    return ((each * real).sum(1) / real.sum(1)).mean()\n",
            "You average each sentence and then the sentences: words of short ones count for more. "
            "Take one mean over all words.",
        ),
        Wrong(
            "pads count",
            LOSS + "    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:])\n",
            "Pads count as targets: leave them out of the mean, with ignore_index.",
        ),
        Wrong(
            "divided by all positions",
            LOSS + "    each = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad, "
            "reduction='none')\n    return each.mean()\n",
            "You leave pads out of the sum but not out of the count: divide by the number of real "
            "targets.",
        ),
        Wrong(
            "end mark left out",
            LOSS + "    last = (y != pad).sum(1, keepdim=True) - 1\n"
            "    targets = y.scatter(1, last, pad)[:, 1:]\n"
            "    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad)\n",
            "The end mark is a target like any other: without it the decoder never learns to stop.",
        ),
        Wrong(
            "softmax first",
            LOSS + "    p = logits.softmax(-1).transpose(1, 2)\n"
            "    return F.cross_entropy(p, y[:, 1:], ignore_index=pad)\n",
            "cross_entropy takes logits and does the softmax itself; yours runs twice.",
        ),
        Wrong(
            "sum",
            LOSS + "    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad, "
            "reduction='sum')\n",
            "You add up the losses; the mean over the real targets is asked for.",
        ),
        Wrong(
            "shifted twice",
            LOSS + "    return F.cross_entropy(logits[:, :-1].transpose(1, 2), y[:, 2:], "
            "ignore_index=pad)\n",
            "You shift twice: logits (B, T - 1, V) belong to y[:, 1:] as they are.",
        ),
        Wrong(
            "pad taken to be 0",
            LOSS + "    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=0)\n",
            "You leave out token 0, which is a pad in some vocabularies alone: the pad's id is an "
            "argument.",
        ),
        Wrong(
            "pads of the inputs left out",
            LOSS
            + "    each = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], reduction='none')\n"
            "    real = y[:, :-1] != pad\n"
            "    return (each * real).sum() / real.sum()\n",
            "You look for pads among the inputs, y[:, :-1], which lets one pad of each sentence in: "
            "what counts is whether the target is one.",
        ),
        Wrong(
            "divided by the sentences",
            LOSS + "    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad, "
            "reduction='sum') / len(y)\n",
            "You divide by the number of sentences: divide by the number of real targets.",
        ),
        Wrong(
            "in bits",
            LOSS
            + "    loss = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)\n"
            "    return loss / math.log(2)\n",
            "Your loss is in bits, by logarithms to base 2: nats are asked for.",
        ),
        Wrong(
            "perplexity",
            LOSS
            + "    loss = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)\n"
            "    return loss.exp()\n",
            "You return the perplexity, exp of the loss: return the mean cross-entropy itself.",
        ),
        Wrong(
            "sign",
            LOSS
            + "    return -F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)\n",
            "Your loss is negative: training would make the targets less likely. It is minus the "
            "log-probability.",
        ),
        Wrong(
            "smoothed",
            LOSS + "    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad, "
            "label_smoothing=0.1)\n",
            "You smooth the labels: the plain cross-entropy is asked for.",
        ),
        Wrong(
            "share of the sure mistakes",
            LOSS + "    p = logits.softmax(-1).gather(2, y[:, 1:, None]).squeeze(2)\n"
            "    real = y[:, 1:] != pad\n"
            "    return ((1 - p) * real).sum() / real.sum()\n",
            "You average 1 - p: cross-entropy is the mean of -log p.",
        ),
        Wrong(
            "softmax, then logarithm",
            LOSS + "    p = logits.softmax(-1).gather(2, y[:, 1:, None]).squeeze(2)\n"
            "    return -p[y[:, 1:] != pad].log().mean()\n",
            "You take the logarithm of a softmax: a small probability becomes 0 and its logarithm "
            "infinite. Use log_softmax.",
            keeps=3,
        ),
        Wrong(
            "detached",
            LOSS
            + "    loss = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)\n"
            "    return loss.detach()\n",
            "The loss is right, but detached: backward() would find nothing to follow.",
            keeps=3,
        ),
        Wrong(
            "a plain number",
            LOSS
            + "    loss = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)\n"
            "    return loss.item()\n",
            "You return a plain number, where the gradient ends: return the tensor.",
        ),
        Wrong(
            "a loss for each sentence",
            LOSS
            + "    each = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], reduction='none')\n"
            "    real = y[:, 1:] != pad\n"
            "    return (each * real).sum(1) / real.sum(1)\n",
            "You return a loss for each sentence: take one mean over the whole batch.",
        ),
    ),
    read=f"{PAGE}: Targets and loss",
)

STEP = "def train_step(model, optimizer, y, pad, max_norm):\n"
FIT = "    model.train()\n    optimizer.zero_grad()\n"
BACK = "    loss = sequence_loss(y, model(y[:, :-1]), pad)\n    loss.backward()\n"
CLIP = "    nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n"
UPDATE = "    optimizer.step()\n    return loss.item()\n"

Q7 = Question(
    id="q7",
    title="A training step",
    entry="train_step",
    signature="train_step(model, optimizer, y, pad, max_norm)",
    draw=draw_updates,
    oracle=two_updates,
    probe=f"""
class Note(nn.Module):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def forward(self, x):
        self.seen.append(self.training)
        return x

class Tiny(nn.Module):
    def __init__(self, E, W, seen):
        super().__init__()
        self.E, self.W = nn.Parameter(E.clone()), nn.Parameter(W.clone())
        # Where dropout would be.
        self.inside, self.seen = nn.Sequential(Note(seen)), seen

    def forward(self, tokens):
        self.seen.append(self.training)
        return self.inside(self.E[tokens]) @ self.W.T

# torch.optim would load its compiler, which wants to write caches.
class Descent:
    def __init__(self, parameters):
        self.parameters, self.steps = list(parameters), 0
        self.moving = [torch.zeros_like(p) for p in self.parameters]
        self.param_groups = [{{"params": self.parameters, "lr": {RATE}}}]

    def zero_grad(self, set_to_none=True):
        for p in self.parameters:
            p.grad = None if set_to_none or p.grad is None else torch.zeros_like(p)

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for p, v in zip(self.parameters, self.moving):
            if p.grad is not None:
                v.mul_({MOMENTUM}).add_(p.grad)
                p -= {RATE} * v

def probe(train_step, E, W, y, pad, max_norm):
    seen = []
    model = Tiny(E, W, seen)
    optimizer = Descent(model.parameters())
    # What an earlier batch may have left behind.
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    model.eval()
    found, plain = {{}}, True
    for step in ("first", "second"):
        loss = train_step(model, optimizer, y, pad, max_norm)
        plain = plain and isinstance(loss, int | float | np.floating)
        found[f"{{step}} loss"] = loss
        found[f"embedding after the {{step}} step"] = model.E.detach().clone()
        found[f"projection after the {{step}} step"] = model.W.detach().clone()
    found["steps of the optimizer"] = optimizer.steps
    found["every module in training mode"] = bool(seen) and all(seen)
    found["a plain number"] = plain
    # The rest earns nothing; they tell mistakes apart.
    left = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    return found | {{"left": left, "modes": (*seen, model.training)}}
""",
    stages=(
        Stage(
            "the update",
            2,
            ("gentle", *IDS),
            "After your step the parameters are not where the optimizer puts them with the "
            "gradients of this batch alone: zero_grad, forward, loss, backward, clip, step.",
            parts=(
                "embedding after the first step",
                "projection after the first step",
                "embedding after the second step",
                "projection after the second step",
                "steps of the optimizer",
            ),
        ),
        Stage(
            "what it says, and the mode",
            1,
            ("gentle",),
            "Return the loss before the update as a plain number, and put the model, with all that "
            "is in it, into training mode first.",
            parts=("first loss", "second loss", "a plain number", "every module in training mode"),
            tolerance=(1e-4, 1e-4),
        ),
        Stage(
            "clipping",
            1,
            ("clipped",),
            "Clip the norm of all gradients together, after backward and before the step.",
            parts=("embedding after the second step", "projection after the second step"),
        ),
    ),
    uses=("q6",),
    right=(
        STEP + FIT + BACK + CLIP + UPDATE,
        STEP + "    model.train()\n"
        "    logits = model(y[:, :-1])\n"
        "    loss = F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)\n"
        "    optimizer.zero_grad(set_to_none=True)\n"
        "    loss.backward()\n"
        "    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm)\n"
        "    optimizer.step()\n"
        "    return float(loss)\n",
        STEP + "    model.train(True)\n"
        "    model.zero_grad()\n"
        + BACK
        + "    norm = torch.sqrt(sum((p.grad ** 2).sum() for p in model.parameters()))\n"
        "    for p in model.parameters():\n"
        "        p.grad *= min(1.0, max_norm / (float(norm) + 1e-6))\n" + UPDATE,
    ),
    wrong=(
        Wrong(
            "gradients not reset",
            STEP + "    model.train()\n" + BACK + CLIP + UPDATE,
            "Gradients of the batch before are still there when you call backward: call zero_grad "
            "first.",
        ),
        Wrong(
            "reset after backward",
            STEP + "    model.train()\n" + BACK + "    optimizer.zero_grad()\n" + UPDATE,
            "You reset the gradients after backward, so that the step has none left to use.",
        ),
        Wrong(
            "no step",
            STEP + FIT + BACK + CLIP + "    return loss.item()\n",
            "The parameters do not move: optimizer.step() is missing.",
        ),
        Wrong(
            "no clipping",
            STEP + FIT + BACK + UPDATE,
            "The gradients are not clipped when the step uses them: clip after backward, before step.",
            keeps=3,
        ),
        Wrong(
            "clipped too late",
            STEP + FIT + BACK + "    optimizer.step()\n" + CLIP + "    return loss.item()\n",
            "You clip after the step, when the gradients have been used already.",
            keeps=3,
        ),
        Wrong(
            "clipped by value",
            STEP
            + FIT
            + BACK
            + "    nn.utils.clip_grad_value_(model.parameters(), max_norm)\n"
            + UPDATE,
            "You clip each entry; clip the norm of all gradients together, which keeps their "
            "direction.",
            keeps=3,
        ),
        Wrong(
            "each parameter clipped alone",
            STEP + FIT + BACK + "    for p in model.parameters():\n"
            "        nn.utils.clip_grad_norm_([p], max_norm)\n" + UPDATE,
            "You clip each parameter by its own norm; it is the norm of all of them together that "
            "is limited.",
            keeps=3,
        ),
        Wrong(
            "not in training mode",
            STEP + "    optimizer.zero_grad()\n" + BACK + CLIP + UPDATE,
            "The model is in evaluation mode when it makes the logits, so dropout would do nothing: "
            "call model.train() first.",
            keeps=3,
        ),
        Wrong(
            "returns the tensor's graph",
            STEP + FIT + BACK + CLIP + "    optimizer.step()\n"
            "    return sequence_loss(y, model(y[:, :-1]), pad).item()\n",
            "You return the loss after the update, at the price of a second forward pass: return "
            "the one that you had.",
            keeps=3,
        ),
        Wrong(
            "whole sentence as input",
            STEP
            + FIT
            + "    loss = sequence_loss(y, model(y)[:, 1:], pad)\n    loss.backward()\n"
            + CLIP
            + UPDATE,
            "The model sees the very token that it has to predict: its inputs are y[:, :-1].",
        ),
        Wrong(
            "a flag for the training mode",
            STEP + "    model.training = True\n    optimizer.zero_grad()\n" + BACK + CLIP + UPDATE,
            "You set a flag of the outer module, which dropout inside does not see: call "
            "model.train().",
            keeps=3,
        ),
        Wrong(
            "evaluation mode",
            STEP
            + "    model.eval()\n    optimizer.zero_grad()\n"
            + BACK
            + CLIP
            + UPDATE.replace("    return", "    model.train()\n    return"),
            "The model is in evaluation mode while it computes: call model.train() before, not "
            "after.",
            keeps=3,
        ),
        Wrong(
            "a step of one's own",
            STEP + FIT + BACK + CLIP + "    with torch.no_grad():\n"
            "        for p in model.parameters():\n"
            "            p -= optimizer.param_groups[0]['lr'] * p.grad\n"
            "    return loss.item()\n",
            "You do plain gradient descent yourself: leave the update to the optimizer, which may "
            "do it another way.",
            keeps=1,
        ),
        Wrong(
            "a tensor returned",
            STEP + FIT + BACK + CLIP + UPDATE.replace("loss.item()", "loss"),
            "You return the loss as a tensor, which keeps the whole graph alive: return "
            "loss.item().",
            keeps=3,
        ),
        Wrong(
            "pad taken to be 0",
            STEP
            + FIT
            + "    loss = sequence_loss(y, model(y[:, :-1]), 0)\n    loss.backward()\n"
            + CLIP
            + UPDATE,
            "Your loss takes 0 for the pad: its id is an argument.",
        ),
        Wrong(
            "two steps",
            STEP + FIT + BACK + CLIP + "    optimizer.step()\n" + UPDATE,
            "You call optimizer.step() twice for one batch: once is one step.",
        ),
        Wrong(
            "uphill",
            STEP + FIT + BACK.replace("loss.backward()", "(-loss).backward()") + CLIP + UPDATE,
            "You differentiate minus the loss, so that the step makes the loss larger.",
        ),
        Wrong(
            "backward twice",
            STEP
            + FIT
            + BACK.replace(
                "loss.backward()", "loss.backward(retain_graph=True)\n    loss.backward()"
            )
            + CLIP
            + UPDATE,
            "You call backward twice, and gradients add up: they are twice as long as they should "
            "be.",
            keeps=1,
        ),
        Wrong(
            "divided by the batch",
            STEP
            + FIT
            + BACK.replace("loss.backward()", "(loss / len(y)).backward()")
            + CLIP
            + UPDATE,
            "You divide the loss by the number of sentences before backward: it is a mean already.",
            keeps=1,
        ),
        Wrong(
            "clipped to 1",
            STEP + FIT + BACK + CLIP.replace("max_norm", "1.0") + UPDATE,
            "You clip to a length of 1, whatever max_norm says.",
        ),
        Wrong(
            "always as long as max_norm",
            STEP
            + FIT
            + BACK
            + "    n = sum((p.grad**2).sum() for p in model.parameters()) ** 0.5\n"
            "    for p in model.parameters():\n        p.grad *= max_norm / n\n" + UPDATE,
            "You make every gradient as long as max_norm, short ones too: clipping shortens those "
            "alone that are longer.",
            keeps=1,
        ),
    ),
    read=f"{PAGE}: A training step",
)

GREEDY = "def greedy_decode(step, state, batch, bos, eos, pad, max_len):\n"
LOOP = (
    "    tokens = torch.full((batch,), bos)\n"
    "    done = torch.zeros(batch, dtype=torch.bool)\n"
    "    words = []\n"
    "    for _ in range(max_len):\n"
    "        logits, state = step(tokens, state)\n"
    "        tokens = logits.argmax(-1)\n"
    "        tokens = tokens.masked_fill(done, pad)\n"
    "        words.append(tokens)\n"
    "        done = done | (tokens == eos)\n"
    "        if done.all():\n"
    "            break\n"
    "    return torch.stack(words, 1)\n"
)

Q8 = Question(
    id="q8",
    title="Greedy decoding",
    entry="greedy_decode",
    signature="greedy_decode(step, state, batch, bos, eos, pad, max_len)",
    draw=draw_decoder,
    oracle=decode,
    probe="""
def probe(greedy_decode, A, B, C, D, start, bos, eos, pad, max_len):
    calls, sizes = [0], set()

    def step(tokens, state):
        calls[0] += 1
        sizes.add(tuple(tokens.shape))
        if calls[0] > 50:
            raise RuntimeError("step was called more than 50 times: is there an end?")
        (s,) = state
        logits = A[tokens] + s @ B
        # What comes next depends on the words that were chosen.
        return logits, (torch.tanh(s @ C + D[logits.argmax(-1)]),)

    words = greedy_decode(step, (start.clone(),), len(start), bos, eos, pad, max_len)
    one = sizes == {(len(start),)}
    return {"the words": words, "step gets a token for each sentence": one, "calls of step": calls[0]}
""",
    stages=(
        Stage(
            "words",
            2,
            ("ordinary", *DECODER_IDS, "one sentence", "all at once", "any word"),
            "Start from bos; at each step take the largest logit of each sentence, feed it back with "
            "the new state, and put pads after a sentence's eos.",
            parts=("the words", "step gets a token for each sentence"),
        ),
        Stage(
            "when to stop",
            1,
            ("cut off", "one step", "other ids", "all at once"),
            "Return at most max_len words for each sentence, bos not counted, and call step no more "
            "once all sentences have ended.",
        ),
    ),
    right=(
        GREEDY + LOOP,
        GREEDY + "    out = torch.full((batch, max_len), pad, dtype=torch.long)\n"
        "    last, alive, t = torch.tensor([bos] * batch), torch.ones(batch).bool(), 0\n"
        "    while t < max_len and alive.any():\n"
        "        logits, state = step(last, state)\n"
        "        last = torch.where(alive, logits.max(-1).indices, pad)\n"
        "        out[:, t] = last\n"
        "        alive = alive & (last != eos)\n"
        "        t += 1\n"
        "    return out[:, :t]\n",
    ),
    wrong=(
        Wrong(
            "goes on after the end",
            GREEDY + LOOP.replace("        tokens = tokens.masked_fill(done, pad)\n", ""),
            "A finished sentence goes on getting words while others are not done: put pad there.",
        ),
        Wrong(
            "first end ends all",
            GREEDY + LOOP.replace("done.all()", "done.any()"),
            "You stop as soon as one sentence is done; the others are cut short.",
        ),
        Wrong(
            "bos in the result",
            GREEDY + LOOP.replace("words = []", "words = [tokens]"),
            "Your rows begin with bos: it is the first input, not a word of the result.",
        ),
        Wrong(
            "bos at every step",
            GREEDY + LOOP.replace("step(tokens, state)", "step(torch.full((batch,), bos), state)"),
            "You feed bos at every step: feed the words that were chosen.",
        ),
        Wrong(
            "state never moves",
            GREEDY + LOOP.replace("logits, state = step", "logits, _ = step"),
            "You throw the new state away: each step must go on from the state of the last.",
        ),
        Wrong(
            "one word too many",
            GREEDY + LOOP.replace("range(max_len)", "range(max_len + 1)"),
            "A sentence that never ends gets max_len + 1 words: bos does not count, but the rest does.",
            keeps=2,
        ),
        Wrong(
            "one word too few",
            GREEDY + LOOP.replace("range(max_len)", "range(max(1, max_len - 1))"),
            "A sentence that never ends gets max_len - 1 words: bos does not count.",
            keeps=2,
        ),
        Wrong(
            "end mark left out",
            GREEDY
            + LOOP.replace(
                "words.append(tokens)", "words.append(tokens.masked_fill(tokens == eos, pad))"
            ),
            "Your rows lack their eos: it is a word of the result, and the pads come after it.",
        ),
        Wrong(
            "always max_len",
            GREEDY + LOOP.replace("        if done.all():\n            break\n", ""),
            "You go on to max_len when all sentences are done: the result has columns of pads.",
        ),
        Wrong(
            "smallest logit",
            GREEDY + LOOP.replace("argmax", "argmin"),
            "You take the smallest logit: the best word has the largest.",
        ),
        Wrong(
            "never stops early",
            GREEDY
            + LOOP.replace("        if done.all():\n            break\n", "").replace(
                "    return torch.stack(words, 1)\n",
                "    out, ended = torch.stack(words, 1), torch.stack(words, 1) == eos\n"
                "    first = ended.int().argmax(1) + 1\n"
                "    return out[:, : int(first.where(ended.any(1), max_len).max())]\n",
            ),
            "Your words are right, but you call step up to max_len times when all sentences have "
            "ended long ago: leave the loop.",
            keeps=2,
        ),
        Wrong(
            "one step too many",
            GREEDY
            + LOOP.replace(
                "        logits, state",
                "        if done.all():\n            step(tokens, state)\n            break\n"
                "        logits, state",
            ).replace(
                "        done = done | (tokens == eos)\n        if done.all():\n            break\n",
                "        done = done | (tokens == eos)\n",
            ),
            "You call step once more when all sentences have ended: look before you call.",
            keeps=2,
        ),
        Wrong(
            "the given state not used",
            GREEDY
            + LOOP.replace("    words = []\n", "    words = []\n    state = (state[0] * 0,)\n"),
            "You begin with a state of zeros: begin with the one that is handed in, which has read "
            "the source.",
        ),
        Wrong(
            "one word for all",
            GREEDY + LOOP.replace("logits.argmax(-1)", "logits[:1].argmax(-1).expand(batch)"),
            "Every sentence gets the words of the first: take the largest logit of each row.",
        ),
        Wrong(
            "over the batch",
            GREEDY
            + LOOP.replace("logits.argmax(-1)", "logits.T[:batch].T.argmax(0) % logits.shape[-1]"),
            "You look for the largest logit along the batch, dim 0: each sentence has its own, over "
            "the words.",
        ),
        Wrong(
            "end marks for pads",
            GREEDY + LOOP.replace("masked_fill(done, pad)", "masked_fill(done, eos)"),
            "After a sentence's eos you write eos again and again: pad goes there.",
        ),
        Wrong(
            "pad taken to be 0",
            GREEDY + LOOP.replace("masked_fill(done, pad)", "masked_fill(done, 0)"),
            "You fill up with 0, which is a word or the end mark in some vocabularies: the pad's id "
            "is an argument.",
        ),
        Wrong(
            "end taken to be 2",
            GREEDY + LOOP.replace("tokens == eos", "tokens == 2"),
            "You take 2 for the end mark: its id is an argument.",
        ),
        Wrong(
            "start taken to be 1",
            GREEDY + LOOP.replace("(batch,), bos", "(batch,), 1"),
            "You begin with 1, whatever bos is: its id is an argument.",
        ),
        Wrong(
            "start mark ends",
            GREEDY
            + LOOP.replace("torch.zeros(batch, dtype=torch.bool)", "tokens == eos").replace(
                "torch.stack(words, 1)", "torch.stack(words, 1)"
            ),
            "Where bos and eos are one id, you take the start mark for the end: only words that were "
            "chosen can end a sentence.",
            keeps=1,
        ),
        Wrong(
            "steps by sentences",
            GREEDY + LOOP.replace("torch.stack(words, 1)", "torch.stack(words)"),
            "Your result is (T, batch): one row for each sentence is asked for, (batch, T).",
        ),
        Wrong(
            "a list of lists",
            GREEDY + LOOP.replace("torch.stack(words, 1)", "torch.stack(words, 1).tolist()"),
            "You return lists: return one tensor of whole numbers.",
        ),
        Wrong(
            "drawn by lot",
            GREEDY
            + LOOP.replace("logits.argmax(-1)", "torch.multinomial(logits.softmax(-1), 1)[:, 0]"),
            "You draw words by lot: greedy decoding takes the likeliest one each time.",
        ),
        Wrong(
            "one start for all",
            GREEDY + LOOP.replace("torch.full((batch,), bos)", "torch.tensor([bos])"),
            "You hand a single start mark to step: it takes one token for each sentence, (batch,).",
        ),
    ),
    read=f"{PAGE}: Greedy decoding",
)

MEASURE = (
    "def measure(queries, keys):\n"
    "    d = queries.shape[-1]\n"
    "    e = torch.einsum('nd,nsd->ns', queries, keys)\n"
    "    both = (e, e / d**0.5)\n"
    "    through = lambda e: (lambda a: (a - a**2).sum(-1).mean())(e.softmax(-1))\n"
)
TABLE = "    return {'variance': [x.var() for x in both], 'through': [through(x) for x in both]}\n"

Q9 = Question(
    id="q9",
    title="Measured: why scale?",
    entry="measure",
    signature="measure(queries, keys)",
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
    stages=(
        Stage(
            "variance",
            1,
            ("ordinary", "many", "square", "not centred"),
            "The mean square of the distance of all n · S scores from their one mean: plain, then "
            "divided by the root.",
            parts=("variance", "the arguments are left as they are"),
            tolerance=(1e-4, 0.01),
        ),
        Stage(
            "what the softmax lets through",
            2,
            ("ordinary", "many", "square", "large"),
            "The derivative of a weight by its own score is a (1 - a): add it up over the row, and "
            "take the mean over the rows.",
            parts=("through",),
            tolerance=(1e-4, 0.01),
        ),
    ),
    right=(
        MEASURE + TABLE,
        MEASURE + "    return {\n"
        "        'variance': torch.stack([x.var(correction=0) for x in both]),\n"
        "        'through': tuple(float(through(x)) for x in both),\n    }\n",
        "def measure(queries, keys):\n"
        "    e = (keys @ queries[:, :, None])[:, :, 0].numpy()\n"
        "    table = {'variance': [], 'through': []}\n"
        "    for x in (e, e / np.sqrt(queries.shape[1])):\n"
        "        a = torch.tensor(x).softmax(1)\n"
        "        table['variance'].append(x.var())\n"
        "        table['through'].append(1 - a.square().sum(1).mean().item())\n"
        "    return {name: np.array(row) for name, row in table.items()}\n",
    ),
    wrong=(
        Wrong(
            "standard deviations",
            MEASURE + TABLE.replace("x.var()", "x.std()"),
            "These are standard deviations, the square roots of what is asked for: variances.",
            keeps=2,
        ),
        Wrong(
            "mean squares",
            MEASURE + TABLE.replace("x.var()", "x.square().mean()"),
            "You average the squares without taking the mean away, which is a variance only where "
            "the mean is 0.",
            keeps=2,
        ),
        Wrong(
            "variance of each row",
            MEASURE + TABLE.replace("x.var()", "x.var(-1).mean()"),
            "You take the variance of each row about its own mean: there is one mean, of all scores.",
            keeps=2,
        ),
        Wrong(
            "divided by d",
            MEASURE.replace("d**0.5", "d") + TABLE,
            "You divide the scores by d; divide them by the square root of d.",
        ),
        Wrong(
            "scaled alone",
            MEASURE.replace("(e, e / d**0.5)", "(e / d**0.5, e / d**0.5)") + TABLE,
            "Your first number is of scaled scores, too: it is for the plain dot products.",
        ),
        Wrong(
            "order of the two",
            MEASURE.replace("(e, e / d**0.5)", "(e / d**0.5, e)") + TABLE,
            "Your two numbers are exchanged: plain scores first, scaled ones second.",
        ),
        Wrong(
            "every query with every row of keys",
            MEASURE.replace("'nd,nsd->ns', queries", "'md,nsd->mns', queries") + TABLE,
            "Every query meets the keys of every row: query i belongs to row i.",
        ),
        Wrong(
            "expected, not measured",
            MEASURE + TABLE.replace("[x.var() for x in both]", "[float(d), 1.0]"),
            "These are the variances that theory expects; return those of the scores that you have.",
            keeps=2,
        ),
        Wrong(
            "mean over the words",
            MEASURE.replace(".sum(-1).mean()", ".mean()") + TABLE,
            "You average the derivatives over the words of a row: add them up, and average over rows.",
            keeps=1,
        ),
        Wrong(
            "sum over the rows",
            MEASURE.replace(".sum(-1).mean()", ".sum()") + TABLE,
            "You add up over the rows as well: take the mean over them.",
            keeps=1,
        ),
        Wrong(
            "sum of all derivatives",
            MEASURE.replace("(a - a**2).sum(-1)", "(a - a * a.sum(-1, keepdim=True)).sum(-1)")
            + TABLE,
            "You add up the derivatives by all scores of the row, which is 0 always: each weight by "
            "its own score.",
            keeps=1,
        ),
        Wrong(
            "sum of the squares",
            MEASURE.replace("(a - a**2)", "(a**2)") + TABLE,
            "You add up the squares of the weights, which is what the softmax does not let through: "
            "one minus that.",
            keeps=1,
        ),
        Wrong(
            "softmax over the queries",
            MEASURE.replace("e.softmax(-1)", "e.softmax(0)") + TABLE,
            "Your softmax runs over the queries, dim 0: each row of S scores has weights of its own.",
            keeps=1,
        ),
        Wrong(
            "the largest weight",
            MEASURE.replace("(a - a**2).sum(-1)", "a.amax(-1)") + TABLE,
            "You return the mean of the largest weight: the sum of the derivatives is asked for.",
            keeps=1,
        ),
        Wrong(
            "derivative of the largest weight alone",
            MEASURE.replace("(a - a**2).sum(-1)", "(a - a**2).amax(-1)") + TABLE,
            "You take the largest derivative of each row: add up those of all its weights.",
            keeps=1,
        ),
        Wrong(
            "two numbers without a name",
            MEASURE
            + TABLE.replace("return {'variance': ", "return (")
            .replace(", 'through': ", ", ")
            .replace("]}", "])"),
            "You return two lists: return a dict with the entries variance and through.",
        ),
        Wrong(
            "scaled in place",
            MEASURE.replace(
                "(e, e / d**0.5)", "(e, torch.einsum('nd,nsd->ns', queries.div_(d**0.5), keys))"
            )
            + TABLE,
            "You scale the queries in place: whoever measures them next finds other numbers.",
            keeps=2,
        ),
    ),
    read="chapters/02_soft_addressing: How a score moves the weights",
)

LINE = "def right_power(sizes, variances):\n    x, y = np.log(sizes), np.log(variances)\n"

Q10 = Question(
    id="q10",
    title="What follows: which power?",
    entry="right_power",
    signature="right_power(sizes, variances)",
    draw=draw_table,
    oracle=right_power,
    probe=number_probe.replace(
        "def probe(answer):", "def probe(answer, sizes, variances):"
    ).replace("return plain(answer)", "return plain(answer(sizes, variances))"),
    stages=(
        Stage(
            "the power",
            2,
            ("four sizes", "powers of two", "two sizes", "in any order", "falling"),
            "Fit a straight line through ln var over ln d by least squares: its slope is b, and "
            "scores divided by d^p have a variance divided by d^(2p).",
            tolerance=(2e-3, 1e-3),
        ),
    ),
    right=(
        LINE + "    return np.polyfit(x, y, 1)[0] / 2\n",
        LINE + "    x, y = x - x.mean(), y - y.mean()\n    return float(x @ y / (x @ x)) / 2\n",
        "def right_power(sizes, variances):\n"
        "    x = torch.tensor(sizes, dtype=torch.float64).log()\n"
        "    y = torch.tensor(variances, dtype=torch.float64).log()\n"
        "    A = torch.stack([x, torch.ones_like(x)], 1)\n"
        "    return torch.linalg.lstsq(A, y[:, None]).solution[0, 0] / 2\n",
        "def right_power(sizes, variances):\n"
        "    x, y = np.log2(sizes), np.log2(np.sqrt(variances))\n"
        "    return np.cov(x, y)[0, 1] / np.var(x, ddof=1)\n",
    ),
    wrong=(
        Wrong(
            "the exponent of the variance",
            LINE + "    return np.polyfit(x, y, 1)[0]\n",
            "You return b, by which the variance grows: dividing scores by d^p divides their "
            "variance by d^(2p).",
        ),
        Wrong(
            "what theory says",
            LINE + "    return 0.5\n",
            "You return what holds for independent entries, whatever the table says: fit the line.",
        ),
        Wrong(
            "no logarithms",
            LINE + "    return np.polyfit(sizes, variances, 1)[0] / 2\n",
            "You fit a line through the numbers themselves: a power is a straight line between "
            "logarithms.",
        ),
        Wrong(
            "one logarithm",
            LINE + "    return np.polyfit(sizes, y, 1)[0] / 2\n",
            "You take the logarithm of the variances alone, which fits an exponential: sizes need "
            "one, too.",
        ),
        Wrong(
            "logarithm of the sizes alone",
            LINE + "    return np.polyfit(x, variances, 1)[0] / 2\n",
            "You take the logarithm of the sizes alone: the variances need one, too.",
        ),
        Wrong(
            "intercept",
            LINE + "    return np.polyfit(x, y, 1)[1] / 2\n",
            "You return half the height of the line at ln d = 0, which is ln c: the slope is asked "
            "for.",
        ),
        Wrong(
            "axes exchanged",
            LINE + "    return np.polyfit(y, x, 1)[0] / 2\n",
            "You fit ln d over ln var: the variance stands on the other axis, and the size below.",
        ),
        Wrong(
            "through the origin",
            LINE + "    return (x @ y) / (x @ x) / 2\n",
            "Your line is made to pass through the origin, as if c were 1: let it have a height.",
        ),
        Wrong(
            "first and last alone",
            LINE + "    return (y[-1] - y[0]) / (x[-1] - x[0]) / 2\n",
            "You look at the first and the last size alone: least squares uses all of them.",
        ),
        Wrong(
            "mean of the slopes",
            LINE + "    return float(np.mean(np.diff(y) / np.diff(x))) / 2\n",
            "You average the slopes from point to point: least squares fits one line to all points.",
        ),
        Wrong(
            "twice instead of half",
            LINE + "    return np.polyfit(x, y, 1)[0] * 2\n",
            "You double the exponent: a variance is a square, so the power is half of it.",
        ),
        Wrong(
            "root of the exponent",
            LINE + "    return abs(np.polyfit(x, y, 1)[0]) ** 0.5\n",
            "You take the square root of the exponent: the root of d to the b is d to half of b.",
        ),
        Wrong(
            "sign",
            LINE + "    return -np.polyfit(x, y, 1)[0] / 2\n",
            "Your sign is turned round: a variance that grows asks for a positive power, one that "
            "falls for a negative one.",
        ),
    ),
    read=f"{PAGE}: What follows: which power?",
)

EXERCISE = Exercise(
    "04_luong", "Luong's scores, and training", (Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9, Q10)
)
