"""Finished trainings, read from their folders, for :mod:`benchmarks.quality`."""

import json
import re
import shlex
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seqattn.models import ModelConfig
from seqattn.training import RunFolder, TrainingConfig, preset_names, read_preset
from seqattn.training.presets import Preset
from seqattn.translator import Translator

KIND = ("preset", "direction", "lowercase")  # what runs share that differ by their seeds alone
POINTS = 6  # of a training log
MORE_TESTS = "test_2017_flickr", "test_2017_mscoco"  # of Multi30k; the first, of 2016, is "test"
PENALTIES = "penalties.json"  # in a run's folder: what each length penalty gave on validation
Values = dict[str, Any]


def kind_of(run: Mapping[str, Any]) -> tuple[Any, ...]:
    """Name the group of a run: what all its seeds have in common."""
    return tuple(run[name] for name in KIND)


def read_run(folder: Path, *, tried: bool = False) -> Values:
    """Read a finished run; exit if it is not finished or no run. A trial need not be tested."""
    wanted = ["config.json", "metrics.jsonl", *["test.json"] * (not tried)]
    missing = [name for name in wanted if not (folder / name).is_file()]
    if missing:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}: expected a finished run")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    records = RunFolder(folder).records()
    train = [record for record in records if record["kind"] == "train"]
    valid = [record for record in records if record["kind"] == "valid"]
    if not (train and valid):
        raise SystemExit(f"{folder}/metrics.jsonl has {len(train)} reports and {len(valid)} "
                         "validations; expected some of both")  # fmt: skip
    last = max(records, key=lambda record: record["step"])
    averages = [record for record in records if record["kind"] == "average" and record["kept"]]
    corpus, training = config["corpus"], config["training"]
    preset = name_preset(config, tried=tried)
    return {
        "preset": preset or f"{config['model']['architecture']}, of other sizes",
        "direction": f"{corpus['source']}-{corpus['target']}",
        "seed": training["seed"],
        "command": command_of(config, preset),
        "lowercase": corpus.get("lowercase", False),
        "parameters": parameters_of(folder),
        "updates": last["step"],
        # Of the last validation: a report of the same update is from before the epoch was counted.
        "epochs": valid[-1]["epoch"],
        "minutes": round(max(r["seconds"] for r in train + valid) / 60, 1),
        "tokens_per_second": round(statistics.median(r["tokens_per_second"] for r in train)),
        "best_update": max(valid, key=lambda record: record["bleu"])["step"],
        "averaged": averages[-1]["steps"] if averages else None,
        "tests": read_tests(folder),
        "log": summarize_log(train, valid),
        **read_penalties(folder),
    }


def read_tests(folder: Path) -> dict[str, Values]:
    """Read ``test.json`` and all ``test-NAME.json``; name them by how they were made."""
    tests = {}
    for path in sorted([*folder.glob("test.json"), *folder.glob("test-*.json")]):
        found = json.loads(path.read_text(encoding="utf-8"))
        name = path.stem.removeprefix("test").strip("-") or "greedy"
        read_name(name)  # or say what is wrong with it
        width = re.match(r"beam(\d+)", name)
        tests[name] = {"beam": int(width[1]) if width else 1} | {
            key: found[key] for key in ("bleu", "chrf", "signature", "sentences")
        }
        if found.get("length_ratio") is not None:  # older tests do not have it
            tests[name]["length_ratio"] = round(found["length_ratio"], 4)
    return tests


def read_penalties(folder: Path) -> Values:
    """Read what each length penalty gave on validation, if that was tried."""
    path = folder / PENALTIES
    if not path.is_file():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))
    if any({"alpha", "bleu", "length_ratio"} - set(row) for row in rows):
        raise SystemExit(f"a row of {path} lacks alpha, bleu or length_ratio; expected what "
                         "`--length-penalty` writes now: run it again")  # fmt: skip
    return {"penalties": rows}


def summarize_log(train: Sequence[Mapping], valid: Sequence[Mapping]) -> list[Values]:
    """Take a few validations, evenly spaced, the last and the best among them, with the loss."""
    count = min(POINTS, len(valid))
    chosen = {(i + 1) * len(valid) // count - 1 for i in range(count)}
    chosen.add(max(range(len(valid)), key=lambda i: valid[i]["bleu"]))
    points = []
    for record in (valid[i] for i in sorted(chosen)):
        before = [r["loss"] for r in train if r["step"] <= record["step"]]
        loss = before[-1] if before else train[0]["loss"]
        points.append(
            {
                "update": record["step"],
                "loss": round(loss, 3),
                "bleu": round(record["bleu"], 2),
                "perplexity": round(record["perplexity"], 3),
            }
        )
    return points


def read_trial(folder: Path, usual: Iterable[Values] = ()) -> Values:
    """Read a finished run of another setting than its preset's, which need not be tested.

    What :mod:`benchmarks.trials` trained says itself what was tried. A run with the settings of
    its preset is a trial if it took other epochs than all the usual runs of its kind.
    """
    told = folder / "trial.json"
    run = read_run(folder, tried=True)
    if told.is_file():
        return {**run, **json.loads(told.read_text(encoding="utf-8"))}
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    preset = name_preset(config, tried=True)
    settings = {} if preset is None else changes_of(config, read_preset(preset))
    epochs = {one["epochs"] for one in usual if kind_of(one) == kind_of(run)}
    if not settings and epochs and run["epochs"] not in epochs:
        settings = {"epochs": run["epochs"]}
    if not settings:
        raise SystemExit(f"{folder} has the settings of a preset, or no preset's model; expected "
                         "another setting than a preset's, to be tried beside it")  # fmt: skip
    return {**run, "settings": settings}


def name_preset(config: Mapping[str, Any], *, tried: bool = False) -> str | None:
    """Find the preset whose model, and whose words, a run has; the closest settings decide.

    The model of a trial need have no more than the preset's architecture.
    """
    model = ModelConfig.from_stored(config["model"])
    best, distance = None, None
    for name in preset_names():
        preset = read_preset(name)
        words = {"subwords": preset.subwords, "joint": preset.joint}
        data = {key: config["data"].get(key, words[key]) for key in words}
        alike = preset.model == model or (tried and preset.model.architecture == model.architecture)
        if alike and data == words:
            apart = len(changes_of(config, preset))
            if distance is None or apart < distance:
                best, distance = name, apart
    return best


def changes_of(config: Mapping[str, Any], preset: Preset) -> Values:
    """List the settings, but for budget and seed, that a preset does not have."""
    usual = asdict(preset.model) | asdict(preset.training)
    known = asdict(ModelConfig.from_stored(config["model"]))
    known |= asdict(TrainingConfig.from_stored(config["training"]))
    budget = {"steps", "epochs", "minutes", "seed", "bf16"}
    return {k: v for k, v in known.items() if k not in budget and v != usual[k]}


def command_of(config: Mapping[str, Any], preset: str | None) -> str:
    """Write the command that repeats a run."""
    corpus, training = config["corpus"], config["training"]
    data = corpus["train"] if corpus["name"] == "files" else [corpus["name"]]
    words = ["seqattn", "train"]
    words += [word for path in data for word in ("--data", path)]
    words += ["--pair", f"{corpus['source']}-{corpus['target']}"]
    if preset is None:
        return " ".join([*map(shlex.quote, words), "--config", "config.json"])
    words += ["--preset", preset, "--seed", str(training["seed"])]
    known = read_preset(preset)
    if corpus.get("lowercase", False) != known.lowercase:
        words.append("--lowercase" if corpus["lowercase"] else "--cased")
    budget = {name: training.get(name) for name in ("minutes", "epochs", "steps")}
    if budget != {name: getattr(known.training, name) for name in budget}:
        words += [w for name, v in budget.items() if v for w in (f"--{name}", f"{v:g}")]
    words += ["--precision", "bf16" if training["bf16"] else "fp32"]
    if training.get("compile") and not known.training.compile:
        words.append("--compile")
    for name, value in changes_of(config, known).items():
        if name != "compile":
            words += ["--set", f"{name}={'none' if value is None else value}"]
    return " ".join(map(shlex.quote, words))


def parameters_of(folder: Path) -> int | None:
    """Count the weights, where the checkpoint is there."""
    paths = [folder / f"{name}.safetensors" for name in ("average", "best", "last")]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return None
    translator = Translator.load(path)
    return sum(p.numel() for p in translator.model.parameters())


def set_suffix(split: str) -> str:
    """Give the end of a test's name that tells its set: "-2017-flickr"; "" for that of 2016."""
    return split.removeprefix("test").replace("_", "-")


def name_set(split: str) -> str:
    """Name a test set for readers: its year, and of 2017 whose captions."""
    return read_name("greedy" + set_suffix(split))[0]


def spread(values: Iterable[float]) -> Values:
    """Give mean, standard deviation between seeds, and the values themselves."""
    found = list(values)
    return {
        "mean": round(statistics.mean(found), 2),
        "spread": round(statistics.stdev(found), 2) if len(found) > 1 else None,
        "values": [round(value, 2) for value in found],
    }


def way(group: Values) -> str:
    """Name the direction of a group for readers, and its case if that is not kept."""
    return group["direction"] + (", lower case" if group["lowercase"] else "")


def read_name(test: str) -> tuple[str, str, bool]:
    """Give the test set, the search, and whether BLEU is of lower-cased tokens, from a test's name.

    >>> read_name("beam5-tokenized-2017-flickr")
    ('2017 flickr', 'beam of 5', True)
    >>> read_name("beam5-alpha1.5")
    ('2016', 'beam of 5, α = 1.5', False)
    >>> read_name("greedy")
    ('2016', 'greedy', False)
    """
    found = re.fullmatch(r"(greedy|beam(\d+))(?:-alpha([\d.]+))?(-tokenized)?(?:-(.+))?", test)
    if not found:
        raise SystemExit(f"a test is named {test!r}, as in test-{test}.json; expected greedy or "
                         "beam5, then perhaps -alpha2, then -tokenized, then the set: "
                         "beam5-tokenized-2017-flickr")  # fmt: skip
    search = f"beam of {found[2]}" if found[2] else found[1]
    search += f", α = {found[3]}" if found[3] else ""
    return (found[5] or "2016").replace("-", " "), search, found[4] is not None


def by_set(tests: Mapping[str, Values]) -> dict[tuple[str, str], dict[bool, Values]]:
    """Put the scores of one search on one test set together: by tokenised or not."""
    found: dict[tuple[str, str], dict[bool, Values]] = {}
    for name, test in tests.items():
        which, search, tokenized = read_name(name)
        found.setdefault((which, search), {})[tokenized] = test
    return dict(sorted(found.items()))
