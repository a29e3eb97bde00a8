# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [F-14, M-06, M-07, T-04, W-03, V-12, D-14, X-03]
#     exercise: 14_self_attention
# ---

# %% [markdown]
# # 14. Self-attention: a sentence looks at itself
#
# So far a decoder asked and a source answered. Here the words of one sentence ask each other: each makes a
# query, a key and a value. You get a layer that reads a whole sentence at once. You find out what it knows
# about word order, and you keep it from reading ahead.
#
# **You need** masks from [chapter 2](02_soft_addressing.ipynb), the scaled score from [chapter
# 5](05_scaled.ipynb) and [several heads](13_heads.ipynb). **This chapter covers** self- and cross-attention, the causal
# mask and a test for it, a sentence classifier, what heads look for, and what self-attention costs beside a
# recurrence.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Here are eight words, each with a state of two numbers, given by hand: nouns point one way, *the* and *on*
# another. Every word asks all words, itself included. Keys and values are the states themselves; the queries are the
# states, turned by an angle. A row of the map shows where one word looks. In the plane beside the map, a dot
# shows what the word gets back, its *output*.

# %% tags=["hide-input"]
import math
import statistics

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from seqattn import MultiHeadAttention, causal_mask, padding_mask
from seqattn.data import FIVE, TINY, measured, which_clause
from seqattn.models.transformer import sinusoidal_positions
from seqattn.plots import (
    BLUE,
    CONTEXT,
    GREY,
    INK,
    KEYS,
    ORANGE,
    QUERY,
    SCORES,
    VALUES,
    WEIGHTS,
    ResultTable,
    experiment_card,
    name_lines,
    plot_attention,
    use_style,
)
from seqattn.widgets import HeadsExplorer, SelfAttentionLayer

use_style()
torch.set_printoptions(precision=2, sci_mode=False, linewidth=90)
stored, reviews = measured("self_attention"), measured("reviews")
far, FAR = measured("prefixes"), ("named right", "right among prefixes")


def low_high(values, form=".2f"):
    return f"{min(values):{form}} to {max(values):{form}}"


def row_of(t):
    return f"({', '.join(f'{weight:.2f}' for weight in causal_rows[t])})"


SelfAttentionLayer(
    caption="Exchange place 2 with place 6 and watch “sat”. Tick “causal” and exchange them again. "
    "Then turn the angle: a word no longer looks at words like itself."
)

# %% [markdown]
# ## Query, key, value by hand
#
# The rows of $X$ are the book's three words: *cat* $(1, 0.5)$, *sat* $(-0.5, 1.5)$, *mat* $(0.5, -1)$. Compare
# these states with each other, by their products divided by $\sqrt 2$, and every word attends most to *itself*.
# (*Cat* gets the weights 0.52, 0.26, 0.22 and the output (0.50, 0.43).) So three matrices, which stand in the
# drawing below, turn each state into three vectors:
#
# 1. Its **query**, row times $W^Q$, is what the word asks with. *Mat* asks with
#    $(0.5 \cdot 1 - 1 \cdot 0,\ 0.5 \cdot 1 + 1 \cdot 1) = (0.5, 1.5)$, and *cat* with $(1, 0.5)$, its own state.
# 2. Its **key**, row times $W^K$, is what it is found by. The keys are $(1, 1)$, $(3, -0.5)$ and $(-2, 0.5)$.
# 3. Its **value**, row times $W^V$, is what it hands over: $(2, 0.5)$, $(2.5, 1.5)$ and $(-1.5, -1)$.
#
# *Cat*'s scores are its query times each key: 1.5, 2.75 and −1.75. Divided by $\sqrt 2$ they are 1.06, 1.94
# and −1.24, and their softmax is 0.28, 0.69, 0.03. So *cat* now attends most to *sat*. Its output is
# $0.28\,(2, 0.5)$ + $0.69\,(2.5, 1.5)$ + $0.03\,(-1.5, -1)$ = $(2.24, 1.14)$. Here are all rows at once:

# %% tags=["hide-input"] mystnb={"image": {"alt": "Self-attention of three words in numbers. On the left X, with 3 rows of 2 numbers, is multiplied by three matrices of 2 rows and 2 columns, which gives Q, K and V, each with 3 rows of 2 numbers. On the right Q times K transposed, divided by the root of 2, gives 3 rows of 3 scores; the softmax of each row gives the weights; the weights times V give the output, 3 rows of 2 numbers."}}
W_q, W_k, W_v = torch.tensor(
    [[[1, 1], [0, -1]], [[0, 1], [2, 0]], [[1, 0], [2, 1]]], dtype=torch.float64
)
Q, K, V = TINY.h @ W_q, TINY.h @ W_k, TINY.h @ W_v
scores = Q @ K.T / math.sqrt(2)
weights = scores.softmax(-1)
causal_rows = scores.masked_fill(~causal_mask(3), -math.inf).softmax(-1)


def matrix(ax, x, y, name, numbers, colour, form=".2f"):
    """Draw a matrix with its name, its size and its numbers."""
    rows, columns = numbers.shape
    size = {"fc": colour, "alpha": 0.12, "lw": 0}
    ax.add_patch(plt.Rectangle((x, y), 34 * columns, 22 * rows, **size))
    ax.vlines([x, x + 34 * columns], y, y + 22 * rows, colour, lw=1.6)
    middle = {"ha": "center", "va": "center", "color": INK}
    ax.text(
        x + 17 * columns,
        y - 12,
        f"{name}  {rows} × {columns}",
        **middle | {"color": colour},
    )
    for row, line in enumerate(numbers.tolist()):
        for i, number in enumerate(line):
            text = f"{number:{form}}".replace("-", "−")
            ax.text(x + 34 * i + 17, y + 22 * row + 12, text, size=10, **middle)


figure, (left, right) = plt.subplots(1, 2, figsize=(704 / 84, 300 / 84), layout="none")
figure.subplots_adjust(0, 0, 1, 1, wspace=0)
sign = {"ha": "center", "va": "center", "color": GREY}
parts = (("Q", W_q, QUERY), ("K", W_k, KEYS), ("V", W_v, VALUES))
for y, (name, W, colour) in zip((22, 122, 222), parts):
    matrix(left, 40, y, "$X$", TINY.h, INK, "g")
    for i, token in enumerate(TINY.words):
        left.text(34, y + 22 * i + 12, token, ha="right", va="center", color=GREY)
    left.text(126, y + 33, "×", **sign)
    matrix(left, 140, y + 11, f"$W^{name}$", W, colour, "g")
    left.text(226, y + 33, "=", **sign)
    matrix(left, 240, y, f"${name}$", TINY.h @ W, colour, "g")
matrix(right, 4, 22, "$Q$", Q, QUERY, "g")
right.text(82, 55, "×", **sign)
matrix(right, 92, 33, r"$K^\top$", K.T, KEYS, "g")
right.text(220, 55, "÷ √2 =", **sign)
matrix(right, 246, 22, "scores", scores, SCORES)
right.annotate(
    "", (55, 148), (246, 96), arrowprops={"arrowstyle": "-|>", "color": GREY}
)
right.text(166, 130, "softmax of each row", ha="left", va="center", color=GREY)
matrix(right, 4, 172, "weights", weights, WEIGHTS)
right.text(124, 205, "×", **sign)
matrix(right, 136, 172, "$V$", V, VALUES, "g")
right.text(220, 205, "=", **sign)
matrix(right, 232, 172, "output", weights @ V, CONTEXT)
for ax in (left, right):
    ax.set(xlim=(0, 352), ylim=(300, 0))
    ax.tick_params(labelsize=6)  # has a phone show the panels one below the other
    ax.axis("off")
plt.show()


# %%
def self_attention(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    scores = Q @ K.mT / math.sqrt(W_k.shape[1])
    return scores.softmax(-1) @ V


ours = self_attention(TINY.h, W_q, W_k, W_v)
print(ours)

attention = MultiHeadAttention(2, heads=1, bias=False).double()
linear = attention.query, attention.key, attention.value, attention.output
for part, W in zip(linear, (W_q, W_k, W_v, torch.eye(2))):
    part.weight.data.copy_(W.T)  # kept as (out, in); the layer computes x @ weight.T
torch.testing.assert_close(attention(TINY.h[None]).context[0], ours)

# %% [markdown]
# ## In general
#
# Let the rows of $X$ be the $T$ states of a sentence, each of size $d$; $x_t$ is that of word $t$. In
# **self-attention** three learned matrices make the queries, the keys and the values, all from $X$:
#
# $$ \mathrm{self}(X) = \mathrm{softmax}\Big(\frac{X W^Q (X W^K)^\top}{\sqrt{d_k}}\Big)\, X W^V $$ (eq-self-attention)
#
# $W^Q$ and $W^K$ have $d_k$ columns, $W^V$ has $d_v$. Several heads do this side by side, as in [chapter 13](13_heads.ipynb).
#
# With $W^Q = W^K = W$ the scores are symmetric, and the diagonal holds squared lengths:
#
# $$ \begin{aligned} e_{ti} &= \frac{(W^\top x_t)^\top (W^\top x_i)}{\sqrt{d_k}} = e_{it} \\
#    e_{tt} &= \frac{\lVert W^\top x_t \rVert^2}{\sqrt{d_k}} \end{aligned} $$ (eq-symmetric-scores)
#
# If all projected states are equally long, each word's largest score is then its own. With two matrices a
# determiner can ask for a noun.
#
# ## Order does not matter
#
# Let $P$ reorder rows, so that $P^\top P = I$, and let $A$ be the weights of $X$. In the
# scores of $PX$, rows and columns are reordered alike: $PXW^Q (PXW^K)^\top = P\,XW^Q (XW^K)^\top P^\top$. The
# softmax works on each row, so the weights are $PAP^\top$:
#
# $$ \begin{aligned} \mathrm{self}(PX) &= (P A P^\top)(P X W^V) \\
#    &= P\, A X W^V = P\, \mathrm{self}(X) \end{aligned} $$ (eq-equivariance)
#
# **The outputs move with their words, and nothing else happens.** So a layer of self-attention with a mean
# behind it sees a *bag of words*: how often each word occurs, not in which order. With a causal mask,
# which comes next, the proof fails.

# %%
torch.manual_seed(0)
X, layer = torch.randn(1, 7, 8), MultiHeadAttention(8, heads=1, bias=False)
order, closed = torch.randperm(7), causal_mask(7)[None]
moved, still = layer(X[:, order]).context, layer(X).context
print(f"moved with their words: {(moved - still[:, order]).abs().max():.0e}")
print(f"their mean: {(moved.mean(1) - still.mean(1)).abs().max():.0e}")
moved, still = (layer(x, mask=closed).context for x in (X[:, order], X))
print(f"under a causal mask: {(moved - still[:, order]).abs().max():.2f}")

# %% [markdown]
# ## No reading ahead
#
# A model that writes one word after another, each based on the words so far, is called **autoregressive**.
# In training the whole sentence is known, so one pass can score all next words, provided that row $t$ sees
# only the columns $i \le t$. That is the **causal mask** (or look-ahead mask):
#
# $$ \begin{gathered} e_{ti} = -\infty \quad\text{for } i > t \\
#    p(y_1, \dots, y_T) = \prod_{t=1}^{T} p(y_t \mid y_{<t}) \end{gathered} $$ (eq-causal)
#
# What is read is shifted by one: position 1 reads the start symbol `<bos>`, and position $t$ reads $y_{t-1}$. So
# row $t$ knows $y_{<t}$, the words before word $t$, and predicts $y_t$:

# %% tags=["hide-input"] mystnb={"image": {"alt": "The causal mask as a square of four rows and four columns, both named bos, the, cat, sat. On the diagonal and below it stand scores; above it, minus infinity. Beside the rows stands what each predicts: the, cat, sat, eos."}}
words = ["<bos>", "the", "cat", "sat", "<eos>"]
figure, ax = plt.subplots(figsize=(340 / 84, 176 / 84), layout="none")
figure.subplots_adjust(0, 0, 1, 1)
middle = {"ha": "center", "va": "center"}
for t in range(4):
    ax.text(58, 46 + 32 * t, words[t], ha="right", va="center", color=QUERY)
    ax.text(88 + 48 * t, 16, words[t], color=KEYS, **middle)
    ax.text(264, 46 + 32 * t, f"→ {words[t + 1]}", ha="left", va="center", color=INK)
    for i in range(4):
        colour, text = (SCORES, f"$e_{{{t + 1}{i + 1}}}$") if i <= t else (GREY, "−∞")
        if i > t:
            ax.add_patch(
                plt.Rectangle(
                    (64 + 48 * i, 30 + 32 * t), 48, 32, fc=GREY, alpha=0.15, lw=0
                )
            )
        ax.text(88 + 48 * i, 46 + 32 * t, text, color=colour, **middle)
for i in range(5):
    ax.plot(
        [64 + 48 * i] * 2, [30, 158], [64, 256], [30 + 32 * i] * 2, color=GREY, lw=0.8
    )
ax.set(xlim=(0, 340), ylim=(172, 0))
ax.axis("off")
plt.show()

# %% [markdown]
# The diagonal is open: the word there has already been written. In PyTorch the mask is the lower triangle with its
# diagonal, `tril(0)`. Of the three words by hand, *cat* then has no choice: its weights are
# {{ row_of(0) }}. Those of *sat* become {{ row_of(1) }}, and those of *mat* stay as they are.
#
# One number can spoil it. `tril(1)` opens one more column: each row sees the very word that it is to predict.
#
# ```{predict} tril-one
# ```
#
# With each mask, three models of the next word were trained on English sentences of the toy corpus. Each has one layer of self-attention over words with positions ([chapter 15](15_positions.ipynb)), whose output is added to its input, and a readout. They are judged on test sentences in two ways: at all positions at once, as in training, and word by word, as a text is written.

# %% tags=["hide-input", "hide-output", "hide-until-tril-one"]
leak, counts, rows = stored["leak"], stored["leak, counting"], []
for name, runs in leak.items():
    at_once, by_word = ([run[k] for run in runs] for k in ("at once", "word by word"))
    rows.append([name, low_high(at_once), low_high(by_word), runs[0]["written"][2]])
columns = "mask", "all at once", "word by word", "writes, for example"
ResultTable(
    columns,
    rows,
    "Loss on test sentences, nats a word, three seeds",
    f"Counting words: {counts['words']:.2f}; counting words after a word: "
    f"{counts['words after a word']:.2f}.",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# With the right mask both losses are the same, and below those of counting. With `tril(1)` the loss at once
# is near 0: the model copies the word that it sees. When it writes word by word it has nothing to copy, and
# its loss is far above that of counting single words. **A loss that is too good is the symptom.** Training does not punish the bug; it rewards it.
#
# </details>
#
# A **probe** finds such a leak without any training. Change one word, and look at the rows before it: they
# must not move.


# %%
def rows_that_move(mask, changed=4):
    other = X.clone()
    other[:, changed] += 1.0
    moved = layer(X, mask=mask[None]).context - layer(other, mask=mask[None]).context
    return (moved[0].abs().amax(-1) > 1e-6).nonzero().flatten().tolist()


for diagonal in (0, 1):
    print(f"tril({diagonal})", rows_that_move(torch.ones(7, 7).tril(diagonal).bool()))

# %% [markdown]
# Positions count from 0, so word 4 was changed. With `tril(0)` rows 4 to 6 move, as they may. With `tril(1)` row
# 3 moves as well: it has read ahead. A thorough probe changes each word but the first, and looks
# at all earlier rows of all sentences.
#
# ## Which clause?
#
# What can one layer do that counting words cannot? Here is a task made for the purpose: *is the film good?*
#
# {{ " · ".join(f"*{one.text}*: {'good' if one.positive else 'bad'}" for one in which_clause(3, seed=1)) }}
#
# One clause is about the film, the other about something else, and the two always disagree. Exchange what is
# said of the film and of the hat, and the same words have the opposite label: such a sentence is the **twin**
# of the first. So over all such sentences a classifier that only counts words is right half of the time, whatever
# it makes of the counts.
#
# ```{predict} which-reader
# ```


# %%
class Classifier(nn.Module):
    """One layer of self-attention, the mean over real words, a linear readout."""

    def __init__(self, words, d=32):
        super().__init__()
        self.embedding, self.readout = nn.Embedding(words, d), nn.Linear(d, 2)
        self.attention = MultiHeadAttention(d, heads=2)

    def forward(self, ids, lengths):
        real = padding_mask(lengths, ids.shape[1])
        x = self.embedding(ids) + sinusoidal_positions(ids.shape[1], 32)
        x = self.attention(x, mask=real).context.masked_fill(~real[..., None], 0.0)
        return self.readout(x.sum(1) / lengths[:, None])


# %% [markdown]
# Beside the trained classifiers stands *naive
# Bayes*, which only counts: for each word of a sentence it asks how much more often the word stands in sentences
# labelled *good* than in those labelled *bad*, and multiplies these ratios. All classifiers below were trained on 3,000
# sentences. Of each training, the state that did best on 500 validation sentences is judged once, on 500 test
# sentences that differ from all others. The cell also trains the one with positions once more, from
# a seed of its own and for 1,000 updates, where the table's had 600.

# %% tags=["hide-input", "hide-output", "hide-until-which-reader", "nbval-ignore-output"]
drawn = which_clause(4000)
ids = {
    w: i
    for i, w in enumerate(sorted({w for one in drawn for w in one.text.split()}), 1)
}
lengths = torch.tensor([len(one.text.split()) for one in drawn])
lines = [torch.tensor([ids[w] for w in one.text.split()]) for one in drawn]
lines = nn.utils.rnn.pad_sequence(lines, batch_first=True)
labels = torch.tensor([int(one.positive) for one in drawn])
torch.manual_seed(7)
classifier = Classifier(len(ids) + 1)
optimizer, best = torch.optim.Adam(classifier.parameters(), lr=0.005), (-1.0, None)


def share_right(part):
    with torch.no_grad():
        said = classifier(lines[part], lengths[part]).argmax(-1)
    return (said == labels[part]).float().mean().item()


for update in range(1000):
    at = torch.randint(3000, (64,))
    loss = F.cross_entropy(classifier(lines[at], lengths[at]), labels[at])
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    if update % 100 == 99 and share_right(slice(3000, 3500)) > best[0]:
        kept = {name: value.clone() for name, value in classifier.state_dict().items()}
        best = share_right(slice(3000, 3500)), kept
classifier.load_state_dict(best[1])
print(f"here and now, with positions: {share_right(slice(3500, 4000)):.2f}")
labels_of = {}  # of the training sentences with the same words, in whatever order
for one in drawn[:3000]:
    labels_of.setdefault(tuple(sorted(one.text.split())), set()).add(one.positive)
known = [labels_of.get(tuple(sorted(one.text.split()))) for one in drawn[3500:]]
fellows, twins = (
    sum(labels == {one.positive == same} for labels, one in zip(known, drawn[3500:]))
    for same in (True, False)
)
clause = {
    name: [run["test"] for run in runs] for name, runs in stored["clause"].items()
}
rows = [[name, *(f"{share:.2f}" for share in found)] for name, found in clause.items()]
rows.append(
    ["naive Bayes, from counts", f"{stored['clause, counting words']:.2f}", "", ""]
)
ResultTable(
    ("classifier", "seed 1", "seed 2", "seed 3"), rows, "Share right on test sentences"
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Bags of words stay near one half or below it, with a hidden layer as well. (Why below? All sentences differ,
# so a sentence that was trained on is not tested, but its twin may be. {{ twins }} of the 500 test sentences
# share their words with training sentences of the opposite label alone, only {{ fellows }} with training sentences
# of the same label alone. A classifier that remembers the words leans the wrong way.) Self-attention without positions is such a
# bag too, as {eq}`eq-equivariance` says. With positions it hardly makes a mistake. Neither does a GRU
# whose states are read by one learned query. So *self*-attention is one way to find out which word belongs to which, not the only one.
#
# The surprise is the causal layer *without* positions, which is as good. Row $t$ is a bag as well, but only
# of the words *up to* $t$: the first clause's adjective is read before the second noun, the second clause's
# adjective after both. **A causal mask brings some order with it** {cite:p}`haviv2022`. [Chapter
# 15](15_positions.ipynb) comes
# back to that.
#
# </details>
#
# ### And real reviews?
#
# That task was made so that counting must fail. Now take real sentences from film reviews, half of them
# praise ({cite:t}`pang2005`): {{ f"{reviews['card']['sentences']['train']:,}" }} to train on, 1,000 for
# validation, 1,000 for test.
#
# ```{predict} real-reviews
# ```

# %% tags=["hide-input", "hide-output", "hide-until-real-reviews"]
shares = {name: found["test"] for name, found in reviews["readers"].items()}
rows = [[name, *(f"{share:.3f}" for share in found)] for name, found in shares.items()]
rows.append(["naive Bayes, from counts", f"{reviews['naive Bayes']:.3f}", "", ""])
rows.append(["always the larger class", f"{reviews['larger class']:.3f}", "", ""])
columns = "classifier", "seed 1", "seed 2", "seed 3"
ResultTable(columns, rows, "Share right, 1,000 test sentences")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Self-attention got {{ low_high(shares["self-attention with positions"], ".3f") }} right, the bag of words
# {{ low_high(shares["bag of words"], ".3f") }}, naive Bayes {{ f"{reviews['naive Bayes']:.3f}" }}. Is the bag
# better? Compare the two sentence by sentence, where the majority of three seeds decides. On
# {{ reviews["alone right"]["bag"] }} sentences only the bag was right, on
# {{ reviews["alone right"]["attends"] }} only self-attention. A fair coin divides them at least as unevenly
# with probability {{ f"{reviews['alone right']['luck']:.2f}" }}: no difference is shown between these two.
# Perhaps reviews seldom ask which word belongs to which. This holds for small models trained from scratch;
# pretrained ones, which have read millions of sentences before, are another matter.
#
# </details>

# %% [markdown]
# ## Two sentences
#
# In **cross-attention** the queries come from one sequence, $Y$, and the keys and values from another, $X$:
#
# $$ \mathrm{cross}(Y, X) = \mathrm{softmax}\Big(\frac{Y W^Q (X W^K)^\top}{\sqrt{d_k}}\Big)\, X W^V $$ (eq-cross-attention)
#
# The decoders of chapters 3 to 12 did this with one query at a time, many of them with other scores. The
# operation is the same as in self-attention; only its inputs differ. So the package has one class under three
# names: `SelfAttention` and `CrossAttention` are `MultiHeadAttention`.
#
# | | self-attention, encoder | self-attention, decoder | cross-attention |
# |---|---|---|---|
# | who asks | source words | target words so far | target words |
# | who answers | source words | target words so far | source words |
# | mask | the source's pads | causal, and the target's pads | **the source's pads**, nothing causal |
# | size of the map | $S \times S$ | $T \times T$ | $T \times S$ |
# | a row says | which words a word draws on | which written words | where the translation looks |
#
# **A mask belongs to what is looked at.** The source is known from its first word to its last, so
# cross-attention may look anywhere in it.

# %%
source, target = torch.randn(2, 5, 8), torch.randn(2, 3, 8)
real = padding_mask(torch.tensor([5, 2]))
print("self ", tuple(layer(source, mask=real).weights.shape))
print("cross", tuple(layer(target, source, mask=real).weights.shape))

# %% [markdown]
# ## What heads look for
#
# [Chapter 13](13_heads.ipynb) looked for heads that follow a *position*. Here is a pattern of language.
# French needs a noun's gender to choose between *le* and *la*. Does a head look from an English determiner to
# its noun? We ask the eight heads on the source side of chapter 13's translator from English to French (2
# layers of 4 heads), trained three times, from different initial weights.
#
# In most phrases the noun is the next word, so a head that looks at the next word would seem to know grammar.
# A fair score compares it with the **distance baseline**: the same head's mean weight at the same distances,
# from all other words. A second baseline counts only the *nouns* at those distances: a head may look at nouns from everywhere.
#
# ```{predict} determiner-head
# ```


# %% tags=["hide-input", "hide-output", "hide-until-determiner-head"]
def flat(part, name):
    return [weight for layer_weights in part[name] for weight in layer_weights]


rows, on_noun, baseline, to_nouns, best_fresh = [], [], [], [], []
for seed, run in enumerate(stored["nouns"], 1):
    gain = [
        a - b
        for a, b in zip(
            flat(run["valid"], "on noun"), flat(run["valid"], "same distance")
        )
    ]
    head = gain.index(max(gain))
    on_noun.append(flat(run["test"], "on noun")[head])
    baseline.append(flat(run["test"], "same distance")[head])
    to_nouns.append(flat(run["test"], "same distance, a noun")[head])
    best_fresh.append(max(flat(run["untrained"], "on noun")))
    found = on_noun[-1], baseline[-1], to_nouns[-1], best_fresh[-1]
    name = f"{head // 4 + 1}·{head % 4 + 1}"
    rows.append([str(seed), name, *(f"{weight:.2f}" for weight in found)])
columns = "seed", "layer·head", "determiner to its noun", "other words, same distance"
columns = *columns, "other words, a noun there", "untrained, best of 8"
ResultTable(columns, rows, "Mean weight, test sentences")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Each of the three models has a head in which determiners put {{ low_high(on_noun) }} of their weight on their
# noun. Other words put {{ low_high(baseline) }} on what stands at the same distances, and
# {{ low_high(to_nouns) }} on nouns there; in the best untrained head it is {{ low_high(best_fresh) }}. So
# neither the distance nor a liking for nouns explains all of it. The head, chosen on validation sentences,
# has another number in each seed.
#
# </details>
#
# Here are the maps of seed 1 for the book's five sentences, with their right translations. Look for the head
# yourself: between the first *the* and *owls* stands an adjective.

# %% tags=["hide-input"]
translator = measured("heads")
five = [run["five"] for run in translator["compared"]["4"]]
shown, counted = far["maps"][0], far["counting pairs"]
luckiest, times = max(far["endings"].items(), key=lambda ending: ending[1])
best_of_all = times / sum(far["endings"].values())
maps = translator["maps"]
looks = torch.tensor(maps[2]["weights"]["source"]) / 100  # layer, head, row, column
HeadsExplorer(
    maps,
    kind="source",
    score="next place",
    sentence=2,
    column=2,
    caption="Go through the heads in their order. Which of them looks from the first “the” "
    "past the next word to “owls”?",
)

# %% [markdown]
# <details><summary>Which head is it?</summary>
#
# Head 1 of layer 1: it gives *owls* {{ f"{looks[0, 0, 0, 2]:.2f}" }} of the first *the*'s weight. The pattern
# holds in the mean, not always: from the *the* before *strawberry*, it gives the noun
# {{ f"{looks[0, 0, 6, 7]:.2f}" }}.
#
# </details>
#
# **A head that finds the noun is not yet a right translation.** After
# {{ f"{translator['card']['updates']}" }} updates only the first of these five sentences is right, in all
# three models. Each noun of the English sentence has its right article, but in sentences 2 to 4 the verb is wrong or missing.

# %% [markdown]
# ### In German captions (optional)
#
# *Ein Mann bereitet am Herd Essen zu* (a man prepares food at the stove) has a verb in two parts: *bereitet*
# announces the particle *zu*. Does a layer of self-attention learn to use that? The next-word
# model from above, trained three times on {{ f"{far['card']['captions']:,}" }} German captions of Multi30k,
# shows no sign of it. Asked which of seven particles ends a caption (*ab*, *an*, *auf*, *aus*, *ein*, *vor*
# or *zu*), it is right no more often than a *bigram
# model*, which counts which word followed which, or than always answering *zu*. The row of *essen*, which has to predict *zu*, gives *bereitet*
# {{ f"{shown['weights'][0][6][3]:.2f}" }} and {{ f"{shown['weights'][1][6][3]:.2f}" }} in the two heads, where
# equal weights would give {{ f"{1 / 7:.2f}" }}. So the second head looks back; but *zu* gets a probability of
# {{ f"{shown['next'][6]:.2f}" }}. **Looking at a word does not say how much it is used.**
#
# Folded below: the translations, the particles, a caption's maps.

# %% tags=["hide-input", "hide-output"] mystnb={"image": {"alt": "Two maps of a German caption that looks at itself under a causal mask, one for each head: lower triangles, with the weight of the last rows spread over several words."}}
rows = [[pair.source, *said] for pair, *said in zip(FIVE, *five)]
columns = "", "seed 1", "seed 2", "seed 3"
display(ResultTable(columns, rows, "The book's five sentences, greedy search"))
rows = [
    [f"self-attention, seed {seed}", *(f"{run[name]:.2f}" for name in FAR)]
    for seed, run in enumerate(far["runs"], 1)
]
rows.append(["bigram model", *(f"{counted[name]:.2f}" for name in FAR)])
rows.append([f"always {luckiest}", "", f"{best_of_all:.2f}"])
columns = "", "of all words", "of the seven"
display(ResultTable(columns, rows, "Share of particles predicted correctly"))
figure, panels = plt.subplots(2, 1, figsize=(5.0, 7.6), layout="constrained")
for ax, head, name in zip(panels, shown["weights"], ("head 1", "head 2")):
    reads = shown["reads"]
    plot_attention(torch.tensor(head), reads, reads, ax=ax, annotate=False, cbar=False)
    ax.set(title=name, xlabel="looked at", ylabel="asks")
plt.show()
experiment_card(far["card"])

# %% [markdown]
# ## What it costs
#
# Each of the $T$ words is compared with each, so the work of self-attention has a part that grows with $T^2$.
# A recurrence does the same work for each word, one after another:
#
# $$ \underbrace{4Td^2 + 2T^2d}_{\text{self-attention, 1 step}} \qquad \underbrace{6Td^2}_{\text{GRU, } T \text{ steps}} $$ (eq-path)
#
# These count multiplications; $4Td^2$ are for the projections, that of the output among them ([chapter 13](13_heads.ipynb)). In self-attention, what one word tells
# another passes through one step. In a recurrence it passes through as many steps as lie between them.
#
# | | grows as | steps in a row in one layer (whole sentence known) | longest path between two words |
# |---|---|---|---|
# | self-attention | $Td^2 + T^2d$ | 1 | 1 |
# | recurrence | $Td^2$ | $T$ | $T - 1$ |
# | window, $w$ words to each side | $Td^2 + Twd$ | 1 | about $T/w$ layers |

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, for states of size 64 and of size 256: processor milliseconds of one call against sentence length from 16 to 1,024 words, both on logarithmic scales, with bands from the lowest to the highest of seven rounds. For short sentences self-attention is below the GRU. Self-attention with weights rises more steeply and ends above the GRU; the fused operator ends near the GRU."}}
prices = stored["cost"]["milliseconds"]
figure, panels = plt.subplots(2, 1, figsize=(6.4, 5.8), sharex=True)
colours = dict(zip(prices["64"], (GREY, ORANGE, BLUE)))
for ax, (width, ways) in zip(panels, prices.items()):
    for way, times in ways.items():
        sizes, colour = [int(size) for size in times], colours[way]
        low, middle, high = (
            [pick(t) for t in times.values()] for pick in (min, statistics.median, max)
        )
        ax.fill_between(sizes, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(sizes, middle, "o-", color=colour, label=way)
    ax.set(xscale="log", yscale="log", xticks=sizes, ylabel="processor ms")
    ax.set_xticklabels(sizes), ax.minorticks_off()
    ax.annotate(f"size {width}", (0.03, 0.88), xycoords="axes fraction")
panels[1].set_xlabel("words")
name_lines(panels[0])
plt.show()
display(experiment_card(stored["card"]), experiment_card(reviews["card"]))


def ratios(way):
    return {
        (width, size): [a / b for a in ways["GRU"][size] for b in ways[way][size]]
        for width, ways in prices.items()
        for size in ways["GRU"]
    }


ratio, fused = ratios("self-attention, with weights"), ratios("self-attention, fused")

# %% [markdown]
# **Self-attention is not "faster" as such. Here it took less time while sentences had no more words than a
# state has numbers.** And where the whole sentence is known, as in
# reading and in training, no step of a layer of self-attention waits for another. One thread cannot show what that is worth.
# PyTorch's fused operator ([chapter 16](16_transformer.ipynb)) does not store the map; at 1,024 words its times and the GRU's overlap
# at both sizes.
#
# <details><summary>How sure is this?</summary>
#
# Each time is the mean of 256 forward calls (16 words) to 4 (1,024 words), with a batch of 4 on one thread. Lines show
# the median of seven rounds, bands the lowest to the highest. At 16 words a GRU takes
# {{ low_high(ratio["64", "16"] + ratio["256", "16"], ".1f") }} times as long as self-attention that returns
# its weights. At 1,024 words it is the other way round: self-attention takes
# {{ low_high([1 / r for r in ratio["64", "1024"]], ".1f") }} times as long at size 64, and
# {{ low_high([1 / r for r in ratio["256", "1024"]], ".1f") }} times at size 256.
#
# By the formula the two are level at $T = d$. Measured, they were not: there the GRU
# took {{ low_high(ratio["64", "64"], ".1f") }} times as long as self-attention with weights at size 64, and
# {{ low_high(ratio["256", "256"], ".1f") }} times at size 256.
#
# </details>

# %% [markdown]
# ## Where it breaks
#
# **"My loss fell to 0 at once."** Probe the mask, and check the shift: row $t$ reads $y_{t-1}$ and predicts
# $y_t$.
#
# **"Causal cross-attention."** A flag `causal=True`, copied from layer to layer, hides part of the source.
# Change the last source word: the first row must move.
#
# **A causal flag beside a cache.** With one new query and five kept keys,
# `scaled_dot_product_attention(..., is_causal=True)` aligns the two at the *start*: the query sees the first
# key alone. One new query may see every key, so it needs no flag.
#
# **A mask of the wrong sentence.** The mask for target pads fits a source of equal length: test with others.
#
# **A mean over pads.** Then a class depends on the longest sentence in the batch.
#
# <details><summary>Why do we still mask when the model writes?</summary>
#
# While it writes one word at a time, the last row needs no mask. But in training the rows of earlier words
# were computed under it. Without it they would see later words, and the next layer has not learned to read
# such rows. A decoder with a cache of earlier keys and values computes only the new rows.
#
# </details>
#
# <details><summary>Does a padded batch need a padding mask beside the causal one?</summary>
#
# With pads on the right, real rows never see one: pads come later. Rows of pads do, and must not
# count in the loss. With pads on the left every real row sees pads, so the mask is needed.
#
# </details>

# %% [markdown]
# ## Check yourself
#
# ```{self-check} swapped-class
# ```
#
# ```{self-check} causal-first-row
# ```
#
# ```{self-check} one-matrix
# ```
#
# ## What you now know
#
# - Self-attention makes queries, keys and values from one sentence; cross-attention takes the queries from
#   another.
# - Without positions or a causal mask, outputs move with their words, and their mean sees a bag of words.
# - A causal mask opens the diagonal and what stands before it. A probe finds a leak without training.
# - A mask belongs to what is looked at.
# - A head earns a name when it beats other words' weight at the same distance, and an untrained model.
#
# **Now you.** [The exercise](../exercises/14_self_attention.ipynb) has you mask a batch, write a probe that
# catches leaks, build the two masks of a decoder, and classify reviews: where does looking help?
#
# **Next.** [Chapter 15](15_positions.ipynb) tells the words where they stand, and [chapter
# 16](16_transformer.ipynb) stacks such layers into a Transformer.
#
# ## Sources
#
# - Self-attention: {cite:t}`cheng2016`, {cite:t}`parikh2016`; in another sense, with learned queries, {cite:t}`lin2017`. In the form used here, with the
#   causal mask and the table of costs: {cite:t}`vaswani2017`, sections 3.2.3 and 4.
# - A loss that was too good: issue 2478 of `pytorch/tutorials`. Cross-attention under the target's mask: pull
#   request 1046 of `keras-team/keras-io`.
