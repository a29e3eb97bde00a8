"""A run folder: what was asked for, what was measured, and the checkpoints.

======================  =======================================================================
``config.json``         the settings, to be read by people; the checkpoints have them, too
``metrics.jsonl``       a line of JSON for each report of the training and each validation
``last.safetensors``    the last checkpoint, to be taken up again from
``best.safetensors``    the weights with the best validation BLEU, to be used
``average.safetensors`` the mean of several good ones, to be used instead, if not worse
``kept/``               what that mean was taken of
``test.json``           the scores of the weights to be used on the test pairs, at the end
``curves.png``          the log as a picture
``tensorboard/``        the log for TensorBoard, if asked for
``.lock``               empty; held by the process that trains here
======================  =======================================================================
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from seqattn.context_managers import own_random
from seqattn.data.vocabulary import Vocabularies
from seqattn.locking import locked
from seqattn.models import ModelConfig, build_model
from seqattn.models.seq2seq import StepwiseModel
from seqattn.translator.checkpoint import CheckpointError, read_checkpoint, write_atomically

__all__ = ["SHIPPED", "RunFolder", "find_checkpoint", "load_model"]

# Models that come with the package, by name; tools/ship_model.py makes them.
MODELS = Path(__file__).parents[1] / "data" / "models"
SHIPPED = {name: MODELS / f"{name}-en-fr.safetensors" for name in ("toy", "toy-transformer")}


class RunFolder:
    """Paths of a run, and its log.

    Parameters
    ----------
    path : str or Path
        The folder; made when something is written.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @property
    def last(self) -> Path:
        """The last checkpoint."""
        return self.path / "last.safetensors"

    @property
    def best(self) -> Path:
        """The weights with the best validation BLEU."""
        return self.path / "best.safetensors"

    @property
    def average(self) -> Path:
        """The mean of the weights of several good validations, if not worse than the best."""
        return self.path / "average.safetensors"

    def kept(self, step: int | float) -> Path:
        """Weights of an update that are kept for the average."""
        return self.path / "kept" / f"step-{int(step):07d}.safetensors"

    def all_kept(self) -> list[Path]:
        """All weights that are there for the average."""
        return sorted(self.path.glob("kept/step-*.safetensors"))

    @property
    def board(self) -> Path:
        """The log for TensorBoard."""
        return self.path / "tensorboard"

    @property
    def metrics(self) -> Path:
        """The log."""
        return self.path / "metrics.jsonl"

    def checkpoint(self) -> Path:
        """Give what a user of the run wants: the average, or else the best, or else the last.

        Raises
        ------
        CheckpointError
            If there is none.
        """
        for path in (self.average, self.best, self.last):
            if path.is_file():
                return path
        there = "holds no run" if self.path.is_dir() else "does not exist"
        raise CheckpointError(
            f"{self.path} {there}; expected a folder that `seqattn train` made, with "
            f"best.safetensors or last.safetensors in it, or {' or '.join(SHIPPED)}"
        )

    def make(self, config: Mapping[str, Any]) -> None:
        """Make the folder and write down the settings.

        Raises
        ------
        CheckpointError
            If it cannot be written to.
        """
        self.make_folder(self.path)
        self.write("config.json", config)

    def make_folder(self, path: Path) -> None:
        """Make the folder of the run, or one in it.

        Raises
        ------
        CheckpointError
            If it cannot be made.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"could not make {path}: {error.strerror}") from error

    def files(self) -> list[Path]:
        """List what is there of a run."""
        names = ("config.json", "metrics.jsonl", "test.json", "curves.png")
        paths = [self.path / name for name in names] + [self.last, self.best, self.average]
        written = [*self.all_kept(), *sorted(self.board.glob("events.*"))]
        return [path for path in paths if path.is_file()] + written

    def holds_run(self) -> bool:
        """Tell a run from files that have the names of its files by chance.

        Raises
        ------
        CheckpointError
            If there are such files: a training would write over them.
        """
        found = self.files()
        weights = {self.last, self.best, self.average, *self.all_kept()}
        if not found or weights & {*found} or self._has_settings():
            return bool(found)
        raise CheckpointError(
            f"{found[0]} is of no run that seqattn began, and a training would write over it: name "
            "another folder"
        )

    def _has_settings(self) -> bool:
        try:
            settings = json.loads((self.path / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(settings, dict) and {"model", "training"} <= settings.keys()

    def clear(self) -> None:
        """Delete what is there of a run, and nothing else.

        Raises
        ------
        CheckpointError
            If a process trains here, or the files are of no run.
        """
        if self.holds_run():
            with self.alone():
                for file in self.files():
                    file.unlink()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from training here meanwhile.

        Raises
        ------
        CheckpointError
            If one does already, or the folder cannot be made.
        """
        self.make_folder(self.path)
        busy = (
            f"another process trains in {self.path}: wait for it, stop it, or name another folder"
        )
        with locked(self.path, CheckpointError(busy)):
            yield

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Write plain values to a file of the folder, as JSON.

        Raises
        ------
        CheckpointError
            If it cannot be written.
        """
        write_atomically(self.path / name, (json.dumps(values, indent=2) + "\n").encode("utf-8"))

    def log(self, record: Mapping[str, Any]) -> None:
        """Add a line to the log.

        Raises
        ------
        CheckpointError
            If it cannot be written.
        """
        try:
            with self.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        except OSError as error:
            raise CheckpointError(f"could not write {self.metrics}: {error.strerror}") from error

    def records(self) -> list[dict[str, Any]]:
        """Read the log; what is no record, as a last line that a kill cut off, is left out."""
        if not self.metrics.is_file():
            return []
        records = []
        for line in self.metrics.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(record, dict) and "step" in record:
                records.append(record)
        return records

    def rewind(self, step: int) -> None:
        """Forget what was logged after an update: the run goes on from there."""
        before = [record for record in self.records() if record["step"] <= step]
        kept = [json.dumps(record) for record in before if record.get("kind") != "average"]
        if self.metrics.is_file():
            write_atomically(self.metrics, "".join(line + "\n" for line in kept).encode("utf-8"))


def find_checkpoint(run: str | Path) -> Path:
    """Give a checkpoint itself, or the one that a user of its run wants.

    Parameters
    ----------
    run : str or Path
        A checkpoint, the folder of a run, or "toy" or "toy-transformer", where nothing of that
        name lies at hand: the models that come with the package.

    Raises
    ------
    CheckpointError
        If there is none.
    """
    path = Path(run)
    if path.is_file():
        return path
    if not path.exists() and str(run) in SHIPPED:
        return SHIPPED[str(run)]
    return RunFolder(path).checkpoint()


@own_random()
def load_model(
    path: Path, device: torch.device | str = "cpu"
) -> tuple[StepwiseModel, Vocabularies, dict[str, Any]]:
    """Build the model of a checkpoint, with its weights.

    Parameters
    ----------
    path : Path
        A checkpoint.
    device : device
        Where to put the model.

    Returns
    -------
    model, vocabularies, header
        ``header`` is all that the checkpoint holds beside tensors.

    Raises
    ------
    CheckpointError
        If the file is no checkpoint, or its weights do not fit its configuration.
    """
    checkpoint = read_checkpoint(path, only="model.")
    missing = [name for name in ("model", "vocabularies") if name not in checkpoint.header]
    if missing:
        raise CheckpointError(f"{path} holds no {' and no '.join(missing)}: it is not whole")
    vocabularies = Vocabularies.from_dict(checkpoint.header["vocabularies"])
    try:
        config = ModelConfig.from_stored(checkpoint.header["model"])
        model: StepwiseModel = build_model(
            config, len(vocabularies.source), len(vocabularies.target)
        )
        model.load_state_dict(checkpoint.weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"{path} holds a model that this version of seqattn does not build: {error}"
        ) from error
    return model.to(device), vocabularies, checkpoint.header
