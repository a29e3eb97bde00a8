# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 70
#     covers: [F-14, M-06, M-07, X-03]
# ---

# %% [markdown]
# # Exercise 14: a sentence looks at itself
#
# Let the words of padded sentences ask each other, open and close the right places, catch a program that
# reads ahead, and average words without their pads. Then classify reviews with your code, and say where
# looking at each other helps. The chapter is [A sentence looks at
# itself](../chapters/14_self_attention.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries small
# numbers. Grading tries many more: other sizes, as many sentences as words, padding, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are there
#   already.
# - Everything is plain PyTorch: return tensors of the same precision as those that come in, not lists or
#   NumPy arrays, and leave the arguments as they are. `seqattn` is the answer key, so importing it in an
#   answer earns nothing.
# - There are `B` sentences, `T` words that ask, and `S` words that are asked. In a mask, True means *may be
#   attended*.
#
# Save the notebook first. To check in a terminal: `seqattn check 14_self_attention.ipynb`. For points and
# hints: `seqattn grade 14_self_attention.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision

# %% [markdown]
# ## Sentences that look at themselves
#
# `X`, `(B, T, d)`, holds the states of padded sentences. In sentence `b` the first `lengths[b]` words are
# real; `lengths`, `(B,)`, holds whole numbers of at least 1. Multiply the states by the matrices `W_q` and
# `W_k`, `(d, d_k)`, and `W_v`, `(d, d_v)`, from the right, as in `X @ W_q`. At pads `X` may hold any finite
# numbers.
#
# Return what each word gets, `(B, T, d_v)`. No word looks at a pad. With `causal`, no word looks at a later
# word either. **Rows of pads come back as zeros.** Write the softmax over the scores yourself, or call
# PyTorch's; operators that attend are not allowed here.


# %% question="q1"
def self_attention(X, W_q, W_k, W_v, lengths, causal):
    # BEGIN ANSWER
    real = torch.arange(X.shape[1]) < lengths[:, None]
    open_to = real[:, None, :].repeat(1, X.shape[1], 1)
    if causal:
        open_to = open_to.tril()
    scores = (X @ W_q) @ (X @ W_k).mT / math.sqrt(W_k.shape[1])
    weights = scores.masked_fill(~open_to, -math.inf).softmax(-1)
    return (weights @ (X @ W_v)).masked_fill(~real[:, :, None], 0.0)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    X = torch.tensor([[[1.0, 0.5], [-0.5, 1.5], [0.5, -1.0]]])
    eye, three = torch.eye(2), torch.tensor([3])
    found = self_attention(X, eye, eye, eye, three, False)
    assert found is not None, "self_attention returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (1, 3, 2), f"(B, T, d_v) is (1, 3, 2), not {tuple(found.shape)}"
    same_precision(self_attention, X, eye, eye, eye, three, False)
    assert torch.allclose(found[0, 0], torch.tensor([0.504, 0.433]), atol=2e-3), (
        f"the chapter's first word gets 0.504 and 0.433, not {found[0, 0].tolist()}"
    )
    first = self_attention(X, eye, eye, eye, three, True)[0, 0]
    assert torch.allclose(first, X[0, 0]), f"causal, word 1 gets itself, not {first.tolist()}"

# %% [markdown]
# ## The words so far
#
# A decoder has read `past` words before, and now reads `T` more at once. The queries are only the `T` new
# words; the keys are all words, the old ones first. Return the mask `(T, past + T)` under which each new word
# sees itself and all that came before it, and nothing later. `past` may be 0.


# %% question="q2"
def mask_with_past(T, past):
    # BEGIN ANSWER
    return torch.ones(T, past + T, dtype=torch.bool).tril(past)
    # END ANSWER


# %% check="q2"
with checking("q2"):
    found = mask_with_past(1, 2)
    assert found is not None, "mask_with_past returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (1, 3), f"(T, past + T) is (1, 3), not {tuple(found.shape)}"
    assert found.dtype == torch.bool, f"a mask is boolean, not {found.dtype}"
    assert found.all(), "one new word sees two old ones and itself"

# %% [markdown]
# ## Does it read ahead?
#
# `step_fn(tokens)` takes ids `(B, T)` from 0 to `vocab` − 1 and returns numbers `(B, T, n)`. Row $t$ is meant
# to depend on the ids of its own sentence up to and including $t$. Return True if some row depends on a
# *later* id, and False if none does. You may call `step_fn` as often as you like, with any ids of that range
# and any number of words. Rounding makes its numbers differ by about 1e-7 from call to call. A leak moves at
# least one of them by more than 1e-4 when the later id changes, whichever other id takes its place. It does so, too,
# when all the ids after a row change at once, or are left out. `T` and `vocab` are at least 2. Leave `tokens` as
# they are.


# %% question="q3"
def leaks(step_fn, tokens, vocab):
    # BEGIN ANSWER
    before = step_fn(tokens)
    for t in range(1, tokens.shape[1]):
        changed = tokens.clone()
        changed[:, t] = (changed[:, t] + 1) % vocab
        if (step_fn(changed)[:, :t] - before[:, :t]).abs().max() > 1e-5:
            return True
    return False
    # END ANSWER


# %% check="q3"
with checking("q3"):
    ids = torch.tensor([[1, 0, 2, 1]])
    found = leaks(lambda x: x[..., None].float().flip(1), ids, 3)
    assert found is not None, "leaks returns None: is there a return?"
    assert found, "a function that reverses the sentence reads ahead"
    assert not leaks(lambda x: x[..., None].float(), ids, 3), "row t may depend on word t itself"
    assert ids.tolist() == [[1, 0, 2, 1]], "leave the tokens as they are"

# %% [markdown]
# ## Two masks for a decoder
#
# `source`, `(B, S)`, and `target`, `(B, T)`, are ids, padded on the right with `pad`, which need not be 0. A
# decoder looks at its own words and at the source. Return the two masks that it needs, both with all axes:
#
# 1. for target words that look at target words, `(B, T, T)`: no later word, and no pad;
# 2. for target words that look at source words, `(B, T, S)`.
#
# Rows of pads are treated like all others: a pad closes its column, never its row.


# %% question="q4"
def decoder_masks(source, target, pad):
    # BEGIN ANSWER
    T = target.shape[1]
    own = (target != pad)[:, None, :].repeat(1, T, 1).tril()
    return own, (source != pad)[:, None, :].repeat(1, T, 1)
    # END ANSWER


# %% check="q4"
with checking("q4"):
    found = decoder_masks(torch.tensor([[5, 6, 9]]), torch.tensor([[7, 8]]), 9)
    assert found is not None, "decoder_masks returns None: is there a return?"
    assert len(found) == 2, "two masks: target to target, and target to source"
    for mask, shape in zip(found, ((1, 2, 2), (1, 2, 3))):
        assert isinstance(mask, torch.Tensor), f"a mask is a tensor, not a {type(mask).__name__}"
        assert mask.shape == shape, f"expected the shape {shape}, not {tuple(mask.shape)}"
        assert mask.dtype == torch.bool, f"a mask is boolean, not {mask.dtype}"
    assert found[0].int().tolist() == [[[1, 0], [1, 1]]], "the first target word sees itself alone"

# %% [markdown]
# ## One vector for a sentence
#
# `x`, `(B, T, d)`, holds the states of padded sentences; in sentence `b` the first `lengths[b]` are real.
# Return the mean of each sentence's real states, `(B, d)`. A sentence without words gives zeros. Pads may
# hold anything, even NaN. Gradients must flow back to the real states, and none of them may be NaN.


# %% question="q5"
def masked_mean(x, lengths):
    # BEGIN ANSWER
    real = torch.arange(x.shape[1]) < lengths[:, None]
    total = x.masked_fill(~real[:, :, None], 0.0).sum(1)
    return total / lengths.clamp(min=1)[:, None]
    # END ANSWER


# %% check="q5"
with checking("q5"):
    x = torch.tensor([[[1.0, 4.0], [3.0, 8.0]], [[5.0, 6.0], [7.0, 7.0]]])
    found = masked_mean(x, torch.tensor([2, 2]))
    assert found is not None, "masked_mean returns None: is there a return?"
    assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
    assert found.shape == (2, 2), f"(B, d) is (2, 2), not {tuple(found.shape)}"
    same_precision(masked_mean, x, torch.tensor([2, 2]))
    assert found[0].tolist() == [2, 6], f"the first mean is 2 and 6, not {found[0].tolist()}"

# %% [markdown]
# ## Is it praise?
#
# Put a classifier of sentences together: embedding, self-attention, mean, linear layer. Write a module
# `SentenceClassifier(words, d, classes)` with these parameters and no others:
#
# - `E` `(words, d)`, a row for each id;
# - `W_q`, `W_k` and `W_v`, `(d, d)`, by which the states are multiplied from the right, as in the first
#   question;
# - `W` `(d, classes)` and `b` `(classes,)`.
#
# `forward(ids, lengths)` gets the ids of padded sentences, `(B, T)`. In sentence `b` the first `lengths[b]`
# are words; at a pad there may be any id. Look up the rows, let all words of a sentence look at each other,
# and add to each state what it gets. Average these states over the real words, which gives $m$, and return the logits $m^\top W + b$ of each sentence,
# `(B, classes)`, without a softmax. There are no positions, and nothing is causal. You may call
# `self_attention` and `masked_mean`; grading uses right versions of both, whatever yours do. A parameter
# whose name does not begin with `b` starts with random numbers, neither tiny nor huge.


# %% question="q6"
class SentenceClassifier(nn.Module):
    def __init__(self, words, d, classes):
        super().__init__()
        # BEGIN ANSWER
        self.E = nn.Parameter(torch.randn(words, d))
        for name in ("W_q", "W_k", "W_v"):
            setattr(self, name, nn.Parameter(torch.randn(d, d) / math.sqrt(d)))
        self.W = nn.Parameter(torch.randn(d, classes) / math.sqrt(d))
        self.b = nn.Parameter(torch.zeros(classes))
        # END ANSWER

    def forward(self, ids, lengths):
        # BEGIN ANSWER
        x = self.E[ids]
        x = x + self_attention(x, self.W_q, self.W_k, self.W_v, lengths, False)
        return masked_mean(x, lengths) @ self.W + self.b
        # END ANSWER


# %% check="q6"
with checking("q6"):
    torch.manual_seed(0)
    made = SentenceClassifier(5, 2, 3)
    shapes = {name: tuple(p.shape) for name, p in made.named_parameters()}
    expected = {"E": (5, 2), "W_q": (2, 2), "W_k": (2, 2), "W_v": (2, 2), "W": (2, 3), "b": (3,)}
    assert shapes == expected, f"the parameters are {expected}, not {shapes}"
    ids, lengths = torch.tensor([[1, 2, 2], [3, 0, 0]]), torch.tensor([3, 1])
    logits = made(ids, lengths)
    assert logits is not None, "forward returns None: is there a return?"
    assert isinstance(logits, torch.Tensor), f"return a tensor, not a {type(logits).__name__}"
    assert logits.shape == (2, 3), f"(B, classes) is (2, 3), not {tuple(logits.shape)}"
    e = made.E[3]
    alone = (e + e @ made.W_v) @ made.W + made.b
    assert torch.allclose(logits[1], alone, atol=1e-5), (
        f"one word alone looks at itself: {alone.tolist()}, not {logits[1].tolist()}"
    )
    double = made.double()(ids, lengths)
    assert double.dtype == torch.float64, f"from float64 comes float64, not {double.dtype}"

# %% [markdown]
# ## What follows: where does it help?
#
# Two kinds of reader were trained with several seeds each. One averages embeddings; the other looks first.
# All have labelled the same test sentences: `plain` and `attends` are `(seeds, N)`, with an odd number of
# seeds. `labels` `(N,)` are the right labels, and `kinds` `(N,)` gives the kind of each sentence, a whole
# number from 0. For each kind of reader the *majority* of its seeds decides: it is right on a sentence if
# more than half of its seeds are.
#
# `K` is the largest number in `kinds` plus 1. Return four things for each kind from 0 to `K` − 1, in their
# order; a kind without sentences has a row as well:
#
# 1. how many sentences `attends` is right on and `plain` is not;
# 2. how many the other way round;
# 3. how probable so uneven a division is by luck. Let `n` be the sum of the first two, and suppose that a
#   fair coin had said for each of these sentences who is right. How probable is a division at least as uneven
#   as this one, *either* way? Return 1 where `n` is 0;
# 4. whether looking helps there: True if the first number is larger than the second, and the third is below
#   $0.05 / K$. (Whoever looks at `K` kinds has `K` chances of being lucky.)
#
# Sentences on which both are right, or both are wrong, say nothing here.


# %% question="q7"
def where_it_helps(plain, attends, labels, kinds):
    # BEGIN ANSWER
    without, within = (2 * (said == labels).sum(0) > len(said) for said in (plain, attends))
    rows, K = [], int(kinds.max()) + 1
    for kind in range(K):
        gained = int((within & ~without & (kinds == kind)).sum())
        lost = int((without & ~within & (kinds == kind)).sum())
        n = gained + lost
        uneven = sum(math.comb(n, i) for i in range(n + 1) if abs(2 * i - n) >= abs(gained - lost))
        luck = uneven / 2**n
        rows.append((gained, lost, luck, gained > lost and luck < 0.05 / K))
    return rows
    # END ANSWER


# %% check="q7"
with checking("q7"):
    labels = torch.ones(12).long()
    kinds = torch.tensor([0] * 4 + [1] * 8)
    plain = torch.tensor([[1, 1, 1, 0] + [0] * 8])
    attends = torch.tensor([[1, 1, 1, 1] + [1] * 7 + [0]])
    rows = where_it_helps(plain, attends, labels, kinds)
    assert rows is not None, "where_it_helps returns None: is there a return?"
    assert len(rows) == 2, f"two kinds, two rows, not {len(rows)}"
    for row, by_hand in zip(rows, [(1, 0, 1, False), (7, 0, 2 / 128, True)]):
        assert len(row) == 4, f"four things for each kind, not {len(row)}"
        for name, x, expected in zip(("gained", "lost", "luck", "helps"), row, by_hand):
            assert abs(float(x) - expected) < 1e-6, f"{name}: by hand {expected}, not {x}"

# %% [markdown]
# Now measure. Below are reviews that nobody wrote: one adjective praises or blames, and in one sentence of
# four *not* or *never* turns its meaning round. Train your classifier and one that averages embeddings, with
# three seeds each; that takes ten seconds in all. Divide the test sentences into those without a negation, 0,
# and those with one, 1. Then write down in a sentence what follows, and what does not follow for real
# reviews.

# %%
from seqattn.data import invented_reviews

reviews = invented_reviews(3000)
words = sorted({word for one in reviews for word in one.text.split()})
rows = [torch.tensor([words.index(word) for word in one.text.split()]) for one in reviews]
all_ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)
all_lengths = torch.tensor([len(row) for row in rows])
all_labels = torch.tensor([int(one.positive) for one in reviews])
negated = torch.tensor([int({"not", "never"} & {*one.text.split()} != set()) for one in reviews])
TEST = slice(2000, 3000)


class Averager(nn.Module):
    """The mean of the embeddings, and a linear layer."""

    def __init__(self, words, d, classes):
        super().__init__()
        self.embed, self.readout = nn.Embedding(words, d), nn.Linear(d, classes)

    def forward(self, ids, lengths):
        return self.readout(masked_mean(self.embed(ids), lengths))


def said_by(kind, seed):
    """Train a reader on 2,000 sentences; return its labels for the 1,000 others."""
    torch.manual_seed(seed)
    reader = kind(len(words), 16, 2)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
    for _ in range(600):
        at = torch.randint(2000, (64,))
        loss = F.cross_entropy(reader(all_ids[at], all_lengths[at]), all_labels[at])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return reader(all_ids[TEST], all_lengths[TEST]).argmax(-1)


# %% tags=["nbval-ignore-output"]
# BEGIN ANSWER stub: # Your experiment goes here: said_by(...), where_it_helps(...), and a sentence.
plain, attends = (
    torch.stack([said_by(kind, seed) for seed in range(3)])
    for kind in (Averager, SentenceClassifier)
)
labels, kinds = all_labels[TEST], negated[TEST]
for name, said in (("averages", plain), ("attends", attends)):
    shares = [f"{(row == labels)[kinds == k].float().mean():.2f}" for row in said for k in (0, 1)]
    print(f"{name:9} right without and with negation, by seed: {shares}")
for name, row in zip(("without", "with"), where_it_helps(plain, attends, labels, kinds)):
    print(f"{name:8} gained {row[0]}, lost {row[1]}, luck {row[2]:.2g}, helps: {row[3]}")
# Looking at each other beats a linear average where two words decide together; a hidden layer behind the
# average might do so too. Where one word decides, an average finds it as well. In how many
# real reviews two words decide together, sentences made for the purpose cannot say.
# END ANSWER

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then try your `leaks` on a decoder that you wrote before: no training is
# needed.
