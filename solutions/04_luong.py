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
# are dot products scaled, and why by the square root of $d$?
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, other ids, padding, extreme scores, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors, not lists or NumPy arrays, of the dtype that came in,
#   and leave the arguments as they are. `seqattn` is the answer key, so importing it in an answer
#   earns nothing.
# - In a mask, True means *may be attended*.
#
# Save the notebook first. To check in a terminal: `seqattn check 04_luong.ipynb`. For points and hints:
# `seqattn grade 04_luong.ipynb`. In a notebook cell, put an exclamation mark in front.

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
# ## The dot score
#
# With `query` of shape `(B, d)` and `keys` of shape `(B, S, d)` the score of word $i$ is
# $e_i = s^\top h_i$. Return scores of shape `(B, S)`, unscaled. Gradients must flow back to all
# arguments, here and in the next three questions.


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
    assert isinstance(scores, torch.Tensor), f"return a tensor, not a {type(scores).__name__}"
    assert scores.shape == (1, 3), f"one sentence, three keys: (1, 3), not {tuple(scores.shape)}"
    same_precision(dot_score, torch.ones(2, 3), torch.ones(2, 5, 3))
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
    assert isinstance(scores, torch.Tensor), f"return a tensor, not a {type(scores).__name__}"
    assert scores.shape == (1, 2), f"one sentence, two keys: (1, 2), not {tuple(scores.shape)}"
    same_precision(general_score, torch.ones(2, 3), torch.ones(2, 5, 4), torch.ones(3, 4))
    assert torch.allclose(scores, torch.tensor([[-1.0, 4.0]])), f"by hand: -1 and 4, not {scores}"

# %% [markdown]
# ## The concat score of a step
#
# $e_i = v^\top \tanh(W\,[s; h_i])$, where $[s; h_i]$ is the query followed by the key: **query
# first**. `W` is `(d_a, d_q + d_k)` and `v` is `(d_a,)`. The keys are the same at every step, so
# their share was computed once for the sentence, before the first step: `projected` is what the
# columns of `W` that meet a key make of each key, `(B, S, d_a)`. The keys themselves are gone.
# Compute this step's scores, `(B, S)`, from what is left.


# %% question="q3"
def concat_score(query, projected, W, v):
    # BEGIN ANSWER
    # W [s; h] = W_q s + W_k h, and W_q is the columns that meet the query.
    W_q = W[:, : query.shape[-1]]
    return torch.tanh((query @ W_q.T)[:, None, :] + projected) @ v
    # END ANSWER


# %% check="q3"
with checking("q3"):
    torch.manual_seed(0)
    query, keys, W, v = torch.randn(2, 3), torch.randn(2, 5, 4), torch.randn(6, 7), torch.randn(6)
    scores = concat_score(query, keys @ W[:, -4:].T, W, v)
    assert scores is not None, "concat_score returns None: is there a return?"
    assert isinstance(scores, torch.Tensor), f"return a tensor, not a {type(scores).__name__}"
    assert scores.shape == (2, 5), f"two sentences, five keys: (2, 5), not {tuple(scores.shape)}"
    same_precision(concat_score, query, keys @ W[:, -4:].T, W, v)
    one = v @ torch.tanh(W @ torch.cat([query[1], keys[1, 2]]))
    assert torch.allclose(scores[1, 2], one, atol=1e-5), (
        "sentence 2, word 3 is not v · tanh(W [s; h])"
    )

# %% [markdown]
# ## Scaled dot products
#
# All queries of a sentence at once, with values of their own: `queries` `(B, T, d)`, `keys`
# `(B, S, d)`, `values` `(B, S, d_v)`. Return $\mathrm{softmax}(Q K^\top / \sqrt{d})\, V$, of shape
# `(B, T, d_v)`. Scores may be in the hundreds. PyTorch's `scaled_dot_product_attention` and
# `nn.MultiheadAttention` may not be used.


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
    assert isinstance(mixed, torch.Tensor), f"return a tensor, not a {type(mixed).__name__}"
    assert mixed.shape == (2, 3, 6), f"(B, T, d_v) is (2, 3, 6), not {tuple(mixed.shape)}"
    same_precision(scaled_dot_attention, queries, keys, values)
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
#   keys, and the weights `(B, S)`, of the general score; `mask` is a padding mask `(B, S)`; pads may
#   stand at either end, their states are finite numbers of any size, and every sentence has a word;
# - the loss's gradient reaches `W`, and a second call depends on its own arguments alone.
#
# How you fill `W` at the start is up to you, as long as the numbers are small and random, drawn anew
# for every module (so no seed in `__init__`).
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
    assert weights.shape == (2, 6), f"the weights are (2, 6), not {tuple(weights.shape)}"
    context.sum().backward()
    assert module.W.grad is not None, "no gradient reaches W"
    spread = module.W.detach().std()
    assert 0.01 < spread < 10, f"W should start small and random; its spread is {spread:.3g}"
    query, keys = torch.randn(2, 3), torch.randn(2, 6, 4)
    same_precision(module, query, keys, torch.ones(2, 6).bool())

# %% [markdown]
# ## Targets and loss
#
# A batch of target sentences `y` is `(B, T)`: each begins with a start mark, ends with an end mark,
# and is filled up with `pad`. The ids of these three differ from vocabulary to vocabulary; `pad` is
# told, and need not be 0. The decoder was given `y[:, :-1]` and said `logits`, `(B, T - 1, V)`: row
# $t$ predicts token $t + 1$. Return the mean cross-entropy, in nats, over **all real targets of the
# batch together**, as a tensor of no axes through which gradients flow; the end mark is a target,
# pads are not. Logits may be in the hundreds.


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
    assert isinstance(loss, torch.Tensor), f"return a tensor, not a {type(loss).__name__}"
    assert loss.shape == (), f"the loss is one number, not of shape {tuple(loss.shape)}"
    same_precision(sequence_loss, y, torch.zeros(2, 3, 6), 0)
    assert abs(loss - math.log(6)) < 1e-4, f"six words, all as likely: log 6 = 1.79, not {loss:.2f}"
    sure = torch.full((2, 3, 6), -20.0).scatter(2, y[:, 1:, None], 20.0)
    assert sequence_loss(y, sure, 0) < 0.01, "sure of the next token everywhere: the loss is near 0"

# %% [markdown]
# ## A training step
#
# `model(inputs)` takes tokens `(B, T - 1)` and gives logits as above. Do one step of training on the
# batch `y`: put the model into training mode; gradients of this batch alone, with `sequence_loss`;
# clip their norm, all parameters together, to `max_norm`; one step of the optimizer that is handed
# in, whichever it is. Return the loss before the update, as a plain number, not as a tensor. (The
# model has modules inside; gradients of an earlier batch may still be there.)


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
    y = torch.tensor([[1, 4, 5, 2], [1, 3, 2, 0]])
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
# `logits`, `(batch, V)`, and the next state. What a state is, is the decoder's business: hand it on
# as it comes. Begin with `bos` and the given state, take the largest logit at each step, and return
# the words as a `(batch, T)` tensor of whole numbers:
#
# - without `bos`, with each sentence's `eos`, and with `pad` after it;
# - no sentence is longer than `max_len` words (its `eos` counts, `bos` does not), and `T` is the
#   length of the longest;
# - stop as soon as all sentences have ended: `step` is expensive.
#
# The three ids may be any, and in some models two of them coincide: `bos` with `eos`, or `pad` with
# one of them. A model may say any id in the middle of a sentence, `bos` and `pad` too: only `eos`
# ends it.


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
    assert isinstance(words, torch.Tensor), f"return a tensor, not a {type(words).__name__}"
    assert words.dtype == torch.int64, f"words are whole numbers, int64, not {words.dtype}"
    assert words[0].tolist() == [5, 4, 3, 2], (
        f"the first sentence is 5 4 3 2, not {words[0].tolist()}"
    )
    assert words[1].tolist() == [3, 2, 0, 0], (
        f"the second is 3 2, then pads, not {words[1].tolist()}"
    )

# %% [markdown]
# ## Measured: why scale?
#
# What do large scores do to a softmax, and to what can be learned through it? Measure it. `queries` is
# `(n, d)` and `keys` is `(n, S, d)`: query `i` meets the `S` keys of row `i`, with plain dot products
# as scores. Return a dict with two entries of two numbers each, for the plain scores and for the
# scores divided by $\sqrt{d}$, in this order:
#
# - `"variance"`: the variance of all `n · S` scores about their one mean;
# - `"through"`: how much a softmax over each row lets through: the sum of the derivatives of the
#   weights, each by its own score, $\sum_i \partial \alpha_i / \partial e_i$; mean over the rows.
#
# The numbers may be tensors or plain ones; 1 % more or less does not matter.


# %% question="q9"
def measure(queries, keys):
    # BEGIN ANSWER
    plain = torch.einsum("nd,nsd->ns", queries, keys)
    both = plain, plain / math.sqrt(queries.shape[-1])
    weights = [scores.softmax(-1) for scores in both]
    return {
        "variance": [scores.var().item() for scores in both],
        # The derivative of a weight by its own score is a (1 - a).
        "through": [(a * (1 - a)).sum(-1).mean().item() for a in weights],
    }
    # END ANSWER


# %% check="q9"
with checking("q9"):
    torch.manual_seed(0)
    table = {d: measure(torch.randn(500, d), torch.randn(500, 8, d)) for d in (4, 16, 64, 256)}
    assert table[4] is not None, "measure returns None: is there a return?"
    assert set(table[4]) == {"variance", "through"}, f"the entries are {set(table[4])}"
    for d, row in table.items():
        (v, v_scaled), (t, t_scaled) = row["variance"], row["through"]
        print(
            f"d = {d:3}: variance {v:6.1f} and {v_scaled:.2f}, let through {t:.3f} and {t_scaled:.2f}"
        )
        assert abs(v_scaled * d / v - 1) < 0.01, "scores divided by the root: variance divided by d"
        assert 0 < t < t_scaled < 1 - 1 / 8, "a sharp softmax lets less through than a flat one"

# %% [markdown]
# ## What follows: which power?
#
# Why $\sqrt{d}$, and not $d$, or $\log d$? Let the table decide. Suppose the variance of the scores
# grows like a power of the size, $\mathrm{var} = c\, d^{\,b}$. Then scores divided by $d^{\,p}$ with the
# right power $p$ have a variance that does not depend on $d$. From a table of sizes and variances of
# the *undivided* scores, two sequences of plain numbers, find $b$ by least squares (a straight line
# through $\ln \mathrm{var}$ over $\ln d$) and return $p$, which may be negative. The measured table of the question before
# is one such table; keys that resemble one another, or entries that depend on one another, give
# others, and another power.


# %% question="q10"
def right_power(sizes, variances):
    # BEGIN ANSWER
    slope, _ = np.polyfit(np.log(sizes), np.log(variances), 1)
    # Dividing scores by d^p divides their variance by d^(2p).
    return slope / 2
    # END ANSWER


# %% check="q10"
with checking("q10"):
    power = right_power([2, 8, 32], [3.0, 3.0, 3.0])
    assert power is not None, "right_power returns None: is there a return?"
    power = torch.as_tensor(power, dtype=torch.float64).item()
    assert abs(power) < 1e-3, f"a variance that does not grow needs no division: 0, not {power}"
    sizes, entries = (4, 16, 64, 256), [torch.randn(2, 5000, d) for d in (4, 16, 64, 256)]
    power = right_power(sizes, [(q * k).sum(-1).var().item() for q, k in entries])
    power = torch.as_tensor(power, dtype=torch.float64).item()
    print(f"independent entries: divide by d to the power of {power:.2f}")
    assert abs(power - 0.5) < 0.05, f"independent entries ask for the square root, not {power:.2f}"

# %% [markdown]
# ## What next
#
# `seqattn grade` tells your points. Then break the experiment: draw keys that are all nearly the same
# vector as the query, or queries and keys of length 1, and see which power the table asks for.
