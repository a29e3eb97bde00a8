"""The cases on which an answer is tried: inputs, what the oracle says is right, and its numbers.

Hidden cases are drawn from a seed that nobody who answers knows: several of each kind that the bank
names, and variations of one of them, which show what an answer looks at, and what not. What is
shown to a learner is drawn by itself. What is right for a case comes from the question's oracle, in
float64 (:func:`expected_output`). What many answers are tried on together is a
:class:`~seqattn.grading.jobs.Cases`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from seqattn.grading.bank import Question, Stage
from seqattn.grading.drawing import central_differences
from seqattn.grading.sandbox import wire

__all__ = [
    "DIGITS",
    "DOUBLE",
    "FIRST",
    "MOST_SHOWN",
    "OTHERS",
    "Case",
    "Got",
    "Variation",
    "draw_cases",
    "expected_output",
    "hostile_pads",
    "named_inputs",
    "numbers_in",
    "part_names",
    "right_numbers",
    "shown_cases",
    "upstream_for",
    "variations",
]

# Kinds of cases that are drawn for every function: see `variations`, and below it.
OTHERS = "other sentences behind the first"
FIRST = "another first sentence"
# Whether an answer computes in the precision of its inputs.
DOUBLE = "double precision"
MOST_TRIES = 50  # until a variation asks for something that rounding does not decide
# Of numbers, in a case that is shown; and how many digits a single one has.
MOST_SHOWN = 90
DIGITS = 4


class Case(NamedTuple):
    """Inputs and what is right for them.

    Attributes
    ----------
    stage : Stage
        Whose points depend on it.
    inputs : tuple
        Of the answer.
    upstream : tuple of ndarray, or None
        Weights of the outputs, where gradients are asked for.
    expected : object
        From the oracle.
    kind : str
        What sort of case it is, in the bank's words or in those of a :class:`Variation`.
    base : int
        Of variations: the number of the case that was varied; -1 for others.
    shares : dict of str to ndarray
        Where gradients are asked for: the arguments whose rows sum to 1, by name; NaN at pads.
    """

    stage: Stage
    inputs: tuple
    upstream: Any
    expected: Any
    kind: str = ""
    base: int = -1
    shares: Mapping[str, np.ndarray] = MappingProxyType({})


def draw_cases(exercise: str, q: Question, seed: str, draws: int) -> list[Case]:
    """Draw the hidden cases of a question: the same ones from the same seed.

    Stages that name the same kind of case get the same inputs, except that those that ask for
    gradients get others, the same among themselves. One call serves all that count the same.

    Parameters
    ----------
    exercise : str
        Its name.
    q : Question
        The question.
    seed : str
        Of the grading.
    draws : int
        How many cases of each kind.
    """
    drawn: dict[tuple[str, int, bool], Case] = {}
    cases = []
    for stage in q.stages:
        for kind in stage.kinds:
            # Evidence is one file, and a large one; programs are the same ones each time.
            for draw in range(1 if q.evidence or q.asks_for_a_test else draws):
                which = (kind, draw, stage.gradients)
                if which not in drawn:
                    rng = _generator(f"{seed} {exercise} {q.id} {stage.name} {kind} {draw}")
                    inputs = q.draw(rng, kind)
                    upstream = upstream_for(q, inputs, rng) if stage.gradients else None
                    drawn[which] = _case(q, stage, inputs, kind, upstream)
                cases.append(drawn[which]._replace(stage=stage))
    return cases + _varied_cases(q, cases, _generator(f"{seed} {exercise} {q.id} vary"))


def shown_cases(q: Question) -> list[Case]:
    """Draw what may be shown: one small case of each kind, the plainest first.

    They come from a seed that everybody may know, so that they say nothing about the hidden cases
    of a class. Where pads may hold anything, one case has NaN there.
    """
    if q.evidence:
        return []
    cases = []
    for stage in q.stages:
        for kind in () if stage.gradients else stage.kinds:
            rng = _generator(f"shown {q.id} {kind}")
            inputs = tuple(_rounded(x) for x in q.draw(rng, kind))
            if q.undecided and q.undecided(*inputs):
                continue
            cases.append((stage, inputs, kind))
            hostile = hostile_pads(inputs, np.nan) if kind == "padded" and not q.probe else None
            if hostile and any(np.isnan(q.pads)):
                cases.append((stage, hostile, "pads that hold nan"))

    def numbers(inputs: tuple) -> int:
        return _size(tuple(q.to_show(inputs).values()))

    # A single word or sentence shows little, and NaN is to be seen where nothing else goes wrong.
    cases.sort(key=lambda case: (case[2].startswith(("one ", "pads ")), numbers(case[1])))
    return [
        _case(q, stage, inputs, kind)
        for stage, inputs, kind in cases
        if 0 < numbers(inputs) <= MOST_SHOWN
    ]


def _generator(key: str) -> np.random.Generator:
    return np.random.default_rng(list(key.encode()))


def _case(
    q: Question, stage: Stage, inputs: tuple, kind: str, upstream: Any = None, base: int = -1
) -> Case:
    expected = expected_output(q, inputs, upstream)
    given = dict(zip(q.arguments, inputs))
    shares = {} if upstream is None else {name: _shares(given[name], inputs) for name in q.shares}
    return Case(stage, inputs, upstream, expected, kind, base, shares)


def _shares(weights: np.ndarray, inputs: tuple) -> np.ndarray:
    """Give weights as they are, NaN where a mask of their shape says that there are none."""
    for mask in inputs:
        if _is_mask(mask) and mask.shape == weights.shape:
            weights = np.where(mask, weights, np.nan)
    return weights


def _rounded(value: object) -> object:
    """Round arrays to two decimals, so that what is printed is the input itself."""
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return np.round(value, 2)
    if isinstance(value, tuple | list):
        return type(value)(_rounded(x) for x in value)
    if isinstance(value, dict):
        return {name: _rounded(x) for name, x in value.items()}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _size(value: Any) -> int:
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return np.size(value)


# --- cases that differ from another in one thing --------------------------------------------------


def _varied_cases(q: Question, cases: list[Case], rng: np.random.Generator) -> list[Case]:
    """Draw what every function is tried on besides, from its own inputs.

    No bank has to think of them: each argument replaced, the other sentences of the batch replaced,
    what stands at pads replaced by something hostile, and all in double precision.
    """
    if not q.arguments or q.probe:
        return []
    formula = q.stages[0]
    # A mask varies where something is padded.
    plain = [n for n, one in enumerate(cases) if one.upstream is None]
    base = next((n for n in plain if cases[n].kind == "padded"), plain[0])
    last = next((s for s in q.stages if s.gradients), formula)
    found = [
        _case(q, cases[base].stage, varied, kind, base=base)
        for kind, varied in _decided(q, cases[base], rng)
    ]
    padded = next(
        (s for s in reversed(q.stages) if "padded" in s.kinds and not s.gradients), formula
    )
    for value in q.pads if "padded" in padded.kinds else ():
        if (inputs := hostile_pads(q.draw(rng, "padded"), value)) is None:
            continue
        kind = f"pads that hold {value:g}"
        found.append(_case(q, padded, inputs, kind))
        if last.gradients and not np.isfinite(value):
            # On the way back 0 times NaN is NaN as well, and so is 0 times infinity.
            found.append(_case(q, last, inputs, kind, upstream_for(q, inputs, rng)))
    # Precision belongs to what gradients belong to: the values are right without it.
    double = tuple(
        _in_double(x, rng, rows=name in q.shares)
        for name, x in zip(q.arguments, cases[0].inputs, strict=True)
    )
    if any(a is not b for a, b in zip(double, cases[0].inputs)):
        found.append(_case(q, last, double, DOUBLE))
    # Each argument again, in other cases: one change may leave a result as it is by chance, and
    # flags more easily than numbers.
    alike = [n for n in plain if cases[n].stage is cases[base].stage and n != base]
    alike.sort(key=lambda n: (cases[n].kind == cases[base].kind, n), reverse=True)
    expected = cases[base].expected
    flags = isinstance(expected, np.ndarray) and expected.dtype.kind == "b"
    found += [
        _case(q, cases[further].stage, varied, kind, base=further)
        for further in alike[: 4 if flags else 1]
        for kind, varied in _decided(q, cases[further], rng)
        if kind not in (OTHERS, FIRST)
    ]
    return found


def _in_double(value: Any, rng: np.random.Generator, *, rows: bool) -> Any:
    """Give an array of float32 in float64, with digits that float32 lacks; else the value.

    With ``rows``, those that sum to 1 still do.
    """
    if not (isinstance(value, np.ndarray) and value.dtype == np.float32):
        return value
    double = value * (1 + 1e-6 * rng.random(value.shape))
    if not rows:
        return double
    sums = double.sum(-1, keepdims=True)
    return double / np.where(abs(sums - 1) < 1e-3, sums, 1)


class Variation(NamedTuple):
    """Inputs that differ from a case's in one thing.

    Attributes
    ----------
    kind : str
        ``"another "`` and the name of an argument, :data:`OTHERS` or :data:`FIRST`.
    inputs : tuple
        Of the answer.
    """

    kind: str
    inputs: tuple


def variations(q: Question, inputs: tuple, others: Sequence[tuple]) -> list[Variation]:
    """Vary a case: replace one argument at a time, all sentences but the first, and the first.

    Parameters
    ----------
    q : Question
        The question.
    inputs : tuple
        Of the case, whose batch size is the first size of its first array.
    others : sequence of tuple
        Other inputs of the same sizes: several, since a number may be drawn twice.
    """
    # What belongs together comes from one draw.
    fresh = others[0]
    if not q.shares:
        fresh = tuple(
            next((o[n] for o in others if not np.array_equal(o[n], old)), old)
            for n, old in enumerate(inputs)
        )
    found = []
    for place, name in enumerate(q.arguments[: len(inputs)]):
        old, new = inputs[place], fresh[place]
        # A mask says which rows sum to 1, so it belongs to them.
        belongs = name in q.shares or (q.shares and _is_mask(old))
        if _shape(old) == _shape(new) and not np.array_equal(old, new) and not belongs:
            varied = (*inputs[:place], new, *inputs[place + 1 :])
            found.append(Variation(f"another {name}", varied))
    arrays = [x for x in inputs if isinstance(x, np.ndarray) and x.ndim]
    if arrays and (batch := len(arrays[0])) > 1:
        for kind, first, rest in ((OTHERS, inputs, fresh), (FIRST, fresh, inputs)):
            varied = tuple(
                np.concatenate([a[:1], b[1:]]) if _length(a) == _length(b) == batch else old
                for a, b, old in zip(first, rest, inputs)
            )
            found.append(Variation(kind, varied))
    return found


def _decided(q: Question, case: Case, rng: np.random.Generator) -> list[Variation]:
    """Vary a case, drawing again what rounding would decide."""
    found: dict[str, Variation] = {}
    wanted: dict[str, Variation] = {}
    for _ in range(MOST_TRIES):
        others = [q.draw(rng, case.kind) for _ in range(8)]
        wanted = wanted or {one.kind: one for one in variations(q, case.inputs, others)}
        for one in variations(q, case.inputs, others):
            if not (q.undecided and q.undecided(*one.inputs)):
                found.setdefault(one.kind, one)
        if found.keys() >= wanted.keys():
            break
    return [found[kind] for kind in wanted if kind in found]


def _is_mask(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == bool


def _length(value: object) -> int:
    return len(value) if isinstance(value, np.ndarray) and value.ndim else 0


def _shape(value: object) -> tuple[int, ...] | None:
    return value.shape if isinstance(value, np.ndarray) else None


def hostile_pads(inputs: tuple, value: float) -> tuple | None:
    """Put a number wherever a padding mask (batch, keys) says that there is none.

    Returns
    -------
    tuple or None
        None where there is no such mask, or nothing to put it into.
    """
    masks = [x for x in inputs if isinstance(x, np.ndarray) and x.dtype == bool and x.ndim == 2]
    if not masks:
        return None
    pads, found, put = ~masks[0], [], False
    for x in inputs:
        if isinstance(x, np.ndarray) and x.dtype == np.float32 and x.ndim >= 2:
            x = x.copy()
            if x.shape[:2] == pads.shape:
                x[pads], put = value, True
            elif (len(x), x.shape[-1]) == pads.shape:
                for row, hidden in zip(x, pads):
                    row[..., hidden] = value
                put = True
        found.append(x)
    return tuple(found) if put and pads.any() else None


# --- what is right for a case ---------------------------------------------------------------------


def expected_output(q: Question, inputs: tuple, upstream: Any) -> Any:
    """Compute what is right for a case.

    Parameters
    ----------
    q : Question
        The question.
    inputs : tuple
        Of the case, in float32.
    upstream : tuple of ndarray, or None
        Weights of the outputs whose gradients are asked for.

    Returns
    -------
    object
        The oracle's output, or the gradients by the floating-point inputs: a dict of the names of
        the arguments.
    """
    exact = [_exact(x) for x in inputs]
    # What pads hold may be infinite: no news.
    with np.errstate(all="ignore"):
        return q.oracle(*exact) if upstream is None else _gradients(q, exact, upstream)


def _gradients(q: Question, exact: list, upstream: Any) -> dict[str, np.ndarray]:
    def total() -> float:
        outputs = _arrays(q.oracle(*exact))
        return sum(float((o[w != 0] * w[w != 0]).sum()) for o, w in zip(outputs, upstream))

    # The inputs are moved where they lie, so the argument that is moved need not be named.
    return {
        name: central_differences(lambda _: total(), x)
        for name, x in zip(q.arguments, exact)
        if isinstance(x, np.ndarray) and x.dtype == np.float64 and name not in q.dice
    }


def upstream_for(q: Question, inputs: tuple, rng: np.random.Generator) -> tuple:
    """Draw a weight for each number that the oracle gives; 0 for what is not finite."""
    with np.errstate(all="ignore"):
        outputs = _arrays(q.oracle(*[_exact(x) for x in inputs]))
    weights = (rng.normal(size=o.shape) for o in outputs)
    return tuple(
        np.where(np.isfinite(o), w, 0).astype(np.float32) for o, w in zip(outputs, weights)
    )


def _exact(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if value.dtype == np.float32 else value.copy()
    if isinstance(value, dict):
        return {name: _exact(v) for name, v in value.items()}
    return tuple(map(_exact, value)) if isinstance(value, tuple) else value


def _arrays(value: Any) -> list[np.ndarray]:
    return [value] if isinstance(value, np.ndarray) else [a for v in value for a in _arrays(v)]


# --- the numbers in what came back, and in what is right ------------------------------------------

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
