"""How long a chapter takes: one formula, for the chapters' heads and the table of all times.

``python -m tools.minutes`` prints the times; with ``--write`` it puts them where they are
said: into each chapter's header, which the page shows under its title, and into the table of
``how_to_use.md``.
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
_HEADER = re.compile(r"(?m)^(#     minutes: )(\d+)$")
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
    total = 0.0
    for cell in jupytext.reads(text, fmt="py:percent").cells:
        if cell.cell_type == "markdown":
            prose = questions.expanded(cell.source)
            total += len(prose.split()) / WORDS_A_MINUTE
            total += QUESTION * prose.count("<summary>Answer</summary>")
        elif cell.cell_type == "code":
            total += CELL * (not _HIDDEN & set(cell.metadata.get("tags", [])))
            total += FIGURE * len(_LIVE.findall(cell.source))
    return max(5, 5 * round(total / 5))


def said(path: Path) -> int:
    """Read what a chapter's header says."""
    found = _HEADER.search(path.read_text(encoding="utf-8"))
    return int(found[2]) if found else 0


def pages() -> list[tuple[Path, int]]:
    """List chapters and exercises in their order, each with its minutes."""
    found = []
    for path in (ROOT / "chapters").glob("[0-9][0-9]_*.py"):
        found.append((path, minutes(path.read_text(encoding="utf-8"))))
    # How long an exercise takes depends on the learner: its author's estimate stands in its header.
    for path in (ROOT / "solutions").glob("[0-9][0-9]_*.py"):
        found.append((path, said(path)))
    return sorted(found, key=lambda page: (page[0].name[:2], page[0].parent.name))


def appendices() -> list[tuple[Path, int]]:
    """List the notebooks behind the chapters, each with its minutes."""
    paths = [path for path in notebooks.sources() if path.stem[0] not in "0123456789"]
    return [(p, minutes(p.read_text(encoding="utf-8"))) for p in paths if p.stem != "index"]


def table(pages: list[tuple[Path, int]]) -> str:
    """Write the table of all times, for ``how_to_use.md``."""
    rows = [":header-rows: 1\n", "* - Page\n  - Minutes\n"]
    for path, time in pages:
        exercise = path.parent.name == "solutions"
        title = re.search(r"(?m)^# # (.+)$", path.read_text(encoding="utf-8"))[1]
        link = f"../exercises/{path.stem}.ipynb" if exercise else f"{path.stem}.ipynb"
        rows.append(f"* - [{title}]({link})\n  - {time}\n")
    return "".join(rows)


def write() -> None:
    """Put the times where they are said."""
    found = pages()
    for path, time in (*found, *appendices()):
        if path.parent.name == "solutions":
            continue
        text = path.read_text(encoding="utf-8")
        text = _HEADER.sub(lambda m, n=time: f"{m[1]}{n}", text)
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
