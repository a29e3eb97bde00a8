"""Translate five real captions for the book: ``python -m benchmarks.captions RUN``.

RUN is a folder that ``seqattn train --data multi30k`` left, German to English. Its translator reads
five captions of Multi30k's test set of 2016, which a rule chooses (:func:`choose`), so that they
are neither its best nor its worst. Writes ``seqattn/data/measured/captions.json``: what was read
and written, where the translator looked, what the corpus has instead, and how the run was trained.
The five are quoted; the corpus is no part of this project.
"""

from pathlib import Path
from typing import Any

from benchmarks.finished_runs import read_run
from benchmarks.study import Study, study_parser
from seqattn.data import TextPair, read_multi30k
from seqattn.translator import Translator

SPLIT, HOW_MANY, LONGEST = "test_2016_flickr", 5, 10
# A German caption that ends in one of these ends, as a rule, in the second half of its verb.
PREFIXES = ("ab", "an", "auf", "aus", "ein", "vor", "zu")
RULE = (
    f"the first {HOW_MANY} of {SPLIT} with at most {LONGEST} words whose last word is "
    f"{', '.join(PREFIXES[:-1])} or {PREFIXES[-1]}"
)
SOURCE = (
    "Multi30k, github.com/multi30k/dataset, for research and education, not for commerce; quoted"
)
DIGITS = 4  # of a weight


def choose(pairs: list[TextPair]) -> list[tuple[int, TextPair]]:
    """Find the captions of the rule, each with its line in the file, counted from 1."""
    found = []
    for line, pair in enumerate(pairs, start=1):
        words = pair.source.rstrip(".").split()
        if len(words) <= LONGEST and words[-1] in PREFIXES:
            found.append((line, pair))
    return found[:HOW_MANY]


def translate(
    translator: Translator, chosen: list[tuple[int, TextPair]], known: set[str]
) -> list[dict[str, Any]]:
    """Translate by greedy search; say of each caption whether it was trained on."""
    found = translator.translate([pair.source for _, pair in chosen], beam=1)
    return [
        {
            "line": line,
            "source": pair.source,
            "reference": pair.target,
            "text": told.text,
            "trained on": pair.source in known,
            "source_tokens": told.source_tokens,
            "tokens": told.tokens,
            "weights": [[round(w, DIGITS) for w in row] for row in told.weights.tolist()],
        }
        for (line, pair), told in zip(chosen, found)
    ]


def main() -> None:
    """Read the run, translate, write."""
    parser = study_parser("captions", __doc__)
    parser.add_argument("run", type=Path, help="folder of a training on Multi30k, German first")
    parser.add_argument("--note", default="as the command says", help="what else was done to it")
    options = parser.parse_args()
    run = read_run(options.run)
    if run["direction"] != "de-en" or "--data multi30k" not in run["command"]:
        raise SystemExit(f"{options.run} was trained by {run['command']}; expected Multi30k, de-en")
    study = Study("captions", options.work, options.result)
    captions = translate(
        Translator.load(options.run),
        choose(read_multi30k(SPLIT, "de", "en")),
        {pair.source for pair in read_multi30k("train", "de", "en")},
    )
    card = study.card(
        command="python -m benchmarks.captions RUN",
        trained={name: run[name] for name in ("command", "updates", "minutes")}
        | {"how": options.note},
        **{
            "test, greedy search": {
                "BLEU": f"{run['tests']['greedy']['bleu']:.1f}",
                "sentences": run["tests"]["greedy"]["sentences"],
            },
            "captions": RULE,
            "source": SOURCE,
        },
    )
    study.write({"card": card, "captions": captions})


if __name__ == "__main__":
    main()
