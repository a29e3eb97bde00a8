"""How to train, as a few plain values: what a run stores, so that it can be taken up again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from seqattn.models import ModelConfig
from seqattn.models.config import ANY_ATTENTION
from seqattn.settings import Limits, Only, Settings
from seqattn.training.schedules import LEARNING_RATES, SAMPLING

__all__ = ["TrainingConfig", "check_together"]

Count = Annotated[int, Limits(ge=1)]
CountOr0 = Annotated[int, Limits(ge=0)]
Positive = Annotated[float, Limits(gt=0)]
PositiveOr0 = Annotated[float, Limits(ge=0)]

# What options of the training ask of the model.
OF_THE_MODEL = {
    "coverage_loss": ANY_ATTENTION,
    "doubly_stochastic_penalty": ANY_ATTENTION,
    # A word that can be neither written nor copied has no probability to share in.
    "smoothing": Only(copy=(False,)),
}


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """Settings of a training run.

    Attributes
    ----------
    steps, epochs, minutes : numbers, optional
        The budget: updates, passes over the corpus, time. At least one; the first that is used up
        ends the run, and the learning rate is planned for it.
    batch_tokens : int
        Most target tokens in a batch, padding included. A batch has at least 8 rows, so one of
        sentences longer than an eighth of this may have more; a longer sentence than this is left
        out.
    lr : float
        Highest learning rate of AdamW.
    schedule : {"cosine", "inverse_square_root", "constant"}
        How the learning rate goes on; see ``seqattn.training.schedules``.
    warmup : int
        Updates until it is reached.
    weight_decay : float
        Decoupled, as AdamW has it.
    smoothing : float
        Label smoothing; 0 for none.
    clip : float
        Largest norm of the gradient, all parameters together.
    guess : bool
        Begin with the frequencies of the target's tokens as the output bias, so that they need not
        be learned; see :func:`~seqattn.models.guess_frequencies`.
    accumulate : int
        Batches in an update, for gradient accumulation: their gradients are added up as if they
        were one (with a ``doubly_stochastic_penalty`` nearly so: its mean is that of each batch).
        Gives large updates to a small memory.
    sampling : {"linear", "exponential", "inverse_sigmoid"}, optional
        Scheduled sampling: how the share of true inputs falls.
    sampling_constant : float, optional
        c or k of that schedule: below 1 for the first two, at least 1 for the third.
    doubly_stochastic_penalty, coverage_loss : float
        Weights of two terms that are added to the loss:
        :func:`~seqattn.training.regularizers.doubly_stochastic_penalty`, which wants each source
        word looked at, and :func:`~seqattn.coverage_loss`, which wants none looked at twice. (The
        coverage penalty belongs to the beam search: :func:`~seqattn.decoding.coverage_penalty`.)
    bf16 : bool
        Compute in bfloat16 where that is safe; weights stay in 32 bits.
    compile : bool
        Compile the model with ``torch.compile``. That takes minutes, again for each of the first
        widths of batches, and it depends on model and machine whether steps are faster afterwards:
        compare the tokens per second. (On one GPU the updates of a model that is not compiled are
        recorded as CUDA graphs, see :class:`~seqattn.training.graphs.GraphedUpdates`.)
    seed : int
        Of the first weights, of dropout and of the order of the batches.
    validate_every : int, optional
        Updates between validations; by default after an epoch, or several of a small corpus.
    first_look : int, optional
        Also judge the model after this many updates, after twice as many, four times as many and so
        on through the first epoch, to see how it begins. These validations choose no weights. Where
        the first epoch has no more updates than this, there is none, and a warning says so.
    patience : int, optional
        Stop after this many validations without a better BLEU.
    average : int
        At the end, average the weights of this many validations, 2 or more, those with the best
        BLEU; the average is kept unless BLEU and perplexity both say that the best is better. 0 for
        none.
    log_every : int
        Updates between two lines of the log.
    save_minutes : float
        Time between checkpoints where no validation brings one.
    tensorboard : bool
        Write the log for TensorBoard as well.

    Raises
    ------
    ValueError
        If there is no budget, an option is of the wrong kind, out of its limits or without effect,
        or average is 1.
    """

    RENAMED: ClassVar = {"coverage_penalty": "doubly_stochastic_penalty"}

    steps: Count | None = None
    epochs: Positive | None = None
    minutes: Positive | None = None
    batch_tokens: Count = 2048
    lr: Positive = 2e-3
    schedule: Literal["cosine", "inverse_square_root", "constant"] = "cosine"
    warmup: CountOr0 = 200
    weight_decay: PositiveOr0 = 0.01
    smoothing: Annotated[float, Limits(ge=0, lt=1)] = 0.1
    clip: Positive = 1.0
    guess: bool = True
    accumulate: Count = 1
    sampling: Literal["linear", "exponential", "inverse_sigmoid"] | None = None
    sampling_constant: Annotated[Positive | None, Only(sampling=tuple(SAMPLING))] = None
    doubly_stochastic_penalty: PositiveOr0 = 0.0
    coverage_loss: PositiveOr0 = 0.0
    bf16: bool = False
    compile: bool = False
    seed: Annotated[int, Limits(ge=0, lt=2**63)] = 1
    validate_every: Count | None = None
    first_look: Count | None = None
    patience: Count | None = None
    average: CountOr0 = 0
    log_every: Count = 50
    save_minutes: PositiveOr0 = 5.0
    tensorboard: bool = False

    @classmethod
    def from_stored(cls, values: Mapping[str, Any]) -> "TrainingConfig":
        """As of all settings; an average of one, which was once let through, becomes none."""
        return super().from_stored(
            {**values, "average": 0} if values.get("average") == 1 else values
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is None and self.epochs is None and self.minutes is None:
            raise ValueError("no budget; expected steps, epochs or minutes, above 0")
        if self.average == 1:
            raise ValueError("average is 1; expected 0, or 2 or more: one alone is no average")
        if self.sampling is not None:
            self._check_constant()

    def _check_constant(self) -> None:
        value = self.sampling_constant
        sigmoid = self.sampling == "inverse_sigmoid"
        if value is None or not (value >= 1 if sigmoid else 0 < value < 1):
            expected = "1 or more" if sigmoid else "between 0 and 1"
            raise ValueError(
                f"sampling_constant is {value}; sampling={self.sampling!r} expects {expected}"
            )

    def budget_used(self, step: int, epochs: float, seconds: float) -> float:
        """Share of the budget that is used up: 1 or more ends the run.

        Examples
        --------
        >>> TrainingConfig(steps=100, minutes=2).budget_used(step=25, epochs=1.5, seconds=90)
        0.75
        """
        shares = [0.0]
        if self.steps:
            shares.append(step / self.steps)
        if self.epochs:
            shares.append(epochs / self.epochs)
        if self.minutes:
            shares.append(seconds / (60 * self.minutes))
        return max(shares)

    def out_of_patience(self, waited: int) -> bool:
        """Early stopping: tell whether so many validations without a better BLEU are too many.

        Examples
        --------
        >>> config = TrainingConfig(epochs=100, patience=3)
        >>> config.out_of_patience(2), config.out_of_patience(3)
        (False, True)
        """
        return self.patience is not None and waited >= self.patience

    def learning_rate(self, step: int, done: float) -> float:
        """Learning rate of an update, counted from 1."""
        return self.lr * LEARNING_RATES[self.schedule](step, self.warmup, done)

    def teacher_forcing(self, step: int) -> float:
        """Probability that an update, counted from 1, feeds a step the true last token."""
        if self.sampling is None or self.sampling_constant is None:
            return 1.0
        return SAMPLING[self.sampling](step, self.sampling_constant)


def check_together(model: ModelConfig, training: TrainingConfig) -> None:
    """Refuse options of the training that the model has no use for.

    Raises
    ------
    ValueError
        Which option, and for which models it is.

    Examples
    --------
    >>> check_together(ModelConfig("fixed"), TrainingConfig(steps=1, coverage_loss=0.1))
    Traceback (most recent call last):
    ValueError: coverage_loss is 0.1, and the model has architecture='fixed'; it is for ...
    """
    for name, only in OF_THE_MODEL.items():
        value, reason = getattr(training, name), only.missed(model)
        if value and reason is not None:
            raise ValueError(f"{name} is {value}, and the model has {reason}; expected {name}=0")
