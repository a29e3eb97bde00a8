"""Beam search over any model that offers ``begin`` and ``step``, and the penalties it ranks by."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from seqattn.attention import padding_mask
from seqattn.attention.masks import check_bool, check_lengths, expand_mask
from seqattn.context_managers import evaluating
from seqattn.decoding.interface import Hypotheses, StepModel, select
from seqattn.decoding.rows import (
    NEVER_WRITTEN,
    few_left,
    length_limits,
    log_probabilities,
    no_hypotheses,
    scatter_rows,
    to_hypotheses,
)
from seqattn.decoding.topk import top_first
from seqattn.precision import at_least_single
from seqattn.settings import check_penalty, check_whole
from seqattn.specials import BOS, EOS, PAD

__all__ = ["BeamSnapshot", "beam_search", "coverage_penalty", "length_penalty"]

LEAST_COVERAGE = 1e-4


class BeamSnapshot(NamedTuple):
    """What a beam search holds after a step.

    Attributes
    ----------
    rows : (rows,) integers
        The sentences in work; some may be done in all places.
    parents : (rows, beam) integers
        Where each beginning stood before the step.
    tokens : (rows, beam) integers
        What the step added to it; padding where it had ended.
    scores : (rows, beam)
        Log-probabilities; −inf where there is none, or none that can win any more.
    done : (rows, beam) bool
        Whether it has ended, or was given up.
    """

    rows: Tensor
    parents: Tensor
    tokens: Tensor
    scores: Tensor
    done: Tensor


def beam_search(
    model: StepModel,
    source: Int[Tensor, "batch keys"],
    lengths: Int[Tensor, " batch"],
    *,
    beam: int = 5,
    max_len: int | Int[Tensor, " batch"] = 100,
    length_penalty: float = 0.6,
    coverage_penalty: float = 0.0,
    n_best: int = 1,
    watch: Callable[["BeamSnapshot"], None] | None = None,
) -> Hypotheses:
    r"""Keep the most promising beginnings of a sentence, and return the best that ended.

    .. math:: \hat{y} = \arg\max_y \frac{\log p(y \mid x)}{\mathrm{lp}(|y|)} + \mathrm{cp}(y, x)

    Beginnings, which are also called partial hypotheses, are compared by their log-probability
    where they have one length. One that ends keeps its place in the beam and is not extended, so
    that the beam narrows until all have ended, or until no open beginning can still overtake the
    ``n_best`` that did: log-probabilities only fall, and no coverage penalty is above 0, so that
    :math:`\log p / \mathrm{lp}(\text{max\_len})` bounds whatever may become of it.

    Parameters
    ----------
    model : StepModel
        Switched to evaluation for the time of the search.
    source, lengths : (batch, keys), (batch,) integers
        Padded source sentences and their lengths.
    beam : int
        Number of beginnings to keep; 1 is greedy search.
    max_len : int, or (batch,) integers
        Most tokens to write, ``<eos>`` included; for all sentences or for each. A sentence cut off
        there competes as it stands.
    length_penalty : float
        Exponent α of :func:`~seqattn.decoding.length_penalty`.
    coverage_penalty : float
        Factor β of :func:`~seqattn.decoding.coverage_penalty`; above 0 for models with attention
        only.
    n_best : int
        Number of sentences to return for each source, at most ``beam``.
    watch : callable, optional
        Called after every step with a :class:`BeamSnapshot` at the beams.

    Returns
    -------
    Hypotheses
        ``n_best`` rows for each source, best first: row ``b * n_best`` is the best for source b.
        Among equally good ones the earlier place in the beam, and then the lower id, wins; a beam
        of one so finds what :func:`greedy` does. An empty batch has no rows, and no weights.

    Raises
    ------
    ValueError
        If ``beam``, ``n_best`` or ``max_len`` is no whole number or below 1, ``n_best`` above
        ``beam``, a penalty negative or no number, coverage is asked of a model that gives no
        weights, or the model's logits are NaN.

    References
    ----------
    Sutskever, Vinyals and Le (2014), section 3.2; Wu et al. (2016), section 7.
    """
    check_whole("beam", beam)
    check_whole("n_best", n_best)
    if not 1 <= n_best <= beam:
        raise ValueError(f"beam is {beam} and n_best is {n_best}; expected 1 <= n_best <= beam")
    check_penalty("length_penalty", length_penalty)
    check_penalty("coverage_penalty", coverage_penalty)
    limits = length_limits(max_len, source)[:, None]
    if not len(limits):
        return no_hypotheses(source)
    check_lengths(lengths, source.shape[0])
    real = padding_mask(lengths, source.shape[1]).to(source.device)[:, None].expand(-1, beam, -1)
    # In here the names of the two penalties are their exponent and factor, not the functions below.
    ranking = _Ranking(alpha=length_penalty, beta=coverage_penalty)
    with evaluating(model):
        beams = finished = _first_beams(real, limits, covered=coverage_penalty != 0)
        searched = torch.arange(source.shape[0], device=source.device)  # sentences, by number
        state, memory = select(model.begin(source, lengths), searched.repeat_interleave(beam))
        last = torch.full((len(searched) * beam,), BOS, device=source.device)
        trail: list[_Written] = []  # backpointers, step by step; _trace_back follows them
        for _ in range(int(limits.max())):
            logits, weights, state = model.step(last, state, memory)
            held = beams.done
            beams, parents, tokens = _extend(beams, logits)
            moved = _model_rows(parents, beam)  # the row of the model that each beginning came from
            weights = None if weights is None else weights[moved]
            beams = _stop_early(_cover(beams, parents, held, weights), ranking, n_best)
            trail.append(_Written(searched, parents, tokens, weights))
            if watch is not None:
                watch(BeamSnapshot(searched, parents, tokens, beams.scores, beams.done))
            open_ = (~beams.done.all(1)).nonzero()[:, 0]
            if not len(open_):
                break
            if few_left(open_, searched):
                finished = _put(finished, searched, beams)
                beams, searched, tokens = select((beams, searched, tokens), open_)
                moved = moved.view(-1, beam)[open_].flatten()
                memory = select(memory, moved)  # alike in all places of a sentence
            state, last = select(state, moved), tokens.flatten()
    finished = _put(finished, searched, beams)
    places = ranking.ranks(finished).sort(dim=1, descending=True, stable=True).indices[:, :n_best]
    return _trace_back(trail, places, finished.scores.gather(1, places))


def length_penalty(lengths: Real[Tensor, "..."], alpha: float) -> Float[Tensor, "..."]:
    r"""Length penalty of Wu et al., :math:`\mathrm{lp}(n) = \left(\frac{5 + n}{6}\right)^\alpha`.

    A sum of log-probabilities falls with every token, so that without it short sentences win.

    Parameters
    ----------
    lengths : whole numbers of any type, any shape
        Number of tokens n, the end of the sentence included. In float64, so are the divisors.
    alpha : float
        0 compares sums as they are; 1 divides them by (5 + n) / 6, which ranks long sentences
        nearly as means over the tokens do, and short ones less so.

    Returns
    -------
    same shape as lengths
        Divisors, 1 or more for sentences of a token or more.

    Raises
    ------
    ValueError
        If alpha is infinite, no number, or negative: short sentences win even without a penalty on
        long ones.

    References
    ----------
    Wu et al. (2016), "Google's Neural Machine Translation System", equation 14.

    Examples
    --------
    >>> import torch
    >>> length_penalty(torch.tensor([1, 7, 13]), alpha=1.0)
    tensor([1., 2., 3.])
    """
    check_penalty("length_penalty", alpha)
    return ((5 + lengths) / 6) ** alpha


def coverage_penalty(
    coverage: Float[Tensor, "*sentences keys"],
    beta: float,
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*sentences"]:
    r"""Coverage penalty of Wu et al., for source positions that were hardly looked at.

    .. math::
        \mathrm{cp} = \beta \sum_{i=1}^{S} \log \min\Big(\sum_{t=1}^{T} \alpha_{ti}, 1\Big)

    It is added to the log-probability. It is 0 if each position has got a total weight of 1 or
    more, and negative otherwise: a translation that leaves source words out loses.

    Parameters
    ----------
    coverage : (..., keys)
        Sum of the weights over the target's steps.
    beta : float
        β, 0 or more.
    mask : bool, optional
        True at real source positions: of the shape of the coverage, or, where that is (batch, beam,
        keys), as :func:`~seqattn.attention.masks.expand_mask` says, (batch, keys) first of all.

    Returns
    -------
    (...)
        Summands, 0 or less, in nats. A position with less than 0.0001 counts as having that, so
        that a position never seen, as local attention has many, does not make all sentences alike.

    Raises
    ------
    ValueError
        If beta is infinite, no number, or negative: leaving words out would win; or the mask does
        not fit.
    TypeError
        If the mask is not boolean.

    References
    ----------
    Wu et al. (2016), equation 14, where the sum of the weights is written
    :math:`\sum_j p_{i,j}`.

    Examples
    --------
    >>> import torch
    >>> coverage_penalty(torch.tensor([1.7, 1.0, 0.5]), beta=1.0)
    tensor(-0.6931)
    """
    check_penalty("coverage_penalty", beta)
    summands = coverage.clamp(LEAST_COVERAGE, 1.0).log()
    if mask is not None:
        if mask.shape != coverage.shape:
            mask = expand_mask(mask, coverage)
        check_bool(mask)
        summands = summands.masked_fill(~mask, 0.0)
    return beta * summands.sum(-1)


class _Beams(NamedTuple):
    """Where the search stands. A sentence has ``beam`` places, each a row of the model's batch."""

    scores: Tensor  # (batch, beam) total log-probability
    lengths: Tensor  # (batch, beam) tokens written
    done: Tensor  # (batch, beam) ended or given up: held, and not extended
    coverage: Tensor | None  # (batch, beam, keys) sum of the weights, where it counts
    real: Tensor  # (batch, beam, keys) where the source has tokens
    limits: Tensor  # (batch, 1) longest allowed lengths


class _Written(NamedTuple):
    """What one step wrote."""

    searched: Tensor  # the sentences that it was for, by number
    parents: Tensor  # (searched, beam) the place that each beginning came from
    tokens: Tensor  # (searched, beam)
    weights: Tensor | None  # (searched · beam, keys)


class _Ranking(NamedTuple):
    """By what sentences are compared once they have ended."""

    alpha: float
    beta: float

    def ranks(self, beams: _Beams) -> Tensor:
        """Give each sentence its rank, as if it ended here."""
        ranks = beams.scores / self._divisors(beams.lengths)
        if beams.coverage is not None:
            ranks = ranks + coverage_penalty(beams.coverage, self.beta, beams.real)
        return ranks

    def bound(self, beams: _Beams) -> Tensor:
        """Give what no continuation can exceed: all to come is certain, and all is covered."""
        return beams.scores / self._divisors(beams.limits)

    def _divisors(self, lengths: Tensor) -> Tensor:
        # A large alpha leaves 32 bits soon. Nor may it be infinite: −inf, of places without any
        # chance, would become NaN, and come first.
        largest = torch.finfo(torch.float64).max
        return length_penalty(lengths.double(), self.alpha).clamp(max=largest)


def _first_beams(real: Tensor, limits: Tensor, covered: bool) -> _Beams:
    """Start with one beginning, the empty one; the other places have no chance at all."""
    scores = torch.full(real.shape[:2], -torch.inf, device=real.device)
    scores[:, 0] = 0.0
    lengths = torch.zeros_like(scores, dtype=torch.long)
    coverage = torch.zeros_like(real, dtype=scores.dtype) if covered else None
    done = torch.zeros_like(lengths, dtype=torch.bool)
    return _Beams(scores, lengths, done, coverage, real, limits)


def _model_rows(places: Tensor, beam: int) -> Tensor:
    """Turn places in each sentence's beam into rows of the model's batch."""
    first = torch.arange(len(places), device=places.device)[:, None] * beam
    return (first + places).flatten()


def _put(beams: _Beams, searched: Tensor, new: _Beams) -> _Beams:
    """Put the beams of some sentences in their rows of those of all."""
    if len(searched) == len(beams.scores):
        return new
    pairs = zip(beams, new, strict=True)
    return _Beams(*(a if a is None else a.index_copy(0, searched, b) for a, b in pairs))  # type: ignore


def _extend(beams: _Beams, logits: Tensor) -> tuple[_Beams, Tensor, Tensor]:
    """Write one more token: the new beams, the place each came from, and its token."""
    batch, beam = beams.scores.shape
    logits = logits.to(at_least_single(logits.dtype))
    # The best `beam` of one beginning suffice, besides what is never written. By their logits, as
    # in greedy search: of two that differ the log-probabilities may be rounded to one.
    _, ids = top_first(logits, beam + len(NEVER_WRITTEN))
    never = torch.isin(ids, ids.new_tensor(NEVER_WRITTEN))
    values = log_probabilities(logits, ids).masked_fill(never, -torch.inf)
    totals = beams.scores[..., None] + values.view(batch, beam, -1)
    ids = ids.view(batch, beam, -1)
    # What is done offers itself, once, as it is, and cannot be displaced.
    totals[..., 0] = torch.where(beams.done, beams.scores, totals[..., 0])
    totals[..., 1:].masked_fill_(beams.done[..., None], -torch.inf)
    chances = totals.clone()
    chances[..., 0].masked_fill_(beams.done, torch.inf)
    chosen = chances.flatten(1).sort(dim=1, descending=True, stable=True).indices[:, :beam]
    parents = chosen // ids.shape[-1]
    done = beams.done.gather(1, parents)
    tokens = ids.flatten(1).gather(1, chosen).masked_fill(done, PAD)
    lengths = beams.lengths.gather(1, parents) + ~done
    scores = totals.flatten(1).gather(1, chosen)
    # A place without a chance is not held: it would narrow the beam.
    done = ((done | (tokens == EOS)) & (scores > -torch.inf)) | (lengths >= beams.limits)
    return beams._replace(scores=scores, lengths=lengths, done=done), parents, tokens


def _cover(beams: _Beams, parents: Tensor, held: Tensor, weights: Tensor | None) -> _Beams:
    """Add what the last step looked at, except to what had already ended."""
    if beams.coverage is None:
        return beams
    if weights is None:
        raise ValueError("coverage_penalty needs attention, and the model gives no weights")
    before = beams.coverage.gather(1, parents[..., None].expand_as(beams.coverage))
    new = weights.view(before.shape).masked_fill(held.gather(1, parents)[..., None], 0.0)
    return beams._replace(coverage=before + new)


def _stop_early(beams: _Beams, ranking: _Ranking, n_best: int) -> _Beams:
    """Give up the open beginnings of each source where none can reach the best any more."""
    ended = ranking.ranks(beams).masked_fill(~beams.done, -torch.inf)
    to_beat = ended.topk(n_best, dim=1).values[:, -1:]
    in_reach = ranking.bound(beams).masked_fill(beams.done, -torch.inf)
    given_up = ~beams.done & (in_reach.amax(1, keepdim=True) <= to_beat)
    return beams._replace(
        scores=beams.scores.masked_fill(given_up, -torch.inf), done=beams.done | given_up
    )


def _trace_back(trail: list[_Written], places: Tensor, scores: Tensor) -> Hypotheses:
    """Follow each chosen place back to the start of its sentence, weights and all."""
    tokens, maps = [], []
    for searched, parents, step_tokens, weights in reversed(trail):
        here = places[searched]
        tokens.append(scatter_rows(step_tokens.gather(1, here), searched, len(places)).flatten())
        if weights is not None:
            seen = weights[_model_rows(here, parents.shape[1])].unflatten(0, here.shape)
            weights = scatter_rows(seen, searched, len(places)).flatten(0, 1)
        maps.append(weights)
        places = places.index_copy(0, searched, parents.gather(1, here))
    exists = scores.flatten() > -torch.inf
    sentences = torch.stack(tokens[::-1], 1).masked_fill(~exists[:, None], PAD)
    return to_hypotheses(sentences, scores.flatten(), maps[::-1])
