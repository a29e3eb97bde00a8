"""Greedy and beam search over any model that offers ``begin`` and ``step``."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.attention import padding_mask
from seqattn.decoding import penalties
from seqattn.decoding.protocol import (
    Hypotheses,
    StepModel,
    length_limits,
    permitted,
    rule_out,
    select,
)
from seqattn.models.seq2seq import evaluating
from seqattn.specials import BOS, EOS, PAD

__all__ = ["beam_search", "greedy", "roll_out"]

# A search goes on without the sentences that have ended once so few of the batch are left: moving
# the others has its price as well.
FEW = 0.75


def greedy(
    model: StepModel,
    source: Int[Tensor, "batch keys"],
    lengths: Int[Tensor, " batch"],
    *,
    max_len: int | Int[Tensor, " batch"] = 100,
) -> Hypotheses:
    r"""Take the likeliest token at each step, :math:`y_t = \arg\max_y p(y \mid y_{<t}, x)`.

    Parameters
    ----------
    model : StepModel
        Switched to evaluation for the time of the search.
    source, lengths : (batch, keys), (batch,) integers
        Padded source sentences and their lengths.
    max_len : int, or (batch,) integers
        Most tokens to write, ``<eos>`` included; for all sentences or for each.

    Returns
    -------
    Hypotheses
        One for each sentence. Among equally likely tokens the lowest id wins.
    """
    return roll_out(model, source, lengths, max_len, lambda logits: logits.argmax(-1))


def roll_out(
    model: StepModel,
    source: Tensor,
    lengths: Tensor,
    max_len: int | Tensor,
    choose: Callable[[Tensor], Tensor],
) -> Hypotheses:
    """Write one sentence for each source, token after token, as ``choose(logits)`` says."""
    limits = length_limits(max_len, source)
    batch = source.shape[0]
    with evaluating(model):
        state, memory = model.begin(source, lengths)
        last = torch.full_like(limits, BOS)
        done = torch.zeros_like(limits, dtype=torch.bool)
        rows = torch.arange(batch, device=source.device)  # the sentences that are being written
        scores, tokens, maps = [], [], []
        for n in range(1, int(limits.max()) + 1):
            logits, weights, state = model.step(last, state, memory)
            logits = logits.to(_precise(logits))
            chosen = choose(permitted(logits))
            gained = logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(-1)
            last = chosen.masked_fill(done, PAD)
            scores.append(_spread(gained.masked_fill(done, 0.0), rows, batch))
            tokens.append(_spread(last, rows, batch))
            maps.append(_spread(weights, rows, batch))
            done = done | (last == EOS) | (n >= limits)
            open_ = (~done).nonzero()[:, 0]
            if not len(open_):
                break
            if _few(open_, done):
                state, memory, last, done, limits, rows = select(
                    (state, memory, last, done, limits, rows), open_
                )
    return _gather(torch.stack(tokens, 1), torch.stack(scores, 1).sum(1), maps)


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
) -> Hypotheses:
    r"""Keep the most promising beginnings of a sentence, and return the best that ended.

    .. math:: \hat{y} = \arg\max_y \frac{\log p(y \mid x)}{\mathrm{lp}(|y|)} + \mathrm{cp}(y, x)

    Beginnings of one length are compared by their log-probability. One that ends keeps its place in
    the beam and is not extended, so that the beam narrows until all have ended, or until no open
    beginning can still overtake the ``n_best`` that did: log-probabilities only fall, and no
    coverage penalty is above 0, so that :math:`\log p / \mathrm{lp}(\text{max\_len})` bounds
    whatever may become of it.

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

    Returns
    -------
    Hypotheses
        ``n_best`` rows for each source, best first: row ``b * n_best`` is the best for source b.
        Among equally good ones the earlier place in the beam, and then the lower id, wins.

    Raises
    ------
    ValueError
        If ``beam``, ``n_best`` or ``max_len`` is below 1, ``n_best`` above ``beam``, a penalty
        negative, or coverage is asked of a model that gives no weights.

    References
    ----------
    Sutskever, Vinyals and Le (2014), section 3.2; Wu et al. (2016), section 7.
    """
    if not 1 <= n_best <= beam:
        raise ValueError(f"beam is {beam} and n_best is {n_best}; expected 1 <= n_best <= beam")
    limits = length_limits(max_len, source)[:, None]
    real = padding_mask(lengths, source.shape[1])[:, None].expand(-1, beam, -1)
    ranking = _Ranking(length_penalty, coverage_penalty)
    with evaluating(model):
        beams = found = _no_words(real, limits, covered=coverage_penalty != 0)
        rows = torch.arange(source.shape[0], device=source.device)  # the sentences searched for
        state, memory = select(model.begin(source, lengths), rows.repeat_interleave(beam))
        last = torch.full((len(rows) * beam,), BOS, device=source.device)
        trail: list[_Written] = []
        for _ in range(int(limits.max())):
            logits, weights, state = model.step(last, state, memory)
            held = beams.done
            beams, parents, tokens = _extend(beams, logits)
            moved = _places(parents, beam)
            weights = None if weights is None else weights[moved]
            beams = _stop_early(_cover(beams, parents, held, weights), ranking, n_best)
            trail.append(_Written(rows, parents, tokens, weights))
            open_ = (~beams.done.all(1)).nonzero()[:, 0]
            if not len(open_):
                break
            if _few(open_, rows):
                found = _put(found, rows, beams)
                beams, rows, tokens = select((beams, rows, tokens), open_)
                moved = moved.view(-1, beam)[open_].flatten()
                memory = select(memory, moved)  # alike in all places of a sentence
            state, last = select(state, moved), tokens.flatten()
    found = _put(found, rows, beams)
    places = ranking.ended(found).sort(dim=1, descending=True, stable=True).indices[:, :n_best]
    return _trace_back(trail, places, found.scores.gather(1, places))


class _Beams(NamedTuple):
    """Where the search stands. Sentence b of n places owns rows b n to b n + n - 1 of the model."""

    scores: Tensor  # (batch, beam) total log-probability
    lengths: Tensor  # (batch, beam) tokens written
    done: Tensor  # (batch, beam) ended or given up: held, and not extended
    coverage: Tensor | None  # (batch, beam, keys) sum of the weights, where it counts
    real: Tensor  # (batch, beam, keys) where the source has tokens
    limits: Tensor  # (batch, 1) longest allowed lengths


class _Written(NamedTuple):
    """What one step wrote."""

    rows: Tensor  # the sentences that it was for
    parents: Tensor  # (rows, beam) the place that each beginning came from
    tokens: Tensor  # (rows, beam)
    weights: Tensor | None  # (rows · beam, keys)


class _Ranking(NamedTuple):
    """By what sentences are compared once they have ended."""

    alpha: float
    beta: float

    def ended(self, beams: _Beams) -> Tensor:
        """Give each sentence its rank, as if it ended here."""
        ranks = beams.scores / penalties.length_penalty(beams.lengths, self.alpha)
        if beams.coverage is not None:
            ranks = ranks + penalties.coverage_penalty(beams.coverage, self.beta, beams.real)
        return ranks

    def bound(self, beams: _Beams) -> Tensor:
        """Give what no continuation can exceed: all to come is certain, and all is covered."""
        return beams.scores / penalties.length_penalty(beams.limits, self.alpha)


def _no_words(real: Tensor, limits: Tensor, covered: bool) -> _Beams:
    """Start with one beginning, the empty one; the other places have no chance at all."""
    scores = torch.full(real.shape[:2], -torch.inf, device=real.device)
    scores[:, 0] = 0.0
    lengths = torch.zeros_like(scores, dtype=torch.long)
    coverage = torch.zeros_like(real, dtype=scores.dtype) if covered else None
    done = torch.zeros_like(lengths, dtype=torch.bool)
    return _Beams(scores, lengths, done, coverage, real, limits)


def _places(places: Tensor, beam: int) -> Tensor:
    """Turn places in each sentence's beam into rows of all that the model sees."""
    first = torch.arange(len(places), device=places.device)[:, None] * beam
    return (first + places).flatten()


def _few(rows: Tensor, of: Tensor) -> bool:
    return len(rows) <= FEW * len(of)


Values = TypeVar("Values", Tensor, Tensor | None)


def _spread(values: Values, rows: Tensor, batch: int) -> Values:
    """Give each sentence of the batch its own row: zeros, or padding, where it had ended."""
    if values is None or len(rows) == batch:
        return values
    return values.new_zeros(batch, *values.shape[1:]).index_copy_(0, rows, values)


def _put(beams: _Beams, rows: Tensor, new: _Beams) -> _Beams:
    """Put the beams of some sentences in their rows of those of all."""
    if len(rows) == len(beams.scores):
        return new
    pairs = zip(beams, new, strict=True)
    return _Beams(*(a if a is None else a.index_copy(0, rows, b) for a, b in pairs))  # type: ignore


def _extend(beams: _Beams, logits: Tensor) -> tuple[_Beams, Tensor, Tensor]:
    """Write one more token: the new beams, the place each came from, and its token."""
    batch, beam = beams.scores.shape
    # The best `beam` of one beginning suffice.
    values, ids = top_first(rule_out(logits.log_softmax(-1, dtype=_precise(logits))), beam)
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
    ended = ranking.ended(beams).masked_fill(~beams.done, -torch.inf)
    to_beat = ended.topk(n_best, dim=1).values[:, -1:]
    in_reach = ranking.bound(beams).masked_fill(beams.done, -torch.inf)
    given_up = ~beams.done & (in_reach.amax(1, keepdim=True) <= to_beat)
    return beams._replace(
        scores=beams.scores.masked_fill(given_up, -torch.inf), done=beams.done | given_up
    )


def _trace_back(trail: list[_Written], places: Tensor, scores: Tensor) -> Hypotheses:
    """Follow each chosen place back to the start of its sentence, weights and all."""
    tokens, maps = [], []
    for rows, parents, step_tokens, weights in reversed(trail):
        here = places[rows]
        tokens.append(_spread(step_tokens.gather(1, here), rows, len(places)).flatten())
        if weights is not None:
            seen = weights[_places(here, parents.shape[1])].unflatten(0, here.shape)
            weights = _spread(seen, rows, len(places)).flatten(0, 1)
        maps.append(weights)
        places = places.index_copy(0, rows, parents.gather(1, here))
    found = scores.flatten() > -torch.inf
    sentences = torch.stack(tokens[::-1], 1).masked_fill(~found[:, None], PAD)
    return _gather(sentences, scores.flatten(), maps[::-1])


def top_first(
    values: Float[Tensor, "rows n"], k: int
) -> tuple[Float[Tensor, "rows k"], Int[Tensor, "rows k"]]:
    """Take the k largest of each row, best first; of equal ones those that come first.

    ``torch.topk`` leaves open which of equal values it takes, and half precision makes many equal.
    """
    n = values.shape[1]
    k = min(k, n)
    top, index = values.topk(min(k + 1, n))
    index = index[:, :k].contiguous()
    tied = (top[:, k - 1] == top[:, k]).nonzero()[:, 0] if k < n else index[:0, 0]
    if len(tied):
        # Of those equal to the k-th, the first: by counting, for a sort of all would cost far more.
        rows, least = values[tied], top[tied, k - 1 : k]
        equal = rows == least
        spare = k - (rows > least).sum(1, keepdim=True)
        kept = (rows > least) | (equal & (equal.cumsum(1, dtype=torch.int32) <= spare))
        index[tied] = kept.nonzero()[:, 1].view(-1, k)
    # Within the k: by index first, then stably by value.
    index = index.sort(dim=1).values
    top, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return top, index.gather(1, order)


def _precise(logits: Tensor) -> torch.dtype:
    # Sums of half-precision log-probabilities would lose the differences that the search is after.
    return torch.promote_types(logits.dtype, torch.float32)


def _gather(tokens: Tensor, scores: Tensor, maps: list[Tensor | None]) -> Hypotheses:
    written = tokens != PAD
    width = max(int(written.sum(1).max()), 1)
    weights = None
    if maps[0] is not None:
        weights = torch.stack([m for m in maps if m is not None], 1)[:, :width]
        weights = weights.masked_fill(~written[:, :width, None], 0.0)
    return Hypotheses(tokens[:, :width], written.sum(1), scores, weights)
