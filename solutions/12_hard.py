# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-20, F-25, M-11, M-22, X-05]
# ---

# %% [markdown]
# # Exercise 12: choosing one place
#
# Write what a model needs that chooses by throwing dice: the log-probability of its choice, a surrogate
# whose baseline comes from other draws, the exact noise of an estimate, and straight-through. Then put
# together a loss that has penalties, and judge a study of attention dropout. The chapter is [Choosing one
# place](../chapters/12_hard.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries small
# numbers. Grading tries many more: other sizes, padding, extreme numbers, gradients.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers too. `torch`, `F`, `nn`, `math` and `np` are
#   there already.
# - Everything is plain PyTorch: return tensors of the same precision as those that come in, not lists or
#   NumPy arrays, unless the question says otherwise. `seqattn` is the answer key, so importing it in an
#   answer earns nothing.
# - In a mask, True means *real*. Where a mask is False, any number may stand, NaN too.
# - Do not change the tensors that you are given: the caller still needs them.
#
# Save the notebook first. To check in a terminal: `seqattn check 12_hard.ipynb`. For points and hints:
# `seqattn grade 12_hard.ipynb`. In a notebook cell, put an exclamation mark in front.

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
# ## The log-probability of a choice
#
# Each of `B` queries chose one of `S` places. `index` `(B,)` says which one, `scores` is `(B, S)`, and
# `mask` `(B, S)` says which places are real. The choice was drawn from the softmax over the real places.
# Where a row has no real place, nothing was chosen, and `index` is −1.
#
# Return the natural logarithm of each choice's probability, `(B,)`, and 0 where there was no choice. Scores
# may be in the hundreds: an unlikely choice has a log-probability of −200, not of minus infinity. Gradients
# flow back to the scores.


# %% question="q1"
def log_prob_of_choice(scores, index, mask):
    # BEGIN ANSWER
    # A finite fill keeps rows without a real place free of NaN, backward too.
    open_ = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    logs = open_.log_softmax(-1).gather(1, index.clamp(min=0)[:, None])[:, 0]
    return logs.masked_fill(index < 0, 0.0)
    # END ANSWER


# %% check="q1"
with checking("q1"):
    scores = torch.tensor([[0.0, 0.0, 7.0], [300.0, 0.0, 1.0], [5.0, 5.0, 5.0]])
    mask = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    logs = log_prob_of_choice(scores, torch.tensor([1, 1, -1]), mask)
    assert logs is not None, "log_prob_of_choice returns None: is there a return?"
    assert isinstance(logs, torch.Tensor), f"return a tensor, not a {type(logs).__name__}"
    assert logs.shape == (3,), f"one number for each query, (3,), not {tuple(logs.shape)}"
    by_hand = torch.tensor([-math.log(2), -300.0, 0.0])
    assert torch.allclose(logs, by_hand), f"by hand {by_hand.tolist()}, not {logs.tolist()}"
    same_precision(log_prob_of_choice, scores, torch.tensor([1, 1, -1]), mask)

# %% [markdown]
# ## A baseline from the other draws
#
# A running mean is one baseline for all inputs. Another knows how hard each input is, which
# helps where inputs differ: draw several times for each, and measure each draw by *the others*.
#
# `log_prob`, `reward` and `mask` are `(B, n)`, with a row for each input and a column for each draw. Some
# draws are missing; there `mask` is False. The baseline of a real draw is the mean reward of the other real
# draws in its row, or 0 if there is no other. Return the surrogate, a scalar: minus the mean over all real
# draws of (reward − baseline) · log-probability. Minimising it makes good choices likelier. No gradient may
# reach the rewards. There is at least one real draw.


# %% question="q2"
def surrogate(log_prob, reward, mask):
    # BEGIN ANSWER
    reward = reward.detach().masked_fill(~mask, 0.0)
    others = (mask.sum(1, keepdim=True) - 1).clamp(min=1)
    baseline = (reward.sum(1, keepdim=True) - reward) / others
    each = (reward - baseline) * log_prob.masked_fill(~mask, 0.0)
    return -each.sum() / mask.sum()
    # END ANSWER


# %% check="q2"
with checking("q2"):
    log_prob = torch.tensor([[-1.0, -2.0, 9.0], [-3.0, 9.0, 9.0]], requires_grad=True)
    reward = torch.tensor([[4.0, 1.0, 9.0], [2.0, 9.0, 9.0]], requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    loss = surrogate(log_prob, reward, mask)
    assert loss is not None, "surrogate returns None: is there a return?"
    assert isinstance(loss, torch.Tensor), f"return a tensor, not a {type(loss).__name__}"
    assert loss.shape == (), f"return a scalar, not a tensor of shape {tuple(loss.shape)}"
    # 3 · (−1), −3 · (−2) and 2 · (−3): minus their mean.
    assert abs(loss.item() - 1) < 1e-6, f"by hand 1, not {loss.item()}"
    loss.backward()
    assert reward.grad is None or not reward.grad.any(), "no gradient may reach the rewards"
    same_precision(surrogate, log_prob.detach(), reward.detach(), mask)

# %% [markdown]
# ## The noise, counted
#
# `weights` `(S,)` are the probabilities of the places, all positive. `rewards` `(S,)` says what each place
# would earn. One draw gives the estimate $(r_I - b)\, \nabla_e \log \alpha_I$ of the gradient with respect
# to the scores $e$, a vector of `S` numbers. Its *total variance* is the sum of the variances of those
# numbers over the draw $I \sim \alpha$. The estimate may also be a mean of `n` independent draws.
#
# Return the total variance of the estimate, as a tensor without axes or a plain number. Compute it by
# counting, without dice. `b` and `n` are plain numbers.


# %% question="q3"
def exact_noise(weights, rewards, b, n):
    # BEGIN ANSWER
    slopes = torch.eye(len(weights), dtype=weights.dtype) - weights
    estimates = (rewards - b)[:, None] * slopes
    off = estimates - weights @ estimates
    return (weights @ off.square()).sum() / n
    # END ANSWER


# %% check="q3"
with checking("q3"):
    weights = torch.tensor([0.5, 0.5])
    # Estimates 2 · (0.5, −0.5) and (0, 0): each number has the variance 0.25.
    noise = exact_noise(weights, torch.tensor([2.0, 0.0]), 0.0, 1)
    assert noise is not None, "exact_noise returns None: is there a return?"
    assert abs(float(noise) - 0.5) < 1e-6, f"by hand 0.5, not {float(noise)}"
    assert abs(float(exact_noise(weights, torch.tensor([2.0, 0.0]), 1.0, 1))) < 1e-6, (
        "with b = 1 both draws give the same estimate: no noise"
    )

# %% [markdown]
# ## Straight-through
#
# Fetch one place, and learn as if you had mixed. `weights` `(B, S)` came from a softmax, `values` is
# `(B, S, d)`, and `index` `(B,)` holds the chosen places. Return the contexts `(B, d)`:
#
# - forward, row `b` is *exactly* the value at its chosen place;
# - backward, gradients reach `weights` as from the mixture $\sum_i \alpha_i v_i$. They reach `values` at
#   the chosen place alone, as from the fetched value.
#
# Mind the second point: values learn from what was fetched, not from what was not. Values at other places
# may be large, up to a million. A trick helps: `x - x.detach()` is exactly 0 forward, and backward it has the
# gradient of `x`.


# %% question="q4"
def straight_through(weights, values, index):
    # BEGIN ANSWER
    fetched = values[torch.arange(len(index)), index]
    # Values take no part in the mixture's gradient: what was not fetched learns nothing.
    mixed = torch.einsum("bs,bsd->bd", weights, values.detach())
    return fetched + (mixed - mixed.detach())
    # END ANSWER


# %% check="q4"
with checking("q4"):
    weights = torch.tensor([[0.25, 0.75]], requires_grad=True)
    values = torch.tensor([[[1.0, 2.0], [5.0, -4.0]]], requires_grad=True)
    context = straight_through(weights, values, torch.tensor([1]))
    assert context is not None, "straight_through returns None: is there a return?"
    assert isinstance(context, torch.Tensor), f"return a tensor, not a {type(context).__name__}"
    assert context.shape == (1, 2), f"(B, d) is (1, 2), not {tuple(context.shape)}"
    assert context.tolist() == [[5.0, -4.0]], f"forward: the fetched value, not {context.tolist()}"
    # 1/3 is exact in no precision, so rounding on the way back shows.
    (context.sum() / 3).backward()
    right = torch.tensor([[1.0, 1 / 3]])
    assert weights.grad is not None and torch.allclose(weights.grad, right), (
        f"backward: a third of the sums of the values, {right}, not {weights.grad}"
    )
    right = torch.tensor([[[0.0, 0.0], [1 / 3, 1 / 3]]])
    assert values.grad is not None and torch.allclose(values.grad, right), (
        f"backward, values: a third for what was fetched alone, not {values.grad}"
    )
    same_precision(straight_through, weights.detach(), values.detach(), torch.tensor([1]))

# %% [markdown]
# ## A loss with penalties
#
# `nats` `(B, T)` holds minus the log-probability of each target word, and `weights` `(B, T, S)` the maps.
# `written` `(B, T)` and `read` `(B, S)` say which target and source words are real. Put the loss together,
# a scalar with gradients to `nats` and `weights`. It is the sum of three terms:
#
# - the mean of `nats` over all real target words of the batch;
# - `rows` times the mean of $1 - \sum_i \alpha_{ti}^2$ over all real target words, where the sum runs over
#   real source words;
# - `columns` times the mean of $(1 - \sum_t \alpha_{ti})^2$ over all real source words, where the sum runs
#   over real target words.
#
# `rows` and `columns` are plain numbers of either sign. Rows of pads, and columns of pads, may hold
# anything.


# %% question="q5"
def total_loss(nats, weights, written, read, rows, columns):
    # BEGIN ANSWER
    both = written[:, :, None] & read[:, None, :]
    weights = weights.masked_fill(~both, 0.0)
    spread = 1 - weights.square().sum(-1)
    missing = (1 - weights.sum(1)).square()
    return nats[written].mean() + rows * spread[written].mean() + columns * missing[read].mean()
    # END ANSWER


# %% check="q5"
with checking("q5"):
    nats = torch.tensor([[1.0, 3.0], [2.0, 99.0]])
    weights = torch.tensor([[[0.5, 0.5], [1.0, 0.0]], [[1.0, 7.0], [7.0, 7.0]]])
    written = torch.tensor([[True, True], [True, False]])
    read = torch.tensor([[True, True], [True, False]])
    # Words 2; rows 0.5, 0 and 0; columns 0.25, 0.25 and 0.
    for rows, columns, by_hand in ((0.0, 0.0, 2.0), (6.0, 0.0, 3.0), (0.0, 6.0, 3.0)):
        loss = total_loss(nats, weights, written, read, rows, columns)
        assert loss is not None, "total_loss returns None: is there a return?"
        assert isinstance(loss, torch.Tensor), f"return a tensor, not a {type(loss).__name__}"
        assert loss.shape == (), f"return a scalar, not a tensor of shape {tuple(loss.shape)}"
        assert abs(loss.item() - by_hand) < 1e-6, (
            f"rows {rows}, columns {columns}: by hand {by_hand}, not {loss.item()}"
        )
    same_precision(total_loss, nats, weights, written, read, 1.0, 1.0)

# %% [markdown]
# ## What follows: does attention dropout generalise?
#
# A model was trained without attention dropout and with some dropout rates, each with several seeds.
# `known`, `valid` and `test` are lists of equal shape. Each has a list for every rate, with a plain number
# for every seed: nats per word on pairs that were learned, on validation pairs and on test pairs. The first
# rate is always 0. Return a dict:
#
# - `"chosen"`: the position of the rate with the lowest mean on *validation* pairs, or the first of several
#   that tie;
# - `"gap"`: a list with a number for each rate, the mean on test pairs minus the mean on known pairs: how
#   much worse the model does on what it has not seen;
# - `"verdict"`: a text that compares the *test* numbers of the chosen rate with those of rate 0. It is
#   `"dropout is better"` if every seed of the chosen rate is below every seed of rate 0, and
#   `"dropout is worse"` if every one is above. It is `"no dropout"` if the chosen rate is 0, and otherwise
#   `"no difference seen"`.


# %% question="q6"
def judge(known, valid, test):
    # BEGIN ANSWER
    means = [sum(seeds) / len(seeds) for seeds in valid]
    chosen = means.index(min(means))
    gap = [sum(t) / len(t) - sum(k) / len(k) for k, t in zip(known, test)]
    plain, dropped = test[0], test[chosen]
    verdict = "no difference seen"
    if chosen == 0:
        verdict = "no dropout"
    elif max(dropped) < min(plain):
        verdict = "dropout is better"
    elif min(dropped) > max(plain):
        verdict = "dropout is worse"
    return {"chosen": chosen, "gap": gap, "verdict": verdict}
    # END ANSWER


# %% check="q6"
with checking("q6"):
    known, valid = [[0.5, 0.7], [1.0, 1.0]], [[2.5, 2.7], [2.0, 2.2]]
    found = judge(known, valid, [[2.5, 2.7], [2.0, 2.4]])
    assert found is not None, "judge returns None: is there a return?"
    assert isinstance(found, dict), f"return a dict, not a {type(found).__name__}"
    assert set(found) == {"chosen", "gap", "verdict"}, f"the entries are {set(found)}"
    assert found["chosen"] == 1, (
        f"2.1 is lower than 2.6 on validation pairs: 1, not {found['chosen']}"
    )
    gap = [round(float(x), 4) for x in found["gap"]]
    assert gap == [2.0, 1.2], f"2.6 less 0.6, and 2.2 less 1: not {gap}"
    assert found["verdict"] == "dropout is better", f"2.0 and 2.4 beside 2.5 and 2.7: {found}"

# %% [markdown]
# Now judge a real study, the one of the chapter: rates of 0, 10 and 30%, three seeds each, a small
# translator and few pairs. Print the table. Then write down in a sentence what follows from it, and what
# does not.

# %%
from seqattn.data import measured

studied = measured("choosing")["runs"]
RATES = ("plain", "dropout 0.1", "dropout 0.3")
known, valid, test = (
    [[run[kind] for run in studied[rate]] for rate in RATES]
    for kind in ("nats, known pairs", "nats, validation", "nats")
)

# %%
# BEGIN ANSWER stub: # Your judgement goes here: judge(...), print, and a sentence.
found = judge(known, valid, test)
for rate, gap, seeds in zip(RATES, found["gap"], test):
    print(f"{rate:12} test {min(seeds):.2f} to {max(seeds):.2f} nats, gap {gap:.2f}")
print(f"chosen: {RATES[found['chosen']]}; {found['verdict']}")
# On validation (not printed) the mean with 10% dropout is within 0.01 nats of that without, and the ranges
# of the seeds overlap. The verdict holds for this size,
# these pairs and so many rounds.
# END ANSWER

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then close a circle: put your `log_prob_of_choice` and `surrogate`
# in place of the package's in the chapter's ten lines, draw four times for each row of letters, and count
# the updates until the mark is found.
