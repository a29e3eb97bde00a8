# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [F-29, V-16, D-15]
#     exercise: 15_positions
# ---

# %% [markdown]
# # Positions
#
# Attention sees a set: exchange two words, and every weighted sum stays as it was. Here you put the order back, with
# waves, with a learned table, or by turning vectors. You see what a translator does without it, and how far
# each way carries beyond the sentences that were trained on.
#
# **You need** the scaled score from [chapter 5](05_scaled.ipynb) and heads from [chapter 13](13_heads.ipynb). **It covers**
# sinusoidal positions by hand and as a formula; why a shift is a turn; learned and rotary positions; translators
# with and without positions, on shuffled and on longer sentences.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# A small Transformer learns English to French *without any positions*. We then give it two sentences of the same
# words:
#
# > the cat sees the dog
# >
# > the dog sees the cat
#
# ```{predict} two-sentences
# ```

# %% tags=["hide-input"]

import matplotlib.pyplot as plt
import torch

from seqattn.data import FIVE, measured
from seqattn.models import ModelConfig, build_model
from seqattn.models.transformer import rotate_positions, sinusoidal_positions
from seqattn.plots import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    ResultTable,
    experiment_card,
    use_style,
)
from seqattn.widgets import PositionDials, TurnedQuestion

use_style()
torch.set_printoptions(precision=3, sci_mode=False, linewidth=90)
stored = measured("positions")
runs, longer = stored["runs"], stored["longer"]
WAYS = ("none", "sinusoidal", "learned", "rotary")


def low_high(values, form=".1f"):
    return f"{min(values):{form}} to {max(values):{form}}"


def over_seeds(found, name):
    return [run[name] for run in found]


# %% tags=["hide-input", "hide-output", "hide-until-two-sentences"]
rows = []
for way in ("none", "sinusoidal"):
    for seed, run in enumerate(longer[way], 1):
        rows.append([way, str(seed), *run["who"]])
ResultTable(("positions", "seed", *stored["who"]), rows, "Translations")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Without positions both sentences get one translation, to the letter, in all three trainings. It cannot be otherwise:
# the encoder computes the same states for the same words, in another order, and the decoder's sums over
# them do not depend on that order. With positions the two translations differ.
#
# </details>
#
# ## Dials
#
# A position has to become a vector, so that it can be added to a word's embedding. The number $p$ itself will not
# do: it grows without end. A clock has the same task, and solves it with hands that turn at
# different rates. **Sinusoidal positions** are such hands: each pair of features holds the sine and the cosine of
# one angle.

# %% tags=["hide-input"]
PositionDials(
    caption="Thin hands are position p, thick hands p + n. Move p: all hands turn, the angles between thin "
    "and thick stay. Set d to 4 and look at the curve: distance 5 looks nearer than distance 2."
)

# %% [markdown]
# ### By hand
#
# Take $d = 4$: one fast hand, which turns by 1 radian a place, and a slow one, which turns by 0.01.
#
# | position | fast: sine, cosine | slow: sine, cosine | product with position 0 |
# |---|---|---|---|
# | 0 | 0, 1 | 0, 1 | 2 |
# | 1 | 0.84, 0.54 | 0.01, 1.00 | 1.54 |
# | 2 | 0.91, −0.42 | 0.02, 1.00 | 0.58 |
# | 5 | −0.96, 0.28 | 0.05, 1.00 | 1.28 |
#
# By its product position 5 is nearer to position 0 than position 2 is: the fast hand has almost come round. **One
# fast hand is no position.** That is what the many rates are for.

# %%
four = sinusoidal_positions(6, 4)
print(four[[0, 1, 2, 5]])
print("products with position 0:", four @ four[0])

# %% [markdown]
# ## In general
#
# Pair $k$ of $d/2$ turns by the rate $\omega_k$, and position $p$ is
#
# $$ P_{p,2k} = \sin(p\,\omega_k), \qquad P_{p,2k+1} = \cos(p\,\omega_k), \qquad \omega_k = 10000^{-2k/d} $$ (eq-waves)
#
# The rates fall from 1 to nearly 1/10000. With $d = 64$ the slowest hand needs {{ f"{2 * torch.pi * 10_000 ** (62 / 64):,.0f}" }} places for one turn. What
# do two positions have in common? For one pair, $\sin a \sin b + \cos a \cos b = \cos(a - b)$, so
#
# $$ P_p^\top P_q = \sum_{k} \cos\big((p - q)\,\omega_k\big) $$ (eq-wave-product)
#
# **Only the distance is left.** For $p = q$ this is $d/2$: all positions have one length, $\sqrt{d/2}$.
#
# Below is the table from complex numbers: $e^{ip\omega}$ has the cosine as its real part and the sine as its
# imaginary part.


# %%
def hands(length, d, base=10_000.0):
    rates = base ** (-torch.arange(0, d, 2) / d)
    return torch.exp(1j * torch.arange(length)[:, None] * rates)


def as_features(hands):
    return torch.view_as_real(hands).flip(-1).flatten(-2)


table = as_features(hands(60, 64))
torch.testing.assert_close(table, sinusoidal_positions(60, 64), atol=1e-5, rtol=0)
products = table @ table.T
along = max(products.diagonal(n).std().item() for n in range(50))
print(f"along a diagonal the products differ by {along:.6f}")
print("at distances 0 to 8:", products[0, :9])

# %% [markdown]
# The products fall with the distance, but not all the way: look at the curve of the live figure.
#
# ## A shift is a turn
#
# Move all positions by $n$ places. Each hand turns by its own angle $n\omega_k$, wherever it stood:
#
# $$ \begin{pmatrix} P_{p+n,2k} \\ P_{p+n,2k+1} \end{pmatrix} = \begin{pmatrix} \cos n\omega_k & \sin n\omega_k \\ -\sin n\omega_k & \cos n\omega_k \end{pmatrix} \begin{pmatrix} P_{p,2k} \\ P_{p,2k+1} \end{pmatrix} $$ (eq-shift)
#
# These are the addition theorems of sine and cosine. The matrix knows $n$ and not $p$, so a matrix that is learned once
# can mean *three places to the left* everywhere. (Vaswani et al. (2017) chose these waves because they expected that
# this would be easy to learn.) As complex numbers, the shift is one multiplication:

# %%
worst = 0.0
every = hands(101, 64)
for n in range(51):
    moved = every[:50] * every[n]  # e^{ipω} e^{inω} = e^{i(p+n)ω}
    worst = max(worst, (moved - every[n : n + 50]).abs().max().item())
print(f"for all shifts up to 50, off by {worst:.6f} at most")

# %% [markdown]
# ## Turn instead of add
#
# A sum of word and position mixes the two: the score of two such sums has four parts, and only one compares word
# with word. **Rotary positions** (Su et al., 2021) add nothing. They *turn* queries and keys before they are compared, each pair
# of features by the angle of its place. With $R_p$ the matrix of all these turns,
#
# $$ \begin{pmatrix} (R_p x)_{2k} \\ (R_p x)_{2k+1} \end{pmatrix} = \begin{pmatrix} \cos p\omega_k & -\sin p\omega_k \\ \sin p\omega_k & \cos p\omega_k \end{pmatrix} \begin{pmatrix} x_{2k} \\ x_{2k+1} \end{pmatrix} $$ (eq-rotary)
#
# A turn forward and a turn back leave their difference, $R_p^\top R_r = R_{r-p}$:
#
# $$ (R_p\, q)^\top (R_r\, k) = q^\top R_{r-p}\, k $$ (eq-rotary-distance)
#
# **The score knows what the words are and how far apart they stand, and not where.** Lengths stay. Values are left alone: a
# turned value would carry its place into the sum, and the next layer would have to undo it.
#
# By hand, with one pair: $q = (0.5, 1)$ and $k = (1, 0.5)$. At one place their product is 1. With $q$ at 3 and $k$ at 1
# it is −1.098; with $q$ at 7 and $k$ at 5 it is −1.098 again; ten places apart it is −0.431.

# %%
q, k = torch.tensor([[0.5, 1.0]]), torch.tensor([[1.0, 0.5]])
by_hand = {}
for at_q, at_k in ((4, 4), (3, 1), (7, 5), (12, 2)):
    score = rotate_positions(q, at_q) @ rotate_positions(k, at_k).T
    by_hand[at_q, at_k] = score.item()
    print(f"q at {at_q:2d}, k at {at_k}: {score.item():.3f}")

# %% [markdown]
# The live figure of [chapter 4](04_multiplicative.ipynb) shows one pair from the other side. There a matrix turned the question,
# and the turn decided *which* of the states on a circle was found.

# %% tags=["hide-input"]
TurnedQuestion(
    predict=False,
    caption="Turn the question by 60°: state 1 finds its neighbour, and so does every other state. Rotary positions "
    "make such a turn for each distance.",
)

# %% [markdown]
# ### Three ways in one line each
#
# | way | what it does | how many weights | longest sentence |
# |---|---|---|---|
# | sinusoidal | adds {eq}`eq-waves` to the embeddings | none | no end |
# | learned | adds row $p$ of a table that is trained | one row for each place | as long as the table |
# | rotary | turns queries and keys in every self-attention | none | no end |
#
# In the package each is an option. A shuffled source tells them from a model that reads a bag:

# %%
source, shuffled = torch.tensor([[4, 5, 6, 7, 2]]), torch.tensor([[6, 4, 7, 5, 2]])
change = {}
for way in WAYS:
    torch.manual_seed(0)
    config = ModelConfig("transformer", d_hidden=16, heads=2, positions=way)
    model = build_model(config, 11, 13).eval()
    one, other = (
        model(ids, torch.tensor([5]), torch.tensor([[1, 8]]))
        for ids in (source, shuffled)
    )
    change[way] = (one.logits - other.logits).abs().max().item()
    print(f"{way:10s} logits change by {change[way]:.6f}")

# %% [markdown]
# ## A model that reads a bag
#
# Now trained: small Transformers on {{ f'{stored["card"]["pairs"]["train"]:,}' }} pairs of at most {{ stored["card"]["longest"] }} English words, alike in
# all but their positions, with three seeds. Each translates {{ stored["card"]["pairs"]["test"] }} test sentences, and then the same sentences
# with their words shuffled.
#
# ```{predict} after-shuffling
# ```

# %% tags=["hide-input", "hide-output", "hide-until-after-shuffling"]
rows = []
for updates, found in (
    (stored["card"]["updates"], runs),
    (stored["card"]["more"], longer),
):
    for way in WAYS:
        cells = [
            low_high(over_seeds(found[way], name)) for name in ("bleu", "shuffled")
        ]
        same = low_high(over_seeds(found[way], "same"), ".0%")
        rows.append([f"{updates:,}", way, *cells, same])
rules = stored["rules"]
columns = (
    "updates",
    "positions",
    "BLEU",
    "BLEU, source shuffled",
    "translations that stay",
)
ResultTable(
    columns,
    rows,
    "Test sentences, three seeds: lowest to highest",
    f"Word by word, with the most frequent link: BLEU {rules['word by word']:.1f}. The reference's own "
    f"words in an order by lot: {rules['right words by lot']:.1f}.",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Without positions every translation stays, as it must. Even so BLEU is {{ low_high(over_seeds(longer["none"], "bleu")) }}: in short
# sentences the words alone say most of it. With positions of any kind, and enough updates, it is
# {{ low_high([bleu for way in WAYS[1:] for bleu in over_seeds(longer[way], "bleu")]) }}. Between the three kinds the ranges overlap:
# **no difference seen.**
#
# - **Shuffled, the model without positions is ahead of the others**, by far. What a model has learned to use can mislead
#   it.
# - After {{ stored["card"]["updates"] }} updates it looked otherwise. There rotary positions seemed to be worth
#   nothing; their models had not begun to use them. One look too early would have been another conclusion.
# - Take the waves away from a *finished* model, and BLEU falls to
#   {{ low_high([run["taken away"]["bleu"] for run in longer["sinusoidal"]]) }}. *The cat sees the dog* becomes
#   `{{ longer["sinusoidal"][1]["taken away"]["who"][0] }}`: the decoder no longer knows how far it has come.
#
# </details>
#
# The five sentences of the book, by the models of the first seed with {{ f'{stored["card"]["more"]:,}' }} updates:

# %% tags=["hide-input", "hide-output", "hide-until-after-shuffling"]
for i, pair in enumerate(FIVE):
    print(pair.source)
    for way in WAYS:
        print(f"    {way:10s}  {longer[way][0]['five'][i]}")

# %% tags=["hide-input"]
experiment_card(stored["card"])

# %% [markdown]
# ## Which side needs them
#
# Source and target each have their positions. Take the waves away on one side alone, and train again
# ({{ stored["card"]["updates"] }} updates).
#
# ```{predict} which-side
# ```

# %% tags=["hide-input", "hide-output", "hide-until-which-side"]
names = {
    "on both sides": "sinusoidal",
    "on the source side alone": "source alone",
    "on the target side alone": "target alone",
    "on neither": "none",
}
rows = [
    [
        says,
        low_high(over_seeds(runs[kind], "bleu")),
        low_high(over_seeds(runs[kind], "same"), ".0%"),
    ]
    for says, kind in names.items()
]
grid = {kind: over_seeds(runs[kind], "bleu") for kind in names.values()}
columns = "waves", "BLEU", "translations that stay after shuffling"
ResultTable(columns, rows, "Test sentences, three seeds: lowest to highest")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# On the source side alone the waves bring BLEU to {{ low_high(grid["source alone"]) }}, close to both sides together; on the target
# side alone to {{ low_high(grid["target alone"]) }}, where {{ low_high(grid["none"]) }} is reached without any: no difference seen. The
# decoder's causal mask and the words it has written tell it where it is. (These are the short trainings; the source alone
# decides here, and the target may matter more after longer ones.)
#
# </details>
#
# ## Longer than trained
#
# The formula of the waves has no end, nor has a turn. Does a model that learned sentences of at most {{ stored["card"]["longest"] }} words read
# longer ones? The table of the learned positions has {{ stored["card"]["table"] }} rows, more than training ever reached on the source side.
#
# ```{predict} longer-than-trained
# ```

# %% tags=["hide-input", "hide-output", "hide-until-longer-than-trained"] mystnb={"image": {"alt": "BLEU against the number of source words, 4 to 16, three thin lines for each way of putting positions in. Behind 8 words, where training ended, all lines fall. Learned positions have no point at 16 words."}}
figure, ax = plt.subplots(figsize=(6.2, 3.4))
colours = dict(zip(WAYS, (GREY, BLUE, ORANGE, GREEN)))
curves = {}
for way in WAYS:
    curves[way] = [
        {
            int(n): bleu
            for n, bleu in run["by length"].items()
            if not isinstance(bleu, str)
        }
        for run in longer[way]
    ]
    for seed, curve in enumerate(curves[way]):
        ax.plot(*zip(*curve.items()), color=colours[way], label=None if seed else way)
ax.axvline(stored["card"]["longest"], color=GREY, linestyle=":")
ax.set(xlabel="source words (trained to 8)", ylabel="BLEU", ylim=(0, None))
ax.legend()
plt.show()
print(longer["learned"][0]["by length"]["16"])

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# All of them fall as soon as sentences are longer than in training. At 16 words waves have
# {{ low_high([c[16] for c in curves["sinusoidal"]]) }} BLEU, turns {{ low_high([c[16] for c in curves["rotary"]]) }}; at 8 words both had more than
# {{ f'{min(c[8] for way in ("sinusoidal", "rotary") for c in curves[way]) - 0.5:.0f}' }}. The formula goes on, the model does not.
#
# Learned positions refuse: 16 words and `<eos>` are one more than the table has rows. That is the most honest failure of the three.
# At 10 and 12 words they already read rows that no training sentence of that side had touched.
#
# At 12 and at 16 words, turns lie *below* waves in all seeds. That turned vectors know only distances has not helped
# these models beyond the distances they were trained on.
#
# </details>
#
# ## Where it breaks
#
# **Pads on the left.** A batch padded on the left counts its pads, and each sentence begins at another place. Then a sentence
# gets another translation alone than among longer ones. Count real words, sentence by sentence; or pad on the right.
#
# **A cached step.** A decoder that reads one token at a time must say which place it is at. Without `start` every
# token stands at place 0:

# %%
torch.manual_seed(0)
words = torch.randn(1, 3, 8)
at_once = words + sinusoidal_positions(3, 8)
right = [words[:, t] + sinusoidal_positions(1, 8, start=t) for t in range(3)]
wrong = [words[:, t] + sinusoidal_positions(1, 8) for t in range(3)]
gap = [(at_once - torch.cat(rows)).abs().max().item() for rows in (right, wrong)]
print(f"with start: off by {gap[0]:.6f}; without: by {gap[1]:.3f}")

# %% [markdown]
# **Along the batch.** `table[:len(x)]` is a slice by sentences if the batch comes first. Shapes fit where there are as
# many sentences as places, and each *sentence* gets a position. Several public projects had this.
#
# **A table's end.** Learned positions end. The package refuses; a program that clamps or wraps the index translates
# something else in silence.
#
# **Pairs.** Some programs turn features $2k$ and $2k+1$ together, others $k$ and $k + d/2$. Both are right, and weights
# trained with one are wrong with the other.
#
# **How loud.** Embeddings are multiplied by $\sqrt d$ where they start small, so that waves, whose length is
# $\sqrt{d/2}$, do not drown the words.
#
# <details><summary>Does a causal mask already give order?</summary>
#
# On the target side, partly: the first token can attend to itself alone, the second to two, so their states
# differ without any positions. The source side has no such mask.
#
# </details>
#
# <details><summary>Why do results differ between a batch and a single sentence?</summary>
#
# Where pads stand on the left and positions count them, a sentence moves when a longer one joins its batch. Compare one
# sentence alone and padded: they must agree.
#
# </details>
#
# ## Check yourself
#
# ```{self-check} far-products
# ```
#
# ```{self-check} which-distance
# ```
#
# ```{self-check} values-alone
# ```
#
# ```{self-check} longer-fails
# ```

# %% [markdown]
# ## What you now know
#
# - Without positions a Transformer's source is a bag of words.
# - Sinusoidal positions are hands that turn at many rates. Their products know the distance alone, and a shift
#   is a turn.
# - Rotary positions turn queries and keys, so that the scores know the distance.
# - That a formula has no end does not mean that a model reads on. Measure it.
#
# **Now you.** [The exercise](../exercises/15_positions.ipynb) has you write waves, find the matrix of a shift, place words
# behind pads, turn queries and keys, test whether a model sees order, and judge which side needs positions.
#
# **Next.** [Chapter 16](16_transformer.ipynb) puts all parts together into the Transformer.
#
# ## Sources
#
# - Sinusoidal and learned positions: {cite:t}`vaswani2017`, section 3.5.
# - Rotary positions: {cite:t}`su2021`, section 3.2.
# - Positions sliced along the batch: issue 1 of `cmu-l3/anlp-fall2025-code`. Positions that count pads on the left: issue 3021 of
#   `huggingface/transformers`.
