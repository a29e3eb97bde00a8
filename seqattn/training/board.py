"""The log for TensorBoard, beside the lines of JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqattn.extras import require

__all__ = ["Board"]

# Figures worth a curve, by the kind of the record.
CURVES = {
    "train": ("loss", "lr", "norm", "tokens_per_second"),
    "valid": ("bleu", "chrf", "exact", "perplexity", "aer"),
    "average": ("bleu",),
}


class Board:
    """Writes the log where TensorBoard finds it: ``tensorboard --logdir runs``.

    Parameters
    ----------
    folder : Path
        Where to.
    wanted : bool
        Whether to write at all.
    step : int
        Where the run stands: what an interrupted run wrote after it, TensorBoard leaves out.

    Raises
    ------
    ImportError
        If TensorBoard is wanted and not installed.
    """

    def __init__(self, folder: Path, *, wanted: bool, step: int = 0):
        self._writer: Any = None
        if wanted:
            require("tensorboard", "--tensorboard", "tensorboard")
            writer = require("torch.utils.tensorboard", "--tensorboard", "tensorboard")
            self._writer = writer.SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a record of the log: a point on each of its curves."""
        if self._writer is None:
            return
        for name in CURVES[record["kind"]]:
            if record.get(name) is not None:
                self._writer.add_scalar(f"{record['kind']}/{name}", record[name], record["step"])

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()
