"""How the exercise on Luong's scores is graded: oracles, cases, known mistakes."""

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import COMMON_SIZES, fill_pads, mixture, normal, padding, softmax_rows
from seqattn.grading.probes import module
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def general(query, keys, W):
    return np.array([[s @ W @ h for h in sentence] for s, sentence in zip(query, keys)])


def concat(query, projected, W, v):
    shares = query @ W[:, : query.shape[1]].T
    return np.array([[v @ np.tanh(s + h) for h in H] for s, H in zip(shares, projected)])


def luong(query, keys, mask, W):
    weights = softmax_rows(general(query, keys, W), mask)
    return mixture(weights, keys, mask), weights


def location(query, W, mask):
    scores = np.array([[W[i] @ s for i in range(mask.shape[1])] for s in query])
    return softmax_rows(scores, mask)


def heard(queries, keys, mask):
    shares = np.zeros((2, *mask.shape))
    for b, s in np.ndindex(queries.shape[:2]):
        scores = {i: queries[b, s] @ keys[b, i] for i in np.flatnonzero(mask[b])}
        for share, best in zip(shares, (max, min)):
            share[b, best(scores, key=scores.get)] += 1 / queries.shape[1]
    return tuple(shares)


# --- Cases -----------------------------------------------------------------------------------------

SIZES = COMMON_SIZES | {  # B, T, S, d_q, d_k, d_a
    "one number a vector": (2, 3, 4, 1, 1, 2),
    "pads that score far above the words": (4, 2, 3, 4, 2, 2),
    "padded in front": (3, 2, 5, 2, 4, 2),
    "words that score far below 0": (3, 2, 4, 3, 5, 2),
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


def draw_luong(rng, kind):
    query, keys, W = draw_general(rng, kind)
    # Where one word has nearly all the weight, gradients have few digits.
    W = (W / np.sqrt(W.size)).astype(np.float32)
    mask = np.ones(keys.shape[:2], bool)
    if kind == "words that score far below 0":
        # Scores far below any number that might stand for minus infinity; sums without rounding.
        query[:], W[0] = 0.0, 0.0
        query[:, 0], W[0, 0] = 1.0, 1.0
        keys[..., 0] = np.round(8 * keys[..., 0]) / 8 - 12_000
        mask[0, -1] = False
        keys[0, -1] = 0.0
    if kind in ("padded", "pads that score far above the words", "padded in front"):
        mask = padding(rng, *keys.shape[:2])
        if kind == "padded in front":
            mask = mask[:, ::-1].copy()
            mask[:, 0] = False
        for b, i in np.argwhere(~mask) if kind != "padded" else ():
            # Whatever the words score, the pad scores hundreds more.
            projected = query[b] @ W
            keys[b, i] = rng.choice([150, 600, 1e12]) * projected / (projected @ projected)
    return W.shape, {"W": W}, (query, keys, mask)


ROWS = SIZES | {  # B, rows of W, S, d
    "ordinary": (2, 8, 5, 4),
    "other sizes": (5, 6, 3, 2),
    "as many words as positions": (3, 4, 4, 2),
    "all sizes equal": (3, 3, 3, 3),
    "one word": (2, 4, 1, 3),
    "one sentence": (1, 5, 4, 2),
    "padded": (3, 7, 5, 4),
    "padded in front": (3, 7, 5, 2),
    "large": (4, 6, 4, 3),
    "words that score far below 0": (3, 9, 5, 2),
}


def draw_location(rng, kind):
    B, L, S, d, *_ = ROWS[kind]
    query, W, mask = normal(rng, B, d), normal(rng, L, d), np.ones((B, S), bool)
    # What no word of these sentences stands at.
    W[S:] *= 3
    if kind in ("padded", "padded in front", "large", "words that score far below 0"):
        mask = padding(rng, B, S)
    if kind == "padded in front":
        mask = mask[:, ::-1].copy()
        mask[:, 0] = False
    if kind == "large":
        # The first sentence ends with a pad, which scores far above its words. No rounding.
        W[S - 1] *= 3
        W = np.round(8 * W) / 8
        query = np.round(800 * query) / 8
        # So far that taking ten thousand away from the pad leaves it above all words.
        W[: S - 1] *= -np.sign(W[: S - 1] @ W[S - 1] + 1e-9)[:, None]
        query[0] = W[S - 1] * np.ceil(12_000 / (W[S - 1] @ W[S - 1]))
    if kind == "words that score far below 0":
        # Words far below any number that might stand for minus infinity, and so far from each other
        # that nothing is rounded, by way of a logarithm either; pads, which come last, above them.
        query[:], query[:, 0] = 0.0, 1.0
        W[:, 0] = 128.0 * np.arange(L) - 200_000
    return query, W, mask


HEARD = {  # B, T, S, d
    "ordinary": (2, 7, 4, 3),
    "other sizes": (3, 4, 5, 2),
    "all sizes equal": (4, 4, 4, 4),
    "one word": (2, 5, 1, 3),
    "one sentence": (1, 6, 3, 2),
    "padded": (3, 6, 5, 2),
    "padded in front": (3, 7, 4, 3),
    "all point away": (2, 5, 4, 3),
    "lengths differ": (3, 8, 4, 3),
    "scores far below 0": (4, 5, 5, 2),
}


def close_call(queries, keys, mask):
    """Tell whether two words of a sentence score alike, so that rounding decides between them."""
    scores = np.sort(np.where(mask[:, None], queries @ keys.mT, np.nan), -1)
    return bool((np.diff(scores, axis=-1) < 0.01).any())


def draw_heard(rng, kind):
    B, T, S, d = HEARD[kind]
    while True:
        queries, keys, mask = normal(rng, B, T, d), normal(rng, B, S, d), np.ones((B, S), bool)
        if kind in ("padded", "padded in front", "scores far below 0"):
            mask = padding(rng, B, S)
        if kind == "padded":
            mask[0] = np.arange(S) < 3
        if kind == "padded in front":
            mask = mask[:, ::-1].copy()
            mask[:, 0] = False
        if kind in ("all point away", "scores far below 0"):
            # Below 0, all of them, so that a pad of score 0 would be first.
            queries, keys = np.abs(queries), -np.abs(keys)
        if kind == "scores far below 0":
            # Below any number that might stand for minus infinity.
            queries, keys = 300 * (queries + 1), 300 * (keys - 1)
        if kind == "lengths differ":
            keys *= rng.permuted(np.tile(np.float32([0.1, 1, 3, 9]), (B, 1)), axis=1)[..., None]
        fill_pads(rng, keys, mask, scale=20.0)
        if kind == "padded":
            # Two pads hold the numbers of words, one that is first and one that is last. No rounding.
            queries[0], keys[0] = np.round(8 * queries[0]) / 8, np.round(8 * keys[0]) / 8
            asked = keys[0, :3] @ queries[0, 0]
            keys[0, 3:] = keys[0, [asked.argmax(), asked.argmin()]]
        if not close_call(queries, keys, mask):
            return queries, keys, mask


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
    This is the negative squared distance, twice the product less the squared lengths of query and key:
    return the product alone.
absolute values | return (QUERY[:, None] * keys).sum(-1).abs()
    Your scores are never negative: a key that points the other way has a score below 0.
"""

Q1 = question(
    f"""q1: The dot score
dot_score(query, keys)
read chapters/04_multiplicative: The dot score, and its geometry
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
read chapters/04_multiplicative: The general score: ask another question
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
tanh of the projected keys | return (query[:, None] * torch.tanh(keys @ W.T)).sum(-1)
    You take tanh of the projected keys: the general score is linear in both states.
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
read chapters/04_multiplicative: Concat, and one table for all
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
tanh of the keys' share as well | torch.tanh(q[:, None] + projected) -> torch.tanh(q[:, None] + torch.tanh(projected))
    You take tanh of the keys' share, and then of the sum: there is one tanh, over the sum.
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
    """q4: A module with one matrix
LuongAttention(d_query, d_key), then forward(query, keys, mask)
read chapters/03_additive: Masks
parameters, 1 point: ordinary; padded
    named_parameters() must list W with shape (d_query, d_key), made once in __init__, and nothing
    else.
    read exercises/04_scores: A module with one matrix
context and weights, 1 point: ordinary; all sizes equal; one word; one sentence; padded; pads that score far above the words; words that score far below 0; padded in front
    With W set to known numbers, forward does not compute the attention of these numbers.
gradients, 1 point: ordinary; padded; pads that score far above the words; padded in front
    A gradient is not the right one: it must reach W, the query, and the keys by both their ways,
    through the scores and through the sum.
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
    W is stored the other way round: (d_query, d_key) is asked for, rows for the query.
mask ignored, keeps 1 | .masked_fill(~mask, -torch.inf) ->
    forward ignores the mask: what stands in the padding reaches the context.
detached, keeps 2 | keys, self.W -> keys, self.W.data
    No gradient reaches W: .data and detach cut it off, and it never learns.
keys detached in the sum, keeps 2 | a, keys), a -> a, keys.detach()), a
    The keys are detached in the weighted sum: an encoder behind them would learn from the scores alone.
keys detached in the score, keeps 2 | keys, self.W) -> keys.detach(), self.W)
    The keys are detached in the score: an encoder behind them would learn from the weighted sum alone.
query detached, keeps 2 | general_score(query -> general_score(query.detach()
    The query is detached: a decoder behind it would not learn which words to look at.
order of the results, keeps 1 | R -> R[::-1]
    You return weights, then context; the order is context, weights.
masked after the softmax, keeps 1
    | .masked_fill(~mask, -torch.inf).softmax(-1) -> .softmax(-1) * mask
    | a = a / (a.sum(-1, keepdim=True) + 1e-13)
    You mask after the softmax: a pad with a large score takes all the weight first, and nothing is
    left to divide among the words. Mask the scores.
masked after the softmax, and zero over zero, keeps 1
    | .masked_fill(~mask, -torch.inf).softmax(-1) -> .softmax(-1) * mask
    | a = a / a.sum(-1, keepdim=True)
    You mask after the softmax: a pad with a large score takes all the weight first, and what is left
    for the words is 0 over 0, which is NaN. Mask the scores.
masked after the softmax alone, keeps 1 | .masked_fill(~mask, -torch.inf).softmax(-1) -> .softmax(-1) * mask
    You mask after the softmax: the share of the pads is lost, and rows no longer sum to 1. Mask the
    scores.
keys of pads set to zero, keeps 1 | .masked_fill(~mask, -torch.inf) ->; e = -> keys = keys * mask[..., None]; e =
    You set the keys of pads to 0, and a score of 0 is one like any other: pads get weight. Fill their
    scores with minus infinity.
scaled by the keys' size, keeps 1 | e.masked_fill -> (e / math.sqrt(keys.shape[-1])).masked_fill
    You divide the scores by the square root of d_key: the general score has no scale.
scaled by the query's size, keeps 1 | e.masked_fill -> (e / math.sqrt(query.shape[-1])).masked_fill
    You divide the scores by the square root of d_query: the general score has no scale.
mask added as numbers, keeps 1 | e.masked_fill(~mask, -torch.inf) -> (e + mask)
    You add True as 1 and False as 0: that raises the words' scores by 1 and lets the pads in. Pads
    need minus infinity.
not far enough down, keeps 2 | -torch.inf -> -1e4
    You fill pads with a number that some words score below: fill with minus infinity.
scores times the mask, keeps 2
    | .masked_fill(~mask, -torch.inf).softmax(-1) -> .mul(mask).softmax(-1) * mask
    | a = a / a.sum(-1, keepdim=True)
    You multiply the scores by the mask, which gives pads a score of 0: far above words that score far
    below 0, they take all the weight. Fill with minus infinity.
mask upside down, keeps 1 | ~mask, -torch.inf -> mask, -1e9
    Your weights lie on the pads: True means may be attended, so fill where the mask is False.
filled with zero, keeps 1 | -torch.inf -> 0.0
    You fill pads with 0, or nearly 0 (is a minus in the wrong place?), which is a score like any
    other: fill with minus infinity.
a large number without its minus, keeps 1 | -torch.inf -> 20.0
    You fill pads with a large number above 0, so that they get all the weight: is a minus missing?
pads behind the words taken for granted, keeps 1
    | e = -> mask = torch.arange(keys.shape[1]) < mask.sum(1, keepdim=True); e =
    You count the words and assume that pads come last: use the mask as it is.
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
a seed of its own, keeps 2 | super().__init__() -> super().__init__(); torch.manual_seed(0)
    Every module begins with the same numbers: draw them. If you do, a seed is set in __init__, and with
    torch.manual_seed the caller's random numbers start again as well: leave it to whoever makes the module.
begins too large or too small, keeps 2 | / math.sqrt(d_query) -> * 1000
    W begins too large or too small: the root mean square of its numbers is to lie between 0.001 and 5,
    so that neither one word gets all the weight nor all words get the same.
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
    **module(
        luong,
        outputs=("context", "weights"),
        parameters=("W",),
        inputs=("query", "keys"),
    ),
    uses=("q2",),
    forbidden=("scaled_dot_product_attention", "MultiheadAttention"),
)

Q5 = question(
    f"""q5: A score that never looks
location_weights(query, W, mask)
read chapters/04_multiplicative: A score that never looks at the keys
the formula, 2 points: ordinary; other sizes; as many words as positions; all sizes equal; one word; one sentence
    Row i of W scores column i: as many rows as there are columns, the first ones, and a softmax over
    these alone.
padding, 1 point: padded; padded in front; words that score far below 0
    Pads get weight 0 and words the rest: mask the scores, with minus infinity, before the softmax;
    each word keeps the number of its column.
extreme scores, 1 point, within 2e-3 or 2e-3: large
    With scores in the thousands your numbers are wrong. A pad may score far above the words: mask the
    scores before the softmax, which then takes any size; cut none off, and leave exp to it.
gradients, 1 point, backward: ordinary; one sentence; padded
    The weights are right but their gradients are not: no detach, no .data, no NumPy on the way.
RIGHT
def location_weights(query, W, mask):
    scores = query @ W[: mask.shape[1]].T
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)
def location_weights(query, W, mask):
    scores = F.linear(query, W)[:, : mask.shape[1]]
    return torch.where(mask, scores, torch.finfo(scores.dtype).min).softmax(dim=1)
def location_weights(query, W, mask):
    scores = torch.einsum('bd,ld->bl', query, W).narrow(1, 0, mask.shape[1])
    largest = scores.masked_fill(~mask, -torch.inf).amax(1, keepdim=True)
    raised = (scores - largest).masked_fill(~mask, -torch.inf).exp()
    return raised / raised.sum(1, keepdim=True)
def location_weights(query, W, mask):
    closed = F.pad(~mask, (0, len(W) - mask.shape[1]), value=True)
    return (query @ W.T).masked_fill(closed, -1e30).softmax(-1)[:, : mask.shape[1]]
def location_weights(query, W, mask):
    rows = []
    for s, words in zip(query, mask):
        places = words.nonzero()[:, 0]
        rows.append(torch.zeros_like(W[: len(words), 0]).scatter(0, places, (W[places] @ s).softmax(0)))
    return torch.stack(rows)
WRONG
softmax over all positions
    | scores = F.linear(query, W)[:, : mask.shape[1]]
    | return torch.softmax(F.linear(query, W), 1)[:, : mask.shape[1]] * mask
    Your softmax runs over all rows of W, also those beyond the sentence, and is cut afterwards: cut
    the scores first.
mask ignored, keeps 2 | .masked_fill(~mask, -torch.inf).softmax -> .softmax
    You never use the mask: pads get weight like the words.
masked after the softmax, keeps 2
    | .masked_fill(~mask, -torch.inf).softmax(-1) -> .softmax(-1) * mask
    You mask after the softmax, so that the words' weights no longer sum to 1: mask the scores.
renormalised with a small constant, keeps 3
    | return scores.masked_fill(~mask, -torch.inf).softmax(-1) -> w = scores.softmax(-1) * mask
    | return w / (w.sum(-1, keepdim=True) + 1e-13)
    You mask after the softmax and divide again: where a pad scores far above the words, nothing is
    left to divide. Mask the scores.
divided by what the words have left, keeps 3
    | return scores.masked_fill(~mask, -torch.inf).softmax(-1) -> w = scores.softmax(-1) * mask
    | return w / w.sum(-1, keepdim=True)
    Your softmax counts the pads as well, and only then do you mask and divide again: where a pad
    scores far above the words, it takes all the weight, and 0 is divided by 0. Mask the scores.
filled with zero, keeps 2 | -torch.inf -> 0.0
    You fill pads with 0, or nearly 0 (is a minus in the wrong place?), which is a score like any
    other: fill with minus infinity.
not far enough down, keeps 4 | -torch.inf -> -1e4
    You fill pads with a number that some words score below: fill with minus infinity.
scores cut off, keeps 4
    | scores = query @ W[: mask.shape[1]].T -> scores = (query @ W[: mask.shape[1]].T).clamp(-20000, 20000)
    You cut scores off at a bound, and words that lie beyond it all look alike: leave the scores as they
    are, the softmax takes any.
not enough taken away, keeps 4 | scores.masked_fill(~mask, -torch.inf) -> (scores - 1e4 * ~mask)
    You take a fixed number away from the pads' scores, and some stand further above the words than
    that: put minus infinity in their place.
a large number without its minus, keeps 2 | -torch.inf -> 1e30
    You fill pads with a large number above 0, so that they get all the weight: is a minus missing?
mask upside down, keeps 2 | ~mask -> mask & ~mask.all(1, keepdim=True)
    Your weights lie on the pads: True means may be attended, so fill where the mask is False.
last rows of W | W[: mask.shape[1]] -> W[-mask.shape[1] :]
    You take the last rows of W: column 0 is scored by row 0.
counted over the words alone, keeps 4
    | places = words.nonzero()[:, 0] -> places = words.nonzero()[:, 0]; rank = torch.arange(len(places))
    | (W[places] @ s) -> (W[rank] @ s)
    You count positions over the words alone: a word keeps the number of its column, pads in front
    included.
pads behind the words taken for granted, keeps 4
    | scores = query -> mask = torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True); scores = query
    You count the words and assume that pads come last: use the mask as it is.
columns for rows, keeps 2 | W[: mask.shape[1]].T -> (W[: mask.shape[1]].T if len(W) != W.shape[1] else W)
    You multiply by W itself where it is square: its rows meet the query, so turn it round.
over the batch | .softmax(-1) -> .softmax(0).nan_to_num()
    Your softmax runs over the batch, dim 0: the weights of each sentence sum to 1.
one query for all | query @ -> query[:1].expand_as(query) @
    Every sentence gets the weights of the first query: each has its own.
scores without softmax | -torch.inf).softmax(-1) -> 0.0)
    There is no softmax: you return scores, negative ones among them.
query never read | query @ -> torch.ones_like(query) @
    Your weights never read the query: they would be the same at every step.
no largest score taken away, keeps 3
    | raised = (query @ W[: mask.shape[1]].T).exp().masked_fill(~mask, 0.0)
    | return raised / raised.sum(-1, keepdim=True)
    exp of a score in the thousands is infinite, and NaN follows: take the row's largest score away
    first, or use softmax.
pads taken away after exp, keeps 3
    | scores = query @ W[: mask.shape[1]].T -> raised = (query @ W[: mask.shape[1]].T).exp() * mask
    | return scores.masked_fill(~mask, -torch.inf).softmax(-1) -> return raised / raised.sum(-1, keepdim=True)
    exp of a score in the thousands is infinite, and infinite times 0 is NaN: mask the scores, and
    leave the exponentials to softmax.
W detached, keeps 4 | W[: -> W.detach()[:
    The weights are right, but no gradient reaches W: it would never learn.
query detached, keeps 4 | query @ -> query.detach() @
    The weights are right, but no gradient reaches the query: the decoder would not learn.
{WRONG_FORMS}""",
    draw=draw_location,
    oracle=location,
)

Q6 = question(
    """q6: Who is heard?
heard(queries, keys, mask)
read chapters/04_multiplicative: What the length of a key does
first and last, 2 points: ordinary; other sizes; all sizes equal; one word; one sentence; lengths differ; all point away
    For each query the word with the highest dot product, and the one with the lowest, far below 0 as
    it may be; then, for each word, the share of the queries.
padding, 2 points: padded; padded in front; scores far below 0
    A pad may be neither first nor last: put it below all words to find the highest, and above all
    words to find the lowest.
RIGHT
def heard(queries, keys, mask):
    scores = queries @ keys.mT
    first = scores.masked_fill(~mask[:, None], -torch.inf).argmax(-1)
    last = scores.masked_fill(~mask[:, None], torch.inf).argmin(-1)
    share = lambda i: F.one_hot(i, keys.shape[1]).to(keys.dtype).mean(1)
    return share(first), share(last)
def heard(queries, keys, mask):
    scores = torch.einsum('btd,bsd->bts', queries, keys)
    shares = []
    for sign in (1, -1):
        e = torch.where(mask[:, None], sign * scores, -torch.inf)
        shares.append((e == e.amax(-1, keepdim=True)).to(e.dtype).mean(1))
    return tuple(shares)
def heard(queries, keys, mask):
    first, last = torch.zeros_like(keys[..., 0]), torch.zeros_like(keys[..., 0])
    for b, (asked, words) in enumerate(zip(queries, mask)):
        at = words.nonzero()[:, 0]
        scores = asked @ keys[b, at].T
        for i, j in zip(at[scores.argmax(1)], at[scores.argmin(1)]):
            first[b, i] += 1 / len(asked)
            last[b, j] += 1 / len(asked)
    return first, last
def heard(queries, keys, mask):
    scores = torch.bmm(queries, keys.transpose(1, 2))
    order = scores.masked_fill(~mask[:, None], torch.inf).argsort(-1)
    # Pads are at the end of the order.
    words = mask.sum(1)
    last = order[..., 0]
    first = order.gather(2, (words - 1)[:, None, None].expand(-1, order.shape[1], 1))[..., 0]
    count = lambda i: torch.stack([row.bincount(minlength=keys.shape[1]) for row in i])
    return tuple(count(i).to(keys.dtype) / queries.shape[1] for i in (first, last))
def heard(queries, keys, mask):
    scores = queries @ keys.mT
    above = scores[..., :, None] > scores[..., None, :]
    rivals = mask[:, None, None, :] & ~torch.eye(keys.shape[1], dtype=torch.bool)
    share = lambda wins: ((wins | ~rivals).all(-1) & mask[:, None]).to(keys.dtype).mean(1)
    return share(above), share(above.mT)
WRONG
smallest in size for the lowest | last = scores.masked_fill(~mask[:, None], torch.inf) -> last = scores.abs().masked_fill(~mask[:, None], torch.inf)
    You take the score nearest to 0 for the lowest: the lowest may lie far below 0.
pads last, keeps 2 | torch.inf).argmin -> -torch.inf).argmin
    You put pads below all words for both questions, so that a pad is last wherever there is one: put
    them above all words to find the lowest.
mask ignored, keeps 2
    | .masked_fill(~mask[:, None], -torch.inf).argmax -> .argmax
    | .masked_fill(~mask[:, None], torch.inf).argmin -> .argmin
    You never use the mask: pads are first and last like words.
not far enough away, keeps 2
    | ~mask[:, None], -torch.inf -> ~mask[:, None], -1e4; ~mask[:, None], torch.inf -> ~mask[:, None], 1e4
    You put numbers at pads that some words lie beyond: nothing lies beyond infinity.
equal to the highest, pads among them, keeps 2
    | return share(first), share(last) -> best = scores.masked_fill(~mask[:, None], -torch.inf).amax(-1, keepdim=True)
    | worst = scores.masked_fill(~mask[:, None], torch.inf).amin(-1, keepdim=True)
    | return (scores == best).to(keys.dtype).mean(1), (scores == worst).to(keys.dtype).mean(1)
    You ask of pads as well whether they equal the best score, and a pad may hold the very numbers of a
    word: ask this of words alone.
pads of score zero, keeps 2
    | .masked_fill(~mask[:, None], -torch.inf).argmax -> .masked_fill(~mask[:, None], 0.0).argmax
    | .masked_fill(~mask[:, None], torch.inf).argmin -> .masked_fill(~mask[:, None], 0.0).argmin
    You give pads a score of 0: where all words score below that, a pad is first.
shares of pads set to zero, keeps 2
    | .masked_fill(~mask[:, None], -torch.inf).argmax -> .argmax
    | .masked_fill(~mask[:, None], torch.inf).argmin -> .argmin
    | share(first), share(last) -> share(first) * mask, share(last) * mask
    You drop the shares of pads afterwards: queries that chose a pad are then lost, where they belong
    to a word.
keys of pads set to zero, keeps 2
    | scores = queries @ keys.mT -> scores = queries @ (keys * mask[..., None]).mT
    | .masked_fill(~mask[:, None], -torch.inf).argmax -> .argmax
    | .masked_fill(~mask[:, None], torch.inf).argmin -> .argmin
    | share(first), share(last) -> share(first) * mask, share(last) * mask
    You set the keys of pads to zero, so that a pad scores 0, and that is often the highest or the
    lowest of all: fill the scores, with infinity.
pads last and then dropped, keeps 2
    | torch.inf).argmin -> -torch.inf).argmin
    | share(first), share(last) -> share(first) * mask, share(last) * mask
    You put pads below all words for both questions and drop their shares afterwards: wherever there
    is a pad, nobody is last. Put them above all words to find the lowest.
pads behind the words taken for granted, keeps 2
    | scores = queries @ keys.mT -> mask = torch.arange(keys.shape[1]) < mask.sum(1, keepdim=True)
    | scores = queries @ keys.mT
    You count the words and assume that pads come last: use the mask as it is.
order of the results | R -> R[::-1]
    Your two results are exchanged: the share of the highest first, that of the lowest second.
first twice | share(last) -> share(first)
    You return the shares of the highest score twice: the second is for the lowest.
by cosine | queries @ keys.mT -> F.normalize(queries, dim=-1) @ F.normalize(keys, dim=-1).mT
    You divide by the keys' lengths, and that is the very thing to be seen: the score is the dot
    product.
absolute values | queries @ keys.mT -> (queries @ keys.mT).abs()
    You drop the signs of the scores: a word that points the other way is last, not first.
nearest instead | queries @ keys.mT -> -torch.cdist(queries, keys)
    You look for the nearest and the farthest key: the score is the dot product.
counts | .mean(1) -> .sum(1)
    You count the queries: divide by how many there are to get a share.
divided by the words | .mean(1) -> .sum(1) / keys.shape[1]
    You divide by the number of words: it is a share of the queries.
one share for the batch | .mean(1) -> .mean((0, 1)).expand(mask.shape)
    You average over the batch: each sentence has words of its own.
over the queries | argmax(-1) -> argmax(1) % keys.shape[1]; argmin(-1) -> argmin(1) % keys.shape[1]
    You look for the best query of each word; the question is the best word of each query, over the last
    axis.
weights
    | return share(first), share(last) -> e = scores.masked_fill(~mask[:, None], -torch.inf)
    | return e.softmax(-1).mean(1), (-scores).masked_fill(~mask[:, None], -torch.inf).softmax(-1).mean(1)
    You average softmax weights: what counts is who is first, by however little.
lowest weight for lowest score, keeps 2
    | last = scores.masked_fill(~mask[:, None], torch.inf) -> w = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
    | last = w.masked_fill(~mask[:, None], torch.inf)
    You look for the lowest softmax weight: words far below the highest score all have a weight of 0,
    and which of them is lowest can no longer be seen. Compare the scores.
highest and lowest weight, pads among them, keeps 2 | queries @ keys.mT -> (queries @ keys.mT).softmax(-1)
    You compare softmax weights: next to a score far above them, of a pad even, all others are 0, and
    neither the highest nor the lowest of them can be seen. Compare the scores.
first query alone | share(first), share(last) -> share(first[:, :1]), share(last[:, :1])
    You look at the first query of each sentence alone: the share is over all of them.
sorted by length | queries @ keys.mT -> keys.norm(dim=-1)[:, None].expand(-1, queries.shape[1], -1)
    You compare lengths alone, without the queries: the score is the dot product.
stacked | R -> torch.stack(R)
    You stack the two into one tensor: return two tensors of shape (B, S).
""",
    draw=draw_heard,
    oracle=heard,
    undecided=close_call,
)

EXERCISE = Exercise("04_scores", "Luong's scores", (Q1, Q2, Q3, Q4, Q5, Q6))
