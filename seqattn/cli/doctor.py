"""``seqattn doctor``."""

from typing import Annotated

import typer
from typer import Option

from seqattn.cli.common import (
    FAILED,
    RunOption,
    choose_run,
    plain_errors,
    prepare_device,
)

__all__ = ["doctor"]


def doctor(
    run: RunOption = None,
    device: Annotated[str, Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Check a translator before you trust it: masks, vocabularies, special tokens, causality.

    Ends with 1 if a point is not in order.
    """
    with plain_errors():
        from seqattn.evaluation import examine
        from seqattn.translator import Translator
        from seqattn.translator.run_folder import find_checkpoint

        path = find_checkpoint(choose_run(run))
        found = examine(Translator.load(path, device=prepare_device(device)))
        print(path)
        for finding in found:
            print(f"  {finding}")
    if not all(finding.sound for finding in found):
        raise typer.Exit(FAILED)
