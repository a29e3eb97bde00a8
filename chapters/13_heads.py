# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 50
#     covers: [F-13, V-11, D-09, D-22, X-06, M-05]
#     exercise: 13_heads
# ---

# %% [markdown]
# # Several heads
#
# One row of weights gives one average, and an average forgets which part came from where. Here you give
# attention several rows at the price of one. You see what a single head cannot do, find out what the
# heads of a trained translator look at, and take them away to see which of them matter.
#
# **You need** queries, keys and values from [soft addressing](02_soft_addressing.ipynb) and the scaled and
# the low-rank score from [chapter 5](05_scaled.ipynb). **It covers** multi-head attention by hand, as a
# formula and in ten lines; splitting and merging; what it costs; heads found by a score; and a model
# without some of its heads.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Here is a line of twelve letters, drawn at random: `b k a c a f …`. At each place a network is to name two
# letters: the one to the *left* and the one to the *right*. It has one attention layer, which knows each
# letter and its position, and a linear readout behind it. Guessing is right once in twelve times.
#
# We train it three times with one **head**, that is, with one row of weights for each place. Then with
# two heads, each of half the size, and with four. The number of trained weights in the attention stays
# the same.
#
# ```{predict} one-head-two-places
# ```

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from seqattn import MultiHeadAttention, padding_mask
from seqattn.data import FIVE, TINY, measured
from seqattn.metrics import pattern_scores
from seqattn.models import Transformer, all_heads, head_weights, masked_heads
from seqattn.models.transformer import sinusoidal_positions
from seqattn.plots import (
    BLUE,
    GREY,
    ResultTable,
    experiment_card,
    plot_attention,
    use_style,
)
from seqattn.widgets import HeadsExplorer, TwoHeads

use_style()
torch.set_printoptions(precision=3, sci_mode=False, linewidth=90)
stored = measured("heads")


def low_high(values, form=".2f"):
    return f"{min(values):{form}} to {max(values):{form}}"


def cross_entropy(logits, letters):
    return F.cross_entropy(logits.flatten(0, 1), letters.flatten())


# %%
def name_both_neighbours(heads, updates=600, size=32, letters=12):
    torch.manual_seed(1)
    embed, attention = nn.Embedding(letters, size), MultiHeadAttention(size, heads)
    parts = nn.ModuleList([embed, attention, nn.Linear(size, 2 * letters)])
    optimizer = torch.optim.Adam(parts.parameters(), lr=0.005)
    for _ in range(updates + 1):
        line = torch.randint(letters, (64, 12))
        context, _ = attention(embed(line) + sinusoidal_positions(12, size))
        left, right = parts[2](context[:, 1:-1]).chunk(2, -1)
        loss = cross_entropy(left, line[:, :-2]) + cross_entropy(right, line[:, 2:])
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    # The last batch, as every other, is new to the network.
    hits = left.argmax(-1) == line[:, :-2], right.argmax(-1) == line[:, 2:]
    return [side.float().mean().item() for side in hits]


# %% tags=["hide-output", "hide-until-one-head-two-places", "nbval-ignore-output"]
once = {heads: name_both_neighbours(heads) for heads in (1, 2)}
for heads, rates in once.items():
    print(f"{heads} heads, here and now: left {rates[0]:.2f}, right {rates[1]:.2f}")
task, rows = stored["neighbours"], []
for heads, runs in task.items():
    for seed, run in enumerate(runs, 1):
        looks = [f"{a:.2f} / {b:.2f}" for a, b in zip(run["previous"], run["next"])]
        rates = [f"{run[side]:.2f}" for side in ("left", "right")]
        rows.append([heads, str(seed), *rates, "  ".join(looks), run["weights"]])
columns = "heads", "seed", "left", "right", "weight on left / right, by head", "weights"
ResultTable(columns, rows, "Share of neighbours named rightly")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# With one head one of the two neighbours is named well. The other is named in {{ low_high([min(run["left"],
# run["right"]) for run in task["1"]]) }} of all places, where guessing gives 0.08. Which of the two it is
# depends on the seed. The head does look at both places. But it returns *one* sum, and from a sum of two
# letters a *linear* readout gets only the louder one. It looks a little more at one of them, and the readout
# finds that one. With two heads each takes a side, and in three seeds there is hardly a mistake.
#
# </details>
#
# ## One head stays in the triangle
#
# [Chapter 2](02_soft_addressing.ipynb) said why: weights are not negative and sum to 1, so a context is an
# average of the values and stays inside their hull. For three values that is a triangle. Here they are the states of *cat*, *sat* and *mat*, with two
# numbers each. One head compares whole states. Of two heads the first sees first numbers alone, the second
# second numbers.

# %% tags=["hide-input"]
TwoHeads(
    caption="Move both numbers of the query to 3, then the second to −3. The disc is one head, the "
    "square is two heads, and the dashed box holds all that two heads can reach."
)

# %% [markdown]
# ### By hand
#
# The states are $h_1 = (1.0, 0.5)$, $h_2 = (-0.5, 1.5)$ and $h_3 = (0.5, -1.0)$, the query is
# $s = (0.5, 1.0)$, and there are no matrices yet.
#
# | head | scores | weights | returns |
# |---|---|---|---|
# | one head, $s^\top h_i / \sqrt 2$ | 0.707, 0.884, −0.530 | 0.403, 0.481, 0.117 | (0.221, 0.805) |
# | head 1, first numbers | 0.5, −0.25, 0.25 | 0.444, 0.210, 0.346 | 0.512 |
# | head 2, second numbers | 0.5, 1.5, −1.0 | 0.254, 0.690, 0.057 | 1.105 |
#
# Side by side the two heads return $(0.512, 1.105)$. Straight below that point the edge from *cat* to
# *sat* runs at a height of 0.825. **The point lies outside the triangle.** No single row of
# weights can reach it. The surprise is small once seen: each number has an average of its own.


# %%
def one_head(query, states):
    scores = states @ query / math.sqrt(len(query))
    return scores.softmax(0) @ states


whole = one_head(TINY.s, TINY.h)
halves = [one_head(TINY.s[[d]], TINY.h[:, [d]]) for d in (0, 1)]
edge = 0.5 + (1.0 - halves[0].item()) * (1.5 - 0.5) / (1.0 + 0.5)
print("one head ", whole)
print("two heads", torch.cat(halves), f"  the edge there: {edge:.3f}")

# %% [markdown]
# ## In general
#
# A model does not cut states in half as they come. It first projects them, and each head has projections
# of its own. Let $Q$ hold the queries in its rows, $K$ the keys and $V$ the values, all of size $d$.
# Head $h$ of $H$ has matrices with $d_h = d/H$ columns:
#
# $$ \mathrm{head}_h = \mathrm{softmax}\Big(\frac{Q W^Q_h\,(K W^K_h)^\top}{\sqrt{d_h}}\Big)\, V W^V_h $$ (eq-head)
#
# The heads are set side by side and mixed by one more matrix, with blocks $W^O_h$ of $d_h$ rows:
#
# $$ [\mathrm{head}_1; \dots; \mathrm{head}_H]\, W^O = \sum_{h=1}^{H} \mathrm{head}_h\, W^O_h $$ (eq-heads-sum)
#
# The right side is the surprising one. **Heads are added.** Each writes an addend of full size $d$, and no
# head reads another. So a head can be switched off by leaving out its addend. And heads can be exchanged, each with its
# block, and nothing changes: **the number of a head means nothing.** What is head 3 in one training may be head
# 1, or no head at all, in the next.
#
# The scores are those of [chapter 5](05_scaled.ipynb). One head compares with a matrix of low rank,
#
# $$ Q\, W^Q_h {W^K_h}^\top K^\top, \qquad \mathrm{rank}\big(W^Q_h {W^K_h}^\top\big) \le d_h $$ (eq-head-rank)
#
# that is {eq}`eq-reduced-rank-score` with $k = d_h$. More heads mean thinner heads.

# %% [markdown]
# Where are these small matrices in a program? There are none. The $H$ matrices $W^Q_h$ stand side
# by side in one matrix of $d \times d$, and one product computes all heads. Here is the right side of {eq}`eq-heads-sum`
# in ten lines, with the weights of the package's module. Below it is held against that module, and against
# PyTorch's own, whose masks mean the opposite.


# %%
def multi_head(attention, query, keys, mask):
    d_h = attention.query.out_features // attention.heads
    q, k, v = attention.query(query), attention.key(keys), attention.value(keys)
    total = attention.output.bias
    for h in range(attention.heads):
        part = slice(h * d_h, (h + 1) * d_h)
        scores = q[..., part] @ k[..., part].mT / math.sqrt(d_h)
        weights = scores.masked_fill(~mask[:, None], -math.inf).softmax(-1)
        total = total + weights @ v[..., part] @ attention.output.weight[:, part].T
    return total


# %%
torch.manual_seed(0)
ours, theirs = MultiHeadAttention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
query, keys = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
mask = padding_mask(torch.tensor([7, 4]))
with torch.no_grad():
    inputs = [ours.query.weight, ours.key.weight, ours.value.weight]
    theirs.in_proj_weight.copy_(torch.cat(inputs))
    theirs.out_proj.load_state_dict(ours.output.state_dict())
torch.testing.assert_close(
    ours(query, keys, mask=mask).context, multi_head(ours, query, keys, mask)
)
expected = theirs(query, keys, keys, key_padding_mask=~mask, average_attn_weights=False)
torch.testing.assert_close(tuple(ours(query, keys, mask=mask)), expected)
print("three programs, one result; weights", tuple(expected[1].shape))

# %% [markdown]
# ### Split, then transpose
#
# The loop over heads is slow. Programs bring the heads to the front, `(B, T, d)` to `(B, H, T, d_h)`, and
# treat each head as a sentence of its own. That takes *two* operations: split the **last** axis, then
# exchange it with the positions. One `view` gives the same shape and another content:


# %%
class OneView(MultiHeadAttention):
    def _split(self, x):
        return x.reshape(len(x), self.heads, -1, x.shape[-1] // self.heads)


x = torch.arange(12).view(1, 3, 4)  # 3 positions with 4 numbers each
right, wrong = x.view(1, 3, 2, 2).transpose(1, 2), x.view(1, 2, 3, 2)
print("head 1, right:", right[0, 0].tolist(), " one view:", wrong[0, 0].tolist())

order, off = torch.tensor([3, 0, 4, 1, 2]), {}
for kind, heads in ((MultiHeadAttention, 3), (OneView, 1), (OneView, 3)):
    attention = kind(12, heads)
    moved = attention(query[:, order]).context - attention(query).context[:, order]
    off[kind, heads] = moved.abs().max().item()
    print(f"{kind.__name__:18s} {heads} heads: off by {off[kind, heads]:.6f}")

# %% [markdown]
# With one `view`, head 1 has the first *positions* and not the first *numbers*: words are mixed before any
# weight is computed. No shape is wrong, nothing fails, and with one head the two are the same. Public
# programs had this bug, in the split or in the merge. In one of them the test trained a model to copy, and
# passed. The probe above finds it: **exchange the words, and the outputs must be exchanged with
# them, and otherwise stay** (in self-attention, without a mask and without positions).
#
# Over weights `(B, H, T, S)` a padding mask `(B, S)` needs two new axes,
# `(B, 1, 1, S)`. With one alone, `(B, 1, S)`, it fails, unless there are as many sentences as heads: then
# sentence 2's mask silences words of *head* 2. And a program that divides by $\sqrt d$ in
# place of $\sqrt{d_h}$ makes all scores too small by $\sqrt H$.
# **Test with several heads, and with as many sentences as heads.**
#
# ## The bill
#
# All heads together have as many weights as one: four matrices, each with a bias of size $d$.
#
# $$ 4d^2 + 4d \quad\text{for every } H $$ (eq-heads-parameters)
#
# and for $T$ positions, self-attention, as many multiplications:
#
# $$ \underbrace{4 T d^2}_{\text{projections}} + \underbrace{H \cdot 2\, T^2 d_h}_{\text{scores and sums}} = 4 T d^2 + 2 T^2 d $$ (eq-heads-cost)
#
# because $H d_h = d$. What does grow is the number of rows that go through a softmax, $H T$.

# %% tags=["hide-input"]
bill_rows, x = [], torch.randn(4, 128, 256)  # 4 sentences of 128 positions, d = 256
for heads in (1, 2, 4, 8, 16):
    attention = MultiHeadAttention(256, heads)
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        attention(x)
    timed = [
        stored["bill"]["milliseconds"][way][str(heads)]
        for way in ("with weights", "fused")
    ]
    size = sum(p.numel() for p in attention.parameters())
    spread = [low_high(ms, ".1f") for ms in timed]
    bill_rows.append([str(heads), size, counted.get_total_flops() // 2, *spread])
columns = "heads", "weights", "multiplications", "ms, with weights", "ms, fused"
ResultTable(
    columns, bill_rows, "The price of heads (processor milliseconds of one thread)"
)

# %% [markdown]
# Weights and multiplications are equal to the last digit. The milliseconds of one call were taken on one
# machine beside other work, seven times; the table has the least and the most. With sixteen heads they are
# more than with one: among other things, the softmax has sixteen times as many rows.
#
# ## What heads learn
#
# In drawings of Transformers head 1 is "syntax" and head 2 is "alignment". We look instead. Three small Transformers, which
# differ in the seed alone, have learned from short pairs of the toy corpus: two layers each in encoder and
# decoder, four heads in each attention. That makes eight heads which look from English to English, eight from French to
# French, eight from French to English. The package hands out all their weights, and takes a mask of heads:

# %%
torch.manual_seed(0)
model = Transformer(11, 13, d_model=16, heads=4, layers=2, d_feedforward=16).eval()
source, lengths = torch.tensor([[4, 5, 7, 2], [6, 2, 0, 0]]), torch.tensor([4, 2])
inputs = torch.tensor([[1, 7, 8], [1, 9, 4]])
heads = head_weights(model, source, lengths, inputs)
print("cross (layers, batch, heads, steps, keys):", tuple(heads.cross.shape))
print(
    "mean weight on the previous place:",
    pattern_scores(heads.source[0], lengths).previous,
)
keep = all_heads(model)
keep["cross"][1, 2] = False  # without the third head of the second layer
with torch.no_grad(), masked_heads(model, keep):
    without = model(source, lengths, inputs).logits

# %% [markdown]
# Before you look at them:
#
# ```{predict} which-roles
# ```
#
# Here are all heads of the first of the three models. Choose who looks at whom, and a score to order them
# by. A name such as 2·3 is layer 2, head 3. Rows and columns of *French to French* are the words that the
# decoder reads, from `<bos>` on.

# %% tags=["hide-input"]
HeadsExplorer(
    stored["maps"],
    sentence=2,
    caption="Order the heads from English to English by the previous place, then by the next. The "
    "model has seen 500 batches; its weights are rounded to two decimals.",
)

# %% [markdown]
# One sentence proves nothing. So here each head is scored on all test sentences. A pattern's head is *chosen* by
# the validation sentences and *judged* by the test sentences. Beside it stands the best of the eight heads of
# a model that was never trained: with eight to choose from, some head is always the best.

# %% tags=["hide-input", "hide-output", "hide-until-which-roles"]
studied, role_rows, found = stored["heads"], [], {}
language = {"source": "English", "target": "French"}
places = [(kind, place) for kind in language for place in ("previous", "own")]
for kind, pattern in [*places, ("source", "next")]:
    judged, names, untrained = [], [], []
    for run in studied:
        valid, test, fresh = (
            [score for layer in run[s]["patterns"][kind] for score in layer[pattern]]
            for s in ("valid", "test", "untrained")
        )
        best = valid.index(max(valid))
        judged.append(test[best])
        names.append(f"{best // 4 + 1}·{best % 4 + 1}")
        untrained.append(max(fresh))
    found[kind, pattern] = judged, untrained
    shown = [f"{score:.2f} ({name})" for score, name in zip(judged, names)]
    role_rows.append([f"{language[kind]}, {pattern}", *shown, low_high(untrained)])
columns = "looks at", "seed 1", "seed 2", "seed 3", "untrained, best of 8"
ResultTable(columns, role_rows, "Mean weight on a place, and in brackets whose")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **A head for the previous word is not here.** In drawings of Transformers there often is one. The best of
#   eight English heads gives it {{ low_high(found["source", "previous"][0]) }} of its weight, little more than an
#   untrained one; the best French head {{ low_high(found["target", "previous"][0]) }}, where the untrained have
#   {{ low_high(found["target", "previous"][1]) }}.
# - What did form are heads that look at their own place. The best gives it
#   {{ low_high(found["target", "own"][0]) }} in French, where the untrained have
#   {{ low_high(found["target", "own"][1]) }}. In English it is {{ low_high(found["source", "own"][0]) }} beside
#   {{ low_high(found["source", "own"][1]) }}. In all three models.
# - Its name differs from seed to seed. Look at the brackets.
#
# Larger models trained for longer do grow heads for the previous word (Voita et al., 2019). This one, on these
# sentences, did not: measure yours.
#
# </details>
#
#
# **And which is the alignment?** A program that hands out "the" attention of a Transformer has to choose.
# Ours takes the last layer and the mean of its heads. Links are read as in [chapter 8](08_reading_maps.ipynb): each French word
# takes the English word of its largest weight.

# %% tags=["hide-input", "hide-output", "hide-until-which-roles"]
rows, yard = [], stored["yardsticks"]
for seed, run in enumerate(studied, 1):
    for layer in (0, 1):
        each = run["test"]["aer"][layer]
        cells = [f"{rate:.2f}" for rate in (*each, run["test"]["aer of mean"][layer])]
        rows.append([f"seed {seed}, layer {layer + 1}", *cells])
each_aer = [rate for run in studied for layer in run["test"]["aer"] for rate in layer]
untrained_aer = [x for run in studied for part in run["untrained"]["aer"] for x in part]
mean_aer = [rate for run in studied for rate in run["test"]["aer of mean"]]
lowest = [min(layer) for run in studied for layer in run["test"]["aer"]]
mean_wins = sum(mean < best for mean, best in zip(mean_aer, lowest))
columns = "", "head 1", "head 2", "head 3", "head 4", "mean map"
ResultTable(
    columns,
    rows,
    "Alignment error rate from French to English, test sentences",
    f"Diagonal {yard['diagonal']:.2f}, links by lot {yard['by lot']:.2f}.",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# There is no alignment head, or there are eight: every one of them has a rate of {{ low_high(each_aer) }},
# where untrained heads have {{ low_high(untrained_aer) }}. Of the {{ len(each_aer) }} heads
# {{ sum(rate < yard["diagonal"] for rate in each_aer) }} are better than the diagonal, which looks at no
# word and is hard to beat in short sentences. The mean of a layer's four maps has a lower rate than each of
# the four in {{ mean_wins }} of {{ len(mean_aer) }} layers. In all of them it is below the diagonal's, once
# only just.
# Whether the first layer or the last is better depends on the seed.
#
# </details>
#
#
# ## Which heads matter
#
# Leave out one head's addend at a time, and measure the loss on {{ stored["card"]["judged"] }} test sentences. No model is trained again.
# Then leave out all four heads of a layer at once.
#
# ```{predict} four-at-once
# ```

# %% tags=["hide-input", "hide-output", "hide-until-four-at-once"]
rows = []
for name in studied[0]["without"]["layers"]:
    kind, layer = name.split()
    cells = {"one": [], "sum of each": [], "all": [], "all but the best": []}
    for run in studied:
        without = run["without"]
        cells["one"] += without["alone"]["test"][kind][int(layer) - 1]
        for part in ("sum of each", "all", "all but the best"):
            cells[part].append(without["layers"][name][part])
    who = {
        "source": "English to English",
        "target": "French to French",
        "cross": "French to English",
    }
    rows.append([f"{who[kind]}, layer {layer}", *(low_high(x) for x in cells.values())])
base = [run["without"]["base"]["test"] for run in studied]
layers = [run["without"]["layers"] for run in studied]
times = {
    n: [one[n]["all"] / one[n]["sum of each"] for one in layers] for n in layers[0]
}
saved = [1 - one[n]["all but the best"] / one[n]["all"] for one in layers for n in one]
single = [
    rise
    for run in studied
    for part in run["without"]["alone"]["test"].values()
    for layer in part
    for rise in layer
]
columns = "without", "one head", "sum of the four", "all four", "all but one"
ResultTable(
    columns,
    rows,
    "Loss added, in nats a token: lowest to highest",
    f"Three seeds; with all heads the loss is {low_high(base)}. All but one: the one whose loss is least.",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# No single head is decisive: without one of them the loss rises by {{ f"{max(single):.2f}" }} at most. But that
# is no sum to be trusted. In every layer, in each of three seeds, all four together cost more than the four
# amounts added up: in the last attention to the source {{ low_high(times["cross 2"], ".1f") }} times as much.
# Perhaps others stand in while one is missing. And the best head of a layer, left alone of its four, still
# saves {{ low_high(saved, ".0%") }} of what they are worth together. (Which one is best was read off the same
# sentences; that flatters it a little.)
#
# </details>
#
# So how many can go? Take heads away one after the other, over all layers: first those whose loss alone
# rose least on *validation* sentences, or in an order by lot.

# %% tags=["hide-input", "hide-output", "hide-until-four-at-once"] mystnb={"image": {"alt": "Test loss against the number of heads taken away, from 0 to 24, for three seeds. In the chosen order the loss rises slowly up to 12 heads and steeply after that. In random orders it rises faster at first. All lines end near 5 nats."}}
figure, ax = plt.subplots(figsize=(6.2, 3.2))
taken = range(0, 25, 4)
for run in studied:
    chosen, *random = run["without"]["one after the other"]
    for order in random:
        ax.plot(taken, order, color=GREY, linewidth=1)
    ax.plot(taken, chosen, color=BLUE, linewidth=2.2)
ax.plot([], [], color=BLUE, label="those that seemed to matter least, first")
ax.plot([], [], color=GREY, label="in random orders")
ax.set(xlabel="heads taken away, of 24", ylabel="test loss, nats a token", xticks=taken)
ax.legend()
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Up to half of the heads, the chosen order loses less than each of three random orders of the same seed. With
# 16 gone this no longer holds in one of the three models, where two random orders lose less: an order made
# from heads alone knows nothing of pairs. Michel et al. (2019) took heads away in order of importance from
# larger models, and lost little at first. Nobody trained these models again; Voita et al.
# (2019) pruned while training, and could take more.
#
# </details>
#
#
# ## One head or four?
#
# Does a translator need several? The same Transformer with one head of size 64 and with four of size 16, equal in its number of
# weights, its pairs and its updates. The five sentences of the book are from seed 1. And a real case for two heads? German verbs come in two
# parts, as *bereitet … zu*. Below them: the row of a recurrent translator, one row a step ([chapter 3](03_additive.ipynb)), that looks most at a verb's first part,
# in five captions, and its map of one of them.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The attention map of a German caption and its English translation, a row for each English token. The row of looking is darkest at halten; its square at auf is light."}}
rows = []
for heads, runs in stored["compared"].items():
    cells = [
        low_high([run[name] for run in runs], form)
        for name, form in (("bleu", ".1f"), ("loss", ".3f"))
    ]
    rows.append([heads, runs[0]["weights"], *cells])
for i, pair in enumerate(FIVE):
    print(pair.source)
    for heads, runs in stored["compared"].items():
        print(f"    {heads} heads  {runs[0]['five'][i]}")
display(
    ResultTable(
        ("heads", "weights", "BLEU", "loss"), rows, "Three seeds each, test sentences"
    )
)
captions, parts = measured("captions")["captions"], []
for caption in captions:
    read = [token.strip("▁") for token in caption["source_tokens"]]
    first = next(
        i for i, w in enumerate(read) if w in ("bereitet", "schenkt", "halten")
    )
    second = len(read) - 3  # before the full stop and the end mark
    row = max(caption["weights"], key=lambda weights: weights[first])
    parts.append((row[first], row[second]))
    both = f"{row[first]:.2f} on {read[first]}, {row[second]:.2f} on {read[second]}"
    print(f"{caption['source']}\n    {caption['text']}\n    {both}")
figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
weights = torch.tensor(captions[2]["weights"])
plot_attention(
    weights, captions[2]["source_tokens"], captions[2]["tokens"], ax=ax, annotate=False
)
plt.show()
experiment_card(stored["card"])


# %% [markdown]
# The ranges overlap: **no difference seen**, at this size, on these sentences. How does that go with the
# letters at the beginning? There a linear readout stood right behind the attention. Here each attention has a
# feed-forward layer behind it and another attention above, which may take a sum apart again. Perhaps the next
# layer does that work. At this size we saw no need for several heads, and no proof that there is none.
#
# The captions warn likewise. The row that looks most at a verb's first part gives the second part {{ f"{max(b for _, b in parts):.2f}" }} at
# most. The encoder reads in both directions, so the state at *bereitet* may know of *zu* already. A map shows
# where a row looks, and not what its model would do with a second one.

# %% [markdown]
# ## Myths
#
# **"More heads cost more."** Not in weights or multiplications. In time, yes: sixteen took longer than one in the table above.
#
# **"Heads are an ensemble."** Members of an ensemble are trained apart and vote. Heads are trained together,
# are added, and share one readout.
#
# **"Head 3 does syntax."** Roles drawn by hand are no measurement. A score, an untrained model beside it and a second seed are.
#
# **"Most heads can be pruned, so they are useless."** Voita et al. and Michel et al. (both 2019) took away many
# heads of large models and lost little. That a head can be spared while the others stay does not
# say that it does nothing: others stand in.
#
# <details><summary>Why is the projection d × d, and where are the small matrices?</summary>
#
# They stand side by side in it. Head $h$ owns $d_h$ of its columns in a formula, and $d_h$ rows of `weight` in PyTorch, which stores
# each matrix transposed.
#
# </details>
#
# <details><summary>How do I get the weights of each head from PyTorch?</summary>
#
# `average_attn_weights=False`, as above; by default you get the mean. Inside `nn.TransformerEncoderLayer`
# weights are not returned at all: it calls its attention with `need_weights=False`.
#
# </details>

# %% [markdown]
# ## Check yourself
#
# ```{self-check} sixteen-heads
# ```
#
# ```{self-check} size-one
# ```
#
# ```{self-check} head-three
# ```
#
# ```{self-check} zeroed-head
# ```
#
# ## What you now know
#
# - One head returns one average, inside the hull of the values. Several heads leave it, because
#   each part of the output has weights of its own.
# - Heads are added: a head is an addend of the output, and can be left out.
# - Split the last axis, then transpose. Exchanging the words finds out who did not.
# - Weights and multiplications do not depend on the number of heads.
# - What a head does is found by a score on held-out sentences, beside an untrained model and more
#   than one seed.
#
# **Now you.** [The exercise](../exercises/13_heads.ipynb) has you merge heads, mask them, take their
# addends apart, measure who stands in for whom, and go from one head to four to see what each learns.
#
# **Next.** [Chapter 14](14_self_attention.ipynb) lets the words of one sentence ask each other, and keeps them from reading ahead.
#
# ## Sources
#
# - Multi-head attention: {cite:t}`vaswani2017`, section 3.2.2.
# - Heads that follow a position, and heads that can be spared: {cite:t}`voita2019`, sections 5 and 6;
#   {cite:t}`michel2019`, sections 3 and 4.
# - Shapes that fit and content that does not: issue 30 of `reczoo/FuxiCTR` (the split) and pull request 6 of
#   `jsbaan/transformer-from-scratch` (the merge, and the test that passed).
