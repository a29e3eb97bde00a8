# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 40
#     covers: [F-21, F-33]
# ---

# %% [markdown]
# # Exercise: training and decoding
#
# Write what it takes to train and use a decoder: the loss, one training step, greedy decoding.
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other ids, padding, other decoders.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn` and `math` are
#   there already.
# - Everything is plain PyTorch: return tensors, not lists or NumPy arrays, of the dtype that came in,
#   and leave the arguments as they are. `seqattn` is the answer key, so importing it in an answer
#   earns nothing.
# - In a mask, True means *may be attended*.
#
# Save the notebook first. To check in a terminal: `seqattn check 07_training.ipynb`. For points and hints:
# `seqattn grade 07_training.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from seqattn.grading import checking, same_precision

# %% [markdown]
# ## Targets and loss
#
# A batch of target sentences `y` is `(B, T)`: each begins with a start mark, ends with an end mark,
# and is filled up with `pad`. The ids of these three differ from vocabulary to vocabulary; `pad` is
# told, and need not be 0. The decoder was given `y[:, :-1]` and said `logits`, `(B, T - 1, V)`: row
# $t$ predicts token $t + 1$. Return the mean cross-entropy, in nats, over **all real targets of the
# batch together**, as a tensor of no axes through which gradients flow; the end mark is a target,
# pads are not. Logits may be in the hundreds.


# %% question="q1"
def sequence_loss(y, logits, pad):
    # BEGIN ANSWER
    return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    y = torch.tensor([[1, 4, 5, 2], [1, 3, 2, 0]])
    loss = sequence_loss(y, torch.zeros(2, 3, 6), 0)
    assert loss is not None, "sequence_loss returns None: is there a return?"
    assert isinstance(loss, torch.Tensor), f"return a tensor, not a {type(loss).__name__}"
    assert loss.shape == (), f"the loss is one number, not of shape {tuple(loss.shape)}"
    same_precision(sequence_loss, y, torch.zeros(2, 3, 6), 0)
    assert abs(loss - math.log(6)) < 1e-4, f"six words, all as likely: log 6 = 1.79, not {loss:.2f}"
    sure = torch.full((2, 3, 6), -20.0).scatter(2, y[:, 1:, None], 20.0)
    assert sequence_loss(y, sure, 0) < 0.01, "sure of the next token everywhere: the loss is near 0"

# %% [markdown]
# ## A training step
#
# `model(inputs)` takes tokens `(B, T - 1)` and gives logits as above. Do one step of training on the
# batch `y`: put the model into training mode; gradients of this batch alone, with `sequence_loss`;
# clip their norm, all parameters together, to `max_norm`; one step of the optimizer that is handed
# in, whichever it is. Return the loss before the update, as a plain number, not as a tensor. (The
# model has modules inside; gradients of an earlier batch may still be there.)


# %% question="q2"
def train_step(model, optimizer, y, pad, max_norm):
    # BEGIN ANSWER
    model.train()
    optimizer.zero_grad()
    loss = sequence_loss(y, model(y[:, :-1]), pad)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
    # END ANSWER


# %% check="q2"
with checking("q2"):
    torch.manual_seed(0)
    y = torch.tensor([[1, 4, 5, 2], [1, 3, 2, 0]])
    model = nn.Sequential(nn.Embedding(6, 8), nn.Linear(8, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = [train_step(model, optimizer, y, 0, 1.0) for _ in range(40)]
    assert losses[0] is not None, "train_step returns None: is there a return?"
    assert isinstance(losses[0], float), f"return a plain number, not a {type(losses[0]).__name__}"
    assert losses[-1] < losses[0] / 2, (
        f"40 steps should halve the loss: {losses[0]:.2f} to {losses[-1]:.2f}"
    )

# %% [markdown]
# ## Greedy decoding
#
# `step(tokens, state)` takes the last token of each sentence, `(batch,)`, and a state; it gives
# `logits`, `(batch, V)`, and the next state. What a state is, is the decoder's business: hand it on
# as it comes. Begin with `bos` and the given state, take the largest logit at each step, and return
# the words as a `(batch, T)` tensor of whole numbers:
#
# - without `bos`, with each sentence's `eos`, and with `pad` after it;
# - no sentence is longer than `max_len` words (its `eos` counts, `bos` does not), and `T` is the
#   length of the longest;
# - stop as soon as all sentences have ended: `step` is expensive.
#
# The three ids may be any, and in some models two of them coincide: `bos` with `eos`, or `pad` with
# one of them. A model may say any id in the middle of a sentence, `bos` and `pad` too: only `eos`
# ends it.


# %% question="q3"
def greedy_decode(step, state, batch, bos, eos, pad, max_len):
    # BEGIN ANSWER
    tokens = torch.full((batch,), bos)
    done = torch.zeros(batch, dtype=torch.bool)
    words = []
    for _ in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(-1).masked_fill(done, pad)
        words.append(tokens)
        done = done | (tokens == eos)
        if done.all():
            break
    return torch.stack(words, dim=1)
    # END ANSWER


# %% check="q3"
with checking("q3"):

    def count_down(tokens, state):
        """Says 5, 4, 3 ... from where the state stands; 2 is the end."""
        return F.one_hot(state, 9).float(), (state - 1).clamp(min=2)

    words = greedy_decode(count_down, torch.tensor([5, 3]), batch=2, bos=1, eos=2, pad=0, max_len=7)
    assert words is not None, "greedy_decode returns None: is there a return?"
    assert isinstance(words, torch.Tensor), f"return a tensor, not a {type(words).__name__}"
    assert words.dtype == torch.int64, f"words are whole numbers, int64, not {words.dtype}"
    assert words[0].tolist() == [5, 4, 3, 2], (
        f"the first sentence is 5 4 3 2, not {words[0].tolist()}"
    )
    assert words[1].tolist() == [3, 2, 0, 0], (
        f"the second is 3 2, then pads, not {words[1].tolist()}"
    )

# %% [markdown]
# ## What next
#
# `seqattn grade` tells your points. Then train the small model of the second check on pairs of your
# own, and decode with it.
