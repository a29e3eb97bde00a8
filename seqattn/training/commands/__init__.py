"""The commands that train, use and judge translators."""

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add ``train``, ``translate`` and ``evaluate``."""
    from seqattn.training.commands.evaluate import evaluate
    from seqattn.training.commands.train import train
    from seqattn.training.commands.translate import translate

    for command in (train, translate, evaluate):
        app.command()(command)
