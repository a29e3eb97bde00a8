"""Encoder and decoder together, and what every model has that writes step by step."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from seqattn.attention import Memory
from seqattn.decoding import Hypotheses, Step, greedy
from seqattn.models.decoder import AttentionDecoder, State, stack_steps
from seqattn.models.encoder import Encoder

__all__ = ["DrawPer", "Output", "Seq2SeqAttention", "StepwiseModel", "scheduled_sampling"]

DrawPer = Literal["token", "step"]


class Output(NamedTuple):
    """What a model says about known targets.

    Attributes
    ----------
    logits : (batch, steps, vocabulary)
        Row t scores the token that follows input t.
    weights : (batch, steps, keys), or None
        Row t is where the decoder looked to produce that token; None without attention.
    """

    logits: Tensor
    weights: Tensor | None


class StepwiseModel(nn.Module):
    """What models have in common that write a target step by step.

    A subclass offers ``begin`` and ``step``, as every search asks for them, and
    ``_teacher_forced``, which scores all steps of known targets at once.
    """

    longest: int | None = None
    """Most steps, where the model has a limit: that of learned positions."""

    copies: bool = False
    """Whether source and target hold words outside the vocabulary, under ids after its own."""

    begin: Callable[..., tuple[Any, Any]]
    step: Callable[..., Step]
    _teacher_forced: Callable[[Tensor, Tensor, Tensor], Output]

    def forward(
        self,
        source: Int[Tensor, "batch keys"],
        lengths: Int[Tensor, " batch"],
        inputs: Int[Tensor, "batch steps"],
        *,
        teacher_forcing: float = 1.0,
        draw_per: DrawPer = "token",
        generator: torch.Generator | None = None,
    ) -> Output:
        """Score every token of known targets: all at once, or step by step to feed guesses back.

        Parameters
        ----------
        source : (batch, keys) integers
            Source tokens, ``<eos>`` last, padded with 0 on the right.
        lengths : (batch,) integers
            Number of real source tokens, at least 1.
        inputs : (batch, steps) integers
            ``<bos>`` and the target shifted right.
        teacher_forcing : float
            Probability that a step reads the true last token and not the model's own guess, in
            training; in evaluation always 1.
        draw_per : {"token", "step"}
            What a draw is for; see :func:`~seqattn.models.seq2seq.scheduled_sampling`.
        generator : torch.Generator, optional
            Source of those draws.

        Returns
        -------
        Output
            ``logits`` (batch, steps, vocabulary) and ``weights`` (batch, steps, keys) or None.

        Raises
        ------
        ValueError
            If ``teacher_forcing`` is no probability, or ``draw_per`` unknown, or a length below 1
            or beyond the width of the batch.
        """
        if not 0.0 <= teacher_forcing <= 1.0:
            raise ValueError(f"teacher_forcing is {teacher_forcing}; expected 0 to 1")
        _check_draw_per(draw_per)
        if self.training and teacher_forcing < 1.0:
            logits, weights = scheduled_sampling(
                self.step,
                inputs,
                *self.begin(source, lengths),
                teacher_forcing=teacher_forcing,
                draw_per=draw_per,
                generator=generator,
            )
            return Output(logits, weights)
        return self._teacher_forced(source, lengths, inputs)

    def generate(
        self,
        source: Int[Tensor, "batch keys"],
        lengths: Int[Tensor, " batch"],
        *,
        max_len: int = 100,
    ) -> Hypotheses:
        """Translate greedily; ``seqattn.decoding`` has the other searches."""
        most = max_len if self.longest is None else min(max_len, self.longest)
        return greedy(self, source, lengths, max_len=most)


class Seq2SeqAttention(StepwiseModel):
    """A translator: encoder, decoder and, inside the decoder, attention.

    How it is called, and ``generate``, are those of :class:`~seqattn.models.seq2seq.StepwiseModel`.

    Parameters
    ----------
    encoder : Encoder
        Reads the source.
    decoder : AttentionDecoder
        Writes the target; its ``d_encoder`` is the encoder's ``d_states``.

    Raises
    ------
    ValueError
        If it is not.

    Examples
    --------
    >>> from seqattn import LuongAttention
    >>> encoder = Encoder(11, 3, 5)
    >>> decoder = AttentionDecoder(13, 4, 7, 10, LuongAttention(7, 10), style="luong")
    >>> model = Seq2SeqAttention(encoder, decoder)
    >>> source, lengths = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2])
    >>> logits, weights = model(source, lengths, inputs=torch.tensor([[1, 7], [1, 8]]))
    >>> logits.shape, weights.shape
    (torch.Size([2, 2, 13]), torch.Size([2, 2, 3]))
    """

    def __init__(self, encoder: Encoder, decoder: AttentionDecoder):
        super().__init__()
        if encoder.d_states != decoder.d_encoder:
            raise ValueError(
                f"the encoder gives states of size {encoder.d_states}, its directions together; "
                f"the decoder was built for d_encoder={decoder.d_encoder}"
            )
        self.encoder = encoder
        self.decoder = decoder

    @property
    def vocabulary(self) -> nn.Linear:
        """The output projection, a layer from features to logits; not a list of words."""
        return self.decoder.vocabulary

    def begin(
        self, source: Int[Tensor, "batch keys"], lengths: Int[Tensor, " batch"]
    ) -> tuple[State, Memory | None]:
        """Encode the source: the decoder's first state, and what every step will look at."""
        encoded = self.encoder(source, lengths)
        return self.decoder.start(encoded), self.decoder.remember(encoded)

    def step(self, tokens: Int[Tensor, " batch"], state: State, memory: Memory | None) -> Step:
        """Read the last token and score the next; see :meth:`AttentionDecoder.step`."""
        return self.decoder.step(tokens, state, memory)

    def _teacher_forced(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Output:
        return Output(*self.decoder(inputs, self.encoder(source, lengths)))


def scheduled_sampling(
    step: Callable[[Tensor, Any, Any], Step],
    inputs: Tensor,
    state: Any,
    memory: Any,
    *,
    teacher_forcing: float,
    draw_per: DrawPer = "token",
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Run step by step, reading now the true token and now the model's own best guess.

    Each token of each sentence is drawn by itself, or each step once for the whole batch. No
    gradient passes through a guess: what is trained is not the probability of the sentence, and the
    objective is biased.

    Parameters
    ----------
    step : callable
        ``(tokens, state, memory) -> Step``.
    inputs : (batch, steps) integers
        True inputs; the first is always read.
    state, memory
        Where to start, and what to look at.
    teacher_forcing : float
        Probability of reading the true token.
    draw_per : {"token", "step"}
        Whether to draw for each token, as in the paper, or once for all tokens of a step, as much
        code does. Shares are the same on average; the second makes losses noisier.
    generator : torch.Generator, optional
        Source of the draws.

    Returns
    -------
    logits : (batch, steps, vocabulary)
        Row t scores the token that follows input t.
    weights : (batch, steps, keys), or None
        Where the model looked to produce it.

    Raises
    ------
    ValueError
        If ``draw_per`` is unknown.

    References
    ----------
    Bengio et al. (2015), "Scheduled Sampling for Sequence Prediction with Recurrent Neural
    Networks"; Huszár (2015), "How (not) to Train your Generative Model", for the bias.
    """
    _check_draw_per(draw_per)
    device = inputs.device if generator is None else generator.device
    rows = inputs.shape[0] if draw_per == "token" else 1
    draws = torch.rand(rows, inputs.shape[1], generator=generator, device=device)
    true = (draws < teacher_forcing).to(inputs.device)
    steps: list[Step] = []
    for t, tokens in enumerate(inputs.unbind(1)):
        if steps:
            tokens = torch.where(true[:, t], tokens, steps[-1].logits.argmax(-1))
        steps.append(step(tokens, state, memory))
        state = steps[-1].state
    logits = torch.stack([step.logits for step in steps], 1)
    return logits, stack_steps([step.weights for step in steps])


def _check_draw_per(draw_per: str) -> None:
    if draw_per not in ("token", "step"):
        raise ValueError(f"draw_per is {draw_per!r}; expected 'token' or 'step'")
