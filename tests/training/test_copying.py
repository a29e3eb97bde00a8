"""A model that copies, from its settings to its translations: names that it has never met."""

import signal
from random import Random

import pytest
import torch

from seqattn.data import CorpusConfig, TextPair, Vocabularies, encode_pairs
from seqattn.evaluation import compare, evaluate, examine
from seqattn.models import ModelConfig, PointerGenerator, build_model
from seqattn.training import TrainingConfig, new_run, read_preset, resumed_run
from seqattn.translator import Translator
from tests.training.corpus import write_table

VERBS = {"sees": "voit", "hears": "entend", "knows": "connait", "loves": "aime"}
COPYING = ModelConfig(d_embed=16, d_hidden=24, dropout=0.0, readout="linear", copy=True)


def name(rng):
    return "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(3))


def sentences(n, seed):
    """Who does what to whom; nearly every name is a new one."""
    rng = Random(seed)
    drawn = [(name(rng), rng.choice(list(VERBS)), name(rng)) for _ in range(n)]
    return [TextPair(f"{a} {verb} {b}", f"{b} {a} {VERBS[verb]}") for a, verb, b in drawn]


def corpus(folder):
    files = {
        split: (str(write_table(folder / f"{split}.tsv", sentences(n, seed))),)
        for seed, (split, n) in enumerate({"train": 600, "valid": 20, "test": 40}.items())
    }
    return CorpusConfig("files", "en", "fr", **files)


def prepare(folder, name="run", **changes):
    usual = dict(steps=120, batch_tokens=128, lr=0.02, warmup=10, smoothing=0.0)
    return new_run(
        folder / name, corpus(folder), model=COPYING,
        training=TrainingConfig(**{**usual, **changes}),
        subwords=0, joint=True, min_count=4, quiet=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copying")
    prepare(folder).run()
    return folder, Translator.load(folder / "run")


def unknown(translator, text):
    return set(translator.vocabularies.source.unknown(text))


@pytest.mark.slow
def test_names_that_it_has_never_met_are_translated_in_every_search(trained):
    _, translator = trained
    pairs = sentences(30, seed=9)
    assert all(len(unknown(translator, pair.source)) == 2 for pair in pairs)
    sources = [pair.source for pair in pairs]
    for found in (
        translator.translate(sources, beam=1),
        translator.translate(sources, beam=4, coverage_penalty=0.1),
        [drawn[0] for drawn in translator.sample(sources, temperature=0.1)],
    ):
        right = sum(one.text == pair.target for one, pair in zip(found, pairs, strict=True))
        assert right >= 27
        assert not any("<unk>" in one.tokens for one in found)
        # Each token has its row, each source word, met or not, its column under its own name.
        for one, source in zip(found, sources, strict=True):
            assert one.weights.shape == (len(one.tokens), len(one.source_tokens))
            assert one.source_tokens == [*source.split(), "<eos>"]


def test_where_a_name_is_copied_the_row_looks_at_it(trained):
    _, translator = trained
    for one in translator.translate([pair.source for pair in sentences(12, seed=5)]):
        for token, row in zip(one.tokens, one.weights, strict=True):
            if token in unknown(translator, one.source):
                assert one.source_tokens[row.argmax()] == token


def test_known_translations_with_unknown_names_have_probabilities(trained):
    _, translator = trained
    pair = sentences(1, seed=7)[0]
    [known] = translator.force([pair])
    assert known.tokens == [*pair.target.split(), "<eos>"]
    assert -1 < known.score < 0
    # A name that the source does not hold cannot be copied.
    [wrong] = translator.force(
        [pair._replace(target=pair.target.replace(pair.source[:6], "zuzuzu"))]
    )
    assert "<unk>" in wrong.tokens
    assert wrong.score < known.score - 3


def test_it_is_judged_and_examined_like_every_other(trained):
    folder, translator = trained
    test = sentences(25, seed=11)
    found = evaluate(translator, test, beam=2, details=True)
    assert found.exact > 0.8
    assert found.perplexity < 1.5
    assert found.attention.entropy < 1
    points = {finding.point: finding for finding in examine(translator)}
    assert all(finding.sound for finding in points.values())
    assert "unknown words can be copied" in points
    both = compare({"a": translator, "b": Translator.load(folder / "run")}, test, samples=20)
    assert both.systems[1].bleu_p == 1


def test_a_doctor_sees_a_model_whose_gate_never_opens_the_source():
    pairs = sentences(50, 0)
    vocabularies = Vocabularies.learn(pairs, ("en", "fr"), joint=True, min_count=4)
    model = build_model(COPYING, *map(len, vocabularies))
    assert "unknown words can be copied" not in bad(Translator(model, vocabularies))
    with torch.no_grad():
        model.vocabulary.weight[-1] = 0.0
        model.vocabulary.bias[-1] = 200.0
    assert "unknown words can be copied" in bad(Translator(model, vocabularies))


def bad(translator):
    return {finding.point for finding in examine(translator) if not finding.sound}


def test_a_run_that_was_interrupted_goes_on_as_if_nothing_had_been(tmp_path):
    prepare(tmp_path, "whole", steps=8).run()
    trainer = prepare(tmp_path, "parts", steps=8)
    advance = trainer._advance

    def stop_after_three(*update):
        advance(*update)
        if trainer.state.step == 3:
            signal.raise_signal(signal.SIGTERM)

    trainer._advance = stop_after_three
    assert trainer.run().reason == "interrupted"
    assert resumed_run(tmp_path / "parts", quiet=True).run().reason == "done"
    whole, parts = (Translator.load(tmp_path / run).model for run in ("whole", "parts"))
    assert isinstance(parts, PointerGenerator)
    torch.testing.assert_close(parts.state_dict(), whole.state_dict(), rtol=0, atol=0)


def test_the_first_guess_leaves_the_gate_alone(tmp_path):
    trainer = prepare(tmp_path)
    bias = trainer.model.vocabulary.bias.detach()
    size = len(trainer.translator.vocabularies.target)
    assert len(bias) == size + 1
    assert bias[:-1].exp().sum().item() == pytest.approx(1)
    assert bias[-1].abs() < 1
    # Names are copied: they count for no word.
    assert max(max(target) for _, target in trainer.batches.examples) >= size


def test_unknown_words_have_ids_of_their_own_on_both_sides():
    vocabularies = Vocabularies.learn(
        [TextPair("a sees b", "b voit a")] * 2, ("en", "fr"), joint=True, min_count=2
    )
    [example] = encode_pairs([TextPair("x sees y x", "y voit x z")], vocabularies, copying=True)
    size = len(vocabularies.source)
    known = [vocabularies.source.encode(word)[0] for word in ("sees", "voit")]
    assert example.source == [size, known[0], size + 1, size, 2]
    assert example.target == [size + 1, known[1], size, 3, 2]
    assert vocabularies.target.decode(example.target, ["x", "y"]) == "y voit x <unk>"


@pytest.mark.parametrize("tie", ["none", "output"])
@pytest.mark.parametrize("architecture", ["bahdanau", "luong"])
@pytest.mark.parametrize("attention", ["global", "local-p", "coverage"])
def test_copying_goes_with_every_recurrent_attention(architecture, attention, tie):
    config = ModelConfig(
        architecture, d_embed=8, d_hidden=12, attention=attention, tie=tie, copy=True
    )
    model = build_model(config, 9, 9)
    source, lengths = torch.tensor([[4, 10, 9, 2]]), torch.tensor([4])
    logits, _ = model(source, lengths, torch.tensor([[1, 10, 5]]))
    torch.testing.assert_close(logits.exp().sum(-1), torch.ones(1, 3))


def test_in_half_precision_it_searches_and_learns(tmp_path):
    trainer = prepare(tmp_path, steps=3, bf16=True)
    trainer.run()
    found = Translator.load(tmp_path / "run", bf16=True).translate(["bababa sees dodo"], beam=3)
    assert found[0].weights.isfinite().all()


def test_what_cannot_copy_is_refused_before_training(tmp_path):
    settings = TrainingConfig(steps=1, smoothing=0.0)
    with pytest.raises(ValueError, match=r"copy=True writes words of the source.*--joint"):
        new_run(tmp_path / "x", corpus(tmp_path), model=COPYING, training=settings, subwords=0)
    with pytest.raises(ValueError, match=r"smoothing is 0.1, and the model has copy=True"):
        prepare(tmp_path, smoothing=0.1)
    with pytest.raises(ValueError, match=r"copy=True needs one vocabulary; the source has 9 "):
        build_model(COPYING, 9, 8)
    with pytest.raises(ValueError, match="tie is 'all'; copy=True expects 'none' or 'output'"):
        ModelConfig(copy=True, tie="all")
    vocabularies = Vocabularies.learn(sentences(9, 0), ("en", "fr"))
    with pytest.raises(ValueError, match="source and target have vocabularies of their own"):
        Translator(build_model(COPYING, 9, 9), vocabularies)


def test_the_preset_copies():
    preset = read_preset("pointer")
    assert preset.model.copy
    assert preset.joint
    assert (preset.subwords, preset.min_count > 1, preset.training.smoothing) == (0, True, 0)
