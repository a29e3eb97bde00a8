# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 35
#     covers: [M-02, F-07, F-08, F-09]
# ---

# %% [markdown]
# # Exercise: Luong's scores
#
# Write Luong's three scores, and a module around one of them.
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, padding, extreme scores, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors, not lists or NumPy arrays, of the dtype that came in,
#   and leave the arguments as they are. `seqattn` is the answer key, so importing it in an answer
#   earns nothing.
# - In a mask, True means *may be attended*.
#
# Save the notebook first. To check in a terminal: `seqattn check 04_scores.ipynb`. For points and hints:
# `seqattn grade 04_scores.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision

# %% [markdown]
# ## The dot score
#
# With `query` of shape `(B, d)` and `keys` of shape `(B, S, d)` the score of word $i$ is
# $e_i = s^\top h_i$. Return scores of shape `(B, S)`, unscaled. Gradients must flow back to all
# arguments, here and in the next two questions.


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


# %% question="q4"
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


# %% check="q4"
with checking("q4"):
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
# ## What next
#
# `seqattn grade` tells your points. Then give your module keys of two sizes, one twice as long as the
# other, and watch what that does to the weights of words that fit badly.
