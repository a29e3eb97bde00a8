"""Recurrent units, one step at a time: GRU and LSTM from the weights of PyTorch's own modules.

:class:`torch.nn.GRU` takes a whole sequence of inputs. A decoder that reads its own attention does
not have one: its input at step t depends on its state at step t − 1. These steps use the same
weights, so that a decoder can run step by step or, where it may, all at once.
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.backends import cudnn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from seqattn.dropout import dropout

__all__ = ["Hidden", "gru_step", "initialise", "lstm_step", "make_rnn", "rnn_step", "run_rnn"]


class Hidden(NamedTuple):
    """State of a stack of recurrent layers.

    Attributes
    ----------
    outputs : tuple of (batch, d_hidden), one for each layer
        States s; the last is the top layer's.
    cells : the same, or None
        Memory cells, of an LSTM only.
    """

    outputs: tuple[Tensor, ...]
    cells: tuple[Tensor, ...] | None


def make_rnn(
    cell: str,
    d_input: int,
    d_hidden: int,
    layers: int,
    *,
    dropout: float = 0.0,
    bidirectional: bool = False,
) -> nn.GRU | nn.LSTM:
    """Build a stack of layers, or say which kinds there are."""
    kinds: dict[str, type[nn.GRU] | type[nn.LSTM]] = {"gru": nn.GRU, "lstm": nn.LSTM}
    if cell not in kinds:
        raise ValueError(f"cell is {cell!r}; expected 'gru' or 'lstm'")
    return kinds[cell](
        d_input,
        d_hidden,
        layers,
        batch_first=True,
        # PyTorch warns of dropout between the layers of a single layer.
        dropout=dropout if layers > 1 else 0.0,
        bidirectional=bidirectional,
    )


def gru_step(
    gates_x: Float[Tensor, "batch three_d"],
    h: Float[Tensor, "batch d"],
    W_h: Float[Tensor, "three_d d"],
    b_h: Float[Tensor, " three_d"],
) -> Float[Tensor, "batch d"]:
    r"""Take one step of a gated recurrent unit.

    .. math::
        r = \sigma(x_r + U_r h + b_r), \quad z = \sigma(x_z + U_z h + b_z), \quad
        n = \tanh(x_n + r \odot (U_n h + b_n)), \quad h' = (1 - z) \odot n + z \odot h

    Parameters
    ----------
    gates_x : (batch, 3d)
        What the input contributes: :math:`W x + b`, in the order r, z, n.
    h : (batch, d)
        Previous state.
    W_h, b_h : (3d, d), (3d,)
        Recurrent weights U and biases.

    Returns
    -------
    (batch, d)
        Next state.

    Notes
    -----
    This is PyTorch's variant. In Cho et al. and Bahdanau et al. the reset gate acts before the
    product, :math:`U(r \odot h)`, and z is the share of the *new* state.

    References
    ----------
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder for Statistical
    Machine Translation", section 2.3.

    Examples
    --------
    >>> gru_step(torch.zeros(1, 3), torch.ones(1, 1), torch.zeros(3, 1), torch.zeros(3))
    tensor([[0.5000]])
    """
    d = h.shape[-1]
    rz_x, n_x = gates_x.split((2 * d, d), -1)
    rz_h, n_h = F.linear(h, W_h, b_h).split((2 * d, d), -1)
    r, z = torch.sigmoid(rz_x + rz_h).chunk(2, -1)
    n = torch.tanh(torch.addcmul(n_x, r, n_h))
    return torch.lerp(n, h, z)


def lstm_step(
    gates_x: Float[Tensor, "batch four_d"],
    h: Float[Tensor, "batch d"],
    c: Float[Tensor, "batch d"],
    W_h: Float[Tensor, "four_d d"],
    b_h: Float[Tensor, " four_d"],
) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch d"]]:
    r"""Take one step of a long short-term memory.

    .. math::
        c' = \sigma(f) \odot c + \sigma(i) \odot \tanh(g), \qquad h' = \sigma(o) \odot \tanh(c')

    Parameters
    ----------
    gates_x : (batch, 4d)
        What the input contributes to i, f, g and o, in this order.
    h, c : (batch, d)
        Previous state and memory cell.
    W_h, b_h : (4d, d), (4d,)
        Recurrent weights and biases.

    Returns
    -------
    h, c : (batch, d)
        Next state and memory cell.

    References
    ----------
    Hochreiter and Schmidhuber (1997), "Long Short-Term Memory"; Gers, Schmidhuber and Cummins
    (2000), "Learning to Forget", for the forget gate.

    Examples
    --------
    >>> gates = torch.tensor([[0.0, 100.0, 0.0, 100.0]])  # forget nothing, show everything
    >>> h, c = torch.zeros(1, 1), torch.ones(1, 1)
    >>> lstm_step(gates, h, c, torch.zeros(4, 1), torch.zeros(4))
    (tensor([[0.7616]]), tensor([[1.]]))
    """
    i, f, g, o = torch.add(gates_x, F.linear(h, W_h, b_h)).chunk(4, -1)
    c = torch.addcmul(torch.sigmoid(f) * c, torch.sigmoid(i), torch.tanh(g))
    return torch.sigmoid(o) * torch.tanh(c), c


def rnn_step(
    rnn: nn.GRU | nn.LSTM, gates_x: Float[Tensor, "batch gates"], hidden: Hidden
) -> Hidden:
    """Take one step of every layer.

    Parameters
    ----------
    rnn : GRU or LSTM, one direction
        Owner of the weights.
    gates_x : (batch, 3d or 4d)
        What the input contributes to the first layer's gates, ``b_ih`` included.
    hidden : Hidden
        Previous states.

    Returns
    -------
    Hidden
        Next states.
    """
    outputs: list[Tensor] = []
    cells: list[Tensor] = []
    for layer, h in enumerate(hidden.outputs):
        if layer:
            x = dropout(outputs[-1], rnn.dropout, rnn.training)
            gates_x = F.linear(x, weight(rnn, "weight_ih", layer), weight(rnn, "bias_ih", layer))
        W_h, b_h = weight(rnn, "weight_hh", layer), weight(rnn, "bias_hh", layer)
        if hidden.cells is None:
            outputs.append(gru_step(gates_x, h, W_h, b_h))
        else:
            h, c = lstm_step(gates_x, h, hidden.cells[layer], W_h, b_h)
            outputs.append(h)
            cells.append(c)
    return Hidden(tuple(outputs), tuple(cells) if cells else None)


def run_rnn(
    rnn: nn.GRU | nn.LSTM, inputs: Tensor | PackedSequence, hidden: Any = None
) -> tuple[Any, Any]:
    """Run PyTorch's own layers over whole sentences, and keep cuDNN from two things.

    Under autocast it computes in float16, whatever type was asked for, and half of the bits of a
    small gradient are lost there: it gets 32 bits. And it has no gradient for layers in evaluation
    mode, which a saliency map needs: PyTorch's own kernels have.
    """
    W = weight(rnn, "weight_hh", 0)
    if not W.is_cuda:
        return rnn(inputs, hidden)
    if hidden is not None:
        hidden = tuple(h.float() for h in hidden) if isinstance(hidden, tuple) else hidden.float()
    frozen = torch.is_grad_enabled() and not rnn.training
    kernels = cudnn.flags(enabled=False) if frozen else nullcontext()
    with torch.autocast("cuda", enabled=False), kernels:
        return rnn(inputs.float(), hidden)


def weight(rnn: nn.GRU | nn.LSTM, name: str, layer: int | str) -> Tensor:
    """Look a parameter of one layer up by PyTorch's name for it."""
    return getattr(rnn, f"{name}_l{layer}")


@torch.no_grad()
def initialise(module: nn.Module) -> None:
    """Start every recurrent, linear and embedding weight below a module.

    Recurrent matrices start orthogonal, gate by gate, so that a state neither fades nor explodes
    over a sentence; other matrices uniform after Glorot and Bengio; biases at 0, and the forget
    gates of an LSTM at 1.
    """
    for part in module.modules():
        if isinstance(part, nn.GRU | nn.LSTM):
            for name, p in part.named_parameters():
                if name.startswith("weight_hh"):
                    for gate in p.split(part.hidden_size):
                        nn.init.orthogonal_(gate)
                elif name.startswith("weight_ih"):
                    for gate in p.split(part.hidden_size):
                        nn.init.xavier_uniform_(gate)
                else:
                    nn.init.zeros_(p)
                    if name.startswith("bias_ih") and isinstance(part, nn.LSTM):
                        nn.init.ones_(p[part.hidden_size : 2 * part.hidden_size])
        elif isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=0.1)
            if part.padding_idx is not None:
                nn.init.zeros_(part.weight[part.padding_idx])
