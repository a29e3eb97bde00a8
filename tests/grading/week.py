"""A week of a class whose files are graded by what stands in them, as "02_softmax 1" says."""

import csv
import io

from seqattn.grading.answers import Answer
from seqattn.grading.grades import Grade, Verdict


def grade_of(path, seed):
    words = path.read_text().split()
    if len(words) != 2:
        return Grade(path.name, "", "unreadable: not JSON", [], seed, "")
    right = int(words[1])
    first = Verdict(
        "q1", "First", "pass" if right else "fail", right, 2, hint="" if right else "oh"
    )
    # No fingerprint is taken of an answer in this state.
    answers = {"q1": Answer(path.read_text(), "missing")}
    return Grade(path.name, words[0], "", [first], seed, "full", answers=answers)


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def files_in(out):
    return {
        path.relative_to(out).as_posix()
        for path in out.rglob("*")
        if path.is_file() and ".graded" not in path.parts
    }
