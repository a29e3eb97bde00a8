"""Checkpoints: one file each, written whole or not at all, and never pickled.

A checkpoint is a safetensors file. Its tensors are weights and what the optimiser remembers; its
header holds all the rest as JSON: the model's configuration, the vocabularies, where the training
stood. Reading one runs no code from it.

This is the file itself; which tensors and values a training puts into it, and when, is decided in
:mod:`seqattn.training.checkpoints`.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqattn.extras import require

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "read_checkpoint",
    "read_header",
    "write_atomically",
    "write_checkpoint",
]

FORMAT = 1


class CheckpointError(OSError):
    """A checkpoint cannot be written, or is none."""


class Checkpoint(NamedTuple):
    """What is in a checkpoint.

    Attributes
    ----------
    tensors : dict of str to Tensor
        On the CPU. Weights begin with ``model.``.
    header : dict
        Plain values by name: ``model`` and ``vocabularies``; of a run also its other settings
        (``training``, ``corpus``, and ``data``, which says how the pairs were read), the
        ``fingerprint`` of the pairs, ``position`` and ``threads``.
    """

    tensors: dict[str, Tensor]
    header: dict[str, Any]

    @property
    def weights(self) -> dict[str, Tensor]:
        """What ``load_state_dict`` takes."""
        return self.named("model.")

    def named(self, start: str) -> dict[str, Tensor]:
        """Give the tensors whose names begin so, by the rest of their names."""
        return {k.removeprefix(start): v for k, v in self.tensors.items() if k.startswith(start)}


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> None:
    """Write a checkpoint beside its place, and put it there in one step.

    Whatever happens meanwhile, a full disk or a loss of power, ``path`` is the old checkpoint or
    the new one.

    Raises
    ------
    CheckpointError
        If it cannot be written.
    """
    safetensors = require("safetensors.torch", "a checkpoint", "nmt")
    metadata = {"format": "pt", "seqattn": json.dumps({"version": FORMAT, **header})}
    # Copies: the format refuses tensors that share their memory, as tied matrices do.
    kept = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    write_atomically(path, safetensors.save(kept, metadata=metadata))


def write_atomically(path: Path, content: bytes) -> None:
    """Give a file its content in one step; on the disk, too, before this returns.

    The grader, which imports no torch, has :func:`~seqattn.grading.grades.write_whole`.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        with suppress(OSError):  # the error that counts is the first
            beside.unlink()
        kept = "; the one that was there is intact" if path.exists() else ""
        raise CheckpointError(f"could not write {path}: {error.strerror or error}{kept}") from error
    if os.name == "posix":  # the new name, too, must outlive a loss of power
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            with suppress(OSError):  # some file systems of networks cannot; the file is written
                os.fsync(folder)
        finally:
            os.close(folder)


def read_checkpoint(path: Path, *, only: str = "") -> Checkpoint:
    """Read a checkpoint.

    Parameters
    ----------
    path : Path
        Where it is.
    only : str
        What the names of the wanted tensors begin with, as in ``"model."``.

    Returns
    -------
    Checkpoint
        ``tensors`` and ``header``.

    Raises
    ------
    CheckpointError
        If there is none, or the file is something else, or written by a later version.
    """
    safetensors = require("safetensors", "a checkpoint", "nmt")
    if not path.is_file():
        raise CheckpointError(f"there is no checkpoint {path}")
    try:
        with safetensors.safe_open(str(path), framework="pt", device="cpu") as file:
            header = json.loads((file.metadata() or {})["seqattn"])
            version = header.pop("version")
            tensors = {name: file.get_tensor(name) for name in file.keys() if name.startswith(only)}  # noqa: SIM118
    except (KeyError, ValueError, safetensors.SafetensorError) as error:
        raise CheckpointError(f"{path} is no checkpoint of seqattn ({error})") from error
    if version > FORMAT:
        raise CheckpointError(f"{path} was written by a later version of seqattn: update it")
    return Checkpoint(tensors, header)


def read_header(path: Path) -> dict[str, Any]:
    """Read the plain values of a checkpoint, and no tensor. Raises as :func:`read_checkpoint`."""
    return read_checkpoint(path, only="no tensor is called so").header
