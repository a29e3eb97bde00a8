"""How the exercise on reading attention maps is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import COMMON_SIZES, fill_pads, normal, padding, softmax_rows
from seqattn.grading.probes import PLAIN, map_measure, value_probe
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def row_entropy(row):
    return -sum(p * math.log(p) for p in row if p > 0)


def entropy(weights):
    return np.array([[row_entropy(row) for row in sentence] for sentence in weights])


def spread(weights, mask):
    most = [max(math.log(max(words, 1)), 1e-9) for words in mask.sum(1)]
    return np.array([[h / m for h in row] for row, m in zip(entropy(weights), most)])


def coverage(weights):
    past = np.zeros_like(weights)
    for t in range(1, weights.shape[1]):
        past[:, t] = sum(weights[:, u] for u in range(t))
    return past


def coverage_loss(weights, real):
    losses = []
    for a, c, steps in zip(weights, coverage(weights), real):
        losses += [sum(np.minimum(row, seen)) for row, seen, counts in zip(a, c, steps) if counts]
    return np.array(sum(losses) / len(losses))


def error_rate(predicted, sure, possible):
    a, s, p = set(predicted), set(sure), {*possible, *sure}
    rate = 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))
    return {"the rate": rate, "the lists are left as they are": True}


def by_length(maps, bins):
    def mean(values):
        return float(np.mean(values)) if values else 0.0

    table = []
    for low, high in bins:
        spreads, looks, rights = [], [], []
        for weights, predicted, gold, place in maps:
            words = weights.shape[1]
            if low <= words <= high:
                most = math.log(words) if words > 1 else 1.0
                spreads += [row_entropy(row) / most for row in weights]
                looks += [int(np.argmax(row)) == int(i) for row, i in zip(weights, place)]
                rights += [int(a) == int(b) for a, b in zip(predicted, gold)]
        hit = [r for look, r in zip(looks, rights) if look]
        missed = [r for look, r in zip(looks, rights) if not look]
        table.append((mean(spreads), mean(looks), mean(hit), mean(missed)))
    return {"the table": tuple(table), "the maps are left as they are": True}


def due_to_looking(short, long):
    (a, p, q), (b, r, w) = short, long
    fall = (a * p + (1 - a) * q) - (b * r + (1 - b) * w)
    return (a - b) * (r - w) / fall


# --- Cases -----------------------------------------------------------------------------------------

SIZES = COMMON_SIZES | {  # B, T, S
    "other sizes": (5, 4, 2),
    "one step": (2, 1, 4),
    "one sentence": (1, 4, 3),
    "long": (2, 7, 4),
    "one-hot and uniform": (2, 3, 4),
    "with zeros": (2, 3, 6),
    "sharp": (2, 3, 5),
    "padded": (3, 4, 5),
    "one word of several": (3, 2, 4),
}


def draw_scores(rng, kind):
    """Draw scores and weights of the results; minus infinity makes a weight of 0."""
    B, T, S, *_ = SIZES[kind]
    scores = normal(rng, B, T, S, scale=12.0 if kind == "sharp" else 1.5)
    if kind == "one-hot and uniform":
        scores[0] = np.where(np.eye(S)[rng.integers(S, size=T)], 0.0, -np.inf)
        scores[1] = 0.0
    if kind == "with zeros":
        scores[:, :, rng.integers(1, S) :] = -np.inf
    return scores, normal(rng, B, T)


def draw_spread(rng, kind):
    scores, upstream = draw_scores(rng, kind)
    mask = np.ones((scores.shape[0], scores.shape[2]), bool)
    if kind == "padded":
        mask = padding(rng, *mask.shape)
        mask[:, :2], mask[0, 2:] = True, False  # one sentence of two words, none of one
        # Pads in front as well: only the mask says which places hold words.
        mask[1] = np.arange(mask.shape[1]) >= rng.integers(1, 4)
    if kind == "one word of several":
        mask[0, 1:] = False
    scores[~np.broadcast_to(mask[:, None], scores.shape)] = -np.inf
    return scores, upstream, mask


def draw_weights(rng, kind):
    scores, _ = draw_scores(rng, kind)
    return (softmax_rows(scores).astype(np.float32),)


def draw_steps(rng, kind):
    (weights,) = draw_weights(rng, kind)
    real = np.ones(weights.shape[:2], bool)
    if kind == "padded":
        real = padding(rng, *real.shape)
        # Steps of very different numbers, so that no mean of means is the mean.
        real[0, 1:], real[1] = False, True
        fill_pads(rng, weights, real, scale=20.0)
    return weights, real


def draw_links(rng, kind):
    if kind == "perfect":
        sure = [(i, i) for i in range(4)]
        return list(sure), sure, [(0, 1)]
    order = [(int(n) // 5, int(n) % 5) for n in rng.permutation(25)]
    sure, possible, off = order[: rng.integers(4, 7)], order[7:11], order[11:]
    parts = (sure, rng.integers(2, 4)), (possible, rng.integers(1, 3)), (off, rng.integers(1, 4))
    predicted = [link for links, count in parts for link in links[:count]]
    if kind == "duplicates":
        predicted += [sure[0], off[0], sure[0]]
    if kind == "duplicates elsewhere":
        sure, possible = [*sure, sure[0], sure[-1]], [*possible, possible[0]]
    if kind == "nothing else possible":
        possible = []
    if kind == "sure among the possible":
        possible = possible + sure
    if kind == "nothing right":
        predicted = off[:3]
    # Neighbours of links are no links, so that a shift by one never helps.
    return predicted, sure, possible


def draw_maps(rng, kind):
    """Draw maps, what was predicted, what is right, and where each step should look."""
    bins = [(1, 4), (6, 9)] if kind == "two bins" else [(3, 5), (8, 9), (12, 16)]
    if kind == "bins that overlap":
        bins = [(12, 16), (3, 8), (5, 9)]
    if kind == "an empty bin":
        bins = [(3, 5), (30, 40), (8, 12)]
    lengths = [n for low, high in bins for n in (low, high, *rng.integers(low, high + 1, size=3))]
    lengths = [n for n in lengths if n < 20] + [7, 20, 2]
    maps = []
    for words in rng.permutation(lengths):
        steps = int(rng.integers(2, 12))
        place, gold = rng.integers(words, size=steps), rng.integers(3, 9, size=steps)
        scores = rng.normal(size=(steps, words)) * rng.choice([1, 3])
        looks = rng.random(steps) < 0.6
        # Where something is to be averaged, there is something: a hit and a miss in each map.
        looks[0], looks[1] = True, False
        if kind in ("all look right", "none looks right") and 3 <= words <= 5:
            looks[:] = kind == "all look right"
        scores[np.arange(steps), place] = -np.inf
        # A sentence of one word has no other place to look at.
        top = scores.max(1) if words > 1 else 0.0
        scores[np.arange(steps), place] = top + np.where(looks, 0.5, -2.0)
        right = rng.random(steps) < np.where(looks, 0.8, 0.3)
        weights = softmax_rows(scores)
        quiet = sorted({*range(words)} - {*weights.argmax(1)})
        if quiet and words > 2:
            # A word at which no step looks is a word of the sentence all the same.
            weights[:, quiet[0]] = 0.0
            weights /= weights.sum(1, keepdims=True)
        predicted = np.where(right, gold, gold + 1)
        maps.append((weights.astype(np.float32), predicted, gold, place))
    return maps, bins


def draw_rows(rng, kind):
    """Draw two rows of a table whose shares of right words differ."""
    while True:
        short, long = [tuple(float(x) for x in rng.uniform(0.05, 0.98, size=3)) for _ in range(2)]
        if kind == "looking alone":
            long = (long[0], *short[1:])
        if kind == "all look right":
            short = (1.0, short[1], 0.0)
        a, b = (x * p + (1 - x) * q for x, p, q in (short, long))
        if abs(a - b) > 0.15 and abs(short[0] - long[0]) > 0.1 and abs(long[1] - long[2]) > 0.1:
            return short, long


# --- Questions -----------------------------------------------------------------------------------

Q1 = question(
    """q1: Entropy of a row
entropy(weights)
read chapters/02_soft_addressing: How spread out?
the formula, 1 point: ordinary; other sizes; all sizes equal; one word; one sentence; sharp
    Minus the sum over the words of weight times its natural logarithm.
zeros, 1 point: one-hot and uniform; with zeros
    A weight of 0 adds nothing, 0 · log 0 = 0; a uniform row of S words has log S.
gradients, 1 point: ordinary; one-hot and uniform; with zeros
    The entropies are right but their gradients are not: no detach, no .data, no NumPy, and a finite
    derivative where a weight is 0.
RIGHT
def entropy(weights):
    safe = torch.where(weights > 0, weights, 1.0)
    return (weights * -safe.log()).sum(2)
def entropy(weights):
    return -(weights * weights.clamp(min=1e-12).log()).sum(dim=-1)
def entropy(weights):
    return torch.distributions.Categorical(probs=weights).entropy()
def entropy(weights):
    return -(weights * (weights + 1e-9).log()).sum(-1)
def entropy(weights):
    zero = weights == 0
    return torch.special.entr(weights.masked_fill(zero, 1.0)).sum(-1)
WRONG
sign | return torch.xlogy(weights, weights).sum(-1)
    Your entropies are negative: the logarithm of a weight is negative, so a minus belongs in front.
mean for sum | return -torch.xlogy(weights, weights).mean(-1)
    You average over the words; entropy is the sum.
large epsilon | 1e-9 -> 1e-2
    The number that you add inside the logarithm is so large that a uniform row no longer has log S:
    put a 1 there where the weight is 0.
a floor under the weights | p = weights.clamp(min=1e-2); return -(p * p.log()).sum(-1)
    You raise small weights to a floor, and each of them then adds to the entropy: keep the floor
    inside the logarithm, and tiny.
normalised | return -torch.xlogy(weights, weights).sum(-1) / math.log(weights.shape[-1])
    You divide by log S: that is a share, the next question (and has no value for a single word).
NaN at zero, keeps 1 | return -(weights * weights.log()).sum(-1)
    A weight of 0 gives 0 times minus infinity, which is NaN: 0 · log 0 counts as 0.
NaN hidden too late, keeps 2 | return -(weights * weights.log()).nan_to_num().sum(-1)
    Your values are right, but at a weight of 0 the gradient is NaN: nan_to_num or where around the
    logarithm comes too late, and xlogy has the same fault. The logarithm must not see the 0.
infinite slope at zero, keeps 2 | return torch.special.entr(weights).sum(-1)
    torch.special.entr has an infinite derivative at 0, which the softmax's 0 turns into NaN:
    replace zeros by 1 before.
bits | return -torch.xlogy(weights, weights).sum(-1) / math.log(2)
    These are bits: the natural logarithm gives nats.
digits | return -torch.xlogy(weights, weights).sum(-1) / math.log(10)
    Your logarithm has base 10: the natural logarithm gives nats.
over the steps | return -torch.xlogy(weights, weights).sum(1)
    You add up over the steps; each row has an entropy of its own: sum over the last axis.
over the batch | return -torch.xlogy(weights, weights).sum(0)
    You add up over the batch, dim 0: each row has an entropy of its own, over the last axis.
not summed | return -torch.xlogy(weights, weights)
    You return what each word adds, (B, T, S): add it up over the words.
one number for all | return -torch.xlogy(weights, weights).sum(-1).mean()
    You average over rows: return one number for each row, (B, T).
softmax again | p = weights.softmax(-1); return -torch.xlogy(p, p).sum(-1)
    You take a softmax of weights, which are weights already, and so flatten them.
effective positions | return (-torch.xlogy(weights, weights).sum(-1)).exp()
    You return exp of the entropy, the number of effective positions: the entropy itself is asked
    for.
one minus the squares | return 1 - weights.square().sum(-1)
    This is one minus the sum of the squares, another measure of spread: the logarithm is missing.
logarithm of the largest | return -weights.amax(-1).log()
    You look at the largest weight alone; entropy adds up over all words.
in place | return -(weights * weights.clamp_(min=1e-4).log()).sum(-1)
    You change the weights in place: whoever reads them next finds no zeros any more. Use clamp,
    without the _.
detached, keeps 2 | R -> R.detach()
    The entropies are right, but detached: a penalty on them would train nothing.
logarithm detached, keeps 2 | weights * - -> weights.detach() * -
    The entropies are right, but the weight in front of the logarithm is detached. What is left of
    the derivative is −1 for each word, and a softmax lets nothing of that through to the scores.
"""
    + WRONG_FORMS,
    draw=draw_scores,
    **map_measure(entropy, values=("the formula", "zeros")),
)

Q2 = question(
    """q2: Spread, comparable across lengths
spread(weights, mask)
read chapters/08_reading_maps: How spread out, honestly
the formula, 1 point: padded; ordinary; all sizes equal; one sentence; one-hot and uniform; with zeros
    Entropy divided by the logarithm of the number of this sentence's words, which the mask tells.
a single word, 1 point: one word; one word of several
    A sentence of one word has 0: log 1 is 0, and 0 / 0 is NaN.
gradients, 1 point: padded; ordinary; with zeros; one word of several
    The numbers are right but their gradients are not: no detach, and nothing on the way may be NaN,
    even where it is replaced later.
RIGHT
def spread(weights, mask):
    n = mask.sum(-1, keepdim=True)
    return entropy(weights) / n.clamp(min=2).log()
def spread(weights, mask):
    most = mask.float().sum(1).log()
    most = torch.where(most > 0, most, 1.0)
    return torch.einsum('bt,b->bt', entropy(weights), 1 / most)
def spread(weights, mask):
    n = mask.sum(-1, keepdim=True)
    out = torch.where(n > 1, 1 / (n + (n == 1)).float().log(), 0.0)
    return entropy(weights) * out
WRONG
all positions counted, keeps 1 | return entropy(weights) / math.log(max(2, weights.shape[-1]))
    You divide by log S, pads counted: each sentence has a number of words of its own, which the
    mask tells.
words up to the last one, keeps 1 | mask.sum(-1, keepdim=True) -> (mask * torch.arange(1, mask.shape[1] + 1)).amax(-1, keepdim=True)
    You count up to the last word: pads may stand in front of it, and mask.sum(-1) leaves them out.
words of the whole batch | return entropy(weights) / mask.sum().clamp(min=2).float().log()
    You count the words of the whole batch: each sentence has its own number, mask.sum(-1).
steps counted | return entropy(weights) / math.log(max(2, weights.shape[1]))
    You divide by the logarithm of the number of steps: the largest entropy depends on the words.
pads counted as words | mask.sum -> (~mask).sum
    You count the pads: the mask is True at words.
weights above zero counted, keeps 1 | mask.sum(-1, keepdim=True) -> (weights > 0).sum(-1)
    You count weights above 0 in each row: a word that gets no weight is a word all the same.
NaN for one word, keeps 1 | .clamp(min=2) ->
    A sentence of one word gives 0 / 0, which is NaN: it has 0.
NaN hidden too late, keeps 2 | .clamp(min=2) ->; R -> R.nan_to_num()
    Your numbers are right, but a sentence of one word has a gradient of NaN: the division by 0
    happens before it is hidden. Give it another divisor.
one for a single word, keeps 2 | R -> torch.where(n > 1, R, 1.0)
    You give 1 to a sentence of one word: all its weight lies on one word, so it has 0.
one minus it | R -> 1 - R
    Yours is 1 where all weight lies on one word: that is concentration, one minus the spread.
entropy alone | return entropy(weights)
    You return the entropy itself: divide it by the largest one that the sentence allows.
divided by the words | .clamp(min=2).log() ->
    You divide by n: the largest entropy is log n.
effective share
    | return entropy(weights) / n.clamp(min=2).log() -> return entropy(weights).exp() / n
    This is the share of effective positions, exp of the entropy over n: a ratio of entropies is
    asked for.
two bases | log() -> log2()
    The entropy is in nats and your divisor in bits: both need the same logarithm.
one more inside the logarithm | n.clamp(min=2) -> (n + 1)
    You divide by log(n + 1), so that a uniform row stays below 1: the largest entropy is log n.
sentences on the wrong axis, keeps 1
    | n = mask.sum(-1).clamp(min=2).float()
    | return entropy(weights)[..., None].expand(-1, -1, len(n)).select(2, -1) / n[-1].log()
    Every sentence is divided by the words of the last one: n needs a second axis, (B, 1).
divided by the largest in the batch | H = entropy(weights); return H / H.max().clamp(min=1e-9)
    You divide by the largest entropy that occurs: divide by the largest that is possible.
detached, keeps 2 | entropy(weights) -> entropy(weights).detach()
    The numbers are right, but detached: no gradient reaches the weights.
"""
    + WRONG_FORMS,
    draw=draw_spread,
    **map_measure(spread, values=("the formula", "a single word")),
    uses=("q1",),
)

Q3 = question(
    """q3: Coverage
coverage(weights)
read exercises/08_reading_maps: Coverage
the past, 2 points: ordinary; other sizes; all sizes equal; one step; one sentence; long
    Row t is the sum of the rows before t, without t itself; row 0 is zero.
gradients, 1 point, backward: ordinary; long
    The coverage is right but its gradient is not: no detach, no .data, no NumPy.
RIGHT
def coverage(weights):
    return weights.cumsum(1) - weights
def coverage(weights):
    return F.pad(weights.cumsum(1)[:, :-1], (0, 0, 1, 0))
def coverage(weights):
    rows, seen = [], torch.zeros_like(weights[:, 0])
    for row in weights.unbind(1):
        rows.append(seen)
        seen = seen + row
    return torch.stack(rows, 1)
WRONG
this step included | - weights ->
    You include step t itself: coverage is past attention, and row 0 is zero.
all steps | return weights.sum(1, keepdim=True).expand_as(weights)
    Every row of yours is the sum over all steps: step t cannot know what comes later.
last step alone | return F.pad(weights[:, :-1], (0, 0, 1, 0))
    Your row t is row t - 1 alone: coverage adds up all rows before t.
over the words | cumsum(1) -> cumsum(2)
    You add up along the words; coverage adds up along the steps, dim 1.
the future | cumsum(1) -> flip(1).cumsum(1).flip(1)
    You add up the steps after t: coverage looks back.
mean of the past | R -> R / torch.arange(weights.shape[1]).clamp_min(1)[None, :, None]
    You average over the past steps: coverage is their sum, and may exceed 1.
not reset between sentences
    | flat = weights.reshape(-1, weights.shape[-1]); return (flat.cumsum(0) - flat).view_as(weights)
    Coverage runs on from one sentence of the batch to the next: each begins at zero.
turned over the sentences
    | seen = weights.cumsum(1).roll(1, 1); seen[0, 0] = 0
    | return seen
    You roll the sums by one step, and the last row comes in at the front: row 0 of every sentence must be
    zeros, not that of the first alone.
turned over the steps | return weights.cumsum(1).roll(1, 1)
    You roll the sums by one step, and the last row comes in at the front: row 0 is zeros.
one step late | R -> F.pad(R[:, :-1], (0, 0, 1, 0))
    Your row t ends at step t - 2: the step just before t has been looked at, too.
begins with the first step
    | seen = weights.cumsum(1); return torch.cat([seen[:, :1], seen[:, :-1]], 1)
    Your row 0 is the first step's own weights: before the first step nothing has been looked at.
never above 1 | R -> R.clamp(max=1)
    You cut coverage at 1: a word that is looked at twice has more.
largest of the past | return F.pad(weights.cummax(1).values[:, :-1], (0, 0, 1, 0))
    You keep the largest weight so far: coverage adds up all of them.
made to sum to 1 | R -> R / R.sum(-1, keepdim=True).clamp(min=1e-9)
    You divide each row by its sum: coverage grows by 1 with each step.
over the batch | cumsum(1) -> cumsum(0)
    You add up over the batch, dim 0: coverage adds up along the steps of one sentence, dim 1.
the last row alone | return weights[:, :-1].sum(1)
    You return one row for each sentence: every step has a coverage of its own, (B, T, S).
in place | kept = weights.clone(); return weights.cumsum_(1) - kept
    You add up in place, so that the weights are other numbers afterwards: use cumsum, without the
    _.
detached, keeps 2 | R -> R.detach()
    The coverage is right, but detached: no gradient reaches the earlier steps.
"""
    + WRONG_FORMS,
    shares=("weights",),
    draw=draw_weights,
    oracle=coverage,
)

Q4 = question(
    """q4: The coverage loss
coverage_loss(weights, real)
read exercises/08_reading_maps: The coverage loss
the loss, 2 points: padded; ordinary; other sizes; all sizes equal; one step; long
    At each step, the smaller of weight and coverage for each word, added up over the words; then
    one mean over all real steps of the batch.
gradients, 1 point, backward: ordinary; padded
    The loss is right but its gradient is not: it must flow through the weights and through the
    coverage.
RIGHT
def coverage_loss(weights, real):
    past = coverage(weights)
    return torch.minimum(weights, past).sum(-1)[real].mean()
def coverage_loss(weights, real):
    c = weights.cumsum(1) - weights
    each = torch.where(weights < c, weights, c).sum(2)
    return each.where(real, 0.0).sum() / real.sum()
def coverage_loss(weights, real):
    past = coverage(weights)
    low = torch.stack([weights, past]).amin(0).sum(-1)
    return torch.masked_select(low, real).mean()
def coverage_loss(weights, real):
    losses = []
    for rows, steps in zip(weights, real):
        seen = torch.zeros_like(rows[0])
        for row in rows[steps]:
            losses.append(torch.minimum(row, seen).sum())
            seen = seen + row
    return sum(losses) / len(losses)
WRONG
maximum | torch.minimum -> torch.maximum
    You take the larger of the two: the overlap is the smaller.
mean over the words | .sum(-1)[real] -> [real]
    You average over the words, so that long sentences cost less: add them up.
sum over the steps | return -> each =; [real].mean() -> * real; return each.sum(1).mean()
    You add up over the steps, so that long translations cost more: average over them.
sum over everything | .mean() -> .sum()
    You add up the losses of all steps: take their mean.
padded steps counted | [real] ->
    Steps of padding take part in your mean: leave them out, real is False there.
divided by all steps | return -> each =; [real].mean() -> * real; return each.mean()
    You leave padded steps out of the sum but not out of the count: divide by the number of real
    steps.
mean of sentence means
    | return -> each =; [real].mean() -> * real; return (each.sum(1) / real.sum(1)).mean()
    You average each sentence and then the sentences: steps of short ones count for more. Take one
    mean over all real steps.
padding alone | return -> each =; [real].mean() -> * ~real; return each.sum() / real.sum()
    You keep the padded steps and drop the real ones: real is True at the steps that count.
coverage after the step | coverage(weights) -> weights.cumsum(1)
    Your coverage includes the step itself, so that the overlap is all of it: use the past alone.
coverage of the last step alone | coverage(weights) -> F.pad(weights[:, :-1], (0, 0, 1, 0))
    You compare with the step before alone: coverage adds up all steps before.
product | torch.minimum(weights, past) -> (weights * past)
    You multiply weight and coverage; the loss takes the smaller of the two.
distance | torch.minimum(weights, past) -> (weights - past).abs()
    You measure how far weight and coverage are apart; what costs is what they share, the smaller of
    the two.
smallest word alone | sum(-1) -> amin(-1)
    You take the smallest over the words as well: the minimum is of weight and coverage, and the
    words are added up.
first step left out
    | return -> each =; [real].mean() -> * real
    | return each.sum() / (real.sum() - len(real)).clamp(min=1)
    You leave the first step out of the mean: it counts, with a loss of 0.
no first step in the mean | [real].mean() -> [:, 1:][real[:, 1:]].mean()
    You take the mean over the steps from the second on: the first one counts as well, with a loss of 0.
one number a sentence | return -> each =; [real].mean() -> * real; return each.sum(1) / real.sum(1)
    You return a loss for each sentence: take one mean over the batch as well.
sign | R -> -R
    Your loss is negative: training would make the overlap larger.
coverage detached, keeps 2 | weights, past -> weights, past.detach()
    The value is right, but no gradient flows through the coverage: earlier steps never learn that
    they took too much.
detached, keeps 2 | R -> R.detach()
    The value is right, but detached: backward() would find nothing to follow.
a plain number | R -> R.item()
    You return a plain number, where the gradient ends: return the tensor.
""",
    shares=("weights",),
    draw=draw_steps,
    oracle=coverage_loss,
    uses=("q3",),
)

Q5 = question(
    """q5: Alignment error rate
alignment_error_rate(predicted, sure, possible)
read chapters/08_reading_maps: Links: sure, possible, wrong
the formula, 2 points, within 1e-4 or 1e-4: ordinary; sure among the possible; nothing right; perfect; nothing else possible
    1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), where P includes S.
duplicates, 1 point, within 1e-4 or 1e-4: duplicates; duplicates elsewhere
    A link that stands in a list twice counts once.
RIGHT
def alignment_error_rate(predicted, sure, possible):
    a, s, p = set(predicted), set(sure), set(possible) | set(sure)
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))
def alignment_error_rate(predicted, sure, possible):
    a, s = set(predicted), set(sure)
    hits = sum(x in s for x in a) + sum(x in s or x in possible for x in a)
    return 1 - hits / (len(a) + len(s))
def alignment_error_rate(predicted, sure, possible):
    a = list(dict.fromkeys(predicted))
    s = [x for n, x in enumerate(sure) if x not in sure[:n]]
    p = s + list(possible)
    good = len([x for x in a if x in s]) + len([x for x in a if x in p])
    return 1.0 - good / (len(a) + len(s))
def alignment_error_rate(predicted, sure, possible):
    a, s, p = set(predicted), set(sure), set(possible) | set(sure)
    found = torch.tensor([x in p for x in a]).sum() + len(a & s)
    return 1 - found / (len(a) + len(s))
def alignment_error_rate(predicted, sure, possible):
    a, s, p = set(predicted), set(sure), set(possible) | set(sure)
    return np.float64(1 - (len(a & s) + len(a & p)) / (len(a) + len(s)))
WRONG
possible without sure | set(possible) | set(sure) -> set(possible) - set(sure)
    Sure links are possible, too: P must include S, even if the list of possible links leaves them
    out.
possible as listed | set(possible) | set(sure) -> set(possible)
    The list of possible links may leave out the sure ones: add them yourself, P = P | S.
accuracy for error | R -> 1 - R
    A perfect alignment must give 0, and yours gives 1: subtract from 1.
duplicates counted, keeps 2
    | s, p = set(sure), set(possible) | set(sure)
    | hits = sum(x in s for x in predicted) + sum(x in p for x in predicted)
    | return 1 - hits / (len(predicted) + len(s))
    A link that is predicted twice counts twice: make a set of the predictions first.
nothing but lists, keeps 2
    | p = possible + sure
    | hits = sum(x in sure for x in predicted) + sum(x in p for x in predicted)
    | return 1 - hits / (len(predicted) + len(sure))
    You count lists, where a link may stand twice: make sets of the predicted and of the sure links first.
off by one | set(predicted) -> {(i + 1, j + 1) for i, j in predicted}
    You shift the predicted links by one: all links count from 0 here.
source and target exchanged | set(predicted) -> {(j, i) for i, j in predicted}
    You exchange source and target in the predicted links: all links are (source, target).
one minus F | (len(a & s) + len(a & p)) -> 2 * len(a & s)
    You count the sure links twice: the second term counts predictions among the possible.
one minus precision | (len(a & s) + len(a & p)) / (len(a) + len(s)) -> len(a & p) / len(a)
    This is one minus precision alone, which is best for a single safe link: recall of the sure ones counts,
    too.
divided by possible | len(a) + len(s) -> len(a) + len(p)
    You divide by |A| + |P|: nobody has to find every possible link. It is |A| + |S|.
sure duplicates counted, keeps 2 | len(a) + len(s) -> len(a) + len(sure)
    You count a sure link twice that stands in the list twice: take the size of the set.
one minus recall | (len(a & s) + len(a & p)) / (len(a) + len(s)) -> len(a & s) / len(s)
    This is one minus recall, which is best for predicting every link: precision counts, too.
union for sum | (len(a) + len(s)) -> len(a | s)
    You divide by the size of the union; it is |A| + |S|, where common links count twice.
possible links counted once | (len(a & s) + len(a & p)) -> 2 * len(a & p)
    You count the hits among the possible links twice: one of the two terms is for the sure ones.
in percent | R -> 100 * R
    Your rate is in percent: return a share between 0 and 1.
rounded | R -> round(R, 1)
    You round the rate to one decimal: return it as it is.
the caller's list grows | a, s, p = -> possible += sure; a, s, p =
    You add the sure links to the caller's own list of possible ones, which += changes: make a set
    of your own.
""",
    draw=draw_links,
    oracle=error_rate,
    probe="""
def probe(answer, predicted, sure, possible):
    lists = [[tuple(link) for link in links] for links in (predicted, sure, possible)]
    kept = [list(links) for links in lists]
    found = answer(*lists)
    found = found.item() if hasattr(found, "item") else found
    return {"the rate": found, "the lists are left as they are": lists == kept}
""",
)

Q6 = question(
    """q6: By hand
error_rate_by_hand = number
read chapters/08_reading_maps: Links: sure, possible, wrong
the number, 1 point: number
    1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|): count each of the four by itself, and remember that sure links
    are possible, too.
RIGHT
error_rate_by_hand = 0.29
error_rate_by_hand = 1 - 5 / 7
error_rate_by_hand = torch.tensor(2 / 7)
error_rate_by_hand = np.array(0.286)
error_rate_by_hand = np.array([0.286])
error_rate_by_hand = (2 / 7,)
from fractions import Fraction
error_rate_by_hand = Fraction(2, 7)
WRONG
possible without sure | 0.29 -> 0.57
    You counted the possible links without the sure ones: a sure link that was found counts in both
    terms.
accuracy for error | 0.29 -> 0.71
    This is the share that is right: subtract it from 1.
one minus precision | 0.29 -> 0.25
    This is one minus precision: the sure links count, too, below the line.
one minus F | 0.29 -> 0.43
    You counted the sure links twice: the second term counts predictions among the possible.
divided by possible | 0.29 -> 0.44
    You divided by |A| + |P|: nobody has to find every possible link. It is |A| + |S|.
in percent | 0.29 -> 28.6
    This is a percentage: write a share, between 0 and 1.
nothing wrong | 0.29 -> 0.0
    An error rate of 0 says that every prediction is possible and every sure link was found: look
    for the one that is neither, and for the one that is missing.
nothing right | 0.29 -> 1.0
    An error rate of 1 says that no prediction is even possible: count those that are.
one link too few below the line | 0.29 -> 0.17
    You divided by one link too few: below the line stand all predictions and all sure links, and a
    link that is both counts twice.
one link too many below the line | 0.29 -> 0.38
    You divided by one link too many: below the line stand the predictions and the sure links; the
    possible ones do not.
two of six | 0.29 -> 0.33
    One third is one minus the recall of the sure links, or a fraction with 6 below its line: |A| + |S|
    stands there, each counted by itself.
""",
    oracle=lambda: 2 / 7,
)

Q7 = question(
    """q7: Measured: long sentences
by_length(maps, bins)
read exercises/08_reading_maps: Measured: long sentences
the table, 3 points, within 2e-3 or 1e-3: three bins; two bins; bins that overlap
    For each bin, over all steps of its sentences together: mean spread, share that looks right,
    share right of these, share right of the others.
nothing to average, 1 point, within 2e-3 or 1e-3: an empty bin; all look right; none looks right
    A mean of nothing is 0 here: neither NaN nor an error.
RIGHT
def by_length(maps, bins):
    table = []
    mean = lambda x: x.double().mean().item() if len(x) else 0.0
    for low, high in bins:
        H, look, ok = [torch.zeros(0)], [torch.zeros(0) > 0], [torch.zeros(0) > 0]
        for w, predicted, gold, place in maps:
            S = w.shape[1]
            if low <= S <= high:
                h = -(w * w.clamp(min=1e-12).log()).sum(-1)
                H.append(h / math.log(max(S, 2)))
                look.append(w.argmax(-1) == place)
                ok.append(predicted == gold)
        H, look, ok = torch.cat(H), torch.cat(look), torch.cat(ok)
        table.append([mean(H), mean(look), mean(ok[look]), mean(ok[~look])])
    return table
def by_length(maps, bins):
    def row(low, high):
        rows = []
        for w, predicted, gold, place in maps:
            n = w.shape[-1]
            if n < low or n > high:
                continue
            h = spread(w[None], torch.ones(1, n, dtype=torch.bool))[0]
            rows += zip(h.tolist(), (w.max(-1).indices == place).tolist(),
                        (predicted == gold).tolist())
        share = lambda x: sum(x) / len(x) if x else 0
        return (share([h for h, _, _ in rows]), share([a for _, a, _ in rows]),
                share([r for _, a, r in rows if a]), share([r for _, a, r in rows if not a]))
    return torch.tensor([row(*pair) for pair in bins])
WRONG
mean of sentence means | h / math -> h.mean()[None] / math
    You average each sentence's spread and then the sentences: steps of short translations count for
    more. Take one mean over all steps.
every share a mean over sentences
    | mean = lambda x: float(np.mean(x)) if len(x) else 0.0; table = []
    | for low, high in bins:
    |     rows = []
    |     for w, predicted, gold, place in maps:
    |         if low <= w.shape[1] <= high:
    |             look, ok = w.argmax(-1) == place, (predicted == gold).float()
    |             h = spread(w[None], torch.ones(1, w.shape[1]).bool())[0]
    |             rows.append([mean(h), mean(look.float()), mean(ok[look]), mean(ok[~look])])
    |     table.append([mean(column) for column in zip(*rows)] or [0.0] * 4)
    | return table
    You make a row for each sentence and average these: take each share over all steps of the bin's
    sentences together.
entropy for spread | h / math.log(max(S, 2)) -> h
    Your first column is the entropy: sentences of different lengths compare by spread, its share of
    the largest possible.
last word left out | S <= high -> S < high
    You leave out sentences as long as a bin's upper end: both ends belong to it.
lower end left out | low <= S -> low < S
    You leave out sentences as long as a bin's lower end: both ends belong to it.
each sentence in one bin, keeps 1
    | if low <= S <= high: -> first = next((pair for pair in bins if pair[0] <= S <= pair[1]), None); if first == (low, high):
    You count a sentence in the first bin that it fits: bins may overlap, and each holds all sentences of its
    lengths.
bins by the steps | low <= S -> low <= len(w)
    You sort sentences by their number of steps: bins count source words, the last axis.
words counted by the places looked at | low <= S -> low <= int(place.max()) + 1; <= high -> and int(place.max()) + 1 <= high
    You take the furthest of the right places for the number of words: the words behind it count too.
    They are as many as a map has columns.
all sentences in every bin | low <= S <= high -> S
    Every row of yours is over all sentences: a bin holds those of its lengths.
share of the right words | mean(ok[look]), mean(ok[~look]) -> mean(ok), mean(~ok)
    Your last columns are the shares of right and wrong words among all steps: the third is among
    steps that look right, the fourth among the others.
last two exchanged | mean(ok[look]), mean(ok[~look]) -> mean(ok[~look]), mean(ok[look])
    Your last two columns are exchanged: first among steps that look right, then among the others.
the other way round | mean(ok[look]), mean(ok[~look]) -> mean(look[ok]), mean(look[~ok])
    You ask how many of the right words were looked at right; the question is how many of those that look
    right are right.
both at once | mean(ok[look]), mean(ok[~look]) -> mean(ok & look), mean(ok & ~look)
    You divide by all steps: the third share is among the steps that look right, the fourth among
    the others.
third over all steps | mean(ok[look]), mean(ok[~look]) -> mean(ok), mean(ok[~look])
    Your third column is the share of right words among all steps: it is among the steps that look right.
wrong words of the others | mean(ok[~look]) -> mean(~ok[~look])
    Your last column counts wrong words: the share of right ones is asked for, there as well.
errors for right words | == gold -> != gold
    Your last columns count wrong words: the shares of right ones are asked for.
the diagonal | == place -> == torch.arange(len(w)).clamp(max=S - 1)
    You assume that step t should look at word t: each map comes with its right places.
the diagonal to its end | == place -> == torch.arange(len(w))
    You compare the largest weight's place with the number of the step: each map comes with its right
    places, one for each step.
most weight among the steps | w.argmax(-1) == place -> w.argmax(0)[place] == torch.arange(len(w))
    You look for the step at which a word gets most weight: a step looks right if the largest weight
    of its row lies on its place.
half of the weight | w.argmax(-1) == place -> w[torch.arange(len(w)), place] > 0.5
    You ask for more than half of the weight: a step looks right if the largest weight of its row
    lies on its place.
in percent
    | else 0.0 -> else 0.0; share = lambda x: 100 * mean(x)
    | mean(look), mean(ok[look]), mean(ok[~look]) -> share(look), share(ok[look]), share(ok[~look])
    Your shares are in percent: write them between 0 and 1.
in place | clamp(min=1e-12) -> clamp_(min=1e-4)
    You change the maps in place: whoever reads them next finds no zeros any more. Use clamp,
    without the _.
NaN of nothing, keeps 3 | if len(x) else 0.0 ->
    A mean of no steps is NaN in your table: it counts as 0.
NaN where none looks right, keeps 3 | mean(ok[look]) -> ok[look].double().mean().item() if len(ok) else 0.0
    Where no step of a bin looks right, your third column is NaN: a share of no steps is 0, as much as
    in the fourth.
row of zeros where none looks right, keeps 3
    | table.append( -> table.append([0.0] * 4 if not look.any() else
    Where no step of a bin looks right, your whole row is 0: only the share of looking and the one among
    these steps are. Spread and the last column have steps to average.
error where none looks right, keeps 3
    | mean(ok[look]) -> int(ok[look].sum()) / int(look.sum()) if len(ok) else 0.0
    Where no step of a bin looks right, you divide by 0: a share of no steps is 0.
""",
    draw=draw_maps,
    oracle=by_length,
    probe=PLAIN
    + """
def probe(by_length, maps, bins):
    kept = [tuple(x.clone() for x in one) for one in maps]
    table = plain(by_length(maps, bins))
    same = len(maps) == len(kept) and all(
        torch.equal(a, b) for one, other in zip(maps, kept) for a, b in zip(one, other)
    )
    return {"the table": table, "the maps are left as they are": same}
""",
    uses=("q1", "q2"),
)

Q8 = question(
    """q8: What follows: looking, or reading?
due_to_looking(short, long)
read exercises/08_reading_maps: What follows: looking, or reading?
the share, 2 points, within 2e-3 or 1e-3: two rows; looking alone; all look right
    Keep how the long sentences are read, exchange how many of their steps look right, and divide
    what that gains by the fall in right words.
RIGHT
def due_to_looking(short, long):
    right = lambda looks, if_so, if_not: looks * if_so + (1 - looks) * if_not
    fall = right(*short) - right(*long)
    return (right(short[0], *long[1:]) - right(*long)) / fall
def due_to_looking(short, long):
    (a, p, q), (b, r, w) = short, long
    return [(a - b) * (r - w) / (a * p + (1 - a) * q - b * r - (1 - b) * w)]
def due_to_looking(short, long):
    s, l = torch.tensor(short), torch.tensor(long)
    both = lambda looks, row: torch.stack([looks, 1 - looks]) @ row[1:]
    before = both(l[0], l)
    return (both(s[0], l) - before) / (both(s[0], s) - before)
WRONG
reading exchanged | short[0], *long[1:] -> long[0], *short[1:]
    You exchange how the long sentences are read and keep how they look: it is the other way round.
read as the short ones
    | right(short[0], *long[1:]) - right(*long) -> right(*short) - right(long[0], *short[1:])
    You read the steps as in the short sentences: suppose the long ones are read as they are.
steps that look right alone
    | right(short[0], *long[1:]) - right(*long) -> (short[0] - long[0]) * long[1]
    You forget that a step that looks right no longer counts among the others, some of which are
    right as well.
fall in looking | right(short[0], *long[1:]) - right(*long) -> short[0] - long[0]
    You divide the fall in looking by the fall in right words: a step that looks right is not always
    read right.
share of looking lost | return (short[0] - long[0]) / short[0]
    You return how much of the looking is lost: the question is how much of the fall in right words it
    explains.
not divided | / fall ->
    You return how many more words would be right: divide by the fall to get its share.
what would be right | R -> right(short[0], *long[1:])
    You return the share of words that would be right: subtract what is right now, and divide by the
    fall.
cut at 0 and 1 | R -> min(max(R, 0.0), 1.0)
    You cut the share at 0 and 1: looking may undo more than the fall, or less than nothing.
mean of both orders | R -> (R + (right(*short) - right(long[0], *short[1:])) / fall) / 2
    You average over both orders: suppose the long sentences are read as they are, and no other way.
the other steps forgotten | fall = short[0] * short[1] - long[0] * long[1]; return (short[0] - long[0]) * long[1] / fall
    You count right words among the steps that look right alone: some of the others are right as well, before and
    after.
sign dropped | R -> abs(R)
    You drop the sign: where looking gained and reading lost, the share is negative.
the rest | R -> 1 - R
    You return what is left of the fall: what would be undone is asked for.
divided by the right words | / fall -> / right(*short)
    You divide by the share of right words in short sentences: divide by the fall, the difference
    between short and long.
sign | R -> -R
    Your gain has the wrong sign: it is what would be right minus what is.
short and long exchanged
    | right(short[0], *long[1:]) - right(*long) -> right(long[0], *short[1:]) - right(*short)
    You suppose that the short sentences look like the long ones: it is the long ones that are to
    look better.
right words of two kinds added
    | looks * if_so + (1 - looks) * if_not -> if_so + if_not
    | right(short[0], *long[1:]) - right(*long) -> (short[0] - long[0]) * (long[1] - long[2])
    You add the two shares of right words as they are: each counts for its share of the steps.
in percent | R -> 100 * R
    Your share is in percent: return it as a fraction, 1 for all.
""",
    draw=draw_rows,
    oracle=due_to_looking,
    probe=value_probe,
)

EXERCISE = Exercise("08_reading_maps", "Reading attention maps", (Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8))
