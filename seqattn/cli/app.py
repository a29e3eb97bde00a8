"""The ``seqattn`` command: its app, Ctrl-C, and what to install where something is missing.

A module of commands imports nothing before one of them is called that takes long, as torch does:
``seqattn --help`` waits for typer alone.
"""

import importlib.util
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import typer

__all__ = ["main", "register"]

INTERRUPTED = 128 + signal.SIGINT


def main() -> None:
    """Run the command line; Ctrl-C ends it with 130 and one line.

    A command that saves what it has done listens for itself, and says so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody ignores it
        signal.signal(signal.SIGINT, _interrupt)
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def register(app: "typer.Typer") -> None:
    """Add ``train``, ``translate``, ``evaluate``, ``compare`` and ``doctor`` to an app."""
    from seqattn.cli.compare import compare
    from seqattn.cli.doctor import doctor
    from seqattn.cli.evaluate import evaluate
    from seqattn.cli.train import train
    from seqattn.cli.translate import translate
    from seqattn.console import LEARNERS

    for command in (train, translate, evaluate, compare, doctor):
        app.command(rich_help_panel=LEARNERS)(command)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Say that this is the end, and end."""
    signal.signal(number, signal.SIG_IGN)  # once is enough
    print("seqattn: interrupted", file=sys.stderr, flush=True)
    if _imports(frame):
        # There is nothing to clean up yet, and modules that are half there might tell of an error.
        os._exit(INTERRUPTED)
    raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _run() -> None:
    if importlib.util.find_spec("typer") is None:
        sys.exit('The command line needs typer: pip install "seqattn[grading,nmt]"')
    import typer

    from seqattn.grading import commands as grading

    app = typer.Typer(
        name="seqattn",
        help="Attention in sequence-to-sequence models: exercises and translators.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    # A callback keeps the commands named even where only one of them is installed.
    app.callback()(lambda: None)
    grading.register(app)
    register(app)
    try:
        app()
    except ModuleNotFoundError as error:
        extra = _extra(error.name or "")
        if extra is None:
            raise
        sys.exit(f'This command needs {error.name}: pip install "seqattn[{extra}]"')


def _extra(module: str) -> str | None:
    """Name the extra that brings a missing module."""
    extras = {
        "grading": {
            "nbformat",
            "nbclient",
            "nbval",
            "pytest",
            "ipykernel",
            "IPython",
            "jinja2",
            "yaml",
        },
        "nmt": {
            "sacrebleu",
            "sacremoses",
            "tokenizers",
            "tqdm",
            "safetensors",
            "accelerate",
            "pydantic",
        },
        "viz": {"matplotlib", "seaborn", "ipywidgets", "anywidget"},
    }
    root = module.partition(".")[0]
    return next((name for name, modules in extras.items() if root in modules), None)
