"""A model as a few plain values: what a checkpoint stores beside the weights."""

from dataclasses import dataclass
from typing import Literal, get_args

from seqattn.attention import (
    BahdanauAttention,
    CoverageAttention,
    LocalAttention,
    LocationAttention,
    LuongAttention,
    Mechanism,
    ReducedRankAttention,
    ScaledDotProductAttention,
)
from seqattn.models.decoders import AttentionDecoder
from seqattn.models.encoders import Encoder
from seqattn.models.seq2seq import Seq2SeqAttention
from seqattn.models.transformer import Transformer
from seqattn.models.tying import Tie, tie_matrices

__all__ = ["ModelConfig", "build_model"]

Architecture = Literal["bahdanau", "luong", "fixed", "transformer"]
AttentionName = Literal["global", "local-m", "local-p", "coverage"]
ScoreName = Literal[
    "additive", "dot", "scaled_dot", "general", "concat", "reduced_rank", "location"
]


@dataclass(frozen=True)
class ModelConfig:
    """Everything that, with the sizes of two vocabularies, makes a model.

    Plain values only, so that ``dataclasses.asdict`` goes into JSON and ``ModelConfig(**values)``
    comes back.

    Attributes
    ----------
    architecture : {"bahdanau", "luong", "fixed", "transformer"}
        Attend before the recurrent update, after it, or not at all; or do without recurrence.
    d_embed, d_hidden : int
        Sizes of an embedding and of a decoder state. A Transformer has ``d_hidden`` for both.
    d_encoder : int, optional
        Size of an encoder state in one direction. By default ``d_hidden``; where the score compares
        states of equal size ("dot", "scaled_dot"), half of it if there are two directions.
    layers : int
        Number of layers, in the encoder and in the decoder.
    cell : {"gru", "lstm"}
        Kind of recurrent unit.
    bidirectional : bool
        Whether the encoder reads right to left as well.
    dropout, attention_dropout : float
        Probabilities of dropping a feature, and an attention weight.
    attention : {"global", "local-m", "local-p", "coverage"}
        What a recurrent decoder looks at, and with which memory of the past.
    window : int
        Half-width D of local attention, in positions.
    score : {"additive", "dot", "scaled_dot", "general", "concat", "reduced_rank", "location"}, \
optional
        By default that of the architecture's paper: additive for Bahdanau, general for Luong and
        for local attention, which takes Luong's scores alone. Coverage is additive.
    d_attn : int, optional
        Size of the comparison space of "additive" and "concat"; ``d_hidden`` by default.
    rank : int
        Rank of "reduced_rank".
    input_feeding : bool
        Whether a Luong decoder reads its last readout.
    readout : {"linear", "tanh", "maxout"}, optional
        See :class:`~seqattn.models.decoders.AttentionDecoder`.
    d_readout : int, optional
        Number of features that the vocabulary product reads. By default that of the readout, or
        ``d_embed`` where the product shares its matrix with an embedding.
    feed_summary : bool
        Whether a fixed vector enters every step or the first state alone.
    tie : {"none", "output", "all"}
        Which of the embeddings shares its matrix with the vocabulary product: none, the target's,
        or both, which needs one vocabulary; see :func:`~seqattn.models.tie_matrices`. A
        recurrent model then has ``d_embed`` features before the vocabulary, which the readout
        "linear" cannot have.
    max_source : int
        Most positions of a source that "location" can look at, ``<eos>`` included.
    heads, d_feedforward, norm, positions, max_len
        Of a Transformer; see :class:`~seqattn.models.Transformer`.
    """

    architecture: Architecture = "bahdanau"
    d_embed: int = 256
    d_hidden: int = 512
    d_encoder: int | None = None
    layers: int = 1
    cell: Literal["gru", "lstm"] = "gru"
    bidirectional: bool = True
    dropout: float = 0.2
    attention_dropout: float = 0.0
    attention: AttentionName = "global"
    window: int = 5
    score: ScoreName | None = None
    d_attn: int | None = None
    rank: int = 64
    max_source: int = 256
    input_feeding: bool = True
    readout: Literal["linear", "tanh", "maxout"] | None = None
    d_readout: int | None = None
    feed_summary: bool = True
    heads: int = 4
    d_feedforward: int = 1024
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_len: int = 256
    tie: Tie = "none"

    def __post_init__(self) -> None:
        sizes = ("d_embed", "d_hidden", "d_encoder", "layers", "d_attn", "rank", "max_source",
                 "d_readout", "heads", "d_feedforward", "max_len")  # fmt: skip
        for name in sizes:
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and value >= 1):
                raise ValueError(f"{name} is {value!r}; expected a whole number of at least 1")
        for name in ("dropout", "attention_dropout"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0 <= value < 1):
                raise ValueError(f"{name} is {value!r}; expected from 0 to below 1")


def build_model(
    config: ModelConfig, source_vocab: int, target_vocab: int
) -> Seq2SeqAttention | Transformer:
    """Build the model that a configuration describes.

    Parameters
    ----------
    config : ModelConfig
        Architecture and sizes.
    source_vocab, target_vocab : int
        Numbers of tokens.

    Returns
    -------
    Seq2SeqAttention or Transformer
        With fresh weights; both are called, searched and trained alike.

    Raises
    ------
    ValueError
        If a name is unknown or the sizes do not suit the score.

    Examples
    --------
    >>> config = ModelConfig(architecture="luong", d_embed=8, d_hidden=16, score="dot")
    >>> model = build_model(config, source_vocab=100, target_vocab=90)
    >>> model.encoder.d_states, model.decoder.vocabulary.out_features
    (16, 90)
    """
    if config.architecture not in get_args(Architecture):
        raise ValueError(
            f"architecture is {config.architecture!r}; expected 'bahdanau', 'luong', 'fixed' or "
            "'transformer'"
        )
    if config.architecture == "transformer":
        return _transformer(config, source_vocab, target_vocab)
    local = config.attention.startswith("local")
    usual: ScoreName = "general" if config.architecture == "luong" or local else "additive"
    if config.attention == "coverage":
        usual = "additive"
    score = config.score or usual
    directions = 2 if config.bidirectional else 1
    d_encoder = config.d_encoder
    if d_encoder is None:
        halve = config.architecture != "fixed" and score in ("dot", "scaled_dot")
        d_encoder = config.d_hidden // directions if halve else config.d_hidden
    encoder = Encoder(
        source_vocab,
        config.d_embed,
        d_encoder,
        cell=config.cell,
        layers=config.layers,
        bidirectional=config.bidirectional,
        dropout=config.dropout,
    )
    attention = None
    if config.architecture != "fixed":
        attention = _attention(config, score, encoder.d_states)
    d_readout = config.d_readout
    if d_readout is None and config.tie != "none" and config.readout != "linear":
        d_readout = config.d_embed
    decoder = AttentionDecoder(
        target_vocab,
        config.d_embed,
        config.d_hidden,
        encoder.d_states,
        attention,
        style="luong" if config.architecture == "luong" else "bahdanau",
        cell=config.cell,
        layers=config.layers,
        input_feeding=config.input_feeding,
        readout=config.readout,
        d_readout=d_readout,
        feed_summary=config.feed_summary,
        dropout=config.dropout,
    )
    tie_matrices(config.tie, encoder.embedding, decoder.embedding, decoder.vocabulary)
    return Seq2SeqAttention(encoder, decoder)


def _transformer(config: ModelConfig, source_vocab: int, target_vocab: int) -> Transformer:
    return Transformer(
        source_vocab,
        target_vocab,
        d_model=config.d_hidden,
        heads=config.heads,
        layers=config.layers,
        d_feedforward=config.d_feedforward,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        norm=config.norm,
        positions=config.positions,
        max_len=config.max_len,
        tie=config.tie,
    )


def _attention(config: ModelConfig, score: ScoreName, d_key: int) -> Mechanism:
    d_query, dropout = config.d_hidden, config.attention_dropout
    if config.attention in ("local-m", "local-p"):
        if score not in ("dot", "general", "concat"):
            raise ValueError(
                f"score is {score!r}; attention={config.attention!r} expects 'dot', 'general' or "
                "'concat'"
            )
        alignment: Literal["monotonic", "predictive"] = (
            "monotonic" if config.attention == "local-m" else "predictive"
        )
        return LocalAttention(d_query, d_key, config.window, alignment, score, dropout=dropout)
    if config.attention == "coverage":
        if score != "additive":
            raise ValueError(f"score is {score!r}; attention='coverage' expects 'additive'")
        return CoverageAttention(d_query, d_key, config.d_attn or d_query, dropout=dropout)
    if config.attention != "global":
        names = ", ".join(get_args(AttentionName))
        raise ValueError(f"attention is {config.attention!r}; expected one of {names}")
    if score == "additive":
        return BahdanauAttention(d_query, d_key, config.d_attn or d_query, dropout=dropout)
    if score == "scaled_dot":
        if d_query != d_key:
            raise ValueError(
                f"score='scaled_dot' needs states of equal size; the decoder's have {d_query}, "
                f"the encoder's {d_key} (leave d_encoder out to make them fit)"
            )
        return ScaledDotProductAttention(dropout=dropout)
    if score == "location":
        return LocationAttention(d_query, config.max_source, dropout=dropout)
    if score == "reduced_rank":
        return ReducedRankAttention(d_query, d_key, config.rank, dropout=dropout)
    if score in ("dot", "general", "concat"):
        d_attn = config.d_attn if score == "concat" else None
        return LuongAttention(d_query, d_key, score, d_attn, dropout=dropout)
    names = ", ".join(get_args(ScoreName))
    raise ValueError(f"score is {score!r}; expected one of {names}")
