"""A training run: updates, validations and checkpoints, until the budget is used up.

A run that was interrupted and taken up again equals one that was not, bit for bit on a CPU, if its
budget is counted in updates or epochs: everything that an update depends on is in the checkpoint.
"""

import math
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqattn.data.batches import Batch, Batches, encode_pairs
from seqattn.data.pairs import TextPair
from seqattn.data.vocabulary import Vocabularies
from seqattn.models import ModelConfig, Seq2SeqAttention
from seqattn.training.checkpoints import (
    CheckpointError,
    optimizer_tensors,
    random_states,
    read_checkpoint,
    restore_optimizer,
    restore_random,
    write_checkpoint,
)
from seqattn.training.config import TrainingConfig
from seqattn.training.evaluation import evaluate
from seqattn.training.interrupts import Interrupts
from seqattn.training.loop import DivergedError, make_optimizer, update
from seqattn.training.position import (
    Outcome,
    Position,
    train_record,
    valid_line,
    valid_record,
)
from seqattn.training.progress import Progress
from seqattn.training.runs import RunFolder
from seqattn.translator import Translator

__all__ = ["Trainer"]

# Updates between two validations, at least: a small corpus has short epochs.
APART = 100


class Trainer:
    """Trains a model in a run folder.

    Parameters
    ----------
    model : Seq2SeqAttention
        On the device to train on.
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
    quiet : bool
        Whether to show nothing.
    """

    def __init__(
        self,
        model: Seq2SeqAttention,
        model_config: ModelConfig,
        vocabularies: Vocabularies,
        train: Sequence[TextPair],
        valid: Sequence[TextPair],
        config: TrainingConfig,
        run: RunFolder,
        *,
        corpus: Mapping[str, Any] | None = None,
        quiet: bool = False,
    ):
        self.model = model
        self.config = config
        self.run_folder = run
        self.valid = valid
        self.quiet = quiet
        self.translator = Translator(model, vocabularies, bf16=config.bf16)
        self.device = self.translator.device
        self.optimizer = make_optimizer(model, weight_decay=config.weight_decay)
        self.batches = Batches(
            encode_pairs(train, vocabularies), tokens=config.batch_tokens, seed=config.seed
        )
        self.position = Position()
        self.settings = {
            "model": asdict(model_config),
            "training": asdict(config),
            "corpus": dict(corpus or {}),
        }
        self._fingerprint = zlib.crc32(repr(self.batches.examples).encode("ascii"))
        self._vocabularies = vocabularies.to_dict()
        self.threads_before: int | None = None
        self._random: Mapping[str, Tensor] | None = None

    def resume(self) -> None:
        """Take the run up again where its last checkpoint was written.

        Raises
        ------
        CheckpointError
            If there is none, or it is of another model.
        """
        checkpoint = read_checkpoint(self.run_folder.last)
        if checkpoint.data["model"] != self.settings["model"]:
            raise CheckpointError(f"{self.run_folder.last} is a checkpoint of another model")
        if checkpoint.data["fingerprint"] != self._fingerprint:
            raise CheckpointError(
                f"the training pairs are not those that {self.run_folder.last} was trained on: "
                "restore the files, or start a new run"
            )
        self.model.load_state_dict(checkpoint.weights)
        restore_optimizer(self.model, self.optimizer, checkpoint.tensors)
        self.position = Position(**checkpoint.data["position"])
        self.run_folder.rewind(self.position.step)
        self.threads_before = checkpoint.data["threads"]
        self._random = checkpoint.tensors

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
        self.run_folder.make(self.settings)
        if self._random is None:
            torch.manual_seed(self.config.seed)
        else:
            restore_random(self._random, self.device)
        self.model.train()
        self._began = time.monotonic() - self.position.seconds
        self.progress = Progress(done=self._done(), quiet=self.quiet)
        try:
            with Interrupts() as interrupts:
                return self._train(interrupts)
        finally:
            self.progress.close()

    def _train(self, interrupts: Interrupts) -> Outcome:
        saved = time.monotonic()
        stream = self.batches.epoch(self.position.epoch, self.position.index)
        while True:
            reason = self._reason_to_stop(interrupts)
            due = self._validation_due(reason)
            if due:
                self._validate()
                reason = reason or self._reason_to_stop(interrupts)
            late = time.monotonic() - saved > 60 * self.config.save_minutes
            if reason or due or late:
                self._save()
                saved = time.monotonic()
            if reason:
                return Outcome(reason, self.position, interrupts.received)
            batch = next(stream, None)
            if batch is None:
                self.position.epoch += 1
                self.position.index = 0
                stream = self.batches.epoch(self.position.epoch)
                continue
            self._update(batch.to(self.device))

    def _done(self) -> float:
        position = self.position
        epochs = position.epoch + position.index / len(self.batches)
        return self.config.done(position.step, epochs, position.seconds)

    def _reason_to_stop(self, interrupts: Interrupts) -> str | None:
        if interrupts.received is not None:
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

    def _update(self, batch: Batch) -> None:
        position, config = self.position, self.config
        position.step += 1
        rate = config.learning_rate(position.step, self._done())
        made = update(
            self.model,
            self.optimizer,
            batch,
            lr=rate,
            smoothing=config.smoothing,
            clip=config.clip,
            teacher_forcing=config.teacher_forcing(position.step),
            bf16=config.bf16,
        )
        loss, norm, tokens = made.loss.total.item(), made.norm.item(), int(made.loss.tokens)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise DivergedError(
                f"update {position.step}: the loss is {loss / tokens} and the norm of its gradient "
                f"{norm}. The last checkpoint, if there is one, is from before; try a lower "
                f"learning rate than {config.lr:g} or a longer warm-up than {config.warmup} updates"
            )
        position.index += 1
        position.seconds = time.monotonic() - self._began
        position.loss += loss
        position.tokens += tokens
        self.progress.advance(self._done(), tokens)
        if position.step % config.log_every == 0:
            self._report(rate, norm)

    def _report(self, rate: float, norm: float) -> None:
        position = self.position
        record = train_record(position, rate, norm, self.progress.speed())
        self.run_folder.log(record)
        position.loss, position.tokens = 0.0, 0
        figures = {
            "loss": f"{record['loss']:.2f}",
            "tokens/s": f"{record['tokens_per_second']:,d}",
        }
        if position.validated:
            figures["BLEU"] = f"{position.best:.1f}"
        self.progress.tell(figures)

    def _validate(self) -> None:
        position = self.position
        found = evaluate(self.translator, self.valid)
        better = found.bleu > position.best
        position.validated = position.step
        position.waited = 0 if better else position.waited + 1
        position.seconds = time.monotonic() - self._began
        if better:
            position.best, position.best_step = found.bleu, position.step
            self._write(self.run_folder.best, {})
        self.run_folder.log(valid_record(position, found))
        self.progress.line(valid_line(position, found))
        self.progress.pause()

    def _save(self) -> None:
        self._write(
            self.run_folder.last,
            {**optimizer_tensors(self.model, self.optimizer), **random_states(self.device)},
        )

    def _write(self, path: Path, more: Mapping[str, Tensor]) -> None:
        weights = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        data = {
            **self.settings,
            "vocabularies": self._vocabularies,
            "position": asdict(self.position),
            "fingerprint": self._fingerprint,
            "threads": torch.get_num_threads(),  # sums are ordered by it
        }
        write_checkpoint(path, {**weights, **more}, data)
