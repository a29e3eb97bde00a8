"""One small translator from five seeds: ``python -m benchmarks.seeds``.

The same pairs in the same batches, in the same order, and other first weights: nothing else
differs. So the luck of the order is not in their spread. What each of the five writes for the same
sentences is kept, so that the chapter on evaluation can ask how much of a difference is luck. Three
more trainings with half the updates differ in more than luck.

The learning rate is chosen on validation sentences, for all updates, with a seed of its own; what
half of them reach at each rate is stored beside it. Writes ``seqattn/data/measured/seeds.json``.
Finished trainings are kept in ``--work`` and not repeated.
"""

import time
from typing import Any

import torch

from benchmarks.study import Study, study_parser
from seqattn.data import FIVE, Batches, TextPair, Vocabularies, encode_pairs, toy_corpus
from seqattn.metrics import corpus_bleu
from seqattn.models import ModelConfig, build_model
from seqattn.training import fit
from seqattn.translator import Translator

PAIRS, LONGEST, TOKENS, EPOCHS = 4_000, 8, 384, 8
JUDGED, RATES = 400, (0.01, 0.02, 0.04)
SEEDS = {"whole": (1, 2, 3, 4, 5), "half": (6, 7, 8)}  # of the updates
MODEL = ModelConfig("bahdanau", d_embed=48, d_hidden=64, d_encoder=32, dropout=0.0)


def read() -> dict[str, list[TextPair]]:
    """Draw the toy corpus; keep its shorter sentences, no sentence of a split twice."""
    kept = {}
    for split, pairs in toy_corpus(2 * PAIRS).items():
        short = [pair for pair in pairs if len(pair.source.split()) <= LONGEST]
        kept[split] = list({pair.source: pair for pair in short}.values())
    return {
        "train": kept["train"][:PAIRS],
        "valid": kept["valid"][:JUDGED],
        "test": kept["test"][:JUDGED],
    }


def train(data: dict[str, list[TextPair]], part: str, lr: float, seed: int) -> dict[str, Any]:
    """Train one model, and keep what it writes by greedy search."""
    torch.manual_seed(seed)
    words = Vocabularies.learn(data["train"], ("en", "fr"))
    model = build_model(MODEL, *map(len, words))
    batches = Batches(encode_pairs(data["train"], words), tokens=TOKENS)
    steps = EPOCHS * len(batches.plan(0)) // (2 if part == "half" else 1)
    began = time.process_time()
    fit(model, batches, steps=steps, lr=lr, guess=True, seed=seed)
    seconds = time.process_time() - began
    translator = Translator(model, words)

    def write(pairs: list[TextPair]) -> list[str]:
        return [one.text for one in translator.translate([p.source for p in pairs], beam=1)]

    valid = corpus_bleu(write(data["valid"]), [pair.target for pair in data["valid"]])
    return {
        "valid": valid.score,
        "texts": write(data["test"]),
        "five": write(list(FIVE)),
        "updates": steps,
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds": seconds,
    }


def main() -> None:
    """Train, write, store."""
    options = study_parser("seeds", __doc__).parse_args()
    study = Study("seeds", options.work, options.result)
    data = read()

    def run(part: str, lr: float, seed: int) -> dict[str, Any]:
        return study.run(f"{part}-lr{lr}-seed{seed}", train, data, part, lr, seed)

    rates = {part: {lr: run(part, lr, 0)["valid"] for lr in RATES} for part in SEEDS}
    best = max(RATES, key=rates["whole"].__getitem__)
    runs = {part: [run(part, best, seed) for seed in seeds] for part, seeds in SEEDS.items()}
    card = study.card(
        **{
            "pairs": len(data["train"]),
            "sentences": len(data["test"]),
            "parameters": runs["whole"][0]["parameters"],
            "updates": {part: found[0]["updates"] for part, found in runs.items()},
            "learning rate": best,
            "processor seconds": round(sum(r["seconds"] for found in runs.values() for r in found)),
        }
    )
    study.write(
        {
            "card": card,
            "rates": rates,
            "sources": [pair.source for pair in data["test"]],
            "references": [pair.target for pair in data["test"]],
            "texts": {part: [r["texts"] for r in found] for part, found in runs.items()},
            "five": {part: [r["five"] for r in found] for part, found in runs.items()},
        }
    )


if __name__ == "__main__":
    main()
