"""The encoder: a recurrent network, usually read in both directions, over the source sentence."""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqattn.attention import padding_mask
from seqattn.attention.masks import check_lengths, may_look
from seqattn.dropout import Dropout
from seqattn.models.rnn import initialise, make_rnn, run_rnn, run_steps
from seqattn.specials import PAD

__all__ = ["Encoded", "Encoder", "Read", "read_sentences", "source_mask"]


class Encoded(NamedTuple):
    """A batch of source sentences after the encoder.

    Attributes
    ----------
    states : (batch, keys, d_encoder)
        One state h per source position, exactly 0 at padding.
    summary : (batch, layers, d_encoder)
        What each layer ends with: its forward state at the last real token, beside its backward
        state at the first.
    mask : (batch, keys) bool
        True at real tokens.
    """

    states: Tensor
    summary: Tensor
    mask: Tensor


class Encoder(nn.Module):
    r"""Recurrent encoder, :math:`h_i = [\overrightarrow{h}_i; \overleftarrow{h}_i]`.

    Each sentence is read as if it stood alone, packed or with its states held still at padding:
    else the backward direction would start on padding and the final state of a short sentence would
    have run over it. An attention mask mends neither.

    Parameters
    ----------
    vocab_size : int
        Number of source tokens; id 0 is padding.
    d_embed, d_hidden : int
        Sizes of an embedding and of the state of one direction.
    cell : {"gru", "lstm"}
        Kind of recurrent unit.
    layers : int
        Number of layers.
    bidirectional : bool
        Whether to read right to left as well.
    dropout : float
        Probability of dropping an embedding feature, or a feature between layers.

    Raises
    ------
    ValueError
        If ``cell`` is neither of the two.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), section 3.2; Schuster and Paliwal (1997), "Bidirectional
    Recurrent Neural Networks".

    Examples
    --------
    >>> encoder = Encoder(vocab_size=11, d_embed=3, d_hidden=5)
    >>> encoded = encoder(torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2]))
    >>> encoded.states.shape, encoded.summary.shape
    (torch.Size([2, 3, 10]), torch.Size([2, 1, 10]))
    """

    def __init__(
        self,
        vocab_size: int,
        d_embed: int,
        d_hidden: int,
        *,
        cell: Literal["gru", "lstm"] = "gru",
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.embedding = nn.Embedding(vocab_size, d_embed, padding_idx=PAD)
        self.dropout = Dropout(dropout)
        self.rnn = make_rnn(
            cell, d_embed, d_hidden, layers, dropout=dropout, bidirectional=bidirectional
        )
        initialise(self)

    @property
    def d_states(self) -> int:
        """Size of a state, all directions together."""
        return self.directions * self.rnn.hidden_size

    def forward(self, source: Int[Tensor, "batch keys"], lengths: Int[Tensor, " batch"]) -> Encoded:
        """Encode a batch of padded sentences.

        Parameters
        ----------
        source : (batch, keys) integers
            Token ids, padded with 0 on the right.
        lengths : (batch,) integers
            Number of real tokens of each sentence, at least 1, in any order.

        Returns
        -------
        Encoded
            ``states`` (batch, keys, d_encoder), ``summary`` (batch, layers, d_encoder), ``mask``.

        Raises
        ------
        TypeError
            If lengths are not whole numbers in a tensor.
        ValueError
            If there is not one length for each sentence, or one is below 1 or beyond the width of
            the batch.
        """
        mask = source_mask(source, lengths)
        inputs = self.dropout(self.embedding(source))
        states, final = read_sentences(self.rnn, inputs, lengths, mask)
        return Encoded(states, self._join_directions(final), mask)

    def _join_directions(
        self, hidden: Float[Tensor, "layers_times_directions batch d_hidden"]
    ) -> Float[Tensor, "batch layers d_encoder"]:
        # PyTorch lists layer 0 forward, layer 0 backward, layer 1 forward, ...
        by_layer = hidden.unflatten(0, (-1, self.directions))
        return by_layer.permute(2, 0, 1, 3).flatten(2)


def source_mask(
    source: Int[Tensor, "batch keys"], lengths: Int[Tensor, " batch"]
) -> Bool[Tensor, "batch keys"]:
    """Say which source positions hold real tokens; refuse a sentence that has none.

    Raises
    ------
    TypeError
        If lengths are not whole numbers in a tensor.
    ValueError
        If there is not one length for each sentence, or one is below 1 or beyond the width of the
        batch.
    """
    check_lengths(lengths, source.shape[0])
    mask = padding_mask(lengths, source.shape[1]).to(source.device)
    if may_look(lengths) and lengths.numel() and int(lengths.min()) < 1:
        raise ValueError("lengths hold a 0; expected at least one token in each sentence")
    return mask


class Read(NamedTuple):
    """What recurrent layers made of a batch of sentences.

    Attributes
    ----------
    states : (batch, positions, directions · d_hidden)
        Of the top layer; zeros at padding.
    final : (layers · directions, batch, d_hidden)
        State of each layer and direction after its last token, in PyTorch's order: layer 0 forward,
        layer 0 backward, layer 1 forward, ...
    """

    states: Tensor
    final: Tensor


def read_sentences(
    rnn: nn.RNNBase,
    inputs: Float[Tensor, "batch positions d_input"],
    lengths: Int[Tensor, " batch"],
    mask: Bool[Tensor, "batch positions"],
) -> Read:
    """Run every layer in its directions over padded sentences, each as if it stood alone.

    Parameters
    ----------
    rnn : GRU or LSTM
        With the batch first.
    inputs : (batch, positions, d_input)
        Padded on the right.
    lengths : (batch,) integers
        Numbers of real positions, at least 1.
    mask : (batch, positions) bool
        True at real positions.

    Returns
    -------
    Read
        ``states`` and ``final``.
    """
    transformed = torch._C._are_functorch_transforms_active()  # as torch.func.grad does
    if transformed or not inputs.shape[0] or not may_look(lengths):
        # PyTorch cannot transform a program that packs, nor pack an empty batch; and sizes that
        # depend on the lengths cannot be compiled or recorded.
        states, final = run_steps(rnn, inputs, mask=mask)
        return Read(states, final)
    packed = pack_padded_sequence(
        inputs,
        lengths.cpu(),  # where PyTorch wants them, whatever the device
        batch_first=True,
        enforce_sorted=False,
    )
    packed_states, hidden = run_rnn(rnn, packed)
    # total_length: without it the result would be as wide as the longest sentence, and no longer
    # fit the mask of a batch that is padded further.
    states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=inputs.shape[1])
    return Read(states, hidden[0] if isinstance(hidden, tuple) else hidden)
