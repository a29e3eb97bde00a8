"""``seqattn train``."""

import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from seqattn.cli.common import (
    check_folder,
    count_known,
    name_corpus,
    plain_errors,
    prepare_device,
    read_run,
)
from seqattn.console import fail

if TYPE_CHECKING:
    from seqattn.data.corpora import CorpusConfig
    from seqattn.training import Outcome, Trainer

__all__ = ["train"]

NAMES = sorted(
    path.stem for path in (Path(__file__).parents[1] / "training" / "presets").glob("*.toml")
)
LESS_IN_TRAINING = "try a smaller --set batch_tokens=... or --set d_hidden=..."
CORPUS, BUDGET = "Corpus", "Budget: of several, the first that is used up ends the training"


def train(
    data: Annotated[
        list[str] | None,
        Option(
            help="toy; multi30k; a table with tabs; or two aligned files, with --data for each",
            show_default="toy",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    pair: Annotated[
        str | None, Option(help="languages, as in de-en", rich_help_panel=CORPUS)
    ] = None,
    valid: Annotated[
        list[str] | None,
        Option(help="files to validate on; else some are held out", rich_help_panel=CORPUS),
    ] = None,
    test: Annotated[
        list[str] | None,
        Option(help="files to test on; else some are held out", rich_help_panel=CORPUS),
    ] = None,
    encoding: Annotated[
        str | None,
        Option(help="of these files", show_default="utf-8", rich_help_panel=CORPUS),
    ] = None,
    subwords: Annotated[
        int | None,
        Option(
            min=0,
            help="size of each vocabulary; 0 for whole words",
            show_default="the preset's",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    joint: Annotated[
        bool | None,
        Option(
            "--joint/--separate",
            help="one vocabulary for both languages, or one for each",
            show_default="the preset's",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    min_count: Annotated[
        int | None,
        Option(
            min=1,
            help="of whole words, know those alone that occur so often",
            show_default="the preset's",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    lowercase: Annotated[
        bool | None,
        Option(
            "--lowercase/--cased",
            help="read everything in lower case, or as it is printed",
            show_default="the preset's",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        Option(help="settings by name: " + ", ".join(NAMES), show_default="what suits the corpus"),
    ] = None,
    config: Annotated[
        Path | None, Option(help="settings from a file: TOML, or the config.json of a run")
    ] = None,
    run: Annotated[
        Path | None,
        Option(
            help="folder of the run",
            show_default="runs/CORPUS-PAIR[-PRESET]",
            parser=read_run,
            metavar="PATH",
        ),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="go on with a run where it was last saved")
    ] = False,
    overwrite: Annotated[
        bool, Option("--overwrite", help="begin anew in the folder of another run")
    ] = False,
    minutes: Annotated[float | None, Option(help="time", rich_help_panel=BUDGET)] = None,
    epochs: Annotated[
        float | None, Option(help="passes over the corpus", rich_help_panel=BUDGET)
    ] = None,
    steps: Annotated[int | None, Option(help="updates", rich_help_panel=BUDGET)] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="a field of ModelConfig or TrainingConfig, as in architecture=luong, "
            "d_hidden=256 or lr=1e-3; as often as needed",
        ),
    ] = None,
    seed: Annotated[
        int | None, Option(help="of weights, dropout and order", show_default="1")
    ] = None,
    precision: Annotated[str | None, Option(help="auto, fp32 or bf16", show_default="auto")] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda")] = "auto",
    threads: Annotated[
        int | None,
        Option(min=1, help="on a CPU", show_default="OMP_NUM_THREADS, or the fastest, tried out"),
    ] = None,
    compiled: Annotated[
        bool, Option("--compile", help="compile the model: minutes to begin; compare tokens/s")
    ] = False,
    tensorboard: Annotated[
        bool, Option("--tensorboard", help="write the log for TensorBoard as well")
    ] = False,
    quiet: Annotated[bool, Option("--quiet", help="show the test scores alone")] = False,
) -> None:
    """Train a translator: without options on the toy corpus, in minutes on two cores.

    Ctrl-C saves first; --resume goes on from there, as if nothing had been. While the finished
    weights are averaged and tested all is saved already, and Ctrl-C just ends the command.
    """
    from seqattn.training import DivergedError

    budget = {"minutes": minutes, "epochs": epochs, "steps": steps}
    with plain_errors(LESS_IN_TRAINING, (DivergedError,)):
        from seqattn.cli.train_options import (
            choose_preset,
            describe,
            prepare_resumed,
            prepare_run,
            set_threads,
        )
        from seqattn.process import process_rank

        if resume:
            named = {"data": data, "pair": pair, "preset": preset} if run is not None else {}
            _refuse_new_settings(
                **named, valid=valid, test=test, encoding=encoding, subwords=subwords, joint=joint,
                min_count=min_count, lowercase=lowercase, config=config,
                overwrite=overwrite or None,
                set=settings, seed=seed, precision=precision, compile=compiled or None,
                tensorboard=tensorboard or None,
            )  # fmt: skip
        corpus = name_corpus(
            data or ["toy"], pair, encoding or "utf-8", {"valid": valid, "test": test}
        )
        folder = run or Path("runs") / _run_name(data or ["toy"], corpus, preset)
        where = prepare_device(device)
        if resume:
            trainer = prepare_resumed(folder, budget, where, quiet)
        else:
            if process_rank() == 0:
                check_folder(folder, overwrite=overwrite)
            changes = {
                "seed": seed,
                "compile": compiled or None,
                "tensorboard": tensorboard or None,
            }
            trainer = prepare_run(
                folder, corpus, choose_preset(corpus, preset, config),
                budget=budget, changes=changes, settings=settings or [], precision=precision,
                subwords=subwords, joint=joint, min_count=min_count, lowercase=lowercase,
                device=where, overwrite=overwrite, quiet=quiet,
            )  # fmt: skip
        set_threads(trainer, threads)
        if not trainer.quiet:
            print(describe(trainer), flush=True)
        outcome = trainer.run()
        try:
            if trainer.processes.lead:
                _conclude(trainer, outcome)
        finally:  # also where an interrupted run ends the command
            trainer.processes.close()


def _run_name(data: list[str], corpus: "CorpusConfig", preset: str | None) -> str:
    name = corpus.name if corpus.name != "files" else Path(data[0]).name.split(".")[0]
    kind = f"-{preset}" if preset else ""
    return f"{name}-{corpus.source}-{corpus.target}{kind}"


def _refuse_new_settings(**options: Any) -> None:
    """Stop at what a run keeps; what names its folder may be said, where --run does not name it."""
    for name, value in options.items():
        if value is not None:
            raise fail(
                f"--{name.replace('_', '-')} does not go with --resume: a run keeps its settings"
            )


def _conclude(trainer: "Trainer", outcome: "Outcome") -> None:
    """Say how to go on, or test the best weights on the test pairs."""
    from seqattn.training import write_curves

    folder = trainer.run_folder.path
    write_curves(trainer.run_folder)
    if outcome.reason == "interrupted":
        command = f"seqattn train --resume --run {shlex.quote(str(folder))}"
        name = signal.Signals(outcome.signal or signal.SIGINT).name
        print(f"{name}: saved at update {outcome.state.step}. Go on with: {command}", flush=True)
        raise typer.Exit(128 + (outcome.signal or 0))
    from seqattn.cli.evaluate import score_lines
    from seqattn.data.corpora import CorpusConfig, read_split
    from seqattn.evaluation import evaluate
    from seqattn.translator import Translator

    # References as they are printed, whatever case was trained on.
    corpus = CorpusConfig.from_dict({**trainer.settings["corpus"], "lowercase": False})
    translator = Translator.load(folder, device=trainer.device)
    pairs = read_split(corpus, "test")
    found = evaluate(translator, pairs, lowercase=translator.lowercase, details=True)
    trainer.run_folder.write("test.json", found.to_dict())
    if not trainer.quiet:
        minutes, seconds = divmod(round(outcome.state.seconds), 60)
        used = trainer.run_folder.checkpoint()
        best = f"best weights from update {outcome.state.best_step}"
        which = "averaged weights" if used == trainer.run_folder.average else best
        print(f"trained for {minutes}:{seconds:02d}; {which}, {used}")
    known = count_known(CorpusConfig.from_dict(trainer.settings["corpus"]), pairs)
    unseen = "" if known else "unseen "
    told = f" ({known} of {found.sentences} were trained on)" if known else ""
    print(f"test, {found.sentences} {unseen}sentences{told}, greedy search")
    print("\n".join(score_lines(found)))
    if not trainer.quiet:
        print(f'try: seqattn translate --run {shlex.quote(str(folder))} "..."')
