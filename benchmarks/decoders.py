"""Take a decoder apart, choice by choice: ``python -m benchmarks.decoders``.

Two choices, independent of each other: whether the decoder asks before its update or after it, and
whether the update reads what attention gave. Two more have nothing to do with attention: the
readout, and where the bias of the vocabulary starts. Score, encoder, sizes, batches, learning rate
and number of updates are the same for all; nothing is chosen by looking at results. Each model is
judged on validation sentences, and once on test sentences, so that the chapter can say where the
two disagree. One more model stands beside the rest: it computes its context
and drops it.

:mod:`benchmarks.order` has score, order and readout as its choices, always with feeding, and gives
all its models the same number of weights.

Writes ``seqattn/data/measured/decoders.json`` for the chapter on the decoder. Finished trainings
are kept in ``--work`` and not repeated.

``--rates`` asks whether where the bias starts matters as much at half and at twice the learning
rate, and leaves the rest of that file as it is.
"""

import itertools
import json
import time
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.location import LONGEST, PAIRS, judge, read, yardsticks
from benchmarks.study import Study, study_parser
from seqattn.attention import BahdanauAttention
from seqattn.data import FIVE, Batches, TextPair, Vocabularies, encode_pairs
from seqattn.data.batches import Batch, make_batch
from seqattn.models import AttentionDecoder, Encoder, Seq2SeqAttention, State
from seqattn.models.rnn import rnn_step
from seqattn.training import fit
from seqattn.translator import Translator

DESIGNS = (("after", False), ("before", True), ("after", True), ("before", False))
TOKENS, STEPS, WARMUP, LR, SEEDS = 512, 282, 10, 0.01, 3
RATES = LR / 2, 2 * LR
D, D_ENCODER = 64, 32
# A feature of the tanh counts as saturated beyond this; its slope is then below 0.02.
SATURATED, EVERY = 0.99, 20


class Cell(NamedTuple):
    """What one model has that others have not."""

    order: str = "after"
    fed: bool = False
    readout: str = "tanh"
    bias: str = "frequencies"
    ignores: bool = False


class KeepsContextOut(AttentionDecoder):
    """Asks before the update, and keeps the answer for the readout: the update reads zeros."""

    def _advance(self, embedded, state, memory):
        context, weights, past = self._attend(state.hidden.outputs[-1], memory, state)
        inputs = torch.cat([embedded, torch.zeros_like(context)], -1)
        hidden = rnn_step(self.rnn, inputs, state.hidden)
        features = self.readout(hidden.outputs[-1], context, embedded)
        return State(hidden, None, None, past), features, weights


class DropsContext(AttentionDecoder):
    """Attends, and forgets what it found, as a tutorial did for years."""

    def _attend(self, query, memory, state):
        context, weights, past = super()._attend(query, memory, state)
        return torch.zeros_like(context), weights, past


def build(cell: Cell, source: int, target: int) -> Seq2SeqAttention:
    """Build a model with fresh weights, from the sizes of the two vocabularies."""
    encoder = Encoder(source, D, D_ENCODER)
    attention = BahdanauAttention(D, encoder.d_states, D)
    kind = AttentionDecoder
    if cell.ignores:
        kind = DropsContext
    elif cell.order == "before" and not cell.fed:
        kind = KeepsContextOut
    style = "bahdanau" if cell.order == "before" else "luong"
    decoder = kind(
        target, D, D, encoder.d_states, attention,
        style=style, input_feeding=cell.fed, readout=cell.readout,
    )  # fmt: skip
    return Seq2SeqAttention(encoder, decoder)


def train(data: dict[str, list[TextPair]], cell: Cell, seed: int, lr: float = LR) -> dict:
    """Train one model and judge it."""
    vocabularies = Vocabularies.learn(data["train"], ("en", "fr"))
    batches = Batches(encode_pairs(data["train"], vocabularies), tokens=TOKENS)
    torch.manual_seed(seed)
    model = build(cell, *map(len, vocabularies))
    batch = make_batch(encode_pairs(data["valid"], vocabularies), range(64))
    shares: dict[int, float] = {}
    slopes: dict[int, float] = {}

    def watch(update: int) -> None:
        features = look_at_features(model, batch)
        shares[update] = (features.abs() > SATURATED).double().mean().item()
        slopes[update] = (1 - features.square()).mean().item()

    started = time.process_time()
    history = fit(
        model, batches, steps=STEPS, lr=lr, warmup=WARMUP, schedule="constant",
        guess=cell.bias == "frequencies", seed=seed,
        watch=watch if cell.readout == "tanh" else None, every=EVERY,
    )  # fmt: skip
    seconds = time.process_time() - started
    translator = Translator(model, vocabularies)
    five = [t.text for t in translator.translate([pair.source for pair in FIVE], beam=1)]
    return {
        **judge(translator, data["valid"], maps=True),
        "test": judge(translator, data["test"], maps=True),
        "loss": sum(history.losses[-20:]) / 20,
        "saturated": shares,
        "slope": slopes,
        "seconds": seconds,
        "five": five,
    }


@torch.no_grad()
def look_at_features(model: Seq2SeqAttention, batch: Batch) -> Tensor:
    """Give the features of a readout at the real tokens of a batch."""
    seen: list[Tensor] = []
    hook = model.decoder.readout.register_forward_hook(lambda *given: seen.append(given[-1]))
    model(batch.source, batch.lengths, batch.inputs)
    hook.remove()
    features = seen[0] if len(seen) == 1 else torch.stack(seen, 1)
    return features[batch.targets != 0]


def starts() -> list[Cell]:
    """List the models that differ by their readout and by where the bias starts."""
    return [
        Cell(readout=readout, bias=bias)
        for readout in ("tanh", "linear")
        for bias in ("zero", "frequencies")
    ]


def cells() -> list[Cell]:
    """List all models, the shortest question first."""
    grid = [Cell(*design, "linear") for design in DESIGNS]
    return list(dict.fromkeys([*starts(), Cell(readout="linear", ignores=True), *grid]))


def main() -> None:
    """Train, judge, write."""
    parser = study_parser("decoders", __doc__.splitlines()[0])
    parser.add_argument("--rates", action="store_true", help="the starts at other rates alone")
    options = parser.parse_args()
    torch.set_num_threads(1)
    study = Study("decoders", options.work, options.result)
    stored = json.loads(study.result.read_text("utf-8")) if study.result.exists() else {}
    data = read()
    if options.rates:
        rows = [
            study.run(f"{'-'.join(map(str, cell))}-{seed}-{lr}", start, data, cell, seed, lr)
            for lr, cell, seed in itertools.product(RATES, starts(), range(SEEDS))
        ]
        card = study.card(command="python -m benchmarks.decoders --rates", **card_of(data))
        found = {"card": {**card, "learning rate": RATES}, "rows": rows}
        return study.write({**stored, "other_rates": found})
    models = []
    for cell in cells():
        name = "-".join(map(str, cell))
        runs = [study.run(f"{name}-{seed}", train, data, cell, seed) for seed in range(SEEDS)]
        models.append({"cell": cell._asdict(), "runs": runs})
    rules = {split: yardsticks(data[split]) for split in ("valid", "test")}
    found = {"card": study.card(**card_of(data)), "yardsticks": rules, "models": models}
    return study.write({**stored, **found})


def start(data: dict[str, list[TextPair]], cell: Cell, seed: int, lr: float) -> dict:
    """Train one model at a rate; keep what tells whether it learned, on validation alone."""
    found = train(data, cell, seed, lr)
    kept = {what: found[what] for what in ("bleu", "loss", "saturated", "seconds")}
    return {"readout": cell.readout, "bias": cell.bias, "lr": lr, "seed": seed, **kept}


def card_of(data: dict[str, list[TextPair]]) -> dict[str, object]:
    """Say what all models have in common."""
    return {
        "corpus": f"toy, {PAIRS:,} pairs, at most {LONGEST} positions",
        "pairs": len(data["train"]),
        "judged on": f"validation, {len(data['valid'])} pairs; test, {len(data['test'])} pairs",
        "updates": STEPS,
        "batch tokens": TOKENS,
        "learning rate": LR,
        "states": D,
        "seeds": SEEDS,
    }


if __name__ == "__main__":
    main()
