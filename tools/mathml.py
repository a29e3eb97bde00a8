"""Formulas as MathML, made when the book is built: no page carries a script for them.

Temml (``tools/vendor/temml``) turns TeX into MathML, inside an embedded JavaScript engine. Some
things that MathML Core leaves to whoever writes it are mended afterwards: spaces around operators
in scripts and around dots, the thin space before the name of a function, the size of arrows over
letters, and the height of exponents beside them. A formula that Temml does not understand stops the
build, with its page and its text.
"""

import functools
import hashlib
import itertools
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import quickjs
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

from tools import part_colours

TEMML = Path(__file__).parent / "vendor" / "temml" / "temml.min.js"
NAMESPACE = "http://www.w3.org/1998/Math/MathML"
# Temml adds to the commands that it is given: each formula gets a copy of its own (RENDER).
OPTIONS = {
    "throwOnError": True,
    "trust": True,
    "wrap": "none",
    "xml": True,
    "macros": part_colours.MACROS,
}
# A string that JavaScript put together is no string to Python until it was serialised.
RENDER = """
(tex, display, options) => {
    try {
        const made = temml.renderToString(tex, {...JSON.parse(options), displayMode: display});
        return JSON.stringify([made, null]);
    } catch (error) { return JSON.stringify([null, error.message]); }
}
"""
SCRIPTS = ("msub", "msup", "msubsup", "munder", "mover", "munderover")
THIN = "0.1667em"
APPLY = "\N{FUNCTION APPLICATION}"
# What may end an operand. A function's name after one of these stands a thin space away.
ENDS = ("mi", "mn", "msub", "msup", "msubsup", "mrow", "mover", "mfrac", "msqrt")
CLOSING = (")", "]", "}", "|", "‖")


class FormulaError(ValueError):
    """A formula that cannot be set."""


@functools.cache
def _engine() -> Any:
    context = quickjs.Context()
    # It asks for these where a browser has them.
    context.eval("globalThis.window = globalThis; globalThis.self = globalThis;")
    context.eval(TEMML.read_text(encoding="utf-8") + "\nglobalThis.temml = temml;")
    return context.eval(RENDER)


@functools.cache
def mathml(tex: str, display: bool = False) -> str:
    """Turn a formula into MathML.

    Parameters
    ----------
    tex : str
        What stands between the dollar signs.
    display : bool
        Whether it stands on lines of its own.

    Returns
    -------
    str
        A ``<math>`` element.

    Raises
    ------
    FormulaError
        If Temml does not understand it; the message has the formula.
    """
    made, problem = json.loads(_engine()(tex, display, json.dumps(OPTIONS)))
    if problem:
        raise FormulaError(f"{problem}\n  in the formula: {tex}")
    # Its namespace would be written as a prefix before every name.
    root = ElementTree.fromstring(made.replace(f' xmlns="{NAMESPACE}"', "", 1))
    _close_up_scripts(root)
    _center_dots(root)
    _set_functions_apart(root)
    _raise_roots(root)
    _shorten_arrows(root)
    _lower_exponents(root)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _close_up_scripts(root: ElementTree.Element) -> None:
    """Take the spaces from operators in scripts: MathML Core keeps those of a line there."""
    for element in root.iter():
        if element.tag in SCRIPTS:
            for script in element[1:]:
                for operator in script.iter("mo"):
                    if operator.get("stretchy") != "true":
                        operator.set("lspace", "0")
                        operator.set("rspace", "0")


def _center_dots(root: ElementTree.Element) -> None:
    """Put as much space behind dots as before them, where a comma may bring its own."""
    for parent in root.iter():
        for before, dots in itertools.pairwise([None, *parent]):
            if dots.tag == "mo" and dots.text == "…" and "lspace" not in dots.attrib:
                follows_comma = before is not None and before.get("separator") == "true"
                dots.set("lspace", "0" if follows_comma else THIN)
                dots.set("rspace", THIN)


def _set_functions_apart(root: ElementTree.Element) -> None:
    """Put a thin space between an operand and the name of a function that follows it."""
    for parent in root.iter():
        for i in range(len(parent) - 1, 0, -1):
            named = _is_function(parent[i]) or _is_name_with_script(parent, i)
            if named and _ends_operand(parent[i - 1]):
                parent.insert(i, ElementTree.Element("mspace", width=THIN))


def _raise_roots(root: ElementTree.Element) -> None:
    """Put a strut under each root: beside a low letter its sign would hang below the line."""
    for element in root.iter("msqrt"):
        ElementTree.SubElement(element, "mspace", width="0", height="0.75em", depth="0.2em")


def _shorten_arrows(root: ElementTree.Element) -> None:
    """Let an arrow be no wider than the letter below it: it would push its index away."""
    for base, *over in root.iter("mover"):
        if base.tag == "mi" and over[0].text in ("→", "←"):
            over[0].attrib = {"stretchy": "false", "lspace": "0", "rspace": "0"}
            over[0].set("style", "font-size:0.65em")


def _lower_exponents(root: ElementTree.Element) -> None:
    """Raise an exponent of a letter with a sign over it as if it had none, as TeX does."""
    for element in root.iter():
        if element.tag in ("msup", "msubsup") and element[0].tag == "mover":
            letter = ElementTree.Element("mpadded", height="0.7em")
            letter.append(element[0])
            element[0] = letter


def _is_function(element: ElementTree.Element) -> bool:
    return (
        element.tag == "mrow"
        and len(element) > 1
        and element[0].tag == "mi"
        and element[1].tag == "mo"
        and element[1].text == APPLY
    )


def _is_name_with_script(parent: ElementTree.Element, i: int) -> bool:
    """Say whether a name such as log with base 2 stands there, whose argument follows it."""
    return (
        parent[i].tag in SCRIPTS
        and parent[i][0].tag == "mi"
        and i + 1 < len(parent)
        and parent[i + 1].text == APPLY
    )


def _ends_operand(element: ElementTree.Element) -> bool:
    return element.tag in ENDS or (element.tag == "mo" and (element.text or "") in CLOSING)


def aligned(tex: str) -> str:
    r"""Set lines of a formula below each other, as Sphinx does where a page has MathJax.

    Parts with a blank line between them stand below each other; a part that has ``\\`` and names no
    surroundings of its own is split there.
    """
    parts = [part.strip() for part in tex.split("\n\n") if part.strip()]
    parts = [rf"\begin{{split}}{p}\end{{split}}" if r"\\" in p else p for p in parts]
    if len(parts) == 1:
        return parts[0]
    return r"\begin{aligned}" + r" \\ ".join(parts) + r"\end{aligned}"


def _set(translator: Any, node: nodes.Node, tex: str, display: bool) -> str:
    try:
        return mathml(tex, display)
    except FormulaError as error:
        page = translator.builder.current_docname
        raise ExtensionError(f"{page}: {error}") from error


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(translator.starttag(node, "span", "", CLASS="math notranslate"))
    translator.body.append(_set(translator, node, node.astext(), False) + "</span>")
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, and its number with a link to it."""
    translator.body.append(translator.starttag(node, "div", "", CLASS="math notranslate"))
    made = _set(translator, node, aligned(node.astext()), True)
    translator.body.append(f'<div class="formula">{made}</div>')
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; pages are written anew when it changes."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    made_by = (TEMML, Path(__file__), Path(part_colours.__file__))
    ours = hashlib.sha256(b"".join(path.read_bytes() for path in made_by)).hexdigest()
    app.add_config_value("mathml_version", ours, "html")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
