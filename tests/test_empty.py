"""Nothing to do: no sentences, or sentences without a word, wherever some could be given."""

import pytest
import torch

from seqattn.data import TextPair, Vocabularies
from seqattn.decoding import beam_search, greedy, sample
from seqattn.evaluation import compare, evaluate
from seqattn.models import ModelConfig, build_model
from seqattn.training import RunFolder, Trainer, TrainingConfig
from seqattn.translator import Translator
from tests.training.corpus import TINY, numbers

SEARCHES = {
    "greedy": greedy,
    "beam": lambda *given: beam_search(*given, beam=3, n_best=2),
    "beam with coverage": lambda *given: beam_search(*given, beam=3, coverage_penalty=0.2),
    "sampling": lambda *given: sample(*given, top_k=3, top_p=0.5),
}
MODELS = {
    "bahdanau": ModelConfig(d_embed=5, d_hidden=8),
    "copy": ModelConfig(d_embed=5, d_hidden=8, copy=True),
    "fixed": ModelConfig("fixed", d_embed=5, d_hidden=8),
    "transformer": ModelConfig("transformer", d_hidden=8),
}
BLANK = ["", "  ", "\t", "\u00a0"]


@pytest.fixture(scope="module")
def translator():
    torch.manual_seed(0)
    vocabularies = Vocabularies.learn(numbers(60), ("de", "en"))
    return Translator(build_model(TINY, *map(len, vocabularies)), vocabularies)


@pytest.mark.parametrize("keys", [0, 3])
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", MODELS)
def test_every_search_finds_nothing_in_an_empty_batch(name, search, keys):
    model = build_model(MODELS[name], 9, 9)
    found = SEARCHES[search](model, torch.zeros(0, keys).long(), torch.zeros(0).long())
    assert [len(part) for part in found[:3]] == [0, 0, 0]
    assert found.weights is None


def test_no_sentences_have_no_translations(translator):
    assert translator.translate([]) == translator.translate([], beam=1) == []
    assert translator.n_best([], n=2) == translator.sample([], n=2) == translator.force([]) == []


def test_a_sentence_without_a_word_is_translated_by_nothing(translator):
    for found in (translator.translate(BLANK), translator.translate(BLANK, beam=1)):
        assert [(one.source, one.text, one.score) for one in found] == [(s, "", 0) for s in BLANK]
    assert [len(each) for each in translator.n_best(BLANK, n=2)] == [1] * len(BLANK)
    assert [len(each) for each in translator.sample(BLANK, n=3)] == [1] * len(BLANK)
    among = translator.translate(["eins", *BLANK, "zwei"])
    assert [one.text for one in among[1:-1]] == [""] * len(BLANK)


def test_nothing_to_judge_on_is_said_so(translator):
    with pytest.raises(ValueError, match="no sentence pairs to evaluate on"):
        evaluate(translator, [])
    with pytest.raises(ValueError, match=r"0 pairs .* expected at least two translators, a pair"):
        compare({"a": translator, "b": translator}, [])
    assert evaluate(translator, [TextPair("", ""), *numbers(3)]).sentences == 4


@pytest.mark.parametrize(
    ("train", "valid", "changes", "said"),
    [
        (0, 3, {}, "no sentence pairs to train on; expected at least one"),
        (3, 0, {}, "no sentence pairs to validate on; expected at least one"),
        (3, 3, {"batch_tokens": 1}, "each of the 3 training pairs has more than batch_tokens=1"),
    ],
)
def test_a_training_with_nothing_to_learn_or_to_judge_by_does_not_begin(
    translator, tmp_path, train, valid, changes, said
):
    config = TrainingConfig(steps=1, **changes)
    with pytest.raises(ValueError, match=said):
        Trainer(
            translator.model, TINY, translator.vocabularies, numbers(train), numbers(valid),
            config, RunFolder(tmp_path / "run"),
        )  # fmt: skip
    assert not (tmp_path / "run").exists()
