"""Finished trainings, collected for the book: ``python -m benchmarks.quality RUN RUN ... --book``.

Each RUN is a folder that ``seqattn train`` left, with ``config.json``, ``metrics.jsonl`` and
``test.json``. More tests of the same run may lie beside it, as ``test-NAME.json``: what ``seqattn
evaluate --json`` prints, or what ``--test`` below writes. Checkpoints are not needed, but for
``--test``, which translates the test set once more, with a beam of 5, plain and tokenised, and of
Multi30k also the two test sets of 2017; and for ``--length-penalty``, which first chooses that of
the beam on validation, one for all RUNs, and then tests with it in the same way, if it is not the
usual one.

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
              tests    name -> {bleu, chrf, signature, beam, sentences}, and perhaps length_ratio
                       (tokens of the translations per reference token, as BLEU counts them)
              log      a few points: {update, loss, bleu, perplexity}
              penalties   perhaps: what each length penalty gave on validation, a list of
                       {alpha, bleu, length_ratio}
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
from collections.abc import Iterable, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.finished_runs import (
    KIND,
    MORE_TESTS,
    PENALTIES,
    Values,
    kind_of,
    read_run,
    read_trial,
    set_suffix,
    spread,
)
from benchmarks.measure import write_block
from benchmarks.quality_tables import (
    BEAM,
    best_penalty,
    copyist_table,
    page_lines,
    penalty_table,
    summary_table,
    trial_table,
)
from seqattn.data.corpora import CorpusConfig, read_split
from seqattn.evaluation import copy_nearest, evaluate, one_word_away
from seqattn.evaluation.evaluate import bleu_scorer
from seqattn.training import RunFolder
from seqattn.translator import Translator
from seqattn.translator.translator import LENGTH_PENALTY

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "seqattn" / "data" / "measured" / "multi30k.json"
PAGE = ROOT / "chapters" / "training_runs.md"
RUNS = "runs", "tried"  # where the JSON has them
ALPHAS = 0.0, 0.3, LENGTH_PENALTY, 1.0, 1.5, 2.0, 2.5  # length penalties to choose from


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
        which = set_suffix(split)
        for name, options in ((search, plain), (f"{search}-tokenized", tokenized)):
            found = evaluate(
                translator, pairs, beam=BEAM, length_penalty=alpha, details=True, **options
            )
            RunFolder(folder).write(f"test-{name}{which}.json", {**found.to_dict(), "beam": BEAM})
            print(f"{folder}: {name}{which} BLEU {found.bleu:.2f}", flush=True)


def choose_penalty(folders: Sequence[Path], device: str) -> float:
    """Translate the validation set with each length penalty; give that of the best mean BLEU."""
    if len({kind_of(read_run(folder, tried=True)) for folder in folders}) > 1:
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
            bleu = score(texts, references)
            ratio = round(bleu.length_ratio, 4)
            rows.append({"alpha": alpha, "bleu": round(bleu.score, 2), "length_ratio": ratio})
            print(f"{folder}: length penalty {alpha:g} BLEU {bleu.score:.2f}", flush=True)
        RunFolder(folder).write(PENALTIES, rows)
        found.append(rows)
    return best_penalty(found)


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
    if (options.test or options.length_penalty) and not options.runs:
        parser.error("--test and --length-penalty translate with runs; expected a RUN or more")
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
    before = {run["command"]: run["machine"] for name in RUNS for run in stored.get(name, [])}
    for run in found:
        # Who collects a run again, with more tests, need not say again where it was trained.
        run["machine"] = options.machine or before.get(run["command"])
    kept = options.book and not options.anew
    runs, tried = (stored.get(name, []) if kept else [] for name in RUNS)
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
    if options.length_penalty:
        print("\n".join(penalty_table(found)))
    if options.tried:
        print("\n".join(trial_table([], found)))
    if options.book:
        lines = page_lines(record)  # which fails before anything is written, if at all
        RESULT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        write_block("training runs", ["", *lines, ""], PAGE)
        print(f"wrote {RESULT.relative_to(ROOT)}; now `make execute ONLY=20`, for that chapter "
              "shows them")  # fmt: skip


if __name__ == "__main__":
    main()
