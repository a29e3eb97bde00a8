"""Who handed in what: files, students and the roster, as platforms hand them out.

A student is never guessed: a file whose name fits nobody on the roster, or more than one person, is
listed as unmatched. Whoever renames it, or its folder, to the student's id assigns it.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import yaml

from seqattn.grading.bank import exercises
from seqattn.grading.classroom.tables import MOST, read_table

__all__ = [
    "NOT_ALL",
    "Handed",
    "Person",
    "alike",
    "begins_with_id",
    "candidates",
    "closeness",
    "collect",
    "find_person",
    "is_late",
    "kind_of",
    "may_hold_answers",
    "natural",
    "owner_of",
    "participant_of",
    "read_roster",
]

NOTEBOOKS = (".ipynb", ".py", ".md", ".zip", ".ipynb.txt", ".ipynb.json")
ENDINGS = (*sorted(NOTEBOOKS, key=len)[::-1], ".nbconvert")
# Moodle: "Ada Lovelace_12345_assignsubmission_file"; Canvas: "lovelaceada_12345_67890_name.ipynb".
MOODLE = re.compile(r"^(?P<owner>(?P<name>.+?)_(?P<number>\d+))_assignsubmission_")
CANVAS = re.compile(r"^(?P<owner>(?P<name>[^\W_]+)(?P<late>_LATE)?_(?P<number>\d+))_\d+_")
# Begins what is flagged where another file may be the same student's.
NOT_ALL = "perhaps not all"
# What Python and operating systems leave behind; so is all that begins with a dot.
CLUTTER = {"__pycache__", "__MACOSX", "Thumbs.db", "desktop.ini"}
# What an instructor puts beside the students' files, and students beside their notebooks.
BESIDE = (".npz", ".csv", ".json", ".txt", ".yml", ".yaml")
# Columns of rosters, as people write them and as Moodle, Canvas and Gradescope export them.
ID = ("id", "student id", "username", "id number", "sid", "sis user id", "sis login id")
NAME, FIRST, LAST = ("name", "full name", "student"), ("first name",), ("last name", "surname")
EMAIL = ("email", "email address")
# Moodle's grading worksheet numbers those who take part: "Participant 100". The folder of what
# they hand in has the same number, and no two people of one Moodle have the same.
IDENTIFIER = ("identifier",)
PARTICIPANT = re.compile(r"(?:\D*\s|\D{6,})(\d+)")
# Canvas puts a line below the head that is nobody's.
NOBODY = "pointspossible"
# Letters that are no other letter with an accent, as platforms write them without.
LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)


@dataclass(frozen=True)
class Person:
    """Somebody on the roster, or known from a file name alone.

    Attributes
    ----------
    id, name, email : str
        As the roster has them.
    identifier : str
        What Moodle's grading worksheet calls this person: "Participant 100"; else empty.
    """

    id: str
    name: str = ""
    email: str = ""
    identifier: str = ""

    @property
    def participant(self) -> str:
        """The number in the identifier."""
        match = PARTICIPANT.fullmatch(self.identifier)
        return match[1] if match else ""

    @property
    def ordered(self) -> set[str]:
        """The name with its words in this person's own order, as it stands and without a comma."""
        last, comma, first = self.name.partition(",")
        return {name for name in (self.name, f"{first} {last}" if comma else "") if name}

    @property
    def names(self) -> set[str]:
        """The name, and the other orders in which platforms write its words."""
        every = {self.name}
        last, comma, first = self.name.partition(",")
        words = f"{first} {last}".split() if comma else self.name.split()
        if len(words) > 1:
            # Canvas writes the family name first and leaves out the blanks.
            every |= {" ".join(words), "".join([*words[1:], words[0]])}
            every.add(f"{words[-1]}, {' '.join(words[:-1])}")
        return {name for name in every if name}

    @property
    def keys(self) -> set[str]:
        """What a file may call this person."""
        every = {self.id, self.email, self.email.partition("@")[0], *self.names}
        return {key for key in every if key}


@dataclass(frozen=True)
class Handed:
    """A file that was handed in.

    Attributes
    ----------
    path : Path
        Where it lies.
    label : str
        Its path below the folder of submissions: what reports call it.
    called : tuple of str
        What it says about its author: names, addresses.
    number : str
        By which the platform tells people of one name apart; "" where there is none.
    together : tuple of str
        With whom it was handed in: each of them has it as well.
    """

    path: Path
    label: str
    called: tuple[str, ...] = field(default_factory=tuple)
    number: str = ""
    together: tuple[str, ...] = ()


def collect(folder: Path) -> list[Handed]:
    """List what was handed in, without what Jupyter and the system keep beside it.

    Where a folder holds notebooks, other files in it belong to them and are not listed. Whose a
    file is depends on where the platform put it, never on what it or one beside it says.
    """
    folder = _inner(folder)
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not any(map(_is_clutter, parts)) and (path.is_symlink() or not path.is_dir()):
            found.append(path)
    submitters = _gradescope_submitters(folder)
    listed = [p for p in found if p.parent != folder or p.name not in METADATA]
    usual = [p for p in listed if may_hold_answers(p)]
    kept = [p for p in listed if p in usual or not _has_company(p, usual, folder)]
    handed = []
    for label in (path.relative_to(folder) for path in kept):
        top = _top(label)
        together = submitters.get(top) or [_called(label)]
        for called in together:
            others = tuple(names[0] for names in together if names != called)
            one = Handed(folder / label, str(label), called, _number(top), others)
            handed.append(one)
    return handed


def _inner(folder: Path) -> Path:
    """Go into the folder that a platform's archive puts around those of the students.

    Beside it may lie the archive itself, a roster and reports, but neither notebooks nor folders.
    """
    inside = [path for path in folder.iterdir() if not _is_clutter(path.name)]
    if any(_ends_as_notebook(path.name) for path in inside if path.suffix.lower() != ".zip"):
        return folder
    around = [path for path in inside if path.is_dir() and not path.is_symlink()]
    around = [path for path in around if any(path.iterdir()) and not (path / "run.json").exists()]
    if len(around) != 1 or _owner(around[0].name) is not None:
        return folder
    names = [path.name for path in around[0].iterdir() if not _is_clutter(path.name)]
    owners = {_owner(name) for name in names}
    # One name alone may be what a student calls a file.
    platform = (len(owners) > 1 and None not in owners) or any(map(MOODLE.match, names))
    exported = not {*METADATA}.isdisjoint(names) and any(
        n.startswith("submission_") for n in names if n not in METADATA
    )
    return around[0] if platform or exported else folder


def _is_clutter(name: str) -> bool:
    hidden = name.startswith(".") and (name.startswith("._") or not _ends_as_notebook(name))
    return hidden or name in CLUTTER or name.startswith("~$")


def _ends_as_notebook(name: str) -> bool:
    return name.lower().endswith(NOTEBOOKS)


def may_hold_answers(path: Path) -> bool:
    """Tell what may hold answers; browsers save notebooks under other names, too."""
    if _ends_as_notebook(path.name):
        return True
    if path.suffix.lower() not in (".json", ".txt") or path.is_symlink() or not path.is_file():
        return False
    if path.name in METADATA:
        return False
    try:
        with path.open("rb") as file:  # cut off, it has a row that says so
            start = file.read(4096)
    except OSError:
        return False
    return start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and b'"cell' in start


def _has_company(path: Path, usual: list[Path], folder: Path) -> bool:
    if len(path.relative_to(folder).parts) > 1 and not _is_shared(path.parent, folder):
        return any(p.parent == path.parent for p in usual)
    owner = _owner(path.name)
    # Side by side without names to tell whose is whose: only evidence is left out.
    if owner is None:
        return path.suffix.lower() in BESIDE
    return any(p.parent == path.parent and _owner(p.name) == owner for p in usual)


def _is_shared(place: Path, folder: Path) -> bool:
    """Tell whether a folder is that of an exercise, with files of many students side by side."""
    return all(part in exercises() for part in place.relative_to(folder).parts)


def _top(label: Path) -> str:
    """Take the part of a path that says whose it is: the first that is no exercise's folder."""
    *folders, name = label.parts
    return next((part for part in folders if part not in exercises()), name)


def _owner(name: str) -> str | None:
    """Take the part of a platform's file name that all files of one student share."""
    match = MOODLE.match(name) or CANVAS.match(name)
    return match["owner"] if match else None


def _number(top: str) -> str:
    match = MOODLE.match(top) or CANVAS.match(top)
    return match["number"] if match else ""


def _called(label: Path) -> tuple[str, ...]:
    top = _top(label)
    for pattern in (MOODLE, CANVAS):
        if match := pattern.match(top):
            return (match["name"],)
    if top != label.name:
        return (top,)
    # A zip of a notebook, or what nbconvert left, has two endings.
    bare = top
    while ending := next((e for e in ENDINGS if bare.lower().endswith(e)), ""):
        bare = bare[: -len(ending)]
    return ((bare if bare != top else Path(top).stem) or top,)


# Gradescope's export has one of these beside the students' folders. A file of that name inside a
# student's folder is the student's own, and says nothing.
METADATA = ("submission_metadata.yml", "submission_metadata.json")


def _gradescope_submitters(folder: Path) -> dict[str, list[tuple[str, ...]]]:
    """Read who handed in which folder of an export: address, id and name of each, by folder."""
    for path in (folder / name for name in METADATA):
        if not path.is_file() or path.is_symlink():
            continue
        try:
            if path.stat().st_size > MOST:
                raise ValueError(f"it is larger than {MOST >> 20} MB")
            # YAML includes JSON. Gradescope writes Ruby's symbols, ":email", as keys.
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            return {str(name): _names(entry) for name, entry in content.items()}
        except (OSError, ValueError, yaml.YAMLError, AttributeError, TypeError, KeyError) as error:
            raise ValueError(f"{path} does not say who handed in what: {error}") from None
        except RecursionError:
            raise ValueError(f"{path} does not say who handed in what: too deep") from None
    return {}


def _names(entry: dict) -> list[tuple[str, ...]]:
    """Take what an entry calls its submitters; of what is no text or number nothing is a name."""
    keys = (":email", ":sid", ":name", "email", "sid", "name")
    called = [
        tuple(str(one[key]) for key in keys if one.get(key) and isinstance(one[key], str | int))
        for one in _submitters(entry)
    ]
    # An entry that names nobody says as little as none, and somebody twice no more than once.
    return [*dict.fromkeys(names for names in called if names)]


def _submitters(entry: dict) -> list[dict]:
    for key in (":submitters", "submitters", ":users", "users"):
        if key in entry:
            return list(entry[key])
    raise KeyError("an entry names no submitters")


def read_roster(path: Path) -> list[Person]:
    """Read a roster: a CSV file with a column of ids, and if possible names and addresses.

    Raises
    ------
    ValueError
        If no column says who is meant, nobody stands in it, or one id stands for two people.
    """
    rows = read_table(path)
    rows.must_name_once((*ID, *NAME, *FIRST, *LAST, *EMAIL, *IDENTIFIER), path)
    columns = {_plain(c): c for c in rows.columns}

    def column(names: Iterable[str]) -> str | None:
        return next((columns[n] for n in map(_plain, names) if n in columns), None)

    id_, name, email = column(ID), column(NAME), column(EMAIL)
    parts = [c for c in (column(FIRST), column(LAST)) if c]
    identifier = column(IDENTIFIER)
    if not (id_ or email or name or parts or identifier):
        have = ", ".join(rows.columns) or "none"
        raise ValueError(f"{path} has the columns {have}; expected id, name or email")
    people: dict[str, Person] = {}
    for line, row in rows.numbered:
        called = row.get(name, "") if name else " ".join(row[part] for part in parts).strip()
        address, number = row.get(email or "", ""), row.get(identifier or "", "")
        # Whoever has no id yet is known by the next best.
        own = row.get(id_ or "", "") or address or called or number
        if not own or _plain(called) == NOBODY:
            continue
        if "\n" in own + called + address:
            raise ValueError(f"{path}, line {line}: is a quotation mark before it not closed?")
        person = Person(own, called, address, number)
        if own == called and own in people and not (number and people[own] == person):
            raise ValueError(f"{path}, line {line}: {own} stands twice without an id or address")
        if people.setdefault(own, person) != person:
            other = people[own].name or people[own].email or "on another line"
            raise ValueError(f"{path}, line {line}: {own} is also {other}")
    if not people:
        raise ValueError(f"{path} has a head and nobody below it; expected a line for each student")
    return list(people.values())


# --- whose a file is -----------------------------------------------------------------------------


def find_person(
    handed: Handed, roster: list[Person], namesakes: Collection[str] = ()
) -> tuple[Person | None, str]:
    """Find whose file it is, or say why nobody was found.

    Without a roster it is whom the file names; ``namesakes`` are names of several people.
    """
    if not roster:
        name = handed.called[0]
        return Person(f"{name} ({handed.number})" if name in namesakes else name), ""
    fitting, sure = _whose(handed, roster)
    if sure and len(fitting) == 1:
        return fitting[0], ""
    called = " or ".join(handed.called)
    what = kind_of(handed.label)
    if not fitting:
        mend = f"rename the {what} to the student's id"
        return None, f"nobody on the roster is called {called}: {mend}"
    mend = f"rename the {what} to the right id"
    if len(fitting) == 1:
        [one] = fitting
        return (
            None,
            f"by Moodle's number it is of {one.id}, {one.name}, but not by its name: {mend}",
        )
    several = ", ".join(p.id for p in fitting)
    return None, f"{called} may be any of {several}: {mend}"


def candidates(handed: Handed, roster: list[Person]) -> list[Person]:
    """List whose a file may be: one person, nobody, or several between whom nothing decides.

    An id that somebody wrote decides first, then Moodle's number, then the closest spelling: as it
    stands; without accents; without punctuation, which platforms drop from names.
    """
    return _whose(handed, roster)[0]


def _whose(handed: Handed, roster: list[Person]) -> tuple[list[Person], bool]:
    """List whose a file may be, and tell whether one person alone is certain."""
    if marked := _named_by_id(handed.called, roster) or _marked_with_id(handed.called, roster):
        return marked, True
    fitting = _called_so(handed.called, roster)
    number = participant_of(handed.label)
    if numbered := [p for p in roster if number and p.participant == number]:
        # With a name that is another's, or nobody's, the number may be of another assignment.
        agree = [
            p
            for p in numbered
            if p in fitting
            or _is_nameless(p, handed.called)
            or (not fitting and _is_in_group(p, handed.called))
        ]
        if agree:
            return agree, True
        return [*numbered, *(p for p in fitting if p not in numbered)], False
    if len(fitting) > 1 and handed.number and not number:
        # Canvas's number alone may be another's id here; among people of one name it decides.
        # Moodle's numbers are those of one assignment, and nobody's id.
        return [p for p in fitting if p.id == handed.number] or fitting, True
    return fitting, True


def _is_nameless(person: Person, called: Iterable[str]) -> bool:
    """Tell whether there is no name to compare: blind marking writes "Participant" instead."""
    word = _bare(person.identifier.rpartition(" ")[0])
    blind = {word, _bare(person.identifier)}
    return not person.name or any(_bare(text) in blind for text in called)


def _is_in_group(person: Person, called: Iterable[str]) -> bool:
    """Tell whether somebody's name stands behind that of a group, as Moodle writes it."""
    ends = [f"-{_exact(name)}" for name in person.ordered]
    return any(_exact(text).endswith(end) for text in called for end in ends)


def _named_by_id(called: Iterable[str], roster: list[Person]) -> list[Person]:
    """Find whose id is all that a file is called, where that is no name as well."""
    wanted = {_exact(text) for text in called}
    fitting = [p for p in roster if not wanted.isdisjoint(_spelt(p, _exact))]
    by_id = [p for p in fitting if _exact(p.id) in wanted and p.id not in p.names]
    return by_id if by_id == fitting else []


def _called_so(called: Iterable[str], roster: list[Person]) -> list[Person]:
    for spelling in (_exact, _plain, _bare):
        # Without its punctuation an id may be another's, and an address, too.
        wanted = {spelling(text) for text in called} - {""}
        fitting = [p for p in roster if not wanted.isdisjoint(_spelt(p, spelling))]
        # Canvas writes the family name first, without blanks: there the order says nothing.
        ordered = {spelling(text) for text in called if len(text.split()) > 1}
        own = [p for p in fitting if any(spelling(name) in ordered for name in p.ordered)]
        if fitting:
            return own or fitting
    return []


def _marked_with_id(called: Iterable[str], roster: list[Person]) -> list[Person]:
    """Find whose id somebody put before the name: "510_Jo Smith".

    An id before something else may be the number of an exercise: it is nobody's. Before the name of
    another person it may be either's.
    """
    for text in map(_exact, called):
        marks = [p for p in roster if text.startswith(f"{_exact(p.id)}_")]
        # Ids may have a "_" in them, and begin with another's.
        for person in sorted(marks, key=lambda p: -len(p.id)):
            rest = text[len(_exact(person.id)) + 1 :]
            if _begins_with_name(rest, person):
                return [person]
            if others := [p for p in _called_so([rest], roster) if p != person]:
                return [person, *others]
    return []


def begins_with_id(handed: Handed, roster: list[Person]) -> list[Person]:
    """List whose id stands before something that is nobody's name: it may be theirs after all."""
    texts = [_exact(text) for text in handed.called]
    return [p for p in roster if any(text.startswith(f"{_exact(p.id)}_") for text in texts)]


def _begins_with_name(text: str, person: Person) -> bool:
    """Tell whether a text is a person's name, or has more behind it and a "_"."""
    parts = text.split("_")
    heads = {_bare("_".join(parts[:n])) for n in range(1, len(parts) + 1)}
    return any(_bare(name) in heads for name in person.names | {person.email} if _bare(name))


def closeness(handed: Handed, person: Person) -> int:
    """Rank how well a file says that it is somebody's: 0 by id or number, 3 by letters alone."""
    alone = [person]
    by_number = person.participant and person.participant == participant_of(handed.label)
    by_canvas = not participant_of(handed.label) and handed.number == person.id
    by_id = _named_by_id(handed.called, alone) or _marked_with_id(handed.called, alone)
    if by_id or by_number or by_canvas:
        return 0
    spellings: list[Callable[[str], str]] = [_exact, _plain]
    for rank, spelling in enumerate(spellings, 1):
        if not {spelling(text) for text in handed.called}.isdisjoint(_spelt(person, spelling)):
            return rank
    return 3


def alike(handed: Handed, roster: list[Person]) -> list[Person]:
    """List everybody whose name has the letters of what a file is called."""
    wanted = {_bare(text) for text in handed.called} - {""}
    return [p for p in roster if not wanted.isdisjoint(_spelt(p, _bare))]


def owner_of(label: str) -> str:
    """Take what all files of one hand-in share: a platform's name and number, or the folder."""
    top = _top(Path(label))
    return _owner(top) or top


def kind_of(label: str) -> str:
    """Say what is to be renamed for a file to be somebody else's: a folder, or the file itself."""
    return "file" if _top(Path(label)) == Path(label).name else "folder"


def natural(label: str) -> list[list[str | int]]:
    """Give what sorts files as people count them: attempt 9 before 10, a before a (1)."""
    *folders, name = Path(label).parts
    names = [*folders, Path(name).stem, Path(name).suffix]
    return [[int(s) if s.isdecimal() else s for s in re.split(r"(\d+)", part)] for part in names]


def participant_of(label: str) -> str:
    """Take Moodle's number of whoever handed in a file, from where it lies; "" where it is none."""
    match = MOODLE.match(_top(Path(label)))
    return match["number"] if match else ""


def is_late(label: str) -> bool:
    """Tell whether Canvas marks a file as late."""
    match = CANVAS.match(_top(Path(label)))
    return bool(match and match["late"])


# For each file of a class each person's spellings are wanted again.
@lru_cache(20_000)
def _spelt(person: Person, spelling: Callable[[str], str]) -> frozenset[str]:
    texts = person.keys if spelling is not _bare else person.names or {person.id}
    return frozenset(filter(None, map(spelling, texts)))


@lru_cache(20_000)
def _exact(text: str) -> str:
    """Drop case and blanks, which never tell people apart."""
    return "".join(unicodedata.normalize("NFC", text).casefold().split())


def _plain(text: str) -> str:
    """Drop case, accents and blanks, in which rosters and file names differ.

    A mark is an accent only on Latin, Greek and Cyrillic letters; elsewhere it may be a vowel.
    """
    kept, base = [], ""
    for c in unicodedata.normalize("NFKD", text.casefold().translate(LETTERS)):
        if not unicodedata.category(c).startswith("M"):
            base = c
        elif unicodedata.name(base or " ", "").startswith(("LATIN", "GREEK", "CYRILLIC")):
            continue
        if not c.isspace():
            kept.append(c)
    return "".join(kept)


def _bare(text: str) -> str:
    """Drop punctuation, symbols and what cannot be seen, too."""
    return "".join(c for c in _plain(text) if unicodedata.category(c)[0] not in "PSZC")
