"""The commands that train, use and judge translators."""

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add ``train``, ``translate``, ``evaluate``, ``compare`` and ``doctor``."""
    from seqattn.commands.compare import compare
    from seqattn.commands.doctor import doctor
    from seqattn.commands.evaluate import evaluate
    from seqattn.commands.train import train
    from seqattn.commands.translate import translate

    for command in (train, translate, evaluate, compare, doctor):
        app.command()(command)
