"""The commands that check and grade exercises."""

import typer


def register(app: typer.Typer) -> None:
    """Add ``check`` and ``grade``."""
