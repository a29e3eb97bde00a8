"""Trials of ideas that no preset uses: an encoding that leaves out merges, and reading twice."""

import json
from dataclasses import replace
from random import Random

import pytest
import torch
from torch.nn import functional as F

from benchmarks import finished_runs, trials
from seqattn.data import Subwords, TextPair
from seqattn.data.corpora import read_split
from seqattn.training import RunFolder
from seqattn.training.start import new_run
from tests.training.corpus import TINY, corpus, settings

TEXTS = ["der große Hund", "ein großer Hund , 2,5 m", "die Hunde"] * 9
PAIRS = [TextPair(text, text[::-1]) for text in TEXTS]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.learn(TEXTS, size=290)


@pytest.fixture(scope="module")
def encode(subwords):
    return lambda text, rate, seed=1: trials.DroppedPieces(subwords, rate).encode(
        text, Random(seed)
    )


def test_nothing_left_out_is_the_usual_encoding(subwords, encode):
    for text in [*TEXTS[:3], "  Ünknown,  wörds 🐈 "]:
        assert encode(text, 0.0) == subwords.encode(text)


def test_everything_left_out_is_bytes(subwords, encode):
    assert len(encode("große", 1.0)) == len(" große".encode())


def test_any_pieces_spell_the_text(subwords, encode):
    found = {tuple(encode("die großen Hunde", 0.3, seed)) for seed in range(20)}
    assert len(found) > 10
    assert {subwords.decode(ids) for ids in found} == {"die großen Hunde"}


def test_a_merge_is_left_out_as_often_as_the_rate_says():
    pair = Subwords(["a", "b", "ab"], [("a", "b")])
    encoding, rng = trials.DroppedPieces(pair, 0.3), Random(0)
    apart = sum(len(encoding.merge("ab", rng)) == 2 for _ in range(4000))
    assert apart / 4000 == pytest.approx(0.3, abs=0.03)  # four standard deviations


def test_each_epoch_has_its_own_pieces_and_the_same_ones_again(subwords):
    def batches():
        encoding = trials.DroppedPieces(subwords, 0.3)
        return trials.RereadBatches(PAIRS, encoding, tokens=200, seed=4)

    one, other = batches(), batches()
    epochs = [[batch.source.tolist() for batch in one.epoch(number)] for number in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    # A run that is taken up in the third epoch has not seen the others.
    assert [batch.source.tolist() for batch in other.epoch(2)] == epochs[2]
    assert len(other) == len(epochs[2])
    rows = [row for plan in other.plan(2) for row in plan]
    assert sorted(rows) == list(range(len(PAIRS)))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_what_two_readings_cost_is_what_torch_computes(smoothing):
    torch.manual_seed(0)
    scores = torch.randn(2, 7, 50, dtype=torch.float64, requires_grad=True)
    words = torch.randint(50, (7,))
    cross, apart, slope = trials.judge_two_readings(scores.detach(), words, smoothing)
    wanted = sum(
        F.cross_entropy(one, words, label_smoothing=smoothing, reduction="sum") for one in scores
    )
    one, other = scores.log_softmax(-1)
    divergences = [
        F.kl_div(q, p, log_target=True, reduction="sum") for p, q in ((one, other), (other, one))
    ]
    torch.testing.assert_close(cross, wanted)
    torch.testing.assert_close(apart, sum(divergences) / 2)
    (wanted + trials.AGREEMENT * sum(divergences) / 2).backward()
    torch.testing.assert_close(slope, scores.grad)


def test_readings_that_agree_cost_nothing_more():
    scores = torch.randn(1, 5, 9).expand(2, -1, -1)
    _, apart, slope = trials.judge_two_readings(scores, torch.arange(5))
    assert apart.abs() < 1e-6
    torch.testing.assert_close(slope[0], scores[0].softmax(-1) - F.one_hot(torch.arange(5), 9))


def test_reading_twice_without_dropout_is_an_update_as_usual(tmp_path):
    def weights(twice, folder):
        trainer = new_run(
            folder,
            corpus(tmp_path),
            model=replace(TINY, dropout=0.0),
            training=settings(steps=3, validate_every=2, average=0, sampling=None, smoothing=0.1),
            quiet=True,
        )
        if twice:
            trials.read_twice(trainer)
        assert trainer.run().reason == "done"
        return trainer.model.state_dict()

    usual, twice = (weights(twice, tmp_path / str(twice)) for twice in (False, True))
    for name in usual:
        torch.testing.assert_close(twice[name], usual[name], rtol=1e-3, atol=1e-4)


def prepare(folder, subwords=280):
    trainer = new_run(
        folder / "run",
        corpus(folder),
        model=TINY,
        training=settings(steps=6, validate_every=2, average=2, sampling=None),
        subwords=subwords,
        joint=True,
        quiet=True,
    )
    return trainer, read_split(corpus(folder), "train")


def test_a_trial_trains_keeps_every_validation_and_compares_averages(tmp_path):
    trainer, pairs = prepare(tmp_path)
    usual = trainer.batches.examples
    trials.drop_pieces(trainer, pairs)
    trials.keep_every(trainer)
    assert sum(len(e.target) for e in trainer.batches.examples) > sum(len(e.target) for e in usual)
    assert trainer.run().reason == "done"
    kept = sorted(path.stem for path in (tmp_path / "run" / "every").iterdir())
    assert kept == ["2", "4", "6"]
    averages = trials.compare_averages(trainer)
    assert [one["chosen"] for one in averages] == ["highest BLEU", "lowest perplexity", "last"]
    # Fewer validations than are averaged: each way takes all of them.
    assert {tuple(one["updates"]) for one in averages} == {(2, 4, 6)}
    assert len({one["perplexity"] for one in averages}) == 1


def test_words_have_no_pieces_to_drop(tmp_path):
    trainer, pairs = prepare(tmp_path, subwords=0)
    with pytest.raises(TypeError, match="of words; expected subwords"):
        trials.drop_pieces(trainer, pairs)


@pytest.mark.parametrize(
    ("idea", "told_as"),
    [("pieces", {"dropout of pieces": trials.RATE}), ("rdrop", {"R-Drop": trials.AGREEMENT})],
)
def test_the_command_trains_the_preset_and_says_what_was_tried(
    tmp_path, monkeypatch, idea, told_as
):
    usual = trials.read_preset("transformer-tiny")
    each = replace(usual.training, log_every=1)
    preset = replace(usual, model=replace(TINY, tie="all"), training=each, subwords=280)
    monkeypatch.setattr(trials, "read_preset", lambda name: preset)
    monkeypatch.setattr(trials, "CorpusConfig", lambda *_, **__: corpus(tmp_path))
    folder = tmp_path / "run"
    monkeypatch.setattr("sys.argv", ["trials", idea, str(folder), "--updates", "2"])
    for _ in range(2):  # the second has nothing left to do
        trials.main()
    told = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
    assert told["settings"] == told_as
    assert told["command"].endswith(f"{idea} runs/{idea}-1 --seed 1 --updates 2")
    monkeypatch.setattr(finished_runs, "read_preset", lambda name: preset)
    trial = finished_runs.read_trial(folder)
    assert (trial["updates"], trial["averages"]) == (2, told["averages"])
    assert RunFolder(folder).records()[-1]["kind"] == "valid"
