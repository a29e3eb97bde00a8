"""How long a chapter takes: one formula, for the chapters' heads and the table of all times.

``python -m tools.minutes`` prints the times; with ``--write`` it puts them where they are
said: into each chapter's header, which the page shows under its title, and into the table of
``how_to_use.md``. Both also say how many of them are for the sections marked *optional*.
"""

import argparse
import re
from functools import cache
from pathlib import Path

import jupytext

from seqattn import widgets
from tools import notebooks, questions

ROOT = Path(__file__).resolve().parents[1]
# Mathematics is read slowly: about half the pace of a novel.
WORDS_A_MINUTE = 120
CELL, FIGURE, QUESTION = 0.5, 2.0, 1.0  # minutes: to run and look; to move; to think about

_HIDDEN = {"hide-cell", "hide-input", "remove-cell", "remove-input"}
_HEADER = re.compile(r"(?m)^(#     minutes: )(\d+)(?:\n#     optional: (\d+))?$")
_TABLE = re.compile(r"(?s)(```\{list-table\} Minutes\n).*?(```\n)")
_LIVE = re.compile(rf"\b(?:{'|'.join(set(widgets.__all__) - {'LiveFigure'})})\(")


@cache
def minutes(text: str) -> int:
    """Estimate the time for a chapter, in minutes, rounded to 5.

    Parameters
    ----------
    text : str
        The chapter's source, py:percent.

    Returns
    -------
    int
        Words at 120 a minute, half a minute for each cell of code that is shown, two minutes for
        each live figure, one for each question with a folded answer.
    """
    return max(5, _rounded(sum(time for _, time in _sections(text))))


@cache
def optional(text: str) -> int:
    """Estimate how many of a chapter's minutes are for optional sections, rounded to 5.

    A section is optional if its heading ends in *(optional)*, with all the sections under it.
    """
    total, level = 0.0, 0  # the level of the optional section that we are in, or 0
    for heading, time in _sections(text):
        marks, title = heading.split(" ", 1)
        if not 0 < level < len(marks):
            level = len(marks) * title.endswith("(optional)")
        total += time * (level > 0)
    return _rounded(total)


def _sections(text: str) -> list[tuple[str, float]]:
    """Give the minutes of each section, and of what is above the first, with its heading."""
    heading, found = "# ", []
    for cell in jupytext.reads(text, fmt="py:percent").cells:
        if cell.cell_type == "markdown":
            for block in re.split(r"(?m)^(?=##+ )", questions.expanded(cell.source)):
                heading = block.split("\n", 1)[0] if block.startswith("##") else heading
                time = len(block.split()) / WORDS_A_MINUTE
                found.append((heading, time + QUESTION * block.count("<summary>Answer</summary>")))
        elif cell.cell_type == "code":
            time = CELL * (not _HIDDEN & set(cell.metadata.get("tags", [])))
            found.append((heading, time + FIGURE * len(_LIVE.findall(cell.source))))
    return found


def _rounded(minutes: float) -> int:
    return 5 * round(minutes / 5)


def said(path: Path) -> tuple[int, int]:
    """Read what a chapter's header says: its minutes, and those of its optional sections."""
    found = _HEADER.search(path.read_text(encoding="utf-8"))
    return (int(found[2]), int(found[3] or 0)) if found else (0, 0)


def pages() -> list[tuple[Path, int]]:
    """List chapters and exercises in their order, each with its minutes."""
    found = []
    for path in (ROOT / "chapters").glob("[0-9][0-9]_*.py"):
        found.append((path, minutes(path.read_text(encoding="utf-8"))))
    # How long an exercise takes depends on the learner: its author's estimate stands in its header.
    for path in (ROOT / "solutions").glob("[0-9][0-9]_*.py"):
        found.append((path, said(path)[0]))
    return sorted(found, key=lambda page: (page[0].name[:2], page[0].parent.name))


def appendices() -> list[tuple[Path, int]]:
    """List the notebooks behind the chapters, each with its minutes."""
    paths = [path for path in notebooks.sources() if path.stem[0] not in "0123456789"]
    return [(p, minutes(p.read_text(encoding="utf-8"))) for p in paths if p.stem != "index"]


def table(pages: list[tuple[Path, int]]) -> str:
    """Write the table of all times, for ``how_to_use.md``."""
    rows = [":header-rows: 1\n", "* - Page\n  - Minutes (optional)\n"]
    for path, time in pages:
        exercise = path.parent.name == "solutions"
        title = re.search(r"(?m)^# # (.+)$", path.read_text(encoding="utf-8"))[1]
        link = f"../exercises/{path.stem}.ipynb" if exercise else f"{path.stem}.ipynb"
        spare = 0 if exercise else optional(path.read_text(encoding="utf-8"))
        rows.append(f"* - [{title}]({link})\n  - {time}{f' ({spare})' * (spare > 0)}\n")
    return "".join(rows)


def write() -> None:
    """Put the times where they are said."""
    found = pages()
    for path, time in (*found, *appendices()):
        if path.parent.name == "solutions":
            continue
        text = path.read_text(encoding="utf-8")
        spare = f"\n#     optional: {n}" if (n := optional(text)) else ""
        text = _HEADER.sub(lambda m, head=f"{time}{spare}": m[1] + head, text)
        path.write_text(text, encoding="utf-8")
    page = ROOT / "chapters" / "how_to_use.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(_TABLE.sub(lambda m: m[1] + table(found) + m[2], text), encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the times where they are said")
    if parser.parse_args().write:
        write()
    for path, time in pages():
        print(f"{time:4d}  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
