"""What learning platforms read: Gradescope's results, Moodle's table, JUnit's XML."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from seqattn.grading.bank import EDITION
from seqattn.grading.classroom.overrides import by_hand
from seqattn.grading.classroom.roster import NOT_ALL, Person
from seqattn.grading.grades import Grade, Verdict, details, harmless, neat

if TYPE_CHECKING:
    from seqattn.grading.classroom.run import Result

__all__ = ["as_gradescope", "as_junit", "as_moodle", "autograder_zip", "check_wheel"]

# Columns without which Moodle takes no worksheet.
NEEDED = ("Identifier", "Grade", "Last modified (grade)")
# Characters that XML 1.0 cannot hold at all.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_gradescope(grade: Grade) -> str:
    """Write ``results.json`` for Gradescope's autograder. What is pending gets no score, not 0.

    A file that cannot be read is a blank in our own tables and Moodle's, for an instructor to look
    at. Here it is a 0: without a score Gradescope asks for another run, which would tell the same,
    and the author sees the reason at once.
    """
    if grade.problem:
        # A failure of ours is nobody's 0, and another run may mend it.
        score = {} if grade.problem.startswith("grader_error") else {"score": 0}
        content: dict = {**score, "output": grade.problem, "tests": []}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    tests = [
        {
            "number": v.question,
            "name": f"{v.question} {v.title}",
            **({} if v.pending else _scored(v)),
            "max_score": v.out_of,
            "output": "\n".join(details(v)),
            "output_format": "text",
            "visibility": "visible",
        }
        for v in grade.verdicts
    ]
    pending = (
        f"{grade.pending} points are pending: run the autograder again" if grade.pending else ""
    )
    said = "\n".join(filter(None, [pending, *grade.notes]))
    content = {"output": said, "output_format": "text", "tests": tests}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _scored(v: Verdict) -> dict:
    return {"score": v.points, "status": "passed" if v.verdict == "pass" else "failed"}


def as_moodle(results: list["Result"], absent_as_zero: bool = False) -> str:
    """Write the table that Moodle's gradebook imports; points are those of all exercises.

    The columns have the names that they have in Moodle's own grading worksheet, but for the first:
    Moodle passes over a column that it does not know. Those of :data:`NEEDED` it insists on. The
    maximum is that of all exercises that somebody handed in.
    """
    stream = io.StringIO()
    table = csv.writer(stream)
    more = ["Full name", "Email address", "Maximum grade", "Feedback comments"]
    table.writerow(["student", *NEEDED, *more])
    graded = [r.grade for r in results if r.person and r.grade and r.grade.verdicts]
    most = sum({g.exercise: g.out_of for g in graded}.values())
    of: dict[Person, list[Result]] = {}
    for r in results:
        if r.person:
            of.setdefault(r.person, []).append(r)
    for person, own in of.items():
        grades = [r.grade for r in own if r.grade]
        # A file that could not be read, or that may be this student's, and points that are pending
        # are nobody's 0.
        doubtful = any(flag.startswith(NOT_ALL) for g in grades for flag in g.flags)
        failed = doubtful or any(g.pending or g.problem for g in grades)
        blank = 0 if absent_as_zero and all(r.is_absent for r in own) else ""
        total: object = "" if failed else neat(sum(g.points for g in grades)) if grades else blank
        said = "; ".join(comment for g in grades for comment in _comments(g))
        needed = [_identifier(person, own), total, person.modified]
        row = [person.id, *needed, person.name, person.email, most or "", said]
        table.writerow([harmless(cell) for cell in row])
    return stream.getvalue()


def _identifier(person: Person, own: list["Result"]) -> str:
    """Say who somebody is by Moodle's own number, or nothing where nobody knows it.

    Moodle takes what stands behind the length of "Participant" for the number: the end of a long
    id would be somebody else's.
    """
    if person.participant:
        return person.identifier
    numbers = {r.participant for r in own} - {""}
    # In a folder of several assignments somebody has a number for each.
    return f"Participant {min(numbers)}" if len(numbers) == 1 else ""


def _comments(grade: Grade) -> list[str]:
    """Say what a student should know of an exercise: hints, and points that a person gave."""
    if grade.problem:
        return [f"{grade.file}: {grade.problem}"]
    return [
        f"{grade.exercise} {v.question}: {text}"
        for v in grade.verdicts
        for text in filter(None, [v.hint, *by_hand(v)])
    ]


def as_junit(results: list["Result"]) -> str:
    """Write JUnit's XML: a suite for each file, a case for each question."""
    root = ElementTree.Element("testsuites", name="seqattn")
    for r in results:
        if r.grade is None:
            continue
        g = r.grade
        failed = sum(v.verdict != "pass" and not v.pending for v in g.verdicts)
        errors = sum(v.pending for v in g.verdicts) + bool(g.problem)
        name = _xml(r.person.id if r.person else r.label)
        counts = {"tests": len(g.verdicts) or 1, "failures": failed, "errors": errors}
        suite = ElementTree.SubElement(root, "testsuite", name=name)
        suite.attrib.update({key: str(value) for key, value in counts.items()})
        if g.problem:
            case = ElementTree.SubElement(suite, "testcase", name="file", classname=name)
            ElementTree.SubElement(case, "error", message=_xml(g.problem))
        for v in g.verdicts:
            case = ElementTree.SubElement(
                suite, "testcase", name=f"{v.question} {v.title}", classname=f"{name}.{g.exercise}"
            )
            if v.verdict != "pass":
                kind = "error" if v.pending else "failure"
                fault = ElementTree.SubElement(case, kind, message=_xml(v.hint), type=v.verdict)
                fault.text = _xml("\n".join(details(v)))
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    return NOT_XML.sub("�", text)


SETUP = """\
#!/usr/bin/env bash
# Installs the course's package, which is in this archive, and what grading needs.
set -euo pipefail
apt-get update -q && apt-get install -y -q python3 python3-venv
python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  python=python3.11  # Ubuntu 22.04 has it beside its own
  apt-get install -y -q python3.11 python3.11-venv
fi
$python -m venv /autograder/venv
/autograder/venv/bin/pip install -q --extra-index-url https://download.pytorch.org/whl/cpu \\
  "$(ls /autograder/source/*.whl)[grading]"
"""

RUN = """\
#!/usr/bin/env bash
# Grades the notebook that was handed in and writes what Gradescope shows.
set -euo pipefail
exec /autograder/venv/bin/seqattn gradescope /autograder/submission \\
  --exercise {exercise} --out /autograder/results/results.json {options}
"""


def check_wheel(wheel: Path) -> None:
    """Refuse a wheel that cannot grade.

    Raises
    ------
    ValueError
        If it is the students' edition, no wheel, or a wheel of something else.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{wheel} is no wheel: {error}") from None
    if f"seqattn/grading/{EDITION}" in names:
        raise ValueError(f"{wheel} is the students' edition, without answers: pack the other one")
    if not any(name.startswith("seqattn/grading/banks/") for name in names):
        raise ValueError(f"{wheel} is no wheel of seqattn: it holds no seqattn/grading/banks")


def autograder_zip(exercise: str, wheel: Path, out: Path, options: str = "") -> None:
    """Pack Gradescope's autograder: the same bytes whenever it is made.

    Parameters
    ----------
    exercise : str
        Its name.
    wheel : Path
        The course's package.
    out : Path
        Where the archive goes.
    options : str
        More for the command, such as ``--allow-weak``.
    """
    files = {
        "setup.sh": SETUP.encode(),
        "run_autograder": RUN.format(exercise=exercise, options=options).encode(),
        wheel.name: wheel.read_bytes(),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
