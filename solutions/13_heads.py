# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 65
#     covers: [F-13, M-05, D-09, X-06]
# ---

# %% [markdown]
# # Exercise 13: several heads
#
# Merge heads, let each of them attend, take their addends apart and draw up the bill. Find out what a head
# looks at, and whether other heads stand in for it. Then go from one head to several, and say what each of
# them has learned. The chapter is [Several heads](../chapters/13_heads.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries small
# numbers. Grading tries many more: other sizes, as many sentences as heads, padding, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are there
#   already.
# - Everything is plain PyTorch: return tensors of the precision that came in, not lists or NumPy arrays,
#   and leave the arguments as they are. `seqattn` is the answer key, so importing it in an answer earns
#   nothing.
# - There are `B` sentences, `H` heads, `T` positions that ask and `S` positions that are asked. In a mask,
#   True means *may be attended*.
#
# Save the notebook first. To check in a terminal: `seqattn check 13_heads.ipynb`. For points and hints:
# `seqattn grade 13_heads.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision

# %% [markdown]
# ## Merge
#
# Each head has returned its part: `x` is `(B, H, T, d_h)`. Set the parts side by side, head 1 first, and
# return `(B, T, H · d_h)`. Gradients must flow back.


# %% question="q1"
def merge_heads(x):
    # BEGIN ANSWER
    return x.transpose(1, 2).flatten(2)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    parts = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]])
    merged = merge_heads(parts)
    assert merged is not None, "merge_heads returns None: is there a return?"
    assert isinstance(merged, torch.Tensor), f"return a tensor, not a {type(merged).__name__}"
    assert merged.shape == (1, 2, 4), f"(B, T, H · d_h) is (1, 2, 4), not {tuple(merged.shape)}"
    same_precision(merge_heads, parts)
    assert merged[0, 0].tolist() == [1, 2, 5, 6], (
        f"the first has 1, 2 of head 1 and 5, 6 of head 2, not {merged[0, 0].tolist()}"
    )

# %% [markdown]
# ## Each head by itself
#
# The queries `q` `(B, T, d)`, keys `k` `(B, S, d)` and values `v` `(B, S, d_v)` have already been
# projected. Their last axes hold the heads side by side, and `d_v` may differ from `d`. `mask`, `(B, S)`,
# is True at real words, wherever they stand; every sentence has at least one. Let each of `heads` heads
# attend to its own part, scaled as in the chapter.
#
# Return the heads' results side by side, `(B, T, d_v)`, before any output matrix, and the weights
# `(B, H, T, S)`. Pads have a weight of exactly 0. Write the softmax over the scores yourself, or call
# PyTorch's; operators that attend are not allowed here.


# %% question="q2"
def attend_in_heads(q, k, v, heads, mask):
    # BEGIN ANSWER
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~mask[:, None, None], -math.inf).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2), weights
    # END ANSWER


# %% check="q2"
with checking("q2"):
    states = torch.tensor([[[1.0, 0.5], [-0.5, 1.5], [0.5, -1.0]]])
    asks, real = torch.tensor([[[0.5, 1.0]]]), torch.ones(1, 3).bool()
    found = attend_in_heads(asks, states, states, 2, real)
    assert found is not None, "attend_in_heads returns None: is there a return?"
    assert isinstance(found, tuple | list) and len(found) == 2, (
        "return two tensors: results and weights"
    )
    result, weights = found
    assert result.shape == (1, 1, 2), (
        f"results are (B, T, d_v), (1, 1, 2), not {tuple(result.shape)}"
    )
    assert weights.shape == (1, 2, 1, 3), f"weights are (1, 2, 1, 3), not {tuple(weights.shape)}"
    same_precision(attend_in_heads, asks, states, states, 1, real)
    by_hand = torch.tensor([0.512, 1.105])
    assert torch.allclose(result[0, 0], by_hand, atol=1e-3), (
        f"the chapter's two heads return 0.512 and 1.105, not {result[0, 0].tolist()}"
    )

# %% [markdown]
# ## What each head adds
#
# The output matrix is stored as PyTorch stores it: `W_o` is `(d, H · d_h)`, and the output is
# `merged @ W_o.T + bias`. `x`, `(B, H, T, d_h)`, is what the heads returned. Return the addend of each
# head, `(B, H, T, d)`: summed over the heads, the addends give the output without its bias. `d` need not be
# `H · d_h`. Gradients must flow back to both arguments.


# %% question="q3"
def contributions(x, W_o):
    # BEGIN ANSWER
    blocks = W_o.unflatten(1, (x.shape[1], -1))  # (d, H, d_h)
    return torch.einsum("bhtk,dhk->bhtd", x, blocks)
    # END ANSWER


# %% check="q3"
with checking("q3"):
    x = torch.tensor([[[[1.0]], [[10.0]]]])  # two heads of size 1, one position
    W_o = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    added = contributions(x, W_o)
    assert added is not None, "contributions returns None: is there a return?"
    assert isinstance(added, torch.Tensor), f"return a tensor, not a {type(added).__name__}"
    assert added.shape == (1, 2, 1, 3), f"(B, H, T, d) is (1, 2, 1, 3), not {tuple(added.shape)}"
    same_precision(contributions, x, W_o)
    assert added[0, 0, 0].tolist() == [1, 3, 5], (
        f"head 1 adds 1, 3, 5, not {added[0, 0, 0].tolist()}"
    )
    assert added[0, 1, 0].tolist() == [20, 40, 60], (
        f"head 2 adds 20, 40, 60, not {added[0, 1, 0].tolist()}"
    )

# %% [markdown]
# ## The bill of cross-attention
#
# The chapter counts self-attention. Here `T` target positions look at `S` source positions, with vectors of
# size `d` on both sides and `heads` heads. Return three whole numbers for one sentence:
#
# 1. the weights of the module, biases included;
# 2. the multiplications of all its matrix products (do not count biases, the division by the root or the
#    softmax);
# 3. the rows that go through a softmax.


# %% question="q4"
def bill(d, heads, T, S):
    # BEGIN ANSWER
    # Queries and the output have T rows, keys and values S.
    products = 2 * T * d * d + 2 * S * d * d + 2 * T * S * d
    return 4 * d * d + 4 * d, products, heads * T
    # END ANSWER


# %% check="q4"
with checking("q4"):
    found = bill(2, 1, 1, 1)
    assert found is not None, "bill returns None: is there a return?"
    assert len(found) == 3, "three numbers: weights, multiplications, rows"
    assert tuple(map(int, found)) == (24, 20, 1), f"by hand 24, 20 and 1, not {tuple(found)}"

# %% [markdown]
# ## What a head looks at
#
# `weights`, `(B, H, T, T)`, are those of self-attention. `lengths`, `(B,)`, say how many positions of each
# sentence are real. The real positions come first, and beyond them any finite number may stand.
#
# Return for each head, `(H,)`, the mean weight that row $t$ gives to position $t$ + `offset`. It is a
# single mean, over all rows of all sentences that are real and have such a real position. `offset` is a
# whole number, such as −1 for the previous word; at least one row has a position there. Gradients must flow
# back.


# %% question="q5"
def weight_at(weights, lengths, offset):
    # BEGIN ANSWER
    rows = []
    for sentence, n in zip(weights, lengths.tolist()):
        rows.append(sentence[:, :n, :n].diagonal(offset, -2, -1))
    return torch.cat(rows, dim=-1).mean(dim=-1)
    # END ANSWER


# %% check="q5"
with checking("q5"):
    one = torch.tensor([[0.2, 0.8, 0.0], [0.6, 0.3, 0.1], [0.0, 0.5, 0.5]])
    found = weight_at(one[None, None], torch.tensor([3]), -1)
    assert found is not None, "weight_at returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (1,), f"a number for each head, (1,), not {tuple(found.shape)}"
    same_precision(weight_at, one[None, None], torch.tensor([3]), -1)
    assert abs(found[0] - 0.55) < 1e-5, f"rows 2 and 3 give 0.6 and 0.5: 0.55, not {found[0]:.2f}"

# %% [markdown]
# ## Who stands in?
#
# `loss(keep)` runs a trained model on held-out sentences and returns the loss as a number. Of the heads of
# one layer it uses those where `keep`, a boolean tensor `(heads,)`, is True. You need not know how. Return
# two things:
#
# 1. how much the loss rises without each head alone, a list or tensor of `heads` numbers;
# 2. how much *more* it rises without all of them than those numbers add up to.
#
# Expect a positive second number if heads stand in for one another, and a negative one if they need one
# another. (Neither sign proves it: the loss is not linear.)


# %% question="q6"
def stand_in(loss, heads):
    # BEGIN ANSWER
    everyone = torch.ones(heads, dtype=torch.bool)
    base, each = loss(everyone), []
    for head in range(heads):
        keep = everyone.clone()
        keep[head] = False
        each.append(loss(keep) - base)
    return each, loss(~everyone) - base - sum(each)
    # END ANSWER


# %% check="q6"
with checking("q6"):
    # A layer of two heads that do the same: one of them is enough.
    found = stand_in(lambda keep: 2.0 if keep.any() else 5.0, 2)
    assert found is not None, "stand_in returns None: is there a return?"
    assert len(found) == 2, "two things: a number for each head, and one more"
    assert [float(x) for x in found[0]] == [0, 0], f"each alone can be spared: 0, 0, not {found[0]}"
    assert abs(float(found[1]) - 3) < 1e-6, f"both together cost 3, and 3 - 0 = 3, not {found[1]}"

# %% [markdown]
# ## Measured: from one head to several
#
# This is an experiment. `train(heads, seed)` trains one layer of attention on a task for which it must look
# at several places at once. It returns a dict of what was measured on lines that it never learned from:
#
# - `"right"`: the share of its answers that are right;
# - `"valid"` and `"test"`: its weights `(N, H, T, T)` on two sets of lines;
# - `"untrained"`: its weights on the test lines *before* it had learned anything;
# - `"lengths"`: how many positions of each line are real, `(N,)`, the same for all three.
#
# You get `counts`, rising numbers of heads; `seeds`; and `places`, offsets such as −1 for the previous
# place. Return a dict:
#
# - `"enough"`: the smallest number of heads such that no larger number is seen to be better than it. A larger
#   number is seen to be better if all its seeds are right more often than all seeds of the smaller one;
# - `"learned"`: for the models with the *most* heads, a list for each seed, with a name for each head. The
#   name is the place to which the head gives most weight on the validation lines. It holds only if on the
#   test lines the head gives this place more weight than every untrained head of the same model; otherwise
#   it is None;
# - `"always"`: the places, in rising order, that in *every* seed are the name of some head;
# - `"fixed"`: the numbers, counted from 0, of the heads that have one and the same name in every seed.
#
# The weight that a head gives to a place is that of `weight_at`, which you can call. Grading uses a right
# version of it, whatever yours does. No two of these weights are equal.


# %% question="q7"
def grown(train, counts, seeds, places):
    # BEGIN ANSWER
    runs = {heads: [train(heads, seed) for seed in seeds] for heads in counts}
    right = {heads: [run["right"] for run in runs[heads]] for heads in counts}

    def better(more, heads):
        return more > heads and min(right[more]) > max(right[heads])

    def names(run):
        valid, test, fresh = (
            torch.stack([weight_at(run[part], run["lengths"], place) for place in places])
            for part in ("valid", "test", "untrained")
        )
        best = valid.argmax(0).tolist()
        return [places[k] if test[k, h] > fresh[k].max() else None for h, k in enumerate(best)]

    learned = [names(run) for run in runs[counts[-1]]]
    return {
        "enough": next(x for x in counts if not any(better(more, x) for more in counts)),
        "learned": learned,
        "always": [place for place in sorted(places) if all(place in found for found in learned)],
        "fixed": [
            h
            for h, of_one in enumerate(zip(*learned))
            if None not in of_one and len({*of_one}) == 1
        ],
    }
    # END ANSWER


# %% check="q7"
with checking("q7"):
    ahead = torch.tensor([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.5, 0.3, 0.2]])
    back = torch.tensor([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [0.0, 0.9, 0.1]])

    def pretend(heads, seed):
        """A training that takes no time: its two heads exchange roles by seed."""
        both = [ahead, back] if seed % 2 else [back, ahead]
        weights = torch.stack(both[:heads])[None]
        lengths = torch.tensor([3])
        right = 0.5 + 0.2 * heads + 0.01 * seed
        fresh = torch.full_like(weights, 1 / 3)
        return {"right": right, "valid": weights, "test": weights, "untrained": fresh} | {
            "lengths": lengths
        }

    found = grown(pretend, [1, 2], [0, 1], [-1, 1])
    assert found is not None, "grown returns None: is there a return?"
    assert isinstance(found, dict), f"return a dict, not a {type(found).__name__}"
    by_hand = {"enough": 2, "learned": [[-1, 1], [1, -1]], "always": [-1, 1], "fixed": []}
    assert set(found) == set(by_hand), f"the entries are {set(found)}"
    for name, expected in by_hand.items():
        assert found[name] == expected, f"{name}: {expected}, not {found[name]}"

# %% [markdown]
# Now do it. At each place of a line of letters a network must name *three* letters: the one two places
# before, the one before, and the next. It has one layer of attention, which runs on your `attend_in_heads`,
# and a linear readout. Train it with one to four heads and three seeds each, which takes a third of a
# minute in all. Write down in a sentence or two what follows. Three places: are three heads needed?

# %%
LETTERS, LONG, SIZE, PLACES = 10, 12, 24, (-2, -1, 1)
angle = torch.arange(LONG)[:, None] / 100 ** (torch.arange(0, SIZE, 2) / SIZE)
WHERE = torch.cat([angle.sin(), angle.cos()], dim=1)
KEPT = slice(2, LONG - 1)  # positions that have all three neighbours


class Layer(nn.Module):
    """Attention over letters and their positions, and a readout of three letters."""

    def __init__(self, heads):
        super().__init__()
        self.heads, self.embed = heads, nn.Embedding(LETTERS, SIZE)
        self.project, self.readout = nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, 3 * LETTERS)

    def forward(self, line):
        q, k, v = self.project(self.embed(line) + WHERE).chunk(3, -1)
        found, weights = attend_in_heads(q, k, v, self.heads, torch.ones_like(line).bool())
        return self.readout(found).unflatten(-1, (3, LETTERS))[:, KEPT], weights


def train(heads, seed):
    """Train for 600 updates, and measure on lines that are new."""
    torch.manual_seed(seed)
    layer = Layer(heads)
    valid, test = torch.randint(LETTERS, (2, 100, LONG))
    with torch.no_grad():
        fresh = layer(test)[1]
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    for _ in range(600):
        line = torch.randint(LETTERS, (64, LONG))
        wanted = torch.stack([line.roll(-place, 1) for place in PLACES], dim=-1)[:, KEPT]
        loss = F.cross_entropy(layer(line)[0].flatten(0, 2), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        said, weights = layer(test)
        wanted = torch.stack([test.roll(-place, 1) for place in PLACES], dim=-1)[:, KEPT]
        right = (said.argmax(-1) == wanted).float().mean().item()
        parts = {"valid": layer(valid)[1], "test": weights, "untrained": fresh}
    return {"right": right, "lengths": torch.full((100,), LONG), **parts}


# %% tags=["nbval-ignore-output"]
# BEGIN ANSWER stub: # Your experiment goes here: grown(train, ...), print, and a sentence.
rights = {}


def watched(heads, seed):
    run = train(heads, seed)
    rights.setdefault(heads, []).append(round(run["right"], 2))
    return run


found = grown(watched, [1, 2, 3, 4], [0, 1, 2], list(PLACES))
print(rights, found, sep="\n")
# One head names one neighbour of three and guesses the others. Two heads go most of the way: each can
# look at two places, and from two sums with different weights a linear readout can tell three letters. A
# fourth head finds no place of its own and doubles another's. Which head does what changes with the seed.
# END ANSWER

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then take the chapter's small model apart: `loss` may run any
# Transformer inside `masked_heads`. In which layer is the second number of `stand_in` largest?
