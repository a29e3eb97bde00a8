"""Trainings from several seeds: kept when finished, and what they show stored for a chapter."""

import argparse
import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch

__all__ = ["Study", "study_parser"]

MEASURED = Path(__file__).resolve().parents[1] / "seqattn" / "data" / "measured"


@dataclass(frozen=True)
class Study:
    """A study's name, the folder of its finished trainings, and the file of what it found.

    Parameters
    ----------
    name : str
        Of its module in ``benchmarks``; the book reads ``seqattn/data/measured/NAME.json``.
    work : Path
        Folder for finished trainings, made if it is missing.
    result : Path
        What :meth:`write` writes.
    """

    name: str
    work: Path
    result: Path

    def run(self, key: str, train: Callable[..., dict], *arguments: Any) -> dict:
        """Give a training's result from the work folder; train first if it is not there.

        ``key`` must name everything in which the training differs from the study's others. Nothing
        else is compared: whoever changes what a study trains begins another work folder.
        """
        file = self.work / f"{key}.json"
        if not file.exists():
            self.work.mkdir(parents=True, exist_ok=True)
            _replace(file, json.dumps(train(*arguments), ensure_ascii=False))
            print(f"{self.name}: {key}", flush=True)
        return json.loads(file.read_text(encoding="utf-8"))

    def card(self, **more: object) -> dict:
        """Say what was run where, and when; with what the study adds."""
        return {
            "command": f"python -m benchmarks.{self.name}",
            "date": str(date.today()),
            "machine": f"{platform.machine()}, {torch.get_num_threads()} of {os.cpu_count()} cores",
            "torch": torch.__version__,
            **more,
        }

    def write(self, found: dict) -> None:
        """Store what was found."""
        _replace(self.result, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def _replace(file: Path, text: str) -> None:
    """Write a file at once: nobody must ever meet half of it."""
    unfinished = file.with_suffix(".part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(file)


def study_parser(name: str, description: str) -> argparse.ArgumentParser:
    """Give a parser for ``--work`` and ``--result``; a study may add arguments of its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--work", type=Path, default=Path("runs") / name, help="finished trainings")
    parser.add_argument("--result", type=Path, default=MEASURED / f"{name}.json")
    return parser
