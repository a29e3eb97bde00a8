"""How the exercise on the Transformer is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import normal, softmax_rows
from seqattn.grading.probes import PLAIN
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def layer_norm(x, gain, bias, eps):
    out = np.zeros_like(x)
    for place in np.ndindex(x.shape[:-1]):
        word = x[place]
        mean = sum(word) / len(word)
        variance = sum((number - mean) ** 2 for number in word) / len(word)
        out[place] = [
            g * (number - mean) / math.sqrt(variance + eps) + b
            for number, g, b in zip(word, gain, bias, strict=True)
        ]
    return out


def run_stack(x, matrices, gains, pre):
    def norm(gain, y):
        return gain * y / np.sqrt((y**2).sum(-1, keepdims=True) / y.shape[-1] + 1e-6)

    for matrix, gain in zip(matrices, gains[:-1], strict=True):
        read = norm(gain, x) if pre else x
        x = x + np.tanh(read @ matrix)
        x = x if pre else norm(gain, x)
    return norm(gains[-1], x) if pre else x


def next_word(x, W_q, W_k, W_v, past_k, past_v, heads):
    B, G, t, size = past_k.shape
    keys, values = np.zeros((B, G, t + 1, size)), np.zeros((B, G, t + 1, size))
    contexts = np.zeros((B, heads * size))
    for b in range(B):
        for g in range(G):
            at = slice(g * size, (g + 1) * size)
            keys[b, g, :t], values[b, g, :t] = past_k[b, g], past_v[b, g]
            keys[b, g, t], values[b, g, t] = (x[b] @ W_k)[at], (x[b] @ W_v)[at]
        for h in range(heads):
            at, g = slice(h * size, (h + 1) * size), h // (heads // G)
            scores = np.array([(x[b] @ W_q)[at] @ key for key in keys[b, g]])
            for i, weight in enumerate(softmax_rows(scores / math.sqrt(size))):
                contexts[b, at] += weight * values[b, g, i]
    return contexts, keys, values


def merge_halves(m1, z1, a1, m2, z2, a2):
    m, z, a = np.maximum(m1, m2), np.zeros_like(z1), np.zeros_like(a1)
    for b in range(len(m)):
        for top, total, values in ((m1, z1, a1), (m2, z2, a2)):
            if top[b] > -math.inf:
                z[b] += math.exp(top[b] - m[b]) * total[b]
                a[b] += math.exp(top[b] - m[b]) * values[b]
            elif total[b] or values[b].any():
                # An empty half's sums are 0, so of them any gradient will do that is a number.
                z[b] = a[b] = np.nan
    return m, z, a


def cache_bill(layers, heads, groups, d_h, T, batch):
    d, d_kv, kept, anew = heads * d_h, groups * d_h, 0, 0
    for _ in range(layers * batch):
        for t in range(1, T + 1):
            kept += d * d + d * d_kv + d * d_kv + d * d + t * d + t * d
            anew += t * (d * d + d * d_kv + d * d_kv + d * d) + t * t * d + t * t * d
    return 2 * layers * batch * T * d_kv, kept, anew


# --- Cases -----------------------------------------------------------------------------------------

NORMS = {  # B, T, d
    "ordinary": (2, 3, 5),
    "other sizes": (3, 5, 4),
    "all sizes equal": (3, 3, 3),
    "large eps": (2, 3, 4),
    "far from zero": (2, 2, 5),
    "one sentence": (1, 4, 3),
    "one word": (2, 1, 6),
}


def draw_norm(rng, kind):
    B, T, d = NORMS[kind]
    x = normal(rng, B, T, d, scale=1.5)
    # Beside a small variance even a small ε shows.
    while x.var(-1).min() < 0.2:
        x = normal(rng, B, T, d, scale=1.5)
    if kind == "far from zero":
        # Not so far that the mean square minus the squared mean has too few digits.
        x = (x + 6.0).astype(np.float32)
    return x, normal(rng, d), normal(rng, d), 0.5 if kind == "large eps" else 1e-5


STACKS = {  # B, T, d, parts, pre
    "pre": (2, 3, 4, 2, True),
    "post": (2, 3, 4, 2, False),
    "pre, deep": (3, 2, 3, 5, True),
    "post, deep": (3, 2, 3, 5, False),
    "pre, one part": (1, 3, 2, 1, True),
    "post, one part": (1, 3, 2, 1, False),
}


def draw_stack(rng, kind):
    B, T, d, parts, pre = STACKS[kind]
    gains = rng.uniform(0.5, 2.0, (parts + 1, d)).astype(np.float32)
    return normal(rng, B, T, d), normal(rng, parts, d, d), gains, pre


CACHES = {  # B, d, H, G, d_h, t
    "ordinary": (2, 5, 4, 2, 3, 4),
    "other sizes": (3, 7, 6, 2, 2, 5),
    "no sharing": (2, 5, 3, 3, 2, 4),
    "all share": (2, 4, 3, 1, 4, 3),
    "first word": (2, 5, 4, 2, 3, 0),
    "all sizes equal": (2, 2, 2, 2, 2, 2),
    "three a group": (2, 5, 6, 2, 4, 3),
    "one sentence": (1, 5, 4, 2, 2, 3),
    "large scores": (2, 5, 4, 2, 3, 4),
}


def draw_cache(rng, kind):
    B, d, H, G, size, t = CACHES[kind]
    past = normal(rng, B, G, t, size), normal(rng, B, G, t, size)
    matrices = normal(rng, d, H * size), normal(rng, d, G * size), normal(rng, d, G * size)
    x = normal(rng, B, d)
    if kind == "large scores":
        # Of states that nearly point one way the projections below would be rounded by too much.
        while np.linalg.cond(x) > 4:
            x = normal(rng, B, d)
        # A last number that all keys share: it adds 300 to each score of a row, and no weight changes.
        at = np.arange(size - 1, H * size, size)
        matrices[0][:, at] = x.T @ np.linalg.inv(x @ x.T) @ np.full((B, H), 300 * math.sqrt(size))
        past[0][..., -1] = 1.0
        matrices[1][:, at[:G]] = x.T @ np.linalg.inv(x @ x.T) @ np.ones((B, G))
    return x, *matrices, *past, H


def draw_halves(rng, kind):
    B, d = {"one query": (1, 4), "all sizes equal": (3, 3)}.get(kind, (4, 3))
    halves = []
    for half in (0, 1):
        m = normal(rng, B, scale=2.0)
        if kind == "far apart":
            m = (m * 1_500 + 3_000).astype(np.float32)
        z = rng.uniform(1.0, 5.0, B).astype(np.float32)
        z[0] = 1.0  # a half of one key
        a = normal(rng, B, d, scale=3.0)
        empty = {
            "an empty half": [half],
            "nothing at all": [0, 1 + half] if half else [0, 1],
        }.get(kind, [])
        m[empty], z[empty], a[empty] = -np.inf, 0.0, 0.0
        halves += [m, z, a]
    if B == 4:
        # Of two queries that both halves saw, each half has the larger maximum once.
        for row, low in ((2, 3), (3, 0)):
            halves[low][row], halves[3 - low][row] = sorted([halves[0][row], halves[3][row]])
    if kind == "large values far down":
        # By turns one half lies far below the other, with values as large as its factor is small.
        gap = rng.uniform(25, 60, B)
        for b in range(B):
            low = 3 * (b % 2)
            halves[low][b] = halves[3 - low][b] - gap[b]
            halves[low + 2][b] *= np.exp(gap[b])
    return tuple(halves)


BILLS = {  # layers, heads, groups, d_h, T, batch
    "ordinary": (2, 4, 2, 3, 5, 3),
    "no sharing": (3, 2, 2, 5, 7, 1),
    "one group": (1, 6, 1, 4, 11, 2),
    "long": (2, 4, 2, 2, 60, 1),
    "one word": (3, 2, 1, 7, 1, 5),
}


def draw_bill(rng, kind):
    layers, *rest = BILLS[kind]
    return layers + int(rng.integers(2)), *rest


# --- Questions -------------------------------------------------------------------------------------

Q1 = question(
    """q1: Normalise
layer_norm(x, gain, bias, eps)
read chapters/16_transformer: By hand
each word by itself, 2 points: ordinary; other sizes; all sizes equal; far from zero; one sentence; one word
    The mean and the variance are those of the d numbers of one word; gain and bias come last.
where ε stands, 1 point: large eps
    ε is added to the variance, below the root.
gradients, 1 point, backward: ordinary
    The values are right, but no gradient reaches x, the gain or the bias: no detach on the way.
RIGHT
def layer_norm(x, gain, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return gain * centred / torch.sqrt(variance + eps) + bias
def layer_norm(x, gain, bias, eps):
    spread = x.var(-1, correction=0, keepdim=True)
    return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(spread + eps) * gain + bias
def layer_norm(x, gain, bias, eps):
    d = x.shape[-1]
    mean = x.sum(2, keepdim=True) / d
    deviation = ((x - mean) ** 2).sum(2, keepdim=True) / d
    return torch.addcmul(bias, gain, (x - mean) / (deviation + eps) ** 0.5)
def layer_norm(x, gain, bias, eps):
    words = []
    for word in x.flatten(0, 1):
        off = word - word.mean()
        words.append(gain * off / ((off * off).mean() + eps).sqrt() + bias)
    return torch.stack(words).view(x.shape)
def layer_norm(x, gain, bias, eps):
    off = x - torch.einsum("btd->bt", x)[..., None] / x.size(-1)
    power = torch.einsum("btd,btd->bt", off, off)[..., None] / x.size(-1)
    return off.div((power + eps).sqrt()).mul(gain).add(bias)
WRONG
divided by d − 1 | x.var(-1, correction=0, keepdim=True) -> x.var(-1, keepdim=True)
    Your variance divides by d − 1, as PyTorch's var does by default: divide by d.
ε outside the root, keeps 2 | torch.sqrt(variance + eps) -> (torch.sqrt(variance) + eps)
    You add ε outside the root: add it to the variance, below the root.
ε forgotten, keeps 2 | torch.sqrt(variance + eps) -> torch.sqrt(variance)
    Your root has no ε, or a constant of your own: add the argument eps to the variance, below the root.
ε as a floor, keeps 2 | torch.sqrt(variance + eps) -> torch.sqrt(variance.clamp(min=eps))
    You take the larger of variance and ε: add ε to the variance.
ε multiplied | torch.sqrt(variance + eps) -> torch.sqrt(variance * eps)
    You multiply the variance by ε: add ε to it, below the root.
not divided | return gain * centred / torch.sqrt(variance + eps) + bias -> return gain * centred + bias
    You subtract the mean and stop: divide by the root of (variance + ε) as well.
multiplied by the spread | return gain * centred / torch -> return gain * centred * torch
    You multiply by the root of the variance: divide by it.
sum of the squares | variance = centred.square().mean(-1, keepdim=True) -> variance = centred.square().sum(-1, keepdim=True)
    You take the sum of the squared deviations: the variance is their mean.
squares of x | variance = centred.square() -> variance = x.square()
    You average the squares of x itself: the variance is the mean square of what is left after the mean.
each number's own square | variance = centred.square().mean(-1, keepdim=True) -> variance = centred.square()
    You divide each number by its own deviation: the d numbers of a word share one variance.
absolute deviations | variance = centred.square().mean(-1, keepdim=True) -> variance = centred.abs().mean(-1, keepdim=True).square()
    You divide by the mean absolute deviation: square the deviations, average them, take the root.
mean added | centred = x - x.mean( -> centred = x + x.mean(
    You add the mean of the d numbers: subtract it.
sign turned | centred = x - x.mean(-1, keepdim=True) -> centred = x.mean(-1, keepdim=True) - x
    You subtract x from its mean, so that every sign is turned: subtract the mean from x.
sum subtracted | centred = x - x.mean(-1, keepdim=True) -> centred = x - x.sum(-1, keepdim=True)
    You subtract the sum of the d numbers: divide it by d first.
bias subtracted | torch.sqrt(variance + eps) + bias -> torch.sqrt(variance + eps) - bias
    You subtract the bias at the end: add it instead.
bias multiplied | torch.sqrt(variance + eps) + bias -> torch.sqrt(variance + eps) * bias
    You multiply by the bias at the end: add it instead.
gain added | return gain * centred -> return gain + centred
    You add the gain to the deviations: multiply by it.
gain added to the deviations | return gain * centred / torch -> return (gain + centred) / torch
    You add the gain to the deviations before you divide: multiply them by it.
deviations left out | return gain * centred / torch -> return gain / torch
    You divide the gain and leave the numbers out: multiply the gain by x minus its mean.
not squared | ((x - mean) ** 2) -> (x - mean)
    You average the deviations themselves, which add up to 0: square them first.
mean added where it is divided | gain, (x - mean) / -> gain, (x + mean) /
    Your variance is right, but what you divide is x plus the mean: subtract it there as well.
half in place of the root | (deviation + eps) ** 0.5 -> (deviation + eps) * 0.5
    You divide by half of variance plus ε: its root is its power of 0.5.
divided by the gain | return gain * centred -> return centred / gain
    You divide the deviations by the gain: multiply by it.
1 added to the gain | return gain * centred -> return (1 + gain) * centred
    You multiply by 1 + gain: the gain is the whole factor.
mean of the gains | return gain * centred -> return gain.mean() * centred
    You multiply by one gain for all: each of the d numbers has its own.
first gain | return gain * centred -> return gain[:1] * centred
    You multiply all numbers by the first gain: each of the d numbers has its own.
mean of the biases | torch.sqrt(variance + eps) + bias -> torch.sqrt(variance + eps) + bias.mean()
    You add one bias to all: each of the d numbers has its own.
first bias | torch.sqrt(variance + eps) + bias -> torch.sqrt(variance + eps) + bias[:1]
    You add the first bias to all numbers: each of the d numbers has its own.
over the batch
    | centred = x - x.mean(0, keepdim=True)
    | return gain * centred / torch.sqrt(centred.square().mean(0, keepdim=True) + eps) + bias
    You average over the sentences: each word is normalised by itself.
over batch and words
    | centred = x - x.mean((0, 1), keepdim=True)
    | return gain * centred / torch.sqrt(centred.square().mean((0, 1), keepdim=True) + eps) + bias
    You average each number over all words of all sentences, as a batch norm does: each word is normalised by itself.
over time
    | centred = x - x.mean(1, keepdim=True)
    | return gain * centred / torch.sqrt(centred.square().mean(1, keepdim=True) + eps) + bias
    You average over the words of a sentence: each word is normalised by itself, over its d numbers.
over words and numbers
    | centred = x - x.mean((1, 2), keepdim=True)
    | return gain * centred / torch.sqrt(centred.square().mean((1, 2), keepdim=True) + eps) + bias
    You average over all numbers of a sentence: each word has a mean and a variance of its own.
not centred | return gain * centred / -> return gain * x /
    You divide x itself: subtract the mean first. What you have is closer to an RMS norm.
RMS norm
    | return gain * x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps) + bias
    You wrote an RMS norm: layer norm subtracts the mean first, also before it squares.
no root | torch.sqrt(variance + eps) -> (variance + eps)
    You divide by the variance: divide by its root.
gain before the division | return gain * centred / torch.sqrt(variance + eps) + bias -> return gain * (centred / torch.sqrt(variance + eps) + bias)
    Your gain multiplies the bias, too: multiply first, add the bias last.
no gain | return gain * centred -> return centred
    Your result does not depend on the gain: multiply by it after the division.
no bias | torch.sqrt(variance + eps) + bias -> torch.sqrt(variance + eps)
    Your result does not depend on the bias: add it at the end.
detached statistics, keeps 3 | = centred.square() -> = centred.detach().square()
    The values are right, but the spread passes no gradient: leave out the detach.
detached, keeps 3 | R -> R.detach()
    The values are right, but you cut all gradients: no detach.
"""
    + WRONG_FORMS,
    draw=draw_norm,
    oracle=layer_norm,
    forbidden=(
        "F.layer_norm",
        "LayerNorm",
        "native_layer_norm",
        "group_norm",
        "GroupNorm",
        "batch_norm",
        "instance_norm",
        "rms_norm",
    ),
)

Q2 = question(
    """q2: Stack sub-layers
run_stack(x, matrices, gains, pre)
read chapters/16_transformer: Two places for a norm
post, 2 points: post; post, deep; post, one part
    Post norm: x becomes norm(x + part(x)), part after part, and nothing comes after the last.
pre, 2 points: pre; pre, deep; pre, one part
    Pre norm: x becomes x + part(norm(x)), and one last norm stands at the end of the stack.
gradients, 1 point, backward: post; pre
    The values are right, but no gradient reaches all of the arguments: no detach on the way.
RIGHT
def run_stack(x, matrices, gains, pre):
    def norm(y, gain):
        return gain * y / (y.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    for matrix, gain in zip(matrices, gains):
        if pre:
            x = x + torch.tanh(norm(x, gain) @ matrix)
        else:
            x = norm(x + torch.tanh(x @ matrix), gain)
    return norm(x, gains[-1]) if pre else x
def run_stack(x, matrices, gains, pre):
    def norm(i, y):
        return y * torch.rsqrt(torch.mean(y * y, 2, True) + 1e-6) * gains[i]
    for i, W in enumerate(matrices):
        read = norm(i, x) if pre else x
        x = x + torch.einsum("btd,de->bte", read, W).tanh()
        x = x if pre else norm(i, x)
    if pre:
        x = norm(len(matrices), x)
    return x
def run_stack(x, matrices, gains, pre):
    same = lambda y, g: y
    rms = lambda y, g: F.rms_norm(y, (len(g),), g, 1e-6)
    before, after = (rms, same) if pre else (same, rms)
    states = x
    for W, g in zip(matrices.unbind(), gains.unbind()):
        states = after(states + torch.tanh(F.linear(before(states, g), W.T)), g)
    return before(states, gains[len(matrices)])
def run_stack(x, matrices, gains, pre):
    d = x.shape[-1]
    def norm(y, g):
        return y / ((y ** 2).sum(-1, keepdim=True) / d + 1e-6) ** 0.5 * g
    if not len(matrices):
        return norm(x, gains[0]) if pre else x
    W, g = matrices[0], gains[0]
    y = x + (norm(x, g) @ W).tanh() if pre else norm(x + (x @ W).tanh(), g)
    return run_stack(y, matrices[1:], gains[1:], pre)
def run_stack(x, matrices, gains, pre):
    def norm(y, i):
        return torch.stack([F.rms_norm(row, (x.shape[2],), gains[i], 1e-6) for row in y])
    def part(y, i):
        return torch.tanh(torch.matmul(y, matrices[i]))
    total = x
    for i in range(len(matrices)):
        total = total + part(norm(total, i), i) if pre else norm(total + part(total, i), i)
    return norm(total, -1) if pre else total
WRONG
post: the part alone is normalised, keeps 2 | norm(x + torch.tanh(x @ matrix), gain) -> x + norm(torch.tanh(x @ matrix), gain)
    Post: you normalise what the part returns. The sum is normalised.
post: no residual, keeps 2 | norm(x + torch.tanh(x @ matrix), gain) -> norm(torch.tanh(x @ matrix), gain)
    Post: where is x? What the part returns is added to what it read.
post: not normalised, keeps 2 | norm(x + torch.tanh(x @ matrix), gain) -> x + torch.tanh(x @ matrix)
    Post: the sums are never normalised; the norm comes after each sum.
post: a last norm, keeps 2 | return norm(x, gains[-1]) if pre else x -> return norm(x, gains[-1])
    Post: every sum is normalised already, so there is no last norm.
pre: no residual, keeps 2 | x + torch.tanh(norm(x, gain) @ matrix) -> torch.tanh(norm(x, gain) @ matrix)
    Pre: where is x? What the part returns is added to what stood before the norm.
pre: the norm on the straight path, keeps 2 | x + torch.tanh(norm(x, gain) @ matrix) -> norm(x, gain) + torch.tanh(norm(x, gain) @ matrix)
    Pre: you add to the normalised states. x itself passes untouched.
pre: the norm behind the part, keeps 2 | x + torch.tanh(norm(x, gain) @ matrix) -> x + norm(torch.tanh(x @ matrix), gain)
    Pre: the norm stands before the part, which reads norm(x).
pre: not normalised, keeps 2 | x + torch.tanh(norm(x, gain) @ matrix) -> x + torch.tanh(x @ matrix)
    Pre: your parts read states that were never normalised.
pre: no last norm, keeps 2 | return norm(x, gains[-1]) if pre else x -> return x
    Pre: what leaves the stack was never normalised: apply the last norm once, at the end.
pre: a last norm with the first gain, keeps 2 | norm(x, gains[-1]) -> norm(x, gains[0])
    Pre: your last norm has the first gain: the last row of the gains is its own.
pre: a norm after every part, keeps 2 | x = x + torch.tanh(norm(x, gain) @ matrix) -> x = norm(x + torch.tanh(norm(x, gain) @ matrix), gains[-1])
    Pre: the last norm comes once, behind the whole stack.
pre: a last norm with the last part's gain, keeps 2 | norm(x, gains[-1]) -> norm(x, gains[-2])
    Pre: your last norm has the gain of the last part: the row behind it is its own.
pre: tanh of the sum, keeps 2 | x + torch.tanh(norm(x, gain) @ matrix) -> torch.tanh(x + norm(x, gain) @ matrix)
    Pre: tanh belongs to the part alone; the sum of x and the part stays as it is.
post: the part reads norm(x), keeps 2 | norm(x + torch.tanh(x @ matrix), gain) -> norm(x + torch.tanh(norm(x, gain) @ matrix), gain)
    Post: your parts normalise what they read as well: in post norm only the sum is normalised.
post: the part subtracted, keeps 2 | norm(x + torch.tanh(x @ matrix), gain) -> norm(x - torch.tanh(x @ matrix), gain)
    Post: you subtract what the part returns: add it.
pre: the part subtracted, keeps 2 | x + torch.tanh(norm(x, gain) @ matrix) -> x - torch.tanh(norm(x, gain) @ matrix)
    Pre: you subtract what the part returns: add it.
post: multiplied, keeps 2 | norm(x + torch.tanh(x @ matrix), gain) -> norm(x * torch.tanh(x @ matrix), gain)
    Post: you multiply x by what the part returns: add the two.
pre: multiplied, keeps 2 | x + torch.tanh(norm(x, gain) @ matrix) -> x * torch.tanh(norm(x, gain) @ matrix)
    Pre: you multiply x by what the part returns: add the two.
gains one row too far | in zip(matrices, gains) -> in zip(matrices, gains[1:])
    Your first part has the second gain: row 1 of the gains belongs to part 1.
a part too few | in zip(matrices, gains) -> in zip(matrices[:-1], gains)
    You leave the last part out: there is one for each matrix.
all turned round | in zip(matrices, gains) -> in zip(matrices.flip(0), gains[:-1].flip(0))
    You begin with the last part and its gain: the first comes first.
all added to the first states
    | first = x
    | def norm(y, gain):
    |     return gain * y / (y.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    | for matrix, gain in zip(matrices, gains):
    |     x = first + torch.tanh(norm(x, gain) @ matrix) if pre else norm(first + torch.tanh(x @ matrix), gain)
    | return norm(x, gains[-1]) if pre else x
    You add each part to the first states: it is added to what stood before it.
gain inside the norm | return gain * y / (y.square() -> y = gain * y; return y / (y.square()
    You multiply by the gain before you divide, so it takes part in the mean square: divide first.
divided by the gain | return gain * y / -> return y / gain /
    You divide what was normalised by the gain: multiply by it.
gain added | return gain * y / (y.square().mean(-1, keepdim=True) + 1e-6).sqrt() -> return gain + y / (y.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    You add the gain to what was normalised: multiply by it.
not divided | return gain * y / (y.square().mean(-1, keepdim=True) + 1e-6).sqrt() -> return gain * y
    Your norm only multiplies by the gain: divide by the root of the mean square first.
multiplied by the root | return gain * y / (y.square() -> return gain * y * (y.square()
    You multiply by the root of the mean square: divide by it.
each number's own square | y.square().mean(-1, keepdim=True) -> y.square()
    You divide each number by its own size: the d numbers of a word share one mean square.
sigmoid | torch.tanh(norm(x, gain) @ matrix) -> torch.sigmoid(norm(x, gain) @ matrix); torch.tanh(x @ matrix) -> torch.sigmoid(x @ matrix)
    Your parts are sigmoids: each is the tanh of a product.
ReLU | torch.tanh(norm(x, gain) @ matrix) -> torch.relu(norm(x, gain) @ matrix); torch.tanh(x @ matrix) -> torch.relu(x @ matrix)
    Your parts are ReLUs: each is the tanh of a product.
pre and post exchanged | if pre: -> if not pre:; if pre else x -> if not pre else x
    You have pre and post the other way round: pre norm normalises what a part reads.
always pre, keeps 2 | if pre: -> if True:; if pre else x -> if True else x
    You build pre norm whatever `pre` says: build post norm where it is False.
always post, keeps 2 | if pre: -> if False:; if pre else x -> if False else x
    You build post norm whatever `pre` says: build pre norm where it is True.
the last part first | in zip(matrices, gains) -> in zip(matrices.flip(0), gains)
    You begin with the last part: the first matrix comes first.
one gain for all | in zip(matrices, gains) -> in zip(matrices, [gains[0]] * len(matrices))
    You use the first gain everywhere: each part has its own.
matrices transposed | x + torch.tanh(norm(x, gain) @ matrix) -> x + torch.tanh(norm(x, gain) @ matrix.T); torch.tanh(x @ matrix) -> torch.tanh(x @ matrix.T)
    Your matrices are transposed: a part is tanh(x @ matrix).
mean subtracted | return gain * y / (y.square() -> y = y - y.mean(-1, keepdim=True); return gain * y / (y.square()
    You subtract the mean: that is layer norm. An RMS norm only divides.
no tanh | torch.tanh(norm(x, gain) @ matrix) -> (norm(x, gain) @ matrix); torch.tanh(x @ matrix) -> (x @ matrix)
    Your parts are linear: each is the tanh of a product.
over the sentence | y.square().mean(-1, keepdim=True) -> y.square().mean((1, 2), keepdim=True)
    Your norm averages over all words of a sentence: normalise each word by itself.
sum in place of the mean | y.square().mean(-1, keepdim=True) -> y.square().sum(-1, keepdim=True)
    You divide by the length of the vector: an RMS norm divides by the root of the *mean* square.
no root | + 1e-6).sqrt() -> + 1e-6)
    You divide by the mean square: divide by its root.
no gain | return gain * y -> return y
    Your norm has no gain: multiply by the part's own.
all parts read x
    | y = x
    | def norm(y, gain):
    |     return gain * y / (y.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    | for matrix, gain in zip(matrices, gains):
    |     y = y + torch.tanh(norm(x, gain) @ matrix) if pre else norm(y + torch.tanh(x @ matrix), gain)
    | return norm(y, gains[-1]) if pre else y
    Your parts all read the first states: each reads what the one before it left.
the norm's divisor detached, keeps 4 | 1e-6).sqrt() -> 1e-6).sqrt().detach()
    The values are right, but the root of the mean square passes no gradient: leave out the detach.
detached, keeps 4 | R -> R.detach()
    The values are right, but you cut all gradients: no detach.
"""
    + WRONG_FORMS,
    draw=draw_stack,
    oracle=run_stack,
)

Q3 = question(
    """q3: One more word, from a shared cache
next_word(x, W_q, W_k, W_v, past_k, past_v, heads)
read chapters/16_transformer: A cache
contexts and cache, 3 points: ordinary; other sizes; no sharing; all share; all sizes equal; three a group; one sentence
    Append the new word's key and value behind the old ones. Head h compares with all keys of its group and averages
    its values.
the first word, 1 point: first word
    With an empty cache the new word looks only at itself.
large scores, 1 point: large scores
    exp of a large score is infinite: subtract the largest score of a row first, or call PyTorch's softmax.
gradients, 1 point, backward: ordinary
    The values are right, but no gradient reaches all of the arguments: no detach on the way.
RIGHT
def next_word(x, W_q, W_k, W_v, past_k, past_v, heads):
    groups, size = past_k.shape[1], past_k.shape[3]
    k = torch.cat([past_k, (x @ W_k).unflatten(1, (groups, 1, size))], 2)
    v = torch.cat([past_v, (x @ W_v).unflatten(1, (groups, 1, size))], 2)
    q = (x @ W_q).unflatten(1, (groups, heads // groups, size))
    weights = (q @ k.mT / math.sqrt(size)).softmax(-1)
    return (weights @ v).flatten(1), k, v
def next_word(x, W_q, W_k, W_v, past_k, past_v, heads):
    B, G, _, n = past_k.shape
    k = torch.cat((past_k, (x @ W_k).view(B, G, 1, n)), dim=2)
    v = torch.cat((past_v, (x @ W_v).view(B, G, 1, n)), dim=2)
    q = (x @ W_q).view(B, heads, n) / n ** 0.5
    wide_k, wide_v = (y.repeat_interleave(heads // G, dim=1) for y in (k, v))
    weights = F.softmax((wide_k @ q.unsqueeze(-1)).squeeze(-1), dim=-1)
    return (weights.unsqueeze(2) @ wide_v).reshape(B, heads * n), k, v
def next_word(x, W_q, W_k, W_v, past_k, past_v, heads):
    B, G, t, n = past_k.shape
    k = torch.cat([past_k, (x @ W_k).reshape(B, G, 1, n)], 2)
    v = torch.cat([past_v, (x @ W_v).reshape(B, G, 1, n)], 2)
    q, share, contexts = x @ W_q, heads // G, []
    for h in range(heads):
        part = q[:, h * n : (h + 1) * n]
        scores = torch.einsum("bd,btd->bt", part, k[:, h // share]) / math.sqrt(n)
        contexts.append(torch.einsum("bt,btd->bd", scores.softmax(1), v[:, h // share]))
    return torch.cat(contexts, 1), k, v
def next_word(x, W_q, W_k, W_v, past_k, past_v, heads):
    n = past_k.size(-1)
    new_k = torch.stack((x @ W_k).split(n, 1), 1)
    new_v = torch.stack((x @ W_v).split(n, 1), 1)
    k = torch.cat([past_k, new_k[:, :, None]], dim=-2)
    v = torch.cat([past_v, new_v[:, :, None]], dim=-2)
    q = torch.stack((x @ W_q).split(n, 1), 1).unflatten(1, (k.size(1), -1))
    scores = torch.einsum("bgsd,bgtd->bgst", q, k) * n ** -0.5
    e = (scores - scores.amax(-1, keepdim=True).detach()).exp()
    mixed = torch.einsum("bgst,bgtd->bgsd", e / e.sum(-1, keepdim=True), v)
    return mixed.flatten(1), k, v
def next_word(x, W_q, W_k, W_v, past_k, past_v, heads):
    B, G, t, n = past_k.shape
    old_k, old_v = past_k.transpose(1, 2).flatten(2), past_v.transpose(1, 2).flatten(2)
    k = torch.cat([old_k, (x @ W_k)[:, None]], 1).view(B, t + 1, G, n).transpose(1, 2)
    v = torch.cat([old_v, (x @ W_v)[:, None]], 1).view(B, t + 1, G, n).transpose(1, 2)
    q = (x @ W_q).view(B, G, heads // G, n)
    weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) / math.sqrt(n), dim=3)
    return torch.matmul(weights, v).reshape(B, -1), k.contiguous(), v.contiguous()
WRONG
old words alone | return (weights @ v).flatten(1), k, v -> old = (q @ past_k.mT / math.sqrt(size)).softmax(-1); return (old @ past_v).flatten(1), k, v
    Your new word does not look at itself: its own key and value are among those it looks at.
new key in front, keeps 1 | k = torch.cat([past_k, (x @ W_k).unflatten(1, (groups, 1, size))], 2) -> k = torch.cat([(x @ W_k).unflatten(1, (groups, 1, size)), past_k], 2)
    Your new key stands in front of the old ones, its value behind: append both.
new word in front, keeps 1
    | groups, size = past_k.shape[1], past_k.shape[3]
    | k = torch.cat([(x @ W_k).unflatten(1, (groups, 1, size)), past_k], 2)
    | v = torch.cat([(x @ W_v).unflatten(1, (groups, 1, size)), past_v], 2)
    | q = (x @ W_q).unflatten(1, (groups, heads // groups, size))
    | return ((q @ k.mT / math.sqrt(size)).softmax(-1) @ v).flatten(1), k, v
    Your cache has the newest word first: append it behind the old ones.
cache not extended | .flatten(1), k, v -> .flatten(1), past_k, past_v
    You return the old cache: the next step needs the new word's key and value as well.
values not kept | .flatten(1), k, v -> .flatten(1), k, past_v
    You keep keys, not values: a word that was read once is looked up with both.
keys and values exchanged | .flatten(1), k, v -> .flatten(1), v, k
    You return values before keys: contexts, keys, values.
heads share in turns
    | groups, size = past_k.shape[1], past_k.shape[3]
    | k = torch.cat([past_k, (x @ W_k).unflatten(1, (groups, 1, size))], 2)
    | v = torch.cat([past_v, (x @ W_v).unflatten(1, (groups, 1, size))], 2)
    | q = (x @ W_q).unflatten(1, (heads // groups, groups, size)).transpose(1, 2)
    | weights = (q @ k.mT / math.sqrt(size)).softmax(-1)
    | return (weights @ v).transpose(1, 2).flatten(1), k, v
    Your heads take turns: neighbours share, heads 1 and 2 the first keys if there are two a group.
one group for all, keeps 1 | (q @ k.mT / -> (q @ k[:, :1].mT /
    All your heads compare with the first group's keys: each group has its own.
not scaled, keeps 1 | / math.sqrt(size) ->
    Your scores are not scaled: divide by the root of a head's size.
scaled by all heads, keeps 1 | / math.sqrt(size) -> / math.sqrt(size * heads)
    You divide by the root of all heads' size together: a key has d_h numbers.
scaled by the state, keeps 1 | / math.sqrt(size) -> / math.sqrt(x.shape[1])
    You divide by the root of the state's size: a key has d_h numbers.
scaled by the size itself, keeps 1 | / math.sqrt(size) -> / size
    You divide by a head's size: divide by its root.
softmax over heads | .softmax(-1) -> .softmax(-2)
    You normalise over the heads of a group: weights are normalised over the words.
softmax over one query, keeps 1 | .softmax(-1) -> .unsqueeze(-2).softmax(-2).squeeze(-2)
    You normalise over queries, and here there is one, so every weight is 1: normalise over the words.
softmax over all heads | weights = (q @ k.mT / math.sqrt(size)).softmax(-1) -> scores = q @ k.mT / math.sqrt(size); weights = scores.flatten(1, 2).softmax(1).view_as(scores)
    You normalise over all heads: weights are normalised over the words.
largest score not subtracted, keeps 5 | weights = (q @ k.mT / math.sqrt(size)).softmax(-1) -> e = (q @ k.mT / math.sqrt(size)).exp(); weights = e / e.sum(-1, keepdim=True)
    Your exponentials overflow where scores are large: subtract the largest score of each row first.
query's heads not side by side, keeps 1 | (x @ W_q).unflatten(1, (groups, heads // groups, size)) -> (x @ W_q).unflatten(1, (size, heads)).mT.unflatten(1, (groups, heads // groups))
    You cut the query's columns the wrong way: the d_h columns of head 1 come first, then those of head 2.
new key's heads not side by side | (x @ W_k).unflatten(1, (groups, 1, size)) -> (x @ W_k).unflatten(1, (size, 1, groups)).transpose(1, 3)
    You cut the new key's columns the wrong way: the d_h columns of group 1 come first, then those of group 2.
new value's heads not side by side | (x @ W_v).unflatten(1, (groups, 1, size)) -> (x @ W_v).unflatten(1, (size, 1, groups)).transpose(1, 3)
    You cut the new value's columns the wrong way: the d_h columns of group 1 come first, then those of group 2.
heads of the result not side by side | return (weights @ v).flatten(1) -> return (weights @ v).flatten(1, 2).mT.flatten(1)
    The numbers of your heads alternate: the d_h numbers of head 1 come first, then those of head 2.
first group's keys and values | (weights @ v) -> ((q @ k[:, :1].mT / math.sqrt(size)).softmax(-1) @ v[:, :1])
    All your heads ask the first group: each group of heads has keys and values of its own.
mean of the groups' keys, keeps 1 | (q @ k.mT / -> (q @ k.mean(1, keepdim=True).mT /
    You average the keys of all groups: each head compares with those of its own.
a word of zeros in the empty cache, keeps 5
    | groups, size = past_k.shape[1], past_k.shape[3]
    | old_k, old_v = (F.pad(p, (0, 0, 1 - min(p.shape[2], 1), 0)) for p in (past_k, past_v))
    | k = torch.cat([old_k, (x @ W_k).unflatten(1, (groups, 1, size))], 2)
    | v = torch.cat([old_v, (x @ W_v).unflatten(1, (groups, 1, size))], 2)
    | q = (x @ W_q).unflatten(1, (groups, heads // groups, size))
    | return ((q @ k.mT / math.sqrt(size)).softmax(-1) @ v).flatten(1), k, v
    You put a word of zeros into the empty cache: with none before it, the new word looks only at itself.
new word detached, keeps 5 | k = torch.cat([past_k, (x @ W_k).unflatten(1, (groups, 1, size))], 2) -> k = torch.cat([past_k, (x @ W_k).unflatten(1, (groups, 1, size)).detach()], 2)
    The values are right, but no gradient reaches W_k: no detach of the new key.
softmax forgotten | .softmax(-1) ->
    You sum values with raw scores: the softmax is missing.
values are keys | (weights @ v) -> (weights @ k)
    You average keys: average the values instead.
new value unprojected keys | v = torch.cat([past_v, (x @ W_v) -> v = torch.cat([past_v, (x @ W_k)
    Your new value was made with W_k: values have a matrix of their own.
new key by values' matrix | k = torch.cat([past_k, (x @ W_k) -> k = torch.cat([past_k, (x @ W_v)
    Your new key was made with W_v: keys have a matrix of their own.
query changed places | return (weights @ v).flatten(1) -> return (weights @ v).transpose(-1, -2).flatten(1)
    The heads of your result are mixed: d_h numbers of head 1 come first, then those of head 2.
cache detached, keeps 5 | q = (x @ W_q) -> k, v = k.detach(), v.detach(); q = (x @ W_q)
    The values are right, but no gradient reaches keys and values: no detach.
detached, keeps 5 | (weights @ v).flatten(1) -> (weights @ v).flatten(1).detach()
    The values are right, but no gradient reaches the contexts: no detach.
""",
    forbidden=(
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "multi_head_attention_forward",
    ),
    draw=draw_cache,
    oracle=next_word,
)

Q4 = question(
    """q4: Two halves of a softmax
merge_halves(m1, z1, a1, m2, z2, a2)
read chapters/16_transformer: Block by block
rescaled, 3 points: ordinary; far apart; all sizes equal; one query; large values far down
    The larger maximum stays; what was relative to the smaller one is multiplied by exp(old − new).
empty halves, 2 points: an empty half; nothing at all
    A half that saw nothing adds nothing, and two of them give −∞, 0 and 0: no NaN.
gradients, 1 point, backward: ordinary; an empty half; nothing at all
    The values are right, but their gradients are not: no detach on the way, not of the maximum either, and no
    gradient that is NaN.
RIGHT
def merge_halves(m1, z1, a1, m2, z2, a2):
    m = torch.maximum(m1, m2)
    floor = m.masked_fill(m == -math.inf, 0.0)
    one, two = (m1 - floor).exp(), (m2 - floor).exp()
    return m, one * z1 + two * z2, one[:, None] * a1 + two[:, None] * a2
def merge_halves(m1, z1, a1, m2, z2, a2):
    m = torch.where(m1 > m2, m1, m2)
    safe = torch.where(torch.isinf(m), torch.zeros_like(m), m)
    w1, w2 = torch.exp(m1 - safe), torch.exp(m2 - safe)
    return m, z1 * w1 + z2 * w2, a1 * w1.unsqueeze(1) + a2 * w2.unsqueeze(-1)
def merge_halves(m1, z1, a1, m2, z2, a2):
    ms, zs, parts = torch.stack([m1, m2]), torch.stack([z1, z2]), torch.stack([a1, a2])
    m = ms.amax(0)
    shrink = (ms - m.masked_fill(m == -math.inf, 0.0)).exp()
    return m, (shrink * zs).sum(0), (shrink[..., None] * parts).sum(0)
def merge_halves(m1, z1, a1, m2, z2, a2):
    ms, zs, rows = [], [], []
    for b in range(len(m1)):
        m = max(m1[b], m2[b])
        z, row = torch.zeros_like(z1[b]), torch.zeros_like(a1[b])
        for top, total, part in ((m1[b], z1[b], a1[b]), (m2[b], z2[b], a2[b])):
            if top > -math.inf:
                z, row = z + (top - m).exp() * total, row + (top - m).exp() * part
        ms.append(m), zs.append(z), rows.append(row)
    return torch.stack(ms), torch.stack(zs), torch.stack(rows)
def merge_halves(m1, z1, a1, m2, z2, a2):
    m = torch.max(m1, m2)
    one = torch.exp(torch.where(z1 > 0, m1 - m, torch.full_like(m, -math.inf)))
    two = torch.exp(torch.where(z2 > 0, m2 - m, torch.full_like(m, -math.inf)))
    return m, one * z1 + two * z2, torch.einsum("b,bd->bd", one, a1) + torch.einsum("b,bd->bd", two, a2)
WRONG
nothing rescaled | one, two = (m1 - floor).exp(), (m2 - floor).exp() -> one, two = torch.ones_like(m1), torch.ones_like(m2)
    You add sums that are relative to two maxima: multiply each by exp(its own m − the new m).
the sum not rescaled | one * z1 + two * z2 -> z1 + z2
    Your numerator is rescaled, your sum of exponentials is not.
the numerator not rescaled | one[:, None] * a1 + two[:, None] * a2 -> a1 + a2
    Your sum of exponentials is rescaled, the sum of values is not.
only the first rescaled | (m1 - floor).exp(), (m2 - floor).exp() -> (m1 - floor).exp(), torch.where(m2 == -math.inf, 0.0, 1.0)
    Only the first half is rescaled: the larger maximum may be either's.
only the second rescaled | (m1 - floor).exp(), (m2 - floor).exp() -> torch.where(m1 == -math.inf, 0.0, 1.0), (m2 - floor).exp()
    Only the second half is rescaled: the larger maximum may be either's.
the other way round | (m1 - floor).exp(), (m2 - floor).exp() -> torch.where(m1 == -math.inf, 0.0, (floor - m1).clamp(max=60).exp()), torch.where(m2 == -math.inf, 0.0, (floor - m2).clamp(max=60).exp())
    You multiply by exp(new − old): old exponentials become smaller when the maximum grows.
factors exchanged | one * z1 + two * z2, one[:, None] * a1 + two[:, None] * a2 -> two * z1 + one * z2, two[:, None] * a1 + one[:, None] * a2
    You rescale each half by the other's factor.
maximum of the second half | m = torch.maximum(m1, m2) -> m = torch.where(m2 == -math.inf, m1, m2)
    Your maximum is the second half's: take the larger of the two.
smaller maximum
    | m = torch.where(m1 == -math.inf, m2, torch.where(m2 == -math.inf, m1, torch.minimum(m1, m2)))
    | floor = m.masked_fill(m == -math.inf, 0.0)
    | one, two = (m1 - floor).clamp(max=60).exp(), (m2 - floor).clamp(max=60).exp()
    | return m, one * z1 + two * z2, one[:, None] * a1 + two[:, None] * a2
    You keep the smaller maximum: exponentials relative to it overflow. Keep the larger.
NaN hidden, keeps 5 | floor = m.masked_fill(m == -math.inf, 0.0) -> floor = m; (m1 - floor).exp(), (m2 - floor).exp() -> (m1 - floor).exp().nan_to_num(), (m2 - floor).exp().nan_to_num()
    You put 0 for NaN after it was computed, by nan_to_num or where, and the gradients are NaN all the same: subtract
    something finite before.
very small in place of −∞, keeps 4 | m = torch.maximum(m1, m2) -> m = torch.maximum(m1, m2).clamp(min=-1e9)
    You return a very low number where nothing was seen: the largest score of nothing is −∞.
one of the halves for all, keeps 3
    | if (m1 == -math.inf).any():
    |     return m2, z2, a2
    | if (m2 == -math.inf).any():
    |     return m1, z1, a1
    | m = torch.maximum(m1, m2)
    | one, two = (m1 - m).exp(), (m2 - m).exp()
    | return m, one * z1 + two * z2, one[:, None] * a1 + two[:, None] * a2
    Where one query saw nothing you drop the half for all queries: decide for each query by itself.
one maximum for all queries | m = torch.maximum(m1, m2) -> m = torch.maximum(m1, m2).max().expand_as(m1)
    You take one maximum for all queries: each query has its own.
maxima added | m = torch.maximum(m1, m2) -> m = m1 + m2
    You add the two largest scores: the largest of all is the larger of the two.
log of two exponentials | return m, one * z1 -> return torch.logaddexp(m1, m2), one * z1
    You return the logarithm of the sum of two exponentials: the first number is the larger of the two maxima.
shares | one, two = (m1 - floor).exp(), (m2 - floor).exp() -> one, two = torch.stack([m1, m2]).nan_to_num(neginf=-1e9).softmax(0)
    Your factors add up to 1, as in a softmax of the two maxima: each is exp(its own m − the new m).
exponentials of the maxima | (m1 - floor).exp(), (m2 - floor).exp() -> m1.exp(), m2.exp()
    You multiply by exp(m): what was kept is relative to m already, so the factor is exp(its own m − the new m).
exp(new − old) | (m1 - floor).exp(), (m2 - floor).exp() -> (floor - m1).exp(), (floor - m2).exp()
    You multiply by exp(new − old), which grows: old exponentials become smaller when the maximum grows.
NaN where nothing was seen, keeps 3 | floor = m.masked_fill(m == -math.inf, 0.0) -> floor = m
    Where both halves are empty, −∞ − (−∞) is NaN: subtract something finite there.
small factors left out, keeps 2 | (m1 - floor).exp(), (m2 - floor).exp() -> F.threshold((m1 - floor).exp(), 1e-9, 0.0), F.threshold((m2 - floor).exp(), 1e-9, 0.0)
    You leave out a half whose factor is small: its values may be as large as the factor is small, so leave none out.
a billionth added to the factors, keeps 2 | (m1 - floor).exp(), (m2 - floor).exp() -> (m1 - floor).exp() + 1e-9, (m2 - floor).exp() + 1e-9
    You add a small constant to the factors: nothing is divided by them, and values may be large, so add none.
exponentials without the maximum, keeps 2
    | m = torch.maximum(m1, m2)
    | one, two = m1.exp(), m2.exp()
    | z = one * z1 + two * z2
    | scale = m.masked_fill(m == -math.inf, 0.0).exp()
    | return m, z / scale, (one[:, None] * a1 + two[:, None] * a2) / scale[:, None]
    exp of a score of 3,000 is infinite: subtract the new maximum before you take the exponential.
divides | one[:, None] * a1 + two[:, None] * a2 -> (one[:, None] * a1 + two[:, None] * a2) / (one * z1 + two * z2).clamp(min=1e-9)[:, None]
    You divide: more keys may follow, so the division comes once, at the very end.
a mean of contexts | one[:, None] * a1 + two[:, None] * a2 -> (one[:, None] * a1 + two[:, None] * a2) / 2
    You take the mean of both halves: add them instead.
maximum kept finite, keeps 4 | return m, -> return floor,
    Where nothing was seen the largest score stays −∞: you return 0.
logarithm of the sum | return m, one * z1 -> return m + (one * z1 + two * z2).clamp(min=1e-9).log() * (z1 + z2 > 0), one * z1
    You return the logarithm of the whole sum: the first number is the largest score.
factors detached, keeps 5 | (m1 - floor).exp(), (m2 - floor).exp() -> (m1 - floor).exp().detach(), (m2 - floor).exp().detach()
    The values are right, but your factors pass no gradient back to the maxima: leave out the detach.
maximum detached, keeps 5 | m = torch.maximum(m1, m2) -> m = torch.maximum(m1, m2).detach()
    The values are right, but the largest score passes no gradient: here it is a result of its own, so do not detach it.
""",
    draw=draw_halves,
    oracle=merge_halves,
)

Q5 = question(
    """q5: The bill of a cache
cache_bill(layers, heads, groups, d_h, T, batch)
read chapters/16_transformer: A cache
kept, 1 point: ordinary; no sharing; one group; long; one word
    Keys and values of each layer, each group, each word and each sentence.
with the cache, 2 points: ordinary; no sharing; one group; long; one word
    The projections of one word at each step, and two products of t · d over the words so far.
without, 2 points: ordinary; no sharing; one group; long; one word
    At step t the projections of t words, and two products of t · t · d.
RIGHT
def cache_bill(layers, heads, groups, d_h, T, batch):
    d, d_kv = heads * d_h, groups * d_h
    word = 2 * d * d + 2 * d * d_kv
    kept = sum(word + 2 * t * d for t in range(1, T + 1))
    anew = sum(t * word + 2 * t * t * d for t in range(1, T + 1))
    return 2 * layers * batch * T * d_kv, layers * batch * kept, layers * batch * anew
def cache_bill(layers, heads, groups, d_h, T, batch):
    d, kv = heads * d_h, groups * d_h
    word, times = 2 * d * (d + kv), layers * batch
    once = T * word + d * T * (T + 1)
    again = word * T * (T + 1) // 2 + d * T * (T + 1) * (2 * T + 1) // 3
    return 2 * times * T * kv, times * once, times * again
def cache_bill(layers, heads, groups, d_h, T, batch):
    d, kept, anew = heads * d_h, 0, 0
    for t in range(T):
        one = d * d + 2 * d * groups * d_h + d * d
        kept += one + 2 * (t + 1) * d
        anew += (t + 1) * (one + 2 * (t + 1) * d)
    n = layers * batch
    return n * 2 * T * groups * d_h, n * kept, n * anew
def cache_bill(layers, heads, groups, d_h, T, batch):
    t = torch.arange(1, T + 1)
    d, kv = heads * d_h, groups * d_h
    step = 2 * d * d + 2 * d * kv + 2 * t * d
    n = layers * batch
    return torch.tensor([2 * n * T * kv, n * step.sum(), n * (t * step).sum()])
def cache_bill(layers, heads, groups, d_h, T, batch):
    d, kv = heads * d_h, groups * d_h
    numbers = [0, 0, 0]
    for _ in range(layers):
        numbers[0] += batch * T * 2 * kv
        for t in range(1, T + 1):
            numbers[1] += batch * (2 * d * d + 2 * d * kv + 2 * t * d)
            numbers[2] += batch * (2 * d * d * t + 2 * d * kv * t + 2 * t * t * d)
    return numbers
WRONG
keys alone, keeps 4 | return 2 * layers * batch * T * d_kv -> return layers * batch * T * d_kv
    You count only keys: values are kept as well.
all heads kept, keeps 4 | return 2 * layers * batch * T * d_kv -> return 2 * layers * batch * T * d
    You count keys and values for every head of queries: groups share theirs.
pairs kept, keeps 4 | return 2 * layers * batch * T * d_kv -> return 2 * layers * batch * T * T * d_kv
    You count a number for each pair of words: keys and values are kept for each word.
one layer kept, keeps 4 | return 2 * layers * batch -> return 2 * batch
    You count the cache of one layer: each layer has its own.
one sentence kept, keeps 4 | return 2 * layers * batch * T -> return 2 * layers * T
    You count the cache of one sentence: each has its own.
queries kept, keeps 4 | return 2 * layers * batch * T * d_kv -> return layers * batch * T * (2 * d_kv + d)
    You keep queries as well: no step needs an old word's query again.
no groups in the projections, keeps 1 | word = 2 * d * d + 2 * d * d_kv -> word = 4 * d * d
    You project keys and values to the size of all heads: they have groups · d_h columns each.
output matrix forgotten, keeps 1 | word = 2 * d * d + 2 * d * d_kv -> word = d * d + 2 * d * d_kv
    You count three projections: the output matrix is the fourth.
all matrices small, keeps 1 | word = 2 * d * d + 2 * d * d_kv -> word = 4 * d * d_kv
    You shrink all four matrices: queries and output keep all heads.
keys and values projected once, keeps 1 | word = 2 * d * d + 2 * d * d_kv -> word = 2 * d * d + d * d_kv
    You count one projection for keys and values together: each has a matrix of its own.
projected to one head, keeps 1 | word = 2 * d * d + 2 * d * d_kv -> word = 2 * d * d + 2 * d * d_h
    You project keys and values to the size of one head: they have groups · d_h columns each.
heads projected from themselves, keeps 1 | word = 2 * d * d + 2 * d * d_kv -> word = 2 * d * d_h + 2 * d_kv * d_h
    You project each head from d_h numbers: a head's query, key and value read all d numbers of a state.
number for size of heads, keeps 1 | d, d_kv = heads * d_h, groups * d_h -> d, d_kv = heads * heads, groups * d_h
    Your states have heads · heads numbers: the size of a state is heads · d_h.
number for size of groups | d, d_kv = heads * d_h, groups * d_h -> d, d_kv = heads * d_h, groups * heads
    Your keys have groups · heads numbers: a group's key has d_h.
size for number of heads, keeps 1 | d, d_kv = heads * d_h, groups * d_h -> d, d_kv = d_h * d_h, groups * d_h
    Your states have d_h · d_h numbers: the size of a state is heads · d_h.
groups and size added | d, d_kv = heads * d_h, groups * d_h -> d, d_kv = heads * d_h, groups + d_h
    You add the number of groups and their size: multiply the two.
layers and sentences added in the cache, keeps 4 | return 2 * layers * batch * T * d_kv -> return 2 * (layers + batch) * T * d_kv
    You add the number of layers and of sentences in the cache: each layer keeps each sentence, so multiply.
layers and sentences added with the cache, keeps 3 | layers * batch * kept -> (layers + batch) * kept
    With the cache you add the number of layers and of sentences: each layer reads each sentence, so multiply.
layers and sentences added without, keeps 3 | layers * batch * anew -> (layers + batch) * anew
    Without the cache you add the number of layers and of sentences: each layer reads each sentence, so multiply.
the last word not kept, keeps 4 | return 2 * layers * batch * T * d_kv -> return 2 * layers * batch * (T - 1) * d_kv
    You do not count the last word: when all words are written, its keys and values are kept, too.
half the cache, keeps 4 | return 2 * layers * batch * T * d_kv -> return layers * batch * (T + 1) * d_kv
    You count the cache as it is on average: when all words are written it holds T of them.
all heads for each number, keeps 3 | kept = sum(word + 2 * t * d -> kept = sum(word + 2 * t * d * heads
    You count each head at the size of all of them: heads · d_h is d, so all heads together take t · d for the scores.
the last square T times, keeps 3 | anew = sum(t * word + 2 * t * t * d for t in range(1, T + 1)) -> anew = T * (T * word + 2 * T * T * d)
    Without a cache you count the last step T times: step t has only t words.
one product without, keeps 3 | anew = sum(t * word + 2 * t * t * d -> anew = sum(t * word + t * t * d
    Without a cache you count scores and no weighted sums: both take t · t · d.
no projections, keeps 1 | word = 2 * d * d + 2 * d * d_kv -> word = 0
    You count only scores and sums: the projections of each word are products, too.
scores of groups, keeps 1 | kept = sum(word + 2 * t * d for t in range(1, T + 1)) -> kept = sum(word + 2 * t * d_kv for t in range(1, T + 1)); d_old = d; d = d_kv
    You count scores and sums of one head a group: every head of queries has its own.
itself not looked at, keeps 3 | kept = sum(word + 2 * t * d for t in range(1, T + 1)) -> kept = sum(word + 2 * t * d for t in range(T))
    With the cache your word does not look at itself: at step t there are t keys.
always T keys, keeps 3 | kept = sum(word + 2 * t * d -> kept = sum(word + 2 * T * d
    With the cache each of your steps looks at T keys: at step t there are t.
sums forgotten, keeps 3 | kept = sum(word + 2 * t * d -> kept = sum(word + t * d
    With the cache you count scores and no weighted sums: both take t · d.
the square with the cache, keeps 3 | kept = sum(word + 2 * t * d -> kept = sum(word + 2 * t * t * d
    With the cache one query asks at each step: t · d products, not t · t · d.
one pass, keeps 3 | anew = sum(t * word + 2 * t * t * d for t in range(1, T + 1)) -> anew = T * word + 2 * T * T * d
    Without a cache every step repeats the work: you count only the last step.
projected once, keeps 3 | anew = sum(t * word -> anew = sum(word
    Without a cache all t words are projected again at step t.
one query, keeps 3 | anew = sum(t * word + 2 * t * t * d -> anew = sum(t * word + 2 * t * d
    Without a cache step t computes its whole square of t · t scores.
half a square, keeps 3 | anew = sum(t * word + 2 * t * t * d -> anew = sum(t * word + t * (t + 1) * d
    You leave out what a causal mask hides: the chapter counts the whole square, since the products are computed before the mask.
one layer, keeps 1 | layers * batch * kept, layers * batch * anew -> batch * kept, batch * anew
    Your multiplications are those of one layer.
one sentence, keeps 1 | layers * batch * kept, layers * batch * anew -> layers * kept, layers * anew
    Your multiplications are those of one sentence.
with and without exchanged, keeps 1 | layers * batch * kept, layers * batch * anew -> layers * batch * anew, layers * batch * kept
    Your second and third number have changed places: the larger one is without the cache.
additions counted, keeps 1 | layers * batch * kept, layers * batch * anew -> 2 * layers * batch * kept, 2 * layers * batch * anew
    You count an addition with each multiplication: count only multiplications.
""",
    parts={
        "kept": ("numbers kept",),
        "with the cache": ("with the cache",),
        "without": ("without",),
    },
    draw=draw_bill,
    oracle=lambda *sizes: dict(
        zip(
            ("numbers kept", "with the cache", "without"),
            map(float, cache_bill(*sizes)),
            strict=True,
        )
    ),
    probe=PLAIN
    + """
def probe(cache_bill, *sizes):
    found = plain(cache_bill(*sizes))
    if not isinstance(found, tuple) or len(found) != 3:
        return found
    return dict(zip(("numbers kept", "with the cache", "without"), found))
""",
)

EXERCISE = Exercise("16_transformer", "The Transformer", (Q1, Q2, Q3, Q4, Q5))
