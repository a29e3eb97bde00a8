"""From a notebook to its points.

:meth:`Judge.grade` reads the notebook, finds the answers, has each computed in the sandbox on cases
that it draws, and compares with the oracle here. Where an answer fails, the bank's wrong answers
are computed on the same cases: the one that gives the same outputs is the mistake that was made.

One question takes three steps: ``_grade_question`` answers for every trouble, ``_try_answer`` has
the answer computed, and ``_verdict_from`` decides from what came back. Authors judge answers that
they have as text: :mod:`seqattn.grading.audit`.
"""

import logging
import re
import secrets
import threading
import traceback
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from seqattn.grading.answers import (
    Answer,
    context_of,
    copies_the_key,
    exercise_of,
    find_answer,
    imports_the_key,
    no_exercise,
    why_no_python,
)
from seqattn.grading.bank import Exercise, Question, Wrong, load
from seqattn.grading.cases import DOUBLE, Case, draw_cases, named_inputs, shown_cases
from seqattn.grading.checking import waits_for
from seqattn.grading.compare import (
    PRECISE,
    RELATIVE,
    Difference,
    alike,
    fault,
    redact,
    sizes_in,
    written,
)
from seqattn.grading.diagnosis import (
    advice,
    diagnose,
    ending_hint,
    hint_for,
    reordered,
    result_line,
)
from seqattn.grading.forms import misfit, same_form
from seqattn.grading.grades import Grade, Verdict, VerdictName
from seqattn.grading.jobs import (
    Cases,
    EvidenceError,
    Task,
    by_answer,
    job_of,
    read_evidence,
)
from seqattn.grading.notebook import Submission, UnreadableError, read_submission
from seqattn.grading.sandbox.host import (
    Ending,
    JobResult,
    LateError,
    Limits,
    Sandbox,
    WorkerDiedError,
)

__all__ = ["Judge", "not_judged"]

log = logging.getLogger(__name__)

# The verdict on an answer whose process came to none of its own.
ENDINGS: Mapping[Ending, VerdictName] = {
    "timeout": "timeout",
    "waited": "timeout",
    "memory": "memory",
    "crashed": "crashed",
    "output_limit": "output_limit",
}
ROUGH = (
    "Given float64, your result is right to a few digits only, which costs the points for {}: "
    "something on the way is computed in less precision (torch.sqrt(torch.tensor(d)) has 32 bits; "
    "math.sqrt(d) has 64), or a small constant is added."
)
# Of the texts in which a probe says what it expected.
SHORTEST = 15
LATE = "this machine was too busy to judge it ({}, twice): grade again; this is not your score"


class Kept:
    """What judges of one seed work out once, whichever of them needs it first."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}
        self._locks: defaultdict[Hashable, threading.Lock] = defaultdict(threading.Lock)

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what is kept under a key, or make it; whoever wants it meanwhile waits."""
        with self._locks[key]:
            if key not in self._found:
                self._found[key] = make()
            return self._found[key]

    def clear(self) -> None:
        """Work everything out anew."""
        self._found.clear()


class Judge:
    """Grades notebooks of any installed exercise. Use it as a context manager.

    Parameters
    ----------
    seed : str, optional
        Of the hidden cases. A secret one is drawn if none is given.
    limits : Limits, optional
        For each answer on the hidden cases; where it is wrong, once more for the example.
    like : Judge, optional
        One of the same seed, which works beside this one: what one draws the other need not.
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
        self._kept: Kept = like._kept if like else Kept()

    def __enter__(self) -> Self:
        self.sandbox.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.sandbox.close()

    # --- a notebook

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
            With a verdict for every question; with none where ``problem`` says why the file could
            not be graded.
        """
        try:
            submission = read_submission(path)
        except UnreadableError as error:
            return Grade(path.name, "", f"unreadable: {error}", [], self.seed, "")
        name = exercise_of(submission)
        if name is None or (exercise and name != exercise):
            looks = f"it looks like {name}, not {exercise}" if name else no_exercise(submission)
            return Grade(path.name, "", f"unmatched: {looks}", [], self.seed, "")
        known = load(name)
        answers = {q.id: find_answer(submission, known, q) for q in known.questions}
        verdicts = [
            self._grade_question(submission, known, q, answers[q.id]) for q in known.questions
        ]
        self.sandbox.wait()
        grade = Grade(
            path.name, name, "", verdicts, self.seed, self.sandbox.isolation, answers=answers
        )
        if submission.release and submission.release != known.release:
            grade.notes.append(
                f"the notebook is of release {submission.release} of the exercise; graded by "
                f"release {known.release}"
            )
        if copies_the_key(known, answers):
            grade.flags.append("identical to the solution notebook, names and all")
        return grade

    # --- one question of it

    def _grade_question(
        self,
        submission: Submission,
        exercise: Exercise,
        q: Question,
        answer: Answer,
        *,
        again: bool = True,
    ) -> Verdict:
        """Never let one question's trouble reach another's, and never score our fault as theirs.

        What fails for a reason of our own is tried once more: on a machine without memory or time
        to spare it may have been the moment.
        """
        try:
            cases = Cases()
            if answer.state == "found" and q.evidence:
                data = submission.evidence(q.evidence)
                arrays = read_evidence(self.sandbox, q, data)
                cases = Cases(Case(s, (arrays,), None, q.oracle(arrays)) for s in q.stages)
            elif answer.state == "found":
                cases = self._cases(exercise.name, q.id)
            context = context_of(submission, exercise, answer.code)
            task = Task(exercise, q, context, cases, drawn=not q.evidence)
            found = self._try_answer(task, answer)
            failed = found.verdict in ("fail", "partial") and not q.evidence
            return replace(found, example=self._example(task, answer)) if failed else found
        except (EvidenceError, UnreadableError) as error:
            return _verdict(q, "missing", 0, str(error), notes=answer.notes)
        except LateError as error:
            return not_judged(q, error, notes=answer.notes)
        except Exception as error:
            log.warning("grading %s of %s failed", q.id, exercise.name, exc_info=True)
            if again:
                return self._grade_question(submission, exercise, q, answer, again=False)
            last = traceback.extract_tb(error.__traceback__)[-1]
            hint = (
                f"the grader itself failed, twice ({type(error).__name__} in "
                f"{Path(last.filename).name}, line {last.lineno}); this is not your score"
            )
            return _verdict(q, "grader_error", 0, hint)

    def _try_answer(self, task: Task, answer: Answer) -> Verdict:
        """Have an answer computed, unless it is known already what becomes of it."""
        q = task.question
        verdict = partial(_verdict, q, notes=answer.notes)
        if answer.state != "found":
            return verdict(answer.state, 0, answer.detail, line=answer.line)
        if line := imports_the_key(answer.code):
            hint = "seqattn is the answer key: write it yourself, with PyTorch"
            return verdict("forbidden", 0, hint, line=max(0, line - answer.offset))
        try:
            outcome = self._run(task, {"learner": answer.code}, check=True)
        except WorkerDiedError:
            return _verdict(q, "grader_error", 0, "the sandbox failed; not your score")
        results = by_answer(outcome, task.cases).get("learner", {})
        if outcome.ending != "done" and "undefined" not in results:
            return verdict(ENDINGS[outcome.ending], 0, ending_hint(outcome, self.sandbox.limits))
        return self._verdict_from(task, answer, results)

    def _verdict_from(self, task: Task, answer: Answer, results: dict[Any, dict]) -> Verdict:
        """Decide from what came back for each case."""
        q, cases = task.question, task.cases
        verdict = partial(_verdict, q, notes=answer.notes)
        if "undefined" in results:
            return _raised(q, results["undefined"], answer)
        # The visible check's messages are no secret.
        rejected = results.pop("check", None)
        results = {
            case: {**one, "error": redact(one["error"], answer.code)} if "error" in one else one
            for case, one in results.items()
        }
        if set(results) != set(range(len(cases))):
            return verdict("crashed", 0, "the answer broke off what was to be sent")
        errors = [r["error"] for r in results.values() if "error" in r]
        if used := next((e for e in errors if e["type"] == "ForbiddenError"), None):
            return _raised(q, used, answer)
        if len(errors) == len(cases) and errors[0]["type"] == "NotImplementedError":
            return _raised(q, errors[0], answer)
        faults = {n: found for n, case in enumerate(cases) if (found := fault(results[n], case))}
        if not faults and rejected:
            # What the visible check refuses is not right, whatever hidden cases say.
            hint = f"The visible check refuses it: {rejected['message'] or rejected['type']}"
            points = sum(s.points for s in q.stages[1:] if not s.gradients)
            lost = [s.name for s in q.stages if s is q.stages[0] or s.gradients]
            return verdict("partial" if points else "fail", points, hint, lost=lost)
        if not faults:
            return verdict("pass", q.points, "")
        earned = [s for s in q.stages if not any(cases[n].stage is s for n in faults)]
        # Gradients of something else are worth nothing.
        earned = [s for s in earned if not s.gradients or q.stages[0] in earned]
        points = sum(stage.points for stage in earned)
        mistake = self._recognise(task, results, faults)
        first = min(faults)
        unfit = self._unfit(task, answer, results[first], first, faults[first])
        if unfit and mistake and not self._as_returned(task, mistake, results, first):
            # A probe says the same of different things that it cannot take apart.
            mistake = None
        if mistake is None and len(errors) == len(cases) and not unfit:
            return _raised(q, errors[0], answer)
        elsewhere = (mistake.read if mistake else "") or cases[first].stage.read
        error = results[first].get("error")
        line = error["line"] if error else result_line(answer.code, q.entry, faults[first].kind)
        return verdict(
            "partial" if points else "fail",
            points,
            mistake.hint if mistake else unfit or _hint(task, answer, results, faults),
            mistake=mistake.name if mistake else "",
            line=max(0, line - answer.offset),
            shapes=next((f.text for f in faults.values() if f.kind == "shape"), ""),
            read=elsewhere or q.read,
            lost=[stage.name for stage in q.stages if stage not in earned],
        )

    def _recognise(self, task: Task, results: dict, faults: dict[int, Difference]) -> Wrong | None:
        """Find the wrong answer with the same outputs on every case, down to what earns nothing."""
        q = task.question
        if task.drawn:
            mistakes = self._mistakes(task.exercise.name, q.id)
        else:
            outcome = self._run(task, {w.name: w.code for w in q.wrong})
            mistakes = by_answer(outcome, task.cases)
        ran = {n: r for n, r in results.items() if "error" not in r}
        # Of the first stage that is lost, where numbers tell mistakes apart.
        lost = task.cases[min(faults)].stage
        stage = {n: r for n, r in results.items() if task.cases[n].stage is lost}
        if not any(n in faults and faults[n].kind == "value" for n in stage):
            stage = {}
        # A few texts or flags say too little of what was done.
        if all(isinstance(task.cases[n].expected, str | bool) for n in stage):
            stage = {}
        if q.asks_for_a_test:
            # Tests are not compared in parts: many miss the same two bugs.
            ran = stage = {}
        # What float64 alone shows is a small difference, with many possible causes: digits tell.
        rough = all(task.cases[n].kind == DOUBLE for n in faults)
        shares = {n: PRECISE if rough and n in faults else RELATIVE for n in results}
        # The same in all; in all that earns points; in what ran, where sizes made the rest fail;
        # in one stage, where the next ones fail in another way; in what counts in that stage.
        looks: tuple[tuple[dict, Callable[[Case], Collection[str] | None]], ...] = (
            (results, lambda case: None),
            (results, _parts),
            (ran, _parts),
            (stage, _parts),
            (stage, lambda case: case.stage.parts or None),
        )
        for which, parts in looks:
            if not faults.keys() & which.keys():
                continue
            for wrong in q.wrong:
                known = mistakes.get(wrong.name, {})
                if (
                    known.keys() >= which.keys()
                    and all(
                        alike(which[n], known[n], parts(task.cases[n]), shares[n])
                        and (n not in faults or fault(known[n], task.cases[n]))
                        for n in which
                    )
                    and not (which is stage and _turned(task.cases, stage, known, faults))
                ):
                    return wrong
        return None

    def _unfit(self, task: Task, answer: Answer, one: dict, number: int, found: Difference) -> str:
        """Say what a probe could not take apart: how its form differs from a right answer's."""
        q, case = task.question, task.cases[number]
        if not q.probe or not _probe_refused(one, found):
            return ""
        if "form" in one:
            right = self._right_forms(task).get(number, {}).get("form")
            if text := misfit(one["form"], right, answer.code, sizes_in(case.inputs)):
                return text
        said = one.get("result", {}).get("value")
        if isinstance(said, str) and len(said) > SHORTEST and f'"{said}"' in q.probe:
            return f"What you return is not as asked: {said}."
        return ""

    def _right_forms(self, task: Task) -> dict[Any, dict]:
        """Have the reference answer computed, for the form of what it returns."""

        def compute() -> dict[Any, dict]:
            outcome = self._run(task, {"right": task.question.right[0]})
            return by_answer(outcome, task.cases).get("right", {})

        if not task.drawn:
            return compute()
        return self._kept.get(("forms", task.exercise.name, task.question.id), compute)

    def _as_returned(self, task: Task, mistake: Wrong, results: dict, number: int) -> bool:
        """Tell whether a mistake returns something of the same form, and not only fails like it."""
        if not task.drawn:
            return True
        known = self._mistakes(task.exercise.name, task.question.id)[mistake.name].get(number, {})
        return same_form(known.get("form"), results[number].get("form"))

    def _example(self, task: Task, answer: Answer) -> list[str]:
        """Find a small case, not of the hidden ones, on which an answer is wrong.

        This is a second job, with limits of its own. The verdict is known by now, and stands
        without an example: so no trouble with this one may reach it.
        """
        q = task.question
        try:
            cases = self._kept.get(
                ("shown", task.exercise.name, q.id), lambda: Cases(shown_cases(q))
            )
            shown = task._replace(cases=cases)
            outcome = self._run(shown, {"learner": answer.code})
            results = by_answer(outcome, cases).get("learner", {})
            for n, case in enumerate(shown.cases):
                one = results.get(n, {})
                wrong = fault(one, case) if "result" in one else None
                # What is of another form cannot be set beside what is right.
                if (
                    wrong
                    and wrong.kind in ("value", "nan")
                    and (lines := written(q, case, one["result"].get("value")))
                ):
                    return lines
        except Exception:
            log.warning("no example for %s of %s", q.id, task.exercise.name, exc_info=True)
        return []

    # --- cases and the sandbox

    def _cases(self, exercise: str, question: str) -> Cases:
        def draw() -> Cases:
            q = load(exercise).question(question)
            return Cases(draw_cases(exercise, q, self.seed, self.draws))

        return self._kept.get(("cases", exercise, question), draw)

    def _mistakes(self, exercise: str, question: str) -> dict[str, dict]:
        return self._kept.get(
            ("mistakes", exercise, question), lambda: self._compute_mistakes(exercise, question)
        )

    def _compute_mistakes(self, exercise: str, question: str) -> dict[str, dict]:
        task = self._task(exercise, question)
        outcome = self._run(task, {w.name: w.code for w in task.question.wrong})
        return by_answer(outcome, task.cases)

    def _task(self, exercise: str, question: str) -> Task:
        known = load(exercise)
        return Task(known, known.question(question), [], self._cases(exercise, question))

    def _run(
        self,
        task: Task,
        codes: dict[str, str],
        *,
        check: bool = False,
        seconds: float | None = None,
    ) -> JobResult:
        limits = self.sandbox.limits
        # The bank's wrong answers are one job; each may take as long as a learner's.
        limits = replace(limits, seconds=seconds or limits.seconds * len(codes))
        return self.sandbox.run(job_of(task, codes, check=check), limits)


def not_judged(q: Question, error: LateError, **more: Any) -> Verdict:
    """Give the verdict on an answer that this machine had no time for."""
    return _verdict(q, "not_judged", 0, LATE.format(error), **more)


def _verdict(q: Question, verdict: VerdictName, points: int, hint: str, **more: Any) -> Verdict:
    more.setdefault("read", "" if verdict in ("pass", "not_attempted") else q.read)
    return Verdict(q.id, q.title, verdict, points, q.points, hint, **more)


def _turned(cases: list[Case], stage: dict, known: dict, faults: dict[int, Difference]) -> bool:
    """Tell whether a mistake is right, and the answer wrong, wherever a flag is the other way.

    Of an argument that is True or False a stage may know one alone: there an answer that takes the
    two for each other does what another mistake does.
    """
    for place, flag in enumerate(cases[min(stage)].inputs):
        if not isinstance(flag, bool):
            continue
        turned = [n for n, case in enumerate(cases) if case.inputs[place] is (not flag)]
        if (
            turned
            and all(cases[n].inputs[place] is flag for n in stage)
            and all(n in faults for n in turned)
            and any(n in known and not fault(known[n], cases[n]) for n in turned)
        ):
            return True
    return False


def _probe_refused(one: dict, found: Difference) -> bool:
    """Tell whether a probe, and not the answer, stumbled over what came back."""
    if "error" in one:
        return one["error"]["line"] == 0
    return found.kind in ("type", "missing", "nothing", "shape")


def _raised(q: Question, error: dict, answer: Answer) -> Verdict:
    """Give the verdict on an answer that raises, whatever it is given."""
    verdict = partial(_verdict, q, notes=answer.notes, line=max(0, error["line"] - answer.offset))
    if error["type"] == "NotImplementedError":
        if "no method" in (missing := waits_for(q.id, error["message"])):
            return verdict("error", 0, f"The test {missing}.")
        return _verdict(q, "not_attempted", 0, "", notes=answer.notes)
    if error["type"] == "SyntaxError":
        return verdict("syntax_error", 0, why_no_python(error["message"]))
    if error["type"] == "ForbiddenError":
        name = error["message"]
        kind = "package" if name.startswith("the package ") else "function"
        hint = f"{name} does what this question asks you to write: do it without that {kind}"
        return verdict("forbidden", 0, hint)
    text = f"{error['type']}: {error['message']}".strip().rstrip(":.")[:300]
    hint = f"{text}. {reordered(answer.code, q) or advice(error, q)}".strip()
    full = error["type"] == "MemoryError" or "can't allocate memory" in error["message"]
    return verdict("memory" if full else "error", 0, hint)


def _hint(
    task: Task, answer: Answer, results: dict[Any, dict], faults: dict[int, Difference]
) -> str:
    """Say what is wrong where the mistake is none of the bank's."""
    q, first = task.question, min(faults)
    if order := reordered(answer.code, q):
        return order
    # A number that is added shows in the gradients first: float32 has too few digits for the rest.
    values = [task.cases[n] for n in faults if task.cases[n].upstream is None]
    if faults[first].kind == "value" and values and all(case.kind == DOUBLE for case in values):
        return ROUGH.format(values[0].stage.name)
    if q.explain and faults[first].kind == "value":
        came = {n: one["result"].get("value") for n, one in results.items() if "result" in one}
        if text := q.explain((task.cases[n].inputs, value) for n, value in came.items()):
            return text
    hint = hint_for(faults[first], task.cases[first].stage)
    if faults[first].kind == "changed":
        names = [*named_inputs(q, task.cases[first])]
        return re.sub(r"input (\d+)", lambda m: names[int(m[1]) - 1] if names else m[0], hint)
    if faults[first].kind in ("value", "nan"):
        hint = f"The {hint[4:]}" if hint.startswith("the ") else hint
        return f"{diagnose(q, task.cases, results, faults)} {hint}".lstrip()
    return hint


def _parts(case: Case) -> Collection[str] | None:
    return case.expected.keys() if isinstance(case.expected, dict) else None
