"""The book's contents, as chapters/contents.yml tells them: a sentence, minutes and a picture each.

``{chapters}`` shows all chapters by parts, or those alone that are written; ``{paths}`` ways
through them. No minute is written by hand: they are those of :mod:`tools.minutes`.
"""

import html
import posixpath
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools import course_map, minutes, thumbnails
from tools.whereabouts import Whereabouts

ROOT = Path(__file__).resolve().parents[1]
DATA = "chapters/contents.yml"


@dataclass(frozen=True)
class Entry:
    """A chapter: written, if it has a page, or to come."""

    title: str
    says: str
    picture: str
    page: str = ""
    exercise: str = ""
    whereabouts: Whereabouts | None = None


@dataclass(frozen=True)
class Route:
    """A way through pages, with the minutes that it takes."""

    name: str
    says: str
    pages: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """What chapters/contents.yml says, with titles and minutes from the pages."""

    root: Path = ROOT

    @cached_property
    def _data(self) -> dict[str, Any]:
        return yaml.safe_load((self.root / DATA).read_text(encoding="utf-8"))

    @cached_property
    def minutes(self) -> dict[str, int]:
        """For each page that takes time, such as "exercises/02_softmax", how much."""
        folders = {"chapters": "chapters", "solutions": "exercises"}
        return {f"{folders[p.parent.name]}/{p.stem}": time for p, time in minutes.pages()}

    @cached_property
    def parts(self) -> list[tuple[str, list[Entry]]]:
        """Captions, each with its chapters."""
        return [
            (part["part"], [self._entry(**chapter) for chapter in part["chapters"]])
            for part in self._data["parts"]
        ]

    def _entry(
        self,
        says: str,
        picture: str,
        page: str = "",
        title: str = "",
        exercise: str = "",
        **place: Any,
    ) -> Entry:
        if bool(page) == bool(title):
            raise ValueError(
                f"{DATA}: a chapter has a page, which knows its title, or a title, if it is to "
                f"come; {page or title or says!r} has {'both' if page else 'neither'}"
            )
        page = page and f"chapters/{page}"
        return Entry(
            title or self.title(page),
            says,
            picture,
            page,
            exercise and f"exercises/{exercise}",
            Whereabouts(**place) if page else None,
        )

    @cached_property
    def whereabouts(self) -> dict[str, Whereabouts]:
        """For each written chapter, such as "chapters/03_additive", which parts it is about."""
        entries = [entry for _, chapters in self.parts for entry in chapters]
        return {entry.page: entry.whereabouts for entry in entries if entry.whereabouts}

    def title(self, page: str) -> str:
        """Give a page's title, number included."""
        title = course_map.page_title(self.root, page)
        return title.replace("'", "’")  # as Sphinx sets them elsewhere

    @cached_property
    def written(self) -> list[str]:
        """All pages that take time, in reading order."""
        entries = [entry for _, chapters in self.parts for entry in chapters]
        return [page for entry in entries for page in (entry.page, entry.exercise) if page]

    @cached_property
    def paths(self) -> list[Route]:
        """Ways through what is written."""
        return [
            Route(p["name"], p["says"], tuple(self.written if p["pages"] == "all" else p["pages"]))
            for p in self._data["paths"]
        ]

    def total(self, route: Route) -> int:
        """Give the minutes of a path."""
        return sum(self.minutes[page] for page in route.pages)


def spell(time: int) -> str:
    """Say a time: 55 min, 4 h 55 min.

    Examples
    --------
    >>> spell(55), spell(120), spell(295)
    ('55 min', '2 h', '4 h 55 min')
    """
    hours, rest = divmod(time, 60)
    return " ".join([f"{hours} h"] * (hours > 0) + [f"{rest} min"] * (rest > 0 or not hours))


class _Generated(SphinxDirective):
    """A directive that writes HTML, which is made anew when its sources change."""

    def run(self) -> list[nodes.Node]:
        for path in (ROOT / DATA, *(path for path, _ in minutes.pages())):
            self.env.note_dependency(str(path))
        self.env.note_dependency(thumbnails.__file__)
        return [nodes.raw("", self.html(Contents(Path(self.env.srcdir))), format="html")]

    def html(self, contents: Contents) -> str:
        raise NotImplementedError

    def link(self, page: str, words: str) -> str:
        """Link to a page from the one that is read."""
        here = posixpath.dirname(self.env.docname)
        return f'<a href="{posixpath.relpath(page, here)}.html">{html.escape(words)}</a>'


class Chapters(_Generated):
    """``{chapters}``: each with picture, sentence and minutes; ``:written:`` those alone."""

    option_spec = {"written": directives.flag}  # noqa: RUF012

    def html(self, contents: Contents) -> str:
        if "written" in self.options:
            chapters = [e for _, part in contents.parts for e in part if e.page]
            return self._list(contents, chapters)
        return "".join(
            f"<h2>{html.escape(part)}</h2>{self._list(contents, chapters)}"
            for part, chapters in contents.parts
        )

    def _list(self, contents: Contents, chapters: list[Entry]) -> str:
        return f'<ul class="chapters">{"".join(self._card(contents, c) for c in chapters)}</ul>'

    def _card(self, contents: Contents, entry: Entry) -> str:
        head = self.link(entry.page, entry.title) if entry.page else html.escape(entry.title)
        facts = [spell(contents.minutes[entry.page])] if entry.page else ["to come"]
        if entry.exercise:
            now = "exercise" if entry.page else "its exercise is here"
            facts.append(
                f"{self.link(entry.exercise, now)}, {spell(contents.minutes[entry.exercise])}"
            )
        kind = "written" if entry.page else "to-come"
        return (
            f'<li class="chapter {kind}">{thumbnails.svg(entry.picture)}'
            f'<div><p class="chapter-title">{head}</p><p>{html.escape(entry.says)}</p>'
            f'<p class="chapter-facts">{" · ".join(facts)}</p></div></li>'
        )


class Paths(_Generated):
    """``{paths}``: ways through the book, each with its pages and the sum of their minutes."""

    def html(self, contents: Contents) -> str:
        return f'<ul class="paths">{"".join(self._path(contents, p) for p in contents.paths)}</ul>'

    def _path(self, contents: Contents, route: Route) -> str:
        steps = "".join(
            f"<li>{self.link(page, contents.title(page))}"
            f" <span>{spell(contents.minutes[page])}</span></li>"
            for page in route.pages
        )
        if list(route.pages) == contents.written:  # the contents list them already
            steps = (
                f"<li>{self.link('chapters/contents', 'All chapters and exercises, in order')}</li>"
            )
        return (
            f'<li class="path"><p class="path-name">{html.escape(route.name)} '
            f"<span>{spell(contents.total(route))}</span></p>"
            f"<p>{html.escape(route.says)}</p><ol>{steps}</ol></li>"
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("chapters", Chapters)
    app.add_directive("paths", Paths)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
