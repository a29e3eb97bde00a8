"""How the exercise on the decoder is graded: oracles, cases, known mistakes."""

import math
from itertools import chain

import numpy as np

from seqattn.grading.bank import PRELUDE, Exercise
from seqattn.grading.drawing import central_differences, mixture, normal, padding, softmax_rows
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def bridge(h_n, W, b, squash):
    first = np.zeros((h_n.shape[1], len(W), W.shape[1]))
    for s, layer in np.ndindex(*first.shape[:2]):
        joined = [*h_n[2 * layer, s], *h_n[2 * layer + 1, s]]
        first[s, layer] = W[layer] @ np.array(joined) + b[layer]
    return np.tanh(first) if squash else first


def shift(words, bos, eos, pad):
    read, say = np.full((2, len(words), words.shape[1] + 1), pad)
    for r, s, row in zip(read, say, words):
        sentence = [w for w in row if w != pad]
        r[: len(sentence) + 1] = [bos, *sentence]
        s[: len(sentence) + 1] = [*sentence, eos]
    return read, say


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell(x, s, W, U, b=0.0, c=0.0):
    """Update one state: reset, update, new. The reset gate comes behind the product."""
    (r, z, n), (r_s, z_s, n_s) = (a.reshape(3, -1) for a in (W @ x + b, U @ s + c))
    keep = sigmoid(z + z_s)
    return (1 - keep) * np.tanh(n + sigmoid(r + r_s) * n_s) + keep * s


def update(x, s, W, U):
    return np.array([cell(*one, W, U) for one in zip(x, s)])


def asked(query, keys, mask, A):
    with np.errstate(invalid="ignore"):
        scores = np.array([sentence @ (q @ A) for q, sentence in zip(query, keys)])
    weights = softmax_rows(scores, mask)
    return mixture(weights, keys, mask), weights


def joined(*parts):
    return np.concatenate(parts, axis=-1)


def bahdanau_step(embedded, state, keys, mask, A, W, U, P):
    context, weights = asked(state, keys, mask, A)
    new = update(joined(embedded, context), state, W, U)
    z = joined(new, context, embedded) @ P.T
    best = [[max(row[2 * k], row[2 * k + 1]) for k in range(len(P) // 2)] for row in z]
    return new, np.array(best), weights


def luong_run(embedded, state, keys, mask, A, W, U, W_c):
    B, T = embedded.shape[:2]
    fed, vectors, maps = np.zeros((B, len(W_c))), [], []
    for t in range(T):
        state = update(joined(embedded[:, t], fed), state, W, U)
        context, weights = asked(state, keys, mask, A)
        fed = np.tanh(joined(context, state) @ W_c.T)
        vectors.append(fed)
        maps.append(weights)
    return np.stack(vectors, 1), np.stack(maps, 1)


def directions(layers):
    """Cut the arrays of an encoder into layers, and those into two directions of four arrays."""
    return [(layers[n : n + 4], layers[n + 4 : n + 8]) for n in range(0, len(layers), 8)]


def read_all(vectors, arrays, d_h):
    W, U, b, c = arrays
    states = [np.zeros(d_h)]
    for x in vectors:
        states.append(cell(x, states[-1], W, U, b, c))
    return states[1:]


def encoded(sizes, arrays, vectors, lengths):
    _, d_h, _ = sizes
    states = np.zeros((*vectors.shape[:2], 2 * d_h))
    summary = np.zeros((len(vectors), 2 * d_h))
    for s, length in enumerate(lengths):
        words = list(vectors[s, :length])
        for forward, backward in directions(arrays):
            there = read_all(words, forward, d_h)
            back = read_all(words[::-1], backward, d_h)[::-1]
            words = [joined(a, b) for a, b in zip(there, back)]
        states[s, :length], summary[s] = words, joined(there[-1], back[0])
    return states, summary


def encode(sizes, arrays, vectors, lengths):
    def total(_):
        states, summary = encoded(sizes, arrays, vectors, lengths)
        return float((states**2).sum() + (summary**2).sum())

    found = dict.fromkeys(ENCODER, True)
    found |= zip(("the states", "the summary"), encoded(sizes, arrays, vectors, lengths))
    return found | {"gradient of the vectors": central_differences(total, vectors)}


def decode_once(sizes, E, start, cell, A, keys, readout, gates, words, values):
    """Decode a sentence with what the gates choose: who asks, and where the context goes."""
    early, now, later, read = gates
    on_word, on_state, on_context = cell
    s, fed, rows = start, np.zeros(sizes[1]), []
    for word in words:
        before = s
        if not early:
            s = np.tanh(on_word @ E[word] + on_state @ s + on_context @ (later * fed))
        weights = softmax_rows(keys @ (A @ (before if early else s)))
        context = weights @ values
        if early:
            fed = now * context + later * fed
            s = np.tanh(on_word @ E[word] + on_state @ s + on_context @ fed)
        fed = context
        rows.append((s, weights, readout @ joined(s, read * context)))
    return tuple(map(np.stack, zip(*rows)))


def named(*design):
    early, now, later, read = design[-3]
    goes = "update" if now else "next update" if later else "readout" if read else "nowhere"
    return {WHO: "old state" if early else "new state", WHERE: goes, LEFT: True}


def numbness(features, real):
    rows = np.array([features[place] for place in np.ndindex(*real.shape) if real[place]])
    stuck = [min(column) > EDGE or max(column) < -EDGE for column in rows.T]
    return {
        "saturated": float(np.mean([abs(x) > EDGE for row in rows for x in row])),
        "slope": float(np.mean([1 - x**2 for row in rows for x in row])),
        "constant": float(np.mean(stuck)),
    }


def compared(one, other):
    found = []
    for ours, theirs in zip(zip(*one), zip(*other)):
        if len(ours) < 3 or len(theirs) < 3:
            found.append("too few seeds")
        elif min(ours) > max(theirs):
            found.append("higher")
        elif max(ours) < min(theirs):
            found.append("lower")
        else:
            found.append("no difference seen")
    return {"saturated": found[0], "loss": found[1], LEFT: True}


# --- Cases -----------------------------------------------------------------------------------------

BRIDGES = {  # L, B, d_h, d_s
    "ordinary": (2, 3, 4, 5),
    "other sizes": (3, 2, 5, 3),
    "all sizes equal": (2, 4, 2, 4),
    "one layer": (1, 3, 2, 5),
    "one sentence": (2, 1, 3, 4),
    "one number a state": (2, 3, 1, 1),
    "cells": (2, 3, 4, 5),
    "cells of one layer": (1, 4, 3, 2),
}


def draw_bridge(rng, kind):
    L, B, d_h, d_s = BRIDGES[kind]
    shapes = (2 * L, B, d_h), (L, d_s, 2 * d_h), (L, d_s)
    return *(normal(rng, *shape) for shape in shapes), not kind.startswith("cells")


MARKS = {  # bos, eos, pad
    "other ids": (3, 0, 6),
    "pad is the end": (1, 2, 2),
    "pad is the start": (0, 2, 0),
    "start is the end": (2, 2, 0),
    "all marks share an id": (4, 4, 4),
}
LENGTHS = {
    "full": (4, 4, 4),
    "one sentence": (3,),
    "one word": (1, 1),
    "an empty one": (3, 0, 2),
    "pad is the start": (3, 0, 2),
    "all marks share an id": (2, 0, 4),
    "nothing but empty ones": (0, 0),
    "square": (3, 1, 2),
}


def draw_words(rng, kind):
    bos, eos, pad = MARKS.get(kind, (1, 2, 0))
    lengths = LENGTHS.get(kind, tuple(rng.permutation([5, 3, 2, 1])))
    real = [w for w in range(9) if w not in (bos, eos, pad)]
    # One column more than the longest needs, where nothing else is said.
    more = 0 if kind in ("full", "one word", "square") else 1
    words = np.full((len(lengths), max(lengths) + more), pad, np.int64)
    for row, length in zip(words, lengths):
        row[:length] = rng.choice(real, size=length)
    return words, bos, eos, pad


STEPS = {  # B, T, S, d_e, d_s, d_h, d_t
    "ordinary": (2, 3, 5, 3, 4, 6, 2),
    "other sizes": (3, 2, 4, 6, 3, 2, 5),
    "all sizes equal": (3, 3, 3, 3, 3, 3, 3),
    "vectors of one size": (2, 4, 3, 2, 2, 2, 2),
    "one word": (2, 2, 1, 2, 3, 4, 3),
    "one sentence": (1, 3, 4, 3, 2, 3, 2),
    "one step": (3, 1, 2, 2, 4, 3, 3),
    "padded": (3, 2, 5, 2, 3, 4, 2),
    "nothing to attend": (3, 2, 4, 2, 3, 2, 4),
}


def draw_step(rng, kind):
    B, _, S, d_e, d_s, d_h, d_t = STEPS[kind]
    mask = np.ones((B, S), bool)
    if kind in ("padded", "nothing to attend"):
        mask = padding(rng, B, S, empty=kind == "nothing to attend")
    shapes = (d_s, d_h), (3 * d_s, d_e + d_h), (3 * d_s, d_s), (2 * d_t, d_s + d_h + d_e)
    given = normal(rng, B, d_e), np.tanh(normal(rng, B, d_s)), normal(rng, B, S, d_h), mask
    return *given, *(normal(rng, *shape) for shape in shapes)


def draw_run(rng, kind):
    B, T, _S, d_e, d_s, d_h, d_a = STEPS[kind]
    _, state, keys, mask, A, *_ = draw_step(rng, kind)
    shapes = (3 * d_s, d_e + d_a), (3 * d_s, d_s), (d_a, d_h + d_s)
    matrices = (normal(rng, *shape) for shape in shapes)
    return normal(rng, B, T, d_e), state, keys, mask, A, *matrices


ENCODER = (
    "a second call gives the same",
    "the vectors and lengths are left as they are",
    "the precision of the inputs is kept",
    "gradients reach the encoder's own parameters",
    "the encoder's parameters still ask for gradients",
)
ENCODED = {  # lengths, columns behind the longest, sizes of vectors and states, layers
    "full": ((4, 4, 4), 0, 3, 2, 1),
    "full, two layers": ((3, 3), 0, 2, 4, 2),
    "one sentence": ((5,), 0, 2, 3, 1),
    "one word": ((1, 1, 1), 0, 3, 2, 1),
    "all sizes equal": ((4, 4, 4, 4), 0, 4, 2, 1),
    "unsorted": ((2, 5, 1, 3), 0, 3, 2, 1),
    "unsorted, two layers": ((1, 4, 2), 0, 3, 2, 2),
    "more columns than words": ((3, 2, 4), 2, 2, 3, 1),
    "anything at pads": ((3, 1, 4), 1, 3, 2, 2),
}


def draw_encoder(rng, kind):
    lengths, more, d_in, d_h, layers = ENCODED[kind]
    arrays = []
    for layer in range(layers):
        d = d_in if layer == 0 else 2 * d_h
        shapes = (3 * d_h, d), (3 * d_h, d_h), (3 * d_h,), (3 * d_h,)
        arrays += [normal(rng, *shape) for shape in shapes * 2]
    vectors = normal(rng, len(lengths), max(lengths) + more, d_in)
    for row, length in zip(vectors, lengths):
        row[length:] = np.nan if kind == "anything at pads" else 3.0
    return (d_in, d_h, layers), tuple(arrays), vectors, np.array(lengths, np.int64)


WHO, WHERE = "who asks", "where the context goes"
LEFT = "the arguments are left as they are"
# A little above 0.99: that number as float32 does not lie beyond it.
EDGE = 0.99 + 1e-6
DESIGNS = {  # early, now, later, read; None for either
    "Bahdanau": (1, 1, 0, None),
    "Luong": (0, 0, 0, 1),
    "Luong, fed later": (0, 0, 1, None),
    "early, to the readout alone": (1, 0, 0, 1),
    "early, fed later": (1, 0, 1, None),
    "early, never used": (1, 0, 0, 0),
    "late, never used": (0, 0, 0, 0),
    "Luong, equal vectors": (0, 0, 0, 1),
    "Luong, fed later, equal vectors": (0, 0, 1, 1),
    "late, never used, equal vectors": (0, 0, 0, 0),
    "early, to the readout alone, equal vectors": (1, 0, 0, 1),
    "Bahdanau, by little": (1, 1, 0, 0),
    "Luong, by little": (0, 0, 0, 1),
    "Luong, by little, equal vectors": (0, 0, 0, 1),
}
VOCABULARY = 9
# What moves in a program where all moves by little: more than a thousandth, less than a hundredth.
LITTLE = 1.2e-3, 1e-2


def draw_design(rng, kind):
    """Draw a decoder in which all moves by more than a thousandth that can move."""
    gates = tuple(int(rng.integers(2)) if g is None else g for g in DESIGNS[kind])
    while True:
        d_e, d_v, d_s, T, S = (int(n) for n in rng.choice([3, 4, 5, 6], size=5))
        T = 3 if "by little" in kind else T  # the fewer words, the sooner all move alike
        E = normal(rng, VOCABULARY, d_e)
        if "equal vectors" in kind:
            # Three words share a vector, and the sentence has words of one such vector alone.
            E = np.repeat(normal(rng, 3, d_e), 3, axis=0)
            words = np.full(T, rng.choice([1, VOCABULARY - 2]))
        else:
            words = rng.integers(VOCABULARY, size=T)
        cell = normal(rng, d_s, d_e), normal(rng, d_s, d_s, scale=0.5), normal(rng, d_s, d_v)
        # One number of a state is deaf to the context: that all of them move is not asked for.
        cell[2][rng.integers(d_s)] = 0.0
        start, A = np.tanh(normal(rng, d_s)), normal(rng, d_s + 1, d_s)
        keys, readout = normal(rng, S, d_s + 1), normal(rng, VOCABULARY, d_s + d_v)
        design = (d_s, d_v), E, start, cell, A, keys, readout, gates, words
        values = normal(rng, S, d_v)
        if "by little" in kind:
            # As long as all of it is small, what moves grows in proportion to what moves it.
            of_context = cell[2], readout[:, d_s:]
            for part in (A, *of_context):
                part *= 1e-3
            A *= 0.9 * LITTLE[1] / max(moved_by_words(design, values))
            more = 0.9 * LITTLE[1] / max(moved_by_values(design, values))
            for part in of_context:
                part *= more
        least, most = LITTLE if "by little" in kind else (3e-3, math.inf)
        moves = chain(moved_by_words(design, values), moved_by_values(design, values))
        if all(least <= move < most for move in moves):
            return *design[:-1], words.astype(np.int64), values


def moved_by_words(design, values):
    """Say how far a word moves the first row of weights that it can move, for each other word."""
    *fixed, words = design
    _, E, *_, (early, *_) = fixed
    maps = decode_once(*fixed, words, values)[1]
    for t in range(len(words) - early):
        for other in range(VOCABULARY):
            if not np.array_equal(E[other], E[words[t]]):
                changed = np.array([*words[:t], other, *words[t + 1 :]])
                rows = decode_once(*fixed, changed, values)[1]
                yield abs(rows - maps)[t + early].max()


def moved_by_values(design, values):
    """Say how far other values move the first state that they can move, and the first logits."""
    *fixed, words = design
    *_, (_, now, later, read) = fixed
    states, _, logits = decode_once(*fixed, words, values)
    for changed in (5 * values, -values, 0 * values, values + 1):
        moved, _, said = decode_once(*fixed, words, changed)
        if now or later:
            yield abs(moved - states)[0 if now else 1].max()
        if read:
            yield abs(said - logits)[0].max()


FEATURES = {  # sentences, steps, features
    "ordinary": (3, 4, 6),
    "one sentence": (1, 5, 4),
    "one step": (4, 1, 3),
    "one feature": (2, 3, 1),
    "numb": (3, 4, 5),
    "both ends": (2, 4, 6),
    "padded": (4, 5, 6),
    "anything at pads": (3, 4, 5),
}


def draw_features(rng, kind):
    n, T, d = FEATURES[kind]
    x = np.tanh(rng.normal(size=(n, T, d)) * (6 if kind == "numb" else 3))
    # Some features are the same everywhere, at the one end or at the other.
    ends = rng.choice([-1.0, 1.0], size=d)
    for k in range(d - 1):
        if k % 3 < 2:
            # The second kind is nearly so: now and then it is no further than half way.
            x[..., k] = ends[k] * rng.uniform(0.991, 0.9999, size=(n, T))
            x[0, 0, k] *= 0.6 if k % 3 else 1.0
    if kind == "numb":
        # Beyond the edge on average, and at every word but one.
        x[..., 3] = 0.9999 * ends[3]
        x[-1, 0, 3] = 0.95 * ends[3]
    if kind in ("numb", "both ends"):
        x[..., -1] = 0.5  # rests as well, and not at an end
    if kind == "both ends":
        x[..., 2] = rng.choice([-0.995, 0.995], size=(n, T))
        x[0, :2, 2] = -0.995, 0.995
        # At an end in each sentence, and not at the same in all.
        x[..., 4] = 0.995
        x[0, :, 4] = -0.995
    real = np.ones((n, T), bool)
    if kind in ("padded", "anything at pads"):
        real = padding(rng, n, T)
        x[~real] = np.nan if kind == "anything at pads" else 0.5
    # Near the edge, numbers of 32 and of 64 bits would not agree on which side they are.
    x[abs(abs(x) - EDGE) < 1e-4] = 0.98
    return x.astype(np.float32), real


def draw_seeds(rng, kind):
    # Counts by which each side alone, both together, and a limit of two seeds go wrong elsewhere.
    few = {"two seeds": (2, 3), "one seed": (1, 5), "two seeds beside five": (5, 2)}
    few |= {"apart": (3, 4), "crossed": (4, 3), "twins": (3, 3)}
    counts = few.get(kind, (int(rng.integers(3, 6)), int(rng.integers(3, 6))))
    apart = {"apart": (1, 1), "apart, the other way": (-1, -1), "crossed": (1, -1)}
    apart |= {"twins": (1, 1), "close together": (-1, 1)}
    signs = apart.get(kind, (1, 1) if "seed" in kind else (0, 0))
    signs = {"one apart": (1, 0), "the other apart": (0, -1)}.get(kind, signs)
    columns = []
    for sign in signs:
        if sign == 0:
            # The ranges meet, though the means, the medians and most of the pairs do not.
            high = int(rng.integers(2))
            limits = {high: (0.5, 0.6), 1 - high: (0.2, 0.3)}
            pair = [rng.uniform(*limits[side], counts[side]) for side in (0, 1)]
            ends = {"touching": pair[high].min(), "shifted": pair[high].mean()}
            meet = ends.get(kind, 0.61)
            pair[1 - high][rng.integers(counts[1 - high])] = meet
        else:
            middle = rng.uniform(0.3, 0.6)
            above = rng.uniform(middle + 0.02, 0.95, counts[0 if sign > 0 else 1])
            below = rng.uniform(0.01, middle, counts[1 if sign > 0 else 0])
            # So wide that one standard deviation reaches into the other's.
            above[0], below[0] = middle + 0.02, middle
            if kind == "close together":
                above[0] = middle + 2e-4
            pair = [above, below] if sign > 0 else [below, above]
        columns.append(pair)
    for pair in columns if kind == "twins" else ():
        # Two seeds that came to the same numbers.
        for numbers in pair:
            numbers[1] = numbers[0]
    scale = 1.0, 6.0
    sides = [
        [tuple(float(f * c[side][n]) for f, c in zip(scale, columns)) for n in range(counts[side])]
        for side in (0, 1)
    ]
    return tuple(sides)


BOX = """
def probe(name_design, sizes, E, start, cell, A, keys, readout, gates, words, values):
    early, now, later, read = gates
    on_word, on_state, on_context = cell
    calls = [0]

    def noisy(rows):
        rows = torch.stack(rows)
        return rows + 1e-6 * (2 * torch.rand(rows.shape) - 1)

    def decode(words, values):
        calls[0] += 1
        if calls[0] > 500:
            raise RuntimeError("decode was called more than 500 times: a few dozen will do")
        s, fed, rows = start, torch.zeros(sizes[1]), []
        for word in words:
            before, x = s, on_word @ E[word] + on_state @ s
            if not early:
                s = torch.tanh(x + on_context @ (later * fed))
            weights = torch.softmax(keys @ (A @ (before if early else s)), -1)
            context = weights @ values
            if early:
                s = torch.tanh(x + on_context @ (now * context + later * fed))
            fed = context
            rows.append((s, weights, readout @ torch.cat([s, read * context])))
        return tuple(map(noisy, zip(*rows)))

    kept = words.clone(), values.clone()
    named = name_design(decode, words, values, len(E))
    if not isinstance(named, tuple | list) or len(named) != 2:
        return named
    left = torch.equal(words, kept[0]) and torch.equal(values, kept[1])
    return {"who asks": named[0], "where the context goes": named[1],
            "the arguments are left as they are": left}
"""


# --- Questions -------------------------------------------------------------------------------------

Q1 = question(
    """q1: The bridge
bridge(h_n, W, b, squash)
read chapters/06_decoder: Where the step begins
states, 2 points: ordinary; other sizes; all sizes equal; one layer; one sentence; one number a state
    For each layer: join its forward and its backward end, in this order, multiply by the layer's
    own matrix, add its own bias, and take the tanh last.
cells, 1 point: cells; cells of one layer
    Where squash is False, the same without the tanh.
gradients, 1 point, backward: ordinary; cells
    The states are right but their gradients are not: no detach, no .data, no NumPy on the way.
RIGHT
def bridge(h_n, W, b, squash):
    both = torch.cat([h_n[0::2], h_n[1::2]], -1)
    s = torch.einsum('lbd,lsd->bls', both, W) + b
    return torch.tanh(s) if squash else s
def bridge(h_n, W, b, squash):
    L = W.shape[0]
    ends = h_n.view(L, 2, *h_n.shape[1:]).permute(2, 0, 1, 3).flatten(2)
    s = (W @ ends[..., None]).squeeze(-1) + b
    return s.tanh() if squash else s
def bridge(h_n, W, b, squash):
    rows = []
    for l, (w, c) in enumerate(zip(W, b)):
        s = F.linear(torch.cat([h_n[2 * l], h_n[2 * l + 1]], 1), w, c)
        if squash:
            s = torch.tanh(s)
        rows.append(s)
    return torch.stack(rows, 1)
def bridge(h, W, b, squash):
    d = h.shape[-1]
    s = h[::2] @ W[:, :, :d].mT + h[1::2] @ W[:, :, d:].mT + b.unsqueeze(1)
    s = s.transpose(0, 1)
    return s.tanh() if squash else s
def bridge(h_n, W, b, squash):
    s = torch.baddbmm(b[:, :, None], W, torch.cat([h_n[0::2], h_n[1::2]], 2).mT)
    return (s.tanh() if squash else s).permute(2, 0, 1)
WRONG
tanh left out, keeps 1 | torch.tanh(s) if squash else s -> s
    Your first states have no tanh: those of a GRU lie between -1 and 1, and squash says when.
cells squashed, keeps 2 | torch.tanh(s) if squash else s -> torch.tanh(s)
    You take the tanh of everything: the cells of an LSTM have no bounds, and squash is False for
    them.
squash turned round | torch.tanh(s) if squash else s -> s if squash else torch.tanh(s)
    You take the tanh where squash is False, and leave it out where it is True.
tanh before the product, keeps 1 | h_n[0::2], h_n[1::2] -> *((h.tanh() if squash else h) for h in (h_n[0::2], h_n[1::2]))
    | torch.tanh(s) if squash else s -> s
    You take the tanh of the encoder's ends, which come from a tanh already: it belongs around the
    sum of product and bias.
tanh before the bias, keeps 1 | + b -> ; return torch.tanh(s) if squash else s -> return (torch.tanh(s) if squash else s) + b
    You add the bias behind the tanh: it belongs inside.
same matrix for all layers | both, W) -> both, W[:1].expand_as(W))
    Every layer gets the matrix of the first: each has one of its own.
same bias for all layers | + b -> + b[0]
    Every layer gets the bias of the first: each has one of its own.
same matrix and bias for all layers | both, W) + b -> both, W[:1].expand_as(W)) + b[0]
    Every layer gets the matrix and the bias of the first: each has its own.
top layer for all | both, W) -> both[-1:].expand_as(both), W)
    Every layer of your decoder starts from the encoder's top layer: layer l starts from layer l.
one direction alone | h_n[0::2], h_n[1::2] -> h_n[1::2], h_n[1::2]
    You read the backward ends alone, as h_n[-1] does: the forward ends are in front of them.
forward direction alone | h_n[0::2], h_n[1::2] -> h_n[0::2], h_n[0::2]
    You read the forward ends alone: each layer's backward end lies right behind its forward one.
directions exchanged | h_n[0::2], h_n[1::2] -> h_n[1::2], h_n[0::2]
    You put the backward half in front: forward first, then backward.
all forward ends first | h_n[0::2], h_n[1::2] -> h_n[: len(W)], h_n[len(W) :]
    You take the first half of h_n for the forward ends: they alternate, layer by layer, forward and
    backward.
joined by view
    | torch.cat([h_n[0::2], h_n[1::2]], -1) -> h_n.reshape(len(W), h_n.shape[1], -1)
    view or reshape alone joins two sentences instead of two directions: split off the axis of
    directions, move it beside the numbers, then join.
joined by view, the batch in front
    | torch.cat([h_n[0::2], h_n[1::2]], -1) -> h_n.reshape(h_n.shape[1], len(W), -1).transpose(0, 1)
    You bring the batch to the front by view or reshape, which moves no number: sentences and layers
    are mixed. Exchange the axes with transpose or permute.
matrix reshaped
    | both, W) -> both, W.reshape(len(W), W.shape[2], W.shape[1]).mT)
    You reshape W where it must be transposed: the shape fits, the numbers are in the wrong places.
layers turned round | both, W) -> both.flip(0), W)
    Your layers are upside down: the first two rows of h_n belong to layer 1.
not transposed, keeps 1
    | both, W) -> both, W.mT if W.shape[1] == W.shape[2] else W)
    You multiply by the transposed matrix, which shows where d_s is twice d_h: it is W x, or
    x @ W.T.
bias left out | + b ->
    Your states lack the bias b: each layer adds its own to the product.
layers in front | R -> R.transpose(0, 1)
    You return (L, B, d_s): the batch stands in front here, (B, L, d_s).
layers in front, by reshape | 'lbd,lsd->bls', both, W) + b -> 'lbd,lsd->lbs', both, W) + b[:, None]
    | return -> s = s.reshape(s.shape[1], s.shape[0], -1); return
    You exchange layers and sentences by reshape, which leaves the numbers where they are: use
    transpose.
sigmoid, keeps 1 | torch.tanh(s) if -> torch.sigmoid(s) if
    You use a sigmoid, which keeps states above 0: the formula has tanh.
detached, keeps 3 | both, W) + b -> both.detach(), W) + b
    The values are right, but nothing flows back to the encoder: its ends are detached.
"""
    + WRONG_FORMS,
    draw=draw_bridge,
    oracle=bridge,
)

Q2 = question(
    """q2: What goes in, what should come out
shift(words, bos, eos, pad)
read chapters/06_decoder: The loss, and one step of training
read and said, 2 points: ordinary; other ids; full; one sentence; one word; square
    The decoder reads bos and then the words; it should say the words and then eos, right behind the
    last word of each sentence.
shared ids and empty sentences, 1 point: pad is the end; pad is the start; start is the end; all marks share an id; an empty one; nothing but empty ones
    Marks may share an id, and a sentence may be empty: then bos is read, and eos is to be said.
RIGHT
def shift(words, bos, eos, pad):
    B, T = words.shape
    lengths = (words != pad).sum(1)
    read = F.pad(words, (1, 0), value=bos)
    say = F.pad(words, (0, 1), value=pad)
    last = torch.arange(T + 1) == lengths[:, None]
    return read, say.masked_fill(last, eos)
def shift(words, bos, eos, pad):
    column = torch.ones_like(words[:, :1])
    read = torch.cat([bos * column, words], 1)
    say = torch.cat([words, pad * column], 1)
    return read, say.scatter(1, (words != pad).sum(1, keepdim=True), eos)
def shift(words, bos, eos, pad):
    read, say = [], []
    for row in words.tolist():
        plain = [w for w in row if w != pad]
        rest = [pad] * (len(row) - len(plain))
        read.append([bos] + plain + rest)
        say.append(plain + [eos] + rest)
    return torch.tensor(read), torch.tensor(say)
def shift(words, bos, eos, pad):
    B, T = words.shape
    say = torch.full((B, T + 1), pad)
    say[:, :T] = words
    say[torch.arange(B), (words != pad).long().sum(1)] = eos
    read = torch.empty_like(say)
    read[:, 0], read[:, 1:] = bos, words
    return read, say
def shift(words, bos, eos, pad):
    front = words.new_full((words.shape[0], 1), bos)
    read = torch.hstack((front, words))
    over = torch.hstack((words, torch.full_like(front, pad)))
    ends = torch.hstack((torch.full_like(front, 1), (words != pad).long())).diff(dim=1) == -1
    ends = torch.hstack((ends, (words[:, -1:] != pad)))
    return read, torch.where(ends, eos, over)
WRONG
shifted twice
    | return read, say -> say = say
    | return read, torch.cat([say[:, 1:], say[:, :1] * 0 + pad], 1)
    What should be said is two words ahead of what is read: after bos comes word 1, not word 2.
not shifted
    | return read, say.masked_fill(last, eos) ->
    | own = F.pad(say.masked_fill(last, eos), (1, 0), value=bos)[:, :-1]
    | return read, own
    Your decoder should say what it reads: it learns to copy, and the loss falls to nothing in
    minutes. Leave bos out of what is said.
the word to be said is read | return read -> return say
    Your decoder reads the word that it has to say: read bos first, so that everything is one step
    behind.
exchanged | R -> R[::-1]
    Your two results are exchanged: first what is read, then what should be said.
end mark lost | say.masked_fill(last, eos) -> say
    Nobody tells your decoder when to stop: eos is to be said behind the last word.
end mark in the last column
    | torch.arange(T + 1) == lengths[:, None] -> torch.arange(T + 1) == T
    Your eos stands behind the pads: it belongs right behind each sentence's last word.
end mark at the first pad by argmax, keeps 1
    | == lengths[:, None] -> == (words == pad).int().argmax(1)[:, None]
    You look for the first pad with argmax, which gives 0 where there is none: a sentence that fills
    its row gets its eos over word 1. Count the words, and put the id eos behind them.
end mark where something was read, keeps 2
    | last = torch.arange(T + 1) == lengths[:, None] -> last = (say == pad) & (read != pad)
    You put eos behind what was read as a word, so an empty sentence whose bos is also the pad gets
    none. Count the words: eos stands behind the last one.
end mark for every pad | == lengths -> >= lengths
    You fill up with eos: it is said once, and pads come behind it.
end mark over the last word | == lengths -> == lengths.clamp(min=1) - 1; [:, None] -> [:, None]
    Your eos is written over the last word, which nobody learns to say then.
end mark read as well
    | return read -> read = F.pad(words, (1, 0), value=pad).masked_fill(F.pad(last, (1, 0))[:, :-1], eos)
    | read[:, 0] = bos
    | return read
    Your decoder reads eos: once it has said that, nothing is left to read or to say.
what is read filled up with the end mark
    | return read -> read = torch.where((torch.arange(T + 1) > lengths[:, None]) & (read == pad), eos, read)
    | return read
    You fill up what is read with eos: its rest is pads.
a pad in front | value=bos -> value=pad
    Your sentences begin with a pad: the first thing that is read is bos.
one column short
    | R -> tuple(x[:, :-1] for x in R)
    Your rows are (B, T), so the longest sentences lose a word or their eos: with one mark more they
    are (B, T + 1).
start mark said as well
    | say.masked_fill(last, eos) -> F.pad(say.masked_fill(last, eos), (1, 0), value=bos)
    What should be said begins with bos in yours: that is read, and never said.
marks of other programs | return -> bos, eos = 1, 2; return; value=bos -> value=1
    You take 1 and 2 for bos and eos: their ids are arguments.
pad taken to be 0 | words != pad -> words != 0; value=pad -> value=0
    You take 0 for the pad: its id is an argument, and 0 may be a word.
length of the first sentence | last = torch.arange(T + 1) == lengths[:, None] -> last = torch.arange(T + 1) == lengths[:1, None]
    Every sentence ends where the first one does in yours: each has its own length.
written into the words
    | return -> words.masked_fill_(words == pad, eos); return
    You write into the words that you are given: work on a copy.
floats | return read -> read, say = read.float(), say.float(); return read
    Your ids are floating-point numbers: ids are whole numbers, so return int64.
""",
    draw=draw_words,
    oracle=shift,
)

Q3 = question(
    """q3: Bahdanau's step
bahdanau_step(embedded, state, keys, mask, A, W, U, P)
read chapters/06_decoder: One step, in two orders
order of events, 2 points: ordinary; other sizes; all sizes equal; vectors of one size; one word; one sentence
    The state before the update asks; its context and the word's vector update it; the readout sees
    the new state, the context, and the word's vector.
padding, 1 point: padded; nothing to attend
    The mask goes along to attend, which gives a sentence of nothing but pads a context of zeros.
gradients, 1 point, backward: ordinary; padded
    The results are right but their gradients are not: no detach, no .data, no NumPy on the way.
RIGHT
def bahdanau_step(embedded, state, keys, mask, A, W, U, P):
    context, weights = attend(state, keys, mask, A)
    new = gru(torch.cat([embedded, context], -1), state, W, U)
    z = torch.cat([new, context, embedded], -1) @ P.T
    return new, torch.maximum(z[:, 0::2], z[:, 1::2]), weights
def bahdanau_step(embedded, state, keys, mask, A, W, U, P):
    c, a = attend(state, keys, mask, A)
    s = gru(torch.hstack((embedded, c)), state, W, U)
    z = F.linear(torch.hstack((s, c, embedded)), P)
    return s, z.unflatten(1, (-1, 2)).amax(2), a
def bahdanau_step(y, s, h, mask, A, W, U, P):
    e = (h.masked_fill(~mask[:, :, None], 0.0) @ (s @ A)[:, :, None]).squeeze(2)
    a = e.masked_fill(~mask, -1e9).softmax(1).masked_fill(~mask, 0.0)
    c = (a[:, :, None] * h.masked_fill(~mask[:, :, None], 0.0)).sum(1)
    i_r, i_z, i_n = (torch.cat([y, c], 1) @ W.T).chunk(3, 1)
    s_r, s_z, s_n = (s @ U.T).chunk(3, 1)
    z = torch.sigmoid(i_z + s_z)
    new = (1 - z) * torch.tanh(i_n + torch.sigmoid(i_r + s_r) * s_n) + z * s
    return new, (torch.cat([new, c, y], 1) @ P.T).view(len(y), -1, 2).max(-1).values, a
def bahdanau_step(embedded, state, keys, mask, A, W, U, P):
    context, weights = attend(state, keys, mask, A)
    new = gru(torch.cat([embedded, context], 1), state, W, U)
    from_state, from_context, from_word = P.split([state.shape[1], keys.shape[2], embedded.shape[1]], 1)
    z = new @ from_state.T + context @ from_context.T + embedded @ from_word.T
    return new, F.max_pool1d(z[:, None], 2).squeeze(1), weights
def bahdanau_step(embedded, state, keys, mask, A, W, U, P):
    rows = []
    for b in range(len(state)):
        one = slice(b, b + 1)
        c, a = attend(state[one], keys[one], mask[one], A)
        s = gru(torch.cat([embedded[one], c], 1), state[one], W, U)
        z = P @ torch.cat([s, c, embedded[one]], 1)[0]
        rows.append((s[0], torch.where(z[::2] > z[1::2], z[::2], z[1::2]), a[0]))
    s, t, a = map(torch.stack, zip(*rows))
    return s, t, a
WRONG
new state asks for the readout
    | z = torch.cat -> context, _ = attend(new, keys, mask, A)
    | z = torch.cat
    You ask a second time, with the new state, for the context of the readout: a step asks once, with
    the state that comes in, and both the update and the readout use that context.
the new state asks
    | context, weights = attend(state, -> nothing = keys.new_zeros(len(keys), keys.shape[-1])
    | first = gru(torch.cat([embedded, nothing], -1), state, W, U)
    | context, weights = attend(first,
    You update first and let the new state ask, which is Luong's order: here the state that comes in
    asks, before anything else.
asked again with the new state
    | z = torch.cat -> context, weights = attend(new, keys, mask, A)
    | z = torch.cat
    You ask again with the new state: one question a step, and the readout sees its context.
context never fed | [embedded, context] -> [embedded, 0 * context]
    The context does not reach your update: the GRU reads [word; context].
word never fed | [embedded, context] -> [0 * embedded, context]
    The last word does not reach your update: the GRU reads [word; context].
context before the word | [embedded, context] -> [context, embedded]
    Your GRU reads [context; word]: the word's vector comes first.
mask dropped, keeps 2 | attend(state, keys, mask, A) -> attend(state, keys, torch.ones_like(mask), A)
    You ask without the mask: pads get weight, and what they hold reaches the state.
old state returned | return new -> return state
    You return the state that came in: the next step needs the one after the update.
old state in the readout | [new, context, embedded] -> [state, context, embedded]
    Your readout sees the old state, as in the paper's appendix: here it sees the one after the update.
    read chapters/06_decoder: The readouts
context left out of the readout | [new, context, embedded] -> [new, 0 * context, embedded]
    The context does not reach your readout: it sees [state; context; word].
    read chapters/06_decoder: The readouts
word left out of the readout | [new, context, embedded] -> [new, context, 0 * embedded]
    The last word does not reach your readout: it sees [state; context; word].
    read chapters/06_decoder: The readouts
readout in another order | [new, context, embedded] -> [new, embedded, context]
    Your readout sees [state; word; context]: the context stands in the middle.
    read chapters/06_decoder: The readouts
readout like the cell | [new, context, embedded] -> [embedded, context, new]
    Your readout sees [word; context; state]: the new state comes first.
    read chapters/06_decoder: The readouts
halves for pairs | z[:, 0::2], z[:, 1::2] -> z[:, : z.shape[1] // 2], z[:, z.shape[1] // 2 :]
    You set the first half of the sums beside the second: maxout takes the larger of each two
    neighbours.
    read chapters/06_decoder: The readouts
mean for maximum | torch.maximum(z[:, 0::2], z[:, 1::2]) -> (z[:, 0::2] + z[:, 1::2]) / 2
    You average the two of each pair: maxout takes the larger.
    read chapters/06_decoder: The readouts
pairs that overlap | torch.maximum(z[:, 0::2], z[:, 1::2]) -> torch.maximum(z[:, :-1], z[:, 1:])[:, : z.shape[1] // 2]
    Your pairs overlap: z_1 and z_2 make the first feature, z_3 and z_4 the second.
    read chapters/06_decoder: The readouts
a relu over the features | torch.maximum(z[:, 0::2], z[:, 1::2]) -> torch.maximum(z[:, 0::2], z[:, 1::2]).relu()
    Your features are never below 0: maxout takes the larger of two sums, negative or not.
    read chapters/06_decoder: The readouts
the smaller of two | torch.maximum -> torch.minimum
    You take the smaller of each pair: maxout takes the larger.
    read chapters/06_decoder: The readouts
a tanh over the features | z[:, 0::2], z[:, 1::2] -> z[:, 0::2].tanh(), z[:, 1::2].tanh()
    There is a tanh in your readout: maxout takes the larger of two sums as they are.
    read chapters/06_decoder: The readouts
results in another order | return new, torch.maximum(z[:, 0::2], z[:, 1::2]), weights -> return torch.maximum(z[:, 0::2], z[:, 1::2]), new, weights
    You return features, then state: state, features, weights are asked for.
context for weights | z[:, 1::2]), weights -> z[:, 1::2]), context
    Your last result is the context: the weights are asked for.
query of the first sentence | attend(state, -> attend(state[:1].expand_as(state),
    Every sentence is asked by the state of the first: each has its own.
state not handed on | -1), state, W, U) -> -1), 0 * state, W, U)
    Your update begins from a state of zeros: it goes on from the one that comes in.
context detached, keeps 3 | gru(torch.cat([embedded, context], -1) -> gru(torch.cat([embedded, context.detach()], -1)
    The results are right, but the context is detached where it enters the state: steps to come
    teach the attention nothing.
features detached, keeps 3 | z[:, 0::2], z[:, 1::2]) -> z[:, 0::2], z[:, 1::2]).detach()
    The results are right, but the features are detached: no loss reaches the decoder through them.
    read chapters/06_decoder: The readouts
written into the state | return new -> with torch.no_grad(): state.copy_(new)
    | return new
    You write the new state over the old one, which a search may still need: make a new tensor.
""",
    draw=draw_step,
    oracle=bahdanau_step,
    pads=(500.0, -500.0, float("nan"), float("inf")),
)

Q4 = question(
    """q4: Luong's steps, with input feeding
luong_run(embedded, state, keys, mask, A, W, U, W_c)
read chapters/06_decoder: In general
order of events, 2 points: ordinary; other sizes; all sizes equal; vectors of one size; one word; one sentence; one step
    At each step: the GRU reads [word; last attentional vector], zeros at first; the new state asks;
    tanh of W_c [context; state] is said, and fed to the next step.
padding, 1 point: padded; nothing to attend
    The mask goes along to attend, at each step.
gradients, 1 point, backward: ordinary; padded
    The results are right but their gradients are not: what is fed carries them back as well.
RIGHT
def luong_run(embedded, state, keys, mask, A, W, U, W_c):
    fed = state.new_zeros(len(state), len(W_c))
    vectors, maps = [], []
    for word in embedded.unbind(1):
        state = gru(torch.cat([word, fed], -1), state, W, U)
        context, weights = attend(state, keys, mask, A)
        fed = torch.tanh(torch.cat([context, state], -1) @ W_c.T)
        vectors.append(fed)
        maps.append(weights)
    return torch.stack(vectors, 1), torch.stack(maps, 1)
def luong_run(embedded, state, keys, mask, A, W, U, W_c):
    B, T, d_e = embedded.shape
    said = torch.zeros(B, T + 1, W_c.shape[0], dtype=state.dtype)
    rows = []
    for t in range(T):
        x = torch.cat([embedded[:, t], said[:, t].clone()], 1)
        state = gru(x, state, W, U)
        c, a = attend(state, keys, mask, A)
        said[:, t + 1] = F.linear(torch.cat([c, state], 1), W_c).tanh()
        rows.append(a[:, None])
    return said[:, 1:], torch.cat(rows, 1)
def luong_run(embedded, state, keys, mask, A, W, U, W_c):
    d_h = keys.shape[-1]
    def go(t, s, v):
        if t == embedded.shape[1]:
            return []
        s = gru(torch.hstack((embedded[:, t], v)), s, W, U)
        c, a = attend(s, keys, mask, A)
        v = torch.tanh(c @ W_c[:, :d_h].T + s @ W_c[:, d_h:].T)
        return [(v, a)] + go(t + 1, s, v)
    found = go(0, state, torch.zeros(len(state), W_c.shape[0], dtype=state.dtype))
    return torch.stack([v for v, _ in found], 1), torch.stack([a for _, a in found], 1)
def luong_run(y, s, h, mask, A, W, U, W_c):
    h = h.masked_fill(~mask[:, :, None], 0.0)
    d = s.shape[1]
    keys = h @ A.T
    v, out, rows = 0 * s[:, :1].expand(-1, len(W_c)), [], []
    for x in y.transpose(0, 1):
        i, j = torch.cat([x, v], 1) @ W.T, s @ U.T
        r, z = torch.sigmoid(i[:, : 2 * d] + j[:, : 2 * d]).chunk(2, 1)
        s = torch.lerp(torch.tanh(i[:, 2 * d :] + r * j[:, 2 * d :]), s, z)
        e = torch.einsum('bd,bsd->bs', s, keys)
        a = torch.where(mask, e, -1e9).softmax(1) * mask
        v = torch.tanh(torch.cat([torch.einsum('bs,bsd->bd', a, h), s], 1) @ W_c.mT)
        out, rows = [*out, v], [*rows, a]
    return torch.stack(out, 1), torch.stack(rows, 1)
def luong_run(embedded, state, keys, mask, A, W, U, W_c):
    pairs = []
    for b, sentence in enumerate(embedded):
        one, s = slice(b, b + 1), state[b : b + 1]
        v, found = state.new_zeros(1, W_c.shape[0]), []
        for word in sentence:
            s = gru(torch.cat([word[None], v], 1), s, W, U)
            c, a = attend(s, keys[one], mask[one], A)
            v = (torch.cat([c, s], 1) @ W_c.T).tanh()
            found.append((v[0], a[0]))
        pairs.append([torch.stack(x) for x in zip(*found)])
    v, a = (torch.stack(x) for x in zip(*pairs))
    return v, a
WRONG
the old state asks
    | state = gru -> old, state = state, gru; attend(state, keys -> attend(old, keys
    Your state asks before it is updated, which is Bahdanau's order: here it is updated first.
nothing fed | [word, fed] -> [word, 0 * fed]
    Nothing is fed back in your run: the GRU reads the last attentional vector beside the word.
context fed
    | vectors.append(fed) -> vectors.append(fed); fed = context
    You feed the context, as Bahdanau does: input feeding hands on the attentional vector, in which
    the state is mixed.
state fed
    | vectors.append(fed) -> vectors.append(fed); fed = state
    You feed the state, which the GRU holds anyway: input feeding hands on the attentional vector.
attentional vector for state
    | vectors.append(fed) -> vectors.append(fed); state = fed
    You put the attentional vector in the place of the state: it is read beside the word, and the
    state goes on as it is.
fed before the tanh
    | fed = torch.tanh(torch.cat([context, state], -1) @ W_c.T) -> fed = torch.cat([context, state], -1) @ W_c.T
    | vectors.append(fed) -> vectors.append(fed.tanh())
    You feed the vector before its tanh: what is fed is what is said.
no tanh | torch.tanh(torch.cat([context, state], -1) @ W_c.T) -> torch.cat([context, state], -1) @ W_c.T
    Your attentional vector lacks its tanh: it is a sum and nothing more.
state before context | [context, state] -> [state, context]
    You join [state; context]: W_c reads the context first.
fed before the word | [word, fed] -> [fed, word]
    Your GRU reads [fed; word]: the word's vector comes first.
fed at first
    | vectors, maps = [], [] -> first, _ = attend(state, keys, mask, A)
    | fed = torch.tanh(torch.cat([first, state], -1) @ W_c.T)
    | vectors, maps = [], []
    You ask before the first step, to have something to feed: zeros are fed there.
ones at first | new_zeros( -> new_ones(
    You feed ones at the first step: nothing was said yet, so zeros are fed.
carried over
    | def luong_run -> KEPT = {}
    | def luong_run; state.new_zeros(len(state), len(W_c)) -> KEPT.get('fed', torch.zeros(0))
    | if fed.shape != (len(state), len(W_c)) or fed.dtype != state.dtype: fed = state.new_zeros(len(state), len(W_c))
    | return torch.stack -> KEPT['fed'] = fed.detach()
    | return torch.stack
    What was fed last is left for the next batch: each run begins with zeros.
one step late
    | vectors, maps = [], [] -> vectors, maps, last = [], [], fed
    | [word, fed] -> [word, last]; vectors.append(fed) -> vectors.append(fed); last = vectors[-2] if len(vectors) > 1 else last
    You feed the vector of the step before the last: hand on the last one.
state not handed on
    | vectors, maps = [], [] -> vectors, maps, start = [], [], state
    | -1), state, W, U) -> -1), start, W, U)
    Each of your steps begins from the first state: go on from that of the last step.
mask dropped, keeps 2 | (state, keys, mask, A) -> (state, keys, torch.ones_like(mask), A)
    You ask without the mask: pads get weight, and what they hold reaches the words.
fed detached, keeps 3 | [word, fed] -> [word, fed.detach()]
    The results are right, but what is fed is detached: no step learns from the next ones through
    it.
context detached, keeps 3 | [context, state] -> [context.detach(), state]
    The results are right, but the context is detached: nothing learns where to look.
states returned | vectors.append(fed) -> vectors.append(state)
    You return the states: the attentional vectors are asked for.
contexts returned | vectors.append(fed) -> vectors.append(context)
    You return the contexts: the attentional vectors are asked for.
weights of the first step | maps.append(weights) -> maps.append(maps[0] if maps else weights)
    Every row of your map is that of the first step: each state asks anew.
steps in front | torch.stack(vectors, 1), torch.stack(maps, 1) -> torch.stack(vectors), torch.stack(maps)
    Your results are (T, B, ...): the batch stands in front.
results exchanged | R -> R[::-1]
    You return weights, then vectors: vectors, weights are asked for.
last step alone | torch.stack(vectors, 1), torch.stack(maps, 1) -> vectors[-1], maps[-1]
    You return the last step alone: all of them are asked for.
""",
    draw=draw_run,
    oracle=luong_run,
    pads=(500.0, -500.0, float("nan"), float("inf")),
)

Q5 = question(
    """q5: What the encoder hands over
encode(rnn, vectors, lengths)
read chapters/06_decoder: Padding: a mask is not enough
states and summary, 1 point: full; full, two layers; one sentence; one word; all sizes equal
    The states are those of the top layer, forward and backward joined; the summary joins the end of
    each direction, forward first.
padding, 2 points: unsorted; unsorted, two layers; more columns than words; anything at pads
    Pads must not be read: the backward half begins at the last word, states at pads are zeros, and
    sentences come back in their order, in as many columns as came in.
gradients, 1 point: full; unsorted; anything at pads
    The gradient that reaches the word vectors is not the right one, the encoder gets none, or precision
    is lost.
RIGHT
def encode(rnn, vectors, lengths):
    packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
    states, h_n = rnn(packed)
    states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=vectors.shape[1])
    return states, torch.cat([h_n[-2], h_n[-1]], -1)
def encode(rnn, vectors, lengths):
    S, d = vectors.shape[1], 2 * rnn.hidden_size
    states, ends = [], []
    for sentence, n in zip(vectors, lengths.tolist()):
        out, h = rnn(sentence[None, :n])
        states.append(F.pad(out[0], (0, 0, 0, S - n)))
        ends.append(h[-2:].reshape(d))
    return torch.stack(states), torch.stack(ends)
def encode(rnn, vectors, lengths):
    order = lengths.argsort(descending=True)
    back = order.argsort()
    packed = nn.utils.rnn.pack_padded_sequence(vectors[order], lengths[order], batch_first=True)
    out, h_n = rnn(packed)
    out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    out = F.pad(out, (0, 0, 0, vectors.shape[1] - out.shape[1]))
    return out[back], h_n[-2:].transpose(0, 1).flatten(1)[back]
def encode(rnn, vectors, lengths):
    B, S, _ = vectors.shape
    real = torch.arange(S) < lengths[:, None]
    packed = nn.utils.rnn.pack_sequence([x[m] for x, m in zip(vectors, real)], enforce_sorted=False)
    out = nn.utils.rnn.unpack_sequence(rnn(packed)[0])
    states = torch.stack([torch.cat([x, x.new_zeros(S - len(x), x.shape[1])]) for x in out])
    d = rnn.hidden_size
    last = states[torch.arange(B), lengths - 1, :d]
    return states, torch.cat([last, states[:, 0, d:]], 1)
def encode(rnn, vectors, lengths):
    d = 2 * rnn.hidden_size
    states = vectors.new_zeros(*vectors.shape[:2], d)
    summary = vectors.new_zeros(len(vectors), d)
    for n in lengths.unique().tolist():
        rows = lengths == n
        out, h_n = rnn(vectors[rows, :n])
        states[rows, :n], summary[rows] = out, torch.cat(tuple(h_n[-2:]), 1)
    return states, summary
WRONG
not packed, keeps 1
    | states, h_n = rnn(packed) -> states, h_n = rnn(vectors)
    | states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=vectors.shape[1]) ->
    Your encoder reads the pads: the backward half begins on them, and the forward end lies behind
    them. Pack the words, or stop at each sentence's length.
pads set to zero afterwards, keeps 1
    | states, h_n = rnn(packed) -> states, h_n = rnn(vectors)
    | states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=vectors.shape[1]) ->
    | states = states.masked_fill((torch.arange(vectors.shape[1]) >= lengths[:, None])[..., None], 0.0)
    You set the states at pads to zero when the backward half has read the pads already: pack the
    words before.
pads read, ends cut out afterwards, keeps 1
    | states, h_n = rnn(packed) -> states, h_n = rnn(vectors)
    | states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=vectors.shape[1]) ->
    | states = states.masked_fill((torch.arange(vectors.shape[1]) >= lengths[:, None])[..., None], 0.0)
    | last, half = states[torch.arange(len(states)), lengths - 1], rnn.hidden_size
    | torch.cat([h_n[-2], h_n[-1]], -1) -> torch.cat([last[:, :half], states[:, 0, half:]], -1)
    Your summary takes the right places, but the backward half reached them over the pads: it must
    begin at the last word. Pack the words before.
pads set to zero before, keeps 1
    | states, h_n = rnn(packed) -> pads = (torch.arange(vectors.shape[1]) >= lengths[:, None])[..., None]
    | states, h_n = rnn(vectors.masked_fill(pads, 0.0))
    | states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=vectors.shape[1]) ->
    A vector of zeros is read like any other, since biases and states move: pack the words instead.
pads set to zero, before and after, keeps 1
    | states, h_n = rnn(packed) -> pads = (torch.arange(vectors.shape[1]) >= lengths[:, None])[..., None]
    | states, h_n = rnn(vectors.masked_fill(pads, 0.0))
    | states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=vectors.shape[1]) -> states = states.masked_fill(pads, 0.0)
    You blank pads before the GRU and after it, but it reads them all the same, and zeros move it like
    any vector: the backward half begins on them. Pack the words.
zeros read as words, ends cut out afterwards, keeps 1
    | states, h_n = rnn(packed) -> pads = (torch.arange(vectors.shape[1]) >= lengths[:, None])[..., None]
    | states, h_n = rnn(vectors.masked_fill(pads, 0.0))
    | states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=vectors.shape[1]) -> states = states.masked_fill(pads, 0.0)
    | last, half = states[torch.arange(len(states)), lengths - 1], rnn.hidden_size
    | torch.cat([h_n[-2], h_n[-1]], -1) -> torch.cat([last[:, :half], states[:, 0, half:]], -1)
    Your summary takes the right places, but the backward half begins on pads, and a vector of zeros
    moves it like any other: pack the words, so that it begins at the last one.
as wide as the longest, keeps 2 | , total_length=vectors.shape[1] ->
    Your states have as many columns as the longest sentence has words, which is less than came in
    where a batch is padded further: say total_length.
sorted and left so, keeps 2
    | packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False) ->
    | lengths, order = lengths.sort(descending=True, stable=True)
    | packed = nn.utils.rnn.pack_padded_sequence(vectors[order], lengths, batch_first=True)
    You sort the sentences by length and leave them so: bring both results back into their order.
summary left sorted, keeps 2
    | , torch.cat([h_n[-2], h_n[-1]], -1) -> , torch.cat([h_n[-2], h_n[-1]], -1)[lengths.argsort(descending=True, stable=True)]
    Your summaries stand in the order of lengths, while the states are back in theirs.
summary of the last column | torch.cat([h_n[-2], h_n[-1]], -1) -> states[:, -1]
    You take the last column for the summary: shorter sentences have pads there, and the backward
    half has read one word then.
summary of the last word
    | torch.cat([h_n[-2], h_n[-1]], -1) -> states[torch.arange(len(states)), lengths - 1]
    You take both halves at the last word, where the backward half has read that one alone: its end
    is at the first word.
summary of the first word | torch.cat([h_n[-2], h_n[-1]], -1) -> states[:, 0]
    You take both halves at the first word, where the forward half has read that one alone: its end
    is at the last word.
first layer's ends | h_n[-2], h_n[-1] -> h_n[0], h_n[1]
    You take the ends of the first layer: those of the top one are the last two of h_n.
backward end alone | torch.cat([h_n[-2], h_n[-1]], -1) -> h_n[-1]
    h_n[-1] is the end of the backward half alone: join it to the forward one.
backward half in front, keeps 1 | h_n[-2], h_n[-1] -> h_n[-1], h_n[-2]
    Your summary has its backward half in front: forward first, as in the states.
joined by view, keeps 1 | torch.cat([h_n[-2], h_n[-1]], -1) -> h_n[-2:].reshape(len(vectors), -1)
    view or reshape alone joins the ends of two sentences instead of two directions: use cat, or
    transpose first.
mean for the summary | torch.cat([h_n[-2], h_n[-1]], -1) -> states.sum(1) / lengths[:, None]
    You average the states: the summary is where each direction ends.
other numbers at pads, keeps 2
    | total_length=vectors.shape[1] -> total_length=vectors.shape[1], padding_value=1.0
    Your states at pads are not zeros: what is behind a sentence is 0.
states of one direction | states, torch.cat -> states[..., : rnn.hidden_size], torch.cat
    Your states are the forward half alone: forward and backward are joined.
results exchanged, keeps 1 | R -> R[::-1]
    You return summary, then states: states, summary are asked for.
detached, keeps 3 | R -> tuple(x.detach() for x in R)
    The values are right, but nothing flows back to the word vectors.
summary detached, keeps 3 | torch.cat([h_n[-2], h_n[-1]], -1) -> torch.cat([h_n[-2], h_n[-1]], -1).detach()
    Your summary is detached: what a decoder learns from its first state never reaches the encoder.
states detached, keeps 3 | states, torch.cat -> states.detach(), torch.cat
    Your states are detached: what a decoder learns by attending to them never reaches the encoder.
a copy of the encoder, keeps 3 | packed = -> import copy; rnn = copy.deepcopy(rnn); packed =
    No gradient reaches the encoder itself, as if you ran a copy of it: it would never learn.
encoder frozen, keeps 3 | packed = -> rnn.requires_grad_(False); packed =
    You freeze the caller's encoder: its parameters ask for no gradients any more, and it never learns.
vectors written over
    | states, h_n = rnn(packed) -> states, h_n = rnn(packed); vectors.detach().mul_(0.5)
    You write into the vectors that you are given: the caller still needs them.
""",
    draw=draw_encoder,
    oracle=encode,
    shown=lambda sizes, arrays, vectors, lengths: {"vectors": vectors, "lengths": lengths},
    probe="""
def probe(encode, sizes, arrays, vectors, lengths):
    d_in, d_h, layers = sizes
    rnn = nn.GRU(d_in, d_h, layers, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for parameter, array in zip(rnn.parameters(), arrays):
            parameter.copy_(array)
    given, counts = vectors.clone().requires_grad_(), lengths.clone()
    states, summary = encode(rnn, given, counts)
    found = {"the states": states, "the summary": summary, "gradient of the vectors": None}
    kept = torch.equal(given.nan_to_num(), vectors.nan_to_num()) and torch.equal(counts, lengths)
    found["the vectors and lengths are left as they are"] = kept
    alike = lambda a, b: a.shape == b.shape and torch.allclose(a, b, atol=1e-6, equal_nan=True)
    again = encode(rnn, vectors.clone(), lengths.clone())
    found["a second call gives the same"] = alike(states, again[0]) and alike(summary, again[1])
    if heard := [x for x in (states, summary) if x.requires_grad]:
        sum(x.square().sum() for x in heard).backward()
        found["gradient of the vectors"] = given.grad
    own = list(rnn.parameters())
    found["gradients reach the encoder's own parameters"] = all(p.grad is not None for p in own)
    found["the encoder's parameters still ask for gradients"] = all(p.requires_grad for p in own)
    # With digits that float32 lacks, which must show in the results.
    digits = vectors.double() * (1 + 1e-9)
    exact = encode(rnn.double(), digits.clone(), lengths.clone())
    rounded = encode(rnn, digits.float().double(), lengths.clone())
    found["the precision of the inputs is kept"] = all(
        x.dtype == torch.float64 and not torch.equal(x, y) and not torch.equal(x, x.float().double())
        for x, y in zip(exact, rounded)
    )
    return found
""",
    parts={
        "states and summary": ("the states", "the summary", *ENCODER[:2]),
        "padding": ("the states", "the summary", *ENCODER[:2]),
        "gradients": ("gradient of the vectors", *ENCODER[1:]),
    },
)

Q6 = question(
    """q6: Name that design
name_design(decode, words, values, vocab)
read chapters/06_decoder: Two probes
who asks, 1 point: Bahdanau; Luong; Luong, fed later; early, fed later; early, never used; late, never used; Luong, by little
    Change one word: where the new state asks, the row of that step moves; where the old one asks, rows
    move from the next step on.
where the context goes, 2 points: Bahdanau; Luong; Luong, fed later; early, to the readout alone; early, fed later; early, never used; late, never used; Luong, by little; Bahdanau, by little
    Change the values: see at which step the states begin to move, at the first, at the second, or
    at none, and whether any logits do.
words that share a vector, 1 point: Luong, equal vectors; Luong, fed later, equal vectors; late, never used, equal vectors; early, to the readout alone, equal vectors; Luong, by little, equal vectors
    A word that is replaced by one of the same vector moves nothing: try every word in its place.
RIGHT
def name_design(decode, words, values, vocab):
    moved = lambda a, b: bool((a - b).abs().max() > 1e-4)
    states, weights, logits = decode(words, values)
    states_v, _, logits_v = decode(words, 5 * values)
    asks = 'old state'
    for other in range(vocab):
        read = words.clone()
        read[1] = other
        if moved(weights[1], decode(read, values)[1][1]):
            asks = 'new state'
    if moved(states[0], states_v[0]):
        return asks, 'update'
    if moved(states, states_v):
        return asks, 'next update'
    return asks, 'readout' if moved(logits, logits_v) else 'nowhere'
def name_design(decode, words, values, vocab):
    first = lambda a, b: next((t for t, d in enumerate(abs(a - b).amax(1).tolist()) if d > 1e-3), 99)
    plain, other = decode(words, values), decode(words, values + 1)
    rows = []
    for w in range(vocab):
        changed = torch.cat([torch.tensor([w]), words[1:]])
        rows.append(first(plain[1], decode(changed, values)[1]))
    where = {0: 'update', 1: 'next update'}.get(first(plain[0], other[0]))
    if where is None:
        where = 'nowhere' if first(plain[2], other[2]) == 99 else 'readout'
    return ['new state' if 0 in rows else 'old state', where]
def name_design(decode, words, values, vocab):
    s, a, o = (x.numpy() for x in decode(words, values))
    s2, _, o2 = (x.numpy() for x in decode(words, -values))
    T, late = len(words), False
    for t in range(T):
        for w in set(range(vocab)) - {int(words[t])}:
            x = words.tolist()
            x[t] = w
            row = decode(torch.tensor(x), values)[1].numpy()[t]
            late = late or not np.allclose(row, a[t], atol=5e-5)
    still = np.isclose(s, s2, atol=5e-5).all(axis=1)
    if not still[0]:
        goes = 'update'
    elif not still[1]:
        goes = 'next update'
    else:
        goes = 'nowhere' if np.allclose(o, o2, atol=5e-5) else 'readout'
    return 'new state' if late else 'old state', goes
def name_design(decode, words, values, vocab):
    same = lambda a, b: torch.allclose(a, b, rtol=0, atol=1e-4)
    a = decode(words, values)
    b = decode(words, torch.zeros_like(values))
    last = [torch.cat([words[:-1], torch.tensor([w])]) for w in range(vocab)]
    old = all(same(decode(x, values)[1][-1], a[1][-1]) for x in last)
    who = 'old state' if old else 'new state'
    if same(a[2], b[2]) and same(a[0], b[0]):
        return who, 'nowhere'
    if same(a[0], b[0]):
        return who, 'readout'
    return who, 'next update' if same(a[0][0], b[0][0]) else 'update'
def name_design(decode, words, values, vocab):
    def gap(one, two):
        return [float((x - y).abs().max()) for x, y in zip(one, two)]
    base, louder = decode(words, values), decode(words, 3 * values)
    most = 0.0
    for w in range(vocab):
        trial = torch.where(torch.arange(len(words)) == 2, w, words)
        most = max(most, gap(base[1], decode(trial, values)[1])[2])
    s = [g > 2e-4 for g in gap(base[0], louder[0])]
    if any(s):
        goes = 'update' if s[0] else 'next update'
    elif max(gap(base[2], louder[2])) > 2e-4:
        goes = 'readout'
    else:
        goes = 'nowhere'
    return ('new state', goes) if most > 2e-4 else ('old state', goes)
WRONG
the same for every program | R -> ('new state', 'next update')
    Your answer is always the same: run the program, change a word or the values, and look.
every digit compared | bool((a - b).abs().max() > 1e-4) -> not torch.equal(a, b)
    Your answer is "new state", "update" for every program. Do you compare every digit? Noise of a
    millionth moves them all: leave it a tolerance.
the tolerance of allclose | bool((a - b).abs().max() > 1e-4) -> not torch.allclose(a, b)
    By itself, torch.allclose allows numbers near 0 a hundred-millionth, and the noise is a millionth:
    say atol=1e-4.
too wide a tolerance | bool((a - b).abs().max() > 1e-4) -> bool((a - b).abs().max() > 0.05)
    Your tolerance is wider than much of what moves: that is more than a thousandth, and no more is
    promised. The noise is a millionth: choose a tolerance between the two.
a hundredth for a tolerance | bool((a - b).abs().max() > 1e-4) -> bool((a - b).abs().max() > 0.01)
    What moves may move by less than a hundredth, though by more than a thousandth, and you take that
    for noise, which is a millionth: choose a tolerance between the two.
one word tried, keeps 3 | range(vocab) -> [(int(words[1]) + 1) % vocab]
    You try one word in the place of another, and some share a vector: try all of them.
what moves anyway, keeps 2 | moved(weights[1], decode(read, values)[1][1]) -> moved(weights[2], decode(read, values)[1][2])
    You look at what moves whoever asks: rows behind the changed word, all rows at once, the state
    or the logits. The row of the changed word itself tells.
rows under other values, keeps 3
    | decode(read, values)[1][1] -> decode(read, 5 * values)[1][1]
    You change words and values at once, and the rows move by either: change one thing at a time.
names exchanged, keeps 2 | R -> ({'old state': 'new state'}.get(R[0], 'old state'), R[1])
    Your two names for who asks are exchanged.
any moved state is an update, keeps 1 | moved(states[0], states_v[0]) -> moved(states, states_v)
    You take any state that moves for the update of the same step: where the context is fed later,
    the first state stays.
states never looked at, keeps 1
    | if moved(states[0], states_v[0]): -> if False:
    | if moved(states, states_v): -> if False:
    The states tell where the context goes before the logits do: see at which step they begin to
    move.
readout taken for granted, keeps 1 | 'readout' if moved(logits, logits_v) else 'nowhere' -> 'readout'
    You assume that every program uses its context: see whether the logits move with the values.
words for values, keeps 1 | decode(words, 5 * values) -> decode(words.flip(0), values)
    You change the words where the values are to change: only the values act through the context and nothing else.
values of the same mixture, keeps 1 | decode(words, 5 * values) -> decode(words, values.clone())
    You hand over the same values again: change them, by a factor for example.
in the values themselves | decode(words, 5 * values) -> decode(words, values.mul_(5))
    You change the values in place: later runs, and the caller, then have other ones.
in the words themselves | read = words.clone() -> read = words
    You change the words in place: each trial goes on from the last one, and so does the caller.
in the order of Bahdanau, keeps 2 | return asks, 'readout' -> return 'old state', 'readout'
    You assume that the old state asks where the context goes to the readout alone: ask the rows.
papers alone, keeps 2
    | if moved(states[0], states_v[0]): -> asks = 'old state' if moved(states[0], states_v[0]) else 'new state'
    | if asks == 'old state':
    You know the two papers alone: a program may ask early and use the context late. Change a word
    as well.
one name | R -> ' '.join(R)
    You return one text: return two, who asks and where the context goes.
""",
    draw=draw_design,
    oracle=named,
    probe=BOX,
    shown=lambda *design: {},  # a box is black
    parts={
        "who asks": (WHO, LEFT),
        "where the context goes": (WHERE, LEFT),
        "words that share a vector": (WHO, WHERE, LEFT),
    },
)

Q7 = question(
    """q7: Measured: how numb is a readout?
numbness(features, real)
read exercises/06_decoder: Measured: how numb is a readout?
saturated and slope, 1 point, within 1e-3 or 1e-3: ordinary; one sentence; one step; one feature; numb; both ends
    Of all features at all words: how many lie beyond 0.99 or below -0.99, and the mean of one minus
    the square.
constant features, 1 point, within 1e-3 or 1e-3: ordinary; numb; both ends; one feature
    A feature is constant if it lies beyond 0.99 at every word, or below -0.99 at every word; the
    share is of the features.
padding, 1 point, within 1e-3 or 1e-3: padded; anything at pads
    Pads are no words: leave them out of every share, whatever they hold.
RIGHT
def numbness(features, real):
    x = features[real]
    numb = x.abs() > 0.99
    stuck = (x > 0.99).all(0) | (x < -0.99).all(0)
    return {
        'saturated': numb.float().mean(),
        'slope': (1 - x**2).mean(),
        'constant': stuck.float().mean(),
    }
def numbness(features, real):
    words = [f for row, m in zip(features, real) for f, ok in zip(row, m) if ok]
    x = torch.stack(words).double()
    total = x.shape[0] * x.shape[1]
    held = [bool((c > 0.99).all() or (c < -0.99).all()) for c in x.unbind(1)]
    return {
        'saturated': int((abs(x) > 0.99).sum()) / total,
        'slope': 1 - float((x * x).sum()) / total,
        'constant': sum(held) / len(held),
    }
def numbness(features, real):
    x, m = features.numpy(), real.numpy()
    x = x[m]
    held = (x.min(axis=0) > 0.99) | (x.max(axis=0) < -0.99)
    numbers = (np.abs(x) > 0.99).mean(), (1 - np.square(x)).mean(), held.mean()
    return dict(zip(('saturated', 'slope', 'constant'), map(float, numbers)))
def numbness(features, real):
    d = features.shape[-1]
    flat, keep = features.reshape(-1, d), real.reshape(-1)
    side = torch.where(flat > 0.99, 1, torch.where(flat < -0.99, -1, 0))[keep]
    n = len(side)
    x = flat[keep]
    return {
        'saturated': (side != 0).sum().item() / side.numel(),
        'slope': ((1 - x) * (1 + x)).mean().item(),
        'constant': (side.sum(0).abs() == n).sum().item() / d,
    }
def numbness(features, real):
    clean = features.masked_fill(~real[..., None], 0.0)
    count = real.sum() * features.shape[-1]
    beyond = (clean.abs() > 0.99).sum() / count
    slope = 1 - clean.square().sum() / count
    pads = ~real[..., None]
    up, down = (clean > 0.99) | pads, (clean < -0.99) | pads
    constant = (up.all(1).all(0) | down.all(1).all(0)).float().mean()
    return {'saturated': beyond, 'slope': slope, 'constant': constant}
WRONG
pads counted, keeps 2 | x = features[real] -> x = features.flatten(0, 1)
    You count the pads as well: real says where words are.
pads set to zero, keeps 2 | x = features[real] -> x = features.masked_fill(~real[..., None], 0.0).flatten(0, 1)
    You put zeros at pads and count them: what is not a word counts in no share.
mean of sentence means, keeps 2
    | x = features[real] -> each = [f[m] for f, m in zip(features, real) if m.any()]; x = features[real]
    | numb.float().mean() -> torch.stack([(f.abs() > 0.99).float().mean() for f in each]).mean()
    | (1 - x**2).mean() -> torch.stack([(1 - f**2).mean() for f in each]).mean()
    You average each sentence and then the sentences: words of short ones count for more. Take one
    mean over all words.
pads for words | x = features[real] -> x = features[~real] if (~real).any() else features[real] * 0
    You measure at the pads: real is True at words.
one side alone, keeps 1 | x.abs() > 0.99 -> x > 0.99
    You count the features beyond 0.99 alone: those below -0.99 are as flat.
mean for share, keeps 1 | numb = x.abs() > 0.99 -> numb = x.abs()
    You average the sizes of the features: count how many lie beyond 0.99.
another edge, keeps 1 | x.abs() > 0.99 -> x.abs() > 0.9
    You draw the line elsewhere: a feature is saturated beyond 0.99.
share of the words that are all numb, keeps 1 | numb.float().mean() -> numb.all(1).float().mean()
    You count the words at which all features are numb: count features at words, one by one.
number for share, keeps 1 | numb.float().mean() -> numb.float().sum()
    You return how many there are: divide by their number.
square of the slope, keeps 1 | (1 - x**2).mean() -> ((1 - x**2) ** 2).mean()
    You square the slope of the tanh once more: it is one minus the square of the feature.
square for slope, keeps 1 | (1 - x**2).mean() -> (x**2).mean()
    You average the squares: the slope is one minus that.
slope of a sigmoid, keeps 1 | (1 - x**2).mean() -> (x * (1 - x)).mean()
    That is the slope of a sigmoid: a tanh of value x has the slope one minus x squared.
tanh taken twice, keeps 1 | (1 - x**2).mean() -> (1 - x.tanh() ** 2).mean()
    You take the tanh of the features, which come out of one: their own squares are meant.
slope of the mean, keeps 1 | (1 - x**2).mean() -> 1 - x.mean() ** 2
    You square the mean: take the mean of the squares.
either end, keeps 1 | (x > 0.99).all(0) | (x < -0.99).all(0) -> numb.all(0)
    You call a feature constant that jumps from one end to the other: a constant one stays at one end.
any word, keeps 1 | (x > 0.99).all(0) | (x < -0.99).all(0) -> (x > 0.99).any(0) | (x < -0.99).any(0)
    One word is enough for you: a constant feature is at its end at every word.
ends exchanged, keeps 1 | (x < -0.99).all(0) -> (x > -0.99).all(0)
    Your lower end is open upwards: below -0.99 is meant.
lower end alone, keeps 1 | (x > 0.99).all(0) | (x < -0.99).all(0) -> (x < -0.99).all(0)
    You count those that stand at -1 alone: the others stand at 1.
upper end open downwards, keeps 1 | stuck = (x > 0.99).all(0) -> stuck = (x > -0.99).all(0)
    Your upper end is open downwards: beyond 0.99 is meant.
positive for constant, keeps 1 | stuck = (x > 0.99).all(0) -> stuck = (x > 0.0).all(0)
    You call a feature constant that is positive everywhere: it may move between 0 and 0.99 all the
    same.
negative for constant, keeps 1 | (x < -0.99).all(0) -> (x < 0.0).all(0)
    You call a feature constant that is negative everywhere: it may move between -0.99 and 0 all the
    same.
beyond nothing, keeps 1 | x.abs() > 0.99 -> x.abs() >= 0.0
    You count every feature: your edge is so low that all lie beyond it.
beyond 1, keeps 1 | x.abs() > 0.99 -> x.abs() > 1.0
    You count none: a tanh never lies beyond 1, and the edge is 0.99.
never constant, keeps 1 | stuck.float().mean() -> 0.0
    You find no constant feature at all: beyond 0.99 at every word is asked for, not beyond 1.
constant on average, keeps 2 | (x > 0.99).all(0) | (x < -0.99).all(0) -> x.mean(0).abs() > 0.99
    You look at the mean of a feature: it can lie beyond 0.99 though one word does not. Every word
    counts.
at rest, keeps 2 | (x > 0.99).all(0) | (x < -0.99).all(0) -> x.amax(0) - x.amin(0) < 0.01
    You ask whether a feature moves: one that rests half way is not at its end, and not constant
    here.
constant in each sentence, keeps 1
    | stuck.float().mean() -> torch.stack([((f[m] > 0.99).all(0) | (f[m] < -0.99).all(0)).float().mean() for f, m in zip(features, real)]).mean()
    You ask of each sentence whether a feature is constant there, and average: it must say the same at
    every word of all sentences.
each sentence at an end of its own, keeps 1
    | (x > 0.99).all(0) | (x < -0.99).all(0) -> torch.stack([(f[m] > 0.99).all(0) | (f[m] < -0.99).all(0) for f, m in zip(features, real)]).all(0)
    You ask each sentence by itself: a feature that changes ends from one sentence to the next is not
    constant.
pads break it, keeps 2
    | x = features[real] -> x = features[real]; z = features.masked_fill(~real[..., None], 0.0).flatten(0, 1)
    | (x > 0.99).all(0) | (x < -0.99).all(0) -> (z > 0.99).all(0) | (z < -0.99).all(0)
    You ask pads as well whether a feature is at its end: where there is a pad, none is constant in
    yours. Leave them out.
always constant, keeps 1 | stuck.float().mean() -> 1.0
    You call every feature constant: beyond 0.99 at every word is asked for.
number of constant features, keeps 1 | stuck.float().mean() -> stuck.float().sum()
    You return how many features are constant: divide by their number.
any constant feature, keeps 1 | stuck.float().mean() -> stuck.any()
    You say whether there is a constant feature: the share of them is asked for.
share of the words for that of features, keeps 1
    | x = features[real] -> x = features[real]; most = x.abs().sum(0)
    | stuck.float().mean() -> (most > 0.9 * len(x)).float().mean()
    You let most of the words decide: a constant feature is at its end at every word.
sum of the slopes, keeps 1 | (1 - x**2).mean() -> (1 - x**2).sum()
    You add up the slopes: take the mean over all features at all words.
one plus the square, keeps 1 | (1 - x**2).mean() -> (1 + x**2).mean()
    You add the square: the slope is one minus it.
full slope, keeps 1 | (1 - x**2).mean() -> 1.0
    Your slope is 1, as at 0: the further a feature is from there, the flatter the tanh.
no slope, keeps 1 | (1 - x**2).mean() -> 0.0
    Your slope is 0 always: only at its very ends a tanh is as flat as that.
per word, keeps 1 | numb.float().mean() -> numb.float().sum() / len(x)
    You count features a word: divide by the number of features as well.
upper end alone, keeps 1 | (x > 0.99).all(0) | (x < -0.99).all(0) -> (x > 0.99).all(0)
    You count those that stand at 1 alone: the others stand at -1.
constant words, keeps 1 | stuck = (x > 0.99).all(0) | (x < -0.99).all(0) -> stuck = (x > 0.99).all(1) | (x < -0.99).all(1)
    You go through the features of each word: go through the words of each feature.
in percent | R -> {name: 100 * value for name, value in R.items()}
    Your shares are in percent: write them between 0 and 1.
numbers without names | R -> list(R.values())
    You return numbers alone: return a dict with saturated, slope and constant.
in place, keeps 2 | x = features[real] -> features[~real] = 0.0; x = features[real]
    You write into the features: whoever looks at them next finds others.
""",
    draw=draw_features,
    oracle=numbness,
    pads=(500.0, -500.0, float("nan"), float("inf")),
    parts={
        "saturated and slope": ("saturated", "slope"),
        "constant features": ("constant",),
        "padding": ("saturated", "slope", "constant"),
    },
)

Q8 = question(
    """q8: What follows: is it the start?
compare(one, other)
read exercises/06_decoder: What follows: is it the start?
apart or not, 2 points: apart; apart, the other way; crossed; meeting; shifted; touching; one apart; the other apart; close together
    Higher means that the lowest of one's numbers lies above the highest of the other's; where the
    ranges meet, no difference is seen. The two columns are judged each by itself.
enough seeds, 1 point: two seeds; one seed; two seeds beside five; apart; twins
    With fewer than three seeds on either side nothing is said of a range.
RIGHT
def compare(one, other):
    said = []
    for ours, theirs in zip(zip(*one), zip(*other)):
        if min(len(one), len(other)) < 3:
            said.append('too few seeds')
        elif min(ours) > max(theirs):
            said.append('higher')
        elif max(ours) < min(theirs):
            said.append('lower')
        else:
            said.append('no difference seen')
    return {'saturated': said[0], 'loss': said[1]}
def compare(one, other):
    a, b = torch.tensor(one), torch.tensor(other)
    if len(a) < 3 or len(b) < 3:
        return dict.fromkeys(('saturated', 'loss'), 'too few seeds')
    above, below = a.amin(0) > b.amax(0), a.amax(0) < b.amin(0)
    word = lambda k: 'higher' if above[k] else 'lower' if below[k] else 'no difference seen'
    return {'saturated': word(0), 'loss': word(1)}
def compare(one, other):
    names = 'saturated', 'loss'
    a = {name: sorted(pair[k] for pair in one) for k, name in enumerate(names)}
    b = {name: sorted(pair[k] for pair in other) for k, name in enumerate(names)}
    found = {}
    for name in names:
        found[name] = 'no difference seen'
        if len(one) <= 2 or len(other) <= 2:
            found[name] = 'too few seeds'
        elif a[name][0] > b[name][-1]:
            found[name] = 'higher'
        elif b[name][0] > a[name][-1]:
            found[name] = 'lower'
    return found
def compare(one, other):
    def verdict(k):
        if len(one) < 3 or len(other) < 3:
            return 'too few seeds'
        signs = {np.sign(p[k] - q[k]) for p in one for q in other}
        return {1.0: 'higher', -1.0: 'lower', 0.0: 'no difference seen'}[signs.pop()] if len(signs) == 1 else 'no difference seen'
    return {'saturated': verdict(0), 'loss': verdict(1)}
def compare(one, other):
    a, b = np.array(one), np.array(other)
    table = np.where(a.min(0) > b.max(0), 'higher', np.where(a.max(0) < b.min(0), 'lower', 'no difference seen'))
    if len(a) < 3 or len(b) < 3:
        table[:] = 'too few seeds'
    return {'saturated': str(table[0]), 'loss': str(table[1])}
WRONG
means compared, keeps 1
    | min(ours) > max(theirs) -> sum(ours) / len(ours) > sum(theirs) / len(theirs)
    | max(ours) < min(theirs) -> sum(ours) / len(ours) < sum(theirs) / len(theirs)
    You compare means or medians, which always differ: where the ranges meet, no difference is seen.
seed by seed, keeps 1
    | min(ours) > max(theirs) -> all(a > b for a, b in zip(ours, theirs))
    | max(ours) < min(theirs) -> all(a < b for a, b in zip(ours, theirs))
    You compare the first seed with the first, the second with the second: nothing but chance pairs
    them. Compare each with each.
first seed alone, keeps 1
    | min(ours) > max(theirs) -> ours[0] > theirs[0]; max(ours) < min(theirs) -> ours[0] < theirs[0]
    You look at the first seed alone: one seed is no evidence.
best against best, keeps 1
    | min(ours) > max(theirs) -> min(ours) > min(theirs) and max(ours) > max(theirs)
    | max(ours) < min(theirs) -> min(ours) < min(theirs) and max(ours) < max(theirs)
    You compare lowest with lowest and highest with highest: ranges that are shifted may still meet.
means against ranges, keeps 1
    | min(ours) > max(theirs) -> sum(ours) / len(ours) > max(theirs)
    | max(ours) < min(theirs) -> sum(ours) / len(ours) < min(theirs)
    You set one's mean beside the other's range: all of one's seeds must lie beyond all of the other's.
touching counts, keeps 1 | min(ours) > max(theirs) -> min(ours) >= max(theirs); max(ours) < min(theirs) -> max(ours) <= min(theirs)
    Where two ranges touch, they meet: higher means above all of the other's.
rounded, keeps 1
    | min(ours) > max(theirs) -> round(min(ours), 2) > round(max(theirs), 2)
    | max(ours) < min(theirs) -> round(max(ours), 2) < round(min(theirs), 2)
    You round before you compare, and ranges that lie close together seem to meet: compare the numbers
    as they are.
two standard deviations
    | min(ours) > max(theirs) -> np.mean(ours) - 2 * np.std(ours) > np.mean(theirs) + 2 * np.std(theirs)
    | max(ours) < min(theirs) -> np.mean(ours) + 2 * np.std(ours) < np.mean(theirs) - 2 * np.std(theirs)
    You set means and standard deviations beside each other: the lowest and the highest seed are
    asked for.
higher and lower exchanged
    | R -> {name: {'higher': 'lower', 'lower': 'higher'}.get(said, said) for name, said in R.items()}
    You say higher for lower: the verdict is about the first argument.
lower losses said to be higher
    | R -> R | {'loss': {'higher': 'lower', 'lower': 'higher'}.get(R['loss'], R['loss'])}
    You say higher of a loss that is lower: the text is about the numbers, not about which is better.
one column for both, keeps 1 | said[1]} -> said[0]}
    You judge the loss by the saturated share: each has numbers of its own.
columns exchanged, keeps 1 | {'saturated': said[0], 'loss': said[1]} -> {'saturated': said[1], 'loss': said[0]}
    Your two columns are exchanged: a pair is (saturated share, loss).
any number of seeds, keeps 2 | if min(len(one), len(other)) < 3: -> if False:
    You conclude from one seed, or two: with fewer than three there is no range to speak of.
two seeds are enough, keeps 2 | < 3: -> < 2:
    You conclude from two seeds: the question asks for three.
four seeds needed | < 3: -> < 4:
    Three seeds are enough here: you ask for a fourth.
equal seeds counted once, keeps 2 | min(len(one), len(other)) -> min(len(set(one)), len(set(other)))
    You count seeds with the same numbers once: they are seeds all the same.
seeds of the first alone, keeps 2 | min(len(one), len(other)) -> len(one)
    You count the seeds of one side alone: both need three.
seeds of the second alone, keeps 2 | min(len(one), len(other)) -> len(other)
    You count the seeds of the other side alone: both need three.
both sides together, keeps 2 | min(len(one), len(other)) -> (len(one) + len(other)) / 2
    You count the seeds of both sides together: each needs three.
a difference taken for granted, keeps 1 | 'no difference seen' -> 'lower'
    You have no third answer: if the ranges meet, no difference is seen.
no difference, too readily | min(ours) > max(theirs) -> min(ours) > 1.5 * max(theirs)
    You ask for a distance between the ranges: they lie apart, or they do not.
one word for both | R -> 'higher' if set(R.values()) == {'higher'} else 'no difference seen'
    You return one word: return a dict with saturated and loss.
""",
    draw=draw_seeds,
    oracle=compared,
    probe="""
def probe(compare, one, other):
    one, other = list(one), list(other)
    kept = list(one), list(other)
    found = compare(one, other)
    if not isinstance(found, dict):
        return found
    left = (one, other) == kept
    return found | {"the arguments are left as they are": left}
""",
)

# What the notebook gives: an attention and a cell.
GIVEN = '''
def attend(query, keys, mask, A):
    """Return the context (B, d_h) and the weights (B, S)."""
    keys = keys.masked_fill(~mask[..., None], 0.0)
    scores = torch.einsum("bq,qh,bsh->bs", query, A, keys)
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return torch.einsum("bs,bsh->bh", weights, keys), weights


def gru(x, s, W, U):
    """Return the states (B, d_s) after the inputs x (B, d_x)."""
    return torch.gru_cell(x, s, W, U)
'''

EXERCISE = Exercise(
    "06_decoder", "Inside the decoder", (Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8), prelude=PRELUDE + GIVEN
)
