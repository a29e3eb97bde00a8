"""How the exercise on training and decoding is graded: oracles, cases, known mistakes."""

from itertools import combinations, pairwise, product

import numpy as np

from seqattn.grading.bank import PRELUDE, Exercise
from seqattn.grading.drawing import normal, softmax_rows
from seqattn.grading.probes import DECODING, PLAIN, TRAINING_STEP
from seqattn.grading.questions import question

# --- Oracles ---------------------------------------------------------------------------------------


def loss(y, logits, pad):
    real = np.argwhere(y[:, 1:] != pad)
    rows = [logits[b, t] - logits[b, t].max() for b, t in real]
    losses = [np.log(np.exp(r).sum()) - r[y[b, t + 1]] for r, (b, t) in zip(rows, real)]
    return np.array(sum(losses) / len(losses))


RATE, MOMENTUM = 0.5, 0.5
TRAINING = "every module in training mode"
MOVED = {
    step: tuple(f"{name} after the {step} step" for name in ("embedding", "projection", "bias"))
    for step in ("first", "second")
}


def loss_and_gradients(E, W, b, y, pad):
    """Mean loss of logits = E[token] W^T + b and its gradients, written out."""
    g_E, g_W, g_b, count, total = np.zeros_like(E), np.zeros_like(W), np.zeros_like(b), 0, 0.0
    for sentence in y:
        for token, target in pairwise(sentence):
            if target != pad:
                p = softmax_rows(W @ E[token] + b)
                total -= np.log(p[target])
                count += 1
                p[target] -= 1
                g_E[token] += W.T @ p
                g_W += np.outer(p, E[token])
                g_b += p
    return total / count, g_E / count, g_W / count, g_b / count


def norm(*gradients):
    return float(np.sqrt(sum((g**2).sum() for g in gradients)))


def two_updates(E, W, b, y, pad, max_norm):
    """Two steps of gradient descent with momentum."""
    parameters, velocities, found = [E, W, b], [0.0, 0.0, 0.0], {}
    for step, moved in MOVED.items():
        found[f"{step} loss"], *gradients = loss_and_gradients(*parameters, y, pad)
        factor = min(1.0, max_norm / (norm(*gradients) + 1e-6))
        velocities = [MOMENTUM * v + factor * g for v, g in zip(velocities, gradients)]
        parameters = [p - RATE * v for p, v in zip(parameters, velocities)]
        found |= zip(moved, parameters)
    return {**found, "steps of the optimizer": 2, TRAINING: True, "a plain number": True}


def words_of(A, B, C, D, start, bos, eos, pad, max_len):
    """Decode sentence by sentence; tell by how much the best word was ahead, at the closest call."""
    rows, ahead = [], []
    for s in start:
        token, words = bos, []
        while len(words) < max_len and (token != eos or not words):
            logits = A[token] + s @ B
            ahead += np.diff(np.sort(logits)[-2:]).tolist()
            token = int(np.argmax(logits))
            s = np.tanh(s @ C + D[token])
            words.append(token)
        rows.append(words)
    return rows, min(ahead)


def decode(A, B, C, D, start, bos, eos, pad, max_len):
    rows, _ = words_of(A, B, C, D, start, bos, eos, pad, max_len)
    longest = max(map(len, rows))
    padded = np.array([row + [pad] * (longest - len(row)) for row in rows])
    found = {"the words": padded, "step gets a token for each sentence": True}
    return found | {"calls of step": longest}


def smoothed(y, logits, pad, eps):
    total, count, V = 0.0, 0, logits.shape[-1]
    for b, t in np.argwhere(y[:, 1:] != pad):
        row, right = logits[b, t], y[b, t + 1]
        norm_ = row.max() + np.log(np.exp(row - row.max()).sum())
        for w in range(V):
            share = 1 - eps if w == right else 0.0 if w == pad else eps / (V - 2)
            total -= share * (row[w] - norm_)
        count += 1
    return np.array(total / count)


def mixed(y, logits, coins, p, pad):
    inputs = y[:, :-1].copy()
    for b, t in np.ndindex(*inputs.shape):
        if t and inputs[b, t] != pad and coins[b, t] < p:
            words = [w for w in range(logits.shape[-1]) if w != pad]
            inputs[b, t] = max(words, key=lambda w: logits[b, t - 1, w])
    return inputs


def rescored(log_probs, lengths, weights, mask, alpha, beta):
    scores = []
    for log_prob, length, rows in zip(log_probs, lengths, weights):
        totals = [sum(rows[t, i] for t in range(length)) for i in np.flatnonzero(mask)]
        covered = sum(np.log(min(total, 1.0)) for total in totals)
        scores.append(log_prob / ((5 + length) / 6) ** alpha + beta * covered)
    return np.array(scores)


MEASURES = ("bleu", "seconds", "numbers", "maps")
ONCE = "each design is trained once with each seed"


def distance(measure, one, other, real):
    if measure != "maps":
        return abs(one - other)
    rows = [0.5 * np.abs(one[n, t] - other[n, t]).sum() for n, t in np.argwhere(real)]
    return sum(rows) / len(rows)


def distances(ones, others, real):
    return np.array([[distance("maps", a, b, real) for b in others] for a in ones])


def contest(bleu, seconds, numbers, maps, real):
    """Bahdanau's runs stand in the first row of each, Luong's in the second."""
    found = {ONCE: True}
    values = dict(zip(MEASURES, (bleu, np.median(seconds, axis=-1), numbers, maps)))
    for measure, (first, second) in values.items():
        between = [distance(measure, a, b, real) for a, b in product(first, second)]
        within = [
            distance(measure, a, b, real)
            for runs in (first, second)
            for a, b in combinations(runs, 2)
        ]
        size = {
            "bleu": np.mean(second) - np.mean(first),
            "maps": np.mean(between),
        }.get(measure, np.mean(second) / np.mean(first))
        found[f"size, {measure}"] = float(size)
        found[f"own, {measure}"] = float(min(between) > max(within))
    return found


# --- Cases -----------------------------------------------------------------------------------------

# Ids of pad, start and end. Zero may be any of them, or a word.
IDS = {
    "pad is 0": (0, 1, 2),
    "pad is last": (6, 4, 0),
    "pad in the middle": (3, 0, 5),
    "end is 0": (1, 2, 0),
    "start is the end": (3, 4, 4),
}
WORDS = 7


def draw_sentences(rng, kind, lengths):
    pad, bos, eos = IDS.get(kind, (5, 1, 0))
    words = [w for w in range(WORDS) if w not in (pad, bos, eos)]
    y = rng.choice(words, size=(len(lengths), max(lengths))).astype(np.int64)
    y[:, 0] = bos
    for b, length in enumerate(lengths):
        y[b, length - 1], y[b, length:] = eos, pad
    return y, pad


LENGTHS = {
    "one sentence": (5,),
    "full": (6, 6),
    # As many targets as words, and as many sentences as targets.
    "square": (8, 5, 3, 2, 6, 7, 4),
}


def draw_loss(rng, kind):
    lengths = LENGTHS.get(kind, tuple(rng.permutation([6, 5, 3, 2])))
    y, pad = draw_sentences(rng, kind, lengths)
    logits = normal(rng, len(lengths), int(max(lengths)) - 1, WORDS, scale=2.0)
    # What a decoder says where nothing is asked.
    logits[y[:, 1:] == pad] *= 10
    return y, logits * (100 if kind == "sure" else 1), pad


def draw_updates(rng, kind):
    """Draw a model whose gradient is clipped, even a third of it: there are three sentences."""
    max_norm = 0.3 if kind == "clipped" else 100.0
    while True:
        y, pad = draw_sentences(rng, kind, tuple(rng.permutation([6, 5, 3])))
        E, W = normal(rng, WORDS, 3, scale=1.5), normal(rng, WORDS, 3, scale=1.5)
        b = normal(rng, WORDS)
        _, *first = loss_and_gradients(*(x.astype(np.float64) for x in (E, W, b)), y, pad)
        if norm(*first) > 1.5:
            return E, W, b, y, pad, max_norm


DECODER_IDS = {
    "other ids": (6, 4, 5),
    "end is 0": (6, 5, 0),
    "pad is the end": (2, 1, 2),
    "start is the end": (0, 2, 2),
    "start is the pad": (0, 0, 2),
}


def draw_decoder(rng, kind):
    """Draw a decoder whose sentences end at different steps, and none at a close call."""
    pad, bos, eos = DECODER_IDS.get(kind, (0, 1, 2))
    max_len = {"one step": 1, "cut off": 3}.get(kind, 8)
    while True:
        A, B, C, D = (normal(rng, *s, scale=1.5) for s in ((7, 7), (3, 7), (3, 3), (7, 3)))
        if kind != "any word":
            A[:, [x for x in (pad, bos) if x != eos]] -= 50.0
        A[:, eos] += {"cut off": -50.0, "one step": -50.0, "all at once": 50.0}.get(kind, 0.0)
        start = normal(rng, 1 if kind == "one sentence" else 4, 3, scale=2.0)
        exact = [x.astype(np.float64) for x in (A, B, C, D, start)]
        rows, ahead = words_of(*exact, bos, eos, pad, max_len)
        lengths = sorted(map(len, rows))
        if kind in ("one step", "cut off", "all at once"):
            good = True
        elif kind == "one sentence":
            good = 3 <= lengths[0] < max_len
        else:
            good = 1 < lengths[0] < lengths[-1] < max_len
        if kind == "any word":
            good = good and any({pad, bos} & {*row[:-2]} for row in rows)
        # So that float32 and float64 pick the same words, with room to spare.
        if good and ahead >= 0.02:
            return A, B, C, D, start, bos, eos, pad, max_len


# Words that nobody says, so that vocabularies differ in size.
MORE = {"pad is 0": 1, "pad in the middle": 3, "end is 0": 2, "full": 4, "always": 2}


def draw_smoothed(rng, kind):
    y, logits, pad = draw_loss(rng, kind)
    shape = (*logits.shape[:2], MORE.get(kind, 0))
    logits = np.concatenate(
        [logits, normal(rng, *shape, scale=200.0 if kind == "sure" else 2.0)], -1
    )
    eps = {"not smoothed": 0.0, "much": 0.8}.get(kind, rng.choice([0.1, 0.2, 0.3]))
    return y, logits, pad, float(np.float32(eps))


def draw_mixed(rng, kind):
    lengths = {"one sentence": (6,), "one input": (2, 2), "square": (5, 5, 4, 3)}
    lengths = lengths.get(kind, tuple(rng.permutation([7, 6, 4, 3])))
    y, pad = draw_sentences(rng, kind, lengths)
    logits = normal(rng, len(lengths), int(max(lengths)) - 1, WORDS + MORE.get(kind, 0))
    logits[..., pad] += 3 if kind == "pads are likely" else -9
    if kind == "pads are likely":
        # Below any number that might stand for minus infinity, without rounding and without ties.
        step = np.float32(1 / 256)
        logits = np.round(logits / step) * step
        logits += step * np.argsort(np.argsort(logits, -1), -1).astype(np.float32) - 12_000
    p = {"never": 0.0, "always": 1.0}.get(kind, float(np.float32(rng.choice([0.3, 0.5, 0.7]))))
    coins = rng.random((len(lengths), int(max(lengths)) - 1)).astype(np.float32)
    if kind not in ("never", "always", "one input"):
        # One of exactly p, which is not smaller, and one a little below; the first would be replaced.
        coins[:, 0], coins[0, 1], coins[0, 2] = p / 2, p, p - 3e-5
        coins[:, 3:4] = p / 2
    return y, logits, np.minimum(coins, np.float32(0.999)), p, pad


RIVALS = {  # hypotheses, the longest, columns
    "ordinary": (4, 6, 3),
    "other sizes": (3, 4, 5),
    "square": (4, 4, 4),
    "one hypothesis": (1, 3, 4),
    "one word": (3, 4, 1),
    "padded": (4, 5, 6),
    "padded in front": (3, 6, 5),
    "stopped early": (5, 6, 3),
}


def draw_rivals(rng, kind):
    n, longest, S = RIVALS[kind]
    mask = np.ones(S, bool)
    if kind == "padded":
        mask[4:] = False
    if kind == "padded in front":
        mask[:2] = False
    lengths = rng.integers(max(1, longest // 2), longest + 1, size=n).astype(np.int64)
    lengths[0] = longest
    if kind == "stopped early":
        lengths[1:] = rng.integers(1, 3, size=n - 1)
    scores = 2 * rng.normal(size=(n, longest, S))
    if kind == "stopped early":
        # A word that the first one hardly looks at: a floor under the totals lies above it.
        scores[0, :, 0] = scores[0, :, 1:].max(1) - 17
    weights = softmax_rows(scores, mask).astype(np.float32)
    for b, length in enumerate(lengths):
        # Steps that were never made look like any others, but for their size.
        weights[b, length:] = np.abs(normal(rng, longest - length, S, scale=5.0))
        weights[b, length:, ~mask] = 0.0
    log_probs = -np.abs(normal(rng, n, scale=3.0)) - np.float32(0.5)
    alpha, beta = float(np.float32(rng.uniform(0.3, 1.5))), float(np.float32(rng.uniform(0.2, 1.0)))
    if kind == "one word":
        beta = 0.0
    return log_probs, lengths, weights, mask, alpha, beta


# What the runs of the two designs measure, from some level on: Bahdanau's, then Luong's.
PATTERNS = {
    "apart": ((0, 2, 1), (9, 12, 10)),
    "below": ((9, 12, 10), (0, 2, 1)),
    "mixed": ((0, 4, 2), (3, 1, 6)),
    "shifted": ((0, 6, 3), (8, 9, 11)),  # the ranges lie apart, by less than seeds differ
    "shifted down": ((8, 9, 11), (0, 6, 3)),
    "touching": ((0, 4, 1), (8, 11, 9)),
    "seed by seed": ((4, 2, 0), (10, 8, 6)),
    # Unlike: the second seed and the third; the first and the third.
    "first unsteady": ((4, 0, 9), (15, 16, 17)),
    "second unsteady": ((0, 1, 2), (8, 13, 17)),
    "constant": ((4, 4, 4), (9, 9, 9)),
    "equal": ((4, 4, 4), (4, 4, 4)),
    "two": ((0, 1), (5, 4)),
    "four": ((0, 1, 2, 1), (6, 5, 7, 6)),
    "four mixed": ((0, 1, 9, 1), (6, 5, 7, 6)),
    "four unsteady": ((0, 4, 9, 5), (15, 17, 16, 15)),  # the first and the third
}
CONTESTS = {  # patterns of bleu, seconds, numbers, maps; updates of a run
    "ordinary": ("apart", "mixed", "constant", "shifted", 7),
    "Luong below": ("below", "below", "below", "apart", 6),
    "maps alone": ("mixed", "shifted", "equal", "apart", 5),
    "all but the maps": ("apart", "apart", "apart", "mixed", 8),
    "shifted": ("shifted", "shifted down", "shifted", "shifted down", 5),
    "touching": ("touching", "touching", "touching", "mixed", 6),
    "seed by seed": ("seed by seed",) * 4 + (5,),
    "Bahdanau unsteady": ("first unsteady",) * 4 + (6,),
    "Luong unsteady": ("second unsteady",) * 4 + (5,),
    "two seeds": ("two",) * 4 + (6,),
    "four seeds": ("four", "four mixed", "four unsteady", "four", 5),
}


def draw_contest(rng, kind):
    *patterns, updates = CONTESTS[kind]
    # Whole numbers over powers of two, so that what touches, touches.
    bleu, seconds, numbers, looks = (
        (rng.integers(8, 14) + np.array(PATTERNS[p]) * unit).astype(np.float32)
        for p, unit in zip(patterns, (rng.choice([0.5, 1.0, 1.5]), 0.25, 16.0, 1 / 32))
    )
    # Around each run's median; of an even number two stand in the middle. The slowest comes first.
    jitter = np.sort(np.arange(1 - updates, updates, 2))[::-1] / 8
    seconds = seconds - 7
    times = seconds[..., None] + np.concatenate([jitter[:1], rng.permuted(jitter[1:])])
    times[..., 0] += rng.integers(20, 60, seconds.shape)
    N, T, S = 3, 4, int(rng.integers(3, 6))
    real = np.arange(T) < rng.permutation([T, 2, 3])[:, None]
    near, far = softmax_rows(normal(rng, N, T, S)), np.zeros((N, T, S))
    np.put_along_axis(far, near.argmin(-1)[..., None], 1.0, -1)
    share = (looks - looks.min())[..., None, None, None] + 0.05
    # Each run looks a little elsewhere in its own way, by far less than a step of the pattern.
    own = softmax_rows(normal(rng, *looks.shape, N, T, S))
    maps = 0.99 * ((1 - share) * near + share * far) + 0.01 * own
    maps[..., ~real, :] = 5.0 * normal(rng, *looks.shape, int((~real).sum()), S)
    return bleu, times.astype(np.float32), numbers, maps.astype(np.float32), real


# --- Questions -----------------------------------------------------------------------------------

Q1 = question(
    """q1: Targets and loss
sequence_loss(y, logits, pad)
read chapters/07_training: What training asks for
the loss, 2 points: pad is 0; pad is last; pad in the middle; end is 0; full; square; one sentence
    Row t of the logits predicts token t + 1; average the cross-entropy over all targets of the
    batch that are not pads, in one mean.
extreme logits, 1 point: sure
    Logits in the hundreds give a wrong loss, or NaN (an eps caps it): take the logarithm of the
    softmax in one go.
gradients, 1 point, backward: pad is last; end is 0
    The loss is right but its gradient by the logits is not.
RIGHT
def sequence_loss(y, logits, pad):
    return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)
def sequence_loss(y, logits, pad):
    return F.cross_entropy(logits.transpose(1, 2), y[:, 1:], ignore_index=pad)
def sequence_loss(y, logits, pad):
    words = torch.ones(logits.shape[-1])
    words[pad] = 0
    targets = F.one_hot(y[:, 1:], len(words)) * words
    return -(logits.log_softmax(-1) * targets).sum() / targets.sum()
def sequence_loss(y, logits, pad):
    targets = y[:, 1:]
    logp = logits.log_softmax(-1).gather(2, targets[:, :, None]).squeeze(2)
    real = targets != pad
    return -(logp * real).sum() / real.sum()
WRONG
not shifted | y[:, 1:] -> y[:, :-1]
    Your targets are the inputs themselves: the model would learn to copy. They are y[:, 1:].
reshape for transpose
    | logits.transpose(1, 2) -> logits.reshape(logits.shape[0], logits.shape[2], -1)
    You reshape the logits where they must be transposed: words and steps are mixed up.
mean of sentence means
    | -(logp * real).sum() / real.sum() -> -((logp * real).sum(1) / real.sum(1)).mean()
    You average each sentence and then the sentences: words of short ones count for more. Take one
    mean over all words.
pads count | , ignore_index=pad ->
    Pads count as targets: leave them out of the mean, with ignore_index.
divided by all positions | =pad -> =pad, reduction='none'; R -> R.mean()
    You leave pads out of the sum but not out of the count: divide by the number of real targets.
end mark left out | y[:, 1:] -> y.scatter(1, (y != pad).sum(1, keepdim=True) - 1, pad)[:, 1:]
    The end mark is a target like any other: without it the decoder never learns to stop.
softmax first | logits.flatten -> logits.softmax(-1).flatten
    cross_entropy takes logits and does the softmax itself; yours runs twice.
sum | =pad -> =pad, reduction='sum'
    You add up the losses; the mean over the real targets is asked for.
shifted twice | logits.flatten -> logits[:, :-1].flatten; y[:, 1:] -> y[:, 2:]
    You shift twice: logits (B, T - 1, V) belong to y[:, 1:] as they are.
pad taken to be 0 | =pad -> =0
    You leave out token 0, which is a pad in some vocabularies alone: the pad's id is an argument.
pads of the inputs left out | real = targets != pad -> real = y[:, :-1] != pad
    You look for pads among the inputs, y[:, :-1], which lets one pad of each shorter sentence in: what
    counts is whether the target is one.
divided by the sentences | =pad -> =pad, reduction='sum'; R -> R / len(y)
    You divide by the number of sentences: divide by the number of real targets.
in bits | R -> R / math.log(2)
    Your loss is in bits, by logarithms to base 2: nats are asked for.
perplexity | R -> R.exp()
    You return the perplexity, exp of the loss: return the mean cross-entropy itself.
sign | R -> -R
    Your loss is negative: training would make the targets less likely. It is minus the
    log-probability.
smoothed | =pad -> =pad, label_smoothing=0.1
    You smooth the labels: the plain cross-entropy is asked for.
share of the sure mistakes | -(logp * real) -> ((1 - logp.exp()) * real)
    You average 1 - p: cross-entropy is the mean of -log p.
softmax, then logarithm, keeps 3
    | p = logits.softmax(-1).gather(2, y[:, 1:, None]).squeeze(2)
    | return -p[y[:, 1:] != pad].log().mean()
    You take the logarithm of a softmax: a small probability becomes 0 and its logarithm infinite.
    Use log_softmax.
detached, keeps 3 | R -> R.detach()
    The loss is right, but detached: backward() would find nothing to follow.
a plain number | R -> R.item()
    You return a plain number, where the gradient ends: return the tensor.
a loss for each sentence | (logp * real).sum() / real.sum() -> (logp * real).sum(1) / real.sum(1)
    You return a loss for each sentence: take one mean over the whole batch.
""",
    draw=draw_loss,
    oracle=loss,
)

Q2 = question(
    """q2: A training step
train_step(model, optimizer, y, pad, max_norm)
read chapters/07_training: Clipping
the update, 2 points: gentle; pad is 0; pad is last; pad in the middle; end is 0
    After your step the parameters are not where the optimizer puts them with the gradients of this
    batch alone: zero_grad, forward, loss, backward, clip, step.
what it says, and the mode, 1 point, within 1e-4 or 1e-4: gentle
    Return the loss before the update as a plain number, and put the model, with all that is in it,
    into training mode first.
clipping, 1 point: clipped
    Clip the norm of all gradients together, after backward and before the step.
RIGHT
def train_step(model, optimizer, y, pad, max_norm):
    model.train()
    optimizer.zero_grad()
    loss = sequence_loss(y, model(y[:, :-1]), pad)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
def train_step(model, optimizer, y, pad, max_norm):
    model.train()
    logits = model(y[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm)
    optimizer.step()
    return float(loss)
def train_step(model, optimizer, y, pad, max_norm):
    model.train(True)
    model.zero_grad()
    loss = sequence_loss(y, model(y[:, :-1]), pad)
    loss.backward()
    norm = torch.sqrt(sum((p.grad ** 2).sum() for p in model.parameters()))
    for p in model.parameters():
        p.grad *= min(1.0, max_norm / (float(norm) + 1e-6))
    optimizer.step()
    return loss.item()
def train_step(model, optimizer, y, pad, max_norm):
    model.train()
    optimizer.zero_grad()
    loss = sequence_loss(y, model(y[:, :-1]), pad)
    loss.backward()
    nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group['params']], max_norm)
    optimizer.step()
    return loss.item()
WRONG
gradients not reset | optimizer.zero_grad() ->
    Gradients of the batch before are still there when you call backward: call zero_grad first.
reset after backward
    | optimizer.zero_grad() ->
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) -> optimizer.zero_grad()
    The step has no gradients left to use: do you reset them after backward? Reset them before it.
reset behind the step alone
    | optimizer.zero_grad() ->
    | optimizer.step() -> optimizer.step()
    | optimizer.zero_grad()
    You reset the gradients behind the step: what an earlier batch left is still there when those of
    this one are added. Reset them before backward.
loss cut off, keeps 3 | loss = sequence_loss(y, model(y[:, :-1]), pad) -> loss = sequence_loss(y, model(y[:, :-1]), pad).clamp(max=max_norm)
    You cut off the loss, so that no gradient is left where it is larger: clip the norm of the gradients, after
    backward.
no step | optimizer.step() ->
    The parameters do not move: optimizer.step() is missing, or is not reached where nothing is clipped.
no clipping, keeps 3 | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    The gradients are not clipped when the step uses them: clip after backward, before step.
clipped too late, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | optimizer.step() -> optimizer.step()
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    You clip after the step, when the gradients have been used already.
clipped by value, keeps 3 | clip_grad_norm_ -> clip_grad_value_
    You clip each entry; clip the norm of all gradients together, which keeps their direction.
another norm, keeps 3 | (), max_norm) -> (), max_norm, norm_type=1)
    You limit the sum of the absolute entries: the norm is the root of the sum of their squares.
largest entry for the norm, keeps 3 | (), max_norm) -> (), max_norm, norm_type=math.inf)
    You limit the largest entry: the norm is the root of the sum of all their squares.
biases left unclipped, keeps 3
    | clip_grad_norm_(model.parameters(), -> clip_grad_norm_([p for p in model.parameters() if p.dim() > 1],
    You leave parameters out: the norm is that of the gradients of all of them, biases too.
first group clipped alone, keeps 3
    | clip_grad_norm_(model.parameters(), -> clip_grad_norm_(optimizer.param_groups[0]['params'],
    You clip what stands in the optimizer's first group: there may be others. Take model.parameters().
each module clipped alone, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | for module in model.children(): nn.utils.clip_grad_norm_(module.parameters(), max_norm)
    You leave the model's own parameters out of the norm, or clip module by module: it is the norm of
    all gradients together that is limited.
each group clipped alone, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | for group in optimizer.param_groups: nn.utils.clip_grad_norm_(group['params'], max_norm)
    You clip each of the optimizer's groups by its own norm: it is the norm of all gradients together
    that is limited.
biases left out of the norm, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | n = sum((p.grad**2).sum() for p in model.parameters() if p.dim() > 1) ** 0.5
    | for p in model.parameters(): p.grad *= (max_norm / n).clamp(max=1)
    You clip by a norm that leaves out the biases: it is the norm of all gradients together that is
    limited.
no step where it clips, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | n = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    | optimizer.step() -> n > max_norm or optimizer.step()
    You leave out the step where the norm is too large: clip, and then take it.
each parameter clipped alone, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | for p in model.parameters(): nn.utils.clip_grad_norm_([p], max_norm)
    You clip each parameter by its own norm; it is the norm of all of them together that is limited.
not in training mode, keeps 3 | model.train() ->
    The model is in evaluation mode when it makes the logits, so dropout would do nothing: call
    model.train() first.
loss after the update, keeps 3 | loss.item() -> sequence_loss(y, model(y[:, :-1]), pad).item()
    You return the loss after the update, at the price of a second forward pass: return the one that
    you had.
whole sentence as input | model(y[:, :-1]) -> model(y)[:, 1:]
    The model sees the very token that it has to predict: its inputs are y[:, :-1].
a flag for the training mode, keeps 3 | model.train() -> model.training = True
    You set a flag of single modules, which dropout inside does not see: call model.train().
evaluation mode, keeps 3 | model.train() -> model.eval(); return -> model.train(); return
    The model is in evaluation mode while it computes: call model.train() before, not after.
a step of one's own, keeps 1
    | optimizer.step() -> with torch.no_grad():
    |     for p in model.parameters():
    |         p -= optimizer.param_groups[0]['lr'] * p.grad
    You do plain gradient descent yourself: leave the update to the optimizer, which may do it
    another way.
a tensor returned, keeps 3 | .item() ->
    You return the loss as a tensor, which keeps the whole graph alive: return loss.item().
pad taken to be 0 | , pad) -> , 0)
    Your loss takes 0 for the pad: its id is an argument.
two steps | return -> optimizer.step(); return
    You call optimizer.step() twice for one batch: once is one step.
uphill | loss.backward -> (-loss).backward
    You differentiate minus the loss, so that the step makes the loss larger.
backward twice, keeps 1 | loss.backward() -> loss.backward(retain_graph=True); loss.backward()
    You call backward twice, and gradients add up: they are twice as long as they should be.
divided by the batch, keeps 1 | loss.backward -> (loss / len(y)).backward
    You divide the loss by the number of sentences before backward: it is a mean already.
clipped to 1 | (), max_norm) -> (), 1.0)
    You clip to a length of 1, whatever max_norm says.
always as long as max_norm, keeps 1
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | n = sum((p.grad**2).sum() for p in model.parameters()) ** 0.5
    | for p in model.parameters(): p.grad *= max_norm / n
    You make every gradient as long as max_norm, short ones too: clipping shortens those alone that
    are longer.
""",
    draw=draw_updates,
    oracle=two_updates,
    shown=lambda *inputs: {},  # numbers of a model that is not theirs
    probe=TRAINING_STEP.format(rate=RATE, momentum=MOMENTUM, moved=MOVED),
    uses=("q1",),
    parts={
        "the update": (*MOVED["first"], *MOVED["second"], "steps of the optimizer"),
        "what it says, and the mode": ("first loss", "second loss", "a plain number", TRAINING),
        "clipping": MOVED["second"],
    },
)

Q3 = question(
    """q3: Greedy decoding
greedy_decode(step, state, batch, bos, eos, pad, max_len)
read chapters/07_training: Where it breaks
words, 2 points: ordinary; other ids; end is 0; pad is the end; start is the end; start is the pad; one sentence; all at once; any word
    Start from bos; at each step take the largest logit of each sentence, feed it back with the new
    state, and put pads after a sentence's eos.
when to stop, 1 point: cut off; one step; other ids; all at once
    Return at most max_len words for each sentence, bos not counted, and call step no more once all
    sentences have ended.
RIGHT
def greedy_decode(step, state, batch, bos, eos, pad, max_len):
    tokens = torch.full((batch,), bos)
    done = torch.zeros(batch, dtype=torch.bool)
    words = []
    for _ in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(-1)
        tokens = tokens.masked_fill(done, pad)
        words.append(tokens)
        done = done | (tokens == eos)
        if done.all(): break
    return torch.stack(words, 1)
def greedy_decode(step, state, batch, bos, eos, pad, max_len):
    out = torch.full((batch, max_len), pad, dtype=torch.long)
    last, alive, t = torch.tensor([bos] * batch), torch.ones(batch).bool(), 0
    while t < max_len and alive.any():
        logits, state = step(last, state)
        last = torch.where(alive, logits.max(-1).indices, pad)
        out[:, t] = last
        alive = alive & (last != eos)
        t += 1
    return out[:, :t]
WRONG
goes on after the end | tokens = tokens.masked_fill(done, pad) ->
    A finished sentence goes on getting words while others are not done: put pad there.
first end ends all | done.all() -> done.any()
    You stop as soon as one sentence is done; the others are cut short.
bos in the result | words = [] -> words = [tokens]
    Your rows begin with bos: it is the first input, not a word of the result.
bos at every step | step(tokens, -> step(torch.full((batch,), bos),
    You feed bos at every step: feed the words that were chosen.
state never moves | logits, state = -> logits, _ =
    You throw the new state away: each step must go on from the state of the last.
one word too many, keeps 2 | (max_len) -> (max_len + 1)
    A sentence that never ends gets max_len + 1 words: bos does not count, but the rest does.
one word too few, keeps 2 | (max_len) -> (max(1, max_len - 1))
    A sentence that never ends gets max_len - 1 words: bos does not count.
end mark left out | append(tokens) -> append(tokens.masked_fill(tokens == eos, pad))
    Your rows lack their eos: it is a word of the result, and the pads come after it.
end mark forced, keeps 2
    | for _ in range -> for t in range
    | tokens = logits.argmax(-1) -> tokens = logits.argmax(-1) if t < max_len - 1 else torch.full((batch,), eos)
    You put eos at the end of a sentence that was cut off: it has none, since nobody said it.
marks never said, keeps 1
    | tokens = logits.argmax(-1) -> logits[:, [x for x in (bos, pad) if x != eos]] = -torch.inf
    | tokens = logits.argmax(-1)
    You forbid bos and pad: a model may say any id, and the largest logit decides.
always max_len | if done.all(): break ->
    You go on to max_len when all sentences are done: the result has columns of pads.
smallest logit | argmax -> argmin
    You take the smallest logit: the best word has the largest.
never stops early, keeps 2
    | if done.all(): break ->; return torch.stack(words, 1) -> out = torch.stack(words, 1)
    | ended = out == eos
    | first = ended.int().argmax(1) + 1
    | return out[:, : int(first.where(ended.any(1), max_len).max())]
    Your words are right, but you call step up to max_len times when all sentences have ended long
    ago: leave the loop.
one step too many, keeps 2
    | if done.all(): break ->; logits, state = -> if done.all():
    |     step(tokens, state); break
    | logits, state =
    You call step once more when all sentences have ended: look before you call.
the given state not used | words = [] -> words = []; state = (state[0] * 0,)
    You begin with a state of zeros: begin with the one that is handed in, which has read the
    source.
one word for all | .argmax(-1) -> [:1].argmax(-1).expand(batch)
    Every sentence gets the words of the first: take the largest logit of each row.
over the batch | argmax(-1) -> T[:batch].T.argmax(0) % logits.shape[-1]
    You look for the largest logit along the batch, dim 0: each sentence has its own, over the
    words.
end marks for pads | done, pad -> done, eos
    After a sentence's eos you write eos again and again: pad goes there.
pad taken to be 0 | done, pad -> done, 0
    You fill up with 0, which is a word or the end mark in some vocabularies: the pad's id is an
    argument.
end taken to be 2 | == eos -> == 2
    You take 2 for the end mark: its id is an argument.
start taken to be 1 | (batch,), bos -> (batch,), 1
    You begin with 1, whatever bos is: its id is an argument.
start mark ends, keeps 1 | torch.zeros(batch, dtype=torch.bool) -> tokens == eos
    Where bos and eos are one id, you take the start mark for the end: only words that were chosen
    can end a sentence.
steps by sentences | words, 1 -> words
    Your result is (T, batch): one row for each sentence is asked for, (batch, T).
ended by the last word alone | done | (tokens == eos) -> tokens == eos
    You ask of the last word alone whether a sentence has ended, and behind its eos that is a pad: it
    begins to speak again. Keep a flag for each sentence, which stays up.
no flag but the last word, keeps 1
    | torch.zeros(batch, dtype=torch.bool) -> (tokens == eos) | (tokens == pad)
    | done | (tokens == eos) -> (tokens == eos) | (tokens == pad)
    You tell from the last token alone whether a sentence has ended, an eos or a pad. But bos may have
    the id of either, and a model may say pad. Keep a flag for each sentence, up once it says eos.
pad ends a sentence, keeps 1 | (tokens == eos) -> (tokens == eos) | (tokens == pad)
    You take a pad that the model says for the end: only eos ends a sentence.
an end forgotten
    | tokens = torch.full((batch,), bos); words = []
    | for _ in range(max_len):
    |     logits, state = step(tokens, state); tokens = logits.argmax(-1); words.append(tokens)
    |     if (tokens == eos).all(): break
    | return torch.stack(words, 1)
    You forget which sentences have ended: they get words again after their eos, and you stop only where
    all say eos in one step. Keep a flag for each sentence.
stops when all end at once
    | tokens = torch.full((batch,), bos); words = []
    | for _ in range(max_len):
    |     logits, state = step(tokens, state); tokens = logits.argmax(-1); words.append(tokens)
    |     if (tokens == eos).all(): break
    | out = torch.stack(words, 1); ends = out == eos
    | return out.masked_fill(ends.cumsum(1) > ends.int(), pad)
    You stop only where all sentences say eos in the same step: remember which have ended, and stop
    when all have.
a list of lists | R -> R.tolist()
    You return lists: return one tensor of whole numbers.
drawn at random | logits.argmax(-1) -> torch.multinomial(logits.softmax(-1), 1)[:, 0]
    You draw words at random: greedy decoding takes the likeliest one each time.
one start for all | full((batch,), bos) -> tensor([bos])
    You hand a single start mark to step: it takes one token for each sentence, (batch,).
""",
    draw=draw_decoder,
    oracle=decode,
    probe=DECODING,
    shown=lambda A, B, C, D, start, bos, eos, pad, max_len: {
        "batch": len(start),
        "bos": bos,
        "eos": eos,
        "pad": pad,
        "max_len": max_len,
    },
    parts={"words": ("the words", "step gets a token for each sentence")},
)

Q4 = question(
    """q4: Label smoothing that knows what a pad is
smoothed_loss(y, logits, pad, eps)
read chapters/07_training: Smoothed labels
the loss, 2 points: pad is 0; pad is last; pad in the middle; end is 0; full; square; one sentence; not smoothed; much
    Of each real target the right word counts 1 - eps and each of the V - 2 others eps / (V - 2), the
    pad not at all; one mean over all real targets.
extreme logits, 1 point: sure
    Logits in the hundreds give a wrong loss, or NaN (an eps caps it): take the logarithm of the
    softmax in one go.
gradients, 1 point, backward: pad is last; end is 0
    The loss is right but its gradient by the logits is not.
RIGHT
def smoothed_loss(y, logits, pad, eps):
    targets = y[:, 1:]
    logq = logits.log_softmax(-1)
    right = logq.gather(2, targets[..., None])[..., 0]
    others = logq.sum(-1) - logq[..., pad] - right
    losses = -(1 - eps) * right - eps / (logits.shape[-1] - 2) * others
    return losses[targets != pad].mean()
def smoothed_loss(y, logits, pad, eps):
    share = torch.full_like(logits, eps / (logits.shape[-1] - 2))
    share = share.scatter(2, y[:, 1:, None], 1 - eps)
    share[..., pad] = 0
    real = y[:, 1:] != pad
    return F.cross_entropy(logits[real], share[real])
def smoothed_loss(y, logits, pad, eps):
    total, count = 0, 0
    for sentence, rows in zip(y[:, 1:].tolist(), F.log_softmax(logits, -1)):
        for word, row in zip(sentence, rows):
            if word != pad:
                others = [w for w in range(len(row)) if w not in (word, pad)]
                total = total - (1 - eps) * row[word] - eps * row[others].mean()
                count += 1
    return total / count
def smoothed_loss(y, logits, pad, eps):
    words = y[:, 1:].flatten()
    rows = logits.flatten(0, 1)[words != pad]
    words = words[words != pad]
    right = F.one_hot(words, rows.shape[-1]).to(rows.dtype)
    rest = 1 - right
    rest[:, pad] = 0
    share = right * (1 - eps) + rest * eps / rest.sum(-1, keepdim=True)
    return (rows.logsumexp(-1) - (share * rows).sum(-1)).mean()
def smoothed_loss(y, logits, pad, eps):
    real = (y[:, 1:] != pad).to(logits.dtype)
    plain = F.cross_entropy(logits.transpose(1, 2), y[:, 1:], reduction='none')
    logq = logits.log_softmax(-1)
    words = torch.arange(logits.shape[-1]) != pad
    others = -logq[..., words].sum(-1) - plain
    losses = (1 - eps) * plain + eps * others / (words.sum() - 1)
    return (losses * real).sum() / real.sum()
WRONG
every token gets a share
    | return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad, label_smoothing=eps)
    The built-in smoothing gives each of the V tokens eps / V, the right word and the pad as well:
    here these two get none of it.
pad gets a share | - logq[..., pad] - right -> - right; - 2) -> - 1)
    You give the pad a share of eps: it goes to the V - 2 tokens that are neither pad nor right.
right word gets a share | - logq[..., pad] - right -> - logq[..., pad]; - 2) -> - 1)
    You give the right word a share of eps besides its 1 - eps: it goes to the V - 2 others alone.
pad left out of the softmax as well
    | logits.log_softmax(-1) -> logits.masked_fill(torch.arange(logits.shape[-1]) == pad, -1e9).log_softmax(-1)
    You take the pad out of the softmax, so that no probability is lost to it: the model's own
    probabilities are meant, in which the pad has a share.
pad closed in the softmax | F.log_softmax(logits, -1) -> F.log_softmax(logits.masked_fill(torch.arange(logits.shape[-1]) == pad, -torch.inf), -1)
    You give the pad a logit of minus infinity, so that the others get its probability: it is the target
    that gives nothing to the pad. The model's softmax stays as it is, the pad's share in it too.
column 0 left out for the pad | logq[..., pad] -> logq[..., 0]
    You leave out column 0, which is a word in some vocabularies: leave out that of the pad.
divided by all tokens | (logits.shape[-1] - 2) -> logits.shape[-1]
    You divide eps by V, though V - 2 tokens share it: what is left over gets lost.
divided by one too many | - 2) -> - 1)
    You divide eps by V - 1, though V - 2 tokens share it: what is left over gets lost.
all of eps to each | / (logits.shape[-1] - 2) ->
    You give all of eps to each of the other tokens: they share it.
right word keeps all | (1 - eps) * right -> right
    Your right word still counts in full: it gives eps away and counts 1 - eps.
exchanged | (1 - eps) * -> eps *; - eps / -> - (1 - eps) /
    You have eps and 1 - eps exchanged: most of the target stays with the right word.
not smoothed | others = -> eps = 0.0; others =
    This is the plain cross-entropy: eps has no effect.
smoothed inside the logarithm
    | losses = -> V = logits.shape[-1]; q = right.exp(); losses =
    | -(1 - eps) * right - eps / (logits.shape[-1] - 2) * others -> -((1 - eps) * q + eps * (1 - q) / (V - 2)).log()
    You smooth the probability and take its logarithm: it is the targets that are smoothed, and the
    sum over them stands outside the logarithm.
floor taken away
    | R -> R + (1 - eps) * math.log(1 - eps) + (eps and eps * math.log(eps / (logits.shape[-1] - 2)))
    You subtract the entropy of the targets, so that a perfect model gets 0: the cross-entropy itself
    is asked for.
not shifted | y[:, 1:] -> y[:, :-1]
    Your targets are the inputs themselves: the model would learn to copy. They are y[:, 1:].
pads count | losses[targets != pad].mean() -> losses.mean()
    Pads count as targets: leave them out of the mean.
divided by all positions | losses[targets != pad].mean() -> (losses * (targets != pad)).mean()
    You leave pads out of the sum but not out of the count: divide by the number of real targets.
pads of the inputs left out | losses[targets != pad] -> losses[y[:, :-1] != pad]
    You look for pads among the inputs, y[:, :-1]: what counts is whether the target is one.
mean of sentence means
    | (losses * real).sum() / real.sum() -> ((losses * real).sum(1) / real.sum(1)).mean()
    You average each sentence and then the sentences: words of short ones count for more. Take one
    mean over all words.
sum | losses[targets != pad].mean() -> losses[targets != pad].sum()
    You add up the losses: the mean over the real targets is asked for.
pad taken to be 0 | targets = y[:, 1:] -> targets = y[:, 1:]; pad = 0
    You take 0 for the pad, which is another token in some vocabularies: the pad's id is an argument.
sign | R -> -R
    Your loss is negative: it is minus the mean of the log-probabilities.
probabilities for logarithms | log_softmax -> softmax
    You average probabilities: cross-entropy takes their logarithms.
softmax, then logarithm, keeps 3 | logits.log_softmax(-1) -> logits.softmax(-1).log()
    You take the logarithm of a softmax: a small probability becomes 0 and its logarithm infinite.
    Use log_softmax.
detached, keeps 3 | R -> R.detach()
    The loss is right, but detached: backward() would find nothing to follow.
a plain number | R -> R.item()
    You return a plain number, where the gradient ends: return the tensor.
a loss for each target | losses[targets != pad].mean() -> losses[targets != pad]
    You return a loss for each target: take one mean over the whole batch.
""",
    draw=draw_smoothed,
    oracle=smoothed,
)

Q5 = question(
    """q5: Inputs for scheduled sampling
mixed_inputs(y, logits, coins, p, pad)
read chapters/07_training: Practise with wrong words: scheduled sampling
which inputs, 2 points: pad is 0; pad is last; pad in the middle; end is 0; start is the end; square; one sentence; one input; never; always
    Input t becomes the model's guess for place t, which row t - 1 of the logits holds, where coin t
    is smaller than p; start mark and pads stay.
pads are no guess, 1 point: pads are likely
    Where the pad has the largest logit, the guess is the best of the other tokens.
RIGHT
def mixed_inputs(y, logits, coins, p, pad):
    inputs = y[:, :-1]
    is_pad = torch.arange(logits.shape[-1]) == pad
    guesses = logits.masked_fill(is_pad, -torch.inf).argmax(-1)
    guesses = torch.cat([inputs[:, :1], guesses[:, :-1]], dim=1)
    return torch.where((coins < p) & (inputs != pad), guesses, inputs)
def mixed_inputs(y, logits, coins, p, pad):
    mixed = y[:, :-1].clone()
    scores = logits.clone()
    scores[..., pad] = -torch.inf
    for t in range(1, mixed.shape[1]):
        change = (coins[:, t] < p) & (mixed[:, t] != pad)
        mixed[change, t] = scores[change, t - 1].argmax(-1)
    return mixed
def mixed_inputs(y, logits, coins, p, pad):
    best, second = logits.topk(2, dim=-1).indices.unbind(-1)
    guesses = torch.where(best == pad, second, best)[:, :-1]
    later = y[:, 1:-1]
    later = torch.where((coins[:, 1:] >= p) | (later == pad), later, guesses)
    return torch.cat([y[:, :1], later], dim=1)
def mixed_inputs(y, logits, coins, p, pad):
    rows = []
    for words, said, drawn in zip(y[:, :-1].tolist(), logits.tolist(), coins.tolist()):
        for t in range(1, len(words)):
            if drawn[t] < p and words[t] != pad:
                row = said[t - 1]
                words[t] = max((w for w in range(len(row)) if w != pad), key=lambda w: row[w])
        rows.append(words)
    return torch.tensor(rows)
def mixed_inputs(y, logits, coins, p, pad):
    others = [w for w in range(logits.shape[-1]) if w != pad]
    guesses = torch.tensor(others)[logits[..., others].argmax(-1)].roll(1, dims=1)
    change = (coins < p) & (y[:, :-1] != pad)
    change[:, 0] = False
    return y[:, :-1].masked_scatter(change, guesses[change])
WRONG
first input replaced | inputs[:, :1], guesses[:, :-1] -> guesses[:, -1:], guesses[:, :-1]
    You replace the start mark: no row of the logits guesses it, so it stays.
start mark known by its id, keeps 1 | (inputs != pad) -> (inputs != pad) & (inputs != y[:1, :1])
    You leave every token alone that has the start mark's id, and the end mark may have it as well: go
    by the place, which is input 0.
guess of the next place | guesses = torch.cat([inputs[:, :1], guesses[:, :-1]], dim=1) ->
    You take the guess for the place after: row t predicts token t + 1, so input t is guessed by row
    t - 1.
guess of the next place behind the start mark
    | inputs[:, :1], guesses[:, :-1] -> inputs[:, :1], guesses[:, 1:]
    You keep the start mark and take the guess for the place after: row t predicts token t + 1, so
    input t is guessed by row t - 1.
guess of the place before
    | torch.cat([inputs[:, :1], guesses[:, :-1]], dim=1) -> torch.cat([inputs[:, :2], guesses[:, :-2]], dim=1)[:, : inputs.shape[1]]
    You take the guess for the place before: input t is guessed by row t - 1.
turned round | coins < p -> coins >= p
    You replace where the coin is not smaller than p: that is how often the true word stays.
at most p | coins < p -> coins <= p
    A coin of exactly p counts as smaller in yours: with p = 0 it could replace a word.
one coin for a sentence | coins < p -> coins[:, -1:] < p
    You decide for each sentence as a whole: each input has a coin of its own.
one coin for a step | coins < p -> coins[:1] < p
    You use the coins of the first sentence for all: each input has a coin of its own.
coins one place late | coins < p -> coins.roll(1, 1) < p
    You read the coin of the input before: input t has coin t.
coins one place early | coins < p -> coins.roll(-1, 1) < p
    You read the coin of the input after: input t has coin t.
coins left aside | (coins < p) & (inputs != pad) -> (inputs != pad) & torch.tensor(p > 0)
    You replace all words: the coins decide which.
pads replaced | (coins < p) & (inputs != pad) -> coins < p
    You replace pads as well: behind its end a sentence has nothing to read, and stays padded.
pads replaced by their neighbours | (inputs != pad) -> (y[:, 1:] != pad)
    You look for pads among the targets, y[:, 1:], so that the last token of a sentence is never
    replaced: what counts is whether the input is a pad.
pad guessed, keeps 2 | logits.masked_fill(is_pad, -torch.inf) -> logits
    You let the model guess a pad, which is no word: take the best of the other tokens.
true word for a guessed pad, keeps 2
    | torch.where(best == pad, second, best)[:, :-1] -> best[:, :-1]
    | (later == pad), later -> (later == pad) | (guesses == pad), later
    You keep the true word where the model guesses a pad: the best of the other tokens is asked for.
pad taken to be 0 | inputs = y[:, :-1] -> inputs = y[:, :-1]; pad = 0
    You take 0 for the pad, which is another token in some vocabularies: the pad's id is an argument.
smallest logit | argmax -> argmin
    You take the least likely token: the guess has the largest logit.
guesses alone | torch.where((coins < p) & (inputs != pad), guesses, inputs) -> guesses
    You return the guesses alone: only inputs whose coin is smaller than p are replaced.
targets mixed | inputs = y[:, :-1] -> inputs = y[:, 1:]
    You mix the targets: the inputs are y[:, :-1].
whole sentences | R -> torch.cat([R, y[:, -1:]], 1)
    You return all T tokens: the inputs are T - 1, without the last.
in place
    | return torch.where((coins < p) & (inputs != pad), guesses, inputs) -> change = (coins < p) & (inputs != pad)
    | inputs[change] = guesses[change]
    | return inputs
    You write into y, which holds the targets, too: work on a copy.
floats | R -> R.to(logits.dtype)
    Your inputs are floating-point numbers: ids are whole numbers.
""",
    draw=draw_mixed,
    oracle=mixed,
)

Q6 = question(
    """q6: Which hypothesis wins?
rescored(log_probs, lengths, weights, mask, alpha, beta)
read chapters/07_training: In general
both penalties, 2 points: ordinary; other sizes; square; one hypothesis; stopped early
    Add up the weights over the steps that were made, cut each total at 1, and add beta times the sum
    of the logarithms over the words.
lengths, 1 point: one word
    Divide each log-probability by ((5 + T) / 6) to the power of alpha.
padding, 1 point: padded; padded in front
    Words alone have to be covered: a pad has got nothing, and the logarithm of 0 is minus infinity.
RIGHT
def rescored(log_probs, lengths, weights, mask, alpha, beta):
    made = torch.arange(weights.shape[1]) < lengths[:, None]
    totals = weights.masked_fill(~made[..., None], 0.0).sum(1)[:, mask]
    covered = totals.clamp(max=1.0).log().sum(-1)
    T = lengths.to(log_probs.dtype)
    return log_probs / ((5 + T) / 6) ** alpha + beta * covered
def rescored(log_probs, lengths, weights, mask, alpha, beta):
    scores = []
    for log_prob, length, rows in zip(log_probs, lengths.tolist(), weights):
        total = rows[:length].sum(0).where(mask, 1.0)
        penalty = torch.minimum(total, torch.ones_like(total)).log().sum()
        scores.append(log_prob * (6 / (5 + length)) ** alpha + beta * penalty)
    return torch.stack(scores)
def rescored(log_probs, lengths, weights, mask, alpha, beta):
    made = torch.arange(weights.shape[1]) < lengths[:, None]
    totals = torch.einsum('nts,nt->ns', weights, made.to(weights.dtype))
    covered = totals[:, mask].log().clamp(max=0.0).sum(1)
    lp = torch.exp(alpha * ((5.0 + lengths.to(log_probs.dtype)) / 6.0).log())
    return log_probs / lp + beta * covered
def rescored(log_probs, lengths, weights, mask, alpha, beta):
    so_far = weights.cumsum(1)
    totals = so_far[torch.arange(len(lengths)), lengths - 1][:, mask]
    covered = torch.where(totals > 1, torch.ones_like(totals), totals).prod(-1).log()
    return log_probs * 6**alpha / (lengths + 5).to(log_probs.dtype).pow(alpha) + beta * covered
def rescored(log_probs, lengths, weights, mask, alpha, beta):
    n, longest, _ = weights.shape
    words = weights[:, :, mask]
    totals = torch.zeros_like(words[:, 0])
    for t in range(longest):
        totals = torch.where((t < lengths)[:, None], totals + words[:, t], totals)
    missing = F.relu(-torch.log(totals)).sum(-1)
    return log_probs * ((5.0 + lengths.type_as(totals)) / 6) ** -alpha - beta * missing
WRONG
multiplied by the length penalty | log_probs / -> log_probs *
    You multiply by the length penalty, which makes long hypotheses worse still: divide.
6 outside the power | ((5 + T) / 6) ** alpha -> ((5 + T) ** alpha / 6)
    You raise 5 + T alone to the power, and divide by 6 afterwards: the whole fraction is raised.
length to the power | ((5 + T) / 6) ** alpha -> T**alpha
    You divide by a power of the length itself: here it is 5 more than that, over 6.
no alpha | ** alpha + -> +
    You never use alpha: it says how much the length counts.
not divided by 6 | ((5 + T) / 6) -> (5 + T)
    You leave out the division by 6, by which a hypothesis of one word has lp = 1, no penalty.
all as long as the longest | ((5 + T) -> ((5 + weights.shape[1])
    You take the longest length for all: each hypothesis has its own.
alpha times | ** alpha + -> * alpha +
    You multiply by alpha: it is an exponent.
coverage divided as well, keeps 1
    | log_probs / ((5 + T) / 6) ** alpha + beta * covered -> (log_probs + beta * covered) / ((5 + T) / 6) ** alpha
    You divide the coverage penalty by the length penalty as well: add it afterwards.
no coverage, or over the words, keeps 1 | + beta * covered ->
    Your scores have no coverage penalty: it is missing, or it adds up over the words of each step,
    which gives 1 always. Add up over the steps.
sign of the coverage, keeps 1 | + beta -> - beta
    You subtract the logarithms, which are negative, and so reward what was left out: add them.
not cut at one, keeps 1 | .clamp(max=1.0) ->
    You do not cut the totals at 1, so that looking twice at one word makes up for another that was
    left out.
a floor of a hundred-thousandth, keeps 2 | clamp(max=1.0) -> clamp(1e-5, 1.0)
    You put a floor under the totals, below which a word may lie that is hardly looked at: it costs too
    little then. Each word has some weight; pads alone have none, and the mask leaves them out.
a floor of a millionth, keeps 2 | clamp(max=1.0) -> clamp(1e-6, 1.0)
    You put a floor under the totals, so that a word that is hardly looked at costs too little. Each
    word has some weight; pads alone have none, and the mask leaves them out.
a millionth added, keeps 2 | clamp(max=1.0).log() -> clamp(max=1.0).add(1e-6).log()
    You add a number before the logarithm, so that a word that is hardly looked at costs too little.
    No word has a weight of 0; pads have, and the mask leaves them out.
cut from below, keeps 1 | clamp(max=1.0) -> clamp(min=1.0)
    You keep the totals from falling below 1, which is the other way round: cut what is larger.
each weight cut, keeps 1
    | covered = -> covered = weights.masked_fill(~made[..., None], 1.0)[:, :, mask].log().sum((1, 2)) + 0 *
    You take the logarithm of each weight: add up over the steps first.
added before the logarithm, keeps 1 | .log().sum(-1) -> .sum(-1).log()
    You add up over the words before the logarithm: each word has one of its own.
logarithm of the mean, keeps 1 | .log().sum(-1) -> .mean(-1).log()
    You take the logarithm of the mean over the words: each word has a logarithm of its own, and
    they add up.
mean over the words, keeps 1 | .log().sum(-1) -> .log().mean(-1)
    You average over the words: the penalty adds up over them.
steps that were never made, keeps 1
    | weights.masked_fill(~made[..., None], 0.0).sum(1) -> weights.sum(1).abs()
    You add up rows of steps that were never made: each hypothesis ends at its length.
one step too few, keeps 1 | < lengths[:, None] -> < (lengths[:, None] - 1).clamp(min=1)
    You leave the last step out: a hypothesis of T words has rows 0 to T - 1.
pads have to be covered, keeps 3 | .sum(1)[:, mask] -> .sum(1)
    You ask for pads to be covered, which gives minus infinity: leave them out.
pads covered by a billionth, keeps 3 | .clamp(max=1.0).log() -> .clamp(1e-9, 1.0).log(); .sum(1)[:, mask] -> .sum(1)
    You clamp what pads have got at a small number, and each of them adds its logarithm to every score:
    leave them out.
pads covered a little, keeps 1 | .sum(1)[:, mask] -> .sum(1).clamp(min=1e-6)
    You put a small number at pads, which makes a large penalty for each: leave them out.
pads behind the words taken for granted, keeps 3 | [:, mask] -> [:, : int(mask.sum())]
    You count the words and assume that pads come last: use the mask as it is.
mean of the log-probability | ((5 + T) / 6) ** alpha -> T
    You take the mean log-probability of a word: the penalty is a power of (5 + T) / 6.
precision lost, keeps 2 | T = lengths.to(log_probs.dtype) -> T = lengths
    A whole number over 6 is float32 in PyTorch, whatever else is float64: bring the lengths to the
    dtype of the log-probabilities first.
best alone | R -> R.max()
    You return the best score alone: return one for each hypothesis.
""",
    draw=draw_rivals,
    oracle=rescored,
)

Q7 = question(
    """q7: Measured: Bahdanau against Luong
contest(train, seeds)
read exercises/07_training: Measured: Bahdanau against Luong
the experiment, 1 point: ordinary; two seeds; four seeds
    Train each design once with each seed, and keep what comes back.
how large, 2 points: ordinary; Luong below; maps alone; all but the maps; two seeds; four seeds
    Luong's mean BLEU minus Bahdanau's; for the medians of the seconds, and for the numbers, Luong's mean divided by
    Bahdanau's.
how far apart the maps are, 1 point: ordinary; Luong below; maps alone; all but the maps; four seeds
    The mean of apart over all pairs of a run of Bahdanau's with one of Luong's, under the mask of the real words.
whose own, 3 points: ordinary; Luong below; maps alone; all but the maps; shifted; touching; seed by seed; Bahdanau unsteady; Luong unsteady; two seeds; four seeds
    The smallest distance between runs of different designs beside the largest between runs of one design,
    for each of the four by itself.
RIGHT
def contest(train, seeds):
    runs = {design: [train(design, seed) for seed in seeds] for design in ("bahdanau", "luong")}
    first, second = runs["bahdanau"], runs["luong"]
    found = {}
    for name in ("bleu", "seconds", "numbers", "maps"):
        if name == "maps":
            gap = lambda a, b: apart(a["maps"], b["maps"], a["real"])
        else:
            gap = lambda a, b: abs(float(np.median(a[name]) - np.median(b[name])))
        between = [gap(a, b) for a in first for b in second]
        within = [gap(a, b) for x in (first, second) for a in x for b in x]
        ours, theirs = (np.mean([np.median(run[name]) for run in x]) for x in (second, first))
        size = ours - theirs if name == "bleu" else ours / theirs
        if name == "maps":
            size = sum(between) / len(between)
        found[name] = size, min(between) > max(within)
    return found
def contest(train, seeds):
    from itertools import combinations
    from statistics import fmean, median
    made = []
    for design in ("bahdanau", "luong"):
        for seed in seeds:
            made.append((design, train(design, seed)))
    def value(run, name):
        return median(run["seconds"]) if name == "seconds" else run[name]
    def means(name):
        return [fmean(value(run, name) for d, run in made if d == which) for which in ("luong", "bahdanau")]
    apart_by = {"bleu": [[], []], "seconds": [[], []], "numbers": [[], []], "maps": [[], []]}
    for (d, a), (e, b) in combinations(made, 2):
        for name, pair in apart_by.items():
            if name == "maps":
                off = apart(a[name], b[name], b["real"])
            else:
                off = abs(value(a, name) - value(b, name))
            pair[d != e].append(off)
    own = {name: max(same) < min(other) for name, (same, other) in apart_by.items()}
    bleu, seconds, numbers = means("bleu"), means("seconds"), means("numbers")
    return {
        "bleu": (bleu[0] - bleu[1], own["bleu"]),
        "seconds": (seconds[0] / seconds[1], own["seconds"]),
        "numbers": (numbers[0] / numbers[1], own["numbers"]),
        "maps": (fmean(apart_by["maps"][1]), own["maps"]),
    }
def contest(train, seeds):
    n = len(seeds)
    runs = [train("bahdanau", s) for s in seeds] + [train("luong", s) for s in seeds]
    other = torch.zeros(2 * n, 2 * n).bool()
    other[:n, n:] = other[n:, :n] = True
    def judge(off):
        return bool(off[other].min() > off[~other].max())
    found = {}
    for name in ("bleu", "seconds", "numbers"):
        x = torch.tensor([float(np.median(run[name])) for run in runs], dtype=torch.float64)
        low, high = x[:n].mean(), x[n:].mean()
        found[name] = (high - low if name == "bleu" else high / low, judge((x[:, None] - x).abs()))
    off = torch.tensor([[apart(a["maps"], b["maps"], a["real"]) for b in runs] for a in runs])
    found["maps"] = (off[:n, n:].mean(), judge(off))
    return found
def contest(train, seeds):
    found = {}
    results = {}
    for seed in seeds:
        for design in ("luong", "bahdanau"):
            results[design, seed] = train(design, seed)
    def middle(x):
        x = sorted(x)
        return (x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2
    real = results["luong", seeds[0]]["real"]
    for name in ("bleu", "seconds", "numbers", "maps"):
        table = {key: run[name] for key, run in results.items()}
        if name == "seconds":
            table = {key: middle(value) for key, value in table.items()}
        closest, widest, total = math.inf, 0.0, 0.0
        for one, x in table.items():
            for two, y in table.items():
                off = apart(x, y, real) if name == "maps" else abs(x - y)
                if one[0] == two[0]:
                    widest = max(widest, off)
                else:
                    closest = min(closest, off)
                    total += off
        if name == "maps":
            size = total / (2 * len(seeds) ** 2)
        else:
            luong = sum(table["luong", s] for s in seeds) / len(seeds)
            bahdanau = sum(table["bahdanau", s] for s in seeds) / len(seeds)
            size = luong - bahdanau if name == "bleu" else luong / bahdanau
        found[name] = [size, closest > widest]
    return found
def contest(train, seeds):
    def numbers_of(run):
        return [run["bleu"], np.quantile(run["seconds"], 0.5), run["numbers"]]
    first = [train("bahdanau", seed) for seed in seeds]
    second = [train("luong", seed) for seed in seeds]
    a, b = np.array([numbers_of(r) for r in first]), np.array([numbers_of(r) for r in second])
    across = np.abs(a[:, None] - b).min((0, 1))
    inside = np.maximum(np.ptp(a, axis=0), np.ptp(b, axis=0))
    up, down = b.mean(0), a.mean(0)
    sizes = [up[0] - down[0], up[1] / down[1], up[2] / down[2]]
    found = {}
    for k, name in enumerate(("bleu", "seconds", "numbers")):
        found[name] = (sizes[k], across[k] > inside[k])
    off = lambda x, y: apart(x["maps"], y["maps"], x["real"])
    away = [off(x, y) for x in first for y in second]
    near = [off(x, y) for z in (first, second) for i, x in enumerate(z) for y in z[:i]]
    found["maps"] = (sum(away) / len(away), min(away) > max(near))
    return found
WRONG
means for medians, keeps 2
    | gap = lambda a, b: abs(float(np.median(a[name]) - np.median(b[name]))) -> gap = lambda a, b: abs(float(np.mean(np.asarray(a[name])) - np.mean(np.asarray(b[name]))))
    | np.mean([np.median(run[name]) for run in x]) -> np.mean([np.mean(np.asarray(run[name])) for run in x])
    You take the mean of the seconds: one update that took far longer decides it. Take the median.
the lower of the two in the middle, keeps 5 | (x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2 -> x[(len(x) - 1) // 2]
    Of an even number of updates your median is the lower of the two in the middle, as torch.median's is: take
    their mean.
first update for all, keeps 2
    | gap = lambda a, b: abs(float(np.median(a[name]) - np.median(b[name]))) -> first_of = lambda v: float(np.atleast_1d(v)[0]); gap = lambda a, b: abs(first_of(a[name]) - first_of(b[name]))
    | np.median(run[name]) for run in x -> np.atleast_1d(run[name])[0] for run in x
    You look at the first update alone, which is the slow one: take the median of all.
seconds added up, keeps 5 | np.mean([np.median(run[name]) for run in x]) -> np.mean([np.sum(np.asarray(run[name])) for run in x])
    You add up the seconds: one slow update then counts as much as many. Take the median.
Bahdanau over Luong, keeps 5 | ours / theirs -> theirs / ours
    Your ratios are turned round: Luong's divided by Bahdanau's.
Bahdanau minus Luong, keeps 5 | ours - theirs if -> theirs - ours if
    Your difference of BLEU has the wrong sign: Luong's minus Bahdanau's.
BLEU as a ratio, keeps 5 | size = ours - theirs if name == "bleu" else ours / theirs -> size = ours / theirs
    You divide BLEU by BLEU: its difference is asked for, in points.
differences for ratios, keeps 5 | size = ours - theirs if name == "bleu" else ours / theirs -> size = ours - theirs
    You subtract seconds and numbers: Luong's are divided by Bahdanau's.
best seeds, keeps 5 | np.mean([np.median(run[name]) for run in x]) -> np.max([np.median(run[name]) for run in x])
    You take the best seed of each design, or the largest: take the mean over the seeds.
first seed alone, keeps 4 | np.mean([np.median(run[name]) for run in x]) -> np.median(x[0][name]); sum(between) / len(between) -> between[0]
    Your sizes are those of the first seed: take the mean over all seeds.
maps with the same seed alone, keeps 6 | sum(between) / len(between) -> sum(gap(a, b) for a, b in zip(first, second)) / len(first)
    You compare the maps of runs with the same seed alone: nothing pairs two designs with one seed. Take all pairs.
mean maps, keeps 6
    | size = sum(between) / len(between) -> size = apart(sum(r["maps"] for r in first) / len(first), sum(r["maps"] for r in second) / len(second), first[0]["real"])
    You average the maps of each design before you compare: where seeds look at different words, that hides it.
nearest maps, keeps 6 | size = sum(between) / len(between) -> size = min(between)
    You return the smallest distance of two maps: the mean over all pairs of different designs is asked for.
maps of all pairs, keeps 6 | size = sum(between) / len(between) -> size = sum(between + within) / len(between + within)
    Your mean distance of maps counts pairs of one design as well: one run of each design.
maps by their distance within, keeps 6 | size = sum(between) / len(between) -> size = sum(within) / len(within)
    Your distance of maps is that within the designs: one run of each.
pads in the maps, keeps 3 | apart(a["maps"], b["maps"], a["real"]) -> apart(a["maps"], b["maps"], torch.ones_like(a["real"]))
    You compare maps at pads as well, where anything may stand: hand over the mask of the real words.
pads alone, keeps 3 | a["real"]) -> ~a["real"])
    You compare the maps at pads: real is True at words.
ranges apart, keeps 4
    | found[name] = size, min(between) > max(within) -> low = lambda x: min(np.median(r[name]) for r in x); high = lambda x: max(np.median(r[name]) for r in x); found[name] = size, bool(low(second) > high(first) or low(first) > high(second)) if name != "maps" else min(between) > max(within)
    You ask whether the ranges lie apart, which they do already at the smallest distance: here they have to lie further
    apart than two seeds of one design.
mean beside mean, keeps 4 | min(between) > max(within) -> sum(between) / len(between) > sum(within) / (len(within) - 2 * len(seeds))
    You compare mean distances: each two runs of different designs must be further apart than any two of one.
mean beside the furthest, keeps 4 | min(between) > max(within) -> sum(between) / len(between) > max(within)
    You compare the mean distance of different designs with the furthest of one: even the two nearest runs of
    different designs must be further apart.
any pair is enough, keeps 4 | min(between) > max(within) -> max(between) > max(within)
    You look at the pair of runs that is furthest apart: all pairs of different designs must be, the nearest too.
beyond the steadiest, keeps 4
    | min(between) > max(within) -> min(between) > min(max(gap(a, b) for a in x for b in x) for x in (first, second))
    It is enough for you to be beyond the steadier design: an unsteady one makes such distances by itself.
beyond the least, keeps 4 | within = [gap(a, b) for x in (first, second) for a in x for b in x] -> within = [gap(a, b) for x in (first, second) for i, a in enumerate(x) for b in x[:i]]; min(between) > max(within) -> min(between) > min(within)
    You compare with the two runs of one design that are nearest: compare with those that are furthest apart.
Bahdanau's seeds alone, keeps 4 | for x in (first, second) for a in x for b in x -> for x in (first,) for a in x for b in x
    You compare with the seeds of Bahdanau's design alone: Luong's may differ more.
distances from the first seed alone, keeps 4 | for a in x for b in x -> for a in x[:1] for b in x
    You compare the first seed of a design with its others: any two of them may be the furthest apart.
distances of neighbours alone, keeps 4 | for a in x for b in x -> for a, b in zip(x, x[1:])
    You compare each seed with the next one: any two of a design may be the furthest apart.
Luong's seeds alone, keeps 4 | for x in (first, second) for a in x for b in x -> for x in (second,) for a in x for b in x
    You compare with the seeds of Luong's design alone: Bahdanau's may differ more.
seed by seed, keeps 3 | between = [gap(a, b) for a in first for b in second] -> between = [gap(a, b) for a, b in zip(first, second)]
    You compare runs with the same seed alone: nothing pairs two designs with one seed. Compare each with each.
touching counts, keeps 4 | min(between) > max(within) -> min(between) >= max(within)
    Where both distances are equal, a seed explains as much: further apart means larger.
always beyond, keeps 4 | found[name] = size, min(between) > max(within) -> found[name] = size, min(between) > 0
    For you any difference is the designs' own: compare with what two seeds of one design differ.
turned round, keeps 4 | min(between) > max(within) -> min(between) <= max(within)
    Your verdicts are turned round: True where seeds do not explain the difference.
one verdict for all, keeps 4 | R -> {name: (size, all(own for _, own in found.values())) for name, (size, own) in found.items()}
    You have one verdict for all four: each is judged by its own numbers.
never the maps', keeps 4 | R -> found | {"maps": (found["maps"][0], False)}
    You never call the maps' difference the designs' own: compare distances, as for numbers.
always the maps', keeps 4 | R -> found | {"maps": (found["maps"][0], True)}
    You always call the maps' difference the designs' own: two seeds of one design have different maps, too.
trained anew for each measure, keeps 6
    | ours, theirs = ( -> again = [train(d, s) for s in seeds for d in ("bahdanau", "luong")]; ours, theirs = (
    You train again for each measure: one training has them all.
one seed for all, keeps 0 | [train(design, seed) for seed in seeds] for -> [train(design, seeds[0]) for seed in seeds] for
    You train with the first seed again and again: what two seeds differ, you cannot see then.
seeds counted from 0, keeps 0 | [train(design, seed) for seed in seeds] for -> [train(design, seed) for seed in range(len(seeds))] for
    You train with 0, 1, 2: the seeds are those of the argument.
designs exchanged, keeps 5 | first, second = runs["bahdanau"], runs["luong"] -> second, first = runs["bahdanau"], runs["luong"]
    You have exchanged the designs: Luong's minus, or over, Bahdanau's.
sizes alone | R -> {name: size for name, (size, own) in found.items()}
    You return sizes alone: each measure has a pair, its size and whether it is the designs' own.
pairs exchanged | R -> {name: (own, size) for name, (size, own) in found.items()}
    Your pairs are turned round: first the size, then True or False.
""",
    draw=draw_contest,
    oracle=contest,
    shown=lambda bleu, seconds, numbers, maps, real: {
        "BLEU of Bahdanau's runs": bleu[0],
        "BLEU of Luong's runs": bleu[1],
        "seconds of Bahdanau's updates, a row for each run": seconds[0],
        "seconds of Luong's updates, a row for each run": seconds[1],
        "numbers of Bahdanau's runs": numbers[0],
        "numbers of Luong's runs": numbers[1],
        "apart, each of Bahdanau's maps (rows) and each of Luong's": distances(
            maps[0], maps[1], real
        ),
        "apart, each two of Bahdanau's maps": distances(maps[0], maps[0], real),
        "apart, each two of Luong's maps": distances(maps[1], maps[1], real),
    },
    probe=PLAIN
    + f"""
def probe(contest, bleu, seconds, numbers, maps, real):
    seeds, trained = [5 + 3 * i for i in range(bleu.shape[1])], []
    kept = [x.clone() for x in (bleu, seconds, numbers, maps, real)]

    def train(design, seed):
        if design not in ("bahdanau", "luong"):
            raise ValueError("train takes 'bahdanau' or 'luong'")
        if seed not in seeds:
            raise ValueError(f"train got the seed {{seed!r}}; the seeds are {{seeds}}")
        trained.append((design, seed))
        at = int(design == "luong"), seeds.index(seed)
        return {{"bleu": float(bleu[at]), "seconds": seconds[at].tolist(),
                "numbers": int(numbers[at]), "maps": maps[at], "real": real}}

    found = contest(train, list(seeds))
    if not all(torch.equal(x, y) for x, y in zip(kept, (bleu, seconds, numbers, maps, real))):
        raise ValueError("the maps that came back were changed: work on a copy")
    names = {MEASURES!r}
    if not isinstance(found, dict) or set(found) != set(names):
        return "expected a dict with bleu, seconds, numbers and maps"
    result = {{"{ONCE}": sorted(trained) == sorted((d, s) for d in ("bahdanau", "luong") for s in seeds)}}
    for name in names:
        if not isinstance(found[name], tuple | list) or len(found[name]) != 2:
            return f"{{name}}: expected a pair, its size and True or False"
        size, own = found[name]
        if str(own) not in ("True", "False", "tensor(True)", "tensor(False)"):
            return f"{{name}}: expected True or False in the second place"
        result[f"size, {{name}}"] = plain(size)
        result[f"own, {{name}}"] = float(bool(own))
    return result
""",
    parts={
        "the experiment": (ONCE,),
        "how large": ("size, bleu", "size, seconds", "size, numbers"),
        "how far apart the maps are": ("size, maps",),
        "whose own": tuple(f"own, {name}" for name in MEASURES),
    },
)

# What the notebook gives.
GIVEN = '''
def apart(one, other, real):
    """Return the mean share of weight, over real words, that lies elsewhere in the other maps."""
    return float(((one - other).abs().sum(-1) / 2)[real].mean())
'''

EXERCISE = Exercise(
    "07_training", "Training and decoding", (Q1, Q2, Q3, Q4, Q5, Q6, Q7), prelude=PRELUDE + GIVEN
)
