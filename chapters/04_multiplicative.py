# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-07, F-08, F-09, F-35, W-04, V-04, M-02, D-05, D-06, D-20, D-23]
#     exercise: 04_scores
# ---

# %% [markdown]
# # Multiplicative scores
#
# A product of two states needs no tanh and no room for pairs. Luong, Pham and Manning (2015) compared
# several such scores. You take the product apart into direction and length. Then you put a matrix in
# between and see what that buys: two sizes that need not agree, and *asymmetry*. Last comes a score that
# never looks at the keys, and a test that shows what it cannot do.
#
# **You need** [soft addressing](02_soft_addressing.ipynb) and [the additive
# score](03_additive.ipynb). **It covers** the dot, general, concat and location scores; the geometry of
# a product; the two parts of a matrix; and the order of multiplication.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Here are the three encoder states of the last chapter, *cat*, *sat* and *mat*, and the decoder state
# $s$ that asks. The arrow of *cat* points most nearly in the direction of $s$. Yet the dot product
# gives the highest score to *sat*. Why? Look at the lengths. Then answer the question and turn $s$:
# drag it, or use the sliders.

# %% tags=["hide-input"]
import torch
from torch.nn import functional as F

from seqattn.data import TINY
from seqattn.plots import GREY, WEIGHTS, ResultTable, use_style
from seqattn.widgets import ScoreGeometry, TurnedQuestion

use_style()
torch.set_printoptions(precision=3, sci_mode=False)
torch.set_default_dtype(torch.float64)  # to compare to the last digit

ScoreGeometry()

# %% [markdown]
# What to try:
#
# - Turn $s$ until *sat* is last. Now make *sat* longer, and watch its weight.
# - Choose *cosine*, and change the lengths again.
# - Choose *general*. A second arrow appears: the question after a matrix has turned it. That arrow
#   is what the states are compared with.

# %% [markdown]
# ## By hand
#
# The numbers are those of the whole book: $s = (0.5, 1.0)$, and the states in the table. The *dot
# product* multiplies first number by first number and second by second, and adds. For *cat* that is
# $0.5\cdot 1.0 + 1.0\cdot 0.5 = 1.00$. The length of a vector, $\lVert s\rVert$, is the root of the sum
# of its squares; that of $s$ is 1.118.
#
# | word | state $h_i$ | score $s^\top h_i$ | length $\lVert h_i\rVert$ | angle to $s$ | cosine |
# |---|---|---|---|---|---|
# | cat | 1.0, 0.5 | 1.00 | 1.118 | 36.9° | 0.800 |
# | sat | −0.5, 1.5 | 1.25 | 1.581 | 45.0° | 0.707 |
# | mat | 0.5, −1.0 | −0.75 | 1.118 | 126.9° | −0.600 |
#
# *Cat* has the smallest angle and *sat* the longest arrow, and *sat* wins. The cell checks every
# column:

# %%
s, h = TINY.s, TINY.h

scores = h @ s
lengths = h.norm(dim=1)
cosines = scores / (s.norm() * lengths)
angles = cosines.acos().rad2deg()
print("scores ", scores)
print("lengths", lengths, " of s:", f"{s.norm():.3f}")
print("angles ", angles)
print("cosines", cosines)
print("weights", scores.softmax(0))

# %% [markdown]
# ## The dot score, and its geometry
#
# Let the decoder state $s_t$ and the encoder states $h_i$ all have $d$ numbers. Luong et al. ask with
# the state *after* the update, hence the $t$. The score is
#
# $$ e_{ti} = s_t^\top h_i = \sum_{k=1}^{d} s_{tk}\, h_{ik} $$ (eq-dot-score)
#
# It has no weights of its own, and it needs both states to be of one size. In the plane, and in any
# number of dimensions, the same number is
#
# $$ s_t^\top h_i = \lVert s_t\rVert\, \lVert h_i\rVert \cos\theta_{ti} $$ (eq-dot-geometry)
#
# where $\theta_{ti}$ is the angle between the two. So there are three things that can make a score
# large: a long query, a long key, and a small angle. They do not play the same part.

# %% [markdown]
# ### What the length of the query does
#
# Multiply the query by a number $c > 0$. Then *every* score of the row is multiplied by $c$:
#
# $$ \mathrm{softmax}_i\big((c\,s_t)^\top h_i\big)
#    = \mathrm{softmax}_i\Big(\frac{s_t^\top h_i}{1/c}\Big) $$ (eq-dot-norm-is-temperature)
#
# That is the softmax of [soft addressing](02_soft_addressing.ipynb) with the temperature $1/c$. A long
# query asks sharply and a short one asks vaguely. **It can never change the order of the keys.**
#
# ### What the length of a key does
#
# Multiply one key by $c$ and *one* score is multiplied. The order may change. The figure had one query at
# a time; now count over many.
#
# ```{predict} long-key
# ```


# %% tags=["hide-output", "hide-until-long-key"]
def shares(keys, queries):
    """Share of queries for which key 0 scores highest, and lowest."""
    e = queries @ keys.mT
    return (e.argmax(-1) == 0).double().mean(), (e.argmin(-1) == 0).double().mean()


found = {}
for d in (2, 16, 64):
    torch.manual_seed(0)
    keys, queries = torch.randn(200, 8, d), torch.randn(200, 1000, d)
    longer = keys.clone()
    longer[:, 0] *= 2  # the same directions, one key twice as long
    found[d] = shares(keys, queries), shares(longer, queries)
    cosine = shares(F.normalize(longer, dim=-1), queries)
    for name, (first, last) in zip(("as drawn", "doubled"), found[d]):
        print(f"d = {d:2d}  {name:9s} first {first:.1%}  last {last:.1%}")
    print(f"        by cosine first {cosine[0]:.1%}  last {cosine[1]:.1%}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Both shares double, in 2, 16 and 64 dimensions alike. A product is positive for one half of all
# directions and negative for the other half. Doubling takes each score further from zero, on either
# side. So a long key is loud for those who point its way, and pushed to the end by those who point
# away. The cosine does not notice.
#
# </details>
#
# A trained model is no lottery. It can turn its queries so that a long key is heard often. But length
# alone does not make a key heard by everyone.

# %% [markdown]
# ## The general score: ask another question
#
# What if the two states differ in size, or their numbers do not mean the same things? Put a matrix
# between them, with $W$ of shape $(d_s \times d_h)$:
#
# $$ e_{ti} = s_t^\top W\, h_i $$ (eq-general-score)
#
# This form is linear in $s_t$ and linear in $h_i$: it is *bilinear*. Set the brackets differently and
# you see what it does:
#
# $$ s_t^\top W h_i = (W^\top s_t)^\top h_i $$ (eq-general-is-rotated-dot)
#
# It is a dot product with another question. $W^\top$ turns and stretches the query first. With $W = I$,
# the identity, the dot score comes back. $W$ is learned.
#
# On paper, with $W = \begin{pmatrix} 0.3 & 0.4 \\ 0.2 & -0.5 \end{pmatrix}$: the first
# number of the new question is $0.5\cdot 0.3 + 1.0\cdot 0.2 = 0.35$, the second
# $0.5\cdot 0.4 - 1.0\cdot 0.5 = -0.30$. The scores of *cat*, *sat* and *mat* are 0.200, −0.625 and 0.475. *Mat*, which was last, is first.

# %%
W = TINY.W
question = s @ W
print("question", question)
print("scores  ", h @ question)
print("weights ", (h @ question).softmax(0))

# %% [markdown]
# **The common mistake** is $W^\top$ in place of $W$. With $d_s \ne d_h$ PyTorch refuses. With equal sizes
# nothing does:

# %%
wrong = h @ (s @ W.T)
print("with W transposed", wrong)
print("weights          ", wrong.softmax(0))
assert wrong.argsort().equal((h @ question).argsort())  # even the order is the same

# %% [markdown]
# Here the order of the words is the same, and the weights are not far apart, so a map would hardly show it. A model that *trains* with the
# transposed matrix is fine: it learns the other one. What breaks is a check against another program,
# and every checkpoint that is carried over. So test with two sizes that differ.

# %% [markdown]
# ## In a few lines, and for a batch
#
# For a batch, $B$ sentences with $T$ queries and $S$ keys, both scores are matrix products. Nothing of
# shape `(B, T, S, d)` is ever formed:


# %%
def dot_by_hand(query, keys):
    return query @ keys.mT  # (B, T, d) @ (B, d, S) -> (B, T, S)


def general_by_hand(query, keys, W):
    return (query @ W) @ keys.mT  # (B, T, d_s) -> (B, T, d_h) -> (B, T, S)


# %%
from seqattn import dot_score, general_score

torch.manual_seed(0)
B, T, S, d_s, d_h = 2, 3, 5, 4, 7
query, keys = torch.randn(B, T, d_s), torch.randn(B, S, d_h)
A = torch.randn(d_s, d_h)
general = general_by_hand(query, keys, A)
torch.testing.assert_close(general, general_score(query, keys, A))
same_size = torch.randn(B, T, d_h)
torch.testing.assert_close(dot_by_hand(same_size, keys), dot_score(same_size, keys))

# and once against the formula itself, number by number
for b, t, i in [(0, 0, 0), (1, 2, 4)]:
    e = 0.0
    for j in range(d_s):
        for k in range(d_h):
            e += query[b, t, j] * A[j, k] * keys[b, i, k]
    torch.testing.assert_close(general[b, t, i], e)
print(tuple(general.shape))

# %% [markdown]
# ## What a matrix can do that a dot product cannot
#
# Let queries and keys be drawn from the same things, as when a sentence attends to itself. The dot
# product is *symmetric*: $a^\top b = b^\top a$. If the first finds the second, the second finds the
# first. A matrix need not be symmetric. Every square matrix is the sum of two parts:
#
# $$ W = \underbrace{\tfrac12 (W + W^\top)}_{\text{symmetric: compares}}
#      + \underbrace{\tfrac12 (W - W^\top)}_{\text{skew: orders}} $$ (eq-general-parts)
#
# The name *skew* is short for skew-symmetric: transposing such a part changes its sign. So for any $a$
#
# $$ a^\top (W - W^\top)\, a = 0, \qquad a^\top (W - W^\top)\, b = -\,b^\top (W - W^\top)\, a
# $$ (eq-skew-orders)
#
# The skew part never scores a state against itself. If it prefers the pair $(a, b)$, it disfavours the
# pair $(b, a)$ by as much.
#
# Six states stand round a circle. State 1 asks, through a matrix that turns. A turn by $\varphi$ is
# $\cos\varphi$ times the identity, which is symmetric, plus $\sin\varphi$ times a quarter turn, which is
# skew. Answer, then find the turn that makes every state look most at the next one.

# %% tags=["hide-input"]
TurnedQuestion()

# %% [markdown]
# ### Measured: ask for the next one
#
# Twelve random vectors of length 1, with 16 numbers each, stand in a ring. (With more numbers than
# vectors none of them is a mixture of the others.) The query is one of them;
# the answer is the *next*. Each score learns the task in 300 updates, where it has something to learn.
# How many of the twelve questions does it then answer? Guessing gets one on average.
#
# ```{predict} next-one
# ```


# %%
def ask_for_the_next(score, shapes, seed, lr=0.05):
    torch.manual_seed(seed)
    x = F.normalize(torch.randn(12, 16), dim=-1)
    following = torch.arange(12).roll(-1)
    start = [torch.randn(shape) / shape[-1] ** 0.5 for shape in shapes]
    weights = [w.requires_grad_() for w in start]
    optimizer = torch.optim.Adam(weights, lr) if weights else None
    for _ in range(300 if weights else 0):
        loss = F.cross_entropy(score(x, *weights), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (score(x, *weights).argmax(-1) == following).sum().item()


# %% tags=["hide-output", "hide-until-next-one"]
from seqattn import additive_score

matrix = [(16, 16)]
TASKS = {
    "dot": (lambda x: x @ x.T, []),
    "symmetric part": (lambda x, W: x @ (W + W.T) @ x.T, matrix),
    "skew part": (lambda x, W: x @ (W - W.T) @ x.T, matrix),
    "general": (lambda x, W: x @ W @ x.T, matrix),
}
for d_a in (1, 2, 3):
    TASKS[f"additive, d_a = {d_a}"] = (
        lambda x, *w: additive_score(x[None], x[None], *w)[0],
        [(d_a, 16), (d_a, 16), (d_a,)],
    )
right = {}
for name, (score, shapes) in TASKS.items():
    right[name] = [ask_for_the_next(score, shapes, seed) for seed in range(5)]
    size = sum(torch.Size(shape).numel() for shape in shapes)
    print(f"{name:18s} {size:3d} weights: right of 12, five seeds: {right[name]}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **Dot** finds the asking vector itself, always: no vector of length 1 fits $x_i$ better than $x_i$.
# - **The symmetric part** is learned, and no seed gets all twelve. None can. Write $e_i$ for the score
#   of the pair $(x_i, x_{i+1})$; both of them see the same number. If $x_i$ is to prefer $x_{i+1}$ to
#   $x_{i-1}$, then $e_i > e_{i-1}$. Scores that rise all the way round a ring do not exist.
# - **The skew part alone** answers all twelve, and so does the general score that contains it.
# - **The additive score** with one detector gets one. Its score rises, or falls, with one number of
#   the key, whatever the query is; so all twelve look at the same vector. With three it is
#   right, with fewer weights than the matrix: it treats query and key differently from the start.
#
# </details>
#
# So what the dot product lacks is not size. It lacks a direction from query to key. The two matrices of
# a Transformer, one for queries and one for keys, provide it.

# %% [markdown]
# ## Concat, and one table for all
#
# Luong et al. list a third score, *concat*: $v^\top \tanh(W_c\,[s_t; h_i])$, with query and key in one
# long vector. Cut its matrix where the query ends, $W_c = [W_q \mid W_k]$, and it is the additive score
# ({eq}`eq-concat-is-additive`). There is nothing more to it. Here are six scores on the same three words.
# (Two of them belong to the next chapter: *scaled dot*, a dot product over the root of its size, and
# *reduced rank*, a general score whose matrix has rank 1.)

# %%
from seqattn import concat_score, reduced_rank_score, scaled_dot_score

t = TINY
table = {
    "additive": additive_score(t.query, t.keys, t.W_q, t.W_k, t.v),
    "dot": dot_score(t.query, t.keys),
    "scaled dot": scaled_dot_score(t.query, t.keys),
    "general": general_score(t.query, t.keys, t.W),
    "concat": concat_score(t.query, t.keys, t.W_c, t.v),
    "reduced rank": reduced_rank_score(t.query, t.keys, t.U, t.V),
}
weights = {name: score.softmax(-1)[0] for name, score in table.items()}
rows = []
for name, row in weights.items():
    context = ", ".join(f"{x:.3f}" for x in row @ h)
    rows.append([name, *(f"{w:.3f}" for w in row), context])
heads = ("score", *t.words, "context")
ResultTable(heads, rows, "Weights of three words, by six scores")

# %% [markdown]
# (*Additive* and *concat* differ here because the book's example gives them different matrices.) Three
# different winners among six scores, on the same states. A score is a choice of what "fits" means. The
# picture is the same table:

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six small bar charts side by side, one for each score, with the weights of cat, sat and mat. Cat is highest for the additive and the reduced-rank score, sat for dot, scaled dot and concat, mat for general."}}
import matplotlib.pyplot as plt

figure, panels = plt.subplots(1, 6, figsize=(8.4, 2.2), sharey=True)
for ax, (name, row) in zip(panels, weights.items()):
    colours = [WEIGHTS if w == row.max() else GREY for w in row]
    ax.bar(t.words, row, color=colours)
    ax.set_title(name, fontsize=10)
panels[0].set_ylabel("weight")
plt.show()

# %% [markdown]
# ## The order of multiplication
#
# $s^\top W h_i$ can be computed in two orders. Here $T_s$ is the number of source words and $T_t$ that
# of target words. Counted in multiplications for *one* step:
#
# $$
# \begin{aligned}
# s^\top (W h_i),\ \text{all keys projected:}\quad & T_s\, d_s d_h + T_s\, d_s \\
# (s^\top W)\, h_i,\ \text{the query turned:}\quad & d_s d_h + T_s\, d_h
# \end{aligned}
# $$ (eq-order-of-multiplication)
#
# For one step the second is far cheaper. But the keys do not change from step to step: as with the
# additive score, $W h_i$ can be computed once for the sentence.
#
# ```{predict} break-even
# ```

# %%
from torch.utils.flop_counter import FlopCounterMode

d, T_s = 256, 50
W_big, states = torch.randn(d, d), torch.randn(T_s, d)


def multiplications(program, steps):
    with FlopCounterMode(display=False) as counter:
        program(steps)
    return counter.get_total_flops() // 2  # a product and a sum count as two


def keys_once(steps):
    projected = states @ W_big.T
    return [step[None] @ projected.T for step in steps]


def query_first(steps):
    return [(step[None] @ W_big) @ states.T for step in steps]


# %% tags=["hide-output", "hide-until-break-even"]
counted = {}
for T_t in (1, 25, 50, 100):
    steps = torch.randn(T_t, d)
    torch.testing.assert_close(keys_once(steps), query_first(steps))
    counted[T_t] = [multiplications(way, steps) for way in (keys_once, query_first)]
    once, turned = counted[T_t]
    print(f"{T_t:3d} target words: keys once {once:10,}  query first {turned:10,}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# The totals are $T_s d^2 + T_t T_s d$ and $T_t d^2 + T_t T_s d$. They meet exactly where the target is
# as long as the source, $T_t = T_s$; beyond that, projecting the keys is cheaper. Neither order is always better. The package projects
# the keys; `attention.remember(keys)` does so once for a sentence.
#
# </details>

# %% [markdown]
# ## A score that never looks at the keys
#
# Luong et al. describe one more. It has no key in it. With $W_a$ of shape $(L \times d_s)$,
#
# $$ \alpha_t = \mathrm{softmax}(W_a\, s_t) $$ (eq-location-score)
#
# Row $i$ of $W_a$ scores *position* $i$, whatever word stands there. (For a source of $T_s$ words the
# first $T_s$ rows are used.) The context is still a sum of encoder states, so the source is read; but
# the decoder state alone decides where. In a real model that state began as a summary of the source, so
# the weights may depend on the source by that way round.

# %%
from seqattn import LocationAttention

torch.manual_seed(0)
attention = LocationAttention(d_query=4, max_len=16)
state = torch.randn(1, 4)
one, other = (attention(state, torch.randn(1, 6, 8)).weights for _ in range(2))
assert torch.equal(one, other)  # two sources that have nothing in common
print(one[0])
try:
    attention(state, torch.randn(1, 17, 8))
except ValueError as error:
    print(error)

# %% [markdown]
# What does that cost a translator? The same model was trained with four scores: the same encoder, order
# of events, readout and batches, on toy sentences of at most eight words and their end mark. The learning
# rate of each score was chosen among four, by BLEU on validation sentences with one seed. Then three
# seeds were judged once: on test sentences as short as those of the training, and on sentences of 11 or
# 12 words, longer than any that was trained on. A fixed vector, the model of chapter 1, stands beside
# them; so do random links and the diagonal.
#
# ```{predict} location-short
# ```

# %%
from seqattn.data import measured
from seqattn.plots import experiment_card

stored = measured("location")
experiment_card(stored["card"])


# %% tags=["hide-output", "hide-until-location-short"]
def seeds_of(score, split, what, form):
    values = [run[split][what] for run in stored["runs"][score]]
    return f"{min(values):{form}} to {max(values):{form}}"


rows = []
for score in ("location", "additive", "general", "dot"):
    bleu = [seeds_of(score, split, "bleu", ".1f") for split in ("test", "longer")]
    aer = [seeds_of(score, split, "aer", ".2f") for split in ("test", "longer")]
    rows.append([score, *bleu, *aer])
fixed = [seeds_of("fixed", split, "bleu", ".1f") for split in ("test", "longer")]
rows.append(["fixed", *fixed, "", ""])
for rule in ("diagonal", "by lot"):
    rates = [f"{stored['yardsticks'][split][rule]:.2f}" for split in ("test", "longer")]
    rows.append([rule, "", "", *rates])
heads = ("model or rule", "BLEU, short", "longer", "AER, short", "longer")
note = "lowest to highest of three seeds"
ResultTable(heads, rows, "Short and longer sentences", note)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# On the short sentences BLEU is {{ seeds_of("location", "test", "bleu", ".1f") }} for the location score and
# {{ seeds_of("additive", "test", "bleu", ".1f") }} for the additive one. Every location seed is above every seed
# of the three other scores. On the longer sentences it is above the additive and the dot score; the range of
# the general score overlaps: no difference seen. That is not what one would expect of a score that compares
# nothing.
#
# Why does it work at all? Here is a guess. French words stand near the places of their English words, and
# $s_t$, which began as a summary of the source, knows how far the translation has come. Every encoder state
# has read the whole sentence; so a word can be found in the state of a neighbour.
#
# The **links** tell another story. The error rate of the location score is
# {{ seeds_of("location", "test", "aer", ".2f") }} on the short sentences, those of general and dot are
# {{ seeds_of("general", "test", "aer", ".2f") }} and {{ seeds_of("dot", "test", "aer", ".2f") }}: far better, on the
# longer sentences too. But the additive score compares as well, and its range includes that of the location
# score on the short ones. So neither BLEU nor links say who compares.
#
# </details>

# %% [markdown]
# Be careful with this table. It is one small grammar with one word order, one size of model and eight
# passes over the pairs; longer training may change the order. It does not say that the location score
# is the better one. It says that **BLEU on sentences like those of the training is no test of a
# mechanism**. Design a test that the mechanism must fail:
#
# - *A source longer than $W_a$.* No training helps: there is no row. The package refused 17 words above.
# - *A place that training never reached.* Rows beyond the longest training sentence get no gradient.
#   Nothing but weight decay ever changes them.
# - *Two sources, one state.* The weights are the same, bit for bit. You saw that above as well.
#
# A score that compares is defined for a source of any length and changes with the source. Whether it
# translates longer sentences well is another question, and has to be measured: here all of them fell.

# %% [markdown]
# ## Where it breaks
#
# **Slicing to fit.** The dot score needs states of one size. With a bidirectional encoder they differ,
# and a program that takes `keys[..., :d]` runs. It has thrown away the backward half. Use the general
# score, or project once.
#
# **A name that means something else.** A program that compares the score's name with two or three strings,
# and takes the last score for anything else, turns a slip of the pen into another model. The package
# refuses:

# %%
from seqattn import LuongAttention

try:
    LuongAttention(d_query=4, d_key=4, score="generall")
except ValueError as error:
    print(error)

# %% [markdown]
# **No bound.** The additive score cannot exceed $\lVert v\rVert_1$. A product can: with vectors of $d$
# independent random numbers of mean 0 and variance 1 its own variance is $d$. For large $d$ the softmax
# can saturate before anything has been learned. The next chapter derives this, and what to divide by.
#
# **Folklore.** "Bahdanau for small data, Luong for large" has no measurement behind it that we could
# find. "The general score is cheap" depends on the order of multiplication, as you counted. Choose a
# score by measuring it on validation data, with each at its own learning rate.

# %% [markdown]
# ## Questions that readers ask
#
# <details><summary>What is the difference between Bahdanau's and Luong's attention?</summary>
#
# Four choices, and they are independent. The *score*: additive, or one of Luong's, mostly products. The
# *order*: Bahdanau's decoder
# asks with the state before the update, $s_{t-1}$, Luong's with the state after it, $s_t$. The *readout*:
# Luong et al. join context and state in an attentional vector, $\tilde h_t = \tanh(W_r [c_t; s_t])$,
# and with *input feeding* they hand it to the next step. In
# many programs the name stands for the score alone.
#
# </details>
#
# <details><summary>Without input feeding, can all steps of the decoder be scored at once?</summary>
#
# In training, yes, in Luong's order. The recurrence then reads the true words and no context, so all
# states $s_1 \ldots s_{T_t}$ are known first, and one matrix product scores them. When translating, the
# next word is not known yet; there it goes step by step.
#
# </details>
#
# <details><summary>Dot, general or concat: which?</summary>
#
# Concat is additive. Dot is free where the sizes agree and the encoder can bring its states into the
# right position by itself; it may, since both are trained jointly. General adds a matrix that turns the
# question. Which translates best is a matter of measurement, and of the learning rate of each; the next
# chapter measures.
#
# </details>

# %% [markdown]
# <details><summary>Is attention without a query still attention?</summary>
#
# Some classifiers score each state with one learned vector, $v^\top \tanh(W h_i)$, and sum up. That is a
# learned average: every question gets the same answer. It can be useful. But it is not what a translator
# needs, which asks anew for each word.
#
# </details>

# %% [markdown]
# ## Check yourself
#
# ```{self-check} times-three
# ```
#
# ```{self-check} symmetric-scores
# ```
#
# ```{self-check} query-first
# ```
#
# ```{self-check} deaf-to-length
# ```
#
# ```{self-check} word-thirty-one
# ```

# %% [markdown]
# ## What you now know
#
# - A dot product is length times length times cosine. The query's length is an inverse temperature; a
#   key's length makes it first more often and last more often.
# - The general score asks another question, $W^\top s$. Its symmetric part compares and its skew part
#   orders.
# - Concat is the additive score.
# - Turning the query is the cheap order for one step; over a sentence, projecting the keys once costs the
#   same when source and target are equally long and the two states of one size.
# - A location score does not compare. BLEU need not show that; a test that it must fail does.
#
# **Now you.** [The exercise](../exercises/04_scores.ipynb) has you write the scores, and a module around
# one of them.
#
# **Next.** What to divide a product by, and how to score with fewer numbers.

# %% [markdown]
# ## Sources
#
# - Dot, general, concat and location; the attentional vector and input feeding: *Effective Approaches to
#   Attention-based Neural Machine Translation* {cite:p}`luong2015`, sections 3, 3.1 and 3.3.
# - The additive score: {cite:t}`bahdanau2015`. Separate matrices for queries and keys:
#   {cite:t}`vaswani2017`.
