"""The ``seqattn`` command."""

from seqattn.cli.app import main

__all__ = ["main"]
