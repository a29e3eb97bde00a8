"""Two wheels from one source: one that grades, and one that knows the exercises but no answers.

``python -m tools.build wheels`` makes both. The students' wheel finds exercises and runs their
visible checks; of each bank it holds what the exercise itself says.
"""

from importlib.resources import files

from seqattn.grading.bank import Exercise, load, pack

__all__ = ["EDITION", "NoKeysError", "knows_answers", "require_keys", "without_keys"]

# In the students' wheel alone, beside this file.
EDITION = "edition.txt"


class NoKeysError(Exception):
    """Grading was asked of a package that holds no answers."""

    def __init__(self) -> None:
        super().__init__(
            "this is the students' edition of the course: it holds no reference answers and no "
            "hidden cases, so that points come from your instructor; seqattn check NOTEBOOK runs "
            "the checks that you can see"
        )


def knows_answers() -> bool:
    """Tell whether this package can grade."""
    return not (files("seqattn.grading") / EDITION).is_file()


def require_keys() -> None:
    """Refuse to grade where there is nothing to grade by.

    Raises
    ------
    NoKeysError
        In the students' edition.
    """
    if not knows_answers():
        raise NoKeysError


def without_keys(name: str) -> bytes:
    """Pack a bank that says what the exercise says: questions, points and empty answer cells.

    Parameters
    ----------
    name : str
        The exercise.
    """
    exercise = load(name)
    pristine = {q: {"cell_id": p.cell_id, "source": p.source} for q, p in exercise.pristine.items()}
    return pack(_stated(exercise), pristine, exercise.release)


_HEAD = """\
from seqattn.grading.bank import Exercise, Question, Stage
from seqattn.grading.editions import NoKeysError


def absent(*inputs):
    raise NoKeysError

"""


def _stated(exercise: Exercise) -> str:
    lines = [_HEAD, "QUESTIONS = ("]
    for q in exercise.questions:
        said = {"id": q.id, "title": q.title, "entry": q.entry, "signature": q.signature}
        said |= {"read": q.read, "evidence": q.evidence}
        fields = ", ".join(f"{field}={value!r}" for field, value in said.items())
        stage = f"Stage('all', {q.points}, (), '')"
        empty = "draw=absent, oracle=absent, right=(), wrong=()"
        lines.append(f"    Question({fields}, stages=({stage},), {empty}),")
    lines += [")", f"EXERCISE = Exercise({exercise.name!r}, {exercise.title!r}, QUESTIONS)"]
    return "\n".join(lines) + "\n"
