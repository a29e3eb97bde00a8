"""Jobs of the sandbox: answers to try on cases, and what comes back, sorted by answer.

Nothing that comes back is believed. The file that learners save in an open experiment is read over
there as well, and checked before use (:func:`read_evidence`).
"""

import inspect
import re
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from seqattn.grading.bank import Exercise, Question
from seqattn.grading.cases import Case
from seqattn.grading.checking import same_precision, tells_apart
from seqattn.grading.compare import exception_name
from seqattn.grading.sandbox import wire
from seqattn.grading.sandbox.host import JobResult, Sandbox

__all__ = [
    "Cases",
    "EvidenceError",
    "Task",
    "by_answer",
    "job_of",
    "read_evidence",
]

# What visible checks call; the sandbox has no package to import it from.
HELPER = "from collections.abc import Callable\nfrom typing import Any\n"
HELPER += inspect.getsource(same_precision) + inspect.getsource(tells_apart)
# Words of what loads PyTorch's compiler, which no confined process can: optimisers, checkpointing,
# and some of torch.func.
_COMPILES = re.compile(r"optim|\bfunc\b|functorch|jacrev|jacfwd|hessian|checkpoint")


class Cases(list[Case]):
    """Cases in order, which are put into the sandbox's words once, however many answer them."""

    @cached_property
    def calls(self) -> list[list[int]]:
        """The cases, by number, that each call of an answer serves: stages may share inputs."""
        found: dict[tuple, list[int]] = {}
        for n, case in enumerate(self):
            counted = (bool(case.stage.calls), case.stage.reads)
            found.setdefault((id(case.inputs), id(case.upstream), counted), []).append(n)
        return [*found.values()]

    @cached_property
    def frame(self) -> bytes:
        """What the sandbox gets of them: one entry for each call."""
        kinds = [case.kind for case in self]
        draws = [(case.stage.name, case.kind) for case in self]
        first = {draws.index(draw) for draw in draws}
        return wire.encode(
            [
                {
                    "inputs": case.inputs,
                    "upstream": case.upstream,
                    "twice": case.upstream is None,
                    "count": bool(case.stage.calls or case.stage.reads),
                    "reads": case.stage.reads,
                    # Looking at each operator takes three times as long: one case of each kind.
                    "watched": kinds.index(case.kind) == call[0],
                    # So does all that a probe can see: one case of each kind in a stage.
                    "wanted": None if first & {*call} else self._parts(call),
                }
                for call in self.calls
                for case in [self[call[0]]]
            ]
        )

    def _parts(self, call: list[int]) -> list[str] | None:
        """Name the entries of a result that count in any of these cases; None where all do."""
        parts = [self[n].stage.parts for n in call]
        return [*dict.fromkeys(chain(*parts))] if all(parts) else None


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
        # A gradient is asked for where there is a name.
        "arguments": ["" if name in q.dice else name for name in q.arguments],
        "check": [HELPER, task.exercise.setup, task.exercise.pristine[q.id].check] if check else [],
        "answers": [{"id": name, "name": q.entry, "code": code} for name, code in codes.items()],
        "cases": task.cases.frame,
    }


def by_answer(outcome: JobResult, cases: Cases) -> dict[str, dict]:
    """Sort the sandbox's messages by answer, and each answer's by case; believe no form of them."""
    calls = cases.calls
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
            if isinstance(message.get("form"), list):
                one["form"] = message["form"]
            call = message["case"]
            # The number of no call is kept as -1, so that the judge sees it.
            results |= dict.fromkeys(calls[call] if 0 <= call < len(calls) else [-1], one)
    return found


def _error(message: dict) -> dict:
    error = message.get("error")
    error = error if isinstance(error, dict) else {}
    line = error.get("line")
    said = " ".join(str(error.get("message", "")).split())
    if "modified by an inplace operation" in said:  # the rest names shapes and versions
        said = (
            "a tensor that the gradient still needs was changed in place, as x += y and x[i] = y "
            "do: make a new one, x = x + y"
        )
    return {
        "type": exception_name(str(error.get("type"))),
        "message": said[:200],
        "line": line if isinstance(line, int) else 0,
    }


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
    arrays = _value(outcome.messages)
    if outcome.ending != "done" or not isinstance(arrays, dict):
        raise EvidenceError(f"{q.evidence} is no file of plain arrays: save it with np.savez")
    found = {n: a.astype(np.float64) for n, a in arrays.items() if isinstance(a, np.ndarray)}
    for name, array in found.items():
        if not np.isfinite(array).all():
            raise EvidenceError(f"{q.evidence}: {name} holds NaN or infinity")
    try:
        problem = q.inspect(found)
    except KeyError as error:
        problem = f"it has no array {error}"
    except (ValueError, IndexError, TypeError) as error:
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
