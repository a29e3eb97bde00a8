"""Checkpoints: whole or not at all, and never anything else than data."""

import errno
import os

import pytest
import torch

from seqattn.models import ModelConfig, build_model
from seqattn.training import (
    CheckpointError,
    RunFolder,
    load_model,
    read_checkpoint,
    write_checkpoint,
)
from seqattn.translator.checkpoint import FORMAT, read_header, write_atomically

TENSORS = {"model.w": torch.arange(6.0).view(2, 3), "optimizer.w:step": torch.tensor(3.0)}


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "last.safetensors"
    write_checkpoint(path, TENSORS, {"position": {"step": 3}})
    return path


def only_old_is_there(path):
    checkpoint = read_checkpoint(path)
    return checkpoint.header["position"]["step"] == 3 and os.listdir(path.parent) == [path.name]


def test_what_is_written_is_read(old):
    checkpoint = read_checkpoint(old)
    assert checkpoint.header == {"position": {"step": 3}}
    assert set(checkpoint.tensors) == set(TENSORS)
    assert checkpoint.weights.keys() == {"w"}
    torch.testing.assert_close(checkpoint.weights["w"], TENSORS["model.w"], rtol=0, atol=0)
    assert set(read_checkpoint(old, only="model.").tensors) == {"model.w"}
    assert read_header(old) == checkpoint.header


def test_views_are_written_as_what_they_show(tmp_path):
    w = torch.arange(6.0).view(2, 3)
    write_checkpoint(tmp_path / "x", {"model.a": w.T, "model.b": w[:, 1]}, {})
    weights = read_checkpoint(tmp_path / "x").weights
    assert weights["a"].tolist() == w.T.tolist()
    assert weights["b"].tolist() == [1.0, 4.0]


def test_tied_matrices_are_written_and_stay_tied(tmp_path):
    config = ModelConfig("transformer", d_hidden=8, layers=1, heads=2, tie="all")
    model, again = (build_model(config, 11, 11) for _ in range(2))
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    write_checkpoint(tmp_path / "x", tensors, {})
    again.load_state_dict(read_checkpoint(tmp_path / "x").weights)
    assert again.vocabulary.weight is again.source_embedding.weight
    assert torch.equal(again.vocabulary.weight, model.vocabulary.weight)


def test_a_full_disk_leaves_the_old_checkpoint(old, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left on device; the one that was there is"):
        write_checkpoint(old, TENSORS, {"position": {"step": 4}})
    assert only_old_is_there(old)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_checkpoint(old, monkeypatch, call):
    class Killed(BaseException):
        pass

    def crash(*arguments):
        raise Killed

    monkeypatch.setattr(os, call, crash)
    with pytest.raises(Killed):
        write_checkpoint(old, TENSORS, {"position": {"step": 4}})
    monkeypatch.undo()
    assert read_checkpoint(old).header["position"]["step"] == 3
    write_checkpoint(old, TENSORS, {"position": {"step": 3}})  # over what the crash left
    assert only_old_is_there(old)


def test_a_folder_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="could not write"):
        write_atomically(tmp_path / "file" / "x", b"")
    with pytest.raises(CheckpointError, match="could not make"):
        RunFolder(tmp_path / "file" / "run").make({})


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x00" * 4096, "half"])
def test_other_files_are_named_as_such(old, content):
    content = old.read_bytes()[:-9] if content == "half" else content
    old.write_bytes(content)
    with pytest.raises(CheckpointError, match="is no checkpoint of seqattn"):
        read_checkpoint(old)


def test_safetensors_of_others_are_named_as_such(tmp_path):
    from safetensors.torch import save_file

    save_file({"w": torch.ones(2)}, tmp_path / "x.safetensors")
    with pytest.raises(CheckpointError, match="is no checkpoint of seqattn"):
        read_checkpoint(tmp_path / "x.safetensors")


@pytest.mark.parametrize("missing", ["model", "vocabularies", "both"])
def test_a_checkpoint_that_is_not_whole_is_named_as_such(tmp_path, missing):
    data = {k: {} for k in ("model", "vocabularies") if missing not in (k, "both")}
    write_checkpoint(tmp_path / "x", {}, data)
    name = "model and no vocabularies" if missing == "both" else missing
    with pytest.raises(CheckpointError, match=f"x holds no {name}: it is not whole"):
        load_model(tmp_path / "x")


def test_missing_and_later_checkpoints_are_named_as_such(tmp_path):
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        read_checkpoint(tmp_path / "x")
    write_checkpoint(tmp_path / "x", {}, {"version": FORMAT + 1})
    with pytest.raises(CheckpointError, match="later version"):
        read_checkpoint(tmp_path / "x")


def test_the_log_forgets_what_comes_after_a_step_and_what_was_cut_off(tmp_path):
    run = RunFolder(tmp_path)
    for step in (1, 2, 3):
        run.log({"step": step})
    with run.metrics.open("ab") as file:
        file.write(b'[1, 2]\n{"a": 1}\n\x8e\xff\n{"step": 4, "lo')
    assert [record["step"] for record in run.records()] == [1, 2, 3]
    run.rewind(2)
    assert run.metrics.read_text() == '{"step": 1}\n{"step": 2}\n'


def test_the_best_checkpoint_is_the_one_to_use(tmp_path):
    run = RunFolder(tmp_path)
    with pytest.raises(
        CheckpointError, match="holds no run; expected a folder that `seqattn train"
    ):
        run.checkpoint()
    run.last.touch()
    assert run.checkpoint() == run.last
    run.best.touch()
    assert run.checkpoint() == run.best
    with pytest.raises(CheckpointError, match="does not exist"):
        RunFolder(tmp_path / "other").checkpoint()
