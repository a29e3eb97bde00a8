# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [F-21, F-33, M-18, M-24, M-25, T-09, T-10, V-07, D-03, D-12, P-01, P-02, P-03, P-04, P-05, P-07, P-09, P-10, P-11]
# ---

# %% [markdown]
# # 18. Capstone: build a translator
#
# You build a translator from raw sentence pairs. The model itself comes from the package; [Two whole models](whole_models.ipynb) writes out such a model from the first line to the last. Five parts are the lesson, and those are written out here, a few lines each: a batch, the loss, the training step, greedy search, and a test that
# tells a sound model from a broken one. The first four are checked against the package's own.
#
# **You need** [additive attention](03_additive.ipynb) and [training and searching](07_training.ipynb). **It
# covers** data, pieces of words, batches, loss, update, the run folder, curves, and the doctor. The next
# two pages [judge](19_judge.ipynb) such a translator and [study](20_study.ipynb) what makes one good.
#
# One flag decides on corpus, model and device. `FULL = False`, or quick mode, takes the toy corpus. A
# grammar generates it, so nothing has to be downloaded. `FULL = True` takes Multi30k, photo captions in
# German and English, and a larger model, and uses a GPU if there is one: on a data-centre GPU the notebook took three minutes ([measured](benchmarks.md)). Without a GPU it runs for hours. In full mode the folder `runs` keeps the training. The
# text describes quick mode.

# %% tags=["install", "hide-cell"]
INSTALL

# %%
FULL = False

# %% tags=["hide-input"]
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from seqattn.data import (
    FIVE,
    Batches,
    CorpusConfig,
    Vocabularies,
    encode_pairs,
    read_split,
    tokenize,
)
from seqattn.decoding import greedy
from seqattn.evaluation import beam_tree, copy_nearest, one_word_away
from seqattn.metrics import alignment_error_rate, corpus_bleu
from seqattn.models import ModelConfig, build_model
from seqattn.plots import BLUE, GREY, ORANGE, ResultTable, use_style
from seqattn.specials import BOS, EOS, PAD
from seqattn.training import TrainingConfig, fit, new_run, read_preset
from seqattn.training.runtime import fastest_threads
from seqattn.translator import Translator
from seqattn.widgets import BeamTree

use_style()
torch.set_num_threads(1)
torch.set_flush_denormal(True)
DEVICE = "cuda" if FULL and torch.cuda.is_available() else "cpu"
SCRATCH = tempfile.TemporaryDirectory()  # deleted when the notebook ends
WORK = Path("runs/capstone").absolute() if FULL else Path(SCRATCH.name)

# %% [markdown]
# ## A question you can see
#
# Here is the whole path in miniature: 400 sentence pairs, 100 updates, a few seconds. The resulting
# translator has seen hardly anything. Before you look: what will it write for *the cat sat on the mat*?
# Noise, silence, or something in between?
#
# ```{predict} what-it-writes
# ```

# %% tags=["hide-output", "hide-until-what-it-writes", "nbval-ignore-output"]
small = read_split(CorpusConfig(pairs=400), "train")
words = Vocabularies.learn(small, ("en", "fr"))
torch.manual_seed(0)
tiny = build_model(ModelConfig(d_embed=32, d_hidden=32), *map(len, words))
fit(tiny, Batches(encode_pairs(small, words), tokens=256), steps=100, lr=0.02, warmup=5)
for found in Translator(tiny, words).translate(
    ["the cat sat on the mat", "will paul fall?"], beam=1
):
    print(f"{found.source}  ->  {found.text}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Something in between: the words are French, for its vocabulary holds no others, and a question begins like a question. The rest is not grammatical, and hardly any of it
# comes from *your* sentence. (This is one training, and two sentences.)
#
# </details>
#
# ## Data
#
# A corpus is a list of sentence pairs in three parts. The model learns from `train`. Whatever *you* choose
# or inspect, you choose or inspect on `valid`. The last part, `test`, gives the final scores and decides
# nothing. This page leaves it alone. (In quick mode the first of this book's five sentences is a test sentence, shown as an example.) How new are the validation sentences? Count those that differ from
# some training sentence in *one word*. And let the laziest translator set a floor: it finds the training
# sentence of the same length that shares the most words in the same places, and copies its translation.

# %%
quick = CorpusConfig("toy", "en", "fr", pairs=20_000)
corpus = CorpusConfig("multi30k", "de", "en") if FULL else quick
train, valid = (read_split(corpus, split) for split in ("train", "valid"))
print(len(train), len(valid))
for pair in valid[:3]:
    print(f"{pair.source}  ->  {pair.target}")


# %% tags=["hide-input"]
near = sum(one_word_away(valid, train))
copied = corpus_bleu(copy_nearest(valid, train), [p.target for p in valid]).score
print(f"one word away: {near}; copying the nearest: validation BLEU {copied:.1f}")

# %% [markdown]
# {{ near }} of {{ len(valid) }} validation sentences are one word away from a training sentence. The
# copyist reaches {{ f"{copied:.1f}" }} BLEU: a model that scores less has learned less than a lookup.
#
# ### Words, or pieces of words
#
# A model with a vocabulary of whole words cannot write a word that is missing from it. Byte-pair encoding
# {cite:p}`sennrich2016` starts from single characters (here, after {cite:t}`radford2019`, from bytes) and
# repeatedly merges the most frequent pair of neighbours. Frequent words tend to become one piece, rare words
# several. What starts from bytes can spell every word. Learn vocabularies from the *training* sentences alone. Learning
# them from all sentences lets the test set in by the back door.

# %%
pieces = Vocabularies.learn(train, corpus.languages, subwords=8_000 if FULL else 600)
whole = Vocabularies.learn(train, corpus.languages)
RARE = "der Skateboardfahrer springt" if FULL else "the skateboarder sat on the mat"
print("words  ", *whole.source.tokens(whole.source.encode(RARE)))
print("pieces ", *pieces.source.tokens(pieces.source.encode(RARE)))
assert pieces.source.decode(pieces.source.encode(RARE)) == RARE
SUBWORDS = 8_000 if FULL else 0
vocabularies = pieces if FULL else whole

# %% [markdown]
# (▁ is the space before a word.) With whole words, the sentence loses its subject before any model sees it.
# With pieces, the subject arrives in fragments, which join again. On real text, pieces are the usual choice. (A name can
# also be copied from the
# source: {class}`~seqattn.models.PointerGenerator`.) The toy corpus has few words, and its gold links
# refer to
# whole words, so there we keep them. Either way the vocabulary belongs *to the model*, and is stored with its
# weights. With a different vocabulary the ids stand for other words, and the output makes no sense.
#
# ## A batch, by hand
#
# The source sentences of a batch become one rectangle of ids, in which short sentences are padded with id
# 0. The targets, each from `<bos>` to `<eos>`, become two rectangles by the **label shift**: the decoder
# *reads* all but the last token and has to *produce* all but `<bos>`.
#
# Padding is wasted work, so sentences of similar length go together (**bucketing**). They are sorted by
# target length first and source length second. The size of a batch is measured in tokens, so it holds many
# short sentences or few long ones. The encoder also **packs** its batch: it hands PyTorch the true lengths,
# so that no state is computed from padding. The next cell compares the padding left among the targets
# with that of random batches. (Among the sources, which are sorted second, more is left: their width is also rounded up to a multiple of four.)

# %%
examples = encode_pairs(
    train, vocabularies
)  # ids of source and target, <eos> at the end


def pad(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def make_batch(chosen):
    sources, targets = map(list, zip(*chosen))
    lengths = torch.tensor([len(source) for source in sources])
    return pad(sources), lengths, pad([[BOS, *t[:-1]] for t in targets]), pad(targets)


# %%
batches = Batches(examples, tokens=1024 if FULL else 256, seed=1)
bucketed = list(batches.epoch(0))
batch = bucketed[0]
source, lengths, reads, produces = make_batch([examples[row] for row in batch.rows])
for mine, theirs in ((lengths, batch.lengths), (reads, batch.inputs)):
    assert torch.equal(mine, theirs)
assert torch.equal(produces, batch.targets)
assert torch.equal(source, batch.source[:, : source.shape[1]])  # the package rounds up
assert torch.equal(reads[:, 1:], produces[:, :-1].where(reads[:, 1:] != PAD, PAD))
print("reads    ", *vocabularies.target.tokens(reads[0].tolist()))
print("produces ", *vocabularies.target.tokens(produces[0].tolist()))


# %%
def padding(found):  # share of the targets
    return 1 - sum(b.tokens for b in found) / sum(b.targets.numel() for b in found)


generator = torch.Generator().manual_seed(0)
rows = torch.randperm(len(examples), generator=generator).tolist()
size = round(len(examples) / len(bucketed))
at_random = [batches.take(rows[i : i + size]) for i in range(0, len(rows), size)]
print(f"padding: {padding(bucketed):.1%} by length, {padding(at_random):.1%} at random")
assert padding(bucketed) < 0.05 < 0.15 < padding(at_random)

# %% [markdown]
# ## The loss, by hand
#
# The model gives a distribution $p_t$ over the vocabulary at each step. **Cross-entropy** is the mean of
# $-\log p_t(y_t)$ over the *real* tokens of a batch: padding is left out of both the sum and the count.
# **Label smoothing** with $\varepsilon$ {cite:p}`szegedy2016` mixes the one right answer with a uniform
# distribution over all $|V|$ words:
#
# $$
# \begin{aligned}
# L &= -\frac{1}{N}\sum_{t \,\text{real}} \ell_t \\
# \ell_t &= (1-\varepsilon)\log p_t(y_t) + \frac{\varepsilon}{|V|}\sum_{w} \log p_t(w)
# \end{aligned}
# $$ (eq-smoothed-loss)
#
# where $N$ is the number of real tokens. Take three words with $p = (0.25, 0.5, 0.25)$, the second of them
# right. Without smoothing the loss is $-\ln 0.5 = 0.693$. With $\varepsilon = 0.3$ it is
# $0.7\cdot 0.693$ $+\ 0.1\cdot(0.693 + 1.386 + 1.386)$ $= 0.832$. **Perplexity** is $e^{L}$ with
# $\varepsilon = 0$: here $e^{0.693} = 2$, as if the model had to choose between two equally likely words.
#
# A fresh model gives each token nearly the same probability, so its loss is near $\ln |V|$. The first
# thing that it would learn is that some tokens are more frequent than others. That needs no attention, so
# the page's main training is given it from the start: {func}`~seqattn.models.guess_frequencies` sets the bias of the output
# layer to the logarithm of each token's frequency. The loss then starts near the entropy of these
# frequencies. [Chapter 6](06_decoder.ipynb) trains with that start and without.


# %%
def loss_of(logits, targets, smoothing=0.0):
    logp = logits.log_softmax(-1)
    right = logp.gather(-1, targets[..., None])[..., 0]
    each = -((1 - smoothing) * right + smoothing * logp.mean(-1))
    real = targets != PAD
    return each[real].sum() / real.sum()


p = torch.tensor([[[0.25, 0.5, 0.25], [0.1, 0.1, 0.8]]])  # one sentence, two steps
targets = torch.tensor([[1, PAD]])  # the second step is padding
assert abs(loss_of(p.log(), targets) - 0.693) < 0.0005
assert abs(loss_of(p.log(), targets, smoothing=0.3) - 0.832) < 0.0005

# %% tags=["nbval-ignore-output"]
from seqattn.models import guess_frequencies
from seqattn.training import cross_entropy

CONFIG = ModelConfig("bahdanau", d_embed=64, d_hidden=96, dropout=0.1)
torch.manual_seed(1)
model = build_model(CONFIG, *map(len, vocabularies))
for start in ("uniform", "frequencies"):
    logits = model(batch.source, batch.lengths, batch.inputs).logits
    mine, theirs = loss_of(logits, batch.targets), cross_entropy(logits, batch.targets)
    torch.testing.assert_close(mine, theirs.total / theirs.tokens)
    print(f"{start:11s} {mine.item():.2f} nats per token")
    guess_frequencies(model.decoder.vocabulary, [target for _, target in examples])

# %% [markdown]
# ## The training step, by hand
#
# At each step the decoder is *told* the true previous word, whatever it would have written (**teacher
# forcing**). The optimiser, **AdamW**, takes steps along a running mean of the gradients, divides each parameter's step by a running estimate of the size of
# its gradient, and shrinks matrices a little at each update (weight decay). The learning rate is its highest value times
# two factors. The first rises in a straight line to 1 over the first updates (the **warm-up**), while the estimates come from
# few gradients. The second falls from 1 to 0 along a cosine over the whole training. Before each update the gradient is clipped to a length of at most 1. With
# $g$ for the gradient of all parameters together:
#
# $$ g \leftarrow g \cdot \min\!\Big(1, \frac{1}{\lVert g \rVert}\Big) $$ (eq-clipping)
#
# Clipping keeps the direction. In plain gradient descent it stops one odd batch from throwing the model back {cite:p}`pascanu2013`.
# AdamW bounds its steps anyway; [chapter 7](07_training.ipynb) saw no difference without clipping.
# Take five such steps, then the same five with the package. Are the weights the same?


# %%
def training_step(model, optimizer, batch, lr):
    for group in optimizer.param_groups:
        group["lr"] = lr
    logits = model(batch.source, batch.lengths, batch.inputs).logits
    loss = loss_of(logits, batch.targets)
    optimizer.zero_grad()
    loss.backward()
    parts = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.stack([part.norm() for part in parts]).norm()
    for part in parts:
        part.mul_(min(1.0, 1.0 / norm.item()))
    optimizer.step()
    return loss.item()


# %% tags=["nbval-ignore-output"]
from copy import deepcopy

from seqattn.training import make_optimizer, update

twin = deepcopy(model)
ours, theirs = make_optimizer(model), make_optimizer(twin)
for number, batch in enumerate(bucketed[:5]):
    torch.manual_seed(number)  # the same dropout for both
    loss = training_step(model, ours, batch, lr=0.001)
    torch.manual_seed(number)
    update(twin, theirs, batch, lr=0.001)
for a, b in zip(model.parameters(), twin.parameters(), strict=True):
    torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)
print(f"loss {loss:.2f} on the fifth batch; the weights agree after five updates")

# %% [markdown]
# ## A run is a folder
#
# From here on the package's trainer makes the updates. It begins with a fresh model and takes the step above, with the
# penalty of [chapter 3](03_additive.ipynb) in the loss, a schedule, validations and files. `config.json` records what was asked for, `metrics.jsonl`
# what was measured, one line each time. `best` and `last` hold weights and vocabularies, the files in `kept` weights alone. `last` also holds
# the optimiser, the state of the random numbers and the position in the data. So where the number of updates or epochs is fixed, an interrupted run
# that `resumed_run` continues ends with the same weights, bit for bit, on the same processor with as many threads. On a GPU, sums may be
# taken in a different order, so a seed repeats a training only approximately. In full mode,
# the next cell takes up what it began before it was cut off. But if you changed the settings, it deletes that run and begins anew: name another folder to keep both.
#
# `first_look=50` also validates after 50, 100, 200, … updates of the
# first epoch, to show how learning begins. At the end, `average=8` averages the weights from the
# validations with the best BLEU, eight at most. The mean is kept, as `average`, unless BLEU and perplexity both prefer the
# best single one: is it in the list below? For the mean, the run saves the weights of those validations in `kept`, and a figure below draws a map from each.

# %% tags=["nbval-ignore-output"]
TRAINING = TrainingConfig(steps=1_000, batch_tokens=512, lr=0.01, warmup=100,
                          smoothing=0.0, doubly_stochastic_penalty=0.1,
                          validate_every=200, first_look=50, average=8)  # fmt: skip
if FULL:
    preset = read_preset("bahdanau")
    CONFIG, TRAINING = preset.model, replace(preset.training, average=8)
how = {"subwords": SUBWORDS, "device": DEVICE, "overwrite": True, "quiet": True}
how["go_on"] = FULL  # where it was cut off, if you run this again
trainer = new_run(WORK / "main", corpus, model=CONFIG, training=TRAINING, **how)
if FULL and DEVICE == "cpu":
    torch.set_num_threads(fastest_threads(trainer.model, trainer.batches))
outcome = trainer.run()
run = trainer.run_folder
print(f"{outcome.reason} at update {outcome.state.step:,}")
print(sorted(path.name for path in run.path.iterdir()))

# %% [markdown]
# The same steps exist as commands. But `seqattn train` ends by scoring the test pairs, so make no choice by that number. Ctrl-C saves the run, and `--resume` continues it. `accelerate launch`
# uses several GPUs. Where that is safe, `--precision bf16` computes products in **bfloat16**, a 16-bit
# number with the range of a 32-bit one and fewer digits; weights and optimiser stay in 32 bits.
#
# ```bash
# seqattn train --data mine.tsv --pair en-fr --preset toy --run mine
# seqattn train --resume --run mine
# accelerate launch -m seqattn train --data multi30k --preset luong
# seqattn doctor --run mine
# ```
#
# The next figure plots the log: the loss in training; the BLEU of what the model writes by itself; how spread out its attention is while it writes by itself, as a share of the largest possible entropy {eq}`eq-entropy`; and the
# alignment error rate of its attention ({eq}`eq-aer`), which counts wrong links and missing ones, while it is made to write the reference. Links are read from rows and columns together, as on the [next page](19_judge.ipynb). The dashed line is a diagonal: it links each target word with the source word at the same fraction of the sentence. The model was shown no links, but its settings include the penalty of [chapter 3](03_additive.ipynb), which asks that each source word
# be read about once.
#
# ```{predict} sharp-or-soft
# ```

# %% tags=["hide-input", "hide-output", "hide-until-sharp-or-soft", "nbval-ignore-output"] mystnb={"image": {"alt": "Four panels over the updates of one training. The loss goes down steeply, then slowly. Validation BLEU stays near zero at first and then goes up. The normalised entropy of attention starts near 1 and goes down, and so does the alignment error, which starts above that of the diagonal and ends below it."}}
gold = [pair.links for pair in valid]
if not FULL:
    sides = [
        [len(tokenize(t, lang)) for t, lang in zip(p[:2], ("en", "fr"))] for p in valid
    ]
    on_it = [{(int((j + 0.5) * S / T), j) for j in range(T)} for S, T in sides]
    diagonal = alignment_error_rate(on_it, gold, gold)
records = run.records()
told = [record for record in records if record["kind"] == "train"]
judged = [record for record in records if record["kind"] == "valid"]
figure, panels = plt.subplots(3 + (not FULL), sharex=True, figsize=(5.8, 7.4))
panels[0].plot([r["step"] for r in told], [r["loss"] for r in told], color=GREY)
panels[0].set(ylabel="loss (nats)", title="One training")
steps = [r["step"] for r in judged]
panels[1].plot(steps, [r["bleu"] for r in judged], "o-", color=BLUE)
panels[1].set(ylabel="BLEU", ylim=(0, 100))
shares = [r["attention"]["relative"] for r in judged]
panels[2].plot(steps, shares, "o-", color=ORANGE)
panels[2].set(ylabel="entropy (share)", ylim=(0, 1.05))
if not FULL:
    rates = [100 * r["aer"] for r in judged]
    panels[3].plot(steps, rates, "o-", color=ORANGE)
    panels[3].axhline(100 * diagonal, color=GREY, linestyle="--")
    panels[3].set(ylabel="AER (%)", ylim=(0, 100))
panels[-1].set_xlabel("updates")
figure.align_ylabels()
plt.show()
assert FULL or (
    rates[-1] < 100 * diagonal < rates[0]
    and judged[-1]["bleu"] > copied
    and shares[-1] < 0.8 < 0.9 < shares[0]
)
rows = [
    (
        "BLEU",
        *(f"{r['bleu']:.1f}" for r in (judged[0], judged[-1])),
        f"{copied:.1f}",
    ),
    ("entropy (share)", f"{shares[0]:.2f}", f"{shares[-1]:.2f}", "1.00"),
]
if not FULL:
    rows += [("AER", f"{rates[0]:.1f}%", f"{rates[-1]:.1f}%", f"{diagonal:.1%}")]
heads = (
    "validation",
    *(f"update {step:,}" for step in steps[:: len(steps) - 1]),
    "rule*",
)
note = "* BLEU of the copyist, entropy of equal weights, AER of the diagonal"
ResultTable(heads, rows, "The first and the last look", note)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# At the first look attention is nearly uniform. It gets sharper while the model
# learns. Meanwhile links appear: at the end the alignment error is below the diagonal's, and BLEU is above
# the copyist's. This is one training. Falling entropy alone does not prove quality. A model can be sharp
# and still translate badly; [chapter 20](20_study.ipynb) shows one.
#
# </details>
#
# ### Watch it happen
#
# The run kept the weights of its validations, but not those of the first look. Load them in turn, and force the model to write the same
# known translation each time. Choose a row and follow it: does it stop being flat early or late, and does it
# find its word at once?

# %% tags=["hide-input"]
from seqattn.training import average_weights
from seqattn.widgets import MapThroughTraining

watched, example, maps = Translator.load(run.path), valid[0], {}
for path in run.all_kept():
    watched.model.load_state_dict(average_weights([path]))
    maps[int(path.stem.split("-")[1])] = watched.force([example])[0]
first = next(iter(maps.values()))
MapThroughTraining(
    {step: found.weights for step, found in maps.items()},
    source=first.source_tokens,
    target=first.tokens,
    row=1,
)

# %% [markdown]
# ## Greedy search, by hand
#
# In use, nobody tells the decoder the true word. It reads its own. That changes more than one thing:
#
# | what | in training | in use |
# |---|---|---|
# | the decoder reads | the true words so far | its own words so far |
# | steps | all known: whatever needs no earlier step runs in parallel | one after the other |
# | length | the reference's | until `<eos>`, or a limit |
# | dropout, of features and, in some models, of weights | on | off |
# | what is measured | loss, perplexity | BLEU, chrF, exact match |
# | the weights that make the context | where weights are dropped, rows need not sum to 1 | rows sum to 1 (in local-p attention, to less): plot these |
#
# Every model that translates offers a search two methods: `begin` reads the sources, and `step` takes the last tokens and
# returns logits, weights and the next state. Greedy search takes the likeliest token each time. A sentence
# that has ended writes padding. Check your search against the package's, then let it translate the five
# sentences of this book. Words that it does not know it reads as `<unk>`. The figure follows the search: at
# a width of 1 it is greedy. Widen the beam: what does it find?


# %%
@torch.no_grad()
def search(model, source, lengths, limit=30):
    model.eval()
    state, memory = model.begin(source, lengths)
    last = torch.full((len(source),), BOS)
    ended, written = torch.zeros(len(source), dtype=torch.bool), []
    while len(written) < limit and not ended.all():
        logits, _, state = model.step(last, state, memory)[:3]
        logits[:, [PAD, BOS]] = float("-inf")  # not words
        last = logits.argmax(-1).masked_fill(ended, PAD)
        ended |= last == EOS
        written.append(last)
    return torch.stack(written, 1)


# %% tags=["nbval-ignore-output"]
translator = Translator.load(run.path)
asked = Batches(encode_pairs(valid, vocabularies), tokens=2048).take(range(40))
mine = search(translator.model, asked.source, asked.lengths)
package = greedy(translator.model, asked.source, asked.lengths, max_len=30)
assert torch.equal(mine, package.tokens[:, : mine.shape[1]])

five = valid[:5] if FULL else FIVE  # or sentences of your own
english = [pair.source for pair in five]
ids = [[*vocabularies.source.encode(text), EOS] for text in english]
found = search(translator.model, pad(ids), torch.tensor([len(row) for row in ids]))
french = [vocabularies.target.decode(row) for row in found.tolist()]
right = sum(text == pair.target for text, pair in zip(french, five))
rows = list(zip(english, french, [pair.target for pair in five]))
heads = ("sentence", "your translator", "reference")
tree = BeamTree(beam_tree(translator, english[0]), width=1, predict=False)
display(ResultTable(heads, rows, "Five sentences"), tree)

# %% [markdown]
# {{ right }} of {{ len(five) }} agree with the reference, after {{ f"{outcome.state.step:,}" }} updates.
#
# ## Before you trust a number: the doctor
#
# Scores can be good for the wrong reason, or bad for a silly one. Padding must change nothing, no step may
# read a later word, the source must matter, vocabularies must survive saving, and sentences must end. The first test, by hand: fill the padding with other words. Does any logit move? Then plant a bug: a
# model that takes every position for a real word. {func}`~seqattn.evaluation.examine` checks such points
# one after another. Most of them stand for a bug that is easy to make and hard to see.


# %%
@torch.no_grad()
def moved_by_pads(forward, batch):
    other = batch.source.masked_fill(batch.source == PAD, 7)
    one, two = (forward(s, batch.lengths, batch.inputs) for s in (batch.source, other))
    return (one.logits - two.logits).abs()[batch.targets != PAD].max().item()


sound = translator.model.forward


def forgetful(source, lengths, inputs):
    return sound(source, torch.full_like(lengths, source.shape[1]), inputs)


assert moved_by_pads(sound, asked) < 1e-4 < 0.1 < moved_by_pads(forgetful, asked)

# %% tags=["nbval-ignore-output"]
from seqattn.evaluation import examine

findings = examine(translator)
assert all(finding.sound for finding in findings)
print(*(finding.point for finding in findings), sep="\n")
translator.model.forward = forgetful
print("with the bug:", [f.point for f in examine(translator) if not f.sound])
translator.model.forward = sound

# %% [markdown]
# ## Where it breaks
#
# - **Loss against BLEU.** Teacher-forced loss judges the next word after a true beginning. A model that is
#   sure of the next *true* word may still drift on its own words {cite:p}`bengio2015`. Measure both.
# - **The test set in the vocabulary, or in any choice.**
# - **What is not reproducible.** Seeds fix the initial weights, dropout and the order of batches. Another
#   number of threads, another processor or a GPU adds in a different order, and training amplifies
#   differences in the last digits.
#
# Before you ship:
#
# | check | how |
# |---|---|
# | `<eos>` ends every target; the shift is by one; pads stay out of the loss | batch and loss by hand, as above |
# | special tokens in their places; translations end; no step reads ahead | `seqattn doctor` |
# | vocabulary from training text; it survives saving | your code; `seqattn doctor` |
# | padding masked in attention and packing | `seqattn doctor` |
# | teacher forcing in training, free running in evaluation; both measured | `metrics.jsonl`: perplexity and BLEU |
# | gradients clipped; loss finite | the update by hand, as above (`norm` in `metrics.jsonl` is the length *before* clipping); the run stops at NaN and at infinity |
# | greedy first, then a beam; maps inspected, wrong outputs first | [chapter 19](19_judge.ipynb) |
# | score with signature, several seeds, test set read last | [chapter 20](20_study.ipynb) |
#
# ## Check yourself
#
# ```{self-check} le-le-le
# ```
#
# ```{self-check} which-rectangle
# ```
#
# ```{self-check} short-of-pads
# ```

# %% [markdown]
# ## What you now know
#
# - A batch, the loss, the update and greedy search take a few lines each. On the batches tried here they agree with the package's.
# - With the run folder you can use a translator; with the folder and the corpus, repeat, resume and judge it.
# - In one training, attention was nearly uniform at the first look and sharper at the last.
# - A lookup sets the floor. A test with other words at the padding finds a model that takes pads for words.
#
# **Next.** Is it any good? [Judge it](19_judge.ipynb).
#
# ## Sources
#
# - The model: {cite:t}`bahdanau2015`. Subwords: {cite:t}`sennrich2016`, {cite:t}`radford2019`.
# - Label smoothing: {cite:t}`szegedy2016`. Clipping: {cite:t}`pascanu2013`.
# - Multi30k: {cite:t}`elliott2016`, {cite:t}`elliott2017`.
