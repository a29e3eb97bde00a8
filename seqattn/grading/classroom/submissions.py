"""What was handed in: files, as platforms and people lay them out.

A file is of one student, and so is a folder, unless it holds what several people handed in: then it
is an exercise's, or was put around everybody's by a platform or by whoever unpacked an archive.
"""

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import yaml

from seqattn.grading.bank import exercises
from seqattn.grading.classroom.tables import MOST, is_overrides
from seqattn.grading.notebook import MOST_BYTES

__all__ = ["METADATA", "Handed", "collect", "may_hold_answers", "natural"]

NOTEBOOKS = (".ipynb", ".py", ".md", ".zip", ".ipynb.txt", ".ipynb.json")
ENDINGS = (*sorted(NOTEBOOKS, key=len)[::-1], ".nbconvert")
# Moodle: "Ada Lovelace_12345_assignsubmission_file"; Canvas: "lovelaceada_12345_67890_name.ipynb".
MOODLE = re.compile(r"^(?P<owner>(?P<name>.+?)_(?P<number>\d+))_assignsubmission_")
CANVAS = re.compile(r"^(?P<owner>(?P<name>[^\W_]+)(?P<late>_LATE)?_(?P<number>\d+))_\d+_")
# What Python and operating systems leave behind; so is all that begins with a dot.
CLUTTER = {"__pycache__", "__MACOSX", "Thumbs.db", "desktop.ini"}
# What an instructor puts beside the students' files, and students beside their notebooks.
BESIDE = (".npz", ".csv", ".json", ".txt", ".yml", ".yaml")
# Gradescope's export has one of these beside the students' folders. A file of that name inside a
# student's folder is the student's own, and says nothing.
METADATA = ("submission_metadata.yml", "submission_metadata.json")


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
    top : str
        The part of the label that says whose it is, a folder's name or its own; by default the
        first.
    """

    path: Path
    label: str
    called: tuple[str, ...] = field(default_factory=tuple)
    number: str = ""
    together: tuple[str, ...] = ()
    top: str = ""

    @property
    def whose(self) -> str:
        """The name of its student's folder, or its own where there is none."""
        return self.top or Path(self.label).parts[0]

    @property
    def owner(self) -> str:
        """What all files of one hand-in share: a platform's name and number, or the folder."""
        return _owner(self.whose) or self.whose

    @property
    def kind(self) -> str:
        """What is to be renamed for it to be somebody else's: a folder, or the file itself."""
        return "folder" if self.below else "file"

    @property
    def below(self) -> "Handed | None":
        """What would be whose it is if its folder were nobody's; None where it lies in none."""
        parts = Path(self.label).parts
        rest = parts[parts.index(self.whose) + 1 :]
        return _handed(Path(*rest), "/".join(rest), rest[0])[0] if rest else None

    @property
    def participant(self) -> str:
        """Moodle's number of whoever handed it in; "" where it is none."""
        match = MOODLE.match(self.whose)
        return match["number"] if match else ""

    @property
    def is_late(self) -> bool:
        """Whether Canvas marks it as late."""
        match = CANVAS.match(self.whose)
        return bool(match and match["late"])


def collect(
    folder: Path, is_known: Callable[[Handed], bool] = lambda handed: False
) -> list[Handed]:
    """List what was handed in, without what Jupyter and the system keep beside it.

    Where a folder holds notebooks, other files in it belong to them and are not listed. Whose a
    file is depends on where the platform put it, never on what it or one beside it says.

    Parameters
    ----------
    folder : Path
        The folder of submissions.
    is_known : callable
        Tells whether a name may be that of somebody on the roster.

    Raises
    ------
    ValueError
        If an export of Gradescope does not say who handed in what.
    """
    of: dict[Path, list[Path]] = {folder: []}
    for place, path in _walk(folder, is_known):
        of.setdefault(place, []).append(path)
    handed = []
    for place, listed in of.items():
        groups = _gradescope_groups(place)
        listed = [p for p in listed if not _is_unpacked(p, place, _is_ones(p, is_known))]
        usual = [path for path in listed if may_hold_answers(path)]
        for path in listed:
            if path in usual or not _has_company(path, usual, place):
                top = path.relative_to(place).parts[0]
                handed += _handed(path, str(path.relative_to(folder)), top, groups.get(top))
    return sorted(handed, key=lambda one: one.path)


def _handed(
    path: Path, label: str, top: str, group: list[tuple[str, ...]] | None = None
) -> list[Handed]:
    """Make one of a file, or one for each who handed it in together with others."""
    match = MOODLE.match(top) or CANVAS.match(top)
    together = group or [(match["name"] if match else _stem(top, path),)]
    number = match["number"] if match else ""
    return [
        Handed(path, label, called, number, tuple(o[0] for o in together if o != called), top)
        for called in together
    ]


def _stem(top: str, path: Path) -> str:
    """Take the endings from the name of a file; a zip, or what nbconvert left, has two."""
    bare = top
    if top == path.name and not path.is_dir():  # a folder's name may be an address
        while ending := next((e for e in ENDINGS if bare.lower().endswith(e)), ""):
            bare = bare[: -len(ending)]
        bare = bare if bare != top else Path(top).stem
    return bare or top


# --- whose a folder is ---------------------------------------------------------------------------


def _walk(place: Path, is_known: Callable[[Handed], bool]) -> Iterator[tuple[Path, Path]]:
    """Give all files, each with the folder in which what students handed in lies side by side."""
    inside = _inside(place)
    around = _around(place, inside, is_known)
    for path in inside:
        if path in around or (_is_folder(path) and _is_exercise(path)):
            yield from _walk(path, is_known)
        elif around and _is_folder(path) and _is_report(path):
            continue
        elif _is_folder(path):
            for one in sorted(path.rglob("*")):
                parts = one.relative_to(place).parts
                if not any(map(_is_clutter, parts)) and (one.is_symlink() or not one.is_dir()):
                    yield place, one
        elif path.name not in METADATA and (not around or may_hold_answers(path)):
            yield place, path


def _around(place: Path, inside: list[Path], is_known: Callable[[Handed], bool]) -> list[Path]:
    """Find folders that platforms and people put around those of the students.

    Beside them may lie their archives, a roster and reports, but neither notebooks nor folders of
    students: among others, one in which names of others stand is the student's who wrote them.
    """
    if _is_export(inside) or any(_is_notebook(path) for path in inside):
        return []
    folders = [p for p in inside if _is_folder(p) and not _is_report(p)]
    folders = [p for p in folders if not _is_exercise(p)]
    alone = len(folders) == 1 and not any(_is_exercise(p) for p in inside)
    if all(_is_around(p, is_known, alone) for p in folders):
        return folders
    return []


def _is_around(place: Path, is_known: Callable[[Handed], bool], alone: bool) -> bool:
    """Tell by its content whether a folder is that of several people.

    A student may have several folders of notebooks, too: they make nobody else where other folders
    lie beside this one. What is in it speaks for others only where it is no student's own.
    """
    inside = _inside(place)
    if _owner(place.name) or _is_export(inside):
        return _owner(place.name) is None
    if is_known(*_handed(place, place.name, place.name)):
        return False
    named = [one for p in inside for one in _handed(p, p.name, p.name) if is_known(one)]
    # An id may be "1", and so may be what a student calls a notebook; one may be a friend's name.
    named = [one for one in named if not re.fullmatch(r"\d{1,2}", one.called[0])]
    if len({one.called for one in named}) > 1:
        return True
    folders = [p for p in inside if _is_folder(p)]
    if any(map(_is_notebook, inside)) or not folders:
        return False
    shared = [p for p in folders if _is_exercise(p)]
    if shared:  # a student's own hold one notebook each
        return any(_is_around(p, is_known, alone) or (alone and _is_of_many(p)) for p in shared)
    several = sum(map(_holds_notebooks, folders)) > 1
    return (alone and several) or all(_is_around(p, is_known, False) for p in folders)


def _is_of_many(place: Path) -> bool:
    """Tell whether files lie in an exercise's folder that are not called after the exercise."""
    names = [p.name for p in _inside(place) if _is_notebook(p)]
    return len(names) > 1 and not any(name.startswith(place.name) for name in names)


def _is_exercise(place: Path) -> bool:
    """Tell a folder with the name of an exercise, also as "03 Additive"."""
    return re.sub(r"[\W_]+", "_", place.name.lower()) in exercises()


def _is_export(inside: list[Path]) -> bool:
    """Tell a folder that a platform filled."""
    names = [path.name for path in inside]
    owners = {_owner(name) for name in names}
    # One name alone may be what a student calls a file.
    platform = (len(owners) > 1 and None not in owners) or any(map(MOODLE.match, names))
    told = any(name in METADATA for name in names)
    listed = any(name.startswith("submission_") for name in names if name not in METADATA)
    return platform or (told and listed)


def _inside(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if not _is_clutter(path.name))


def _is_report(path: Path) -> bool:
    """Tell a folder of reports, one for reports that has none yet, and one with nothing in it."""
    begun = all(is_overrides(one.name) for one in _inside(path))
    return begun or ((path / "run.json").exists() and not _holds_notebooks(path))


def _holds_notebooks(path: Path) -> bool:
    return any(map(_is_notebook, path.rglob("*")))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


# --- what a file is ------------------------------------------------------------------------------


def _is_clutter(name: str) -> bool:
    hidden = name.startswith(".") and (name.startswith("._") or not _ends_as_notebook(name))
    return hidden or name in CLUTTER or name.startswith("~$")


def _ends_as_notebook(name: str) -> bool:
    return name.lower().endswith(NOTEBOOKS)


def _is_notebook(path: Path) -> bool:
    """Tell a notebook from an archive, from a README and from a folder."""
    name = path.name.lower()
    other = name.endswith(".zip") or name.startswith("readme")
    return _ends_as_notebook(name) and not other and not path.is_dir()


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


def _is_ones(path: Path, is_known: Callable[[Handed], bool]) -> bool:
    """Tell by its name that a file beside folders of students is one student's."""
    return _owner(path.name) is not None or is_known(*_handed(path, path.name, path.name))


def _is_unpacked(path: Path, place: Path, of_one: bool) -> bool:
    """Tell whether all that is in an archive lies beside it, too: then it holds nothing more.

    Of an archive beside the folders of students the notebooks count, wherever they lie now: some
    may have been renamed since. One alone may be what a student packed and another has as well.
    """
    if path.suffix.lower() != ".zip" or path.is_symlink() or not path.is_file():
        return False
    if path.parent != place and path.stat().st_size > MOST_BYTES:
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [e for e in archive.infolist() if not e.is_dir()]
        places = (path.parent, path.with_suffix(""))
        there, own = (all(_is_at(p, e) for e in entries) for p in places)
        if own or of_one or path.parent != place:
            there = there and path.parent != place
            return bool(entries) and (own or there)
        work = [e for e in entries if _ends_as_notebook(e.filename)]
        work = [e for e in work if not any(map(_is_clutter, Path(e.filename).parts))]
        packed = Counter((e.file_size, e.CRC) for e in work)
        return len(work) > 1 and packed <= _contents(place, {e.file_size for e in work})
    # Damaged bytes come out of zipfile as a dozen kinds of errors.
    except Exception:
        return False


def _contents(place: Path, sizes: set[int]) -> Counter[tuple[int, int]]:
    """Count what stands in the files of some sizes below a folder, as archives note it."""
    files = [p for p in place.rglob("*") if p.is_file() and not p.is_symlink()]
    sized = [(p.stat().st_size, p) for p in files]
    return Counter((n, zlib.crc32(p.read_bytes())) for n, p in sized if n in sizes)


def _is_at(place: Path, entry: zipfile.ZipInfo) -> bool:
    """Tell whether a file of an archive lies in a folder as it was packed."""
    path = place / entry.filename
    if ".." in path.parts or path.is_symlink() or not path.is_file():
        return False
    if path.stat().st_size != entry.file_size or entry.file_size > MOST_BYTES:
        return False
    return zlib.crc32(path.read_bytes()) == entry.CRC


def _has_company(path: Path, usual: list[Path], place: Path) -> bool:
    if path.parent != place:
        return any(p.parent == path.parent for p in usual)
    owner = _owner(path.name)
    # Side by side without names to tell whose is whose: only evidence is left out.
    if owner is None:
        return path.suffix.lower() in BESIDE
    return any(p.parent == path.parent and _owner(p.name) == owner for p in usual)


def _owner(name: str) -> str | None:
    """Take the part of a platform's file name that all files of one student share."""
    match = MOODLE.match(name) or CANVAS.match(name)
    return match["owner"] if match else None


def natural(label: str) -> list[list[str | int]]:
    """Give what sorts files as people count them: attempt 9 before 10, a before a (1)."""
    *folders, name = Path(label).parts
    names = [*folders, Path(name).stem, Path(name).suffix]
    return [[int(s) if s.isdecimal() else s for s in re.split(r"(\d+)", part)] for part in names]


# --- Gradescope's export -------------------------------------------------------------------------


class Texts(yaml.SafeLoader):
    """Reads an id as it is written: to YAML 0070 is the number 56, and that may be another's id."""

    yaml_implicit_resolvers: ClassVar = {
        first: [one for one in resolvers if one[0] == "tag:yaml.org,2002:null"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _gradescope_groups(place: Path) -> dict[str, list[tuple[str, ...]]]:
    """Read who handed in which folder of an export: address, id and name of each, by folder."""
    for path in (place / name for name in METADATA):
        if not path.is_file() or path.is_symlink():
            continue
        try:
            if path.stat().st_size > MOST:
                raise ValueError(f"it is larger than {MOST >> 20} MB")
            # YAML includes JSON. Gradescope writes Ruby's symbols, ":email", as keys.
            content = yaml.load(path.read_text(encoding="utf-8"), Texts)
            groups = {str(name): _names(entry) for name, entry in content.items()}
        except (OSError, ValueError, yaml.YAMLError, AttributeError, TypeError, KeyError) as error:
            raise ValueError(f"{path} does not say who handed in what: {error}") from None
        except RecursionError:
            raise ValueError(f"{path} does not say who handed in what: too deep") from None
        _must_have_their_names(place, path, groups)
        return groups
    return {}


def _must_have_their_names(
    place: Path, path: Path, groups: dict[str, list[tuple[str, ...]]]
) -> None:
    """Refuse a group's folder that was renamed: it would be one member's, the others' be lost."""
    gone = [name for name, who in groups.items() if len(who) > 1 and not (place / name).exists()]
    new = [p.name for p in _inside(place) if _is_folder(p) and p.name not in groups]
    if gone and new:
        members = " and ".join(names[0] for names in groups[gone[0]])
        raise ValueError(
            f"{path} names {gone[0]}, handed in by {members}, which is not there, and {new[0]} is "
            f"not named: call a group's folder what it was called, and write ids into {path.name}"
        )


def _names(entry: dict) -> list[tuple[str, ...]]:
    """Take what an entry calls its submitters; of what is no text nothing is a name."""
    keys = (":email", ":sid", ":name", "email", "sid", "name")
    called = [
        tuple(one[key] for key in keys if one.get(key) and isinstance(one[key], str))
        for one in _submitters(entry)
    ]
    # An entry that names nobody says as little as none, and somebody twice no more than once.
    return [*dict.fromkeys(names for names in called if names)]


def _submitters(entry: dict) -> list[dict]:
    for key in (":submitters", "submitters", ":users", "users"):
        if key in entry:
            return list(entry[key])
    raise KeyError("an entry names no submitters")
