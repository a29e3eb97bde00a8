"""Several trainings at one budget, each in a process of its own: only the models differ."""

import json
import multiprocessing
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import torch

from seqattn.data.corpora import CorpusConfig, read_split
from seqattn.evaluation import evaluate
from seqattn.models import ModelConfig
from seqattn.process import available_cores, peak_memory, prepare_process
from seqattn.settings import check_whole
from seqattn.training.config import TrainingConfig
from seqattn.training.start import new_run
from seqattn.translator import Translator
from seqattn.translator.run_folder import RunFolder

__all__ = ["Trial", "run_trials"]

# Beside what every run folder holds.
COST = "cost.json"


@dataclass(frozen=True)
class Trial:
    """A finished training of a study.

    Attributes
    ----------
    name : str
        Of the model.
    seed : int
        Of the training.
    folder : Path
        The run folder: :meth:`~seqattn.translator.Translator.load` takes it.
    seconds : float
        Time of the training, its validations included: on a CPU in core-seconds, those of all
        threads added; on a GPU on the clock.
    memory : float, or None
        MiB by which the training raised the peak of its process, which reading the corpus may have
        raised before: of main memory, or of the GPU's. None where the system does not tell.
    parameters : int
        Number of weights of its model.
    scores : dict
        Those of the pairs it was judged on: the attributes of
        :class:`~seqattn.evaluation.Evaluation`.
    """

    name: str
    seed: int
    folder: Path
    seconds: float
    memory: float | None
    parameters: int
    scores: dict[str, Any]

    def row(self) -> dict[str, Any]:
        """Give what a table or a plot of many trials takes: plain values, the main ones."""
        attention = self.scores.get("attention") or {}
        return {
            "model": self.name,
            "seed": self.seed,
            "seconds": self.seconds,
            "memory": self.memory,
            "parameters": self.parameters,
            "entropy": attention.get("entropy"),
            **{name: self.scores[name] for name in ("bleu", "chrf", "perplexity", "aer")},
        }


def run_trials(
    models: Mapping[str, ModelConfig],
    folder: str | Path,
    corpus: CorpusConfig,
    training: TrainingConfig,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    split: str = "valid",
    subwords: int = 0,
    joint: bool = False,
    min_count: int = 1,
    device: str = "cpu",
    at_once: int | None = None,
) -> list[Trial]:
    """Train each model from each seed on the same pairs with the same budget, and judge it.

    Every training has a process of its own, so that its time and memory are its own, and every
    core gets one. A trial that is there already is not repeated: call this again with
    ``split="test"`` once all is chosen, and the same trainings are judged on the test pairs. Other
    settings or other pairs in the corpus's files make it another trial, which replaces the one in
    the folder; other code does not: after a change of a model take a new folder. In a program of
    your own, call this below ``if __name__ == "__main__":``, for the processes read that
    file again.

    Parameters
    ----------
    models : mapping from name to ModelConfig
        What is compared.
    folder : str or Path
        Where to keep a run folder, ``NAME-SEED``, for each trial.
    corpus : CorpusConfig
        What all of them learn from, and are judged on.
    training : TrainingConfig
        How, but for the seed.
    seeds : sequence of int
        Of the trainings of each model: first weights, dropout, order of the batches.
    split : {"valid", "test"}
        Which pairs judge. A study that leads to a choice reads the validation pairs.
    subwords, joint, min_count
        As in :func:`~seqattn.training.new_run`.
    device : str
        Where to compute.
    at_once : int, optional
        Trainings side by side: by default one for each core, or one on a GPU.

    Returns
    -------
    list of Trial
        Model by model, seed by seed.

    Raises
    ------
    ValueError
        If the split is neither, or ``at_once`` no whole number of at least 1.
    RuntimeError
        If a training ended with an error: the message names it; its process prints the whole.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> models = {"small": ModelConfig(d_embed=7, d_hidden=11)}
    >>> with TemporaryDirectory() as folder:
    ...     [trial] = run_trials(
    ...         models, folder, CorpusConfig(pairs=400), TrainingConfig(steps=2), seeds=[5]
    ...     )
    >>> trial.name, trial.seed, trial.seconds > 0, sorted(trial.row())[0]
    ('small', 5, True, 'aer')
    """
    if split not in ("valid", "test"):
        raise ValueError(f"split is {split!r}; expected 'valid' or 'test'")
    if at_once is None:
        at_once = available_cores() if device == "cpu" else 1
    check_whole("at_once", at_once, least=1)
    threads = max(available_cores() // at_once, 1)
    pairs = _fingerprint(corpus)
    jobs = [
        _Job(Path(folder) / f"{name}-{seed}", corpus, config, replace(training, seed=seed),
             subwords, joint, min_count, device, threads, split, pairs)
        for name, config in models.items()
        for seed in seeds
    ]  # fmt: skip
    unfinished = [job for job in jobs if not (_is_trained(job) and job.judged.is_file())]
    errors = _side_by_side(_train_and_judge, unfinished, at_once)
    failed = [
        f"the training of {job.folder} ended with an error: {error}"
        for job, error in zip(unfinished, errors, strict=True)
        if error
    ]
    if failed:
        raise RuntimeError("\n".join(failed))
    names = [(name, seed) for name in models for seed in seeds]
    return [_read(name, seed, job) for (name, seed), job in zip(names, jobs, strict=True)]


class _Job(NamedTuple):
    """What one training is told: plain values, which go into another process."""

    folder: Path
    corpus: CorpusConfig
    model: ModelConfig
    training: TrainingConfig
    subwords: int
    joint: bool
    min_count: int
    device: str
    threads: int
    split: str
    pairs: int | None = None  # fingerprint of the corpus, as the trial has it in its cost

    @property
    def judged(self) -> Path:
        """Where the scores are kept."""
        return self.folder / f"{self.split}.json"


def _side_by_side(do: Callable[[Any], None], jobs: Sequence[Any], at_once: int) -> list[str | None]:
    """Do each job in a process of its own, so many at once; give what went wrong with each.

    One thread starts and awaits them all: where two do, `multiprocessing` now and then asks both
    whether the same process has ended, and the second takes a good end for a failure.
    """
    context = _processes()
    errors: list[str | None] = [None] * len(jobs)
    running: dict[Any, tuple[int, Any]] = {}  # from what tells the end
    todo = list(enumerate(jobs))
    while todo or running:
        while todo and len(running) < at_once:
            number, job = todo.pop(0)
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(target=_do, args=(do, job, writer))
            process.start()
            writer.close()  # only the process holds it now: the pipe ends when it does
            running[reader] = number, process
        ended: list[Any] = list(wait(list(running)))
        for reader in ended:
            number, process = running.pop(reader)
            try:
                errors[number] = reader.recv()
                process.join()
            except EOFError:
                process.join()
                errors[number] = f"its process ended with exit code {process.exitcode}"
            reader.close()
    return errors


def _do(do: Callable[[Any], None], job: Any, tell: Any) -> None:
    try:
        do(job)
    except BaseException as error:
        tell.send(f"{type(error).__name__}: {error}")
        raise
    tell.send(None)


def _processes() -> Any:
    """Give a way to start processes: copies of one that has imported PyTorch, where that goes."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _fingerprint(corpus: CorpusConfig) -> int:
    """Give a number that depends on all pairs: files may have changed under their names."""
    found = 0
    for split in ("train", "valid", "test"):
        pairs = [(pair.source, pair.target) for pair in read_split(corpus, split)]
        found = zlib.crc32(repr(pairs).encode(errors="replace"), found)
    return found


def _is_trained(job: _Job) -> bool:
    run = RunFolder(job.folder)
    if not (run.path / COST).is_file():
        return False
    cost = json.loads((run.path / COST).read_text(encoding="utf-8"))
    if job.pairs not in (None, cost.get("pairs", job.pairs)):
        return False
    stored = json.loads((run.path / "config.json").read_text(encoding="utf-8"))
    lowercase = job.corpus.lowercase
    wanted = {
        "model": asdict(job.model),
        "training": asdict(job.training),
        "corpus": asdict(job.corpus),
        "data": {
            "subwords": job.subwords,
            "joint": job.joint,
            "min_count": job.min_count,
            "lowercase": lowercase,
        },
    }
    # What an earlier version wrote is as good.
    there = {
        "model": asdict(ModelConfig.from_stored(stored["model"])),
        "training": asdict(TrainingConfig.from_stored(stored["training"])),
        "corpus": stored["corpus"],
        "data": {"min_count": 1, **stored["data"]},
    }
    # As JSON has it, which knows no tuples.
    return there == json.loads(json.dumps(wanted))


def _train_and_judge(job: _Job) -> None:
    torch.set_num_threads(job.threads)
    prepare_process()
    if not _is_trained(job):
        _train(job)
    translator = Translator.load(job.folder, device=job.device)
    pairs = read_split(job.corpus, job.split)
    found = evaluate(translator, pairs, lowercase=job.corpus.lowercase, details=True)
    RunFolder(job.folder).write(job.judged.name, found.to_dict())


def _train(job: _Job) -> None:
    run, device = RunFolder(job.folder), job.device
    for name in (COST, "valid.json", "test.json"):  # of an earlier training
        (run.path / name).unlink(missing_ok=True)
    trainer = new_run(
        job.folder, job.corpus, model=job.model, training=job.training, subwords=job.subwords,
        joint=job.joint, min_count=job.min_count, device=device, overwrite=True, quiet=True,
    )  # fmt: skip
    before, clock = peak_memory(device), _clock(device)
    trainer.run()
    seconds, after = _clock(device) - clock, peak_memory(device)
    memory = None if before is None or after is None else round(after - before, 1)
    parameters = sum(p.numel() for p in trainer.model.parameters())
    cost = {"seconds": round(seconds, 2), "memory": memory, "parameters": parameters}
    run.write(COST, {**cost, "threads": job.threads, "pairs": job.pairs})


def _read(name: str, seed: int, job: _Job) -> Trial:
    scores, cost = (
        json.loads(path.read_text(encoding="utf-8")) for path in (job.judged, job.folder / COST)
    )
    return Trial(
        name, seed, job.folder, cost["seconds"], cost["memory"], cost["parameters"], scores
    )


def _clock(device: str) -> float:
    return time.process_time() if device == "cpu" else time.monotonic()
