# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 115
#     covers: [F-21, F-22, F-23, F-24, F-33, F-34, M-18, M-20, M-21, M-23, M-24, M-25, T-02, T-09, T-10, V-07, V-14, D-03, D-11, D-12, D-16, D-19, X-01, X-04, X-05, P-01, P-02, P-03, P-04, P-05, P-06, P-07, P-08, P-09, P-10, P-11, E-03]
# ---

# %% [markdown]
# # A translator you can trust
#
# In this chapter you build a translator from raw sentence pairs: data, subwords, batches, model,
# training, decoding, evaluation, analysis and use. At each step you look inside. By the end you know
# how good it is, where it fails, and what its attention does and does not tell you about that.
#
# **You need** [additive attention](03_additive.ipynb), about an hour and a half to read, and ten to
# thirty minutes of processor time to run it. **It covers** the whole path in a few lines of Python and as
# commands; alignment that emerges; four kinds of attention at one budget; long sentences; attention
# dropout; choices in decoding; and how to repeat all of it on real data.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# One flag decides what everything below runs on. `FULL = False` takes the toy corpus: French that a
# grammar wrote, so that nothing has to be downloaded and the true word alignments are known. `FULL = True`
# takes Multi30k, captions of photographs in German and English, and a GPU if there is one. The notebook
# then runs for hours on a GPU, for a day or more without one, and the folder `runs` keeps its trainings.
# The sentences between the cells describe quick mode.

# %%
FULL = False

# %% tags=["hide-input"]
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import matplotlib.pyplot as plt
import torch

import seqattn
from seqattn.data import Batches, CorpusConfig, Vocabularies, encode_pairs, read_split
from seqattn.evaluation import evaluate
from seqattn.metrics import corpus_bleu
from seqattn.models import ModelConfig, build_model
from seqattn.plots import BLUE, GREY, ORANGE, ResultTable, use_style
from seqattn.training import TrainingConfig, fit, new_run, read_preset
from seqattn.translator import Translator

use_style()
torch.set_num_threads(
    (os.cpu_count() or 1) if FULL else 1
)  # small models gain nothing from more
torch.set_flush_denormal(True)
DEVICE = "cuda" if FULL and torch.cuda.is_available() else "cpu"
SCRATCH = tempfile.TemporaryDirectory()  # deleted when the notebook ends
# Set SEQATTN_RUNS to a folder, and quick mode keeps its studies' trainings there, too.
QUICK = Path(os.environ.get("SEQATTN_RUNS", SCRATCH.name))
WORK = Path("runs/capstone").absolute() if FULL else QUICK
WORK.mkdir(parents=True, exist_ok=True)


def shell(command):
    """Run a `seqattn` command in the work folder, and print it with what it prints."""
    words = [sys.executable, "-m", *command.split()]
    found = subprocess.run(words, cwd=WORK, capture_output=True, text=True, check=False)
    print("$", command)
    text = found.stdout.strip() or found.stderr.strip()
    print(text.replace(str(Path(seqattn.__file__).parent), "seqattn"))
    assert found.returncode == 0, "the command failed; it says why above"


# %% [markdown]
# ## A question you can see
#
# Here is the whole path, made as small as possible: 400 sentence pairs, 100 updates, a few seconds. The
# translator that comes out has seen hardly anything. Before you look: what will it write for *the cat sat
# on the mat*? Noise, silence, or something in between?

# %% tags=["hide-output", "nbval-ignore-output"]
small = read_split(CorpusConfig(pairs=400), "train")
words = Vocabularies.learn(small, ("en", "fr"))
torch.manual_seed(0)
model = build_model(ModelConfig(d_embed=32, d_hidden=32), *map(len, words))
fit(
    model, Batches(encode_pairs(small, words), tokens=256), steps=100, lr=0.02, warmup=5
)
for found in Translator(model, words).translate(
    ["the cat sat on the mat", "will paul fall?"], beam=1
):
    print(f"{found.source}  ->  {found.text}")

# %% [markdown]
# Something in between: it has learned French words, how sentences begin, and that a question begins like a
# question. It has not found out what you said. A reader without English could not tell: the output looks
# French long before it means what *your* sentence means. To trust a translator you need numbers on
# sentences that it has not seen, a look at where it looks, and a list of checks. The rest of the chapter
# builds them.
#
# ## Data
#
# A corpus is a list of sentence pairs in three parts. The model learns from the first part, `train`.
# Whatever *you* choose or look into, you do on the second, `valid`: weights, thresholds, settings of the
# search, comparisons of models, single failures. The third, `test`, gives the final scores and decides
# nothing. On this page it is scored once, in [one table near the end](one-look-at-the-test-pairs). In
# the toy corpus the gold links between words come along.

# %%
quick = CorpusConfig("toy", "en", "fr", pairs=8_000)
corpus = CorpusConfig("multi30k", "de", "en") if FULL else quick
train, valid, test = (read_split(corpus, split) for split in ("train", "valid", "test"))
print(len(train), len(valid), len(test))
for pair in valid[:3]:
    print(f"{pair.source}  ->  {pair.target}")
assert not {pair.source for pair in train} & {pair.source for pair in test} or FULL

# %% [markdown]
# No test sentence is a training sentence. But how new is it? Count the held-out sentences that differ from
# some training sentence in *one word*. And let the laziest of translators set a floor: look for the training
# sentence of the same length that shares the most words in the same places, and copy its translation.


# %%
def holes(sentence):  # the sentence with each word left out in turn
    words = sentence.split()
    return {(*words[:i], "_", *words[i + 1 :]) for i in range(len(words))}


def alike(one, other):
    return sum(a == b for a, b in zip(one.source.split(), other.source.split()))


seen = set().union(*(holes(pair.source) for pair in train))
near = {name: [p for p in pairs if holes(p.source) & seen]
        for name, pairs in (("valid", valid), ("test", test))}  # fmt: skip
print({name: len(pairs) for name, pairs in near.items()})

# %% tags=["hide-input"]
by_words = {}
for pair in train:
    by_words.setdefault(len(pair.source.split()), []).append(pair)
nearest = [
    max(by_words.get(len(p.source.split()), train), key=lambda known: alike(known, p))
    for p in valid
]
copied = corpus_bleu([p.target for p in nearest], [p.target for p in valid]).score
print(f"copying the nearest training sentence: validation BLEU {copied:.1f}")

# %% [markdown]
# One word away from a training sentence are {{ len(near["valid"]) }} of {{ len(valid) }} validation
# sentences and {{ len(near["test"]) }} of {{ len(test) }} test sentences. The test table will give the
# score without them. The copyist reaches {{ f"{copied:.1f}" }} BLEU: a model below that has learned less
# than a lookup.
#
# ### Words, or pieces of words
#
# A vocabulary of whole words cannot write a word that it has not met. Byte-pair encoding
# {cite:p}`sennrich2016` starts from single characters (here, after {cite:t}`radford2019`, from bytes) and
# repeatedly joins the two neighbours that stand together most often. Frequent words become one piece,
# rare ones several, and nothing is unknown.
# Vocabularies are learned from the *training* sentences alone. Learning them from all sentences lets
# the test set in by the back door.

# %%
pieces = Vocabularies.learn(train, corpus.languages, subwords=8_000 if FULL else 600)
whole = Vocabularies.learn(train, corpus.languages)
RARE = (
    "der Skateboardfahrerverein springt" if FULL else "the skateboarder sat on the mat"
)
for sentence in (valid[0].source, RARE):
    ids = whole.source.encode(sentence)
    print("words  ", " ".join(whole.source.tokens(ids)))
    print("pieces ", " ".join(pieces.source.tokens(pieces.source.encode(sentence))))

# %% [markdown]
# (▁ is the space before a word.) With words, the second sentence loses its subject before any model
# has seen it. With pieces it arrives, if in fragments, and can be put together again to the last letter.
# Real text needs pieces. (A name that is best left as it is can also be copied from the source:
# {class}`~seqattn.models.PointerGenerator`.) The toy corpus has few words, and gold links that count words,
# so there we keep whole words. Either way the vocabulary belongs *to the model* and is stored inside every
# checkpoint. A model with another run's vocabulary writes words that have nothing to do with the source.

# %%
SUBWORDS = 8_000 if FULL else 0
vocabularies = pieces if FULL else whole
assert pieces.source.decode(pieces.source.encode(RARE)) == RARE
print([len(vocabulary) for vocabulary in vocabularies])

# %% [markdown]
# ## Batches
#
# The sentences of a batch become one rectangle of ids, and short ones are padded. Padding is work for
# nothing, so sentences of similar length go together (**bucketing**). The size of a batch is measured in
# tokens, not in sentences: many short ones or few long ones. The encoder also **packs** its batch: it hands
# PyTorch the true lengths, so that no state is computed from padding. Compare the share of padding with
# that of random batches, which hold as many sentences:


# %%
def padding(batches):  # of the sources, of the targets
    real = [sum(int(b.lengths.sum()) for b in batches), sum(b.tokens for b in batches)]
    room = [
        sum(b.source.numel() for b in batches),
        sum(b.targets.numel() for b in batches),
    ]
    return [1 - some / whole for some, whole in zip(real, room)]


examples = encode_pairs(train, vocabularies)
batches = Batches(examples, tokens=1024 if FULL else 256, seed=1)
bucketed = list(batches.epoch(0))
rows = torch.randperm(
    len(examples), generator=torch.Generator().manual_seed(0)
).tolist()
size = round(len(examples) / len(bucketed))
shuffled = [batches.take(rows[i : i + size]) for i in range(0, len(rows), size)]

# %%
for name, side in (("by length", padding(bucketed)), ("at random", padding(shuffled))):
    print(f"padding {name}: {side[0]:.1%} of the sources, {side[1]:.1%} of the targets")
assert padding(bucketed)[0] < padding(shuffled)[0]
assert padding(bucketed)[1] < 0.05 < 0.15 < padding(shuffled)[1]

# %% [markdown]
# Batches are sorted by the length of the target first, since the decoder does most of the work, and by the
# source second. One row of a batch shows the **label shift**. The decoder reads `<bos>` and all but the last
# token; it has to produce all but `<bos>`. Each token that it reads is the one it had to produce a step
# before:

# %%
batch = bucketed[0]
columns = vocabularies.target.tokens(batch.inputs[0].tolist())
wanted = vocabularies.target.tokens(batch.targets[0].tolist())
print("reads    ", " ".join(columns))
print("produces ", " ".join(wanted))
assert columns[1:] == wanted[:-1]

# %% [markdown]
# ## The loss, by hand
#
# The model gives a distribution $p_t$ over the vocabulary at each step. **Cross-entropy** is the mean of
# $-\log p_t(y_t)$ over the *real* tokens of a batch: padding is left out of the sum and of the count.
# **Label smoothing** with $\varepsilon$ {cite:p}`szegedy2016` mixes the one right answer with a uniform
# distribution over all $|V|$ words, which keeps the model from betting everything on one word:
#
# $$ L = -\frac{1}{N}\sum_{t \,\text{real}} \Big[ (1-\varepsilon)\log p_t(y_t) + \frac{\varepsilon}{|V|}\sum_{w} \log p_t(w) \Big] $$ (eq-smoothed-loss)
#
# where $N$ is the number of real tokens. Take three words with $p = (0.5, 0.25, 0.25)$, the first of them
# right. Without smoothing the loss is $-\ln 0.5 = 0.693$. With $\varepsilon = 0.3$ it is
# $0.7\cdot 0.693$ $+\ 0.1\cdot(0.693 + 1.386 + 1.386)$ $= 0.832$. **Perplexity** is $e^{L}$ with
# $\varepsilon = 0$: here $e^{0.693} = 2$, as if the model had to choose between two equally likely words.
# Now in five lines, beside the package's function:

# %%
from seqattn.training import cross_entropy

p = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]])  # one sentence, two steps
targets = torch.tensor([[1, 0]])  # the second step is padding (id 0)
logits = p[..., [1, 0, 2]].log()  # word 0 is the pad: put the right word in place 1
logp = logits.log_softmax(-1)[0, 0]
by_hand = -(0.7 * logp[1] + 0.3 * logp.mean())
loss = cross_entropy(logits, targets, smoothing=0.3)
torch.testing.assert_close(loss.total, by_hand)
print(f"{by_hand:.3f}; tokens counted: {int(loss.tokens)}")
assert abs(by_hand - 0.832) < 0.0005

# %% [markdown]
# ### Where the loss starts
#
# A fresh model knows nothing, so it gives each token of the vocabulary nearly the same probability, and its
# loss is near $\ln |V|$. The first thing to learn is that some tokens are more frequent than others, and
# that needs no attention. So every run in this chapter starts one step later:
# {func}`~seqattn.models.guess_frequencies` sets the bias of the output layer to the logarithm of each
# token's frequency in the training sentences. The loss then starts near the entropy of these frequencies:

# %%
from seqattn.models import guess_frequencies

layer = torch.nn.Linear(1, len(vocabularies.target))
guess_frequencies(layer, [target for _, target in examples])
p = layer.bias.detach().exp()
tokens = torch.cat([torch.tensor(target) for _, target in examples])
uniform, frequent = torch.tensor(len(p)).log().item(), -p[tokens].log().mean().item()
print(f"nats per token: uniform {uniform:.2f}, frequencies {frequent:.2f}")

# %% [markdown]
# What is left to learn depends on the sentence. (The tiny `fit` at the top of this page had no such start.)
# All models that are compared below have it. It may help one of them more than another; that was not
# measured.
#
# ## Train
#
# Model and training are two lists of plain values, and a run is a folder. The decoder is *told* the
# true word before each step, whatever it would have written (**teacher forcing**); in use it reads its own
# words. The two differ in more than that:
#
# | what | in training | in use |
# |---|---|---|
# | the decoder reads | the true words so far | its own words so far |
# | steps | all known: what needs no earlier step runs at once | one after the other |
# | length | the reference's | until `<eos>`, or a limit |
# | dropout, of features and of weights | on | off |
# | what is measured | loss, perplexity | BLEU, chrF, exact match |
# | the weights that make the context | after dropout: rows need not sum to 1 | rows sum to 1: draw these |
#
# The two columns can disagree: a model that is sure of the next *true* word may still drift on its own
# words {cite:p}`bengio2015`. So a validation measures both.

# %% [markdown]
# ### The update
#
# The optimiser is **AdamW**: it divides each step by a running estimate of the size of that parameter's
# gradient, and shrinks matrices a little at each step (weight decay). Those estimates are poor at first, so
# the learning rate rises in a straight line for the first updates (the **warm-up**) and then falls along
# a cosine to zero at the end of the budget. Gradients are cut to a length of at most 1 before each update: if
# $g$ is the gradient of all parameters together,
#
# $$ g \leftarrow g \cdot \min\!\Big(1, \frac{1}{\lVert g \rVert}\Big) $$ (eq-clipping)
#
# keeps its direction and stops one odd batch from throwing the model back {cite:p}`pascanu2013`.

# %% tags=["hide-input"]
if FULL:
    preset = read_preset("bahdanau")
    CONFIG, TRAINING = preset.model, replace(preset.training, average=10)
else:
    CONFIG = ModelConfig("bahdanau", d_embed=64, d_hidden=96, dropout=0.1)
    TRAINING = TrainingConfig(
        steps=1000, batch_tokens=256, lr=0.01, warmup=100, smoothing=0.0,
        doubly_stochastic_penalty=0.1, validate_every=125, first_look=16, average=8,
        log_every=25,
    )  # fmt: skip

# %% tags=["nbval-ignore-output"]
trainer = new_run(WORK / "main", corpus, model=CONFIG, training=TRAINING,
                  subwords=SUBWORDS, device=DEVICE, overwrite=True, quiet=True)  # fmt: skip
outcome = trainer.run()
run = trainer.run_folder
print(outcome.reason, "at update", outcome.state.step)
print(sorted(path.name for path in run.path.iterdir()))

# %% [markdown]
# `config.json` is what was asked for, `metrics.jsonl` what was measured, one line each time. The
# checkpoints hold weights and vocabularies; `last` also holds optimiser, random numbers and position, so
# that an interrupted run, taken up again with `resumed_run`, gives the same weights bit for bit
# on a CPU. On a GPU, sums may be taken in another order from run to run, and seeds repeat a training only
# approximately. The weights of the eight best validations are kept as well. Their *mean* is tried at the end
# and kept, as `average.safetensors`, unless it is worse in both BLEU and perplexity.
# `doubly_stochastic_penalty` asks the attention to leave no source word unread; we come back to it.
#
# The same as a command, on a corpus of your own: a table with a tab between the two sentences of a line.

# %% tags=["nbval-ignore-output"]
lines = [f"{pair.source}\t{pair.target}\n" for pair in train[:1500]]
(WORK / "mine.tsv").write_text("".join(lines), encoding="utf-8")
shell(f"seqattn train --data mine.tsv --pair {corpus.source}-{corpus.target} --preset toy "
      "--steps 60 --set d_hidden=64 --threads 1 --run mine --overwrite")  # fmt: skip

# %% [markdown]
# Sixty updates make no translator, and the scores say so. `seqattn train` alone trains on the toy corpus
# for as long as its preset says; `accelerate launch -m seqattn train` uses several GPUs. `--precision bf16`
# computes products in **bfloat16**, a 16-bit number with the range of a 32-bit one and fewer digits, where
# that is safe; weights and optimiser stay in 32 bits. It is the default on processors that are faster that
# way. Ctrl-C saves, and `--resume` goes on.
#
# ## Curves
#
# The log as a picture: the loss that training sees, BLEU of what the model writes by itself, and, in
# the last panel, how spread out its attention is, as a share of the largest possible entropy
# {eq}`eq-entropy`.
#
# ```{predict} sharp-or-soft
# ```

# %% tags=["hide-input", "hide-output", "hide-until-sharp-or-soft"] mystnb={"image": {"alt": "Three panels over the updates of one training. The loss falls steeply, then slowly. Validation BLEU stays near zero for the first updates and then rises. The normalised entropy of attention starts near 1 and falls."}}
records = run.records()
told = [record for record in records if record["kind"] == "train"]
judged = [record for record in records if record["kind"] == "valid"]
figure, panels = plt.subplots(3, sharex=True, figsize=(5.8, 6))
panels[0].plot([r["step"] for r in told], [r["loss"] for r in told], color=GREY)
panels[0].set(ylabel="loss\n(nats per token)", title="One training")
steps = [r["step"] for r in judged]
panels[1].plot(steps, [r["bleu"] for r in judged], "o-", color=BLUE)
panels[1].set(ylabel="BLEU", ylim=(0, 100))
shares = [r["attention"]["relative"] for r in judged]
panels[2].plot(steps, shares, "o-", color=ORANGE)
panels[2].set(
    ylabel="entropy of attention\n(share of largest)", ylim=(0, 1.05), xlabel="updates"
)
plt.show()

# %%
if not FULL:  # which judges for the first time when much is learned
    assert judged[-1]["bleu"] > judged[0]["bleu"] + 20
    assert shares[0] > 0.9
    assert shares[-1] < 0.6 * shares[0]

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Attention starts uniform, because untrained scores are nearly equal, and gets sharper while the model
# learns. Most of the fall comes with the rise of BLEU. A falling entropy alone is no proof of quality:
# a model can be sharp, even with good links, and still translate badly. We will meet one below.
#
# </details>
#
# ## Alignment that nobody taught
#
# The training saw pairs of sentences and no link between words. Does its attention link them all the
# same? The alignment error rate {eq}`eq-aer` compares the links of its maps with the gold links, at each
# validation. (Gold links of real text are of two kinds, *sure* and *possible*; the grammar's are all sure.)
#
# How does a map become links? Each row links its target word with the largest weight, and with all weights
# above a threshold; each column links its source word with its largest weight. Then both are combined as
# aligners combine their two directions, by **grow-diag** ({cite:t}`koehn2003`, after {cite:t}`och2003`):
# start from the links that both have, and add neighbouring links that one of them has, as long as they
# link a word that has none. The threshold is chosen on *training* pairs, whose links the model has not
# seen either:

# %% tags=["nbval-ignore-output"]
from seqattn.evaluation import alignment_links
from seqattn.metrics import alignment_error_rate

watched = Translator.load(run.path)
if not FULL:
    known = train[:300]
    gold = [pair.links for pair in known]
    maps = [t.weights for t in watched.force(known)]
    for threshold in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4):
        links = [alignment_links(weights, "grow-diag", threshold) for weights in maps]
        print(f"threshold {threshold}: {alignment_error_rate(links, gold, gold):.1%}")

# %% [markdown]
# The rate hardly depends on the threshold here; the package's is 0.25, for every model.
#
# ### Three yardsticks
#
# A rate alone says little, so three rules stand beside it. The first links each French word with a *random*
# English word. The second follows the *diagonal*: the word at the same fraction of the sentence. The third
# is IBM Model 1 {cite:p}`brown1993`, the classic statistical aligner. Take two pairs, *the cat / le chat*
# and *the dog / le chien*, and believe at first that all translations are equally likely. Each French word
# hands out one vote among the English words beside it: *le* gives *the* a half in the first pair and a half
# in the second; *chat* gives *the* a half and *cat* a half. Now *the* has one vote from *le*, half a vote
# from *chat* and half a vote from *chien*: it has begun to prefer *le*, so in the next round *chat* gives
# *cat* the larger part of its vote. Each round of votes is a step of **expectation and maximisation**. It
# knows no order of words and no neighbours. Here it learns from the pairs that the model learned from, in
# five rounds and both directions, which are combined by grow-diag as well.

# %% [markdown]
# In general, with $\theta(y \mid x)$ for the probability that the English word $x$ is translated by the
# French word $y$,
#
# $$
# \begin{aligned}
# \theta(y \mid x) &\leftarrow \frac{c(y, x)}{\sum_{y'} c(y', x)} \\
# c(y, x) &= \sum_{\text{pairs}} \sum_{i,j} \frac{\theta(y_j \mid x_i)}{\sum_{i'} \theta(y_j \mid
# x_{i'})}\,[x_i = x,\; y_j = y]
# \end{aligned}
# $$ (eq-ibm1)
#
# where $x_i$ and $y_j$ are the words of a pair ($x_0$ is an empty word, for what has no source) and
# $[\cdot]$ is 1 if true and else 0.

# %%
from seqattn.data import tokenize
from seqattn.evaluation import ibm1_error_rates


def rule(place):  # link every target word j of T with source word place(j, S, T) of S
    sides = [
        (len(tokenize(p.source, "en")), len(tokenize(p.target, "fr"))) for p in valid
    ]
    return [{(int(place(j, S, T)), j) for j in range(T)} for S, T in sides]


# %%
if not FULL:
    gold, draw = [pair.links for pair in valid], torch.Generator().manual_seed(0)
    random = rule(lambda j, S, T: torch.randint(S, (), generator=draw))
    diagonal = rule(lambda j, S, T: (j + 0.5) * S // T)
    rules = {
        "random": alignment_error_rate(random, gold, gold),
        "diagonal": alignment_error_rate(diagonal, gold, gold),
    }
    rules["IBM Model 1"] = ibm1_error_rates(train, valid)["grow-diag"]
    print({name: round(rate, 3) for name, rate in rules.items()})

# %% tags=["hide-input"] mystnb={"image": {"alt": "The alignment error rate of the attention against updates on a logarithmic axis, with dashed lines for the diagonal and, below it, IBM Model 1. The curve starts above both lines, falls steeply after the first hundred updates, crosses the diagonal, and ends near IBM Model 1."}}
from seqattn.plots import plot_error_rate

if not FULL:
    lines = {name: rules[name] for name in ("diagonal", "IBM Model 1")}
    axes = plot_error_rate(records, baselines=lines)
    for text, rate in zip(axes.texts, lines.values()):
        text.set(ha="left")  # where the curve is far away
        text.xy = (0.02, 100 * rate)
    plt.show()

# %% tags=["nbval-ignore-output"]
if not FULL:
    rates = [record["aer"] for record in judged]
    beside = f"IBM Model 1 {rules['IBM Model 1']:.1%}"
    print(f"from {rates[0]:.1%} to {rates[-1]:.1%}; {beside}")
    assert rates[0] > 0.6
    assert rates[-1] < 0.75 * rules["diagonal"]
    assert abs(rates[-1] - rules["IBM Model 1"]) < 0.05

# %% [markdown]
# The error rate falls while BLEU rises, from near the random rule to less than half of the diagonal's. This
# run ends close to IBM Model 1, which saw the same pairs. It is one seed, with a penalty on coverage. The
# contest below trains three seeds without it, and we will set their rates beside the same line. Attention
# has one reason to find the links: they help to predict the next word. It also has reasons not to: an
# article needs the gender of its noun, and may look there. The penalty in our settings is meant to pull
# such articles back to their own word. Whether it does is a question for two sets of trainings that differ
# in nothing else; [they come with the contest](the-penalty-apart).
#
# ### Watch it happen
#
# The run kept the weights of its validations. Load them in turn, and make the model write the same known
# translation each time. Before you move the slider, choose a row and guess: does it stop being flat early
# or late, and does it find its word at once? Pass over a cell to read its weight, and follow it below the
# map through the whole training.

# %% tags=["nbval-ignore-output"]
from seqattn.training import average_weights
from seqattn.widgets import MapThroughTraining

example, maps = valid[0], {}
for path in run.all_kept():
    watched.model.load_state_dict(average_weights([path]))
    maps[int(path.stem.split("-")[1])] = watched.force([example])[0]
first = next(iter(maps.values()))
print(f"{len(maps)} maps of {example.source!r}")
print(f"with {example.target!r} as its translation")

# %% tags=["hide-input"]
MapThroughTraining(
    {update: found.weights for update, found in maps.items()},
    source=first.source_tokens,
    target=first.tokens,
    row=1,
)

# %% [markdown]
# ## Before you trust a number: the doctor
#
# Scores can be good for the wrong reason, or bad for a silly one. The checklist that every translator
# should pass is code: padding may change nothing, no step may read a later word, the source must
# matter, vocabularies must survive saving, sentences must end.

# %% tags=["nbval-ignore-output"]
shell("seqattn doctor --run main")

# %% [markdown]
# Most lines stand for a bug that published tutorials have shipped. The same checks as a list in Python, with
# one bug put in by hand: a model that believes every position to be real.


# %% tags=["nbval-ignore-output"]
from seqattn.evaluation import examine

translator = Translator.load(run.path, device=DEVICE)
assert all(finding.sound for finding in examine(translator))

forgetful = Translator.load(run.path)
forward = forgetful.model.forward
forgetful.model.forward = lambda source, lengths, inputs: forward(
    source, torch.full_like(lengths, source.shape[1]), inputs
)
print([finding.point for finding in examine(forgetful) if not finding.sound])

# %% [markdown]
# ## Evaluate
#
# For $n = 1$ to $4$, BLEU {cite:p}`papineni2002` takes the translation's sequences of $n$ words and counts
# the share $p_n$ of them that the reference has too (each at most as often as there). It multiplies the
# geometric mean of these shares by a **brevity penalty**, with $c$ words written and $r$ in the references,
# both over the whole corpus:
#
# $$ \mathrm{BLEU} = 100 \cdot \min\!\big(1, e^{1 - r/c}\big) \cdot \big(p_1 p_2 p_3 p_4\big)^{1/4} $$ (eq-bleu)
#
# By hand: *le chat noir dort sur le lit* against *le chat blanc dort sur le lit*. Six of seven words are
# right, four of six pairs, two of five triples, one of four quadruples; the lengths agree. So
# $100\cdot(\tfrac67\cdot\tfrac46\cdot\tfrac25\cdot\tfrac14)^{1/4}$ $= 48.9$.

# %%
by_hand = 100 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** (1 / 4)
found = corpus_bleu(["le chat noir dort sur le lit"], ["le chat blanc dort sur le lit"])
print(f"{by_hand:.1f}  {found.score:.1f}  {found.signature}")
assert abs(by_hand - found.score) < 1e-6

# %% [markdown]
# The signature says how it was computed: tokenisation, case, smoothing. Two BLEU scores with different
# signatures are not comparable, nor is a sentence's score with a corpus's. And BLEU knows one reference: a
# good translation in other words scores low. So other scores stand beside it: exact matches, perplexity,
# AER, and **chrF** {cite:p}`popovic2015`, which compares sequences of one to six *letters* and so gives
# credit for the right word in the wrong form. With the mean share $P$ of the translation's sequences that
# the reference has, and $R$ of the reference's that the translation has,
#
# $$ \mathrm{chrF} = 100 \cdot \frac{(1 + \beta^2)\,P R}{\beta^2 P + R}, \qquad \beta = 2, $$ (eq-chrf)
#
# where $\beta = 2$ makes recall weigh more. As a command, with details, on the validation sentences:

# %% tags=["nbval-ignore-output"]
shell("seqattn evaluate --run main --beam 5 --split valid")

# %% [markdown]
# ## Four kinds of attention at one budget
#
# [Additive attention](03_additive.ipynb) left open which mechanism to take. What separates the two
# classics:
#
# | what | Bahdanau et al. (2015) | Luong et al. (2015) |
# |---|---|---|
# | score | additive, $v^\top\tanh(W_q s + W_k h_i)$ | dot, general $s^\top W h_i$, or concat |
# | asks with | $s_{t-1}$, before the update | $s_t$, after it |
# | the update reads, beside the last word | the context $c_t$ | the last readout $\tilde s_{t-1}$ (input feeding) |
# | readout, before the output matrix | maxout of $s_{t-1}$, $c_t$ and the last word (appendix A.2.2; its equation 4 and this package use $s_t$) | $\tilde s_t = \tanh(W_c[c_t; s_t])$ |
# | at each step, for $T_s$ positions | $T_s d_a$ tanhs, the keys being projected once | $T_s d_s$ products (general), the keys being projected once |
# | in training | step by step: each context enters the next update | without input feeding, all states at once; in use step by step like every other |
#
# Here $d_a$ is the size of the comparison space and $d_s$ that of a decoder state.
#
# The second and the third line of the table are the order of events. Step through it in both. The arrow
# from $\tilde s_{t-1}$ to the update is input feeding; in Luong's order without it, nothing that was
# looked up reaches a later step.

# %% tags=["hide-input"]
from seqattn.widgets import Unrolled

ORDERS = ("bahdanau", "luong", "luong, no feeding")
Unrolled(orders=ORDERS, phases=["decode"], event=10, title="Two orders of events")

# %% [markdown]
# Add **coverage** and a small **Transformer**, and, as a yardstick, the fixed vector.
# (The Transformer has attention in place of recurrent networks, in encoder and decoder; coverage adds to
# the additive score what was looked at before. Later chapters build both; here they are contestants whose
# inside you need not know.) Same pairs, same
# batches, same number of updates, three seeds each. The budget is updates, not weights: the sizes of the
# states agree and the models' numbers of parameters do not, so they stand in the table. Each training gets
# a process of its own, so that time and memory are its own. The Transformer's weights are the mean of the
# heads of its last layer: a mean of sharp rows is less sharp than they are, so its entropy and its links
# cannot be held against single maps.
#
# Four different things are called coverage. This contestant has the first:
#
# | where | what it does | formula | setting |
# |---|---|---|---|
# | the score | feels how much each word was looked at | {eq}`eq-coverage-score` | `attention="coverage"` |
# | the loss | costs looking twice at one word | {eq}`eq-coverage-loss` | `coverage_loss` |
# | the loss | asks that the weights of each word sum to one: $\frac1n\sum_i (1 - \sum_t \alpha_{ti})^2$, $n$ being their number {cite:p}`xu2015` | here | `doubly_stochastic_penalty` in training |
# | the beam | prefers sentences that looked at every word | {eq}`eq-coverage-penalty` | `coverage_penalty` in decoding |

# %% tags=["hide-input"]
from seqattn.training import run_trials

if FULL:
    names = {"Bahdanau": "bahdanau", "Luong": "luong", "coverage": "coverage"}
    MODELS = {name: read_preset(preset).model for name, preset in names.items()}
    # Its preset shares one vocabulary; here are two.
    tiny = read_preset("transformer-tiny").model
    MODELS |= {"Transformer": replace(tiny, tie="output")}
    MODELS |= {"fixed vector": replace(CONFIG, architecture="fixed")}
    BUDGET = replace(
        TRAINING, steps=10_000, epochs=None, average=0, bf16=DEVICE == "cuda"
    )
else:
    sizes = {"d_embed": 64, "d_hidden": 96, "dropout": 0.1}
    MODELS = {
        "Bahdanau": ModelConfig("bahdanau", **sizes),
        "Luong": ModelConfig("luong", **sizes),
        "coverage": ModelConfig("bahdanau", attention="coverage", **sizes),
        "Transformer": ModelConfig(
            "transformer", layers=2, d_feedforward=192, d_hidden=96, dropout=0.1
        ),
        "fixed vector": ModelConfig("fixed", **sizes),
    }
    BUDGET = TrainingConfig(
        steps=700, batch_tokens=256, lr=0.007, warmup=100, smoothing=0.0
    )

# %% tags=["nbval-ignore-output"]
BUDGET = replace(BUDGET, validate_every=BUDGET.steps)  # once, at the end
trials = run_trials(
    MODELS, WORK / "contest", corpus, BUDGET, subwords=SUBWORDS, device=DEVICE
)
table = [trial.row() for trial in trials]
UNITS = {"model": "", "seed": "", "parameters": ",", "bleu": ".1f", "perplexity": ".2f",
         "aer": ".2f", "entropy": ".2f", "seconds": ".1f", "memory": ".0f"}  # fmt: skip
rows = [
    ["–" if r[name] is None else format(r[name], u) for name, u in UNITS.items()]
    for r in table
]
passes = BUDGET.steps / len(batches)
caption = f"{BUDGET.steps} updates, {passes:.1f} passes, rate {BUDGET.lr}; validation"
note = f"Memory in MiB. BLEU: {trials[0].scores['signature']}"
ResultTable([*UNITS], rows, caption, note)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Dots for three seeds of each of five models, with mean and standard deviation, in two panels: validation BLEU, and processor seconds of the training. The additive models and the Transformer have clearly more BLEU than Luong's model and the fixed vector."}}
from seqattn.plots import plot_spread

figure, panels = plt.subplots(2, figsize=(5.8, 5.4))
plot_spread(table, "bleu", label="validation BLEU after equal updates", ax=panels[0])
unit = "seconds of one core" if DEVICE == "cpu" else "seconds"
plot_spread(table, "seconds", label=unit, ax=panels[1])
plt.show()


# %%
def of(value):
    return {name: [r[value] for r in table if r["model"] == name] for name in MODELS}


bleu, aer, entropy_of = of("bleu"), of("aer"), of("entropy")
if not FULL:
    assert min(bleu["Luong"]) > max(bleu["fixed vector"])
    for name in ("Bahdanau", "coverage", "Transformer"):
        assert min(bleu[name]) > max(bleu["Luong"])

# %% [markdown]
# In the figure a dot is a seed, the diamond their mean, and the bar reaches one standard deviation to
# each side. A *range*, in the text, goes from the lowest dot to the highest.
#
# Say only what this shows. **It shows** what each model reaches on a small corpus after {{ BUDGET.steps }}
# updates, little more than two passes over the pairs, at one learning rate that was chosen by hand and
# tuned for none of them. Where the ranges of two models do not overlap, seeds alone hardly explain the
# difference. The additive models and the Transformer are ahead of Luong's, and all of them ahead of the
# fixed vector; the fixed vector's score can be held against the copyist's {{ f"{copied:.1f}" }}.
#
# **It does not show** which model is best when training is over, or with a learning rate of its own, or
# with equal numbers of parameters. The seconds are of these small models on one core each; sizes, lengths
# and a GPU change their order. The memory is the growth of a process while it trains, allocator and all.

# %% [markdown]
# Luong's rows are a lesson. Read three columns together: hardly any entropy, alignment error rates that
# overlap with Bahdanau's, and far fewer points of BLEU. So a model can look sharply, and with as many
# right links, and still translate much worse. A good map is not a good translation: something must still be done
# with what was fetched.
#
# ### Your turn: change one thing
#
# Take Bahdanau's model of the contest and change *one* of its settings: the size of the states, the
# dropout, the score. First write down a guess for BLEU and for the alignment error rate: up, down, or
# within what other seeds do anyway. Then train it, in a new cell:
#
# ```python
# mine = {"mine": replace(MODELS["Bahdanau"], d_hidden=48)}
# for trial in run_trials(mine, WORK / "mine", corpus, BUDGET, subwords=SUBWORDS, device=DEVICE):
#     print(trial.row()["bleu"], trial.row()["aer"], trial.row()["parameters"])
# ```
#
# Set the range of your seeds beside Bahdanau's in the table. Do the two overlap? Then you have seen no
# difference, whatever the means say. Are they apart? Then look at what else changed with your setting,
# such as the number of parameters or the seconds, before you say what did it.

# %% [markdown]
# (the-penalty-apart)=
# ### The penalty, apart
#
# The main run had a penalty on coverage, the contest none. Train Bahdanau's model of the contest once more
# with the penalty, everything else equal, and compare the links:

# %% tags=["nbval-ignore-output"]
penalised = run_trials(
    {"penalty": MODELS["Bahdanau"]}, WORK / "penalty", corpus,
    replace(BUDGET, doubly_stochastic_penalty=0.1), subwords=SUBWORDS, device=DEVICE,
)  # fmt: skip
without, held = aer["Bahdanau"], [trial.scores["aer"] for trial in penalised]
if not FULL:
    points = bleu["Bahdanau"], [trial.scores["bleu"] for trial in penalised]
    rows = [
        (name, what, *(format(x, form) for x in three))
        for name, rates, three_bleu in zip(
            ("without", "with it"), (without, held), points
        )
        for what, three, form in (("aer", rates, ".1%"), ("bleu", three_bleu, ".1f"))
    ]
    note = f"AER of IBM Model 1 {rules['IBM Model 1']:.1%}, diagonal {rules['diagonal']:.1%}"
    columns = ("penalty", "measure", "seed 1", "seed 2", "seed 3")
    display(ResultTable(columns, rows, "With the penalty and without", note))

# %% [markdown]
# The ranges of the three seeds overlap, in alignment error and in BLEU: no difference seen at this budget.
# Seed by seed all three rates are lower with it, and [chapter 3](03_additive.ipynb), with more pairs and a
# larger factor, found the ranges apart. All six rates lie between
# IBM Model 1 and the diagonal. After little more than two passes none of these models has reached the
# aligner; the main run, with more updates and another learning rate, ended close to it.

# %% [markdown]
# ### The score, or the order?
#
# The contest cannot say *why* Luong's model is behind. It differs from Bahdanau's in five things at once: the
# score, the order (ask before the update, or after it), what the update reads, the readout, and the number of
# weights. A tempting experiment swaps the scores of the two and credits the rest to the order. That would be
# wrong, for with the order come the other three.
#
# So build eight models in which *only* score, order and readout change. The update always reads the context
# that $s_{t-1}$ asks for. With "before", the output reads that same context. With "after", it reads the
# context that $s_t$ asks for, which is also what the next update reads. Then both orders have the same
# weights, down to their first values. The comparison space and the readouts are sized so that all eight
# have nearly equal numbers of parameters, and all start from the frequencies of the tokens. Guess first:
# which of the three counts most for BLEU, and which order is ahead?

# %%
from itertools import product

from seqattn.data import measured

study = measured("order")
FACTORS = {"score": ("additive", "general"), "order": ("after", "before"),
           "readout": ("maxout", "tanh")}  # fmt: skip


def reached(what="bleu", **which):
    return [r[what] for r in study["rows"] if all(r[k] == v for k, v in which.items())]


# %% tags=["hide-output"]
rows = []
for readout, score in product(*(FACTORS[name] for name in ("readout", "score"))):
    cells = [
        reached(readout=readout, score=score, order=o) for o in ("before", "after")
    ]
    size = reached("parameters", readout=readout, score=score)[0]
    rows.append(
        (readout, score, size, *("  ".join(f"{b:.1f}" for b in cell) for cell in cells))
    )
columns = (
    "readout",
    "score",
    "parameters",
    "asked before the update",
    "asked after it",
)
ResultTable(columns, rows, "Validation BLEU, three seeds in each cell")

# %% [markdown]
# Each line holds two cells that differ in the order alone. For each factor there are four such pairs of
# cells, one for each setting of the other two factors. What does each factor change, and do the ranges of
# the three seeds overlap?


# %%
def compare(factor, what="bleu"):
    """Yield four pairs of cells that differ in this factor alone."""
    (one, other), rest = FACTORS[factor], [name for name in FACTORS if name != factor]
    for values in product(*(FACTORS[name] for name in rest)):
        same = dict(zip(rest, values))
        yield (
            reached(what, **{factor: one}, **same),
            reached(what, **{factor: other}, **same),
        )


def is_apart(a, b):
    return min(a) > max(b) or min(b) > max(a)


# %% tags=["hide-output"]
gain = {name: [mean(a) - mean(b) for a, b in compare(name)] for name in FACTORS}
apart = {name: sum(is_apart(a, b) for a, b in compare(name)) for name in FACTORS}
fewer = [mean(b) - mean(a) for a, b in compare("order", "aer")]
rows = [
    (f"{name}: {one} minus {other}", *(f"{g:+.1f}" for g in gain[name]), apart[name])
    for name, (one, other) in FACTORS.items()
]
columns = ("factor", *(f"pair {i}" for i in range(1, 5)), "of 4 ranges apart")
ResultTable(columns, rows, "BLEU gained, means of three seeds")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# At a fixed readout and score, asking *after* the update is {{ f"{min(gain['order']):.1f}" }} to
# {{ f"{max(gain['order']):.1f}" }} points ahead, and the ranges are apart in {{ apart["order"] }} of four pairs.
# The contest had suggested the opposite. The additive score is {{ f"{min(gain['score']):.1f}" }} to
# {{ f"{max(gain['score']):.1f}" }} points ahead of the general one (ranges apart in {{ apart["score"] }} of four),
# the maxout readout {{ f"{min(gain['readout']):.1f}" }} to {{ f"{max(gain['readout']):.1f}" }} ahead of tanh
# ({{ apart["readout"] }} of four). In Luong's model the tanh readout and the general score come along with the
# order "after", and each costs more than that order gains. A grid of two swaps would have put the loss down to
# the order. (What input feeding and the sizes contribute to the contest, this study does not show.)
#
# </details>

# %% [markdown]
# <details><summary>What the maps show</summary>
#
# The maps tell two stories. "After" takes {{ f"{100 * min(fewer):.1f}" }} to
# {{ f"{100 * max(fewer):.1f}" }} percentage points off the mean alignment error rate, and its ranges are apart
# in three of the four pairs: better links and better translations together. The readout moves BLEU by more than either, and the
# links hardly: ranges overlap in three of four. It works on what was fetched.
#
# </details>
#
# One reason for the order is in the definitions: $s_{t-1}$ has not read the word that was just written,
# $s_t$ has. So a model that asks before the update asks without knowing its own last word. Whether that is
# *the* reason, this study does not say; nor why the additive score and maxout are ahead. It says what
# {{ study["card"]["updates"] }} updates reach ({{ f"{study['card']['epochs']:.1f}" }} passes over the pairs),
# at one learning rate: a budget ended these trainings, not convergence. `{{ study["card"]["command"] }}`
# repeats it: try another learning rate, or more updates.

# %% [markdown]
# ### Do they look at the same words?
#
# Make all of them write the same reference translations, and compare their rows, word by word. The
# **total variation distance** of two rows is the share of weight that stands elsewhere:
#
# $$ d_t = \tfrac12 \sum_i |\alpha_{ti} - \beta_{ti}| $$ (eq-weight-distance)
#
# It is 0 if the rows $\alpha_t$ and $\beta_t$ are equal, 1 if they share no position. The yardstick is the
# distance between two *seeds* of one model.

# %% tags=["nbval-ignore-output"]
from seqattn.metrics import weight_distance

sample = valid[:200]
forced = {
    (trial.name, trial.seed): Translator.load(trial.folder).force(sample)
    for trial in trials
    if trial.name != "fixed vector" and trial.seed < 3
}


def distance(one, other):
    pairs = zip(forced[one], forced[other])
    apart_by = [weight_distance(a.weights, b.weights) for a, b in pairs]
    return torch.cat(apart_by).mean().item()


# %% tags=["nbval-ignore-output"]
kinds = list(dict.fromkeys(name for name, _ in forced))
rows = [
    (one, *(f"{distance((one, 1), (other, 2)):.2f}" for other in kinds))
    for one in kinds
]
ResultTable(("seed 1 \\ seed 2", *kinds), rows, "Mean distance of two rows")

# %% [markdown]
# Rows are models of seed 1, columns of seed 2, so the diagonal is one model against itself with another
# seed, and the table need not be symmetric. Read a row against its diagonal: two seeds of one mechanism do
# not draw the same map. One pair of seeds is too few to rank the mechanisms by their distances; it is
# enough to warn of a sentence such as "Bahdanau attends to …" about a single map of a single training.
#
# And how are the weights distributed? A cumulative curve of the largest weight of each row: one that
# rises late belongs to a model that commits itself.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Cumulative curves of the largest weight in each row of the maps for Bahdanau, Luong, coverage and Transformer, one seed each. Three curves rise steadily; Luong's stays near zero and jumps at the right end, since in its rows nearly all weight is on one word."}}
from seqattn.plots import plot_distributions

largest = {
    name: torch.cat([found.weights.amax(-1) for found in forced[name, 1]]).tolist()
    for name in kinds
}
plot_distributions(largest, label="largest weight of a row")
plt.show()

# %% [markdown]
# ## Long sentences
#
# The question of [chapter 1](01_bottleneck.ipynb), now for *your* models: the fixed vector beside
# Bahdanau's attention, on new sentences of 3, 6, … 30 English tokens. Training had none above twelve.
# The sentences were drawn for this figure and are neither validation nor test pairs. Answer the
# question of the figure before you look at the curves, then move the slider and read.

# %%
from seqattn.data import toy_by_length
from seqattn.evaluation import summarize_attention

if FULL:  # by length, in groups of three words
    longer = [pair for pair in valid if 6 <= len(pair.source.split()) <= 24]
else:
    longer = [
        pair for i, pair in enumerate(toy_by_length(corpus.pairs)) if i % 100 < 40
    ]
groups = {}
for pair in longer:
    groups.setdefault(
        (len(tokenize(pair.source, corpus.source)) + 2) // 3 * 3, []
    ).append(pair)
groups = {length: groups[length] for length in sorted(groups)}
print({length: len(pairs) for length, pairs in groups.items()})

# %%
curves, entropy, texts = {}, {}, {}
for trial in trials:
    if trial.name in ("fixed vector", "Bahdanau"):
        model = Translator.load(trial.folder)
        for length, pairs in groups.items():
            found = model.translate([pair.source for pair in pairs], beam=1)
            score = corpus_bleu(
                [t.text for t in found], [p.target for p in pairs]
            ).score
            curves.setdefault((trial.name, length), []).append(score)
            texts.setdefault((trial.name, length), found[0].text)
            if trial.name == "Bahdanau":
                entropy.setdefault(length, []).append(summarize_attention(found))

# %% tags=["hide-input"]
from seqattn.widgets import FixedVersusDynamic

names = ("fixed vector", "Bahdanau")
lost = {m: [a - b for a, b in zip(curves[m, 6], curves[m, 12])] for m in names}
left = {m: [b / a for a, b in zip(curves[m, 6], curves[m, 12])] for m in names}
drop, kept = ({m: mean(found[m]) for m in names} for found in (lost, left))
FixedVersusDynamic(
    list(groups),
    fixed=[mean(curves["fixed vector", n]) for n in groups],
    attention=[mean(curves["Bahdanau", n]) for n in groups],
    fixed_spread=[stdev(curves["fixed vector", n]) for n in groups],
    attention_spread=[stdev(curves["Bahdanau", n]) for n in groups],
    examples=[
        {"source": pairs[0].source, "reference": pairs[0].target,
         "fixed": texts["fixed vector", n], "attention": texts["Bahdanau", n]}
        for n, pairs in groups.items()
    ],
    predict={
        "question": "From 6 to 12 words, lengths that both saw in training, which model "
        "loses more points of BLEU?",
        "options": ["The fixed vector.", "The attention model.",
                    "No difference can be seen."],
        "answer": int(drop["Bahdanau"] > drop["fixed vector"])
        if is_apart(*lost.values()) else 2,
        "explain": f"From 6 to 12 words, means of three seeds: the fixed vector loses "
        f"{drop['fixed vector']:.0f} points and attention {drop['Bahdanau']:.0f}. But the "
        f"fixed vector has fewer to lose: {kept['fixed vector']:.0%} of its score is left, "
        f"and of attention's {kept['Bahdanau']:.0%}.",
    },
    trained_to=None if FULL else 12,
    note="The small models of this chapter, three seeds; "
    "the band is one standard deviation.",
)  # fmt: skip

# %% tags=["hide-output", "nbval-ignore-output"]
if not FULL:
    rows = [
        (name, what, *(format(x, form) for x in found[name]))
        for name in names
        for what, found, form in (
            ("points lost", lost, ".1f"),
            ("share left", left, ".0%"),
        )
    ]
    columns = ("model", "of BLEU", "seed 1", "seed 2", "seed 3")
    display(ResultTable(columns, rows, "From 6 to 12 words"))
    assert min(left["Bahdanau"]) > max(left["fixed vector"])
    assert max(curves["Bahdanau", 30]) < min(curves["Bahdanau", 12]) / 2

# %% [markdown]
# <details><summary>What the figure shows</summary>
#
# Three things are in these pictures. At *three* words the fixed vector is already far behind:
# {{ BUDGET.steps }} updates are few for it, and that has nothing to do with length. From six words to twelve
# both models lose points of BLEU, and the ranges overlap: no difference seen. But the fixed vector has
# fewer to lose. It keeps less than half of its score and attention keeps well over half, and those ranges
# are apart. That agrees with the bottleneck of [chapter 1](01_bottleneck.ipynb), whose longer trainings
# test it.
#
# </details>
#
# Beyond twelve, attention collapses as well. Before you blame the length, look at the sentences. Twelve
# words can do without a comma and without *and*, *but*, *so*, *because*, *while*, *when*, *if*; thirty
# cannot. How many sentences of each length are joined by one of these, and what does that cost where the
# *length* is one that training had?

# %%
import re


def is_joined(pair):
    return bool(re.search(r",|\b(and|but|so|because|while|when|if)\b", pair.source))


joined = {n: mean(is_joined(pair) for pair in pairs) for n, pairs in groups.items()}
print("joined, by length:", {n: f"{share:.0%}" for n, share in joined.items()})
some = [pair for pair in valid if 9 <= len(tokenize(pair.source, corpus.source)) <= 12]
kinds = {"no joint": [p for p in some if not is_joined(p)],
         "joined": [p for p in some if is_joined(p)]}  # fmt: skip
print("of 9 to 12 words:", {kind: len(pairs) for kind, pairs in kinds.items()})

# %% tags=["nbval-ignore-output"]
clauses = {}
for trial in [trial for trial in trials if trial.name in names]:
    model = Translator.load(trial.folder)
    for kind, pairs in kinds.items():
        written = model.translate([pair.source for pair in pairs], beam=1)
        score = corpus_bleu([t.text for t in written], [p.target for p in pairs]).score
        clauses.setdefault((trial.name, kind), []).append(score)
rows = [(*which, *(f"{b:.1f}" for b in scores)) for which, scores in clauses.items()]
columns = ("model", "sentences", "seed 1", "seed 2", "seed 3")
ResultTable(columns, rows, "BLEU on 9 to 12 words")

# %% [markdown]
# At lengths that training had, sentences with a comma or one of these words ("joined") are not the harder
# ones: for neither model do the three seeds' scores on them lie below those on the rest. (The rest is not
# all single clauses: some have one with *that*, *who* or *which*.) But beyond twelve words every sentence
# has a joint, most of them more than one, and training had neither such lengths nor such chains.
# Length and number of joints grow together here, and this figure cannot part them.
#
# ### Is attention more diffuse on long sentences?
#
# In nats it must look so: a row over thirty words has room for more than a row over three, whatever it does.
# Compare entropies of different lengths only as shares of the largest possible.

# %% mystnb={"image": {"alt": "Two curves over sentence length for the attention model. Mean entropy in nats rises with length throughout. Its share of the largest possible entropy falls from three words to six, is nearly level up to twelve, the longest in training, and rises beyond."}} tags=["hide-input"]
figure, axes = plt.subplots()
nats = [mean(found.entropy for found in entropy[n]) for n in groups]
share = [mean(found.relative for found in entropy[n]) for n in groups]
axes.plot(list(groups), nats, "o-", color=BLUE, label="in nats")
axes.plot(list(groups), share, "s-", color=ORANGE, label="as a share of the largest")
axes.set(xlabel="words of the source", ylabel="entropy of attention", ylim=(0, None))
axes.legend()
plt.show()

# %% tags=["nbval-ignore-output"]
relative = {n: [found.relative for found in entropy[n]] for n in groups}
for n, found in relative.items():
    print(f"{n:2} words, three seeds:", " ".join(f"{value:.2f}" for value in found))
if not FULL:
    assert nats[-1] > nats[0]
    assert min(relative[30]) > max(relative[12])

# %% [markdown]
# From six words to twelve the share is nearly level (at three it is higher). Beyond twelve it
# rises: there the attention really is more diffuse, and BLEU is low. You compute such a table
# yourself in [the exercises on reading maps](../exercises/08_reading_maps.ipynb).
#
# ## Your own sentences
#
# Change them. Beside your model stands one that comes with the package: larger, and made by the same code
# from five times the pairs. (Some of *our* test sentences were in its training, so it may not be judged by
# them; it has test sentences of its own.) The corpus has about a thousand English words; what your model
# does not know, it reads as `<unk>`.

# %%
MINE = [
    "the cat sat on the mat",
    "the small black dog does not sleep",
    "i saw him in the garden",
]

# %% tags=["nbval-ignore-output"]
sentences = [pair.source for pair in valid[:3]] if FULL else MINE
translations = translator.translate(sentences)
longer_trained = Translator.load("toy").translate(sentences)
for found, better in zip(translations, longer_trained):
    unknown = vocabularies.source.unknown(found.source)
    print(
        f"{found.source}\n  yours  {found.text}",
        f"(unknown: {unknown})" if unknown else "",
    )
    print(f"  longer {better.text}" if not FULL else "")

# %% mystnb={"image": {"alt": "Attention maps of the reader's sentences and their translations: most of the weight follows the diagonal, with jumps where French orders words differently, as for an adjective after its noun."}} tags=["hide-input"]
figure, axes = plt.subplots(len(translations), figsize=(5.8, 4.2 * len(translations)))
for ax, found in zip(axes, translations):
    found.plot(ax, cbar=False)
plt.show()

# %% [markdown]
# These are your model's maps. How to read one: a **diagonal** says that the orders agree; a **jump**, that
# they do not, as for an adjective that follows its noun; a **diffuse** row, that the step had no one word
# to look at, or no idea. A **column without weight** may be a word left out, and one that gets weight again
# and again a word said twice.
#
# Diffuse rows are not spread evenly over the language. Here is the mean entropy of the row that writes a
# word, for frequent words, beside two facts from the gold links: in what share of its occurrences the word
# has a link at all, and how much of its row's weight falls on the words that it is linked with. Which kind
# of word will be at the end of the list?

# %% tags=["nbval-ignore-output"]
from seqattn.metrics import attention_entropy

by_word = {}
for pair, t in zip(valid, translator.force(valid)):
    nats = attention_entropy(t.weights[None])[0].tolist()
    for j, word in enumerate(t.tokens[:-1]):
        own = [i for i, k in pair.links or () if k == j]
        seen = by_word.setdefault(word, [])
        seen.append((nats[j], bool(own), t.weights[j, own].sum().item()))
ranked = {word: [mean(column) for column in zip(*found)]
          for word, found in by_word.items() if len(found) >= 40}  # fmt: skip
ranked = dict(sorted(ranked.items(), key=lambda item: item[1]))

# %% tags=["hide-output", "nbval-ignore-output"]
rows = []
for name, part in (("sharpest", [*ranked][:7]), ("most diffuse", [*ranked][-7:])):
    for word in part:
        nats, linked, weight = ranked[word]
        rows.append((name, word, f"{nats:.2f}", f"{linked:.0%}", f"{weight:.0%}"))
columns = ("rows", "word", "nats", "linked", "weight on its links")
ResultTable(columns, rows, "Entropy of the rows that write a word")

# %% [markdown]
# Articles are among the sharpest. At the other end stand *est-ce*, *à*, *que*, *pas*: words, one would like
# to say, that have no English word of their own. The gold links link every French word, these too; but several
# share their English word with another (*est-ce* and *que* with *did*, *pas* and *ne* with *not*). What
# differs is where the weight goes. The rows of the sharpest words put
# most of it on their own links, those of the most diffuse ones less than half on average; *est-ce* looks
# almost anywhere else. Why, the list does not say, and it is the list of one model. {cite:t}`ghader2017`
# measured the entropy of attention on real text, by parts of speech.

# %% [markdown]
# ### Failures, and what the map says
#
# When the output is wrong, look at the map first. Take the validation sentences that went wrong, and ask of
# each whether attention passed over a source word: whether its column sums to less than half its share,
# which is the number of words written over the number of words read. Longer sentences offer more words to
# pass over, and go wrong more often, so compare right and wrong translations of *similar length*.

# %% tags=["nbval-ignore-output"]
from seqattn.metrics import coverage_report

found = translator.translate([pair.source for pair in valid], beam=1)
wrong = [(pair, t) for pair, t in zip(valid, found) if t.text != pair.target]
right = [(pair, t) for pair, t in zip(valid, found) if t.text == pair.target]


def passed_over(t):
    under = coverage_report(t.weights[None]).under[0, :-1]
    return [word for word, missed in zip(t.source_tokens, under) if missed]


# %% tags=["nbval-ignore-output"]
over, rows = {}, []
for low, high in ((3, 5), (6, 8), (9, 12)):
    for name, group in (("right", right), ("wrong", wrong)):
        some = [
            passed_over(t) for _, t in group if low <= len(t.source_tokens) - 1 <= high
        ]
        over[name, low] = mean(map(bool, some)) if some else float("nan")
        rows.append((f"{low} to {high}", name, len(some), f"{over[name, low]:.0%}"))
columns = ("words", "translation", "sentences", "pass a word over")
display(ResultTable(columns, rows, "Words passed over"))
for pair, t in wrong[:3]:
    print(f"\n{pair.source}\n  wanted {pair.target}\n  wrote  {t.text}")
    print(f"  passed over {passed_over(t)}")

# %% mystnb={"image": {"alt": "Attention map of the wrongly translated validation sentence with the most source words passed over: words that it wrote as rows, source words as columns, several of them nearly white from top to bottom."}} tags=["hide-input", "nbval-ignore-output"]
worst = max(wrong, key=lambda item: len(passed_over(item[1])))
worst[1].plot()
plt.show()

# %% [markdown]
# Two things grow: longer sentences go wrong more often, and their maps pass over more words, *also where
# the translation is right*. At similar length the share is higher among wrong translations, least from nine
# words on (with so few sentences this may be luck).
#
# The map says *where the model looked* when it erred. In the first of the three sentences printed above it
# passed over *evening*, and yet *le soir* is right; what is wrong is *se* for *des*. In the second no word was
# passed over: *revenue* for *revenu* is agreement. In the third it passed over *eggs*, and the eggs are lost.
# The figure is the map of the sentence with the most words passed over.
#
# If the right word was looked at and a wrong word came out, look for the trouble behind the attention:
# vocabulary, form, agreement. If nothing was looked at, look at the attention. Passing over a word is a
# hint and no verdict, as the share among *right* translations shows: the state of a neighbour has read the
# word as well. Coverage in the score {eq}`eq-coverage-score` or in the loss {eq}`eq-coverage-loss` is meant
# against omission and repetition. The score reads the sum of the old weights. The loss takes the minimum of
# new and old weight, which is 0 for "once at each of two" and large for "twice at one word".

# %% [markdown]
# ### What the map does not say
#
# It does not say *why* {cite:p}`jain2019,serrano2019,wiegreffe2019`. Whether the most-looked-at word is the
# one that counts is a question for an experiment: hide one source word at a time (put `<unk>` in its
# place) and see how many nats the log-probability of each true target word loses.


# %%
from seqattn.specials import BOS, UNK


@torch.no_grad()
def damage(pair):  # (target words, source words), in nats
    [(source, target)] = encode_pairs([pair], translator.vocabularies)
    hidden = [[*source[:i], UNK, *source[i + 1 :]] for i in range(len(source) - 1)]
    rows = torch.tensor([source, *hidden]).to(DEVICE)
    lengths = torch.full((len(rows),), len(source)).to(DEVICE)
    inputs = torch.tensor([[BOS, *target[:-1]]]).to(DEVICE).expand(len(rows), -1)
    logp = translator.model(rows, lengths, inputs).logits.log_softmax(-1)
    true = logp[:, range(len(target)), target].cpu()
    return (true[0] - true[1:]).T[:-1]


# %% [markdown]
# Hold the map against three rules that never saw it: a random word, the word on the diagonal, and a word
# that the gold links name.

# %% tags=["nbval-ignore-output"]
hits, rows = dict.fromkeys(("map", "random", "diagonal", "gold link"), 0.0), 0
for pair, t in zip(valid[:150], translator.force(valid[:150])):
    hurt = damage(pair)
    (T, S), counts = hurt.shape, hurt.argmax(-1).tolist()
    hits["map"] += (t.weights[:-1, :-1].argmax(-1) == hurt.argmax(-1)).sum().item()
    hits["random"] += T / S
    hits["diagonal"] += sum(int((j + 0.5) * S / T) == i for j, i in enumerate(counts))
    hits["gold link"] += sum((i, j) in (pair.links or ()) for j, i in enumerate(counts))
    rows += T
agree = {name: found / rows for name, found in hits.items()}
print(f"of {rows} steps, the word that counts most is the one named by the",
      ", ".join(f"{name} {found:.0%}" for name, found in agree.items()))  # fmt: skip
assert FULL or agree["diagonal"] + 0.05 < agree["map"] < 0.97

# %% [markdown]
# The map names the word that counts most far more often than a random word would, and more often than the
# diagonal, which is the rule to hold it against. The gold link, which no model has seen, names it more
# often still (it may name several words). And in about every fourth step the map is wrong. That is the sober middle of the debate: a
# map is evidence about what the model uses, and not a proof. (Hiding a word is not neutral either: `<unk>`
# is rare in training, so the damage has a share of surprise in it.) {cite:t}`koehn2017` met a translator,
# German to English, whose maps were off by one word and which translated well; alignment is what attention
# is often *useful* as, not what it is.

# %% [markdown]
# ## Attention dropout
#
# Dropout {cite:p}`srivastava2014` can be applied to the weights themselves: after the softmax each weight is
# set to zero with probability $p$, and the others grow,
#
# $$ \tilde\alpha_{ti} = \frac{m_{ti}}{1-p}\,\alpha_{ti}, \qquad m_{ti} \in \{0, 1\},\; P(m_{ti} = 0) = p $$ (eq-attention-dropout)
#
# In expectation nothing changes; in each single step the row need not sum to 1, so maps are drawn from
# weights *without* dropout. The thought: a model that cannot rely on one position spreads its attention and
# learns what the neighbours know. Test it where a model can memorise: on few training pairs, seen many times.

# %% tags=["hide-input"]
few = CorpusConfig(pairs=1_000)
if FULL:
    parts = {"train": train[:1_000], "valid": valid, "test": test}
    for name, pairs in parts.items():
        rows = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
        (WORK / f"few-{name}.tsv").write_text(rows, encoding="utf-8")
    paths = {name: (str(WORK / f"few-{name}.tsv"),) for name in parts}
    few = CorpusConfig("files", *corpus.languages, **paths)
short = replace(BUDGET, steps=BUDGET.steps // 2, validate_every=BUDGET.steps // 2)
short = short if FULL else replace(short, lr=0.01)
known = read_split(few, "train")
again = Batches(encode_pairs(known, vocabularies), tokens=short.batch_tokens)
rounds = short.steps / len(again)
print(f"{len(known)} training pairs, each seen {rounds:.1f} times")

# %% [markdown]
# Dots, diamonds and bars are those of the contest.
#
# ```{predict} dropout-and-bleu
# ```

# %% tags=["hide-output", "hide-until-dropout-and-bleu", "nbval-ignore-output"]
RATES = (0.0, 0.3)
dropped = {f"{p:.0%}": replace(CONFIG, attention_dropout=p) for p in RATES}
tests = run_trials(
    dropped, WORK / "dropout", few, short, subwords=SUBWORDS, device=DEVICE
)
results = []
for trial in tests:
    on_known = evaluate(Translator.load(trial.folder), known[:300])
    results.append(
        {**trial.row(), "gap": trial.scores["perplexity"] / on_known.perplexity}
    )
UNITS = {
    "model": "",
    "seed": "",
    "bleu": ".1f",
    "perplexity": ".2f",
    "gap": ".2f",
    "entropy": ".2f",
}
rows = [[format(r[name], unit) for name, unit in UNITS.items()] for r in results]
columns = ("dropout", "seed", "BLEU", "perplexity", "validation / training", "entropy")
ResultTable(columns, rows, "Validation; the fifth column divides two perplexities")

# %% mystnb={"image": {"alt": "Three panels against the rate of attention dropout, with a dot for each of three seeds and their mean and standard deviation: validation BLEU, the ratio of validation to training perplexity, and the entropy of attention in nats."}} tags=["hide-input", "hide-output", "hide-until-dropout-and-bleu"]
figure, panels = plt.subplots(3, figsize=(5.8, 5.6))
labels = (
    "validation BLEU",
    "perplexity, validation / training",
    "entropy of attention (nats)",
)
for ax, value, label in zip(panels, ("bleu", "gap", "entropy"), labels):
    plot_spread(results, value, label=label, ax=ax)
    ax.set_ylabel("dropout")
plt.show()


# %% tags=["hide-output", "hide-until-dropout-and-bleu", "nbval-ignore-output"]
def per_rate(value):
    return {rate: [r[value] for r in results if r["model"] == rate] for rate in dropped}


rows = []
for value, label in zip(("bleu", "gap", "entropy"), labels):
    none, most = per_rate(value)["0%"], per_rate(value)["30%"]
    verdict = "apart" if is_apart(none, most) else "overlap: no difference seen"
    rows.append((label, f"{mean(none):.2f}", f"{mean(most):.2f}", verdict))
columns = ("mean of", "dropout 0 %", "dropout 30 %", "ranges")
display(ResultTable(columns, rows, "With dropped weights and without"))
assert FULL or max(per_rate("entropy")["0%"]) < min(per_rate("entropy")["30%"])

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# With three seeds, the rule is: a difference is worth a sentence only if the ranges do not overlap. Two
# sentences are earned. Models trained with dropped weights spread their attention more, and since entropy
# is measured *without* dropout, it is the model that has learned to look differently. And here dropout
# *costs*: validation BLEU is lower with 30 % than without. The ratio of validation to training perplexity
# overlaps: no difference seen in how much they memorise.
#
# </details>
#
# Keep the scale in mind. After half the updates of the contest these models have
# less than half the points of that contest, so this is about the beginning of a training. Whether attention dropout helps in a
# long one depends on how much a model memorises, on the other dropout (there is some in the features) and
# on the data. This is one small setting, judged on the 250 validation sentences of its corpus.

# %% [markdown]
# ## Decoding
#
# The model gives probabilities; what to write is a choice. Greedy search takes the likeliest word each time.
# A beam keeps several beginnings. Sums of log-probabilities favour short sentences, so they are divided by a
# length penalty, and a coverage penalty asks that every source word be looked at ({eq}`eq-beam-score`,
# {eq}`eq-length-penalty`, {eq}`eq-coverage-penalty`). **Sampling** draws each word $w$ with probability
#
# $$ p(w) = \frac{e^{z_w/\tau}}{\sum_{w'} e^{z_{w'}/\tau}} $$ (eq-sampling)
#
# from logits $z$ and temperature $\tau$, below 1 to be careful, often from a part of the vocabulary alone:
# from the $k$ likeliest words (**top-k**), or from the **nucleus**, the fewest likeliest words whose
# probabilities sum to at least $P$ {cite:p}`holtzman2020`. With $p = (0.5, 0.3, 0.15, 0.05)$ and $P = 0.9$,
# the nucleus is the first three, and they are drawn with $0.53$, $0.32$ and $0.16$. Try greedy first: a
# search can only choose among what the model finds likely.

# %%
choices = {
    "greedy": {"beam": 1},
    "beam 5, sums": {"length_penalty": 0.0},
    "beam 5, length 0.6": {},
    "beam 5, length 1.0": {"length_penalty": 1.0},
    "beam 5, coverage 0.2": {"coverage_penalty": 0.2},
}
draws = {
    "temperature 0.5": {"temperature": 0.5},
    "temperature 1": {},
    "top-p 0.9": {"top_p": 0.9},
}

# %% tags=["nbval-ignore-output"]
sources, references = [p.source for p in valid[:300]], [p.target for p in valid[:300]]
written = {name: translator.translate(sources, **how) for name, how in choices.items()}
for name, how in draws.items():
    written[f"sampled, {name}"] = [s[0] for s in translator.sample(sources, **how)]
rows = []
for name, found in written.items():
    score = corpus_bleu([t.text for t in found], references).score
    tokens, logp = mean(len(t.tokens) for t in found), mean(t.score for t in found)
    rows.append((name, f"{score:.1f}", f"{tokens:.2f}", f"{logp:.2f}"))
columns = ("search", "BLEU", "tokens", "mean log-probability")
ResultTable(columns, rows, f"{len(sources)} validation sentences, one run")


# %%
def logp(name):
    return mean(t.score for t in written[name])


assert logp("beam 5, sums") >= logp("greedy") - 1e-3
assert logp("sampled, temperature 1") < logp("greedy")
nucleus = torch.tensor([0.5, 0.3, 0.15])
assert [round(p, 2) for p in (nucleus / nucleus.sum()).tolist()] == [0.53, 0.32, 0.16]

# %% [markdown]
# The beam finds sentences that the *model* likes better (the last column), which is what a search is for;
# whether readers like them better, BLEU has to say. This is one model and one set of sentences: the choices
# of length and coverage lie within a point of each other, which says nothing for any of them. These
# sentences are short: the length penalty is meant to undo the search's preference for short translations
# {cite:p}`wu2016`, and here there is little to undo. Sampling
# is for variety, and here it costs BLEU, less at a low temperature. No choice of search mends a model that
# was only ever shown true beginnings: that is a matter of training.
#
# From the command line, with the three best and their scores:

# %% tags=["nbval-ignore-output"]
(WORK / "in.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
shell("seqattn translate --run main --file in.txt --n-best 3")
shell("seqattn translate --run main --file in.txt --samples 2 "
      "--temperature 0.7 --top-k 20")  # fmt: skip

# %% [markdown]
# ## Is the difference luck?
#
# `seqattn compare` translates the same sentences with several runs. The **paired bootstrap**
# {cite:p}`koehn2004` then asks how much hangs on the choice of sentences: it draws the *sentences* again
# and again, as many as there are, with replacement, and scores all runs on each draw. A small p says that,
# if both runs were equally good, so large a difference would be rare among sets of sentences drawn like
# this one. With 200 draws the smallest possible p is $1/201 = 0.005$. It says nothing of the luck of
# *seeds*. For that, train several, and look at the dots of the contest again.

# %% tags=["nbval-ignore-output"]
shell("seqattn compare contest/Bahdanau-1 contest/coverage-1 contest/Luong-1 "
      "--beam 1 --samples 200 --split valid")  # fmt: skip

# %% [markdown]
# (one-look-at-the-test-pairs)=
# ## One look at the test pairs
#
# All is chosen, so the test pairs may speak: once, for every model of the contest and for the main run,
# with all sentences and without those that are one word away from a training sentence.

# %% tags=["nbval-ignore-output"]
final = run_trials(
    MODELS, WORK / "contest", corpus, BUDGET,
    split="test", subwords=SUBWORDS, device=DEVICE,
)  # fmt: skip
tested = {name: [t.scores["bleu"] for t in final if t.name == name] for name in MODELS}
rows = [(name, *(f"{b:.1f}" for b in scores)) for name, scores in tested.items()]
display(ResultTable(("model", "seed 1", "seed 2", "seed 3"), rows, "BLEU, test pairs"))
nearby = set(near["test"])
far = [pair for pair in test if pair not in nearby]
whole_test, without_near = (
    evaluate(translator, pairs, beam=5) for pairs in (test, far)
)
print(
    f"main run, one seed, beam 5: BLEU {whole_test.bleu:.1f} of {len(test)} sentences,"
)
print(f"{without_near.bleu:.1f} of the {len(far)} not near; {whole_test.signature}")

# %% [markdown]
# The test pairs tell the same as the validation pairs: the additive models and the Transformer are ahead of
# Luong's, and that one of the fixed vector, with no range in common. Leaving out the sentences that are one
# word away from a training sentence changes the main run's score by less than two points, so its score does
# not rest on them.
#
# The model that comes with the package, larger and trained for longer, is judged on test sentences of its
# own; it is one training, too:

# %% tags=["nbval-ignore-output"]
shell("seqattn evaluate --run toy")

# %% [markdown]
# ## Full mode: real sentences
#
# Set `FULL = True` above and run everything, or use the commands, one training each:
#
# ```bash
# seqattn train --data multi30k --pair de-en --preset bahdanau --seed 1 --run runs/bahdanau-1
# seqattn train --data multi30k --pair de-en --preset transformer-tiny --seed 1 --run runs/tiny-1
# accelerate launch -m seqattn train --data multi30k --preset luong     # several GPUs
# seqattn evaluate --run runs/bahdanau-1 --beam 5                       # sacrebleu, cased
# seqattn evaluate --run runs/bahdanau-1 --beam 5 --tokenized           # to compare with older papers
# seqattn compare runs/bahdanau-1 runs/tiny-1 --out both
# ```
#
# The data are downloaded once, with a checksum (set `SEQATTN_DATA` to a folder that has them). Ctrl-C
# saves; `--resume --run runs/bahdanau-1` goes on. What long trainings reach, and from how many seeds, the
# book keeps as a file that a command fills from the run folders; [this page](training_runs.md) has every
# seed, the logs and the exact commands. The next cell prints that file.

# %%
record = measured("multi30k")
rows, scored = [], {}
for group in record["groups"]:
    for name, found in group["tests"].items():
        bleu_, width = found["bleu"]["mean"], found["bleu"]["spread"]
        spread = "" if width is None else f" ± {width:.2f}"
        scored.setdefault(found["signature"].replace("|", " "), []).append(
            f"{name} {group['direction']}"
        )
        rows.append((group["preset"], group["direction"], name, f"{bleu_:.2f}{spread}",
                     len(group["seeds"])))  # fmt: skip
columns = ("preset", "direction", "test", "BLEU", "seeds")
note = "Where there is one seed, the luck of seeds is unknown. To collect: python -m "
note += "benchmarks.quality. How BLEU was counted: "
note += "; ".join(
    f"{', '.join(dict.fromkeys(names))}: {how}" for how, names in scored.items()
)
ResultTable(columns, rows, "Multi30k, test sentences", note)

# %% [markdown]
# Each row with one seed is one training. The p of a bootstrap would not change that: two rows may differ by
# the luck of their seeds alone, and the contest above shows how far two seeds can be apart.
#
# ## Where it breaks
#
# - **The test set in the vocabulary, or in any choice.** Learn pieces from training
#   sentences; choose by validation; test once.
# - **Loss against BLEU.** Teacher-forced loss judges the next word after a true beginning. It falls smoothly
#   while free-running output is still useless, and *training* loss can go on falling when BLEU no longer rises.
# - **Scores that may not stand side by side**: other tokenisation, other case, a sentence's score beside a
#   corpus's, training loss under dropout beside validation loss without.
# - **Five changes called one.** Luong's model trails Bahdanau's in the contest. Asking later, changed alone, was
#   no handicap.
# - **A good-looking map of a bad model.** Look back at the contest: neither sharpness nor alignment error is
#   BLEU.
# - **What is not reproducible.** Seeds fix the weights, dropout and the order of batches. Another number of
#   threads, another processor or a GPU sums in another order, and a training amplifies the last digits until the
#   weights are others.

# %% [markdown]
# Before you ship:
#
# | check | how |
# |---|---|
# | special tokens in their places; `<eos>` ends every target; the shift is by one | `seqattn doctor` |
# | vocabulary from training text, saved with the weights | `seqattn doctor`; it is inside the checkpoint |
# | padding masked in attention, loss and packing, at training and in use | `seqattn doctor` |
# | teacher forcing in training, free running in evaluation; both measured | `metrics.jsonl`: perplexity and BLEU |
# | gradients clipped; loss finite | `norm` in `metrics.jsonl`; the run stops at NaN |
# | greedy, then a beam | `seqattn evaluate`, `--beam 5` |
# | the maps looked at, wrong outputs first | `seqattn translate --map map.png` |
# | score with signature, several seeds, studies on validation pairs, test set touched once | `seqattn evaluate`, `run_trials` |

# %% [markdown]
# ## Check yourself
#
# ```{self-check} le-le-le
# ```
#
# ```{self-check} one-seed
# ```
#
# ```{self-check} more-diffuse
# ```
#
# ```{self-check} never-looked-at
# ```
#
# ```{self-check} rows-under-dropout
# ```
#
# ```{self-check} what-to-credit
# ```

# %% [markdown]
# ## What you now know
#
# - The path from sentence pairs to a translator is ten lines, and a run folder holds all that is needed to
#   repeat, resume, judge and use it.
# - Attention begins uniform and sharpens; alignment comes along because it helps to predict.
# - At one small budget mechanisms differ in what they reach. To say *why*, change one thing at a time; two seeds
#   of one mechanism already draw different maps.
# - A fixed vector keeps a smaller part of its score as sentences grow, within the lengths that it saw. Beyond
#   them attention fails as well; there length and number of joints grow together, and this page cannot part them.
# - A map shows where the context came from. Whether that word counted is another experiment.
# - A difference without a spread is an anecdote, and a rate without a simple rule beside it a riddle.
#
# **Sources**
#
# - The models: {cite:t}`bahdanau2015`, {cite:t}`luong2015`, {cite:t}`vaswani2017`; coverage:
#   {cite:t}`tu2016`, {cite:t}`see2017`.
# - Subwords: {cite:t}`sennrich2016`, {cite:t}`radford2019`. Sampling: {cite:t}`holtzman2020`. Label smoothing: {cite:t}`szegedy2016`. Clipping: {cite:t}`pascanu2013`.
# - BLEU: {cite:t}`papineni2002`; signatures: {cite:t}`post2018`; chrF: {cite:t}`popovic2015`. Penalties of the
#   beam: {cite:t}`wu2016`. Bootstrap: {cite:t}`koehn2004`.
# - IBM Model 1: {cite:t}`brown1993`; alignment error rate: {cite:t}`och2003`; grow-diag: {cite:t}`koehn2003`.
# - Attention as explanation: {cite:t}`jain2019`, {cite:t}`serrano2019`, {cite:t}`wiegreffe2019`; attention and
#   alignment: {cite:t}`koehn2017`, {cite:t}`ghader2017`.
# - Multi30k: {cite:t}`elliott2016`, {cite:t}`elliott2017`.
