# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 50
#     covers: [F-29, D-15]
# ---

# %% [markdown]
# # Exercise 15: positions
#
# Write waves for any position, find the matrix that shifts them, add positions to a batch that is padded on
# either side, turn queries and keys, test whether a model sees order at all, and judge a study. The chapter
# is [Positions](../chapters/15_positions.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries small
# numbers. Grading tries many more: other sizes, sizes that are equal, hostile padding, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are there
#   already.
# - Everything is plain PyTorch: return tensors of the same precision as those that come in, not lists or
#   NumPy arrays, and leave the arguments as they are. `seqattn` is the answer key, so importing it in an
#   answer earns nothing.
# - There are `B` sentences, `T` places and `d` features. Positions count from 0. In a mask, True means *a
#   real word*.
#
# Save the notebook first. To check in a terminal: `seqattn check 15_positions.ipynb`. For points and hints:
# `seqattn grade 15_positions.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision

# %% [markdown]
# ## Waves for any positions
#
# `positions`, `(B, T)`, are numbers in any order; they come as floats and need not be whole. Return their
# sinusoidal vectors, `(B, T, d)`, with the sine and the cosine of pair $j$ at features $2j$ and $2j + 1$.
# Pair $j$ turns by `base` to the power $-2j/d$ radians a place; `d` is even. Gradients must flow back to the
# positions.


# %% question="q1"
def waves(positions, d, base):
    # BEGIN ANSWER
    rates = base ** (-torch.arange(0, d, 2, dtype=positions.dtype) / d)
    angles = positions[..., None] * rates
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    places = torch.tensor([[0.0, 2.0]])
    found = waves(places, 4, 100.0)
    assert found is not None, "waves returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (1, 2, 4), f"(B, T, d) is (1, 2, 4), not {tuple(found.shape)}"
    same_precision(waves, places, 4, 100.0)
    assert torch.allclose(found[0, 0], torch.tensor([0.0, 1.0, 0.0, 1.0])), (
        f"position 0 is 0, 1, 0, 1, not {found[0, 0].tolist()}"
    )
    by_hand = torch.tensor([0.9093, -0.4161, 0.1987, 0.9801])  # sin 2, cos 2, sin 0.2, cos 0.2
    assert torch.allclose(found[0, 1], by_hand, atol=1e-3), (
        f"position 2 is sin 2, cos 2, sin 0.2, cos 0.2, not {found[0, 1].tolist()}"
    )

# %% [markdown]
# ## The matrix of a shift
#
# Return the `(d, d)` matrix that turns the sinusoidal vector of any position $p$ into that of $p + n$:
# `shift_matrix(n, d, base) @ waves_of_p` is `waves_of_p_plus_n`, with vectors laid out as in the first
# question. `n` is a number and may be negative; `d` is even. Return 32-bit floats.


# %% question="q2"
def shift_matrix(n, d, base):
    # BEGIN ANSWER
    blocks = []
    for k in range(d // 2):
        angle = n * base ** (-2 * k / d)
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
    # END ANSWER


# %% check="q2"
with checking("q2"):
    found = shift_matrix(0, 4, 100.0)
    assert found is not None, "shift_matrix returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (4, 4), f"(d, d) is (4, 4), not {tuple(found.shape)}"
    assert found.dtype == torch.float32, f"return 32-bit floats, not {found.dtype}"
    assert torch.allclose(found, torch.eye(4)), "a shift by 0 changes nothing"
    start = torch.tensor([0.0, 1.0])  # position 0
    there = shift_matrix(2, 2, 100.0) @ start
    assert torch.allclose(there, torch.tensor([0.9093, -0.4161]), atol=1e-3), (
        f"from 0 by 2 is sin 2, cos 2, not {there.tolist()}"
    )

# %% [markdown]
# ## Pads on the left
#
# `x`, `(B, T, d)`, are embedded words; `table`, `(n, d)`, has a row for each position; and `mask`, `(B, T)`,
# is True at real words. Pads may stand on the left, on the right, or on both sides. A sentence may have no
# pads, or no words at all. Add to each real word the row of its place *in its own sentence*: the first real
# word gets `table[0]`, whatever stands before it. Pads come back as 0, whatever stood there, even NaN. `n` is
# at least 1, and at least the largest number of real words in a sentence, but may be less than `T`. Gradients
# must flow back to `x` and `table`.


# %% question="q3"
def add_positions(x, table, mask):
    # BEGIN ANSWER
    place = (mask.long().cumsum(1) - 1).clamp(min=0)
    return torch.where(mask[..., None], x + table[place], 0.0)
    # END ANSWER


# %% check="q3"
with checking("q3"):
    x = torch.tensor([[[7.0], [1.0], [1.0]], [[1.0], [1.0], [7.0]]])
    table, real = torch.tensor([[10.0], [20.0]]), torch.tensor([[0, 1, 1], [1, 1, 0]]).bool()
    found = add_positions(x, table, real)
    assert found is not None, "add_positions returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (2, 3, 1), f"(B, T, d) is (2, 3, 1), not {tuple(found.shape)}"
    same_precision(add_positions, x, table, real)
    assert found[1].flatten().tolist() == [11, 21, 0], (
        f"the second sentence is 11, 21 and a pad, not {found[1].flatten().tolist()}"
    )
    assert found[0].flatten().tolist() == [0, 11, 21], (
        f"the first sentence is a pad, 11 and 21, not {found[0].flatten().tolist()}"
    )

# %% [markdown]
# ## Turn queries and keys
#
# Write rotary positions in the layout of many released models: pair $j$ is made of features $j$ and
# $j + d_h/2$. (In the chapter it is made of $2j$ and $2j + 1$.) `q` is `(B, H, T, d_h)` and `k` is
# `(B, H, S, d_h)`, with an even `d_h`. The first key has position 0. `start` is the position of the first
# *query*; with a cache it is the number of words read before. Pair $j$ turns by $10000^{-2j/d_h}$ a place,
# from the first feature towards the second. Return the scores `(B, H, T, S)` of turned queries and turned
# keys, divided by $\sqrt{d_h}$. Gradients must flow back.


# %% question="q4"
def rotary_scores(q, k, start):
    # BEGIN ANSWER
    def turn(x, first):
        half = x.shape[-1] // 2
        rates = 10000 ** (-torch.arange(half, dtype=x.dtype) / half)
        angles = torch.arange(first, first + x.shape[-2], dtype=x.dtype)[:, None] * rates
        a, b = x[..., :half], x[..., half:]
        c, s = angles.cos(), angles.sin()
        return torch.cat((a * c - b * s, a * s + b * c), -1)

    return turn(q, start) @ turn(k, 0).mT / math.sqrt(q.shape[-1])
    # END ANSWER


# %% check="q4"
with checking("q4"):
    q, k = torch.tensor([[[[0.5, 1.0]]]]), torch.tensor([[[[1.0, 1.0], [1.0, 1.0]]]])
    found = rotary_scores(q, k, 3)
    assert found is not None, "rotary_scores returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (1, 1, 1, 2), f"(B, H, T, S) is (1, 1, 1, 2), not {tuple(found.shape)}"
    same_precision(rotary_scores, q, k, 3)
    # Two places apart: (1.5 cos 2 − 0.5 sin 2) / √2.
    assert abs(found[0, 0, 0, 1] + 0.763) < 1e-3, (
        f"the query is at 3 and this key at 1: −0.763, not {found[0, 0, 0, 1]:.3f}"
    )

# %% [markdown]
# ## Does it see order?
#
# `model(ids)` takes sentences `(B, S)` and returns a vector for each, `(B, d)`; you need not know what is
# inside. `ids`, `(B, S)`, are such sentences, of at most six tokens, without pads. The last token of each is
# `<eos>` and stays where it is. Compare the vectors of each order of the other tokens with those of the order
# given, feature by feature. Return `True` if *no* order changes a single feature by more than `1e-4`, and
# `False` otherwise. A smaller change is rounding, because sums come in another order. Leave `ids` as they are,
# and return a Python `bool`.


# %% question="q5"
def order_blind(model, ids):
    # BEGIN ANSWER
    from itertools import permutations

    with torch.no_grad():
        before, last = model(ids), ids.shape[1] - 1
        for order in permutations(range(last)):
            after = model(ids[:, [*order, last]])
            if (after - before).abs().max() > 1e-4:
                return False
    return True
    # END ANSWER


# %% check="q5"
with checking("q5"):
    ids = torch.tensor([[5, 7, 6, 2], [4, 4, 9, 2]])
    found = order_blind(lambda x: x.sum(1, keepdim=True).float(), ids)
    assert found is not None, "order_blind returns None: is there a return?"
    assert isinstance(found, bool), f"return True or False, not a {type(found).__name__}"
    assert found, "a sum of ids does not depend on their order: True"
    assert not order_blind(lambda x: x[:, :1].float(), ids), "a model of the first word: False"

# %% [markdown]
# ## What follows: which side needs positions more?
#
# In an experiment translators were trained with or without positions on the source side, and with or without
# them on the target side. `score(source, target, seed)` gives the BLEU of one of them; `source` and `target`
# are True or False. It may be called for each of `seeds`, a list of numbers. Return a dict:
#
# - `"source"`: what positions on the source side are worth, a list with a number for each seed, in the
#   order of `seeds`. The number is the rise of BLEU that they bring, averaged over the target side with and without
#   positions;
# - `"target"`: the same for the target side;
# - `"verdict"`: a text. `"source"` if each number of the first list is above each of the second; `"target"`
#   if each is below; else `"no difference seen"`.


# %% question="q6"
def sides(score, seeds):
    # BEGIN ANSWER
    source, target = [], []
    for seed in seeds:
        none, both = score(False, False, seed), score(True, True, seed)
        left, right = score(True, False, seed), score(False, True, seed)
        source.append((left - none + both - right) / 2)
        target.append((right - none + both - left) / 2)
    verdict = "no difference seen"
    if min(source) > max(target):
        verdict = "source"
    elif max(source) < min(target):
        verdict = "target"
    return {"source": source, "target": target, "verdict": verdict}
    # END ANSWER


# %% check="q6"
with checking("q6"):
    table = {(False, False): 10.0, (True, False): 18.0, (False, True): 11.0, (True, True): 21.0}
    found = sides(lambda source, target, seed: table[source, target], [1, 2])
    assert found is not None, "sides returns None: is there a return?"
    assert isinstance(found, dict), f"return a dict, not a {type(found).__name__}"
    assert set(found) == {"source", "target", "verdict"}, f"the entries are {set(found)}"
    assert [float(x) for x in found["source"]] == [9, 9], (
        f"source: 8 without the other and 10 with it, so 9, not {found['source']}"
    )
    assert [float(x) for x in found["target"]] == [2, 2], (
        f"the target side brings 1 and 3: 2, not {found['target']}"
    )
    assert found["verdict"] == "source", (
        f"all of source, 9, is above all of target, 2: not {found['verdict']!r}"
    )

# %% [markdown]
# Now judge the chapter's own study. Print what each side is worth. Write down in a sentence what follows, and
# for which sentences and which models it has been shown.

# %%
from seqattn.data import measured

runs = measured("positions")["longer"]
KINDS = {
    (False, False): "none",
    (True, False): "source alone",
    (False, True): "target alone",
    (True, True): "sinusoidal",
}


def score(source, target, seed):
    return runs[KINDS[source, target]][seed - 1]["bleu"]


# %%
# BEGIN ANSWER stub: # Your judgement goes here: sides(...), print, and a sentence.
judged = sides(score, [1, 2, 3])
print({name: [round(x, 1) for x in judged[name]] for name in ("source", "target")})
print("worth more:", judged["verdict"])
# END ANSWER

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then try `order_blind` on the encoder of a Transformer from the package,
# with each kind of positions: wrap it so that it takes ids and returns the mean of its states.
