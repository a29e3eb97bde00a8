"""A trained model with its vocabularies: text in, text and attention maps out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from seqattn.data.batches import Batch, Batches, encode_pairs, pad
from seqattn.data.pairs import TextPair
from seqattn.data.vocabulary import Vocabularies
from seqattn.decoding import Hypotheses, beam_search, greedy
from seqattn.models import Output, Seq2SeqAttention, evaluating
from seqattn.precision import autocast
from seqattn.specials import EOS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Translation", "Translator"]

# Sentences side by side; with a beam, each of them takes as many places as the beam is wide.
SIDE_BY_SIDE = 128
# Target tokens of known translations side by side.
FORCED = 4096
# A translation may be so many times as long as its source, and a little: a model that was trained
# too little would never end.
LONGEST = (2, 10)


@dataclass(frozen=True)
class Translation:
    """A translation and how it came about.

    Attributes
    ----------
    source, text : str
        What was asked for, and its translation.
    source_tokens, tokens : list of str
        What the model read and wrote, ``<eos>`` included.
    weights : (tokens, source_tokens), or None
        Row t is where the model looked to write token t; None without attention.
    score : float
        Log-probability of the tokens, in nats.
    """

    source: str
    text: str
    source_tokens: list[str]
    tokens: list[str]
    weights: Tensor | None
    score: float

    def plot(self, ax: "Axes | None" = None, **options: Any) -> "Axes":
        """Draw the attention map; options as in :func:`~seqattn.plot_attention`.

        Raises
        ------
        ValueError
            If the model has no attention.
        """
        from seqattn.plots import plot_attention

        if self.weights is None:
            raise ValueError("this model has no attention: there is no map to draw")
        return plot_attention(self.weights, self.source_tokens, self.tokens, ax=ax, **options)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        weights = None if self.weights is None else self.weights.tolist()
        return {**vars(self), "weights": weights}


class Translator:
    """A model that reads and writes text.

    Parameters
    ----------
    model : Seq2SeqAttention
        Trained.
    vocabularies : Vocabularies
        Those that it was trained with.
    bf16 : bool
        Compute in bfloat16 where that is safe.

    Examples
    --------
    >>> from seqattn.models import ModelConfig, build_model
    >>> _ = torch.manual_seed(0)
    >>> vocabularies = Vocabularies.learn([TextPair("the cat", "le chat")], ("en", "fr"))
    >>> translator = Translator(build_model(ModelConfig(d_hidden=8), 6, 6), vocabularies)
    >>> [found] = translator.translate(["the cat"])
    >>> found.source_tokens, found.weights.shape == (len(found.tokens), 3)
    (['the', 'cat', '<eos>'], True)
    """

    def __init__(self, model: Seq2SeqAttention, vocabularies: Vocabularies, *, bf16: bool = False):
        self.model = model
        self.vocabularies = vocabularies
        self.bf16 = bf16

    @classmethod
    def load(
        cls, run: str | Path, *, device: torch.device | str = "cpu", bf16: bool = False
    ) -> "Translator":
        """Load what ``seqattn train`` made.

        Parameters
        ----------
        run : str or Path
            A run folder, of which the best checkpoint is taken, or a checkpoint.
        device : device
            Where to compute.
        bf16 : bool
            Compute in bfloat16 where that is safe.

        Returns
        -------
        Translator
            Ready for use.

        Raises
        ------
        CheckpointError
            If there is no checkpoint there.
        """
        from seqattn.training.runs import (
            find_checkpoint,
            load_model,
        )  # training builds on this module

        model, vocabularies, _ = load_model(find_checkpoint(run), device)
        return cls(model.eval(), vocabularies, bf16=bf16)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def has_attention(self) -> bool:
        """Whether its translations come with weights."""
        return self.model.decoder.attention is not None

    def translate(self, sentences: Sequence[str], *, beam: int = 5) -> list[Translation]:
        """Translate sentences.

        Parameters
        ----------
        sentences : sequence of str
            As they are printed. A blank one is translated by nothing.
        beam : int
            Width of the beam; 1 is greedy search, and faster.

        Returns
        -------
        list of Translation
            In the order of the sentences.

        Raises
        ------
        TypeError
            If given one string.
        ValueError
            If ``beam`` is below 1.
        """
        if isinstance(sentences, str):
            raise TypeError("got one string; expected a list with a string for each sentence")
        if beam < 1:
            raise ValueError(f"beam is {beam}; expected at least 1")
        ids = [[*s, EOS] for s in self.vocabularies.source.encode_all(list(sentences))]
        found: dict[int, Translation] = {}
        for rows in _by_length(ids, max(SIDE_BY_SIDE // beam, 1)):
            sources = [ids[row] for row in rows]
            hypotheses = self._search(sources, beam)
            for i, row in enumerate(rows):
                found[row] = self._read(sentences[row], sources[i], hypotheses, i)
        return [found[row] for row in range(len(ids))]

    def force(self, pairs: Sequence[TextPair]) -> list[Translation]:
        """Make the model write known translations: every step reads the true last token.

        Parameters
        ----------
        pairs : sequence of TextPair
            Sentences and their translations.

        Returns
        -------
        list of Translation
            In the order of the pairs. ``score`` is the log-probability of the known translation,
            and ``weights`` is where the model looks to write it.
        """
        found: dict[int, Translation] = {}
        examples = encode_pairs(pairs, self.vocabularies)
        for batch in Batches(examples, tokens=FORCED).epoch(0) if pairs else ():
            batch = batch.to(self.device)
            logits, weights = self._force(batch)
            logits = logits.float()
            wanted = logits.gather(2, batch.targets[..., None])[..., 0]
            scores = wanted - logits.logsumexp(-1)
            for i, row in enumerate(batch.rows):
                source, target = examples[row]
                found[row] = Translation(
                    source=pairs[row].source,
                    text=pairs[row].target,
                    source_tokens=self.vocabularies.source.tokens(source),
                    tokens=self.vocabularies.target.tokens(target),
                    weights=_cut(weights, i, len(target), len(source)),
                    score=float(scores[i, : len(target)].sum()),
                )
        return [found[row] for row in range(len(pairs))]

    def _force(self, batch: Batch) -> Output:
        with evaluating(self.model), autocast(self.device, self.bf16):
            return self.model(batch.source, batch.lengths, batch.inputs)

    def _search(self, sources: list[list[int]], beam: int) -> Hypotheses:
        lengths = torch.tensor([len(source) for source in sources])
        most = LONGEST[0] * lengths + LONGEST[1]
        # A blank source gets a translation of <eos> alone, whatever the model makes of nothing.
        most = torch.where(lengths == 1, 1, most).to(self.device)
        source, lengths = pad(sources).to(self.device), lengths.to(self.device)
        with autocast(self.device, self.bf16):
            if beam == 1:
                return greedy(self.model, source, lengths, max_len=most)
            return beam_search(self.model, source, lengths, beam=beam, max_len=most)

    def _read(self, sentence: str, source: list[int], found: Hypotheses, row: int) -> Translation:
        length = int(found.lengths[row])
        ids = found.tokens[row, :length].tolist()
        if len(source) == 1:
            ids = [EOS]
        return Translation(
            source=sentence,
            text=self.vocabularies.target.decode(ids),
            source_tokens=self.vocabularies.source.tokens(source),
            tokens=self.vocabularies.target.tokens(ids),
            weights=_cut(found.weights, row, length, len(source)),
            score=float(found.scores[row]),
        )


def _cut(weights: Tensor | None, row: int, steps: int, keys: int) -> Tensor | None:
    """Take the map of one sentence out of a padded batch."""
    return None if weights is None else weights[row, :steps, :keys].float().cpu()


def _by_length(sentences: Sequence[Sequence[int]], size: int) -> Iterator[list[int]]:
    """Give rows of sentences of similar length, the longest first."""
    rows = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
