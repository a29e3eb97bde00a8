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
# # 15. Positions: sinusoidal, learned, rotary (RoPE)
#
# A recurrent encoder reads one word after another, so its states know the order. A model of attention alone
# meets all words at once, and somebody has to tell it where each word stands. That is the task of a **positional
# encoding**. Here you build three: waves, a learned table, and one that turns vectors. You see what a translator does without positions, and how far
# each of these ways carries beyond the sentences that were trained on.
#
# **You need** the scaled score from [chapter 5](05_scaled.ipynb), heads from [chapter 13](13_heads.ipynb) and
# self-attention from [chapter 14](14_self_attention.ipynb). **This chapter covers** sinusoidal positional
# encoding by hand and as a formula; why a shift is a turn; learned positional embeddings; rotary position embedding
# (RoPE); translators with and without positions, on
# shuffled and on longer sentences.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# A small Transformer, a translator of self- and cross-attention that [chapter 16](16_transformer.ipynb) takes
# apart, learns English to French *without any positions*. Then we give it two sentences of the same words:
#
# > the cat sees the dog
# >
# > the dog sees the cat
#
# ```{predict} two-sentences
# ```

# %% tags=["hide-input"]

import textwrap

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
    name_lines,
    plot_attention,
    use_style,
)
from seqattn.widgets import PositionDials, TurnedQuestion

use_style()
torch.set_printoptions(precision=3, sci_mode=False, linewidth=90)
stored = measured("positions")
card, runs, longer = stored["card"], stored["runs"], stored["longer"]
few, many = card["updates"]["few"], card["updates"]["many"]
WAYS = ("none", "sinusoidal", "learned", "rotary")


def low_high(values, form=".1f"):
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


def over_seeds(found, name):
    return [run[name] for run in found]


# %% tags=["hide-input", "hide-output", "hide-until-two-sentences"]
rows = []
for way in ("none", "sinusoidal"):
    for seed, run in enumerate(longer[way], 1):
        rows.append([way, str(seed), *run["who"]])
ResultTable(
    ("positions", "seed", *stored["who"]), rows, f"Translations, after {many:,} updates"
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Without positions both sentences get one translation, to the letter, in all three trainings. Except for
# rounding, nothing else is possible: for the same words the encoder computes the same states in another
# order, and the decoder's sums over them do not depend on that order. With positions the two translations
# differ.
#
# </details>
#
# ## Dials
#
# To be added to a word's embedding, a position has to become a vector. The number $p$ itself will not do: it
# grows without end. A clock has the same task, and solves it with hands that turn at different rates.
# **Sinusoidal positional encoding**, here *sinusoidal positions* or *waves*, is made of such hands: each pair of
# features holds the sine and the cosine of one angle.

# %% tags=["hide-input"]
PositionDials(
    caption="Thin hands are position p, thick hands p + n. Answer first, then move p "
    "and watch the angle between a thin hand and its thick one. Set d to 4 and look at "
    "the curve: distance 5 looks nearer than distance 2."
)

# %% [markdown]
# ### By hand
#
# Take $d = 4$: a fast hand, which turns by 1 radian a place, and a slow one, which turns by 0.01.
#
# | position | fast: sine, cosine | slow: sine, cosine | product with position 0 |
# |---|---|---|---|
# | 0 | 0, 1 | 0, 1 | 2 |
# | 1 | 0.84, 0.54 | 0.01, 1.00 | 1.54 |
# | 2 | 0.91, −0.42 | 0.02, 1.00 | 0.58 |
# | 5 | −0.96, 0.28 | 0.05, 1.00 | 1.28 |
#
# By its product, position 5 is nearer to position 0 than position 2 is: the fast hand has almost come round.
# **One fast hand does not make a position.** That is why there are many rates.

# %%
four = sinusoidal_positions(6, 4)
print(four[[0, 1, 2, 5]])
print("products with position 0:", four @ four[0])

# %% [markdown]
# ## In general
#
# In this chapter positions, features and pairs count from 0, as in the code. There are $d/2$ pairs. From one
# place to the next, pair $j$ turns by its *rate*, in radians:
#
# $$ \omega_j = 10000^{-2j/d} $$ (eq-rates)
#
# Position $p$ is then
#
# $$ P_{p,2j} = \sin(p\,\omega_j), \qquad P_{p,2j+1} = \cos(p\,\omega_j) $$ (eq-waves)
#
# The first rate is 1. The last is 1/{{ f"{10_000 ** (2 / 4):,.0f}" }} with $d = 4$ and
# 1/{{ f"{10_000 ** (62 / 64):,.0f}" }} with $d = 64$, where the slowest hand needs
# {{ f"{2 * torch.pi * 10_000 ** (62 / 64):,.0f}" }} places for one turn. What do two positions $p$ and $r$
# have in common? For one pair, $\sin a \sin b + \cos a \cos b = \cos(a - b)$, so
#
# $$ P_p^\top P_r = \sum_{j} \cos\big((p - r)\,\omega_j\big) $$ (eq-wave-product)
#
# **Only the distance is left**, without its sign: a cosine does not tell *before* from *behind*. For $p = r$
# the product is $d/2$, so all positions have the same length, $\sqrt{d/2}$.
#
# The code below builds the table from complex numbers: $e^{ip\omega}$ has the cosine as its real part and the
# sine as its imaginary part.


# %%
def hands(length, d, base=10_000.0):
    rates = base ** (-torch.arange(0, d, 2) / d)
    return torch.exp(1j * torch.arange(length)[:, None] * rates)


def as_features(hands):
    return torch.view_as_real(hands).flip(-1).flatten(-2)


table = as_features(hands(60, 64))
torch.testing.assert_close(table, sinusoidal_positions(60, 64), atol=1e-5, rtol=0)

# %%
products = table @ table.T
lines = [products.diagonal(n) for n in range(50)]
along = max((line.max() - line.min()).item() for line in lines)
print(f"along a diagonal the products differ by {along:.6f} at most")
print("at distances 0 to 8:")
print(products[0, :9])
print("at distances 20 to 28:")
print(products[0, 20:29])
fewer = sinusoidal_positions(60, 16)
print("with 16 numbers, at distances 3 and 19:", (fewer @ fewer[0])[[3, 19]])

# %% [markdown]
# On the whole the products fall with the distance, but not evenly: from 22 places to 25 they rise. With 16
# numbers, as in the live figure, 19 places even look nearer than 3.
#
# ## A shift is a turn
#
# Move all positions by $n$ places. Wherever a hand stood, it turns by its own angle, $\varphi = n\omega_j$:
#
# $$ \begin{pmatrix} P_{p+n,2j} \\ P_{p+n,2j+1} \end{pmatrix} = \begin{pmatrix} \cos\varphi & \sin\varphi \\ -\sin\varphi & \cos\varphi \end{pmatrix} \begin{pmatrix} P_{p,2j} \\ P_{p,2j+1} \end{pmatrix} $$ (eq-shift)
#
# These are the angle-addition formulas. The matrix depends on $n$ but not on $p$, so a matrix
# that is learned once can mean *three places to the left* everywhere. {cite:t}`vaswani2017` chose these waves
# because they expected that attending by **relative positions** (how far apart two words stand) would then be easy to
# learn. **Learned positional embeddings**, a table with a row for each place, translated about as
# well; they preferred waves because these might carry on to sentences longer than in training. (You will see that measured.)
#
# <details><summary>How sure is this?</summary>
#
# The matrix shifts $P_p$. A state also holds the word, and the same matrix changes that, too. So it is not certain that a layer learns the shift exactly.
#
# </details>
#
# With complex numbers, the shift is one multiplication:

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
# A sum of word and position mixes the two: a score of two such sums has four parts, and only one compares
# word with word. **Rotary position embedding (RoPE)**, by {cite:t}`su2021`, adds nothing. It *turns* queries and keys
# before comparing them, pair $j$ of the word at place $p$ by the angle $\varphi = p\,\omega_j$. (With several heads, the $d$ in $\omega_j$ is the
# size of a head.) Let $R_p$ be the
# matrix of all these turns, and $x$ a query or a key:
#
# $$ \begin{pmatrix} (R_p x)_{2j} \\ (R_p x)_{2j+1} \end{pmatrix} = \begin{pmatrix} \cos\varphi & -\sin\varphi \\ \sin\varphi & \cos\varphi \end{pmatrix} \begin{pmatrix} x_{2j} \\ x_{2j+1} \end{pmatrix} $$ (eq-rotary)
#
# A turn back and a turn forward leave their difference, $R_p^\top R_r = R_{r-p}$. So for a query $q$ at $p$
# and a key $k$ at $r$
#
# $$ (R_p\, q)^\top (R_r\, k) = q^\top R_{r-p}\, k $$ (eq-rotary-distance)
#
# **The score knows what the words are, how far apart they stand and which comes first, but not where.** Its
# positions are *relative*. A wave or a row of a table says where a word stands: such positions are *absolute*.
# Lengths do not change. Values are left alone: a turned value would carry its place into the sum. Cross-attention
# is left as it is: places in two sentences are counted separately, so their difference is not a distance.

# %% [markdown]
# By hand, with one pair: $q = (0.5, 1)$ and $k = (1, 0.5)$. At the same place their product is 1. With $q$ at
# 3 and $k$ at 1 it is −1.098; with $q$ at 7 and $k$ at 5 it is −1.098 again. The other way round, with $q$ at
# 1 and $k$ at 3, it is 0.266.

# %%
q, k = torch.tensor([[0.5, 1.0]]), torch.tensor([[1.0, 0.5]])
by_hand = {}
for at_q, at_k in ((4, 4), (3, 1), (7, 5), (1, 3)):
    score = rotate_positions(q, at_q) @ rotate_positions(k, at_k).T
    by_hand[at_q, at_k] = score.item()
    print(f"q at {at_q}, k at {at_k}: {score.item():.3f}")

# %% [markdown]
# In the live figure of [chapter 4](04_multiplicative.ipynb) a matrix
# turns the question, and the turn decides *which* of the states on a circle is found.

# %% tags=["hide-input"]
TurnedQuestion(
    predict=False,
    caption="Turn the question by 60°: state 1 finds its neighbour, and so does every "
    "other state. Rotary positions make such a turn for each distance.",
)

# %% [markdown]
# ### Three ways in one line each
#
# | way | what it does | how many weights | longest sentence |
# |---|---|---|---|
# | sinusoidal | adds {eq}`eq-waves` to the embeddings | none | no end |
# | learned | adds row $p$ of a table that is trained | one row for each place | as long as the table |
# | rotary (RoPE) | turns queries and keys in every self-attention | none | no end |
#
# Each is an option of the package's models. To see which models can tell an order takes no training: shuffle
# the source, and look whether the logits change.

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
# Now we train small Transformers on {{ f'{card["pairs"]["train"]:,}' }} pairs of [the toy
# corpus](03_additive.ipynb) with at most {{ card["words at most"] }} English words, alike in all but their positions, with three seeds. Each
# translates {{ card["pairs"]["test"] }} test sentences by greedy search, and then the same sentences with
# their words shuffled. Both times BLEU compares with the translation of the sentence in its right order.
#
# <details><summary>How were they trained?</summary>
#
# The seeds change only the initial weights. (Learned vectors begin smaller than waves.) In each training the learning rate, set by hand and
# tuned for none of these ways, grows over the first 100 updates, and falls along a cosine to 0 at the last. No sentence that they translate on this page is one of the training pairs.
#
# </details>
#
# ```{predict} after-shuffling
# ```

# %% tags=["hide-input", "hide-output", "hide-until-after-shuffling"]
rows = []
for updates, found in ((few, runs), (many, longer)):
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
    f"Word by word, with the most frequent link: BLEU {rules['word by word']:.1f}. The "
    f"reference's own words in random order: {rules['right words at random']:.1f}.",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Without positions every translation stays. Even so, BLEU is
# {{ low_high(over_seeds(longer["none"], "bleu")) }} after {{ f"{many:,}" }} updates: in short sentences a
# bag of English words, and a decoder that knows how French goes on, settle most of it. With positions of any kind it is
# {{ low_high([bleu for way in WAYS[1:] for bleu in over_seeds(longer[way], "bleu")]) }}. Between the three
# kinds the ranges overlap.
#
# - **On shuffled sentences the model without positions is ahead of the others**, by far (after
#   {{ f"{many:,}" }} updates). For this model nothing has happened. The others were given another sentence,
#   but are judged by the translation of the original one.
# - After {{ few }} updates it looked different. The models with rotary positions did use them, for shuffling changed most
#   translations, but their BLEU was no better than without. Had we stopped there, we would have drawn another
#   conclusion.
# - Take the waves away from a *finished* model, on both sides, and BLEU falls to
#   {{ low_high([run["taken away"]["bleu"] for run in longer["sinusoidal"]]) }}. With the second seed *the cat
#   sees the dog* becomes `{{ longer["sinusoidal"][1]["taken away"]["who"][0] }}`. For this sentence none of
#   the three models finds an end: the search stops them. That does not measure what positions are worth,
#   because a model that never had them has learned to do without.
#
# </details>

# %% [markdown]
# Here are the five sentences of the book, by the models of the first seed with {{ f"{many:,}" }} updates.
# Would they tell you which of the four has no positions?

# %% tags=["hide-input", "hide-output", "hide-until-after-shuffling"]
for i, pair in enumerate(FIVE):
    print(pair.source)
    for way in WAYS:
        print(f"    {way:10s}  {longer[way][0]['five'][i]}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# They would not. Without positions all five are right, to the letter; with waves the last one lacks its *ne*.
# On the {{ card["pairs"]["test"] }} test sentences waves were far ahead. **A handful of good examples does
# not rank models.**
#
# </details>
#
# Here is the card of these trainings:

# %% tags=["hide-input"]
experiment_card(card)

# %% [markdown]
# ### A recurrence knows its places (optional)
#
# Here is a German caption of Multi30k, translated by the model of
# [chapter 3](03_additive.ipynb). Nobody told that model
# a position: it reads with a recurrence, from both ends, and the order is in its states. How far from the
# diagonal does it look?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Attention map of a German caption and its English translation, a row for each English token. The first row looks at the end of the caption, the others along the diagonal or near it."}}
caption = measured("captions")["captions"][0]
weights = torch.tensor(caption["weights"])
rows, places = (torch.arange(n) for n in weights.shape)
far = (places - rows[:, None]).abs()
seen, even = (weights * far).sum(1).mean().item(), far.float().mean().item()
print(f"{seen:.1f} places in the mean; equal weights would be {even:.1f} away")
figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
plot_attention(
    weights, caption["source_tokens"], caption["tokens"], ax=ax, annotate=False
)
plt.show()

# %% [markdown]
# About two fifths of this mean come from the first row alone.
#
# ## Which side needs them
#
# Source and target each have their positions. Now leave the waves out on one side, and train again from the
# start.
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
early, grid = (
    {kind: over_seeds(found[kind], "bleu") for kind in names.values()}
    for found in (runs, longer)
)
rows = [
    [f"{updates:,}", says, low_high(bleu[kind])]
    for updates, bleu in ((few, early), (many, grid))
    for says, kind in names.items()
]
columns = "updates", "waves", "BLEU"
ResultTable(columns, rows, "Test sentences, three seeds: lowest to highest")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **These models need positions on the source side.** After {{ f"{many:,}" }} updates, waves there alone bring BLEU to
# {{ low_high(grid["source alone"]) }}, and waves on both sides to {{ low_high(grid["sinusoidal"]) }}. On the target
# side alone they bring it to {{ low_high(grid["target alone"]) }}, and without any waves it is
# {{ low_high(grid["none"]) }}. Both pairs of ranges overlap. The decoder has other means: its causal mask, the words that it has written, and what it
# reads of a source that has positions. Which of them it uses, this experiment does not tell.
#
# After {{ few }} updates, waves on both sides were ahead of waves on the source side alone in all seeds. So
# the target's positions may save some updates. All this holds for sentences of at most
# {{ card["words at most"] }} words.
#
# </details>
#
# ## Longer than trained
#
# The formula of the waves has no end, and neither has a turn. Does a model that learned sentences of at most
# {{ card["words at most"] }} words read longer ones? And is it the positions that decide? Beside these models
# stand others that had long sentences in training. The table of the learned positions has
# {{ card["rows of a learned table"] }} rows, more than training ever reached on the source side.
#
# ```{predict} longer-than-trained
# ```


# %% tags=["hide-input", "hide-output", "hide-until-longer-than-trained"] mystnb={"image": {"alt": "Two panels: BLEU against the number of source words, 4 to 16, a line for each of three seeds. In the upper one, after training on up to 8 words, the lines of all four ways fall from 6 words on; learned positions have no point at 16 words. In the lower one, after training on up to 16 words, the lines for no positions and for waves lie higher at 16 words than in the upper one."}}
def by_length(found, ways):
    """For each way and seed, BLEU by number of source words, but what was refused."""
    measured = {w: [run["by length"].items() for run in found[w]] for w in ways}
    return {
        way: [{int(n): b for n, b in items if not isinstance(b, str)} for items in of]
        for way, of in measured.items()
    }


LOOKS = dict(zip(WAYS, ((GREY, "-"), (BLUE, "--"), (ORANGE, "-."), (GREEN, ":"))))
curves = by_length(longer, WAYS)
practised = by_length(stored["practised"], stored["practised"])
figure, panels = plt.subplots(2, 1, figsize=(6.4, 5.8), sharex=True)
limits = card["words at most"], card["with long sentences"]["words at most"]
for ax, found, most in zip(panels, (curves, practised), limits):
    for way, of_seeds in found.items():
        colour, dashes = LOOKS[way]
        for seed, curve in enumerate(of_seeds):
            label = None if seed else way
            ax.plot(*zip(*curve.items()), dashes, color=colour, label=label)
    ax.set(ylabel="BLEU", ylim=(0, 100))
    place = {"xy": (0.97, 0.88), "xycoords": "axes fraction", "ha": "right"}
    ax.annotate(f"trained to {most} words", **place)
panels[0].axvline(card["words at most"], color=GREY, linestyle=":")
panels[1].set_xlabel("source words")
name_lines(panels[0])
plt.show()
refusal = longer["learned"][0]["by length"]["16"]
print(textwrap.fill(refusal, 80))

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# In the upper panel all four fall. They fall from 6 words to 8 already, as those of the lower panel do (some lengths are harder), and further beyond the longest training sentence. At 16 words
# waves have {{ low_high([c[16] for c in curves["sinusoidal"]]) }} BLEU and turns
# {{ low_high([c[16] for c in curves["rotary"]]) }}; at 8 words both had more than
# {{ f'{min(c[8] for way in ("sinusoidal", "rotary") for c in curves[way]) - 0.5:.0f}' }}.
#
# **Is it the positions?** Not the positions alone. The model without any falls as well, to {{ low_high([c[16] for c in curves["none"]]) }}. The lower panel shows models that learned from
# {{ f'{card["with long sentences"]["pairs"]:,}' }} pairs of up to {{ card["with long sentences"]["words at
# most"] }} words, in as many updates. At 16 words these have {{ low_high([c[16] for c in
# practised["sinusoidal"]]) }} with waves and {{ low_high([c[16] for c in practised["none"]]) }} without
# any. **With practice, waves reach 16 words**, but short sentences get worse; longer sentences were not measured. Late *places* are new to the first models, but so is much else in long sentences.
#
# </details>

# %% [markdown]
# <details><summary>What it shows of tables and of turns</summary>
#
# Learned positions stop here: 16 words and `<eos>` need 17 rows, and the table has 16. At 10 and 12 words they already read rows of the source's table that no training sentence had reached, and they cannot write more than 16 tokens.
#
# At 12 and at 16 words, turns lie *below* waves in all seeds.
#
# </details>
#
# ### Distances in the score (optional)
#
# Other ways leave the words alone and tell the *score* how far apart query and key are. {cite:t}`shaw2018` add to each key a
# learned vector for the distance (all distances beyond a limit to one side share one), and one to each value. T5 adds one learned number to the score for each range of
# distances {cite:p}`raffel2020`. ALiBi subtracts a multiple of the distance, fixed for each head, and was made for texts
# longer than those of the training {cite:p}`press2022`. For longer texts a model with turns can be made to turn more
# slowly, but for its fastest pairs, and trained a little further, as YaRN does {cite:p}`peng2024`. And on small tasks of reasoning and arithmetic
# {cite:t}`kazemnejad2023` saw decoders *without* positions go further beyond the trained lengths than with turns
# or ALiBi: a causal mask brings some order. None of these was measured here.

# %% [markdown]
# ## Where it breaks
#
# **Pads on the left.** If positions count the pads, each sentence of a batch begins at another place. With
# waves or a learned table a sentence can then get one translation alone and another among longer sentences.
# (Turned vectors know only distances, and those stay.) Count real words, sentence by sentence; or pad on the
# right.
#
# **A cached step.** A decoder that reads one token at a time must say which place it is at. Without `start`
# every token stands at place 0:

# %%
torch.manual_seed(0)
words = torch.randn(1, 3, 8)
at_once = words + sinusoidal_positions(3, 8)
right = [words[:, t] + sinusoidal_positions(1, 8, start=t) for t in range(3)]
wrong = [words[:, t] + sinusoidal_positions(1, 8) for t in range(3)]
gap = [(at_once - torch.cat(rows)).abs().max().item() for rows in (right, wrong)]
print(f"with start: off by {gap[0]:.6f}; without: by {gap[1]:.3f}")

# %% [markdown]
# **Along the batch.** If the batch comes first, `len(x)` is the number of sentences, and
# `torch.arange(len(x))[:, None]` numbers *them*. Each sentence gets one position, the same for all its
# words, and is read as a bag. All shapes fit. The sources below name a public project that had this bug,
# and one that was asked whether it has.
#
# **A table's end.** Learned positions end. The package refuses longer sentences. A program that clamps or
# wraps the index silently translates something else.
#
# **Pairs.** Some programs turn features $2j$ and $2j+1$ together, others $j$ and $j + d/2$. Both are right,
# but weights trained with one layout are wrong with the other.
#
# **How loud.** Where embeddings start small they are often multiplied by $\sqrt d$. Waves of length
# $\sqrt{d/2}$ would drown such words without that.
#
# <details><summary>Does a causal mask already give order?</summary>
#
# On the target side, partly: the first token can attend only to itself, the second to two tokens. So their
# states can differ without any positions. [Chapter 14](14_self_attention.ipynb) measured what that is worth
# to a classifier. The source side has no such mask.
#
# </details>
#
# <details><summary>Why do results differ between a batch and a single sentence?</summary>
#
# Where pads stand on the left and positions count them, a sentence moves when a longer one joins its batch.
# Compare the outputs for one sentence, alone and padded: except for rounding they must agree.
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
# - Sinusoidal positional encodings are hands that turn at many rates. Their products know the distance without its sign,
#   and a shift is a turn.
# - Rotary position embedding (RoPE) turns queries and keys, so that the scores know the distance with its sign.
# - A formula without end does not mean that the model reads on. Measure it, beside a model that had the
#   practice.
#
# **Now you.** [The exercise](../exercises/15_positions.ipynb) has you write waves, find the matrix of a
# shift, place words behind pads, turn queries and keys, test whether a model sees order, and judge which side
# needs positions.
#
# **Next.** [Chapter 16](16_transformer.ipynb) puts all parts together into the Transformer.
#
# ## Sources
#
# - Sinusoidal and learned positions: {cite:t}`vaswani2017`, section 3.5.
# - Rotary positions: {cite:t}`su2021`, section 3.2.
# - Positions along the batch: issue 1 of `cmu-l3/anlp-fall2025-code`, issue 2 of `songyangco/GETNext`.
#   Positions that count pads on the left: issue 3021 of `huggingface/transformers`.
