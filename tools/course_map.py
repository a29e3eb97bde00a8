"""The course's map as data: equation ↔ function ↔ test ↔ exercise, and what covers what.

``chapters/formulas/NN_name.yml`` holds one entry per displayed formula of that chapter;
``chapters/inventory.yml`` lists what the course sets out to teach. :func:`problems` says in plain
sentences where the map and the course disagree; the book refuses to build while it says anything.
"""

import ast
import importlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
LABEL = re.compile(r"^\s*(?:# )?.*\$\$\s*\((eq-[a-z0-9-]+)\)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Formula:
    """One displayed, numbered formula of the book.

    Attributes
    ----------
    label : str
        Its label in the text, ``eq-...``.
    chapter : str
        Stem of the page that displays it.
    title : str
        What it is, in a few words.
    function : str
        Dotted name of the function that computes it.
    test : str
        ``path::name`` of the test that checks it.
    source : str
        Who found it, and where.
    exercise : str or None
        ``notebook#question`` that asks for it.
    covers : tuple of str
        Lines of the inventory.
    """

    label: str
    chapter: str
    title: str
    function: str
    test: str
    source: str
    exercise: str | None = None
    covers: tuple[str, ...] = ()


@dataclass(frozen=True)
class CourseMap:
    """Everything that the map pages show and the tests check."""

    formulas: tuple[Formula, ...]
    inventory: dict[str, dict]
    root: Path = field(default=ROOT)

    @cached_property
    def by_label(self) -> dict[str, Formula]:
        """Formulas by label."""
        return {f.label: f for f in self.formulas}

    @cached_property
    def pages(self) -> dict[str, tuple[str, ...]]:
        """For each page of the course, the inventory lines that it says it covers."""
        covers: dict[str, tuple[str, ...]] = {}
        for path in sorted((self.root / "chapters").glob("*.ipynb")):
            metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
            covers[f"chapters/{path.stem}"] = tuple(metadata.get("seqattn", {}).get("covers", ()))
        for path in sorted((self.root / "chapters").glob("*.md")):
            front = re.match(r"---\n(.*?)\n---\n", path.read_text(encoding="utf-8"), re.DOTALL)
            page = (yaml.safe_load(front[1]) or {}) if front else {}
            covers[f"chapters/{path.stem}"] = tuple(page.get("seqattn", {}).get("covers", ()))
        for path in sorted((self.root / "exercises").glob("*.ipynb")):
            metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
            covers[f"exercises/{path.stem}"] = tuple(metadata.get("seqattn", {}).get("covers", ()))
        return covers

    def covered_by(self, line: str) -> list[str]:
        """List the pages that cover one line of the inventory, in reading order."""
        found = [page for page, lines in self.pages.items() if line in lines]
        found += [f"chapters/{f.chapter}" for f in self.formulas if line in f.covers]
        return sorted(set(found))


def load(root: Path = ROOT) -> CourseMap:
    """Read the map from its data files; formulas come in the order in which chapters show them."""
    formulas = []
    for path in sorted((root / "chapters" / "formulas").glob("*.yml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
            entry["covers"] = tuple(entry.get("covers", ()))
            formulas.append(Formula(chapter=path.stem, **entry))
    shown = {label: place for place, label in enumerate(displayed_labels(root))}
    formulas.sort(key=lambda f: (f.chapter, shown.get(f.label, len(shown))))
    inventory = yaml.safe_load((root / "chapters" / "inventory.yml").read_text(encoding="utf-8"))
    return CourseMap(tuple(formulas), inventory, root)


def find_object(dotted: str) -> object:
    """Import what a dotted name such as ``seqattn.data.splits`` stands for."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(dotted)


def test_source(root: Path, test: str) -> str | None:
    """Return the source of the test named ``path::function``, or None if there is none."""
    name, _, function = test.partition("::")
    path = root / name
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == function.split("::")[-1]:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            lines = text.splitlines()[first - 1 : node.end_lineno]
            indent = len(lines[0]) - len(lines[0].lstrip())
            return "\n".join(line[indent:] for line in lines)
    return None


def displayed_labels(root: Path) -> dict[str, str]:
    """Find every labelled formula of the book: label → stem of its page."""
    labels: dict[str, str] = {}
    for path in _pages_with_formulas(root):
        for label in LABEL.findall(path.read_text(encoding="utf-8")):
            labels[label] = path.stem
    return labels


def formula_numbers(root: Path = ROOT) -> dict[str, str]:
    """Give every labelled formula a number within its chapter: label → such as "2.3".

    Formulas of the reference pages are R.1, R.2 and so on, in the order of the contents. A formula
    more in one chapter changes no number in another, so that notebooks that were handed out before
    stay true.
    """
    toc = (root / "_toc.yml").read_text(encoding="utf-8") + "\n"
    pages = displayed_labels(root)
    if lost := {page for page in pages.values() if f"chapters/{page}\n" not in toc}:
        raise ValueError(f"_toc.yml lacks pages with numbered formulas: {', '.join(sorted(lost))}")
    count: Counter[str] = Counter()
    numbers = {}
    for label in sorted(pages, key=lambda label: toc.index(f"chapters/{pages[label]}\n")):
        chapter = re.match(r"\d+", pages[label])
        prefix = str(int(chapter[0])) if chapter else "R"
        count[prefix] += 1
        numbers[label] = f"{prefix}.{count[prefix]}"
    return numbers


def page_title(root: Path, page: str) -> str:
    """Give the title of a page such as ``chapters/03_additive``."""
    path = root / f"{page}.md"
    if path.is_file():
        return re.search(r"^# (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)[1]
    notebook = json.loads((root / f"{page}.ipynb").read_text(encoding="utf-8"))
    return "".join(notebook["cells"][0]["source"]).splitlines()[0].lstrip("# ")


def _pages_with_formulas(root: Path) -> list[Path]:
    chapters = root / "chapters"
    return [*sorted(chapters.glob("[0-9][0-9]_*.py")), *sorted(chapters.glob("api_*.md"))]


def _unlabelled(root: Path) -> list[str]:
    """List displayed formulas without a label, which no reader can refer to and no test reach."""
    found = []
    for path in _pages_with_formulas(root):
        lines = path.read_text(encoding="utf-8").splitlines()
        opened = False
        for number, line in enumerate(lines, start=1):
            marks = line.count("$$")
            if not marks or (path.suffix == ".py" and not line.startswith("#")):
                continue
            closes = opened or marks == 2
            if closes and not LABEL.match(line):
                found.append(f"{path.name}, line {number}: a displayed formula has no label")
            opened = (marks + opened) % 2 == 1
    return found


def problems(course: CourseMap) -> list[str]:
    """Say where map and course disagree, one sentence each; an empty list if they agree."""
    root = course.root
    shown = displayed_labels(root)
    found = _unlabelled(root)
    labels = [f.label for f in course.formulas]
    found += [
        f"{x}: two entries in the map" for x in sorted({x for x in labels if labels.count(x) > 1})
    ]
    for label, chapter in shown.items():
        if label not in course.by_label:
            found.append(f"{chapter}: formula {label} is displayed but not in the map")
    for f in course.formulas:
        if shown.get(f.label) != f.chapter:
            found.append(f"{f.chapter}: formula {f.label} is in the map but not displayed there")
        try:
            find_object(f.function)
        except (ModuleNotFoundError, AttributeError):
            found.append(f"{f.label}: function {f.function} does not exist")
        if test_source(root, f.test) is None:
            found.append(f"{f.label}: test {f.test} does not exist")
        if f.exercise and not _has_question(root, f.exercise):
            found.append(f"{f.label}: exercise {f.exercise} does not exist")
        found += [
            f"{f.label}: {x} is not in the inventory" for x in f.covers if x not in course.inventory
        ]
    for page, lines in course.pages.items():
        found += [
            f"{page}: {x} is not in the inventory" for x in lines if x not in course.inventory
        ]
    for line, entry in course.inventory.items():
        for name in entry.get("api", ()):
            try:
                find_object(name)
            except (ModuleNotFoundError, AttributeError):
                found.append(f"{line}: {name} does not exist")
    return found


def _has_question(root: Path, exercise: str) -> bool:
    stem, _, question = exercise.partition("#")
    path = root / "exercises" / f"{stem}.ipynb"
    return path.is_file() and question.lower() in _question_ids(path)


def _question_ids(path: Path) -> set[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {
        str(cell["metadata"]["seqattn"]["question"]).lower()
        for cell in cells
        if "question" in cell["metadata"].get("seqattn", {})
    }
