"""How the exercise on choosing one place is graded: oracles, cases, known mistakes."""

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import normal, padding, softmax_rows
from seqattn.grading.probes import value_probe
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def log_prob_of_choice(scores, index, mask):
    found = np.zeros(len(scores))
    for b, i in enumerate(index):
        if i >= 0:
            e = scores[b][mask[b]]
            found[b] = scores[b, i] - e.max() - np.log(np.exp(e - e.max()).sum())
    return found


LEFT = "the arguments are left as they are"
CALM = "no gradient reaches the rewards"
DIGITS = "the precision of the inputs is kept"
BY_LOGS = "gradient of the log-probabilities"


def surrogate(log_prob, reward, mask):
    total, gradient, real = 0.0, np.zeros(log_prob.shape), mask.sum()
    for b, k in np.argwhere(mask):
        others = [reward[b, j] for j in np.flatnonzero(mask[b]) if j != k]
        advantage = reward[b, k] - (sum(others) / len(others) if others else 0.0)
        total -= advantage * log_prob[b, k] / real
        gradient[b, k] = -advantage / real
    return {"the surrogate": total, BY_LOGS: gradient, CALM: True, LEFT: True, DIGITS: True}


def exact_noise(weights, rewards, b, n):
    estimates = [
        (r - b) * (np.arange(len(weights)) == i) - (r - b) * weights for i, r in enumerate(rewards)
    ]
    mean = sum(w * g for w, g in zip(weights, estimates))
    return float(sum(w * ((g - mean) ** 2).sum() for w, g in zip(weights, estimates)) / n)


BY_WEIGHTS, BY_VALUES = "gradient of the weights", "gradient of the values"
EXACT = "the fetched values come back to the last digit, though a sum like a + (b - a) rounds"
WHOLE = "what comes back reaches the fetched values to five digits"


def straight_through(weights, values, index, upstream):
    by_weights, by_values = np.zeros(weights.shape), np.zeros(values.shape)
    for b, i in enumerate(index):
        by_weights[b] = values[b] @ upstream[b]
        by_values[b, i] = upstream[b]
    fetched = np.array([values[b, i] for b, i in enumerate(index)])
    found = {"the contexts": fetched, EXACT: True}
    return found | {
        BY_WEIGHTS: by_weights,
        BY_VALUES: by_values,
        WHOLE: True,
        LEFT: True,
        DIGITS: True,
    }


def total_loss(nats, weights, written, read, rows, columns):
    words = np.argwhere(written)
    loss = sum(nats[b, t] for b, t in words) / len(words)
    spread = [1 - sum(weights[b, t, i] ** 2 for i in np.flatnonzero(read[b])) for b, t in words]
    missing = [
        (1 - sum(weights[b, t, i] for t in np.flatnonzero(written[b]))) ** 2
        for b, i in np.argwhere(read)
    ]
    return np.array(loss + rows * np.mean(spread) + columns * np.mean(missing))


def judge(known, valid, test):
    means = [float(np.mean(seeds)) for seeds in valid]
    chosen = int(np.argmin(np.round(means, 9)))
    verdict = "no difference seen"
    if chosen == 0:
        verdict = "no dropout"
    elif max(test[chosen]) < min(test[0]):
        verdict = "dropout is better"
    elif min(test[chosen]) > max(test[0]):
        verdict = "dropout is worse"
    gap = tuple(float(np.mean(t) - np.mean(k)) for k, t in zip(known, test))
    return {"chosen": chosen, "gap": gap, "verdict": verdict, LEFT: True}


# --- Cases -----------------------------------------------------------------------------------------

CHOICES = {  # B, S
    "ordinary": (4, 5),
    "other sizes": (2, 7),
    "all sizes equal": (4, 4),
    "one place": (3, 1),
    "one query": (1, 4),
    "padded": (4, 5),
    "nothing to choose": (4, 3),
    "unlikely": (3, 4),
    "far below zero": (4, 4),
}


def draw_choice(rng, kind):
    B, S = CHOICES[kind]
    scores, mask = normal(rng, B, S, scale=1.5), np.ones((B, S), bool)
    if kind == "nothing to choose":
        # Pads in front and between as well: only the mask says which places are real.
        mask = padding(rng, B, S, empty=True)[:, rng.permutation(S)]
    if kind == "padded":
        # Whatever is chosen here stays real where the mask or the index is replaced.
        mask[:, 2:] = rng.random((B, S - 2)) < 0.5
        mask[0, -1] = False
    if kind == "unlikely":
        scores *= 150
    if kind == "far below zero":
        # A fill of -100 would be the most likely place.
        scores = 2 * scores - 180
        mask[:, 2:] = rng.random((B, S - 2)) < 0.5
        mask[0, -1] = False
    index = np.full(B, -1)
    for b in range(B):
        if mask[b].any():
            index[b] = rng.choice(np.flatnonzero(mask[b])[: 2 if kind == "padded" else S])
    if kind == "unlikely":
        index = scores.argmin(1)
    return scores, index, mask


DRAWS = {  # inputs, draws
    "ordinary": (3, 4),
    "other sizes": (5, 2),
    "square": (3, 3),
    "one input": (1, 5),
    "one draw each": (4, 1),
    "some missing": (3, 4),
    "one left": (4, 3),
    "an input without draws": (3, 3),
}


def draw_draws(rng, kind):
    B, n = DRAWS[kind]
    log_prob, reward = -np.abs(normal(rng, B, n)) - np.float32(0.1), 2 + normal(rng, B, n)
    mask = np.ones((B, n), bool)
    if kind in ("some missing", "one left", "an input without draws"):
        mask = rng.random((B, n)) < 0.6
        mask[0], mask[1, 0], mask[1, -1] = True, True, False
        if kind == "one left":
            mask[-1] = np.arange(n) == 1
        if kind == "an input without draws":
            mask[-1] = False
        log_prob[~mask], reward[~mask] = rng.choice([np.nan, 40.0]), rng.choice([np.nan, -70.0])
    return log_prob, reward, mask


def draw_estimate(rng, kind):
    S = {"two places": 2, "many places": 9}.get(kind, 4)
    while True:
        weights = softmax_rows(1.2 * rng.normal(size=S)).astype(np.float32)
        rewards, n = normal(rng, S), 1
        b = float(np.float32(rng.uniform(-1, 1)))
        if kind == "no baseline":
            b = 0.0
        if kind == "several draws":
            n = int(rng.integers(2, 9))
        if kind == "far rewards":
            rewards += 20
        mean = weights * (rewards - weights @ rewards)
        # Whoever leaves the mean in must be seen to.
        if mean @ mean > 1e-3 * exact_noise(weights, rewards, b, 1):
            return weights, rewards, b, n


PLACES = {  # B, S, d
    "ordinary": (3, 5, 2),
    "other sizes": (2, 3, 6),
    "all sizes equal": (4, 4, 4),
    "one place": (2, 1, 3),
    "one query": (1, 5, 2),
    "one number": (3, 4, 1),
    "far values": (3, 4, 2),
}


def draw_places(rng, kind):
    B, S, d = PLACES[kind]
    weights = softmax_rows(rng.normal(size=(B, S))).astype(np.float32)
    values, index = normal(rng, B, S, d), rng.integers(S, size=B)
    if kind == "far values":
        far = rng.random((B, S)) < 0.6
        values[far] *= 1e6
        values[np.arange(B), index] = normal(rng, B, d)
    return weights, values, index, normal(rng, B, d)


MAPS = {  # B, T, S
    "ordinary": (2, 3, 4),
    "other sizes": (3, 5, 2),
    "all sizes equal": (3, 3, 3),
    "one sentence": (1, 4, 3),
    "one word": (3, 1, 2),
    "one source word": (2, 3, 1),
    "padded": (3, 4, 5),
    "short and long": (2, 6, 5),
    "padded, all sizes equal": (3, 3, 3),
}


def draw_maps(rng, kind):
    B, T, S = MAPS[kind]
    nats, written, read = np.abs(normal(rng, B, T)), np.ones((B, T), bool), np.ones((B, S), bool)
    rows, columns = (float(np.float32(x)) for x in rng.choice([-1, 1], 2) * rng.uniform(0.5, 2, 2))
    padded = kind in ("padded", "short and long", "padded, all sizes equal")
    if padded:
        written, read = padding(rng, B, T), padding(rng, B, S)
        if kind == "padded":
            # Pads in front and between: only the masks say which words are real.
            written[0], read[0] = np.arange(T) % 2 == 1, np.arange(S) % 2 == 1
        if kind == "short and long":
            # A mean of the sentences' means differs from the mean over words.
            written[0], written[1] = np.arange(T) < 1, True
            read[0], read[1] = np.arange(S) < 2, True
        if kind == "padded, all sizes equal":
            # Each mask fits on either axis, and only one of them is right.
            written[:, 1:], read[:, 1] = [[False, False], [True, False], [True, True]], True
    weights = softmax_rows(rng.normal(size=(B, T, S)), read[:, None, :])
    if padded:
        junk = ~(written[:, :, None] & read[:, None, :])
        # Pads may hold anything: 0 times NaN is no 0.
        unknown = kind == "short and long"
        weights[junk] = np.nan if unknown else rng.uniform(2, 5, junk.sum())
        nats[~written] = np.nan if unknown else 9
    return nats, weights.astype(np.float32), written, read, rows, columns


STUDIES = (
    "better",
    "worse",
    "meeting",
    "touching",
    "touching from above",
    "no dropout",
    "tied",
    "tied with none",
    "validation says otherwise",
    "one better seed",
    "one bad seed",
    "an outlier",
    "nearly tied",
)


def draw_study(rng, kind):
    rates, seeds = int(rng.integers(3, 6)), int(rng.integers(3, 5))
    valid = rng.uniform(2.5, 3.5, (rates, seeds))
    test = rng.uniform(2.4, 3.4, (rates, seeds))
    known = rng.uniform(0.2, 1.5, (rates, seeds))
    chosen = 0 if kind in ("no dropout", "tied with none") else int(rng.integers(1, rates - 1))
    # One seed has an outlier, so that a lowest mean is no lowest seed and no lowest median.
    valid[chosen] = 1.5 + 0.1 * rng.random(seeds)
    other = (chosen + 1) % rates or 1
    valid[other] = [0.9, *[2.8] * (seeds - 1)]
    if kind not in ("better", "worse", "touching"):
        valid[other] = valid[other][::-1]  # the first seed is no best seed
    test[0] = rng.permutation(np.linspace(2.0, 2.4, seeds) + 0.01 * rng.random(seeds))
    if chosen:
        far = {"better": -0.9, "worse": 0.9}.get(kind, 0.15)
        test[chosen] = rng.permutation(test[0] + far)
    if kind == "better":
        # What validation did not choose may still be the best on test pairs.
        test[other] = test[0] - 1.8
    if kind == "touching":
        test[chosen] = test[0].min() - 0.5
        test[chosen, 1] = test[0].min()
    if kind == "touching from above":
        test[chosen] = test[0].max() + 0.5
        test[chosen, 1] = test[0].max()
    if kind == "meeting":
        # Rounded to whole nats, the rate 0 would tie and come first.
        valid[0] = 1.65
    if kind == "one better seed":
        test[chosen] = test[0] + 0.05
        test[chosen, -1] = test[0].min() - 0.7
    if kind == "one bad seed":
        # The lowest mean has the highest seed, and ranges overlap whose bulks lie apart.
        valid[chosen], valid[other] = 2.0, 2.2
        valid[chosen, 0] = 2.3
        test[chosen] = test[0].min() - 0.5
        test[chosen, 0] = test[0].min() + 0.1
    if kind == "an outlier":
        # The lowest median has a higher mean, on validation and on test pairs.
        valid[chosen], valid[other] = 2.1, 2.0
        valid[other, -1] = 2 + 0.25 * seeds
        test[chosen] = test[0] + 0.6
        test[chosen, 0] = test[0].min() - 0.1
    if kind == "nearly tied":
        valid[chosen], valid[0] = 1.5, 1.53
        test[chosen] = test[0] - 0.9
    if kind == "validation says otherwise":
        test[other] = test[0] - 0.9
    if kind in ("tied", "tied with none"):
        valid[-1] = valid[chosen][::-1]
        valid[chosen], valid[-1] = 2.0, 2.0
        valid[other] = 2.5 if other != rates - 1 else 2.0
        test[-1] = test[0] - 0.9
    return tuple(
        [[round(float(x), 4) for x in row] for row in table] for table in (known, valid, test)
    )


# --- Questions -------------------------------------------------------------------------------------

Q1 = question(
    """q1: The log-probability of a choice
log_prob_of_choice(scores, index, mask)
read chapters/12_hard: From a mixture to a choice
the formula, 2 points: ordinary; other sizes; all sizes equal; one place; one query
    The chosen score minus the logarithm of the sum of exp over the row: the logarithm of a softmax,
    at the chosen place.
places that are not real, 1 point: padded; nothing to choose; far below zero
    Pads take part in your sum, or a row without a choice is not 0: only real places count, and
    index -1 gives 0.
    read chapters/02_soft_addressing: Where it breaks: masks
unlikely choices, 1 point: unlikely
    A choice of probability exp(-200) has the log-probability -200: do not take the logarithm of a
    softmax, which is 0 by then.
    read chapters/02_soft_addressing: Derive: from one value to a mixture
gradients, 1 point, backward: ordinary; padded; nothing to choose
    The values are right, but the gradients of the scores are not: no detach, no NumPy, and no NaN
    where nothing was chosen.
RIGHT
def log_prob_of_choice(scores, index, mask):
    e = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    logs = e.log_softmax(-1).gather(1, index.clamp(min=0)[:, None])[:, 0]
    return torch.where(index >= 0, logs, torch.zeros_like(logs))
def log_prob_of_choice(scores, index, mask):
    e = torch.where(mask, scores, -1e30)
    chosen = e[torch.arange(len(e)), index] - torch.logsumexp(e, 1)
    return chosen.masked_fill(index < 0, 0.0)
def log_prob_of_choice(scores, index, mask):
    e = scores.masked_fill(~mask, -1e30)
    return -F.cross_entropy(e, index, reduction='none', ignore_index=-1)
def log_prob_of_choice(scores, index, mask):
    rows = []
    for e, i, real in zip(scores, index.tolist(), mask):
        rows.append(e[i] - e[real].logsumexp(0) if i >= 0 else scores.new_zeros(()))
    return torch.stack(rows)
def log_prob_of_choice(scores, index, mask):
    e = scores.masked_fill(~mask, -1e30)
    dice = torch.distributions.Categorical(logits=e)
    return dice.log_prob(index.clamp(min=0)).masked_fill(index == -1, 0.0)
WRONG
probability | R -> R.exp()
    You return the probability: return its logarithm, which is 0 for a certain choice.
sign | R -> -R
    Your numbers are positive: the logarithm of a probability is never positive. (The surrogate turns the
    sign, not this function.)
bits | R -> R / math.log(2)
    These are bits: the natural logarithm gives nats.
no mask, keeps 3 | scores.masked_fill(~mask, torch.finfo(scores.dtype).min) -> scores.nan_to_num()
    Pads take part in your denominator: give them a very low score before the softmax.
mask after the softmax, keeps 2
    | e = scores.masked_fill(~mask, torch.finfo(scores.dtype).min) -> e = scores.nan_to_num()
    | e.log_softmax(-1).gather -> (e.softmax(-1) * mask).clamp(min=1e-30).log().gather
    You mask after the softmax, when pads have already had their share: mask the scores.
masked with zeros, keeps 3 | torch.finfo(scores.dtype).min -> 0.0
    You set the scores of pads to 0, which is a score like any other: they need a very low one.
a mask of -100, keeps 4 | torch.finfo(scores.dtype).min -> -100.0
    Your mask is a score like any other, and scores may be in the hundreds: fill with a very low
    number.
log of softmax, keeps 3 | e.log_softmax(-1) -> e.softmax(-1).log()
    For a score far below the others the softmax is 0, and its logarithm is minus infinity:
    log_softmax takes both steps at once and stays finite.
a floor under the probability, keeps 4 | e.log_softmax(-1) -> e.softmax(-1).clamp(min=1e-12).log()
    You put a floor under the probability, so every choice below it looks equally unlikely:
    log_softmax needs no floor.
a very small floor, keeps 4 | e.log_softmax(-1) -> e.softmax(-1).clamp(min=1e-30).log()
    You put a floor under the probability. However low it is, all choices below it look equally
    unlikely: log_softmax needs none.
a small number added, keeps 3 | e.log_softmax(-1) -> (e.softmax(-1) + 1e-9).log()
    You add a small number to the probability, and it hides every choice that is less likely than
    that: log_softmax needs none.
cut at a lowest number, keeps 4 | e.log_softmax(-1) -> e.log_softmax(-1).clamp(min=-80)
    You cut log-probabilities off at a lowest number: a very unlikely choice has a very low one, such
    as -200.
most likely place | index.clamp(min=0)[:, None] -> e.argmax(1, keepdim=True)
    You take the most likely place: take the one that was chosen.
entropy for choice | e.log_softmax(-1).gather(1, index.clamp(min=0)[:, None])[:, 0] -> (e.softmax(-1) * e.log_softmax(-1)).sum(-1)
    You average over all places, which gives minus the entropy: take the chosen place alone.
over the queries | e.log_softmax(-1) -> e.log_softmax(0)
    Your softmax runs over the queries, dim 0: the places of a row compete, dim 1.
first query's choice for all | index.clamp(min=0)[:, None] -> index.clamp(min=0)[:1, None].expand(len(e), 1)
    All rows look up the first row's choice: row b has its own.
summed | R -> R.sum()
    You add up over the queries: return one number for each, (B,).
scores without a softmax | e.log_softmax(-1).gather -> scores.nan_to_num().gather
    These are the chosen scores: the logarithm of the sum over the row is missing.
last place where nothing was chosen, keeps 4 | torch.where(index >= 0, logs, torch.zeros_like(logs)) -> logs
    You give some number to a row without a choice: where index is -1, return 0.
NaN where nothing was chosen, keeps 4
    | torch.finfo(scores.dtype).min -> -torch.inf; torch.where(index >= 0, logs, torch.zeros_like(logs)) -> logs
    A row without a real place is all minus infinity, and its softmax is NaN: return 0 where index
    is -1.
counted from one | index.clamp(min=0)[:, None] -> (index - 1).clamp(min=0)[:, None]
    You count places from 1: index 0 is the first.
detached, keeps 4 | R -> R.detach()
    The values are right, but detached: this is where the gradient of the surrogate enters.
in place, keeps 3 | e = scores.masked_fill(~mask -> e = scores.detach().masked_fill_(~mask
    You write into the scores that you are given, and lose their gradient: use masked_fill, without
    the final _.
"""
    + WRONG_FORMS,
    draw=draw_choice,
    oracle=log_prob_of_choice,
    pads=(500.0, -500.0, float("nan"), float("inf")),
)

Q2 = question(
    """q2: A baseline from the other draws
surrogate(log_prob, reward, mask)
read chapters/12_hard: The baseline
the value, 2 points: ordinary; other sizes; square; one input; one draw each
    Minus the mean, over real draws, of (reward - mean reward of the row's other draws) times the
    log-probability.
missing draws, 1 point: some missing; one left; an input without draws
    Missing draws take no part in baselines, in the sum, or in the number of draws; a row may have one
    real draw, or none.
gradients, 1 point: ordinary; some missing; one draw each
    The value is right, but its gradients are not: they must reach the log-probabilities, and no
    reward.
    read chapters/12_hard: Where it breaks
RIGHT
def surrogate(log_prob, reward, mask):
    r = reward.detach().masked_fill(~mask, 0.0)
    n = mask.sum(1, keepdim=True)
    b = (r.sum(1, keepdim=True) - r) / (n - 1).clamp(min=1)
    each = (r - b) * log_prob.masked_fill(~mask, 0.0)
    return -each.sum() / mask.sum()
def surrogate(log_prob, reward, mask):
    total = 0.0
    for logs, r, real in zip(log_prob, reward.detach(), mask):
        logs, r = logs[real], r[real]
        for k in range(len(r)):
            others = torch.cat([r[:k], r[k + 1:]])
            b = others.mean() if len(others) else 0.0
            total = total - (r[k] - b) * logs[k]
    return total / mask.sum()
def surrogate(log_prob, reward, mask):
    with torch.no_grad():
        r = torch.where(mask, reward, 0.0)
        n = mask.sum(1, keepdim=True).expand_as(r)
        b = torch.where(n > 1, (r.sum(1, keepdim=True) - r) / (n - 1), 0.0)
    return -((r - b)[mask] * log_prob[mask]).mean()
def surrogate(log_prob, reward, mask):
    r = reward.detach().masked_fill(~mask, 0.0)
    n = mask.sum(1, keepdim=True).to(r.dtype)
    # r - mean of the others = (r - mean of all) * n / (n - 1); a lone draw keeps its reward
    a = torch.where(n > 1, (r - r.sum(1, keepdim=True) / n.clamp(min=1)) * n / (n - 1).clamp(min=1), r)
    return -(a * torch.where(mask, log_prob, 0.0) * mask).sum() / mask.sum()
def surrogate(log_prob, reward, mask):
    k = mask.shape[1]
    r = reward.detach().masked_fill(~mask, 0.0)
    pairs = mask[:, None, :] & ~torch.eye(k, dtype=torch.bool)
    b = (pairs * r[:, None, :]).sum(-1) / pairs.sum(-1).clamp(min=1)
    return F.mse_loss(r, r) - ((r - b)[mask] * log_prob[mask]).sum() / int(mask.sum())
WRONG
a mean of means, keeps 2 | return -each.sum() / mask.sum() -> return -(each.sum(1, keepdim=True) / n.clamp(min=1)).mean()
    You average each input's draws and then the inputs: take a single mean over all real draws.
sign | -each.sum() -> each.sum()
    Minimising yours makes good choices less likely: the surrogate has a minus in front.
    read chapters/12_hard: Unbiased, and how noisy
no baseline | (r - b) * -> r *
    Your surrogate has no baseline: subtract the mean reward of the row's other draws.
this draw included | b = (r.sum(1, keepdim=True) - r) / (n - 1).clamp(min=1) -> b = r.sum(1, keepdim=True) / n.clamp(min=1)
    Your baseline counts the draw itself, and so depends on its choice: take only the others.
this draw included, unless it is alone | b = (r.sum(1, keepdim=True) - r) / (n - 1).clamp(min=1) -> b = torch.where(n > 1, r.sum(1, keepdim=True) / n.clamp(min=1), 0.0)
    Your baseline counts the draw itself, and so depends on its choice: take the mean of the others.
divided by all draws | (n - 1).clamp(min=1) -> n.clamp(min=1)
    You divide the others' sum by the number of all draws: the others are one fewer.
its own reward | b = (r.sum(1, keepdim=True) - r) / (n - 1).clamp(min=1) -> b = r
    Your baseline is the draw's own reward: the difference is 0, and nothing is learned.
log-probability less itself, keeps 1 | each = (r - b) * log_prob.masked_fill(~mask, 0.0) -> logs = log_prob.masked_fill(~mask, 0.0); each = (r - b) * (logs - logs.detach())
    You subtract a detached copy of the log-probability. Its gradient is right, but the surrogate
    itself is always 0: multiply by the log-probability as it is.
    read chapters/12_hard: Unbiased, and how noisy
mean of the batch | b = (r.sum(1, keepdim=True) - r) / (n - 1).clamp(min=1) -> b = (r.sum() - r) / (mask.sum() - 1).clamp(min=1)
    Your baseline is the mean over all inputs: an easy input and a hard one each need a baseline of
    their own, from their own row.
over the inputs | n = mask.sum(1, keepdim=True) -> n = mask.sum(0, keepdim=True); (r.sum(1, keepdim=True) - r) -> (r.sum(0, keepdim=True) - r)
    You average over the inputs, down the columns: the other draws of an input are in its row.
best of the others | (r.sum(1, keepdim=True) - r) / (n - 1).clamp(min=1) -> torch.stack([torch.cat([r[:, :k], r[:, k + 1:], r[:, :0] if r.shape[1] > 1 else 0 * r], 1).amax(1) for k in range(r.shape[1])], 1)
    Your baseline is the best of the others' rewards: take their mean.
divided by the baseline | (r - b) * -> (r / b.abs().clamp(min=1e-3)) *
    You divide by the baseline: subtract it instead.
sum for mean | / mask.sum() ->
    You add up over the draws: take the mean over the real ones.
divided by the inputs | / mask.sum() -> / len(mask)
    You divide by the number of inputs: the mean is over the real draws of all inputs together.
NaN for a lone draw | (n - 1).clamp(min=1) -> (n - 1)
    For a lone draw you divide 0 by 0: where there is no other, the baseline is 0.
divided by their deviation | each = (r - b) * -> each = (r - b) / ((r - b)[mask].std() + 1e-6) *
    You divide the differences by their standard deviation: that is another surrogate, which was not
    asked for.
mean of rows' means, keeps 2 | -each.sum() / mask.sum() -> -(each.sum(1) / n[:, 0].clamp(min=1))[n[:, 0] > 0].mean()
    You average each row first: an input with few draws then counts as much as one with many. Divide
    by the number of real draws.
missing draws counted, keeps 2 | / mask.sum() -> / mask.numel()
    You divide by the number of all entries, but missing draws do not count. Divide by the number of
    real ones.
a lone draw learns nothing | (r - b) * -> (r - b) * (n > 1) *
    You drop a draw without others: its baseline is 0, so its whole reward counts.
probabilities | log_prob.masked_fill -> log_prob.exp().masked_fill
    You multiply by probabilities: multiply by log-probabilities, whose gradient gives the estimate.
    read chapters/12_hard: Unbiased, and how noisy
reward keeps its gradient, keeps 3 | reward.detach() -> reward
    A gradient reaches the rewards: the surrogate would train whatever computes them. Detach them.
baseline keeps its gradient, keeps 3 | (r.sum(1, keepdim=True) - r) / -> (reward.masked_fill(~mask, 0.0).sum(1, keepdim=True) - reward.masked_fill(~mask, 0.0)) /
    A gradient reaches the rewards through your baseline: detach that, too.
detached, keeps 3 | R -> R.detach()
    Your surrogate is detached: backward() would find nothing to follow.
    read chapters/12_hard: Unbiased, and how noisy
missing draws in the baseline, keeps 2 | reward.detach().masked_fill(~mask, 0.0) -> reward.detach().nan_to_num(5.0)
    Rewards of missing draws reach your baseline: put zeros there before you add up.
pads times zero, keeps 3 | each = (r - b) * log_prob.masked_fill(~mask, 0.0) -> each = (r - b) * log_prob * mask
    A missing draw may hold NaN, and 0 times NaN is NaN: fill it, or pick the real draws out.
rewards changed, keeps 3 | r = reward.detach().masked_fill -> r = reward.detach().masked_fill_
    You write into the rewards that you are given: use masked_fill, without the final _.
a plain number | R -> R.item()
    You return a plain number, where the gradient ends: return the tensor.
""",
    draw=draw_draws,
    oracle=surrogate,
    probe=f'''
def probe(surrogate, log_prob, reward, mask):
    given = log_prob.clone().requires_grad_(), reward.clone().requires_grad_(), mask.clone()
    found = surrogate(*given)
    if not isinstance(found, torch.Tensor):
        return found
    same = all(torch.equal(x.nan_to_num(7), y.nan_to_num(7))
               for x, y in zip(given, (log_prob, reward, mask)))
    if found.requires_grad:
        found.sum().backward()
    by_logs, by_rewards = (x.grad for x in given[:2])
    digits = [x.double() * (1 + 1e-9) for x in (log_prob, reward)]
    exact = surrogate(*digits, mask)
    # Each of the two by itself: one that is rounded hides behind the other.
    rounded = [surrogate(*(x.float().double() if k == i else x for k, x in enumerate(digits)), mask)
               for i in range(2)]
    kept = exact.dtype == torch.float64 and (
        not bool(exact != 0) or not any(torch.equal(exact, x) for x in rounded))
    return {{"the surrogate": found.detach(), "{BY_LOGS}": by_logs, "{LEFT}": same, "{DIGITS}": kept,
            "{CALM}": by_rewards is None or not bool((by_rewards.nan_to_num(1) != 0).any())}}
''',
    parts={
        "the value": ("the surrogate", LEFT, DIGITS),
        "missing draws": ("the surrogate", LEFT),
        "gradients": (BY_LOGS, CALM),
    },
)

Q3 = question(
    """q3: The noise, counted
exact_noise(weights, rewards, b, n)
read chapters/12_hard: Unbiased, and how noisy
one draw, 2 points, within 1e-5 or 1e-4: ordinary; two places; many places; no baseline
    Place i has the probability alpha_i and the estimate (r_i - b) times its slope: add up the
    squared distances from the mean estimate, weighted by the probabilities.
far rewards, 1 point, within 1e-4 or 2e-4: far rewards
    The formula is the same for rewards around 20: only the baseline is taken from them, and nothing is
    rounded on the way.
several draws, 1 point, within 1e-5 or 1e-4: several draws
    The variance of a mean of n independent draws is that of one, divided by n.
RIGHT
def exact_noise(weights, rewards, b, n):
    slopes = torch.eye(len(weights)) - weights
    g = (rewards - b)[:, None] * slopes
    mean = weights @ g
    return (weights @ (g - mean).square()).sum() / n
def exact_noise(weights, rewards, b, n):
    w, r = weights.double(), rewards.double()
    sizes = 1 - 2 * w + w.square().sum()
    gradient = w * (r - w @ r)
    return (w @ ((r - b).square() * sizes) - gradient.square().sum()) / n
def exact_noise(weights, rewards, b, n):
    w, r = weights.double().numpy(), rewards.double().numpy()
    total = 0.0
    mean = w * (r - w @ r)
    for i in range(len(w)):
        slope = -w.copy()
        slope[i] += 1
        total += w[i] * (((r[i] - b) * slope - mean) ** 2).sum()
    return total / n
def exact_noise(weights, rewards, b, n):
    e = weights.double().log().requires_grad_()
    rows = [torch.autograd.grad(e.log_softmax(0)[i], e)[0] for i in range(len(e))]
    g = torch.stack(rows) * (rewards.double() - b)[:, None]
    w = weights.double()
    return float(w @ g.square().sum(1) - (w @ g).square().sum()) / n
def exact_noise(weights, rewards, b, n):
    w = weights.double()
    g = torch.diag(rewards.double() - b) @ (torch.eye(len(w)).double() - w)
    covariance = g.T @ torch.diag(w) @ g - torch.outer(w @ g, w @ g)
    return covariance.trace() / n
WRONG
variance of the rewards | return -> return (weights @ (rewards - weights @ rewards).square()) / n; return
    You return the variance of the rewards: return that of the gradient's estimate, which is a
    vector.
all places alike | (weights @ (g - mean).square()).sum() -> (g - mean).square().sum(1).mean()
    You give all places the same probability: place i is drawn with the probability alpha_i.
mean of all places alike | mean = weights @ g -> mean = g.mean(0)
    Your mean estimate gives all places the same probability: weight them by alpha.
no place weighed | return (weights @ (g - mean).square()).sum() / n -> return g.var(0, correction=0).sum() / n
    You give all places the same probability, in the mean and in the squares: place i is drawn with the
    probability alpha_i.
variance as of a sample | return (weights @ (g - mean).square()).sum() / n -> return g.var(0).sum() / n
    You take the variance of the estimates as if they were a sample, each as likely as the others:
    place i is drawn with the probability alpha_i, and these are all the places there are.
second moment | (g - mean) -> g
    You do not subtract the mean: this is the mean squared length, not the variance.
a variance for each score | (weights @ (g - mean).square()).sum() / n -> weights @ (g - mean).square() / n
    You return a variance for each score: add them up.
mean over the scores | ).sum() / n -> ).mean() / n
    You average over the scores: the total variance adds up over them.
a sample's correction | / n -> / n * len(weights) / (len(weights) - 1)
    You divide by one fewer, as for a sample: these are all the places there are, not a sample.
square root | R -> R ** 0.5
    You return a standard deviation: return its square, the variance.
baseline ignored | (rewards - b) -> rewards
    Your number does not depend on the baseline. The mean estimate does not either, but its noise
    does.
baseline added | (rewards - b) -> (rewards + b)
    You add the baseline to the rewards: subtract it from each of them.
n ignored, keeps 3 | / n ->
    You leave out n: the mean of n draws is less noisy than a single draw.
root of n, keeps 3 | / n -> / n ** 0.5
    You divide by the root of n, which is right for a standard deviation: divide a variance by n.
slope of the weight | slopes = torch.eye(len(weights)) - weights -> slopes = weights[:, None] * (torch.eye(len(weights)) - weights)
    Your slopes are those of the weights: an estimate takes the slope of the logarithm of a weight.
only the chosen score | slopes = torch.eye(len(weights)) - weights -> slopes = torch.diag(1 - weights)
    You move only the chosen score: the others fall, each by its weight.
slope of a score | slopes = torch.eye(len(weights)) - weights -> slopes = torch.eye(len(weights))
    You leave out the softmax: the slope of log alpha_i with respect to score j contains - alpha_j.
slopes turned round | slopes = torch.eye(len(weights)) - weights -> slopes = torch.eye(len(weights)) - weights[:, None]
    Your slopes are transposed: for every drawn place, score j falls by alpha_j, not by the drawn
    place's weight.
drawn by dice | mean = weights @ g -> g = g[torch.multinomial(weights, 50, replacement=True)]; mean = g.mean(0); weights = torch.full((50,), 1 / 50)
    You throw dice: go through all places instead, and the answer is exact.
rewards changed | g = (rewards - b) -> rewards -= b; g = rewards
    You write into the rewards that you are given: whoever reads them next finds other numbers.
""",
    draw=draw_estimate,
    oracle=exact_noise,
    probe=value_probe.replace(
        "return plain(answer(*inputs))",
        "kept = [x.clone() if torch.is_tensor(x) else x for x in inputs]\n"
        "    found = plain(answer(*inputs))\n"
        "    if not all(torch.equal(x, y) for x, y in zip(kept, inputs) if torch.is_tensor(x)):\n"
        '        return "the arguments were changed"\n'
        "    return found",
    ),
)

Q4 = question(
    """q4: Straight-through
straight_through(weights, values, index)
read chapters/12_hard: The other way: pretend
forward, 2 points: ordinary; other sizes; all sizes equal; one place; one query; one number; far values
    The context of row b is the value at place index[b], to the last digit.
backward to the weights, 1 point: ordinary; all sizes equal; one query; far values
    The weights get the gradient of the mixture: that of weight i is the dot product of v_i with what
    comes back.
backward to the values, 1 point: ordinary; all sizes equal; one query
    The value that was fetched gets all that comes back, and the other values get nothing.
RIGHT
def straight_through(weights, values, index):
    fetched = values[torch.arange(len(index)), index]
    mixed = torch.einsum('bs,bsd->bd', weights, values.detach())
    return fetched + (mixed - mixed.detach())
def straight_through(weights, values, index):
    soft = (weights[..., None] * values.detach()).sum(1)
    hard = values.gather(1, index[:, None, None].expand(-1, 1, values.shape[2])).squeeze(1)
    return hard + (soft - soft.detach())
def straight_through(weights, values, index):
    class Fetch(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w, v):
            ctx.save_for_backward(v)
            return v[torch.arange(len(index)), index]
        @staticmethod
        def backward(ctx, g):
            (v,) = ctx.saved_tensors
            back = torch.zeros_like(v)
            back[torch.arange(len(index)), index] = g
            return torch.einsum('bsd,bd->bs', v, g), back
    return Fetch.apply(weights, values)
def straight_through(weights, values, index):
    rows = []
    for w, v, i in zip(weights, values, index):
        soft = w @ v.detach()
        rows.append(v[i] + (soft - soft.detach()))
    return torch.stack(rows)
def straight_through(weights, values, index):
    nothing = weights - weights.detach()
    fetched = values[range(len(index)), index]
    return fetched + torch.bmm(nothing[:, None], values.detach())[:, 0]
WRONG
the mixture added, values included, keeps 1 | return fetched + (mixed - mixed.detach()) -> return fetched + mixed - mixed.detach(); values.detach() -> values
    You add the mixture before you subtract it again, which rounds, and values that were not fetched learn
    through it: put brackets around the difference, and detach the values in the mixture.
through a straight-through choice, keeps 2
    | hard = F.one_hot(index, weights.shape[1]).to(weights.dtype)
    | return ((hard + weights - weights.detach())[..., None] * values).sum(1)
    You make a 0/1 choice straight-through and mix with it: it is 0 and 1 only up to rounding, which a large
    value elsewhere makes visible. Fetch the value itself, and add a difference that is exactly 0.
soft forward, keeps 1 | return fetched + (mixed - mixed.detach()) -> return mixed + 0 * fetched
    You return the mixture: forward, return the value at the chosen place.
no gradient to the weights, keeps 3 | return fetched + (mixed - mixed.detach()) -> return fetched
    No gradient reaches the weights: add the mixture minus its own detached copy, which is 0.
values learn from both, keeps 3 | values.detach() -> values
    Values that were not fetched get a gradient, through the mixture: detach the values there.
values learn from the mixture, keeps 3 | return fetched + -> return fetched.detach() +; values.detach() -> values
    Your values learn as in the mixture: the fetched value alone gets all that comes back.
values learn nothing, keeps 3 | return fetched + -> return fetched.detach() +
    No gradient reaches the values: the fetched value learns from what comes back.
nothing learns, keeps 2 | R -> R.detach()
    Your contexts are detached, so nothing learns: subtract only a detached copy of the mixture.
added and taken away in another order, keeps 2 | fetched + (mixed - mixed.detach()) -> (fetched + mixed) - mixed.detach()
    You add the mixture to the fetched value before you subtract it again: next to a large mixture,
    digits of the fetched value are lost. Subtract first, which gives exactly 0.
hard minus soft, keeps 2 | fetched + (mixed - mixed.detach()) -> mixed + (fetched - mixed).detach() + (fetched - fetched.detach())
    You write the value as mixture plus a difference, which rounds: forward it must be exactly the
    fetched value.
a difference that rounds, keeps 1 | fetched + (mixed - mixed.detach()) -> mixed + (fetched - mixed).detach()
    A sum a + (b - a) rounds, so that it is not exactly b, and your values learn nothing. Take the
    difference mixed - mixed.detach() first: it is exactly 0, and can be added to the fetched value.
most likely place, keeps 1 | fetched = values[torch.arange(len(index)), index] -> fetched = values[torch.arange(len(index)), weights.argmax(1)]
    You fetch the most likely place: index says what was chosen.
first row's place, keeps 1 | fetched = values[torch.arange(len(index)), index] -> fetched = values[:, index[0]]
    All rows fetch the first row's place: row b has its own.
every row, every place, keeps 1 | fetched = values[torch.arange(len(index)), index] -> fetched = values[:, index].mean(1)
    values[:, index] gives each row all chosen places: pair row b with place index[b].
the chosen weight alone, keeps 3
    | mixed = torch.einsum('bs,bsd->bd', weights, values.detach()) -> mixed = weights.gather(1, index[:, None]) * fetched.detach()
    Only the chosen weight gets a gradient: all weights do, as from the mixture.
weights times the fetched, keeps 3
    | mixed = torch.einsum('bs,bsd->bd', weights, values.detach()) -> mixed = weights.sum(1, keepdim=True) * fetched.detach()
    All weights of a row get the same gradient, which a softmax turns into none: weight i goes with
    value i.
twice, keeps 3 | (mixed - mixed.detach()) -> 2 * (mixed - mixed.detach())
    The gradient of the weights is twice what it should be: add the mixture once.
sign, keeps 3 | (mixed - mixed.detach()) -> (mixed.detach() - mixed)
    The gradient of the weights has the wrong sign: it is the mixture minus its detached copy.
values scaled by the weight, keeps 3
    | return fetched -> w = weights.detach().gather(1, index[:, None]); fetched = fetched.detach() + w * (fetched - fetched.detach()); return fetched
    The fetched value learns only in proportion to its weight: it counts in full forward, so it must
    count in full backward.
one more axis | R -> R[:, None]
    Your result has one axis too many: the contexts are (B, d).
""",
    draw=draw_places,
    oracle=straight_through,
    shown=lambda weights, values, index, upstream: {
        "weights": weights,
        "values": values,
        "index": index,
    },
    probe=f'''
def probe(straight_through, weights, values, index, upstream):
    given = weights.clone().requires_grad_(), values.clone().requires_grad_(), index.clone()
    contexts = straight_through(*given)
    if not isinstance(contexts, torch.Tensor):
        return contexts
    right = values[torch.arange(len(index)), index]
    same = all(torch.equal(x, y) for x, y in zip(given, (weights, values, index)))
    if contexts.requires_grad and contexts.shape == upstream.shape:
        (contexts * upstream).sum().backward()
    nothing = [torch.zeros_like(x) if x.grad is None else x.grad for x in given[:2]]
    digits = values.double() * (1 + 1e-9)
    double = straight_through(weights.double(), digits, index)
    # Rounding of sums is another matter: of float32 the digits end long before.
    kept = double.dtype == torch.float64 and torch.allclose(
        double.detach(), digits[torch.arange(len(index)), index], rtol=5e-10, atol=1e-12)
    return {{"the contexts": contexts.detach(),
            "{EXACT}": bool(torch.equal(contexts.detach(), right)),
            "{BY_WEIGHTS}": nothing[0], "{BY_VALUES}": nothing[1], "{WHOLE}": bool(torch.allclose(
                nothing[1][torch.arange(len(index)), index], upstream, rtol=1e-5, atol=1e-6)),
            "{LEFT}": same, "{DIGITS}": kept}}
''',
    parts={
        "forward": ("the contexts", EXACT, LEFT, DIGITS),
        "backward to the weights": (BY_WEIGHTS,),
        "backward to the values": (BY_VALUES, WHOLE),
    },
)

Q5 = question(
    """q5: A loss with penalties
total_loss(nats, weights, written, read, rows, columns)
read chapters/12_hard: One row under a penalty
the three terms, 2 points: ordinary; other sizes; all sizes equal; one sentence; one word; one source word
    The mean of the nats; rows times the mean of one minus a row's sum of squares; columns times the mean
    of the squared distance of a column's sum from 1.
padding, 2 points: padded; short and long; padded, all sizes equal
    Each mean is over the real words of the whole batch, and no pad reaches a sum or a mean, be it a
    target pad or a source pad.
gradients, 1 point, backward: ordinary; padded; short and long
    The loss is right, but its gradients are not: they must reach nats and weights, except at pads.
RIGHT
def total_loss(nats, weights, written, read, rows, columns):
    both = written[:, :, None] & read[:, None, :]
    a = torch.where(both, weights, torch.zeros_like(weights))
    spread = 1 - a.square().sum(-1)
    missing = (1 - a.sum(1)).square()
    return nats[written].mean() + rows * spread[written].mean() + columns * missing[read].mean()
def total_loss(nats, weights, written, read, rows, columns):
    a = weights.masked_fill(~written[:, :, None], 0.0).masked_fill(~read[:, None, :], 0.0)
    n, m = written.sum(), read.sum()
    loss = nats.masked_fill(~written, 0.0).sum() / n
    loss = loss + rows * (n - a.square().sum()) / n
    return loss + columns * ((1 - a.sum(1)) * read).square().sum() / m
def total_loss(nats, weights, written, read, rows, columns):
    terms, spread, missing = [], [], []
    for x, a, w, r in zip(nats, weights, written, read):
        a = a[w][:, r]
        terms.append(x[w])
        spread.append(1 - (a * a).sum(1))
        missing.append((a.sum(0) - 1) ** 2)
    means = [torch.cat(part).mean() for part in (terms, spread, missing)]
    return means[0] + rows * means[1] + columns * means[2]
def total_loss(x, a, w, r, rows, columns):
    a = torch.einsum('bts,bt,bs->bts', a.nan_to_num(), w.to(a.dtype), r.to(a.dtype))
    impurity = 1 - torch.linalg.vector_norm(a, dim=-1)[w] ** 2
    columns_off = F.mse_loss(a.sum(1)[r], torch.ones_like(a.sum(1)[r]))
    return x[w].mean() + rows * impurity.mean() + columns * columns_off
def total_loss(nats, weights, written, read, rows, columns):
    batch, step = written.nonzero(as_tuple=True)
    a = weights.masked_fill(~read[:, None], 0.0)[batch, step]
    total = torch.zeros_like(weights[:, 0]).index_add(0, batch, a)
    return nats[batch, step].mean() + rows * (1 - a.pow(2).sum(1)).mean() + columns * (1 - total)[read].pow(2).mean()
WRONG
sign of the rows | + rows * -> - rows *
    Your row penalty has the wrong sign: it is added, and a positive factor sharpens.
sign of the columns | + columns * -> - columns *
    Your column penalty has the wrong sign: it is added.
factors exchanged | + rows * -> + columns *; + columns * missing -> + rows * missing
    Your two factors are exchanged: `rows` goes with the sums of squares, and `columns` with the
    columns.
sum of squares, not one minus | 1 - a.square().sum(-1) -> a.square().sum(-1)
    You add the sum of squares, and minimising that flattens a row: add one minus the sum.
absolute weights | a.square().sum(-1) -> a.abs().sum(-1)
    You add up the weights themselves, and one minus that is 0 for every row: add up their squares.
columns without a square | (1 - a.sum(1)).square() -> (1 - a.sum(1))
    You do not square: a column above 1 and a column below 1 cancel.
one minus the squared sum | (1 - a.sum(1)).square() -> (1 - a.sum(1).square())
    You square the sum of a column and take that from 1: take the sum from 1 first, then square.
columns by absolute value | (1 - a.sum(1)).square() -> (1 - a.sum(1)).abs()
    You take absolute distances of the columns from 1: take their squares.
rows for columns | a.sum(1) -> a.sum(2).mean(1, keepdim=True).expand_as(read)
    Your term of the columns is always 0. Is it missing, or do you sum over source words, which gives 1 for every row? Sum a column over the target words.
square of each weight | (1 - a.sum(1)).square() -> (1 - a.square().sum(1))
    You add up squares in a column: add up the weights, then square the distance from 1.
pads of the source in the sums, keeps 2 | written[:, :, None] & read[:, None, :] -> written[:, :, None].expand_as(weights)
    Weights at source pads reach your sums: set them to 0 first.
rows of pads in the columns, keeps 2 | written[:, :, None] & read[:, None, :] -> read[:, None, :].expand_as(weights)
    Rows of target pads reach your columns: set them to 0 first.
pads in the mean of nats, keeps 2 | nats[written].mean() -> nats.mean()
    Pads are in your mean of the nats: take it over real target words.
rows of pads count as spread, keeps 2 | spread[written].mean() -> spread.mean()
    Rows of target pads are in your mean: a row of zeros would count as fully spread out.
rows divided by all places, keeps 2 | spread[written].mean() -> (spread * written).mean()
    You leave rows of target pads out of the sum but not out of the count: divide by the number of real
    target words.
columns divided by all places, keeps 2 | missing[read].mean() -> (missing * read).mean()
    You leave columns of source pads out of the sum but not out of the count: divide by the number of
    real source words.
nats divided by all places, keeps 2 | nats[written].mean() -> nats.masked_fill(~written, 0.0).mean()
    You leave pads out of the sum of the nats but not out of the count: divide by the number of real
    target words.
rows of pads added, keeps 3 | spread[written].mean() -> spread.sum() / written.sum()
    Rows of target pads are in your sum, each as a row that is fully spread out: leave them out before
    you add up.
columns of pads added, keeps 3 | missing[read].mean() -> missing.sum() / read.sum()
    Columns of source pads are in your sum, each as a word that was never read: leave them out before
    you add up.
columns of pads count as missing, keeps 2 | missing[read].mean() -> missing.mean()
    Columns of source pads are in your mean: no row has to look at them.
means of sentences, keeps 2
    | spread[written].mean() -> (spread * written).sum(1).div(written.sum(1)).mean()
    You average each sentence first: a short one then counts as much as a long one. Take the mean
    over all real words.
nats as means of sentences, keeps 2 | nats[written].mean() -> (nats * written).sum(1).div(written.sum(1)).mean()
    You average the nats of each sentence first: take the mean over all real words of the batch.
columns as means of sentences, keeps 2 | missing[read].mean() -> (missing * read).sum(1).div(read.sum(1)).mean()
    You average the columns of each sentence first: take the mean over all real source words of the batch.
both penalties as means of sentences, keeps 2 | spread[written].mean() -> (spread * written).sum(1).div(written.sum(1)).mean(); missing[read].mean() -> (missing * read).sum(1).div(read.sum(1)).mean()
    You average both penalties of each sentence first: each is one mean, over all real words of the batch.
all as means of sentences, keeps 2
    | terms = []
    | for x, a, w, r in zip(nats, weights, written, read):
    |     a = a[w][:, r]
    |     terms.append(x[w].mean() + rows * (1 - a.square().sum(1)).mean() + columns * (1 - a.sum(0)).square().mean())
    | return sum(terms) / len(terms)
    You put together a loss for each sentence and average these: each of the three is one mean over the batch.
pads taken to be at the end, keeps 2 | both = written -> written, read = (torch.arange(m.shape[1]) < m.sum(1, keepdim=True) for m in (written, read)); both = written
    You count the real words and take them to stand in front: pads may stand anywhere, so take the masks as they are.
rows detached, keeps 4 | 1 - a.square().sum(-1) -> 1 - a.detach().square().sum(-1)
    The row penalty has no gradient: it would be logged and do nothing.
sums for means | spread[written].mean() -> spread[written].sum()
    You add up the row penalties: take their mean, or long batches weigh more.
penalties alone | nats[written].mean() + -> 0 * nats[written].mean() +
    The nats are missing: the penalties are added to the loss of the words.
detached, keeps 4 | R -> R.detach()
    The loss is detached: backward() would find nothing to follow.
NaN hidden too late, keeps 4
    | spread = 1 - a.square().sum(-1) -> spread = 1 - torch.where(both, weights.square(), 0.0).sum(-1)
    The loss is right, but you square what stands at pads and hide it afterwards: on the way back 0 times NaN is
    NaN. Fill the weights first.
columns detached, keeps 4 | (1 - a.sum(1)) -> (1 - a.detach().sum(1))
    The column penalty has no gradient: it would be logged and do nothing.
multiplied by zero, keeps 2 | torch.where(both, weights, torch.zeros_like(weights)) -> weights * both
    You multiply pads by 0, and 0 times NaN is NaN: fill them with torch.where or masked_fill.
penalties only where positive | + rows * spread[written].mean() + columns * missing[read].mean() -> + max(rows, 0) * spread[written].mean() + max(columns, 0) * missing[read].mean()
    You leave out a penalty whose factor is negative: such a factor asks for the opposite, and
    counts.
columns over the target words | missing[read].mean() -> missing[read].sum() / written.sum()
    You divide the columns' penalty by the number of target words: it is a mean over source words.
rows over the source words | spread[written].mean() -> spread[written].sum() / read.sum()
    You divide the rows' penalty by the number of source words: it is a mean over target words.
the other mask for the rows, keeps 3 | spread[written].mean() -> spread[read if read.shape == written.shape else written].mean()
    You average the row penalty over source words: rows belong to target words, `written`.
penalties detached, keeps 4 | torch.where(both, weights, torch.zeros_like(weights)) -> torch.where(both, weights, torch.zeros_like(weights)).detach()
    The penalties have no gradient: they would be logged and do nothing.
weights changed, keeps 2 | a = torch.where(both, weights, torch.zeros_like(weights)) -> a = weights; a.data *= both
    You write into the weights that you are given: work on a copy.
a plain number | R -> R.item()
    You return a plain number, where the gradient ends: return the tensor.
""",
    draw=draw_maps,
    oracle=total_loss,
)

Q6 = question(
    f"""q6: What follows: does attention dropout generalise?
judge(known, valid, test)
read chapters/12_hard: Measured: in a translator
the choice, 1 point: {"; ".join(STUDIES)}
    The lowest mean on validation pairs, the first of several that tie.
the gap, 1 point, within 1e-4 or 1e-4: better; worse; no dropout
    For each rate, the mean on test pairs minus the mean on known pairs.
the verdict, 2 points: {"; ".join(STUDIES)}
    Compare the test numbers of the chosen rate with those of rate 0. Dropout is better or worse
    only if all seeds of one are on one side of all seeds of the other.
RIGHT
def judge(known, valid, test):
    mean = lambda x: sum(x) / len(x)
    means = [round(mean(v), 9) for v in valid]
    k = means.index(min(means))
    gap = [mean(t) - mean(s) for t, s in zip(test, known)]
    verdict = 'no difference seen'
    if k == 0:
        verdict = 'no dropout'
    elif max(test[k]) < min(test[0]):
        verdict = 'dropout is better'
    elif min(test[k]) > max(test[0]):
        verdict = 'dropout is worse'
    return {{'chosen': k, 'gap': gap, 'verdict': verdict}}
def judge(known, valid, test):
    a, b, c = (torch.tensor(x, dtype=torch.float64) for x in (known, valid, test))
    k = int((b.mean(1) - 1e-9 * 0).round(decimals=9).argmin())
    below, above = bool(c[k].max() < c[0].min()), bool(c[k].min() > c[0].max())
    verdict = 'dropout is better' if below else 'dropout is worse' if above else 'no difference seen'
    return {{'chosen': k, 'gap': c.mean(1) - a.mean(1), 'verdict': 'no dropout' if k == 0 else verdict}}
def judge(known, valid, test):
    k = int(np.argmin(np.round(np.mean(valid, axis=1), 8)))
    signs = {{int(np.sign(x - y)) for x in test[k] for y in test[0]}}
    verdict = {{-1: 'dropout is better', 1: 'dropout is worse'}}.get(*signs) if len(signs) == 1 else None
    verdict = verdict or 'no difference seen'
    gap = np.mean(test, axis=1) - np.mean(known, axis=1)
    return {{'chosen': k, 'gap': gap, 'verdict': verdict if k else 'no dropout'}}
def judge(known, valid, test):
    best, k = float('inf'), 0
    for i, seeds in enumerate(valid):
        if sum(seeds) / len(seeds) < best - 1e-9:
            best, k = sum(seeds) / len(seeds), i
    gap = []
    for t, s in zip(test, known):
        gap.append(sum(x - y for x, y in zip(t, s)) / len(t))
    if k == 0:
        return {{'chosen': 0, 'gap': gap, 'verdict': 'no dropout'}}
    if all(x < y for x in test[k] for y in test[0]):
        return {{'chosen': k, 'gap': gap, 'verdict': 'dropout is better'}}
    if all(x > y for x in test[k] for y in test[0]):
        return {{'chosen': k, 'gap': gap, 'verdict': 'dropout is worse'}}
    return {{'chosen': k, 'gap': gap, 'verdict': 'no difference seen'}}
def judge(known, valid, test):
    from statistics import fmean
    k = min(range(len(valid)), key=lambda i: (round(fmean(valid[i]), 9), i))
    plain, dropped = sorted(test[0]), sorted(test[k])
    texts = ['no difference seen', 'dropout is better', 'dropout is worse']
    verdict = texts[(dropped[-1] < plain[0]) + 2 * (dropped[0] > plain[-1])]
    gap = tuple(fmean(t) - fmean(s) for t, s in zip(test, known))
    return dict(chosen=torch.tensor(k), gap=gap, verdict='no dropout' if not k else verdict)
WRONG
chosen on test, keeps 1 | for v in valid -> for v in test
    You choose the rate on test pairs: then the test is no test any more. Choose on validation pairs.
chosen by the lowest seed, keeps 1 | round(mean(v), 9) for v in valid -> min(v) for v in valid
    You choose by the best seed, so that one lucky seed decides: take the mean over the seeds.
chosen by the median, keeps 1 | round(mean(v), 9) for v in valid -> sorted(v)[len(v) // 2] for v in valid
    You choose by the middle seed, which does not depend on how bad the others are: take the mean over the
    seeds.
chosen by the worst seed, keeps 1 | round(mean(v), 9) for v in valid -> max(v) for v in valid
    You choose by the worst seed, so that one unlucky seed decides: take the mean over the seeds.
chosen by the first seed, keeps 1 | round(mean(v), 9) for v in valid -> v[0] for v in valid
    You choose by the first seed alone: take the mean over all seeds of a rate.
first that is nearly the lowest, keeps 1 | means.index(min(means)) -> next(i for i, m in enumerate(means) if m <= min(means) + 0.05)
    You take the first rate whose mean is near the lowest: take the lowest mean itself, however small
    the difference.
chosen by the smallest gap, keeps 1
    | k = means.index(min(means)) -> k = min(range(len(test)), key=lambda i: mean(test[i]) - mean(known[i]))
    You choose the smallest gap, but a model that has learned its own pairs badly has a small one,
    too. Choose by the mean on validation pairs.
chosen by known pairs, keeps 1 | for v in valid -> for v in known
    You choose by the pairs that were learned, which do not show how a model generalises. Choose on
    validation pairs.
highest for lowest, keeps 1 | min(means) -> max(means)
    You choose the highest mean: nats are a loss, and lower is better.
last of those that tie, keeps 1 | means.index(min(means)) -> len(means) - 1 - means[::-1].index(min(means))
    Of several rates that tie you take the last: take the first.
rate 0 left out, keeps 1 | k = means.index(min(means)) -> k = 1 + means[1:].index(min(means[1:]))
    You never choose the rate 0: that dropout is not worth having is a possible answer.
gap turned round, keeps 3 | mean(t) - mean(s) -> mean(s) - mean(t)
    Your gap has the wrong sign: it is test minus known.
gap on validation pairs, keeps 3 | zip(test, known) -> zip(valid, known)
    Your gap is that of validation pairs: take test minus known.
gap of the chosen rate alone, keeps 3 | 'gap': gap -> 'gap': gap[k:k + 1]
    You return a single gap: return one for each rate, in their order.
gap rounded, keeps 3 | mean(t) - mean(s) -> round(mean(t) - mean(s), 2)
    You round the gaps: return the differences with all their digits.
gap as a ratio, keeps 3 | mean(t) - mean(s) -> mean(t) / mean(s)
    You divide: the gap in nats is a difference.
means compared, keeps 2
    | max(test[k]) < min(test[0]) -> mean(test[k]) < mean(test[0]); min(test[k]) > max(test[0]) -> mean(test[k]) > mean(test[0])
    You compare means, which always differ: all seeds of one rate must be on one side of all seeds
    of the other.
in pairs, keeps 2
    | max(test[k]) < min(test[0]) -> all(x < y for x, y in zip(test[k], test[0])); min(test[k]) > max(test[0]) -> all(x > y for x, y in zip(test[k], test[0]))
    You compare seeds in pairs, but nothing pairs them: each seed of one rate must be below each
    seed of the other.
touching counts on both sides, keeps 2
    | max(test[k]) < min(test[0]) -> max(test[k]) <= min(test[0]); min(test[k]) > max(test[0]) -> min(test[k]) >= max(test[0])
    Where two ranges touch, no difference is seen: below means below, and above means above.
seed by seed, keeps 2
    | max(test[k]) < min(test[0]) -> all(x < y for x, y in zip(sorted(test[k]), sorted(test[0]))); min(test[k]) > max(test[0]) -> all(x > y for x, y in zip(sorted(test[k]), sorted(test[0])))
    You compare the lowest with the lowest, and so on: ranges that are shifted may still overlap.
best seed counts, keeps 2 | max(test[k]) < min(test[0]) -> min(test[k]) < min(test[0])
    You accept one seed below the others: each seed of the chosen rate must be below them.
any seed counts, keeps 2
    | max(test[k]) < min(test[0]) -> min(test[k]) < min(test[0]); min(test[k]) > max(test[0]) -> max(test[k]) > max(test[0])
    A single seed outside the range of the others decides in yours: each seed of the chosen rate must
    be below, or above, every seed of rate 0.
means and deviations, keeps 2
    | max(test[k]) < min(test[0]) -> np.mean(test[k]) + np.std(test[k]) < np.mean(test[0]) - np.std(test[0]); min(test[k]) > max(test[0]) -> np.mean(test[k]) - np.std(test[k]) > np.mean(test[0]) + np.std(test[0])
    You compare means and standard deviations, which leave some seeds aside: compare the seeds
    themselves, each with each.
verdict beside the known pairs, keeps 2 | max(test[k]) < min(test[0]) -> max(test[k]) < min(known[0])
    You compare test numbers with those of known pairs, which are usually lower: compare the
    test numbers of the chosen rate with the test numbers of rate 0.
touching counts, keeps 2 | max(test[k]) < min(test[0]) -> max(test[k]) <= min(test[0])
    Where two ranges touch, no difference is seen: below means below.
better and worse exchanged, keeps 2
    | 'verdict': verdict -> 'verdict': {{'dropout is better': 'dropout is worse', 'dropout is worse': 'dropout is better'}}.get(verdict, verdict)
    You say better for worse: lower nats are better.
verdict on validation pairs, keeps 2
    | max(test[k]) < min(test[0]) -> max(valid[k]) < min(valid[0]); min(test[k]) > max(test[0]) -> min(valid[k]) > max(valid[0])
    You judge by the pairs that chose the rate, on which it tends to look too good: judge on test
    pairs.
beside the best other rate, keeps 2
    | max(test[k]) < min(test[0]) -> max(test[k]) < min(min(x) for i, x in enumerate(test) if i != k)
    You compare the chosen rate with all the others: compare it with rate 0 alone.
no word for rate 0, keeps 2 | if k == 0: -> if False:
    If rate 0 is chosen, there is nothing to compare: the verdict is "no dropout".
verdict as a flag, keeps 2 | 'verdict': verdict -> 'verdict': verdict == 'dropout is better'
    Your verdict is True or False: there are four answers, in words.
one text | R -> R['verdict']
    You return one text: return a dict with chosen, gap and verdict.
""",
    draw=draw_study,
    oracle=judge,
    probe=f"""
def probe(judge, known, valid, test):
    given = [[list(row) for row in table] for table in (known, valid, test)]
    kept = [[list(row) for row in table] for table in given]
    found = judge(*given)
    if not isinstance(found, dict):
        return found
    plain = lambda x: x.tolist() if hasattr(x, "tolist") else x
    row = lambda x: tuple(map(plain, x)) if isinstance(x, list | tuple) else plain(x)
    found = {{str(name): row(value) for name, value in found.items()}}
    if isinstance(found.get("gap"), list):
        found["gap"] = tuple(found["gap"])
    return found | {{"{LEFT}": given == kept}}
""",
    parts={
        "the choice": ("chosen", LEFT),
        "the gap": ("gap", LEFT),
        "the verdict": ("verdict", LEFT),
    },
)

EXERCISE = Exercise("12_hard", "Choosing one place", (Q1, Q2, Q3, Q4, Q5, Q6))
