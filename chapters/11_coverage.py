# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 50
#     covers: [F-18, F-28, V-10, D-11, M-09, M-17, P-09]
#     exercise: 11_coverage
# ---

# %% [markdown]
# # 11. What the sum forgets: coverage and copying
#
# Attention begins each step afresh: it does not know which words it has attended to. In this chapter you give
# it a memory of its weights, and make it pay for attending twice. Then you let it copy a name that no
# vocabulary holds.
#
# **You need** the additive score from [chapter 3](03_additive.ipynb), and beam search from
# [chapter 7](07_training.ipynb) for one measurement. **This chapter covers** coverage in the score and in the loss,
# what they cure and what they leave as it is, the pointer-generator, and its limits.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Take a *stuck decoder*. Its state never changes: at every step it brings the same {query}`query` to the
# same three words, *cat*, *sat* and *mat*. All that it has besides is the **coverage** of each word: the
# sum of the weights that the word has received so far. Two numbers, $w_c$, say how coverage enters the score.
# At first both are 0.

# %% tags=["hide-input"]
import textwrap

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from seqattn import CoverageAttention, coverage_loss
from seqattn.data import FIVE, TINY, measured
from seqattn.models import extend_vocabulary, mix_copy
from seqattn.plots import (
    GREY,
    WEIGHTS,
    ResultTable,
    experiment_card,
    plot_attention,
    use_style,
)
from seqattn.translator import Translator
from seqattn.widgets import CopyMixture, CoverageSteps

use_style()
torch.set_printoptions(precision=2, sci_mode=False, linewidth=90)
caption = measured("captions")["captions"][2]
looked = torch.tensor(caption["weights"]).sum(0)  # of each token, over all steps


def low_high(values, form=".2f"):
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


CoverageSteps(
    caption="Take three steps. Then set coverage on feature 1 to −1 and on feature 2 to −2."
)

# %% [markdown]
# What to try:
#
# - With $w_c = (-1, -2)$ take three steps, and read the largest weights from top to bottom. Then take all six: does
#   it go back?
# - Change the signs to $(1, 2)$.
# - Go back to $(-1, -2)$ and move the state. Does the order stay?
#
# <details><summary>What you see</summary>
#
# - After three steps the largest weights are on *cat*, *sat*, *mat*. **A decoder that never moves reads on. Coverage alone did it;** that the order is that of the sentence is due to these numbers.
# - In six steps it does not go back to *cat*: *mat* keeps the largest weight, and from step 4 on the rows come nearer to a third each.
# - With $(1, 2)$ coverage raises scores, and *cat* keeps the largest weight.
# - The order depends on these numbers: with $s = (-1, 1)$ it begins at *mat*.
#
# </details>
#
# ## By hand
#
# With $w_c = (-1, -2)$ and the numbers of chapter 3:

# %% [markdown]
# | step | coverage before | scores | weights | loss |
# |---|---|---|---|---|
# | 1 | 0, 0, 0 | 0.88, 0.42, −0.29 | **.52**, .32, .16 | 0 |
# | 2 | .52, .32, .16 | −0.65, −0.16, −0.72 | .28, **.46**, .26 | 0.77 |
# | 3 | .80, .78, .42 | −1.54, −1.49, −1.24 | .29, .31, **.40** | 1.00 |
#
# The last column is what {eq}`eq-looks-again` below will charge. After three steps the coverage is 1.09,
# 1.09 and 0.82: about 1 for each word. With $w_c = (0, 0)$ the row stays .52, .32, .16, and the
# coverage becomes 1.55, 0.97 and 0.48.
#
# Here is the loop. Apart from one term and one sum, it is that of chapter 3.


# %%
def stuck(w_c, steps):
    coverage, rows, before = torch.zeros(3).double(), [], []
    for _ in range(steps):
        felt = TINY.h @ TINY.W_k.T + coverage[:, None] * w_c  # (words, d_attn)
        scores = torch.tanh(TINY.W_q @ TINY.s + felt) @ TINY.v
        rows.append(scores.softmax(-1))
        before.append(coverage)
        coverage = coverage + rows[-1]
    return torch.stack(rows), torch.stack(before)


w_c = torch.tensor([-1.0, -2.0]).double()
weights, before = stuck(w_c, 3)
print("weights\n", weights, "\ncoverage before each step\n", before)
assert weights.argmax(-1).tolist() == [0, 1, 2]

# %% [markdown]
# ## Coverage in the score
#
# Let $\alpha_{ti}$ be the weight of source word $i$ at step $t$. The coverage of a word *before* step $t$
# is
#
# $$ c_{ti} = \sum_{t' < t} \alpha_{t'i} $$ (eq-coverage-before)
#
# Each row of weights sums to 1, so after $t - 1$ steps
#
# $$ \sum_{i} c_{ti} = t - 1 $$ (eq-coverage-total)
#
# whatever the weights are. That is a test that costs one line. Coverage enters the additive score as a
# third term inside the tanh {cite:p}`see2017` (their bias there is left out):
#
# $$ e_{ti} = v^\top \tanh\big(W_q s_t + W_k h_i + w_c\, c_{ti}\big) $$ (eq-feels-coverage)

# %% [markdown]
# The new parameter is one vector, $w_c$, with one number for each hidden feature. It stands inside the
# tanh, so that its effect can depend on the word and the query. Outside, equal coverage would change every score by the same
# amount. The projected keys $W_k h_i$ can still be computed once
# and kept. But the steps must be taken one after the other, because each needs the weights of those before.
#
# {cite:t}`tu2016` have a richer memory: a coverage *vector* for each word, updated by a small recurrent
# network, or a *fertility*, the number of target words that a source word is expected to need.
#
# The package's module starts with $w_c = 0$, where it *is* additive attention. So you can add coverage to
# a model that was trained without it. With our numbers filled in, the module agrees with the loop:

# %%
attention = CoverageAttention(d_query=2, d_key=2, d_attn=2).double()
with torch.no_grad():
    attention.w_c.copy_(w_c)
    for name in ("W_q", "W_k", "v"):
        getattr(attention.attention.score, name).copy_(getattr(TINY, name))
    found = attention(TINY.s.expand(1, 7, 2), TINY.keys)
torch.testing.assert_close(found.weights[0, :3], weights)
torch.testing.assert_close(found.coverage.sum(-1), torch.tensor([7.0]).double())

# %% [markdown]
# ## Coverage in the loss
#
# A score that *can* feel coverage need not use it. The **coverage loss** asks it to:
#
# $$ L_{\mathrm{cov}} = \frac{1}{N} \sum_t \sum_i \min\big(\alpha_{ti},\, c_{ti}\big) $$ (eq-looks-again)
#
# where $N$ counts the real target words of the batch. It is added to the usual loss, times a factor
# $\lambda$; See et al. take $\lambda = 1$, in a short last stage of training. A step pays for what it
# shares with the steps before it.
#
# ```{predict} two-even-looks
# ```
#
# Here are four pairs of rows over two words. Beside the minimum stands another candidate, the product:

# %% tags=["hide-output", "hide-until-two-even-looks"]
pairs = {
    "one each": [[1.0, 0.0], [0.0, 1.0]],
    "the same twice": [[1.0, 0.0], [1.0, 0.0]],
    "evenly, twice": [[0.5, 0.5], [0.5, 0.5]],
    "nearly one each": [[0.9, 0.1], [0.1, 0.9]],
}
for name, (first, second) in pairs.items():
    first, second = torch.tensor(first), torch.tensor(second)
    least = torch.minimum(first, second).sum()
    print(f"{name:16} minimum {least:.2f}   product {(first * second).sum():.2f}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **The loss is small for rows that share little with the rows before.** Sharp rows on new words do; wide rows do only on
# words not yet attended to, and soon there are none left.
#
# *Evenly, twice* costs 1, as much as the same word twice. Each word's coverage equals its new weight, so
# the minimum *is* the weight, and the weights sum to 1. One might think that it punishes only what is high twice. The
# product comes nearer to that.
#
# Look back at the stuck decoder. It did what we want, *cat*, *sat*, *mat*, and its third step still costs
# 1.00, the most that is possible. Its rows are too wide.
#
# </details>
#
# So a coverage loss of 0.9 need not be a fault: the scale goes from 0 to 1, and blurred maps stand near
# its upper end. Compare it with the value of the same model before the loss was added.
#
# ### Before the step, not after
#
# Suppose that the coverage already includes the step's own weights. Then
#
# $$ \min(\alpha_{ti},\; c_{ti} + \alpha_{ti}) = \alpha_{ti} $$ (eq-coverage-after)
#
# and the loss is 1 at every step, with a gradient of 0. The program runs, and nothing is learned from it.
# Published code had this mistake more than once (OpenNMT-py, issue 2013; atulkum/pointer_summarizer, the second question of issue 11).

# %%
scores = torch.randn(2, 5, 4, generator=torch.manual_seed(0)).requires_grad_()
maps = scores.softmax(-1)
coverages = {"before": maps.cumsum(1) - maps, "after": maps.cumsum(1)}
for name, seen in coverages.items():
    loss = coverage_loss(maps, seen)
    (slope,) = torch.autograd.grad(loss, scores, retain_graph=True)
    largest = slope.abs().max()
    print(f"coverage {name:7} loss {loss:.3f}, largest gradient {largest:.3f}")

# %% [markdown]
# ## Four things called coverage
#
# The name is used for four things.
#
# | where | what it does | in the package |
# |---|---|---|
# | score | *feels* how much weight each word got {eq}`eq-feels-coverage` | `attention="coverage"` |
# | loss | makes attending to a word again *cost* {eq}`eq-looks-again` | `coverage_loss` |
# | another loss | wants the total of each word near 1 {eq}`eq-look-at-each-word` | `doubly_stochastic_penalty` |
# | beam search | prefers translations that gave every word a total of at least 1 {eq}`eq-coverage-in-search` | `coverage_penalty` |
#
# The first changes the model. The second and third change its training. The fourth changes neither: it
# chooses among the translations of a finished model. Some words need two target words, as *not* needs *ne*
# and *pas*. The second and third charge for that too.

# %% [markdown]
# ## Measured: a task that needs a memory
#
# The source is a bag of letters in any order, *b d a b*. The target has them sorted: *a b b d*. The
# encoder state of a letter is its bare embedding, so the three states of *b b b* are equal. The decoder, a GRU with
# the same first state for every bag, must find out how many there are. It is trained on bags of 2 to 6 letters of four
# kinds, and is judged on bags of 6, 9 and 12.
#
# Three sorters read such bags. The first has additive attention, the second has coverage in its score, and
# the third is trained with the coverage loss as well ($\lambda = 1$). The first two also read two other kinds
# of source: a bag with an end mark such as `<eos>`, and a bag that a recurrent encoder has read first. That encoder also
# makes the decoder's first state, which then differs from bag to bag. The table's last row is a baseline without a model:
# the shortest bag that has these shares of letters.
#
# ```{predict} who-needs-a-memory
# ```

# %% tags=["hide-input", "hide-output", "hide-until-who-needs-a-memory"]
stored = measured("remembering")
runs, card = stored["runs"], stored["card"]


def of(name, length, what="exact"):
    return [run[str(length)][what] for run in runs[name]]


rows = [
    [
        name,
        *(low_high(of(name, n)) for n in (6, 9, 12)),
        low_high(of(name, 9, "left out")),
    ]
    for name in runs
]
fewest = stored["rules"]["6"]["fewest of these shares"]["exact"]
rule = [stored["rules"][str(n)]["fewest of these shares"] for n in (6, 9, 12)]
shares = [f"{x['exact']:.2f}" for x in rule]
rows.append(["baseline", *shares, f"{rule[1]['left out']:.2f}"])
ResultTable(
    ("share of bags sorted", "6 letters", "9", "12", "left out of 9"),
    rows,
    "Sorting a bag of letters",
    f"lowest to highest of {card['seeds']} seeds, {card['judged']} bags each",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **The bag of bare embeddings.** Weights are shares. Without coverage, *b b b a a a* and *b a* give the
#   same contexts, so the decoder writes the same. The baseline sorts
#   {{ f"{fewest:.2f}" }} of the bags of 6. Additive attention
#   stays below, {{ low_high(of("additive", 6)) }}; with coverage each seed is above,
#   {{ low_high(of("coverage", 6)) }}. A row on three *b* leaves a third on each: that tells their number.
# - **The other sources** can count by something else: an end mark to compare with, or what the recurrent encoder hands on. Every bag of 6 is sorted,
#   coverage or not.
# - **The loss.** On bags of 6 the coverage loss itself (not in the table) is {{ low_high(of("coverage, loss", 6, "coverage loss")) }} beside {{ low_high(of("coverage", 6, "coverage loss")) }} without it in training. In sorting the ranges overlap. With equal seeds
#   the loss sorts more bags of 9 in all three, and leaves out fewer letters in two: too few to settle it.
# - **Longer bags.** On bare embeddings coverage leaves out {{ low_high(of("coverage", 9, "left out")) }}
#   of 9 letters, additive attention {{ low_high(of("additive", 9, "left out")) }}. At 12 letters none sorts a bag.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# The learning rate of each sorter, one of five, was chosen by the perplexity on other bags. Apart from the order of their
# letters, the bags of 6 have all come up in training; those of 9 and 12 are new.
#
# With an end mark or a recurrent encoder a difference in the share sorted could show at 9 letters above all.
# There the ranges overlap, in letters left out as well. But compare sorters of equal seed, six pairs: at 9 letters coverage sorts more bags in five, and leaves out fewer letters in five; at 12 it leaves out fewer in all six.
#
# Equal letters get equal weights, so 0.53 is the least that rows can share, counting the end.
#
# </details>

# %% [markdown]
# ## What coverage does not cure
#
# The translator that comes with the package was trained on at most 12 words, and with the third thing called
# coverage: the totals of its source words were pulled towards 1. On longer sentences it drops
# clauses ([chapter 8](08_reading_maps.ipynb)) and now and then repeats words. The fourth thing needs no training: the
# search adds the penalty {eq}`eq-coverage-in-search`, with its factor $\beta$, to the score of each finished translation. Here are
# sentences of 12, 18 and 24 words,
# {{ stored["card"]["sentences"]["24"] }} of each length, with a beam of 5 and a length penalty of 0.6. *Left
# out* counts words of the reference that the translation does not have, *repeated* how often a three-word
# sequence is repeated.
#
# ```{predict} what-the-search-can-do
# ```

# %% tags=["hide-input", "hide-output", "hide-until-what-the-search-can-do"]
searched, rows = stored["search"], []
worst = searched["24"]["worst"]
for name, text in (
    ("source", worst["source"]),
    *((f"β = {beta}", worst[beta]) for beta in ("0.0", "0.5")),
):
    print(textwrap.fill(f"{name}: {text}", 42, subsequent_indent="  "))
for words in ("12", "18", "24"):
    for beta in ("0.0", "0.5"):
        row = searched[words][beta]
        told = [f"{row['bleu']:.1f}", f"{row['length']:.2f}"]
        for what in ("left out", "repeated"):
            low, high = row[f"{what}, change"]
            change = (
                ""
                if beta == "0.0"
                else f" ({low:+.2f} to {high:+.2f})".replace("-", "−")
            )
            told.append(f"{row[what]:.2f}{change}")
        rows.append([words, beta.removesuffix(".0"), *told])
ResultTable(
    ("words", "β", "BLEU", "length", "left out", "repeated"),
    rows,
    "The coverage penalty of the search, on sentences of 12 to 24 words",
    "per sentence; in brackets the change against β = 0, 95% of resampled sentences",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - At 12 words, as in the training, nothing changes.
# - Beyond 12, **fewer words are left out**: at each length the interval lies below 0. Most of what was missing still is.
# - **Repetitions do not become rarer**; there were hardly any before. At 24 words nearly all the new ones are in the sentence above, which we picked for that: one clause, said three times.
#
# Why? The penalty charges each word whose total is below 1, most of all one that got hardly any weight, and has nothing against attending twice. And a search can only choose among what the model offers. (A model trained without a pull of the totals towards 1 may gain more, and a longer text leaves out fewer words by luck alone, too.)
#
# </details>

# %% [markdown]
# ### Covered, and not translated
#
# **Coverage counts weights. It does not tell whether a word was translated.** Here are the book's five sentences by that translator, each with its source word of least total weight. Then comes a German caption, translated by the caption model of
# [chapter 3](03_additive.ipynb), which has none of the four; we chose it because its translation loses words: *{{ caption["source"] }}* It wrote:
# *{{ caption["text"] }}*
#
# *Gleichfarbigen*, read in two pieces, is "of the same colour". The translation has *hard hats* for such vests. Yet the two
# pieces got {{ f"{looked[3]:.2f}" }} and {{ f"{looked[4]:.2f}" }} in all, about 1 each.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Bars: the total weight that each token of the German caption got over all steps of its translation. Männer, gleich, farbigen and auf have about one each. The end mark has most, the full stop least."}}
shown_five = Translator.load("toy").translate([pair.source for pair in FIVE], beam=1)
for pair, told in zip(FIVE, shown_five):
    totals = told.weights.sum(0)[:-1]  # the last is <eos>
    least = int(totals.argmin())
    word = told.source_tokens[least]
    print(f"{pair.source}\n    {told.text}\n    least: {word}, {totals[least]:.2f}")
figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
read = [token.strip("▁") for token in caption["source_tokens"]]
ax.bar(range(len(read)), looked, color=WEIGHTS)
ax.axhline(1, color=GREY, linestyle=":")
ax.set_xticks(range(len(read)), read, rotation=45, ha="right", rotation_mode="anchor")
ax.set_ylabel("total weight")
plt.show()
experiment_card(card, "The card of the sorters and the search")

# %% [markdown]
# ## A name that nobody has met
#
# *ada misses bo's sister.* No vocabulary holds every name. For the model *ada* and *bo* are `<unk>`, and
# `<unk>` is all that it can write for them. Yet both stand in the source; they have to be **copied**.
#
# The **pointer-generator** both writes and copies. A gate, computed from the state $s_t$, the context
# $c_t$ and the embedding $E y_{t-1}$ of the last word, decides how much to write:
#
# $$ p_{\mathrm{gen}} = \sigma\big(w^\top [s_t; c_t; E y_{t-1}] + b\big) $$ (eq-copy-gate)
#
# What is not written is copied, and the attention weights say from where:
#
# $$ P(y) = p_{\mathrm{gen}}\, P_{\mathrm{vocab}}(y) + (1 - p_{\mathrm{gen}}) \sum_{i:\, x_i = y}
#    \weights{\alpha_{ti}} $$ (eq-write-or-copy)
#
# Here $y$ runs over the **extended vocabulary**: all known words, then the unknown words of *this*
# sentence, in order of appearance. Each part sums to 1, and so does the mixture. A word that stands in the
# source twice gets both weights; a known word can be written *and* copied.
#
# By hand: the source is *ada sees bo*, the known words are *le*, *voit* and `<unk>`,
# $P_{\mathrm{vocab}} = (.2, .3, .5)$, the weights are (.7, .2, .1), and $p_{\mathrm{gen}} = .2$. Then
#
# | le | voit | `<unk>` | ada | sees | bo |
# |---|---|---|---|---|---|
# | .2 · .2 = **.04** | .2 · .3 = **.06** | .2 · .5 = **.10** | .8 · .7 = **.56** | .8 · .2 = **.16** | .8 · .1 = **.08** |

# %%
known = {"le": 0, "voit": 1, "<unk>": 2}
written, row = torch.tensor([0.2, 0.3, 0.5]), torch.tensor([0.7, 0.2, 0.1])
[ids], [own] = extend_vocabulary([["ada", "sees", "bo"]], known)
p_gen = torch.tensor(0.2)

mixed = F.pad(p_gen * written, (0, len(own)))
mixed = mixed.scatter_add(0, torch.tensor(ids), (1 - p_gen) * row)
print(dict(zip([*known, *own], [round(p, 2) for p in mixed.tolist()])))

# %% [markdown]
# `mix_copy` does the same with logarithms, for a whole batch. Now you move the gate; it begins at .2:

# %% tags=["hide-input"]
one = (written.log()[None], row[None], p_gen.logit()[None], torch.tensor([ids]))
torch.testing.assert_close(mix_copy(*one, size=6)[0].exp(), mixed)
CopyMixture(
    gate=0.2,
    caption="Bold words stand outside the vocabulary. Raise the score of “bo” until it is the "
    "most probable word. Then move the gate to 1. Which bars are left?",
)

# %% [markdown]
# ### Supervised for free
#
# Nothing labels the attention weights. But if the right word is a name outside the vocabulary, then
# $P(y) = (1 - p_{\mathrm{gen}})\,A$, where $A$ is the sum of the weights on that name. Take the softmax's
# derivative from [chapter 2](02_soft_addressing.ipynb), and hold the gate fixed (it depends on the scores
# too, through $c_t$). Then
#
# $$ \frac{\partial \ln P(y)}{\partial \scores{e_{ti}}}
#    = \frac{\weights{\alpha_{ti}}}{A}\,[x_i = y] - \weights{\alpha_{ti}} $$ (eq-copy-teaches-looking)
#
# where $[x_i = y]$ is 1 if the name stands at position $i$, and 0 if not. Let it stand at one place only.
# Then the first term is 1 there, and this is the gradient of a classifier that is told the right class.
# **Each copied word is a label for the attention.**

# %%
scores = torch.tensor([0.5, -1.0, 0.3, 0.1], requires_grad=True)
ids = torch.tensor([[3, 0, 4, 1]])  # 3 and 4 are names; the right one is 4
logits = torch.zeros(1, 3)
log_p = mix_copy(logits, scores.softmax(-1)[None], torch.zeros(1), ids, size=5)[0, 4]
(slope,) = torch.autograd.grad(log_p, scores)
label = torch.tensor([0.0, 0.0, 1.0, 0.0])
torch.testing.assert_close(slope, label - scores.softmax(-1).detach())

# %% [markdown]
# ## Measured: names and gates
#
# Here is a small language about people, with verbs that swap subject and object: *ada misses bo* is *bo
# manque à ada*. Each sentence has two names out of a hundred invented ones, none in the vocabulary; the
# test sentences have *other* names. Beside the pointer-generator stands the same model without copying. Its output is
# repaired afterwards in two ways, both old tricks:
#
# - *by weights*: each `<unk>` becomes the source word of the largest weight in its row;
# - *by order*, a baseline that sees no weights: the first `<unk>` becomes the first unknown word, and so on.
#
# ```{predict} who-finds-the-name
# ```

# %% tags=["hide-input", "hide-output", "hide-until-who-finds-the-name"]
copied = measured("copying")
copying, plain = (copied["runs"][name] for name in ("copies", "writes"))


def names(runs, way, what="in place"):
    return [run["test"][way][what] / run["test"][way]["names"] for run in runs]


ways = {
    "pointer-generator": (copying, "as written"),
    "no copying, as written": (plain, "as written"),
    "no copying, mended by weights": (plain, "largest weight"),
    "no copying, mended by order": (plain, "in order"),
}


def errors(runs):
    return [run["test"]["aer"] for run in runs]


looked = [run["test"]["rows on the name"] for run in plain]
told = [run["test"]["as written"] for run in copying]
guessed = [t["right de"] / t["of a name"] for t in told]
rows = []
for name, (models, way) in ways.items():
    found = [run["test"][way] for run in models]
    whole = [t["but for de"] / t["of"] for t in found]
    rows.append([name, *(low_high(x) for x in (names(models, way), whole))])
rows.append(
    ["a source word at random", f"{copied['card']['source word at random']:.2f}", ""]
)
yard = copied["yardsticks"]
title = "Names that no model has met"
note = f"lowest to highest of {copied['card']['seeds']} seeds, {copied['card']['tested on']} sentences"
heads = ("", "names in their place", "sentences right, but for de and d'")
ResultTable(heads, rows, title, note)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **The pointer-generator** puts every name in its place, in each seed. But for *de* and *d'*, all its
#   sentences are right.
# - **By order** the other model reaches {{ low_high(names(plain, "in order")) }}: the rule fails wherever
#   a verb swaps the two.
# - **By weights** it has {{ low_high(names(plain, "largest weight")) }}; a source word drawn at random
#   would lie within that range. Where a name belongs, its row looks at one in
#   {{ low_high([looks[0] / looks[1] for looks in looked]) }} of the places. To *this* model all names are
#   `<unk>`, and it can write `<unk>` without looking at one. The trick needs an attention that aligns for
#   other reasons; copying *makes* it look.
# - **It copies what it cannot read.** French has *d'ada* but *de bo*. Half of the names begin with a
#   vowel, and the pointer-generator takes the right form in {{ low_high(guessed) }} of the places:
#   guesswork. All that its encoder read was `<unk>`.
# - **Nor is its map an alignment.** The error rate of its links is {{ low_high(errors(copying)) }}: lower than that
#   of random links,
#   {{ f"{yard['at random']:.2f}" }}, and higher than that of a diagonal stretched to both lengths, {{ f"{yard['diagonal']:.2f}" }}. Without copying it is
#   {{ low_high(errors(plain)) }}, lower than both. The rows that were taught lie on names; in the
#   sentence below most others lie there as well.
#
# </details>

# %% tags=["hide-input"] mystnb={"image": {"alt": "The attention map of the sentence, and beside each of its rows a bar of the share that is copied there. The bars are nearly one at bo and ada, nearly nothing at the others. The rows of bo and ada are dark on their names, and most of the other rows are dark on one of the two names as well."}}
shown = copying[0]["shown"]
figure, (ax, side) = plt.subplots(
    1, 2, figsize=(7.6, 5.4), width_ratios=(4, 1), layout="constrained"
)
plot_attention(
    torch.tensor(shown["weights"]),
    shown["source"],
    shown["tokens"],
    ax=ax,
    annotate=False,
    cbar=False,
)
side.sharey(ax)
side.barh(ax.get_yticks(), [1 - gate for gate in shown["gate"]], color=GREY)
side.tick_params(labelleft=False)
side.set(xlim=(0, 1), xlabel="$1 - p_{gen}$")
plt.show()
experiment_card(copied["card"])

# %% [markdown]
# The bars show the copied share, large at the two names alone. The weights of most other rows lie on a name as well,
# whose state has read its neighbours.
#
# <details><summary>How sure is this?</summary>
#
# The names are what is new: without them, most test sentences also stand in the training. A seed draws the
# first weights; the batches come in one order, the same for all. For both models the higher of two learning rates
# was chosen, on validation sentences.
#
# </details>
#
# ## Where it breaks

# %% [markdown]
# | slip | what you see | test |
# |---|---|---|
# | coverage after the step in the loss | a loss of 1 that never moves | the gradient is not 0 |
# | coverage not reset | a model that gets worse within an epoch | before step 1 it is 0 |
# | coverage added to the states in place | states that drift from step to step | compare them before and after |
# | loss summed over the batch | a $\lambda$ that grows with the batch | a batch of copies costs the same |
# | padded target steps counted | a loss that follows the padding | add pads: nothing changes |
# | coverage not reordered in a beam | maps that mix several sentences | feed in the result, compare maps |
# | coverage loss from the first update on | {cite:t}`see2017` saw it hinder learning; in our sorters no harm was seen | add it at the end, compare |
# | copied word set, not added | sums below 1 where a word stands twice | rows sum to 1 |
# | unknown id looked up in the embedding | an index error, or another word's vector | read `<unk>` for ids from $V$ on |
#
# Here are two of those tests:

# %%
real = torch.arange(5) < torch.tensor([[5], [3]])  # steps that count
loss = coverage_loss(maps, None, real)
many = coverage_loss(maps.repeat(8, 1, 1), None, real.repeat(8, 1))
longer = F.pad(maps, (0, 0, 0, 6))
padded = coverage_loss(longer, None, F.pad(real, (0, 6)))
torch.testing.assert_close(many, loss)
torch.testing.assert_close(padded, loss)

# %% [markdown]
# ## Questions that readers ask
#
# <details><summary>My model says the same phrase again and again. Is coverage the cure?</summary>
#
# Find out first what kind of loop it is. Does it also come when the right words are fed in? Then the model
# has not learned the sentence; train, or look at the data. Does it come in long sentences alone? Then
# length is the first suspect: train on longer ones and see. Only if the map shows that the same source words were
# looked at twice is coverage, in score and loss, the remedy to try. The search's penalty made repetitions
# no rarer above. Blocking repeated sequences hides the loop.
#
# </details>
#
# <details><summary>What is the vector of a copied word?</summary>
#
# It has none. Written at step $t$, it is read at step $t + 1$ as `<unk>`. So the decoder does not know
# *which* name it has just written, only that it was one. A recurrent state and coverage know more.
#
# </details>
#
# <details><summary>In my trained model <i>p</i><sub>gen</sub> is always near 1. A bug?</summary>
#
# Not if there is nothing to copy. Summaries copy much of the text, translations a name here and there.
# Look at the gate where a name is written.
#
# </details>
#
# <details><summary>Do source and target need one shared vocabulary?</summary>
#
# They need shared *numbers*, not shared parameters: each source position must say which word of the
# target's extended vocabulary it is.
#
# </details>

# %% [markdown]
# <details><summary>Subwords can spell any name. Is copying out of date?</summary>
#
# As a module, nearly: a model of pieces spells *ada* piece by piece, and attention heads learn to
# copy. In language models, *induction heads* {cite:p}`olsson2022` look for an earlier place where the present piece stood, and copy what came
# after it. The idea lives on where a long string must come out exactly: numbers, code, identifiers. There a
# distribution over *places* needs one step, and a distribution over pieces has many in which it can go
# wrong.
#
# </details>
#
# ## Check yourself
#
# ```{self-check} seven-steps
# ```
#
# ```{self-check} nearly-one-each
# ```
#
# ```{self-check} flat-loss
# ```
#
# ```{self-check} name-twice
# ```

# %% [markdown]
# ## What you now know
#
# - Coverage is the sum of the rows so far. It sums to the number of steps, whatever the weights are.
# - In the score, inside the tanh, it lets even a decoder that never moves read on.
# - In the loss, taken *before* the step, it charges what a row shares with the rows before. Wide rows pay
#   too, where they overlap.
# - Coverage sorted more bags of 6 where nothing else held a count. Where something else did, all bags of 6 were
#   sorted without it.
# - The pointer-generator adds up writing and copying over an extended vocabulary, and each copied word
#   teaches attention where to look.
# - It copies what it cannot read: *de* or *d'* before a copied name was a guess.
#
# **Now you.** In [the exercise](../exercises/11_coverage.ipynb) you write both, coverage and copying, and
# the step of a search that reads back what was copied.
#
# **Next.** [Chapter 12](12_hard.ipynb) reads one word, chosen by throwing dice. In the capstone,
# [Study it](20_study.ipynb) trains a translator with coverage in its score beside four others.
#
# ## Sources
#
# - Coverage in score and loss, and the pointer-generator: *Get To The Point: Summarization with
#   Pointer-Generator Networks* {cite:p}`see2017`, equations 8 to 13. Learned coverage and fertility:
#   {cite:t}`tu2016`.
# - Totals near 1: *Show, Attend and Tell* {cite:p}`xu2015`. Coverage in the search: {cite:t}`wu2016`.
