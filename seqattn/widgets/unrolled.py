"""Encoder, attention and decoder unrolled in time, one event after the other."""

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

import torch
import traitlets
from torch import Tensor
from torch.nn import functional as F

from seqattn.attention import Attention, Memory, attend, causal_mask
from seqattn.attention.core import masked_softmax
from seqattn.attention.scores import AdditiveScore, GeneralScore, scaled_dot_score
from seqattn.data.book import measured
from seqattn.models import ModelConfig, Seq2SeqAttention, Transformer, build_model
from seqattn.models.readouts import TanhReadout
from seqattn.models.transformer import DecoderLayer, EncoderLayer, NoPositions, RotaryAttention
from seqattn.specials import BOS, EOS, PAD, UNK
from seqattn.widgets.base import LiveFigure

__all__ = ["Unrolled"]

STEP_EVENTS = {
    "none": ("update", "say"),
    "bahdanau": ("ask", "weigh", "mix", "update", "say"),
    "luong": ("update", "ask", "weigh", "mix", "combine", "say"),
    "luong, no feeding": ("update", "ask", "weigh", "mix", "combine", "say"),
    "transformer": ("embed", "look back", "ask", "weigh", "mix", "combine", "say"),
}
# Of all words at once, where nothing is read one after the other.
ENCODING_AT_ONCE = ("embed", "look around", "combine")
TRAINING_EVENTS = ("feed", "run", "loss", "gradient", "step")
PHASES = ("encode", "decode", "train")
PARTS = ("encoder", "bridge", "attention", "decoder", "output")
SHOWN = 8  # numbers of a state that are drawn
RATE = 0.01  # learning rate of the training step
LONGEST = 8  # most target words


class Unrolled(LiveFigure):
    r"""One translation, unrolled in time: what feeds what, event by event, in three phases.

    The numbers are those of small translators that ``benchmarks/unrolled.py`` trained on the 72
    sentences of a tiny language (*the black cat sleeps*, *le chat noir dort*); :meth:`of` takes
    them from a model of yours.

    Parameters
    ----------
    words : sequence of str or str, optional
        Source sentence; of the tiny language.
    target : sequence of str or str, optional
        The reference, which the training step feeds; what the model writes if not given.
    orders : sequence of {"none", "bahdanau", "luong", "luong, no feeding", "transformer"}
        Models to choose from, by their order of events; the first is shown first. ``"none"`` has no
        attention: the last encoder state is all that the decoder gets. ``"transformer"`` has no
        recurrence: one layer each of encoder and decoder, one head.
    phases : sequence of {"encode", "decode", "train"}
        What can be stepped through: reading the source, writing, one training step.
    lit : sequence of {"encoder", "bridge", "attention", "decoder", "output"}
        Parts in full colour, the others pale; all if empty.
    phase : str, optional
        Phase shown first; the first of ``phases`` if not given.
    event : int
        Event of that phase shown first, counted from 0.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If a word, order, phase or part is unknown.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), section 3.1; Luong, Pham and Manning (2015), section 3; Vaswani
    et al. (2017), section 3.1.

    Examples
    --------
    >>> figure = Unrolled("the black cat sleeps", orders=["bahdanau"], phases=["decode"])
    >>> figure.written
    ['le', 'chat', 'noir', 'dort', '<eos>']
    >>> figure.event = 10  # step 3 asks: where is "noir"?
    >>> [round(w, 2) for w in figure.numbers()["weights"]]
    [0.02, 0.87, 0.03, 0.09]
    """

    _js = "unrolled.js"
    _moves = ("order", "phase", "event")
    _title = "A translator, unrolled"

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    written = traitlets.List(
        traitlets.Unicode(), help="What the first model writes, <eos> last."
    ).tag(sync=True)
    runs: "traitlets.Dict[str, Any]" = traitlets.Dict(help="Numbers by order.").tag(sync=True)
    orders = traitlets.List(traitlets.Unicode()).tag(sync=True)
    phases = traitlets.List(traitlets.Unicode()).tag(sync=True)
    lit = traitlets.List(traitlets.Unicode()).tag(sync=True)
    order = traitlets.Unicode().tag(sync=True)
    phase = traitlets.Unicode().tag(sync=True)
    event = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        words: str | Sequence[str] = ("the", "black", "cat", "sleeps"),
        target: str | Sequence[str] | None = None,
        *,
        orders: Sequence[str] = ("bahdanau",),
        phases: Sequence[str] = PHASES,
        lit: Sequence[str] = (),
        phase: str | None = None,
        event: int = 0,
        runs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        _check("orders", orders, STEP_EVENTS)
        _check("phases", phases, PHASES)
        _check("lit", lit, PARTS, empty=True)
        phase = phases[0] if phase is None else phase
        _check("phase", [phase], phases)
        words = words.split() if isinstance(words, str) else list(words)
        reference = target.split() if isinstance(target, str) else target
        if runs is None:
            runs = {name: _tiny_run(name, words, reference) for name in orders}
        super().__init__(
            words=words,
            written=runs[orders[0]]["decode"]["words"],
            runs=dict(runs),
            orders=list(orders),
            phases=list(phases),
            lit=list(lit),
            order=orders[0],
            phase=phase,
            event=event,
            **options,
        )

    @classmethod
    def of(
        cls,
        model: Seq2SeqAttention | Transformer,
        source: Sequence[int],
        reference: Sequence[int],
        words: Sequence[str],
        vocabulary: Sequence[str],
        **options: Any,
    ) -> "Unrolled":
        """Show a model of yours at work: its own states, weights and gradients.

        Parameters
        ----------
        model : Seq2SeqAttention or Transformer
            A recurrent model of one layer, as the figure's formulas have it: a GRU without
            attention, which gets the encoder's summary at every step; with the additive score and
            the context first (Bahdanau); or with the general score, the state first, and the tanh
            readout (Luong). Or a Transformer of one layer and one head, in pre norm, with positions
            that are added to the embeddings.
        source, reference : sequence of int
            Ids of the source, and of the right translation without ``<bos>`` and ``<eos>``.
        words : sequence of str
            The source words, one for each id of ``source``.
        vocabulary : sequence of str
            The target words by their ids.
        **options
            ``phases``, ``lit``, ``phase``, ``event``, ``title``, ``caption`` and ``predict``.

        Returns
        -------
        Unrolled

        Raises
        ------
        ValueError
            If there is not one word for each id of the source, or the model is another one.
        """
        if len(words) != len(source):
            raise ValueError(
                f"there are {len(words)} words; expected {len(source)}, one for each id of source"
            )
        order = _order(model)
        runs = {order: _both_runs(model, source, reference, vocabulary)}
        return cls(words, orders=[order], runs=runs, **options)

    def numbers(self) -> dict[str, Any]:
        """Compute what this event shows, by PyTorch in float64."""
        run = self.runs[self.order]
        events = _events(self.order, self.phase, run, len(self.words))
        t, name = events[min(self.event, len(events) - 1)]
        shown = {"phase": self.phase, "event": name, "step": t}
        data = (self.phase == "train" and run["train"]) or run["decode"]
        h, s = _tensor(data["states"]), _tensor(data["decoder_states"])
        if self.phase == "encode" and self.order == "transformer":
            seen = {"embed": "embedded", "look around": "looked", "combine": "states"}[name]
            return shown | {"states": data[seen], "weights": data["around"]}
        if self.phase == "encode":
            at = {"read": t, "back": 1}.get(name, len(h))
            return shown | {"state": h[at - 1].tolist(), "first_decoder_state": s[0].tolist()}
        if self.phase == "train":
            return shown | {
                "losses": data["losses"],
                "loss": _tensor(data["losses"]).mean().item(),
                "loss_after": data["loss_after"],
                "gradients_of_embeddings": data["pull"],
                "gradients_of_decoder_states": data["pull_decoder"],
            }
        if self.order == "transformer":
            shown |= {"input": data["inputs"][t - 1], "weights_back": data["back"][t - 1][:t]}
            shown |= {"state": s[t - 1].tolist(), "output": data["features"][t - 1]}
        else:
            shown |= {"state_before": s[t - 1].tolist(), "state": s[t].tolist()}
        if data["scores"]:
            scores = _tensor(data["scores"])[t - 1]
            values = _tensor(data["values"]) if "values" in data else h
            context, weights = attend(scores[None], values[None])
            shown |= {"scores": scores.tolist(), "weights": weights[0].tolist()}
            shown |= {"context": context[0].tolist()}
        likely = data["likely"][t - 1]
        return shown | {
            "likely": [word for word, _ in likely],
            "probabilities": [p for _, p in likely],
        }


def _check(name: str, given: Sequence[str], known: Any, *, empty: bool = False) -> None:
    unknown = [x for x in given if x not in known]
    if unknown or not (given or empty):
        got = f"holds {unknown[0]!r}" if unknown else "is empty"
        raise ValueError(f"{name} {got}; expected some of {', '.join(map(repr, known))}")


def _events(order: str, phase: str, run: Mapping[str, Any], length: int) -> list[tuple[int, str]]:
    """List the events of a phase, each with its step: source position, target position or 0."""
    if phase == "train":
        return [(0, name) for name in TRAINING_EVENTS]
    if phase == "encode" and order == "transformer":
        return [(0, name) for name in ENCODING_AT_ONCE]
    if phase == "encode":
        back = [(0, "back")] if run["bidirectional"] else []
        return [*((i, "read") for i in range(1, length + 1)), *back, (0, "bridge")]
    steps = range(1, len(run["decode"]["words"]) + 1)
    return [(t, name) for t in steps for name in STEP_EVENTS[order]]


def _tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@cache
def _tiny(name: str) -> tuple[Seq2SeqAttention | Transformer, list[str], list[str]]:
    """Build one of the trained translators of the tiny language, with its two vocabularies."""
    stored = measured("unrolled")
    source, target = stored["source_words"], stored["target_words"]
    kept = stored["models"][name]
    random = torch.random.get_rng_state()
    model = build_model(ModelConfig.from_stored(kept["config"]), len(source), len(target))
    torch.random.set_rng_state(random)
    model.double().load_state_dict({k: _tensor(v) for k, v in kept["weights"].items()})
    return model, source, target  # type: ignore[return-value]


def _tiny_run(name: str, words: Sequence[str], reference: Sequence[str] | None) -> dict[str, Any]:
    model, source, target = _tiny(name)
    for side, known, given in (("words", source, words), ("target", target, reference)):
        unknown = [repr(word) for word in given or () if word not in known[UNK + 1 :]]
        if unknown or given == []:
            raise ValueError(
                f"{side} {'holds ' + unknown[0] if unknown else 'is empty'}; expected words of the "
                f"tiny language, {', '.join(known[UNK + 1 :])} (Unrolled.of shows a model of yours)"
            )
    ids = [source.index(word) for word in words]
    right = None if reference is None else [target.index(word) for word in reference]
    return _both_runs(model, ids, right, target)


def _order(model: Seq2SeqAttention | Transformer) -> str:
    """Name a model's order of events."""
    if isinstance(model, Transformer):
        layers, first = len(model.decoder), cast(DecoderLayer, model.decoder[0])
        heads, pre = first.self_attention.heads, first.pre_norm
        added = not isinstance(first.self_attention, RotaryAttention)
        added = added and not isinstance(model.target_positions, NoPositions)
        if layers > 1 or heads > 1 or not (pre and added):
            raise ValueError(
                "expected a Transformer of one layer and one head, in pre norm, with positions "
                f"that are added; got {layers} layers, {heads} heads, "
                f"{'pre' if pre else 'post'} norm, {'added' if added else 'other'} positions"
            )
        return "transformer"
    decoder = model.decoder
    if len(decoder.rnn.all_weights) > 1 or not isinstance(decoder.attention, Attention | None):
        raise ValueError(
            "expected a model of one layer with a score for every position, or none; got "
            f"{len(decoder.rnn.all_weights)} layers and {type(decoder.attention).__name__}"
        )
    score = None if decoder.attention is None else decoder.attention.score
    if score is None:
        order, fits = "none", decoder.feeds_summary
    elif decoder.context_first:
        order, fits = "bahdanau", isinstance(score, AdditiveScore) and score.b is None
    else:
        order = "luong" if decoder.feeds_readout else "luong, no feeding"
        fits = isinstance(score, GeneralScore) and isinstance(decoder.readout, TanhReadout)
    if not (fits and decoder.rnn.mode == "GRU"):
        got = [type(part).__name__ for part in (decoder.rnn, score, decoder.readout)]
        if score is None:
            got[1] = f"{'the' if decoder.feeds_summary else 'no'} summary at every step"
        raise ValueError(
            "expected a model that the figure has formulas for: a GRU, with the additive score, "
            "without bias, where the context comes first, and else with the general score and the "
            "tanh readout; without attention, one that gets the summary at every step. Got "
            f"{', '.join(got)}"
        )
    return order


def _both_runs(
    model: Seq2SeqAttention | Transformer,
    source: Sequence[int],
    reference: Sequence[int] | None,
    vocabulary: Sequence[str],
) -> dict[str, Any]:
    """Run a model twice: fed its own words, and fed the reference's in a training step."""
    written = model.generate(torch.tensor([source]), torch.tensor([len(source)]), max_len=LONGEST)
    own = [int(i) for i in written.tokens[0] if i not in (PAD, EOS)][: LONGEST - 1]
    transformer = isinstance(model, Transformer)
    plain: Any = _plain_transformer if transformer else _plain
    decode = plain(model, source, [*own, EOS], vocabulary)
    train = None
    if reference is not None and list(reference) != own:
        train = plain(model, source, [*reference, EOS], vocabulary)
    return {
        "bidirectional": not transformer and cast(Any, model.encoder).directions == 2,
        "decode": decode,
        "train": train,
    }


def _plain(
    model: Seq2SeqAttention, source: Sequence[int], target: Sequence[int], vocabulary: Sequence[str]
) -> dict[str, Any]:
    """Run one training step on one pair; keep what the figure draws, as plain values."""
    model = copy.deepcopy(model).eval()
    decoder = model.decoder
    sentence = torch.tensor([list(source)]), torch.tensor([len(source)])
    embedded: list[Tensor] = []
    hook = model.encoder.embedding.register_forward_hook(lambda *call: embedded.append(call[-1]))
    encoded = model.encoder(*sentence)
    hook.remove()
    state, memory = decoder.start(encoded), decoder.remember(encoded)
    tops, scores, features, logits = [state.hidden.outputs[-1]], [], [], []
    inputs = torch.tensor([[BOS, *target[:-1]]])
    for token in inputs.unbind(1):
        step = decoder.step(token, state, memory)
        state = step.state
        tops.append(state.hidden.outputs[-1])
        logits.append(step.logits[0])
        if memory is not None:
            score = cast(Attention, decoder.attention).score
            scores.append(score.compare(tops[-2 if decoder.context_first else -1], memory.keys)[0])
        if not decoder.context_first:
            context = step.weights @ encoded.states[0]
            features.append(decoder.readout(tops[-1], context, decoder.embedding(token))[0])

    losses, pull, after = _training_step(
        model, sentence, inputs, target, torch.stack(logits), (*embedded, *tops)
    )
    return {
        "words": [vocabulary[i] for i in target],
        "size": encoded.states.shape[-1],
        "states": _plainly(encoded.states[0, :, :SHOWN]),
        "decoder_states": _plainly(torch.cat(tops)[:, :SHOWN]),
        "scores": [_plainly(x) for x in scores],
        "features": [_plainly(x[:SHOWN]) for x in features],
        **_told(vocabulary, torch.stack(logits), losses, after),
        "pull": _plainly(pull[0]),
        "pull_decoder": _plainly(torch.stack(pull[1:])),
    }


def _plain_transformer(
    model: Transformer, source: Sequence[int], target: Sequence[int], vocabulary: Sequence[str]
) -> dict[str, Any]:
    """As :func:`_plain`, of a Transformer: all positions at once, with what stands in between."""
    model = copy.deepcopy(model).eval()
    sentence = torch.tensor([list(source)]), torch.tensor([len(source)])
    inputs = torch.tensor([[BOS, *target[:-1]]])
    words = model.source_embedding(sentence[0]) * model.scale
    x = model.source_positions(words)
    layer = cast(EncoderLayer, model.encoder[0])
    change, around = layer.self_attention(layer.self_norm(x))
    looked = x + change
    memory = model.encoder_norm(looked + layer.feed_forward(layer.feed_norm(looked)))

    last = cast(DecoderLayer, model.decoder[0])
    z = model.target_positions(model.target_embedding(inputs) * model.scale)
    causal = causal_mask(len(target))[None]
    change, back = last.self_attention(last.self_norm(z), mask=causal)
    state = z + change
    cross = last.cross_attention
    keys, values, _ = cast(Memory, cross.remember(memory))
    scores = scaled_dot_score(cross.query(last.cross_norm(state)), keys[:, 0])
    context = masked_softmax(scores) @ values[:, 0]
    mixed = state + cross.output(context)
    output = mixed + last.feed_forward(last.feed_norm(mixed))
    logits = model.vocabulary(model.decoder_norm(output))[0]

    losses, pull, after = _training_step(model, sentence, inputs, target, logits, (words, state))
    return {
        "words": [vocabulary[i] for i in target],
        "size": memory.shape[-1],
        "embedded": _plainly(x[0, :, :SHOWN]),
        "around": _plainly(around[0, 0]),
        "looked": _plainly(looked[0, :, :SHOWN]),
        "states": _plainly(memory[0, :, :SHOWN]),
        "values": _plainly(values[0, 0, :, :SHOWN]),
        "inputs": _plainly(z[0, :, :SHOWN]),
        "back": _plainly(back[0, 0]),
        "decoder_states": _plainly(state[0, :, :SHOWN]),
        "scores": _plainly(scores[0]),
        "features": _plainly(output[0, :, :SHOWN]),
        **_told(vocabulary, logits, losses, after),
        "pull": _plainly(pull[0]),
        "pull_decoder": _plainly(pull[1]),
    }


def _training_step(
    model: Seq2SeqAttention | Transformer,
    sentence: tuple[Tensor, Tensor],
    inputs: Tensor,
    target: Sequence[int],
    logits: Tensor,
    watched: Sequence[Tensor],
) -> tuple[Tensor, list[Tensor], Tensor]:
    """Take one step: each position's loss, lengths of gradients at tensors, and the loss after."""
    wanted = torch.tensor(list(target))
    losses = F.cross_entropy(logits, wanted, reduction="none")
    for x in watched:
        x.retain_grad()
    losses.mean().backward()
    pull = [cast(Tensor, x.grad)[0].norm(dim=-1) for x in watched]
    with torch.no_grad():
        for weight in model.parameters():
            if weight.grad is not None:
                weight.sub_(RATE * weight.grad)
        after = F.cross_entropy(model(*sentence, inputs).logits[0], wanted)
    return losses, pull, after


def _told(
    vocabulary: Sequence[str], logits: Tensor, losses: Tensor, after: Tensor
) -> dict[str, Any]:
    """Say in plain values what a model makes of the target."""
    best = logits.softmax(-1).topk(3)
    return {
        "likely": [
            [[vocabulary[i], round(p, 4)] for i, p in zip(*row)]
            for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ],
        "losses": _plainly(losses),
        "loss_after": round(after.item(), 4),
    }


def _plainly(x: Tensor) -> Any:
    values = x.tolist()
    if x.dim() == 1:
        return [round(v, 4) for v in values]
    return [[round(v, 4) for v in row] for row in values]
