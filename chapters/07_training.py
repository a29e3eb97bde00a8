# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 55
#     covers: [F-21, F-22, F-23, F-27, F-33, D-17, V-13, M-18, M-24, P-02, P-03, P-06]
#     exercise: 07_training
# ---

# %% [markdown]
# # 7. Training and searching
#
# A translator gives each possible next word a probability. How do you find a good
# sentence with these probabilities, and how does training make them good? You search a small tree by
# hand, ask what a wider search is worth, and decide whether a wrong translation is the fault of the
# search or of the model. Then you make a trained model write a wrong word, and measure what that costs.
#
# **You need** [additive attention](03_additive.ipynb), for the model and its training loop. **This chapter covers**
# greedy search, beam search and its penalties, sampling; cross-entropy, smoothed labels, clipping;
# teacher forcing, exposure bias and scheduled sampling.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Below is a model so small that all its sentences fit on the page. The number beside a word is its
# probability, given the words before it. The probability of a sentence is the product along its path,
# with *end* as its last word.
#
# A **greedy** search takes the likeliest word at each step. A **beam search** keeps several beginnings:
# after each step, the `width` likeliest. Answer the question, then widen the beam.

# %% tags=["hide-input"]
import math
from collections import Counter

import matplotlib.pyplot as plt
import torch

from seqattn.data import DETOUR, FIVE, TREE, TextPair, measured, toy_corpus
from seqattn.decoding import TableModel, beam_search, coverage_penalty, greedy
from seqattn.evaluation import beam_tree, recovery
from seqattn.plots import (
    BLUE,
    GREY,
    ORANGE,
    ResultTable,
    experiment_card,
    name_lines,
    plot_attention,
    use_style,
)
from seqattn.training import cross_entropy
from seqattn.translator import Translator
from seqattn.widgets import BeamTree

use_style()
BeamTree()

# %% [markdown]
# What to try:
#
# - Compare what widths 1 and 2 keep at the first step.
# - At a width of 2, raise the length penalty slowly (it divides the log-probability by a number that is larger for
#   longer sentences). The
#   winner changes. Which of the table's last two
#   columns did the slider change?
# - Does a width of 3 or 4 bring anything new?

# %% [markdown]
# ## By hand
#
# After *le*, several words share the probability; after *un*, one word has nearly all of it.
#
# | sentence | factors | product | log |
# |---|---|---|---|
# | le chat | 0.6 · 0.4 · 0.55 | 0.132 | −2.025 |
# | un chat | 0.4 · 0.9 · 0.52 | 0.187 | −1.676 |
# | un chat dort | 0.4 · 0.9 · 0.48 · 1 | 0.173 | −1.756 |
#
# Greedy search drops *un* at its first step and never meets the second line. A width of 2 keeps both. Of all their continuations the four likeliest are *un chat* 0.36, *le chat* 0.24, *le chien* 0.21
# and *le gros* 0.12. The first two stay, and the best sentence is found.
#
# Every further word multiplies by a number of at most 1, so a search for the most probable sentence favours short
# ones. Wu et al. (2016) divide the log by $((5 + n)/6)^\alpha$, where $n$ counts the words,
# the end included. For $\alpha = 0.6$ the last two lines become −1.410 and −1.376: now the longer one wins.
# They change places at $\alpha = \ln(1.7556/1.6756) / \ln(9/8) = 0.396$.

# %% [markdown]
# ## In general
#
# Let $x$ be the source and $y = (y_1, \ldots, y_n)$ a translation with its end. The search looks for
#
# $$ \hat y = \arg\max_y \frac{1}{\mathrm{lp}(n)} \sum_{t=1}^{n} \log p(y_t \mid y_{<t}, x)
#    + \mathrm{cp}(y, x) $$ (eq-beam-objective)
#
# It adds logs, because a product of many small numbers soon becomes
# too small for a computer. The *length penalty* is one of
#
# $$ \mathrm{lp}(n) = \Big(\frac{5 + n}{6}\Big)^{\alpha} \qquad\text{or}\qquad \mathrm{lp}(n) = n^{\alpha}
# $$ (eq-length-penalties)
#
# Wu et al. use the one on the left. The one on the right, with $\alpha = 1$, compares means per word. With
# $\alpha = 0$ neither does anything. The *coverage penalty* reads the attention weights $\alpha_{ti}$ (not the exponent):
#
# $$ \mathrm{cp}(y, x) = \beta \sum_{i} \log \min\Big(\sum_{t} \alpha_{ti},\, 1\Big) $$ (eq-coverage-in-search)
#
# A source word whose weights sum to 1 or more adds nothing. Any other word adds something negative, and the
# less weight it had, the more it costs.
#
# **Neither penalty makes the search *better*. Each changes what the search looks for.** And
# nobody can try all sentences: with $\lvert V\rvert$ words there are $\lvert V\rvert^n$ of length $n$. The beam is a compromise.
#
# ## A beam in a few lines
#
# Each beam is a beginning with its log-probability. A beginning that has ended keeps its place and is not
# extended.


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
# Any beam search should pass two checks. A width of 1 is greedy search, and a beam wide enough to hold
# everything finds the best of *all* sentences. (`TableModel` turns a table into a model, so that the
# package's own searches run on it.)

# %%
for table in (TREE, DETOUR):
    model, first, everything = TableModel(table), search(table, 1), search(table, 1000)
    assert first[1][:-1] == model.read(greedy(model, *model.source))[0].split()
    for width in (1, 2, 3, 4, 1000):
        found = beam_search(model, *model.source, beam=width, length_penalty=0)
        assert search(table, width)[1][:-1] == model.read(found)[0].split()
        assert abs(search(table, width)[0] - found.scores.item()) < 1e-9
    print("greedy", *first[1][:-1], "| best of all", *everything[1][:-1])

# %% [markdown]
# ## Is a wider beam safer?
#
# Here is another table. A width of 2 finds its most probable sentence. Without any length penalty, what can
# happen at 3?

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
# **A beam search *prunes*: it judges a beginning without knowing how it will go on.** More room for
# beginnings is also more room for wrong ones.
#
# ## The same on a trained model
#
# `beam_tree` follows the package's beam search through a translator and writes down the probabilities
# that it met. The figure shows the translator that comes with the package, on a sentence that it gets
# wrong. *je ne réponds jamais à un ingénieur* would be right.

# %% tags=["hide-input"]
translator = Translator.load("toy")
english = "i never answer an engineer"
BeamTree(beam_tree(translator, english), width=2, title=english, predict=False)

# %% [markdown]
# The right verb form, *réponds*, is in the beam from a width of 2 on. The search sees it and still ranks it
# second, because the model gives it less. No width can mend that.
#
# ## Search error or model error?
#
# Let $y^*$ be the reference, and let $\hat y \ne y^*$ be what the search returned. Compare their
# probabilities. In a *search error* the search missed something likelier. In a *model error* the model
# prefers a wrong sentence to the right one:
#
# $$
# \begin{aligned}
# p(\hat y \mid x) < p(y^* \mid x) &: \text{ search error} \\
# p(\hat y \mid x) \ge p(y^* \mid x) &: \text{ model error}
# \end{aligned}
# $$ (eq-search-error)
#
# `force` makes the model write the reference, and so gives $p(y^* \mid x)$. The test knows only this one
# reference: a synonym counts as an error, and a likelier
# sentence other than the reference goes unnoticed. It can convict the search, never acquit it.

# %%
wanted = TextPair(english, "je ne réponds jamais à un ingénieur")
[forced], [found] = translator.force([wanted]), translator.translate([english])
print(f"found  {math.exp(found.score):.2f}  {found.text}")
print(f"wanted {math.exp(forced.score):.2f}  {forced.text}")

# %% [markdown]
# ### Measured: wider beams, short and long sentences
#
# Now the same translator translates two sets of test sentences. The short ones are like those it was trained
# on. The long ones have 18 to 24 words, more than any of its training, and nearly all join clauses by *, and*, as none of its training does. Beams of 1 to 20 run without a
# length penalty; two penalties follow. In the table, *length* is the number of words written, as a share
# of the references', and the errors are counts of sentences. The intervals below the table come from drawing the
# sentences anew ([chapter 17](17_evaluation.ipynb)); they say nothing about another training.
#
# ```{predict} wider-on-long
# ```

# %% tags=["hide-input"]
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
heads += ["search errors seen", "model errors"]
display(ResultTable(heads, rows, "Beams and penalties"))
for split in ("short", "long"):
    for pair, by in searched[split]["differences"].items():
        low, high = by["interval"]
        print(
            f"{split:5s} {pair:20s} BLEU {by['bleu']:+5.2f}  95% interval {low:+.2f} to {high:+.2f}"
        )

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **Short sentences.** Every setting gives the same BLEU and mean log-probability: greedy search already finds what a beam of 20 finds.
#
# **Long ones.** A wider beam finds likelier sentences, not better ones. From 1 to 20 mean log-probability rises,
# {{ f"{long_of['1, 0']['log_p']:.2f}" }} to {{ f"{long_of['20, 0']['log_p']:.2f}" }}. Translations become shorter.
# From 1 to 5 the interval of BLEU's change includes zero: no difference seen. From 5 to 20 BLEU falls a little; the
# interval just leaves out zero. {cite:t}`koehn2017` reported that too, and
# {cite:t}`yang2018` speak of the *beam search curse*. A length penalty of 1 raises BLEU at both widths, with
# intervals above zero. For [captions](training_runs.md) validation chose 2, which lowered test BLEU.
#
# **Whose fault?** The test finds no search error in any row. The narrow beams did miss likelier
# sentences; otherwise the log-probability could not rise. But every wrong translation was *more* probable than its reference. The long references have a mean log-probability of {{ f"{searched['long']['forced']:.0f}" }}.
#
# </details>
#
# <details><summary>How sure is this?</summary>
#
# The test can see a search error only where the reference itself is likely, and with a penalty the search seeks another
# score; then the test only hints. The fall from 5 to 20 and the rise with the length penalty both come from length. BLEU is a
# brevity penalty ({eq}`eq-brevity` of chapter 17) times a mean of precisions of $n$-grams (runs of $n$ words): the brevity penalty
# moves more than BLEU does, and the precisions move the other way.
#
# </details>

# %% [markdown]
# ## Sampling
#
# For several translations, draw each word from the model's probabilities. A temperature $\tau$ sharpens or
# flattens them, as in [soft addressing](02_soft_addressing.ipynb):
#
# $$ y_t \sim \mathrm{softmax}(z_t / \tau) $$ (eq-tempered-draw)
#
# The *logits* $z_t$ are what the softmax reads. The temperature acts first, then a cut. *Top-k* keeps only the $k$ likeliest words. A *nucleus* keeps the likeliest words until they sum to at least $P$.

# %%
ways = {}, {"temperature": 2.0}, {"temperature": 2.0, "top_k": 2}, {"top_p": 0.4}
for options in ways:
    [drawn] = translator.sample([english], n=200, **options)
    counts = Counter(one.text for one in drawn)
    print(options or "as it is", f"{len(counts)} different; most often:")
    for text, number in counts.most_common(2):
        print(f"    {number:3d} {text}")

# %% [markdown]
# ## What training asks for
#
# So far we took the probabilities as they are. Training asks for one thing:
# the *true* next word should be likely after the *true* words before it.
#
# $$ L = -\frac{1}{N} \sum_{\text{sentences}} \sum_{t} \log p(y_t \mid y_{<t}, x) $$ (eq-nll)
#
# $N$ is the number of real target words, ends included and padding left out. This is the
# *cross-entropy*; its exponential $e^L$ is the *perplexity*. A model that shared all probability equally among $m$ words at each step, the true one among them, would have a perplexity of $m$.
#
# **Add up first, and divide once, at the end.** By hand: a batch of 10 words has a loss of 20 nats in all, and
# one of 190 words has 950. Together that is $970/200 = 4.85$ nats per word. The batches' means are 2 and 5,
# and their mean, 3.5, is another number: the short batch has too much say in it.
#
# ### Smoothed labels
#
# With one right word, the loss is never satisfied: a probability of 0.99 should become 0.999. *Label
# smoothing* asks for less. It spreads a share $\varepsilon$ of the probability evenly over all $\lvert V\rvert$ words:
#
# $$
# \begin{aligned}
# L_\varepsilon &= -\frac{1}{N} \sum_{\text{sentences}} \sum_t \Big[(1 - \varepsilon) \log p_t(y_t) \\
# &\qquad\qquad + \frac{\varepsilon}{\lvert V\rvert} \sum_{k} \log p_t(k)\Big]
# \end{aligned}
# $$ (eq-label-smoothing)
#
# ```{predict} the-floor
# ```

# %% tags=["hide-output", "hide-until-the-floor"]
V, eps, target = 1631, 0.1, torch.tensor([[7]])
label = torch.full((V,), eps / V, dtype=torch.float64)
label[7] += 1 - eps
surer = label.log()
surer[7] += 5
logits = torch.stack([label.log(), surer])[:, None, None]
best, worse = (cross_entropy(z, target, smoothing=eps) for z in logits)
print(f"the smoothed label {best.mean:.3f} nats; surer than that {worse.mean:.3f}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# The best prediction is the smoothed label itself. Its loss is the label's entropy, which is above zero. A
# model that is surer than the smoothed label pays for it. So a smoothed loss and a plain one cannot be
# compared, and a smoothed one has no perplexity.
#
# </details>
#
# ### Clipping
#
# One odd batch can bring a gradient many times the usual length. In plain gradient descent the step is as
# many times too long, and can undo an epoch. *Clipping by
# global norm* takes all gradients $g$ of the model as one vector. A
# vector above length $c$ is shortened to $c$:
#
# $$ g \leftarrow g \cdot \min\Big(1,\, \frac{c}{\lVert g\rVert}\Big) $$ (eq-clip-by-norm)
#
# **Its direction stays.** By hand, with $c = 1$: $(12, -5)$ has length 13 and becomes $(12/13, -5/13)$. Clip each
# number by itself, and $(1, -1)$ points elsewhere: the cosine with the old direction is $17/(13\sqrt2) = 0.92$.
# `torch.nn.utils.clip_grad_norm_` clips all gradients together, in place, and returns their length before.
# The trainings of this chapter use AdamW {cite:p}`loshchilov2019`: Adam
# with a pull of the weights towards 0. It divides by the usual size, so its steps stay in bounds.

# %% [markdown]
# ## Exposure bias: trained on the truth, living on its own words
#
# In training, every step reads the true word before it: *teacher forcing*. In translation, a step reads
# what the model wrote, right or wrong. Nothing in {eq}`eq-nll` asks what to write after a wrong word. That mismatch
# is called **exposure bias** {cite:p}`ranzato2016`, and it is often said that errors snowball.
#
# Measure it before you believe it. Make the trained model write a *random wrong word* in the middle of
# each of 400 test sentences, and let it go on. In one run it reads only true words afterwards, so the one
# wrong word is all that can disturb it. In the other run it reads what it writes itself.
#
# The figure compares words position by position. But a model that writes one word too many, and then all the rest
# rightly, is wrong at nearly every later position. So the lines below the figure count again: how many words of the true
# rest does it write *in the same order*?
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
    marks = ax.errorbar(steps, middle, half, fmt=form, color=colour, capsize=3)
    marks[0].set_label(reading)
ax.plot(steps, shares["own"][0][:5], "--", color=GREY, label="no wrong word")
ax.set(xlabel="words after the wrong one", ylabel="share of right words", xticks=steps)
ax.set_ylim(0.5, 1.02)
name_lines(ax)
plt.show()


def overlap_in_order(one, other):
    """Most words that stand in both, in the same order."""
    best = [0] * (len(other) + 1)
    for a in one:
        row = [0]
        for j, b in enumerate(other):
            row.append(best[j] + 1 if a == b else max(row[j], best[j + 1]))
        best = row
    return best[-1]


def lost_words(by, reads):
    """Further words that the wrong one costs each sentence: by place, and in order."""
    run = recovery(translator, pairs, by=by, reads=reads, steps=30)
    kept = {}
    for name, said in (("clean", run.clean), ("wrong", run.wrong)):
        # what it says after the end of the truth is not read
        said = said.masked_fill(run.truth == 0, 0) if reads == "true" else said
        words = [
            [[w for w in row if w] for row in x.tolist()] for x in (run.truth, said)
        ]
        placed = ((said == run.truth) & (run.truth != 0)).sum(1).tolist()
        kept[name] = torch.tensor([placed, [*map(overlap_in_order, *words)]]).double()
    return kept["clean"] - kept["wrong"]


def mean_and_half(lost):
    return lost.mean().item(), 1.96 * lost.std().item() / len(lost) ** 0.5


lost = {
    (by, reads): lost_words(by, reads)
    for by in ("random", "likeliest")
    for reads in ("true", "own")
}
cost = {key: [mean_and_half(way) for way in both] for key, both in lost.items()}
print("further words that one wrong word costs, with 95% intervals")
print("wrong word  then reads   at the same place   in the same order")
for (by, reads), both in cost.items():
    counted = "".join(f"{mean:11.2f} ± {half:.2f}  " for mean, half in both)
    print(f"{by:11s} {reads:8s} {counted.rstrip()}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# With true words read again, the next word is right in {{ f"{shares['true'][1][0]:.0%}" }} of the cases;
# without the wrong word it is right in {{ f"{shares['true'][0][0]:.0%}" }}. By the fourth word hardly
# anything is left of the damage.
#
# With its own words read, the curve stays down. By position, a random wrong
# word costs {{ f"{cost['random','true'][0][0]:.2f}" }} further words if the truth is read again, and
# {{ f"{cost['random','own'][0][0]:.2f}" }} if its own words are. In order it costs
# {{ f"{cost['random','true'][1][0]:.2f}" }} and {{ f"{cost['random','own'][1][0]:.2f}" }}. When it reads
# its own words, most of what looked like damage was a shift.
#
# Whether the model's own words make it worse depends on how you count. And a random
# word is harsh: the wrong word that the model itself finds likeliest costs
# {{ f"{cost['likeliest','own'][0][0]:.2f}" }} by position, its own words read. This model is well trained, on short sentences:
# measure yours.
#
# </details>

# %% [markdown]
# ## Practise with wrong words: scheduled sampling
#
# Bengio et al. (2015) let a step read the model's own guess now and then, in training too. A *schedule*
# gives the probability $\epsilon_i$ that a step of update $i$ reads the truth:
#
# $$
# \begin{aligned}
# \epsilon_i &= \max(\epsilon,\, 1 - c\,i) \\
# \epsilon_i &= k^i && (k < 1) \\
# \epsilon_i &= \frac{k}{k + e^{i/k}} && (k \ge 1)
# \end{aligned}
# $$ (eq-scheduled)
#
# In the first, $c$ sets the pace and $\epsilon$ is a floor (the paper has an offset $k$ where we write 1); in the other two
# $k$ sets the pace. In the package: `fit(..., teacher_forcing=schedule)`.

# %% [markdown]
# Two warnings. First, the objective is not smallest at the true probabilities (Huszár, 2015): after a wrong guess the target is still the
# reference's word at that position, fitting or not.
# Second, one can draw for each word of each sentence, as in the paper, or once for a whole step of the batch, as much code does. The shares agree on average. But with one draw for the step, no step
# mixes true words and guesses.
#
# ### Four trainings compared

# %% [markdown]
# One small translator is trained four ways, with three seeds: plainly; with labels smoothed by 0.1;
# with scheduled sampling, from all true words down linearly to half; without clipping. All else is the same.
#
# In the table *beam 5* has a length penalty of 0.6; *next word* says by how much one random wrong word lowers the share of right next words; *next four* is the same for words 2 to 5 after the wrong one, averaged, when it reads its own words. *Norm above 1* counts updates that clipping touches, or would.
#
# ```{predict} which-helps
# ```

# %% tags=["hide-input"]
stored = measured("training_choices")
experiment_card(stored["card"])

# %% tags=["hide-input", "hide-output", "hide-until-which-helps"]


def seeds_of(choice, value, form):
    values = [value(run) for run in stored["runs"][choice]]
    return f"{min(values):{form}} to {max(values):{form}}"


def share_lost(run, reads, places):
    clean, wrong = run["test"]["recovery"][reads]
    return sum(clean[i] - wrong[i] for i in places) / len(places)


columns = {
    "BLEU, greedy": (lambda run: run["test"]["bleu"], ".1f"),
    "BLEU, beam 5": (lambda run: run["test"]["beam"], ".1f"),
    "perplexity": (lambda run: run["test"]["perplexity"], ".2f"),
    "next word": (lambda run: share_lost(run, "true", [0]), ".2f"),
    "next four": (lambda run: share_lost(run, "own", [1, 2, 3, 4]), ".2f"),
    "norm above 1": (lambda run: run["clipped"], ".0%"),
}
rows = [[c, *(seeds_of(c, *how) for how in columns.values())] for c in stored["runs"]]
ResultTable(("training", *columns), rows, "Lowest to highest of three seeds")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **Smoothed labels.** BLEU is {{ seeds_of("smoothing 0.1", *columns["BLEU, greedy"]) }}, against
#   {{ seeds_of("plain", *columns["BLEU, greedy"]) }}: each seed is above each plain one, with a beam of 5
#   as well.
# - **Scheduled sampling.** A wrong word costs the next one less: {{ seeds_of("sampling to 0.5",*columns["next word"]) }},
#   against {{ seeds_of("plain",*columns["next word"]) }} after plain training and
#   {{ seeds_of("smoothing 0.1",*columns["next word"]) }} with smoothed labels. In BLEU the ranges of scheduled sampling and plain training overlap.
# - **No clipping.** Ranges overlap: no difference seen. Few gradient norms exceed 1, and AdamW bounds its steps anyway.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# - Batches in their
#   order, number of updates and learning rate are the same; a seed fixes the first weights, the same for all four, and
#   the positions where scheduled sampling reads a guess. Of three rates the highest was best for the *plain* training, by
#   BLEU on validation
#   sentences with the first of the seeds, and all four use it; at other rates, higher ones too, each might do better.
# - {cite:t}`vaswani2017` found that smoothing costs perplexity; scored without smoothing, the ranges
#   overlap here.
# - In the cost of a wrong word each seed of scheduled sampling is below all nine
#   others; the same holds for the next four words, with its own words read, which is what scheduled sampling practises. Both measures were chosen
#   afterwards: three seeds do not settle it. With equal seeds its BLEU is above the plain one.
#
# </details>

# %% [markdown]
# ## The five sentences, and a real one
#
# The package's translator writes the book's five sentences by greedy search and by a beam of five like the
# table's. Then comes a real caption, the third of
# [chapter 3](03_additive.ipynb), whose translation, by greedy search without a penalty, loses the vests. The reference is *Three men in same colored vests are in the outdoors.* Would a coverage penalty have noticed? The
# last lines sum each column of the map and compute {eq}`eq-coverage-in-search`.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Attention map of a German caption and its wrong English translation, a row for each English token. Men, in, hard and hats have one strong cell each, at Männer, in, gleich and farbigen. Further down the rows are paler, but for the last, which looks at the end mark."}}
english = [pair.source for pair in FIVE]
by_greedy, by_beam = (translator.translate(english, beam=beam) for beam in (1, 5))
for pair, one, other in zip(FIVE, by_greedy, by_beam):
    verdict = "right" if other.text == pair.target else "wrong"
    told = f"{verdict}, p {math.exp(other.score):.2f}"
    print(f"{pair.source}\n    {other.text:48s} {told}")
    if one.text != other.text:
        print(f"    by greedy search: {one.text}")

caption = measured("captions")["captions"][2]
weights, read = torch.tensor(caption["weights"]), caption["source_tokens"]
totals = weights.sum(0)
print(caption["source"], "->", caption["text"])
print(*(f"{piece.strip('▁')} {total:.2f}" for piece, total in zip(read, totals)))
print(f"penalty at β = 0.2: {coverage_penalty(totals, 0.2):.2f} nats")
figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
plot_attention(weights, read, caption["tokens"], ax=ax, annotate=False)
plt.show()

# %% [markdown]
# Hardly: *gleich* and *farbigen*, together "of the same colour", have totals of about 1, and *Westen*, the vests, has
# {{ f"{totals[read.index('▁Westen')]:.2f}" }}. Most of the penalty of {{ f"{coverage_penalty(totals,0.2).item():.2f}" }} nats comes
# from the full stop and from words that are translated, *Drei* and *Freien*. **The map shows where the model attended, not what became of it.**

# %% [markdown]
# ## My model repeats itself
#
# *le chat le chat le chat …* First ask which part is at fault. Stop at
# the first *yes*.
#
# | test | if so | then |
# |---|---|---|
# | Does the search go on after `<eos>`? | the decoding loop | write padding after `<eos>`, and stop |
# | Is the loss near zero on new sentences too, while the output is bad? | later words leak into a step | change a later word, see which earlier steps move |
# | Does another source leave the output as it is? | the source is not read | `seqattn doctor`, which puts other sources in ([chapter 18](18_build.ipynb)) |
# | Is the perplexity under teacher forcing bad as well? | it has not learned enough | train on |
# | Is the perplexity good, and does the model go wrong after one wrong word, on words that it gets right otherwise? | exposure bias | `recovery`, scheduled sampling |
# | Does the map look at the same words again? | no memory of what was covered | coverage |
# | Does only a wide beam repeat, or stop early? | the search finds what the model likes | narrower beam, length penalty |

# %% [markdown]
# `Translator.force` answers the question about perplexity, `recovery` the one about a wrong word, and a map the one about looking
# again. Each cure helps only in its own row: a beam or a length penalty changes the search, and does not mend exposure bias.
#
# ## Where it breaks
#
# **Validation with wrong words fed back.** Let the reference be *a b c d e f* and its end, and let the
# model write *x a b c d e f*: one word too many. A loss that compares position by position finds every word of
# it wrong. Give each written word 0.99, and share the rest among 13 others: a wrong position
# costs $\ln(13/0.01) = 7.17$ nats; guessing among the 14 costs only $\ln 14 = 2.64$. So judge by both: the
# loss with true words fed, and the BLEU of what the model writes by itself.

# %% [markdown]
# **A loop without an end.** A sentence that has written `<eos>` must stop: only pads follow, and nothing is
# added to its score. And a search that calls `eval()` should give the model back as it was. Otherwise the
# next update trains without dropout, and nothing says so.
#
# <details><summary>Two more traps: penalties too early, and clipping a scaled gradient</summary>
#
# If ended sentences and longer beginnings compete for the same places, a
# division by the length decides who falls. In the package, what has ended keeps its place. Open
# beginnings of one length compete by their log-probability; penalties rank only what has ended.
#
# Training in float16 multiplies the loss by a large number, so that small gradients
# are not lost. Divide first, then clip.
#
# </details>

# %% [markdown]
# ## Questions that readers ask
#
# <details><summary>Teacher forcing in validation: yes or no?</summary>
#
# For the loss, yes, at every step: it is then deterministic and comparable. For BLEU, no: there the model
# reads its own words.
#
# </details>
#
# <details><summary>The validation loss rises while BLEU improves. Is that a bug?</summary>
#
# Not by itself. The loss asks how much probability the reference gets; BLEU asks about the words that are
# written. A model that becomes surer pays more for each mistake without making more of them. Choose by
# the measure that matters for your use.
#
# </details>
#
# <details><summary>A teacher forcing ratio of 0.5, or 1?</summary>
#
# The ratio is the share of steps that read the true word. Begin with 1. If you have measured that wrong words cost you something, lower it on a schedule, and
# measure again.
#
# </details>
#
# <details><summary>How do I get the attention map with a beam search?</summary>
#
# Whenever the beam is sorted anew, the rows must move with their beginnings. The package does that:
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
# - A beam keeps the likeliest beginnings. It can find a likelier sentence than greedy search, but unless it
#   holds everything there is no guarantee: a wider one may even find a less likely sentence.
# - The length and coverage penalties change what the search looks for, not how well it searches.
# - `force` shows a model error; it shows a search error only where the reference is likelier than what was found.
# - Loss: sum over real words, divide once. Smoothed labels have a floor. Clipping keeps the direction.
# - Exposure bias can be measured: what does one wrong word cost? Measure it in your model before you
#   cure it.
#
# **Now you.** [The exercise](../exercises/07_training.ipynb) has you write the loss, the update and
# greedy search, and train Bahdanau's design beside Luong's.
#
# **Next.** Maps of attention: how to read one, and how it can mislead.

# %% [markdown]
# ## Sources
#
# - Beam search for translation: {cite:t}`sutskever2014`. Length and coverage penalties:
#   {cite:t}`wu2016`.
# - Wider beams that do worse: {cite:t}`koehn2017`, {cite:t}`yang2018`; that short outputs are the cause, and a
#   remedy: {cite:t}`murray2018`. Errors of the search and of the model, with an exact search:
#   {cite:t}`stahlberg2019`, where
#   the likeliest translation of more than half of the sentences was the empty one. Draw many translations and take
#   the one most like the others, in place of the likeliest (*minimum Bayes risk*): {cite:t}`eikema2020`.
# - Label smoothing: {cite:t}`szegedy2016`. Clipping: {cite:t}`pascanu2013`.
# - Exposure bias: {cite:t}`ranzato2016`. Scheduled sampling: {cite:t}`bengio2015`; that its objective is
#   improper: {cite:t}`huszar2015`.
# - Top-k: {cite:t}`fan2018`. The nucleus: {cite:t}`holtzman2020`.
