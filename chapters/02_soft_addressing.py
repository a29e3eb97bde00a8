# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 85
#     optional: 20
#     covers: [F-02, F-03, F-04, F-19, F-26, V-02, D-02, P-01]
# ---

# %% [markdown]
# # 2. Soft addressing: queries, keys, values
#
# A dictionary returns the one value whose key matches exactly, or nothing at all. In this chapter
# you soften that rule until every query gets an answer, every answer is a mixture, and a network
# can learn what to ask for.
#
# **You need** PyTorch tensors, the exponential function, and what a gradient is. **This chapter covers** queries,
# keys and values; softmax, its Jacobian and its numerics; temperature; masks, and ways to get them
# wrong; entropy; hard versus soft. Sections marked *optional* are for a second reading.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Ask Python's `{"cat": 10, "sat": 20}` for `"cat"` and you get 10. Ask it for `"kitten"` and you get a
# `KeyError`: keys are compared for *equality*. A network
# could not use such a memory. It asks with a vector of real numbers, which hardly ever equals a stored
# vector to the last digit. And an error does not tell the network how to ask better.
#
# Here is a memory of four entries that always answers. Each entry has a **key**, an arrow in the plane,
# and a **value**, a number. You ask with a **query**, the orange arrow, and get a mixture of the four
# values: the better a key fits the query, the larger the **attention weight**, or *weight*, of its value. Tick *hard* and it
# behaves more like a dictionary: it returns the value of the best key alone.
#
# Answer the question in the figure first. Then move the query.

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from seqattn import dot_score
from seqattn.data import TINY
from seqattn.plots import (
    BLUE,
    CONTEXT,
    GREY,
    ORANGE,
    QUERY,
    VALUES,
    ResultTable,
    name_lines,
    plot_masked,
    plot_sum_of_arrows,
    use_style,
)
from seqattn.widgets import KernelSmoother, SoftLookup, SoftmaxTemperature, Unrolled

use_style()
torch.set_printoptions(precision=3, sci_mode=False)

SoftLookup()

# %% [markdown]
# <details><summary>What to try</summary>
#
# - With *hard* ticked, press the arrow keys on the angle: the answer jumps between four values. Untick
#   *hard*: the answer glides.
# - Set the length of the query to 0. The query then fits every key equally, and the answer is the mean,
#   25.
# - Set the length to 1.2 again and lower the temperature to 0.05. The soft answer becomes the hard one, except close to a jump.
#
# </details>
#
# One formula, **attention**, does all this in three steps: score, normalise, sum.

# %% [markdown]
# ## By hand
#
# Three source words have encoder states $h_i$ with two numbers each, and a decoder, about to produce a
# word, has the state $s = (0.5, 1.0)$. (The whole book uses these numbers.) The decoder state is the
# query; each encoder state serves both as key, to be compared, and as value, to be mixed. Compare by the
# dot product, the simplest comparison there is. Four
# columns lead from states to weights:
#
# | word | state $h_i$ | score $e_i = s^\top h_i$ | exponential $\exp(e_i)$ | weight $\alpha_i$ |
# |---|---|---|---|---|
# | cat | $(1.0, 0.5)$ | $0.5\cdot 1.0 + 1.0\cdot 0.5 = 1.00$ | 2.72 | $2.72/6.68 = 0.41$ |
# | sat | $(-0.5, 1.5)$ | $0.5\cdot(-0.5) + 1.0\cdot 1.5 = 1.25$ | 3.49 | $3.49/6.68 = 0.52$ |
# | mat | $(0.5, -1.0)$ | $0.5\cdot 0.5 + 1.0\cdot(-1.0) = -0.75$ | 0.47 | $0.47/6.68 = 0.07$ |
# | | | | 6.68 | 1.00 |
#
# The answer, called the **context** or **context vector**, is the mixture $c = 0.41\,(1.0, 0.5)$ $+\ 0.52\,(-0.5, 1.5)$
# $+\ 0.07\,(0.5, -1.0)$ $\approx (0.18, 0.92)$. A hard lookup would have returned the state of
# *sat* alone. Check the columns:

# %%
q, H = TINY.query.float(), TINY.keys.float()  # a batch of one sentence

scores = dot_score(q, H)
weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
context = sum(weights[0, i] * H[0, i] for i in range(3))
print("scores ", scores[0])
print("weights", weights[0])
print("context", context)

# %% [markdown]
# ### What each value adds
#
# A weighted sum can be drawn. Shorten each state's arrow to its weight and lay the three pieces tip to
# tail. The context is where the last piece ends.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Plane with three faint arrows from the origin: cat to the right, sat up and to the left, mat down and to the right. From the origin a piece of the arrow of cat, 0.41 of it, then from its tip 0.52 of that of sat, then a short piece, 0.07 of that of mat. The end of the last piece is marked context (0.18, 0.92)."}}
plot_sum_of_arrows(weights[0], H[0], TINY.words)
plt.show()

# %% [markdown]
# *Sat* pulls the context up and to the left, *cat* pulls it to the right, and *mat* hardly counts. The
# context lies between the states; here it is nearest to *sat*, which has the largest weight.

# %% [markdown]
# ### Query, key and value in a translator
#
# The Transformer, a translator with attention in place of recurrence, made the words *query*, *key* and *value*
# standard in 2017; {cite:t}`miller2016` used them before. The roles are older than the words. The matrices in
# the table are learned:
#
# | role | asks or tells | in {cite:t}`bahdanau2015` | in {cite:t}`vaswani2017` |
# |---|---|---|---|
# | query | what does this step look for? | $s_{t-1}$, times $W_q$ | a state times a matrix |
# | key | what can position $i$ be found by? | $h_i$, times $W_k$ | a state times a second one |
# | value | what does position $i$ hand over? | $h_i$ itself | a state times a third |
#
# Here they are at work in the small translator of chapter 1, which now has attention. It is about to
# write *noir*: it scores the keys against its query, normalises, and mixes the values. Every step of the decoder does this
# again, with another query. (The score is that of the next chapter.)

# %% tags=["hide-input"]
LIT = ("encoder", "attention", "decoder")
Unrolled(
    phases=["decode"], lit=LIT, event=10, title="Query, keys and values in a translator"
)

# %% [markdown]
# Why should key and value differ, if here both are $h_i$? Because they do different jobs. To be *found*,
# the state of *bank* needs its part of speech and its position in the sentence. To be *used*, it needs the
# meaning. In a recurrent translator one vector can do both, since $W_k$ selects what to compare. In a
# Transformer every token is query, key and value at once, and three matrices keep the roles apart.

# %% [markdown]
# ## Derive: from one value to a mixture
#
# Let $q$ be a query, and let entry $i$ of a memory of $n$ entries have key $k_i$, value $v_i$ and score
# $e_i$, a number that says how well $k_i$ fits $q$. Hard lookup returns $v_j$ for the $j$ with the
# largest score. Write that as a sum: $\sum_i a_i v_i$ with $a_j = 1$ and $a_i = 0$ elsewhere. Now there are weights
# to soften. Allow any weights that are not negative and sum to
# one:
#
# $$
# \begin{aligned}
# \context{c} &= \sum_{i=1}^{n} \weights{\alpha_i} \values{v_i} \\
# \alpha_i &\ge 0, \qquad \sum_{i=1}^{n} \alpha_i = 1
# \end{aligned}
# $$ (eq-soft-lookup)
#
# The set of such weights is called the *simplex*; its corners are the hard lookups. A weighted sum
# of this kind is an average, so $c$ never leaves the shape that the values span (their convex
# hull).
#
# In a translator the values are the encoder states $h_i$, and there is one row of weights for each
# target step $t$. Stack the $T_s$ states as rows of a matrix $H$ and the $T_t$ rows of weights as
# rows of $A$, and all contexts are one product:
#
# $$
# \begin{aligned}
# c_t &= \sum_{i=1}^{T_s} \alpha_{ti} h_i \quad\text{for each } t \\
# C &= A H
# \end{aligned}
# $$ (eq-context-matrix)
#
# *Shapes:* $A$ is $(T_t \times T_s)$, $H$ is $(T_s \times d_h)$, so $C$ is $(T_t \times d_h)$: one
# context for each target step.

# %% [markdown]
# ### From scores to weights
#
# Scores can be any real numbers. Weights must not be negative and must sum to one. The exponential makes
# every number positive and keeps the order; dividing by the sum does the rest. This is the *softmax*,
# $\alpha = \mathrm{softmax}(e)$:
#
# $$ \weights{\alpha_i} = \frac{\exp(\scores{e_i})}{\sum_{j=1}^{n} \exp(\scores{e_j})} $$ (eq-softmax)
#
# Why the exponential? Squares would be positive too, but then a score of $-3$ would weigh as much as one
# of 3. The exponential turns differences into ratios:
# $\alpha_i / \alpha_j = \exp(e_i - e_j)$. So only *differences* of scores count. Add the same
# number $b$ to all scores, and $\exp(b)$ cancels:
#
# $$
# \begin{aligned}
# \frac{\exp(e_i + b)}{\sum_j \exp(e_j + b)}
# &= \frac{\exp(b)\exp(e_i)}{\exp(b)\sum_j \exp(e_j)} \\
# &= \frac{\exp(e_i)}{\sum_j \exp(e_j)}
# \end{aligned}
# $$ (eq-shift-invariance)
#
# That decides how to compute a softmax. A 32-bit float overflows at $\exp(89)$ and becomes zero below
# about $\exp(-104)$.
#
# ```{predict} overflow
# ```


# %% tags=["hide-output", "hide-until-overflow"]
def naive_softmax(e):
    return e.exp() / e.exp().sum(-1, keepdim=True)


for b in (0, 100, -150):
    e = scores[0] + b
    print(f"{b:4d} added, naive  ", naive_softmax(e))
    print(f"{b:4d} added, shifted", naive_softmax(e - e.max()))

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Typed exactly as written, the formula gives NaN both times: it divides infinity by infinity, or zero by
# zero. With the shift it gives the weights of the first line again.
#
# </details>
#
# **Subtract the largest score first.** With $b = -\max_j e_j$ the largest exponential is $\exp(0) = 1$, and the
# sum lies between 1 and
# $n$. Written with logarithms the same trick is called *log-sum-exp*:
#
# $$
# \begin{aligned}
# \log\alpha_i &= e_i - \mathrm{LSE}(e) \\
# \mathrm{LSE}(e) &= \log\sum_j \exp(e_j) \\
# &= m + \log\sum_j \exp(e_j - m), \quad m = \max_j e_j
# \end{aligned}
# $$ (eq-log-sum-exp)
#
# Every softmax in PyTorch does this for you.

# %% [markdown]
# ### How a score moves the weights
#
# To learn, a network needs the derivative of each weight with respect to each score. Let
# $Z = \sum_j \exp(e_j)$, so that $\alpha_i = \exp(e_i) / Z$, and let $\delta_{ij}$ be 1 if $i = j$ and 0
# otherwise. The quotient rule gives, entry by entry and then as a matrix,
#
# $$
# \begin{aligned}
# \frac{\partial \alpha_i}{\partial e_j}
# &= \frac{\delta_{ij} \exp(e_i)\, Z - \exp(e_i) \exp(e_j)}{Z^2} \\
# &= \delta_{ij}\,\alpha_i - \alpha_i\,\alpha_j \\
# \frac{\partial \alpha}{\partial e} &= \mathrm{diag}(\alpha) - \alpha\alpha^\top
# \end{aligned}
# $$ (eq-softmax-jacobian)
#
# Read it off: raising a score raises its own weight at the rate $\alpha_i(1-\alpha_i)$ and lowers every
# other weight in proportion to its size. Each column sums to zero, because the weights still sum to one
# after a score has moved. On paper, for *cat*:
# $0.41 \cdot (1 - 0.41) = 0.24$. PyTorch must find the same matrix:

# %%
alpha = weights[0]
jacobian = torch.autograd.functional.jacobian(lambda e: e.softmax(-1), scores[0])
on_paper = alpha.diag() - torch.outer(alpha, alpha)
torch.testing.assert_close(jacobian, on_paper)
print(jacobian)

# %% [markdown]
# ### Which positions may take part
#
# The sentences of a batch have different lengths, and the short ones are filled up with padding. A pad is
# not a word and must get no weight. A **mask** says so: $m_i$ is 1 where position $i$ may be attended and
# 0 where it may not. Only positions of the first kind enter the sum:
#
# $$ \alpha_i = \frac{m_i \exp(e_i)}{\sum_{j} m_j \exp(e_j)} $$ (eq-masked-softmax)
#
# The usual way to compute it is to set masked *scores* to $-\infty$, since $\exp(-\infty) = 0$. If all $m_i$ are 0,
# that gives NaN, as value and as gradient. `masked_softmax` sets the scores of such a row to 0 before the softmax and
# its weights to 0 after it.
#
# A mask may differ from query to query: a *causal mask* lets query $t$ attend to the positions up to $t$ alone. Where
# two masks apply, a position must be open in both.
#
# In most models of these chapters attention takes these four steps, for query $q_t$ at step $t$:
#
# $$
# \begin{aligned}
# \text{score:} && \scores{e_{ti}} &= \mathrm{score}(\query{q_t}, \keys{k_i}) \\
# \text{mask:} && \scores{e_{ti}} &\leftarrow -\infty \text{ where } m_i = 0 \\
# \text{normalise:} && \weights{\alpha_{ti}} &= \frac{\exp(\scores{e_{ti}})}{\sum_j \exp(\scores{e_{tj}})} \\
# \text{sum:} && \context{c_t} &= \sum_i \weights{\alpha_{ti}}\, \values{v_i}
# \end{aligned}
# $$ (eq-pipeline)

# %% [markdown]
# ## Ten lines of PyTorch
#
# A batch of $B$ sentences, $T$ queries for each and $S$ positions: scores are `(B, T, S)`, values
# `(B, S, d)`, the mask `(B, S)`. (T and S in code are $T_t$ and $T_s$ in formulas.) The next chapters are
# about the first step, the score. Here are the other three by hand and from the package; the two
# must agree.


# %%
def attend_by_hand(scores, values, mask):
    # No weight where the mask is False: exp(-inf) = 0.
    scores = scores.masked_fill(~mask[:, None, :], -torch.inf)
    scores = scores - scores.amax(-1, keepdim=True)  # exp cannot overflow
    weights = scores.exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ values, weights  # C = A H


# %%
from seqattn import attend, masked_softmax, padding_mask

torch.manual_seed(0)
e, values = torch.randn(2, 3, 5), torch.randn(2, 5, 7)
mask = padding_mask(torch.tensor([5, 2]))
ours = attend(e, values, mask)
torch.testing.assert_close(tuple(ours), attend_by_hand(e, values, mask))
torch.testing.assert_close(ours.weights, masked_softmax(e, mask))

# %% [markdown]
# ## See it: softmax, temperature, mask
#
# Divide all scores by a number $\tau > 0$, the *temperature*, before the softmax. It decides how sharp
# the weights are:
#
# $$ \alpha_i(\tau) = \frac{\exp(e_i/\tau)}{\sum_j \exp(e_j/\tau)} $$ (eq-temperature)
#
# The figure applies it to "The cat sat on the mat", with invented scores for a translator about to write
# *chat*. At the end stand two pads that nobody has masked yet; their score is 0. The dashed line, *entropy*, says how
# spread out the weights are, from 0 (one position) to 1 (all equal); *How spread out?* below defines it. Commit to an
# answer, then untick the pads.

# %% tags=["hide-input"]
SoftmaxTemperature(
    scores=[0.8, 2.5, 1.2, -0.9, -0.3, 0.5, 0.0, 0.0],
    labels=["The", "cat", "sat", "on", "the", "mat", "pad 1", "pad 2"],
)

# %% [markdown]
# <details><summary>What to try</summary>
#
# - Unmask and mask the pads: all six words change by one common factor. A score of 0 is a score
#   like any other: $\exp(0) = 1$, more than *on* and *the* have. Mask everything: all weights are
#   0, and the sum is 0.
# - Take the temperature down to 0.05: *cat* gets everything. Up to 20: nearly equal weights. The
#   order never changes.
# - Raise the score of *on* to that of *cat* and lower the temperature again: the two share equally.
#
# </details>
#
# Both limits follow from one ratio. Let $e_\star$ be the largest score, $\alpha_\star$ its weight,
# and $e_i$ any smaller one:
#
# $$
# \begin{aligned}
# \frac{\alpha_i(\tau)}{\alpha_\star(\tau)} &= \exp\!\Big(\!-\frac{e_\star - e_i}{\tau}\Big) \\
# \tau \to 0:\quad &\to 0 \\
# \tau \to \infty:\quad &\to \exp(0) = 1
# \end{aligned}
# $$ (eq-temperature-limits)
#
# In the cold limit only the best positions keep any weight (if several tie, they share it): this is
# argmax, the hard lookup. In the hot limit all weights become equal, $1/n$: this is the plain mean, which
# has forgotten the query.

# %% [markdown]
# ## Measure it: can the query learn?
#
# **Soft addressing learns because its weights are not saturated**: they are not all close to 0 and 1. With temperature
# $\tau$, the matrix of {eq}`eq-softmax-jacobian`
# becomes $\frac{1}{\tau}\big(\mathrm{diag}(\alpha) -
# \alpha\alpha^\top\big)$. At the hot end the factor $1/\tau$ makes it small. At the cold end
# the weights saturate: if the best score leads by $\Delta$, each other weight is at most
# $\exp(-\Delta/\tau)$ times the best one ({eq}`eq-temperature-limits`), so every $\alpha_i(1-\alpha_i)$
# is at most $(n-1)\exp(-\Delta/\tau)$, which falls faster than $1/\tau$ grows.
#
# In the limit, the hard lookup, the gradient is zero wherever it exists. PyTorch does not even offer one: the
# result of `argmax` is not connected to its input.

# %%
query = q.clone().requires_grad_()
hard = H[0, dot_score(query, H).argmax(-1)]
print("hard lookup passes a gradient to the query:", hard.requires_grad)

# %% [markdown]
# Now an experiment. There are 500 memories of 8 entries with random keys of 16 numbers. Each query starts
# at random and has to learn to fetch entry 0, by 100 training steps on the squared error of
# its *answer*. Success is measured in the same way for all: is key 0 the best match at the end?
# In the chart, the lines are means over 500 memories; the bands reach from the lowest to the highest of five groups of
# a hundred.
#
# Two ways to take steps are compared. Plain gradient descent (step size 1) moves against the gradient.
# *Adam* (step size 0.01) first divides each gradient by its own running size, so that even small
# gradients make steps of full size.
#
# ```{predict} adam-and-temperature
# ```


# %%
def found(temperature, optimizer, steps=100):
    torch.manual_seed(0)
    keys, values = torch.randn(500, 8, 16), torch.eye(8).expand(500, 8, 8)
    query = (0.3 * torch.randn(500, 16)).requires_grad_()
    update = optimizer([query])
    for _ in range(steps):
        scores = dot_score(query, keys)
        context, _ = attend(scores, values, temperature=temperature)
        update.zero_grad()
        (context - values[:, 0]).square().sum().backward()
        update.step()
    right = dot_score(query, keys).argmax(-1) == 0
    return 100 * right.view(5, 100).float().mean(-1)  # five shares, in %


# %% tags=["hide-input", "hide-output", "hide-until-adam-and-temperature"] mystnb={"image": {"alt": "Queries that found their entry, in percent, against the temperature from 0.001 to 1000 on a logarithmic axis. Gradient descent: about 15 percent at the left, as before training, rising to 100 between 1 and 30, falling back to about 20 at the right. Adam: much the same up to 0.01, then ahead, and near 100 percent from 1 up to the right end."}}
taus = [1e-3, 1e-2, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000]
ways = {
    "gradient descent": lambda p: torch.optim.SGD(p, lr=1.0),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
}
found_by = {}
figure, ax = plt.subplots()
for colour, (name, optimizer) in zip((BLUE, ORANGE), ways.items()):
    runs = found_by[name] = torch.stack([found(tau, optimizer) for tau in taus])
    ax.plot(taus, runs.mean(-1), color=colour, label=name)
    ax.fill_between(taus, runs.amin(-1), runs.amax(-1), color=colour, alpha=0.2, lw=0)
before = found(1.0, ways["Adam"], steps=0).mean()
ax.axhline(before, color=GREY, ls=":")
ax.text(
    1, before - 3, "before training; hard lookup", color=GREY, ha="center", va="top"
)
ax.set(
    xscale="log", ylim=(0, 105), xlabel="temperature τ", ylabel="found their entry, %"
)
name_lines(ax)
plt.show()


def largest_weight(temperature):
    torch.manual_seed(0)
    keys, query = torch.randn(500, 8, 16), 0.3 * torch.randn(500, 16)
    return (dot_score(query, keys) / temperature).softmax(-1).amax(-1).mean().item()


def first_gradients(temperature):  # the largest entry for each query
    torch.manual_seed(0)
    keys, values = torch.randn(500, 8, 16), torch.eye(8).expand(500, 8, 8)
    query = (0.3 * torch.randn(500, 16)).requires_grad_()
    context, _ = attend(dot_score(query, keys), values, temperature=temperature)
    (context - values[:, 0]).square().sum().backward()
    return query.grad.abs().amax(-1)


# %% [markdown]
# <details><summary>What the output shows</summary>
#
# On the right, gradients are small but point the right way: Adam rescales them and succeeds. At the far left, the
# weights are saturated before training begins, and neither optimiser succeeds.
#
# </details>
#
# <details><summary>How sure is this?</summary>
#
# At $\tau = 0.1$ the largest of a query's
# eight weights is {{ f"{largest_weight(0.1):.2f}" }} on average. At 0.001 nine queries of ten get a
# gradient that is exactly zero in 32 bits, and at 0.01 most are below $10^{-8}$, which Adam adds to its divisor. The
# share that is right stays near the {{ f"{before:.0f}" }}% of the untrained queries, which is luck (one in eight is
# 12.5%). Size is not the whole story: in 64 bits and without that constant most queries still fail.
#
# </details>
#
# To keep the weights from saturating at the start of training, the Transformer divides its dot products by $\sqrt{d}$,
# where $d$ is the number of entries of a key ([chapter 5](05_scaled.ipynb)).
#
# Beside soft lookup and argmax there is *hard attention*: draw one position at random with probabilities $\alpha_i$. Then the average *loss* has a gradient, but it has to be estimated from samples ([chapter 12](12_hard.ipynb)).

# %% [markdown]
# ## Where it breaks: masks
#
# **Mask the scores of the keys, before the softmax, with $-\infty$.** The softmax gives every position a positive
# weight, pads included. What harm does that do? Pad the
# example with zero vectors, whose scores are 0, and watch the weights and the context:

# %%
print("pads  weight on pads  context without a mask")
for pads in (0, 5, 15, 45):
    states = F.pad(H, (0, 0, 0, pads))
    e, real = dot_score(q, states), padding_mask(torch.tensor([3]), 3 + pads)
    none, masked = attend(e, states), attend(e, states, real)
    # With a mask, padding changes nothing:
    torch.testing.assert_close(masked.context[0], context)
    leak = none.weights[~real].sum()
    print(f"{pads:4d}  {leak:14.2f}  {none.context[0]}")

# %% [markdown]
# Without a mask, 45 pads take nearly nine tenths of the weight from three words, and the context
# shrinks towards zero. The translation of a sentence then depends on how long its neighbours in the
# batch are. With a mask on the scores the context is the same for 0 pads and for 45.
#
# There are many ways to get a mask nearly right. These three run without an error:


# %%
def masked_late(e, real):  # the softmax first, then a small constant against 0/0
    weights = e.softmax(-1) * real[:, None]
    return weights / (weights.sum(-1, keepdim=True) + 1e-13)


def filled_with_zero(e, real):  # multiplies the scores
    return (e * real[:, None]).softmax(-1)


def mask_added(e, real):  # a 0/1 mask where one of 0 and -inf belongs
    return (e + real[:, None].float()).softmax(-1)


# %% [markdown]
# Take four sentences of 4, 3, 2 and 1 words, with four queries each. The pictures show the third
# sentence: two words and two pads, with one row for each query. Hatched columns are pads; a good picture
# has 0 in all hatched cells and rows that sum to 1, like the top one, of `masked_softmax`. On the left the pads' scores are 0; on the right they
# are 35.
#
# ```{predict} wrong-on-the-right
# ```


# %% tags=["hide-input", "hide-output", "hide-until-wrong-on-the-right"] mystnb={"image": {"alt": "Grids of weights, four queries by two words and two pads, pads hatched. masked_softmax: no weight on pads, rows sum to 1, for both pad scores. masked_late: right where pads score 0; where they score 35 all weights are near zero. filled_with_zero: for both pad scores a good part of the weight is on the pads. mask_added: some weight on the pads where they score 0, all of it where they score 35."}}
def four_sentences(pad_score, left=False):
    """Random scores (4, 4, 4) and a mask; pads have the score given, right or left."""
    real = padding_mask(torch.tensor([4, 3, 2, 1]))
    real = real.flip(-1) if left else real
    e = torch.randn(4, 4, 4, generator=torch.Generator().manual_seed(0))
    return e.masked_fill(~real[:, None], pad_score), real


def show(*ways):
    _, axes = plt.subplots(len(ways), 2, figsize=(8.4, 2.7 * len(ways)))
    for (left, right), way in zip(axes, ways):
        for ax, pad_score in ((left, 0.0), (right, 35.0)):
            e, real = four_sentences(pad_score)
            title = f"{way.__name__}\npads score {pad_score:.0f}"
            plot_masked(way(e, real)[2], real[2], ax=ax, title=title)
    plt.show()


show(masked_softmax, masked_late, filled_with_zero, mask_added)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **Masked late**: on paper this *is* {eq}`eq-masked-softmax`, since the softmax's denominator cancels
#   when you divide again. In floating point it fails when a pad's score is far above those of the words:
#   the softmax has made the words' weights tiny, smaller than the constant in the sum. (Without the
#   constant it fails too, once the pad leads by about 104: 0/0. And if you do not divide again, the
#   weights of the words do not sum to 1.)
# - **Filled with zero**: a score of 0 is a score like any other, and gets its weight.
# - **A 0/1 mask, added**: the words' scores gain one point, and the pads' stay as they were. This hides
#   nothing.
#
# </details>
#
# A mistake of the first kind was found in AllenNLP in 2017 (pull request 437 of that project). Three
# scores are enough to see it: 1, 1 and 35, with the third one masked.

# %% tags=["hide-output", "hide-until-wrong-on-the-right"]
e, real = torch.tensor([[[1.0, 1.0, 35.0]]]), torch.tensor([[True, True, False]])
late_weights = masked_late(e, real)[0, 0]
print("masked late:   ", late_weights)
print("masked_softmax:", masked_softmax(e, real)[0, 0])

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Each word gets {{ f"{late_weights[0]:.3f}" }} where 0.5 is right. Nothing warns: the pad has weight 0, and
# no number is NaN.
#
# </details>

# %% [markdown]
# ### The test that finds them all
#
# "Append pads, and the context must not change" is a good test only if the pads are **hostile**. A
# friendly pad, such as a vector of zeros, hides the mistakes that only a large score reveals. A pad's
# score can be anything: nobody trained the network on pads. So let it be 0, 35, 100,000, infinite and
# NaN, and put the pads after the words and before them. The right answer needs no mask at all: cut the
# pads off.


# %%
def right_with(weigh, pad_score, left):
    e, real = four_sentences(pad_score, left)
    weights = weigh(e, real)
    for b in range(4):
        words = e[b][:, real[b]].softmax(-1)  # the words alone, without a mask
        if not torch.allclose(weights[b][:, real[b]], words, atol=1e-4):
            return False
    return bool((weights * ~real[:, None] == 0).all())


# %%
PADS, passed = (0.0, 35.0, 1e5, torch.inf, torch.nan), {}


def table_of(*ways):
    rows = []
    for way in ways:
        both = [
            all(right_with(way, pad, left) for left in (False, True)) for pad in PADS
        ]
        passed[way.__name__] = both
        rows.append((way.__name__, *("passes" if ok else "–" for ok in both)))
    heads = ("way", *(f"{pad:,g}" for pad in PADS))
    return ResultTable(heads, rows, "Right weights, by the score of the pads")


table_of(masked_softmax, masked_late, filled_with_zero, mask_added)

# %% [markdown]
# With friendly pads, one of the three wrong ways passes. None passes with all the hostile pads. Only `masked_softmax`
# passes every test. It *replaces* the scores of the pads by
# $-\infty$, before the softmax.
#
# <details><summary>To test code that others wrote</summary>
#
# Do more: call it twice with
# different masks, since a program may keep an earlier one; call it with a batch of one; and check that it has not
# changed its inputs.
#
# </details>
#
# One thing no mask on scores can do: a weight of 0 does not protect against a NaN in a
# *value*, because $0 \cdot \mathrm{NaN}$ is NaN. The states at pads must be finite numbers, or must be
# replaced as well, as `seqattn.attend` does.

# %% [markdown]
# ### Three more wrong masks (optional)
#
# These mask something else, or not enough:


# %%
def rows_masked(e, real):  # queries in place of keys
    return e.masked_fill(~real[:, :, None], -torch.inf).softmax(-1)


def broadcast(e, real):  # (B, S) against (B, T, S): sentence b masks query b
    return e.masked_fill(~real, -torch.inf).softmax(-1)


def minus_10_000(e, real):  # added, and finite
    return (e - 10_000.0 * ~real[:, None]).softmax(-1)


# %% [markdown]
# With as many queries as sentences and as positions, a mask of the wrong shape broadcasts without an error:

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grids of weights as before. rows_masked: rows 1 and 2 have weight on the pads, rows 3 and 4 are NaN. broadcast: row 1 has weight on the pads, each further row loses one more position, whatever sentence it belongs to. minus_10_000: no weight on the pads, for both pad scores."}}
show(rows_masked, broadcast, minus_10_000)

# %% [markdown]
# - **Rows for columns.** A padding mask says which *keys* may be attended: it blanks columns, never rows. If you
#   blank a row, all its scores are
#   $-\infty$, and the result is NaN.
# - **A mask that fits by accident.** PyTorch lines up axes from the right, so a `(B, S)` mask against
#   `(B, T, S)` scores is read as *one row for each query*. For one sentence it is right. For several sentences it runs and is wrong if there are as many queries as sentences, or a single query; any other number of queries gives an error. (Row 4 of
#   `broadcast` has lost a real word.) Write `mask[:, None]`. `masked_softmax` does so itself: it reads
#   two axes as `(B, S)` first, so hand it a mask of shape `(T, S)` as `mask[None]`.
# - **Minus ten thousand** looks right in both pictures. The hostile pads find it out:

# %%
table_of(rows_masked, broadcast, minus_10_000)

# %% [markdown]
# ### Dropped weights
#
# *Dropout* sets some numbers to 0 at random during training, so that a network cannot rely on any single
# number. On attention weights it goes *after* the softmax: each weight is dropped with probability $p$,
# and the others are divided by $1 - p$. A row then sums to 1 only on average. That is intended:
# normalising again would undo part of the noise. In evaluation nothing is dropped, so look at weights there.

# %%
torch.manual_seed(0)
dropped = F.dropout(weights.expand(20_000, 3), p=0.2)
print("one row:     ", dropped[0], "sum", f"{dropped[0].sum():.2f}")
print("mean of rows:", dropped.mean(0), "sum", f"{dropped.sum(-1).mean():.2f}")
assert torch.equal(F.dropout(weights, p=0.2, training=False), weights)

# %% [markdown]
# Now you have all that the first graded exercise asks for:
# [softmax, temperature, masks](../exercises/02_softmax.ipynb). You can do it here, or read on.

# %% [markdown]
# ## How spread out?
#
# A row of weights can rest on one position or on all of them. One number says how spread out it is: the
# **entropy** $\mathcal{H}$, with $0 \log 0 = 0$. It is 0 for
# a hard lookup and $\log n$ for equal weights over the $n$ positions that may be attended.
#
# To compare sentences of different lengths, divide by $\log n$: the normalised entropy runs from 0 to 1. (A single position, $n = 1$, gives $0/0$; we set it to 0.)
# The exponential of the entropy reads as a number of *effective positions*, from 1 to $n$: it is $k$ for
# $k$ equal weights.
#
# $$
# \begin{aligned}
# \mathcal{H}(\alpha) &= -\sum_i \alpha_i \log \alpha_i \\
# \mathcal{H}_{\text{norm}} &= \mathcal{H}(\alpha) / \log n \\
# n_{\text{eff}} &= \exp(\mathcal{H}(\alpha))
# \end{aligned}
# $$ (eq-entropy)
#
# Natural logarithms give *nats*, base 2 gives *bits*; 1 nat is $1/\log 2 \approx 1.44$ bits.
#
# The first cell prints these numbers for the example by hand, at $\tau = 1$. The figure then follows the
# context of this example from the corner of *sat*, the hard lookup, to
# the mean of the three states. Beside each temperature stands the effective number of positions.

# %%
from seqattn import attention_entropy, effective_positions

nats = attention_entropy(weights).item()
bits = attention_entropy(weights, base=2).item()
share = attention_entropy(weights, normalized=True).item()
print(f"entropy {nats:.2f} nats = {bits:.2f} bits = {share:.2f} of its maximum")
print(f"as spread out as {effective_positions(weights).item():.2f} equal weights")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Plane with a shaded triangle whose corners are the states of cat, sat and mat. A curve starts close to the corner of sat, where the temperature is 0.05 and 1.0 positions are effective, passes 1.7 positions at 0.2 and 2.4 at 1, and ends inside the triangle near the mean of the three states with 3.0 positions at 20. An arrow shows the query."}}
taus = torch.logspace(-1.6, 1.5, 200).tolist()
path = torch.cat([attend(scores, H, temperature=tau).context for tau in taus])
figure, ax = plt.subplots(figsize=(8.4, 5))
ax.fill(*H[0].T, color=VALUES, alpha=0.1, lw=0)
ax.plot(*path.T, color=CONTEXT)
ax.annotate(
    "", q[0].tolist(), (0, 0), arrowprops={"arrowstyle": "-|>", "color": QUERY, "lw": 2}
)
ax.text(0.53, 1.02, "query s", color=QUERY)
for tau, side, shift in (
    (0.05, "right", -0.07),
    (0.2, "right", -0.12),
    (1, "right", -0.07),
    (20, "left", 0.07),
):
    (point,), w = attend(scores, H, temperature=tau)
    ax.plot(*point, "o", color=CONTEXT)
    label = f"τ = {tau}: {effective_positions(w).item():.1f}"
    ax.text(point[0].item() + shift, point[1].item(), label, ha=side, va="center")
for word, (x, y) in zip(TINY.words, H[0].tolist()):
    ax.text(
        1.1 * x, 1.1 * y, word, color=VALUES, ha="center", va="center", weight="bold"
    )
ax.set(xlim=(-1.6, 1.6), ylim=(-1.3, 1.85), aspect="equal")
ax.set_title("Temperature: effective positions")
ax.set(xlabel="first number of the state", ylabel="second number")
plt.show()

# %% [markdown]
# ## The same formula, read as an expectation
#
# Weights that are not negative and sum to one are a probability distribution. Draw a position $I$ with
# $P(I = i) = \alpha_i$, and the context is exactly the expected value of what you would fetch:
#
# $$
# \begin{aligned}
# \mathbb{E}_{I\sim\alpha}[v_I] &= \sum_{i=1}^{n} P(I = i)\, v_i \\
# &= \sum_{i=1}^{n} \alpha_i v_i = c
# \end{aligned}
# $$ (eq-expectation)
#
# So soft attention fetches the average of what hard attention would fetch. It does *not* follow that a
# network behaves the same on average: whatever comes next is some nonlinear function $f$, and
# in general $f(\mathbb{E}[v_I]) \ne \mathbb{E}[f(v_I)]$.
#
# Take the squared length, $f(v) = |v|^2$, on paper. The three states have 1.25, 2.5 and 1.25, with mean
# $0.41\cdot 1.25$ $+\ 0.52\cdot 2.5$ $+\ 0.07\cdot 1.25$ $\approx 1.90$; the context $(0.18, 0.92)$ has
# about 0.9, less than any of the states. The next cell does the same by
# sampling, with a tanh layer for $f$:

# %%
torch.manual_seed(0)
sampled = H[0, torch.multinomial(weights[0], 20_000, replacement=True)]
assert (sampled.mean(0) - context).abs().max() < 0.03  # their mean is c

mean_of_f = weights[0] @ torch.tanh(2 * H[0])
assert (torch.tanh(2 * sampled).mean(0) - mean_of_f).abs().max() < 0.03
print("f of the mean", torch.tanh(2 * context))
print("mean of f    ", mean_of_f)

# %% [markdown]
# The first numbers differ by a factor of {{ f"{torch.tanh(2 * context)[0] / mean_of_f[0]:.0f}" }}.
# The context is a point that no source word occupies, and what follows has to learn to make sense
# of mixtures.

# %% [markdown]
# ## Which number stands for minus infinity? (optional)
#
# In real code you meet $-10{,}000$, $-10^9$, the lowest number of the type, and $-\infty$. The next cell
# takes each of the four as a *replacement* for the pad's score, in three number formats: float32, float16, and
# bfloat16 (16 bits, with fewer digits but the range of float32). The two words have scores of $-20{,}000$, which a
# diverging training can produce.
# The output shows the weight of the pad, then the weight of each position in a row in which all three are masked:

# %%
fills = {"-10,000": -1e4, "-10^9": -1e9, "lowest": None, "-inf": -torch.inf}
masks = torch.tensor([[False, False, True], [True, True, True]])  # the pad, then all
print("replacement         pad  all masked")
for name, number in fills.items():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        fill = torch.finfo(dtype).min if number is None else number
        scores3 = torch.tensor([-2e4, -2e4, 0.0], dtype=dtype)
        try:
            one, empty = (scores3.masked_fill(m, fill).softmax(-1) for m in masks)
            assert empty.isnan().all() or (empty == empty[0]).all()
            told = f"{one[2]:.2f} {empty[0]:.2f}"
        except RuntimeError:
            told = "does not fit"
        print(f"{name:9} {str(dtype)[6:]:9} {told}")

# %% [markdown]
# **Use $-\infty$, and treat rows with nothing to attend separately.** $-10{,}000$ is not small enough here. $-10^9$ does not exist in float16. The lowest number of the type works as a replacement, but a row with nothing to attend gets equal weights on its pads. $-\infty$ is
# exact, and turns such a row into NaN.

# %% [markdown]
# ## A row with nothing to attend (optional)
#
# Sometimes *no* position may be attended. A batch may contain an empty sentence. Or a Transformer's
# decoder puts a causal mask on a sentence that is padded on the left. With all scores at $-\infty$, `attend_by_hand` computes $-\infty - (-\infty)$, which
# is NaN.
#
# You might think that one bad row does no harm as long as nobody reads it. In the next cell the loss
# depends on the first sentence alone, and the second is empty. The model has 61 parameters, 5 of them in
# the pad's embedding.
#
# ```{predict} survivors
# ```


# %%
def survivors(attention):
    torch.manual_seed(0)
    embed, read = nn.Embedding(11, 5), nn.Linear(5, 1)
    parameters = [*embed.parameters(), *read.parameters()]
    keys = embed(torch.tensor([[4, 7, 2], [0, 0, 0]]))
    mask = torch.tensor([[True, True, True], [False, False, False]])
    context, _ = attention(read(keys).mT, keys, mask)
    context[0].square().sum().backward()  # sentence 1 alone
    nn.utils.clip_grad_norm_(parameters, 1.0)
    torch.optim.SGD(parameters, lr=0.1).step()
    return sum(p.isfinite().sum().item() for p in parameters)


# %% tags=["hide-output", "hide-until-survivors"]
def patched(scores, values, mask):
    context, weights = attend_by_hand(scores, values, mask)
    return context.nan_to_num(), weights


left = {way.__name__: survivors(way) for way in (attend_by_hand, patched, attend)}
for name, parameters in left.items():
    print(f"{name:15s}{parameters} of 61 parameters")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# The package's `masked_softmax` gives a row with nothing to attend **zeros**, and zero gradient.
#
# Patching the context with `nan_to_num`, as the line in the middle does, is no help. The loss was a
# finite number all along; the NaN weights are still there for the backward pass to multiply by zero. The rule holds
# wherever a formula may give infinity or NaN at positions that you throw away, as with $-\infty$ in a mask, a logarithm
# or a division: **put a harmless number in before you compute**, and
# clear the result afterwards.
#
# </details>

# %% [markdown]
# ## Why entropy rises with temperature (optional)
#
# Whenever the scores are not all equal, a higher temperature gives a higher entropy. Let
# $\beta = 1/\tau$ and $\bar e = \sum_i \alpha_i e_i$, the mean score under the weights. Since
# $\log \alpha_i = \beta e_i - \log Z$ with $Z = \sum_j \exp(\beta e_j)$,
#
# $$
# \begin{aligned}
# \mathcal{H} &= \log Z - \beta \bar e \\
# \frac{d\mathcal{H}}{d\beta} &= \frac{d\log Z}{d\beta} - \bar e - \beta\,\frac{d\bar e}{d\beta} \\
# &= \bar e - \bar e - \beta\,\mathrm{Var}_\alpha(e) \\
# \frac{d\mathcal{H}}{d\tau} &= -\frac{1}{\tau^2}\,\frac{d\mathcal{H}}{d\beta} = \frac{\mathrm{Var}_\alpha(e)}{\tau^3} \ge 0
# \end{aligned}
# $$ (eq-entropy-slope)
#
# Here $d\log Z/d\beta = \frac1Z \sum_i e_i \exp(\beta e_i) = \bar e$. And as the scores are $\beta e_i$,
# {eq}`eq-softmax-jacobian` gives $d\alpha_i/d\beta = \alpha_i (e_i - \bar e)$; so $d\bar e/d\beta$ is
# $\mathrm{Var}_\alpha(e) = \sum_i \alpha_i (e_i - \bar e)^2$, the variance of the scores under the
# weights. A variance is never negative, so a higher temperature never makes the weights sharper.

# %% [markdown]
# ## The same formula, read as a kernel smoother (optional)
#
# Fifty years before neural attention, Nadaraya and Watson (both 1964) asked how to estimate a curve from
# points $(x_i, y_i)$ scattered around it. Their answer: average the $y_i$, with more weight for the
# nearer points. A *kernel* $K(x, x_i) > 0$ says how near a point is:
#
# $$
# \begin{aligned}
# \hat y(x) &= \sum_{i=1}^{n} \frac{K(x, x_i)}{\sum_j K(x, x_j)}\; y_i \\
# K(x, x_i) &= \exp\big(\mathrm{score}(x, x_i)\big)
# \end{aligned}
# $$ (eq-nadaraya-watson)
#
# That is {eq}`eq-soft-lookup` with {eq}`eq-softmax`: the place $x$ is the query, the $x_i$ are
# keys, the $y_i$ are values, and the score is the logarithm of the kernel. The Gaussian kernel has
# the score $-(x - x_i)^2 / 2h^2$, where the bandwidth $h$ plays the temperature: $\tau = h^2$.

# %% tags=["hide-input"]
KernelSmoother()

# %% [markdown]
# Drag the place through the gap between two points and watch the stems hand their weight over. Then
# make the bandwidth small: the curve becomes a staircase, the hard lookup of the nearest key.
#
# Two common statements about this are not quite right. First, attention is sometimes called kernel
# *density estimation*. A density estimate says how many points lie near $x$ and needs no $y_i$; attention
# does *regression*, an average of values. Second, the softmax of dot products is sometimes called a
# Gaussian kernel. Multiply out (with vectors $q$, $k_i$ and temperature $\tau$):
#
# $$
# \begin{aligned}
# -\frac{|q - k_i|^2}{2\tau} &= \frac{-|q|^2 + 2\, q^\top k_i - |k_i|^2}{2\tau} \\
# &= \frac{q^\top k_i}{\tau} - \frac{|k_i|^2}{2\tau} - \frac{|q|^2}{2\tau}
# \end{aligned}
# $$ (eq-gaussian-kernel)
#
# The last term is the same for all $i$, so by {eq}`eq-shift-invariance` it has no effect. The middle term
# can differ from key to key. **Dot product and Gaussian kernel give the same weights for every query if and only if all keys have the
# same length.** In the example by hand they do not: $|k_i|^2 = 1.25, 2.5, 1.25$. Before you look at
# the output: which of the three words gains from the dot product, compared with the Gaussian?


# %% tags=["hide-output"]
def gaussian_weights(query, keys, tau=1.0):
    distance = (query[:, None] - keys).square().sum(-1)
    return masked_softmax(-distance / 2, temperature=tau)


print("dot     ", masked_softmax(dot_score(q, H))[0])
print("Gaussian", gaussian_weights(q, H)[0])

unit = F.normalize(H, dim=-1)  # same directions, all of length 1
dot = masked_softmax(dot_score(q, unit))
torch.testing.assert_close(gaussian_weights(q, unit), dot)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# *Sat* has the longest key and wins by the dot product; *cat* lies nearer to the query and wins by
# distance. A long key gets a high score from every query that points roughly its way: dot products mix direction with
# length.
#
# </details>

# %% [markdown]
# ## What True means elsewhere (optional)
#
# In this book, in the code and in the text, **True means "may be attended"**. Other libraries
# differ, and some are not consistent:
#
# | argument | True means | nothing to attend |
# |---|---|---|
# | seqattn, `mask` | may be attended | zeros |
# | PyTorch `scaled_dot_product_attention`, boolean `attn_mask` | may be attended | zeros; NaN before PyTorch 2.5 |
# | the same, float `attn_mask` | not a flag: it is *added* to the scores, and 0/1 hides nothing | zeros; NaN before 2.5 |
# | PyTorch `nn.MultiheadAttention`, `key_padding_mask` and `attn_mask` | **ignore** | NaN (see the note) |
# | Keras `Attention`, `mask` | may be attended | equal weights, pads included |
#
# <details><summary>Note on the fourth row, and how the rows are checked</summary>
#
# With `need_weights=False` a row with nothing to attend gets the output's bias (0 in a fresh layer), but NaN again in
# self-attention with `batch_first=True`, in evaluation mode, without gradients (all of these together).
#
# The next cells check the rows on PyTorch; for `nn.MultiheadAttention` they check the last column only in part.
# (With an identity matrix for values, the output *is* the
# weights.) The row on Keras is checked by the tests of this book, so that you need not install it.
#
# </details>
#
# The last line prints the weights that `nn.MultiheadAttention` computes if you hand it a mask in our
# convention:

# %%
x = torch.randn(1, 3, 4)
real = torch.tensor([[True, True, False]])  # the third position is a pad
eye, nowhere = torch.eye(3)[None], torch.zeros(1, 3, 3).bool()
sdpa = F.scaled_dot_product_attention
mha = nn.MultiheadAttention(4, 2, batch_first=True)
blocked = torch.full((1, 3, 3), -torch.inf)

# %%
assert (masked_softmax(x @ x.mT, real)[..., 2] == 0).all()
assert (masked_softmax(x @ x.mT, nowhere) == 0).all()
assert (sdpa(x, x, eye, attn_mask=real[:, None])[..., 2] == 0).all()
if torch.__version__ >= (2, 5):
    assert (sdpa(x, x, eye, attn_mask=nowhere) == 0).all()
    assert (sdpa(x, x, eye, attn_mask=blocked) == 0).all()
assert (sdpa(x, x, eye, attn_mask=real[:, None].float())[..., 2] > 0).all()
assert (mha(x, x, x, key_padding_mask=~real)[1][..., 2] == 0).all()
assert (mha(x, x, x, attn_mask=~real.expand(3, 3))[1][..., 2] == 0).all()
for hidden in ({"key_padding_mask": ~nowhere[:, 0]}, {"attn_mask": ~nowhere[0]}):
    found = mha(x, x, x, **hidden)[1]
    assert found.isnan().all() or (found == 0).all()  # zeros in a later PyTorch?
output, _ = mha(x, x, x, attn_mask=~nowhere[0], need_weights=False)
assert output.isfinite().all()
print(mha(x, x, x, key_padding_mask=real)[1].detach())

# %% [markdown]
# Every query puts all its weight on the pad, and nothing warns you.

# %% [markdown]
# ## Check yourself
#
# ```{self-check} twice-or-plus-two
# ```
#
# ```{self-check} ratio-of-two
# ```
#
# ```{self-check} more-focused
# ```
#
# ```{self-check} saturated
# ```
#
# ```{self-check} which-test
# ```
#
# This one needs the optional sections on wrong masks and on rows with nothing to attend:
#
# ```{self-check} rows-of-pads
# ```

# %% [markdown]
# ## What you now know
#
# - Soft addressing is a weighted average of values: score, mask, normalise, sum. In matrix form,
#   $C = AH$.
# - Softmax depends on differences of scores alone, which also makes it safe to compute. Its
#   Jacobian is $\mathrm{diag}(\alpha) - \alpha\alpha^\top$.
# - Temperature leads from argmax to the plain mean. Queries learn in between: at the cold end the weights are
#   saturated and gradients vanish; at the hot end gradients are small, which Adam makes up for.
# - True means "may be attended". Masks go on the scores, before the softmax, over keys. A row with
#   nothing to attend gives zeros. The test is that *hostile* padding changes nothing.
# - The context is the expectation of what hard attention would fetch, which is not the same as
#   fetching.
#
# **Next.** The graded exercise [softmax, temperature, masks](../exercises/02_softmax.ipynb). After that,
# a score that learns: the dot product in this chapter had nothing to learn. In [Additive
# attention](03_additive.ipynb) a small network does the comparing, and you train a translator with it.

# %% [markdown]
# ## Sources
#
# - Soft addressing: *Neural Turing Machines* {cite:p}`graves2014`, where a memory is addressed by a
#   softmax with a learned temperature; *Neural Machine Translation by Jointly Learning to Align and
#   Translate* {cite:p}`bahdanau2015`; *Show, Attend and Tell* {cite:p}`xu2015`, hard versus soft.
# - Softmax: its name and its use for probabilities {cite:p}`bridle1990`, its numerics
#   {cite:p}`blanchard2021`, its temperature {cite:p}`hinton2015`.
# - Spread: entropy {cite:p}`shannon1948` and its exponential as an effective number
#   {cite:p}`hill1973`.
# - Kernel regression: {cite:t}`nadaraya1964` and {cite:t}`watson1964`; as a view of attention,
#   *Transformer Dissection* {cite:p}`tsai2019`.
