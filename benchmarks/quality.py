"""Finished trainings, collected for the book: ``python -m benchmarks.quality RUN RUN ... --book``.

Each RUN is a folder that ``seqattn train`` left, with ``config.json``, ``metrics.jsonl`` and
``test.json``. More tests of the same run may lie beside it, as ``test-NAME.json``: what ``seqattn
evaluate --json`` prints, or what ``--test`` below writes. Checkpoints are not needed, but for
``--test``, which translates the test set once more, with a beam of 5, plain and tokenised, and of
Multi30k also the two test sets of 2017; and for ``--length-penalty``, which first chooses that of
the beam on validation, one for all RUNs, and then tests in the same way.

Without ``--book`` the tables of these runs are printed. With it the runs join those in
``seqattn/data/measured/multi30k.json``, which chapter 20 reads, and ``chapters/training_runs.md``
is written from all of them; a run of the same preset, direction, case and seed takes the place of
the one that was there, and ``--anew`` forgets them all first. ``--copyist`` also scores anew what
has learned nothing, see :func:`~seqattn.evaluation.copy_nearest`; it reads Multi30k. With
``--tried`` the runs are trials of another setting than the preset's: the page shows their
validations beside those of the preset, and no table of tests, for settings are chosen by
validation. A trial may also be a training of other epochs than the usual runs. The JSON holds::

    card      how it was made: command, date
    runs      one entry for each training:
              preset, direction (as in "de-en"), seed, machine, command (which repeats it)
              lowercase, parameters, updates, epochs, minutes, tokens_per_second (median)
              best_update, averaged (updates whose weights were averaged, or null)
              tests    name -> {bleu, chrf, signature, beam, sentences}
              log      a few points: {update, loss, bleu, perplexity}
              penalties   perhaps: what each length penalty gave on validation, a list of
                       {alpha, bleu, length (words for one word of the references)}
    groups    one entry for each preset and direction (and case):
              preset, direction, lowercase, seeds, parameters
              minutes, updates, tokens_per_second   {mean, spread, values}
              tests    name -> {seeds, bleu: {mean, spread, values}, chrf: ..., signature, beam,
                       sentences}; the seeds are those whose run has that test
    tried     one entry for each trial: as in runs, perhaps without tests, and with its settings
              settings (those that the preset does not have, by name); perhaps averages, as
              ``benchmarks/trials.py`` describes them
    copyist   card, and rows, one for each direction, case and test set of Multi30k:
              direction, lowercase, split, sentences, bleu, tokenized (BLEU of lower-cased
              tokens), one_word_away (how many sentences are)

where ``spread`` is the standard deviation between seeds, null for one seed alone.
"""

import argparse
import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.finished_runs import KIND, PENALTIES, Values, kind_of, read_run, read_trial
from benchmarks.measure import write_block
from seqattn.data.corpora import CorpusConfig, read_split
from seqattn.evaluation import copy_nearest, evaluate, one_word_away
from seqattn.evaluation.evaluate import bleu_scorer
from seqattn.training import RunFolder
from seqattn.translator import Translator
from seqattn.translator.translator import LENGTH_PENALTY

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "seqattn" / "data" / "measured" / "multi30k.json"
PAGE = ROOT / "chapters" / "training_runs.md"
BEAM = 5
ALPHAS = 0.0, 0.3, LENGTH_PENALTY, 1.0, 1.5, 2.0, 2.5  # length penalties to choose from
MORE_TESTS = "test_2017_flickr", "test_2017_mscoco"  # of Multi30k; the first, of 2016, is "test"
# What the project wanted of the mean over seeds: preset, direction, lower case or not, test, BLEU.
GOALS = (
    ("transformer-tiny", "de-en", False, "beam5", 42.5),
    ("bahdanau", "de-en", False, "beam5", 41.5),
    ("transformer-tiny", "en-de", True, "beam5-tokenized", 41.3),
    ("bahdanau-tied", "en-de", True, "beam5-tokenized", 39.0),
)


def translate_tests(folder: Path, device: str, alpha: float | None = None) -> None:
    """Translate each test set with a beam; write plain and tokenised scores beside the run.

    With a length penalty of alpha, and then under another name; or with the usual one.
    """
    corpus, translator = _open(folder, device)
    plain = {"lowercase": translator.lowercase}
    tokenized = {**plain, "language": corpus.target}
    search = f"beam{BEAM}" if alpha is None else f"beam{BEAM}-alpha{alpha:g}"
    for split in ("test", *(MORE_TESTS if corpus.name == "multi30k" else ())):
        pairs = read_split(corpus, split)
        which = _which(split)
        for name, options in ((search, plain), (f"{search}-tokenized", tokenized)):
            found = evaluate(
                translator, pairs, beam=BEAM, length_penalty=alpha, details=True, **options
            )
            RunFolder(folder).write(f"test-{name}{which}.json", {**found.to_dict(), "beam": BEAM})
            print(f"{folder}: {name}{which} BLEU {found.bleu:.2f}", flush=True)


def _which(split: str) -> str:
    """Give the end of a test's name that tells its set: "-2017-flickr"; "" for that of 2016."""
    return split.removeprefix("test").replace("_", "-")


def choose_penalty(folders: Sequence[Path], device: str) -> float:
    """Translate the validation set with each length penalty; give that of the best mean BLEU."""
    if len({kind_of(read_run(folder)) for folder in folders}) > 1:
        raise SystemExit("the runs are of several presets or directions; expected runs of one, for "
                         "one length penalty is chosen for all")  # fmt: skip
    found = []
    for folder in folders:
        corpus, translator = _open(folder, device)
        pairs = read_split(corpus, "valid")
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
        score = bleu_scorer(lowercase=translator.lowercase)
        rows = []
        for alpha in ALPHAS:
            every = translator.translate(sources, beam=BEAM, length_penalty=alpha)
            texts = [one.text for one in every]
            bleu = round(score(texts, references).score, 2)
            length = round(_words(texts) / _words(references), 3)
            rows.append({"alpha": alpha, "bleu": bleu, "length": length})
            print(f"{folder}: length penalty {alpha:g} BLEU {bleu:.2f}", flush=True)
        RunFolder(folder).write(PENALTIES, rows)
        found.append(rows)
    return best_penalty(found)["alpha"]


def best_penalty(tried: Sequence[Sequence[Values]]) -> Values:
    """Give a row of the length penalty whose mean BLEU over the runs is best."""
    return max(zip(*tried, strict=True), key=_mean_bleu)[0]


def _mean_bleu(rows: Iterable[Values]) -> float:
    return statistics.mean(row["bleu"] for row in rows)


def _words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _open(folder: Path, device: str) -> tuple[CorpusConfig, Translator]:
    """Give a run's corpus, as it is written, and its translator."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    corpus = CorpusConfig.from_dict({**config["corpus"], "lowercase": False})
    return corpus, Translator.load(folder, device=device)


def copy_all(groups: Sequence[Values]) -> list[Values]:
    """Score the copyist on each test set of Multi30k, in each direction and case of the groups."""
    found = []
    for direction, lowercase in sorted({(g["direction"], g["lowercase"]) for g in groups}):
        source, target = direction.split("-")
        corpus = CorpusConfig("multi30k", source, target, lowercase=lowercase)
        train = read_split(corpus, "train")
        for split in ("test", *MORE_TESTS):
            pairs = read_split(corpus, split)
            texts, wanted = copy_nearest(pairs, train), [pair.target for pair in pairs]
            plain, tokenized = (
                bleu_scorer(lowercase=lowercase, language=language)(texts, wanted).score
                for language in (None, target)
            )
            found.append(
                {
                    "direction": direction,
                    "lowercase": lowercase,
                    "split": split,
                    "sentences": len(pairs),
                    "bleu": round(plain, 2),
                    "tokenized": round(tokenized, 2),
                    "one_word_away": sum(one_word_away(pairs, train)),
                }
            )
    return found


def merge(old: Iterable[Values], new: Sequence[Values]) -> list[Values]:
    """Add runs to older ones; the same kind and seed replaces, and must not come twice in new."""
    merged = {(*kind_of(run), run["seed"]): run for run in old}
    fresh = {(*kind_of(run), run["seed"]): run for run in new}
    if len(fresh) < len(new):
        raise SystemExit("two of the runs have the same preset, direction, case and seed; name one")
    merged |= fresh
    return [merged[key] for key in sorted(merged)]


def aggregate(runs: Sequence[Values]) -> list[Values]:
    """Take mean and spread over the seeds of each preset and direction."""
    groups = []
    for key in sorted({kind_of(run) for run in runs}):
        same = [run for run in runs if kind_of(run) == key]
        if len({_settings(run) for run in same}) > 1:
            commands = "\n  ".join(run["command"] for run in same)
            raise SystemExit(f"settings differ between seeds of one kind:\n  {commands}")
        seeds = [run["seed"] for run in same]
        names = dict.fromkeys(name for run in same for name in run["tests"])
        groups.append(
            {
                **dict(zip(KIND, key)),
                "seeds": seeds,
                "parameters": same[0]["parameters"],
                **{
                    name: spread(run[name] for run in same)
                    for name in ("minutes", "updates", "tokens_per_second")
                },
                "tests": {name: _join(name, same) for name in sorted(names)},
            }
        )
    return groups


def _settings(run: Values) -> str:
    """Give the command without what may differ between seeds: the seed, and how it was computed."""
    return re.sub(r" --(seed|precision) \S+", "", run["command"])


def _join(name: str, runs: Sequence[Values]) -> Values:
    """Take mean and spread of a test over the runs that have it."""
    runs = [run for run in runs if name in run["tests"]]
    tests = [run["tests"][name] for run in runs]
    for what in ("signature", "beam", "sentences"):
        if len({test[what] for test in tests}) > 1:
            raise SystemExit(
                f"{what} differs between seeds: {[test[what] for test in tests]}; expected one, "
                "or their scores cannot be averaged"
            )
    rest = {what: tests[0][what] for what in ("signature", "beam", "sentences")}
    scores = {score: spread(test[score] for test in tests) for score in ("bleu", "chrf")}
    return {"seeds": [run["seed"] for run in runs]} | scores | rest


def spread(values: Iterable[float]) -> Values:
    """Give mean, standard deviation between seeds, and the values themselves."""
    found = list(values)
    return {
        "mean": round(statistics.mean(found), 2),
        "spread": round(statistics.stdev(found), 2) if len(found) > 1 else None,
        "values": [round(value, 2) for value in found],
    }


def _way(group: Values) -> str:
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
    found = re.fullmatch(r"(\w+?)(\d*)(?:-alpha([\d.]+))?(-tokenized)?(?:-(.+))?", test)
    assert found, test
    search = f"{found[1]} of {found[2]}" if found[2] else found[1]
    search += f", α = {found[3]}" if found[3] else ""
    return (found[5] or "2016").replace("-", " "), search, found[4] is not None


def by_set(tests: Mapping[str, Values]) -> dict[tuple[str, str], dict[bool, Values]]:
    """Put the scores of one search on one test set together: by tokenised or not."""
    found: dict[tuple[str, str], dict[bool, Values]] = {}
    for name, test in tests.items():
        which, search, tokenized = read_name(name)
        found.setdefault((which, search), {})[tokenized] = test
    return dict(sorted(found.items()))


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
                _way(group),
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
                    cells = [group["preset"], _way(group), how, str(goal), _told(bleu), came]
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
    chosen = best_penalty(tried)["alpha"]
    lines = [
        f"| {rows[0]['alpha']:g}{' (chosen)' * (rows[0]['alpha'] == chosen)} | "
        f"{_told(spread(row['bleu'] for row in rows))} | "
        f"{statistics.mean(row['length'] for row in rows):.1%} |"
        for rows in zip(*tried, strict=True)
    ]
    title = (
        f"The exponent α of the length penalty of a beam of {BEAM}, on validation; length: the "
        "words of the translations, as a share of those of the references:"
    )
    return [title, "", "| α | validation BLEU | length |", "|---:|---:|---:|", *lines, ""]


def copyist_table(copied: Values | None, groups: Sequence[Values]) -> list[str]:
    """Give the lines of a table in Markdown: what copying gives on the test sets of the groups."""
    ways = [_way(group) for group in groups]
    rows = [] if copied is None else [one for one in copied["rows"] if _way(one) in ways]
    if copied is None or not rows:
        return []
    title = "**A copyist, which learns nothing: the translation of the nearest training caption**"
    heads = ["| direction | test set | captions | one word away | BLEU | BLEU, tokenized |"]
    heads += ["|---|---|---:|---:|---:|---:|"]
    lines = [
        f"| {_way(one)} | {read_name('greedy' + _which(one['split']))[0]} | {one['sentences']:,} | "
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
    lines = [f"### {group['preset']}, {_way(group)}{size}", ""]
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
            found.setdefault(test["signature"], set()).add(f"{kind}, {_way(group)}")
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


def main() -> None:
    """Collect, print or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="folders of finished runs"
    )
    parser.add_argument(
        "--test", action="store_true", help=f"test each with a beam of {BEAM} first"
    )
    parser.add_argument(
        "--length-penalty",
        action="store_true",
        help="choose that of the beam on validation, by the mean of these runs, and test with it",
    )
    parser.add_argument("--device", default="cpu", help="for --test and --length-penalty")
    parser.add_argument(
        "--tried", action="store_true", help="the runs are trials of another setting"
    )
    parser.add_argument("--copyist", action="store_true", help="score the copyist anew")
    parser.add_argument("--machine", help="on which they were trained, such as 'one H100'")
    parser.add_argument("--book", action="store_true", help="add to the book's JSON and page")
    parser.add_argument("--anew", action="store_true", help="forget the runs in the book first")
    options = parser.parse_args()
    if options.test:
        for folder in options.runs:
            translate_tests(folder, options.device)
    if options.length_penalty:
        alpha = choose_penalty(options.runs, options.device)
        for folder in options.runs if alpha != LENGTH_PENALTY else ():
            translate_tests(folder, options.device, alpha)
    stored = json.loads(RESULT.read_text("utf-8"))
    read = partial(read_trial, usual=stored["runs"]) if options.tried else read_run
    found = [read(folder) for folder in options.runs]
    before = {run["command"]: run["machine"] for run in stored["runs"]}
    for run in found:
        # Who collects a run again, with more tests, need not say again where it was trained.
        run["machine"] = options.machine or before.get(run["command"])
    kept = options.book and not options.anew
    runs, tried = (stored.get(name, []) if kept else [] for name in ("runs", "tried"))
    if options.tried:
        commands = {run["command"] for run in found}
        tried = [run for run in tried if run["command"] not in commands] + found
    else:
        runs = merge(runs, found)
    groups = aggregate(runs)
    card = {"command": "python -m benchmarks.quality RUN ... --book", "date": str(date.today())}
    copied = stored.get("copyist")
    if options.copyist:
        command = "python -m benchmarks.quality --copyist --book"
        copied = {"card": {**card, "command": command}, "rows": copy_all(groups)}
    record = {"card": card, "runs": runs, "groups": groups, "copyist": copied, "tried": tried}
    print("\n".join([*summary_table(groups), "", *copyist_table(copied, groups)]))
    if options.tried:
        print("\n".join(trial_table([], found)))
    if options.book:
        RESULT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        write_block("training runs", ["", *page_lines(record), ""], PAGE)
        print(f"wrote {RESULT.relative_to(ROOT)}; now `make execute ONLY=20`, for that chapter "
              "shows them")  # fmt: skip


if __name__ == "__main__":
    main()
