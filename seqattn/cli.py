"""The ``seqattn`` command. Each group of commands stands beside the code that it runs.

A group is a module with ``register(app)``, which adds its commands to the app. Such a module
imports nothing before one of its commands is called that the package does not import by itself:
``seqattn --help`` waits for torch, but for nothing that the extras bring.
"""

import importlib
import importlib.util
import sys

GROUPS = ("seqattn.grading.commands", "seqattn.training.commands")


def main() -> None:
    """Run the command line; Ctrl-C ends it with 130 and without a word."""
    try:
        _run()
    except KeyboardInterrupt:
        # Where a command does not listen yet, or no longer. Whoever saves on Ctrl-C says so.
        sys.exit(130)


def _run() -> None:
    if importlib.util.find_spec("typer") is None:
        sys.exit('The command line needs typer: pip install "seqattn[grading,nmt]"')
    import typer

    app = typer.Typer(
        name="seqattn",
        help="Attention in sequence-to-sequence models: exercises and translators.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    # A callback keeps the commands named even where only one of them is installed.
    app.callback()(lambda: None)
    for group in GROUPS:
        importlib.import_module(group).register(app)
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
        "grading": {"nbformat", "nbclient", "nbval", "pytest", "ipykernel"},
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
