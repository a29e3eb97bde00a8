"""A checklist as code: is what a trained translator rests on really in place?"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.backends import cudnn

from seqattn.attention import LocalAttention
from seqattn.data.batches import pad
from seqattn.data.vocabulary import Vocabularies
from seqattn.data.words import SPECIALS
from seqattn.models import evaluating
from seqattn.specials import BOS, EOS, PAD, UNK
from seqattn.translator import Translator

__all__ = ["Finding", "examine"]

# Sentences to look at, of these lengths, <eos> included.
LENGTHS = (3, 5, 7, 11)
STEPS = 5
CLOSE = 1e-4


@dataclass(frozen=True)
class Finding:
    """What one point of the checklist found.

    Attributes
    ----------
    point : str
        What was looked at.
    sound : bool
        Whether it is in order.
    detail : str
        What was measured.
    """

    point: str
    sound: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok   ' if self.sound else 'WRONG'}  {self.point:36s} {self.detail}"


def examine(translator: Translator) -> list[Finding]:
    """Go through the checklist with a translator; no sentences are needed.

    Parameters
    ----------
    translator : Translator
        What to look at.

    Returns
    -------
    list of Finding
        One for each point: the weights are numbers; vocabularies fit the model and survive saving;
        special tokens are in their places; padding changes nothing and is never looked at; rows sum
        to 1; the future is not read; the source is; words that it has never met can be written,
        where the model copies; translations end.

    Examples
    --------
    >>> from seqattn.data import TextPair, Vocabularies
    >>> from seqattn.models import ModelConfig, build_model
    >>> vocabularies = Vocabularies.learn([TextPair("the cat", "le chat")], ("en", "fr"))
    >>> model = build_model(ModelConfig(d_embed=5, d_hidden=7), 6, 6)
    >>> found = examine(Translator(model, vocabularies))
    >>> print(found[1])
    ok     vocabularies fit the model           6 and 6 tokens, 6 logits
    >>> {finding.point: finding.sound for finding in found}["no attention on padding"]
    True
    """
    points: list[Callable[[_Probe], Finding | None]] = [
        _specials, _saved, _padding, _pads_unseen, _rows, _future, _source, _copies, _ends,
    ]  # fmt: skip
    # In full 32 bits on a GPU, too: cuDNN's recurrent layers round to TF32 (10 bits) by default,
    # which changes more than padding may.
    exact = cudnn.flags(enabled=cudnn.enabled, allow_tf32=False)
    with evaluating(translator.model), exact:
        found = [_finite(translator), _vocabularies(translator)]
        if all(finding.sound for finding in found):  # else there is nothing to run
            probe = _Probe(translator)
            found += [finding for point in points if (finding := point(probe)) is not None]
    return found


class _Probe:
    """Sentences of random tokens, and what the model makes of them."""

    def __init__(self, translator: Translator):
        self.translator, self.model = translator, translator.model
        source, target = translator.vocabularies
        dice = torch.Generator().manual_seed(0)

        def draw(size: int, most: int) -> list[int]:
            return torch.randint(UNK + 1, most, (size,), generator=dice).tolist()

        self.sources = [[*draw(n - 1, len(source)), EOS] for n in LENGTHS]
        self.inputs = [[BOS, *draw(STEPS - 1, len(target))] for _ in LENGTHS]
        self.logits, self.weights = self.read(self.sources, self.inputs)

    def read(
        self, sources: list[list[int]], inputs: list[list[int]]
    ) -> tuple[Tensor, Tensor | None]:
        """Run the model on a batch, teacher-forced."""
        device = self.translator.device
        lengths = torch.tensor([len(source) for source in sources])
        logits, weights = self.model(
            pad(sources).to(device), lengths.to(device), torch.tensor(inputs, device=device)
        )
        return logits.float().cpu(), None if weights is None else weights.float().cpu()


def _finite(translator: Translator) -> Finding:
    count = sum(int((~p.isfinite()).sum()) for p in translator.model.parameters())
    return Finding("all weights are numbers", count == 0, f"{count} are not")


def _vocabularies(translator: Translator) -> Finding:
    end, begin = torch.tensor([[EOS]]), torch.tensor([[BOS]])
    device = translator.device
    output = translator.model(end.to(device), torch.tensor([1]).to(device), begin.to(device))
    logits = output.logits.shape[-1]
    gated = translator.model.decoder.embedding if translator.copies else None
    tables = [
        len(part.weight) - (part is gated)  # the gate's own row is none of a token
        for name, part in translator.model.named_modules()
        if isinstance(part, torch.nn.Embedding) and "position" not in name
    ]
    sizes = [len(vocabulary) for vocabulary in translator.vocabularies]
    fits = {*tables, logits} == {*sizes} and logits == sizes[1]
    shown = " and ".join(f"{size:,}" for size in sizes)
    return Finding("vocabularies fit the model", fits, f"{shown} tokens, {logits:,} logits")


def _specials(probe: _Probe) -> Finding:
    names = [vocabulary.tokens(range(UNK + 1)) for vocabulary in probe.translator.vocabularies]
    clean = all(v.decode([EOS, PAD]) == "" for v in probe.translator.vocabularies)
    sound = clean and all(found == list(SPECIALS) for found in names)
    return Finding("special tokens in their places", sound, " ".join(names[-1]))


def _saved(probe: _Probe) -> Finding:
    before = probe.translator.vocabularies
    after = Vocabularies.from_dict(json.loads(json.dumps(before.to_dict())))
    same = all(
        old.encode(text) == new.encode(text)
        for old, new, sentences in zip(before, after, (probe.sources, probe.inputs), strict=True)
        for text in map(old.decode, sentences)
    )
    return Finding("vocabularies survive saving", same, "as JSON, and back")


def _padding(probe: _Probe) -> Finding:
    most = 0.0
    for i, (source, inputs) in enumerate(zip(probe.sources, probe.inputs, strict=True)):
        alone, _ = probe.read([source], [inputs])
        most = max(most, (alone[0] - probe.logits[i]).abs().max().item())
    return Finding(
        "padding changes no logit", most < CLOSE, f"at most {most:.1e} between alone and in a batch"
    )


def _pads_unseen(probe: _Probe) -> Finding | None:
    if probe.weights is None:
        return None
    sizes = torch.tensor(LENGTHS)[:, None]
    pads = torch.arange(probe.weights.shape[-1])[None] >= sizes
    most = probe.weights.masked_select(pads[:, None].expand_as(probe.weights)).max().item()
    return Finding("no attention on padding", most == 0.0, f"largest weight there {most:.1e}")


def _rows(probe: _Probe) -> Finding | None:
    if probe.weights is None:
        return None
    sums = probe.weights.sum(-1)
    # Luong's Gaussian is not normalised again: rows of local attention sum to less.
    local = isinstance(getattr(probe.model.decoder, "attention", None), LocalAttention)
    low, high = sums.min().item(), sums.max().item()
    sound = high < 1 + CLOSE and (local or low > 1 - CLOSE)
    return Finding("rows of weights sum to 1", sound, f"from {low:.4f} to {high:.4f}")


def _future(probe: _Probe) -> Finding:
    changed = [
        [*inputs[:-1], _other(inputs[-1], probe.logits.shape[-1])] for inputs in probe.inputs
    ]
    logits, _ = probe.read(probe.sources, changed)
    most = (logits - probe.logits)[:, :-1].abs().max().item()
    return Finding("no step reads a later word", most < CLOSE, f"earlier logits move {most:.1e}")


def _source(probe: _Probe) -> Finding:
    size = len(probe.translator.vocabularies.source)
    changed = [[*(_other(i, size) for i in source[:-1]), EOS] for source in probe.sources]
    logits, _ = probe.read(changed, probe.inputs)
    least = (logits - probe.logits).abs().amax((1, 2)).min().item()
    return Finding(
        "another source, other logits", least > CLOSE, f"they move by at least {least:.1e}"
    )


def _copies(probe: _Probe) -> Finding | None:
    if not probe.translator.copies:
        return None
    size = len(probe.translator.vocabularies.source)
    # Two unknown words in each source, with ids after the vocabulary's own.
    sources = [[size, size + 1, *source[2:]] for source in probe.sources]
    logits, _ = probe.read(sources, probe.inputs)
    least, sums = logits[..., size : size + 2].exp().min().item(), logits.exp().sum(-1)
    sound = least > 0 and bool((sums - 1).abs().max() < CLOSE) and logits.shape[-1] == size + 2
    return Finding(
        "unknown words can be copied", sound, f"with a probability of at least {least:.1e}"
    )


def _ends(probe: _Probe) -> Finding:
    vocabulary = probe.translator.vocabularies.source
    texts = [vocabulary.decode(source) for source in probe.sources]
    found = probe.translator.translate(texts, beam=1)
    ended = sum(one.tokens[-1] == "<eos>" for one in found)
    clean = all("<pad>" not in one.tokens and "<eos>" not in one.tokens[:-1] for one in found)
    detail = f"{ended} of {len(found)} sentences of random words with <eos>"
    return Finding("translations end, once", clean and ended > 0, detail)


def _other(token: int, size: int) -> int:
    """Give another ordinary token."""
    first = UNK + 1
    return first + (token - first + 1) % (size - first)
