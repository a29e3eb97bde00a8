# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 25
#     covers: [F-01, F-32, T-01, V-03, D-01]
# ---

# %% [markdown]
# # The bottleneck
#
# A translator that must press every sentence into one vector of fixed size works well on short
# sentences and loses its way on long ones. In this chapter you watch that happen, find out why, and
# see what changes when the translator is allowed to look back.
#
# **You need** Python, PyTorch tensors, and a rough idea of what a recurrent network does.
# **It covers** the encoder–decoder and its probability, the fixed context, how much a vector can
# hold, how far gradients reach, and the measurement that made people invent attention.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Two small translators were trained on the same English–French sentence pairs, none longer than
# twenty words. They have the same encoder, the same decoder and the same number of training steps.
# One hands the decoder a single vector for the whole sentence; the other lets it look back at every
# word. Then both were asked to translate sentences of up to forty words.
#
# Decide first: where do the two curves part? Then move the slider and read the translations.

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn

from seqattn.data.measurements import measured
from seqattn.plots import use_style
from seqattn.widgets import FixedVersusDynamic

use_style()
FixedVersusDynamic(**measured("bottleneck")["figure"])

# %% [markdown]
# Drag the slider, or use the arrow keys. (BLEU says how many of the reference's words and word
# sequences a translation has; 100 is the reference itself.) The curves part at once, well inside the
# lengths that both models saw in training. Read what the fixed vector's model writes for long
# sentences: French in shape, now and then nonsense, and about something else. It kept the *pattern*
# of the sentence and lost the *words*. Past the dotted line both models are on new ground. The one
# with attention holds to 28 words and then slips too, in a way of its own: at forty words, look for
# the clause that it drops.
#
# That is the phenomenon. {cite:t}`cho2014properties` measured it in 2014 on real French and English,
# and {cite:t}`bahdanau2015` drew curves of this kind when they proposed the cure. The rest of this
# chapter asks *why* it happens. The popular argument, that the many numbers of all states cannot fit
# into one vector, turns out to count the wrong thing.

# %% [markdown]
# ## By hand
#
# Take the smallest encoder that has a memory. It keeps one number and halves it before adding each
# new input: $h_i = \tfrac12 h_{i-1} + x_i$, starting from $h_0 = 0$. Feed it three words, coded as
# $x = (4, 2, 8)$:
#
# - after word 1: $h_1 = \tfrac12\cdot 0 + 4 = 4$
# - after word 2: $h_2 = \tfrac12\cdot 4 + 2 = 4$
# - after word 3: $h_3 = \tfrac12\cdot 4 + 8 = 10$
#
# The decoder receives $h_3 = 10$. In it, word 3 counts in full, word 2 by a half and word 1 by a
# quarter: $10 = \tfrac14\cdot 4 + \tfrac12\cdot 2 + 8$. Ten words later the share of word 1 would be
# below a thousandth. Nothing was cut off, yet the first word has become a whisper behind the others.
#
# Real encoders have hundreds of numbers instead of one and learn what to keep. The shape of the
# problem stays: **everything the decoder will ever know about the source has to survive the trip
# through every later step.**
#
# ## The model, in general
#
# A translator gives a probability to each target sentence $y = (y_1, \dots, y_{T_t})$, given the
# source $x = (x_1, \dots, x_{T_s})$. Nothing is lost by writing it as a product, one factor for each
# word given the words before it (the chain rule of probability). What is *assumed* is that the
# source enters through one vector $c$:
#
# $$ p(y \mid x) = \prod_{t=1}^{T_t} p(y_t \mid y_1, \dots, y_{t-1}, c) $$ (eq-factorisation)
#
# Here $t$ counts target steps. The last token, $y_{T_t}$, is the end symbol `<eos>`; without it the
# product could not give probabilities to sentences of different lengths. The vector is some function
# $g$ of the encoder's states $h_1, \dots, h_{T_s}$, one state for each source word:
#
# $$ h_i = f(x_i, h_{i-1}), \qquad c = g(h_1, \dots, h_{T_s}) $$ (eq-fixed-context)
#
# The simplest choice of $g$ takes the last state, $c = h_{T_s}$. {cite:t}`sutskever2014` did so and
# gave $c$ to the decoder once, as its initial state; {cite:t}`cho2014rnn` fed it, after one more
# layer, at every step. {cite:t}`kalchbrenner2013` came first, with a convolutional encoder. In the
# two recurrent models $c$ has the same size whether the sentence has three words or sixty.

# %% [markdown]
# ## Ten lines of PyTorch
#
# An *embedding* is a table with one learned vector for each word. A *recurrent network* reads those
# vectors one after the other and updates its state $h_i$ with each; a *GRU* (gated recurrent unit) is
# one with learned gates that decide how much of the old state to keep. An encoder is the two
# together. Read one short and one long sentence (random word numbers do for this) and look at what
# the decoder would get.

# %%
torch.manual_seed(0)
embed, rnn = nn.Embedding(1000, 32), nn.GRU(32, 64, batch_first=True)

for words in (3, 60):
    x = torch.randint(1000, (1, words))
    h, _ = rnn(embed(x))  # all the states h_1 ... h_T
    c = h[:, -1]  # the fixed context: the last one
    print(f"{words} words: states {tuple(h.shape)}, context {tuple(c.shape)}")

# %% [markdown]
# The states grow with the sentence; the context does not. The package's `Encoder` does the same
# with both directions, several layers and padded batches. With one layer and one direction it must
# agree with the lines above, and it does:

# %%
from seqattn.models import Encoder

encoder = Encoder(1000, 32, 64, bidirectional=False)
encoder.embedding.load_state_dict(embed.state_dict())
encoder.rnn.load_state_dict(rnn.state_dict())
encoded = encoder(x, torch.tensor([60]))
torch.testing.assert_close(encoded.summary[:, -1], c)

# %% [markdown]
# Here is the difference that the rest of the book is about, as a picture: on the left every target
# word draws on one vector; on the right each target word draws on all states, with weights of its
# own.


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two diagrams of four source states and three target steps. Left, fixed context: all source states feed one box c, and c feeds every target step. Right, dynamic context: each target step has lines of different thickness to all four source states."}}
def draw(ax, title, dynamic):
    """Draw source states below, target steps above, and what joins them."""
    source, target = [(x, 0.0) for x in range(4)], [(x + 0.5, 2.0) for x in range(3)]
    strength = torch.softmax(torch.tensor([[4.0, 1, 0, 0], [0, 1, 3, 2], [0, 0, 1, 4]]), -1)
    for t, (tx, ty) in enumerate(target):
        for i, (sx, sy) in enumerate(source):
            width = 5 * strength[t, i].item() + 0.3
            if dynamic:
                ax.plot([sx, tx], [sy, ty], color="#0072B2", lw=width, alpha=0.7, zorder=1)
        if not dynamic:
            ax.plot([1.5, tx], [1.0, ty], color="#D55E00", lw=2, zorder=1)
    if not dynamic:
        for sx, sy in source:
            ax.plot([sx, 1.5], [sy, 1.0], color="#D55E00", lw=2, zorder=1)
        ax.text(
            1.5, 1.0, "$c$", ha="center", va="center", bbox={"boxstyle": "square", "fc": "white"}
        )
    for group, name in ((source, "h"), (target, "s")):
        for k, (x, y) in enumerate(group, start=1):
            circle = {"boxstyle": "circle", "fc": "white"}
            ax.text(x, y, f"${name}_{k}$", ha="center", va="center", bbox=circle)
    ax.set(title=title, xlim=(-0.5, 3.5), ylim=(-0.4, 2.4))
    ax.axis("off")


figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
draw(axes[0], "one context for all steps", dynamic=False)
draw(axes[1], "a context for each step", dynamic=True)

# %% [markdown]
# ## Is the vector too small?
#
# The popular explanation counts: $T_s$ states of $d$ numbers are squeezed into $d$ numbers, so
# information must be lost. Test it. The states are computed *from the tokens*, so they cannot hold more
# than the tokens do: at most $T_s \log_2 |V|$ bits for a vocabulary of $|V|$ words. A vector of $d$
# 32-bit numbers holds up to $32d$ bits. Counting alone forces a loss only if
#
# $$ T_s \log_2 |V| > 32\, d $$ (eq-counting-bound)
#
# For a vocabulary of 32,000 words and 512 numbers, that is a sentence of more than a thousand words.
# The fixed-vector models of Cho et al. and of Bahdanau et al. decline from twenty or thirty words on.
# One number is enough to prove the point: a single 64-bit float stores ten words of a 30-word
# vocabulary exactly. (The package computes the bound for you.)

# %%
from seqattn.bottleneck import longest_countable

words = [17, 4, 29, 0, 8, 8, 21, 3, 11, 25]
number = 0.0
for w in words:
    number = number * 30 + w  # write the sentence as a number in base 30

decoded = [int(number // 30**k % 30) for k in reversed(range(10))]
assert decoded == words
print(f"the whole sentence in one number: {number:.0f}")

longest = longest_countable(512, vocabulary=32_000)
assert longest == math.floor(32 * 512 / math.log2(32_000))
print(longest, "words fit into 512 floats, by counting")

# %% [markdown]
# So the room is there. What about noise and learnability: can a vector be *read* easily, by the kind
# of operation a network performs? Give each position a random pattern of signs, multiply each
# word's vector by its position's pattern, and add everything up:
#
# $$ c = \sum_{i=1}^{T_s} r_i \odot E_{x_i}, \qquad \hat x_i = \arg\max_w \; E_w^\top (r_i \odot c) $$ (eq-superposition)
#
# $E_w$ is the vector of word $w$, $r_i$ the pattern of position $i$ with entries $\pm1$, and $\odot$
# multiplies element by element; $\hat x_i$ is what is read at position $i$. To read it, multiply by the position's pattern again ($r_i \odot r_i$
# is all ones, so word $i$ comes out clean) and take the word whose vector fits best. The other words
# come out scrambled: noise, a little more with each word stored. The package has the two halves as
# `superpose` and `unpack`; the last two lines check that they are the same.


# %%
from seqattn.bottleneck import superpose, unpack


def store_and_read(words, d, vocabulary=1000):
    embeddings = torch.randn(vocabulary, d) / d**0.5
    signs = torch.randint(0, 2, (words, d)) * 2.0 - 1.0
    x = torch.randint(vocabulary, (words,))
    c = (signs * embeddings[x]).sum(0)
    read = ((signs * c) @ embeddings.T).argmax(-1)
    assert torch.equal(superpose(x, embeddings, signs), c)
    assert torch.equal(unpack(c, embeddings, signs), read)
    return (read == x).float().mean().item()


# %% mystnb={"image": {"alt": "Share of words read back correctly against sentence length for vectors of 128, 512 and 1000 numbers. Each curve is flat at 100 percent, then falls smoothly; the larger the vector, the later it falls."}}
torch.manual_seed(0)
lengths = [5, 10, 20, 30, 50, 100]
for d in (128, 512, 1000):
    trials = [[store_and_read(n, d) for n in lengths] for _ in range(10)]
    percent = 100 * torch.tensor(trials).mean(0)
    plt.plot(lengths, percent, marker="o", label=f"{d} numbers")
plt.xlabel("words in the sentence")
plt.ylabel("words read back, %")
plt.legend()
plt.show()

# %% [markdown]
# Look at the curve for 1000 numbers: thirty words come back almost without error, from one vector,
# with no learning at all. Two lessons. A fixed vector *can* hold the sentences on which real systems
# failed. And it degrades smoothly: nothing breaks at a certain length, the noise grows. Size does
# matter to this simple code: the models measured on this page have vectors of 320 numbers, with
# which it reads back about three words in four of twenty, and one in three of forty. The bottleneck
# is real, but it is not a theorem about counting.

# %% [markdown]
# ## How far does a gradient reach?
#
# If the room is there, the network has to *learn* to use it. Learning travels backwards: to store
# word 1 better, the error has to reach word 1. With $c = h_{T_s}$ it has to pass through every later
# step, and the chain rule multiplies one matrix of derivatives (a *Jacobian*) for each:
#
# $$ \frac{\partial c}{\partial x_i} = \frac{\partial h_{T_s}}{\partial h_{T_s-1}} \cdots \frac{\partial h_{i+1}}{\partial h_i} \, \frac{\partial h_i}{\partial x_i} $$ (eq-gradient-path)
#
# In the example by hand each factor was $\tfrac12$, so ten steps made a thousandth. In a GRU each
# factor is a matrix whose typical stretch is also below one at the start of training. Measure it:
# the size of $\partial c/\partial x_i$ for each position $i$, for an untrained GRU and sentences of
# thirty words.

# %%
from seqattn.bottleneck import gradient_reach


def reach(words, units=64):
    torch.manual_seed(0)
    rnn = nn.GRU(32, units, batch_first=True)
    x = torch.randn(16, words, 32, requires_grad=True)
    h, _ = rnn(x)
    return gradient_reach(h[:, -1], x, generator=dice())


def dice():
    return torch.Generator().manual_seed(0)


shares = reach(30)
assert shares[0] < 1e-5 < shares[9] < 1e-3 < shares[19] < 0.02
assert shares[28] > 0.4

# %% [markdown]
# The last word counts 1; the first word of thirty counts less than a hundred-thousandth of it. See
# the whole picture, and predict before you move: **when the sentence grows from 10 to 30 words, what
# happens to the share of the *first* word: does it fall to a third, or to something much smaller?**
# The logarithmic axis shows why.

# %% tags=["hide-input"]
from seqattn.widgets import Recency

Recency({n: reach(n).tolist() for n in (5, 10, 15, 20, 25, 30)})

# %% [markdown]
# On the logarithmic axis the bars form a straight line: each step back costs the same *factor*. That
# also corrects a second popular claim, that a fixed vector "treats all words alike". Before training,
# the last state weighs words very unequally, in favour of the recent ones (a bidirectional summary:
# of both ends). Whatever the weighting, it is one and the same for every target step. Training can
# change it, but the signal that should do so is the one that fades.
#
# {cite:t}`sutskever2014` found a revealing trick: feed the source *backwards*. Then the first source
# words, which the decoder needs first, are the nearest. With it, and a state of 8000 numbers, their
# model had little trouble with long sentences. The trick shortens the path for the first words and
# lengthens it for the last; the vector stays fixed.

# %% [markdown]
# ## Look back instead
#
# Now keep all the states and give each step $t$ a context of its own, a weighted sum with weights
# $\alpha_{ti}$ that are not negative and sum to 1 over the source positions $i$:
#
# $$ c_t = \sum_{i=1}^{T_s} \alpha_{ti}\, h_i $$ (eq-dynamic-context)
#
# From $c_t$ to $h_i$ is one step, whatever the distance: $\partial c_t / \partial h_i = \alpha_{ti} I$
# (for given weights; the weights depend on $h_i$ too, which adds another direct path). Where the
# weight is large, the gradient arrives undiminished. Take the measurement apart: first the *sum*
# alone, with equal weights $\alpha_{ti} = 1/T_s$. That is still a fixed vector, the mean of all states.

# %%
from seqattn import attend


def reach_of_the_mean(words):
    torch.manual_seed(0)
    rnn = nn.GRU(32, 64, batch_first=True)
    x = torch.randn(16, words, 32, requires_grad=True)
    h, _ = rnn(x)
    context, _ = attend(torch.zeros(16, words), h)  # equal weights
    return gradient_reach(context, x, generator=dice())


looking_back = reach_of_the_mean(30)
assert looking_back.min() > 0.3
assert looking_back[0] > 0.8

# %% mystnb={"image": {"alt": "Influence of each of 30 words on the context, on a logarithmic axis. The curve of the last state rises in a straight line from below one millionth at the first word. The curve of the mean of all states stays between 0.9 and 1 and falls to a half at the last words."}}
i = range(1, 31)
plt.semilogy(i, shares, marker="o", label="last state, $h_{30}$")
plt.semilogy(i, looking_back, marker="s", label="mean of all states")
plt.xlabel("position of the word")
plt.ylabel("influence, largest = 1")
plt.legend()
plt.show()

# %% [markdown]
# All thirty words now have an influence of the same order, before any training. (Each curve is scaled
# to its own largest; a word's share of the mean is about one in thirty.) The vector did not grow: it
# has 64 numbers on both curves. What changed is the *path*. But equal weights give every step the
# same context, in which each word counts a thirtieth. The short path is what summing all states buys;
# a context for each step, in which the right word counts most, is what *unequal* weights will buy.
# The next two chapters are about where they come from.
#
# The bill is easy to state already. All $T_s$ states have to be kept, $T_s\,d$
# numbers instead of $d$, and each of $T_t$ target steps weighs all of them: $T_s\,T_t$ scores for a
# sentence pair. At translation's lengths that is cheap. For whole books it is not, and later
# chapters come back to it.

# %% [markdown]
# ## Measure it
#
# The two curves at the top of this page are a measurement. Both models have a bidirectional GRU
# encoder and a GRU decoder of the same sizes, saw the same batches in the same order, and were
# trained from three random seeds. The fixed-vector model is of Cho et al.'s kind: it feeds $c$ to
# every step. This is the card of the experiment, then BLEU by length, with the standard deviation
# between seeds:

# %%
bottleneck = measured("bottleneck")
for name, value in bottleneck["card"].items():
    print(f"{name:>10}: {value}")

curves = bottleneck["figure"]
print("\nwords     ", *(f"{n:5.0f}" for n in curves["lengths"]))
for name in ("fixed", "attention"):
    print(f"{name:10}", *(f"{bleu:5.1f}" for bleu in curves[name]))
    print("         ±", *(f"{sd:5.1f}" for sd in curves[f"{name}_spread"]))

bleu = {}
for name in ("fixed", "attention"):
    bleu[name] = dict(zip(curves["lengths"], curves[name]))

# Both were trained on up to 20 words. One falls there, one does not.
assert bleu["fixed"][4] - bleu["fixed"][20] > 30
assert min(bleu["attention"][n] for n in (4, 8, 12, 16, 20)) > 95
assert bleu["attention"][40] < 80  # nothing is for ever
assert bleu["attention"][40] - bleu["fixed"][40] > 40

# %% [markdown]
# - **Inside the lengths of the training sentences**, up to twenty words, attention stays above 95. The
#   fixed vector loses about two fifths of its BLEU. So this is not only a matter of unseen lengths.
# - **Beyond them** the fixed vector goes on falling. Attention holds to 28 words, then falls as well,
#   and seeds begin to differ. It removes the bottleneck, not every difficulty with length; dropped
#   clauses are the subject of the chapter on coverage.
# - **The dip at twelve words** is probably in the sentences. Up to twelve words most are single,
#   complicated clauses; from thirteen on nearly all join shorter ones, which are easier word for word.
#
# Both models had the same number of updates. Trained for longer the fixed vector may come nearer on
# the lengths that it sees; this was not measured. What the measurement shows is how much *harder* the
# same task is to learn through one vector.
#
# And which words does the fixed vector lose? Count, for each third of the reference, how many of
# its words the translation has anywhere:

# %%
for name, by_length in bottleneck["kept_by_third"].items():
    for n in ("20", "40"):
        begin, middle, end = by_length[n]
        parts = f"begin {begin} %, middle {middle} %, end {end} %"
        print(f"{name:9} {n} words: {parts}")
        assert middle <= min(begin, end) + 1

# %% [markdown]
# The beginning is kept best. In long sentences the middle is lost most; at twenty words middle and
# end are level. The first part fits the gradients, since the encoder reads in both directions and $c$
# is close to both ends. It is no proof: the decoder also drifts as it goes on, which hurts the end,
# and attention loses most in the middle, too, where it drops clauses.

# %% [markdown]
# ## What the fixed vector costs
#
# | the trouble | where it comes from | what you see | what helps |
# |---|---|---|---|
# | one size for every length | each word more is noise for the others, {eq}`eq-superposition` | quality falls smoothly as sentences grow | keep all states |
# | a long path for the gradient (if $c$ is the last state) | one Jacobian for each step between, {eq}`eq-gradient-path` | words far from the end that $c$ is read from are harder to learn | a path of one step, {eq}`eq-dynamic-context` |
# | one vector for all target steps | $c$ in {eq}`eq-fixed-context` does not depend on $t$ | the decoder has to keep track of what it has said | a context for each step |
# | no weights to look at | $c$ does not say which word a number came from | nothing to inspect, nothing to point at a name with | weights, which point at positions |
#
# ## Fixes that do not fix
#
# - **A larger vector** pushes the curve of the superposition experiment to the right. It does not
#   shorten the path of the gradient: with four times the units, the influence of the first of thirty
#   words on an untrained network's last state is as small as before (the cell below).
# - **Reversing the source** {cite:p}`sutskever2014` brings the first words close together and takes
#   the last ones apart. A bidirectional encoder has both ends close, and the middle far.
# - **Beam search** looks for a better translation under the same $p(y \mid x)$. If the model no
#   longer knows which animal sat on the mat, no search finds out.

# %%
for units in (64, 256):
    first = reach(30, units)[0]
    assert 1e-7 < first < 1e-5
    print(f"{units} units: the first of 30 words counts {first:.0e}")

# %% [markdown]
# ## Check yourself
#
# **1.** In the example by hand, which context do the words $(8, 4, 7)$ give? What does it tell you?
#
# <details><summary>Answer</summary>
#
# $h_1 = 8$, $h_2 = 4 + 4 = 8$, $h_3 = 4 + 7 = 11$. Try $(4, 2, 9)$: it gives $1 + 1 + 9 = 11$, too.
# Two sentences with the same context must get the same translation. The numbers are exact here, so
# precision is not to blame: with a factor of $\tfrac1{10}$ in place of $\tfrac12$ no two sentences of
# three digits would collide. It depends on which words there are and how the encoder codes them.
#
# </details>
#
# **2.** A paper says that an encoder with 1000 states of 512 numbers loses information when it is
# "compressed" into 512 numbers. What is wrong with the count?
#
# <details><summary>Answer</summary>
#
# The states are functions of the words. A thousand words of a 32,000-word vocabulary carry at most
# $1000 \cdot \log_2 32000 \approx 15{,}000$ bits, whatever the number of states; 512 floats of 32
# bits hold 16,384. Counting forces no loss. Noise, learning and the path of the gradient do the
# damage.
#
# </details>
#
# **3.** You double $d$ in the superposition experiment. Roughly how many more words can you store at
# the same share of errors?
#
# <details><summary>Answer</summary>
#
# About twice as many. The right word's fit is about 1; each other word adds noise of variance about
# $1/d$, so $T_s$ words give a variance of about $T_s/d$. What matters is the ratio $T_s/d$.
#
# </details>
#
# **4.** For a bidirectional encoder with $c = [\overrightarrow{h}_{T_s}; \overleftarrow{h}_1]$,
# which word has the least influence?
#
# <details><summary>Answer</summary>
#
# The one in the middle. The forward half has the last words fresh, the backward half the first.
# The fixed vector in the measurement is of this kind.
#
# </details>
#
# **5.** With equal weights the dynamic context does not depend on $t$ either. What have you won,
# and what not yet?
#
# <details><summary>Answer</summary>
#
# You have won the short path: each word is one step away from the context. You still have one vector for
# all target steps. For that the weights have to depend on what the decoder is about to say: on a
# *query*.
#
# </details>
#
# ## What you now know
#
# - An encoder–decoder factorises $p(y \mid x)$ over target words and lets the source in through one
#   vector $c$.
# - Counting bits does not forbid that: a vector *can* hold the sentences on which real systems fail.
#   Noise grows smoothly with each word stored, and gradients to early words shrink by a factor per
#   step.
# - An untrained last state does not treat all words alike: it favours recent ones. Any fixed vector is
#   the same for every target step.
# - A weighted sum of all states puts every word one step away, at the price of keeping $T_s\,d$
#   numbers and computing $T_s\,T_t$ scores.
#
# **Next.** Where do the weights come from? [Soft addressing](02_soft_addressing.ipynb) builds them
# from queries, keys and a softmax, and gives you the temperature to play with.
#
# **Sources**
#
# - The encoder–decoder: {cite:t}`kalchbrenner2013`, {cite:t}`cho2014rnn`, {cite:t}`sutskever2014`.
# - Quality against length: *On the Properties of Neural Machine Translation*
#   {cite:p}`cho2014properties` and figure 2 of {cite:t}`bahdanau2015`.
# - Binding words to positions and adding up: *Holographic Reduced Representations*
#   {cite:p}`plate1995`, by circular convolution; with signs, *Hyperdimensional Computing*
#   {cite:p}`kanerva2009`.
# - Vanishing gradients: {cite:t}`bengio1994` and {cite:t}`pascanu2013`.
