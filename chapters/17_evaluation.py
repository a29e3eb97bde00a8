# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [F-24, P-11]
#     exercise: 17_evaluation
# ---

# %% [markdown]
# # 17. Is it any good? Evaluation
#
# A score is a measurement: it has a ruler, a unit and an error. In this chapter you take BLEU apart, see
# what it cannot see, and find out how large a difference must be before you may claim it.
#
# **You need** the mean and the standard deviation, and [training and searching](07_training.ipynb). **It
# covers** BLEU by hand and chrF beside it, signatures, the bootstrap over sentences, and the luck of seeds.
# The alignment error rate is explained in [reading maps](08_reading_maps.ipynb).

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Take French sentences, edit some of them, and score the result against the originals. Each edit is tried
# on the sentences that it changes. Answer first. Then move the share of edited sentences, and try the other
# edits.

# %% tags=["hide-input"]
import itertools
import math
from collections import Counter
from statistics import mean, mode, stdev

import matplotlib.pyplot as plt
import torch

from seqattn.data import EDITS, FIVE, measured, toy_corpus
from seqattn.metrics import (
    bleu_from_counts,
    bootstrap_bleu,
    corpus_bleu,
    corpus_chrf,
    paired_bootstrap,
    sentence_counts,
)
from seqattn.plots import BLUE, GREY, ResultTable, experiment_card, use_style
from seqattn.widgets import EditCost, PairedDraws

use_style()
splits = toy_corpus(8_000)
texts = list(dict.fromkeys(pair.target for pair in splits["valid"]))[:200]
EditCost(texts)

# %% [markdown]
# <details><summary>What the figure shows</summary>
#
# A capital letter is a matter of style. A misspelt last word is a mistake in nearly every sentence. BLEU
# takes off about as much for one as for the other: **a word that differs in a single letter is a different
# word.**
#
# </details>
#
# ## BLEU, by hand
#
# BLEU {cite:p}`papineni2002` counts **n-grams**: runs of $n$ neighbouring tokens, for $n$ from 1 to 4. Let
# $C_x(g)$ count how often the n-gram $g$ occurs in the sentence $x$. Of all n-grams in the sentences $y$
# that a system wrote, the share that is right, according to the references $y^\ast$, is
#
# $$ p_n = \frac{\sum_{(y,y^\ast)}\sum_g \min\big(C_y(g),\,C_{y^\ast}(g)\big)}{\sum_{(y,y^\ast)}\sum_g C_y(g)} $$ (eq-clipped-precision)
#
# The minimum **clips**: an n-gram counts at most as often as it occurs in the reference. Without clipping,
# all six words of *le le le le le le* would be right against *le chat est sur le tapis*. With it, two of
# the six are.
#
# Precision alone favours short output: fewer words, fewer mistakes. So BLEU has a **brevity penalty**. With
# $c$ tokens written and $r$ in the references, it is
#
# $$ b = \min\!\big(1,\,e^{1-r/c}\big) $$ (eq-brevity)
#
# BLEU is 100 times $b$ times the geometric mean of the four shares ({eq}`eq-bleu`, chapter 19). By
# hand: *le chat est assis* against *le chat est assis sur le tapis*. Every n-gram is right, so all four
# shares are 1. But $c=4$ and $r=7$, so $b = e^{1 - 7/4} = 0.472$. **BLEU 47.2 for a sentence without a
# wrong word.**


# %%
def right_and_all(written, wanted, n):
    """Count the n-grams that are right, and those that were written."""
    pair = (text.split() for text in (written, wanted))
    said, asked = (Counter(zip(*(words[i:] for i in range(n)))) for words in pair)
    return (said & asked).total(), said.total()


assert right_and_all("le " * 6, "le chat est sur le tapis", 1) == (2, 6)
SHORT = "le chat est assis", "le chat est assis sur le tapis"
counts_of_short = [right_and_all(*SHORT, n) for n in (1, 2, 3, 4)]
assert counts_of_short == [(4, 4), (3, 3), (2, 2), (1, 1)]
theirs = corpus_bleu(SHORT[:1], SHORT[1:])
assert abs(100 * math.exp(1 - 7 / 4) - theirs.score) < 1e-6
print(f"{theirs.score:.1f}", theirs.signature)

# %% [markdown]
# ### Words that change places
#
# *le chien voit le chat* for *le chat voit le chien*: the dog and the cat have changed places. All five
# words are right, and so are three of the four pairs, but no triple and no quadruple. A geometric mean with
# a zero in it is zero. Here sacrebleu steps in (`smooth:exp` in its signature): it takes the first count of
# zero as $1/2$ and the next as $1/4$. So the mean is $\big(1 \cdot \tfrac34 \cdot \tfrac16 \cdot
# \tfrac18\big)^{1/4} = 0.354$. chrF ({eq}`eq-chrf`, chapter 19), which counts runs of one to six characters and weighs recall beside precision, takes fewer
# points off for the swap:

# %%
SWAP = "le chien voit le chat", "le chat voit le chien"
counts_of_swap = [right_and_all(*SWAP, n) for n in (1, 2, 3, 4)]
assert counts_of_swap == [(5, 5), (3, 4), (0, 3), (0, 2)]
swap = corpus_bleu(SWAP[:1], SWAP[1:]).score, corpus_chrf(SWAP[:1], SWAP[1:]).score
assert abs(100 * (3 / 4 / 6 / 8) ** 0.25 - swap[0]) < 1e-6
print(f"BLEU {swap[0]:.1f}, chrF {swap[1]:.1f}")

# %% [markdown]
# **Neither score knows who sees whom.** Here is the figure once more, for all sentences of the corpus with a full
# *ne* before *pas* (not *n'*). The edit leaves out both words and so turns nearly every statement among them
# into its opposite.

# %% tags=["hide-input"]
written = dict.fromkeys(pair.target for pairs in splits.values() for pair in pairs)
denied = [text for text in written if EDITS["not dropped"](text) != text]
EditCost(
    denied, edit="not dropped", share=100, predict=False, title="The opposite said"
)

# %% [markdown]
# Is that a high price for saying the opposite? Compare it with two slips of the pen in the same two places:
# *nee* for *ne*, *pass* for *pas*.


# %% tags=["hide-input"]
def slip(text):
    """Misspell the two words of a negation."""
    slips = {"ne": "nee", "pas": "pass"}
    return " ".join(slips.get(word, word) for word in text.split())


negated = {}
for name, edit in (("left out", EDITS["not dropped"]), ("misspelt", slip)):
    edited = [edit(text) for text in denied]
    negated[name] = corpus_bleu(edited, denied).score, corpus_chrf(edited, denied).score
ResultTable(
    ("ne and pas", "BLEU", "chrF"),
    [(name, *(f"{score:.1f}" for score in scores)) for name, scores in negated.items()],
    f"{len(denied)} negated sentences",
)

# %% [markdown]
# **BLEU takes more off for two slips than for the opposite.** chrF takes less off for the slips, because most
# of the letters are still there. Neither knows what *pas* does to a sentence.
#
# ### One reference, many good translations
#
# Here is a real caption from Multi30k, which [chapter 3](03_additive.ipynb) shows with its map: *Ein Mann
# bereitet am Herd Essen zu.* Its reference is *A man cooking food on the stove.* The table has what a
# translator wrote, and a free translation of our own, made for this table:

# %%
caption = measured("captions")["captions"][0]
rows = []
for text in (caption["text"], "A man makes a meal on his cooker."):
    pair = [text], [caption["reference"]]
    scores = corpus_bleu(*pair).score, corpus_chrf(*pair).score
    rows.append((text, *(f"{score:.1f}" for score in scores)))
ResultTable(("written", "BLEU", "chrF"), rows, "One sentence, scored by itself")

# %% [markdown]
# Both translate the German well. The first shares all its words but one with the reference, the second only
# *A*, *man* and *on*; so the first scores several times as high, by BLEU and by chrF. **A single reference knows a single way to say it.** With
# several references, an n-gram counts if any of them has it; the first question of [the
# exercise](../exercises/17_evaluation.ipynb) gives the rules.
#
# ### Add first, divide last
#
# **Counts add up over sentences; BLEU does not.** The score of a corpus is computed from summed counts. The
# mean of the sentences' scores is a different number, and the two must not stand side by side. Here every
# third sentence has a wrong word in the middle:
#
# ```{predict} mean-or-sums
# ```

# %% tags=["hide-output", "hide-until-mean-or-sums"]
wrong = [t.split(" ") for t in texts]
for words in wrong[::3]:
    words[len(words) // 2] = "zut"
wrong = [" ".join(words) for words in wrong]
one_by_one = mean(corpus_bleu([a], [b]).score for a, b in zip(wrong, texts))
counts = sentence_counts(wrong, texts)  # ten whole numbers for each sentence
corpus = bleu_from_counts(counts.sum(0)).item()
assert abs(corpus_bleu(wrong, texts).score - corpus) < 1e-9
print(f"corpus {corpus:.1f}, mean of sentences {one_by_one:.1f}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# The two are {{ f"{corpus - one_by_one:.1f}" }} points apart, for one and the same output. A short sentence
# with a wrong word in the middle has no right triple left, and scores low. A sentence of three words has no
# n-gram of four, and scores 0 even where it is faultless; about half of the gap comes from these sentences.
# In the sums the few n-grams of a short sentence hardly count; in the mean it counts as much as any other.
#
# </details>
#
# ### One output, four scores
#
# BLEU needs tokens, so whoever cuts the text into tokens decides the score. Here are the same sentences,
# with the last word misspelt, scored with four of sacrebleu's tokenisers:

# %%
spell = EDITS["last word misspelt"]
good = [text for text in texts if spell(text) != text]
bad = [spell(text) for text in good]
cut = {t: corpus_bleu(bad, good, tokenize=t) for t in ("13a", "intl", "char", "none")}
rows = [(t, f"{found.score:.1f}", found.signature) for t, found in cut.items()]
ResultTable(("tokeniser", "BLEU", "signature"), rows, "The same output")

# %% [markdown]
# The scores span {{ f"{max(f.score for f in cut.values()) - min(f.score for f in cut.values()):.1f}" }}
# points, and not a letter of the output has changed. This is why there is a **signature**
# {cite:p}`post2018`: scores with different signatures are not comparable. *BLEU 40* alone says nothing.
#
# <details><summary>Does an alignment error rate have a signature?</summary>
#
# No ({eq}`eq-aer-sure-possible` in [chapter 8](08_reading_maps.ipynb)), but it too depends on conventions. Say which links are *sure* and which only *possible*, or
# that all are sure. Say whether links are added up over the corpus, as in this book, or the sentences'
# rates averaged. And say what becomes of words without a partner (in this book's corpus every word has one)
# and of a row with its largest weight on `<eos>`: here it gives no link.
#
# </details>
#
# ## Seeds against sentences
#
# Now a real question. One small translator, with Bahdanau's attention, was trained five times on the same pairs. Only the **seed**
# differs. Here it draws the first weights alone: the batches come in one order, the same for all. Three more trainings, from three other seeds, had half of the
# updates. What each training
# wrote for the same test sentences, by greedy search, is stored.
#
# <details><summary>Which learning rate?</summary>
#
# In each the learning rate grows over the first 100 updates, and falls along a cosine to 0 at the
# last. Its height, 0.02, was the best of three for all updates, on validation sentences.
#
# </details>

# %% tags=["hide-input"]
stored = measured("seeds")
references = stored["references"]
kinds = {
    part: [sentence_counts(texts, references) for texts in found]
    for part, found in stored["texts"].items()
}
bleu = {
    part: [bleu_from_counts(counts.sum(0)).item() for counts in found]
    for part, found in kinds.items()
}
for part, scores in bleu.items():
    print(f"{part:6}", *(f"{score:.1f}" for score in scores))
five = ResultTable(
    ("source", "written after all updates", "after half of them"),
    [
        (pair.source, stored["five"]["whole"][0][i], stored["five"]["half"][0][i])
        for i, pair in enumerate(FIVE)
    ],
    "The book's five sentences: seed 1 after all updates, another seed after half",
)
display(experiment_card(stored["card"]), five)

# %% [markdown]
# ### How many sentences?
#
# Other sentences would have given another score. How far off might this one be? Count each sentence as 1 (right) or 0
# (wrong). If the share $p$ is right, the variance of one is $p(1-p)$, and that of a mean of $n$ independent ones is $p(1-p)/n$. The root of
# that is the share's **standard error**. A mean of many is nearly normal, and of a normal distribution 95% lies within 1.96 standard deviations of its mean. So the share's
# 95% interval reaches this far to each side:
#
# $$ w = 1.96 \sqrt{\frac{p\,(1 - p)}{n}} $$ (eq-half-width)
#
# With $p = 0.76$ and $n = 1000$ it is $0.026$. BLEU is neither a share nor a mean over sentences, so this
# formula does not apply to it. Use the **bootstrap** {cite:p}`koehn2004` instead: draw as many sentences as
# there are, *with replacement*, add up their counts and compute BLEU. Do this 1,000 times, and look at the
# spread.

# %%
sizes = (50, 100, 200, 400)
widths = {
    n: [1.96 * bootstrap_bleu(c[:n]).std().item() for c in kinds["whole"]]
    for n in sizes
}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Half-width of the 95 percent interval of BLEU over the number of sentences, both axes logarithmic: a dot for each of five trainings, beside a line that halves with four times the sentences. The dots follow the line."}}
for n, found in widths.items():
    plt.plot([n] * len(found), found, "o", color=BLUE)
line = [mean(widths[400]) * math.sqrt(400 / n) for n in sizes]
plt.loglog(sizes, line, color=GREY)
plt.xticks(sizes, sizes)
plt.yticks([3, 5, 10], [3, 5, 10])
plt.minorticks_off()
plt.xlabel("sentences")
plt.ylabel("half-width, BLEU")
plt.show()

# %% [markdown]
# The line falls as $1/\sqrt n$: **four times the sentences, half the interval.** Here 50 sentences give a
# score to within about ± {{ f"{mean(widths[50]):.0f}" }} points, and 400 to within about ± {{
# f"{mean(widths[400]):.1f}" }}.
#
# ### Why compare in pairs?
#
# Two systems $a$ and $b$ have translated the same sentences. Each score is uncertain; how uncertain is
# their difference?

# %% tags=["hide-input"]
PairedDraws(
    {
        "seed 3": kinds["whole"][2],
        "seed 5": kinds["whole"][4],
        "half the updates": kinds["half"][0],
    },
    caption="200 draws. The shaded band is the interval of the difference; "
    "on the dashed line the two systems are equal.",
)

# %% [markdown]
# <details><summary>What the figure shows</summary>
#
# On the same draws the interval of the difference is narrower, at each number of sentences and against each
# of the two systems. **This is the surprising part: you need not make either score more certain to make
# their difference more certain.** A sentence that is hard for one system is often hard for the other. Their
# scores rise and fall together, and what they share drops out of the difference.
#
# Move the number of sentences. On the same draws of the first 50 or 100, 0 lies outside the interval for
# seeds 3 and 5; on all 400 it lies inside. So decide how many sentences you will use before you look.
#
# </details>
#
# The variance of the difference of the two scores is

# %% [markdown]
# $$ \operatorname{Var}(b - a) = \operatorname{Var} a + \operatorname{Var} b - 2 \operatorname{Cov}(a, b) $$ (eq-paired-variance)
#
# To make use of the covariance, draw sentences once and score *both* systems on the same draw. With $d$ for
# the difference on all sentences and $d^\ast_k$ for the difference on draw $k$ of $K$,
#
# $$ p = \frac{1+\#\{k:|d^\ast_k-d|\ge|d|\}}{1+K} $$ (eq-bootstrap)
#
# So $p$ is the share of draws that lie at least as far from
# $d$ as $d$ lies from 0. If the draws scatter about $d$ as they would about 0 without a difference, it tells how often so
# large a difference would come about without one. The difference seen counts as one more such case, so $p$ is never 0. Below are ten pairs of trainings. A difference is often called *significant* if
# $p < 0.05$.
#
# ```{predict} ten-pairs
# ```

# %% tags=["hide-output", "hide-until-ten-pairs"]
rows, found = [], {}
for i, j in itertools.combinations(range(5), 2):
    a, b = kinds["whole"][i], kinds["whole"][j]
    found[i, j] = paired_bootstrap(a, b, draws=10_000)
    paired = 1.96 * (bootstrap_bleu(b) - bootstrap_bleu(a)).std().item()
    apart = 1.96 * (bootstrap_bleu(b, seed=1) - bootstrap_bleu(a)).std().item()
    cells = f"{found[i, j].difference:+.1f}", f"± {paired:.1f}", f"± {apart:.1f}"
    rows.append((f"{i + 1} and {j + 1}", *cells, f"{found[i, j].p:.3f}"))
heads = ("seeds", "difference", "paired", "not paired", "p")
ResultTable(heads, rows, "Ten pairs of equal trainings, BLEU")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **The bootstrap answers "Would other sentences say the same of *these two
# trainings*?", not "Is the method better?"** It never saw another training.
#
# Nothing differs but the seed, and the largest difference is {{ f"{max(abs(f.difference) for f in
# found.values()):.1f}" }} points of BLEU. The smallest $p$ is {{ f"{min(f.p for f in found.values()):.3f}"
# }}: one pair of ten, seeds 1 and 5, is below 0.05. That is no mistake: two trainings *are* two
# translators, and more sentences would tell more pairs apart.
#
# </details>
#
# <details><summary>How sure is a p, and which p is it?</summary>
#
# $p$ is estimated, too: with 1,000 draws a $p$ of 0.05 has a standard error of 0.007, so the seed of
# the draws can decide. With 1,000 draws, from their seeds 0, 1 and 2, $p$ of trainings 1 and 5 is not always on the same side of 0.05. The table has 10,000.
#
# `seqattn compare` prints the $p$ of sacrebleu, which counts only one of the two directions. So where $p$
# is small, it comes out at about half of {eq}`eq-bootstrap`: 0.05 there is about 0.10 here. When you read a
# paper, find out which $p$ it means.
#
# </details>
#
# **To compare methods you need several seeds on each side.** Then look at their ranges:

# %%
a, b, rates = bleu["half"], bleu["whole"], stored["rates"]
print(f"half {min(a):.1f} to {max(a):.1f}, whole {min(b):.1f} to {max(b):.1f}")
print("apart" if max(a) < min(b) or max(b) < min(a) else "no difference seen")
largest = max(paired_bootstrap(x, y).p for x in kinds["half"] for y in kinds["whole"])
print(f"largest p of all {len(a) * len(b)} pairs: {largest:.3f}")

# %% [markdown]
# Halving the updates costs more than any seed does: the ranges are apart, and every pair of trainings says
# so.
#
# <details><summary>Would another learning rate close the gap?</summary>
#
# The rate was chosen for all updates. Would another rate suit half of them? On validation
# sentences, with one seed, they reach {{ f"{rates['half']['0.02']:.0f}" }} points at this rate and
# {{ f"{rates['half']['0.04']:.0f}" }} at twice this rate, the largest that was tried and for half of them the best; all updates reach
# {{ f"{rates['whole']['0.02']:.0f}" }}. So the choice among these rates explains little of the gap.
#
# </details>
#
# ### Apart by chance
#
# How often would luck alone pull two ranges apart? Suppose that two methods are equal, with $n$ seeds of
# one and $m$ of the other. Then each choice of $n$ from the $n + m$ scores is equally likely to be the
# scores of the first. As long as no two scores are equal, the ranges are apart if these are the $n$ lowest
# or the $n$ highest: two choices of $\binom{n + m}{n}$. For three seeds and three that is $2/20 = 0.1$.
# Count them:


# %%
def apart(n, m):
    """Count the choices of n of n + m places that are lowest or highest; and all."""
    choices = list(itertools.combinations(range(n + m), n))
    return sum(max(c) < n or min(c) >= m for c in choices), len(choices)


rows = []
for n, m in ((2, 2), (3, 3), (3, 5), (4, 4), (5, 5)):
    few, ways = apart(n, m)
    assert (few, ways) == (2, math.comb(n + m, n))
    rows.append((f"{n} and {m}", f"{few} of {ways}", f"{few / ways:.3f}"))
heads = ("seeds", "choices", "chance")
ResultTable(heads, rows, "Equal methods whose ranges are apart")

# %% [markdown]
# **Three seeds against three fall apart by luck once in ten times.** So with three seeds of each, "apart"
# says less than a test over seeds at 0.05 would; with four against four it says more. With three against
# five, from eight seeds, the chance is {{ f"{2 / math.comb(8, 3):.3f}" }}. Say also *how far* apart: here the gap is {{ f"{min(bleu['whole']) - max(bleu['half']):.0f}" }} points, and the wider of
# the two ranges spans {{ f"{max(max(b) - min(b) for b in bleu.values()):.0f}" }}.
#
# And how often are ranges *not* apart although there is a difference? Let the scores of the seeds be normally distributed, with the same
# standard deviation for both methods and means some standard deviations apart, and draw 100,000 times:


# %%
def seen(shift, n):
    """Give the share of draws in which the ranges of n and n scores are apart."""
    dice = torch.Generator().manual_seed(0)
    one, other = torch.randn(2, 100_000, n, generator=dice)
    other = other + shift
    lower, higher = one.amax(1) < other.amin(1), other.amax(1) < one.amin(1)
    return (lower | higher).double().mean().item()


rows = [
    (shift, *(f"{seen(shift, n):.2f}" for n in (3, 5, 10))) for shift in (0, 1, 2, 3, 4)
]
heads = ("means apart by", "3 and 3", "5 and 5", "10 and 10")
ResultTable(heads, rows, "How often ranges are apart; distance in standard deviations")

# %% [markdown]
# **"No difference seen" is not "no difference".** Three seeds of each miss a difference of two standard deviations
# in {{ f"{1 - seen(2, 3):.2f}" }} of the cases. If you have many seeds, compare means instead, with a test.
#
# <details><summary>More seeds, and seeds in pairs</summary>
#
# Comparing ranges gets *stricter* with more seeds, since their ranges
# grow: with ten of each it almost never sees a difference where there is none, but misses the same difference in
# {{ f"{1 - seen(2, 10):.2f}" }}.
#
# What if one system wins with each of five seeds, against its counterpart with the same seed? A fair coin shows one side five times in a row in $2 \cdot 2^{-5} = 0.0625$ of all cases, counting both sides. Five
# wins of five are not below 0.05; six of six are.
#
# </details>
#
# ### The best of five
#
# Choose the best of the five trainings on one half of the test sentences, then score it on the other.
# Repeat this with 200 random halves. By how much is the score that it was chosen by too high, and how much
# does choosing gain?

# %%
generator = torch.Generator().manual_seed(0)
flattery, gains, chosen = [], [], []
for _ in range(200):
    order = torch.randperm(len(references), generator=generator)
    scored, fresh = (
        [bleu_from_counts(c[rows].sum(0)).item() for c in kinds["whole"]]
        for rows in order.chunk(2)
    )
    best = scored.index(max(scored))
    chosen.append(best)
    flattery.append(scored[best] - fresh[best])
    gains.append(fresh[best] - mean(fresh))
winner = mode(chosen) + 1
print(f"too high by {mean(flattery):.1f} ± {stdev(flattery):.1f} BLEU")
print(f"gained by choosing {mean(gains):.1f} ± {stdev(gains):.1f} BLEU")

# %% [markdown]
# **The score that a system was chosen by is, on
# average, too high.** What choosing gains depends on the five: here seed {{ winner }} won most halves.
# So choose on validation sentences, and look at the test sentences once. (The number after ± is the standard deviation over the halves.)

# %% [markdown]
# ## What counting cannot see
#
# BLEU and chrF count what two texts share. **Is a translation *good*? For that, people are asked.** In **direct
# assessment** each gives a sentence 0 to 100 points {cite:p}`graham2013`. In **MQM** a professional translator marks each error, its kind and
# how grave it is; crowds of laymen ranked the systems differently {cite:p}`freitag2021`. **Error span annotation**
# asks for both: mark the errors, then give points {cite:p}`kocmi2024`.
#
# **Trained metrics** learn to predict such judgements: BLEURT {cite:p}`sellam2020` from translation and reference, COMET
# {cite:p}`rei2020` from the source as well, both through a large pretrained network. They agree with people better than
# BLEU does {cite:p}`freitag2022`, and have blind spots of their own: COMET, for one, minds a wrong number or
# name too little {cite:p}`amrhein2022`. One of the first COMETs learned from MQM, and so do newer ones,
# such as xCOMET {cite:p}`guerreiro2024`, which marks the errors that it finds, and MetricX {cite:p}`juraska2024`. Large language models are asked for points as well {cite:p}`kocmi2023`. No such network
# runs in this book. But draw sentences in pairs, train several
# seeds, and choose nothing on test sentences with them, too.

# %% [markdown]
# ## What may be said
#
# Ask five questions, in this order. The first *no* ends the claim.
#
# 1. **Same sentences, same signature?** If not, the numbers are not comparable.
# 2. **Chosen on other data?** If not, the score flatters.
# 3. **Take every pair of trainings, one from each method: does the paired interval of the difference leave out 0?**
#    If not: no difference seen on these sentences.
# 4. **Several seeds of each?** If not, the claim is about two trainings. If the seeds draw weights alone, it is about one order of batches.
# 5. **Ranges of the seeds apart?** If not: no difference seen. If they are, with four seeds or more of each,
#    or three and five: *better, for this data, this budget and this score*. With three of each: *a hint that it is
#    better*, since luck alone does this once in ten times.
#
# Seeds make a training repeatable only in part: other hardware, thread counts or versions of PyTorch may add numbers in another order, and training can amplify such differences. Report seeds, versions and machine; expect ranges to come back, not digits.

# %% [markdown]
# ## Where it breaks
#
# - **"BLEU 40 is good."** With which signature, which references, which sentences?
# - **"$p < 0.05$, so the method is better."** These two trainings differ, on sentences like these.
# - **A mean of sentence scores beside a corpus score**, or a mean over batches of unequal size.
# - **The best of several seeds** beside a rival's only one.
#
# ## Check yourself
#
# ```{self-check} empty-output
# ```
#
# ```{self-check} intervals-overlap
# ```
#
# ```{self-check} best-of-three
# ```
#
# ```{self-check} three-apart
# ```
#
# ## What you now know
#
# - BLEU is made of ratios of sums, clipped, with a penalty for brevity; a signature says how it was
#   counted.
# - It cannot tell style from a mistake, nor a statement from its opposite.
# - The paired bootstrap is about sentences; seeds are about trainings. A claim needs both.
# - Ranges of equal methods fall apart now and then: with three seeds of each, once in ten times.
# - A score flatters whatever was chosen by it.
#
# **Now you.** In [the exercise](../exercises/17_evaluation.ipynb) you score against several references, put
# an interval around a difference, ask whether other sentences and other seeds would say the same, and judge
# what may be said.
#
# **Next.** [Build a translator](18_build.ipynb), [judge it](19_judge.ipynb) and [study it](20_study.ipynb),
# with these rulers.
#
# ## Sources
#
# - BLEU: {cite:t}`papineni2002`; signatures: {cite:t}`post2018`; chrF: {cite:t}`popovic2015`.
# - The bootstrap for translation: {cite:t}`koehn2004`; a test that swaps outputs instead of drawing sentences:
#   {cite:t}`riezler2005`.
