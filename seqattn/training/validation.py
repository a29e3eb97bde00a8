"""Validation: when the model is judged, and which weights are kept."""

from collections.abc import Callable, Sequence
from typing import Any

from seqattn.data.pairs import TextPair
from seqattn.evaluation import Evaluation, evaluate
from seqattn.training.checkpoints import Checkpointer, TrainingState
from seqattn.training.config import TrainingConfig
from seqattn.training.run_log import RunLog
from seqattn.training.runtime import Processes
from seqattn.translator import Translator

__all__ = ["Validator"]

# Updates between two validations at ends of epochs, at least: a small corpus has short epochs.
APART = 100


class Validator:
    """Judges the model while it trains, and keeps the weights that are worth it.

    Parameters
    ----------
    translator : Translator
        With the model that is trained.
    pairs : sequence of TextPair
        To validate on.
    config : TrainingConfig
        How often, and how many validations' weights are averaged.
    checkpointer : Checkpointer
        Writes the weights.
    processes : Processes
        The first of them validates, and tells the others what it found.
    elapsed : callable
        Gives the seconds that the training has taken.
    """

    def __init__(
        self,
        translator: Translator,
        pairs: Sequence[TextPair],
        config: TrainingConfig,
        checkpointer: Checkpointer,
        processes: Processes,
        elapsed: Callable[[], float],
    ):
        self.translator = translator
        self.pairs = pairs
        self.config = config
        self.checkpointer = checkpointer
        self.processes = processes
        self.elapsed = elapsed

    def due(self, state: TrainingState, stop: str) -> bool:
        """Tell whether to validate now: after an epoch or so many updates, and at the end."""
        # Where the reason is "early", this update was validated: nothing else can bring it.
        if stop == "interrupted" or state.validated == state.step:
            return False
        if stop == "done":
            return True
        if self.config.validate_every is not None:
            return state.step % self.config.validate_every == 0
        return state.index == 0 and state.step >= state.validated + APART

    def first_look_due(self, state: TrainingState) -> bool:
        """Tell whether to see how the first epoch begins, after 1, 2, 4, ... times an interval."""
        first = self.config.first_look
        if first is None or state.epoch or state.step in (state.looked, state.validated):
            return False
        times, rest = divmod(state.step, first)
        return rest == 0 and times.bit_count() == 1  # a power of two

    def validate(self, state: TrainingState, log: RunLog) -> None:
        """Judge the model, and keep its weights if they are the best or among the best.

        Parameters
        ----------
        state : TrainingState
            Where the training stands; changed to say what was found.
        log : RunLog
            Where to tell it.
        """
        found = self._evaluate(state, log)
        better = found.bleu > state.best
        state.validated = state.step
        state.waited = 0 if better else state.waited + 1
        if better:
            state.best, state.best_step = found.bleu, state.step
            state.perplexity = found.perplexity
        if self.processes.lead:
            if better:
                self.checkpointer.save_best(state)
            if self.config.average:
                self.checkpointer.keep(state, found.bleu)
        self._tell(state, found, log)

    def first_look(self, state: TrainingState, log: RunLog) -> None:
        """Judge the model and tell of it, no more. Parameters as in :meth:`validate`."""
        found = self._evaluate(state, log)
        state.looked = state.step
        self._tell(state, found, log)

    def average(self, state: TrainingState, log: RunLog) -> None:
        """Average the best weights, and prefer the average unless both scores say it is worse.

        BLEU alone would be unfair: the best of many validations owes some of its BLEU to luck, and
        the average, judged once, had no such choice. The perplexity hardly depends on luck.

        The model itself stays as it is. Parameters as in :meth:`validate`.
        """
        if not self.processes.first(lambda: len(state.kept) > 1):
            return
        model = self.translator.model
        last = {name: value.clone() for name, value in model.state_dict().items()}
        if self.processes.lead:
            model.load_state_dict(self.checkpointer.average(state))
        found = self._evaluate(state, log)
        better = found.bleu >= state.best or found.perplexity <= state.perplexity
        if self.processes.lead:
            if better:
                self.checkpointer.save_average(state, model.state_dict())
            model.load_state_dict(last)
        steps = sorted(int(step) for _, step in state.kept)
        log.add(_record("average", state, found, steps=steps, kept=better))
        log.progress.line(
            f"average of updates {', '.join(map(str, steps))}: BLEU {found.bleu:.1f}, perplexity "
            f"{found.perplexity:.2f}, "
            + ("kept" if better else f"not kept: update {state.best_step} has better ones")
        )

    def _evaluate(self, state: TrainingState, log: RunLog) -> Evaluation:
        """Judge the model as it stands, by greedy search, and count the time."""
        found, state.seconds = self.processes.first(
            lambda: (evaluate(self.translator, self.pairs, details=True), self.elapsed())
        )
        log.progress.pause()
        return found

    @staticmethod
    def _tell(state: TrainingState, found: Evaluation, log: RunLog) -> None:
        log.add(_record("valid", state, found, epoch=state.epoch, seconds=round(state.seconds, 3)))
        minutes, seconds = divmod(int(state.seconds), 60)
        aer = "" if found.aer is None else f"  AER {100 * found.aer:4.1f} %"
        best = "  best so far" if state.best_step == state.step else ""
        log.progress.line(
            f"{minutes:3d}:{seconds:02d}  update {state.step:6d}  BLEU {found.bleu:5.1f}"
            f"  perplexity {found.perplexity:6.2f}{aer}{best}"
        )


def _record(kind: str, state: TrainingState, found: Evaluation, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "step": state.step, **more, **found.to_dict()}
