# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 65
#     optional: 15
#     covers: [F-01, F-32, T-01, V-03, D-01]
# ---

# %% [markdown]
# # 1. The bottleneck
#
# A small translator that has to press every sentence into one vector of fixed size does well on short sentences
# and loses its way on long ones. In this chapter you watch that happen, find out why, and see what
# changes when the translator is allowed to look back.
#
# **You need** Python, PyTorch tensors, and a rough idea of what a recurrent network does. **This chapter covers**
# the encoder–decoder and its probability, the fixed context, how much a vector can hold, how far
# gradients reach, and the measurement that led to attention. Sections marked *optional* are for a second reading.

# %% tags=["install", "hide-cell"]
INSTALL

# %% tags=["hide-cell"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from seqattn.data import measured
from seqattn.plots import name_lines, plot_translator, use_style
from seqattn.widgets import FixedVersusDynamic, Recency, Unrolled

use_style()
figure = measured("bottleneck")["figure"]
example = figure["examples"][2]

# %% [markdown]
# ## A translation that went wrong
#
# A small neural network was trained to translate English into French. Here is a sentence that it had
# not seen, the correct translation, and what the network wrote:
#
# > **English:** {{ example["source"] }}<br>
# > **Correct:** {{ example["reference"] }}<br>
# > **Network:** {{ example["fixed"] }}
#
# The French is fluent. The grammar is right, the comparison with *me* is there, and the teachers are
# French. But the little child (*le petit enfant*) has become a hedgehog (*le hérisson*). The network
# kept the *pattern* of the sentence and lost some of its *words*.
#
# This sentence is no exception. On the whole, networks of this kind lose more of the words as sentences
# grow.

# %% [markdown]
# ## A question you can see
#
# Two networks learned from the same sentence pairs, none longer than twenty words. Both read the English
# sentence word by word and then write the French one. The first has to press all that it has read into a single
# vector of fixed size. The second may look back while it writes, and makes a new vector for each word that it
# writes: it has **attention**. Then both translated new sentences of up to forty words.
#
# The curves show **BLEU**, a score from 0 to 100; translations identical to the correct ones score 100. The
# bands show one standard deviation over three trainings of each network, and the dotted line marks the longest
# training sentence. Answer the question in the figure, then move the slider and read the translations.

# %% tags=["hide-input"]
FixedVersusDynamic(**figure, index=-1)

# %% [markdown]
# <details><summary>What the figure shows</summary>
#
# The curves part at once, well within the lengths that both networks saw in training. Past the dotted
# line both are on new ground. The network with attention stays above 95 up to 28 words and then slips too, in its
# own way: at forty words, look for the clause that it leaves out.
#
# </details>
#
# *On the Properties of Neural Machine Translation* {cite:p}`cho2014properties` measured such a curve in 2014 on real
# French and English, and
# {cite:t}`bahdanau2015` drew curves of this kind when they proposed the cure. The rest of this
# chapter asks *why* it happens.

# %% [markdown]
# ## One context, or one for each step
#
# Both networks have two parts. The **encoder** reads the source sentence, word by word. After each word it
# has a **state** $h_i$, a vector that sums up what it has read so far. The **decoder** writes the
# translation, word by word, and has states $s_t$ of its own. What it learns about the source is called the
# **context** $c$.
#
# The rest of the book is about the difference between these two drawings. In the upper one, the encoder's last
# state is the context for every target word. In the lower one, each target word has a context of its own. It uses
# all the states, with weights of its own: the thicker the line, the larger the weight.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two diagrams of three source and four target words. Above, one context for all steps: the last encoder state feeds one box c, and c feeds every decoder state. Below, a context for each step: lines of different thickness join each decoder state to all three encoder states, thickest for the word that it translates (for the end symbol, sleeps)."}}
ENGLISH, FRENCH = ["the", "cat", "sleeps"], ["le", "chat", "dort", "<eos>"]
weights = torch.tensor([[4.0, 1, 0], [0, 4, 1], [0, 1, 4], [0, 0, 3]]).softmax(-1)
_, (upper, lower) = plt.subplots(2, 1, figsize=(8.4, 8.6))
plot_translator(ENGLISH, FRENCH, ax=upper, title="One context for all steps")
plot_translator(
    ENGLISH, FRENCH, weights=weights, ax=lower, title="A context for each step"
)
plt.show()

# %% [markdown]
# ### Step by step
#
# The next figure shows a very small network of the first kind at work; it was trained on a few dozen short
# sentences. A state is drawn as a column of cells, one for each of its numbers: the larger the number,
# the stronger the colour. A dashed frame marks what has not been computed yet. An arrow means "is an
# input of". Press *Next* (or the arrow keys) and watch the sentence pass through.

# %% tags=["hide-input"]
Unrolled("the cat sleeps", orders=["none"], title="Encoder, context, decoder")

# %% [markdown]
# - **Encode.** Each state is computed from the state before it and the current word. After the last word,
#   the state crosses over as $c$. The decoder's first state, $s_0$, is made from it too.
# - **Decode.** Each step reads the decoder's previous state, the last word written, and $c$. It gives
#   every French word a probability. **Greedy** decoding writes the most probable word, which becomes an
#   input of the next step (dashed arrow). The first step reads a start symbol, `<bos>`, and the last one writes
#   the end symbol, `<eos>`.

# %% [markdown]
# ### How it is trained
#
# All the weights begin as random numbers. Training changes them in many small
# **updates**, also called **training steps**. Each update uses a *batch* of sentence pairs; the figure's
# *Training step* shows one pair.
#
# In a training step the decoder reads the words of the **reference**, the correct translation, whatever
# it would have written itself. This is called *teacher forcing*. It lets every step learn while the
# decoder's own words are still wrong. In use, the decoder has to read its own words, mistakes included.
#
# The *loss* is the mean of $-\log p$ over the reference's words, where $p$ is the probability that the
# decoder gave to the word. It is small if the decoder found these words probable. The gradient of the loss
# travels back along the arrows, down to the encoder, and each weight takes a small step against its gradient.
#
# Two trainings that differ only in their random numbers (the initial weights, the order of batches) end
# in different networks. All of these numbers are generated from one number, the **seed**. A result
# from one seed may be luck, so this book repeats trainings and shows how far apart the seeds lie.

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
# The decoder receives $c = h_3 = 10$. In this number word 3 counts in full, word 2 by half and word 1 by
# a quarter: $10 = \tfrac14\cdot 4 + \tfrac12\cdot 2 + 8$. Ten words later the share of word 1 would be
# below a thousandth. Nothing was cut off, yet the first word is now a whisper behind the others.
#
# Real encoders have hundreds of numbers instead of one, and they learn what to keep. The problem keeps
# its shape: **everything the decoder will ever know about the source has to survive the trip through
# every later step.**

# %% [markdown]
# ## The model, in general
#
# A translator gives a probability to each target sentence $y = (y_1, \dots, y_{T_t})$, given the source
# $x = (x_1, \dots, x_{T_s})$. By the chain rule of probability, that is a product with one factor for each word,
# given the words before it. The *assumption* is that the source enters
# through one vector $c$:
#
# $$ p(y \mid x) = \prod_{t=1}^{T_t} p(y_t \mid y_1, \dots, y_{t-1}, c) $$ (eq-factorisation)
#
# Here $t$ counts target steps. The last **token** (word or symbol), $y_{T_t}$, is the end symbol `<eos>`; without it the
# product could not give probabilities to sentences of different lengths. The vector is some function
# $g$ of the encoder's states $h_1, \dots, h_{T_s}$, one state for each source token:
#
# $$ h_i = f(x_i, h_{i-1}), \qquad c = g(h_1, \dots, h_{T_s}) $$ (eq-fixed-context)
#
# The simplest choice of $g$ takes the last state, $c = h_{T_s}$. {cite:t}`sutskever2014` did so and gave
# $c$ to the decoder once, as its initial state. {cite:t}`cho2014rnn` passed it through one more layer and
# fed it to every step, as in *Step by step*. {cite:t}`kalchbrenner2013` came first of the three, with a convolutional
# encoder. In both recurrent models $c$ has the same size for three words as for sixty.

# %% [markdown]
# ## Ten lines of PyTorch
#
# An *embedding* is a table with one learned vector for each word. A *recurrent network* reads those
# vectors one after the other and updates its state $h_i$ with each. A *GRU* (gated recurrent unit) has
# learned gates that decide how much of the old state to keep. Embedding and recurrent network together
# make an encoder. Let it read one short and one long sentence of random word numbers (0 to 3 are reserved for
# symbols such as `<eos>`), and look at what the decoder would get:

# %%
torch.manual_seed(0)
embed, rnn = nn.Embedding(1000, 32), nn.GRU(32, 64, batch_first=True)

for words in (3, 60):
    x = torch.randint(4, 1000, (1, words))
    h, _ = rnn(embed(x))  # all the states h_1 ... h_T
    c = h[:, -1]  # the fixed context: the last one
    print(f"{words} words: states {tuple(h.shape)}, context {tuple(c.shape)}")

# %% [markdown]
# The number of states grows with the sentence; the size of the context does not. The package's `Encoder`
# returns the same `states`, one vector for each word, and a `summary`, the last state of each layer. With one layer
# and one direction it must agree with the lines above, and it does:

# %%
from seqattn.models import Encoder

encoder = Encoder(1000, 32, 64, bidirectional=False)
encoder.embedding.load_state_dict(embed.state_dict())
encoder.rnn.load_state_dict(rnn.state_dict())
encoded = encoder(x, torch.tensor([60]))
torch.testing.assert_close(encoded.summary[:, -1], c)

# %% [markdown]
# ### Why both directions?
#
# So far a state knows only what comes before its word. A **bidirectional** encoder has a second recurrent
# network, which reads from right to left. We write $h_i = [\overrightarrow{h}_i; \overleftarrow{h}_i]$
# for the states of the two networks, stacked into one vector. Each direction ends at one end of the
# sentence, and $c$ is made from the two states there.
#
# Change the last word of a six-word sentence and see which states notice, in each kind of encoder.
#
# ```{predict} last-word
# ```

# %% tags=["hide-output", "hide-until-last-word"]
six = torch.randint(4, 1000, (1, 6))
other = six.clone()
other[0, -1] += 1  # another last word
for both in (False, True):
    reader = Encoder(1000, 32, 64, bidirectional=both)
    one, two = (reader(words, torch.tensor([6])).states[0] for words in (six, other))
    moved = (one != two).any(-1).nonzero().flatten() + 1
    print(
        "both directions:" if both else "one direction:  ",
        "states",
        moved.tolist(),
        "moved",
    )

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# A left-to-right state knows the words to its left and nothing of those to its right. English often needs
# the right side too: only the next word shows whether *light* is a noun or an adjective. A decoder that
# looks back at single states needs each state to know its word *in its sentence*. A bidirectional encoder
# provides that.
#
# </details>

# %% [markdown]
# ## Is the vector too small?
#
# No: by counting there is room. The popular explanation says that $T_s$ states of
# $d$ numbers are squeezed into $d$ numbers, so
# information must be lost. But the states are computed *from the tokens*, so they cannot hold
# more than the tokens do: at most $T_s \log_2 |V|$ bits for a vocabulary of $|V|$ words. A vector of $d$
# 32-bit numbers holds up to $32d$ bits. Counting alone forces a loss only if
#
# $$ T_s \log_2 |V| > 32\, d $$ (eq-counting-bound)
#
# For a vocabulary of 32,000 words and 512 numbers, that takes a sentence of more than a thousand
# words. The fixed-vector models of Cho et al. and of Bahdanau et al. decline from twenty or thirty
# words on. One number is enough to make the point: a single 64-bit float stores ten words of a
# 30-word vocabulary exactly.

# %%
from seqattn.metrics import longest_countable

words = [17, 4, 29, 0, 8, 8, 21, 3, 11, 25]
number = 0.0
for w in words:
    number = number * 30 + w  # write the sentence as a number in base 30

decoded = [int(number // 30**k % 30) for k in reversed(range(10))]
assert decoded == words
print(f"the whole sentence in one number: {number:.0f}")

longest = longest_countable(512, vocabulary=32_000)
assert longest == math.floor(32 * 512 / math.log2(32_000))
print(f"{longest:,} words fit into 512 floats, by counting")

# %% [markdown]
# The bottleneck is real, but it is no theorem about counting. A network has to *learn* a code that uses the
# room, and its decoder has to learn to read it.
#
# ## How far does a gradient reach?
#
# Learning travels backwards: before the encoder can store word 1 better, the error has to reach word 1. With
# $c = h_{T_s}$ the error passes
# through every later step, and each step multiplies it by one matrix of derivatives (a *Jacobian*):
#
# $$ \frac{\partial c}{\partial x_i} = \frac{\partial h_{T_s}}{\partial h_{T_s-1}} \cdots \frac{\partial h_{i+1}}{\partial h_i} \, \frac{\partial h_i}{\partial x_i} $$ (eq-gradient-path)
#
# In the example by hand each factor was $\tfrac12$. Now take a GRU as PyTorch creates it, untrained, let it
# read sixteen sequences of random vectors, and measure the *influence* of each word: the norm of
# $\partial c/\partial x_i$ (estimated, and averaged over the sequences), divided by the largest, here that of the last word. Answer the
# question in the figure, then move its slider.

# %%
from seqattn.metrics import gradient_reach
from seqattn.models.rnn import initialise


def reach(words, seed=0, units=64, start=None):
    torch.manual_seed(seed)
    rnn = nn.GRU(32, units, batch_first=True)
    if start is not None:
        start(rnn)
    x = torch.randn(16, words, 32, requires_grad=True)
    h, _ = rnn(x)
    return gradient_reach(h[:, -1], x, generator=torch.Generator().manual_seed(seed))


# %% tags=["hide-input"]
FAR = {
    "question": "A sentence grows from 10 to 30 words. What happens to the influence of "
    "its first word, if that of the last is 1?",
    "options": [
        "About a third of it is left.",
        "A ninth of it is left, three squared.",
        "It falls by a factor of thousands.",
    ],
    "answer": 2,
    "explain": [
        "A word's share of a mean would fall like that, from a tenth to a thirtieth. The last "
        "state is no mean: each step takes its part of what was there.",
        "That would be a power of the distance. Here each step back costs a factor, which "
        "makes an exponential of the distance.",
        "Each step back costs a factor, so distances add up in the exponent.",
    ],
    "tests": "choice",
}
Recency({n: reach(n).tolist() for n in (5, 10, 15, 20, 25, 30)}, choice=1, predict=FAR)

# %% tags=["remove-cell"]
falls = [round(float(reach(10, seed)[0] / reach(30, seed)[0]), -2) for seed in range(5)]

# %% [markdown]
# <details><summary>What the figure shows</summary>
#
# Going from 10 words to 30, the influence of the first word falls by a factor of
# {{ f"{min(falls):,.0f}" }} to {{ f"{max(falls):,.0f}" }} (five untrained networks). On the
# logarithmic axis the bars form nearly a straight line. That corrects a second popular claim,
# that a fixed vector "treats all words alike". Before training, this last state favours the recent
# words heavily.
#
# </details>
#
# How fast the influence falls depends on how the gates are initialised (an optional section below measures it), and
# training moves them. Two things stay true: the path has one step for each later word, and every target step is
# given the same vector.
#
# {cite:t}`sutskever2014` shortened the path with a trick: feed the source *backwards*. Then the first source
# words, which the decoder needs first, are the nearest. With this trick and a state of 8,000 numbers,
# their model had little trouble with long sentences.

# %% [markdown]
# ## Look back instead
#
# Now keep all the states and give each step $t$ a context of its own, a weighted sum with weights
# $\alpha_{ti}$ that are not negative and sum to 1 over the source positions $i$:
#
# $$ \context{c_t} = \sum_{i=1}^{T_s} \weights{\alpha_{ti}}\, \values{h_i} $$ (eq-dynamic-context)
#
# From $c_t$ to $h_i$ is one step, whatever the distance: $\partial c_t / \partial h_i = \alpha_{ti} I$ for
# given weights ($I$ is the identity matrix). Where the weight
# is near 1, the gradient arrives at the *state* almost undiminished, whatever lies between.
#
# *Summing* buys this short path, even with equal weights. But equal weights give every step the same context, the
# mean of all states. *Unequal* weights will buy a context for each step, in which the right word counts
# most. The next two chapters show where such weights come from.
#
# The price: all $T_s$ states have to be kept, $T_s\,d$ numbers instead of $d$,
# and each of $T_t$ target steps weighs all of them: $T_s\,T_t$ scores for a sentence pair. For sentences
# that is cheap; for whole books it is not.

# %% [markdown]
# ## Measure it
#
# Back to the two curves at the top. Both models have a bidirectional GRU encoder and a GRU decoder of the
# same sizes, saw the same batches in the same order, and were trained from three seeds. The fixed-vector
# model feeds $c$ to every step, as in *Step by step*. The sentences are artificial: a small *grammar*, a set of
# rules with about a thousand English words, writes each of them together with its French translation. So there
# are as many sentences to learn from as we like, and every mistake can be found.
#
# **BLEU** is a *precision*: of the words a translation
# contains, and of its runs of two, three and four words, how many also occur in the reference (each at most as
# often as it does there)? The four
# shares are combined into one number. Precision alone would reward saying little, so output that is
# shorter than the reference is marked down (the *brevity penalty*). The formula is {eq}`eq-bleu`, in chapter 19.
#
# Here is the card of the experiment. The cell below it holds the numbers behind the curves.

# %%
from seqattn.plots import ResultTable, experiment_card

bottleneck, kinds = measured("bottleneck"), ("fixed", "attention")
experiment_card(bottleneck["card"])

# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Table: BLEU by length", "code_prompt_hide": "Hide: BLEU by length"}
curves = bottleneck["figure"]
shown = [curves["lengths"]]
for name in kinds:
    pairs = zip(curves[name], curves[f"{name}_spread"])
    shown.append([f"{bleu} ± {spread}" for bleu, spread in pairs])
ResultTable(("words", *kinds), [*zip(*shown)], "BLEU of test sentences")

# %% tags=["remove-cell"]
bleu = {n: dict(zip(curves["lengths"], curves[n])) for n in kinds}

# %% [markdown]
# - **Inside the lengths of the training sentences**, up to twenty words (punctuation marks and *’s* count), attention
#   stays above 95. The
#   fixed vector goes from {{ bleu["fixed"][4] }} at four words to {{ bleu["fixed"][20] }} at twenty. So
#   unseen lengths are not the only cause. (An optional section below takes up the dip at twelve.)
# - **Beyond them** the fixed vector goes on falling, to {{ bleu["fixed"][40] }}. Attention stays above 95 up to 28
#   words, then falls as well, to {{ bleu["attention"][40] }}, and the seeds move apart. Attention removes
#   the bottleneck, not every difficulty with length.
#
# <details><summary>How sure is this?</summary>
#
# Both models had the same number of updates and the same *learning rate*, which sets the size of their steps.
# Trained for longer, or at a rate of its own, the fixed vector may come nearer on the lengths that it
# sees; this was not measured. And longer sentences are also *different* sentences: an optional section below
# counts how.
#
# </details>

# %% [markdown]
# ## What the fixed vector costs
#
# | the trouble | where it comes from | what you see | what helps |
# |---|---|---|---|
# | one size for every length | all words share $d$ numbers | quality falls as sentences grow | keep all states |
# | a long path for the gradient (if $c$ is the last state) | one Jacobian for each step between, {eq}`eq-gradient-path` | how far a word's error reaches depends on how the gates are initialised | a path of one step, {eq}`eq-dynamic-context` |
# | one vector for all target steps | $c$ in {eq}`eq-fixed-context` does not depend on $t$ | the decoder has to keep track of what it has said | a context for each step |
# | no weights to look at | $c$ does not say which word a number came from | nothing to inspect, and no way to copy a name from its position | weights, which point at positions |

# %% [markdown]
# ### Three fixes, and what each leaves as it is
#
# {cite:t}`sutskever2014` used all three together and translated long sentences well. One by one:
#
# - **A larger vector** has room for more words. It does not shorten the path of the gradient.
# - **Reversing the source** {cite:p}`sutskever2014` brings the first source and target words closer together and
#   moves the last ones further apart. A bidirectional encoder has both ends close and the middle far away.
# - **Beam search**, which follows several translations at once instead of the greedy one, looks for a
#   more probable translation under the same $p(y \mid x)$. If the model no longer knows whether it read
#   about a child or a hedgehog, no search can find out.

# %% [markdown]
# ## Padding must not be read (optional)
#
# The sentences of a batch have different lengths, so the short ones are filled up with **padding**. A
# plain recurrent network reads on through the padding, so its last state is that of a pad. Here are three
# words and 57 pads, read first without the lengths, then with them:

# %%
padded, three = F.pad(x[:, :3], (0, 57)), torch.tensor([3])
alone = encoder(x[:, :3], three).summary[:, -1]
contexts = {
    "pads read": rnn(embed(padded))[0][:, -1],
    "lengths given": encoder(padded, three).summary[:, -1],
}

for name, vector in contexts.items():
    change = ((vector - alone).norm() / alone.norm()).item()
    print(f"{name}: the context changes by {100 * change:.0f}% of its norm")

# %% [markdown]
# So padding *does* matter for the decoder's first state, even if no loss is computed on pads: the same sentence
# could be translated differently in another batch. Telling PyTorch the lengths (*packing* the batch)
# therefore changes results, not only speed. A packed batch holds all first words, then all second words, and
# so on. Its `batch_sizes` says how many sentences still have a word at each step.

# %% [markdown]
# ## Reading words back from one vector (optional)
#
# Counting says that there is room. But can the vector be *read* by the kind of operation that a network performs?
# Give each position a random pattern of signs, multiply each word's vector by its position's pattern,
# and add everything up:
#
# $$ c = \sum_{i=1}^{T_s} r_i \odot E_{x_i}, \qquad \hat x_i = \arg\max_w \; E_w^\top (r_i \odot c) $$ (eq-superposition)
#
# $E_w$ is the vector of word $w$ (random here, of length about 1), $r_i$ the pattern of position
# $i$ with entries $\pm1$, and $\odot$ multiplies element by element. To read position $i$, multiply
# by its pattern again: $r_i \odot r_i$ is all ones, so word $i$ comes out clean. The other words
# come out scrambled, as noise. Then $\hat x_i$ is the word whose vector fits best.
#
# Here is this code at two sizes: that of Cho et al. (2014) and Bahdanau et al. (2015), 1,000 numbers for
# 30,000 words, and that of the small model measured above, 320 numbers for about a thousand
# words.

# %%
from seqattn.metrics import superpose, unpack


def share_read(lengths, d, vocabulary):
    embeddings = torch.randn(vocabulary, d) / d**0.5
    shares = []
    for n in lengths:
        signs = torch.randint(0, 2, (n, d)) * 2.0 - 1.0
        x = torch.randint(vocabulary, (n,))
        c = (signs * embeddings[x]).sum(0)
        read = ((signs * c) @ embeddings.T).argmax(-1)
        assert torch.equal(superpose(x, embeddings, signs), c)
        assert torch.equal(unpack(c, embeddings, signs), read)
        shares.append(100 * (read == x).float().mean().item())
    return shares


# %% mystnb={"image": {"alt": "Share of words read back correctly against sentence length, for two sizes, with bands from the lowest to the highest of five trials. With 1,000 numbers and 30,000 words the curve stays near 100 percent up to twenty words and then falls smoothly. With 320 numbers and 1,014 words it starts to fall after ten."}}
torch.manual_seed(0)
lengths, held = [5, 10, 20, 30, 50, 100], {}
for d, vocabulary in ((1000, 30_000), (320, 1014)):
    held[d] = torch.tensor([share_read(lengths, d, vocabulary) for _ in range(5)])
    sizes = f"{d:,} numbers, {vocabulary:,} words"
    plt.plot(lengths, held[d].mean(0), marker="o", label=sizes)
    plt.fill_between(lengths, held[d].amin(0), held[d].amax(0), alpha=0.2, lw=0)
plt.xlabel("words in the sentence")
plt.ylabel("words read back, %")
plt.ylim(0, 105)
name_lines(plt.gca())
plt.show()

# %% [markdown]
# With 1,000 numbers and a vocabulary of 30,000, {{ f"{held[1000][:, 3].mean():.0f}" }}% of thirty words
# come back from one vector, and {{ f"{held[1000][:, 4].mean():.0f}" }}% of fifty (means of five trials),
# with no learning at all. So a fixed vector *can* hold most words of a sentence as
# long as those on which real systems began to fail. And this code degrades smoothly: nothing breaks at a
# certain length. With the smaller size, 320 numbers, it reads back
# {{ f"{held[320][:, 2].mean():.0f}" }}% of twenty words.
#
# This does *not* show what a trained encoder stores. It may find a better code than random
# signs, or never find one as good.

# %% [markdown]
# ## How the gates are initialised (optional)
#
# How far a gradient reaches is no law of recurrent networks. One gate alone can change it. A GRU mixes
# its old state with a new proposal $n_i$: $h_i = z_i \odot h_{i-1} + (1 - z_i) \odot n_i$. The *update gate*
# $z_i$ is a *sigmoid*, $1/(1 + e^{-a})$, of a sum $a$ in which there is a learned bias $b$. PyTorch initialises $b$ near 0, where the sigmoid is $\tfrac12$. Start
# $b$ at 1 and a step keeps
# {{ f"{torch.tensor(1.0).sigmoid():.2f}" }} of the old state; at 2,
# {{ f"{torch.tensor(2.0).sigmoid():.2f}" }}. The last line of the output shows the initialisation of this book's
# own models: $b = 0$ and orthogonal recurrent matrices, which change the length of no vector. Each line gives the
# influence of the first of 30 words, lowest to highest of five seeds, with 64 units:
#
# ```{predict} open-gates
# ```


# %% tags=["hide-output", "hide-until-open-gates"]
def open_gates(by):
    def start(rnn):
        rnn.bias_ih_l0.data[64:128] += by  # PyTorch's order of gates: r, z, n

    return start


starts = {"PyTorch's default": None, "bias +1": open_gates(1), "bias +2": open_gates(2)}
starts["as in this book"] = initialise
reaches = {}
for name, start in starts.items():
    r = reaches[name] = torch.stack([reach(30, seed, start=start) for seed in range(5)])
    print(f"{name:18} {r[:, 0].min():.0e} to {r[:, 0].max():.0e}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# The network is the same, and four orders of magnitude lie between its initialisations. Raise the bias by 2, and the
# first word of thirty still counts a few hundredths of the last (which now enters with 0.12, not 0.5). So anyone who
# says that gradients vanish should also say for which initial weights and over what distance. And training moves the
# gates, in either direction.
#
# With the default, each step back divides the influence by about 1.6, not 2: some of it also passes through the
# proposal and the gates. With gates almost shut to new input (a
# bias of 8, where a word enters with 0.0003) all thirty are within a tenth of each other.
#
# </details>
#
# Do more units help? With PyTorch's initialisation, four times the units make no visible difference for the first
# of thirty words. With this book's they help, by a factor of about three; we did not test why:

# %%
first = {}
for name in ("PyTorch's default", "as in this book"):
    print(f"{name}, the first of 30 words:")
    for units in (64, 256):
        values = [reach(30, s, units, starts[name])[0].item() for s in range(5)]
        first[name, units] = values
        print(f"{units:5} units: {min(values):.0e} to {max(values):.0e}")

# %% [markdown]
# ### The mean of all states
#
# What does summing buy? Give all states equal weights, $\alpha_{ti} = 1/T_s$. That is still a fixed vector, the mean
# of all states, but each state is one step away from it:

# %%
from seqattn import attend


def reach_of_the_mean(words, seed):
    torch.manual_seed(seed)
    rnn = nn.GRU(32, 64, batch_first=True)
    x = torch.randn(16, words, 32, requires_grad=True)
    h, _ = rnn(x)
    equal = torch.zeros(16, words)  # equal scores give equal weights: chapter 2
    context, _ = attend(equal, h)
    return gradient_reach(context, x, generator=torch.Generator().manual_seed(seed))


means = [reach_of_the_mean(30, seed) for seed in range(5)]
reaches["mean of all states"] = torch.stack(means)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Influence of each of 30 words on the context, on a logarithmic axis, with bands over five seeds. The four curves of the last state rise to the right as nearly straight lines, steepest for PyTorch's default, flattest with a bias of 2. The curve of the mean of all states is nearly level and falls at the last few words."}}
i = range(1, 31)
for (name, r), marker in zip(reaches.items(), "osD^v"):
    label = name if "mean" in name else f"last state, {name}"
    plt.semilogy(i, r.median(0).values, marker=marker, ms=3, label=label)
    plt.fill_between(i, r.amin(0), r.amax(0), alpha=0.2, lw=0)
plt.gcf().set_size_inches(8.4, 5)
plt.xlabel("position of the word")
plt.ylabel("influence, largest = 1")
plt.legend(fontsize=11, loc="upper left", bbox_to_anchor=(0, -0.18))
plt.show()

# %% [markdown]
# With the mean of all states, all thirty words have an influence of the same order, before any training
# and without a change to the gates. The last words count less, the very last about half: an early word
# also reaches the mean through the states after its own, the last one only through its own. (Each curve
# is scaled to its own largest.) The vector did not
# grow: it has 64 numbers on every curve. What changed is the *path*.

# %% [markdown]
# ## Long sentences are different sentences (optional)
#
# In the data of this chapter, length and construction change together:

# %%
from seqattn.data import generate

JOINTS = {",", "and", "but", "because"}
joined = {}
for n in (4, 8, 12, 16):
    sentences = generate(100, seed=1, min_len=n, max_len=n)
    joined[n] = sum(bool(JOINTS & set(pair.source)) for pair in sentences)
    print(f"{n:2} words: {joined[n]:3}% have a comma, 'and', 'but' or 'because'")

# %% [markdown]
# Up to twelve words many sentences are one clause; by sixteen nearly all join several short ones. That may be why the
# fixed curve dips at twelve and recovers at sixteen. Another likely reason is that the training set has only a third as many
# twelve-word sentences as sixteen-word ones. The measurement cannot separate either reason from the effect of length.
#
# ## Which words are lost? (optional)
#
# Now ask how many of the reference's words the translation has anywhere: its *recall*.
# Count separately for each third of the reference. Small words such as *le* and *de* occur in many
# sentences, so some are found by luck. To see how many, put the reference of another English sentence of the same length in
# the translation's place. The table shows means over the three seeds; how far the seeds lie apart was not stored.

# %%
from itertools import pairwise

from seqattn.data import detokenize


def kept_by_luck(n):
    """Share of a reference's words that the next one has, for each third."""
    pairs = generate(200, seed=1, min_len=n, max_len=n)
    texts = [detokenize(pair.target, "fr").split() for pair in pairs]
    found = [[], [], []]
    for one, other in pairwise(texts):
        for i, word in enumerate(one):
            found[3 * i // len(one)].append(word in other)
    return [round(100 * sum(third) / len(third)) for third in found]


# %%
kept = bottleneck["kept_by_third"]
kept["another sentence"] = {n: kept_by_luck(int(n)) for n in ("20", "40")}
rows = [(name, n, *kept[name][n]) for name in kept for n in ("20", "40")]
columns = ("model", "words", "beginning", "middle", "end")
ResultTable(columns, rows, "Words of the reference that the translation has (%)")

# %% [markdown]
# The fixed vector keeps the beginning best. At forty words it loses the middle most: what it
# keeps there is not far above luck. That fits an encoder that reads from
# both ends, but it is no proof: attention loses most in the middle, too.

# %% [markdown]
# ## Check yourself
#
# ```{self-check} collide
# ```
#
# ```{self-check} wrong-count
# ```
#
# ```{self-check} least-felt
# ```
#
# ```{self-check} equal-weights
# ```
#
# These two need the optional sections:
#
# ```{self-check} twice-as-wide
# ```
#
# ```{self-check} which-experiment
# ```

# %% [markdown]
# ## What you now know
#
# - An encoder–decoder factorises $p(y \mid x)$ over target words and lets the source in through one
#   vector $c$, the same for every target step.
# - Counting bits does not forbid that: a vector *can* hold sentences of the length at which real systems
#   fail.
# - With the last state as context, a gradient has to pass through every later step. How far it reaches in an
#   untrained GRU depends on how the gates are initialised.
# - A weighted sum of all states puts every state one step away, at the price of keeping $T_s\,d$
#   numbers and computing $T_s\,T_t$ scores.
#
# **Next.** Where do the weights come from? [Soft addressing](02_soft_addressing.ipynb) builds them from
# queries, keys and a softmax, and lets you play with the temperature.

# %% [markdown]
# ## Sources
#
# - The encoder–decoder: {cite:t}`kalchbrenner2013`, {cite:t}`cho2014rnn`, {cite:t}`sutskever2014`.
# - Quality against length: *On the Properties of Neural Machine Translation*
#   {cite:p}`cho2014properties` and figure 2 of {cite:t}`bahdanau2015`.
# - Binding words to positions and adding up: *Holographic Reduced Representations*
#   {cite:p}`plate1995`, by circular convolution; with signs, *Hyperdimensional Computing*
#   {cite:p}`kanerva2009`.
# - Vanishing gradients: {cite:t}`bengio1994` and {cite:t}`pascanu2013`.
