# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 60
#     covers: [F-05, F-15, F-16, F-21, D-08, D-20, M-13, M-14, M-15, T-02, P-02, P-03, P-04, P-05]
#     exercise: 06_decoder
# ---

# %% [markdown]
# # 6. The decoder: two orders of one step
#
# This chapter cuts one step of a translator open: what it reads, when it asks, and where the context goes.
# You write a step that can be both Bahdanau's and Luong's. For any decoder whose query is its state
# alone, two probes find out from outside which state asks and whether the context reaches the recurrence. And one line
# turns out to decide what a translator learns first.
#
# **You need** [additive attention](03_additive.ipynb), above all its order of events, and [the
# multiplicative scores](04_multiplicative.ipynb). **This chapter covers** the decoder's step in both orders,
# readouts, input feeding, the first state, the shift of the target, the loss, and padding.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# Two decoders do the same few things for each word that they write, but in different orders. Answer, then step
# through the figure with the arrow keys: one step in Bahdanau's order first, then choose Luong's (another
# model, with another encoder and score). Look at which state asks, and at what the **recurrent step** reads: the
# step of the GRU, from the old state to the new one. The figure calls it *update*.

# %% tags=["hide-input"]
from functools import partial

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from seqattn.data import (
    FIVE,
    Batches,
    Vocabularies,
    encode_pairs,
    measured,
    tokenize,
    toy_corpus,
)
from seqattn.evaluation import which_steps_move
from seqattn.models import AttentionDecoder, Encoded, ModelConfig, build_model
from seqattn.plots import (
    BLUE,
    GREY,
    ResultTable,
    experiment_card,
    plot_attention,
    use_style,
)
from seqattn.training import fit
from seqattn.widgets import DecoderFlow, Unrolled

use_style()
torch.set_printoptions(precision=3, sci_mode=False)

Unrolled(
    orders=["bahdanau", "luong", "luong, no feeding"],
    phases=["decode"],
    event=9,
    title="One step in two orders",
    predict={
        "question": "Both decoders have just written “chat”. Which of them has read it when it "
        "chooses where to look next?",
        "options": ["Bahdanau's.", "Luong's.", "Both: each has written it."],
        "answer": 1,
        "tests": "order",
        "explain": [
            "In this order the old state asks. It has read “le”, and not yet “chat”, which enters "
            "with the recurrent step, after the look.",
            "In this order the recurrent step comes first: the new state has read “chat”, and asks.",
            "Written is not yet read: a word enters the state with the next recurrent step. In one "
            "of the two orders that comes after the look.",
        ],
    },
)

# %% [markdown]
# ## One step, in two orders
#
# In Bahdanau's order the old state asks, which has not read the last word yet, and the recurrent step reads the
# context. In Luong's order the recurrent step comes first, and the new state asks.
#
# Here is Bahdanau's order on a sentence that somebody wrote: the first German caption of
# [chapter 3](03_additive.ipynb). The translator there has Bahdanau's decoder, and wrote
# *A man preparing food on the stove.*

# %% tags=["hide-input"]
caption = measured("captions")["captions"][0]
weights, read = torch.tensor(caption["weights"]), caption["source_tokens"]
wrote, rows = ["<bos>", *(piece.strip("▁") for piece in caption["tokens"])], []
for t, row in enumerate(weights):
    share, place = row.max(0)
    look = f"{read[place].strip('▁')} {share:.2f}"
    rows.append([t + 1, wrote[t - 1] if t else "–", look, wrote[t], wrote[t + 1]])
caption_steps = rows
heads = ("step", "last word read", "looks most at", "then reads", "says")
ResultTable(heads, rows, "A real caption, step by step")

# %% tags=["hide-input", "hide-output"] mystnb={"code_prompt_show": "The map behind the table: {type}", "code_prompt_hide": "Hide: the map behind the table", "image": {"alt": "Attention map of a German caption and its English translation, a row for each English token. The rows of preparing and food are strongest at bereitet, that of man at Mann, that of stove at Herd."}}
figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
plot_attention(weights, read, caption["tokens"], ax=ax, annotate=False)
plt.show()

# %% [markdown]
# Follow step 4. When the decoder looks at *bereitet* for *food*, the last word that it has read is *man*.
# Only then does it read *preparing*. Luong's decoder would read *preparing* first, and look afterwards. (Does *food*
# look at *bereitet* because *preparing* has not been read yet? One map cannot tell.)
#
# ### By hand
#
# The encoder states are those of the whole book, *cat*, *sat* and *mat*. The score is the dot product. The
# decoder state before the step is $s_0 = (0.5, 1.0)$. For the recurrent step we take something small enough for
# paper: $s_1 = \tanh(s_0/2 + c_1/2 + E_y)$ in Bahdanau's order, and the same without $c_1$ in
# Luong's. The word just written is *le*, with the vector $E_y = (0.2, -0.4)$, or *un*, with $(-0.6, 0.3)$.
#
# | order, word | weights of step 1 | state $s_1$ | weights of step 2 |
# |---|---|---|---|
# | Bahdanau, *le* | 0.407, 0.522, 0.071 | 0.493, 0.507 | 0.464, 0.367, 0.169 |
# | Bahdanau, *un* | 0.407, 0.522, 0.071 | −0.254, 0.851 | 0.211, 0.722, 0.067 |
# | Luong, *le* | 0.438, 0.257, 0.305 | 0.422, 0.100 | wait for word 2 |
# | Luong, *un* | 0.215, 0.691, 0.094 | −0.336, 0.664 | wait for word 2 |
#
# Exchange the word, and Bahdanau's weights of step 1 stay. They were there before the word was read. Luong's
# move at once.

# %% [markdown]
# ## In general
#
# A step of the decoder has four parts: **ask**, which gives scores and weights; **mix**, which gives the
# context, or **context vector**; the **recurrent step**, which gives the new state, the decoder's **hidden state**;
# and **say**. Let $a$ be any score (Bahdanau et al. call theirs the *alignment model*), $f$ the recurrent unit, $g$
# the readout, and $q_t$ the state that asks:
#
# $$
# \begin{aligned}
# \alpha_t &= \mathrm{softmax}_i\; a(q_t, h_i), \qquad c_t = \sum_i \alpha_{ti} h_i \\
# s_t &= f\big(s_{t-1}, [E y_{t-1}; r_t]\big) \\
# p(y_t \mid y_{<t}, x) &= \mathrm{softmax}\big(W_o\, g(s_t, c_t, E y_{t-1}) + b_o\big)
# \end{aligned}
# $$ (eq-decoder-step)
#
# Two choices are open, beside the score. Nearly all combinations can be built:
#
# | decoder | who asks, $q_t$ | what the recurrent step reads besides the last word, $r_t$ |
# |---|---|---|
# | Bahdanau et al. | $s_{t-1}$, before the recurrent step | $c_t$ |
# | Luong et al., no feeding | $s_t$, after it | nothing |
# | Luong et al., input feeding | $s_t$, after it | $\tilde s_{t-1}$, the last readout |
#
# One combination is impossible: $s_t$ cannot be the query for $c_t$ if computing $s_t$ already needs $c_t$.

# %% [markdown]
# ### The readouts
#
# Luong et al. squash context and state into an *attentional vector*:
#
# $$ \tilde s_t = \tanh\big(W_c\,[c_t; s_t]\big) $$ (eq-attentional-vector)
#
# and, with **input feeding**, the next recurrent step reads it:
#
# $$ s_t = f\big(s_{t-1}, [E y_{t-1}; \tilde s_{t-1}]\big), \qquad \tilde s_0 = 0 $$ (eq-input-feeding)
#
# So the decoder can know where it has looked. Bahdanau's decoder joins a *context* to the input of its recurrent step. That is
# not input feeding, though many programs call it so. Bahdanau et al. use *maxout*: it arranges numbers in $l$
# pairs and keeps the larger of each,
#
# $$
# \begin{aligned}
# u_t &= U_o s_t + V_o E y_{t-1} + C_o c_t + b_u \\
# \tilde s_{tj} &= \max(u_{tj}, u_{t,j+l}), \qquad j = 1 \dots l
# \end{aligned}
# $$ (eq-maxout)
#
# A *linear* readout joins all three, $[s_t; c_t; E y_{t-1}]$, and leaves the rest to $W_o$. That is no maxout: nothing is
# compared. We write $\tilde s_t$ for the features of any readout.
#
# <details><summary>Where the paper's maxout differs</summary>
#
# The paper's appendix has $s_{t-1}$ for $s_t$, and leaves the biases out of its formulas. The paper and the exercise pair
# neighbours, $u_{t,2j-1}$ with $u_{t,2j}$: only the order of the matrices' rows differs.
#
# </details>
#
# ## Ten lines, any order
#
# Here is the whole step. The two `if`s on the order are the two papers. `part` holds the layers, `memory`
# the projected keys of [chapter 3](03_additive.ipynb). The hidden cell compares it with the package's step,
# and the readouts with their formulas:


# %%
def one_step(part, cell, y, s, fed, memory, order, feeding):
    word, extra = part.embedding(y), []
    if order == "before":
        context, weights = part.attention(s, memory)  # the old state asks
    if feeding:
        extra = [context if order == "before" else fed]
    s = cell(torch.cat([word, *extra], -1), s)
    if order == "after":
        context, weights = part.attention(s, memory)  # the new state asks
    features = part.readout(s, context, word)
    return part.vocabulary(features), weights, s, features


# %% tags=["hide-input"]
def borrow_cell(rnn):
    cell = nn.GRUCell(rnn.input_size, rnn.hidden_size).double()
    cell.load_state_dict(
        {k.removesuffix("_l0"): v for k, v in rnn.state_dict().items()}
    )
    return cell


source, lengths = torch.tensor([[5, 6, 7, 8, 2]]), torch.tensor([5])
PAPERS = {
    "Bahdanau": (ModelConfig("bahdanau", d_embed=5, d_hidden=6), "before", True),
    "Luong": (ModelConfig("luong", d_embed=5, d_hidden=6), "after", True),
    "Luong, no feeding": (
        ModelConfig("luong", d_embed=5, d_hidden=6, input_feeding=False), "after", False,
    ),
}  # fmt: skip

models = {}
for name, (config, order, feeding) in PAPERS.items():
    torch.manual_seed(0)
    models[name] = model = build_model(config, 11, 13).double().eval()
    part, cell = model.decoder, borrow_cell(model.decoder.rnn)
    state, memory = model.begin(source, lengths)
    s, fed = state.hidden.outputs[-1], torch.zeros(1, part.readout.d_features).double()
    at_once = model(source, lengths, torch.tensor([[1, 4, 5]])).logits
    for t, y in enumerate(torch.tensor([[1], [4], [5]])):
        logits, weights, s, fed = one_step(
            part, cell, y, s, fed, memory, order, feeding
        )
        step = model.step(y, state, memory)
        torch.testing.assert_close((logits, weights), (step.logits, step.weights))
        torch.testing.assert_close(step.logits, at_once[:, t])
        state = step.state
    print(f"{name}: three steps equal the package's, one by one and teacher-forced")

torch.manual_seed(0)
s, c, word = (torch.randn(1, d).double() for d in (6, 12, 5))
tanh, maxout = models["Luong"].decoder.readout, models["Bahdanau"].decoder.readout
by_hand = torch.tanh(torch.cat([c, s], -1) @ tanh.W_c.weight.T)
torch.testing.assert_close(tanh(s, c, word), by_hand)

U_o, C_o, V_o = maxout.W.weight.split((6, 12, 5), 1)
u = s @ U_o.T + word @ V_o.T + c @ C_o.T + maxout.W.bias
torch.testing.assert_close(maxout(s, c, word), torch.maximum(u[:, :3], u[:, 3:]))

# %% [markdown]
# ## What a change can reach
#
# The figure has three steps as boxes, and calls the recurrent step *update*; an arrow leads from a value to what is
# computed from it. The words that are read are given,
# as in training. Answer the question, and test your answer. Then press any box, or choose it below the
# drawing.

# %% tags=["hide-input"]
DecoderFlow(
    caption="Try: the context of step 1 in all four combinations of order and feeding. Then the readout "
    "that reads the state alone, with nothing fed: who uses the context then?"
)

# %% [markdown]
# How does a context get into a later state: in Bahdanau's order? And in Luong's, with feeding
# and without?
#
# ## Two probes
#
# A program rarely comes with such a drawing. But two experiments tell which state asks and whether attention is fed, if you can reach its values and states:
#
# - **Change a token.** Let step 4 read another word. Which rows of weights move?
# - **Change the values, keep the keys.** Multiply every value by 5. Which rows move?
#
# `which_steps_move` does both. It copies the model, computes in 64 bits, and runs it twice. We add a fourth
# design, one that is easily written by mistake: it computes attention, draws maps, and never uses the
# context.
#
# ```{predict} values-probe
# ```


# %%
class Ignores(AttentionDecoder):
    def _attend(self, *given):
        context, weights, past = super()._attend(*given)
        return torch.zeros_like(context), weights, past


museum = build_model(PAPERS["Luong, no feeding"][0], 11, 13)
museum.decoder.__class__ = Ignores  # the same layers, another method

# %% tags=["hide-output", "hide-until-values-probe"]
moved, rows = {}, []
for name, model in {**models, "ignores its context": museum}.items():
    for change in ("token", "values"):
        steps = which_steps_move(model, [5, 6, 7, 8, 2], [1, 4, 5, 6, 7, 8], change)
        moved[name, change] = steps
        rows.append([name, change, *(" ".join(map(str, x)) or "none" for x in steps)])
heads = ("design", "changed", "states", "rows of weights", "logits")
ResultTable(heads, rows, "Steps that move, of six")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - *Token, rows.* Bahdanau's row 4 stays and row 5 is the first to move. In each design that asks after the recurrent step, row 4
#   moves too.
# - *Values, states.* With Bahdanau from step 1: $c_1$ enters $s_1$. With feeding from step 2; without feeding
#   none. Luong's order without feeding has **no arrow from attention into the recurrence**. With the words
#   given, its states are those of a language model that knows the source only through $s_0$, and attention
#   acts on the word of its own step alone. In free translation the next step reads that word.
# - *Values, logits.* They move in each honest design. Where they stay, the context is not used.
#
# Do not stop at one probe. The token cannot tell feeding from no feeding. The values name all four here, but
# under that probe a decoder that asks early and feeds nothing (the grid below) looks like Luong's without
# feeding.
#
# </details>

# %% [markdown]
# ## How a readout goes flat
#
# The readout comes last in a step, and it can spoil a comparison of orders. Here are two trainings of one
# translator: the same pairs, the same seed, the same 60 updates of the optimiser. They differ in one line.
#
# The readout is that of {eq}`eq-attentional-vector`. A last layer turns its features into one number for each French word. We look at the
# features before the first update, after 20 and after 60.
#
# ```{predict} which-line
# ```

# %% tags=["hide-input", "hide-output", "hide-until-which-line", "nbval-ignore-output"] mystnb={"image": {"alt": "Six histograms of the readout's features between minus one and one, at updates 0, 20 and 60. At update 0 both trainings have a narrow peak at zero. Trained from a zero bias, nearly all features stand at minus one and at one from update 20 on. Trained from the log frequencies they spread over the whole range."}}
short = [p for p in toy_corpus(8_000)["train"] if len(tokenize(p.source, "en")) <= 8]
vocabularies = Vocabularies.learn(short, ("en", "fr"))
examples = encode_pairs(short, vocabularies)
batches = Batches(examples, tokens=512)


def train_a_little(style="luong", guess=False, lr=0.01):
    torch.manual_seed(0)
    feeding = {} if style == "bahdanau" else {"input_feeding": False}
    sizes = {"d_embed": 64, "d_hidden": 64, "d_encoder": 32, "dropout": 0.0}
    config = ModelConfig(style, score="additive", readout="tanh", **sizes, **feeding)
    model, seen = build_model(config, *map(len, vocabularies)), {}

    def watch(update):
        seen[update] = look_at_features(model)

    options = {"lr": lr, "warmup": 10, "schedule": "constant", "guess": guess}
    history = fit(model, batches, steps=60, watch=watch, every=20, **options)
    return seen, history.losses


def look_at_features(model):
    """Features of the readout at all real words of one batch."""
    seen, batch = [], next(batches.epoch(0))
    hook = model.decoder.readout.register_forward_hook(
        lambda *call: seen.append(call[-1])
    )
    with torch.no_grad():
        model(batch.source, batch.lengths, batch.inputs)
    hook.remove()
    features = seen[0] if len(seen) == 1 else torch.stack(seen, 1)
    return features[batch.targets != 0]


TRAININGS = {
    "bias from zero": {},
    "bias from frequencies": {"guess": True},
    "from zero, other order": {"style": "bahdanau"},
    "from zero, rate 0.003": {"lr": 0.003},
}
first_look, flat = {}, {}
print(
    f"{'features beyond 0.99 at update':32s}    0   20   40   60   loss, updates 51 to 60"
)
for name, options in TRAININGS.items():
    first_look[name], losses = train_a_little(**options)
    flat[name] = [
        (x.abs() > 0.99).float().mean().item() for x in first_look[name].values()
    ]
    print(f"{name:32s} " + " ".join(f"{x:4.0%}" for x in flat[name]), end="   ")
    print(f"{sum(losses[-10:]) / 10:.2f}")

figure, panels = plt.subplots(2, 3, figsize=(8.4, 3.6), sharex=True, sharey="row")
for row, name, colour in zip(panels, list(TRAININGS)[:2], (GREY, BLUE)):
    for ax, update in zip(row, (0, 20, 60)):
        ax.hist(
            first_look[name][update].flatten().numpy(),
            bins=41,
            range=(-1, 1),
            color=colour,
        )
        ax.set_title(f"{name}, update {update}", fontsize=9)
        ax.set_yticks([])
        ax.set_ylabel("count", fontsize=9)
for ax in panels[1]:
    ax.set_xlabel("feature")
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# The line is `guess=True`: the bias of the last layer starts as the logarithm of each word's frequency,
# not at zero. Without it, in this run and in both orders, the readout has become almost a constant:
# nearly every feature is close to $+1$ at all words of a batch, or close to $-1$ at all of them. A tanh is
# flat there, and passes almost nothing back. Why it happens comes next, and then a measurement with three seeds.
#
# </details>

# %% [markdown]
# ### Why the features run to their ends
#
# Let $\ell$ be the loss of one word and $p$ the predicted probabilities. Let $y$ be
# the vector with a one at the right word, and $z = W_c[c; s]$ what goes into the tanh. Then
#
# $$
# \begin{aligned}
# \frac{\partial \ell}{\partial \tilde s} &= W_o^\top (p - y) \\
# \frac{\partial \ell}{\partial z} &= \big(1 - \tilde s^2\big) \odot W_o^\top (p - y) \\
# \frac{\partial \ell}{\partial W_c} &= \frac{\partial \ell}{\partial z}\,[c; s]^\top
# \end{aligned}
# $$ (eq-saturated-readout)
#
# **The surprising part is the mean of the first line.**

# %% [markdown]
# Sum $p - y$ over a batch. At the start $p$ is nearly uniform, and what is left is "frequent words up, rare
# words down": a part that all positions of all sentences share. It pushes each feature in one direction,
# at all words alike and in every batch. Where a weight's gradient keeps its sign, Adam's step is about as large as the
# learning rate, however small the gradient. Each number of $z$ sums over many weights, so it goes far. In the tanh it
# meets a wall: $1 - \tilde s^2$, the factor of the second line, goes towards zero. So $W_c$, the states and the
# attention get almost no gradient.
#
# A bias that starts at $b_k = \log f_k$, with $f_k$ the frequency of word $k$, makes that mean almost zero
# before the first update. What is left differs from sentence to sentence.
#
# ### Measured, with three seeds
#
# The same sizes (states of 64 numbers), pairs and batches for all, Luong's order without feeding, additive
# score, 282 updates, at three learning rates; loss, features and sentences are of the middle one. BLEU is on validation sentences. The loss is that of training, in nats a word: the mean of the
# last 20 updates. A model that knows only the frequencies $f_k$ has their entropy as its loss,
# $-\sum_k f_k \log f_k$. Below the table stand the sentences of the book, in three
# trainings of one seed; that of Bahdanau's order has a linear readout.

# %% tags=["hide-input"]
counts = torch.bincount(torch.tensor([y for _, target in examples for y in target]))
f = counts[counts > 0].double() / counts.sum()
knows_frequencies = -(f * f.log()).sum().item()
print(f"loss of word frequencies alone: {knows_frequencies:.2f} nats a word")
stored = measured("decoders")
display(experiment_card(stored["card"]))


def runs(order="after", fed=False, **choice):
    usual = {"readout": "linear", "bias": "frequencies", "ignores": False}
    cell = {"order": order, "fed": fed, **usual, **choice}
    return next(found["runs"] for found in stored["models"] if found["cell"] == cell)


def span(found, what, form):
    values = [run[what] for run in found]
    return f"{min(values):{form}} to {max(values):{form}}"


STARTS = {
    "tanh, from zero": runs(readout="tanh", bias="zero"),
    "tanh, from frequencies": runs(readout="tanh"),
    "linear, from zero": runs(bias="zero"),
    "linear, from frequencies": runs(),
}
for name, found in STARTS.items():
    if "tanh" in name:
        print(f"{name}: features beyond 0.99")
        for update in ("20", "200", "280"):
            shares = [run["saturated"][update] for run in found]
            print(f"    update {update:>3s}: {min(shares):.0%} to {max(shares):.0%}")

BY_RATE = {
    stored["card"]["learning rate"]: STARTS
}  # learning rate -> readout and bias -> runs
for run in stored["other_rates"]["rows"]:
    name = f"{run['readout']}, from {run['bias']}"
    BY_RATE.setdefault(run["lr"], {}).setdefault(name, []).append(run)
rows = []
for name, found in STARTS.items():
    reached = [span(BY_RATE[rate][name], "bleu", ".1f") for rate in sorted(BY_RATE)]
    rows.append([name, span(found, "loss", ".2f"), *reached])
heads = ("readout and bias", f"loss, rate {stored['card']['learning rate']}")
heads += tuple(f"BLEU, rate {rate}" for rate in sorted(BY_RATE))
note = (
    "lowest to highest of three seeds. BLEU at three learning rates; the other two by "
)
note += stored["other_rates"]["card"]["command"]
display(ResultTable(heads, rows, "Where the bias starts", note))

shown = [runs(readout="tanh", bias="zero"), runs(readout="tanh"), runs("before", True)]
for i, pair in enumerate(FIVE):
    print(pair.source)
    for name, found in zip(("tanh, zero", "tanh, freq.", "Bahdanau"), shown):
        said = found[0]["five"][i]
        print(f"    {name:12s} {said if len(said) <= 60 else said[:57] + '...'}")

# %% [markdown]
# - **The tanh that starts from zero stalls**, in all seeds: BLEU stays below 2, at half and at twice the rate as well. Its loss at the end is
#   {{ span(STARTS["tanh, from zero"], "loss", ".2f") }} (at the lower rate {{ span(BY_RATE[0.005]["tanh, from zero"], "loss", ".2f") }}, at the higher {{ span(BY_RATE[0.02]["tanh, from zero"], "loss", ".2f") }}),
#   against {{ f"{knows_frequencies:.2f}" }} for the frequencies alone. In the seed shown it begins four of the
#   five sentences with *le peintre est*, whatever they are about.
# - **The same tanh from log frequencies learns**: BLEU {{ span(STARTS["tanh, from frequencies"], "bleu", ".1f") }}.
# - **The linear readout learns from zero**, too; between its two starts no difference is seen in BLEU, though from frequencies its loss is lower at two of three rates, with ranges apart. It has a path that no tanh closes.

# %% [markdown]
# **Before you compare two scores or two orders, give both the same readout and the same start.** Otherwise the table
# compares readouts and starts, however many seeds it has. `fit(guess=True)` starts the output's bias at the log
# frequencies; the package's trainer does so by default. All translators behind the cards of later chapters started
# that way.
#
# <details><summary>How sure is this?</summary>
#
# Maxout has such a path, too, by its formula; it was not trained here.
#
# This is one size of model, one corpus, three learning rates and {{ stored["card"]["updates"] }} updates; above you saw one seed of the
# other order and one of a lower rate go flat as well. Much smaller steps, or many more of them, may help. Stuck is not
# dead: a small slope is not zero, and in the stalled trainings, but for those at twice the rate, features leave the ends again before the last update. And
# a large share of flat features after training does not by itself condemn a readout: of the tanh that starts from
# frequencies many features come to the ends as well, but late.
#
# </details>

# %% [markdown]
# ## The grid: what do the choices do?
#
# Now everything else can be held equal: the additive score, a linear readout (not Bahdanau's maxout or
# Luong's tanh), a bias from frequencies, and one learning rate. Two choices are left: who asks, and whether the
# recurrent step reads what attention gave. That makes four decoders, with three seeds of first weights each. One of
# them is in neither paper: it asks before the recurrent step and keeps the context out of it. Beside the four stands the decoder that ignores its context.
#
# ```{predict} the-grid
# ```

# %% tags=["hide-input", "hide-output", "hide-until-the-grid"]
DESIGNS = {
    "before, fed (Bahdanau)": ("before", True),
    "before, not fed": ("before", False),
    "after, fed (Luong, feeding)": ("after", True),
    "after, not fed (Luong)": ("after", False),
}
grid = {name: runs(*design) for name, design in DESIGNS.items()}
grid["ignores its context"] = runs(ignores=True)
higher = runs(fed=True) + runs("before", True) + runs("before", False)
nearest = f"{min(r['aer'] for r in higher) - max(r['aer'] for r in runs()):.3f}"
on_test = {name: [run["test"] for run in found] for name, found in grid.items()}
rows = [
    [
        name,
        span(found, "loss", ".2f"),
        span(found, "bleu", ".1f"),
        span(on_test[name], "bleu", ".1f"),
        span(found, "aer", ".2f"),
    ]
    for name, found in grid.items()
]
yard = stored["yardsticks"]["valid"]
rows += [[rule, "", "", "", f"{yard[rule]:.2f}"] for rule in ("diagonal", "at random")]
heads = ("asks, recurrent step", "loss", "BLEU", "BLEU, test", "AER")
ResultTable(heads, rows, "Order and feeding", "lowest to highest of three seeds")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **Every decoder that uses its context is far ahead of the one that ignores it. Between the designs of the two
# papers no difference holds on validation and test sentences alike.** The design of neither paper, which asks early
# and keeps the context out of the recurrent step, is behind all three.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# BLEU and AER are measured on validation sentences, except in the column *BLEU, test*. There is
# one learning rate, 0.01. (In chapter 4's longer trainings it was the best of four for this score, in Luong's decoder without feeding.)
#
# - **The context counts.** Without it BLEU is {{ span(runs(ignores=True),"bleu",".1f") }}; each seed of each other decoder is above.
# - **The order, with feeding.** Bahdanau's decoder, which asks before the recurrent step, has {{ span(runs("before",True),"bleu",".1f") }};
#   Luong's with feeding, which asks after it, {{ span(runs(fed=True),"bleu",".1f") }}. The ranges overlap, with states
#   of 64 numbers, 282 updates and this one rate.
# - **Feeding, asking after it.** Luong's decoder without feeding has {{ span(runs(),"bleu",".1f") }}. That is ahead of
#   both, with ranges apart (from Luong's with feeding by less than 0.1). But on the test sentences all three overlap. Three
#   seeds and a few hundred sentences do not settle it.
# - **The design of neither paper** has {{ span(runs("before",False),"bleu",".1f") }}: each seed is below each seed of the other three. So at this rate, which was chosen for Luong's decoder without feeding, the two choices act
#   together: of those that ask before, the fed one is better. It also has more weights at work, like each decoder that is fed. Another reason may be
#   that the context comes from a state that has not read the last word, and, if nothing is fed, no later state reads that context.
#
# </details>

# %% [markdown]
# <details><summary>And the links</summary>
#
# **Links no better than the diagonal's do not mean that a context is useless.** Here are the links of
# [chapter 3](03_additive.ipynb). Their alignment error rate, AER, is {{ span(runs(),"aer",".2f") }} in Luong's order without feeding, {{ span(runs(fed=True),"aer",".2f") }} with it, {{ span(runs("before",True),"aer",".2f") }} in Bahdanau's order, and {{ span(runs("before",False),"aer",".2f") }} there without feeding: each seed of the first is below each seed of the others, by {{ nearest }} or more. The two that ask early have links
# little better than the diagonal's, {{ f"{yard['diagonal']:.2f}" }}, which reads no word.
#
# The start can move this number as well. With a tanh readout Luong's order without feeding has {{ span(runs(readout="tanh"),"aer",".2f") }}, and from a zero bias {{ span(runs(readout="tanh", bias="zero"),"aer",".2f") }}. With
# the linear readout and a zero bias it has {{ span(runs(bias="zero"),"aer",".2f") }}. (The first and the last overlap with the linear readout's from frequencies.) Why, this table cannot say.
#
# </details>

# %% [markdown]
# <details><summary>And the decoder that ignores its context</summary>
#
# The row of the decoder that ignores its context deserves a second look. Its loss falls, its words are
# French, and it has a map for each sentence. It translates through $s_0$ alone; the model of [chapter
# 1](01_bottleneck.ipynb) also reads $c$ at every step. Its loss, {{ span(runs(ignores=True),"loss",".2f") }}, shows the fault only beside the other decoders' losses; the values probe shows it by itself, in one line.
#
# </details>
#
# ## Where the step begins
#
# **The bridge.** The first state has to come from the encoder, which may have another size, another number
# of layers, and two directions. For each layer of the decoder, the package makes it from the corresponding encoder
# layer,
#
# $$ s_0 = \tanh\big(W\,\bar h + b\big), \qquad \bar h = [\overrightarrow h_{T_s}; \overleftarrow h_1] $$ (eq-bridge)
#
# with the forward state at the last real word and the backward state at the first. Each layer has a matrix
# of its own. An LSTM, another recurrent unit, keeps a second vector, its *memory cell*. The cell has a bridge matrix
# of its own, without the tanh, since a cell has no bounds.
#
# `nn.GRU` returns those states in `hidden`, and `hidden[-1]` alone is the *backward half*:

# %%
model = models["Luong"]
encoder, bridge = model.encoder, model.decoder.bridge
encoded = encoder(source, lengths)
_, hidden = encoder.rnn(encoder.embedding(source))
both = torch.cat([hidden[-2], hidden[-1]], -1)
torch.testing.assert_close(encoded.summary[:, -1], both)
print("hidden", tuple(hidden.shape), " summary", tuple(encoded.summary.shape))
print("s_0   ", tuple(bridge(encoded.summary).outputs[-1].shape))

# %% [markdown]
# **The shift.** The decoder reads `<bos>` and the target without its end, and has to say all of the target,
# whose last token $y_{T_t}$ is `<eos>`:
#
# $$
# \begin{aligned}
# \text{read:}\quad & \text{<bos>},\; y_1,\; \dots,\; y_{T_t - 1} \\
# \text{say:}\quad & y_1,\; y_2,\; \dots,\; y_{T_t}
# \end{aligned}
# $$ (eq-label-shift)
#
# Forget the shift, and each step reads the word it has to say. Then the loss falls to nearly zero: the
# model copies. It has learned nothing that it can use when it writes by itself. For *le chat dort* the
# pairs are `<bos>` → *le*, *le* → *chat*, *chat* → *dort*, *dort* → `<eos>`.
#
# ### The loss, and one step of training
#
# Each step reads the true words (*teacher forcing*), and the loss is the mean over real tokens:
#
# $$
# L = -\frac{\sum_{b,t} m_{bt}\, \log p(y_{bt} \mid y_{b,<t}, x_b)}{\sum_{b,t} m_{bt}}
# $$ (eq-teacher-forced-loss)
#
# where $m_{bt}$ is 1 at a real token of sentence $b$ and 0 at padding. Two averages are often confused
# with it: the mean over all positions, which counts pads, and the mean of the batches' means, which counts
# a batch of ten tokens as much as one of two hundred. Before the update the gradient's length is clipped
# ({eq}`eq-clip-by-norm`), because a recurrent network now and then has a gradient that is far too long. In the
# code, `ignore_index=0` leaves the pads out.

# %%
torch.manual_seed(0)
small = build_model(ModelConfig("luong", dropout=0.0), *map(len, vocabularies))
batch = batches.take([*range(7)])
logits, _ = small(batch.source, batch.lengths, batch.inputs)
loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=0)
loss.backward()
length = nn.utils.clip_grad_norm_(small.parameters(), max_norm=1.0)
print(f"loss {loss:.3f}, {batch.targets.count_nonzero()} words; gradient {length:.2f}")

# %% [markdown]
# A fresh model is about as unsure as can be: {{ f"{loss.item():.3f}" }} is close to the logarithm of the number of words,
# {{ f"{torch.tensor(len(vocabularies.target)).log():.3f}" }}.
#
# In translation there is no true word to read: each step reads its own last choice, and decoding is
# **autoregressive**. Report both: the
# teacher-forced loss (no dropout, no sampling), and a measure of the whole sentences that the model writes by
# itself, such as BLEU. A cross-entropy between the *free* output and the reference, place by place, is
# neither. With one extra word at the front, nearly every place counts as wrong.
#
# ### Padding: a mask is not enough
#
# An attention mask keeps pads out of the context. But a GRU that is not *packed* reads the pads. The backward one
# starts on them, so all its states at real words have read them. The forward one goes on over them, so its last state,
# which the bridge reads, has too. Packing hands the network only the real steps. The mask
# below is right in both cases:


# %%
def unpacked(encoder, source, lengths):
    mask = torch.arange(source.shape[1]) < lengths[:, None]
    states, final = encoder.rnn(encoder.embedding(source))
    return Encoded(states, torch.cat([final[-2], final[-1]], -1)[:, None], mask)


torch.manual_seed(0)
encoder.embedding.weight.data[0] = torch.randn(5)  # pads have a vector, too
inputs, off = torch.tensor([[1, 4, 5]]), {}
for name, read in (("packed", encoder), ("unpacked", partial(unpacked, encoder))):
    wider = [F.pad(source, (0, n)) for n in (0, 5, 45)]
    logits = [model.decoder(inputs, read(x, lengths))[0] for x in wider]
    off[name] = [(logits[0] - x).abs().max().item() for x in logits[1:]]
    print(f"{name:9s} 5 pads: {off[name][0]:.3f}   45 pads: {off[name][1]:.3f}")

# %% [markdown]
# So a test needs two parts: more pads, *and* other content at the pads. The
# decoder needs no packing. It reads from left to right, so pads at the end touch nothing before them, and
# the loss skips them.
#
# <details><summary>Two traps of PyTorch's packing</summary>
#
# `pad_packed_sequence` gives
# the states back only as wide as the longest sentence of the batch, and they no longer fit a wider mask. Pass
# `total_length`. And pass `enforce_sorted=False` to `pack_padded_sequence`, unless each batch is sorted from the
# longest sentence to the shortest.
#
# </details>
#
# ### All steps at once
#
# In Luong's order without feeding, no state waits for attention. In training the words are known. So the
# recurrence runs over the whole sentence first, and all states ask at once, in one matrix product. The
# package does so whenever it may. Nothing changes but the time: the hidden cell after the ten lines compared both.
#
# <details><summary>How much time?</summary>
#
# In Luong's order the trainings of the grid took {{ span(runs(), "seconds", ".1f") }} processor seconds
# without feeding and {{ span(runs(fed=True), "seconds", ".1f") }} with it. The decoder that ignores its context, which
# waits for nothing either, took {{ span(runs(ignores=True), "seconds", ".1f") }}. The machine had other work as well, so this
# is a hint at most.
#
# </details>

# %% [markdown]
# ## The two papers side by side
#
# | part | Bahdanau et al. (2015) | Luong et al. (2015) | in the package |
# |---|---|---|---|
# | encoder | bidirectional, one layer (3.2) | four stacked layers, one direction (4.1), source reversed (4.2) | `bidirectional`, `layers` |
# | unit | gated unit of Cho et al. (A.1) | LSTM | `cell`; its GRU is PyTorch's, another formula |
# | first state | $\tanh(W_s \overleftarrow h_1)$ (A.2.2) | the encoder's last states (figure 1) | `Bridge`: both directions, and a bias |
# | asks | $s_{t-1}$ (3.1) | $s_t$, of the top layer (3) | `architecture` |
# | score | additive (A.1.2) | dot, general, concat, location (3.1) | `score`, any of them in both orders |
# | recurrent step reads | $E y_{t-1}$ and $c_t$, in all gates (A.2.2) | $E y_{t-1}$, with feeding $\tilde s_{t-1}$ (3.3) | `input_feeding` |
# | readout | maxout of $s_{t-1}$, $E y_{t-1}$, $c_t$ (A.2.2) | tanh of $c_t$, $s_t$ (3) | `readout`; maxout of $s_t$ |
# | at once in training | no step | all steps without feeding | wherever it can be |
#
# Which is better? The papers do not say. Luong et al. list a translator of Bahdanau's kind beside theirs (their table 1), but its depth and unit differ, too.
# The grid above is an answer for one small corpus. [The capstone](20_study.ipynb) also varies the score and the readout; its eight models have nearly equal numbers of weights.

# %% [markdown]
# ## Where it breaks
#
# **A "Luong" that asks too early.** Programs taught under that name attend with $s_{t-1}$ and feed the context
# to the recurrent step. That is Bahdanau's order with a product for a score. The token probe convicts them: row 4 stays.
#
# **An empty first row.** A program that makes room for `<bos>` among the outputs returns a first row of
# zeros. Its map is shifted by one. Check that all rows sum to 1.
#
# **Sizes that happen to fit.** A decoder that takes `hidden[-1]` of a bidirectional encoder runs, with half
# a summary. A program that
# checks for `"lstm"` and takes a GRU for anything else builds a GRU when it is given `"LSTM"`; the package's `ModelConfig`
# refuses.

# %% [markdown]
# **A training without its inference.** The loop that translates was written for another model than the one
# that was trained: other arguments, no mask. Here both call one
# `step`, and a test says that step by step equals all at once.
#
# **Folklore.** "Luong is faster." Without feeding, in training, it can be, since its steps need not wait. In translation each step waits for the last word in both orders. "Luong is
# for large data": we found no measurement of it.

# %% [markdown]
# ## Questions that readers ask
#
# <details><summary>How is the context combined with the decoder’s state?</summary>
#
# In two places, independent of each other: in the *recurrent step*, as an input beside the last word, and in the
# *readout*, beside the new state. Bahdanau et al. use both. Luong et al. use the readout, and with feeding,
# through it, the next recurrent step.
#
# </details>
#
# <details><summary>What is input feeding: the last context, or the last attentional vector?</summary>
#
# The attentional vector, $\tilde s_{t-1}$ ({eq}`eq-input-feeding`). Feeding the last context alone is a
# third design, between the two. The values probe shows both as "from step 2".
#
# </details>
#
# <details><summary>A decoder of several layers: which one asks?</summary>
#
# The top one, in Luong et al. and in the package. Google's system of 2016 {cite:p}`wu2016` asked with the
# lowest and gave the context to the layers above.
#
# </details>
#
# <details><summary>Why tanh(fc(cat(hidden[-2], hidden[-1]))) for the first state?</summary>
#
# It is {eq}`eq-bridge`: the last states of the top layer's two directions, brought to the decoder's size and
# to the range of a GRU's state.
#
# </details>
#
# <details><summary>Why is the decoder not packed? Does packing change results, or only speed?</summary>
#
# In the encoder it changes results, above all for a backward direction. A decoder runs one way, pads stand at the
# end, and the loss skips them. Packing would save work and change nothing that counts.
#
# </details>
#
# <details><summary>Why does a framework’s “Bahdanau” wrapper behave like Luong’s decoder?</summary>
#
# There the name chooses the score. The order belongs to the wrapper. Run the probes.
#
# </details>

# %% [markdown]
# ## Check yourself
#
# ```{self-check} which-design
# ```
#
# ```{self-check} loss-goes-to-zero
# ```
#
# ```{self-check} cells-from-nowhere
# ```
#
# ```{self-check} at-once
# ```
#
# ```{self-check} flat-readout
# ```

# ## What you now know
#
# - A decoder's step leaves two choices besides the score: who asks, and what the recurrent step reads. The papers
#   are two points of that grid.
# - Two probes show which state asks and whether anything is fed: change a token, and change the values under the same keys.
# - With the true words given and no feeding, Luong's states never hear of attention: in training all steps
#   can be computed at once.
# - A tanh readout that starts without the words' frequencies can saturate in twenty updates. Compare orders or
#   scores only with one readout and one start.
# - The first state, the shift, the mean over real tokens and packing can each spoil a decoder, whatever its score.
#
# **Now you.** [The exercise](../exercises/06_decoder.ipynb) has you write the bridge, the shift and both steps, and
# name the design of black boxes.
#
# **Next.** How a translator is trained, and how it searches for a sentence.
#
# ## Sources
#
# - The order that asks first, maxout, the first state: {cite:t}`bahdanau2015`, section 3.1 and appendix A.
# - The order whose recurrent step comes first, the attentional vector, input feeding: {cite:t}`luong2015`, sections 3
#   and 3.3. Maxout: {cite:t}`goodfellow2013`.
