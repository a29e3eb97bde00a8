"""The numbers in an output: what came back for a case and what is right, as arrays with names."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from seqattn.grading.bank import Question
from seqattn.grading.cases import Case
from seqattn.grading.sandbox import wire

__all__ = ["Got", "named_inputs", "numbers_in", "part_names", "right_numbers"]

# What came back, by number of case.
Got = Mapping[int, tuple[np.ndarray, ...]]


def numbers_in(result: dict, case: Case) -> tuple[np.ndarray, ...]:
    """Take the arrays of numbers that came back, and plain numbers as such."""
    value = result.get("result", {}).get("value")
    if isinstance(value, dict):
        values = [_row(value.get(name)) for name in _compared(case)]
    else:
        values = list(value) if type(value) in (tuple, list) else [value]
    found = [v.array if isinstance(v, wire.Tensor) else v for v in values]
    numeric = [np.asarray(v, np.float64) for v in found if _numeric(v)]
    return tuple(numeric) if len(numeric) == len(values) else ()


def _compared(case: Case) -> list[str]:
    """Name the entries of a result that are numbers; gradients are another matter."""
    if not isinstance(case.expected, dict):
        return []
    return [
        name
        for name in case.stage.parts or case.expected
        if _numeric(_row(case.expected[name])) and not name.startswith("gradient")
    ]


def _row(value: Any) -> Any:
    """Make an array of an entry that is a row of plain numbers, or a table of such rows."""
    if type(value) not in (tuple, list) or not value:
        return value
    if all(type(x) in (tuple, list) for x in value):
        rows = [_row(x) for x in value]
        table = all(isinstance(x, np.ndarray) and x.shape == rows[0].shape for x in rows)
        return np.stack(rows) if table else value
    plain = all(_numeric(x) for x in value)
    return np.array(value) if plain and not any(map(np.ndim, value)) else value


def _numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fbiu"
    return isinstance(value, int | float) and not isinstance(value, bool)


def right_numbers(case: Case) -> tuple[np.ndarray, ...]:
    """Take the numbers that are right; of a case about gradients, or of texts, none."""
    expected = case.expected if isinstance(case.expected, tuple) else (case.expected,)
    if isinstance(case.expected, dict):
        expected = tuple(_row(case.expected[name]) for name in _compared(case))
    if case.upstream is not None or not all(_numeric(e) for e in expected):
        return ()
    return tuple(np.asarray(e, np.float64) for e in expected)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def part_names(case: Case) -> list[str]:
    """Say what to call the parts of a result; of a single one nothing need be said."""
    if isinstance(case.expected, dict):
        whole = case._replace(stage=replace(case.stage, parts=()))
        return _compared(case) if len(_compared(whole)) > 1 else [""]
    names = [f"the {nth} result" for nth in _ORDINALS[: len(right_numbers(case))]]
    return names if len(names) > 1 else [""]


def named_inputs(q: Question, case: Case) -> dict[str, Any]:
    """Name the inputs of a case, if they are what the answer is called with."""
    if len(q.arguments) != len(case.inputs):
        return {}
    given, shown = dict(zip(q.arguments, case.inputs)), q.to_show(case.inputs)
    return given if all(shown.get(name) is x for name, x in given.items()) else {}
