"""Sphinx extension that makes pages light: what a first visit carries is what the page shows.

- One style sheet with the rules that pages can use (:mod:`tools.stylesheet`): ``text.css`` on
  pages of text alone, ``cells.css`` where there are cells as well, ``book.css`` where a page asks
  or moves; and one for live figures.
- Scripts of the theme that no page of ours needs are left out; the search index waits on its page.
- Live figures are mounted by a small script of our own (:mod:`tools.figures`).
- Pictures are fetched when the reader comes near.
- Folded code stands behind what it made: between a question and its figure stands nothing.
- Formulas come as MathML from :mod:`tools.mathml`.
- Code, names, signatures and tables carry no marks that change nothing.
- Formulas keep the signs beside them, and their numbers one pair of brackets.
- Long names may break after a dot, an underscore or a bracket, and nowhere else.
- Printed lines that are too long for a phone may wrap there, unless they stand in columns.
- Our scripts come without comments and indentation.
"""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ext import HideCodeCellNode, HideInputCells
from PIL import Image
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from tools import figures, stylesheet

CODE_FOLD = "Show code cell source", "Hide code cell source"
# In the order in which they overrule each other.
SHEETS = [
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "mystnb.*.css",
    "sphinx-design.min.css",
    "stand_ins.css",
    "seqattn.css",
    "plots.css",
    "learner.css",
]
SHEET_OF_ANSWERS = "waiting.css"  # after them, where a page asks
UNUSED_SCRIPTS = ("design-tabs.js",)
# What finds and marks words, where a reader searches.
SEARCH_SCRIPTS = ("doctools.js", "sphinx_highlight.js")
# Code: names, signs and spaces are as the text around them, and most of all marks.
PLAIN = re.compile(r'<span class="[nopw]">([^<]*)</span>')
# Elsewhere: marks and classes that no rule asks for, a name that says again what stands there, a
# picture that the style sheet draws. And a name that hides what a fold says of itself.
IDLE = [
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
    # The corner of a table is the head of nothing.
    (re.compile(r'<th (?:class="head"><p></p>|scope="col">)</th>'), "<td></td>"),
    (re.compile(r'<span class="(?:pre|std std-(?:doc|ref))">([^<]*)</span>'), r"\1"),
    (re.compile(r'(<code class=")(xref )?(?:py py-\w+ )?docutils literal'), r"\1\2literal"),
    (re.compile(r'<tr class="row-(?:odd|even)">'), "<tr>"),
    (re.compile(r' title="([^"]+)"(><code[^>]*>\1</code>)'), r"\2"),
    (re.compile(r'(<a class="reference internal" href="[^"]*#([\w.]+)") title="\2"'), r"\1"),
    (re.compile(r'(<a\b[^>]*><code class=")xref (literal)'), r"\1\2"),
    (re.compile(r'(<span class="sd-summary-state-marker[^>]*>)<svg.*?</svg>', re.DOTALL), r"\1"),
]
# A signature's name, its place, and what it takes; a default is quieter (_assets/seqattn.css).
SIGNATURE = re.compile(r'<dt class="sig[ "].*?</dt>', re.DOTALL)
IDLE_IN_SIGNATURES = [
    (
        re.compile(r'(?:<span class="o">)?=(?:</span>)?<span class="default_value">([^<]*)</span>'),
        r"<i>=\1</i>",
    ),
    (re.compile(r'<em class="sig-param">'), "<em>"),
    (re.compile(r'<span class="sig-(pre)?name desc(?:class)?name">'), r'<span class="sig-\1name">'),
    (re.compile(r'<span class="(?:[a-z]{1,2}|sig-paren)">([^<]*)</span>'), r"\1"),
    (
        re.compile(
            r' class="reference internal"( href="[^"]*">)<span class="(viewcode-link)">(.*?)</span>'
        ),
        r' class="\2"\1\3',
    ),
]
# The page's own contents.
CONTENTS = re.compile(r'<nav id="pst-page-toc-nav".*?</nav>', re.DOTALL)
IDLE_IN_CONTENTS = [
    (
        re.compile(r'<code class="docutils literal[^"]*"><span class="pre">([^<]*)</span>'),
        r"<code>\1",
    ),
    (
        re.compile(
            r'<li class="toc-h\d nav-item toc-entry"><a class="reference internal nav-link"'
        ),
        '<li class="toc-entry"><a class="nav-link"',
    ),
    (re.compile(r'<ul class="nav section-nav flex-column">'), '<ul class="nav section-nav">'),
]
# Where line breaks and spaces count.
VERBATIM = re.compile(r"(<(pre|script|style|textarea|svg|code)\b.*?</\2>)", re.DOTALL)
# What makes a page more than text: questions, answers and live figures; or cells.
LIVELY = re.compile(r'class="sa-(?:ask|report|place)\b')
CELLS = re.compile(r'class="cell\b')
# A number of a formula in brackets of the sentence has none of its own.
TWICE = re.compile(
    r'\((<a class="reference internal" href="[^"]*#equation-[^"]*">)\(([\d.]+)\)</a>'
)
# A sign that belongs to a formula stays on its line.
SIGNED = re.compile(
    r'\(?<span class="math notranslate">(?:(?!</span>).)+</span>[,.;:!?)’”]+', re.DOTALL
)
# Where a name that is too long for its line may break: after a sign, between letters.
JOINT = re.compile(r"(?<=\w)(?:[_/(|:=]+|(?<!\d)\.)(?=\w)")
NAME = re.compile(r"[^\s<>]+")
CODE = re.compile(r"(<code[^>]*>)([^<]*)(?=</code>)")
# A shape, or a product: a few letters with a space, which look torn on two lines.
SHORT = re.compile(r"<code[^>]*>(?=[^<]* )[^<]{,12}</code>")
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
SIGNATURE_NAME = re.compile(r'(?<=<span class="sig-)(?:prename|name)">[^<]*')
JOINT_OR_END = re.compile(r"(?<=\w)(?:\.|_(?=\w))")
LONG, LONG_IN_TABLES = 28, 18
HELD = r'<span class="sa-held">\g<0></span>'
# An option of a command is one word; lines may break after a hyphen.
OPTION = re.compile(r"(?<!\S)--?[a-zA-Z][\w-]*")
# A word with a hyphen in a heading, which browsers like to break there when they balance its lines.
HEADING = re.compile(r"(?<=<h)[1-4]>[^<]*")
HYPHENED = re.compile(r"\w+(?:-\w+)+")
# A value in quotation marks is one word.
QUOTED = re.compile(r"“\w+(?:-\w+)+”,?(?=[^<>]*<)")
# A range in a narrow cell breaks once, before the word between its ends.
RANGE = re.compile(r"(?<=[\d%]) to (?=[\d−-])")
# What is said below a table may hold a command.
FOOT = re.compile(r"<tfoot>.*?</tfoot>", re.DOTALL)
COMMANDS = re.compile(r'<div class="highlight-(?:bash|console)\b.*?</pre>', re.DOTALL)
# What was printed, if all of it is plain.
PRINTED = re.compile(
    r'(?<=<div class="output )((?:stream|text_plain) [^>]*><div class="highlight"><pre>'
    r"(?:<span></span>)?)([^<]*)(?=</pre>)"
)
# Letters of a printed line that a small phone has room for, and the gap between two columns.
NARROW, GAP = 44, re.compile(r"(?<=\S) {2,}(?=\S)")
# The signature of a score, in a table.
SCORED = re.compile(r"(?<=<td>)nrefs:[^<]*")
# Scripts whose words may become classes.
SCRIPTS_OF_TEXT = (
    "scripts/pydata-sphinx-theme.js",
    "scripts/sphinx-book-theme.js",
    "seqattn.js",
    "answers.js",
)
SCRIPTS = (
    *SCRIPTS_OF_TEXT,
    "searchtools.js",
    "sphinx_highlight.js",
    "figures.js",
    "learner.js",
    "figures/*.js",
)
OUR_SCRIPTS = (
    "seqattn.js",
    "answers.js",
    "learner.js",
    "scorer.js",
    "figures.js",
    "figures/*.js",
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.setup_extension("tools.mathml")
    app.add_post_transform(FoldsBehindOutputs)
    # Pages are written anew when what makes them light changes.
    app.add_config_value("page_version", _version(), "html")
    # After the extensions that add scripts to a page.
    app.connect("html-page-context", lighten, priority=900)
    app.connect("build-finished", finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


class FoldsBehindOutputs(SphinxPostTransform):
    """Put code that is folded behind what it made, for eye, keyboard and screen reader alike."""

    default_priority = HideInputCells.default_priority + 1
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Move the fold to the end of each cell that shows more than its code."""
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") == "cell_code" and len(cell) > 1:
                first, last = cell[0], cell[-1]
                if isinstance(first, HideCodeCellNode):
                    # A name that an author gave is the output's; the code behind it is code.
                    if last.get("prompt_hide") == first["prompt_hide"]:
                        first["prompt_show"], first["prompt_hide"] = CODE_FOLD
                    cell.remove(first)
                    cell.append(first)


def _version() -> str:
    made_by = [Path(__file__), Path(figures.__file__), figures.HEIGHTS]
    return hashlib.sha256(b"".join(p.read_bytes() for p in made_by if p.is_file())).hexdigest()


def lighten(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave out scripts that a page does not need; give its figures their places."""
    state, kept = None, []
    unused = UNUSED_SCRIPTS if page == "search" else UNUSED_SCRIPTS + SEARCH_SCRIPTS
    for script in context["script_files"]:
        attributes = getattr(script, "attributes", {})
        body = attributes.get("body") or ""
        if attributes.get("type") == figures.STATE:
            state = json.loads(body)["state"]
        elif not any(name in str(script.filename or "") for name in unused):
            kept.append(script)
    context["script_files"][:] = kept  # the very list that add_js_file adds to
    if "body" in context:
        context["body"] = mended(_lazy(app, context["body"]))
    if state is not None:
        context["body"] = figures.page_with_places(context["body"], state, page)
        context["has_figures"] = True
        app.add_js_file(figures.RUNTIME, defer="defer")
    # With the figures' places in it: a page may have those alone.
    context["sheet"] = _sheet(context.get("body"))


def _sheet(body: str | None) -> str:
    """Name the style sheet of a page; one without a body is the theme's, such as the search."""
    if body is None or LIVELY.search(body):
        return "book"
    return "cells" if CELLS.search(body) else "text"


def mended(body: str) -> str:
    """Leave out marks and brackets that say nothing; keep signs on the line of their formula."""
    body = without(IDLE, body)
    body = SIGNATURE.sub(lambda found: _signature(found[0]), body)
    body = PLAIN.sub(r"\1", body)
    body = TABLE.sub(
        lambda found: RANGE.sub(" to\N{NO-BREAK SPACE}", breaking(found[0], LONG_IN_TABLES)), body
    )
    body = SHORT.sub(HELD, breaking(body, LONG))
    body = PRINTED.sub(lambda found: found[1] + wrapping(found[2]), body)
    body = SCORED.sub(lambda found: found[0].replace("|", "|<wbr>"), body)
    for commands in (COMMANDS, FOOT):
        body = commands.sub(lambda found: OPTION.sub(HELD, found[0]), body)
    body = HEADING.sub(lambda found: HYPHENED.sub(HELD, found[0]), body)
    body = SIGNED.sub(HELD, QUOTED.sub(HELD, body))
    return TWICE.sub(r"(\1\2</a>", body)


def breaking(text: str, long: int) -> str:
    """Let names of code break at their joints if they are as long as this."""

    def broken(name: re.Match[str]) -> str:
        if OPTION.fullmatch(name[0]):
            return OPTION.sub(HELD, name[0])
        return JOINT.sub(r"\g<0><wbr>", name[0]) if len(name[0]) >= long else name[0]

    return CODE.sub(lambda found: found[1] + NAME.sub(broken, found[2]), text)


def wrapping(printed: str) -> str:
    """Let long lines wrap on a phone, where what goes on stands further in (_assets/seqattn.css).

    Columns of numbers and matrices would fall apart: they stay as they are.
    """
    lines = printed.split("\n")
    columns = sum(len(GAP.findall(line)) > 1 for line in lines) > 1
    if columns or any(line.lstrip().startswith("[") for line in lines if line[:1] == " "):
        return printed

    def wraps(line: str) -> str:
        inset = len(line) - len(line.lstrip())
        if len(html.unescape(line)) <= NARROW:
            return line
        style = f' style="--in:{inset}ch"' if inset else ""
        return f'<span class="sa-line"{style}>{line}</span>'

    return "\n".join(map(wraps, lines))


def without(idle: list[tuple[re.Pattern[str], str]], text: str) -> str:
    """Leave out marks that change nothing."""
    for mark, left in idle:
        text = mark.sub(left, text)
    return text


def _signature(text: str) -> str:
    """Leave out of a signature what changes nothing; let it break at its joints."""
    text = without(IDLE_IN_SIGNATURES, text)
    text = SIGNATURE_NAME.sub(lambda found: JOINT_OR_END.sub(r"\g<0><wbr>", found[0]), text)
    return text.replace("(<em>", "(<wbr><em>")


def squeezed(page: str) -> str:
    """Leave out of a whole page how its templates indent, and idle marks of its contents."""
    page = CONTENTS.sub(lambda found: without(IDLE_IN_CONTENTS, found[0]), page)
    parts = VERBATIM.split(page)
    # Of three parts the first is markup, the second verbatim, the third its tag.
    parts[::3] = [re.sub(r"\n\s+", "\n", part) for part in parts[::3]]
    del parts[2::3]
    return "".join(parts)


def _lazy(app: Sphinx, body: str) -> str:
    """Fetch pictures when the reader comes near, and keep their places until then."""
    sources = {name: path for path, name in app.builder.images.items()}

    def put(tag: re.Match[str]) -> str:
        found = re.search(r'src="[^"]*?_images/([^"]+)"', tag[0])
        source = found and sources.get(found[1])
        size = ""
        if source and not source.endswith(".svg") and "width=" not in tag[0]:
            with Image.open(Path(app.srcdir) / source) as picture:
                size = ' width="{}" height="{}"'.format(*picture.size)
        return f'<img loading="lazy" decoding="async"{size}{tag[1]}>'

    return re.sub(r"<img(\s[^>]*)>", put, body)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the scripts of figures, and the style sheets."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    figures.write_scripts(static)
    for script in (path for name in OUR_SCRIPTS for path in static.glob(name)):
        script.write_text(bare(script.read_text(encoding="utf-8")), encoding="utf-8")
    sheets = [path for name in SHEETS for path in sorted(static.glob(name))]
    pages = [p for p in out.rglob("*.html") if static not in p.parents]
    pages_of: dict[str, list[Path]] = {"text": [], "cells": [], "book": pages}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if (lighter := squeezed(text)) != text:
            page.write_text(lighter, encoding="utf-8")
        if sheet := re.search(r"_static/(text|cells)\.css", lighter):
            pages_of[sheet[1]].append(page)
    for name, seen in pages_of.items():
        lively = name == "book"
        used = _used(static, seen, SCRIPTS if lively else SCRIPTS_OF_TEXT)
        of_page = [*sheets, static / SHEET_OF_ANSWERS] if lively else sheets
        (static / f"{name}.css").write_text(stylesheet.combined(of_page, used), encoding="utf-8")
    math = static / "math.css"
    math.write_text(with_font(math), encoding="utf-8")
    used = _used(static, pages, SCRIPTS)
    text = stylesheet.combined([figures.HERE / "figure.css"], used)
    (static / "figures.css").write_text(text, encoding="utf-8")


def bare(script: str) -> str:
    """Leave out of a script of ours how it is indented, and comments that have whole lines."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def with_font(sheet: Path) -> str:
    """Give a style sheet with the fonts in it that it names."""

    def data(address: re.Match[str]) -> str:
        font = (sheet.parent / address[1]).read_bytes()
        return f"url(data:font/woff2;base64,{base64.b64encode(font).decode()})"

    return re.sub(r'url\("([^":]+)"\)', data, sheet.read_text(encoding="utf-8"))


def _used(static: Path, pages: list[Path], scripts: tuple[str, ...]) -> stylesheet.Used:
    running = [path for name in scripts for path in static.glob(name)]
    return stylesheet.occurring(pages, running, [figures.HERE / "figure.css"])
