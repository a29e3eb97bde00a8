"""A training run: updates, validations and checkpoints, until the budget is used up.

A run that was interrupted and taken up again equals one that was not, bit for bit on a CPU, if its
budget is counted in updates or epochs: everything that an update depends on is in the checkpoint.
"""

import json
import logging
import math
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seqattn.context_managers import own_random
from seqattn.data.batches import Batch, Batches, encode_pairs
from seqattn.data.pairs import TextPair
from seqattn.data.vocabulary import Vocabularies
from seqattn.models import ModelConfig
from seqattn.models.seq2seq import StepwiseModel
from seqattn.process import return_free_memory
from seqattn.training.checkpoints import (
    Checkpointer,
    TrainingState,
    random_states,
    restore_optimizer,
    restore_random,
)
from seqattn.training.config import TrainingConfig, check_together
from seqattn.training.graphs import GraphedUpdates
from seqattn.training.losses import attention_penalty
from seqattn.training.run_log import Progress, RunLog
from seqattn.training.runtime import Interrupts, Processes
from seqattn.training.step import DivergedError, Update, make_optimizer, update
from seqattn.training.validation import Validator
from seqattn.translator import Translator
from seqattn.translator.checkpoint import CheckpointError, read_checkpoint, read_header
from seqattn.translator.run_folder import RunFolder

__all__ = ["Outcome", "Trainer", "cut_batches"]

log = logging.getLogger(__name__)


def cut_batches(
    pairs: Sequence[TextPair],
    vocabularies: Vocabularies,
    config: TrainingConfig,
    *,
    copying: bool = False,
    warn: bool = False,
) -> Batches:
    """Cut training pairs into batches, without those that alone are longer than one.

    One such line could take all memory.

    Parameters
    ----------
    pairs : sequence of TextPair
        To train on.
    vocabularies : Vocabularies
        Of source and target.
    config : TrainingConfig
        ``batch_tokens`` and ``seed``.
    copying : bool
        As in :func:`~seqattn.data.batches.encode_pairs`.
    warn : bool
        Whether to log how many pairs are left out.

    Returns
    -------
    Batches
        Of all epochs.

    Raises
    ------
    ValueError
        If every pair is too long.
    """
    examples = encode_pairs(pairs, vocabularies, copying=copying)
    most = config.batch_tokens
    kept = [example for example in examples if max(map(len, example)) <= most]
    if not kept:
        raise ValueError(
            f"each of the {len(examples)} training pairs has more than batch_tokens={most} "
            "tokens on a side; expected a larger batch_tokens"
        )
    if warn and len(kept) < len(examples):
        longest = max(len(side) for example in examples for side in example)
        log.warning(
            "left out %d of %d training pairs with more than batch_tokens=%d tokens on a side; "
            "the longest has %d", len(examples) - len(kept), len(examples), most, longest,
        )  # fmt: skip
    return Batches(kept, tokens=most, seed=config.seed)


class Outcome(NamedTuple):
    """How a run ended.

    Attributes
    ----------
    reason : {"done", "early", "interrupted"}
        The budget is used up; no gain for too long; a signal.
    state : TrainingState
        Where it stands.
    signal : int, or None
        Number of the signal.
    """

    reason: str
    state: TrainingState
    signal: int | None


class Trainer:
    """Trains a model in a run folder.

    The loop is ``_train``; what one update does with a batch is ``update`` of
    ``training/step.py``. (:func:`~seqattn.training.fit` is a loop around the same update, without
    files.)

    Parameters
    ----------
    model : StepwiseModel
        A translator, on the device to train on.
    model_config : ModelConfig
        What it was built from.
    vocabularies : Vocabularies
        Of source and target.
    train, valid : sequence of TextPair
        To learn from, and to choose the best weights by.
    config : TrainingConfig
        How to train.
    run : RunFolder
        Where to keep everything.
    corpus : mapping
        Plain values that say where the pairs come from; kept in the checkpoints.
    data : mapping
        Plain values that say how they were read; kept in the checkpoints.
    processes : Processes, optional
        Those that train together; by default those that were launched together.
    quiet : bool
        Whether to show nothing.

    Raises
    ------
    ValueError
        If there is nothing to train or to validate on, or the model has no use for an option of the
        training.
    """

    def __init__(
        self,
        model: StepwiseModel,
        model_config: ModelConfig,
        vocabularies: Vocabularies,
        train: Sequence[TextPair],
        valid: Sequence[TextPair],
        config: TrainingConfig,
        run: RunFolder,
        *,
        corpus: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        processes: Processes | None = None,
        quiet: bool = False,
    ):
        self.model = model
        self.config = config
        for pairs, purpose in ((train, "train on"), (valid, "validate on")):
            if not pairs:
                raise ValueError(f"no sentence pairs to {purpose}; expected at least one")
        check_together(model_config, config)
        # What is the same for every update.
        self._options: dict[str, Any] = {
            "smoothing": config.smoothing,
            "clip": config.clip,
            "penalty": attention_penalty(config),
            "bf16": config.bf16,
        }
        self.run_folder = run
        # Without `lowercase`: pairs of such a corpus are in lower case already.
        self.translator = Translator(model, vocabularies, bf16=config.bf16)
        self.device = self.translator.device
        self.processes = processes or Processes(self.device)
        self.quiet = quiet or not self.processes.lead
        self.optimizer = make_optimizer(model, weight_decay=config.weight_decay)
        self.batches = cut_batches(
            train, vocabularies, config, copying=model_config.copy, warn=self.processes.lead
        )
        self.state = TrainingState()
        self.settings = {
            "model": asdict(model_config),
            "training": asdict(config),
            "corpus": dict(corpus or {}),
            "data": dict(data or {}),
        }
        self._fingerprint = zlib.crc32(repr(self.batches.examples).encode("ascii"))
        stored = {
            **self.settings,
            "vocabularies": vocabularies.to_dict(),
            "fingerprint": self._fingerprint,
        }
        self.checkpointer = Checkpointer(model, self.optimizer, run, stored, average=config.average)
        self.validator = Validator(
            self.translator, valid, config, self.checkpointer, self.processes, self._elapsed
        )
        self.threads_before: int | None = None  # of the run that is taken up
        self._random: Mapping[str, Tensor] | None = None
        # What an update calls: the model, or what wraps it for several processes or is compiled.
        self._called_model: nn.Module = model
        self._graphed: GraphedUpdates | None = None
        self._prepared = False

    def has_begun(self) -> bool:
        """Tell whether the folder holds a checkpoint of this training: its settings, its pairs."""
        if not self.run_folder.last.is_file():
            return False
        stored = read_header(self.run_folder.last)
        wanted = {**self.settings, "fingerprint": self._fingerprint}
        # As JSON has it, which knows no tuples.
        return all(stored[name] == value for name, value in json.loads(json.dumps(wanted)).items())

    def resume(self) -> None:
        """Take the run up again where its last checkpoint was written.

        Raises
        ------
        CheckpointError
            If there is none, or it is of another model.
        """
        checkpoint = read_checkpoint(self.run_folder.last)
        stored = asdict(ModelConfig.from_stored(checkpoint.header["model"]))
        if stored != self.settings["model"]:
            raise CheckpointError(f"{self.run_folder.last} is a checkpoint of another model")
        if checkpoint.header["fingerprint"] != self._fingerprint:
            raise CheckpointError(
                f"the training pairs are not those that {self.run_folder.last} was trained on: "
                "restore the files, or start a new run"
            )
        self.model.load_state_dict(checkpoint.weights)
        restore_optimizer(self.model, self.optimizer, checkpoint)
        self.state = TrainingState(**checkpoint.header["position"])
        if self.processes.lead:
            self.run_folder.rewind(self.state.step)
            self.checkpointer.forget_average()
        self.threads_before = checkpoint.header["threads"]
        # Graphs would go on with what the optimizer held before.
        self._graphed, self._prepared = None, False
        self._random = checkpoint.tensors

    @own_random()
    def run(self) -> Outcome:
        """Train until the budget is used up, nothing gets better, or a signal comes.

        Returns
        -------
        Outcome
            Why it ended, and where it stands.

        Raises
        ------
        DivergedError
            If the loss is no longer a number; the last good checkpoint is kept.
        CheckpointError
            If a checkpoint cannot be written; the one before is kept. Also if another process
            trains in this folder.
        """
        with self.run_folder.alone() if self.processes.lead else nullcontext():
            return self._run()

    def _run(self) -> Outcome:
        state, rank = self.state, self.processes.rank
        if self.processes.lead:
            self.run_folder.make(self.settings)
        if self._random is None or not restore_random(self._random, self.device, rank):
            torch.manual_seed(self.config.seed + rank)  # each process drops its own features
        self.model.train()
        if not self._prepared:  # else this trainer goes on after an interruption
            self._called_model = self.processes.prepare(self.model)
            if self.config.compile:
                self._called_model = torch.compile(self._called_model)  # type: ignore[assignment]
            elif self._may_be_recorded():
                self._graphed = GraphedUpdates(self.model, self.optimizer, **self._options)
            self._prepared = True
        self._began = time.monotonic() - state.seconds
        self.log = RunLog(
            self.run_folder if self.processes.lead else None,
            Progress(done=self._budget_used(), quiet=self.quiet),
            tensorboard=self.config.tensorboard,
            step=state.step,
        )
        if not state.step:
            self._warn_of_no_look()
        try:
            with Interrupts(patient=self.processes.count > 1) as interrupts:
                outcome = self._train(interrupts)
            if outcome.reason != "interrupted":
                self.validator.average(state, self.log)
            return outcome
        finally:
            self.log.close()

    def _train(self, interrupts: Interrupts) -> Outcome:
        """Update batch by batch; every so often validate, save and report; stop when it is time."""
        state, config, saved = self.state, self.config, self.state.seconds
        # First what the last update calls for (validate, save, stop), then the next update: a run
        # taken up after its last update so comes by here without another.
        for parts in self._upcoming():
            # Ctrl-C and its like are heard between two updates, whichever process they reach.
            signal = self._heard(interrupts)
            stop = self._reason_to_stop(signal)
            validate = self.validator.due(state, stop)
            if validate:
                self.validator.validate(state, self.log)  # keeps the weights if they are good
                return_free_memory()
                signal = self._heard(interrupts)  # it may have come meanwhile
                stop = self._reason_to_stop(signal)
            elif not stop and self.validator.first_look_due(state):
                self.validator.first_look(state, self.log)
            if stop or validate or state.seconds - saved > 60 * config.save_minutes:
                self._save()
                saved = state.seconds
            if stop:
                break
            # Of what is used up before it: above 0 to the last update.
            rate = config.learning_rate(state.step + 1, self._budget_used())
            state.step += 1
            tokens = sum(map(self.batches.count_tokens, parts))
            made = self._update(parts, tokens, rate)
            self._advance(made, tokens, len(parts))  # and end here if the loss is no number
            if state.step % config.log_every == 0:
                self._report(rate, made.norm.item())
        return Outcome(stop, state, signal or None)

    def _update(self, parts: Sequence[Sequence[int]], tokens: int, rate: float) -> Update:
        """Make one update with what is this process's of some batches, all of so many tokens."""
        share = self._share(parts)
        if self._graphed is not None:
            return self._graphed(*share, lr=rate)
        return update(
            self._called_model,
            self.optimizer,
            share,
            tokens=tokens / self.processes.count,
            lr=rate,
            teacher_forcing=self.config.teacher_forcing(self.state.step),
            **self._options,
        )

    def _upcoming(self) -> Iterator[list[list[int]]]:
        """Give the rows of the batches of each update to come, epoch after epoch, without end.

        An update has one batch, or as many parts as ``accumulate`` says, fewer at the end of an
        epoch: a list of rows for each.
        What moves on is ``state.index``, and :meth:`_advance` moves it, once the update is made: a
        checkpoint that is written before that begins with the same batches again.
        """
        state = self.state
        while True:
            plan = self.batches.plan(state.epoch)
            while state.index < len(plan):
                yield plan[state.index : state.index + self.config.accumulate]
            state.epoch += 1
            state.index = 0

    def _may_be_recorded(self) -> bool:
        """Whether each update is one batch on one GPU, and does the same as the one before."""
        single = self.processes.count == 1 and self.config.accumulate == 1
        return self.device.type == "cuda" and single and self.config.sampling is None

    def _warn_of_no_look(self) -> None:
        """Say so where ``first_look`` comes after the first epoch, and so never."""
        first, updates = (
            self.config.first_look,
            -(-len(self.batches) // self.config.accumulate),
        )
        if first is not None and first >= updates and self.processes.lead:
            log.warning(
                "first_look is %d, and no early look is taken: the first epoch has %d updates",
                first,
                updates,
            )

    def _share(self, parts: Sequence[Sequence[int]]) -> list[Batch]:
        """Give what is this process's of the batches of an update."""
        shares = map(self.processes.share, parts)
        return [self.batches.take(share).to(self.device) for share in shares]

    def _heard(self, interrupts: Interrupts) -> int:
        """Give the signal that asked any of the processes to stop, or 0."""
        return max(int(n) for [n] in self.processes.gather([interrupts.received or 0]))

    def _reason_to_stop(self, signal: int) -> str:
        """Give the reason of an :class:`Outcome`, or "" to go on."""
        if signal:
            return "interrupted"
        if self._budget_used() >= 1:
            return "done"
        return "early" if self.config.out_of_patience(self.state.waited) else ""

    def _budget_used(self) -> float:
        """Give the share of the budget that is used up."""
        state = self.state
        epochs = state.epoch + state.index / len(self.batches)
        return self.config.budget_used(state.step, epochs, state.seconds)

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _advance(self, made: Update, tokens: int, batches: int) -> None:
        """Move on in the data and take the update, that of all processes, to the books; or fail.

        What moves is ``state.index``, from which :meth:`_upcoming` takes the next batches.
        """
        state, norm = self.state, made.norm.item()
        told = self.processes.gather([made.loss.total.item(), self._elapsed()])
        loss = sum(total for total, _ in told)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise DivergedError(
                f"update {state.step}: the loss is {loss / tokens} and the norm of its gradient "
                f"{norm}. The last checkpoint, if there is one, is from before; try a lower "
                f"learning rate than {self.config.lr:g} or a longer warm-up than "
                f"{self.config.warmup} updates"
            )
        state.index += batches
        state.seconds = told[0][1]  # one clock for all: budgets hang on it
        state.loss += loss
        state.tokens += tokens
        self.log.progress.advance(self._budget_used(), tokens)

    def _report(self, rate: float, norm: float) -> None:
        """Write a line of the log from the sums since the last one."""
        state, progress = self.state, self.log.progress
        record = {
            "kind": "train",
            "step": state.step,
            "epoch": state.epoch,
            "loss": state.loss / state.tokens,
            "lr": rate,
            "norm": norm,
            "tokens_per_second": round(progress.speed()),
            "seconds": round(state.seconds, 3),
        }
        self.log.add(record)
        state.loss, state.tokens = 0.0, 0
        figures = {
            "loss": f"{record['loss']:.2f}",
            "tokens/s": f"{record['tokens_per_second']:,d}",
        }
        if state.validated:
            figures["BLEU"] = f"{state.best:.1f}"
        progress.tell(figures)

    def _save(self) -> None:
        self._random = random_states(self.device, self.processes.rank)
        states = self.processes.gather_objects(self._random)
        if self.processes.lead:
            self.checkpointer.save(self.state, {k: v for part in states for k, v in part.items()})
