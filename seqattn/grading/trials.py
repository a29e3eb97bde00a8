"""Try answers on cases: what the sandbox is asked, and what comes back, set beside the oracle.

Nothing that comes back is believed. The file that learners save in an open experiment is read over
there as well, and checked before use (:func:`read_evidence`).
"""

import inspect
import re
from collections.abc import Collection
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from seqattn.grading.bank import Exercise, Question
from seqattn.grading.cases import DOUBLE, Case
from seqattn.grading.checking import same_precision, tells_apart
from seqattn.grading.compare import (
    DifferenceKind,
    difference,
    exception_name,
    same,
    same_bytes,
    sizes_in,
)
from seqattn.grading.sandbox import wire
from seqattn.grading.sandbox.host import JobResult, Sandbox, WorkerDiedError

__all__ = [
    "Cases",
    "EvidenceError",
    "FaultKind",
    "Task",
    "alike",
    "by_answer",
    "fault",
    "job_of",
    "read_evidence",
]

FaultKind = DifferenceKind | Literal["error", "random", "calls", "reads", "changed", "gradient"]
# What visible checks call; the sandbox has no package to import it from.
HELPER = "from collections.abc import Callable\nfrom typing import Any\n"
HELPER += inspect.getsource(same_precision) + inspect.getsource(tells_apart)
# Words of what loads PyTorch's compiler, which no confined process can: optimisers, checkpointing,
# and some of torch.func.
_COMPILES = re.compile(r"optim|\bfunc\b|functorch|jacrev|jacfwd|hessian|checkpoint")


class Cases(list[Case]):
    """Cases in order, which are put into the sandbox's words once, however many answer them."""

    @cached_property
    def frame(self) -> bytes:
        """What the sandbox gets of them."""
        kinds = [case.kind for case in self]
        draws = [(case.stage.name, case.kind) for case in self]
        return wire.encode(
            [
                {
                    "inputs": case.inputs,
                    "upstream": case.upstream,
                    "twice": case.upstream is None,
                    "count": bool(case.stage.calls or case.stage.reads),
                    "reads": case.stage.reads,
                    # Looking at each operator takes three times as long: one case of each kind.
                    "watched": kinds.index(case.kind) == n,
                    # So does all that a probe can see: one case of each kind in a stage.
                    "wanted": None if draws.index(draws[n]) == n else case.stage.parts or None,
                }
                for n, case in enumerate(self)
            ]
        )


class Task(NamedTuple):
    """A question, the cases on which an answer to it is tried, and what else the answer uses.

    Attributes
    ----------
    exercise : Exercise
        Which one it belongs to.
    question : Question
        What was asked.
    context : list of str
        Statements of other cells that the answer takes for granted.
    cases : Cases
        On which it is tried.
    drawn : bool
        Whether these are the hidden cases that the judge's seed gives, alike for every answer; not
        so those of a learner's evidence.
    """

    exercise: Exercise
    question: Question
    context: list[str]
    cases: Cases
    drawn: bool = True


def job_of(task: Task, codes: dict[str, str], *, check: bool = False) -> dict[str, Any]:
    """Put a task and the answers to try, code by name, into the sandbox's words.

    With ``check`` the question's visible check is run on each answer as well.
    """
    q = task.question
    references = [task.exercise.question(used).right[0] for used in q.uses]
    if q.evidence:
        # An experiment may stand in the answer cell; what it saves was handed in already.
        references.append("np.savez = np.savez_compressed = lambda *a, **k: None")
    return {
        "prelude": "\n".join([task.exercise.prelude, *references]),
        "context": task.context,
        "probe": q.probe,
        "preload": ["torch._dynamo"] if _COMPILES.search("\n".join(codes.values())) else [],
        "forbidden": q.forbidden,
        "arguments": q.arguments,
        "check": [HELPER, task.exercise.setup, task.exercise.pristine[q.id].check] if check else [],
        "answers": [{"id": name, "name": q.entry, "code": code} for name, code in codes.items()],
        "cases": task.cases.frame,
    }


def by_answer(outcome: JobResult) -> dict[str, dict]:
    """Sort the sandbox's messages by answer, and each answer's by case; believe no form of them."""
    found: dict[str, dict] = {}
    for message in outcome.messages:
        if not isinstance(message, dict) or not isinstance(message.get("answer"), str):
            continue
        results = found.setdefault(message["answer"], {})
        if message.get("event") == "undefined":
            results["undefined"] = _error(message)
        elif message.get("event") == "check":
            results["check"] = _error(message)
        elif isinstance(message.get("case"), int):
            result = message.get("result")
            one = {"error": _error(message)} if not isinstance(result, dict) else {"result": result}
            results[message["case"]] = one
    return found


def _error(message: dict) -> dict:
    error = message.get("error")
    error = error if isinstance(error, dict) else {}
    line = error.get("line")
    return {
        "type": exception_name(str(error.get("type"))),
        "message": " ".join(str(error.get("message", "")).split())[:200],
        "line": line if isinstance(line, int) else 0,
    }


def fault(one: dict, case: Case) -> tuple[FaultKind, str] | None:
    """Say what is wrong with the outcome of a case: a kind and a text."""
    if "error" in one:
        return "error", f"{one['error']['type']}: {one['error']['message']}"
    result = one["result"]
    if case.upstream is not None:
        return _wrong_gradients(result.get("gradients"), case)
    value, expected = result.get("value"), case.expected
    if case.stage.parts and isinstance(value, dict):
        expected = {name: expected[name] for name in case.stage.parts}
    if "again" in result and not same(result["value"], result["again"]):
        return "random", "not deterministic: the same inputs gave another result the second time"
    dtype = "float64" if case.kind == DOUBLE else "float32"
    if difference(value, expected, tolerance=case.stage.tolerance, dtype=dtype):
        # Once more, for words in which sizes are named.
        sizes = frozenset(sizes_in(case.inputs))
        found = difference(
            value, expected, tolerance=case.stage.tolerance, sizes=sizes, dtype=dtype
        )
        assert found, "the same comparison differs again"
        return found.kind, found.text
    calls = result.get("calls")
    if case.stage.calls and isinstance(calls, int) and calls > case.stage.calls:
        return (
            "calls",
            f"your function calls PyTorch {calls} times, where one call on whole tensors does: "
            "write it without a loop",
        )
    read = result.get("read")
    if case.stage.reads and isinstance(read, int) and read > case.stage.reads:
        return (
            "reads",
            f"your function computes {read} numbers from its long inputs, where {case.stage.reads} "
            "are more than enough: choose the rows first",
        )
    if "inputs" in result and (changed := _changed(result["inputs"], case.inputs)):
        return (
            "changed",
            f"your function changes input {changed}: work on a copy, without methods like name_(), "
            "+= and x[...] =",
        )
    return None


def _wrong_gradients(gradients: Any, case: Case) -> tuple[FaultKind, str] | None:
    if not isinstance(gradients, dict):
        return "gradient", "no gradient reaches any argument: something on the way is detached"
    for name, expected in case.expected.items():
        got = gradients.get(name)
        if got is None and not expected.any():
            continue  # PyTorch gives none where nothing depends on it
        if got is None:
            return "gradient", f"no gradient reaches {name}: something on the way is detached"
        if isinstance(got, wire.Tensor) and got.array.shape == expected.shape:
            # Where there is no derivative any number will do, but a number.
            free = np.isnan(expected) & np.isfinite(got.array)
            expected = np.where(free, got.array, np.where(np.isnan(expected), 0.0, expected))
        if found := difference(got, expected, f"the gradient of {name}"):
            return found.kind if found.kind == "value" else "gradient", found.text
    return None


def _changed(after: Any, before: tuple) -> int:
    if isinstance(after, tuple | list) and len(after) == len(before):
        for number, (a, b) in enumerate(zip(after, before), start=1):
            if isinstance(b, np.ndarray):
                array = getattr(a, "array", None)
                if array is None or not (
                    same_bytes(array, b) or np.array_equal(array, b, equal_nan=True)
                ):
                    return number
    return 0


def alike(one: dict, other: dict, parts: Collection[str] | None = None) -> bool:
    """Tell whether two answers did the same with a case, or the same in some parts of a dict."""
    if "error" in one or "error" in other:
        return (
            "error" in one and "error" in other and one["error"]["type"] == other["error"]["type"]
        )
    a, b = one["result"], other["result"]
    if parts is not None and isinstance(a.get("value"), dict) and isinstance(b.get("value"), dict):
        return all(same(a["value"].get(name), b["value"].get(name)) for name in parts)
    # How often PyTorch was called, and for how much, is another question.
    aside = {"calls": 0, "read": 0}
    return same({**a, **aside}, {**b, **aside})


# --- the file of an open experiment ---------------------------------------------------------------

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
