# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 30
#     covers: [M-15, M-16, F-30, T-11]
# ---

# %% [markdown]
# # Two whole models
#
# Here is a Transformer that translates, complete, in plain PyTorch. After it comes a recurrent translator
# with attention, complete as well. Neither imports anything from this book's package. Read from top to
# bottom, or copy the cells into a file of your own: they need PyTorch and nothing else.
#
# The chapters derive these parts one by one, and each cell links to the chapter that derives it. Below the
# models, the page asserts that both compute what the package's models compute. Then it trains the
# Transformer, in a loop of a dozen lines.

# %% tags=["install", "hide-cell"]
INSTALL

# %%
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, BOS, EOS = 0, 1, 2  # ids: padding, begin of sentence, end of sentence

# %% [markdown]
# In the comments, `B` is the number of sentences in a batch. `S` is the length of the longest source
# sentence and `T` that of the longest target sentence. **In every mask, True means "may be attended".**
#
# ## The Transformer
#
# ### Positions
#
# Each pair of features is the sine and the cosine of an angle that grows with the position
# ([chapter 15](15_positions.ipynb), {eq}`eq-waves`).


# %%
def positions(length, d_model):
    rates = 10_000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model / 2)
    angles = torch.arange(length)[:, None] * rates  # (length, d_model / 2)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)  # (length, d_model)


# %% [markdown]
# ### Embedding
#
# A table of word vectors. They are multiplied by $\sqrt{d_{\text{model}}}$, which brings them to
# the size of the positions that are added. Then comes **dropout**: in training it sets some numbers to 0 at
# random. The Transformer has it here and on what each sub-layer adds to `x`.


# %%
class Embedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model, padding_idx=PAD)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        nn.init.zeros_(self.table.weight[PAD])  # the line above filled it, too
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens):  # (B, T); of the source, (B, S)
        x = self.table(tokens)
        length, d_model = x.shape[1:]
        x = x * math.sqrt(d_model) + positions(length, d_model).to(x)
        return self.dropout(x)  # (B, T, d_model)


# %% [markdown]
# ### Attention
#
# Scores, mask, softmax, weighted sum ([chapter 2](02_soft_addressing.ipynb),
# {eq}`eq-masked-softmax`). The scores are divided by $\sqrt d$, for the reason that [chapter
# 5](05_scaled.ipynb) gives.


# %%
def attention(q, k, v, mask):  # (..., T, d), (..., S, d), (..., S, d), (..., T, S)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., T, S)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return weights @ v  # (..., T, d)


# %% [markdown]
# ### Several heads
#
# Project to queries, keys and values, split the features among the heads, attend in each
# head, join the results and project once more ([chapter 13](13_heads.ipynb), {eq}`eq-head`). With
# `memory = x` this is self-attention; with the encoder's states as `memory` it is cross-attention.


# %%
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def split(self, x):  # (B, T, d_model) -> (B, heads, T, d_model / heads)
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory, mask):  # (B, T, d_model), (B, S, d_model)
        q, k, v = self.w_q(x), self.w_k(memory), self.w_v(memory)
        context = attention(self.split(q), self.split(k), self.split(v), mask)
        return self.w_o(context.transpose(1, 2).flatten(2))  # (B, T, d_model)


# %% [markdown]
# ### The encoder block
#
# Self-attention, then a small network for each word by itself. Each reads a
# normalised copy of `x` and adds its result to `x`: a residual connection, in pre norm ([chapter
# 16](16_transformer.ipynb), {eq}`eq-pre-norm` and {eq}`eq-feed-forward`).


# %%
def feed_forward(d_model, d_ff):
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


# %%
class EncoderBlock(nn.Module):
    def __init__(self, d_model, heads, d_ff, dropout):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.self_norm = nn.LayerNorm(d_model)
        self.feed_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):  # (B, S, d_model), (B, 1, 1, S)
        y = self.self_norm(x)
        x = x + self.dropout(self.self_attention(y, y, mask))
        return x + self.dropout(self.feed_forward(self.feed_norm(x)))


# %% [markdown]
# ### The decoder block
#
# Its self-attention has a causal mask, so that no word attends to a later one. It needs
# no mask for target padding: that stands at the right, where the causal mask hides it from every word, and
# its own rows are left out of the loss.
# Between self-attention and feed-forward stands attention to the source ([chapter
# 14](14_self_attention.ipynb), {eq}`eq-causal` and {eq}`eq-cross-attention`).


# %%
class DecoderBlock(nn.Module):
    def __init__(self, d_model, heads, d_ff, dropout):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, heads)
        self.cross_attention = MultiHeadAttention(d_model, heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.self_norm = nn.LayerNorm(d_model)
        self.cross_norm = nn.LayerNorm(d_model)
        self.feed_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, states, causal, mask):  # x: (B, T, d_model)
        y = self.self_norm(x)
        x = x + self.dropout(self.self_attention(y, y, causal))
        x = x + self.dropout(self.cross_attention(self.cross_norm(x), states, mask))
        return x + self.dropout(self.feed_forward(self.feed_norm(x)))


# %% [markdown]
# ### Encoder and decoder
#
# An embedding, a stack of blocks, and one more norm at the end, as pre norm wants
# it ([chapter 16](16_transformer.ipynb)).


# %%
class Encoder(nn.Module):
    def __init__(self, vocab_size, layers, d_model, heads, d_ff, dropout):
        super().__init__()
        sizes = d_model, heads, d_ff, dropout
        self.embedding = Embedding(vocab_size, d_model, dropout)
        self.blocks = nn.ModuleList(EncoderBlock(*sizes) for _ in range(layers))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, source, mask):  # (B, S), (B, 1, 1, S)
        x = self.embedding(source)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)  # (B, S, d_model)


# %%
class Decoder(nn.Module):
    def __init__(self, vocab_size, layers, d_model, heads, d_ff, dropout):
        super().__init__()
        sizes = d_model, heads, d_ff, dropout
        self.embedding = Embedding(vocab_size, d_model, dropout)
        self.blocks = nn.ModuleList(DecoderBlock(*sizes) for _ in range(layers))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, inputs, states, mask):  # (B, T), (B, S, d_model), (B, 1, 1, S)
        x, length = self.embedding(inputs), inputs.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        for block in self.blocks:
            x = block(x, states, causal, mask)
        return self.norm(x)  # (B, T, d_model)


# %% [markdown]
# ### The model
#
# The mask hides padding. The last layer gives each word of the target vocabulary a score,
# its **logit**. With `tie=True` it shares its matrix with the decoder's embedding (weight tying); the default, as in the
# package, leaves the two apart.


# %%
class Transformer(nn.Module):
    def __init__(self, source_vocab, target_vocab, layers=2, d_model=96, heads=4,
                 d_ff=192, dropout=0.1, tie=False):  # fmt: skip
        super().__init__()
        sizes = layers, d_model, heads, d_ff, dropout
        self.encoder = Encoder(source_vocab, *sizes)
        self.decoder = Decoder(target_vocab, *sizes)
        self.vocabulary = nn.Linear(d_model, target_vocab)
        if tie:
            self.vocabulary.weight = self.decoder.embedding.table.weight

    def forward(self, source, inputs):  # (B, S), (B, T)
        mask = (source != PAD)[:, None, None]  # (B, 1, 1, S): all heads, all queries
        states = self.encoder(source, mask)
        return self.vocabulary(self.decoder(inputs, states, mask))  # (B, T, words)


# %% [markdown]
# ### Greedy search
#
# Take the likeliest word, append it, ask again ([chapter 18](18_build.ipynb)). A
# sentence that has ended goes on with padding. This search computes everything anew for each word, which
# keeps it short; [chapter 16](16_transformer.ipynb) adds the cache of keys and values, which saves
# most of the multiplications.


# %%
@torch.no_grad()
def translate(model, source, longest=30):  # (B, S)
    model.eval()
    written = torch.full((len(source), 1), BOS, device=source.device)
    while written.shape[1] <= longest:
        logits = model(source, written)[:, -1]  # (B, words)
        logits[:, [PAD, BOS]] = -torch.inf  # these are never written
        ended = (written == EOS).any(1)
        if ended.all():
            break
        word = logits.argmax(-1).masked_fill(ended, PAD)
        written = torch.cat([written, word[:, None]], 1)
    return written[:, 1:]  # (B, at most longest)


# %% [markdown]
# That is all of it, in a little over a hundred lines.
#
# ## The recurrent translator
#
# This one is Bahdanau's design: a recurrent network reads, another one writes, and before each word it attends
# to what was read. Three formulas are not the paper's: the readout reads the new state, the first state
# comes from both directions, and the GRU is PyTorch's ([chapter 6](06_decoder.ipynb) lists them).
#
# ### The encoder
#
# Two GRUs read the sentence, one in each direction ([chapter
# 1](01_bottleneck.ipynb)). Packing hands PyTorch the true lengths, so that no state is
# computed from padding. A word's state is the pair of states at that word. The summary is the pair of last states.


# %%
class RecurrentEncoder(nn.Module):
    def __init__(self, vocab_size, d_embed, d_hidden, dropout):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embed, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.rnn = nn.GRU(d_embed, d_hidden, batch_first=True, bidirectional=True)

    def forward(self, source):  # (B, S)
        x, lengths = self.dropout(self.embedding(source)), (source != PAD).sum(1).cpu()
        x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        x, last = self.rnn(x)  # last: (2, B, d_hidden), forward and backward
        states, _ = pad_packed_sequence(
            x, batch_first=True, total_length=source.shape[1]
        )
        return states, torch.cat([last[0], last[1]], -1)  # (B, S, 2h), (B, 2h)


# %% [markdown]
# ### Additive attention
#
# A small network compares the decoder's state with each encoder state ([chapter
# 3](03_additive.ipynb), {eq}`eq-additive-score`). The encoder states are keys and values at once.


# %%
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_attn):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_attn, bias=False)
        self.w_k = nn.Linear(d_key, d_attn, bias=False)
        self.v = nn.Parameter(torch.randn(d_attn) / math.sqrt(d_attn))

    def forward(self, query, keys, mask):  # (B, d_query), (B, S, d_key), (B, S)
        z = torch.tanh(self.w_q(query)[:, None] + self.w_k(keys))  # (B, S, d_attn)
        weights = (z @ self.v).masked_fill(~mask, -torch.inf).softmax(-1)  # (B, S)
        return (weights[:, None] @ keys)[:, 0]  # (B, d_key)


# %% [markdown]
# ### One step of the decoder
#
# Bahdanau's order: attend with the old state, then update it ([chapter
# 6](06_decoder.ipynb), {eq}`eq-decoder-step`). The **readout** joins state, context and last word, and keeps
# the larger number of each pair: a maxout layer ({eq}`eq-maxout`).


# %%
class RecurrentDecoder(nn.Module):
    def __init__(self, vocab_size, d_embed, d_hidden, dropout):
        super().__init__()
        d_key = 2 * d_hidden  # both directions of the encoder
        self.embedding = nn.Embedding(vocab_size, d_embed, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.attention = AdditiveAttention(d_hidden, d_key, d_attn=d_hidden)
        self.cell = nn.GRUCell(d_embed + d_key, d_hidden)
        self.readout = nn.Linear(d_hidden + d_key + d_embed, d_hidden)

    def forward(self, word, state, keys, mask):  # (B), (B, d_hidden), (B, S, d_key)
        x = self.dropout(self.embedding(word))
        context = self.attention(state, keys, mask)
        state = self.cell(torch.cat([x, context], -1), state)
        pairs = self.readout(torch.cat([state, context, x], -1)).chunk(2, -1)
        return self.dropout(torch.maximum(*pairs)), state  # (B, d_hidden / 2)


# %% [markdown]
# ### The model
#
# The first state comes from the summary ({eq}`eq-bridge`). Then there is one step for each
# word of the target. The function `translate` above serves this model too.


# %%
class RecurrentTranslator(nn.Module):
    def __init__(self, source_vocab, target_vocab, d_embed=128, d_hidden=192,
                 dropout=0.1):  # fmt: skip
        super().__init__()
        self.encoder = RecurrentEncoder(source_vocab, d_embed, d_hidden, dropout)
        self.bridge = nn.Linear(2 * d_hidden, d_hidden)
        self.decoder = RecurrentDecoder(target_vocab, d_embed, d_hidden, dropout)
        self.vocabulary = nn.Linear(d_hidden // 2, target_vocab)

    def forward(self, source, inputs):  # (B, S), (B, T)
        keys, summary = self.encoder(source)
        state, mask, features = torch.tanh(self.bridge(summary)), source != PAD, []
        for word in inputs.unbind(1):
            feature, state = self.decoder(word, state, keys, mask)
            features.append(feature)
        return self.vocabulary(torch.stack(features, 1))  # (B, T, words)


# %% [markdown]
# These are fifty-odd lines more.
#
# ## They compute what the package computes
#
# The package's models have more options and more checks, but the same weights in the same places. Two
# short lists translate the names of the weights. They are also a plan of the package: whatever is not
# listed has the same name there.

# %%
TRANSFORMER_NAMES = {  # here: in the package
    "encoder.embedding.table": "source_embedding",
    "decoder.embedding.table": "target_embedding",
    "encoder.norm": "encoder_norm",
    "decoder.norm": "decoder_norm",
    ".blocks": "",
    ".w_q": ".query",
    ".w_k": ".key",
    ".w_v": ".value",
    ".w_o": ".output",
}

# %%
RECURRENT_NAMES = {
    "bridge": "decoder.bridge.outputs.0",
    "vocabulary": "decoder.vocabulary",
    "readout": "readout.W",
    "attention.v": "attention.score.v",
    "attention.w_q.weight": "attention.score.W_q",
    "attention.w_k.weight": "attention.score.W_k",
    "cell.weight_ih": "rnn.weight_ih_l0",
    "cell.weight_hh": "rnn.weight_hh_l0",
    "cell.bias_ih": "rnn.bias_ih_l0",
    "cell.bias_hh": "rnn.bias_hh_l0",
}


# %%
def copy_weights(ours, package, names):
    weights, copied = package.state_dict(), {}
    for name in ours.state_dict():
        theirs = name
        for here, there in names.items():
            theirs = theirs.replace(here, there)
        copied[name] = weights.pop(theirs)
    assert not weights  # the package has no others
    ours.load_state_dict(copied)


# %% [markdown]
# ### Fresh weights
#
# Build each model with {func}`~seqattn.models.build_model`, copy its weights, and
# compare in 64 bits all logits, and what greedy search writes. The five sentences are random ids of
# different lengths, so there is padding on both sides.

# %%
from dataclasses import replace

from seqattn.models import ModelConfig, build_model

torch.set_default_dtype(torch.float64)  # to compare to the last digits
torch.manual_seed(0)
lengths = torch.tensor([11, 7, 4, 2, 1])
real = torch.arange(11) < lengths[:, None]  # (5, 11), False at padding
source, inputs = torch.randint(3, 40, (2, 5, 11)).where(real, PAD)


# %% tags=["nbval-ignore-output"]
def compare(ours, names, config):
    package = build_model(config, 40, 50).eval()
    copy_weights(ours, package, names)
    expected = package(source, lengths, inputs).logits
    off = (ours.eval()(source, inputs) - expected).abs().max().item()
    found = package.generate(source, lengths, max_len=30).tokens
    assert off < 1e-9
    assert torch.equal(translate(ours, source), found)
    print(f"{type(ours).__name__}: logits within {off:.0e}, the same words written")


config = ModelConfig("transformer", layers=2, d_hidden=96, d_feedforward=192)
compare(Transformer(40, 50), TRANSFORMER_NAMES, config)
compare(Transformer(40, 50, tie=True), TRANSFORMER_NAMES, replace(config, tie="output"))
config = ModelConfig("bahdanau", d_embed=128, d_hidden=192)
compare(RecurrentTranslator(40, 50), RECURRENT_NAMES, config)


# %% [markdown]
# ### Trained weights
#
# Two small translators come with the package, one of each kind. Their weights
# fit the two models of this page as they are. The next cells read sentences, translate them here and in
# the package, and compare the texts.


# %%
def sentences(model, vocabularies, texts):
    rows = [[*vocabularies.source.encode(text), EOS] for text in texts]
    source = pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    return [
        vocabularies.target.decode(row) for row in translate(model, source).tolist()
    ]


# %%
from seqattn.data import FIVE, Batches, Vocabularies, encode_pairs, toy_corpus
from seqattn.translator import Translator

short = {}  # the corpus of chapter 3: sentences of at most eight words
for split, pairs in toy_corpus(24_000).items():
    short[split] = [pair for pair in pairs if len(pair.source.split()) <= 8]
asked = [pair.source for pair in (*FIVE, *short["valid"][:95])]


# %%
def compare_texts(ours, names, package):
    copy_weights(ours, package.model.double(), names)
    found = sentences(ours, package.vocabularies, asked)
    assert found == [told.text for told in package.translate(asked, beam=1)]
    print(f"{type(ours).__name__}: {len(asked)} translations, all the same")
    return found


toy = Translator.load("toy")
ours = RecurrentTranslator(*map(len, toy.vocabularies))
compare_texts(ours, RECURRENT_NAMES, toy)
toy = Translator.load("toy-transformer")
ours = Transformer(*map(len, toy.vocabularies))
shipped = compare_texts(ours, TRANSFORMER_NAMES, toy)

# %% [markdown]
# ## Train the Transformer
#
# Beside the model, a training needs batches of sentence pairs, a loss and an optimiser. The corpus is
# that of [chapter 3](03_additive.ipynb): {{ f"{len(short['train']):,}" }} pairs of short English
# and French sentences, drawn from a grammar. In training the decoder reads the true words so far (teacher forcing,
# [chapter 6](06_decoder.ipynb), {eq}`eq-label-shift`): its inputs begin with `<bos>`, its targets end with `<eos>`. The loss is cross-entropy, and padding does not
# count. The learning rate of Adam rises over the first updates, the **warm-up**; then it falls
# to 0 along a straight line.

# %%
torch.set_default_dtype(torch.float32)  # faster, and enough
torch.set_num_threads(1)
vocabularies = Vocabularies.learn(short["train"], ("en", "fr"))
examples = encode_pairs(short["train"], vocabularies)  # ids, each row ends with EOS
batches = Batches(examples, tokens=512)  # puts sentences of like length together
EPOCHS, WARMUP = 2, 100
updates = EPOCHS * len(batches.plan(0))


# %%
def make_batch(rows):
    source, targets = zip(*(map(torch.tensor, examples[row]) for row in rows))
    inputs = [F.pad(row[:-1], (1, 0), value=BOS) for row in targets]
    texts = source, inputs, targets
    return [pad_sequence(rows, batch_first=True, padding_value=PAD) for rows in texts]


batch, made = next(batches.epoch(0)), make_batch(batches.plan(0)[0])
for mine, package in zip(made, (batch.source, batch.inputs, batch.targets)):
    assert torch.equal(mine, package)
print("inputs ", made[1][0])
print("targets", made[2][0])

# %%
torch.manual_seed(0)
model = Transformer(*map(len, vocabularies), d_model=64, d_ff=128, dropout=0.0)
optimizer = torch.optim.Adam(model.parameters(), lr=0.007)
rate = lambda n: min((n + 1) / WARMUP, (updates - n) / (updates - WARMUP))
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)

# %% tags=["nbval-ignore-output"]
for epoch in range(EPOCHS):
    model.train()
    for rows in batches.plan(epoch):
        source, inputs, targets = make_batch(rows)
        logits = model(source, inputs).flatten(0, 1)  # (B * T, target_vocab)
        loss = F.cross_entropy(logits, targets.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    print(f"epoch {epoch + 1}: loss of the last batch {loss.item():.2f}")

# %% [markdown]
# Now it translates the five sentences of this book. None of them was among the training pairs.

# %% tags=["nbval-ignore-output", "hide-input"]
from seqattn.plots import ResultTable

valid = short["valid"][:300]
found = sentences(model, vocabularies, [pair.source for pair in valid])
share = sum(text == pair.target for text, pair in zip(found, valid)) / len(valid)
five = sentences(model, vocabularies, [pair.source for pair in FIVE])
right = sum(text == pair.target for text, pair in zip(five, FIVE))
sizes = [sum(p.numel() for p in net.parameters()) for net in (model, ours)]
rows = [
    [pair.source, pair.target, mine, theirs]
    for pair, mine, theirs in zip(FIVE, five, shipped)
]
columns = "English", "reference", "trained on this page", "the package's weights"
ResultTable(columns, rows, "The book's five sentences, by greedy search")

# %% [markdown]
# The model trained on this page writes {{ right }} of these {{ len(FIVE) }} translations exactly as in the
# reference, and {{ f"{share:.0%}" }} of those of {{ len(valid) }} validation sentences; one other word counts as
# wrong. It was one training, with a rate and a warm-up set by hand. [Chapter 18](18_build.ipynb) builds
# what the loop leaves out: clipping, a look at validation sentences while it trains, a folder that keeps
# the run, and a test that tells a sound model from a broken one.
#
# The last column has the code of this page with the weights of the package's Transformer, which is larger ({{ f"{sizes[1]:,}" }} weights
# against {{ f"{sizes[0]:,}" }}) and whose training had longer sentences, more updates and dropout.
#
# The loop knows nothing of Transformers. Write `RecurrentTranslator(*map(len, vocabularies))` in its place, and the
# same lines train the other model.

# %% [markdown]
# ## Line by line
#
# The Transformer:
#
# | here | formula | derived in | in the package |
# |---|---|---|---|
# | `positions`, `Embedding` | {eq}`eq-waves` | [chapter 15](15_positions.ipynb) | {class}`~seqattn.models.transformer.SinusoidalPositions` |
# | `attention`: scores | {eq}`eq-scaled-dot-score` | [chapter 5](05_scaled.ipynb) | {func}`~seqattn.scaled_dot_score` |
# | `attention`: mask, softmax | {eq}`eq-masked-softmax` | [chapter 2](02_soft_addressing.ipynb) | {func}`~seqattn.masked_softmax` |
# | `attention`: sum | {eq}`eq-context-matrix` | [chapter 2](02_soft_addressing.ipynb) | {func}`~seqattn.attend` |
# | `MultiHeadAttention` | {eq}`eq-head` | [chapter 13](13_heads.ipynb) | {class}`~seqattn.MultiHeadAttention` |
# | its `split` | – | [chapter 13](13_heads.ipynb) | the same |
# | `EncoderBlock` | {eq}`eq-pre-norm`, {eq}`eq-layer-norm` | [chapter 16](16_transformer.ipynb) | {class}`~seqattn.models.transformer.EncoderLayer` |
# | `feed_forward` | {eq}`eq-feed-forward` | [chapter 16](16_transformer.ipynb) | in the two layers |
# | `DecoderBlock` | {eq}`eq-cross-attention` | [chapter 14](14_self_attention.ipynb) | {class}`~seqattn.models.transformer.DecoderLayer` |
# | `causal` | {eq}`eq-causal` | [chapter 14](14_self_attention.ipynb) | {func}`~seqattn.causal_mask` |
# | `Transformer` | – | [chapter 16](16_transformer.ipynb) | {class}`~seqattn.models.Transformer` |
# | `translate` | – | [chapter 18](18_build.ipynb) | {func}`~seqattn.decoding.greedy` |

# %% [markdown]
# The recurrent translator, and the training:
#
# | here | formula | derived in | in the package |
# |---|---|---|---|
# | `RecurrentEncoder` | – | [chapter 1](01_bottleneck.ipynb) | {class}`~seqattn.models.Encoder` |
# | `AdditiveAttention` | {eq}`eq-additive-score` | [chapter 3](03_additive.ipynb) | {class}`~seqattn.BahdanauAttention` |
# | `RecurrentDecoder` | {eq}`eq-decoder-step` | [chapter 6](06_decoder.ipynb) | {class}`~seqattn.models.AttentionDecoder` |
# | its `readout` | {eq}`eq-maxout` | [chapter 6](06_decoder.ipynb) | {class}`~seqattn.models.readouts.MaxoutReadout` |
# | `bridge` | {eq}`eq-bridge` | [chapter 6](06_decoder.ipynb) | {class}`~seqattn.models.decoder.Bridge` |
# | the loop | {eq}`eq-teacher-forced-loss` | [chapter 6](06_decoder.ipynb) | {func}`~seqattn.training.fit` |
#
# **Left out here; the package has them:** the cache of keys and values, keys of the recurrent translator that
# are projected once for each sentence, dropout on attention weights, attention maps, beam search, sampling, and
# weights of 0 where no key may be attended, which are NaN on this page. (The package's models refuse a sentence
# without a token.) The Annotated Transformer and
# PyTorch's layers also have dropout between the two layers of the feed-forward network.

# %% [markdown]
# ## If you come from elsewhere
#
# The same parts have other names in [The Annotated Transformer](https://nlp.seas.harvard.edu/annotated-transformer/),
# in [Dive into Deep Learning](https://d2l.ai) (D2L), and in PyTorch's own modules. Look at the
# masks before you copy anything across:
#
# - In The Annotated Transformer, True in `src_mask` or `subsequent_mask` means "may be attended", as here.
# - D2L has no masks but `valid_lens`, the lengths of the sentences; `dec_valid_lens` does for a causal mask.
# - In PyTorch's modules (`nn.Transformer`, `nn.MultiheadAttention`), True in a mask means **"ignore"**, be it
#   `src_key_padding_mask` or `tgt_mask`. In its function `scaled_dot_product_attention` it means "may be attended".
#
# The names:
#
# | here | Annotated Transformer | D2L |
# |---|---|---|
# | `MultiHeadAttention` | `MultiHeadedAttention` | `MultiHeadAttention` |
# | `w_q`, `w_k`, `w_v` | the first three of `linears` | `W_q`, `W_k`, `W_v` |
# | `w_o` | the last of `linears` | `W_o` |
# | `feed_forward` | `PositionwiseFeedForward` | `PositionWiseFFN` |
# | norm and residual | `SublayerConnection`, pre norm | `AddNorm`, post norm |
# | `EncoderBlock` | `EncoderLayer` | `TransformerEncoderBlock` |
# | `DecoderBlock` | `DecoderLayer` | `TransformerDecoderBlock` |
# | `cross_attention` | `src_attn` | `attention2` |
# | `Embedding` | `Embeddings` and `PositionalEncoding` | `nn.Embedding` and `PositionalEncoding` |
# | `vocabulary` | `Generator`, with a log-softmax | `dense` |
# | `states` | `memory` | `enc_outputs` |
# | `Transformer` | `EncoderDecoder` | `EncoderDecoder` |
# | `causal` | `subsequent_mask` | `dec_valid_lens` |
# | `inputs`, `targets` | `tgt`, `tgt_y` | `tgt`, `label` |
# | `translate` | `greedy_decode` | `predict_step` |

# %% [markdown]
# PyTorch's modules have no embeddings, no positions and no last layer: `nn.Transformer` maps vectors to vectors.
# [The crosswalk](crosswalk.md) has more on PyTorch, and Keras, each row with a test.
#
# | here | `torch.nn` |
# |---|---|
# | `EncoderBlock`, `DecoderBlock` | `TransformerEncoderLayer`, `TransformerDecoderLayer`, with `norm_first=True` |
# | `self_attention`, `cross_attention` | `self_attn`, `multihead_attn` |
# | `w_q`, `w_k`, `w_v` | `in_proj_weight` and `in_proj_bias`: three, stacked |
# | `w_o` | `out_proj` |
# | `feed_forward` | `linear1`, `linear2` |
# | `self_norm`, `cross_norm`, `feed_norm` | `norm1`, `norm2`, `norm3`; in the encoder `norm1`, `norm2` |
# | `norm` at the end of a stack | `norm=` of `nn.TransformerEncoder` and `nn.TransformerDecoder`: none unless given |

# %% [markdown]
# Last, the recurrent translator beside PyTorch's [tutorial on translation with
# attention](https://docs.pytorch.org/tutorials/intermediate/seq2seq_translation_tutorial.html):
#
# | here | PyTorch's tutorial | D2L |
# |---|---|---|
# | `RecurrentEncoder`, two directions | `EncoderRNN`, one direction | `Seq2SeqEncoder`, one direction |
# | `AdditiveAttention`: `w_q`, `w_k`, `v` | `BahdanauAttention`: `Wa`, `Ua`, `Va` | `AdditiveAttention`: `W_q`, `W_k`, `w_v` |
# | `RecurrentDecoder` | `AttnDecoderRNN` | `Seq2SeqAttentionDecoder` |
# | `readout`, which reads state, context and word | none: `out` reads the state | none: `dense` reads the state |
# | `mask` | none: padding takes part in the softmax | `enc_valid_lens` |
#
# **Next.** You have the models. [Build a translator](18_build.ipynb) builds the rest, and [Study
# it](20_study.ipynb) measures which of their choices matter.
#
# ## Sources
#
# - The Transformer: {cite:t}`vaswani2017`, section 3; the place of its norms: {cite:t}`xiong2020`, section 3.
# - The recurrent translator: {cite:t}`bahdanau2015`, section 3 and appendix A.
