"""A sentence classifier around one attention: small enough to take its answer apart."""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqattn.attention import BahdanauAttention, padding_mask
from seqattn.attention.masks import check_lengths
from seqattn.models.encoder import read_sentences
from seqattn.models.rnn import initialise, make_rnn
from seqattn.settings import check_whole
from seqattn.specials import PAD

__all__ = ["Classified", "SentenceClassifier"]


class Classified(NamedTuple):
    """What a classifier makes of a batch of sentences.

    Attributes
    ----------
    logits : (batch, classes)
        Readout of the contexts.
    weights : (batch, keys)
        Where the context came from; exactly 0 at padding.
    """

    logits: Tensor
    weights: Tensor


class SentenceClassifier(nn.Module):
    r"""Additive attention with one learned query over the states of a sentence.

    .. math::
        \alpha &= \mathrm{softmax}\big(v^\top \tanh(W_q q + W_k h_i)\big) \\
        o &= W_o \sum_i \alpha_i h_i + b

    The query q is a parameter, the same for every sentence. The readout is linear, so the answer is
    a weighted mean of the answers that the single states would give.

    Parameters
    ----------
    vocab_size : int
        Number of tokens; id 0 is padding.
    classes : int
        Number of answers.
    d : int
        Size of an embedding, of a state and of the comparison space; even for ``"gru"``.
    encoder : {"gru", "words"}
        Whether a state is that of a GRU in both directions, which has read the other words, or the
        word's own embedding.

    Raises
    ------
    ValueError
        If there is no such encoder, classes or ``d`` is below 1 or no whole number, or ``d`` is odd
        where two directions share it.

    References
    ----------
    Jain and Wallace (2019), "Attention is not Explanation", section 2, for models of this kind.

    Examples
    --------
    >>> model = SentenceClassifier(11, classes=2, d=6, encoder="words")
    >>> logits, weights = model(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1]))
    >>> logits.shape, weights[1]
    (torch.Size([2, 2]), tensor([1., 0., 0.], grad_fn=<SelectBackward0>))
    """

    def __init__(
        self,
        vocab_size: int,
        classes: int = 2,
        d: int = 32,
        *,
        encoder: Literal["gru", "words"] = "gru",
    ):
        super().__init__()
        if encoder not in ("gru", "words"):
            raise ValueError(f"encoder is {encoder!r}; expected 'gru' or 'words'")
        check_whole("classes", classes, least=1)
        check_whole("d", d, least=1)
        if encoder == "gru" and d % 2:
            raise ValueError(f"d is {d}; expected an even number, half for each direction")
        self.embedding = nn.Embedding(vocab_size, d, padding_idx=PAD)
        self.rnn = make_rnn("gru", d, d // 2, 1, bidirectional=True) if encoder == "gru" else None
        self.query = nn.Parameter(torch.empty(d))
        self.attention = BahdanauAttention(d, d, d)
        self.readout = nn.Linear(d, classes)
        initialise(self)
        nn.init.normal_(self.query)

    def states(
        self, vectors: Float[Tensor, "batch keys d"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch keys d"]:
        """Make a state of each word: read the sentence, or leave the words alone.

        Parameters
        ----------
        vectors : (batch, keys, d)
            Embeddings.
        lengths : (batch,) integers
            Number of real tokens of each sentence, at least 1.

        Returns
        -------
        (batch, keys, d)
            States h, exactly 0 at padding.

        Raises
        ------
        TypeError
            If lengths are not whole numbers in a tensor.
        ValueError
            If there is not one length for each sentence, or one is beyond the width of the batch.
        """
        check_lengths(lengths, len(vectors))
        mask = padding_mask(lengths, vectors.shape[1]).to(vectors.device)
        if self.rnn is None:
            return vectors.masked_fill(~mask.unsqueeze(-1), 0.0)
        return read_sentences(self.rnn, vectors, lengths, mask).states

    def classify(
        self, vectors: Float[Tensor, "batch keys d"], lengths: Int[Tensor, " batch"]
    ) -> Classified:
        """Classify sentences given as embeddings, as what asks for gradients needs it.

        Parameters
        ----------
        vectors, lengths
            As in :meth:`states`.

        Returns
        -------
        Classified
            ``logits`` and ``weights``.
        """
        states = self.states(vectors, lengths)
        mask = padding_mask(lengths, vectors.shape[1]).to(vectors.device)
        memory = self.attention.remember(states, mask=mask)
        query = self.query.expand(len(vectors), -1)
        context, weights, _ = self.attention.look(query, memory)
        return Classified(self.readout(context), weights)

    def forward(
        self, source: Int[Tensor, "batch keys"], lengths: Int[Tensor, " batch"]
    ) -> Classified:
        """Classify a batch of padded sentences.

        Parameters
        ----------
        source : (batch, keys) integers
            Token ids, padded with 0 on the right.
        lengths : (batch,) integers
            Number of real tokens of each sentence, at least 1.

        Returns
        -------
        Classified
            ``logits`` (batch, classes) and ``weights`` (batch, keys).
        """
        return self.classify(self.embedding(source), lengths)
