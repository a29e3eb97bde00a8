"""Averaged weights: of the best validations, preferred only where they are as good."""

import json
from dataclasses import replace

import pytest
import torch

from seqattn.evaluation import evaluate
from seqattn.training import (
    CheckpointError,
    RunFolder,
    read_checkpoint,
    resumed_run,
    write_checkpoint,
)
from seqattn.training.checkpoints import average_weights
from seqattn.translator import Translator
from tests.training.test_trainer import prepare, record

# The models have tests of their shapes; those of whole runs are spared the time of the checks.
pytestmark = pytest.mark.usefixtures("unchecked")


def test_the_average_is_the_mean_of_each_weight(tmp_path):
    for i, value in enumerate((1.0, 2.0, 6.0)):
        tensors = {"model.w": torch.full((2, 3), value), "model.n": torch.tensor([i])}
        write_checkpoint(tmp_path / f"{i}", tensors, {})
    found = average_weights(tmp_path / f"{i}" for i in range(3))
    assert torch.equal(found["w"], torch.full((2, 3), 3.0))
    assert (found["n"].item(), found["n"].dtype) == (1, torch.int64)
    with pytest.raises(ValueError, match="expected at least one"):
        average_weights([])
    write_checkpoint(tmp_path / "other", {"model.v": torch.ones(1)}, {})
    with pytest.raises(ValueError, match="expected those of one model"):
        average_weights([tmp_path / "0", tmp_path / "other"])
    with pytest.raises(CheckpointError):
        average_weights([tmp_path / "missing"])


def scores(monkeypatch, *found):
    """Let the validations of a run find these BLEU and perplexities, one after the other."""
    found = iter(found)

    def scored(translator, pairs, **options):
        bleu, perplexity = next(found)
        return replace(evaluate(translator, pairs), bleu=bleu, perplexity=perplexity)

    monkeypatch.setattr("seqattn.training.validation.evaluate", scored)


@pytest.mark.parametrize(
    ("last", "kept"),
    [((30.0, 9.0), True), ((29.9, 7.0), True), ((29.9, 6.9), True), ((29.9, 7.1), False)],
)
def test_the_best_validations_are_averaged(tmp_path, monkeypatch, last, kept):
    # The perplexity to beat is that of the best BLEU, not the lowest.
    scores(monkeypatch, (10.0, 6.0), (30.0, 7.0), (20.0, 8.0), (25.0, 5.0), last)
    trainer = prepare(tmp_path, validate_every=3, average=3)
    trainer.run()
    run = RunFolder(tmp_path / "run")
    assert trainer.state.kept == [[30.0, 6], [25.0, 12], [20.0, 9]]
    assert [path.name for path in run.all_kept()] == [
        f"step-{step:07d}.safetensors" for step in (6, 9, 12)
    ]
    *_, told = run.records()
    assert (told["kind"], told["steps"], told["kept"]) == ("average", [6, 9, 12], kept)
    assert run.average.is_file() == kept
    assert run.checkpoint() == (run.average if kept else run.best)
    if kept:
        mean = average_weights(run.all_kept())
        loaded = read_checkpoint(run.average).weights
        assert all(torch.equal(loaded[name], mean[name]) for name in mean)
        assert Translator.load(run.path).translate(["eins"], beam=1)[0].tokens
    # The run itself stands where it stood.
    own = read_checkpoint(run.last).weights
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(own[name], value)


def test_a_run_that_goes_on_forgets_its_average_and_makes_another(tmp_path):
    config = dict(validate_every=3, average=2, lr=1e-6)
    prepare(tmp_path, **config).run()
    run = RunFolder(tmp_path / "run")
    trainer = resumed_run(run.path, steps=18, quiet=True)
    assert not run.average.exists()
    trainer.run()
    averages = [r for r in run.records() if r["kind"] == "average"]
    assert [r["step"] for r in averages] == [18]
    assert len(run.all_kept()) == 2


def test_a_run_killed_while_it_averages_comes_to_the_same_end(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def kill(*arguments):
        raise Killed

    config = dict(validate_every=3, average=2, lr=1e-6)
    prepare(tmp_path, "whole", **config).run()
    trainer = prepare(tmp_path, "killed", **config)
    monkeypatch.setattr(trainer.checkpointer, "save_average", kill)
    with pytest.raises(Killed):
        trainer.run()
    resumed_run(tmp_path / "killed", quiet=True).run()
    whole, again = record(tmp_path / "whole"), record(tmp_path / "killed")
    assert whole[2:] == again[2:]
    assert all(torch.equal(again[0][name], whole[0][name]) for name in whole[0])
    logs = [RunFolder(tmp_path / name).average.is_file() for name in ("whole", "killed")]
    assert logs[0] == logs[1]


def test_the_log_is_drawn_and_given_to_tensorboard(tmp_path):
    from seqattn.training import plot_curves, write_curves

    pytest.importorskip("tensorboard")
    trainer = prepare(tmp_path, tensorboard=True, average=2, lr=1e-6)
    trainer.run()
    run = trainer.run_folder
    write_curves(run)
    assert (run.path / "curves.png").read_bytes().startswith(b"\x89PNG")
    bleu = plot_curves(run.records()).axes[1]
    valid = [r["bleu"] for r in run.records() if r["kind"] == "valid"]
    assert bleu.lines[0].get_ydata().tolist() == valid
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(run.board))
    board.Reload()
    assert [event.value for event in board.Scalars("valid/bleu")] == pytest.approx(valid)
    assert [event.step for event in board.Scalars("train/loss")] == [2, 4, 6, 8, 10, 12]
    assert set(run.files()) >= {run.best, run.last, run.path / "curves.png"}
    with run.alone():  # another training's files are not deleted
        with pytest.raises(CheckpointError, match=r"another process trains in .*wait for it"):
            run.clear()
        with pytest.raises(CheckpointError, match="another process trains in"):
            prepare(tmp_path, overwrite=True)
        with pytest.raises(CheckpointError, match="another process trains in"):
            trainer.run()
    run.clear()
    assert run.files() == []
    assert not run.holds_run()


@pytest.mark.parametrize("name", ["config.json", "curves.png", "metrics.jsonl"])
def test_files_of_other_origin_are_never_overwritten(tmp_path, name):
    mine = tmp_path / "run" / name
    mine.parent.mkdir()
    mine.write_text('{"model": "mine"}', encoding="utf-8")
    for overwrite in (False, True):
        with pytest.raises(CheckpointError, match=f"{name} is of no run that seqattn began"):
            prepare(tmp_path, overwrite=overwrite)
    assert [*mine.parent.iterdir()] == [mine]


def test_compiled_training_is_the_same_training(tmp_path, monkeypatch):
    # What a compiler makes of the operators is its own affair.
    compiled = []

    class Compiled(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, *arguments, **options):
            return self.model(*arguments, **options)

    def compile_eagerly(model):
        compiled.append(model)
        return Compiled(model)

    plain = prepare(tmp_path, "plain")
    plain.run()
    monkeypatch.setattr(torch, "compile", compile_eagerly)
    trainer = prepare(tmp_path, "compiled", compile=True)
    trainer.run()
    assert compiled == [trainer.model]
    assert json.loads((trainer.run_folder.path / "config.json").read_text())["training"]["compile"]
    for a, b in zip(plain.model.parameters(), trainer.model.parameters(), strict=True):
        assert torch.equal(a, b)
