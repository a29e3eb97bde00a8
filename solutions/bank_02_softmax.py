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
from seqattn.grading.questions import a_test, question

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
TEMPERATURES = {"cold": 0.25, "hot": 4.0, "very cold": 0.01, "very hot": 1000.0} | {
    "large": 0.5,
    "one far above": 2.0,
}


def draw_softmax(rng, kind):
    B, _, S, *_ = SIZES[kind]
    scores = normal(rng, B, S, scale=1.5 * {"very cold": 0.02, "very hot": 1000.0}.get(kind, 1.0))
    if kind == "one far above":
        # So far that exp is infinite, above the row's mean as well, and no further: of larger numbers
        # float32 holds fewer digits, and right answers lose theirs on the way back.
        scores[:, -1] += np.float32(250.0)
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
    lengths = rng.permutation(lengths)
    if kind in ("every position", "causal"):
        # The first sentence is not the longest.
        lengths = np.roll(lengths, -1 - np.argmax(lengths))
        lengths = np.array([min(lengths[0], longest - 1), *rng.permutation(lengths[1:])])
    return lengths, kind.startswith("causal")


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
the formula, 1 point: ordinary; other sizes; all sizes equal; one word; cold; hot; very cold
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
temperature after the logarithm
    | return ((scores - scores.logsumexp(-1, keepdim=True)) / temperature).exp()
    You divide the logarithms of the weights by the temperature, and the rows no longer sum to 1:
    divide the scores before logsumexp.
scores cut off, keeps 2
    | raised = (scores / temperature).clamp(-80, 80).exp()
    | return raised / raised.sum(-1, keepdim=True)
    You cut the scores off, so that all beyond the limit get equal weights: subtract the row's largest
    score instead, which changes no weight.
one over a sum of ratios, keeps 2
    | z = scores / temperature
    | return 1 / (z[:, None, :] - z[:, :, None]).exp().sum(-1)
    You divide 1 by a sum that can be infinite: 0 is the right weight then, but on the way back it gives
    NaN. Subtract the row's largest score, so that no exp is larger than 1.
coldest temperature fixed, keeps 1 | / temperature -> / max(temperature, 0.1)
    You keep the temperature from falling below some number: every temperature above 0 is allowed.
mean subtracted, keeps 1 | z - z.amax(-1, keepdim=True) -> z - z.mean(-1, keepdim=True)
    You subtract the row's mean, above which a score may still stand by thousands: subtract its largest
    score, so that no exp is larger than 1.
temperature above alone | raised / raised.sum(-1, keepdim=True) -> raised / (scores - scores.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True)
    You divide by the temperature above the line and not below it: each exp has it, those of the sum too.
not stable, keeps 1 | (z - z.amax(-1, keepdim=True)).exp() -> z.exp()
    exp of several thousand is infinite and of minus several thousand 0; infinity over infinity, and 0
    over 0, are NaN: subtract the row's largest score first, which changes no weight.
weights in half precision, keeps 2 | R -> R.half().to(scores.dtype)
    You round the weights to 16 bits, which have three digits: keep the precision that comes in.
largest of all, keeps 2 | z.amax(-1, keepdim=True) -> z.max()
    You subtract the largest score of the whole batch, so that a row far below it vanishes: subtract each
    row's own largest score.
largest of each column | z.amax(-1 -> z.amax(0
    You subtract the largest score of each column: numbers that differ within a row change its weights.
    Subtract each row's own largest score.
half precision | z = scores / temperature -> z = (scores / temperature).half(); R -> R.to(scores.dtype)
    You compute in 16 bits on the way, which have three digits: keep the precision that comes in.
half precision before the temperature | z = scores / temperature -> z = scores.half() / temperature; R -> R.to(scores.dtype)
    You round the scores to 16 bits, which have three digits: keep the precision that comes in.
brain floats | z = scores / temperature -> z = (scores / temperature).bfloat16(); R -> R.to(scores.dtype)
    You compute in bfloat16 on the way, which has two digits: keep the precision that comes in.
over the batch | amax(-1 -> amax(0; sum(-1 -> sum(0
    Your columns sum to 1 instead of your rows: sum over the last axis, the words.
one sum for all rows | sum(-1, keepdim=True) -> sum()
    You divide by the sum over the whole batch: each row has a sum of its own.
logarithms | z = scores / temperature; return z - torch.logsumexp(z, -1, keepdim=True)
    These are the logarithms of the weights: all are negative. Take exp of them.
no exponential | (z - z.amax(-1, keepdim=True)).exp() -> z
    You divide scores by their sum: weights can be negative so. Raise e to them first.
detached, keeps 2 | R -> R.detach()
    The values are right, but no gradient reaches the scores: something is detached.
""",
    draw=draw_softmax,
    oracle=lambda scores, temperature: softmax_rows(scores / temperature),
    forbidden=("softmax", "log_softmax", "Softmax", "LogSoftmax", "softmin"),
)

Q2 = question(
    """q2: Who may look where
attention_mask(lengths, causal)
read chapters/02_soft_addressing: which positions may take part
padding, 1 point: every position; every position, one sentence
    Column i of sentence b is True where i is smaller than the sentence's length, in every row.
no look ahead, 1 point: causal; causal, as many sentences as words; causal, one sentence; causal, one word; causal, an empty sentence
    Row t may look at columns up to t, t itself among them, and at no pad. (A sentence of length 0
    has nothing but pads.)
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
always causal, keeps 1 | mask & past if causal else mask -> mask & past
    You never look ahead, even where causal is False: an encoder may.
pads forgotten
    | mask = torch.arange(S)[None, :] < lengths[:, None] -> mask = torch.ones(len(lengths), S, dtype=torch.bool)
    You never use the lengths: pads may be attended.
pads forgotten where causal, keeps 1
    | mask & past if causal else mask -> past.expand(len(lengths), S, S) if causal else mask
    Where causal is True you forget the padding: both conditions hold then.
length of the first sentence | int(lengths.max()) -> int(lengths[0])
    You take the first sentence for the longest: sentences come in any order, so S is lengths.max().
a word in every sentence, keeps 1 | < lengths[ -> < lengths.clamp(min=1)[
    You give every sentence a word at least: one of length 0 has nothing but pads.
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
    Rows of pads are closed as well: the lengths close columns, in every row alike.
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
    read chapters/02_soft_addressing: the test that finds them all
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
divided again where nothing is left, keeps 2 | (states @ w).masked_fill(~mask, -torch.inf), -1) -> states @ w, -1) * mask; a = a / a.sum(-1, keepdim=True)
    You mask after the softmax and divide again by what is left, which is 0 where a pad's score lies far above
    those of the words: mask the scores, before the softmax.
a fill that a score may reach, keeps 2 | -torch.inf -> -1e4
    Where the scores of all words lie far below zero, your pads win: they are filled with a number
    that a score may reach, or masked after the softmax. Fill their scores with minus infinity.
renormalised with a small constant
    | a = torch.softmax(states @ w, -1) * mask; a = a / (a.sum(-1, keepdim=True) + 1e-13)
    | return (a[:, :, None] * states).sum(1)
    You mask after the softmax and divide again: where a pad has by far the largest score, the words
    are left with nothing but rounding. Mask the scores.
scaled | (states @ w).masked_fill -> (states @ w / len(w) ** 0.5).masked_fill
    You divide the scores by the square root of d: that belongs to scaled dot products. The formula
    has no scale.
mask added to the scores | (states @ w).masked_fill(~mask, -torch.inf) -> states @ w + mask
    You add the mask as 0 and 1, which raises real words by 1 and closes no pad: it is minus
    infinity that must be added at pads.
softmax of a masked product | (states @ w).masked_fill(~mask, -torch.inf) -> states @ w * mask
    You set the scores of pads to 0, or nearly 0 (is a minus in the wrong place?), which is a score
    like any other: fill them with minus infinity.
pads behind the words taken for granted, keeps 2
    | states = states -> mask = torch.arange(states.shape[1]) < mask.sum(1, keepdim=True); states = states
    You count the words and assume that pads come last: use the mask as it is.
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
    The weights that stay are too small by the factor 1 - p: divide them by 1 - p.
a coin of exactly p goes, keeps 1 | coins >= p -> coins > p
    A coin may be exactly p, and the weight stays then: at least p is >=.
coins counted from the other end, keeps 1 | coins >= p -> coins < 1 - p
    You keep a weight where its coin lies below 1 - p: that is as often, but it keeps others. A weight
    stays where its coin is at least p.
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
    dice=("coins",),
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
    You inverted the fraction: a higher temperature flattens, so the difference of the scores
    stands on top.
difference left out | 0.91 -> 0.46
    You left out the difference of the scores, which is 2: one over the logarithm is for a difference
    of 1.
logarithm alone | 0.91 -> 2.20
    This is the logarithm of the ratio: the difference of the scores, divided by it, is the
    temperature.
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

# What the tests of the last question are given.
PROGRAMS = """RIGHT
# fills with the smallest number before the softmax, and clears the pads behind it
def masked_softmax(scores, mask):
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(filled, dim=-1)
    return weights.masked_fill(~mask, 0.0)
# adds 1e-7 to each row's sum, so that the last digits differ
def masked_softmax(scores, mask):
    filled = scores.masked_fill(~mask, -torch.inf)
    top = filled.amax(-1, keepdim=True)
    raised = (filled - top.masked_fill(top == -torch.inf, 0.0)).exp()
    return raised / (raised.sum(-1, keepdim=True) + 1e-7)
# takes the words of each row by themselves
def masked_softmax(scores, mask):
    rows = []
    for row, real in zip(scores, mask):
        rows.append(torch.zeros_like(row).masked_scatter(real, torch.softmax(row[real], -1)))
    return torch.stack(rows)
# computes in double precision and rounds at the end, so that last digits differ
def masked_softmax(scores, mask):
    exact = scores.double().masked_fill(~mask, -1e300)
    return (torch.softmax(exact, -1) * mask).to(scores.dtype)
# raises 2 to a power instead of e, so that last digits differ
def masked_softmax(scores, mask):
    bits = scores.masked_fill(~mask, -1e30)
    bits = (bits - bits.amax(-1, keepdim=True)) * math.log2(math.e)
    raised = torch.exp2(bits) * mask
    return raised / raised.sum(-1, keepdim=True).clamp_min(1e-30)
# takes the exponential of log_softmax, which may round the last digits differently
def masked_softmax(scores, mask):
    filled = torch.where(mask, scores, torch.full_like(scores, -1e30))
    return torch.log_softmax(filled, -1).exp() * mask
WRONG
mask inverted | ~mask, torch.finfo -> mask, torch.finfo; ~mask, 0.0 -> mask, 0.0
    takes True for a pad
mask never used | return torch.softmax(scores, -1)
    never looks at the mask
masked scores set to zero | return torch.softmax(scores.masked_fill(~mask, 0.0), -1)
    gives pads a score of 0, and so a weight
mask added | return torch.softmax(scores + mask.to(scores.dtype), -1)
    adds the mask to the scores as 0 and 1
masked after the softmax | return torch.softmax(scores, -1) * mask
    sets the weights of pads to 0 after the softmax, and does not divide again
over the batch | dim=-1 -> dim=0
    takes the softmax down the columns, over the sentences of the batch
scores never read | filled = scores -> filled = torch.zeros_like(scores)
    gives the words of a row equal weights, whatever their scores
scores doubled | torch.softmax(filled, dim=-1) -> torch.softmax(2 * filled.clamp_min(-1e30), dim=-1)
    doubles the scores: its rows sum to 1, its pads weigh nothing, and its numbers are wrong
equal weights in an empty row | return torch.softmax(scores.masked_fill(~mask, -1e9), -1)
    gives weights to a row in which nothing may be attended
NaN in an empty row | return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
    gives NaN for a row in which nothing may be attended
renormalised with a small constant
    | weights = torch.softmax(scores, -1) * mask
    | return weights / (weights.sum(-1, keepdim=True) + 1e-13)
    is right until a pad's score stands far above those of the words
a fill that a score may reach | torch.finfo(scores.dtype).min -> -1e4
    is right until the scores of all words lie far below zero
overflow | raised = (scores * mask).exp() * mask; return raised / raised.sum(-1, keepdim=True).clamp_min(1e-30)
    takes exp of the scores as they are, which overflows or vanishes where they are large
scores changed | scores.masked_fill -> scores.masked_fill_
    writes into the scores that it was given
the first mask for all | filled = scores -> mask = mask[:1].expand_as(mask); filled = scores
    uses the first sentence's mask for the whole batch
pads taken to come last
    | filled = scores -> mask = torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)
    | filled = scores
    counts the words of a row and takes it that pads come last
words taken to come last
    | filled = scores -> mask = (torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)).flip(-1)
    | filled = scores
    counts the words of a row and takes it that pads come first
mask of an earlier call
    | def masked_softmax(scores, mask, kept={}):
    |     mask = kept.setdefault(mask.shape, mask)
    |     filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    |     return torch.softmax(filled, -1).masked_fill(~mask, 0.0)
    keeps the mask of an earlier call and uses it again
a batch of one loses its axis | weights.masked_fill(~mask, 0.0) -> weights.masked_fill(~mask, 0.0).squeeze(0)
    returns (S,) instead of (1, S) where the batch has one sentence
"""

Q6 = question(
    """q6: A test that finds the broken ones
check_masked_softmax(masked_softmax)
read chapters/02_soft_addressing: the test that finds them all
mask and scores, 1 point: right code; mask inverted; mask never used; masked scores set to zero; mask added; masked after the softmax; over the batch; scores never read; scores doubled
    Set the weights beside numbers that you know, in several rows, with pads.
rare rows, 1 point: right code; equal weights in an empty row; NaN in an empty row; renormalised with a small constant; a fill that a score may reach; overflow
    Try a row without words, and scores that are very large, very small, or largest at a pad.
calls and batches, 1 point: right code; scores changed; the first mask for all; pads taken to come last; words taken to come last; mask of an earlier call; a batch of one loses its axis
    Call it more than once, with pads on either side, and look at what it was given as well.
RIGHT
def check_masked_softmax(masked_softmax):
    mask = torch.tensor([[True, True, False], [False, True, True], [False, False, False]])
    for scores in (
        torch.tensor([[2.0, 1.0, 0.0], [3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]),
        torch.tensor([[2.0, 1.0, 90.0], [90.0, 1.0, 2.0], [1.0, 2.0, 3.0]]),
        torch.tensor([[-2e4, -2e4, 0.0], [0.0, -2e4, -2e4], [1.0, 2.0, 3.0]]),
        torch.tensor([[2e4, 2e4, 0.0], [0.0, 2e4, 2e4], [1.0, 2.0, 3.0]]),
    ):
        for rows in ([0, 1, 2], [2, 1, 0], [1]):
            given, real = scores[rows], mask[rows]
            expected = torch.zeros_like(given)
            for row, e, words in zip(expected, given, real):
                row[words] = torch.softmax(e[words], 0)
            weights = masked_softmax(given, real)
            assert weights.shape == given.shape
            assert torch.equal(given, scores[rows])
            assert torch.allclose(weights, expected, atol=1e-5)
def check_masked_softmax(masked_softmax):
    T, N = True, False
    for scores, mask, weights in (
        ([[0.0, 1.0986, 60.0], [60.0, 0.0, 1.0986]], [[T, T, N], [N, T, T]], [[0.25, 0.75, 0.0], [0.0, 0.25, 0.75]]),
        ([[0.0, 1.0986, 60.0], [60.0, 0.0, 1.0986]], [[N, N, N], [N, T, N]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        ([[-3e4, -3e4, 5.0]], [[T, T, N]], [[0.5, 0.5, 0.0]]),
        ([[3e4, 3e4, 5.0]], [[T, T, N]], [[0.5, 0.5, 0.0]]),
    ):
        given = torch.tensor(scores)
        found = masked_softmax(given, torch.tensor(mask)).tolist()
        assert given.tolist() == torch.tensor(scores).tolist(), "the scores were changed"
        for row, right in zip(found, weights):
            for one, other in zip(row, right):
                assert abs(one - other) < 1e-3, f"{one} is not {other}"
def check_masked_softmax(masked_softmax):
    torch.manual_seed(3)
    for B in (1, 9, 9):
        mask = torch.rand(B, 4) < 0.5
        mask[-1] = B == 1
        scores = torch.where(mask, torch.randn(B, 4) - 3e4, 70.0)
        right = torch.softmax(scores.double().masked_fill(~mask, -1e300), -1) * mask
        given = scores.clone()
        torch.testing.assert_close(masked_softmax(given, mask), right.float(), atol=1e-5, rtol=1e-5)
        assert torch.equal(given, scores)
def softmax_in_numpy(scores, mask):
    raised = np.exp(scores - np.max(scores, -1, where=mask, initial=-1e9, keepdims=True), where=mask, out=np.zeros(scores.shape))
    return raised / np.maximum(raised.sum(-1, keepdims=True), 1e-30)
def check_masked_softmax(masked_softmax):
    rng = np.random.default_rng(7)
    for B in (1, 4):
        for far, pad in ((0, 0), (0, 50), (-40000, 0), (40000, 0)):
            for _ in range(4):
                mask = rng.random((B, 5)) < 0.5
                scores = np.where(mask, far, pad) + rng.integers(-3, 4, (B, 5))
                given = torch.tensor(scores, dtype=torch.float32)
                weights = masked_softmax(given, torch.tensor(mask))
                assert np.array_equal(given.numpy(), scores), "the scores were changed"
                np.testing.assert_allclose(weights, softmax_in_numpy(scores, mask), atol=1e-5)
def check_masked_softmax(f):
    def weights(scores, mask):
        given = torch.tensor(scores)
        result = f(given, torch.tensor(mask))
        if not torch.equal(given, torch.tensor(scores)) or result.shape != given.shape:
            raise AssertionError("the scores were changed, or are of another shape")
        return result.flatten().double().round(decimals=3).tolist()
    assert weights([[-89999.0, -90000.0, 80.0], [80.0, 2.0, 1.0]], [[True, True, False], [False, True, True]]) == [0.731, 0.269, 0.0, 0.0, 0.731, 0.269]
    assert weights([[4.0, 5.0, 6.0], [5.0, 6.0, 7.0]], [[False, False, False], [True, False, True]]) == [0.0, 0.0, 0.0, 0.119, 0.0, 0.881]
    assert weights([[6.0, 7.0]], [[True, True]]) == [0.269, 0.731]
WRONG
says nothing
    | weights = masked_softmax(torch.tensor([[2.0, 2.0, 90.0]]), torch.tensor([[True, True, False]]))
    | print(torch.allclose(weights, torch.tensor([[0.5, 0.5, 0.0]])))
    Your test keeps silent on every program, broken ones too. Is there an assert in it that can
    fail? (With brackets around it and its message it cannot.)
returned instead of asserted
    | weights = masked_softmax(torch.tensor([[2.0, 2.0, 90.0]]), torch.tensor([[True, True, False]]))
    | return torch.allclose(weights, torch.tensor([[0.5, 0.5, 0.0]]))
    You return whether the function is right. pytest looks at no result: write assert instead of
    return.
refuses everything | weights = masked_softmax(given, real) -> weights = masked_softmax(given, ~real)
    Your test refuses every program, right ones too: in this book True in a mask means MAY be
    attended, and each right function must pass every assert.
last digits compared | torch.allclose(weights, expected, atol=1e-5) -> torch.equal(weights, expected)
    Your test refuses right code whose last digits are rounded differently: compare with
    torch.allclose and an atol, not with == or torch.equal.
NaN expected where nothing may be attended
    | torch.zeros_like(given) -> torch.where(real.any(-1, keepdim=True), 0.0, math.nan).expand(-1, 3).clone()
    | atol=1e-5 -> atol=1e-5, equal_nan=True
    Your test refuses right code since it expects something else than 0 in a row in which nothing
    may be attended: the question asks for zeros there.
no pads at all | mask = torch.tensor([[True, True, False], [False, True, True], [False, False, False]]) -> mask = torch.ones(3, 3, dtype=torch.bool)
    Your test never closes anything: with a mask of nothing but True, a function that does not look
    at its mask is right. Put False into it.
sums alone, keeps 1 | assert torch.allclose(weights, expected, atol=1e-5) -> assert torch.allclose(weights.sum(-1), expected.sum(-1), atol=1e-5)
    Your test looks at sums of rows alone, or at little more: weights on pads, and wrong weights on
    words, sum to 1 as well. Set each weight beside a number that you know.
pads alone, keeps 1 | assert torch.allclose(weights, expected, atol=1e-5) -> assert (weights[~real] == 0).all()
    Your test looks at pads alone, or at little more: what do the words get? Set their weights beside
    numbers that you know.
a tolerance that hides all | atol=1e-5 -> atol=0.9
    You leave so much room that wrong weights fit in as well: an atol of 1e-4 is enough for rounding.
one row and no more
    | weights = masked_softmax(torch.tensor([[0.0, 0.0, 9.0]]), torch.tensor([[True, True, False]]))
    | assert torch.allclose(weights, torch.tensor([[0.5, 0.5, 0.0]]), atol=1e-4)
    Your test sees the plainest bugs alone, as it would with one short sentence. Set each weight beside a
    number that you know, in several rows: with other scores, pads in front, and a row without words.
no row without words, keeps 2 | [False, False, False]]) -> [True, True, True]])
    Your test tries no row in which nothing may be attended: all of that row's weights must be 0.
plain scores alone, keeps 2
    | torch.tensor([[2.0, 1.0, 90.0], [90.0, 1.0, 2.0], [1.0, 2.0, 3.0]]), ->
    | torch.tensor([[-2e4, -2e4, 0.0], [0.0, -2e4, -2e4], [1.0, 2.0, 3.0]]), ->
    | torch.tensor([[2e4, 2e4, 0.0], [0.0, 2e4, 2e4], [1.0, 2.0, 3.0]]), ->
    Your test tries plain scores alone. Let pads stand far above the words, and the words of a row
    far below and far above 0.
friendly pads, keeps 2
    | torch.tensor([[2.0, 1.0, 90.0], [90.0, 1.0, 2.0], [1.0, 2.0, 3.0]]), ->
    | [[-2e4, -2e4, 0.0], [0.0, -2e4, -2e4], -> [[-2e4, -2e4, -3e4], [-3e4, -2e4, -2e4],
    The pads of your test are friendly, since their scores lie near those of the words or below: let one
    stand far above them.
what it was given never looked at, keeps 2 | assert torch.equal(given, scores[rows]) ->
    Your test never looks whether the scores are still what they were: compare them with a copy.
    (Without a copy you compare them with themselves.)
shape never looked at, keeps 2 | assert weights.shape == given.shape ->
    Your test lets a result of another shape through, which shows in a batch of one sentence: (S,) and
    (1, S) look alike to allclose. Try one, and compare shapes.
one sentence at a time, keeps 2 | [0, 1, 2], [2, 1, 0], [1] -> [0], [1], [2]
    Your test hands over one sentence at a time: what goes wrong between the sentences of a batch it
    cannot see.
one mask for all calls, keeps 2 | [0, 1, 2], [2, 1, 0], [1] -> [0, 1, 2], [1]
    All calls of your test that have one shape have the same mask too: call with the same shape and
    another mask.
pads behind the words alone, keeps 2 | [False, True, True] -> [True, False, False]
    Your test puts pads behind the words alone: they may stand in front of them, and between them.
pads in front of the words alone, keeps 2 | [True, True, False], -> [False, False, True],
    Your test puts pads in front of the words alone: they may stand behind them, and between them.
""",
    **a_test("masked_softmax", PROGRAMS),
)

EXERCISE = Exercise("02_softmax", "Softmax, temperature, masks", (Q1, Q2, Q3, Q4, Q5, Q6))
