"""``--set NAME=VALUE``: any field of the model's and the training's settings."""

from collections.abc import Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar, get_type_hints

from seqattn.training.presets import kinds_of, name_kinds

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
            raise ValueError(f"--set {text}: {_expect(name, configs)}")
        hint = get_type_hints(type(configs[places[0]]))[name]
        changes[places[0]][name] = _read(name, value, hint)
    return tuple(replace(config, **change) for config, change in zip(configs, changes))


def _expect(name: str, configs: Sequence[Any]) -> str:
    """Name the fields that are most like what came; in all there are dozens."""
    known = [field for config in configs for field in _names(config)]
    close = " or ".join(f"{field}=..." for field in get_close_matches(name, known))
    return (
        f"expected NAME=VALUE; {f'did you mean {close}? ' if close else ''}"
        f"NAME is one of {', '.join(known[:3])} and {len(known) - 3} more, which stand in the "
        "config.json of a run under model and training"
    )


def _names(config: Any) -> list[str]:
    return [field.name for field in fields(config)]


def _read(name: str, text: str, hint: Any) -> Any:
    """Read a value of a type such as int, float | None or Literal["gru", "lstm"]."""
    kinds = kinds_of(hint)
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
    raise ValueError(f"--set {name}={text}: expected {name_kinds(kinds)}")
