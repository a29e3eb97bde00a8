"""``--set NAME=VALUE``: any field of the model's and the training's settings."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from seqattn.settings import Settings, parse

__all__ = ["apply_settings"]


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
