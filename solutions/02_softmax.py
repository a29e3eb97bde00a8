# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 55
#     covers: [F-03, F-04, F-34, M-12]
# ---

# %% [markdown]
# # Exercise 2: softmax, temperature, masks
#
# Write the step that every attention shares: scores become weights. Then use it to pool a sentence,
# and drop some of it in training. The chapter is
# [Soft addressing](../chapters/02_soft_addressing.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. (You need not read it.) The check
# tries small numbers. Grading tries many more: other sizes, padding, extreme scores, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors of the same precision as those that come in, not lists
#   or NumPy arrays. `seqattn` is the answer key, so importing it in an answer earns nothing.
# - In a mask, True means *may be attended*.
# - Do not change the tensors that you are given: the caller still needs them.
# - Gradients flow through every result that has one: no detach, no NumPy on the way.
#
# Save the notebook first. To check in a terminal: `seqattn check 02_softmax.ipynb`. For points and hints:
# `seqattn grade 02_softmax.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision, tells_apart

# %% [markdown]
# ## Softmax with a temperature
#
# For one sentence with scores $e_i$ and a temperature $\tau > 0$ the weight of word $i$ is
#
# $$\alpha_i = \frac{\exp(e_i / \tau)}{\sum_j \exp(e_j / \tau)}.$$
#
# Write it for `scores` of shape `(B, S)`, with one row for each sentence; `temperature` is a number.
# Scores of several thousand, of either sign, must do no harm. Gradients must flow back to the scores.
#
# In this question, and only here, write it from `exp` or `logsumexp`: `softmax`, `log_softmax` and
# `nn.Softmax` may not be used, nor anything that computes a softmax inside.


# %% question="q1"
def softmax(scores, temperature):
    # BEGIN ANSWER
    z = scores / temperature
    # Shifting a row by a constant changes no weight; now the largest exponent is 0.
    raised = (z - z.amax(-1, keepdim=True)).exp()
    return raised / raised.sum(-1, keepdim=True)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    weights = softmax(torch.tensor([[2.0, 1.0, 0.0], [5.0, 5.0, 5.0]]), 1.0)
    assert weights is not None, "softmax returns None: is there a return?"
    assert weights.shape == (2, 3), f"weights are shaped like scores, not {tuple(weights.shape)}"
    assert torch.allclose(weights.sum(-1), torch.ones(2)), (
        f"rows must sum to 1, not {weights.sum(-1)}"
    )
    sharp, flat = (
        softmax(torch.tensor([[2.0, 1.0]]), 0.1),
        softmax(torch.tensor([[2.0, 1.0]]), 10.0),
    )
    assert sharp[0, 0] > 0.99, "a low temperature gives the larger score almost everything"
    assert flat[0, 0] < 0.55, "a high temperature makes the weights almost equal"
    same_precision(softmax, torch.tensor([[2.0, 1.0]]), 1.0)

# %% [markdown]
# ## Who may look where
#
# A mask says who may look where: True where row $t$ may attend to column $i$. It combines two
# conditions. **Padding**: sentence $b$ has `lengths[b]` words, and no row may look at what comes
# after them. **No look ahead**: if `causal` is True, row $t$ may look only at columns $0, \dots, t$,
# itself included.
#
# `lengths` is an integer tensor `(B,)`; some lengths may be 0, though never all. With $S$ the
# largest, return the mask as a boolean tensor `(B, S, S)`. Every row follows the same rule, rows of
# pads included.


# %% question="q2"
def attention_mask(lengths, causal):
    # BEGIN ANSWER
    position = torch.arange(int(lengths.max()))
    real = position < lengths[:, None]
    mask = real[:, None, :].expand(-1, len(position), -1)
    if causal:
        mask = mask & (position <= position[:, None])
    return mask
    # END ANSWER


# %% check="q2"
with checking("q2"):
    mask = attention_mask(torch.tensor([3, 1]), False)
    assert mask is not None, "attention_mask returns None: is there a return?"
    assert isinstance(mask, torch.Tensor), "return a tensor"
    assert mask.dtype == torch.bool, f"True and False are asked for, not {mask.dtype}"
    assert mask.shape == (2, 3, 3), f"(B, S, S) is (2, 3, 3), not {tuple(mask.shape)}"
    assert mask[0].all(), "sentence 1 has no pads: all may look everywhere"
    assert mask[1, :, 0].all() and not mask[1, :, 1:].any(), "sentence 2 has one word, and two pads"
    first = attention_mask(torch.tensor([3, 1]), True)[0]
    assert first[2].all() and not first[0, 1:].any(), "causal: row t looks at columns 0 to t"

# %% [markdown]
# ## Pooling a sentence
#
# A classifier needs one vector for a whole sentence. Score each state by its dot product with a
# learned vector, turn the scores into weights, and mix: with `states` `(B, S, d)`, `w` `(d,)` and a
# padding mask `(B, S)`,
#
# $$a_i = \mathrm{softmax}_i(h_i \cdot w), \qquad r = \sum_i a_i h_i,$$
#
# return `r`, of shape `(B, d)`. Every sentence has at least one word; pads may stand at either end.
# **The padding holds garbage**, left over from whatever was in memory: large numbers, infinity, NaN.
# It must not matter. (A weight of 0 does not help against NaN: what is 0 times NaN?) Gradients must
# reach `states` and `w`.


# %% question="q3"
def attention_pool(states, w, mask):
    # BEGIN ANSWER
    # A weight of 0 does not silence NaN, so the pads get something finite.
    states = states.masked_fill(~mask[:, :, None], 0.0)
    scores = (states @ w).masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return (weights[:, None, :] @ states).squeeze(1)
    # END ANSWER


# %% check="q3"
with checking("q3"):
    states = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [99.0, 99.0]]])
    w, mask = torch.tensor([2.0, 2.0]), torch.tensor([[True, True, False]])
    mixed = attention_pool(states, w, mask)
    assert mixed is not None, "attention_pool returns None: is there a return?"
    assert mixed.shape == (1, 2), f"one vector of two numbers: (1, 2), not {tuple(mixed.shape)}"
    assert mixed.max() < 50, "the third word is a pad: its 99 must not reach the result"
    assert torch.allclose(mixed, torch.tensor([[0.5, 0.5]])), (
        "two words with equal scores: half of each"
    )
    same_precision(attention_pool, states, w, mask)

# %% [markdown]
# ## Dropping weights
#
# Attention dropout removes some weights in training, so that a model cannot lean on one word. To
# keep it testable, the random numbers come from outside: `coins` is shaped like `weights`, with
# entries between 0 and 1. `p` is 0 or more, and less than 1.
#
# - In training a weight stays where its coin is at least `p`, and becomes 0 elsewhere. What stays is
#   divided by `1 - p`, so that the average does not change. Rows need not sum to 1 afterwards.
# - When `training` is False the weights come back unchanged.


# %% question="q4"
def drop_weights(weights, p, training, coins):
    # BEGIN ANSWER
    if not training:
        return weights
    return weights * (coins >= p) / (1 - p)
    # END ANSWER


# %% check="q4"
with checking("q4"):
    weights, coins = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.9, 0.1, 0.6]])
    kept = drop_weights(weights, 0.5, True, coins)
    assert kept is not None, "drop_weights returns None: is there a return?"
    assert kept.shape == (1, 3), f"weights keep their shape, (1, 3), not {tuple(kept.shape)}"
    assert kept[0, 1] == 0, "the second coin is below p: that weight goes"
    assert (kept[0, [0, 2]] > 0).all(), (
        "the first and the third coin are above p: those weights stay"
    )
    assert torch.equal(drop_weights(weights, 0.5, False, coins), weights), (
        "evaluation drops nothing"
    )
    same_precision(drop_weights, weights, 0.5, True, coins)
    same_precision(drop_weights, weights, 0.5, False, coins)

# %% [markdown]
# ## By hand
#
# A sentence has two words, with the scores 4 and 2. At which temperature does the first get the weight
# 0.9 and the second 0.1? Work it out on paper, and write the number to two decimals.
# ($\log 9 \approx 2.197$.)

# %% question="q5"
# BEGIN ANSWER stub: temperature_by_hand = None
temperature_by_hand = 0.91
# END ANSWER

# %% check="q5"
with checking("q5"):
    if temperature_by_hand is None:
        raise NotImplementedError("write a number: temperature_by_hand = ...")
    assert not isinstance(temperature_by_hand, str), "a number, without quotation marks"
    temperature = torch.as_tensor(temperature_by_hand, dtype=torch.float64).item()
    assert temperature > 0, "temperatures are positive"

# %% [markdown]
# ## A test that finds the broken ones
#
# This time write not a softmax but a test of one. `check_masked_softmax` gets a function, which it
# calls as `masked_softmax(scores, mask)`, with `scores` and a boolean `mask` of shape `(B, S)`. The
# test stays silent if the function is right and fails with `assert` if it is not, as a pytest test
# does. It returns nothing. What must a right function do?
#
# - Each row of the result, also `(B, S)`, is the softmax of the row's scores where the mask is True, and
#   0 where it is False. A row without any True is all 0.
# - Scores may be in the tens of thousands, of either sign, at pads too. Pads may stand anywhere.
# - The result depends on these two arguments alone, and both are left as they are.
#
# Grading tries your test on right functions, written in several ways, and on broken ones, many with
# bugs that projects have shipped. All have the same name, none has source code to read, and they come
# in any order. The broken functions come in three groups: a test earns a group's points if it
# refuses all of the group and no right function. Right functions may differ in their last digits: leave them some room, as
# `torch.allclose` does. You may use random numbers if your test gives the same verdict with all of
# them.


# %% question="q6"
def check_masked_softmax(masked_softmax):
    # BEGIN ANSWER
    mask = torch.tensor([[True, True, False], [False, True, True], [False, False, False]])
    for scores in (
        torch.tensor([[2.0, 1.0, 0.0], [3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]),
        # Pads that stand far above the words, and words far below zero.
        torch.tensor([[2.0, 1.0, 90.0], [90.0, 1.0, 2.0], [1.0, 2.0, 3.0]]),
        torch.tensor([[-2e4, -2e4, 0.0], [0.0, -2e4, -2e4], [1.0, 2.0, 3.0]]),
        torch.tensor([[2e4, 2e4, 0.0], [0.0, 2e4, 2e4], [1.0, 2.0, 3.0]]),
    ):
        # The same shape with another mask, and a batch of one.
        for rows in ([0, 1, 2], [2, 1, 0], [1]):
            given, real = scores[rows], mask[rows]
            expected = torch.zeros_like(given)
            for row, e, words in zip(expected, given, real):
                row[words] = torch.softmax(e[words], 0)  # the words alone, without a mask
            weights = masked_softmax(given, real)
            assert weights.shape == given.shape, f"{weights.shape} for {given.shape}"
            assert torch.equal(given, scores[rows]), "the scores were changed"
            assert torch.allclose(weights, expected, atol=1e-5), f"{weights} is not {expected}"
    # END ANSWER


# %% check="q6"
with checking("q6"):

    def by_rows(scores, mask):
        rows = []
        for row, real in zip(scores, mask):
            words = torch.softmax(row[real], 0)
            rows.append(torch.zeros_like(row).masked_scatter(real, words))
        return torch.stack(rows)

    def the_mask_is_never_used(scores, mask):
        return torch.softmax(scores, -1)

    tells_apart(check_masked_softmax, by_rows, the_mask_is_never_used)

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then let the temperature of the first question go towards 0
# and towards infinity, and say what the weights become.
