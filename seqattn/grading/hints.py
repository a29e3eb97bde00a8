"""Hints on mistakes that the bank does not know: from how it ended, an error, or the code.

Known mistakes bring hints of their own, from the bank. For the others: how a process ended, what an
exception means, which line is to blame. What can be seen in wrong numbers is said by
:mod:`seqattn.grading.diagnosis`.
"""

import ast
import re

from seqattn.grading.bank import Question, Stage
from seqattn.grading.compare import Difference
from seqattn.grading.parsing import parse
from seqattn.grading.sandbox.host import JobResult, Limits

__all__ = ["advice", "ending_hint", "hint_for", "reordered", "result_line"]

_ENDINGS = {
    "timeout": "it computed longer than {s:g} seconds (of processor time): is there a loop that "
    "never ends?",
    "waited": "it waited longer than {i:g} seconds without computing anything, and did so again: "
    "leave out what sleeps, or waits for somebody",
    "memory": "it needed more memory than an answer may use",
    "crashed": "the process died ({d})",
    # How much depends on the hidden cases.
    "output_limit": "it printed or returned too much",
}


def ending_hint(outcome: JobResult, limits: Limits) -> str:
    """Say how a process ended that did not come to its end."""
    return _ENDINGS[outcome.ending].format(s=limits.seconds, i=limits.idle, d=outcome.detail)


def hint_for(fault: Difference, stage: Stage) -> str:
    """Put a fault that is nobody's known mistake into a sentence."""
    kind, text = fault.kind, fault.text.rstrip(".")
    if kind == "value":
        return stage.hint
    if kind == "gradient" and "NaN" in text:
        back = "on the way back 0 times infinity or NaN is NaN, so fill what must not count"
        return f"{text}: {back} before you compute with it, not after."
    text = text if text.endswith("?") else f"{text}."
    return f"{text} {stage.hint}" if kind in ("nan", "gradient") else text


def advice(error: dict, q: Question) -> str:
    """Say what to do about an exception, where there is something to say."""
    kind, message = error["type"], error["message"]
    if kind == "NameError":
        return (
            "Imports, functions and constants of other cells are at hand; what another cell "
            "computed lives in your session only: restart and run all to see."
        )
    if kind == "TypeError" and "argument" in message and q.entry in message:  # not torch's own
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
    if q.asks_for_a_test:
        return "So it ends with every program, right ones too: all you can do with one is call it."
    return ""


def reordered(code: str, q: Question) -> str:
    """Say so if an answer takes the right arguments in another order."""
    asked = re.match(rf"{q.entry}\(([\w, ]+)\)", q.signature)
    for node in parse(code).body:
        if asked and isinstance(node, ast.FunctionDef) and node.name == q.entry:
            names, wanted = [a.arg for a in node.args.args], asked[1].split(", ")
            if names != wanted and sorted(names) == sorted(wanted):
                return f"Your arguments are in another order: it is called as {q.signature}."
    return ""


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What the line that returns a result has to do with, whatever comes before it.
_OF_THE_RETURN = ("nothing", "type", "shape", "dtype")


def result_line(code: str, entry: str, kind: str) -> int:
    """Find the line of an answer that is to blame for a wrong result; 0 where it may be any.

    An answer of one statement is wrong there. In a longer one wrong values may come from any line,
    or from one that is missing: none is blamed for what another may have done.

    Parameters
    ----------
    code, entry : str
        The answer, and the name that it defines.
    kind : str
        What is wrong, as :class:`~seqattn.grading.compare.Difference` has it.
    """
    found = 0
    for node in parse(code).body:
        targets = getattr(node, "targets", [])
        if any(isinstance(t, ast.Name) and t.id == entry for t in targets):
            found = node.lineno
        elif isinstance(node, _NAMED) and node.name == entry:
            inside = node.body[1:] if ast.get_docstring(node) is not None else node.body
            returns = [n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value]
            alone = inside == returns and len(returns) == 1
            blamed = alone or (kind in _OF_THE_RETURN and len(returns) == 1)
            found = returns[0].lineno if blamed else 0
    return found
