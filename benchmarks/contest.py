"""The studies of the book's last part: ``python -m benchmarks.contest``.

Small models for the toy corpus, each trained from three seeds by
:func:`seqattn.training.run_trials`:

- the contest: five kinds of model at one number of updates;
- the penalty: Bahdanau's model of the contest again, with a penalty on coverage;
- dropout: Bahdanau's model on few pairs, with attention weights dropped and without;
- rates: each model of the contest at four learning rates, from a seed of its own.

Then the contest's models are looked into, on validation pairs and on sentences by length drawn for
it: how far apart the maps of two trainings are, how much is left of a score as sentences grow, what
a joint between clauses costs. Beside them stand rules that have learned nothing. All of this reads
validation pairs, or pairs drawn for the study. Last, each model of the contest reads the test pairs
once: all of them, and those that do not come from a training sentence by exchanging one word.

``--long`` asks what a longer training makes of it: the contest and dropout with six times the
updates, the contest at four learning rates. Of each such training the best of ten validations
counts. It joins what is stored, and trains only what is not: a rate that has its rows keeps them,
unless ``--anew`` is said.
``--rates`` renews what the rates have left, and no more.

Writes ``seqattn/data/measured/contest.json`` for chapter 20. A training that is in
``--work`` already is not repeated, so that the command can be stopped and taken up again.
"""

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
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
from seqattn.evaluation import copy_nearest, evaluate, one_word_away, summarize_attention
from seqattn.metrics import alignment_error_rate, corpus_bleu, weight_distance
from seqattn.models import ModelConfig
from seqattn.process import prepare_process
from seqattn.training import TrainingConfig, Trial, run_trials
from seqattn.translator import Translator
from seqattn.translator.run_folder import RunFolder

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
PENALTY, DROPPED, DROPOUT_LR = 0.1, (0.0, 0.3), 0.01
# The rate of the contest and others around it, and a seed that is none of the contest's.
LEARNING_RATES, RATES_SEED = (0.0035, 0.007, 0.014, 0.028), 0
LONG_RATES = (0.00175, *LEARNING_RATES[:3])
LONGER, LOOKS = 6, 10
# The two that are followed as sentences grow; words of a sentence are counted in steps of STEP.
GROWING, STEP, OF_EACH = ("fixed vector", "Bahdanau"), 3, 40


def is_joined(pair: TextPair) -> bool:
    """Has the source a comma, or such a word as *and* or *because*?

    It need not join two clauses: *and* also joins nouns, and a comma follows *yesterday*.
    """
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
    names = ("bleu", "perplexity", "aer", "entropy", "seconds", "memory")
    return {
        "model": trial.name,
        "seed": trial.seed,
        "parameters": trial.parameters,
        **{k: None if (v := trial.row()[k]) is None else round(v, 4) for k in names},
    }


def finished(trial: Trial) -> str:
    """Give the day on which a training ended."""
    return str(date.fromtimestamp(Path(trial.folder, "cost.json").stat().st_mtime))


def looking_often(steps: int) -> dict[str, int]:
    """Give the settings of a longer training: validations, of which the best counts."""
    return {"steps": steps, "validate_every": max(steps // LOOKS, 1)}


def curve(trial: Trial) -> list[float]:
    """Give the BLEU of each validation of a training."""
    records = RunFolder(trial.folder).records()
    return [round(r["bleu"], 2) for r in records if r["kind"] == "valid"]


def copied_bleu(pairs: Sequence[TextPair], train: Sequence[TextPair]) -> float:
    """Give the BLEU of a copyist."""
    copied = copy_nearest(pairs, train)
    return round(corpus_bleu(copied, [pair.target for pair in pairs]).score, 2)


def rules(pairs: Sequence[TextPair], train: Sequence[TextPair]) -> dict[str, float]:
    """Score what has learned nothing: BLEU of a copyist, error rates of two ways to link words."""
    gold = [pair.links or set() for pair in pairs]
    sides = [
        [len(tokenize(text, side)) for text, side in zip(pair[:2], CORPUS.languages, strict=True)]
        for pair in pairs
    ]
    chance = torch.Generator().manual_seed(0)
    links = {
        "diagonal": [{(int((j + 0.5) * S / T), j) for j in range(T)} for S, T in sides],
        "random": [
            {(int(torch.randint(S, (), generator=chance)), j) for j in range(T)} for S, T in sides
        ],
    }
    return {
        "copy": copied_bleu(pairs, train),
        **{
            name: round(alignment_error_rate(found, gold, gold), 4) for name, found in links.items()
        },
    }


def bleu(model: Translator, pairs: Sequence[TextPair]) -> tuple[float, list]:
    """Translate by greedy search; give BLEU, and the translations."""
    found = model.translate([pair.source for pair in pairs], beam=1)
    score = corpus_bleu([t.text for t in found], [pair.target for pair in pairs]).score
    return round(score, 2), found


def maps_apart(trials: Sequence[Trial], pairs: Sequence[TextPair]) -> list[dict]:
    """Make models write the references; compare maps of seed 1 with maps of seed 2, row by row.

    What chance does: rows of one model's two seeds, those of seed 2 in another order.
    """
    one, two = (
        {
            trial.name: [t.weights for t in Translator.load(trial.folder).force(pairs)]
            for trial in trials
            if trial.seed == seed
        }
        for seed in (1, 2)
    )
    chance = torch.Generator().manual_seed(0)
    shuffled = {
        name: [rows[torch.randperm(len(rows), generator=chance)] for rows in maps]
        for name, maps in two.items()
    }
    asked = [(first, second, two[second]) for first, second in itertools.product(one, two)]
    asked += [(name, "shuffled", shuffled[name]) for name in one]
    return [
        {
            "seed 1": first,
            "seed 2": second,
            "distance": round(
                torch.cat(list(map(weight_distance, one[first], maps))).mean().item(), 4
            ),
        }
        for first, second, maps in asked
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
    """Hold validation sentences with a joint against others of 9 to 12 tokens, too."""
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
    """Judge on pairs of the training as well; divide the perplexity on the others by theirs."""
    known, rows = read_split(FEW, "train")[:300], []
    for trial in trials:
        there = evaluate(Translator.load(trial.folder), known).perplexity
        gap = trial.scores["perplexity"] / there
        rows.append({**scores(trial), "training": round(there, 4), "gap": round(gap, 4)})
    return rows


def tested(trials: Sequence[Trial], far: Sequence[TextPair]) -> list[dict]:
    """Add to scores on all test pairs the BLEU of those that are not near."""
    return [
        {**scores(trial), "far": bleu(Translator.load(trial.folder), far)[0]} for trial in trials
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, look, write; after each part what is known so far."""
    parser = study_parser("contest", __doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=BUDGET.steps, help="updates of each training")
    parser.add_argument("--long", action="store_true", help="train longer, add that to the rest")
    parser.add_argument("--anew", action="store_true", help="with --long: also what is stored")
    parser.add_argument("--rates", action="store_true", help="renew the table of rates alone")
    options = parser.parse_args(arguments)
    if options.anew and not options.long:
        parser.error("--anew is for --long")
    study = Study("contest", options.work, options.result)
    prepare_process()
    torch.set_num_threads(1)
    budget = replace(BUDGET, steps=options.steps, validate_every=options.steps)

    def trials(part: str, models: dict, corpus: CorpusConfig = CORPUS, split: str = "valid",
               seeds: Sequence[int] = (1, 2, 3), **changes: Any) -> list[Trial]:  # fmt: skip
        return run_trials(
            models, options.work / part, corpus, replace(budget, **changes),
            seeds=seeds, split=split,
        )  # fmt: skip

    def at_rates() -> list[dict]:
        found = {
            lr: trials(f"rate-{lr}", MODELS, seeds=(RATES_SEED,), lr=lr) for lr in LEARNING_RATES
        }
        return [{**scores(trial), "lr": lr} for lr, of in found.items() for trial in of]

    def long_contest(lr: float) -> list[dict]:
        steps = LONGER * options.steps
        found = trials(f"long-{lr}", MODELS, **looking_often(steps), lr=lr)
        return [
            {**scores(trial), "lr": lr, "date": finished(trial), "curve": curve(trial)}
            for trial in found
        ]

    def rates_card() -> dict:
        command = "python -m benchmarks.contest --rates"
        return study.card(command=command, lr=list(LEARNING_RATES), seeds=[RATES_SEED])

    half = {"steps": options.steps // 2, "validate_every": options.steps // 2, "lr": DROPOUT_LR}
    dropped = {
        f"{rate:.0%}": replace(MODELS["Bahdanau"], attention_dropout=rate) for rate in DROPPED
    }
    train, valid, test = (read_split(CORPUS, split) for split in ("train", "valid", "test"))
    examples = encode_pairs(train, Vocabularies.learn(train, CORPUS.languages))
    batches = Batches(examples, tokens=BUDGET.batch_tokens)
    stored = json.loads(study.result.read_text("utf-8")) if study.result.exists() else {}
    if options.long:
        more = {**half, **looking_often(LONGER * half["steps"])}
        known = {} if options.anew else stored.get("long", {})
        if known and known["card"]["updates"] != LONGER * options.steps:
            known = {}
        asked = set(itertools.product(MODELS, (1, 2, 3)))
        rows = {lr: [r for r in known.get("contest", []) if r["lr"] == lr] for lr in LONG_RATES}
        rows = {
            lr: of if {(row["model"], row["seed"]) for row in of} == asked else []
            for lr, of in rows.items()
        }
        dropout = known.get("dropout")
        stored["long"] = {
            "contest": [row for lr in LONG_RATES for row in rows[lr] or long_contest(lr)],
            "dropout": dropout or with_gap(trials("long-dropout", dropped, FEW, **more)),
            "card": study.card(
                command="python -m benchmarks.contest --long --anew",
                updates=LONGER * options.steps,
                passes=round(LONGER * options.steps / len(batches), 1),
                validations=LOOKS,
                lr=list(LONG_RATES),
                seeds=[1, 2, 3],
            ),
        }
        return study.write(stored)
    if options.rates:
        return study.write({**stored, "rates": at_rates(), "rates_card": rates_card()})

    far = [pair for pair, near in zip(test, one_word_away(test, train)) if not near]
    contest = trials("contest", MODELS)
    looking = [trial for trial in contest if trial.name != "fixed vector"]
    growing = [trial for trial in contest if trial.name in GROWING]
    parts: dict[str, Callable[[], object]] = {
        "contest": lambda: [scores(trial) for trial in contest],
        "rules": lambda: rules(valid, train),
        "few_rules": lambda: {
            "copy": copied_bleu(*(read_split(FEW, split) for split in ("valid", "train")))
        },
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
        "rates": at_rates,
        "rates_card": rates_card,
        "test": lambda: tested(trials("contest", MODELS, split="test"), far),
        "test_rules": lambda: {"bleu": copied_bleu(test, train), "far": copied_bleu(far, train)},
    }
    card = study.card(
        corpus=f"toy, {CORPUS.pairs:,} pairs; for dropout {FEW.pairs:,}",
        judged_on="validation; test once, in the last table",
        updates=f"{options.steps}; for dropout {options.steps // 2}",
        epochs=round(options.steps / len(batches), 1),
        batch_tokens=BUDGET.batch_tokens,
        lr=f"{BUDGET.lr}; for dropout {DROPOUT_LR}",
        seeds=[1, 2, 3],
        test_sentences=f"{len(test)}; {len(far)} not one exchanged word away from training",
        signature=contest[0].scores["signature"],
    )
    found: dict[str, object] = {"card": card}
    if "long" in stored:
        found["long"] = stored["long"]
    for name, part in parts.items():
        found[name] = part()
        study.write(found)
        print(f"contest: {name}", flush=True)


if __name__ == "__main__":
    main()
