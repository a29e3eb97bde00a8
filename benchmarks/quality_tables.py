"""The tables of finished trainings that :mod:`benchmarks.quality` writes into the book."""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Any

from benchmarks.finished_runs import (
    KIND,
    MORE_TESTS,
    Values,
    by_set,
    kind_of,
    name_set,
    read_name,
    set_suffix,
    spread,
    way,
)
from seqattn.translator.translator import LENGTH_PENALTY

BEAM = 5
# What the project wanted of the mean over seeds: preset, direction, lower case or not, test, BLEU.
GOALS = (
    ("transformer-tiny", "de-en", False, "beam5", 42.5),
    ("bahdanau", "de-en", False, "beam5", 41.5),
    ("transformer-tiny", "en-de", True, "beam5-tokenized", 41.3),
    ("bahdanau-tied", "en-de", True, "beam5-tokenized", 39.0),
)


def best_penalty(tried: Sequence[Sequence[Values]]) -> float:
    """Choose the length penalty whose mean BLEU over the runs is best."""
    found = by_penalty(tried)
    return max(found, key=lambda alpha: statistics.mean(row["bleu"] for row in found[alpha]))


def by_penalty(tried: Sequence[Sequence[Values]]) -> dict[float, list[Values]]:
    """Put together what the same length penalty gave in several runs; all must have tried it."""
    found: dict[float, list[Values]] = {}
    for row in chain.from_iterable(tried):
        found.setdefault(row["alpha"], []).append(row)
    if any(len(rows) != len(tried) for rows in found.values()):
        raise SystemExit(
            f"the runs tried different length penalties, {sorted(found)} in all; expected the same "
            "in each, or their scores cannot be averaged: run `--length-penalty` for all"
        )
    return found


def summary_table(groups: Sequence[Values], costs: bool = False) -> list[str]:
    """Give the lines of a table in Markdown with a row for each preset, direction and test set."""
    lines = [
        "| preset | direction | seeds | test set | search | BLEU | BLEU, tokenized | chrF |"
        + " updates | minutes | tokens/s |" * costs,
        "|---|---|:---:|---|---|---:|---:|---:|" + "---:|" * 3 * costs,
    ]
    for group in groups:
        for (which, search), scored in by_set(group["tests"]).items():
            test = scored.get(False) or scored[True]
            cells = [
                group["preset"],
                way(group),
                str(len(test["seeds"])),
                which,
                search,
                *(_told(scored[of]["bleu"]) if of in scored else "–" for of in (False, True)),
                _told(test["chrf"]),
            ]
            if costs:
                cells += [
                    _told(group["updates"], 0),
                    _told(group["minutes"], 1),
                    _told(group["tokens_per_second"], 0),
                ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def goal_table(groups: Sequence[Values]) -> list[str]:
    """Give the lines of a table in Markdown: each goal, what came of it, and how far off it is."""
    lines = []
    for *kind, test, goal in GOALS:
        for group in groups:
            if kind == [group[name] for name in KIND]:
                for name in _beams(group, test):
                    bleu = group["tests"][name]["bleu"]
                    short = round(goal - bleu["mean"], 2)
                    came = "met" if short <= 0 else f"missed by {short:.2f}"
                    which, search, tokenized = read_name(name)
                    how = f"{which}, {search}" + ", tokenized" * tokenized
                    cells = [group["preset"], way(group), how, str(goal), _told(bleu), came]
                    lines.append(f"| {' | '.join(cells)} |")
    if not lines:
        return []
    title = "**The project's goals for the mean of the seeds**"
    heads = ["| preset | direction | test | goal | BLEU | result |", "|---|---|---|---:|---:|---|"]
    return [title, "", *heads, *lines, ""]


def _beams(group: Values, test: str) -> list[str]:
    """Name a test of a group, and then those that differ from it by their length penalty alone."""
    usual = read_name(test)
    found = [name for name in group["tests"] if _without_alpha(read_name(name)) == usual]
    return sorted(found, key=lambda name: name != test)


def _without_alpha(read: tuple[str, str, bool]) -> tuple[str, str, bool]:
    which, search, tokenized = read
    return which, search.partition(",")[0], tokenized


def penalty_table(runs: Sequence[Values]) -> list[str]:
    """Give the lines of a table in Markdown: what each length penalty gave on validation."""
    tried = [run["penalties"] for run in runs if "penalties" in run]
    if not tried:
        return []
    chosen = best_penalty(tried)
    lines = [
        f"| {alpha:g}{' (chosen)' * (alpha == chosen)} | "
        f"{_told(spread(row['bleu'] for row in rows))} | "
        f"{statistics.mean(row['length_ratio'] for row in rows):.1%} |"
        for alpha, rows in by_penalty(tried).items()
    ]
    title = (
        f"The exponent α of the length penalty of a beam of {BEAM}, on validation; length: how "
        "long the translations are, the references being 100%, in tokens as BLEU counts them:"
    )
    heads = ["| α | validation BLEU | length |", "|---:|---:|---:|"]
    with_it = [run for run in runs if "penalties" in run]
    return [title, "", *heads, *lines, "", *parts_table(with_it, chosen)]


def parts_table(runs: Sequence[Values], alpha: float) -> list[str]:
    """Give the lines of a table in Markdown: what makes BLEU with the usual penalty, and alpha.

    A set has a row if each of the runs was scored on it and its length is known.
    """
    lines = []
    for split, one in product(
        ("valid", "test", *MORE_TESTS), dict.fromkeys((LENGTH_PENALTY, alpha))
    ):
        found = [of_split(run, split, one) for run in runs]
        scored = [score for score in found if score and score.get("length_ratio")]
        if len(scored) < len(runs):
            continue
        lengths = [score["length_ratio"] for score in scored]
        penalties, precisions = zip(*map(bleu_parts, scored), strict=True)
        cells = [
            "validation" if split == "valid" else name_set(split),
            f"{one:g}",
            _told(spread(100 * length for length in lengths), 1),
            _told(spread(100 * penalty for penalty in penalties), 1),
            _told(spread(precisions)),
            _told(spread(score["bleu"] for score in scored)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    if not lines:
        return []
    title = (
        "The parts of plain BLEU, means of the seeds: the brevity penalty, which lowers it where "
        "the translations are too short in all, and the geometric mean of the four precisions, "
        "which is BLEU divided by that:"
    )
    heads = ["| set | α | length, % | brevity penalty, % | precision | BLEU |"]
    heads += ["|---|---:|---:|---:|---:|---:|"]
    return [title, "", *heads, *lines, ""]


def of_split(run: Values, split: str, alpha: float) -> Values | None:
    """Find what a run scored with a length penalty, on validation or on a test set."""
    if split == "valid":
        return next((row for row in run.get("penalties", []) if row["alpha"] == alpha), None)
    search = f"beam{BEAM}" + f"-alpha{alpha:g}" * (alpha != LENGTH_PENALTY)
    return run["tests"].get(search + set_suffix(split))


def bleu_parts(found: Mapping[str, Any]) -> tuple[float, float]:
    """Part BLEU into its brevity penalty, at most 1, and its precision, from 0 to 100."""
    brevity = min(1.0, math.exp(1 - 1 / found["length_ratio"]))
    return brevity, found["bleu"] / brevity if brevity else 0.0


def copyist_table(copied: Values | None, groups: Sequence[Values]) -> list[str]:
    """Give the lines of a table in Markdown: what copying gives on the test sets of the groups."""
    ways = [way(group) for group in groups]
    rows = [] if copied is None else [one for one in copied["rows"] if way(one) in ways]
    if copied is None or not rows:
        return []
    title = "**A copyist, which learns nothing: the translation of the nearest training caption**"
    heads = ["| direction | test set | captions | one word away | BLEU | BLEU, tokenized |"]
    heads += ["|---|---|---:|---:|---:|---:|"]
    lines = [
        f"| {way(one)} | {name_set(one['split'])} | {one['sentences']:,} | "
        f"{one['one_word_away']:,} | {one['bleu']:.1f} | {one['tokenized']:.1f} |"
        for one in rows
    ]
    card = copied["card"]
    end = (
        "Nearest: of the same length, with the most words in the same places. One word away: "
        "some training caption of the same length differs in one word at most. Scored on "
        f"{card['date']} by `{card['command']}`, with the signatures above."
    )
    return [title, "", *heads, *lines, "", end, ""]


def trial_table(runs: Sequence[Values], trials: Sequence[Values]) -> list[str]:
    """Give the lines of a table in Markdown: trials of other settings beside a preset's runs."""
    if not trials:
        return []
    told = {"those of the tables": list(runs)} if runs else {}
    for trial in trials:
        told.setdefault(_tried(trial), []).append(trial)
    lines = [
        f"| {name} | {', '.join(str(run['seed']) for run in same)} | "
        f"{_ends([run['updates'] for run in same])} | {_ends([run['epochs'] for run in same])} | "
        f"{', '.join(sorted({_precision(run) for run in same}))} | "
        f"{_ends([max(point['bleu'] for point in run['log']) for run in same], 1)} | "
        f"{_ends([run['log'][-1]['perplexity'] for run in same], 2)} |"
        for name, same in told.items()
    ]
    heads = [
        "| setting | seeds | updates | epochs | precision | best BLEU, greedy | last perplexity |"
    ]
    heads += ["|---|---|---:|---:|---|---:|---:|"]
    commands = ["```bash", *(trial["command"] for trial in trials), "```"]
    title = "Other settings, on validation; of several seeds the lowest and the highest:"
    found = [title, "", *heads, *lines, "", *average_table(trials)]
    return [*found, "The commands of the other settings:", "", *commands, ""]


def average_table(trials: Sequence[Values]) -> list[str]:
    """Give the lines of a table in Markdown: whose weights a trial averaged, and what they gave."""
    lines = [
        f"| {_tried(trial)} | {trial['seed']} | {one['chosen']} | {one['bleu']:.1f} | "
        f"{one['perplexity']:.2f} |"
        for trial in trials
        for one in trial.get("averages", [])
    ]
    if not lines:
        return []
    heads = [
        "| setting | seed | chosen by | BLEU, greedy | perplexity |",
        "|---|---:|---|---:|---:|",
    ]
    title = "The mean of ten validations' weights, chosen in three ways, on validation again:"
    return [title, "", *heads, *lines, ""]


def _precision(run: Values) -> str:
    """Name the numbers that a training computed in; a trial that does not say so took 32 bits."""
    return "bf16" if "--precision bf16" in run["command"] else "fp32"


def _tried(trial: Values) -> str:
    return ", ".join(f"{name} {value}" for name, value in trial["settings"].items())


def _ends(values: Sequence[float], digits: int = 0) -> str:
    low, high = (f"{end(values):,.{digits}f}" for end in (min, max))
    return low if low == high else f"{low} to\u00a0{high}"


def page_lines(record: Values) -> list[str]:
    """Give what stands between the marks of the page, in Markdown."""
    if not record["runs"]:
        return ["No run has been collected yet."]
    card = record["card"]
    lines = [*summary_table(record["groups"]), "", *_signatures(record["groups"]), ""]
    lines += goal_table(record["groups"])
    lines += copyist_table(record.get("copyist"), record["groups"])
    for group in record["groups"]:
        runs, trials = (
            [run for run in record.get(name, []) if kind_of(run) == kind_of(group)]
            for name in ("runs", "tried")
        )
        lines += [*_section(group, runs), *penalty_table(runs), *trial_table(runs, trials)]
    return [*lines, f"Written on {card['date']} by `{card['command']}`."]


def _section(group: Values, runs: Sequence[Values]) -> list[str]:
    size = "" if group["parameters"] is None else f", {group['parameters'] / 1e6:.1f} M weights"
    lines = [f"### {group['preset']}, {way(group)}{size}", ""]
    # A row for each thing that is told: there are more tests than fit beside each other.
    told = {
        "seed": [str(run["seed"]) for run in runs],
        "updates": [f"{run['updates']:,}" for run in runs],
        "epochs": [str(run["epochs"]) for run in runs],
        "minutes": [f"{run['minutes']:.1f}" for run in runs],
        "tokens/s": [f"{run['tokens_per_second']:,}" for run in runs],
        "weights used": [
            f"mean of {len(run['averaged'])}"
            if run["averaged"]
            else f"update {run['best_update']:,}"
            for run in runs
        ],
    } | {
        f"{which}, {search}": [
            _scores(by_set(run["tests"]).get((which, search), {})) for run in runs
        ]
        for which, search in by_set(group["tests"])
    }
    rows = [f"| {what} | {' | '.join(values)} |" for what, values in told.items()]
    lines += [rows[0], "|---|" + "---:|" * len(runs), *rows[1:]]
    first = runs[0]
    lines += ["", "Of a test set: BLEU / BLEU, tokenized / chrF.", ""]
    lines += [f"The training log of seed {first['seed']}, at some validations:", ""]
    points = first["log"]
    lines += [
        "| update | " + " | ".join(f"{point['update']:,}" for point in points) + " |",
        "|---|" + "---:|" * len(points),
        "| training loss | " + " | ".join(f"{p['loss']:.2f}" for p in points) + " |",
        "| validation BLEU, greedy | " + " | ".join(f"{p['bleu']:.1f}" for p in points) + " |",
        "| validation perplexity | " + " | ".join(f"{p['perplexity']:.2f}" for p in points) + " |",
        "",
    ]
    places: dict[str, list[str]] = {}
    for run in runs:
        places.setdefault(run["machine"] or "some machine", []).append(str(run["seed"]))
    if len(places) > 1:
        where = "; ".join(
            f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)} on {machine}"
            for machine, seeds in places.items()
        )
        place = f"Machines: {where}. "
    else:
        place = f"Trained on {first['machine']}. " if first["machine"] else ""
    commands = [run["command"] for run in runs]
    return [*lines, f"{place}The commands:", "", "```bash", *commands, "```", ""]


def _signatures(groups: Sequence[Values]) -> list[str]:
    found: dict[str, set[str]] = {}
    for group in groups:
        for name, test in group["tests"].items():
            kind = "BLEU, tokenized" if read_name(name)[2] else "BLEU"
            found.setdefault(test["signature"], set()).add(f"{kind}, {way(group)}")
    parts = [f"- `{signature}`: {'; '.join(sorted(names))}" for signature, names in found.items()]
    return ["Signatures of BLEU:", "", *sorted(parts)]


def _scores(scored: Mapping[bool, Values]) -> str:
    """Give BLEU, BLEU of tokens and chrF of one translation of a test set."""
    if not scored:
        return "–"
    bleu = (f"{scored[of]['bleu']:.2f}" if of in scored else "–" for of in (False, True))
    return " / ".join([*bleu, f"{(scored.get(False) or scored[True])['chrf']:.2f}"])


def _told(value: Values, digits: int = 2) -> str:
    around = "" if value["spread"] is None else f" ±\u00a0{value['spread']:,.{digits}f}"
    return f"{value['mean']:,.{digits}f}{around}"
