# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     optional: 5
#     covers: [F-10, F-11, F-12, F-31, D-07, D-13, D-22, V-04, V-08, V-15, T-03, M-03, M-04, M-10]
#     exercise: 05_scaled
# ---

# %% [markdown]
# # 5. Scaled dot products, low rank, all at once
#
# Nearly every Transformer divides its dot products by $\sqrt d$. Here you derive when that is right, and measure
# cases where it is wrong. Then you split a matrix into two thin ones: on one task, a score
# that is *trained* thin needs far fewer numbers than one that is cut down afterwards. Last, all scores stand in one table.
#
# **You need** [multiplicative scores](04_multiplicative.ipynb); without them, read as far as *All queries at once* and leave the rest for later. **This chapter covers** the scaled dot score and its
# limits; scaled dot-product attention in matrix form; the reduced-rank score; what each mechanism costs, counted; and the
# scores compared at one budget.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# One query meets ten keys. Their products become scores, and a softmax makes weights of the scores. What happens
# to the weights when the vectors have more numbers? In the figure these are drawn independently, with mean 0 and
# variance 1; $d$ is how many there are. Answer, then move $d$. Then choose *÷ √d*, as nearly every Transformer
# does, and move $d$ again.

# %% tags=["hide-input"]
import itertools
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from seqattn import (
    AdditiveScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ReducedRankScore,
    ScaledDotProductAttention,
    ScaledDotScore,
    SelfAttention,
    dot_score,
)
from seqattn.attention import truncate_rank
from seqattn.data import FIVE, TINY, measured
from seqattn.plots import (
    BLUE,
    GREY,
    KEYS,
    ORANGE,
    QUERY,
    ResultTable,
    experiment_card,
    name_lines,
    plot_attention,
    use_style,
)
from seqattn.widgets import DotVariance, RankSlider

use_style()
torch.set_printoptions(precision=3, sci_mode=False)

DotVariance(
    kind="independent",
    predict={
        "question": "These vectors have independent components, and their products are "
        "taken as they are. The size d goes from 4 to 1024. What happens to the ten "
        "weights?",
        "options": [
            "They become nearly equal.",
            "One of them takes nearly everything.",
            "They stay about as they are.",
        ],
        "answer": 1,
        "tests": "exponent",
        "explain": [
            "So it goes with vectors of length 1, further down the page: each of their "
            "components shrinks.",
            "A product of more numbers is a longer sum, and longer sums lie further apart. "
            "The softmax turns differences into ratios.",
            "So it is once the products are divided: choose ÷ √d and move d again.",
        ],
    },
)

# %% [markdown]
# ## By hand: sixteen keys
#
# Let $q$ and $k$ have four numbers each, all of them $+1$ or $-1$. Take $q = (1, 1, 1, 1)$; then the
# product $q^\top k$ is the sum of the four signs of $k$. There are sixteen keys. All signs minus: one key,
# the sum $-4$. One plus: four keys, the sum $-2$. And so on:
#
# | sum | −4 | −2 | 0 | 2 | 4 |
# |---|---|---|---|---|---|
# | how many keys | 1 | 4 | 6 | 4 | 1 |
#
# The mean is 0, so the *variance* is the mean square. The squares add up to
# $16 + 4\cdot 4 + 6\cdot 0 + 4\cdot 4 + 16 = 64$, and $64/16 = 4$: the number of signs. It comes
# out exactly, with no bell curve. Another $q$ of four signs gives the same table: it only changes which
# key is which. Divide each product by $\sqrt 4 = 2$, and the variance is 1.

# %%
for d in (2, 4, 8):
    keys = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=d)))
    products = keys @ torch.ones(d)
    plain = products.square().mean()
    scaled = (products / math.sqrt(d)).square().mean()
    print(f"d = {d}: {len(keys):3d} keys, variance {plain:.3f}, scaled {scaled:.3f}")

# %% [markdown]
# ## What saturation costs
#
# A score far above the others takes all the weight. And where one weight is nearly 1, the
# softmax is flat: its derivatives $\partial\alpha_i/\partial e_j = \alpha_i(\delta_{ij} - \alpha_j)$ are
# nearly 0 ($\delta_{ij}$ is 1 for $i = j$, else 0), and hardly any gradient comes through the weights to
# the query. Here are ten keys with components drawn from the normal distribution. Each line
# has two pairs of numbers, for the plain and for the divided products: the largest weight and the sum of the absolute derivatives, both averaged over the draws.


# %% tags=["hide-input"]
def saturation(scores):
    """Mean largest weight, and mean sum of |derivatives|, over rows of scores."""
    a = scores.softmax(-1)
    slopes = torch.diag_embed(a) - a[:, :, None] * a[:, None]
    return a.amax(-1).mean().item(), slopes.abs().sum((1, 2)).mean().item()


torch.manual_seed(0)
found = {}
for d in (4, 64, 1024):
    q, k = torch.randn(2000, d), torch.randn(2000, 10, d)
    products = torch.einsum("nd,nkd->nk", q, k)
    found[d] = saturation(products), saturation(products / math.sqrt(d))
    plain, scaled = ("  ".join(f"{x:.2f}" for x in pair) for pair in found[d])
    print(f"d = {d:4d}  plain: {plain}   divided: {scaled}")

# %% [markdown]
# Divided, the numbers hardly depend on $d$. Undivided, the largest weight goes to 1 and the derivatives
# go towards 0.

# %% [markdown]
# ## In general, and what is assumed
#
# Draw $q$ and $k$ at random, with $d$ components each. Assume that **(a)** $q$ and $k$ are independent of
# each other; **(b)** each component has mean 0, and variance $\sigma_q^2$ in $q$, $\sigma_k^2$ in $k$;
# **(c)** the components of *one* of the two, say of $k$, are uncorrelated: the product of any two of them
# has mean 0. Write $\mathbb{E}$ for the mean over all draws. First the mean, by (a) and (b):
#
# $$ \mathbb{E}\,[q^\top k] = \sum_{j=1}^{d} \mathbb{E}[q_j]\,\mathbb{E}[k_j] = 0 $$ (eq-dot-mean)
#
# Then the variance. The square of a sum is a double sum, and (a) splits each term. By (c),
# $\mathbb{E}[k_j k_l] = 0$ for $j \ne l$, and one sum is left:
#
# $$
# \begin{aligned}
# \mathrm{Var}(q^\top k) &= \sum_{j}\sum_{l} \mathbb{E}[q_j q_l]\,\mathbb{E}[k_j k_l] \\
# &= \sum_{j} \mathbb{E}[q_j^2]\,\mathbb{E}[k_j^2] \\
# &= d\,\sigma_q^2\,\sigma_k^2
# \end{aligned}
# $$ (eq-dot-variance)
#
# Nothing was assumed about the shape of the distributions. With both variances 1, the standard deviation
# is $\sqrt d$, and the *scaled dot score* divides by it:
#
# $$ e_{ti} = \frac{s_t^\top h_i}{\sqrt d} $$ (eq-scaled-dot-score)
#
# The scaled score has variance 1 only if $\sigma_q\sigma_k = 1$. That is a
# property of the vectors, and $\sqrt d$ takes no account of it.

# %% [markdown]
# ## Which vectors need the root?
#
# Try the rule on four kinds of vectors. The figure
# starts with vectors of length 1, not divided. Answer, then move $d$.

# %% tags=["hide-input"]
DotVariance()

# %% [markdown]
# What to try:
#
# - Choose *÷ √d*. Which of the four kinds still have weights that are neither equal nor on one key?
# - Stay with *length 1*, and find the factor that suits it.
#
# Now the reason, for vectors that break an assumption. Let $u$ have *length 1*, its direction drawn evenly. For any
# fixed $w$ of length 1, the mean of $u^\top w$ is 0, since $u$ and $-u$ are equally likely. Take $w$ as
# one axis of a coordinate system with $d$ axes. The squares of the products of $u$ with all $d$ axes add
# up to $\lVert u\rVert^2 = 1$, and no axis is special. So each has the mean $1/d$:
#
# $$ \mathrm{Var}(u^\top w) = \frac1d $$ (eq-unit-variance)
#
# The product *shrinks*, with a standard deviation of $1/\sqrt d$. To bring it back to 1 you have to
# **multiply** by $\sqrt d$. What about the states of a translator? The *spread* of their products is how far a query's products lie from their mean over the keys, as a standard deviation. (The mean itself is
# left out: the softmax ignores what all scores of a row share.)
#
# ```{predict} gru-scale
# ```


# %% tags=["hide-input", "hide-output", "hide-until-gru-scale"]
def states(d, words=10, sentences=50):
    """A fresh GRU reads random vectors; another goes on from there and asks."""
    reader, writer = (nn.GRU(64, d, batch_first=True) for _ in range(2))
    keys, last = reader(torch.randn(sentences, words, 64))
    queries, _ = writer(torch.randn(sentences, words, 64), last)
    return queries[:, -1], keys


def normed_and_projected(d):
    """The same, each brought to mean 0 and variance 1, then through a fresh matrix."""
    xavier = nn.init.xavier_uniform_
    return [
        F.linear(F.layer_norm(x, (d,)), xavier(torch.empty(d, d))) for x in states(d)
    ]


def spread(query, keys):
    """Root mean square of the scores about the mean of their row."""
    return torch.einsum("nd,nkd->nk", query, keys).var(-1).mean().sqrt().item()


KINDS = {
    "independent": lambda d: (torch.randn(50, d), torch.randn(50, 10, d)),
    "length 1": lambda d: [F.normalize(x, dim=-1) for x in KINDS["independent"](d)],
    "GRU states": states,
    "normed, projected": normed_and_projected,
}

spreads, rows = {}, []
for kind, draw in KINDS.items():
    for d in (16, 64, 256, 1024):
        torch.manual_seed(d)
        with torch.no_grad():
            spreads[kind, d] = [spread(*draw(d)) for _ in range(3)]
        plain = f"{min(spreads[kind, d]):.3g} to {max(spreads[kind, d]):.3g}"
        divided = [x / math.sqrt(d) for x in spreads[kind, d]]
        rows.append([kind, d, plain, f"{min(divided):.3g} to {max(divided):.3g}"])
heads = ("vectors", "d", "spread of the products", "divided by √d")
ResultTable(
    heads, rows, "Products of a query with ten keys", "lowest to highest of three draws"
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# For states that were normed and projected (each brought to mean 0 and variance 1, then multiplied by a random
# matrix whose entries have the variance $1/d$: Xavier initialisation), dividing brings the spread near 1 at every
# size. The queries and keys of many Transformers are made in this way, but not all from this start. PyTorch's default
# for `nn.Linear` has a variance of $1/(3d)$: the divided spread is near a third. `nn.MultiheadAttention` starts the
# three matrices as one, with a variance of $1/(2d)$: a half. Entries with a standard deviation of
# 0.02, as in the code of the Transformer GPT-2 (that of BERT, another one, is similar), make the divided spread
# $0.0004\,d$, which grows with the size.
# For raw states of a fresh GRU the products are *below* 1 before anything is
# divided, and from $d = 16$ on they shrink: PyTorch draws the weights of a larger GRU from a smaller range.
# Divided, they give weights that are nearly equal, the more so the larger $d$ is.
#
# </details>

# %% [markdown]
# **The rule "divide by $\sqrt d$" is a statement about vectors with components of variance 1. Before
# you use it, measure the spread of your scores.** It takes one line of code. The components of a GRU's state also
# have a bound: they lie between $-1$ and $1$, so $|s^\top h|$ is at most $d$, and
# the scaled score at most $\sqrt d$.
#
# ## What does the factor buy in training?
#
# Here is a task that attention can do. Eight keys are drawn. The query is one of them, plus noise of
# the same size: which one was it? Two matrices, for queries and keys, are learned in 150 steps of
# stochastic gradient descent; $d = 64$, three seeds. Guessing gets 12.5%.
#
# ```{predict} scale-and-rate
# ```


# %% tags=["hide-input", "hide-output", "hide-until-scale-and-rate", "nbval-ignore-output"]
def recall(factor, lr, seed, kind=torch.optim.SGD, d=64):
    torch.manual_seed(seed)
    W_q, W_k = (torch.randn(d, d).div(d**0.5).requires_grad_() for _ in range(2))
    optimizer = kind([W_q, W_k], lr)
    for step in range(151):
        n = 64 if step < 150 else 1000  # the last batch is the test
        keys, wanted = torch.randn(n, 8, d), torch.randint(8, (n,))
        asked = keys[torch.arange(n), wanted] + torch.randn(n, d)
        scores = factor * torch.einsum("nd,nkd->nk", asked @ W_q.T, keys @ W_k.T)
        if step == 150:
            return (scores.argmax(-1) == wanted).float().mean().item()
        optimizer.zero_grad()
        F.cross_entropy(scores, wanted).backward()
        optimizer.step()


right, rows = {}, []
trials = [(torch.optim.SGD, lr) for lr in (0.01, 0.03, 0.1, 0.3, 1.0)] + [
    (torch.optim.Adam, 0.01)
]
for kind, lr in trials:
    for factor in (1, 1 / 8):
        right[kind, lr, factor] = [recall(factor, lr, seed, kind) for seed in range(3)]
    shares = [right[kind, lr, factor] for factor in (1, 1 / 8)]
    rows.append([kind.__name__, lr, *(f"{min(s):.0%} to {max(s):.0%}" for s in shares)])
heads = ("optimiser", "learning rate", "as it is", "divided by √64")
ResultTable(heads, rows, "Right answers", "lowest to highest of three seeds")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# At the small rates the *undivided* score is ahead: its gradients are larger, so it learns faster. At 0.3 it
# falls behind, at 1 it is at chance, and the divided score still learns. With each at its best rate in this table, the two differ by about one point. With Adam both learn.
#
# </details>
#
# **On this task the factor does not decide *whether* attention learns, but which learning rates work.** So a comparison at one rate for all compares the rates as well.
#
# <details><summary>How sure is this?</summary>
#
# One part of this is exact: in gradient descent, dividing by 8 is the same as beginning with each of the two matrices divided by $\sqrt 8$ and the rate divided by 8.
# The rest is this task's: here the loss reads the weights themselves, so a sharp, wrong row still gets a gradient. In a translator it does not read them directly.
#
# </details>

# %% [markdown]
# ## All queries at once
#
# Write the queries of a sentence as rows of $Q$, $(T \times d_k)$, the keys as rows of $K$,
# $(S \times d_k)$, and the values as rows of $V$, $(S \times d_v)$. Then scores, softmax and weighted
# sums are one line:
#
# $$ \mathrm{Attention}(\query{Q}, \keys{K}, \values{V})
#    = \weights{\mathrm{softmax}}\Big(\frac{\query{Q}\,\keys{K^\top}}{\sqrt{d_k}}\Big)\,\values{V} $$ (eq-attention-matrix)
#
# The softmax works on each row, and the result is $(T \times d_v)$. Vaswani et al. (2017) call it
# **scaled dot-product attention**, and built the Transformer on it. The root is that of the *keys'* size; the values' does not matter. The cell checks the line against one query at a time. On the book's three words, scores 1.00, 1.25 and −0.75, division by
# $\sqrt 2$ makes the weights softer and keeps their order.

# %%
Q, K, V = torch.randn(3, 7), torch.randn(5, 7), torch.randn(5, 11)  # one sentence
at_once = (Q @ K.T / math.sqrt(7)).softmax(-1) @ V  # (3, 7) @ (7, 5) @ (5, 11)
one_by_one = torch.stack([(K @ q / math.sqrt(7)).softmax(0) @ V for q in Q])
torch.testing.assert_close(at_once, one_by_one)
package = ScaledDotProductAttention()(Q[None], K[None], V[None]).context
torch.testing.assert_close(at_once, package[0])
for name, divisor in (("dot       ", 1), ("scaled dot", math.sqrt(2))):
    print(name, (TINY.h @ TINY.s / divisor).softmax(0).float())

# %% [markdown]
# ## Two thin matrices
#
# The general score has a full matrix $W$, $(d_s \times d_h)$. Put a product of two thin ones in its
# place, $W = U^\top V$, with $U$ of shape $(k \times d_s)$ and $V$ of shape $(k \times d_h)$:
#
# $$ e_{ti} = s_t^\top U^\top V h_i = (U s_t)^\top (V h_i) $$ (eq-reduced-rank-score)
#
# Query and key are projected into a common space of $k$ numbers, and compared there by a dot product.
# Such a $W$ has *rank* $k$ at most: all its rows are mixtures of the $k$ rows of $V$. In the book's
# example $k = 1$, $U = (0.4, 1.0)$ and $V = (0.5, 0.3)$. On paper: $Us = 0.4\cdot 0.5 + 1.0\cdot 1.0 = 1.2$.
# For *cat* $Vh = 0.5\cdot 1.0 + 0.3\cdot 0.5 = 0.65$, and the score is $1.2\cdot 0.65 = 0.78$. For *sat* and
# *mat* it is 0.24 and −0.06.
#
# It saves numbers if the rank is small:
#
# $$ k\,(d_s + d_h) < d_s\, d_h \quad\text{exactly if}\quad k < \frac{d_s\, d_h}{d_s + d_h} $$ (eq-reduced-parameters)
#
# For $d_s = d_h = d$ the bound is $d/2$. **The surprise:** half the rank saves *nothing*.
#
# Call $U$ the query matrix and $V$ (not the values here) the key matrix, and divide by $\sqrt k$:
# this is the score of one attention *head*.
#
# ### How small may the rank be?
#
# Take the task of the last chapter: twelve random vectors with 16 numbers each, and
# each asks for the *next* one.
#
# ```{predict} which-rank
# ```


# %% tags=["hide-output", "hide-until-which-rank"]
def next_one(rank, seed):
    torch.manual_seed(seed)
    x, following = F.normalize(torch.randn(12, 16), dim=-1), torch.arange(12).roll(-1)
    U, V = (torch.randn(rank, 16).requires_grad_() for _ in range(2))
    optimizer = torch.optim.Adam([U, V], lr=0.05)
    for _ in range(300):
        scores = (x @ U.T) @ (x @ V.T).T
        optimizer.zero_grad()
        F.cross_entropy(scores, following).backward()
        optimizer.step()
    return x, U.detach(), V.detach(), (scores.argmax(-1) == following).sum().item()


learned = {k: [next_one(k, seed)[-1] for seed in range(5)] for k in (1, 2, 3)}
print("right of 12:", learned)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Rank 2 gets all twelve, from every seed, with a quarter of the numbers of a full matrix. Rank 1 gets two.
# It cannot get more: its score is a number of the query times a number of the key. So the key with
# the largest number is first for every query of one sign, and the key with the smallest for every query
# of the other.
#
# </details>
#
# Why is there room for all in a plane? Give word $i$ a place on a circle, $30^\circ$ after the one before.
# Let $V$ send each vector to its place, and $U$ send it to the place of the *next*. (Such matrices exist,
# since twelve random vectors of 16 numbers are linearly independent.) Then a query points exactly at its
# answer. **Two dimensions are enough** for any number of words whose vectors are linearly independent, here
# up to 16.
#
# Below stand the circle that was built, and what training found. A line
# leads to each numbered key from the query that asks for it, the word before. Training has no need of the order round the
# circle. It finds a *ring*: each key has a direction in which no other key goes
# further, and the query for it points that way.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels with twelve numbered keys each. Built: the keys stand evenly on a circle in order, and each query lies on its answer. Learned at rank 2: the keys stand in an irregular ring in another order, and each query lies in about the direction of its answer from the middle, four further out than it and eight less far."}}
x, U, V, _ = next_one(2, seed=2)
angle = torch.arange(12) * math.pi / 6
circle = torch.stack([angle.cos(), angle.sin()], 1)
figure, panels = plt.subplots(1, 2, figsize=(8, 4))
for ax, title, q, k in (
    (panels[0], "built", circle.roll(-1, 0), circle),
    (panels[1], "learned at rank 2", x @ U.T, x @ V.T),
):
    for i, (x0, y0) in enumerate(k.tolist()):
        ax.plot(*zip((x0, y0), q[i - 1].tolist()), color=GREY, lw=1, zorder=0)
        away = 12 / math.hypot(x0, y0)
        ax.annotate(
            str(i + 1),
            (x0, y0),
            color=KEYS,
            xytext=(away * x0, away * y0),
            textcoords="offset points",
            ha="center",
            va="center",
        )
    ax.scatter(*k.T, s=50, color=KEYS)
    ax.scatter(*q.T, s=18, color=QUERY, marker="^", zorder=3)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    reach = 1.35 * max(abs(k).max().item(), abs(q).max().item())
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
centred = {"ha": "center", "va": "center", "weight": "bold"}
panels[0].text(0, 0.3, "dots: keys", color=KEYS, **centred)
panels[0].text(0, -0.1, "triangles:\nqueries", color=QUERY, **centred)
plt.show()

# %% [markdown]
# ## Cut a matrix down
#
# What if a full $W$ has been trained, and you want it thinner? The *singular value decomposition* writes
# any matrix as a sum of products of a column and a row, $W = \sum_j \sigma_j\, a_j b_j^\top$. All $a_j$
# have length 1 and stand at right angles to each other, and so do the $b_j$. The *singular values*
# $\sigma_j$ fall from the first to the last. Keep the first $k$ terms:
#
# $$
# \begin{aligned}
# W^{(k)} &= \sum_{j=1}^{k} \sigma_j\, a_j b_j^\top \\
# \lVert W - W^{(k)} \rVert_F &= \sqrt{\textstyle\sum_{j>k} \sigma_j^2} \\
# &= \min_{\mathrm{rank}\,M \le k} \lVert W - M \rVert_F
# \end{aligned}
# $$ (eq-eckart-young)
#
# Here $\lVert\cdot\rVert_F$ is the root of the sum of all squared entries. So $W^{(k)}$ is the *nearest* matrix
# of rank $k$ {cite:p}`eckart1936`. Is it also the one that scores best? Try two: the twelve words, where
# a full $W = U^\top V$ with square factors learns to answer and is cut down; and the book's example.

# %%
cut, following = {k: [] for k in (1, 2, 4, 8, 16)}, torch.arange(12).roll(-1)
for seed in range(5):
    x, U, V, _ = next_one(16, seed)  # a full matrix: the vectors have 16 numbers
    for k in cut:
        A, B = truncate_rank(U.T @ V, k)
        answers = ((x @ A.T) @ (x @ B.T).T).argmax(-1)
        cut[k].append((answers == following).sum().item())

# %% tags=["hide-input"]
for k, counts in cut.items():
    print(f"cut to rank {k:2d}: right of 12, five seeds: {counts}")
U_1, V_1 = truncate_rank(TINY.W, 1)
print("the book's matrix: singular values", torch.linalg.svdvals(TINY.W).float())
print("weights", (TINY.s @ TINY.W @ TINY.h.T).softmax(0).float())
print("rank 1 ", (TINY.h @ V_1.T @ (U_1 @ TINY.s)).softmax(0).float())

# %% [markdown]
# **Trained thin and cut thin are different things.** A full matrix that had learned all twelve answers keeps three to six of them when cut down to rank 2. Two
# dimensions would have been enough, but nothing asked training for two. In the book's example *mat* stays first.
#
# What becomes of the translations? A general score with a matrix of 64 × 64 was trained on the toy
# corpus, as described further down, and cut down afterwards. The bars are its singular values. The
# *squared length* of a matrix is $\lVert W\rVert_F^2$, the sum of all $\sigma_j^2$; a cut keeps the share
# of its first $k$ terms. Answer, then move the rank.

# %% tags=["hide-input"]
stored = measured("scores")
general = stored["runs"]["general"]
cuts = general[0]["ranks"]


def cut_to(rank):
    found = [run["ranks"][str(rank)]["bleu"] for run in general]
    return f"{min(found):.1f} to {max(found):.1f}"


def kept(rank):
    squares = torch.tensor(general[0]["singular values"]).square()
    return float(squares[:rank].sum() / squares.sum())


lost = [run["test"]["bleu"] - run["ranks"]["8"]["bleu"] for run in general]
sentence = general[0]["map"]
RankSlider(
    general[0]["singular values"],
    {int(k): table for k, table in sentence["weights"].items()},
    {int(k): [run["ranks"][k]["bleu"] for run in general] for k in cuts},
    sentence["source"],
    sentence["target"],
    predict={
        "question": "With the first 8 of 64 terms, how good are the translations, "
        "compared with the whole matrix?",
        "options": [
            "About as good as the share of the squared length that is kept.",
            "Much better than that share.",
            "Worthless: a score needs all its directions.",
        ],
        "answer": 1,
        "tests": "step",
        "explain": [
            "The share says how near the matrices are. It does not say which "
            "directions the queries and keys use.",
            "The nearest matrix is measured by all entries alike. A score is only ever "
            "tried on the states that occur.",
            "Move on: long before the end the map looks like the last one.",
        ],
    },
)

# %% [markdown]
# <details><summary>What the figure shows</summary>
#
# At rank 8 BLEU is {{ cut_to(8) }}, of {{ cut_to(64) }} with the whole matrix: each of the three models lost
# {{ f"{min(lost):.1f}" }} to {{ f"{max(lost):.1f}" }}, about what lies between the dot and the general score further
# down. The squared length of the first model's matrix lost {{ f"{1-kept(8):.0%}" }}. At rank 2 BLEU is {{ cut_to(2) }}. For
# the matrix of the twelve words, an eighth of the rank (2 of 16) kept {{ min(cut[2]) }} to {{ max(cut[2]) }} of the twelve answers. How much
# a cut costs has to be measured.
#
# </details>

# %% [markdown]
# ### Real maps, cut down (optional)
#
# The maps are those of five German captions ([chapter 3](03_additive.ipynb)). A score of rank $k$
# gives a table of scores, a row for each query, whose rank is $k$ at most. So take the logarithms of a map's
# weights: they are its scores, up to a number for each row that changes no weight (chosen so that each row
# has the mean 0). Cut this table down, and count the rows whose largest weight stays in place. Random scores
# of the same size stand beside it.


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two attention maps of one German caption, a row for each English token: its scores cut down to rank 4, and below it the whole map. The cut one is paler in places. At rank 4 seven of nine rows have their largest weight where the whole map has it."}}
def cut_table(scores, rank):
    """The nearest table of that rank to one whose rows have mean 0."""
    A, B = truncate_rank(scores - scores.mean(-1, keepdim=True), rank)
    return A.T @ B


def kept_rows(scores, rank):
    return (cut_table(scores, rank).argmax(-1) == scores.argmax(-1)).sum().item()


torch.manual_seed(0)
captions, kept_at, by_chance = measured("captions")["captions"], [], []
for one in captions:
    # a weight stored as 0.0000 is below 0.00005
    scores = torch.tensor(one["weights"]).clamp(min=5e-5).log()
    kept_at.append([kept_rows(scores, k) for k in (1, 2, 4)])
    draws = [kept_rows(torch.randn_like(scores), 4) for _ in range(1_000)]
    as_many = sum(draw >= kept_at[-1][2] for draw in draws)
    by_chance.append((sum(draws) / len(draws), as_many / len(draws)))
rows = [
    [one["source"], len(one["tokens"]), *kept_at[i], f"{mean:.1f}", f"{share:.3f}"]
    for i, (one, (mean, share)) in enumerate(zip(captions, by_chance))
]
heads = ("caption", "rows", "rank 1", "rank 2", "rank 4", "random scores, rank 4")
heads += ("keep as many",)
note = (
    "random scores: mean of 1,000 draws; keep as many: the share of these draws that keep at least "
    "as many rows. A weight stored as 0.0000 counts as 0.00005; with "
    "0.0000001 instead some counts change, those of rank 4 by one at most"
)
display(ResultTable(heads, rows, "Rows whose largest weight stays", note))

first = captions[0]
weights = torch.tensor(first["weights"])
scores = weights.clamp(min=5e-5).log()
figure, panels = plt.subplots(2, 1, figsize=(5.6, 8.4), layout="constrained")
cut_map = cut_table(scores, 4).softmax(-1)
for ax, title, map_ in zip(panels, ("rank 4", "whole"), (cut_map, weights)):
    plot_attention(map_, first["source_tokens"], first["tokens"], ax=ax, annotate=False)
    ax.set_title(title)
plt.show()

# %% [markdown]
# On the captions rank 4 leaves most rows in place. Only in the third caption does it keep clearly more rows than random scores do: there all rows stay. (These maps are of one model;
# *{{ first["source"] }}* became *{{ first["text"] }}*)

# %% [markdown]
# ## What each mechanism costs
#
# Count multiplications for one sentence with $T_s$ source and $T_t$ target words. States have $d_s$ and
# $d_h$ numbers, or $d$ where both have the same size; $k$ is the rank, $d_a$ the number of the additive score's
# detectors. A window reaches $D$ words to either side. *Remembered* means that what depends on the keys alone
# is done once for a sentence, by `attention.remember(keys)`; *anew*, that it is done at each step.
#
# $$
# \begin{aligned}
# \text{dot, scaled dot:}\quad& T_t T_s\,d \\
# \text{general, remembered:}\quad& T_s\,d_s d_h+T_t T_s\,d_s \\
# \text{general, query first:}\quad& T_t\,d_s d_h+T_t T_s\,d_h \\
# \text{reduced rank:}\quad& T_s\,k\,d_h+T_t\,k\,d_s+T_t T_s\,k \\
# \text{additive, anew:}\quad& T_t\,(d_a d_s+T_s d_a d_h+T_s d_a) \\
# \text{additive, remembered:}\quad& T_s\,d_a d_h+T_t\,(d_a d_s+T_s d_a) \\
# \text{dot, window of }2D+1\text{:}\quad& T_t\,(2D+1)\,d
# \end{aligned}
# $$ (eq-cost)
#
# Each then pays $T_t T_s\, d_h$ for its contexts (in a window, $T_t (2D+1)\, d_h$). Here are counts at one
# length, and curves over the length, contexts included; two whole *layers* are counted in a fold below them.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Curves on logarithmic axes: multiplications for one sentence, contexts included, against its length, for four programs. Additive with keys anew at each step is on top throughout; additive with keys remembered, dot, and dot in a window of eleven words follow. All rise with the length; the window's curve is the least steep."}}
# Of itself the counter leaves out products of a matrix and a vector.
BY_VECTOR = {torch.ops.aten.mv: lambda matrix, *_, **__: 2 * math.prod(matrix)}


def multiplications(program, *inputs):
    with FlopCounterMode(display=False, custom_mapping=BY_VECTOR) as counter:
        program(*inputs)
    return counter.get_total_flops() // 2  # a product and a sum count as two


def remembered(score):
    def program(queries, keys):
        projected = score.project_keys(keys)
        return [score.compare(query, projected) for query in queries]

    return program


d, T = 256, 50
queries, keys = torch.randn(T, 1, d), torch.randn(1, T, d)
additive, full, thin = (
    AdditiveScore(d, d, d),
    GeneralScore(d, d),
    ReducedRankScore(d, d, 32),
)
PROGRAMS = {
    "dot": lambda q, k: [dot_score(s, k) for s in q],
    "reduced rank 32, keys remembered": remembered(thin),
    "general, keys remembered": remembered(full),
    "general, query first": lambda q, k: [(s @ full.W) @ k.mT for s in q],
    "general, keys anew at each step": lambda q, k: [full(s, k) for s in q],
    "additive, keys remembered": remembered(additive),
    "additive, keys anew at each step": lambda q, k: [additive(s, k) for s in q],
}
counted = {name: multiplications(p, queries, keys) for name, p in PROGRAMS.items()}
rows = [[name, f"{n:,}", f"{n / counted['dot']:.1f}"] for name, n in counted.items()]
heads = ("score", "multiplications", "dot = 1")
display(ResultTable(heads, rows, "Scores of 50 × 50 words, d = 256, counted"))

lengths = torch.logspace(0.7, 3.3, 50)
contexts = lengths**2 * d
curves = {
    "additive, keys anew": (
        lengths * (d * d + lengths * d * d + lengths * d) + contexts,
        ORANGE,
        "-",
    ),
    "additive, remembered": (
        lengths * d * d * 2 + lengths**2 * d + contexts,
        ORANGE,
        "--",
    ),
    "dot": (lengths**2 * d + contexts, BLUE, "-"),
    "dot, window of 11": (2 * lengths * lengths.clamp(max=11) * d, BLUE, ":"),
}
figure, ax = plt.subplots(figsize=(6.4, 3.8))
for name, (cost, colour, style) in curves.items():
    ax.loglog(lengths, cost, style, color=colour, label=name)
ax.set(xlabel="words in source and in target", ylabel="multiplications")
ax.set_ylim(1e4, 1e12)
name_lines(ax)
plt.show()

# %% tags=["hide-input", "hide-output"] mystnb={"code_prompt_show": "Two whole layers, counted: {type}", "code_prompt_hide": "Hide: two whole layers"}
words = torch.randn(1, T, d)
gru, itself = nn.GRUCell(d, d), SelfAttention(d, 1)


def recurrent(words):
    state = words.new_zeros(1, d)
    for word in words[0]:
        state = gru(word[None], state)


rows = [
    ["self-attention", multiplications(itself, words), "4 T d² + 2 T² d", 1, 1],
    ["recurrent (GRU)", multiplications(recurrent, words), "6 T d²", T - 1, T],
]
rows = [[name, f"{n:,}", *more] for name, n, *more in rows]
heads = (
    "layer",
    "counted",
    "formula",
    "steps from first word to last",
    "sequential steps",
)
ResultTable(heads, rows, "Two layers on one sentence")

# %% [markdown]
# **Remember the projected keys.** Look at *general*: with the keys projected anew at each step it costs about as much as
# the additive score in the same program. The kind of score is not what costs most of the multiplications.
# Doing the same work at every step is. (The additive score's $T_t T_s d_a$ tanhs are not counted.)
#
# <details><summary>And a whole layer?</summary>
#
# A layer of self-attention lets every word look at all words; a recurrent layer goes from word to word
# ([chapter 14](14_self_attention.ipynb) compares the two).
# At $T = 50$ and $d = 256$ products with matrices dominate both; in self-attention the $T^2$ does where $T$
# is far above $d$ (the two are equal at $T = 2d$). The last two columns say how far a signal travels, and how many steps must wait for each
# other.
#
# </details>

# %% [markdown]
# ## All scores at one budget
#
# Which score? These translators differ in the score alone: one encoder (a GRU, 32
# numbers in each direction), Luong's order without input feeding, one readout (its bias starts at the logarithms of
# the words' frequencies, as chapter 6 explains),
# {{ f"{stored['card']['pairs']:,}" }} short pairs of the toy corpus, eight passes over them. "Equal budget" has a
# trap: a small matrix, or a factor before the scores, wants its own learning rate. So each score was tried at three
# or more rates, a factor of three apart, and the one with the best BLEU on validation sentences was kept. Then three
# seeds (of the first weights alone) were
# judged once on the {{ stored["card"]["tested on"] }} test sentences, by BLEU and by the alignment error rate of their links, AER ([chapter 3](03_additive.ipynb)).
#
# ```{predict} scaled-or-not
# ```


# %% tags=["hide-input", "hide-output", "hide-until-scaled-or-not"]
def low_high(score, what, form):
    """Lowest to highest of the seeds, of a measure on the test or another number."""
    found = [{**run, **run["test"]}[what] for run in stored["runs"][score]]
    return f"{min(found):{form}} to {max(found):{form}}"


MODULES = {
    "dot": DotScore(),
    "scaled dot": ScaledDotScore(),  # its division is not counted
    "general": GeneralScore(64, 64),
    "rank 8": ReducedRankScore(64, 64, 8),
    "additive": AdditiveScore(64, 64, 64),
    "location": LocationScore(64, 16),
}
# a sentence of nine positions on each side
short = torch.randn(9, 1, 64), torch.randn(1, 9, 64)
MEASURES = ("bleu", ".1f"), ("perplexity", ".2f"), ("aer", ".2f"), ("entropy", ".2f")

rows = []
for score, module in MODULES.items():
    size = sum(weight.numel() for weight in module.parameters())
    cost = multiplications(remembered(module), *short)
    measures = [low_high(score, *what) for what in MEASURES]
    rows.append([score, f"{size:,}", f"{cost:,}", *measures])
rows.append(["fixed vector", "0", "0", low_high("fixed", "bleu", ".1f"), "", "", ""])
for rule, error in stored["yardsticks"].items():
    rows.append([rule, "", "", "", "", f"{error:.2f}", ""])
heads = (
    "score or rule",
    "weights",
    "products",
    "BLEU",
    "perplexity",
    "AER",
    "normalised entropy",
)
rates = {}
for score, tried in stored["rates"].items():
    rates.setdefault(max(tried, key=tried.get), []).append(score)
chosen = "; ".join(f"{rate} for {', '.join(names)}" for rate, names in rates.items())
note = (
    f"Lowest to highest of three seeds. Learning rates that were chosen: {chosen}. "
    "Weights: those of the score alone. Products: its "
    "multiplications for nine words on each side, keys remembered, contexts left out. "
    "Perplexity: exp of the mean loss per token of the references, true words read. "
    "Normalised entropy: that of a row, over the largest possible; 1 when all weights are "
    "equal, 0 when one has everything. Dot, general, additive, location and the fixed vector are "
    "chapter 4's trainings again, with two scores added: no second test of the five."
)
ResultTable(heads, rows, "All scores on the test sentences", note)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **The plain dot score is above its scaled twin**: BLEU {{ low_high("dot","bleu",".1f") }} against
# {{ low_high("scaled dot","bleu",".1f") }}. The last column hints at why: the scaled twin's weights stay spread out.
# This is a finding about small GRU states, not about Transformers.
# And **all of the scores** are far above the fixed vector: any two of them differ in BLEU by less than half of what
# lies between them and the fixed vector.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# - **Plain and scaled.** Each seed of the plain score is above each of its twin's. Links say the same.
# - **A score with nothing to learn**, the plain dot score, also has a higher BLEU than general and additive, again each seed above each. In links its range overlaps with that of general, in perplexity with those of all scores.
#   Scaled dot and additive overlap in BLEU and links.
# - **Rank 8**, with a quarter of the weights of the general score, overlaps with it in BLEU. Its links are
#   worse. Trained with rank 8 or cut down to it, BLEU overlaps as well.
# - **Location** has the highest BLEU (on validation it overlaps with dot), and its links are worse than those of the dot and the general score.
# - **Links.** On these sentences those of every score beat the diagonal.
#
# </details>
#
# ### What became of the factor? (optional)
#
# The two dot scores differ in one factor, 1/8. Encoder and decoder are trained: could they not undo it, by
# larger states? Here are their states, before and after training:


# %% tags=["hide-input", "nbval-ignore-output"]
def sizes(score, when, what):
    found = [run[when][what] for run in stored["runs"][score]]
    ends = f"{min(found):.2g}", f"{max(found):.2g}"
    return " to ".join(dict.fromkeys(ends))


rows = []
for score in ("dot", "scaled dot"):
    for when in ("before", "after"):
        found = (sizes(score, when, what) for what in ("query", "keys", "scores"))
        rows.append([score, when, *found])
heads = (
    "score",
    "training",
    "component of s",
    "component of h",
    "spread of the scores",
)
title, note = "Root mean squares", "lowest to highest of three seeds"
display(ResultTable(heads, rows, title, note))
experiment_card(stored["card"])

# %% tags=["hide-input", "hide-output"] mystnb={"code_prompt_show": "Five sentences by three of the scores: {type}", "code_prompt_hide": "Hide: five sentences"}
scores = ("dot", "scaled dot", "general")
rows = [
    [pair.source, *(stored["runs"][score][0]["five"][i] for score in scores)]
    for i, pair in enumerate(FIVE)
]
heads = ("English", *scores)
ResultTable(heads, rows, "Five sentences, greedy search, first seed")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# At the start the states are small, about {{ sizes("dot", "before", "keys") }} for each number; there
# is nothing to rein in. Both models make their states larger. But the numbers in a GRU's state cannot be larger than 1, and
# they come close: {{ sizes("scaled dot", "after", "keys") }} in the encoder of the scaled model. The
# spread of its scores ends at {{ sizes("scaled dot", "after", "scores") }}, that of the plain score
# at {{ sizes("dot", "after", "scores") }}. For pointing at one word of nine, the scaled score stays
# soft. This agrees with the bound on the states, but the bound alone does not explain it. A Transformer has matrices $W_Q$ and $W_K$
# before the product, and they have no such limit.
#
# </details>

# %% [markdown]
# ## Where it breaks
#
# **Which $d$?** In a layer with several heads it is the *head's* size, that of its keys. With the model's size the weights begin too flat, and nothing complains.
#
# **Twice.** A scaled score, and then a softmax with a temperature of $\sqrt d$, divide by $d$.
#
# **After the mask.** Scaling comes first. A pad blocked with a score of $-100$ that is then divided by 32
# has about $-3$, and gets weight. With $-\infty$ the order is harmless.
#
# **Keys remembered for another sentence.** A module that keeps its projected keys in an attribute uses old
# keys for the next batch, without an error:


# %%
class Forgetful(GeneralScore):
    """Remembers keys in itself: the common mistake."""

    known = None

    def forward(self, query, keys):
        if self.known is None:
            self.known = self.project_keys(keys)
        return self.compare(query, self.known)


score, query = Forgetful(4, 4), torch.randn(1, 4)
one, other = (score(query, keys) for keys in torch.randn(2, 1, 5, 4))
assert torch.equal(one, other)  # another sentence, the same scores

# %% [markdown]
# A changed weight is not noticed either. The package hands the memory to the caller, as a value,
# `memory = attention.remember(keys)`, and takes it back with each query. Remember anew for each new batch and
# after each update of the weights.
#
# **Reading the rows of $U$.** For any rotation $R$, with $R^\top R = I$, $RU$ and $RV$ give the same scores as $U$
# and $V$, since $(RUs)^\top (RVh) = (Us)^\top R^\top R\,(Vh)$. So a single row of $U$ means nothing by itself.
#
# ## Questions that readers ask
#
# <details><summary>I drew two short vectors, and the variance was not d. Why?</summary>
#
# A variance measured from $n$ products is itself random. For products that are nearly normal its standard
# error is about $\sqrt{2/n}$ of its value: with 100 pairs 14%, with 20,000 pairs 1%. Two vectors are one
# draw. (A product of *few* components is not normal: of normal numbers it takes more draws, of signs fewer.)
#
# </details>
#
# <details><summary>Why the root of d, and not d, or log d, or the two lengths?</summary>
#
# The standard deviation should be 1, and it is $\sqrt d$ under the assumptions above. Dividing by $d$ makes
# the scores vanish as $d$ grows; dividing by $\log d$ lets them grow. Dividing by both lengths gives the
# cosine, between $-1$ and $1$. It is used with a factor of its own, learned or chosen. Without
# one it is soft; in the figure it is *length 1*.
#
# </details>

# %% [markdown]
# <details><summary>Could the model not learn the factor by itself?</summary>
#
# If there are matrices before the product, yes: with $U$ larger by a factor, every score is larger by that
# factor. A fixed factor in the score then changes only where training starts and how large its steps are, not
# what can be expressed. Without matrices, what can be expressed depends on how large the states can get.
#
# </details>
#
# <details><summary>Why do keys and values differ in a Transformer, and not in Bahdanau’s model?</summary>
#
# Nothing forces either. One encoder state can serve for both, if part of it says where it should be found
# and part what it has to say. Two matrices let a head choose the parts freely. A recurrent decoder has
# one "head" (one pair of projections with its own values; chapter 13 has several) and large states. A Transformer's head has a small space, where the two may get in each
# other's way.
#
# </details>

# %% [markdown]
# <details><summary>Which score should I use?</summary>
#
# Read the table above with its limits. For recurrent states of equal size begin with the plain dot product, and measure:
# it has no weights, and in this one grammar a higher BLEU than any other score here that compares a query with keys.
# If the sizes differ, take general, or a reduced rank. If queries and keys are
# normalised and then multiplied by matrices, divide by the root, and look at the spread. Give each its own learning
# rate, or you compare rates. And do not carry the ranking of the table to other models: in [the
# capstone](20_study.ipynb), with other readouts, orders and sizes, the additive score is ahead of general in mean
# BLEU in most settings.
#
# </details>
#
# ## Check yourself
#
# ```{self-check} fourth-power
# ```
#
# ```{self-check} saved-numbers
# ```
#
# ```{self-check} unit-factor
# ```
#
# ```{self-check} rank-of-head
# ```
#
# ```{self-check} after-update
# ```

# %% [markdown]
# ## What you now know
#
# - The product of two independent vectors with $d$ components of variance 1 has variance $d$; for vectors of
#   length 1 it is $1/d$. Measure the spread of your scores before you scale.
# - In a small task of recall, the factor decided which learning rates work. In a GRU translator, whose
#   states are bounded, dividing left the weights soft.
# - A score of rank $k$ takes $k(d_s + d_h)$ numbers, and is the score of one attention head. Trained at rank 2
#   it sent each of twelve words to the next; full matrices, trained as products of two and then cut down to rank 2, did not.
#   A translator's matrix, cut down from rank 64 to 8, lost {{ f"{min(lost):.1f}" }} to {{ f"{max(lost):.1f}" }} BLEU.
# - Projecting keys anew at each step costs most of the multiplications. Remember the projected keys.
#
# **Now you.** [The exercise](../exercises/05_scaled.ipynb) has you choose scales, cut matrices and
# count.
#
# **Next.** The score is one part of a step. The next chapter cuts a whole decoder open.
#
# ## Sources
#
# - Scaled dot-product attention, its matrix form and the argument of the variance: *Attention Is All You
#   Need* {cite:p}`vaswani2017`, section 3.2.1, equation 1 and footnote 4.
# - The general score: {cite:t}`luong2015`, section 3.1. Projecting keys once: {cite:t}`bahdanau2015`,
#   appendix A.1.2.
# - The nearest matrix of a given rank: {cite:t}`eckart1936`. The captions: Multi30k {cite:p}`elliott2016`.
