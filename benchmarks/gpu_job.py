"""What a part of ``benchmarks.gpu`` works with: how much of everything, and what it remembers."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.study import Study
from seqattn.data import CorpusConfig
from seqattn.models import ModelConfig
from seqattn.training import preset_names, read_preset
from seqattn.training.presets import Preset

TRIES = 2  # of a measurement that is cut short
TOY = ("fixed", "toy")  # presets that are made for the toy corpus
Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """How much of everything."""

    presets: dict[str, Preset]
    corpora: dict[str, CorpusConfig]  # of the presets that are not of the first
    corpus: CorpusConfig
    seconds: float  # of a measurement of speed
    sample: int  # batches that it goes through
    reach: tuple[str, ...]  # presets
    budget: dict[str, Any]  # of their trainings
    marks: tuple[float, ...]  # BLEU
    compiler: str

    def corpus_of(self, preset: str) -> CorpusConfig:
        """Give what a preset is for."""
        return self.corpora.get(preset, self.corpus)


def full() -> Setting:
    """Give the setting whose numbers count."""
    return Setting(
        presets={name: read_preset(name) for name in preset_names()},
        corpora={name: CorpusConfig() for name in TOY},
        corpus=CorpusConfig("multi30k", "de", "en"),
        seconds=1.5,
        sample=12,
        reach=("transformer-tiny", "luong-parallel", "bahdanau"),
        budget={"minutes": 3.0, "epochs": None},
        marks=(30.0, 36.0),
        compiler="inductor",
    )


def tiny() -> Setting:
    """Give a setting for a CPU in which nothing is left out but size."""
    short = {"steps": 4, "epochs": None, "validate_every": 2, "batch_tokens": 64, "average": 2,
             "log_every": 1}  # fmt: skip
    small = {
        "bahdanau": ModelConfig("bahdanau", d_embed=8, d_hidden=8),
        "transformer-tiny": ModelConfig(
            "transformer", d_hidden=8, d_feedforward=8, heads=2, tie="all"
        ),
    }
    presets = {
        name: replace(
            read_preset(name),
            model=model,
            subwords=0,
            training=replace(read_preset(name).training, **short),
        )
        for name, model in small.items()
    }
    return Setting(
        presets=presets,
        corpora={},
        corpus=CorpusConfig(pairs=400),
        seconds=0.01,
        sample=2,
        reach=("bahdanau",),
        budget={},
        marks=(0.0, 101.0),
        compiler="eager",
    )


class UnfinishedError(Exception):
    """A part was asked to end, and goes on another time."""


@dataclass(frozen=True)
class Job:
    """Where a part works, and with what."""

    device: torch.device
    setting: Setting
    study: Study
    joeynmt: str | None

    def cell(self, key: str, measure: Callable[..., Row], *arguments: Any) -> Row:
        """Give a measurement from the work folder; measure first if it is not there.

        What fails is told in its row, and is tried again the next time. What was cut short
        :data:`TRIES` times is not: it would be so again, and those after it would never begin.
        """
        begun = self.study.work / f"{key}.begun"
        tries = len(begun.read_text(encoding="utf-8")) if begun.is_file() else 0
        if tries >= TRIES:
            return {"failed": f"{key} did not end, {tries} times; remove {begun} to try again"}
        self.study.work.mkdir(parents=True, exist_ok=True)
        begun.write_text("." * (tries + 1), encoding="utf-8")
        try:
            row = self.study.run(key, measure, *arguments)
        except UnfinishedError:
            raise
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            row = {"failed": told(error)}
        begun.unlink()
        return row

    def folder(self, name: str) -> Path:
        """Give a folder of this part's own."""
        path = self.study.work / name
        path.mkdir(parents=True, exist_ok=True)
        return path


def told(error: BaseException) -> str:
    """Give the first line of an error, with its kind."""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"[:200]
