"""How the exercise on scaled scores is graded: oracles, cases, known mistakes."""

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import COMMON_SIZES, normal, softmax_rows
from seqattn.grading.probes import value_probe
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


FORMS = "U, apart from its numbers,", "V, apart from its numbers,"
SHARED = ("rows of U times one another", "rows of V times one another")


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


def product_of(W, k):
    """Keep the k largest directions of a matrix, by the eigenvectors of its square."""
    squares, axes = np.linalg.eigh(W @ W.T)
    largest = axes[:, np.argsort(-squares)[:k]]
    return largest @ largest.T @ W


def factors(W, k):
    lengths = np.sqrt(np.maximum(np.linalg.eigvalsh(W @ W.T), 0))[::-1]
    found = {"two tensors, U and V": True, "the matrix is left as it is": True}
    found |= dict(zip(FORMS, (np.zeros((k, size)) for size in W.shape)))
    found |= {"the product of U and V": product_of(W, k), "the precision is kept": True}
    return found | dict.fromkeys(SHARED, np.diag(lengths[:k]))


def directions(W, queries, keys, most):
    def weights(M):
        return softmax_rows(np.array([[s @ M @ h for h in row] for s, row in zip(queries, keys)]))

    ranks = range(1, min(W.shape) + 1)
    away = [np.abs(weights(product_of(W, k)) - weights(W)).sum(1) / 2 for k in ranks]
    moved = tuple(float(row.mean()) for row in away)
    needed = min(k for k, x in zip(ranks, moved) if x <= most)
    return {"moved": moved, "needed": needed, "the arguments are left as they are": True}


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


MATRICES = {  # d_q, d_k, rank
    "ordinary": (4, 6, 2),
    "tall": (6, 3, 2),
    "square": (4, 4, 3),
    "one direction": (3, 5, 1),
    "all directions": (5, 4, 4),
    "of lower rank": (5, 6, 3),
    "long": (3, 4, 2),
}


def matrix(rng, d_q, d_k, scale=1.0):
    """Draw a matrix whose directions can be told from one another."""
    while True:
        W = normal(rng, d_q, d_k, scale=scale)
        sizes = np.linalg.svd(W, compute_uv=False)
        if (sizes[1:] < 0.8 * sizes[:-1]).all() and sizes[-1] > 0.1 * sizes[0]:
            return W


def draw_factors(rng, kind):
    d_q, d_k, k = MATRICES[kind]
    W = matrix(rng, d_q, d_k)
    while kind == "long":
        W = matrix(rng, d_q, d_k, scale=30.0)
        # Of a number near 0 among large ones rounding leaves no digits.
        size = np.abs(product_of(W.astype(np.float64), k))
        if size.min() > 0.02 * size.max():
            break
    if kind == "of lower rank":
        W = product_of(W.astype(np.float64), 2).astype(np.float32)
    return W, k


NEEDS = {  # queries, keys of each, d_q, d_k
    "ordinary": (6, 4, 4, 5),
    "other sizes": (5, 7, 5, 3),
    "square": (4, 4, 4, 4),
    "a direction that no key has": (7, 3, 4, 4),
    "up and down": (3, 4, 4, 5),
    "all are needed": (5, 6, 3, 4),
    "nothing may move": (4, 4, 4, 5),
}


def draw_needs(rng, kind):
    n, S, d_q, d_k = NEEDS[kind]
    while True:
        W, queries, keys = matrix(rng, d_q, d_k), normal(rng, n, d_q), normal(rng, n, S, d_k)
        if kind == "a direction that no key has":
            deaf = np.linalg.svd(W)[2][0]
            keys -= ((keys @ deaf)[..., None] * deaf).astype(np.float32)
        if kind == "up and down":
            # The last direction takes back most of what the one before it adds.
            left, sizes, right = np.linalg.svd(W)
            queries += ((queries @ (left[:, -2] - left[:, -1]))[:, None] * left[:, -1]).astype("f")
            back = 0.8 * right[-3] * sizes[-2] / sizes[-1] + right[-2]
            keys -= ((keys @ back)[..., None] * right[-2]).astype(np.float32)
        if kind == "nothing may move":
            # Every weight is a quarter at any rank, so that exactly what is allowed moves.
            return W, queries, 0 * keys, 0.0
        exact = [x.astype(np.float64) for x in (W, queries, keys)]
        *moved, _ = directions(*exact, most=1.0)["moved"]
        needed = rng.integers(2, len(moved) + 1)
        if kind == "all are needed":
            needed = len(moved) + 1
        before, here = min(moved[: needed - 1]), [*moved, 0.0][needed - 1]
        rises = any(x > before + 0.02 for x in moved[needed:])
        # No close call.
        if before - here > 0.04 and (rises or kind != "up and down"):
            return W, queries, keys, float(np.float32((before + here) / 2))


# --- Questions -----------------------------------------------------------------------------------

# Of a function that gives a dict of rows of numbers, and may not change what it measures.
TABLE = """
def probe(measure, *inputs):
    kept = [x.clone() for x in inputs if torch.is_tensor(x)]
    found = measure(*inputs)
    if not isinstance(found, dict):
        return found
    same = all(map(torch.equal, kept, [x for x in inputs if torch.is_tensor(x)]))
    plain = lambda x: x.tolist() if hasattr(x, "tolist") else x
    row = lambda x: tuple(map(plain, x)) if isinstance(x, list | tuple) else plain(x)
    found = {str(name): row(values) for name, values in found.items()}
    return found | {"the arguments are left as they are": same}
"""

Q1 = question(
    f"""q1: Scaled dot products
scaled_dot_attention(queries, keys, values)
read chapters/05_scaled: All queries at once
the formula, 2 points: {SHAPES}
    Scores are Q times the transpose of K, divided by the square root of the queries' size, before
    the softmax; the weights then multiply V.
extreme scores, 1 point: large
    With scores in the hundreds your numbers are wrong: softmax takes any size, so neither cut the
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
    You divide by d itself; for independent entries of mean 0 and variance 1 the standard deviation of the scores is the square root of d.
size of the values | queries.shape -> values.shape
    You scale by the size of the values; what counts is the size of queries and keys.
whole part of the root | math.sqrt(queries.shape[-1]) -> math.isqrt(queries.shape[-1])
    You round the root of d down to a whole number: it has digits after the decimal point, as in d ** 0.5.
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
scores cut off, keeps 3 | / math.sqrt(queries.shape[-1]), -1) -> / math.sqrt(queries.shape[-1])).clamp(-50, 50), -1)
    | torch.softmax(queries -> torch.softmax((queries
    You cut scores off at a limit, so that words beyond it tie: softmax takes scores of any size.
largest of all, keeps 3
    | e = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    | raised = (e - e.max()).exp(); return raised / raised.sum(-1, keepdim=True) @ values
    You subtract the largest score of all rows: rows far below it vanish, and 0 / 0 is NaN. Each
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
read chapters/05_scaled: What saturation costs
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
    probe=TABLE,
    parts={
        "variance": ("variance", "the arguments are left as they are"),
        "what the softmax lets through": ("through",),
    },
)

Q3 = question(
    """q3: What follows: which power?
right_power(sizes, variances)
read chapters/05_scaled: Which vectors need the root?
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
    You fit ln d over ln var: ln var belongs on the vertical axis and ln d on the horizontal one.
through the origin | np.polyfit(x, y, 1)[0] -> (x @ y) / (x @ x)
    Your line is made to pass through the origin, as if c were 1: let it have a height.
first and last alone | np.polyfit(x, y, 1)[0] -> (y[-1] - y[0]) / (x[-1] - x[0])
    You look at the first and the last size alone: least squares uses all of them.
mean of the slopes | np.polyfit(x, y, 1)[0] -> float(np.mean(np.diff(y) / np.diff(x)))
    You average the slopes from point to point: least squares fits one line to all points.
twice instead of half | / 2 -> * 2
    You double the exponent: a variance is a square, so the power is half of it.
never below zero | R -> max(R, 0.0)
    You let no power fall below 0: where the variance falls with the size, the right power is negative.
sign dropped | R -> abs(R)
    You drop the sign: where the variance falls with the size, the right power is negative.
correlation | np.polyfit(x, y, 1)[0] -> np.corrcoef(x, y)[0, 1]
    You take the correlation, which says how well a line fits: the slope of the line is asked for.
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

Q4 = question(
    """q4: A matrix in two thin ones
factors(W, k)
read chapters/05_scaled: Cut a matrix down
the nearest matrix, 2 points: ordinary; tall; square; one direction; all directions; of lower rank; long
    The product of the transpose of U with V must keep the k largest singular values of W, with their
    vectors on both sides, and nothing else.
shared evenly, 1 point: ordinary; tall; square; one direction; of lower rank
    The product may be right, but U and V do not share it: each takes the square root of a singular
    value into its row, the largest first.
RIGHT
def factors(W, k):
    left, sizes, right = torch.linalg.svd(W, full_matrices=False)
    root = sizes[:k, None].sqrt()
    return root * left[:, :k].T, root * right[:k]
def factors(W, k):
    left, sizes, right = torch.svd(W)
    return (left[:, :k] * sizes[:k] ** 0.5).T, (right[:, :k] * sizes[:k] ** 0.5).mT
def factors(W, k):
    left, sizes, right = torch.linalg.svd(W)
    D = torch.diag(sizes[:k].sqrt())
    return D @ left.T[:k], D @ right[:k]
def factors(W, k):
    left, sizes, right = torch.linalg.svd(W.T, full_matrices=False)
    pairs = [(s.sqrt() * b, s.sqrt() * a) for a, s, b in zip(left.T, sizes, right)][:k]
    return torch.stack([u for u, _ in pairs]), torch.stack([v for _, v in pairs])
def factors(W, k):
    exact = W.double()
    axes = torch.linalg.eigh(exact @ exact.T).eigenvectors.T[-k:].flip(0)
    rows = axes @ exact
    root = rows.norm(dim=1, keepdim=True).sqrt()
    return (axes * root).to(W.dtype), (rows / root).to(W.dtype)
WRONG
left not transposed | left[:, :k].T -> left[:k]
    You take the first k rows of the left matrix of the decomposition; its columns are the
    directions: turn it round first.
right transposed | root * right[:k] -> root * right.T[:k]
    You turn the right matrix round: torch.linalg.svd gives it with the directions as rows already
    (torch.svd is the one that does not).
smallest kept
    | sizes[:k, None] -> sizes[-k:, None]; left[:, :k] -> left[:, -k:]; right[:k] -> right[-k:]
    You keep the k smallest singular values: the nearest matrix keeps the largest ones.
directions paired wrongly, keeps 1
    | left[:, :k].T, root * right[:k] -> left[:, :k].T, root * right[:k].flip(0)
    The directions of V stand in another order than those of U: row j of the one belongs to row j of the
    other.
rows of U in reverse | R -> (R[0].flip(0), R[1])
    The rows of U stand in another order than those of V: row j of the one belongs to row j of the
    other, the longest first.
rows of V in reverse | R -> (R[0], R[1].flip(0))
    Row j of V does not belong to row j of U: both begin with the largest singular value.
eigenvectors as they come, keeps 2
    | V = torch.linalg.eigh(W.T @ W).eigenvectors[:, -k:].T
    | return (W @ V.T).T, V
    The product is right, but your rows of V all have length 1 and the shortest pair comes first: eigh
    sorts the other way, and each row takes the square root of a singular value.
rows in reverse, keeps 2 | R -> (R[0].flip(0), R[1].flip(0))
    The product is right, but your rows begin with the shortest: the longest comes first.
all of it in U, keeps 2 | sizes[:k, None].sqrt() -> sizes[:k, None]; root * right -> right
    The product is right, but the singular values are all in U: each of the two takes their square
    roots.
all of it in V, keeps 2 | sizes[:k, None].sqrt() -> sizes[:k, None]; root * left -> left
    The product is right, but the singular values are all in V: each of the two takes their square
    roots.
counted twice | sizes[:k, None].sqrt() -> sizes[:k, None]
    Both of yours take the whole singular values, so that their product has squares of them: take
    the square root into each.
root in one alone | root * right -> right
    V has no part of the singular values and U their square roots: each of the two takes the square
    root, so that the product has the whole.
lengths left out | root * left -> left; root * right -> right
    Your rows all have length 1: the singular values have been left out.
root twice | .sqrt() -> .sqrt().sqrt()
    You take the root of a root: the product then has the square roots of the singular values.
one direction too many | R -> factors(W, k + 1) if k < 2 else R
    You keep one direction more than k, where k is 1: the slice [:k] has k entries.
one direction too few | R -> (R[0][:-1], R[1][:-1])
    You keep one direction less than k: the slice [:k] has k entries.
U and V exchanged | R -> R[::-1]
    You return V, then U; U, which meets the query, comes first.
columns for rows | R -> (R[0].T, R[1].T)
    Your directions are columns: U is (k, d_q) and V is (k, d_k), with the directions as rows.
product returned | R -> R[0].T @ R[1]
    You return the product of the two: return U and V themselves.
an approximate decomposition | left, sizes, right = torch.svd_lowrank(W, q=k)
    | root = sizes.sqrt()
    | return (left * root).T, (right * root).T
    torch.svd_lowrank draws at random and gives an approximation: use torch.linalg.svd, and cut it.
rows of W kept | return torch.eye(k, len(W)), W[:k]
    You keep the first k rows of W as they are, and drop the others: directions lie across the rows.
mean taken away | svd(W, full -> svd(W - W.mean(0), full
    You take the mean of the rows away first, as principal components do: here W is decomposed as it
    is.
square roots of rounded squares, keeps 2
    | sizes, left = torch.linalg.eigh(W @ W.T)
    | sizes, left = sizes.flip(0)[:k].clamp(min=1e-12).sqrt(), left.flip(1)[:, :k]
    | right = left.T @ W / sizes[:, None]
    | return sizes.sqrt()[:, None] * left.T, sizes.sqrt()[:, None] * right
    Your singular values are roots of the eigenvalues of W times its transpose, which are their squares:
    where one is small or 0, rounding is all that is left of it. Use torch.linalg.svd.
signs dropped | root * right[:k] -> root * right[:k].abs()
    You drop the signs of the entries of V: a direction has signs, and only both rows of a pair may
    change theirs.
""",
    draw=draw_factors,
    oracle=factors,
    probe=f"FORMS = {FORMS}"
    + """
def probe(factors, W, k):
    kept = W.clone()
    found = factors(W, k)
    pair = isinstance(found, tuple | list) and len(found) == 2
    if not pair or not all(isinstance(x, torch.Tensor) for x in found):
        return found if found is None else {"two tensors, U and V": False}
    U, V = found
    said = {"two tensors, U and V": True, "the matrix is left as it is": torch.equal(W, kept)}
    said |= dict(zip(FORMS, (torch.zeros(x.shape) for x in found)))
    if (U.shape, V.shape) != ((k, W.shape[0]), (k, W.shape[1])):
        return said
    exact = kept.double() * (1 + 1e-9)
    precise = factors(exact, k)
    # What float32 cannot hold must make a difference.
    differ = not all(map(torch.equal, precise, factors(kept.double(), k)))
    digits = lambda x: x.dtype == torch.float64 and not torch.equal(x, x.float().double())
    said["the precision is kept"] = differ and all(map(digits, precise)) and U.dtype == W.dtype
    said |= {"the product of U and V": U.T @ V, "rows of U times one another": met(U)}
    return said | {"rows of V times one another": met(V)}

def met(rows):
    products = rows @ rows.T
    squares = products.diag()
    # Where a row should be 0, it is what rounding left, in any direction.
    short = squares < 1e-5 * squares.max()
    free = (short[:, None] | short) & ~torch.eye(len(rows), dtype=torch.bool)
    return products.masked_fill(free, 0.0)
""",
    parts={
        "the nearest matrix": (
            *("two tensors, U and V", *FORMS, "the product of U and V"),
            *("the precision is kept", "the matrix is left as it is"),
        ),
        "shared evenly": SHARED,
    },
)

Q5 = question(
    """q5: Measured: how many directions does a score need?
directions(W, queries, keys, most)
read chapters/05_scaled: Cut a matrix down
how much moves, 2 points, within 1e-4 or 0.01: ordinary; other sizes; square; a direction that no key has; up and down; all are needed
    For each rank: the weights of the cut matrix beside those of the whole one, half the sum of the
    absolute differences over the keys, and the mean of that over the queries.
how many are needed, 1 point: ordinary; other sizes; square; a direction that no key has; up and down; all are needed; nothing may move
    The smallest rank at which the mean is at most what is allowed, counted from 1.
RIGHT
def directions(W, queries, keys, most):
    moved = []
    whole = torch.einsum('nd,de,nse->ns', queries, W, keys).softmax(-1)
    for k in range(1, min(W.shape) + 1):
        U, V = factors(W, k)
        weights = torch.einsum('nk,nsk->ns', queries @ U.T, keys @ V.T).softmax(-1)
        moved.append(float((weights - whole).abs().sum(-1).mean()) / 2)
    enough = [k for k, x in enumerate(moved, 1) if x <= most]
    return {'moved': moved, 'needed': enough[0]}
def directions(W, queries, keys, most):
    score = lambda M: torch.softmax(((queries @ M)[:, None] * keys).sum(-1), -1)
    left, sizes, right = torch.linalg.svd(W, full_matrices=False)
    cut = [(left[:, :k] * sizes[:k]) @ right[:k] for k in range(1, len(sizes) + 1)]
    moved = torch.stack([(score(M) - score(W)).abs().sum(1).mul(0.5).mean() for M in cut])
    return {'moved': moved, 'needed': 1 + (moved <= most).int().argmax()}
def directions(W, queries, keys, most):
    def weights(U, V):
        return torch.bmm(keys @ V.T, (queries @ U.T)[:, :, None])[:, :, 0].softmax(1)
    ranks = range(1, min(W.shape) + 1)
    whole = weights(*factors(W, ranks[-1]))
    # What one key gains another loses.
    moved = [(weights(*factors(W, k)) - whole).clamp_min(0).sum(1).mean().item() for k in ranks]
    return {'moved': tuple(moved), 'needed': next(k for k, x in zip(ranks, moved) if x <= most)}
def directions(W, queries, keys, most):
    whole = torch.einsum('nd,de,nse->ns', queries, W, keys).softmax(-1)
    moved, needed = [], 0
    for k in range(1, min(W.shape) + 1):
        U, V = factors(W, k)
        weights = torch.einsum('nd,de,nse->ns', queries, U.T @ V, keys).softmax(-1)
        moved.append(1 - torch.minimum(weights, whole).sum(-1).mean().item())
        if moved[-1] <= most and not needed: needed = k
    return {'moved': moved, 'needed': needed}
def directions(W, queries, keys, most):
    U, V = factors(W, min(W.shape))
    # Row k holds the scores that the first k directions give.
    scores = (queries @ U.T)[:, None] * (keys @ V.T)
    weights = scores.cumsum(-1).softmax(1)
    moved = (weights - weights[:, :, -1:]).abs().sum(1).mean(0) / 2
    return {'moved': moved, 'needed': int(torch.nonzero(moved <= most)[0]) + 1}
WRONG
not halved | / 2 ->
    What one key loses another gains, so that your sum counts all that moves twice: take half of it.
largest for mean | .mean() -> .amax()
    You take the query whose weights move most: the mean over the queries is asked for.
mean over the keys | .sum(-1).mean() -> .mean()
    You average over the keys as well: add up over the keys, and average over the queries.
squares | .abs() -> .square()
    You square the differences: it is their absolute values that add up to the weight that moves.
signs kept | .abs().sum(-1) -> .sum(-1).abs()
    You add up before you drop the signs: gains and losses of a row cancel, and nothing seems to move.
scores compared | , W, keys).softmax(-1) -> , W, keys); , keys @ V.T).softmax(-1) -> , keys @ V.T)
    You compare scores: a softmax over the keys comes first, since weights are asked for.
softmax over the queries
    | , W, keys).softmax(-1) -> , W, keys).softmax(0); , keys @ V.T).softmax(-1) -> , keys @ V.T).softmax(0)
    Your softmax runs over the queries, dim 0: the weights of a query over its keys sum to 1.
scaled | , W, keys) -> , W / len(W) ** 0.5, keys); queries @ U.T -> queries @ U.T / len(W) ** 0.5
    You divide the scores by a root: this score is not scaled.
scaled by the other size
    | , W, keys) -> , W / W.shape[1] ** 0.5, keys); queries @ U.T -> queries @ U.T / W.shape[1] ** 0.5
    You divide the scores by the root of the keys' size: s W h is not scaled here, by no size.
compared with rank one less
    | whole = torch.einsum('nd,de,nse->ns', queries, W, keys).softmax(-1) -> whole = torch.full(keys.shape[:2], 1 / keys.shape[1])
    | / 2) -> / 2); whole = weights
    You compare each rank with the rank before: what counts is how far it is from the whole matrix.
compared with equal weights
    | torch.einsum('nd,de,nse->ns', queries, W, keys).softmax(-1) -> 1 / keys.shape[1]
    You compare with equal weights: what counts is how far a rank is from the whole matrix.
what is dropped
    | queries @ U.T, keys @ V.T) -> queries @ (W - U.T @ V), keys)
    You score with what the cut has dropped: score with what it keeps.
best word alone
    | (weights - whole).abs().sum(-1).mean() -> (weights.argmax(-1) != whole.argmax(-1)).float().mean() * 2
    You count the queries whose heaviest key changes: weights can move a lot before that.
counted from zero, keeps 2 | enumerate(moved, 1) -> enumerate(moved)
    Your ranks begin at 0: rank 1 is the first of the list.
last that is not enough, keeps 2 | x <= most] -> x > most]; enough[0] -> max(enough, default=0)
    You return the largest rank that moves too much: the smallest that does not is asked for.
at most taken for less, keeps 2 | x <= most] -> x < most]; enough[0] -> [*enough, len(moved)][0]
    A rank that moves exactly what is allowed is not good enough for you: at most means <=.
all from there on, keeps 2 | enough[0] -> 1 + max((k for k, x in enumerate(moved, 1) if x > most), default=0)
    You look for the rank from which on nothing moves too much: the smallest rank that is good enough
    is asked for, and more directions can be worse again.
ranks that move too much counted, keeps 2
    | enough[0] -> 1 + sum(x > most for x in moved)
    You count the ranks that move too much, which is right only where more directions are never
    worse: look for the first one that is good enough.
by the squared singular values, keeps 2
    | return -> sizes = torch.linalg.svdvals(W).square(); kept = sizes.cumsum(0) / sizes.sum(); return
    | enough[0] -> 1 + int((kept < 1 - most).sum())
    You ask how much of the squared entries is kept: that says little about weights. Go by what has
    moved.
the whole matrix left out, keeps 1 | for k in range(1, min(W.shape) + 1) -> for k in range(1, min(W.shape))
    | enough[0] -> [*enough, len(moved) + 1][0]
    You stop one rank too early: the last one is the smaller of d_q and d_k, where nothing moves.
two numbers without a name | R -> tuple(R.values())
    You return a list and a number: return a dict with the entries moved and needed.
""",
    draw=draw_needs,
    oracle=directions,
    probe=TABLE,
    uses=("q4",),
    parts={
        "how much moves": ("moved", "the arguments are left as they are"),
        "how many are needed": ("needed",),
    },
)

EXERCISE = Exercise("05_scaled", "Scaled scores", (Q1, Q2, Q3, Q4, Q5))
