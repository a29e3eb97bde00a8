"""What the commands share: plain errors, and how a corpus, a run and a device are named."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import torch

    from seqattn.data.corpora import CorpusConfig
    from seqattn.data.pairs import TextPair

__all__ = [
    "check_folder",
    "choose_device",
    "fail",
    "name_corpus",
    "plain_errors",
    "read_test",
    "run_folder",
]

WRONG_INPUT, FAILED = 2, 1
PAIR = re.compile(r"\w+-\w+")


def fail(message: str, code: int = WRONG_INPUT) -> typer.Exit:
    """Print an error on one line, and give what ends the command: ``raise fail(...)``."""
    print(f"seqattn: {' '.join(message.split())}", file=sys.stderr)
    return typer.Exit(code)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Tell errors that a user can mend on one line: 2 for wrong input, 1 for what failed."""
    from seqattn.data.downloads import DownloadError
    from seqattn.data.pairs import CorpusError
    from seqattn.training.checkpoints import CheckpointError
    from seqattn.training.loop import DivergedError

    try:
        yield
    except BrokenPipeError:
        raise  # whoever read our output has enough: typer ends in silence
    except (DivergedError, DownloadError) as error:
        raise fail(str(error), FAILED) from error
    except CheckpointError as error:
        code = FAILED if isinstance(error.__cause__, OSError) else WRONG_INPUT
        raise fail(str(error), code) from error
    except (CorpusError, ValueError, ImportError) as error:
        raise fail(str(error)) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise fail(f"{where}{error.strerror or error}", FAILED) from error


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


def run_folder(run: Path | None) -> Path:
    """Give the run that was named, or the latest in ``runs/``, or the model of the package."""
    if run is not None:
        return run
    found = [path.parent for path in Path("runs").glob("*/config.json")]
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
    """Read what translators are to be judged on.

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
    from seqattn.training.checkpoints import read_checkpoint

    corpora = [read_checkpoint(path, only="nothing").data["corpus"] for path in checkpoints]
    stored = corpora[0]
    if data:
        languages = f"{stored['source']}-{stored['target']}" if stored else None
        corpus = name_corpus(data, languages, encoding)
        split = "all" if corpus.name == "files" else split
        return read_split(corpus, split), " and ".join(data), corpora
    if not stored:
        raise fail(f"{checkpoints[0]} does not say what it was trained on; name files with --data")
    # As it is printed: what is lower-cased in training is so by the translator itself.
    corpus = CorpusConfig.from_dict({**stored, "lowercase": False})
    return read_split(corpus, split), split, corpora


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Stop where a run might be lost, unless told to overwrite it."""
    from seqattn.training.runs import RunFolder

    if folder.exists() and not folder.is_dir():
        raise fail(f"{folder} is a file; expected a folder, or a name that is free")
    if RunFolder(folder).files() and not overwrite:
        raise fail(
            f"{folder} holds a run already: go on with it (--resume), replace it (--overwrite), "
            "or name another folder (--run)"
        )


def choose_device(name: str) -> "torch.device":
    """Turn ``--device`` into a device that is there, and set this process up for it.

    "auto" is a GPU if there is one.
    """
    import torch

    from seqattn.training.threads import prepare_process

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
