# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-18, F-19, F-24, M-20, M-23, X-04]
# ---

# %% [markdown]
# # Exercise: reading attention maps
#
# How spread out is a row of weights? What has been looked at already? Do the weights align words as
# people do? Write the measures, and then use them: what becomes of a small translator's attention
# when sentences get long?
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, zeros, extreme rows, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors, not lists or NumPy arrays. `seqattn` is the answer
#   key, so importing it in an answer earns nothing.
# - `weights` is `(B, T, S)` throughout: a row for each of `T` steps, which sums to 1 over `S` words.
#
# To check in a terminal: `seqattn check 08_reading_maps.ipynb`. For points and hints:
# `seqattn grade 08_reading_maps.ipynb`. In a notebook cell, put an exclamation mark in front.

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
# ## Entropy of a row
#
# $H_t = -\sum_i \alpha_{ti} \ln \alpha_{ti}$, in nats, with $0 \ln 0 = 0$. Return `(B, T)`. Gradients
# must flow back to the weights.


# %% question="q1"
def entropy(weights):
    # BEGIN ANSWER
    return torch.special.entr(weights).sum(dim=-1)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    rows = torch.tensor([[[0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0]]])
    H = entropy(rows)
    assert H is not None, "entropy returns None: is there a return?"
    assert H.shape == (1, 2), f"a number for each row: (1, 2), not {tuple(H.shape)}"
    assert not H.isnan().any(), "0 · log 0 counts as 0"
    assert abs(H[0, 0] - math.log(4)) < 1e-4, f"four equal weights: log 4 = 1.39, not {H[0, 0]:.2f}"
    assert abs(H[0, 1]) < 1e-4, f"all weight on one word: 0, not {H[0, 1]:.2f}"

# %% [markdown]
# ## Effective positions
#
# On how many words does a row look, in effect? $N_t = e^{H_t}$: 1 for a row with all weight on one
# word, $S$ for a uniform one. Return `(B, T)`. `entropy` is at hand; for grading a right version of
# it is, whatever yours does.


# %% question="q2"
def effective_positions(weights):
    # BEGIN ANSWER
    return entropy(weights).exp()
    # END ANSWER


# %% check="q2"
with checking("q2"):
    N = effective_positions(rows)
    assert N is not None, "effective_positions returns None: is there a return?"
    assert N.shape == (1, 2), f"a number for each row: (1, 2), not {tuple(N.shape)}"
    assert abs(N[0, 0] - 4) < 1e-3, f"four equal weights: 4, not {N[0, 0]:.2f}"

# %% [markdown]
# ## Coverage
#
# What has been looked at before step $t$? $c_{ti} = \sum_{u < t} \alpha_{ui}$. Return `(B, T, S)`.


# %% question="q3"
def coverage(weights):
    # BEGIN ANSWER
    return weights.cumsum(dim=1) - weights
    # END ANSWER


# %% check="q3"
with checking("q3"):
    steps = torch.tensor([[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]])
    seen = coverage(steps)
    assert seen is not None, "coverage returns None: is there a return?"
    assert seen.shape == (1, 3, 2), f"shaped like the weights, (1, 3, 2), not {tuple(seen.shape)}"
    assert (seen[0, 0].abs() < 1e-6).all(), "before the first step nothing has been looked at"
    assert torch.allclose(seen[0, 2], torch.tensor([1.4, 0.6])), (
        f"by hand 1.4 and 0.6, not {seen[0, 2]}"
    )

# %% [markdown]
# ## The coverage loss
#
# Looking again at what was covered costs: at step $t$, $\sum_i \min(\alpha_{ti}, c_{ti})$, with the
# coverage before the step. Return the mean over all steps of all sentences, one number as a tensor.
# Gradients must flow back to the weights, through the coverage as well. `coverage` is at hand.


# %% question="q4"
def coverage_loss(weights):
    # BEGIN ANSWER
    return torch.minimum(weights, coverage(weights)).sum(dim=-1).mean()
    # END ANSWER


# %% check="q4"
with checking("q4"):
    loss = coverage_loss(steps)
    assert loss is not None, "coverage_loss returns None: is there a return?"
    assert loss.shape == (), f"one number, not of shape {tuple(loss.shape)}"
    assert abs(loss - (0 + 0.6 + 0.8) / 3) < 1e-4, (
        f"by hand (0 + 0.6 + 0.8) / 3 = 0.47, not {loss:.2f}"
    )

# %% [markdown]
# ## Alignment error rate
#
# Links are pairs (source position, target position), counted from 0. People marked some as sure,
# $S$, and some as possible; every sure link is possible, too, but the list `possible` may leave the
# sure ones out. With the predicted links $A$,
#
# $$\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}, \qquad P \supseteq S.$$
#
# All three arguments are lists of pairs; a link may occur in `predicted` more than once and counts
# once. Neither `predicted` nor `sure` is empty. Return a number.


# %% question="q5"
def alignment_error_rate(predicted, sure, possible):
    # BEGIN ANSWER
    a, s = set(predicted), set(sure)
    p = set(possible) | s
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))
    # END ANSWER


# %% check="q5"
with checking("q5"):
    rate = alignment_error_rate([(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 1)])
    assert rate is not None, "alignment_error_rate returns None: is there a return?"
    assert abs(rate) < 1e-6, f"all that is sure and nothing else: 0, not {rate:.2f}"
    rate = alignment_error_rate([(0, 0), (0, 1)], [(0, 0), (1, 1)], [(0, 1)])
    assert abs(rate - 0.25) < 1e-6, f"by hand 1 - (1 + 2) / 4 = 0.25, not {rate:.2f}"

# %% [markdown]
# ## By hand
#
# Without a computer: sure links (0, 0), (1, 2), (2, 1); listed as possible besides (1, 1), (3, 2);
# predicted (0, 0), (1, 2), (1, 1), (3, 3). Which alignment error rate is that? Write a number, to two
# decimals.

# %% question="q6"
# BEGIN ANSWER stub: error_rate_by_hand = None
error_rate_by_hand = 0.29
# END ANSWER

# %% check="q6"
with checking("q6"):
    assert error_rate_by_hand is not None, "write a number: error_rate_by_hand = ..."
    assert 0 <= error_rate_by_hand <= 1, "a share lies between 0 and 1"

# %% [markdown]
# ## Measured: long sentences
#
# An experiment. Below is a translator that is as small as they get: it translates word for word, with
# attention by position, and learns from sentences of 5 to 30 words which position to look at. What
# becomes of its attention, and of its words, in sentences that are longer than any it has seen?
#
# `translate(length)` gives the map `(length, length)`, the words that it predicts and the right ones,
# for a new random sentence. (Any other translator will do as well: the trained one of the course,
# say.)
#
# 1. Translate at least 20 sentences in each of three bins: 5–10, 20–30 and 50–100 source words.
# 2. **Save the evidence**: one file `lengths.npz` beside this notebook, written by `np.savez` or
#    `np.savez_compressed`, with the arrays `weights` (sentences, steps, words), filled up with zeros
#    where a sentence is shorter; `source_length` and `target_length`, one number a sentence;
#    `predicted` and `gold` (sentences, steps), filled up with anything.
# 3. **Write the table**: for each bin the mean entropy in nats, over all rows of all its sentences
#    together, and the share of words that are right, over all words together; to two decimals.
#
# The grader computes the table again from your file. It allows 1 % (or 0.006). Hand in both files.

# %%
WORDS, SIZE = 40, 32
torch.manual_seed(0)
lexicon = torch.randperm(WORDS)


def positions(length):
    """Sines and cosines of several wavelengths for each position."""
    angle = torch.arange(length)[:, None] / 100 ** (torch.arange(0, SIZE, 2) / SIZE)
    return torch.cat([angle.sin(), angle.cos()], dim=1)


embed, read = nn.Embedding(WORDS, SIZE), nn.Linear(SIZE, WORDS)
compare = nn.Linear(SIZE, SIZE, bias=False)
optimizer = torch.optim.Adam([*embed.parameters(), *read.parameters(), *compare.parameters()], 0.01)


def run(source):
    where = positions(source.shape[1])
    states = embed(source)
    scores = compare(where) @ (where + states).transpose(1, 2) / math.sqrt(SIZE)
    weights = torch.softmax(scores, dim=-1)
    return weights, read(weights @ states)


for _ in range(150):
    source = torch.randint(WORDS, (32, int(torch.randint(5, 31, ()))))
    loss = F.cross_entropy(run(source)[1].flatten(0, 1), lexicon[source].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def translate(length):
    source = torch.randint(WORDS, (1, length))
    weights, logits = run(source)
    return weights[0], logits[0].argmax(-1), lexicon[source[0]]


# %%
# BEGIN ANSWER stub: # Your experiment goes here: translate, measure, save.
count, longest = 25, 100
evidence = {
    "weights": np.zeros((3 * count, longest, longest), np.float32),
    "predicted": np.zeros((3 * count, longest), np.int64),
    "gold": np.zeros((3 * count, longest), np.int64),
    "source_length": np.zeros(3 * count, np.int64),
}
measured, n = {}, 0
for low, high in ((5, 10), (20, 30), (50, 100)):
    entropies, right = [], []
    for _ in range(count):
        length = int(torch.randint(low, high + 1, ()))
        weights, predicted, gold = translate(length)
        evidence["weights"][n, :length, :length] = weights
        evidence["predicted"][n, :length], evidence["gold"][n, :length] = predicted, gold
        evidence["source_length"][n] = length
        entropies.append(torch.special.entr(weights).sum(-1))
        right.append((predicted == gold).double())
        n += 1
    mean = float(torch.cat(entropies).mean()), float(torch.cat(right).mean())
    measured[f"{low}-{high}"] = tuple(round(x, 2) for x in mean)
np.savez_compressed("lengths.npz", target_length=evidence["source_length"], **evidence)
# END ANSWER

# %% question="q7"
# BEGIN ANSWER stub: by_length = None  # {"5-10": (..., ...), "20-30": (..., ...), "50-100": (..., ...)}
by_length = {"5-10": (1.22, 0.98), "20-30": (1.94, 0.72), "50-100": (3.6, 0.31)}
# END ANSWER

# %% check="q7"
with checking("q7"):
    assert by_length is not None, 'write the table: by_length = {"5-10": (..., ...), ...}'
    assert set(by_length) == {"5-10", "20-30", "50-100"}, f"three bins, not {set(by_length)}"
    assert all(0 <= right <= 1 for _, right in by_length.values()), "a share lies between 0 and 1"

# %% [markdown]
# ## What next
#
# `seqattn grade` tells your points. Then draw one map of each bin, and say where the long ones go
# wrong: do they look at the wrong place, or at no place in particular?
