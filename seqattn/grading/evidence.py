"""The files that learners save in open experiments: read far from here, and checked before use."""

from typing import Any

import numpy as np

from seqattn.grading.bank import Question
from seqattn.grading.sandbox import wire
from seqattn.grading.sandbox.host import Sandbox, WorkerDiedError

__all__ = ["EvidenceError", "read_evidence"]

# Runs in the sandbox, since a file can be made to hurt whoever reads it. No pickles.
_READER = """
import io

def read(data):
    with np.load(io.BytesIO(data.numpy().tobytes()), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return {name: a for name, a in arrays.items() if a.dtype.kind in "bif"}
"""


class EvidenceError(Exception):
    """Why a file is no evidence, in a sentence for its author."""


def read_evidence(sandbox: Sandbox, q: Question, data: bytes | None) -> dict[str, np.ndarray]:
    """Read the arrays of an ``.npz`` file, and have the question look whether they will do.

    Raises
    ------
    EvidenceError
        If there is no file, or it is none, or its content cannot be what was asked for.
    """
    if data is None:
        raise EvidenceError(
            f"there is no {q.evidence} beside the notebook: save it as the question says, and hand "
            "in both files together"
        )
    job = {
        "prelude": "import numpy as np",
        "context": [],
        "probe": "",
        "answers": [{"id": "reader", "name": "read", "code": _READER}],
        "cases": [
            {"inputs": (np.frombuffer(data, np.uint8),), "upstream": None, "twice": False},
        ],
    }
    outcome = sandbox.run(job)
    if outcome.ending == "broken":
        raise WorkerDiedError
    arrays = _value(outcome.messages)
    if outcome.ending != "done" or not isinstance(arrays, dict):
        raise EvidenceError(f"{q.evidence} is no file of plain arrays: save it with np.savez")
    found = {n: a.astype(np.float64) for n, a in arrays.items() if isinstance(a, np.ndarray)}
    for name, array in found.items():
        if not np.isfinite(array).all():
            raise EvidenceError(f"{q.evidence}: {name} holds NaN or infinity")
    try:
        problem = q.inspect(found)
    except (KeyError, ValueError, IndexError, TypeError) as error:
        problem = f"its arrays do not fit one another ({type(error).__name__})"
    if problem:
        raise EvidenceError(f"{q.evidence}: {problem}")
    return found


def _value(messages: list[Any]) -> Any:
    for message in messages:
        result = message.get("result") if isinstance(message, dict) else None
        if isinstance(result, dict):
            value = result.get("value")
            return None if isinstance(value, wire.Other) else value
    return None
