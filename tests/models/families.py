"""Recurrent translators in every combination: what is added here is tested as they all are.

The Transformer, the pointer-generator and the classifier have tests of their own.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
import torch

from seqattn import (
    AdditiveScore,
    BahdanauAttention,
    CoverageAttention,
    HardAttention,
    LocalAttention,
    LocationAttention,
    LuongAttention,
    MultiHeadAttention,
    ReducedRankAttention,
    ScaledDotProductAttention,
)
from seqattn.models import AttentionDecoder, Encoder, Seq2SeqAttention

# Distinct primes: no swapped axis fits.
BATCH, KEYS, STEPS, SOURCE_VOCAB, TARGET_VOCAB = 3, 7, 5, 23, 19
D_EMBED, D_HIDDEN, D_ONE_WAY, D_ATTN, RANK = 11, 13, 17, 29, 2
D_ENCODER = 2 * D_ONE_WAY


@dataclass(frozen=True)
class Family:
    """A kind of model: how its decoder attends, and the decoder's options."""

    name: str
    attention: Any  # () -> Attention, or None
    options: dict[str, Any] = field(default_factory=dict)
    encoder: dict[str, Any] = field(default_factory=dict)
    d_one_way: int = D_ONE_WAY
    d_hidden: int = D_HIDDEN

    def build(self, dtype: torch.dtype = torch.float64, dropout: float = 0.0) -> Seq2SeqAttention:
        encoder = Encoder(SOURCE_VOCAB, D_EMBED, self.d_one_way, dropout=dropout, **self.encoder)
        decoder = AttentionDecoder(
            TARGET_VOCAB,
            D_EMBED,
            self.d_hidden,
            encoder.d_states,
            None if self.attention is None else self.attention(),
            dropout=dropout,
            **self.options,
        )
        model = Seq2SeqAttention(encoder, decoder).to(dtype)
        for p in model.parameters():
            torch.nn.init.normal_(p, std=0.4)  # biases too; far from the linear regime
        return model


def bahdanau():
    return BahdanauAttention(D_HIDDEN, D_ENCODER, D_ATTN)


def general():
    return LuongAttention(D_HIDDEN, D_ENCODER)


def batch():
    """Sources, their lengths in no order, and decoder inputs."""
    lengths = torch.tensor([4, KEYS, 2])
    source = torch.randint(4, SOURCE_VOCAB, (BATCH, KEYS))
    for row, length in enumerate(lengths.tolist()):
        source[row, length - 1 :] = 0
        source[row, length - 1] = 2
    inputs = torch.randint(4, TARGET_VOCAB, (BATCH, STEPS))
    inputs[:, 0] = 1
    return source, lengths, inputs


ORDERS = {
    "bahdanau": (bahdanau, {"style": "bahdanau"}),
    "luong": (general, {"style": "luong"}),
    "luong, no input feeding": (general, {"style": "luong", "input_feeding": False}),
    "fixed": (None, {}),
    "fixed, first state only": (None, {"feed_summary": False}),
}

# Every order of attending × unit × depth × readout.
FAMILIES = [
    Family(
        f"{order}, {cell}, {layers} layers, {readout}",
        attention,
        {**options, "cell": cell, "layers": layers, "readout": readout},
        {"cell": cell, "layers": layers},
    )
    for (order, (attention, options)), cell, layers, readout in product(
        ORDERS.items(), ("gru", "lstm"), (1, 2), ("linear", "tanh", "maxout")
    )
]

# Every attention × both orders; encoders of another shape than the decoder's.
FAMILIES += [
    *(
        Family(f"{score}, {style}", attention, {"style": style}, {}, one_way, hidden)
        for style, (score, attention, one_way, hidden) in product(
            ("bahdanau", "luong"),
            [
                ("dot", lambda: LuongAttention(D_ENCODER, D_ENCODER, "dot"), D_ONE_WAY, D_ENCODER),
                ("scaled dot", ScaledDotProductAttention, D_ONE_WAY, D_ENCODER),
                (
                    "concat",
                    lambda: LuongAttention(D_HIDDEN, D_ENCODER, "concat", D_ATTN),
                    D_ONE_WAY,
                    D_HIDDEN,
                ),
                (
                    "rank 2",
                    lambda: ReducedRankAttention(D_HIDDEN, D_ENCODER, RANK),
                    D_ONE_WAY,
                    D_HIDDEN,
                ),
            ],
        )
    ),
    Family("general score in Bahdanau's order", general, {"style": "bahdanau"}),
    Family("additive score in Luong's order", bahdanau, {"style": "luong"}),
    Family(
        "one direction",
        lambda: BahdanauAttention(D_HIDDEN, D_ONE_WAY, D_ATTN),
        {},
        {"bidirectional": False},
    ),
    Family("LSTM encoder, GRU decoder", bahdanau, {}, {"cell": "lstm"}),
    Family("GRU encoder, LSTM decoder", bahdanau, {"cell": "lstm"}, {}),
    Family("three encoder layers, two decoder layers", bahdanau, {"layers": 2}, {"layers": 3}),
    Family("one encoder layer, three decoder layers", bahdanau, {"layers": 3}, {}),
    Family("a readout of its own size", general, {"style": "luong", "d_readout": 31}),
]

# Attentions that carry a past, look at a part, at no key, or do not stand in the core.
OTHERS = {
    "coverage": lambda: CoverageAttention(D_HIDDEN, D_ENCODER, D_ATTN),
    "local-m": lambda: LocalAttention(D_HIDDEN, D_ENCODER, 1, "monotonic"),
    "local-p": lambda: LocalAttention(D_HIDDEN, D_ENCODER, 2),
    "location": lambda: LocationAttention(D_HIDDEN, 64),
    "hard": lambda: HardAttention(
        AdditiveScore(D_HIDDEN, D_ENCODER, D_ATTN), "argmax", "straight-through"
    ),
}
ORDERS_OF_OTHERS = {
    "bahdanau": {"style": "bahdanau"},
    "luong": {"style": "luong"},
    "luong, no input feeding": {"style": "luong", "input_feeding": False},
}
SPECIAL = [
    *(
        Family(f"{name}, {order}", attention, options)
        for (name, attention), (order, options) in product(OTHERS.items(), ORDERS_OF_OTHERS.items())
    ),
    *(
        Family(
            f"two heads, {order}",
            lambda: MultiHeadAttention(D_ENCODER, 2),
            options,
            d_hidden=D_ENCODER,
        )
        for order, options in ORDERS_OF_OTHERS.items()
    ),
]
FAMILIES += SPECIAL

# One of each order: for what does not depend on the rest.
PLAIN = [Family(order, attention, options) for order, (attention, options) in ORDERS.items()]
ATTENDING = [family for family in PLAIN if family.attention is not None]


def each(families):
    return pytest.mark.parametrize("family", families, ids=[family.name for family in families])


every_family = each(FAMILIES)
every_order = each(PLAIN)
every_kind = each(PLAIN + SPECIAL)
every_attending_order = each(ATTENDING)
