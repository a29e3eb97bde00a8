"""The doctor finds nothing wrong with sound models, and each defect at its own point."""

import importlib
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from seqattn import BahdanauAttention, MultiHeadAttention, causal_mask, padding_mask
from seqattn.data import TextPair, Vocabularies
from seqattn.evaluation import examine
from seqattn.models import (
    AttentionDecoder,
    Encoder,
    ModelConfig,
    Output,
    PointerGenerator,
    Seq2SeqAttention,
    build_model,
)
from seqattn.training.presets import preset_names, read_preset
from seqattn.translator import Translator
from tests.training.corpus import numbers

# Of each table a third, save where marked; each test begins at another row: all models and all
# bugs are met. Other tests check the shapes of what the doctor calls hundreds of times.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.sampled(3),
    pytest.mark.usefixtures("unchecked"),
]

SIZES = {"d_embed": 7, "d_hidden": 12}


def two_heads(source: int, target: int, style: str = "luong") -> Seq2SeqAttention:
    encoder = Encoder(source, 7, 6)
    attention = MultiHeadAttention(12, 2)
    return Seq2SeqAttention(encoder, AttentionDecoder(target, 7, 12, 12, attention, style=style))


def pointer(source: int, target: int) -> PointerGenerator:
    attention = BahdanauAttention(12, 12, 5)
    decoder = AttentionDecoder(target + 1, 7, 12, 12, attention, readout="linear")
    return PointerGenerator(Encoder(source, 7, 6), decoder)


MODELS = {
    "bahdanau": ModelConfig(**SIZES),
    "luong": ModelConfig("luong", **SIZES),
    "luong, no input feeding": ModelConfig("luong", input_feeding=False, **SIZES),
    "local-m": ModelConfig("luong", attention="local-m", window=1, **SIZES),
    "local-p": ModelConfig("luong", attention="local-p", window=2, **SIZES),
    "coverage": ModelConfig(attention="coverage", **SIZES),
    "two heads, luong": two_heads,
    "two heads, bahdanau": partial(two_heads, style="bahdanau"),
    "transformer": ModelConfig("transformer", d_hidden=12, layers=2, heads=3, d_feedforward=13),
    "pointer": pointer,
    "fixed": ModelConfig("fixed", **SIZES),
}
SOUND = MODELS | {
    "dot": ModelConfig("luong", score="dot", **SIZES),
    "scaled dot, lstm": ModelConfig(score="scaled_dot", cell="lstm", **SIZES),
    "concat, three layers": ModelConfig(score="concat", layers=3, **SIZES),
    "rank 2": ModelConfig("luong", score="reduced_rank", rank=2, **SIZES),
    "one direction": ModelConfig(bidirectional=False, **SIZES),
    "local-m, bahdanau": ModelConfig(attention="local-m", window=1, **SIZES),
    "local-p, concat": ModelConfig("luong", attention="local-p", score="concat", **SIZES),
    "fixed, first state only": ModelConfig("fixed", feed_summary=False, **SIZES),
    "tied": ModelConfig("luong", tie="output", **SIZES),
    "transformer, post, learned": ModelConfig(
        "transformer", d_hidden=12, heads=2, d_feedforward=13, norm="post", positions="learned",
        max_len=12, tie="output",
    ),
}  # fmt: skip
ATTENDING = [name for name in MODELS if name != "fixed"]
# Of an untrained model, whether its translations end is luck.
LUCK = "translations end, once"


def make(config, subwords: int = 0, joint: bool = False) -> Translator:
    torch.manual_seed(0)
    if config is pointer:  # one vocabulary for both
        subwords, joint = 300, True
    vocabularies = Vocabularies.learn(numbers(60), ("de", "en"), subwords=subwords, joint=joint)
    build = partial(build_model, config) if isinstance(config, ModelConfig) else config
    return Translator(build(*map(len, vocabularies)), vocabularies)


def wrong(translator: Translator) -> list[str]:
    return [f.point for f in examine(translator) if f.sound is False and f.point != LUCK]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_model_passes(name):
    translator = make(SOUND[name])
    points = [finding.point for finding in examine(translator)]
    assert wrong(translator) == []
    fixed = name.startswith("fixed")
    assert ("no attention on padding" in points) == (not fixed)
    assert len(points) == (12 if fixed else 16 if name == "pointer" else 15)


@pytest.mark.parametrize("name", preset_names())
def test_a_sound_model_of_each_preset_passes(name, unchecked):
    preset = read_preset(name)
    tied = preset.model.tie == "all"
    joint = tied or preset.model.copy
    assert wrong(make(preset.model, subwords=300 if tied else 0, joint=joint)) == []


def test_the_trained_model_that_comes_with_the_package_passes(unchecked):
    assert [finding.point for finding in examine(Translator.load("toy")) if not finding.sound] == []


def test_subwords_pass():
    assert wrong(make(MODELS["bahdanau"], subwords=300, joint=True)) == []


def test_looking_changes_nothing():
    translator = make(MODELS["bahdanau"])
    translator.model.train()
    before = {name: value.clone() for name, value in translator.model.state_dict().items()}
    examine(translator)
    assert translator.model.training
    torch.testing.assert_close(translator.model.state_dict(), before, rtol=0, atol=0)


class Broken(nn.Module):
    """A model with one defect in how it is called."""

    def __init__(self, model, defect):
        super().__init__()
        self.model, self.decoder, self.defect = model, model.decoder, defect
        self.begin, self.step = model.begin, model.step

    def forward(self, source, lengths, inputs):
        return self.defect(self.model, source, lengths, inputs)


def forgets_the_mask(model, source, lengths, inputs):
    return model(source, torch.full_like(lengths, source.shape[1]), inputs)


def ignores_the_source(model, source, lengths, inputs):
    logits, _ = model(torch.full_like(source[:, :1], 2), torch.ones_like(lengths), inputs)
    return Output(logits, model(source, lengths, inputs).weights)


def reads_the_future(model, source, lengths, inputs):
    return model(source, lengths, torch.cat([inputs[:, 1:], inputs[:, :1]], 1))


def drops_weights(model, source, lengths, inputs):
    logits, weights = model(source, lengths, inputs)
    return Output(logits, 2 * weights)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("defect", "points"),
    [
        (forgets_the_mask, ["no attention on padding", "hostile pads change no logit"]),
        (
            ignores_the_source,
            [
                "another source, other logits",
                "weights move with the keys",  # the only key is always the same
                "every source word reaches the logits",
                "beam score equals the rescored",  # a search goes other ways
            ],
        ),
        (
            reads_the_future,
            ["no step reads a later word", "beam score equals the rescored"],
        ),
        (drops_weights, ["rows of weights sum to 1"]),
    ],
)
def test_a_defect_is_found_at_its_point(defect, points):
    translator = make(MODELS["bahdanau"])
    translator.model = Broken(translator.model, defect)
    assert wrong(translator) == points


def test_weights_that_are_no_numbers_are_counted():
    translator = make(MODELS["bahdanau"])
    with torch.no_grad():
        translator.model.encoder.embedding.weight[5, :3] = torch.nan
    found = examine(translator)[0]
    assert (found.sound, found.detail) == (False, "3 are not")


def test_a_vocabulary_of_another_model_is_noticed():
    translator = make(MODELS["bahdanau"])
    pairs = [*numbers(60), TextPair("neun", "nine")]
    other = Vocabularies.learn(pairs, ("de", "en"))
    translator.vocabularies = Vocabularies(translator.vocabularies.source, other.target)
    assert "vocabularies fit the model" in [f.point for f in examine(translator) if not f.sound]


# Bugs that published code has shipped, each put into every model that can have it.


def attentions(translator: Translator) -> dict[str, nn.Module]:
    """Those that look at the source while the model writes."""
    model = getattr(translator.model, "model", translator.model)
    if isinstance(model.decoder, nn.ModuleList):
        return {f"{i}": layer.cross_attention for i, layer in enumerate(model.decoder)}
    return {"": model.decoder.attention}


def plant_in_memory(translator, change):
    """Let each attention to the source remember something else."""
    for attention in attentions(translator).values():
        remember = attention.remember
        attention.remember = lambda *args, _do=remember, **named: change(_do(*args, **named))


def dead_scores(memory):
    return memory._replace(keys=torch.zeros_like(memory.keys))


def weights_from_the_query_alone(memory):
    dice = torch.Generator().manual_seed(5)
    noise = torch.randn(1, *memory.keys.shape[1:], generator=dice).to(memory.keys)
    return memory._replace(keys=noise.expand_as(memory.keys))


def two_words_alone(memory):
    return memory._replace(mask=memory.mask & (torch.arange(memory.mask.shape[1]) < 2))


@pytest.mark.parametrize("name", ATTENDING)
@pytest.mark.parametrize(
    ("bug", "point"),
    [
        (dead_scores, "weights move with the keys"),
        (weights_from_the_query_alone, "weights move with the keys"),
        (two_words_alone, "every source word reaches the logits"),
    ],
)
def test_attention_that_does_not_read_the_source_is_found(name, bug, point):
    translator = make(MODELS[name])
    plant_in_memory(translator, bug)
    assert point in wrong(translator)


def make_causal(attention):
    """See no more source words than target words that are written: a mask of the wrong kind."""
    remember, forward, steps = attention.remember, attention.forward, [0]

    def restart(*args, **named):
        steps[0] = 0
        return remember(*args, **named)

    def narrow(query, memory, *args, **named):
        size = memory.mask.shape[1]
        written = 1 if query.dim() == 2 else query.shape[1]
        row = causal_mask(max(size, steps[0] + written))[steps[0] : steps[0] + written, :size]
        steps[0] += written
        mask = memory.mask[:, None] & row
        mask = mask[:, 0] if query.dim() == 2 else mask
        return forward(query, memory._replace(mask=mask), *args, **named)

    attention.remember, attention.forward = restart, narrow


@pytest.mark.parametrize("name", [name for name in ATTENDING if "local" not in name])
def test_a_causal_mask_on_cross_attention_is_found(name):
    translator = make(MODELS[name])
    for attention in attentions(translator).values():
        make_causal(attention)
    assert "every source word reaches the logits" in wrong(translator)


@pytest.mark.parametrize("name", ATTENDING)
def test_attention_that_is_never_used_is_found(name):
    translator = make(MODELS[name])
    for attention in attentions(translator).values():
        attention.register_forward_hook(
            lambda part, args, output: output._replace(context=output.context * 0.0)
        )
    assert "every source word reaches the logits" in wrong(translator)


REPEATED = [
    "batch of one equals batch of many",
    "hostile pads change no logit",
    "no step reads a later word",
    "another source, other logits",
    "weights move with the keys",
    "every source word reaches the logits",
    "beam score equals the rescored",
]


@pytest.mark.parametrize("name", MODELS)
def test_dropout_in_evaluation_is_called_by_its_name_and_nothing_else_is_blamed(name):
    translator = make(MODELS[name])
    for part in translator.model.modules():
        if isinstance(part, nn.Dropout):
            part.forward = lambda x: F.dropout(x, 0.5)
    assert wrong(translator) == ["two evaluations are equal"]
    found = [f for f in examine(translator) if f.sound is None]
    assert [f.point for f in found] == REPEATED
    assert {f.detail for f in found} == {"not judged, because two evaluations differ"}


@pytest.mark.parametrize("name", ATTENDING)
def test_attention_dropout_in_evaluation_is_called_by_its_name(name, monkeypatch):
    for module in ("core", "local", "multihead"):
        monkeypatch.setattr(
            f"seqattn.attention.{module}.dropout", lambda x, p, training: F.dropout(x, 0.5)
        )
    assert wrong(make(MODELS[name])) == ["two evaluations are equal"]


def rows_of(tree):
    return len(tree) if isinstance(tree, torch.Tensor) else rows_of(tree[0])


@pytest.mark.parametrize("name", MODELS)
def test_a_beam_that_never_reorders_its_state_is_found(name, monkeypatch):
    beams = importlib.import_module("seqattn.decoding.beam_search")
    translator, select, last = make(MODELS[name]), beams.select, []
    step = translator.model.step

    def noting(tokens, state, memory):
        result = step(tokens, state, memory)
        last[:] = [result.state]
        return result

    def forgetful(tree, rows):
        moved = select(tree, rows)
        return tree if last and tree is last[0] and rows_of(tree) == rows_of(moved) else moved

    translator.model.step = noting
    monkeypatch.setattr(beams, "select", forgetful)
    assert wrong(translator) == ["beam score equals the rescored"]


@pytest.mark.parametrize("name", [name for name in MODELS if name != "transformer"])
def test_a_bridge_that_mixes_the_batch_is_found(name):
    translator = make(MODELS[name])
    model = getattr(translator.model, "model", translator.model)
    # (directions, batch, d) to (batch, 1, directions · d) by its shape alone.
    model.encoder._join_directions = lambda hidden: hidden.reshape(hidden.shape[1], 1, -1)
    assert "batch of one equals batch of many" in wrong(translator)


def test_positions_counted_along_the_batch_are_found():
    translator = make(MODELS["transformer"])
    table = torch.randn(20, 1, 12)
    translator.model.source_positions.forward = lambda x: x + table[: len(x)].to(x)
    assert "batch of one equals batch of many" in wrong(translator)


@pytest.mark.parametrize("name", ATTENDING)
def test_pads_that_hold_no_numbers_are_found(name, monkeypatch):
    for module in ("core", "multihead"):
        monkeypatch.setattr(f"seqattn.attention.{module}.forget_unseen", lambda x, mask: x)
    assert wrong(make(MODELS[name])) == ["hostile pads change no logit"]


@pytest.mark.parametrize("name", ["luong", "luong, no input feeding"])
def test_a_mask_after_the_softmax_is_found_though_friendly_pads_do_not_show_it(name, monkeypatch):
    def normalise(scores, mask=None):
        weights = scores.softmax(-1)
        if mask is not None:
            weights = weights * (mask if scores.dim() == 2 else mask[:, None])
        return weights / weights.sum(-1, keepdim=True)

    translator = make(MODELS[name])
    attention = translator.model.decoder.attention
    attention.normalize = normalise
    monkeypatch.setattr("seqattn.attention.core.forget_unseen", lambda x, mask: x)
    [found] = [f for f in examine(translator) if f.sound is False and f.point != LUCK]
    assert found.point == "hostile pads change no logit"
    assert "huge" in found.detail


@pytest.mark.parametrize("name", ATTENDING)
def test_a_mask_that_is_read_as_lengths_is_found_by_pads_on_the_left(name):
    def by_length(memory):
        return memory._replace(mask=padding_mask(memory.mask.sum(-1), memory.mask.shape[1]))

    translator = make(MODELS[name])
    plant_in_memory(translator, by_length)
    [found] = [f for f in examine(translator) if f.sound is False and f.point != LUCK]
    assert found.point == "hostile pads change no logit"
    assert "left" in found.detail
    assert "right" not in found.detail


@pytest.mark.parametrize("name", MODELS)
def test_an_error_is_the_finding_of_the_point_that_met_it(name):
    def fails(*args):
        raise RuntimeError("no such state\nand more")

    translator = make(MODELS[name])
    translator.model.step = fails
    found = {f.point: f for f in examine(translator)}
    assert found["two evaluations are equal"].detail == "RuntimeError: no such state"
    assert found["translations end, once"].detail == "RuntimeError: no such state"
    assert found["no attention on padding"].sound if name != "fixed" else True
