"""One update, and as many of them as it takes: training without files, in a few lines."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqattn.context_managers import own_random
from seqattn.data.batches import Batch, Batches
from seqattn.models.output_layer import guess_frequencies
from seqattn.precision import autocast
from seqattn.settings import check_whole, is_number
from seqattn.specials import PAD
from seqattn.training.config import TrainingConfig
from seqattn.training.losses import TokenLoss, cross_entropy

__all__ = ["DivergedError", "History", "Update", "fit", "make_optimizer", "update"]


class DivergedError(RuntimeError):
    """The loss or the gradient is no longer a number."""


class Update(NamedTuple):
    """What one update reports.

    Attributes
    ----------
    loss : TokenLoss
        Before the update.
    norm : scalar
        Norm of the gradient, before it was clipped.
    """

    loss: TokenLoss
    norm: Tensor


def make_optimizer(model: nn.Module, *, weight_decay: float = 0.01) -> torch.optim.AdamW:
    """AdamW with the decay of matrices alone: biases have no reason to be small.

    References
    ----------
    Loshchilov and Hutter (2019), "Decoupled Weight Decay Regularization".
    """
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    vectors = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    # 0.98 as in Vaswani et al. (2017), section 5.3: a shorter memory than the usual 0.999.
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-8, fused=True)


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Batch | Sequence[Batch],
    *,
    lr: float | Tensor,
    tokens: float | None = None,
    smoothing: float = 0.0,
    clip: float = 1.0,
    teacher_forcing: float = 1.0,
    penalty: Callable[[Tensor, Batch], Tensor] | None = None,
    bf16: bool = False,
) -> Update:
    """Make one step downhill on the mean loss of the real tokens of a batch, or of several.

    Parameters
    ----------
    model : Seq2SeqAttention, or alike
        Called as ``model(source, lengths, inputs)``, and with ``teacher_forcing`` if that is below
        1.
    optimizer : Optimizer
        From :func:`make_optimizer`.
    batch : Batch, or sequence of Batch
        On the model's device. The gradients of several are added up, as if they were one.
    lr : float, or scalar
        Learning rate.
    tokens : float, optional
        What the sum of the losses is divided by: the number of real target tokens by default. Where
        n processes average their gradients, an n-th of the number that all have together.
    smoothing : float
        Of the labels; see :func:`~seqattn.training.cross_entropy`.
    clip : float
        Largest norm of the gradient: a longer one keeps its direction and is cut to this length.
    teacher_forcing : float
        Probability that a step reads the true last token.
    penalty : callable, optional
        ``(weights, batch) -> scalar``, a mean over the batch, which is added to the mean loss; see
        :func:`~seqattn.training.losses.attention_penalty`. The loss returned is without it. Of
        several batches each counts by its target tokens, so a mean over something else, such as
        source positions, is only nearly that of all.
    bf16 : bool
        Compute in bfloat16 where that is safe.

    Returns
    -------
    Update
        ``loss`` and ``norm``, on the device. Nothing here checks for NaN.

    References
    ----------
    Pascanu, Mikolov and Bengio (2013), "On the Difficulty of Training Recurrent Neural Networks",
    section 3.2, for the clipping.
    """
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    parts = [batch] if isinstance(batch, Batch) else batch
    counts = [(part.targets != PAD).sum() for part in parts]
    divisor = torch.stack(counts).sum() if tokens is None else tokens
    sampled = {} if teacher_forcing == 1.0 else {"teacher_forcing": teacher_forcing}
    totals = []
    for number, part in enumerate(parts, start=1):
        # Processes exchange gradients once, with the last part.
        apart = number < len(parts) and hasattr(model, "no_sync")
        with model.no_sync() if apart else nullcontext():  # type: ignore[operator]
            with autocast(part.source.device, bf16):
                output = model(part.source, part.lengths, part.inputs, **sampled)
            loss = cross_entropy(output.logits, part.targets, smoothing=smoothing)
            objective = loss.total / divisor
            if penalty is not None:
                objective = objective + loss.tokens / divisor * penalty(output.weights, part)
            objective.backward()
        totals.append(loss.total.detach())
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return Update(TokenLoss(torch.stack(totals).sum(), torch.stack(counts).sum()), norm)


@dataclass
class History:
    """What happened in a training.

    Attributes
    ----------
    losses : list of float
        Nats per real token of each update's batch, smoothed if the labels were.
    norms : list of float
        Norm of each update's gradient, before it was clipped.
    tokens : int
        Real target tokens seen.
    seconds : float
        Time taken.
    """

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0

    @property
    def steps(self) -> int:
        """Number of updates."""
        return len(self.losses)


@own_random()
def fit(
    model: nn.Module,
    batches: Batches,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    lr: float = 2e-3,
    schedule: str = "cosine",
    warmup: int = 100,
    smoothing: float = 0.0,
    clip: float = 1.0,
    teacher_forcing: float | Callable[[int], float] = 1.0,
    penalty: Callable[[Tensor, Batch], Tensor] | None = None,
    guess: bool = False,
    seed: int = 0,
    quiet: bool = True,
    watch: Callable[[int], None] | None = None,
    every: int = 100,
) -> History:
    """Train a model in memory: no files, no validation, nothing to take up again.

    Parameters
    ----------
    model : Seq2SeqAttention
        Trained in place; left in training mode or not as it came.
    batches : Batches
        What to learn from, as often as it takes.
    steps, seconds : numbers, optional
        The budget, in updates or in time; at least one. Only ``steps`` repeats exactly.
    lr, schedule, warmup, smoothing, clip
        As in :class:`~seqattn.training.config.TrainingConfig`; ``clip`` may be infinite here, for
        no clipping.
    teacher_forcing : float, or callable
        Probability that a step reads the true last token; or a schedule, which gives it for the
        number of an update, from 1: see :func:`~seqattn.training.linear_decay`.
    penalty : callable, optional
        Added to each update's loss; as in :func:`update`. ``losses`` are without it.
    guess : bool
        Whether to begin with the frequencies of the target's tokens as the output bias; see
        :func:`~seqattn.models.guess_frequencies`. For a fresh model: one that has learned loses its
        bias.
    seed : int
        Of dropout. The order of the batches has its own, and the caller's random numbers go on
        afterwards where they were.
    quiet : bool
        Whether to print nothing; otherwise a line for every ``every`` updates.
    watch : callable, optional
        Called with the number of the update, before the first and after every ``every``; what it
        does to the model's mode and to the random numbers is its own affair.
    every : int
        Updates between two such calls.

    Returns
    -------
    History
        ``losses``, ``norms``, ``tokens`` and ``seconds``.

    Raises
    ------
    ValueError
        If there is no budget, or it is not above 0; or an option is of the wrong kind or out of
        its limits.
    DivergedError
        If the loss, or the norm of its gradient, is no longer a finite number.

    Examples
    --------
    >>> from seqattn.data.batches import Example
    >>> from seqattn.models import ModelConfig, build_model
    >>> _ = torch.manual_seed(0)
    >>> batches = Batches([Example([5, 6, 2], [7, 8, 2])], tokens=16)
    >>> model = build_model(ModelConfig(d_embed=8, d_hidden=8), source_vocab=9, target_vocab=9)
    >>> history = fit(model, batches, steps=60, lr=0.02, warmup=5)
    >>> history.steps, history.tokens, history.losses[-1] < 0.5
    (60, 180, True)
    """
    if steps is None and seconds is None:
        raise ValueError("no budget; expected steps or seconds, above 0")
    if seconds is not None and not (is_number(seconds) and 0 < seconds < math.inf):
        raise ValueError(f"seconds is {seconds!r}; expected more than 0, and a finite number")
    check_whole("seed", seed)
    check_whole("every", every, least=1)
    minutes = None if seconds is None else seconds / 60
    config = TrainingConfig(
        steps=steps, minutes=minutes, lr=lr, schedule=schedule, warmup=warmup,  # type: ignore
        smoothing=smoothing, clip=1.0 if clip == math.inf else clip, guess=guess,
    )  # fmt: skip
    if guess:
        guess_frequencies(
            model.vocabulary,  # type: ignore[arg-type]
            [example[1] for example in batches.examples],
            size=getattr(model, "vocab_size", None),  # a model that copies has an output more
        )
    optimizer = make_optimizer(model, weight_decay=config.weight_decay)
    device = next(model.parameters()).device
    history = History()
    was_training = model.training
    torch.manual_seed(seed)
    model.train()
    began = time.monotonic()
    stream = _endless(batches)
    try:
        while (done := config.budget_used(history.steps, 0.0, time.monotonic() - began)) < 1:
            if watch is not None and history.steps % every == 0:
                watch(history.steps)
            batch = next(stream)
            rate = config.learning_rate(history.steps + 1, done)
            forced = teacher_forcing
            loss, norm = update(
                model,
                optimizer,
                batch.to(device),
                lr=rate,
                smoothing=smoothing,
                clip=clip,
                teacher_forcing=forced(history.steps + 1) if callable(forced) else forced,
                penalty=penalty,
            )
            history.norms.append(norm.item())
            history.losses.append(loss.mean.item())
            history.tokens += int(loss.tokens)
            for what, value in (("loss", loss.mean.item()), ("gradient's norm", norm.item())):
                if not math.isfinite(value):
                    raise DivergedError(
                        f"the {what} is {value} at update {history.steps}; "
                        "try a lower learning rate or a longer warm-up"
                    )
            if not quiet and history.steps % every == 0:
                mean = sum(history.losses[-every:]) / every
                print(f"update {history.steps:5d}  loss {mean:.3f}")
        if watch is not None and history.steps % every == 0:
            watch(history.steps)
    finally:
        model.train(was_training)
    history.seconds = time.monotonic() - began
    return history


def _endless(batches: Batches) -> Iterator[Batch]:
    epoch = 0
    while True:
        yield from batches.epoch(epoch)
        epoch += 1
