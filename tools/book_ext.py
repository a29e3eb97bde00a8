"""Sphinx extension of the book: launch rows, formula links, map pages, published notebooks.

- Under the title of each notebook page: reading time, download, and Colab once the project has an
  address; of a chapter also where in the translator it is (:mod:`tools.whereabouts`).
- Beside each labelled formula: where it is computed, tested, practised, and who found it.
- ``{formula-map}`` and ``{inventory}``: the machine-checked map, from :mod:`tools.course_map`; and
  a page for each chapter with the tests of its formulas, beside the pages of the package's source.
- Formulas numbered by chapter, as in the plain notebooks.
- After the build: the wheel and the plain notebooks (:mod:`tools.plain`) beside the pages; each
  notebook as a script too, for a book that is opened from a file.
"""

import html
import json
import posixpath
import re
import shutil
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tools import address, build, course_map, figures, plain, whereabouts
from tools.contents import DATA, Contents

MAP_PAGE = "chapters/map"
INVENTORY_PAGE = "chapters/covered"
TESTS = "_modules/tests"
INVENTORY_GROUPS = {
    "F": "Formulas",
    "M": "Modules",
    "T": "Tables",
    "V": "Visuals",
    "W": "Worked examples",
    "N": "Conventions",
    "D": "Insights, each measured",
    "X": "Experiments as exercises",
    "P": "Practice",
    "E": "Doors to more",
}


def setup(app: Sphinx) -> dict:
    """Register everything with Sphinx."""
    app.add_directive("formula-map", FormulaMap)
    app.add_directive("inventory", Inventory)
    app.add_config_value("formula_numbers", {}, "html")  # a new number writes all pages anew
    app.connect("config-inited", configure)
    app.connect("builder-inited", load_map)
    app.connect("env-get-outdated", reread_map_pages)
    app.connect("doctree-read", decorate)
    app.connect("write-started", number_formulas)
    app.connect("html-collect-pages", pages_of_tests)
    app.connect("html-page-context", mend_links_to_documentation)
    app.connect("build-finished", publish)
    # A new env_version makes Sphinx read all pages again: raise it when what is read changes.
    return {
        "version": "1",
        "env_version": 7,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


def mend_links_to_documentation(app: Sphinx, page: str, template, context: dict, doctree) -> None:
    """Point the [docs] links of a source page at names as they are documented.

    Sphinx assumes that all names of a module are documented under one prefix. Ours are documented
    as they are imported: from the module, from ``seqattn``, or from a package between the two.
    """
    if not page.startswith("_modules/seqattn/"):
        return
    module = page.removeprefix("_modules/").replace("/", ".")
    documented = app.env.get_domain("py").objects  # type: ignore[attr-defined]

    def mend(link: re.Match) -> str:
        prefixes = [link["prefix"], *accumulate(module.split("."), "{}.{}".format)]
        names = [f"{prefix}.{link['name']}" for prefix in prefixes]
        anchor = next((documented[n].node_id for n in names if n in documented), names[0])
        return f"{link['before']}#{anchor}"

    context["body"] = re.sub(
        r'(?P<before>id="(?P<name>[\w.]+)">\s*<a class="viewcode-back" href="[^"#]*)'
        r'#(?P<prefix>[\w.]+)\.(?P=name)(?=")',
        mend,
        context["body"],
    )


def configure(app: Sphinx, config) -> None:
    """Give formulas their numbers; show repository buttons only when there is a repository."""
    config.formula_numbers = course_map.formula_numbers(Path(app.srcdir))
    known = address.repository()
    options = config.html_theme_options
    options["repository_url"] = known
    options["use_repository_button"] = options["use_source_button"] = bool(known)


def load_map(app: Sphinx) -> None:
    """Read the map, and where chapters are; a broken link in the map stops the build."""
    course = course_map.load(Path(app.srcdir))
    if found := course_map.problems(course):
        raise ExtensionError("the course map is broken:\n  " + "\n  ".join(found))
    app.env.course_map = course  # type: ignore[attr-defined]
    app.env.whereabouts = Contents(Path(app.srcdir)).whereabouts  # type: ignore[attr-defined]


def reread_map_pages(app: Sphinx, env, added, changed, removed) -> list[str]:
    """Pages that show the map or its links are read again when any of its data is newer."""
    data = [
        *Path(app.srcdir, "chapters/formulas").glob("*.yml"),
        Path(app.srcdir, "chapters/inventory.yml"),
    ]
    data += [Path(app.srcdir, f.test.partition("::")[0]) for f in env.course_map.formulas]
    newest = max((path.stat().st_mtime for path in data), default=0.0)
    pages = {MAP_PAGE, INVENTORY_PAGE, *(f"chapters/{f.chapter}" for f in env.course_map.formulas)}
    # Sphinx keeps the time of each reading in microseconds.
    return [p for p in pages if p in env.all_docs and env.all_docs[p] < newest * 1e6]


def pages_of_tests(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """Write the tests of each chapter's formulas onto a page of their own."""
    course, numbers = app.env.course_map, app.config.formula_numbers  # type: ignore[attr-defined]
    for chapter in dict.fromkeys(f.chapter for f in course.formulas):
        title = f"Tests: {course_map.page_title(course.root, f'chapters/{chapter}')}"
        body = [f"<h1>{html.escape(title)}</h1>"]
        for f in (f for f in course.formulas if f.chapter == chapter):
            source = course_map.test_source(course.root, f.test) or ""
            code = app.builder.highlighter.highlight_block(source, "python")  # type: ignore[attr-defined]
            where = f"../../chapters/{chapter}.html#equation-{f.label}"
            body += [
                f'<section id="test-{f.label}"><h2>{html.escape(f.title)}</h2>',
                f'<p>Of <a class="reference internal" href="{where}">({numbers[f.label]})</a>, in '
                f"<code>{f.test.partition('::')[0]}</code>:</p>",
                f'<div class="highlight-python notranslate">{code}</div></section>',
            ]
        parents = [{"link": f"../../{MAP_PAGE}.html", "title": "The map"}]
        context = {"parents": parents, "title": title, "body": "\n".join(body)}
        yield f"{TESTS}/{chapter}", context, "page.html"


def decorate(app: Sphinx, doctree: nodes.document) -> None:
    """Add the launch row and the lines under formulas to a page that was just read."""
    docname = app.env.docname
    notebook = Path(app.srcdir, docname + ".ipynb")
    if notebook.is_file() and docname != app.config.root_doc:
        title = next(iter(doctree.findall(nodes.title)), None)
        if title is not None:
            row = nodes.raw("", _launch_row(docname, notebook), format="html")
            at = title.parent.index(title) + 1
            title.parent[at:at] = [row, *_whereabouts(app, docname)]
    for block in list(doctree.findall(nodes.math_block)):
        formula = app.env.course_map.by_label.get(block.get("label"))
        if formula is not None:
            at = block.parent.index(block)
            block.parent[at:at] = _provenance(formula, docname)


def _whereabouts(app: Sphinx, docname: str) -> list[nodes.Node]:
    """Build the picture of the translator with a chapter's parts lit; nothing on other pages."""
    place = app.env.whereabouts.get(docname)  # type: ignore[attr-defined]
    if place is None:
        return []
    for path in (DATA, Path(whereabouts.__file__), figures.HEIGHTS):
        app.env.note_dependency(str(Path(app.srcdir, path)))
    heights = figures.known_heights().get(whereabouts.key(docname), [()])
    return [nodes.raw("", place.fold(heights[0]), format="html")]


def _launch_row(docname: str, notebook: Path) -> str:
    metadata = json.loads(notebook.read_text(encoding="utf-8"))["metadata"].get("seqattn", {})
    source = posixpath.relpath(f"notebooks/{docname}.ipynb", posixpath.dirname(docname))
    parts = []
    if minutes := metadata.get("minutes"):
        spare = f" ({spare} optional)" if (spare := metadata.get("optional")) else ""
        parts.append(f'<span class="launch-time">{int(minutes)} min{spare}</span>')
    parts.append(f'<a class="launch" href="{html.escape(source)}" download>Download notebook</a>')
    if colab := address.colab(f"notebooks/{docname}.ipynb"):
        parts.append(f'<a class="launch" href="{html.escape(colab)}">Open in Colab</a>')
    return f'<p class="launch-row">{" ".join(parts)}</p>'


def _provenance(formula: course_map.Formula, docname: str) -> list[nodes.Node]:
    """Build the note beside a formula: folded, it never parts two halves of a sentence."""
    sign = "Where the next formula is computed, tested, practised, and from"
    return [
        nodes.raw(
            "",
            f'<details class="provenance"><summary aria-label="{sign}" title="{sign}">i</summary>',
            format="html",
        ),
        _links(formula, docname),
        nodes.raw("", "</details>", format="html"),
    ]


def _links(formula: course_map.Formula, docname: str) -> nodes.paragraph:
    """Build the note's line: code · test · exercise · source."""
    line = nodes.paragraph(classes=["formula-links"])
    line += nodes.Text("Code ")
    line += _code_reference(formula.function, docname)
    line += nodes.Text(" · ")
    line += _page_reference(docname, f"{TESTS}/{formula.chapter}", "Test", f"test-{formula.label}")
    if formula.exercise:
        stem, _, question = formula.exercise.partition("#")
        line += nodes.Text(" · ")
        line += _page_reference(docname, f"exercises/{stem}", f"Exercise {question.upper()}")
    line += nodes.Text(f" · Source: {formula.source}")
    return line


def _code_reference(function: str, docname: str) -> addnodes.pending_xref:
    reference = addnodes.pending_xref(
        "",
        nodes.literal("", function.removeprefix("seqattn."), classes=["xref", "py"]),
        refdomain="py",
        reftype="obj",
        reftarget=function,
        refexplicit=True,
        refwarn=True,
        refdoc=docname,
    )
    return reference


def _page_reference(docname: str, target: str, text: str, anchor: str = "") -> nodes.reference:
    uri = posixpath.relpath(f"{target}.html", posixpath.dirname(docname))
    return nodes.reference("", text, refuri=f"{uri}#{anchor}" if anchor else uri, internal=True)


class _Generated(SphinxDirective):
    """A directive that writes Markdown and has it parsed in place."""

    def run(self) -> list[nodes.Node]:
        container = nodes.container()
        lines = self.markdown(self.env.course_map)
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, container)
        return container.children

    def markdown(self, course: course_map.CourseMap) -> list[str]:
        raise NotImplementedError


def _held(name: str) -> str:
    """Keep a name such as F-03 on one line."""
    return f'<span class="sa-held">{name}</span>'


class FormulaMap(_Generated):
    """Every formula with its function, test and exercise."""

    def markdown(self, course: course_map.CourseMap) -> list[str]:
        lines = []
        for chapter in dict.fromkeys(f.chapter for f in course.formulas):
            page = f"chapters/{chapter}"
            title = course_map.page_title(course.root, page)
            lines += [f"**[{title}]({posixpath.basename(_file(course.root, page))})**", ""]
            lines += ["| no. | formula | code | test | exercise | inventory |"]
            lines += ["|---|---|---|---|---|---|"]
            for f in (f for f in course.formulas if f.chapter == chapter):
                exercise = "–"
                if f.exercise:
                    stem, _, question = f.exercise.partition("#")
                    exercise = f"[{question.upper()}](../exercises/{stem}.ipynb)"
                here = f"test-{f.label}"
                lines.append(
                    f"| {{eq}}`{f.label}` | {f.title} | {{py:obj}}`~{f.function}` "
                    f'| <a id="{here}" href="../{TESTS}/{chapter}.html#{here}">test</a> '
                    f"| {exercise} | {', '.join(map(_held, f.covers)) or '–'} |"
                )
            lines.append("")
        return lines


class Inventory(_Generated):
    """What the course sets out to teach, and where it does."""

    def markdown(self, course: course_map.CourseMap) -> list[str]:
        total = len(course.inventory)
        done = sum(bool(course.covered_by(line)) for line in course.inventory)
        lines = [f"{done} of {total} lines are covered so far.", ""]
        for letter, group in INVENTORY_GROUPS.items():
            lines += [f"::::{{dropdown}} {group}", "", "| line | what | where |", "|---|---|---|"]
            for line, entry in course.inventory.items():
                if line.startswith(letter):
                    where = ", ".join(_link(course.root, page) for page in course.covered_by(line))
                    lines.append(f"| {line} | {entry['title']} | {where or 'to come'} |")
            lines += ["::::", ""]
        return lines


def _link(root: Path, page: str) -> str:
    folder, stem = posixpath.split(page)
    file = posixpath.basename(_file(root, page))
    number = re.match(r"\d+", stem)
    name = f"{folder.removesuffix('s')}\u00a0{int(number[0])}" if number else stem.replace("_", " ")
    return f"[{name}]({'' if folder == 'chapters' else f'../{folder}/'}{file})"


def _file(root: Path, page: str) -> str:
    return f"{page}.ipynb" if (root / f"{page}.ipynb").is_file() else f"{page}.md"


def number_formulas(app: Sphinx, builder: Builder) -> None:
    """Use numbers by chapter, as the plain notebooks do; Sphinx counts through the book."""
    numbers = app.config.formula_numbers
    for page, kinds in app.env.toc_fignumbers.items():
        for node_id in kinds.get("displaymath", {}):
            label = node_id.removeprefix("equation-")
            if label not in numbers:
                raise ExtensionError(
                    f"{page}: the formula {label} has no number (tools.course_map)"
                )
            kinds["displaymath"][node_id] = tuple(numbers[label].split("."))


def publish(app: Sphinx, exception: Exception | None) -> None:
    """Put the wheel and the plain notebooks beside the pages.

    With a known address the notebooks install that wheel.
    """
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    (out / ".nojekyll").touch()
    wheels = sorted(build.wheels().glob("*.whl"))
    address_of_wheel = ""
    if wheels:
        (out / "wheels").mkdir(exist_ok=True)
        shutil.copy2(wheels[-1], out / "wheels" / wheels[-1].name)
        if book := address.book():
            address_of_wheel = f"{book}/wheels/{wheels[-1].name}"
    for notebook in plain.write_all(out / "notebooks", address_of_wheel, Path(app.srcdir)):
        as_script(notebook)


def as_script(notebook: Path) -> Path:
    """Write a notebook once more beside itself, as a script that saves it.

    A page that was opened from a file may load no other file but scripts, and its browser shows a
    notebook instead of saving it (``_assets/seqattn.js``).
    """
    text = json.dumps(notebook.read_text(encoding="utf-8"))
    script = notebook.with_name(f"{notebook.name}.js")
    script.write_text(f"saveNotebook({json.dumps(notebook.name)}, {text});\n", encoding="utf-8")
    return script
