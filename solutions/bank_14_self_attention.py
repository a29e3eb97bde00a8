"""How the exercise on self-attention is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import normal, softmax_rows
from seqattn.grading.probes import PLAIN, module
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def self_attention(X, W_q, W_k, W_v, lengths, causal):
    B, T, _ = X.shape
    found = np.zeros((B, T, W_v.shape[1]))
    for b in range(B):
        n = int(lengths[b])
        q, k, v = X[b, :n] @ W_q, X[b, :n] @ W_k, X[b, :n] @ W_v
        for t in range(n):
            last = t + 1 if causal else n
            scores = np.array([q[t] @ k[i] for i in range(last)]) / math.sqrt(W_k.shape[1])
            found[b, t] = softmax_rows(scores) @ v[:last]
    return found


def mask_with_past(T, past):
    found = np.zeros((T, past + T), bool)
    for t in range(T):
        found[t, : past + t + 1] = True
    return found


def leaks(way, table, tokens):
    """Say whether a way of the probe reads ahead."""
    return {"leaks": float(WAYS[int(way)][1])}


def decoder_masks(source, target, pad):
    (B, S), T = source.shape, target.shape[1]
    own, cross = np.zeros((B, T, T), bool), np.zeros((B, T, S), bool)
    for b, t in np.ndindex(B, T):
        for i in range(T):
            own[b, t, i] = i <= t and target[b, i] != pad
        for i in range(S):
            cross[b, t, i] = source[b, i] != pad
    return {"the target's own": own, "the source's": cross}


def masked_mean(x, lengths):
    rows = [x[b, : int(n)] for b, n in enumerate(lengths)]
    return np.array([row.mean(0) if len(row) else np.zeros(x.shape[2]) for row in rows])


def logits(ids, lengths, E, W_q, W_k, W_v, W, b):
    rows = []
    for sentence, n in zip(ids, lengths):
        x = np.array([E[i] for i in sentence[:n]])
        scores = (x @ W_q) @ (x @ W_k).T / math.sqrt(len(W_q))
        got = x + softmax_rows(scores) @ (x @ W_v)
        rows.append(sum(got) / n @ W + b)
    return np.array(rows)


def where_it_helps(plain, attends, labels, kinds):
    def right(said, i):
        return sum(row[i] == labels[i] for row in said) > len(said) / 2

    found, K = [], int(max(kinds)) + 1
    for kind in range(K):
        at = [i for i in range(len(labels)) if kinds[i] == kind]
        gained = sum(right(attends, i) and not right(plain, i) for i in at)
        lost = sum(right(plain, i) and not right(attends, i) for i in at)
        n, fewer = gained + lost, min(gained, lost)
        tail = sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n
        luck = min(1.0, 2 * tail)
        found.append((gained, lost, luck, gained > lost and luck * K < 0.05))
    names = ("gained", "lost", "luck", "helps")
    return {name: tuple(float(row[k]) for row in found) for k, name in enumerate(names)}


# --- Cases -----------------------------------------------------------------------------------------

SIZES = {  # B, T, d, d_k, d_v
    "ordinary": (2, 4, 3, 5, 2),
    "keys smaller than states": (3, 5, 6, 2, 3),
    "all sizes equal": (3, 3, 3, 3, 3),
    "one sentence": (1, 4, 2, 3, 5),
    "one word": (2, 1, 3, 2, 4),
    "causal": (2, 4, 3, 5, 2),
    "causal, as many sentences as words": (4, 4, 3, 2, 3),
    "causal, with scores far below 0": (3, 4, 3, 5, 2),
    "padded": (4, 5, 3, 2, 4),
    "padded, as many sentences as words": (4, 4, 2, 3, 5),
    "padded and causal": (4, 5, 3, 5, 2),
    "padded, and longer than all": (3, 6, 3, 2, 4),
}


def draw_states(rng, kind):
    B, T, d, d_k, d_v = SIZES[kind]
    X, lengths = normal(rng, B, T, d), np.full(B, T, np.int64)
    if kind.startswith("padded"):
        # All lengths differ: a mask on the wrong axis must show.
        longest = T - 2 if "longer than all" in kind else T
        lengths = rng.permutation(np.arange(longest, longest - B, -1)).astype(np.int64)
        for b, n in enumerate(lengths):
            X[b, n:] = 8.0
    W_q, W_k, W_v = (normal(rng, d, size) for size in (d_k, d_k, d_v))
    if "far below 0" in kind:
        # The first word, which sees itself alone, scores some hundreds below 0.
        W_q = -40 * W_k
    return X, W_q, W_k, W_v, lengths, "causal" in kind


PASTS = {  # T, past
    "ordinary": (3, 4),
    "as many old as new": (3, 3),
    "one new word": (1, 5),
    "nothing before": (4, 0),
    "more new than old": (5, 2),
}


def draw_past(rng, kind):
    T, past = PASTS[kind]
    more = 0 if kind in ("nothing before", "one new word") else int(rng.integers(2))
    return T + (more if kind != "one new word" else 0), past + more


WAYS = [  # how a program looks, and whether it reads ahead
    ("each word alone", False),
    ("all words so far", False),
    ("the first word and its own", False),
    ("the word after", True),
    ("the whole sentence", True),
    ("the last word", True),
    ("a later word in the middle alone", True),
    ("a later word in one sentence alone", True),
    ("very little of the last word, in one sentence", True),
    ("two words further on", True),
    ("the last word, in the row before it alone", True),
    ("the second word, in the first row alone", True),
    ("the word after, in two numbers with opposite signs", True),
    ("earlier words alone", False),
    ("the word after, in the last number alone", True),
]
KINDS = {name: code for code, (name, _) in enumerate(WAYS)}


def draw_program(rng, kind):
    B, T, vocab = {
        "the whole sentence": (1, 5, 2),
        "the word after": (1, 2, 3),
        # An id by chance is often the one that stood there.
        "very little of the last word, in one sentence": (3, 6, 3),
    }.get(kind, (3, 6, 5))
    tokens = rng.integers(vocab, size=(B, T)).astype(np.int64)
    # What stays the same under some changes: the id in the middle, and the first.
    if kind == "the word after":
        tokens[:] = 1
    if kind == "the whole sentence":
        tokens[:] = 0
    if "one sentence" in kind:
        tokens[:, 0] = rng.permutation(vocab)[:B]
        if tokens[1, 0] == 0:  # the one that leaks does not begin with what zeros begin with
            tokens[:2, 0] = tokens[1::-1, 0]
    if kind == "the last word, in the row before it alone":  # no id is larger
        tokens[:, -1] = vocab - 1
    if kind == "two words further on":  # whatever is written there, every number falls
        tokens[:] = 0
    # Ids that are far apart in every number: changing a word is sure to move what reads it.
    steps = 0.5 + rng.random((vocab, 3)).astype(np.float32)
    return KINDS[kind], steps.cumsum(0).astype(np.float32), tokens


IDS = {  # B, S, T
    "ordinary": (2, 5, 3),
    "source shorter": (3, 2, 4),
    "all sizes equal": (3, 3, 3),
    "as many sentences as source words": (4, 4, 3),
    "as many sentences as target words": (4, 5, 4),
    "one sentence": (1, 4, 3),
    "one word each": (2, 1, 1),
}


def draw_ids(rng, kind):
    B, S, T = IDS[kind]
    pad = int(rng.choice([0, 3, 7]))
    ids = [i for i in range(10) if i != pad]
    found = []
    for size in (S, T):
        rows = rng.choice(ids, size=(B, size)).astype(np.int64)
        for b in range(B):
            # In every batch one sentence is full, and others are not.
            rows[b, size - b % size if b % size else size :] = pad
        found.append(rows[rng.permutation(B)])
    if B == 1 and S > 1:
        found[0][0, -1] = pad
        found[1][0, -1] = pad
    return (*found, pad)


MEANS = {  # lengths, padded to, d
    "ordinary": ((4, 4), 4, 3),
    "padded": ((5, 2, 3), 6, 2),
    "NaN at pads": ((2, 4, 1), 5, 3),
    "an empty sentence": ((3, 0, 2), 3, 4),
    "as many sentences as words": ((3, 1, 2), 3, 3),
    "one sentence": ((3,), 5, 2),
    "one word": ((1, 1), 1, 3),
}


def draw_means(rng, kind):
    lengths, size, d = MEANS[kind]
    lengths = rng.permutation(np.array(lengths, np.int64))
    x = normal(rng, len(lengths), size, d)
    for b, n in enumerate(lengths):
        x[b, n:] = np.nan if kind == "NaN at pads" else 50.0
    return x, lengths


READERS = {  # lengths, padded to, ids, size, classes
    "ordinary": ((4, 4), 4, 7, 3, 2),
    "three classes": ((5, 5, 5), 5, 6, 2, 3),
    "all sizes equal": ((3, 3, 3), 3, 3, 3, 3),
    "one word": ((1, 1), 1, 5, 3, 2),
    "one sentence": ((4,), 4, 6, 4, 3),
    "padded": ((5, 2, 3), 6, 7, 3, 2),
    "as many sentences as words": ((3, 1, 2), 3, 5, 2, 3),
}


def draw_reader(rng, kind):
    lengths, size, words, d, classes = READERS[kind]
    lengths = rng.permutation(np.array(lengths, np.int64))
    ids = rng.integers(words, size=(len(lengths), size)).astype(np.int64)
    values = {
        "E": normal(rng, words, d),
        **{name: normal(rng, d, d) for name in ("W_q", "W_k", "W_v")},
        "W": normal(rng, d, classes),
        "b": normal(rng, classes),
    }
    return (words, d, classes), values, (ids, lengths)


DIVISIONS = {  # for each kind: gained, lost, both right, both wrong; how many seeds
    "ordinary": (((9, 1, 3, 2), (4, 3, 2, 2)), 3),
    "one kind": (((7, 1, 4, 1),), 3),
    "the other way": (((1, 9, 2, 2), (0, 8, 3, 1)), 3),
    "one seed": (((8, 0, 2, 1), (5, 0, 2, 2)), 1),
    "five seeds": (((10, 2, 1, 1), (2, 0, 3, 3)), 5),
    "nothing to divide": (((0, 0, 6, 2), (9, 0, 1, 1)), 3),
    # Six of six are luck once in 32, below 0.05 and not below half or a third of it.
    "several chances": (((6, 0, 2, 1), (1, 2, 3, 1), (7, 0, 1, 1)), 3),
    "just short": (((6, 0, 2, 2), (8, 1, 1, 1)), 3),
    "equal": (((4, 4, 2, 1), (9, 0, 1, 1)), 3),
    # Seven of seven are luck once in 64: below a third of 0.05, not below a quarter.
    "a kind without sentences": (((8, 0, 1, 1), (0, 0, 0, 0), (5, 4, 1, 2), (7, 0, 1, 1)), 3),
}


def draw_division(rng, kind):
    cells, seeds = DIVISIONS[kind]
    rows = []
    for which, counts in enumerate(cells):
        for (within, without), count in zip(((1, 0), (0, 1), (1, 1), (0, 0)), counts):
            rows += [(which, within, without)] * count
    rows = rng.permutation(np.array(rows, np.int64))
    kinds, N = rows[:, 0], len(rows)
    labels = rng.integers(3, size=N)

    def said(right):
        # A majority, of one seed more than half or of more; which seeds these are differs.
        most = seeds // 2 + 1
        count = np.where(right, rng.integers(most, seeds + 1, N), rng.integers(0, most, N))
        good = rng.permuted(np.arange(seeds)[:, None] < count, axis=0)
        return np.where(good, labels, (labels + rng.integers(1, 3, (seeds, N))) % 3)

    return said(rows[:, 2]), said(rows[:, 1]), labels, kinds


# --- Questions -------------------------------------------------------------------------------------

Q1 = question(
    """q1: Sentences that look at themselves
self_attention(X, W_q, W_k, W_v, lengths, causal)
read chapters/14_self_attention: In general
every word, 3 points: ordinary; keys smaller than states; all sizes equal; one sentence; one word
    Project X three times, compare queries with keys, divide by the root of d_k, softmax over the keys,
    and add up the values.
no reading ahead, 2 points: causal; causal, as many sentences as words; causal, with scores far below 0
    With causal, row t sees the words up to t, itself included; without causal it sees all.
pads, 2 points: padded; padded, as many sentences as words; padded and causal; padded, and longer than all
    Nobody looks at a pad, and the row of a pad is zero.
gradients, 1 point, backward: ordinary; causal
    The values are right, but their gradients are not: use no detach, no .data and no NumPy on the way.
RIGHT
def self_attention(X, W_q, W_k, W_v, lengths, causal):
    real = torch.arange(X.shape[1]) < lengths[:, None]
    open_to = real[:, None, :].repeat(1, X.shape[1], 1)
    if causal:
        open_to = open_to.tril()
    scores = (X @ W_q) @ (X @ W_k).mT / math.sqrt(W_k.shape[1])
    weights = scores.masked_fill(~open_to, -math.inf).softmax(-1)
    return (weights @ (X @ W_v)).masked_fill(~real[:, :, None], 0.0)
def self_attention(X, W_q, W_k, W_v, lengths, causal):
    rows = []
    for x, n in zip(X, lengths.tolist()):
        q, k, v = x[:n] @ W_q, x[:n] @ W_k, x[:n] @ W_v
        e = q @ k.T / W_k.shape[1] ** 0.5
        if causal:
            e = e + torch.full_like(e, -math.inf).triu(1)
        rows.append(F.pad(F.softmax(e, 1) @ v, (0, 0, 0, len(x) - n)))
    return torch.stack(rows)
def self_attention(X, W_q, W_k, W_v, lengths, causal):
    t = torch.arange(X.size(1))
    see = t[None, None] < lengths[:, None, None]
    if causal:
        see = see & (t[:, None] >= t)
    e = torch.einsum("btk,bsk->bts", X @ W_q, X @ W_k) * W_q.shape[1] ** -0.5
    a = torch.where(see, e, -1e30).softmax(2)
    a = a * (t < lengths[:, None]).to(X.dtype)[:, :, None]
    return torch.einsum("bts,bsv->btv", a, X @ W_v)
def self_attention(X, W_q, W_k, W_v, lengths, causal):
    B, T, _ = X.shape
    q, k, v = X.matmul(W_q), X.matmul(W_k), X.matmul(W_v)
    out = []
    for t in range(T):
        last = t + 1 if causal else T
        e = (k[:, :last] @ q[:, t, :, None])[..., 0] / math.sqrt(k.shape[-1])
        e = e.masked_fill(torch.arange(last) >= lengths[:, None], -math.inf)
        row = (e.softmax(1)[..., None] * v[:, :last]).sum(1)
        out.append(torch.where((t < lengths)[:, None], row, 0.0))
    return torch.stack(out, 1)
def self_attention(X, W_q, W_k, W_v, lengths, causal):
    real = (torch.arange(X.shape[1]) < lengths.unsqueeze(1)).to(X.dtype)
    e = X @ (W_q @ W_k.T) @ X.transpose(1, 2) / math.sqrt(W_q.shape[1])
    closed = (1 - real)[:, None] + (torch.ones_like(e).triu(1) if causal else 0)
    a = e.masked_fill(closed > 0, -math.inf).softmax(-1)
    return (a @ X) @ W_v * real[..., None]
WRONG
one matrix for query and key | (X @ W_k).mT -> (X @ W_q).mT
    You project the keys with W_q, so your scores are symmetric: project keys with W_k.
values detached, keeps 7 | (weights @ (X @ W_v)) -> (weights @ (X @ W_v.detach()))
    You use W_v without its gradient: the values are X @ W_v, and W_v must learn.
values not projected | (weights @ (X @ W_v)) -> (weights @ X)
    You add up the states themselves: the values are X @ W_v.
keys added up | (weights @ (X @ W_v)) -> (weights @ (X @ W_k))
    You add up the keys: keys are only compared; the values are X @ W_v.
root of the value's size | math.sqrt(W_k.shape[1]) -> math.sqrt(W_v.shape[1])
    You divide by the root of the size of a value: the sums run over d_k, the size of a key.
zero for a closed score, keeps 3 | ~open_to, -math.inf -> ~open_to, 0.0
    You set closed scores to 0, but a score of 0 gets a weight like any other: set them to minus infinity.
too little for a closed score, keeps 6 | ~open_to, -math.inf -> ~open_to, -100.0
    Your closed places get a weight where open scores lie far below 0: set closed scores to minus infinity.
columns reversed | (weights @ (X @ W_v)) -> (weights @ (X @ W_v)).flip(-1)
    Your numbers stand in reverse order: the columns of W_v give the numbers of the result.
rows and columns exchanged | (X @ W_q) @ (X @ W_k).mT -> (X @ W_k) @ (X @ W_q).mT
    Your scores are transposed: rows are queries, columns are keys.
root of the number of words | math.sqrt(W_k.shape[1]) -> math.sqrt(X.shape[1])
    You divide by the root of the number of words: divide by the root of the size of a key.
root of the state's size | math.sqrt(W_k.shape[1]) -> math.sqrt(X.shape[2])
    You divide by the root of the size of a state: the sums run over d_k, the size of a key.
not divided | / math.sqrt(W_k.shape[1]) ->
    Your scores are not divided by the root of the size of a key.
softmax over queries | .masked_fill(~open_to, -math.inf).softmax(-1) -> .softmax(1).masked_fill(~open_to, 0.0)
    You take the softmax over the queries: the weights of each row sum to 1.
masked after the softmax, keeps 3 | .masked_fill(~open_to, -math.inf).softmax(-1) -> .softmax(-1).masked_fill(~open_to, 0.0)
    You mask after the softmax: the weights that are left no longer sum to 1.
the upper triangle, keeps 3 | open_to.tril() -> open_to.triu()
    You keep the wrong half: row t sees the words before it, which stand in columns up to t.
reads one ahead, keeps 3 | open_to.tril() -> open_to.tril(1)
    Your mask is off by one: each word sees the next one.
does not see itself, keeps 3 | open_to.tril() -> open_to.tril(-1)
    Your words do not see themselves: row t sees columns up to and including t.
does not see itself, and the first word sees all, keeps 3 | open_to.tril() -> open_to.tril(-1); ~open_to, -math.inf -> ~open_to, -1e9
    Your words do not see themselves, which leaves the first one nothing, so that it sees all words alike: row t
    sees columns up to and including t.
never causal, keeps 3 | open_to = open_to.tril() -> pass
    You never use causal: where it is True, no word sees a later one.
always causal, keeps 2 | if causal: -> if True:
    You always forbid looking ahead: forbid it only where causal is True.
pads looked at, keeps 6 | real[:, None, :].repeat(1, X.shape[1], 1) -> torch.ones_like(real)[:, None, :].repeat(1, X.shape[1], 1)
    Your words look at pads: close the columns from lengths[b] on.
states of pads set to 0, keeps 6 | real[:, None, :].repeat(1, X.shape[1], 1) -> torch.ones_like(real)[:, None, :].repeat(1, X.shape[1], 1); scores = -> X = X.masked_fill(~real[:, :, None], 0.0); scores =
    You set the states of pads to 0 and leave their columns open: their scores are 0 then, and a score of 0 gets a
    weight like any other. Set these scores to minus infinity.
rows of pads not zero, keeps 6 | .masked_fill(~real[:, :, None], 0.0) ->
    You leave numbers in the rows of pads: these rows come back as zeros.
cut at the longest, keeps 6 | (0, 0, 0, len(x) - n) -> (0, 0, 0, max(lengths.tolist()) - n)
    Your result ends with the longest sentence: it has T rows for each sentence, also where all of them are shorter.
one pad too many, keeps 6 | < lengths[:, None] -> <= lengths[:, None]
    You count one pad as a word: position lengths[b] is already a pad.
detached, keeps 7 | R -> R.detach()
    The values are right, but you cut the gradient: leave out the detach.
"""
    + WRONG_FORMS,
    draw=draw_states,
    oracle=self_attention,
    forbidden=(
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "multi_head_attention_forward",
    ),
)

Q2 = question(
    """q2: The words so far
mask_with_past(T, past)
read chapters/14_self_attention: No reading ahead
old and new, 3 points: ordinary; as many old as new; one new word; nothing before; more new than old
    New word t, counted from 0, sees columns 0 to past + t.
RIGHT
def mask_with_past(T, past):
    return torch.ones(T, past + T, dtype=torch.bool).tril(past)
def mask_with_past(T, past):
    return torch.arange(past + T)[None] <= torch.arange(past, past + T)[:, None]
def mask_with_past(T, past):
    return torch.ones(past + T, past + T).tril().bool()[past:]
def mask_with_past(T, past):
    old = torch.ones(T, past, dtype=torch.bool)
    return torch.cat([old, torch.tril(torch.ones(T, T)) > 0], 1)
def mask_with_past(T, past):
    mask = torch.zeros(T, past + T, dtype=torch.bool)
    for t in range(T):
        mask[t, : past + t + 1] = True
    return mask
def mask_with_past(T, past):
    return ~torch.triu(torch.ones(T, past + T, dtype=torch.bool), diagonal=past + 1)
WRONG
past forgotten | .tril(past) -> .tril()
    Your triangle begins in the first column: all old words stand before the first new one, so move it `past` columns to the right.
one too many | .tril(past) -> .tril(past + 1)
    Each of your words sees the next one: the last column of row t is past + t.
without itself | .tril(past) -> .tril(past - 1)
    Your words do not see themselves: the last column of row t is past + t, itself.
turned round | return torch.ones(T, past + T, dtype=torch.bool).tril(past) -> return ~torch.ones(T, past + T, dtype=torch.bool).tril(past)
    Your mask is inverted: True means that a word may be looked at.
upper triangle | .tril(past) -> .triu(past)
    You keep the wrong half: words see what comes before them.
old words closed | [old, torch.tril -> [~old, torch.tril
    Your new words do not see the old ones: the first columns are all True.
old words in a triangle | [old, torch.tril -> [old.tril(), torch.tril
    You close some of the old words: all of them stand before the new ones, so every new word sees them.
new words all open | torch.tril(torch.ones(T, T)) > 0 -> torch.ones(T, T) > 0
    Your new words all see each other: among the new words, row t sees columns up to its own.
new words first | torch.cat([old, torch.tril(torch.ones(T, T)) > 0], 1) -> torch.cat([torch.tril(torch.ones(T, T)) > 0, old], 1)
    You put the new words first: the old words have the first columns.
rows of the old words too | .bool()[past:] -> .bool()
    You return rows for the old words as well: only the T new words ask.
the new alone | torch.ones(T, past + T, dtype=torch.bool).tril(past) -> torch.ones(T, T, dtype=torch.bool).tril()
    Your mask has columns only for the new words: the keys are all words, past + T of them.
numbers | R -> R.float()
    You return 0 and 1: a mask is boolean, True or False.
a batch axis | R -> R[None]
    You add an axis: the mask is (T, past + T).
"""
    + WRONG_FORMS,
    draw=draw_past,
    oracle=mask_with_past,
)

Q3 = question(
    """q3: Does it read ahead?
leaks(step_fn, tokens, vocab)
read chapters/14_self_attention: No reading ahead
clean programs, 2 points: each word alone; all words so far; the first word and its own; earlier words alone
    Not every change is a leak: compare only the rows before the changed word, and allow for rounding.
programs that leak, 3 points: the word after; the whole sentence; the last word; a later word in the middle alone; a later word in one sentence alone; very little of the last word, in one sentence; two words further on; the last word, in the row before it alone; the second word, in the first row alone; the word after, in two numbers with opposite signs; the word after, in the last number alone
    Change each word but the first, one at a time, and look at all rows before it in all sentences.
RIGHT
def leaks(step_fn, tokens, vocab):
    before = step_fn(tokens)
    for t in range(1, tokens.shape[1]):
        changed = tokens.clone()
        changed[:, t] = (changed[:, t] + 1) % vocab
        if (step_fn(changed)[:, :t] - before[:, :t]).abs().max() > 1e-5:
            return True
    return False
def leaks(step_fn, tokens, vocab):
    whole = step_fn(tokens)
    return any(
        not torch.allclose(step_fn(tokens[:, :t]), whole[:, :t], atol=1e-5)
        for t in range(1, tokens.shape[1])
    )
def leaks(step_fn, tokens, vocab):
    moved = []
    for t in range(tokens.shape[1] - 1):
        other = torch.cat([tokens[:, : t + 1], (tokens[:, t + 1 :] + 1) % vocab], 1)
        moved.append((step_fn(other) - step_fn(tokens))[:, : t + 1].abs().amax())
    return bool(torch.stack(moved).max() > 1e-5)
def leaks(step_fn, tokens, vocab):
    size = tokens.shape[1]
    base = step_fn(tokens)
    moves = torch.zeros(size, size)
    for i in range(size):
        new = tokens.clone()
        new[:, i] = vocab - 1 - new[:, i]
        new[:, i] = torch.where(new[:, i] == tokens[:, i], (new[:, i] + 1) % vocab, new[:, i])
        moves[:, i] = (step_fn(new) - base).abs().amax((0, 2))
    return bool((moves.triu(1) > 1e-5).any())
def leaks(step_fn, tokens, vocab):
    found = False
    rows = step_fn(tokens)
    for t in reversed(range(1, tokens.shape[1])):
        for new in range(vocab):
            trial = tokens.clone()
            trial[:, t] = new
            found |= bool(((step_fn(trial)[:, :t] - rows[:, :t]).abs() > 1e-5).any())
    return found
WRONG
looks at the changed row, keeps 3 | [:, :t] - before[:, :t]) -> [:, : t + 1] - before[:, : t + 1])
    You find a leak where a row reads its own word: look only at the rows before the changed word.
looks at later rows as well, keeps 3 | (step_fn(changed)[:, :t] - before[:, :t]).abs().max() > 1e-5 -> (step_fn(changed) - before).abs().amax((0, 2)).index_fill(0, torch.tensor([t]), 0.0).max() > 1e-5
    You look at all rows but the changed word's own, and those after it may see it: look only at the rows before.
equal digits, keeps 3 | (step_fn(changed)[:, :t] - before[:, :t]).abs().max() > 1e-5 -> not torch.equal(step_fn(changed)[:, :t], before[:, :t])
    You find a leak in every program: look only at the rows before the changed word, and do not ask for equal digits. Numbers differ by about 1e-7 from call to call, so allow 1e-5.
too much room, keeps 2 | > 1e-5 -> > 2e-4
    You overlook a small leak: compare the largest absolute difference, no mean, with a limit above rounding, and not above 1e-4.
only the first number, keeps 2 | [:, :t] - before[:, :t]) -> [:, :t, 0] - before[:, :t, 0])
    You compare only the first of the n numbers: a leak may move any of them alone.
only the first word | range(1, tokens.shape[1]): -> range(1):; (step_fn(changed)[:, :t] - before[:, :t]) -> (step_fn(changed)[:, 1:] - before[:, 1:])
    You change the first word, which all later rows may see: change a later word and look at the rows before.
only the last word, keeps 2 | range(1, tokens.shape[1]): -> range(tokens.shape[1] - 1, tokens.shape[1]):
    You change only the last word: a leak may show only for a word in the middle.
only the second word, keeps 2 | range(1, tokens.shape[1]): -> range(1, 2):
    You change only the second word: change each word but the first.
not the second word, keeps 2 | range(1, tokens.shape[1]): -> range(2, tokens.shape[1]):
    You never change the second word, which the first row must not see: begin with it.
not the last word, keeps 2 | range(1, tokens.shape[1]): -> range(1, tokens.shape[1] - 1):
    You never change the last word, which no row but its own may see: change it as well.
only the row before, keeps 2 | [:, :t] - before[:, :t]) -> [:, t - 1] - before[:, t - 1])
    You look only at the row just before the changed word: a leak may reach further back.
only the first row, keeps 2 | [:, :t] - before[:, :t]) -> [:, 0] - before[:, 0])
    You look only at the first row: look at all rows before the changed word.
only the first sentence, keeps 2 | [:, :t] - before[:, :t]) -> [:1, :t] - before[:1, :t])
    You look only at the first sentence: the leak may be in another.
a word that may be the same, keeps 2 | (changed[:, t] + 1) % vocab -> changed[:, t]
    You find a leak in no program: change a word, make sure that the new one differs, and compare the rows before it.
turned round | R -> not R
    Your answers are the wrong way round: True means that it reads ahead.
one id everywhere, keeps 2 | (changed[:, t] + 1) % vocab -> 0
    You put the same id into every sentence, and where it already stood nothing changes: choose an id that differs.
the largest id stays, keeps 2 | (changed[:, t] + 1) % vocab -> (changed[:, t] + 1).clamp(max=vocab - 1)
    Where a word has the largest id, yours stays the same and nothing changes: go on from 0 there, as % vocab does.
mean difference, keeps 2 | .abs().max() > 1e-5 -> .mean() > 1e-5
    You average the differences, and signs cancel: take the largest absolute difference.
sum of differences, keeps 2 | .abs().max() > 1e-5 -> .sum().abs() > 1e-4
    You add up the differences, or average them, and signs cancel: take the largest absolute difference.
no absolute value, keeps 2 | .abs().max() > 1e-5 -> .max() > 1e-5
    You overlook numbers that fall: take the largest absolute difference.
changes the tokens | tokens.clone() -> tokens
    You change the tokens that came in: work on a copy.
""",
    draw=draw_program,
    oracle=leaks,
    shown=lambda way, table, tokens: {"step_fn looks at": WAYS[int(way)][0], "tokens": tokens},
    parts={},
    probe=PLAIN
    + """
def probe(leaks, way, table, tokens):
    vocab, calls, kept = len(table), [0], tokens.clone()

    def step_fn(ids):
        if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or ids.is_floating_point():
            raise TypeError("step_fn takes whole numbers, a tensor (B, T)")
        if ids.numel() and not (0 <= int(ids.min()) and int(ids.max()) < vocab):
            raise IndexError(f"step_fn takes ids from 0 to {vocab - 1}")
        calls[0] += 1
        x = table.detach()[ids]
        T = x.shape[1]
        steps = torch.arange(1, T + 1).to(x)[:, None]
        after = torch.cat([x[:, 1:], 0 * x[:, :1]], 1)
        # The sentence that leaks, alone or among others, is known by its first word.
        of_one = (ids[:, 0] == kept[min(1, len(kept) - 1), 0]).to(x)[:, None, None]
        if way == 0:
            out = x
        elif way == 1:
            out = x.cumsum(1) / steps
        elif way == 2:
            out = x + 2 * x[:, :1]
        elif way == 3:
            out = x - after
        elif way == 4:
            out = x + x.sum(1, keepdim=True)
        elif way == 5:
            out = x - x[:, -1:]
        elif way == 6:
            out = x.clone()
            if T > 3:
                out[:, 2] = out[:, 2] - x[:, 3]
        elif way == 7:
            out = x - after * of_one
        elif way == 8:
            # Small numbers: of large ones a relative limit allows more.
            out = x / 10
            if T > 1:
                # Any two ids, and none at all, differ by as much in one digit or more.
                digits = torch.stack([(ids[:, T - 1] + 1) // 2**n % 2 for n in range(3)], -1)
                out[:, T - 2] += 0.00015 * digits * of_one[:, 0]
        elif way in (10, 11):
            out, t = x.clone(), T - 2 if way == 10 else 0
            if T > 1:
                out[:, t] = out[:, t] - x[:, t + 1]
        elif way == 12:
            out = x + after[..., :1] * torch.tensor([1.0, -1.0, 0.0]).to(x)
        elif way == 14:
            out = x
        elif way == 13:
            out = torch.cat([0 * x[:, :1], x.cumsum(1)[:, :-1]], 1)
        else:
            out = x - torch.cat([x[:, 2:], 0 * x[:, :2]], 1)[:, :T]
        # The last number is 0 in most, but for rounding.
        last = after[..., :1] if way == 14 else 0 * out[..., :1]
        return torch.cat([out, last], -1) + 1e-7 * (calls[0] % 3)

    found = leaks(step_fn, tokens, vocab)
    if not torch.equal(kept, tokens):
        raise ValueError("the tokens that came in were changed: work on a copy")
    if found is None:
        return None
    # An id by chance is at times the one that stood there: the next call then says otherwise.
    if any(plain(leaks(step_fn, tokens, vocab)) != plain(found) for _ in range(5)):
        raise ValueError("two calls with the same program give different answers: leave nothing to "
                         "chance, and choose an id that always differs")
    return {"leaks": plain(found)}
""",
)

Q4 = question(
    """q4: Two masks for a decoder
decoder_masks(source, target, pad)
read chapters/14_self_attention: Two sentences
its own words, 2 points: ordinary; source shorter; all sizes equal; as many sentences as source words; as many sentences as target words; one sentence; one word each
    Row t sees the target words up to t that are not pads.
the source, 2 points: ordinary; source shorter; all sizes equal; as many sentences as source words; as many sentences as target words; one sentence; one word each
    Every target word sees all source words that are not pads: the mask belongs to what is looked at.
RIGHT
def decoder_masks(source, target, pad):
    T = target.shape[1]
    own = (target != pad)[:, None, :].repeat(1, T, 1).tril()
    return own, (source != pad)[:, None, :].repeat(1, T, 1)
def decoder_masks(source, target, pad):
    (B, S), T = source.shape, target.size(1)
    t = torch.arange(T)
    past = t[None, :, None] >= t[None, None, :]
    return past & target.ne(pad)[:, None], source.ne(pad)[:, None].expand(B, T, S)
def decoder_masks(source, target, pad):
    ones = torch.ones_like(target, dtype=torch.bool)
    cross = ones[:, :, None] & (source != pad)[:, None]
    own = ones[:, :, None] & ~(target == pad)[:, None]
    return torch.tril(own), cross
def decoder_masks(source, target, pad):
    rows = [torch.ones(target.shape[1], target.shape[1]).tril().bool() & (y != pad) for y in target]
    cross = [(x != pad).repeat(target.shape[1], 1) for x in source]
    return torch.stack(rows), torch.stack(cross)
def decoder_masks(source, target, pad):
    B, T = target.shape
    own = torch.zeros(B, T, T, dtype=torch.bool)
    for t in range(T):
        own[:, t, : t + 1] = target[:, : t + 1] != pad
    return [own, torch.stack([source != pad] * T, dim=1)]
WRONG
pads are 0 | T = target.shape[1] -> T, pad = target.shape[1], 0
    You take 0 for the pad: its id is the argument pad.
or in place of and, keeps 2 | past & target.ne(pad)[:, None] -> past | target.ne(pad)[:, None]
    You join the two with or: a place is open if it is neither a later word nor a pad.
not causal, keeps 2 | .tril() ->
    Your target words see later ones: close the columns after t.
upper triangle, keeps 2 | .tril() -> .triu()
    You keep the wrong half: target words see what comes before them.
without itself, keeps 2 | .tril() -> .tril(-1)
    Your target words do not see themselves: row t sees columns up to and including t.
one ahead, keeps 2 | .tril() -> .tril(1)
    Your mask is off by one: each target word sees the next.
pads of the target open, keeps 2 | own = (target != pad)[:, None, :].repeat(1, T, 1).tril() -> own = torch.ones_like(target).bool()[:, None, :].repeat(1, T, 1).tril()
    Your target words look at pads of the target: close their columns.
rows of pads closed, keeps 2 | past & target.ne(pad)[:, None] -> past & target.ne(pad)[:, :, None]
    You close rows, of the words that look: the mask belongs to what is looked at, in the last axis.
target's mask on the source, keeps 2 | source.ne(pad)[:, None].expand(B, T, S) -> target.ne(pad)[:, :, None].expand(B, T, S)
    You use the target's pads for the source: the mask belongs to what is looked at.
causal on the source, keeps 2 | [:, None, :].repeat(1, T, 1).tril() -> [:, None, :].repeat(1, T, 1).tril(); (source != pad)[:, None, :].repeat(1, T, 1) -> (source != pad)[:, None, :].repeat(1, T, 1).tril(0)
    You forbid looking ahead in the source: the source is known from the start, so close only its pads.
source's pads open, keeps 2 | source.ne(pad)[:, None].expand(B, T, S) -> torch.ones(B, T, S).bool()
    Your target words look at pads of the source: close their columns.
rows and columns of both closed, keeps 2 | source.ne(pad)[:, None].expand(B, T, S) -> source.ne(pad)[:, None] & target.ne(pad)[:, :, None]
    You close rows of the second mask where the target has pads: close only the columns of source pads.
turned round | R -> (~R[0], ~R[1])
    Your masks are inverted: True means that a place may be looked at.
the other one first | R -> R[::-1]
    Your masks come in the wrong order: the target's own first, then the source's.
source axis first, keeps 2 | R -> (R[0], R[1].mT)
    Your second mask is (B, S, T): rows are target words, which ask.
numbers | R -> (R[0].int(), R[1].int())
    You return 0 and 1: masks are boolean, True or False.
one row for the source, keeps 2 | R -> (R[0], R[1][:, :1])
    Your second mask has one row: give it one for each target word, (B, T, S).
""",
    draw=draw_ids,
    oracle=decoder_masks,
    probe="""
def probe(decoder_masks, source, target, pad):
    decoder_masks(source.flip(0), target.flip(0), pad)
    kept = source.clone(), target.clone()
    found = decoder_masks(source, target, pad)
    if not (torch.equal(kept[0], source) and torch.equal(kept[1], target)):
        raise ValueError("the ids that came in were changed: work on a copy")
    if not isinstance(found, tuple | list) or len(found) != 2:
        return found
    for mask in found:
        if not isinstance(mask, torch.Tensor):
            raise TypeError(f"a mask is a boolean tensor, not a {type(mask).__name__}")
        if mask.dtype != torch.bool:
            raise TypeError(f"a mask is boolean, True or False, not {mask.dtype}")
    return {"the target's own": found[0], "the source's": found[1]}
""",
    parts={"its own words": ("the target's own",), "the source": ("the source's",)},
)

Q5 = question(
    """q5: One vector for a sentence
masked_mean(x, lengths)
read chapters/14_self_attention: Which clause?
full sentences, 2 points: ordinary; one word
    Add up the words of each sentence and divide by their number.
pads, 2 points: padded; NaN at pads; as many sentences as words; one sentence
    Only the first lengths[b] states count, in the sum and in the number. Replace what stands at pads: 0 times NaN is NaN.
no words, 1 point: an empty sentence
    0 divided by 0 is NaN: a sentence without words gives zeros.
gradients, 1 point, backward: ordinary; padded
    The values are right, but their gradients are not: use no detach, and let no NaN arise on the way back.
RIGHT
def masked_mean(x, lengths):
    real = torch.arange(x.shape[1]) < lengths[:, None]
    total = x.masked_fill(~real[:, :, None], 0.0).sum(1)
    return total / lengths.clamp(min=1)[:, None]
def masked_mean(x, lengths):
    rows = []
    for sentence, n in zip(x, lengths.tolist()):
        rows.append(sentence[:n].mean(0) if n else sentence.new_zeros(x.shape[2]))
    return torch.stack(rows)
def masked_mean(x, lengths):
    at = torch.arange(x.size(1)).unsqueeze(0)
    known = torch.where((at < lengths.unsqueeze(1)).unsqueeze(2), x, torch.zeros_like(x))
    weights = (at < lengths.unsqueeze(1)).to(x.dtype)
    weights = weights / weights.sum(1, keepdim=True).clamp_min(1.0)
    return torch.einsum("bt,btd->bd", weights, known)
def masked_mean(x, lengths):
    return torch.stack([s[:n].sum(0) / max(n, 1) for s, n in zip(x, lengths.tolist())])
def masked_mean(x, lengths):
    total = torch.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        total = total + torch.where((t < lengths)[:, None], x[:, t], 0.0)
    return total / torch.maximum(lengths, torch.ones_like(lengths))[:, None].to(x.dtype)
WRONG
divided by the padded length, keeps 2 | / lengths.clamp(min=1)[:, None] -> / x.shape[1]
    You divide by the padded length: a longer neighbour in the batch would change this sentence.
pads added, keeps 2 | ~real[:, :, None], 0.0 -> torch.isnan(x), 0.0
    You add what stands at pads: only the first lengths[b] states count.
pads counted as words, keeps 2 | < lengths[:, None] -> <= lengths[:, None]
    You add one pad: position lengths[b] is already a pad.
the last word forgotten | < lengths[:, None] -> < lengths[:, None] - 1
    You leave out the last word of each sentence: the first lengths[b] states count.
pads times zero, keeps 4 | x.masked_fill(~real[:, :, None], 0.0).sum(1) -> (x * real[:, :, None]).sum(1)
    You multiply pads by zero, but 0 times NaN is NaN: replace what stands there, with masked_fill or where.
empty sentences give NaN, keeps 5 | .clamp(min=1) ->
    You divide by a length of 0: a sentence without words gives zeros.
whole numbers | R -> R.trunc()
    You round to whole numbers: lengths are whole, means are not.
the sum | / lengths.clamp(min=1)[:, None] ->
    You return the sum: divide by the number of words.
over features | R -> R.mean(1, keepdim=True).expand_as(R)
    You average over the numbers of a state: average over words, so that d numbers remain.
over sentences | R -> R.mean(0, keepdim=True).expand_as(R)
    You average over the sentences: each sentence has its own mean.
length plus one | lengths.clamp(min=1) -> (lengths + 1)
    You divide by one more than there are words: divide by their number.
largest, not mean | .sum(1) -> .amax(1)
    You take the largest number of each column: take the mean.
lengths of the neighbour, keeps 2 | lengths.clamp(min=1) -> lengths.flip(0).clamp(min=1)
    You divide by the length of another sentence: sentence b has lengths[b] words.
detached, keeps 5 | R -> R.detach()
    The values are right, but you cut the gradient: leave out the detach.
"""
    + WRONG_FORMS,
    draw=draw_means,
    oracle=masked_mean,
)

Q6 = question(
    """q6: Is it praise?
SentenceClassifier(words, d, classes), then forward(ids, lengths)
read chapters/14_self_attention: Which clause?
parameters, 1 point: ordinary; three classes
    named_parameters() must list E, W_q, W_k, W_v, W and b with the shapes that are asked for, made once in
    __init__, and nothing else.
logits, 3 points: ordinary; three classes; all sizes equal; one word; one sentence; padded; as many sentences as words
    Look up rows of E, add to each what it gets by looking, average over the real words, apply the linear layer.
gradients, 2 points: ordinary; padded
    The gradient that reaches the parameters is not the right one.
RIGHT
class SentenceClassifier(nn.Module):
    def __init__(self, words, d, classes):
        super().__init__()
        self.E = nn.Parameter(torch.randn(words, d))
        self.W_q = nn.Parameter(torch.randn(d, d) / math.sqrt(d))
        self.W_k = nn.Parameter(torch.randn(d, d) / math.sqrt(d))
        self.W_v = nn.Parameter(torch.randn(d, d) / math.sqrt(d))
        self.W = nn.Parameter(torch.randn(d, classes) / math.sqrt(d))
        self.b = nn.Parameter(torch.zeros(classes))
    def forward(self, ids, lengths):
        x = self.E[ids]
        y = x + self_attention(x, self.W_q, self.W_k, self.W_v, lengths, False)
        return masked_mean(y, lengths) @ self.W + self.b
class SentenceClassifier(nn.Module):
    def __init__(self, words, d, classes):
        super().__init__()
        shapes = dict(E=(words, d), W_q=(d, d), W_k=(d, d), W_v=(d, d), W=(d, classes), b=(classes,))
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(0.3 * torch.randn(shape)))
    def forward(self, ids, lengths):
        states = F.embedding(ids, self.E)
        looked = self_attention(states, self.W_q, self.W_k, self.W_v, lengths, causal=False)
        return F.linear(masked_mean(states, lengths) + masked_mean(looked, lengths), self.W.mT, self.b)
class SentenceClassifier(nn.Module):
    def __init__(self, words, d, classes):
        super().__init__()
        def made(*shape):
            return nn.Parameter(nn.init.xavier_uniform_(torch.empty(*shape)))
        self.E, self.W = made(words, d), made(d, classes)
        self.W_q, self.W_k, self.W_v = made(d, d), made(d, d), made(d, d)
        self.b = nn.Parameter(torch.zeros(classes))
    def forward(self, ids, lengths):
        rows = []
        for sentence, n in zip(ids, lengths.tolist()):
            x = self.E[sentence[:n]]
            e = (x @ self.W_q) @ (x @ self.W_k).T / x.shape[1] ** 0.5
            m = (x + torch.softmax(e, dim=1) @ (x @ self.W_v)).mean(0)
            rows.append(m @ self.W + self.b)
        return torch.stack(rows)
class SentenceClassifier(nn.Module):
    def __init__(self, words, d, classes):
        super().__init__()
        self.E = nn.Parameter(torch.empty(words, d).uniform_(-1, 1))
        self.W_q, self.W_k, self.W_v = (nn.Parameter(torch.randn(d, d) * d**-0.5) for _ in range(3))
        self.W = nn.Parameter(torch.randn(d, classes))
        self.b = nn.Parameter(torch.randn(classes))
    def forward(self, ids, lengths):
        x = self.E.index_select(0, ids.flatten()).unflatten(0, ids.shape)
        real = (torch.arange(ids.shape[1]) < lengths[:, None]).to(x.dtype)
        x = x + self_attention(x, self.W_q, self.W_k, self.W_v, lengths, False)
        share = real / real.sum(1, keepdim=True)
        return torch.einsum("bt,btd,dc->bc", share, x, self.W) + self.b
class SentenceClassifier(nn.Module):
    def __init__(self, words, d, classes):
        super().__init__()
        for name, *shape in (("E", words, d), ("W_q", d, d), ("W_k", d, d), ("W_v", d, d), ("W", d, classes)):
            setattr(self, name, nn.Parameter(torch.nn.init.normal_(torch.zeros(shape), std=0.5)))
        self.b = nn.Parameter(torch.zeros(classes))
    def forward(self, ids, lengths):
        x = F.one_hot(ids, len(self.E)).to(self.E.dtype) @ self.E
        each = (x + self_attention(x, self.W_q, self.W_k, self.W_v, lengths, False)) @ self.W
        return masked_mean(each, lengths) + self.b
WRONG
three parameters with the same numbers, keeps 1 | self.W_k = nn.Parameter(torch.randn(d, d) / math.sqrt(d)) -> self.W_k = nn.Parameter(self.W_q.data); self.W_v = nn.Parameter(torch.randn(d, d) / math.sqrt(d)) -> self.W_v = nn.Parameter(self.W_q.data)
    You make W_q, W_k and W_v of one and the same tensor, so that what changes one of them changes all: make a tensor for
    each.
bag of words, keeps 1 | y = x + self_attention(x, self.W_q, self.W_k, self.W_v, lengths, False) -> y = x
    Your words do not look at each other: that is a bag of words, and W_q, W_k and W_v are never used.
what it gets alone, keeps 1 | y = x + self -> y = self
    You keep what a word gets and drop its own state: add both.
causal, keeps 1 | lengths, False) -> lengths, True)
    Your words only look back: here each word looks at all words of its sentence.
mean over pads, keeps 1 | masked_mean(y, lengths) @ -> y.mean(1) @
    Your mean is over the padded length: the longest sentence in the batch would then change the others.
looks at pads, keeps 1 | self.W_v, lengths, False) -> self.W_v, torch.full_like(lengths, ids.shape[1]), False)
    Your words look at pads: hand over the lengths.
summed, keeps 1 | masked_mean(y, lengths) @ -> masked_mean(y, lengths) * lengths[:, None] @
    You add the states up, so long sentences count for more: take their mean.
first word, keeps 1 | masked_mean(y, lengths) @ -> y[:, 0] @
    You classify by the first word's state: take the mean over all words.
largest numbers, keeps 1 | masked_mean(y, lengths) @ -> torch.stack([row[:n].amax(0) for row, n in zip(y, lengths)]) @
    You take the largest number of each column: take the mean over the words.
averaged before looking, keeps 1
    | x = self.E[ids] -> x = masked_mean(self.E[ids], lengths)[:, None].expand(*ids.shape, -1)
    You average before the words look at each other, so nothing is left to look at: look first.
probabilities, keeps 1 | R -> R.softmax(-1)
    You return probabilities: return logits; cross-entropy applies the softmax itself.
log-probabilities, keeps 1 | R -> R.log_softmax(-1)
    You return log-probabilities: return the logits as they are.
queries and keys exchanged, keeps 1 | self.W_q, self.W_k, self.W_v, lengths -> self.W_k, self.W_q, self.W_v, lengths
    You have exchanged W_q and W_k: the words that ask are multiplied by W_q.
values by the keys' matrix, keeps 1 | self.W_q, self.W_k, self.W_v, lengths -> self.W_q, self.W_k, self.W_k, lengths
    Your values are made by W_k: values are made by W_v.
keys by the queries' matrix, keeps 1 | self.W_q, self.W_k, self.W_v, lengths -> self.W_q, self.W_q, self.W_v, lengths
    Your keys are made by W_q, so all scores are symmetric: keys are made by W_k.
no bias used, keeps 1 | + self.b ->
    You never add b: a class that is more frequent needs it.
a hidden tanh, keeps 1 | masked_mean(y, lengths) @ self.W -> torch.tanh(masked_mean(y, lengths)) @ self.W
    There is a tanh before your linear layer: the mean itself goes into that layer.
embedding detached, keeps 4 | x = self.E[ids] -> x = self.E.detach()[ids]
    The logits are right, but no gradient reaches E: words would keep the vectors with which they began.
attention detached, keeps 4 | x + self_attention(x, -> x + self_attention(x.detach(),
    The logits are right, but you look at detached states: E then learns nothing from the attention.
an nn.Embedding | self.E = nn.Parameter(torch.randn(words, d)) -> self.E = nn.Embedding(words, d); self.E[ids] -> self.E(ids)
    nn.Embedding calls its matrix E.weight: the question asks for a parameter E, an nn.Parameter.
a frozen embedding | self.E = nn.Parameter(torch.randn(words, d)) -> self.register_buffer("E", torch.randn(words, d))
    E is a buffer: it is saved with the module but never trained. Make it an nn.Parameter.
a linear layer
    | self.W = nn.Parameter(torch.randn(d, classes) / math.sqrt(d)) -> self.readout = nn.Linear(d, classes)
    | self.b = nn.Parameter(torch.zeros(classes)) ->
    | @ self.W + self.b -> @ self.readout.weight.T + self.readout.bias
    nn.Linear names its parameters otherwise and stores its matrix the other way round: W and b are asked for.
zeros at first, keeps 5 | nn.Parameter(torch.randn(d, classes) / math.sqrt(d)) -> nn.Parameter(torch.zeros(d, classes))
    A matrix begins with zeros, so in the first step no gradient reaches those that are multiplied by it: let every matrix begin with random numbers.
dropout, keeps 0 | masked_mean(y, lengths) @ -> F.dropout(masked_mean(y, lengths), 0.5) @
    You drop features at random, even in evaluation: the question asks for no dropout.
""",
    draw=draw_reader,
    uses=("q1", "q5"),
    **module(logits, outputs=("logits",), parameters=("E", "W_q", "W_k", "W_v", "W", "b")),
)

DIVIDED = "; ".join(DIVISIONS)
Q7 = question(
    f"""q7: What follows: where does it help?
where_it_helps(plain, attends, labels, kinds)
read exercises/14_self_attention: What follows: where does it help?
who is right, 2 points: {DIVIDED}
    Count, by the majority of the seeds, the sentences of a kind on which one reader is right and the other is not.
luck, 2 points: {DIVIDED}
    For the n sentences on which only one reader is right: which share of the 2 to the n results of n coins is at least as uneven, either way?
the verdict, 2 points: {DIVIDED}
    True if more is gained than lost, and luck is below 0.05 over the number of kinds.
RIGHT
def where_it_helps(plain, attends, labels, kinds):
    without, within = (2 * (said == labels).sum(0) > len(said) for said in (plain, attends))
    rows, K = [], int(kinds.max()) + 1
    for kind in range(K):
        here = kinds == kind
        gained = int((within & ~without & here).sum())
        lost = int((without & ~within & here).sum())
        n, off = gained + lost, abs(gained - lost)
        luck = sum(math.comb(n, i) for i in range(n + 1) if abs(2 * i - n) >= off) / 2**n
        rows.append((gained, lost, luck, gained > lost and luck < 0.05 / K))
    return rows
def where_it_helps(plain, attends, labels, kinds):
    found = []
    a = (plain == labels).float().mean(0) > 0.5
    b = (attends == labels).float().mean(0) > 0.5
    K = len(range(int(kinds.max()) + 1))
    for k in range(K):
        x, y = a[kinds == k], b[kinds == k]
        more, less = (y > x).sum().item(), (x > y).sum().item()
        n = more + less
        luck = min(1.0, 2 * sum(math.comb(n, i) for i in range(min(more, less) + 1)) * 0.5**n)
        found.append([more, less, luck, bool(more > less) and luck * K < 0.05])
    return found
def where_it_helps(plain, attends, labels, kinds):
    def majority(said):
        return np.median((said == labels).numpy(), axis=0) == 1
    first, second = majority(plain), majority(attends)
    kinds = kinds.numpy()
    K = kinds.max() + 1
    table = []
    for kind in range(K):
        at = np.flatnonzero((kinds == kind) & (first != second))
        gained = int(second[at].sum())
        lost = len(at) - gained
        ways = [1]
        for _ in at:
            ways = [x + y for x, y in zip([0, *ways], [*ways, 0])]
        uneven = [way for i, way in enumerate(ways) if max(i, len(at) - i) >= max(gained, lost)]
        luck = sum(uneven) / sum(ways)
        table.append((gained, lost, luck, gained > lost and luck < 0.05 / K))
    return table
def where_it_helps(plain, attends, labels, kinds):
    gains = ((attends == labels).sum(0) > attends.shape[0] // 2).int()
    gains = gains - ((plain == labels).sum(0) > plain.shape[0] // 2).int()
    K = max(kinds.tolist()) + 1
    rows = []
    for kind in range(K):
        signs = [g for g, k in zip(gains.tolist(), kinds.tolist()) if k == kind]
        up, down = signs.count(1), signs.count(-1)
        luck = 0.0
        for heads in range(up + down + 1):
            if abs(heads - (up + down) / 2) >= abs(up - down) / 2:
                luck += math.comb(up + down, heads) / 2 ** (up + down)
        rows.append((up, down, luck, up > down and luck < 0.05 / K))
    return rows
def where_it_helps(plain, attends, labels, kinds):
    half = len(plain) / 2
    tables = {{}}
    for i, kind in enumerate(kinds.tolist()):
        one = sum(int(row[i] == labels[i]) for row in plain) > half
        two = sum(int(row[i] == labels[i]) for row in attends) > half
        cell = tables.setdefault(kind, [0, 0])
        if one != two:
            cell[one] += 1
    rows = []
    for kind in range(max(tables) + 1):
        gained, lost = tables.get(kind, [0, 0])
        n = gained + lost
        p = math.fsum(math.comb(n, i) for i in range(max(gained, lost), n + 1)) / 2 ** n
        luck = 1.0 if gained == lost else 2 * p
        rows.append((gained, lost, luck, luck < 0.05 / (max(tables) + 1) and gained > lost))
    return rows
WRONG
the label of most seeds | 2 * (said == labels).sum(0) > len(said) -> said.mode(0).values == labels
    You let the seeds vote for a label, which may win with fewer than half of them: a reader is right if more than
    half of its seeds are.
every seed has to be right | 2 * (said == labels).sum(0) > len(said) -> (said == labels).all(0)
    You ask that every seed be right: more than half of the seeds are enough.
any seed is enough | 2 * (said == labels).sum(0) > len(said) -> (said == labels).any(0)
    One right seed is enough for you: more than half of the seeds must be right.
first seed alone | 2 * (said == labels).sum(0) > len(said) -> said[0] == labels
    You go by the first seed: the majority of the seeds decides.
all right answers counted | within & ~without & here -> within & here; without & ~within & here -> without & here
    You count all sentences on which a reader is right: those on which both are right say nothing.
all wrong answers counted | within & ~without & here -> ~without & here; without & ~within & here -> ~within & here
    You count all sentences on which a reader is wrong: those on which both are wrong say nothing.
gained and lost exchanged, keeps 4 | gained, lost, luck, gained -> lost, gained, luck, gained
    Your first two numbers are exchanged: the first counts the sentences on which only attends is right.
readers exchanged, keeps 2 | in (plain, attends) -> in (attends, plain)
    You have exchanged the readers: gained counts the sentences on which only attends is right.
over all kinds | here = kinds == kind -> here = kinds >= 0
    You count the sentences of all kinds in each row: each kind has a row of its own.
seeds counted, not sentences | gained = int((within & ~without & here).sum()) -> gained = int((((attends == labels) & (plain != labels)).sum(0) * here).sum())
    You count every seed as a sentence of its own: a sentence counts once, by the majority of its seeds.
one-sided, keeps 2 | if abs(2 * i - n) >= off -> if (2 * i - n >= off if gained >= lost else n - 2 * i >= off)
    You count uneven divisions only one way: luck may favour either reader.
so large a gain alone, keeps 2 | abs(2 * i - n) >= off -> i >= gained
    You ask how probable so large a gain is: so large a loss is as uneven, and counts as well.
twice the tail, keeps 4 | luck = sum(math.comb(n, i) for i in range(n + 1) if abs(2 * i - n) >= off) / 2**n -> luck = 2 * sum(math.comb(n, i) for i in range(max(gained, lost), n + 1)) / 2**n if n else 1.0
    You double the divisions to one side, and where both numbers are equal the one in the middle counts twice,
    so that your probability is above 1: add up each division once.
more uneven alone, keeps 2 | abs(2 * i - n) >= off -> abs(2 * i - n) > off
    You leave out divisions exactly as uneven as the one that was found: they count as well.
this division alone, keeps 4 | abs(2 * i - n) >= off -> abs(2 * i - n) == off
    You count only divisions exactly as uneven: more uneven ones count as well.
as probable as it is, keeps 2 | if abs(2 * i - n) >= off) -> if i == gained)
    Your probability is that of this one division: add up all divisions that are at least as uneven.
share of the ways forgotten, keeps 2 | / 2**n ->
    You return how many ways there are: divide by 2 to the n.
all sentences for n, keeps 2
    | n, off = gained + lost, abs(gained - lost) -> n, off = int(here.sum()), abs(gained - lost)
    Your n counts all sentences of a kind: count only those on which exactly one reader is right.
less uneven, keeps 2 | abs(2 * i - n) >= off -> abs(2 * i - n) <= off
    You count the divisions that are less uneven: count those that are at least as uneven.
no correction, keeps 4 | luck < 0.05 / K -> luck < 0.05
    You compare with 0.05 for each of several kinds, but whoever looks at K kinds has K chances: divide 0.05 by K.
divided by the kinds that occur, keeps 4 | luck < 0.05 / K -> luck < 0.05 / len(kinds.unique())
    You divide 0.05 by the number of kinds that occur: a kind without sentences counts as well.
multiplied by the kinds, keeps 4 | 0.05 / K -> 0.05 * K
    You multiply 0.05 by the number of kinds, but with more chances each has to be less probable: divide.
one per cent, keeps 4 | 0.05 / K -> 0.01
    Your limit is a different one: it should be 0.05 over the number of kinds.
more is enough, keeps 4 | gained > lost and luck < 0.05 / K -> gained > lost
    For you any gain is help: a fair coin would often divide the sentences like that.
harm counts as help, keeps 4 | gained > lost and luck < 0.05 / K -> luck < 0.05 / K
    You do not check which reader gained: where more was lost, looking does not help.
improbable either way, keeps 4 | luck < 0.05 / K -> luck > 0.05 / K
    Your comparison is the wrong way round: looking helps where luck is improbable.
kinds that occur alone | K = [], int(kinds.max()) + 1 -> K = [], len(kinds.unique())
    You make rows only for the kinds that occur: kinds run from 0 to the largest, and one without sentences has a row, too.
rows of kinds that occur | rows, K = [], int(kinds.max()) + 1 -> rows, K = [], len(kinds.unique()); for kind in range(K): -> for kind in kinds.unique():
    You go through the kinds that occur alone: a kind without sentences has a row as well.
share for number, keeps 4 | gained, lost, luck, gained -> gained / max(n, 1), lost / max(n, 1), luck, gained
    Your first two numbers are shares: return how many sentences they are.
verdicts alone | R -> [row[3] for row in R]
    You return only the verdicts: return four things for each kind, in their order.
""",
    draw=draw_division,
    oracle=where_it_helps,
    shown=lambda plain, attends, labels, kinds: {
        "labels": labels,
        "kinds": kinds,
        "plain": plain,
        "attends": attends,
    },
    probe=PLAIN
    + """
def probe(where_it_helps, plain_said, attends, labels, kinds):
    given = plain_said, attends, labels, kinds
    kept = [x.clone() for x in given]
    rows = where_it_helps(*given)
    if not all(torch.equal(a, b) for a, b in zip(given, kept)):
        raise ValueError("the labels that came in were changed: work on a copy")
    if isinstance(rows, torch.Tensor | np.ndarray):
        rows = rows.tolist()
    if not isinstance(rows, tuple | list) or not all(
        isinstance(row, tuple | list) and len(row) == 4 for row in rows
    ):
        return "expected a list with a row of four things for each kind"
    if any(plain(row[3]) not in (0.0, 1.0) for row in rows):
        return "the last of the four is True or False"
    columns = [tuple(plain(x) for x in column) for column in zip(*rows)]
    return dict(zip(("gained", "lost", "luck", "helps"), columns))
""",
    parts={
        "who is right": ("gained", "lost"),
        "luck": ("luck",),
        "the verdict": ("helps",),
    },
)

EXERCISE = Exercise("14_self_attention", "A sentence looks at itself", (Q1, Q2, Q3, Q4, Q5, Q6, Q7))
