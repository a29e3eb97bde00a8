"""A stack of recurrent layers over whole sentences that are known from the start."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqattn.dropout import dropout
from seqattn.models.late import late_gradients
from seqattn.models.recurrent import gru_step, lstm_step, run_rnn, weight

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
    rnn: nn.GRU | nn.LSTM,
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
        Padded on the right; what stands there never reaches a result or a gradient.
    lengths : (batch,) integers
        Numbers of real positions, at least 1.
    mask : (batch, positions) bool
        True at real positions.

    Returns
    -------
    Read
        ``states`` and ``final``.

    Notes
    -----
    PyTorch's own layers do the work, except in training on a CPU. There each of their steps cuts
    its input out of the whole, and the gradient of a cut is as large as the whole; and each adds a
    gradient as large as the weights. See :mod:`seqattn.models.late`.
    """
    trains_on_cpu = inputs.device.type == "cpu" and torch.is_grad_enabled()
    empty = not inputs.shape[0]  # what cannot be packed
    if (trains_on_cpu and not torch.compiler.is_compiling()) or empty:
        return _by_steps(rnn, inputs, mask)
    packed = pack_padded_sequence(
        inputs,
        lengths.cpu(),  # where PyTorch wants them, whatever the device
        batch_first=True,
        enforce_sorted=False,
    )
    packed_states, final = run_rnn(rnn, packed)
    # total_length: without it the result would be as wide as the longest sentence, and no longer
    # fit the mask of a batch that is padded further.
    states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=inputs.shape[1])
    return Read(states, final[0] if isinstance(final, tuple) else final)


def _by_steps(rnn: nn.GRU | nn.LSTM, inputs: Tensor, mask: Tensor) -> Read:
    finals, directions = [], ("", "_reverse")[: 1 + rnn.bidirectional]
    real = None if bool(mask.all()) else mask.unsqueeze(-1).unbind(1)
    if real is not None:  # a gradient of 0 times NaN would be NaN
        inputs = inputs.where(mask.unsqueeze(-1), 0.0)
    for layer in range(rnn.num_layers):
        if layer:
            inputs = dropout(inputs, rnn.dropout, rnn.training)
        states = []
        for suffix in directions:
            seen, final = _one_way(rnn, inputs, real, f"{layer}{suffix}", backwards=bool(suffix))
            states.append(seen)
            finals.append(final)
        inputs = torch.cat(states, -1)
    if real is not None:
        inputs = inputs.where(mask.unsqueeze(-1), 0.0)
    return Read(inputs, torch.stack(finals))


def _one_way(
    rnn: nn.GRU | nn.LSTM,
    inputs: Tensor,
    real: tuple[Tensor, ...] | None,
    name: str,
    *,
    backwards: bool,
) -> tuple[Tensor, Tensor]:
    """Run one layer in one direction; give the states in the order of the text, and the last."""
    W_x, W_h, b_x, b_h = (
        weight(rnn, kind, name) for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    gates = F.linear(inputs, W_x, b_x).unbind(1)
    h = c = gates[0].new_zeros(inputs.shape[0], rnn.hidden_size)
    states: list[Tensor] = []
    order = range(len(gates))
    with late_gradients():
        for t in reversed(order) if backwards else order:
            if isinstance(rnn, nn.LSTM):
                new, cell = lstm_step(gates[t], h, c, W_h, b_h)
                c = cell if real is None else cell.where(real[t], c)
            else:
                new = gru_step(gates[t], h, W_h, b_h)
            # At padding a state stays what it was: the last one forwards, the first backwards.
            h = new if real is None else new.where(real[t], h)
            states.append(h)
    return torch.stack(states[::-1] if backwards else states, 1), h
