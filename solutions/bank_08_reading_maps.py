"""How the exercise on reading attention maps is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise, Question, Stage, Wrong
from seqattn.grading.drawing import normal, padding, softmax_rows
from seqattn.grading.kinds import number_probe
from seqattn.grading.oracle import central_differences

# Where a question is explained, until a chapter does.
PAGE = "exercises/08_reading_maps"

# --- Oracles ---------------------------------------------------------------------------------------


def row_entropy(row):
    return -sum(p * math.log(p) for p in row if p > 0)


def by_scores(measure):
    """What a measure of weights, and its derivative by the scores behind them, should be."""

    def oracle(scores, upstream, *more):
        def total():
            return float((measure(softmax_rows(scores), *more) * upstream).sum())

        return {
            "the result": measure(softmax_rows(scores), *more),
            "the gradient, through a softmax,": central_differences(lambda _: total(), scores),
            "the weights are left as they are": True,
            "a second call gives the same": True,
            "double precision is kept": True,
        }

    return oracle


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
    a, s = set(predicted), set(sure)
    p = set(possible) | s
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

SIZES = {  # B, T, S
    "ordinary": (2, 3, 5),
    "other sizes": (5, 4, 2),
    "all sizes equal": (3, 3, 3),
    "one word": (2, 3, 1),
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
    B, T, S = SIZES[kind]
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
        weights[~real] = normal(rng, int((~real).sum()), weights.shape[2], scale=20.0)
    return weights, real


def draw_links(rng, kind):
    if kind == "perfect":
        sure = [(i, i) for i in range(4)]
        return list(sure), sure, [(0, 1)]
    words = 5
    every = [(i, j) for i in range(words) for j in range(words)]
    order = [every[n] for n in rng.permutation(len(every))]
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
        if kind == "all look right" and 3 <= words <= 5:
            looks[:] = True
        scores[np.arange(steps), place] = scores.max(1) + np.where(looks, 0.5, -2.0)
        right = rng.random(steps) < np.where(looks, 0.8, 0.3)
        weights = softmax_rows(scores)
        quiet = sorted({*range(words)} - {*weights.argmax(1)})
        if quiet and words > 2:
            # A word at which no step looks is a word of the sentence all the same.
            weights[:, quiet[0]] = 0.0
            weights /= weights.sum(1, keepdims=True)
        maps.append(
            (
                weights.astype(np.float32),
                np.where(right, gold, gold + 1),
                gold,
                place,
            )
        )
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


# --- Questions -------------------------------------------------------------------------------------

# Weights are always a softmax of something, so gradients are asked for by that.
MAP_PROBE = """
def probe(answer, scores, upstream, *more):
    weights = torch.softmax(scores, -1)
    kept, given = weights.clone(), weights.clone()
    result = answer(given, *more)
    found = {
        "the result": result,
        "the weights are left as they are": torch.equal(given, kept),
        "the gradient, through a softmax,": None,
    }
    again = answer(kept.clone(), *more)
    found["a second call gives the same"] = (
        not isinstance(result, torch.Tensor) or torch.equal(result.nan_to_num(), again.nan_to_num())
    )
    exact = torch.softmax(scores.double() * 1.0000001, -1)
    double = answer(exact, *more)
    rounded = answer(exact.float().double(), *more)
    found["double precision is kept"] = isinstance(double, torch.Tensor) and (
        double.dtype == torch.float64
        # What float32 can hold as well was computed, or returned, in float32; but for about 0, and 1.
        and not bool(((double == double.float()) & (double > 1e-6) & (double != 1)).any())
        and (bool((exact > 0.999).any()) or not torch.equal(double, rounded))
    )
    scores.requires_grad_()
    weights = torch.softmax(scores, -1)
    try:
        result = answer(weights, *more)
        pulled = (result * upstream).sum()
        gradient, own = torch.autograd.grad(pulled, [scores, weights])
        # The second earns nothing; it tells mistakes apart.
        found |= {"the gradient, through a softmax,": gradient, "by the weights": own}
    except (RuntimeError, TypeError, AttributeError):
        pass
    return found
"""
VALUES = ("the result", "the weights are left as they are", "a second call gives the same")
PULLED = ("the gradient, through a softmax,", "double precision is kept")


def forms(head, value):
    """Right numbers in the wrong form."""
    return (
        Wrong(
            "a list",
            f"{head}    return ({value}).tolist()\n",
            "You return a list: return the tensor, through which gradients can flow.",
        ),
        Wrong(
            "a NumPy array",
            f"{head}    return ({value}).detach().numpy()\n",
            "You return a NumPy array, where the gradient ends: return the torch tensor.",
        ),
    )


ENTROPY = "def entropy(weights):\n"
XLOGX = "torch.xlogy(weights, weights)"
SAFE = "    safe = torch.where(weights > 0, weights, 1.0)\n"

Q1 = Question(
    id="q1",
    title="Entropy of a row",
    entry="entropy",
    signature="entropy(weights)",
    draw=draw_scores,
    oracle=by_scores(entropy),
    probe=MAP_PROBE,
    stages=(
        Stage(
            "the formula",
            1,
            ("ordinary", "other sizes", "all sizes equal", "one word", "one sentence", "sharp"),
            "Minus the sum over the words of weight times its natural logarithm.",
            parts=VALUES,
        ),
        Stage(
            "zeros",
            1,
            ("one-hot and uniform", "with zeros"),
            "A weight of 0 adds nothing, 0 · log 0 = 0; a uniform row of S words has log S.",
            parts=VALUES,
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "one-hot and uniform", "with zeros"),
            "The entropies are right but their gradients are not: no detach, no .data, no NumPy, and "
            "a finite derivative where a weight is 0.",
            parts=PULLED,
        ),
    ),
    right=(
        ENTROPY + SAFE + "    return (weights * -safe.log()).sum(2)\n",
        ENTROPY + "    return -(weights * weights.clamp(min=1e-12).log()).sum(dim=-1)\n",
        ENTROPY + "    return torch.distributions.Categorical(probs=weights).entropy()\n",
        ENTROPY + "    return -(weights * (weights + 1e-9).log()).sum(-1)\n",
        ENTROPY + "    zero = weights == 0\n"
        "    return torch.special.entr(weights.masked_fill(zero, 1.0)).sum(-1)\n",
    ),
    wrong=(
        Wrong(
            "sign",
            ENTROPY + f"    return {XLOGX}.sum(-1)\n",
            "Your entropies are negative: the logarithm of a weight is negative, so a minus belongs "
            "in front.",
        ),
        Wrong(
            "mean for sum",
            ENTROPY + f"    return -{XLOGX}.mean(-1)\n",
            "You average over the words; entropy is the sum.",
        ),
        Wrong(
            "large epsilon",
            ENTROPY + "    return -(weights * (weights + 1e-2).log()).sum(-1)\n",
            "The number that you add inside the logarithm is so large that a uniform row no longer "
            "has log S: put a 1 there where the weight is 0.",
        ),
        Wrong(
            "a floor under the weights",
            ENTROPY + "    p = weights.clamp(min=1e-2)\n    return -(p * p.log()).sum(-1)\n",
            "You raise small weights to a floor, and each of them then adds to the entropy: keep the "
            "floor inside the logarithm, and tiny.",
        ),
        Wrong(
            "normalised",
            ENTROPY + f"    return -{XLOGX}.sum(-1) / math.log(weights.shape[-1])\n",
            "You divide by log S: that is a share, the next question (and has no value for a single "
            "word).",
        ),
        Wrong(
            "NaN at zero",
            ENTROPY + "    return -(weights * weights.log()).sum(-1)\n",
            "A weight of 0 gives 0 times minus infinity, which is NaN: 0 · log 0 counts as 0.",
            keeps=1,
        ),
        Wrong(
            "NaN hidden too late",
            ENTROPY + "    return -(weights * weights.log()).nan_to_num().sum(-1)\n",
            "Your values are right, but at a weight of 0 the gradient is NaN: nan_to_num or where "
            "around the logarithm comes too late, and xlogy has the same fault. The logarithm must "
            "not see the 0.",
            keeps=2,
        ),
        Wrong(
            "infinite slope at zero",
            ENTROPY + "    return torch.special.entr(weights).sum(-1)\n",
            "torch.special.entr has an infinite derivative at 0, which the softmax's 0 turns into "
            "NaN: replace zeros by 1 before.",
            keeps=2,
        ),
        Wrong(
            "bits",
            ENTROPY + "    return -torch.xlogy(weights, weights).sum(-1) / math.log(2)\n",
            "These are bits: the natural logarithm gives nats.",
        ),
        Wrong(
            "digits",
            ENTROPY + "    return -torch.xlogy(weights, weights).sum(-1) / math.log(10)\n",
            "Your logarithm has base 10: the natural logarithm gives nats.",
        ),
        Wrong(
            "over the steps",
            ENTROPY + f"    return -{XLOGX}.sum(1)\n",
            "You add up over the steps; each row has an entropy of its own: sum over the last axis.",
        ),
        Wrong(
            "over the batch",
            ENTROPY + f"    return -{XLOGX}.sum(0)\n",
            "You add up over the batch, dim 0: each row has an entropy of its own, over the last axis.",
        ),
        Wrong(
            "not summed",
            ENTROPY + f"    return -{XLOGX}\n",
            "You return what each word adds, (B, T, S): add it up over the words.",
        ),
        Wrong(
            "one number for all",
            ENTROPY + f"    return -{XLOGX}.sum(-1).mean()\n",
            "You average over rows: return one number for each row, (B, T).",
        ),
        Wrong(
            "softmax again",
            ENTROPY + "    p = weights.softmax(-1)\n    return -torch.xlogy(p, p).sum(-1)\n",
            "You take a softmax of weights, which are weights already, and so flatten them.",
        ),
        Wrong(
            "effective positions",
            ENTROPY + f"    return (-{XLOGX}.sum(-1)).exp()\n",
            "You return exp of the entropy, the number of effective positions: the entropy itself "
            "is asked for.",
        ),
        Wrong(
            "one minus the squares",
            ENTROPY + "    return 1 - weights.square().sum(-1)\n",
            "This is one minus the sum of the squares, another measure of spread: the logarithm is "
            "missing.",
        ),
        Wrong(
            "logarithm of the largest",
            ENTROPY + "    return -weights.amax(-1).log()\n",
            "You look at the largest weight alone; entropy adds up over all words.",
        ),
        Wrong(
            "in place",
            ENTROPY + "    return -(weights * weights.clamp_(min=1e-4).log()).sum(-1)\n",
            "You change the weights in place: whoever reads them next finds no zeros any more. Use "
            "clamp, without the _.",
        ),
        Wrong(
            "detached",
            ENTROPY + SAFE + "    return -(weights * safe.log()).sum(-1).detach()\n",
            "The entropies are right, but detached: a penalty on them would train nothing.",
            keeps=2,
        ),
        Wrong(
            "logarithm detached",
            ENTROPY + SAFE + "    return -(weights.detach() * safe.log()).sum(-1)\n",
            "The entropies are right, but the weight in front of the logarithm is detached, so that "
            "half of the derivative is lost.",
            keeps=2,
        ),
        *forms(ENTROPY + SAFE, "-(weights * safe.log()).sum(-1)"),
    ),
    read="chapters/02_soft_addressing: How spread out?",
)

SPREAD = "def spread(weights, mask):\n"
WORDS = "    n = mask.sum(-1, keepdim=True)\n"
H = "entropy(weights)"

Q2 = Question(
    id="q2",
    title="Spread, comparable across lengths",
    entry="spread",
    signature="spread(weights, mask)",
    draw=draw_spread,
    oracle=by_scores(spread),
    probe=MAP_PROBE,
    stages=(
        Stage(
            "the formula",
            1,
            (
                "padded",
                "ordinary",
                "all sizes equal",
                "one sentence",
                "one-hot and uniform",
                "with zeros",
            ),
            "Entropy divided by the logarithm of the number of this sentence's words, which the mask "
            "tells.",
            parts=VALUES,
        ),
        Stage(
            "a single word",
            1,
            ("one word", "one word of several"),
            "A sentence of one word has 0: log 1 is 0, and 0 / 0 is NaN.",
            parts=VALUES,
        ),
        Stage(
            "gradients",
            1,
            ("padded", "ordinary", "with zeros", "one word of several"),
            "The numbers are right but their gradients are not: no detach, and nothing on the way "
            "may be NaN, even where it is replaced later.",
            parts=PULLED,
        ),
    ),
    uses=("q1",),
    right=(
        SPREAD + WORDS + f"    return {H} / n.clamp(min=2).log()\n",
        SPREAD + "    most = mask.float().sum(1).log()\n"
        "    most = torch.where(most > 0, most, 1.0)\n"
        f"    return torch.einsum('bt,b->bt', {H}, 1 / most)\n",
        SPREAD + WORDS + "    out = torch.where(n > 1, 1 / (n + (n == 1)).float().log(), 0.0)\n"
        f"    return {H} * out\n",
    ),
    wrong=(
        Wrong(
            "all positions counted",
            SPREAD + f"    return {H} / math.log(max(2, weights.shape[-1]))\n",
            "You divide by log S, pads counted: each sentence has a number of words of its own, which "
            "the mask tells.",
            keeps=1,
        ),
        Wrong(
            "words of the whole batch",
            SPREAD + f"    return {H} / mask.sum().clamp(min=2).float().log()\n",
            "You count the words of the whole batch: each sentence has its own number, mask.sum(-1).",
        ),
        Wrong(
            "steps counted",
            SPREAD + f"    return {H} / math.log(max(2, weights.shape[1]))\n",
            "You divide by the logarithm of the number of steps: the largest entropy depends on the "
            "words.",
        ),
        Wrong(
            "pads counted as words",
            SPREAD + "    n = (~mask).sum(-1, keepdim=True)\n"
            f"    return {H} / n.clamp(min=2).float().log()\n",
            "You count the pads: the mask is True at words.",
        ),
        Wrong(
            "weights above zero counted",
            SPREAD + "    n = (weights > 0).sum(-1)\n"
            f"    return {H} / n.clamp(min=2).float().log()\n",
            "You count weights above 0 in each row: a word that gets no weight is a word all the same.",
            keeps=1,
        ),
        Wrong(
            "NaN for one word",
            SPREAD + WORDS + f"    return {H} / n.float().log()\n",
            "A sentence of one word gives 0 / 0, which is NaN: it has 0.",
            keeps=1,
        ),
        Wrong(
            "NaN hidden too late",
            SPREAD + WORDS + f"    return ({H} / n.float().log()).nan_to_num()\n",
            "Your numbers are right, but a sentence of one word has a gradient of NaN: the division "
            "by 0 happens before it is hidden. Give it another divisor.",
            keeps=2,
        ),
        Wrong(
            "one for a single word",
            SPREAD
            + WORDS
            + f"    return torch.where(n > 1, {H} / n.clamp(min=2).float().log(), 1.0)\n",
            "You give 1 to a sentence of one word: all its weight lies on one word, so it has 0.",
            keeps=2,
        ),
        Wrong(
            "one minus it",
            SPREAD + WORDS + f"    return 1 - {H} / n.clamp(min=2).float().log()\n",
            "Yours is 1 where all weight lies on one word: that is concentration, one minus the "
            "spread.",
        ),
        Wrong(
            "entropy alone",
            SPREAD + f"    return {H}\n",
            "You return the entropy itself: divide it by the largest one that the sentence allows.",
        ),
        Wrong(
            "divided by the words",
            SPREAD + WORDS + f"    return {H} / n\n",
            "You divide by n: the largest entropy is log n.",
        ),
        Wrong(
            "effective share",
            SPREAD + WORDS + f"    return {H}.exp() / n\n",
            "This is the share of effective positions, exp of the entropy over n: a ratio of "
            "entropies is asked for.",
        ),
        Wrong(
            "two bases",
            SPREAD + WORDS + f"    return {H} / n.clamp(min=2).float().log2()\n",
            "The entropy is in nats and your divisor in bits: both need the same logarithm.",
        ),
        Wrong(
            "one more inside the logarithm",
            SPREAD + WORDS + f"    return {H} / (n + 1).float().log()\n",
            "You divide by log(n + 1), so that a uniform row stays below 1: the largest entropy is "
            "log n.",
        ),
        Wrong(
            "sentences on the wrong axis",
            SPREAD + "    n = mask.sum(-1).clamp(min=2).float()\n"
            f"    return {H}[..., None].expand(-1, -1, len(n)).select(2, -1) / n[-1].log()\n",
            "Every sentence is divided by the words of the last one: n needs a second axis, "
            "(B, 1).",
            keeps=1,
        ),
        Wrong(
            "divided by the largest in the batch",
            SPREAD + f"    H = {H}\n    return H / H.max().clamp(min=1e-9)\n",
            "You divide by the largest entropy that occurs: divide by the largest that is possible.",
        ),
        Wrong(
            "detached",
            SPREAD + WORDS + f"    return {H}.detach() / n.clamp(min=2).float().log()\n",
            "The numbers are right, but detached: no gradient reaches the weights.",
            keeps=2,
        ),
        *forms(SPREAD + WORDS, f"{H} / n.clamp(min=2).float().log()"),
    ),
    read="chapters/02_soft_addressing: How spread out?",
)

COVERAGE = "def coverage(weights):\n"

Q3 = Question(
    id="q3",
    title="Coverage",
    entry="coverage",
    signature="coverage(weights)",
    draw=draw_weights,
    oracle=coverage,
    stages=(
        Stage(
            "the past",
            2,
            ("ordinary", "other sizes", "all sizes equal", "one step", "one sentence", "long"),
            "Row t is the sum of the rows before t, without t itself; row 0 is zero.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "long"),
            "The coverage is right but its gradient is not: no detach, no .data, no NumPy.",
            gradients=True,
        ),
    ),
    right=(
        COVERAGE + "    return weights.cumsum(1) - weights\n",
        COVERAGE + "    return F.pad(weights.cumsum(1)[:, :-1], (0, 0, 1, 0))\n",
        COVERAGE + "    rows, seen = [], torch.zeros_like(weights[:, 0])\n"
        "    for row in weights.unbind(1):\n"
        "        rows.append(seen)\n"
        "        seen = seen + row\n"
        "    return torch.stack(rows, 1)\n",
    ),
    wrong=(
        Wrong(
            "this step included",
            COVERAGE + "    return weights.cumsum(1)\n",
            "You include step t itself: coverage is past attention, and row 0 is zero.",
        ),
        Wrong(
            "all steps",
            COVERAGE + "    return weights.sum(1, keepdim=True).expand_as(weights)\n",
            "Every row of yours is the sum over all steps: step t cannot know what comes later.",
        ),
        Wrong(
            "last step alone",
            COVERAGE + "    return F.pad(weights[:, :-1], (0, 0, 1, 0))\n",
            "Your row t is row t - 1 alone: coverage adds up all rows before t.",
        ),
        Wrong(
            "over the words",
            COVERAGE + "    return weights.cumsum(2) - weights\n",
            "You add up along the words; coverage adds up along the steps, dim 1.",
        ),
        Wrong(
            "the future",
            COVERAGE + "    return weights.flip(1).cumsum(1).flip(1) - weights\n",
            "You add up the steps after t: coverage looks back.",
        ),
        Wrong(
            "mean of the past",
            COVERAGE + "    steps = torch.arange(weights.shape[1]).clamp_min(1)[None, :, None]\n"
            "    return (weights.cumsum(1) - weights) / steps\n",
            "You average over the past steps: coverage is their sum, and may exceed 1.",
        ),
        Wrong(
            "not reset between sentences",
            COVERAGE + "    flat = weights.reshape(-1, weights.shape[-1])\n"
            "    return (flat.cumsum(0) - flat).view_as(weights)\n",
            "Coverage runs on from one sentence of the batch to the next: each begins at zero.",
        ),
        Wrong(
            "one step late",
            COVERAGE + "    seen = weights.cumsum(1) - weights\n"
            "    return F.pad(seen[:, :-1], (0, 0, 1, 0))\n",
            "Your row t ends at step t - 2: the step just before t has been looked at, too.",
        ),
        Wrong(
            "begins with the first step",
            COVERAGE + "    seen = weights.cumsum(1)\n"
            "    return torch.cat([seen[:, :1], seen[:, :-1]], 1)\n",
            "Your row 0 is the first step's own weights: before the first step nothing has been "
            "looked at.",
        ),
        Wrong(
            "never above 1",
            COVERAGE + "    return (weights.cumsum(1) - weights).clamp(max=1)\n",
            "You cut coverage at 1: a word that is looked at twice has more.",
        ),
        Wrong(
            "largest of the past",
            COVERAGE + "    return F.pad(weights.cummax(1).values[:, :-1], (0, 0, 1, 0))\n",
            "You keep the largest weight so far: coverage adds up all of them.",
        ),
        Wrong(
            "made to sum to 1",
            COVERAGE + "    seen = weights.cumsum(1) - weights\n"
            "    return seen / seen.sum(-1, keepdim=True).clamp(min=1e-9)\n",
            "You divide each row by its sum: coverage grows by 1 with each step.",
        ),
        Wrong(
            "over the batch",
            COVERAGE + "    return weights.cumsum(0) - weights\n",
            "You add up over the batch, dim 0: coverage adds up along the steps of one sentence, "
            "dim 1.",
        ),
        Wrong(
            "the last row alone",
            COVERAGE + "    return weights[:, :-1].sum(1)\n",
            "You return one row for each sentence: every step has a coverage of its own, (B, T, S).",
        ),
        Wrong(
            "in place",
            COVERAGE + "    kept = weights.clone()\n    return weights.cumsum_(1) - kept\n",
            "You add up in place, so that the weights are other numbers afterwards: use cumsum, "
            "without the _.",
        ),
        Wrong(
            "detached",
            COVERAGE + "    return (weights.cumsum(1) - weights).detach()\n",
            "The coverage is right, but detached: no gradient reaches the earlier steps.",
            keeps=2,
        ),
        *forms(COVERAGE, "weights.cumsum(1) - weights"),
    ),
    read=f"{PAGE}: Coverage",
)

OVERLAP = "def coverage_loss(weights, real):\n"
PAST = "    past = coverage(weights)\n"

Q4 = Question(
    id="q4",
    title="The coverage loss",
    entry="coverage_loss",
    signature="coverage_loss(weights, real)",
    draw=draw_steps,
    oracle=coverage_loss,
    stages=(
        Stage(
            "the loss",
            2,
            ("padded", "ordinary", "other sizes", "all sizes equal", "one step", "long"),
            "At each step, the smaller of weight and coverage for each word, added up over the "
            "words; then one mean over all real steps of the batch.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary", "padded"),
            "The loss is right but its gradient is not: it must flow through the weights and through the coverage.",
            gradients=True,
        ),
    ),
    uses=("q3",),
    right=(
        OVERLAP + PAST + "    return torch.minimum(weights, past).sum(-1)[real].mean()\n",
        OVERLAP + "    c = weights.cumsum(1) - weights\n"
        "    each = torch.where(weights < c, weights, c).sum(2)\n"
        "    return each.where(real, 0.0).sum() / real.sum()\n",
        OVERLAP + PAST + "    low = torch.stack([weights, past]).amin(0).sum(-1)\n"
        "    return torch.masked_select(low, real).mean()\n",
        OVERLAP + "    losses = []\n"
        "    for rows, steps in zip(weights, real):\n"
        "        seen = torch.zeros_like(rows[0])\n"
        "        for row in rows[steps]:\n"
        "            losses.append(torch.minimum(row, seen).sum())\n"
        "            seen = seen + row\n"
        "    return sum(losses) / len(losses)\n",
    ),
    wrong=(
        Wrong(
            "maximum",
            OVERLAP + PAST + "    return torch.maximum(weights, past).sum(-1)[real].mean()\n",
            "You take the larger of the two: the overlap is the smaller.",
        ),
        Wrong(
            "mean over the words",
            OVERLAP + PAST + "    return torch.minimum(weights, past)[real].mean()\n",
            "You average over the words, so that long sentences cost less: add them up.",
        ),
        Wrong(
            "sum over the steps",
            OVERLAP + PAST + "    each = torch.minimum(weights, past).sum(-1) * real\n"
            "    return each.sum(1).mean()\n",
            "You add up over the steps, so that long translations cost more: average over them.",
        ),
        Wrong(
            "sum over everything",
            OVERLAP + PAST + "    return torch.minimum(weights, past).sum(-1)[real].sum()\n",
            "You add up the losses of all steps: take their mean.",
        ),
        Wrong(
            "padded steps counted",
            OVERLAP + PAST + "    return torch.minimum(weights, past).sum(-1).mean()\n",
            "Steps of padding take part in your mean: leave them out, real is False there.",
        ),
        Wrong(
            "divided by all steps",
            OVERLAP + PAST + "    return (torch.minimum(weights, past).sum(-1) * real).mean()\n",
            "You leave padded steps out of the sum but not out of the count: divide by the number of "
            "real steps.",
        ),
        Wrong(
            "mean of sentence means",
            OVERLAP + PAST + "    each = torch.minimum(weights, past).sum(-1) * real\n"
            "    return (each.sum(1) / real.sum(1)).mean()\n",
            "You average each sentence and then the sentences: steps of short ones count for more. "
            "Take one mean over all real steps.",
        ),
        Wrong(
            "padding alone",
            OVERLAP + PAST + "    each = torch.minimum(weights, past).sum(-1) * ~real\n"
            "    return each.sum() / real.sum()\n",
            "You keep the padded steps and drop the real ones: real is True at the steps that count.",
        ),
        Wrong(
            "coverage after the step",
            OVERLAP + "    return torch.minimum(weights, weights.cumsum(1)).sum(-1)[real].mean()\n",
            "Your coverage includes the step itself, so that the overlap is all of it: use the past "
            "alone.",
        ),
        Wrong(
            "coverage of the last step alone",
            OVERLAP + "    past = F.pad(weights[:, :-1], (0, 0, 1, 0))\n"
            "    return torch.minimum(weights, past).sum(-1)[real].mean()\n",
            "You compare with the step before alone: coverage adds up all steps before.",
        ),
        Wrong(
            "product",
            OVERLAP + PAST + "    return (weights * past).sum(-1)[real].mean()\n",
            "You multiply weight and coverage; the loss takes the smaller of the two.",
        ),
        Wrong(
            "distance",
            OVERLAP + PAST + "    return (weights - past).abs().sum(-1)[real].mean()\n",
            "You measure how far weight and coverage are apart; what costs is what they share, the "
            "smaller of the two.",
        ),
        Wrong(
            "smallest word alone",
            OVERLAP + PAST + "    return torch.minimum(weights, past).amin(-1)[real].mean()\n",
            "You take the smallest over the words as well: the minimum is of weight and coverage, and "
            "the words are added up.",
        ),
        Wrong(
            "first step left out",
            OVERLAP + PAST + "    each = torch.minimum(weights, past).sum(-1) * real\n"
            "    return each.sum() / (real.sum() - len(real)).clamp(min=1)\n",
            "You leave the first step out of the mean: it counts, with a loss of 0.",
        ),
        Wrong(
            "one number a sentence",
            OVERLAP + PAST + "    each = torch.minimum(weights, past).sum(-1) * real\n"
            "    return each.sum(1) / real.sum(1)\n",
            "You return a loss for each sentence: take one mean over the batch as well.",
        ),
        Wrong(
            "sign",
            OVERLAP + PAST + "    return -torch.minimum(weights, past).sum(-1)[real].mean()\n",
            "Your loss is negative: training would make the overlap larger.",
        ),
        Wrong(
            "coverage detached",
            OVERLAP
            + PAST
            + "    return torch.minimum(weights, past.detach()).sum(-1)[real].mean()\n",
            "The value is right, but no gradient flows through the coverage: earlier steps never "
            "learn that they took too much.",
            keeps=2,
        ),
        Wrong(
            "detached",
            OVERLAP
            + PAST
            + "    return torch.minimum(weights, past).sum(-1)[real].mean().detach()\n",
            "The value is right, but detached: backward() would find nothing to follow.",
            keeps=2,
        ),
        Wrong(
            "a plain number",
            OVERLAP
            + PAST
            + "    return torch.minimum(weights, past).sum(-1)[real].mean().item()\n",
            "You return a plain number, where the gradient ends: return the tensor.",
        ),
    ),
    read=f"{PAGE}: The coverage loss",
)

AER = "def alignment_error_rate(predicted, sure, possible):\n"
SETS = "    a, s, p = set(predicted), set(sure), set(possible) | set(sure)\n"

Q5 = Question(
    id="q5",
    title="Alignment error rate",
    entry="alignment_error_rate",
    signature="alignment_error_rate(predicted, sure, possible)",
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
    stages=(
        Stage(
            "the formula",
            2,
            (
                "ordinary",
                "sure among the possible",
                "nothing right",
                "perfect",
                "nothing else possible",
            ),
            "1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), where P includes S.",
            tolerance=(1e-4, 1e-4),
        ),
        Stage(
            "duplicates",
            1,
            ("duplicates", "duplicates elsewhere"),
            "A link that stands in a list twice counts once.",
            tolerance=(1e-4, 1e-4),
        ),
    ),
    right=(
        AER + SETS + "    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))\n",
        AER + "    a, s = set(predicted), set(sure)\n"
        "    hits = sum(x in s for x in a) + sum(x in s or x in possible for x in a)\n"
        "    return 1 - hits / (len(a) + len(s))\n",
        AER + "    a = list(dict.fromkeys(predicted))\n"
        "    s = [x for n, x in enumerate(sure) if x not in sure[:n]]\n"
        "    p = s + list(possible)\n"
        "    good = len([x for x in a if x in s]) + len([x for x in a if x in p])\n"
        "    return 1.0 - good / (len(a) + len(s))\n",
        AER + SETS + "    found = torch.tensor([x in p for x in a]).sum() + len(a & s)\n"
        "    return 1 - found / (len(a) + len(s))\n",
        AER + SETS + "    return np.float64(1 - (len(a & s) + len(a & p)) / (len(a) + len(s)))\n",
    ),
    wrong=(
        Wrong(
            "possible without sure",
            AER
            + SETS.replace("set(possible) | set(sure)", "set(possible) - set(sure)")
            + "    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))\n",
            "Sure links are possible, too: P must include S, even if the list of possible links "
            "leaves them out.",
            keeps=0,
        ),
        Wrong(
            "possible as listed",
            AER + "    a, s, p = set(predicted), set(sure), set(possible)\n"
            "    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))\n",
            "The list of possible links may leave out the sure ones: add them yourself, P = P | S.",
            keeps=0,
        ),
        Wrong(
            "accuracy for error",
            AER + SETS + "    return (len(a & s) + len(a & p)) / (len(a) + len(s))\n",
            "A perfect alignment must give 0, and yours gives 1: subtract from 1.",
        ),
        Wrong(
            "duplicates counted",
            AER + "    s, p = set(sure), set(possible) | set(sure)\n"
            "    hits = sum(x in s for x in predicted) + sum(x in p for x in predicted)\n"
            "    return 1 - hits / (len(predicted) + len(s))\n",
            "A link that is predicted twice counts twice: make a set of the predictions first.",
            keeps=2,
        ),
        Wrong(
            "off by one",
            AER
            + SETS.replace("set(predicted)", "{(i + 1, j + 1) for i, j in predicted}")
            + "    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))\n",
            "You shift the predicted links by one: all links count from 0 here.",
        ),
        Wrong(
            "source and target exchanged",
            AER
            + SETS.replace("set(predicted)", "{(j, i) for i, j in predicted}")
            + "    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))\n",
            "You exchange source and target in the predicted links: all links are (source, target).",
        ),
        Wrong(
            "one minus F",
            AER + SETS + "    return 1 - 2 * len(a & s) / (len(a) + len(s))\n",
            "You count the sure links twice: the second term counts predictions among the possible.",
        ),
        Wrong(
            "one minus precision",
            AER + SETS + "    return 1 - len(a & p) / len(a)\n",
            "This is precision alone, which is best for a single safe link: recall of the sure ones "
            "counts, too.",
        ),
        Wrong(
            "divided by possible",
            AER + SETS + "    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(p))\n",
            "You divide by |A| + |P|: nobody has to find every possible link. It is |A| + |S|.",
        ),
        Wrong(
            "sure duplicates counted",
            AER + SETS + "    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(sure))\n",
            "You count a sure link twice that stands in the list twice: take the size of the set.",
            keeps=2,
        ),
        Wrong(
            "one minus recall",
            AER + SETS + "    return 1 - len(a & s) / len(s)\n",
            "This is one minus recall, which is best for predicting every link: precision counts, "
            "too.",
        ),
        Wrong(
            "union for sum",
            AER + SETS + "    return 1 - (len(a & s) + len(a & p)) / len(a | s)\n",
            "You divide by the size of the union; it is |A| + |S|, where common links count twice.",
        ),
        Wrong(
            "possible links counted once",
            AER + SETS + "    return 1 - 2 * len(a & p) / (len(a) + len(s))\n",
            "You count the hits among the possible links twice: one of the two terms is for the sure "
            "ones.",
        ),
        Wrong(
            "in percent",
            AER + SETS + "    return 100 * (1 - (len(a & s) + len(a & p)) / (len(a) + len(s)))\n",
            "Your rate is in percent: return a share between 0 and 1.",
        ),
        Wrong(
            "rounded",
            AER + SETS + "    return round(1 - (len(a & s) + len(a & p)) / (len(a) + len(s)), 1)\n",
            "You round the rate to one decimal: return it as it is.",
        ),
        Wrong(
            "the caller's list grows",
            AER
            + "    possible += sure\n"
            + SETS
            + "    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))\n",
            "You add the sure links to the caller's own list of possible ones, which += changes: "
            "make a set of your own.",
        ),
    ),
    read=f"{PAGE}: Alignment error rate",
)

Q6 = Question(
    id="q6",
    title="By hand",
    entry="error_rate_by_hand",
    signature="error_rate_by_hand = number",
    draw=lambda rng, kind: (),
    oracle=lambda: 2 / 7,
    probe=number_probe,
    stages=(
        Stage(
            "the number",
            1,
            ("number",),
            "Count |A ∩ S| and |A ∩ P|, and remember that sure links are possible, too.",
        ),
    ),
    right=(
        "error_rate_by_hand = 0.29\n",
        "error_rate_by_hand = 1 - 5 / 7\n",
        "error_rate_by_hand = torch.tensor(2 / 7)\n",
        "error_rate_by_hand = np.array(0.286)\n",
        "from fractions import Fraction\nerror_rate_by_hand = Fraction(2, 7)\n",
    ),
    wrong=(
        Wrong(
            "possible without sure",
            "error_rate_by_hand = 0.57\n",
            "You counted the possible links without the sure ones: a sure link that was found "
            "counts in both terms.",
        ),
        Wrong(
            "accuracy for error",
            "error_rate_by_hand = 0.71\n",
            "This is the share that is right: subtract it from 1.",
        ),
        Wrong(
            "one minus precision",
            "error_rate_by_hand = 0.25\n",
            "This is one minus precision: the sure links count, too, below the line.",
        ),
        Wrong(
            "one minus F",
            "error_rate_by_hand = 0.43\n",
            "You counted the sure links twice: the second term counts predictions among the possible.",
        ),
        Wrong(
            "divided by possible",
            "error_rate_by_hand = 0.44\n",
            "You divided by |A| + |P|: nobody has to find every possible link. It is |A| + |S|.",
        ),
        Wrong(
            "in percent",
            "error_rate_by_hand = 28.6\n",
            "This is a percentage: write a share, between 0 and 1.",
        ),
    ),
    read=f"{PAGE}: By hand",
)

MEASURE = (
    "def by_length(maps, bins):\n"
    "    table = []\n"
    "    mean = lambda x: x.double().mean().item() if len(x) else 0.0\n"
    "    for low, high in bins:\n"
    "        H, look, ok = [torch.zeros(0)], [torch.zeros(0) > 0], [torch.zeros(0) > 0]\n"
    "        for w, predicted, gold, place in maps:\n"
    "            S = w.shape[1]\n"
    "            if low <= S <= high:\n"
    "                h = -(w * w.clamp(min=1e-12).log()).sum(-1)\n"
    "                H.append(h / math.log(max(S, 2)))\n"
    "                look.append(w.argmax(-1) == place)\n"
    "                ok.append(predicted == gold)\n"
    "        H, look, ok = torch.cat(H), torch.cat(look), torch.cat(ok)\n"
    "        table.append([mean(H), mean(look), mean(ok[look]), mean(ok[~look])])\n"
    "    return table\n"
)
# What is asked for is the value: tensors, arrays and lists of numbers say the same.
PLAIN = number_probe[: number_probe.index("def probe")]

Q7 = Question(
    id="q7",
    title="Measured: long sentences",
    entry="by_length",
    signature="by_length(maps, bins)",
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
    stages=(
        Stage(
            "the table",
            3,
            ("three bins", "two bins"),
            "For each bin, over all steps of its sentences together: mean spread, share that looks "
            "right, share right of these, share right of the others.",
            tolerance=(2e-3, 1e-3),
        ),
        Stage(
            "nothing to average",
            1,
            ("an empty bin", "all look right"),
            "A mean of nothing is 0 here: neither NaN nor an error.",
            tolerance=(2e-3, 1e-3),
        ),
    ),
    uses=("q1", "q2"),
    right=(
        MEASURE,
        "def by_length(maps, bins):\n"
        "    def row(low, high):\n"
        "        rows = []\n"
        "        for w, predicted, gold, place in maps:\n"
        "            n = w.shape[-1]\n"
        "            if n < low or n > high:\n"
        "                continue\n"
        "            h = spread(w[None], torch.ones(1, n, dtype=torch.bool))[0]\n"
        "            rows += zip(h.tolist(), (w.max(-1).indices == place).tolist(),\n"
        "                        (predicted == gold).tolist())\n"
        "        share = lambda x: sum(x) / len(x) if x else 0\n"
        "        return (share([h for h, _, _ in rows]), share([a for _, a, _ in rows]),\n"
        "                share([r for _, a, r in rows if a]), share([r for _, a, r in rows if not a]))\n"
        "    return torch.tensor([row(*pair) for pair in bins])\n",
    ),
    wrong=(
        Wrong(
            "mean of sentence means",
            MEASURE.replace("h / math.log(max(S, 2)))", "h.mean()[None] / math.log(max(S, 2)))"),
            "You average each sentence's spread and then the sentences: steps of short translations "
            "count for more. Take one mean over all steps.",
        ),
        Wrong(
            "entropy for spread",
            MEASURE.replace("h / math.log(max(S, 2))", "h"),
            "Your first column is the entropy: sentences of different lengths compare by spread, its "
            "share of the largest possible.",
        ),
        Wrong(
            "last word left out",
            MEASURE.replace("low <= S <= high", "low <= S < high"),
            "You leave out sentences as long as a bin's upper end: both ends belong to it.",
        ),
        Wrong(
            "lower end left out",
            MEASURE.replace("low <= S <= high", "low < S <= high"),
            "You leave out sentences as long as a bin's lower end: both ends belong to it.",
        ),
        Wrong(
            "bins by the steps",
            MEASURE.replace("low <= S <= high", "low <= len(w) <= high"),
            "You sort sentences by their number of steps: bins count source words, the last axis.",
        ),
        Wrong(
            "all sentences in every bin",
            MEASURE.replace("low <= S <= high", "S"),
            "Every row of yours is over all sentences: a bin holds those of its lengths.",
        ),
        Wrong(
            "share of the right words",
            MEASURE.replace("mean(ok[look]), mean(ok[~look])", "mean(ok), mean(~ok)"),
            "Your last columns are the shares of right and wrong words among all steps: the third is "
            "among steps that look right, the fourth among the others.",
        ),
        Wrong(
            "last two exchanged",
            MEASURE.replace("mean(ok[look]), mean(ok[~look])", "mean(ok[~look]), mean(ok[look])"),
            "Your last two columns are exchanged: first among steps that look right, then among the "
            "others.",
        ),
        Wrong(
            "the other way round",
            MEASURE.replace("mean(ok[look]), mean(ok[~look])", "mean(look[ok]), mean(look[~ok])"),
            "You ask how many of the right words were looked at right; asked is how many of those "
            "that look right are right.",
        ),
        Wrong(
            "both at once",
            MEASURE.replace("mean(ok[look]), mean(ok[~look])", "mean(ok & look), mean(ok & ~look)"),
            "You divide by all steps: the third share is among the steps that look right, the fourth "
            "among the others.",
        ),
        Wrong(
            "errors for right words",
            MEASURE.replace("predicted == gold", "predicted != gold"),
            "Your last columns count wrong words: the shares of right ones are asked for.",
        ),
        Wrong(
            "the diagonal",
            MEASURE.replace("== place", "== torch.arange(len(w)).clamp(max=S - 1)"),
            "You take it that step t should look at word t: each map comes with its right places.",
        ),
        Wrong(
            "most weight among the steps",
            MEASURE.replace("w.argmax(-1) == place", "w.argmax(0)[place] == torch.arange(len(w))"),
            "You look for the step at which a word gets most weight: a step looks right if the "
            "largest weight of its row lies on its place.",
        ),
        Wrong(
            "half of the weight",
            MEASURE.replace("w.argmax(-1) == place", "w[torch.arange(len(w)), place] > 0.5"),
            "You ask for more than half of the weight: a step looks right if the largest weight of "
            "its row lies on its place.",
        ),
        Wrong(
            "in percent",
            MEASURE.replace("else 0.0", "else 0.0\n    share = lambda x: 100 * mean(x)").replace(
                "mean(look), mean(ok[look]), mean(ok[~look])",
                "share(look), share(ok[look]), share(ok[~look])",
            ),
            "Your shares are in percent: write them between 0 and 1.",
        ),
        Wrong(
            "in place",
            MEASURE.replace("w.clamp(min=1e-12)", "w.clamp_(min=1e-4)"),
            "You change the maps in place: whoever reads them next finds no zeros any more. Use "
            "clamp, without the _.",
        ),
        Wrong(
            "NaN of nothing",
            MEASURE.replace(" if len(x) else 0.0", ""),
            "A mean of no steps is NaN in your table: it counts as 0.",
            keeps=3,
        ),
    ),
    read=f"{PAGE}: Measured: long sentences",
)

DUE = (
    "def due_to_looking(short, long):\n"
    "    right = lambda looks, if_so, if_not: looks * if_so + (1 - looks) * if_not\n"
    "    fall = right(*short) - right(*long)\n"
)

Q8 = Question(
    id="q8",
    title="What follows: looking, or reading?",
    entry="due_to_looking",
    signature="due_to_looking(short, long)",
    draw=draw_rows,
    oracle=due_to_looking,
    probe=PLAIN
    + """
def probe(due_to_looking, short, long):
    return plain(due_to_looking(short, long))
""",
    stages=(
        Stage(
            "the share",
            2,
            ("two rows", "looking alone", "all look right"),
            "Keep how the long sentences are read, exchange how many of their steps look right, and "
            "divide what that gains by the fall in right words.",
            tolerance=(2e-3, 1e-3),
        ),
    ),
    right=(
        DUE + "    return (right(short[0], *long[1:]) - right(*long)) / fall\n",
        "def due_to_looking(short, long):\n"
        "    (a, p, q), (b, r, w) = short, long\n"
        "    return (a - b) * (r - w) / (a * p + (1 - a) * q - b * r - (1 - b) * w)\n",
        "def due_to_looking(short, long):\n"
        "    s, l = torch.tensor(short), torch.tensor(long)\n"
        "    both = lambda looks, row: torch.stack([looks, 1 - looks]) @ row[1:]\n"
        "    before = both(l[0], l)\n"
        "    return (both(s[0], l) - before) / (both(s[0], s) - before)\n",
    ),
    wrong=(
        Wrong(
            "reading exchanged",
            DUE + "    return (right(long[0], *short[1:]) - right(*long)) / fall\n",
            "You exchange how the long sentences are read and keep how they look: it is the other "
            "way round.",
        ),
        Wrong(
            "read as the short ones",
            DUE + "    return (right(*short) - right(long[0], *short[1:])) / fall\n",
            "You read the steps as in the short sentences: suppose the long ones are read as they "
            "are.",
        ),
        Wrong(
            "steps that look right alone",
            DUE + "    return (short[0] - long[0]) * long[1] / fall\n",
            "You forget that a step that looks right no longer counts among the others, some of which "
            "are right as well.",
        ),
        Wrong(
            "fall in looking",
            DUE + "    return (short[0] - long[0]) / fall\n",
            "You divide the fall in looking by the fall in right words: a step that looks right is "
            "not always read right.",
        ),
        Wrong(
            "share of looking lost",
            DUE + "    return (short[0] - long[0]) / short[0]\n",
            "You return how much of the looking is lost: asked is how much of the fall in right words "
            "it explains.",
        ),
        Wrong(
            "not divided",
            DUE + "    return right(short[0], *long[1:]) - right(*long)\n",
            "You return how many more words would be right: divide by the fall to get its share.",
        ),
        Wrong(
            "what would be right",
            DUE + "    return right(short[0], *long[1:])\n",
            "You return the share of words that would be right: subtract what is right now, and "
            "divide by the fall.",
        ),
        Wrong(
            "the rest",
            DUE + "    return 1 - (right(short[0], *long[1:]) - right(*long)) / fall\n",
            "You return what is left of the fall: asked is what would be undone.",
        ),
        Wrong(
            "divided by the right words",
            DUE + "    return (right(short[0], *long[1:]) - right(*long)) / right(*short)\n",
            "You divide by the share of right words in short sentences: divide by the fall, the "
            "difference between short and long.",
        ),
        Wrong(
            "sign",
            DUE + "    return (right(*long) - right(short[0], *long[1:])) / fall\n",
            "Your gain has the wrong sign: it is what would be right minus what is.",
        ),
        Wrong(
            "short and long exchanged",
            DUE + "    return (right(*short) - right(long[0], *short[1:])) / fall * 0 + "
            "(right(long[0], *short[1:]) - right(*short)) / fall\n",
            "You suppose that the short sentences look like the long ones: it is the long ones that "
            "are to look better.",
        ),
        Wrong(
            "right words of two kinds added",
            DUE.replace("looks * if_so + (1 - looks) * if_not", "if_so + if_not")
            + "    return (short[0] - long[0]) * (long[1] - long[2]) / fall\n",
            "You add the two shares of right words as they are: each counts for its share of the "
            "steps.",
        ),
        Wrong(
            "in percent",
            DUE + "    return 100 * (right(short[0], *long[1:]) - right(*long)) / fall\n",
            "Your share is in percent: return it as a fraction, 1 for all.",
        ),
    ),
    read=f"{PAGE}: What follows: looking, or reading?",
)

EXERCISE = Exercise("08_reading_maps", "Reading attention maps", (Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8))
