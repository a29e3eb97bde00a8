"""How the exercise on weights as explanations is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import COMMON_SIZES, normal, padding, softmax_rows
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def deal_out(weights, mask, draws):
    dealt = np.zeros_like(weights)
    for b, real in enumerate(mask):
        places = [i for i in range(len(real)) if real[i]]
        for to, source in zip(places, sorted(places, key=lambda i: draws[b, i])):
            dealt[b, to] = weights[b, source]
    return dealt


def erase(weights, mask, k):
    left = np.zeros_like(weights)
    for b, real in enumerate(mask):
        places = [i for i in range(len(real)) if real[i]]
        kept = sorted(places, key=lambda i: (-weights[b, i], i))[k:]
        total = sum(weights[b, i] for i in kept)
        for i in kept:
            left[b, i] = weights[b, i] / total if total else 0.0
    return left


def apart(first, second, mask):
    shares = np.zeros(len(mask))
    for b, real in enumerate(mask):
        for i in range(len(real)):
            if real[i]:
                p, q = first[b, i], second[b, i]
                for w in (p, q):
                    shares[b] += w * math.log(2 * w / (p + q)) if w > 0 else 0.0
                    # Below 0 there is nothing, so that at 0 there is no derivative.
                    shares[b] += np.nan if w < 0 else 0.0
    return shares / (2 * math.log(2))


def agreement(first, second, mask):
    taus = np.zeros(len(mask))
    for b, real in enumerate(mask):
        places = [i for i in range(len(real)) if real[i]]
        pairs = [(i, j) for i in places for j in places if i < j]
        for i, j in pairs:
            taus[b] += np.sign(first[b, i] - first[b, j]) * np.sign(second[b, i] - second[b, j])
        taus[b] /= max(len(pairs), 1)
    return taus


def reach(states, mask, W, b):
    found = np.zeros((len(mask), 2))
    for s, real in enumerate(mask):
        single = []
        for i in range(len(real)):
            if real[i]:
                logits = W @ states[s, i] + b
                single.append(1 / (1 + np.exp(logits[0] - logits[1])))
        found[s] = min(single), max(single)
    return found


# --- Cases -----------------------------------------------------------------------------------------

SIZES = COMMON_SIZES | {
    "long": (2, 3, 9, 4, 2, 2),
    "pads between": (4, 2, 6, 3, 2, 2),
    "one word of several": (3, 2, 4, 3, 2, 2),
    "with zeros": (3, 2, 6, 4, 2, 2),
    "equal": (3, 2, 5, 4, 2, 2),
    "many equal": (4, 2, 9, 4, 2, 2),
    "a faint rest": (3, 2, 5, 4, 2, 2),
    "small": (3, 2, 5, 4, 2, 2),
    "tiny": (3, 2, 5, 4, 2, 2),
}


def draw_mask(rng, kind):
    B, _, S, *_ = SIZES[kind]
    mask = np.ones((B, S), bool)
    if kind == "padded":
        mask = padding(rng, B, S)
        mask[:, 0], mask[0, 1] = True, True
    if kind == "pads between":
        mask = rng.random((B, S)) < 0.6
        mask[:, -1], mask[:, 0], mask[:, 2] = True, False, True
    if kind == "one word of several":
        mask[0, 1:] = False
    return mask


def draw_rows(rng, mask, kind, scale=1.5):
    scores = normal(rng, *mask.shape, scale=scale)
    if kind == "with zeros":
        off = rng.integers(mask.shape[1] - 2, size=len(mask))
        for row, i in zip(scores, off):
            row[i : i + 2] = -np.inf
    if kind == "equal":
        scores = np.round(scores)
        scores[:, 1] = scores[:, 3] = scores.max(1) + 1
    if kind == "many equal":
        scores = rng.integers(0, 3, scores.shape) * 1.0
    if kind == "a faint rest":
        # What is left after one word lies below any number that is added, or kept as a floor, against
        # a division by 0. A softmax gives it beside a weight that rounds to 1.
        scores[:, 0] = scores[:, 1:].max(1) + 50
    return softmax_rows(scores, mask).astype(np.float32)


def draw_deal(rng, kind):
    mask = draw_mask(rng, kind)
    draws = rng.permuted(np.arange(mask.size).reshape(mask.shape), axis=1) / mask.size
    if kind == "pads between":
        # No number is smaller, or larger, than all draws, nor any that might stand for infinity.
        draws = 1e37 * (5 * draws - 2)
    return draw_rows(rng, mask, kind), mask, draws.astype(np.float32)


def draw_erase(rng, kind):
    mask = draw_mask(rng, kind)
    few = {"none": 0, "all": 9, "one word of several": 1, "equal": 1, "a faint rest": 1}
    k = few.get(kind, int(rng.integers(1, 4)) + 2 * (kind == "many equal"))
    # On the way back digits are lost by a division by little, so most rows leave more than a little.
    return draw_rows(rng, mask, kind, scale=0.7), mask, k


def draw_two(rng, kind):
    mask = draw_mask(rng, kind)
    first, second = draw_rows(rng, mask, kind), draw_rows(rng, mask, kind)
    if kind == "equal":
        second = first.copy()
    return first, second, mask


def draw_measures(rng, kind):
    mask = draw_mask(rng, kind)
    first, second = normal(rng, *mask.shape), normal(rng, *mask.shape)
    if kind == "equal":
        first, second = np.round(1.2 * first), np.round(1.2 * second)
        first[:, 0] = first[:, 1]
    # As gradients may be; products of the tiny ones are 0 in float32.
    scale = np.float32({"small": 1e-9, "tiny": 1e-24}.get(kind, 1.0))
    first, second = first * scale, second * scale
    return first, second, mask


def draw_reach(rng, kind):
    B, _, S, d, *_ = SIZES[kind]
    mask = draw_mask(rng, kind)
    return normal(rng, B, S, d), mask, normal(rng, 2, d), normal(rng, 2)


SIZES |= {"none": SIZES["ordinary"], "all": SIZES["padded"]}
HOSTILE = (500.0, -500.0, float("nan"), float("inf"))

# --- Questions -----------------------------------------------------------------------------------

Q1 = question(
    """q1: Deal the weights out anew
deal_out(weights, mask, draws)
read chapters/09_explanations: A question you can see
the order, 1 point: ordinary; other sizes; all sizes equal; one word; one sentence; long
    The first word gets the weight of the word with the smallest draw, and so on.
pads, 2 points: padded; pads between; one word of several
    Weights are dealt out among real words alone, wherever they stand; pads get 0.
gradients, 1 point, backward: ordinary; padded; pads between
    The weights are right but no gradient reaches those that came in.
RIGHT
def deal_out(weights, mask, draws):
    dealt = torch.zeros_like(weights)
    for b in range(len(weights)):
        real = mask[b].nonzero()[:, 0]
        dealt[b, real] = weights[b, real[draws[b, real].argsort()]]
    return dealt
def deal_out(weights, mask, draws):
    to = (~mask).long().argsort(dim=1, stable=True)
    source = draws.masked_fill(~mask, torch.inf).argsort(dim=1, stable=True)
    clean = weights.masked_fill(~mask, 0.0)
    return torch.zeros_like(clean).scatter(1, to, clean.gather(1, source))
def deal_out(weights, mask, draws):
    rows = []
    for w, m, d in zip(weights, mask, draws):
        own = w[m][torch.argsort(d[m])]
        rows.append(torch.zeros_like(w).masked_scatter(m, own))
    return torch.stack(rows)
def deal_out(weights, mask, draws):
    dealt = weights.new_zeros(weights.shape)
    for b, m in enumerate(mask):
        dealt[b, m] = weights[b, m].take(draws[b, m].sort().indices)
    return dealt
def deal_out(weights, mask, draws):
    rows = []
    for w, m, d in zip(weights, mask, draws):
        places = [i for i in range(len(m)) if m[i]]
        order = iter(sorted(places, key=lambda i: float(d[i])))
        rows.append(torch.stack([w[next(order)] if ok else torch.zeros_like(w[0]) for ok in m]))
    return torch.stack(rows)
WRONG
pads taken out with a product, keeps 2
    | to = (~mask).long().argsort(dim=1, stable=True)
    | source = draws.masked_fill(~mask, torch.inf).argsort(dim=1, stable=True)
    | return torch.zeros_like(weights).scatter(1, to, weights.gather(1, source)) * mask
    You multiply pads by 0, and 0 times NaN is NaN: fill them with masked_fill, or leave them out.
all real words taken for the first ones, keeps 1
    | source = draws.masked_fill(~mask, torch.inf).argsort(dim=1, stable=True)
    | return weights.gather(1, source).masked_fill(~mask, 0.0)
    You take it that real words are the first of a row: where pads stand between them, weight lands on pads and
    is lost.
pads sorted and blanked, keeps 1 | return weights.gather(1, draws.argsort(1)).masked_fill(~mask, 0.0)
    You sort pads along with the words and blank them afterwards, and their share is lost: deal among real words
    alone.
the inverse order | draws[b, real].argsort() -> draws[b, real].argsort().argsort()
    You send each word's weight to the rank of its draw: that is the inverse permutation. The first
    word *gets* the weight of the word with the smallest draw.
largest draw first | .argsort() -> .argsort(descending=True)
    You begin with the largest draw: the first word gets the weight of the smallest one.
pads take part, keeps 1 | return weights.gather(1, draws.argsort(1))
    You sort all positions, pads too, so that weight lands on pads: deal among real words alone.
real words packed to the left, keeps 1 | dealt[b, real] -> dealt[b, : len(real)]
    You put the weights into the first places of the row: real words may stand anywhere.
pads drawn as a number, keeps 1
    | to = (~mask).long().argsort(dim=1, stable=True)
    | source = draws.masked_fill(~mask, 1e9).argsort(dim=1, stable=True)
    | clean = weights.masked_fill(~mask, 0.0)
    | return torch.zeros_like(clean).scatter(1, to, clean.gather(1, source)).masked_fill(~mask, 0.0)
    You give pads a number for a draw, as 1 or a billion, and a real word may have a larger one: fill
    with infinity.
pads drawn as one more than the largest, keeps 1
    | to = (~mask).long().argsort(dim=1, stable=True)
    | source = draws.masked_fill(~mask, draws[mask].max() + 1).argsort(dim=1, stable=True)
    | clean = weights.masked_fill(~mask, 0.0)
    | return torch.zeros_like(clean).scatter(1, to, clean.gather(1, source)).masked_fill(~mask, 0.0)
    You give pads the largest draw plus 1: where draws are large that is the largest draw itself, since
    float32 has some seven digits. Fill with infinity.
one order for all | draws[b, real] -> draws[0, real]
    You take the draws of the first sentence for all: each sentence has its own.
sorted by the weights | draws[b, real] -> weights[b, real]
    You sort by the weights themselves: sort by the draws.
not dealt at all | [draws[b, real].argsort()] ->
    You return the weights where they were: take them in the order of the draws.
draws of your own | draws[b, real].argsort() -> torch.randperm(len(real))
    You draw an order of your own: use the draws that are given, so that it can be checked.
reset to a softmax | R -> R.masked_fill(~mask, -1e9).softmax(1)
    You take a softmax of weights, which flattens them: they are dealt out as they are.
in place | dealt = torch.zeros_like(weights) -> dealt = weights
    You write into the weights that you are given: fill a new tensor, for the caller needs the old.
detached, keeps 3 | R -> R.detach()
    The weights are right, but detached: no gradient reaches those that came in.
"""
    + WRONG_FORMS,
    dice=("draws",),
    draw=draw_deal,
    oracle=deal_out,
    pads=HOSTILE,
)

Q2 = question(
    """q2: Erase the largest
erase(weights, mask, k)
read chapters/09_explanations: A question you can see
the rest, 2 points: ordinary; none; other sizes; all sizes equal; one sentence; long; padded; pads between; with zeros
    Without the k largest, and divided by the sum of what is left; pads get 0.
ties, 1 point: equal; many equal
    Of equal weights the leftmost goes first, and only as many as k says.
little left, and nothing, 1 point: one word; all; one word of several; a faint rest
    A row of which nothing is left is all zeros, and any other sums to 1, however little is left.
gradients, 1 point, backward: ordinary; padded; one word of several
    The rest is right but its gradient is not: it flows through the weights and through their sum.
RIGHT
def erase(weights, mask, k):
    own = weights.masked_fill(~mask, 0.0)
    order = own.masked_fill(~mask, -1.0).argsort(dim=-1, descending=True, stable=True)
    left = own * (order.argsort(-1) >= k)
    total = left.sum(-1, keepdim=True)
    return left / torch.where(total > 0, total, 1.0)
def erase(weights, mask, k):
    left = torch.where(mask, weights, 0.0)
    for _ in range(min(k, weights.shape[1])):
        left = left.scatter(1, left.argmax(1, keepdim=True), 0.0)
    total = left.sum(1, keepdim=True)
    return left / (total + (total == 0))
def erase(weights, mask, k):
    rows = []
    for w, m in zip(weights, mask):
        places = [i for i in range(len(m)) if m[i]]
        gone = sorted(places, key=lambda i: (-float(w[i]), i))[:k]
        keep = torch.tensor([i in places and i not in gone for i in range(len(m))])
        left = torch.where(keep, w, 0.0)
        rows.append(left / left.sum() if left.sum() > 0 else left)
    return torch.stack(rows)
def erase(weights, mask, k):
    own = torch.where(mask, weights, torch.zeros_like(weights))
    index = own.detach().sort(dim=1, descending=True, stable=True).indices[:, :k]
    keep = torch.ones_like(own).scatter(1, index, 0.0)
    left = own * keep
    return left / left.sum(1, keepdim=True).masked_fill(~(left > 0).any(1, keepdim=True), 1.0)
def erase(weights, mask, k):
    own = weights.masked_fill(~mask, 0)
    i = torch.arange(own.shape[1])
    before = (own[:, None] > own[..., None]) | (
        (own[:, None] == own[..., None]) & (i[None, None] < i[None, :, None]))
    # normalize puts a floor of 1e-12 under the sum: what is left has to lie above it.
    left = own.where(before.sum(2) >= k, 0.0) * float("1e15")
    return torch.nn.functional.normalize(left, p=1, dim=1)
WRONG
not renormalised | return left / torch.where(total > 0, total, 1.0) -> return left
    Your rows no longer sum to 1, so the context shrinks as well: divide by the sum of what is left.
divided by the old sum | total = left.sum -> total = own.sum
    You divide by the sum before erasing, which is 1: divide by the sum of what is left.
zero by zero, keeps 1 | torch.where(total > 0, total, 1.0) -> total; R -> R + 0 * weights.masked_fill(~mask, 0).sum()
    Where nothing is left you divide 0 by 0, which is NaN: such a row is all zeros.
smallest erased | descending=True, stable -> descending=False, stable
    You erase the smallest weights: sort so that the largest come first.
one more erased | >= k -> > k
    You erase one weight more than k: ranks begin at 0.
largest alone | >= k -> >= 1
    You erase one weight whatever k is: take the k largest away.
ties all erased, keeps 4
    | own = weights.masked_fill(~mask, 0.0)
    | top = own.sort(1, descending=True).values
    | bar = top[:, k - 1 : k] if 0 < k <= own.shape[1] else own.new_full((len(own), 1), 9.0 if k < 1 else -1.0)
    | left = torch.where(own < bar, own, 0.0)
    | total = left.sum(1, keepdim=True)
    | return left / torch.where(total > 0, total, 1.0)
    You erase all that equal the k-th largest: of equal weights the leftmost goes first, no more.
ties erased k times, keeps 4
    | own = weights.masked_fill(~mask, 0.0)
    | left = own
    | for _ in range(k):
    |     left = left * (left < left.amax(1, keepdim=True))
    | total = left.sum(1, keepdim=True)
    | return left / torch.where(total > 0, total, 1.0)
    You erase k times whatever equals the largest weight, and more than one may: of equal weights the
    leftmost goes first, no more.
ties as topk breaks them, keeps 4
    | own = weights.masked_fill(~mask, 0.0)
    | left = own.scatter(1, own.topk(min(k, own.shape[1]), dim=1).indices, 0.0)
    | total = left.sum(1, keepdim=True)
    | return left / torch.where(total > 0, total, 1.0)
    topk takes any of several equal weights: a stable sort, or argmax k times, takes the leftmost.
rightmost of equal weights, keeps 4
    | own = weights.masked_fill(~mask, 0.0)
    | order = own.masked_fill(~mask, -1.0).argsort(dim=-1, stable=True).flip(-1)
    | left = own * (order.argsort(-1) >= k)
    | total = left.sum(-1, keepdim=True)
    | return left / torch.where(total > 0, total, 1.0)
    Of equal weights yours takes the rightmost: an ascending sort turned round turns ties round, too. Sort with
    descending=True, stable=True.
a floor under the sum, keeps 4 | torch.where(total > 0, total, 1.0) -> total.clamp(min=1e-6)
    A faint rest does not sum to 1 in yours: divide by its own sum, however small, without a floor, a threshold,
    or a number that is added. Only a sum of exactly 0 needs another divisor.
more than there are words, keeps 4 | >= k) -> >= [*range(own.shape[1] + 1)][k])
    k may be larger than the number of words: then nothing is left, and no error.
order for rank | order.argsort(-1) -> order
    You compare positions, not ranks, with k: the rank of a word is the argsort of the argsort.
softmax again | R -> (R.masked_fill(R == 0, -1e9).softmax(1) * (R > 0))
    You take a softmax of what is left, which flattens it: divide by the sum.
in place | weights.masked_fill(~mask -> weights.masked_fill_(~mask | (weights == weights.max())
    You change the weights that you are given: use masked_fill without the underscore.
sum detached, keeps 4 | total = left.sum(-1, keepdim=True) -> total = left.sum(-1, keepdim=True).detach()
    The rest is right, but the sum that you divide by is detached: half of the gradient is lost.
detached, keeps 4 | R -> R.detach()
    The rest is right, but detached: no gradient reaches the weights that came in.
"""
    + WRONG_FORMS,
    draw=draw_erase,
    oracle=erase,
    pads=HOSTILE,
)

Q3 = question(
    """q3: How far apart?
apart(first, second, mask)
read chapters/09_explanations: Jain and Wallace: do the weights agree, and could they be others?
the share, 2 points: ordinary; other sizes; all sizes equal; one sentence; one word; padded; pads between
    Half of both divergences from the mean of the two rows, over the largest, ln 2.
zeros, 1 point: with zeros; equal; one word of several
    A weight of 0 adds nothing: 0 · log 0 counts as 0.
gradients, 1 point, backward: ordinary; padded; pads between; with zeros
    The shares are right but their gradients are not: they flow through both rows, and are numbers where
    a weight is 0.
RIGHT
def apart(first, second, mask):
    p, q = (torch.where(mask, w, 0.0) for w in (first, second))
    middle = (p + q) / 2
    def divergence(w):
        ratio = w / torch.where(middle > 0, middle, 1.0)
        return (w * torch.where(w > 0, ratio, 1.0).log()).sum(-1)
    return (divergence(p) + divergence(q)) / (2 * math.log(2))
def apart(first, second, mask):
    p, q = first.masked_fill(~mask, 0.0), second.masked_fill(~mask, 0.0)
    def h(w):
        return -(w * torch.where(w > 0, w, 1.0).log()).sum(1)
    return (h((p + q) / 2) - (h(p) + h(q)) / 2) / math.log(2)
def apart(first, second, mask):
    p, q = torch.where(mask, first, 0.0), torch.where(mask, second, 0.0)
    m = (p + q) / 2
    one = p * (torch.where(p > 0, p, 1.0).log2() - torch.where(p > 0, m, 1.0).log2())
    two = q * (torch.where(q > 0, q, 1.0).log2() - torch.where(q > 0, m, 1.0).log2())
    return (one + two).sum(1) / 2
def apart(first, second, mask):
    both = torch.stack([first, second]).masked_fill(~mask, 0.0)
    m = both.mean(0).expand_as(both)
    safe = torch.where(both > 0, both / torch.where(m > 0, m, 1.0), 1.0)
    return (both * safe.log2()).sum(-1).mean(0)
def apart(first, second, mask):
    rows = []
    for p, q, m in zip(first, second, mask):
        p, q = p[m], q[m]
        terms = [w * torch.where(w > 0, 2 * w / torch.where(w > 0, p + q, 1.0), 1.0).log() for w in (p, q)]
        rows.append(sum(terms).sum() / (2 * math.log(2)))
    return torch.stack(rows)
WRONG
in nats | / (2 * math.log(2)) -> / 2
    You return nats, at most 0.69: divide by the largest that is possible, ln 2.
not halved | / (2 * math.log(2)) -> / math.log(2)
    You add both divergences up: their mean is asked for, so that the largest is 1.
one side alone | (divergence(p) + divergence(q)) / (2 -> divergence(p) / (1
    You take the divergence of the first row alone: both count, half each.
Kullback and Leibler | return (w * torch.where(w > 0, ratio, 1.0).log()).sum(-1) -> other = q if w is p else p; return (w * (w.clamp(min=1e-9) / other.clamp(min=1e-9)).log()).sum(-1)
    You compare the rows with each other: Jensen and Shannon compare each with the mean of the two.
sum for the mean | middle = (p + q) / 2 -> middle = p + q
    You compare with the sum of the rows: the middle is their mean.
square root | R -> R.clamp(min=1e-12).sqrt()
    You take the square root, which is the Jensen–Shannon *distance*: the divergence is asked for.
total variation
    | p, q = (torch.where(mask, w, 0.0) for w in (first, second))
    | return (p - q).abs().sum(-1) / 2
    This is the total variation distance: sums of weight times logarithm are asked for.
mean over the words | .log()).sum(-1) -> .log()).mean(-1)
    You average over the words: the terms are added up.
NaN at zero, keeps 2 | return (w * torch.where(w > 0, ratio, 1.0).log()).sum(-1) -> return torch.where(mask, w * ratio.log(), 0.0).sum(-1)
    A weight of 0 gives 0 times minus infinity, which is NaN: 0 · log 0 counts as 0.
NaN hidden too late, keeps 3 | return (w * torch.where(w > 0, ratio, 1.0).log()).sum(-1) -> return torch.where(w > 0, w * ratio.log(), 0.0).sum(-1)
    Your values are right, but at a weight of 0 the gradient is NaN: where, nan_to_num and xlogy come too late.
    The logarithm must not see the 0.
arguments of kl_div exchanged | return (w * torch.where(w > 0, ratio, 1.0).log()).sum(-1) -> return F.kl_div(w.clamp(min=1e-12).log(), middle.clamp(min=1e-12), reduction='none').sum(-1)
    You measure the mean against each row: F.kl_div(log of the mean, row) is the divergence of a row from the
    mean, for its first argument is what is compared with.
one number for all | R -> R.mean()
    You average over the sentences: return one number for each, (B,).
detached, keeps 3 | R -> R.detach()
    The shares are right, but detached: no gradient reaches the weights.
"""
    + WRONG_FORMS,
    shares=("first", "second"),
    draw=draw_two,
    oracle=apart,
    pads=HOSTILE,
)

Q4 = question(
    """q4: Do two rankings agree?
agreement(first, second, mask)
read chapters/09_explanations: Jain and Wallace: do the weights agree, and could they be others?
the count, 1 point: ordinary; other sizes; all sizes equal; one sentence; long; small; tiny
    For each pair of real words take the sign of the difference, 1, 0 or -1, in either measure, and multiply
    the two. Add these up, and divide by the number of all pairs.
pads, 1 point: padded; pads between
    Pairs of real words alone count, above and below.
ties, 1 point: equal
    A pair that is equal in one of the two adds 0, and still counts below.
one word, 1 point: one word; one word of several
    A sentence of one word has no pair: 0, not NaN.
RIGHT
def agreement(first, second, mask):
    def ways(x):
        x = torch.where(mask, x, 0.0)
        return torch.sign(x[:, :, None] - x[:, None, :])
    pairs = mask[:, :, None] & mask[:, None, :]
    total = (ways(first) * ways(second) * pairs).sum((1, 2))
    n = mask.sum(1)
    return total / (n * (n - 1)).clamp(min=1)
def agreement(first, second, mask):
    out = first.new_zeros(len(first))
    for b, m in enumerate(mask):
        x, y = first[b, m], second[b, m]
        n = len(x)
        for i in range(n):
            for j in range(i):
                out[b] += torch.sign(x[i] - x[j]) * torch.sign(y[i] - y[j]) / (n * (n - 1) / 2)
    return out
def agreement(first, second, mask):
    rows = []
    for x, y, m in zip(first, second, mask):
        i, j = torch.triu_indices(int(m.sum()), int(m.sum()), 1)
        ways = [(z[m][i] > z[m][j]).to(z) - (z[m][i] < z[m][j]).to(z) for z in (x, y)]
        rows.append((ways[0] * ways[1]).sum() / max(len(i), 1))
    return torch.stack(rows)
def agreement(first, second, mask):
    x, y = first.masked_fill(~mask, 0), second.masked_fill(~mask, 0)
    d = (x.unsqueeze(1) - x.unsqueeze(2)).sign() * (y.unsqueeze(1) - y.unsqueeze(2)).sign()
    ok = mask.unsqueeze(1) * mask.unsqueeze(2)
    count = ok.sum((1, 2)) - mask.sum(1)
    return torch.where(count > 0, (d * ok).sum((1, 2)) / count.clamp(min=1), 0.0)
def agreement(first, second, mask):
    rows = []
    for x, y, m in zip(first, second, mask):
        p = torch.combinations(torch.arange(int(m.sum())))
        s = [torch.sign(z[m][p[:, 0]] - z[m][p[:, 1]]) for z in (x, y)]
        rows.append((s[0] * s[1]).mean() if len(p) else x.new_zeros(()))
    return torch.stack(rows)
WRONG
each pair once below | (n * (n - 1)) -> (n * (n - 1) / 2)
    You count each pair twice above and once below: perfect agreement would be 2.
words with themselves | (n * (n - 1)) -> (n * n)
    You divide by n², where each word is paired with itself: there are n (n − 1) ordered pairs.
pads below, keeps 3 | n = mask.sum(1) -> n = torch.full_like(mask.sum(1), mask.shape[1])
    You count pads among the words below: each sentence has its own number of pairs.
pads above, keeps 2 | * pairs).sum -> ).sum
    Pairs with pads add to your sum: leave them out.
differences for signs | return torch.sign(x[:, :, None] - x[:, None, :]) -> return x[:, :, None] - x[:, None, :]
    You multiply differences, as a covariance does: only their signs count.
agreeing pairs alone | ways(first) * ways(second) * pairs -> (ways(first) * ways(second) > 0) * pairs
    You count pairs that agree, and forget to take off those that do not.
share that agrees | R -> (R + 1) / 2
    You return a share from 0 to 1: agreement runs from −1, for reversed rankings, to 1.
ties as agreement | torch.sign(x[:, :, None] - x[:, None, :]) -> torch.where(x[:, :, None] >= x[:, None, :], 1.0, -1.0)
    A pair that is equal counts as in order with you: it adds 0.
sign of a product, keeps 3
    | x, y = (torch.where(mask, z, 0.0) for z in (first, second))
    | pairs = mask[:, :, None] & mask[:, None, :]
    | total = (((x[:, :, None] - x[:, None]) * (y[:, :, None] - y[:, None])).sign() * pairs).sum((1, 2))
    | n = mask.sum(1)
    | return total / (n * (n - 1)).clamp(min=1)
    You multiply differences before you take the sign: of tiny ones the product is 0. Take the sign of each.
close numbers as equal, keeps 3
    | x = torch.where(mask, x, 0.0) -> x = torch.where(mask, x, 0.0).mul(1e5).round()
    You count numbers that are close as equal: measures may be tiny, and only equal ones tie.
neighbours alone
    | rows = []
    | for x, y, m in zip(first, second, mask):
    |     rows.append((x[m].diff().sign() * y[m].diff().sign()).sum() / max(int(m.sum()) - 1, 1))
    | return torch.stack(rows)
    You compare each word with the next one alone: every pair of words counts.
Spearman's rank correlation
    | rows = []
    | for x, y, m in zip(first, second, mask):
    |     n = int(m.sum())
    |     apart = x[m].argsort().argsort() - y[m].argsort().argsort()
    |     rows.append(1 - 6 * apart.square().sum().to(x) / (n ** 3 - n) if n > 1 else x.new_zeros(()))
    | return torch.stack(rows)
    This is Spearman's correlation of ranks: Kendall counts pairs in the same order and in opposite ones.
ties left out below, keeps 3 | (n * (n - 1)) -> (ways(first) * ways(second) * pairs).abs().sum((1, 2))
    You leave ties out below as well: here all pairs count.
NaN for one word, keeps 2 | .clamp(min=1) ->
    A sentence of one word gives 0 divided by 0, which is NaN: it has agreement 0.
sign dropped | R -> R.abs()
    You drop the sign: reversed rankings have −1, not 1.
one number for all | R -> R.mean()
    You average over the sentences: return one number for each, (B,).
"""
    + WRONG_FORMS,
    draw=draw_measures,
    oracle=agreement,
    pads=HOSTILE,
)

Q5 = question(
    """q5: What any weights could say
reach(states, mask, W, b)
read chapters/09_explanations: By hand
the range, 2 points: ordinary; other sizes; all sizes equal; one word; one sentence; long
    Smallest and largest probability that a single state gives, in this order.
pads, 1 point: padded; pads between; one word of several
    Only real words can get weight.
gradients, 1 point, backward: ordinary; padded; pads between
    The range is right but its gradient is not: it flows to the two states that set it, and to W and b.
RIGHT
def reach(states, mask, W, b):
    states = torch.where(mask[..., None], states, 0.0)
    logits = states @ W.T + b
    margin = logits[..., 1] - logits[..., 0]
    low = margin.masked_fill(~mask, torch.inf).amin(1)
    high = margin.masked_fill(~mask, -torch.inf).amax(1)
    return torch.stack([low, high], dim=1).sigmoid()
def reach(states, mask, W, b):
    states = states.masked_fill(~mask[..., None], 0.0)
    p = F.linear(states, W, b).softmax(-1)[..., 1]
    return torch.stack([p.masked_fill(~mask, 2.0).amin(1), p.masked_fill(~mask, -1.0).amax(1)], 1)
def reach(states, mask, W, b):
    rows = []
    for h, m in zip(states, mask):
        p = (h[m] @ W.T + b).softmax(1)[:, 1]
        rows.append(torch.stack([p.min(), p.max()]))
    return torch.stack(rows)
def reach(states, mask, W, b):
    w, bias = W[1] - W[0], b[1] - b[0]
    rows = [torch.sigmoid(torch.stack(torch.aminmax(h[m] @ w + bias))) for h, m in zip(states, mask)]
    return torch.stack(rows)
def reach(states, mask, W, b):
    rows = []
    for h, m in zip(states, mask):
        margin = torch.einsum('kd,sd->sk', W, h[m]).add(b) @ torch.tensor([-1, 1]).to(h)
        ordered = margin.sort().values
        rows.append(torch.stack([ordered[0], ordered[-1]]))
    return 1 / (1 + (-torch.stack(rows)).exp())
WRONG
the first class | logits[..., 1] - logits[..., 0] -> logits[..., 0] - logits[..., 1]
    This is the probability of the first class: the second one is asked for, counted from 1.
largest first | [low, high] -> [high, low]
    You return the largest before the smallest: the smallest comes first.
pads in the range, keeps 2
    | margin = F.linear(states.nan_to_num(), W, b).diff(dim=-1)[..., 0]
    | return torch.stack([margin.amin(1), margin.amax(1)], dim=1).sigmoid()
    Pads set the ends of your range: they can get no weight, so leave them out.
zeros at pads, keeps 2 | margin.masked_fill(~mask, torch.inf) -> margin; margin.masked_fill(~mask, -torch.inf) -> margin
    You set pads to zero and let them take part: a state of zeros still has an answer, the bias.
margins | .sigmoid() ->
    You return margins: a sigmoid makes probabilities of them.
without the bias | states @ W.T + b -> states @ W.T
    You leave the bias out: it is part of every answer.
bias for each word | states @ W.T + b -> states @ W.T + b * mask.sum(1)[:, None, None]
    You add the bias once for each word: the weights sum to 1, so it counts once.
logits apart | margin = logits[..., 1] - logits[..., 0] -> margin = logits[..., 1]
    You look at the second logit alone: the other one decides as much.
ends of the logits apart | low = margin.masked_fill(~mask, torch.inf).amin(1) -> low = (logits[..., 1].masked_fill(~mask, torch.inf).amin(1) - logits[..., 0].masked_fill(~mask, -torch.inf).amax(1))
    You combine the smallest of one logit with the largest of the other, which may belong to
    different states: take the difference first.
ends of both logits apart
    | low = margin.masked_fill(~mask, torch.inf).amin(1) -> ends = lambda c: (logits[..., c].masked_fill(~mask, torch.inf).amin(1), logits[..., c].masked_fill(~mask, -torch.inf).amax(1))
    | low = ends(1)[0] - ends(0)[1]
    | high = margin.masked_fill(~mask, -torch.inf).amax(1) -> high = ends(1)[1] - ends(0)[0]
    You take the ends of each logit by itself and subtract them crosswise, which may join two different
    states: subtract first, then take the ends.
zero margins at pads, keeps 2 | margin.masked_fill(~mask, torch.inf) -> margin.masked_fill(~mask, 0.0); margin.masked_fill(~mask, -torch.inf) -> margin.masked_fill(~mask, 0.0)
    You give pads a margin of 0, which is a probability of one half, and let them take part: fill with
    infinity to find the smallest, and with minus infinity to find the largest.
uniform weights
    | states = torch.where(mask[..., None], states, 0.0)
    | c = states.sum(1) / mask.sum(1, keepdim=True)
    | p = (c @ W.T + b).softmax(-1)[:, 1]
    | return torch.stack([p, p], dim=1)
    This is the answer with uniform weights: ask how far any weights could go.
one range for the batch | amin(1) -> amin(); amax(1) -> amax(); torch.stack([low, high], dim=1) -> torch.stack([low, high]).expand(len(mask), 2)
    You take the ends over the whole batch: each sentence has a range of its own.
detached, keeps 3 | R -> R.detach()
    The range is right, but detached: no gradient reaches states and readout.
"""
    + WRONG_FORMS,
    draw=draw_reach,
    oracle=reach,
    pads=HOSTILE,
)

EXERCISE = Exercise("09_explanations", "Are weights explanations?", (Q1, Q2, Q3, Q4, Q5))
