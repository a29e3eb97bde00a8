"""Begin a run, or take one up again."""

from dataclasses import asdict, replace
from pathlib import Path

import torch

from seqattn.context_managers import own_random
from seqattn.data.corpora import CorpusConfig, read_split
from seqattn.data.vocabulary import Vocabularies
from seqattn.models import ModelConfig, build_model, guess_frequencies
from seqattn.training.config import TrainingConfig
from seqattn.training.presets import Preset, default_preset
from seqattn.training.runtime import Processes
from seqattn.training.trainer import Trainer
from seqattn.translator.checkpoint import CheckpointError
from seqattn.translator.run_folder import RunFolder, load_model

__all__ = ["new_run", "resumed_run"]


@own_random()
def new_run(
    folder: str | Path,
    corpus: CorpusConfig | None = None,
    *,
    preset: Preset | None = None,
    model: ModelConfig | None = None,
    training: TrainingConfig | None = None,
    subwords: int | None = None,
    joint: bool | None = None,
    min_count: int | None = None,
    device: torch.device | str = "cpu",
    overwrite: bool = False,
    go_on: bool = False,
    quiet: bool = False,
) -> Trainer:
    """Prepare a training from scratch: read the corpus, learn vocabularies, build the model.

    Parameters
    ----------
    folder : str or Path
        Where to keep the run.
    corpus : CorpusConfig, optional
        The toy corpus by default.
    preset : Preset, optional
        All settings, also of how the pairs are read; by default those that suit the corpus. The
        next five change it.
    model, training : ModelConfig, TrainingConfig, optional
        What to build, and how to train it.
    subwords : int, optional
        Size of each subword vocabulary, 0 for whole words.
    joint : bool, optional
        Whether both languages share one vocabulary. A model that copies needs that.
    min_count : int, optional
        How often a word must occur to be in a vocabulary of whole words. A model that copies learns
        to do so from words that are in none.
    device : device
        Where to compute.
    overwrite : bool
        Whether to delete what an earlier run left in the folder.
    go_on : bool
        Whether to take up an earlier run in the folder after all, if its settings and its pairs are
        the same: a notebook that was cut off goes on when it is run again.
    quiet : bool
        Whether to show nothing.

    Returns
    -------
    Trainer
        Its ``run()`` trains.

    Raises
    ------
    CheckpointError
        If the folder holds a run already that may be neither taken up nor overwritten, or files
        of other origin with names of a run's files, or if a process trains there.
    CorpusError, DownloadError
        If the corpus is not to be had.
    ValueError
        If embeddings of different vocabularies are to be tied, or ``min_count`` is asked of
        subwords.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> tiny = ModelConfig(d_embed=8, d_hidden=8)
    >>> with TemporaryDirectory() as folder:
    ...     trainer = new_run(
    ...         folder,
    ...         CorpusConfig(pairs=800),
    ...         model=tiny,
    ...         training=TrainingConfig(steps=2),
    ...         quiet=True,
    ...     )
    ...     trainer.run().reason
    'done'
    """
    run = RunFolder(folder)
    if run.holds_run() and not (overwrite or go_on):
        raise CheckpointError(
            f"{folder} holds a run already: go on with it (resumed_run), replace it "
            "(overwrite=True), or name another folder"
        )
    corpus = corpus or CorpusConfig()
    preset = preset or default_preset(corpus.name)
    model, training = model or preset.model, training or preset.training
    reading = preset.asked(subwords=subwords, joint=joint, min_count=min_count)
    corpus = replace(corpus, lowercase=corpus.lowercase or reading.lowercase)
    processes = Processes(torch.device(device))
    with processes.in_turn():
        train, valid = read_split(corpus, "train"), read_split(corpus, "valid")
    learnt = processes.first(
        lambda: Vocabularies.learn(
            train,
            corpus.languages,
            subwords=reading.subwords,
            joint=reading.joint,
            min_count=reading.min_count,
        ).to_dict()
    )
    vocabularies = Vocabularies.from_dict(learnt)
    if model.tie == "all" and not vocabularies.shared:
        raise ValueError(
            "tie='all' makes one matrix of both embeddings, and here source and target have "
            "vocabularies of their own: share one (joint=True, or --joint), or tie the target's "
            "alone (tie='output')"
        )
    if model.copy and not vocabularies.shared:
        raise ValueError(
            "copy=True writes words of the source as they are, and here source and target have "
            "vocabularies of their own: share one (joint=True, or --joint)"
        )
    torch.manual_seed(training.seed)
    built = build_model(model, len(vocabularies.source), len(vocabularies.target)).to(device)
    trainer = Trainer(
        built,
        model,
        vocabularies,
        train,
        valid,
        training,
        run,
        corpus=asdict(corpus),
        data={
            "subwords": reading.subwords,
            "joint": reading.joint,
            "min_count": reading.min_count,
            "lowercase": corpus.lowercase,
        },
        processes=processes,
        quiet=quiet,
    )
    # One process looks for all: another might see what the first has begun to write.
    if go_on and processes.first(trainer.has_begun):
        trainer.resume()
        return trainer
    # Settings and a log alone are of a run that was cut off at once; weights are somebody's work.
    weights = run.last, run.best, run.average, *run.all_kept()
    if go_on and not overwrite and processes.first(lambda: any(p.is_file() for p in weights)):
        raise CheckpointError(
            f"{folder} holds a run with other settings or pairs, or the rest of one: replace it "
            "(overwrite=True), or name another folder"
        )
    if training.guess:
        guess_frequencies(
            built.vocabulary,
            [target for _, target in trainer.batches.examples],
            size=len(vocabularies.target),
        )
    if processes.lead:
        run.clear()  # not before all input is known to be good
    return trainer


def resumed_run(
    folder: str | Path,
    *,
    steps: int | None = None,
    epochs: float | None = None,
    minutes: float | None = None,
    device: torch.device | str = "cpu",
    quiet: bool = False,
) -> Trainer:
    """Prepare to go on where the last checkpoint of a run was written.

    Parameters
    ----------
    folder : str or Path
        Of the run.
    steps, epochs, minutes : numbers, optional
        Another budget in place of the run's own, counted from its beginning. The learning rate goes
        on as if it had always been planned for it.
    device : device
        Where to compute.
    quiet : bool
        Whether to show nothing.

    Returns
    -------
    Trainer
        Its ``run()`` trains.

    Raises
    ------
    CheckpointError
        If there is no checkpoint, or it is not of this corpus.
    CorpusError, DownloadError
        If the corpus is no longer to be had.
    """
    run = RunFolder(folder)
    processes = Processes(torch.device(device))
    model, vocabularies, stored = load_model(run.last, device)
    corpus = CorpusConfig.from_dict(stored["corpus"])
    training = TrainingConfig.from_stored(stored["training"])
    if any(value is not None for value in (steps, epochs, minutes)):
        training = replace(training, steps=steps, epochs=epochs, minutes=minutes)
    with processes.in_turn():
        train, valid = read_split(corpus, "train"), read_split(corpus, "valid")
    trainer = Trainer(
        model,
        ModelConfig.from_stored(stored["model"]),
        vocabularies,
        train,
        valid,
        training,
        run,
        corpus=asdict(corpus),
        data=stored.get("data"),
        processes=processes,
        quiet=quiet,
    )
    trainer.resume()
    return trainer
