"""How the exercise on softmax, temperature and masks is graded: oracles, cases, known mistakes."""

import numpy as np

from seqattn.grading.bank import Exercise, Question, Stage, Wrong
from seqattn.grading.drawing import normal, padding, softmax_rows
from seqattn.grading.kinds import number_probe

CHAPTER = "chapters/02_soft_addressing"

# --- Oracles ---------------------------------------------------------------------------------------


def softmax(scores, temperature):
    return softmax_rows(scores / temperature)


def may_look(lengths, causal):
    words = max(lengths)
    mask = np.zeros((len(lengths), words, words), bool)
    for b, t, i in np.ndindex(*mask.shape):
        mask[b, t, i] = i < lengths[b] and (i <= t or not causal)
    return mask


def pooled(states, w, mask):
    mixed = []
    for sentence, real in zip(states, mask):
        words = [h for h, m in zip(sentence, real) if m]
        weights = softmax_rows(np.array([[h @ w for h in words]]))[0]
        mixed.append(sum(a * h for a, h in zip(weights, words)))
    return np.array(mixed)


def dropped(weights, p, training, coins):
    if not training:
        return weights
    return np.where(coins >= p, weights, 0.0) / (1 - p)


# --- Cases -----------------------------------------------------------------------------------------

SIZES = {  # B, T, S, d
    "ordinary": (2, 3, 5, 4),
    "other sizes": (5, 2, 3, 7),
    "all sizes equal": (3, 3, 3, 3),
    "one word": (2, 3, 1, 4),
    "one sentence": (1, 2, 4, 3),
    "padded": (3, 2, 5, 4),
    "nothing to attend": (3, 2, 4, 5),
    "large": (2, 3, 4, 3),
    "cold": (2, 3, 5, 3),
    "hot": (2, 3, 5, 3),
    "very cold": (3, 2, 4, 3),
    "one far above": (3, 2, 4, 3),
    "very hot": (3, 2, 4, 3),
    "one number for a word": (2, 3, 4, 1),
}
# Powers of two where scores are large: dividing first loses nothing then.
TEMPERATURES = {"cold": 0.25, "hot": 4.0, "very cold": 0.01, "very hot": 1000.0, "large": 0.5}


def temperature_of(rng, kind):
    # Never 1: a temperature that is forgotten must show.
    return TEMPERATURES.get(kind, float(np.float32(rng.choice([0.5, 0.7, 1.5, 2.0]))))


def draw_softmax(rng, kind):
    B, _, S, _ = SIZES[kind]
    scores = normal(rng, B, S, scale=1.5 * {"very cold": 0.02, "very hot": 1000.0}.get(kind, 1.0))
    if kind == "one far above":
        scores[:, -1] += np.float32(200.0)
    if kind == "large":
        scores = np.round(8 * scores) / 8
        scores += rng.choice([-1500.0, 1500.0], size=(B, 1)).astype(np.float32)
        # One far above the others: their mean, or the smallest, is no help against overflow.
        scores[1:, 0] += np.float32(1000.0)
    return scores, temperature_of(rng, kind)


LENGTHS = {  # B, the longest sentence
    "every position": (3, 5),
    "every position, one sentence": (1, 4),
    "causal": (3, 5),
    "causal, as many sentences as words": (4, 4),
    "causal, one sentence": (1, 5),
    "causal, one word": (2, 1),
    "causal, an empty sentence": (4, 3),
}


def draw_lengths(rng, kind):
    B, longest = LENGTHS[kind]
    lengths = rng.integers(1, longest + 1, size=B)
    lengths[0] = longest
    if B > 1 and longest > 2:
        lengths[1] = longest - 2
    if kind == "causal, an empty sentence":
        lengths[-1] = 0
    return rng.permutation(lengths), kind.startswith("causal")


def draw_pool(rng, kind):
    B, _, S, d = SIZES[kind]
    states, mask, w = normal(rng, B, S, d), padding(rng, B, S), normal(rng, d)
    # What stands in the padding must not matter.
    states[~mask] = normal(rng, int((~mask).sum()), d, scale=30.0)
    if kind == "large":
        # Scores far below any number that might stand for minus infinity.
        # They are sums without rounding, so that any order of summing gives the same.
        w[:], w[0] = 0.0, 1.0
        states[mask, 0] = np.round(8 * states[mask, 0]) / 8 - 12_000
    return states, w, mask


def draw_dropout(rng, kind):
    B, _, S, _ = SIZES.get(kind, SIZES["ordinary"])
    weights = softmax_rows(rng.normal(size=(B, S))).astype(np.float32)
    coins = rng.random((B, S)).astype(np.float32)
    p = 0.0 if kind == "no dropout" else float(np.float32(rng.choice([0.2, 0.3, 0.6])))
    # Of each row some are dropped and some are kept.
    coins[:, 0], coins[:, 1:2] = 0.999, p / 2
    # One a little below p goes, and one of exactly p stays (where no gradient is asked for).
    coins[:, 3:4] = p - 3e-5
    if kind == "other sizes":
        coins[:, 2] = p
    return weights, p, kind != "evaluating", coins


# --- Questions -------------------------------------------------------------------------------------

SOFT = "def softmax(scores, temperature):\n"

Q1 = Question(
    id="q1",
    title="Softmax with a temperature",
    entry="softmax",
    signature="softmax(scores, temperature)",
    draw=draw_softmax,
    oracle=softmax,
    stages=(
        Stage(
            "the formula",
            2,
            ("ordinary", "other sizes", "all sizes equal", "one word", "cold", "hot", "very cold"),
            "exp of score over temperature, divided by the row's sum of these: is the division by "
            "the temperature inside exp, and is the sum over the last axis?",
        ),
        Stage(
            "extreme scores",
            1,
            ("large", "very hot"),
            "Scores of several thousand overflow or vanish in exp: subtract the row's largest first, "
            "and divide by the temperature before exp.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "one far above"),
            "The weights are right but the gradients of the scores are not: no detach, no .data, no "
            "NumPy on the way.",
            gradients=True,
        ),
    ),
    forbidden=("softmax", "log_softmax", "Softmax", "LogSoftmax", "softmin"),
    right=(
        SOFT + "    z = scores / temperature\n"
        "    raised = (z - z.amax(-1, keepdim=True)).exp()\n"
        "    return raised / raised.sum(-1, keepdim=True)\n",
        SOFT + "    z = scores / temperature\n"
        "    return torch.exp(z - torch.logsumexp(z, dim=-1, keepdim=True))\n",
        "def softmax(s, tau):\n"
        "    rows = []\n"
        "    for row in s:\n"
        "        e = torch.exp((row - row.max()) / tau)\n"
        "        rows.append(e / e.sum())\n"
        "    return torch.stack(rows)\n",
    ),
    wrong=(
        Wrong(
            "temperature ignored",
            SOFT + "    e = (scores - scores.amax(-1, keepdim=True)).exp()\n"
            "    return e / e.sum(-1, keepdim=True)\n",
            "The temperature makes no difference in yours: it is not used, or it divides after exp, above "
            "and below alike, and cancels. Divide the scores before exp.",
        ),
        Wrong(
            "times temperature",
            SOFT + "    z = scores * temperature\n"
            "    e = (z - z.amax(-1, keepdim=True)).exp()\n"
            "    return e / e.sum(-1, keepdim=True)\n",
            "You multiply by the temperature, so that a high one sharpens; divide, and it flattens.",
        ),
        Wrong(
            "temperature after softmax",
            SOFT + "    e = (scores - scores.amax(-1, keepdim=True)).exp()\n"
            "    return e / e.sum(-1, keepdim=True) / temperature\n",
            "You divide the weights by the temperature and the rows no longer sum to 1: divide the "
            "scores, inside exp.",
        ),
        Wrong(
            "square root of temperature",
            SOFT + "    z = scores / temperature ** 0.5\n"
            "    e = (z - z.amax(-1, keepdim=True)).exp()\n"
            "    return e / e.sum(-1, keepdim=True)\n",
            "You divide by the square root of the temperature; divide by the temperature itself. "
            "The root belongs to the size d of scaled dot products.",
        ),
        Wrong(
            "a root of the finished weights",
            SOFT + "    p = torch.exp(scores - scores.logsumexp(-1, keepdim=True)) ** "
            "(1 / temperature)\n"
            "    return p / p.sum(-1, keepdim=True)\n",
            "You take the softmax first and its root afterwards: what has become 0 by then stays 0. "
            "Divide the scores before exp.",
            keeps=0,
        ),
        Wrong(
            "coldest temperature fixed",
            SOFT + "    z = scores / max(temperature, 0.1)\n"
            "    e = (z - z.amax(-1, keepdim=True)).exp()\n"
            "    return e / e.sum(-1, keepdim=True)\n",
            "You keep the temperature from falling below some number: every temperature above 0 is "
            "allowed.",
            keeps=1,
        ),
        Wrong(
            "not stable",
            SOFT + "    e = (scores / temperature).exp()\n    return e / e.sum(-1, keepdim=True)\n",
            "exp of several thousand is infinite and of minus several thousand 0, and their ratio "
            "NaN: subtract the row's largest score first, which changes no weight.",
            keeps=2,
        ),
        Wrong(
            "over the batch",
            SOFT + "    z = scores / temperature\n"
            "    e = (z - z.amax(0, keepdim=True)).exp()\n"
            "    return e / e.sum(0, keepdim=True)\n",
            "Your columns sum to 1 instead of your rows: sum over the last axis, the words.",
        ),
        Wrong(
            "one sum for all rows",
            SOFT + "    z = scores / temperature\n"
            "    e = (z - z.amax(-1, keepdim=True)).exp()\n"
            "    return e / e.sum()\n",
            "You divide by the sum over the whole batch: each row has a sum of its own.",
        ),
        Wrong(
            "logarithms",
            SOFT + "    z = scores / temperature\n"
            "    return z - torch.logsumexp(z, -1, keepdim=True)\n",
            "These are the logarithms of the weights: all are negative. Take exp of them.",
        ),
        Wrong(
            "no exponential",
            SOFT + "    z = scores / temperature\n    return z / z.sum(-1, keepdim=True)\n",
            "You divide scores by their sum: weights can be negative so. Raise e to them first.",
        ),
        Wrong(
            "detached",
            SOFT + "    z = scores / temperature\n"
            "    e = (z - z.amax(-1, keepdim=True)).exp()\n"
            "    return (e / e.sum(-1, keepdim=True)).detach()\n",
            "The values are right, but no gradient reaches the scores: something is detached.",
            keeps=3,
        ),
    ),
    read=f"{CHAPTER}: from scores to weights",
)

MASK = "def attention_mask(lengths, causal):\n    S = int(lengths.max())\n"
REAL = "    mask = torch.arange(S)[None, :] < lengths[:, None]\n"
BACK = "    past = torch.ones(S, S, dtype=torch.bool).tril()\n"
BOTH = "    mask = mask[:, None, :].expand(-1, S, -1)\n    return mask & past if causal else mask\n"

Q2 = Question(
    id="q2",
    title="Who may look where",
    entry="attention_mask",
    signature="attention_mask(lengths, causal)",
    draw=draw_lengths,
    oracle=may_look,
    stages=(
        Stage(
            "padding",
            1,
            ("every position", "every position, one sentence"),
            "Column i of sentence b is True where i is smaller than the sentence's length, in every "
            "row.",
        ),
        Stage(
            "no look ahead",
            2,
            (
                "causal",
                "causal, as many sentences as words",
                "causal, one sentence",
                "causal, one word",
            ),
            "Row t may look at columns up to t, t itself among them, and at no pad.",
        ),
        Stage(
            "an empty sentence",
            1,
            ("causal, an empty sentence",),
            "A sentence of length 0 has no position that may be attended: all of its rows are False.",
        ),
    ),
    right=(
        MASK + REAL + BACK + BOTH,
        "def attention_mask(lengths, causal):\n"
        "    i = torch.arange(max(lengths.tolist()))\n"
        "    real = (i < lengths.view(-1, 1, 1)).repeat(1, len(i), 1)\n"
        "    if causal:\n"
        "        real = real & (i.view(1, 1, -1) <= i.view(1, -1, 1))\n"
        "    return real\n",
        "def attention_mask(n, causal):\n"
        "    S = max(n.tolist())\n"
        "    out = torch.zeros(len(n), S, S, dtype=torch.bool)\n"
        "    for b in range(len(n)):\n"
        "        for t in range(S):\n"
        "            out[b, t, : min(t + 1, n[b]) if causal else n[b]] = True\n"
        "    return out\n",
    ),
    wrong=(
        Wrong(
            "turned round",
            MASK + REAL.replace("<", ">=") + BACK + BOTH.replace("& past", "| ~past"),
            "Yours is True where nobody may look: in this book True means MAY be attended. "
            "(nn.MultiheadAttention has it the other way round.)",
        ),
        Wrong(
            "one word too many",
            MASK + REAL.replace("<", "<=") + BACK + BOTH,
            "The first pad of each sentence is open: positions count from 0, so a sentence of "
            "length n has the positions below n.",
        ),
        Wrong(
            "rows for columns",
            MASK
            + REAL
            + BACK
            + BOTH.replace("[:, None, :].expand(-1, S, -1)", "[:, :, None].expand(-1, -1, S)"),
            "You close the rows of pads; it is the columns of pads, at which nobody may look.",
        ),
        Wrong(
            "looks ahead",
            MASK + REAL + BACK.replace("tril", "triu") + BOTH,
            "Your row t may look at what comes after t: keep the lower triangle.",
            keeps=1,
        ),
        Wrong(
            "not at itself",
            MASK + REAL + BACK.replace("tril()", "tril(-1)") + BOTH,
            "Your row t stops before t, and row 0 may look at nothing: a position may look at "
            "itself.",
            keeps=1,
        ),
        Wrong(
            "one step ahead",
            MASK + REAL + BACK.replace("tril()", "tril(1)") + BOTH,
            "Your row t may look at t + 1, the very word that it has to predict.",
            keeps=1,
        ),
        Wrong(
            "causal ignored",
            MASK + REAL + BOTH.replace("mask & past if causal else ", ""),
            "You never use `causal`: with it, no row may look ahead.",
            keeps=1,
        ),
        Wrong(
            "always causal",
            MASK + REAL + BACK + BOTH.replace(" if causal else mask", ""),
            "You never look ahead, even where causal is False: an encoder may.",
            keeps=3,
        ),
        Wrong(
            "pads forgotten",
            MASK + BACK + "    past = past.expand(len(lengths), -1, -1)\n"
            "    return past if causal else torch.ones_like(past)\n",
            "You never use the lengths: pads may be attended.",
        ),
        Wrong(
            "either will do",
            MASK + REAL + BACK + BOTH.replace("&", "|"),
            "You join the two conditions by or: a position must be a real word AND not lie ahead.",
            keeps=1,
        ),
        Wrong(
            "a triangle for each sentence's own length",
            MASK + REAL + BOTH.replace("mask & past", "mask & mask.mT.tril()"),
            "Rows of pads are closed as well: every row of the result follows the same rule, which "
            "names columns alone.",
            keeps=1,
        ),
        Wrong(
            "numbers to be added",
            MASK
            + REAL
            + BACK
            + BOTH.replace(
                "return mask & past if causal else mask",
                "mask = mask & past if causal else mask\n"
                "    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)",
            ),
            "You return what is added to scores, 0 and minus infinity: return True and False.",
        ),
        Wrong(
            "no axis for the rows",
            MASK + REAL + "    return mask\n",
            "Your mask is (B, S): it needs a row for each position that looks, (B, S, S).",
        ),
    ),
    read=f"{CHAPTER}: where it breaks: masks",
)

RAW = "def attention_pool(states, w, mask):\n"
POOL = RAW + "    states = states.masked_fill(~mask[..., None], 0.0)\n"
WEIGHTS = "    a = torch.softmax((states @ w).masked_fill(~mask, -torch.inf), -1)\n"

Q3 = Question(
    id="q3",
    title="Pooling a sentence",
    entry="attention_pool",
    signature="attention_pool(states, w, mask)",
    draw=draw_pool,
    oracle=pooled,
    stages=(
        Stage(
            "the weighted sum",
            1,
            (
                "ordinary",
                "other sizes",
                "all sizes equal",
                "one word",
                "one sentence",
                "one number for a word",
            ),
            "Score each word by its dot product with w, turn the sentence's scores into weights, and "
            "add up weight times state.",
        ),
        Stage(
            "padding",
            1,
            ("padded", "large"),
            "What stands in the padding changes your result: the mask must reach the scores, and "
            "what the pads hold must not reach the sum.",
        ),
        Stage(
            "gradients",
            1,
            ("padded", "one word"),
            "The gradient of w or of the states is not right: the weights must come from a softmax "
            "that stays in the graph.",
            gradients=True,
        ),
    ),
    pads=(500.0, -500.0, float("nan"), float("inf")),
    right=(
        POOL + WEIGHTS + "    return (a[:, :, None] * states).sum(1)\n",
        POOL + "    a = torch.softmax(torch.where(mask, states @ w, -1e30), -1)\n"
        "    return torch.bmm(a.unsqueeze(1), states).squeeze(1)\n",
        "def attention_pool(H, w, m):\n"
        "    return torch.stack([F.softmax(h[k] @ w, 0) @ h[k] for h, k in zip(H, m)])\n",
    ),
    wrong=(
        Wrong(
            "no mask",
            RAW + "    a = torch.softmax(states @ w, -1)\n"
            "    return (a[:, :, None] * states).sum(1)\n",
            "You never use the mask: changing what stands in the padding changes your result.",
        ),
        Wrong(
            "pads times zero",
            RAW + WEIGHTS + "    return (a[:, :, None] * states).sum(1)\n",
            "The pads have weight 0, but they may hold NaN, and 0 times NaN is NaN: put something "
            "finite into the pads before you add up.",
            keeps=1,
        ),
        Wrong(
            "a fill that a score may reach",
            POOL
            + WEIGHTS.replace("-torch.inf", "-1e4")
            + "    return (a[:, :, None] * states).sum(1)\n",
            "You fill pads with a number below which real scores may lie, so that the pads win: fill "
            "with minus infinity.",
            keeps=2,
        ),
        Wrong(
            "renormalised with a small constant",
            RAW + "    a = torch.softmax(states @ w, -1) * mask\n"
            "    a = a / (a.sum(-1, keepdim=True) + 1e-13)\n"
            "    return (a[:, :, None] * states).sum(1)\n",
            "You mask after the softmax and divide again: where a pad has much the largest score, "
            "the words are left with nothing but rounding. Mask the scores.",
        ),
        Wrong(
            "mask added to the scores",
            POOL + "    a = torch.softmax(states @ w + mask, -1)\n"
            "    return (a[:, :, None] * states).sum(1)\n",
            "You add the mask as 0 and 1, which raises real words by 1 and closes no pad: it is minus "
            "infinity that must be added at pads.",
        ),
        Wrong(
            "softmax of a masked product",
            POOL + "    a = torch.softmax((states @ w) * mask, -1)\n"
            "    return (a[:, :, None] * states).sum(1)\n",
            "You set the scores of pads to 0, which is a score like any other: fill them with minus "
            "infinity.",
        ),
        Wrong(
            "states changed",
            POOL.replace("masked_fill(", "masked_fill_(")
            + WEIGHTS
            + "    return (a[:, :, None] * states).sum(1)\n",
            "Your function changes the states that it is given: work on a copy, without masked_fill_ "
            "or x[...] = ... on an argument.",
        ),
        Wrong(
            "every sentence with the first one's weights",
            POOL + WEIGHTS + "    return (a[:1, :, None] * states).sum(1)\n",
            "All sentences get the weights of the first: each has weights of its own.",
            keeps=0,
        ),
        Wrong(
            "plain mean",
            POOL + "    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)\n",
            "Your result does not depend on w: this is the plain mean of the words.",
        ),
        Wrong(
            "mean for sum",
            POOL + WEIGHTS + "    return (a[:, :, None] * states).mean(1)\n",
            "You average the weighted states; the weights sum to 1 already, so add them up.",
        ),
        Wrong(
            "best word only",
            POOL + "    s = (states @ w).masked_fill(~mask, -torch.inf)\n"
            "    return states[torch.arange(len(states)), s.argmax(1)]\n",
            "You take the word with the largest score alone: a hard choice, through which no "
            "gradient reaches w. Mix all words by their weights.",
        ),
        Wrong(
            "scores for weights",
            POOL + "    s = (states @ w) * mask\n    return (s[:, :, None] * states).sum(1)\n",
            "You sum with the scores themselves: turn them into weights by a softmax first.",
        ),
        Wrong(
            "over the batch",
            POOL + "    a = torch.softmax((states @ w).masked_fill(~mask, -1e30), 0) * mask\n"
            "    return (a[:, :, None] * states).sum(1)\n",
            "Your softmax runs over the sentences of the batch: normalise over the words of each.",
        ),
        Wrong(
            "weights detached",
            POOL
            + WEIGHTS.replace(", -1)\n", ", -1).detach()\n")
            + "    return (a[:, :, None] * states).sum(1)\n",
            "The values are right, but the weights are detached: w gets no gradient and never "
            "learns what to look for.",
            keeps=2,
        ),
        Wrong(
            "mask after softmax",
            RAW + "    a = torch.softmax(states @ w, -1) * mask\n"
            "    return (a[:, :, None] * states).sum(1)\n",
            "You set the weights of pads to 0 after the softmax: the rest no longer sums to 1.",
        ),
    ),
    read=f"{CHAPTER}: derive: from one value to a mixture",
)

DROP = (
    "def drop_weights(weights, p, training, coins):\n    if not training:\n        return weights\n"
)

Q4 = Question(
    id="q4",
    title="Dropping weights",
    entry="drop_weights",
    signature="drop_weights(weights, p, training, coins)",
    draw=draw_dropout,
    oracle=dropped,
    stages=(
        Stage(
            "training",
            1,
            (
                "ordinary",
                "other sizes",
                "all sizes equal",
                "one word",
                "one sentence",
                "no dropout",
            ),
            "A weight stays where its own coin is at least p, and is then divided by the share that "
            "stays, 1 - p; nothing is normalised again.",
        ),
        Stage(
            "evaluation",
            1,
            ("evaluating",),
            "When training is False the weights must come back as they are.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "evaluating"),
            "The values are right but the gradients of the weights are not: no detach, no .data, no "
            "NumPy on the way.",
            gradients=True,
        ),
    ),
    right=(
        DROP + "    return weights * (coins >= p) / (1 - p)\n",
        "def drop_weights(a, p, training, u):\n"
        "    return torch.where(u < p, 0.0, a / (1 - p)) if training else a.clone()\n",
        DROP + "    kept = (coins >= p).to(weights.dtype)\n"
        "    return weights.mul(kept).div(1.0 - p)\n",
    ),
    wrong=(
        Wrong(
            "not scaled up",
            DROP + "    return weights * (coins >= p)\n",
            "Your weights are too small by 1 - p on average: divide what stays by 1 - p.",
            keeps=1,
        ),
        Wrong(
            "a coin of exactly p goes",
            DROP + "    return weights * (coins > p) / (1 - p)\n",
            "A coin may be exactly p, and the weight stays then: at least p is >=.",
            keeps=1,
        ),
        Wrong(
            "divided by the share that stayed this time",
            DROP + "    kept = coins >= p\n"
            "    return weights * kept / kept.to(weights.dtype).mean()\n",
            "You divide by the share that happened to stay; divide by 1 - p, the share that stays on "
            "average.",
            keeps=1,
        ),
        Wrong(
            "divided by p",
            DROP + "    return weights * (coins >= p) / max(p, 1e-9)\n",
            "You divide by p, the share that is dropped; divide by the share that stays, 1 - p.",
            keeps=1,
        ),
        Wrong(
            "normalised again",
            DROP + "    a = weights * (coins >= p)\n"
            "    return a / a.sum(-1, keepdim=True).clamp_min(1e-9)\n",
            "Your rows sum to 1: dropout only scales by 1 / (1 - p), and rows then sum to 1 on "
            "average alone.",
            keeps=1,
        ),
        Wrong(
            "a coin for a row",
            DROP + "    return weights * (coins[:, :1] >= p) / (1 - p)\n",
            "You use one coin for a whole row: each weight has a coin of its own.",
            keeps=1,
        ),
        Wrong(
            "coins turned round",
            DROP + "    return weights * (coins < p) / (1 - p)\n",
            "You keep the weights that should go: a weight stays where its coin is at least p.",
            keeps=1,
        ),
        Wrong(
            "drops in evaluation",
            "def drop_weights(weights, p, training, coins):\n"
            "    return weights * (coins >= p) / (1 - p)\n",
            "You drop weights even when training is False: then they must stay as they are.",
            keeps=1,
        ),
        Wrong(
            "scaled in evaluation",
            "def drop_weights(weights, p, training, coins):\n"
            "    return weights * (coins >= p) if training else weights * (1 - p)\n",
            "You scale at evaluation instead of in training. Here, training divides by 1 - p and "
            "evaluation does nothing.",
        ),
        Wrong(
            "a softmax again",
            DROP + "    return torch.softmax(weights.masked_fill(coins < p, -torch.inf), -1)\n",
            "You take a softmax of weights: they are weights already. Multiply and scale them.",
            keeps=1,
        ),
    ),
    read=f"{CHAPTER}: dropped weights",
)

Q5 = Question(
    id="q5",
    title="By hand",
    entry="temperature_by_hand",
    signature="temperature_by_hand = number",
    draw=lambda rng, kind: (),
    oracle=lambda: 2 / np.log(9),
    probe=number_probe,
    stages=(
        Stage(
            "the temperature",
            1,
            ("number",),
            "The ratio of two weights is exp of the difference of their scores over the temperature: "
            "write it down for nine to one, and solve.",
        ),
    ),
    right=(
        "temperature_by_hand = 0.91\n",
        "temperature_by_hand = 2 / math.log(9)\n",
        "temperature_by_hand = np.array(0.91)\n",
        "temperature_by_hand = torch.tensor([0.9102])[0]\n",
    ),
    wrong=(
        Wrong(
            "turned round",
            "temperature_by_hand = 4.39\n",
            "You multiply the difference by the logarithm; it is divided by it.",
        ),
        Wrong(
            "inverse",
            "temperature_by_hand = 1.10\n",
            "You turned the fraction round: a higher temperature flattens, so the difference of the "
            "scores stands on top.",
        ),
        Wrong(
            "no logarithm",
            "temperature_by_hand = 0.22\n",
            "You divide the difference by the ratio itself: it is exp of difference over temperature "
            "that makes the ratio, so take the ratio's logarithm.",
        ),
        Wrong(
            "one tenth",
            "temperature_by_hand = 0.87\n",
            "You set the ratio to 10: nine tenths to one tenth is nine to one.",
        ),
        Wrong(
            "the score itself",
            "temperature_by_hand = 1.82\n",
            "You took a score where the difference of the two scores belongs: adding a constant to "
            "both changes no weight.",
        ),
        Wrong(
            "logarithm of the weight",
            "temperature_by_hand = 18.98\n",
            "You took the logarithm of the weight 0.9; take that of the ratio of the two weights.",
        ),
        Wrong(
            "base ten",
            "temperature_by_hand = 2.10\n",
            "You took the logarithm to base ten; exp belongs to the natural one.",
        ),
        Wrong(
            "base two",
            "temperature_by_hand = 0.63\n",
            "You took the logarithm to base two; exp belongs to the natural one.",
        ),
        Wrong(
            "temperature one",
            "temperature_by_hand = 1\n",
            "At temperature 1 the ratio is exp of 2, about 7.4 to one: a little more is asked for.",
        ),
    ),
    read=f"{CHAPTER}: see it: softmax, temperature, mask",
)

EXERCISE = Exercise("02_softmax", "Softmax, temperature, masks", (Q1, Q2, Q3, Q4, Q5))
