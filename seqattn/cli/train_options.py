"""From the options of ``seqattn train`` to a trainer that is ready to run."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from seqattn.console import fail
from seqattn.settings import Settings, parse

if TYPE_CHECKING:
    import torch

    from seqattn.data.corpora import CorpusConfig
    from seqattn.training import Trainer, TrainingConfig
    from seqattn.training.presets import Preset

__all__ = [
    "apply_settings",
    "choose_preset",
    "describe",
    "prepare_resumed",
    "prepare_run",
    "set_threads",
]


def choose_preset(corpus: "CorpusConfig", name: str | None, config: Path | None) -> "Preset":
    """Read the settings that were named, those of a file, or what suits the corpus."""
    from seqattn.training.presets import default_preset, read_config, read_preset

    if name is not None and config is not None:
        raise fail("--preset and --config; expected one of the two")
    if name is not None:
        return read_preset(name)
    return default_preset(corpus.name) if config is None else read_config(config)


def prepare_run(
    folder: Path,
    corpus: "CorpusConfig",
    preset: "Preset",
    *,
    budget: Mapping[str, Any],
    changes: Mapping[str, Any],
    settings: Sequence[str],
    precision: str | None,
    subwords: int | None,
    joint: bool | None,
    min_count: int | None,
    lowercase: bool | None,
    device: "torch.device",
    overwrite: bool,
    quiet: bool,
) -> "Trainer":
    """Prepare a new run: a preset, and over it whatever the command line says.

    Parameters
    ----------
    folder, corpus, preset
        Where to, from what, and how.
    budget : mapping
        "steps", "epochs" and "minutes"; one that is not None replaces the whole budget.
    changes : mapping
        Fields of ``TrainingConfig`` to change, where they are not None.
    settings : sequence of str
        As in "d_hidden=256"; see ``apply_settings``.
    precision : {"auto", "fp32", "bf16"}, optional
        By default bfloat16 where the preset says so or the device has units for it.
    subwords, joint, min_count, lowercase
        The preset's where None.
    device, overwrite, quiet
        As in ``new_run``.
    """
    from seqattn.precision import computes_bf16
    from seqattn.process import process_rank
    from seqattn.training.start import new_run

    options = {**budget, **changes, "bf16": precision}
    for text in settings:
        name = text.partition("=")[0]
        if options.get(name) is not None:
            option = "precision" if name == "bf16" else name
            raise fail(f"--set {text} and --{option}; expected one of the two")
    if precision not in (None, "auto", "fp32", "bf16"):
        raise fail(f"--precision is {precision!r}; expected auto, fp32 or bf16")
    training = preset.training
    bf16 = computes_bf16(device) or (precision is None and training.bf16)
    training = replace(training, bf16=bf16 if precision in (None, "auto") else precision == "bf16")
    training = replace(training, **{k: v for k, v in changes.items() if v is not None})
    if any(value is not None for value in budget.values()):
        training = replace(training, **budget)
    model, training = apply_settings(settings, preset.model, training)
    if min_count is not None and (preset.subwords if subwords is None else subwords):
        raise fail("--min-count is for whole words; expected --subwords 0 with it")
    reading = preset.asked(subwords=subwords, joint=joint, min_count=min_count, lowercase=lowercase)
    if not quiet and process_rank() == 0:
        print(f"reading {corpus.name}, {corpus.source} to {corpus.target}", flush=True)
    return new_run(
        folder,
        corpus,
        preset=replace(reading, model=model, training=training),
        device=device,
        overwrite=overwrite,
        quiet=quiet,
    )


def prepare_resumed(
    folder: Path, budget: Mapping[str, Any], device: "torch.device", quiet: bool
) -> "Trainer":
    """Prepare to go on with a run, perhaps with another budget.

    A run that is finished, and would be with this budget, is left as it is: the command ends.
    """
    from seqattn.process import process_rank
    from seqattn.training.start import resumed_run
    from seqattn.translator.run_folder import RunFolder

    if not (folder / "last.safetensors").is_file():
        if RunFolder(folder).holds_run():
            raise fail(
                f"{folder} holds a run that stopped before its first checkpoint: there is nothing "
                "to take up. Begin anew with --overwrite in place of --resume"
            )
        raise fail(
            f"there is no run to take up in {folder}; expected a folder that `seqattn train` made, "
            "named with --run"
        )
    told = _nothing_left(folder, budget)
    if told is not None:
        if process_rank() == 0:
            print(f"{folder}: {told}", flush=True)
        raise typer.Exit
    return resumed_run(folder, **budget, device=device, quiet=quiet)


def _nothing_left(folder: Path, budget: Mapping[str, Any]) -> str | None:
    """Say why a run that was tested at its end has nothing left to do, or None where it has."""
    from seqattn.training import TrainingConfig, TrainingState
    from seqattn.translator.checkpoint import read_header
    from seqattn.translator.run_folder import RunFolder

    last, tested = RunFolder(folder).last, folder / "test.json"
    if not tested.is_file() or tested.stat().st_mtime_ns < last.stat().st_mtime_ns:
        return None  # it was interrupted, perhaps just before the end
    stored = read_header(last)
    config = TrainingConfig.from_stored(stored["training"])
    state = TrainingState(**stored["position"])
    if any(value is not None for value in budget.values()):
        config = replace(config, **budget)
    if config.out_of_patience(state.waited):
        return (
            f"stopped at update {state.step}, after {state.waited} validations without a "
            "better BLEU (patience): nothing is left to do"
        )
    epochs = float(state.epoch)
    if config.epochs and epochs < config.epochs < epochs + 1 and state.index:
        epochs += state.index / _count_batches(stored, config)
    if config.budget_used(state.step, epochs, state.seconds) < 1:
        return None
    asked = ", ".join(f"{value:g} {unit}" for unit, value in budget.items() if value)
    return (
        f"the budget{f' of {asked}' if asked else ''} is used up at update {state.step}: "
        "nothing is left to do. For more, name a larger one, counted from the beginning: "
        f"--steps {2 * state.step}, or --epochs or --minutes"
    )


def _count_batches(stored: Mapping[str, Any], config: "TrainingConfig") -> int:
    """Count the batches of an epoch, as the trainer of a checkpoint cuts them."""
    from seqattn.data.corpora import CorpusConfig, read_split
    from seqattn.data.vocabulary import Vocabularies
    from seqattn.training.trainer import cut_batches

    pairs = read_split(CorpusConfig.from_dict(stored["corpus"]), "train")
    return len(cut_batches(pairs, Vocabularies.from_dict(stored["vocabularies"]), config))


def set_threads(trainer: "Trainer", threads: int | None) -> None:
    """Use the threads that were asked for, or the run had, or the system says, or the fastest."""
    import torch

    from seqattn.process import available_cores
    from seqattn.training.runtime import fastest_threads

    if trainer.device.type == "cpu":
        threads = threads or trainer.threads_before
        if threads is None and os.environ.get("OMP_NUM_THREADS"):
            return  # PyTorch has read it
        if threads is None and trainer.processes.count > 1:
            threads = max(available_cores() // trainer.processes.count, 1)
        if threads is None:
            threads = fastest_threads(trainer.model, trainer.batches, bf16=trainer.config.bf16)
        torch.set_num_threads(threads)


def describe(trainer: "Trainer") -> str:
    """Say what will be trained, on what, and for how long."""
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
            f"{len(trainer.validator.pairs):,} to validate on",
            f"  vocabularies of {len(source):,} and {len(target):,}",
            f"  {model['architecture']}, {size / 1e6:.1f} million weights",
            f"  {trainer.device}{threads}{together}, {'bf16' if config.bf16 else 'fp32'}",
            f"  into {trainer.run_folder.path}, for "
            + ", ".join(f"{value:g} {unit}" for unit, value in budget.items() if value)
            + (f", from update {trainer.state.step}" if trainer.state.step else ""),
        ]
    )


def apply_settings(texts: Sequence[str], *configs: Settings) -> tuple[Any, ...]:
    """Change options of settings; each name goes to the settings that have it.

    Other options that then have no effect go back to their defaults: a preset's cell is not in the
    way of ``architecture=transformer``.

    Parameters
    ----------
    texts : sequence of str
        As in "d_hidden=256". "none" is None; "true" and "false" are truth values.
    configs : Settings
        To be changed.

    Returns
    -------
    tuple of Settings
        Changed copies, in the same order.

    Raises
    ------
    ValueError
        If a name is unknown or was changed, or a value is of the wrong kind, out of its limits or
        without effect.

    Examples
    --------
    >>> from seqattn.models import ModelConfig
    >>> [config] = apply_settings(["score=general", "d_attn=none", "dropout=0"], ModelConfig())
    >>> config.score, config.d_attn, config.dropout
    ('general', None, 0.0)
    """
    changes: list[dict[str, Any]] = [{} for _ in configs]
    for text in texts:
        name, equals, value = text.partition("=")
        places = [i for i, config in enumerate(configs) if name in config.names()]
        if not equals or not places:
            raise ValueError(f"--set {text}: {_expect(name, configs)}")
        try:
            changes[places[0]][name] = parse(type(configs[places[0]]), name, value)
        except ValueError as error:
            raise ValueError(f"--set {error}") from None
    return tuple(config.changed(**change) for config, change in zip(configs, changes))


def _expect(name: str, configs: Sequence[Settings]) -> str:
    """Say what a name is called now, or name those that are most like it: there are dozens."""
    for config in configs:
        if name in config.RENAMED:
            return config.unknown(name)
    known = [field for config in configs for field in config.names()]
    close = " or ".join(f"{field}=..." for field in get_close_matches(name, known))
    return (
        f"expected NAME=VALUE; {f'did you mean {close}? ' if close else ''}"
        f"NAME is one of {', '.join(known[:3])} and {len(known) - 3} more, which stand in the "
        "config.json of a run under model and training"
    )
