"""Decide what an answer is worth, and say what is wrong with it.

The judge draws cases, has them computed in the sandbox, and compares with the oracle here. Where an
answer fails it has the bank's wrong answers computed on the same cases: the one that gives the same
outputs is the mistake that was made.
"""

import secrets
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from seqattn.grading.bank import Exercise, Question, load
from seqattn.grading.matching import match
from seqattn.grading.oracle import expected_output, upstream_for
from seqattn.grading.outcomes import Case, advice, alike, banned, by_case, fault, hint_for
from seqattn.grading.sandbox.host import Sandbox, WorkerDiedError
from seqattn.grading.sandbox.jobs import Limits, Outcome
from seqattn.grading.submission import (
    Answer,
    Submission,
    UnreadableError,
    find_answer,
    imports_of,
    read_submission,
)
from seqattn.grading.verdicts import Grade, Verdict

__all__ = ["Judge"]

DRAWS = 5


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
        if found := banned(answer.code, q):
            line, hint = found
            return self._verdict(q, "forbidden", 0, hint, line=line, **more)
        cases = self._cases(exercise.name, q.id)
        outcome = self._run(exercise, q, imports, {"learner": answer.code})
        if outcome.ending == "broken":
            return self._verdict(q, "grader_error", 0, "the sandbox failed; not your score")
        results = by_case(outcome).get("learner", {})
        if "undefined" in results:
            return self._raised(q, results["undefined"], more)
        if outcome.ending != "done":
            hint = _ENDINGS[outcome.ending].format(s=self.sandbox.limits.seconds, d=outcome.detail)
            return self._verdict(q, outcome.ending, 0, hint, **more)
        errors = [results[n]["error"] for n in range(len(cases)) if "error" in results[n]]
        if len(errors) == len(cases) and errors[0]["type"] == "NotImplementedError":
            return self._verdict(q, "not_attempted", 0, "", **more)
        wrong = {n: text for n, case in enumerate(cases) if (text := fault(results[n], case))}
        if not wrong:
            return self._verdict(q, "pass", q.points, "", **more)
        kept = [s for s in q.stages if not any(cases[n].stage is s for n in wrong)]
        points = sum(stage.points for stage in kept)
        mistake = self._recognise(exercise, q, results)
        if mistake is None and len(errors) == len(cases):
            return self._raised(q, errors[0], more)
        first = min(wrong)
        hint = mistake.hint if mistake else hint_for(wrong[first], cases[first].stage)
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
        hint = f"{text}. {advice(error, q)}".strip()
        return self._verdict(q, "error", 0, hint, line=error["line"], **more)

    # --- the cases

    def _draw(self, exercise: str, question: str) -> list[Case]:
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
                    cases.append(Case(stage, inputs, upstream, expected))
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
                {
                    "inputs": case.inputs,
                    "upstream": case.upstream,
                    "twice": not case.stage.gradients,
                }
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
        return by_case(self._run(known, q, [], codes))

    def _recognise(self, exercise: Exercise, q: Question, results: dict) -> Any:
        """Find the wrong answer with the very same outputs on every case."""
        for wrong in q.wrong:
            known = self._mistakes(exercise.name, q.id).get(wrong.name, {})
            if known and all(alike(results[n], known.get(n, {})) for n in results):
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
