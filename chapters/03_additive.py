# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 50
#     covers: [F-05, F-06, F-09, W-01, W-04, D-03, D-04, D-13, D-20, D-21]
#     exercise: 03_additive
# ---

# %% [markdown]
# # Additive attention
#
# A decoder state and an encoder state need not have the same size, nor mean the same thing number by
# number. In this chapter a small network learns to compare them, the network that began neural
# attention, and you train a translator around it until it knows which word comes from which.
#
# **You need** [soft addressing](02_soft_addressing.ipynb): softmax, masks, the weighted sum. **It
# covers** the additive score by hand, in PyTorch and as a network; the order of events in the
# decoder; what can be computed once; why the tanh has to bend; training, and the alignment that
# comes out of it without being asked for.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# The dot product of the last chapter compares first number with first number, second with second.
# It has nothing to learn. Here is a score that has: it maps both states into a common space by a
# matrix each, adds them there, bends the sum, and weighs what comes out. The figure shows every
# number on the way from the decoder state $s$ to the weights of three words.
#
# Look at the column that comes from $s$: it is the same for every word. And last chapter's softmax
# ignores what is the same for every word. Answer the question, then move $s$.

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from seqattn.data import TINY
from seqattn.plots import BLUE, GREY, use_style
from seqattn.widgets import AdditiveSteps, LinearRegime

use_style()
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_default_dtype(torch.float64)  # to compare to the last digit

AdditiveSteps()

# %% [markdown]
# What to try:
#
# - Move $s$ to $(-1, 0.5)$. The largest weight goes from *cat* to *mat*, although the same two
#   numbers were added for each word.
# - Watch the column after the tanh while you do so. Its entries never leave the range from $-1$ to
#   $1$: a sum that was large before hardly moves, one near zero moves a lot. That is how one shift
#   can mean different things for different words.
# - Take $s$ to its limits, $(2, -2)$ and $(-2, 2)$. The scores stay within a fixed range, whatever
#   you do.
#
# ## By hand
#
# The numbers of the whole book: decoder state $s = (0.5, 1.0)$, encoder states $h_i$ for *cat*,
# *sat*, *mat* as in the last chapter. The score has two matrices and a vector,
# $W_q = \begin{pmatrix} 0.2 & -0.3 \\ -1.0 & 0.6 \end{pmatrix}$,
# $W_k = \begin{pmatrix} 0.2 & -0.6 \\ 0.5 & 0.9 \end{pmatrix}$ and $v = (1.0, 1.5)$.
#
# The query is projected once. The first number of $W_q s$ is $0.2\cdot 0.5 - 0.3\cdot 1.0$
# $= -0.2$, the second $-1.0\cdot 0.5 + 0.6\cdot 1.0 = 0.1$. Then one line for each word:
#
# | word | state $h_i$ | key $W_k h_i$ | sum $W_q s + W_k h_i$ | tanh of it | score |
# |---|---|---|---|---|---|
# | cat | 1.0, 0.5 | −0.10, 0.95 | −0.30, 1.05 | −0.29, 0.78 | 0.88 |
# | sat | −0.5, 1.5 | −1.00, 1.10 | −1.20, 1.20 | −0.83, 0.83 | 0.42 |
# | mat | 0.5, −1.0 | 0.70, −0.65 | 0.50, −0.55 | 0.46, −0.50 | −0.29 |
#
# The last column is $v$ times the column before it: for *cat*, $1.0\cdot(-0.29) + 1.5\cdot 0.78$
# $= 0.88$.
#
# From here on nothing is new. The exponentials of the scores are 2.41, 1.52 and 0.75, their sum is
# 4.68, and the weights are 0.52, 0.32 and 0.16. The context is the mixture $0.52\,(1.0, 0.5)$
# $+\ 0.32\,(-0.5, 1.5)$ $+\ 0.16\,(0.5, -1.0)$ $\approx (0.43, 0.58)$. (With the weights rounded to
# two decimals you get 0.44 for the first number; the cell keeps all digits.)

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
by_hand = torch.tensor([[0.88, 0.42, -0.29], [0.52, 0.32, 0.16]])
for ours, paper in zip((scores, weights), by_hand):
    torch.testing.assert_close(ours, paper, rtol=0, atol=0.005)
print("weights", weights)
print("context", context)

# %% [markdown]
# ## In general: a network with two layers
#
# Let $h_i$ be the encoder state at source position $i$, with $d_h$ numbers, and let $s$ be the
# decoder state that asks, with $d_s$ numbers. Which decoder state that is, at step $t$, comes
# later in this chapter; Bahdanau et al. (2015) take the one *before* the step, $s_{t-1}$. Their
# score is
#
# $$ e_{ti} = v^\top \tanh(W_q\, s_{t-1} + W_k\, h_i) $$ (eq-additive-score)
#
# with weights that are learned along with the rest of the model: $W_q$, $(d_a \times d_s)$, and
# $W_k$, $(d_a \times d_h)$, map both states into a space of $d_a$ numbers, the *comparison space*,
# and $v$, with $d_a$ numbers, turns what is found there into one score. The tanh works on each
# number by itself. The paper calls $W_q, W_k, v$ by $W_a, U_a, v_a$.
#
# Put the two states below each other, $[s; h_i]$, and the two matrices side by side, $[W_q \mid
# W_k]$. Then this is a feed-forward network with one hidden layer of $d_a$ units and one output:
#
# $$
# \begin{aligned}
# z_{ti} &= [W_q \mid W_k]\,[s_{t-1}; h_i] = W_q s_{t-1} + W_k h_i \\
# e_{ti} &= \sum_{k=1}^{d_a} v_k \tanh(z_{tik})
# \end{aligned}
# $$ (eq-concat-is-additive)
#
# Here $z_{tik}$ is the $k$-th number of $z_{ti}$. Each hidden unit is a detector: it draws a line (in
# more dimensions, a hyperplane) through the space of pairs and says on which side the pair lies, with a
# soft edge. Some could learn "a verb is due and this word is a verb", and $v_k$ says how much that
# counts, and with which sign. No one tells them what to detect.
#
# Three things can be read off.
#
# **Sizes are free.** $d_s$, $d_h$ and $d_a$ may all differ. The weights are
#
# $$ d_a d_s + d_a d_h + d_a = d_a\,(d_s + d_h + 1) $$ (eq-additive-parameters)
#
# numbers. With $d_s = 1000$, $d_h = 2000$ and $d_a = 1000$, the sizes of the paper, three million.
#
# **Scores are bounded.** The tanh lies between $-1$ and $1$, so
#
# $$ |e_{ti}| \le \sum_{k=1}^{d_a} |v_k| = \lVert v \rVert_1 $$ (eq-additive-bound)
#
# however long the states are. For the numbers above that is 2.5: two scores differ by at most 5 and
# their weights by a factor of at most $\exp(5) \approx 148$. To attend more sharply than that, the
# network must enlarge $v$. A dot product knows no such limit.
#
# **Where a bias would matter.** The paper has none. One added *inside* the tanh, $\tanh(\dots + b)$,
# moves every detector's edge and is a real change; then $d_a$ more numbers are learned, and one such
# vector is enough, since a bias on each of the two matrices would only be added up. One added *after*
# $v$ is the same for all positions: the softmax removes it, and its gradient is zero for ever.

# %%
from seqattn import BahdanauAttention, additive_score

attention = BahdanauAttention(d_query=1000, d_key=2000, d_attn=1000)
count = sum(p.numel() for p in attention.parameters())
assert count == 1000 * (1000 + 2000 + 1)
print(f"{count:,} parameters")

torch.manual_seed(0)
huge = 1000 * torch.randn(1, 50, 2)
extreme = additive_score(huge, h[None], W_q, W_k, v).abs().max()
print(f"largest |score| in 150 pairs of huge states: {extreme:.2f}")

plain = additive_score(s[None], h[None], W_q, W_k, v)
inside = additive_score(s[None], h[None], W_q, W_k, v, b=torch.ones(2))
print("no bias      ", plain.softmax(-1)[0])
print("after v      ", (plain + 7).softmax(-1)[0])
print("inside tanh  ", inside.softmax(-1)[0])

# %% [markdown]
# ## Five lines of PyTorch
#
# Now for a batch: $B$ sentences, $T$ queries for each, $S$ positions. Every query has to meet every
# key, so make room for both axes and let broadcasting form the pairs: `(B, T, 1, d_a)` plus
# `(B, 1, S, d_a)` is `(B, T, S, d_a)`.


# %%
def additive_by_hand(query, keys, W_q, W_k, v):
    q = query @ W_q.T  # (B, T, d_s) -> (B, T, d_a)
    k = keys @ W_k.T  # (B, S, d_h) -> (B, S, d_a)
    z = q[:, :, None, :] + k[:, None, :, :]  # (B, T, S, d_a)
    return torch.tanh(z) @ v  # (B, T, S)


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
# Two vectorised versions that agree can share a mistake. So check once against the formula itself,
# one pair at a time and in plain Python, and then the version with one large matrix:

# %%
for b, t, i in [(0, 0, 0), (0, 2, 4), (1, 1, 3)]:
    z = [
        sum(A_q[k, j] * query[b, t, j] for j in range(d_s))
        + sum(A_k[k, j] * keys[b, i, j] for j in range(d_h))
        for k in range(d_a)
    ]
    e = sum(u[k] * math.tanh(z[k]) for k in range(d_a))
    torch.testing.assert_close(scores[b, t, i], e)

each_query = query[:, :, None].expand(B, T, S, d_s)
each_key = keys[:, None].expand(B, T, S, d_h)
pairs = torch.cat([each_query, each_key], -1)
concat = torch.tanh(pairs @ torch.cat([A_q, A_k], 1).T) @ u
torch.testing.assert_close(concat, scores)

# %% [markdown]
# So the "concat" score that you will meet in other texts, and in Luong et al. (2015), is the
# additive score ({eq}`eq-concat-is-additive`). It is not another mechanism, only another way to
# store the weights, and a wasteful way to compute them: the states are copied $T \cdot S$ times and
# multiplied each time.
#
# **The common mistake** is to forget one of the two `None`s. Often PyTorch refuses. But let there be
# as many queries as positions, when a sentence attends to itself or in a test that was written with
# $T = S$:

# %%
square = torch.randn(B, S, d_s)  # as many queries as positions
q, k = square @ A_q.T, keys @ A_k.T
wrong = torch.tanh(q + k) @ u  # no error
right = additive_by_hand(square, keys, A_q, A_k, u)
print("meant", tuple(right.shape), " got", tuple(wrong.shape))
torch.testing.assert_close(wrong, right.diagonal(dim1=1, dim2=2))

# %% [markdown]
# The result has one score where there should be a row of them: query 1 has met key 1 alone, query 2
# key 2. Softmax accepts this tensor, too. So test with sizes that are all different; 2, 3, 5 and 7
# are good ones.
#
# ## Masks, and the order of events in the decoder
#
# The additive score has no mask of its own. What [soft addressing](02_soft_addressing.ipynb) said
# holds unchanged: scores of pads are blocked before the softmax, and the test is that more padding
# changes nothing. `BahdanauAttention` is that pipeline with the additive score in it:

# %%
from seqattn import attend, padding_mask

attention = BahdanauAttention(d_query=4, d_key=6, d_attn=7)
mask = padding_mask(torch.tensor([5, 3]))
context, weights = attention(query, keys, mask=mask)
score = additive_score(query, keys, *attention.parameters())
expected = attend(score, keys, mask)
torch.testing.assert_close((context, weights), tuple(expected))

longer, more = F.pad(keys, (0, 0, 0, 9)), F.pad(mask, (0, 9))
padded = attention(query, longer, mask=more)
torch.testing.assert_close(padded.context, context)
print("context", tuple(context.shape), " weights", tuple(weights.shape))

# %% [markdown]
# What remains is when to ask, and what to do with the answer. Let $y_{t-1}$ be the last target token
# and $E$ the matrix of target embeddings, so that $E y_{t-1}$ is that token's embedding. A decoder
# in the manner of Bahdanau et al. does, at every step $t$,
#
# $$
# \begin{aligned}
# e_{ti} &= v^\top \tanh(W_q s_{t-1} + W_k h_i) && \text{score} \\
# \alpha_{ti} &= \frac{\exp(e_{ti})}{\sum_j \exp(e_{tj})} && \text{weights} \\
# c_t &= \sum_i \alpha_{ti} h_i && \text{context} \\
# s_t &= \mathrm{GRU}\big(s_{t-1}, [E y_{t-1}; c_t]\big) && \text{update} \\
# p(y_t \mid y_{<t}, x) &= \mathrm{softmax}\big(W_o\, g(s_t, c_t, E y_{t-1})\big) && \text{readout}
# \end{aligned}
# $$ (eq-additive-decoder)
#
# $[a; b]$ is concatenation, $g$ a small layer (maxout in the paper), $W_o$ gives one number for each
# word of the vocabulary, and GRU is a gated recurrent unit, whose gates all see the context. The
# first state, $s_0$, is a tanh layer on the encoder's last backward state. In code, without the
# readout:


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
# Look at the order: the state that asks has not yet read $y_{t-1}$. When the decoder decides where
# to look for word $t$, it knows the words up to $t-2$ by heart and word $t-1$ only in so far as it
# expected it. Luong et al. (2015) turned the two lines round: update first, then ask with $s_t$. And
# that choice has nothing to do with the choice of score; each score goes with each order.
#
# A probe shows which of the two a decoder does, whatever its name says. Change the token that step 4
# reads, and see which rows of the attention map move. **Predict** the four entries:

# %%
from seqattn.models import ModelConfig, build_model

source, lengths = torch.tensor([[5, 6, 7, 8, 2]]), torch.tensor([5])
# In the second target step 4 reads another word:
targets = torch.tensor([[[1, 4, 5, 6, 7, 8]], [[1, 4, 5, 9, 7, 8]]])
for style in ("bahdanau", "luong"):
    for score in ("additive", "general"):
        torch.manual_seed(0)
        config = ModelConfig(style, d_embed=8, d_hidden=16, score=score)
        model = build_model(config, 10, 10).eval()
        weights = [model(source, lengths, y).weights[0] for y in targets]
        moved = (weights[0] - weights[1]).abs().amax(-1) > 1e-9
        steps = [t for t in range(1, 7) if moved[t - 1]]
        print(f"{style:8s} order, {score:8s} score: rows {steps} move")

# %% [markdown]
# The order decides and the score does not. In Bahdanau's order the token read at step 4 is first
# felt in row 5. (So a map that looks shifted by one row may be right, or may come from code that
# calls itself "Luong" and attends too early. This probe tells.)
#
# ## Keys once
#
# In {eq}`eq-additive-score` the term $W_k h_i$ has no $t$ in it. The encoder states do not change
# while the translation is written, so their projections can be computed once for the sentence, and
# $W_q s_{t-1}$ once for the step. What is left for each pair is an addition, a tanh, and the product
# with $v$. Bahdanau et al. say so in their appendix. Counted in multiplications, for $T_s$ source
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
# In the package the part that is done once is called `remember`, and what it returns is handed to
# every step. You need not believe the formula. PyTorch can count the multiplications of a program
# (its counter reports each as two operations, a product and a sum, and it knows products of
# matrices; the last product, with the vector $v$, it leaves out, so that one is added by hand).

# %%
from torch.utils.flop_counter import FlopCounterMode

T_s, T_t, d_s, d_h, d_a = 30, 30, 1000, 2000, 1000
attention = BahdanauAttention(d_s, d_h, d_a)
states, steps = torch.randn(1, T_s, d_h), torch.randn(T_t, 1, d_s)


def count_multiplications(program):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        program()
    return counter.get_total_flops() // 2 + T_t * T_s * d_a


def each_step_anew():
    return [attention(s_t, states).context for s_t in steps]


def keys_once():
    memory = attention.remember(states)
    return [attention(s_t, memory).context for s_t in steps]


torch.testing.assert_close(each_step_anew(), keys_once())

# %%
sums = T_t * T_s * d_h  # the weighted sums, beside the scores
anew = count_multiplications(each_step_anew) - sums
once = count_multiplications(keys_once) - sums
assert anew == T_t * d_a * (d_s + T_s * d_h + T_s)
assert once == T_s * d_a * d_h + T_t * d_a * d_s + T_t * T_s * d_a
print(f"each step anew {anew:13,}")
print(f"keys once      {once:13,}")
print(f"{anew / once:.0f} times as many")

# %% [markdown]
# The same contexts, for a twentieth of the work. It comes from one fact, that nothing mixes query
# and key *before* the sum inside the tanh. A network that mixed them earlier, with a second hidden
# layer, say, would have to pay for each pair.
#
# ## What the tanh is for
#
# Take the tanh away. Then the score is $v^\top W_q s_{t-1} + v^\top W_k h_i$, and the first term is the
# same for every position: the softmax removes it. **The weights would not depend on the query at
# all.** The decoder could ask what it likes and would always get the same answer. In the example by
# hand, with the states $(0.5, 1.0)$ and $(-1, 0.5)$ asking:
#
# | score without tanh | cat | sat | mat |
# |---|---|---|---|
# | $v^\top W_k h_i$ alone | 1.325 | 0.650 | −0.275 |
# | plus $v^\top W_q s = -0.05$, for $s = (0.5, 1.0)$ | 1.275 | 0.600 | −0.325 |
# | plus $v^\top W_q s = 1.60$, for $s = (-1, 0.5)$ | 2.925 | 2.250 | 1.325 |
#
# The rows differ by a constant; all three give the weights 0.58, 0.30, 0.12.
#
# And near zero the tanh *is* a straight line: $\tanh x = x - x^3/3 + \dots$ Scale everything inside
# it by a small number $\lambda > 0$, and with $z_{ti} = W_q s_{t-1} + W_k h_i$ as above, cubes taken
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
# The keys are felt at first order, the query only at third. Predict, then move $\lambda$.

# %% tags=["hide-input"]
LinearRegime()

# %% [markdown]
# Each step of ten to the left divides the difference between the two queries by a thousand. The
# weights themselves become equal, too, since all scores shrink; so look at the second number as well,
# the difference relative to how far the weights are from uniform. It shrinks by a hundred. To take
# the uniformity out altogether, divide $v$ by $\lambda$: then the keys keep their full effect.

# %%
queries = torch.tensor([[[0.5, 1.0], [-1.0, 0.5]]])  # two questions
print("lambda  difference of two rows of weights")
for scale in (1.0, 0.1, 0.01):
    small = scale * queries, scale * h[None]
    e = additive_score(*small, W_q, W_k, v / scale)
    first, second = e.softmax(-1)[0]
    print(f"{scale:6}  {(first - second).abs().max():.5f}")

keys_alone = (h @ W_k.T @ v).softmax(-1)
torch.testing.assert_close(first, keys_alone, rtol=0, atol=1e-4)
print("weights with no query at all:", keys_alone)

# %% [markdown]
# Now the weights are far from uniform and, at $\lambda = 0.01$, the same for both questions to four
# digits. Networks are initialised with small weights, so an additive attention *starts* close to this
# regime: nearly the same row for every target word. Large states or weights bend it. At the other end
# all units are saturated at $\pm 1$, and then no gradient comes through the tanh. Learning happens
# between the two.
#
# ## Train one
#
# Time to let it learn. The book's toy corpus is drawn from a grammar: English sentences and their
# French translations, with real differences in word order, and with **gold alignments**: the grammar
# knows which word came from which. The model never sees those. It gets pairs of sentences and is
# asked to predict each French word from the ones before it and from the English sentence. We keep to
# sentences of at most eight words, so that it takes seconds.

# %%
from seqattn.data import Batches, Vocabularies, encode_pairs, toy_corpus

corpus = toy_corpus(8000)
short = {split: [p for p in pairs if len(p.source.split()) <= 8] for split, pairs in corpus.items()}
vocabularies = Vocabularies.learn(short["train"], ("en", "fr"))
examples = encode_pairs(short["train"], vocabularies)
batches = Batches(examples, tokens=512)
print(len(examples), "pairs to train on; to test on:")
print(short["test"][0].source, "->", short["test"][0].target)

# %% [markdown]
# (The cat is a test sentence: the model will not be trained on it.) The model is a bidirectional GRU
# encoder, the decoder of {eq}`eq-additive-decoder`, and additive attention with $d_a = 32$, small in
# every way. To see *when* it learns to look, we measure how well its map agrees with the gold
# alignment, on held-out sentences. Link each target word with the source word of its largest weight;
# call these links $A$, and the gold links $G$. The **alignment error rate** is
#
# $$ \mathrm{AER} = 1 - \frac{2\,|A \cap G|}{|A| + |G|} $$ (eq-aer)
#
# with $|\cdot|$ the number of links, summed over all sentences first: 0 if the two agree, 1 if they
# have nothing in common. (The full definition tells sure from possible links; a grammar is always
# sure.) Two yardsticks: the rule "word 1 goes with word 1, word 2 with word 2, ...", and the best that
# one link for each target word can do, since some words have two.

# %%
from seqattn.metrics import alignment_error_rate
from seqattn.training import alignment_links
from seqattn.translator import Translator

held_out, gold = short["valid"], [pair.links for pair in short["valid"]]


def error_rate(model):
    maps = Translator(model, vocabularies).force(held_out)
    found = [alignment_links(m.weights) for m in maps]
    return alignment_error_rate(found, gold, gold)


ends = [[max(side) + 1 for side in zip(*links)] for links in gold]
straight = [{(i, i) for i in range(min(pair))} for pair in ends]
diagonal = alignment_error_rate(straight, gold, gold)
print(f"AER of the diagonal:              {diagonal:.2f}")

one_each = [  # of each target word's gold links, the first
    {min(g for g in links if g[1] == t) for _, t in links} for links in gold
]
best = alignment_error_rate(one_each, gold, gold)
print(f"AER of one right link for a word: {best:.2f}")

# %% [markdown]
# And the training, with nothing hidden. `force` above and the model below both read the *true* words
# so far (teacher forcing); `ignore_index=0` leaves pads out of the loss.

# %%
torch.set_default_dtype(torch.float32)  # faster, and enough
torch.manual_seed(0)
config = ModelConfig(d_embed=64, d_hidden=64, d_attn=32, dropout=0.0)
model = build_model(config, *map(len, vocabularies))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

cat = [short["test"][0]]  # the cat sat on the mat
[untrained] = Translator(model, vocabularies).force(cat)
error_rates, losses = [error_rate(model)], []

# %%
for epoch in range(5):
    for batch in batches.epoch(epoch):
        logits, _ = model(batch.source, batch.lengths, batch.inputs)
        loss = F.cross_entropy(logits.mT, batch.targets, ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    error_rates.append(error_rate(model))

assert losses[-1] < losses[0] / 4
assert error_rates[0] > 0.7
assert error_rates[-1] < 0.45 < diagonal

# %% mystnb={"image": {"alt": "Line chart over five epochs. The alignment error rate starts above 0.8, crosses the dashed line of the diagonal at about 0.5 in the third epoch and levels off near 0.4, well above the dotted line of the best possible at 0.06."}} tags=["hide-input"]
figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(error_rates, marker="o", color=BLUE, label="attention, largest weight")
axes.axhline(diagonal, color=GREY, linestyle="--", label="the diagonal")
axes.axhline(best, color=GREY, linestyle=":", label="best with one link a word")
axes.set(xlabel="epochs of training", ylabel="AER", ylim=(0, 1))
axes.set_title("Alignment comes with the translation")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# The error rate more than halves though no link was ever shown. Why should it? Because the fastest way
# to predict *chat* is to fetch the state of *cat*. The gradient of the loss passes through
# {eq}`eq-soft-lookup` and raises the score of whatever state would have helped. Alignment is learned
# since it is useful for translating, and so far as it is.
#
# Here is the map of one sentence, before training and after. Rows are French words, columns English
# ones; boxes mark the gold links.

# %% mystnb={"image": {"alt": "Two attention maps of The cat sat on the mat against its French translation, gold links boxed. Untrained: every row is the same pale grey, one seventh for each word. Trained: dark cells, most of them in or next to the boxes, run from top left to bottom right."}}
[trained] = Translator(model, vocabularies).force(cat)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
maps = {"untrained": untrained, "after five epochs": trained}
look = {"links": cat[0].links, "cbar": False, "annotate": False}
for ax, (title, found) in zip(axes, maps.items()):
    found.plot(ax, title=title, **look)
plt.show()

# %% [markdown]
# The untrained map is not only pale. Its rows are the same, as the last section said they would be:
# small weights, linear regime, no influence of the query. Training had to leave that regime first.

# %%
for found, name in ((untrained, "untrained"), (trained, "trained")):
    alike = found.weights.std(0).max() < 0.01
    print(f"{name:9s} rows alike to within 0.01: {bool(alike)}")

# %% [markdown]
# ### What a map is, and what it is not
#
# It is tempting to read the map as the model's reasons. Be careful.
#
# - **A map says where the context came from, not why.** The row of a word gives the shares of the
#   states in $c_t$. It does not say that the word would have been different without them; that takes
#   an experiment. Jain and Wallace (2019) and Wiegreffe and Pinter (2019) argue about how much can
#   be said, and a later chapter does the experiments.
# - **A state is not a word.** $h_i$ has read the whole sentence from both ends; the state of *cat*
#   knows that *the* stands before it. To choose between *le* and *la* the decoder needs the gender of
#   the noun, so a glance at *cat* while writing *le*, as in the map above, is good sense. The gold
#   link goes to *the*, and the error rate counts it as a mistake.
# - **The state that asks is $s_{t-1}$.** It does not yet know the last word, only what it expected.
#   Koehn and Knowles (2017) met a German–English translator whose maps were off by one word, and which
#   translated well.
# - **AER judges the largest weight alone.** A row that hesitates, 0.51 to 0.49, counts like one that
#   is certain.
#
# You can measure how far the misses go:

# %% tags=["nbval-ignore-output"]
maps = Translator(model, vocabularies).force(held_out)
missed = near = 0
for found, links in zip(maps, gold):
    for i, t in alignment_links(found.weights):
        true = [a for a, b in links if b == t]
        if true and i not in true:
            missed += 1
            near += min(abs(i - a) for a in true) == 1
assert near / missed > 0.5
print(f"one word away: {near / missed:.0%} of the misses")

# %% [markdown]
# The neighbour's state is where the wanted word is still fresh. As a picture of *what the model
# attends to* the map is exact; as an alignment it is a good guess with a systematic error.
#
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
# In Bahdanau's order it comes in $T$ portions, as each query waits for the state before; the sum is
# the same. **Time:** adding and bending is work that fast matrix hardware cannot help with, which is
# the main reason why the next chapters use products.
#
# **Saturation.** The derivative of $\tanh z$ is $1 - \tanh^2 z$, and every gradient on its way from
# the score to $W_q$, $W_k$ or a state is multiplied by it. Multiply the states by 10 or by 100, as a
# model may do that wants sharper weights, and see what share of the hidden units still bends:

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
# Far out nearly every unit says $+1$ or $-1$, whatever the query. It learns nothing and passes nothing
# back, and the scores no longer grow either: that is the bound {eq}`eq-additive-bound`. **No scale**
# is built in that would prevent it: double the states and you have another mechanism, closer to the
# linear regime at one end, to a network of switches at the other.
#
# ## Check yourself
#
# **1.** A model has $d_s = 512$, a bidirectional encoder with 512 numbers in each direction, and
# $d_a = 256$. How many weights has the additive score?
#
# <details><summary>Answer</summary>
#
# $d_h = 1024$, so $256\cdot(512 + 1024 + 1) = 393\,472$.
#
# </details>
#
# **2.** A friend adds a bias to the last layer, $v^\top\tanh(\dots) + b$, and finds that after a day of
# training $b$ is still zero. A bug?
#
# <details><summary>Answer</summary>
#
# No. The same number is added to all scores of a row, the softmax removes it, and so the loss does not
# depend on it: its gradient is exactly zero. It is harmless and useless.
#
# </details>
#
# **3.** You replace the tanh by the identity "to speed it up". Training runs, the loss falls. What will
# the attention maps look like?
#
# <details><summary>Answer</summary>
#
# All rows of a map are equal: the query's term cancels. The model has learned *one* set of weights for
# each source sentence, so it is a fixed-context model with a learned average. (A ReLU in place of the
# tanh would do: what counts is the bend.)
#
# </details>
#
# **4.** You change the word that the decoder reads at step 4, and row 4 of the map moves. Which order
# does the decoder follow? What does that say about its score function?
#
# <details><summary>Answer</summary>
#
# It updates first and asks with $s_4$, Luong's order. About the score it says nothing.
#
# </details>
#
# **5.** Why can keys be projected once for a sentence, but queries only one step at a time, and what is
# different in training with Luong's order?
#
# <details><summary>Answer</summary>
#
# Encoder states are known before decoding begins. The query $s_{t-1}$ depends on $c_{t-1}$, and so on
# the attention of the step before. Where the recurrence reads no context (Luong's order without input
# feeding) all states are known in training, and all queries can be scored at once.
#
# </details>
#
# ## What you now know
#
# - The additive score $v^\top\tanh(W_q s + W_k h_i)$ is a network with one hidden layer that reads a
#   pair of states of any two sizes; "concat" is the same with the weights in one matrix.
# - It is bounded by $\lVert v\rVert_1$. A bias matters inside the tanh and nowhere else.
# - Bahdanau's decoder asks with $s_{t-1}$, then updates. Order and score are independent choices, and a
#   probe tells which order a program follows.
# - Keys are projected once for each sentence, a twentieth of the multiplications in our example.
# - Only the bend of the tanh lets the query matter.
# - Alignment emerges from training on translation alone. A map shows where the context came from.
#
# **Now you.** [The exercise](../exercises/03_additive.ipynb) has you write the score, the masked
# softmax, the context and a module that learns, and checks them.
#
# **Next.** A product in place of the sum: the multiplicative scores, which need no room for
# `(B, T, S, d_a)`, bring a danger of their own, and lead to the Transformer.
#
# **Sources**
#
# - The score, the decoder and the remark on computing $W_k h_i$ once: *Neural Machine Translation by
#   Jointly Learning to Align and Translate* {cite:p}`bahdanau2015`, section 3.1 and appendix A.
# - "Concat", and the other order: *Effective Approaches to Attention-based Neural Machine Translation*
#   {cite:p}`luong2015`.
# - Maxout: {cite:t}`goodfellow2013`. Alignment error rate: {cite:t}`och2003`.
# - What maps say: *Six Challenges for Neural Machine Translation* {cite:p}`koehn2017`; *Attention is not
#   Explanation* {cite:p}`jain2019`; *Attention is not not Explanation* {cite:p}`wiegreffe2019`.
