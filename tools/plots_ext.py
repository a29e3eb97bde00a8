"""Sphinx extension that puts stored figures into the text of their page.

A figure that :mod:`seqattn.plots.svg` has stored is a picture of fixed colours. Within the page its
colours become the page's, its letters the page's, and the width of the column decides whether the
wide or the narrow drawing is seen. A picture without a text alternative stops the build.
"""

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from seqattn.plots import style

OURS = 'class="sa-plot"'
COLOUR = re.compile(r' (fill|stroke)="(#[0-9a-f]{6})"')
DRAWING = re.compile(r'<svg class="(wide|narrow)".*?</svg>', re.DOTALL)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    # Before Sphinx collects pictures, which takes them as files.
    app.connect("doctree-read", put_figures_into_the_text, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def put_figures_into_the_text(app: Sphinx, doctree: nodes.document) -> None:
    """Replace each stored figure of a page by its drawings."""
    folder = Path(app.srcdir, app.env.docname).parent
    for image in list(doctree.findall(nodes.image)):
        alt = " ".join(image.get("alt", "").split())
        if not alt:
            raise ExtensionError(
                f"{app.env.docname}: {image['uri']} has no text alternative; say what it shows, in "
                'the metadata of its cell: mystnb={"image": {"alt": "..."}}'
            )
        path = _file(app, folder, image["uri"])
        if path is None:
            continue
        text = path.read_text(encoding="utf-8")
        if OURS in text:
            try:
                drawn = inline(text, alt)
            except KeyError as colour:
                raise ExtensionError(
                    f"{app.env.docname}: a figure ({alt[:60]}...) has the colour {colour}, which "
                    "would stay as it is on a dark page; take one of seqattn.plots"
                ) from None
            image.replace_self(nodes.raw("", drawn, format="html"))


def _file(app: Sphinx, folder: Path, uri: str) -> Path | None:
    """Find the SVG that a picture refers to, or None if it is none."""
    if not uri.endswith(".svg") or "://" in uri:
        return None
    for path in (Path(uri), folder / uri, Path(app.srcdir, uri.lstrip("/"))):
        if path.is_file():
            return path
    return None


def inline(text: str, alt: str) -> str:
    """Turn a stored figure into what stands in the page.

    Parameters
    ----------
    text : str
        The file, as :func:`seqattn.plots.svg.figure_svg` writes it.
    alt : str
        What the figure shows, for those who cannot see it.

    Returns
    -------
    str
        HTML with both drawings.

    Raises
    ------
    KeyError
        If the figure has a colour that the course does not know.
    """
    drawings = "".join(found[0] for found in DRAWING.finditer(text))
    drawings = drawings.replace(' display="none"', "")
    drawings = COLOUR.sub(lambda at: f' {at[1]}="{style.page_colour(at[2])}"', drawings)
    return f'<div class="sa-plot" role="img" aria-label="{html.escape(alt)}">{drawings}</div>'
