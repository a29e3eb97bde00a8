"""What all commands share: errors on one line, and the groups of commands in ``--help``."""

import os
import sys
import traceback
from pathlib import Path

import typer

__all__ = ["FAILED", "INSTRUCTORS", "LEARNERS", "WRONG_INPUT", "fail", "must_exist"]

# Groups of the commands in what --help says.
LEARNERS = "For learners"
INSTRUCTORS = "For instructors, and authors of exercises"
# What a command ends with.
WRONG_INPUT, FAILED = 2, 1


def fail(message: str, code: int = WRONG_INPUT) -> typer.Exit:
    """Print an error on one line, and give what ends the command: ``raise fail(...)``.

    With ``SEQATTN_TRACEBACK`` in the environment, where it came from stands before it: for those
    whose own code the command runs.
    """
    if os.environ.get("SEQATTN_TRACEBACK") and sys.exc_info()[0] is not None:
        traceback.print_exc()
    lines = filter(None, map(str.strip, message.splitlines()))
    print(f"seqattn: {' '.join(lines)}", file=sys.stderr)
    return typer.Exit(code)


def must_exist(path: Path) -> None:
    """Stop where there is no such file or folder."""
    if not path.exists():
        raise fail(f"there is no {path}")
