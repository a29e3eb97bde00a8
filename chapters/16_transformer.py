# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 45
#     covers: [F-30, M-16, D-14, E-04, E-05]
#     exercise: 16_transformer
# ---

# %% [markdown]
# # 16. The Transformer, and what runs today
#
# You have met attention, masks and positions. Here is what stands between them, and the whole: the
# **Transformer**. You let a trained one write with a cache, and read today's **large language models** (LLMs) as a
# list of small changes to it.
#
# **You need** several heads from [chapter 13](13_heads.ipynb), a causal mask ([chapter
# 14](14_self_attention.ipynb)) and positions ([chapter 15](15_positions.ipynb)). **This chapter covers**
# residual connections and norms, both blocks, a language model, the KV cache, softmax in blocks, linear attention, and
# what has changed since.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## The whole Transformer
#
# A Transformer is two stacks of blocks. The **encoder** reads the source, all words at once. The **decoder**
# writes the target, one word after another. Read each column from below.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The Transformer as two columns of boxes, read from below. Left, the encoder: source words, embedding, a plus where the positional encoding is added, then a block that is repeated N times. In it a norm, self-attention with arrows q, k and v, and a plus; a norm, feed-forward and a plus. An arrow called residual leads round each norm and its sub-layer to the plus. Above the block stands a norm. Right, the decoder: target so far, embedding, the same positional encoding, and a block with three sub-layers: masked self-attention, cross-attention, feed-forward, each with its norm and residual arrow. Above it norm, linear, softmax, and the probabilities of the next word, from which a dashed arrow returns to the target so far. Arrows k and v lead from the encoder's last norm into each cross-attention, whose q comes from the decoder. Dashed arrows lead from the padding mask into the encoder's self-attention and into cross-attention, and from the causal mask into the decoder's masked self-attention."}}
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from seqattn import Memory, causal_mask, padding_mask
from seqattn.attention import linear_attention, online_softmax_attention
from seqattn.data import (
    FIVE,
    TINY,
    Batches,
    Vocabularies,
    encode_pairs,
    measured,
    tokenize,
    toy_corpus,
)
from seqattn.models.transformer import DecoderLayer, EncoderLayer, sinusoidal_positions
from seqattn.plots import (
    CONTEXT,
    GREEN,
    GREY,
    INK,
    KEYS,
    ORANGE,
    PINK,
    QUERY,
    SCORES,
    WEIGHTS,
    ResultTable,
    experiment_card,
    name_lines,
    plot_transformer,
    use_style,
)
from seqattn.widgets import CacheCounter, Recency, Unrolled

use_style()
torch.set_printoptions(precision=3, sci_mode=False, linewidth=90)
stored = measured("transformer")


def low_high(values, form=".2f"):
    return f"{min(values):{form}} to {max(values):{form}}"


plot_transformer()
plt.show()

# %% [markdown]
# | part | built in |
# |---|---|
# | **embedding**: a learned vector for each word | [chapter 1](01_bottleneck.ipynb) |
# | **positional encoding**: tells each word its place | [chapter 15](15_positions.ipynb) |
# | **self-attention**: queries, keys and values of one sequence | [chapter 14](14_self_attention.ipynb) |
# | **cross-attention**: the target's queries, the source's keys and values | [chapter 14](14_self_attention.ipynb) |
# | **multi-head attention** (all of these): scaled dot products, in several heads | [chapter 5](05_scaled.ipynb), [chapter 13](13_heads.ipynb) |
# | **padding mask**: no weight on pads; **causal mask**: none on later words | [chapter 2](02_soft_addressing.ipynb), [chapter 14](14_self_attention.ipynb) |
# | **linear**, **softmax**: a number for each word of the vocabulary, then its probability | [chapter 3](03_additive.ipynb) |
# | **feed-forward network**, **residual connection** to each +, **norm** | here |
#
# This is the package's model by default, with **pre norm**: a norm before each part. The original
# ({cite:t}`vaswani2017`, figure 1) has **post norm**: a norm after each + of a block, “Add & Norm”, and none after
# the stacks. The decoder is **autoregressive**: the word that it writes is what it reads next (the long dashed
# line). In training the whole target is known, and all steps run at once.

# %% [markdown]
# ## By hand
#
# What a part adds may be large or small, so a Transformer **normalises**. **Layer norm** takes the $d$ numbers
# of *one* word, subtracts their mean and divides by the root of their variance. Then it multiplies by a
# learned gain $g$ and adds a learned bias $b$:
#
# $$ \mathrm{norm}(x) = g \odot \frac{x - \bar x}{\sqrt{\frac1d\sum_k (x_k - \bar x)^2 + \varepsilon}} + b $$ (eq-layer-norm)
#
# The small number $\varepsilon$ keeps the root away from 0. The numbers 1, 2, 3, 6 have mean 3 and variance
# 3.5; they become −1.07, −0.53, 0, 1.60. Now take two numbers, 1 and 3: they become −1 and 1. And 1 and
# 100?
#
# ```{predict} two-numbers
# ```

# %% tags=["hide-output", "hide-until-two-numbers"]
for numbers in ([1.0, 2.0, 3.0, 6.0], [1.0, 3.0], [1.0, 100.0]):
    print(numbers, "→", F.layer_norm(torch.tensor(numbers), [len(numbers)]))

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# Of two numbers that differ by far more than $\sqrt\varepsilon$, nothing but their order survives. So this page leaves the book's two-dimensional
# states unnormalised.
#
# </details>

# %% [markdown]
# ## Two places for a norm
#
# A Transformer is a stack of **sub-layers** $f$. One kind is attention. The other is a **feed-forward
# network** (FFN, or MLP), which treats each word by itself:
#
# $$ f(x) = W_2\,\max(0,\ W_1 x + b_1) + b_2 $$ (eq-feed-forward)
#
# Its inner layer is often four times as wide as $x$. Each sub-layer *adds* to the states, so a straight
# path runs past it: the **residual connection**, or **skip connection**. The original paper normalises the sum
# (“Add & Norm”). This is **post norm**:
#
# $$ x' = \mathrm{norm}\big(x + f(x)\big) $$ (eq-post-norm)
#
# Others, such as GPT-2 ({cite:t}`radford2019`, section 2.3), normalise what a sub-layer reads. They normalise
# once more at the very end, where the states have grown, as sub-layers add to them. This is **pre norm**:
#
# $$
# \begin{aligned}
# x' &= x + f\big(\mathrm{norm}(x)\big) \\
# \frac{\partial x'}{\partial x} &= I + \frac{\partial f(\mathrm{norm}(x))}{\partial x}
# \end{aligned}
# $$ (eq-pre-norm)
#
# The $I$ is what matters. Multiply these derivatives over all sub-layers, and one term of the product is
# $I$ alone: **from the last norm a path leads back to each layer, and no other norm stands on it.** In
# {eq}`eq-post-norm` each such path goes through a norm at every sub-layer: there the derivative is
# $J\,(I + \partial f/\partial x)$, where $J$ is that of the norm.
#
# Here are both blocks of the drawing, with the weights of the package's layers:


# %%
def encoder_block(layer, x, mask):
    y = layer.self_norm(x)
    x = x + layer.self_attention(y, mask=mask).context
    return x + layer.feed_forward(layer.feed_norm(x))


def decoder_block(layer, x, states, source_mask):
    y = layer.self_norm(x)
    causal = causal_mask(x.shape[1])[None]
    x = x + layer.self_attention(y, mask=causal).context
    y = layer.cross_norm(x)
    x = x + layer.cross_attention(y, states, mask=source_mask).context
    return x + layer.feed_forward(layer.feed_norm(x))


# %% tags=["hide-input"]
torch.manual_seed(0)
encoder, decoder = (
    kind(12, 3, 20, 0.0, 0.0, "pre") for kind in (EncoderLayer, DecoderLayer)
)
x, y, mask = (
    torch.randn(2, 7, 12),
    torch.randn(2, 5, 12),
    padding_mask(torch.tensor([7, 4])),
)
torch.testing.assert_close(encoder(x, mask), encoder_block(encoder, x, mask))
source = decoder.cross_attention.remember(x, mask=mask)
ours, _, _ = decoder(y, source, mask=causal_mask(5)[None])
torch.testing.assert_close(ours, decoder_block(decoder, y, x, mask))

theirs = nn.TransformerEncoderLayer(12, 3, 20, 0.0, batch_first=True, norm_first=True)
attention = encoder.self_attention
with torch.no_grad():
    for kind in ("weight", "bias"):
        parts = [
            getattr(part, kind)
            for part in (attention.query, attention.key, attention.value)
        ]
        getattr(theirs.self_attn, f"in_proj_{kind}").copy_(torch.cat(parts))
pairs = (
    (theirs.self_attn.out_proj, attention.output),
    (theirs.linear1, encoder.feed_forward[0]),
    (theirs.linear2, encoder.feed_forward[2]),
    (theirs.norm1, encoder.self_norm),
    (theirs.norm2, encoder.feed_norm),
)
for one, other in pairs:
    one.load_state_dict(other.state_dict())
expected = theirs(x, src_key_padding_mask=~mask)
torch.testing.assert_close(encoder(x, mask)[mask], expected[mask])
print("encoder block: ours, the package's and PyTorch's agree")
print("decoder block: ours and the package's agree")
Unrolled(
    orders=["transformer", "bahdanau"],
    phase="decode",
    event=14,
    title="A step without recurrence",
)

# %% [markdown]
# The figure shows one block of each kind, in a trained translator of a tiny language with one head. Each box is a vector:
#
# - $a_i$ and $u_t$: word plus position, of the source and of the target;
# - $z_i$ and $s_t$: these after self-attention, whose result is added;
# - $c_t$: the context that cross-attention finds;
# - $h_i$ and $r_t$: what the two blocks put out ($h_i$ after the last norm).
#
# A hat means “normalised”; $f$ is the feed-forward network. Vectors are columns here, so matrices stand on their left, and
# embeddings are multiplied by $\sqrt d$ ([chapter 15](15_positions.ipynb)). The figure opens at the third word. Press *Next* and
# watch what each sub-layer adds. Then choose Bahdanau's order and look for the arrow that the Transformer does
# without: the one from state to state.
#
# ## Does it matter where the norm stands?
#
# A small translator of toy sentences with at most 8 words was trained in four ways. Its norm is pre or post; its training has a **warm-up**, in which the
# learning rate grows from 0 over the first {{ stored["card"]["updates_of_warm_up"] }} updates, or it starts
# at the full rate of {{ stored["card"]["learning_rates"][0] }}. In all four the rate also falls along a
# cosine, to 0 at the last update. All else is the
# same (apart from the two final norms, which only pre norm has): three trainings each, from different initial weights, {{ stored["card"]["updates"][0] }}
# updates. Two more rows are of longer trainings.
#
# ```{predict} which-fails
# ```

# %% tags=["hide-input", "hide-output", "hide-until-which-fails"] mystnb={"image": {"alt": "Training loss against updates for four ways to train, three lines each, at learning rate 0.007. Three of the four fall together; post norm without warm-up stays far above them."}}
rows, norms, rules = [], stored["norms"], stored["simple rules"]
for setting, arms in norms.items():
    for name, runs in arms.items():
        cells = [
            low_high([run["bleu"] for run in runs], ".1f"),
            low_high([run["loss"] for run in runs]),
        ]
        rows.append([name, setting.replace("1000", "1,000"), *cells])
rows.append(["each word by itself", "–", f"{rules['word by word, BLEU']:.1f}", "–"])
rows.append(["frequencies alone", "–", "–", f"{rules['frequencies, loss']:.2f}"])
columns = "translator", "learning rate", "BLEU", "loss, nats a token"
seeds = "Three seeds each, lowest to highest"
some, split = (stored["card"][k] for k in ("sentences_translated", "pairs"))
display(
    ResultTable(
        columns,
        rows,
        f"{seeds}; BLEU on {some} test sentences, loss on {split['test']}",
    )
)
short = norms["0.007, 250 updates"]
shown = ("pre, without warm-up", "post, without warm-up")
rows = [
    [pair.source, *(short[name][0]["five"][i] for name in shown)]
    for i, pair in enumerate(FIVE)
]
display(ResultTable(("", *shown), rows, "The book's five sentences, the first seed"))

figure, ax = plt.subplots(figsize=(6.2, 3.6))
each = stored["card"]["updates_a_point_of_a_curve"]
for (name, runs), colour in zip(short.items(), (KEYS, GREEN, PINK, ORANGE)):
    for label, run in zip((name, None, None), runs):
        at = [each * (i + 1) for i in range(len(run["curve"]))]
        dashes = "--" if "without" in name else "-"
        ax.plot(at, run["curve"], color=colour, lw=1.4, ls=dashes, label=label)
ax.set(xlabel="updates", ylabel="training loss, nats a token")
name_lines(ax)
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **Without a warm-up, post norm learns late; pre norm can do without one.** After {{ stored["card"]["updates"][0] }}
# updates, post norm without a warm-up is behind: all three seeds end below the rule that translates each word by
# itself. With a warm-up it comes near pre norm: its loss is higher in all three seeds; its BLEU is lower,
# too, though there the ranges nearly touch. (Luck alone would do that one time in ten; [chapter 17](17_evaluation.ipynb).) Of pre norm
# without a warm-up, the loss is narrowly higher in all three seeds, and the ranges of BLEU overlap.
#
# **Lost, or late?** The rows of {{ f"{stored['card']['updates'][1]:,}" }} updates say: late. In these new trainings,
# whose rate falls more slowly, all three seeds leave the rule behind. With the smaller rate of
# {{ stored["card"]["learning_rates"][1] }} they do better still, and lie close together.
# {cite:t}`xiong2020` give a reason: at the start, the gradients near the output of a post-norm model are large.
#
# In {cite:t}`vaswani2017`, section 5.3, the rate rises for 4,000 updates and then falls as one over the square root of
# their number; much code calls this the *Noam* schedule.
#
# This was one small model, and pre norm was not trained as long. (For the rule, BLEU was counted over tokens; over
# text, as for the translators, it is about half a point lower.)
#
# </details>

# %% [markdown]
# ## The decoder alone: a language model
#
# Leave out cross-attention, and a decoder block is an encoder block with a causal mask. A stack of
# such blocks is a **decoder-only language model**: from the words so far, it gives each possible next word a
# probability. GPT-2 is one, and so are many LLMs after it. Here is a small one, made of the package's layers.


# %%
class LanguageModel(nn.Module):
    def __init__(self, words, size=48, heads=4, layers=2, mask=causal_mask):
        super().__init__()
        self.embed, self.size, self.mask = nn.Embedding(words, size), size, mask
        shape = (size, heads, 4 * size, 0.0, 0.0, "pre")
        self.blocks = nn.ModuleList(EncoderLayer(*shape) for _ in range(layers))
        self.norm, self.read = nn.LayerNorm(size), nn.Linear(size, words)

    def forward(self, words):
        x = self.embed(words) + sinusoidal_positions(words.shape[1], self.size)
        for block in self.blocks:
            x = block(x, self.mask(words.shape[1])[None])
        return self.read(self.norm(x))


# %% [markdown]
# It learns the French side of the toy corpus, short sentences only, in a few seconds (the data are in the folded cell). The table compares it
# with simple rules: the frequencies of words; a **bigram** model, which counts which word followed which;
# and a **trigram** model, which counts what followed each pair. How each
# mixes with the next simpler one is chosen on validation sentences. **Perplexity** is $e$ to the power of the
# loss: the number of equally probable words from which the model seems to choose.


# %%
def learn(seed, updates=200, mask=causal_mask):
    torch.manual_seed(seed)
    model = LanguageModel(n_words, mask=mask)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    epochs = (batch for epoch in range(99) for batch in batches["train"].epoch(epoch))
    for _, batch in zip(range(updates), epochs):
        loss = cross_entropy(model(batch.inputs), batch.targets)
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    return model.eval()


# %% tags=["hide-input", "nbval-ignore-output"]
corpus = {
    split: [pair for pair in pairs if len(tokenize(pair.source, "en")) <= 8]
    for split, pairs in toy_corpus(12_000).items()
}
vocabularies = Vocabularies.learn(corpus["train"], ("en", "fr"))
n_words = len(vocabularies.target)
batches = {
    split: Batches(encode_pairs(pairs, vocabularies), tokens=512)
    for split, pairs in corpus.items()
}


def cross_entropy(logits, targets, reduction="mean"):
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=0, reduction=reduction
    )


def perplexity(logits_of, split):
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in batches[split].epoch(0):
            total += cross_entropy(logits_of(batch.inputs), batch.targets, "sum").item()
            count += batch.tokens
    return math.exp(total / count)


pairs_seen, triples_seen = torch.zeros(n_words, n_words), {}
for batch in batches["train"].epoch(0):
    real = batch.targets != 0
    before = F.pad(batch.inputs, (1, 0))[:, :-1]
    for a, b, c in zip(
        *(x[real].tolist() for x in (before, batch.inputs, batch.targets))
    ):
        pairs_seen[b, c] += 1
        triples_seen.setdefault((a, b), torch.zeros(n_words))[c] += 1
single = (pairs_seen.sum(0) + 1) / (pairs_seen.sum() + n_words)


def bigram(simpler):
    table = pairs_seen + simpler * single
    return lambda words: (table / table.sum(1, keepdim=True)).log()[words]


def trigram(simpler, fallback):
    def logits_of(words):
        rows, before = fallback(words).exp(), F.pad(words, (1, 0))[:, :-1]
        for at in [(b, t) for b in range(len(words)) for t in range(words.shape[1])]:
            followed = triples_seen.get((before[at].item(), words[at].item()))
            if followed is not None:
                rows[at] = (followed + simpler * rows[at]) / (followed.sum() + simpler)
        return rows.log()

    return logits_of


def chosen(model):
    return model(min((1, 3, 10, 30, 100), key=lambda t: perplexity(model(t), "valid")))


pair_model = chosen(bigram)
found = {
    "frequencies": perplexity(
        lambda words: single.log().expand(*words.shape, -1), "test"
    ),
    "bigram": perplexity(pair_model, "test"),
    "trigram": perplexity(chosen(lambda t: trigram(t, pair_model)), "test"),
}


def own_word(n):
    return torch.eye(n, dtype=torch.bool)


models = [learn(seed) for seed in (1, 2, 3)]
model, learned = models[0], [perplexity(model, "test") for model in models]
alone = [perplexity(learn(seed, mask=own_word), "test") for seed in (1, 2, 3)]
rows = [[name, f"{value:.1f}"] for name, value in found.items()]
rows.append(["language model, 3 seeds", low_high(learned, ".1f")])
rows.append(["the same, seeing only its own word", low_high(alone, ".1f")])
ResultTable(("model", "perplexity"), rows, "Test sentences")

# %% [markdown]
# Reading further back than one word pays: kept to its own word, the same model has a higher perplexity in
# all three seeds, and so has the bigram model. But the trigram model comes close to the language model. What *this* model cannot do is translate: nothing tells it what to say. A decoder-only
# *translator* reads the source as the first part of the same sequence, and attends to it by the same
# self-attention.
#
# A simpler one, for German, has one layer of attention and no more:

# %%
caption = measured("prefixes")["maps"][0]
for word, p in zip(caption["reads"][1:], caption["next"]):
    print(f"{word} {p:.2f}", end="  ")

# %% [markdown]
# This is a real caption, read by the small model of [chapter 14](14_self_attention.ipynb): each
# word with its probability, given the words before it.
#
# ## A cache
#
# A language model writes one word after another, and each new word attends to all the words before it. At each
# step the model can compute these words again, or it can keep their keys and values: in a **KV cache**
# (key/value cache).

# %% tags=["hide-input"]
CacheCounter(
    caption="Answer, then move T. Afterwards let eight heads share one pair of keys "
    "and values: the multiplications fall a little, the cache shrinks to an eighth."
)

# %% [markdown]
# Which of the old words' vectors does a new word need? It brings its own query; from earlier words it needs
# only keys and values, in every layer. So at step $t$ a layer computes, for each head,
#
# $$
# \begin{aligned}
# &q_t, k_t, v_t \text{ from } x_t \\
# &c_t = [v_1 \dots v_t]\,\mathrm{softmax}\Big(\frac{[k_1 \dots k_t]^\top q_t}{\sqrt{d_h}}\Big)
# \end{aligned}
# $$ (eq-kv-cache)
#
# After $T$ words in $L$ layers, with $G$ heads of keys and values, the cache of a sentence holds
#
# $$ 2 \cdot L \cdot T \cdot G \cdot d_h \text{ numbers}. $$ (eq-cache-size)
#
# With $G$ equal to the number of query heads this is $2LTd$. With fewer, neighbouring query heads share
# keys and values: **grouped-query attention** (GQA, {cite:t}`ainslie2023`), or, with one pair for all,
# **multi-query attention** ({cite:t}`shazeer2019`). In code, keys and values are repeated for their heads, by
# `keys.repeat_interleave(heads // groups, 1)`.

# %% [markdown]
# And the work? Let $P$ be the multiplications of one word by itself: $4d^2$ for the four projections, if
# each head has keys and values of its own, and $8d^2$ for a feed-forward network whose inner layer is four times as wide. At step $t$ its scores take $td$
# more, and its weighted sum $td$. Without a cache, step $t$ computes all $t$ words, and the whole
# square of scores, since the mask comes after the products:
#
# $$
# \begin{aligned}
# \text{with a cache} &\quad L \sum_{t=1}^{T} (P + 2\,t\,d) \\
# \text{without} &\quad L \sum_{t=1}^{T} (t P + 2\,t^2 d)
# \end{aligned}
# $$ (eq-cache-work)


# %%
def step(model, word, past):
    t, kept = (past[0].keys.shape[2] if past else 0), []
    x = model.embed(word)[:, None] + sinusoidal_positions(1, model.size, start=t)
    for depth, block in enumerate(model.blocks):
        y = block.self_norm(x)
        seen = block.self_attention.remember(y)
        if past:
            old = zip(past[depth][:2], seen[:2])
            seen = Memory(*(torch.cat(pair, 2) for pair in old))
        x = x + block.self_attention(y, seen, need_weights=False).context
        x = x + block.feed_forward(block.feed_norm(x))
        kept.append(seen)
    return model.read(model.norm(x))[:, 0], kept


# %% tags=["hide-input"]
with torch.no_grad():
    torch.manual_seed(0)
    words, past, logits, T = torch.randint(4, n_words, (1, 40)), None, [], 40
    # PyTorch's counter knows the parts of attention, not the fused operator.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as with_cache:
        for t in range(T):
            one, past = step(model, words[:, t], past)
            logits.append(one)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as without:
        for t in range(1, T + 1):
            model(words[:, :t])
    off = (torch.stack(logits, 1) - model(words)).abs().max().item()
    text, past, word = [], None, torch.ones(1, dtype=torch.long)
    while len(text) < 15 and word != 2:
        scores, past = step(model, word, past)
        word = scores.argmax(-1)
        text.append(word.item())
d, L = model.size, len(model.blocks)
P, steps = 12 * d * d, torch.arange(1, T + 1)
readout = d * n_words
counted = {
    "with the cache": (
        with_cache.get_total_flops() // 2,
        L * (T * P + 2 * d * steps.sum()) + T * readout,
    ),
    "without": (
        without.get_total_flops() // 2,
        L * (P * steps.sum() + 2 * d * (steps**2).sum()) + readout * steps.sum(),
    ),
}
print(f"logits with and without the cache differ by at most {off:.0e}")
for name, (multiplied, formula) in counted.items():
    print(f"{name:15s} {multiplied:12,} counted, {int(formula):12,} by the formula")

# %% tags=["nbval-ignore-output"]
print("its likeliest words, one by one:", vocabularies.target.decode(text))

# %% [markdown]
# The formula is {eq}`eq-cache-work`, plus the layer that reads out words. The package's Transformer keeps such a cache in `step`. We counted its multiplications and
# its calls of PyTorch's operators, with the cache and when it computes all words anew, each time without a map. We
# also timed both ways, {{ stored["card"]["times_timed"] }} times each.

# %% tags=["hide-input"]
rows = []
for words_written, run in stored["cache"].items():
    saved = run["multiplications"]["without"] / run["multiplications"]["with"]
    calls = (f"{run['calls'][way]:,}" for way in ("with", "without"))
    rows.append(
        [words_written, f"{saved:.0f}", *calls, low_high(run["ratios of time"], ".1f")]
    )
columns = (
    "words",
    "times fewer multiplications",
    "calls with",
    "calls without",
    "times less processor time",
)
title = "What the cache saves; d = 64, two layers, one sentence, one thread"
display(ResultTable(columns, rows, title), experiment_card(stored["card"]))

# %% [markdown]
# **In a small model the cache saves far less time than multiplications.** The likely reason: each step runs nearly
# the same operators, on one word or on all. The cache saves only one call in twenty, and each call costs time,
# however little it computes.

# %% [markdown]
# ## Block by block
#
# With a cache, a step has few scores. In training all $T^2$ of them are there at once, and on a GPU much of
# the time goes into moving them to and from memory, not into computing them ({cite:t}`dao2022`, section 2.2).
# Can the softmax be computed without ever holding a whole row? Read the keys in blocks. For each query keep the largest
# score so far, $m$; the sum of the exponentials, $z$; and the sum of the values, each times its
# exponential, $a$. Both sums are relative to $m$. A block with scores $e_i$ changes the three to
#
# $$
# \begin{aligned}
# m' &= \max(m, \max_i e_i) \\
# z' &= e^{m - m'} z + \sum_i e^{e_i - m'} \\
# a' &= e^{m - m'} a + \sum_i e^{e_i - m'} v_i
# \end{aligned}
# $$ (eq-online-softmax)
#
# and after the last block the context is $a/z$. This is exact: since $e^{m-m'}e^{e_j-m} = e^{e_j-m'}$, all terms
# are relative to the new maximum again. The surprising factor is $e^{m-m'}$: when a larger score
# comes, everything summed before shrinks by it, *afterwards*. (As long as a query has seen nothing, $m$ is
# $-\infty$ and the sums are 0. Take care when you merge two blocks in which nothing may be attended: $-\infty - (-\infty)$ is NaN. Any finite
# number in place of $m'$ will do there.) By hand, with the book's query and states and the scores 1.0, 1.25
# and −0.75, one key first and then the other two:

# %%
scores, m, z, a = TINY.h @ TINY.s, -math.inf, 0.0, torch.zeros(2)
for block in (slice(0, 1), slice(1, 3)):
    top = max(m, scores[block].max().item())
    shrink, e = math.exp(m - top), (scores[block] - top).exp()
    m, z, a = top, shrink * z + e.sum(), shrink * a + e @ TINY.h[block]
    print(f"m = {m:.2f}, z = {z:.3f}, a = ({a[0]:.3f}, {a[1]:.3f})")
print("context", (a / z).numpy().round(3))

# %% tags=["hide-input"]
torch.testing.assert_close(a / z, scores.softmax(0) @ TINY.h)
x = torch.randn(2, 100, 16)
whole = F.scaled_dot_product_attention(x, x, x)
for n in (1, 7, 100):
    torch.testing.assert_close(online_softmax_attention(x, x, x, block=n), whole)

# %% [markdown]
# This is the context of [chapter 2](02_soft_addressing.ipynb). It is also the arithmetic of
# **FlashAttention** ({cite:t}`dao2022`, who divide after each block): the same function, with the work in
# another order, in one **fused** program for the GPU (a *kernel*). PyTorch's `scaled_dot_product_attention`, with which the folded
# cell compares, may use such a kernel. The price is that no weights come out: **a fused model has no map to
# look at.** The package computes weights only where somebody asks for them.
#
# ## Linear attention
#
# What if there were no softmax? Let the similarity of $q$ and $k$ be a product of features,
# $\phi(q)^\top\phi(k)$, with $\phi(x) = \mathrm{elu}(x) + 1$: $x + 1$ above 0 and $e^x$ below, so above 0 everywhere. Then a bracket can move:
#
# $$ \big(\phi(Q)\,\phi(K)^\top\big) V = \phi(Q)\,\big(\phi(K)^\top V\big) $$ (eq-linear-attention)
#
# Each row is still divided by the sum of its similarities. The left side is two products of $T^2 d$
# multiplications, the right side two of $T d^2$; its bracket is a table of $d \times d$, however long the
# text. {cite:t}`katharopoulos2020` call this **linear attention**. With a causal mask it is a recurrent
# network. Its state is that table, $S_t = S_{t-1} + \phi(k_t)\,v_t^\top$, and the sum of all $\phi(k)$ so far,
# $z_t = z_{t-1} + \phi(k_t)$; its output is $S_t^\top\phi(q_t)\,/\,z_t^\top\phi(q_t)$.

# %%
difference = (linear_attention(x, x, x) - whole).abs().max().item()
one, others = torch.eye(16)[:1] * 20, torch.eye(16) * 20  # one key is what is asked for
sharp = F.scaled_dot_product_attention(one, others, others)[0, 0]
flat = linear_attention(one[None], others[None], others[None])[0, 0, 0]
print(f"largest difference from softmax attention: {difference:.2f}")
print(f"share of the wanted value: softmax {sharp / 20:.2f}, linear {flat / 20:.2f}")

# %% [markdown]
# **It is not a faster softmax.** Here one key is exactly what the query asks for. The softmax finds it. The
# other similarity is a sum of products of features; without an exponential it lets the other keys in. It
# need not even rank keys as their dot products do. And its table is a running sum: no factor makes it forget. A GRU has gates for that. What does its state do with
# its words, before any training?

# %% tags=["hide-input"]
Recency(
    caption="Answer, then shorten the sentence. "
    "The network is a GRU before any training."
)

# %% [markdown]
# <details><summary>What the figure shows</summary>
#
# The state of an untrained GRU favours the words that it read last. The table of linear attention has no
# forgetting factor; whether a word fades there depends on $\phi(q)$ and $\phi(k)$.
#
# </details>

# %% [markdown]
# ## What runs today
#
# | change | source | what it changes in this chapter's code | what stays |
# |---|---|---|---|
# | pre norm | {cite:t}`radford2019`; studied by {cite:t}`wang2019` and {cite:t}`xiong2020` | {eq}`eq-pre-norm` in place of {eq}`eq-post-norm` | both sub-layers |
# | RMS norm | {cite:t}`zhang2019` | no mean is subtracted in {eq}`eq-layer-norm`, and there is no bias | gain, place |
# | gated feed-forward (SwiGLU) | {cite:t}`shazeer2020` | `feed_forward`: one matrix more, whose output multiplies the hidden layer | each word by itself |
# | mixture of experts (MoE) | {cite:t}`shazeer2017`, between recurrent layers | several `feed_forward`; a small network picks some for each word | attention |
# | rotary positions (RoPE) | {cite:t}`su2021` | queries and keys are turned in `remember` and before scores; nothing is added to embeddings | scores, softmax, sum |
# | grouped-query attention (GQA) | {cite:t}`ainslie2023` | fewer columns for keys and values; a smaller {eq}`eq-cache-size` | heads of queries |
# | FlashAttention | {cite:t}`dao2022`; later versions: {cite:t}`dao2024`, {cite:t}`shah2024` | the order of work, {eq}`eq-online-softmax` | the function (in 8 bits, nearly) |
# | sliding windows | {cite:t}`beltagy2020` | the mask ([chapter 10](10_local.ipynb)); old keys leave the cache | all else |
# | decoder only | {cite:t}`liu2018` | no cross-attention: source and target are one sequence | the causal mask |
# | pretraining | {cite:t}`devlin2019`; {cite:t}`radford2019`; {cite:t}`raffel2020` | the data and the loss: BERT is an encoder that fills gaps, GPT a decoder that goes on, T5 has both | the blocks |

# %% [markdown]
# There are further changes. *Latent attention* keeps one short vector for each word, from which keys and values
# are made, and a small turned key {cite:p}`deepseek2024`; queries and keys are normalised before the product {cite:p}`henry2020`, or a
# $\tanh$ keeps the scores within limits {cite:p}`gemma2024`; a learned score that belongs to no word takes part in
# each head's softmax, so that a head can give its weight to nobody {cite:p}`openai2025`; some
# models put layers of linear attention, or of other recurrences such as Mamba {cite:p}`gu2023`, in between. What is not published, nobody outside can say.
#
# Here is what has not changed since [chapter 3](03_additive.ipynb), in layers with a softmax:

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two columns of boxes. Left, the decoder of chapter 3: the query is its state, the keys are the source's. Right, a language model's block: the query is the newest word's, the keys are those of the words so far. In both columns follow the same four boxes, score, mask, normalise, sum; then left the recurrent cell, right residual, norm and feed-forward."}}
figure, ax = plt.subplots(figsize=(6.2, 5.6))
ax.axis("off")
ax.set(xlim=(0, 2), ylim=(-0.6, 7.2))
stages = [
    ("score:\na small network", "score:\ndot product / √dₕ", SCORES),
    ("mask:\nno pads", "mask:\nno pads, no future", INK),
    ("normalise:\nsoftmax", "normalise:\nsoftmax, a head", WEIGHTS),
    ("sum of\nsource states", "sum of\nvalues", CONTEXT),
    ("next state\nof the GRU", "+ x, norm,\nfeed-forward, + x", GREY),
]
heads = ("chapter 3's\ndecoder", "a language\nmodel's block")
asks = ("query: the state s", "query: newest word")
answers = ("keys: the source", "keys: words so far")
for column in (0, 1):
    at = 0.5 + column
    ax.text(at, 6.6, heads[column], ha="center", weight="bold")
    ax.text(at, 6.1, asks[column], ha="center", color=QUERY)
    ax.text(at, 5.65, answers[column], ha="center", color=KEYS)
    for row, (*texts, colour) in enumerate(stages):
        high = 4.7 - 1.2 * row
        box = {"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": colour}
        middle = {"ha": "center", "va": "center"}
        ax.text(at, high, texts[column], color=colour, bbox=box, **middle)
        if row:
            arrow = {"arrowstyle": "->", "color": GREY}
            ax.annotate("", (at, high + 0.42), (at, high + 0.78), arrowprops=arrow)
plt.show()

# %% [markdown]
# ## Myths
#
# **"Transformers decode in parallel."** In training they do, since all words are known. In writing, each
# word waits for the one before.
#
# **"FlashAttention is an approximation."** It computes the softmax, up to rounding.
#
# **"A Transformer has only self-attention."** The translators of this chapter attend to the source as well,
# as those of chapters 3 to 12 do.
#
# <details><summary>The paper says post norm. Why is the code I read pre norm?</summary>
#
# Often because pre norm needs less care at the start. The *Annotated Transformer* describes post norm
# and codes pre norm: by its own note, to keep the code simple. Readers asked about this (issue 6 of
# `harvardnlp/harvardnlp.github.io`). Weights that were trained in one arrangement compute something else in
# the other.
#
# </details>

# %% [markdown]
# ## Check yourself
#
# ```{self-check} norm-of-two
# ```
#
# ```{self-check} switched-off
# ```
#
# ```{self-check} what-is-kept
# ```
#
# ```{self-check} flash
# ```
#
# ## What you now know
#
# - A Transformer adds what each sub-layer computes to its states: a residual connection. In pre norm the
#   states pass straight through.
# - Post norm needs more care at the start of training than pre norm. A warm-up helped, and so did more
#   updates, the more so at a smaller rate.
# - An encoder block with a causal mask is a language model's block.
# - A KV cache keeps keys and values. It saves most multiplications but only one call of an operator in twenty; in a small model it
#   saves far less time than multiplications.
# - Softmax can be computed block by block, exactly. A product of features in its place gives another function,
#   and only then can the bracket move.
# - The changes in the table touch single parts of the Transformer. In attention layers with a softmax, score,
#   mask, normalise and sum stay.
#
# **Now you.** In [the exercise](../exercises/16_transformer.ipynb) you normalise, stack sub-layers, share a
# cache among heads, merge two halves of a softmax, and draw up the bill of a cache.
#
# **The whole Transformer on one page.** [Two whole models](whole_models.ipynb) has it complete in plain PyTorch, compares it with
# the package's, and trains it.
#
# **Next.** [Chapter 17](17_evaluation.ipynb) asks how large a difference between two translators must be
# before it counts.

# %% [markdown]
# ## Sources
#
# - The Transformer: {cite:t}`vaswani2017`, section 3. Layer norm: {cite:t}`ba2016`, section 3.
# - Where the norm stands: {cite:t}`xiong2020`, sections 3 and 4.
# - Softmax with a running maximum: {cite:t}`milakov2018`, algorithm 3; with the sum over values beside it:
#   {cite:t}`rabe2021`; {cite:t}`dao2022`, section 3.1.
# - Linear attention: {cite:t}`katharopoulos2020`, section 3.
