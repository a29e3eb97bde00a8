# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 65
#     covers: [F-21, F-22, F-23, F-27, F-33, D-17, V-13, M-18, M-24, P-02, P-03, P-06]
#     exercise: 07_training
# ---

# %% [markdown]
# # Training and searching
#
# A translator gives a probability to every next word. Two questions are left. How do you find a good
# sentence with it? And where do good probabilities come from? You search a small tree by hand, ask
# what a wider search is worth, and count whose fault a wrong translation is: the search's or the
# model's. Then you make a trained model write a wrong word, and measure what that costs.
#
# **You need** [additive attention](03_additive.ipynb), for the model and its training loop. **It covers**
# greedy search, beam search and its penalties, sampling; cross-entropy, smoothed labels, clipping;
# teacher forcing, exposure bias and scheduled sampling.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Below is a model so small that all its sentences fit on the page. A number beside a word is its
# probability after the words before it. The probability of a sentence is the product along its path,
# with *end* as its last word.
#
# A **greedy** search takes the likeliest word, step by step. A **beam search** keeps more than one
# beginning: after each step, the `width` likeliest. Answer the question, then widen the beam.

# %% tags=["hide-input"]
import math
from collections import Counter

import matplotlib.pyplot as plt
import torch

from seqattn.data import DETOUR, FIVE, TREE, TextPair, measured, toy_corpus
from seqattn.decoding import TableModel, beam_search, greedy
from seqattn.evaluation import beam_tree, recovery
from seqattn.plots import BLUE, GREY, ORANGE, ResultTable, experiment_card, use_style
from seqattn.training import TokenLoss, cross_entropy
from seqattn.translator import Translator
from seqattn.widgets import BeamTree

use_style()
BeamTree()

# %% [markdown]
# What to try:
#
# - Compare what a width of 1 and a width of 2 keep at the first step.
# - With a width of 2, raise the length penalty slowly, and watch the last two columns of the table.
#   The winner changes. Which column did the slider change, and which did it leave alone?
# - Does a width of 3 or 4 bring anything new here?

# %% [markdown]
# ## By hand
#
# After *le*, the probability is shared by several words; after *un*, one word has nearly all of it.
#
# | sentence | factors | product | log |
# |---|---|---|---|
# | le chat | 0.6 · 0.4 · 0.55 | 0.132 | −2.025 |
# | un chat | 0.4 · 0.9 · 0.52 | 0.187 | −1.676 |
# | un chat dort | 0.4 · 0.9 · 0.48 · 1 | 0.173 | −1.756 |
#
# Greedy search drops *un* at its first step and never meets the second line. With a width of 2, both
# first words stay. At the second step their four likeliest continuations are *un chat* 0.36, *le chat*
# 0.24, *le chien* 0.21, *le gros* 0.12. The first two stay, and the best sentence is found.
#
# Every further word multiplies by a number of at most 1. So a search for the most probable sentence
# leans towards short ones. Wu et al. (2016) divide the log by $((5 + n)/6)^\alpha$, where $n$ counts the
# words, the end included. For $\alpha = 0.6$ the last two lines become −1.410 and −1.376: now the
# longer one wins. They change places at $\alpha = \ln(1.7556/1.6756) / \ln(9/8) = 0.396$.

# %% [markdown]
# ## In general
#
# Let $x$ be the source and $y = (y_1, \ldots, y_n)$ a translation with its end. The search looks for
#
# $$ \hat y = \arg\max_y \frac{1}{\mathrm{lp}(n)} \sum_{t=1}^{n} \log p(y_t \mid y_{<t}, x)
#    + \mathrm{cp}(y, x) $$ (eq-beam-objective)
#
# Logs are added where probabilities would be multiplied, since a product of many small numbers is soon
# too small for a computer. The *length penalty* is one of
#
# $$ \mathrm{lp}(n) = \Big(\frac{5 + n}{6}\Big)^{\alpha} \qquad\text{or}\qquad \mathrm{lp}(n) = n^{\alpha}
# $$ (eq-length-penalties)
#
# The first is that of Wu et al. The second with $\alpha = 1$ compares means per word. With $\alpha = 0$
# neither does anything. The *coverage penalty* reads the attention weights $\alpha_{ti}$ (no relation to
# the exponent):
#
# $$ \mathrm{cp}(y, x) = \beta \sum_{i} \log \min\Big(\sum_{t} \alpha_{ti},\, 1\Big) $$ (eq-coverage-in-search)
#
# A source word that was looked at for a total of 1 or more adds nothing; each other one adds something
# negative, the more so the less it was looked at.
#
# Nobody can try all sentences: with $V$ words there are $V^n$ of length $n$. The beam is a compromise.
# Neither penalty makes the search *better*. They change what it looks for.
#
# ## A beam in a few lines
#
# Each beam is a beginning with its log-probability. What has ended keeps its place and is not extended.


# %%
def search(table, width, alpha=0.0):
    beams = [(0.0, [])]
    while any(words[-1:] != ["<eos>"] for _, words in beams):
        ended = [beam for beam in beams if beam[1][-1:] == ["<eos>"]]
        longer = [
            (log_p + math.log(p), [*words, word])
            for log_p, words in beams
            if words[-1:] != ["<eos>"]
            for word, p in table.get(" ".join(words), {"<eos>": 1.0}).items()
        ]
        longer.sort(key=lambda beam: -beam[0])
        beams = ended + longer[: width - len(ended)]
    return max(beams, key=lambda beam: beam[0] / ((5 + len(beam[1])) / 6) ** alpha)


# %% [markdown]
# Two checks that any beam search should pass: a width of 1 is greedy search, and a beam wide enough to
# hold everything finds the best of *all* sentences. (`TableModel` makes a model of a table, so that the
# package's own searches run on it.)

# %%
for table in (TREE, DETOUR):
    model = TableModel(table)
    first, everything = search(table, 1), search(table, 1000)
    assert first[1][:-1] == model.read(greedy(model, *model.source))[0].split()
    for width in (1, 2, 3, 4, 1000):
        found = beam_search(model, *model.source, beam=width, length_penalty=0)
        log_p, words = search(table, width)
        assert words[:-1] == model.read(found)[0].split()
        assert abs(log_p - found.scores.item()) < 1e-9
    print("greedy", *first[1][:-1], "| best of all", *everything[1][:-1])

# %% [markdown]
# ## Is a wider beam safer?
#
# Here is another table. With a width of 2 the search finds its most probable sentence. Without any
# length penalty, what can happen at 3?

# %% tags=["hide-input"]
BeamTree(
    DETOUR,
    width=2,
    title="One place more",
    predict={
        "question": "A width of 2 finds the most probable sentence of this table. Can a width of 3 "
        "return a less probable one?",
        "options": [
            "No: a wider beam keeps all that a narrow one keeps, and more.",
            "Yes: a beginning that comes in may push the best one out.",
            "Only with a length penalty above 0.",
        ],
        "answer": 1,
        "tests": "width",
        "explain": [
            "True of the first step. At the second, the newcomer's continuations compete as well.",
            "“Cette” comes in at the first step. Its two continuations are ahead of “la maisonnette” at "
            "the second, and both lose later.",
            "It happens here at 0: beginnings are compared before anything is known of their ends.",
        ],
    },
)

# %% [markdown]
# A beam search *prunes*: it judges a beginning without knowing how it will go on. More room for
# beginnings is more room for the wrong ones. The cell lists all sentences, to be sure that the figure
# tells the truth:


# %%
def sentences(table, words=(), p=1.0):
    for word, q in table.get(" ".join(words), {"<eos>": 1.0}).items():
        if word == "<eos>":
            yield p * q, " ".join(words)
        else:
            yield from sentences(table, (*words, word), p * q)


complete = sorted(sentences(DETOUR), reverse=True)
assert abs(sum(p for p, _ in complete) - 1) < 1e-9
returned = {width: math.exp(search(DETOUR, width)[0]) for width in (1, 2, 3, 4)}
print("best of all:", *complete[0])
print("returned:   ", {width: round(p, 4) for width, p in returned.items()})
assert returned[3] < returned[2] == max(returned.values())

# %% [markdown]
# ## The same on a trained model
#
# `beam_tree` follows the package's beam search through a translator and writes down the probabilities
# that it met. This is the translator that comes with the package; the sentence is one that it gets
# wrong: *je ne réponds jamais à un ingénieur* would be right.

# %% tags=["hide-input"]
translator = Translator.load("toy")
english = "i never answer an engineer"
BeamTree(beam_tree(translator, english), width=2, title=english, predict=False)

# %% [markdown]
# The right verb form, *réponds*, is in the beam from a width of 2 on. The search sees it, and ranks it
# second, because the model gives it less. No width can mend that.
#
# ## Whose fault?
#
# Let $y^*$ be the reference and $\hat y \ne y^*$ what the search returned. Compare their probabilities. In
# a *search error* something likelier was missed; in a *model error* the model itself prefers the wrong one:
#
# $$
# \begin{aligned}
# p(\hat y \mid x) < p(y^* \mid x) &: \text{ search error} \\
# p(\hat y \mid x) \ge p(y^* \mid x) &: \text{ model error}
# \end{aligned}
# $$ (eq-search-error)
#
# `force` gives the second probability: it makes the model write the reference. The test knows this one
# reference. So a synonym counts as an error; and where a search missed a likelier sentence other than
# the reference, the test does not notice.

# %%
wanted = TextPair(english, "je ne réponds jamais à un ingénieur")
[forced], [found] = translator.force([wanted]), translator.translate([english])
print(f"found  {math.exp(found.score):.2f}  {found.text}")
print(f"wanted {math.exp(forced.score):.2f}  {forced.text}")

# %% [markdown]
# ### Measured
#
# The same translator, two sets of test sentences. The short ones are like those it was trained on. The
# long ones have 18 to 24 words, more than any of its training. Beams of 1 to 20 without a length penalty,
# and two penalties. In the table, *length* is the number of words written, as a share of the
# references'; the errors are numbers of sentences. The intervals below it come from drawing the
# sentences anew: there is one trained model, so they say nothing about another training.
#
# ```{predict} wider-on-long
# ```

# %%
searched = measured("searching")
experiment_card(searched["card"])

# %% tags=["hide-input", "hide-output", "hide-until-wider-on-long"]
long_of, rows = searched["long"]["settings"], []
for split in ("short", "long"):
    for setting, one in searched[split]["settings"].items():
        width, alpha = setting.split(", ")
        numbers = f"{one['bleu']:.1f}", f"{one['log_p']:.2f}", f"{one['length']:.2f}"
        rows.append(
            [split, width, alpha, *numbers, one["search errors"], one["model errors"]]
        )
heads = ["set", "width", "α", "BLEU", "mean log p", "length"]
heads += ["search errors", "model errors"]
display(ResultTable(heads, rows, "Beams and penalties"))
for split in ("short", "long"):
    for pair, by in searched[split]["differences"].items():
        low, high = by["interval"]
        print(
            f"{split:5s} {pair:20s} BLEU {by['bleu']:+5.2f}  95 % interval {low:+.2f} to {high:+.2f}"
        )

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **Short sentences.** Every setting returns the same BLEU: nothing is left to search for where the model is
# sure of its words.
#
# **Long ones.** The search does its task: from 1 to 20 the mean log-probability rises,
# {{ f"{long_of['1, 0']['log_p']:.2f}" }} to {{ f"{long_of['20, 0']['log_p']:.2f}" }}. The translations do not
# follow. They become shorter, and from 5 to 20 BLEU falls by a little; the interval only just leaves
# out zero. From 1 to 5 it includes zero: no difference seen. Where a wider beam costs BLEU, that is
# known as the *beam search curse* {cite:p}`koehn2017,yang2018`. A length penalty of 1 brings back more than that, at both widths, with intervals above zero.
#
# **Whose fault?** The test finds not one search error, in any row. The narrow beams did miss likelier
# sentences, or the log-probability could not rise. But all that was wrong, greedy search included, was
# *more* probable for this model than the reference. The long references have a mean log-probability of
# {{ f"{searched['long']['forced']:.0f}" }}. To find still likelier sentences cannot mend that.
#
# </details>
#
# ## Not the best, but any: sampling
#
# For several translations, draw each word from the model's probabilities, sharpened or flattened by a
# temperature $\tau$, as in [soft addressing](02_soft_addressing.ipynb):
#
# $$ y_t \sim \mathrm{softmax}(z_t / \tau) $$ (eq-tempered-draw)
#
# with $z_t$ the *logits*, the model's numbers before its softmax. *Top-k* lets only the $k$ likeliest words take part;
# a *nucleus* keeps the likeliest until they hold a share $p$ of the probability.

# %%
for options in (
    {},
    {"temperature": 2.0},
    {"temperature": 2.0, "top_k": 2},
    {"top_p": 0.4},
):
    [drawn] = translator.sample([english], n=200, **options)
    counts = Counter(one.text for one in drawn)
    print(options or "as it is", f"{len(counts)} different; most often:")
    for text, number in counts.most_common(2):
        print(f"    {number:3d} {text}")

# %% [markdown]
# ## What training asks for
#
# All this takes the probabilities as they are. They come from training, and it asks for one thing: that
# the *true* next word be likely after the *true* words before it.
#
# $$ L = -\frac{1}{N} \sum_{\text{sentences}} \sum_{t} \log p(y_t \mid y_{<t}, x) $$ (eq-nll)
#
# $N$ is the number of real target words, ends included and padding left out. This is the
# *cross-entropy*; its exponential $e^L$ is the *perplexity*. A model that found $m$ words equally likely
# at each step, the true one among them, would have a perplexity of $m$. Divide once, at the end. The mean of the batches' means is another number, and the short batches have too much say in it:

# %%
batches = [TokenLoss(torch.tensor(20.0), 10), TokenLoss(torch.tensor(950.0), 190)]
means = [batch.mean.item() for batch in batches]
total = sum(batch.total for batch in batches) / sum(batch.tokens for batch in batches)
print(f"means {means}, their mean {sum(means) / 2}; nats per word {total:.2f}")

# %% [markdown]
# ### Smoothed labels
#
# With one right word, the loss is never content: a probability of 0.99 should become 0.999. *Label
# smoothing* asks for less. A share $\varepsilon$ of the probability goes to all $V$ words alike:
#
# $$ L_\varepsilon = -\frac{1}{N} \sum_{\text{sentences}} \sum_t \Big[(1 - \varepsilon) \log p_t(y_t)
#    + \frac{\varepsilon}{V} \sum_{k} \log p_t(k)\Big] $$ (eq-label-smoothing)
#
# The best prediction is then the smoothed label itself, and the loss of that is its entropy, above zero.
#
# ```{predict} the-floor
# ```

# %% tags=["hide-output", "hide-until-the-floor"]
V, eps = 1631, 0.1
label = torch.full((V,), eps / V, dtype=torch.float64)
label[7] += 1 - eps
best = cross_entropy(label.log()[None, None], torch.tensor([[7]]), smoothing=eps)
sure = label.log().index_add(
    0, torch.tensor([7]), torch.tensor([5.0], dtype=torch.float64)
)
worse = cross_entropy(sure[None, None], torch.tensor([[7]]), smoothing=eps)
print(f"the smoothed label {best.mean:.3f} nats; surer than that {worse.mean:.3f}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# A model that is surer than the smoothed label pays for it. So a smoothed loss and a plain one are not
# comparable, and a smoothed one has no perplexity.
#
# </details>
#
# ### Clipping
#
# One odd batch can bring a gradient many times the usual length. With plain gradient descent the step is
# as many times too long, and can undo an epoch. (Adam, which all trainings here use, divides by the
# usual size, so its steps stay in bounds.) *Clipping by global norm* looks at all gradients $g$ of the model as one vector and shortens it to
# length $c$ where it is longer:
#
# $$ g \leftarrow g \cdot \min\Big(1,\, \frac{c}{\lVert g\rVert}\Big) $$ (eq-clip-by-norm)
#
# Its direction stays. (To clip each number by itself would turn it.)

# %%
g = torch.tensor([3.0, -4.0, 0.1], requires_grad=True)
(g * g.detach()).sum().backward()  # a gradient of norm 5
before = g.grad.clone()
norm = torch.nn.utils.clip_grad_norm_([g], max_norm=1.0)
turned = before.clamp(-1, 1)
cosine = torch.nn.functional.cosine_similarity
print(
    f"norm {norm:.2f} -> {g.grad.norm():.2f}, cosine {cosine(before, g.grad, dim=0):.3f}"
)
print(f"each number clipped by itself: cosine {cosine(before, turned, dim=0):.3f}")

# %% [markdown]
# ## Trained on the truth, living on its own words
#
# In training every step reads the true word before it: *teacher forcing*. When it translates, a step
# reads what the model wrote, right or wrong. Nothing in {eq}`eq-nll` prepares it for a wrong word. That
# mismatch is called **exposure bias** {cite:p}`ranzato2016`, and it is often said that errors snowball.
#
# Measure it before you believe it. Make the trained model write a *random wrong word* in the middle of
# each of 400 test sentences, and let it go on. In one run it reads only true words afterwards, so that
# the one wrong word is all that can disturb it. In the other it reads what it writes itself.
#
# ```{predict} one-wrong-word
# ```

# %% tags=["hide-input", "hide-output", "hide-until-one-wrong-word"] mystnb={"image": {"alt": "Share of right words against the distance from a wrong word. A dashed line, without a wrong word, stays near one. With true words read afterwards the share starts at about four fifths and is back near one after three words. With the model's own words read it stays near four fifths and is lower at the end."}}
pairs = toy_corpus(40_000)["test"][:400]
runs = {reads: recovery(translator, pairs, reads=reads) for reads in ("true", "own")}


def with_interval(share, number):
    half = 1.96 * math.sqrt(share * (1 - share) / number)
    return share, half


figure, ax = plt.subplots(figsize=(6, 3.2))
steps = range(1, 6)
number = (runs["true"].truth != 0).sum(0).tolist()
shares = {reads: [s.tolist() for s in run.right()] for reads, run in runs.items()}
for reads, colour, form in (("true", BLUE, "o-"), ("own", ORANGE, "s-")):
    points = [with_interval(s, n) for s, n in zip(shares[reads][1][:5], number)]
    middle, half = zip(*points)
    reading = {"true": "reads the truth again", "own": "reads its own words"}[reads]
    ax.errorbar(steps, middle, half, fmt=form, color=colour, label=reading, capsize=3)
ax.plot(steps, shares["own"][0][:5], "--", color=GREY, label="no wrong word")
ax.set(xlabel="words after the wrong one", ylabel="share of right words", xticks=steps)
ax.set_ylim(0.5, 1.02)
ax.legend(loc="lower left")
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# With true words read again, the next word is right in {{ f"{shares['true'][1][0]:.0%}" }} of the cases, and
# without the wrong word in {{ f"{shares['true'][0][0]:.0%}" }}. By the fourth word hardly anything is left
# of the damage. All in all one wrong word costs {{ f"{runs['true'].lost():.2f}" }} further words. The source is still
# there to be looked at.
#
# With its own words read, the curve does not come back. Do errors snowball, then? Look at how the words
# were counted: place by place. A model that writes one word too many, and all the rest rightly, is wrong
# at every place. So count again: how many words of the true rest does it write *in the same order*?
#
# </details>


# %% tags=["hide-input"]
def overlap_in_order(one, other):
    """Most words that stand in both, in the same order."""
    best = [0] * (len(other) + 1)
    for a in one:
        row = [0]
        for j, b in enumerate(other):
            row.append(best[j] + 1 if a == b else max(row[j], best[j + 1]))
        best = row
    return best[-1]


long = recovery(translator, pairs, reads="own", steps=30)
truth, own, clean = (
    [[w for w in row if w] for row in x.tolist()]
    for x in (long.truth, long.wrong, long.clean)
)
following = sum(map(len, truth))
same = sum(map(overlap_in_order, truth, own)) / following
unharmed = sum(map(overlap_in_order, truth, clean)) / following
placed = ((long.wrong == long.truth) & (long.truth != 0)).sum().item() / following
print(f"at the same place {placed:.3f}, in the same order {same:.3f}")
print(f"without the wrong word, in the same order {unharmed:.3f}")
lost = (unharmed - same) * following / len(truth)
print(f"lost by one wrong word: {lost:.2f} further words")

# %% [markdown]
# In the same order {{ f"{same:.0%}" }} of the true words are there, and at the same place {{ f"{placed:.0%}" }}.
# Most of what looked like damage was a shift. (Counting in order is generous: it forgives words too
# many.) Without the wrong word, {{ f"{unharmed:.0%}" }} are there. So exposure bias exists in this model, and
# no snowball: reading its own words, it loses {{ f"{lost:.2f}" }} further words by a wrong one. This is a
# well-trained model on short sentences; measure yours.
#
# ## Practise with wrong words: scheduled sampling
#
# Bengio et al. (2015) let a step read the model's own guess in training too, now and then. A *schedule*
# says how often update $i$ feeds the truth; $k$ and $c$ set its pace, and $\epsilon$ without an index is
# a floor:
#
# $$ \epsilon_i = \max(\epsilon,\, 1 - c\,i), \qquad \epsilon_i = k^i \;(k < 1), \qquad
#    \epsilon_i = \frac{k}{k + e^{i/k}} \;(k \ge 1) $$ (eq-scheduled)
#
# In the package: `fit(..., teacher_forcing=schedule)`. Two things to know. First, what it minimises
# is not smallest at the true probabilities (Huszár, 2015): after a wrong guess the target is still the
# reference's word at that place, whether it fits or not. Even endless data need not teach the truth
# then. Second, one may draw for each word of each sentence, as in the paper, or once
# for a whole step of the batch, as much code does. Shares agree on average; mixed batches do not occur in
# the second way.

# %% [markdown]
# ### Four trainings
#
# One small translator, trained four ways from three seeds: plainly; with labels smoothed by 0.1; with
# scheduled sampling, from all true words down to half of them along a straight line; and without
# clipping. Model, batches, number of updates, first weights and learning rate are the same. Of three
# rates the highest was best for the *plain* training, by BLEU on validation sentences, and all four use
# it; each of the others might do better at a rate of its own. The trainings are short. Test sentences
# were looked at once. In the table, *next word right* is the share after one random wrong word, with the
# truth read again; *norm above 1* counts the updates that clipping to a length of 1 would touch, or did.
#
# ```{predict} which-helps
# ```

# %%
stored = measured("training_choices")
experiment_card(stored["card"])


# %% tags=["hide-output", "hide-until-which-helps"]
def seeds_of(choice, value, form):
    values = [value(run) for run in stored["runs"][choice]]
    return f"{min(values):{form}} to {max(values):{form}}"


columns = {
    "BLEU, greedy": (lambda run: run["test"]["bleu"], ".1f"),
    "BLEU, beam 5": (lambda run: run["test"]["beam"], ".1f"),
    "perplexity": (lambda run: run["test"]["perplexity"], ".2f"),
    "next word right": (lambda run: run["test"]["recovery"]["true"][1][0], ".2f"),
    "norm above 1": (lambda run: run["clipped"], ".0%"),
}
rows = [[c, *(seeds_of(c, *how) for how in columns.values())] for c in stored["runs"]]
ResultTable(("training", *columns), rows, "Lowest to highest of three seeds")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **Smoothed labels.** BLEU is {{ seeds_of("smoothing 0.1", *columns["BLEU, greedy"]) }}, against
#   {{ seeds_of("plain", *columns["BLEU, greedy"]) }}: each seed is above each plain one, with a beam of 5
#   as well. {cite:t}`vaswani2017` found that smoothing costs perplexity; scored without smoothing, the ranges
#   overlap here: no difference seen. Longer training may tell.
# - **Scheduled sampling.** The word after a wrong one is right more often, each seed above each plain
#   one. It learned what it practised. But so did the smoothed model, which never practised. In BLEU the
#   ranges overlap: no difference seen.
# - **No clipping.** Ranges overlap: no difference seen. Few updates had a norm above 1, and Adam bounds
#   its steps anyway.
#
# </details>
#
# ## The five sentences
#
# The translator that comes with the package, by greedy search and by a beam of five:

# %%
english = [pair.source for pair in FIVE]
by_greedy, by_beam = (translator.translate(english, beam=beam) for beam in (1, 5))
for pair, one, other in zip(FIVE, by_greedy, by_beam):
    verdict = "right" if other.text == pair.target else "wrong"
    print(
        f"{pair.source:45s} {other.text:45s} {verdict}, p {math.exp(other.score):.2f}"
    )
    if one.text != other.text:
        print(f"{'greedy:':>45s} {one.text}")

# %% [markdown]
# ## My model repeats itself
#
# *le chat le chat le chat …* Many people ask what to do. Do not begin with a penalty for repeating; ask
# first which part is ill. Go down this list and stop at the first *yes*.
#
# | test | if so | then |
# |---|---|---|
# | Does the search go on after `<eos>`? | the decoding loop goes on after the end | write padding after `<eos>`, and stop |
# | Is the loss near zero on new sentences too, while what it writes is bad? | later words leak into a step | change a later target word, and see which earlier steps move |
# | Does another source leave the output as it is? | the source is not read | look at the map; `seqattn doctor` |
# | Is the perplexity under teacher forcing bad as well? | it has not learned enough | train on; check rate, pads, data |
# | Is it good, and do *known* words after one wrong word go wrong? | exposure bias | measure `recovery`, try scheduled sampling |
# | Does the map look at the same words again and again? | no memory of what was covered | coverage, in training or in the search |
# | Does only a wide beam repeat, or stop early? | the search finds what the model likes | narrower beam, length penalty |

# %% [markdown]
# `Translator.force` answers the fourth, `recovery` the fifth, a map the sixth. Each cure is for its own
# line: a beam does not mend exposure bias, which is about training.
#
# ## Where it breaks
#
# **Validation with wrong words fed back.** Let the reference be *a b c d e f* and its end, and let the
# model write *x a b c d e f*: one word too many. A loss that compares place by place finds every word of
# it wrong. So judge twice: the loss with true words fed (nothing random is in it), and BLEU of what the model
# writes by itself.

# %%
reference, written = (
    ["a", "b", "c", "d", "e", "f", "<eos>"],
    ["x", "a", "b", "c", "d", "e", "f"],
)
p, words = 0.99, 14  # sure of what it writes, the rest shared by 13 others
nats = [
    -math.log(p if a == b else (1 - p) / (words - 1))
    for a, b in zip(reference, written)
]
print(
    f"place by place {sum(nats) / len(nats):.2f} nats; guessing {math.log(words):.2f}"
)
print(
    f"words of it that are right, in order: {overlap_in_order(reference, written)} of 7"
)

# %% [markdown]
# **A loop without an end.** A sentence that has written `<eos>` must stop: pads afterwards, no score
# added. And a search that calls `eval()` should give the model back as it was. Otherwise the next update
# trains without dropout, and nothing says so.
#
# **Penalties too early.** Where ended sentences and longer beginnings compete for the same places, a
# division by the length decides who falls. In the package what has ended keeps its place, open beginnings
# of one length compete by their log-probability, and the penalties rank what has ended.
#
# **Clipping a scaled gradient.** With mixed precision the loss is multiplied by a large number. Divide
# first, then clip.
#
# **The wrong cure.** Beam search and length penalty change the search. They are no remedy for exposure
# bias.

# %% [markdown]
# ## Questions that readers ask
#
# <details><summary>Teacher forcing in validation: yes or no?</summary>
#
# For the loss, yes, always 1: then it is deterministic and comparable. For BLEU, no: there the model
# reads its own words.
#
# </details>
#
# <details><summary>The validation loss rises while BLEU improves. Is that a bug?</summary>
#
# Not by itself. The loss asks how much probability the reference gets; BLEU asks what the likeliest words
# are. A model that becomes surer pays more for each mistake without making more of them. Choose by what
# you want to use.
#
# </details>
#
# <details><summary>A teacher forcing ratio of 0.5, or 1?</summary>
#
# Begin with 1. Lower it on a schedule if you have measured that wrong words cost you something, and
# measure again.
#
# </details>
#
# <details><summary>How do I get the attention map with a beam search?</summary>
#
# The rows must move with the beginnings whenever the beam is sorted anew. The package does that:
# `translate(..., beam=5)` returns the map of the sentence it returns.
#
# </details>
#
# ## Check yourself
#
# ```{self-check} loss-at-the-floor
# ```
#
# ```{self-check} which-wins
# ```
#
# ```{self-check} wide-beam-loses
# ```
#
# ```{self-check} per-step
# ```
#
# ```{self-check} same-output
# ```

# %% [markdown]
# ## What you now know
#
# - A beam keeps the likeliest beginnings. It finds more than greedy search, and a wider one may still
#   find less.
# - The length penalty and the coverage penalty say what to look for, not how well.
# - Comparing with `force` tells a search error from a model error.
# - Loss: sum over real words, divide once. Smoothed labels have a floor. Clipping keeps the direction.
# - Exposure bias can be measured: what does one wrong word cost? Measure it in your model before you
#   cure it.
#
# **Now you.** [The exercise](../exercises/07_training.ipynb) has you write the loss, the update and
# greedy search, and train Bahdanau's design beside Luong's.
#
# **Next.** Maps of attention: how to read one, and how it can mislead.
#
# ## Sources
#
# - Beam search for translation: {cite:t}`sutskever2014`. Length and coverage penalties:
#   {cite:t}`wu2016`.
# - Wider beams that do worse: {cite:t}`koehn2017`, {cite:t}`yang2018`. Errors of the search and of the
#   model, with an exact search: {cite:t}`stahlberg2019`.
# - Label smoothing: {cite:t}`szegedy2016`. Clipping: {cite:t}`pascanu2013`.
# - Exposure bias: {cite:t}`ranzato2016`. Scheduled sampling: {cite:t}`bengio2015`; that its objective is
#   improper: {cite:t}`huszar2015`.
# - Top-k: {cite:t}`fan2018`. The nucleus: {cite:t}`holtzman2020`.
