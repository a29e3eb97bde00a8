"""What the score does, and what the order does: ``python -m benchmarks.order``.

The decoders of Bahdanau et al. and of Luong et al. differ in their score, in when they ask (before
the recurrent update or after it), and also in their readout, in what the update reads beside the
last token, and so in their number of weights. Here everything but score, order and readout is
held fixed:

- the update always reads the context that :math:`s_{t-1}` asks for. With the order "before" the
  output reads that context too; with "after" it reads the one that :math:`s_t` asks for, which
  enters the next update. So the two orders have the same weights and the same first values;
- the sizes of comparison space and readout are chosen so that all eight models have nearly the
  same number of weights;
- the output bias starts from the frequencies of the training tokens, in every model.

Every model is trained from the same seeds on the same batches, and judged on the validation pairs.
Writes ``seqattn/data/measured/order.json`` for chapter 20. A training that is in ``--work``
already is not repeated, so that the command can be stopped and taken up again.

``--beyond`` asks whether that depends on learning rate and budget: the same eight models, from the
same seeds, at half and at twice the rate, and at all three rates with more updates. With
``--rates`` it trains at these alone and writes nothing, so that processes can share the work.

``--memory`` measures how far the peak of a process's memory rises in an epoch and the validation
behind it: the eight models, from the same seeds, each in a process of its own.
"""

import itertools
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch

from benchmarks.study import Study, study_parser
from seqattn.attention import BahdanauAttention, LuongAttention, Mechanism
from seqattn.data import Batches, CorpusConfig, TextPair, Vocabularies, encode_pairs, read_split
from seqattn.evaluation import evaluate
from seqattn.models import AttentionDecoder, Encoder, Seq2SeqAttention, State, guess_frequencies
from seqattn.models.rnn import rnn_step
from seqattn.process import peak_memory, prepare_process
from seqattn.training import fit
from seqattn.translator import Translator

SCORES, ORDERS, READOUTS = ("additive", "general"), ("before", "after"), ("maxout", "tanh")
LR, RATES, SEEDS = 0.007, (0.0035, 0.007, 0.014), (1, 2, 3)
STEPS = 1000, 5000  # the budget, and a longer one
CORPUS = CorpusConfig("toy", "en", "fr", pairs=8_000)
D_EMBED, D_HIDDEN, DROPOUT, TOKENS, WARMUP = 64, 96, 0.1, 256, 100
# So that an additive score has as many weights as a general one, and a maxout readout with its
# output matrix as many as a tanh.
D_ATTN, D_READOUT = 64, {"maxout": 80, "tanh": 96}


class AsksAfter(AttentionDecoder):
    """The decoder of the order "before", but for which context the output reads.

    Its update reads the context of the step before, which :math:`s_{t-1}` asked for: what the
    other order's update reads.
    """

    def _advance(self, embedded, state, memory):
        fed = state.fed
        if fed is None:
            fed, _, _ = self._attend(state.hidden.outputs[-1], memory, state)
        hidden = rnn_step(self.rnn, torch.cat([embedded, fed], -1), state.hidden)
        context, weights, past = self._attend(hidden.outputs[-1], memory, state)
        features = self.readout(hidden.outputs[-1], context, embedded)
        return State(hidden, context, None, past), features, weights


def build(score: str, order: str, readout: str, sizes: tuple[int, int]) -> Seq2SeqAttention:
    """Build one of the eight models, with fresh weights."""
    source, target = sizes
    encoder = Encoder(source, D_EMBED, D_HIDDEN, dropout=DROPOUT)
    attention: Mechanism
    if score == "additive":
        attention = BahdanauAttention(D_HIDDEN, encoder.d_states, D_ATTN)
    else:
        attention = LuongAttention(D_HIDDEN, encoder.d_states, score)
    decoder = (AttentionDecoder if order == "before" else AsksAfter)(
        target, D_EMBED, D_HIDDEN, encoder.d_states, attention,
        readout=readout, d_readout=D_READOUT[readout], dropout=DROPOUT,
    )  # fmt: skip
    return Seq2SeqAttention(encoder, decoder)


def train_and_validate(cell: dict) -> dict:
    """Train one model from one seed; give what it reaches on the validation pairs."""
    (train, vocabularies), valid = read_corpus(), read_split(CORPUS, "valid")
    examples = encode_pairs(train, vocabularies)
    torch.manual_seed(cell["seed"])
    sizes = len(vocabularies.source), len(vocabularies.target)
    model = build(cell["score"], cell["order"], cell["readout"], sizes)
    guess_frequencies(model.decoder.vocabulary, [target for _, target in examples])
    batches = Batches(examples, tokens=TOKENS, seed=cell["seed"])
    began = time.process_time()
    history = fit(
        model, batches, steps=cell["updates"], lr=cell["lr"], warmup=WARMUP, seed=cell["seed"]
    )
    seconds = time.process_time() - began
    found = evaluate(Translator(model.eval(), vocabularies), valid)
    return {
        **cell,
        "parameters": sum(p.numel() for p in model.parameters()),
        "bleu": round(found.bleu, 2),
        "perplexity": round(found.perplexity, 4),
        "aer": round(found.aer, 4),
        "loss": round(sum(history.losses[-50:]) / 50, 4),
        "epochs": round(cell["updates"] / len(batches), 2),
        "core_seconds": round(seconds, 1),
    }


def measure_memory(cell: dict) -> dict:
    """Train one model from one seed in this fresh process; give its MiB beyond the corpus's."""
    prepare_process()
    torch.set_num_threads(1)
    read_corpus()
    before = peak_memory("cpu")
    train_and_validate(cell)
    after = peak_memory("cpu")
    assert before is not None
    assert after is not None
    return {**cell, "memory": round(after - before, 1)}


def in_own_process(work: Callable[[dict], dict], cell: dict) -> dict:
    """Do the work in a process that has done nothing else."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:  # which says so where a process dies
        return pool.submit(work, cell).result()


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, validate, write."""
    parser = study_parser("order", __doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS, help="the budgets")
    parser.add_argument("--beyond", action="store_true", help="other rates, and the longer budget")
    parser.add_argument("--memory", action="store_true", help="measure the memory alone")
    parser.add_argument("--rates", type=float, nargs="+", choices=RATES, help="only train at these")
    options = parser.parse_args(arguments)
    if options.memory and (options.beyond or options.rates):
        parser.error("--memory stands alone")
    study = Study("order", options.work, options.result)
    prepare_process()
    torch.set_num_threads(1)
    stored = json.loads(study.result.read_text("utf-8")) if study.result.exists() else {}
    if options.memory:
        if peak_memory("cpu") is None:
            raise SystemExit("this system does not tell how much memory a process has had")
        train, vocabularies = read_corpus()
        epoch = len(Batches(encode_pairs(train, vocabularies), tokens=TOKENS))
        rows = [
            study.run(f"memory-{name_of(cell)}", in_own_process, measure_memory, cell)
            for cell in cells(LR, epoch)
        ]
        card = study.card(command="python -m benchmarks.order --memory", updates=epoch)
        return study.write({**stored, "memory": {"card": card, "rows": rows}})
    study_itself = LR, options.steps[0]
    parts = [study_itself]
    if options.beyond:
        parts = [part for part in itertools.product(RATES, options.steps) if part != study_itself]
    rows = [
        study.run(name_of(cell), train_and_validate, cell)
        for rate, steps in parts
        if rate in (options.rates or RATES)
        for cell in cells(rate, steps)
    ]
    if options.rates:
        return
    found = {"card": make_card(study, rows), "rows": rows}
    study.write({**stored, "beyond": found} if options.beyond else {**stored, **found})


def cells(rate: float, steps: int) -> Iterator[dict]:
    """Give the trainings at one rate and one budget."""
    names = ("lr", "updates", "seed", "readout", "score", "order")
    for values in itertools.product((rate,), (steps,), SEEDS, READOUTS, SCORES, ORDERS):
        yield dict(zip(names, values, strict=True))


def name_of(cell: dict) -> str:
    """Name a training by all in which it differs from the others."""
    return "-".join(map(str, cell.values()))


def read_corpus() -> tuple[list[TextPair], Vocabularies]:
    """Give the training pairs, and the vocabularies learned from them."""
    train = read_split(CORPUS, "train")
    return train, Vocabularies.learn(train, CORPUS.languages)


def make_card(study: Study, rows: list[dict]) -> dict:
    """Say how these rows were made."""

    def used(name: str) -> Any:
        values = sorted({row[name] for row in rows})
        return values if len(values) > 1 else values[0]

    return study.card(
        command="python -m benchmarks.order" + " --beyond" * (rows[0]["lr"] != LR),
        corpus=f"toy, {CORPUS.pairs:,} pairs",
        vocabularies=list(map(len, read_corpus()[1])),
        judged_on="validation",
        updates=used("updates"),
        epochs=used("epochs"),
        batch_tokens=TOKENS,
        lr=used("lr"),
        seeds=list(SEEDS),
    )


if __name__ == "__main__":
    main()
