# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 50
#     covers: [F-07, F-08, F-09, F-35, W-04, V-04, M-02, D-05, D-06, D-20, D-23]
#     exercise: 04_scores
# ---

# %% [markdown]
# # 4. Multiplicative scores
#
# A product of two states needs no tanh, and no vector for every pair of query and key. Luong, Pham and
# Manning (2015) compared several such scores. You take the product apart into direction and length. Then
# you put a matrix between the two states and see what it buys: sizes that need not agree, and
# *asymmetry*. Last comes a score that never looks at the keys, and a test that shows what it cannot do.
#
# **You need** [soft addressing](02_soft_addressing.ipynb) and [the additive
# score](03_additive.ipynb). **This chapter covers** the dot, general, concat and location scores; the geometry of
# a product; the two parts of a matrix; and the order of multiplication.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Here are the three encoder states of the last chapter, *cat*, *sat* and *mat*, and the query, the decoder state
# $s$. Of the three arrows, *cat* points most nearly in the direction of $s$. Yet *sat* gets
# the highest dot product. Why? Look at the lengths. Then answer the question and turn $s$: drag it, or
# use the sliders.

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from seqattn.data import FIVE, TINY, measured
from seqattn.plots import (
    GREY,
    WEIGHTS,
    ResultTable,
    experiment_card,
    plot_attention,
    use_style,
)
from seqattn.widgets import ScoreGeometry, TurnedQuestion

use_style()
torch.set_printoptions(precision=3, sci_mode=False)
torch.set_default_dtype(torch.float64)  # to compare to the last digit

ScoreGeometry()

# %% [markdown]
# What to try:
#
# - Turn $s$ until the score of *sat* is negative. Now make *sat* longer, and watch its weight fall.
# - Choose *cosine*, and change the lengths again.
# - Choose *general*. A second arrow appears: the query after a matrix has turned it. The states are
#   compared with that arrow.
#
# ## By hand
#
# The numbers are those of the whole book: $s = (0.5, 1.0)$, and the states in the table. The *dot
# product* multiplies first number by first number and second by second, and adds. For *cat* that is
# $0.5\cdot 1.0 + 1.0\cdot 0.5 = 1.00$. The length of a vector, $\lVert s\rVert$, is the root of the sum
# of its squares; the length of $s$ is 1.118.
#
# | word | state $h_i$ | score $s^\top h_i$ | length $\lVert h_i\rVert$ | angle to $s$ | cosine |
# |---|---|---|---|---|---|
# | cat | 1.0, 0.5 | 1.00 | 1.118 | 36.9° | 0.800 |
# | sat | −0.5, 1.5 | 1.25 | 1.581 | 45.0° | 0.707 |
# | mat | 0.5, −1.0 | −0.75 | 1.118 | 126.9° | −0.600 |
#
# *Cat* has the smallest angle and *sat* the longest arrow, and *sat* wins.

# %%
s, h = TINY.s, TINY.h
scores, lengths = h @ s, h.norm(dim=1)
cosines = scores / (s.norm() * lengths)
print("scores ", scores)
print("lengths", lengths, " of s:", f"{s.norm():.3f}")
print("angles ", cosines.acos().rad2deg())
print("cosines", cosines)
print("weights", scores.softmax(0))

# %% [markdown]
# ## The dot score, and its geometry
#
# Let the decoder state $s_t$ and the encoder states $h_i$ all have $d$ numbers. Luong et al. attend with
# the state *after* the recurrent step, hence the $t$. The score is
#
# $$ e_{ti} = s_t^\top h_i = \sum_{k=1}^{d} s_{tk}\, h_{ik} $$ (eq-dot-score)
#
# It has no weights of its own, and both states must have the same size. In any number of dimensions the
# same number is
#
# $$ s_t^\top h_i = \lVert s_t\rVert\, \lVert h_i\rVert \cos\theta_{ti} $$ (eq-dot-geometry)
#
# where $\theta_{ti}$ is the angle between the two. So three things can make a score large: a long query,
# a long key, and a small angle.
#
# ### What the length of the query does
#
# Multiply the query by a number $c > 0$. Then *every* score of the row is multiplied by $c$:
#
# $$ \mathrm{softmax}_i\big((c\,s_t)^\top h_i\big)
#    = \mathrm{softmax}_i\Big(\frac{s_t^\top h_i}{1/c}\Big) $$ (eq-dot-norm-is-temperature)
#
# This is the softmax of [soft addressing](02_soft_addressing.ipynb) at temperature $1/c$. A long query
# gives sharp weights, a short one even weights. **Its length can never change the order of the keys.**
#
# ### What the length of a key does
#
# Multiply one key by $c$ and *one* score is multiplied. The order may change. The figure had one query
# at a time; now count over many.
#
# ```{predict} long-key
# ```


# %% tags=["hide-input", "hide-output", "hide-until-long-key"]
def first_and_last(keys, queries):
    """Share of queries for which key 0 scores highest, and lowest."""
    e = queries @ keys.mT
    return [(best(-1) == 0).double().mean().item() for best in (e.argmax, e.argmin)]


found = {}
for d in (2, 16, 64):
    torch.manual_seed(0)
    keys, queries = torch.randn(200, 8, d), torch.randn(200, 1000, d)
    longer = keys.clone()
    longer[:, 0] *= 2  # the same directions, one key twice as long
    kinds = {
        "as drawn": keys,
        "doubled": longer,
        "by cosine": F.normalize(longer, dim=-1),
    }
    found[d] = {kind: first_and_last(k, queries) for kind, k in kinds.items()}
    for kind, (first, last) in found[d].items():
        print(f"d = {d:2d}  {kind:9s}  first {first:.1%}  last {last:.1%}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Both shares double, in 2, 16 and 64 dimensions alike. A product is positive for one half of all
# directions and negative for the other half. Doubling the key takes each score further from zero, on
# either side. So a long key is loud for queries that point its way, and ends up last for those that
# point away. The cosine does not notice.
#
# In a trained model nothing is drawn at random: the model can turn its queries towards a long key.
#
# </details>
#
# ## The general score: ask another question
#
# What if the two states differ in size, or their numbers do not mean the same things? Put a matrix
# between them, with $W$ of shape $(d_s \times d_h)$ for states of $d_s$ and $d_h$ numbers:
#
# $$ e_{ti} = s_t^\top W\, h_i $$ (eq-general-score)
#
# This form is linear in $s_t$ and linear in $h_i$: it is *bilinear*. Set the brackets differently and
# you see what it does:
#
# $$ s_t^\top W h_i = (W^\top s_t)^\top h_i $$ (eq-general-is-rotated-dot)
#
# It is a dot product with another query, the new question $W^\top s_t$. The matrix turns and stretches the query, and gives it as many numbers as a key has. With $W = I$,
# the identity, the dot score comes back. $W$ is learned.

# %% [markdown]
# On paper, take $W = \begin{pmatrix} 0.3 & 0.4 \\ 0.2 & -0.5 \end{pmatrix}$. The first number of the new
# question is $0.5\cdot 0.3 + 1.0\cdot 0.2 = 0.35$, the second $0.5\cdot 0.4 - 1.0\cdot 0.5 = -0.30$. The
# scores of *cat*, *sat* and *mat* are 0.200, −0.625 and 0.475. *Mat*, which was last, is first.
#
# **A common mistake** is $W^\top$ in place of $W$. If $d_s \ne d_h$, PyTorch refuses. If the sizes are
# equal, nothing does. The cell computes both:

# %%
for name, matrix in {"W": TINY.W, "W transposed": TINY.W.T}.items():
    question = s @ matrix
    print(f"{name:12s} question", question)
    print("             scores  ", h @ question)
    print("             weights ", (h @ question).softmax(0))

# %% [markdown]
# The order of the words is the same both times, and the weights are close: on a map you would hardly
# see the mistake. A model that *trains* with the transposed matrix is fine. What breaks is a check against another program, and every file of trained weights that is carried over. So test with
# two sizes that differ.
#
# ## In a few lines, and for a batch
#
# For a batch of $B$ sentences with $T$ queries and $S$ keys, both scores are matrix products. Nothing of
# shape `(B, T, S, d)` is ever formed. The cell compares them with the package, and with the two sums of
# the formula written out.

# %%
from seqattn import dot_score, general_score

torch.manual_seed(0)
query, keys, W = torch.randn(2, 3, 4), torch.randn(2, 5, 7), torch.randn(4, 7)
general = (query @ W) @ keys.mT  # (B, T, d_s) -> (B, T, d_h) -> (B, T, S)
by_sums = torch.einsum("btj,jk,bsk->bts", query, W, keys)  # over j and over k
torch.testing.assert_close(general, by_sums)
torch.testing.assert_close(general, general_score(query, keys, W))
torch.testing.assert_close(keys @ keys.mT, dot_score(keys, keys))

# %% [markdown]
# ## What a matrix can do that a dot product cannot
#
# Let queries and keys be drawn from the same things, as when a sentence attends to itself. The dot
# product is *symmetric*: $a^\top b = b^\top a$. The score of a pair is the same, whichever of the two
# is the query. A matrix need not be symmetric. Every square matrix is the sum of two parts:
#
# $$ W = \underbrace{\tfrac12 (W + W^\top)}_{\text{symmetric: compares}}
#      + \underbrace{\tfrac12 (W - W^\top)}_{\text{skew: orders}} $$ (eq-general-parts)
#
# *Skew* is short for skew-symmetric: transposing such a part changes its sign. So for any states $a$ and
# $b$
#
# $$
# \begin{aligned}
# a^\top (W - W^\top)\, a &= 0 \\
# a^\top (W - W^\top)\, b &= -\,b^\top (W - W^\top)\, a
# \end{aligned}
# $$ (eq-skew-orders)
#
# The skew part gives every state a score of 0 with itself. If it prefers the pair $(a, b)$, it disfavours the
# pair $(b, a)$ by as much.
#
# In the figure six states stand round a circle. State 1 is the query, and a matrix turns it. A turn by
# $\varphi$ is $\cos\varphi$ times the identity, which is symmetric, plus $\sin\varphi$ times a quarter
# turn, which is skew. Answer, then find the turn that makes every state attend most to the next one.

# %% tags=["hide-input"]
TurnedQuestion()

# %% [markdown]
# ### Measured: find the next one
#
# Twelve random vectors of length 1, with 16 numbers each, stand in a ring. The query is one of them; the right answer is the *next*.
# Each score that has something to learn gets 300 updates on all twelve queries, the rows of $x$. The test is what a
# score *can* express, not what it generalises to. How many of the twelve does it then answer? Guessing
# gets one on average.
#
# ```{predict} next-one
# ```

# %%
from seqattn import additive_score

SCORES = {
    "dot": lambda x: x @ x.T,
    "symmetric part": lambda x, W: x @ (W + W.T) @ x.T,
    "skew part": lambda x, W: x @ (W - W.T) @ x.T,
    "general": lambda x, W: x @ W @ x.T,
    "additive": lambda x, *weights: additive_score(x[None], x[None], *weights)[0],
}


# %% tags=["hide-input", "hide-output", "hide-until-next-one"]
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


shapes = {name: [(16, 16)] for name in ("symmetric part", "skew part", "general")}
tasks = [(name, SCORES[name], shapes.get(name, [])) for name in list(SCORES)[:4]]
for d_a in (1, 2, 3):
    sizes = [(d_a, 16), (d_a, 16), (d_a,)]
    tasks.append((f"additive, d_a = {d_a}", SCORES["additive"], sizes))
right = {}
for name, score, sizes in tasks:
    right[name] = [ask_for_the_next(score, sizes, seed) for seed in range(5)]
    count = sum(math.prod(size) for size in sizes)
    print(f"{name:18s} {count:3d} weights: right of 12, five seeds: {right[name]}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **Dot** finds the query itself, always: no vector of length 1 fits $x_i$ better than $x_i$.
# - **The symmetric part** is learned, and no seed gets all twelve. None can. Write $e_i$ for the score
#   that $x_i$ and $x_{i+1}$ give each other. If $x_i$ is to prefer $x_{i+1}$ to $x_{i-1}$, then
#   $e_i > e_{i-1}$. Scores that rise all the way round a ring do not exist.
# - **The skew part alone** answers all twelve, and so does the general score that contains it.
# - **The additive score** with one detector gets one. Its score rises, or falls, with one number of
#   the key, whatever the query is; so all twelve look at the same vector. With three it is right, with
#   fewer weights than the matrix: it treats query and key differently from the start.
#
# </details>

# %% [markdown]
# **The dot product cannot tell “first $a$, then $b$” from “first $b$, then $a$”**, and more weights do not help as long as the matrix is symmetric. A Transformer's two matrices, for queries and for keys, can tell them apart.
#
# ## Concat, and one table for all
#
# Luong et al. list a third score, *concat*: $v^\top \tanh(W_c\,[s_t; h_i])$, with query and key in one
# long vector. Cut its matrix where the query ends, $W_c = [W_q \mid W_k]$, and it is the additive score
# ({eq}`eq-concat-is-additive`). Here are six scores on the same three words. Two belong to the next
# chapter: *scaled dot* divides by the root of the size; *reduced rank* has a matrix of rank 1.

# %%
from seqattn import concat_score, reduced_rank_score, scaled_dot_score

ask, keys = TINY.query, TINY.keys
table = {
    "additive": additive_score(ask, keys, TINY.W_q, TINY.W_k, TINY.v),
    "dot": dot_score(ask, keys),
    "scaled dot": scaled_dot_score(ask, keys),
    "general": general_score(ask, keys, TINY.W),
    "concat": concat_score(ask, keys, TINY.W_c, TINY.v),
    "reduced rank": reduced_rank_score(ask, keys, TINY.U, TINY.V),
}
weights = {name: score.softmax(-1)[0] for name, score in table.items()}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six small bar charts side by side, one for each score, with the weights of cat, sat and mat. Cat is highest for the additive and the reduced-rank score, sat for dot, scaled dot and concat, mat for general."}}
figure, panels = plt.subplots(1, 6, figsize=(8.4, 2.2), sharey=True)
for ax, (name, row) in zip(panels, weights.items()):
    colours = [WEIGHTS if w == row.max() else GREY for w in row]
    ax.bar(TINY.words, row, color=colours)
    ax.set_title(name, fontsize=10)
panels[0].set_ylabel("weight")
plt.show()

# %% tags=["hide-input", "hide-output"]
rows = []
for name, row in weights.items():
    context = ", ".join(f"{x:.3f}" for x in row @ h)
    rows.append([name, *(f"{w:.3f}" for w in row), context])
heads = ("score", *TINY.words, "context")
ResultTable(heads, rows, "Weights of three words, by six scores")

# %% [markdown]
# **A score is a choice of what "fits" means.** Three different winners among six scores, on the same states. (*Additive* and *concat* differ here because the book's example gives them different matrices.)
#
# ## The order of multiplication
#
# $s^\top W h_i$ can be computed in two orders. Let the source have $T_s$ words and the target $T_t$.
# Counted in multiplications for *one* step:
#
# $$
# \begin{aligned}
# s^\top (W h_i),\ \text{all keys projected:}\quad & T_s\, d_s d_h + T_s\, d_s \\
# (s^\top W)\, h_i,\ \text{the query turned:}\quad & d_s d_h + T_s\, d_h
# \end{aligned}
# $$ (eq-order-of-multiplication)
#
# The query changes at each step, the keys do not: as with the additive score, $W h_i$ can be computed once
# for the sentence. So which order is the cheaper one?
#
# ```{predict} break-even
# ```

# %%
states, W = torch.randn(50, 256), torch.randn(256, 256)  # of 50 source words


def keys_once(steps):
    projected = states @ W.T
    return [step[None] @ projected.T for step in steps]


def query_first(steps):
    return [(step[None] @ W) @ states.T for step in steps]


# %% tags=["hide-input", "hide-output", "hide-until-break-even"]
def multiplications(program, steps):
    with FlopCounterMode(display=False) as counter:
        program(steps)
    return counter.get_total_flops() // 2  # a product and a sum count as two


counted = {}
for T_t in (1, 25, 50, 100):
    steps = torch.randn(T_t, 256)
    torch.testing.assert_close(keys_once(steps), query_first(steps))
    counted[T_t] = [multiplications(way, steps) for way in (keys_once, query_first)]
    once, turned = counted[T_t]
    print(f"{T_t:3d} target words: keys once {once:10,}  query first {turned:10,}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# For one step it is far cheaper to turn the query. For a sentence, and states of one size $d$, the totals are $T_s d^2 + T_t T_s d$ and $T_t d^2 + T_t T_s d$. They meet
# exactly where the target is as long as the source, $T_t = T_s$; beyond that, projecting the keys is
# cheaper. Neither order is always better. The package projects the keys; `attention.remember(keys)`
# does so once for a sentence.
#
# </details>
#
# ## A score that never looks at the keys
#
# Luong et al. describe one more score. It has no key in it. With $W_a$ of shape $(L \times d_s)$,
#
# $$ \alpha_t = \mathrm{softmax}(W_a\, s_t) $$ (eq-location-score)
#
# Row $i$ of $W_a$ scores *position* $i$, whatever word stands there, and $L$ is the number of positions
# that it knows. A source of $T_s$ words uses the first $T_s$ rows. The context is still a sum
# of encoder states, so the source is read; but the decoder state alone decides where. The weights depend on the source
# only as far as that state does.

# %%
from seqattn import LocationAttention

torch.manual_seed(0)
attention, state = LocationAttention(d_query=4, max_len=16), torch.randn(1, 4)
one, other = (attention(state, torch.randn(1, 6, 8)).weights for _ in range(2))
assert torch.equal(one, other)  # two sources that have nothing in common
try:
    attention(state, torch.randn(1, 17, 8))
except ValueError as error:
    print(str(error).split(":")[0])

# %% [markdown]
# What does that cost a translator? A small one was trained with each of four scores, all
# else alike and three seeds. It learned from toy sentences of at most eight
# words and their end mark, and was judged once: on
# test sentences as short as those of the training, and on sentences of 11 or 12 words, longer than any in
# training. Beside them stand the fixed vector of chapter 1, and two rules for links: the diagonal, and links drawn
# at random.
#
# ```{predict} location-short
# ```


# %% tags=["hide-input"]
stored = measured("location")
experiment_card(stored["card"])


# %% tags=["hide-input", "hide-output", "hide-until-location-short"]
def seeds_of(score, split, what, form):
    values = [run[split][what] for run in stored["runs"][score]]
    return f"{min(values):{form}} to {max(values):{form}}"


rows, trained = [], ("location", "additive", "general", "dot")
for score in trained:
    bleu = [seeds_of(score, split, "bleu", ".1f") for split in ("test", "longer")]
    aer = [seeds_of(score, split, "aer", ".2f") for split in ("test", "longer")]
    rows.append([score, *bleu, *aer])
fixed = [seeds_of("fixed", split, "bleu", ".1f") for split in ("test", "longer")]
rows.append(["fixed", *fixed, "", ""])
for rule in ("diagonal", "at random"):
    rates = [f"{stored['yardsticks'][split][rule]:.2f}" for split in ("test", "longer")]
    rows.append([rule, "", "", *rates])
heads = ("model or rule", "BLEU, short", "longer", "AER, short", "longer")
note = "lowest to highest of three seeds"
display(ResultTable(heads, rows, "Short and longer sentences", note))

heads = ("English", "location", "dot")
rows = [
    [pair.source, *(stored["runs"][score][0]["five"][i] for score in heads[1:])]
    for i, pair in enumerate(FIVE)
]
ResultTable(heads, rows, "The book's five sentences, greedy search, first seed")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **BLEU.** On the short sentences it is {{ seeds_of("location", "test", "bleu", ".1f") }} for the location score and
# {{ seeds_of("additive", "test", "bleu", ".1f") }} for the additive one. Every location seed is above every seed
# of the three other scores. Why? French words keep nearly the positions of their English ones, we guess, and $s_t$
# knows how far the translation has come. And each encoder state has read the whole sentence, so it can
# stand in for a neighbour.
#
# **Links** tell another story. The error rate of location is
# {{ seeds_of("location", "test", "aer", ".2f") }} on the short sentences. Those of general and dot are
# {{ seeds_of("general", "test", "aer", ".2f") }} and {{ seeds_of("dot", "test", "aer", ".2f") }}: far better, on
# longer sentences as well. But the
# additive score compares too, and on the short sentences one of its three seeds has worse links than every location
# seed. Its other two have better ones. So neither BLEU nor links tell which model compares.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# - The learning rate of each score was chosen among four, by BLEU on validation
#   sentences with one seed. Much depends on the rate:
#   location chose 0.03. At 0.01, the rate that general and additive chose, location was level with them (validation,
#   one seed). On the validation sentences, location and dot overlap.
# - On the longer sentences
#   location is above additive and dot; between it and general no difference is seen. There the links of location and of additive are worse than the diagonal's.
# - The three seeds draw nothing but the first weights. All this is one small grammar of one pair of languages, one size of model and eight
#   passes; longer training may change the order.
#
# </details>

# %% [markdown]
# **BLEU on sentences like those of the training is no test of a mechanism.** Luong et al. saw the same two sides: in their
# table 4 the location score has a higher BLEU than general and a lower one than dot, and they found that it does not
# learn good alignments. Look for a test that shows the mechanism:
#
# - *A source longer than $W_a$.* No training helps: there is no row. The package refused 17 words above.
# - *A position that training never reached.* Rows beyond the longest training sentence get no gradient.
#   Nothing but weight decay, a pull towards 0 that some optimisers add, ever changes them. BLEU on the longer sentences did not show it, so look at the rows themselves.
# - *Two sources, one state.* The weights are the same, bit for bit. The cell above asserted that as well.
#
# A score that compares is defined for a source of any length and changes with the source. Whether it
# translates longer sentences well is another question: here all of them fell.

# %% [markdown]
# ### How much of a real map is position? (optional)
#
# Take the five German captions of [chapter 3](03_additive.ipynb) and the maps of its additive model. That score compares. Could a reader who knows only the *positions* have
# drawn such a map? Average the maps of four captions, position by position, and lay the mean over the map of the
# fifth. The *overlap* of two rows is the sum of the smaller weights: 1 for equal rows, 0 for rows with
# nothing in common. The diagonal and equal weights stand beside it. The maps below are those of the first
# caption.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two attention maps of one German caption, a row for each English token. Its own map has most of the weight of man on Mann, of preparing and food on bereitet, and of stove on Herd. The map told from the places of four other captions keeps near the diagonal, sharp in its second to fourth rows and blurred further down."}}
captions = measured("captions")["captions"]
maps = [torch.tensor(one["weights"]).double() for one in captions]


def from_places(left_out):
    """Mean map of the other captions; equal weights where none of them reaches."""
    steps, places = maps[left_out].shape
    total = torch.full((steps, places), 1e-9)
    for i, other in enumerate(maps):
        if i != left_out:
            part = other[:steps, :places]
            total[: part.shape[0], : part.shape[1]] += part
    return total / total.sum(1, keepdim=True)


def overlap_of(one, other):
    return torch.minimum(one, other).sum(1).mean().item()


overlaps = {"places": [], "diagonal": [], "equal weights": []}
for i, real in enumerate(maps):
    overlaps["places"].append(overlap_of(from_places(i), real))
    last = real.shape[1] - 1
    diagonal = F.one_hot(torch.arange(len(real)).clamp(max=last), last + 1)
    overlaps["diagonal"].append(overlap_of(diagonal, real))
    overlaps["equal weights"].append(
        overlap_of(torch.ones_like(real) / (last + 1), real)
    )
rows = [[rule, *(f"{x:.2f}" for x in shares)] for rule, shares in overlaps.items()]
heads = ("rule", *"12345")
display(ResultTable(heads, rows, "Overlap with the model's map, captions 1 to 5"))

read, wrote = captions[0]["source_tokens"], captions[0]["tokens"]
figure, panels = plt.subplots(2, 1, figsize=(5.6, 8.4), layout="constrained")
for ax, title, map_ in zip(
    panels, ("its own", "from places"), (maps[0], from_places(0))
):
    plot_attention(map_, read, wrote, ax=ax, annotate=False)
    ax.set_title(title)
plt.show()

# %% [markdown]
# **Part of a map, above all its beginning, can be predicted without looking at any word**, even where the score compares
# words. For every
# caption the places tell more than equal weights. For three they tell more than the diagonal does, for two a
# little less. And in each caption the first half of the rows overlaps more than the second. All five
# begin in the same way, with people and usually a verb, which may be what makes beginnings easy to predict.

# %% [markdown]
# ## Where it breaks
#
# **Slicing to fit.** The dot score needs states of one size. A bidirectional encoder has larger ones. `keys[..., :d]` runs and throws away the backward half. Use the general score.
#
# **A name that means something else.** Some programs compare the score's name with two or three strings,
# and take the last score for anything else. Then a typo builds a different model. The package
# refuses it.
#
# **No bound of its own.** The additive score cannot exceed $\lVert v\rVert_1$. A product grows with the lengths of its vectors. If their numbers are independent, of mean 0 and variance 1, those lengths grow with $d$, and the variance of the product is $d$. For
# large $d$ the softmax can saturate before anything is learned. The next chapter derives this, and what
# to divide by.
#
# **Folklore.** "Bahdanau for small data, Luong for large" has no measurement behind it that we could find. In a
# large study of English to German the additive score came out slightly ahead of the multiplicative one
# {cite:p}`britz2017`. Choose a score by measuring it on validation data, with each at its own learning rate.

# %% [markdown]
# ## Questions that readers ask
#
# <details><summary>What is the difference between Bahdanau’s and Luong’s attention?</summary>
#
# Four choices that can be combined almost freely. The *score*: additive, or one of Luong's, mostly products.
# The *order*: Bahdanau's decoder attends with the state before the recurrent step, $s_{t-1}$, Luong's with the state
# after it, $s_t$. The *readout*: Luong et al. join context and state in an attentional vector, $\tilde s_t =
# \tanh(W_c [c_t; s_t])$ (not concat's $W_c$). *Input feeding*: they hand that vector to the next step. (Bahdanau's decoder takes $c_t$ into the recurrent step itself,
# and reads out by maxout.) In many programs the name means only the score.
#
# </details>

# %% [markdown]
# <details><summary>Without input feeding, can all steps of the decoder be scored at once?</summary>
#
# In training, yes, in Luong's order. The recurrence then reads the true words and no context. So all
# states $s_1 \ldots s_{T_t}$ are known first, and one matrix product scores them. When translating, the
# next word is not known yet, and the decoder goes step by step.
#
# </details>
#
# <details><summary>Dot, general or concat: which?</summary>
#
# Concat is the additive score in another notation. Dot has no weights of its own. It needs equal sizes, and an encoder whose states fit the
# queries; the encoder can learn such states, since both are trained jointly. General adds a matrix that turns the
# question. Which translates best is a matter of measurement, and of each score's learning rate.
#
# </details>
#
# <details><summary>Is attention without a query still attention?</summary>
#
# Some classifiers score each state with one learned vector, $v^\top \tanh(W h_i)$. That gives a learned
# average: every question gets the same answer. A translator asks anew for each word.
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
#
# ## What you now know
#
# - A dot product is length times length times cosine. The query's length is an inverse temperature. For
#   queries in random directions, a longer key is first more often and last more often.
# - The general score asks another question, $W^\top s$. Its symmetric part compares and its skew part
#   orders.
# - Concat is the additive score.
# - Turning the query is the cheap order for one step. Over a sentence, projecting the keys once costs the
#   same when source and target are equally long and both states have one size.
# - A location score does not compare. BLEU need not show that; a test that it must fail does.
#
# **Now you.** [The exercise](../exercises/04_scores.ipynb) has you write the scores, and a module around
# one of them.
#
# **Next.** What to divide a product by, and how to score with fewer numbers.
#
# ## Sources
#
# - Dot, general, concat and location; the attentional vector and input feeding: *Effective Approaches to
#   Attention-based Neural Machine Translation* {cite:p}`luong2015`, sections 3, 3.1 and 3.3.
# - The additive score: {cite:t}`bahdanau2015`. Separate matrices for queries and keys:
#   {cite:t}`vaswani2017`. The captions: Multi30k {cite:p}`elliott2016`.
