"""Greedy search: one sentence for each source, token after token."""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from seqattn.decoding.protocol import Hypotheses, StepModel, length_limits, permitted, select
from seqattn.decoding.rows import few, gather, nothing, precise, spread
from seqattn.models.seq2seq import evaluating
from seqattn.specials import BOS, EOS, PAD

__all__ = ["greedy", "roll_out"]


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
    if not batch:
        return nothing(source)
    with evaluating(model):
        state, memory = model.begin(source, lengths)
        last = torch.full_like(limits, BOS)
        done = torch.zeros_like(limits, dtype=torch.bool)
        rows = torch.arange(batch, device=source.device)  # the sentences that are being written
        scores, tokens, maps = [], [], []
        for n in range(1, int(limits.max()) + 1):
            logits, weights, state = model.step(last, state, memory)
            logits = logits.to(precise(logits))
            chosen = choose(permitted(logits))
            gained = logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(-1)
            last = chosen.masked_fill(done, PAD)
            scores.append(spread(gained.masked_fill(done, 0.0), rows, batch))
            tokens.append(spread(last, rows, batch))
            maps.append(spread(weights, rows, batch))
            done = done | (last == EOS) | (n >= limits)
            open_ = (~done).nonzero()[:, 0]
            if not len(open_):
                break
            if few(open_, done):
                state, memory, last, done, limits, rows = select(
                    (state, memory, last, done, limits, rows), open_
                )
    return gather(torch.stack(tokens, 1), torch.stack(scores, 1).sum(1), maps)
