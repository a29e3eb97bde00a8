# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 50
#     covers: [F-17, F-31, M-08, M-12, V-09, T-08, D-10, D-18, E-01]
#     exercise: 10_local
# ---

# %% [markdown]
# # 10. Through a window: local attention and sparse patterns
#
# In a sentence of a thousand words nearly all attention weights are nearly zero, yet each of them was
# computed. In this chapter each query attends to a window only. You learn where to put it, what it saves,
# what it can never see, and what a mask does to the cost.
#
# **You need** [soft addressing](02_soft_addressing.ipynb),
# [the multiplicative scores](04_multiplicative.ipynb), and Luong's order from
# [the decoder](06_decoder.ipynb). **This chapter covers** local attention with a fixed and with a predicted centre;
# sparse patterns for self-attention; how far they reach, and what they cost.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# These are the six scores of chapter 2, for *The cat sat on the mat*. Only the words in the band compete.
# A Gaussian, a bell-shaped factor, then favours those near its centre $p$. Read the row sum below the
# bars. Pads fill up a batch ([chapter 2](02_soft_addressing.ipynb)); $S$ is the number of words.

# %% tags=["hide-input"]
import math
import statistics

import matplotlib.pyplot as plt
import torch
from IPython.display import display
from torch.nn import functional as F

from seqattn import LocalAttention
from seqattn.attention import (
    block_mask,
    causal_mask,
    global_mask,
    layers_to_connect,
    strided_mask,
    window_mask,
)
from seqattn.data import FIVE, generate, measured
from seqattn.plots import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    ResultTable,
    experiment_card,
    name_lines,
    plot_attention,
    use_style,
)
from seqattn.widgets import LocalWindow, SparseReach

use_style()
torch.set_printoptions(precision=3, sci_mode=False)
stored = measured("local")
hansards = stored["hansards"]
LocalWindow(
    caption="Then set z to 0.4, add 2 pads and let S count them: the same words, another centre. "
    "With 6 pads that S counts and z = 2 no word is left in the window."
)

# %% [markdown]
# ### By hand
#
# Take $S = 6$ words and a half-width of $D = 2$, so the Gaussian's width is $\sigma_D = D/2 = 1$. The network gives $z = 0.4$.
#
# - Centre: $p = 6 / (1 + e^{-0.4}) = 3.592$. Positions count from 0 in this chapter, in formulas and in
#   code; in the paper they count from 1.
# - Window: from 1.592 to 5.592, so positions 2, 3, 4 and 5.
# - Softmax of their scores 1.2, −0.9, −0.3, 0.5: .543 .066 .121 .270.
# - Gaussian at their distances: .282 .839 .920 .371.
# - Product: **.153 .056 .111 .100**. The sum is **0.42**, not 1.
#
# The largest weight is on *sat*, position 2, 1.6 positions from the centre: the Gaussian favours the centre, and the scores
# still count.

# %%
e = torch.tensor([0.8, 2.5, 1.2, -0.9, -0.3, 0.5], dtype=torch.float64)
p = 6 / (1 + math.exp(-0.4))
seen = torch.arange(math.ceil(p - 2), math.floor(p + 2) + 1)
softmax = e[seen].softmax(0)
gaussian = torch.exp(-((seen - p) ** 2) / 2)
product = softmax * gaussian
print(f"p = {p:.3f}, window {seen.tolist()}")
print(softmax, gaussian, product, f"sum {product.sum():.2f}", sep="\n")

# %% [markdown]
# ## One step a line
#
# Luong et al. {cite:p}`luong2015` give two ways to place the window. *Local-m* (monotonic) centres it at the decoder's
# step. *Local-p* (predictive) predicts the centre from the decoder state $s_t$. Let $\sigma(\cdot)$ be the
# logistic function, $S$ the number of words in *this* sentence, and $W_p$ and $v_p$ learned parameters:
#
# $$
# \begin{aligned}
# \text{local-m:}\quad & p_t = t \\
# \text{local-p:}\quad & p_t = S\,\sigma(z_t), \qquad z_t = v_p^\top \tanh(W_p s_t)
# \end{aligned}
# $$ (eq-local-centre)
#
# The window holds the positions $i$ with $|i - p_t| \le D$. How many are there?
#
# $$ n_t = \lfloor p_t + D \rfloor - \lceil p_t - D \rceil + 1 $$ (eq-window-size)
#
# That is $2D + 1$ if $p_t$ is a whole number, and $2D$ otherwise, for a whole $D$; near the ends of the
# sentence some of them are not words. **A first surprise:** local-p practically never sees the $2D + 1$
# words that most texts speak of. Inside the window, for any score $e_{ti}$, the weights are
#
# $$
# \begin{aligned}
# \alpha_{ti} &= \mathrm{softmax}_{|i - p_t| \le D}(e_{ti})\;
# \exp\Big(-\frac{(i - p_t)^2}{2\sigma_D^2}\Big) \\
# \sigma_D &= \frac D2
# \end{aligned}
# $$ (eq-local-weights)
#
# Local-m leaves the Gaussian out. At the window's edge the Gaussian is $e^{-2} = 0.135$ high, so the cut
# shows: a word that leaves the window loses its weight in a jump.

# %% [markdown]
# ### What moves the centre
#
# The centre occurs in the Gaussian alone. As long as no word enters or leaves the window, the softmax does
# not depend on it. The logarithm of a weight is the logarithm of the softmax minus
# $(i - p_t)^2 / 2\sigma_D^2$. So
#
# $$
# \begin{aligned}
# \frac{\partial \alpha_{ti}}{\partial p_t} &= \alpha_{ti}\,\frac{i - p_t}{\sigma_D^2} \\
# \frac{\partial \ell}{\partial z_t} &= p_t\Big(1 - \frac{p_t}{S}\Big)
# \sum_{|i - p_t| \le D} \frac{\partial \ell}{\partial \alpha_{ti}}\;\alpha_{ti}\,\frac{i - p_t}{\sigma_D^2}
# \end{aligned}
# $$ (eq-centre-gradient)
#
# where $\ell$ is the loss, and the factor in front of the sum is $S$ times the slope of the logistic
# function. **A second surprise:** the sum runs over the window. Only words that the centre already sees
# can pull it. Nothing tells it that the right word stands ten positions away.
#
# **A third surprise:** with local-p, rows sum to less than 1,
#
# $$ \sum_i \alpha_{ti} < 1 $$ (eq-local-row-sum)
#
# unless one word stands exactly at the centre and has all the weight. The context is an average that has
# shrunk. Luong et al. do not make the rows sum to 1 again. `LocalAttention(renormalize=True)` does.

# %% [markdown]
# **The cost.** With vectors of $d$ numbers, the scores and the weighted sum of one decoder step cost
#
# $$ \underbrace{O(S\,d)}_{\text{global}} \qquad\text{against}\qquad \underbrace{O(D\,d)}_{\text{local}} $$ (eq-local-cost)
#
# if nothing else depends on $S$. Given one query and the encoder's states, `LocalAttention` projects only the keys in
# the window, so it needs as many multiplications at $S = 2000$ as at $S = 50$. A translator has a query at every step.
# The package's projects all $S$ keys once, by `remember`, and so has paid for each of them before it begins. After that,
# a step needs the same number of multiplications, whatever $S$ is.
#
# ## A few lines that touch nothing else
#
# **Choose the positions first, and compute everything after that for them alone.** For one sentence and
# the general score:


# %%
def local_by_hand(query, keys, values, p, D, length, W):
    positions = math.ceil(p - D) + torch.arange(2 * D + 1)
    inside = (positions >= 0) & (positions < length) & (positions <= p + D)
    positions = positions[inside]
    scores = keys[positions] @ (query @ W)
    near = torch.exp(-((positions - p) ** 2) / (2 * (D / 2) ** 2))
    weights = scores.softmax(0) * near
    return weights @ values[positions], positions


# %% tags=["hide-input"]
torch.manual_seed(0)
attention = LocalAttention(d_query=5, d_key=4, window=3).double()
query, keys, values = (
    torch.randn(*shape).double() for shape in ((1, 5), (1, 40, 4), (1, 40, 6))
)
with torch.no_grad():
    z = torch.tanh(query @ attention.W_p.T) @ attention.v_p
    p = 40 * z.sigmoid()[0]
    W = attention.global_attention.score.W
    by_hand, seen = local_by_hand(query[0], keys[0], values[0], p, 3, 40, W)
    context, weights = attention(query, keys, values)
torch.testing.assert_close(context[0], by_hand)
assert weights[0].nonzero()[:, 0].tolist() == seen.tolist()
print(f"centre {p:.2f}: words {seen.tolist()}, row sum {weights.sum():.2f}")

# %% [markdown]
# ## The NaN probe
#
# A program calls itself local. Is it? **Poison what it should not read**: put NaN, "not a number", into the keys and
# values outside the window. If the context is NaN, the program has read them. (Zero weights prove nothing: a mask
# makes them after all scores were computed.)
#
# Three other programs are also taught as local attention. One cuts the window by a mask. One multiplies
# *all* weights by the Gaussian. One hands the Gaussian to a function that masks where its argument is 0.
# Try them beside the program above, which gathers its positions first.
#
# ```{predict} nan-probe
# ```


# %%
def taught(kind, keys, values, p, D=3):
    scores = keys @ (query[0] @ W)
    away = torch.arange(len(keys)) - p
    gaussian = torch.exp(-(away**2) / (2 * (D / 2) ** 2))
    if kind == "mask":
        weights = scores.masked_fill(away.abs() > D, -math.inf).softmax(0) * gaussian
    elif kind == "Gaussian on all weights":
        weights = scores.softmax(0) * gaussian
    else:
        weights = scores.masked_fill(gaussian == 0, -math.inf).softmax(0)
    return weights @ values


# %% tags=["hide-input", "hide-output", "hide-until-nan-probe"]
outside = torch.ones(40, dtype=torch.bool)
outside[seen] = False
poisoned = [
    x[0].detach().masked_fill(outside[:, None], math.nan) for x in (keys, values)
]
everywhere = ((query @ W) @ keys[0].T).softmax(-1) @ values[0]
KINDS = ("mask", "Gaussian on all weights", "Gaussian as a mask")
probed, rows = {}, []
with torch.no_grad():
    answers = {
        kind: (taught(kind, keys[0], values[0], p), taught(kind, *poisoned, p))
        for kind in KINDS
    }
    answers["gathered"] = (
        by_hand,
        attention(query, *(x[None] for x in poisoned)).context[0],
    )
for kind, (clean, after) in answers.items():
    probed[kind] = after.isfinite().all().item()
    rows.append([kind, "survives" if probed[kind] else "NaN"])
    for other in (by_hand, everywhere[0]):
        rows[-1].append("yes" if torch.allclose(clean, other) else "no")
heads = ("program", "poisoned", "equals the gathered", "equals global attention")
ResultTable(heads, rows, "Is it local?")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **Only gathering passes.** A sum or a product with a NaN is NaN, and a weight of 0 does not help, since $0 \cdot
# \text{NaN}$ is NaN as well.
#
# - The mask gives the right numbers without the poison, but it has read all 40 words to do so.
# - The Gaussian on all weights gives other numbers: its softmax shares its denominator with the whole
#   sentence.
# - The Gaussian as a mask is global attention. In the double precision used here, and in a sentence of
#   this length, it is never exactly 0. So nothing is masked, and the network that predicts the centre gets
#   no gradient. (In single precision it is exactly 0 at the farthest words.)
#
# A program that fails the probe has read outside its window. A program that passes may still have read
# outside, and replaced the NaN. So count its operations too. Hidden tests of
# [the exercise](../exercises/10_local.ipynb) do both with your own program.
#
# </details>
#
# ## Read the window off the gold links
#
# How wide must a window be? Gold links answer that without any training. Of the toy corpus's links, from source position
# $i$ to target position $t$, count how many lie within $D$ of the centre $t$, and how many within $D$ of a *scaled*
# centre, which knows the lengths $S$ of the source and $T$ of the target:
#
# $$ p_t = t\,\frac{S}{T} $$ (eq-scaled-centre)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels: the mean distance of the linked source word from the centre, against the place in the target sentence, for sentences of 12, 24, 48 and 96 words. With the centre at t the lines fall below zero, and further in longer sentences. With the scaled centre all lines stay near zero."}}
LENGTHS, WIDTHS = (6, 12, 24, 48, 96), (1, 2, 3, 5)
drawn = {n: generate(100, seed=1, min_len=n, max_len=n) for n in LENGTHS}


def share(pairs, D, scaled=False):
    ratio = [len(p.source) / len(p.target) if scaled else 1 for p in pairs]
    inside = [abs(i - t * r) <= D for p, r in zip(pairs, ratio) for i, t in p.links]
    return statistics.mean(inside)


rows = []
for n, pairs in drawn.items():
    both = [(share(pairs, D), share(pairs, D, True)) for D in WIDTHS]
    rows.append([f"{n} words", *(f"{x:.0%} / {y:.0%}" for x, y in both)])
heads = ("source", *(f"D = {D}" for D in WIDTHS))
display(ResultTable(heads, rows, "Gold links in the window", "centre t / centre t S/T"))

figure, panels = plt.subplots(2, 1, figsize=(6.4, 5.4), sharex=True, sharey=True)
COLOURS = dict(zip(LENGTHS[1:], (GREY, GREEN, BLUE, ORANGE)))
drift = {}
for ax, scaled in zip(panels, (False, True)):
    for n in LENGTHS[1:]:
        tenths = [[] for _ in range(10)]
        for pair in drawn[n]:
            S, T = len(pair.source), len(pair.target)
            for i, t in pair.links:
                tenths[10 * t // T].append(i - t * (S / T if scaled else 1))
        drift[n, scaled] = [statistics.mean(x) for x in tenths]
        ax.plot(
            [x + 0.5 for x in range(10)],
            drift[n, scaled],
            color=COLOURS[n],
            label=f"{n} words",
        )
    ax.axhline(0, color=GREY, lw=1)
    ax.annotate(
        "centre t S/T" if scaled else "centre t", (0.06, 0.06), xycoords="axes fraction"
    )
    ax.set_xticks([0, 5, 10], ["start", "middle", "end"])
    ax.set_ylabel("linked word − centre")
panels[1].set_xlabel("French sentence")
name_lines(panels[0])
plt.show()

# %% [markdown]
# **The diagonal drifts.** French needs more words than English here, so the linked English word lags
# behind $t$. The lag grows along the sentence: in the last tenth of sentences of 96 words it is
# {{ f"{-drift[96, False][-1]:.1f}" }} words on average. Over the whole of these sentences a window of $D = 5$
# around $t$ holds {{ f"{share(drawn[96], 5):.0%}" }} of the links, and one around the scaled centre
# {{ f"{share(drawn[96], 5, True):.0%}" }}. But while you translate you do not know $T$ yet, so local-m has
# no such centre.

# %% [markdown]
# **A toy grammar flatters local attention.** A shared task of 2003 {cite:p}`mihalcea2003` has {{ hansards["pairs"] }}
# English–French pairs from the proceedings of the Canadian parliament, with {{ f"{hansards['links']:,}" }} sure gold
# links. A window of $D$ = {{ ", ".join(map(str, hansards["widths"][1:])) }} around $t$ holds
# {{ ", ".join(f"{x:.0%}" for x in hansards["plain"][1:]) }} of these links. Up to 48 words, each of these windows around
# $t$ holds more of the toy corpus's links than of the real ones, whose sentences are of all lengths. Luong et al. took
# $D = 10$, for English and German; here it leaves out one link in a hundred.
#
# In the book's five sentences and a real caption with its map, what would a window of $D = 2$
# around $t$ cut off?

# %% tags=["hide-input"] mystnb={"image": {"alt": "The attention map of a real German caption and its English translation. The first row looks at the end of the caption, far outside a window of two words. In the others most of the weight lies on a band along the diagonal."}}
for pair in FIVE:
    far = [abs(i - t) for i, t in pair.links]
    print(f"{sum(x > 2 for x in far)} of {len(far)} links outside  {pair.source}")
caption = measured("captions")["captions"][0]
real_map = torch.tensor(caption["weights"])
steps, places = (torch.arange(n) for n in real_map.shape)
near = (places - steps[:, None]).abs() <= 2
lost = 1 - (real_map * near).sum(1)
print(f"{lost.mean():.0%} of the weights outside  {caption['source']}")
plot_attention(real_map, caption["source_tokens"], caption["tokens"])
plt.show()

# %% [markdown]
# In the map of the caption, from [chapter 3](03_additive.ipynb)'s global model, it cuts off {{ f"{lost.mean():.0%}" }} of
# the weight on average. In the first row, which writes *A*, it is {{ f"{lost[0]:.0%}" }}: most of its weight is on the
# full stop and the end mark, seven and eight positions off. No other row loses more than {{ f"{lost[1:].max():.0%}" }}.

# %% [markdown]
# ## Where it helps, and where it fails
#
# Three tasks write letters in a code; what differs is the order. *Substitute* keeps it, *reverse* turns it round, and
# *double* writes each letter twice, so that the diagonal drifts, far more than in French. Three models differ in their
# attention; the window has $D = 2$. They were trained on 3 to 10 letters and tested on 10, 15 and 25. A letter counts as
# right only at its own position. A baseline needs no model: the code of the source letter at $t$. The last row
# of each task is the share of its links within 2 of $t$.
#
# ```{predict} longer-sentences
# ```


# %% tags=["hide-input", "hide-output", "hide-until-longer-sentences"]
def right(task, kind, size):
    return [run["right"][size] for run in stored["runs"][task][kind]]


def span(values, form=".2f"):
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


SIZES = ("10", "15", "25")
RULES = {"letter at t": "same place", "links in the window": "window"}
rows = []
for task, kinds in stored["runs"].items():
    for kind in kinds:
        spans = [span(right(task, kind, size)) for size in SIZES]
        rows.append([f"{task}, {kind}", *spans])
    for name, key in RULES.items():
        found = stored["rules"][task][key]
        rows.append([f"{task}, {name}", *(f"{found[size]:.2f}" for size in SIZES)])
guess = span(
    [x for rule in stored["rules"].values() for x in rule["at random"].values()]
)
heads = ("task, attention", *(f"{size} letters" for size in SIZES))
ResultTable(
    heads,
    rows,
    "Letters right in their place, greedy search",
    f"lowest to highest of three seeds; a letter drawn at random is right in {guess}",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **In order**, local-m loses nothing at 10 letters, and it *extrapolates*: at 25 letters it gets
#   {{ span(right("substitute", "local-m", "25")) }} of them right, where global attention gets
#   {{ span(right("substitute", "global", "25")) }}. A longer sentence gives the window further to walk,
#   and walking is built in. Still, its share falls with the length, for reasons not measured here.
# - **Backwards**, local-m fails: at 10 letters it gets {{ span(right("reverse", "local-m", "10")) }},
#   where global attention gets {{ span(right("reverse", "global", "10")) }}. That is still more than the
#   links in its window. Two things could get round the window: the encoder's states have read their
#   neighbours, and the decoder starts from the encoder's summary. At 15 and 25 letters local-m does no
#   better than the links in its window plus guesses at the rest.
# - **With drift**, local-m is behind at 10 letters, with {{ span(right("double", "local-m", "10")) }}. At
#   25 it is ahead of the others, but all three get most letters wrong.
# - **Local-p** stays near global attention at the longest trained length: a little below in *reverse* ({{ span(right("reverse", "local-p", "10")) }} beside {{ span(right("reverse", "global", "10")) }}); elsewhere the ranges overlap. On longer sentences it loses the tasks, and in *reverse* is far below global attention.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# The learning rate of each was the best of three on validation sentences; for local-m, in *reverse* and *double*, it is the
# highest that was tried. In *double* with 10 letters local-m sees no letter in the last 8 of 20 steps (in the first of
# these it sees the end mark).
#
# If a model writes one letter too many, all later ones stand one position off; if it stops early, the missing letters count as
# wrong. How often either happens was not counted. In *substitute* and *reverse* a letter one position off is right about as
# often as a guess. A missing letter never is: so stopping early can bring a model below a guess.
#
# </details>
#
# **The window helps where its assumption holds.** There it is *knowledge* that training need not find. Where the order
# changes, a centre at $t$ takes away what the model needs.
#
# ### Did local-p learn its centre?
#
# Its centre starts in the middle, at every step of every sentence, because $z \approx 0$ and $\sigma(0) =
# \frac12$. In *reverse* it should start at the last letter and walk to the first. By {eq}`eq-centre-gradient`,
# only words that it sees can pull it. Here is the mean centre at each step, over test sentences of 10 letters.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, one for each seed: the mean centre of local-p at each step, in sentences of ten letters written backwards. Before training the centre is in the middle at every step. After 75 updates it falls from the end to the beginning. After 300 it closely follows the right line, from nine down to zero."}}
figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.0), sharey=True)
SHADES = {"0": (GREY, ":"), "75": (GREY, (0, (4, 1))), "300": (BLUE, "-")}
centres = [run["centres"] for run in stored["runs"]["reverse"]["local-p"]]
for seed, ax in enumerate(panels):
    for update, (shade, dashes) in SHADES.items():
        ax.plot(
            centres[seed][update][:10], color=shade, ls=dashes, label=f"update {update}"
        )
    ax.plot(
        range(10), range(9, -1, -1), color=ORANGE, ls="--", lw=1.2, label="right letter"
    )
    ax.annotate(f"seed {seed}", (0.62, 0.88), xycoords="axes fraction")
    ax.set_xlabel("step")
    ax.set_xticks([0, 5, 9])
panels[0].set_ylabel("centre of the window")
name_lines(panels[2])
plt.show()
display(experiment_card(stored["card"]))
off = {
    update: [
        statistics.mean(abs(c - 9 + t) for t, c in enumerate(run[update][:10]))
        for run in centres
    ]
    for update in SHADES
}

# %% [markdown]
# It did, in each of the three seeds, and early. Before training the mean centre is
# {{ span(off["0"], ".1f") }} positions off the letter; after 75 updates it is {{ span(off["75"], ".1f") }}
# positions off, and after 300 it is {{ span(off["300"], ".1f") }}. Short sentences may show it the way, though we have not
# tested that: of 3 letters and the end mark, the window holds all from the start but perhaps the first.
#
# ## Does a mask save time?
#
# In *self-attention* ([chapter 14](14_self_attention.ipynb)) each word attends to the words of its own sentence. Then $n$
# words need $n^2$ scores, and a window has the most to save.
#
# Three programs of this package compute it: all pairs, without a window (*full*); all pairs, under the mask of a
# window of 16 to each side (*mask*); and the pairs in that window alone (*gathered*), by
# `windowed_attention`. The last two give the same contexts. The chart has their processor times.
#
# ```{predict} mask-time
# ```

# %% tags=["hide-input", "hide-output", "hide-until-mask-time"] mystnb={"image": {"alt": "Processor time against the number of words, both on logarithmic scales, with bands from the lowest to the highest of seven rounds. The curve of the mask lies above that of full attention, and both rise with the square of the length. The curve of the gathered window rises in proportion to the length, and crosses them at some hundreds of words."}}
costs = stored["costs"]["milliseconds"]
COUNTS = {n: (int(n) ** 2, int(window_mask(int(n), 16).sum())) for n in costs}


def ratios(one, other, n):  # round by round
    return [a / b for a, b in zip(costs[n][one], costs[n][other])]


figure, ax = plt.subplots(figsize=(6.4, 3.6))
words = [int(n) for n in costs]
unit = statistics.median(costs["128"]["full"])
for name, colour in (("mask", ORANGE), ("full", GREY), ("gathered", BLUE)):
    low, middle, high = (
        [pick(costs[n][name]) / unit for n in costs]
        for pick in (min, statistics.median, max)
    )
    ax.fill_between(words, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.loglog(words, middle, "o-", color=colour, label=name)
ax.set_xticks(words, [str(n) for n in words])
ax.minorticks_off()
ax.set(xlabel="words", ylabel="time (full, 128 words: 1)")
name_lines(ax)
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **A mask over finished scores saves nothing.** Every score is computed, so there is nothing left to save. In this package
# the mask even costs time, probably because masking takes further passes over all scores: at 2,048 words it takes
# {{ span(ratios("mask", "full", "2048"), ".1f") }} times as long as *full*. Another program may mask at less cost.
#
# **The gathered window** takes
# {{ span(ratios("gathered", "full", "2048")) }} of the time of *full* at that length. At 128 words it
# takes {{ span(ratios("gathered", "full", "128"), ".1f") }} times as long: gathering has its price, and in
# ordinary sentences it does not pay. On another machine these ratios differ.
#
# **A program that reads the mask first** can skip whole blocks of scores. PyTorch's built-in attention, one operator
# for scores, softmax and sum, does so with its causal flag, *FlexAttention* {cite:p}`dong2024` with any pattern that
# leaves blocks empty.
#
# **Memory, counted.** At 2,048 words *full* and *mask* hold {{ f"{COUNTS['2048'][0]:,}" }} scores,
# *gathered* {{ f"{2048 * 33:,}" }}. But a gather by index would copy each key and each value 33 times, with 32
# numbers each: {{ f"{2048 * 33 * 64:,}" }} numbers, more than the scores that it saved. The program timed here, on one
# sentence, copies each key and value once, to pad the ends: its windows are overlapping *views* of that memory. Other fast programs compute block by block.
#
# </details>

# %% tags=["hide-input", "hide-output"]
rows = []
for n, (everything, inside) in COUNTS.items():
    times = [span(ratios(way, "full", n)) for way in ("mask", "gathered")]
    rows.append([n, *times, f"{everything / inside:.1f}"])
heads = ("words", "time, mask / full", "time, gathered / full", "pairs, full / window")
note = "one core; lowest to highest of seven rounds"
ResultTable(heads, rows, "What a window saves", note)

# %% [markdown]
# ## Patterns, and how far they carry
#
# A *pattern* says which pairs of positions are scored. It is a matrix $A$ of flags: $A_{ij}$ is true if
# position $i$ may attend to position $j$. A *band* has $|i - j| \le w$. *Blocks* let the positions of one
# block see each other, $\lfloor i/b \rfloor = \lfloor j/b \rfloor$. A *stride* lets $i$ see every $s$-th
# position, counted from itself. A *global* word sees all words and is seen by all. Patterns are joined by
# *or*.
#
# In one layer a word hears of the words that it sees. In the next layer it hears what *they* have heard.
# Let $I$, the identity matrix, stand for the residual connection, by which a word keeps what it has. After $\ell$ layers word $i$ can
# have heard of word $j$ where
#
# $$ R^{(\ell)}_{ij} = \Big[\big((A \vee I)^{\ell}\big)_{ij} > 0\Big] $$ (eq-pattern-reach)
#
# is true. A band carries $w$ places a layer, so
#
# $$ \ell_{\text{band}} = \Big\lceil \frac{n - 1}{w} \Big\rceil $$ (eq-layers-band)
#
# layers connect all $n$ words.

# %% tags=["hide-input"]
SparseReach(
    caption="After the window, add one global word; then choose blocks, then blocks with a stride. Finally "
    "look back only (causal)."
)

# %%
n, back = 64, causal_mask(64)
near, blocks, far = window_mask(n, 8), block_mask(n, 8), strided_mask(n, 8)
PATTERNS = {
    "all pairs": (torch.ones(n, n, dtype=torch.bool), False),
    "window 2": (window_mask(n, 2), False),
    "window 8": (near, False),
    "window 4, global word 0": (window_mask(n, 4) | global_mask(n, [0]), False),
    "blocks of 8": (blocks, False),
    "blocks of 8, stride 8": (blocks | far, False),
    "window 8, causal": (near & back, True),
    "window 8, stride 8, causal": ((near | far) & back, True),
}

# %% tags=["hide-input"]
needs = {
    k: (int(A.sum()), layers_to_connect(A, causal=c)) for k, (A, c) in PATTERNS.items()
}
rows = [
    [k, f"{pairs:,}", "never" if of is None else of] for k, (pairs, of) in needs.items()
]
heads = ("pattern, 64 words", "pairs scored", "layers to connect all")
ResultTable(heads, rows, "What patterns cost, and how far they carry")

# %% [markdown]
# One global word makes two layers enough, and adds
# {{ needs["window 4, global word 0"][0] - int(window_mask(64, 4).sum()) }} pairs to a window of 4. But
# in two layers, whatever two words more than eight positions apart tell each other passes through that one word. To be *connected*
# is not to be well informed.
#
# ### The patterns that have names
#
# - **Sparse Transformer** {cite:p}`child2019`: causal, in two versions. *Strided*, for images: the last $s$
#   positions, and every $s$-th before. *Fixed*, for text: a word's own block of $s$, and the last few
#   positions of each earlier block. The two parts go to different layers or heads, or are joined in one head.
#   With $s \approx \sqrt n$ two layers connect everything, for about $n\sqrt n$ scores.
# - **Longformer** {cite:p}`beltagy2020`: a sliding window in every layer, with a few global tokens where a task needs
#   them, such as the one that stands for the whole text, or the words of a question.
# - **BigBird** {cite:p}`zaheer2020`: a window, global tokens, and some random pairs for each word, which make short paths
#   between any two words likely.
#
# What makes such models fast is not the mask but a program that never computes the rest. Some of today's language models,
# Gemma 2 among them {cite:p}`gemma2024`, mix layers that have a window with layers that see everything.

# %% [markdown]
# ## Global, local-m, local-p
#
# | what | global | local-m | local-p |
# |---|---|---|---|
# | the centre knows | – | the step $t$ | the decoder state, and $S$ |
# | words that get a weight | $S$ | at most $2D + 1$ | at most $2D$, unless $p_t$ is whole |
# | additional parameters | 0 | 0 | $d_s^2 + d_s$ |
# | rows sum to 1 | yes | yes, until the window runs off the end | no |
# | needs the same order in both languages | no | yes | no |
# | longer than trained on | mostly lost | mostly right, if in order | mostly lost |
# | take it if | sentences are short, or the order changes | each step needs the next source word: a code, naming each word's part of speech | the order changes in a way that can be learned, and sources are long: Luong et al.'s case, not shown here |

# %% [markdown]
# ## Where it breaks
#
# **A centre that counts pads.** In {eq}`eq-local-centre`, $S$ is the number of words in *this* sentence. A
# program that takes the width of the batch places the window over the same six words differently in every
# batch. Once the window has left them, no word is seen. Over such an empty row a plain softmax gives NaN. The package's gives zeros: the context is zero, and there is no error:

# %%
six = torch.randn(1, 6, 4, generator=torch.manual_seed(1)).double()
padded_centre = {width: width * z.sigmoid().item() for width in (6, 12, 30, 60)}
for width, centre in padded_centre.items():
    seen = [i for i in range(6) if abs(i - centre) <= 3]
    print(f"width {width:2d}: centre with pads {centre:5.1f}, seen {seen}")
    batch, real = F.pad(six, (0, 0, 0, width - 6)), torch.arange(width)[None] < 6
    careful = attention(query, batch, mask=real).context
    torch.testing.assert_close(careful, attention(query, six).context)

# %% [markdown]
# The package's centre does not move, whatever the width.
#
# **A window that has walked off.** Once the last word is more than $D$ positions behind local-m's centre, the window is
# empty.
#
# **Counting from 1.** In the paper positions begin at 1. Counted from 0, as here, the same $S\,\sigma(z_t)$ lies one word further on. A trained $z_t$ can make up for that.
#
# **Weights near zero are not free.** Each was computed. A window is fast only in a program that skips what lies outside, and
# here only above some hundreds of words.
#
# ## Check yourself
#
# ```{self-check} how-many-words
# ```
#
# ```{self-check} what-gathering-saves
# ```
#
# ```{self-check} walked-off
# ```
#
# ```{self-check} pull-of-the-centre
# ```

# %% [markdown]
# ## What you now know
#
# - A window is a choice of positions before it is a choice of weights. Local-m puts it at $t$; local-p
#   puts it at $S\,\sigma(z_t)$, with the true length $S$.
# - The Gaussian multiplies the weights. It does not replace the cut, and it makes rows sum to less than 1.
# - A program that fails the NaN probe has read outside its window. One that passes may have overwritten
#   what it read, so count its operations too.
# - Gold links say how wide a window must be. In long sentences the diagonal drifts.
# - In order, local-m extrapolates where global attention and local-p do not. Backwards, local-m fails;
#   local-p learns the task, but only at the lengths of the training.
# - A mask over finished scores imposes a pattern and saves no time. With a window, news travels $w$ places a layer; with one global
#   word, two layers connect all words.
#
# **Now you.** In [the exercise](../exercises/10_local.ipynb) you build a window that touches nothing else,
# count the layers that a pattern needs, and choose a width from gold links.
#
# **Next.** What a sum of weights forgets: coverage and copying, in [chapter 11](11_coverage.ipynb).
#
# ## Sources
#
# - Local-m and local-p: section 3.2 of {cite:t}`luong2015`, equations 9 and 10; the choice $D = 10$ in
#   section 4.1.
# - Sparse patterns: {cite:t}`child2019`, section 4; {cite:t}`beltagy2020`, section 3.1;
#   {cite:t}`zaheer2020`, section 2.
# - Programs that read the mask first: {cite:t}`dong2024`.
# - The shared task on word alignment: {cite:t}`mihalcea2003`.
