"""The progress bar: how far, how fast, how long still."""

import sys
import time
from collections.abc import Mapping
from typing import Any

from seqattn.extras import require

__all__ = ["Progress"]

FORMAT = "{desc} {percentage:3.0f}% |{bar}| {elapsed} < {remaining}{postfix}"


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
