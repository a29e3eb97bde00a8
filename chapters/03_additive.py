# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 100
#     optional: 15
#     covers: [F-05, F-06, F-09, W-01, W-04, D-03, D-04, D-13, D-20, D-21]
#     exercise: 03_additive
# ---

# %% [markdown]
# # 3. Additive attention
#
# A decoder state and an encoder state, the **hidden states** of two recurrent networks, need not have the same
# size, and their numbers need not mean the same things. In this chapter a small network learns to compare them: the network with which Bahdanau,
# Cho and Bengio (2015) brought attention to translation. You compute it on paper, write it in five lines,
# and train a translator with it.
#
# **You need** [soft addressing](02_soft_addressing.ipynb): softmax, masks, the weighted sum; and BLEU, from
# [chapter 1](01_bottleneck.ipynb). **This chapter covers**
# the additive score by hand, in PyTorch and as a network; the order of events in the decoder;
# what can be computed once; why the tanh has to bend; training; and the alignment that training brings
# with it. Sections marked *optional* can wait for a second reading.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# The dot product of the last chapter multiplies first number by first number and second by second.
# It has nothing to learn. Here is a score that can learn. One matrix maps the decoder state into a
# common space, and another maps each encoder state there. The two results are added, a tanh
# bends the sum, and a vector $v$ turns it into one score.
#
# The figure shows every number on the way from the decoder state $s$ to the weights of three words. Note
# that the projected state $W_q s$ is added to *all three* words alike, and recall from
# [chapter 2](02_soft_addressing.ipynb) that adding a constant to all scores leaves the softmax unchanged. Answer
# the question, then move $s$: drag it in the plane, or use the sliders.

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from seqattn.data import TINY
from seqattn.plots import BLUE, GREY, use_style
from seqattn.widgets import AdditiveSteps, LinearRegime, Unrolled

use_style()
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_default_dtype(torch.float64)  # to compare to the last digit

AdditiveSteps()

# %% [markdown]
# <details><summary>What to try</summary>
#
# - Move $s$ to $(-1, 0.5)$. The largest weight moves from *cat* to *mat*, although the same two numbers
#   were added for each word.
# - Watch the column after the tanh while you do so. Its entries stay between $-1$ and $1$. Where the
#   sum is large, the tanh is flat and hardly moves; near zero it is steep. So one shift does
#   different things to different words.
# - Take $s$ to its limits, $(2, -2)$ and $(-2, 2)$. The scores stay within a fixed range. A later
#   section says which.
#
# </details>

# %% [markdown]
# ## By hand
#
# We use the same numbers as everywhere in this book: decoder state $s = (0.5, 1.0)$ and the encoder
# states $h_i$ of *cat*, *sat* and *mat* from the last chapter. The score has two matrices and a vector:
# $W_q = \begin{pmatrix} 0.2 & -0.3 \\ -1.0 & 0.6 \end{pmatrix}$,
# $W_k = \begin{pmatrix} 0.2 & -0.6 \\ 0.5 & 0.9 \end{pmatrix}$ and $v = (1.0, 1.5)$.
#
# The decoder state is the *query* (index $q$). The encoder states are the *keys* (index $k$), with which the query is
# compared, and also the *values*, which the weights will mix.
#
# The query is projected once. The first number of $W_q s$ is $0.2\cdot 0.5 - 0.3\cdot 1.0 = -0.2$; the
# second is $-1.0\cdot 0.5 + 0.6\cdot 1.0 = 0.1$. Then each word takes one line:
#
# | word | state $h_i$ | key $W_k h_i$ | sum $W_q s + W_k h_i$ | tanh of it | score |
# |---|---|---|---|---|---|
# | cat | 1.0, 0.5 | −0.10, 0.95 | −0.30, 1.05 | −0.29, 0.78 | 0.88 |
# | sat | −0.5, 1.5 | −1.00, 1.10 | −1.20, 1.20 | −0.83, 0.83 | 0.42 |
# | mat | 0.5, −1.0 | 0.70, −0.65 | 0.50, −0.55 | 0.46, −0.50 | −0.29 |
#
# The last column is $v$ times the column before it. For *cat* that is $1.0\cdot(-0.29) + 1.5\cdot 0.78
# = 0.88$.

# %% [markdown]
# From here on nothing is new. The exponentials of the scores are 2.41, 1.52 and 0.75. Their sum is
# 4.68, and the weights are 0.52, 0.32 and 0.16. The context is the mixture $0.52\,(1.0, 0.5)$
# $+\ 0.32\,(-0.5, 1.5)$ $+\ 0.16\,(0.5, -1.0)$ $\approx (0.43, 0.58)$. (These rounded weights
# give 0.44 for the first number; the cell keeps all digits.)

# %%
s, h, W_q, W_k, v = TINY.s, TINY.h, TINY.W_q, TINY.W_k, TINY.v

for word, h_i in zip(TINY.words, h):
    total = W_q @ s + W_k @ h_i
    score = v @ total.tanh()
    print(f"{word} sum {total} tanh {total.tanh()} score {score:5.2f}")

# %%
scores = torch.stack([v @ torch.tanh(W_q @ s + W_k @ h_i) for h_i in h])
weights = scores.exp() / scores.exp().sum()
context = weights @ h
print("weights", weights)
print("context", context)

# %% [markdown]
# ## In general: a network with two layers
#
# Let $h_i$ be the encoder state at source position $i$, with $d_h$ numbers. Let $s$ be the decoder state
# that attends, with $d_s$ numbers. Bahdanau et al. (2015) take the state *before* step $t$, $s_{t-1}$. They call the
# network that scores the **alignment model**; its score is
#
# $$ \scores{e_{ti}} = v^\top \tanh(W_q\, \query{s_{t-1}} + W_k\, \keys{h_i}) $$ (eq-additive-score)
#
# $W_q$, $(d_a \times d_s)$, and $W_k$,
# $(d_a \times d_h)$, map both states into a space of $d_a$ numbers, the *comparison space*. The tanh
# works on each number by itself. The vector $v$, with $d_a$ numbers, turns the result into one score. All three
# are learned with the rest of the model. The paper writes $W_a, U_a, v_a$ for $W_q, W_k, v$.

# %% [markdown]
# Now stack the two states into one vector, $[s; h_i]$, and put the two matrices side by side,
# $[W_q \mid W_k]$. The score is then a feed-forward network with one hidden layer of $d_a$ units and one
# output:
#
# $$
# \begin{aligned}
# z_{ti} &= [W_q \mid W_k]\,[s_{t-1}; h_i] = W_q s_{t-1} + W_k h_i \\
# e_{ti} &= \sum_{k=1}^{d_a} v_k \tanh(z_{tik})
# \end{aligned}
# $$ (eq-concat-is-additive)
#
# Here $k$ is only an index, and $z_{tik}$ is the $k$-th number of $z_{ti}$. Each hidden unit is a
# detector. It draws a line (in more dimensions, a hyperplane) through the space of pairs and says, with
# a soft edge, on which side a pair lies. One unit could learn "a verb is due and this word is a verb"; $v_k$ says how much
# that counts, and with which sign.
#
# The same $v$ serves every position and every step. It does not know *where* a word stands, only how well
# query and key fit, so it can score sentences of any length.

# %% [markdown]
# ### Free sizes, bounded scores
#
# **Sizes are free.** $d_s$, $d_h$ and $d_a$ may all differ. The number of weights is
#
# $$ d_a d_s + d_a d_h + d_a = d_a\,(d_s + d_h + 1) $$ (eq-additive-parameters)
#
# With the sizes of the paper, $d_s = 1000$, $d_h = 2000$ and $d_a = 1000$, that is about three million.
#
# **Scores are bounded.** The tanh lies between $-1$ and $1$, so
#
# $$ |e_{ti}| \le \sum_{k=1}^{d_a} |v_k| = \lVert v \rVert_1 $$ (eq-additive-bound)
#
# whatever the states. For the numbers above the bound is 2.5. Two scores then differ by at most 5,
# and their weights by a factor of at most $\exp(5) \approx 148$. To attend more sharply than that, the
# network must enlarge $v$.

# %%
from seqattn import BahdanauAttention, additive_score

attention = BahdanauAttention(d_query=1000, d_key=2000, d_attn=1000)
count = sum(p.numel() for p in attention.parameters())
print(f"{count:,} parameters")

torch.manual_seed(0)
huge = 1000 * torch.randn(1, 50, 2)
extreme = additive_score(huge, h[None], W_q, W_k, v).abs().max()
print(f"largest |score| in 150 pairs of huge states: {extreme:.2f}")

# %% [markdown]
# ### Where a bias would matter
#
# This book's additive score has no bias, and the paper's appendix omits all bias terms "to increase readability". A
# bias *inside* the tanh, $\tanh(\dots + b)$, moves the edge of every detector, and the weights change. It costs $d_a$
# numbers. One such vector is enough: two, one for each matrix, would be added up. A number added *after* $v$ is the same for all positions. The softmax removes it, so the loss does not
# depend on it.

# %%
plain = additive_score(s[None], h[None], W_q, W_k, v)
inside = additive_score(s[None], h[None], W_q, W_k, v, b=torch.ones(2))
print("no bias      ", plain.softmax(-1)[0])
print("after v      ", (plain + 7).softmax(-1)[0])
print("inside tanh  ", inside.softmax(-1)[0])

# %% [markdown]
# ### Training a bias without a gradient (optional)
#
# On paper the gradient of that number after $v$ is exactly zero.
#
# ```{predict} bias-drift
# ```

# %% tags=["hide-output", "nbval-ignore-output"]
torch.manual_seed(0)
some_scores, wanted = torch.randn(64, 7), torch.randint(7, (64,))


def bias_after_v(kind, dtype):
    b, way = torch.zeros(1, dtype=dtype, requires_grad=True), 0.0
    optimizer = kind([b], lr=0.01)
    for _ in range(1500):
        loss = F.cross_entropy(some_scores.to(dtype) + b, wanted)
        optimizer.zero_grad()
        loss.backward()
        before = b.item()
        optimizer.step()
        way += abs(b.item() - before)
    return b.item(), b.grad.abs().item(), way / (1500 * 0.01)


# %% tags=["hide-output", "hide-until-bias-drift", "nbval-ignore-output"]
drift = {}
for kind in (torch.optim.SGD, torch.optim.Adam):
    for dtype in (torch.float64, torch.float32):
        drift[kind.__name__, dtype] = b, last, step = bias_after_v(kind, dtype)
        name = f"{kind.__name__:4s} {str(dtype)[6:]}"
        print(
            f"{name}: b {b:8.5f}  last gradient {last:.0e}  mean step {step:.2f} of lr"
        )

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# In 64 bits the bias stays within a millionth of zero. In 32 bits the positive and negative parts of the
# gradient cancel only up to rounding, and a remnant below a millionth is left. SGD multiplies this
# remnant by the learning rate and hardly moves. Adam divides each gradient by its own usual size, so a
# remnant of rounding becomes a visible step. The last column shows the mean step, as a share of a full
# one. (In 64 bits the remnant is far below $\varepsilon = 10^{-8}$, which Adam adds to that size, so
# nothing moves.)
#
# The bias wanders, and no attention weight changes: it is a number that is trained and means nothing.
#
# </details>

# %% [markdown]
# ## Five lines of PyTorch
#
# Now for a batch: $B$ sentences, $T$ queries for each, $S$ positions. Every query has to meet every key,
# so make room for both axes and let broadcasting form the pairs: `(B, T, 1, d_a)` plus `(B, 1, S, d_a)`
# is `(B, T, S, d_a)`.


# %%
def additive_by_hand(query, keys, W_q, W_k, v):
    q = query @ W_q.T  # (B, T, d_s) -> (B, T, d_a)
    k = keys @ W_k.T  # (B, S, d_h) -> (B, S, d_a)
    z = q[:, :, None, :] + k[:, None, :, :]  # (B, T, S, d_a)
    return torch.tanh(z) @ v  # (B, T, S)


# %%
torch.manual_seed(0)
B, T, S, d_s, d_h, d_a = 2, 3, 5, 4, 6, 7
query, keys = torch.randn(B, T, d_s), torch.randn(B, S, d_h)
A_q, A_k = torch.randn(d_a, d_s), torch.randn(d_a, d_h)
u = torch.randn(d_a)
scores = additive_by_hand(query, keys, A_q, A_k, u)
expected = additive_score(query, keys, A_q, A_k, u)
torch.testing.assert_close(scores, expected)
print(tuple(scores.shape))

# %% [markdown]
# Two vectorised versions that agree can share a mistake. So check against the formula itself,
# one pair at a time, in plain Python:

# %%
for b, t, i in [(0, 0, 0), (0, 2, 4), (1, 1, 3)]:
    e = 0.0
    for k in range(d_a):
        from_query = sum(A_q[k, j] * query[b, t, j] for j in range(d_s))
        from_key = sum(A_k[k, j] * keys[b, i, j] for j in range(d_h))
        e += u[k] * math.tanh(from_query + from_key)
    torch.testing.assert_close(scores[b, t, i], e)

# %% [markdown]
# And against the version with one large matrix:

# %%
each_query = query[:, :, None].expand(B, T, S, d_s)
each_key = keys[:, None].expand(B, T, S, d_h)
pairs = torch.cat([each_query, each_key], -1)
concat = torch.tanh(pairs @ torch.cat([A_q, A_k], 1).T) @ u
torch.testing.assert_close(concat, scores)

# %% [markdown]
# This one-matrix form is the "concat" score of other texts, and of Luong et al. (2015). Its formula is that of the
# additive score ({eq}`eq-concat-is-additive`). It is another way to store the weights, and a wasteful way to
# compute with them: the states are copied $T \cdot S$ times and multiplied each time.
#
# <details><summary>Did Luong et al. train this score?</summary>
#
# What they trained was less: by their footnote 15 the part of the matrix for the source states was the identity, and
# they name that as a possible reason why it did badly.
#
# </details>
#
# **The common mistake** is to forget the two `None`s. If $T$ and $S$ differ, and neither is 1, PyTorch refuses.
# But suppose that there are as many queries as positions, as when a sentence attends to itself:

# %%
square = torch.randn(B, S, d_s)  # as many queries as positions
q, k = square @ A_q.T, keys @ A_k.T
wrong = torch.tanh(q + k) @ u  # no error
right = additive_by_hand(square, keys, A_q, A_k, u)
print("meant", tuple(right.shape), " got", tuple(wrong.shape))
torch.testing.assert_close(wrong, right.diagonal(dim1=1, dim2=2))

# %% [markdown]
# The result has one score where there should be a row of scores: query 1 has met only key 1, query 2 only
# key 2. Softmax accepts this tensor as well. So test with sizes that are all different, such as 2, 3, 5 and 7.

# %% [markdown]
# ## Masks
#
# The additive score has no mask of its own. As in [soft addressing](02_soft_addressing.ipynb), the
# scores of pads are blocked before the softmax, and more padding changes nothing, even padding with
# outrageous states. `BahdanauAttention` is that pipeline with the additive score in it:

# %%
from seqattn import attend, padding_mask

attention = BahdanauAttention(d_query=4, d_key=6, d_attn=7)
mask = padding_mask(torch.tensor([5, 3]))
context, weights = attention(query, keys, mask=mask)
score = additive_score(query, keys, *attention.parameters())
torch.testing.assert_close((context, weights), tuple(attend(score, keys, mask)))

longer, more = F.pad(keys, (0, 0, 0, 9), value=1e4), F.pad(mask, (0, 9))
padded = attention(query, longer, mask=more)
torch.testing.assert_close(padded.context, context)
print("context", tuple(context.shape), " weights", tuple(weights.shape))

# %% [markdown]
# ## The order of events in the decoder
#
# The *decoder* writes the translation, one word at each step. It is a recurrent network: its state $s_t$
# sums up what has been written so far. When does it attend, and what does it do with the context? In the order of Bahdanau et al.
# each step has five events: **ask** (the old state
# is compared with every encoder state), **weigh** (softmax), **mix** (the context, or *context vector*),
# **recurrent step** (the GRU makes the new state; the figure calls it *update*) and **say** (the next word is predicted).
# The figure has the numbers of a small trained translator. Look at which state asks, and at what the recurrent step reads.

# %% tags=["hide-input"]
Unrolled(phases=["decode"], event=10, title="One step in the order of Bahdanau et al.")

# %% [markdown]
# Let $y_{t-1}$ be the last target token and $E$ the matrix of target embeddings, so that $E y_{t-1}$ is
# that token's vector. At every step $t$, a decoder in the manner of Bahdanau et al. computes
#
# $$
# \begin{aligned}
# \text{ask:}\quad& e_{ti} = v^\top \tanh(W_q s_{t-1} + W_k h_i) \\
# \text{weigh:}\quad& \alpha_{ti} = \frac{\exp(e_{ti})}{\sum_j \exp(e_{tj})} \\
# \text{mix:}\quad& c_t = \sum_i \alpha_{ti} h_i \\
# \text{GRU step:}\quad& s_t = \mathrm{GRU}\big(s_{t-1}, [E y_{t-1}; c_t]\big) \\
# \text{say:}\quad& p(y_t \mid y_{<t}, x) \\
# &\quad = \mathrm{softmax}\big(W_o\, g(s_t, c_t, E y_{t-1})\big)
# \end{aligned}
# $$ (eq-additive-decoder)
#
# - $[a; b]$ is concatenation. All gates of the GRU see the context.
# - The *readout* $g$ is a small layer between the state and the vocabulary. $W_o$ then gives one number
#   for each word. The paper's is a *maxout* layer,
#   which computes its features in pairs and keeps the larger of each pair; unlike a tanh it never goes flat.
# - The first state, $s_0$, comes from the encoder. Bahdanau et al. take the backward state at the first
#   word, which has read the whole sentence from its end: $s_0 = \tanh(W_s \overleftarrow{h}_1)$.
#
# <details><summary>Where this book's decoder differs from the paper's</summary>
#
# In the paper's appendix the readout reads $s_{t-1}$, where its equation 4 and this book have $s_t$. For $s_0$ the
# package's `Bridge` reads the forward state at the last word as well, and has a bias, which the
# paper's formulas omit: $s_0 = \tanh(W\,[\overrightarrow{h}_{T_s}; \overleftarrow{h}_1] + b)$.
#
# </details>

# %% [markdown]
# In code, without the readout:


# %%
def bahdanau_step(y, s, memory):
    context, weights = attention(s, memory)  # s is still the old state
    s = gru(torch.cat([embed(y), context], -1), s)
    return s, weights


embed, gru = nn.Embedding(9, 3), nn.GRUCell(3 + 6, 4)
memory, state = attention.remember(keys, mask=mask), torch.zeros(2, 4)
for y in torch.tensor([[1, 7, 4], [1, 5, 8]]).T:
    state, weights = bahdanau_step(y, state, memory)
print("state", tuple(state.shape), " weights", tuple(weights.shape))

# %% [markdown]
# The state that attends has not yet read $y_{t-1}$: of word $t-1$ it knows only what it expected when
# it wrote that word. Luong et al. (2015) moved one event: the recurrent step comes first, and the new state $s_t$
# attends. **Score and order are independent choices.**
#
# For a decoder whose query is its state alone, a probe shows which order it follows, whatever the class is called.
# Change the token that step 4 reads, and see which rows of the *attention map* move. (The map is the table of
# weights, with one row for each target word and one column for each source word.) The cell tries both orders, each with two scores. *General* is the product score of the next chapter.
#
# ```{predict} first-row
# ```

# %% tags=["hide-output"]
from seqattn.models import ModelConfig, build_model

source, lengths = torch.tensor([[5, 6, 7, 8, 2]]), torch.tensor([5])
# In the second target step 4 reads another word:
targets = torch.tensor([[[1, 4, 5, 6, 7, 8]], [[1, 4, 5, 9, 7, 8]]])


def rows_that_move(style, score):
    torch.manual_seed(0)
    config = ModelConfig(style, d_embed=8, d_hidden=16, score=score)
    model = build_model(config, 10, 10).eval()
    first, second = (model(source, lengths, y).weights[0] for y in targets)
    moved = (first - second).abs().amax(-1) > 1e-9
    return [t for t in range(1, 7) if moved[t - 1]]


# %% tags=["hide-output", "hide-until-first-row"]
moves = {}
for style in ("bahdanau", "luong"):
    for score in ("additive", "general"):
        moves[style, score] = rows = rows_that_move(style, score)
        print(f"{style:8s} order, {score:8s} score: rows {rows} move")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# The score makes no difference; the order does. In both orders row $t$ belongs to the word written at step $t$: the map
# itself is not shifted. What differs is whether the state that attends has read the last word. The probe exposes code that
# is called "Luong" but attends before the recurrent step.
#
# </details>

# %% [markdown]
# ## Project the keys once
#
# In {eq}`eq-additive-score` the term $W_k h_i$ has no $t$ in it: the encoder states do not change
# while the translation is written. So the keys are projected once for the sentence, and the query once for each step.
# What is left for each pair is an addition, a tanh, and the product
# with $v$. In the package, `remember` does the part that is done once, and every step is given what it returns.

# %% [markdown]
# ### What that saves (optional)
#
# Bahdanau et al. recommend this in their appendix. Counted in multiplications, for $T_s$ source
# and $T_t$ target words:
#
# $$
# \begin{aligned}
# \text{each pair anew:}\quad & T_t T_s\, d_a (d_s + d_h + 1) \\
# \text{each step anew:}\quad & T_t\, d_a (d_s + T_s d_h + T_s) \\
# \text{keys once:}\quad & T_s d_a d_h + T_t d_a d_s + T_t T_s d_a
# \end{aligned}
# $$ (eq-additive-cost)
#
# PyTorch can check the counts. Its counter reports each multiplication as two operations, and leaves out the product
# with the vector $v$. The cell
# adds that product and subtracts the weighted sums, which the formula leaves out.

# %%
from torch.utils.flop_counter import FlopCounterMode

T_s, T_t, d_s, d_h, d_a = 30, 30, 1000, 2000, 1000
attention = BahdanauAttention(d_s, d_h, d_a)
states, steps = torch.randn(1, T_s, d_h), torch.randn(T_t, 1, d_s)


def each_step_anew():
    return [attention(s_t, states).context for s_t in steps]


def keys_once():
    memory = attention.remember(states)
    return [attention(s_t, memory).context for s_t in steps]


# %%
def count_multiplications(program):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        program()
    sums = T_t * T_s * d_h  # the weighted sums, beside the scores
    return counter.get_total_flops() // 2 + T_t * T_s * d_a - sums


torch.testing.assert_close(each_step_anew(), keys_once())
anew, once = map(count_multiplications, (each_step_anew, keys_once))
assert anew == T_t * d_a * (d_s + T_s * d_h + T_s)
assert once == T_s * d_a * d_h + T_t * d_a * d_s + T_t * T_s * d_a
print(f"each step anew {anew:13,}\nkeys once      {once:13,}")

# %% [markdown]
# The contexts are the same, for one {{ f"{anew / once:.0f}" }}th of the multiplications in the scores. This is
# possible because nothing mixes query and key *before* the sum inside the tanh.

# %% [markdown]
# ## What the tanh is for
#
# Take the tanh away. Then the score is $v^\top W_q s_{t-1} + v^\top W_k h_i$. The first term is the
# same for every position, and the softmax removes it. **The weights do not depend on the query at
# all.** In the example by hand, with the queries $(0.5, 1.0)$ and $(-1, 0.5)$:
#
# | score without tanh | cat | sat | mat |
# |---|---|---|---|
# | $v^\top W_k h_i$ alone | 1.325 | 0.650 | −0.275 |
# | plus $v^\top W_q s = -0.05$, for $s = (0.5, 1.0)$ | 1.275 | 0.600 | −0.325 |
# | plus $v^\top W_q s = 1.60$, for $s = (-1, 0.5)$ | 2.925 | 2.250 | 1.325 |
#
# The rows differ by a constant; all three give the weights 0.58, 0.30, 0.12.

# %% [markdown]
# And near zero the tanh *is* almost a straight line: $\tanh x = x - x^3/3 + \dots$ So what is left of the
# query when everything inside the tanh is small? Multiply all of it by a small number
# $\lambda > 0$ and compare the weights of the two queries. Answer the question in the figure, then move $\lambda$; two curves appear with your answer. The dashed one, "relative", is the difference as a share of how far the first query's weights are from equal.

# %% tags=["hide-input"]
LinearRegime()

# %% [markdown]
# <details><summary>What the figure shows, and why</summary>
#
# The reason is a short calculation. With $z_{ti} = W_q s_{t-1} + W_k h_i$ as above, and cubes taken
# number by number,
#
# $$
# \begin{aligned}
# v^\top\tanh(\lambda z_{ti})
# &= \lambda\, v^\top z_{ti} - \tfrac{\lambda^3}{3}\, v^\top z_{ti}^3 + O(\lambda^5) \\
# &= \underbrace{\lambda\, v^\top W_q s_{t-1}}_{\text{cancels in the softmax}}
#  + \lambda\, v^\top W_k h_i \\
# &\quad - \tfrac{\lambda^3}{3}\, v^\top z_{ti}^3 + O(\lambda^5)
# \end{aligned}
# $$ (eq-additive-linear)
#
# The keys are felt at first order, the query only at third. So, once $\lambda$ is small, each factor of ten to the left divides the difference between the two queries by a thousand. (The dashed curve falls by a factor of a hundred: the weights become equal, too.)
#
# </details>
#
# The keys enter with $\lambda$, the query only with $\lambda^3$ (the calculation is in the fold). To see the query alone
# fade, divide $v$ by $\lambda$: the keys stay at full size and the query enters with $\lambda^2$. So expect a factor of about 100 for each factor of ten in $\lambda$, once $\lambda$ is
# small:

# %%
queries = torch.tensor([[[0.5, 1.0], [-1.0, 0.5]]])  # two questions
print("lambda  difference of two rows of weights")
apart = []
for scale in (1.0, 0.1, 0.01, 0.001):
    small = scale * queries, scale * h[None]
    first, second = additive_score(*small, W_q, W_k, v / scale).softmax(-1)[0]
    apart.append((first - second).abs().max().item())
    print(f"{scale:6}  {apart[-1]:.7f}")

keys_alone = (h @ W_k.T @ v).softmax(-1)
torch.testing.assert_close(first, keys_alone, rtol=0, atol=1e-4)
print("weights with no query at all:", keys_alone)

# %% [markdown]
# Now the weights are far from uniform and, at $\lambda = 0.01$, the same for both queries to three
# digits. **Networks start with small weights, so an additive attention *starts* close to this linear
# regime**: nearly the same row for every target word.

# %% [markdown]
# ## Train a translator
#
# The book's toy corpus is drawn from a grammar: English sentences and their French translations, with
# real differences in word order, and with **gold alignments**: the true links from each French word to the English
# word or words that it comes from. The model never sees these links. It gets pairs of sentences and has to predict each French word
# from the French words before it and the English sentence. We keep to sentences of at most eight words,
# so that training takes half a minute.
#
# The pairs come in three parts. The model learns from `train`. Whatever we choose or watch, we judge on `valid`, the
# **validation** sentences. The **test** sentences are for a last, fair score: nothing is chosen by them.

# %%
from seqattn.data import FIVE, Batches, Vocabularies, encode_pairs, toy_corpus

short = {}
for split, pairs in toy_corpus(24_000).items():
    short[split] = [p for p in pairs if len(p.source.split()) <= 8]

vocabularies = Vocabularies.learn(short["train"], ("en", "fr"))
examples = encode_pairs(short["train"], vocabularies)
batches = Batches(examples, tokens=512)
sizes = {split: len(pairs) for split, pairs in short.items()}
print(sizes, "words:", *map(len, vocabularies))

# %% [markdown]
# The model's *encoder* is a bidirectional GRU: one network reads the sentence from left to right,
# another from right to left, and $h_i$ is the pair of their states at word $i$. The decoder is that of {eq}`eq-additive-decoder`.
#
# We want these five sentences translated. None of them is among the pairs of this training, and they were
# chosen before any model had translated them. Each is harder to put into French than the one before.

# %%
for pair in FIVE:
    print(f"{pair.source}\n    {pair.target}")

# %% [markdown]
# In the second, a pronoun moves in front of the verb. In the third, *ne … pas* surrounds the verb, and
# the adjective follows its noun. The fourth is a question, with *est-ce que* for *did*. In the last one,
# the French verb *manquer* swaps subject and object: *the hero misses him* becomes *he is missing to the
# hero*.
#
# ```{predict} which-fail
# ```

# %% [markdown]
# ### The alignment error rate
#
# To see *when* the model learns to align, we measure how well its map agrees with the gold alignment on
# sentences it was not trained on. Link each target word to the source word on which its largest weight lies; a word whose
# largest weight is on the source's `<eos>` gets none. Call these links $A$, and the gold links $G$. The **alignment error rate** is
#
# $$ \mathrm{AER} = 1 - \frac{2\,|A \cap G|}{|A| + |G|} $$ (eq-aer)
#
# with $|\cdot|$ the number of links, summed over all sentences first. It is 0 if the two agree and 1 if
# they have nothing in common. (The full definition distinguishes sure links from possible ones; here all are sure.)
#
# To get such a map, `force` makes the model write the known translation: every step reads the *true* last word, as in
# training.
#
# Three yardsticks need no model. The first draws a source word at random for each target word. The second is
# the *diagonal*: word 1 goes with word 1, and so on. The third is the lowest rate
# that one link for each target word can reach, as some words have two gold links.

# %%
from random import Random

from seqattn.evaluation import alignment_links
from seqattn.metrics import alignment_error_rate
from seqattn.translator import Translator

held_out, gold = short["valid"], [pair.links for pair in short["valid"]]


def error_rate(model):
    maps = Translator(model, vocabularies).force(held_out)
    found = [alignment_links(m.weights) for m in maps]
    return alignment_error_rate(found, gold, gold)


# %%
ends = [[max(side) + 1 for side in zip(*links)] for links in gold]
lot = Random(0)
rules = {  # links (source position, target position) without looking at a word
    "at random": [{(lot.randrange(m), t) for t in range(n)} for m, n in ends],
    "diagonal": [{(i, i) for i in range(min(m, n))} for m, n in ends],
    "best single links": [
        {min(g for g in links if g[1] == t) for _, t in links} for links in gold
    ],
}
rate = {name: alignment_error_rate(found, gold, gold) for name, found in rules.items()}
for name, value in rate.items():
    print(f"AER, {name:17s} {value:.2f}")

# %% [markdown]
# ### A penalty on the columns of the map
#
# Nothing in the loss asks for an alignment. The model attends to whatever helps to predict the next word.
# To choose between *le* and *la* the decoder needs the gender of the noun. So it may attend to *cat* while
# it writes *le*, and not to *the*. That is sensible, but the link is wrong.
#
# We can ask for more: over all steps together, each source word should be attended to about once.
# Xu et al. (2015) add such a penalty to the loss, as a sum. We take the mean,
#
# $$ \Omega = \frac{1}{n} \sum_{i=1}^{n} \Big(1 - \sum_{t} \alpha_{ti}\Big)^2 $$ (eq-look-at-each-word)
#
# for $n$ source words. Each row of a map sums to 1 anyway; the penalty asks the same of each column. (A
# matrix whose rows *and* columns sum to 1 is *doubly stochastic*; hence the name in the code.) The
# penalty names no link. It discourages passing over one word while attending to another several times.
#
# ```{predict} the-penalty
# ```

# %% [markdown]
# Here is the formula in code, beside the package's
# `doubly_stochastic_penalty`, which leaves pads out and takes the mean over a batch. The third map is the
# right one for *the cat sat on the mat*, where three French words belong to *sat*; it costs 4/7, with the
# end of sentence as the seventh word. With unequal numbers of words the penalty cannot be zero.

# %%
from seqattn.training.regularizers import doubly_stochastic_penalty

diagonal_map = torch.eye(3)[None]  # each word looked at once
one_word = torch.tensor([[[1.0, 0, 0]] * 3])  # the first, three times
right_map = torch.zeros(1, 9, 7)
for i, t in FIVE[0].links | {(6, 8)}:
    right_map[0, t, i] = 1
for weights in (diagonal_map, one_word, right_map):
    omega = ((1 - weights.sum(1)) ** 2).mean()
    torch.testing.assert_close(omega, doubly_stochastic_penalty(weights))
    print(f"{omega:.2f}")

# %% [markdown]
# ### The training loop
#
# The loss is the mean negative log-probability of the true next word. `F.cross_entropy` takes it from the **logits**,
# the model's numbers for all words before the softmax; `ignore_index=0` leaves pads out.
# To it we add 0.2 times the penalty. *Gradient clipping* scales a gradient down if it is longer than 1, so that one odd
# batch cannot throw the weights far off. The *learning rate* is the size of Adam's steps. It begins at 0.01 and falls to 0
# along a straight line. The 0.01 was chosen from three, by BLEU on the validation sentences.

# %%
torch.set_default_dtype(torch.float32)  # faster, and enough
torch.manual_seed(0)
config = ModelConfig(d_embed=64, d_hidden=96, d_attn=64, dropout=0.0)
model = build_model(config, *map(len, vocabularies))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.LinearLR(
    optimizer, 1.0, 0.0, total_iters=2 * len(batches.plan(0))
)

translator = Translator(model, vocabularies)
[untrained] = translator.force([FIVE[0]])

# %%
updates, losses, error_rates = [0], [], [error_rate(model)]
for batch in (*batches.epoch(0), *batches.epoch(1)):
    # batch.inputs: the true words (teacher forcing)
    logits, weights = model(batch.source, batch.lengths, batch.inputs)
    loss = F.cross_entropy(logits.mT, batch.targets, ignore_index=0)
    asked = doubly_stochastic_penalty(weights, batch.targets != 0, batch.source != 0)
    optimizer.zero_grad()
    (loss + 0.2 * asked).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
    if len(losses) % 94 == 0:  # six times
        updates.append(len(losses))
        error_rates.append(error_rate(model))

# %% mystnb={"image": {"alt": "Line chart over the updates of two epochs. The alignment error rate starts near that of a random link, crosses the dashed line of the diagonal in the first epoch, and ends below a fifth, above the dotted line of the best single links."}} tags=["hide-input"]
figure, axes = plt.subplots()
axes.plot(updates, error_rates, marker="o", color=BLUE)
axes.annotate("the model", (updates[1], error_rates[1]), (8, 8),
              textcoords="offset points", color=BLUE, weight="bold")  # fmt: skip
for name, dashes in (
    ("at random", "-."),
    ("diagonal", "--"),
    ("best single links", ":"),
):
    axes.axhline(rate[name], color=GREY, linestyle=dashes)
    axes.annotate(name, (1, rate[name]), (-2, 4), xycoords=("axes fraction", "data"),
                  textcoords="offset points", ha="right", color=GREY)  # fmt: skip
axes.set(xlabel="updates", ylabel="AER", ylim=(0, 1))
axes.set_title("Alignment error while training")
plt.show()

# %% [markdown]
# The curve falls below the diagonal, though no link was ever shown. Why should it? The surest way to
# predict *chat* is to fetch the state of *cat*. The gradient of the loss passes through the weighted sum
# ({eq}`eq-soft-lookup`) and raises the score of whatever state would have helped. **Alignment is
# learned because it helps to translate**: trainings without the penalty (*Three seeds*, in the next section) end under the diagonal as well.
#
# <details><summary>If your curve stays flat</summary>
#
# Suppose that it stays at the height of the line *at random*. Look at one map. If its rows are equal, whatever the
# word, the attention has not left the linear regime: train for longer or take larger steps. If the rows
# differ and none is right, suspect first that the links are off by one (a column for the first word, a row for
# `<bos>`) or that a mask is inverted.
#
# </details>

# %% [markdown]
# ## Translate with it
#
# Now the translator writes alone: each step reads the word that
# the model itself wrote at the step before. Decoding of this kind is called **autoregressive**. Here it keeps the five most promising
# beginnings at each step, which is *beam search* ([chapter 7](07_training.ipynb)).

# %% tags=["hide-output", "hide-until-which-fail", "nbval-ignore-output"]
for pair, found in zip(FIVE, translator.translate([pair.source for pair in FIVE])):
    mark = "right" if found.text == pair.target else f"wrong: {pair.target}"
    print(f"{pair.source}\n    {found.text}\n    {mark}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Three are right, word for word. The other two fail here and from each of the three seeds of the measurement below,
# each time in another way. (Your run may fail elsewhere: processors round differently.)
#
# - **The question** has everything in place but its verb: here the king *broke* the box; from the three seeds he
#   *took*, *found* or *built* it. The construction is learned, the word is not.
# - **The hero** begins well: *him* has become the subject. Here *plus*, the word for *no longer*, comes twice. Of the
#   three seeds one forgets it; one has it, and writes of a soldier; one loses *ne* and *au*, and has *pas* for *plus*.
#
# </details>

# %% [markdown]
# Now the translator is yours. Any words of the corpus will do; `the`, `a`, animals, people and everyday
# verbs are a good start. A word that the translator has never seen reaches it as `<unk>`.

# %% tags=["nbval-ignore-output"]
mine = ["the queen is eating an apple", "my brother does not see the dog"]
known = {pair.source for pair in short["train"]}
for found in translator.translate(mine):
    note = "(trained on)" if found.source in known else ""
    print(found.source, "->", found.text, note)

# %% [markdown]
# In the run stored here the second translation is wrong in a telling way. The frame around the verb, *mon
# frère ne … pas le chien*, is right; the verb is not *voit*, "sees".
#
# ### Three seeds, with and without the penalty (optional)
#
# The same training was repeated from three seeds, with the penalty and without it, and judged once on the
# {{ sizes["test"] }} test sentences. BLEU judges greedy translations: each step writes its most probable word.
# Beside them stands IBM Model 1 (1993), a word aligner without a network, which counts which words occur
# together in the same {{ f"{sizes['train']:,}" }} pairs. The first line of the card gives the command that
# reproduces these numbers.

# %%
from seqattn.data import measured
from seqattn.plots import ResultTable, experiment_card

stored = measured("additive")
experiment_card(stored["card"])


# %% tags=["hide-input", "hide-output", "hide-until-the-penalty"]
def low_high(values, form):
    return f"{min(values):{form}} to {max(values):{form}}"


runs = {
    "with the penalty": stored["runs"]["penalty"],
    "without": stored["runs"]["none"],
}
table, rows, yard = {}, [], stored["yardsticks"]
for name, found in runs.items():
    for what in ("aer", "bleu"):
        table[name, what] = [run["test"][what] for run in found]
    ranges = low_high(table[name, "aer"], ".3f"), low_high(table[name, "bleu"], ".1f")
    rows.append((name, *ranges))
for name, rule in {
    "ibm1": "ibm1",
    "diagonal": "diagonal",
    "best": "best single links",
}.items():
    rows.append((rule, f"{yard[name]:.3f}", ""))
note = "lowest to highest of three seeds, which draw the first weights alone"
ResultTable(("trained, or rule", "AER", "BLEU"), rows, "On the test pairs", note)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **With the penalty the error rates are lower**: {{ low_high(table["with the penalty", "aer"], ".2f") }} against
#   {{ low_high(table["without", "aer"], ".2f") }} without. Treat this as a hint, not as a result.
# - **In the translations no difference is seen.** The ranges of BLEU overlap.
# - **The yardsticks.** All six trainings are below the diagonal. The three with the penalty and the best without are
#   near IBM Model 1.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# - **Three seeds are few.** Every seed with the penalty has a lower error rate than every seed without; three seeds a
#   side separate by luck one time in ten ([chapter 17](17_evaluation.ipynb)). In [the capstone](20_study.ipynb), with
#   a factor of 0.1 and other settings, the ranges are apart at two of three learning rates.
# - **The way of counting matters.** With the penalty more words look most at `<eos>`, and a
#   missing link costs less than a wrong one. If those words count as wrong, the ranges overlap slightly (0.184 to
#   0.200 with it, 0.198 to 0.275 without).
# - **IBM Model 1** is level with
#   the worst seed that had the penalty, and less than 0.01 below the best that had none.
# - **Near copies.** {{ f"{yard['twins']:.0%}" }} of the test sentences differ from a training sentence in
#   a single word. On the other sentences the three seeds with the penalty have BLEU
#   {{ low_high([run["alone"]["bleu"] for run in runs["with the penalty"]], ".1f") }}. All come from one
#   small grammar.
# - **The learning rate** was chosen for the training with the penalty, with one seed; the training without it takes
#   the same. Validation BLEU: {{ ", ".join(f"{judged['bleu']:.1f} at {lr}" for lr, judged in stored["rates"].items()) }}.
# - The five sentences above were translated by beam search, here and with each of the seeds. The batches come in one order.
#
# </details>

# %% [markdown]
# ## The attention map, before and after training
#
# Here is the map of the cat, before training and after, and the trained map of the sentence that swaps
# subject and object. All three are maps of the *true* translation, on one scale, with French rows and English columns. Boxes mark the gold links. A word may have two: *au* stands for *the* and for a part of *misses*. The last column is the English end of sentence. Look at the rows of the first map.

# %% mystnb={"image": {"alt": "Three attention maps, gold links boxed. The cat sat on the mat, untrained: all cells are much alike. The same, trained: strong cells, most of them inside the boxes, run from top left to bottom right. The hero no longer misses him, trained: more blurred; il is strongest on the last English word, him, and the last French words are spread over the first English ones."}} tags=["hide-input"]
[cat, hero] = translator.force([FIVE[0], FIVE[4]])
figure, axes = plt.subplots(1, 3, figsize=(11, 3.9))
shown = [
    ("the cat, untrained", untrained, FIVE[0]),
    ("the cat, trained", cat, FIVE[0]),
    ("the hero, trained", hero, FIVE[4]),
]
for ax, (title, found, pair) in zip(axes, shown):
    found.plot(ax, title=title, links=pair.links, cbar=False, annotate=False)
plt.show()

# %% [markdown]
# The trained map of the cat is sharp. The map of the hero, whose translation failed, is blurred.
#
# The rows of the untrained map are *the same*, as the section on the tanh
# predicted: small weights, linear regime, no influence of the query.

# %% [markdown]
# ### A test for the linear regime (optional)
#
# All cells of an untrained map are much alike, so any two of its rows look alike. A fair test divides the change
# from row to row by the change from column to column. Where the ratio is small, the query hardly matters. The control is an
# untrained model with the product score of the next chapter, in which the query enters at first order:


# %%
def row_to_column(weights):
    """Spread from row to row, as a multiple of the spread along a row."""
    return (weights.std(0).mean() / weights.mean(0).std()).item()


# %% tags=["nbval-ignore-output"]
ratios, agree = {"additive": [], "general": []}, []
for score in ratios:
    for seed in range(5):
        torch.manual_seed(seed)
        config = ModelConfig(d_embed=64, d_hidden=96, score=score)
        fresh = build_model(config, *map(len, vocabularies))
        [found] = Translator(fresh, vocabularies).force([FIVE[0]])
        ratios[score].append(row_to_column(found.weights))
        agree.append(found.weights.std(0).max().item())
    print(f"untrained, {score:8s}", *(f"{r:.2f}" for r in sorted(ratios[score])))
print(f"trained,   additive  {row_to_column(cat.weights):.2f}")

# %% [markdown]
# The additive rows are the same: the change from row to row is about a hundredth of the change along a
# row, or less. In the control the two are of the same order. The more obvious test, "do the rows agree
# to within 0.01?", would have passed for both. Training had to leave this regime first, and it did.

# %% [markdown]
# ### What a map shows, and what it does not
#
# As a picture of *what the model attends to* the map is exact. As an alignment it is a good guess, and its errors are
# not random (an optional section below counts them). As a reason it has to be handled with care:
#
# - **A map says where the context came from, not why.** It does not say that the word would have been different
#   without these states; that takes an experiment ([chapter 9](09_explanations.ipynb)). Jain and Wallace (2019) and Wiegreffe and Pinter (2019) argue about how much can be said.
# - **A state is not a word.** $h_i$ has read the whole sentence from both ends; the state of *cat*
#   knows that *the* stands before it.
# - **The state that attends is $s_{t-1}$.** It does not yet know the last word, only what it expected.
# - **A map can be shifted.** Koehn and Knowles (2017) found a German–English translator that translated well although its maps were off
#   by one word.
# - **AER judges the largest weight alone.** A row that hesitates, 0.51 to 0.49, counts like one that
#   is certain.

# %% [markdown]
# ### How far off are the misses? (optional)
#
# Take the target words of the test sentences whose largest weight is on a wrong source word (not on `<eos>`). How many miss by one word? In sentences this short many wrong words *are* neighbours
# of the right one, so the second line gives the share for a wrong word drawn at random. The third line
# gives, of the misses by one word, the share that lie one word to the *right*; the fourth is its share at random.

# %%
for name, found in runs.items():
    for what, label in (
        ("near", "near"),
        ("chance", "at random"),
        ("right", "to the right"),
        ("right_chance", "at random"),
    ):
        seeds = "  ".join(f"{run['misses'][what]:.0%}" for run in found)
        print(f"{name:17s} {label:13s} {seeds}")

# %% [markdown]
# Three misses of four land on a neighbour; drawn at random, a third would.
# And they lean to the right: the English word after the right one is taken more often than a neighbour drawn
# at random would be. An article that attends to its noun would explain this; the experiment does not test it.

# %% [markdown]
# ### The same on real sentences
#
# So far one grammar wrote every sentence. Now take sentences that people wrote: German captions of
# photographs from Multi30k {cite:p}`elliott2016`. The translator below has the decoder and the score of
# this chapter. It is larger, and reads and writes *pieces* of words: frequent words are one piece, rare ones are put together
# from several. ▁ is the space before a word. The card says how it was trained and by which rule the five captions were
# chosen, before anybody saw their translations.
#
# The rule looks for a trap in German. *Bereitet … zu*, "prepares", is one verb in two positions, and its
# second half closes the sentence. Which half will the English verb attend to?
#
# ```{predict} two-halves
# ```

# %% tags=["hide-input"]
from seqattn.data import measured
from seqattn.plots import ResultTable, experiment_card

real = measured("captions")
experiment_card(real["card"])

# %% tags=["hide-input", "hide-output", "hide-until-two-halves"]
rows = [(one["source"], one["text"], one["reference"]) for one in real["captions"]]
ResultTable(
    ("caption", "translation", "reference"), rows, "Five captions, greedy search"
)

# %% mystnb={"image": {"alt": "Attention map of the first caption, a row for each piece of the translation, a column for each piece of the German sentence. Man has most of its weight on Mann, preparing and food have most of theirs on bereitet, and stove has nearly all on Herd. The rows of A, on and the are spread out, and so is that of the full stop. No row has its largest weight on zu."}} tags=["hide-input", "hide-output", "hide-until-two-halves"]
from seqattn.plots import plot_attention


def map_of(one):
    return torch.tensor(one["weights"]), one["source_tokens"], one["tokens"]


weights, read, wrote = map_of(real["captions"][0])
plot_attention(weights, read, wrote)
plt.show()

# %% tags=["hide-input", "hide-output", "hide-until-two-halves"]
for piece, row in zip(wrote, weights):
    share, place = row.max(0)
    print(f"{piece:10s} looks most at {read[place]:10s} {share:.2f}")
verb = weights[wrote.index("▁preparing")]
halves = {half: verb[read.index(half)].item() for half in ("▁bereitet", "▁zu")}
food = weights[wrote.index("▁food"), read.index("▁Essen")].item()

# %% mystnb={"image": {"alt": "Attention maps of the other four captions. In the second, blond, woman and bar have one strong cell each. In the third, hard is strong at gleich and hats at farbigen, holding is strongest at halten and on at auf. In the fourth, whose German is cut into many pieces, most rows below preparing have several pale cells; the first in has one strong cell at Er, and C one at C. In the fifth, prepares, stand, day and store have one strong cell each."}} tags=["hide-input", "hide-output", "hide-until-two-halves"]
figure, axes = plt.subplots(2, 2, figsize=(8.8, 9.6), layout="constrained")
for number, (ax, one) in enumerate(zip(axes.flat, real["captions"][1:]), start=2):
    plot_attention(*map_of(one), ax=ax, annotate=False, cbar=False)
    ax.set_title(f"caption {number}")
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Two of the five are right, the first and the second, though not in the references' words. In the third, vests
# of the same colour became *hard hats*; the fourth breaks up at *Coffee-Shop* and *Erfrischung* (refreshment), read
# in many pieces; in the fifth, *Tagesgeschäft*, the day's business, became *day store*: *Geschäft* is also a shop.
#
# In the first map *man* looks most at *Mann*, *preparing* at *bereitet* and *stove* at *Herd*. But *food*
# looks most at *bereitet*, too, and gives *Essen*, the food, {{ f"{food:.2f}" }}. Yet it is right. In the third map
# *hard* looks at *gleich*, the first piece of *gleichfarbigen* (of the same colour), and something else
# was written. **A right word need not look most at its own source word, and a word that looks at the right place may still be wrong.**
#
# The row of *preparing* gives {{ f"{halves['▁bereitet']:.2f}" }} to *bereitet* and
# {{ f"{halves['▁zu']:.2f}" }} to *zu*; no row looks most at *zu*. The state of *bereitet* may know of *zu* all the same. Or *zu* was not needed: *bereitet* alone can mean *prepares*. In all five maps the verb's row looks most at the first half. In the third *holding* looks
# most at *halten*, and *on* at *auf*: a word for each half, and wrong (*sich aufhalten* is to
# stay somewhere).
#
# One run ([seed 4](training_runs.md)) and five sentences show what can happen, and measure nothing.
#
# </details>

# %% [markdown]
# ## Where it breaks
#
# **Memory.** A dot product goes from `(B, T, d)` and `(B, S, d)` to `(B, T, S)` in one matrix product.
# The additive score has to form `(B, T, S, d_a)` first, and keep it for the backward pass. With 64
# sentences of 50 words on each side and $d_a = 1000$ that is

# %%
numbers = 64 * 50 * 50 * 1000
print(f"{4 * numbers / 1e9:.2f} GB for z, as 32-bit floats")
print(f"{4 * numbers / 1000 / 1e6:.2f} MB for the scores")

# %% [markdown]
# In Bahdanau's order this tensor is computed one step at a time; the total memory is the same. Nor can fast matrix hardware
# speed up the additions and tanhs. For these reasons the next chapters use products.
#
# **Saturation.** The derivative of $\tanh z$ is $1 - \tanh^2 z$. Every gradient on its way from the score
# to $W_q$, $W_k$ or a state is multiplied by it. Multiply the states by 10 or by 100, which
# does to the sum what larger $W_q$ and $W_k$ would, and see what share of the hidden units has gone flat:

# %%
torch.manual_seed(0)
q, k = torch.randn(2, 1000, 2)  # random pairs of states
z = q @ W_q.float().T + k @ W_k.float().T
print("states times  mean slope  units with a slope below 0.01")
for scale in (0.1, 1, 10, 100):
    slope = 1 - (scale * z).tanh() ** 2
    flat = (slope < 0.01).float().mean()
    print(f"{scale:12}  {slope.mean():10.2f}  {flat:29.0%}")

# %% [markdown]
# Far out nearly every unit is at $+1$ or $-1$, and a small change of the query changes almost nothing. Hardly any
# gradient comes back, and the scores stop growing: that is the bound {eq}`eq-additive-bound`. The formula
# has **no scale** built in that would keep this in check.

# %% [markdown]
# ## Questions that readers ask
#
# <details><summary>Should v be an nn.Linear or an nn.Parameter?</summary>
#
# Either: `nn.Linear(d_a, 1, bias=False)` holds the same numbers. Leave its bias out; it does nothing but
# drift. Only the first draw of the weights differs.
#
# </details>
#
# <details><summary>“Output” or “hidden”: which of the encoder’s two results goes into attention?</summary>
#
# `nn.GRU` returns `output`, the top layer's state at *every* position, and `hidden`, the last state of
# each layer. Attention needs a state for each word: `output`. The decoder's start needs a summary:
# `hidden`. With `hidden` as the only key there is one position, its weight is 1, and you are back at the
# fixed vector of chapter 1.
#
# </details>
#
# <details><summary>Why do programs start the decoder with tanh(fc(cat(hidden[-2], hidden[-1])))?</summary>
#
# In a bidirectional `nn.GRU`, `hidden[-2]` is the last layer's forward state at the last word and
# `hidden[-1]` its backward state at the first word. The linear layer brings them to the decoder's size
# and the tanh to the range of a GRU's state. This is the package's `Bridge`. The paper takes `hidden[-1]`
# alone.
#
# </details>

# %% [markdown]
# <details><summary>Some programs fix MAX_LENGTH and make the scores with a Linear layer of that size. Must
# all sentences have one length?</summary>
#
# No. Those programs compute scores from the decoder's state and last word alone, one output for each
# *position*, and never compare with the encoder's states. That is a location score, and it has no weight
# for word 31 if it was built for 30. The additive score compares, so any length will do. The test: change
# an encoder state, and the weights must move.
#
# </details>
#
# <details><summary>Is adding cheaper than multiplying?</summary>
#
# Per number, hardly. Per score, the additive form needs $d_a$ additions, tanhs and multiplications, and
# room for all of them. A dot product needs as many multiplications and no tanh, and a matrix product
# computes it without storing the parts.
#
# </details>
#
# <details><summary>My model is called “Bahdanau” and behaves like Luong’s. Why?</summary>
#
# In several libraries the name chooses the score alone, and the decoder's order is Luong's. Score and
# order are two choices. Use the probe.
#
# </details>

# %% [markdown]
# ## Check yourself
#
# ```{self-check} one-step
# ```
#
# ```{self-check} how-many-weights
# ```
#
# ```{self-check} wandering-bias
# ```
#
# ```{self-check} no-tanh
# ```
#
# ```{self-check} row-four-moves
# ```
#
# ```{self-check} keys-once
# ```
#
# This one belongs to the optional section on misses; you can also count:
#
# ```{self-check} chance-of-a-neighbour
# ```

# %% [markdown]
# ## What you now know
#
# - The additive score $v^\top\tanh(W_q s + W_k h_i)$ is a network with one hidden layer that reads a
#   pair of states of any two sizes; "concat" is the same with the weights in one matrix.
# - It is bounded by $\lVert v\rVert_1$. A bias inside the tanh changes weights; one after $v$ does not.
# - Bahdanau's decoder attends with $s_{t-1}$, then takes its recurrent step. Order and score are independent choices.
# - Keys are projected once for each sentence.
# - The bend of the tanh lets the query matter.
# - In these trainings alignment emerged from translation alone. A penalty can ask that each word be attended to about once; here
#   every seed with it had a lower error rate (by a second way of counting the ranges overlap), and in the translations
#   no difference was seen.
#
# **Now you.** [The exercise](../exercises/03_additive.ipynb) has you write the score, the masked
# softmax, the context and a module that learns, and checks them.
#
# **The whole translator on one page.** [Two whole models](whole_models.ipynb) has encoder, attention, decoder and search in plain PyTorch, to read
# from top to bottom or to copy.
#
# **Next.** A product in place of the sum: the multiplicative scores, which need no room for
# `(B, T, S, d_a)`, bring a danger of their own, and lead to the Transformer.

# %% [markdown]
# ## Sources
#
# - The score, the decoder and the remark on computing $W_k h_i$ once: *Neural Machine Translation by
#   Jointly Learning to Align and Translate* {cite:p}`bahdanau2015`, section 3.1 and appendix A.
# - "Concat", and the other order: *Effective Approaches to Attention-based Neural Machine Translation*
#   {cite:p}`luong2015`.
# - Maxout: {cite:t}`goodfellow2013`. The penalty: *Show, Attend and Tell* {cite:p}`xu2015`, equation 14.
#   Alignment error rate: {cite:t}`och2003`.
# - What maps say: *Six Challenges for Neural Machine Translation* {cite:p}`koehn2017`; *Attention is not
#   Explanation* {cite:p}`jain2019`; *Attention is not not Explanation* {cite:p}`wiegreffe2019`.
# - The captions: Multi30k {cite:p}`elliott2016`. Five are quoted; the corpus itself is not part of this book.
