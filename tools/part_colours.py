r"""Each of attention's parts has one colour and one sign in the whole book.

In prose a role, ``{query}`state```, and in formulas a command, ``\query{s_t}``, give a word or a
symbol its part's colour (``--sa-query`` and so on in ``_assets/seqattn.css``). ``{signs}`` shows
all. Plain notebooks get words and symbols without colour (:mod:`tools.plain`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.thumbnails import arrow, box, dot, line


@dataclass(frozen=True)
class Part:
    """One of attention's parts: its sign, its letters, what it does, and how figures show it."""

    draw: Callable[[], list[str]]
    letters: str
    does: str
    shown: str


PARTS = {
    "query": Part(
        lambda: [arrow((6, 28), (50, 8), "query", 4)],
        r"$\query{q}$, $\query{s_t}$",
        "asks what this step needs",
        "the thick arrow; on an axis, a dashed upright",
    ),
    "keys": Part(
        lambda: [arrow((8, 30), end, "keys", 1.8) for end in ((20, 5), (42, 8), (52, 24))],
        r"$\keys{k_i}$",
        "are compared with the query",
        "thin arrows from one place",
    ),
    "scores": Part(
        lambda: [
            part
            for x, y in ((40, 8), (22, 18), (30, 28))
            for part in (line([(6, y), (52, y)], "soft", 1.5), dot(x, y, 4, "scores"))
        ],
        r"$\scores{e_{ti}}$",
        "say how well each key fits; any number",
        "knobs on rails",
    ),
    "weights": Part(
        lambda: [
            box(8 + 12 * i, 32 - h, 9, h, "weights") for i, h in enumerate((6.0, 26.0, 12.0, 4.0))
        ],
        r"$\weights{\alpha_{ti}}$",
        "are positive and sum to 1",
        "bars, and the cells of a map",
    ),
    "values": Part(
        lambda: [
            dot(x, y, size, "values") for x, y, size in ((14, 24, 4), (30, 12, 8.5), (48, 25, 3))
        ],
        r"$\values{v_i}$, $\values{h_i}$",
        "are what is mixed",
        "discs, as large as their weights",
    ),
    "context": Part(
        lambda: [arrow((6, 30), (40, 12), "context", 5), dot(48, 8, 5, "context")],
        r"$\context{c_t}$",
        "is the mixture: values, weighted and summed",
        "where the chain of values ends",
    ),
}
# For Temml. MathJax does not know these commands, so they are taken out of plain notebooks.
MACROS = {rf"\{name}": rf"\class{{sa-{name}}}{{#1}}" for name in PARTS}
_COMMAND = re.compile(rf"\\(?:{'|'.join(PARTS)})(?=\{{)")


def without_colours(tex: str) -> str:
    r"""Take the commands of parts out of a formula; what they hold stays in its braces.

    Examples
    --------
    >>> without_colours(r"\context{c_t} = \weights{\alpha} \values{h}")
    '{c_t} = {\\alpha} {h}'
    """
    return _COMMAND.sub("", tex)


def _coloured(
    name: str, raw: str, text: str, line: int, inliner: Inliner, *_: Any, **__: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    return [nodes.inline(raw, text, classes=["sa-part", f"sa-{name}"])], []


class Signs(SphinxDirective):
    """``{signs}``: a table of the parts, each with its sign and colour."""

    def run(self) -> list[nodes.Node]:
        lines = [
            "| sign | part | in formulas | what it does | in figures |",
            "|---|---|---|---|---|",
        ]
        for name, part in PARTS.items():
            shapes = "".join(part.draw())
            sign = f'<svg class="thumb sign" viewBox="0 0 58 36" aria-hidden="true">{shapes}</svg>'
            lines.append(
                f"| {sign} | {{{name}}}`{name}` | {part.letters} | {part.does} | {part.shown} |"
            )
        container = nodes.container(classes=["signs"])
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, container)
        return [container]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    for name in PARTS:
        app.add_role(name, _coloured)
    app.add_directive("signs", Signs)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
