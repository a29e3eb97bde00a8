"""What equal tokens teach: ``python -m benchmarks.learn [--joeynmt PYTHON] [--epochs 3]``.

A fast update is worth nothing if it learns less. Our model of Luong in bfloat16, and JoeyNMT's of
the same architecture and sizes in 32 bits, each with its own first weights, train on the same
batches of Multi30k in the same order, at the same learning rates, which rise and fall along
straight lines. Ours takes AdamW, as its trainings do, and JoeyNMT gets Adam. Then each translates
the validation sentences greedily.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from benchmarks.measure import write_lines
from benchmarks.race import JOEY_LUONG, SUBWORDS
from benchmarks.train import MODELS
from benchmarks.translate import bleu, side_by_side, write_answers
from seqattn.data import (
    Batches,
    CorpusConfig,
    Example,
    TextPair,
    Vocabularies,
    Vocabulary,
    encode_pairs,
    read_split,
)
from seqattn.models import build_model
from seqattn.models.output_layer import guess_frequencies
from seqattn.process import prepare_process
from seqattn.training import make_optimizer, update

PEAK, WARMUP, SEED = 1e-3, 200, 0
OURS = {"ours, luong, bf16": "bf16"}


def read_corpus() -> tuple[list[TextPair], list[TextPair], Vocabularies]:
    """Give the pairs to learn from and those to translate, and the vocabularies of the first."""
    corpus = CorpusConfig("multi30k", "de", "en")
    known, unseen = read_split(corpus, "train"), read_split(corpus, "valid")
    return known, unseen, Vocabularies.learn(known, corpus.languages, subwords=SUBWORDS)


def write_task(path: Path, tokens: int, epochs: int) -> tuple[int, list[TextPair], Vocabulary]:
    """Write what every contestant reads; give the target tokens, and what is to be translated."""
    known, unseen, vocabularies = read_corpus()
    batches = Batches(encode_pairs(known, vocabularies), tokens=tokens)
    schedule = [rows for epoch in range(epochs) for rows in batches.plan(epoch)]
    examples = [*batches.examples, *encode_pairs(unseen, vocabularies)]
    task = {
        "sizes": list(map(len, vocabularies)),
        "examples": examples,
        "schedule": schedule,
        "lr": [PEAK * min((i + 1) / WARMUP, 1 - i / len(schedule)) for i in range(len(schedule))],
        "1": side_by_side(examples, range(len(known), len(examples)), beam=1),
    }
    path.write_text(json.dumps(task))
    total = sum(len(examples[row].target) for rows in schedule for row in rows)
    return total, unseen, vocabularies.target


def learn(task: dict, bf16: bool, answers: Path) -> None:
    """Train on every batch of the schedule, then translate what was not trained on."""
    torch.manual_seed(SEED)
    model = build_model(MODELS["luong"], *task["sizes"]).train()
    optimizer = make_optimizer(model)
    batches = Batches([Example(*pair) for pair in task["examples"]])
    known = {row for rows in task["schedule"] for row in rows}
    guess_frequencies(model.vocabulary, [task["examples"][row][1] for row in sorted(known)])
    for rows, lr in zip(task["schedule"], task["lr"], strict=True):
        update(model, optimizer, batches.take(rows), lr=lr, smoothing=0.1, bf16=bf16)
    write_answers(model.eval(), task, 1, bf16, answers)


def main() -> None:
    """Let each contestant learn and translate, one after the other, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--joeynmt", help="the Python of an environment with joeynmt==2.3")
    parser.add_argument("--tokens", type=int, default=1024, help="target tokens in a batch")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--book", action="store_true", help="put the table into the book")
    parser.add_argument("--contestant", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    threads = str(arguments.threads)
    if arguments.contestant:
        prepare_process()
        torch.set_num_threads(arguments.threads)
        file, precision, answers = arguments.contestant
        return learn(json.loads(Path(file).read_text()), precision == "bf16", Path(answers))
    with tempfile.TemporaryDirectory() as folder:
        path, answers = Path(folder) / "task.json", Path(folder) / "answers.json"
        total, pairs, vocabulary = write_task(path, arguments.tokens, arguments.epochs)
        started = {}
        if arguments.joeynmt:
            them = [arguments.joeynmt, str(Path(__file__).with_name("joey.py")), "learn"]
            started[JOEY_LUONG] = [*them, str(path), threads, str(answers)]
        us = [sys.executable, "-m", "benchmarks.learn", "--threads", threads, "--contestant"]
        started |= {
            name: [*us, str(path), precision, str(answers)] for name, precision in OURS.items()
        }
        lines = ["| what | target tokens | validation BLEU, greedy |", "|---|---:|---:|"]
        for name, command in started.items():
            subprocess.run(command, check=True)
            lines.append(f"| {name} | {total:,} | {bleu(vocabulary, pairs, answers):.2f} |")
            print(lines[-1], flush=True)
    if arguments.book:
        write_lines("learning", lines, "python -m benchmarks.learn --joeynmt PYTHON --book")


if __name__ == "__main__":
    main()
