"""What one wrong word does to the words after it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from seqattn.context_managers import evaluating
from seqattn.data.batches import Batch, Batches, encode_pairs
from seqattn.data.pairs import TextPair, lower_case
from seqattn.decoding.rows import permitted
from seqattn.models.seq2seq import StepwiseModel
from seqattn.precision import autocast
from seqattn.settings import check_whole
from seqattn.specials import EOS, PAD, UNK
from seqattn.translator import Translator

__all__ = ["Recovery", "recovery"]

# Target tokens side by side.
TOKENS = 4096


class Recovery(NamedTuple):
    """What a model goes on with after a wrong word, and what it would have gone on with.

    Column d holds the words d + 1 places after the wrong one.

    Attributes
    ----------
    truth : (sentences, steps) integers
        Tokens of the known translations; padding after their ends.
    clean : (sentences, steps) integers
        What the model says without the wrong word; what it reads before are true words, or its own,
        as ``reads`` of :func:`recovery` says.
    wrong : (sentences, steps) integers
        The same where one word before was wrong.
    replaced, by : (sentences,) integers
        The true word, and the one that stood in its place.
    """

    truth: Tensor
    clean: Tensor
    wrong: Tensor
    replaced: Tensor
    by: Tensor

    def right(self) -> tuple[Tensor, Tensor]:
        """Give the share of right words at each distance: ``clean`` and ``wrong``, (steps,) each.

        A word counts as right if it is the known translation's at the same place. A translation
        that goes on well after a word too many is wrong throughout, by this measure. The end counts
        as a word. NaN stands where no translation is that long.
        """
        real = self.truth != PAD
        number = real.sum(0)
        clean, wrong = (
            ((words == self.truth) & real).sum(0) / number for words in (self.clean, self.wrong)
        )
        return clean, wrong

    def lost(self) -> float:
        """Give the number of further words that a wrong one costs, on average, the end included."""
        real = self.truth != PAD
        clean, wrong = (((words == self.truth) & real).sum() for words in (self.clean, self.wrong))
        return float(clean - wrong) / len(self.truth)


def recovery(
    translator: Translator,
    pairs: Sequence[TextPair],
    *,
    at: float = 0.5,
    by: Literal["random", "likeliest"] = "random",
    reads: Literal["own", "true"] = "own",
    steps: int = 6,
    seed: int = 0,
) -> Recovery:
    """Make a model have written one wrong word of each sentence, and look at what it says next.

    It reads the true translation up to a place, one wrong word there, and then what it writes by
    itself, as when it translates. The same without the wrong word is what that is compared with.

    Parameters
    ----------
    translator : Translator
        Whose model is tried.
    pairs : sequence of TextPair
        Sentences and their translations.
    at : float
        Where the wrong word stands: the share of the translation's words before it, from 0 to
        below 1.
    by : {"random", "likeliest"}
        Which word: any of the target vocabulary, or the one that the model itself finds likeliest
        there among the wrong ones.
    reads : {"own", "true"}
        What the model reads after the wrong word: what it writes, so that mistakes may lead to
        mistakes, or the true words, so that only the one wrong word can tell.
    steps : int
        How many words to look at.
    seed : int
        Of the random words.

    Returns
    -------
    Recovery
        In the order of the pairs.

    Raises
    ------
    ValueError
        If there are no pairs or one has a blank translation, ``at``, ``by``, ``reads`` or ``steps``
        is out of range, or the target vocabulary has fewer than two words.

    References
    ----------
    Bengio et al. (2015), "Scheduled Sampling for Sequence Prediction with Recurrent Neural
    Networks", section 1, for the question.

    Examples
    --------
    >>> pairs = [TextPair("the cat sat on the mat", "le chat s'est assis sur le tapis")]
    >>> found = recovery(Translator.load("toy"), pairs, steps=2)
    >>> found.truth.shape, found.clean.equal(found.truth)
    (torch.Size([1, 2]), True)
    """
    if not 0 <= at < 1:
        raise ValueError(f"at is {at}; expected 0 or more, and below 1")
    if by not in ("random", "likeliest"):
        raise ValueError(f"by is {by!r}; expected 'random' or 'likeliest'")
    if reads not in ("own", "true"):
        raise ValueError(f"reads is {reads!r}; expected 'own' or 'true'")
    check_whole("steps", steps, least=1)
    if not pairs:
        raise ValueError("no pairs; expected at least one")
    words = len(translator.vocabularies.target)
    first = UNK + 1
    if words - first < 2:
        raise ValueError("the target vocabulary has fewer than two words: none can be wrong")
    read = [lower_case(pair) for pair in pairs] if translator.lowercase else pairs
    examples = encode_pairs(read, translator.vocabularies, copying=translator.copies)
    blank = [i for i, example in enumerate(examples) if len(example.target) < 2]
    if blank:
        raise ValueError(f"pair {blank[0]} has a blank translation; expected a word at least")
    draws = torch.randint(
        first, words - 1, (len(pairs),), generator=torch.Generator().manual_seed(seed)
    )
    rows, parts = [], []
    with evaluating(translator.model):
        for batch in Batches(examples, tokens=TOKENS).epoch(0):
            rows += batch.rows
            drawn = draws[batch.rows] if by == "random" else None
            batch = batch.to(translator.device)
            with autocast(translator.device, translator.bf16):
                parts.append(_recover(translator.model, batch, at, drawn, reads, steps))
    back = torch.tensor(rows).argsort()
    return Recovery(*(torch.cat(part).cpu()[back] for part in zip(*parts, strict=True)))


def _recover(
    model: StepwiseModel, batch: Batch, at: float, drawn: Tensor | None, reads: str, steps: int
) -> Recovery:
    """Try one batch."""
    ends = (batch.targets != PAD).sum(1) - 1  # where <eos> stands
    places = (at * ends).long()[:, None]
    replaced = batch.targets.gather(1, places)
    if drawn is None:
        logits = model(batch.source, batch.lengths, batch.inputs).logits
        logits = logits[torch.arange(len(places), device=places.device), places[:, 0]]
        logits = permitted(logits).scatter(1, replaced, -torch.inf)
        logits[:, [EOS, UNK]] = -torch.inf
        wrong = logits.argmax(1, keepdim=True)
    else:
        drawn = drawn.to(places.device)[:, None]
        wrong = drawn + (drawn >= replaced)  # any word but the true one, all alike
    after = places + 1 + torch.arange(steps, device=places.device)
    truth = _take(batch.targets, after)
    clean, astray = (
        _take(_go_on(model, batch, places, put, reads, int(after.max())), after)
        for put in (replaced, wrong)
    )
    return Recovery(truth, clean, astray, replaced[:, 0], wrong[:, 0])


def _go_on(
    model: StepwiseModel, batch: Batch, places: Tensor, put: Tensor, reads: str, last: int
) -> Tensor:
    """Read the truth but for one word; give what the model says at each step."""
    inputs = torch.cat([batch.inputs, torch.full_like(places, PAD)], 1).scatter(1, places + 1, put)
    state, memory = model.begin(batch.source, batch.lengths)
    said: list[Tensor] = []
    for t in range(last + 1):
        tokens = inputs[:, t] if t < inputs.shape[1] else inputs[:, -1]
        if reads == "own" and said:
            tokens = torch.where(t > places[:, 0] + 1, said[-1], tokens)
        logits, _, state = model.step(tokens, state, memory)
        best = permitted(logits).argmax(-1)
        if reads == "own" and said:
            ended = (t > places[:, 0] + 1) & ((tokens == EOS) | (tokens == PAD))
            best = best.masked_fill(ended, PAD)
        said.append(best)
    return torch.stack(said, 1)


def _take(tokens: Tensor, columns: Tensor) -> Tensor:
    """Take some columns of each row; padding beyond the last."""
    width = tokens.shape[1]
    taken = tokens.gather(1, columns.clamp(max=width - 1))
    return taken.masked_fill(columns >= width, PAD)
