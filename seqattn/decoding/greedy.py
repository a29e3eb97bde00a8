"""One sentence for each source, token after token: greedy search, and sampling."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.context_managers import evaluating
from seqattn.decoding.interface import Hypotheses, StepModel, select
from seqattn.decoding.rows import (
    few_left,
    length_limits,
    log_probabilities,
    no_hypotheses,
    permitted,
    scatter_rows,
    to_hypotheses,
)
from seqattn.precision import at_least_single, held_temperature
from seqattn.settings import check_whole, is_number
from seqattn.specials import BOS, EOS, PAD

__all__ = ["check_sampling", "greedy", "sample", "truncate"]


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
        One for each sentence. Among equally likely tokens the lowest id wins. An empty batch has
        none, and no weights.

    Raises
    ------
    ValueError
        If ``max_len`` is no whole number, or below 1, or the model's logits are NaN.
    """
    return _token_by_token(model, source, lengths, max_len, lambda logits: logits.argmax(-1))


def sample(
    model: StepModel,
    source: Int[Tensor, "batch keys"],
    lengths: Int[Tensor, " batch"],
    *,
    max_len: int | Int[Tensor, " batch"] = 100,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Hypotheses:
    r"""Draw each token at random, :math:`y_t \sim \mathrm{softmax}(z_t / \tau)`, truncated.

    Parameters
    ----------
    model : StepModel
        Switched to evaluation for the time of the search.
    source, lengths : (batch, keys), (batch,) integers
        Padded source sentences and their lengths.
    max_len : int, or (batch,) integers
        Most tokens to write, ``<eos>`` included; for all sentences or for each.
    temperature : float
        τ > 0; small values come near greedy search.
    top_k, top_p : int, float, optional
        As in :func:`truncate`.
    generator : torch.Generator, optional
        Source of the draws, on the device of the model.

    Returns
    -------
    Hypotheses
        One for each sentence. Scores are log-probabilities under the model itself, neither tempered
        nor truncated, and so comparable with those of the other searches. An empty batch has none,
        and no weights.

    Raises
    ------
    ValueError
        If the temperature, ``max_len``, ``top_k`` or ``top_p`` is out of range or of the wrong
        kind, or the model's logits are NaN.
    """
    check_sampling(temperature, top_k, top_p)

    def draw(logits: Tensor) -> Tensor:
        # Relative to the largest, which so stays 0 and cannot become infinite.
        logits = logits - logits.amax(-1, keepdim=True)
        logits = logits / held_temperature(temperature, logits.dtype)
        chances = truncate(logits, top_k=top_k, top_p=top_p).softmax(-1)
        return torch.multinomial(chances, 1, generator=generator)[:, 0]

    return _token_by_token(model, source, lengths, max_len, draw)


def check_sampling(
    temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> None:
    """Refuse options of :func:`sample` that are out of range or of the wrong kind."""
    if not is_number(temperature) or not 0 < temperature < math.inf:
        raise ValueError(
            f"temperature is {temperature!r}; expected a number above 0 (at 0: greedy search) and "
            "finite"
        )
    if top_k is not None:
        check_whole("top_k", top_k, least=1)
    if top_p is not None and not (is_number(top_p) and 0 < top_p <= 1):
        raise ValueError(f"top_p is {top_p!r}; expected a number above 0 and at most 1")


def truncate(
    logits: Float[Tensor, "batch vocabulary"],
    *,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "batch vocabulary"]:
    """Rule out unlikely tokens: their logits become −inf.

    Parameters
    ----------
    logits : (batch, vocabulary)
        Scores before softmax.
    top_k : int, optional
        Keep the k likeliest, and what is as likely as the last of these.
    top_p : float, optional
        Keep the likeliest until their probabilities sum to at least p: the nucleus. The likeliest
        is always in it. With ``top_k`` as well, probabilities are those among the k.

    Returns
    -------
    (batch, vocabulary)
        Truncated logits.

    Raises
    ------
    ValueError
        If ``top_k`` is no whole number of at least 1, or ``top_p`` not above 0 and at most 1; or
        logits have other axes.

    References
    ----------
    Fan, Lewis and Dauphin (2018), "Hierarchical Neural Story Generation", for top-k; Holtzman et
    al. (2020), "The Curious Case of Neural Text Degeneration", for the nucleus.

    Examples
    --------
    >>> truncate(torch.tensor([[0.5, 0.3, 0.2]]).log(), top_p=0.6).softmax(-1)
    tensor([[0.6250, 0.3750, 0.0000]])
    """
    check_sampling(top_k=top_k, top_p=top_p)
    if logits.dim() != 2:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)}; expected (batch, vocabulary), of one step"
        )
    if top_k is not None:
        last_kept = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < last_kept, -torch.inf)
    if top_p is not None:
        ordered, index = logits.sort(dim=-1, descending=True, stable=True)
        chances = ordered.softmax(-1)
        before = chances.cumsum(-1) - chances  # probability of all that is likelier
        if top_p < 1:  # all the rest rounds to 1 before the last words come
            beyond = before >= top_p
            beyond[:, 0] = False  # where a tiny p rounds to 0
            ordered = ordered.masked_fill(beyond, -torch.inf)
        logits = torch.empty_like(logits).scatter(-1, index, ordered)
    return logits


def _token_by_token(
    model: StepModel,
    source: Tensor,
    lengths: Tensor,
    max_len: int | Tensor,
    choose: Callable[[Tensor], Tensor],
) -> Hypotheses:
    """Write one sentence for each source, token after token, as ``choose(logits)`` says."""
    limits = length_limits(max_len, source)
    batch = source.shape[0]
    if not batch:
        return no_hypotheses(source)
    with evaluating(model):
        state, memory = model.begin(source, lengths)
        last = torch.full_like(limits, BOS)
        done = torch.zeros_like(limits, dtype=torch.bool)
        rows = torch.arange(batch, device=source.device)  # the sentences that are being written
        # Summed step by step, as a beam does: of one place it finds the same, to the last bit.
        scores = torch.zeros(batch, device=source.device)
        tokens, maps = [], []
        for n in range(1, int(limits.max()) + 1):
            logits, weights, state = model.step(last, state, memory)
            logits = logits.to(
                at_least_single(logits.dtype)
            )  # halves would lose what a search is after
            chosen = choose(permitted(logits))
            gained = log_probabilities(logits, chosen[:, None])[:, 0]
            last = chosen.masked_fill(done, PAD)
            scores = scores + scatter_rows(gained.masked_fill(done, 0.0), rows, batch)
            tokens.append(scatter_rows(last, rows, batch))
            maps.append(scatter_rows(weights, rows, batch))
            done = done | (last == EOS) | (n >= limits)
            open_ = (~done).nonzero()[:, 0]
            if not len(open_):
                break
            if few_left(open_, done):
                state, memory, last, done, limits, rows = select(
                    (state, memory, last, done, limits, rows), open_
                )
    return to_hypotheses(torch.stack(tokens, 1), scores, maps)
