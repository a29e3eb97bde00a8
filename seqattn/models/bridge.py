"""The bridge: from what the encoder ends with to what the decoder starts with."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqattn.models.recurrent import Hidden

__all__ = ["Bridge"]


class Bridge(nn.Module):
    r"""First decoder state, :math:`s_0 = \tanh(W \bar{h} + b)`, one such layer for each of its own.

    Encoder and decoder may so differ in size, in number of directions and layers, and in the kind
    of unit: memory cells have a projection of their own, without the tanh, as they have no bounds.

    Each decoder layer reads the summary of the encoder layer across from it, counted from the top;
    layers below the encoder's first all read that one.

    Parameters
    ----------
    d_encoder, d_hidden : int
        Sizes of an encoder summary and of a decoder state.
    layers : int
        Number of decoder layers.
    cells : bool
        Whether the decoder has memory cells.

    Notes
    -----
    Bahdanau et al. read the backward state at the first word alone, :math:`W \overleftarrow{h}_1`.
    Here :math:`\bar{h}` holds the last forward state as well, which costs a product per sentence.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), section A.2.2.

    Examples
    --------
    >>> hidden = Bridge(d_encoder=10, d_hidden=7, layers=2)(torch.randn(3, 1, 10))
    >>> [state.shape for state in hidden.outputs]
    [torch.Size([3, 7]), torch.Size([3, 7])]
    """

    def __init__(self, d_encoder: int, d_hidden: int, layers: int = 1, *, cells: bool = False):
        super().__init__()
        self.outputs = _projections(d_encoder, d_hidden, layers)
        self.cells = _projections(d_encoder, d_hidden, layers) if cells else None

    def forward(self, summary: Float[Tensor, "batch layers d_encoder"]) -> Hidden:
        """Project the summaries of the encoder's layers."""
        layers = summary.unbind(1)
        missing = len(layers) - len(self.outputs)
        across = [layers[max(missing + i, 0)] for i in range(len(self.outputs))]
        outputs = tuple(torch.tanh(project(x)) for project, x in zip(self.outputs, across))
        if self.cells is None:
            return Hidden(outputs, None)
        return Hidden(outputs, tuple(project(x) for project, x in zip(self.cells, across)))


def _projections(d_encoder: int, d_hidden: int, layers: int) -> nn.ModuleList:
    return nn.ModuleList([nn.Linear(d_encoder, d_hidden) for _ in range(layers)])
