"""Time to quality: ``python -m benchmarks.reach --joeynmt PYTHON --seeds 0``, later ``1 2``.

Seconds until the validation BLEU of Multi30k, German to English, first is 20, 25 and 30: of our
Luong in 32 bits and in bfloat16, of JoeyNMT's with the same sizes, batches and kind of schedule,
and of JoeyNMT as one of its own examples has it. After every 100,000 target tokens or so each
translates all validation sentences greedily. The clock runs while it trains and while it
translates; reading, building, and BLEU itself are not counted. A training ends with BLEU 30, or
when its minutes are over.

Each training of a seed is a cell in the work folder, and is not repeated. Seeds come one after the
other, and in each all contestants, so that the measurement can be taken up on another day. What was
cut short leaves the points that it had, and begins anew. ``--book`` joins the cells with those that
are stored, in ``seqattn/data/measured/reach.json``, and writes figure and tables::

    card    how it was made: command, date
    cells   one for each contestant and seed:
            contestant, seed, settings, end ("reached", "time is over", "epochs are over", "cut")
            about (what it ran on), machine, boot (which machine of that kind it was), date
            points   at each validation: {updates, tokens, training, validating, bleu}; in seconds,
                     from the beginning
    trials  the same, of settings beside those

``--trials`` trains the settings of both programs beside others, one thing changed at a time: each
until it has learned from half a million tokens, from another seed than those of the measurement.
Other work may go on beside it, for its BLEU counts and not its seconds.
"""

import argparse
import json
import math
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch

from benchmarks.learner import learn_and_show
from benchmarks.measure import PAGE as BENCHMARKS
from benchmarks.measure import processor, write_block
from benchmarks.race import EMBED, HIDDEN, SUBWORDS
from benchmarks.reach_tables import (
    HOW,
    MARKS,
    Cell,
    clock,
    draw_curves,
    page_lines,
    told,
    trial_lines,
)
from benchmarks.study import Study, study_parser
from benchmarks.train import MODELS
from benchmarks.translate import bleu, search_all, side_by_side
from seqattn.data import (
    Batches,
    CorpusConfig,
    Example,
    TextPair,
    Vocabularies,
    encode_pairs,
    read_split,
)
from seqattn.models import build_model
from seqattn.models.output_layer import guess_frequencies
from seqattn.plots.svg import figure_svg
from seqattn.process import prepare_process
from seqattn.training import make_optimizer, update
from seqattn.training.schedules import LEARNING_RATES

PAGE = BENCHMARKS.with_name("time_to_quality.md")
ALT = (
    "A line for each training: validation BLEU over the minutes since it began, on a logarithmic "
    f"axis. A dotted line marks BLEU {MARKS[1]}. The table of the curve below has their means."
)
SMOOTHING = 0.1


@dataclass(frozen=True)
class Contestant:
    """Who learns, and how.

    Attributes
    ----------
    name : str
        As the tables have it.
    peak, warmup, schedule
        Of the learning rate; schedules have the names of ``seqattn.training.schedules``.
    bf16 : bool
        Whether ours computes in bfloat16.
    sentences : int, optional
        Sentences in a random batch; without it, batches are buckets of sentences of one length.
    own : mapping, optional
        What ``joey.py`` is to know of JoeyNMT's model and training; None for ours.
    """

    name: str
    peak: float
    warmup: int = 200
    schedule: str = "inverse_square_root"
    bf16: bool = False
    sentences: int | None = None
    own: Mapping[str, Any] | None = None


CONTESTANTS = {
    "ours-fp32": Contestant("ours, fp32", peak=2e-3),
    "ours-bf16": Contestant("ours, bf16", peak=2e-3, bf16=True),
    "joeynmt": Contestant(
        "JoeyNMT",
        peak=2e-3,
        # What its configuration offers of our recipe: orthogonal recurrent matrices, AdamW. The
        # spread of its first embeddings is chosen like the peak.
        own={
            "score": "luong",
            "dropout": 0.2,
            "smoothing": SMOOTHING,
            "clip": 1.0,
            "start": {
                "embed_initializer": "normal",
                "embed_init_weight": 1.0,
                "init_rnn_orthogonal": True,
            },
            "adamw": {"betas": [0.9, 0.98], "weight_decay": 0.01},
        },
    ),
    # configs/iwslt14_deen_bpe.yaml, until version 2 put a Transformer there: an example with a
    # recurrent model, and German and English. Its plateau scheduler takes the validation loss each
    # 2,000 updates, and lowers the rate after 9 without a gain: later than any training here ends.
    "joeynmt-own": Contestant(
        "JoeyNMT, its own settings",
        peak=2e-4,
        warmup=0,
        schedule="constant",
        sentences=80,
        own={
            "score": "bahdanau",
            "dropout": 0.0,
            "smoothing": 0.0,
            "clip": None,
            "start": {},
            "adamw": None,
        },
    ),
}


def tuned(contestant: Contestant, peak: float | None, spread: float | None) -> Contestant:
    """Give a contestant another peak of its learning rate, or JoeyNMT's other first embeddings."""
    if peak is not None:
        contestant = replace(contestant, peak=peak)
    if spread is not None:
        assert contestant.own is not None
        start = {**contestant.own["start"], "embed_init_weight": spread}
        contestant = replace(contestant, own={**contestant.own, "start": start})
    return contestant


# One thing is tried at a time, beside what was chosen: a contestant, a peak, a spread.
TRIALS = {
    f"{key}-{name}": (key, tuned(CONTESTANTS[key], peak, spread))
    for key, name, peak, spread in (
        ("joeynmt", "chosen", None, None),
        ("joeynmt", "half-the-peak", 1e-3, None),
        ("joeynmt", "twice-the-peak", 4e-3, None),
        ("joeynmt", "a-tenth-of-the-spread", None, 0.1),
        ("ours-bf16", "chosen", None, None),
        ("ours-bf16", "half-the-peak", 1e-3, None),
        ("ours-bf16", "twice-the-peak", 4e-3, None),
    )
}
TRIAL_SEED, TRIAL_TOKENS = 100, 500_000


@dataclass(frozen=True)
class Material:
    """What all learn from, and what all translate."""

    known: list[TextPair]
    unseen: list[TextPair]
    vocabularies: Vocabularies

    @classmethod
    def read(cls) -> "Material":
        """Read Multi30k, German to English, and learn its subwords from the training pairs."""
        corpus = CorpusConfig("multi30k", "de", "en")
        known, unseen = read_split(corpus, "train"), read_split(corpus, "valid")
        return cls(known, unseen, Vocabularies.learn(known, corpus.languages, subwords=SUBWORDS))

    @cached_property
    def examples(self) -> list[Example]:
        """All pairs as ids, those to learn from first."""
        return encode_pairs([*self.known, *self.unseen], self.vocabularies)

    def judge(self, answers: list[list[int]]) -> float:
        """Give BLEU of the translations of all unseen sentences."""
        return bleu(self.vocabularies.target, self.unseen, answers)


class Limits(NamedTuple):
    """What is the same for every contestant."""

    tokens: int = 1024
    every: int = 100_000
    epochs: int = 40
    minutes: float = 30.0
    most: int | None = None  # tokens after which a trial ends
    threads: int = 2
    widths: tuple[int, int] = (EMBED, HIDDEN)


def make_task(material: Material, contestant: Contestant, seed: int, limits: Limits) -> dict:
    """Give what a contestant reads before it begins: what to learn, in which order, how fast."""
    examples, count = material.examples, len(material.known)
    if contestant.sentences is None:
        batches = Batches(examples[:count], tokens=limits.tokens, seed=seed)
        schedule = [rows for epoch in range(limits.epochs) for rows in batches.plan(epoch)]
    else:
        schedule = [*random_batches(count, contestant.sentences, seed, limits.epochs)]
    rate = LEARNING_RATES[contestant.schedule]
    return {
        "seed": seed,
        "sizes": list(map(len, material.vocabularies)),
        "widths": limits.widths,
        "examples": examples,
        "known": count,
        "schedule": schedule,
        "lr": [
            contestant.peak * rate(i, contestant.warmup, (i - 1) / len(schedule))
            for i in range(1, len(schedule) + 1)
        ],
        "every": limits.every,
        "1": side_by_side(examples, range(count, len(examples)), beam=1),
        "own": contestant.own,
    }


def random_batches(count: int, size: int, seed: int, epochs: int) -> Iterator[list[int]]:
    """Shuffle all rows for each epoch, and cut them as they come."""
    for epoch in range(epochs):
        rows = list(range(count))
        Random(f"{seed} {epoch}").shuffle(rows)
        yield from (rows[i : i + size] for i in range(0, count, size))


def learn(task: dict, bf16: bool) -> None:
    """Be one of ours."""
    torch.manual_seed(task["seed"])
    d_embed, d_hidden = task["widths"]
    config = replace(MODELS["luong"], d_embed=d_embed, d_hidden=d_hidden)
    model = build_model(config, *task["sizes"])
    optimizer = make_optimizer(model)
    batches = Batches([Example(*pair) for pair in task["examples"]])
    guess_frequencies(model.vocabulary, [target for _, target in task["examples"][: task["known"]]])

    def train(rows: Sequence[int], lr: float) -> int:
        model.train()
        batch = batches.take(rows)
        update(model, optimizer, batch, lr=lr, smoothing=SMOOTHING, bf16=bf16)
        return batch.tokens

    learn_and_show(
        task, train, lambda: search_all(model.eval(), task, 1, bf16), f"PyTorch {torch.__version__}"
    )


def follow(
    command: Sequence[str],
    judge: Callable[[list[list[int]]], float],
    limits: Limits,
    keep: Callable[[Cell], None],
    *,
    goal: float = MARKS[-1],
) -> Cell:
    """Run a contestant until its BLEU is the goal or a limit is met; ``keep`` gets each state."""
    found: Cell = {"end": "cut", "about": "", "points": []}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        try:
            said = process.stdout.readline().strip()
            if not said.startswith("ready: "):
                raise SystemExit(f"a contestant did not start: {' '.join(command)}")
            found["about"] = said.removeprefix("ready: ")
            for line in process.stdout:
                point = json.loads(line)
                point["bleu"] = round(judge(point.pop("answers")), 2)
                point |= {key: round(point[key], 2) for key in ("training", "validating")}
                found["points"].append(point)
                print(told(point), flush=True)
                if point["bleu"] >= goal:
                    found["end"] = "reached"
                elif limits.most is not None and point["tokens"] >= limits.most:
                    found["end"] = "tokens are over"
                elif clock(point) >= 60 * limits.minutes:
                    found["end"] = "time is over"
                keep(found)
                process.stdin.write("on\n" if found["end"] == "cut" else "stop\n")
                process.stdin.flush()
            if process.wait():
                raise SystemExit(f"a contestant ended with {process.returncode}")
        finally:
            process.kill()
    if found["end"] == "cut":
        found["end"] = "epochs are over"
    return found


class Measurement:
    """Cells in a work folder, and what belongs into them.

    Parameters
    ----------
    study : Study
        With the work folder.
    limits : Limits
        The same for all.
    """

    def __init__(self, study: Study, limits: Limits):
        self.study = study
        self.limits = limits

    def settings(self, contestant: Contestant) -> dict[str, Any]:
        """Give what an option or a contestant can change of a cell's points, but the seed.

        Data, subwords and sizes are those of the code: measure in another folder if they change.
        """
        values = {**self.limits._asdict(), **asdict(contestant)}
        del values["minutes"], values["most"]  # a curve says itself how far it goes
        return json.loads(json.dumps(values))

    def run(
        self, key: str, contestant: Contestant, seed: int, command: Sequence[str], data: Material
    ) -> Cell:
        """Let a contestant learn, unless it has; ``command`` lacks the file that it reads."""
        cut = self.cut(key, seed)
        threads = self.limits.threads
        common = {
            "contestant": key,
            "seed": seed,
            "settings": self.settings(contestant),
            "machine": f"{threads} thread{'s' * (threads != 1)} of {processor()}",
            "boot": boot(),
            "date": str(date.today()),
        }

        left = json.loads(cut.read_text("utf-8")) if cut.exists() else common
        # What was cut short with other settings says nothing of how far these have come.
        before = left.get("points", []) if left["settings"] == common["settings"] else []

        def keep(found: Cell) -> None:
            if before and found["points"][-1]["tokens"] < before[-1]["tokens"]:
                return  # what was cut short before had come further
            cut.parent.mkdir(parents=True, exist_ok=True)
            unfinished = cut.with_suffix(".part")
            unfinished.write_text(json.dumps({**common, **found}), encoding="utf-8")
            unfinished.replace(cut)

        def train() -> Cell:
            print(f"{contestant.name}, seed {seed}", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "task.json"
                path.write_text(json.dumps(make_task(data, contestant, seed, self.limits)))
                found = follow([*command, str(path)], data.judge, self.limits, keep)
            return {**common, **found}

        found = self.study.run(f"{key}-{seed}", train)
        if found["boot"] != common["boot"]:
            print(f"{contestant.name}, seed {seed}: of another machine, or before it was started "
                  "anew; its seconds are compared only with those of that time")  # fmt: skip
        cut.unlink(missing_ok=True)
        self.check(found, contestant)
        return found

    def cut(self, key: str, seed: int) -> Path:
        """Name the file of what an unfinished training has shown."""
        return self.study.work / f"{key}-{seed}.cut"

    def check(self, cell: Cell, contestant: Contestant) -> None:
        """Refuse what was measured in another way."""
        told, meant = cell["settings"], self.settings(contestant)
        others = {name: told.get(name) for name in meant if told.get(name) != meant[name]}
        if others:
            raise SystemExit(
                f"{cell['contestant']}, seed {cell['seed']}, was measured with {others}; expected "
                f"{ {name: meant[name] for name in others} }: measure in another --work"
            )

    def collect(self, contestants: Mapping[str, Contestant]) -> list[Cell]:
        """Join what is stored with the work folder, which goes before, but for what was cut."""
        part = "cells" if self.limits.most is None else "trials"
        stored = json.loads(self.study.result.read_text("utf-8")).get(part, []) if (
            self.study.result.exists()
        ) else []  # fmt: skip
        files = [*sorted(self.study.work.glob("*.cut")), *sorted(self.study.work.glob("*.json"))]
        found = {}
        for cell in [*stored, *(json.loads(file.read_text("utf-8")) for file in files)]:
            place = cell["contestant"], cell["seed"]
            if cell["contestant"] not in contestants:
                continue
            if place in found and is_less(cell, found[place]):
                continue
            self.check(cell, contestants[cell["contestant"]])
            found[place] = cell
        order = list(contestants)
        return sorted(found.values(), key=lambda c: (order.index(c["contestant"]), c["seed"]))

    def of_trials(self) -> "Measurement":
        """Give the measurement of the trials, whose cells lie in a folder of their own."""
        study = replace(self.study, work=self.study.work / "trials")
        return Measurement(study, self.limits._replace(minutes=math.inf, most=TRIAL_TOKENS))


def is_less(cell: Cell, other: Cell) -> bool:
    """Say whether a training that did not end by itself tells less than another of its seed."""
    if cell["end"] not in ("cut", "time is over"):
        return False
    if cell["end"] == "cut" != other["end"]:
        return True
    return cell["points"][-1]["tokens"] < other["points"][-1]["tokens"]


def boot() -> str:
    """Tell machines of one kind apart: a name for this start of this one."""
    file = Path("/proc/sys/kernel/random/boot_id")  # of Linux
    return file.read_text().strip() if file.exists() else platform.node()


def read_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command's options."""
    usual = Limits()
    parser = study_parser("reach", __doc__.splitlines()[0])
    parser.add_argument("--joeynmt", help="the Python of an environment with joeynmt==2.3")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", choices=list(CONTESTANTS), help="of the contestants")
    parser.add_argument("--trials", action="store_true", help="the settings beside others")
    parser.add_argument("--minutes", type=float, default=usual.minutes, help="at most, for each")
    parser.add_argument("--every", type=int, default=usual.every, help="tokens to a validation")
    parser.add_argument("--threads", type=int, default=usual.threads)
    parser.add_argument("--book", action="store_true", help="store and show what has been measured")
    parser.add_argument("--contestant", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    named = [key for key in arguments.only or () if CONTESTANTS[key].own is not None]
    if named and not arguments.joeynmt and not arguments.book:
        parser.error(f"{named[0]} needs --joeynmt PYTHON")
    return arguments


def write_page(
    cells: Sequence[Cell], trials: Sequence[Cell], tried: Mapping[str, Contestant]
) -> None:
    """Put the figure and the tables on the book's page."""
    picture = PAGE.with_suffix(".svg")
    drawn = figure_svg(draw_curves(cells, CONTESTANTS, MARKS[1]))
    assert drawn is not None  # lines only, and few
    picture.write_text(drawn + "\n", encoding="utf-8")
    shown = f"![{ALT}]({picture.name})", ""
    write_block("reach", [*shown, *page_lines(cells, CONTESTANTS, trials, tried)], PAGE)


def main() -> None:
    """Let every contestant learn in turn, show what they did, or be one of them."""
    arguments = read_arguments()
    prepare_process()
    torch.set_num_threads(arguments.threads)
    if arguments.contestant:
        precision, path = arguments.contestant
        return learn(json.loads(Path(path).read_text()), precision == "bf16")
    limits = Limits(every=arguments.every, minutes=arguments.minutes, threads=arguments.threads)
    measurement = Measurement(Study("reach", arguments.work, arguments.result), limits)
    tried = {name: contestant for name, (_, contestant) in TRIALS.items()}
    if arguments.book:
        cells = measurement.collect(CONTESTANTS)
        if not cells:
            raise SystemExit(f"nothing has been measured: no cells in {arguments.work}")
        trials = measurement.of_trials().collect(tried)
        measurement.study.write({"card": {"command": HOW, "date": str(date.today())},
                                 "cells": cells, "trials": trials})  # fmt: skip
        return write_page(cells, trials, tried)
    wanted = arguments.only or CONTESTANTS
    contestants = {key: CONTESTANTS[key] for key in wanted}
    seeds = arguments.seeds
    if arguments.trials:
        measurement, seeds = measurement.of_trials(), [TRIAL_SEED]
        contestants = {name: c for name, (key, c) in TRIALS.items() if key in wanted}
    material = Material.read()
    threads = str(arguments.threads)
    for seed in seeds:
        # Another begins each time, so that what comes with time falls on all alike.
        first = seed % len(contestants)
        for key, contestant in [*contestants.items()][first:] + [*contestants.items()][:first]:
            if contestant.own is None:
                command = [sys.executable, "-m", "benchmarks.reach", "--threads", threads]
                command += ["--contestant", "bf16" if contestant.bf16 else "fp32"]
            elif arguments.joeynmt:
                script = str(Path(__file__).with_name("joey.py"))
                command = [arguments.joeynmt, script, "reach", threads]
            else:
                print(f"{contestant.name} is left out: no --joeynmt")
                continue
            measurement.run(key, contestant, seed, command, material)
    show = trial_lines if arguments.trials else page_lines
    print("\n".join(show(measurement.collect(contestants), contestants)))


if __name__ == "__main__":
    main()
