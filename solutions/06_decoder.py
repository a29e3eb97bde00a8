# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 80
#     covers: [F-05, F-15, F-16, F-21, D-20, M-13, M-14, P-04, P-05]
# ---

# %% [markdown]
# # Exercise 6: inside the decoder
#
# Build what surrounds the attention in a translator: how the encoder hands over, what the decoder
# reads, when it asks, where the context goes. Then tell from the outside which decoder a program has,
# and measure how numb a readout is. The chapter is
# [The decoder: two orders of one step](../chapters/06_decoder.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, padding, other ids, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn`, `math` and `np`
#   are there already, and so are `attend` and `gru` from a cell below.
# - Everything is plain PyTorch: return tensors of the same precision as those that come in, not lists
#   or NumPy arrays. `seqattn` is the answer key, so importing it in an answer earns nothing.
# - In a mask, True means *may be attended*. A row of `X @ W.T` is $W x$ for a row $x$ of `X`.
# - Do not change the tensors that you are given: the caller still needs them.
# - Gradients flow through every result that has one: no detach, no NumPy on the way.
#
# Save the notebook first. To check in a terminal: `seqattn check 06_decoder.ipynb`. For points and hints:
# `seqattn grade 06_decoder.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision

# %% [markdown]
# Two functions are given: the first you wrote in earlier exercises, and PyTorch has the second.
# `attend` scores the words `keys` `(B, S, d_h)` for `query` `(B, d_s)`, under a padding mask
# `(B, S)`, by the general score with the matrix `A` `(d_s, d_h)`. It returns the context `(B, d_h)`
# and the weights `(B, S)`. `gru` updates the states `s` `(B, d_s)` with the inputs `x` `(B, d_x)`,
# using the weights `W` `(3 d_s, d_x)` and `U` `(3 d_s, d_s)`; it has no biases.


# %%
def attend(query, keys, mask, A):
    """Return the context (B, d_h) and the weights (B, S)."""
    keys = keys.masked_fill(~mask[..., None], 0.0)
    scores = torch.einsum("bq,qh,bsh->bs", query, A, keys)
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return torch.einsum("bs,bsh->bh", weights, keys), weights


def gru(x, s, W, U):
    """Return the states (B, d_s) after the inputs x (B, d_x)."""
    return torch.gru_cell(x, s, W, U)


# %% [markdown]
# ## The bridge
#
# An encoder with `L` layers in both directions ends in `2L` states for each sentence. PyTorch
# returns them as `h_n`, of shape `(2L, B, d_h)`, in this order: layer 1 forward, layer 1 backward,
# layer 2 forward, and so on. The decoder has `L` layers as well. Its layer $l$ starts at
#
# $$s_0^{(l)} = \tanh\bigl(W^{(l)} [\overrightarrow{h}^{(l)}; \overleftarrow{h}^{(l)}] + b^{(l)}\bigr),$$
#
# with weights `W` of shape `(L, d_s, 2 d_h)` and `b` of shape `(L, d_s)`. The cells of an LSTM,
# which no tanh bounds, take the same formula without the tanh: `squash` is False for them. Return the
# first states with the batch in front, `(B, L, d_s)`.


# %% question="q1"
def bridge(h_n, W, b, squash):
    # BEGIN ANSWER
    # Every second row is a layer's forward half; the other half lies behind it.
    ends = torch.cat([h_n[0::2], h_n[1::2]], dim=-1)
    first = torch.stack([F.linear(*layer) for layer in zip(ends, W, b)], dim=1)
    return torch.tanh(first) if squash else first
    # END ANSWER


# %% check="q1"
with checking("q1"):
    h_n = torch.tensor([[[1.0], [0.5]], [[2.0], [-1.0]]])
    W, b = torch.tensor([[[0.5, -0.25], [0.0, 1.0]]]), torch.tensor([[0.0, -2.0]])
    first = bridge(h_n, W, b, False)
    assert first is not None, "bridge returns None: is there a return?"
    assert isinstance(first, torch.Tensor), f"return a tensor, not a {type(first).__name__}"
    assert first.shape == (2, 1, 2), f"(B, L, d_s) is (2, 1, 2), not {tuple(first.shape)}"
    by_hand = torch.tensor([[[0.0, 0.0]], [[0.5, -3.0]]])
    assert torch.allclose(first, by_hand), f"by hand {by_hand.tolist()}, not {first.tolist()}"
    squashed = bridge(h_n, W, b, True)
    assert torch.allclose(squashed, by_hand.tanh()), "states of a GRU: tanh, last of all"
    same_precision(bridge, h_n, W, b, True)

# %% [markdown]
# ## What goes in, what should come out
#
# In training the decoder reads the right translation, always one word behind what it has to say: it
# reads `bos` and says word 1, reads word 1 and says word 2, and after the last word it says `eos`.
# `words` holds ids `(B, T)` of translations *without* marks, with pads after the shorter ones; a
# translation may even be empty. Return two tensors of ids `(B, T + 1)`: what the decoder reads, then
# what it should say. Pads fill the rest of both. `bos`, `eos` and `pad` are ids; they may
# share one id, but none is the id of a word.


# %% question="q2"
def shift(words, bos, eos, pad):
    # BEGIN ANSWER
    column = words.new_full((len(words), 1), pad)
    read = torch.cat([column.fill_(bos), words], dim=1)
    ends = (words != pad).sum(1, keepdim=True)
    say = torch.cat([words, column.new_full(column.shape, pad)], dim=1)
    return read, say.scatter(1, ends, eos)
    # END ANSWER


# %% check="q2"
with checking("q2"):
    pair = shift(torch.tensor([[7, 8, 9], [6, 0, 0]]), bos=1, eos=2, pad=0)
    assert pair is not None, "shift returns None: is there a return?"
    assert len(pair) == 2, "return two tensors: what is read, and what should be said"
    for ids in pair:
        assert isinstance(ids, torch.Tensor), f"return tensors, not a {type(ids).__name__}"
        assert ids.shape == (2, 4), f"(B, T + 1) is (2, 4), not {tuple(ids.shape)}"
        assert ids.dtype == torch.int64, f"ids are whole numbers, int64, not {ids.dtype}"
    assert pair[0].tolist() == [[1, 7, 8, 9], [1, 6, 0, 0]], f"it reads {pair[0].tolist()}"
    assert pair[1].tolist() == [[7, 8, 9, 2], [6, 2, 0, 0]], f"it should say {pair[1].tolist()}"

# %% [markdown]
# ## Bahdanau's step
#
# Write one step for a batch. `embedded` `(B, d_e)` holds the vectors of the words that were said
# last, `state` `(B, d_s)` the incoming states, `keys` `(B, S, d_h)` and `mask` `(B, S)` the source.
# In this order:
#
# 1. the incoming state asks, with `attend`;
# 2. `gru` updates it with the inputs [word; context], using `W` `(3 d_s, d_e + d_h)` and `U`;
# 3. the readout is Bahdanau's **maxout**: from
#    $z = P\,[\text{new state}; \text{context}; \text{word}]$, with `P` `(2 d_t, d_s + d_h + d_e)`, it
#    keeps the larger number of each pair of neighbours, $t_k = \max(z_{2k-1}, z_{2k})$. (The paper's
#    appendix has the old state here; we take the new one, as the chapter does.)
#
# Return the new state `(B, d_s)`, the features $t$ `(B, d_t)` and the weights `(B, S)`.


# %% question="q3"
def bahdanau_step(embedded, state, keys, mask, A, W, U, P):
    # BEGIN ANSWER
    context, weights = attend(state, keys, mask, A)
    after = gru(torch.cat([embedded, context], dim=-1), state, W, U)
    sums = F.linear(torch.cat([after, context, embedded], dim=-1), P)
    return after, sums.unflatten(-1, (-1, 2)).amax(-1), weights
    # END ANSWER


# %% check="q3"
with checking("q3"):
    word, state = torch.tensor([[1.0, -1.0]]), torch.tensor([[0.5]])
    keys, mask = torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[True, True, False]])
    A, W, U = torch.zeros(1, 1), torch.zeros(3, 3), torch.zeros(3, 1)
    P = torch.tensor([[2.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]])
    results = bahdanau_step(word, state, keys, mask, A, W, U, P)
    assert results is not None, "bahdanau_step returns None: is there a return?"
    assert len(results) == 3, "return three things: state, features, weights"
    for name, x, by_hand in zip(
        ("new state", "features", "weights"), results, ([[0.25]], [[3.0, 1.0]], [[0.5, 0.5, 0.0]])
    ):
        assert isinstance(x, torch.Tensor), f"{name}: return a tensor, not a {type(x).__name__}"
        assert x.shape == torch.tensor(by_hand).shape, f"{name} of shape {tuple(x.shape)}"
        assert torch.allclose(x.double(), torch.tensor(by_hand).double()), (
            f"{name}: by hand {by_hand}, not {x.tolist()}"
        )
    same_precision(bahdanau_step, word, state, keys, mask, A, W, U, P)

# %% [markdown]
# ## Luong's steps, with input feeding
#
# Now take all steps of a known translation, in Luong's order. `embedded` `(B, T, d_e)` holds the
# vectors of the words that are read. At step $t$ the GRU reads [word; $\tilde s_{t-1}$], using `W`
# `(3 d_s, d_e + d_a)` and `U`. Then the new state asks. Then the attentional vector
#
# $$\tilde s_t = \tanh\bigl(W_c\,[c_t; s_t]\bigr)$$
#
# with `W_c` of shape `(d_a, d_h + d_s)`, is said and fed to the next step. Before the first step
# nothing was said: there $\tilde s_0 = 0$. Return all attentional vectors, `(B, T, d_a)`, and all
# weights, `(B, T, S)`.


# %% question="q4"
def luong_run(embedded, state, keys, mask, A, W, U, W_c):
    # BEGIN ANSWER
    said, rows = [state.new_zeros(state.shape[0], W_c.shape[0])], []
    for t in range(embedded.shape[1]):
        state = gru(torch.cat([embedded[:, t], said[-1]], dim=-1), state, W, U)
        context, weights = attend(state, keys, mask, A)
        said.append(F.linear(torch.cat([context, state], dim=-1), W_c).tanh())
        rows.append(weights)
    return torch.stack(said[1:], dim=1), torch.stack(rows, dim=1)
    # END ANSWER


# %% check="q4"
with checking("q4"):
    words, state = torch.zeros(1, 2, 1), torch.tensor([[0.8]])
    keys, mask = torch.tensor([[[1.0], [3.0]]]), torch.ones(1, 2, dtype=torch.bool)
    A, W, U = torch.zeros(1, 1), torch.zeros(3, 2), torch.zeros(3, 1)
    W_c = torch.tensor([[0.5, -2.0]])
    results = luong_run(words, state, keys, mask, A, W, U, W_c)
    assert results is not None, "luong_run returns None: is there a return?"
    assert len(results) == 2, "return two things: attentional vectors, weights"
    for name, x, by_hand in zip(
        ("vectors", "weights"), results, ([[[0.1974], [0.5370]]], [[[0.5, 0.5], [0.5, 0.5]]])
    ):
        assert isinstance(x, torch.Tensor), f"{name}: return a tensor, not a {type(x).__name__}"
        assert x.shape == torch.tensor(by_hand).shape, f"{name} of shape {tuple(x.shape)}"
        assert torch.allclose(x.double(), torch.tensor(by_hand).double(), atol=1e-4), (
            f"{name}: by hand {by_hand}, not {x.tolist()}"
        )
    fed = luong_run(words, state, keys, mask, A, W + torch.tensor([0.0, 9.0]), U, W_c)[0]
    assert fed[0, 0] == results[0][0, 0], "nothing is fed to the first step"
    assert fed[0, 1] != results[0][0, 1], "what was said at the first step is fed to the second"
    same_precision(luong_run, words, state, keys, mask, A, W, U, W_c)

# %% [markdown]
# ## What the encoder hands over
#
# `rnn` is an `nn.GRU` in both directions, `batch_first`, with one or more layers. `vectors`
# `(B, S, d)` holds the words of a batch and whatever is at its pads; `lengths` `(B,)` says how many
# words each sentence has, in any order, and none is 0. There may be more columns than the longest
# sentence needs.
#
# Return the states of the top layer, `(B, S, 2 d_h)`, zeros at pads; and the summary `(B, 2 d_h)`,
# where the top layer's two directions end: the forward one at the last word, the backward one at the
# first. Each sentence comes out as if it were alone: what is at pads, even NaN, must not be read.


# %% question="q5"
def encode(rnn, vectors, lengths):
    # BEGIN ANSWER
    words = nn.utils.rnn.pack_padded_sequence(
        vectors, lengths, batch_first=True, enforce_sorted=False
    )
    packed, ends = rnn(words)
    states, _ = nn.utils.rnn.pad_packed_sequence(
        packed, batch_first=True, total_length=vectors.size(1)
    )
    return states, torch.cat([*ends[-2:]], dim=1)
    # END ANSWER


# %% check="q5"
with checking("q5"):
    torch.manual_seed(0)
    rnn = nn.GRU(2, 3, num_layers=2, batch_first=True, bidirectional=True)
    vectors, lengths = torch.randn(2, 4, 2), torch.tensor([1, 3])
    results = encode(rnn, vectors, lengths)
    assert results is not None, "encode returns None: is there a return?"
    assert len(results) == 2, "return two things: states, summary"
    for name, x, shape in zip(("states", "summary"), results, ((2, 4, 6), (2, 6))):
        assert isinstance(x, torch.Tensor), f"{name}: return a tensor, not a {type(x).__name__}"
        assert x.shape == shape, f"{name}: {shape} is asked for, not {tuple(x.shape)}"
        assert x.dtype == torch.float32, f"{name}: float32 came in, {x.dtype} came out"
    alone, _ = rnn(vectors[1:, :3])
    assert torch.allclose(results[0][1, :3], alone[0], atol=1e-6), "as if it were alone"
    assert not results[0][1, 3:].any(), "states at pads are zeros"
    assert torch.allclose(results[1][1, :3], alone[0, 2, :3], atol=1e-6), "forward: last word"
    assert torch.allclose(results[1][1, 3:], alone[0, 0, 3:], atol=1e-6), "backward: first word"
    double = encode(rnn.double(), vectors.double(), lengths)
    assert all(x.dtype == torch.float64 for x in double), "float64 came in: keep the precision"

# %% [markdown]
# ## Name that design
#
# Somebody hands you a program that decodes one sentence. `decode(words, values)` gets the ids of the
# words that are read, `(T,)`, and the values of the source, `(S, d)`; it keeps its keys to itself. It
# returns three tensors: the states after each step `(T, d_s)`, the weights `(T, S)` and the logits
# `(T, vocab)`. Its name means nothing: find out. Return two texts,
#
# - who asks at each step: `"old state"`, the one before the update, or `"new state"`, the one after it;
# - the first state that the context reaches: `"update"`, that of the same step; `"next update"`, that of the
#   next step, directly or within what was said. If it reaches none: `"readout"`, into the logits alone, or
#   `"nowhere"`.
#
# (Bahdanau's design is old state, update. Luong's is new state, readout, and with input feeding new
# state, next update.) You may run it up to 500 times. Its numbers carry noise of a millionth;
# what moves at all moves by more than a thousandth, when the values change their sign, say, or are
# multiplied by 5. Ids run from 0 to `vocab - 1`. Some words share one vector, so that replacing one by the
# other changes nothing. `T` is at least 3.


# %% question="q6"
def name_design(decode, words, values, vocab):
    # BEGIN ANSWER
    def moves(one, two):
        """Say of each step whether it moved."""
        return ((one - two).abs().amax(dim=-1) > 1e-4).tolist()

    states, rows, logits = decode(words, values)
    loud_states, _, loud_logits = decode(words, -2 * values)
    asks = "old state"
    for word in range(vocab):
        other = words.clone()
        other[0] = word
        if moves(decode(other, values)[1], rows)[0]:
            asks = "new state"
    by_values = moves(states, loud_states)
    if any(by_values):
        return asks, "update" if by_values[0] else "next update"
    return asks, "readout" if any(moves(logits, loud_logits)) else "nowhere"
    # END ANSWER


# %% check="q6"
with checking("q6"):
    torch.manual_seed(0)
    E, M, K = torch.randn(6, 3), torch.randn(3, 3), torch.randn(4, 3)

    def program(words, values, *, early, used):
        """Decodes with attention; the context is used in the readout, or not at all."""
        s, found = torch.zeros(3), []
        for word in words:
            before, s = s, torch.tanh(E[word] + M @ s)
            weights = torch.softmax(K @ (before if early else s), dim=-1)
            found.append((s, weights, E @ s + used * (weights @ values).sum()))
        return tuple(torch.stack(x) + 1e-6 * torch.rand(()) for x in zip(*found))

    for early in (False, True):
        for used in (0, 1):
            named = name_design(
                lambda words, values, e=early, u=used: program(words, values, early=e, used=u),
                torch.tensor([2, 5, 0, 1]),
                torch.randn(4, 2),
                6,
            )
            assert named is not None, "name_design returns None: is there a return?"
            assert isinstance(named, tuple | list), (
                f"return two texts, not a {type(named).__name__}"
            )
            expected = ("old state" if early else "new state", "readout" if used else "nowhere")
            assert tuple(named) == expected, f"this one is {expected}, not {tuple(named)}"

# %% [markdown]
# ## Measured: how numb is a readout?
#
# A tanh at its limit, −1 or 1, passes no gradient back. How many features of a readout are at a
# limit? `features` `(N, T, d)` holds what a tanh readout gave for `N` sentences; `real` `(N, T)` is
# True at words, and what is at pads must not count, even NaN. Return a dict of three numbers, over
# all words of all sentences together:
#
# - `"saturated"`: the share of features at words that lie beyond 0.99 or below −0.99;
# - `"slope"`: the mean slope of the tanh there, $1 - x^2$ for a feature $x$;
# - `"constant"`: the share of the `d` features that lie beyond 0.99 at *every* word, or below −0.99 at
#   every word. Such a feature says the same whatever is translated.
#
# The numbers may be tensors or plain numbers.


# %% question="q7"
def numbness(features, real):
    # BEGIN ANSWER
    words = features[real]
    above, below = words > 0.99, words < -0.99
    return {
        "saturated": (above | below).double().mean().item(),
        "slope": (1 - words.square()).mean().item(),
        "constant": (above.all(dim=0) | below.all(dim=0)).double().mean().item(),
    }
    # END ANSWER


# %% check="q7"
with checking("q7"):
    features = torch.tensor([[[1.0, 1.0, 0.0], [1.0, -1.0, 0.5]], [[0.995, 1.0, 0.0], [0, 0, 0]]])
    real = torch.tensor([[True, True], [True, False]])
    row = numbness(features, real)
    assert row is not None, "numbness returns None: is there a return?"
    assert isinstance(row, dict), f"return a dict, not a {type(row).__name__}"
    for name, by_hand in {"saturated": 6 / 9, "slope": 0.3067, "constant": 1 / 3}.items():
        assert name in row, f"the entries are {set(row)}: there is no {name}"
        assert abs(float(row[name]) - by_hand) < 1e-3, (
            f"{name}: by hand {by_hand:.3f}, not {float(row[name]):.3f}"
        )

# %% [markdown]
# ## What follows: is it the start?
#
# Two settings were trained with several seeds each. `one` and `other` are lists with a pair for each
# seed, (saturated share, loss). The two lists may be of different lengths, and their seeds have
# nothing to do with each other. What may you say of `one` compared with `other`? Return a dict with
# two texts, `"saturated"` and `"loss"`, each judged by its own numbers:
#
# - `"higher"` if all of `one`'s numbers lie above all of `other`'s, `"lower"` if below;
# - `"no difference seen"` if the ranges from the lowest to the highest seed meet, even at one number
#   only;
# - `"too few seeds"` for both if either side has fewer than three.


# %% question="q8"
def compare(one, other):
    # BEGIN ANSWER
    def conclude(column):
        ours, theirs = ([pair[column] for pair in side] for side in (one, other))
        if min(len(ours), len(theirs)) < 3:
            return "too few seeds"
        if min(ours) > max(theirs):
            return "higher"
        return "lower" if max(ours) < min(theirs) else "no difference seen"

    return {"saturated": conclude(0), "loss": conclude(1)}
    # END ANSWER


# %% check="q8"
with checking("q8"):
    found = compare([(0.5, 2.0), (0.6, 3.0), (0.7, 2.5)], [(0.1, 2.2), (0.2, 1.0), (0.4, 1.5)])
    assert found is not None, "compare returns None: is there a return?"
    assert isinstance(found, dict), f"return a dict, not a {type(found).__name__}"
    assert set(found) == {"saturated", "loss"}, f"the entries are {set(found)}"
    assert found["saturated"] == "higher", f"0.5 to 0.7 beside 0.1 to 0.4: {found['saturated']}"
    assert found["loss"] == "no difference seen", f"2 to 3 beside 1 to 2.2: {found['loss']}"

# %% [markdown]
# Now measure. Take a translator in Luong's order with a tanh readout. Does it matter where the bias
# of its last layer starts, at zeros or at the logarithm of each word's frequency? `train` gives you
# one run of 60 updates: the features of its readout after 20 updates with the mask of their words,
# and the mean loss of its last 10. Run both starts with three seeds each, let `numbness` and
# `compare` judge, and write down in a sentence what follows, and what does not. (A run takes a few
# seconds.)

# %%
from seqattn.data import Batches, Vocabularies, encode_pairs, tokenize, toy_corpus
from seqattn.models import ModelConfig, build_model
from seqattn.training import fit

short = [pair for pair in toy_corpus(8_000)["train"] if len(tokenize(pair.source, "en")) <= 8]
vocabularies = Vocabularies.learn(short, ("en", "fr"))
batches = Batches(encode_pairs(short, vocabularies), tokens=512)


def train(seed, frequencies):
    """Return features after 20 updates, where their words are, and the last loss."""
    torch.manual_seed(seed)
    sizes = {"d_embed": 64, "d_hidden": 64, "d_encoder": 32, "dropout": 0.0}
    config = ModelConfig("luong", score="additive", readout="tanh", input_feeding=False, **sizes)
    model, batch, seen = build_model(config, *map(len, vocabularies)), next(batches.epoch(0)), []

    def look(update):
        if update == 20:
            hook = model.decoder.readout.register_forward_hook(lambda *call: seen.append(call[-1]))
            with torch.no_grad():
                model(batch.source, batch.lengths, batch.inputs)
            hook.remove()

    options = {"lr": 0.01, "warmup": 10, "schedule": "constant", "guess": frequencies}
    losses = fit(model, batches, steps=60, watch=look, every=20, **options).losses
    return seen[0], batch.targets != 0, sum(losses[-10:]) / 10


# %% tags=["nbval-ignore-output"]
# BEGIN ANSWER stub: # Your experiment goes here: train, measure, compare.
measured = {}
for start in ("zeros", "frequencies"):
    measured[start] = []
    for seed in range(3):
        features, real, loss = train(seed, start == "frequencies")
        row = numbness(features, real)
        measured[start].append((row["saturated"], loss))
        print(
            f"{start:12} seed {seed}: " + ", ".join(f"{k} {v:.3f}" for k, v in row.items()), end=""
        )
        print(f", loss {loss:.2f}")
found = compare(measured["zeros"], measured["frequencies"])
print(f"zeros beside frequencies: {found}")
# The start decides, at this size and after so few updates: of longer trainings, other readouts and
# other rates these six runs say nothing.
assert found == {"saturated": "higher", "loss": "higher"}
# END ANSWER

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then change one thing in `train`: a third of the
# learning rate, or another readout (`"maxout"`, `"linear"`; these have no tanh, so compare their losses
# alone). Where does `compare` still see a difference?
