"""What the sandbox is asked to do: a question, its cases, and the answers to try on them."""

import inspect
from typing import Any, NamedTuple

from seqattn.grading.bank import Exercise, Question
from seqattn.grading.checking import same_precision
from seqattn.grading.outcomes import Case

__all__ = ["Task", "job_of"]


# What visible checks call; the sandbox has no package to import it from.
HELPER = "from typing import Any\n" + inspect.getsource(same_precision)


class Task(NamedTuple):
    """A question, the cases on which an answer to it is tried, and what else the answer uses."""

    exercise: Exercise
    question: Question
    context: list[str]
    cases: list[Case]


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
        # An optimiser loads PyTorch's compiler, which no confined process can.
        "preload": ["torch._dynamo"] if any("optim" in x for x in codes.values()) else [],
        "refused": q.forbidden,
        "arguments": q.arguments,
        "check": [HELPER, task.exercise.setup, task.exercise.pristine[q.id].check] if check else [],
        "answers": [
            {"id": name, "name": q.entry, "entry": q.entry, "code": code}
            for name, code in codes.items()
        ],
        "cases": [
            {
                "inputs": case.inputs,
                "upstream": case.upstream,
                "twice": case.upstream is None,
                "count": bool(case.stage.calls),
            }
            for case in task.cases
        ],
    }
