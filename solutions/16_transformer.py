# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 50
#     covers: [F-30, M-16, E-05]
# ---

# %% [markdown]
# # Exercise 16: the Transformer
#
# Normalise, stack sub-layers in both ways, write a word from a cache whose keys and values are shared
# among heads, merge two halves of a softmax, and draw up the bill of a cache. The chapter is
# [The Transformer, and what runs today](../chapters/16_transformer.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, one sentence, an empty cache, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors of the precision that came in, not lists or NumPy
#   arrays, and leave the arguments as they are. `seqattn` is the answer key, so importing it in an
#   answer earns nothing.
# - There are `B` sentences, `T` positions, states of size `d`, `H` heads of size `d_h`, and `G` heads that have keys and values
#   of their own.
#
# Save the notebook first. To check in a terminal: `seqattn check 16_transformer.ipynb`. For points and hints:
# `seqattn grade 16_transformer.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision

# %% [markdown]
# ## Normalise
#
# `x` is `(B, T, d)`; `gain` and `bias` are `(d,)`. Normalise the `d` numbers of each word by themselves:
# subtract their mean, and divide by $\sqrt{\text{variance} + \varepsilon}$, where ε is `eps`, as the chapter does. (The
# variance is the mean of the squared deviations.) Then multiply by the gain and add the bias. Do it by
# hand: PyTorch's own normalisations are not allowed. Gradients must flow back.


# %% question="q1"
def layer_norm(x, gain, bias, eps):
    # BEGIN ANSWER
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return gain * centred / torch.sqrt(variance + eps) + bias
    # END ANSWER


# %% check="q1"
with checking("q1"):
    four = torch.tensor([[[1.0, 2.0, 3.0, 6.0]]])
    ones, zeros = torch.ones(4), torch.zeros(4)
    found = layer_norm(four, ones, zeros, 1e-5)
    assert found is not None, "layer_norm returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (1, 1, 4), f"the shape stays, (1, 1, 4), not {tuple(found.shape)}"
    same_precision(layer_norm, four, ones, zeros, 1e-5)
    by_hand = torch.tensor([-1.069, -0.535, 0.0, 1.604])
    assert torch.allclose(found[0, 0], by_hand, atol=2e-3), (
        f"the four numbers become −1.07, −0.53, 0 and 1.60, not {found[0, 0].tolist()}"
    )

# %% [markdown]
# ## Stack sub-layers
#
# Send `x`, `(B, T, d)`, through a stack of small parts, the first part first. Part $i$ is
# `tanh(y @ matrices[i])`; `matrices` is `(n, d, d)`. The norm is one of today's, an **RMS norm**: divide
# the `d` numbers of each word by the root of their mean square plus $10^{-6}$ (below the root), then
# multiply by a gain; no mean is subtracted. `gains` is `(n + 1, d)`: the first row belongs to the first
# part, and so on; the last row belongs to no part.
#
# With `pre` False, each part is added to what it read, and the sum is normalised; the last gain is not
# used. With `pre` True, each part reads what its norm returns, and its result is added to what stood before
# the norm; at the very end one more norm follows, with the last gain. Gradients must flow back.


# %% question="q2"
def run_stack(x, matrices, gains, pre):
    # BEGIN ANSWER
    def norm(y, gain):
        return gain * y / (y.square().mean(-1, keepdim=True) + 1e-6).sqrt()

    for matrix, gain in zip(matrices, gains):
        if pre:
            x = x + torch.tanh(norm(x, gain) @ matrix)
        else:
            x = norm(x + torch.tanh(x @ matrix), gain)
    return norm(x, gains[-1]) if pre else x
    # END ANSWER


# %% check="q2"
with checking("q2"):
    x, matrices = torch.tensor([[[1.0, 7.0]]]), torch.zeros(1, 2, 2)
    gains = torch.tensor([[1.0, 1.0], [10.0, 10.0]])
    for pre, expected in ((False, [0.2, 1.4]), (True, [2.0, 14.0])):
        found = run_stack(x, matrices, gains, pre)
        assert found is not None, "run_stack returns None: is there a return?"
        assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
        assert found.shape == x.shape, f"the shape stays, (1, 1, 2), not {tuple(found.shape)}"
        same_precision(run_stack, x, matrices, gains, pre)
        assert torch.allclose(found, torch.tensor(expected), atol=1e-3), (
            f"pre = {pre}: a part that returns 0 leaves {expected} of 1 and 7, "
            f"not {found[0, 0].tolist()}"
        )

# %% [markdown]
# ## One more word, from a shared cache
#
# A decoder has `H` heads of queries and `G` heads of keys and values. Every `H / G` neighbouring query
# heads share one of the latter (with `H` = 4 and `G` = 2, query heads 1 and 2 share the first). `x`,
# `(B, d)`, is the state of the newest word. `W_q` is `(d, H · d_h)`; `W_k` and `W_v` are `(d, G · d_h)`.
# All are applied from the right, as in `x @ W_q`, and the heads stand side by side in their columns. The
# cache, `past_k` and `past_v`, is `(B, G, t, d_h)`, and `t` may be 0.
#
# Return three tensors: the heads' contexts side by side, `(B, H · d_h)`, without an output matrix; then the
# keys, and the values, up to and including the new word, `(B, G, t + 1, d_h)` each. The score is scaled as
# in the chapter, and scores may be as large as 1,000. Write the softmax over them yourself, or call
# PyTorch's; operators that attend are not allowed here. Gradients must flow back.


# %% question="q3"
def next_word(x, W_q, W_k, W_v, past_k, past_v, heads):
    # BEGIN ANSWER
    groups, size = past_k.shape[1], past_k.shape[3]
    k = torch.cat([past_k, (x @ W_k).unflatten(1, (groups, 1, size))], 2)
    v = torch.cat([past_v, (x @ W_v).unflatten(1, (groups, 1, size))], 2)
    q = (x @ W_q).unflatten(1, (groups, heads // groups, size))
    weights = (q @ k.mT / math.sqrt(size)).softmax(-1)
    return (weights @ v).flatten(1), k, v
    # END ANSWER


# %% check="q3"
with checking("q3"):
    x, one, past = torch.tensor([[1.0]]), torch.ones(1, 1), torch.zeros(1, 1, 1, 1)
    found = next_word(x, torch.tensor([[1.0, 0.0]]), one, one, past, past, 2)
    assert found is not None, "next_word returns None: is there a return?"
    assert isinstance(found, tuple | list) and len(found) == 3, (
        "return three: contexts, keys, values"
    )
    assert all(isinstance(part, torch.Tensor) for part in found), "each of the three is a tensor"
    eye, wide = torch.eye(2), torch.zeros(1, 1, 1, 2)
    same_precision(next_word, torch.tensor([[1.0, 0.5]]), eye, eye, eye, wide, wide, 1)
    shapes = [tuple(part.shape) for part in found]
    assert shapes == [(1, 2), (1, 1, 2, 1), (1, 1, 2, 1)], (
        f"(1, 2) and twice (1, 1, 2, 1), not {shapes}"
    )
    assert torch.allclose(found[0], torch.tensor([[0.7311, 0.5]]), atol=1e-3), (
        "keys 0 and 1: head 1 gives 0.731, head 2, which asks nothing, 0.5, "
        f"not {found[0].tolist()}"
    )

# %% [markdown]
# ## Two halves of a softmax
#
# The keys of a long text lie on two machines. Each machine has read its half and kept, for each query, the
# largest score `m`, `(B,)`; the sum of the exponentials `z`, `(B,)`; and the sum of the values, each times
# its exponential, `a`, `(B, d)`. Both sums are relative to the machine's own `m`. Merge two such triples
# into the triple of all keys, $(m, z, a)$, **without** dividing.
#
# If a query saw nothing in a half, that half has $m = -\infty$, $z = 0$ and $a = 0$; this may hold for both
# halves. Scores may be as large as 10,000. Gradients must flow back from all three results, to `m1` and
# `m2` as well, and none of them may be NaN, not even where nothing was seen.


# %% question="q4"
def merge_halves(m1, z1, a1, m2, z2, a2):
    # BEGIN ANSWER
    m = torch.maximum(m1, m2)
    floor = m.masked_fill(m == -math.inf, 0.0)
    one, two = (m1 - floor).exp(), (m2 - floor).exp()
    return m, one * z1 + two * z2, one[:, None] * a1 + two[:, None] * a2
    # END ANSWER


# %% check="q4"
with checking("q4"):
    halves = [
        torch.tensor(part) for part in ([1.0], [2.0], [[4.0, 0.0]], [0.0], [1.0], [[0.0, 1.0]])
    ]
    found = merge_halves(*halves)
    assert found is not None, "merge_halves returns None: is there a return?"
    assert isinstance(found, tuple | list) and len(found) == 3, "return three: m, z and a"
    assert all(isinstance(part, torch.Tensor) for part in found), "each of the three is a tensor"
    same_precision(merge_halves, *halves)
    shapes = [tuple(part.shape) for part in found]
    assert shapes == [(1,), (1,), (1, 2)], f"(1,), (1,) and (1, 2), not {shapes}"
    assert abs(found[0].item() - 1) < 1e-6, f"the largest score of all is 1, not {found[0].item()}"
    assert abs(found[1].item() - 2.368) < 1e-3, f"2 + exp(−1) is 2.368, not {found[1].item():.3f}"
    assert torch.allclose(found[2], torch.tensor([[4.0, 0.368]]), atol=1e-3), (
        f"the values' sums are 4 and 0.368, not {found[2].tolist()}"
    )

# %% [markdown]
# ## The bill of a cache
#
# A language model of `layers` layers writes `T` words for each of `batch` sentences. Each layer has `heads`
# heads of queries of size `d_h`, and `groups` heads of keys and values of the same size; its states have
# the size $d$ = `heads` · `d_h`. Return three whole numbers:
#
# 1. how many numbers the cache holds when all words are written;
# 2. how many multiplications the attention of all steps takes with this cache: the four projections of each
#    new word, and its scores and weighted sums over all words up to and including itself;
# 3. the same without a cache, where step $t$ computes the whole square of its $t$ words, as the chapter
#    counts it.
#
# Feed-forward layers, biases, softmax and vocabulary are not counted.


# %% question="q5"
def cache_bill(layers, heads, groups, d_h, T, batch):
    # BEGIN ANSWER
    d, d_kv = heads * d_h, groups * d_h
    word = 2 * d * d + 2 * d * d_kv
    kept = sum(word + 2 * t * d for t in range(1, T + 1))
    anew = sum(t * word + 2 * t * t * d for t in range(1, T + 1))
    return 2 * layers * batch * T * d_kv, layers * batch * kept, layers * batch * anew
    # END ANSWER


# %% check="q5"
with checking("q5"):
    found = cache_bill(1, 1, 1, 1, 2, 1)
    assert found is not None, "cache_bill returns None: is there a return?"
    assert len(found) == 3, "three numbers: kept, with the cache, without"
    assert tuple(map(int, found)) == (4, 14, 22), f"by hand 4, 14 and 22, not {tuple(found)}"
