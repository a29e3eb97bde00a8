"""Translation speed, side by side: ``python -m benchmarks.decode [--joeynmt PYTHON]``.

Target tokens per second of untrained models that are made to write 40 tokens for each source, in
batches of the training's sentences: greedy search and a beam of 5. The tutorials' loop translates
one sentence at a time, as the tutorials do. Sizes and method as in ``benchmarks.train``.
"""

import json
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import torch
from torch import nn

from benchmarks.race import (
    DROPOUT,
    EMBED,
    HIDDEN,
    JOEY_BAHDANAU,
    JOEY_LUONG,
    commands,
    obey,
    race,
    read_arguments,
    report,
    write_examples,
    write_standings,
)
from benchmarks.textbook import TextbookModel
from benchmarks.train import MODELS
from seqattn.data import Batches, Example
from seqattn.decoding import beam_search, greedy
from seqattn.models import build_model
from seqattn.precision import autocast
from seqattn.specials import EOS

STEPS = 40
CPU = torch.device("cpu")


def ours(
    data: dict,
    model: str,
    beam: int,
    bf16: bool,
    wrap: Callable[[nn.Module], nn.Module] = lambda model: model,
):
    """Give what translates a batch with one of our models and counts the tokens written.

    ``wrap`` makes of the model what searches.
    """
    torch.manual_seed(0)
    built = wrap(build_model(MODELS[model], *data["sizes"]).eval())
    with torch.no_grad():
        built.decoder.vocabulary.bias[EOS] = -1e4  # no sentence may end early
    batches = Batches([Example(*pair) for pair in data["examples"]])
    stream = cycle(data["bucketed"])

    def work() -> int:
        batch = batches.take(next(stream))
        with autocast(CPU, bf16):
            if beam == 1:
                found = greedy(built, batch.source, batch.lengths, max_len=STEPS)
            else:
                found = beam_search(built, batch.source, batch.lengths, beam=beam, max_len=STEPS)
        if int(found.lengths.min()) < STEPS:
            raise SystemExit("a sentence ended early: the contest would not be fair")
        return len(batch.rows) * STEPS

    return work


def textbook(data: dict):
    """Give what translates a sentence with the tutorials' model."""
    torch.manual_seed(0)
    model = TextbookModel(*data["sizes"], EMBED, HIDDEN, DROPOUT).eval()
    rows = cycle(row for group in data["bucketed"] for row in group)

    def work() -> int:
        source = torch.tensor([data["examples"][next(rows)][0]])
        return len(model.greedy(source, torch.tensor([source.shape[1]]), STEPS))

    return work


def main() -> None:
    """Run the contest, or be one of its contestants."""
    arguments = read_arguments(__doc__.splitlines()[0])
    if arguments.contestant:
        file, kind, model, beam, precision = arguments.contestant
        data = json.loads(Path(file).read_text())
        made = textbook(data) if kind == "textbook" else None
        return obey(made or ours(data, model, int(beam), precision == "bf16"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.json"
        write_examples(path, arguments.corpus, arguments.tokens)
        print(
            f"PyTorch {torch.__version__}, {arguments.threads} threads, {STEPS} tokens for each "
            f"source, {arguments.rounds} rounds"
        )
        parts = {}
        for title, beam in (("Greedy search", 1), ("Beam of 5", 5)):
            names = {
                f"ours, {model}, {precision}": ["ours", model, str(beam), precision]
                for model in ("bahdanau", "luong")
                for precision in ("fp32", "bf16")
            }
            if beam == 1:
                names["textbook loop, one at a time"] = ["textbook", "-", "1", "fp32"]
            joey = {
                name: ["bucketed", score, str(arguments.threads), str(0 if beam == 1 else beam),
                       str(STEPS)]
                for name, score in ((JOEY_BAHDANAU, "bahdanau"), (JOEY_LUONG, "luong"))
            }  # fmt: skip
            started, base = commands(arguments, path, "decode", names, joey)
            print(f"\n{title}")
            speeds = race(started, rounds=arguments.rounds, seconds=arguments.seconds)
            parts[title] = report(speeds, base)
    if arguments.book:
        how = "python -m benchmarks.decode --joeynmt PYTHON --book"
        write_standings("decoding", parts, how, arguments)


if __name__ == "__main__":
    main()
