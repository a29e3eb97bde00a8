"""What the commands share: plain errors, and how a corpus, a run and a device are named."""

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqattn.console import FAILED, WRONG_INPUT, fail

if TYPE_CHECKING:
    import torch

    from seqattn.data.corpora import CorpusConfig
    from seqattn.data.pairs import TextPair

__all__ = [
    "LESS_AT_ONCE",
    "SPLIT_HELP",
    "RunOption",
    "check_folder",
    "choose_run",
    "count_known",
    "name_corpus",
    "plain_errors",
    "prepare_device",
    "read_run",
    "read_test",
]

PAIR = re.compile(r"\w+-\w+")
SPLIT_HELP = (
    "test, valid or train; of the toy corpus also long; of Multi30k also a test set by its full "
    "name; files of --data are read whole"
)
LESS_AT_ONCE = "try a narrower --beam, or shorter sentences"
# What the allocators of CPUs and GPUs say, in lower case.
NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


class _Once(logging.Filter):
    """Lets each message pass once: a command may read the same files several times."""

    def __init__(self) -> None:
        super().__init__()
        self.told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        new = message not in self.told
        self.told.add(message)
        return new


@contextmanager
def plain_errors(
    less: str = LESS_AT_ONCE, failures: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Tell errors that a user can mend on one line: 2 for wrong input, 1 for what failed.

    What the command prints belongs inside: a full disk is such an error.

    Parameters
    ----------
    less : str
        What to try where memory runs out.
    failures : tuple of exception types
        What else may fail although the input was right.
    """
    from seqattn.data.downloads import DownloadError
    from seqattn.data.pairs import CorpusError
    from seqattn.translator.checkpoint import CheckpointError

    failures = (DownloadError, *failures)
    reader, once = logging.getLogger("seqattn.data.pairs"), _Once()
    reader.addFilter(once)
    try:
        yield
        sys.stdout.flush()  # while an error can still be told
    except BrokenPipeError:
        raise  # whoever read our output has enough: typer ends in silence
    except failures as error:
        raise fail(str(error), FAILED) from error
    except CheckpointError as error:
        code = FAILED if isinstance(error.__cause__, OSError) else WRONG_INPUT
        raise fail(str(error), code) from error
    except (CorpusError, ValueError, ImportError) as error:
        raise fail(str(error)) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        if not _output_works():
            where = "standard output: "
        raise fail(f"{where}{error.strerror or error}", FAILED) from error
    except (MemoryError, RuntimeError) as error:
        told = isinstance(error, MemoryError) or any(t in str(error).lower() for t in NO_MEMORY)
        if not told:
            raise
        raise fail(f"out of memory; {less}", FAILED) from error
    finally:
        reader.removeFilter(once)


def _output_works() -> bool:
    """Tell whether what was printed can be written; if not, forget it.

    Python would try again at its end, and complain in words of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return False
    return True


def name_corpus(
    data: list[str],
    pair: str | None,
    encoding: str,
    held_out: Mapping[str, list[str] | None] | None = None,
) -> "CorpusConfig":
    """Read ``--data`` and ``--pair`` as a corpus.

    Parameters
    ----------
    data : list of str
        "toy", "multi30k", or one or two paths.
    pair : str, optional
        As in "de-en".
    encoding : str
        Of the files.
    held_out : mapping, optional
        Paths of "valid" and "test".
    """
    from seqattn.data.corpora import CorpusConfig
    from seqattn.data.pairs import CorpusError

    name = data[0] if data in (["toy"], ["multi30k"]) else "files"
    paths = {} if name != "files" else {"train": data}
    given = {split: files for split, files in (held_out or {}).items() if files}
    if given and name != "files":
        raise CorpusError(f"--{next(iter(given))} is for files of your own; {name} has its own")
    if encoding != "utf-8" and name != "files":
        raise CorpusError(f"--encoding {encoding} is for files of your own; {name} has its own")
    paths |= given
    if pair is None:
        endings = [Path(path.removesuffix(".gz")).suffix.lstrip(".") for path in data]
        usual = "-".join(endings) if len(endings) == 2 and all(endings) else "source-target"
        pair = {"toy": "en-fr", "multi30k": "de-en", "files": usual}[name]
    if not PAIR.fullmatch(pair):
        raise CorpusError(f"--pair is {pair!r}; expected two languages, as in de-en")
    source, target = pair.split("-")
    if name == "multi30k" and (source == target or not {source, target} <= {"en", "de", "fr"}):
        raise CorpusError(f"--pair is {pair!r}; Multi30k has en, de and fr")
    # Absolute: a run may be taken up from elsewhere.
    absolute = {split: tuple(str(Path(p).absolute()) for p in ps) for split, ps in paths.items()}
    return CorpusConfig.from_dict(
        {"name": name, "source": source, "target": target, "encoding": encoding, **absolute}
    )


def read_run(text: str) -> Path:
    """Read ``--run``; an empty one would be the folder that we are in."""
    if not text.strip():
        raise fail("--run is empty; expected the folder of a run")
    return Path(text)


RunOption = Annotated[
    Path | None,
    typer.Option(
        help="folder of a run, a checkpoint, or toy or toy-transformer, which come with seqattn",
        show_default="the latest in runs/, else toy",
        parser=read_run,
        metavar="PATH",
    ),
]


def choose_run(run: Path | None) -> Path:
    """Give the run that was named, or the latest in ``runs/``, or the model of the package.

    Folders without a checkpoint, of runs that stopped before their first, do not count.
    """
    from seqattn.translator.run_folder import RunFolder

    if run is not None:
        return run
    found = []
    for config in Path("runs").glob("*/config.json"):
        kept = RunFolder(config.parent)
        if any(path.is_file() for path in (kept.average, kept.best, kept.last)):
            found.append(config.parent)
    if not found:
        print(
            "seqattn: there is no run in runs/: this is the model that comes with seqattn, toy",
            file=sys.stderr,
        )
        return Path("toy")
    return max(found, key=lambda folder: (folder / "config.json").stat().st_mtime)


def read_test(
    checkpoints: Sequence[Path], split: str, data: list[str] | None, encoding: str
) -> tuple[list["TextPair"], str, list[dict[str, Any]]]:
    """Read what translators are to be judged on, and warn where they were trained on it.

    Parameters
    ----------
    checkpoints : sequence of Path
        Of the translators.
    split : str
        Of the first one's corpus.
    data : list of str, optional
        ``--data``, in place of that corpus.
    encoding : str
        Of these files.

    Returns
    -------
    tuple
        The pairs, what to call them, and each checkpoint's corpus as plain values.
    """
    from seqattn.data.corpora import CorpusConfig, read_split
    from seqattn.translator.checkpoint import read_header

    corpora = [read_header(path)["corpus"] for path in checkpoints]
    stored = corpora[0]
    if data:
        languages = f"{stored['source']}-{stored['target']}" if stored else None
        corpus = name_corpus(data, languages, encoding)
        split = "all" if corpus.name == "files" else split
        pairs, name = read_split(corpus, split), " and ".join(data)
        _warn_of_known(checkpoints, corpora, pairs)
        return pairs, name, corpora
    if encoding != "utf-8":
        raise fail(f"--encoding {encoding} is for files named with --data; none is named")
    if not stored:
        raise fail(f"{checkpoints[0]} does not say what it was trained on; name files with --data")
    # As it is printed: what is lower-cased in training is so by the translator itself.
    corpus = CorpusConfig.from_dict({**stored, "lowercase": False})
    pairs = read_split(corpus, split)
    if split == "train":
        print(f"seqattn: {checkpoints[0]} was trained on these sentences", file=sys.stderr)
    else:
        _warn_of_known(checkpoints, corpora, pairs)
    return pairs, split, corpora


def count_known(corpus: "CorpusConfig", pairs: Sequence["TextPair"]) -> int:
    """Count the pairs whose source is one of those that a corpus has to train on."""
    from seqattn.data.corpora import read_split

    def form(pair: "TextPair") -> str:
        return pair.source.lower() if corpus.lowercase else pair.source

    known = {form(pair) for pair in read_split(corpus, "train")}
    return sum(form(pair) in known for pair in pairs)


def _warn_of_known(
    checkpoints: Sequence[Path], corpora: Sequence[dict[str, Any]], pairs: Sequence["TextPair"]
) -> None:
    """Say which translators were trained on some of these pairs, where files at hand can tell."""
    from seqattn.data.corpora import CorpusConfig
    from seqattn.data.pairs import CorpusError

    for checkpoint, stored in zip(checkpoints, corpora, strict=True):
        if stored.get("name") != "files":
            continue
        try:
            known = count_known(CorpusConfig.from_dict(stored), pairs)
        except (CorpusError, OSError):  # the files are gone: nothing can be said
            continue
        if known:
            print(
                f"seqattn: {checkpoint} was trained on {known} of these {len(pairs)} sentences",
                file=sys.stderr,
            )


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Stop where a run might be lost, unless told to overwrite it."""
    from seqattn.translator.run_folder import RunFolder

    if folder.exists() and not folder.is_dir():
        raise fail(f"{folder} is a file; expected a folder, or a name that is free")
    if RunFolder(folder).holds_run() and not overwrite:
        if not RunFolder(folder).last.is_file():
            raise fail(
                f"{folder} holds a run that stopped before its first checkpoint: replace it "
                "(--overwrite), or name another folder (--run)"
            )
        raise fail(
            f"{folder} holds a run already: go on with it (--resume), replace it (--overwrite), "
            "or name another folder (--run)"
        )


def prepare_device(name: str) -> "torch.device":
    """Turn ``--device`` into a device that is there, and set this process up to compute.

    "auto" is a GPU if there is one. Called before anything is computed: threads that are there
    already would keep numbers too small to be normal.
    """
    import torch

    from seqattn.process import prepare_process

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and "LOCAL_RANK" in os.environ:  # one GPU for each process
        name = f"cuda:{os.environ['LOCAL_RANK']}"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise fail(f"--device {name} is not to be had here; expected auto, cpu or cuda") from error
    prepare_process()
    return device
