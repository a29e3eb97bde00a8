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
    table_probe,
)

# Where a question is explained, until a chapter does.
PAGE = "exercises/04_luong"

# --- Oracles ---------------------------------------------------------------------------------------


def dot(query, keys):
    return np.array([[sum(s * h) for h in sentence] for s, sentence in zip(query, keys)])


def general(query, keys, W):
    return np.array([[s @ W @ h for h in sentence] for s, sentence in zip(query, keys)])


def concat(query, keys, W, v):
    return np.array(
        [[v @ np.tanh(W @ np.r_[s, h]) for h in sentence] for s, sentence in zip(query, keys)]
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


RATE = 0.5


def two_updates(E, W, y, pad, max_norm):
    """Two steps of gradient descent on logits = E[token] W^T, gradients written out."""
    E, W = E.copy(), W.copy()
    found = {}
    for step in ("first", "second"):
        g_E, g_W, count, total = np.zeros_like(E), np.zeros_like(W), 0, 0.0
        for sentence in y:
            for token, target in pairwise(sentence):
                if target == pad:
                    continue
                p = softmax_rows(W @ E[token])
                total -= np.log(p[target])
                count += 1
                p[target] -= 1
                g_E[token] += W.T @ p
                g_W += np.outer(p, E[token])
        norm = np.sqrt((g_E**2).sum() + (g_W**2).sum()) / count
        factor = min(1.0, max_norm / (norm + 1e-6)) / count
        E, W = E - RATE * factor * g_E, W - RATE * factor * g_W
        found |= {f"{step} loss": total / count, f"embedding after the {step} step": E}
        found[f"projection after the {step} step"] = W
    return {**found, "training mode": True}


def decode(A, B, C, D, start, bos, eos, pad, max_len):
    rows = []
    for s in start:
        token, words = bos, []
        while len(words) < max_len and token != eos:
            token = int(np.argmax(A[token] + s @ B))
            s = np.tanh(s @ C + D[token])
            words.append(token)
        rows.append(words)
    longest = max(map(len, rows))
    return np.array([row + [pad] * (longest - len(row)) for row in rows])


DIMENSIONS = (4, 16, 64, 256)


def variances(arrays):
    table = {}
    for d in DIMENSIONS:
        scores = (arrays[f"queries_{d}"] * arrays[f"keys_{d}"]).sum(1)
        table[str(d)] = (float(scores.var()), float((scores / d**0.5).var()))
    return table


def inspect_draws(arrays):
    for d in DIMENSIONS:
        for name in (f"queries_{d}", f"keys_{d}"):
            x = arrays.get(name)
            if x is None:
                return f"it holds no array called {name}"
            if x.ndim != 2 or x.shape[1] != d or len(x) < 1000:
                return f"{name} has shape {x.shape}; expected at least 1000 rows of {d} numbers"
            if len(x) > 20_000:
                return f"{name} has {len(x)} rows: 20000 are enough"
            if not (abs(x.mean()) < 0.1 and 0.9 < x.std() < 1.1):
                return f"the numbers in {name} should have mean 0 and variance 1"
            if len(np.unique(x, axis=0)) < len(x):
                return f"rows of {name} occur more than once: draw each afresh"
        if len(arrays[f"queries_{d}"]) != len(arrays[f"keys_{d}"]):
            return f"queries_{d} and keys_{d} must have as many rows as each other"
        if np.allclose(arrays[f"queries_{d}"], arrays[f"keys_{d}"]):
            return f"queries_{d} and keys_{d} are the same numbers: draw them independently"
    return ""


# --- Cases -----------------------------------------------------------------------------------------

SIZES = {  # B, T, S, d_q, d_k, d_a
    "ordinary": (2, 3, 5, 4, 6, 7),
    "other sizes": (5, 2, 3, 5, 2, 3),
    "all sizes equal": (3, 3, 3, 3, 3, 3),
    "one word": (2, 3, 1, 4, 3, 5),
    "one sentence": (1, 1, 4, 2, 3, 5),
    "padded": (3, 2, 5, 4, 3, 2),
    "large": (2, 3, 4, 5, 7, 2),
}
SHAPES = ("ordinary", "other sizes", "all sizes equal", "one word", "one sentence")


def draw_dot(rng, kind):
    B, _, S, d, *_ = SIZES[kind]
    return normal(rng, B, d), normal(rng, B, S, d)


def draw_general(rng, kind):
    B, _, S, d_q, d_k, _ = SIZES[kind]
    return normal(rng, B, d_q), normal(rng, B, S, d_k), normal(rng, d_q, d_k)


def draw_concat(rng, kind):
    B, _, S, d_q, d_k, d_a = SIZES[kind]
    query, keys = normal(rng, B, d_q), normal(rng, B, S, d_k)
    return query, keys, normal(rng, d_a, d_q + d_k), normal(rng, d_a)


def draw_scaled(rng, kind):
    B, T, S, d, d_v, _ = SIZES[kind]
    d_v = d if kind == "all sizes equal" else d_v
    scale = 40.0 if kind == "large" else 1.0
    return normal(rng, B, T, d, scale=scale), normal(rng, B, S, d), normal(rng, B, S, d_v)


def draw_luong(rng, kind):
    query, keys, W = draw_general(rng, kind)
    mask = padding(rng, *keys.shape[:2]) if kind == "padded" else np.ones(keys.shape[:2], bool)
    keys[~mask] = normal(rng, int((~mask).sum()), keys.shape[-1], scale=30.0)
    return W.shape, {"W": W}, (query, keys, mask)


PAD, BOS, EOS = 0, 1, 2


def draw_loss(rng, kind):
    words = 3 if kind == "square" else 7
    B, T = (3, 4) if kind == "square" else (2, 5) if kind == "full" else (3, 6)
    y = rng.integers(3, 3 + words - 3, size=(B, T)) if words > 3 else np.ones((B, T), np.int64)
    y[:, 0] = BOS
    y[:, -1] = EOS
    if kind != "full":
        for b, length in enumerate(rng.permutation(np.arange(B) + T - B + 1)):
            y[b, length - 1], y[b, length:] = EOS, PAD
    return y.astype(np.int64), normal(rng, B, T - 1, words, scale=2.0), PAD


def draw_updates(rng, kind):
    words, d = 6, 3
    y = rng.integers(3, words, size=(3, 6))
    y[:, 0], y[:, -1] = BOS, EOS
    for b, length in enumerate((6, 5, 3)):
        y[b, length - 1], y[b, length:] = EOS, PAD
    max_norm = {"gentle": 100.0, "clipped": 0.1}[kind]
    scale = 1.0 if kind == "gentle" else 2.0
    return normal(rng, words, d, scale=scale), normal(rng, words, d, scale=scale), y, PAD, max_norm


def draw_decoder(rng, kind):
    """Draw a decoder whose sentences end at different steps, and none at a close call."""
    B = 1 if kind == "one sentence" else 4
    d = 3
    # Where 0 is a word like any other, a pad is something else.
    pad, bos, eos = (0, 1, 2) if kind != "other ids" else (6, 4, 5)
    max_len = 1 if kind == "one step" else 8 if kind != "cut off" else 3
    while True:
        A, B_, C, D = (normal(rng, *s, scale=1.5) for s in ((7, 7), (3, 7), (3, 3), (7, 3)))
        A[:, [pad, bos]] -= 50.0
        if kind in ("cut off", "one step"):
            A[:, eos] -= 50.0
        start = normal(rng, B, d, scale=2.0)
        case = (A, B_, C, D, start, bos, eos, pad, max_len)
        ids = decode(*[x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in case])
        lengths = {int((row != pad).sum()) for row in ids}
        if kind in ("one sentence", "one step", "cut off"):
            good = kind != "one sentence" or 3 <= max(lengths) < max_len
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
    names = [(f"{name}_{d}", d) for d in DIMENSIONS for name in ("queries", "keys")]
    return ({name: normal(rng, 1500, d) for name, d in names},)


# --- Questions -------------------------------------------------------------------------------------

GRADIENTS = Stage(
    "gradients",
    1,
    ("ordinary",),
    "The scores are right but their gradients are not: no detach, no .data, no NumPy on the way, "
    "and every argument must take part.",
    gradients=True,
)
DOT = "def dot_score(query, keys):\n"

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
            SHAPES,
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
            SHAPES,
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
    ),
    read=f"{PAGE}: The general score",
)

CONCAT = "def concat_score(query, keys, W, v):\n"
BOTH = "    both = torch.cat([query[:, None].expand(-1, keys.shape[1], -1), keys], -1)\n"

Q3 = Question(
    id="q3",
    title="The concat score",
    entry="concat_score",
    signature="concat_score(query, keys, W, v)",
    draw=draw_concat,
    oracle=concat,
    stages=(
        Stage(
            "the formula",
            2,
            SHAPES,
            "Join query and key, query first; multiply by W; one tanh; then the product with v.",
        ),
        GRADIENTS,
    ),
    right=(
        CONCAT + BOTH + "    return torch.tanh(both @ W.T) @ v\n",
        CONCAT + "    d = query.shape[1]\n"
        "    return torch.tanh((query @ W[:, :d].T)[:, None] + keys @ W[:, d:].T) @ v\n",
        CONCAT + "    q = query.unsqueeze(1).repeat(1, keys.size(1), 1)\n"
        "    return F.linear(torch.cat((q, keys), dim=2), W).tanh().matmul(v)\n",
    ),
    wrong=(
        Wrong(
            "key first",
            CONCAT
            + BOTH.replace(
                "[query[:, None].expand(-1, keys.shape[1], -1), keys]",
                "[keys, query[:, None].expand(-1, keys.shape[1], -1)]",
            )
            + "    return torch.tanh(both @ W.T) @ v\n",
            "You join key and query in this order: the query comes first, and the first d_q columns "
            "of W are for it.",
        ),
        Wrong(
            "rows mixed up",
            CONCAT + "    q = query.repeat(keys.shape[1], 1).view(len(query), keys.shape[1], -1)\n"
            "    return torch.tanh(torch.cat([q, keys], -1) @ W.T) @ v\n",
            "Queries of other sentences get in: repeat followed by view puts rows in the wrong "
            "places. Use query[:, None].expand.",
        ),
        Wrong(
            "tanh last",
            CONCAT + BOTH + "    return torch.tanh(both @ W.T @ v)\n",
            "tanh comes last in your line; it belongs before the product with v. Your scores never "
            "leave the range from -1 to 1.",
        ),
        Wrong(
            "no tanh",
            CONCAT + BOTH + "    return both @ W.T @ v\n",
            "There is no tanh: the query then moves all scores by the same amount.",
        ),
        Wrong(
            "weights instead of scores",
            CONCAT + BOTH + "    return (torch.tanh(both @ W.T) @ v).softmax(-1)\n",
            "Your rows sum to 1: these are weights. Return the scores, before any softmax.",
        ),
        Wrong(
            "another nonlinearity",
            CONCAT + BOTH + "    return torch.relu(both @ W.T) @ v\n",
            "The hidden layer uses relu; the formula has tanh.",
        ),
        Wrong(
            "query left out",
            CONCAT + "    return torch.tanh(keys @ W[:, query.shape[1]:].T) @ v\n",
            "Your scores do not depend on the query: it must be joined to every key.",
        ),
        Wrong(
            "v detached",
            CONCAT + BOTH + "    return torch.tanh(both @ W.T) @ v.detach()\n",
            "The values are right, but v gets no gradient: it is detached.",
            keeps=2,
        ),
    ),
    read=f"{PAGE}: The concat score",
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
        Stage("extreme scores", 1, ("large",), "Large scores must give neither NaN nor infinity."),
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
            ("ordinary",),
            "named_parameters() must list W with shape (d_query, d_key), made once in __init__, and "
            "nothing else.",
            parts=MODULE_PARTS,
        ),
        Stage(
            "context and weights",
            1,
            ("ordinary", "all sizes equal", "padded"),
            "With W set to known numbers, forward does not compute the attention of these numbers.",
            parts=("context", "weights"),
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "padded"),
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
            ("padded", "full", "square"),
            "Row t of the logits predicts token t + 1; average the cross-entropy over all targets "
            "of the batch that are not pads, in one mean.",
        ),
        Stage(
            "gradients",
            1,
            ("padded",),
            "The loss is right but its gradient by the logits is not.",
            gradients=True,
        ),
    ),
    right=(
        LOSS
        + "    return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)\n",
        LOSS + "    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)\n",
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
            LOSS + "    targets = y[:, 1:].masked_fill(y[:, 1:] == 2, pad)\n"
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
class Tiny(nn.Module):
    def __init__(self, E, W):
        super().__init__()
        self.E, self.W = nn.Parameter(E.clone()), nn.Parameter(W.clone())

    def forward(self, tokens):
        return self.E[tokens] @ self.W.T

# torch.optim would load its compiler, which wants to write caches.
class Descent:
    def __init__(self, parameters):
        self.parameters, self.steps = list(parameters), 0
        self.param_groups = [{{"params": self.parameters, "lr": {RATE}}}]

    def zero_grad(self, set_to_none=True):
        for p in self.parameters:
            p.grad = None if set_to_none or p.grad is None else torch.zeros_like(p)

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for p in self.parameters:
            if p.grad is not None:
                p -= {RATE} * p.grad

def probe(train_step, E, W, y, pad, max_norm):
    model = Tiny(E, W)
    optimizer = Descent(model.parameters())
    # What an earlier batch may have left behind.
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    model.eval()
    found = {{}}
    for step in ("first", "second"):
        loss = train_step(model, optimizer, y, pad, max_norm)
        found[f"{{step}} loss"] = loss
        found[f"embedding after the {{step}} step"] = model.E.detach().clone()
        found[f"projection after the {{step}} step"] = model.W.detach().clone()
    # The last two earn nothing; they tell mistakes apart.
    left = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    return found | {{"training mode": model.training, "steps": optimizer.steps, "left": left}}
""",
    stages=(
        Stage(
            "the update",
            2,
            ("gentle",),
            "After your step the parameters are not where gradient descent on this batch alone puts "
            "them: zero_grad, forward, loss, backward, step, in this order.",
            parts=(
                "embedding after the first step",
                "projection after the first step",
                "embedding after the second step",
                "projection after the second step",
            ),
        ),
        Stage(
            "what it says, and the mode",
            1,
            ("gentle",),
            "Return the loss before the update as a plain number, and put the model into training "
            "mode first.",
            parts=("first loss", "second loss", "training mode"),
            tolerance=(1e-4, 1e-3),
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
            "The model stays in evaluation mode, so dropout would do nothing: call model.train().",
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
    calls = [0]

    def step(tokens, state):
        calls[0] += 1
        if calls[0] > 50:
            raise RuntimeError("step was called more than 50 times: is there an end?")
        logits = A[tokens] + state @ B
        # What comes next depends on the words that were chosen.
        return logits, torch.tanh(state @ C + D[logits.argmax(-1)])

    return greedy_decode(step, start.clone(), len(start), bos, eos, pad, max_len)
""",
    stages=(
        Stage(
            "words",
            2,
            ("ordinary", "other ids", "one sentence"),
            "Start from bos; at each step take the largest logit of each sentence, feed it back with "
            "the new state, and put pads after a sentence's eos.",
        ),
        Stage(
            "when to stop",
            1,
            ("cut off", "one step"),
            "Return at most max_len words for each sentence, bos not counted.",
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
            keeps=1,
        ),
        Wrong(
            "first end ends all",
            GREEDY + LOOP.replace("done.all()", "done.any()"),
            "You stop as soon as one sentence is done; the others are cut short.",
            keeps=1,
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
            keeps=1,
        ),
        Wrong(
            "always max_len",
            GREEDY + LOOP.replace("        if done.all():\n            break\n", ""),
            "You go on to max_len when all sentences are done: the result has columns of pads.",
            keeps=1,
        ),
        Wrong(
            "smallest logit",
            GREEDY + LOOP.replace("argmax", "argmin"),
            "You take the smallest logit: the best word has the largest.",
        ),
    ),
    read=f"{PAGE}: Greedy decoding",
)

ALL = "def variances(evidence):\n    table = {}\n    for d in (4, 16, 64, 256):\n        q, k = evidence[f'queries_{d}'], evidence[f'keys_{d}']\n"
SCORES = "        scores = (q * k).sum(1)\n"

Q9 = Question(
    id="q9",
    title="Measured: why scale?",
    entry="variances",
    signature="variances = {4: (unscaled, scaled), 16: ..., 64: ..., 256: ...}",
    draw=draw_draws,
    oracle=variances,
    evidence="scaling.npz",
    inspect=inspect_draws,
    probe=table_probe,
    stages=(
        Stage(
            "the table",
            2,
            ("measured",),
            "From the draws in your file other variances come out than those in your table: one "
            "score for each pair of rows, then the variance over the pairs.",
            tolerance=(0.011, 0.01),
        ),
    ),
    right=(
        ALL
        + SCORES
        + "        table[d] = (scores.var().item(), (scores / d ** 0.5).var().item())\n"
        "    return table\nvariances_of = variances\n",
        ALL + SCORES + "        v = scores.var(correction=0)\n"
        "        table[d] = [round(float(v), 2), round(float(v / d), 2)]\n    return table\n",
    ),
    wrong=(
        Wrong(
            "standard deviations",
            ALL + SCORES + "        table[d] = (scores.std(), (scores / d ** 0.5).std())\n"
            "    return table\n",
            "These are standard deviations, the square roots of what is asked for: variances.",
        ),
        Wrong(
            "scaled column alone",
            ALL + SCORES + "        s = scores / d ** 0.5\n        table[d] = (s.var(), s.var())\n"
            "    return table\n",
            "Your first column is scaled, too: it must hold the variance of the plain dot products.",
        ),
        Wrong(
            "divided by d",
            ALL
            + SCORES
            + "        table[d] = (scores.var(), (scores / d).var())\n    return table\n",
            "Your second column divides the scores by d; divide them by the square root of d.",
        ),
        Wrong(
            "columns exchanged",
            ALL + SCORES + "        table[d] = ((scores / d ** 0.5).var(), scores.var())\n"
            "    return table\n",
            "Your columns are exchanged: unscaled first, scaled second.",
        ),
        Wrong(
            "expected, not measured",
            ALL + "        table[d] = (float(d), 1.0)\n    return table\n",
            "These are the numbers that theory expects; write what you measured.",
        ),
        Wrong(
            "every query with every key",
            ALL + "        scores = q @ k.T\n"
            "        table[d] = (scores.var(), (scores / d ** 0.5).var())\n    return table\n",
            "You compare every query with every key; row i of the queries belongs to row i of the "
            "keys.",
        ),
    ),
    read=f"{PAGE}: Measured: why scale?",
)

EXERCISE = Exercise(
    "04_luong", "Luong's scores, and training", (Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9)
)
