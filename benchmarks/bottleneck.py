"""Train a fixed-vector model and an attention model, and test both as sentences grow.

    python -m benchmarks.bottleneck

Same pairs, encoder, decoder, batches and number of updates; one model hands the decoder a single
vector, at every step, the other attends. Writes ``seqattn/data/measured/bottleneck.json``, for the
chapter on the bottleneck. Finished trainings are kept in ``--work`` and not repeated.
"""

import statistics

import torch

from benchmarks.study import Study, study_parser
from seqattn.data import FIVE, detokenize, generate, tokenize
from seqattn.data.batches import Batches, encode_pairs
from seqattn.data.pairs import TextPair
from seqattn.data.vocabulary import Vocabularies
from seqattn.metrics import corpus_bleu
from seqattn.models import ModelConfig, build_model
from seqattn.training.step import fit
from seqattn.translator import Translator

ARCHITECTURES = {"fixed": "fixed", "attention": "bahdanau"}
TRAINED_TO = 20
LENGTHS = (4, 8, 12, 16, 20, 24, 28, 32, 36, 40)
PAIRS, PER_LENGTH = 40_000, 200


def corpus() -> tuple[list[TextPair], dict[int, list[TextPair]]]:
    """Draw training pairs, and test pairs of each length that are none of them.

    The five sentences that the chapters have translated are among neither.
    """
    kept = {" ".join(tokenize(pair.source, "en")) for pair in FIVE}
    drawn = generate(PAIRS, seed=0, max_len=TRAINED_TO, exclude=kept)
    seen = kept | {pair.source_text for pair in drawn}
    tests = {
        length: generate(PER_LENGTH, seed=1, min_len=length, max_len=length, exclude=seen)
        for length in LENGTHS
    }
    return [_text(p) for p in drawn], {n: [_text(p) for p in pairs] for n, pairs in tests.items()}


def _text(pair) -> TextPair:
    return TextPair(detokenize(pair.source, "en"), detokenize(pair.target, "fr"), pair.links)


def train_and_test(name: str, seed: int, steps: int, train, tests) -> dict:
    """Train one model from one seed; return BLEU and translations for each length."""
    vocabularies = Vocabularies.learn(train, ("en", "fr"))
    torch.manual_seed(seed)
    config = ModelConfig(ARCHITECTURES[name], d_embed=96, d_hidden=160, dropout=0.1)
    model = build_model(config, len(vocabularies.source), len(vocabularies.target))
    batches = Batches(encode_pairs(train, vocabularies), tokens=1536, seed=seed)
    history = fit(
        model, batches, steps=steps, lr=2e-3, warmup=200, seed=seed, quiet=False, every=500
    )
    translator = Translator(model.eval(), vocabularies)
    bleu, texts = [], []
    for length in LENGTHS:
        pairs = tests[length]
        found = [t.text for t in translator.translate([p.source for p in pairs], beam=1)]
        bleu.append(corpus_bleu(found, [p.target for p in pairs]).score)
        texts.append(found)
    return {
        "bleu": bleu,
        "texts": texts,
        "seconds": history.seconds,
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def figure(runs: dict[str, list[dict]], tests) -> dict:
    """Give what the live figure takes: means, standard deviations, one sentence per length."""
    data = {"lengths": list(LENGTHS), "trained_to": TRAINED_TO}
    for name, found in runs.items():
        columns = list(zip(*(run["bleu"] for run in found)))
        data[name] = [round(statistics.mean(c), 1) for c in columns]
        data[f"{name}_spread"] = [
            round(statistics.stdev(c) if len(c) > 1 else 0, 1) for c in columns
        ]
    data["examples"] = [
        {
            "source": tests[length][0].source,
            "reference": tests[length][0].target,
            **{name: found[0]["texts"][i][0] for name, found in runs.items()},
        }
        for i, length in enumerate(LENGTHS)
    ]
    seeds = len(next(iter(runs.values())))
    data["note"] = (
        f"{PER_LENGTH} unseen sentences of each length, greedy search, mean of {seeds} seeds; the "
        "band is one standard deviation. The sentence shown is the first of its length, translated "
        "by the models of the first seed."
    )
    return data


def kept(texts: list[str], pairs: list[TextPair]) -> list[float]:
    """Share of the reference's words that a translation has, for each third of the reference."""
    found, total = [0, 0, 0], [0, 0, 0]
    for text, pair in zip(texts, pairs):
        reference, words = pair.target.split(), set(text.split())
        for place, word in enumerate(reference):
            third = 3 * place // len(reference)
            total[third] += 1
            found[third] += word in words
    return [f / t for f, t in zip(found, total)]


def kept_by_third(runs: dict[str, list[dict]], tests) -> dict[str, dict[str, list[float]]]:
    """Average :func:`kept` over the seeds, in per cent, for each model and length."""
    return {
        name: {
            str(length): [
                round(100 * statistics.mean(column))
                for column in zip(*(kept(run["texts"][i], tests[length]) for run in found))
            ]
            for i, length in enumerate(LENGTHS)
        }
        for name, found in runs.items()
    }


def main() -> None:
    """Train, test, write."""
    parser = study_parser("bottleneck", __doc__)
    parser.add_argument("--steps", type=int, default=4000, help="updates of each training")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each model")
    options = parser.parse_args()
    study = Study("bottleneck", options.work, options.result)
    train, tests = corpus()
    steps = options.steps
    runs: dict[str, list[dict]] = {name: [] for name in ARCHITECTURES}
    for seed in range(options.seeds):
        for name in ARCHITECTURES:
            key = f"{name}-{seed}-{steps}"
            run = study.run(key, train_and_test, name, seed, steps, train, tests)
            runs[name].append(run)
            shown = "  ".join(f"{n}: {b:.1f}" for n, b in zip(LENGTHS, run["bleu"]))
            print(
                f"{name}, seed {seed}, {run['seconds']:.0f} s, BLEU by length  {shown}", flush=True
            )
    card = study.card(
        pairs=PAIRS,
        updates=steps,
        seeds=options.seeds,
        seconds={n: round(statistics.mean(r["seconds"] for r in f)) for n, f in runs.items()},
        parameters={n: f[0]["parameters"] for n, f in runs.items()},
    )
    kept = kept_by_third(runs, tests)
    study.write({"card": card, "figure": figure(runs, tests), "kept_by_third": kept})


if __name__ == "__main__":
    main()
