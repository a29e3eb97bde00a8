"""A trained model with its vocabularies: text in, text and attention maps out."""

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from seqattn.context_managers import evaluating
from seqattn.data.batches import Batch, Batches, encode_pairs, pad
from seqattn.data.pairs import TextPair, lower_case
from seqattn.data.vocabulary import Vocabularies
from seqattn.decoding import Hypotheses, beam_search, greedy, sample
from seqattn.decoding.greedy import check_sampling
from seqattn.models import Output
from seqattn.models.seq2seq import StepwiseModel
from seqattn.precision import autocast
from seqattn.settings import check_penalty, check_whole
from seqattn.specials import EOS
from seqattn.translator.run_folder import find_checkpoint, load_model
from seqattn.translator.translation import Translation

__all__ = ["Translator"]

# Sentences side by side; with a beam, each of them takes as many places as the beam is wide.
SIDE_BY_SIDE = 256
# Target tokens of known translations side by side.
FORCED = 4096
# A translation may be so many times as long as its source, and a little: a model that was trained
# too little would never end.
LONGEST = (2, 10)
# Wu et al. (2016) found values around it best.
LENGTH_PENALTY = 0.6

# From source, lengths and longest allowed lengths to what was found.
SearchFunction = Callable[[Tensor, Tensor, Tensor], Hypotheses]


class Translator:
    """A model that reads and writes text.

    A call goes from :meth:`translate`, :meth:`n_best` or :meth:`sample`, which choose the search in
    ``seqattn.decoding``, through batches of similar lengths to that search, and its hypotheses
    back to text.

    Parameters
    ----------
    model : StepwiseModel
        Trained: a Seq2SeqAttention, a Transformer, or another model with the same methods.
    vocabularies : Vocabularies
        Those that it was trained with.
    bf16 : bool
        Compute in bfloat16 where that is safe.
    lowercase : bool
        Read everything in lower case, as the model did when it was trained.

    Raises
    ------
    ValueError
        If the model copies, and the vocabularies are not one.

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

    def __init__(
        self,
        model: StepwiseModel,
        vocabularies: Vocabularies,
        *,
        bf16: bool = False,
        lowercase: bool = False,
    ):
        self.model = model
        self.lowercase = lowercase
        self.vocabularies = vocabularies
        self.bf16 = bf16
        if self.copies and not vocabularies.shared:
            raise ValueError(
                "the model copies words of the source, and source and target have vocabularies of "
                "their own; expected one, as Vocabularies.learn(..., joint=True) makes it"
            )

    @classmethod
    def load(
        cls, run: str | Path, *, device: torch.device | str = "cpu", bf16: bool = False
    ) -> "Translator":
        """Load what ``seqattn train`` made, or a model that comes with the package.

        Parameters
        ----------
        run : str or Path
            A run folder, of which the averaged weights are taken, or else the best checkpoint, or
            else the last; or a checkpoint; or a model of the
            toy corpus, English to French, trained beforehand: "toy", of Bahdanau's design, or
            "toy-transformer", of two layers with four heads.
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

        Examples
        --------
        >>> Translator.load("toy").translate(["the cat sat on the mat"])[0].text
        "le chat s'est assis sur le tapis"
        """
        model, vocabularies, header = load_model(find_checkpoint(run), device)
        lowercase = header.get("corpus", {}).get("lowercase", False)
        return cls(model.eval(), vocabularies, bf16=bf16, lowercase=lowercase)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def copies(self) -> bool:
        """Whether it can write words of the source that are outside its vocabulary."""
        # A model of one's own needs the methods of a StepwiseModel, and need not say what it lacks.
        return getattr(self.model, "copies", False)

    @property
    def has_attention(self) -> bool:
        """Whether its translations come with weights."""
        # A Transformer's decoder is a list of layers: there is nothing else than attention in it.
        decoder = getattr(self.model, "decoder", None)
        return getattr(decoder, "attention", True) is not None

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam: int = 5,
        length_penalty: float = LENGTH_PENALTY,
        coverage_penalty: float = 0.0,
    ) -> list[Translation]:
        """Translate sentences.

        Parameters
        ----------
        sentences : sequence of str
            As they are printed. A blank one is translated by nothing, with a score of 0.
        beam : int
            Width of the beam; 1 is greedy search, and faster.
        length_penalty : float
            Exponent of :func:`~seqattn.decoding.length_penalty`; not used by greedy search.
        coverage_penalty : float
            Factor of :func:`~seqattn.decoding.coverage_penalty`; greedy search has none.

        Returns
        -------
        list of Translation
            In the order of the sentences.

        Raises
        ------
        TypeError
            If given one string.
        ValueError
            If ``beam`` is no whole number or below 1, a penalty below 0 or not finite, or coverage
            is asked of greedy search or of a model without attention.
        """
        found = self.n_best(
            sentences, n=1, beam=beam,
            length_penalty=length_penalty, coverage_penalty=coverage_penalty,
        )  # fmt: skip
        return [best[0] for best in found]

    def n_best(
        self,
        sentences: Sequence[str],
        *,
        n: int = 5,
        beam: int = 5,
        length_penalty: float = LENGTH_PENALTY,
        coverage_penalty: float = 0.0,
    ) -> list[list[Translation]]:
        """Give several translations of each sentence, the best first.

        Parameters
        ----------
        sentences : sequence of str
            As they are printed.
        n : int
            How many of each; fewer where the search ends with fewer.
        beam : int
            Width of the beam, at least n.
        length_penalty : float
            Exponent of :func:`~seqattn.decoding.length_penalty`, by which they are ordered.
        coverage_penalty : float
            Factor of :func:`~seqattn.decoding.coverage_penalty`, by which they are ordered as well.

        Returns
        -------
        list of lists of Translation
            In the order of the sentences.

        Raises
        ------
        TypeError, ValueError
            As :meth:`translate`, or if n is not from 1 to ``beam``.
        """
        check_whole("n", n)
        check_whole("beam", beam, least=1)
        if not 1 <= n <= beam:
            raise ValueError(f"n is {n} and beam is {beam}; expected 1 <= n <= beam")
        check_penalty("length_penalty", length_penalty)
        check_penalty("coverage_penalty", coverage_penalty)
        if beam == 1 and coverage_penalty:
            raise ValueError(
                f"coverage_penalty={coverage_penalty!r} has no effect with beam=1, which is greedy "
                "search; expected a wider beam, or no penalty"
            )
        if coverage_penalty and not self.has_attention:
            raise ValueError("coverage_penalty needs attention, and the model gives no weights")

        def search(source: Tensor, lengths: Tensor, max_len: Tensor) -> Hypotheses:
            if beam == 1:
                return greedy(self.model, source, lengths, max_len=max_len)
            return beam_search(
                self.model, source, lengths,
                beam=beam, max_len=max_len, length_penalty=length_penalty,
                coverage_penalty=coverage_penalty, n_best=n,
            )  # fmt: skip

        return self._in_batches(sentences, search, n, places=beam)

    def sample(
        self,
        sentences: Sequence[str],
        *,
        n: int = 1,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> list[list[Translation]]:
        """Draw translations at random, as probable as the model finds them.

        Parameters
        ----------
        sentences : sequence of str
            As they are printed.
        n : int
            How many of each; of a blank sentence, which has one translation, that one.
        temperature, top_k, top_p
            As in :func:`seqattn.decoding.sample`.
        seed : int
            Of the draws. They depend on the other sentences as well.

        Returns
        -------
        list of lists of Translation
            In the order of the sentences.

        Raises
        ------
        TypeError
            If given one string.
        ValueError
            If ``n``, ``seed`` or an option of the search is out of range or of the wrong kind.
        """
        check_whole("n", n, least=1)
        check_whole("seed", seed)
        check_sampling(temperature, top_k, top_p)
        generator = torch.Generator(self.device).manual_seed(operator.index(seed))

        def search(source: Tensor, lengths: Tensor, max_len: Tensor) -> Hypotheses:
            rows = torch.arange(len(source), device=source.device).repeat_interleave(n)
            return sample(
                self.model, source[rows], lengths[rows], max_len=max_len[rows],
                temperature=temperature, top_k=top_k, top_p=top_p, generator=generator,
            )  # fmt: skip

        return self._in_batches(sentences, search, n, places=n)

    def force(self, pairs: Sequence[TextPair]) -> list[Translation]:
        """Score known translations, teacher-forced: every step reads the true last token.

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
        read = [lower_case(pair) for pair in pairs] if self.lowercase else pairs
        examples = encode_pairs(read, self.vocabularies, copying=self.copies)
        for batch in Batches(examples, tokens=FORCED).epoch(0) if pairs else ():
            batch = batch.to(self.device)
            logits, weights = self._teacher_forced(batch)
            logits = logits.float()
            wanted = logits.gather(2, batch.targets[..., None])[..., 0]
            scores = (wanted - logits.logsumexp(-1)).cpu()
            weights = None if weights is None else weights.cpu()
            for i, row in enumerate(batch.rows):
                source, target = examples[row]
                oov_words = self._oov_words(read[row].source)
                found[row] = Translation(
                    source=pairs[row].source,
                    text=pairs[row].target,
                    source_tokens=self.vocabularies.source.tokens(source, oov_words),
                    tokens=self.vocabularies.target.tokens(target, oov_words),
                    weights=_cut(weights, i, len(target), len(source)),
                    score=float(scores[i, : len(target)].sum()),
                )
        return [found[row] for row in range(len(pairs))]

    def _teacher_forced(self, batch: Batch) -> Output:
        with evaluating(self.model), autocast(self.device, self.bf16):
            return self.model(batch.source, batch.lengths, batch.inputs)

    def _in_batches(
        self, sentences: Sequence[str], search: SearchFunction, n: int, *, places: int
    ) -> list[list[Translation]]:
        """Search for n translations of each sentence, in batches of similar lengths.

        Each sentence takes so many ``places`` side by side: as many as its beam is wide.
        """
        if isinstance(sentences, str):
            raise TypeError("got one string; expected a list with a string for each sentence")
        for sentence in sentences:
            if not isinstance(sentence, str):
                raise TypeError(f"a sentence is {sentence!r}; expected a string")
        cased = [s.lower() if self.lowercase else s for s in sentences]
        oov_words = [self._oov_words(sentence) for sentence in cased]
        ids = self._encode(cased, oov_words)
        found: list[list[Translation]] = [[] for _ in ids]
        blank = [row for row, sentence in enumerate(sentences) if not sentence.strip()]
        for row in blank:
            found[row] = [self._leave(sentences[row])]
        for rows in _by_length(ids, max(SIDE_BY_SIDE // places, 1), leave=set(blank)):
            sources = [ids[row] for row in rows]
            hypotheses = self._pad_and_search(sources, search)
            for i in range(n * len(rows)):
                place, row = i // n, rows[i // n]
                if i % n == 0 or hypotheses.scores[i].isfinite():  # it may end with fewer than n
                    one = self._to_translation(
                        sentences[row], sources[place], oov_words[row], hypotheses, i
                    )
                    found[row].append(one)
        return found

    def _leave(self, sentence: str) -> Translation:
        """Translate a blank sentence by nothing, whatever the model would make of it."""
        end = self.vocabularies.target.tokens([EOS])
        weights = torch.ones(1, 1) if self.has_attention else None
        return Translation(sentence, "", end, end, weights, score=0.0)

    def _pad_and_search(self, sources: list[list[int]], search: SearchFunction) -> Hypotheses:
        """Run a search on one batch: pad it, and say how long each translation may become."""
        lengths = torch.tensor([len(source) for source in sources])
        max_len = (LONGEST[0] * lengths + LONGEST[1]).to(self.device)
        longest = getattr(self.model, "longest", None)  # as in `copies`
        if longest is not None:
            max_len = max_len.clamp(max=longest)
        source, lengths = pad(sources).to(self.device), lengths.to(self.device)
        with autocast(self.device, self.bf16):
            found = search(source, lengths, max_len)
        # All at once: a GPU takes as long for the weights of one sentence.
        return Hypotheses(*(None if x is None else x.cpu() for x in found))  # type: ignore[arg-type]

    def _oov_words(self, sentence: str) -> list[str]:
        """List the words outside the vocabulary that a model that copies may write."""
        return self.vocabularies.source.unknown(sentence) if self.copies else []

    def _encode(
        self, sentences: Sequence[str], oov_words: Sequence[Sequence[str]]
    ) -> list[list[int]]:
        source = self.vocabularies.source
        if not self.copies:
            return [[*ids, EOS] for ids in source.encode_all(sentences)]
        return [
            [*source.encode(sentence, unknown), EOS]
            for sentence, unknown in zip(sentences, oov_words, strict=True)
        ]

    def _to_translation(
        self, sentence: str, source: list[int], oov_words: list[str], found: Hypotheses, row: int
    ) -> Translation:
        length = int(found.lengths[row])
        ids = found.tokens[row, :length].tolist()
        return Translation(
            source=sentence,
            text=self.vocabularies.target.decode(ids, oov_words),
            source_tokens=self.vocabularies.source.tokens(source, oov_words),
            tokens=self.vocabularies.target.tokens(ids, oov_words),
            weights=_cut(found.weights, row, length, len(source)),
            score=float(found.scores[row]),
        )


def _cut(weights: Tensor | None, row: int, steps: int, keys: int) -> Tensor | None:
    """Take the map of one sentence out of a padded batch; a copy, for the batch is large."""
    if weights is None:
        return None
    return weights[row, :steps, :keys].to("cpu", torch.float32, copy=True)


def _by_length(
    sentences: Sequence[Sequence[int]], size: int, *, leave: Collection[int] = ()
) -> Iterator[list[int]]:
    """Give rows of sentences of similar length, the longest first, but for those to leave out."""
    rows = [row for row in range(len(sentences)) if row not in leave]
    rows.sort(key=lambda row: -len(sentences[row]))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
