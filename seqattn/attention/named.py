"""The attention mechanisms of the literature by name: each a score function in the same core.

A class here chooses its score, and nothing else: how a query becomes a context is in
:meth:`Attention.remember <seqattn.attention.core.Attention.remember>` and
:meth:`Attention.forward <seqattn.attention.core.Attention.forward>`. ``AdditiveAttention`` is
another name of ``BahdanauAttention``, ``MultiplicativeAttention`` of ``LuongAttention``.
"""

from typing import Literal

from seqattn.attention.core import Attention
from seqattn.attention.scores import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ReducedRankScore,
    ScaledDotScore,
    Score,
)
from seqattn.settings import check_whole

__all__ = [
    "AdditiveAttention",
    "BahdanauAttention",
    "EfficientAttention",
    "LocationAttention",
    "LuongAttention",
    "MultiplicativeAttention",
    "ReducedRankAttention",
    "ScaledDotProductAttention",
]


class BahdanauAttention(Attention):
    """Additive attention, also called Bahdanau attention.

    Only the score function is meant. That Bahdanau et al. attend with the *previous* decoder state
    is a matter of the decoder, and independent of the score.

    Parameters
    ----------
    d_query, d_key : int
        Sizes of decoder state and encoder state; they may differ.
    d_attn : int
        Size of the comparison space.
    bias : bool
        Whether to add a bias inside the tanh. The paper leaves all biases out of its equations.
    dropout : float
        Attention dropout; see :class:`~seqattn.attention.core.Attention`.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), "Neural Machine Translation by Jointly Learning to Align and
    Translate".

    Examples
    --------
    >>> import torch
    >>> attention = BahdanauAttention(d_query=3, d_key=4, d_attn=5)
    >>> attention(torch.randn(2, 3), torch.randn(2, 7, 4)).weights.shape
    torch.Size([2, 7])
    """

    def __init__(
        self, d_query: int, d_key: int, d_attn: int, *, bias: bool = False, dropout: float = 0.0
    ):
        super().__init__(AdditiveScore(d_query, d_key, d_attn, bias=bias), dropout=dropout)


AdditiveAttention = BahdanauAttention
# Some texts call additive attention with its keys projected once "efficient". Every mechanism here
# does that: see remember(). (That of Shen et al. is another thing, akin to linear_attention.)
EfficientAttention = BahdanauAttention


class LuongAttention(Attention):
    """The multiplicative attentions of Luong et al., and their concat.

    Parameters
    ----------
    d_query, d_key : int
        Sizes of decoder state and encoder state; equal for ``"dot"``.
    score : {"dot", "general", "concat"}
        Which score function.
    d_attn : int, optional
        Size of the comparison space, for ``"concat"`` only; ``d_query`` if not given.
    dropout : float
        Attention dropout; see :class:`~seqattn.attention.core.Attention`.

    Raises
    ------
    ValueError
        If the score is none of the three, or the sizes do not suit it.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.1.

    Examples
    --------
    >>> import torch
    >>> LuongAttention(3, 4)(torch.randn(2, 3), torch.randn(2, 7, 4)).context.shape
    torch.Size([2, 4])
    """

    def __init__(
        self,
        d_query: int,
        d_key: int,
        score: Literal["dot", "general", "concat"] = "general",
        d_attn: int | None = None,
        *,
        dropout: float = 0.0,
    ):
        if d_attn is not None and score != "concat":
            raise ValueError(f"d_attn belongs to score='concat'; the score is {score!r}")
        chosen: Score
        if score == "dot":
            if d_query != d_key:
                raise ValueError(
                    f"score='dot' needs d_query == d_key; got {d_query} and {d_key} "
                    "(score='general' compares different sizes)"
                )
            chosen = DotScore()
        elif score == "general":
            chosen = GeneralScore(d_query, d_key)
        elif score == "concat":
            chosen = ConcatScore(d_query, d_key, d_query if d_attn is None else d_attn)
        else:
            raise ValueError(f"score is {score!r}; expected 'dot', 'general' or 'concat'")
        super().__init__(chosen, dropout=dropout)


MultiplicativeAttention = LuongAttention


class LocationAttention(Attention):
    r"""Location-based attention, :math:`\alpha_t = \mathrm{softmax}(W_a s_t)`.

    It never compares: the decoder state alone says where to look, by position, and what stands
    there matters only for the context.

    Parameters
    ----------
    d_query : int
        Size of the decoder state.
    max_len : int
        Most positions of a source, ``<eos>`` and padding included; a longer one is an error.
    dropout : float
        Attention dropout; see :class:`~seqattn.attention.core.Attention`.

    Raises
    ------
    ValueError
        If ``max_len`` is below 1 or no whole number.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.1, equation 8.

    Examples
    --------
    >>> import torch
    >>> attention, query = LocationAttention(d_query=3, max_len=50), torch.randn(2, 3)
    >>> one, other = attention(query, torch.randn(2, 7, 4)), attention(query, torch.zeros(2, 7, 4))
    >>> torch.equal(one.weights, other.weights)
    True
    """

    def __init__(self, d_query: int, max_len: int, *, dropout: float = 0.0):
        check_whole("max_len", max_len, least=1)
        super().__init__(LocationScore(d_query, max_len), dropout=dropout)


class ReducedRankAttention(Attention):
    """Bilinear attention through a shared space of k dimensions.

    Parameters
    ----------
    d_query, d_key : int
        Sizes of decoder state and encoder state.
    rank : int
        Size k of the shared space, from 1 to ``min(d_query, d_key)``; more cannot express more.
    dropout : float
        Attention dropout; see :class:`~seqattn.attention.core.Attention`.

    Raises
    ------
    ValueError
        If the rank is out of range or no whole number.

    References
    ----------
    The factors are the query and key projections of one head in Vaswani et al. (2017), "Attention
    Is All You Need", section 3.2.2; Luong, Pham and Manning (2015), section 3.1, have the full
    matrix.

    Examples
    --------
    >>> sum(p.numel() for p in ReducedRankAttention(100, 80, rank=5).parameters())
    900
    """

    def __init__(self, d_query: int, d_key: int, rank: int, *, dropout: float = 0.0):
        check_whole("rank", rank)
        if not 1 <= rank <= min(d_query, d_key):
            raise ValueError(
                f"rank is {rank}; expected 1 to min(d_query, d_key) = {min(d_query, d_key)}"
            )
        super().__init__(ReducedRankScore(d_query, d_key, rank), dropout=dropout)


class ScaledDotProductAttention(Attention):
    r"""Scaled dot-product attention, :math:`\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V`.

    Parameters
    ----------
    dropout : float
        Attention dropout; see :class:`~seqattn.attention.core.Attention`.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", equation 1.

    Examples
    --------
    >>> import torch
    >>> q, k, v = torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(2, 7, 11)
    >>> ScaledDotProductAttention()(q, k, v).context.shape
    torch.Size([2, 3, 11])
    """

    def __init__(self, *, dropout: float = 0.0):
        super().__init__(ScaledDotScore(), dropout=dropout)
