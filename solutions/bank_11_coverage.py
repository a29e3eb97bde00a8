"""How the exercise on coverage and copying is graded: oracles, cases, known mistakes."""

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import COMMON_SIZES, normal, padding, softmax_rows
from seqattn.grading.probes import PLAIN
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def coverage_scores(query, keys, coverage, W_q, W_k, w_c, v):
    scores = np.zeros(coverage.shape)
    for b, i in np.ndindex(*scores.shape):
        scores[b, i] = v @ np.tanh(W_q @ query[b] + W_k @ keys[b, i] + w_c * coverage[b, i])
    return scores


def read_on(queries, keys, mask, W_q, W_k, w_c, v):
    keys = np.where(mask[:, :, None], keys, 0.0)
    seen, rows = np.zeros(mask.shape), []
    for t in range(queries.shape[1]):
        scores = coverage_scores(queries[:, t], keys, seen, W_q, W_k, w_c, v)
        rows.append(softmax_rows(scores, mask))
        seen = seen + rows[-1]
    return np.stack(rows, 1), seen


def extend(sentences, known):
    all_ids, all_new = [], []
    for words in sentences:
        new = list(dict.fromkeys(w for w in words if w not in known))
        all_ids.append([(known + new).index(w) for w in words])
        all_new.append(new)
    return {
        "ids": tuple(tuple(float(i) for i in ids) for ids in all_ids),
        "unknown words": "; ".join(" ".join(new) for new in all_new),
        "the lists are left as they are": True,
    }


def write_or_copy(logits, weights, p_gen, source, size):
    mixed = np.zeros((*p_gen.shape, size))
    for b, t in np.ndindex(*p_gen.shape):
        mixed[b, t, : logits.shape[-1]] = p_gen[b, t] * softmax_rows(logits[b, t])
        for i, word in enumerate(source[b]):
            mixed[b, t, word] += (1 - p_gen[b, t]) * weights[b, t, i]
    return mixed


def step(mixed, finished, V, unk, eos, pad):
    written = np.array([pad if done else int(np.argmax(p)) for p, done in zip(mixed, finished)])
    read = np.array([w if w < V else unk for w in written])
    return written, read, finished | (written == eos)


# --- Cases -----------------------------------------------------------------------------------------

SIZES = COMMON_SIZES | {  # B, T, S, d_q, d_k, d_a
    "as many sentences as words": (4, 3, 4, 3, 2, 5),
    "one feature": (2, 3, 4, 3, 2, 1),
    "one step": (3, 1, 5, 2, 3, 4),
    "nothing seen": (2, 3, 5, 4, 6, 7),
    "long": (2, 7, 4, 3, 2, 5),
    "nothing to attend": (3, 2, 4, 3, 2, 5),
    "strong scores": (4, 2, 4, 3, 2, 5),
    "rather strong scores": (4, 2, 4, 3, 2, 5),
    "very strong scores": (4, 2, 4, 3, 2, 5),
    "far from zero": (3, 4, 5, 4, 6, 7),
}


def draw_matrices(rng, d_q, d_k, d_a):
    shapes = (d_a, d_q), (d_a, d_k)
    return *(normal(rng, *shape, scale=0.6) for shape in shapes), *normal(rng, 2, d_a, scale=1.2)


def draw_scores(rng, kind):
    B, _, S, d_q, d_k, d_a = SIZES[kind]
    coverage = rng.uniform(0.1, 2.0, size=(B, S)).astype(np.float32)
    if kind == "nothing seen":
        coverage[:] = 0
    matrices = draw_matrices(rng, d_q, d_k, d_a)
    query = normal(rng, B, d_q)
    if kind == "far from zero":
        # One sentence alone: a tanh that is 1 everywhere hides what else is wrong.
        query[0] = 100 * np.sign(matrices[0][0])
    return query, normal(rng, B, S, d_k), coverage, *matrices


def draw_steps(rng, kind):
    B, T, S, d_q, d_k, d_a = SIZES[kind]
    mask = np.ones((B, S), bool)
    strong = {"rather strong scores": 12, "strong scores": 50, "very strong scores": 200}.get(kind)
    if strong or kind in ("padded", "nothing to attend"):
        mask = padding(rng, B, S, empty=kind == "nothing to attend")
    if kind == "nothing to attend":
        # Pads in front and between: only the mask says which words are real.
        mask[np.argmax(mask.any(1))] = np.arange(S) % 2 == 1
    W_q, W_k, w_c, v = draw_matrices(rng, d_q, d_k, d_a)
    queries, keys = normal(rng, B, T, d_q), normal(rng, B, S, d_k)
    if strong:
        # A pad, whether it is read or set to zeros, stands above each word: where scores are strong,
        # by more than exp can take. By itself a score is too much for exp if it is very strong.
        towards = 2 * rng.choice(np.float32([-1, 1]), d_a)
        W_q, W_k, w_c = 0.1 * W_q, 0.1 * W_k, 0.1 * w_c
        W_q[:, 0], W_k[:, 0] = towards, -2 * towards
        queries[..., 0], keys[..., 0] = 1, np.where(mask, 1, -1)
        shares = rng.uniform(0.5, 1.0, d_a)
        v = (strong * shares / shares.sum() * np.sign(towards)).astype(np.float32)
    return queries, keys, mask, W_q, W_k, 1.5 * w_c, 1.5 * v


WORDS = ["Ada", "Bo", "Cleo", "Dov", "Ema", "Fin", "Gil", "Hana", "Ivo", "Jun", "Kai", "Lea", "Mio"]


def draw_sentences(rng, kind):
    words = [WORDS[n] for n in rng.permutation(len(WORDS))]
    known, new = words[:5], words[5:]
    if kind == "no vocabulary":
        known = []
    # Unknown words come neither in the order of the alphabet nor each once.
    new = sorted(new, reverse=True)
    sentences = [
        [new[0], known[1] if known else new[2], new[1], new[0], *rng.choice(words, size=3)],
        [new[3], new[1], *rng.choice(words, size=4), new[3]],
        [*rng.choice(known or new, size=3), new[4]],
    ]
    if kind == "all known":
        sentences = [[known[2], known[0], known[2]], [known[4]]]
    if kind == "an empty one":
        sentences[1] = []
    if kind == "one sentence":
        sentences = sentences[:1]
    return [[str(w) for w in words] for words in sentences], known


MIXTURES = {  # B, T, S, V, words beyond it
    "ordinary": (2, 3, 5, 4, 3),
    "other sizes": (3, 2, 4, 7, 2),
    "all sizes equal": (3, 3, 3, 3, 3),
    "one sentence": (1, 4, 3, 5, 2),
    "one word": (2, 3, 1, 4, 1),
    "nothing unknown": (2, 3, 5, 6, 0),
    "as many steps as sentences": (4, 4, 3, 5, 2),
    "words that stand twice": (2, 3, 6, 4, 2),
    "padded": (3, 2, 6, 4, 3),
    "gate at an end": (2, 2, 4, 3, 2),
    "large logits": (2, 3, 5, 4, 3),
}


def draw_mixture(rng, kind):
    B, T, S, V, more = MIXTURES[kind]
    source = rng.integers(0, V + more, size=(B, S))
    source[:, 0] = V + more - 1
    if kind in ("words that stand twice", "ordinary", "large logits"):
        source[:, 1], source[:, -1] = V + more - 1, source[:, 2]
    if S > 3:
        source[0, 3] = 0  # a word like any other
    mask = padding(rng, B, S) if kind == "padded" else np.ones((B, S), bool)
    weights = softmax_rows(1.5 * normal(rng, B, T, S), mask[:, None]).astype(np.float32)
    p_gen = rng.uniform(0.1, 0.9, size=(B, T)).astype(np.float32)
    if kind == "gate at an end":
        p_gen[0, 0], p_gen[1, 1] = 0, 1
    logits = 1.5 * normal(rng, B, T, V)
    if kind == "padded":
        more += 2  # other sentences of the batch may have more unknown words
    if kind == "large logits":
        logits[0, 0] += 150  # one row alone: the others show what else is wrong
    return logits, weights, p_gen, source, V + more


STEPS = {  # B, V, words beyond it, unk, eos, pad
    "ordinary": (6, 7, 3, 3, 2, 0),
    "other ids": (7, 8, 4, 0, 5, 6),
    "nothing unknown": (5, 7, 0, 3, 2, 0),
    "all copy": (4, 5, 3, 1, 2, 0),
    "pad is the end": (6, 7, 3, 3, 2, 2),
    "few known words": (6, 5, 4, 3, 2, 0),
    "the first step": (6, 7, 3, 3, 2, 0),
    "one sentence": (1, 6, 3, 3, 2, 0),
}


def draw_step(rng, kind):
    B, V, more, unk, eos, pad = STEPS[kind]
    best = rng.integers(0, V + more, size=B)
    finished = rng.random(B) < 0.3
    if B > 3:
        # Every fate is there: ends, copies, writes, is finished and would copy or end.
        best[:4] = eos, V + more - 1, unk, V + more - 1
        finished[:4] = False, False, False, True
        if B > 4:
            best[4], finished[4] = eos, True
        if B > 5:
            best[5], finished[5] = V, False
        if B > 6:
            best[6], finished[6] = pad, False
    if kind == "all copy":
        best[:], finished[:] = V + np.arange(B) % more, False
    if kind == "one sentence":
        best[:], finished[:] = V + 1, False
    if kind == "the first step":
        finished[:] = False
    mixed = rng.uniform(0.1, 1.0, size=(B, V + more))
    mixed[np.arange(B), best] = 1.5
    order = rng.permutation(B)
    mixed = (mixed / mixed.sum(1, keepdims=True)).astype(np.float32)
    return mixed[order], finished[order], V, unk, eos, pad


# --- Questions -----------------------------------------------------------------------------------

Q1 = question(
    """q1: A score that feels coverage
coverage_scores(query, keys, coverage, W_q, W_k, w_c, v)
read chapters/11_coverage: Coverage in the score
the formula, 1 point: ordinary; other sizes; all sizes equal; one word; one sentence; as many sentences as words; one feature; nothing seen
    Inside the tanh are the projected query, the projected key, and the coverage times w_c. Outside it,
    v weighs the features.
large numbers, 1 point: far from zero
    Far from zero tanh comes near 1 or -1, but a quotient of exponentials can become infinity over
    infinity: torch.tanh takes care of it.
    read chapters/02_soft_addressing: Derive: from one value to a mixture
gradients, 1 point, backward: ordinary; other sizes
    The scores are right but their gradients are not: no detach, no .data, no NumPy.
RIGHT
def coverage_scores(query, keys, coverage, W_q, W_k, w_c, v):
    inside = (query @ W_q.T)[:, None] + keys @ W_k.T + coverage[..., None] * w_c
    return torch.tanh(inside) @ v
def coverage_scores(query, keys, coverage, W_q, W_k, w_c, v):
    felt = F.linear(keys, W_k) + torch.einsum("bs,a->bsa", coverage, w_c)
    return torch.einsum("bsa,a->bs", (felt + F.linear(query, W_q).unsqueeze(1)).tanh(), v)
def coverage_scores(query, keys, coverage, W_q, W_k, w_c, v):
    wide = query[:, None].expand(-1, keys.shape[1], -1)
    joined = torch.cat([wide, keys, coverage[:, :, None]], 2)
    W = torch.cat([W_q, W_k, w_c[:, None]], 1)
    return F.linear(F.linear(joined, W).tanh(), v[None]).squeeze(2)
def coverage_scores(query, keys, coverage, W_q, W_k, w_c, v):
    rows = []
    for s, h, c in zip(query, keys, coverage):
        rows.append(torch.stack([torch.tanh(W_q @ s + W_k @ x + w_c * n) @ v for x, n in zip(h, c)]))
    return torch.stack(rows)
def coverage_scores(query, keys, coverage, W_q, W_k, w_c, v):
    columns = []
    for i in range(keys.shape[1]):
        z = query @ W_q.T + keys[:, i] @ W_k.T + torch.outer(coverage[:, i], w_c)
        columns.append((z.tanh() * v).sum(1))
    return torch.stack(columns, 1)
WRONG
coverage of the whole sentence | coverage[..., None] * w_c -> coverage.sum(1)[:, None, None] * w_c
    You add up the coverage of all words, so that each word feels the same: a word feels its own.
v inside the tanh | return torch.tanh(inside) @ v -> return torch.tanh(inside * v).sum(-1)
    You multiply by v inside the tanh: v weighs the features that come out of it.
coverage beside the tanh | + coverage[..., None] * w_c -> + 0 * coverage[..., None]; return torch.tanh(inside) @ v -> return torch.tanh(inside) @ v + coverage * w_c.sum()
    Your coverage is added to the finished score: it belongs inside the tanh, with a w_c for each feature.
coverage in a tanh of its own | + coverage[..., None] * w_c -> + 0 * coverage[..., None]; return torch.tanh(inside) @ v -> return (torch.tanh(inside) + torch.tanh(coverage[..., None] * w_c)) @ v
    Your coverage has a tanh of its own: there is one tanh, over the sum of all three.
outside the tanh
    | + coverage[..., None] * w_c ->; @ v -> @ v + coverage * (w_c @ v)
    You add the coverage outside the tanh, where it means the same for every word and question:
    its term belongs inside.
coverage never felt | + coverage[..., None] * w_c ->
    Coverage does not enter your scores: add it, times w_c, inside the tanh.
one factor for all features | * w_c -> * w_c.mean()
    You use one number for all features: each hidden feature has its own entry of w_c.
coverage made a share | coverage[..., None] -> (coverage / coverage.sum(1, keepdim=True).clamp(min=1e-9))[..., None]
    You divide coverage by its sum: what counts is how much a word was looked at, not its share.
subtracted | + coverage -> - coverage
    You subtract coverage: the sign is learned, in w_c.
weights already | R -> R.softmax(-1)
    You return weights: return the scores themselves, before any softmax.
tanh left out | torch.tanh(inside) -> inside
    There is no tanh in yours: without it the query adds the same to every word.
tanh from exponentials, keeps 2 | torch.tanh(inside) -> ((2 * inside).exp() - 1) / ((2 * inside).exp() + 1)
    You make a tanh of exponentials: for large numbers they are infinite, and infinity divided by
    infinity is NaN. torch.tanh takes care of it.
v inside | torch.tanh(inside) @ v -> torch.tanh(inside @ v)
    You weigh with v before the tanh: v belongs outside.
query left out | (query @ W_q.T)[:, None] + ->
    The query does not enter your scores: add W_q s to every word of its sentence.
keys left out | keys @ W_k.T + ->
    The keys do not enter your scores: add W_k h to each word.
features summed | @ v -> .sum(-1)
    You add up the features as they are: weigh them with v.
coverage cut at one | coverage[..., None] -> coverage.clamp(max=1)[..., None]
    You cut coverage at 1: a word that was looked at twice has more.
coverage of another sentence | coverage[..., None] -> coverage.flip(0)[..., None]
    Your sentences take each other's coverage: row b belongs to sentence b.
query of the first sentence | (query @ W_q.T)[:, None] -> (query[:1] @ W_q.T)[:, None]
    All your sentences get the query of the first: each has its own.
keys changed | return -> keys.mul_(1 + coverage[..., None]); return
    You change the keys in place: the next step needs them as they were.
detached, keeps 2 | R -> R.detach()
    The scores are right, but detached: nothing could be learned from them.
coverage detached, keeps 2 | coverage[..., None] -> coverage.detach()[..., None]
    The scores are right, but no gradient flows to the coverage: earlier rows never learn what
    follows from them.
"""
    + WRONG_FORMS,
    draw=draw_scores,
    oracle=coverage_scores,
)

Q2 = question(
    """q2: Reading on
read_on(queries, keys, mask, W_q, W_k, w_c, v)
read chapters/11_coverage: By hand
steps and sums, 2 points: ordinary; other sizes; all sizes equal; one word; one sentence; one step; long
    Each step asks with the coverage of the steps before it, and adds its own weights to it.
padding, 1 point: padded; nothing to attend; rather strong scores; strong scores; very strong scores
    Weights are 0 at pads, and in a sentence without a word. What a pad holds is never read, and a
    softmax over strong scores is a softmax still.
    read chapters/02_soft_addressing: Where it breaks: masks
gradients, 1 point, backward: ordinary; padded
    The results are right but their gradients are not: no detach, and nothing on the way may be NaN.
RIGHT
def read_on(queries, keys, mask, W_q, W_k, w_c, v):
    keys = keys.masked_fill(~mask[..., None], 0.0)
    seen, rows = keys.new_zeros(mask.shape), []
    for t in range(queries.shape[1]):
        scores = coverage_scores(queries[:, t], keys, seen, W_q, W_k, w_c, v)
        row = scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(~mask, 0.0)
        seen = seen + row
        rows.append(row)
    return torch.stack(rows, 1), seen
def read_on(queries, keys, mask, W_q, W_k, w_c, v):
    known = torch.where(mask[:, :, None], keys, 0.0) @ W_k.T
    asked, past = queries @ W_q.T, torch.zeros_like(known[..., 0])
    rows = ()
    for question in asked.unbind(1):
        e = torch.tanh(question[:, None] + known + past[..., None] * w_c) @ v
        e = e.masked_fill(~mask, -1e9)
        up = (e - e.amax(1, keepdim=True)).exp() * mask
        rows += (up / up.sum(1, keepdim=True).clamp(min=1e-20),)
        past = past + rows[-1]
    return torch.stack(rows, dim=1), past
def read_on(queries, keys, mask, W_q, W_k, w_c, v):
    weights = queries.new_zeros(len(queries), 0, mask.shape[1])
    safe = keys.where(mask[:, :, None], torch.zeros_like(keys))
    for query in queries.split(1, 1):
        scores = coverage_scores(query[:, 0], safe, weights.sum(1), W_q, W_k, w_c, v)
        row = torch.where(mask, scores, -1e9).softmax(1) * mask
        weights = torch.cat([weights, row[:, None]], 1)
    return weights, weights.sum(1)
def read_on(queries, keys, mask, W_q, W_k, w_c, v):
    keys = keys.masked_fill(~mask[:, :, None], 0.0)
    maps, ends = [], []
    for b in range(len(keys)):
        c, rows = torch.zeros_like(keys[b, :, 0]), []
        for s in queries[b]:
            e = torch.tanh(W_q @ s + keys[b] @ W_k.T + torch.outer(c, w_c)) @ v
            up = (e - e.masked_fill(~mask[b], -3e38).max()).clamp(max=0).exp() * mask[b]
            rows.append(up / up.sum() if mask[b].any() else 0 * up)
            c = c + rows[-1]
        maps.append(torch.stack(rows))
        ends.append(c)
    return torch.stack(maps), torch.stack(ends)
def read_on(queries, keys, mask, W_q, W_k, w_c, v):
    keys = keys.masked_fill(mask.logical_not().unsqueeze(2), 0.0)
    real, seen, rows = mask.to(keys.dtype), 0 * keys.sum(2), []
    for query in queries.transpose(0, 1):
        scores = coverage_scores(query, keys, seen, W_q, W_k, w_c, v)
        row = (scores + (1 - real) * -1e9).softmax(-1) * real
        rows, seen = [*rows, row], seen + row
    return torch.stack(rows).transpose(0, 1), seen
WRONG
coverage never grows | seen = seen + row -> seen = seen + 0 * row
    Your coverage stays where it began: after each step add its weights.
the last row alone | seen = seen + row -> seen = row
    Your coverage is the last row: add it to all rows before.
its own weights as well
    | row = scores -> first = scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(~mask, 0.0)
    | scores = coverage_scores(queries[:, t], keys, seen + first, W_q, W_k, w_c, v)
    | row = scores
    Your step also feels its own weights: coverage is what came before the step.
felt one step late | scores = coverage_scores(queries[:, t], keys, seen, W_q, W_k, w_c, v) -> scores = coverage_scores(queries[:, t], keys, seen - rows[-1] if rows else seen, W_q, W_k, w_c, v)
    Your steps do not feel the step just before them: coverage is the sum of all earlier rows, the last one as well.
added one step late | seen = seen + row -> seen = seen + rows[-1] if rows else seen
    You add each row one step late: no step feels the row just before it, and the coverage that you return lacks the
    last row.
coverage before the last step | , 1), seen -> , 1), seen - row
    The coverage that you return leaves out the last step: return the coverage after it.
the last row alone felt, keeps 1 | keys, seen, W_q -> keys, rows[-1] if rows else seen, W_q
    Your steps feel the weights of the step before alone: coverage is the sum of all earlier rows.
mean of earlier rows felt, keeps 1 | keys, seen, W_q -> keys, seen / max(t, 1), W_q
    Your steps feel the mean of the earlier rows: coverage is their sum.
mean over steps | , 1), seen -> , 1), seen / queries.shape[1]
    You return a mean over the steps: coverage is a sum.
first query always | queries[:, t] -> queries[:, 0]
    All your steps ask with the first query: step t has a query of its own.
not reset between sentences | seen = seen + row -> seen = seen + row.sum(0, keepdim=True)
    Coverage runs from one sentence of the batch into the others: each sentence has its own.
results exchanged | R -> R[::-1]
    Your two results are exchanged: weights first, then coverage.
scores for weights
    | rows.append(row) -> rows.append(scores.masked_fill(~mask, 0.0))
    You return scores: return weights, in rows that sum to 1.
steps in front | stack(rows, 1) -> stack(rows, 0)
    Your weights are (T, B, S): the batch comes first.
pads get weight, keeps 2 | .masked_fill(~mask, -1e9) ->; .masked_fill(~mask, 0.0) ->
    Your softmax runs over pads as well: mask them before it.
pads taken out too late, keeps 2 | .masked_fill(~mask, -1e9) ->
    You take out the pads after the softmax, and rows no longer sum to 1: mask before it.
weights without a word, keeps 3 | .softmax(-1).masked_fill(~mask, 0.0) -> .softmax(-1)
    You give weights to a sentence without a real word: they have to be 0 there.
a mask of -20, keeps 3 | scores.masked_fill(~mask, -1e9) -> scores.masked_fill(~mask, -20.0)
    You mask with a number that real scores can fall below: fill with a very low number, such as -1e9.
a mask of -100, keeps 3 | scores.masked_fill(~mask, -1e9) -> scores.masked_fill(~mask, -100.0)
    You mask with -100, and scores can be lower than that where v is large: fill with a very low
    number, such as -1e9.
exponentials without a maximum, keeps 3 | scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(~mask, 0.0) -> (lambda up: up / up.sum(1, keepdim=True).clamp(min=1e-30))(scores.exp() * mask)
    You divide exponentials by their sum, and where scores are strong exp gives 0 or infinity: subtract
    the row's maximum first, as softmax does.
a maximum over pads as well, keeps 3 | scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(~mask, 0.0) -> (lambda up: up / up.sum(1, keepdim=True).clamp(min=1e-30))((scores - scores.amax(1, keepdim=True)).exp() * mask)
    You subtract the largest score of all, pads included. Where a pad's is far above the words', exp
    leaves nothing of them: take the maximum over the real words.
exponentials that leave nothing, keeps 3 | scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(~mask, 0.0) -> (lambda up: up / torch.where(mask.any(1, keepdim=True), up.sum(1, keepdim=True), 1.0))(scores.exp() * mask)
    You divide exponentials by their sum. Where scores are strong, exp gives 0 or infinity, and the
    quotient is NaN: subtract the row's maximum first, as softmax does.
divided again after the mask, keeps 3 | scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(~mask, 0.0) -> (lambda up: up / torch.where(mask.any(1, keepdim=True), up.sum(1, keepdim=True), 1.0))(scores.softmax(-1) * mask)
    You take out the pads after the softmax and divide again. Where a pad has nearly all of the weight,
    the real words are left with 0, and 0 divided by 0 is NaN: mask the scores before the softmax.
divided by little after the mask, keeps 3 | scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(~mask, 0.0) -> (lambda up: up / up.sum(1, keepdim=True).clamp(min=1e-9))(scores.softmax(-1) * mask)
    You take out the pads after the softmax and divide again. Where a pad has nearly all of the weight,
    nothing is left for the real words: mask the scores before the softmax.
not a number without a word, keeps 3 | -1e9).softmax(-1).masked_fill(~mask, 0.0) -> -torch.inf).softmax(-1)
    A sentence without a real word becomes NaN: fill with a large negative number, and mask again
    after the softmax.
pads read, keeps 3 | keys = keys.masked_fill(~mask[..., None], 0.0) -> keys = keys * mask[..., None]
    A pad that holds NaN or infinity reaches your weights: 0 times NaN is NaN. Use masked_fill.
coverage detached, keeps 3 | seen + row -> seen + row.detach()
    The results are right, but coverage is detached: earlier rows never learn what follows from them.
pads taken to be at the end, keeps 3 | keys = keys.masked_fill(~mask[..., None], 0.0) -> mask = torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True); keys = keys.masked_fill(~mask[..., None], 0.0)
    You count the real words and take them to stand in front: pads may stand anywhere, so take the mask as it is.
mask turned round | keys.masked_fill(~mask[..., None], 0.0) -> keys.masked_fill(mask[..., None], 0.0)
    You blank the real words and keep the pads: the mask is True at words.
a decoder that takes turns | queries.shape[1] -> 1
    You take only one step: there are as many steps as queries.
""",
    draw=draw_steps,
    oracle=read_on,
    uses=("q1",),
    pads=(500.0, -500.0, float("nan"), float("inf")),
)

Q3 = question(
    """q3: Ids for unknown words
extend(sentences, known)
read chapters/11_coverage: A name that nobody has met
ids and words, 2 points: ordinary; one sentence; an empty one
    Known words keep their place. Unknown ones get V, V + 1 and so on, in order of appearance, and
    each sentence begins again at V.
the ends, 1 point: all known; no vocabulary
    A sentence may have no unknown word, and a vocabulary no word at all.
RIGHT
def extend(sentences, known):
    all_ids, all_new = [], []
    for words in sentences:
        new = list(dict.fromkeys(w for w in words if w not in known))
        ids = {w: n for n, w in enumerate([*known, *new])}
        all_ids.append([ids[w] for w in words])
        all_new.append(new)
    return all_ids, all_new
def extend(sentences, known):
    found = []
    for words in sentences:
        both = list(known)
        for word in words:
            if word not in both:
                both.append(word)
        found.append(([both.index(word) for word in words], both[len(known):]))
    return [ids for ids, _ in found], [new for _, new in found]
def extend(sentences, known):
    places = {word: n for n, word in enumerate(known)}
    def one(words):
        own = {}
        ids = [places[w] if w in places else own.setdefault(w, len(places) + len(own)) for w in words]
        return ids, list(own)
    pairs = [one(words) for words in sentences]
    return [p[0] for p in pairs], [p[1] for p in pairs]
def extend(sentences, known):
    V, ids, new = len(known), [], []
    for words in sentences:
        strange = []
        for w in words:
            if w not in known and strange.count(w) == 0:
                strange += [w]
        ids += [[known.index(w) if w in known else V + strange.index(w) for w in words]]
        new += [strange]
    return ids, new
def extend(sentences, known):
    from collections import defaultdict
    ids, new = [], []
    for words in sentences:
        table = defaultdict(lambda: len(table))
        for w in known:
            table[w]
        ids.append([table[w] for w in words])
        new.append(sorted((w for w in table if w not in known), key=table.get))
    return ids, new
WRONG
one list for all sentences
    | new = list(dict.fromkeys(w for w in words if w not in known)) -> new = list(dict.fromkeys(w for s in sentences for w in s if w not in known))
    You number unknown words across all sentences: each sentence begins again at V.
small letters | for words in sentences: -> for words in [[w.lower() for w in s] for s in sentences]:
    You turn words into small letters: leave them as they are.
in the order of the alphabet | new = list( -> new = sorted(
    You sort the unknown words: their ids follow the order of appearance.
a word twice, two ids
    | list(dict.fromkeys(w for w in words if w not in known)) -> [w for w in words if w not in known]
    A word that comes twice is twice in your list: it has one id.
from V plus one | enumerate([*known, *new]) -> enumerate([*known, None, *new])
    Your first unknown word has the id V + 1: known words have 0 to V - 1, so V is free.
unknown words first, keeps 1 | [*known, *new] -> [*new, *known]
    You renumber the known words: they keep their places, and the new ones come after them.
counted from one | enumerate([*known, *new]) -> enumerate([*known, *new], 1)
    You count from 1: the first known word has the id 0.
all words new | if w not in known) -> )
    You list known words among the unknown words: leave them out.
unknown words left out | [ids[w] for w in words] -> [ids[w] for w in words if w in known]
    You leave unknown words out of the ids: each word of a sentence has one.
numbers run on from sentence to sentence
    | ids = {w: n for n, w in enumerate([*known, *new])} -> ids = {w: n for n, w in enumerate(dict.fromkeys([*known, *(w for s in sentences[: len(all_ids) + 1] for w in s)]))}; all_new.append(new) -> all_new.append(sorted(new, key=ids.get))
    Your numbers run on from one sentence to the next: unknown words begin at V in each.
one table that grows from sentence to sentence
    | ids, all_ids, all_new = {w: n for n, w in enumerate(known)}, [], []
    | for words in sentences:
    |     new = list(dict.fromkeys(w for w in words if w not in ids))
    |     ids |= {w: n for n, w in enumerate(new, len(ids))}
    |     all_ids.append([ids[w] for w in words])
    |     all_new.append(new)
    | return all_ids, all_new
    Your table grows from sentence to sentence, so a word that an earlier one had counts as known: each
    sentence begins again at V.
one list for each sentence's words
    | all_ids, all_new, new = [], [], []
    | for words in sentences:
    |     new.clear()
    |     new.extend(dict.fromkeys(w for w in words if w not in known))
    |     ids = {w: n for n, w in enumerate([*known, *new])}
    |     all_ids.append([ids[w] for w in words])
    |     all_new.append(new)
    | return all_ids, all_new
    All entries of your second list are one and the same list, which holds the last sentence's words:
    make a new one for each sentence.
numbers run on, each sentence's words in their order
    | ids = {w: n for n, w in enumerate([*known, *new])} -> ids = {w: n for n, w in enumerate(dict.fromkeys([*known, *(w for s in sentences[: len(all_ids) + 1] for w in s)]))}
    Your numbers run on from one sentence to the next: the first unknown word of each has the id V.
a new id each time
    | V, all_ids, all_new = len(known), [], []
    | for words in sentences:
    |     new = [w for w in words if w not in known]
    |     count = iter(range(V, V + len(new)))
    |     all_ids.append([known.index(w) if w in known else next(count) for w in words])
    |     all_new.append(new)
    | return all_ids, all_new
    You give an unknown word a new id each time: a word that comes twice keeps its id.
id 0 taken for nothing | [ids[w] for w in words] -> [ids[w] or len(known) for w in words]
    You treat the id 0 as missing, because `or` and `if not` take 0 for nothing: ask `in`, or `is None`.
one id for all unknown words | [ids[w] for w in words] -> [min(ids[w], len(known)) for w in words]
    All your unknown words share the id V, and cannot be told apart any more.
results exchanged | R -> R[::-1]
    Your two lists are exchanged: ids first, then the unknown words.
words in front reversed | new = list( -> new = list(reversed(list(; not in known)) -> not in known))))
    Your unknown words come in reverse order: the first to appear has the first id.
empty sentences dropped, keeps 1 | for words in sentences: -> for words in filter(None, sentences):
    You drop empty sentences: each sentence has an entry in both lists.
sentences with nothing new dropped
    | all_new.append(new) -> all_new += [new] if new else []
    You leave out sentences without an unknown word: their entry is an empty list.
the caller's list grows
    | ids = {w: n for n, w in enumerate([*known, *new])} -> V = len(known); known.extend(new); ids = {w: n for n, w in enumerate(known)}; del known[V:]; known.append("")
    You change the caller's list of known words: work on a copy.
""",
    draw=draw_sentences,
    oracle=extend,
    probe=f"""{PLAIN}
def probe(answer, sentences, known):
    sentences, known = [[str(w) for w in words] for words in sentences], [str(w) for w in known]
    kept = [list(words) for words in sentences], list(known)
    ids, new = answer(sentences, known)
    return {{
        "ids": tuple(tuple(plain(i) for i in row) for row in ids),
        "unknown words": "; ".join(" ".join(words) for words in new),
        "the lists are left as they are": (sentences, known) == kept,
    }}
""",
)

Q4 = question(
    """q4: Write or copy
write_or_copy(logits, weights, p_gen, source, size)
read chapters/11_coverage: A name that nobody has met
the mixture, 1 point: ordinary; other sizes; all sizes equal; one sentence; one word; nothing unknown; as many steps as sentences
    p_gen times the softmax of the logits, plus 1 - p_gen times the weights, each at its word's id.
large logits, 1 point: large logits
    Logits may be large: a softmax does not change when all logits of a row move by the same amount.
    read chapters/02_soft_addressing: Derive: from one value to a mixture
shared places, 1 point: words that stand twice; padded; gate at an end
    A word that occurs twice gets both weights. A word that is both written and copied gets both parts.
gradients, 1 point, backward: ordinary; gate at an end
    The probabilities are right but their gradients are not: no detach, no logarithm of 0, and no
    division by a sum that is 1 anyway.
RIGHT
def write_or_copy(logits, weights, p_gen, source, size):
    B, T, S = weights.shape
    written = F.pad(logits.softmax(-1), (0, size - logits.shape[-1]))
    ids = source[:, None].expand(B, T, S)
    copied = torch.zeros_like(written).scatter_add(-1, ids, weights)
    return p_gen[..., None] * written + (1 - p_gen[..., None]) * copied
def write_or_copy(logits, weights, p_gen, source, size):
    places = (source[:, :, None] == torch.arange(size)).to(weights.dtype)
    room = logits.new_zeros(*logits.shape[:2], size - logits.shape[2])
    written = torch.cat([logits.softmax(2), room], 2)
    return torch.lerp(weights @ places, written, p_gen[:, :, None])
def write_or_copy(logits, weights, p_gen, source, size):
    fill = logits.new_full((*logits.shape[:2], size - logits.shape[-1]), -torch.inf)
    out = torch.cat([logits, fill], -1).softmax(-1) * p_gen.unsqueeze(-1)
    share = weights * (1 - p_gen).unsqueeze(-1)
    return out.scatter_add(2, source.unsqueeze(1).expand_as(share), share)
def write_or_copy(logits, weights, p_gen, source, size):
    rows = []
    for b in range(len(source)):
        table = F.one_hot(source[b], size).to(weights.dtype)
        p = F.pad(torch.softmax(logits[b], 1), (0, size - logits.shape[2]))
        g = p_gen[b].unsqueeze(1)
        rows.append(g * p + (1 - g) * (weights[b] @ table))
    return torch.stack(rows)
def write_or_copy(logits, weights, p_gen, source, size):
    V = logits.shape[-1]
    words = []
    for word in range(size):
        here = (source == word)[:, None].to(weights.dtype)
        p = (1 - p_gen) * (weights * here).sum(-1)
        words.append(p + p_gen * logits.softmax(-1)[..., word] if word < V else p)
    return torch.stack(words, -1)
WRONG
set for added | scatter_add(-1 -> scatter(-1
    Where a word occurs twice, one weight overwrites the other: add them up.
copies set over what is written
    | B, T, S = weights.shape
    | out = F.pad(p_gen[..., None] * logits.softmax(-1), (0, size - logits.shape[-1]))
    | return out.scatter(-1, source[:, None].expand(B, T, S), (1 - p_gen[..., None]) * weights)
    Your copies take the place of what is written there, or of one another: add them up.
mean of the copies | scatter_add(-1, ids, weights) -> scatter_reduce(-1, ids, weights, 'mean', include_self=False)
    Where a word occurs twice you take the mean of its weights: add them up.
logistic function of the gate | return p_gen[..., None] * written -> p_gen = p_gen.sigmoid(); return p_gen[..., None] * written
    You take a logistic function of p_gen, which is a probability already.
softmax of the weights | ids, weights) -> ids, weights.softmax(-1))
    You take a softmax of the weights, whose rows sum to 1 already.
one id for the unknown | ids = source[:, None].expand(B, T, S) -> ids = source.clamp(max=min(logits.shape[-1], size - 1))[:, None].expand(B, T, S)
    All your unknown words have one id: each has its own, up to size - 1.
size from the largest id, keeps 3 | B, T, S = weights.shape -> B, T, S = weights.shape; size = max(int(source.max()) + 1, logits.shape[-1])
    You work out the number of words from the largest id: it may be more, so take size.
gate detached, keeps 3 | return p_gen[..., None] * written -> p_gen = p_gen.detach(); return p_gen[..., None] * written
    No gradient reaches p_gen: it learns from both of its factors, so detach neither.
gate turned round | return p_gen[..., None] * written + (1 - p_gen[..., None]) * copied -> return (1 - p_gen[..., None]) * written + p_gen[..., None] * copied
    Your gate is the wrong way round: with p_gen = 1 everything is written.
gate left out | return p_gen[..., None] * written + (1 - p_gen[..., None]) * copied -> return (written + copied) / 2
    You mix half and half at every step: p_gen says how much is written.
logits mixed | logits.softmax(-1) -> logits
    You mix logits with weights: turn them into probabilities first.
log-probabilities mixed | logits.softmax(-1) -> logits.log_softmax(-1)
    You mix log-probabilities with weights: mix probabilities.
exponentials by their sum, keeps 3 | logits.softmax(-1) -> logits.exp() / logits.exp().sum(-1, keepdim=True)
    You divide exponentials by their sum: for large logits exp is infinite, and the quotient NaN.
    softmax subtracts the maximum first.
divided by its sum, keeps 3 | R -> R / R.sum(-1, keepdim=True)
    You divide the mixture by its sum, which is 1 already. The values stay as they are, but not the
    gradients: leave the division out.
softmax behind the mixture | R -> R.softmax(-1)
    You take a softmax of the mixture, which is a distribution already.
logarithms | R -> (R + 1e-9).log()
    You return logarithms: return the probabilities.
logarithms of zeros, too | R -> R.log()
    You return logarithms, which have no value where the probability is 0: return the probabilities.
padded before the softmax | F.pad(logits.softmax(-1), (0, size - logits.shape[-1])) -> F.pad(logits, (0, size - logits.shape[-1])).softmax(-1)
    You give words outside the vocabulary a logit of 0, and so a share of the writing: they
    cannot be written.
copies alone | p_gen[..., None] * written + (1 - p_gen[..., None]) * copied -> copied
    You only copy: at each step the share p_gen is written.
known words never copied | ids, weights) -> ids, weights * (ids >= logits.shape[-1]))
    You copy only unknown words: a known word of the source can be copied as well.
known words never written twice | return -> written = written * (copied == 0); return
    You no longer write a word that is copied: its two parts add up.
copied part not scaled | + (1 - p_gen[..., None]) * copied -> + copied
    Your copies are not scaled by 1 - p_gen, and rows sum to more than 1.
written part not scaled | p_gen[..., None] * written -> written
    What you write is not scaled by p_gen, and rows sum to more than 1.
source of the first sentence | source[:, None].expand(B, T, S) -> source[:1, None].expand(B, T, S)
    All your sentences copy the words of the first: each has its own source.
cut to the vocabulary | return -> copied = copied * (torch.arange(size) < logits.shape[-1]); return
    You lose the copies of unknown words: their places are after the vocabulary.
larger of two weights | scatter_add(-1, ids, weights) -> scatter_reduce(-1, ids, weights, 'amax')
    Where a word occurs twice you keep only the larger weight: add them up.
id 0 taken for a pad | ids, weights) -> ids, weights * (ids > 0))
    You leave out the id 0, as if it stood for pads: pads already have weights of 0, and 0 may be a word.
softmax over the steps | logits.softmax(-1) -> logits.softmax(1)
    Your softmax runs over the steps: let it run over the words of the vocabulary, the last axis.
largest weight alone | ids, weights) -> ids, weights * (weights == weights.amax(-1, keepdim=True)))
    You copy only the word with the largest weight: every word is copied with its own weight.
gate of the first step | return p_gen[..., None] * written -> p_gen = p_gen[:, :1].expand_as(p_gen); return p_gen[..., None] * written
    All your steps have the gate of the first: each step has its own.
detached, keeps 3 | R -> R.detach()
    The probabilities are right, but detached: nothing could be learned from them.
"""
    + WRONG_FORMS,
    draw=draw_mixture,
    oracle=write_or_copy,
)

Q5 = question(
    """q5: A step of greedy search
step(mixed, finished, V, unk, eos, pad)
read chapters/11_coverage: Questions that readers ask
written and read, 2 points: ordinary; other ids; nothing unknown; all copy; one sentence
    Write the most probable word of all, and pad in finished sentences. Ids from V on are read as unk.
ends, 1 point: pad is the end; few known words; the first step; other ids
    A finished sentence stays finished, and one that writes eos is finished now.
    read chapters/07_training: Where it breaks
RIGHT
def step(mixed, finished, V, unk, eos, pad):
    written = mixed.argmax(-1).masked_fill(finished, pad)
    read = written.masked_fill(written >= V, unk)
    return written, read, finished | (written == eos)
def step(mixed, finished, V, unk, eos, pad):
    written = torch.where(finished, pad, mixed.max(1).indices)
    return written, torch.where(written < V, written, unk), finished + (written == eos)
def step(mixed, finished, V, unk, eos, pad):
    w = torch.topk(mixed, 1, dim=1).indices[:, 0].clone()
    w[finished] = pad
    r = w.clone()
    r[r >= V] = unk
    return w, r, torch.logical_or(finished, w == eos)
def step(mixed, finished, V, unk, eos, pad):
    w = [pad if done else int(p.argmax()) for p, done in zip(mixed, finished)]
    r = [unk if x >= V else x for x in w]
    ends = [bool(done) or x == eos for x, done in zip(w, finished)]
    return torch.tensor(w), torch.tensor(r), torch.tensor(ends)
def step(mixed, finished, V, unk, eos, pad):
    best = mixed.sort(dim=-1, descending=True).indices[:, 0]
    best = best * ~finished + pad * finished
    beyond = (best >= V).long()
    return best, best * (1 - beyond) + unk * beyond, finished | best.eq(eos)
WRONG
known words alone | mixed.argmax(-1) -> mixed[:, :V].argmax(-1)
    You choose only among the known words, and nothing is ever copied: look at all words.
read as written | read = written.masked_fill(written >= V, unk) -> read = written.clone()
    You read ids beyond V, for which the embedding has no row: read unk there.
modulo V | read = written.masked_fill(written >= V, unk) -> read = written % V
    You read a copied word as another word, its id modulo V: read unk.
the last known word | read = written.masked_fill(written >= V, unk) -> read = written.clamp(max=V - 1)
    You read a copied word as the last known word: read unk.
a pad is read | masked_fill(written >= V, unk) -> masked_fill(written >= V, pad)
    You read a pad for a copied word: read unk.
one beyond | written >= V -> written > V
    You read the id V itself, the first unknown word: known words have 0 to V - 1.
unknown written | return written, read -> return read, read
    You write unk for a copied word, and the name is lost: only what is read is replaced.
0 for the pad | masked_fill(finished, pad) -> masked_fill(finished, 0)
    You write 0 in finished sentences: the id of pads is an argument.
    read chapters/07_training: Where it breaks
1 for unk | masked_fill(written >= V, unk) -> masked_fill(written >= V, 1)
    You read 1 for a copied word: the id of unk is an argument.
no pad is read | read = written.masked_fill(written >= V, unk) -> best = mixed.argmax(1); read = best.masked_fill(best >= V, unk)
    You read on in finished sentences: they read pad, as they write it.
finished sentences go on | .masked_fill(finished, pad) ->
    Your finished sentences go on writing: after the end comes padding.
    read chapters/07_training: Where it breaks
finished sentences begin anew | finished | (written == eos) -> written == eos
    Your finished sentences are no longer finished at the next step: once finished, they stay so.
    read chapters/07_training: Where it breaks
all finish together, keeps 2 | finished | (written == eos) -> finished | (written == eos) & (finished.any() | (written == eos).all())
    While no sentence has finished, yours finish only all together: each ends by itself.
    read chapters/07_training: Where it breaks
nobody finishes | finished | (written == eos) -> finished.clone()
    Your sentences never finish: one that writes eos has finished.
    read chapters/07_training: Where it breaks
flags as numbers | finished | (written == eos) -> (finished | (written == eos)).long()
    Your flags are numbers: the third tensor holds True and False.
pad ends a sentence | written == eos -> written == pad
    You end at pad: a sentence ends where eos is written.
    read chapters/07_training: Where it breaks
pad ends a sentence as well | (written == eos) -> (written == eos) | (written == pad)
    You end at pad as well as at eos: a sentence that goes on may write pad, and only eos ends it.
    read chapters/07_training: Where it breaks
finished turned round | masked_fill(finished, pad) -> masked_fill(~finished, pad)
    You pad the sentences that go on: pad those that are finished.
least probable | argmax -> argmin
    You take the least probable word: take the most probable one.
over the batch | mixed.argmax(-1) -> mixed[:, : len(mixed)].argmax(0)
    You look for the largest number along the batch: each row is a distribution of its own.
results in another order | return written, read, finished -> return read, written, finished
    You return what is read first: the order is written, read, finished.
marks of other programs | written = mixed -> unk, eos, pad = 3, 2, 0; written = mixed
    You take 3, 2 and 0 as the ids of unk, eos and pad: these are arguments.
finished changed | return -> finished |= written == eos; return
    You change the caller's flags in place: return new ones.
floats | return written, -> return written.float(),
    Your ids are floating-point numbers: return whole numbers.
""",
    draw=draw_step,
    oracle=step,
)

EXERCISE = Exercise("11_coverage", "Coverage and copying", (Q1, Q2, Q3, Q4, Q5))
