"""matplotlib's defaults as the course has them: how figures look, and how a notebook stores one."""

from typing import Any

from seqattn.plots.style import (
    DPI,
    GREY,
    GROUND,
    INK,
    LINE,
    PALETTE,
    WIDE,
    import_pyplot,
)

__all__ = ["use_style"]

# DejaVu Sans has no Chinese, Japanese, Korean or Indic letters.
_SPARE_FONTS = ("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans Devanagari", "Arial Unicode MS")


def use_style() -> None:
    """Give every figure from now on the look of the course.

    Figures are as wide as the book's column, and their letters as large as its captions. In a
    notebook they are stored as SVG that follows the book's theme and fits a phone, with a PNG
    beside it for where SVG is not shown.

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
            "axes.facecolor": "none",
            "axes.grid": True,
            "axes.labelcolor": INK,
            "axes.prop_cycle": plt.cycler(color=PALETTE),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlecolor": INK,
            "axes.titlelocation": "left",
            "axes.titlesize": 12,
            "axes.titleweight": "bold",
            "figure.constrained_layout.use": True,
            "figure.constrained_layout.h_pad": 0.06,
            "figure.constrained_layout.w_pad": 0.06,
            "figure.dpi": DPI,
            "figure.facecolor": GROUND,
            "figure.figsize": (WIDE / DPI, 3.6),
            "font.family": ["DejaVu Sans", *(name for name in _SPARE_FONTS if name in installed)],
            "font.size": 12,
            "grid.color": LINE,
            "grid.linewidth": 0.86,
            "hatch.color": GREY,
            "legend.frameon": False,
            "lines.linewidth": 1.9,
            "patch.edgecolor": INK,
            "savefig.facecolor": GROUND,
            "text.color": INK,
            "xtick.color": GREY,
            "xtick.labelcolor": INK,
            "xtick.labelsize": 11,
            "ytick.color": GREY,
            "ytick.labelcolor": INK,
            "ytick.labelsize": 11,
        }
    )
    kernel = _kernel()
    if kernel is not None:
        from seqattn.plots.svg import register

        register(kernel)


def _kernel() -> Any:
    """Give the shell of the notebook that this runs in, or None."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell = get_ipython()
    return shell if hasattr(shell, "kernel") else None
