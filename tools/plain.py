"""Plain notebooks: what JupyterLab, Colab and VS Code can show of the chapters and exercises.

The book reads MyST, which no notebook program renders. Here formulas get their numbers as tags,
references become words and links, citations author and year, cards lists; what no rule covers stops
the conversion. Code stays byte for byte, with its outputs, ids, and all that the grader and nbval
read. ``python -m tools.plain`` writes ``_build/notebooks``.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from posixpath import dirname, normpath, relpath

import nbformat
import yaml
from nbformat import NotebookNode
from pybtex.database import parse_file

from tools import address, contents, course_map, part_colours, questions

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "_build" / "notebooks"
FENCE = re.compile(r"\s*(`{3,}|~{3,}|:{3,})(.*)$")
OPTION = re.compile(r"\s*:([\w-]+):\s*(.*)$")
TOKEN = re.compile(
    r"""(?P<escaped>\\.)
    | \{(?P<role>[\w:-]+)\}(?P<quote>`+)(?P<argument>.+?)(?P=quote)
    | (?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)
    | \$\$(?P<display>.+?)\$\$(?:[ \t]*\((?P<label>[\w-]+)\))?
    | \$(?:\\.|[^$\\])+?\$
    | !?\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\((?P<target>[^()\s]*)\)
    """,
    re.VERBOSE | re.DOTALL,
)
# What MyST would read and a notebook program would show as it stands.
LEFT = re.compile(
    r"\{[\w:-]+\}`|:::|^\s*\([\w-]+\)=|\$\$|\[\^[^\]]+\]|^:\s+\S|\{\{|\]\{[.#]|^\+\+\+|^%\s",
    re.MULTILINE,
)
LABEL = re.compile(r"^\([\w-]+\)=\n+(?=#)", re.MULTILINE)  # names a heading, for links to it
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
# Only the book reads these.
BOOK_METADATA = ("mystnb", "lines_to_next_cell", "tags")
NOTES = {
    name: name.capitalize()
    for name in ("note", "tip", "hint", "important", "warning", "caution", "attention")
} | {"seealso": "See also"}


class PlainError(ValueError):
    """A text holds something that a plain notebook cannot show."""


@dataclass(frozen=True)
class Book:
    """What the conversion must know of the whole book: its pages, formula numbers and sources."""

    root: Path = ROOT

    @cached_property
    def parts(self) -> list[tuple[str, list[str]]]:
        """Captions of the contents, each with its pages."""
        toc = yaml.safe_load((self.root / "_toc.yml").read_text(encoding="utf-8"))

        def files(entries: list[dict]) -> Iterator[str]:
            for entry in entries:
                yield entry["file"]
                yield from files(entry.get("sections", []))

        return [(part["caption"], list(files(part["chapters"]))) for part in toc["parts"]]

    @cached_property
    def notebooks(self) -> list[str]:
        """Pages that are notebooks, in reading order."""
        pages = ["chapters/index", *(page for _, pages in self.parts for page in pages)]
        return [page for page in pages if (self.root / f"{page}.ipynb").is_file()]

    @cached_property
    def contents(self) -> contents.Contents:
        """Chapters with their minutes, and ways through them."""
        return contents.Contents(self.root)

    @cached_property
    def formulas(self) -> dict[str, tuple[str, str]]:
        """For each label its page and its number."""
        pages = course_map.displayed_labels(self.root)
        numbers = course_map.formula_numbers(self.root)
        return {label: (f"chapters/{pages[label]}", number) for label, number in numbers.items()}

    @cached_property
    def sources(self) -> dict[str, tuple[str, str]]:
        """For each key of the bibliography, authors and year."""
        entries = parse_file(str(self.root / "references.bib")).entries
        found: dict[str, tuple[str, str]] = {}
        for key, entry in entries.items():
            people = entry.persons.get("author") or entry.persons["editor"]
            names = ["".join(map(str, [*person.rich_prelast_names, " ", *person.rich_last_names]))
                     .strip() for person in people]  # fmt: skip
            who = names[0] if len(names) == 1 else " and ".join(names)
            found[key] = (who if len(names) < 3 else f"{names[0]} et al.", entry.fields["year"])
        return found

    def link(self, here: str, page: str, words: str) -> str:
        """Link to a notebook, or to a page of the published book; else give the words alone."""
        if page in self.notebooks:
            return f"[{words}]({relpath(page, dirname(here))}.ipynb)"
        if not (self.root / f"{page}.md").is_file():
            raise PlainError(f"{here}: there is no page {page}")
        book = address.book()
        return f"[{words}]({book}/{page}.html)" if book else f"*{words.strip('*')}*"


@dataclass(frozen=True)
class Text:
    """The text cells of one page."""

    book: Book
    page: str

    def convert(self, text: str) -> str:
        """Give the text of a cell without MyST.

        Raises
        ------
        PlainError
            If a role or directive has no rule here, or something of MyST's is left.
        """
        out: list[str] = []
        prose: list[str] = []
        lines = text.split("\n")
        while lines:
            line = lines.pop(0)
            fence = FENCE.match(line)
            if not fence:
                prose.append(line)
                continue
            out += [self.prose("\n".join(prose))] if prose else []
            prose = []
            end = re.compile(rf"\s*{re.escape(fence[1][0])}{{{len(fence[1])},}}\s*$")
            close = next((i for i, other in enumerate(lines) if end.match(other)), None)
            if close is None:
                raise PlainError(f"{self.page}: {line.strip()!r} is never closed")
            body, lines = lines[:close], lines[close + 1 :]
            if directive := re.match(r"\{([\w:-]+)\}\s*(.*)$", fence[2].strip()):
                out.append(self.directive(directive[1], directive[2], body))
            elif fence[1].startswith(":"):
                raise PlainError(f"{self.page}: {line.strip()!r} opens no directive")
            else:
                out.append("\n".join([line, *body, fence[1]]))
        return "\n".join([*out, self.prose("\n".join(prose))] if prose else out)

    def prose(self, text: str) -> str:
        """Convert what stands outside fences: roles, formulas, links."""
        text = LABEL.sub("", text)
        if left := LEFT.search(TOKEN.sub(" ", text)):
            line = text[: text.find(left[0])].count("\n")
            raise PlainError(
                f"{self.page}: {left[0]!r} would be shown as it stands: {text.splitlines()[line]!r}"
            )
        return TOKEN.sub(self.token, text)

    def token(self, match: re.Match) -> str:
        """Convert one role, formula or link; leave code and formulas without a label."""
        if match["role"]:
            around = match.string[max(match.start() - 1, 0) : match.end() + 1]
            bare = around.startswith("(") and around.endswith(")")
            return self.role(match["role"], match["argument"], bare)
        if match["label"]:
            return self.formula(match["display"], match["label"])
        if match["target"] is not None and not match[0].startswith("!"):
            return self.reference(self.prose(match["text"]), match["target"])
        if match["target"] is not None and not match["target"].startswith("https:"):
            raise PlainError(f"{self.page}: the picture {match['target']} is in no notebook")
        if match["display"] and "\n>" in match["display"]:
            raise PlainError(f"{self.page}: put this quoted formula on one line: {match[0]!r}")
        if match[0].startswith("$"):
            return part_colours.without_colours(match[0])
        return match[0]

    def role(self, name: str, argument: str, bare: bool = False) -> str:
        """Convert a role; a number that stands ``bare`` has its parentheses in the text."""
        words, _, target = argument.removesuffix(">").rpartition("<")
        if name == "eq":
            page, number = self.book.formulas[argument]
            shown = number if bare else f"({number})"
            if page == self.page:
                return shown
            title = course_map.page_title(self.book.root, page)
            return f"{shown} in {self.book.link(self.page, page, title)}"
        if name in part_colours.PARTS:
            return argument
        if name in ("cite:t", "cite:p"):
            sources = [self.book.sources[key.strip()] for key in argument.split(",")]
            if name == "cite:t":
                return ", ".join(f"{who} ({year})" for who, year in sources)
            return f"({'; '.join(f'{who}, {year}' for who, year in sources)})"
        if name == "doc":
            page = normpath(f"{dirname(self.page)}/{target}")
            title = words.strip() or course_map.page_title(self.book.root, page)
            return self.book.link(self.page, page, title)
        if name in ("class", "func", "meth", "mod", "obj", "attr", "data") or name[:3] == "py:":
            shown = words.strip() or target
            return f"`{shown[1:].rpartition('.')[2] if shown.startswith('~') else shown}`"
        raise PlainError(f"{self.page}: no rule for the role {{{name}}}`{argument}`")

    def formula(self, body: str, label: str) -> str:
        """Give a labelled formula its number as a tag."""
        if "\n>" in body:
            raise PlainError(f"{self.page}: put the quoted formula {label} on one line")
        tag = f"\\tag{{{self.book.formulas[label][1]}}}"
        body = part_colours.without_colours(body)
        before, _, indent = body.rpartition("\n")
        if before and not indent.strip():
            return f"$${before}\n{indent}{tag}\n{indent}$$"
        return f"$${body.rstrip()} {tag} $$"

    def reference(self, words: str, target: str) -> str:
        """Convert a link; one to a heading leads to its page, since ids of headings differ."""
        if re.match(r"(https?|mailto):", target):
            return f"[{words}]({target})"
        path, _, _ = target.partition("#")
        if not path or re.fullmatch(r"[\w-]+", path):  # a heading of this page, or its label
            return f"*{words}*"
        page, _, ending = normpath(f"{dirname(self.page)}/{path}").rpartition(".")
        if ending not in ("ipynb", "md"):
            raise PlainError(f"{self.page}: {target} lies beside no notebook")
        return self.book.link(self.page, page, words)

    def directive(self, name: str, argument: str, body: list[str]) -> str:
        """Convert a directive."""
        options: dict[str, str] = {}
        while body and (option := OPTION.match(body[0])):
            options[option[1]] = option[2].strip()
            body = body[1:]
        text = "\n".join(body).strip("\n")
        rules: dict[str, Callable[[], str]] = {
            "grid": lambda: self.convert(text),
            "grid-item-card": lambda: self._card(argument, options, text),
            "grid-item": lambda: self._item(text),
            "chapters": self._chapters,
            "paths": self._paths,
            "math": lambda: self.formula(f"\n{text}\n", options["label"]),
            "dropdown": lambda: self._folded(argument, text),
            "admonition": lambda: self._note(argument, options, text),
        }
        rules |= {use: lambda: self._question(name, argument) for use in questions.USES}
        rules |= {
            note: lambda: self._note(argument or NOTES[name], options, text) for note in NOTES
        }
        if name not in rules:
            raise PlainError(f"{self.page}: no rule for the directive {{{name}}}")
        return rules[name]()

    def _card(self, title: str, options: dict[str, str], text: str) -> str:
        page = normpath(f"{dirname(self.page)}/{options['link']}")
        head = self.book.link(self.page, page, f"**{title}**")
        return f"- {head}: {' '.join(self.convert(text).split())}"

    def _item(self, text: str) -> str:
        head, _, body = text.partition("\n\n")
        return f"- {head}: {' '.join(self.convert(body).split())}"

    def _timed(self, page: str) -> str:
        name, time = self.book.contents.title(page), self.book.contents.minutes[page]
        return f"- {self.book.link(self.page, page, name)}, {contents.spell(time)}"

    def _chapters(self) -> str:
        """List what is written: a notebook has no pictures of what is to come."""
        lines = []
        for part, entries in self.book.contents.parts:
            pages = [page for e in entries for page in (e.page, e.exercise) if page]
            lines += [f"**{part}**", "", *map(self._timed, pages), ""] if pages else []
        return "\n".join(lines).rstrip()

    def _paths(self) -> str:
        lines = []
        for route in self.book.contents.paths:
            total = contents.spell(self.book.contents.total(route))
            lines += [f"**{route.name}** ({total}). {route.says}", ""]
            lines += [*map(self._timed, route.pages), ""]
        return "\n".join(lines).rstrip()

    def _question(self, use: str, name: str) -> str:
        return self.convert(questions.find(use, name, self.book.root).markdown())

    def _folded(self, title: str, text: str) -> str:
        return f"<details><summary>{title}</summary>\n\n{self.convert(text)}\n\n</details>"

    def _note(self, title: str, options: dict[str, str], text: str) -> str:
        if "dropdown" in options.get("class", ""):
            return self._folded(title, text)
        # In a quotation JupyterLab shows the marks inside a formula of several lines.
        joined = re.sub(
            r"\$\$.+?\$\$", lambda m: " ".join(m[0].split()), self.convert(text), flags=re.DOTALL
        )
        lines = [f"**{title}**", "", *joined.split("\n")]
        return "\n".join(f"> {line}".rstrip() for line in lines)


def plain(page: str, book: Book, wheel: str = "") -> NotebookNode:
    """Convert one notebook.

    Parameters
    ----------
    page : str
        Such as "chapters/03_additive".
    book : Book
        What it is part of.
    wheel : str
        Address of the published package, for the cell that installs it; else that cell stays.

    Raises
    ------
    PlainError
        If a text holds something that a notebook cannot show.
    """
    notebook = nbformat.read(book.root / f"{page}.ipynb", as_version=4)
    text, cells = Text(book, page), []
    for cell in notebook.cells:
        tags = set(cell.metadata.get("tags", []))
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        kept = {k: v for k, v in cell.metadata.items() if k not in BOOK_METADATA}
        if ours := sorted(t for t in tags if t.startswith("nbval-") or t == "raises-exception"):
            kept["tags"] = ours
        if cell.cell_type == "code" and tags & HIDDEN:
            kept |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
        if "hide-output" in tags:  # it answers a question: JupyterLab opens it on a click
            kept["jupyter"] = kept.get("jupyter", {}) | {"outputs_hidden": True}
        cell.metadata = NotebookNode(kept)
        if cell.cell_type == "markdown":
            cell.source = text.convert(cell.source)
            if not cells and page in book.contents.whereabouts:
                cell.source += f"\n\n{book.contents.whereabouts[page].in_a_notebook()}"
        elif wheel and "install" in tags:
            cell.source = cell.source.replace('WHEEL = ""', f'WHEEL = "{wheel}"')
        cells.append(cell)
        if alt:  # notebook programs give pictures no text alternative
            folded = f"<details><summary>What the figure shows</summary>\n\n{alt}\n\n</details>"
            cells.append(nbformat.v4.new_markdown_cell(folded, id=f"{cell.id}-alt"))
    notebook.cells = cells
    notebook.metadata.pop("jupytext", None)
    # As JupyterLab would write it: with another name it marks the file as changed on opening it.
    notebook.metadata.kernelspec = NotebookNode(
        display_name="Python 3 (ipykernel)", language="python", name="python3"
    )
    return notebook


def write_all(folder: Path = OUT, wheel: str = "", root: Path = ROOT) -> list[Path]:
    """Write all plain notebooks into an emptied folder; give their paths."""
    book = Book(root)
    made = {page: plain(page, book, wheel) for page in book.notebooks}
    shutil.rmtree(folder, ignore_errors=True)
    for page, notebook in made.items():
        path = folder / f"{page}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
    return [folder / f"{page}.ipynb" for page in made]


if __name__ == "__main__":
    print(f"{len(write_all())} notebooks in {OUT.relative_to(ROOT)}")
