# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-10, F-11, F-12]
# ---

# %% [markdown]
# # Exercise 5: scaled scores
#
# Write the scaled dot product. Then run two experiments: why are dot products scaled, and why by the
# square root of $d$? And how many directions of a matrix does a score need?
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, extreme scores, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors, not lists or NumPy arrays, of the dtype that came in,
#   and leave the arguments as they are. `seqattn` is the answer key, so importing it in an answer
#   earns nothing.
#
# Save the notebook first. To check in a terminal: `seqattn check 05_scaled.ipynb`. For points and hints:
# `seqattn grade 05_scaled.ipynb`. In a notebook cell, put an exclamation mark in front.

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
# ## Scaled dot products
#
# Compute all queries of a sentence at once, with separate values: `queries` `(B, T, d)`,
# `keys` `(B, S, d)`, `values` `(B, S, d_v)`. Return $\mathrm{softmax}(Q K^\top / \sqrt{d})\, V$, of
# shape `(B, T, d_v)`. Scores may be in the hundreds, and gradients must flow back to all arguments.
# PyTorch's `scaled_dot_product_attention` and `nn.MultiheadAttention` may not be used.


# %% question="q1"
def scaled_dot_attention(queries, keys, values):
    # BEGIN ANSWER
    scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
    return torch.softmax(scores, dim=-1) @ values
    # END ANSWER


# %% check="q1"
with checking("q1"):
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
# ## Measured: why scale?
#
# What do large scores do to a softmax, and to what can be learned through it? Measure it. `queries` is
# `(n, d)` and `keys` is `(n, S, d)`: query `i` meets the `S` keys of row `i`, with plain dot products
# as scores. Return a dict with two entries of two numbers each, for the plain scores and for the
# scores divided by $\sqrt{d}$, in this order:
#
# - `"variance"`: the variance of all `n · S` scores about their common mean;
# - `"through"`: how much a softmax over each row lets through: the sum of the derivatives of the
#   weights, each by its own score, $\sum_i \partial \alpha_i / \partial e_i$, averaged over the rows.
#
# The numbers may be tensors or plain numbers; 1% more or less does not matter.


# %% question="q2"
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


# %% check="q2"
with checking("q2"):
    torch.manual_seed(0)
    table = {d: measure(torch.randn(500, d), torch.randn(500, 8, d)) for d in (4, 16, 64, 256)}
    assert table[4] is not None, "measure returns None: is there a return?"
    assert set(table[4]) == {"variance", "through"}, f"the entries are {set(table[4])}"
    for d, row in table.items():
        (v, v_scaled), (t, t_scaled) = row["variance"], row["through"]
        print(
            f"d = {d:3}: variance {v:6.1f} and {v_scaled:.2f}, "
            f"let through {t:.3f} and {t_scaled:.2f}"
        )
        assert abs(v_scaled * d / v - 1) < 0.01, "scores divided by the root: variance divided by d"
        assert 0 < t < t_scaled < 1 - 1 / 8, "a sharp softmax lets less through than a flat one"

# %% [markdown]
# ## What follows: which power?
#
# Why $\sqrt{d}$, and not $d$, or $\log d$? Let the table decide. Suppose the variance of the scores
# grows like a power of the size, $\mathrm{var} = c\, d^{\,b}$. Then scores divided by $d^{\,p}$ with
# the right power $p$ have a variance that does not depend on $d$. From a table of sizes and variances
# of the *undivided* scores, two sequences of plain numbers, find $b$ by least squares (a straight
# line through $\ln \mathrm{var}$ over $\ln d$) and return $p$, which may be negative. The table that
# you measured in the last question is one such table. Vectors of a fixed length, or entries that depend
# on one another in query and key, give other tables and another power.


# %% question="q3"
def right_power(sizes, variances):
    # BEGIN ANSWER
    slope, _ = np.polyfit(np.log(sizes), np.log(variances), 1)
    # Dividing scores by d^p divides their variance by d^(2p).
    return slope / 2
    # END ANSWER


# %% check="q3"
with checking("q3"):
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
# ## A matrix in two thin ones
#
# A score of reduced rank is $(Us)^\top (Vh)$, with `U` of shape `(k, d_q)` and `V` of shape
# `(k, d_k)`: it has fewer parameters than a general score, if `k` is small. Suppose that a general
# score has been trained. Cut its `W`, of shape `(d_q, d_k)`, into two thin matrices: return `U` and
# `V`, in this order, such that
#
# - $U^\top V$ is the matrix of rank `k` that is nearest to `W`, by the sum of the squared differences of
#   all entries (`k` is at most the smaller of `d_q` and `d_k`);
# - the two share the work: the rows of `U` are at right angles to each other, and so are the rows of
#   `V`; row `j` of `U` is as long as row `j` of `V`; and long rows come before short ones.
#
# Both rows of a pair may change their sign. No gradient is needed. (`torch.linalg.svd` cuts a matrix as the chapter
# does.)


# %% question="q4"
def factors(W, k):
    # BEGIN ANSWER
    left, sizes, right = torch.linalg.svd(W, full_matrices=False)
    # Each of the two takes the square root of a singular value.
    root = sizes[:k, None].sqrt()
    return root * left[:, :k].T, root * right[:k]
    # END ANSWER


# %% check="q4"
with checking("q4"):
    W = torch.tensor([[0.0, 4.0, 0.0], [9.0, 0.0, 0.0]])
    pair = factors(W, 1)
    assert pair is not None, "factors returns None: is there a return?"
    assert isinstance(pair, tuple | list), f"return two tensors, not a {type(pair).__name__}"
    for name, found, size in zip("UV", pair, W.shape):
        assert isinstance(found, torch.Tensor), f"{name} is no tensor but a {type(found).__name__}"
        assert found.shape == (1, size), f"{name} is {(1, size)}, not {tuple(found.shape)}"
        assert found.dtype == W.dtype, f"{name} is {found.dtype}; the matrix is {W.dtype}"
    double = factors(W.double(), 1)
    assert all(x.dtype == torch.float64 for x in double), "from float64 comes float64"
    U, V = pair
    nearest = torch.tensor([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    assert torch.allclose(U.T @ V, nearest, atol=1e-5), "rank 1 should keep the 9 and drop the 4"

# %% [markdown]
# ## Measured: how many directions does a score need?
#
# The nearest matrix is nearest in its *entries*. What counts is where the weights go. Measure it.
# `queries` is `(n, d_q)` and `keys` `(n, S, d_k)`: query `i` meets the `S` keys of row `i`, by the
# general score $s^\top W h$, not scaled. Cut `W` to rank $k$, for each $k$ from 1 to the smaller of
# `d_q` and `d_k`, and compare the softmax weights of each query with those of the whole `W`. The
# weight that has *moved* is half the sum of the absolute differences: 0 where the weights are the
# same, 1 where all the weight lies on other keys. Return a dict:
#
# - `"moved"`: for each $k$, in order, the mean over the queries of the weight that has moved;
# - `"needed"`: the smallest $k$ for which that mean is at most `most`.
#
# You may call `factors`; grading supplies a right version of it, whatever yours does.


# %% question="q5"
def directions(W, queries, keys, most):
    # BEGIN ANSWER
    def weights(U, V):
        return torch.einsum("nk,nsk->ns", queries @ U.T, keys @ V.T).softmax(-1)

    ranks = range(1, min(W.shape) + 1)
    whole = weights(*factors(W, ranks[-1]))
    moved = [(weights(*factors(W, k)) - whole).abs().sum(-1).mean().item() / 2 for k in ranks]
    return {"moved": moved, "needed": next(k for k, x in zip(ranks, moved) if x <= most)}
    # END ANSWER


# %% check="q5"
with checking("q5"):
    torch.manual_seed(0)
    # The largest direction of this matrix meets a number that no key has.
    W, queries, keys = (
        torch.diag(torch.tensor([9.0, 3.0, 1.0])),
        torch.randn(50, 3),
        torch.randn(50, 6, 3),
    )
    keys[..., 0] = 0
    table = directions(W, queries, keys, 0.5)
    assert table is not None, "directions returns None: is there a return?"
    assert set(table) == {"moved", "needed"}, f"the entries are {set(table)}"
    assert len(table["moved"]) == 3, f"three ranks, not {len(table['moved'])}"
    print("moved at rank 1, 2, 3:", [f"{float(x):.2f}" for x in table["moved"]])
    shares = (W.diag() ** 2 / (W**2).sum()).tolist()
    print("share of the squared entries:", [f"{x:.2f}" for x in shares])
    assert abs(float(table["moved"][2])) < 1e-3, "the whole matrix moves nothing"
    assert table["needed"] == 2, f"rank 1 is deaf here; rank 2 is needed, not {table['needed']}"

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then break the experiment: draw queries and keys of length 1,
# or each with all its entries equal, and see which power the table asks for.
