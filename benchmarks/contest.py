"""The studies of the book's last part: ``python -m benchmarks.contest``.

Small models for the toy corpus, each trained from three seeds by
:func:`seqattn.training.run_trials`:

- the contest: five kinds of model at one number of updates;
- the penalty: Bahdanau's model of the contest again, with a penalty on coverage;
- dropout: Bahdanau's model on few pairs, with attention weights dropped and without.

Then the contest's models are looked into, on validation pairs and on sentences by length drawn for
it: how far apart the maps of two trainings are, how much is left of a score as sentences grow, what
a joint between clauses costs. All of this reads validation pairs, or pairs drawn for the study.
Last, each model of the contest reads the test pairs once.

Writes ``seqattn/data/measured/contest.json`` for chapter 20. A training that is in
``--work`` already is not repeated, so that the command can be stopped and taken up again.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import mean, stdev
from typing import Any

import torch

from benchmarks.study import Study, study_parser
from seqattn.data import (
    Batches,
    CorpusConfig,
    TextPair,
    Vocabularies,
    encode_pairs,
    read_split,
    tokenize,
    toy_by_length,
)
from seqattn.evaluation import evaluate, summarize_attention
from seqattn.metrics import corpus_bleu, weight_distance
from seqattn.models import ModelConfig
from seqattn.process import prepare_process
from seqattn.training import TrainingConfig, Trial, run_trials
from seqattn.translator import Translator

CORPUS = CorpusConfig("toy", "en", "fr", pairs=8_000)
FEW = replace(CORPUS, pairs=1_000)
SIZES = {"d_embed": 64, "d_hidden": 96, "dropout": 0.1}
MODELS = {
    "Bahdanau": ModelConfig("bahdanau", **SIZES),
    "Luong": ModelConfig("luong", **SIZES),
    "coverage": ModelConfig("bahdanau", attention="coverage", **SIZES),
    "Transformer": ModelConfig(
        "transformer", layers=2, d_feedforward=192, d_hidden=96, dropout=0.1
    ),
    "fixed vector": ModelConfig("fixed", **SIZES),
}
BUDGET = TrainingConfig(
    steps=700, batch_tokens=256, lr=0.007, warmup=100, smoothing=0.0, validate_every=700
)
# Those with dropped weights, on few pairs, end after half of the updates.
PENALTY, RATES, DROPOUT_LR = 0.1, (0.0, 0.3), 0.01
# The two that are followed as sentences grow; words of a sentence are counted in steps of STEP.
GROWING, STEP, OF_EACH = ("fixed vector", "Bahdanau"), 3, 40


def is_joined(pair: TextPair) -> bool:
    """Has the source a comma, or a word that joins two clauses?"""
    return bool(re.search(r",|\b(and|but|so|because|while|when|if)\b", pair.source))


def longer() -> dict[int, list[TextPair]]:
    """Give pairs by the number of their English tokens, 3, 6, ... 30."""
    drawn = toy_by_length(CORPUS.pairs)
    groups: dict[int, list[TextPair]] = {}
    for pair in (pair for i, pair in enumerate(drawn) if i % 100 < OF_EACH):
        length = -(-len(tokenize(pair.source, "en")) // STEP) * STEP
        groups.setdefault(length, []).append(pair)
    return {length: groups[length] for length in sorted(groups)}


def scores(trial: Trial) -> dict:
    """Give the scores of a trial, as they are stored."""
    names = ("bleu", "perplexity", "aer", "entropy")
    return {
        "model": trial.name,
        "seed": trial.seed,
        "parameters": trial.parameters,
        **{k: None if (v := trial.row()[k]) is None else round(v, 4) for k in names},
    }


def bleu(model: Translator, pairs: Sequence[TextPair]) -> tuple[float, list]:
    """Translate by greedy search; give BLEU, and the translations."""
    found = model.translate([pair.source for pair in pairs], beam=1)
    score = corpus_bleu([t.text for t in found], [pair.target for pair in pairs]).score
    return round(score, 2), found


def maps_apart(trials: Sequence[Trial], pairs: Sequence[TextPair]) -> list[dict]:
    """Make models write the references; compare maps of seed 1 with maps of seed 2, row by row."""
    one, two = (
        {
            trial.name: [t.weights for t in Translator.load(trial.folder).force(pairs)]
            for trial in trials
            if trial.seed == seed
        }
        for seed in (1, 2)
    )
    return [
        {
            "seed 1": first,
            "seed 2": second,
            "distance": round(
                torch.cat(list(map(weight_distance, one[first], two[second]))).mean().item(), 4
            ),
        }
        for first, second in itertools.product(one, two)
    ]


def by_length(trials: Sequence[Trial], groups: dict[int, list[TextPair]]) -> dict:
    """Follow BLEU and entropy as sentences grow; keep one translation of each length."""
    scores: dict[str, dict[int, list[float]]] = {name: {} for name in GROWING}
    relative: dict[int, list[float]] = {}
    texts = [{"source": pairs[0].source, "reference": pairs[0].target} for pairs in groups.values()]
    for trial in trials:
        model = Translator.load(trial.folder)
        for text, (length, pairs) in zip(texts, groups.items(), strict=True):
            score, written = bleu(model, pairs)
            scores[trial.name].setdefault(length, []).append(score)
            text.setdefault(trial.name, written[0].text)
            if summary := summarize_attention(written):
                relative.setdefault(length, []).append(round(summary.relative, 4))
    return {
        "lengths": list(groups),
        "joined": [round(mean(map(is_joined, pairs)), 4) for pairs in groups.values()],
        "bleu": {name: [round(mean(x), 2) for x in by.values()] for name, by in scores.items()},
        "spread": {name: [round(stdev(x), 2) for x in by.values()] for name, by in scores.items()},
        "lost": {n: [round(a - b, 2) for a, b in zip(s[6], s[12])] for n, s in scores.items()},
        "left": {n: [round(b / a, 4) for a, b in zip(s[6], s[12])] for n, s in scores.items()},
        "relative": list(relative.values()),
        "texts": texts,
    }


def joints(trials: Sequence[Trial], valid: Sequence[TextPair]) -> dict:
    """Hold validation sentences with a joint against others of the same length."""
    some = [pair for pair in valid if 9 <= len(tokenize(pair.source, "en")) <= 12]
    kinds = {
        "no joint": [pair for pair in some if not is_joined(pair)],
        "joined": [pair for pair in some if is_joined(pair)],
    }
    rows = [
        {"model": trial.name, "seed": trial.seed}
        | {kind: bleu(Translator.load(trial.folder), pairs)[0] for kind, pairs in kinds.items()}
        for trial in trials
    ]
    return {"sentences": {kind: len(pairs) for kind, pairs in kinds.items()}, "rows": rows}


def with_gap(trials: Sequence[Trial]) -> list[dict]:
    """Divide the perplexity on validation pairs by that on pairs of the training."""
    known = read_split(FEW, "train")[:300]
    return [
        {
            **scores(trial),
            "gap": round(
                trial.scores["perplexity"]
                / evaluate(Translator.load(trial.folder), known).perplexity,
                4,
            ),
        }
        for trial in trials
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, look, write; after each part what is known so far."""
    parser = study_parser("contest", __doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=BUDGET.steps, help="updates of each training")
    options = parser.parse_args(arguments)
    study = Study("contest", options.work, options.result)
    prepare_process()
    torch.set_num_threads(1)
    budget = replace(BUDGET, steps=options.steps, validate_every=options.steps)

    def trials(part: str, models: dict, corpus: CorpusConfig = CORPUS, split: str = "valid",
               **changes: Any) -> list[Trial]:  # fmt: skip
        return run_trials(
            models, options.work / part, corpus, replace(budget, **changes),
            split=split,
        )  # fmt: skip

    valid = read_split(CORPUS, "valid")
    contest = trials("contest", MODELS)
    looking = [trial for trial in contest if trial.name != "fixed vector"]
    growing = [trial for trial in contest if trial.name in GROWING]
    half = {"steps": options.steps // 2, "validate_every": options.steps // 2, "lr": DROPOUT_LR}
    dropped = {f"{rate:.0%}": replace(MODELS["Bahdanau"], attention_dropout=rate) for rate in RATES}
    parts: dict[str, Callable[[], object]] = {
        "contest": lambda: [scores(trial) for trial in contest],
        "maps": lambda: maps_apart(looking, valid[:200]),
        "lengths": lambda: by_length(growing, longer()),
        "joints": lambda: joints(growing, valid),
        "penalty": lambda: [
            scores(trial)
            for trial in trials(
                "penalty", {"Bahdanau": MODELS["Bahdanau"]}, doubly_stochastic_penalty=PENALTY
            )
        ],
        "dropout": lambda: with_gap(trials("dropout", dropped, FEW, **half)),
        "test": lambda: [scores(trial) for trial in trials("contest", MODELS, split="test")],
    }
    train = read_split(CORPUS, "train")
    examples = encode_pairs(train, Vocabularies.learn(train, CORPUS.languages))
    batches = Batches(examples, tokens=BUDGET.batch_tokens)
    card = study.card(
        corpus=f"toy, {CORPUS.pairs:,} pairs; for dropout {FEW.pairs:,}",
        judged_on="validation; test once, in the last table",
        updates=f"{options.steps}; for dropout {options.steps // 2}",
        epochs=round(options.steps / len(batches), 1),
        batch_tokens=BUDGET.batch_tokens,
        lr=f"{BUDGET.lr}; for dropout {DROPOUT_LR}",
        seeds=[1, 2, 3],
        signature=contest[0].scores["signature"],
    )
    found: dict[str, object] = {"card": card}
    for name, part in parts.items():
        found[name] = part()
        study.write(found)
        print(f"contest: {name}", flush=True)


if __name__ == "__main__":
    main()
