"""A model as plain values."""

import json
from dataclasses import asdict, replace
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqattn import CoverageAttention, LocalAttention
from seqattn.models import ModelConfig, build_model
from seqattn.models.config import ScoreName
from tests.models.families import SOURCE_VOCAB, TARGET_VOCAB, batch

SMALL = ModelConfig(d_embed=5, d_hidden=14)
SCORES = get_args(ScoreName)


def build(config):
    return build_model(config, SOURCE_VOCAB, TARGET_VOCAB)


@pytest.mark.parametrize("architecture", ["bahdanau", "luong"])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("bidirectional", [True, False])
def test_every_score_goes_with_every_architecture(architecture, score, bidirectional):
    rank = {"rank": 3} if score == "reduced_rank" else {}
    config = replace(
        SMALL, architecture=architecture, score=score, bidirectional=bidirectional, **rank
    )
    output = build(config)(*batch())
    assert output.logits.shape[-1] == TARGET_VOCAB
    torch.testing.assert_close(output.weights.sum(-1), torch.ones(output.weights.shape[:2]))


def test_a_config_survives_json():
    config = replace(SMALL, architecture="luong", score="concat", cell="lstm", d_attn=11)
    restored = ModelConfig(**json.loads(json.dumps(asdict(config))))
    assert restored == config
    model, again = build(config), build(restored)
    again.load_state_dict(model.state_dict())
    inputs = batch()
    torch.testing.assert_close(again.eval()(*inputs), model.eval()(*inputs))


def test_each_architecture_has_the_score_of_its_paper():
    assert type(build(SMALL).decoder.attention.score).__name__ == "AdditiveScore"
    luong = build(replace(SMALL, architecture="luong"))
    assert type(luong.decoder.attention.score).__name__ == "GeneralScore"
    assert build(replace(SMALL, architecture="fixed")).decoder.attention is None


def test_sizes_and_options_reach_the_parts():
    config = ModelConfig(
        "luong",
        d_embed=5,
        d_hidden=14,
        d_encoder=11,
        layers=2,
        cell="lstm",
        dropout=0.25,
        attention_dropout=0.125,
        score="additive",
        d_attn=7,
        readout="maxout",
        d_readout=3,
    )
    model = build(config)
    encoder, decoder = model.encoder, model.decoder
    assert (encoder.rnn.hidden_size, encoder.rnn.num_layers, encoder.d_states) == (11, 2, 22)
    assert (decoder.rnn.hidden_size, decoder.rnn.num_layers) == (14, 2)
    assert encoder.rnn.mode == decoder.rnn.mode == "LSTM"
    assert encoder.dropout.p == decoder.dropout.p == encoder.rnn.dropout == decoder.rnn.dropout
    assert (decoder.dropout.p, decoder.attention.dropout) == (0.25, 0.125)
    assert decoder.attention.score.W_q.shape == (7, 14)
    assert decoder.readout.d_features == decoder.vocabulary.in_features == 3
    assert decoder.rnn.input_size == 5 + 3
    assert build(replace(config, input_feeding=False)).decoder.rnn.input_size == 5
    assert build(replace(config, bidirectional=False)).encoder.d_states == 11
    assert (
        build(replace(SMALL, score="reduced_rank", rank=3)).decoder.attention.score.U.shape[0] == 3
    )
    fixed = replace(SMALL, architecture="fixed")
    assert build(fixed).decoder.rnn.input_size == 5 + 28
    assert build(replace(fixed, feed_summary=False)).decoder.rnn.input_size == 5


@pytest.mark.parametrize("attention", ["local-m", "local-p", "coverage"])
@pytest.mark.parametrize("architecture", ["bahdanau", "luong"])
def test_other_attentions_go_with_every_recurrent_architecture(architecture, attention):
    window = {} if attention == "coverage" else {"window": 2}
    config = replace(SMALL, architecture=architecture, attention=attention, **window)
    model = build(config)
    found = model.decoder.attention
    if attention == "coverage":
        assert isinstance(found, CoverageAttention)
    else:
        assert isinstance(found, LocalAttention)
        assert (found.window, found.v_p is None) == (2, attention == "local-m")
    assert model(*batch()).logits.shape[-1] == TARGET_VOCAB


def test_a_transformer_has_the_sizes_of_its_config():
    config = ModelConfig(
        "transformer",
        d_hidden=12,
        layers=3,
        heads=2,
        d_feedforward=17,
        dropout=0.25,
        norm="post",
        positions="learned",
        max_len=9,
    )
    model = build(config)
    assert (len(model.encoder), len(model.decoder)) == (3, 3)
    assert model.encoder[0].self_attention.heads == 2
    assert model.target_positions.table.shape == (9, 12)
    assert model.dropout.p == 0.25
    assert model.encoder_norm.__class__ is torch.nn.Identity
    assert 17 in {p.shape[0] for p in model.encoder.parameters()}


@pytest.mark.parametrize("architecture", ["bahdanau", "luong", "fixed", "transformer"])
@pytest.mark.parametrize(("tie", "saved"), [("none", 0), ("output", 1), ("all", 2)])
def test_tied_matrices_are_one(architecture, tie, saved):
    sizes = {"d_hidden": 12} if architecture == "transformer" else {"d_embed": 5, "d_hidden": 12}
    config = ModelConfig(architecture, layers=1, tie=tie, **sizes)
    model = build_model(config, TARGET_VOCAB, TARGET_VOCAB)
    shared = {id(p) for p in model.parameters() if p.shape[0] == TARGET_VOCAB and p.dim() == 2}
    assert len(shared) == 3 - saved
    assert id(model.vocabulary.weight) in shared
    source, lengths, inputs = batch()
    source = source.clamp(max=TARGET_VOCAB - 1)
    model(source, lengths, inputs).logits.logsumexp(-1).sum().backward()
    assert all(p.grad.any() for p in model.parameters())
    again = build_model(config, TARGET_VOCAB, TARGET_VOCAB)
    again.load_state_dict(model.state_dict())
    given = (source, lengths, inputs)
    torch.testing.assert_close(again.eval()(*given), model.eval()(*given))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attention": "locla"}, "attention is 'locla'; expected 'global', 'local-m', "),
        ({"attention": "local-p", "score": "additive"}, "score is 'additive'; attention='local-p'"),
        ({"attention": "coverage", "score": "dot"}, "attention='coverage' expects 'additive'"),
        ({"d_hidden": -5}, "d_hidden is -5; expected a whole number of at least 1"),
        ({"d_embed": 0}, "d_embed is 0; expected a whole number of at least 1"),
        ({"d_attn": "7"}, "d_attn is '7'; expected a whole number of at least 1"),
        ({"layers": True}, "layers is True; expected a whole number of at least 1"),
        (
            {"architecture": "foo"},
            "architecture is 'foo'; expected 'bahdanau', 'luong', 'fixed' or",
        ),
        ({"input_feeding": 1}, "input_feeding is 1; expected True or False"),
        ({"dropout": float("nan")}, "dropout is nan; expected a number from 0 to below 1"),
        ({"layers": 1.5}, "layers is 1.5; expected a whole number of at least 1"),
        ({"dropout": 2}, "dropout is 2; expected a number from 0 to below 1"),
        (
            {"attention_dropout": 1.0},
            "attention_dropout is 1.0; expected a number from 0 to below 1",
        ),
        ({"tie": "both"}, "tie is 'both'; expected 'none', 'output' or 'all'"),
        ({"tie": "output", "d_readout": 6}, "d_readout is 6; tie='output' expects d_embed = 5"),
        (
            {"tie": "output", "readout": "linear"},
            "readout is 'linear'; tie='output' expects 'tanh'",
        ),
        ({"readout": "linear", "d_readout": 6}, "d_readout=6 does not suit readout='linear'"),
        (
            {"architecture": "Luong"},
            "architecture is 'Luong'; expected 'bahdanau', 'luong', 'fixed'",
        ),
        ({"score": "bilinear"}, "score is 'bilinear'; expected 'additive', 'dot', 'scaled_dot'"),
        ({"score": "scaled_dot", "d_encoder": 11}, "needs states of equal size; .* 14, .* 22"),
        ({"score": "dot", "d_encoder": 11}, "score='dot' needs states of equal size; .* 14, .* 22"),
        ({"score": "dot", "d_hidden": 13}, "needs states of equal size; .* 13, .* 12 .* be even"),
        ({"score": "reduced_rank"}, "rank is 64; expected at most 14, the smaller of the sizes"),
        ({"cell": "elman"}, "cell is 'elman'"),
        ({"readout": "softmax"}, "readout is 'softmax'"),
    ],
)
def test_impossible_configs_are_refused_when_they_are_made(change, message, unchecked):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **change)


@pytest.mark.parametrize("options", [{"tie": "all"}, {"copy": True}])
def test_two_vocabularies_are_refused_where_one_is_needed(options):
    message = f"one vocabulary; the source has {SOURCE_VOCAB} tokens and the target {TARGET_VOCAB}"
    with pytest.raises(ValueError, match=message):
        build(replace(SMALL, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_hidden": 14}, "heads is 4; expected a number that divides d_hidden = 14"),
        ({"d_hidden": 15, "heads": 5}, "d_hidden is 15; positions='sinusoidal' expects an even"),
        (
            {"d_hidden": 20, "positions": "rotary"},
            "heads is 4 and d_hidden 20, 5 features for each",
        ),
    ],
)
def test_sizes_that_heads_or_positions_cannot_have_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig("transformer", **options)


CHOICES = {
    "attention": ["global", "local-m", "coverage"],
    "score": [None, *SCORES],
    "bidirectional": [True, False],
    "d_encoder": [None, 7],
    "d_hidden": [13, 14],
    "tie": ["none", "output", "all"],
    "readout": [None, "linear", "tanh"],
    "d_readout": [None, 5, 6],
    "copy": [True, False],
}


@settings(max_examples=150)
@given(st.fixed_dictionaries({name: st.sampled_from(CHOICES[name]) for name in CHOICES}))
def test_a_config_that_is_made_makes_a_model(options):
    rank = {"rank": 3} if options["score"] == "reduced_rank" else {}
    for architecture in ("bahdanau", "luong"):
        try:
            config = ModelConfig(architecture, d_embed=5, **options, **rank)
        except ValueError:
            continue
        with torch.device("meta"):
            build_model(config, TARGET_VOCAB, TARGET_VOCAB)


# One value beside the default for each option, and a model that has no use for it.
IDLE = [
    ("transformer", {"d_embed": 7}),
    ("transformer", {"d_encoder": 7}),
    ("transformer", {"cell": "lstm"}),
    ("transformer", {"bidirectional": False}),
    ("fixed", {"attention_dropout": 0.1}),
    ("fixed", {"attention": "coverage"}),
    ("transformer", {"attention": "local-p"}),
    ("bahdanau", {"window": 3}),
    ("fixed", {"score": "dot"}),
    ("transformer", {"score": "scaled_dot"}),
    ("luong", {"d_attn": 7}),
    ("luong", {"attention": "local-m", "score": "concat", "d_attn": 7}),
    ("bahdanau", {"rank": 3}),
    ("luong", {"max_source": 9}),
    ("bahdanau", {"input_feeding": False}),
    ("transformer", {"readout": "tanh"}),
    ("transformer", {"d_readout": 7}),
    ("bahdanau", {"feed_summary": False}),
    ("luong", {"heads": 2}),
    ("luong", {"d_feedforward": 7}),
    ("luong", {"norm": "post"}),
    ("luong", {"positions": "learned"}),
    ("transformer", {"max_len": 7}),
    ("fixed", {"copy": True}),
    ("transformer", {"copy": True}),
]


@pytest.mark.parametrize(("architecture", "options"), IDLE)
def test_an_option_without_effect_is_refused(architecture, options):
    name = list(options)[-1]
    with pytest.raises(ValueError, match=rf"^{name}={options[name]!r} has no effect with "):
        ModelConfig(architecture, **options)


def test_every_option_has_an_effect_or_is_refused():
    """What is listed nowhere above must reach each architecture: sizes, layers, dropout, ties."""
    everywhere = {"architecture", "d_hidden", "layers", "dropout", "tie"}
    assert everywhere | {list(options)[-1] for _, options in IDLE} == set(ModelConfig.names())
    for architecture in ("bahdanau", "luong", "fixed", "transformer"):
        plain = ModelConfig(architecture, d_hidden=12)
        shown = str(build(plain))
        for change in ({"d_hidden": 16}, {"layers": 2}, {"dropout": 0.5}):
            assert str(build(replace(plain, **change))) != shown
