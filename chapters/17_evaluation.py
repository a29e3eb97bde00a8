# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 40
#     covers: [F-24, P-11]
#     exercise: 17_evaluation
# ---

# %% [markdown]
# # Is it any good? Evaluation
#
# A score is a measurement: it has a ruler, a unit and an error. In this chapter you take BLEU apart, see
# what it cannot see, and find out how large a difference must be before you may speak of it.
#
# **You need** the mean and the standard deviation, and [training and searching](07_training.ipynb).
# **It covers** BLEU and chrF by hand, signatures, the bootstrap over sentences, and the luck of seeds.
# The alignment error rate has its place in [reading maps](08_reading_maps.ipynb).

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Take French sentences and edit some of them. Then score the edited ones against what they were. Each
# edit is tried on the sentences that it changes. Answer first; then move the share, and try the other
# edits.

# %% tags=["hide-input"]
import itertools
import math
from collections import Counter
from statistics import mean, stdev

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
from seqattn.widgets import EditCost

use_style()
splits = toy_corpus(8_000)
texts = list(dict.fromkeys(pair.target for pair in splits["valid"]))[:200]
EditCost(texts)

# %% [markdown]
# A capital letter is a matter of style. A misspelt last word is a mistake in every sentence. BLEU takes
# about as much off for the one as for the other: **a word that is not the same is another word.**
#
# ## BLEU, by hand
#
# BLEU {cite:p}`papineni2002` counts **n-grams**: runs of $n$ neighbouring tokens, for $n$ from 1 to 4.
# Write $C_x(g)$ for how often the n-gram $g$ stands in the sentence $x$. Of sentences $y$ that a system
# wrote and their references $y^\ast$, the share that is right is
#
# $$ p_n = \frac{\sum_{(y, y^\ast)} \sum_g \min\big(C_y(g),\, C_{y^\ast}(g)\big)}{\sum_{(y, y^\ast)} \sum_g C_y(g)} $$ (eq-clipped-precision)
#
# The minimum **clips**: an n-gram counts at most as often as the reference has it. Otherwise *le le le le
# le le* would be faultless against *le chat est sur le tapis*. Clipped, two of six words are right.
#
# Precision alone loves short output: the fewer words, the fewer mistakes. So there is the **brevity
# penalty**, from all $c$ tokens written and all $r$ in the references:
#
# $$ b = \min\!\big(1,\, e^{1 - r/c}\big) $$ (eq-brevity)
#
# BLEU is 100 times $b$ times the geometric mean of the four shares; the whole formula is
# {eq}`eq-bleu`. By hand: *le chat est assis* against *le chat est assis sur le tapis*. Every n-gram is
# right, so all shares are 1. But $c = 4$ and $r = 7$, so $b = e^{1 - 7/4} = 0.472$. **BLEU 47.2 for a
# sentence without a wrong word.**


# %%
def right_and_all(written, wanted, n):
    """Count the n-grams that are right, and those that were written."""
    grams = [
        Counter(zip(*(words[i:] for i in range(n))))
        for words in (written.split(), wanted.split())
    ]
    return (grams[0] & grams[1]).total(), grams[0].total()


assert right_and_all("le " * 6, "le chat est sur le tapis", 1) == (2, 6)
SHORT = "le chat est assis", "le chat est assis sur le tapis"
assert [right_and_all(*SHORT, n) for n in (1, 2, 3, 4)] == [(4, 4), (3, 3), (2, 2), (1, 1)]  # fmt: skip
theirs = corpus_bleu(SHORT[:1], SHORT[1:])
assert abs(100 * math.exp(1 - 7 / 4) - theirs.score) < 1e-6
print(f"{theirs.score:.1f}", theirs.signature)

# %% [markdown]
# ### Who bites whom
#
# *le chien voit le chat* for *le chat voit le chien*: the dog and the cat have changed places. All five
# words are right, three of four pairs, no triple and no quadruple. A geometric mean with a zero is zero.
# sacrebleu helps out (`smooth:exp` in its signature): the first count of zero is taken as $1/2$, the next
# as $1/4$. So $\big(1 \cdot \tfrac34 \cdot \tfrac16 \cdot \tfrac18\big)^{1/4} = 0.354$. chrF
# ({eq}`eq-chrf`), which compares sequences of letters, finds the swap better still:

# %%
SWAP = "le chien voit le chat", "le chat voit le chien"
assert [right_and_all(*SWAP, n) for n in (1, 2, 3, 4)] == [(5, 5), (3, 4), (0, 3), (0, 2)]  # fmt: skip
swap = corpus_bleu(SWAP[:1], SWAP[1:]).score, corpus_chrf(SWAP[:1], SWAP[1:]).score
assert abs(100 * (3 / 4 / 6 / 8) ** 0.25 - swap[0]) < 1e-6
print(f"BLEU {swap[0]:.1f}, chrF {swap[1]:.1f}")

# %% [markdown]
# Neither score knows who bites. The figure once more, on all sentences of the corpus with *ne … pas*, and with the edit
# that turns each into its opposite: *ne* and *pas* are left out.

# %% tags=["hide-input"]
written = dict.fromkeys(pair.target for pairs in splits.values() for pair in pairs)
denied = [text for text in written if EDITS["not dropped"](text) != text]
EditCost(
    denied, edit="not dropped", share=100, predict=False, title="The opposite said"
)

# %% [markdown]
# Is that much for the opposite? Compare two slips of the pen at the same two places: *nee* for *ne*, *pass* for *pas*.


# %%
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
# BLEU takes more off for two slips than for the opposite. chrF takes less off for the slips, since more letters
# are there. What *pas* does to a sentence, neither knows.
#
# ### One reference, many good translations
#
# A real caption of Multi30k, which [chapter 3](03_additive.ipynb) shows with its map: *Ein Mann bereitet am Herd
# Essen zu.* Its reference is *A man cooking food on the stove.* Below stand what a small translator wrote, and a free
# translation of our own, made for this table:

# %%
caption = measured("captions")["captions"][0]
rows = []
for text in (caption["text"], "A man makes a meal on his cooker."):
    pair = [text], [caption["reference"]]
    scores = corpus_bleu(*pair).score, corpus_chrf(*pair).score
    rows.append((text, *(f"{score:.1f}" for score in scores)))
ResultTable(("written", "BLEU", "chrF"), rows, "One sentence, scored by itself")

# %% [markdown]
# The first says something else than the German, the second says it well, and their scores are all but the same. A score of
# one sentence says little, and a single reference knows a single way to say it. With several references an n-gram counts
# if any of them has it; the first question of [the exercise](../exercises/17_evaluation.ipynb) says how.
#
# ### Add first, divide last
#
# Counts add up over sentences; BLEU does not. The score of a corpus is computed from sums. The mean of
# sentence scores is another number, and the two must not stand side by side. Here every third sentence
# has a wrong middle word:
#
# ```{predict} mean-or-sums
# ```

# %% tags=["hide-output", "hide-until-mean-or-sums"]
wrong = [t.split(" ") for t in texts]
for words in wrong[::3]:
    words[len(words) // 2] = "zut"
wrong = [" ".join(words) for words in wrong]
corpus = corpus_bleu(wrong, texts).score
one_by_one = mean(corpus_bleu([a], [b]).score for a, b in zip(wrong, texts))
counts = sentence_counts(wrong, texts)  # ten whole numbers for each sentence
assert abs(bleu_from_counts(counts.sum(0)).item() - corpus) < 1e-9
print(f"corpus {corpus:.1f}, mean of sentences {one_by_one:.1f}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# The two are {{ f"{corpus - one_by_one:.1f}" }} points apart, for one and the same output. A short sentence
# with a wrong word in the middle has no right triple left, and scores low. A sentence of three words has
# no n-gram of four, and scores 0 even where it is faultless. In the sums their few n-grams hardly count;
# in the mean each is a sentence like any other.
#
# </details>
#
# ### One output, four scores
#
# BLEU needs tokens, and who cuts them decides the score. The same sentences, the last word misspelt,
# counted with four tokenisers of sacrebleu:

# %%
spell = EDITS["last word misspelt"]
good = [text for text in texts if spell(text) != text]
bad = [spell(text) for text in good]
cut = {t: corpus_bleu(bad, good, tokenize=t) for t in ("13a", "intl", "char", "none")}
ResultTable(
    ("tokeniser", "BLEU", "signature"),
    [(t, f"{found.score:.1f}", found.signature) for t, found in cut.items()],
    "The same output",
)

# %% [markdown]
# The scores lie {{ f"{max(f.score for f in cut.values()) - min(f.score for f in cut.values()):.1f}" }} points
# apart, and no letter of the output has changed. That is what the **signature** {cite:p}`post2018` is for:
# scores with different signatures are not comparable. *BLEU 40* alone says nothing.
#
# An alignment error rate ({eq}`eq-aer-sure-possible` in [chapter 8](08_reading_maps.ipynb)) has no signature, and conventions all the same. Say which links are *sure* and which
# only *possible*, or that all are sure; whether links are added up over the corpus, as in this book, or the sentences' rates averaged; and
# what becomes of words without a partner. Here they have no link, so a row that must point somewhere pays for each.
#
# ## Seeds against sentences
#
# Now a real question. One small translator, trained five times on the same pairs: only the **seed**
# differs, which draws the first weights and the order of the batches. Three more trainings had half of
# the updates. The learning rate, 0.02, is the best of three for all updates, on validation sentences. What each wrote for
# the same test sentences, by greedy search, is stored.

# %%
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
experiment_card(stored["card"])

# %% [markdown]
# And the five sentences of this book, by the first of them:

# %% tags=["hide-input"]
ResultTable(
    ("source", "written after all updates", "after half of them"),
    [
        (pair.source, stored["five"]["whole"][0][i], stored["five"]["half"][0][i])
        for i, pair in enumerate(FIVE)
    ],
    "Seed 1",
)

# %% [markdown]
# ### How many sentences?
#
# Other sentences would give another score. How far off? Where each sentence is right or wrong, the share
# $p$ of right ones of $n$ has a 95 % interval of half-width
#
# $$ w = 1.96 \sqrt{\frac{p\,(1 - p)}{n}} $$ (eq-half-width)
#
# With $p = 0.76$ and $n = 1000$ it is $0.026$. BLEU is no share and no mean over sentences, so this
# formula does not hold for it. Instead use the **bootstrap** {cite:p}`koehn2004`: draw as many sentences as
# there are, *with replacement*, add their counts, compute BLEU; do this 1,000 times, and look at the
# spread. The test sentences stand for all the sentences that might have been asked.

# %% mystnb={"image": {"alt": "Half-width of the 95 percent interval of BLEU over the number of sentences, both axes logarithmic: a dot for each of five trainings, beside a line that halves with four times the sentences. The dots follow the line."}}
sizes = (50, 100, 200, 400)
widths = {
    n: [1.96 * bootstrap_bleu(c[:n]).std().item() for c in kinds["whole"]]
    for n in sizes
}
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
# score that is good to about ± {{ f"{mean(widths[50]):.0f}" }} points, and 400 to about
# ± {{ f"{mean(widths[400]):.1f}" }}.
#
# ### Why compare in pairs?
#
# Two systems $a$ and $b$ meet the same sentences. The variance of the difference of their scores is
#
# $$ \operatorname{Var}(b - a) = \operatorname{Var} a + \operatorname{Var} b - 2 \operatorname{Cov}(a, b) $$ (eq-paired-variance)
#
# **This is the surprising part: you need not make either score more certain to make their difference so.**
# A sentence that is hard for one is often hard for the other; their scores rise and fall together, and
# what they share drops out. So draw sentences once, and score *both* on the same draw. With $d$ for the
# difference on all sentences and $d^\ast_k$ for that on draw $k$ of $K$,
#
# $$ p = \frac{1 + \#\{k : |d^\ast_k - d| \ge |d|\}}{1 + K} $$ (eq-bootstrap)
#
# The draws scatter about $d$ as a difference of nothing would scatter about 0; $p$ is the share that
# scatters as far as $d$. The corpus itself counts as one draw, so $p$ is never 0. Below, ten pairs of
# trainings. A difference is often called *significant* if $p < 0.05$.
#
# ```{predict} ten-pairs
# ```

# %% tags=["hide-output", "hide-until-ten-pairs"]
rows, found = [], {}
for i, j in itertools.combinations(range(5), 2):
    a, b = kinds["whole"][i], kinds["whole"][j]
    found[i, j] = paired_bootstrap(a, b)
    paired = 1.96 * (bootstrap_bleu(b) - bootstrap_bleu(a)).std().item()
    apart = 1.96 * (bootstrap_bleu(b, seed=1) - bootstrap_bleu(a)).std().item()
    cells = f"{found[i, j].difference:+.1f}", f"± {paired:.1f}", f"± {apart:.1f}"
    rows.append((f"{i + 1} and {j + 1}", *cells, f"{found[i, j].p:.3f}"))
heads = ("seeds", "difference", "paired", "not paired", "p")
ResultTable(heads, rows, "Ten pairs of equal trainings, BLEU")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Nothing differs but the seed, and the largest difference is
# {{ f"{max(abs(f.difference) for f in found.values()):.1f}" }} points of BLEU. The smallest $p$ is
# {{ f"{min(f.p for f in found.values()):.2f}" }}: no pair is below 0.05. With more sentences some might be, and
# rightly so: two trainings *are* two translators. The bootstrap answers "would other sentences say the same
# of *these two trainings*?" It cannot answer "is the method better?", for it never saw another training.
#
# </details>
#
# `seqattn compare` prints the $p$ of sacrebleu, which counts one of the two directions and so comes out
# at about half of {eq}`eq-bootstrap` where it is small: 0.05 there is about 0.10 here. Read which $p$ a paper means.
#
# For the method you need several seeds on each side, and then compare their ranges:

# %%
a, b, rates = bleu["half"], bleu["whole"], stored["rates"]
print(f"half {min(a):.1f} to {max(a):.1f}, whole {min(b):.1f} to {max(b):.1f}")
print("apart" if max(a) < min(b) or max(b) < min(a) else "no difference seen")
largest = max(paired_bootstrap(x, y).p for x in kinds["half"] for y in kinds["whole"])
print(f"largest p of all {len(a) * len(b)} pairs: {largest:.3f}")

# %% [markdown]
# Half of the updates costs more than any seed does: ranges apart, and every pair says so. The learning rate was chosen for
# all updates, though. Would another suit half of them? With one seed, on validation sentences, they reach
# {{ f"{rates['half']['0.02']:.0f}" }} points at this rate and {{ f"{rates['half']['0.04']:.0f}" }} at twice this rate, and all updates
# {{ f"{rates['whole']['0.02']:.0f}" }}. So the choice of the rate explains little of the gap.
#
# ### Apart by chance
#
# How often would luck do this? Suppose that two methods are equal, with $n$ seeds of one and $m$ of the other. Then any $n$
# of the $n + m$ scores might be those of the first, each choice as likely as another. The ranges are apart if
# they are the $n$ lowest or the $n$ highest, as long as no two scores are equal: two choices of $\binom{n + m}{n}$. For
# three seeds and three that is $2/20 = 0.1$. Count them:


# %%
def apart(n, m):
    """Count the choices of n places of n + m that are the lowest or the highest, and all."""
    choices = list(itertools.combinations(range(n + m), n))
    return sum(max(c) < n or min(c) >= m for c in choices), len(choices)


rows = []
for n, m in ((2, 2), (3, 3), (3, 5), (4, 4), (5, 5)):
    few, ways = apart(n, m)
    assert (few, ways) == (2, math.comb(n + m, n))
    rows.append((f"{n} and {m}", f"{few} of {ways}", f"{few / ways:.3f}"))
ResultTable(
    ("seeds", "choices", "chance"), rows, "Equal methods whose ranges are apart"
)

# %% [markdown]
# **Three seeds against three fall apart by luck once in ten times.** So with three seeds of each, "apart" says less than
# $p < 0.05$ would; four against four say more. With three against five, as above, it is
# {{ f"{2 / math.comb(8, 3):.3f}" }}. How *far* apart they are, ranges do not say: here the gap is
# {{ f"{min(bleu['whole']) - max(bleu['half']):.0f}" }} points, and the wider of the two ranges
# {{ f"{max(max(b) - min(b) for b in bleu.values()):.0f}" }}.
#
# What if one system wins with all of five seeds, each against its counterpart? A fair coin does that in
# $2 \cdot 2^{-5} = 0.0625$ of all cases, counting both directions. Five wins of five are not below 0.05;
# six of six are.
#
# ### The best of five
#
# Choose the best of the five trainings on one half of the test sentences, then score it on the other.
# Repeat with 200 random halves. How much too high is the score that it was chosen by, and what does
# choosing gain?

# %%
generator = torch.Generator().manual_seed(0)
flattery, gains = [], []
for _ in range(200):
    order = torch.randperm(len(references), generator=generator)
    seen, fresh = (
        [bleu_from_counts(c[rows].sum(0)).item() for c in kinds["whole"]]
        for rows in order.chunk(2)
    )
    best = seen.index(max(seen))
    flattery.append(seen[best] - fresh[best])
    gains.append(fresh[best] - mean(fresh))
print(f"too high by {mean(flattery):.1f} ± {stdev(flattery):.1f} BLEU")
print(f"gained by choosing {mean(gains):.1f} ± {stdev(gains):.1f} BLEU")

# %% [markdown]
# Behind ± is the standard deviation over the halves. The score that a system was chosen by is too high,
# on average by more than choosing gains. So choose on validation sentences, and look at the test
# sentences once. (Halves of one test set are not independent; the average is what counts here.)

# %% [markdown]
# ## What may be said
#
# Five questions, in this order. The first *no* ends the claim.
#
# 1. **Same sentences, same signature?** If not, the numbers are not comparable.
# 2. **Chosen on other data?** If not, the score flatters.
# 3. **An interval for the difference, in pairs?** If it holds 0: no difference seen on these sentences.
# 4. **Several seeds of each?** If not, the claim is about two trainings, not two methods.
# 5. **Ranges of the seeds apart?** If they overlap: no difference seen. If not: *better, for this data,
#    this budget, this score*.
#
# Seeds make a training repeatable only in part: other hardware, another number of threads or another
# version of PyTorch may add numbers in another order, and a training amplifies the last digit. Report
# seeds, versions and machine, and expect ranges to come back rather than digits.
#
# ## Where it breaks
#
# - **"BLEU 40 is good."** For which signature, which references, which sentences?
# - **"$p < 0.05$, so the method is better."** These two trainings differ on sentences like these.
# - **A mean of sentence scores beside a corpus score**, or a mean over batches of unequal size.
# - **The best of several seeds** beside the only one of a rival.
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

# %% [markdown]
# ## What you now know
#
# - BLEU is a ratio of sums, clipped, with a penalty for brevity; a signature says how it was counted.
# - It cannot tell a style from a mistake, nor a statement from its opposite.
# - The paired bootstrap is about sentences, and seeds are about trainings. A claim needs both.
# - Ranges of equal methods are apart now and then; with three seeds of each, once in ten times.
# - Whatever was chosen by a score is flattered by that score.
#
# **Now you.** [The exercise](../exercises/17_evaluation.ipynb) has you score against several references, put an interval
# around a difference, ask other sentences and other seeds whether it holds, and judge what may be said.
#
# **Next.** [Build a translator](18_build.ipynb), [judge it](19_judge.ipynb), and
# [study it](20_study.ipynb) with these rulers.
#
# **Sources.** BLEU: {cite:t}`papineni2002`; signatures: {cite:t}`post2018`; chrF: {cite:t}`popovic2015`;
# the bootstrap for translation: {cite:t}`koehn2004`.
