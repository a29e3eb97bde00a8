"""The pointer-generator: write a word of the vocabulary, or copy one of the source."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["CopyGate", "extend_vocabulary", "mix_copy"]


class CopyGate(nn.Module):
    r"""Probability to write from the vocabulary and not to copy.

    .. math:: p_{\text{gen}} = \sigma(w_c^\top c_t + w_s^\top s_t + w_y^\top y_t + b)

    Parameters
    ----------
    d_context, d_state, d_embed : int
        Sizes of context, decoder state, and the embedding of the last token.

    References
    ----------
    See, Liu and Manning (2017), "Get To The Point: Summarization with Pointer-Generator Networks",
    equation 8.
    """

    def __init__(self, d_context: int, d_state: int, d_embed: int):
        super().__init__()
        self.gate = nn.Linear(d_context + d_state + d_embed, 1)

    def forward(
        self,
        context: Float[Tensor, "batch *steps d_context"],
        state: Float[Tensor, "batch *steps d_state"],
        embedded: Float[Tensor, "batch *steps d_embed"],
    ) -> Float[Tensor, "batch *steps"]:
        """Give the logit of the probability: :func:`mix_copy` takes it, safe at both ends."""
        return self.gate(torch.cat([context, state, embedded], -1)).squeeze(-1)


def mix_copy(
    logits: Float[Tensor, "batch *steps vocabulary"],
    weights: Float[Tensor, "batch *steps keys"],
    gate: Float[Tensor, "batch *steps"],
    source: Int[Tensor, "batch keys"],
    size: int | None = None,
) -> Float[Tensor, "batch *steps extended"]:
    r"""Log-probabilities of writing and copying together.

    .. math::
        P(w) = p_{\text{gen}} P_{\text{vocab}}(w)
        + (1 - p_{\text{gen}}) \sum_{i:\, x_i = w} \alpha_{ti}

    A word that stands in the source twice gets both weights.

    Parameters
    ----------
    logits : (batch, [steps,] vocabulary)
        Of writing each word of the vocabulary.
    weights : (batch, [steps,] keys)
        Attention weights; rows that do not sum to 1, as those of local attention, are made to.
    gate : (batch, [steps])
        Logit of p_gen, from :class:`CopyGate`.
    source : (batch, keys) integers
        Source tokens by their ids in the *target* vocabulary, extended by the words that are not in
        it; see :func:`extend_vocabulary`. What padding holds does not matter: its weight is 0.
    size : int, optional
        Size of the extended vocabulary; that of the logits if not given.

    Returns
    -------
    (batch, [steps,] extended)
        Log-probabilities in nats; −inf for what can be neither written nor copied. A row of weights
        that is all zero leaves writing as the only way.

    Raises
    ------
    ValueError
        If the extended vocabulary is smaller than the vocabulary.

    References
    ----------
    See, Liu and Manning (2017), equation 9.

    Examples
    --------
    >>> weights = torch.tensor([[0.5, 0.25, 0.25]])
    >>> source = torch.tensor([[3, 1, 3]])  # 3 is no word of the vocabulary
    >>> mix_copy(torch.zeros(1, 3), weights, torch.zeros(1), source, size=4).exp()
    tensor([[0.1667, 0.2917, 0.1667, 0.3750]])
    """
    vocabulary = logits.shape[-1]
    size = vocabulary if size is None else size
    if size < vocabulary:
        raise ValueError(
            f"size is {size}; expected at least {vocabulary}, the words that can be written"
        )
    total = weights.sum(-1, keepdim=True)
    copies = total.squeeze(-1) > 0
    # A Gaussian, or dropout, leaves rows that sum to something else than 1.
    weights = weights / total.where(total > 0, 1.0)
    # Without a place to copy from, the gate is open: the row sums to 1 all the same.
    writes = torch.where(copies, F.logsigmoid(gate), 0.0).unsqueeze(-1)
    written = F.pad(logits.log_softmax(-1) + writes, (0, size - vocabulary), value=-torch.inf)
    ids = source if weights.dim() == 2 else source.unsqueeze(1).expand_as(weights)
    copied = weights.new_zeros(*weights.shape[:-1], size).scatter_add(-1, ids, weights)
    # The logarithm never sees a 0, whose gradient would be NaN further down.
    there = copied > 0
    log_copied = torch.where(there, copied, 1.0).log() + F.logsigmoid(-gate).unsqueeze(-1)
    return torch.where(there, torch.logaddexp(written, log_copied), written)


def extend_vocabulary(
    sentences: list[list[str]], known: dict[str, int]
) -> tuple[list[list[int]], list[list[str]]]:
    """Give words outside the vocabulary ids of their own, sentence by sentence.

    Parameters
    ----------
    sentences : list of lists of words
        Source sentences.
    known : dict
        Ids of the target vocabulary, from 0 and without gaps.

    Returns
    -------
    tuple
        Ids of each sentence, and its unknown words: the first has the id ``len(known)``, a word
        that comes twice has one id.

    Examples
    --------
    >>> extend_vocabulary([["see", "Ada", "and", "Bo", "and", "Ada"]], {"see": 0, "and": 1})
    ([[0, 2, 1, 3, 1, 2]], [['Ada', 'Bo']])
    """
    ids, unknown = [], []
    for words in sentences:
        own = list(dict.fromkeys(word for word in words if word not in known))
        places = known | {word: len(known) + n for n, word in enumerate(own)}
        ids.append([places[word] for word in words])
        unknown.append(own)
    return ids, unknown
