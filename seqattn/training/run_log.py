"""The run log: lines of JSON, TensorBoard, the terminal, and a picture of its curves."""

import importlib.util
import sys
import time
from collections.abc import Mapping
from typing import Any

from seqattn.extras import require
from seqattn.plots.run_curves import plot_curves
from seqattn.plots.style import to_png
from seqattn.translator.checkpoint import write_atomically
from seqattn.translator.run_folder import RunFolder

__all__ = ["Progress", "RunLog", "write_curves"]

# Figures worth a curve, by the kind of the record.
CURVES = {
    "train": ("loss", "lr", "norm", "tokens_per_second"),
    "valid": ("bleu", "chrf", "exact", "perplexity", "aer"),
    "average": ("bleu",),
}
# Of the progress bar.
FORMAT = "{desc} {percentage:3.0f}% |{bar}| {elapsed} < {remaining}{postfix}"


class RunLog:
    """Where a run says how it goes: its log, TensorBoard, and the terminal.

    TensorBoard finds it by ``tensorboard --logdir runs``.

    Parameters
    ----------
    run : RunFolder, or None
        Where to; None for all processes but the first, which have the terminal alone.
    progress : Progress
        On the terminal.
    tensorboard : bool
        Whether to write for TensorBoard as well.
    step : int
        Where the run stands: what an interrupted run wrote after it, TensorBoard leaves out.

    Raises
    ------
    ImportError
        If TensorBoard is wanted and not installed.
    """

    def __init__(
        self, run: RunFolder | None, progress: "Progress", *, tensorboard: bool, step: int = 0
    ):
        self.run = run
        self.progress = progress
        self._board: Any = None
        if run is not None and tensorboard:
            require("tensorboard", "--tensorboard", "tensorboard")
            writer = require("torch.utils.tensorboard", "--tensorboard", "tensorboard")
            self._board = writer.SummaryWriter(str(run.board), purge_step=step + 1)

    def add(self, record: Mapping[str, Any]) -> None:
        """Write a record: a line of JSON, and a point on each of its curves."""
        if self.run is not None:
            self.run.log(record)
        if self._board is None:
            return
        for name in CURVES[record["kind"]]:
            if record.get(name) is not None:
                self._board.add_scalar(f"{record['kind']}/{name}", record[name], record["step"])

    def close(self) -> None:
        """Write what is left, and take the progress bar away."""
        self.progress.close()
        if self._board is not None:
            self._board.close()


class Progress:
    """A bar on a terminal; without a terminal, only the lines that are worth keeping.

    Parameters
    ----------
    done : float
        Share of the budget that is used up already.
    quiet : bool
        Whether to show nothing at all.
    """

    def __init__(self, *, done: float = 0.0, quiet: bool = False):
        self.quiet = quiet
        self._done = done
        self._tokens = 0
        self._since = time.monotonic()
        self._bar: Any = None
        if not quiet and sys.stderr.isatty():
            tqdm = require("tqdm", "the progress bar", "nmt").tqdm
            self._bar = tqdm(
                total=1.0, initial=min(done, 1.0), desc="training", bar_format=FORMAT, leave=False
            )

    def advance(self, done: float, tokens: int) -> None:
        """Move on, by an update of so many target tokens."""
        self._tokens += tokens
        if self._bar is not None:
            self._bar.update(min(done, 1.0) - self._done)
        self._done = min(done, 1.0)

    def tell(self, figures: Mapping[str, str]) -> None:
        """Show figures behind the bar."""
        if self._bar is not None:
            self._bar.set_postfix(figures, refresh=False)

    def speed(self) -> float:
        """Give the target tokens per second since this was last asked."""
        now = time.monotonic()
        rate = self._tokens / max(now - self._since, 1e-9)
        self._tokens, self._since = 0, now
        return rate

    def pause(self) -> None:
        """Forget the time since the last update: it went into something else."""
        self._tokens, self._since = 0, time.monotonic()

    def line(self, text: str) -> None:
        """Print a line that stays, above the bar."""
        if self.quiet:
            return
        if self._bar is not None:
            self._bar.write(text)
        else:
            print(text, flush=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def write_curves(run: RunFolder) -> None:
    """Draw the log of a run into ``curves.png``, where matplotlib is there to draw."""
    if importlib.util.find_spec("matplotlib") is not None:
        write_atomically(run.path / "curves.png", to_png(plot_curves(run.records())))
