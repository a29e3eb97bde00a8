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
# # Choosing one place: hard attention, penalties, dropout
#
# Soft attention mixes; a dictionary chooses. In this chapter a network chooses by throwing dice, and
# learns from the outcome although no gradient passes through the dice. Then you change soft rows on purpose:
# penalties sharpen them, spread them or do nothing at all, and dropout tears holes in them.
#
# **You need** the softmax, its Jacobian, and the context as an expectation, from [soft
# addressing](02_soft_addressing.ipynb). **It covers** hard attention, the score-function gradient and
# its baseline, straight-through, penalties on weights, and attention dropout.

# %% tags=["install", "hide-cell"]
INSTALL

# %% [markdown]
# ## A question you can see
#
# A model throws a three-sided die: *cat*, *sat* or *mat*, with the weights of the whole book. It fetches
# that state alone, and gets a **reward**: here the log-probability that it then gives the right word.
# Which way should its three scores move? The arrow is the exact answer. Each dot is an estimate from
# draws; dots that lie on one another make one large dot. **Each frame has a scale of its own, shown
# below it.**

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from seqattn import HardAttention, ScaledDotScore, score_function_loss
from seqattn.data import FIVE, TINY, measured
from seqattn.dropout import dropout
from seqattn.plots import BLUE, GREY, ORANGE, ResultTable, plot_attention, use_style
from seqattn.widgets import PenaltyPath, TwoClouds

use_style()
torch.set_printoptions(precision=3, sci_mode=False)
stored = measured("choosing")


def span(found, what, form):
    values = [run[what] for run in found]
    return f"{min(values):{form}} to {max(values):{form}}"


TwoClouds(
    caption="Try: add 10 to all rewards and read the two scales. Then take 64 draws for each estimate."
)

# %% [markdown]
# ## By hand
#
# The scores are $s^\top h_i = (1, 1.25, -0.75)$, the weights $(0.407, 0.522, 0.071)$. Let *cat* pay 1 and the
# others nothing. Then the expected reward is $J = 0.407$. It grows with the score of *cat* by
# $\alpha_1(1 - \alpha_1) = 0.241$, and with the others by $-\alpha_1\alpha_i$, which is $-0.213$ and $-0.029$.
#
# Now with dice. Whatever was drawn, multiply its reward by the slope of its log-probability, which is
# $1 - \alpha_i$ for the score of the drawn word and $-\alpha_j$ for the others:
#
# | drawn | how often | estimate |
# |---|---|---|
# | *cat* | 0.407 | $1 \cdot (0.593, -0.522, -0.071)$ |
# | *sat* | 0.522 | $(0, 0, 0)$ |
# | *mat* | 0.071 | $(0, 0, 0)$ |
#
# The average is the gradient, yet *no single estimate is right*. Pay 11, 10 and 10 instead: the
# gradient is the same, and each estimate is at least ten times the slope of what was drawn.

# %%
e = (TINY.h @ TINY.s).double().requires_grad_()
alpha = e.softmax(0)
slopes = torch.eye(3) - alpha.detach()  # row i: gradient of log alpha_i


def estimates(rewards, b=0.0):
    return (rewards - b)[:, None] * slopes


for rewards in (torch.tensor([1.0, 0, 0]), torch.tensor([11.0, 10, 10])):
    (exact,) = torch.autograd.grad(alpha @ rewards.double(), e, retain_graph=True)
    average = alpha.detach() @ estimates(rewards)
    torch.testing.assert_close(average, exact)
    print("exact", exact, " if cat is drawn", estimates(rewards)[0])

# %% [markdown]
# ## From a mixture to a choice
#
# Soft attention feeds the mean state into what follows. **Hard attention** {cite:p}`xu2015` fetches one,
# $c_t = v_I$ with $I \sim \alpha_t$ ({eq}`eq-hard-attention`). The right word's probability is then a mean over
# the choices. The logarithm is concave, and so by Jensen's inequality
#
# $$ \log p(y) = \log \sum_i \alpha_i\, p(y \mid v_i) \;\ge\; \sum_i \alpha_i \log p(y \mid v_i) = J $$ (eq-hard-bound)
#
# $J$ is an expected reward, with $r_i = \log p(y \mid v_i)$: training makes it larger. With log-probabilities
# $(-0.2, -1.5, -3.0)$ the two sides are $-0.79$ and $-1.08$.
#
# To climb, one needs the gradient. A sum over all positions gives it exactly. But that asks the rest of the
# network once for each position, and after $T$ steps for each *sequence* of positions. So estimate. One line
# does it, $\nabla \alpha_i = \alpha_i \nabla \log \alpha_i$:
#
# $$
# \begin{aligned}
# \nabla J &= \sum_i r_i\, \nabla \alpha_i \\
# &= \sum_i \alpha_i\, r_i\, \nabla \log \alpha_i \\
# &= \mathbb{E}_{I \sim \alpha}\big[r_I\, \nabla \log \alpha_I\big]
# \end{aligned}
# $$ (eq-log-trick)
#
# **This is the surprising line: the reward needs no derivative.** It may be a BLEU score or a user's click.
# Here $\nabla$ is by the parameters of the scores; what follows the choice learns by plain backpropagation.
# The estimate is called *score-function gradient* or REINFORCE {cite:p}`williams1992`.

# %% [markdown]
# ### The baseline
#
# Let $b$ be any number that does not depend on the choice. Then
#
# $$ \mathbb{E}\big[b\, \nabla \log \alpha_I\big] = b \sum_i \nabla \alpha_i = b\, \nabla 1 = 0 $$ (eq-baseline-free)
#
# so $r_I - b$ may stand for $r_I$: the cloud shrinks or grows, its mean stays. Which $b$ is best? The
# **total variance** is the sum of the variances of all components. With $n_i = \lVert \nabla \log \alpha_i \rVert^2$ it is
#
# $$
# \begin{aligned}
# V(b) &= \sum_i \alpha_i (r_i - b)^2 n_i - \lVert \nabla J \rVert^2 \\
# V'(b) &= -2 \sum_i \alpha_i (r_i - b)\, n_i = 0 \\
# b^\star &= \frac{\sum_i \alpha_i\, n_i\, r_i}{\sum_i \alpha_i\, n_i}
# \end{aligned}
# $$ (eq-best-baseline)
#
# The best baseline is *not* the mean reward: it is the mean weighted by squared lengths. In practice a
# running mean of earlier rewards does, or the mean over *other* draws for the same input. **A pitfall:**
# subtract this draw's own reward, or let $b$ know the choice, and the estimate is biased.

# %% [markdown]
# ### Unbiased, and how noisy
#
# Three words can be enumerated. Let the package compute the estimate of each choice by backpropagation,
# average exactly, and compare; then draw 10,000 times. *Noise over signal* is $\sqrt{V}$ divided by the
# gradient's length.
#
# ```{predict} which-baseline
# ```


# %%
def by_backprop(i, rewards, b):
    loss = score_function_loss(e.log_softmax(0)[i], rewards[i], b)
    return -torch.autograd.grad(loss, e)[0]


def noise(rewards, b, drawn=None):
    g = torch.stack([by_backprop(i, rewards, b) for i in range(3)])
    exact = alpha.detach() * (rewards - alpha.detach() @ rewards)
    torch.testing.assert_close(alpha.detach() @ g, exact)  # unbiased, whatever b is
    if drawn is not None:
        return g[drawn].var(0).sum()
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
        V, seen = noise(r, b), noise(r, b, drawn)
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
# The noise is longer than the gradient in every row. Add 10 and it grows from
# {{ f"{ratio['as they are', 'none']:.1f}" }} to {{ f"{ratio['+ 10', 'none']:.0f}" }} times the gradient;
# with either baseline nothing changes. Here the best baseline is hardly calmer than the mean. And no
# baseline takes the noise away: {{ f"{ratio['+ 10', 'best']:.2f}" }} is what is left. For that you need more draws,
# which divide $V$ by their number.
#
# </details>
#
# ## The other way: pretend
#
# **Straight-through** {cite:p}`bengio2013` fetches hard and passes the gradient back as if it had mixed:
#
# $$ c = v_I \ \text{forward}, \qquad \frac{\partial c}{\partial e} := \frac{\partial}{\partial e} \sum_i \alpha_i v_i \ \text{backward} $$ (eq-straight-through)
#
# The dice are thrown forward, but the slope is taken at the drawn place, so this too is noisy. But it answers
# another question. Let what follows be the squared length, $f(v) = \lVert v \rVert^2$, of which [chapter
# 2](02_soft_addressing.ipynb) showed that $f(\mathbb{E}\,v) \ne \mathbb{E} f(v)$. Here are three gradients by
# the scores, all averaged exactly over the draws:

# %%
H, a = TINY.h.double(), alpha.detach()
f = H.square().sum(1)
hard = a * (f - a @ f)  # of the expected f(v_I)
soft = torch.autograd.grad((alpha @ H).square().sum(), e, retain_graph=True)[0]
back = torch.stack(  # what reaches the scores if i was drawn
    [torch.autograd.grad(2 * H[i] @ (alpha @ H), e, retain_graph=True)[0] for i in range(3)]
)  # fmt: skip
through = a @ back
print(f"hard             {hard}\nsoft             {soft}\nstraight-through {through}")
angle = F.cosine_similarity(hard, through, dim=0).item()

# %% [markdown]
# Straight-through gives, on average, the gradient of the *soft* model here, since $f$ is quadratic. It is not
# that of the model that is run: the cosine between the two is {{ f"{angle:.2f}" }}. **Unbiased, or biased:
# that is the choice. Which is calmer depends on $f$ and on the baseline.** Which matters more, only a
# training can tell.
#
# ## Measured: find the marked letter
#
# Twelve letters, of twenty; a fixed vector is added to one of them. Name it. The letters' vectors stay as they
# were drawn; a query, an additive score and a linear readout learn, in five ways:
#
# - **soft**: mix, and backpropagate;
# - **every place**: the exact $J$ of {eq}`eq-hard-bound`, a sum over all twelve;
# - **straight-through**;
# - **baseline** and **no baseline**: one draw, score-function gradient, $b$ a running mean or 0.
#
# Sizes, batches and updates are the same. Each way has its own learning rate, chosen with one seed on
# validation rows. Then {{ stored["card"]["seeds of letters"] }} seeds are judged on {{
# f"{stored['card']['judged']:,}" }} test rows. All but *soft* take the largest weight when judged. Guessing a
# letter is right in 5 % of cases; reading a random place, and reading it well, in 13 %.
#
# ```{predict} which-way
# ```

# %% tags=["hide-input", "hide-output", "hide-until-which-way"] mystnb={"image": {"alt": "Share of marked letters named right against updates, a panel for each of five ways of learning and a line for each seed, with a dotted line for reading a random place."}}
ways, looks = stored["ways"], stored["card"]["looks"]
CHANCE, RANDOM_PLACE = 1 / 20, 1 / 12 + 11 / 12 / 20


def share(way, update):
    used = "mixed" if way == "soft" else "largest"
    at = looks.index(update)
    return [{"right": run["curve"][at][used]} for run in ways[way]["runs"]]


rows = []
for way in ways:
    cells = (span(share(way, n), "right", ".2f") for n in (50, 100, 200, 600))
    rows.append((way, ways[way]["lr"], *cells))
heads = ("way", "rate", "50 updates", "100", "200", "600")
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
    ax.set(xticks=[0, 300, 600], ylim=(0, 1.03))
panels[0].set_ylabel("named right")
panels[2].set_xlabel("updates")
plt.show()

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **Mixing is faster than dice without a baseline.** After 50 updates each seed of *soft* is above each seed of *no baseline*.
#   Each of the other three ways has a seed that is level with *soft*: no difference seen.
# - **The baseline's gain** does not show: after 50 updates {{ span(share("baseline", 50), "right", ".2f") }} with it and
#   {{ span(share("no baseline", 50), "right", ".2f") }} without. The ranges overlap: no difference seen. It removes noise from each estimate, as the
#   table above shows; what that is worth in a training, five seeds do not settle.
# - **Straight-through** has all seeds near the top after 100 updates. Its bias does no harm that shows here.
# - **Noise does not stop the drawn ways**: after 600 updates every seed of both has found the mark. What noise costs
#   in time stays open: after 50 updates both overlap with *every place*, the exact sum.
# - **An exact gradient is no guarantee.** One seed of *every place* ends at {{ f"{share('every place', 600)[3]['right']:.2f}" }}. Why, the table
#   cannot say.
#
# This is one small task, and each choice is rewarded at once. *Soft* and *baseline* took the highest of the four rates
# that were tried. In Xu et al.'s captions a choice earns its reward words later.
#
# </details>

# %% [markdown]
# ## Ten lines
#
# What the drawn ways do in each update, in a loop of its own. The reward is the log-probability of the right
# letter; the readout learns from the loss, the scores from the surrogate alone.

# %%
torch.manual_seed(0)
letters, mark = torch.randn(20, 16), torch.randn(16)
attention, name = HardAttention(ScaledDotScore()), torch.nn.Linear(16, 20)
query = torch.randn(16).requires_grad_()
optimizer = torch.optim.Adam([query, *name.parameters()], lr=0.03)

# %%
b = 0.0
for _ in range(400):
    ids, marked = torch.randint(20, (32, 12)), torch.randint(12, (32,))
    states = letters[ids] + F.one_hot(marked, 12)[..., None] * mark
    found = attention(query.expand(32, -1), states)
    said = -F.cross_entropy(
        name(found.context), ids[range(32), marked], reduction="none"
    )
    reward = said.detach()
    loss = -said.mean() + score_function_loss(found.log_prob, reward, b)
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    b = 0.9 * b + 0.1 * reward.mean().item()
print(
    f"weight on the mark {found.weights[range(32), marked].mean():.2f}, reward {b:.2f}"
)

# %% [markdown]
# ## One row under a penalty
#
# The gentler way to a sharp row: keep the mixture, and ask for sharpness in the loss. Answer, then take steps. Afterwards
# try *entropy* and *1 − Σα²*, with λ of either sign.

# %% tags=["hide-input"]
PenaltyPath()

# %% [markdown]
# A penalty $R$ is added to the loss, with a factor:
#
# $$ L_{\mathrm{total}} = L + \lambda R $$ (eq-regularised-loss)
#
# Training makes $R$ *small* if $\lambda > 0$. So a positive $\lambda$ on the entropy $H$ **sharpens**; to keep a
# row spread, $\lambda$ is negative. With the softmax's Jacobian of chapter 2:
#
# $$
# \begin{aligned}
# \frac{\partial H}{\partial e_i} &= -\alpha_i (\log \alpha_i + H) \\
# \frac{\partial}{\partial e_i} \Big(1 - \sum_j \alpha_j^2\Big) &= -2 \alpha_i \Big(\alpha_i - \sum_j \alpha_j^2\Big) \\
# \frac{\partial}{\partial e_i} \sum_j |\alpha_j| &= \frac{\partial}{\partial e_i} 1 = 0
# \end{aligned}
# $$ (eq-penalty-slopes)
#
# **The third is a trap.** Where weights are free, an L1 penalty makes many of them zero, and it is tempting to ask that
# of attention. It runs, it is logged, and it does nothing: a softmax row sums to 1. All three slopes vanish at a uniform row, where nothing says which
# way to go, and at a corner; the third everywhere.
#
# By hand, at our row: $H = 0.892$, and its slope for *sat* is $-0.522\,(\ln 0.522 + 0.892) = -0.127$. For *cat* it is
# $0.003$: $\ln 0.407$ is almost $-H$.

# %%
from seqattn.training.regularizers import entropy_penalty, sparsity_penalty

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
# The package divides a row's entropy by the logarithm of its length, so that long sentences do not weigh more,
# and leaves padded rows out of the mean. A padded row of zeros has entropy 0 by the formula and would count as perfectly
# sharp.
#
# A third kind of penalty looks at columns: {eq}`eq-look-at-each-word` of chapter 3 asks that each source word
# get about one word's weight in total, *doubly stochastic* attention. It says nothing about a single row.

# %% [markdown]
# ## Tearing holes: attention dropout
#
# After the softmax, in training only, each weight is set to zero with probability $p$ and the others are divided
# by $1 - p$ ({eq}`eq-attention-dropout`). With $m_i \in \{0, 1\}$ for what is kept, the dropped context is
# $\tilde c = \sum_i \frac{m_i}{1-p} \alpha_i v_i$. Its mean is $c$. But how far from it is a single draw?
#
# ```{predict} noise-of-dropout
# ```
#
# The $m_i$ are independent, and each has the variance $p(1-p)$:
#
# $$
# \begin{aligned}
# \mathbb{E}\lVert \tilde c - c \rVert^2 &= \sum_i \frac{\mathrm{Var}(m_i)}{(1-p)^2}\, \alpha_i^2 \lVert v_i \rVert^2 \\
# &= \frac{p}{1-p} \sum_i \alpha_i^2\, \lVert v_i \rVert^2
# \end{aligned}
# $$ (eq-dropout-variance)
#
# **The surprise: of rows over values of equal length, the sharp one is shaken most**, by the sum of squares that the second
# penalty has with the other sign. Put $\lVert v_i \rVert = 1$ for the *sum of the row*: with $p = 0.25$ ours is $1 \pm 0.38$, a uniform row
# of three $1 \pm 0.33$, a row with one weight $1 \pm 0.58$: it is 0 or 1.33. So **dropped rows do not sum to 1**, only their
# mean does. They must not be renormalised, nor drawn as maps.

# %% tags=["hide-output", "hide-until-noise-of-dropout"]
torch.manual_seed(0)
p, norms = 0.25, H.square().sum(1)
ROWS = {"flat": torch.ones(3) / 3, "ours": a, "sharp": torch.tensor([0.01, 0.98, 0.01])}
shaken = {}
for kind, weights in ROWS.items():
    weights = weights.double()
    dropped = dropout(weights.expand(40_000, 3), p)
    off = (dropped @ H - weights @ H).square().sum(1).mean().item()
    shaken[kind] = (p / (1 - p) * weights.square() @ norms).item()
    assert abs(off / shaken[kind] - 1) < 0.04
    sums = dropped.sum(1)
    print(f"{kind:5s} formula {shaken[kind]:.3f}  measured {off:.3f}  "
          f"row sums {sums.mean():.2f} ± {sums.std():.2f}, from {sums.min():.2f} to {sums.max():.2f}")  # fmt: skip

# %% [markdown]
# ## Measured: in a translator
#
# Now all of it in chapter 3's kind of model, in Luong's order: additive score, states of 64 numbers,
# {{ f"{stored['card']['pairs']:,}" }} short pairs of the toy corpus, each seen {{ stored["card"]["epochs"] }} times. Few pairs and many
# rounds, so that there is something to overfit. Penalties have $|\lambda| = 0.3$. The learning rate is chosen on validation pairs for the plain
# training; {{ stored["card"]["seeds"] }} seeds are judged once on {{ stored["card"]["tested on"] }} test pairs. Entropy is
# normalised, 0 to 1. AER is that of each row's largest weight: links by lot have
# {{ f"{stored['yardsticks']['by lot']:.2f}" }} on these pairs, the diagonal, which looks at no word, {{ f"{stored['yardsticks']['diagonal']:.2f}" }}. *Columns* is the mean of $(1 - \sum_t \alpha_{ti})^2$. Nats are per word, on pairs that were learned and on test pairs.
#
# ```{predict} what-helps
# ```

# %% tags=["hide-output", "hide-until-what-helps"]
runs = stored["runs"]
KINDS = (("entropy", ".2f"), ("columns", ".2f"), ("bleu", ".1f"), ("aer", ".2f"),
         ("nats, known pairs", ".2f"), ("nats", ".2f"))  # fmt: skip
rows = [[added, *(span(of, *kind) for kind in KINDS)] for added, of in runs.items()]
heads = ("added", "entropy", "columns", "BLEU", "AER", "nats, known", "nats, test")
ResultTable(heads, rows, "Six trainings", "lowest to highest of three seeds")

# %% [markdown]
# <details><summary>What the output shows</summary>
#
# - **λ > 0 on the entropy** sharpened each row to one word, and ruined the model: in each seed BLEU is below, and the
#   nats on test pairs above, those of every plain seed. *Columns* says how: all rows look at the same few words.
#   Why, it does not say. Perhaps rows become sharp here before they know where to look.
# - **λ < 0** spread the rows. BLEU overlaps with the plain training: no difference seen. AER is lower in each seed. So do
#   not read a sharp map as a good one.
# - **Doubly stochastic** weights make columns what was asked for, and links better: AER is
#   {{ span(runs["doubly stochastic"], "aer", ".2f") }} against {{ span(runs["plain"], "aer", ".2f") }}, each seed below each. The diagonal
#   is better than any of these trainings, so their rows are poor links. BLEU: no difference seen.
# - **Dropout** spreads rows, the more the higher the rate, measured without dropout: the model has learned another way
#   of looking. With 10 % neither BLEU nor nats on test pairs differ from the plain training by more than the seeds do. With 30 % BLEU is
#   *lower* in each seed. It did not generalise better here.
#
# All this holds for one size, one λ, few pairs, and the highest of the learning rates that were tried. [The capstone](20_study.ipynb) asks about dropout again.
#
# </details>
#
# The five sentences, by the first seed of three trainings:

# %%
for i, pair in enumerate(FIVE):
    print(pair.source)
    for added in ("plain", "entropy −", "dropout 0.3"):
        print(f"    {added:12s} {runs[added][0]['five'][i]}")

# %% [markdown]
# ## On a real sentence
#
# A German caption and its translation by a larger model, a soft one ([chapter 3](03_additive.ipynb) shows more of
# them). What would a hard reader have fetched? Throw dice with each row's weights, 1,000 times.

# %%
caption = measured("captions")["captions"][0]
weights = torch.tensor(caption["weights"])
torch.manual_seed(0)
thrown = torch.multinomial(weights, 1_000, replacement=True)
agree = (thrown == weights.argmax(1, keepdim=True)).float().mean(1)
print(f"drawn place is that of the largest weight: {agree.mean():.0%} of all draws")
least = int(agree[:-1].argmin())
print(f"least often for {caption['tokens'][least].strip('▁')}: {agree[least]:.0%}")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Attention map of a German caption and its English translation, a row for each English token. Some rows have nearly all weight on one German token, others are spread over several."}}
figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
plot_attention(
    weights, caption["source_tokens"], caption["tokens"], ax=ax, annotate=False
)
plt.show()

# %% [markdown]
# Rows of this map are mixtures that the model learned to use. A *trained* soft model that is cut down to one place a row
# is another model: its readout has never seen such inputs.
#
# ## Where it breaks
#
# - **The surrogate's value means nothing.** `score_function_loss` can rise while all goes well. Log the reward.
# - **A reward with a gradient.** Then the surrogate also pushes the reward's own network. Detach it.
# - **A baseline that knows the choice** biases; this draw's own reward as baseline leaves exactly nothing.
# - **Dropout that never sleeps.** `F.dropout` drops unless it is told `training=False`, and `scaled_dot_product_attention`
#   drops at any `dropout_p` above 0: neither knows of `model.eval()`. Test: two evaluations of one input must agree.
# - **Dropping scores instead of weights.** A score of 0 is no absence: its weight is $e^0$ over the sum.
# - **Means over padded rows.** Entropy 0 of rows that are all zero makes short sentences look sharp.
# - **A penalty's sign.** Print the entropy before and after a hundred updates.

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
# - A choice by dice can be learned from its reward alone: $\nabla \log \alpha_I$ times the reward, on average the exact
#   gradient.
# - A baseline moves no mean and can remove most of the noise. Straight-through is biased, and still noisy.
# - Entropy and sum of squares sharpen or spread a row, by the sign of $\lambda$. L1 on softmax weights is a constant.
# - Over values of equal length, attention dropout shakes sharp rows most. Dropped rows do not sum to 1.
#
# **Now you.** [The exercise](../exercises/12_hard.ipynb) has you write the log-probability of a choice, a surrogate with
# a baseline from other draws, the exact noise, a penalty with pads and attention dropout, and judge a study of dropout rates.
#
# **Next.** Several heads: instead of one sharp row, several rows at once.
#
# ## Sources
#
# - Hard attention for captions, the bound, the estimate: {cite:t}`xu2015`, section 4.1. The score-function gradient and
#   its baseline: {cite:t}`williams1992`. Straight-through: {cite:t}`bengio2013`.
# - Columns that sum to one: {cite:t}`xu2015`, section 4.2.1. Dropout: {cite:t}`srivastava2014`.
