"""A training run: updates, validations and checkpoints, until the budget is used up.

A run that was interrupted and taken up again equals one that was not, bit for bit on a CPU, if its
budget is counted in updates or epochs: everything that an update depends on is in the checkpoint.
"""

import logging
import math
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from seqattn.data.batches import Batches, Example, encode_pairs
from seqattn.data.pairs import TextPair
from seqattn.data.vocabulary import Vocabularies
from seqattn.models import ModelConfig
from seqattn.training.board import Board
from seqattn.training.checkpoints import (
    CheckpointError,
    own_random,
    random_states,
    read_checkpoint,
    restore_optimizer,
    restore_random,
)
from seqattn.training.config import TrainingConfig, check_together
from seqattn.training.interrupts import Interrupts
from seqattn.training.keeping import Keeper
from seqattn.training.loop import DivergedError, make_optimizer, update
from seqattn.training.penalties import attention_penalty
from seqattn.training.position import (
    Outcome,
    Position,
    train_record,
)
from seqattn.training.processes import Processes
from seqattn.training.progress import Progress
from seqattn.training.runs import RunFolder
from seqattn.training.threads import return_free_memory
from seqattn.training.validation import Log, Validator
from seqattn.translator import Translator

__all__ = ["Trainer"]

log = logging.getLogger(__name__)

# Updates between two validations, at least: a small corpus has short epochs.
APART = 100


class Trainer:
    """Trains a model in a run folder.

    Parameters
    ----------
    model : nn.Module
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
        model: nn.Module,
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
        self._penalty = attention_penalty(config)
        self.run_folder = run
        self.translator = Translator(model, vocabularies, bf16=config.bf16)
        self.device = self.translator.device
        self.processes = processes or Processes(self.device)
        self.quiet = quiet or not self.processes.lead
        self.optimizer = make_optimizer(model, weight_decay=config.weight_decay)
        examples = self._short_enough(encode_pairs(train, vocabularies, copying=model_config.copy))
        self.batches = Batches(examples, tokens=config.batch_tokens, seed=config.seed)
        self.position = Position()
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
        self.keeper = Keeper(model, self.optimizer, run, stored, average=config.average)
        self.validator = Validator(
            self.translator, valid, self.keeper, self.processes, average=config.average > 0
        )
        self.threads_before: int | None = None
        self._random: Mapping[str, Tensor] | None = None
        self._trained = model
        self._prepared = False

    def _short_enough(self, examples: list[Example]) -> list[Example]:
        """Leave out what alone is longer than a batch: one such line could take all memory."""
        most = self.config.batch_tokens
        kept = [example for example in examples if max(map(len, example)) <= most]
        if not kept:
            raise ValueError(
                f"each of the {len(examples)} training pairs has more than batch_tokens={most} "
                "tokens on a side; expected a larger batch_tokens"
            )
        if len(kept) < len(examples) and self.processes.lead:
            longest = max(len(side) for example in examples for side in example)
            log.warning(
                "left out %d of %d training pairs with more than batch_tokens=%d tokens on a side; "
                "the longest has %d", len(examples) - len(kept), len(examples), most, longest,
            )  # fmt: skip
        return kept

    def resume(self) -> None:
        """Take the run up again where its last checkpoint was written.

        Raises
        ------
        CheckpointError
            If there is none, or it is of another model.
        """
        checkpoint = read_checkpoint(self.run_folder.last)
        stored = asdict(ModelConfig.from_stored(checkpoint.data["model"]))
        if stored != self.settings["model"]:
            raise CheckpointError(f"{self.run_folder.last} is a checkpoint of another model")
        if checkpoint.data["fingerprint"] != self._fingerprint:
            raise CheckpointError(
                f"the training pairs are not those that {self.run_folder.last} was trained on: "
                "restore the files, or start a new run"
            )
        self.model.load_state_dict(checkpoint.weights)
        restore_optimizer(self.model, self.optimizer, checkpoint.tensors)
        self.position = Position(**checkpoint.data["position"])
        if self.processes.lead:
            self.run_folder.rewind(self.position.step)
            self.keeper.forget_average()
        self.threads_before = checkpoint.data["threads"]
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
            If a checkpoint cannot be written; the one before is kept.
        """
        position, rank = self.position, self.processes.rank
        if self.processes.lead:
            self.run_folder.make(self.settings)
        if self._random is None or not restore_random(self._random, self.device, rank):
            torch.manual_seed(self.config.seed + rank)  # each process drops its own features
        self.model.train()
        if not self._prepared:  # else this trainer goes on after an interruption
            self._trained = self.processes.prepare(self.model)
            if self.config.compile:
                self._trained = torch.compile(self._trained)  # type: ignore[assignment]
            self._prepared = True
        self._began = time.monotonic() - position.seconds
        self.progress = Progress(done=self._done(), quiet=self.quiet)
        self.log = (
            Log(
                self.run_folder,
                Board(self.run_folder.board, wanted=self.config.tensorboard, step=position.step),
                self.progress,
            )
            if self.processes.lead
            else Log(None, None, self.progress)
        )
        try:
            with Interrupts(patient=self.processes.count > 1) as interrupts:
                outcome = self._train(interrupts)
            if outcome.reason != "interrupted":
                self.validator.average(position, self._began, self.log)
            return outcome
        finally:
            self.log.close()

    def _train(self, interrupts: Interrupts) -> Outcome:
        position = self.position
        saved = position.seconds
        plan = self.batches.plan(position.epoch)
        while True:
            if position.index >= len(plan):
                position.epoch += 1
                position.index = 0
                plan = self.batches.plan(position.epoch)
            received = max(int(n) for [n] in self.processes.gather([interrupts.received or 0]))
            reason = self._reason_to_stop(received)
            due = self._validation_due(reason)
            if due:
                self.validator.validate(position, self._began, self.log)
                return_free_memory()
                reason = reason or self._reason_to_stop(received)
            elif not reason and self._look_due():
                self.validator.look(position, self._began, self.log)
            late = position.seconds - saved > 60 * self.config.save_minutes
            if reason or due or late:
                self._save()
                saved = position.seconds
            if reason:
                return Outcome(reason, position, received or None)
            self._update(plan[position.index : position.index + self.config.accumulate])

    def _done(self) -> float:
        position = self.position
        epochs = position.epoch + position.index / len(self.batches)
        return self.config.done(position.step, epochs, position.seconds)

    def _reason_to_stop(self, received: int) -> str | None:
        if received:
            return "interrupted"
        if self._done() >= 1:
            return "done"
        if self.config.patience is not None and self.position.waited >= self.config.patience:
            return "early"
        return None

    def _validation_due(self, reason: str | None) -> bool:
        position = self.position
        if reason == "interrupted" or position.validated == position.step:
            return False
        if reason == "done":
            return True
        if self.config.validate_every is not None:
            return position.step % self.config.validate_every == 0
        return position.index == 0 and position.step >= position.validated + APART

    def _look_due(self) -> bool:
        position, first = self.position, self.config.first_look
        judged = position.looked, position.validated
        if first is None or position.epoch or position.step in judged:
            return False
        times, rest = divmod(position.step, first)
        return rest == 0 and times.bit_count() == 1  # a power of two

    def _update(self, group: Sequence[Sequence[int]]) -> None:
        """Make an update from the rows of one batch, or of several."""
        position, config = self.position, self.config
        done = self._done()  # before this update, which is to have a learning rate above 0
        position.step += 1
        rate = config.learning_rate(position.step, done)
        tokens = sum(map(self.batches.count_tokens, group))
        made = update(
            self._trained,
            self.optimizer,
            [self.batches.take(self.processes.share(rows)).to(self.device) for rows in group],
            tokens=tokens / self.processes.count,
            lr=rate,
            smoothing=config.smoothing,
            clip=config.clip,
            teacher_forcing=config.teacher_forcing(position.step),
            penalty=self._penalty,
            bf16=config.bf16,
        )
        norm = made.norm.item()
        told = self.processes.gather([made.loss.total.item(), time.monotonic() - self._began])
        loss = sum(total for total, _ in told)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise DivergedError(
                f"update {position.step}: the loss is {loss / tokens} and the norm of its gradient "
                f"{norm}. The last checkpoint, if there is one, is from before; try a lower "
                f"learning rate than {config.lr:g} or a longer warm-up than {config.warmup} updates"
            )
        position.index += len(group)
        position.seconds = told[0][1]  # one clock for all: budgets hang on it
        position.loss += loss
        position.tokens += tokens
        self.progress.advance(self._done(), tokens)
        if position.step % config.log_every == 0:
            self._report(rate, norm)

    def _report(self, rate: float, norm: float) -> None:
        position = self.position
        record = train_record(position, rate, norm, self.progress.speed())
        self.log.add(record)
        position.loss, position.tokens = 0.0, 0
        figures = {
            "loss": f"{record['loss']:.2f}",
            "tokens/s": f"{record['tokens_per_second']:,d}",
        }
        if position.validated:
            figures["BLEU"] = f"{position.best:.1f}"
        self.progress.tell(figures)

    def _save(self) -> None:
        self._random = random_states(self.device, self.processes.rank)
        states = self.processes.gather_objects(self._random)
        if self.processes.lead:
            self.keeper.save(self.position, {k: v for part in states for k, v in part.items()})
