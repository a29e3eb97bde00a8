# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [M-01, F-05, F-06]
# ---

# %% [markdown]
# # Exercise 3: additive attention
#
# Write additive attention yourself, from the score of one word to a module that learns, with masks
# that hold. The chapter is [Additive attention](../chapters/03_additive.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, padding, extreme scores, gradients.
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
# Save the notebook first. To check in a terminal: `seqattn check 03_additive.ipynb`. For points and hints:
# `seqattn grade 03_additive.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.data import TINY
from seqattn.grading import checking, same_precision

# %% [markdown]
# ## The additive score
#
# For one sentence, decoder state $s$ and encoder states $h_i$, the score of position $i$ is
# $e_i = v^\top \tanh(W_q\, s + W_k\, h_i)$.
#
# Write it for a batch, without a loop. In training each sentence has one decoder state at a time. A search
# tries `K` translations of each sentence side by side, and each of these has a state of its own. So
# `query` has `K` rows for each sentence: the `K` of the first sentence, then the `K` of the second, and so on.
# The keys are not repeated:
#
# | argument | shape |
# |---|---|
# | `query` | `(B * K, d_q)` |
# | `keys` | `(B, S, d_k)` |
# | `W_q` | `(d_a, d_q)` |
# | `W_k` | `(d_a, d_k)` |
# | `v` | `(d_a,)` |
# | returns scores | `(B * K, S)` |
#
# Row by row, each query scores the words of its own sentence. `K` follows from the shapes, and may be 1, as
# it is in the questions below. The sizes `d_q`, `d_k` and `d_a` may all differ, and so may `B`, `K` and `S`.
# Gradients must flow back to all five arguments.


# %% question="q1"
def additive_score(query, keys, W_q, W_k, v):
    # BEGIN ANSWER
    q = (query @ W_q.T).unflatten(0, (len(keys), -1))  # (B, K, d_a)
    k = keys @ W_k.T  # (B, S, d_a)
    scores = torch.tanh(q[:, :, None] + k[:, None]) @ v  # (B, K, S)
    return scores.flatten(0, 1)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    scores = additive_score(TINY.query, TINY.keys, TINY.W_q, TINY.W_k, TINY.v)
    assert scores is not None, "additive_score returns None: is there a return?"
    assert scores.shape == (1, 3), f"one sentence, three keys: (1, 3), not {tuple(scores.shape)}"
    by_hand = torch.tensor([[0.88, 0.42, -0.29]], dtype=torch.float64)
    assert torch.allclose(scores, by_hand, atol=0.01), f"by hand they are {by_hand}, not {scores}"
    sizes = (6, 3), (2, 5, 7), (11, 3), (11, 7), (11,)
    six = additive_score(*[torch.ones(n) for n in sizes])
    assert six.shape == (6, 5), f"six queries, five keys: (6, 5), not {tuple(six.shape)}"
    # The second sentence is the first read backwards; each has two equal queries.
    turned = torch.cat([TINY.keys, TINY.keys.flip(1)])
    four = additive_score(TINY.query.repeat(4, 1), turned, TINY.W_q, TINY.W_k, TINY.v)
    assert torch.allclose(four[:2], by_hand, atol=0.01), (
        f"rows 1 and 2 score the first sentence: {by_hand} each, not {four[:2]}"
    )
    assert torch.allclose(four[2:], by_hand.flip(1), atol=0.01), (
        f"rows 3 and 4 score the second: {by_hand.flip(1)} each, not {four[2:]}"
    )
    ones = [torch.ones(n) for n in ((2, 3), (2, 5, 7), (11, 3), (11, 7), (11,))]
    same_precision(additive_score, *ones)

# %% [markdown]
# ## Softmax with a mask
#
# Turn scores into weights. `scores` is `(B, S)`, and so is `mask`; True means that the position may
# be attended. Four promises:
#
# 1. where the mask is False the weight is exactly 0;
# 2. the other weights of a row are positive, as far as floating point goes, and sum to 1;
# 3. scores of several thousand, of either sign, do no harm, and those of masked positions may be
#    anything: far above the others, infinite, NaN;
# 4. a row in which nothing may be attended gives **zeros**, not NaN.
#
# Gradients must flow back to the scores.


# %% question="q2"
def masked_softmax(scores, mask):
    # BEGIN ANSWER
    scores = scores.masked_fill(~mask, -torch.inf)
    largest = scores.amax(-1, keepdim=True)
    # A row with nothing to attend has no largest score; 0 keeps infinities from meeting.
    largest = largest.masked_fill(largest == -torch.inf, 0.0)
    raised = (scores - largest).exp()
    total = raised.sum(-1, keepdim=True)
    return raised / total.masked_fill(total == 0, 1.0)
    # END ANSWER


# %% check="q2"
with checking("q2"):
    mask = torch.tensor([[True, True, False], [True, True, True]])
    scores = torch.tensor([[1.0, 0.0, 2.0], [5.0, 5.0, 5.0]])
    weights = masked_softmax(scores, mask)
    assert weights is not None, "masked_softmax returns None: is there a return?"
    assert weights.shape == (2, 3), f"weights are shaped like scores, not {tuple(weights.shape)}"
    assert weights[0, 2] == 0, f"the third position of row 1 is masked, and got {weights[0, 2]:.3f}"
    assert torch.allclose(weights.sum(-1), torch.ones(2)), (
        f"rows must sum to 1, not {weights.sum(-1)}"
    )
    assert torch.allclose(weights[1], torch.full((3,), 1 / 3)), "equal scores give equal weights"
    same_precision(masked_softmax, scores, mask)

# %% [markdown]
# ## The context
#
# Put the two together. From query, keys and a padding mask `(B, S)` compute the weights, and the
# **context**: the weighted sum of the keys, of shape `(B, d_k)`. Return both, context first. The
# padding holds garbage, NaN and infinity included, which must not matter. Pads may stand at either
# end, and a sentence may be nothing but pads. Gradients must reach all arguments but the mask, and
# must be finite.
#
# You may call `additive_score` and `masked_softmax`; grading supplies right versions of them,
# whatever yours do.


# %% question="q3"
def attend(query, keys, mask, W_q, W_k, v):
    # BEGIN ANSWER
    # A weight of 0 does not silence NaN, so the pads get something finite.
    keys = keys.masked_fill(~mask[:, :, None], 0.0)
    weights = masked_softmax(additive_score(query, keys, W_q, W_k, v), mask)
    context = (weights[:, None, :] @ keys).squeeze(1)
    return context, weights
    # END ANSWER


# %% check="q3"
with checking("q3"):
    pair = attend(TINY.query, TINY.keys, torch.ones(1, 3).bool(), TINY.W_q, TINY.W_k, TINY.v)
    assert isinstance(pair, tuple | list) and len(pair) == 2, "return two things: context, weights"
    context, weights = pair
    assert context.shape == (1, 2), (
        f"one context of two numbers: (1, 2), not {tuple(context.shape)}"
    )
    assert weights.shape == (1, 3), f"a weight for each word: (1, 3), not {tuple(weights.shape)}"
    by_hand = torch.tensor([[0.43, 0.58]], dtype=torch.float64)
    assert torch.allclose(context, by_hand, atol=0.01), f"by hand it is {by_hand}, not {context}"
    ones = [torch.ones(n) for n in ((2, 3), (2, 5, 7), (11, 3), (11, 7), (11,))]
    same_precision(attend, *ones[:2], torch.ones(2, 5).bool(), *ones[2:])

# %% [markdown]
# ## How sharp can it get?
#
# Whatever the states and matrices, an additive score is bounded: each tanh lies between -1 and 1. So
# a model with a given $v$ cannot look at one word alone. Find the **largest weight** that one of `words`
# words can get, whatever the query, the keys and the two matrices are: a limit that no weight
# passes. `v` is `(d_a,)`; `words` is a number, 1 or more. Return a tensor without dimensions.
#
# Entries of `v` may be negative, and in the hundreds. The gradient must flow back to `v`.


# %% question="q4"
def sharpest(v, words):
    # BEGIN ANSWER
    # The best score is the sum of |v|, and the worst minus that.
    gap = 2 * v.abs().sum()
    return 1 / (1 + (words - 1) * torch.exp(-gap))
    # END ANSWER


# %% check="q4"
with checking("q4"):
    largest = sharpest(torch.tensor([1.0, -0.5]), 3)
    assert largest is not None, "sharpest returns None: is there a return?"
    assert isinstance(largest, torch.Tensor), "return a tensor, so that it has a gradient"
    assert largest.shape == (), f"a tensor without dimensions, not of shape {tuple(largest.shape)}"
    assert sharpest(torch.tensor([1.0, -0.5]), 1) == 1, "a word that is alone gets all the weight"
    assert sharpest(torch.zeros(2), 4) == 0.25, "if v is 0, all four words get the same"
    assert sharpest(torch.tensor([9.0, 9.0]), 2) > 0.99, "a long v can be sharp"
    same_precision(sharpest, torch.ones(2), 3)

# %% [markdown]
# ## A module that learns
#
# Write the class `AdditiveAttention(d_q, d_k, d_a)`, a subclass of `nn.Module`:
#
# - three parameters, `W_q` of shape `(d_a, d_q)`, `W_k` of shape `(d_a, d_k)` and `v` of shape
#   `(d_a,)`, made once, and **no** others (no bias: the formula has none);
# - `forward(query, keys, mask)` returns context and weights as in the third question;
# - the loss's gradient reaches all three.
#
# How you initialise the parameters is up to you, as long as the numbers are random, drawn anew for
# every module (so no seed in `__init__`), and the root mean square of each lies between 0.001 and 5. You may call `additive_score`, `masked_softmax`
# and `attend`.


# %% question="q5"
class AdditiveAttention(nn.Module):
    def __init__(self, d_q, d_k, d_a):
        super().__init__()
        # BEGIN ANSWER
        self.W_q = nn.Parameter(torch.randn(d_a, d_q) / math.sqrt(d_q))
        self.W_k = nn.Parameter(torch.randn(d_a, d_k) / math.sqrt(d_k))
        self.v = nn.Parameter(torch.randn(d_a) / math.sqrt(d_a))
        # END ANSWER

    def forward(self, query, keys, mask):
        # BEGIN ANSWER
        return attend(query, keys, mask, self.W_q, self.W_k, self.v)
        # END ANSWER


# %% check="q5"
with checking("q5"):
    module = AdditiveAttention(3, 4, 5)
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {"W_q": (5, 3), "W_k": (5, 4), "v": (5,)}, f"the parameters are {shapes}"
    context, weights = module(torch.randn(2, 3), torch.randn(2, 6, 4), torch.ones(2, 6).bool())
    assert context.shape == (2, 4), f"the context is (2, 4), not {tuple(context.shape)}"
    assert weights.shape == (2, 6), f"the weights are (2, 6), not {tuple(weights.shape)}"
    context.sum().backward()
    idle = [name for name, p in module.named_parameters() if p.grad is None]
    assert not idle, f"no gradient reaches {idle}"
    query, keys = torch.randn(2, 3), torch.randn(2, 6, 4)
    same_precision(module, query, keys, torch.ones(2, 6).bool())

# %% [markdown]
# ## By hand
#
# Without a computer: a sentence has two words and one pad. Their scores are 1, 0 and 2; the pad is
# the third. Which weights do the three positions get? Write three numbers, to two decimals.
# ($\exp(1) \approx 2.72$.)

# %% question="q6"
# BEGIN ANSWER stub: weights_by_hand = None
weights_by_hand = (0.73, 0.27, 0)
# END ANSWER

# %% check="q6"
with checking("q6"):
    if weights_by_hand is None:
        raise NotImplementedError("write three numbers: weights_by_hand = (..., ..., ...)")
    first, second, third = (float(x) for x in weights_by_hand)
    assert not any(isinstance(x, str) for x in weights_by_hand), "numbers, without quotation marks"
    assert third == 0, "a pad gets no weight at all"
    assert abs(first + second - 1) < 0.011, "the weights must sum to 1"
    assert first > second, "the larger score gets the larger weight"
    assert second > 0, "both words get some weight: exp of a score is never 0"

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then change something and watch it break: leave out the mask
# in your module, and add pads to a batch: how far do the contexts move?
