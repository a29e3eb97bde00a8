"""A small Transformer from the same parts: what is left when the recurrence goes.

Three parts in this order: positions, layers (attention and a feed-forward network, each within a
residual), and the model.
"""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqattn.attention import Memory, MultiHeadAttention, causal_mask
from seqattn.attention.masks import forget_unseen
from seqattn.decoding import Step
from seqattn.dropout import Dropout
from seqattn.models.encoder import source_mask
from seqattn.models.output_layer import Tie, tie_matrices
from seqattn.models.seq2seq import Output, StepwiseModel
from seqattn.precision import at_least_single
from seqattn.settings import check_whole
from seqattn.specials import PAD

__all__ = [
    "DecoderLayer",
    "EncoderLayer",
    "LearnedPositions",
    "NoPositions",
    "RotaryAttention",
    "SinusoidalPositions",
    "Transformer",
    "rotate_positions",
    "sinusoidal_positions",
]

Norm = Literal["pre", "post"]
Positions = Literal["sinusoidal", "learned", "rotary", "none"]
States = Float[Tensor, "batch positions d_model"]
# What the decoder carries, its KV cache: for each layer, keys and values of the target so far.
Cache = tuple[Memory, ...]


def sinusoidal_positions(
    length: int,
    d_model: int,
    *,
    start: int = 0,
    base: float = 10_000.0,
    device: torch.device | None = None,
) -> Float[Tensor, "length d_model"]:
    r"""Sines and cosines of the position at wavelengths from 2π to below 20,000π.

    .. math::
        P_{p,2j} &= \sin(p / 10000^{2j/d}) \\
        P_{p,2j+1} &= \cos(p / 10000^{2j/d})

    A shift by n positions turns each pair (2j, 2j+1) by the same angle wherever it begins, so it is
    a linear map; and the dot product of two positions depends on their distance alone.

    Parameters
    ----------
    length : int
        How many positions.
    d_model : int
        Size d, even.
    start : int
        The first position.
    base : float
        Of the rates: pair j turns by ``base ** (-2j / d_model)`` a position.
    device : torch.device, optional
        Where to make them.

    Returns
    -------
    (length, d_model)
        One row for each position, in the default dtype.

    Raises
    ------
    ValueError
        If ``d_model`` is odd: sines and cosines come in pairs; or the base is not above 1.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.5.

    Examples
    --------
    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if d_model % 2:
        raise ValueError(f"d_model is {d_model}; expected an even number, sines with cosines")
    kind = at_least_single(torch.get_default_dtype())
    angles = _angles(length, d_model, start, base, kind, device)
    table = torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    return table.to(torch.get_default_dtype())


def rotate_positions(
    x: Float[Tensor, "*batch positions d"], start: int = 0, *, base: float = 10_000.0
) -> Float[Tensor, "*batch positions d"]:
    r"""Turn each pair of features by an angle that grows with the position.

    .. math::
        \begin{pmatrix} x'_{2j} \\ x'_{2j+1} \end{pmatrix} &=
        \begin{pmatrix} \cos p\omega_j & -\sin p\omega_j \\
        \sin p\omega_j & \cos p\omega_j \end{pmatrix}
        \begin{pmatrix} x_{2j} \\ x_{2j+1} \end{pmatrix} \\
        \omega_j &= 10000^{-2j/d}

    Lengths stay, and the dot product of a query at one position with a key at another depends on
    the positions by their difference alone. (Programs differ in what makes a pair: some take
    features j and j + d/2. Weights trained with one cannot be used with the other.)

    Parameters
    ----------
    x : (..., positions, d)
        Queries or keys; d is even.
    start : int
        Position of the first row.
    base : float
        Of the rates.

    Returns
    -------
    (..., positions, d)
        A new tensor in the dtype of ``x``; the angles are computed in 32 bits at least.

    Raises
    ------
    ValueError
        If d is odd: features turn in pairs; x has one axis or holds no real numbers; or the base is
        not above 1.

    References
    ----------
    Su et al. (2021), "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.

    Examples
    --------
    >>> rotate_positions(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    if x.dim() < 2 or not x.is_floating_point():
        raise ValueError(
            f"x has shape {tuple(x.shape)} and dtype {x.dtype}; expected real numbers, "
            "(..., positions, d)"
        )
    length, size = x.shape[-2:]
    if size % 2:
        raise ValueError(f"x has {size} features; expected an even number, which turn in pairs")
    kind = at_least_single(x.dtype)
    angles = _angles(length, size, start, base, kind, x.device)
    even, odd = x.to(kind).unflatten(-1, (-1, 2)).unbind(-1)
    cosine, sine = angles.cos(), angles.sin()
    turned = torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), -1)
    return turned.flatten(-2).to(x.dtype)


def _angles(
    length: int, size: int, start: int, base: float, kind: torch.dtype, device: torch.device | None
) -> Float[Tensor, "length pairs"]:
    """Give the angle of each pair of features at each position, in radians."""
    if not torch.compiler.is_compiling():  # there it is a symbol, which must not become a number
        check_whole("length", length, least=0)
    if not 1 < base < math.inf:
        raise ValueError(f"base is {base}; expected a number above 1, so that rates differ")
    steps = torch.arange(0, size, 2, device=device, dtype=kind)
    rates = torch.exp(-math.log(base) / size * steps)
    return torch.arange(start, start + length, device=device)[:, None] * rates


class NoPositions(nn.Module):
    """Leave embeddings as they are: their order is not put in here."""

    def forward(self, embedded: States, start: int = 0) -> States:
        """Give the embeddings back."""
        return embedded


class SinusoidalPositions(nn.Module):
    """Add :func:`sinusoidal_positions` to embeddings; for any length, with nothing to learn."""

    def forward(self, embedded: States, start: int = 0) -> States:
        """Add the positions from ``start`` on."""
        length, d_model = embedded.shape[1:]
        table = sinusoidal_positions(length, d_model, start=start, device=embedded.device)
        return embedded + table.to(embedded.dtype)


class LearnedPositions(nn.Module):
    """Add one learned vector for each position, up to the longest length.

    Parameters
    ----------
    max_len : int
        How many positions there are.
    d_model : int
        Size of the vectors.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def forward(self, embedded: States, start: int = 0) -> States:
        """Add the positions from ``start`` on.

        Raises
        ------
        ValueError
            If the sentence is longer than what was learned.
        """
        end = start + embedded.shape[1]
        if end > len(self.table):
            raise ValueError(
                f"the sentences reach {end} positions, padding included; {len(self.table)} are "
                "learned (build the model with a larger max_len, or with sinusoidal positions)"
            )
        return embedded + self.table[start:end]


class RotaryAttention(MultiHeadAttention):
    """Self-attention in which :func:`rotate_positions` turns queries and keys, not the values.

    Built and called as :class:`~seqattn.MultiHeadAttention` is. What is remembered are keys before
    they are turned. Queries are the last positions of what they look at, as in a step with a cache.

    Raises
    ------
    ValueError
        If heads are of odd size.

    References
    ----------
    Su et al. (2021), "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.
    """

    def __init__(self, d_model: int, heads: int, *, bias: bool = True, dropout: float = 0.0):
        super().__init__(d_model, heads, bias=bias, dropout=dropout)
        if d_model // heads % 2:
            raise ValueError(
                f"{heads} heads of d_model={d_model} have {d_model // heads} features each; rotary "
                "positions expect an even number, which turn in pairs"
            )

    def _attend(
        self, q: Tensor, memory: Memory, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        q = rotate_positions(q, memory.keys.shape[-2] - q.shape[-2])
        turned = memory._replace(keys=rotate_positions(memory.keys))
        return super()._attend(q, turned, need_weights)


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
        rotary: bool = False,
    ):
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm is {norm!r}; expected 'pre' or 'post'")
        check_whole("d_feedforward", d_feedforward, least=1)
        self.pre_norm = norm == "pre"
        kind = RotaryAttention if rotary else MultiHeadAttention
        self.self_attention = kind(d_model, heads, dropout=attention_dropout)
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
        rotary: bool = False,
    ):
        super().__init__(d_model, heads, d_feedforward, dropout, attention_dropout, norm, rotary)
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


class Transformer(StepwiseModel):
    """Encoder and decoder without recurrence: attention everywhere.

    It offers what :class:`~seqattn.models.Seq2SeqAttention` does (``forward`` and ``generate`` of
    :class:`~seqattn.models.seq2seq.StepwiseModel`), so that training, searches and diagnostics take
    either. Its weights say where the last layer looked, averaged over its heads. Scheduled
    sampling, which feeds guesses back, has to go step by step here as well.

    Parameters
    ----------
    source_vocab, target_vocab : int
        Sizes of the vocabularies.
    d_model : int
        Size of embeddings and states.
    heads : int
        Heads of each attention; divides ``d_model``.
    layers : int
        Layers of encoder and decoder each.
    d_feedforward : int
        Inner size of each feed-forward network.
    dropout : float
        On embeddings, and on what each part adds, as in the paper's section 5.4.
    attention_dropout : float
        On attention weights.
    norm : {"pre", "post"}
        Where the normalisation stands; ``"pre"`` has one more at the end.
    positions : {"sinusoidal", "learned", "rotary", "none"}
        How order is put in: added to the embeddings, as sines or as vectors that are learned;
        turned into queries and keys of self-attention; or not at all.
    max_len : int
        Most positions of a batch with learned positions: ``<bos>`` or ``<eos>`` counts, and so does
        padding (training pads sources to a multiple of 4).
    tie : {"none", "output", "all"}
        Whether the output projection shares its matrix with the target's embedding, or with that
        of the source, too, which needs one vocabulary for both.

    Raises
    ------
    ValueError
        If a size is below 1 or no whole number; a dropout is no probability from 0 to below 1;
        heads do not divide ``d_model``; norm, positions or tie are unknown; sinusoidal or rotary
        positions meet an odd size; or all is tied and the vocabularies differ in size.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3; Press and Wolf (2017), "Using the
    Output Embedding to Improve Language Models", for tying; Su et al. (2021), "RoFormer: Enhanced
    Transformer with Rotary Position Embedding", for rotary positions.

    Examples
    --------
    >>> import torch
    >>> model = Transformer(11, 13, d_model=8, heads=2, layers=1, d_feedforward=16)
    >>> source, lengths = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2])
    >>> logits, weights = model(source, lengths, inputs=torch.tensor([[1, 7], [1, 8]]))
    >>> logits.shape, weights.shape
    (torch.Size([2, 2, 13]), torch.Size([2, 2, 3]))
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        *,
        d_model: int = 128,
        heads: int = 4,
        layers: int = 2,
        d_feedforward: int = 512,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        norm: Norm = "pre",
        positions: Positions = "sinusoidal",
        max_len: int = 256,
        tie: Tie = "none",
    ):
        super().__init__()
        sizes = {"source_vocab": source_vocab, "target_vocab": target_vocab, "d_model": d_model,
                 "heads": heads, "layers": layers, "d_feedforward": d_feedforward,
                 "max_len": max_len}  # fmt: skip
        for name, size in sizes.items():
            check_whole(name, size, least=1)
        if positions not in get_args(Positions):
            *first, last_name = map(repr, get_args(Positions))
            known = f"{', '.join(first)} or {last_name}"
            raise ValueError(f"positions are {positions!r}; expected {known}")

        if positions == "sinusoidal" and d_model % 2:
            raise ValueError(
                f"d_model is {d_model}; expected an even number: each angle has a sine and a cosine"
            )

        def make_positions() -> nn.Module:
            if positions == "sinusoidal":
                return SinusoidalPositions()
            return LearnedPositions(max_len, d_model) if positions == "learned" else NoPositions()

        rotary = positions == "rotary"
        shape = (d_model, heads, d_feedforward, dropout, attention_dropout, norm, rotary)
        self.scale = math.sqrt(d_model)
        self.longest = max_len if positions == "learned" else None
        self.source_embedding = nn.Embedding(source_vocab, d_model, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_vocab, d_model, padding_idx=PAD)
        for embedding in (self.source_embedding, self.target_embedding):
            # Multiplied by the scale later, as in section 3.4: of size 1 beside the positions.
            nn.init.normal_(embedding.weight, std=1 / self.scale)
            nn.init.zeros_(embedding.weight[PAD])
        self.source_positions, self.target_positions = make_positions(), make_positions()
        self.encoder = nn.ModuleList(EncoderLayer(*shape) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderLayer(*shape) for _ in range(layers))
        last = nn.LayerNorm if norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = last(d_model), last(d_model)
        self.dropout = Dropout(dropout)
        self.vocabulary = nn.Linear(d_model, target_vocab)
        tie_matrices(tie, self.source_embedding, self.target_embedding, self.vocabulary)

    def begin(
        self, source: Int[Tensor, "batch keys"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Cache, tuple[Memory, ...]]:
        """Encode the source: an empty past, and what every step will look at."""
        memory = self._remember(source, lengths)
        past = tuple(Memory(m.keys[:, :, :0], m.values[:, :, :0]) for m in memory)
        return past, memory

    def step(self, tokens: Int[Tensor, " batch"], state: Cache, memory: tuple[Memory, ...]) -> Step:
        """Read the last token and score the next, from keys and values that are kept.

        Parameters
        ----------
        tokens : (batch,) integers
            Last target tokens.
        state : tuple of Memory
            Keys and values of the target so far, one for each layer.
        memory : tuple of Memory
            Those of the source, as :meth:`begin` returned them.

        Returns
        -------
        Step
            ``logits`` (batch, vocabulary), ``weights`` (batch, keys) and the state to go on with.
        """
        logits, weights, past = self._decode(tokens[:, None], memory, state, None)
        return Step(logits[:, 0], weights[:, 0], past)

    def _teacher_forced(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Output:
        # A target's own padding comes last, where no real position sees it.
        mask = causal_mask(inputs.shape[1], device=inputs.device)[None]
        logits, weights, _ = self._decode(inputs, self._remember(source, lengths), None, mask)
        return Output(logits, weights)

    def _remember(self, source: Tensor, lengths: Tensor) -> tuple[Memory, ...]:
        mask = source_mask(source, lengths)
        embedded = forget_unseen(self.source_embedding(source), mask)
        x = self.dropout(self.source_positions(embedded * self.scale))
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.encoder_norm(x)
        return tuple(layer.cross_attention.remember(x, mask=mask) for layer in self.decoder)  # type: ignore[operator, union-attr]

    def _decode(
        self, tokens: Tensor, memory: tuple[Memory, ...], state: Cache | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Cache]:
        start = 0 if state is None else state[0].keys.shape[2]
        x = self.target_positions(self.target_embedding(tokens) * self.scale, start)
        x, past, weights = self.dropout(x), [], None
        for depth, layer in enumerate(self.decoder):
            before = None if state is None else state[depth]
            wanted = depth == len(self.decoder) - 1
            x, weights, seen = layer(x, memory[depth], before, mask, wanted)
            past.append(seen)
        logits = self.vocabulary(self.decoder_norm(x))
        return logits, weights.mean(1), tuple(past)  # type: ignore[union-attr]
