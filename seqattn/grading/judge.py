"""Decide what an answer is worth, and say what is wrong with it.

The judge draws cases, has them computed in the sandbox, and compares with the oracle here. Where an
answer fails it has the bank's wrong answers computed on the same cases: the one that gives the same
outputs is the mistake that was made.
"""

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from seqattn.grading.bank import Exercise, Question, Stage, Wrong, load
from seqattn.grading.diagnosis import diagnose
from seqattn.grading.evidence import EvidenceError, read_evidence
from seqattn.grading.example import shown_cases, written
from seqattn.grading.matching import match
from seqattn.grading.oracle import expected_output, upstream_for
from seqattn.grading.outcomes import (
    DOUBLE,
    Case,
    advice,
    alike,
    by_case,
    fault,
    hint_for,
    imports_the_key,
    reordered,
    result_line,
)
from seqattn.grading.reading import Submission, UnreadableError, read_submission
from seqattn.grading.redaction import redact
from seqattn.grading.sandbox.host import Sandbox, WorkerDiedError
from seqattn.grading.sandbox.jobs import LateError, Limits, Outcome
from seqattn.grading.similarity import copies_the_key
from seqattn.grading.submission import Answer, context_of, find_answer
from seqattn.grading.tasks import Task, job_of
from seqattn.grading.variations import hostile_pads, variations
from seqattn.grading.verdicts import Grade, Verdict

__all__ = ["Judge"]

# Answers that authors have judged in one process.
TOGETHER = 20
NO_MATCH = "none of its cells belongs to an exercise of this course"


class Judge:
    """Grades notebooks of any installed exercise. Use it as a context manager.

    Parameters
    ----------
    seed : str, optional
        Of the hidden cases. A secret one is drawn if none is given.
    limits : Limits, optional
        For each answer.
    like : Judge, optional
        One of the same seed, whose cases need not be drawn again, and which works beside this one.
    draws : int
        How many cases of each kind.
    """

    def __init__(
        self,
        seed: str | None = None,
        limits: Limits | None = None,
        like: "Judge | None" = None,
        draws: int = 5,
    ):
        self.draws: int = like.draws if like else draws
        self.seed = seed or secrets.token_hex(8)
        self.sandbox: Sandbox = Sandbox(limits, like.sandbox.turns if like else None)
        self._cases: Callable[[str, str], list[Case]]
        self._cases = like._cases if like else cache(self._draw)
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
        name = match(submission)
        if name is None or (exercise and name != exercise):
            looks = f"it looks like {name}, not {exercise}" if name else NO_MATCH
            return Grade(path.name, "", f"unmatched: {looks}", [], self.seed, "")
        known = _exercise(name)
        answers = {q.id: find_answer(submission, known, q) for q in known.questions}
        verdicts = [self._safely(submission, known, q, answers[q.id]) for q in known.questions]
        self.sandbox.wait()
        grade = Grade(path.name, name, "", verdicts, self.seed, self.sandbox.isolation)
        if submission.release and submission.release != known.release:
            grade.notes.append(
                f"the notebook is of release {submission.release} of the exercise; graded by "
                f"release {known.release}"
            )
        if copies_the_key(known, answers):
            grade.flags.append("identical to the solution notebook, names and all")
        return grade

    def judge_code(self, exercise: str, question: str, code: str) -> Verdict:
        """Judge an answer that is at hand as text; open experiments on evidence that is drawn."""
        known = _exercise(exercise)
        q = known.question(question)
        try:
            return self._judge(Task(known, q, [], self._cases(exercise, question)), Answer(code))
        except LateError as error:
            return self._verdict(q, "not_judged", 0, _LATE.format(error))

    def judge_many(self, exercise: str, question: str, codes: Sequence[str]) -> list[Verdict]:
        """Judge many answers that are at hand as text, as :meth:`judge_code` would, in less time.

        Answers share a process, so this is for authors: for those who wrote all of them.
        """
        known = _exercise(exercise)
        q = known.question(question)
        task = Task(known, q, [], self._cases(exercise, question))
        found: list[Verdict] = []
        for chunk in _batched(codes, TOGETHER):
            named = {str(n): code for n, code in enumerate(chunk)}
            outcome = self._run(task, named, check=True)
            results = by_case(outcome) if outcome.ending == "done" else {}
            for n, code in named.items():
                if n in results and not imports_the_key(code):
                    found.append(self._weigh(task, Answer(code), results[n]))
                else:
                    found.append(self.judge_code(exercise, question, code))
        return found

    def refusals(self, exercise: str, question: str, codes: Sequence[str]) -> list[str]:
        """Say what the visible check says against each answer; "" where it says nothing."""
        known = _exercise(exercise)
        task = Task(known, known.question(question), [], [])
        found = []
        for code in codes:
            results = by_case(self._run(task, {"0": code}, check=True)).get("0", {})
            error = results.get("undefined") or results.get("check")
            found.append(f"{error['type']}: {error['message']}" if error else "")
        return found

    def _safely(
        self, submission: Submission, exercise: Exercise, q: Question, answer: Answer
    ) -> Verdict:
        """Never let one question's trouble reach another's, and never score our fault as theirs."""
        try:
            cases = None
            if answer.state == "found" and q.evidence:
                arrays = read_evidence(self.sandbox, q, submission.evidence(q.evidence))
                cases = [Case(s, (arrays,), None, q.oracle(arrays)) for s in q.stages]
            elif answer.state == "found":
                cases = self._cases(exercise.name, q.id)
            context = context_of(submission, exercise, answer.code)
            task = Task(exercise, q, context, cases or [])
            found = self._judge(task, answer)
            wrong = found.verdict in ("fail", "partial") and not q.evidence
            return replace(found, example=self._example(task, answer)) if wrong else found
        except EvidenceError as error:
            return self._verdict(q, "missing", 0, str(error), notes=answer.notes)
        except LateError as error:
            return self._verdict(q, "not_judged", 0, _LATE.format(error), notes=answer.notes)
        except Exception as error:
            hint = f"the grader itself failed ({type(error).__name__}); this is not your score"
            return self._verdict(q, "grader_error", 0, hint)

    # --- one question

    def _judge(self, task: Task, answer: Answer) -> Verdict:
        q = task.question
        more: dict[str, Any] = {"notes": answer.notes}
        if answer.state != "found":
            hint = {"not_attempted": ""}.get(answer.state, answer.detail)
            return self._verdict(q, answer.state, 0, hint, line=answer.line, **more)
        if line := imports_the_key(answer.code):
            hint = "seqattn is the answer key: write it yourself, with PyTorch"
            return self._verdict(q, "forbidden", 0, hint, line=line - answer.offset, **more)
        outcome = self._run(task, {"learner": answer.code}, check=True)
        if outcome.ending == "broken":
            return self._verdict(q, "grader_error", 0, "the sandbox failed; not your score")
        results = by_case(outcome).get("learner", {})
        if outcome.ending != "done" and "undefined" not in results:
            limits = self.sandbox.limits
            hint = _ENDINGS[outcome.ending].format(
                s=limits.seconds, i=limits.idle, d=outcome.detail
            )
            ending = "timeout" if outcome.ending == "waited" else outcome.ending
            return self._verdict(q, ending, 0, hint, **more)
        return self._weigh(task, answer, results)

    def _example(self, task: Task, answer: Answer) -> list[str]:
        """Find a small case, not of the hidden ones, on which an answer is wrong."""
        q = task.question
        shown = task._replace(cases=shown_cases(q))
        results = by_case(self._run(shown, {"learner": answer.code})).get("learner", {})
        for n, case in enumerate(shown.cases):
            one = results.get(n, {})
            wrong = fault(one, case) if "result" in one else None
            # What is of another form cannot be set beside what is right.
            if wrong and wrong[0] in ("value", "nan"):
                return written(q, case, one["result"].get("value"))
        return []

    def _weigh(self, task: Task, answer: Answer, results: dict[Any, dict]) -> Verdict:
        """Decide from what came back for each case."""
        q, cases = task.question, task.cases
        more: dict[str, Any] = {"notes": answer.notes}
        if "undefined" in results:
            return self._raised(q, results["undefined"], answer)
        # The visible check's messages are no secret.
        refused = results.pop("check", None)
        results = {
            case: {**one, "error": redact(one["error"], answer.code)} if "error" in one else one
            for case, one in results.items()
        }
        if set(results) != set(range(len(cases))):
            return self._verdict(
                q, "crashed", 0, "the answer broke off what was to be sent", **more
            )
        errors = [r["error"] for r in results.values() if "error" in r]
        if used := next((e for e in errors if e["type"] == "ForbiddenError"), None):
            return self._raised(q, used, answer)
        if len(errors) == len(cases) and errors[0]["type"] == "NotImplementedError":
            return self._raised(q, errors[0], answer)
        wrong = {n: text for n, case in enumerate(cases) if (text := fault(results[n], case))}
        if not wrong and refused:
            # What the visible check refuses is not right, whatever hidden cases say.
            hint = f"The visible check refuses it: {refused['message'] or refused['type']}"
            points = sum(s.points for s in q.stages[1:] if not s.gradients)
            lost = [s.name for s in q.stages if s is q.stages[0] or s.gradients]
            kind = "partial" if points else "fail"
            return self._verdict(q, kind, points, hint, lost=lost, **more)
        if not wrong:
            return self._verdict(q, "pass", q.points, "", **more)
        kept = [s for s in q.stages if not any(cases[n].stage is s for n in wrong)]
        # Gradients of something else are worth nothing.
        kept = [s for s in kept if not s.gradients or q.stages[0] in kept]
        points = sum(stage.points for stage in kept)
        mistake = self._recognise(task, results)
        if mistake is None and len(errors) == len(cases):
            return self._raised(q, errors[0], answer)
        first = min(wrong)
        hint = mistake.hint if mistake else hint_for(wrong[first], cases[first].stage)
        if mistake is None and (order := reordered(answer.code, q)):
            hint = order
        elif mistake is None and wrong[first][0] in ("value", "nan"):
            hint = f"{diagnose(q, cases, results, wrong)} {hint}".lstrip()
        error = results[first].get("error")
        line = error["line"] if error else result_line(answer.code, q.entry)
        return self._verdict(
            q,
            "partial" if points else "fail",
            points,
            hint,
            mistake=mistake.name if mistake else "",
            line=max(0, line - answer.offset),
            shapes=next((text for kind, text in wrong.values() if kind == "shape"), ""),
            lost=[stage.name for stage in q.stages if stage not in kept],
            **more,
        )

    def _verdict(self, q: Question, verdict: str, points: int, hint: str, **more: Any) -> Verdict:
        read = "" if verdict in ("pass", "not_attempted") else q.read
        return Verdict(q.id, q.title, verdict, points, q.points, hint, read=read, **more)

    def _raised(self, q: Question, error: dict, answer: Answer) -> Verdict:
        line = max(0, error["line"] - answer.offset)
        if error["type"] == "NotImplementedError":
            return self._verdict(q, "not_attempted", 0, "", notes=answer.notes)
        if error["type"] == "SyntaxError":
            hint = f"{error['message']}: answers are plain functions, without await at the top"
            return self._verdict(q, "syntax_error", 0, hint, line=line, notes=answer.notes)
        if error["type"] == "ForbiddenError":
            hint = f"{error['message']} does what this question asks you to write: do it without"
            return self._verdict(q, "forbidden", 0, hint, line=line, notes=answer.notes)
        text = f"{error['type']}: {error['message']}".strip().rstrip(":.")[:300]
        hint = f"{text}. {advice(error, q)}".strip()
        full = error["type"] == "MemoryError" or "can't allocate memory" in error["message"]
        verdict = "memory" if full else "error"
        return self._verdict(q, verdict, 0, hint, line=line, notes=answer.notes)

    # --- the cases

    def _draw(self, exercise: str, question: str) -> list[Case]:
        q = _exercise(exercise).question(question)
        cases = []
        for stage in q.stages:
            for kind in stage.kinds:
                # Evidence is one file, and a large one.
                for draw in range(1 if q.evidence else self.draws):
                    key = f"{self.seed} {exercise} {question} {stage.name} {kind} {draw}"
                    rng = np.random.default_rng(list(key.encode()))
                    inputs = q.draw(rng, kind)
                    upstream = upstream_for(q, inputs, rng) if stage.gradients else None
                    expected = expected_output(q, inputs, upstream)
                    cases.append(Case(stage, inputs, upstream, expected, kind))
        return cases + self._vary(exercise, q, cases)

    def _vary(self, exercise: str, q: Question, cases: list[Case]) -> list[Case]:
        """Draw what every function is tried on besides: see the module of variations."""
        if not q.arguments or q.probe:
            return []

        def case(stage: Stage, inputs: tuple, kind: str, base: int = -1) -> Case:
            return Case(stage, inputs, None, expected_output(q, inputs, None), kind, base)

        rng = np.random.default_rng(list(f"{self.seed} {exercise} {q.id} vary".encode()))
        formula = q.stages[0]
        # A mask varies where something is padded.
        plain = [n for n, one in enumerate(cases) if one.upstream is None]
        base = next((n for n in plain if cases[n].kind == "padded"), plain[0])
        last = next((s for s in q.stages if s.gradients), formula)
        found = [
            case(cases[base].stage, varied, kind, base)
            for kind, varied in variations(
                q, cases[base].inputs, [q.draw(rng, cases[base].kind) for _ in range(8)]
            )
        ]
        padded = next(
            (s for s in reversed(q.stages) if "padded" in s.kinds and not s.gradients), formula
        )
        for value in q.pads if "padded" in padded.kinds else ():
            if (inputs := hostile_pads(q.draw(rng, "padded"), value)) is None:
                continue
            found.append(case(padded, inputs, f"pads that hold {value:g}"))
            if last.gradients and not np.isfinite(value):
                # On the way back 0 times NaN is NaN as well, and so is 0 times infinity.
                upstream = upstream_for(q, inputs, rng)
                expected = expected_output(q, inputs, upstream)
                found.append(Case(last, inputs, upstream, expected, f"pads that hold {value:g}"))
        # Precision belongs to what gradients belong to: the values are right without it.
        double = tuple(_in_double(x, rng) for x in cases[0].inputs)
        if any(a is not b for a, b in zip(double, cases[0].inputs)):
            found.append(case(last, double, DOUBLE))
        return found

    def _run(self, task: Task, codes: dict[str, str], *, check: bool = False) -> Outcome:
        limits = self.sandbox.limits
        try:
            # The bank's wrong answers are one job; each may take as long as a learner's.
            limits = replace(limits, seconds=limits.seconds * len(codes))
            return self.sandbox.run(job_of(task, codes, check=check), limits)
        except WorkerDiedError:
            return Outcome(ending="broken")

    def _compute_mistakes(self, exercise: str, question: str) -> dict[str, dict]:
        known = _exercise(exercise)
        q = known.question(question)
        task = Task(known, q, [], self._cases(exercise, question))
        outcome = self._run(task, {w.name: w.code for w in q.wrong})
        if outcome.ending == "broken":
            # Not to be kept: all who make these mistakes would go without their hints.
            raise WorkerDiedError
        return by_case(outcome)

    def _recognise(self, task: Task, results: dict) -> Wrong | None:
        """Find the wrong answer with the same outputs on every case, down to what earns nothing."""
        q = task.question
        if task.cases is self._cases(task.exercise.name, q.id):
            mistakes = self._mistakes(task.exercise.name, q.id)
        else:
            mistakes = by_case(self._run(task, {w.name: w.code for w in q.wrong}))
        wrong_ones = {n for n, r in results.items() if fault(r, task.cases[n])}
        ran = {n: r for n, r in results.items() if "error" not in r}
        # The same in all; in all that earns points; in what ran, where sizes made the rest fail.
        for which, every in ((results, True), (results, False), (ran, False)):
            if not wrong_ones & which.keys():
                continue
            for wrong in q.wrong:
                known = mistakes.get(wrong.name, {})
                if known.keys() >= which.keys() and all(
                    alike(which[n], known[n], None if every else _parts(task.cases[n]))
                    and (n not in wrong_ones or fault(known[n], task.cases[n]))
                    for n in which
                ):
                    return wrong
        return None


def _in_double(value: Any, rng: np.random.Generator) -> Any:
    """Give an array of float32 in float64, with digits that float32 lacks; else the value."""
    if not (isinstance(value, np.ndarray) and value.dtype == np.float32):
        return value
    return value * (1 + 1e-6 * rng.random(value.shape))


def _parts(case: Case) -> Collection[str] | None:
    return case.expected.keys() if isinstance(case.expected, dict) else None


def _batched(codes: Sequence[str], size: int) -> Iterator[list[str]]:
    """Cut a sequence into lists of a size; Python 3.11 has no ``itertools.batched``."""
    left = iter(codes)
    while chunk := list(islice(left, size)):
        yield chunk


_LATE = "this machine was too busy to judge it ({}, twice): grade again; this is not your score"


@cache
def _exercise(name: str) -> Exercise:
    return load(name)


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
