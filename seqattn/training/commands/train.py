"""``seqattn train``."""

import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from seqattn.training.commands.common import (
    check_folder,
    choose_device,
    fail,
    name_corpus,
    plain_errors,
)

if TYPE_CHECKING:
    import torch

    from seqattn.data.corpora import CorpusConfig
    from seqattn.training import Outcome, Trainer

__all__ = ["train"]

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
            show_default="0 for toy, else 8000",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    joint: Annotated[
        bool, Option("--joint", help="one vocabulary for both languages", rich_help_panel=CORPUS)
    ] = False,
    run: Annotated[
        Path | None, Option(help="folder of the run", show_default="runs/CORPUS-PAIR")
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
        int | None, Option(min=1, help="on a CPU", show_default="the fastest, tried out")
    ] = None,
    quiet: Annotated[bool, Option("--quiet", help="show the test scores alone")] = False,
) -> None:
    """Train a translator: without options on the toy corpus, in minutes on two cores.

    Ctrl-C saves first; --resume goes on from there, as if nothing had been.
    """
    budget = {"minutes": minutes, "epochs": epochs, "steps": steps}
    with plain_errors():
        from seqattn.training.processes import process_rank

        corpus = name_corpus(
            data or ["toy"], pair, encoding or "utf-8", {"valid": valid, "test": test}
        )
        folder = run or Path("runs") / _run_name(data or ["toy"], corpus)
        where = choose_device(device)
        if resume:
            _refuse_new_settings(
                valid=valid, test=test, encoding=encoding, subwords=subwords, joint=joint or None,
                overwrite=overwrite or None, set=settings, seed=seed, precision=precision,
            )  # fmt: skip
            trainer = _take_up(folder, budget, where, quiet)
        else:
            if process_rank() == 0:
                check_folder(folder, overwrite=overwrite)
            trainer = _begin(
                folder, corpus, budget, settings or [], seed, precision or "auto", where, quiet,
                subwords=subwords, joint=joint,
            )  # fmt: skip
            if trainer.processes.lead:
                trainer.run_folder.clear()  # not before all input is known to be good
        _set_threads(trainer, threads)
        if not trainer.quiet:
            print(_describe(trainer), flush=True)
        outcome = trainer.run()
        if trainer.processes.lead:
            _conclude(trainer, outcome)
        trainer.processes.close()


def _run_name(data: list[str], corpus: "CorpusConfig") -> str:
    name = corpus.name if corpus.name != "files" else Path(data[0]).name.split(".")[0]
    return f"{name}-{corpus.source}-{corpus.target}"


def _refuse_new_settings(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise fail(f"--{name} does not go with --resume: a run keeps its settings")


def _begin(
    folder: Path,
    corpus: "CorpusConfig",
    budget: dict[str, Any],
    settings: list[str],
    seed: int | None,
    precision: str,
    device: "torch.device",
    quiet: bool,
    **vocabulary: Any,
) -> "Trainer":
    from dataclasses import replace

    from seqattn.precision import computes_bf16
    from seqattn.training.commands.settings import apply_settings
    from seqattn.training.presets import PRESETS
    from seqattn.training.processes import process_rank
    from seqattn.training.start import new_run

    if precision not in ("auto", "fp32", "bf16"):
        raise fail(f"--precision is {precision!r}; expected auto, fp32 or bf16")
    preset = PRESETS[corpus.name]
    bf16 = computes_bf16(device) if precision == "auto" else precision == "bf16"
    training = replace(preset.training, bf16=bf16)
    if seed is not None:
        training = replace(training, seed=seed)
    if any(value is not None for value in budget.values()):
        training = replace(training, **budget)
    model, training = apply_settings(settings, preset.model, training)
    if not quiet and process_rank() == 0:
        print(f"reading {corpus.name}, {corpus.source} to {corpus.target}", flush=True)
    return new_run(
        folder,
        corpus,
        model=model,
        training=training,
        device=device,
        quiet=quiet,
        **vocabulary,
    )


def _take_up(
    folder: Path, budget: dict[str, Any], device: "torch.device", quiet: bool
) -> "Trainer":
    from seqattn.training.start import resumed_run

    if not (folder / "last.safetensors").is_file():
        raise fail(
            f"there is no run to take up in {folder}; expected a folder that `seqattn train` made, "
            "named with --run"
        )
    return resumed_run(folder, **budget, device=device, quiet=quiet)


def _set_threads(trainer: "Trainer", threads: int | None) -> None:
    import torch

    from seqattn.training.threads import available_cores, fastest_threads

    torch.set_flush_denormal(True)  # tiny numbers cost a CPU a hundred times the time
    if trainer.device.type == "cpu":
        threads = threads or trainer.threads_before
        if threads is None and trainer.processes.count > 1:
            threads = max(available_cores() // trainer.processes.count, 1)
        if threads is None:
            threads = fastest_threads(trainer.model, trainer.batches, bf16=trainer.config.bf16)
        torch.set_num_threads(threads)


def _describe(trainer: "Trainer") -> str:
    import torch

    model, config = trainer.settings["model"], trainer.config
    size = sum(p.numel() for p in trainer.model.parameters())
    source, target = trainer.translator.vocabularies
    threads = f", threads: {torch.get_num_threads()}" if trainer.device.type == "cpu" else ""
    count = trainer.processes.count
    together = f", {count} processes" if count > 1 else ""
    budget = {"updates": config.steps, "epochs": config.epochs, "minutes": config.minutes}
    return "\n".join(
        [
            f"  {len(trainer.batches.examples):,} pairs to train on, "
            f"{len(trainer.valid):,} to validate on",
            f"  vocabularies of {len(source):,} and {len(target):,}",
            f"  {model['architecture']}, {size / 1e6:.1f} million weights",
            f"  {trainer.device}{threads}{together}, {'bf16' if config.bf16 else 'fp32'}",
            f"  into {trainer.run_folder.path}, for "
            + ", ".join(f"{value:g} {unit}" for unit, value in budget.items() if value)
            + (f", from update {trainer.position.step}" if trainer.position.step else ""),
        ]
    )


def _conclude(trainer: "Trainer", outcome: "Outcome") -> None:
    """Say how to go on, or test the best weights on the test pairs."""
    from seqattn.training.curves import write_curves

    folder = trainer.run_folder.path
    write_curves(trainer.run_folder)
    if outcome.reason == "interrupted":
        command = f"seqattn train --resume --run {shlex.quote(str(folder))}"
        name = signal.Signals(outcome.signal or signal.SIGINT).name
        print(f"{name}: saved at update {outcome.position.step}. Go on with: {command}", flush=True)
        raise typer.Exit(128 + (outcome.signal or 0))
    from seqattn.data.corpora import CorpusConfig, read_split
    from seqattn.training.commands.scores import score_lines
    from seqattn.training.evaluation import evaluate
    from seqattn.translator import Translator

    corpus = CorpusConfig.from_dict(trainer.settings["corpus"])
    translator = Translator.load(folder, device=trainer.device)
    found = evaluate(translator, read_split(corpus, "test"))
    trainer.run_folder.write("test.json", found.to_dict())
    if not trainer.quiet:
        minutes, seconds = divmod(round(outcome.position.seconds), 60)
        print(
            f"trained for {minutes}:{seconds:02d}; best weights from update "
            f"{outcome.position.best_step}, {trainer.run_folder.best}"
        )
    print(f"test, {found.sentences} unseen sentences, greedy search")
    print("\n".join(score_lines(found)))
    if not trainer.quiet:
        print(f'try: seqattn translate --run {shlex.quote(str(folder))} "..."')
