"""A small input on which an answer goes wrong, with what came back and what is right.

It is drawn by itself, from a seed that everybody may know, so that it says nothing about the hidden
cases of a class.
"""

import numpy as np

from seqattn.grading.bank import Question
from seqattn.grading.oracle import expected_output
from seqattn.grading.outcomes import Case
from seqattn.grading.sandbox import wire

__all__ = ["shown_cases", "written"]

MOST_NUMBERS = 90


def shown_cases(q: Question) -> list[Case]:
    """Draw one case of each kind, the plainest first; none where inputs are more than arrays."""
    if not q.arguments or q.probe:
        return []
    cases = []
    for stage in q.stages:
        for kind in () if stage.gradients else stage.kinds:
            rng = np.random.default_rng(list(f"shown {q.id} {kind}".encode()))
            inputs = tuple(_rounded(x) for x in q.draw(rng, kind))
            if _size(inputs) <= MOST_NUMBERS:
                cases.append(Case(stage, inputs, None, expected_output(q, inputs, None), kind))
    # A single word or sentence shows little.
    return sorted(cases, key=lambda case: (case.kind.startswith("one "), _size(case.inputs)))


def _rounded(value: object) -> object:
    """Round to two decimals, so that what is printed is the input itself."""
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return np.round(value, 2)
    return value


def _size(inputs: tuple) -> int:
    return sum(np.size(x) for x in inputs)


def written(q: Question, case: Case, value: object) -> list[str]:
    """Write a case and what came back for it, a line or more for each array.

    Of results with more than one sentence the first that is wrong is written.
    """
    lines = [f"{name} = {_text(x)}" for name, x in zip(q.arguments, case.inputs)]
    which, right = "", case.expected
    if isinstance(value, wire.Tensor) and isinstance(right, np.ndarray) and right.ndim > 1:
        off = [n for n, (a, b) in enumerate(zip(value.array, right)) if not _alike(a, b)]
        if off and len(right) > 1:
            which = f" (sentence {off[0] + 1})"
            value, right = value._replace(array=value.array[off[0]]), right[off[0]]
    return [*lines, f"yours{which}: {_text(value)}", f"right{which}: {_text(right)}"]


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=1e-3, atol=2e-5))


def _text(value: object) -> str:
    if isinstance(value, tuple | list) and not isinstance(value, wire.Tensor | wire.Other):
        return "(" + ", ".join(map(_text, value)) + ")"
    array = value.array if isinstance(value, wire.Tensor) else value
    if not isinstance(array, np.ndarray):
        return str(array)[:80]
    if array.size > MOST_NUMBERS:
        return f"a tensor of shape {array.shape}"
    # Adding 0 turns -0 into 0; flags are easier to read as 1 and 0.
    shown = np.round(array.astype(np.float64), 2) + 0.0 if array.dtype.kind == "f" else array
    shown = shown.astype(int) if shown.dtype == bool else shown
    return np.array2string(shown, separator=", ", max_line_width=88, threshold=MOST_NUMBERS)
