"""Tell which exercise a notebook is."""

from seqattn.grading.bank import exercises, load
from seqattn.grading.reading import Submission
from seqattn.grading.submission import find_answer

__all__ = ["match"]


def match(submission: Submission) -> str | None:
    """Name the exercise whose answer cells the notebook has most of, or None."""
    best, most = None, 0
    for name in exercises():
        exercise = load(name)
        ids = {cell.id for cell in submission.cells if cell.id}
        found = sum(
            exercise.pristine[q.id].cell_id in ids
            or find_answer(submission, exercise, q).state != "missing"
            for q in exercise.questions
        )
        if found > most:
            best, most = name, found
    return best
