"""How the exercise on softmax, temperature and masks is graded: oracles, cases, known mistakes."""

import numpy as np

from seqattn.grading.bank import Exercise, Question, Stage, Wrong
from seqattn.grading.drawing import normal, padding, softmax_rows
from seqattn.grading.kinds import number_probe

CHAPTER = "chapters/02_soft_addressing"

# --- Oracles ---------------------------------------------------------------------------------------


def softmax(scores, temperature):
    return softmax_rows(scores / temperature)


def masked(scores, mask, temperature):
    return softmax_rows(scores / temperature, mask[:, None, :])


def pooled(states, w, mask):
    a = softmax_rows(np.array([[h @ w for h in sentence] for sentence in states]), mask)
    return np.array([sum(x * h for x, h in zip(row, rows)) for row, rows in zip(a, states)])


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
}
TEMPERATURES = {"cold": 0.25, "hot": 4.0}


def temperature_of(rng, kind):
    # Never 1: a temperature that is forgotten must show.
    return TEMPERATURES.get(kind, float(np.float32(rng.choice([0.5, 0.7, 1.5, 2.0]))))


def draw_softmax(rng, kind):
    B, _, S, _ = SIZES[kind]
    scores = normal(rng, B, S, scale=1.5)
    if kind == "large":
        scores += rng.choice([-9000.0, 9000.0], size=(B, 1)).astype(np.float32)
        scores[:, 0] += np.float32(1.0)
    return scores, temperature_of(rng, kind)


def draw_masked(rng, kind):
    B, T, S, _ = SIZES[kind]
    scores = normal(rng, B, T, S, scale=1.5)
    if kind == "large":
        scores += rng.choice([-9000.0, 9000.0], size=(B, T, 1)).astype(np.float32)
    return scores, padding(rng, B, S, empty=kind == "nothing to attend"), temperature_of(rng, kind)


def draw_pool(rng, kind):
    B, _, S, d = SIZES[kind]
    states, mask = normal(rng, B, S, d), padding(rng, B, S)
    # What stands in the padding must not matter.
    states[~mask] = normal(rng, int((~mask).sum()), d, scale=30.0)
    return states, normal(rng, d), mask


def draw_dropout(rng, kind):
    B, _, S, _ = SIZES.get(kind, SIZES["ordinary"])
    weights = softmax_rows(rng.normal(size=(B, S))).astype(np.float32)
    coins = rng.random((B, S)).astype(np.float32)
    p = 0.0 if kind == "no dropout" else float(np.float32(rng.choice([0.2, 0.3, 0.6])))
    # Of each row some are dropped and some are kept.
    coins[:, 0], coins[:, 1] = 0.999, p / 2
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
            ("ordinary", "other sizes", "all sizes equal", "one word", "cold", "hot"),
            "exp of score over temperature, divided by the row's sum of these: is the division by "
            "the temperature inside exp, and is the sum over the last axis?",
        ),
        Stage(
            "extreme scores",
            1,
            ("large",),
            "Scores of several thousand overflow or vanish in exp: subtract the row's largest first.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary",),
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
            "You never use the temperature: divide the scores by it before exp.",
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
            "not stable",
            SOFT + "    e = (scores / temperature).exp()\n    return e / e.sum(-1, keepdim=True)\n",
            "exp of several thousand is infinite and of minus several thousand 0, and their ratio "
            "NaN: subtract the row's largest score first, which changes no weight.",
            keeps=3,
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

MASK = "def masked_softmax(scores, mask, temperature):\n"
FILLED = "scores.masked_fill(~mask[:, None, :], -torch.inf)"

Q2 = Question(
    id="q2",
    title="A mask for every step",
    entry="masked_softmax",
    signature="masked_softmax(scores, mask, temperature)",
    draw=draw_masked,
    oracle=masked,
    stages=(
        Stage(
            "weights under a mask",
            2,
            ("ordinary", "padded", "all sizes equal", "one word", "cold", "hot"),
            "Give the mask an axis for the steps, (B, 1, S), and fill the scores that it forbids "
            "with minus infinity before the softmax.",
        ),
        Stage(
            "extreme scores",
            1,
            ("large",),
            "Scores of minus several thousand lie below a fill value such as -1e4, and exp of large "
            "ones overflows: use minus infinity, and a stable softmax.",
        ),
        Stage(
            "rows with nothing to attend",
            1,
            ("nothing to attend",),
            "A row in which nothing may be attended must give zeros.",
        ),
    ),
    right=(
        MASK + "    mask = mask[:, None, :]\n"
        "    z = (scores / temperature).masked_fill(~mask, torch.finfo(scores.dtype).min)\n"
        "    return torch.softmax(z, dim=-1) * mask\n",
        MASK + f"    return torch.softmax({FILLED} / temperature, -1).nan_to_num()\n",
        "def masked_softmax(s, m, tau):\n"
        "    out = torch.zeros_like(s)\n"
        "    for b in range(len(s)):\n"
        "        if m[b].any():\n"
        "            out[b][:, m[b]] = F.softmax(s[b][:, m[b]] / tau, dim=1)\n"
        "    return out\n",
    ),
    wrong=(
        Wrong(
            "mask over steps",
            MASK + "    z = (scores / temperature).masked_fill(~mask[:, :, None], -torch.inf)\n"
            "    return torch.softmax(z, -1).nan_to_num()\n",
            "Your mask forbids steps instead of words: its new axis must stand in the middle, "
            "(B, 1, S).",
        ),
        Wrong(
            "mask without a step axis",
            MASK + "    z = (scores / temperature).masked_fill(~mask, -torch.inf)\n"
            "    return torch.softmax(z, -1).nan_to_num()\n",
            "A mask (B, S) set against scores (B, T, S) without a new axis meets the wrong "
            "dimensions, and fits by accident where B equals T: use mask[:, None, :].",
        ),
        Wrong(
            "mask after softmax",
            MASK + "    return torch.softmax(scores / temperature, -1) * mask[:, None, :]\n",
            "You normalise first and mask afterwards: the rows no longer sum to 1. Mask the scores.",
        ),
        Wrong(
            "mask turned round",
            MASK + "    z = (scores / temperature).masked_fill(mask[:, None, :], -torch.inf)\n"
            "    return torch.softmax(z, -1).nan_to_num()\n",
            "All the weight sits on the pads: True means that a position MAY be attended.",
        ),
        Wrong(
            "NaN in empty rows",
            MASK + f"    return torch.softmax({FILLED} / temperature, -1)\n",
            "A row with nothing to attend gives NaN: minus infinity minus minus infinity. It should "
            "give zeros.",
            keeps=3,
        ),
        Wrong(
            "equal weights in empty rows",
            MASK + "    z = (scores / temperature).masked_fill(~mask[:, None, :], -1e30)\n"
            "    return torch.softmax(z, -1)\n",
            "A row with nothing to attend gets equal weights, on padding. It should get zeros.",
            keeps=3,
        ),
        Wrong(
            "a small number for minus infinity",
            MASK + "    z = (scores / temperature).masked_fill(~mask[:, None, :], -5.0)\n"
            "    return torch.softmax(z, -1) * mask.any(-1)[:, None, None]\n",
            "Pads get weights that are small but not 0: fill their scores with minus infinity, not "
            "with a number that a real score may have.",
        ),
        Wrong(
            "temperature ignored",
            MASK + f"    return torch.softmax({FILLED}, -1).nan_to_num()\n",
            "You never use the temperature: divide the scores by it.",
        ),
        Wrong(
            "over the steps",
            MASK + "    z = (scores / temperature).masked_fill(~mask[:, None, :], -1e30)\n"
            "    return torch.softmax(z, 1) * mask[:, None, :]\n",
            "You normalise over the steps; each step's row of words must sum to 1: the last axis.",
        ),
    ),
    read=f"{CHAPTER}: where it breaks: masks",
)

POOL = "def attention_pool(states, w, mask):\n"
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
            ("ordinary", "other sizes", "all sizes equal", "one word", "one sentence"),
            "Score each word by its dot product with w, turn the sentence's scores into weights, and "
            "add up weight times state.",
        ),
        Stage(
            "padding",
            1,
            ("padded",),
            "What stands in the padding changes your result: the mask must reach the scores.",
        ),
        Stage(
            "gradients",
            1,
            ("padded",),
            "The gradient of w or of the states is not right: the weights must come from a softmax "
            "that stays in the graph.",
            gradients=True,
        ),
    ),
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
            POOL + "    a = torch.softmax(states @ w, -1)\n"
            "    return (a[:, :, None] * states).sum(1)\n",
            "You never use the mask: changing what stands in the padding changes your result.",
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
            POOL + "    a = torch.softmax(states @ w, -1) * mask\n"
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
            2,
            ("ordinary", "other sizes", "all sizes equal", "no dropout"),
            "A weight stays where its own coin is at least p, and is then divided by the share that "
            "stays, 1 - p; nothing is normalised again.",
        ),
        Stage(
            "evaluation",
            1,
            ("evaluating",),
            "When training is False the weights must come back as they are.",
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
            keeps=2,
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
    oracle=lambda: 2.0,
    probe=number_probe,
    stages=(
        Stage(
            "the temperature",
            1,
            ("number",),
            "Only differences of scores over temperature matter: compare the difference of two "
            "scores in the one list and in the other.",
        ),
    ),
    right=("temperature_by_hand = 2\n", "temperature_by_hand = 2.0\n"),
    wrong=(
        Wrong(
            "turned round",
            "temperature_by_hand = 0.5\n",
            "You turned the ratio round: a temperature below 1 sharpens, and here it has to flatten.",
        ),
        Wrong(
            "nothing to do",
            "temperature_by_hand = 1\n",
            "At temperature 1 the scores are as they are, and 6, 4, 2 are further apart than 3, 2, 1.",
        ),
        Wrong(
            "difference for ratio",
            "temperature_by_hand = 3\n",
            "You took the difference of the largest scores; temperature divides, it does not "
            "subtract.",
        ),
        Wrong(
            "square root",
            "temperature_by_hand = 1.41\n",
            "You took a square root: the scores are divided by the temperature itself.",
        ),
        Wrong(
            "exponential",
            "temperature_by_hand = 7.39\n",
            "You took exp of the ratio: the temperature divides inside exp.",
        ),
        Wrong(
            "square",
            "temperature_by_hand = 4\n",
            "You squared the ratio: the scores are divided by the temperature itself.",
        ),
    ),
    read=f"{CHAPTER}: see it: softmax, temperature, mask",
)

EXERCISE = Exercise("02_softmax", "Softmax, temperature, masks", (Q1, Q2, Q3, Q4, Q5))
