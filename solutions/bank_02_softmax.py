"""How the exercise on softmax, temperature and masks is graded: oracles, cases, known mistakes."""

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import (
    COMMON_SIZES,
    fill_pads,
    mixture,
    normal,
    padding,
    softmax_rows,
)
from seqattn.grading.questions import question

# --- Oracles ---------------------------------------------------------------------------------------


def may_look(lengths, causal):
    words = max(lengths)
    mask = np.zeros((len(lengths), words, words), bool)
    for b, t, i in np.ndindex(*mask.shape):
        mask[b, t, i] = i < lengths[b] and (i <= t or not causal)
    return mask


# --- Cases -----------------------------------------------------------------------------------------

SIZES = COMMON_SIZES | {  # B, T, S, d
    "other sizes": (5, 2, 3, 7),
    "one sentence": (1, 2, 4, 3),
    "large": (2, 3, 4, 3),
    "cold": (2, 3, 5, 3),
    "hot": (2, 3, 5, 3),
    "very cold": (3, 2, 4, 3),
    "one far above": (3, 2, 4, 3),
    "very hot": (3, 2, 4, 3),
    "one number for a word": (2, 3, 4, 1),
    "padded in front": (3, 2, 5, 4),
}
# Powers of two where scores are large: dividing first loses nothing then.
TEMPERATURES = {"cold": 0.25, "hot": 4.0, "very cold": 0.01, "very hot": 1000.0, "large": 0.5}


def draw_softmax(rng, kind):
    B, _, S, *_ = SIZES[kind]
    scores = normal(rng, B, S, scale=1.5 * {"very cold": 0.02, "very hot": 1000.0}.get(kind, 1.0))
    if kind == "one far above":
        scores[:, -1] += np.float32(200.0)
    if kind == "large":
        scores = np.round(8 * scores) / 8
        scores += rng.choice([-1500.0, 1500.0], size=(B, 1)).astype(np.float32)
        # One far above the others: their mean, or the smallest, is no help against overflow.
        scores[1:, 0] += np.float32(1000.0)
    # Never 1: a temperature that is forgotten must show.
    other = float(np.float32(rng.choice([0.5, 0.7, 1.5, 2.0])))
    return scores, TEMPERATURES.get(kind, other)


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
    B, _, S, d, *_ = SIZES[kind]
    states, mask, w = normal(rng, B, S, d), padding(rng, B, S), normal(rng, d)
    if kind == "padded in front":
        mask = mask[:, ::-1].copy()
        mask[:, 0] = False
    fill_pads(rng, states, mask, scale=30.0)
    if kind == "large":
        # Scores far below any number that might stand for minus infinity.
        # They are sums without rounding, so that any order of summing gives the same.
        w[:], w[0] = 0.0, 1.0
        states[mask, 0] = np.round(8 * states[mask, 0]) / 8 - 12_000
    return states, w, mask


def draw_dropout(rng, kind):
    B, _, S, *_ = SIZES.get(kind, SIZES["ordinary"])
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


# --- Questions -----------------------------------------------------------------------------------

Q1 = question(
    """q1: Softmax with a temperature
softmax(scores, temperature)
read chapters/02_soft_addressing: from scores to weights
the formula, 2 points: ordinary; other sizes; all sizes equal; one word; cold; hot; very cold
    exp of score over temperature, divided by the row's sum of these: is the division by the
    temperature inside exp, and is the sum over the last axis?
extreme scores, 1 point: large; very hot
    Scores of several thousand overflow or vanish in exp: subtract the row's largest first, and
    divide by the temperature before exp.
gradients, 1 point, backward: ordinary; one far above
    The weights are right but the gradients of the scores are not: no detach, no .data, no NumPy on
    the way.
RIGHT
def softmax(scores, temperature):
    z = scores / temperature
    raised = (z - z.amax(-1, keepdim=True)).exp()
    return raised / raised.sum(-1, keepdim=True)
def softmax(scores, temperature):
    z = scores / temperature
    return torch.exp(z - torch.logsumexp(z, dim=-1, keepdim=True))
def softmax(s, tau):
    rows = []
    for row in s:
        e = torch.exp((row - row.max()) / tau)
        rows.append(e / e.sum())
    return torch.stack(rows)
WRONG
temperature ignored | scores / temperature -> scores
    The temperature makes no difference in yours: it is not used, or it divides after exp, above and
    below alike, and cancels. Divide the scores before exp.
times temperature | / temperature -> * temperature
    You multiply by the temperature, so that a high one sharpens; divide, and it flattens.
temperature after softmax | scores / temperature -> scores; R -> R / temperature
    You divide the weights by the temperature and the rows no longer sum to 1: divide the scores,
    inside exp.
square root of temperature | / temperature -> / temperature ** 0.5
    You divide by the square root of the temperature; divide by the temperature itself. The root
    belongs to the size d of scaled dot products.
a root of the finished weights
    | p = torch.exp(scores - scores.logsumexp(-1, keepdim=True)) ** (1 / temperature)
    | return p / p.sum(-1, keepdim=True)
    You take the softmax first and its root afterwards: what has become 0 by then stays 0. Divide
    the scores before exp.
coldest temperature fixed, keeps 1 | / temperature -> / max(temperature, 0.1)
    You keep the temperature from falling below some number: every temperature above 0 is allowed.
not stable, keeps 2 | (z - z.amax(-1, keepdim=True)).exp() -> z.exp()
    exp of several thousand is infinite and of minus several thousand 0, and their ratio NaN:
    subtract the row's largest score first, which changes no weight.
over the batch | amax(-1 -> amax(0; sum(-1 -> sum(0
    Your columns sum to 1 instead of your rows: sum over the last axis, the words.
one sum for all rows | sum(-1, keepdim=True) -> sum()
    You divide by the sum over the whole batch: each row has a sum of its own.
logarithms | z = scores / temperature; return z - torch.logsumexp(z, -1, keepdim=True)
    These are the logarithms of the weights: all are negative. Take exp of them.
no exponential | (z - z.amax(-1, keepdim=True)).exp() -> z
    You divide scores by their sum: weights can be negative so. Raise e to them first.
detached, keeps 3 | R -> R.detach()
    The values are right, but no gradient reaches the scores: something is detached.
""",
    draw=draw_softmax,
    oracle=lambda scores, temperature: softmax_rows(scores / temperature),
    forbidden=("softmax", "log_softmax", "Softmax", "LogSoftmax", "softmin"),
)

Q2 = question(
    """q2: Who may look where
attention_mask(lengths, causal)
read chapters/02_soft_addressing: where it breaks: masks
padding, 1 point: every position; every position, one sentence
    Column i of sentence b is True where i is smaller than the sentence's length, in every row.
no look ahead, 2 points: causal; causal, as many sentences as words; causal, one sentence; causal, one word
    Row t may look at columns up to t, t itself among them, and at no pad.
an empty sentence, 1 point: causal, an empty sentence
    A sentence of length 0 has no position that may be attended: all of its rows are False.
RIGHT
def attention_mask(lengths, causal):
    S = int(lengths.max())
    mask = torch.arange(S)[None, :] < lengths[:, None]
    past = torch.ones(S, S, dtype=torch.bool).tril()
    mask = mask[:, None, :].expand(-1, S, -1)
    return mask & past if causal else mask
def attention_mask(lengths, causal):
    i = torch.arange(max(lengths.tolist()))
    real = (i < lengths.view(-1, 1, 1)).repeat(1, len(i), 1)
    if causal:
        real = real & (i.view(1, 1, -1) <= i.view(1, -1, 1))
    return real
def attention_mask(n, causal):
    S = max(n.tolist())
    out = torch.zeros(len(n), S, S, dtype=torch.bool)
    for b in range(len(n)):
        for t in range(S):
            out[b, t, : min(t + 1, n[b]) if causal else n[b]] = True
    return out
WRONG
turned round | < lengths -> >= lengths; & past -> | ~past
    Yours is True where nobody may look: in this book True means MAY be attended.
    (nn.MultiheadAttention has it the other way round.)
one word too many | < lengths -> <= lengths
    The first pad of each sentence is open: positions count from 0, so a sentence of length n has
    the positions below n.
rows for columns | , None, : -> , :, None; S, -1 -> -1, S
    You close the rows of pads; it is the columns of pads, at which nobody may look.
looks ahead, keeps 1 | tril -> triu
    Your row t may look at what comes after t: keep the lower triangle.
not at itself, keeps 1 | tril() -> tril(-1)
    Your row t stops before t, and row 0 may look at nothing: a position may look at itself.
one step ahead, keeps 1 | tril() -> tril(1)
    Your row t may look at t + 1, the very word that it has to predict.
causal ignored, keeps 1 | mask & past if causal else mask -> mask
    You never use `causal`: with it, no row may look ahead.
always causal, keeps 3 | mask & past if causal else mask -> mask & past
    You never look ahead, even where causal is False: an encoder may.
pads forgotten
    | mask = torch.arange(S)[None, :] < lengths[:, None] -> mask = torch.ones(len(lengths), S, dtype=torch.bool)
    You never use the lengths: pads may be attended.
either will do, keeps 1 | & past -> | past
    You join the two conditions by or: a position must be a real word AND not lie ahead.
rows of pads closed | mask[:, None, :].expand(-1, S, -1) -> mask[:, None, :] & mask[:, :, None]
    You close the rows of pads besides their columns: what a pad looks at matters to nobody, and the
    question asks for one rule in every row.
always at itself | R -> R | torch.eye(S, dtype=torch.bool)
    You let every position look at itself, a pad too: the columns of pads are closed in every row.
a triangle over the sentences, keeps 1 | torch.ones(S, S -> torch.ones(len(lengths), len(lengths)
    Your triangle has a row for each sentence of the batch: it needs one for each position, (S, S).
a triangle for each sentence's own length, keeps 1 | & past -> & mask.mT.tril()
    Rows of pads are closed as well: every row of the result follows the same rule, which names
    columns alone.
numbers to be added | R -> torch.zeros(R.shape).masked_fill(~R, -torch.inf)
    You return what is added to scores, 0 and minus infinity: return True and False.
no axis for the rows
    | S = int(lengths.max()); mask = torch.arange(S)[None, :] < lengths[:, None]; return mask
    Your mask is (B, S): it needs a row for each position that looks, (B, S, S).
""",
    draw=draw_lengths,
    oracle=may_look,
)

Q3 = question(
    """q3: Pooling a sentence
attention_pool(states, w, mask)
read chapters/02_soft_addressing: derive: from one value to a mixture
the weighted sum, 1 point: ordinary; other sizes; all sizes equal; one word; one sentence; one number for a word
    Score each word by its dot product with w, turn the sentence's scores into weights, and add up
    weight times state.
padding, 1 point: padded; padded in front; large
    What stands in the padding changes your result: the mask must reach the scores, and what the
    pads hold must not reach the sum.
gradients, 1 point, backward: padded; one word
    The gradient of w or of the states is not right: the weights must come from a softmax that stays
    in the graph.
RIGHT
def attention_pool(states, w, mask):
    states = states.masked_fill(~mask[..., None], 0.0)
    a = torch.softmax((states @ w).masked_fill(~mask, -torch.inf), -1)
    return (a[:, :, None] * states).sum(1)
def attention_pool(states, w, mask):
    states = states.masked_fill(~mask[..., None], 0.0)
    a = torch.softmax(torch.where(mask, states @ w, -1e30), -1)
    return torch.bmm(a.unsqueeze(1), states).squeeze(1)
def attention_pool(H, w, m):
    return torch.stack([F.softmax(h[k] @ w, 0) @ h[k] for h, k in zip(H, m)])
WRONG
no mask | a = torch.softmax(states @ w, -1); return (a[:, :, None] * states).sum(1)
    You never use the mask: changing what stands in the padding changes your result.
pads times zero, keeps 1
    | a = torch.softmax((states @ w).masked_fill(~mask, -torch.inf), -1)
    | return (a[:, :, None] * states).sum(1)
    The pads have weight 0, but they may hold NaN, and 0 times NaN is NaN: put something finite into
    the pads before you add up.
a fill that a score may reach, keeps 2 | -torch.inf -> -1e4
    Where the scores of all words lie far below zero, your pads win: they are filled with a number
    that a score may reach, or masked after the softmax. Fill their scores with minus infinity.
renormalised with a small constant
    | a = torch.softmax(states @ w, -1) * mask; a = a / (a.sum(-1, keepdim=True) + 1e-13)
    | return (a[:, :, None] * states).sum(1)
    You mask after the softmax and divide again: where a pad has much the largest score, the words
    are left with nothing but rounding. Mask the scores.
mask added to the scores | (states @ w).masked_fill(~mask, -torch.inf) -> states @ w + mask
    You add the mask as 0 and 1, which raises real words by 1 and closes no pad: it is minus
    infinity that must be added at pads.
softmax of a masked product | (states @ w).masked_fill(~mask, -torch.inf) -> states @ w * mask
    You set the scores of pads to 0, or nearly 0 (is a minus in the wrong place?), which is a score
    like any other: fill them with minus infinity.
pads behind the words taken for granted, keeps 2
    | states = states -> mask = torch.arange(states.shape[1]) < mask.sum(1, keepdim=True); states = states
    You count the words and take it that pads come last: use the mask as it is.
states changed | states.masked_fill -> states.masked_fill_
    Your function changes the states that it is given: work on a copy, without masked_fill_ or
    x[...] = ... on an argument.
every sentence with the first one's weights | a[:, :, None] -> a[:1, :, None]
    All sentences get the weights of the first: each has weights of its own.
plain mean
    | (a[:, :, None] * states).sum(1) -> (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    Your result does not depend on w: this is the plain mean of the words.
mean for sum | .sum(1) -> .mean(1)
    You average the weighted states; the weights sum to 1 already, so add them up.
best word only | (a[:, :, None] * states).sum(1) -> states[torch.arange(len(states)), a.argmax(1)]
    You take the word with the largest score alone: a hard choice, through which no gradient reaches
    w. Mix all words by their weights.
scores for weights
    | torch.softmax((states @ w).masked_fill(~mask, -torch.inf), -1) -> states @ w * mask
    You sum with the scores themselves: turn them into weights by a softmax first.
over the batch | -torch.inf), -1) -> -1e30), 0) * mask
    Your softmax runs over the sentences of the batch: normalise over the words of each.
weights detached, keeps 2 | -torch.inf), -1) -> -torch.inf), -1).detach()
    The values are right, but the weights are detached: w gets no gradient and never learns what to
    look for.
mask after softmax
    | a = torch.softmax(states @ w, -1) * mask; return (a[:, :, None] * states).sum(1)
    You set the weights of pads to 0 after the softmax: the rest no longer sums to 1.
""",
    draw=draw_pool,
    oracle=lambda states, w, mask: mixture(softmax_rows(states @ w, mask), states, mask),
    pads=(500.0, -500.0, float("nan"), float("inf")),
)

Q4 = question(
    """q4: Dropping weights
drop_weights(weights, p, training, coins)
read chapters/02_soft_addressing: dropped weights
training, 1 point: ordinary; other sizes; all sizes equal; one word; one sentence; no dropout
    A weight stays where its own coin is at least p, and is then divided by the share that stays, 1
    - p; nothing is normalised again.
evaluation, 1 point: evaluating
    When training is False the weights must come back as they are.
gradients, 1 point, backward: ordinary; evaluating
    The values are right but the gradients of the weights are not: no detach, no .data, no NumPy on
    the way.
RIGHT
def drop_weights(weights, p, training, coins):
    if not training:
        return weights
    return weights * (coins >= p) / (1 - p)
def drop_weights(a, p, training, u):
    return torch.where(u < p, 0.0, a / (1 - p)) if training else a.clone()
def drop_weights(weights, p, training, coins):
    if not training:
        return weights
    kept = (coins >= p).to(weights.dtype)
    return weights.mul(kept).div(1.0 - p)
WRONG
not scaled up, keeps 1 | / (1 - p) ->
    Your weights are too small by 1 - p on average: divide what stays by 1 - p.
a coin of exactly p goes, keeps 1 | coins >= p -> coins > p
    A coin may be exactly p, and the weight stays then: at least p is >=.
divided by the share that stayed this time, keeps 1
    | (1 - p) -> (coins >= p).to(weights.dtype).mean()
    You divide by the share that happened to stay; divide by 1 - p, the share that stays on average.
divided by p, keeps 1 | / (1 - p) -> / max(p, 1e-9)
    You divide by p, the share that is dropped; divide by the share that stays, 1 - p.
normalised again, keeps 1
    | return weights * (coins >= p) / (1 - p) -> a = weights * (coins >= p)
    | return a / a.sum(-1, keepdim=True).clamp_min(1e-9)
    Your rows sum to 1: dropout only scales by 1 / (1 - p), and rows then sum to 1 on average alone.
a coin for a row, keeps 1 | coins >= p -> coins[:, :1] >= p
    You use one coin for a whole row: each weight has a coin of its own.
coins turned round, keeps 1 | coins >= p -> coins < p
    You keep the weights that should go: a weight stays where its coin is at least p.
drops in evaluation, keeps 1 | return weights * (coins >= p) / (1 - p)
    You drop weights even when training is False: then they must stay as they are.
scaled in evaluation | return weights * (coins >= p) if training else weights * (1 - p)
    You scale at evaluation instead of in training. Here, training divides by 1 - p and evaluation
    does nothing.
a softmax again, keeps 1
    | weights * (coins >= p) / (1 - p) -> torch.softmax(weights.masked_fill(coins < p, -torch.inf), -1)
    You take a softmax of weights: they are weights already. Multiply and scale them.
""",
    draw=draw_dropout,
    oracle=lambda weights, p, training, coins: (
        np.where(coins >= p, weights, 0.0) / (1 - p) if training else weights
    ),
)

Q5 = question(
    """q5: By hand
temperature_by_hand = number
read chapters/02_soft_addressing: see it: softmax, temperature, mask
the temperature, 1 point: number
    The ratio of two weights is exp of the difference of their scores over the temperature: write it
    down for nine to one, and solve.
RIGHT
temperature_by_hand = 0.91
temperature_by_hand = 2 / math.log(9)
temperature_by_hand = np.array(0.91)
temperature_by_hand = torch.tensor([0.9102])[0]
temperature_by_hand = torch.tensor([0.91])
temperature_by_hand = [0.91]
WRONG
turned round | 0.91 -> 4.39
    You multiply the difference by the logarithm; it is divided by it.
inverse | 0.91 -> 1.10
    You turned the fraction round: a higher temperature flattens, so the difference of the scores
    stands on top.
no logarithm | 0.91 -> 0.22
    You divide the difference by the ratio itself: it is exp of difference over temperature that
    makes the ratio, so take the ratio's logarithm.
one tenth | 0.91 -> 0.87
    You set the ratio to 10: nine tenths to one tenth is nine to one.
the score itself | 0.91 -> 1.82
    You took a score where the difference of the two scores belongs: adding a constant to both
    changes no weight.
logarithm of the weight | 0.91 -> 18.98
    You took the logarithm of the weight 0.9; take that of the ratio of the two weights.
base ten | 0.91 -> 2.10
    You took the logarithm to base ten; exp belongs to the natural one.
base two | 0.91 -> 0.63
    You took the logarithm to base two; exp belongs to the natural one.
temperature one | 0.91 -> 1
    At temperature 1 the ratio is exp of 2, about 7.4 to one: a little more is asked for.
""",
    oracle=lambda: 2 / np.log(9),
)

EXERCISE = Exercise("02_softmax", "Softmax, temperature, masks", (Q1, Q2, Q3, Q4, Q5))
