"""The doctor finds nothing wrong with sound models, and each defect at its own point."""

import pytest
import torch
from torch import nn

from seqattn.data import TextPair, Vocabularies
from seqattn.models import ModelConfig, Output, build_model
from seqattn.training.doctor import examine
from seqattn.translator import Translator
from tests.training.corpus import numbers

SIZES = {"d_embed": 7, "d_hidden": 12}
MODELS = {
    "bahdanau": ModelConfig(**SIZES),
    "luong": ModelConfig("luong", **SIZES),
    "local-p": ModelConfig("luong", attention="local-p", window=2, **SIZES),
    "coverage": ModelConfig(attention="coverage", **SIZES),
    "fixed": ModelConfig("fixed", **SIZES),
    "transformer": ModelConfig("transformer", d_hidden=12, layers=2, heads=3, d_feedforward=13),
}
# Of an untrained model, whether its translations end is luck.
LUCK = "translations end, once"


def make(config: ModelConfig, subwords: int = 0, joint: bool = False) -> Translator:
    torch.manual_seed(0)
    pairs = numbers(60)
    vocabularies = Vocabularies.learn(pairs, ("de", "en"), subwords=subwords, joint=joint)
    return Translator(build_model(config, *map(len, vocabularies)), vocabularies)


def wrong(translator: Translator) -> list[str]:
    return [f.point for f in examine(translator) if not f.sound and f.point != LUCK]


@pytest.mark.parametrize("name", MODELS)
def test_a_sound_model_passes(name):
    translator = make(MODELS[name])
    points = [finding.point for finding in examine(translator)]
    assert wrong(translator) == []
    assert ("no attention on padding" in points) == (name != "fixed")
    assert len(points) == (8 if name == "fixed" else 10)


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


@pytest.mark.parametrize(
    ("defect", "points"),
    [
        (forgets_the_mask, ["padding changes no logit", "no attention on padding"]),
        (ignores_the_source, ["another source, other logits"]),
        (reads_the_future, ["no step reads a later word"]),
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
