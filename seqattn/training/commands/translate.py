"""``seqattn translate``."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from seqattn.training.commands.common import choose_device, fail, plain_errors, run_folder

if TYPE_CHECKING:
    from seqattn.translator import Translation, Translator

__all__ = ["translate"]

PICTURES = (".png", ".svg", ".pdf")
# Sentences that are read before the first are translated; similar lengths go together.
AT_ONCE = 1024


def translate(
    sentences: Annotated[
        list[str] | None, Argument(help="to translate; without any, --file or standard input")
    ] = None,
    file: Annotated[Path | None, Option(help="a text file, one sentence on each line")] = None,
    run: Annotated[
        Path | None,
        Option(help="folder of a run, or a checkpoint", show_default="the latest in runs/"),
    ] = None,
    beam: Annotated[int, Option(min=1, help="width of the beam; 1 is greedy search")] = 5,
    attention: Annotated[
        Path | None,
        Option(
            "--map",
            help="draw where the model looked (.png, .svg, .pdf), or write the weights (.json); "
            "several sentences get numbered files",
        ),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="print a line of JSON for each sentence, with weights")
    ] = False,
    device: Annotated[str, Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Translate sentences: a line for each, in their order; a blank one stays blank."""
    with plain_errors():
        from seqattn.translator import Translator

        if sentences and file:
            raise fail("sentences and --file; expected one of the two")
        if attention is not None and attention.suffix not in (*PICTURES, ".json"):
            raise fail(f"--map {attention}: expected a name in {', '.join(PICTURES)} or .json")
        lines = iter(sentences) if sentences else _lines(file)
        translator = Translator.load(run_folder(run), device=choose_device(device))
        if attention is not None and not translator.has_attention:
            raise fail("this model has no attention: there is no map to draw")
        several = not sentences or len(sentences) > 1
        number = 0
        while block := list(islice(lines, AT_ONCE)):
            for found in translator.translate(block, beam=beam):
                number += 1
                print(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found.text)
                _warn(translator, found, number if several else None)
                if attention is not None and len(found.source_tokens) > 1:
                    _write_map(found, _numbered(attention, number if several else None))
            sys.stdout.flush()


def _lines(file: Path | None) -> Iterator[str]:
    """Read the sentences of a file or of standard input."""
    if file is not None:
        from seqattn.data.pairs import read_lines

        return iter(read_lines(file))
    if sys.stdin.isatty():
        print("one sentence a line; Ctrl-D ends", file=sys.stderr)
    return (line.rstrip("\r\n") for line in sys.stdin)


def _warn(translator: "Translator", found: "Translation", number: int | None) -> None:
    """Name the words that the model has never met: it read <unk> in their place."""
    unknown = translator.vocabularies.source.unknown(found.source)
    if unknown:
        where = "" if number is None else f"sentence {number}: "
        words = ", ".join(repr(word) for word in unknown)
        print(f"seqattn: {where}this model does not know {words}", file=sys.stderr)


def _numbered(path: Path, number: int | None) -> Path:
    return path if number is None else path.with_stem(f"{path.stem}-{number}")


def _write_map(found: "Translation", path: Path) -> None:
    if path.suffix == ".json":
        path.write_text(json.dumps(found.to_dict(), ensure_ascii=False) + "\n", encoding="utf-8")
        return
    from seqattn.extras import require

    require("matplotlib", "--map", "viz").use("agg")
    from matplotlib import pyplot

    found.plot()
    pyplot.savefig(path, dpi=150)
    pyplot.close()
