"""Grade a folder in parallel; go on where an interrupted run stopped."""

import hashlib
import json
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from seqattn.grading.answers import Answer, answers_of, exercise_of, forget
from seqattn.grading.bank import exercises, load
from seqattn.grading.classroom.roster import (
    NOT_ALL,
    Person,
    alike,
    begins_with_id,
    beyond_repositories,
    candidates,
    closeness,
    find_person,
    heads_of_repositories,
)
from seqattn.grading.classroom.similarity import fingerprint
from seqattn.grading.classroom.submissions import Handed, may_hold_answers, natural
from seqattn.grading.grades import Grade, write_whole
from seqattn.grading.judge import Judge
from seqattn.grading.notebook import MOST_BYTES, read_submission

__all__ = [
    "Result",
    "WeakIsolationError",
    "grade_all",
    "grade_one",
    "settle",
]

# Rises when the way in which answers are judged changes: what an interrupted run had graded before
# is graded again. (The form of a record has a number of its own, `RECORD` of grades.py.)
ENGINE = 6


class WeakIsolationError(Exception):
    """Answers cannot be contained as a class's should be."""


@dataclass
class Result:
    """What became of a student.

    Attributes
    ----------
    person : Person or None
        None where nobody on the roster fits.
    grade : Grade or None
        None where nothing was handed in.
    label : str
        The file, below the folder of submissions.
    problem : str
        ``unmatched: ...`` where nobody fits. Of somebody without a grade: the file that may be
        theirs.
    prints : dict of question to Counter
        Fingerprints, for the similarity report.
    participant : str
        Moodle's number of whoever handed the file in; empty where it has none.
    """

    person: Person | None
    grade: Grade | None
    label: str = ""
    problem: str = ""
    prints: dict = field(default_factory=dict)
    participant: str = ""

    @property
    def is_absent(self) -> bool:
        """Whether nothing was handed in, as far as anybody can tell."""
        return self.grade is None and not self.problem


def grade_all(
    files: list[Handed],
    seed: str,
    store: Path,
    *,
    jobs: int = 1,
    exercise: str | None = None,
    allow_weak: bool = False,
    tell: Callable[[int, int, Handed, Grade], None] = lambda *_: None,
) -> dict[str, Grade]:
    """Grade files, some at a time; the grades do not depend on how many.

    Parameters
    ----------
    files : list of Handed
        What to grade.
    seed : str
        Of the hidden cases: all get the same.
    store : Path
        Folder where each grade is put as soon as it is there. What lies in it is not graded again.
    jobs : int
        How many at a time; each has a sandbox of its own.
    exercise : str, optional
        The only one that is expected.
    allow_weak : bool
        Go on where answers cannot be contained fully.
    tell : callable
        Hears of each file that is graded now, and of none whose grade was kept: number, total,
        file, grade.

    Returns
    -------
    dict of str to Grade
        By label, in the order of the files.

    Raises
    ------
    WeakIsolationError
        If the machine cannot contain answers, and that was not allowed.
    """
    store.mkdir(parents=True, exist_ok=True)
    grades: dict[str, Grade] = {}
    waiting = []
    for handed in {handed.label: handed for handed in files}.values():
        name = _cache_name(handed, seed, exercise)
        stored = _load(store / f"{name}.json")
        if stored is not None:
            # The name is made of the file's content: what is read now is what was graded then.
            answers = answers_of(handed.path, stored.exercise)
            grades[handed.label] = replace(stored, answers=answers)
        else:
            waiting.append((handed, name))
    done, total = len(grades), len(grades) + len(waiting)
    if waiting:
        with _judges(seed, min(jobs, len(waiting)), allow_weak) as idle:

            def one(handed: Handed, name: str) -> tuple[Handed, Grade]:
                judge = idle.get()
                try:
                    grade = grade_one(judge, handed.path, exercise)
                finally:
                    idle.put(judge)
                # A trouble of ours is not kept: the next run tries again.
                if not (grade.pending or grade.problem.startswith("grader_error")):
                    write_whole(store / f"{name}.json", json.dumps(grade.to_dict()))
                return handed, grade

            pool = ThreadPoolExecutor(jobs)
            try:
                for future in as_completed([pool.submit(one, *w) for w in waiting]):
                    handed, grade = future.result()
                    grades[handed.label] = grade
                    done += 1
                    tell(done, total, handed, grade)
            finally:
                # On Ctrl-C: what runs ends, what waits is dropped.
                pool.shutdown(wait=True, cancel_futures=True)
    return {handed.label: grades[handed.label] for handed in files}


def grade_one(judge: Judge, path: Path, exercise: str | None) -> Grade:
    """Grade a file; whatever it is, it costs its author's row and nobody else's.

    Parameters
    ----------
    judge : Judge
        Who grades.
    path : Path
        The file.
    exercise : str, optional
        The only one that is expected.
    """
    try:
        return judge.grade(path, exercise)
    except OSError:
        raise  # a full disk is nobody's file
    except Exception as error:
        trouble = f"grader_error: reading it failed ({type(error).__name__})"
        return Grade(path.name, "", trouble, [], judge.seed, "")
    finally:
        forget()


@contextmanager
def _judges(seed: str, count: int, allow_weak: bool) -> Iterator[queue.Queue]:
    """Start judges that share their cases, each with a worker of its own."""
    with ExitStack() as stack:
        first = stack.enter_context(Judge(seed))
        others = [stack.enter_context(Judge(seed, like=first)) for _ in range(count - 1)]
        first.sandbox.wait()
        if not first.sandbox.isolation.startswith("full") and not allow_weak:
            raise WeakIsolationError(first.sandbox.isolation)
        idle: queue.Queue = queue.Queue()
        for judge in (first, *others):
            idle.put(judge)
        yield idle


def settle(files: list[Handed], grades: dict[str, Grade], roster: list[Person]) -> list[Result]:
    """Give each student one file for each exercise, and each file that is nobody's a row.

    Of several files for one exercise the newest that can be read counts, by time of change and then
    by name. A notebook that cannot be read has a row of its own: nobody knows what is lost with it.
    Whoever is on the roster and handed in nothing gets a result without a grade. Without a roster
    the platform's numbers tell people of one name apart.
    """
    results: list[Result] = []
    maybe: dict[str, str] = {}
    people: dict[str, Person] = {}
    of: dict[str, list[Handed]] = {}
    namesakes = _namesakes(files, grades)
    for handed in files:
        person, problem = find_person(handed, roster, namesakes)
        if person is None:
            stray = Result(None, grades[handed.label], handed.label, f"unmatched: {problem}")
            results.append(stray)
            fitting = [*candidates(handed, roster), *begins_with_id(handed, roster)]
            maybe.update({p.id: handed.label for p in fitting})
            continue
        people[person.id] = person
        of.setdefault(person.id, []).append(handed)
    known = [person.id for person in roster if person.id in of]
    heads = {id_: heads_of_repositories(of[id_], people[id_]) for id_ in known}
    for id_ in known:
        others = {head for other in known if other != id_ for head in heads[other].values()}
        foreign = beyond_repositories(heads[id_], others)
        own, doubtful = _without_others(people[id_], of[id_], grades, foreign)
        for handed in doubtful:
            problem = f"unmatched: {_either(people[id_], of[id_])}"
            results.append(Result(None, grades[handed.label], handed.label, problem))
            maybe.update({p.id: handed.label for p in [people[id_], *alike(handed, roster)]})
        of[id_] = own
    for id_, own in of.items():
        if not own:
            continue
        found = _results_of(people[id_], own, grades)
        if id_ in maybe and found[0].grade:
            found[0].grade.flags.append(f"{NOT_ALL}: {maybe[id_]} may be this student's")
        results += found
    for person in roster:
        if not of.get(person.id):
            # Whose that is must be decided before anybody is called absent.
            where = maybe.get(person.id)
            doubt = f"perhaps not absent: {where} may be this student's" if where else ""
            results.append(Result(person, None, problem=doubt))
    return sorted(results, key=lambda r: (r.person is None, _name(r), r.label))


def _without_others(
    person: Person, files: list[Handed], grades: dict[str, Grade], foreign: set[str]
) -> tuple[list[Handed], list[Handed]]:
    """Part a person's files from those that may be another's who has that name, too.

    Those that are foreign by their names are not this person's.
    Who hands in one exercise in several places may be several people. What says most closely whose
    it is stays; of names that say it alike under different numbers of the platform, nothing does.
    """
    owners: dict[str, dict[str, Handed]] = {}
    unread = [h for h in files if _is_lost(grades[h.label], h.path)]
    for exercise in {grades[h.label].exercise for h in files if grades[h.label].exercise} or {""}:
        for handed in files:
            # What cannot be read may be of any exercise.
            if grades[handed.label].exercise == exercise or handed in unread:
                owners.setdefault(exercise, {}).setdefault(handed.owner, handed)
    doubtful = {*foreign}
    for several in owners.values():
        numbers = {handed.number for handed in several.values()} - {""}
        # Among names without numbers, an id is no closer than the name as it stands.
        least = 0 if numbers else 1
        rank = {owner: max(least, closeness(handed, person)) for owner, handed in several.items()}
        closest = min(rank.values())
        if closest and len(numbers) > 1:
            doubtful.update(several)
        else:
            doubtful.update(owner for owner in several if rank[owner] > closest)
    kept = [h for h in files if h.owner not in doubtful]
    return kept, [h for h in files if h.owner in doubtful]


def _either(person: Person, files: list[Handed]) -> str:
    """Say between whose files nobody decides, and what would."""
    owners = ", ".join(sorted({h.owner for h in files}))
    what = "folder" if "folder" in {h.kind for h in files} else "file"
    if len({h.owner for h in files}) == 1:
        return (
            f"{owners} may be of {person.id} or of somebody whose name ends in -{person.github}: "
            f"rename the {what} to the id"
        )
    return f"{person.id} may be either of {owners}: rename the {what} to the id"


def _namesakes(files: list[Handed], grades: dict[str, Grade]) -> set[str]:
    """Find names of several people: who hands in one exercise under two numbers is two.

    What cannot be read may be of any exercise.
    """
    numbers: dict[str, dict[str, set[str]]] = {}
    for handed in files:
        grade = grades[handed.label]
        if grade.exercise or _is_lost(grade, handed.path):
            of = numbers.setdefault(handed.called[0], {})
            of.setdefault(grade.exercise, set()).add(handed.number)
    found = set()
    for name, of in numbers.items():
        unread = of.pop("", set())
        if any(len((several | unread) - {""}) > 1 for several in [*of.values(), unread]):
            found.add(name)
    return found


def _results_of(person: Person, files: list[Handed], grades: dict[str, Grade]) -> list[Result]:
    """Choose what counts of a student's files: one for each exercise, and what is lost."""
    chosen: dict[str, list[Handed]] = {}
    lost, other = [], []
    for handed in files:
        if exercise := grades[handed.label].exercise:
            chosen.setdefault(exercise, []).append(handed)
        elif _is_lost(grades[handed.label], handed.path):
            lost.append(handed)
        else:
            other.append(handed)
    groups = [*(chosen[exercise] for exercise in sorted(chosen)), *([one] for one in lost)]
    # What is no exercise is a row of its own where it is all that there is, else a note.
    beside = [f"not graded: {h.label}: {grades[h.label].problem}" for h in other] if groups else []
    results = []
    for several in groups or [other]:
        newest = max(several, key=lambda h: (_changed(h.path), natural(h.label)))
        grade = grades[newest.label]
        if newest.together:  # each has the grade, with what else there is to say of each
            said = f"handed in together with {', '.join(newest.together)}"
            grade = replace(grade, notes=[*grade.notes, said], flags=[*grade.flags])
        grade.notes.extend([*_about(newest, several), *beside])
        beside = []
        prints = fingerprints(grade.answers, grade.exercise) if grade.exercise else {}
        number = newest.participant
        results.append(Result(person, grade, newest.label, "", prints, number))
    return results


def _is_lost(grade: Grade, path: Path) -> bool:
    """Tell what may have been answers from a README or a module beside a notebook."""
    if grade.problem.startswith("grader_error"):
        return True
    if grade.problem.startswith("unmatched: this is "):  # a chapter, as `no_exercise` says
        return True
    # A picture, a module, settings: no answers, unless they have the exercise's name.
    notebook = may_hold_answers(path) and path.suffix.lower() not in (".py", ".md")
    maybe = notebook or path.name.startswith(tuple(exercises()))
    return grade.problem.startswith("unreadable") and maybe


def _about(newest: Handed, several: list[Handed]) -> list[str]:
    """Note why one of a student's files counts, and that it came late."""
    notes = []
    if len(several) > 1:
        names = ", ".join(sorted(h.label for h in several if h is not newest))
        times = [_changed(h.path) for h in several]
        which = "newest file counts"
        if times.count(max(times)) > 1:
            which = "newest files are of one time, and the last of them by name counts"
        notes.append(f"duplicate: the {which}; not counted: {names}")
    if newest.is_late:
        notes.append("late: Canvas says so in the name of the file")
    return notes


def fingerprints(answers: dict[str, Answer], name: str) -> dict:
    """Take the fingerprint of each answer of a notebook that was graded."""
    pristine = load(name).pristine
    return {
        q: fingerprint(a.code, pristine[q].source) for q, a in answers.items() if a.state == "found"
    }


def _name(result: Result) -> str:
    return result.person.id if result.person else ""


def _changed(path: Path) -> float:
    return path.lstat().st_mtime


def _cache_name(handed: Handed, seed: str, exercise: str | None) -> str:
    """Name a result after all that it depends on."""
    parts = [str(ENGINE), seed, exercise or "", handed.label, _releases()]
    # Names that are no UTF-8 come with surrogates in them.
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass"))
    if handed.path.is_file() and not handed.path.is_symlink():
        try:
            about = handed.path.stat()
            if about.st_size > MOST_BYTES:  # too large to be read: its text cannot matter
                digest.update(f"{about.st_size} {about.st_mtime_ns}".encode())
            else:
                digest.update(handed.path.read_bytes())
                digest.update(_evidence_of(handed.path))
        except OSError:
            pass
    return digest.hexdigest()[:32]


def exercise_in(path: Path) -> str:
    """Tell which exercise a file is, without grading it; "" where it is none, or cannot be read."""
    try:
        return exercise_of(read_submission(path)) or ""
    except Exception:  # grading the file says what is wrong with it
        return ""


def _evidence_of(path: Path) -> bytes:
    try:
        submission = read_submission(path)
        name = exercise_of(submission)
    except Exception:
        return b""
    asked = [q.evidence for q in load(name).questions if q.evidence] if name else []
    return b"\0".join(submission.evidence(file) or b"" for file in asked)


_lock = threading.Lock()


def _releases() -> str:
    with _lock:
        return " ".join(f"{name}:{load(name).fingerprint}" for name in exercises())


def _load(path: Path) -> Grade | None:
    try:
        return Grade.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
