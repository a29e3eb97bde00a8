"""Cases that differ from another in one thing: they show what an answer looks at, and what not.

Every question about a function gets them from its own inputs, so that no bank has to think of them:
each argument replaced, the other sentences of the batch replaced, and what stands at pads replaced
by something hostile.
"""

from typing import NamedTuple

import numpy as np

from seqattn.grading.bank import Question

__all__ = ["FIRST", "OTHERS", "Variation", "hostile_pads", "variations"]

OTHERS = "other sentences behind the first"
FIRST = "another first sentence"


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


def variations(q: Question, inputs: tuple, fresh: tuple) -> list[Variation]:
    """Vary a case: replace one argument at a time, all sentences but the first, and the first.

    Parameters
    ----------
    q : Question
        The question.
    inputs : tuple
        Of the case, whose batch size is the first size of its first array.
    fresh : tuple
        Other inputs of the same sizes.
    """
    found = []
    for place, name in enumerate(q.arguments[: len(inputs)]):
        old, new = inputs[place], fresh[place]
        if _shape(old) == _shape(new) and not np.array_equal(old, new):
            varied = (*inputs[:place], new, *inputs[place + 1 :])
            found.append(Variation(f"another {name}", varied))
    arrays = [x for x in inputs if isinstance(x, np.ndarray) and x.ndim]
    if arrays and (batch := len(arrays[0])) > 1 and len(found) == len(inputs):
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
