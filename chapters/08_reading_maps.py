# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-19, F-24, D-03, D-12, V-05, V-06, V-14, W-02, M-19, M-20, M-21, M-23, P-08, N-05]
#     exercise: 08_reading_maps
# ---

# %% [markdown]
# # 8. Reading attention maps
#
# An attention map is a measurement: it has an error, and it can be shifted by one. In this chapter you turn a
# map into links between words, score those links, and test the map before you believe it. You measure
# what a diffuse row warns of, and notice that a translation has lost a clause.
#
# **You need** entropy from [soft addressing](02_soft_addressing.ipynb) and the error rate of links from
# [additive attention](03_additive.ipynb). **This chapter covers** links from rows and columns; sure and possible
# links; shifted rows; pieces of words; entropy and what it is worth; coverage; and the map under beam
# search.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# The translator that comes with the package writes *le chat s'est assis sur le tapis*. In the map of this
# translation each row belongs to a French word, each column to an English one. In one of these two pictures,
# all rows have moved down by one. In which?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two attention maps of the cat sat on the mat, A and B. Both show a strong band from the upper left to the lower right. In A the first row is empty and the band begins in the second row; in B it begins in the first."}}
import matplotlib.pyplot as plt
import torch

from seqattn import attention_entropy, effective_positions
from seqattn.data import FIVE, TextPair, measured, tokenize, toy_corpus
from seqattn.evaluation import alignment_links
from seqattn.metrics import alignment_error_rate, coverage_report, symmetrize
from seqattn.plots import (
    GREY,
    ORANGE,
    ResultTable,
    experiment_card,
    plot_attention,
    plot_statistics,
    use_style,
)
from seqattn.translator import Translator
from seqattn.widgets import MapReader

use_style()
torch.set_printoptions(precision=2, sci_mode=False, linewidth=90)
translator = Translator.load("toy")
pair = FIVE[0]
[cat] = translator.force([pair])


def shift_rows(weights, by):
    """Move every row down by some steps; rows that come free are empty."""
    moved = torch.zeros_like(weights)
    for t in range(len(weights)):
        if 0 <= t + by < len(weights):
            moved[t + by] = weights[t]
    return moved


words = [tokenize(pair.source, "en"), tokenize(pair.target, "fr")]
two = {"A": shift_rows(cat.weights, 1)[:-1, :-1], "B": cat.weights[:-1, :-1]}
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
for ax, (name, weights) in zip(axes, two.items()):
    plot_attention(weights, *words, ax=ax, title=name, annotate=False, cbar=False)
plt.show()

# %% [markdown]
# ```{predict} which-is-shifted
# ```
#
# Now link each French word with the English word of the largest weight in its row, and compare these links with
# those of the grammar that wrote the sentence. The alignment error rate (AER) is 0 if both agree and 1 if they share
# nothing:

# %% tags=["hide-output", "hide-until-which-is-shifted"]
seen = {}
for name, by in (("A", 1), ("B", 0)):
    links = alignment_links(shift_rows(cat.weights, by))
    seen[name] = alignment_error_rate([links], [pair.links], [pair.links])
    right, all_of = len(links & pair.links), len(pair.links)
    print(f"{name}: {right} of {all_of} gold links, AER {seen[name]:.2f}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Take the row of *chat* in A. It is strongest on *the*. That is one wrong link, and the right one is missing:
# a shift counts twice.
#
# </details>
#
# Both pictures are strong along a diagonal. So **do not judge by the diagonal; read a row that you know.**
#
# ## By hand
#
# The row of *sur*, rounded to two digits:
#
# | the | cat | sat | on | the | mat | end |
# |---|---|---|---|---|---|---|
# | 0.01 | 0.00 | 0.01 | 0.72 | 0.26 | 0.00 | 0.00 |
#
# The row belongs to the word that is *being written*: it tells which states were mixed to write *sur*.
#
# - **Link.** The largest weight is on *on*: the link (3, 5), English word 3 and French word 5, both
#   counted from 0.
# - **Entropy** {eq}`eq-entropy`: $-2\cdot 0.01\ln 0.01$ $-\ 0.72\ln 0.72$ $-\ 0.26\ln 0.26$ $= 0.68$ nats.
# - **Effective positions**: $e^{0.68} = 2.0$. The row is as spread out as two equal weights. (Before rounding
#   it has {{ f"{attention_entropy(cat.weights[None])[0, 5]:.2f}" }} nats and {{ f"{effective_positions(cat.weights[None])[0, 5]:.1f}" }} positions: small weights count.)
#
# Each row sums to 1. A column need not: here the columns sum to values from
# {{ f"{cat.weights.sum(0).min():.2f}" }} to {{ f"{cat.weights.sum(0).max():.2f}" }}.

# %% [markdown]
# ## Links: sure, possible, wrong
#
# People who align sentences do not always agree. *Sat* became *s'est assis*. Is *s'* a translation of
# *sat*? Och and Ney (2003) let annotators mark two kinds of links. A **sure** link should be found; a **possible**
# link may be found or left out. Let $S$ be the sure links, $P$ the possible ones, with $S \subseteq P$, and $A$ the
# links that were found. Count over all sentences:
#
# $$ \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|} $$ (eq-aer-sure-possible)
#
# Finding a possible link adds one to the numerator and one to the denominator. Leave it out, and
# a rate of 0 stays 0, and a higher rate rises only a little.
#
# By hand: of the eight links in our sentence, call two possible: *s'* and *est* with *sat*. Let six links be found,
# five of them sure, and *s'* with *sat*. Then $|A| = 6$, $|S| = 6$, and AER $= 1 - (5 + 6)/12 = 0.083$.
#
# If every gold link is sure, as in our corpus, the formula becomes {eq}`eq-aer`. With precision
# $p = |A \cap S|/|A|$ and recall $r = |A \cap S|/|S|$ that is
#
# $$ \mathrm{AER} = 1 - \frac{2\,|A \cap S|}{|A| + |S|} = 1 - \frac{2pr}{p + r} = 1 - F_1 $$ (eq-aer-is-f1)
#
# With possible links it is *not* $1 - F_1$.


# %%
def error_rate_by_hand(found, sure, possible):
    hits = sum(len(a & s) + len(a & (p | s)) for a, s, p in zip(found, sure, possible))
    return 1 - hits / sum(len(a) + len(s) for a, s in zip(found, sure))


possible = {(2, 2), (2, 3)}  # s' and est with sat
sure = set(pair.links) - possible
found = {(0, 0), (1, 1), (2, 2), (2, 4), (3, 5), (4, 6)}
by_hand = error_rate_by_hand([found], [sure], [possible])
torch.testing.assert_close(by_hand, alignment_error_rate([found], [sure], [possible]))
print(f"{by_hand:.3f}")

# %% [markdown]
# ### Three ways to read links
#
# - **Rows.** Each target word takes the source word of its largest weight. It never gets two, and it gets
#   none only if the end of the sentence wins.
# - **Columns.** Each source word takes the target word that gives it the most weight.
# - **Both**, by *grow-diag* {cite:p}`koehn2003`: start with the links that rows and columns share. Then
#   add links that one of them has, if they are next to a link taken already (straight or diagonally) and link a word
#   that has no link yet.
#
# With a **threshold**, a row links every word whose weight is above it. In *both*, the link of its largest weight stays as
# well. Columns have no threshold. Try all of this on the map of the cat. Boxes are gold links, dashed where possible.
# Beside this map's error rate stands that of the test pairs. Answer the question first, then shift the rows.

# %% tags=["hide-input"]
stored = measured("maps")
display(
    MapReader(
        cat.weights,
        cat.source_tokens,
        cat.tokens,
        sure=sure,
        possible=possible,
        rates=stored["shipped"]["figure"],
        row=1,
        column=1,
        caption="Test set: 1,000 pairs, where every gold link is sure.",
    )
)
experiment_card(stored["card"])

# %% [markdown]
# What to try:
#
# - Shift by +1 and by −1, and follow one word. Then read *columns*: they are shifted as well.
# - Set the rows back and set the threshold to 0.1. More links are found, and more of them are wrong.
# - Choose *s'* and *sat*, and read *columns*: the possible link is gone. Does the rate of this sentence rise?

# %% [markdown]
# ## Measured: maps against baselines
#
# Is an AER of 0.11 good? Compare it with baselines that use no map: links drawn at random; the diagonal; and
# IBM Model 1, the word counter that [the capstone](19_judge.ipynb) explains. The counter is set up in two ways: as the library NLTK has it (here in five rounds), and *with care* (in twenty), where a word that comes twice counts twice, and nothing is linked
# to the empty word (an extra source word for what has no partner).
#
# Four translators draw maps of 1,000 test pairs: the package's, and three smaller ones, trained from three seeds, each
# on one pass over the pairs. The chart has those of the package's translator. *Swapped* has its links with source and
# target exchanged; *shifted* has its rows moved by one.
#
# ```{predict} map-or-counter
# ```

# %% tags=["hide-input", "hide-output", "hide-until-map-or-counter"] mystnb={"image": {"alt": "Bar chart of alignment error rates on the test pairs. Grow-diag, rows and IBM Model 1 set up with care are lowest, the diagonal and swapped pairs are near the middle, rows shifted by one are near 1, and random links a little below these."}}
train, test = (toy_corpus()[split] for split in ("train", "test"))
gold = [p.links for p in test]
maps = [known.weights for known in translator.force(test)]
ways = {
    "rows": [alignment_links(m) for m in maps],
    "columns": [alignment_links(m, "source") for m in maps],
    "rows, threshold": [alignment_links(m, threshold=0.25) for m in maps],
    "grow-diag": [alignment_links(m, "grow-diag", 0.25) for m in maps],
    "grow-diag, no threshold": [alignment_links(m, "grow-diag") for m in maps],
    "swapped": [{(t, i) for i, t in alignment_links(m)} for m in maps],
}
for by in (-1, 1):
    ways[f"shift {by:+d}"] = [alignment_links(shift_rows(m, by)) for m in maps]

from_one = [{(i + 1, t + 1) for i, t in g} for g in gold]
rate_from_one = alignment_error_rate(ways["rows"], from_one, from_one)
each = [alignment_error_rate([a], [g], [g]) for a, g in zip(ways["rows"], gold)]
mean_of_sentences = sum(each) / len(each)


def interval(links):  # 95%, by the bootstrap over sentences
    counts = [[2 * len(a & g), len(a) + len(g)] for a, g in zip(links, gold)]
    dice = torch.Generator().manual_seed(0)
    draws = torch.randint(len(gold), (1000, len(gold)), generator=dice)
    hits, total = torch.tensor(counts, dtype=torch.float64)[draws].sum(1).T
    return (1 - hits / total).quantile(torch.tensor([0.025, 0.975]).double()).tolist()


def low_high(values, form=".3f"):
    return f"{min(values):{form}} to {max(values):{form}}"


def count_with_care(sides, learnt, rounds=20):  # by the formula of chapter 19
    known = sides[:learnt]
    source = dict.fromkeys(word for x, _ in known for word in x)
    source = {word: i for i, word in enumerate(source, 1)}  # 0 is the empty word
    target, key, sizes, wide = {}, [], [], len(source) + 1
    for x, y in known:
        others = [0, *map(source.get, x)]
        for word in y:
            row = wide * target.setdefault(word, len(target))
            key += [row + i for i in others]
            sizes.append(len(others))
    kind, sizes = torch.tensor(key), torch.tensor(sizes)
    place = torch.arange(len(sizes)).repeat_interleave(sizes)
    theta = torch.ones(len(target) * wide, dtype=torch.float64)
    for _ in range(rounds):
        votes = theta[kind]
        total = votes.new_zeros(len(sizes)).index_add(0, place, votes)
        votes = votes / total[place]
        counts = torch.zeros_like(theta).index_add(0, kind, votes).view(-1, wide)
        theta = (counts / counts.sum(0)).flatten()
    theta, found = theta.view(-1, wide).tolist(), []
    for x, y in sides[learnt:]:
        found.append(set())
        for t, word in enumerate(y):
            if word in target:
                fits = [
                    theta[target[word]][source[one]] if one in source else 0.0
                    for one in x
                ]
                if max(fits) > 0:
                    found[-1].add((fits.index(max(fits)), t))
    return found


sides = [(tokenize(p.source, "en"), tokenize(p.target, "fr")) for p in (*train, *test)]
forward = count_with_care(sides, len(train))
backward = count_with_care([side[::-1] for side in sides], len(train))
careful = [
    symmetrize(f, {(i, t) for t, i in b}, "grow-diag")
    for f, b in zip(forward, backward)
]
runs = stored["runs"]["additive"]
marks = [run["words"]["?"][2] for run in (stored["shipped"], *runs)]
aer, of_seeds, rows = {}, {}, []
for way, links in ways.items():
    aer[way] = alignment_error_rate(links, gold, gold)
    of_seeds[way] = [run["links"][way] for run in runs if way in run["links"]]
    theirs = low_high(of_seeds[way]) if of_seeds[way] else "–"
    rows.append([way, f"{aer[way]:.3f}", low_high(interval(links)), theirs])
yard = stored["yardsticks"] | {
    "ibm1 grow-diag, with care": alignment_error_rate(careful, gold, gold)
}
RULES = {
    "ibm1, rows": "ibm1",
    "ibm1, grow-diag": "ibm1 grow-diag",
    "ibm1 with care, grow-diag": "ibm1 grow-diag, with care",
} | {name: name for name in ("diagonal", "at random", "best of one a row")}
for name, rule in RULES.items():
    spread = low_high(interval(careful)) if "care" in name else ""
    rows.append([name, f"{yard[rule]:.3f}", spread, ""])

figure, ax = plt.subplots(figsize=(5.8, 2.9))
shown = {name: aer[name] for name in ("grow-diag", "rows")} | {
    "IBM with care, grow-diag": yard["ibm1 grow-diag, with care"],
    "IBM Model 1, grow-diag": yard["ibm1 grow-diag"],
}
shown |= {
    "diagonal": yard["diagonal"],
    "swapped": aer["swapped"],
    "at random": yard["at random"],
}
shown |= {"shifted by +1": aer["shift +1"], "shifted by −1": aer["shift -1"]}
ax.barh(
    [*shown], [*shown.values()], color=[ORANGE if "shift" in k else GREY for k in shown]
)
ax.invert_yaxis()
ax.set(xlim=(0, 1), xlabel="alignment error rate\n(rows unless named)")
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **Shifted by one, up or down, the maps are worse than the diagonal, which looks at no word:** for the package's model and each seed.
# - *Swapped*, with {{ f"{aer['swapped']:.2f}" }}, looks like a bad model. No program refuses such pairs: both are
#   numbers.
# - *Grow-diag* has a lower rate than rows, in this model and in every seed.
# - **IBM Model 1, set up with care, has {{ f"{yard['ibm1 grow-diag, with care']:.3f}" }} by grow-diag:** above the package's model,
#   {{ f"{aer['grow-diag']:.3f}" }}, but below all three small ones, {{ low_high(of_seeds["grow-diag"]) }}. By rows
#   the package's model has {{ f"{aer['rows']:.3f}" }}, and is no longer ahead. Whether maps beat the counter depends on how both are set up.
#
# </details>

# %% tags=["hide-input", "hide-output"] mystnb={"code_prompt_show": "All ways to read the links (the answer): {type}", "code_prompt_hide": "Hide: all ways to read the links"}
heads = ("links from", "AER", "95% interval", "three seeds")
ResultTable(heads, rows, "Alignment error rate on the test pairs")

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# - An interval is for other *sentences* like these: the test sentences are drawn again, with replacement. The three
#   seeds are for other *trainings*. The last line is the lowest rate that one link for each target word can reach.
# - *Grow-diag* reads both sides, and as in the package's `evaluate` it has a threshold: a row also links every
#   word with a weight above 0.25. In the package's model each helps by itself. (The threshold was set on validation
#   pairs, where 0.2 to 0.3 do about as well.)
# - IBM Model 1 counts the pairs that the network learnt from, for five rounds in NLTK's version, and for twenty with
#   care; both numbers are ours. As NLTK has it, read from both sides, it has
#   {{ f"{yard['ibm1 grow-diag']:.3f}" }}. The package's model is below that, with its whole interval, as is each small one: {{ low_high(of_seeds["grow-diag"]) }}. Read one
#   way, the counter has {{ f"{yard['ibm1']:.3f}" }}, and the maps are below that as well. But NLTK counts a word that comes
#   twice as two halves. With care it is below the small models by less than 0.01, and its interval reaches into their
#   range.
# - The maps had help, too: the threshold, and a training that asks for totals near 1 ({eq}`eq-look-at-each-word`).
# - The rate of the corpus, {{ f"{aer['rows']:.3f}" }} for rows, counts links, so long sentences count for more. The mean of the sentences' own
#   rates is {{ f"{mean_of_sentences:.3f}" }}.
#
# </details>

# %% [markdown]
# ## Find the shift
#
# **Row $t$ belongs to the word that is written at step $t$.** Most shifts come from other labels. In training the
# decoder *reads* `<bos>` and then all words, and *writes* all words and then `<eos>`. Label row $t$ with the word
# that is read, and every row stands one too high: *le* gets the row of *chat*. Begin the list of rows with an empty
# one for `<bos>`, and every row is one too low, as in A. Real libraries had such bugs: OpenNMT-tf
# fixed the offset of its alignment vectors twice (pull requests 304 and 447).
#
# <details><summary>Which row finds a word’s partner?</summary>
#
# The shift is about labels. Which row finds the *partner* of a word best is a question for a measurement. Luong et al., in their footnote 14, took the row of
# the step that reads the word for scores that compare, and the row of the step that writes it for the location
# score. {cite:t}`chen2020` found the first of these rows the better one in Transformers trained on real text. In the
# models of this chapter, and in the Transformers of [chapter 13](13_heads.ipynb), it is the worse one: shift a map
# and see.
#
# </details>

# %% [markdown]
# Before you draw a map, test its shape, which catches missing rows and extra labels, and the sums of its rows,
# which catch an empty one. With gold links a short loop then finds the shift: the right one has the lowest rate.
#
# Without gold links, use words that you are sure of, over many sentences: a name, a number, or the
# question mark. Compare shifts: the right one has the most hits, though not a hit every time. In the maps of these
# four models, which are not shifted, the row of *?* is strongest on *?* in {{ low_high(marks, ".2f") }} of the
# questions.


# %%
def find_shift(maps, gold):
    rates = {}
    for by in range(-2, 3):
        links = [alignment_links(shift_rows(m, -by)) for m in maps]
        rates[by] = round(alignment_error_rate(links, gold, gold), 2)
    return min(rates, key=rates.get), rates


assert cat.weights.shape == (len(cat.tokens), len(cat.source_tokens))
assert all(m.sum(1).allclose(torch.ones(len(m))) for m in maps)
by, rates = find_shift([shift_rows(m, 1) for m in maps[:200]], gold[:200])
print(f"shifted by {by:+d}", rates)

# %% [markdown]
# <details><summary>Is one sentence enough?</summary>
#
# Put *I love deep learning* into subject–object–verb order, as in Japanese: *I · deep · learning · love*.
# A map that follows the diagonal links *deep* with *love*, *learning* with *deep* and *love* with
# *learning*. Only *I* is right: an error rate of 0.75. Now shift the rows up by one. *Deep* and *learning* get
# their own words, since both have moved one place to the left, and the rate falls to 0.43. Yet nothing was
# shifted. So find the shift on many sentences, and look at the *size* of the gain: from near 0.9 to near 0.1 is
# a shift, from 0.75 to 0.43 may be anything.
#
# </details>
#
# ## Three shapes, and a real caption
#
# Where both languages keep one order, the map is **monotone**. Where they do not, it **jumps**. Where the
# model finds no single word, it is **diffuse**. A rule chose these examples, not the eye: the cat; then, of the test
# sentences of 6 to 9 words, the one that fits the diagonal least although its links are nearly right; then the one
# whose rows are most spread out. The fourth map is that of a German caption, by [chapter 3](03_additive.ipynb)'s
# translator.


# %% mystnb={"image": {"alt": "Four attention maps, the first three with gold links boxed. Monotone: the cat, strong cells along the diagonal. Reordered: strong cells that jump away from the diagonal. Diffuse: pale rows with weight on many words. A real caption: man, preparing and stove have one strong cell each, most other rows are spread out."}} tags=["hide-input"]
def off_diagonal(p):
    n, m = len(tokenize(p.target, "fr")), len(tokenize(p.source, "en"))
    rule = {((2 * t + 1) * m // (2 * n), t) for t in range(n)}
    return alignment_error_rate([rule], [p.links], [p.links])


middle = [k for k, p in enumerate(test) if 6 <= len(tokenize(p.source, "en")) <= 9]
spread = {
    k: attention_entropy(maps[k][None], normalized=True).mean().item() for k in middle
}
chosen = {
    "monotone": test.index(pair),
    "reordered": max(
        (k for k in middle if each[k] < 0.1), key=lambda k: off_diagonal(test[k])
    ),
    "diffuse": max(spread, key=spread.get),
}
figure, axes = plt.subplots(2, 2, figsize=(8.6, 8.2), layout="constrained")
for ax, (name, k) in zip(axes.flat, chosen.items()):
    sides = (
        [*tokenize(test[k].source, "en"), "<eos>"],
        [*tokenize(test[k].target, "fr"), "<eos>"],
    )
    plot_attention(
        maps[k], *sides, ax=ax, title=name, links=gold[k], annotate=False, cbar=False
    )
caption = measured("captions")["captions"][0]
real = torch.tensor(caption["weights"])
plot_attention(
    real,
    caption["source_tokens"],
    caption["tokens"],
    ax=axes[1, 1],
    title="a real caption",
    annotate=False,
    cbar=False,
)
plt.show()
wide = dict(zip(caption["tokens"], effective_positions(real[None])[0].tolist()))

# %% [markdown]
# All four have **one colour scale, from 0 to 1**. Let the scale follow the data, and a map whose weights
# lie between 0.099 and 0.101 gets the full contrast of a sharp one: you would read noise.
#
# In the caption, *A man preparing food on the stove*, every word is right: *on*, whose row is the widest with
# {{ f"{wide['▁on']:.1f}" }} effective positions, as well as *stove*, whose row is the narrowest with
# {{ f"{wide['▁stove']:.1f}" }}. So a wide row need not be an error.
#
# ## How spread out, honestly
#
# Divide a row's entropy by $\ln T_s$, the entropy of equal weights on all $T_s$ source tokens. This share, the
# **normalised entropy**, runs from 0 to 1 whatever the length. Two popular numbers mislead:
#
# - **Entropies in nats of sentences of different lengths.** A uniform row over 5 words has 1.61 nats, one over 20
#   words 3.00, and both are as diffuse as can be.
# - **Counting the weights above 0.1.** A uniform row over nine words has nine such weights. Over ten words it
#   has none: the most diffuse row of all counts as empty. Effective positions, the exponential of the entropy, have no
#   such edge.

# %% mystnb={"image": {"alt": "Three panels over the French words of the cat sentence. Normalised entropy and effective positions are low at chat and tapis and highest at est and s'; the largest weight does the reverse."}}
for n in (5, 9, 10, 20):
    row = torch.full((1, n), 1 / n)
    nats, share = (attention_entropy(row, normalized=x).item() for x in (False, True))
    e, count = (effective_positions(row, threshold=x).item() for x in (None, 0.1))
    print(f"{n}: {nats:.2f} nats, share {share:.2f}; exp {e:.1f}; {count:.0f} over 0.1")
print("a row of zeros:", attention_entropy(torch.zeros(1, 4)).item())
plot_statistics(cat.weights, cat.tokens)
plt.show()

# %% [markdown]
# A row that was never filled, such as that of a pad, has entropy 0 by the formula, which reads as "perfectly
# focused". The package gives NaN, so that no mean can hide it.
#
# ### Which words have diffuse rows?
#
# It is often said that *function words* have diffuse rows because they have no partner of their own. Ghader and Monz
# (2017) found that it depends on the part of speech. The table has the mean entropy of the row that writes a word,
# in nats, over all test pairs.
#
# ```{predict} who-looks-around
# ```

# %% tags=["hide-input", "hide-output", "hide-until-who-looks-around"]
groups = {
    "articles": ("le", "la", "les", "un", "une", "l'"),
    "rarer words": ("rarer words",),
    "negation": ("ne", "n'", "pas"),
    "question": ("est-ce", "que", "qu'", "?"),
    "y, a, été": ("y", "a", "été"),
    "à, au": ("à", "au"),
    "de, du, par": ("de", "du", "par"),
}


def mean_entropy(run, group):
    seen = [run["words"][word] for word in groups[group] if word in run["words"]]
    return sum(n * nats for n, nats, _ in seen) / sum(n for n, _, _ in seen)


shipped = stored["shipped"]
nats = {g: [mean_entropy(run, g) for run in (shipped, *runs)] for g in groups}
rows = [[g, f"{of[0]:.2f}", low_high(of[1:], ".2f")] for g, of in nats.items()]
ResultTable(
    ("written word", "package's model", "three seeds"), rows, "Mean entropy in nats"
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **"Function words are diffuse" is half true**: *à* and *au* are, articles are not, and *de*, *du* and *par* are in the small models alone.
#
# Articles are function words, and their rows are sharper than those of the last five groups, in the package's
# model and in each of three seeds. Rows are spread out for many *pieces of expressions*: *est-ce que* for a question, *ne … pas* for *not*, *a acheté* for *bought*. There one English word often stands for several French ones; that may be why, but it was not tested. *Rarer words*, nearly all nouns, verbs and adjectives, are a little sharper than articles in each model.
#
# The training asked each source word, article or not, to get a total near 1 ({eq}`eq-look-at-each-word`). With each row's entropy divided by $\ln T_s$, the groups of the table keep their order in the package's model; for the seeds this was not tried.
#
# </details>

# %% [markdown]
# In training, entropy starts near its maximum and falls while links appear ([chapter 3](03_additive.ipynb)).
#
# ## Does a diffuse row predict an error?
#
# Let the model read the true words, and mark each step whose likeliest word is not the true one. Does its row have a higher entropy there? The **area under the ROC curve** answers in one number. Pick a wrong step
# and a right one at random: how often does the wrong one have the higher entropy? By chance it is 0.5. A baseline needs no
# map: one minus the output's probability of the likeliest word. The model was trained on at most 12 words.
#
# ```{predict} does-it-warn
# ```


# %% tags=["hide-input", "hide-output", "hide-until-does-it-warn"]
def beside(key, length):  # the package's model, and in brackets the three seeds
    mine, *theirs = (run["groups"][length][key] for run in (shipped, *runs))
    return f"{mine:.2f} ({low_high(theirs, '.2f')})"


rows = []
for length, mine in shipped["groups"].items():
    told = f"{mine['relative entropy']:.2f}", f"{mine['bleu']:.0f}"
    areas = [beside(key, length) for key in ("area of entropy", "area of doubt")]
    rows.append([length, *told, f"{mine['errors']} of {mine['tokens']}", *areas])
heads = (
    "words",
    "normalised entropy",
    "BLEU",
    "wrong steps",
    "area, entropy",
    "area, output",
)
ResultTable(heads, rows, "What warns of a wrong word?", "in brackets: three seeds")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **Look at the output's probability first, and at the map to understand what went wrong.** Entropy, normalised
# or not, warns: every area is above 0.5. The output warns better, at every length, in each of the four models.
#
# With sentence length, normalised entropy rises while BLEU falls. Neither need cause the other.
#
# </details>

# %% [markdown]
# ## The lost clause
#
# The **total** of a source word is the weight it got over the whole translation, $C_i = \sum_t \alpha_{ti}$. A word
# that was left out should have little. How little? The rows sum to 1, so
#
# $$ \frac{1}{T_s} \sum_{i=1}^{T_s} C_i = \frac{1}{T_s} \sum_{t=1}^{T_t} \sum_{i=1}^{T_s} \alpha_{ti}
#    = \frac{T_t}{T_s} $$ (eq-mean-coverage)
#
# for *every* map: a "mean coverage" depends on the two lengths alone and says nothing about the attention.
#
# Call $T_t/T_s$ the **share** of a source word. To compare each total with the share seems fair. But a translation
# that drops a clause is short, so its share is low: the fault lowers its own bar. **Compare totals with 1**, the
# weight of one target word.

# %% mystnb={"image": {"alt": "Bars of the total weight of each English word of a long sentence, with a line at the share, and a line at 1. No bar is below half of the share, and several are below one half."}} tags=["hide-input"]
long = TextPair(
    "their brother laughs, and her rabbit comes back, and the child is working "
    "while we are building the bridges",
    "leur frère rit, et son lapin revient, et l'enfant travaille pendant que nous "
    "construisons les ponts",
)
[written] = translator.translate([long.source], beam=1)
report = coverage_report(written.weights[None])
absolute = coverage_report(written.weights[None], expected=1.0)
low = [w for w, u in zip(written.source_tokens, absolute.under[0]) if u]
print(written.text)
print(f"share {report.share[0]:.2f}; below half of it: {int(report.under.sum())} words")
print("below half of 1:", " ".join(low))

figure, ax = plt.subplots(figsize=(8.4, 6))
places = range(len(written.source_tokens))
ax.barh(
    places, report.total[0], color=[ORANGE if u else GREY for u in absolute.under[0]]
)
for at, name in ((1.0, "one word's\nweight"), (report.share[0].item(), "share")):
    ax.vlines(at, -0.9, len(places) - 0.5, color=GREY, lw=1, ls="--")
    ax.text(at, -1, name, ha="center", va="bottom")
ax.set_yticks(places, written.source_tokens)
ax.set(xlabel="total weight", ylim=(len(places) - 0.5, -0.9))
ax.grid(False, axis="y")
plt.show()

# %% [markdown]
# The rabbit is gone, and the bridges are built by the child. The report marks a word whose total is below
# half of what is expected. By default that is the share, and it finds nothing. With `expected=1.0` it marks the
# orange words, some of them in the clause that is lost. *Rabbit* is not among them: it got its weight, and was left
# out all the same.
#
# So a total is a hint. Over many sentences the absolute bar separates missing words from others a little better than
# the share does, but neither finds all, and some of the alarms are false.

# %% tags=["hide-input", "hide-output"] mystnb={"code_prompt_show": "What finds missing words: {type}", "code_prompt_hide": "Hide: what finds missing words"}
long_ones = ("15 to 21", "24 to 30")
LABELS = {
    "area, share": "area of shares",
    "area, absolute": "area of totals",
    "found, share": "recall, share",
    "found, absolute": "recall, absolute",
    "right alarms, share": "precision, share",
    "right alarms, absolute": "precision, absolute",
}
counts = [shipped["groups"][length] for length in long_ones]
rows = [["missing", *(f"{of['missing']} of {of['words']}" for of in counts)]]
for name, key in LABELS.items():
    rows.append([name, *(beside(key, length) for length in long_ones)])
gains = [
    run["groups"][length]["area of totals"] - run["groups"][length]["area of shares"]
    for run in (shipped, *runs)
    for length in long_ones
]
alarms_lost = {
    length: [
        run["groups"][length]["precision, share"]
        - run["groups"][length]["precision, absolute"]
        for run in (shipped, *runs)
    ]
    for length in long_ones
}
price = max(map(max, alarms_lost.values()))
false_alarms = 1 - shipped["groups"]["3 to 12"]["precision, absolute"]
written_per = [of["written per source token"] for of in shipped["groups"].values()]
heads = ("measured", *(f"{length} words" for length in long_ones))
ResultTable(heads, rows, "Which source words are missing?", "in brackets: three seeds")

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# A source word is counted as *missing* if none of its linked words in the reference occurs in the translation; roughly,
# since a synonym counts as a gap, and a *the* that was lost counts as translated if any *le* occurs.
#
# Where translations are shorter than their sources, the absolute bar is the higher one. That it finds more of
# the missing words is no surprise. It has a price: at both lengths of the table a smaller share of its alarms is right in three of the
# four models, by up to {{ f"{price:.2f}" }}. In the remaining one (a different model each time) the share of
# right alarms is slightly larger. The fair comparison is the area, which sets no bar. At both lengths, in the
# package's model and in each of three seeds, it is larger for the absolute total, by {{ low_high(gains,
# ".2f") }}: a small gain. And an absolute bar of 1
# suits these models, since the penalty {eq}`eq-look-at-each-word` asked in training for totals near 1. For
# other models, measure.
#
# </details>

# %% [markdown]
# So check in this order:
#
# 1. **The lengths.** The package's model writes {{ f"{written_per[0]:.2f}" }} tokens for each source token
#    up to 12 words and {{ f"{written_per[-1]:.2f}" }} from 24 on. That takes no attention to see.
# 2. **The totals**, against an absolute bar. They hint *where* something is missing. Up to 12 words the
#    package's model leaves out hardly a word, and {{ f"{false_alarms:.0%}" }} of the alarms are false.
# 3. **The sentence.** A word can be translated from its neighbour's state, and a word with its full weight can be
#    left out.

# %% [markdown]
# ## Pieces of words
#
# Real translators read pieces. Their map has a row for each target piece and a column for each source
# piece; people link words. Let $g(t)$ and $g(i)$ be the words of pieces $t$ and $i$. The map between words $a$
# and $b$ is
#
# $$ \bar\alpha_{ab} = \frac{1}{|\{t : g(t) = a\}|} \sum_{t:\, g(t) = a}\; \sum_{i:\, g(i) = b} \alpha_{ti}
# $$ (eq-merge-pieces)
#
# **Sum columns**: weight on a piece of a word is weight on the word. **Average rows**: the pieces of a target word
# share one row. By hand: the two pieces of one target word
# have the rows $(0.2, 0.5, 0.3)$ and $(0.4, 0, 0.6)$, and the last two columns are one source word. Merged, the
# row is $(0.3, 0.7)$ and still sums to 1. Average the columns, and it sums to 0.65; sum the rows, and it sums
# to 2. `word_numbers` of the vocabulary says which piece belongs to which word, and `<eos>` is a word of its own.

# %% tags=["hide-input"]
[pieces] = stored["runs"]["pieces"]
rates = [(way, f"{rate:.3f}") for way, rate in pieces["links"].items()]
note = f"one training, BLEU {pieces['bleu']:.0f}"
display(
    ResultTable(
        ("links from", "AER"), rates, "A model of pieces, on the test pairs", note
    )
)
small = pieces["example"]
MapReader(
    small["weights"],
    small["source"],
    small["target"],
    sure=pair.links,
    source_words=small["source_words"],
    target_words=small["target_words"],
    title="A map between pieces",
    predict=False,
    row=1,
    column=1,
)

# %% [markdown]
# Merge the pieces in the figure, and watch links and rate. In the table, *merged* takes the largest weight of each row
# of the merged map; *any piece* links words where any of their pieces are linked; *first piece* has one row and one column
# for each word. *As if words* takes numbers of pieces for numbers of words. This mistake goes unnoticed, since both are
# numbers. It has by far the highest rate. Between the other three, choose on validation pairs: one small training
# decides nothing.
#
# ## The map under beam search
#
# A beam keeps several unfinished translations and reorders them at each step. **A program must reorder each
# candidate's rows with it.** If it does not, the map is a patchwork of several sentences, and each row still sums to 1.
# Here is a test for any library: translate many sentences with the beam, then *force* the finished sentences, and compare
# the maps. The first five are the sentences of this book.

# %%
sentences = [p.source for p in (*FIVE, *test[:50])]
with_beam = translator.translate(sentences, beam=5)
forced = translator.force([TextPair(t.source, t.text) for t in with_beam])
for one, other in zip(with_beam, forced):
    assert one.tokens == other.tokens
    torch.testing.assert_close(one.weights, other.weights, atol=1e-4, rtol=0)
print(*(f"{t.source:45s} {t.text}" for t in with_beam[:5]), sep="\n")
print(len(with_beam), "maps under the beam are those of the finished sentence")

# %% [markdown]
# If your library gives no map under beam search, force what it wrote. The same gives you the map of a reference, or of
# somebody else's translation.
#
# ## Where it breaks
#
# | slip | what you see | test |
# |---|---|---|
# | rows labelled with the words that were read | a diagonal, one row too high | `find_shift` on many pairs |
# | fewer rows than labels, or another order | nothing: plots draw it | shape, before drawing |
# | gold links counted from 1 | the rate of a bad model: {{ f"{rate_from_one:.2f}" }} for {{ f"{aer['rows']:.2f}" }} (rows) | the smallest number is 0 |
# | (target, source) for (source, target) | the rate of a bad model | a pair with unequal lengths |
# | the end of the sentence as a word | links beyond the last word | largest number below the length |
# | weights under dropout, in training mode | rows that do not sum to 1 | sums of rows, and `eval()` |
# | pads counted as source words | totals of 0, "untranslated" | give the masks |
# | colour limits from the data | noise in full contrast | limits 0 and 1 |

# %% [markdown]
# ## Questions that readers ask
#
# <details><summary>All translations are right, but the weight piles up on the end of the sentence. Why?</summary>
#
# The end has a state too. It belongs to no word, and its forward half has read the whole sentence. A step that
# needs no word in particular may attend to it. (Large language models put much weight on their first tokens, *attention sinks*
# {cite:p}`xiao2024`; whether the end is one here was not tested.) Leave the column in the map, so that rows sum to 1, and out of
# the links. If *every* row does it, ask whether the weights matter at all: replace them by uniform ones and
# translate again.
#
# </details>
#
# <details><summary>Why is the alignment bad although the translation is good?</summary>
#
# No link is shown in training. A state has read its neighbours, so a word can be fetched from the
# position next to it. In Bahdanau's order the query is formed before the word just written is read, which may matter as well (it was not tested).
# [Chapter 3](03_additive.ipynb) counts how many misses are off by one word. First rule out a shift.
#
# </details>

# %% [markdown]
# <details><summary>Which of my 48 heads is the alignment?</summary>
#
# A Transformer has a map for each head of each layer, and libraries differ in what they return: one head of the
# last layer, or the mean of its heads. Neither was trained to align. Measure the error rate of each head on
# pairs with gold links: choose on one half of them, and report the other half. Without gold links you cannot measure
# the rate. But there are rules that choose a layer, or train one head to align, without gold links
# {cite:p}`garg2019,chen2020`.
#
# </details>
#
# <details><summary>When does my map become diagonal?</summary>
#
# Only if the two languages keep one order, and then when the model has learned enough.
# [The capstone](18_build.ipynb) draws maps through a training. A map that stays uniform belongs to a
# model that does not need attention yet, or cannot use it.
#
# </details>
#
# <details><summary>Can I read the map as the reason for a word?</summary>
#
# No. It says which states were mixed. Whether the word would have been another without them is a question for an
# experiment: [the next chapter](09_explanations.ipynb) shuffles, flattens and forges weights.
#
# </details>
#
# ## Check yourself
#
# ```{self-check} rate-of-nine-tenths
# ```
#
# ```{self-check} precision-and-recall
# ```
#
# ```{self-check} length-from-coverage
# ```
#
# ```{self-check} two-entropies
# ```
#
# ```{self-check} sum-of-a-row
# ```

# %% [markdown]
# ## What you now know
#
# - Row $t$ of a map belongs to the word written at step $t$. Test shape, sums and shift first.
# - Links are read from rows, columns or both. AER counts a possible link only if it is found.
#   Set it beside simple rules and other seeds.
# - Here a map that is off by one has a worse rate than the diagonal, which needs no model.
# - Divide entropies by $\ln T_s$. Here articles are sharp, pieces of expressions are not.
# - Here a diffuse row warns of an error, and the output's own probability warns better.
# - The mean of the totals is $T_t/T_s$ whatever the map. To find a lost clause, look at the lengths first, then
#   at totals against an absolute bar.
# - Merge pieces: sum columns, average rows. Under a beam, force the finished sentence.
#
# **Now you.** [The exercise](../exercises/08_reading_maps.ipynb) has you write entropy, coverage and the
# error rate, and find out why a translator fails on long sentences.
#
# **Next.** Whether the weights explain anything. The capstone applies all of this to
# [a translator that you train](18_build.ipynb).
#
# ## Sources
#
# - Sure and possible links, and the error rate: {cite:t}`och2003`. Grow-diag: {cite:t}`koehn2003`. IBM
#   Model 1: {cite:t}`brown1993`.
# - What attention looks at, by part of speech: *What does Attention in Neural Machine Translation Pay
#   Attention to?* {cite:p}`ghader2017`. Maps that are off by one: *Six Challenges for Neural Machine
#   Translation* {cite:p}`koehn2017`.
# - Coverage, over- and under-translation: *Modeling Coverage for Neural Machine Translation*
#   {cite:p}`tu2016`.
