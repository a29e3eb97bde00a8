"""Settings in files: those with a name, and those of the user.

Each ``NAME.toml`` beside this module is a preset, for ``seqattn train --preset NAME``. A file of
your own has the same three tables, each of which may be left out, and so may each of its lines:

.. code-block:: toml

    [data]
    subwords = 8000     # 0 for whole words
    joint = true        # one vocabulary for both languages
    lowercase = false

    [model]             # fields of ModelConfig
    architecture = "luong"

    [training]          # fields of TrainingConfig
    epochs = 12
"""

import json
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from seqattn.models import ModelConfig
from seqattn.training.config import TrainingConfig

__all__ = [
    "Preset",
    "default_preset",
    "kinds_of",
    "name_kinds",
    "preset_names",
    "read_config",
    "read_preset",
]

HERE = Path(__file__).parent
# By the name of the corpus; see seqattn.data.CorpusConfig.
DEFAULTS = {"toy": "toy", "multi30k": "bahdanau", "files": "bahdanau"}


@dataclass(frozen=True)
class Preset:
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
        Whether both languages share one subword vocabulary.
    lowercase : bool
        Whether to read everything in lower case.
    """

    model: ModelConfig
    training: TrainingConfig
    subwords: int = 8_000
    joint: bool = False
    lowercase: bool = False


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
        :class:`~seqattn.models.ModelConfig` and :class:`~seqattn.training.TrainingConfig`.

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
        raise ValueError(
            f"{path} is no {path.suffix.lstrip('.') or 'toml'} file: {error}"
        ) from None
    if not isinstance(values, dict):
        raise ValueError(f"{path} holds {_short(values)}; expected tables, as in config.json")
    values.pop("corpus", None)  # a run's own; --data says it here
    tables = {"data": Preset, "model": ModelConfig, "training": TrainingConfig}
    _check_names(path, "table", values, list(tables))
    for table, kind in tables.items():
        if not isinstance(values.get(table, {}), dict):
            raise ValueError(
                f"{path}: {table} is {_short(values[table])}; expected a table [{table}]"
            )
        known = [field.name for field in fields(kind) if field.name not in tables]
        _check_names(path, f"[{table}] entry", values.get(table, {}), known)
        _check_kinds(path, table, values.get(table, {}), kind)
    training = values.get("training", {})
    if not {"steps", "epochs", "minutes"} & training.keys():
        training = {**training, "epochs": 12}
    try:
        return Preset(
            ModelConfig(**values.get("model", {})),
            TrainingConfig(**training),
            **values.get("data", {}),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def kinds_of(hint: Any) -> list[Any]:
    """List what a type allows: types, and the values of a literal.

    Examples
    --------
    >>> kinds_of(Literal["gru", "lstm"] | None)
    ['gru', 'lstm', <class 'NoneType'>]
    """
    return [kind for part in _parts(hint) for kind in _parts(part)]


def name_kinds(kinds: list[Any]) -> str:
    """Name them for people.

    Examples
    --------
    >>> name_kinds(kinds_of(int | None))
    'int, none'
    """
    names = [getattr(kind, "__name__", str(kind)) for kind in kinds]
    return ", ".join("none" if name == NoneType.__name__ else name for name in names)


def _parts(hint: Any) -> tuple[Any, ...]:
    """Take unions and literals apart."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return get_args(hint) or (hint,)


def _check_kinds(path: Path, table: str, values: dict[str, Any], kind: type) -> None:
    hints = get_type_hints(kind)
    for name, value in values.items():
        kinds = kinds_of(hints[name])
        # Exactly: true is an int to Python, and none of ours. A whole number may be a float.
        if type(value) in kinds or (type(value) is int and float in kinds):
            continue
        if type(value) is str and value in kinds:
            continue
        shown = _short(value)
        raise ValueError(f"{path}: [{table}] {name} is {shown}; expected {name_kinds(kinds)}")


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."


def _check_names(path: Path, what: str, values: dict[str, Any], known: list[str]) -> None:
    for name in values:
        if name not in known:
            raise ValueError(f"{path}: no {what} {name!r}; expected one of {', '.join(known)}")
