"""Whole runs: what is resumed equals what never stopped, and nothing good is ever lost."""

import copy
import json
import math
import signal
from pathlib import Path

import pytest
import torch

from seqattn.cli.train_options import _count_batches
from seqattn.data import Batches, Example, encode_pairs
from seqattn.models import ModelConfig, build_model
from seqattn.process import available_cores
from seqattn.specials import EOS
from seqattn.training import (
    CheckpointError,
    DivergedError,
    fit,
    load_model,
    make_optimizer,
    new_run,
    read_checkpoint,
    resumed_run,
    update,
)
from seqattn.training.runtime import fastest_threads
from tests.training.corpus import TINY, corpus, numbers, settings, write_table


def prepare(folder, name="run", model=TINY, overwrite=False, go_on=False, **changes):
    return new_run(
        folder / name,
        corpus(folder),
        model=model,
        training=settings(**changes),
        subwords=0,
        overwrite=overwrite,
        go_on=go_on,
        quiet=True,
    )


def after(trainer, updates, then):
    """Let something happen after so many updates."""
    advance = trainer._advance

    def watched(*update):
        advance(*update)
        if trainer.state.step == updates:
            then()

    trainer._advance = watched


def record(folder):
    """All that a run leaves, but for times."""
    checkpoint = read_checkpoint(folder / "last.safetensors")
    best = read_checkpoint(folder / "best.safetensors")
    header = {**checkpoint.header, "position": {**checkpoint.header["position"], "seconds": 0}}
    log = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        values = json.loads(line)
        log.append({k: v for k, v in values.items() if k not in ("seconds", "tokens_per_second")})
    return checkpoint.tensors, best.tensors, header, log


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert prepare(folder).run().reason == "done"
    return folder, record(folder / "run")


# In the middle of an epoch, at a validation, at the end of an epoch, twice in a row.
@pytest.mark.parametrize("stops", [(3,), (5,), (7,), (1, 2), (4, 11)])
def test_a_resumed_run_equals_one_that_was_never_interrupted(uninterrupted, stops):
    folder, whole = uninterrupted
    name = "-".join(map(str, stops))
    trainer = prepare(folder, name)
    for stop in stops:
        after(trainer, stop, lambda: signal.raise_signal(signal.SIGTERM))
        outcome = trainer.run()
        assert (outcome.reason, outcome.signal) == ("interrupted", signal.SIGTERM)
        assert outcome.state.step == stop
        trainer = resumed_run(folder / name, quiet=True)
        torch.manual_seed(99)  # another process has other random numbers
    assert trainer.run().reason == "done"
    tensors, best, data, log = record(folder / name)
    for found, expected in ((tensors, whole[0]), (best, whole[1])):
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[key], expected[key]) for key in found)
    assert data == whole[2]
    assert log == whole[3]


def test_a_signal_during_the_last_validation_is_heard(uninterrupted, monkeypatch):
    folder, whole = uninterrupted
    trainer = prepare(folder, "late")
    validate, last = trainer.validator.validate, whole[2]["position"]["step"]

    def interrupted(state, log):
        validate(state, log)
        if state.step == last:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(trainer.validator, "validate", interrupted)
    outcome = trainer.run()
    assert (outcome.reason, outcome.state.step) == ("interrupted", last)
    assert resumed_run(folder / "late", quiet=True).run().reason == "done"
    assert record(folder / "late")[2:] == whole[2:]


def test_the_same_trainer_goes_on_as_if_nothing_had_been(uninterrupted):
    folder, whole = uninterrupted
    trainer = prepare(folder, "again")
    after(trainer, 3, lambda: signal.raise_signal(signal.SIGTERM))
    assert trainer.run().reason == "interrupted"
    torch.manual_seed(99)  # somebody draws in between
    assert trainer.run().reason == "done"
    tensors, best, data, log = record(folder / "again")
    assert all(torch.equal(tensors[key], whole[0][key]) for key in whole[0])
    assert all(torch.equal(best[key], whole[1][key]) for key in whole[1])
    assert (data, log) == (whole[2], whole[3])


def test_a_folder_with_a_run_is_not_written_over_unless_asked(tmp_path):
    prepare(tmp_path, average=2).run()
    before = (tmp_path / "run" / "metrics.jsonl").read_text()
    with pytest.raises(CheckpointError, match=r"holds a run already.*overwrite=True"):
        prepare(tmp_path)
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == before
    trainer = prepare(tmp_path, overwrite=True, seed=9)
    assert trainer.run_folder.files() == []
    trainer.run()
    assert not trainer.run_folder.average.exists()


def test_a_notebook_that_was_cut_off_goes_on_and_one_that_changed_begins_anew(uninterrupted):
    folder, whole = uninterrupted
    trainer = prepare(folder, "cut-off", go_on=True)  # nothing to take up yet
    after(trainer, 3, lambda: signal.raise_signal(signal.SIGTERM))
    assert trainer.run().reason == "interrupted"
    again = prepare(folder, "cut-off", overwrite=True, go_on=True)
    assert again.state.step == 3
    assert again.run().reason == "done"
    tensors, best, data, log = record(folder / "cut-off")
    assert all(torch.equal(tensors[key], whole[0][key]) for key in whole[0])
    assert all(torch.equal(best[key], whole[1][key]) for key in whole[1])
    assert (data, log) == (whole[2], whole[3])
    # Once it is done there is nothing left to do; to run the notebook again changes nothing.
    done = prepare(folder, "cut-off", overwrite=True, go_on=True)
    assert done.run().reason == "done"
    assert record(folder / "cut-off")[2:] == whole[2:]
    with pytest.raises(CheckpointError, match=r"other settings or pairs, .*overwrite=True"):
        prepare(folder, "cut-off", go_on=True, lr=0.01)
    assert prepare(folder, "cut-off", overwrite=True, go_on=True, lr=0.01).state.step == 0


def test_a_run_that_was_cut_off_before_its_first_checkpoint_begins_anew(uninterrupted):
    folder, whole = uninterrupted
    prepare(folder, "early", go_on=True)
    (folder / "early").mkdir()
    (folder / "early" / "config.json").write_text('{"model": {}, "training": {}}')
    again = prepare(folder, "early", go_on=True)
    assert again.state.step == 0
    assert again.run().reason == "done"
    assert record(folder / "early")[2:] == whole[2:]
    # Of what is left of a run, weights are not thrown away.
    again.run_folder.last.unlink()
    with pytest.raises(CheckpointError, match="overwrite=True"):
        prepare(folder, "early", go_on=True)
    assert again.run_folder.best.is_file()
    kept = again.run_folder.path / "kept" / "step-0000001.safetensors"
    kept.parent.mkdir(exist_ok=True)
    again.run_folder.best.rename(kept)
    again.run_folder.average.unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="the rest of one"):
        prepare(folder, "early", go_on=True)
    assert kept.is_file()


def test_a_budget_of_nothing_is_refused_in_the_words_of_who_asked(uninterrupted, unchecked):
    folder, _ = uninterrupted
    batches = Batches([Example([5, 6, 2], [7, 8, 2])], tokens=16)
    model = build_model(ModelConfig(d_embed=8, d_hidden=8), 9, 9)
    with pytest.raises(ValueError, match="no budget; expected steps or seconds"):
        fit(model, batches)
    with pytest.raises(ValueError, match="seconds is 0; expected more than 0"):
        fit(model, batches, seconds=0)
    assert fit(model, batches, steps=1, clip=math.inf).steps == 1
    wrong = {"smoothing": 1.0, "clip": 0.0, "guess": "yes", "seed": 1.5, "every": 0}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=f"{name} is {value!r}; expected"):
            fit(model, batches, steps=1, **{name: value})
    with pytest.raises(ValueError, match="steps"):
        resumed_run(folder / "run", steps=0, quiet=True)


def test_vocabularies_of_two_languages_are_not_tied(tmp_path):
    tied = ModelConfig(d_embed=7, d_hidden=11, tie="all")
    with pytest.raises(ValueError, match=r"share one .*--joint.*tie='output'"):
        new_run(tmp_path / "run", corpus(tmp_path), model=tied, training=settings(), subwords=280)
    trainer = new_run(
        tmp_path / "run", corpus(tmp_path), model=tied, training=settings(), subwords=280,
        joint=True, quiet=True,
    )  # fmt: skip
    assert trainer.model.encoder.embedding.weight is trainer.model.vocabulary.weight


def test_pairs_longer_than_a_batch_are_left_out_and_told_of(tmp_path, caplog):
    pairs = corpus(tmp_path)
    with Path(pairs.train[0]).open("a", encoding="utf-8") as file:
        file.write("eins " * 99 + "\tone\n" + "zwei\t" + " two" * 64 + "\n")
    trainer = new_run(
        tmp_path / "run", pairs, model=TINY, training=settings(), subwords=0, quiet=True
    )
    assert len(trainer.batches.examples) == 60
    assert "left out 2 of 62 training pairs" in caplog.text
    assert "batch_tokens=64" in caplog.text
    assert "the longest has 100" in caplog.text
    # Whoever asks what a finished run has left counts the same batches.
    assert _count_batches(trainer.checkpointer.header, trainer.config) == len(trainer.batches)


def test_every_update_has_a_learning_rate(tmp_path):
    for schedule in ("cosine", "inverse_square_root"):
        trainer = prepare(tmp_path, schedule, schedule=schedule, warmup=1, log_every=1)
        trainer.run()
        rates = [r["lr"] for r in trainer.run_folder.records() if r["kind"] == "train"]
        assert len(rates) == 12
        assert min(rates) > 0


def test_a_kill_without_warning_costs_the_work_since_the_last_checkpoint_alone(uninterrupted):
    class Killed(BaseException):
        pass

    def kill():
        raise Killed

    folder, whole = uninterrupted
    trainer = prepare(folder, "killed")
    after(trainer, 8, kill)
    with pytest.raises(Killed):
        trainer.run()
    trainer = resumed_run(folder / "killed", quiet=True)
    assert trainer.state.step == 5  # the last validation
    trainer.run()
    tensors, _, data, log = record(folder / "killed")
    assert all(torch.equal(tensors[key], whole[0][key]) for key in tensors)
    assert (data, log) == (whole[2], whole[3])


def test_the_signal_handlers_are_put_back(tmp_path):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    prepare(tmp_path, steps=1).run()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_a_closed_terminal_stops_a_run_but_not_under_nohup(tmp_path):
    def hang_up():
        signal.raise_signal(signal.SIGHUP)

    # These tests may be run under nohup themselves.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        trainer = prepare(tmp_path)
        after(trainer, 2, hang_up)
        outcome = trainer.run()
        assert (outcome.reason, outcome.signal) == ("interrupted", signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        trainer = resumed_run(tmp_path / "run", quiet=True)
        after(trainer, 4, hang_up)
        assert trainer.run().reason == "done"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_gradient_that_is_none_stops_a_short_training(tmp_path, unchecked):
    trainer = prepare(tmp_path)

    def flat_where_it_is_0(weights, batch):
        return (0 * weights).sum().sqrt()  # 0, with an infinite slope

    with pytest.raises(DivergedError, match=r"the gradient's norm is nan at update 1"):
        fit(trainer.model, trainer.batches, steps=2, penalty=flat_where_it_is_0)


def test_nan_stops_the_run_and_keeps_the_last_good_checkpoint(tmp_path):
    trainer = prepare(tmp_path)

    def poison():
        with torch.no_grad():
            trainer.model.decoder.vocabulary.bias[3] = torch.nan

    after(trainer, 7, poison)
    with pytest.raises(DivergedError, match=r"update 8: the loss is nan .* lower learning rate"):
        trainer.run()
    kept = read_checkpoint(tmp_path / "run" / "last.safetensors")
    assert kept.header["position"]["step"] == 5
    assert all(tensor.isfinite().all() for tensor in kept.weights.values())


def test_validation_changes_no_update(tmp_path):
    rare, often = prepare(tmp_path, "rare"), prepare(tmp_path, "often", validate_every=1)
    rare.run()
    often.run()
    for a, b in zip(rare.model.parameters(), often.model.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("stop", [2, 3, 4])
def test_early_looks_are_logged_once_and_choose_nothing(uninterrupted, tmp_path, stop):
    # Saved at every update: also right after a look.
    options = dict(first_look=1, save_minutes=0, patience=2)
    trainer = prepare(tmp_path, **options)

    class Killed(BaseException):
        pass

    def kill():
        raise Killed

    after(trainer, stop, kill)
    with pytest.raises(Killed):
        trainer.run()
    trainer = resumed_run(tmp_path / "run", quiet=True)
    assert trainer.state.step == stop - 1
    assert (trainer.state.waited, trainer.state.best_step) == (0, 0)
    assert trainer.run().reason == "done"
    valid = [r for r in trainer.run_folder.records() if r["kind"] == "valid"]
    # The first epoch has five updates; 5, 10 and 12 are validations.
    assert [r["step"] for r in valid] == [1, 2, 4, 5, 10, 12]
    tensors, best, data, log = record(tmp_path / "run")
    _, (plain, plain_best, plain_data, plain_log) = uninterrupted
    assert all(torch.equal(tensors[key], plain[key]) for key in plain)
    assert all(torch.equal(best[key], plain_best[key]) for key in plain_best)
    assert [r for r in log if r["kind"] != "valid" or r["step"] not in (1, 2, 4)] == plain_log
    assert {**data["position"], "looked": 0} == plain_data["position"]


@pytest.mark.parametrize(("first", "told"), [(4, False), (6, True)])
def test_a_first_look_after_the_first_epoch_is_said_to_be_none(tmp_path, caplog, first, told):
    trainer = prepare(tmp_path, steps=6, first_look=first)
    trainer.run()
    valid = [r["step"] for r in trainer.run_folder.records() if r["kind"] == "valid"]
    assert (valid[0] == 4) is not told
    said = "first_look is 6, and no early look is taken: the first epoch has 6 updates"
    assert (said in caplog.text) is told
    resumed_run(tmp_path / "run", steps=7, quiet=True).run()
    assert caplog.text.count("first_look") == told


def test_what_was_validated_is_not_looked_at_again(tmp_path):
    prepare(tmp_path, steps=4, first_look=1).run()
    trainer = resumed_run(tmp_path / "run", steps=6, quiet=True)
    trainer.run()
    valid = [r["step"] for r in trainer.run_folder.records() if r["kind"] == "valid"]
    assert valid == [1, 2, 4, 5, 6]


def test_a_run_stops_early_when_nothing_gets_better(tmp_path):
    trainer = prepare(tmp_path, steps=50, lr=1e-9, validate_every=1, patience=3)
    outcome = trainer.run()
    assert outcome.reason == "early"
    assert outcome.state.step == outcome.state.best_step + 3


def test_the_best_weights_are_those_of_the_best_validation(tmp_path):
    trainer = prepare(tmp_path, steps=32, validate_every=8, sampling=None)
    state = trainer.run().state
    best = read_checkpoint(tmp_path / "run" / "best.safetensors")
    valid = [r for r in trainer.run_folder.records() if r["kind"] == "valid"]
    assert [r["step"] for r in valid] == [8, 16, 24, 32]
    assert state.best == max(r["bleu"] for r in valid)
    assert best.header["position"]["step"] == state.best_step


def test_a_finished_run_goes_on_with_a_larger_budget(tmp_path):
    prepare(tmp_path).run()
    outcome = resumed_run(tmp_path / "run", steps=15, quiet=True).run()
    assert (outcome.reason, outcome.state.step) == ("done", 15)


def test_other_training_pairs_are_noticed(tmp_path):
    prepare(tmp_path, steps=1).run()
    write_table(tmp_path / "train.tsv", numbers(60, seed=5))
    with pytest.raises(CheckpointError, match="training pairs are not those"):
        resumed_run(tmp_path / "run")


@pytest.mark.parametrize(
    "model",
    [
        ModelConfig("fixed", 7, 12),
        ModelConfig("fixed", 7, 12, feed_summary=False),
        ModelConfig("luong", 7, 12),
        ModelConfig("luong", 7, 12, score="dot", input_feeding=False),
        ModelConfig("bahdanau", 7, 12, cell="lstm", layers=2),
    ],
    ids=lambda model: f"{model.architecture}-{model.cell}-{model.score}-{model.feed_summary}",
)
def test_every_architecture_trains_and_comes_back_from_its_checkpoint(tmp_path, model):
    trainer = prepare(tmp_path, model=model, steps=2, sampling=None)
    trainer.run()
    loaded, _, _ = load_model(tmp_path / "run" / "last.safetensors")
    for a, b in zip(trainer.model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(a, b)
    [valid] = [r for r in trainer.run_folder.records() if r["kind"] == "valid"]
    assert valid["aer"] is None  # no gold links in a file


def test_half_precision_trains(tmp_path):
    trainer = prepare(tmp_path, bf16=True)
    trainer.run()
    assert {p.dtype for p in trainer.model.parameters()} == {torch.float32}


@pytest.mark.slow
def test_a_small_model_learns_the_numbers_by_heart(tmp_path, unchecked):
    model = ModelConfig(d_embed=16, d_hidden=24, dropout=0.0)
    once = dict(steps=160, validate_every=160)
    trainer = prepare(tmp_path, model=model, sampling=None, smoothing=0.0, **once)
    trainer.validator.pairs = numbers(20)  # pairs that it has seen
    assert trainer.run().state.best > 95


def test_an_update_is_adamw_on_clipped_gradients_of_the_mean_loss(tmp_path):
    trainer = prepare(tmp_path, model=ModelConfig(d_embed=7, d_hidden=11, dropout=0.0))
    model, batch = trainer.model, next(trainer.batches.epoch(0))
    before = [p.detach().clone() for p in model.parameters()]
    made = update(model, make_optimizer(model, weight_decay=0.1), batch, lr=0.01, clip=1e9)
    for p, old in zip(model.parameters(), before, strict=True):
        decay = 0.01 * 0.1 * old if p.dim() > 1 else 0.0
        # The first step of Adam goes by the sign alone.
        step = 0.01 * p.grad / (p.grad.abs() + 1e-8)
        torch.testing.assert_close(p.detach(), old - decay - step, rtol=1e-4, atol=1e-6)
    assert made.loss.tokens.item() == batch.tokens
    whole = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    torch.testing.assert_close(made.norm, whole)


def test_fit_repeats_exactly_and_watches(tmp_path):
    losses = []
    for _ in range(2):
        trainer = prepare(tmp_path, f"{len(losses)}")
        batches = Batches(encode_pairs(numbers(60), trainer.translator.vocabularies), tokens=64)
        seen = []
        history = fit(trainer.model, batches, steps=7, watch=seen.append, every=3)
        assert seen == [0, 3, 6]
        assert history.steps == 7
        losses.append(history.losses)
    assert losses[0] == losses[1]


def test_frequencies_are_guessed_where_they_are_asked_for(tmp_path):
    trainer = prepare(tmp_path)
    batches = trainer.batches
    counts = torch.ones(trainer.model.vocabulary.out_features)
    for _, target in batches.examples:
        counts += torch.bincount(torch.tensor(target), minlength=len(counts))
    frequencies = (counts / counts.sum()).log()

    def begin(**options):
        model = copy.deepcopy(trainer.model)
        torch.nn.init.zeros_(model.vocabulary.bias)
        seen = []
        fit(
            model,
            batches,
            steps=1,
            watch=lambda _: seen.append(model.vocabulary.bias.detach().clone()),
            **options,
        )
        return seen[0]

    torch.testing.assert_close(begin(guess=True), frequencies)
    assert not begin().any()
    for guess, expected in ((True, frequencies), (False, torch.zeros_like(frequencies))):
        run = prepare(tmp_path, f"guess {guess}", guess=guess)
        torch.testing.assert_close(run.model.vocabulary.bias.detach(), expected)


def test_fit_feeds_guesses_back_where_it_is_told_to(tmp_path):
    trainer = prepare(tmp_path)
    losses = []
    for share in (1.0, 1.0, 0.0):
        model = copy.deepcopy(trainer.model)
        history = fit(model, trainer.batches, steps=2, teacher_forcing=share)
        losses.append(history.losses)
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]


def test_fit_asks_a_schedule_for_each_update_and_keeps_the_norms(tmp_path):
    trainer, asked = prepare(tmp_path), []

    def schedule(step):
        asked.append(step)
        return 0.0 if step == 3 else 1.0

    scheduled, plain = (
        fit(
            copy.deepcopy(trainer.model), trainer.batches, steps=3, clip=0.1, teacher_forcing=forced
        )
        for forced in (schedule, 1.0)
    )
    assert asked == [1, 2, 3]
    assert scheduled.losses[:2] == plain.losses[:2]
    assert scheduled.losses[2] != plain.losses[2]
    assert len(plain.norms) == 3
    assert min(plain.norms) > 0.1


@pytest.mark.slow
def test_trying_out_threads_changes_nothing_but_the_time(tmp_path):
    trainer = prepare(tmp_path)
    before = torch.get_rng_state(), torch.get_num_threads(), trainer.model.training
    assert 1 <= fastest_threads(trainer.model, trainer.batches) <= available_cores()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (torch.get_num_threads(), trainer.model.training) == before[1:]
    assert all(p.grad is None for p in trainer.model.parameters())


def test_a_validation_returns_memory_that_is_free(monkeypatch, tmp_path):
    returned = []
    monkeypatch.setattr(
        "seqattn.training.trainer.return_free_memory", lambda: returned.append("some")
    )
    prepare(tmp_path, steps=2, validate_every=2).run()
    assert returned == ["some"]


def test_a_new_run_begins_with_the_frequencies_of_its_corpus(tmp_path):
    trainer = prepare(tmp_path)
    bias = trainer.model.vocabulary.bias.exp()
    assert bias.sum().item() == pytest.approx(1.0, abs=1e-5)
    ends = sum(target.count(EOS) for _, target in trainer.batches.examples)
    tokens = sum(len(target) for _, target in trainer.batches.examples)
    assert bias[EOS].item() == pytest.approx((ends + 1) / (tokens + len(bias)), rel=1e-4)


def test_the_random_numbers_of_the_caller_go_on_as_if_nothing_had_been(tmp_path):
    torch.manual_seed(7)
    expected = torch.rand(5)
    torch.manual_seed(7)
    trainer = prepare(tmp_path, steps=2)
    trainer.run()
    fit(trainer.model, trainer.batches, steps=1, seed=3)
    resumed_run(tmp_path / "run", steps=3, quiet=True).run()
    assert torch.equal(torch.rand(5), expected)


def test_fit_depends_on_its_seed_alone():
    found = []
    for before, seed in ((1, 3), (2, 3), (1, 4)):
        model = build_model(TINY, 9, 9)
        for p in model.parameters():
            torch.nn.init.constant_(p, 0.1)
        torch.manual_seed(before)
        batches = Batches([Example([5, 6, 2], [7, 8, 2])] * 9, tokens=16)
        found.append(fit(model, batches, steps=4, seed=seed).losses)
    assert found[0] == found[1] != found[2]
