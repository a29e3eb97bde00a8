"""Greedy and beam search over any model that offers ``begin`` and ``step``."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.decoding.penalties import length_penalty as penalty
from seqattn.decoding.protocol import Hypotheses, StepModel, length_limits, permitted, select
from seqattn.models.seq2seq import evaluating
from seqattn.specials import BOS, EOS, PAD

__all__ = ["beam_search", "greedy", "roll_out"]


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
    with evaluating(model):
        state, memory = model.begin(source, lengths)
        last = torch.full_like(limits, BOS)
        done = torch.zeros_like(limits, dtype=torch.bool)
        scores, tokens, maps = [], [], []
        for n in range(1, int(limits.max()) + 1):
            logits, weights, state = _take_step(model, last, state, memory)
            chosen = choose(permitted(logits))
            gained = logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(-1)
            scores.append(gained.masked_fill(done, 0.0))
            last = chosen.masked_fill(done, PAD)
            tokens.append(last)
            maps.append(weights)
            done = done | (last == EOS) | (n >= limits)
            if done.all():
                break
    return _gather(torch.stack(tokens, 1), torch.stack(scores, 1).sum(1), maps)


def beam_search(
    model: StepModel,
    source: Int[Tensor, "batch keys"],
    lengths: Int[Tensor, " batch"],
    *,
    beam: int = 5,
    max_len: int | Int[Tensor, " batch"] = 100,
    length_penalty: float = 0.6,
    n_best: int = 1,
) -> Hypotheses:
    r"""Keep the most promising beginnings of a sentence, and return the best that ended.

    .. math:: \hat{y} = \arg\max_y \frac{\log p(y \mid x)}{\mathrm{lp}(|y|)}

    Beginnings of one length are compared by their log-probability. One that ends keeps its place in
    the beam and is not extended, so that the beam narrows until all have ended, or until no open
    beginning can still overtake the ``n_best`` that did: log-probabilities only fall, so that
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
        If ``beam``, ``n_best`` or ``max_len`` is below 1, or ``n_best`` above ``beam``.

    References
    ----------
    Sutskever, Vinyals and Le (2014), section 3.2; Wu et al. (2016), section 7.
    """
    if not 1 <= n_best <= beam:
        raise ValueError(f"beam is {beam} and n_best is {n_best}; expected 1 <= n_best <= beam")
    limits = length_limits(max_len, source)[:, None]
    batch = source.shape[0]
    # Sentence b owns rows b * beam to b * beam + beam - 1 of everything that the model sees.
    first = torch.arange(batch, device=source.device)[:, None] * beam
    with evaluating(model):
        rows = torch.arange(batch, device=source.device).repeat_interleave(beam)
        state, memory = select(model.begin(source, lengths), rows)
        beams = _no_words(batch, beam, source.device)
        last = torch.full_like(rows, BOS)
        trail: list[tuple[Tensor, Tensor, Tensor | None]] = []
        for _ in range(int(limits.max())):
            logits, weights, state = _take_step(model, last, state, memory)
            beams, parents, tokens = _extend(beams, logits, limits)
            beams = _stop_early(beams, limits, length_penalty, n_best)
            moved = (first + parents).flatten()
            trail.append((parents, tokens, None if weights is None else weights[moved]))
            if beams.done.all():
                break
            state, last = select(state, moved), tokens.flatten()
    final = beams.scores / penalty(beams.lengths, length_penalty)
    places = final.sort(dim=1, descending=True, stable=True).indices[:, :n_best]
    return _trace_back(trail, places, first, beams.scores.gather(1, places))


class _Beams(NamedTuple):
    """Where the search stands; each field is (batch, beam)."""

    scores: Tensor  # total log-probability
    lengths: Tensor  # tokens written
    done: Tensor  # ended or given up: held, and not extended


def _no_words(batch: int, beam: int, device: torch.device) -> _Beams:
    """Start with one beginning, the empty one; the other places have no chance at all."""
    scores = torch.full((batch, beam), -torch.inf, device=device)
    scores[:, 0] = 0.0
    lengths = torch.zeros(batch, beam, dtype=torch.long, device=device)
    return _Beams(scores, lengths, torch.zeros_like(lengths, dtype=torch.bool))


def _extend(beams: _Beams, logits: Tensor, limits: Tensor) -> tuple[_Beams, Tensor, Tensor]:
    """Write one more token: the new beams, the place each came from, and its token."""
    batch, beam = beams.scores.shape
    # The best `beam` of one beginning suffice. Log-probabilities of these alone, not of all.
    values, ids = top_first(permitted(logits), beam)
    totals = beams.scores[..., None] + (values - logits.logsumexp(-1, keepdim=True)).view(
        batch, beam, -1
    )
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
    done = ((done | (tokens == EOS)) & (scores > -torch.inf)) | (lengths >= limits)
    return _Beams(scores, lengths, done), parents, tokens


def _stop_early(beams: _Beams, limits: Tensor, alpha: float, n_best: int) -> _Beams:
    """Give up the open beginnings of each source where none can reach the best any more."""
    ended = (beams.scores / penalty(beams.lengths, alpha)).masked_fill(~beams.done, -torch.inf)
    to_beat = ended.topk(n_best, dim=1).values[:, -1:]
    in_reach = (beams.scores / penalty(limits, alpha)).masked_fill(beams.done, -torch.inf)
    given_up = ~beams.done & (in_reach.amax(1, keepdim=True) <= to_beat)
    return beams._replace(
        scores=beams.scores.masked_fill(given_up, -torch.inf), done=beams.done | given_up
    )


def _trace_back(
    trail: list[tuple[Tensor, Tensor, Tensor | None]], places: Tensor, first: Tensor, scores: Tensor
) -> Hypotheses:
    """Follow each chosen place back to the start of its sentence, weights and all."""
    tokens, maps = [], []
    for parents, step_tokens, weights in reversed(trail):
        tokens.append(step_tokens.gather(1, places).flatten())
        maps.append(None if weights is None else weights[(first + places).flatten()])
        places = parents.gather(1, places)
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
    if k < n and bool((top[:, k - 1] == top[:, k]).any()):
        top, index = values.sort(dim=1, descending=True, stable=True)
    # Within the k: by index first, then stably by value.
    index = index[:, :k].sort(dim=1).values
    top, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return top, index.gather(1, order)


def _take_step(model: StepModel, last: Tensor, state: object, memory: object) -> tuple:
    step = model.step(last, state, memory)
    # Sums of half-precision log-probabilities would lose the differences that the search is after.
    logits = step.logits.to(torch.promote_types(step.logits.dtype, torch.float32))
    return logits, step.weights, step.state


def _gather(tokens: Tensor, scores: Tensor, maps: list[Tensor | None]) -> Hypotheses:
    written = tokens != PAD
    width = max(int(written.sum(1).max()), 1)
    weights = None
    if maps[0] is not None:
        weights = torch.stack([m for m in maps if m is not None], 1)[:, :width]
        weights = weights.masked_fill(~written[:, :width, None], 0.0)
    return Hypotheses(tokens[:, :width], written.sum(1), scores, weights)
