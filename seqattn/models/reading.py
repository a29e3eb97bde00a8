"""A stack of recurrent layers over whole sentences that are known from the start."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqattn.models.recurrent import run_rnn, run_steps

__all__ = ["Read", "read_sentences"]


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
    if torch.compiler.is_compiling() or transformed or not inputs.shape[0]:
        # A compiler cannot know sizes that depend on the lengths; PyTorch cannot transform a
        # program that packs, nor pack an empty batch.
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
