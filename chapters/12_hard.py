# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   seqattn:
#     minutes: 50
#     covers: [F-20, F-25, F-34, D-19, M-11, M-22, X-05]
#     exercise: 12_hard
# ---

# %% [markdown]
# # 12. Choosing one place: hard attention, penalties, dropout
#
# Soft attention mixes; a dictionary chooses. In this chapter a network chooses by throwing dice, and learns
# from the outcome although no gradient passes through the dice. Then you change soft rows on purpose:
# penalties sharpen them or spread them out, and dropout leaves out some of their weights.
#
# **You need** the softmax, its Jacobian, and the context as an expectation, from [soft
# addressing](02_soft_addressing.ipynb). **This chapter covers** hard attention, the score-function gradient and its
# baseline, straight-through, penalties on weights, and attention dropout.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# A model throws a three-sided die. Its faces are *cat*, *sat* and *mat*, and their probabilities are the
# weights that the whole book uses. The model fetches the state of the word that comes up, and no other. Then
# it gets a **reward**: here, the log-probability that it now gives to the right word. Which way should its
# three scores move? The arrow is the exact answer, and each dot an estimate from draws. **Each frame has its own scale, which is printed below it.**

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from seqattn import HardAttention, ScaledDotScore, score_function_loss
from seqattn.data import FIVE, TINY, measured
from seqattn.dropout import dropout
from seqattn.plots import (
    BLUE,
    GREY,
    ORANGE,
    ResultTable,
    experiment_card,
    plot_attention,
    use_style,
)
from seqattn.training.regularizers import entropy_penalty, sparsity_penalty
from seqattn.widgets import PenaltyPath, TwoClouds

use_style()
torch.set_printoptions(precision=3, sci_mode=False)
stored = measured("choosing")


def span(found, what, form):
    values = [run[what] for run in found]
    return f"{min(values):{form}} to {max(values):{form}}"


TwoClouds(
    caption="Try: add 10 to all rewards and compare the two scales. Then take 64 draws for each estimate."
)

# %% [markdown]
# ## By hand
#
# The scores are $s^\top h_i = (1, 1.25, -0.75)$ and the weights are $(0.407, 0.522, 0.071)$. Let *cat* earn
# 1 and the others nothing. Then the expected reward is $J = 0.407$. Its slope with respect to the score of
# *cat* is $\alpha_1(1 - \alpha_1) = 0.241$. For the other two scores it is $-\alpha_1\alpha_i$, which is
# $-0.213$ and $-0.029$.
#
# Now with dice. Multiply the reward of the drawn word by the slope of that word's log-probability. With
# respect to the score of the drawn word $i$ the slope is $1 - \alpha_i$, and with respect to any other
# score it is $-\alpha_j$:
#
# | drawn | probability | estimate |
# |---|---|---|
# | *cat* | 0.407 | $1 \cdot (0.593, -0.522, -0.071)$ |
# | *sat* | 0.522 | $(0, 0, 0)$ |
# | *mat* | 0.071 | $(0, 0, 0)$ |
#
# The average is the gradient, yet *no single estimate is right*. Now let the words earn 11, 10 and 10 instead. The
# gradient stays the same, but each estimate becomes at least ten times the slope of the drawn
# word's log-probability.

# %%
e = (TINY.h @ TINY.s).double().requires_grad_()
alpha = e.softmax(0)
slopes = torch.eye(3) - alpha.detach()  # row i: gradient of log alpha_i

for rewards in torch.tensor([[1.0, 0, 0], [11, 10, 10]]).double():
    estimates = rewards[:, None] * slopes
    (exact,) = torch.autograd.grad(alpha @ rewards, e, retain_graph=True)
    torch.testing.assert_close(alpha.detach() @ estimates, exact)
    print("exact          ", exact.numpy().round(3))
    print("if cat is drawn", estimates[0].numpy().round(3))

# %% [markdown]
# ## From a mixture to a choice
#
# Soft attention passes on the mean of the states. **Hard attention** {cite:p}`xu2015` fetches a single one,
# $c_t = v_I$ with $I \sim \alpha_t$. A small change of the scores leaves the drawn word as it is,
# so no gradient comes back through the choice. The probability of the right word is then a
# mean over the choices. The logarithm of a mean is at least the mean of the logarithms (Jensen's inequality; it
# holds because the logarithm bends downwards):
#
# $$
# \begin{aligned}
# \log p(y) &= \log \sum_i \alpha_i\, p(y \mid v_i) \\
# &\ge \sum_i \alpha_i \log p(y \mid v_i) = J
# \end{aligned}
# $$ (eq-hard-bound)
#
# Here $J$ is an expected reward, with $r_i = \log p(y \mid v_i)$, and training makes it larger. With
# log-probabilities $(-0.2, -1.5, -3.0)$ the two sides are $-0.79$ and $-1.08$.

# %% [markdown]
# To make $J$ larger we need its gradient. A sum over all positions gives it exactly, at the price of one run of
# the rest of the network for each position; over $T$ steps, one for each *sequence* of positions. So we
# estimate it. One identity is enough, $\nabla \alpha_i = \alpha_i \nabla \log \alpha_i$:
#
# $$
# \begin{aligned}
# \nabla J &= \sum_i r_i\, \nabla \alpha_i \\
# &= \sum_i \alpha_i\, r_i\, \nabla \log \alpha_i \\
# &= \mathbb{E}_{I \sim \alpha}\big[r_I\, \nabla \log \alpha_I\big]
# \end{aligned}
# $$ (eq-log-trick)
#
# **The last line is the surprise: the reward needs no derivative.** It may be a BLEU score or a user's
# click. Here $\nabla$ is the gradient with respect to the parameters of the scores; with $r = \log p$,
# whatever follows the choice learns by plain backpropagation, from $\nabla r_I$. The estimate is called the *score-function gradient*, or REINFORCE
# {cite:p}`williams1992`.

# %% [markdown]
# ### The baseline
#
# Let $b$ be any number that does not depend on the choice. Then
#
# $$ \mathbb{E}\big[b\, \nabla \log \alpha_I\big] = b \sum_i \nabla \alpha_i = b\, \nabla 1 = 0 $$ (eq-baseline-free)
#
# so we may replace $r_I$ by $r_I - b$: the cloud shrinks or grows, but its mean stays. Which $b$ is best?
# The **total variance** is the sum of the variances of all components. With $n_i = \lVert \nabla \log
# \alpha_i \rVert^2$ it is
#
# $$
# \begin{aligned}
# V(b) &= \sum_i \alpha_i (r_i - b)^2 n_i - \lVert \nabla J \rVert^2 \\
# V'(b) &= -2 \sum_i \alpha_i (r_i - b)\, n_i = 0 \\
# b^\star &= \frac{\sum_i \alpha_i\, n_i\, r_i}{\sum_i \alpha_i\, n_i}
# \end{aligned}
# $$ (eq-best-baseline)
#
# The best baseline is *not* the mean reward: it weights $r_i$ by $\alpha_i n_i$ instead of $\alpha_i$. In
# practice one takes a running mean of earlier rewards, or the mean over *other* draws for the same input.
# **A pitfall:** if you subtract this draw's own reward, or let $b$ depend on the choice in any other way,
# the estimate is in general biased.

# %% [markdown]
# ### Unbiased, and how noisy
#
# A program minimises a loss. So it needs one whose gradient is minus the estimate. This is the
# **surrogate** $-(r_I - b) \log \alpha_I$, in which $r_I - b$ is held constant; the package has it as
# `score_function_loss`. Only its gradient means something, not its value.
#
# With three words we can go through every choice. Let backpropagation through the surrogate compute the
# estimate for each of them, average these exactly, and compare with the gradient; then draw 10,000 times.
# *Noise over signal* is $\sqrt{V}$ divided by the gradient's length.
#
# ```{predict} which-baseline
# ```


# %%
def by_backprop(i, rewards, b):
    loss = score_function_loss(e.log_softmax(0)[i], rewards[i], b)
    return -torch.autograd.grad(loss, e)[0]


def noise(rewards, b):
    g = torch.stack([by_backprop(i, rewards, b) for i in range(3)])
    exact = alpha.detach() * (rewards - alpha.detach() @ rewards)
    torch.testing.assert_close(alpha.detach() @ g, exact)  # unbiased, whatever b is
    return alpha.detach() @ (g - exact).square().sum(1)


# %% tags=["hide-input", "hide-output", "hide-until-which-baseline"]
log_p = torch.tensor([-0.2, -1.5, -3.0]).double()
torch.manual_seed(0)
drawn = torch.multinomial(alpha.detach(), 10_000, replacement=True)
ratio, rows = {}, []
for name, r in (("as they are", log_p), ("+ 10", log_p + 10)):
    n = slopes.square().sum(1)
    best = ((alpha * n) @ r / (alpha @ n)).item()
    for kind, b in (("none", 0.0), ("mean", (alpha @ r).item()), ("best", best)):
        g = torch.stack([by_backprop(i, r, b) for i in range(3)])
        V, seen = noise(r, b), g[drawn].var(0).sum()
        assert abs(seen / V - 1) < 0.05
        length = (alpha * (r - alpha @ r)).norm()
        ratio[name, kind] = (V.sqrt() / length).item()
        cells = (f"{x:.3f}" for x in (b, V, seen))
        rows.append((name, kind, *cells, f"{ratio[name, kind]:.2f}"))
heads = ("rewards", "baseline", "b", "V, exact", "V, 10,000 draws", "noise / signal")
ResultTable(heads, rows, "Total variance of one estimate")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **A baseline removes what a constant adds to the rewards, but not all of the noise.** Adding 10 to the rewards raises the noise from {{ f"{ratio['as
# they are', 'none']:.1f}" }} to {{ f"{ratio['+ 10', 'none']:.0f}" }} times the gradient's length; with either
# baseline nothing changes. Here the best baseline is hardly less noisy than the mean. With it, {{ f"{ratio['+ 10', 'best']:.2f}" }} times the gradient's length remains.
#
# </details>
#
# More draws reduce the noise, too: for the mean of $n$ independent estimates, $V$ is divided by $n$.
#
# ## The other way: pretend
#
# **Straight-through** fetches one position in the forward pass and passes the gradient back as if it had
# mixed. The trick was studied for binary units {cite:p}`bengio2013`; for attention it reads
#
# $$
# \begin{aligned}
# \text{forward} &\quad c = v_I \\
# \text{backward} &\quad \frac{\partial c}{\partial e} := \frac{\partial}{\partial e} \sum_i \alpha_i v_i
# \end{aligned}
# $$ (eq-straight-through)
#
# Everything behind $c$ still takes its slope at the drawn position, so this estimate is noisy too. And it
# answers another question. Let what follows be the squared length, $f(v) = \lVert v \rVert^2$, for which
# [chapter 2](02_soft_addressing.ipynb) showed that $f(\mathbb{E}\,v) \ne \mathbb{E} f(v)$. Here are three
# gradients with respect to the scores, averaged exactly over the draws, and below them the noise of
# single draws:

# %%
H, a = TINY.h.double(), alpha.detach()
f = H.square().sum(1)
hard = a * (f - a @ f)  # of the expected f(v_I)
soft = torch.autograd.grad((alpha @ H).square().sum(), e, retain_graph=True)[0]
back = torch.stack(  # what reaches the scores if i was drawn
    [torch.autograd.grad(2 * h @ (alpha @ H), e, retain_graph=True)[0] for h in H]
)
through = a @ back

# %% tags=["hide-input"]
print(f"hard             {hard}\nsoft             {soft}\nstraight-through {through}")
angle = F.cosine_similarity(hard, through, dim=0).item()
V = a @ (back - through).square().sum(1)
loud = {"straight-through": V.sqrt() / through.norm()}
for name, b in (("no baseline", 0.0), ("mean reward", (a @ f).item())):
    loud[name] = noise(f, b).sqrt() / hard.norm()
print("noise / signal  ", ", ".join(f"{name} {x:.2f}" for name, x in loud.items()))

# %% [markdown]
# **Straight-through follows the gradient of another model than the one that runs.** On average it gives the gradient of the *soft* model here, because $f$ is quadratic; its cosine with that of the hard model is {{ f"{angle:.2f}" }}. And *biased* does not mean *quiet*: straight-through's noise is {{ f"{loud['straight-through']:.2f}" }} times the length of its mean, the score
# function's {{ f"{loud['no baseline']:.2f}" }} without a baseline, and
# {{ f"{loud['mean reward']:.2f}" }} with the mean reward as baseline.
#
# ## Measured: find the marked letter
#
# A row holds twelve letters, each drawn from an alphabet of twenty. A fixed vector is added to one of them,
# which *marks* it: name that letter. The letters' vectors stay as drawn. A query, an additive score and a
# linear readout are learned, in five ways:
#
# - **soft**: mix, and backpropagate;
# - **every place**: the exact $J$ of {eq}`eq-hard-bound`, a sum over all twelve;
# - **straight-through**;
# - **baseline** and **no baseline**: one draw and the score-function gradient, with $b$ a running mean or
#   0.
#
# The learning rate is chosen for each way on validation rows, with the first seed. Then that seed and four others are judged on {{ f"{stored['card']['judged']:,}" }} test
# rows. All but *soft* read the position with the largest weight. Guessing a letter is right in 5% of
# cases, and reading a random position, without error, gives 13%.
#
# ```{predict} which-way
# ```

# %% tags=["hide-input", "hide-output", "hide-until-which-way"] mystnb={"image": {"alt": "Share of marked letters named right, plotted against updates. There is a panel for each of five ways of learning, a line for each seed, and a dotted line for reading a random place."}}
ways, looks = stored["ways"], stored["card"]["looks"]
CHANCE, RANDOM_PLACE = 1 / 20, 1 / 12 + 11 / 12 / 20


def share(way, update):
    used = "mixed" if way == "soft" else "largest"
    at = looks.index(update)
    return [{"right": run["curve"][at][used]} for run in ways[way]["runs"]]


rows = []
for way in ways:
    cells = (span(share(way, n), "right", ".2f") for n in (25, 50, 100, 600))
    rows.append((way, ways[way]["lr"], *cells))
heads = ("way", "rate", "25 updates", "50", "100", "600")
display(
    ResultTable(heads, rows, "Share named right", "lowest to highest of five seeds")
)

figure, panels = plt.subplots(
    1, 5, figsize=(8.4, 2.5), sharey=True, layout="constrained"
)
for ax, way in zip(panels, ways):
    for k in range(stored["card"]["seeds of letters"]):
        heights = [share(way, n)[k]["right"] for n in looks]
        ax.plot(
            looks, heights, ".-", color=ORANGE if "base" in way else BLUE, alpha=0.6
        )
    ax.axhline(RANDOM_PLACE, color=GREY, ls=":")
    ax.set_title(way, fontsize=10)
    ax.set(xticks=[0, 300, 600], ylim=(0, 1.03), xlabel="updates")
panels[0].set_ylabel("named right")
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **Mixing is faster than dice without a baseline.** After 25 updates, and after 50, each seed of *soft* is above
#   each seed of *no baseline*.
# - **No gain from the baseline can be shown.** After 50 updates the share is
#   {{ span(share("baseline", 50), "right", ".2f") }} with it and
#   {{ span(share("no baseline", 50), "right", ".2f") }} without.
# - **Straight-through** has all seeds near the top after 100 updates. Its bias does no harm that shows
#   here.
# - **Noise does not stop *baseline* or *no baseline*.** At the end, after 600 updates, every seed of both
#   has found the mark.
# - **An exact gradient is no guarantee.** One seed of *every place* ends at
#   {{ f"{share('every place', 600)[3]['right']:.2f}" }}.
#
# </details>

# %% [markdown]
# <details><summary>How sure is this?</summary>
#
# - After 25 updates each seed of *soft* is above each of *straight-through*, too; *every place* and *baseline* overlap with
#   *soft*.
# - With and without the baseline the ranges overlap. A seed gives all ways the
#   same letters, first weights and rows; after 50 updates, seed by seed, the baseline leads in four of five. Noise may cost time: after 50 updates *every place*, the
#   exact sum, is ahead of *no baseline* in each of the five seeds, and level with *baseline* in one and ahead in four.
# - The rate is chosen by the share that is named right, averaged over eight looks during training. For *soft* and *baseline* the highest of the four rates tried was chosen, so a still
#   higher one might be better.
# - This is one small task, and each choice has its own reward. In Xu et al. one reward, the log-probability of the
#   whole caption, pays for all choices.
#
# </details>

# %% [markdown]
# ## Ten lines
#
# Here is what *baseline* does in each update, with a scaled dot score. The reward
# is the log-probability of the right letter. The readout learns from the loss; the query, and with it the
# scores, learns from the surrogate alone.

# %%
torch.manual_seed(0)
letters, mark = torch.randn(20, 16), torch.randn(16)
attention, name = HardAttention(ScaledDotScore()), torch.nn.Linear(16, 20)
query = torch.randn(16).requires_grad_()
optimizer, b = torch.optim.Adam([query, *name.parameters()], lr=0.03), 0.0

# %%
for _ in range(400):
    ids, marked = torch.randint(20, (32, 12)), torch.randint(12, (32,))
    states = letters[ids] + F.one_hot(marked, 12)[..., None] * mark
    found = attention(query.expand(32, -1), states)
    right = ids[range(32), marked]
    said = -F.cross_entropy(name(found.context), right, reduction="none")
    reward = said.detach()
    loss = -said.mean() + score_function_loss(found.log_prob, reward, b)
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    b = 0.9 * b + 0.1 * reward.mean().item()
weight = found.weights[range(32), marked].mean()
print(f"weight on the mark {weight:.2f}, reward {b:.2f}")

# %% [markdown]
# ## One row under a penalty
#
# There is a gentler way to a sharp row: keep the mixture, and ask for sharpness in the loss. Answer the
# figure's question, then take steps. Afterwards try *entropy* and *1 − Σα²*, with λ of either sign.

# %% tags=["hide-input"]
PenaltyPath()

# %% [markdown]
# A penalty $R$ is added to the loss, with a factor $\lambda$:
#
# $$ L_{\mathrm{total}} = L + \lambda R $$ (eq-regularised-loss)
#
# Training makes $R$ *small* if $\lambda > 0$. So a positive $\lambda$ on the entropy **sharpens**; to
# keep a row spread out, choose a negative one. For one row, with the entropy $\mathcal{H}$ and the softmax's Jacobian from chapter 2:
#
# $$
# \begin{aligned}
# \frac{\partial \mathcal{H}}{\partial e_i} &= -\alpha_i (\log \alpha_i + \mathcal{H}) \\
# \frac{\partial}{\partial e_i} \Big(1 - \sum_j \alpha_j^2\Big) &= -2 \alpha_i \Big(\alpha_i - \sum_j \alpha_j^2\Big) \\
# \frac{\partial}{\partial e_i} \sum_j |\alpha_j| &= \frac{\partial}{\partial e_i} 1 = 0
# \end{aligned}
# $$ (eq-penalty-slopes)
#
# **The third is a trap: an L1 penalty on softmax weights does nothing.** On free weights it makes many of them zero. But a softmax row sums to
# 1, so its slope is zero everywhere. At a uniform row, where nothing says which way to go, the other two
# slopes vanish as well. They also vanish at a corner, where one weight is 1.
#
# By hand, for our row: $\mathcal{H} = 0.892$, and its slope for *sat* is $-0.5224\,(\ln 0.5224 + 0.8924) = -0.127$. For
# *cat* the slope is $0.003$, because $\ln 0.407$ is almost $-\mathcal{H}$.

# %%
H_row, log_3 = -(a * a.log()).sum(), torch.log(torch.tensor(3.0))
row = e.softmax(0)[None, None]  # (batch, steps, keys)
for name_of, R, expected in (
    ("entropy", log_3 * entropy_penalty(row), -a * (a.log() + H_row)),
    ("1 − Σα²", sparsity_penalty(row), -2 * a * (a - a.square().sum())),
    ("Σ|α|", row.abs().sum(), torch.zeros(3)),
):
    (slope,) = torch.autograd.grad(R, e, retain_graph=True)
    torch.testing.assert_close(slope, expected.double(), atol=1e-6, rtol=0)
    print(f"{name_of:8s} {R.item():.3f}  slope {slope}")

# %% [markdown]
# The package divides a row's entropy by the logarithm of its length, so that long sentences do not weigh
# more. It leaves padded rows out of the mean. A padded row of zeros has entropy 0 by the formula, and would
# count as perfectly sharp.
#
# A third kind of penalty looks at columns. {eq}`eq-look-at-each-word` of chapter 3 asks that each source
# word get a total weight of about one, which is called *doubly stochastic* attention. It says nothing about
# any single row.

# %% [markdown]
# ### Exact zeros, and a softened die (optional)
#
# **Exact zeros**, which L1 on a softmax cannot bring, come from another function in the softmax's place. *Sparsemax*
# {cite:p}`martins2016` takes the row of weights that is nearest to the scores in Euclidean distance. For our
# scores $(1, 1.25, -0.75)$ it is $(0.375, 0.625, 0)$: *mat* gets nothing. Sparsemax has a gradient almost everywhere; the
# score of a word whose weight is 0 gets none from it. *Entmax* {cite:p}`peters2019` is a family with softmax and sparsemax in it.
#
# **A softened die.** Add to each $\log \alpha_i$ a random number of its own, drawn from the Gumbel distribution: the place of the
# largest sum is an exact draw from $\alpha$. *Gumbel-softmax* {cite:p}`jang2017`, also called the *Concrete* distribution
# {cite:p}`maddison2017`, takes instead the softmax of these sums, each divided by a temperature $\tau$. Backpropagation goes
# through it. The row is an exact choice only in the limit $\tau \to 0$. At any $\tau$ above that the gradient is biased for a model that
# chooses; often it is far less noisy than the score function's, but it grows noisier as $\tau$ falls.

# %% [markdown]
# ## Attention dropout
#
# After the softmax, in training only, each weight is set to zero with probability $p$ and the others are
# divided by $1 - p$. Let $m_i$ be 1 where a weight is kept and 0 where it is
# dropped. Then the context becomes $\tilde c = \sum_i \frac{m_i}{1-p} \alpha_i
# v_i$. Its mean is $c$. But how far from $c$ is a single draw?
#
# ```{predict} noise-of-dropout
# ```
#
# The $m_i$ are independent, and each has variance $p(1-p)$:
#
# $$
# \begin{aligned}
# \mathbb{E}\lVert \tilde c - c \rVert^2 &= \sum_i \frac{\mathrm{Var}(m_i)}{(1-p)^2}\, \alpha_i^2 \lVert v_i \rVert^2 \\
# &= \frac{p}{1-p} \sum_i \alpha_i^2\, \lVert v_i \rVert^2
# \end{aligned}
# $$ (eq-dropout-variance)

# %% tags=["hide-output", "hide-until-noise-of-dropout"]
torch.manual_seed(0)
p, shaken = 0.25, {}
ROWS = {"flat": torch.ones(3) / 3, "ours": a, "sharp": torch.tensor([0.01, 0.98, 0.01])}
for kind, weights in ROWS.items():
    weights = weights.double()
    dropped = dropout(weights.expand(40_000, 3), p)
    off = (dropped @ H - weights @ H).square().sum(1).mean().item()
    shaken[kind] = (p / (1 - p) * weights.square() @ f).item()  # f: squared lengths
    assert abs(off / shaken[kind] - 1) < 0.04
    sums = dropped.sum(1)
    print(f"{kind:5s} formula {shaken[kind]:.3f}  measured {off:.3f}")
    print(f"      row sums {sums.mean():.2f} ± {sums.std():.2f},", end=" ")
    print(f"from {sums.min():.2f} to {sums.max():.2f}")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# **The surprise: among rows over values of equal length, the sharpest is shaken most.** What decides is the
# sum of squares, which the second penalty has with the opposite sign. If every value is the number 1, the
# context is the *sum of the row*. With $p = 0.25$ the sum of our row is $1 \pm 0.38$, and that of a uniform
# row of three is $1 \pm 0.33$. A row with a single weight has $1 \pm 0.58$: its sum is 0 or 1.33.
#
# Why not renormalise them? The mean would no longer be the row (ours would become 0.41, 0.48, 0.12), and where
# all weights are dropped you would divide by 0.
#
# </details>
#
# **Dropped rows do not sum to 1**; only their mean does. Do not draw them as maps.

# %% [markdown]
# ## Measured: in a translator
#
# Now penalties and dropout go into chapter 3's kind of model, in Luong's order. It has an additive score and states
# of 64 numbers, and learns from {{ f"{stored['card']['pairs']:,}" }} short pairs of the toy corpus, each
# seen {{ stored["card"]["epochs"] }} times, so that there is
# something to overfit. Penalties have $|\lambda| = 0.3$. In each way {{ stored["card"]["seeds"] }} seeds, of first weights and dropout, are judged
# once on {{ stored["card"]["tested on"] }} test pairs.
#
# Entropy is normalised to lie between 0 and 1. AER takes each row's largest weight as a link: random links
# have {{ f"{stored['yardsticks']['at random']:.2f}" }} on these pairs, and the diagonal, which attends to no
# word, has {{ f"{stored['yardsticks']['diagonal']:.2f}" }}. *Columns* is the mean of
# $(1 - \sum_t \alpha_{ti})^2$. Nats are per token, on 400 of the pairs that were learned and on the test pairs.
#
# ```{predict} what-helps
# ```

# %% tags=["hide-output", "hide-until-what-helps"]
runs = stored["runs"]
KINDS = (("entropy", ".2f"), ("columns", ".2f"), ("bleu", ".1f"), ("aer", ".2f"),
         ("nats, known pairs", ".2f"), ("nats", ".2f"))  # fmt: skip
rows = [[added, *(span(of, *kind) for kind in KINDS)] for added, of in runs.items()]
heads = ("added", "entropy", "columns", "BLEU", "AER", "nats, known", "nats, test")
ResultTable(
    heads, rows, "Six ways, three trainings each", "lowest to highest of three seeds"
)

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **λ > 0 on the entropy** sharpened each row to one word, and BLEU fell: in each seed it is
#   below, and the nats on test pairs are above, those of every plain seed. *Columns* says how: all rows
#   attend to the same few words.
# - **λ < 0** spread the rows. A sharp map need not be good: AER is
#   lower in each seed, and in BLEU no difference is seen.
# - **Doubly stochastic** attention has the columns that were asked for, and it links better: AER is
#   {{ span(runs["doubly stochastic"], "aer", ".2f") }} against {{ span(runs["plain"], "aer", ".2f") }},
#   each seed below each plain one. BLEU: no difference seen.
# - **Dropout** spreads rows, and more so at the higher rate. (They are measured without it.) It did not improve
#   generalisation here: with 30% BLEU is *lower* in each seed.
#
# </details>
#
# <details><summary>How sure is this?</summary>
#
# All this holds for one size, one $|\lambda|$, used from the first update on, few pairs, and the highest learning rate tried, which was chosen on validation pairs
# for the plain training only. With three seeds
# on each side luck alone separates two ranges one time in ten; with λ < 0 the ranges of AER nearly touch. The diagonal is better than any training here, so all these rows are
# poor links. With 10% of dropout neither BLEU nor the nats on test pairs differ from plain
# training by more than the seeds do.
#
# </details>

# %% [markdown]
# Here are the five sentences of the book, translated by the first seed of three trainings:

# %%
for i, pair in enumerate(FIVE):
    print(pair.source)
    for added in ("plain", "entropy −", "dropout 0.3"):
        print(f"    {added:12s} {runs[added][0]['five'][i]}")
experiment_card(stored["card"])

# %% [markdown]
# ## On a real sentence
#
# Here is a German caption with its translation by a larger, soft model ([chapter 3](03_additive.ipynb)
# shows more of them). What would hard attention have fetched? Throw dice with each row's weights, 1,000
# times.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Attention map of a German caption and its English translation, with a row for each English token. Some rows have nearly all their weight on one German token, others spread it over several."}}
caption = measured("captions")["captions"][0]
weights = torch.tensor(caption["weights"])
torch.manual_seed(0)
thrown = torch.multinomial(weights, 1_000, replacement=True)
agree = (thrown == weights.argmax(1, keepdim=True)).float().mean(1)
print(f"the drawn place has the largest weight: {agree.mean():.0%} of all draws")
least = int(agree[:-1].argmin())
print(
    f"least often in the row of {caption['tokens'][least].strip('▁')}: {agree[least]:.0%}"
)
figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
plot_attention(
    weights, caption["source_tokens"], caption["tokens"], ax=ax, annotate=False
)
plt.show()

# %% [markdown]
# The rows of this map are mixtures that the model learned to use. Cut down to one position per row, it is another model: its readout has never seen such inputs.
#
# ## Where it breaks
#
# - **Reading the surrogate's value.** It means nothing: `score_function_loss` can rise while all goes well.
#   Log the reward instead.
# - **A reward with a gradient.** In a surrogate of your own, detach the reward. Otherwise the surrogate
#   also pushes the network that computes it.
# - **A baseline that knows the choice.** It biases the estimate; with this draw's own reward as baseline,
#   exactly nothing is left.
# - **Dropout that never sleeps.** `F.dropout` drops unless it is told `training=False`, and
#   `scaled_dot_product_attention` drops at any `dropout_p` above 0: neither knows about `model.eval()`.
#   Test it: two evaluations of one input must agree.
# - **Dropping scores instead of weights.** A score of 0 does not remove a word: its weight is $e^0$ divided
#   by the sum of its row.
# - **Means over padded rows.** Rows of zeros have entropy 0, and make short sentences look sharp.
# - **A penalty's sign.** Print the entropy before training and after a hundred updates.

# %% [markdown]
# ## Check yourself
#
# ```{self-check} which-penalty-is-flat
# ```
#
# ```{self-check} sign-of-lambda
# ```
#
# ```{self-check} honest-baseline
# ```
#
# ```{self-check} one-weight-dropped
# ```
#
# ## What you now know
#
# - A choice made by dice can be learned from its reward alone: $\nabla \log \alpha_I$ times the reward is,
#   on average, the exact gradient.
# - A baseline leaves the mean where it is and can remove most of the noise. Straight-through is biased, and
#   still noisy.
# - Entropy and sum of squares sharpen a row or spread it out, depending on the sign of $\lambda$. L1 on
#   softmax weights is a constant.
# - Over values of equal length, attention dropout shakes sharp rows most. Dropped rows do not sum to 1.
#
# **Now you.** In [the exercise](../exercises/12_hard.ipynb) you write the log-probability of a choice, a
# surrogate with a baseline from other draws, the exact noise, straight-through, and a loss with penalties
# and pads. Then you judge a study of dropout rates.
#
# **Next.** Several heads: instead of one sharp row, several rows at once.
#
# ## Sources
#
# - Hard attention for captions, the bound, the estimate: {cite:t}`xu2015`, section 4.1. The score-function
#   gradient and its baseline: {cite:t}`williams1992`. Straight-through: {cite:t}`bengio2013`. A choice that only
#   moves forward, so that translation can begin before the sentence ends: {cite:t}`raffel2017`.
# - Sparse rows: {cite:t}`martins2016`, section 2; {cite:t}`peters2019`. Softened dice: {cite:t}`jang2017`,
#   {cite:t}`maddison2017`.
# - Columns that sum to one: {cite:t}`xu2015`, section 4.2.1. Dropout: {cite:t}`srivastava2014`.
