"""Who handed in what: students, and the roster as platforms hand it out.

A student is never guessed: a file whose name fits nobody on the roster, or more than one person, is
listed as unmatched. Whoever renames it, or its folder, to the student's id assigns it.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from seqattn.grading.bank import exercises
from seqattn.grading.classroom.submissions import METADATA, Handed
from seqattn.grading.classroom.tables import read_table

__all__ = [
    "NOT_ALL",
    "Person",
    "alike",
    "begins_with_id",
    "beyond_repositories",
    "candidates",
    "closeness",
    "find_person",
    "heads_of_repositories",
    "read_roster",
]

# Begins what is flagged where another file may be the same student's.
NOT_ALL = "perhaps not all"
# Columns of rosters, as people write them and as Moodle, Canvas and Gradescope export them.
ID = ("id", "student id", "username", "id number", "sid", "sis user id", "sis login id")
NAME, FIRST, LAST = ("name", "full name", "student"), ("first name",), ("last name", "surname")
EMAIL = ("email", "email address")
# Moodle's grading worksheet numbers those who take part: "Participant 100". The folder of what
# they hand in has the same number, and no two people of one Moodle have the same.
IDENTIFIER = ("identifier",)
MODIFIED = ("last modified (grade)",)
# The roster of GitHub Classroom calls an id "identifier", too.
GITHUB = ("github_username",)
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
    modified : str
        When a grade was last changed, as that worksheet has it: Moodle refuses to write over later
        ones.
    github : str
        The name on GitHub, where its Classroom puts it behind that of the assignment.
    """

    id: str
    name: str = ""
    email: str = ""
    identifier: str = ""
    modified: str = ""
    github: str = ""

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
        every = {self.id, self.email, self.email.partition("@")[0], self.github, *self.names}
        return {key for key in every if key}


def read_roster(path: Path) -> list[Person]:
    """Read a roster: a CSV file with a column of ids, and if possible names and addresses.

    Raises
    ------
    ValueError
        If no column says who is meant, nobody stands in it, or one id stands for two people.
    """
    rows = read_table(path)
    rows.must_name_once((*ID, *NAME, *FIRST, *LAST, *EMAIL, *IDENTIFIER, *GITHUB), path)
    columns = {_plain(c): c for c in rows.columns}

    def column(names: Iterable[str]) -> str | None:
        return next((columns[n] for n in map(_plain, names) if n in columns), None)

    id_, name, email = column(ID), column(NAME), column(EMAIL)
    parts = [c for c in (column(FIRST), column(LAST)) if c]
    identifier, modified, github = column(IDENTIFIER), column(MODIFIED), column(GITHUB)
    # To a worksheet of Moodle somebody may have added names on GitHub.
    if github and identifier and not column((*MODIFIED, "full name")):
        id_, identifier = id_ or identifier, None
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
        # Moodle writes "-" for never.
        changed = row.get(modified or "", "").removeprefix("-")
        person = Person(own, called, address, number, changed, row.get(github or "", ""))
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
    if not fitting:
        mend = _mend(handed, "student's", roster)
        return None, f"nobody on the roster is called {called}: {mend}"
    mend = _mend(handed, "right", roster)
    if len(fitting) == 1:
        [one] = fitting
        return (
            None,
            f"by Moodle's number it is of {one.id}, {one.name}, but not by its name: {mend}",
        )
    several = ", ".join(p.id for p in fitting)
    return None, f"{called} may be any of {several}: {mend}"


def _mend(handed: Handed, whose: str, roster: list[Person]) -> str:
    """Say how a file is assigned.

    A group's folder is not one member's to be called after, nor is one in which people's names are.
    """
    if handed.together:
        return f"write the {whose} id for it into {METADATA[0]}"
    mend = f"rename the {handed.kind} to the {whose} id"
    if handed.below and candidates(handed.below, roster):
        mend += f", or, if {handed.whose} is nobody's folder, take out what is in it"
    return mend


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
    # Where a platform gives a name beside them, two may have it.
    if len(handed.called) > 1 and len(own := _known_by(handed.called, roster)) == 1:
        return own, True
    fitting = _called_so(handed.called, roster)
    number = handed.participant
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


def _known_by(called: Iterable[str], roster: list[Person]) -> list[Person]:
    """Find whose id or address is among what a file is called; a name in place of an id is none."""
    wanted = {_exact(text) for text in called}
    own = {p: {p.id, p.email} - p.names - {""} for p in roster}
    return [p for p in roster if not wanted.isdisjoint(map(_exact, own[p]))]


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
    return [p for p in roster if p.github and _is_repository(p, called)]


def _is_repository(person: Person, called: Iterable[str]) -> bool:
    """Tell whether a name on GitHub stands behind that of an assignment."""
    return any(_exact(text).endswith(f"-{_exact(person.github)}") for text in called)


def heads_of_repositories(files: Collection[Handed], person: Person) -> dict[str, str]:
    """Give what stands before a person's name on GitHub in what the repositories are called."""
    name = _exact(person.github)
    named = [h for h in files if name and _is_repository(person, h.called)]
    return {h.owner: _exact(h.called[0]).removesuffix(name) for h in named}


def beyond_repositories(own: dict[str, str], others: Collection[str] = ()) -> set[str]:
    """Find repositories that may be of another's: "w3-jo-al" beside "w3-al" may be of jo-al.

    Beside "w3-bo" it may be, too, unless others have something called "w3-jo-".

    Parameters
    ----------
    own : dict of str to str
        From one person's repositories to what stands before the name.
    others : collection of str
        What stands before the names of the others.
    """
    return {
        owner
        for owner, head in own.items()
        if head not in others
        and any(head != other and head.startswith(other) for other in [*own.values(), *others])
    }


def _marked_with_id(called: Iterable[str], roster: list[Person]) -> list[Person]:
    """Find whose id somebody put before the name, "510_Jo Smith", or before an exercise's.

    An id before something else may be the number of an exercise: it is nobody's. Before the name of
    another person it may be either's.
    """
    for text in map(_exact, called):
        marks = [p for p in roster if text.startswith(f"{_exact(p.id)}_")]
        # Ids may have a "_" in them, and begin with another's.
        for person in sorted(marks, key=lambda p: -len(p.id)):
            rest = text[len(_exact(person.id)) + 1 :]
            if _begins_with_name(rest, person) or rest.startswith(tuple(exercises())):
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
    by_number = person.participant and person.participant == handed.participant
    by_canvas = not handed.participant and handed.number == person.id
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
