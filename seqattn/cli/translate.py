"""``seqattn translate``."""

import json
import sys
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from typer import Argument, Option

from seqattn.cli.common import RunOption, choose_run, plain_errors, prepare_device
from seqattn.console import fail

if TYPE_CHECKING:
    from io import BufferedReader

    from seqattn.translator import Translation, Translator

__all__ = ["translate"]

PICTURES = (".png", ".svg", ".pdf")
# Sentences that are read before the first are translated; similar lengths go together.
AT_ONCE = 1024
# Pictures that are drawn without a second thought; the first block tells whether there are more.
MOST_PICTURES = 100


def translate(
    sentences: Annotated[
        list[str] | None, Argument(help="to translate; without any, --file or standard input")
    ] = None,
    file: Annotated[Path | None, Option(help="a text file, one sentence on each line")] = None,
    encoding: Annotated[str, Option(help="of the file, or of standard input")] = "utf-8",
    run: RunOption = None,
    beam: Annotated[
        int | None,
        Option(min=1, help="width of the beam; 1 is greedy search", show_default="5"),
    ] = None,
    length_penalty: Annotated[
        float | None,
        Option(
            min=0,
            help="of the beam, exponent: 0 favours short translations, larger values long ones",
            show_default="0.6",
        ),
    ] = None,
    coverage_penalty: Annotated[
        float | None,
        Option(
            min=0,
            help="of the beam, factor: above 0 source words that are left out cost something",
            show_default="0",
        ),
    ] = None,
    n_best: Annotated[
        int,
        Option(
            min=1,
            help="translations of each sentence, with their scores; the beam is at least as wide",
        ),
    ] = 1,
    samples: Annotated[
        int, Option(min=0, help="draw so many of each sentence at random, and do not search")
    ] = 0,
    temperature: Annotated[
        float, Option(help="of the draws: near 0 the likeliest, above 1 bolder")
    ] = 1.0,
    top_k: Annotated[int | None, Option(help="draw from the k likeliest tokens alone")] = None,
    top_p: Annotated[
        float | None, Option(help="draw from the likeliest tokens that make up this probability")
    ] = None,
    seed: Annotated[int, Option(help="of the draws")] = 0,
    attention: Annotated[
        Path | None,
        Option(
            "--map",
            help="draw where the model looked (.png, .svg, .pdf), or write the weights (.json); "
            "several sentences, a file's or standard input's get numbered files; with --n-best or "
            "--samples the first translation's map",
        ),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="print a line of JSON for each sentence, with weights")
    ] = False,
    device: Annotated[str, Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Translate sentences: a line for each, in their order; a blank one stays blank.

    With --n-best or --samples above 1, each sentence has several lines, of three columns: its
    number, the log-probability, the translation.
    """
    with plain_errors():
        from seqattn.translator import Translator

        if sentences and file:
            raise fail("sentences and --file; expected one of the two")
        if attention is not None and attention.suffix not in (*PICTURES, ".json"):
            raise fail(f"--map {attention}: expected a name in {', '.join(PICTURES)} or .json")
        if samples and n_best > 1:
            raise fail("--samples and --n-best; expected one of the two")
        if not samples and (temperature != 1.0 or top_k is not None or top_p is not None):
            raise fail("--temperature, --top-k and --top-p are for --samples")
        named = {"length_penalty": length_penalty, "coverage_penalty": coverage_penalty}
        penalties = {name: value for name, value in named.items() if value is not None}
        if samples and (beam is not None or penalties):
            raise fail("--beam, --length-penalty and --coverage-penalty are not for --samples")
        if beam == 1 and n_best == 1 and penalties:
            raise fail("--length-penalty and --coverage-penalty need a --beam of 2 or more")
        lines = iter(sentences) if sentences else _lines(file, encoding)
        translator = Translator.load(choose_run(run), device=prepare_device(device))
        if attention is not None and not translator.has_attention:
            raise fail("this model has no attention: there is no map to draw")
        several = not sentences or len(sentences) > 1
        number = pictures = 0
        while block := list(islice(lines, AT_ONCE)):
            if attention is not None and attention.suffix in PICTURES:
                pictures += sum(bool(line.strip()) for line in block)
                if pictures > MOST_PICTURES:
                    raise fail(
                        f"--map {attention}: a picture for each of more than {MOST_PICTURES} "
                        "sentences; expected fewer, or a name in .json for the weights themselves"
                    )
            if samples:
                every = translator.sample(
                    block, n=samples, temperature=temperature, top_k=top_k, top_p=top_p,
                    seed=seed + number,
                )  # fmt: skip
            else:
                every = translator.n_best(
                    block, n=n_best, beam=max(beam or 5, n_best), **penalties
                )  # fmt: skip
            for found in every:
                number += 1
                for one in found:
                    print(_line(one, number if max(samples, n_best) > 1 else None, as_json))
                _warn(translator, found[0], number if several else None)
                if attention is not None and len(found[0].source_tokens) > 1:
                    _write_map(found[0], _numbered(attention, number if several else None))
            sys.stdout.flush()


def _lines(file: Path | None, encoding: str) -> Iterator[str]:
    """Read the sentences of a file or of standard input."""
    from seqattn.data.pairs import read_lines, stream_lines

    if file is not None:
        return iter(read_lines(file, encoding))
    if sys.stdin.isatty():
        print("one sentence a line; Ctrl-D ends", file=sys.stderr)
    stream = cast("BufferedReader", sys.stdin.buffer)
    return stream_lines(stream, encoding, name="standard input")


def _line(found: "Translation", number: int | None, as_json: bool) -> str:
    if as_json:
        return json.dumps(found.to_dict(), ensure_ascii=False)
    return found.text if number is None else f"{number}\t{found.score:.3f}\t{found.text}"


def _warn(translator: "Translator", found: "Translation", number: int | None) -> None:
    """Name the words that the model has never met: it read <unk> in their place."""
    if translator.copies:
        return  # it can write them all the same
    unknown = translator.vocabularies.source.unknown(found.source)
    if unknown:
        where = "" if number is None else f"sentence {number}: "
        words = ", ".join(repr(word) for word in unknown)
        print(f"seqattn: {where}this model does not know {words}", file=sys.stderr)


def _numbered(path: Path, number: int | None) -> Path:
    return path if number is None else path.with_stem(f"{path.stem}-{number}")


def _write_map(found: "Translation", path: Path) -> None:
    from seqattn.translator.checkpoint import write_atomically

    if path.suffix == ".json":
        write_atomically(path, (json.dumps(found.to_dict(), ensure_ascii=False) + "\n").encode())
        return
    from seqattn.extras import require

    require("matplotlib", "--map", "viz").use("agg")
    from matplotlib import pyplot

    content = BytesIO()
    found.plot()
    pyplot.savefig(content, format=path.suffix.removeprefix("."), dpi=150)
    pyplot.close()
    write_atomically(path, content.getvalue())  # its error names the file
