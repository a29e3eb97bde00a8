# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-17, F-31, M-08, M-12, D-10, D-18]
# ---

# %% [markdown]
# # Exercise 10: local attention and patterns
#
# Build a window from its parts: which words are in it, where its centre comes from, how much each
# word weighs, and how to compute the context without touching the rest. Then find out how many
# layers a sparse pattern needs, and how wide a window must be to hold the gold links. The chapter
# is [Through a window](../chapters/10_local.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, short sentences, windows at and beyond the ends,
# gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn`, `math` and `np` are
#   there already.
# - Everything is plain PyTorch: return tensors of the same precision as those that come in, not lists
#   or NumPy arrays. `seqattn` is the answer key, so importing it in an answer earns nothing.
# - Positions count from 0. In a mask, True means *may be attended*. Sentence $b$ of a batch has
#   `lengths[b]` words; pads stand behind them.
# - Do not change the tensors that you are given: the caller still needs them.
#
# Save the notebook first. To check in a terminal: `seqattn check 10_local.ipynb`. For points and hints:
# `seqattn grade 10_local.ipynb`. In a notebook cell, put an exclamation mark in front.

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
# ## Which words are in the window?
#
# `centres` `(B,)` holds a centre $p$ for each sentence: a real number, which may lie before the
# first word or behind the last. `D` is the half-width, a whole number, and `lengths` `(B,)` says
# how many words each sentence has. Word $i$ is in the window if $|i - p| \le D$. Return a boolean
# tensor `(B, size)`: True where a word is in the window of its sentence. `size` is the width of the
# batch, so some of the last columns may be pads.


# %% question="q1"
def in_window(centres, D, lengths, size):
    # BEGIN ANSWER
    places = torch.arange(size)
    near = (places - centres[:, None]).abs() <= D
    return near & (places < lengths[:, None])
    # END ANSWER


# %% check="q1"
with checking("q1"):
    found = in_window(torch.tensor([2.5, 3.0, 0.5]), 2, torch.tensor([6, 4, 6]), 6)
    assert found is not None, "in_window returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.dtype == torch.bool, f"True or False for each word, not {found.dtype}"
    assert found.shape == (3, 6), f"(B, size) is (3, 6), not {tuple(found.shape)}"
    assert found[0].tolist() == [False, True, True, True, True, False], "p = 2.5: words 1 to 4"
    assert found[1].tolist() == [False, True, True, True, False, False], "words 1 to 3: 4 words"
    assert found[2].tolist() == [True, True, True, False, False, False], "p = 0.5: words 0 to 2"

# %% [markdown]
# ## Where is the centre?
#
# Local-p predicts it from the decoder state: $p = S\,\sigma\big(v_p^\top \tanh(W_p s)\big)$. Here
# $\sigma$ is the logistic function and $S$ the number of words *in that sentence*. `s` is `(B, d)`,
# `W_p` `(d_p, d)`, `v_p` `(d_p,)`, and `lengths` `(B,)` holds whole numbers. Return the centres
# `(B,)`. Gradients must flow through them.


# %% question="q2"
def predicted_centre(s, W_p, v_p, lengths):
    # BEGIN ANSWER
    z = torch.tanh(s @ W_p.T) @ v_p
    return lengths * torch.sigmoid(z)
    # END ANSWER


# %% check="q2"
with checking("q2"):
    s, W_p = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    v_p, lengths = torch.tensor([0.5, 1.0]), torch.tensor([10, 4])
    centres = predicted_centre(s, W_p, v_p, lengths)
    assert centres is not None, "predicted_centre returns None: is there a return?"
    assert isinstance(centres, torch.Tensor), f"return a tensor, not a {type(centres).__name__}"
    assert centres.shape == (2,), f"one centre for each sentence, (2,), not {tuple(centres.shape)}"
    by_hand = torch.tensor([7.239, 2.473])
    assert torch.allclose(centres, by_hand, atol=1e-3), (
        f"by hand {by_hand.tolist()}, not {centres.tolist()}"
    )
    same_precision(predicted_centre, s, W_p, v_p, lengths)

# %% [markdown]
# ## The weights
#
# The `scores` `(B, S)` are there already, also for pads and for words outside the window. Those
# numbers mean nothing, and may even be NaN. Given the centres `(B,)`, the half-width `D`, which is at
# least 1, and `lengths` `(B,)`, compute
#
# 1. a softmax over the words in the window alone,
# 2. times $\exp\big(-(i - p)^2 / 2\sigma^2\big)$ with $\sigma = D/2$. As in the paper, rows are
#    *not* made to sum to 1 again.
#
# Everything else gets exactly 0. A window that holds no word gives a row of zeros. Return the
# weights `(B, S)`. Gradients must flow to the scores and to the centres.


# %% question="q3"
def local_weights(scores, centres, D, lengths):
    # BEGIN ANSWER
    places = torch.arange(scores.shape[1])
    away = places - centres[:, None]
    seen = (away.abs() <= D) & (places < lengths[:, None])
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~seen, lowest).softmax(1)
    near = torch.exp(-(away**2) / (2 * (D / 2) ** 2))
    return (weights * near).masked_fill(~seen, 0.0)
    # END ANSWER


# %% check="q3"
with checking("q3"):
    scores = torch.tensor([[0.0, 0.0, math.log(3.0), 9.0, 9.0]])
    centres, lengths = torch.tensor([1.0]), torch.tensor([4])
    weights = local_weights(scores, centres, 1, lengths)
    assert weights is not None, "local_weights returns None: is there a return?"
    assert isinstance(weights, torch.Tensor), f"return a tensor, not a {type(weights).__name__}"
    assert weights.shape == (1, 5), f"(B, S) is (1, 5), not {tuple(weights.shape)}"
    by_hand = torch.tensor([[0.2 * math.exp(-2), 0.2, 0.6 * math.exp(-2), 0.0, 0.0]])
    assert torch.allclose(weights, by_hand), f"by hand {by_hand.tolist()}, not {weights.tolist()}"
    beside = local_weights(scores, torch.tensor([8.0]), 1, lengths)
    assert not beside.any(), f"nothing is in that window: zeros, not {beside.tolist()}"
    same_precision(local_weights, scores, centres, 1, lengths)

# %% [markdown]
# ## The context, and nothing else touched
#
# Now do it without a score for every word. `query` is `(B, d)`, `keys` is `(B, S, d)`, and `values`
# is `(B, S, d_v)`; the score is the dot product. Compute local-p's context `(B, d_v)` from the words
# in the windows *alone*: gather at most `4 * D + 2` positions of each sentence, twice what a window can
# hold. Score these, weight them as above, and mix their values. `D` is at least 1. An empty window gives
# zeros.
#
# Keys and values outside the windows may be NaN: a sum or a product with one is NaN, even with a weight of 0. Do not
# clean them first either: in long sentences the grader counts the numbers that you compute from
# `keys` and `values`.


# %% question="q4"
def gathered_context(query, keys, values, centres, D, lengths):
    # BEGIN ANSWER
    first = torch.ceil(centres.detach() - D).long()
    places = first[:, None] + torch.arange(2 * D + 1)
    away = places - centres[:, None]
    seen = (places >= 0) & (places < lengths[:, None]) & (away <= D)
    # What is not in the window is read from its last word, and gets no weight.
    last = torch.floor(centres.detach() + D).long()
    held = torch.minimum(places, torch.minimum(last, lengths - 1)[:, None]).clamp(min=0)
    rows = torch.arange(len(query))[:, None]
    near_keys = keys[rows, held].masked_fill(~seen[..., None], 0.0)
    near_values = values[rows, held].masked_fill(~seen[..., None], 0.0)
    scores = (near_keys * query[:, None]).sum(-1)
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(1)
    weights = weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2)) * seen
    return (weights[..., None] * near_values).sum(1)
    # END ANSWER


# %% check="q4"
with checking("q4"):
    nan = math.nan
    keys = torch.tensor([[[nan], [0.0], [0.0], [0.0], [nan], [nan]]])
    values = torch.tensor([[[nan], [1.0], [10.0], [100.0], [nan], [nan]]])
    query, centres, lengths = torch.tensor([[2.0]]), torch.tensor([2.0]), torch.tensor([5])
    context = gathered_context(query, keys, values, centres, 1, lengths)
    assert context is not None, "gathered_context returns None: is there a return?"
    assert isinstance(context, torch.Tensor), f"return a tensor, not a {type(context).__name__}"
    assert context.shape == (1, 1), f"(B, d_v) is (1, 1), not {tuple(context.shape)}"
    assert not context.isnan(), "a NaN from outside the window reached your result"
    by_hand = (10 + 101 * math.exp(-2)) / 3
    assert abs(context.item() - by_hand) < 1e-3, f"by hand {by_hand:.3f}, not {context.item():.3f}"
    same_precision(gathered_context, query, keys, values, centres, 1, lengths)

# %% [markdown]
# ## How many layers?
#
# `mask` `(n, n)` is a pattern of self-attention: True where position $i$ may attend to position
# $j$. All layers have the same pattern, and a residual connection keeps what a position has. Return
# the smallest number of layers after which each position can have been influenced by every other,
# and −1 if no number is enough. A single position needs 0 layers. Where `causal` is True, the mask is
# already False wherever $j > i$, and a position need only be influenced by those before it. There may
# be some fifty positions: to read a tensor's entries one by one, in three nested loops, then takes too
# long. (`mask.tolist()` gives lists, which are quick to read.)


# %% question="q5"
def layers_needed(mask, causal):
    # BEGIN ANSWER
    n = len(mask)
    step = mask | torch.eye(n, dtype=torch.bool)
    wanted = torch.ones(n, n, dtype=torch.bool)
    if causal:
        wanted = wanted.tril()
    heard, layers = torch.eye(n, dtype=torch.bool), 0
    while not heard[wanted].all():
        more = (step.double() @ heard.double()) > 0
        if torch.equal(more, heard):
            return -1
        heard, layers = more, layers + 1
    return layers
    # END ANSWER


# %% check="q5"
with checking("q5"):
    chain = torch.ones(4, 4, dtype=torch.bool).tril(1).triu(-1)
    found = layers_needed(chain, False)
    assert found is not None, "layers_needed returns None: is there a return?"
    assert found == 3, f"with neighbours alone it takes 3 layers from 0 to 3, not {found}"
    assert layers_needed(chain.tril(), True) == 3, "looking back only, it takes 3 as well"
    apart = torch.eye(4, dtype=torch.bool)
    assert layers_needed(apart, False) == -1, "nobody hears of anybody: -1"

# %% [markdown]
# ## How wide must the window be?
#
# Gold links tell, and nothing needs to be trained. `pairs` is a list of `(links, S, T)`, one for
# each sentence pair: its links as a list of `(i, t)`, source position and target position, and its
# numbers of words `S` and `T`. Put the links of all pairs together. What is the smallest whole
# number $D \ge 0$ such that $|i - p_t| \le D$ for at least the share `share` of them? Answer for
# two centres, and return two numbers: first for $p_t = t$, then for $p_t = t\,S/T$.


# %% question="q6"
def widths(pairs, share):
    # BEGIN ANSWER
    found = []
    for scaled in (False, True):
        away = [abs(i - (t * S / T if scaled else t)) for links, S, T in pairs for i, t in links]
        D = 0
        while sum(x <= D for x in away) / len(away) < share:
            D += 1
        found.append(D)
    return tuple(found)
    # END ANSWER


# %% check="q6"
with checking("q6"):
    short, long = ([(0, 0), (1, 1), (1, 3)], 2, 4), ([(0, 0), (3, 1), (2, 2), (7, 3)], 8, 4)
    found = widths([short, long], 0.5)
    assert found is not None, "widths returns None: is there a return?"
    assert len(found) == 2, "return two numbers: for the plain centre, and for the scaled one"
    assert tuple(found) == (0, 1), f"half of the seven links: (0, 1), not {tuple(found)}"
    assert tuple(widths([short, long], 1.0)) == (4, 2), "all of them: (4, 2)"

# %% [markdown]
# ## What to keep
#
# A window is a choice of positions before it is a choice of weights. To multiply a
# position by zero, you have to read it.
