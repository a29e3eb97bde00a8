"""Two runs of a model that should agree, or disagree: what a bug of published code breaks.

A model is looked at from outside: by what it gives, and by what stands in the memories of its
attention. Runs are made in double precision, where two that agree differ by 1e-13 and anything else
by far more, so that no threshold has to be chosen with care.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from seqattn.attention import HardAttention, Mechanism, Memory
from seqattn.attention.testing import RUBBISH, check_padding
from seqattn.data.batches import pad
from seqattn.decoding import Hypotheses, Step, beam_search
from seqattn.models import Seq2SeqAttention
from seqattn.specials import BOS, EOS, UNK
from seqattn.translator import Translator

__all__ = [
    "LENGTHS",
    "Moved",
    "Probe",
    "Verdict",
    "apart",
    "batch_independence",
    "beam_rescored",
    "causality",
    "hostile_padding",
    "keys_matter",
    "search",
    "source_matters",
    "source_reachable",
    "which_steps_move",
]

# Sentences to look at, of these lengths, <eos> included; and as many of one length, not padded.
LENGTHS = (3, 5, 7, 11)
LENGTH = 7
STEPS = 5
# Positions of padding beyond the longest sentence.
MORE = 3
# A beam, and how far it goes: wide enough for beginnings to change places.
BEAM, FURTHEST = 4, 8
# What should move moves by this at least: untrained models, which listen least, by 1e-3 and more.
MOVES = 1e-4
# The share of itself by which a context moves, at least, when the keys are those of another
# sentence: 1e-4 in untrained models, whose weights are nearly uniform, and exactly 0 where keys are
# not read.
LISTENS = 1e-7

# Two runs in double precision that should agree differ by less, and what moves by far more.
STILL = 1e-9


Verdict = tuple[bool, str] | None
"""What a point gives: whether it is in order, and what was measured; None if it does not apply."""


class Probe:
    """Sentences of random tokens, and what the model makes of them."""

    def __init__(self, translator: Translator):
        self.translator, self.model = translator, translator.model
        source, target = translator.vocabularies
        dice = torch.Generator().manual_seed(0)

        def draw(size: int, most: int) -> list[int]:
            return torch.randint(UNK + 1, max(most, UNK + 2), (size,), generator=dice).tolist()

        self.sources = [[*draw(n - 1, len(source)), EOS] for n in LENGTHS]
        self.inputs = [[BOS, *draw(STEPS - 1, len(target))] for _ in LENGTHS]
        self.even = [[*draw(LENGTH - 1, len(source)), EOS] for _ in LENGTHS]
        self.rubbish = draw(len(LENGTHS) * (max(LENGTHS) + MORE), len(source))

    @cached_property
    def before(self) -> tuple[Tensor, Tensor | None]:
        """Logits and weights of the padded batch."""
        return self.read(self.sources, self.inputs)

    @cached_property
    def close(self) -> float:
        """By how much two runs may differ that should agree."""
        return 1e-8 if next(self.model.parameters()).dtype == torch.float64 else 1e-4

    def read(
        self, sources: list[list[int]], inputs: list[list[int]]
    ) -> tuple[Tensor, Tensor | None]:
        """Run the model on a batch, teacher-forced."""
        return self.run(pad(sources), [len(source) for source in sources], inputs)

    def run(
        self, source: Tensor, lengths: list[int], inputs: list[list[int]]
    ) -> tuple[Tensor, Tensor | None]:
        """Run the model on a batch that is padded already."""
        device = self.translator.device
        logits, weights = self.model(
            source.to(device),
            torch.tensor(lengths, device=device),
            torch.tensor(inputs, device=device),
        )
        return logits, weights

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The attentions of the model by name, without those inside another."""
        found: dict[str, Mechanism] = {}
        for name, part in self.model.named_modules():
            within = any(name.startswith(f"{outer}.") for outer in found)
            if isinstance(part, Mechanism) and not within:
                found[name] = part
        return found


Remember = Callable[..., Memory]


@contextmanager
def _replaced(mechanism: Mechanism, make: Callable[[Remember], Remember]) -> Iterator[None]:
    """Put something between an attention and what it is given to remember."""
    own = vars(mechanism).get("remember")
    mechanism.remember = make(mechanism.remember)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del mechanism.remember
        if own is not None:
            mechanism.remember = own  # type: ignore[method-assign]


def apart(one: Tensor, other: Tensor) -> float:
    """Give the largest difference; NaN where one has it and the other not."""
    same = (one == other) | (one.isnan() & other.isnan())  # infinite ones, too
    return (one - other).abs().masked_fill(same, 0.0).max().item() if one.numel() else 0.0


def batch_independence(probe: Probe) -> Verdict:
    """Read sentences of one length alone, and in a batch."""
    together, _ = probe.read(probe.even, probe.inputs)
    most = 0.0
    for i, (source, inputs) in enumerate(zip(probe.even, probe.inputs, strict=True)):
        most = max(most, apart(probe.read([source], [inputs])[0][0], together[i]))
    return most < probe.close, f"at most {most:.1e} between alone and in a batch, without padding"


def hostile_padding(probe: Probe) -> Verdict:
    """Put at padding what does most harm: other words, embeddings and states."""
    alone = [
        probe.read([source], [inputs])[0][0]
        for source, inputs in zip(probe.sources, probe.inputs, strict=True)
    ]
    width = min(max(LENGTHS) + MORE, getattr(probe.model, "longest", None) or 10**6)
    padded = torch.tensor(probe.rubbish).view(len(LENGTHS), -1)[:, :width]
    pads = torch.arange(width)[None] >= torch.tensor(LENGTHS)[:, None]
    for row, source in zip(padded, probe.sources, strict=True):
        row[: len(source)] = torch.tensor(source)
    pads = pads.to(probe.translator.device)

    def off() -> float:
        logits = probe.run(padded, list(LENGTHS), probe.inputs)[0]
        pairs = zip(alone, logits, strict=True)
        # One NaN is enough, and max() would pass over it.
        return max(torch.inf if b.isnan().any() else apart(a, b) for a, b in pairs)

    moved = {"other words": off()}
    for kind, factor in RUBBISH.items():
        with ExitStack() as undo:
            for part in probe.model.modules():
                if isinstance(part, nn.Embedding):
                    hook = part.register_forward_hook(partial(_spoil, factor, pads))
                    undo.callback(hook.remove)
            moved[f"{kind} embeddings"] = off()
        with ExitStack() as undo:
            for mechanism in probe.mechanisms.values():
                undo.enter_context(_replaced(mechanism, partial(_spoiling, factor)))
            moved[f"{kind} states"] = off()
    wrong = [f"{what}: {by:.1e}" for what, by in moved.items() if not by < probe.close]
    looked = _look_at_source(probe)
    for name, (queries, keys) in looked.items():
        mechanism = probe.mechanisms[name]
        wrong += [f"{name}, {what}" for what in check_padding(mechanism, queries[0], keys)]
    if wrong:
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return False, "logits move with " + "; ".join(wrong[:3]) + more
    most = max(moved.values())
    return True, f"at most {most:.1e} with {', '.join(RUBBISH)} pads"


def _spoil(factor: float, pads: Tensor, part: nn.Module, args: Any, output: Tensor) -> Tensor:
    """Overwrite the embeddings of source pads."""
    if args[0].shape != pads.shape:
        return output
    rubbish = torch.tensor(factor, dtype=output.dtype, device=output.device)
    return torch.where(pads.unsqueeze(-1), rubbish, output)


def _spoiling(factor: float, remember: Remember) -> Remember:
    """Overwrite keys and values at padding before they are remembered."""

    def spoiled(keys: Tensor, values: Tensor | None = None, mask: Tensor | None = None) -> Memory:
        if mask is None or mask.shape != keys.shape[:2]:
            return remember(keys, values, mask)
        pads = ~mask.unsqueeze(-1)
        parts = [keys, keys if values is None else values]
        # Both signs, so that some score far above the real ones.
        bad = [
            torch.where(pads, torch.full_like(x, factor) * x[:, :1].sign() * sign, x)
            if factor == factor
            else torch.where(pads, torch.full_like(x, factor), x)
            for x, sign in zip(parts, (1.0, -1.0), strict=True)
        ]
        return remember(bad[0], bad[1], mask)

    return spoiled


def _look_at_source(probe: Probe) -> dict[str, tuple[list[Tensor], Tensor]]:
    """Give the queries of each attention that looks at the source, and the keys."""
    keys: dict[str, Tensor] = {}
    queries: dict[str, list[Tensor]] = {}

    def noting(name: str, remember: Remember) -> Remember:
        def noted(
            given: Tensor, values: Tensor | None = None, mask: Tensor | None = None
        ) -> Memory:
            if given.shape[1] == LENGTH:
                keys[name] = given
            return remember(given, values, mask)

        return noted

    def note(name: str, part: nn.Module, args: Any) -> None:
        queries.setdefault(name, []).append(args[0])

    with ExitStack() as undo:
        for name, mechanism in probe.mechanisms.items():
            undo.enter_context(_replaced(mechanism, partial(noting, name)))
            undo.callback(mechanism.register_forward_pre_hook(partial(note, name)).remove)
        probe.read(probe.even, probe.inputs)
    return {name: (queries[name], keys[name]) for name in keys if name in queries}


def causality(probe: Probe) -> Verdict:
    """Change later words of the target, and look at earlier logits."""
    logits, most = probe.before[0], 0.0
    for t in range(1, STEPS):
        changed = [
            [*inputs[:t], *(_other(token, logits.shape[-1]) for token in inputs[t:])]
            for inputs in probe.inputs
        ]
        after, _ = probe.read(probe.sources, changed)
        most = max(most, apart(after[:, :t], logits[:, :t]))
    return most < probe.close, f"earlier logits move {most:.1e}"


def source_matters(probe: Probe) -> Verdict:
    """Read another source: the logits must move."""
    size = len(probe.translator.vocabularies.source)
    changed = [[*(_other(i, size) for i in source[:-1]), EOS] for source in probe.sources]
    logits, _ = probe.read(changed, probe.inputs)
    least = (logits - probe.before[0]).abs().amax((1, 2)).min().item()
    return least > MOVES, f"they move by at least {least:.1e}"


def keys_matter(probe: Probe) -> Verdict:
    """Give each attention the keys of another sentence, and leave the values where they are."""
    if not probe.mechanisms:
        return None
    moved: dict[str, float] = {}
    for name, mechanism in probe.mechanisms.items():
        before, after = (
            _first_look(probe, mechanism, change) for change in (lambda x: x, _of_another)
        )
        if before is not None and after is not None:
            size = before.abs().max().item()
            moved[name] = apart(before, after) / size if size else 0.0
    if not moved:
        return None
    name = min(moved, key=moved.__getitem__)
    sound = moved[name] > LISTENS
    return sound, f"contexts by at least {moved[name]:.1e} of their size, in {name}"


def _of_another(x: Tensor) -> Tensor:
    return x.roll(1, 0)


def _first_look(
    probe: Probe, mechanism: Mechanism, change: Callable[[Tensor], Tensor]
) -> Tensor | None:
    """Give the context of an attention's first look, before anything can follow from it."""
    seen: list[Tensor] = []

    def changing(remember: Remember) -> Remember:
        def changed(
            keys: Tensor, values: Tensor | None = None, mask: Tensor | None = None
        ) -> Memory:
            return remember(change(keys), keys if values is None else values, mask)

        return changed

    hook = mechanism.register_forward_hook(lambda part, args, output: seen.append(output[0]))
    try:
        with _replaced(mechanism, changing):
            probe.read(probe.even, probe.inputs)
    finally:
        hook.remove()
    return seen[0] if seen else None


def source_reachable(probe: Probe) -> Verdict:
    """Ask for gradients, which in double precision are exactly 0 only where no path leads.

    A word reaches the logits in many ways, so its *state* is looked at as well: each attention must
    see all that it can reach, at each step, and each step's logits must depend on it.
    """
    words: list[Tensor] = []
    values: dict[str, Tensor] = {}
    queries: dict[str, list[Tensor]] = {}
    contexts: dict[str, list[Tensor]] = {}

    def opening(name: str, remember: Remember) -> Remember:
        def opened(keys: Tensor, given: Tensor | None = None, mask: Tensor | None = None) -> Memory:
            if keys.shape[1] != LENGTH:
                return remember(keys, given, mask)
            values[name] = _traced(keys if given is None else given)
            return remember(keys, values[name], mask)

        return opened

    def embedded(part: nn.Module, args: Any, output: Tensor) -> Tensor:
        if args[0].shape[1:] != (LENGTH,):
            return output
        words.append(_traced(output))
        return words[-1]

    def asked(name: str, part: nn.Module, args: Any) -> Any:
        # What a query owes to an earlier look is no part of this one.
        query = args[0].detach()
        queries.setdefault(name, []).append(query)
        return (query, *args[1:])

    def answered(name: str, part: nn.Module, args: Any, output: Any) -> None:
        contexts.setdefault(name, []).append(output[0])

    with ExitStack() as undo, torch.enable_grad():
        for part in probe.model.modules():
            if isinstance(part, nn.Embedding):
                undo.callback(part.register_forward_hook(embedded).remove)
        for name, mechanism in probe.mechanisms.items():
            if not isinstance(mechanism, HardAttention):  # it fetches one position, of any
                undo.enter_context(_replaced(mechanism, partial(opening, name)))
                undo.callback(mechanism.register_forward_pre_hook(partial(asked, name)).remove)
                undo.callback(mechanism.register_forward_hook(partial(answered, name)).remove)
        logits, _ = probe.read(probe.even, probe.inputs)
        looks = {
            name: (
                torch.cat([q[:, None] if q.dim() == 2 else q for q in queries[name]], 1),
                torch.cat([c[:, None] if c.dim() == 2 else c for c in contexts[name]], 1),
            )
            for name in values
            if name in contexts
        }
        missed: list[str] = []
        for t, row in enumerate(logits.unbind(1)):
            inputs = [*words, *(values[name] for name in looks)]
            reached = _reached(_mixed(row), inputs)
            for seen in reached[: len(words)]:
                missed += _tell(f"step {t}", ~seen)
            for (name, (query, _)), seen in zip(looks.items(), reached[len(words) :], strict=True):
                if query.shape[1] == STEPS:
                    wanted = probe.mechanisms[name].reach(query, LENGTH)[:, t]
                    missed += _tell(f"step {t}, through {name},", wanted & ~seen)
        for name, (query, context) in looks.items():
            wanted = probe.mechanisms[name].reach(query, LENGTH)
            for t, row in enumerate(context.unbind(1)):
                [seen] = _reached(_mixed(row), [values[name]])
                missed += _tell(f"query {t} of {name}", wanted[:, t] & ~seen)
    if missed:
        more = f"; and {len(missed) - 2} more" if len(missed) > 2 else ""
        return False, "; ".join(missed[:2]) + more
    return True, f"all that can be seen of {LENGTH} positions, at each of {STEPS} steps"


def _traced(x: Tensor) -> Tensor:
    copy = x.clone()
    return copy if copy.requires_grad else copy.requires_grad_()


def _reached(total: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Say which positions (batch, keys) of each input a sum depends on."""
    if not total.requires_grad:
        return [torch.zeros(x.shape[:2], dtype=torch.bool, device=x.device) for x in inputs]
    grads = torch.autograd.grad(total, inputs, retain_graph=True, materialize_grads=True)
    return [grad.ne(0).any(-1) for grad in grads]


def _mixed(x: Tensor) -> Tensor:
    """Sum features up with weights of no pattern, so that no two cancel."""
    dice = torch.Generator().manual_seed(1)
    return (x * torch.randn(x.shape, generator=dice).to(x)).sum()


def _tell(where: str, missing: Tensor) -> list[str]:
    """Name the positions that are missing in any sentence."""
    places = missing.any(0).nonzero()[:, 0].tolist()
    if not places:
        return []
    return [f"{where} misses position{'s' * (len(places) > 1)} {', '.join(map(str, places))}"]


class Moved(NamedTuple):
    """What a change moved: numbers of steps, counted from 1.

    Attributes
    ----------
    states, rows, logits : tuple of int
        Steps after which the decoder's recurrent state is another, whose attention weights are
        others, and whose logits are.
    """

    states: tuple[int, ...]
    rows: tuple[int, ...]
    logits: tuple[int, ...]


@torch.no_grad()
def which_steps_move(
    model: Seq2SeqAttention,
    source: Sequence[int],
    inputs: Sequence[int],
    change: Literal["token", "values"],
    *,
    at: int = 4,
) -> Moved:
    """Run a decoder twice, with one change, and say at which steps it makes a difference.

    Two changes tell designs apart, whatever they are called. Another *token* at one step moves the
    attention of that step if the decoder updates before it asks, and that of the next step if it
    asks first. Other *values*, under the same keys and the same first state, move the weights of
    later steps only if what attention gave comes back into the recurrence, and the logits only if
    the context is used at all.

    Parameters
    ----------
    model : Seq2SeqAttention
        A recurrent decoder with attention. It is copied, not changed: the copy computes in double
        precision, without dropout.
    source : sequence of int
        Ids of a source sentence, the end of the sentence included.
    inputs : sequence of int
        Ids that the decoder reads, ``<bos>`` first.
    change : {"token", "values"}
        Read another token at step ``at``; or multiply all values by 5 and leave the keys.
    at : int
        Step whose token is changed, from 1.

    Returns
    -------
    Moved

    Raises
    ------
    ValueError
        If there is no such change or step, or nothing to attend to.

    References
    ----------
    The orders of events are those of Bahdanau, Cho and Bengio (2015), section 3.1, and of Luong,
    Pham and Manning (2015), section 3.

    Examples
    --------
    >>> from seqattn.models import ModelConfig, build_model
    >>> model = build_model(ModelConfig("luong", d_embed=4, d_hidden=6, input_feeding=False), 9, 9)
    >>> which_steps_move(model, [5, 6, 7, 2], [1, 4, 5, 6, 7, 8], "token").rows
    (4, 5, 6)
    >>> which_steps_move(model, [5, 6, 7, 2], [1, 4, 5, 6, 7, 8], "values").rows
    ()
    """
    if change not in ("token", "values"):
        raise ValueError(f"change is {change!r}; expected 'token' or 'values'")
    if change == "token" and not 1 <= at <= len(inputs):
        raise ValueError(f"at is {at}; expected a step from 1 to {len(inputs)}, one for each input")
    copied = copy.deepcopy(model).double().eval()
    device = next(copied.parameters()).device
    start, memory = copied.begin(
        torch.tensor([list(source)], device=device), torch.tensor([len(source)], device=device)
    )
    if memory is None:
        raise ValueError("the model has no attention; expected a decoder that looks at its source")

    def run(tokens: Sequence[int], memory: Memory) -> list[Step]:
        steps, state = [], start
        for token in tokens:
            steps.append(copied.step(torch.tensor([token], device=device), state, memory))
            state = steps[-1].state
        return steps

    other, changed = list(inputs), memory
    if change == "token":
        other[at - 1] = _other(inputs[at - 1], copied.vocabulary.out_features)
    else:
        changed = memory._replace(values=5 * memory.values)
    looks: dict[str, Callable[[Step], Tensor | None]] = {
        "states": lambda step: torch.cat(
            [*step.state.hidden.outputs, *(step.state.hidden.cells or ())]
        ),
        "rows": lambda step: step.weights,
        "logits": lambda step: step.logits,
    }
    before, after = run(inputs, memory), run(other, changed)
    moved: dict[str, tuple[int, ...]] = {}
    for name, look in looks.items():
        pairs = enumerate(zip(map(look, before), map(look, after), strict=True), start=1)
        moved[name] = tuple(
            t for t, (a, b) in pairs if a is not None and b is not None and apart(a, b) > STILL
        )
    return Moved(**moved)


def search(probe: Probe, sources: list[list[int]]) -> Hypotheses:
    """Find the beam's translations of sentences."""
    device = probe.translator.device
    lengths = torch.tensor([len(source) for source in sources], device=device)
    return beam_search(
        probe.model, pad(sources).to(device), lengths,
        beam=BEAM, n_best=BEAM, max_len=FURTHEST, length_penalty=0.0,
    )  # fmt: skip


def beam_rescored(probe: Probe) -> Verdict:
    """Search in a padded batch; score what was found without padding, all steps at once."""
    found = search(probe, probe.sources)
    worst, number = 0.0, 0
    for row, (tokens, length) in enumerate(zip(found.tokens, found.lengths.tolist(), strict=True)):
        if found.scores[row] == -torch.inf:
            continue  # fewer were found than asked for
        words = tokens[:length]
        inputs = [BOS, *words[:-1].tolist()]
        logits, _ = probe.read([probe.sources[row // BEAM]], [inputs])
        steps = logits[0].log_softmax(-1).gather(1, words[:, None])
        off = abs(steps.sum().item() - found.scores[row].item())
        worst, number = max(worst, off if off == off else torch.inf), number + 1
    return worst < probe.close, f"at most {worst:.1e} apart, in {number} translations"


def _other(token: int, size: int) -> int:
    """Give another ordinary token."""
    first = UNK + 1
    return first + (token - first + 1) % (size - first)
