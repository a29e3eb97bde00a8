"""How the exercise on reading attention maps is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise, Question, Stage, Wrong
from seqattn.grading.drawing import softmax_rows
from seqattn.grading.kinds import number_probe, table_probe

# Where a question is explained, until a chapter does.
PAGE = "exercises/08_reading_maps"

# --- Oracles ---------------------------------------------------------------------------------------


def row_entropy(row):
    return -sum(p * math.log(p) for p in row if p > 0)


def entropy(weights):
    return np.array([[row_entropy(row) for row in sentence] for sentence in weights])


def effective(weights):
    return np.exp(entropy(weights))


def coverage(weights):
    past = np.zeros_like(weights)
    for t in range(1, weights.shape[1]):
        past[:, t] = sum(weights[:, u] for u in range(t))
    return past


def coverage_loss(weights):
    past = coverage(weights)
    losses = []
    for a, c in zip(weights, past):
        losses += [sum(min(x, y) for x, y in zip(row, seen)) for row, seen in zip(a, c)]
    return np.array(sum(losses) / len(losses))


def error_rate(predicted, sure, possible):
    a, s = set(predicted), set(sure)
    p = set(possible) | s
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))


BINS = {"5-10": (5, 10), "20-30": (20, 30), "50-100": (50, 100)}
FIELDS = ("weights", "source_length", "target_length", "predicted", "gold")


def by_length(arrays):
    table = {}
    for name, (low, high) in BINS.items():
        chosen = np.flatnonzero(
            (arrays["source_length"] >= low) & (arrays["source_length"] <= high)
        )
        entropies, right = [], []
        for n in chosen:
            steps, words = int(arrays["target_length"][n]), int(arrays["source_length"][n])
            rows = np.clip(arrays["weights"][n, :steps, :words], 1e-300, None)
            entropies += (-(rows * np.log(rows)).sum(1)).tolist()
            right += (arrays["predicted"][n, :steps] == arrays["gold"][n, :steps]).tolist()
        table[name] = (float(np.mean(entropies)), float(np.mean(right)))
    return table


def inspect_maps(arrays):
    for name in FIELDS:
        if name not in arrays:
            return f"it holds no array called {name}"
    weights, source, target = arrays["weights"], arrays["source_length"], arrays["target_length"]
    if len(weights) > 2000:
        return f"{len(weights)} sentences: 2000 are enough"
    if weights.ndim != 3 or source.shape != (len(weights),) or target.shape != (len(weights),):
        return "weights should be (sentences, steps, words), and the lengths one number a sentence"
    if any(arrays[x].shape != weights.shape[:2] for x in ("predicted", "gold")):
        return "predicted and gold should be (sentences, steps), as weights has them"
    if source.max() > weights.shape[2] or target.max() > weights.shape[1] or target.min() < 1:
        return "a length is larger than the arrays, or a sentence has no word"
    for name, (low, high) in BINS.items():
        if ((source >= low) & (source <= high)).sum() < 20:
            return f"fewer than 20 sentences of {name} words"
    if weights.min() < 0:
        return "some weights are negative"
    sums = [weights[n, : int(t), : int(s)].sum(1) for n, (t, s) in enumerate(zip(target, source))]
    if max(abs(x - 1).max() for x in sums) > 0.01:
        return "rows of weights do not sum to 1 over the sentence's own words: are pads masked?"
    if len({w.tobytes() for w in weights}) < len(weights):
        return "some sentences have the very same map: measure each sentence once"
    return ""


# --- Cases -----------------------------------------------------------------------------------------

SIZES = {  # B, T, S
    "ordinary": (2, 3, 5),
    "other sizes": (5, 4, 2),
    "all sizes equal": (3, 3, 3),
    "one word": (2, 3, 1),
    "one step": (2, 1, 4),
    "long": (2, 7, 4),
    "one-hot and uniform": (2, 3, 4),
    "with zeros": (2, 3, 6),
}


def draw_weights(rng, kind):
    B, T, S = SIZES[kind]
    weights = softmax_rows(1.5 * rng.normal(size=(B, T, S)))
    if kind == "one-hot and uniform":
        weights[0] = np.eye(S)[rng.integers(S, size=T)]
        weights[1] = 1 / S
    if kind == "with zeros":
        weights[:, :, rng.integers(1, S) :] = 0.0
        weights /= weights.sum(-1, keepdims=True)
    return (weights.astype(np.float32),)


def draw_links(rng, kind):
    if kind == "perfect":
        sure = [(i, i) for i in range(4)]
        return list(sure), sure, [(0, 1)]
    words = 5
    every = [(i, j) for i in range(words) for j in range(words)]
    order = [every[n] for n in rng.permutation(len(every))]
    sure, possible, off = order[:4], order[4:8], order[8:]
    predicted = [sure[0], sure[1], possible[0], off[0], off[1]]
    if kind == "duplicates":
        predicted += [sure[0], off[0], sure[0]]
    if kind == "sure among the possible":
        possible = possible + sure
    if kind == "nothing right":
        predicted = off[:3]
    # Neighbours of links are no links, so that a shift by one never helps.
    return predicted, sure, possible


def draw_maps(rng, kind):
    lengths = np.concatenate([rng.integers(a, b + 1, size=21) for a, b in BINS.values()])
    longest = 100
    weights = np.zeros((len(lengths), longest, longest), np.float32)
    for n, length in enumerate(lengths):
        rows = softmax_rows(rng.normal(size=(length, length)) * (3 if n % 2 else 2))
        weights[n, :length, :length] = rows
    gold = rng.integers(3, 50, size=(len(lengths), longest))
    wrong = rng.random(gold.shape) < (lengths[:, None] / 150)
    predicted = np.where(wrong, gold + 1, gold)
    return (
        {
            "weights": weights,
            "source_length": lengths,
            "target_length": lengths,
            "predicted": predicted,
            "gold": gold,
        },
    )


# --- Questions -------------------------------------------------------------------------------------

ENTROPY = "def entropy(weights):\n"
XLOGX = "torch.xlogy(weights, weights)"

Q1 = Question(
    id="q1",
    title="Entropy of a row",
    entry="entropy",
    signature="entropy(weights)",
    draw=draw_weights,
    oracle=entropy,
    stages=(
        Stage(
            "the formula",
            1,
            ("ordinary", "other sizes", "all sizes equal", "one word"),
            "Minus the sum over the words of weight times its natural logarithm.",
        ),
        Stage(
            "zeros",
            1,
            ("one-hot and uniform", "with zeros"),
            "A weight of 0 adds nothing, 0 · log 0 = 0; a uniform row of S words has log S.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary",),
            "The entropies are right but their gradients are not: no detach, no .data, no NumPy.",
            gradients=True,
        ),
    ),
    right=(
        ENTROPY + f"    return -{XLOGX}.sum(-1)\n",
        ENTROPY + "    return torch.special.entr(weights).sum(dim=-1)\n",
        ENTROPY + "    safe = torch.where(weights > 0, weights, 1.0)\n"
        "    return (weights * -safe.log()).sum(2)\n",
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
            "has log S: use torch.xlogy or torch.special.entr, which need none.",
        ),
        Wrong(
            "normalised",
            ENTROPY + f"    return -{XLOGX}.sum(-1) / math.log(weights.shape[-1])\n",
            "You divide by log S: that is the normalised entropy, which is another question (and "
            "has no value for a single word).",
        ),
        Wrong(
            "NaN at zero",
            ENTROPY + "    return -(weights * weights.log()).sum(-1)\n",
            "A weight of 0 gives 0 times minus infinity, which is NaN: 0 · log 0 counts as 0.",
            keeps=2,
        ),
        Wrong(
            "bits",
            ENTROPY + "    return -torch.xlogy(weights, weights).sum(-1) / math.log(2)\n",
            "These are bits: the natural logarithm gives nats.",
        ),
        Wrong(
            "over the steps",
            ENTROPY + f"    return -{XLOGX}.sum(1)\n",
            "You add up over the steps; each row has an entropy of its own: sum over the last axis.",
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
    ),
    read=f"{PAGE}: Entropy of a row",
)

NEFF = "def effective_positions(weights):\n"
H = "entropy(weights)"

Q2 = Question(
    id="q2",
    title="Effective positions",
    entry="effective_positions",
    signature="effective_positions(weights)",
    draw=draw_weights,
    oracle=effective,
    stages=(
        Stage(
            "the formula",
            1,
            ("ordinary", "other sizes", "all sizes equal", "one word"),
            "exp of the entropy, with the base that the entropy's logarithm has.",
        ),
        Stage(
            "the two ends",
            1,
            ("one-hot and uniform", "with zeros"),
            "A one-hot row has 1 effective position, a uniform one as many as there are words.",
        ),
    ),
    uses=("q1",),
    right=(
        NEFF + f"    return {H}.exp()\n",
        NEFF + "    return 2 ** (torch.special.entr(weights).sum(-1) / math.log(2))\n",
        NEFF + "    safe = weights.masked_fill(weights == 0, 1.0)\n"
        "    return (safe ** -weights).prod(-1)\n",
    ),
    wrong=(
        Wrong(
            "base two",
            NEFF + f"    return 2 ** {H}\n",
            "You raise 2 to an entropy in nats: base and logarithm must fit, so that a uniform row "
            "of four gives 4.",
        ),
        Wrong(
            "no exponential",
            NEFF + f"    return {H}\n",
            "You return the entropy itself: a one-hot row must give 1, not 0.",
        ),
        Wrong(
            "count above a threshold",
            NEFF + "    return (weights > 0.01).sum(-1).float()\n",
            "You count the weights above a threshold: your result jumps where the weights move "
            "smoothly.",
        ),
        Wrong(
            "inverse of the largest",
            NEFF + "    return 1 / weights.amax(-1)\n",
            "You invert the largest weight, which ignores the others: use exp of the entropy.",
        ),
        Wrong(
            "inverse of the squares",
            NEFF + "    return 1 / weights.square().sum(-1)\n",
            "This is the inverse of the sum of squares, another measure of spread: exp of the "
            "entropy is asked for.",
        ),
        Wrong(
            "exp of minus entropy",
            NEFF + f"    return (-{H}).exp()\n",
            "You raise e to minus the entropy: the result lies below 1.",
        ),
    ),
    read=f"{PAGE}: Effective positions",
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
            ("ordinary", "other sizes", "all sizes equal", "one step", "long"),
            "Row t is the sum of the rows before t, without t itself; row 0 is zero.",
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
    ),
    read=f"{PAGE}: Coverage",
)

OVERLAP = "def coverage_loss(weights):\n"
PAST = "    past = coverage(weights)\n"

Q4 = Question(
    id="q4",
    title="The coverage loss",
    entry="coverage_loss",
    signature="coverage_loss(weights)",
    draw=draw_weights,
    oracle=coverage_loss,
    stages=(
        Stage(
            "the loss",
            2,
            ("ordinary", "other sizes", "all sizes equal", "one step", "long"),
            "At each step, the smaller of weight and coverage for each word, added up over the "
            "words; then one mean over all steps of the batch.",
        ),
        Stage(
            "gradients",
            1,
            ("ordinary",),
            "The loss is right but its gradient is not: it must flow through the coverage, too.",
            gradients=True,
        ),
    ),
    uses=("q3",),
    right=(
        OVERLAP + PAST + "    return torch.minimum(weights, past).sum(-1).mean()\n",
        OVERLAP + "    c = weights.cumsum(1) - weights\n"
        "    return torch.where(weights < c, weights, c).sum(2).mean()\n",
        OVERLAP + PAST + "    low = torch.stack([weights, past]).amin(0)\n"
        "    return low.sum() / (weights.shape[0] * weights.shape[1])\n",
    ),
    wrong=(
        Wrong(
            "maximum",
            OVERLAP + PAST + "    return torch.maximum(weights, past).sum(-1).mean()\n",
            "You take the larger of the two: the overlap is the smaller.",
        ),
        Wrong(
            "mean over the words",
            OVERLAP + PAST + "    return torch.minimum(weights, past).mean()\n",
            "You average over the words, so that long sentences cost less: add them up.",
        ),
        Wrong(
            "sum over the steps",
            OVERLAP + PAST + "    return torch.minimum(weights, past).sum((1, 2)).mean()\n",
            "You add up over the steps, so that long translations cost more: average over them.",
        ),
        Wrong(
            "coverage after the step",
            OVERLAP + "    return torch.minimum(weights, weights.cumsum(1)).sum(-1).mean()\n",
            "Your coverage includes the step itself, so that the overlap is all of it: use the past "
            "alone.",
        ),
        Wrong(
            "product",
            OVERLAP + PAST + "    return (weights * past).sum(-1).mean()\n",
            "You multiply weight and coverage; the loss takes the smaller of the two.",
        ),
        Wrong(
            "first step left out",
            OVERLAP + PAST + "    n = max(1, weights.shape[1] - 1)\n"
            "    return torch.minimum(weights, past).sum(-1).sum(1).mean() / n\n",
            "You leave the first step out of the mean: it counts, with a loss of 0.",
        ),
        Wrong(
            "one number a sentence",
            OVERLAP + PAST + "    return torch.minimum(weights, past).sum(-1).mean(1)\n",
            "You return a loss for each sentence: take one mean over the batch as well.",
        ),
        Wrong(
            "coverage detached",
            OVERLAP + PAST + "    return torch.minimum(weights, past.detach()).sum(-1).mean()\n",
            "The value is right, but no gradient flows through the coverage: earlier steps never "
            "learn that they took too much.",
            keeps=2,
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
    return float(answer([tuple(x) for x in predicted], sure, possible))
""",
    stages=(
        Stage(
            "the formula",
            2,
            ("ordinary", "sure among the possible", "nothing right", "perfect"),
            "1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), where P includes S.",
            tolerance=(1e-4, 1e-4),
        ),
        Stage(
            "duplicates",
            1,
            ("duplicates",),
            "A link that is predicted twice counts once.",
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
    right=("error_rate_by_hand = 0.29\n", "error_rate_by_hand = 1 - 5 / 7\n"),
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
    "def by_length(evidence):\n"
    "    table = {}\n"
    "    for name, low, high in (('5-10', 5, 10), ('20-30', 20, 30), ('50-100', 50, 100)):\n"
    "        H, ok = [], []\n"
    "        for n, S in enumerate(evidence['source_length'].tolist()):\n"
    "            if low <= S <= high:\n"
    "                S, T = int(S), int(evidence['target_length'][n])\n"
    "                p = evidence['weights'][n, :T, :S]\n"
    "                H.append(-torch.xlogy(p, p).sum(-1))\n"
    "                ok.append(evidence['predicted'][n, :T] == evidence['gold'][n, :T])\n"
    "        table[name] = (torch.cat(H).mean(), torch.cat(ok).double().mean())\n"
    "    return table\n"
)

Q7 = Question(
    id="q7",
    title="Measured: long sentences",
    entry="by_length",
    signature="by_length = {'5-10': (entropy, accuracy), '20-30': ..., '50-100': ...}",
    draw=draw_maps,
    oracle=by_length,
    evidence="lengths.npz",
    inspect=inspect_maps,
    probe=table_probe,
    stages=(
        Stage(
            "the table",
            3,
            ("measured",),
            "From the maps in your file other numbers come out than those in your table: mean over "
            "all rows of real words, entropy in nats, accuracy as a share.",
            tolerance=(0.006, 0.01),
        ),
    ),
    right=(
        MEASURE,
        MEASURE.replace(
            "(torch.cat(H).mean(), torch.cat(ok).double().mean())",
            "[round(float(torch.cat(H).mean()), 2), round(float(torch.cat(ok).double().mean()), 2)]",
        ),
    ),
    wrong=(
        Wrong(
            "pads counted",
            MEASURE.replace("[n, :T] ==", "[n] ==")
            .replace("['gold'][n, :T]", "['gold'][n]")
            .replace("[n, :T, :S]", "[n]"),
            "Rows and words of padding take part in your means: cut each map to the sentence's own "
            "lengths.",
        ),
        Wrong(
            "mean of sentence means",
            MEASURE.replace(".sum(-1))", ".sum(-1).mean()[None])").replace(
                "ok.append(evidence['predicted'][n, :T] == evidence['gold'][n, :T])",
                "ok.append((evidence['predicted'][n, :T] == evidence['gold'][n, :T])"
                ".double().mean()[None])",
            ),
            "You average each sentence and then the sentences: rows of short ones count for more. "
            "Take one mean over all rows.",
        ),
        Wrong(
            "bits",
            MEASURE.replace("torch.cat(H).mean()", "torch.cat(H).mean() / math.log(2)"),
            "Your entropies are in bits: nats are asked for, with the natural logarithm.",
        ),
        Wrong(
            "normalised",
            MEASURE.replace(
                "-torch.xlogy(p, p).sum(-1)", "-torch.xlogy(p, p).sum(-1) / math.log(S)"
            ),
            "Your entropies are divided by log S: that answers another question. Nats are asked for.",
        ),
        Wrong(
            "errors for accuracy",
            MEASURE.replace("torch.cat(ok).double().mean())", "1 - torch.cat(ok).double().mean())"),
            "Your second column is the share that is wrong: accuracy is the share that is right.",
        ),
        Wrong(
            "in percent",
            MEASURE.replace(
                "torch.cat(ok).double().mean())", "100 * torch.cat(ok).double().mean())"
            ),
            "Your second column is in percent: write a share between 0 and 1.",
        ),
        Wrong(
            "columns exchanged",
            MEASURE.replace(
                "(torch.cat(H).mean(), torch.cat(ok).double().mean())",
                "(torch.cat(ok).double().mean(), torch.cat(H).mean())",
            ),
            "Your columns are exchanged: entropy first, accuracy second.",
        ),
    ),
    read=f"{PAGE}: Measured: long sentences",
)

EXERCISE = Exercise("08_reading_maps", "Reading attention maps", (Q1, Q2, Q3, Q4, Q5, Q6, Q7))
