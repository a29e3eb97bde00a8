"""Show what an exercise's checks are worth: every known answer against every stage."""

from dataclasses import dataclass

from seqattn.grading.authors import AuthorsJudge
from seqattn.grading.bank import load

__all__ = ["Row", "as_text", "audit"]


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
    """AuthorsJudge all answers that a bank knows, and its stubs, on one seed or more."""
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
            wrong = "" if r.good else f"   WRONG: {r.expected} expected, heard {r.said!r}"
            lines.append(f"    {r.name:{width}}  {marks}  {r.points}/{q.points}{wrong}")
    bad = sum(not r.good for r in rows)
    lines.append(f"{len(rows)} answers judged, {bad} not as the bank says")
    return "\n".join(lines)
