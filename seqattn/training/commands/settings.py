"""``--set NAME=VALUE``: any field of the model's and the training's settings."""

from collections.abc import Sequence
from dataclasses import fields, replace
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

__all__ = ["apply_settings"]

Config = TypeVar("Config")


def apply_settings(texts: Sequence[str], *configs: Any) -> tuple[Any, ...]:
    """Change fields of dataclasses; each name goes to the one that has it.

    Parameters
    ----------
    texts : sequence of str
        As in "d_hidden=256". "none" is None; "true" and "false" are truth values.
    configs : dataclasses
        With fields of plain types.

    Returns
    -------
    tuple of dataclasses
        Changed copies, in the same order.

    Raises
    ------
    ValueError
        If a name is unknown or a value is of the wrong kind.

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
        places = [i for i, config in enumerate(configs) if name in _names(config)]
        if not equals or not places:
            known = ", ".join(name for config in configs for name in _names(config))
            raise ValueError(f"--set {text}: expected NAME=VALUE, where NAME is one of {known}")
        hint = get_type_hints(type(configs[places[0]]))[name]
        changes[places[0]][name] = _read(name, value, hint)
    return tuple(replace(config, **change) for config, change in zip(configs, changes))


def _names(config: Any) -> list[str]:
    return [field.name for field in fields(config)]


def _read(name: str, text: str, hint: Any) -> Any:
    """Read a value of a type such as int, float | None or Literal["gru", "lstm"]."""
    kinds = [kind for part in _parts(hint) for kind in _parts(part)]
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        value = words[text.lower()]
        if type(value) in kinds or value in kinds:
            return value
    for kind in kinds:
        if text == kind:
            return text
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    expected = [getattr(kind, "__name__", str(kind)) for kind in kinds]
    shown = ", ".join("none" if kind == NoneType.__name__ else kind for kind in expected)
    raise ValueError(f"--set {name}={text}: expected {shown}")


def _parts(hint: Any) -> tuple[Any, ...]:
    """Take unions and literals apart."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return get_args(hint) or (hint,)
