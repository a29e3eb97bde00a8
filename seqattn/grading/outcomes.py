"""What the sandbox sends back, sorted and put into words. Nothing in it is believed."""

import ast
import re
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from seqattn.grading.bank import Question, Stage
from seqattn.grading.compare import difference, same
from seqattn.grading.redaction import exception_name, sizes_in
from seqattn.grading.sandbox.jobs import Outcome

__all__ = [
    "DOUBLE",
    "Case",
    "advice",
    "alike",
    "by_case",
    "fault",
    "hint_for",
    "imports_the_key",
    "reordered",
    "result_line",
]

# Kind of the cases that ask whether an answer computes in the precision of its inputs.
DOUBLE = "double precision"
KEY = re.compile(r"\bseqattn\b")


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
        What sort of case it is, in the bank's words or in those of a :mod:`variation
        <seqattn.grading.variations>`.
    base : int
        Of variations: the number of the case that was varied; -1 for others.
    """

    stage: Stage
    inputs: tuple
    upstream: Any
    expected: Any
    kind: str = ""
    base: int = -1


def by_case(outcome: Outcome) -> dict[str, dict]:
    """Sort the sandbox's messages by answer and case; believe none of their forms."""
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


def fault(one: dict, case: Case) -> tuple[str, str] | None:
    """Say what is wrong with the outcome of a case: a kind and a text."""
    if "error" in one:
        return "error", f"{one['error']['type']}: {one['error']['message']}"
    result, sizes = one["result"], frozenset(sizes_in(case.inputs))
    if case.upstream is not None:
        return _wrong_gradients(result.get("gradients"), case)
    value, expected = result.get("value"), case.expected
    if case.stage.parts and isinstance(value, dict):
        expected = {name: expected[name] for name in case.stage.parts}
    if "again" in result and not same(result["value"], result["again"]):
        return "random", "not deterministic: the same inputs gave another result the second time"
    dtype = "float64" if case.kind == DOUBLE else "float32"
    if found := difference(
        value, expected, tolerance=case.stage.tolerance, sizes=sizes, dtype=dtype
    ):
        return found.kind, found.text
    calls = result.get("calls")
    if case.stage.calls and isinstance(calls, int) and calls > case.stage.calls:
        return (
            "calls",
            f"your function calls PyTorch {calls} times, where one call on whole tensors does: "
            "write it without a loop",
        )
    if "inputs" in result and (changed := _changed(result["inputs"], case.inputs)):
        return (
            "changed",
            f"your function changes input {changed}: work on a copy, without methods like name_(), "
            "+= and x[...] =",
        )
    return None


def _wrong_gradients(gradients: Any, case: Case) -> tuple[str, str] | None:
    if not isinstance(gradients, dict):
        return "gradient", "no gradient reaches any argument: something on the way is detached"
    for name, expected in case.expected.items():
        got = gradients.get(name)
        if got is None and not expected.any():
            continue  # PyTorch gives none where nothing depends on it
        if got is None:
            return "gradient", f"no gradient reaches {name}: something on the way is detached"
        if found := difference(got, expected, f"the gradient of {name}"):
            return found.kind if found.kind == "value" else "gradient", found.text
    return None


def _changed(after: Any, before: tuple) -> int:
    if isinstance(after, tuple | list) and len(after) == len(before):
        for number, (a, b) in enumerate(zip(after, before), start=1):
            if isinstance(b, np.ndarray):
                array = getattr(a, "array", None)
                if array is None or not np.array_equal(array, b, equal_nan=True):
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
    # How often PyTorch was called is another question.
    return same({**a, "calls": 0}, {**b, "calls": 0})


def hint_for(fault: tuple[str, str], stage: Stage) -> str:
    """Put a fault that is nobody's known mistake into a sentence."""
    kind, text = fault[0], fault[1].rstrip(".")
    if kind == "value":
        return stage.hint
    if kind == "gradient" and "NaN" in text:
        back = "on the way back 0 times infinity or NaN is NaN, so fill what must not count"
        return f"{text}: {back} before you compute with it, not after."
    return f"{text}. {stage.hint}" if kind in ("nan", "gradient") else f"{text}."


def advice(error: dict, q: Question) -> str:
    """Say what to do about an exception, where there is something to say."""
    kind, message = error["type"], error["message"]
    if kind == "NameError":
        return (
            "Imports, functions and constants of other cells are at hand; what another cell "
            "computed lives in your session only: restart and run all to see."
        )
    if kind == "TypeError" and "argument" in message:
        return f"It is called as {q.signature}."
    if kind in ("ModuleNotFoundError", "PermissionError", "OSError", "FileNotFoundError"):
        return "Answers are graded without files, network and other packages."
    if "CUDA" in message or "NVIDIA" in message:
        return "Answers are graded on a CPU: leave tensors on the device that they come with."
    if kind == "EOFError":
        return "Nobody is there to type: take what you need from the arguments."
    if kind == "SystemExit":
        return "An answer must not end the process: return instead."
    if kind == "RecursionError":
        return "Your function calls itself without end."
    return ""


def reordered(code: str, q: Question) -> str:
    """Say so if an answer takes the right arguments in another order."""
    asked = re.match(rf"{q.entry}\(([\w, ]+)\)", q.signature)
    for node in ast.parse(code).body:
        if asked and isinstance(node, ast.FunctionDef) and node.name == q.entry:
            names, wanted = [a.arg for a in node.args.args], asked[1].split(", ")
            if names != wanted and sorted(names) == sorted(wanted):
                return f"Your arguments are in another order: it is called as {q.signature}."
    return ""


def result_line(code: str, entry: str) -> int:
    """Find the line of an answer from which its result comes: its last return, or its value."""
    found = 0
    for node in ast.parse(code).body:
        named = getattr(node, "name", None) == entry or any(
            isinstance(t, ast.Name) and t.id == entry for t in getattr(node, "targets", [])
        )
        if named:
            returns = [n.lineno for n in ast.walk(node) if isinstance(n, ast.Return)]
            found = max(returns, default=node.lineno)
    return found


def imports_the_key(code: str) -> int:
    """Find the line of an answer that imports the course's package, or 0."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
            if any(KEY.search(name) for name in names):
                return node.lineno
    return 0
