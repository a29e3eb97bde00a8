"""The pointer-generator: write a word of the vocabulary, or copy one of the source."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from seqattn.attention.masks import may_look
from seqattn.decoding import Step
from seqattn.models.decoder import AttentionDecoder, State
from seqattn.models.encoder import Encoder, source_mask
from seqattn.models.seq2seq import Output, Seq2SeqAttention, StepwiseModel
from seqattn.settings import refuse_text
from seqattn.specials import PAD, UNK

__all__ = ["CopyGate", "PointerGenerator", "extend_vocabulary", "mix_copy"]


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
    ) -> Float[Tensor, " batch *steps"]:
        """Give the logit of the probability: :func:`mix_copy` takes it, safe at both ends."""
        return self.gate(torch.cat([context, state, embedded], -1)).squeeze(-1)


def mix_copy(
    logits: Float[Tensor, "batch *steps vocabulary"],
    weights: Float[Tensor, "batch *steps keys"],
    gate: Float[Tensor, " batch *steps"],
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
        Attention weights, 0 or more; rows that do not sum to 1, as those of local attention, are
        made to.
    gate : (batch, [steps])
        Logit of p_gen, from :class:`CopyGate` or, as in :class:`PointerGenerator`, from a layer
        that the decoder has already.
    source : (batch, keys) integers
        Source tokens by their ids in the *target* vocabulary, extended by the words that are not in
        it; see :func:`extend_vocabulary`. Padding may hold any id from 0 to below ``size``: its
        weight is 0.
    size : int, optional
        Size of the extended vocabulary; that of the logits if not given.

    Returns
    -------
    (batch, [steps,] extended)
        Log-probabilities in nats; −inf for what can be neither written nor copied. A row of weights
        that is all zero leaves writing as the only way; NaN among weights is NaN here.

    Raises
    ------
    ValueError
        If the extended vocabulary is smaller than the vocabulary, shapes do not fit each other, or
        a weight is negative.

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
    _check_rows(logits, weights, gate, source)
    if may_look(weights) and (weights < 0).any():
        raise ValueError(
            f"the least of the weights is {weights.min().item():g}; expected attention weights, 0 "
            "or more (scores become weights by masked_softmax)"
        )
    total = weights.sum(-1, keepdim=True)
    copies = total.squeeze(-1) != 0  # and where it is NaN, which the result then is, too
    # A Gaussian leaves rows that sum to something else than 1.
    weights = weights / total.where(total != 0, 1.0)
    # Without a place to copy from, the gate is open: the row sums to 1 all the same.
    writes = torch.where(copies, F.logsigmoid(gate), 0.0).unsqueeze(-1)
    written = F.pad(logits.log_softmax(-1) + writes, (0, size - vocabulary), value=-torch.inf)
    ids = source if weights.dim() == 2 else source.unsqueeze(1).expand_as(weights)
    copied = weights.new_zeros(*weights.shape[:-1], size).scatter_add(-1, ids, weights)
    # The logarithm never sees a 0, whose gradient would be NaN further down.
    there = copied != 0
    log_copied = torch.where(there, copied, 1.0).log() + F.logsigmoid(-gate).unsqueeze(-1)
    return torch.where(there, torch.logaddexp(written, log_copied), written)


def _check_rows(logits: Tensor, weights: Tensor, gate: Tensor, source: Tensor) -> None:
    """Refuse rows that are not of the same sentences and steps: they would broadcast."""
    rows, batch = tuple(logits.shape[:-1]), logits.shape[0]
    if logits.dim() not in (2, 3):
        raise ValueError(
            f"logits have shape {tuple(logits.shape)}; expected (batch, [steps,] vocabulary)"
        )
    if tuple(weights.shape[:-1]) != rows:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}; expected (batch, [steps,] keys), with "
            f"rows as the logits have them, {rows}"
        )
    if tuple(gate.shape) != rows:
        raise ValueError(
            f"gate has shape {tuple(gate.shape)}; expected {rows}: one for each row of logits"
        )
    if tuple(source.shape) != (batch, weights.shape[-1]):
        raise ValueError(
            f"source has shape {tuple(source.shape)}; expected (batch, keys) = "
            f"{(batch, weights.shape[-1])} to fit weights of shape {tuple(weights.shape)}"
        )


def extend_vocabulary(
    sentences: list[list[str]], known: dict[str, int]
) -> tuple[list[list[int]], list[list[str]]]:
    """Give words outside the vocabulary ids of their own, sentence by sentence.

    Parameters
    ----------
    sentences : list of lists of words
        Source sentences.
    known : dict
        From each word of the target vocabulary to its id; ids go from 0 and have no gaps.

    Returns
    -------
    tuple
        Ids of each sentence, and its unknown words: the first has the id ``len(known)``, a word
        that comes twice has one id.

    Raises
    ------
    TypeError
        If a sentence is one string, not yet split into words.
    ValueError
        If the known ids do not go from 0 without gaps: a new one would stand for two words.

    Examples
    --------
    >>> extend_vocabulary([["see", "Ada", "and", "Bo", "and", "Ada"]], {"see": 0, "and": 1})
    ([[0, 2, 1, 3, 1, 2]], [['Ada', 'Bo']])
    """
    for sentence in (sentences, *sentences):
        refuse_text("a sentence", sentence, "a list of its words")
    if set(known.values()) != set(range(len(known))):
        raise ValueError(
            f"the ids of the {len(known)} known words are not 0 to {len(known) - 1}; expected a "
            "dict from each word to its id, without gaps"
        )
    ids, unknown = [], []
    for words in sentences:
        own = list(dict.fromkeys(word for word in words if word not in known))
        places = known | {word: len(known) + n for n, word in enumerate(own)}
        ids.append([places[word] for word in words])
        unknown.append(own)
    return ids, unknown


class PointerGenerator(StepwiseModel):
    r"""Translator that may copy words of the source, those outside the vocabulary included.

    Source and target share one vocabulary of V words. A source word that is not in it has an id of
    V or more, its own within the sentence (see :func:`~seqattn.models.extend_vocabulary`); the
    model reads it as ``<unk>``, may write it, and is then told ``<unk>`` again.

    .. math::
        p_{\text{gen}} &= \sigma(w^\top r_t + b) \\
        P(y) &= p_{\text{gen}} P_{\text{vocab}}(y)
        + (1 - p_{\text{gen}}) \sum_{i:\, x_i = y} \alpha_{ti}

    The readout :math:`r_t` is that of the decoder: with ``readout="linear"`` it is
    :math:`[s_t; c_t; E y_{t-1}]`, as in the paper.

    Parameters
    ----------
    encoder : Encoder
        Of V words.
    decoder : AttentionDecoder
        With attention, built for ``vocab_size=V + 1``: the output projection's last output is the
        gate.

    Raises
    ------
    ValueError
        If the decoder has no attention, or the two vocabularies are not one.

    Notes
    -----
    What comes out are log-probabilities of the vocabulary and of the batch's unknown words, as many
    as its largest id asks for: softmax leaves them as they are, so that the usual losses and
    searches take them. Label smoothing does not: a word that can be neither written nor copied
    has a log-probability of −inf. A compiled or exported model, whose shapes may not depend on ids,
    has room for as many unknown words as the source has positions.

    References
    ----------
    See, Liu and Manning (2017), "Get To The Point: Summarization with Pointer-Generator Networks",
    equations 8 and 9.

    Examples
    --------
    >>> from seqattn import BahdanauAttention
    >>> encoder, attention = Encoder(9, 3, 5), BahdanauAttention(7, 10, 6)
    >>> decoder = AttentionDecoder(9 + 1, 3, 7, 10, attention, readout="linear")
    >>> model = PointerGenerator(encoder, decoder)
    >>> source, lengths = torch.tensor([[4, 10, 9, 2]]), torch.tensor([4])  # two unknown words
    >>> logits, weights = model(source, lengths, inputs=torch.tensor([[1, 7, 10]]))
    >>> logits.shape, weights.shape
    (torch.Size([1, 3, 11]), torch.Size([1, 3, 4]))
    """

    def __init__(self, encoder: Encoder, decoder: AttentionDecoder):
        super().__init__()
        if decoder.attention is None:
            raise ValueError("the decoder has no attention; copying needs its weights")
        self.model = Seq2SeqAttention(encoder, decoder)
        self.vocab_size = encoder.embedding.num_embeddings
        outputs = decoder.vocabulary.out_features
        if outputs != self.vocab_size + 1:
            raise ValueError(
                f"the encoder has {self.vocab_size} words and the decoder {outputs} outputs; "
                f"expected {self.vocab_size + 1}, one vocabulary for both and the gate"
            )

    copies = True

    @property
    def encoder(self) -> Encoder:
        """What reads the source."""
        return self.model.encoder

    @property
    def decoder(self) -> AttentionDecoder:
        """What writes, and looks at what may be copied."""
        return self.model.decoder

    @property
    def vocabulary(self) -> nn.Linear:
        """The layer that written words come from, and the gate, last."""
        return self.model.vocabulary

    def begin(
        self, source: Int[Tensor, "batch keys"], lengths: Int[Tensor, " batch"]
    ) -> tuple[State, tuple[Any, Tensor]]:
        """Encode the source: the first state, and what every step looks at and copies from."""
        source = _without_pads(source, lengths)
        state, memory = self.model.begin(self._known(source), lengths)
        return state, (memory, source)

    def step(self, tokens: Int[Tensor, " batch"], state: State, memory: tuple[Any, Tensor]) -> Step:
        """Read the last token and score the next; see :meth:`AttentionDecoder.step`."""
        looked_at, source = memory
        step = self.model.step(self._known(tokens), state, looked_at)
        return step._replace(logits=self._mix(step.logits, step.weights, source))

    def _teacher_forced(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Output:
        source = _without_pads(source, lengths)
        raw, weights = self.model(self._known(source), lengths, self._known(inputs))
        return Output(self._mix(raw, weights, source), weights)

    def _known(self, tokens: Tensor) -> Tensor:
        return tokens.masked_fill(tokens >= self.vocab_size, UNK)

    def _mix(self, raw: Tensor, weights: Tensor | None, source: Tensor) -> Tensor:
        assert weights is not None  # the decoder attends
        if may_look(source):
            largest = int(source.max()) if source.numel() else 0
            size = max(self.vocab_size, largest + 1)
        else:  # each word may be unknown
            size = self.vocab_size + source.shape[1]
        return mix_copy(raw[..., :-1], weights, raw[..., -1], source, size)


def _without_pads(source: Tensor, lengths: Tensor) -> Tensor:
    """Set ids at padding to 0: a large one would ask for that many outputs."""
    return source.masked_fill(~source_mask(source, lengths), PAD)
