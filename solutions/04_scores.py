# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [M-02, F-07, F-08, F-09, F-35, D-05]
# ---

# %% [markdown]
# # Exercise 4: Luong's scores
#
# Write Luong's three scores, a module around one of them, and the score that never looks at a key.
# Then find out which words are heard.
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
# Query and key need not have the same size if a matrix stands between them: $e_i = s^\top W h_i$,
# with `query` `(B, d_q)`, `keys` `(B, S, d_k)` and `W` `(d_q, d_k)`. Return `(B, S)`, unscaled.


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
# their share was computed once for the sentence, before the first step: `projected`, of shape
# `(B, S, d_a)`, is the product of each key with the columns of `W` that meet a key. The keys
# themselves are gone. Compute this step's scores, `(B, S)`, from what is left.


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
#   keys, and the weights `(B, S)`, from the general score. `mask` is a padding mask `(B, S)`: pads
#   may stand at either end, their states are finite numbers of any size, and every sentence has at
#   least one word;
# - the loss's gradient reaches `W`, and a second call depends on its own arguments alone.
#
# How you initialise `W` is up to you, as long as the numbers are random, drawn anew for every module
# (so no seed in `__init__`), and their root mean square lies between 0.001 and 5. You may call `general_score`; grading supplies a right
# version of it, whatever yours does.


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
    size = module.W.detach().square().mean().sqrt()
    assert 0.001 < size < 5, (
        f"W should start with a root mean square from 0.001 to 5, not {size:.3g}"
    )
    assert (module.W[0, 0] != module.W).any(), (
        "W should start random, not with one number everywhere"
    )
    query, keys = torch.randn(2, 3), torch.randn(2, 6, 4)
    same_precision(module, query, keys, torch.ones(2, 6).bool())

# %% [markdown]
# ## A score that never looks
#
# The location score contains no key. Row $i$ of `W`, of shape `(L, d)`, scores *position* $i$,
# whatever word stands there: $e_i = w_i^\top s$. Compute the weights from these scores. `query` is
# `(B, d)` and `mask` is a padding mask `(B, S)`, with `S` at most `L`. Return weights `(B, S)`: a
# softmax over the words of each sentence, 0 at pads. Pads may stand at either end; a word keeps the
# number of its column, so with two pads in front the first word is at position 2, counted from 0.
# Every sentence has at least one word. Scores may lie beyond ±10,000. Gradients must flow back to
# `query` and `W`.


# %% question="q5"
def location_weights(query, W, mask):
    # BEGIN ANSWER
    scores = query @ W[: mask.shape[1]].T
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)
    # END ANSWER


# %% check="q5"
with checking("q5"):
    W = torch.tensor([[0.0], [math.log(3.0)], [9.0], [9.0]])
    weights = location_weights(torch.tensor([[1.0]]), W, torch.tensor([[True, True]]))
    assert weights is not None, "location_weights returns None: is there a return?"
    assert isinstance(weights, torch.Tensor), f"return a tensor, not a {type(weights).__name__}"
    assert weights.shape == (1, 2), f"one sentence, two words: (1, 2), not {tuple(weights.shape)}"
    same_precision(
        lambda s, W: location_weights(s, W, torch.ones(2, 3).bool()), torch.ones(2, 1), W
    )
    assert torch.allclose(weights, torch.tensor([[0.25, 0.75]])), (
        f"the first two rows score 0 and log 3: 0.25 and 0.75, not {weights}"
    )

# %% [markdown]
# ## Who is heard?
#
# Over queries drawn at random, a long key more often has the highest score, and more often the lowest. Find out how often that
# happens to each word of a batch. `queries` is `(B, T, d)`, `keys` is `(B, S, d)` and `mask` is
# `(B, S)`; the score is the dot product. Return two tensors of shape `(B, S)`: the share of the
# sentence's `T` queries for which word $i$ has the **highest** score of all words of its sentence,
# and the share for which it has the **lowest**. Pads take no part: both of their shares are 0. They
# may stand at either end, and hold any finite numbers, those of a word among them. Every sentence has at
# least one word, and no two words of a sentence have the same score. Compute the shares in the
# dtype of the keys; do not compute in float32 and convert afterwards. No gradient is needed.


# %% question="q6"
def heard(queries, keys, mask):
    # BEGIN ANSWER
    scores = queries @ keys.mT
    # Out of the way: below all words for the one question, above them for the other.
    highest = scores.masked_fill(~mask[:, None], -torch.inf).argmax(-1)
    lowest = scores.masked_fill(~mask[:, None], torch.inf).argmin(-1)
    first, last = (F.one_hot(i, keys.shape[1]).to(keys.dtype).mean(1) for i in (highest, lowest))
    return first, last
    # END ANSWER


# %% check="q6"
with checking("q6"):
    queries = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.2], [0.1, 0.9]]])
    keys, mask = (
        torch.tensor([[[2.0, 0.0], [0.5, 1.0], [9.0, 9.0]]]),
        torch.tensor([[True, True, False]]),
    )
    shares = heard(queries, keys, mask)
    assert shares is not None, "heard returns None: is there a return?"
    assert isinstance(shares, tuple | list), f"return two tensors, not a {type(shares).__name__}"
    assert len(shares) == 2, f"two tensors are asked for, not {len(shares)}"
    for name, share, right in zip(("first", "last"), shares, ([0.25, 0.75, 0], [0.75, 0.25, 0])):
        assert isinstance(share, torch.Tensor), f"{name}: a {type(share).__name__}, not a tensor"
        assert share.shape == (1, 3), (
            f"{name}: one sentence, three columns, not {tuple(share.shape)}"
        )
        assert share.dtype == keys.dtype, f"{name}: {share.dtype}, where the keys are {keys.dtype}"
        assert torch.allclose(share, torch.tensor([right])), f"{name}: {right} by hand, not {share}"
    double = heard(queries.double(), keys.double(), mask)
    assert all(share.dtype == torch.float64 for share in double), "from float64 comes float64"
    torch.manual_seed(0)
    keys = torch.randn(200, 8, 16)
    keys[:, 0] *= 2
    first, last = heard(torch.randn(200, 50, 16), keys, torch.ones(200, 8).bool())
    print(
        f"the long key is first for {first[:, 0].mean():.0%} of the queries, "
        f"last for {last[:, 0].mean():.0%}"
    )

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then lengthen a key further, and count the queries for which
# its weight falls.
