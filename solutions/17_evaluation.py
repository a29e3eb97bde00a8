# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-24, P-11]
# ---

# %% [markdown]
# # Exercise 17: is it any good?
#
# Score translations against several references, put an interval around a difference, ask whether
# other sentences and other seeds would say the same, and say no more than the numbers allow. The chapter is
# [Is it any good? Evaluation](../chapters/17_evaluation.ipynb).
#
# Each question has a cell for your answer and, below it, a check that you can run. The check tries
# small numbers. Grading tries many more: other sizes, ties, systems that agree, texts without a word.
#
# - **Keep the first line of each answer cell**; it tells the grader what it is looking at.
# - **Put all that an answer needs into its cell**, helpers and imports too. `torch`, `np` (NumPy) and `math` are
#   there already.
# - Return plain numbers, or tensors of one number. Leave the arguments as they are. Work everything out
#   yourself, without packages that score or test (`sacrebleu`, `nltk`, `scipy`). `seqattn` is the answer key.
#   Importing any of these in an answer earns nothing.
#
# Save the notebook first. To check in a terminal: `seqattn check 17_evaluation.ipynb`. For points and hints:
# `seqattn grade 17_evaluation.ipynb`. In a notebook cell, put an exclamation mark in front.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-input"]
import math

import numpy as np
import torch

from seqattn.grading import checking

# %% [markdown]
# ## Several references
#
# A good translation may differ from the reference, so a sentence may have several references. `written` is
# a list of texts. `references` is a list of lists, with the references of each text: at least one, and not
# always equally many. Words are what stands between single spaces, as it is: `s'est` and `chat,` are one word
# each. A written text may be empty; then it has no words. Return the BLEU of this corpus, from 0 to 100, with
# n-grams of one to four words. It is the chapter's BLEU, with two rules for several references:
#
# - an n-gram counts at most as often as it occurs in the reference that has it **most often**, which may be
#   a different reference for each n-gram;
# - the wanted length of a sentence is the length of the reference that is **closest** in length to what was
#   written, and of the shorter one if two are equally close.
#
# Nothing is smoothed: if no n-gram of some length is right in the whole corpus, BLEU is 0.


# %% question="q1"
def bleu(written, references):
    # BEGIN ANSWER
    from collections import Counter

    def grams(words, n):
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    right, total, c, r = [0] * 4, [0] * 4, 0, 0
    for text, row in zip(written, references):
        words, known = text.split(), [reference.split() for reference in row]
        c += len(words)
        r += min((abs(len(k) - len(words)), len(k)) for k in known)[1]
        for n in range(4):
            most = Counter()
            for k in known:
                most |= grams(k, n + 1)
            found = grams(words, n + 1)
            right[n] += (found & most).total()
            total[n] += found.total()
    if 0 in right:
        return 0.0
    mean = math.prod(a / b for a, b in zip(right, total)) ** (1 / 4)
    return 100 * min(1, math.exp(1 - r / c)) * mean
    # END ANSWER


# %% check="q1"
with checking("q1"):
    two = ["le chat est sur le tapis", "le chat dort"]
    found = bleu(["le chat est sur le tapis"], [two])
    assert found is not None, "bleu returns None: is there a return?"
    assert abs(float(found) - 100) < 1e-3, f"equal to one of two references: 100, not {found}"
    found = float(bleu(["le chat est sur le tapis rouge"], [two]))
    by_hand = 100 * (6 / 7 * 5 / 6 * 4 / 5 * 3 / 4) ** (1 / 4)
    assert abs(found - by_hand) < 1e-3, f"one word too many: {by_hand:.2f}, not {found:.2f}"

# %% [markdown]
# ## A difference, and its interval
#
# Two systems translated the same $n$ sentences. `a` and `b`, boolean tensors `(n,)`, are True where the
# first and the second system were right. Return three numbers:
#
# 1. the share of right sentences of `b` minus that of `a`;
# 2. the half-width of the 95% interval of this difference, with the systems **paired** by their sentences;
# 3. the half-width that it would have if each system had been given $n$ sentences **of its own**, with the
#    same shares.
#
# To get from the chapter's half-width of one share to that of a difference, use its formula for the
# variance of a difference. Variances and covariances are means, divided by $n$.


# %% question="q2"
def difference(a, b):
    # BEGIN ANSWER
    a, b, n = a.double(), b.double(), len(a)
    p, q = a.mean(), b.mean()
    apart = p * (1 - p) + q * (1 - q)
    paired = (apart - 2 * ((a * b).mean() - p * q)).clamp(min=0)
    return q - p, 1.96 * (paired / n).sqrt(), 1.96 * (apart / n).sqrt()
    # END ANSWER


# %% check="q2"
with checking("q2"):
    a = torch.tensor([True, True, True, False, False, False, False, False])
    b = torch.tensor([True, True, True, True, False, False, False, False])
    found = difference(a, b)
    assert found is not None, "difference returns None: is there a return?"
    assert len(found) == 3, "three numbers: the difference, paired, on sentences of their own"
    found = [round(float(x), 3) for x in found]
    assert found[0] == 0.125, f"4 of 8 minus 3 of 8 is 0.125, not {found[0]}"
    assert found[1] == 0.229, f"they differ on one sentence of eight: 0.229, not {found[1]}"
    assert found[2] == 0.482, f"on sentences of their own: 0.482, not {found[2]}"

# %% [markdown]
# ## Would other sentences say the same?
#
# Here the score is the **F-score of links** between words. `a` and `b` hold whole numbers, `(n, 3)`: for
# each of $n$ sentences, how many links a system has right, how many it drew, and how many were wanted. The
# score of a corpus is
#
# $$ F = 100 \cdot \frac{2 \sum \text{right}}{\sum \text{drawn} + \sum \text{wanted}}. $$
#
# `draws`, `(K, n)`, holds the numbers of the sentences of $K$ draws, made beforehand. Return two numbers:
# the difference of the scores, `b` minus `a`, and $p$ of the paired bootstrap as the chapter defines it. A draw
# that lies exactly as far as what is seen counts; if `a` and `b` are the same, all do. In no other case that
# grading tries does a draw come so near that rounding decides. In each sentence some link is wanted, so
# nothing is divided by 0.


# %% question="q3"
def compare(a, b, draws):
    # BEGIN ANSWER
    def score(counts):
        right, drawn, wanted = counts.double().sum(-2).unbind(-1)
        return 100 * 2 * right / (drawn + wanted)

    seen = score(b) - score(a)
    differences = score(b[draws]) - score(a[draws])
    far = (differences - seen).abs() >= seen.abs()
    return seen, (1 + far.sum()) / (1 + len(draws))
    # END ANSWER


# %% check="q3"
with checking("q3"):
    a = torch.tensor([[2, 3, 4], [1, 4, 2], [3, 3, 3]])
    b = torch.tensor([[3, 3, 4], [2, 4, 2], [2, 3, 3]])
    draws = torch.tensor([[0, 1, 2], [0, 0, 1], [2, 2, 1], [1, 1, 2]])
    found = compare(a, b, draws)
    assert found is not None, "compare returns None: is there a return?"
    assert len(found) == 2, "two numbers: the difference and p"
    found = [float(x) for x in found]
    assert abs(found[0] - 10.526) < 1e-2, f"12/19 to 14/19: 10.53, not {found[0]:.2f}"
    assert abs(found[1] - 0.6) < 1e-3, f"two of four draws lie as far: 0.6, not {found[1]:.3f}"

# %% [markdown]
# ## Would other seeds say the same?
#
# `a` and `b` are lists of scores, of one method's seeds and of another's, not always equally many. If the
# methods were equal, each score might have come from either. So take **every** way to deal all these scores
# to two groups of these sizes, and look at the difference of the groups' means. Return two numbers:
#
# 1. $p$: the share of all ways in which this difference is, in size, as large as the one seen or larger.
#    The way seen is one of them. Differences that lie within $10^{-9}$ of each other are equal.
# 2. the smallest $p$ that this test can ever give with so many seeds, whatever the scores.
#
# There are at most six seeds on either side.


# %% question="q4"
def deal_out(a, b):
    # BEGIN ANSWER
    from itertools import combinations

    scores, n, m = [*a, *b], len(a), len(b)

    def size(places):
        first = sum(scores[i] for i in places)
        return abs(first / n - (sum(scores) - first) / m)

    ways = [size(places) for places in combinations(range(n + m), n)]
    far = sum(way > ways[0] - 1e-9 for way in ways)
    return far / len(ways), (2 if n == m else 1) / len(ways)
    # END ANSWER


# %% check="q4"
with checking("q4"):
    found = deal_out([1.0, 2.0], [3.0, 5.0])
    assert found is not None, "deal_out returns None: is there a return?"
    assert len(found) == 2, "two numbers: p, and the smallest that there can be"
    found = [round(float(x), 3) for x in found]
    assert found[0] == 0.333, f"1 and 2 here, or 3 and 5: two of six ways, 0.333, not {found[0]}"
    assert found[1] == 0.333, f"no scores of two and two seeds give less: 0.333, not {found[1]}"

# %% [markdown]
# ## What may be said
#
# `a` and `b` are dicts that describe two systems:
#
# - `"signature"`, a text: how the score was computed. Two are the same if they are equal to the letter;
# - `"sentences"`, a text: on which sentences;
# - `"chosen on"`, a text: on which sentences the system was chosen, or `""` if nothing was chosen;
# - `"scores"`: a list of numbers, one for each seed; higher is better.
#
# `interval` is a pair, the ends of the 95% interval of the difference, `b` minus `a`, paired by sentences. It compares one seed of each, and here these two stand for all. (Where the ranges are apart, it
# never favours the worse system.)
# Ask the chapter's five questions, in its order; here two seeds of each are several, and ranges apart are
# enough for *better*. Return one text: `"not comparable"` after a *no* to
# the first question, `"flattered"` after a *no* to the second for either system, `"no difference seen"`
# after a *no* to the third, `"two trainings"` after a *no* to the fourth, and `"no difference seen"` again
# after a *no* to the fifth. Otherwise return `"a is better"` or `"b is better"`. The ends of an interval
# belong to it.


# %% question="q5"
def may_say(a, b, interval):
    # BEGIN ANSWER
    if a["signature"] != b["signature"] or a["sentences"] != b["sentences"]:
        return "not comparable"
    if a["sentences"] in (a["chosen on"], b["chosen on"]):
        return "flattered"
    if interval[0] <= 0 <= interval[1]:
        return "no difference seen"
    if len(a["scores"]) < 2 or len(b["scores"]) < 2:
        return "two trainings"
    if max(a["scores"]) < min(b["scores"]):
        return "b is better"
    if max(b["scores"]) < min(a["scores"]):
        return "a is better"
    return "no difference seen"
    # END ANSWER


# %% check="q5"
with checking("q5"):
    a = {"signature": "tok:13a", "sentences": "test", "chosen on": "valid", "scores": [30.0, 31.0]}
    b = a | {"scores": [33.0, 34.5]}
    found = may_say(a, b, (1.0, 5.0))
    assert found is not None, "may_say returns None: is there a return?"
    assert isinstance(found, str), f"return one of the texts, not a {type(found).__name__}"
    assert found == "b is better", f"five times yes, and b is higher: not {found!r}"
    found = may_say(a, b | {"signature": "tok:char"}, (1.0, 5.0))
    assert found == "not comparable", f"two signatures: not {found!r}"

# %% [markdown]
# ## Measured: how many sentences does it take?
#
# This is an experiment on the paired bootstrap itself. `different(n, k)` is the $p$ of two systems of which
# one **is** better, on sample $k$ of many, each of $n$ sentences; `same(n, k)` is the $p$ of two systems
# that differ only by luck. `sizes` are some values of $n$, from small to large. For each of them, look at
# the samples $k = 0, 1, \dots$, `trials` of them, and call a difference *significant* if $p < 0.05$. Return
# a dict:
#
# - `"found"`: for each size, the share of samples in which `different` is significant;
# - `"alarms"`: for each size, the share in which `same` is;
# - `"enough"`: the smallest of `sizes` from which on at least 0.8 are found, there and at every larger
#   size; None if there is none;
# - `"verdict"`, on the alarms at that size, or at the largest size if there is none. Is their share further
#   from 0.05 than the half-width of a share of 0.05 in so many trials? Say `"too many"` if it is above,
#   `"too few"` if it is below, and `"as promised"` otherwise.


# %% question="q6"
def study(different, same, sizes, trials):
    # BEGIN ANSWER
    def shares(p):
        return [sum(bool(p(n, k) < 0.05) for k in range(trials)) / trials for n in sizes]

    found, alarms = shares(different), shares(same)
    enough = None
    for n, share in zip(reversed(sizes), reversed(found)):
        if share < 0.8:
            break
        enough = n
    off = alarms[-1 if enough is None else sizes.index(enough)] - 0.05
    verdict = "as promised"
    if abs(off) > 1.96 * math.sqrt(0.05 * 0.95 / trials):
        verdict = "too many" if off > 0 else "too few"
    return {"found": found, "alarms": alarms, "enough": enough, "verdict": verdict}
    # END ANSWER


# %% check="q6"
with checking("q6"):
    found = study(lambda n, k: 0.3 if k < 8 // n else 0.01, lambda n, k: 0.5, [1, 2, 8], 10)
    assert found is not None, "study returns None: is there a return?"
    assert isinstance(found, dict), f"return a dict, not a {type(found).__name__}"
    assert set(found) == {"found", "alarms", "enough", "verdict"}, f"the entries are {set(found)}"
    shares = [round(float(x), 3) for x in found["found"]]
    assert shares == [0.2, 0.6, 0.9], f"2, 6 and 9 of 10 are found: not {shares}"
    assert found["enough"] == 8, f"0.8 are found at 8 alone: not {found['enough']}"
    assert found["verdict"] == "as promised", (
        f"0 of 10 is within 0.135 of 0.05: not {found['verdict']!r}"
    )

# %% [markdown]
# Now a real study. Take two of the chapter's translators, one trained with half of the updates and one, from
# another seed, with all of them: the second is better, as the seeds have settled. Two seeds of the same training stand in for
# equal systems, though they are two translators; and large samples share sentences. Print shares and verdict for the pair of seeds given, and for other pairs. Then write down in a sentence
# how many sentences it takes to find so large a difference, and what the alarms say.

# %%
from seqattn.data import measured
from seqattn.metrics import paired_bootstrap, sentence_counts

stored = measured("seeds")
half, whole = (
    [sentence_counts(texts, stored["references"]) for texts in stored["texts"][kind]]
    for kind in ("half", "whole")
)


def sampled(a, b):
    def p(n, k):
        generator = torch.Generator().manual_seed(k)
        rows = torch.randperm(len(a), generator=generator)[:n]
        return paired_bootstrap(a[rows], b[rows], draws=200, seed=k).p

    return p


# %%
# BEGIN ANSWER stub: # study(sampled(half[0], whole[0]), sampled(whole[0], whole[2]), ...), and a sentence
sizes = [6, 12, 25, 50, 100, 200]
for one, two in ((0, 1), (0, 2), (1, 4)):
    found = study(sampled(half[0], whole[0]), sampled(whole[one], whole[two]), sizes, 100)
    print(f"seeds {one + 1} and {two + 1}: alarms", found["alarms"], found["verdict"])
print("found ", found["found"], "enough:", found["enough"])
# So large a difference takes two dozen sentences. For one pair of seeds the alarms are too many. That may be two things:
# seeds do make two translators, and draws of so few sentences scatter too little. This study cannot tell which.
# END ANSWER

# %% [markdown]
# ## What next
#
# `seqattn grade` tells you your points. Then let two seeds exchange their sentences at random, anew for
# each sample, so that nothing but chance is left between them, and study the alarms again: are they as promised for 6 sentences,
# and for 200?
