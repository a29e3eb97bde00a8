# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-18, F-19, F-24, M-20, M-23, X-04]
# ---

# %% [markdown]
# # Exercise 8: reading attention maps
#
# How spread out is a row of weights? What has been looked at already? Do the weights align words as
# people do? Write the measures, and then use them: why does a small translator fail on sentences that
# are longer than those it learned from?
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, zeros, extreme rows, gradients. The chapter is
# [Reading attention maps](../chapters/08_reading_maps.ipynb).
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors, not lists or NumPy arrays, of the dtype that came in,
#   and leave the arguments as they are. `seqattn` is the answer key, so importing it in an answer
#   earns nothing.
# - `weights` is `(B, T, S)` throughout: a row for each of `T` steps, which sums to 1 over `S` words.
#
# Save the notebook first. To check in a terminal: `seqattn check 08_reading_maps.ipynb`. For points and hints:
# `seqattn grade 08_reading_maps.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision

# %% [markdown]
# ## Entropy of a row
#
# $H_t = -\sum_i \alpha_{ti} \ln \alpha_{ti}$, in nats, with $0 \ln 0 = 0$. Return `(B, T)`.
#
# Weights of pads are exactly 0, and a penalty on the entropy trains the network that made the scores:
# so the gradient must flow back **through the softmax**, and must be a number at weights of 0, too.
# (An infinite derivative is no better than NaN there: the softmax multiplies it by 0.)


# %% question="q1"
def entropy(weights):
    # BEGIN ANSWER
    # The logarithm never sees a 0: where() around it would keep the value and lose the gradient.
    safe = torch.where(weights > 0, weights, 1.0)
    return -(weights * safe.log()).sum(dim=-1)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    rows = torch.tensor([[[0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0]]])
    H = entropy(rows)
    assert H is not None, "entropy returns None: is there a return?"
    assert isinstance(H, torch.Tensor), f"return a tensor, not a {type(H).__name__}"
    assert H.shape == (1, 2), f"a number for each row: (1, 2), not {tuple(H.shape)}"
    same_precision(entropy, rows)
    assert not H.isnan().any(), "0 · log 0 counts as 0"
    assert abs(H[0, 0] - math.log(4)) < 1e-4, (
        f"four equal weights: log 4 = 1.3863, not {H[0, 0]:.4f}"
    )
    assert abs(H[0, 1]) < 1e-4, f"all weight on one word: 0, not {H[0, 1]:.4f}"

# %% [markdown]
# ## Spread, comparable across lengths
#
# A row over thirty words can have a larger entropy than a row over three, just because it is longer.
# So divide by the largest entropy that the sentence allows: return $H_t / \ln n$, `(B, T)`, where $n$
# is the number of **this sentence's** words. `mask`, `(B, S)`, is True at them, wherever they stand;
# pads have weight 0. The result is 1 for a row that is uniform over the words, and 0 for a row with
# all weight on one of them or for a sentence of a single word. Gradients must flow back as in the
# first question, and must be numbers in every sentence. You may call `entropy`; grading supplies a
# right version of it, whatever yours does.


# %% question="q2"
def spread(weights, mask):
    # BEGIN ANSWER
    # With one word the entropy is 0, so that any divisor but 0 will do.
    words = mask.sum(dim=-1, keepdim=True).clamp(min=2)
    return entropy(weights) / words.to(weights.dtype).log()
    # END ANSWER


# %% check="q2"
with checking("q2"):
    rows = torch.tensor(
        [[[0.25, 0.25, 0.25, 0.25]], [[0.5, 0.5, 0.0, 0.0]], [[1.0, 0.0, 0.0, 0.0]]]
    )
    mask = torch.tensor([[True] * 4, [True] * 3 + [False], [True] + [False] * 3])
    share = spread(rows, mask)
    assert share is not None, "spread returns None: is there a return?"
    assert isinstance(share, torch.Tensor), f"return a tensor, not a {type(share).__name__}"
    assert share.shape == (3, 1), f"a number for each row: (3, 1), not {tuple(share.shape)}"
    same_precision(spread, rows, mask)
    assert abs(share[0, 0] - 1) < 1e-4, f"four words, four equal weights: 1, not {share[0, 0]:.4f}"
    by_hand = math.log(2) / math.log(3)
    assert abs(share[1, 0] - by_hand) < 1e-4, (
        f"weights 1/2, 1/2, 0: log 2 / log 3 = {by_hand:.4f}, not {share[1, 0]:.4f}"
    )
    assert abs(share[2, 0]) < 1e-4, f"a sentence of one word: 0, not {share[2, 0]:.4f}"

# %% [markdown]
# ## Coverage
#
# What has been looked at before step $t$? $c_{ti} = \sum_{u < t} \alpha_{ui}$. Return `(B, T, S)`.
# Chapter 11 builds on this; here you need the formula alone. Gradients must flow back to the weights. (Since these
# come from a softmax, your gradient may differ from ours by one number for each whole row; so for the loss below.)


# %% question="q3"
def coverage(weights):
    # BEGIN ANSWER
    return weights.cumsum(dim=1) - weights
    # END ANSWER


# %% check="q3"
with checking("q3"):
    steps = torch.tensor([[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]])
    seen = coverage(steps)
    assert seen is not None, "coverage returns None: is there a return?"
    assert isinstance(seen, torch.Tensor), f"return a tensor, not a {type(seen).__name__}"
    assert seen.shape == (1, 3, 2), f"shaped like the weights, (1, 3, 2), not {tuple(seen.shape)}"
    same_precision(coverage, steps)
    assert (seen[0, 0].abs() < 1e-6).all(), "before the first step nothing has been looked at"
    assert torch.allclose(seen[0, 2], torch.tensor([1.4, 0.6])), (
        f"by hand 1.4 and 0.6, not {seen[0, 2]}"
    )

# %% [markdown]
# ## The coverage loss
#
# Looking again at what was covered has a cost: at step $t$, $\sum_i \min(\alpha_{ti}, c_{ti})$, with
# the coverage before the step. `real`, `(B, T)`, is True at the real steps; shorter translations are
# filled up at the end with rows of any finite numbers. Return the mean over all real steps of all
# sentences together, one number as a tensor. Gradients must flow back to the weights, through the
# coverage as well. You may call `coverage`.


# %% question="q4"
def coverage_loss(weights, real):
    # BEGIN ANSWER
    overlap = torch.minimum(weights, coverage(weights)).sum(dim=-1)
    return overlap[real].mean()
    # END ANSWER


# %% check="q4"
with checking("q4"):
    steps = torch.tensor([[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [1.0, 0.0], [9, 9]]])
    loss = coverage_loss(steps, torch.tensor([[True, True, True], [True, True, False]]))
    assert loss is not None, "coverage_loss returns None: is there a return?"
    assert isinstance(loss, torch.Tensor), f"return a tensor, not a {type(loss).__name__}"
    assert loss.shape == (), f"one number, not of shape {tuple(loss.shape)}"
    same_precision(coverage_loss, steps, torch.ones(2, 3).bool())
    assert abs(loss - (0 + 0.6 + 0.8 + 0 + 0.5) / 5) < 1e-4, (
        f"by hand (0 + 0.6 + 0.8 + 0 + 0.5) / 5 = 0.38, not {loss:.4f}"
    )

# %% [markdown]
# ## Alignment error rate
#
# Links are pairs (source position, target position), counted from 0. People marked some as sure, $S$,
# and some as possible; every sure link is possible, too, but the list `possible` may leave the sure
# ones out. With the predicted links $A$,
#
# $$\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}, \qquad P \supseteq S.$$
#
# All three arguments are lists of pairs. A link that occurs in a list more than once counts once.
# `possible` may be empty; the others are not. Return a number, and leave the lists as they are.


# %% question="q5"
def alignment_error_rate(predicted, sure, possible):
    # BEGIN ANSWER
    a, s = set(predicted), set(sure)
    p = set(possible) | s
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))
    # END ANSWER


# %% check="q5"
with checking("q5"):
    rate = alignment_error_rate([(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 1)])
    assert rate is not None, "alignment_error_rate returns None: is there a return?"
    assert abs(rate) < 1e-6, f"all that is sure and nothing else: 0, not {rate:.4f}"
    rate = alignment_error_rate([(0, 0), (0, 1)], [(0, 0), (1, 1)], [(0, 1)])
    assert abs(rate - 0.25) < 1e-6, f"by hand 1 - (1 + 2) / 4 = 0.25, not {rate:.4f}"

# %% [markdown]
# ## By hand
#
# Without a computer: the sure links are (0, 0), (1, 2), (2, 1); the list of possible links has (1,
# 1), (3, 2) besides; the predicted links are (0, 0), (1, 2), (1, 1), (3, 3). What is the alignment
# error rate? Write a number, to two decimals.

# %% question="q6"
# BEGIN ANSWER stub: error_rate_by_hand = None
error_rate_by_hand = 0.29
# END ANSWER

# %% check="q6"
with checking("q6"):
    if error_rate_by_hand is None:
        raise NotImplementedError("write a number: error_rate_by_hand = ...")
    assert not isinstance(error_rate_by_hand, str), "a number, without quotation marks"
    rate = torch.as_tensor(error_rate_by_hand, dtype=torch.float64).item()
    assert 0 <= rate <= 1, "a share lies between 0 and 1"

# %% [markdown]
# ## Measured: long sentences
#
# Now for an experiment. Below is a translator that is as small as they get: it translates word for
# word, with attention by position, and learns from sentences of 5 to 30 words which position to look
# at. It is trained until it makes hardly any mistakes at *these* lengths; then it gets longer
# sentences. For a new random sentence, `translate(length)` gives the map `(steps, words)`, the words
# that it predicts, the right words, and for each step the place of the word that has to be
# translated. When the translator is wrong, did it look at the wrong word, or did it read the right
# one wrongly?
#
# Write the function that answers this. `maps` is a list of what `translate` gives, and `bins` a list
# of pairs: the least and the largest number of source words, both included. Return a list with a row
# of four numbers for each bin, over all steps of all its sentences together:
#
# 1. the mean spread (`spread` is at hand),
# 2. the share of steps that *look right*: whose largest weight lies on the right place,
# 3. the share of words that are right among the steps that look right,
# 4. the share of words that are right among the other steps.
#
# A share or a mean over no steps is 0. A sentence may have more or fewer steps than words.

# %%
WORDS, SIZE = 40, 32
torch.manual_seed(0)
lexicon = torch.randperm(WORDS)


def positions(length):
    """Sines and cosines of several wavelengths for each position."""
    angle = torch.arange(length)[:, None] / 100 ** (torch.arange(0, SIZE, 2) / SIZE)
    return torch.cat([angle.sin(), angle.cos()], dim=1)


embed, read = nn.Embedding(WORDS, SIZE), nn.Linear(SIZE, WORDS)
compare = nn.Linear(SIZE, SIZE, bias=False)
optimizer = torch.optim.Adam([*embed.parameters(), *read.parameters(), *compare.parameters()], 0.01)


def run(source):
    where = positions(source.shape[1])
    states = embed(source)
    scores = compare(where) @ (where + states).transpose(1, 2) / math.sqrt(SIZE)
    weights = torch.softmax(scores, dim=-1)
    return weights, read(weights @ states)


for _ in range(1500):
    source = torch.randint(WORDS, (32, int(torch.randint(5, 31, ()))))
    loss = F.cross_entropy(run(source)[1].flatten(0, 1), lexicon[source].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def translate(length):
    source = torch.randint(WORDS, (1, length))
    weights, logits = run(source)
    return weights[0], logits[0].argmax(-1), lexicon[source[0]], torch.arange(length)


# %% question="q7"
def by_length(maps, bins):
    # BEGIN ANSWER
    def mean(values):
        return values.double().mean().item() if len(values) else 0.0

    table = []
    for low, high in bins:
        spreads, looks, rights = [torch.zeros(0)], [torch.zeros(0).bool()], [torch.zeros(0).bool()]
        for weights, predicted, gold, place in maps:
            words = weights.shape[1]
            if low <= words <= high:
                spreads.append(spread(weights[None], torch.ones(1, words).bool())[0])
                looks.append(weights.argmax(dim=-1) == place)
                rights.append(predicted == gold)
        look, right = torch.cat(looks), torch.cat(rights)
        table.append([mean(torch.cat(spreads)), mean(look), mean(right[look]), mean(right[~look])])
    return table
    # END ANSWER


# %% check="q7"
with checking("q7"):
    flat = torch.tensor([[0.75, 0.25], [1.0, 0.0]])
    one = (flat, torch.tensor([3, 4]), torch.tensor([3, 5]), torch.tensor([0, 1]))
    two = (torch.eye(3), torch.tensor([3, 4, 5]), torch.tensor([3, 4, 6]), torch.tensor([0, 1, 2]))
    table = by_length([one, two], [(1, 2), (2, 3)])
    assert table is not None, "by_length returns None: is there a return?"
    assert len(table) == 2 and all(len(row) == 4 for row in table), "two bins, four numbers each"
    for row, by_hand in zip(table, [(0.406, 0.5, 1, 0), (0.162, 0.8, 0.75, 0)]):
        assert all(abs(a - b) < 1e-3 for a, b in zip(row, by_hand)), (
            f"by hand {by_hand}, not {[round(float(a), 2) for a in row]}"
        )

# %% [markdown]
# ## What follows: looking, or reading?
#
# Take two rows of such a table without their spread: `short` and `long` are triples (share of steps
# that look right, share of words right among them, share right among the others). Long sentences have
# fewer right words than short ones. Suppose that the translator *looked at* long sentences as well
# as at short ones, and still *read* them as it does: the share of steps that look right would be that
# of the short ones, and nothing else would change. What share of the fall in right words would that
# undo? Return a number: 0 if the place of the largest weight explains none of the fall, 1 if it
# explains all of it.


# %% question="q8"
def due_to_looking(short, long):
    # BEGIN ANSWER
    def right(looks, if_so, if_not):
        return looks * if_so + (1 - looks) * if_not

    supposed = right(short[0], long[1], long[2])
    return (supposed - right(*long)) / (right(*short) - right(*long))
    # END ANSWER


# %% check="q8"
with checking("q8"):
    share = due_to_looking((1.0, 1.0, 0.0), (0.5, 1.0, 0.0))
    assert share is not None, "due_to_looking returns None: is there a return?"
    share = torch.as_tensor(share, dtype=torch.float64).item()
    assert abs(share - 1) < 1e-3, f"only the looking differs: all of the fall, 1, not {share:.2f}"
    share = due_to_looking((0.8, 1.0, 0.0), (0.8, 0.5, 0.0))
    share = torch.as_tensor(share, dtype=torch.float64).item()
    assert abs(share) < 1e-3, f"both look alike: nothing of the fall, 0, not {share:.2f}"

# %% [markdown]
# Now measure. Translate 40 sentences in each of three bins, 5–10, 20–30 and 50–100 words, and print
# the table. First make sure that the translator is right at the lengths that it learned from: only
# then do the long sentences say anything about length. Then let `due_to_looking` compare the first
# bin with the last, and write down in a sentence what you conclude. (In this
# model, can reading depend on length?)

# %% tags=["nbval-ignore-output"]
# BEGIN ANSWER stub: # Your experiment goes here: translate, tabulate, compare.
bins = [(5, 10), (20, 30), (50, 100)]
lengths = [int(torch.randint(low, high + 1, ())) for low, high in bins for _ in range(40)]
table = by_length([translate(length) for length in lengths], bins)
print("words    spread  looks right  right if so  right if not")
for (low, high), row in zip(bins, table):
    print(f"{low:2}-{high:3} {row[0]:9.2f} {row[1]:12.2f} {row[2]:12.2f} {row[3]:13.2f}")
learned, long = table[:2], table[2]
assert all(looks * right > 0.95 for _, looks, right, _ in learned), "solved where it learned"
share = due_to_looking(table[0][1:], long[1:])
print(f"share of the fall that is due to looking: {share:.2f}")
# Both: in most of the long sentences' errors the largest weight lies on another word, and where it
# lies on the right one, so much lies elsewhere that the mixture is read as another word.
assert 0.5 < share < 1 and long[2] < 0.95
# END ANSWER

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then draw one map of each bin. Where do the long ones look:
# one or two places beside the right one, or anywhere?
