"""Layers of the Transformer: attention and a feed-forward network, each within a residual."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seqattn.attention import Memory
from seqattn.attention.multihead import MultiHeadAttention
from seqattn.dropout import Dropout

__all__ = ["DecoderLayer", "EncoderLayer", "Norm"]

Norm = Literal["pre", "post"]
States = Float[Tensor, "batch positions d_model"]


class Layer(nn.Module):
    r"""What both kinds share: self-attention, feed-forward, and how a part is wrapped.

    ``"post"``, as in the paper: :math:`\mathrm{norm}(x + f(x))`. ``"pre"``:
    :math:`x + f(\mathrm{norm}(x))`, which leaves a straight path for the gradient.

    References
    ----------
    Vaswani et al. (2017), section 3.1; Xiong et al. (2020), "On Layer Normalization in the
    Transformer Architecture", for pre-norm.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_feedforward: int,
        dropout: float,
        attention_dropout: float,
        norm: Norm,
    ):
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm is {norm!r}; expected 'pre' or 'post'")
        self.pre_norm = norm == "pre"
        self.self_attention = MultiHeadAttention(d_model, heads, dropout=attention_dropout)
        self.self_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_feedforward),
            nn.ReLU(),
            nn.Linear(d_feedforward, d_model),
        )
        self.feed_norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def _enter(self, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Give what a part reads."""
        return norm(x) if self.pre_norm else x

    def _leave(self, x: Tensor, change: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Add what a part wrote to what was there."""
        x = x + self.dropout(change)
        return x if self.pre_norm else norm(x)

    def _feed(self, x: Tensor) -> Tensor:
        change = self.feed_forward(self._enter(x, self.feed_norm))
        return self._leave(x, change, self.feed_norm)


class EncoderLayer(Layer):
    """Self-attention over the whole source, then feed-forward."""

    def forward(self, x: States, mask: Bool[Tensor, "..."] | None = None) -> States:
        """Transform source states (batch, keys, d_model)."""
        y = self._enter(x, self.self_norm)
        change = self.self_attention(y, mask=mask, need_weights=False).context
        return self._feed(self._leave(x, change, self.self_norm))


class DecoderLayer(Layer):
    """Causal self-attention, attention to the source, then feed-forward."""

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_feedforward: int,
        dropout: float,
        attention_dropout: float,
        norm: Norm,
    ):
        super().__init__(d_model, heads, d_feedforward, dropout, attention_dropout, norm)
        self.cross_attention = MultiHeadAttention(d_model, heads, dropout=attention_dropout)
        self.cross_norm = nn.LayerNorm(d_model)

    def forward(
        self,
        x: States,
        source: Memory,
        past: Memory | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = True,
    ) -> tuple[States, Tensor | None, Memory]:
        """Transform target states.

        Parameters
        ----------
        x : (batch, steps, d_model)
            New target positions.
        source : Memory
            What ``cross_attention.remember`` made of the source.
        past : Memory, optional
            Keys and values of the target positions before, as this function returned them.
        mask : bool, optional
            Which positions, past ones first, each new one may see; all if not given.
        need_weights : bool
            Whether the weights on the source are wanted.

        Returns
        -------
        tuple
            New states; weights on the source (batch, heads, steps, keys) or None; and keys and
            values up to here, for the next step.
        """
        y = self._enter(x, self.self_norm)
        seen = self.self_attention.remember(y)
        if past is not None:
            pairs = zip(past[:2], seen[:2], strict=True)
            seen = Memory(*(torch.cat(pair, 2) for pair in pairs))
        change = self.self_attention(y, seen._replace(mask=mask), need_weights=False).context
        x = self._leave(x, change, self.self_norm)

        y = self._enter(x, self.cross_norm)
        change, weights = self.cross_attention(y, source, need_weights=need_weights)
        x = self._leave(x, change, self.cross_norm)
        return self._feed(x), weights, seen
