"""The probabilities that a beam search meets, as a table to look at."""

from typing import Any

import torch
from torch import Tensor

from seqattn.context_managers import evaluating
from seqattn.decoding import Step, beam_search
from seqattn.decoding.rows import permitted
from seqattn.precision import at_least_single
from seqattn.settings import check_whole
from seqattn.specials import BOS, EOS, PAD
from seqattn.translator import Translator

__all__ = ["beam_tree"]


def beam_tree(
    translator: Translator, sentence: str, *, widest: int = 4, max_len: int | None = None
) -> dict[str, dict[str, float]]:
    """Trace the package's own beam search: the next words after every beginning that it looked at.

    Parameters
    ----------
    translator : Translator
        Whose model is searched.
    sentence : str
        The source.
    widest : int
        Beams of 1 to so many are searched, each to its end.
    max_len : int, optional
        Most tokens to write; by default twice those of the source, and ten.

    Returns
    -------
    dict
        From a beginning, its words with spaces between, to the probabilities of the ``widest``
        likeliest next words. :class:`~seqattn.decoding.TableModel` and
        :class:`~seqattn.widgets.BeamTree` take it: a search of that width or less finds there what
        it finds in the model.

    Raises
    ------
    ValueError
        If the sentence is blank, ``widest`` or ``max_len`` below 1, or the model copies words of
        the source.

    Examples
    --------
    >>> table = beam_tree(Translator.load("toy"), "the cat sat on the mat", widest=2)
    >>> list(table[""]), max(table["le chat"], key=table["le chat"].get)
    (['le', 'les'], "s'")
    """
    if not sentence.strip():
        raise ValueError("the sentence is blank: there is nothing to search for")
    check_whole("widest", widest, least=1)
    if translator.copies:
        raise ValueError("the model copies words of the source: its words have no fixed ids")
    read = sentence.lower() if translator.lowercase else sentence
    [ids] = translator.vocabularies.source.encode_all([read])
    source = torch.tensor([[*ids, EOS]], device=translator.device)
    if max_len is None:
        max_len = 2 * source.shape[1] + 10
    model = _Traced(translator, widest)
    with evaluating(translator.model):
        for beam in range(1, widest + 1):
            beam_search(
                model,
                source,
                torch.tensor([source.shape[1]], device=translator.device),
                beam=beam,
                max_len=max_len,
                n_best=beam,  # else the search gives up what can no longer win
            )
    return dict(sorted(model.table.items(), key=lambda entry: len(entry[0].split())))


class _Traced:
    """A model with its words in its state: wherever a search moves them, they say what was read."""

    def __init__(self, translator: Translator, widest: int):
        self.model, self.widest = translator.model, widest
        self.vocabulary = translator.vocabularies.target
        self.table: dict[str, dict[str, float]] = {}

    def begin(self, source: Tensor, lengths: Tensor) -> tuple[Any, Any]:
        state, memory = self.model.begin(source, lengths)
        return (torch.empty(len(source), 0, dtype=torch.long, device=source.device), state), memory

    def step(self, tokens: Tensor, state: Any, memory: Any) -> Step:
        written, inner = state
        written = torch.cat([written, tokens[:, None]], 1)
        logits, weights, inner = self.model.step(tokens, inner, memory)
        chances = permitted(logits.log_softmax(-1, dtype=at_least_single(logits.dtype))).exp()
        best = chances.topk(min(self.widest, chances.shape[-1]))
        rows = zip(written.tolist(), best.values.tolist(), best.indices.tolist(), strict=True)
        for words, values, ids in rows:
            if not {PAD, EOS} & set(words):
                row = zip(self.vocabulary.tokens(ids), values, strict=True)
                self.table[" ".join(self.vocabulary.tokens([w for w in words if w != BOS]))] = dict(
                    (word, p) for word, p in row if p > 0
                )
        return Step(logits, weights, (written, inner))
