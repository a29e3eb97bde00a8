"""The look of every figure: colours, letters, and what may be drawn at all."""

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "INK",
    "LINE",
    "ORANGE",
    "PALETTE",
    "PINK",
    "as_weights",
    "import_pyplot",
    "tidy",
    "to_png",
    "use_style",
    "weight_colours",
]

# After Okabe and Ito's palette for colour-blind readers, darkened to at least 4.5:1 against white
# so that text may wear it. The live figures use the same values, with the same meaning: blue is
# the data, orange what is pointed at or compared with it.
BLUE = "#0072b2"
ORANGE = "#c14e00"
GREEN = "#007a5a"
PINK = "#a8467f"
GREY = "#52606d"
INK = "#1b2733"
LINE = "#d3dae1"
PALETTE = (BLUE, ORANGE, GREEN, PINK, GREY)

# One hue, steadily darker, so that it survives greyscale; steepest at the low end, because real
# maps hold many weights below 0.3 and their scale always runs from 0 to 1.
_RAMP = (
    (0.0, "#ffffff"),
    (0.1, "#d3e5f2"),
    (0.3, "#8dbfde"),
    (0.6, "#2c86c0"),
    (0.8, "#0a5a94"),
    (1.0, "#062f55"),
)
# DejaVu Sans has no Chinese, Japanese, Korean or Indic letters.
_SPARE_FONTS = ("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans Devanagari", "Arial Unicode MS")


def use_style() -> None:
    """Give every figure from now on the look of the course.

    Figures are narrow and their letters large, so that they can be read on a phone; the background
    is white, so that they can be read on a dark page.

    Raises
    ------
    ImportError
        If matplotlib is missing.

    Examples
    --------
    For the figures of a block alone:

    >>> import matplotlib
    >>> with matplotlib.rc_context():
    ...     use_style()
    ...     matplotlib.rcParams["axes.titlelocation"]
    'left'
    """
    plt = import_pyplot()
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    plt.rcParams.update(
        {
            "axes.axisbelow": True,
            "axes.edgecolor": GREY,
            "axes.grid": True,
            "axes.labelcolor": INK,
            "axes.prop_cycle": plt.cycler(color=PALETTE),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titlesize": 13,
            "axes.titleweight": "bold",
            "figure.constrained_layout.use": True,
            "figure.constrained_layout.h_pad": 0.08,
            "figure.constrained_layout.w_pad": 0.08,
            "figure.dpi": 110,
            "figure.facecolor": "white",
            "figure.figsize": (5.8, 3.6),
            "font.family": ["DejaVu Sans", *(name for name in _SPARE_FONTS if name in installed)],
            "font.size": 12,
            "grid.color": LINE,
            "grid.linewidth": 0.8,
            "legend.frameon": False,
            "lines.linewidth": 2,
            "savefig.facecolor": "white",
            "text.color": INK,
            "xtick.color": GREY,
            "xtick.labelcolor": INK,
            "ytick.color": GREY,
            "ytick.labelcolor": INK,
        }
    )


def weight_colours() -> Any:
    """Return the colour map for attention weights, from white (0) to dark blue (1)."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("seqattn", _RAMP)


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
        raise ValueError(
            f"weights have shape {grid.shape}; expected {meaning} = {shape}: one row per target "
            "word, one column per source word. Choose one sentence and one head, cut off padding"
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
    panel.grid(True, color=LINE, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines["top"].set_visible(False)


def to_png(figure: "Figure") -> bytes:
    """Give a figure as the bytes of a picture."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, facecolor="white")
    return content.getvalue()
