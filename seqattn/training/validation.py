"""Validations: which weights are kept, and what is told of it."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from seqattn.data.pairs import TextPair
from seqattn.training.board import Board
from seqattn.training.evaluation import Evaluation, evaluate
from seqattn.training.keeping import Keeper
from seqattn.training.position import Position, average_record, valid_line, valid_record
from seqattn.training.processes import Processes
from seqattn.training.progress import Progress
from seqattn.training.runs import RunFolder
from seqattn.translator import Translator

__all__ = ["Log", "Validator"]


class Log:
    """Where a run says how it goes: its log, TensorBoard, and the terminal.

    Parameters
    ----------
    run : RunFolder, or None
        With the log; None for all processes but the first.
    board : Board, or None
        For TensorBoard; None likewise.
    progress : Progress
        On the terminal.
    """

    def __init__(self, run: RunFolder | None, board: Board | None, progress: Progress):
        self.run = run
        self.board = board
        self.progress = progress

    def add(self, record: Mapping[str, Any]) -> None:
        """Write a record."""
        if self.run is not None:
            self.run.log(record)
        if self.board is not None:
            self.board.add(record)

    def close(self) -> None:
        """Write what is left, and take the progress bar away."""
        self.progress.close()
        if self.board is not None:
            self.board.close()


class Validator:
    """Judges the model while it trains, and keeps the weights that are worth it.

    Parameters
    ----------
    translator : Translator
        With the model that is trained.
    pairs : sequence of TextPair
        To validate on.
    keeper : Keeper
        Writes the weights.
    processes : Processes
        The first of them validates, and tells the others what it found.
    average : bool
        Whether to keep weights for an average.
    """

    def __init__(
        self,
        translator: Translator,
        pairs: Sequence[TextPair],
        keeper: Keeper,
        processes: Processes,
        *,
        average: bool,
    ):
        self.translator = translator
        self.pairs = pairs
        self.keeper = keeper
        self.processes = processes
        self.averages = average

    def validate(self, position: Position, began: float, log: Log) -> None:
        """Judge the model, and keep its weights if they are the best or among the best.

        Parameters
        ----------
        position : Position
            Where the training stands; changed to say what was found.
        began : float
            When the run began, on the monotonic clock.
        log : Log
            Where to tell it.
        """
        found = self._evaluate(position, began, log)
        better = found.bleu > position.best
        position.validated = position.step
        position.waited = 0 if better else position.waited + 1
        if better:
            position.best, position.best_step = found.bleu, position.step
            position.perplexity = found.perplexity
        if self.processes.lead:
            if better:
                self.keeper.save_best(position)
            if self.averages:
                self.keeper.keep(position, found.bleu)
        log.add(valid_record(position, found))
        log.progress.line(valid_line(position, found))

    def look(self, position: Position, began: float, log: Log) -> None:
        """Judge the model and tell of it, no more. Parameters as in :meth:`validate`."""
        found = self._evaluate(position, began, log)
        position.looked = position.step
        log.add(valid_record(position, found))
        log.progress.line(valid_line(position, found))

    def average(self, position: Position, began: float, log: Log) -> None:
        """Average the best weights, and prefer the average unless both scores say it is worse.

        BLEU alone would be unfair: the best of many validations owes some of its BLEU to luck, and
        the average, judged once, had no such choice. The perplexity hardly depends on luck.

        The model itself stays as it is. Parameters as in :meth:`validate`.
        """
        if not self.processes.first(lambda: len(position.kept) > 1):
            return
        model = self.translator.model
        last = {name: value.clone() for name, value in model.state_dict().items()}
        if self.processes.lead:
            model.load_state_dict(self.keeper.average(position))
        found = self._evaluate(position, began, log)
        better = found.bleu >= position.best or found.perplexity <= position.perplexity
        if self.processes.lead:
            if better:
                self.keeper.save_average(position, model.state_dict())
            model.load_state_dict(last)
        record = average_record(position, found, kept=better)
        log.add(record)
        steps = ", ".join(str(step) for step in record["steps"])
        log.progress.line(
            f"average of updates {steps}: BLEU {found.bleu:.1f}, perplexity "
            f"{found.perplexity:.2f}, "
            + ("kept" if better else f"not kept: update {position.best_step} has better ones")
        )

    def _evaluate(self, position: Position, began: float, log: Log) -> Evaluation:
        """Judge the model as it stands, and count the time."""
        found, position.seconds = self.processes.first(
            lambda: (
                evaluate(self.translator, self.pairs, details=True),
                time.monotonic() - began,
            )
        )
        log.progress.pause()
        return found
