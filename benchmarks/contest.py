"""The studies of the book's last part: ``python -m benchmarks.contest``.

Small models for the toy corpus, each trained from three seeds by
:func:`seqattn.training.run_trials`, and judged on validation pairs. There are four commands:

- without options, short trainings: the contest of five kinds of model at one number of updates;
  each of them at four learning rates, from a seed of its own; and Bahdanau's model on few pairs,
  with attention weights dropped and without. Beside them stand rules that read no source or learn
  nothing, on validation pairs and on test pairs;
- ``--rates``: the four learning rates alone;
- ``--dropout``: dropped weights with six times the updates, at five learning rates;
- ``--long``: six times the updates as well, for the contest at four learning rates, and for
  Bahdanau's model with a penalty on coverage at three of them. Then the contest's models are looked
  into, each at the rate with the best mean on validation: how far apart the maps of two trainings
  are, how much is left of a score as sentences grow (on sentences by length, drawn for it), and
  what a joint between clauses costs. Last, these read the test pairs once: all of them, and those
  that do not come from a training sentence by exchanging one word.

Of a training with six times the updates the best of ten validations counts. Each command writes
``seqattn/data/measured/contest.json`` for chapter 20 when all is done, and leaves there what is not
its own. A training that is in ``--work`` already is not repeated, so that a command can be stopped
and taken up again.
"""

import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor, nn

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
from seqattn.models import ModelConfig, guess_frequencies
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
SEEDS = (1, 2, 3)
# The rate of the contest and others around it, and a seed that is none of the contest's.
LEARNING_RATES, RATES_SEED = (0.0035, 0.007, 0.014, 0.028), 0
# Longer trainings: how many times the updates, how many validations, and at which learning rates.
LONGER, LOOKS, LONG_RATES = 6, 10, (0.00175, 0.0035, 0.007, 0.014)
PENALTY, PENALTY_RATES = 0.1, (0.0035, 0.007, 0.014)
# Shares of weights that are dropped, on few pairs, with half of the updates; and learning rates.
DROPPED, DROPOUT_LR, DROPOUT_LRS = (0.0, 0.3), 0.01, (0.00125, 0.0025, 0.005, 0.01, 0.02)
# How many validation pairs are written for maps, and training pairs read where weights are dropped.
MAPPED, KNOWN = 200, 300
# The two that are followed as sentences grow; words of a sentence are counted in steps of STEP.
GROWING, STEP, OF_EACH = ("fixed vector", "Bahdanau"), 3, 40


def is_joined(pair: TextPair) -> bool:
    """Has the source a comma, or such a word as *and* or *because*?

    It need not join two clauses: *and* also joins nouns, and a comma follows *yesterday*.
    """
    return bool(re.search(r",|\b(and|but|so|because|while|when|if)\b", pair.source))


def growing_pairs() -> dict[int, list[TextPair]]:
    """Give pairs by the number of their English tokens, 3, 6, ... 30."""
    drawn = toy_by_length(CORPUS.pairs)
    groups: dict[int, list[TextPair]] = {}
    for pair in (pair for i, pair in enumerate(drawn) if i % 100 < OF_EACH):
        length = -(-len(tokenize(pair.source, "en")) // STEP) * STEP
        groups.setdefault(length, []).append(pair)
    return {length: groups[length] for length in sorted(groups)}


def scores(trial: Trial) -> dict:
    """Give the scores of a trial and the day on which its training ended, as they are stored."""
    names = ("bleu", "perplexity", "aer", "entropy", "seconds", "memory")
    return {
        "model": trial.name,
        "seed": trial.seed,
        "parameters": trial.parameters,
        **{k: None if (v := trial.row()[k]) is None else round(v, 4) for k in names},
        "date": str(date.fromtimestamp(Path(trial.folder, "cost.json").stat().st_mtime)),
    }


def curve(trial: Trial) -> list[float]:
    """Give the BLEU of each validation of a training."""
    records = RunFolder(trial.folder).records()
    return [round(r["bleu"], 2) for r in records if r["kind"] == "valid"]


def copied_bleu(pairs: Sequence[TextPair], train: Sequence[TextPair]) -> float:
    """Give the BLEU of a copyist."""
    copied = copy_nearest(pairs, train)
    return round(corpus_bleu(copied, [pair.target for pair in pairs]).score, 2)


def rules(pairs: Sequence[TextPair], train: Sequence[TextPair]) -> dict[str, float]:
    """Score what reads no source, or learns nothing.

    BLEU of a copyist; perplexity of the words' frequencies; alignment error rates of two ways to
    link words; entropy of equal weights over the source, at the words of the references.
    """
    vocabularies = Vocabularies.learn(train, CORPUS.languages)
    known, judged = encode_pairs(train, vocabularies), encode_pairs(pairs, vocabularies)
    log_frequency = nn.Linear(1, len(vocabularies.target))
    guess_frequencies(log_frequency, [target for _, target in known])
    written = torch.tensor([token for _, target in judged for token in target])
    equal = [math.log(len(source)) for source, target in judged for _ in target]
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
        "frequencies": round(log_frequency.bias[written].mean().neg().exp().item(), 4),
        "equal": round(mean(equal), 4),
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
    """Make models write the references; compare the maps of any two seeds, row by row.

    What chance does: rows of one model's two seeds, those of the second in another order. A row
    holds the mean distances of its pairs of trainings: for one model three, for two models the six
    whose seeds differ.
    """
    maps: dict[str, dict[int, list[Tensor]]] = {}
    for trial in trials:
        found = [t.weights for t in Translator.load(trial.folder).force(pairs)]
        maps.setdefault(trial.name, {})[trial.seed] = found
    chance = torch.Generator().manual_seed(0)

    def distance(one: list[Tensor], other: list[Tensor]) -> float:
        return round(torch.cat(list(map(weight_distance, one, other))).mean().item(), 4)

    def shuffled(rows: Tensor) -> Tensor:
        return rows[torch.randperm(len(rows), generator=chance)]

    apart = []
    for first, second in itertools.combinations_with_replacement(maps, 2):
        seeds = [
            (a, b) for a, b in itertools.permutations(maps[first], 2) if first != second or a < b
        ]
        one, two = maps[first], maps[second]
        found = [distance(one[a], two[b]) for a, b in seeds]
        apart.append({"first": first, "second": second, "distances": found})
    for name, of in maps.items():
        found = [
            distance(of[a], list(map(shuffled, of[b]))) for a, b in itertools.combinations(of, 2)
        ]
        apart.append({"first": name, "second": "shuffled", "distances": found})
    return apart


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
        "left": {
            n: [round(b / a, 4) if a else None for a, b in zip(s[6], s[12])]
            for n, s in scores.items()
        },
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
    known, rows = read_split(FEW, "train")[:KNOWN], []
    for trial in trials:
        there = evaluate(Translator.load(trial.folder), known).perplexity
        gap = trial.scores["perplexity"] / there
        rows.append({**scores(trial), "training": round(there, 4), "gap": round(gap, 4)})
    return rows


def best_rates(rows: Sequence[dict]) -> dict[str, float]:
    """Give the rate at which each model has the best mean of its seeds' BLEU."""
    found: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        found.setdefault(row["model"], {}).setdefault(row["lr"], []).append(row["bleu"])
    return {name: max(at, key=lambda lr: mean(at[lr])) for name, at in found.items()}


def dropping() -> dict[str, ModelConfig]:
    """Give Bahdanau's model without dropped attention weights, and with."""
    return {f"{rate:.0%}": replace(MODELS["Bahdanau"], attention_dropout=rate) for rate in DROPPED}


def far_from(train: Sequence[TextPair], test: Sequence[TextPair]) -> list[TextPair]:
    """Give the test pairs that are not one exchanged word away from a training sentence."""
    return [pair for pair, near in zip(test, one_word_away(test, train)) if not near]


@dataclass(frozen=True)
class Contest:
    """The folder of all trainings, and the number of updates of a short one."""

    work: Path
    steps: int

    def train(
        self,
        part: str,
        models: dict[str, ModelConfig],
        corpus: CorpusConfig,
        *,
        split: str = "valid",
        seeds: Sequence[int] = SEEDS,
        **changes: Any,
    ) -> list[Trial]:
        """Train and judge, with some changes to the contest's budget."""
        budget = replace(BUDGET, **{"steps": self.steps, "validate_every": self.steps, **changes})
        trials = run_trials(models, self.work / part, corpus, budget, seeds=seeds, split=split)
        print(f"contest: {part}, {split}", flush=True)
        return trials

    def train_longer(
        self,
        part: str,
        models: dict[str, ModelConfig],
        corpus: CorpusConfig,
        lr: float,
        *,
        split: str = "valid",
        **changes: Any,
    ) -> list[Trial]:
        """Train with more updates and more validations, of which the best counts."""
        steps = LONGER * self.steps
        often = {"steps": steps, "validate_every": max(steps // LOOKS, 1), "lr": lr}
        return self.train(f"{part}-{lr}", models, corpus, split=split, **often, **changes)

    @property
    def half(self) -> "Contest":
        """The same with half of the updates, for few pairs."""
        return replace(self, steps=self.steps // 2)

    def at_rates(self) -> list[dict]:
        """Train each model at each rate, from a seed of its own."""
        return [
            {**scores(trial), "lr": lr}
            for lr in LEARNING_RATES
            for trial in self.train(f"rate-{lr}", MODELS, CORPUS, seeds=(RATES_SEED,), lr=lr)
        ]

    def short(self) -> dict[str, Any]:
        """Train with few updates; score what has learned nothing."""
        train, valid, test = (read_split(CORPUS, split) for split in ("train", "valid", "test"))
        few = {split: read_split(FEW, split) for split in ("train", "valid")}
        far = far_from(train, test)
        return {
            "contest": [scores(trial) for trial in self.train("contest", MODELS, CORPUS)],
            "dropout": with_gap(self.half.train("dropout", dropping(), FEW, lr=DROPOUT_LR)),
            "rates": self.at_rates(),
            "rules": rules(valid, train),
            "few_rules": {"copy": copied_bleu(few["valid"], few["train"])},
            "test_rules": {"bleu": copied_bleu(test, train), "far": copied_bleu(far, train)},
        }

    def long(self) -> dict[str, Any]:
        """Train with many updates, and look into each model at its best rate."""
        valid = read_split(CORPUS, "valid")
        trained = {lr: self.train_longer("long", MODELS, CORPUS, lr) for lr in LONG_RATES}
        rows = [
            {**scores(trial), "lr": lr, "curve": curve(trial)}
            for lr, trials in trained.items()
            for trial in trials
        ]
        best = best_rates(rows)
        chosen = [t for name, lr in best.items() for t in trained[lr] if t.name == name]
        growing = [trial for trial in chosen if trial.name in GROWING]
        found: dict[str, Any] = {
            "contest": rows,
            "best": best,
            "penalty": [],
            "maps": maps_apart([t for t in chosen if t.name != "fixed vector"], valid[:MAPPED]),
            "lengths": by_length(growing, growing_pairs()),
            "joints": joints(growing, valid),
        }
        bahdanau = {"Bahdanau": MODELS["Bahdanau"]}
        for lr in PENALTY_RATES:
            trials = self.train_longer(
                "long-penalty", bahdanau, CORPUS, lr, doubly_stochastic_penalty=PENALTY
            )
            found["penalty"] += [{**scores(trial), "lr": lr} for trial in trials]
        return {**found, "test": self.tested(best)}

    def long_dropout(self) -> list[dict]:
        """Train with many updates at each rate, with dropped weights and without."""
        return [
            {**row, "lr": lr}
            for lr in DROPOUT_LRS
            for row in with_gap(self.half.train_longer("long-dropout", dropping(), FEW, lr))
        ]

    def tested(self, best: dict[str, float]) -> list[dict]:
        """Judge each model at its best rate on the test pairs: all, and those that are not near."""
        far = far_from(*(read_split(CORPUS, split) for split in ("train", "test")))
        return [
            {**scores(trial), "lr": lr, "far": bleu(Translator.load(trial.folder), far)[0]}
            for name, lr in best.items()
            for trial in self.train_longer("long", {name: MODELS[name]}, CORPUS, lr, split="test")
        ]


def make_card(study: Study, steps: int, option: str) -> dict[str, Any]:
    """Say how the results of a command were made."""
    train, test = (read_split(CORPUS, split) for split in ("train", "test"))
    examples = encode_pairs(train, Vocabularies.learn(train, CORPUS.languages))
    longer = LONGER if option in ("--long", "--dropout") else 1
    changed = f"--steps {steps}" if steps != BUDGET.steps else ""
    told: dict[str, Any] = {
        "command": " ".join(f"python -m benchmarks.contest {option} {changed}".split()),
        "corpus": f"toy, {CORPUS.pairs:,} pairs; for dropout {FEW.pairs:,}",
        "judged_on": "validation",
        "updates": steps * longer,
        "passes": round(steps * longer / len(Batches(examples, tokens=BUDGET.batch_tokens)), 1),
        "dropout_updates": steps // 2 * longer,
        "batch_tokens": BUDGET.batch_tokens,
        "signature": corpus_bleu(["."], ["."]).signature,  # of any two texts
    }
    if option == "--rates":
        return study.card(**told, lr=list(LEARNING_RATES), seeds=[RATES_SEED])
    if option == "--dropout":
        del told["updates"], told["passes"]  # of the contest
        told |= {"corpus": f"toy, {FEW.pairs:,} pairs", "validations": LOOKS, "known_pairs": KNOWN}
        return study.card(**told, dropout_lr=list(DROPOUT_LRS), seeds=list(SEEDS))
    if not option:
        return study.card(**told, lr=BUDGET.lr, dropout_lr=DROPOUT_LR, seeds=list(SEEDS))
    near = len(test) - len(far_from(train, test))
    return study.card(
        **told,
        validations=LOOKS,
        lr=list(LONG_RATES),
        penalty=PENALTY,
        penalty_lr=list(PENALTY_RATES),
        seeds=list(SEEDS),
        maps_of=MAPPED,
        test_sentences=f"{len(test)}; {len(test) - near} not one exchanged word away from training",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, look, write."""
    parser = study_parser("contest", __doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=BUDGET.steps, help="of a short training")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--long", action="store_true", help="train longer, and look into that")
    which.add_argument("--rates", action="store_true", help="the table of rates alone")
    which.add_argument("--dropout", action="store_true", help="drop weights, and train longer")
    options = parser.parse_args(arguments)
    if options.steps < 2:
        parser.error("--steps: expected 2 or more, for dropout has half of them")
    study = Study("contest", options.work, options.result)
    stored = json.loads(study.result.read_text("utf-8")) if study.result.exists() else {}
    prepare_process()
    torch.set_num_threads(1)
    contest = Contest(options.work, options.steps)
    card = partial(make_card, study, options.steps)
    if options.long:
        found = {"long": {"card": card("--long"), **contest.long()}}
    elif options.dropout:
        found = {"long_dropout_card": card("--dropout"), "long_dropout": contest.long_dropout()}
    elif options.rates:
        found = {"rates_card": card("--rates"), "rates": contest.at_rates()}
    else:
        found = {"card": card(""), **contest.short(), "rates_card": card("--rates")}
    study.write({**stored, **found})


if __name__ == "__main__":
    main()
