"""Translation of real text: ``python -m benchmarks.translate RUN [--joeynmt PYTHON]``.

Sentences per second, and BLEU, on Multi30k's test_2016_flickr with the weights of a trained run:
greedy search and a beam of 5, the longest sentences first, in the same batches for all. JoeyNMT is
given the same weights, so that both search the same distribution. Its recurrent model is Luong's
with the general score and input feeding; the run must be one of those (``--preset luong``).
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from benchmarks.race import (
    JOEY_LUONG,
    commands,
    obey,
    race,
    read_arguments,
    report,
    write_standings,
)
from seqattn.data import CorpusConfig, Example, TextPair, Vocabulary, encode_pairs, read_split
from seqattn.data.batches import pad
from seqattn.decoding import beam_search, greedy
from seqattn.metrics import corpus_bleu
from seqattn.precision import autocast
from seqattn.translator.run_folder import find_checkpoint, load_model
from seqattn.translator.translator import LENGTH_PENALTY, LONGEST, SIDE_BY_SIDE

SPLIT, CPU = "test_2016_flickr", torch.device("cpu")
OURS = {"ours, luong, fp32": "fp32", "ours, luong, bf16": "bf16"}


def write_task(path: Path, run: str) -> tuple[list[TextPair], Vocabulary]:
    """Write what every contestant reads; give the pairs, and what turns answers into text."""
    model, vocabularies, header = load_model(find_checkpoint(run))
    pairs = read_split(CorpusConfig.from_dict(header["corpus"]), SPLIT)
    examples = encode_pairs(pairs, vocabularies)
    weights = path.with_suffix(".pt")
    torch.save(model.state_dict(), weights)
    task = {"run": run, "weights": str(weights), "sizes": list(map(len, vocabularies))}
    for beam in (1, 5):
        task[str(beam)] = side_by_side(examples, range(len(examples)), beam)
    path.write_text(json.dumps({**task, "examples": examples}))
    return pairs, vocabularies.target


def translate(task: dict, beam: int, bf16: bool, answers: Path) -> None:
    """Translate every sentence once, and then as told."""
    model = load_model(find_checkpoint(task["run"]))[0]
    answers.write_text(json.dumps(search_all(model, task, beam, bf16)))
    # Whole passes: the first batches hold the longest sentences, and fewer of them in a second.
    obey(lambda: sum(len(search(model, task, rows, beam, bf16)) for rows in task[str(beam)]))


def search(model: nn.Module, task: dict, rows: list[int], beam: int, bf16: bool) -> list[list[int]]:
    """Translate the sentences of these rows side by side."""
    batch = [task["examples"][row][0] for row in rows]
    lengths = torch.tensor([len(sentence) for sentence in batch])
    source, most = pad(batch), LONGEST[0] * int(lengths.max()) + LONGEST[1]
    with autocast(CPU, bf16):
        if beam == 1:
            found = greedy(model, source, lengths, max_len=most)
        else:
            found = beam_search(
                model, source, lengths, beam=beam, max_len=most, length_penalty=LENGTH_PENALTY
            )
    return [ids[:n] for ids, n in zip(found.tokens.tolist(), found.lengths.tolist())]


def search_all(model: nn.Module, task: dict, beam: int, bf16: bool) -> list[list[int]]:
    """Translate every batch of a beam; give the ids in the order of their rows."""
    written = {
        row: ids
        for rows in task[str(beam)]
        for row, ids in zip(rows, search(model, task, rows, beam, bf16), strict=True)
    }
    return [written[row] for row in sorted(written)]


def side_by_side(examples: list[Example], rows: Sequence[int], beam: int) -> list[list[int]]:
    """Cut rows into batches as the translator does, the longest sentences first."""
    ordered = sorted(rows, key=lambda row: -len(examples[row].source))
    size = SIDE_BY_SIDE // beam
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


def bleu(vocabulary: Vocabulary, pairs: list[TextPair], answers: list[list[int]]) -> float:
    """Give BLEU of sentences of ids."""
    texts = [vocabulary.decode(ids) for ids in answers]
    return corpus_bleu(texts, [pair.target for pair in pairs]).score


def main() -> None:
    """Run the contest, or be one of its contestants."""
    arguments = read_arguments(__doc__.splitlines()[0], trained=True)
    if arguments.contestant:
        file, beam, precision, answers = arguments.contestant
        task = json.loads(Path(file).read_text())
        return translate(task, int(beam), precision == "bf16", Path(answers))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.json"
        pairs, vocabulary = write_task(path, arguments.run)
        print(
            f"PyTorch {torch.__version__}, {arguments.threads} threads, {arguments.rounds} rounds"
        )
        parts = {}
        for title, beam in (("Greedy search", "1"), ("Beam of 5", "5")):
            written = {name: str(Path(folder) / f"{name}.json") for name in (*OURS, JOEY_LUONG)}
            started, base = commands(
                arguments,
                path,
                "translate",
                {name: [beam, precision, written[name]] for name, precision in OURS.items()},
                {JOEY_LUONG: [beam, str(arguments.threads), written[JOEY_LUONG]]},
            )
            print(f"\n{title}")
            speeds = race(started, rounds=arguments.rounds, seconds=arguments.seconds)
            answers = {name: json.loads(Path(written[name]).read_text()) for name in started}
            scores = {name: bleu(vocabulary, pairs, found) for name, found in answers.items()}
            print("BLEU", {name: round(score, 2) for name, score in scores.items()})
            parts[title] = [
                replace(row, name=f"{row.name}: BLEU {scores[row.name]:.2f}")
                for row in report(speeds, base)
            ]
    if arguments.book:
        how = "python -m benchmarks.translate RUN --joeynmt PYTHON --book"
        write_standings("translation", parts, how, arguments, unit="sentences/s")


if __name__ == "__main__":
    main()
