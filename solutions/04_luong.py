# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 75
#     covers: [M-02, F-07, F-08, F-09, F-11, F-12, F-21, F-33]
# ---

# %% [markdown]
# # Exercise: Luong's scores, and training
#
# Write Luong's three scores and the scaled dot product, a module around one of them, and what it
# takes to train and use it: the loss, one training step, greedy decoding. Last, an experiment: why
# are dot products scaled? Your own measurement is the answer.
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, padding, extreme scores, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors, not lists or NumPy arrays. `seqattn` is the answer
#   key, so importing it in an answer earns nothing.
# - In a mask, True means *may be attended*.
#
# To check in a terminal: `seqattn check 04_luong.ipynb`. For points and hints:
# `seqattn grade 04_luong.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking

# %% [markdown]
# ## The dot score
#
# With `query` of shape `(B, d)` and `keys` of shape `(B, S, d)` the score of word $i$ is
# $e_i = s^\top h_i$. Return scores of shape `(B, S)`, unscaled, without a loop. Gradients must flow
# back to both arguments, here and in the next two questions.


# %% question="q1"
def dot_score(query, keys):
    # BEGIN ANSWER
    return torch.einsum("bd,bsd->bs", query, keys)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    scores = dot_score(
        torch.tensor([[1.0, 2.0]]), torch.tensor([[[3.0, 1.0], [0.0, -1.0], [4.0, 0.0]]])
    )
    assert scores is not None, "dot_score returns None: is there a return?"
    assert scores.shape == (1, 3), f"one sentence, three keys: (1, 3), not {tuple(scores.shape)}"
    assert torch.allclose(scores, torch.tensor([[5.0, -2.0, 4.0]])), (
        f"by hand: 5, -2, 4, not {scores}"
    )

# %% [markdown]
# ## The general score
#
# Query and key need not be of one size if a matrix stands between them: $e_i = s^\top W h_i$, with
# `query` `(B, d_q)`, `keys` `(B, S, d_k)` and `W` `(d_q, d_k)`. Return `(B, S)`, unscaled.


# %% question="q2"
def general_score(query, keys, W):
    # BEGIN ANSWER
    # (s W) h rather than s (W h): one projection for the query instead of one for each key.
    return torch.einsum("be,bse->bs", query @ W, keys)
    # END ANSWER


# %% check="q2"
with checking("q2"):
    W = torch.tensor([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]])
    scores = general_score(
        torch.tensor([[1.0, 2.0]]), torch.tensor([[[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]), W
    )
    assert scores is not None, "general_score returns None: is there a return?"
    assert scores.shape == (1, 2), f"one sentence, two keys: (1, 2), not {tuple(scores.shape)}"
    assert torch.allclose(scores, torch.tensor([[-1.0, 4.0]])), f"by hand: -1 and 4, not {scores}"

# %% [markdown]
# ## The concat score
#
# $e_i = v^\top \tanh(W\,[s; h_i])$, where $[s; h_i]$ is the query followed by the key: **query
# first**. `W` is `(d_a, d_q + d_k)` and `v` is `(d_a,)`. Return `(B, S)`.


# %% question="q3"
def concat_score(query, keys, W, v):
    # BEGIN ANSWER
    repeated = query[:, None, :].expand(-1, keys.shape[1], -1)
    return torch.tanh(torch.cat([repeated, keys], dim=-1) @ W.T) @ v
    # END ANSWER


# %% check="q3"
with checking("q3"):
    torch.manual_seed(0)
    query, keys, W, v = torch.randn(2, 3), torch.randn(2, 5, 4), torch.randn(6, 7), torch.randn(6)
    scores = concat_score(query, keys, W, v)
    assert scores is not None, "concat_score returns None: is there a return?"
    assert scores.shape == (2, 5), f"two sentences, five keys: (2, 5), not {tuple(scores.shape)}"
    one = v @ torch.tanh(W @ torch.cat([query[1], keys[1, 2]]))
    assert torch.allclose(scores[1, 2], one, atol=1e-5), (
        "sentence 2, word 3 is not v · tanh(W [s; h])"
    )

# %% [markdown]
# ## Scaled dot products
#
# All queries of a sentence at once, with values of their own: `queries` `(B, T, d)`, `keys`
# `(B, S, d)`, `values` `(B, S, d_v)`. Return $\mathrm{softmax}(Q K^\top / \sqrt{d})\, V$, of shape
# `(B, T, d_v)`. PyTorch's `scaled_dot_product_attention` and `nn.MultiheadAttention` may not be used.


# %% question="q4"
def scaled_dot_attention(queries, keys, values):
    # BEGIN ANSWER
    scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
    return torch.softmax(scores, dim=-1) @ values
    # END ANSWER


# %% check="q4"
with checking("q4"):
    queries, keys, values = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
    mixed = scaled_dot_attention(queries, keys, values)
    assert mixed is not None, "scaled_dot_attention returns None: is there a return?"
    assert mixed.shape == (2, 3, 6), f"(B, T, d_v) is (2, 3, 6), not {tuple(mixed.shape)}"
    same = scaled_dot_attention(queries, keys, torch.ones(2, 5, 6))
    assert torch.allclose(same, torch.ones(2, 3, 6), atol=1e-5), (
        "a mean of ones is 1: check the weights"
    )

# %% [markdown]
# ## A module with one matrix
#
# Write the class `LuongAttention(d_query, d_key)`, a subclass of `nn.Module`:
#
# - one parameter, `W` of shape `(d_query, d_key)`, made once, and **no** others;
# - `forward(query, keys, mask)` returns the context `(B, d_key)`, which is the weighted sum of the
#   keys, and the weights `(B, S)`, of the general score; `mask` is a padding mask `(B, S)`, and every
#   sentence has a word;
# - the loss's gradient reaches `W`.
#
# How you fill `W` at the start is up to you, as long as the numbers are small and random.
# `general_score` is at hand; for grading a right version of it is, whatever yours does.


# %% question="q5"
class LuongAttention(nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        # BEGIN ANSWER
        self.W = nn.Parameter(torch.randn(d_query, d_key) / math.sqrt(d_query))
        # END ANSWER

    def forward(self, query, keys, mask):
        # BEGIN ANSWER
        scores = general_score(query, keys, self.W).masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        return (weights[:, None, :] @ keys).squeeze(1), weights
        # END ANSWER


# %% check="q5"
with checking("q5"):
    module = LuongAttention(3, 4)
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {"W": (3, 4)}, f"the parameters are {shapes}"
    context, weights = module(torch.randn(2, 3), torch.randn(2, 6, 4), torch.ones(2, 6).bool())
    assert context.shape == (2, 4), f"the context is (2, 4), not {tuple(context.shape)}"
    context.sum().backward()
    assert module.W.grad is not None, "no gradient reaches W"

# %% [markdown]
# ## Targets and loss
#
# A batch of target sentences `y` is `(B, T)`: each begins with a start mark, ends with an end mark
# (2), and is filled up with `pad`. The decoder was given `y[:, :-1]` and said `logits`,
# `(B, T - 1, V)`: row $t$ predicts token $t + 1$. Return the mean cross-entropy, in nats, over **all
# real targets of the batch together**; the end mark is one of them, pads are not.


# %% question="q6"
def sequence_loss(y, logits, pad):
    # BEGIN ANSWER
    return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)
    # END ANSWER


# %% check="q6"
with checking("q6"):
    y = torch.tensor([[1, 4, 5, 2], [1, 3, 2, 0]])
    loss = sequence_loss(y, torch.zeros(2, 3, 6), 0)
    assert loss is not None, "sequence_loss returns None: is there a return?"
    assert loss.shape == (), f"the loss is one number, not of shape {tuple(loss.shape)}"
    assert abs(loss - math.log(6)) < 1e-4, f"six words, all as likely: log 6 = 1.79, not {loss:.2f}"
    sure = torch.full((2, 3, 6), -20.0).scatter(2, y[:, 1:, None], 20.0)
    assert sequence_loss(y, sure, 0) < 0.01, "sure of the next token everywhere: the loss is near 0"

# %% [markdown]
# ## A training step
#
# `model(inputs)` takes tokens `(B, T - 1)` and gives logits as above. Do one step of training on the
# batch `y`: put the model into training mode; gradients of this batch alone, with `sequence_loss`;
# clip their norm, all parameters together, to `max_norm`; one step of the optimizer. Return the loss
# before the update, as a plain number.


# %% question="q7"
def train_step(model, optimizer, y, pad, max_norm):
    # BEGIN ANSWER
    model.train()
    optimizer.zero_grad()
    loss = sequence_loss(y, model(y[:, :-1]), pad)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
    # END ANSWER


# %% check="q7"
with checking("q7"):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(6, 8), nn.Linear(8, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = [train_step(model, optimizer, y, 0, 1.0) for _ in range(40)]
    assert losses[0] is not None, "train_step returns None: is there a return?"
    assert isinstance(losses[0], float), f"return a plain number, not a {type(losses[0]).__name__}"
    assert losses[-1] < losses[0] / 2, (
        f"40 steps should halve the loss: {losses[0]:.2f} to {losses[-1]:.2f}"
    )

# %% [markdown]
# ## Greedy decoding
#
# `step(tokens, state)` takes the last token of each sentence, `(batch,)`, and a state; it gives
# `logits`, `(batch, V)`, and the next state. Begin with `bos` and the given state, take the largest
# logit at each step, and return the words as a `(batch, T)` tensor of whole numbers:
#
# - without `bos`, with each sentence's `eos`, and with `pad` after it;
# - no sentence is longer than `max_len` words (its `eos` counts, `bos` does not), and `T` is the
#   length of the longest;
# - stop as soon as all sentences have ended.


# %% question="q8"
def greedy_decode(step, state, batch, bos, eos, pad, max_len):
    # BEGIN ANSWER
    tokens = torch.full((batch,), bos)
    done = torch.zeros(batch, dtype=torch.bool)
    words = []
    for _ in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(-1).masked_fill(done, pad)
        words.append(tokens)
        done = done | (tokens == eos)
        if done.all():
            break
    return torch.stack(words, dim=1)
    # END ANSWER


# %% check="q8"
with checking("q8"):

    def count_down(tokens, state):
        """Says 5, 4, 3 ... from where the state stands; 2 is the end."""
        return F.one_hot(state, 9).float(), (state - 1).clamp(min=2)

    words = greedy_decode(count_down, torch.tensor([5, 3]), batch=2, bos=1, eos=2, pad=0, max_len=7)
    assert words is not None, "greedy_decode returns None: is there a return?"
    assert words[0].tolist() == [5, 4, 3, 2], (
        f"the first sentence is 5 4 3 2, not {words[0].tolist()}"
    )
    assert words[1].tolist() == [3, 2, 0, 0], (
        f"the second is 3 2, then pads, not {words[1].tolist()}"
    )

# %% [markdown]
# ## Measured: why scale?
#
# An experiment. For each size `d` of 4, 16, 64 and 256 draw at least 1,000 queries and as many keys
# with independent entries of mean 0 and variance 1; row `i` of the queries meets row `i` of the keys.
# Measure the variance over the pairs of the dot products, and of the dot products divided by
# $\sqrt{d}$.
#
# 1. **Save the evidence**: one file `scaling.npz` beside this notebook, written by `np.savez`, with
#    the arrays `queries_4`, `keys_4`, `queries_16`, ... `keys_256`, each with a row for each draw.
# 2. **Write the table** of what you measured: for each `d` the two variances, rounded to two decimals.
#
# The grader computes the table again from your file. It allows 1 % (or 0.01), so numbers from other
# draws than those in the file will not do, and neither will numbers from theory. Hand in both files.

# %%
# BEGIN ANSWER stub: # Your experiment goes here: draw, measure, save.
rng = np.random.default_rng(1)
evidence, measured = {}, {}
for d in (4, 16, 64, 256):
    q, k = rng.normal(size=(2, 1000, d)).astype(np.float32)
    evidence |= {f"queries_{d}": q, f"keys_{d}": k}
    products = (q * k).sum(1)
    measured[d] = (round(float(products.var()), 2), round(float((products / d**0.5).var()), 2))
np.savez("scaling.npz", **evidence)
measured
# END ANSWER

# %% question="q9"
# BEGIN ANSWER stub: variances = None  # {4: (..., ...), 16: (..., ...), 64: (..., ...), 256: (..., ...)}
variances = {4: (3.85, 0.96), 16: (14.83, 0.93), 64: (66.68, 1.04), 256: (280.0, 1.09)}
# END ANSWER

# %% check="q9"
with checking("q9"):
    assert variances is not None, "write the table: variances = {4: (..., ...), ...}"
    assert set(variances) == {4, 16, 64, 256}, (
        f"a row for each of 4, 16, 64, 256, not {set(variances)}"
    )
    assert all(len(row) == 2 for row in variances.values()), "two numbers in each row"

# %% [markdown]
# ## What next
#
# `seqattn grade` tells your points. Then take the softmax of your scores for each `d`, and look at the
# largest weight: what does a variance of 256 do to a gradient?
