"""An example for the learner: an input on which an answer is wrong, written out."""

import numpy as np

from seqattn.grading.bank import Question
from seqattn.grading.cases import DIGITS, MOST_SHOWN, Case
from seqattn.grading.compare import close, difference
from seqattn.grading.outputs import part_names
from seqattn.grading.sandbox import wire

__all__ = ["written"]


def written(q: Question, case: Case, value: object) -> list[str]:
    """Write a case and what came back for it, a line or more for each array.

    Of results with more than one sentence the first that is wrong is written, and of those with
    several entries the first one. There is nothing to write where a text is wrong.
    """
    lines = [f"{name} = {_text(x)}" for name, x in q.to_show(case.inputs).items()]
    which, right = "", case.expected
    if isinstance(right, dict) and isinstance(value, dict):
        names = case.stage.parts or tuple(right)
        tolerance = case.stage.tolerance
        off = [n for n in names if difference(value.get(n), right[n], tolerance=tolerance)]
        # By its name, unless it is the only entry with numbers.
        which = f", {off[0]}" if len(names) > 1 or part_names(case) != [""] else ""
        value, right = value.get(off[0]), right[off[0]]
    if isinstance(right, str):
        return []  # a property of the code, whatever its inputs
    if isinstance(value, wire.Tensor) and isinstance(right, np.ndarray) and right.ndim > 1:
        apart = [n for n, (a, b) in enumerate(zip(value.array, right)) if not close(a, b)]
        if apart and len(right) > 1:
            which += f" (sentence {apart[0] + 1})"
            value, right = value._replace(array=value.array[apart[0]]), right[apart[0]]
    return [*lines, f"yours{which}: {_text(value)}", f"right{which}: {_text(right)}"]


def _text(value: object) -> str:
    if isinstance(value, tuple | list) and not isinstance(value, wire.Tensor | wire.Other):
        return "(" + ", ".join(map(_text, value)) + ")"
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    array = value.array if isinstance(value, wire.Tensor) else value
    if not isinstance(array, np.ndarray):
        return str(array)[:80]
    if array.size > MOST_SHOWN:
        return f"a tensor of shape {array.shape}"
    # Adding 0 turns -0 into 0; flags are easier to read as 1 and 0.
    shown = np.round(array.astype(np.float64), 2) + 0.0 if array.dtype.kind == "f" else array
    shown = shown.astype(int) if shown.dtype == bool else shown
    return np.array2string(shown, separator=", ", max_line_width=88, threshold=MOST_SHOWN)
