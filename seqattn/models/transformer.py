"""A small Transformer from the same parts: what is left when the recurrence goes."""

import math
from typing import Literal

from jaxtyping import Int
from torch import Tensor, nn

from seqattn.attention import Memory, causal_mask, padding_mask
from seqattn.attention.masks import forget_unseen
from seqattn.dropout import Dropout
from seqattn.models.positions import LearnedPositions, SinusoidalPositions
from seqattn.models.seq2seq import Output, StepwiseModel
from seqattn.models.steps import Step
from seqattn.models.transformer_layers import DecoderLayer, EncoderLayer, Norm
from seqattn.models.tying import Tie, tie_matrices
from seqattn.specials import PAD

__all__ = ["Transformer"]

# What the decoder carries: for each layer, keys and values of the target so far.
Past = tuple[Memory, ...]


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
        Size of the hidden layer between attentions.
    dropout : float
        On embeddings, and on what each part adds, as in the paper's section 5.4.
    attention_dropout : float
        On attention weights.
    norm : {"pre", "post"}
        Where the normalisation stands; ``"pre"`` has one more at the end.
    positions : {"sinusoidal", "learned"}
        How order is put in.
    max_len : int
        Longest sentence with learned positions, ``<bos>`` or ``<eos>`` included.
    tie : {"none", "output", "all"}
        Whether the vocabulary product shares its matrix with the target's embedding, or with that
        of the source, too, which needs one vocabulary for both.

    Raises
    ------
    ValueError
        If heads do not divide ``d_model``; norm, positions or tie are unknown; or all is tied and
        the vocabularies differ in size.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3; Press and Wolf (2017), "Using the
    Output Embedding to Improve Language Models", for tying.

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
        positions: Literal["sinusoidal", "learned"] = "sinusoidal",
        max_len: int = 256,
        tie: Tie = "none",
    ):
        super().__init__()
        if positions not in ("sinusoidal", "learned"):
            raise ValueError(f"positions are {positions!r}; expected 'sinusoidal' or 'learned'")

        def make_positions() -> nn.Module:
            if positions == "sinusoidal":
                return SinusoidalPositions()
            return LearnedPositions(max_len, d_model)

        shape = (d_model, heads, d_feedforward, dropout, attention_dropout, norm)
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
    ) -> tuple[Past, tuple[Memory, ...]]:
        """Encode the source: an empty past, and what every step will look at."""
        memory = self._remember(source, lengths)
        past = tuple(Memory(m.keys[:, :, :0], m.values[:, :, :0]) for m in memory)
        return past, memory

    def step(self, tokens: Int[Tensor, " batch"], state: Past, memory: tuple[Memory, ...]) -> Step:
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

    def _score(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Output:
        # A target's own padding comes last, where no real position sees it.
        mask = causal_mask(inputs.shape[1], device=inputs.device)[None]
        logits, weights, _ = self._decode(inputs, self._remember(source, lengths), None, mask)
        return Output(logits, weights)

    def _remember(self, source: Tensor, lengths: Tensor) -> tuple[Memory, ...]:
        mask = padding_mask(lengths, source.shape[1]).to(source.device)
        embedded = forget_unseen(self.source_embedding(source), mask)
        x = self.dropout(self.source_positions(embedded * self.scale))
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.encoder_norm(x)
        return tuple(layer.cross_attention.remember(x, mask=mask) for layer in self.decoder)  # type: ignore[operator, union-attr]

    def _decode(
        self, tokens: Tensor, memory: tuple[Memory, ...], state: Past | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Past]:
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
