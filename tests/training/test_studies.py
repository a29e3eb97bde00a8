"""Several trainings at one budget: each its own process, each repeatable, none repeated in vain."""

import json
import os
import time
from dataclasses import replace

import pytest

from seqattn.data import read_split
from seqattn.evaluation import evaluate
from seqattn.models import ModelConfig
from seqattn.training import RunFolder, new_run, run_trials, studies
from seqattn.translator import Translator
from seqattn.translator.checkpoint import read_checkpoint
from tests.training.corpus import TINY, corpus, numbers, settings, write_table

MODELS = {"attention": TINY, "fixed": ModelConfig("fixed", d_embed=7, d_hidden=11)}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Train two models from two seeds each."""
    folder = tmp_path_factory.mktemp("study")
    pairs = corpus(folder)
    return folder, pairs, run_trials(MODELS, folder / "runs", pairs, settings(), seeds=(3, 5))


@pytest.mark.slow
def test_every_model_is_trained_from_every_seed_in_order(study):
    _, _, trials = study
    assert [(t.name, t.seed) for t in trials] == [
        ("attention", 3),
        ("attention", 5),
        ("fixed", 3),
        ("fixed", 5),
    ]
    for trial in trials:
        row = trial.row()
        assert row["model"] == trial.name
        assert trial.seconds > 0
        assert trial.memory is None or trial.memory >= 0
        assert row["bleu"] == json.loads((trial.folder / "valid.json").read_text())["bleu"]
        model = Translator.load(trial.folder).model
        assert row["parameters"] == sum(p.numel() for p in model.parameters())
        assert (row["entropy"] is None) == (trial.name == "fixed")
        assert Translator.load(trial.folder).has_attention == (trial.name == "attention")


@pytest.mark.slow
def test_a_trial_is_the_training_of_its_seed(study, tmp_path):
    _, pairs, trials = study
    training = replace(settings(), seed=5)
    new_run(tmp_path / "alone", pairs, model=TINY, training=training, subwords=0, quiet=True).run()
    alone = read_checkpoint(RunFolder(tmp_path / "alone").last, only="model.").weights
    among = read_checkpoint(RunFolder(trials[1].folder).last, only="model.").weights
    assert all((alone[name] - among[name]).abs().max() < 1e-5 for name in alone)


@pytest.mark.slow
def test_what_is_there_is_not_trained_again_unless_its_settings_changed(study):
    folder, pairs, trials = study
    before = [(t.folder / "cost.json").stat().st_mtime_ns for t in trials]
    again = run_trials(MODELS, folder / "runs", pairs, settings(), seeds=(3, 5))
    assert again == trials
    assert [(t.folder / "cost.json").stat().st_mtime_ns for t in again] == before
    seeded = replace(settings(), seed=3)
    job = studies._Job(trials[0].folder, pairs, TINY, seeded, 0, False, 1, "cpu", 1, "valid")
    assert studies._is_trained(job)
    assert not studies._is_trained(job._replace(subwords=300))
    assert not studies._is_trained(job._replace(subwords=300, joint=True))
    # Other pairs in a file of the same name are another corpus.
    table = folder / "test.tsv"
    text = table.read_text(encoding="utf-8")
    job = job._replace(pairs=studies._fingerprint(pairs))
    assert studies._is_trained(job)
    write_table(table, numbers(11, seed=9))
    assert not studies._is_trained(job._replace(pairs=studies._fingerprint(pairs)))
    table.write_text(text, encoding="utf-8")
    # What an earlier version wrote under other names counts as well.
    config = trials[0].folder / "config.json"
    stored = json.loads(config.read_text())
    del stored["data"]["min_count"]
    stored["training"]["coverage_penalty"] = stored["training"].pop("doubly_stochastic_penalty")
    config.write_text(json.dumps(stored))
    assert studies._is_trained(job)
    fixed = {"fixed": MODELS["fixed"]}
    [other] = run_trials(fixed, folder / "runs", pairs, settings(lr=0.01), seeds=[3])
    assert (other.folder / "cost.json").stat().st_mtime_ns != before[2]


@pytest.mark.slow
def test_studies_read_the_validation_pairs_and_the_test_pairs_when_told_to(study):
    folder, pairs, _ = study
    judged = {
        split: run_trials(MODELS, folder / "runs", pairs, settings(), seeds=(3, 5), split=split)
        for split in ("valid", "test")
    }
    for split, trials in judged.items():
        for trial in trials:
            alone = evaluate(Translator.load(trial.folder), read_split(pairs, split))
            assert trial.scores["perplexity"] == pytest.approx(alone.perplexity, rel=1e-4)
    assert [t.seconds for t in judged["valid"]] == [t.seconds for t in judged["test"]]
    with pytest.raises(ValueError, match="split is 'train'; expected 'valid' or 'test'"):
        run_trials(MODELS, folder / "runs", pairs, settings(), split="train")


@pytest.mark.slow
def test_a_training_that_fails_is_named(tmp_path):
    wrong = {"tied": ModelConfig("transformer", d_hidden=10, heads=5, tie="all")}
    with pytest.raises(RuntimeError, match=r"tied-1 ended with an error: ValueError: tie='all'"):
        run_trials(wrong, tmp_path, corpus(tmp_path), settings(), seeds=[1])


@pytest.mark.slow
def test_no_training_that_ends_well_counts_as_failed():
    # Two threads that started and awaited processes took one in a hundred for failed.
    moments = [0.002 * (i % 7) for i in range(300)]
    assert studies._side_by_side(time.sleep, moments, at_once=4) == [None] * len(moments)


@pytest.mark.slow
def test_a_training_that_is_killed_is_told_from_one_that_ends_well():
    found = studies._side_by_side(os._exit, [0, 3], at_once=2)
    assert found == [f"its process ended with exit code {code}" for code in (0, 3)]
