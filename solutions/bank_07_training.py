"""How the exercise on training and decoding is graded: oracles, cases, known mistakes."""

from itertools import pairwise

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import normal, softmax_rows
from seqattn.grading.probes import DECODING, TRAINING_STEP
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
    step: (f"embedding after the {step} step", f"projection after the {step} step")
    for step in ("first", "second")
}


def loss_and_gradients(E, W, y, pad):
    """Mean loss of logits = E[token] W^T and its gradients, written out."""
    g_E, g_W, count, total = np.zeros_like(E), np.zeros_like(W), 0, 0.0
    for sentence in y:
        for token, target in pairwise(sentence):
            if target != pad:
                p = softmax_rows(W @ E[token])
                total -= np.log(p[target])
                count += 1
                p[target] -= 1
                g_E[token] += W.T @ p
                g_W += np.outer(p, E[token])
    return total / count, g_E / count, g_W / count


def norm(*gradients):
    return float(np.sqrt(sum((g**2).sum() for g in gradients)))


def two_updates(E, W, y, pad, max_norm):
    """Two steps of gradient descent with momentum."""
    E, W = E.copy(), W.copy()
    v_E, v_W = np.zeros_like(E), np.zeros_like(W)
    found = {}
    for step, moved in MOVED.items():
        found[f"{step} loss"], g_E, g_W = loss_and_gradients(E, W, y, pad)
        factor = min(1.0, max_norm / (norm(g_E, g_W) + 1e-6))
        v_E, v_W = MOMENTUM * v_E + factor * g_E, MOMENTUM * v_W + factor * g_W
        E, W = E - RATE * v_E, W - RATE * v_W
        found |= zip(moved, (E, W))
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


# --- Cases -----------------------------------------------------------------------------------------

# Ids of pad, start and end. Zero may be any of them, or a word.
IDS = {
    "pad is 0": (0, 1, 2),
    "pad is last": (6, 4, 0),
    "pad in the middle": (3, 0, 5),
    "end is 0": (1, 2, 0),
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
    """Draw a model whose gradient is longer than 1 at both steps."""
    max_norm = 0.1 if kind == "clipped" else 100.0
    while True:
        y, pad = draw_sentences(rng, kind, tuple(rng.permutation([6, 5, 3])))
        E, W = normal(rng, WORDS, 3, scale=1.5), normal(rng, WORDS, 3, scale=1.5)
        _, *first = loss_and_gradients(E.astype(np.float64), W.astype(np.float64), y, pad)
        if norm(*first) > 1.2:
            return E, W, y, pad, max_norm


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


# --- Questions -----------------------------------------------------------------------------------

Q1 = question(
    """q1: Targets and loss
sequence_loss(y, logits, pad)
read chapters/03_additive: The training, with nothing hidden
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
    You look for pads among the inputs, y[:, :-1], which lets one pad of each sentence in: what
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
read chapters/03_additive: The training, with nothing hidden
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
WRONG
gradients not reset | optimizer.zero_grad() ->
    Gradients of the batch before are still there when you call backward: call zero_grad first.
reset after backward
    | optimizer.zero_grad() ->
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) -> optimizer.zero_grad()
    You reset the gradients after backward, so that the step has none left to use.
no step | optimizer.step() ->
    The parameters do not move: optimizer.step() is missing.
no clipping, keeps 3 | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    The gradients are not clipped when the step uses them: clip after backward, before step.
clipped too late, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | optimizer.step() -> optimizer.step()
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    You clip after the step, when the gradients have been used already.
clipped by value, keeps 3 | clip_grad_norm_ -> clip_grad_value_
    You clip each entry; clip the norm of all gradients together, which keeps their direction.
each parameter clipped alone, keeps 3
    | nn.utils.clip_grad_norm_(model.parameters(), max_norm) ->
    | for p in model.parameters(): nn.utils.clip_grad_norm_([p], max_norm)
    You clip each parameter by its own norm; it is the norm of all of them together that is limited.
not in training mode, keeps 3 | model.train() ->
    The model is in evaluation mode when it makes the logits, so dropout would do nothing: call
    model.train() first.
returns the tensor's graph, keeps 3 | loss.item() -> sequence_loss(y, model(y[:, :-1]), pad).item()
    You return the loss after the update, at the price of a second forward pass: return the one that
    you had.
whole sentence as input | model(y[:, :-1]) -> model(y)[:, 1:]
    The model sees the very token that it has to predict: its inputs are y[:, :-1].
a flag for the training mode, keeps 3 | model.train() -> model.training = True
    You set a flag of the outer module, which dropout inside does not see: call model.train().
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
read chapters/03_additive: Use it
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
pad ends a sentence, keeps 1 | (tokens == eos) -> (tokens == eos) | (tokens == pad)
    You take a pad that the model says for the end: only eos ends a sentence.
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
drawn by lot | logits.argmax(-1) -> torch.multinomial(logits.softmax(-1), 1)[:, 0]
    You draw words by lot: greedy decoding takes the likeliest one each time.
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

EXERCISE = Exercise("07_training", "Training and decoding", (Q1, Q2, Q3))
