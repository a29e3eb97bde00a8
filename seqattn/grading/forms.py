"""Say how the form of what an answer returned differs from the form that is asked for.

Where a probe stands between an answer and its judge, what comes back is the probe's: of a result
that the probe could not take apart, an exception or a text. So the sandbox notes the form of what
the function itself returned, and here it is set beside that of a right answer. Nothing is said of
values: forms are types, counts, and the names of entries.

A form is a list that begins with its name: ``["None"]``, ``["dict", {name: form}]``,
``["list", count, forms]``, ``["tensor", shape]``, or the name alone.
"""

from collections.abc import Collection
from typing import Any

from seqattn.grading.compare import type_name, visible_shape

__all__ = ["misfit", "same_form"]

_ROWS = ("list", "tuple")
_ARRAYS = ("tensor", "array")


def misfit(got: Any, asked: Any, code: str, sizes: Collection[int] = ()) -> str:
    """Say in a sentence how a form differs from the one that is asked for; "" if it does not.

    Parameters
    ----------
    got, asked : object
        What the answer's function returned, as the sandbox noted it, and what a right one did.
    code : str
        The answer: an entry that is not asked for is named only if its name stands there.
    sizes : collection of int
        Sizes of the case, which may be named.
    """
    if not (_is_form(got) and _is_form(asked)):
        return ""
    if got[0] == "None" != asked[0]:
        return "Your function returned None: is a `return` missing?"
    return _differs(got, asked, "", code, {*sizes})


def same_form(one: Any, other: Any) -> bool:
    """Tell whether two forms are the same, whether in a list or a tuple."""
    if not (_is_form(one) and _is_form(other)):
        return one == other
    if one[0] in _ROWS and other[0] in _ROWS:
        return one[1] == other[1] and all(map(same_form, one[2], other[2]))
    if one[0] == other[0] == "dict":
        return one[1].keys() == other[1].keys() and all(
            same_form(form, other[1][name]) for name, form in one[1].items()
        )
    return bool(one == other)


def _is_form(form: Any) -> bool:
    """Tell a form from anything else: what comes from the sandbox is not believed."""
    if not (isinstance(form, list) and form and isinstance(form[0], str)):
        return False
    kind, *rest = form
    if kind == "dict":
        return len(rest) == 1 and isinstance(rest[0], dict)
    if kind in _ROWS:
        return len(rest) == 2 and isinstance(rest[0], int) and isinstance(rest[1], list)
    if kind in _ARRAYS:
        sizes = rest[0] if len(rest) == 1 else None
        return isinstance(sizes, list | tuple) and all(type(size) is int for size in sizes)
    return not rest


def _differs(got: Any, asked: Any, where: str, code: str, sizes: set[int]) -> str:
    if not (_is_form(got) and _is_form(asked)) or asked[0] == "None":
        return ""
    if asked[0] == "dict":
        return _dicts(got, asked, where, code, sizes)
    if asked[0] in _ROWS:
        return _rows(got, asked, where, code, sizes)
    if got[0] == "None":  # inside of a result it may be a value
        return ""
    it = where or "your result"
    if got[0] in ("dict", *_ROWS):
        return _sentence(f"{it} is {_kind(got, sizes)}; expected {_kind(asked, sizes)}")
    one, other = (form[1] if form[0] in _ARRAYS else [] for form in (got, asked))
    numbers = {got[0], asked[0]} <= {*_ARRAYS, "number"}
    if numbers and [*one] != [*other]:
        shapes = [visible_shape(shape, sizes | {*other}) for shape in (one, other)]
        return _sentence(f"{it} has shape {shapes[0]}; expected {shapes[1]}")
    if {got[0], asked[0]} in ({"number", "text"}, {"tensor", "text"}):
        return _sentence(f"{it} is {_kind(got, sizes)}; expected {_kind(asked, sizes)}")
    return ""


def _dicts(got: Any, asked: Any, where: str, code: str, sizes: set[int]) -> str:
    it = where or "your result"
    listed = _listed([*asked[1]])
    if got[0] != "dict":
        return _sentence(f"{it} is {_kind(got, sizes)}; expected a dict with {listed}")
    if missing := [name for name in asked[1] if name not in got[1]]:
        verb = "has no entry" if len(missing) == 1 else "lacks the entries"
        return _sentence(f"{it} {verb} {_listed(missing)}; expected a dict with {listed}")
    if more := [str(name) for name in got[1] if name not in asked[1]]:
        named = _listed([name for name in more if name.isidentifier() and name in code])
        called = f": {named}" if named else ""
        text = f"{it} has {_count(len(more), 'entry', 'entries')} too many{called}"
        return _sentence(f"{text}; expected a dict with {listed}")
    for name, form in asked[1].items():
        if text := _differs(got[1][name], form, f"the entry {name}", code, sizes):
            return text
    return ""


def _rows(got: Any, asked: Any, where: str, code: str, sizes: set[int]) -> str:
    count = asked[1]
    if got[0] in _ARRAYS:
        # As many numbers as are asked for say the same, whatever they stand in.
        plain = not any(form[0] in _ARRAYS for form in asked[2])
        if plain and [*got[1][:1]] == [count]:
            return ""
    if got[0] not in _ROWS:
        if where:
            right = f"{_things(count)} in a row" if count else "an empty list"
            return _sentence(f"{where} is {_kind(got, sizes)}; expected {right}")
        return f"Expected {_count(count, 'result', 'results')}, got {_kind(got, sizes)}."
    if got[1] != count:
        if where:
            return _sentence(f"{where} holds {_things(got[1])}; expected {count}")
        return f"Expected {_count(count, 'result', 'results')}, got {got[1]}."
    for n, (one, other) in enumerate(zip(got[2], asked[2]), start=1):
        inside = f"part {n} of {where}" if where else f"result {n}"
        if text := _differs(one, other, inside, code, sizes):
            return text
    return ""


def _kind(form: Any, sizes: set[int]) -> str:
    kind = form[0]
    if kind in _ARRAYS:
        named = "a tensor" if kind == "tensor" else "a NumPy array"
        return f"{named} of shape {visible_shape(form[1], sizes)}"
    if kind in _ROWS:
        return f"a {kind} of {_things(form[1])}"
    if kind in ("dict", "number", "text"):
        return f"a {kind}"
    return "None" if kind == "None" else f"of type {type_name(kind)}"


def _things(count: int) -> str:
    return _count(count, "thing", "things")


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _listed(names: list[str]) -> str:
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
