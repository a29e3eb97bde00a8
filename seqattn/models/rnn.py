"""Recurrent units, one step at a time: GRU and LSTM from the weights of PyTorch's own modules.

:class:`torch.nn.GRU` takes a whole sequence of inputs. A decoder that reads its own attention does
not have one: its input at step t depends on its state at step t − 1. These steps use the same
weights, so that a decoder can run step by step or, where it may, all at once.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.backends import cudnn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from seqattn.dropout import dropout

__all__ = [
    "GRU",
    "LSTM",
    "Hidden",
    "gru_step",
    "initialise",
    "lstm_step",
    "make_rnn",
    "rnn_step",
    "run_rnn",
    "run_steps",
]


class GRU(nn.RNNBase):
    """:class:`torch.nn.GRU` by another type's name.

    :func:`torch.compile` refuses whatever touches the original, be it for its weights alone.
    """

    def __init__(self, *sizes: Any, **options: Any):
        super().__init__("GRU", *sizes, **options)

    forward = nn.GRU.forward


class LSTM(nn.RNNBase):
    """:class:`torch.nn.LSTM` by another type's name; see :class:`GRU`."""

    def __init__(self, *sizes: Any, **options: Any):
        super().__init__("LSTM", *sizes, **options)

    forward = nn.LSTM.forward
    check_forward_args = nn.LSTM.check_forward_args  # type: ignore[assignment]
    get_expected_cell_size = nn.LSTM.get_expected_cell_size
    permute_hidden = nn.LSTM.permute_hidden  # type: ignore[assignment]


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
) -> GRU | LSTM:
    """Build a stack of layers, or say which kinds there are."""
    kinds: dict[str, type[GRU] | type[LSTM]] = {"gru": GRU, "lstm": LSTM}
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
    product, :math:`U(r \odot h)`; and in Bahdanau et al. z is the share of the *new* state, in Cho
    et al. that of the old, as here.

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
    n = torch.tanh(n_x + r * n_h)
    return (1 - z) * n + z * h


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
    i, f, g, o = (gates_x + F.linear(h, W_h, b_h)).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def rnn_step(rnn: nn.RNNBase, x: Float[Tensor, "batch d_input"], hidden: Hidden) -> Hidden:
    """Take one step of every layer.

    Parameters
    ----------
    rnn : GRU or LSTM, one direction
        Owner of the weights.
    x : (batch, d_input)
        What the first layer reads.
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
    rnn: nn.RNNBase, inputs: Tensor | PackedSequence, hidden: Any = None
) -> tuple[Any, Any]:
    """Run PyTorch's own layers over whole sentences, and keep cuDNN from two things.

    Under autocast it computes in float16, whatever type was asked for, and half of the bits of a
    small gradient are lost there: it gets the type of the weights. And it has no gradient for
    layers in evaluation mode, which a saliency map needs: PyTorch's own kernels have. A compiler
    knows none of them.
    """
    if torch.compiler.is_compiling() and isinstance(inputs, Tensor):
        return run_steps(rnn, inputs, hidden)
    W = weight(rnn, "weight_hh", 0)
    if not W.is_cuda:
        return rnn(inputs, hidden)
    if hidden is not None:
        several = isinstance(hidden, tuple)
        hidden = tuple(h.to(W.dtype) for h in hidden) if several else hidden.to(W.dtype)
    frozen = torch.is_grad_enabled() and not rnn.training
    kernels = cudnn.flags(enabled=False) if frozen else nullcontext()
    with torch.autocast("cuda", enabled=False), kernels:
        return rnn(inputs.to(W.dtype), hidden)


def run_steps(
    rnn: nn.RNNBase,
    inputs: Float[Tensor, "batch positions d_input"],
    hidden: Any = None,
    mask: Bool[Tensor, "batch positions"] | None = None,
) -> tuple[Tensor, Tensor]:
    """Run all layers step by step: what :func:`run_rnn` does, in operations that compilers know.

    Parameters
    ----------
    rnn : GRU or LSTM
        With the batch first.
    inputs : (batch, positions, d_input)
        Padded on the right.
    hidden : (layers, batch, d_hidden), or two of them for an LSTM, optional
        First states (and memory cells) of layers in one direction; zeros if not given.
    mask : (batch, positions) bool, optional
        True at real positions. Elsewhere a state stays what it was, and comes out as 0.

    Returns
    -------
    states : (batch, positions, directions · d_hidden)
        Of the top layer.
    final : (layers · directions, batch, d_hidden)
        Last states, in PyTorch's order.
    """
    firsts = hidden if isinstance(hidden, tuple) else (hidden,)
    real = None if mask is None else mask.unsqueeze(-1)
    if real is not None:  # a gradient of 0 times NaN would be NaN
        inputs = inputs.where(real, 0.0)
    finals = []
    for layer in range(rnn.num_layers):
        if layer:
            inputs = dropout(inputs, rnn.dropout, rnn.training)
        state = None if hidden is None else tuple(first[layer] for first in firsts)
        seen = []
        for suffix in ("", "_reverse")[: 1 + rnn.bidirectional]:
            states, final = _one_way(rnn, f"{layer}{suffix}", inputs, state, real)
            seen.append(states)
            finals.append(final)
        inputs = torch.cat(seen, -1)
    return inputs if real is None else inputs.where(real, 0.0), torch.stack(finals)


def _one_way(
    rnn: nn.RNNBase,
    name: str,
    inputs: Tensor,
    state: tuple[Tensor, ...] | None,
    real: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Run one layer in one direction; give the states in the order of the text, and the last."""
    W_x, W_h, b_x, b_h = (
        weight(rnn, kind, name) for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    gates = F.linear(inputs, W_x, b_x)
    if state is None:
        # Of an LSTM two, and not one twice, which an exported loop would take for one.
        parts = 2 if rnn.mode == "LSTM" else 1
        state = tuple(gates.new_zeros(gates.shape[0], rnn.hidden_size) for _ in range(parts))
    step = partial(_step, rnn.mode, W_h, b_h)
    along = (gates,) if real is None else (gates, real)
    return _loop(step, state, along, backwards=name.endswith("_reverse"))


def _step(
    kind: str, W_h: Tensor, b_h: Tensor, state: tuple[Tensor, ...], now: tuple[Tensor, ...]
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Take one step of one layer, from gates and, if there is padding, what is real."""
    new: tuple[Tensor, ...]
    if kind == "LSTM":
        new = lstm_step(now[0], state[0], state[1], W_h, b_h)
    else:
        new = (gru_step(now[0], state[0], W_h, b_h),)
    if len(now) > 1:
        # At padding a state stays what it was: the last one forwards, the first backwards.
        new = tuple(x.where(now[1], before) for x, before in zip(new, state))
    return new, new[0].clone()  # a loop that is one operation wants memory of its own


def _loop(
    step: Callable[..., tuple[Any, Tensor]],
    state: tuple[Tensor, ...],
    along: tuple[Tensor, ...],
    *,
    backwards: bool,
) -> tuple[Tensor, Tensor]:
    """Take a step at each position; give what each gave, and the first part of the last state."""
    # Not is_exporting(), which torch.compile takes for true before torch 2.12.
    if getattr(torch.compiler, "_is_exporting_flag", False):
        # One operation for a loop as long as its input: written out, it would have one length.
        from torch._higher_order_ops.scan import scan

        # Before torch 2.13 no gradient goes back from step to step unless the first state needs
        # one (pytorch#184528): let it depend on the gates, in no element.
        gates, own = along[0][:, 0], partial(torch.ones_like, dtype=torch.bool)
        state = tuple(x.where(own(x), gates[:, : x.shape[-1]]) for x in state)
        along = tuple(x.transpose(0, 1) for x in along)
        (h, *_), states = scan(step, state, along, reverse=backwards)
        return states.transpose(0, 1), h
    positions = list(zip(*(x.unbind(1) for x in along)))
    states = []
    for now in reversed(positions) if backwards else positions:
        state, seen = step(state, now)
        states.append(seen)
    return torch.stack(states[::-1] if backwards else states, 1), state[0]


def weight(rnn: nn.RNNBase, name: str, layer: int | str) -> Tensor:
    """Look a parameter of one layer up by PyTorch's name for it."""
    return getattr(rnn, f"{name}_l{layer}")


@torch.no_grad()
def initialise(module: nn.Module) -> None:
    """Start every recurrent, linear and embedding weight below a module.

    Recurrent matrices start orthogonal, gate by gate, so that their product with a state keeps its
    length (what gates let fade is another matter); other matrices uniform after Glorot and Bengio;
    embeddings normal, with a deviation of 0.1 and padding at 0; biases at 0, and the forget gates
    of an LSTM at 1.
    """
    for part in module.modules():
        if isinstance(part, nn.RNNBase):
            for name, p in part.named_parameters():
                if name.startswith("weight_hh"):
                    for gate in p.split(part.hidden_size):
                        nn.init.orthogonal_(gate)
                elif name.startswith("weight_ih"):
                    for gate in p.split(part.hidden_size):
                        nn.init.xavier_uniform_(gate)
                else:
                    nn.init.zeros_(p)
                    if name.startswith("bias_ih") and part.mode == "LSTM":
                        nn.init.ones_(p[part.hidden_size : 2 * part.hidden_size])
        elif isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=0.1)
            if part.padding_idx is not None:
                nn.init.zeros_(part.weight[part.padding_idx])
