# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 3
#     covers: [V-01, W-01]
# ---

# %% [markdown]
# # Attention, opened up
#
# Translate *the cat sat on the mat* into French, word by word, and at each French word ask: which
# English words should I look at now? A model that answers this question, and learned by itself how
# to, is an attention model.
#
# Here is the whole idea in one figure. Each English word has a state, drawn as an arrow. Each gets
# a weight; the weights are positive and sum to 1. The context, which the translator reads before it
# writes its next word, is the weighted sum.

# %% tags=["install", "remove-cell"]
INSTALL

# %% tags=["remove-input"]
from seqattn.widgets import WeightedSum

WeightedSum()

# %% [markdown]
# Choose *tapis* (rug) in place of *chat* (cat): the weight moves to *mat*, and the context with it.
# Then move single scores, with the mouse or with the arrow keys. These scores were set by hand. In
# [Additive attention](03_additive.ipynb) you train a model that finds its own, and compare them with
# the true word alignments.
#
# This book derives every formula behind that figure in front of you, with numbers small enough for
# paper. It turns each formula into a few lines of PyTorch, asserts that they agree with the `seqattn`
# package, draws what they compute, measures what it is good for, and shows where it breaks.

# %% [markdown]
# ## Three ways in
#
# ::::{grid} 1 1 3 3
# :gutter: 2
#
# :::{grid-item-card} Read
# :link: 01_bottleneck
# :link-type: doc
#
# Start with the bottleneck. The figures compute in your browser, without Python or a network.
# :::
#
# :::{grid-item-card} Run
# :link: how_to_use
# :link-type: doc
#
# Each chapter is a notebook that runs alone, on your machine or on Colab, without a GPU.
# :::
#
# :::{grid-item-card} Do
# :link: ../exercises/02_softmax
# :link-type: doc
#
# Exercises with points, and with hints that name the mistake you made.
# :::
# ::::
#
# You need Python and enough PyTorch to recognise a tensor, an `nn.Module` and a training loop. [How to
# use this book](how_to_use.md) says how long each page takes.
#
# ## Contents
#
# ```{tableofcontents}
# ```
