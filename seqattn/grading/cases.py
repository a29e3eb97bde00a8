"""The cases on which an answer is tried: inputs, and what is right for them.

Hidden cases are drawn from a seed that nobody who answers knows: several of each kind that the bank
names, and variations of one of them, which show what an answer looks at, and what not. What is
shown to a learner is drawn by itself.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from seqattn.grading.bank import Question, Stage
from seqattn.grading.oracle import expected_output, upstream_for

__all__ = [
    "DIGITS",
    "DOUBLE",
    "FIRST",
    "MOST_SHOWN",
    "OTHERS",
    "Case",
    "Variation",
    "draw_cases",
    "hostile_pads",
    "shown_cases",
    "variations",
]

# Kinds of cases that are drawn for every function: see `variations`, and below it.
OTHERS = "other sentences behind the first"
FIRST = "another first sentence"
# Whether an answer computes in the precision of its inputs.
DOUBLE = "double precision"
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
    """

    stage: Stage
    inputs: tuple
    upstream: Any
    expected: Any
    kind: str = ""
    base: int = -1


def draw_cases(exercise: str, q: Question, seed: str, draws: int) -> list[Case]:
    """Draw the hidden cases of a question: the same ones from the same seed.

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
    cases = []
    for stage in q.stages:
        for kind in stage.kinds:
            # Evidence is one file, and a large one; programs are the same ones each time.
            for draw in range(1 if q.evidence or q.explain else draws):
                rng = _generator(f"{seed} {exercise} {q.id} {stage.name} {kind} {draw}")
                inputs = q.draw(rng, kind)
                upstream = upstream_for(q, inputs, rng) if stage.gradients else None
                cases.append(_case(q, stage, inputs, kind, upstream))
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
    return Case(stage, inputs, upstream, expected_output(q, inputs, upstream), kind, base)


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
    others = [q.draw(rng, cases[base].kind) for _ in range(8)]
    found = [
        _case(q, cases[base].stage, varied, kind, base=base)
        for kind, varied in variations(q, cases[base].inputs, others)
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
    double = tuple(_in_double(x, rng) for x in cases[0].inputs)
    if any(a is not b for a, b in zip(double, cases[0].inputs)):
        found.append(_case(q, last, double, DOUBLE))
    return found


def _in_double(value: Any, rng: np.random.Generator) -> Any:
    """Give an array of float32 in float64, with digits that float32 lacks; else the value."""
    if not (isinstance(value, np.ndarray) and value.dtype == np.float32):
        return value
    return value * (1 + 1e-6 * rng.random(value.shape))


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
    fresh = tuple(
        next((o[n] for o in others if not np.array_equal(o[n], old)), old)
        for n, old in enumerate(inputs)
    )
    found = []
    for place, name in enumerate(q.arguments[: len(inputs)]):
        old, new = inputs[place], fresh[place]
        if _shape(old) == _shape(new) and not np.array_equal(old, new):
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
