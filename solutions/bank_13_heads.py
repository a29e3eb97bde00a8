"""How the exercise on several heads is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import fill_pads, normal, padding, softmax_rows
from seqattn.grading.probes import PLAIN
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def merge_heads(x):
    B, H, T, d_h = x.shape
    merged = np.zeros((B, T, H * d_h))
    for b, h, t in np.ndindex(B, H, T):
        for k in range(d_h):
            merged[b, t, h * d_h + k] = x[b, h, t, k]
    return merged


def attend_in_heads(q, k, v, heads, mask):
    (B, T, d), (_, S, d_v) = q.shape, v.shape
    size, size_v = d // heads, d_v // heads
    weights, result = np.zeros((B, heads, T, S)), np.zeros((B, T, d_v))
    for b, h in np.ndindex(B, heads):
        part, part_v = slice(h * size, (h + 1) * size), slice(h * size_v, (h + 1) * size_v)
        scores = q[b, :, part] @ k[b, :, part].T / math.sqrt(size)
        weights[b, h] = softmax_rows(scores, mask[b])
        for i in np.flatnonzero(mask[b]):
            result[b, :, part_v] += np.outer(weights[b, h, :, i], v[b, i, part_v])
    return result, weights


def contributions(x, W_o):
    B, H, T, d_h = x.shape
    added = np.zeros((B, H, T, len(W_o)))
    for b, h, t in np.ndindex(B, H, T):
        for k in range(d_h):
            added[b, h, t] += x[b, h, t, k] * W_o[:, h * d_h + k]
    return added


def bill(d, heads, T, S):
    weights = sum(d * d + d for _ in ("query", "key", "value", "output"))
    products = T * d * d + S * d * d + S * d * d + T * d * d
    for _ in range(heads):
        products += 2 * T * S * (d // heads)
    return float(weights), float(products), float(heads * T)


def weight_at(weights, lengths, offset):
    return np.array(
        [
            np.mean(
                [
                    sentence[head, t, t + offset]
                    for sentence, n in zip(weights, lengths)
                    for t in range(n)
                    if 0 <= t + offset < n
                ]
            )
            for head in range(weights.shape[1])
        ]
    )


def stand_in(base, each, pairs):
    """Give what a loss of this form does without each head, and beyond the sum without all."""
    alone = tuple(float(each[h] + pairs[h, h]) for h in range(len(each)))
    together = float(sum(each) + pairs.sum())
    return {"without each head": alone, "beyond their sum": together - sum(alone)}


PARTS = ("valid", "test", "untrained")
NOBODY = 99.0  # in the place of a name


def grown(counts, right, weights, lengths, places):
    """``weights[c][p]`` are those of part ``p`` of the models with ``counts[c]`` heads, seed by seed."""
    enough = [
        count
        for c, count in enumerate(counts)
        if all(right[k].min() <= right[c].max() for k in range(c + 1, len(counts)))
    ]
    learned = []
    for valid, test, fresh in zip(*weights[-1]):
        names = []
        for h in range(counts[-1]):
            looks = [weight_at(valid, lengths, place)[h] for place in places]
            place = places[int(np.argmax(looks))]
            chance = weight_at(fresh, lengths, place).max()
            names.append(float(place) if weight_at(test, lengths, place)[h] > chance else NOBODY)
        learned.append(names)
    fixed = []
    for h in range(counts[-1]):
        names = {found[h] for found in learned}
        if len(names) == 1 and NOBODY not in names:
            fixed.append(float(h))
    return {
        "enough": float(enough[0]),
        "learned": tuple(x for names in learned for x in names),
        "always": tuple(float(p) for p in sorted(places) if all(p in found for found in learned)),
        "fixed": tuple(fixed),
    }


# --- Cases -----------------------------------------------------------------------------------------

SIZES = {  # B, H, T, S, d_h, size of a head's values
    "ordinary": (2, 3, 4, 5, 2, 3),
    "other sizes": (3, 2, 5, 2, 4, 3),
    "all sizes equal": (3, 3, 3, 3, 3, 3),
    "as many sentences as heads": (3, 3, 2, 4, 2, 2),
    "one head": (2, 1, 3, 4, 3, 2),
    "heads of size 1": (2, 4, 3, 2, 1, 1),
    "one sentence": (1, 2, 3, 5, 3, 2),
    "one position": (2, 3, 1, 1, 2, 3),
    "padded": (4, 2, 3, 5, 3, 2),
    "padded, strong scores": (4, 2, 3, 5, 1, 2),  # a root that rounds nothing
    "padded, as many sentences as heads": (3, 3, 2, 5, 2, 3),
    # A mask (B, S) fits queries and keys here, and a mask on both sides, too.
    "padded, as many sentences as positions": (3, 2, 3, 3, 2, 3),
}


def draw_parts(rng, kind):
    B, H, T, _, d_h, _ = SIZES[kind]
    return (normal(rng, B, H, T, d_h),)


def draw_attention(rng, kind):
    B, H, T, S, d_h, d_v = SIZES[kind]
    mask = np.ones((B, S), bool)
    k, v = normal(rng, B, S, H * d_h), normal(rng, B, S, H * d_v)
    if kind.startswith("padded"):
        mask = padding(rng, B, S)
        # Lengths that differ from sentence to sentence, or a mask on the wrong axis may pass.
        mask[1] = True
        # Pads in front and between as well: only the mask says which places are real.
        mask[2:] = rng.permuted(mask[2:], axis=1)
        mask[2] = np.arange(S) > 0
        fill_pads(rng, k, mask, 3.0)
        # A pad whose weight is a billionth is not masked.
        fill_pads(rng, v, mask, 1e6)
    q = normal(rng, B, T, H * d_h)
    if kind == "padded, strong scores":
        # In one sentence words lie far below any number that might stand for minus infinity.
        far = np.where(mask[2][:, None], np.round(8 * k[2]) / 8 - 12_000, 0)
        q, k = 15 * q, 10 * k
        q[2], k[2] = 1, far
    return q, k, v, H, mask


def draw_contributions(rng, kind):
    B, H, T, _, d_h, d_v = SIZES[kind]
    d = H * d_h if kind in ("all sizes equal", "one head") else H * d_h + d_v
    return normal(rng, B, H, T, d_h), normal(rng, d, H * d_h)


BILLS = {  # d, heads, T, S
    "ordinary": (12, 3, 5, 7),
    "more heads": (24, 8, 3, 11),
    "long": (8, 2, 90, 70),
    "one head": (6, 1, 4, 9),
    "equal lengths": (16, 4, 6, 6),
}


def draw_bill(rng, kind):
    d, heads, T, S = BILLS[kind]
    return d, heads, T + int(rng.integers(3)) if kind != "equal lengths" else T, S


MAPS = {  # lengths, padded to, heads, offsets
    "ordinary": ((5, 5), 5, 3, (-1, 1)),
    "same place": ((4, 4, 4), 4, 2, (0,)),
    "further away": ((6, 6), 6, 2, (-2, 3)),
    "padded": ((5, 2, 4), 6, 3, (-1,)),
    "padded, ahead": ((5, 2, 4), 6, 3, (1,)),
    "padded, same place": ((5, 2, 4), 6, 3, (0,)),
    "too short for some": ((5, 1, 3), 5, 2, (2,)),
    "too short, behind": ((5, 1, 3), 5, 2, (-2,)),
    "one sentence": ((4,), 4, 2, (1, -1)),
    "as many heads as positions": ((3, 3, 3), 3, 3, (-1, 1)),
}


def draw_maps(rng, kind):
    lengths, size, heads, offsets = MAPS[kind]
    lengths = np.array(rng.permutation(lengths), np.int64)
    weights = np.zeros((len(lengths), heads, size, size))
    for sentence, n in zip(weights, lengths):
        sentence[:, :n, :n] = softmax_rows(normal(rng, heads, n, n, scale=1.5))
        sentence[:, n:] = normal(rng, heads, size - n, size, scale=3.0)
        sentence[:, :n, n:] = normal(rng, heads, n, size - n, scale=3.0)
    return weights.astype(np.float32), lengths, int(rng.choice(offsets))


LAYERS = {"ordinary": 4, "two heads": 2, "many heads": 7, "one head": 1}


def draw_layer(rng, kind):
    heads = LAYERS[kind]
    return round(float(rng.uniform(1.0, 3.0)), 2), normal(rng, heads), normal(rng, heads, heads)


# Shares of right answers in hundredths, a row for each number of heads.
RIGHTS = {
    "two are enough": ((1, 2, 4), ((40, 42, 41), (90, 95, 91), (94, 93, 96))),
    "the most are needed": ((1, 2, 3), ((40, 42, 41), (60, 63, 61), (90, 95, 91))),
    "one is enough": ((1, 2, 4), ((60, 66, 61), (62, 59, 64), (65, 60, 70))),
    "better by two steps": ((1, 2, 4), ((60, 66, 62), (64, 70, 65), (69, 72, 68))),
    "worse, then better": ((1, 2, 3), ((60, 62, 61), (40, 45, 41), (70, 71, 72))),
    "two are best": ((1, 2, 4), ((60, 66, 62), (80, 84, 82), (61, 70, 63))),
    "fewer are better": ((1, 2, 4), ((80, 82, 81), (40, 45, 41), (60, 61, 62))),
    "touching": ((2, 3), ((60, 65), (65, 70))),
    "one seed apart": ((1, 2), ((60, 62, 90), (80, 82, 81))),
}
# What each head does, a row for each seed: the place at which it looks most on validation lines, and how.
# c clearly; s on other lines more at another place; v on validation lines alone; w with little weight, but
# more than untrained heads; l, o, m with as little, and less than another untrained head has there, than this
# one, than all but one.
ROLES = {
    "two are enough": ("0c 1c 2c 1c", "2c 0c 1c 1w", "1c 2c 0c 0c"),
    "the most are needed": ("0c 1c 2s", "0w 2c 1c", "0c 1c 2c"),
    "one is enough": ("0v 1c 2o 1c", "1c 2c 0m 2c", "2v 0c 1l 1c"),
    "better by two steps": ("0c 0c 1s 1w", "0c 1c 1c 0v", "0s 1w 0c 1l"),
    "worse, then better": ("0l 1c 2c", "0c 1c 2l", "0c 1l 2c"),
    "two are best": ("1c 0c 2l 0v", "1w 2c 0c 1s", "1c 0v 1c 2c"),
    "fewer are better": ("0l 1v 0v 2v", "0l 1v 0v 2l", "0l 1v 0v 2v"),
    "touching": ("0c 1c 2c", "0c 1c 2c"),
    "one seed apart": ("2c 0s", "2c 2s", "2w 2c"),
}
HIGH = {
    "c": (0.62, 0.57),
    "s": (0.42, 0.36),
    "v": (0.5, 0.05),
    "w": (0.34, 0.33),
    "l": (0.36, 0.32),
}
HIGH |= dict.fromkeys("om", HIGH["l"])


def draw_heads(rng, kind):
    counts, right = RIGHTS[kind]
    places = [int(p) for p in ((-2, -1, 1), (-1, 1, 2), (-1, 0, 1))[rng.integers(3)]]
    if kind in ("two are enough", "fewer are better"):  # a rising order is not given
        places = places[::-1]
    lengths, size, weights = np.array(rng.permutation([5, 6]), np.int64), 6, []
    for count in counts:
        looks = np.zeros((3, len(ROLES[kind]), count, 3))  # part, seed, head, place
        for seed, roles in enumerate(ROLES[kind]):
            looks[:, seed] = 0.1 + 0.1 * rng.random((3, count, 3))
            for h, (place, how) in enumerate(roles.split()[:count]):
                k = int(place)
                other = (k + 1) % 3
                looks[:2, seed, h] -= 0.08
                looks[0, seed, h, k], looks[1, seed, h, k] = np.array(HIGH[how]) + 0.01 * h
                if how in "sv":
                    looks[1, seed, h, other] = 0.5 + 0.02 * rng.random()
                ahead = {"l": [h + 1], "o": [h], "m": range(h, h + count - 1)}.get(how, [])
                for other in ahead:
                    looks[2, seed, other % count, k] = 0.43 + 0.02 * rng.random()
        weights.append(maps_with(rng, looks, places, lengths, size))
    return counts, np.array(right, np.float32) / 100, weights, lengths, places


def maps_with(rng, looks, places, lengths, size):
    """Make maps, of each part and seed, whose heads give places their mean weights."""
    parts, seeds, heads, _ = looks.shape
    maps = rng.normal(0, 3, (parts, seeds, len(lengths), heads, size, size))
    for p, s, b, h in np.ndindex(parts, seeds, len(lengths), heads):
        n = int(lengths[b])
        rows = np.zeros((n, n))
        for t in range(n):
            for k, place in enumerate(places):
                if 0 <= t + place < n:
                    rows[t, t + place] = looks[p, s, h, k]
            rest = [i for i in range(n) if i - t not in places]
            share = rng.random(len(rest)) + 0.5
            rows[t, rest] = (1 - rows[t].sum()) * share / share.sum()
        maps[p, s, b, h, :n, :n] = rows
    return maps.astype(np.float32)


# --- Questions -------------------------------------------------------------------------------------

Q1 = question(
    """q1: Merge
merge_heads(x)
read chapters/13_heads: Split, then transpose
side by side, 2 points: ordinary; other sizes; all sizes equal; one head; heads of size 1; one sentence; one position
    Bring positions before heads, then join the last two axes.
gradients, 1 point, backward: ordinary
    The values are right, but no gradient reaches the parts: no detach, no .data, no NumPy on the way.
RIGHT
def merge_heads(x):
    return x.transpose(1, 2).flatten(2)
def merge_heads(x):
    B, H, T, d_h = x.shape
    return x.permute(0, 2, 1, 3).reshape(B, T, H * d_h)
def merge_heads(x):
    return torch.cat(x.unbind(1), -1)
def merge_heads(x):
    B, H, T, d_h = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, -1)
def merge_heads(x):
    parts = [x[:, h] for h in range(x.shape[1])]
    return torch.concat(parts, dim=2)
def merge_heads(x):
    return torch.hstack([torch.cat(list(s), -1).unsqueeze(0) for s in x]).reshape(len(x), x.shape[2], -1)
WRONG
one view | x.permute(0, 2, 1, 3).reshape -> x.reshape
    You only reshape: that mixes positions with heads. Transpose first, so that the numbers of one
    position stand together.
added | torch.cat(x.unbind(1), -1) -> torch.cat([x.sum(1)] * x.shape[1], -1)
    You add the heads: set them side by side. The output matrix adds them later.
averaged | torch.cat(x.unbind(1), -1) -> torch.cat([x.mean(1)] * x.shape[1], -1)
    You average the heads: set them side by side, each with its own numbers.
last head first | x.unbind(1) -> x.unbind(1)[::-1]
    Your heads are in reverse order: head 1 comes first.
interleaved | x.transpose(1, 2) -> x.permute(0, 2, 3, 1)
    You take the first number of every head, then the second: all numbers of head 1 come first.
positions in the last axis | x.transpose(1, 2).flatten(2) -> x.transpose(1, 2).transpose(1, 3).flatten(2)
    Your rows are not positions: the result is (B, T, H · d_h), a row for each position.
numbers of a head reversed | x.transpose(1, 2) -> x.flip(-1).transpose(1, 2)
    You reverse the numbers within each head: keep their order.
positions reversed | x.transpose(1, 2) -> x.flip(2).transpose(1, 2)
    You reverse the order of the positions: keep it as it is.
sentences in one row | R -> R.flatten(0, 1)
    You join the sentences as well: the result has three axes, (B, T, H · d_h).
first head alone | x.unbind(1) -> [x[:, 0]] * x.shape[1]
    You repeat the first head: every head has a part of its own.
detached, keeps 2 | R -> R.detach()
    The values are right, but you cut the gradient: no detach.
"""
    + WRONG_FORMS,
    draw=draw_parts,
    oracle=merge_heads,
)

Q2 = question(
    """q2: Each head by itself
attend_in_heads(q, k, v, heads, mask)
read chapters/13_heads: In general
each its part, 3 points: ordinary; other sizes; all sizes equal; as many sentences as heads; one head; heads of size 1; one sentence; one position
    Split the last axis, bring the heads to the front, divide by the root of a head's own size, softmax
    over the keys, and merge.
padding, 2 points: padded; padded, strong scores; padded, as many sentences as heads; padded, as many sentences as positions
    A sentence's mask holds for all its heads and queries: give it two new axes, and give pads minus infinity
    before the softmax.
    read chapters/13_heads: Split, then transpose
gradients, 1 point, backward: ordinary; padded
    The results are right, but their gradients are not: no detach, no .data, no NumPy on the way.
RIGHT
def attend_in_heads(q, k, v, heads, mask):
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    e = q @ k.mT / math.sqrt(q.shape[-1])
    a = e.masked_fill(~mask[:, None, None], -math.inf).softmax(-1)
    return (a @ v).transpose(1, 2).flatten(2), a
def attend_in_heads(q, k, v, heads, mask):
    results, maps = [], []
    for q_h, k_h, v_h in zip(q.chunk(heads, -1), k.chunk(heads, -1), v.chunk(heads, -1)):
        scores = torch.bmm(q_h, k_h.transpose(1, 2)) / q_h.shape[-1] ** 0.5
        weights = F.softmax(scores.masked_fill(~mask.unsqueeze(1), float("-inf")), dim=2)
        results.append(torch.bmm(weights, v_h))
        maps.append(weights)
    return torch.cat(results, 2), torch.stack(maps, 1)
def attend_in_heads(q, k, v, heads, mask):
    (B, T, d), S = q.shape, k.shape[1]
    q = q.view(B, T, heads, d // heads)
    k = k.view(B, S, heads, d // heads)
    v = v.view(B, S, heads, -1)
    e = torch.einsum("bthd,bshd->bhts", q, k) * (d // heads) ** -0.5
    raised = e.masked_fill(~mask[:, None, None], -1e30).softmax(-1)
    return torch.einsum("bhts,bshd->bthd", raised, v).flatten(2), raised
def attend_in_heads(q, k, v, heads, mask):
    def front(x):
        return x.reshape(*x.shape[:2], heads, -1).permute(0, 2, 1, 3).flatten(0, 1)
    B, T, _ = q.shape
    Q, K, V = front(q), front(k), front(v)
    real = mask.repeat_interleave(heads, 0)[:, None]
    A = (Q @ K.mT / math.sqrt(Q.size(-1))).masked_fill(~real, -math.inf).softmax(-1)
    merged = (A @ V).view(B, heads, T, -1).permute(0, 2, 1, 3).reshape(B, T, -1)
    return merged, A.view(B, heads, T, -1)
def attend_in_heads(q, k, v, heads, mask):
    rows, maps = [], []
    d_h = q.shape[-1] // heads
    for b in range(len(q)):
        Q, K, V = (x[b].unflatten(-1, (heads, -1)).movedim(1, 0) for x in (q, k, v))
        e = Q @ K.mT / math.sqrt(d_h)
        maps.append(e.masked_fill(~mask[b], -math.inf).softmax(-1))
        rows.append(torch.cat(list(maps[-1] @ V), -1))
    return torch.stack(rows), torch.stack(maps)
WRONG
root of all numbers
    | q @ k.mT / math.sqrt(q.shape[-1]) -> q @ k.mT / math.sqrt(heads * q.shape[-1])
    You divide by the root of d, all heads together: divide by the root of one head's own size.
    read chapters/13_heads: Split, then transpose
not divided | q @ k.mT / math.sqrt(q.shape[-1]) -> q @ k.mT
    Your scores are not divided by the root of a head's size.
    read chapters/13_heads: Split, then transpose
divided by the size | math.sqrt(q.shape[-1]) -> q.shape[-1]
    You divide by the size of a head: divide by the root of that size.
    read chapters/13_heads: Split, then transpose
root cut to a whole number | math.sqrt(q.shape[-1]) -> int(math.sqrt(q.shape[-1]))
    You cut the root of a head's size to a whole number: keep its digits.
    read chapters/13_heads: Split, then transpose
root of the values' size | math.sqrt(q.shape[-1]) -> math.sqrt(v.shape[-1])
    You divide by the root of the values' size: the scores are sums over a head's numbers of query and key.
softmax over queries
    | .masked_fill(~mask[:, None, None], -math.inf).softmax(-1) -> .softmax(2).masked_fill(~mask[:, None, None], 0)
    You take the softmax over the queries: each query's weights sum to 1 over the keys.
softmax over heads
    | .masked_fill(~mask[:, None, None], -math.inf).softmax(-1) -> .softmax(1).masked_fill(~mask[:, None, None], 0)
    You take the softmax over the heads: each head has weights of its own that sum to 1 over the keys.
split by one view
    | x.unflatten(-1, (heads, -1)).transpose(1, 2) -> x.reshape(len(x), heads, x.shape[1], -1)
    Your heads get positions instead of numbers: split the last axis, then transpose.
    read chapters/13_heads: Split, then transpose
merged by one view | (a @ v).transpose(1, 2).flatten(2) -> (a @ v).reshape(len(a), a.shape[2], -1)
    You merge the results by a reshape alone: transpose first, so that one position's numbers stand together.
    read chapters/13_heads: Split, then transpose
interleaved numbers
    | x.unflatten(-1, (heads, -1)).transpose(1, 2) -> x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)
    Your heads take every H-th number: head 1 has the first d_h numbers, all in one block.
    read chapters/13_heads: Split, then transpose
interleaved numbers, merged in the same way
    | x.unflatten(-1, (heads, -1)).transpose(1, 2) -> x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)
    | (a @ v).transpose(1, 2).flatten(2) -> (a @ v).permute(0, 2, 3, 1).flatten(2)
    Your heads take every H-th number, and give their results back in the same way: head 1 has the first
    numbers, all in one block, here and there.
    read chapters/13_heads: Split, then transpose
no mask, keeps 3 | .masked_fill(~mask[:, None, None], -math.inf) ->
    You do not use the mask: pads get weight.
one new axis | ~mask[:, None, None] -> ~mask[:, None]
    Your mask has one new axis, which puts the sentences on the heads' axis: give it two, for heads and
    for queries.
    read chapters/13_heads: Split, then transpose
masks laid over the heads, keeps 3 | mask.repeat_interleave(heads, 0) -> mask.repeat(heads, 1)
    You repeat all masks one after the other, so heads get the masks of other sentences: repeat each
    sentence's mask for all its heads.
    read chapters/13_heads: Split, then transpose
mask turned round, minus infinity | ~mask[:, None, None], -math.inf -> mask[:, None, None], -math.inf
    Your mask is inverted, so sentences without pads have nothing left and give NaN: True means that a
    position may be attended.
    read chapters/13_heads: Split, then transpose
masked after the softmax, keeps 3
    | .masked_fill(~mask[:, None, None], -math.inf).softmax(-1) -> .softmax(-1).masked_fill(~mask[:, None, None], 0)
    You mask after the softmax: the weights of the real words no longer sum to 1.
divided again after the softmax, keeps 4
    | a = e.masked_fill(~mask[:, None, None], -math.inf).softmax(-1) -> a = e.softmax(-1) * mask[:, None, None]; a = a / (a.sum(-1, keepdim=True) + 1e-13)
    You take pads out after the softmax and divide again: where pads had nearly all the weight, too
    little is left to divide by. Mask the scores.
exp of strong scores, keeps 4 | a = e.masked_fill(~mask[:, None, None], -math.inf).softmax(-1) -> a = e.masked_fill(~mask[:, None, None], -math.inf).exp(); a = a / a.sum(-1, keepdim=True)
    You take exp of the scores as they are, which is infinite for strong ones: use softmax, or subtract
    the largest score of each row first.
mask turned round
    | .masked_fill(~mask[:, None, None], -math.inf) -> .masked_fill(mask[:, None, None], -1e9)
    Your mask is inverted: True means that a position may be attended.
    read chapters/13_heads: Split, then transpose
a mask of -100, keeps 4 | -math.inf -> -100.0
    Your mask is a score like any other, and words may have lower ones: use minus infinity.
a mask of -10, keeps 3 | -math.inf -> -10.0
    Your mask is too weak: pads keep some weight, and words may have lower scores. Use minus infinity.
pads taken for the last ones, keeps 3 | ~mask[:, None, None] -> torch.arange(k.shape[2]) >= mask.sum(1)[:, None, None, None]
    You count the real words and open that many places from the start: pads may stand in front, and
    only the mask says where.
the mask added, keeps 3 | e.masked_fill(~mask[:, None, None], -math.inf) -> (e + mask[:, None, None])
    You add True, which is 1, to the scores. That is no mask: give pads minus infinity.
masked with zero, keeps 3 | -math.inf -> 0.0
    A score of 0 is no mask: a pad with score 0 still gets weight. Use minus infinity.
mean of the weights | R -> (R[0], R[1].mean(1, keepdim=True).expand_as(R[1]))
    You average the weights over the heads: return those of each head.
averaged heads | (a @ v).transpose(1, 2).flatten(2) -> (a @ v).mean(1).repeat(1, 1, heads)
    You average the heads' results: set them side by side.
weights of the last heads first | R -> (R[0], R[1].flip(1))
    Your maps are in reverse order: that of head 1 comes first.
whole values for each head
    | (a @ v).transpose(1, 2).flatten(2) -> (a.mean(1) @ v.transpose(1, 2).flatten(2))
    You sum whole values with the mean of the weights: each head sums its own part of the values.
keys and values exchanged | x in (q, k, v)) -> x in (q, v, k))
    You compare the queries with the values: compare them with the keys, and sum the values.
detached, keeps 5 | R -> (R[0].detach(), R[1])
    The values are right, but no gradient leaves your results: no detach.
weights detached, keeps 5 | R -> (R[0], R[1].detach())
    The values are right, but no gradient leaves the weights that you return: return them as they are.
""",
    draw=draw_attention,
    oracle=attend_in_heads,
    forbidden=(
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "multi_head_attention_forward",
    ),
)

Q3 = question(
    """q3: What each head adds
contributions(x, W_o)
read chapters/13_heads: In general
addends, 3 points: ordinary; other sizes; all sizes equal; one head; heads of size 1; one sentence; one position
    Multiply head h by its own d_h columns of W_o, which is stored as PyTorch stores it.
gradients, 1 point, backward: ordinary
    The values are right, but the gradients do not reach both arguments.
RIGHT
def contributions(x, W_o):
    blocks = W_o.unflatten(1, (x.shape[1], -1))
    return torch.einsum("bhtk,dhk->bhtd", x, blocks)
def contributions(x, W_o):
    H, d_h = x.shape[1], x.shape[3]
    return torch.stack([x[:, h] @ W_o[:, h * d_h : (h + 1) * d_h].T for h in range(H)], 1)
def contributions(x, W_o):
    W = W_o.reshape(len(W_o), x.shape[1], x.shape[3]).permute(1, 2, 0)
    return x @ W
def contributions(x, W_o):
    return torch.cat([F.linear(p, w) for p, w in zip(x.split(1, 1), W_o.chunk(x.shape[1], 1))], 1)
def contributions(x, W_o):
    B, H, T, d_h = x.shape
    rows = []
    for h in range(H):
        alone = x * (torch.arange(H) == h)[:, None, None]
        rows.append(alone.transpose(1, 2).reshape(B, T, H * d_h) @ W_o.T)
    return torch.stack(rows, 1)
WRONG
rows in place of columns
    | x @ W -> x @ W_o.T.reshape(x.shape[1], -1, len(W_o)).flip(0)
    You multiply heads by the blocks of other heads: head h, counted from 0, has the d_h columns of W_o
    that begin at h · d_h.
interleaved columns | blocks = W_o.unflatten(1, (x.shape[1], -1)) -> blocks = W_o.unflatten(1, (-1, x.shape[1])).mT
    Your heads take every H-th column: the columns of one head stand side by side.
blocks of rows
    | x @ W -> x @ W_o.flatten()[: W_o.numel()].reshape(x.shape[1], x.shape[3], len(W_o))
    You cut W_o without regard to its layout: its rows belong to the output, and its columns to the heads.
summed | R -> R.sum(1, keepdim=True).expand_as(R)
    You return the output for every head: keep the addends apart.
averaged | R -> R / x.shape[1]
    You divide by the number of heads: heads are added, not averaged.
running sum | R -> R.cumsum(1)
    You return running sums over the heads: each addend belongs to one head alone.
everything but the head | R -> R.sum(1, keepdim=True) - R
    You return what is left without the head: return what it adds.
the same block for all | torch.einsum("bhtk,dhk->bhtd", x, blocks) -> torch.einsum("bhtk,dk->bhtd", x, blocks[:, 0])
    You multiply every head by the first block: each head has columns of its own.
heads in reverse order | R -> R.flip(1)
    Your addends are in reverse order: that of head 1 comes first.
positions before heads | R -> R.transpose(1, 2).contiguous().view(R.shape)
    Your axes are mixed: the result is (B, H, T, d).
mean over the head's numbers | R -> R / x.shape[3]
    You divide by a head's size: add up over its numbers without dividing.
the matrix detached, keeps 3 | W_o.unflatten -> W_o.detach().unflatten
    No gradient reaches W_o: leave out the detach.
"""
    + WRONG_FORMS,
    draw=draw_contributions,
    oracle=contributions,
)

Q4 = question(
    """q4: The bill of cross-attention
bill(d, heads, T, S)
read chapters/13_heads: The bill
weights, 1 point: ordinary; more heads; one head; equal lengths
    Four matrices of d × d, each with a bias of d.
multiplications, 2 points: ordinary; more heads; long; one head; equal lengths
    Query and output project T rows, key and value S rows; scores and sums take T · S · d each, all heads
    together.
rows, 1 point: ordinary; more heads; one head
    Each head has a row for each position that asks.
RIGHT
def bill(d, heads, T, S):
    products = 2 * T * d * d + 2 * S * d * d + 2 * T * S * d
    return 4 * d * d + 4 * d, products, heads * T
def bill(d, heads, T, S):
    d_h = d // heads
    projections = (T + S + S + T) * d ** 2
    return 4 * d * (d + 1), projections + heads * (T * S * d_h + T * S * d_h), T * heads
def bill(d, heads, T, S):
    total = 0
    for rows in (T, S, S, T):
        total += rows * d * d
    for _ in range(heads):
        total += 2 * T * S * (d // heads)
    return [sum(p.numel() for p in nn.MultiheadAttention(d, heads).parameters()), total, heads * T]
def bill(d, heads, T, S):
    return torch.tensor([4 * (d * d + d), 2 * d * (d * (T + S) + T * S), heads * T])
def bill(d, heads, T, S):
    linear = nn.Linear(d, d)
    one = sum(p.numel() for p in linear.parameters())
    return 4 * one, 2 * linear.weight.numel() * (T + S) + 2 * d * T * S, T * heads
WRONG
weights times the heads, keeps 3 | 4 * d * d + 4 * d, products -> heads * (4 * d * d + 4 * d), products
    You count the weights once for each head: heads share the matrices, each with d / H of the columns.
no biases, keeps 3 | 4 * d * d + 4 * d, products -> 4 * d * d, products
    You leave out the biases: each of the four matrices has one of size d.
output matrix forgotten, keeps 3 | 4 * d * d + 4 * d, products -> 3 * d * d + 3 * d, products
    You count three matrices: the one that mixes the heads is the fourth.
matrices of one head, keeps 3 | 4 * d * d + 4 * d, products -> 4 * d * (d // heads) + 4 * (d // heads), products
    You count the weights of one head: count those of all heads together.
multiplications times the heads, keeps 2 | 2 * T * S * d -> 2 * T * S * d * heads
    You count d numbers for each head: a head compares d / H of them.
lengths exchanged, keeps 2 | heads * T -> heads * T + 0; 2 * T * d * d + 2 * S * d * d -> T * d * d + 3 * S * d * d
    You project too many rows of the source: query and output have T rows, key and value have S.
self-attention, keeps 2 | 2 * T * d * d + 2 * S * d * d -> 4 * T * d * d
    You count as if all four projections had T rows: those of keys and values have S.
all of the source, keeps 2 | 2 * T * d * d + 2 * S * d * d -> 4 * S * d * d
    You count as if all four projections had S rows: those of queries and output have T.
sums forgotten, keeps 2 | 2 * T * S * d -> T * S * d
    You count the scores alone: the weighted sums are T · S · d multiplications as well.
source projected once, keeps 2 | 2 * S * d * d -> S * d * d
    You project the source once: keys are one projection of its S rows, and values are another.
scores and sums forgotten, keeps 2 | + 2 * T * S * d ->
    You count the projections alone: scores and weighted sums are products, too.
output not multiplied, keeps 2 | 2 * T * d * d + 2 * S * d * d -> T * d * d + 2 * S * d * d
    You leave out the product with the output matrix, which has T rows.
additions counted, keeps 2 | , products, -> , 2 * products,
    You count multiplications and additions: count only multiplications.
rows of one head, keeps 3 | heads * T -> T
    You count the rows of one head: each head has rows of its own.
one row for each key, keeps 3 | heads * T -> heads * S
    You count a row for each position that is asked: a row belongs to a position that asks.
entries for rows, keeps 3 | heads * T -> heads * T * S
    You count the entries of the maps: count their rows.
""",
    parts={
        "weights": ("the weights",),
        "multiplications": ("the multiplications",),
        "rows": ("the rows",),
    },
    draw=draw_bill,
    oracle=lambda *sizes: dict(
        zip(("the weights", "the multiplications", "the rows"), bill(*sizes), strict=True)
    ),
    probe=PLAIN
    + """
def probe(bill, *sizes):
    found = plain(bill(*sizes))
    if not isinstance(found, tuple) or len(found) != 3:
        return found
    return dict(zip(("the weights", "the multiplications", "the rows"), found))
""",
)

Q5 = question(
    """q5: What a head looks at
weight_at(weights, lengths, offset)
read chapters/13_heads: What heads learn
rows that can, 3 points: ordinary; same place; further away; one sentence; as many heads as positions
    Row t asks: take the weight in row t and column t + offset, where there is such a column, and
    average for each head.
true lengths, 2 points: padded; padded, ahead; padded, same place; too short for some; too short, behind
    Only real positions count, on both sides. Take one mean over all rows of all sentences.
gradients, 1 point, backward: ordinary; padded; padded, ahead
    The values are right, but the gradients do not reach the weights.
RIGHT
def weight_at(weights, lengths, offset):
    rows = []
    for sentence, n in zip(weights, lengths.tolist()):
        rows.append(sentence[:, :n, :n].diagonal(offset, -2, -1))
    return torch.cat(rows, dim=-1).mean(dim=-1)
def weight_at(weights, lengths, offset):
    at = torch.arange(weights.shape[-1])
    real = at < lengths[:, None]
    asked = real[:, :, None] & real[:, None] & (at - at[:, None] == offset)
    chosen = weights.masked_fill(~asked[:, None], 0.0)
    return chosen.sum((0, 2, 3)) / asked.sum()
def weight_at(weights, lengths, offset):
    found = [[] for _ in range(weights.shape[1])]
    for b, n in enumerate(lengths.tolist()):
        for t in range(n):
            if 0 <= t + offset < n:
                for h, row in enumerate(found):
                    row.append(weights[b, h, t, t + offset])
    return torch.stack([torch.stack(row).mean() for row in found])
def weight_at(weights, lengths, offset):
    t = torch.arange(max(0, -offset), weights.shape[2] - max(0, offset))
    picked = weights[:, :, t, t + offset]
    counts = torch.maximum(t, t + offset)[None] < lengths[:, None]
    return picked.masked_fill(~counts[:, None], 0.0).sum((0, 2)) / counts.sum()
def weight_at(weights, lengths, offset):
    d = weights.diagonal(offset, 2, 3)
    n = (lengths - abs(offset)).clamp(min=0)
    keep = torch.arange(d.shape[-1]) < n[:, None]
    return d.transpose(0, 1)[:, keep].mean(1)
WRONG
rows and columns exchanged | .diagonal(offset, -2, -1) -> .diagonal(-offset, -2, -1)
    You have rows and columns exchanged: row t asks, and column t + offset is looked at.
pads counted, keeps 3 | sentence[:, :n, :n] -> sentence
    You count rows of padding: only the first lengths[b] positions of a sentence are real.
columns of padding counted, keeps 3 | sentence[:, :n, :n] -> sentence[:, :n]
    You count columns of padding: the position that is looked at must be real as well.
rows of padding counted, keeps 3 | sentence[:, :n, :n] -> sentence[..., :n]
    You count rows of padding: the position that asks must be real as well.
rows without such a position count as 0
    | return chosen.sum((0, 2, 3)) / asked.sum() -> return chosen.sum((0, 2, 3)) / lengths.sum()
    You divide by the number of all rows: leave out those that have no position there.
divided by all places, keeps 3 | / counts.sum() -> / counts.numel()
    You divide by the padded number of rows: divide by the number of those that count.
a mean of means, keeps 3
    | means = []
    | for sentence, n in zip(weights, lengths.tolist()):
    |     if n > abs(offset):
    |         means.append(sentence[:, :n, :n].diagonal(offset, -2, -1).mean(-1))
    | return torch.stack(means).mean(0)
    You average each sentence and then the sentences: take a single mean over all rows.
a mean of means, with 0 for a short sentence, keeps 3
    | means = []
    | for sentence, n in zip(weights, lengths.tolist()):
    |     chosen = sentence[:, :n, :n].diagonal(offset, -2, -1)
    |     means.append(chosen.sum(-1) / max(1, chosen.shape[-1]))
    | return torch.stack(means).mean(0)
    You average each sentence and then the sentences, and a sentence without such a position counts as 0:
    take a single mean over all rows that have one.
negative columns count from the end
    | found = [[] for _ in range(weights.shape[1])]
    | for b, n in enumerate(lengths.tolist()):
    |     for t in range(n):
    |         if t + offset < n:
    |             for h, row in enumerate(found):
    |                 row.append(weights[b, h, t, t + offset])
    | return torch.stack([torch.stack(row).mean() for row in found])
    You let t + offset fall below 0, where Python counts from the end: such a row has no position there,
    so leave it out.
rows at the edge look at themselves
    | t = torch.arange(weights.shape[2])
    | picked = weights[:, :, t, (t + offset).clamp(0, len(t) - 1)]
    | counts = (t < lengths[:, None])[:, None]
    | return picked.masked_fill(~counts, 0.0).sum((0, 2)) / counts.sum()
    You move columns outside the sentence to its ends: a row that has no position there is left out.
the first pad counted, keeps 3
    | at = torch.arange(weights.shape[-1])
    | ends = at <= lengths[:, None]
    | real = at < lengths[:, None]
    | asked = real[:, :, None] & ends[:, None] & (at - at[:, None] == offset)
    | chosen = weights.masked_fill(~asked[:, None], 0.0)
    | return chosen.sum((0, 2, 3)) / asked.sum()
    You count the column behind the last word: positions run from 0 to the sentence's length less 1.
all heads together | R -> R.mean(0, keepdim=True).expand_as(R)
    You average over the heads: return one number for each of them.
the sum | torch.cat(rows, dim=-1).mean(dim=-1) -> torch.cat(rows, dim=-1).sum(dim=-1)
    You add up the weights: return their mean instead.
one place further | .diagonal(offset, -2, -1) -> .diagonal(offset + (1 if offset >= 0 else -1), -2, -1)
    You look one place too far: row t looks at t + offset.
distance without direction
    | (at - at[:, None] == offset) -> ((at - at[:, None]).abs() == abs(offset))
    You count both directions: the sign of the offset says which.
wraps around
    | t = torch.arange(weights.shape[2])
    | picked = weights[:, :, t, (t + offset) % len(t)]
    | counts = (t < lengths[:, None])[:, None]
    | return picked.masked_fill(~counts, 0.0).sum((0, 2)) / counts.sum()
    You let rows at the edge look at the other end of the sentence: they have no such position, so
    leave them out.
largest weights counted
    | .diagonal(offset, -2, -1) -> .softmax(-1).diagonal(offset, -2, -1)
    You take a softmax of the weights: they are weights already.
detached, keeps 5 | R -> R.detach()
    The values are right, but you cut the gradient: no detach.
"""
    + WRONG_FORMS,
    draw=draw_maps,
    oracle=weight_at,
)

Q6 = question(
    """q6: Who stands in?
stand_in(loss, heads)
read chapters/13_heads: Which heads matter
without each, 2 points: ordinary; two heads; many heads
    Ask for the loss with one False in the mask, and subtract the loss with all heads.
beyond the sum, 2 points: ordinary; two heads; many heads; one head
    The rise without all heads, minus the sum of the rises without each.
RIGHT
def stand_in(loss, heads):
    everyone = torch.ones(heads, dtype=torch.bool)
    base, each = loss(everyone), []
    for head in range(heads):
        keep = everyone.clone()
        keep[head] = False
        each.append(loss(keep) - base)
    return each, loss(~everyone) - base - sum(each)
def stand_in(loss, heads):
    base = loss(torch.full((heads,), True))
    each = [loss(torch.arange(heads) != h) - base for h in range(heads)]
    return each, loss(torch.full((heads,), False)) - base - sum(each)
def stand_in(loss, heads):
    masks = ~torch.eye(heads, dtype=torch.bool)
    base = loss(torch.ones(heads).bool())
    each = torch.tensor([loss(mask) for mask in masks], dtype=torch.float64) - base
    return each, loss(torch.zeros(heads).bool()) - base - each.sum()
def stand_in(loss, heads):
    full, none = loss(torch.tensor([True] * heads)), loss(torch.tensor([False] * heads))
    each = []
    for h in range(heads):
        each.append(loss(torch.tensor([i != h for i in range(heads)])) - full)
    return tuple(each), none - full - math.fsum(each)
def stand_in(loss, heads):
    keep = torch.ones(heads, dtype=torch.bool)
    base, each = loss(keep), torch.zeros(heads, dtype=torch.float64)
    for h in range(heads):
        keep[h] = False
        each[h] = loss(keep) - base
        keep[h] = True
    keep.fill_(False)
    return each, (loss(keep) - base) - each.sum().item()
WRONG
sizes of the rises | each.append(loss(keep) - base) -> each.append(abs(loss(keep) - base))
    You drop the sign: without a head the loss may fall, and that counts as a negative rise.
falls count as nothing | each.append(loss(keep) - base) -> each.append(max(loss(keep) - base, 0.0))
    You take a fall for 0: without a head the loss may fall, and that counts as a negative rise.
one after the other | keep = everyone.clone() -> keep = everyone if head == 0 else keep
    You never put a head back: leave out each head alone, while all others stay.
only one kept | [loss(torch.arange(heads) != h) -> [loss(torch.arange(heads) == h)
    You keep one head and leave out the others: leave out one and keep the others.
measured from no heads at all | base = loss(torch.full((heads,), True)) -> base = loss(torch.full((heads,), False))
    You subtract the loss without any head: subtract the loss with all of them.
losses, not rises | each.append(loss(keep) - base) -> each.append(loss(keep))
    You return the losses: subtract the loss with all heads.
sign | each.append(loss(keep) - base) -> each.append(base - loss(keep))
    Your rises have the wrong sign: take the loss without the head minus the loss with all.
relative rises | each.append(loss(keep) - base) -> each.append((loss(keep) - base) / base)
    You divide by the loss with all heads: return the rise itself.
sum added, keeps 2 | - base - sum(each) -> - base + sum(each)
    You add what the heads' own rises come to: subtract it.
sum not subtracted, keeps 2 | - base - sum(each) -> - base
    You return the rise without all heads: subtract what the heads' own rises add up to.
base not subtracted, keeps 2 | - base - sum(each) -> - sum(each)
    You forget to subtract the loss with all heads from the loss without any.
mean in place of the sum, keeps 2 | - sum(each) -> - sum(each) / heads
    You subtract the mean of the rises: subtract their sum.
largest in place of the sum, keeps 2 | - sum(each) -> - max(each)
    You subtract the largest rise: subtract the sum of all.
the other way round, keeps 2 | return each, loss(~everyone) - base - sum(each) -> return each, sum(each) - loss(~everyone) + base
    Your second number has the wrong sign: it is positive if leaving out all heads costs more than
    the sum.
a ratio, keeps 2 | return each, loss(~everyone) - base - sum(each) -> return each, (loss(~everyone) - base) / sum(each)
    You divide by the sum of the rises: subtract it.
base for each head, keeps 2 | - base - sum(each) -> - heads * base - sum(each)
    You subtract the loss with all heads once for every head: subtract it once.
kept one head, keeps 2 | loss(~everyone) -> loss(torch.arange(heads) == 0)
    One head is left in your last model: leave out all.
reversed, keeps 2 | return each, -> return each[::-1],
    Your list begins with the last head: the first number belongs to head 1.
rises in two rounds, keeps 2 | - base - sum(each) -> - base - 2 * sum(each)
    You subtract the sum of the rises twice: subtract it once.
""",
    parts={"without each": ("without each head",), "beyond the sum": ("beyond their sum",)},
    draw=draw_layer,
    oracle=stand_in,
    shown=lambda base, each, pairs: {"heads": len(each), "loss of all heads": float(base)},
    probe=PLAIN
    + """
def probe(stand_in, base, each, pairs):
    H = len(each)
    each, pairs = each.detach().double(), pairs.detach().double()

    def loss(keep):
        if not isinstance(keep, torch.Tensor) or keep.dtype != torch.bool or keep.shape != (H,):
            raise TypeError(f"loss takes a boolean tensor of shape ({H},), True for heads that stay")
        gone = (~keep).double()
        return float(base) + float(gone @ each + gone @ pairs @ gone)

    found = stand_in(loss, H)
    if not isinstance(found, tuple | list) or len(found) != 2:
        return plain(found)
    return {"without each head": plain(found[0]), "beyond their sum": plain(found[1])}
""",
)

EVERY = (
    "two are enough; the most are needed; one is enough; better by two steps; worse, then better"
)
EVERY += "; two are best; fewer are better; touching; one seed apart"
Q7 = question(
    f"""q7: Measured: from one head to several
grown(train, counts, seeds, places)
read chapters/13_heads: What heads learn
how many are enough, 2 points: {EVERY}
    The first number of heads for which no larger number has all its seeds above all seeds of this
    one. Look at every larger number, not only at the next.
what each head learned, 3 points: {EVERY}
    With the most heads, the place of the largest weight_at on validation lines; it counts if the head's test weight there is
    above that of every untrained head of the same model.
in every seed, 1 point: {EVERY}
    A place is always learned if in every seed it is the name of some head, whichever head that is.
head by head, 1 point: {EVERY}
    A head is fixed if it has the same name in each seed, and has one.
RIGHT
def grown(train, counts, seeds, places):
    runs = {{heads: [train(heads, seed) for seed in seeds] for heads in counts}}
    right = {{heads: [run["right"] for run in runs[heads]] for heads in counts}}
    for heads in reversed(counts):
        if not any(min(right[more]) > max(right[heads]) for more in counts if more > heads):
            enough = heads
    learned = []
    for run in runs[counts[-1]]:
        valid, test, fresh = (
            torch.stack([weight_at(run[part], run["lengths"], place) for place in places])
            for part in ("valid", "test", "untrained")
        )
        best = valid.argmax(0).tolist()
        learned.append([places[k] if test[k, h] > fresh[k].max() else None for h, k in enumerate(best)])
    always = [place for place in sorted(places) if all(place in names for names in learned)]
    fixed = [h for h, same in enumerate(zip(*learned)) if None not in same and len(set(same)) == 1]
    return {{"enough": enough, "learned": learned, "always": always, "fixed": fixed}}
def grown(train, counts, seeds, places):
    def name(run, head):
        def looks(part):
            return {{place: weight_at(run[part], run["lengths"], place) for place in places}}
        on_valid, on_test, before = looks("valid"), looks("test"), looks("untrained")
        place = max(places, key=lambda p: float(on_valid[p][head]))
        if all(on_test[place][head] > x for x in before[place]):
            return place
    low, high, last = [], [], None
    for heads in counts:
        last = [train(heads, seed) for seed in seeds]
        found = sorted(run["right"] for run in last)
        low.append(found[0])
        high.append(found[-1])
    enough = None
    for k in range(len(counts)):
        if enough is None and max(low[k + 1:], default=0.0) <= high[k]:
            enough = counts[k]
    learned = [[name(run, h) for h in range(counts[-1])] for run in last]
    common = set(places).intersection(*learned)
    fixed = [h for h in range(counts[-1]) if learned[0][h] is not None
             and all(names[h] == learned[0][h] for names in learned)]
    return dict(enough=enough, learned=learned, always=sorted(common), fixed=fixed)
def grown(train, counts, seeds, places):
    table = [[train(heads, seed) for seed in seeds] for heads in counts]
    right = torch.tensor([[run["right"] for run in row] for row in table])
    beaten = right.amin(1) > right.amax(1)[:, None]
    beaten = beaten.triu(1).any(1)
    learned = []
    for run in table[-1]:
        at = lambda part: torch.stack([weight_at(run[part], run["lengths"], p) for p in places], 1)
        weight, place = at("test"), at("valid").argmax(1)
        chance = at("untrained").amax(0)
        held = weight.gather(1, place[:, None])[:, 0] > chance[place]
        learned.append([places[k] if ok else None for k, ok in zip(place.tolist(), held.tolist())])
    always = []
    for place in places:
        if min(names.count(place) for names in learned):
            always.append(place)
    return {{
        "enough": counts[beaten.tolist().index(False)],
        "learned": learned,
        "always": sorted(always),
        "fixed": [h for h in range(len(learned[0])) if len({{n[h] for n in learned}} | {{None}}) == 2 and all(n[h] is not None for n in learned)],
    }}
def grown(train, counts, seeds, places):
    runs = {{(h, s): train(h, s) for h in counts for s in seeds}}
    share = lambda h: [runs[h, s]["right"] for s in seeds]
    good = []
    for h in counts:
        larger = [x for x in counts if x > h]
        if all(min(share(x)) <= max(share(h)) for x in larger):
            good.append(h)
    most = max(counts)
    learned = []
    for s in seeds:
        run = runs[most, s]
        names = []
        for h in range(most):
            best, place = -1.0, None
            for p in places:
                w = float(weight_at(run["valid"], run["lengths"], p)[h])
                if w > best:
                    best, place = w, p
            t = weight_at(run["test"], run["lengths"], place)[h]
            u = weight_at(run["untrained"], run["lengths"], place)
            names.append(place if bool((t > u).all()) else None)
        learned.append(names)
    by_head = list(zip(*learned))
    return {{
        "enough": min(good),
        "learned": learned,
        "always": sorted(p for p in places if not [n for n in learned if p not in n]),
        "fixed": [h for h in range(most) if by_head[h].count(by_head[h][0]) == len(seeds) and by_head[h][0] is not None],
    }}
def grown(train, counts, seeds, places):
    runs = [[train(c, s) for s in seeds] for c in counts]
    r = np.array([[run["right"] for run in row] for row in runs])
    k = 0
    while (r[k + 1:].min(axis=1) > r[k].max()).any():
        k += 1
    looks = np.array([[[weight_at(run[part], run["lengths"], p).numpy() for p in places]
                       for part in ("valid", "test", "untrained")] for run in runs[-1]])
    place = looks[:, 0].argmax(axis=1)
    test = np.take_along_axis(looks[:, 1], place[:, None], 1)[:, 0]
    chance = np.take_along_axis(looks[:, 2].max(axis=2), place, 1)
    learned = [[places[j] if a > b else None for j, a, b in zip(*row)] for row in zip(place, test, chance)]
    always = [p for p in sorted(places) if all(p in names for names in learned)]
    fixed = []
    for h, column in enumerate(zip(*learned)):
        if column[0] is not None and set(column) == {{column[0]}}:
            fixed.append(h)
    return {{"enough": counts[k], "learned": learned, "always": always, "fixed": fixed}}
WRONG
most heads, keeps 5 | if not any(min(right[more]) > max(right[heads]) for more in counts if more > heads): -> if heads == counts[-1]:
    You return the largest number: return the smallest such that no larger one is seen to be
    better than it.
means compared, keeps 5 | min(right[more]) > max(right[heads]) -> sum(right[more]) > sum(right[heads])
    You go by means or medians, which always differ: all seeds of a larger number must be above all of the smaller's.
next number alone, keeps 5 | for more in counts if more > heads -> for more in [x for x in counts if x > heads][:1]
    You look only at the next number: a gain may need more than one step.
best seeds compared, keeps 5 | min(right[more]) > max(right[heads]) -> max(right[more]) > max(right[heads])
    You compare the best seeds: the worst of the larger number must be above the best of the smaller.
seed by seed, keeps 5 | min(right[more]) > max(right[heads]) -> all(a > b for a, b in zip(right[more], right[heads]))
    You compare the first seed with the first, but nothing pairs them: all must be above all.
touching counts, keeps 5 | min(right[more]) > max(right[heads]) -> min(right[more]) >= max(right[heads])
    You count equal shares as more often right: above means above.
named on test, keeps 2 | best = valid.argmax(0).tolist() -> best = test.argmax(0).tolist()
    You choose the place on the lines that judge it: choose on validation lines, judge on test lines.
judged on validation, keeps 2 | if test[k, h] > fresh[k].max() -> if valid[k, h] > fresh[k].max()
    You judge a name by the validation lines, which chose it: the test lines tell whether it holds.
names without a yardstick, keeps 2 | if test[k, h] > fresh[k].max() else None ->
    You give every head a name: without an untrained network beside it the largest of several weights says nothing.
same head untrained, keeps 2 | fresh[k].max() -> fresh[k, h]
    You compare with the same head before training. A head's number means nothing, so compare with
    the best of the untrained heads.
mean of the untrained, keeps 2 | fresh[k].max() -> fresh[k].mean()
    You compare with the mean of the untrained heads, but one of several is always above it: take
    the best of them.
least of the untrained, keeps 2 | fresh[k].max() -> fresh[k].min()
    You compare with the least of the untrained heads: a name must beat each of them.
untrained of all seeds, keeps 4 | fresh[k].max() -> max(weight_at(other["untrained"], other["lengths"], places[k]).max() for other in runs[counts[-1]])
    You compare with the untrained heads of all seeds: compare with those of the same model.
untrained at any place, keeps 3 | fresh[k].max() -> fresh.max()
    You compare with untrained heads at any place: compare at the place of the name.
half of the weight, keeps 2 | if test[k, h] > fresh[k].max() -> if test[k, h] > 0.5
    You require half of the weight: compare with what untrained heads give this place.
fewest heads | runs[counts[-1]] -> runs[counts[0]]
    You name the heads of the smallest models: name those of the models with the most heads.
enough heads | runs[counts[-1]] -> runs[enough]
    You name the heads of the models that are enough: name those of the models with the most heads.
first seed for all, keeps 2 | for run in runs[counts[-1]]: -> for run in runs[counts[-1]][:1] * len(seeds):
    You name the heads of the first seed alone: each seed has heads of its own.
places by number, keeps 3 | places[k] if -> k if
    You name heads by the place's number in the list: use its offset.
shared out, keeps 3
    | best = valid.argmax(0).tolist() -> best = [int(valid[:, h].argmax()) for h in range(valid.shape[1])]; best = [k if k not in best[:h] else -1 for h, k in enumerate(best)]
    | places[k] if test[k, h] -> places[k] if k >= 0 and test[k, h]
    You give each place to one head: two heads may have learned the same.
in some seed, keeps 6 | all(place in names for names in learned) -> any(place in names for names in learned)
    You list places that are learned in some seed: list those that are learned in every seed.
in the first seed, keeps 6 | all(place in names for names in learned) -> place in learned[0]
    You list what the first seed learned: the others may have learned something else.
by one head in every seed, keeps 6 | all(place in names for names in learned) -> any(all(n == place for n in column) for column in zip(*learned))
    You require the same head to have the name in every seed: any head will do, because their
    numbers mean nothing.
order of the argument, keeps 6 | for place in sorted(places) -> for place in places
    Your list is in the order of the argument: put it in rising order.
no name is a name, keeps 6 | if None not in same and len(set(same)) == 1 -> if len(set(same)) == 1
    You call a head fixed that has no name in any seed: a fixed head needs a name.
two seeds are enough, keeps 6 | if None not in same and len(set(same)) == 1 -> if same[0] is not None and same[0] == same[1]
    You compare only the first two seeds: a fixed head has its name in all of them.
different names as well, keeps 6 | and len(set(same)) == 1 ->
    You list heads that have any name in each seed: it must be one and the same name.
fixed by a seed that agrees, keeps 6 | and len(set(same)) == 1 -> and len(set(same)) < len(same)
    You accept two seeds that agree: the name must be the same in all of them.
fixed by any later seed, keeps 6 | if None not in same and len(set(same)) == 1 -> if same[0] is not None and same[0] in same[1:]
    You accept one later seed that agrees with the first: the name must be the same in every seed.
names of the fixed, keeps 6 | fixed = [h for h, same -> fixed = [same[0] for h, same
    You return the names of the fixed heads: return their numbers.
fixed counted from 1, keeps 6 | enumerate(zip(*learned)) -> enumerate(zip(*learned), 1)
    You count heads from 1: the first is head 0.
learned alone | R -> R["learned"]
    You return the names alone: return a dict with enough, learned, always and fixed.
""",
    draw=draw_heads,
    oracle=grown,
    shown=lambda counts, right, weights, lengths, places: {
        "right, by number of heads and seed": right,
        "places": places,
    },
    uses=("q5",),
    probe=PLAIN
    + f"""
def probe(grown, counts, right, weights, lengths, places):
    seeds = [4 + 3 * i for i in range(right.shape[1])]
    given = [*weights, lengths]
    kept = [x.clone() for x in given]

    def train(heads, seed):
        if heads not in counts or seed not in seeds:
            raise ValueError(f"train got {{heads!r}} heads and the seed {{seed!r}}, which are not among those given")
        c, s = list(counts).index(heads), seeds.index(seed)
        parts = {{name: weights[c][p, s] for p, name in enumerate({PARTS!r})}}
        return {{"right": float(right[c, s]), "lengths": lengths, **parts}}

    lists = list(counts), list(seeds), list(places)
    found = grown(train, *lists)
    if lists != (list(counts), list(seeds), list(places)):
        raise ValueError("counts, seeds or places was changed: leave the arguments as they are")
    if not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(given, kept)):
        raise ValueError("the weights that came back were changed: work on a copy")
    if not isinstance(found, dict) or set(found) != {{"enough", "learned", "always", "fixed"}}:
        return "expected a dict with enough, learned, always and fixed"
    names = [list(row) for row in found["learned"]]
    if any(len(row) != counts[-1] for row in names) or len(names) != len(seeds):
        return "learned: expected a list for each seed, with a name or None for each of the most heads"
    flat = [{NOBODY} if name is None else plain(name) for row in names for name in row]
    return {{
        "enough": plain(found["enough"]),
        "learned": tuple(flat),
        "always": plain(list(found["always"])),
        "fixed": plain(list(found["fixed"])),
    }}
""",
    parts={
        "how many are enough": ("enough",),
        "what each head learned": ("learned",),
        "in every seed": ("always",),
        "head by head": ("fixed",),
    },
)

EXERCISE = Exercise("13_heads", "Several heads", (Q1, Q2, Q3, Q4, Q5, Q6, Q7))
