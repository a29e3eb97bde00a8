"""Settings in files: those with a name, and those of the user.

Each ``NAME.toml`` beside this module is a preset, for ``seqattn train --preset NAME``. A file of
your own has the same three tables, each of which may be left out, and so may each of its lines:

.. code-block:: toml

    [data]
    subwords = 8000     # 0 for whole words
    joint = true        # one vocabulary for both languages
    min_count = 1       # with whole words: those that occur less often are unknown
    lowercase = false

    [model]             # fields of ModelConfig
    architecture = "luong"

    [training]          # fields of TrainingConfig
    epochs = 12
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from seqattn.models import ModelConfig
from seqattn.settings import Limits, Only, Settings
from seqattn.training.config import TrainingConfig

__all__ = [
    "Preset",
    "default_preset",
    "preset_names",
    "read_config",
    "read_preset",
]

HERE = Path(__file__).parent
TABLES = ("data", "model", "training")
Table = TypeVar("Table", bound=Settings)
# By the name of the corpus; see seqattn.data.CorpusConfig.
DEFAULTS = {"toy": "toy", "multi30k": "bahdanau", "files": "bahdanau"}


@dataclass(frozen=True, kw_only=True)
class _Data(Settings):
    """How the pairs are read: the table [data]."""

    subwords: Annotated[int, Limits(ge=0)] = 8_000
    joint: bool = False
    min_count: Annotated[int, Limits(ge=1), Only(subwords=(0,))] = 1
    lowercase: bool = False


@dataclass(frozen=True)
class Preset(_Data):
    """Settings of a training, but for the corpus.

    Attributes
    ----------
    model : ModelConfig
        What to build.
    training : TrainingConfig
        How to train it, with a budget.
    subwords : int
        Size of each subword vocabulary; 0 for whole words.
    joint : bool
        Whether both languages share one vocabulary.
    min_count : int
        How often a word must occur in training to be in a vocabulary of whole words.
    lowercase : bool
        Whether to read everything in lower case.
    """

    model: ModelConfig
    training: TrainingConfig

    def asked(self, **options: Any) -> "Preset":
        """Give a copy with the options that are not None; all else as the preset says.

        Here alone it is settled what holds where only a part is said: what a preset asks of whole
        words, ``min_count``, does not hold once subwords are asked for.

        Raises
        ------
        ValueError
            If an option has no effect with the others.

        Examples
        --------
        >>> pointer = read_preset("pointer")
        >>> pointer.asked(subwords=None).min_count > 1, pointer.asked(subwords=4_000).min_count
        (True, 1)
        """
        return self.changed(**{name: x for name, x in options.items() if x is not None})


def preset_names() -> list[str]:
    """List the presets that have a name.

    Examples
    --------
    >>> "luong" in preset_names()
    True
    """
    return sorted(path.stem for path in HERE.glob("*.toml"))


def read_preset(name: str) -> Preset:
    """Read a preset by its name.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> read_preset("luong").model.architecture
    'luong'
    """
    if name not in preset_names():
        raise ValueError(f"no preset {name!r}; expected one of {', '.join(preset_names())}")
    return read_config(HERE / f"{name}.toml")


def default_preset(corpus: str) -> Preset:
    """Read what suits a corpus, "toy", "multi30k" or "files", when nothing else is asked for."""
    return read_preset(DEFAULTS[corpus])


def read_config(path: str | Path) -> Preset:
    """Read settings from a file: TOML, or the ``config.json`` of a run.

    Parameters
    ----------
    path : str or Path
        Where it is.

    Returns
    -------
    Preset
        What it says; where it says nothing, the defaults of :class:`Preset`,
        :class:`~seqattn.models.ModelConfig` and :class:`~seqattn.training.TrainingConfig`, and a
        budget of 12 epochs.

    Raises
    ------
    ValueError
        If it is missing or no such file, or names something that does not exist.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ValueError(f"{path} is no {kind} file: {error}") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path} holds {_short(values)}; expected tables, as in config.json")
    values.pop("corpus", None)  # a run's own; --data says it here
    for table in values:
        if table not in TABLES:
            raise ValueError(f"{path}: no table {table!r}; expected one of {', '.join(TABLES)}")
        if not isinstance(values[table], dict):
            raise ValueError(
                f"{path}: {table} is {_short(values[table])}; expected a table [{table}]"
            )
    training = values.get("training", {})
    if not {"steps", "epochs", "minutes"} & training.keys():
        training = {**training, "epochs": 12}
    # What a run wrote may be of an earlier version, with the names of its time.
    stored = path.suffix == ".json"
    return Preset(
        _read_table(path, "model", values.get("model", {}), ModelConfig, stored),
        _read_table(path, "training", training, TrainingConfig, stored),
        **vars(_read_table(path, "data", values.get("data", {}), _Data, stored)),
    )


def _read_table(
    path: Path, table: str, values: Mapping[str, Any], kind: type[Table], stored: bool
) -> Table:
    names = kind.RENAMED if stored else {}
    try:
        return kind(**{names.get(name, name): value for name, value in values.items()})
    except (TypeError, ValueError) as error:
        told = str(error).removeprefix(f"{kind.__name__}: ")
        raise ValueError(f"{path}: [{table}] {told}") from error


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."
