"""Live figures on the built pages: a small script of our own instead of a general widget manager.

A notebook stores each figure with its whole script, so that it lives in JupyterLab. On a page the
scripts come from files, one for each kind of figure and one that all share, fetched when the reader
comes near; the page keeps a place of the figure's height and the state that the notebook stored.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from seqattn import widgets
from seqattn.widgets.base import HERE, LiveFigure

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
RUNTIME = "figures.js"
HEIGHTS = Path(__file__).with_name("figure_heights.json")
# What stands in for each figure where no script runs.
STILLS = Path(__file__).resolve().parents[1] / "_assets" / "stills"
# Traits of every widget that no figure reads.
NOT_READ = ("layout", "tabbable", "tooltip")
# What a script defines for others: names at the beginning of a line.
DEFINED = re.compile(r"^(?:async )?(?:const|let|function|class) (\w+)", re.MULTILINE)


class UnknownWidgetError(ValueError):
    """A stored widget that is none of our figures, and so would be missing from the page."""


def kinds() -> dict[str, type[LiveFigure]]:
    """Return every kind of live figure by its name."""
    found = (getattr(widgets, name) for name in widgets.__all__)
    return {kind.__name__: kind for kind in found if isinstance(kind, type) and kind._js}


def write_scripts(folder: Path) -> None:
    """Write what all figures share and one script for each kind into ``folder/figures``."""
    folder = folder / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    shared = (HERE / "core.js").read_text(encoding="utf-8")
    names = DEFINED.findall(shared)
    shared = f"{shared}\nwindow.seqattn = {{ kinds: {{}}, shared: {{ {', '.join(names)} }} }};"
    (folder / "core.js").write_text(f"(() => {{\n{shared}\n}})();\n", "utf-8")
    for name, kind in kinds().items():
        own = (HERE / kind._js).read_text(encoding="utf-8")
        used = [n for n in names if re.search(rf"(?<![\w$.]){re.escape(n)}\b", own) or n == "live"]
        register = f"kinds.{name} = (context) => live(figure, context);"
        (folder / f"{name}.js").write_text(
            f"(({{ kinds, shared: {{ {', '.join(used)} }} }}) => {{\n{own}\n{register}\n}})"
            "(window.seqattn);\n",
            "utf-8",
        )


def stored(state: Mapping[str, Any], model_id: str) -> tuple[str, dict[str, Any]]:
    """Find the kind of a stored figure and what it has to know.

    Parameters
    ----------
    state : mapping
        Models by their id, as a notebook stores them.
    model_id : str
        The figure's id.

    Raises
    ------
    UnknownWidgetError
        If it is another widget than a live figure: the page has no script for it.
    """
    traits = state[model_id]["state"]
    name = str(traits.get("_anywidget_id", state[model_id]["model_name"])).rpartition(".")[2]
    if name not in kinds():
        raise UnknownWidgetError(
            f"the stored widget {name} is no live figure of seqattn.widgets "
            f"({', '.join(kinds())}): a page without a kernel cannot show it"
        )
    return name, read(traits)


def read(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Keep of a widget's state what its script reads."""
    return {k: v for k, v in traits.items() if not k.startswith("_") and k not in NOT_READ}


def place(
    name: str,
    traits: Mapping[str, Any],
    heights: Iterable[int] = (),
    label: str = "",
    still: str = "",
) -> str:
    """Write the HTML that keeps a figure's place until its script draws it.

    Parameters
    ----------
    name : str
        Kind of figure.
    traits : mapping
        What it has to know.
    heights : iterable of int
        Its heights on a phone and on a wide screen, in pixels.
    label : str, optional
        Name of the place in the book, which an answer to the figure's question carries.
    still : str, optional
        Address of the picture that stands there where no script runs.
    """
    data = _data(traits).replace("</", "<\\/")
    names = ("--on-phone", "--on-wide")
    style = ";".join(f"{name}:{px}px" for name, px in zip(names, heights, strict=False))
    named = f' id="{label}"' if label else ""
    if traits.get("predict") and traits.get("predicted", -1) < 0 and not traits.get("revealed"):
        named += " data-asks"  # what is said of the figure waits (_assets/waiting.css)
    title = html.escape(str(traits.get("title", "")))
    picture = f'<img src="{still}" alt="Live figure: {title}" loading="lazy">' if still else ""
    return (
        f'<div class="sa-place"{named} data-figure="{name}" style="{style}">'
        f'<script type="application/json">{data}</script>'
        f"<noscript>{picture}<p>Live figure: {title}. It moves where scripts may run.</p>"
        "</noscript></div>"
    )


def _label(page: str, name: str, which: int) -> str:
    return f"{page.rpartition('/')[2]}-{name}" + (f"-{which}" if which > 1 else "")


def in_notebook(notebook: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind of each live figure of a stored notebook and what it has to know, in order."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    models = content["metadata"].get("widgets", {}).get(STATE, {"state": {}})["state"]
    outputs = (output for cell in content["cells"] for output in cell.get("outputs", []))
    for view in filter(None, (output.get("data", {}).get(VIEW) for output in outputs)):
        yield stored(models, view["model_id"])


def that_ask(notebook: Path, page: str) -> list[str]:
    """Name the places of those live figures of a stored notebook that ask a question.

    Parameters
    ----------
    notebook : Path
        The stored notebook.
    page : str
        Name of its page.

    Returns
    -------
    list of str
        As in the page, in reading order; an answer carries this name.
    """
    seen: Counter[str] = Counter()
    asking = []
    for name, traits in in_notebook(notebook):
        seen[name] += 1
        if traits.get("predict", {}).get("question"):
            asking.append(_label(page, name, seen[name]))
    return asking


def page_with_places(body: str, state: Mapping[str, Any], page: str) -> str:
    """Put a place for each figure where a page's HTML has a widget view.

    Parameters
    ----------
    body : str
        HTML of the page.
    state : mapping
        The widgets' state that its notebook stored, by id.
    page : str
        Name of the page, under which heights are known.
    """
    heights = iter(known_heights().get(page, []))

    seen: Counter[str] = Counter()

    def put(view: re.Match[str]) -> str:
        name, traits = stored(state, json.loads(view["view"])["model_id"])
        seen[name] += 1
        label = _label(page, name, seen[name])
        still = still_name(page, seen.total() - 1, traits)
        address = f"{'../' * page.count('/')}_static/{STILLS.name}/{still}"
        return place(
            name, traits, next(heights, ()), label, address if (STILLS / still).is_file() else ""
        )

    return re.sub(
        rf'<script type="{re.escape(VIEW)}">\s*(?P<view>\{{.*?\}})\s*</script>',
        put,
        body,
        flags=re.DOTALL,
    )


def _data(traits: Mapping[str, Any]) -> str:
    return json.dumps(traits, ensure_ascii=False, separators=(",", ":"))


def still_name(page: str, index: int, traits: Mapping[str, Any]) -> str:
    """Name the picture of a page's figure, counted from 0.

    The name carries a sum of what the figure is told, so that no picture stands for a figure that
    is told something else since; a change of its script it does not see. Numbers are rounded to
    three decimals, as the last ones may hang on the processor.
    """
    known = json.loads(_data(traits), parse_float=lambda x: round(float(x), 3) + 0.0)
    return f"{stem(page)}-{index}-{crc32(_data(known).encode()):08x}.webp"


def stem(page: str) -> str:
    """Give what the names of all pictures of a page begin with."""
    return page.replace("/", "-")


def known_heights() -> dict[str, list[list[int]]]:
    """Read the heights of figures, page by page, as ``python -m tools.figure_heights`` saw them."""
    return json.loads(HEIGHTS.read_text(encoding="utf-8")) if HEIGHTS.is_file() else {}
