"""Presets: each is a model that can be built and trained, and a file of the user works alike."""

import json
from dataclasses import asdict, replace

import pytest
import torch

from seqattn.cli.train_options import apply_settings, prepare_run
from seqattn.data import TextPair, Vocabularies
from seqattn.models import ModelConfig, build_model
from seqattn.training import TrainingConfig, new_run
from seqattn.training.presets import default_preset, preset_names, read_config, read_preset
from tests.training.corpus import corpus


def test_there_is_a_preset_for_every_model():
    wanted = {"toy", "toy-transformer", "fixed", "bahdanau", "bahdanau-tied", "luong"}
    wanted |= {"luong-parallel", "coverage", "local-p", "pointer"}
    wanted |= {"transformer-tiny", "transformer-small"}
    assert wanted == set(preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_builds_a_model_that_scores(name):
    preset = read_preset(name)
    with torch.device("meta"):  # shapes alone
        model = build_model(preset.model, preset.subwords or 9, preset.subwords or 9)
    assert 1e5 < sum(p.numel() for p in model.parameters()) < 3e7
    assert preset.training.budget_used(10**9, 10**9, 1e9) >= 1


def test_the_fixed_vector_differs_from_the_toy_model_in_attention_alone():
    fixed, toy = read_preset("fixed"), read_preset("toy")
    assert fixed.model == replace(toy.model, architecture="fixed")
    assert fixed.training == replace(toy.training, doubly_stochastic_penalty=0.0, first_look=None)
    assert (fixed.subwords, fixed.joint, fixed.lowercase) == (0, toy.joint, toy.lowercase)


def test_a_run_is_read_as_its_preset_says(tmp_path):
    preset = replace(read_preset("pointer"), lowercase=True)
    small = replace(preset, model=preset.model.changed(d_embed=8, d_hidden=8))
    run = new_run(tmp_path / "run", corpus(tmp_path), preset=small, quiet=True)
    names = ("subwords", "joint", "min_count", "lowercase")
    assert run.settings["data"] == {name: getattr(preset, name) for name in names}
    assert (preset.joint, run.settings["corpus"]["lowercase"]) == (True, True)


def test_what_a_preset_asks_of_whole_words_does_not_hold_for_subwords(tmp_path):
    preset = read_preset("pointer")
    assert preset.min_count > 1
    pairs, small = corpus(tmp_path), ["d_embed=8", "d_hidden=8"]
    model, training = apply_settings(small, preset.model, preset.training)
    by_name = new_run(
        tmp_path / "api", pairs, preset=preset, model=model, training=training, subwords=300,
        quiet=True,
    )  # fmt: skip
    by_command = prepare_run(
        tmp_path / "cli", pairs, preset, budget={}, changes={}, settings=small, precision=None,
        subwords=300, joint=None, min_count=None, lowercase=None,
        device=torch.device("cpu"), overwrite=False, quiet=True,
    )  # fmt: skip
    assert by_name.settings["data"] == by_command.settings["data"]
    assert by_name.settings["data"]["min_count"] == 1
    with pytest.raises(ValueError, match="min_count=2 has no effect with subwords=300"):
        new_run(tmp_path / "both", pairs, subwords=300, min_count=2, quiet=True)


@pytest.mark.parametrize("name", ["toy", "multi30k", "files"])
def test_every_corpus_has_a_default(name):
    assert default_preset(name).training.epochs


def test_a_file_of_the_user_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        "[data]\nsubwords = 300\njoint = true\nlowercase = true\n"
        '[model]\narchitecture = "luong"\n[training]\nsteps = 5\n'
    )
    preset = read_config(path)
    assert preset.model == ModelConfig(architecture="luong")
    assert preset.training == TrainingConfig(steps=5)
    assert (preset.subwords, preset.joint, preset.lowercase) == (300, True, True)


def test_a_whole_number_may_stand_for_a_float(tmp_path):
    (tmp_path / "mine.json").write_text('{"model": {"dropout": 0, "score": null}}')
    model = read_config(tmp_path / "mine.json").model
    assert (model.dropout, model.score) == (0, None)


def test_the_config_of_a_run_is_a_config(tmp_path):
    model = ModelConfig(d_embed=7, d_hidden=11)
    training = TrainingConfig(steps=1, lr=0.125)
    new_run(
        tmp_path / "run", corpus(tmp_path), model=model, training=training, subwords=300,
        joint=True, quiet=True,
    ).run()  # fmt: skip
    preset = read_config(tmp_path / "run" / "config.json")
    assert (preset.model, preset.training) == (model, training)
    assert (preset.subwords, preset.joint, preset.lowercase) == (300, True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[modell]", "mine.toml: no table 'modell'; expected one of data, model, training"),
        (
            "[model]\nd_hiden = 5",
            r"mine.toml: \[model\] no option 'd_hiden'; did you mean 'd_hidden'",
        ),
        ("[training]\nmodel = 5", r"\[training\] no option 'model'; expected 'steps', "),
        ("[data]\nmodel = 5", r"\[data\] no option 'model'; expected 'subwords', 'joint', "),
        ("[training]\nlr = -1.0", r"mine.toml: \[training\] lr is -1.0; expected a number above 0"),
        ("[data]\nmin_count = 2", r"min_count=2 has no effect with subwords=8000; it is for sub"),
        ('[model]\narchitecture = "foo"', r"\[model\] architecture is 'foo'; expected 'bahdanau'"),
        (
            '[model]\narchitecture = "fixed"\nattention = "coverage"',
            r"mine.toml: \[model\] attention='coverage' has no effect with architecture='fixed'",
        ),
        (
            "[training]\ncoverage_penalty = 0.2",
            r"\[training\] coverage_penalty is called doubly_st",
        ),
        ("model = 5", r"model is 5; expected a table \[model\]"),
        ("[model", "mine.toml is no TOML file: "),
        (
            '[model]\nd_hidden = "abc"',
            r"\[model\] d_hidden is 'abc'; expected a whole number of at least 1",
        ),
        ("[model]\nd_hidden = true", r"\[model\] d_hidden is True; expected a whole number"),
        ("[model]\nd_hidden = 1.5", r"\[model\] d_hidden is 1.5; expected a whole number"),
        ('[model]\ncell = "rnn"', r"\[model\] cell is 'rnn'; expected 'gru' or 'lstm'"),
        (
            "[training]\npatience = []",
            r"\[training\] patience is \[\]; expected a whole number of at least 1, or None",
        ),
        ("[data]\njoint = 1", r"mine.toml: \[data\] joint is 1; expected True or False"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(tmp_path, text, message, unchecked):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_config(tmp_path / "mine.toml")


def test_missing_files_and_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        read_config(tmp_path / "mine.toml")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ValueError, match=r"x\.json is no JSON file"):
        read_config(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"x\.json holds \[1\]; expected tables"):
        read_config(tmp_path / "x.json")
    with pytest.raises(ValueError, match="no preset 'bahdanou'; expected one of bahdanau, "):
        read_preset("bahdanou")


def test_lower_case_reaches_the_pairs_and_the_checkpoint(tmp_path):
    from seqattn.data import CorpusConfig, read_split

    (tmp_path / "x.tsv").write_text("Ein HUND\tA Dog\n")
    config = CorpusConfig("files", "de", "en", train=(str(tmp_path / "x.tsv"),), lowercase=True)
    [pair] = read_split(config, "all")
    assert pair == TextPair("ein hund", "a dog")
    assert CorpusConfig.from_dict(json.loads(json.dumps(asdict(config)))) == config
    assert "hund" in Vocabularies.learn([pair], ("de", "en")).source.words
