"""The look of every figure: colours, letters, and what may be drawn at all."""

import functools
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "CONTEXT",
    "GREEN",
    "GREY",
    "GROUND",
    "INK",
    "KEYS",
    "LINE",
    "ORANGE",
    "PALETTE",
    "PINK",
    "QUERY",
    "SCORES",
    "VALUES",
    "WEIGHTS",
    "as_weights",
    "import_pyplot",
    "name_lines",
    "on_cell",
    "page_colour",
    "refit",
    "tidy",
    "to_png",
    "weight_colours",
]

# Pixels of the book's column and of a phone's, and how many make an inch of a figure's size. A
# letter of 12 points is then one of 14 pixels.
WIDE, NARROW, DPI = 704, 354, 84
READABLE = 11  # pixels of the smallest letter that a phone shows clearly

# The parts of attention, each in one colour in the whole book: text, formulas, live figures. Told
# apart by colour-blind readers, and at least 4.5:1 against white, so that text may wear them.
QUERY = "#ba3d0a"
KEYS = "#234479"
VALUES = "#4d7c5c"
SCORES = "#503e09"
WEIGHTS = "#7d58d0"
CONTEXT = "#6c1147"
GREY = "#52606d"
INK = "#1b2733"
LINE = "#dde3e9"
GROUND = "#ffffff"
# Where things of a kind are compared that are no parts of attention: blue is the data, orange what
# is pointed at or compared with it.
BLUE, ORANGE, GREEN, PINK = KEYS, QUERY, VALUES, CONTEXT
PALETTE = (BLUE, ORANGE, GREEN, PINK, GREY)
# Numbers on the cells of a map: on the half of the scale that begins at 0, and on the other.
ON_LOW, ON_HIGH = "#000000", "#fefefe"

# The scale of a map, at 0, halfway and at 1: the hue of weights, steadily darker, so that it
# survives greyscale. Black and white are equally easy to read on its middle.
MAP_STOPS = ("#ffffff", "#845fd9", "#2b1065")
LEVELS = 101  # of a map: one for each percent

# What each colour is on a page, where it follows the theme (_assets/seqattn.css, plots.css).
ON_PAGE = {
    QUERY: "query",
    KEYS: "keys",
    VALUES: "values",
    SCORES: "scores",
    WEIGHTS: "weights",
    CONTEXT: "context",
    GREY: "soft",
    INK: "ink",
    LINE: "rule",
    GROUND: "ground",
    ON_LOW: "on-low",
    ON_HIGH: "on-high",
}


def refit(ax: "Axes", fit: Callable[[int], object]) -> None:
    """Have something done again whenever a figure gets another width.

    Parameters
    ----------
    ax : Axes
        What it concerns.
    fit : function of a width in pixels
        What to do. It may ask where things stand.
    """
    figure: Any = ax.figure.get_figure(root=True)
    if not hasattr(figure, "refits"):
        figure.refits = []
    figure.refits.append(fit)


def name_lines(ax: "Axes") -> None:
    """Write beside each line of a chart what it is, in its colour, in place of a legend.

    The names stand at the right ends of the lines, pushed apart where they would meet. On a phone,
    where there is no room beside the chart, a legend stands above the figure's first panel. What
    has no label is left out.

    Parameters
    ----------
    ax : Axes
        With its lines, and its limits set.

    Examples
    --------
    >>> _, ax = import_pyplot().subplots()
    >>> _ = ax.plot([0, 1], [1, 2], label="Adam")
    >>> name_lines(ax)
    >>> [text.get_text() for text in ax.texts]
    ['Adam']
    """
    lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    first = ax.figure.axes[0]
    legend = first.legend(
        handles=lines, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.3, borderpad=0
    )
    texts = [
        ax.annotate(
            str(line.get_label()),
            (1, 0),
            xycoords="axes fraction",
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color=line.get_color(),
            weight="bold",
            parse_math=False,
            annotation_clip=False,
        )
        for line in lines
    ]

    def place(width: int) -> None:
        for text in texts:
            text.set(visible=width >= WIDE, in_layout=width >= WIDE)
        legend.set(visible=width < WIDE, in_layout=width < WIDE)
        to_axes, height = ax.transAxes.inverted(), ax.get_window_extent().height
        ends = [
            to_axes.transform(line.get_transform().transform(np.asarray(line.get_xydata())[-1]))[1]
            for line in lines
        ]
        order = sorted(range(len(ends)), key=ends.__getitem__)
        gap = 18 / height  # pixels from name to name
        for i, y in zip(order, _apart([ends[i] for i in order], gap)):
            texts[i].xy = (1.0, y)

    refit(ax, place)
    place(WIDE)


def _apart(places: list[float], gap: float) -> list[float]:
    """Push sorted places apart to a gap, each as little as may be."""
    groups: list[list[float]] = []  # sum of the places that they would like, and how many
    for i, place in enumerate(places):
        groups.append([place - i * gap, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    level = [total / count for total, count in groups for _ in range(int(count))]
    return [place + i * gap for i, place in enumerate(level)]


def _share(weight: Any) -> Any:
    """Say how far along its scale a weight stands: small ones are drawn out, as most are small."""
    return weight**0.7


@functools.cache
def _ramp() -> tuple[str, ...]:
    """Give the colours of the levels, mixed as browsers mix them."""
    stops = np.array([_oklab(stop) for stop in MAP_STOPS])
    shares = 2 * _share(np.linspace(0, 1, LEVELS))
    mixed = [stops[int(s)] + (s - int(s)) * (stops[min(int(s) + 1, 2)] - stops[int(s)])
             for s in shares]  # fmt: skip
    return tuple(map(_from_oklab, mixed))


# Ottosson (2020), "A perceptual color space for image processing".
_LMS = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                 [0.2119034982, 0.6806995451, 0.1073969566],
                 [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                 [1.9779984951, -2.4285922050, 0.4505937099],
                 [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def _oklab(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return _LAB @ np.cbrt(_LMS @ linear)


def _from_oklab(lab: np.ndarray) -> str:
    linear = np.clip(np.linalg.solve(_LMS, np.linalg.solve(_LAB, lab) ** 3), 0, 1)
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * value):02x}" for value in rgb)


def weight_colours() -> Any:
    """Return the colour map for attention weights, from white (0) to dark violet (1)."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(_ramp(), name="seqattn")


def on_cell(weight: float) -> str:
    """Give the colour in which a number can be read on the cell of a weight, in either theme."""
    return ON_LOW if _share(min(max(weight, 0.0), 1.0)) < 0.5 else ON_HIGH


def page_colour(colour: str) -> str:
    """Say what a colour of a stored figure becomes on a page, where it follows the theme.

    Parameters
    ----------
    colour : str
        Such as ``#ba3d0a``.

    Returns
    -------
    str
        A colour of CSS.

    Raises
    ------
    KeyError
        If it is none of the course's.

    Examples
    --------
    >>> page_colour(QUERY)
    'var(--sa-query)'
    """
    if colour in ON_PAGE:
        return f"var(--sa-{ON_PAGE[colour]})"
    if colour not in _ramp():
        raise KeyError(colour)
    share = 2 * _share(_ramp().index(colour) / (LEVELS - 1))
    upper, lower = ("map-mid", "ground") if share <= 1 else ("map-high", "map-mid")
    percent = round(100 * (share - (share > 1)))
    return f"color-mix(in oklab,var(--sa-{upper}) {percent}%,var(--sa-{lower}))"


def import_pyplot() -> Any:
    """Import matplotlib's pyplot, or say what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('drawing needs matplotlib: pip install "seqattn[viz]"') from error
    return plt


def as_weights(weights: Any, shape: tuple[int, ...], meaning: str) -> np.ndarray:
    """Turn attention weights into a float64 array, or say why they are none.

    Parameters
    ----------
    weights : tensor or array
        What should be weights.
    shape : tuple of int
        The shape that the words ask for.
    meaning : str
        How that shape comes about, for the error message.

    Returns
    -------
    ndarray
        The weights.

    Raises
    ------
    ValueError
        If the shape is another, there is none, or the numbers are no weights.
    """
    if isinstance(weights, Tensor):
        weights = weights.detach().cpu().to(torch.float64)
    grid = np.asarray(weights, dtype=np.float64)
    if grid.shape != shape:
        rows = ": one row per target word, one column per source word" if len(shape) == 2 else ""
        raise ValueError(
            f"weights have shape {grid.shape}; expected {meaning} = {shape}{rows}. Choose one "
            "sentence and one head, cut off padding"
        )
    if grid.size == 0:
        raise ValueError(f"weights have shape {shape}: there is nothing to draw")
    # Local attention's rows sum to less than 1, and rows of padding to 0; none to more.
    if not (np.isfinite(grid).all() and (grid >= 0).all() and (grid.sum(-1) < 1.01).all()):
        raise ValueError(
            "these are no attention weights: none may be negative and no row may sum to more "
            "than 1. Are they scores, or weights after dropout?"
        )
    return grid


def tidy(panel: "Axes") -> None:
    """Give a panel a grid, and take away the frame that says nothing."""
    panel.grid(True, color=LINE, linewidth=0.86)
    panel.set_axisbelow(True)
    panel.spines["top"].set_visible(False)


def to_png(figure: "Figure") -> bytes:
    """Give a figure as the bytes of a picture."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, facecolor="white")
    return content.getvalue()
