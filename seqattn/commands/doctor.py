"""``seqattn doctor``."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from seqattn.commands.common import (
    FAILED,
    RUN_HELP,
    choose_device,
    plain_errors,
    read_run,
    run_folder,
)

__all__ = ["doctor"]


def doctor(
    run: Annotated[
        Path | None,
        Option(
            help=RUN_HELP,
            show_default="the latest in runs/, else toy",
            parser=read_run,
            metavar="PATH",
        ),
    ] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Check a translator before you trust it: masks, vocabularies, special tokens, causality.

    Ends with 1 if a point is not in order.
    """
    with plain_errors():
        from seqattn.training.doctor import examine
        from seqattn.training.runs import find_checkpoint
        from seqattn.translator import Translator

        path = find_checkpoint(run_folder(run))
        found = examine(Translator.load(path, device=choose_device(device)))
        print(path)
        for finding in found:
            print(f"  {finding}")
    if not all(finding.sound for finding in found):
        raise typer.Exit(FAILED)
