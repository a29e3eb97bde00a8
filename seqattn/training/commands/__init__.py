"""The commands that train, use and judge translators."""

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add ``train``, ``translate``, ``evaluate``, ``compare`` and ``doctor``."""
    from seqattn.training.commands.compare import compare
    from seqattn.training.commands.doctor import doctor
    from seqattn.training.commands.evaluate import evaluate
    from seqattn.training.commands.train import train
    from seqattn.training.commands.translate import translate

    for command in (train, translate, evaluate, compare, doctor):
        app.command()(command)
