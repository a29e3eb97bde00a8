"""How the exercise on additive attention is graded: oracles, cases, known mistakes.

The oracles are loops in float64, written from the formulas. Nothing here imports seqattn's
attention, and nothing of it is in the notebook that learners get.
"""

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import COMMON_SIZES, fill_pads, mixture, normal, padding, softmax_rows
from seqattn.grading.probes import module
from seqattn.grading.questions import question

# --- Oracles ---------------------------------------------------------------------------------------


def score(query, keys, W_q, W_k, v):
    e = np.zeros((len(query), keys.shape[1]))
    for row, i in np.ndindex(*e.shape):
        sentence = row // (len(query) // len(keys))
        e[row, i] = v @ np.tanh(W_q @ query[row] + W_k @ keys[sentence, i])
    return e


def context(query, keys, mask, W_q, W_k, v):
    weights = softmax_rows(score(query, keys, W_q, W_k, v), mask)
    return mixture(weights, keys, mask), weights


def sharpest(v, words):
    # tanh lies between -1 and 1: one word has all signs with it, the others all against them.
    most = sum(abs(x) for x in v)
    return np.array(1 / (1 + (words - 1) * np.exp(-2 * most)))


# --- Cases -----------------------------------------------------------------------------------------

SIZES = COMMON_SIZES | {  # B, K, S, d_q, d_k, d_a
    "other sizes": (3, 2, 4, 5, 2, 3),
    "one sentence": (1, 3, 4, 2, 3, 5),
    "nothing to attend": (3, 2, 4, 2, 3, 5),
    "large": (2, 3, 4, 3, 5, 2),
    "one query for a sentence": (3, 1, 5, 2, 4, 3),
    "many queries": (44, 45, 2, 4, 3, 5),
    "one feature": (2, 1, 4, 3, 1, 5),
    "any pattern": (4, 1, 6, 4, 3, 5),
    "hundreds": (2, 3, 4, 3, 5, 2),
    "padded in front": (3, 1, 5, 4, 3, 5),
    "long v": (4, 1, 5, 3, 4, 6),
}


def mask_of(rng, kind, B, S):
    if kind in ("padded", "nothing to attend", "large", "hundreds", "long v"):
        return padding(rng, B, S, empty=kind == "nothing to attend")
    if kind in ("padded in front", "any pattern"):
        mask = padding(rng, B, S)
        if kind == "any pattern":
            return rng.permuted(mask, axis=1)
        mask = mask[:, ::-1].copy()
        mask[:, 0] = False
        return mask
    return np.ones((B, S), bool)


def draw_score(rng, kind, each=0):
    """Draw states and weights: as many queries for each sentence as the kind says, or ``each``."""
    B, K, S, d_q, d_k, d_a = SIZES[kind]
    shapes = (B * (each or K), d_q), (B, S, d_k), (d_a, d_q), (d_a, d_k), (d_a,)
    return tuple(normal(rng, *shape) for shape in shapes)


def draw_softmax(rng, kind):
    B, _, S, *_ = SIZES[kind]
    scores = normal(rng, B, S, scale=2.0)
    if kind == "large":
        scores = scores + rng.choice([-12_000.0, 9000.0], size=(B, 1)).astype(np.float32)
        scores[0, 0] += np.float32(3.0)
        # One far above the others: their mean, or the smallest, is no help against overflow.
        scores[1:, 0] += np.float32(2000.0)
    if kind == "hundreds":
        # As far from 0 as overflows, and no further: gradients differ by what rounding leaves.
        scores += rng.choice([-200.0, 200.0], size=(B, 1)).astype(np.float32)
    return scores, mask_of(rng, kind, B, S)


def draw_context(rng, kind):
    while True:
        query, keys, W_q, W_k, v = draw_score(rng, kind, each=1)
        mask = mask_of(rng, kind, *keys.shape[:2])
        if kind == "long v":
            # So long that a pad, even if zeros are put into it, stands far above all words.
            v *= 40
            e = score(query, np.where(mask[..., None], keys, 0.0), W_q, W_k, v)
            if not any(
                (e[b][~m].max(initial=-np.inf) > e[b][m].max() + 40) for b, m in enumerate(mask)
            ):
                continue
        if kind == "padded":
            # Entries beyond 1, of both signs: the largest float at a pad overflows either way.
            W_k[0, :2] = rng.permutation([-1.5, 1.5])
        fill_pads(rng, keys, mask, scale=50.0)
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
    hostile = kind == "hostile pads"
    query, keys, mask, W_q, W_k, v = draw_context(rng, "padded" if hostile else kind)
    if hostile:
        keys[~mask] = np.nan
    sizes = (query.shape[-1], keys.shape[-1], len(v))
    return sizes, {"W_q": W_q, "W_k": W_k, "v": v}, (query, keys, mask)


# --- Questions -----------------------------------------------------------------------------------

Q1 = question(
    """q1: The additive score
additive_score(query, keys, W_q, W_k, v)
read chapters/03_additive: in general: a network with two layers
the formula, 1 point: ordinary; other sizes; all sizes equal; one word; one sentence; one query for a sentence
    Set each symbol of e = v · tanh(W_q s + W_k h) beside your line: same matrix, same place, one
    tanh over the sum, v last? And does each query meet the words of its own sentence?
without a loop, 1 point, 40 calls: many queries
    The scores of a larger batch must come out of the same few calls: no loop over words, and none
    over sentences or queries.
gradients, 1 point, backward: ordinary
    The scores are right but their gradients are not: no detach, no .data, no NumPy on the way, and
    every argument must take part.
RIGHT
def additive_score(query, keys, W_q, W_k, v):
    asked = (query @ W_q.T).unflatten(0, (len(keys), -1))
    scores = torch.tanh(asked.unsqueeze(2) + (keys @ W_k.T).unsqueeze(1)) @ v
    return scores.flatten(0, 1)
def additive_score(q, K, Wq, Wk, v):
    K = K.repeat_interleave(q.shape[0] // K.shape[0], 0)
    both = torch.cat([q[:, None, :].expand(-1, K.shape[1], -1), K], -1)
    return torch.tanh(both @ torch.cat([Wq, Wk], 1).T) @ v
def additive_score(query, keys, W_q, W_k, v):
    whose = torch.arange(len(query)) * len(keys) // len(query)
    hidden = torch.einsum('ad,bd->ba', W_q, query)[:, None]
    hidden = hidden + torch.einsum('ad,bsd->bsa', W_k, keys)[whose]
    return torch.einsum('a,bsa->bs', v, hidden.tanh())
additive_score = lambda q, K, Wq, Wk, v: F.linear(torch.tanh(F.linear(q, Wq).view(len(K), -1, 1, len(v)) + F.linear(K, Wk)[:, None]), v[None]).view(len(q), -1)
WRONG
a loop, keeps 2
    | scores = torch.tanh(asked.unsqueeze(2) + (keys @ W_k.T).unsqueeze(1)) @ v ->
    | return scores.flatten(0, 1) -> return torch.cat([torch.tanh(a[:, None] + b) @ v for a, b in zip(asked, keys @ W_k.T)])
    The scores are right, but you go through words, sentences, queries or features one by one,
    which is slow where it counts: let one product compute all of them.
keys repeated in the wrong order | K.repeat_interleave(q.shape[0] // K.shape[0], 0) -> K.repeat(q.shape[0] // K.shape[0], 1, 1)
    Your second query meets the second sentence, as if the batch stood behind itself (repeat does that):
    the queries of a sentence stand side by side. Use repeat_interleave, or an axis of its own for them.
    read chapters/03_additive: five lines of PyTorch
one query for each sentence | asked.unsqueeze(2) + (keys @ W_k.T).unsqueeze(1) -> (query @ W_q.T).unsqueeze(1) + keys @ W_k.T
    | scores.flatten(0, 1) -> scores
    Your line fits one query for each sentence. A sentence has K of them, the length of query over
    that of keys: give the queries an axis of their own, or repeat each sentence's keys K times.
queries read in the wrong order | unflatten(0, (len(keys), -1)) -> unflatten(0, (-1, len(keys))).transpose(0, 1)
    You deal the queries out to the sentences in turn: all those of the first sentence come first, so
    the sentences are the outer of the two axes.
rows in another order | scores.flatten(0, 1) -> scores.transpose(0, 1).flatten(0, 1)
    Your scores are right and stand in other rows: a row for each query, in the order in which the
    queries came.
first query for all | asked.unsqueeze(2) -> asked[:, :1].expand_as(asked).unsqueeze(2)
    All queries of a sentence get the scores of its first one: each has its own.
queries of a sentence averaged | asked.unsqueeze(2) -> asked.mean(1, keepdim=True).expand_as(asked).unsqueeze(2)
    You average the queries of a sentence: each of them has a row of scores of its own.
first sentence for all | (keys @ W_k.T).unsqueeze(1) -> (keys @ W_k.T)[:1].unsqueeze(1)
    All queries score the first sentence: each has a sentence of its own.
an axis for the sentences | scores.flatten(0, 1) -> scores
    Your scores are (B, K, S): the rows stay as the queries came, (B * K, S). Flatten the first two axes.
keys never read | (keys @ W_k.T) -> (0 * (keys @ W_k.T))
    Your scores never read the keys: all words of a sentence get the same score, and the softmax
    makes equal weights of them.
product for sum | .unsqueeze(2) + (keys -> .unsqueeze(2) * (keys
    You multiply the two projections; the score is called additive because they are added.
matrices exchanged, keeps 1
    | asked = -> W_q, W_k = (W_k, W_q) if W_k.shape == W_q.shape else (W_q, W_k); asked =
    W_q and W_k are exchanged: W_q belongs to the query, W_k to the keys. It shows where their sizes
    are equal.
half precision
    | asked = -> query, keys, W_q, W_k, v = (x.half().to(x.dtype) for x in (query, keys, W_q, W_k, v))
    | asked =
    You round to 16 bits on the way: keep the precision that comes in.
not transposed, keeps 1
    | query @ W_q.T -> query @ a; keys @ W_k.T -> keys @ b
    | asked = -> square = W_q.shape[0] == W_q.shape[1] == W_k.shape[1]
    | a, b = (W_q, W_k) if square else (W_q.T, W_k.T); asked =
    Where all sizes are equal, q @ W_q runs as well, and is another product: W_q s is q @ W_q.T.
no tanh | torch.tanh ->
    Your scores are linear in the states: where is the tanh? Without it the query moves all scores
    by the same amount, and softmax does not see it.
tanh on each projection
    | torch.tanh(asked.unsqueeze(2) -> (torch.tanh(asked).unsqueeze(2)
    | (keys @ W_k.T).unsqueeze(1) -> torch.tanh(keys @ W_k.T).unsqueeze(1)
    You take tanh of each projection; add the two first, and take one tanh over the sum.
weights instead of scores | R -> torch.softmax(R, -1)
    Your rows sum to 1: these are weights. Return the scores, before any softmax.
another nonlinearity | tanh -> relu
    The hidden layer uses relu; the formula has tanh, by which one feature can count for one
    position and against another.
sigmoid | tanh -> sigmoid
    The hidden layer uses a sigmoid; the formula has tanh.
difference instead of sum | + (keys -> - (keys
    You subtract the two projections; the score is called additive because they are added.
v inside tanh | tanh( -> tanh((; @ v -> @ v)
    tanh comes last in your line; it belongs before the product with v. Your scores can never leave
    the range from -1 to 1.
scaled | R -> R / math.sqrt(len(v))
    You divide by the square root of a size; that belongs to the scaled dot product. The additive
    score has no scale.
mean over features | torch.tanh -> (torch.tanh; @ v -> * v).mean(-1)
    You average over the d_a features; the product with v is a sum.
detached, keeps 2 | ) @ v -> ).detach() @ v
    The values are right, but only v gets a gradient: something on the way is detached.
one number too many dimensions | @ v -> @ v[:, None]
    Your scores are (B * K, S, 1): the product with v should remove the last axis. Multiply by v itself,
    or squeeze.
squeezed too much, keeps 1 | R -> R.squeeze()
    squeeze() without an axis also removes the only row, and the sentence of one word: name the axis.
""",
    draw=draw_score,
    oracle=score,
)

Q2 = question(
    """q2: Softmax with a mask
masked_softmax(scores, mask)
read chapters/02_soft_addressing: where it breaks: masks
weights under a mask, 1 point: ordinary; padded; any pattern; all sizes equal; one word; one sentence
    Mask the scores, before the softmax: minus infinity where the mask is False, then normalise what
    is left.
extreme scores, 1 point: large; padded
    Scores may lie far above and far below any number that you fill with, and masked ones may be
    NaN: put minus infinity in their place, and use a softmax that does not overflow.
rows with nothing to attend, 1 point: nothing to attend
    A row in which nothing may be attended must give zeros.
    read chapters/02_soft_addressing: a row with nothing to attend (optional)
gradients, 1 point, backward: padded; nothing to attend; hundreds
    The weights are right but the gradients of the scores are not: no detach, no .data, no NumPy on
    the way.
    read chapters/02_soft_addressing: a row with nothing to attend (optional)
RIGHT
def masked_softmax(scores, mask):
    empty = ~mask.any(-1, keepdim=True)
    filled = scores.masked_fill(~mask & ~empty, float('-inf'))
    return torch.softmax(filled, dim=-1).masked_fill(empty, 0.0)
def masked_softmax(scores, mask):
    scores = scores.masked_fill(~mask, -torch.inf)
    largest = scores.amax(-1, keepdim=True)
    raised = (scores - largest.masked_fill(largest == -torch.inf, 0.0)).exp()
    total = raised.sum(-1, keepdim=True)
    return raised / total.masked_fill(total == 0, 1.0)
def masked_softmax(s, m):
    lowest = torch.finfo(s.dtype).min
    return torch.where(m, torch.where(m, s, lowest).softmax(-1), 0.0)
def masked_softmax(scores, mask):
    rows = []
    for s, m in zip(scores, mask):
        row = torch.zeros_like(s)
        if m.any():
            row = row.masked_scatter(m, s[m].softmax(0))
        rows.append(row)
    return torch.stack(rows)
def masked_softmax(s, m):
    return torch.nan_to_num(torch.softmax(s.masked_fill(~m, float('-inf')), -1))
WRONG
mask after softmax | return torch.softmax(scores, -1) * mask
    You normalise first and mask afterwards: the rows no longer sum to 1. Mask the scores.
renormalised with a small constant, keeps 2
    | w = torch.softmax(scores, -1) * mask; return w / (w.sum(-1, keepdim=True) + 1e-13)
    You mask after the softmax and divide again: where a pad has by far the largest score, the words
    are left with nothing but rounding. Mask the scores.
put to zero and masked after the softmax, keeps 2
    | w = torch.softmax(scores.masked_fill(~mask, 0.0), -1) * mask
    | return w / (w.sum(-1, keepdim=True) + 1e-13)
    You fill masked scores with a number such as 0, and mask once more after the softmax: where all
    words score far below it, the pads have taken all the weight by then. Fill with minus infinity.
minus infinity added, keeps 2
    | return torch.softmax(scores + mask.to(scores.dtype).log(), -1).nan_to_num()
    You add minus infinity to masked scores, which does not remove one that is NaN or infinite: put
    something in its place, by masked_fill or torch.where.
mask added to the scores | return torch.softmax(scores + mask, -1)
    You add the mask as 0 and 1, which raises real words by 1 and closes no pad: it is minus
    infinity that must stand at pads.
minus infinity after the softmax
    | return torch.softmax(scores, -1).masked_fill(~mask, -torch.inf)
    You put minus infinity into the weights, where it is no weight: it belongs in the scores,
    before the softmax turns it into 0.
filled with zero
    | return torch.softmax(scores.masked_fill(~mask, 0.0), -1)
    You fill masked scores with 0, or nearly 0 (is a minus in the wrong place?), which is a score
    like any other and gets weight: fill with minus infinity.
a large number without its minus
    | return torch.softmax(scores.masked_fill(~mask, 1e6), -1)
    You fill masked scores with a large number above 0, so that pads get all the weight: is a minus
    missing?
mask never used | return torch.softmax(scores, -1)
    You never use the mask: what is masked gets weight like the rest.
scores times mask, renormalised, keeps 2
    | w = torch.softmax(scores * mask, -1) * mask; return w / (w.sum(-1, keepdim=True) + 1e-13)
    You multiply the scores by the mask, which gives masked positions a score of 0 (NaN if they held
    that): far above words that score far below 0, it takes all their weight. Fill with minus
    infinity.
divided by a sum of zero, keeps 1
    | w = torch.softmax(scores, -1) * mask; return w / w.sum(-1, keepdim=True)
    You mask after the softmax and divide by what is left, which is 0 where nothing may be attended,
    or where a pad has by far the largest score: mask the scores.
pads behind the words taken for granted, keeps 2
    | scores = scores -> mask = torch.arange(scores.shape[1]) < mask.sum(1, keepdim=True); scores = scores
    You count the words and assume that pads come last: use the mask as it is.
mask turned round
    | return torch.nan_to_num(torch.softmax(scores.masked_fill(mask, float('-inf')), -1))
    All the weight sits on the masked positions: True means that a position MAY be attended.
NaN in empty rows, keeps 3 | return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
    A row with nothing to attend gives NaN. It should give zeros.
detached, keeps 3 | R -> R.detach()
    The values are right, but no gradient reaches the scores: something is detached.
a small number for minus infinity
    | return torch.softmax(scores.masked_fill(~mask, -10.0), -1) * mask.any(-1, keepdim=True)
    Masked positions get weights that are small but not 0: fill their scores with minus infinity,
    not with -10.
scores times mask | return torch.softmax(scores * mask, -1)
    A score of 0 is a score like any other, and gets weight: fill masked scores with minus infinity
    instead of multiplying by the mask.
no maximum subtracted, keeps 2
    | raised = scores.exp() * mask; return raised / (raised.sum(-1, keepdim=True) + 1e-20)
    exp of a score of several thousand is infinite, and of minus several thousand 0: subtract the
    row's largest score first.
equal weights in empty rows, keeps 3
    | return torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), -1)
    A row with nothing to attend gets equal weights, on padding. It should get zeros.
normalised over sentences | return torch.softmax(scores.masked_fill(~mask, -1e30), 0) * mask
    You normalise over the batch; each row must sum to 1, so normalise over the last axis.
input changed
    | scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    | return torch.softmax(scores, -1) * mask
    Your function changes its input: use masked_fill, not masked_fill_.
maximum over pads as well, keeps 2
    | raised = (scores - scores.max()).exp() * mask; total = raised.sum(-1, keepdim=True)
    | return raised / total.masked_fill(total == 0, 1.0)
    You subtract the largest score of the whole batch: rows far below it vanish. Take each row's own
    largest score, pads left out.
largest of the row over pads as well, keeps 2
    | raised = (scores - scores.amax(-1, keepdim=True)).exp().masked_fill(~mask, 0.0)
    | return raised / raised.sum(-1, keepdim=True).clamp(min=1e-20)
    The largest score that you subtract may be a pad's, or NaN: the words then vanish beside it. Take
    the largest of the words alone.
a fill that a score may reach, keeps 3
    | return torch.softmax(scores.masked_fill(~mask, -1e4), -1) * mask.any(-1, keepdim=True)
    You fill with a number that scores may reach, so that pads get weight where all words score below
    it: fill with minus infinity.
""",
    draw=draw_softmax,
    oracle=softmax_rows,
    pads=(500.0, -500.0, float("nan"), float("inf"), float("-inf")),
)

Q3 = question(
    """q3: The context
attend(query, keys, mask, W_q, W_k, v)
read chapters/03_additive: masks
context and weights, 1 point: ordinary; other sizes; all sizes equal; one word; one sentence; one feature
    Context: for each sentence, the sum over its words of weight times key. Weights: softmax of the
    scores.
padding, 1 point: padded; nothing to attend; padded in front; long v
    Something is wrong with pads: they have weight 0, a sentence of nothing but pads has weights of
    0 alone, and what pads hold must not reach the sum.
    read chapters/02_soft_addressing: the test that finds them all
gradients, 1 point, backward: padded; nothing to attend
    Context and weights are right but the gradients of the arguments are not: no detach, no .data,
    no NumPy on the way.
    read chapters/02_soft_addressing: a row with nothing to attend (optional)
RIGHT
def attend(query, keys, mask, W_q, W_k, v):
    keys = keys.masked_fill(~mask[..., None], 0.0)
    weights = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)
    return (weights[:, None, :] @ keys).squeeze(1), weights
def attend(query, keys, mask, W_q, W_k, v):
    keys = keys.masked_fill(~mask[..., None], 0.0)
    a = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)
    return torch.einsum('bs,bsd->bd', a, keys), a
def attend(q, K, m, Wq, Wk, v):
    K = torch.where(m[:, :, None], K, torch.zeros_like(K))
    e = torch.tanh((q @ Wq.T)[:, None] + K @ Wk.T) @ v
    e = torch.where(m, e, -1e9)
    w = torch.softmax(e, 1) * m
    return (w.unsqueeze(-1) * K).sum(1), w
WRONG
no mask, keeps 1
    | a = additive_score(query, keys, W_q, W_k, v).softmax(-1)
    | return torch.einsum('bs,bsd->bd', a, keys), a
    You never use the mask: the padding gets weight, and what stands there reaches the context.
order of the results | R -> R[::-1]
    You return weights, then context; the order is context, weights.
pads times zero, keeps 1 | keys.masked_fill(~mask[..., None], 0.0) -> keys
    The pads have weight 0, but they may hold NaN, and 0 times NaN is NaN: put something finite into
    the pads before you add up.
NaN alone put out of the way, keeps 1 | keys.masked_fill(~mask[..., None], 0.0) -> keys.masked_fill(keys.isnan(), 0.0)
    You take NaN out of the pads and leave infinity there, and 0 times infinity is NaN: fill all that stands
    at pads, whatever it is.
the largest float for infinity, keeps 2 | keys.masked_fill(~mask[..., None], 0.0) -> torch.nan_to_num(keys)
    nan_to_num makes an infinite pad the largest number that there is; times W_k that is infinite
    once more, and on the way back NaN. Fill pads by the mask instead.
query never used | additive_score(query, -> additive_score(torch.zeros_like(query),
    Your weights do not depend on the query: every step would look at the same words.
detached, keeps 2 | (query, keys, W_q, W_k, v), mask) -> (query, keys, W_q, W_k, v), mask).detach()
    The values are right, but the weights are detached: nothing learns where to look.
scores for weights | masked_softmax( ->; v), mask) -> v).masked_fill(~mask, 0.0)
    You sum with the scores themselves: turn them into weights by a softmax first.
mask added to the scores, keeps 1
    | masked_softmax(additive_score(query, keys, W_q, W_k, v), mask) -> torch.softmax(additive_score(query, keys, W_q, W_k, v) + mask, -1)
    You add the mask as 0 and 1, which raises real words by 1 and closes no pad: it is minus
    infinity that must stand in the scores of pads.
mask added, and pads as they are, keeps 1
    | a = (additive_score(query, keys, W_q, W_k, v) + mask).softmax(-1)
    | return torch.einsum('bs,bsd->bd', a, keys), a
    You add the mask as 0 and 1, which raises real words by 1 and closes no pad: minus infinity must
    stand in the scores of pads, and something finite in their keys.
scores times mask, keeps 1
    | masked_softmax(additive_score(query, keys, W_q, W_k, v), mask) -> torch.softmax(additive_score(query, keys, W_q, W_k, v) * mask, -1)
    You multiply the scores by the mask, which gives pads a score of 0, and 0 is a score like any
    other: it is minus infinity that must stand there.
mask turned round
    | additive_score(query, keys, W_q, W_k, v), mask) -> additive_score(query, keys, W_q, W_k, v), ~mask)
    You close the words and attend to the pads: True means that a position MAY be attended.
mask turned round, with a large number
    | keys = keys.masked_fill(~mask[..., None], 0.0)
    | a = additive_score(query, keys, W_q, W_k, v).masked_fill(mask, -1e9).softmax(-1)
    | return torch.einsum('bs,bsd->bd', a, keys), a
    You close the words, so that pads get the weight, and where there are none all words get the same:
    True means that a position MAY be attended.
mean for sum | torch.einsum('bs,bsd->bd', a, keys) -> (a[..., None] * keys).mean(1)
    You average the weighted keys; the weights sum to 1 already, so add them up.
context with a step axis | .squeeze(1) ->
    Your context is (B, 1, d_k): remove the axis that the matrix product needed.
best word only
    | (weights[:, None, :] @ keys).squeeze(1) -> keys[torch.arange(len(keys)), weights.argmax(-1)]
    You fetch the key with the largest weight; soft attention mixes all of them.
mask on the context alone, keeps 1
    | a = additive_score(query, keys, W_q, W_k, v).softmax(-1)
    | return torch.einsum('bs,bsd->bd', a * mask, keys), a * mask
    You set weights of pads to 0 after the softmax: the rest no longer sums to 1.
renormalised with a small constant, keeps 2
    | keys = keys.masked_fill(~mask[..., None], 0.0)
    | a = additive_score(query, keys, W_q, W_k, v).softmax(-1) * mask
    | a = a / (a.sum(-1, keepdim=True) + 1e-13)
    | return torch.einsum('bs,bsd->bd', a, keys), a
    You mask after the softmax and divide again: with a long v a pad can have by far the largest
    score, and the words are left with nothing but rounding. Mask the scores.
pads behind the words taken for granted, keeps 2
    | keys = keys -> mask = torch.arange(keys.shape[1]) < mask.sum(1, keepdim=True); keys = keys
    You count the words and assume that pads come last: use the mask as it is.
""",
    draw=draw_context,
    oracle=context,
    uses=("q1", "q2"),
    forbidden=("scaled_dot_product_attention", "MultiheadAttention"),
    pads=(500.0, -500.0, float("nan"), float("inf")),
)

Q4 = question(
    """q4: How sharp can it get?
sharpest(v, words)
read chapters/03_additive: in general: a network with two layers
the largest weight, 1 point: ordinary; other sizes; as many features as words; one feature; one word; two words; many words; large v
    Each score lies between minus and plus the sum of |v|: set one word at the one end, all others
    at the other end, and take the softmax.
gradients, 1 point, backward: ordinary; one feature
    The weight is right but its gradient is not: stay with tensors, no .item(), no detach.
RIGHT
def sharpest(v, words):
    gap = 2 * v.abs().sum()
    return 1 / (1 + (words - 1) * torch.exp(-gap))
def sharpest(v, words):
    return torch.sigmoid(2 * v.abs().sum() - math.log(words - 1)) if words > 1 else 1 + 0 * v.sum()
def sharpest(v, words):
    most = (v * v.sign()).sum()
    scores = torch.cat([most[None], (-most).expand(words - 1)])
    return F.softmax(scores, 0)[0]
def sharpest(v, n):
    m = torch.linalg.vector_norm(v, ord=1)
    others = -2 * m + torch.tensor(float(n - 1), dtype=v.dtype).log()
    return torch.exp(-torch.logaddexp(torch.zeros_like(m), others))
WRONG
others at zero | 2 * v.abs() -> v.abs()
    You leave the scores of the other words at 0; the tanh can push them as far down as it pushes
    the first one up.
signs forgotten | 2 * v.abs().sum() -> 2 * v.sum()
    You add up the entries of v with their signs: where one is negative, a tanh of -1 makes its part
    positive. Add up the absolute values.
length of v | 2 * v.abs().sum() -> 2 * v.norm()
    You take the length of v, the root of the sum of squares; every tanh may reach 1 at once, so it
    is the sum of the absolute values.
largest entry | 2 * v.abs().sum() -> 2 * v.abs().max()
    You count the largest entry of v alone; all features can reach 1 at once.
number of features | 2 * v.abs().sum() -> 2.0 * len(v) + 0 * v.sum()
    Your bound is the number of features, as if all entries of v were 1.
one other word too many | (words - 1) -> words
    You count the word itself among the others: there are words - 1 of them.
one other word | (words - 1) * ->
    You compare with a single other word: there are words - 1 of them.
overflow | e = v.abs().sum().exp(); return e / (e + (words - 1) / e)
    exp of the bound itself is infinite for a large v, and infinity over infinity is NaN: divide by
    it first, so that only exp of a negative number is left.
the score | return v.abs().sum()
    This is the largest score; the question asks for its weight.
the smallest weight | R -> torch.exp(-gap) / (torch.exp(-gap) + (words - 1))
    This is the smallest weight that a word can get: exchange the two ends.
no longer a tensor, keeps 1
    | gap = 2 * float(v.abs().sum())
    | return torch.tensor(1 / (1 + (words - 1) * math.exp(-gap)), dtype=v.dtype)
    No gradient reaches v: detach cuts it off, and Python's numbers have none. Compute with tensors
    from v to the result.
""",
    draw=draw_vector,
    oracle=sharpest,
)

Q5 = question(
    """q5: A module that learns
AdditiveAttention(d_q, d_k, d_a), then forward(query, keys, mask)
read chapters/03_additive: five lines of PyTorch
parameters, 1 point: ordinary; padded
    named_parameters() must list W_q, W_k and v with the shapes in the question, made once in
    __init__, and nothing else.
context and weights, 1 point: ordinary; all sizes equal; one sentence; one word; one feature; padded; nothing to attend; hostile pads
    With your parameters set to known numbers, forward does not compute the additive attention of
    these numbers.
gradients, 1 point: ordinary; padded; nothing to attend; hostile pads
    A gradient is not the right one: it must reach W_q, W_k and v, the query, and the keys by both their ways,
    through the scores and through the sum.
RIGHT
class AdditiveAttention(nn.Module):
    def __init__(self, d_q, d_k, d_a):
        super().__init__()
        self.W_q = nn.Parameter(torch.randn(d_a, d_q) / math.sqrt(d_q))
        self.W_k = nn.Parameter(torch.randn(d_a, d_k) / math.sqrt(d_k))
        self.v = nn.Parameter(torch.randn(d_a) / math.sqrt(d_a))
    def forward(self, query, keys, mask):
        return attend(query, keys, mask, self.W_q, self.W_k, self.v)
class AdditiveAttention(nn.Module):
    def __init__(self, d_q, d_k, d_a):
        super().__init__()
        for name, shape in dict(W_q=(d_a, d_q), W_k=(d_a, d_k), v=(d_a,)).items():
            self.register_parameter(name, nn.Parameter(0.1 * torch.randn(shape)))
    def forward(self, query, keys, mask):
        keys = keys.masked_fill(~mask[..., None], 0.0)
        e = torch.tanh(F.linear(query, self.W_q)[:, None] + F.linear(keys, self.W_k))
        w = masked_softmax(e @ self.v, mask)
        return torch.einsum('bs,bsd->bd', w, keys), w
WRONG
a bias, keeps 2 | / math.sqrt(d_a)) -> / math.sqrt(d_a)); self.b = nn.Parameter(torch.zeros(d_a))
    There is a parameter too many: the formula has no bias.
plain tensors | W_q = nn.Parameter -> W_q =; W_k = nn.Parameter -> W_k =; v = nn.Parameter -> v =
    W_q, W_k and v are plain tensors: an optimiser does not see them. Wrap each in nn.Parameter.
parameters in a list
    | self.W_q = -> W_q =; self.W_k = -> W_k =; self.v = -> v =
    | self.W_q, self.W_k, self.v -> *self.all
    | / math.sqrt(d_a)) -> / math.sqrt(d_a)); self.all = [W_q, W_k, v]
    Parameters in a plain Python list are invisible to the module: assign each to self.
all zeros, keeps 2
    | torch.randn(d_a, d_q) -> torch.zeros(d_a, d_q); torch.randn(d_a, d_k) -> torch.zeros(d_a, d_k)
    | torch.randn(d_a) -> torch.zeros(d_a)
    Your parameters begin as zeros: then all gradients are zero as well, and nothing is ever learned.
    Draw small random numbers, as with torch.randn.
v of zeros, keeps 2 | torch.randn(d_a) -> torch.zeros(d_a)
    v begins as zeros: until it moves, no gradient reaches W_q and W_k, and all words get equal weights.
    Draw small random numbers, as with torch.randn.
all alike, keeps 2
    | torch.randn(d_a, d_q) -> torch.ones(d_a, d_q); torch.randn(d_a, d_k) -> torch.ones(d_a, d_k)
    | torch.randn(d_a) -> torch.ones(d_a)
    Your parameters begin with one number everywhere: then all features get the same gradients, and
    stay alike for ever. Draw random numbers, as with torch.randn.
a seed in __init__, keeps 2 | super().__init__() -> super().__init__(); torch.manual_seed(0)
    Every module begins with the same numbers: draw them. If you do, a seed is set in __init__, and with
    torch.manual_seed the caller's random numbers start again as well: leave it to whoever makes the module.
too large or too small, keeps 2
    | / math.sqrt(d_q) -> * 100; / math.sqrt(d_k) -> * 100; / math.sqrt(d_a) -> * 100
    Your parameters begin too large or too small: the root mean square of each is to lie between 0.001
    and 5. Draw them as with torch.randn over the root of a size.
made anew in forward
    | super().__init__() -> d_q, d_k, d_a = self.sizes; def forward(self, query, keys, mask): ->
    | def __init__(self, d_q, d_k, d_a): -> def __init__(self, d_q, d_k, d_a):
    |     super().__init__(); self.sizes = d_q, d_k, d_a
    | def forward(self, query, keys, mask):
    Your parameters are made in forward: each call starts from new random ones and nothing is
    learned. Make them in __init__.
detached, keeps 2 | return -> c, w =; self.v) -> self.v); return c.detach(), w
    No gradient comes back through the context: something is detached.
keys detached in the sum, keeps 2 | w, keys), w -> w, keys.detach()), w
    The keys are detached in the weighted sum: an encoder behind them would learn from the scores alone.
keys detached in the score, keeps 2 | F.linear(keys, -> F.linear(keys.detach(),
    The keys are detached in the score: an encoder behind them would learn from the weighted sum alone.
query detached, keeps 2 | F.linear(query, -> F.linear(query.detach(),
    The query is detached: a decoder behind it would not learn which words to look at.
detached in evaluation mode, keeps 2
    | return -> context, weights =
    | self.v) -> self.v)
    | return (context, weights) if self.training else (context.detach(), weights.detach())
    After eval() your results are detached: gradients are asked for in that mode, too.
keys changed in place, keeps 2
    | return -> with torch.no_grad(): keys.masked_fill_(~mask[..., None], 0.0)
    | return
    You write into the keys, so that the caller's states are other numbers afterwards: make new
    ones.
NaN where nothing may be attended, keeps 2
    | w = masked_softmax(e @ self.v, mask) -> w = (e @ self.v).masked_fill(~mask, -torch.inf).softmax(-1)
    A sentence of nothing but pads gives NaN: it has weights of 0, and a context of zeros.
pads times zero, keeps 1 | keys = keys.masked_fill(~mask[..., None], 0.0) ->
    The pads have weight 0, but they may hold NaN, and 0 times NaN is NaN: put something finite into
    the pads before you compute with them.
another result in evaluation mode, keeps 2
    | return -> context, weights =
    | self.v) -> self.v)
    | return (context, weights) if self.training else (0.9 * context, weights)
    After eval() your module computes something else: attention is the same in both modes.
mask ignored, keeps 1 | keys, mask, self -> keys, torch.ones_like(mask), self
    forward ignores the mask: the padding reaches the context.
shapes turned round
    | randn(d_a, d_q) -> randn(d_q, d_a); randn(d_a, d_k) -> randn(d_k, d_a)
    | self.W_q, self.W_k -> self.W_q.T, self.W_k.T
    W_q and W_k are stored the other way round: (d_a, d_q) and (d_a, d_k) are asked for.
linear layers
    | nn.Parameter(torch.randn(d_a, d_q) / math.sqrt(d_q)) -> nn.Linear(d_q, d_a)
    | nn.Parameter(torch.randn(d_a, d_k) / math.sqrt(d_k)) -> nn.Linear(d_k, d_a)
    | nn.Parameter(torch.randn(d_a) / math.sqrt(d_a)) -> nn.Linear(d_a, 1)
    | return attend(query, keys, mask, self.W_q, self.W_k, self.v) ->
    | e = self.v(torch.tanh(self.W_q(query)[:, None] + self.W_k(keys))).squeeze(-1)
    | w = masked_softmax(e, mask); return torch.einsum('bs,bsd->bd', w, keys), w
    nn.Linear names its weights W_q.weight and brings biases; the question asks for three parameters
    called W_q, W_k and v.
""",
    draw=draw_module,
    **module(
        context,
        outputs=("context", "weights"),
        parameters=("W_q", "W_k", "v"),
        inputs=("query", "keys"),
    ),
    uses=("q1", "q2", "q3"),
    forbidden=("scaled_dot_product_attention", "MultiheadAttention"),
)

Q6 = question(
    """q6: By hand
weights_by_hand = (number, number, number)
read chapters/02_soft_addressing: by hand
three weights, 1 point: numbers
    exp of each score that may be attended, divided by the sum of these; 0 for the pad.
RIGHT
weights_by_hand = (0.73, 0.27, 0)
weights_by_hand = [0.7311, 0.2689, 0.0]
weights_by_hand = np.array([0.73, 0.27, 0])
weights_by_hand = torch.tensor([0.73, 0.27, 0.0])
weights_by_hand = torch.softmax(torch.tensor([1.0, 0.0, -torch.inf]), 0)
WRONG
pad not masked | (0.73, 0.27, 0) -> (0.245, 0.09, 0.665)
    The pad takes part in your softmax: it gets 0, and the rest is normalised without it.
masked afterwards | (0.73, 0.27, 0) -> (0.245, 0.09, 0)
    You normalised over all three and then set the pad to 0: the rest must sum to 1.
scores divided by their sum | (0.73, 0.27, 0) -> (1, 0, 0)
    All your weight lies on the first word, as if the scores were divided by their sum or only the best
    word counted: softmax raises e to each score first.
equal weights | (0.73, 0.27, 0) -> (0.5, 0.5, 0)
    The two words have different scores, so they have different weights.
exchanged | (0.73, 0.27, 0) -> (0.27, 0.73, 0)
    You exchanged the two words: the larger score gets the larger weight.
""",
    oracle=lambda: (np.e / (1 + np.e), 1 / (1 + np.e), 0.0),
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
