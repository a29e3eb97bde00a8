"""Settings as plain values that check themselves: kinds, limits, and which option goes with which.

What an option may be stands in its annotation, once. Constructors, files of settings and ``--set``
all read it there.
"""

import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from difflib import get_close_matches
from functools import cache
from numbers import Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from seqattn.extras import require

__all__ = [
    "Limits",
    "Only",
    "Settings",
    "check_penalty",
    "check_whole",
    "expected",
    "is_number",
    "parse",
    "refuse_text",
]

Some = TypeVar("Some", bound="Settings")
once: Any = cache  # to mypy, classes are not hashable


@dataclass(frozen=True)
class Limits:
    """Limits of a number, as in ``Annotated[int, Limits(ge=1)]``.

    Attributes
    ----------
    ge, gt, lt : float, optional
        At least; above; at least ``ge`` and below ``lt``.
    """

    ge: float | None = None
    gt: float | None = None
    lt: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Give pydantic the limits; it asks by this name."""
        return handler(source) | {k: v for k, v in vars(self).items() if v is not None}

    def __str__(self) -> str:
        if self.gt is not None:
            return f" above {self.gt:g}"
        if self.lt is not None:
            return f" from {self.ge:g} to below {self.lt:g}"
        return f" of at least {self.ge:g}" if self.ge else ", 0 or more"


class Only:
    """What other options must be for this one to have an effect.

    Parameters
    ----------
    others : tuples of values
        By the name of the option, or of a property that ends in ``_used``: what the option comes to
        where it is left open.
    """

    def __init__(self, **others: tuple[Any, ...]):
        self.others = others

    def missed(self, settings: Any) -> str | None:
        """Say which other option stands in the way, or None."""
        for name, allowed in self.others.items():
            value = getattr(settings, name)
            if value not in allowed:
                shown = name.removesuffix("_used")
                return f"{shown}={value!r}; it is for {shown}={_either(allowed)}"
        return None


def check_whole(name: str, value: object, *, least: int | None = None) -> None:
    """Refuse what is no whole number, or below the least.

    Parameters
    ----------
    name : str
        Of the option, for the message.
    value : object
        Also a whole number of NumPy, or a tensor that holds one and has no dimensions.
    least : int, optional
        Smallest number that is taken.

    Raises
    ------
    ValueError
        That names the option, what it is, and what was expected.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    # True and tensor(True) would count as 1, and tensor([2]) as 2.
    truth = isinstance(value, bool) or "bool" in str(getattr(value, "dtype", ""))
    several = getattr(value, "ndim", False)
    if number is None or truth or several:
        raise ValueError(f"{name} is {value!r}; expected a whole number")
    if least is not None and number < least:
        raise ValueError(f"{name} is {number}; expected at least {least}")


def is_number(value: object) -> bool:
    """Say whether a value is a real number of Python or NumPy; True, False and tensors are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def refuse_text(name: str, value: object, wanted: str) -> None:
    """Refuse one string, with a TypeError, where several are due: its letters would do for them."""
    if isinstance(value, str):
        shown = value if len(value) <= 40 else f"{value[:37]}..."
        raise TypeError(f"{name} is one string, {shown!r}; expected {wanted}")


def check_penalty(name: str, value: Any) -> None:
    """Refuse, with a ValueError, what cannot be the strength of a penalty."""
    if not is_number(value) or not 0 <= value < math.inf:
        raise ValueError(f"{name} is {value!r}; expected 0 or more, and finite: a number")


class Settings:
    """What frozen dataclasses of settings have in common.

    Raises
    ------
    TypeError
        If an option is unknown, or was renamed.
    ValueError
        If a value is of the wrong kind or out of its limits, or would have no effect.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {}
    """Options that were called otherwise: the new name of each."""

    def __new__(cls: type[Some], *values: Any, **named: Any) -> Some:
        """Refuse names that are none, with those that are."""
        for name in named:
            if name not in cls.names():
                raise TypeError(f"{cls.__name__}: {cls.unknown(name)}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for option in _options(type(self)):
            value = getattr(self, option.name)
            if isinstance(value, np.generic):  # as sweeps give them; they must be stored as JSON
                value = value.item()
                object.__setattr__(self, option.name, value)
            if not _suits(type(self), option.name, value):
                wanted = expected(type(self), option.name)
                raise ValueError(f"{option.name} is {value!r}; expected {wanted}")
        for option, reason in self._idle():
            raise ValueError(
                f"{option.name}={getattr(self, option.name)!r} has no effect with {reason} "
                f"(leave {option.name} out, or at {option.default!r})"
            )

    @classmethod
    def names(cls) -> list[str]:
        """List the options."""
        return [option.name for option in _options(cls)]

    @classmethod
    def unknown(cls, name: str) -> str:
        """Say that there is no option of this name, and which may be meant."""
        if name in cls.RENAMED:
            return f"{name} is called {cls.RENAMED[name]} now"
        close = get_close_matches(name, cls.names())
        meant = f"did you mean {_either(close)}?" if close else f"expected {_either(cls.names())}"
        return f"no option {name!r}; {meant}"

    @classmethod
    def from_stored(cls: type[Some], values: Mapping[str, Any]) -> Some:
        """Come back from ``dataclasses.asdict``, or from what an earlier version stored so.

        Options have their names of today, and those without effect, which were once let through,
        their defaults.
        """
        current = {cls.RENAMED.get(name, name): value for name, value in values.items()}
        return cls(**cls._settle(current, named=()))

    def changed(self: Some, **changes: Any) -> Some:
        """Give a copy with changes; what then has no effect goes back to its default.

        Where ``dataclasses.replace`` refuses: ``changed(architecture="transformer")`` drops the
        cell, and ``changed(architecture="transformer", cell="lstm")`` is refused all the same.
        """
        for name in changes:
            if name not in self.names():
                raise TypeError(f"{type(self).__name__}: {self.unknown(name)}")
        return type(self)(**self._settle({**vars(self), **changes}, named=changes))

    @classmethod
    def _settle(cls, values: Mapping[str, Any], named: Any) -> dict[str, Any]:
        """Put options without effect back to their defaults, but for those that were named."""
        draft = object.__new__(cls)
        values = dict(values)
        while True:
            for option in _options(cls):
                default = None if option.default is MISSING else option.default
                object.__setattr__(draft, option.name, values.get(option.name, default))
            idle = [option.name for option, _ in draft._idle() if option.name not in named]
            if not idle:
                return values
            for name in idle:
                del values[name]

    def _idle(self) -> Iterator[tuple[Field, str]]:
        """Find options that differ from their defaults to no effect, and say why."""
        for option in _options(type(self)):
            if getattr(self, option.name) == option.default:
                continue
            for only in _marks(_hints(type(self))[option.name], Only):
                reason = only.missed(self)
                if reason is not None:
                    yield option, reason
                    break


def expected(cls: type[Settings], name: str) -> str:
    """Say in words what an option may be.

    Examples
    --------
    >>> from seqattn.models import ModelConfig
    >>> expected(ModelConfig, "cell"), expected(ModelConfig, "d_attn")
    ("'gru' or 'lstm'", 'a whole number of at least 1, or None')
    """
    return _in_words(_hints(cls)[name])


def parse(cls: type[Settings], name: str, text: str) -> Any:
    """Read an option's value from text: "none" is None; "true" and "false" are truth values.

    Raises
    ------
    ValueError
        If the text is none of its values.

    Examples
    --------
    >>> from seqattn.models import ModelConfig
    >>> parse(ModelConfig, "d_attn", "64"), parse(ModelConfig, "score", "none")
    (64, None)
    """
    words = {"none": None, "true": True, "false": False}
    wrong = ValueError(f"{name}={text}: expected {expected(cls, name)}")
    if text.lower() in words:
        value: Any = words[text.lower()]
        if _suits(cls, name, value):
            return value
        value = text  # "none" may be the name of a choice
        if not _suits(cls, name, value):
            raise wrong
        return value
    try:
        value = _reader(cls, name).validate_python(text, strict=False)
    except ValueError:  # pydantic's errors are such
        raise wrong from None
    if isinstance(value, bool):  # of "1" and "yes": ours are "true" and "false"
        raise wrong
    return value


def _suits(cls: type[Settings], name: str, value: Any) -> bool:
    hint = _hints(cls)[name]
    if isinstance(hint, type) and issubclass(hint, Settings):
        return isinstance(value, hint)
    try:
        _reader(cls, name).validate_python(value)
    except ValueError:
        return False
    return True


@once
def _reader(cls: type[Settings], name: str) -> Any:
    # Asked for when the first settings are made: importing seqattn needs no extra.
    pydantic = require("pydantic", "checking settings", "nmt")
    strict = pydantic.ConfigDict(strict=True, allow_inf_nan=False)
    return pydantic.TypeAdapter(_hints(cls)[name], config=strict)


@once
def _hints(cls: type[Settings]) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


@once
def _options(cls: type[Settings]) -> tuple[Field, ...]:
    return fields(cls)  # type: ignore[arg-type]


def _marks(hint: Any, kind: type) -> list[Any]:
    return [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, kind)]


def _in_words(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        return _in_words(get_args(hint)[0]) + "".join(map(str, _marks(hint, Limits)))
    if get_origin(hint) is Literal:
        return _either(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        parts = [_in_words(part) for part in get_args(hint) if part is not NoneType]
        return (
            f"{' or '.join(parts)}, or None" if NoneType in get_args(hint) else " or ".join(parts)
        )
    names = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def _either(values: Any) -> str:
    *most, last = map(repr, values)
    return f"{', '.join(most)} or {last}" if most else last
