# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [D-16]
# ---

# %% [markdown]
# # Exercise 9: are weights explanations?
#
# Write the interventions and the measures of the debate yourself: deal weights out anew, erase them, say how
# far two rows are apart and whether two rankings agree, and find out how far *any* weights could move an
# answer. The chapter is [Are weights explanations?](../chapters/09_explanations.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, padding, ties, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn`, `math` and `np` are
#   there already.
# - Everything is plain PyTorch: return tensors of the same precision as those that come in. `seqattn` is the
#   answer key, so importing it in an answer earns nothing.
# - In a mask `(B, S)`, True is a real word. What stands at pads, even NaN, must not be read.
# - Do not change the tensors that you are given: the caller still needs them.
#
# Save the notebook first. To check in a terminal: `seqattn check 09_explanations.ipynb`. For points and hints:
# `seqattn grade 09_explanations.ipynb`. In a notebook cell, put an exclamation mark in front.

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
# ## Deal the weights out anew
#
# `weights` `(B, S)` are rows of attention weights. `draws` `(B, S)` are random numbers of any size, so that your answer
# has no dice of its own. Sort the real words of a sentence by their draws, the smallest first; the first real
# word then gets the weight of the first in that order, the second that of the second, and so on. Pads get
# exactly 0. Real words may stand anywhere in a row, not only on its left. Gradients flow through the weights.


# %% question="q1"
def deal_out(weights, mask, draws):
    # BEGIN ANSWER
    dealt = torch.zeros_like(weights)
    for b in range(len(weights)):
        real = mask[b].nonzero()[:, 0]
        dealt[b, real] = weights[b, real[draws[b, real].argsort()]]
    return dealt
    # END ANSWER


# %% check="q1"
with checking("q1"):
    weights = torch.tensor([[0.5, 0.3, 0.2, 0.0]])
    mask = torch.tensor([[True, True, True, False]])
    draws = torch.tensor([[0.9, 0.1, 0.4, 0.2]])
    dealt = deal_out(weights, mask, draws)
    assert dealt is not None, "deal_out returns None: is there a return?"
    assert isinstance(dealt, torch.Tensor), f"return a tensor, not a {type(dealt).__name__}"
    assert dealt.shape == (1, 4), f"(B, S) is (1, 4), not {tuple(dealt.shape)}"
    by_hand = torch.tensor([[0.3, 0.2, 0.5, 0.0]])
    assert torch.allclose(dealt, by_hand), f"by hand {by_hand.tolist()}, not {dealt.tolist()}"
    same_precision(deal_out, weights, mask, draws)

# %% [markdown]
# ## Erase the largest
#
# Take the `k` largest weights of each row away, and divide the others by their sum, so that the row sums to 1
# again. `k` is a whole number, 0 at least. Of equal weights the leftmost goes first. A row of which nothing is
# left is all zeros; so are pads. Gradients flow through the weights that are left.


# %% question="q2"
def erase(weights, mask, k):
    # BEGIN ANSWER
    own = weights.masked_fill(~mask, 0.0)
    order = own.masked_fill(~mask, -1.0).argsort(dim=-1, descending=True, stable=True)
    left = own * (order.argsort(-1) >= k)
    total = left.sum(-1, keepdim=True)
    return left / torch.where(total > 0, total, 1.0)
    # END ANSWER


# %% check="q2"
with checking("q2"):
    weights = torch.tensor([[0.1, 0.5, 0.4], [0.9, 0.1, 0.0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    left = erase(weights, mask, 1)
    assert left is not None, "erase returns None: is there a return?"
    assert isinstance(left, torch.Tensor), f"return a tensor, not a {type(left).__name__}"
    assert left.shape == (2, 3), f"(B, S) is (2, 3), not {tuple(left.shape)}"
    by_hand = torch.tensor([[0.2, 0.0, 0.8], [0.0, 1.0, 0.0]])
    assert torch.allclose(left, by_hand), f"by hand {by_hand.tolist()}, not {left.tolist()}"
    assert not erase(weights, mask, 3).any(), "nothing is left of three words: zeros"
    same_precision(erase, weights, mask, 1)

# %% [markdown]
# ## How far apart?
#
# Return for each sentence the Jensen–Shannon divergence between the rows $p$ of `first` and $q$ of `second`
# `(B, S)`, $\frac12 \sum p \ln(p/m) + \frac12 \sum q \ln(q/m)$ with $m = (p + q)/2$, as a *share* of the largest that is possible: a tensor `(B,)` with 0 for equal rows, and 1 for rows that have no
# word in common. A weight of 0 adds nothing to a sum. Gradients flow through both, and are numbers where a
# weight is 0, too. (Since rows come from a softmax, your gradient may differ from ours by one number for each whole
# row.)


# %% question="q3"
def apart(first, second, mask):
    # BEGIN ANSWER
    p, q = (torch.where(mask, w, 0.0) for w in (first, second))
    middle = (p + q) / 2

    def divergence(w):
        ratio = w / torch.where(middle > 0, middle, 1.0)
        return (w * torch.where(w > 0, ratio, 1.0).log()).sum(-1)

    return (divergence(p) + divergence(q)) / (2 * math.log(2))
    # END ANSWER


# %% check="q3"
with checking("q3"):
    first = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    second = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    share = apart(first, second, mask)
    assert share is not None, "apart returns None: is there a return?"
    assert isinstance(share, torch.Tensor), f"return a tensor, not a {type(share).__name__}"
    assert share.shape == (2,), f"(B,) is (2,), not {tuple(share.shape)}"
    by_hand = torch.tensor([1.0, 0.3113])
    assert torch.allclose(share, by_hand, atol=1e-4), f"by hand 1 and 0.3113, not {share.tolist()}"
    same_precision(apart, first, second, mask)

# %% [markdown]
# ## Do two rankings agree?
#
# `first` and `second` `(B, S)` hold two measures of each word, of any sign and size. For each sentence count over all
# pairs of its real words: plus 1 if both measures put the pair in the same order, minus 1 if in opposite
# orders, 0 if one of them (or both) finds the two equal. Return the sum over the number of *all* pairs, `(B,)`;
# for a sentence of one word 0. (This is Kendall's $\tau_a$, which divides by all pairs; the package's, in the chapter, divides by less where there are ties.)


# %% question="q4"
def agreement(first, second, mask):
    # BEGIN ANSWER
    def ways(x):
        x = torch.where(mask, x, 0.0)
        return torch.sign(x[:, :, None] - x[:, None, :])

    pairs = mask[:, :, None] & mask[:, None, :]
    total = (ways(first) * ways(second) * pairs).sum((1, 2))
    n = mask.sum(1)
    return total / (n * (n - 1)).clamp(min=1)
    # END ANSWER


# %% check="q4"
with checking("q4"):
    first = torch.tensor([[1.0, 2.0, 3.0, 0.0]])
    second = torch.tensor([[5.0, 9.0, 7.0, 0.0]])
    mask = torch.tensor([[True, True, True, False]])
    tau = agreement(first, second, mask)
    assert tau is not None, "agreement returns None: is there a return?"
    assert isinstance(tau, torch.Tensor), f"return a tensor, not a {type(tau).__name__}"
    assert tau.shape == (1,), f"(B,) is (1,), not {tuple(tau.shape)}"
    assert torch.allclose(tau, torch.tensor([1 / 3])), (
        f"two pairs of three agree: not {tau.tolist()}"
    )
    same_precision(agreement, first, second, mask)

# %% [markdown]
# ## What any weights could say
#
# A classifier answers from a context by `W` `(2, d)` and `b` `(2,)`: its logits are $W c + b$, and a softmax
# makes probabilities of the two. The context is a weighted mean of the sentence's `states` `(B, S, d)`. The
# weights are not known: they may be *any* that are at least 0 and sum to 1 over the real words. Return the
# smallest and the largest probability of the *second* class that they could give, `(B, 2)`. Gradients flow, and are
# numbers whatever stands at the pads: put numbers there before you compute.


# %% question="q5"
def reach(states, mask, W, b):
    # BEGIN ANSWER
    states = torch.where(mask[..., None], states, 0.0)
    logits = states @ W.T + b
    margin = logits[..., 1] - logits[..., 0]
    low = margin.masked_fill(~mask, torch.inf).amin(1)
    high = margin.masked_fill(~mask, -torch.inf).amax(1)
    return torch.stack([low, high], dim=1).sigmoid()
    # END ANSWER


# %% check="q5"
with checking("q5"):
    states = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    W, b = torch.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.tensor([0.0, 0.0])
    found = reach(states, mask, W, b)
    assert found is not None, "reach returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (1, 2), f"(B, 2) is (1, 2), not {tuple(found.shape)}"
    by_hand = torch.tensor([[-2.0, 1.0]]).sigmoid()
    assert torch.allclose(found, by_hand), f"by hand {by_hand.tolist()}, not {found.tolist()}"
    same_precision(reach, states, mask, W, b)
