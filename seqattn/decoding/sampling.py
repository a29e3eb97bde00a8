"""Drawing sentences from a model, tempered and truncated."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.decoding.protocol import Hypotheses, StepModel
from seqattn.decoding.rolling import roll_out

__all__ = ["sample", "truncate"]


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
        If the temperature, ``top_k`` or ``top_p`` is out of range.
    """
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"temperature is {temperature}; expected above 0 (at 0: greedy search) and finite"
        )

    def draw(logits: Tensor) -> Tensor:
        # Relative to the largest: a small temperature may not turn it into infinity, and one that
        # is too small for this kind of number may not be 0.
        least = torch.finfo(logits.dtype).tiny
        logits = (logits - logits.amax(-1, keepdim=True)) / max(temperature, least)
        chances = truncate(logits, top_k=top_k, top_p=top_p).softmax(-1)
        return torch.multinomial(chances, 1, generator=generator)[:, 0]

    return roll_out(model, source, lengths, max_len, draw)


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
        If ``top_k`` is below 1, or ``top_p`` not above 0 and at most 1.

    References
    ----------
    Fan, Lewis and Dauphin (2018), "Hierarchical Neural Story Generation", for top-k; Holtzman et
    al. (2020), "The Curious Case of Neural Text Degeneration", for the nucleus.

    Examples
    --------
    >>> truncate(torch.tensor([[0.5, 0.3, 0.2]]).log(), top_p=0.6).softmax(-1)
    tensor([[0.6250, 0.3750, 0.0000]])
    """
    if top_k is not None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; expected at least 1")
        last_kept = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < last_kept, -torch.inf)
    if top_p is not None:
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p is {top_p}; expected above 0 and at most 1")
        ordered, index = logits.sort(dim=-1, descending=True, stable=True)
        chances = ordered.softmax(-1)
        before = chances.cumsum(-1) - chances  # probability of all that is likelier
        ordered = ordered.masked_fill(before >= top_p, -torch.inf)
        logits = torch.empty_like(logits).scatter(-1, index, ordered)
    return logits
