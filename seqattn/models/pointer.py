"""The pointer-generator as a model: it writes words that no vocabulary holds."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from seqattn.models.copying import mix_copy
from seqattn.models.decoders import AttentionDecoder
from seqattn.models.encoders import Encoder
from seqattn.models.seq2seq import Output, Seq2SeqAttention, StepwiseModel
from seqattn.models.steps import State, Step
from seqattn.specials import UNK

__all__ = ["PointerGenerator"]


class PointerGenerator(StepwiseModel):
    r"""Translator that may copy words of the source, those outside the vocabulary included.

    Source and target share one vocabulary of V words. A source word that is not in it has an id of
    V or more, its own within the sentence (see :func:`~seqattn.models.extend_vocabulary`); the
    model reads it as ``<unk>``, may write it, and is then told ``<unk>`` again.

    .. math::
        p_{\text{gen}} = \sigma(w^\top r_t), \qquad
        P(y) = p_{\text{gen}} P_{\text{vocab}}(y)
        + (1 - p_{\text{gen}}) \sum_{i:\, x_i = y} \alpha_{ti}

    The readout :math:`r_t` is that of the decoder: with ``readout="linear"`` it is
    :math:`[s_t; c_t; E y_{t-1}]`, as in the paper.

    Parameters
    ----------
    encoder : Encoder
        Of V words.
    decoder : AttentionDecoder
        With attention, built for ``vocab_size=V + 1``: the vocabulary product's last output is the
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

    def begin(
        self, source: Int[Tensor, "batch keys"], lengths: Int[Tensor, " batch"]
    ) -> tuple[State, tuple[Any, Tensor]]:
        """Encode the source: the first state, and what every step looks at and copies from."""
        state, memory = self.model.begin(self._known(source), lengths)
        return state, (memory, source)

    def step(self, tokens: Int[Tensor, " batch"], state: State, memory: tuple[Any, Tensor]) -> Step:
        """Read the last token and score the next; see :meth:`AttentionDecoder.step`."""
        looked_at, source = memory
        step = self.model.step(self._known(tokens), state, looked_at)
        return step._replace(logits=self._mix(step.logits, step.weights, source))

    def _score(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Output:
        raw, weights = self.model(self._known(source), lengths, self._known(inputs))
        return Output(self._mix(raw, weights, source), weights)

    def _known(self, tokens: Tensor) -> Tensor:
        return tokens.masked_fill(tokens >= self.vocab_size, UNK)

    def _mix(self, raw: Tensor, weights: Tensor | None, source: Tensor) -> Tensor:
        assert weights is not None  # the decoder attends
        if torch.compiler.is_compiling():  # which knows no values: each word may be unknown
            size = self.vocab_size + source.shape[1]
        else:
            largest = int(source.max()) if source.numel() else 0
            size = max(self.vocab_size, largest + 1)
        return mix_copy(raw[..., :-1], weights, raw[..., -1], source, size)
