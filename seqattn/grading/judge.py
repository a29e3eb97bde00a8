"""Decide what an answer is worth, and say what is wrong with it.

The judge draws cases, has them computed in the sandbox, and compares with the oracle here. Where an
answer fails it has the bank's wrong answers computed on the same cases: the one that gives the same
outputs is the mistake that was made.
"""

import re
import secrets
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from seqattn.grading.bank import Exercise, Question, Stage, load
from seqattn.grading.compare import difference, same
from seqattn.grading.oracle import expected_output, upstream_for
from seqattn.grading.sandbox.host import Limits, Outcome, Sandbox, WorkerDiedError
from seqattn.grading.submission import (
    Answer,
    Submission,
    UnreadableError,
    find_answer,
    imports_of,
    read_submission,
)

__all__ = ["Grade", "Judge", "Verdict"]

DRAWS = 5
KEY = re.compile(r"\bseqattn\b")


@dataclass(frozen=True)
class Verdict:
    """What became of a question.

    Attributes
    ----------
    question, title : str
        Which one.
    verdict : str
        ``pass``, ``partial``, ``fail``, ``not_attempted``, ``missing``, ``syntax_error``,
        ``error``, ``timeout``, ``memory``, ``crashed``, ``output_limit``, ``forbidden`` or
        ``grader_error``.
    points, out_of : int
        What it earned, and what it could have earned.
    hint : str
        One sentence, empty where there is nothing to say.
    mistake : str
        Name of the mistake if it was recognised.
    line : int
        Line of the learner's cell, 0 where none is to blame.
    lost : list of str
        Stages that brought no points.
    read : str
        Where to read again.
    notes : list of str
        On how the answer was found.
    """

    question: str
    title: str
    verdict: str
    points: int
    out_of: int
    hint: str = ""
    mistake: str = ""
    line: int = 0
    lost: list[str] = field(default_factory=list)
    read: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Grade:
    """What became of a notebook.

    Attributes
    ----------
    file : str
        Its name.
    exercise : str
        Which exercise it is, empty where that is unknown.
    problem : str
        Why it could not be graded, empty where it could: begins with ``unreadable`` or
        ``unmatched``.
    verdicts : list of Verdict
        One for each question.
    seed : str
        From which the cases were drawn: the same seed gives the same cases.
    isolation : str
        How well the answers were contained.
    """

    file: str
    exercise: str
    problem: str
    verdicts: list[Verdict]
    seed: str
    isolation: str

    @property
    def points(self) -> int:
        """Sum of the points."""
        return sum(v.points for v in self.verdicts)

    @property
    def out_of(self) -> int:
        """Sum of what could have been earned."""
        return sum(v.out_of for v in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        return {**asdict(self), "points": self.points, "out_of": self.out_of}


@dataclass(frozen=True)
class _Case:
    stage: Stage
    inputs: tuple
    upstream: Any
    expected: Any


class Judge:
    """Grades notebooks of any installed exercise. Use it as a context manager.

    Parameters
    ----------
    seed : str, optional
        Of the hidden cases. A secret one is drawn if none is given.
    limits : Limits, optional
        For each answer.
    """

    def __init__(self, seed: str | None = None, limits: Limits | None = None):
        self.seed = seed or secrets.token_hex(8)
        self.sandbox = Sandbox(limits)
        self._cases = cache(self._draw)
        self._mistakes = cache(self._compute_mistakes)

    def __enter__(self) -> "Judge":
        self.sandbox.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.sandbox.close()

    def grade(self, path: Path, exercise: str | None = None) -> Grade:
        """Grade a notebook.

        Parameters
        ----------
        path : Path
            The notebook. It is read, never run and never changed.
        exercise : str, optional
            Name of the exercise; found from the questions' cells if not given.

        Returns
        -------
        Grade
            With a verdict for every question, whatever the file is.
        """
        try:
            submission = read_submission(path)
        except UnreadableError as error:
            return Grade(path.name, "", f"unreadable: {error}", [], self.seed, "")
        from seqattn.grading.matching import match

        name = exercise or match(submission)
        if name is None:
            problem = "unmatched: none of its cells belongs to an exercise of this course"
            return Grade(path.name, "", problem, [], self.seed, "")
        known = _exercise(name)
        verdicts = [self._judge_safely(submission, known, q) for q in known.questions]
        self.sandbox.wait()
        return Grade(path.name, name, "", verdicts, self.seed, self.sandbox.isolation)

    def judge_code(self, exercise: str, question: str, code: str) -> Verdict:
        """Judge an answer that is at hand as text."""
        known = _exercise(exercise)
        return self._judge(Answer(code), known, known.question(question), [])

    def _judge_safely(self, submission: Submission, exercise: Exercise, q: Question) -> Verdict:
        """Never let one question's trouble reach another's, and never score our fault as theirs."""
        try:
            answer = find_answer(submission, exercise, q)
            return self._judge(answer, exercise, q, imports_of(submission))
        except Exception as error:
            hint = f"the grader itself failed ({type(error).__name__}); this is not your score"
            return self._verdict(q, "grader_error", 0, hint)

    # --- one question

    def _judge(self, answer: Answer, exercise: Exercise, q: Question, imports: list) -> Verdict:
        more = {"notes": answer.notes}
        if answer.state != "found":
            hint = {"not_attempted": ""}.get(answer.state, answer.detail)
            return self._verdict(q, answer.state, 0, hint, line=answer.line, **more)
        if banned := _banned(answer.code, q):
            line, hint = banned
            return self._verdict(q, "forbidden", 0, hint, line=line, **more)
        cases = self._cases(exercise.name, q.id)
        outcome = self._run(exercise, q, imports, {"learner": answer.code})
        if outcome.ending == "broken":
            return self._verdict(q, "grader_error", 0, "the sandbox failed; not your score")
        results = _by_case(outcome).get("learner", {})
        if "undefined" in results:
            return self._raised(q, results["undefined"], more)
        if outcome.ending != "done":
            hint = _ENDINGS[outcome.ending].format(s=self.sandbox.limits.seconds, d=outcome.detail)
            return self._verdict(q, outcome.ending, 0, hint, **more)
        errors = [results[n]["error"] for n in range(len(cases)) if "error" in results[n]]
        if len(errors) == len(cases) and errors[0]["type"] == "NotImplementedError":
            return self._verdict(q, "not_attempted", 0, "", **more)
        wrong = {n: text for n, case in enumerate(cases) if (text := _fault(results[n], case))}
        if not wrong:
            return self._verdict(q, "pass", q.points, "", **more)
        kept = [s for s in q.stages if not any(cases[n].stage is s for n in wrong)]
        points = sum(stage.points for stage in kept)
        mistake = self._recognise(exercise, q, results)
        if mistake is None and len(errors) == len(cases):
            return self._raised(q, errors[0], more)
        first = min(wrong)
        hint = mistake.hint if mistake else _hint(wrong[first], cases[first].stage)
        error = results[first].get("error")
        return self._verdict(
            q,
            "partial" if points else "fail",
            points,
            hint,
            mistake=mistake.name if mistake else "",
            line=error["line"] if error else 0,
            lost=[stage.name for stage in q.stages if stage not in kept],
            **more,
        )

    def _verdict(self, q: Question, verdict: str, points: int, hint: str, **more: Any) -> Verdict:
        read = "" if verdict in ("pass", "not_attempted") else q.read
        return Verdict(q.id, q.title, verdict, points, q.points, hint, read=read, **more)

    def _raised(self, q: Question, error: dict, more: dict) -> Verdict:
        if error["type"] == "NotImplementedError":
            return self._verdict(q, "not_attempted", 0, "", **more)
        text = f"{error['type']}: {error['message']}".strip().rstrip(":")[:300]
        hint = f"{text}. {_advice(error, q)}".strip()
        return self._verdict(q, "error", 0, hint, line=error["line"], **more)

    # --- the cases

    def _draw(self, exercise: str, question: str) -> list[_Case]:
        q = _exercise(exercise).question(question)
        cases = []
        for stage in q.stages:
            for kind in stage.kinds:
                for draw in range(DRAWS):
                    key = f"{self.seed} {exercise} {question} {stage.name} {kind} {draw}"
                    rng = np.random.default_rng(list(key.encode()))
                    inputs = q.draw(rng, kind)
                    upstream = upstream_for(q, inputs, rng) if stage.gradients else None
                    expected = expected_output(q, inputs, upstream)
                    cases.append(_Case(stage, inputs, upstream, expected))
        return cases

    def _run(self, exercise: Exercise, q: Question, imports: list, codes: dict) -> Outcome:
        references = [exercise.question(used).right[0] for used in q.uses]
        job = {
            "prelude": "\n".join([exercise.prelude, *references]),
            "imports": imports,
            "probe": q.probe,
            "preload": [],
            "answers": [
                {"id": name, "name": q.entry, "entry": q.entry, "code": code}
                for name, code in codes.items()
            ],
            "cases": [
                {"inputs": case.inputs, "upstream": case.upstream, "twice": not case.stage.gradients}
                for case in self._cases(exercise.name, q.id)
            ],
        }
        try:
            return self.sandbox.run(job)
        except WorkerDiedError:
            return Outcome(ending="broken")

    def _compute_mistakes(self, exercise: str, question: str) -> dict[str, dict]:
        known = _exercise(exercise)
        q = known.question(question)
        codes = {w.name: w.code for w in q.wrong}
        return _by_case(self._run(known, q, [], codes))

    def _recognise(self, exercise: Exercise, q: Question, results: dict) -> Any:
        """Find the wrong answer with the very same outputs on every case."""
        for wrong in q.wrong:
            known = self._mistakes(exercise.name, q.id).get(wrong.name, {})
            if known and all(_alike(results[n], known.get(n, {})) for n in results):
                return wrong
        return None


@cache
def _exercise(name: str) -> Exercise:
    return load(name)


_ENDINGS = {
    "timeout": "it took longer than {s:.0f} seconds: is there a loop that never ends?",
    "memory": "it needed more memory than an answer may use",
    "crashed": "the process died ({d})",
    "output_limit": "it printed or returned too much ({d})",
}


def _by_case(outcome: Outcome) -> dict[str, dict]:
    """Sort the sandbox's messages by answer and case; believe none of their forms."""
    found: dict[str, dict] = {}
    for message in outcome.messages:
        if not isinstance(message, dict) or not isinstance(message.get("answer"), str):
            continue
        results = found.setdefault(message["answer"], {})
        if message.get("event") == "undefined":
            results["undefined"] = _error(message)
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
        "type": str(error.get("type", "Exception"))[:80],
        "message": " ".join(str(error.get("message", "")).split())[:200],
        "line": line if isinstance(line, int) else 0,
    }


def _fault(one: dict, case: _Case) -> tuple[str, str] | None:
    """Say what is wrong with the outcome of a case: a kind and a text."""
    if "error" in one:
        return "error", f"{one['error']['type']}: {one['error']['message']}"
    result = one["result"]
    if case.stage.gradients:
        found = difference(result.get("gradients"), case.expected, "the gradient")
        return (found.kind, found.text) if found else None
    value, expected = result.get("value"), case.expected
    if case.stage.parts and isinstance(value, dict):
        expected = {name: expected[name] for name in case.stage.parts}
    if found := difference(value, expected):
        return found.kind, found.text
    if "again" in result and not same(result["value"], result["again"]):
        return "random", "the same inputs gave another result the second time"
    if "inputs" in result and (changed := _changed(result["inputs"], case.inputs)):
        return "changed", f"your function changes input {changed}: work on a copy, without methods like name_()"
    return None


def _changed(after: Any, before: tuple) -> int:
    if isinstance(after, tuple | list) and len(after) == len(before):
        for number, (a, b) in enumerate(zip(after, before), start=1):
            if isinstance(b, np.ndarray):
                array = getattr(a, "array", None)
                if array is None or not np.array_equal(array, b, equal_nan=True):
                    return number
    return 0


def _alike(one: dict, other: dict) -> bool:
    if "error" in one or "error" in other:
        return "error" in one and "error" in other and one["error"]["type"] == other["error"]["type"]
    return same(one["result"], other["result"])


def _hint(fault: tuple[str, str], stage: Stage) -> str:
    kind, text = fault
    if kind == "value":
        return stage.hint
    return f"{text}. {stage.hint}" if kind in ("nan", "error") else f"{text}."


def _advice(error: dict, q: Question) -> str:
    if error["type"] == "NameError":
        return "Your answer cell must hold all that it needs: helpers and imports belong into it."
    if error["type"] == "TypeError" and "argument" in error["message"]:
        return f"It is called as {q.signature}."
    if error["type"] in ("ModuleNotFoundError", "PermissionError", "OSError"):
        return "Answers are graded without files, network and other packages."
    return ""


def _banned(code: str, q: Question) -> tuple[int, str] | None:
    import ast

    for node in ast.walk(ast.parse(code)):
        names: list[str] = []
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
            if any(KEY.search(name) for name in names):
                return node.lineno, "seqattn is the answer key: write it yourself, with PyTorch"
        elif isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Name):
            names = [node.id]
        for name in names:
            if name in q.forbidden:
                return node.lineno, f"{name} does the whole question: write it yourself"
    return None
