"""A model as a few plain values: what a checkpoint stores beside the weights."""

from dataclasses import dataclass
from typing import Annotated, Literal

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
from seqattn.models.decoder import AttentionDecoder
from seqattn.models.encoder import Encoder
from seqattn.models.output_layer import Tie, tie_matrices
from seqattn.models.pointer_generator import PointerGenerator
from seqattn.models.seq2seq import Seq2SeqAttention
from seqattn.models.transformer import Positions, Transformer
from seqattn.settings import Limits, Only, Settings

__all__ = ["ModelConfig", "build_model"]

Architecture = Literal["bahdanau", "luong", "fixed", "transformer"]
AttentionName = Literal["global", "local-m", "local-p", "coverage"]
ScoreName = Literal[
    "additive", "dot", "scaled_dot", "general", "concat", "reduced_rank", "location"
]

Size = Annotated[int, Limits(ge=1)]
Share = Annotated[float, Limits(ge=0, lt=1)]
RECURRENT = Only(architecture=("bahdanau", "luong", "fixed"))
RECURRENT_ATTENTION = Only(architecture=("bahdanau", "luong"))
ANY_ATTENTION = Only(architecture=("bahdanau", "luong", "transformer"))
TRANSFORMER = Only(architecture=("transformer",))


@dataclass(frozen=True)
class ModelConfig(Settings):
    """Everything that, with the sizes of two vocabularies, makes a model.

    Plain values only, so that ``dataclasses.asdict`` goes into JSON and
    ``ModelConfig.from_stored(values)`` comes back. An option that would have no effect, such as the
    cell of a Transformer, is refused unless it has its default.

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
        See :class:`~seqattn.models.AttentionDecoder`.
    d_readout : int, optional
        Number of features that the output projection, the layer that gives the logits, reads. By
        default that of the readout, or ``d_embed`` where the projection shares its matrix with an
        embedding.
    feed_summary : bool
        Whether a fixed vector enters every step or the first state alone.
    tie : {"none", "output", "all"}
        Which of the embeddings shares its matrix with the output projection: none, the target's,
        or both, which needs one vocabulary; see :func:`~seqattn.models.tie_matrices`. A
        recurrent model then has ``d_embed`` features before the vocabulary, which the readout
        "linear" cannot have.
    max_source : int
        Most positions of a batch of sources that "location" can look at; ``<eos>`` counts, and so
        does padding (training pads to a multiple of 4).
    heads, d_feedforward, norm, positions, max_len
        Of a Transformer; see :class:`~seqattn.models.Transformer`.
    copy : bool
        Whether a recurrent decoder with attention may copy words of the source, those that it has
        never met included; see :class:`~seqattn.models.PointerGenerator`. Source and target then
        share one vocabulary.

    Raises
    ------
    ValueError
        If a value is of the wrong kind or out of its limits, would have no effect, or does not go
        with another.
    TypeError
        If there is no such option.
    """

    architecture: Architecture = "bahdanau"
    d_embed: Annotated[Size, RECURRENT] = 256
    d_hidden: Size = 512
    d_encoder: Annotated[Size | None, RECURRENT] = None
    layers: Size = 1
    cell: Annotated[Literal["gru", "lstm"], RECURRENT] = "gru"
    bidirectional: Annotated[bool, RECURRENT] = True
    dropout: Share = 0.2
    attention_dropout: Annotated[Share, ANY_ATTENTION] = 0.0
    attention: Annotated[AttentionName, RECURRENT_ATTENTION] = "global"
    window: Annotated[Size, Only(attention=("local-m", "local-p"))] = 5
    score: Annotated[ScoreName | None, RECURRENT_ATTENTION] = None
    d_attn: Annotated[
        Size | None,
        Only(score_used=("additive", "concat"), attention=("global", "coverage")),
    ] = None
    rank: Annotated[Size, Only(score_used=("reduced_rank",))] = 64
    max_source: Annotated[Size, Only(score_used=("location",))] = 256
    input_feeding: Annotated[bool, Only(architecture=("luong",))] = True
    readout: Annotated[Literal["linear", "tanh", "maxout"] | None, RECURRENT] = None
    d_readout: Annotated[Size | None, RECURRENT] = None
    feed_summary: Annotated[bool, Only(architecture=("fixed",))] = True
    heads: Annotated[Size, TRANSFORMER] = 4
    d_feedforward: Annotated[Size, TRANSFORMER] = 1024
    norm: Annotated[Literal["pre", "post"], TRANSFORMER] = "pre"
    positions: Annotated[Positions, TRANSFORMER] = "sinusoidal"
    max_len: Annotated[Size, Only(positions=("learned",))] = 256
    tie: Tie = "none"
    copy: Annotated[bool, RECURRENT_ATTENTION] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.copy and self.tie == "all":
            raise ValueError(
                "tie is 'all'; copy=True expects 'none' or 'output': the gate is one more row of "
                "the matrix that the source's embedding does not have"
            )
        if self.architecture == "transformer":
            self._check_heads()
            return
        if self.architecture != "fixed":
            self._check_score()
        if self.readout == "linear" and self.d_readout is not None:
            raise ValueError(
                f"d_readout={self.d_readout} does not suit readout='linear', which joins its "
                "inputs as they are; leave it out, or choose 'tanh' or 'maxout'"
            )
        if self.tie != "none" and self.readout == "linear":
            raise ValueError(
                f"readout is 'linear'; tie={self.tie!r} expects 'tanh' or 'maxout', which can give "
                "as many features as an embedding has"
            )
        if self.tie != "none" and self.d_readout not in (None, self.d_embed):
            raise ValueError(
                f"d_readout is {self.d_readout}; tie={self.tie!r} expects d_embed = "
                f"{self.d_embed}, as many features as an embedding has (leave d_readout out)"
            )

    def _check_heads(self) -> None:
        each, rest = divmod(self.d_hidden, self.heads)
        if rest:
            raise ValueError(
                f"heads is {self.heads}; expected a number that divides d_hidden = {self.d_hidden}"
            )
        if self.positions == "sinusoidal" and self.d_hidden % 2:
            raise ValueError(
                f"d_hidden is {self.d_hidden}; positions='sinusoidal' expects an even number: each "
                "angle has a sine and a cosine"
            )
        if self.positions == "rotary" and each % 2:
            raise ValueError(
                f"heads is {self.heads} and d_hidden {self.d_hidden}, {each} features for each "
                "head; positions='rotary' expects an even number, which turn in pairs"
            )

    def _check_score(self) -> None:
        score, d_states = self.score_used, self.d_states
        if self.attention in ("local-m", "local-p") and score not in ("dot", "general", "concat"):
            raise ValueError(
                f"score is {score!r}; attention={self.attention!r} expects 'dot', 'general' or "
                "'concat'"
            )
        if self.attention == "coverage" and score != "additive":
            raise ValueError(f"score is {score!r}; attention='coverage' expects 'additive'")
        if score in ("dot", "scaled_dot") and self.d_hidden != d_states:
            raise ValueError(
                f"score={score!r} needs states of equal size; the decoder's have {self.d_hidden}, "
                f"the encoder's {d_states} (leave d_encoder out to make them fit, and let d_hidden "
                "be even where the encoder has two directions)"
            )
        if score == "reduced_rank" and self.rank > min(self.d_hidden, d_states):
            raise ValueError(
                f"rank is {self.rank}; expected at most {min(self.d_hidden, d_states)}, the "
                "smaller of the sizes of decoder and encoder states"
            )

    @property
    def d_states(self) -> int:
        """Size of an encoder state, its directions together; not of a Transformer."""
        return self.d_one_way * (2 if self.bidirectional else 1)

    @property
    def d_one_way(self) -> int:
        """Size of an encoder state in one direction, where it is left open what suits the score."""
        if self.d_encoder is not None:
            return self.d_encoder
        halve = self.bidirectional and self.score_used in ("dot", "scaled_dot")
        return max(self.d_hidden // 2, 1) if halve else self.d_hidden

    @property
    def score_used(self) -> ScoreName | None:
        """The score, where it is left open that of the paper; None where nothing is compared."""
        if self.architecture not in ("bahdanau", "luong"):
            return None
        if self.score is not None or self.attention == "coverage":
            return self.score or "additive"
        # Luong's scores alone go with a window, whichever the order.
        local = self.attention in ("local-m", "local-p")
        return "general" if self.architecture == "luong" or local else "additive"


def build_model(
    config: ModelConfig, source_vocab: int, target_vocab: int
) -> Seq2SeqAttention | PointerGenerator | Transformer:
    """Build the model that a configuration describes.

    Parameters
    ----------
    config : ModelConfig
        Architecture and sizes.
    source_vocab, target_vocab : int
        Numbers of tokens.

    Returns
    -------
    Seq2SeqAttention, PointerGenerator or Transformer
        With fresh weights; all are called, searched and trained alike.

    Raises
    ------
    ValueError
        If a model that copies, or shares all its matrices, gets two vocabularies.

    Examples
    --------
    >>> config = ModelConfig(architecture="luong", d_embed=8, d_hidden=16, score="dot")
    >>> model = build_model(config, source_vocab=100, target_vocab=90)
    >>> model.encoder.d_states, model.decoder.vocabulary.out_features
    (16, 90)
    """
    if config.architecture == "transformer":
        return _transformer(config, source_vocab, target_vocab)
    if config.copy and source_vocab != target_vocab:
        raise ValueError(
            f"copy=True needs one vocabulary; the source has {source_vocab} tokens and the target "
            f"{target_vocab}"
        )
    score = config.score_used
    encoder = Encoder(
        source_vocab,
        config.d_embed,
        config.d_one_way,
        cell=config.cell,
        layers=config.layers,
        bidirectional=config.bidirectional,
        dropout=config.dropout,
    )
    attention = None if score is None else _attention(config, score, encoder.d_states)
    d_readout = config.d_readout
    if d_readout is None and config.tie != "none" and config.readout != "linear":
        d_readout = config.d_embed
    decoder = AttentionDecoder(
        target_vocab + config.copy,  # the gate is one more output
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
    return PointerGenerator(encoder, decoder) if config.copy else Seq2SeqAttention(encoder, decoder)


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
        alignment: Literal["monotonic", "predictive"] = (
            "monotonic" if config.attention == "local-m" else "predictive"
        )
        assert score in ("dot", "general", "concat")  # the config has seen to it
        return LocalAttention(d_query, d_key, config.window, alignment, score, dropout=dropout)
    if config.attention == "coverage":
        return CoverageAttention(d_query, d_key, config.d_attn or d_query, dropout=dropout)
    if score == "additive":
        return BahdanauAttention(d_query, d_key, config.d_attn or d_query, dropout=dropout)
    if score == "scaled_dot":
        return ScaledDotProductAttention(dropout=dropout)
    if score == "location":
        return LocationAttention(d_query, config.max_source, dropout=dropout)
    if score == "reduced_rank":
        return ReducedRankAttention(d_query, d_key, config.rank, dropout=dropout)
    d_attn = config.d_attn if score == "concat" else None
    return LuongAttention(d_query, d_key, score, d_attn, dropout=dropout)
