# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-18, F-28, M-09, M-17]
# ---

# %% [markdown]
# # Exercise 11: coverage and copying
#
# Write a score that feels where attention has been, and read a sentence with it. Then write what a
# pointer-generator needs besides a network: ids for words that nobody knows, the mixture of writing
# and copying, and a step of search that reads back what it has copied. The chapter is [What the sum
# forgets](../chapters/11_coverage.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, padding, other ids, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn`, `math` and `np` are
#   there already.
# - Everything is plain PyTorch: return tensors of the same precision as those that come in, not NumPy
#   arrays, and lists only where they are asked for. `seqattn` is the answer key, so importing it in an
#   answer earns nothing.
# - In a mask, True means *may be attended*. A row of `X @ W.T` is $W x$ for a row $x$ of `X`.
# - Do not change the tensors that you are given: the caller still needs them.
# - Gradients flow through every result that has one: no detach, no NumPy on the way.
#
# Save the notebook first. To check in a terminal: `seqattn check 11_coverage.ipynb`. For points and hints:
# `seqattn grade 11_coverage.ipynb`. In a notebook cell, put an exclamation mark in front.

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
# ## A score that feels coverage
#
# This is one step for a batch: `query` `(B, d_q)`, `keys` `(B, S, d_k)`, and `coverage` `(B, S)`,
# the sum of each word's earlier weights. The score of word $i$ is
#
# $$e_i = v^\top \tanh\bigl(W_q s + W_k h_i + w_c\, c_i\bigr)$$
#
# with `W_q` `(d_a, d_q)`, `W_k` `(d_a, d_k)`, `w_c` `(d_a,)` and `v` `(d_a,)`. Return the scores, `(B, S)`.


# %% question="q1"
def coverage_scores(query, keys, coverage, W_q, W_k, w_c, v):
    # BEGIN ANSWER
    inside = torch.einsum("bq,aq->ba", query, W_q)[:, None] + torch.einsum("bsk,ak->bsa", keys, W_k)
    inside = inside + torch.einsum("bs,a->bsa", coverage, w_c)
    return torch.einsum("bsa,a->bs", inside.tanh(), v)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    query, keys = torch.tensor([[1.0]]), torch.tensor([[[0.5], [-1.0]]])
    seen = torch.tensor([[0.25, 1.5]])
    W_q, W_k = torch.tensor([[0.5], [0.0]]), torch.tensor([[1.0], [1.0]])
    w_c, v = torch.tensor([-2.0, 1.0]), torch.tensor([1.0, 2.0])
    given = (query, keys, seen, W_q, W_k, w_c, v)
    scores = coverage_scores(*given)
    assert scores is not None, "coverage_scores returns None: is there a return?"
    assert isinstance(scores, torch.Tensor), f"return a tensor, not a {type(scores).__name__}"
    assert scores.shape == (1, 2), f"(B, S) is (1, 2), not {tuple(scores.shape)}"
    by_hand = torch.tensor([[0.5, -3.5], [0.75, 0.5]]).tanh()
    by_hand = by_hand[0] + 2 * by_hand[1]  # features in rows
    assert torch.allclose(scores[0], by_hand), f"by hand {by_hand.tolist()}, not {scores.tolist()}"
    same_precision(coverage_scores, *given)

# %% [markdown]
# ## Reading on
#
# Now take all steps. `queries` `(B, T, d_q)` holds the decoder's states, one for each step, and
# `mask` `(B, S)` says which words are real. At each step, compute the scores of question 1 with the
# coverage so far, and turn them into weights: a softmax over the real words, and exactly 0 at pads.
# A sentence without a real word gets weights of 0. Return the weights, `(B, T, S)`, and the
# coverage *after* the last step, `(B, S)`. A pad may hold anything, even NaN.


# %% question="q2"
def read_on(queries, keys, mask, W_q, W_k, w_c, v):
    # BEGIN ANSWER
    keys = keys.masked_fill(~mask[:, :, None], 0.0)
    seen, rows = torch.zeros_like(keys[:, :, 0]), []
    for query in queries.unbind(1):
        inside = (query @ W_q.T)[:, None] + keys @ W_k.T + seen[:, :, None] * w_c
        scores = (inside.tanh() @ v).masked_fill(~mask, torch.finfo(v.dtype).min)
        # exp of a strong score is 0 or infinite: the largest score of a row becomes 0.
        raised = (scores - scores.amax(1, keepdim=True)).exp() * mask
        rows.append(raised / raised.sum(1, keepdim=True).clamp(min=1e-30))
        seen = seen + rows[-1]
    return torch.stack(rows, 1), seen
    # END ANSWER


# %% check="q2"
with checking("q2"):
    queries, keys = torch.zeros(1, 3, 1), torch.tensor([[[0.0], [0.0], [7.0]]])
    mask = torch.tensor([[True, True, False]])
    one = torch.ones(1, 1)
    results = read_on(queries, keys, mask, one, one, torch.tensor([-1.0]), torch.tensor([3.0]))
    assert results is not None, "read_on returns None: is there a return?"
    assert len(results) == 2, "return two things: weights, coverage"
    for name, x, shape in zip(("weights", "coverage"), results, ((1, 3, 3), (1, 3))):
        assert isinstance(x, torch.Tensor), f"{name}: return a tensor, not a {type(x).__name__}"
        assert x.shape == shape, f"{name}: {shape} is asked for, not {tuple(x.shape)}"
    assert torch.allclose(results[0][0], torch.tensor([0.5, 0.5, 0.0])), "two equal words"
    assert torch.allclose(results[1][0], torch.tensor([1.5, 1.5, 0.0])), "three steps"
    keys[0, 1] = 0.3
    moved = read_on(queries, keys, mask, one, one, torch.tensor([-1.0]), torch.tensor([3.0]))[0]
    assert (moved[0, 0] - moved[0, 2]).abs().max() > 0.05, "coverage changes the next weights"
    same_precision(read_on, queries, keys, mask, one, one, -one[0], one[0])

# %% [markdown]
# ## Ids for unknown words
#
# `sentences` is a list of sentences, each a list of words. `known` is the list of the words that
# the vocabulary holds: the id of a word is its place there, from 0. A word that is not known gets
# an id of its own *within its sentence*. The first such word has the id $V$ = `len(known)`, the
# next new one $V + 1$, and so on in order of appearance; a word that comes twice keeps its id.
# Return two lists with an entry for each sentence: its ids, and its unknown words in the order of
# their ids.


# %% question="q3"
def extend(sentences, known):
    # BEGIN ANSWER
    all_ids, all_new = [], []
    for words in sentences:
        ids, new = [], []
        for word in words:
            if word not in known and word not in new:
                new.append(word)
            place = known.index(word) if word in known else len(known) + new.index(word)
            ids.append(place)
        all_ids.append(ids)
        all_new.append(new)
    return all_ids, all_new
    # END ANSWER


# %% check="q3"
with checking("q3"):
    results = extend([["ada", "sees", "bo"], ["bo"]], ["sees", "the"])
    assert results is not None, "extend returns None: is there a return?"
    assert len(results) == 2, "return two lists: ids, unknown words"
    for x in results:
        assert isinstance(x, list), f"return lists, not a {type(x).__name__}"
        assert len(x) == 2, f"an entry for each of the two sentences, not {len(x)}"
    assert list(results[0][0]) == [2, 0, 3], f"ids of the first: {results[0][0]}, not [2, 0, 3]"
    assert list(results[1][0]) == ["ada", "bo"], f"its unknown words: {results[1][0]}"

# %% [markdown]
# ## Write or copy
#
# `logits` `(B, T, V)` are those of the vocabulary, `weights` `(B, T, S)` are rows of attention,
# which sum to 1, and `p_gen` `(B, T)` are the probabilities of writing. `source` `(B, S)` holds the
# ids of the source words in the extended vocabulary, which has `size` words, at least $V$. Return
#
# $$
# \begin{aligned}
# P(y) ={} & p_{\mathrm{gen}}\, \mathrm{softmax}(\text{logits})_y \\
# & + (1 - p_{\mathrm{gen}}) \sum_{i:\, x_i = y} \alpha_i
# \end{aligned}
# $$
#
# as probabilities, `(B, T, size)`. At pads the weights are 0, whatever id stands there. Ids go
# from 0 to `size - 1`, there too.


# %% question="q4"
def write_or_copy(logits, weights, p_gen, source, size):
    # BEGIN ANSWER
    to_words = F.one_hot(source, size).to(weights.dtype)  # (B, S, size)
    copied = torch.einsum("bts,bsw->btw", weights, to_words)
    written = F.pad(logits.softmax(-1), (0, size - logits.shape[-1]))
    gate = p_gen.unsqueeze(-1)
    return gate * written + (1 - gate) * copied
    # END ANSWER


# %% check="q4"
with checking("q4"):
    logits, weights = torch.zeros(1, 1, 2), torch.tensor([[[0.5, 0.3, 0.2, 0.0]]])
    p_gen, source = torch.tensor([[0.4]]), torch.tensor([[2, 1, 2, 0]])
    mixed = write_or_copy(logits, weights, p_gen, source, 3)
    assert mixed is not None, "write_or_copy returns None: is there a return?"
    assert isinstance(mixed, torch.Tensor), f"return a tensor, not a {type(mixed).__name__}"
    assert mixed.shape == (1, 1, 3), f"(B, T, size) is (1, 1, 3), not {tuple(mixed.shape)}"
    by_hand = torch.tensor([0.2, 0.38, 0.42])
    assert torch.allclose(mixed[0, 0], by_hand), f"by hand {by_hand.tolist()}, not {mixed.tolist()}"
    same_precision(write_or_copy, logits, weights, p_gen, source, 3)

# %% [markdown]
# ## A step of greedy search
#
# `mixed` `(B, size)` holds the probabilities of one step for a batch, and `finished` `(B,)` says
# which sentences have ended. Return three tensors of shape `(B,)`:
#
# 1. what is **written**: the id of the most probable word, and `pad` in a finished sentence;
# 2. what is **read** at the next step: the same, except that the decoder's embedding has only the
#    first `V` words, so a copied word beyond them is read as `unk`;
# 3. which sentences are **finished** now: those that were, and those that have just written `eos`.
#
# `V`, `unk`, `eos` and `pad` are whole numbers; `pad` and `eos` may be one id.


# %% question="q5"
def step(mixed, finished, V, unk, eos, pad):
    # BEGIN ANSWER
    best = torch.where(finished, torch.full_like(finished, pad, dtype=torch.long), mixed.argmax(-1))
    return best, torch.where(best < V, best, unk), finished.logical_or(best == eos)
    # END ANSWER


# %% check="q5"
with checking("q5"):
    mixed = torch.tensor([[0.1, 0.2, 0.0, 0.7], [0.1, 0.2, 0.6, 0.1], [0.3, 0.4, 0.2, 0.1]])
    results = step(mixed, torch.tensor([False, False, True]), V=3, unk=1, eos=2, pad=0)
    assert results is not None, "step returns None: is there a return?"
    assert len(results) == 3, "return three things: written, read, finished"
    for x in results:
        assert isinstance(x, torch.Tensor), f"return tensors, not a {type(x).__name__}"
        assert x.shape == (3,), f"(B,) is (3,), not {tuple(x.shape)}"
    kinds = [x.dtype for x in results]
    assert kinds == [torch.int64, torch.int64, torch.bool], f"ids, ids and flags, not {kinds}"
    assert results[0].tolist() == [3, 2, 0], f"written: {results[0].tolist()}, not [3, 2, 0]"
    assert results[1].tolist() == [1, 2, 0], f"read: {results[1].tolist()}, not [1, 2, 0]"
    assert results[2].tolist() == [False, True, True], f"finished: {results[2].tolist()}"

# %% [markdown]
# ## What next
#
# `seqattn grade` shows your points. Then train what you have built:
# `seqattn train --preset pointer` sets up a pointer-generator, and `--preset coverage` a model whose
# score feels where it has looked.
