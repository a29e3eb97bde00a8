"""``seqattn compare``."""

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from seqattn.cli.common import SPLIT_HELP, plain_errors, prepare_device, read_test
from seqattn.console import fail

__all__ = ["compare"]


def compare(
    runs: Annotated[list[Path], Argument(help="folders of runs, or checkpoints: two or more")],
    split: Annotated[
        str,
        Option(help=SPLIT_HELP),
    ] = "test",
    data: Annotated[
        list[str] | None, Option(help="as for train", show_default="the first run's corpus")
    ] = None,
    encoding: Annotated[str, Option(help="of these files")] = "utf-8",
    beam: Annotated[int, Option(min=1, help="width of the beam; 1 is greedy search")] = 5,
    lowercase: Annotated[bool, Option("--lowercase", help="let the scores ignore case")] = False,
    samples: Annotated[int, Option(min=1, help="resamplings of the bootstrap")] = 1000,
    out: Annotated[
        Path | None, Option(help="folder for comparison.json and comparison.png")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="print JSON")] = False,
    device: Annotated[str, Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Compare translators on the same sentences: scores, and whether they differ by luck alone.

    The second and all further runs are tested against the first, by paired bootstrap resampling.
    """
    with plain_errors():
        from seqattn.evaluation import compare, plot_comparison
        from seqattn.plots.style import to_png
        from seqattn.translator import Translator
        from seqattn.translator.checkpoint import write_atomically
        from seqattn.translator.run_folder import RunFolder, find_checkpoint

        if len(runs) < 2:
            raise fail(f"one run, {runs[0]}; expected two or more to compare")
        paths = [find_checkpoint(run) for run in runs]
        pairs, name, corpora = read_test(paths, split, data, encoding)
        languages = [(corpus.get("source"), corpus.get("target")) for corpus in corpora]
        for run, pair in zip(runs, languages, strict=True):
            if pair != languages[0]:
                shown = ["-".join(map(str, found)) for found in (languages[0], pair)]
                raise fail(f"{runs[0]} translates {shown[0]} and {run} {shown[1]}; expected one")
        where = prepare_device(device)
        translators = {
            _short(run, runs): Translator.load(path, device=where)
            for run, path in zip(runs, paths, strict=True)
        }
        if len(translators) < len(runs):
            raise fail(f"a run is named twice in {', '.join(map(str, runs))}; expected each once")
        found = compare(translators, pairs, beam=beam, lowercase=lowercase, samples=samples)
        if out is not None:
            logs = {_short(run, runs): RunFolder(run).records() for run in runs if run.is_dir()}
            RunFolder(out).make_folder(out)
            RunFolder(out).write("comparison.json", found.to_dict())
            write_atomically(out / "comparison.png", to_png(plot_comparison(found, logs)))
        if as_json:
            print(json.dumps(found.to_dict(), indent=2))
            return
        search = "greedy search" if beam == 1 else f"beam of {beam}"
        print(f"{name}, {found.sentences} sentences, {search}; p against the first")
        print("\n".join(found.table()))
        print("BLEU by the length of the source")
        print("\n".join(found.table_by_length()))
        print(f"BLEU {found.bleu_signature}")
        print(f"chrF {found.chrf_signature}")
        if out is not None:
            print(f"{out / 'comparison.json'}, {out / 'comparison.png'}")


def _short(run: Path, runs: list[Path]) -> str:
    """Name a run by its folder, where that tells it from the others."""
    names = [path.name for path in runs]
    return run.name if names.count(run.name) == 1 else str(run)
