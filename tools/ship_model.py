"""Train a model that comes with the package: ``python -m tools.ship_model``, or ``make model``.

Trains the toy preset as ``seqattn train`` does without options, or another one that is named, with
a fixed seed, keeps the weights of the best validation in 16 bits, and writes them to
``seqattn/data/models/`` with a record of how they were made and how they do on sentences they were
not trained on. The weights in the file are those that were measured. ``--run FOLDER`` ships a run
that was trained so before.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from seqattn.data import read_split
from seqattn.data.corpora import CorpusConfig
from seqattn.evaluation import evaluate
from seqattn.precision import computes_bf16
from seqattn.process import prepare_process
from seqattn.training import new_run, read_checkpoint, write_checkpoint
from seqattn.training.presets import read_preset
from seqattn.translator import Translator
from seqattn.translator.run_folder import SHIPPED, RunFolder

SEED = 1


def train(folder: Path, name: str, threads: int) -> None:
    """Train a preset on the toy corpus in a new run folder, as ``seqattn train`` does."""
    preset = read_preset(name)
    bf16 = computes_bf16(torch.device("cpu"))
    training = replace(preset.training, seed=SEED, bf16=bf16)
    torch.set_num_threads(threads)
    prepare_process()
    new_run(folder, CorpusConfig(), preset=replace(preset, training=training)).run()


def ship(run: Path, place: Path, name: str = "toy") -> dict:
    """Write the model and its record; give the record."""
    checkpoint = read_checkpoint(RunFolder(run).checkpoint(), only="model.")
    halves = {name: tensor.half() for name, tensor in checkpoint.tensors.items()}
    kept = ("model", "training", "corpus", "data", "vocabularies", "position")
    write_checkpoint(place, halves, {name: checkpoint.header[name] for name in kept})
    corpus = CorpusConfig.from_dict(checkpoint.header["corpus"])
    found = evaluate(Translator.load(place), read_split(corpus, "test"), details=True)
    card = {
        "command": f"python -m tools.ship_model {name}",
        "date": time.strftime("%Y-%m-%d"),
        "licence": "Apache-2.0, as the package: its corpus comes from the package's own grammar",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "bf16": checkpoint.header["training"]["bf16"],
        "threads": checkpoint.header["threads"],
        "seconds": round(checkpoint.header["position"]["seconds"]),
        "weights": sum(tensor.numel() for tensor in halves.values()),
        "bytes": place.stat().st_size,
    }
    settings = {name: checkpoint.header[name] for name in ("model", "training", "corpus", "data")}
    record = {"card": card, "test": found.to_dict(), "settings": settings}
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    place.with_suffix(".json").write_text(text, encoding="utf-8")
    return record


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="toy", choices=SHIPPED, help="of its preset")
    parser.add_argument("--run", type=Path, help="ship this run instead of training")
    parser.add_argument("--threads", type=int, default=1, help="of the training")
    parser.add_argument("--out", type=Path, help="where to write (default: in the package)")
    options = parser.parse_args()
    place = options.out or SHIPPED[options.name]
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or Path(folder) / options.name
        if options.run is None:
            train(run, options.name, options.threads)
        record = ship(run, place, options.name)
    test, card = record["test"], record["card"]
    print(
        f"{place}: {card['bytes'] / 1e6:.1f} MB, trained for {card['seconds']} s; "
        f"{test['sentences']} unseen sentences: BLEU {test['bleu']:.2f}, AER {test['aer']:.2%} "
        f"({test['aer_rows']:.2%} by rows alone)"
    )


if __name__ == "__main__":
    main()
