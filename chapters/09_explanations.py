# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [D-16, E-03]
#     exercise: 09_explanations
# ---

# %% [markdown]
# # 9. Are weights explanations?
#
# "The model wrote *chat* because it attended to *cat*." Is that a fair statement? In 2019 three papers argued
# about such sentences. In this chapter you run the argument yourself: shuffle weights, flatten them, erase them and
# forge them, and see when the answer changes.
#
# **You need** [maps](08_reading_maps.ipynb) and gradients. **This chapter covers** interventions on weights; what a
# linear readout makes of them; occlusion and gradients; agreement of rankings; forged weights; models
# trained to look elsewhere; and what each of these tests can show.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Here are two machines. One is the translator that comes with the package. The other is a **sentence
# classifier**: it reads a sentence with a bidirectional GRU, attends to its states with one learned query, and
# predicts one of two classes from the context. Give both of them other weights, and let them compute the
# rest as usual. For the translator, count the next words that it gets right, each after the true words before it.
#
# - *another erased*: one weight that is not the largest becomes 0, and the rest of the row grows until it
#   sums to 1 again;
# - *largest only*, *largest erased*: what the names say;
# - *uniform*: the same weight everywhere;
# - *shuffled*: the row's own weights, dealt out anew among the words;
# - *no context*: all weights 0. This is the baseline: what is left without attention.
#
# ```{predict} which-breaks
# ```

# %% tags=["hide-input", "hide-output", "hide-until-which-breaks"]
from functools import partial

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from seqattn.data import FIVE, TINY, measured, toy_reasons
from seqattn.evaluation.interventions import replace_weights, shuffled, uniform
from seqattn.metrics import jensen_shannon, kendall_tau
from seqattn.models import SentenceClassifier
from seqattn.plots import (
    GREY,
    ORANGE,
    PALETTE,
    ResultTable,
    experiment_card,
    plot_attention,
    use_style,
)
from seqattn.translator import Translator
from seqattn.widgets import WeightSurgery

use_style()
torch.set_printoptions(precision=3, sci_mode=False)
stored = measured("explanations")
runs, table = stored["runs"], stored["translator"]["table"]


def low_high(values, form=".2f"):
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


def right(encoder, change, kind="attention"):
    return [run[kind]["table"][change]["accuracy"] for run in runs[encoder]]


rows = []
for change, said in table.items():
    perplexity = sum(said["perplexity"]) / len(said["perplexity"])
    mine = f"{low_high(said['accuracy'])} ({perplexity:.1f})"
    rows.append([change, mine, low_high(right("gru", change))])
heads = ("weights", "translator: right next words (perplexity)", "classifier: right")
ResultTable(
    heads,
    rows,
    "One change, two machines",
    f"translator: one training, tested on {stored['card']['pairs, translator']:,} pairs; "
    "classifier: three trainings",
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **The translator depends on its weights. The classifier keeps most of its answers with others.**
#
# Without its largest weight the translator loses over half of its words. Shuffled weights harm it further:
# probably they point at a wrong word with confidence. Its accuracy is then lower than with uniform weights,
# and its perplexity higher even than with no context. The classifier, where a guess has one half, keeps
# {{ f"{min(right('gru','shuffled')+right('gru','uniform')):.2f}" }} or more with shuffled or uniform
# weights, and {{ low_high(right("gru","largest erased")) }} without its largest weight.
#
# </details>

# %% [markdown]
# ## By hand
#
# Why can shuffling be harmless? Let the answer be a linear readout of the context, as in our classifier, with
# weights $w$ and bias $b$ (for two classes, the differences of the two rows). The {weights}`weights` $\alpha_i$ sum to 1, so
#
# $$ w^\top c + b = \sum_i \alpha_i \,(w^\top h_i + b) = \sum_i \alpha_i\, m_i $$ (eq-readout-of-states)
#
# The answer is a weighted mean of the **margins** $m_i$: what the readout gives for each state alone. A
# mean lies between the smallest and the largest. **So *no* weights can push the answer beyond the range of
# the margins, and a decision can change only if single states disagree about its sign.**
#
# Take the three words of this book, with dot scores and $b = 0$. The weights are 0.407, 0.522 and 0.071. With
# $w = (1, 0)$ the margins are 1, −0.5 and 0.5: the answer is 0.18, and reversed weights make it 0.01.
# With $w = (0, 1)$ they are 0.5, 1.5 and −1: 0.92 becomes 0.41.

# %%
scores = TINY.h @ TINY.s
alpha = scores.softmax(0)
for w in ([1.0, 0.0], [0.0, 1.0]):
    m = TINY.h @ torch.tensor(w, dtype=torch.float64)
    c = alpha @ TINY.h
    torch.testing.assert_close(alpha @ m, c @ torch.tensor(w, dtype=torch.float64))
    print(
        w,
        "margins",
        m.tolist(),
        f"answer {alpha @ m:.2f}, reversed {alpha.flip(0) @ m:.2f}",
    )

# %% tags=["hide-input"]
rows_of = {"w = (1, 0)": TINY.h[:, 0].tolist(), "w = (0, 1)": TINY.h[:, 1].tolist()}
WeightSurgery(
    TINY.words,
    rows_of,
    {name: alpha.tolist() for name in rows_of},
    answer="yes",
    title="Three words, two readouts",
    predict={
        "question": "The states stay. Which readouts let some weights change the answer's side, from "
        "above one half to below?",
        "options": ["only w = (1, 0)", "only w = (0, 1)", "both", "neither"],
        "answer": 2,
        "tests": "weights",
        "explain": [
            "For w = (0, 1) one margin is negative too, that of mat: all weight there brings the "
            "answer below one half.",
            "For w = (1, 0) the margin of sat is negative: all weight there does it.",
            "Both have margins of either sign. The pale bar is the range that weights can reach.",
            "Only if all margins had one sign would no weights change the side.",
        ],
    },
    caption="Probability of “yes”: the sigmoid of the answer.",
)

# %% [markdown]
# ## A few lines of PyTorch
#
# An intervention computes the weights as usual, replaces them, and takes the weighted sum again.


# %%
def with_other_weights(attention, change):
    own_look = attention.look

    def look(query, memory, past=None):
        _, weights, past = own_look(query, memory, past)
        weights = change(weights, memory.mask)
        return (weights.unsqueeze(1) @ memory.values).squeeze(1), weights, past

    attention.look = look


# %%
translator, text = Translator.load("toy"), FIVE[0].source
with replace_weights(translator.model, uniform):  # the package's way: undone at the end
    theirs = translator.translate([text])[0].text
with_other_weights(translator.model.decoder.attention, uniform)
assert translator.translate([text])[0].text == theirs

# %% [markdown]
# The five sentences of this book, translated with the model's own weights, uniform ones, and shuffled ones.
# After them comes a German caption written by a person, with the map of
# [chapter 3](03_additive.ipynb)'s translator. The reference is *A man cooking food on the stove.*

# %% tags=["nbval-ignore-output"]
del translator.model.decoder.attention.look  # the method of the class again
changes = {"own": lambda w, mask: w, "uniform": uniform}
changes["shuffled"] = partial(shuffled, generator=torch.Generator().manual_seed(0))
for p in FIVE:
    print(p.source)
    for name, change in changes.items():
        with replace_weights(translator.model, change):
            print(f"  {name:9s}", translator.translate([p.source])[0].text)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Attention map of a German caption and its English translation, a row for each English token. The rows of preparing and food have most of their weight on bereitet."}}
caption = measured("captions")["captions"][0]
weights, written = torch.tensor(caption["weights"]), caption["tokens"]
preparing, food = (weights[written.index(word)] for word in ("▁preparing", "▁food"))
apart = jensen_shannon(preparing, food).item()
print(caption["source"], "->", caption["text"])
print(f"rows of preparing and food: {apart:.2f} nats apart")
figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
plot_attention(weights, caption["source_tokens"], written, ax=ax, annotate=False)
plt.show()

# %% [markdown]
# In the caption's map, *preparing* and *food* both give most of their weight to *bereitet*; they are {{ f"{apart:.2f}" }} nats
# apart by {eq}`eq-jsd` below, where 0.69 is the most. Yet the two words written differ, and both are right. What made
# the difference, the small weights, the decoder's state or the last word read, the map does not show. For that you need an
# intervention, and so the model.
#
# ## A task whose reason is known
#
# To test whether weights show the reason, one must know the reason. So take sentences of the toy corpus
# that contain *in* or *on* exactly once, and write each of them a second time, as its *twin*, with the other
# word. The class is the word: 0 for *in*, 1 for *on*. All else comes in both classes, so nothing else can
# tell. A model that does not read this word is right half of the time.
#
# There are two encoders: a bidirectional GRU, whose states have read the other words; and **words**
# alone, whose states are the embeddings. Here is the second, trained on a small part of the sentences.

# %%
small = toy_reasons(6_000)
vocabulary = sorted({word for one in small["train"] for word in one.tokens})
number = {word: n for n, word in enumerate(vocabulary, 4)}  # 0 is padding, 3 is unknown


def as_batch(sentences):
    rows = [torch.tensor([number.get(w, 3) for w in one.tokens]) for one in sentences]
    lengths = torch.tensor([len(row) for row in rows])
    labels = torch.tensor([one.label for one in sentences])
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), lengths, labels


# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
model = SentenceClassifier(len(number) + 4, encoder="words")
optimizer = torch.optim.Adam(model.parameters(), 0.01)
source, lengths, labels = as_batch(small["train"])
for _ in range(150):
    loss = F.cross_entropy(model(source, lengths).logits, labels)
    optimizer.zero_grad(), loss.backward(), optimizer.step()

# %% tags=["nbval-ignore-output"]
source, lengths, labels = as_batch(small["test"])
places = torch.tensor([one.place for one in small["test"]])
with torch.no_grad():
    own = model(source, lengths)
    with replace_weights(model, shuffled):
        other = model(source, lengths)
agree = (other.logits.argmax(1) == own.logits.argmax(1)).float().mean()
print(f"right {(own.logits.argmax(1) == labels).float().mean():.2f}")
print(
    f"largest weight on the reason {(own.weights.argmax(1) == places).float().mean():.2f}"
)
print(f"same answer with shuffled weights {agree:.2f}")

# %% [markdown]
# Now the whole experiment: more sentences, both encoders and three seeds each. Four measures try to point at the
# deciding word, each by its largest value without the sign.
#
# - **Attention**: the weight $\alpha_i$.
# - **Gradient × input**: to first order, what the answer's margin $f$ owes to a word's vector $x_i$,
#
# $$ g_i = x_i^\top\, \frac{\partial f}{\partial x_i} $$ (eq-gradient-input)
#
# - **Integrated gradients**: the same, with the mean gradient at $m$ evenly spaced points on the way from zero to
#   $x$, $\frac{1}{m} \sum_{k=1}^{m} \frac{\partial f}{\partial x_i}\bigl(\frac{k - 1/2}{m}\, x\bigr)$, in place of
#   the gradient at $x$.
# - **Occlusion**: the answer with the word, minus the answer without it,
#
# $$ o_i = f(x_1, \dots, x_n) - f(x_1, \dots, x_{i-1}, x_{i+1}, \dots, x_n) $$ (eq-occlusion)
#
# ```{predict} who-finds-it
# ```

# %% tags=["hide-input", "hide-output", "hide-until-who-finds-it"]
KINDS = {"own weights": "attention", "trained uniform": "uniform"}
FINDERS = ("attention", "gradient", "integrated", "occlusion")
found, rows = {}, []
for encoder in runs:
    for name, kind in KINDS.items():
        of = [run[kind] for run in runs[encoder]]
        for way in FINDERS:
            found[encoder, kind, way] = [one["finds the reason"][way] for one in of]
        cells = [low_high(found[encoder, kind, way]) for way in FINDERS]
        if kind == "uniform":
            cells[0] = "–"
        rows.append(
            [f"{encoder}, {name}", low_high(right(encoder, "own", kind)), *cells]
        )
chance = runs["gru"][0]["uniform"]["share on reason"]
finds_in, finds_on = (
    [run["attention"]["attention finds it, by class"][k] for run in runs["gru"]]
    for k in (0, 1)
)
heads = ("model", "right", "attention", "gradient × input", "integrated", "occlusion")
note = f"three seeds; a word drawn at random is the right one in {chance:.2f} of the sentences"
ResultTable(heads, rows, "Who finds the deciding word?", note)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **With the same accuracy, the largest weight need not stand on the reason.** Every model of the table answers every test sentence rightly. Still:
#
# - Over **words** the largest weight stands on the reason in every sentence, for each seed. (The short
#   training above need not have come so far.)
# - Through a **GRU** it depends on the seed: {{ low_high(found["gru", "attention", "attention"]) }} of the
#   sentences, at the same accuracy. In two of the three trainings it stands on the reason in every *on* sentence, but in only
#   {{ low_high(finds_in[:2]) }} of the *in* sentences. Probably other states answer *in* when they have seen no *on*;
#   this was not tested.
# - Models trained with **uniform** weights answer as well. So the *task* does not need attention, though a
#   trained model may: over words the first models answer wrongly half of the time if you flatten their weights afterwards.
# - Occlusion tests the model instead of its map. Through the GRU it finds the word in
#   {{ low_high(found["gru", "attention", "occlusion"]) }} of the sentences.
#
# </details>
#
# ### A state is not a word
#
# A weight on position $i$ is a weight on a *state*. Which states know the deciding word? Take each state alone: is
# its margin of {eq}`eq-readout-of-states` on the right side?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Share of states that decide rightly alone, by distance from the deciding word, for three seeds of each encoder. Words: 1 at distance 0 and about one half elsewhere. GRU: 1 at distance 0 and well above one half for several words on at least one side."}}
figure, ax = plt.subplots(figsize=(6.2, 3))
alone = {}
for encoder, color in (("gru", ORANGE), ("words", GREY)):
    for k, run in enumerate(runs[encoder]):
        counts = run["attention"]["state alone"]
        shares = {int(d): hit / n for d, (hit, n) in counts.items()}
        alone[encoder, k] = shares
        ax.plot(
            [*shares], [*shares.values()], color=color, label=None if k else encoder
        )
ax.axhline(0.5, color=GREY, lw=1, ls="--")
ax.set(
    xlabel="words from the deciding word",
    ylabel="share right, state alone",
    ylim=(0, 1.05),
)
ax.legend()
plt.show()

# %% [markdown]
# A single word knows the answer if it *is* the reason; otherwise it guesses. A GRU's states know it from
# several words away: in all three trainings to the left of the reason, where the news comes from the
# backward GRU, and in two of them to the right as well. Shuffle the weights, and they land on other states that know
# it too.
#
# Now forge by hand. Both classifiers, that of GRU states and that of words, predict *on* for this sentence.

# %% tags=["hide-input"]
example = stored["example"]
movable = {
    e: low_high([run["attention"]["could be changed"] for run in runs[e]]) for e in runs
}
WeightSurgery(
    example["words"],
    example["margins"],
    example["weights"],
    answer="on",
    predict={
        "question": "You may put the weights wherever you like. Whose answer can you bring to the "
        "other side, below one half?",
        "options": ["only that of the GRU", "only that of words", "both", "neither"],
        "answer": 0,
        "tests": "weights",
        "explain": [
            "Some of its states lean to the other side. Of the words, taken alone, all lean to this "
            "one here, so no weights change that answer. One sentence is an example, not a rule: of "
            f"all test sentences some weights could change {movable['gru']} through the GRU, and "
            f"{movable['words']} over words. The twin of this one needs its word.",
            "In this sentence all words, taken alone, lean to the same side: look at the pale bar.",
            "In this sentence all words, taken alone, lean to the same side: no weights change that.",
            "Give all weight to the last words, with the GRU: its answer changes.",
        ],
    },
)

# %% [markdown]
# ## The debate, test by test
#
# ### Jain and Wallace: do the weights agree, and could they be others?
#
# *Attention is not Explanation* {cite:p}`jain2019` asks two things of classifiers. First: does attention
# rank the words as gradients and occlusion do? **Kendall's** $\tau$ compares two rankings. Among all $P$ pairs
# of words, let $C$ be the pairs that both put in the same order and $D$ those in opposite orders:
#
# $$ \tau = \frac{C - D}{P} $$ (eq-kendall)
#
# (without ties; with ties the package divides by less). Second: could *other* weights give the same answer?
# An adversary looks for weights $\beta$ as far as possible from $\alpha$ while the answer $\hat y$ moves by no
# more than $\varepsilon$, here 0.05:
#
# $$ \max_\beta\; \mathrm{JSD}(\alpha, \beta) \quad\text{such that}\quad
#    \tfrac12 \textstyle\sum_k |\hat y_k(\alpha) - \hat y_k(\beta)| \le \varepsilon $$ (eq-adversary)
#
# The distance is the **Jensen–Shannon divergence**, with $\mu = (\alpha + \beta)/2$,
#
# $$ \mathrm{JSD}(\alpha, \beta) = \tfrac12 \sum_i \alpha_i \ln \frac{\alpha_i}{\mu_i}
#    + \tfrac12 \sum_i \beta_i \ln \frac{\beta_i}{\mu_i} $$ (eq-jsd)
#
# from 0 for equal weights to $\ln 2 = 0.69$ for weights that share no word.

# %%
first, second = torch.tensor([[0.7, 0.2, 0.1]]), torch.tensor([[0.1, 0.2, 0.7]])
print("reversed:", kendall_tau(first[0], second[0]), jensen_shannon(first, second))
print(
    "no word in common:",
    jensen_shannon(torch.tensor([[1.0, 0]]), torch.tensor([[0, 1.0]])),
)

# %% tags=["hide-input"]
tau = {
    (encoder, pair): [run["attention"]["tau"][pair] for run in runs[encoder]]
    for encoder in runs
    for pair in (
        "attention / gradient",
        "attention / occlusion",
        "gradient / occlusion",
    )
}
forge, strict = (
    {e: [run["attention"][way] for run in runs[e]] for e in runs}
    for way in ("forged", "forged strictly")
)
before, after = (
    f"{table[change]['accuracy'][0]:.2f}" for change in ("own", "largest erased")
)
beyond = {e: low_high([f["above 0.5"] for f in forge[e]]) for e in runs}
mine = stored["translator"]["forged"]
rows = [
    [
        encoder,
        *(low_high(tau[of, pair]) for of, pair in tau if of == encoder),
        low_high([f["median"] for f in forge[encoder]]),
        beyond[encoder],
    ]
    for encoder in runs
]
forged = [f"{mine['median']:.2f}", f"{mine['above 0.5']:.2f}"]
rows.append(["translator", "", "", "", *forged])
heads = (
    "model",
    "τ: attention, gradient",
    "τ: attention, occlusion",
    "τ: gradient, occlusion",
    "forged JSD, median",
    "share above 0.5",
)
ResultTable(
    heads,
    rows,
    "Agreement, and how far weights can be forged",
    "three seeds; one translator, third word",
)

# %% [markdown]
# **Agreement.** Low agreement with gradient × input and occlusion is found again through the GRU, and not over words, for each of
# the seeds. So it is no property of attention as such. Nor does it mean a wrong map: the third GRU finds the reason in
# every sentence, and its $\tau$ is low all the same. $\tau$ asks about all pairs, including pairs of words that hardly
# count.
#
# **Forgery.** On GRU states the adversary gets further than 0.5 away in nearly every sentence. Over words it wins as well, in half of the
# sentences. Two twins share all other words, and in most pairs these lean to one side. The twin on that side needs no
# evidence, so nearly any weights will do. But an adversary who may choose new weights for each sentence does not show that a
# *model* could have them. That was the reply.

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# - The third $\tau$ is the baseline: through the GRU gradient and occlusion agree with each other better than attention
#   does with either, but far from perfectly. With integrated gradients attention's $\tau$ is
#   {{ low_high([r["attention"]["tau"]["attention / integrated"] for r in runs["gru"]]) }} through the GRU and
#   {{ low_high([r["attention"]["tau"]["attention / integrated"] for r in runs["words"]]) }} over words.
# - The paper lets no gradient pass through the weights; here it passes through them, too. The paper takes
#   $\varepsilon = 0.01$ for classifiers; with it the adversary on GRU states is above 0.5 in
#   {{ low_high([f["above 0.5"] for f in strict["gru"]]) }}.
# - What the search finds is a lower bound: a better search may find more.
#
# </details>

# %% [markdown]
# ### Wiegreffe and Pinter: could a model look elsewhere?
#
# *Attention is not not Explanation* {cite:p}`wiegreffe2019` asks for fair baselines.
#
# 1. **Is attention needed?** Train with uniform weights: here it is not.
# 2. **How different is different?** Train again from another seed, and compare the weights.
# 3. **Could a trained model look elsewhere?** Train a second model to give the first one's answers, while a
#    term of the loss pushes its weights away, here with four strengths.
# 4. **Do the weights know something?** Give them to a model of words alone, and compare it with one that has uniform
#    weights.
#
# In the chart a dot is a model that answers nearly every sentence rightly, a cross one at chance; dots on one spot are rings.
#
# ```{predict} can-it-look-elsewhere
# ```

# %% tags=["hide-input", "hide-output", "hide-until-can-it-look-elsewhere"] mystnb={"image": {"alt": "Two panels, gru above words. Across, the distance of a pushed model's weights from the first model's, 0 to 0.69 nats; up, the share of sentences with the largest weight on the reason. All models but one group answer rightly. gru: two of the least pushed lie at 1 up and below 0.25 across, all others at one half or near 0 up and beyond 0.5 across; two of three lines for another seed stand near 0.5. words: the least pushed lie at 1 up and near 0 across, the middle two strengths at one half or below and between 0.4 and 0.5 across; the most pushed, at chance, at 0 up and 0.69 across."}}
pushes = list(runs["gru"][0]["pushed"])
weak, middle, strong = pushes[0], pushes[1], pushes[-1]
pushed = {(e, by): [r["pushed"][by] for r in runs[e]] for e in runs for by in pushes}
mild = pushed["words", middle]
seeds = {e: [run["another seed"]["divergence"] for run in runs[e]] for e in runs}
looks = {
    by: (size, color) for by, size, color in zip(pushes, (190, 100, 45, 12), PALETTE)
}
figure, axes = plt.subplots(2, 1, figsize=(6.4, 6.4), sharex=True, layout="constrained")
for ax, e in zip(axes, runs):
    for x in seeds[e]:
        ax.plot([x, x], [-0.13, -0.05], color=GREY, lw=2)
    for by, (size, color) in looks.items():
        for model in pushed[e, by]:
            mark = "o" if model["accuracy"] > 0.9 else "x"
            place = model["divergence"], model["finds the reason"]["attention"]
            ax.scatter(*place, size if mark == "o" else 60, color=color, marker=mark)
    ax.set(
        title=e,
        xlim=(-0.04, 0.74),
        ylim=(-0.13, 1.1),
        ylabel="largest weight\non the reason",
    )
for by, (size, color) in looks.items():
    axes[0].scatter([], [], size, color=color, label=f"pushed by {by}")
axes[0].scatter([], [], 60, color=GREY, marker="x", label="answers at chance")
axes[0].plot([], [], color=GREY, lw=2, label="another seed")
axes[0].legend(loc="center left", fontsize="small")
axes[1].set(xlabel="nats from the first model")
plt.show()

# %% tags=["hide-input", "hide-output"] mystnb={"code_prompt_show": "Models that look elsewhere (the answer): {type}", "code_prompt_hide": "Hide: models that look elsewhere"}
flat = {e: [run["uniform"] for run in runs[e]] for e in runs}
guided = {k: [run["guided words"][k] for run in runs["gru"]] for k in ("own", "pushed")}


def moved(models):
    return low_high([one["divergence"] for one in models])


def finds(models, way):
    return low_high([one["finds the reason"][way] for one in models])


rows = []
for e in runs:
    rows.append([f"{e}, another seed", low_high(seeds[e]), "", "", ""])
    answers = low_high(right(e, "own", "uniform"))
    by_occlusion = finds(flat[e], "occlusion")
    rows.append([f"{e}, trained uniform", moved(flat[e]), answers, "–", by_occlusion])
    for by in pushes:
        models = pushed[e, by]
        answers = low_high([one["accuracy"] for one in models])
        ways = (finds(models, way) for way in ("attention", "occlusion"))
        rows.append([f"{e}, pushed by {by}", moved(models), answers, *ways])
heads = (
    "model",
    "JSD from the first model",
    "right",
    "largest weight on the reason",
    "occlusion finds it",
)
note = "three seeds; a push is the factor of −Σ β ln(β/α) in the loss (α first, β new); that sum can be large where JSD is small"
ResultTable(heads, rows, "Models that look elsewhere", note)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **A model can be trained to look elsewhere and give the same answers.** Up is the share of the sentences.
#
# - The folded table adds the numbers, models trained uniform, and occlusion.
# - **Another seed** moves the GRU's weights by {{ low_high(seeds["gru"]) }} nats, of
#   at most 0.69. In two of three comparisons the map is another one: where weights lie is a fact about one training,
#   not the task. Over words
#   another seed gives nearly the same weights.
# - **Pushed away** by {{ strong }}, the GRU answers as before, with weights that hardly overlap the first
#   model's. Models of words are then at chance; pushed by {{ weak }} they keep their answers and their weights. Pushed by
#   {{ middle }} they still answer every sentence rightly, with weights {{ moved(mild) }} nats away and the largest weight on
#   the reason in {{ finds(mild,"attention") }}. Trained uniform they answer as well.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# The true classes stay in the second model's loss, and it starts from another seed, so part of the distance can be the
# seed's. In the first of the three GRUs much of the distance may be another seed's: pushed by {{ weak }} it is {{ f"{pushed['gru', weak][0]['divergence']:.2f}" }} away, by {{ strong }} {{ f"{pushed['gru', strong][0]['divergence']:.2f}" }}; the third {{ f"{pushed['gru', weak][2]['divergence']:.2f}" }} and {{ f"{pushed['gru', strong][2]['divergence']:.2f}" }}.
#
# </details>
#
# <details><summary>Do the weights know something?</summary>
#
# Test 4: given the GRU's own weights, a model that sees words alone gets to
# {{ low_high(guided["own"]) }}, given the most strongly pushed ones to {{ low_high(guided["pushed"]) }}. But with
# uniform weights it gets to
# {{ low_high(right("words","own","uniform")) }} too. So pushed weights can hide the reason. But it is not
# shown that the GRU's own weights help more than uniform ones do. A catch: weights can give the class away by
# *where* they lie.
#
# </details>

# %% [markdown]
# ### Serrano and Smith: what must go until the answer flips?
#
# *Is Attention Interpretable?* {cite:p}`serrano2019` erases weights in an order until the decision changes. The fewer an order
# needs, the better it ranks. Beside the order by attention stand a random one, that by the weight times the decision's
# gradient *in that weight*, and, not from the paper, that by gradient × input. For a linear readout, with the bias shared out as in
# {eq}`eq-readout-of-states`, the weight times its gradient is $\alpha_i m_i$, towards the decision.

# %% tags=["hide-input"]
ORDERS = {
    "attention": "by attention",
    "weight × gradient": "by weight × its gradient",
    "gradient": "by gradient × input",
    "at random": "at random",
}
counted = {
    key: {
        (e, o): [run["attention"]["until it flips"][o][key] for run in runs[e]]
        for e in runs
        for o in ORDERS
    }
    for key in ("mean share", "never")
}
flips, never = counted.values()
gained = [
    theirs - paper
    for e in runs
    for theirs, paper in zip(flips[e, "attention"], flips[e, "weight × gradient"])
]
changed = {
    e: [run["attention"]["table"]["largest erased"]["changed"] for run in runs[e]]
    for e in runs
}
rows = [
    [
        e,
        *(low_high(flips[e, order]) for order in ORDERS),
        low_high(never[e, "attention"]),
    ]
    for e in runs
]
heads = ("model", *ORDERS.values(), "never flips, by attention")
note = "share of a sentence's weights that must go; 1 where it never flips; three seeds"
display(ResultTable(heads, rows, "Erased until the answer flips", note))
experiment_card(stored["card"])

# %% [markdown]
# The order by attention flips the answer with fewer weights gone than a random order does, in each seed. The order by
# weight × gradient needs fewer than attention in each seed, as the paper found, though by little: by at most
# {{ f"{max(gained):.2f}" }} of the weights. Many answers never flip, whatever the order: through the GRU
# {{ low_high([x for o in ORDERS for x in never["gru", o]]) }} of them stay the same down to the last weight.
#
# <details><summary>How sure is this?</summary>
#
# All of this holds over words and through the GRU. Between attention and gradient × input no difference is seen. By
# attention, about half of the answers over words never flip: about nine of ten of these, or more, are those that no weights could change.
#
# </details>

# %% [markdown]
# ## What may be concluded
#
# A map tells *where this vector came from*. For *why this answer*, change something and see what follows.
#
# | claim | the test | the translator | GRU states | words |
# |---|---|---|---|---|
# | the context came from these *states* | none: it is how it was computed | yes | yes | yes |
# | the answer would be another without the largest weight | erase it | right words: {{ before }} before, {{ after }} after | in {{ low_high(changed["gru"]) }} | in {{ low_high(changed["words"]) }} |
# | only similar weights give this answer | forge, JSD above 0.5 | refuted in {{ f"{mine['above 0.5']:.2f}" }} | in {{ beyond["gru"] }} | in {{ beyond["words"] }} |
# | any *model* that answers so looks there | push, and reseed | not tried | refuted | refuted: pushed by {{ middle }}, or uniform |
# | this *word* decided | occlusion | not tried | found in {{ low_high(found["gru","attention","occlusion"]) }}; pushed: in {{ finds(pushed["gru",strong],"occlusion") }} | in {{ low_high(found["words","attention","occlusion"]) }}; pushed: in {{ finds(mild,"occlusion") }} |
# | the task needs attention | train it uniform | not tried | refuted | refuted |
#
# Numbers are shares of test sentences, over three seeds; for forging, of 100 of them. Pushes: {{ strong }} and {{ middle }}. The translator's, from one training, are
# shares of words; for forging, of the third words of 100 sentences.

# %% [markdown]
# <details><summary>And in deep models?</summary>
#
# There each state has mixed others. *Attention rollout* multiplies the maps of all layers, each mixed with the identity, and *attention
# flow* asks how much can flow through them {cite:p}`abnar2020`. Both still read weights. Other work intervenes, as here, on the states inside:
# *activation patching* puts one run's state into another, and watches the answer
# {cite:p}`vig2020,meng2022`.
#
# </details>

# %% [markdown]
# ## Where it breaks
#
# - **Erasing without renormalising.** The context shrinks as well, and you test two changes at once.
# - **Shuffling pads in.** The weights land on positions that hold nothing, and every model seems to care.
# - **Correlating over pads.** Both measures put each word above each pad. Such pairs agree without meaning anything, and
#   $\tau$ rises with the padding.
# - **Averaging over heads first.** The largest weight of a mean of maps can stand where no head has its largest.
# - **One seed.** The same GRU, at the same accuracy, had maps that find every reason and maps that find
#   half of them.
# - **The mean of answers for the answer of the mean.** {eq}`eq-readout-of-states` holds for a linear
#   readout. Through the translator's maxout $f(\sum_i \alpha_i h_i)$ is not $\sum_i \alpha_i f(h_i)$.
# - **Occlusion leaves the data.** The model was trained on no sentence without its preposition. And if a model predicts
#   *in* wherever no *on* stands, taking *in* away changes nothing.
#
# ## Check yourself
#
# ```{self-check} shuffled-and-unmoved
# ```
#
# ```{self-check} range-of-answers
# ```
#
# ```{self-check} uniform-as-good
# ```
#
# ```{self-check} what-a-forger-shows
# ```

# %% [markdown]
# ## What you now know
#
# - Weights tell where a context came from. Whether the answer would be another without it is a question for
#   an intervention; translator and classifier differ there.
# - With a linear readout the answer is a mean of margins. Weights matter as far as the margins disagree.
# - States are not words. Through a GRU the news travels, and a map need not point at the word that decides.
# - Jain and Wallace's low agreement, Wiegreffe and Pinter's baselines, and Serrano and Smith's erasing
#   measure different things. Run all three, with seeds, before a heat map is your reason.
#
# **Two questions for you to research.** (1) For *which* target words does our translator need the source at
# all? Split the table by part of speech. (2) How long must a sentence be until the GRU's news has faded?
#
# **Now you.** [The exercise](../exercises/09_explanations.ipynb) has you write the interventions and the
# measures, and find out how far any weights could move an answer.
#
# **Next.** Chapter 10 attends to a window only.
#
# ## Sources
#
# - The debate: {cite:t}`jain2019`, {cite:t}`wiegreffe2019`, {cite:t}`serrano2019`.
# - Models trained to keep weight off chosen words: {cite:t}`pruthi2020`.
# - Integrated gradients: {cite:t}`sundararajan2017`, section 3. Gradient × input: {cite:t}`shrikumar2016`. Occlusion of words:
#   {cite:t}`li2016`.
# - Ranks with ties: {cite:t}`kendall1945`. The Jensen–Shannon divergence: {cite:t}`lin1991`.
