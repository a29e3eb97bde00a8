# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [F-13, V-11, D-09, D-22, X-06, M-05]
#     exercise: 13_heads
# ---

# %% [markdown]
# # 13. Several heads: multi-head attention
#
# One row of weights gives one average, and an average blurs its parts. Here attention gets several rows, at
# no cost in parameters or multiplications. You see what a single head misses, find out what the heads of a
# trained translator look at, and take heads away to see which of them matter.
#
# **You need** queries, keys and values from [soft addressing](02_soft_addressing.ipynb) and the scaled and
# the low-rank score from [chapter 5](05_scaled.ipynb). **This chapter covers** multi-head attention in a
# picture, in ten lines, by hand and as a formula; splitting and merging; what it costs; heads found with a
# score; and a model without some of its heads.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## Split, attend, put together
#
# A word may need several things at once: its verb, its adjective, the word before it. One row of weights
# can only blend them. **Multi-head attention** therefore runs $H$ attentions side by side, each on a slice of the
# vectors. Each of them is called a **head**.
#
# 1. **Project and split.** The input is projected to queries, keys and values of size $d$, as for a single head.
#    Each is then cut into $H$ slices of size $d_h = d/H$.
# 2. **Attend.** Each head computes its weights from its own slices, by the scaled dot product of [chapter
#    5](05_scaled.ipynb), and averages its own slice of the values.
# 3. **Put together.** The $H$ results are set side by side (*concatenated*), which gives size $d$ again. A
#    last matrix $W^O$ mixes them.
#
# The drawing shows one sentence of $T = 3$ words, with $d = 4$ and $H = 2$; $B$ is the number of sentences
# in the batch. Below it the same steps stand in PyTorch. `view` and `transpose` bring the heads to the
# front, and from there on `@` treats each head of each sentence as a sentence of its own. (In self-attention
# `query` and `keys` are the same words; in general there are $S$ keys.) The next cell compares these lines
# with two modules, the package's and PyTorch's; in a mask of PyTorch's module True means the opposite.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Multi-head attention of three words with two heads. Queries, keys and values are three matrices of 3 rows and 4 columns, (B, T, d). Each is split into a left and a right half: a dark set of slices for head 1, a pale one for head 2, (B, H, T, d_h). Each head has a matrix of weights, 3 by 3, (B, H, T, T), and returns averages, 3 by 2. Side by side these are 3 by 4 again, (B, T, d), and W^O mixes them."}}
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
    CONTEXT,
    GREY,
    INK,
    KEYS,
    QUERY,
    VALUES,
    WEIGHTS,
    ResultTable,
    experiment_card,
    name_lines,
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


def hidden_layer(size, out):
    return nn.Sequential(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, out))


SIDE, SHADES = 14, (0.6, 0.2)  # of a cell, in pixels; of the two heads


def block(ax, x, y, columns, colour, shades):
    """Draw a matrix of 3 rows, its columns shared out among the shades."""
    each = columns * SIDE / len(shades)
    for i, shade in enumerate(shades):
        look = {"fc": colour, "alpha": shade, "lw": 0}
        ax.add_patch(plt.Rectangle((x + i * each, y), each, 3 * SIDE, **look))
    ends = x + columns * SIDE, y + 3 * SIDE
    ax.vlines([x + SIDE * i for i in range(columns + 1)], y, ends[1], colour, lw=0.8)
    ax.hlines([y + SIDE * i for i in range(4)], x, ends[0], colour, lw=0.8)


def arrow(ax, start, end):
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": GREY})


figure, ax = plt.subplots(figsize=(346 / 84, 408 / 84), layout="none")
figure.subplots_adjust(0, 0, 1, 1)
word = {"ha": "center", "va": "center"}
for i, (name, colour) in enumerate((("Q", QUERY), ("K", KEYS), ("V", VALUES))):
    block(ax, 3 + 76 * i, 20, 4, colour, SHADES)
    ax.text(31 + 76 * i, 10, name, color=colour, weight="bold", **word)
    for x, shade in zip((3, 120), SHADES):
        block(ax, x + 32 * i, 116, 2, colour, [shade])
for x, shade, name in zip((3, 120), SHADES, ("head 1", "head 2")):
    ax.text(x + 46, 106, name, color=INK, **word)
    block(ax, x + 25, 188, 3, WEIGHTS, [shade])
    block(ax, x + 32, 256, 2, CONTEXT, [shade])
    arrow(ax, (110 + 0.5 * (x - 64), 66), (x + 46, 97))
    arrow(ax, (x + 46, 162), (x + 46, 186))
    arrow(ax, (x + 46, 233), (x + 46, 254))
    arrow(ax, (x + 46, 301), (58 + 0.3 * (x - 3), 334))
block(ax, 31, 338, 4, CONTEXT, SHADES)
arrow(ax, (92, 359), (142, 359))
ax.text(117, 348, "$W^O$", color=INK, **word)
block(ax, 146, 338, 4, CONTEXT, [0.4])
steps = (
    (41, "project", "(B, T, d)"),
    (137, "split", "(B, H, T, $d_h$)"),
    (209, "weights", "(B, H, T, T)"),
    (277, "averages", "(B, H, T, $d_h$)"),
    (359, "concatenate", "(B, T, d)"),
)
for y, step, shape in steps:
    ax.text(244, y - 9, step, weight="bold", color=INK, va="center")
    ax.text(244, y + 9, shape, color=GREY, va="center")
ax.set(xlim=(0, 346), ylim=(386, 0))
ax.axis("off")
plt.show()


# %%
def split(x, heads):
    B, T, d = x.shape
    return x.view(B, T, heads, d // heads).transpose(1, 2)  # (B, H, T, d_h)


def multi_head(layer, query, keys):
    q = split(layer.query(query), layer.heads)
    k, v = (split(project(keys), layer.heads) for project in (layer.key, layer.value))
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, T, S)
    weights = scores.softmax(-1)
    averages = weights @ v  # (B, H, T, d_h)
    merged = averages.transpose(1, 2).reshape(query.shape)  # (B, T, d)
    return layer.output(merged), weights


# %%
torch.manual_seed(0)
ours, theirs = MultiHeadAttention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
query, keys = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
torch.testing.assert_close(multi_head(ours, query, keys), tuple(ours(query, keys)))

with torch.no_grad():
    parts = [ours.query.weight, ours.key.weight, ours.value.weight]
    theirs.in_proj_weight.copy_(torch.cat(parts))
    theirs.out_proj.load_state_dict(ours.output.state_dict())
mask = padding_mask(torch.tensor([7, 4]))
expected = theirs(query, keys, keys, key_padding_mask=~mask, average_attn_weights=False)
torch.testing.assert_close(tuple(ours(query, keys, mask=mask)), expected)
print("three programs, one result; weights", tuple(expected[1].shape))

# %% [markdown]
# ## Two neighbours, one head
#
# Is one head not enough? Here is a task that asks for two things. Draw twelve letters at random:
# `b k a c a f …`. At every position except the ends the network must predict two letters, the one to the
# *left* and the one to the *right*. It has one attention layer, whose input is the letter's vector plus a
# fixed vector for its position ([chapter 15](15_positions.ipynb)). Behind it one linear layer, the *linear
# readout*, predicts both letters from what the attention returns. Guessing is right once in twelve times.
#
# We train it three times with one head, then with two heads, each of half the size, and with four. The
# number of parameters of the attention stays the same.
#
# ```{predict} one-head-two-places
# ```


# %%
def predict_both_neighbours(heads, seed=1, readout=nn.Linear, size=32, letters=12):
    torch.manual_seed(seed)
    embed, attention = nn.Embedding(letters, size), MultiHeadAttention(size, heads)
    parts = nn.ModuleList([embed, attention, readout(size, 2 * letters)])
    optimizer = torch.optim.Adam(parts.parameters(), lr=0.005)
    for _ in range(601):
        line = torch.randint(letters, (64, 12))
        context, _ = attention(embed(line) + sinusoidal_positions(12, size))
        left, right = parts[2](context[:, 1:-1]).chunk(2, -1)
        loss = cross_entropy(left, line[:, :-2]) + cross_entropy(right, line[:, 2:])
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    # The last batch is new to the network, as every batch is.
    hits = left.argmax(-1) == line[:, :-2], right.argmax(-1) == line[:, 2:]
    return [side.float().mean().item() for side in hits]


# %% tags=["hide-input", "hide-output", "hide-until-one-head-two-places", "nbval-ignore-output"]
once = predict_both_neighbours(1)
print(
    f"here and now, one head, linear readout: left {once[0]:.2f}, right {once[1]:.2f}"
)
task, deep, rows = stored["neighbours"], stored["neighbours_hidden"], []
for heads, runs in [*task.items(), ("1, hidden layer", deep)]:
    worse, better = zip(*(sorted((run["left"], run["right"])) for run in runs))
    looks = [f"{a:.2f} / {b:.2f}" for a, b in zip(runs[0]["previous"], runs[0]["next"])]
    rates = low_high(better), low_high(worse)
    rows.append([heads, *rates, "; ".join(looks), runs[0]["weights"]])
columns = "heads", "better side", "other side", "weight on left / right, by head"
title = "Share of neighbours predicted correctly, three seeds"
note = (
    "Linear readout, but for the last row. Weights on neighbours are those of seed 1; "
    "parameters, of the attention alone."
)
display(ResultTable((*columns, "parameters"), rows, title, note))
louder = [max(("left", "right"), key=run.get) for run in task["1"]]
other_side = [run["exchanged"][side] for run, side in zip(task["1"], louder)]

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# With one head, one of the two neighbours is predicted well: the left one in seed 1, the right one in seeds 2
# and 3. The other is right at {{ low_high([min(run["left"], run["right"]) for run in task["1"]]) }} of all
# positions, where guessing gives 0.08. The head does attend to both. But it returns *one* sum, with a
# little more of one letter, and the *linear* readout finds only the louder letter. Exchange the two weights
# after training, and it predicts the letter of the wrong side, at {{ low_high(other_side) }} of all positions.
#
# Trained with a hidden layer in the readout, one head does better: {{ low_high([run["left"] for run in deep]) }}
# on the left, {{ low_high([run["right"] for run in deep]) }} on the right. With two heads each takes a side,
# and in three seeds a linear readout makes hardly a mistake.
#
# </details>
#
# ## One head stays in the triangle
#
# There is also a limit to what one head can return, whatever reads it. Weights are not negative and sum
# to 1 ([chapter 2](02_soft_addressing.ipynb)), so a context is an average of the values and stays inside their
# hull. For three values that is a triangle. Here the values are the states of *cat*, *sat* and *mat*, with
# two numbers each. One head compares whole states. Of two heads, each sees one of the two numbers.

# %% tags=["hide-input"]
TwoHeads(
    caption="Answer first: then a square shows what two heads return. The disc is what one head "
    "returns. Move both numbers of the query to 3, then the second to −3. What does the dashed box hold?"
)

# %% [markdown]
# ### By hand
#
# The states are $h_1 = (1.0, 0.5)$, $h_2 = (-0.5, 1.5)$ and $h_3 = (0.5, -1.0)$, the query is
# $s = (0.5, 1.0)$, and nothing is projected.
#
# | head | scores | weights | returns |
# |---|---|---|---|
# | one head, $s^\top h_i / \sqrt 2$ | 0.707, 0.884, −0.530 | 0.403, 0.481, 0.117 | (0.221, 0.805) |
# | head 1, first numbers | 0.5, −0.25, 0.25 | 0.444, 0.210, 0.346 | 0.512 |
# | head 2, second numbers | 0.5, 1.5, −1.0 | 0.254, 0.690, 0.057 | 1.105 |
#
# Side by side the two heads return $(0.512, 1.105)$. Straight below that point, the edge from *cat* to
# *sat* is at a height of 0.825. **So the point lies outside the triangle**, and no single row of weights
# can reach it. The reason is that each of its numbers is an average of its own.


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
# Each head has projections of its own. Here $Q$, $K$ and $V$ are what goes in, before any projection, in rows of
# size $d$; in self-attention all three are the words. Head $h$ of $H$ heads has matrices with $d_h = d/H$ columns:
#
# $$ \mathrm{head}_h = \mathrm{softmax}\Big(\frac{Q W^Q_h\,(K W^K_h)^\top}{\sqrt{d_h}}\Big)\, V W^V_h $$ (eq-head)
#
# The heads are set side by side and mixed by one more matrix, $W^O$, made of blocks $W^O_h$ of $d_h$ rows:
#
# $$ [\mathrm{head}_1; \dots; \mathrm{head}_H]\, W^O = \sum_{h=1}^{H} \mathrm{head}_h\, W^O_h $$ (eq-heads-sum)
#
# **Heads are added.** Each head adds its own $d$-dimensional vector to the output, and none depends on
# another, so you can switch a head off by dropping its vector. You can also exchange two heads, each with its
# block, and nothing changes: **the number of a head means nothing.** What is head 3 in one training may be
# head 1, or no head at all, in the next.
#
# The scores are those of [chapter 5](05_scaled.ipynb). One head compares with a matrix of low rank,
#
# $$ Q\, W^Q_h {W^K_h}^\top K^\top, \qquad \mathrm{rank}\big(W^Q_h {W^K_h}^\top\big) \le d_h $$ (eq-head-rank)
#
# which is {eq}`eq-reduced-rank-score` with $k = d_h$, where $d_h$ is now the size of a head. More heads mean thinner heads. In a program the $H$
# matrices $W^Q_h$ stand side by side in one of size $d \times d$, and one product serves all heads: the
# cut that `split` makes above.

# %% [markdown]
# ### Split, then transpose
#
# The function `split` of the first section takes *two* operations: it splits the **last** axis, then exchanges
# the heads with the positions. Merging undoes both, in reverse order. A single `view` gives the same shape
# with different content:


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
# With a single `view`, head 1 gets the first *positions* instead of the first *numbers*: words are mixed
# before any weight is computed. No shape is wrong, nothing fails, and with one head the two are the same.
# Public programs had this bug, in the split or the merge. One of them had a test that trained a model to
# copy, and passed. The probe above finds it: **reorder the words, and the outputs must be reordered
# likewise and otherwise stay** (in self-attention, without mask or positions).
#
# Over weights `(B, H, T, S)` a padding mask `(B, S)` needs two new axes, `(B, 1, 1, S)`. With only one,
# `(B, 1, S)`, several sentences and heads raise an error, unless the two numbers are equal. Then sentence
# 2's mask silences words of *head* 2. A program that divides by $\sqrt d$ instead of $\sqrt{d_h}$ makes all
# scores too small by a factor of $\sqrt H$. **Test with several heads, and with as many sentences as
# heads.**
#
# ## The bill
#
# All heads together have as many parameters as one: four matrices, each with a bias of size $d$.
#
# $$ 4d^2 + 4d \quad\text{for every } H $$ (eq-heads-parameters)
#
# Nor does the number of multiplications in self-attention over $T$ positions depend on $H$:
#
# $$ \underbrace{4 T d^2}_{\text{projections}} + \underbrace{H \cdot 2\, T^2 d_h}_{\text{scores and sums}} = 4 T d^2 + 2 T^2 d $$ (eq-heads-cost)
#
# because $H d_h = d$. What does grow is the number of softmax rows, $H T$.

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
columns = "heads", "parameters", "multiplications", "ms, with weights", "ms, fused"
ResultTable(
    columns, bill_rows, "The price of heads (processor milliseconds of one thread)"
)

# %% [markdown]
# **Parameters and multiplications are equal to the last digit.** (*Fused* is PyTorch's own operator, which returns
# no weights.) Sixteen heads take longer than one: among other things, their softmax has sixteen times as many rows.
#
# <details><summary>How sure is this?</summary>
#
# Times are the shortest and the longest of seven means over ten calls, on one machine beside other
# work.
#
# </details>
#
# ## What heads learn
#
# In drawings of Transformers, head 1 is "syntax" and head 2 is "alignment". We measure instead. Three small
# Transformers, which differ only in their initialisation, have learned from short pairs of the toy corpus. Each has
# two layers in the encoder and two in the decoder, with four heads in each attention. That makes eight
# heads from English to English, eight from French to French, and eight from French to English. The package
# hands out all their weights, and accepts a mask of heads. Here are the calls, on a tiny model without any training:

# %%
torch.manual_seed(0)
model = Transformer(11, 13, d_model=16, heads=4, layers=2, d_feedforward=16).eval()
source, lengths = torch.tensor([[4, 5, 7, 2], [6, 2, 0, 0]]), torch.tensor([4, 2])
inputs = torch.tensor([[1, 7, 8], [1, 9, 4]])
heads = head_weights(model, source, lengths, inputs)
previous = pattern_scores(heads.source[0], lengths).previous
print("cross (layers, batch, heads, steps, keys):", tuple(heads.cross.shape))
print("mean weight on the previous position:", previous)
keep = all_heads(model)
keep["cross"][1, 2] = False  # without the third head of the second layer
with torch.no_grad(), masked_heads(model, keep):
    without = model(source, lengths, inputs).logits

# %% [markdown]
# ```{predict} which-roles
# ```
#
# Here are all heads of the first of the three models. Choose who looks at whom, and a score to order the
# heads by. A name such as 2·3 means layer 2, head 3. In *French to French*, rows and columns are the words
# that the decoder reads, from `<bos>` on.

# %% tags=["hide-input"]
HeadsExplorer(
    stored["maps"],
    sentence=2,
    caption="Order the heads from English to English by the previous place, then by the next. The "
    "model has seen 500 batches; its weights are rounded to two decimals.",
)

# %% [markdown]
# One sentence proves nothing. So for each pattern the head
# is *chosen* on the validation sentences and *judged* on the test sentences. Beside it stands the best of
# the eight heads of a model that was never trained: with eight to choose from, some head is always the
# best.

# %% tags=["hide-input", "hide-output", "hide-until-which-roles"]
studied, role_rows, found = stored["heads"], [], {}
language = {"source": "English", "target": "French"}
looks = [(kind, which) for kind in language for which in ("previous", "own")]
for kind, pattern in [*looks, ("source", "next")]:
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
ResultTable(columns, role_rows, "Mean weight on a position, and in brackets the head")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **These three small models have no head for the previous word.** The best of eight English heads gives it
#   {{ low_high(found["source", "previous"][0]) }} of its weight, little more than an untrained one. The best
#   French head gives it {{ low_high(found["target", "previous"][0]) }}, where the untrained have
#   {{ low_high(found["target", "previous"][1]) }}.
# - **Larger models do have such heads**, measured in trained Transformers: {cite:t}`voita2019` found heads for the previous and the next word
#   in translators, and in the language models of {cite:t}`olsson2022` a head for the previous
#   token is half of the *induction* circuit, which continues a pattern seen earlier in the text.
# - **Heads lean towards their own position**, more than untrained ones, in each of the three models: in
#   French the best head gives it {{ low_high(found["target", "own"][0]) }}, where the untrained have
#   {{ low_high(found["target", "own"][1]) }}, in English {{ low_high(found["source", "own"][0]) }} beside {{ low_high(found["source", "own"][1]) }}.
#   All eight English heads do so: it is no head's role.
# - **Names do not carry over.** In every row, the brackets of the three seeds hold three different names.
#
# </details>
#
# **And which head is the alignment?** A program that hands out "the" attention of a Transformer has to
# choose. Ours takes the last layer, and the mean of its heads. Links are read as in [chapter
# 8](08_reading_maps.ipynb): each French word takes the English word of its largest weight.

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
of_seed = [[x for layer in run["valid"]["aer"] for x in layer] for run in studied]
best_names = [f"{n // 4 + 1}·{n % 4 + 1}" for n in (x.index(min(x)) for x in of_seed)]
columns = "", "head 1", "head 2", "head 3", "head 4", "mean map"
ResultTable(
    columns,
    rows,
    "Alignment error rate from French to English, test sentences",
    f"Diagonal {yard['diagonal']:.2f}, random links {yard['at random']:.2f}.",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Every head has a lower rate than every untrained one: {{ low_high(each_aer) }} against
# {{ low_high(untrained_aer) }}. But of the {{ len(each_aer) }} heads only
# {{ sum(rate < yard["diagonal"] for rate in each_aer) }} are better than the diagonal (before rounding), which looks at no
# word and is hard to beat in short sentences. (No head owes its rate to a shift as in [chapter
# 8](08_reading_maps.ipynb): if each French word takes the row above or the row below its own, every head has a rate
# above
# {{ f"{int(100 * min(x for run in studied for by in run['test']['aer of shifted rows'].values() for layer in by for x in layer)) / 100:.2f}" }}.) Chosen on the validation sentences, the best head of each seed is in the last layer: {{ ", ".join(best_names) }}.
#
# The mean of a layer's four maps has a lower rate than each of the four in {{ mean_wins }} of
# {{ len(mean_aer) }} layers. In all six layers its rate is below the diagonal's, once by less than 0.01.
# The last layer's mean has a lower rate than the first layer's in seeds 1 and 3. In seed 2 it is higher, before rounding by
# {{ f"{mean_aer[3] - mean_aer[2]:.2f}" }}.
#
# </details>
#
# ## Which heads matter
#
# Drop the vector of one head at a time, and measure the loss on {{ stored["card"]["judged"] }} test
# sentences. No model is trained again. Then leave out all four heads of a layer at once.
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
    f"Three seeds; with all heads the loss on these sentences is {low_high(base)}. All but one: all but the head "
    "that keeps the loss lowest.",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# No single head is decisive: without one of them the loss rises by {{ f"{max(single):.2f}" }} at most. But
# these amounts do not add up. In every layer, in each of three seeds, leaving out all four costs more than
# the four amounts together: in the last attention to the source {{ low_high(times["cross 2"], ".1f") }}
# times as much. Perhaps others stand in while one is missing; a loss that rises ever more steeply would
# give the same table. And the best head of a layer, left alone of its four, still saves
# {{ low_high(saved, ".0%") }} of what they are worth together. (Which one is best was read off the same
# sentences; that flatters it a little.)
#
# </details>
#
# So how many can go? Take heads away one after the other, over all layers. The *chosen order* begins with
# those whose absence alone raised the loss least on *validation* sentences. The others are random.

# %% tags=["hide-input", "hide-output", "hide-until-four-at-once"] mystnb={"image": {"alt": "Test loss, plotted against the number of heads taken away, from 0 to 24, for three seeds. In the chosen order the loss rises slowly up to 12 heads and steeply after that. In random orders it rises faster at first. All lines end near 5 nats."}}
figure, ax = plt.subplots(figsize=(6.2, 3.2))
taken = range(0, 25, 4)
for run in studied:
    chosen, *random = run["without"]["one after the other"]
    for order in random:
        ax.plot(taken, order, color=GREY, linewidth=1)
    ax.plot(taken, chosen, color=BLUE, linewidth=2.2)
ax.lines[-1].set_label("chosen order")
ax.lines[0].set_label("random orders")
ax.set(xlabel="heads taken away, of 24", ylabel="test loss, nats a token", xticks=taken)
name_lines(ax)
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Up to half of the heads, the chosen order loses less than each of three random orders of the same seed.
# Beyond that it guides less: with 16 gone, two random orders lose less in one of the three models. An order
# made from single heads knows nothing about pairs. Michel et al. (2019) took heads away in order of
# importance from larger models, and lost little at first. Our models were not trained again after a head
# was gone; Voita et al. (2019) pruned while training a finished model further, and could take more.
#
# </details>
#
# ## One head or four?
#
# Does a translator need several heads? Compare the same Transformer with one head of size 64 and with four
# heads of size 16. Parameters, pairs and updates are equal in number. The five sentences of the book are from seed 1.
# BLEU and loss are of all test sentences; the losses of the last section were of a part of them.

# %% tags=["hide-input"]
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
        print(f"    heads {heads}  {runs[0]['five'][i]}")
display(
    ResultTable(
        ("heads", "parameters", "BLEU", "loss"),
        rows,
        "Three seeds each, test sentences",
    )
)
experiment_card(stored["card"])


# %% [markdown]
# The ranges overlap: **no difference seen**, at this size, on these sentences.
#
# <details><summary>How sure is this?</summary>
#
# Both use the same learning rate, set by hand and tuned for neither. At this
# size we saw no need for several heads, and no proof that there is none.
#
# How does that agree with the
# twelve letters? There a linear readout stood right behind the attention, and a hidden layer was
# enough to predict both letters. Here each layer of the model ends with a small network that has a hidden layer
# ([chapter 16](16_transformer.ipynb)). Perhaps that network does the same work; and with two layers a word gets two rows even with one head each. Neither was measured.
#
# </details>
#
# ### Verbs in two parts (optional)
#
# Is there a real case for two heads? German verbs may come in two parts, as in *bereitet … zu*. Here
# are five captions, translated by a recurrent model with one row per step ([chapter
# 3](03_additive.ipynb)). For each caption you get the row that looks most at the verb's first part, and for
# one caption the whole map.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Attention map of a German caption and its English translation, with a row for each English token. The row of holding is darkest at halten, and the row of on at auf."}}
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

# %% [markdown]
# The captions decide nothing. The row that attends most to a verb's first part gives the second part
# {{ f"{max(b for _, b in parts):.2f}" }} at most, and four of the five verbs are right all the same. *Halten …
# auf*, in the third caption, became *are holding on*, a row for each half, and is wrong. Nor do rows tell what
# a state knows: the encoder reads in both directions, so the state at *bereitet* may know about *zu* already.

# %% [markdown]
# ## Myths
#
# **"More heads cost more."** Not in parameters or multiplications. In time, yes: sixteen took longer than one.
#
# **"Heads are an ensemble."** Members of an ensemble are trained separately and vote. Heads are trained
# together, are added, and share one readout.
#
# **"Head 3 does syntax."** A role in a drawing is not a measurement.
#
# **"Most heads can be pruned, so they are useless."** Voita et al. and Michel et al. (both 2019) took away
# many heads of large models and lost little. That does not make a spared head useless: others may stand in for it.
#
# <details><summary>Why is the projection d × d, and where are the small matrices?</summary>
#
# They stand side by side in it. Head $h$ owns $d_h$ of its columns in the formula. In PyTorch these are
# $d_h$ rows of `weight`, because each matrix is stored transposed.
#
# </details>
#
# <details><summary>How do I get the weights of each head from PyTorch?</summary>
#
# Pass `average_attn_weights=False`, as above; the default is their mean. `nn.TransformerEncoderLayer`
# returns no weights at all, because it calls its attention with `need_weights=False`.
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
# - One head returns one average, inside the hull of the values. Several heads can leave the hull, because
#   each part of the output has weights of its own.
# - Heads are added: each adds a vector of its own to the output, which can be dropped.
# - Split the last axis, then transpose. Reordering the words exposes a program that does not.
# - Parameters and multiplications do not depend on the number of heads.
# - To find out what a head does, score it on held-out sentences, beside an untrained model and more than
#   one seed.
#
# **Now you.** In [the exercise](../exercises/13_heads.ipynb) you merge heads, mask them, take their addends
# apart, and measure how much more a layer's heads are worth together than one by one. Then you go from one head to four and
# see what each of them learns.
#
# **Next.** In [chapter 14](14_self_attention.ipynb) the words of one sentence ask each other, and are kept
# from reading ahead.
#
# ## Sources
#
# - Multi-head attention: {cite:t}`vaswani2017`, section 3.2.2.
# - Heads that follow a position, and heads that can be spared: {cite:t}`voita2019`, sections 5 and 6;
#   {cite:t}`michel2019`, sections 3 and 4. A head for the previous token in language models:
#   {cite:t}`olsson2022`.
# - Shapes that fit and content that does not: issue 30 of `reczoo/FuxiCTR` (the split) and pull request 6
#   of `jsbaan/transformer-from-scratch` (the merge, and the test that passed).
