"""Change one thing of a training at a time: ``python -m benchmarks.training_choices``.

A plain training, scheduled sampling, smoothed labels, and no clipping: the same model, batches,
number of updates, first weights and learning rate. The rate is chosen for the plain training, by
BLEU on validation sentences with one of the seeds; then all three are judged once on test
sentences.

Writes ``seqattn/data/measured/training_choices.json`` for the chapter on training and searching.
Finished trainings are kept in ``--work`` and not repeated.
"""

import time
from statistics import fmean, median
from typing import Any

import torch

from benchmarks.location import positions
from benchmarks.study import Study, study_parser
from seqattn.data import FIVE, Batches, TextPair, Vocabularies, encode_pairs, toy_corpus
from seqattn.evaluation import evaluate, recovery
from seqattn.metrics import corpus_bleu
from seqattn.models import ModelConfig, build_model
from seqattn.training import fit
from seqattn.training.schedules import linear_decay
from seqattn.translator import Translator

PAIRS, LONGEST = 8_000, 9  # positions, the end of the sentence included
TOKENS, EPOCHS, RATES, SEEDS = 512, 5, (0.003, 0.01, 0.03), 3
CHOICES: dict[str, dict[str, float]] = {
    "plain": {},
    "smoothing 0.1": {"smoothing": 0.1},
    "sampling to 0.5": {"ends": 0.5},
    "no clipping": {"clip": float("inf")},
}


def train(data: dict[str, list[TextPair]], choice: str, lr: float, seed: int) -> dict[str, Any]:
    """Train one model; judge it on validation sentences, and with its seed's test beside it."""
    options = dict(CHOICES[choice])
    vocabularies = Vocabularies.learn(data["train"], ("en", "fr"))
    batches = Batches(encode_pairs(data["train"], vocabularies), tokens=TOKENS)
    config = ModelConfig("bahdanau", d_embed=64, d_hidden=64, d_encoder=32, dropout=0.0)
    torch.manual_seed(seed)
    model = build_model(config, *map(len, vocabularies))
    steps = EPOCHS * len(batches.plan(0))
    if "ends" in options:
        ends = options.pop("ends")
        slope = (1 - ends) / steps
        options["teacher_forcing"] = lambda step: linear_decay(step, slope, floor=ends)
    started = time.process_time()
    history = fit(model, batches, steps=steps, lr=lr, guess=True, seed=seed, **options)
    seconds = time.process_time() - started
    translator = Translator(model, vocabularies)
    five = [found.text for found in translator.translate([pair.source for pair in FIVE])]
    return {
        "valid": evaluate(translator, data["valid"]).bleu,
        "test": judge(translator, data["test"]),
        "loss": fmean(history.losses[-len(batches.plan(0)) :]),
        "norms": [round(norm, 3) for norm in history.norms],
        "words": len(vocabularies.target),
        "seconds": seconds,
        "five": five,
    }


def judge(translator: Translator, pairs: list[TextPair]) -> dict[str, Any]:
    """Measure translation by greedy search and by a beam, and what follows a wrong word."""
    found = evaluate(translator, pairs)
    beam = [one.text for one in translator.translate([pair.source for pair in pairs], beam=5)]
    return {
        "bleu": found.bleu,
        "beam": corpus_bleu(beam, [pair.target for pair in pairs]).score,
        "exact": found.exact,
        "perplexity": found.perplexity,
        "aer": found.aer,
        "recovery": {
            reads: [shares.tolist() for shares in recovery(translator, pairs, reads=reads).right()]
            for reads in ("own", "true")
        },
    }


def main() -> None:
    """Train, judge, write."""
    options = study_parser("training_choices", __doc__).parse_args()
    study = Study("training_choices", options.work, options.result)
    data = {
        split: [pair for pair in pairs if positions(pair) <= LONGEST]
        for split, pairs in toy_corpus(PAIRS).items()
    }

    def run(choice: str, lr: float, seed: int) -> dict[str, Any]:
        key = f"{choice.replace(' ', '-')}-{EPOCHS}epochs-lr{lr}-seed{seed}"
        return study.run(key, train, data, choice, lr, seed)

    rates = {lr: run("plain", lr, 0)["valid"] for lr in RATES}
    best = max(RATES, key=rates.__getitem__)
    runs = {choice: [run(choice, best, seed) for seed in range(SEEDS)] for choice in CHOICES}
    card = study.card(
        **{
            "pairs": len(data["train"]),
            "judged on": {split: len(data[split]) for split in ("valid", "test")},
            "updates": len(runs["plain"][0]["norms"]),
            "learning rate": best,
            "seeds": SEEDS,
            "longest training": round(
                max(one["seconds"] for found in runs.values() for one in found)
            ),
        }
    )
    for one in [one for found in runs.values() for one in found]:
        norms = one.pop("norms")
        one["norm"] = {"median": median(norms), "largest": max(norms)}
        one["clipped"] = sum(norm > 1 for norm in norms) / len(norms)
    study.write({"card": card, "rates": rates, "runs": runs})


if __name__ == "__main__":
    main()
