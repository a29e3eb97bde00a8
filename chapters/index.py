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
# A translator writes *le chat s'est assis sur le tapis*. Before each word it asks: which English words do
# I need now, and how much of each? Choose a word and see.

# %% tags=["install", "remove-cell"]
INSTALL

# %% tags=["remove-input"]
from seqattn.widgets import WeightedSum

WeightedSum(predict=False)

# %% [markdown]
# Each English word has a state. Each state gets a weight; the weights are positive and sum to 1. The
# context, which the translator reads, is the weighted sum of the states. In the figure it is where the
# chain ends: each link is a state times its weight. These scores were set by hand. In [Additive
# attention](03_additive.ipynb) you train a model that finds its own, and compare its weights with the
# true word alignments.
#
# The same weighted sum is at work in every layer of a Transformer, and so in the large language models of today:
# there each word of a text attends to itself and the words before it. Attention was found in translation
# {cite:p}`bahdanau2015`, and there you can check it, since it is known which word translates which. So this
# book begins with a small translator, and takes attention apart until nothing has to be taken on trust. It ends
# with the [Transformer](16_transformer.ipynb) and what has changed in it since. [Two whole
# models](whole_models.ipynb) are written out in plain PyTorch, on one page.

# %% [markdown]
#
# ::::{grid} 1 2 2 4
# :gutter: 3
#
# :::{grid-item}
# **By hand, then by code**
#
# Numbers small enough for paper, the formula derived from them, the same in a few lines of PyTorch, and
# an assertion that they agree.
# :::
#
# :::{grid-item}
# **Checked by machine**
#
# Every numbered formula links to the code that computes it or to which it applies, to its test and, where there is one, to the exercise on it. [The map](map.md) holds all these links; a broken link stops the build.
# :::
#
# :::{grid-item}
# **Predict, then see**
#
# Most live figures ask before they answer. All compute in the page: no server, no account, no network.
# :::
#
# :::{grid-item}
# **Measured, luck included**
#
# Trained models are compared over seeds, with their spread; where there is one seed, the page says so. Many of these
# models translate sentences whose true alignments are known. Each long measurement names the command that repeats it.
# :::
# ::::
#
# ## Four ways through
#
# ```{paths}
# ```
#
# Times are for reading with care. Those of chapters are computed from their length, figures and questions; those of
# exercises are estimates. [How to use this
# book](how_to_use.md) explains how to read it, run it and be graded. [Before you start](prerequisites.md)
# has five questions that show whether you know what you need.
#
# ## The chapters
#
# ```{chapters}
# :written:
# ```
#
# [The same list on a page of its own](contents.md)
