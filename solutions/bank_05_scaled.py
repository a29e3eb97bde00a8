"""How the exercise on scaled scores is graded: oracles, cases, known mistakes."""

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import COMMON_SIZES, normal, softmax_rows
from seqattn.grading.probes import value_probe
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def scaled_attention(queries, keys, values):
    scores = np.array([[[q @ k for k in K] for q in Q] for Q, K in zip(queries, keys)])
    weights = softmax_rows(scores / queries.shape[-1] ** 0.5)
    return np.array(
        [[sum(w * v for w, v in zip(row, V)) for row in A] for A, V in zip(weights, values)]
    )


def measure(queries, keys):
    plain = np.array([[q @ k for k in row] for q, row in zip(queries, keys)])
    found = {"variance": (), "through": (), "the arguments are left as they are": True}
    for scores in (plain, plain / queries.shape[1] ** 0.5):
        found["variance"] += (float(((scores - scores.mean()) ** 2).mean()),)
        rows = softmax_rows(scores)
        found["through"] += (float(np.mean([sum(a - a**2 for a in row) for row in rows])),)
    return found


def right_power(sizes, variances):
    x, y = np.log(np.array(sizes)), np.log(np.array(variances))
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum() / 2)


# --- Cases -----------------------------------------------------------------------------------------

SIZES = COMMON_SIZES | {  # B, T, S, d_q, d_k, d_a
    "one number a vector": (2, 3, 4, 1, 1, 2),
    "large": (2, 3, 4, 5, 7, 2),
}
SHAPES = "ordinary; other sizes; all sizes equal; one word; one sentence; one number a vector"


def draw_scaled(rng, kind):
    B, T, S, d, d_v, _ = SIZES[kind]
    d_v = d if kind == "all sizes equal" else d_v
    queries, keys, values = normal(rng, B, T, d), normal(rng, B, S, d), normal(rng, B, S, d_v)
    if kind == "large":
        # Far apart within a row, and whole rows far above and far below zero.
        queries *= 150
        keys[..., 0] = 1
        queries[..., 0] = 300 * d**0.5 * (-1.0) ** np.arange(T)
        queries[:, 0, 1:] /= 150  # and one of them close together
    return queries, keys, values


def draw_draws(rng, kind):
    sizes = {"many": (200, 5, 9), "large": (150, 4, 36), "square": (30, 30, 30)}
    n, S, d = sizes.get(kind, (150, 6, 4))
    shift = np.float32(0.7 if kind == "not centred" else 0.0)
    return normal(rng, n, d) + shift, normal(rng, n, S, d) + shift


def draw_table(rng, kind):
    sizes = {"powers of two": [2.0**n for n in range(1, 8)], "two sizes": [5.0, 80.0]}
    sizes = sizes.get(kind, [3.0, 10.0, 50.0, 400.0])
    power = rng.uniform(-2.0, -0.5) if kind == "falling" else rng.uniform(0.3, 2.5)
    variances = [float(rng.uniform(1.5, 4) * d**power) for d in sizes]
    order = rng.permutation(len(sizes)) if kind == "in any order" else range(len(sizes))
    return [sizes[n] for n in order], [variances[n] for n in order]


# --- Questions -----------------------------------------------------------------------------------

Q1 = question(
    f"""q1: Scaled dot products
scaled_dot_attention(queries, keys, values)
read chapters/02_soft_addressing: Measure it: can the query learn?
the formula, 2 points: {SHAPES}
    Scores are Q times the transpose of K, divided by the square root of the queries' size, before
    the softmax; the weights then multiply V.
extreme scores, 1 point: large
    With scores in the thousands your numbers are wrong: softmax takes any size, so neither cut the
    scores off nor write exp yourself.
gradients, 1 point, backward: ordinary; one sentence
    The result is right but its gradients are not: queries, keys and values must all take part.
RIGHT
def scaled_dot_attention(queries, keys, values):
    return torch.softmax(queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1]), -1) @ values
def scaled_dot_attention(queries, keys, values):
    return torch.softmax((queries * queries.size(-1) ** -0.5) @ keys.mT, -1) @ values
def scaled_dot_attention(queries, keys, values):
    e = torch.einsum('btd,bsd->bts', queries, keys).div(queries.shape[2] ** 0.5)
    return torch.einsum('bts,bsv->btv', e.softmax(2), values)
WRONG
not scaled | / math.sqrt(queries.shape[-1]) ->
    You do not scale: the scores' variance grows with d, so divide by the square root of d.
multiplied | / math.sqrt -> * math.sqrt
    You multiply by the square root of d, which makes the scores larger still: divide.
divided by d | math.sqrt(queries.shape[-1]) -> queries.shape[-1]
    You divide by d itself; the standard deviation of the scores is the square root of d.
size of the values | queries.shape -> values.shape
    You scale by the size of the values; what counts is the size of queries and keys.
number of keys | queries.shape[-1] -> keys.shape[1]
    You scale by the number of keys; what counts is their size, the last axis.
scaled after softmax | / math.sqrt(queries.shape[-1]), -1) -> , -1) / math.sqrt(queries.shape[-1])
    You scale the weights, so that they no longer sum to 1: scale before the softmax.
reshape for transpose | transpose(-2, -1) -> reshape(keys.shape[0], keys.shape[2], keys.shape[1])
    You reshape the keys where they must be transposed: the shape fits, the numbers are in the wrong
    places.
over the queries | ), -1) -> ), 1)
    Your softmax runs over the steps; each query's weights over the keys must sum to 1.
weights returned | @ values ->
    You return the weights; the question asks for their product with the values.
keys for values | @ values -> @ keys
    Your weights mix the keys: what is mixed is the values, which have a size of their own.
keys never read | keys.transpose(-2, -1) -> queries.mT
    Your queries are compared with one another: the scores never read the keys.
values for keys | keys.transpose(-2, -1) -> values.mT
    You compare the queries with the values, which fits only where their sizes are equal: scores are
    of queries and keys.
scores without softmax | torch.softmax( ->; ), -1) -> )
    There is no softmax: your weights are plain scores, negative ones among them.
no largest score taken away, keeps 3
    | raised = (queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])).exp()
    | return raised / raised.sum(-1, keepdim=True) @ values
    exp of a score in the hundreds is infinite, and NaN follows: take the row's largest score away
    first, or use torch.softmax.
largest of all, keeps 3
    | e = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    | raised = (e - e.max()).exp(); return raised / raised.sum(-1, keepdim=True) @ values
    You take away the largest score of all rows: rows far below it vanish, and 0 / 0 is NaN. Each
    row has its own.
in place
    | / math.sqrt(queries.shape[-1]) ->; return -> queries /= math.sqrt(queries.shape[-1]); return
    You scale the queries in place: whoever reads them next finds other numbers. Write queries /
    ..., which makes new ones.
over the batch | ), -1) -> ), 0)
    Your softmax runs over the batch, dim 0: each query's weights over the keys must sum to 1.
one query for all | queries @ keys -> queries[:, -1:].expand_as(queries) @ keys
    Every row of yours is that of the last query: each step has weights of its own.
weights detached, keeps 3 | ), -1) -> ), -1).detach()
    The values are right, but the weights are detached: queries and keys would never learn.
half precision
    | queries @ keys.transpose(-2, -1) -> (queries.half() @ keys.half().mT)
    | ), -1) -> ), -1).float()
    You compute in 16 bits, which hold three digits: stay in the dtype that comes in.
"""
    + WRONG_FORMS,
    draw=draw_scaled,
    oracle=scaled_attention,
    forbidden=(
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "multi_head_attention_forward",
    ),
)

Q2 = question(
    """q2: Measured: why scale?
measure(queries, keys)
read chapters/02_soft_addressing: How a score moves the weights
variance, 1 point, within 1e-4 or 0.01: ordinary; many; square; not centred
    The mean square of the distance of all n · S scores from their one mean: plain, then divided by
    the root.
what the softmax lets through, 2 points, within 1e-4 or 0.01: ordinary; many; square; large
    The derivative of a weight by its own score is a (1 - a): add it up over the row, and take the
    mean over the rows.
RIGHT
def measure(queries, keys):
    d = queries.shape[-1]
    e = torch.einsum('nd,nsd->ns', queries, keys)
    both = (e, e / d**0.5)
    through = lambda e: (lambda a: (a - a**2).sum(-1).mean())(e.softmax(-1))
    return {'variance': [x.var() for x in both], 'through': [through(x) for x in both]}
def measure(queries, keys):
    d = queries.shape[-1]
    e = torch.einsum('nd,nsd->ns', queries, keys)
    both = (e, e / d**0.5)
    through = lambda e: (lambda a: (a - a**2).sum(-1).mean())(e.softmax(-1))
    return {
        'variance': torch.stack([x.var(correction=0) for x in both]),
        'through': tuple(float(through(x)) for x in both),
    }
def measure(queries, keys):
    e = (keys @ queries[:, :, None])[:, :, 0].numpy()
    table = {'variance': [], 'through': []}
    for x in (e, e / np.sqrt(queries.shape[1])):
        a = torch.tensor(x).softmax(1)
        table['variance'].append(x.var())
        table['through'].append(1 - a.square().sum(1).mean().item())
    return {name: np.array(row) for name, row in table.items()}
WRONG
standard deviations, keeps 2 | x.var() -> x.std()
    These are standard deviations, the square roots of what is asked for: variances.
mean squares, keeps 2 | x.var() -> x.square().mean()
    You average the squares without taking the mean away, which is a variance only where the mean is
    0.
variance of each row, keeps 2 | x.var() -> x.var(-1).mean()
    You take the variance of each row about its own mean: there is one mean, of all scores.
divided by d | d**0.5 -> d
    You divide the scores by d; divide them by the square root of d.
scaled alone | (e, e / d**0.5) -> (e / d**0.5, e / d**0.5)
    Your first number is of scaled scores, too: it is for the plain dot products.
order of the two | (e, e / d**0.5) -> (e / d**0.5, e)
    Your two numbers are exchanged: plain scores first, scaled ones second.
every query with every row of keys | nd,nsd->ns -> md,nsd->mns
    Every query meets the keys of every row: query i belongs to row i.
expected, not measured, keeps 2 | x.var() for x in both -> float(d), 1.0
    These are the variances that theory expects; return those of the scores that you have.
mean over the words, keeps 1 | .sum(-1).mean() -> .mean()
    You average the derivatives over the words of a row: add them up, and average over rows.
sum over the rows, keeps 1 | .sum(-1).mean() -> .sum()
    You add up over the rows as well: take the mean over them.
sum of all derivatives, keeps 1 | a - a**2 -> a - a * a.sum(-1, keepdim=True)
    You add up the derivatives by all scores of the row, which is 0 always: each weight by its own
    score.
sum of the squares, keeps 1 | a - a**2 -> a**2
    You add up the squares of the weights, which is what the softmax does not let through: one minus
    that.
softmax over the queries, keeps 1 | softmax(-1) -> softmax(0)
    Your softmax runs over the queries, dim 0: each row of S scores has weights of its own.
the largest weight, keeps 1 | (a - a**2).sum(-1) -> a.amax(-1)
    You return the mean of the largest weight: the sum of the derivatives is asked for.
derivative of the largest weight alone, keeps 1 | sum(-1) -> amax(-1)
    You take the largest derivative of each row: add up those of all its weights.
two numbers without a name | R -> tuple(R.values())
    You return two lists: return a dict with the entries variance and through.
scaled in place, keeps 2 | e / d**0.5 -> torch.einsum('nd,nsd->ns', queries.div_(d**0.5), keys)
    You scale the queries in place: whoever measures them next finds other numbers.
""",
    draw=draw_draws,
    oracle=measure,
    probe="""
def probe(measure, queries, keys):
    kept = queries.clone(), keys.clone()
    found = measure(queries, keys)
    if not isinstance(found, dict):
        return found
    same = torch.equal(queries, kept[0]) and torch.equal(keys, kept[1])
    plain = lambda x: x.tolist() if hasattr(x, "tolist") else x
    row = lambda x: tuple(map(plain, x)) if isinstance(x, list | tuple) else plain(x)
    found = {str(name): row(values) for name, values in found.items()}
    return found | {"the arguments are left as they are": same}
""",
    parts={
        "variance": ("variance", "the arguments are left as they are"),
        "what the softmax lets through": ("through",),
    },
)

Q3 = question(
    """q3: What follows: which power?
right_power(sizes, variances)
read exercises/05_scaled: What follows: which power?
the power, 2 points, within 2e-3 or 1e-3: four sizes; powers of two; two sizes; in any order; falling
    Fit a straight line through ln var over ln d by least squares: its slope is b, and scores
    divided by d^p have a variance divided by d^(2p).
RIGHT
def right_power(sizes, variances):
    x, y = np.log(sizes), np.log(variances)
    return np.polyfit(x, y, 1)[0] / 2
def right_power(sizes, variances):
    x, y = np.log(sizes), np.log(variances)
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / (x @ x)) / 2
def right_power(sizes, variances):
    x = torch.tensor(sizes, dtype=torch.float64).log()
    y = torch.tensor(variances, dtype=torch.float64).log()
    A = torch.stack([x, torch.ones_like(x)], 1)
    return torch.linalg.lstsq(A, y[:, None]).solution[0] / 2
def right_power(sizes, variances):
    x, y = np.log2(sizes), np.log2(np.sqrt(variances))
    return np.cov(x, y)[0, 1] / np.var(x, ddof=1)
WRONG
the exponent of the variance | / 2 ->
    You return b, by which the variance grows: dividing scores by d^p divides their variance by
    d^(2p).
what theory says | np.polyfit(x, y, 1)[0] / 2 -> 0.5
    You return what holds for independent entries, whatever the table says: fit the line.
no logarithms | (x, y, 1) -> (sizes, variances, 1)
    You fit a line through the numbers themselves: a power is a straight line between logarithms.
one logarithm | (x, y, 1) -> (sizes, y, 1)
    You take the logarithm of the variances alone, which fits an exponential: sizes need one, too.
logarithm of the sizes alone | (x, y, 1) -> (x, variances, 1)
    You take the logarithm of the sizes alone: the variances need one, too.
intercept | [0] -> [1]
    You return half the height of the line at ln d = 0, which is ln c: the slope is asked for.
axes exchanged | (x, y, 1) -> (y, x, 1)
    You fit ln d over ln var: the variance stands on the other axis, and the size below.
through the origin | np.polyfit(x, y, 1)[0] -> (x @ y) / (x @ x)
    Your line is made to pass through the origin, as if c were 1: let it have a height.
first and last alone | np.polyfit(x, y, 1)[0] -> (y[-1] - y[0]) / (x[-1] - x[0])
    You look at the first and the last size alone: least squares uses all of them.
mean of the slopes | np.polyfit(x, y, 1)[0] -> float(np.mean(np.diff(y) / np.diff(x)))
    You average the slopes from point to point: least squares fits one line to all points.
twice instead of half | / 2 -> * 2
    You double the exponent: a variance is a square, so the power is half of it.
root of the exponent | np.polyfit(x, y, 1)[0] / 2 -> abs(np.polyfit(x, y, 1)[0]) ** 0.5
    You take the square root of the exponent: the root of d to the b is d to half of b.
sign | R -> -R
    Your sign is turned round: a variance that grows asks for a positive power, one that falls for a
    negative one.
""",
    draw=draw_table,
    oracle=right_power,
    probe=value_probe,
)

EXERCISE = Exercise("05_scaled", "Scaled scores", (Q1, Q2, Q3))
