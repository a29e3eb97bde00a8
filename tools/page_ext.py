"""Sphinx extension that makes pages light: what a first visit carries is what the page shows.

- One style sheet with the rules that pages can use (:mod:`tools.stylesheet`), and one for pages
  with live figures.
- Scripts of the theme that no page of ours needs are left out; the search index waits on its page.
- Live figures are mounted by a small script of our own (:mod:`tools.figures`).
- Pictures are fetched when the reader comes near.
- Formulas come as MathML from :mod:`tools.mathml`.
- Code, names and tables carry no marks that change nothing.
- Formulas keep the signs beside them, and their numbers one pair of brackets.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from PIL import Image
from sphinx.application import Sphinx

from tools import figures, stylesheet

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
UNUSED_SCRIPTS = ("design-tabs.js",)
# What finds and marks words, where a reader searches.
SEARCH_SCRIPTS = ("doctools.js", "sphinx_highlight.js")
# Code: names, signs and spaces are as the text around them, and most of all marks.
PLAIN = re.compile(r'<span class="[nopw]">([^<]*)</span>')
# Elsewhere: marks and classes that no rule asks for, a name that says again what stands there, a
# picture that the style sheet draws.
IDLE = [
    (re.compile(r'<span class="(?:pre|std std-(?:doc|ref))">([^<]*)</span>'), r"\1"),
    (re.compile(r'(<code class=")(xref )?(?:py py-\w+ )?docutils literal'), r"\1\2literal"),
    (re.compile(r'<tr class="row-(?:odd|even)">'), "<tr>"),
    (re.compile(r' title="([^"]+)"(><code[^>]*>\1</code>)'), r"\2"),
    (re.compile(r'(<span class="sd-summary-state-marker[^>]*>)<svg.*?</svg>', re.DOTALL), r"\1"),
]
# A number of a formula in brackets of the sentence has none of its own.
TWICE = re.compile(
    r'\((<a class="reference internal" href="[^"]*#equation-[^"]*">)\(([\d.]+)\)</a>'
)
# A sign that belongs to a formula stays on its line.
SIGNED = re.compile(
    r'\(?<span class="math notranslate">(?:(?!</span>).)+</span>[,.;:!?)’”]+', re.DOTALL
)
# Scripts whose words may become classes.
SCRIPTS = (
    "scripts/pydata-sphinx-theme.js",
    "scripts/sphinx-book-theme.js",
    "searchtools.js",
    "sphinx_highlight.js",
    "seqattn.js",
    "figures.js",
    "answers.js",
    "learner.js",
    "figures/*.js",
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.setup_extension("tools.mathml")
    # Pages are written anew when what makes them light changes.
    app.add_config_value("page_version", _version(), "html")
    # After the extensions that add scripts to a page.
    app.connect("html-page-context", lighten, priority=900)
    app.connect("build-finished", finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


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


def mended(body: str) -> str:
    """Leave out marks and brackets that say nothing; keep signs on the line of their formula."""
    body = PLAIN.sub(r"\1", body)
    for idle, left in IDLE:
        body = idle.sub(left, body)
    body = SIGNED.sub(r'<span class="sa-held">\g<0></span>', body)
    return TWICE.sub(r"(\1\2</a>", body)


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
    sheets = [path for name in SHEETS for path in sorted(static.glob(name))]
    pages = [p for p in out.rglob("*.html") if static not in p.parents]
    scripts = [path for name in SCRIPTS for path in static.glob(name)]
    used = stylesheet.occurring(pages, scripts)
    for name, joined in (("book", sheets), ("figures", [figures.HERE / "figure.css"])):
        text = stylesheet.combined(joined, used)
        (static / f"{name}.css").write_text(text, encoding="utf-8")
