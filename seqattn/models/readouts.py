"""Readouts: from decoder state, context and last token to the features that predict a token."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqattn.settings import check_whole

__all__ = ["LinearReadout", "MaxoutReadout", "Readout", "TanhReadout", "make_readout"]

States = Float[Tensor, "batch *steps d_hidden"]
Contexts = Float[Tensor, "batch *steps d_context"] | None
Embedded = Float[Tensor, "batch *steps d_embed"]
Features = Float[Tensor, "batch *steps d_features"]


class Readout(nn.Module):
    """What a readout offers: :attr:`d_features`, and a call on one step or on all steps at once."""

    d_features: int

    def forward(self, state: States, context: Contexts, embedded: Embedded) -> Features:
        """Combine state s, context c (None where a decoder has none) and embedded last token."""
        raise NotImplementedError(f"{type(self).__name__} must define forward")


class LinearReadout(Readout):
    """All three side by side, :math:`[s_t; c_t; E y_{t-1}]`: the output projection does the rest.

    Parameters
    ----------
    d_hidden, d_context, d_embed : int
        Sizes of state, context (0 where there is none) and embedding.
    """

    def __init__(self, d_hidden: int, d_context: int, d_embed: int):
        super().__init__()
        self.d_features = d_hidden + d_context + d_embed

    def forward(self, state: States, context: Contexts, embedded: Embedded) -> Features:
        """Concatenate."""
        return _concatenate(state, context, embedded)


class TanhReadout(Readout):
    r"""Luong's attentional vector, :math:`\tilde{s}_t = \tanh(W_c [c_t; s_t])`.

    Parameters
    ----------
    d_hidden, d_context, d_features : int
        Sizes of state, context (0 where there is none) and result.

    References
    ----------
    Luong, Pham and Manning (2015), equation 5.
    """

    def __init__(self, d_hidden: int, d_context: int, d_features: int):
        super().__init__()
        self.d_features = d_features
        self.W_c = nn.Linear(d_context + d_hidden, d_features, bias=False)

    def forward(self, state: States, context: Contexts, embedded: Embedded) -> Features:
        """Squash context and state; the last token enters through the state alone."""
        return torch.tanh(self.W_c(_concatenate(context, state)))


class MaxoutReadout(Readout):
    r"""Deep output with one maxout layer, after Bahdanau et al.

    .. math::
        \tilde{t}_t = U_o s_t + V_o E y_{t-1} + C_o c_t + b, \qquad
        t_{tj} = \max(\tilde{t}_{tj}, \tilde{t}_{t,j+l})

    Parameters
    ----------
    d_hidden, d_context, d_embed : int
        Sizes of state, context (0 where there is none) and embedding.
    d_features : int
        Size l of the result; twice as many are computed.

    Notes
    -----
    The paper writes :math:`s_t` in its equation 4 and :math:`s_{t-1}` in its appendix; here it is
    :math:`s_t`. It pairs neighbours where this pairs halves, which only renumbers the features.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), section A.2.2; Goodfellow et al. (2013), "Maxout Networks".
    """

    def __init__(self, d_hidden: int, d_context: int, d_embed: int, d_features: int):
        super().__init__()
        self.d_features = d_features
        # U_o, C_o and V_o side by side.
        self.W = nn.Linear(d_hidden + d_context + d_embed, 2 * d_features)

    def forward(self, state: States, context: Contexts, embedded: Embedded) -> Features:
        """Project and keep the larger of each pair."""
        return torch.maximum(*self.W(_concatenate(state, context, embedded)).chunk(2, -1))


def make_readout(
    readout: str, d_hidden: int, d_context: int, d_embed: int, d_features: int | None = None
) -> Readout:
    """Build a readout by name, or say which there are.

    Parameters
    ----------
    readout : {"linear", "tanh", "maxout"}
        Which one.
    d_hidden, d_context, d_embed : int
        Sizes of state, context (0 where there is none) and embedding.
    d_features : int, optional
        Size of the result. By default, as in the papers: ``d_hidden`` for ``"tanh"`` and half of it
        for ``"maxout"``. ``"linear"`` has no choice.

    Raises
    ------
    ValueError
        If the name is unknown, a size comes with ``"linear"``, or it is no whole number or below 1.
    """
    if readout == "linear":
        if d_features is not None:
            raise ValueError(
                f"d_readout={d_features} does not suit readout='linear', which joins its inputs "
                "as they are; leave it out, or choose 'tanh' or 'maxout'"
            )
        return LinearReadout(d_hidden, d_context, d_embed)
    if d_features is not None:
        check_whole("d_readout", d_features, least=1)
    if readout == "tanh":
        return TanhReadout(d_hidden, d_context, d_features or d_hidden)
    if readout == "maxout":
        return MaxoutReadout(d_hidden, d_context, d_embed, d_features or max(d_hidden // 2, 1))
    raise ValueError(f"readout is {readout!r}; expected 'linear', 'tanh' or 'maxout'")


def _concatenate(*parts: Tensor | None) -> Tensor:
    return torch.cat([part for part in parts if part is not None], -1)
