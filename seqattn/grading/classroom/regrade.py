"""Grade a class again and say what changed."""

from dataclasses import dataclass

__all__ = ["Change", "as_text", "compare"]


@dataclass(frozen=True)
class Change:
    """A question whose points are not what they were.

    Attributes
    ----------
    record : str
        Name of the student's record.
    question : str
        Which question; ``file`` where it could not be read before or cannot be now.
    before, after : str
        Points and verdict.
    """

    record: str
    question: str
    before: str
    after: str


def compare(old: dict[str, dict], new: dict[str, dict]) -> list[Change]:
    """List the questions whose points or verdicts differ between two gradings."""
    changes = []
    for name in sorted(old.keys() | new.keys()):
        was, is_ = _points(old.get(name)), _points(new.get(name))
        for question in sorted(was.keys() | is_.keys()):
            before, after = was.get(question, "none"), is_.get(question, "none")
            if before != after:
                changes.append(Change(name, question, before, after))
    return changes


def _points(record: dict | None) -> dict[str, str]:
    if record is None:
        return {}
    if record["problem"]:
        return {"file": record["problem"]}
    # No points: they are pending.
    return {
        v["question"]: f"{'?' if v['points'] is None else v['points']} {v['verdict']}"
        for v in record["verdicts"]
    }


def as_text(changes: list[Change]) -> str:
    """Write changes for a terminal."""
    if not changes:
        return "no score changed"
    students = len({c.record for c in changes})
    lines = [f"  {c.record}  {c.question}: {c.before} -> {c.after}" for c in changes]
    return "\n".join([f"{len(changes)} changes for {students} students", *lines])
