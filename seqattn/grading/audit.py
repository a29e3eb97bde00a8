"""Try what authors know or make: a judge of many answers, and the audit of an exercise.

The audit shows what an exercise's checks are worth: every known answer against every stage.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seqattn.grading.answers import Answer, imports_the_key
from seqattn.grading.bank import load
from seqattn.grading.grades import Verdict
from seqattn.grading.jobs import Cases, Task, by_answer
from seqattn.grading.judge import Judge, not_judged
from seqattn.grading.sandbox.host import LateError

__all__ = ["AuthorsJudge", "Row", "as_text", "audit"]

# Answers that authors have judged in one process.
TOGETHER = 10
# What one of them takes, in seconds, unless it never stops. Where it takes more, those that had no
# time left are judged again.
USUALLY = 0.2


class AuthorsJudge(Judge):
    """Judges answers of the bank and what is made of them, as :class:`Judge` would a learner's."""

    def judge_code(self, exercise: str, question: str, code: str) -> Verdict:
        """Judge an answer that is at hand as text; open experiments on evidence that is drawn."""
        task = self._task(exercise, question)
        try:
            return self._try_answer(task, Answer(code))
        except LateError as error:
            return not_judged(task.question, error)

    def judge_many(self, exercise: str, question: str, codes: Sequence[str]) -> list[Verdict]:
        """Judge many answers as :meth:`judge_code` would, in less time.

        One of the bank's own wrong answers is recognised by what it gave this once: that it would
        give the same again is not looked at.
        """
        task = self._task(exercise, question)
        names = {w.code: w.name for w in task.question.wrong}
        # The bank's own wrong answers are tried once, to be judged and to recognise others by.
        known = self._mistakes(exercise, question) if names.keys() & set(codes) else {}
        found: dict[str, dict | None] = {
            code: known[names[code]] for code in codes if names.get(code) in known
        }
        found |= dict(self._together(task, [code for code in codes if code not in found]))
        return [
            self._verdict_from(task, Answer(code), {**results})
            if (results := found[code]) is not None and not imports_the_key(code)
            else self.judge_code(exercise, question, code)
            for code in codes
        ]

    def refusals(self, exercise: str, question: str, codes: Sequence[str]) -> list[str]:
        """Say what the visible check says against each answer; "" where it says nothing."""
        known = load(exercise)
        task = Task(known, known.question(question), [], Cases())
        found = []
        for code, results in self._together(task, codes):
            if results is None:
                results = by_answer(self._run(task, {"0": code}, check=True), task.cases).get(
                    "0", {}
                )
            error = results.get("undefined") or results.get("check")
            found.append(f"{error['type']}: {error['message']}" if error else "")
        return found

    def _compute_mistakes(self, exercise: str, question: str) -> dict[str, dict]:
        task = self._task(exercise, question)
        tried = self._together(task, [w.code for w in task.question.wrong])
        found = {}
        for w, (code, results) in zip(task.question.wrong, tried, strict=True):
            if results is None:  # its process ended with it, perhaps for what others had taken
                outcome = self._run(task, {"0": code}, check=True)
                ended = outcome.ending == "done"
                results = by_answer(outcome, task.cases).get("0") if ended else None
            if results is not None:
                found[w.name] = results
        return found

    def _together(self, task: Task, codes: Sequence[str]) -> Iterator[tuple[str, dict | None]]:
        """Try answers, many in a process; give None with one that ends it.

        Answers share that process, so this is for authors: for those who wrote all of them.
        """
        left = [*codes]
        while left:
            named = {str(n): code for n, code in enumerate(left[:TOGETHER])}
            seconds = self.sandbox.limits.seconds + USUALLY * len(named)
            outcome = self._run(task, named, check=True, seconds=seconds)
            results: dict[str, dict | None] = {**by_answer(outcome, task.cases)}
            tried = len(named)
            if outcome.ending != "done":
                # Each says when it starts: those before the last one that did are complete.
                tried = max(1, sum(n in results for n in named))
                results[str(tried - 1)] = None
            yield from ((left[n], results.get(str(n))) for n in range(tried))
            left = left[tried:]


# --- the audit ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What became of a known answer.

    Attributes
    ----------
    question, name : str
        Whose question, and what the answer is: ``right 1``, ``stub``, or a mistake.
    points, expected : int
        What it got and what it should.
    lost : tuple of str
        Stages that caught it.
    said : str
        The mistake that was recognised, or the verdict.
    good : bool
        Whether all is as the bank says.
    """

    question: str
    name: str
    points: float
    expected: int
    lost: tuple[str, ...]
    said: str
    good: bool


def audit(exercise: str, seeds: int = 1) -> list[Row]:
    """Judge all answers that a bank knows, and its stubs, on one seed or more."""
    known = load(exercise)
    rows = []
    for seed in range(seeds):
        with AuthorsJudge(f"audit {seed}") as judge:
            for q in known.questions:
                answers = [
                    (f"right {n}", code, q.points, "pass") for n, code in enumerate(q.right, 1)
                ]
                answers.append(("stub", known.pristine[q.id].source, 0, ""))
                answers += [(w.name, w.code, w.keeps, w.name) for w in q.wrong]
                verdicts = judge.judge_many(exercise, q.id, [code for _, code, *_ in answers])
                for (name, _, points, said), v in zip(answers, verdicts, strict=True):
                    heard = v.mistake or v.verdict
                    good = v.points == points and (heard == said or not said)
                    rows.append(Row(q.id, name, v.points, points, tuple(v.lost), heard, good))
    return rows


def as_text(exercise: str, rows: list[Row]) -> str:
    """Write the kill matrix: a row an answer, a column a stage, x where the stage caught it."""
    lines = []
    for q in load(exercise).questions:
        mine = [r for r in rows if r.question == q.id]
        lines.append(f"{q.id} {q.title}")
        for number, stage in enumerate(q.stages, 1):
            caught = sum(stage.name in r.lost for r in mine)
            lines.append(f"  {number} = {stage.name} ({stage.points}), caught {caught}")
        width = max(len(r.name) for r in mine)
        for r in mine:
            marks = "".join("x" if s.name in r.lost else "." for s in q.stages)
            points = "" if r.points == r.expected else f"{r.expected} expected, "
            wrong = "" if r.good else f"   WRONG: {points}taken for {r.said!r}"
            lines.append(f"    {r.name:{width}}  {marks}  {r.points}/{q.points}{wrong}")
    bad = sum(not r.good for r in rows)
    lines.append(f"{len(rows)} answers judged, {bad} not as the bank says")
    return "\n".join(lines)
