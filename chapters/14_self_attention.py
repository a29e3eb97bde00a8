# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 55
#     covers: [F-14, M-06, M-07, T-04, W-03, V-12, D-14, X-03]
#     exercise: 14_self_attention
# ---

# %% [markdown]
# # 14. Self-attention: a sentence looks at itself
#
# So far a decoder asked and a source answered. Here the words of one sentence ask each other. You get a layer
# that reads a whole sentence at once. You find out what it knows about word order, and you keep it from
# reading ahead.
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
    GREY,
    ORANGE,
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
# ### By hand
#
# The states are $h_1 = (1.0, 0.5)$, $h_2 = (-0.5, 1.5)$ and $h_3 = (0.5, -1.0)$, without any matrices. The
# scores are $h_t^\top h_i / \sqrt 2$.
#
# | asks | scores | weights | output |
# |---|---|---|---|
# | cat | 0.88, 0.18, 0.00 | 0.52, 0.26, 0.22 | (0.50, 0.43) |
# | sat | 0.18, 1.77, −1.24 | 0.16, 0.80, 0.04 | (−0.22, 1.24) |
# | mat | 0.00, −1.24, 0.88 | 0.27, 0.08, 0.65 | (0.56, −0.40) |
#
# The scores are symmetric, but the weights are not: each row has its own softmax. Here every word looks most
# at *itself*. Its score with itself is its squared length over $\sqrt 2$. No other state is long enough, or
# close enough in direction, to score more.

# %%
scores = TINY.h @ TINY.h.T / math.sqrt(2)
weights = scores.softmax(-1)
print("weights", weights, "outputs", weights @ TINY.h, sep="\n")
causal_rows = scores.masked_fill(~causal_mask(3), -math.inf).softmax(-1)

# %% [markdown]
# ## In general
#
# Let the rows of $X$ be the $T$ states of a sentence, each of size $d$. In **self-attention** three matrices
# make the queries, the keys and the values, all from $X$:
#
# $$ \mathrm{self}(X) = \mathrm{softmax}\Big(\frac{X W^Q (X W^K)^\top}{\sqrt{d_k}}\Big)\, X W^V $$ (eq-self-attention)
#
# $W^Q$ and $W^K$ have $d_k$ columns, $W^V$ has $d_v$, and $x_t$ is row $t$ of $X$, the state of word $t$. With $W^Q = W^K = W$
# the scores are symmetric, and the diagonal holds squared lengths:
#
# $$ \begin{aligned} e_{ti} &= \frac{(W^\top x_t)^\top (W^\top x_i)}{\sqrt{d_k}} = e_{it} \\
#    e_{tt} &= \frac{\lVert W^\top x_t \rVert^2}{\sqrt{d_k}} \end{aligned} $$ (eq-symmetric-scores)
#
# If all projected states are equally long, each word's largest score is then its own. With two different
# matrices a word need not look at words like itself: a determiner can ask for a noun. Several heads do this side by side, as in [chapter
# 13](13_heads.ipynb).


# %%
def self_attention(X, W_q, W_k, W_v):
    scores = (X @ W_q) @ (X @ W_k).mT / math.sqrt(W_k.shape[1])
    return scores.softmax(-1) @ (X @ W_v)


torch.manual_seed(0)
X, layer = torch.randn(1, 7, 8), MultiHeadAttention(8, heads=1, bias=False)
ours = self_attention(X, layer.query.weight.T, layer.key.weight.T, layer.value.weight.T)
print(
    "equal:", torch.allclose(ours @ layer.output.weight.T, layer(X).context, atol=1e-5)
)

# %% [markdown]
# ## Order does not matter
#
# Let $P$ be a matrix that puts rows into another order, so that $P^\top P = I$, and let $A$ be the weights of
# $X$. In the scores of $PX$, rows and columns are reordered in the same way:
# $PXW^Q (PXW^K)^\top = P\,XW^Q (XW^K)^\top P^\top$. The softmax works on each row and keeps this form. So the
# weights of $PX$ are $PAP^\top$:
#
# $$ \begin{aligned} \mathrm{self}(PX) &= (P A P^\top)(P X W^V) \\
#    &= P\, A X W^V = P\, \mathrm{self}(X) \end{aligned} $$ (eq-equivariance)
#
# **The outputs move with their words, and nothing else happens.** The mean of all outputs does not change at
# all. A causal mask, which comes next, belongs to places and stays where it is, so with it the proof fails. Without such a mask, a layer of self-attention followed by a mean sees a *bag of words*: how often each word occurs, but not
# in which order.

# %%
order = torch.randperm(7)
same = (layer(X[:, order]).context - layer(X).context[:, order]).abs().max().item()
means = (layer(X[:, order]).context.mean(1) - layer(X).context.mean(1)).abs().max()
closed = causal_mask(7)[None]
causal = (
    layer(X[:, order], mask=closed).context - layer(X, mask=closed).context[:, order]
)
print(f"outputs, moved with their words: largest difference {same:.0e}")
print(f"their mean: {means:.0e}")
print(f"outputs under a causal mask: {causal.abs().max():.2f}")

# %% [markdown]
# ## No reading ahead
#
# A model that writes gives each possible next word a probability, based on the words so far. In training the whole sentence is known: one pass can score all next words, provided that row $t$ sees only the columns $i \le t$. This is the **causal mask**:
#
# $$ \begin{gathered} e_{ti} = -\infty \quad\text{for } i > t \\
#    p(y_1, \dots, y_T) = \prod_{t=1}^{T} p(y_t \mid y_{<t}) \end{gathered} $$ (eq-causal)
#
# As in every decoder, what is read is shifted by one: place 1 reads the start symbol `<bos>`, and place $t$
# reads $y_{t-1}$. So row $t$ knows $y_{<t}$ and names $y_t$. Its *own* column is open: the word there has
# already been written. In PyTorch the mask is the lower triangle with its diagonal, `tril(0)`. Under it the
# first of our three rows has no choice: its weights are {{ row_of(0) }}. The second becomes {{ row_of(1) }},
# and the last row is as before.

# %% [markdown]
# One number can spoil it. `tril(1)` opens one more place: each row sees the very word that it is to name.
#
# ```{predict} tril-one
# ```
#
# With each mask, three models of the next word were trained on English sentences of the toy corpus. Each has one layer of self-attention over words with positions (a fixed vector for each place, added to the word's; [chapter 15](15_positions.ipynb)), whose output is added to its input, and a readout. They are judged on test sentences in two ways: at all places at once, as in training, and word by word, as a text is written.

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
# Places count from 0, so word 4 was changed. With `tril(0)` rows 4 to 6 move, as they may. With `tril(1)` row
# 3 moves as well: it has read ahead. One changed word is only one test. A leak may sit at another word, in a
# single row or in a single sentence. A thorough probe therefore changes each word but the first, and looks at
# all earlier rows of all sentences.
#
# ## Which clause?
#
# What can one layer do that counting words cannot? Here is a task made for the purpose: *is the film good?*
#
# {{ " · ".join(f"*{one.text}*: {'good' if one.positive else 'bad'}" for one in which_clause(3, seed=1)) }}
#
# One clause is about the film, the other about something else, and the two always disagree. Exchange what is
# said of the film and of the hat, and the same words have the opposite label: such a sentence is the **twin**
# of the first. So over all such sentences a reader that only counts words is right half of the time, whatever
# it makes of the counts.
#
# ```{predict} which-reader
# ```


# %%
class Reader(nn.Module):
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
# The mean leaves out the pads: they are neither added nor counted. Beside the trained readers stands *naive
# Bayes*, which only counts: for each word of a sentence it asks how much more often the word stands in sentences
# labelled *good* than in those labelled *bad*, and multiplies these ratios. All readers below were trained on 3,000
# sentences. Of each training, the state that did best on 500 validation sentences is judged once, on 500 test
# sentences that differ from all others. The cell below also trains the reader with positions once more, from
# a seed of its own and for 1,000 updates, where the table's readers had 600.

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
reader = Reader(len(ids) + 1)
optimizer, best = torch.optim.Adam(reader.parameters(), lr=0.005), (-1.0, None)


def share_right(part):
    with torch.no_grad():
        said = reader(lines[part], lengths[part]).argmax(-1)
    return (said == labels[part]).float().mean().item()


for update in range(1000):
    at = torch.randint(3000, (64,))
    loss = F.cross_entropy(reader(lines[at], lengths[at]), labels[at])
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    if update % 100 == 99 and share_right(slice(3000, 3500)) > best[0]:
        kept = {name: value.clone() for name, value in reader.state_dict().items()}
        best = share_right(slice(3000, 3500)), kept
reader.load_state_dict(best[1])
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
    ("reader", "seed 1", "seed 2", "seed 3"), rows, "Share right on test sentences"
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Bags of words stay near one half or below it, with a hidden layer as well. (Why below? All sentences differ,
# so a sentence that was trained on is not tested, but its twin may be. {{ twins }} of the 500 test sentences
# share their words with training sentences of the opposite label alone, only {{ fellows }} with training sentences
# of the same label alone. A reader that remembers the words leans the wrong way.) Self-attention without positions is such a
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
columns = "reader", "seed 1", "seed 2", "seed 3"
ResultTable(columns, rows, "Share right, 1,000 test sentences")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Self-attention got {{ low_high(shares["self-attention with positions"], ".3f") }} right, the bag of words
# {{ low_high(shares["bag of words"], ".3f") }}, naive Bayes {{ f"{reviews['naive Bayes']:.3f}" }}. The ranges
# of the two trained readers do not overlap, but all were judged on the same 1,000 sentences. So compare the
# two readers sentence by sentence, where the majority of a reader's three seeds decides (which narrows the gap
# between them). On {{ reviews["alone right"]["bag"] }}
# sentences only the bag was right, on {{ reviews["alone right"]["attends"] }} only self-attention. A fair
# coin divides them at least as unevenly with probability {{ f"{reviews['alone right']['luck']:.2f}" }}: no
# difference is shown between these two. That self-attention is *better* is not shown either; perhaps reviews
# seldom ask which word belongs to which.
#
# This holds for {{ f"{reviews['card']['classifier']['updates']}" }} updates from scratch, a layer whose input is not added to its output, states of 32 numbers, and dropout that was chosen for each reader on validation among three rates. Pretrained
# models, which have read millions of sentences before, are another matter.
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
# from all other words. A head may also look at nouns from everywhere. So a second baseline counts only the
# *nouns* at those distances.
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
# In each of the three models some head lets a determiner give its noun {{ low_high(on_noun) }} of the weight.
# Other words give {{ low_high(baseline) }} to what stands at the same distances, and {{ low_high(to_nouns) }}
# to nouns there. In the best untrained head a determiner gives its noun {{ low_high(best_fresh) }}. So
# neither the distance nor a liking for nouns explains all of it. The head's number differs from seed to seed;
# it was chosen on validation sentences. A head of layer 2 looks at states that layer 1 has mixed, not at bare
# words. Nobody drew this pattern.
#
# </details>
#
# Does such a head make a good translator? The table shows how the three models translate the book's five
# sentences. Below it are the maps of seed 1 for the same sentences, with their right translations. Look for
# the head yourself: between the first *the* and *owls* stands an adjective.

# %% tags=["hide-input"]
translator = measured("heads")
five = [run["five"] for run in translator["compared"]["4"]]
rows = [[pair.source, *said] for pair, *said in zip(FIVE, *five)]
columns = "", "seed 1", "seed 2", "seed 3"
ResultTable(columns, rows, "The book's five sentences, greedy search")

# %% tags=["hide-input"]
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
# Head 1 of layer 1: it gives *owls* {{ f"{looks[0, 0, 0, 2]:.2f}" }} of the first *the*'s weight. (Head 2 of layer 2 gives it {{ f"{looks[1, 1, 0, 2]:.2f}" }}.) Head 3 of
# layer 2, the first in the order by next place, gives *owls* {{ f"{looks[1, 2, 0, 2]:.2f}" }}. The pattern
# holds in the mean, not always: from the word *the* before *strawberry*, head 1 of layer 1 gives the noun
# {{ f"{looks[0, 0, 6, 7]:.2f}" }}.
#
# </details>
#
# **A head that finds the noun is not yet a right translation.** After
# {{ f"{translator['card']['updates']}" }} updates only the first of these five sentences is right. Each noun of the source has its right
# article, but in sentences 2 to 4 the verb is wrong or missing, and in the last the hero is the one who is
# missed. Whether the articles need that head, five sentences cannot tell.
#
# ### In German captions
#
# *Ein Mann bereitet am Herd Essen zu* (a man prepares food at the stove) has a verb in two parts:
# *bereitet* announces *zu*, from far back. Does a layer of self-attention learn to use it? The next-word
# model from above was trained on {{ f"{far['card']['captions']:,}" }} German captions of Multi30k, with {{
# f"{far['card']['updates']:,}" }} updates from each of three seeds. Of the test captions {{ far["tested
# on"]["that end in a prefix"] }} end in such a part, one of seven words. The map is that of seed 1, for a
# caption that it has not seen.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two maps of a German caption that looks at itself under a causal mask, one for each head: lower triangles, with the weight of the last rows spread over several words."}}
rows = [
    [f"self-attention, seed {seed}", *(f"{run[name]:.2f}" for name in FAR)]
    for seed, run in enumerate(far["runs"], 1)
]
counted = far["counting pairs"]
rows.append(["counting words after a word", *(f"{counted[name]:.2f}" for name in FAR)])
usual = far["always the most frequent"]
rows.append(["always the most frequent in training", "", f"{usual:.2f}"])
luckiest, times = max(far["endings"].items(), key=lambda ending: ending[1])
best_of_all = times / sum(far["endings"].values())
rows.append([f"always {luckiest}, the most frequent here", "", f"{best_of_all:.2f}"])
columns = "", "of all words", "of the seven"
display(ResultTable(columns, rows, "Share of verbs' second parts named correctly"))
shown = far["maps"][0]
figure, panels = plt.subplots(2, 1, figsize=(5.0, 7.6), layout="constrained")
for ax, head, name in zip(panels, shown["weights"], ("head 1", "head 2")):
    reads = shown["reads"]
    plot_attention(torch.tensor(head), reads, reads, ax=ax, annotate=False, cbar=False)
    ax.set(title=name, xlabel="looked at", ylabel="asks")
plt.show()
experiment_card(far["card"])

# %% [markdown]
# There is no sign of it in what the model names: of the seven words it picks the right one no more often than
# counts that see only one word back, or than whoever always says *zu*. The map is no proof of the opposite. The row of *essen*, which has to name *zu*, gives *bereitet* {{
# f"{shown['weights'][0][6][3]:.2f}" }} and {{ f"{shown['weights'][1][6][3]:.2f}" }}, and equal weights would
# give it {{ f"{1 / 7:.2f}" }}. So the second head looks back; but the model gives *zu* a probability of
# {{ f"{shown['next'][6]:.2f}" }}. **Looking at a word does not say how much it is used.** Longer training or a deeper model may learn more.

# %% [markdown]
# ## What it costs
#
# Each of the $T$ words is compared with each, so the work of self-attention has a part that grows with $T^2$.
# A recurrence does the same amount of work for each word, but one word after another:
#
# $$ \underbrace{4Td^2 + 2T^2d}_{\text{self-attention, 1 step}} \qquad \underbrace{6Td^2}_{\text{GRU, } T \text{ steps}} $$ (eq-path)
#
# These count multiplications; $4Td^2$ are for the projections, that of the output among them ([chapter 13](13_heads.ipynb)). In self-attention, what one word tells
# another passes through one step. In a recurrence it passes through as many steps as lie between them.
#
# | | grows as | steps in a row in one layer (whole sentence known) | longest path between two words |
# |---|---|---|---|
# | self-attention | $Td^2 + T^2d$ | 1 | 1 |
# | recurrence | $Td^2$ | $T$ | $T$ |
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
# Each time is the mean of 256 forward calls (16 words) to 4 (1,024 words), with a batch of 4 on one thread. Lines show
# the median of seven rounds, bands the lowest to the highest. At 16 words a GRU takes
# {{ low_high(ratio["64", "16"] + ratio["256", "16"], ".1f") }} times as long as self-attention that returns
# its weights. At 1,024 words it is the other way round: self-attention takes
# {{ low_high([1 / r for r in ratio["64", "1024"]], ".1f") }} times as long at size 64, and
# {{ low_high([1 / r for r in ratio["256", "1024"]], ".1f") }} times at size 256. PyTorch's fused operator
# ([chapter 16](16_transformer.ipynb)) does not store the map; at 1,024 words its times and the GRU's overlap
# at both sizes.
#
# **Self-attention is not "faster" as such. Here it took less time while sentences had no more words than a
# state has numbers.** By the formula the two are level at $T = d$. Measured, they were not: there the GRU
# took {{ low_high(ratio["64", "64"], ".1f") }} times as long as self-attention with weights at size 64, and
# {{ low_high(ratio["256", "256"], ".1f") }} times at size 256. The two crossed at longer sentences. What
# self-attention has besides: where the whole sentence is known, as in reading and in training, no step of a
# layer waits for another. (A model that writes still waits for each of its own words.) One thread cannot show what that
# is worth.

# %% [markdown]
# ## Where it breaks
#
# **"My loss fell to 0 at once."** Probe the mask, and check the shift: row $t$ reads $y_{t-1}$ and names
# $y_t$.
#
# **"Causal cross-attention."** A flag `causal=True`, copied from layer to layer, hides part of the source.
# Change the last source word: the first row must move.
#
# **A causal flag beside a cache.** With one new query and five kept keys,
# `scaled_dot_product_attention(..., is_causal=True)` aligns the two at the *start*: the query sees the first key
# alone, and no error tells you. One new query may see every key, so it needs no flag.
#
# **A mask of the wrong sentence.** The mask for target pads fits the source when both are equally long, and
# no error tells you. Test with unequal lengths.
#
# **A mean over pads.** Then a class depends on the longest sentence in the batch.

# %% [markdown]
# <details><summary>Why do we still mask when the model writes?</summary>
#
# While it writes one word at a time there is no later word, and the last row needs no mask. But in training
# the rows of earlier words were computed under it. Without it they would now see later words, and the next
# layer has not learned to read such rows. A decoder that keeps earlier keys and values computes only the new
# rows, with a column for every word so far.
#
# </details>
#
# <details><summary>Does a padded batch need a padding mask beside the causal one?</summary>
#
# With pads on the right, real rows never see one: pads come later. Rows of pads do see pads, and must not
# count in the loss. With pads on the left every real row sees pads, so the mask is needed. The rows of the
# pads then have nothing to look at: all words up to a pad are pads.
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
