"""Ask a model instead of its map: other weights, other words, gradients.

A *change* is a function of weights and mask that gives other weights; :func:`replace_weights` has
a model compute with them. :func:`forged` looks for the weights that differ most and leave the
answer as it was. :func:`occlusion`, :func:`gradient_times_input` and :func:`integrated_gradients`
ask how much the answer owes to each word, whatever the weights say.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqattn.attention import Mechanism, Memory, masked_softmax
from seqattn.attention.core import Past, weighted_sum
from seqattn.attention.masks import expand_mask
from seqattn.metrics import jensen_shannon, weight_distance
from seqattn.settings import check_whole

__all__ = [
    "Change",
    "Forged",
    "erased",
    "forged",
    "gradient_times_input",
    "hard",
    "integrated_gradients",
    "occlusion",
    "replace_weights",
    "shuffled",
    "uniform",
    "without_another",
    "without_largest",
]

Weights = Float[Tensor, "*rows keys"]
Mask = Bool[Tensor, "..."]
Change = Callable[[Tensor, Tensor | None], Tensor]


@contextmanager
def replace_weights(model: nn.Module, change: Change) -> Iterator[None]:
    """Let every attention of a model compute its context with other weights, within the block.

    The model goes on with the context of the new weights, and returns them as its weights; scores
    and states are computed as before. In training, gradients flow through what ``change`` returns,
    and none of these weights is dropped. Blocks may stand in each other: the inner change gets what
    the outer one gives.

    Parameters
    ----------
    model : nn.Module
        A translator's model or a :class:`~seqattn.models.SentenceClassifier`.
    change : callable
        ``(weights, mask) -> weights``, such as :func:`uniform`; called at every look, with weights
        (batch, [queries,] keys) and a mask (batch, keys), or None.

    Raises
    ------
    ValueError
        If the model has no attention, if one of its attentions does more than one plain look
        (several heads, coverage, local, hard), or if ``change`` gives weights of another shape.

    Examples
    --------
    >>> from seqattn.models import SentenceClassifier
    >>> model, ids = SentenceClassifier(11, d=6), torch.tensor([[4, 5, 6, 7]])
    >>> with replace_weights(model, uniform):
    ...     model(ids, torch.tensor([4])).weights
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    found = [part for part in model.modules() if isinstance(part, Mechanism)]
    if not found:
        raise ValueError(f"{type(model).__name__} has no attention whose weights could be replaced")
    for part in found:
        inner = any(isinstance(other, Mechanism) for other in part.children())
        if inner or type(part).look is not Mechanism.look:
            raise ValueError(
                f"{type(part).__name__} does more than one plain look; expected an attention with "
                "one head, no window, no draw and no memory of earlier steps"
            )
    with ExitStack() as undo:
        for part in found:
            undo.callback(_put_back, part, vars(part).get("look"))
            part.look = _looking(part.look, change)  # type: ignore[method-assign]
        yield


def _put_back(part: Mechanism, look: Callable[..., Any] | None) -> None:
    if look is None:
        del part.look
    else:
        part.look = look  # type: ignore[method-assign]


def _looking(look: Callable[..., tuple[Any, Any, Any]], change: Change) -> Callable[..., Any]:
    def looked(
        query: Tensor, memory: Memory, past: Past | None = None
    ) -> tuple[Tensor, Tensor, Past | None]:
        _, weights, past = look(query, memory, past)
        changed = change(weights, memory.mask)
        if changed.shape != weights.shape:
            raise ValueError(
                f"the changed weights have shape {tuple(changed.shape)}; expected that of the "
                f"weights, {tuple(weights.shape)}"
            )
        return weighted_sum(changed, memory.values), changed, past

    return looked


def shuffled(
    weights: Weights, mask: Mask | None = None, *, generator: torch.Generator | None = None
) -> Weights:
    """Deal the weights of each row out anew among its real positions.

    Parameters
    ----------
    weights : (batch, [queries,] keys)
        Attention weights.
    mask : bool, optional
        True at real positions, as in :func:`~seqattn.masked_softmax`. What stands elsewhere stays
        where it is.
    generator : torch.Generator, optional
        Source of the draws: one for each row.

    Returns
    -------
    same shape
        A random permutation of each row; all are equally likely, the row itself among them.

    References
    ----------
    Jain and Wallace (2019), "Attention is not Explanation", section 4.2.1.

    Examples
    --------
    >>> dice = torch.Generator().manual_seed(1)
    >>> row, real = torch.tensor([[0.7, 0.2, 0.1, 0.0]]), torch.tensor([[True, True, True, False]])
    >>> shuffled(row, real, generator=dice).sort(descending=True).values
    tensor([[0.7000, 0.2000, 0.1000, 0.0000]])
    """
    real = _real(weights, mask)
    draws = torch.rand(weights.shape, generator=generator).to(weights.device)
    # Both orders put real positions first; beyond them each position keeps its own.
    to = (~real).to(torch.int8).argsort(dim=-1, stable=True)
    source = draws.masked_fill(~real, 2.0).argsort(dim=-1, stable=True)
    return torch.zeros_like(weights).scatter(-1, to, weights.gather(-1, source))


def uniform(weights: Weights, mask: Mask | None = None) -> Weights:
    """Give each real position the same weight.

    Parameters
    ----------
    weights, mask
        As in :func:`shuffled`.

    Returns
    -------
    same shape
        One over the number of real positions; rows without any are 0.

    Examples
    --------
    >>> uniform(torch.tensor([[0.7, 0.3, 0.0]]), torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    real = _real(weights, mask).to(weights)
    return real / real.sum(-1, keepdim=True).clamp(min=1)


def hard(weights: Weights, mask: Mask | None = None) -> Weights:
    """Keep the largest weight alone, and give it all.

    Parameters
    ----------
    weights, mask
        As in :func:`shuffled`.

    Returns
    -------
    same shape
        1 at the largest weight of each row, the first if several are equal; rows of zeros stay.

    Examples
    --------
    >>> hard(torch.tensor([[0.2, 0.7, 0.1]]))
    tensor([[0., 1., 0.]])
    """
    return _largest(weights.masked_fill(~_real(weights, mask), 0.0)).to(weights)


def erased(weights: Weights, where: Bool[Tensor, "*rows keys"]) -> Weights:
    """Take weights away, and let the others of the row grow until it sums to 1 again.

    Without the second step the context would shrink as well, which is another change.

    Parameters
    ----------
    weights : (batch, [queries,] keys)
        Attention weights.
    where : bool, same shape
        True where a weight is taken away.

    Returns
    -------
    same shape
        Rows that sum to 1, or to 0 where nothing is left.

    References
    ----------
    Serrano and Smith (2019), "Is Attention Interpretable?", section 3.1.

    Examples
    --------
    >>> erased(torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[True, False, False]]))
    tensor([[0.0000, 0.6000, 0.4000]])
    """
    left = weights.masked_fill(where, 0.0)
    total = left.sum(-1, keepdim=True)
    return left / total.where(total > 0, 1.0)


def without_largest(weights: Weights, mask: Mask | None = None) -> Weights:
    """Erase the largest weight of each row; see :func:`erased`.

    Parameters
    ----------
    weights, mask
        As in :func:`shuffled`.

    Returns
    -------
    same shape
        Rows that sum to 1; a sentence of one word has nothing left.

    Examples
    --------
    >>> without_largest(torch.tensor([[0.5, 0.3, 0.2]]))
    tensor([[0.0000, 0.6000, 0.4000]])
    """
    own = weights.masked_fill(~_real(weights, mask), 0.0)
    return erased(own, _largest(own))


def without_another(
    weights: Weights, mask: Mask | None = None, *, generator: torch.Generator | None = None
) -> Weights:
    """Erase one weight at random, never the largest: the control for :func:`without_largest`.

    Parameters
    ----------
    weights, mask, generator
        As in :func:`shuffled`.

    Returns
    -------
    same shape
        Rows that sum to 1; a sentence of one word is left as it is.

    Examples
    --------
    >>> without_another(torch.tensor([[0.75, 0.25]]))
    tensor([[1., 0.]])
    """
    own = weights.masked_fill(~_real(weights, mask), 0.0)
    others = _real(weights, mask) & ~_largest(own)
    draws = torch.rand(weights.shape, generator=generator).to(own.device)
    drawn = _largest((draws + 1).masked_fill(~others, 0.0))
    return erased(own, drawn)


class Forged(NamedTuple):
    """What :func:`forged` found.

    Attributes
    ----------
    weights : (batch, keys)
        The most different weights that keep the answer.
    distance : (batch,)
        Jensen–Shannon divergence between them and the true ones, in nats: from 0 to ln 2.
    moved : (batch,)
        Total variation distance between the answers, at most ``allowed``.
    """

    weights: Tensor
    distance: Tensor
    moved: Tensor


def forged(
    answer: Callable[[Tensor], Tensor],
    weights: Float[Tensor, "batch keys"],
    mask: Bool[Tensor, "batch keys"] | None = None,
    *,
    allowed: float = 0.05,
    restarts: int = 3,
    steps: int = 100,
    lr: float = 0.3,
    generator: torch.Generator | None = None,
) -> Forged:
    r"""Look for weights as different as can be under which the model says the same.

    .. math:: \max_\beta \mathrm{JSD}(\alpha, \beta) \quad\text{such that}\quad
              \mathrm{TVD}\big(\hat y(\alpha), \hat y(\beta)\big) \le \varepsilon

    By Adam on scores, from random starts, with a penalty on what the answer moves beyond 0.9 ε, so
    that the search ends inside. What is found is a lower bound: a better search may find more.

    Parameters
    ----------
    answer : callable
        ``weights -> probabilities`` (batch, classes), differentiable; each sentence by itself.
    weights : (batch, keys)
        The true weights α.
    mask : (batch, keys) bool, optional
        True at real positions.
    allowed : float
        How far the answer may move, ε.
    restarts, steps, lr
        Of the search.
    generator : torch.Generator, optional
        Source of the starts.

    Returns
    -------
    Forged
        The best of all steps; the true weights, at distance 0, where none kept the answer.

    Raises
    ------
    ValueError
        If ``allowed`` is not between 0 and 1.

    References
    ----------
    Jain and Wallace (2019), "Attention is not Explanation", section 4.2.2.

    Examples
    --------
    An answer that does not look at the weights can be forged at will:

    >>> found = forged(lambda w: torch.ones(1, 2) / 2, torch.tensor([[0.9, 0.1]]))
    >>> found.distance > 0.3, found.moved
    (tensor([True]), tensor([0.]))
    """
    if not 0 < allowed < 1:
        raise ValueError(f"allowed is {allowed}; expected a distance between 0 and 1")
    alpha = weights.detach()
    true = answer(alpha).detach()
    best, found, moved = alpha, alpha.new_zeros(len(alpha)), alpha.new_zeros(len(alpha))
    for _ in range(restarts):
        draws = torch.randn(alpha.shape, generator=generator, dtype=alpha.dtype)
        scores = draws.to(alpha.device).requires_grad_()
        optimizer = torch.optim.Adam([scores], lr)
        for _ in range(steps):
            beta = masked_softmax(scores, mask)
            off = weight_distance(answer(beta), true)
            distance = jensen_shannon(alpha, beta)
            with torch.no_grad():
                better = (off <= allowed) & (distance > found)
                best = torch.where(better.unsqueeze(-1), beta, best)
                found, moved = found.where(~better, distance), moved.where(~better, off)
            loss = (10 * (off - 0.9 * allowed).relu() - distance).sum()
            (scores.grad,) = torch.autograd.grad(loss, [scores])
            optimizer.step()
    return Forged(best.detach(), found, moved)


def occlusion(
    answer: Callable[[Tensor, Tensor], Tensor],
    source: Int[Tensor, "batch keys"],
    lengths: Int[Tensor, " batch"],
    *,
    fill: int | None = None,
) -> Float[Tensor, "batch keys"]:
    """Leave out one word after the other: how much of the answer goes with it?

    Parameters
    ----------
    answer : callable
        ``(source, lengths) -> (batch,)``, such as the logarithm of the probability of the class
        that was chosen.
    source : (batch, keys) integers
        Token ids, padded with 0 on the right.
    lengths : (batch,) integers
        Number of real tokens, at least 1.
    fill : int, optional
        Put this id in the word's place. By default the word is removed, and the sentence is shorter
        by one; a sentence of one word then has no occlusion: NaN.

    Returns
    -------
    (batch, keys)
        The answer for the whole sentence minus that without the word; exactly 0 at padding.

    References
    ----------
    Li, Monroe and Jurafsky (2016), "Understanding Neural Networks through Representation Erasure".

    Examples
    --------
    >>> count = lambda source, lengths: (source == 7).sum(1).double()
    >>> occlusion(count, torch.tensor([[5, 7, 6], [7, 5, 0]]), torch.tensor([3, 2]))
    tensor([[0., 1., 0.],
            [1., 0., 0.]], dtype=torch.float64)
    """
    keys = source.shape[1]
    with torch.no_grad():
        whole = answer(source, lengths)
        found = whole.new_zeros(source.shape)
        for i in range(keys):
            rows = (lengths > i).nonzero()[:, 0]
            if fill is None:
                alone = lengths[rows] == 1
                found[rows[alone], i] = torch.nan
                rows = rows[~alone]
            if not len(rows):
                continue
            if fill is None:
                rest = torch.cat([source[rows, :i], source[rows, i + 1 :]], 1)
                without = answer(rest, lengths[rows] - 1)
            else:
                rest = source[rows].clone()
                rest[:, i] = fill
                without = answer(rest, lengths[rows])
            found[rows, i] = whole[rows] - without
    return found


def gradient_times_input(
    answer: Callable[[Tensor], Tensor], vectors: Float[Tensor, "batch keys d"]
) -> Float[Tensor, "batch keys"]:
    r"""Give each word the part of the answer that its vector has to first order.

    .. math:: g_i = x_i^\top \frac{\partial f}{\partial x_i}

    Parameters
    ----------
    answer : callable
        ``vectors -> (batch,)``, differentiable; each sentence by itself.
    vectors : (batch, keys, d)
        Embeddings x.

    Returns
    -------
    (batch, keys)
        Signed: positive where a longer vector would raise the answer.

    References
    ----------
    Shrikumar et al. (2017), "Learning Important Features Through Propagating Activation
    Differences", section 2.

    Examples
    --------
    >>> gradient_times_input(lambda x: 3 * x[:, 0, 0] + x[:, 1, 0], torch.tensor([[[2.0], [5.0]]]))
    tensor([[6., 5.]])
    """
    inputs = vectors.detach().requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(answer(inputs).sum(), [inputs])
    return (gradient * inputs).sum(-1).detach()


def integrated_gradients(
    answer: Callable[[Tensor], Tensor], vectors: Float[Tensor, "batch keys d"], *, steps: int = 32
) -> Float[Tensor, "batch keys"]:
    r"""Average the gradient on the way from zero to the words, times the words.

    .. math:: g_i = x_i^\top \int_0^1 \frac{\partial f}{\partial x_i}(s x)\, ds

    The parts of all words add up to what the answer gains on that way, f(x) − f(0), but for the
    error of the sum that stands for the integral (midpoints).

    Parameters
    ----------
    answer, vectors
        As in :func:`gradient_times_input`.
    steps : int
        Number of midpoints.

    Returns
    -------
    (batch, keys)
        Signed.

    Raises
    ------
    ValueError
        If there is not at least one step.

    References
    ----------
    Sundararajan, Taly and Yan (2017), "Axiomatic Attribution for Deep Networks", section 3.

    Examples
    --------
    >>> integrated_gradients(lambda x: x[:, 0, 0] ** 2, torch.tensor([[[3.0]]]))
    tensor([[9.]])
    """
    check_whole("steps", steps, least=1)
    total = torch.zeros_like(vectors[..., 0])
    for k in range(steps):
        # x·∂f at s·x is the gradient times the input there, divided by s.
        s = (k + 0.5) / steps
        total += gradient_times_input(answer, s * vectors) / s
    return total / steps


def _real(weights: Tensor, mask: Tensor | None) -> Tensor:
    """Mark the real positions, in the shape of the weights."""
    if mask is None:
        return torch.ones_like(weights, dtype=torch.bool)
    return expand_mask(mask, weights).expand_as(weights)


def _largest(weights: Tensor) -> Tensor:
    """Mark the first largest entry of each row, unless all are 0."""
    marked = torch.zeros_like(weights, dtype=torch.bool)
    marked.scatter_(-1, weights.argmax(-1, keepdim=True), True)
    return marked & (weights > 0)
