"""A checklist as code: is what a trained translator rests on really in place?

Each point is a property that a bug of published code breaks. Most compare two runs that should
agree, or disagree: see :mod:`seqattn.evaluation.probes`.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn
from torch.backends import cudnn

from seqattn.attention import LocalAttention
from seqattn.context_managers import evaluating
from seqattn.data.vocabulary import Vocabularies
from seqattn.evaluation import probes
from seqattn.evaluation.probes import LENGTHS, Probe, Verdict
from seqattn.specials import BOS, EOS, PAD, SPECIALS, UNK
from seqattn.translator import Translator

__all__ = ["Finding", "examine"]

Points = dict[str, Callable[[Probe], Verdict]]


@dataclass(frozen=True)
class Finding:
    """What one point of the checklist found.

    Attributes
    ----------
    point : str
        What was looked at.
    sound : bool, or None
        Whether it is in order; None if that could not be judged.
    detail : str
        What was measured.
    """

    point: str
    sound: bool | None
    detail: str

    def __str__(self) -> str:
        verdict = {True: "ok   ", False: "WRONG", None: "?    "}[self.sound]
        return f"{verdict}  {self.point:37s} {self.detail}"


def examine(translator: Translator) -> list[Finding]:
    """Go through the checklist with a translator; no sentences are needed.

    Parameters
    ----------
    translator : Translator
        What to look at. For the time of the examination its model computes in double precision,
        if it can.

    Returns
    -------
    list of Finding
        One for each point: the weights are numbers; vocabularies fit the model and survive saving;
        special tokens are in their places; two evaluations are equal, and so are a sentence alone
        and in a batch; hostile pads change nothing and are never looked at; rows sum to 1; the
        future is not read; the source is, by every weight and from every position; words that it
        has never met can be written, where the model copies; a beam's score is that of its words;
        translations end. Where a point fails with an error, that is its
        finding.

    Examples
    --------
    >>> from seqattn.data import TextPair, Vocabularies
    >>> from seqattn.models import ModelConfig, build_model
    >>> vocabularies = Vocabularies.learn([TextPair("the cat", "le chat")], ("en", "fr"))
    >>> model = build_model(ModelConfig(d_embed=5, d_hidden=7), 6, 6)
    >>> found = examine(Translator(model, vocabularies))
    >>> print(found[1])
    ok     vocabularies fit the model            6 and 6 tokens, 6 logits
    >>> {finding.point: finding.sound for finding in found}["no attention on padding"]
    True
    """
    with evaluating(translator.model), _precisely(translator.model):
        probe = Probe(translator)
        found = _ask(BASICS, probe)
        if all(finding.sound for finding in found):  # else there is nothing to run
            found += _ask(PLAIN, probe) + _ask(REPEATABLE, probe)
            steady = found[-1].sound
            why = "not judged, because two evaluations differ"
            if steady:
                found += _ask(COMPARING, probe)
            else:
                found += [Finding(point, None, why) for point in COMPARING]
            found += _ask(LAST, probe)
    return found


def _ask(points: Points, probe: Probe) -> list[Finding]:
    """Look at each point; an error on the way is what the point found."""
    found = []
    for name, point in points.items():
        try:
            verdict = point(probe)
        except Exception as error:
            said = (str(error).strip().splitlines() or [""])[0]
            verdict = False, f"{type(error).__name__}: {said}"
        if verdict is not None:
            found.append(Finding(name, *verdict))
    return found


@contextmanager
def _precisely(model: nn.Module) -> Iterator[None]:
    """Compute in double precision, and put every weight back as it was, bit by bit."""
    kinds = {p.dtype for p in model.parameters()} | {
        b.dtype for b in model.buffers() if b.is_floating_point()
    }
    devices = {p.device.type for p in model.parameters()}
    # 32 bits and back through 64 are the same bits. Some devices have no 64.
    if len(kinds) != 1 or not devices <= {"cpu", "cuda"}:
        # In full 32 bits, then: cuDNN's recurrent layers round to TF32 (10 bits) by default.
        with cudnn.flags(enabled=cudnn.enabled, allow_tf32=False):
            yield
        return
    try:
        model.double()
        yield
    finally:
        model.to(kinds.pop())


# The points, in the order of the page. First what everything rests on.


def _finite(probe: Probe) -> Verdict:
    count = sum(int((~p.isfinite()).sum()) for p in probe.model.parameters())
    return count == 0, f"{count} are not"


def _vocabularies(probe: Probe) -> Verdict:
    logits = probe.run(torch.tensor([[EOS]]), [1], [[BOS]])[0].shape[-1]
    copies = probe.translator.copies
    gated = probe.model.get_submodule("decoder.embedding") if copies else None
    tables = {
        len(part.weight) - (part is gated)  # the gate's own row is none of a token
        for name, part in probe.model.named_modules()
        if isinstance(part, nn.Embedding) and "position" not in name
    }
    sizes = [len(vocabulary) for vocabulary in probe.translator.vocabularies]
    fits = {*tables, logits} == {*sizes} and logits == sizes[1]
    shown = " and ".join(f"{size:,}" for size in sizes)
    return fits, f"{shown} tokens, {logits:,} logits"


def _specials(probe: Probe) -> Verdict:
    names = [vocabulary.tokens(range(UNK + 1)) for vocabulary in probe.translator.vocabularies]
    clean = all(v.decode([EOS, PAD]) == "" for v in probe.translator.vocabularies)
    sound = clean and all(found == list(SPECIALS) for found in names)
    return sound, " ".join(names[-1])


def _saved(probe: Probe) -> Verdict:
    before = probe.translator.vocabularies
    after = Vocabularies.from_dict(json.loads(json.dumps(before.to_dict())))
    same = all(
        old.encode(text) == new.encode(text)
        for old, new, sentences in zip(before, after, (probe.sources, probe.inputs), strict=True)
        for text in map(old.decode, sentences)
    )
    return same, "as JSON, and back"


def _rows(probe: Probe) -> Verdict:
    weights = probe.before[1]
    if weights is None:
        return None
    sums = weights.sum(-1)
    # Luong's Gaussian is not normalised again: rows of local attention sum to less.
    local = any(isinstance(part, LocalAttention) for part in probe.mechanisms.values())
    low, high = sums.min().item(), sums.max().item()
    return high < 1 + 1e-4 and (local or low > 1 - 1e-4), f"from {low:.4f} to {high:.4f}"


def _pads_unseen(probe: Probe) -> Verdict:
    weights = probe.before[1]
    if weights is None:
        return None
    sizes = torch.tensor(LENGTHS)[:, None]
    pads = (torch.arange(weights.shape[-1])[None] >= sizes).to(weights.device)
    most = weights.masked_select(pads[:, None].expand_as(weights)).abs().max().item()
    return most == 0.0, f"largest weight there {most:.1e}"


def _copies(probe: Probe) -> Verdict:
    if not probe.translator.copies:
        return None
    size = len(probe.translator.vocabularies.source)
    # Two unknown words in each source, with ids after the vocabulary's own.
    sources = [[size, size + 1, *source[2:]] for source in probe.sources]
    logits, _ = probe.read(sources, probe.inputs)
    least, sums = logits[..., size : size + 2].exp().min().item(), logits.exp().sum(-1)
    sound = (
        least > torch.finfo(torch.float32).tiny
        and bool((sums - 1).abs().max() < probe.close)
        and logits.shape[-1] == size + 2
    )
    return sound, f"with a probability of at least {least:.1e}"


def _repeatable(probe: Probe) -> Verdict:
    forced = probes.apart(probe.before[0], probe.read(probe.sources, probe.inputs)[0])
    one, other = (probes.search(probe, probe.sources).scores for _ in range(2))
    searched = probes.apart(one, other)
    detail = f"logits apart by {forced:.1e}, scores of a search by {searched:.1e}"
    if max(forced, searched) < probe.close:
        return True, detail
    return False, f"{detail}: dropout in evaluation?"


def _end_to_end(probe: Probe) -> Verdict:
    vocabulary = probe.translator.vocabularies.source
    texts = [vocabulary.decode(source) for source in probe.sources]
    found = probe.translator.translate(texts, beam=1)
    ended = sum(one.tokens[-1] == "<eos>" for one in found)
    clean = all("<pad>" not in one.tokens and "<eos>" not in one.tokens[:-1] for one in found)
    return (
        clean and ended > 0,
        f"{ended} of {len(found)} sentences of random words with <eos>",
    )


BASICS: Points = {
    "all weights are numbers": _finite,
    "vocabularies fit the model": _vocabularies,
}
PLAIN: Points = {
    "special tokens in their places": _specials,
    "vocabularies survive saving": _saved,
    "no attention on padding": _pads_unseen,
    "rows of weights sum to 1": _rows,
    "unknown words can be copied": _copies,
}
REPEATABLE: Points = {"two evaluations are equal": _repeatable}
COMPARING: Points = {
    "batch of one equals batch of many": probes.batch_independence,
    "hostile pads change no logit": probes.hostile_padding,
    "no step reads a later word": probes.causality,
    "another source, other logits": probes.source_matters,
    "weights move with the keys": probes.keys_matter,
    "every source word reaches the logits": probes.source_reachable,
    "beam score equals the rescored": probes.beam_rescored,
}
LAST: Points = {"translations end, once": _end_to_end}
