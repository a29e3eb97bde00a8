"""A judge for authors, who have answers at hand as text, and many of them."""

from collections.abc import Iterator, Sequence

from seqattn.grading.answers import Answer, imports_the_key
from seqattn.grading.bank import load
from seqattn.grading.judge import Judge, not_judged
from seqattn.grading.sandbox.jobs import LateError
from seqattn.grading.trials import Cases, Task, by_answer
from seqattn.grading.verdicts import Verdict

__all__ = ["AuthorsJudge"]

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
        """Judge many answers as :meth:`judge_code` would, in less time."""
        task = self._task(exercise, question)
        return [
            self._verdict_from(task, Answer(code), results)
            if results is not None and not imports_the_key(code)
            else self.judge_code(exercise, question, code)
            for code, results in self._together(task, codes)
        ]

    def refusals(self, exercise: str, question: str, codes: Sequence[str]) -> list[str]:
        """Say what the visible check says against each answer; "" where it says nothing."""
        known = load(exercise)
        task = Task(known, known.question(question), [], Cases())
        found = []
        for code, results in self._together(task, codes):
            if results is None:
                results = by_answer(self._run(task, {"0": code}, check=True)).get("0", {})
            error = results.get("undefined") or results.get("check")
            found.append(f"{error['type']}: {error['message']}" if error else "")
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
            results: dict[str, dict | None] = {**by_answer(outcome)}
            tried = len(named)
            if outcome.ending != "done":
                # Each says when it starts: those before the last one that did are complete.
                tried = max(1, sum(n in results for n in named))
                results[str(tried - 1)] = None
            yield from ((left[n], results.get(str(n))) for n in range(tried))
            left = left[tried:]
