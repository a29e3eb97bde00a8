"""Sphinx extension for questions: ``{predict}``, ``{self-check}`` and the page of answers.

Pages read well without scripts: question, options, and a folded answer. ``_assets/learner.js``
makes forms of them; ``_assets/answers.js`` keeps the answers in the reader's browser and shows them
on the page that has ``{your-answers}``. Every page carries the names of all questions, a kilobyte,
so that the contents can show what was answered.
"""

import html
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools import course_map, figures, questions

# Keeps and shows answers, on every page; takes them, where a page has a question.
KEEPER, TAKER = "answers.js", "learner.js"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    for use in questions.USES:
        app.add_directive(use, Ask)
    app.add_directive("your-answers", YourAnswers)
    app.add_config_value("all_questions", {}, "html")  # a new question writes all pages anew
    app.connect("config-inited", collect)
    app.connect("html-page-context", hand_over)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def collect(app: Sphinx, config: Any) -> None:
    """Read all tables; a faulty one stops the build."""
    pages: dict[str, dict[str, Any]] = {}
    root = Path(app.srcdir)
    for question in questions.every(root).values():
        page = f"chapters/{question.page}"
        entry = {"title": course_map.page_title(root, page), "questions": []}
        pages.setdefault(page, entry)["questions"].append(question.name)
    # Live figures ask as well.
    for page, entry in pages.items():
        if (notebook := root / f"{page}.ipynb").is_file():
            entry["questions"] += figures.that_ask(notebook, page)
    config.all_questions = pages


def hand_over(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page the names of all questions, and the scripts."""
    body, pages = context.get("body", ""), app.config.all_questions
    if "sa-report" not in body:  # the list of answers alone has use for titles
        pages = {name: {"questions": entry["questions"]} for name, entry in pages.items()}
    told = {"page": page, "pages": pages}
    known = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    app.add_js_file(None, body=known.replace("</", "<\\/"), type="application/json", id="sa-known")
    app.add_js_file(KEEPER, defer="defer")
    if 'class="sa-ask"' in body:
        app.add_js_file(TAKER, defer="defer")


class _Html(SphinxDirective):
    """A directive that puts parsed Markdown between tags of its own."""

    def raw(self, text: str) -> list[nodes.Node]:
        return [nodes.raw("", text, format="html")]

    def parsed(self, text: str) -> list[nodes.Node]:
        container = nodes.container()
        lines = StringList(text.split("\n"), self.env.docname)
        self.state.nested_parse(lines, self.content_offset, container)
        return container.children


class Ask(_Html):
    """A question with its options, and the answer folded."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Give the nodes."""
        root = Path(self.env.app.srcdir)
        question = questions.find(self.name, self.arguments[0], root)
        if self.env.docname != f"chapters/{question.page}":
            raise self.error(f"{question.name} belongs to {question.page}")
        self.env.note_dependency(str(root / questions.FOLDER / f"{question.page}.yml"))
        kind, name = question.kind, f"ask-{question.name}"
        known = html.escape(json.dumps(_known(question)))
        out = self.raw(
            f'<div class="sa-ask" id="{name}" data-ask="{known}">'
            f'<p class="sa-ask-head">{question.head}</p><div class="sa-ask-asks" id="{name}-asks">'
        )
        out += self.parsed(question.asks) + self.raw("</div>")
        if question.shown:
            tag = "ul" if kind == "order" else 'ol type="a"'
            out += self.raw(f'<{tag} class="sa-ask-options">')
            for option in question.shown:
                out += self.raw("<li>") + self.parsed(option.says) + self.raw("</li>")
            out += self.raw(f"</{tag[:2]}>")
        out += self.raw('<details class="sa-ask-answer"><summary>Answer</summary>')
        out += self.raw('<ul class="sa-ask-why">')
        for option in sorted(question.options, key=lambda option: not option.right):
            at = question.options.index(option)
            mark = "✓ " if option.right else "✗ " if kind != "order" else f"{at + 1}. "
            named = question.named(option)
            out += self.raw(f'<li data-option="{at}"><span class="sa-ask-mark">{mark}</span>')
            out += self.parsed(f"**{named}** {option.because}") + self.raw("</li>")
        if question.otherwise:
            out += self.raw('<li data-option="other"><span class="sa-ask-mark">✗ </span>')
            out += self.parsed(f"**Any other number:** {question.otherwise}") + self.raw("</li>")
        return out + self.raw("</ul></details></div>")


def _known(question: questions.Question) -> dict[str, Any]:
    """Collect what the script must know and the page does not show."""
    known: dict[str, Any] = {
        "id": question.name,
        "kind": question.kind,
        "use": question.use,
        "right": [i for i, option in enumerate(question.options) if option.right],
    }
    if question.kind == "order":
        known["order"] = [question.options.index(option) for option in question.shown]
    if question.kind == "number":
        known["spans"] = [questions.span(question, option) for option in question.options]
        known["unit"] = question.unit
    if question.kind == "curve":
        assert question.x is not None
        assert question.y is not None
        known["x"], known["y"] = vars(question.x), vars(question.y)
        known["curves"] = [option.curve for option in question.options]
        known["given"] = question.given and vars(question.given)
    return known


class YourAnswers(_Html):
    """The place where the script lists the reader's answers."""

    def run(self) -> list[nodes.Node]:
        """Give the nodes."""
        return self.raw(
            '<div class="sa-report"><p>Your answers appear here when scripts may run in this '
            "browser.</p></div>"
        )
