"""Read what a learner hands in, in whatever form, and believe nothing in it.

Accepted by content: a notebook, the same as text (py:percent or Markdown with code cells, as
Jupytext and Colab save it), or a ZIP archive with one of these and the files that belong to it.
"""

import io
import json
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Cell", "Submission", "UnreadableError", "read_submission"]

MOST_BYTES = 20 * 2**20
MOST_CELLS = 2_000
MOST_SOURCE = 2_000_000  # characters of text and code, outputs aside: reading must take seconds
MOST_FILES = 1_000
FORMATS = "expected .ipynb, or .py or .md made from it, or a .zip with one of these"
PERCENT = re.compile(r"^# ?%%(.*)$", re.MULTILINE)
FENCE = re.compile(r"(`{3,}) *(?:\{code-cell\}.*|python\b.*|py)")
OPTION = re.compile(r":[\w-]+:( |$)")
# Canvas numbers each file of a student: "lovelaceada_12345_67890_name.ipynb".
CANVAS_FILE = re.compile(r"(?P<student>[^\W_]+(?:_LATE)?_\d+)_\d+_")


class UnreadableError(Exception):
    """A file that is no notebook."""


@dataclass(frozen=True)
class Cell:
    """What matters of a cell."""

    kind: str
    source: str
    id: str = ""
    question: str = ""


@dataclass(frozen=True)
class Submission:
    """A notebook that was handed in.

    Attributes
    ----------
    path : Path
        Where it lies.
    cells : list of Cell
        In order.
    release : str
        Of the exercise that it was made from, as far as it says.
    files : dict of str to bytes
        What was in the archive with it.
    """

    path: Path
    cells: list[Cell]
    release: str = ""
    files: dict[str, bytes] = field(default_factory=dict)

    def evidence(self, name: str) -> bytes | None:
        """Read a file that was handed in with the notebook, or None if there is none.

        Raises
        ------
        UnreadableError
            If it is a link, which is not followed, or too large; with the reason.
        """
        if name in self.files:
            return self.files[name]
        # Learning platforms put the student's name before that of each file.
        folder, called = self.path.parent, self.path.name
        beside = []
        if moodle := re.match(r".*_assignsubmission_file_", called):
            beside = [folder / f"{moodle[0]}{name}"]
        elif canvas := CANVAS_FILE.match(called):
            own = re.compile(re.escape(canvas["student"]) + r"_\d+_" + re.escape(name))
            beside = sorted(path for path in folder.iterdir() if own.fullmatch(path.name))
        for path in [*beside, folder / name]:
            if path.is_symlink():
                raise UnreadableError(f"{name} is a link: hand in the file itself")
            if path.is_file():
                if path.stat().st_size > MOST_BYTES:
                    raise UnreadableError(f"{name} is larger than {MOST_BYTES >> 20} MB")
                return path.read_bytes()
        return None


def read_submission(path: Path) -> Submission:
    """Read a notebook without believing anything in it.

    Raises
    ------
    UnreadableError
        If it is none, with the reason.
    """
    if path.is_symlink() or not path.is_file():
        raise UnreadableError("not a plain file")
    if path.stat().st_size > MOST_BYTES:
        raise UnreadableError(f"larger than {MOST_BYTES >> 20} MB: clear its outputs first")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}") from None
    if data[:4] == b"PK\x03\x04":
        return _from_archive(path, data)
    return _from_bytes(path, path.name, data, {})


def _from_bytes(path: Path, name: str, data: bytes, files: dict[str, bytes]) -> Submission:
    if not data.strip():
        raise UnreadableError("the file is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        what = "UTF-16, not UTF-8 text" if utf16 else f"not UTF-8 text ({FORMATS})"
        raise UnreadableError(f"{what}: save it again from Jupyter") from None
    if text.lstrip()[:1] in "{[" and not name.endswith((".py", ".md")):
        return _from_json(path, text, files)
    if text.lstrip()[:1] == "<":
        raise UnreadableError("a web page, not a notebook: download the .ipynb file again")
    cells = _from_text(text)
    if not cells:
        raise UnreadableError(f"not JSON, and no notebook saved as text ({FORMATS})")
    return Submission(path, _bounded_cells(cells), files=files)


def _bounded_cells(cells: list[Cell]) -> list[Cell]:
    if len(cells) > MOST_CELLS:
        raise UnreadableError(f"{len(cells)} cells; expected at most {MOST_CELLS}")
    if (size := sum(len(cell.source) for cell in cells)) > MOST_SOURCE:
        raise UnreadableError(
            f"{size:,} characters of text and code; expected at most {MOST_SOURCE:,}"
        )
    return cells


def _from_json(path: Path, text: str, files: dict[str, bytes]) -> Submission:
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise UnreadableError("nested too deeply for a notebook") from None
    except ValueError as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        cut = ": the file may have been cut off; download it again"
        raise UnreadableError(f"not JSON{where}, so not a notebook{cut}") from None
    if not isinstance(notebook, dict):
        raise UnreadableError("no list of cells in it")
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        old = " (format 3: open and save it in Jupyter)" if "worksheets" in notebook else ""
        raise UnreadableError(f"no list of cells in it{old}")
    if len(cells) > MOST_CELLS:  # before any is looked at
        raise UnreadableError(f"{len(cells)} cells; expected at most {MOST_CELLS}")
    metadata = notebook.get("metadata")
    own = metadata.get("seqattn") if isinstance(metadata, dict) else None
    release = own.get("release", "") if isinstance(own, dict) else ""
    found = _bounded_cells([_cell(c) for c in cells if isinstance(c, dict)])
    return Submission(path, found, str(release)[:40], files)


def _cell(cell: dict) -> Cell:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        source = ""
    metadata = cell.get("metadata")
    own = metadata.get("seqattn") if isinstance(metadata, dict) else None
    question = own.get("question", "") if isinstance(own, dict) else ""
    return Cell(str(cell.get("cell_type")), source, str(cell.get("id", "")), str(question))


def _from_text(text: str) -> list[Cell]:
    """Split a notebook that was saved as text; text that marks no cells has none."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if blocks := _fenced(text):
        return blocks
    marks = list(PERCENT.finditer(text))
    if not marks:
        # What nbconvert writes. A script without marks does not say where a cell ends.
        pieces = re.split(r"(?m)^# In ?\[[ \d]*\]:\n", text)
        return [Cell("code", piece) for piece in pieces] if len(pieces) > 1 else []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        Cell("markdown" if "[markdown]" in mark[1] else "code", text[mark.end() + 1 : end].rstrip())
        for mark, end in zip(marks, ends)
    ]


def _fenced(text: str) -> list[Cell]:
    """Take the code out of Markdown, line by line: a file may have a hundred thousand fences.

    Of the text the headings are kept, in one cell.
    """
    blocks: list[Cell] = []
    code: list[str] = []
    headings: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if fence and line.rstrip(" ") == fence:
            blocks.append(Cell("code", "".join(code[_options(code) :])))
            fence, code = "", []
        elif fence:
            code.append(f"{line}\n")
        elif opened := FENCE.fullmatch(line):
            fence = opened[1]
        elif line.startswith("#"):
            headings.append(line)
    return [*blocks, Cell("markdown", "\n".join(headings))] if blocks and headings else blocks


def _options(code: list[str]) -> int:
    """Count the lines in which MyST says how a cell is shown: ``:tags: [...]``, or YAML."""
    marks = [i for i, line in enumerate(code) if line.rstrip() == "---"]
    if marks[:1] == [0] and len(marks) > 1:
        return marks[1] + 1
    count = 0
    # An option may go on in indented lines.
    while count < len(code) and (OPTION.match(code[count]) or (count and code[count][:1] in " \t")):
        count += 1
    return count


def _from_archive(path: Path, data: bytes) -> Submission:
    """Read the one notebook of an archive. Nothing is unpacked to disk, so no name can escape."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [e for e in archive.infolist() if not e.is_dir() and _counts(e.filename)]
            if (
                len(archive.infolist()) > MOST_FILES
                or sum(e.file_size for e in entries) > MOST_BYTES
            ):
                raise UnreadableError("the archive holds too much: pack the notebook alone")
            names = [e.filename.rsplit("/", 1)[-1] for e in entries]
            notebooks = [n for n in names if n.endswith(".ipynb")]
            notebooks = notebooks or [n for n in names if n.endswith((".py", ".md"))]
            if len(notebooks) != 1:
                raise UnreadableError(
                    f"{len(notebooks)} notebooks in the archive; expected one: hand in an archive "
                    "for each, or the notebooks without one"
                )
            evidence = [n for n in names if n.endswith(".npz")]
            if twice := sorted({n for n in evidence if evidence.count(n) > 1}):
                raise UnreadableError(f"{twice[0]} is twice in the archive: pack it once")
            files, left = {}, MOST_BYTES
            for name, entry in zip(names, entries, strict=True):
                files[name] = _bounded(archive, entry, left)
                left -= len(files[name])
    except UnreadableError:
        raise
    except Exception as error:
        # Damaged bytes come out of zipfile and its decompressors as a dozen kinds of errors.
        kind = type(error).__name__
        raise UnreadableError(f"a damaged or encrypted archive ({kind}): pack it again") from None
    return _from_bytes(path, notebooks[0], files[notebooks[0]], files)


def _counts(name: str) -> bool:
    return not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def _bounded(archive: zipfile.ZipFile, entry: Any, left: int) -> bytes:
    # The size that an entry declares may be a lie.
    with archive.open(entry) as stream:
        content = stream.read(left + 1)
    if len(content) > left:
        raise UnreadableError("the archive holds too much: pack the notebook alone")
    return content
