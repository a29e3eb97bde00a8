"""The attention map: which source words each target word drew on."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from seqattn.attention.masks import check_bool
from seqattn.plots.style import (
    DPI,
    GREY,
    GROUND,
    LINE,
    ORANGE,
    READABLE,
    as_weights,
    import_pyplot,
    on_cell,
    refit,
    weight_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_attention"]


def plot_attention(
    weights: Float[Tensor, "..."] | np.ndarray,
    source: Sequence[str],
    target: Sequence[str],
    *,
    ax: "Axes | None" = None,
    mask: Bool[Tensor, "..."] | None = None,
    links: Iterable[tuple[int, int]] | None = None,
    vmin: float = 0.0,
    vmax: float = 1.0,
    annotate: bool | None = None,
    cbar: bool = True,
    title: str | None = None,
) -> "Axes":
    """Draw an attention map: one row per target word, one column per source word.

    The colour scale is fixed from 0 to 1, so that two maps can be compared and noise in a nearly
    uniform map is not blown up to full contrast.

    Parameters
    ----------
    weights : (target, source)
        Weights of one sentence (and one head), padding cut off. Row t belongs to the word produced
        at step t. Take them in eval mode.
    source, target : sequence of str
        The words, in any script that an installed font has.
    ax : Axes, optional
        Where to draw; a new figure, sized to the sentence, if not given.
    mask : bool, (target, source) or (source,), optional
        True where a position may be attended. Forbidden cells are hatched, so that "not allowed"
        does not look like "no weight".
    links : iterable of (source, target), optional
        Cells to outline, for example the gold alignment, counted from 0.
    vmin, vmax : float
        Ends of the colour scale.
    annotate : bool, optional
        Whether to print the numbers; if not given, only where they are legible.
    cbar : bool
        Whether to draw the colour scale.
    title : str, optional
        Title of the map.

    Returns
    -------
    Axes
        What was drawn on; the figure is its ``figure``.

    Raises
    ------
    ValueError
        If the shape of weights or mask is not (len(target), len(source)), the numbers are no
        weights, or a link lies outside.
    TypeError
        If the mask is not boolean.
    ImportError
        If matplotlib is missing.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), figure 3, for the form of the map.

    Examples
    --------
    >>> import torch
    >>> weights = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
    >>> ax = plot_attention(weights, ["the", "cat"], ["le", "chat"], links=[(0, 0), (1, 1)])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['le', 'chat']
    """
    grid = as_weights(weights, (len(target), len(source)), "(len(target), len(source))")
    allowed = _check_mask(mask, grid)
    links = _check_links(links, grid)
    if ax is None:
        ax = _new_axes(source, target)
    cells = _draw_cells(ax, grid, allowed, vmin, vmax)
    letter = _letter_size(ax, grid)
    _write_words(ax, source, target, letter)
    _outline(ax, links)
    numbers = []
    if annotate or (annotate is None and letter >= 10 and max(grid.shape) <= 8):
        numbers = _print_numbers(ax, cells, grid, allowed, 0.8 * letter)

    def fit_letters(width: int) -> None:
        size = _letter_size(ax, grid)
        for word in (*ax.get_xticklabels(), *ax.get_yticklabels()):
            word.set_fontsize(size)
        for number in numbers:
            number.set(fontsize=0.8 * size, visible=size >= 9.5 or bool(annotate))

    refit(ax, fit_letters)
    if cbar:
        _draw_scale(ax, cells)
    if title is not None:
        ax.set_title(title, pad=10)
    return ax


def _check_mask(mask: Tensor | None, grid: np.ndarray) -> np.ndarray:
    if mask is None:
        return np.ones(grid.shape, dtype=bool)
    check_bool(mask)
    if tuple(mask.shape) not in {grid.shape, grid.shape[1:]}:
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}; expected (target, source) = {grid.shape} "
            f"or (source,) = {grid.shape[1:]}"
        )
    return np.broadcast_to(mask.cpu().numpy(), grid.shape)


def _check_links(
    links: Iterable[tuple[int, int]] | None, grid: np.ndarray
) -> list[tuple[int, int]]:
    links = sorted(links or ())
    rows, columns = grid.shape
    for column, row in links:
        if not (0 <= column < columns and 0 <= row < rows):
            raise ValueError(
                f"link {(column, row)} lies outside {columns} source and {rows} target words; "
                "expected (source, target), counted from 0"
            )
    return links


def _new_axes(source: Sequence[str], target: Sequence[str]) -> "Axes":
    """Make a figure with square cells, large ones if the sentence is short."""
    cell = float(np.clip(7.0 / max(len(source), len(target)), 0.17, 0.5))
    beside = 0.1 * max(map(len, target)) + 1.6
    above = 0.1 * max(map(len, source)) + 0.9
    size = (len(source) * cell + beside, max(len(target) * cell, 1.0) + above)
    _, ax = import_pyplot().subplots(figsize=size, layout="constrained")
    ax.set_aspect("equal")
    return ax


def _draw_cells(ax: "Axes", grid: np.ndarray, allowed: np.ndarray, vmin: float, vmax: float) -> Any:
    from matplotlib.patches import Rectangle

    rows, columns = grid.shape
    ax.set(xlim=(0, columns), ylim=(rows, 0))
    ax.grid(False)
    ax.spines[:].set(visible=True, color=LINE, linewidth=1)
    for row, column in np.argwhere(~allowed):
        ax.add_patch(Rectangle((column, row), 1, 1, fc=GROUND, ec=GREY, hatch="////", lw=0))
    return ax.pcolormesh(
        np.ma.array(grid, mask=~allowed),
        cmap=weight_colours(),
        vmin=vmin,
        vmax=vmax,
        edgecolors=LINE,
        linewidth=0.6,
    )


def _letter_size(ax: "Axes", grid: np.ndarray) -> float:
    """Points per letter with which every word fits beside its own cell."""
    rows, columns = grid.shape
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    cell = min(box.width / columns, box.height / rows) / dpi
    # Letters that would be small for a phone fill more of their cell.
    smallest = min(72 * READABLE / DPI, 72 * cell)
    return float(np.clip(72 * cell * 0.62, max(smallest, 6), 12))


def _write_words(ax: "Axes", source: Sequence[str], target: Sequence[str], size: float) -> None:
    # Slanted words are easier to read than upright ones but need room between columns.
    slant = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    turn = slant if size >= 10 else {"rotation": 90}
    # parse_math=False: a price such as "$5 to $9" is no formula.
    style: dict[str, Any] = {"fontsize": size, "parse_math": False}
    ax.set_xticks(np.arange(len(source)) + 0.5, source, **turn, **style)
    ax.set_yticks(np.arange(len(target)) + 0.5, target, **style)
    ax.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0, pad=3)
    ax.xaxis.set_label_position("top")
    ax.set(xlabel="source", ylabel="target")


def _outline(ax: "Axes", links: list[tuple[int, int]]) -> None:
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    for column, row in links:
        box = Rectangle((column + 0.05, row + 0.05), 0.9, 0.9, fill=False, ec=ORANGE, lw=2)
        # The halo keeps the outline visible on pale and dark cells alike.
        box.set_clip_on(False)
        box.set_path_effects([withStroke(linewidth=4.5, foreground=GROUND)])
        ax.add_patch(box)


def _print_numbers(
    ax: "Axes", cells: Any, grid: np.ndarray, allowed: np.ndarray, size: float
) -> list[Any]:
    return [
        ax.text(
            column + 0.5,
            row + 0.5,
            f"{grid[row, column]:.2f}",
            ha="center",
            va="center",
            fontsize=size,
            color=on_cell(float(cells.norm(grid[row, column]))),
        )
        for row, column in np.argwhere(allowed)
    ]


def _draw_scale(ax: "Axes", cells: Any) -> None:
    one_cell = min(1 / ax.get_xlim()[1], 0.25)
    scale = ax.inset_axes((1 + 0.45 * one_cell, 0, max(0.4 * one_cell, 0.02), 1))
    low, high = cells.get_clim()
    # Steps, not all levels: so fine a scale would be the heaviest part of the figure.
    steps = np.linspace(low, high, 26)
    scale.pcolormesh([0, 1], steps, (steps[:-1, None] + steps[1:, None]) / 2, cmap=cells.cmap,
                     vmin=low, vmax=high)  # fmt: skip
    scale.set(xticks=[], yticks=np.linspace(low, high, 5))
    scale.yaxis.set_major_formatter("{x:.3g}")
    scale.yaxis.tick_right()
    scale.tick_params(length=0)
    scale.spines[:].set_visible(False)
    scale.set_xlabel("weight", labelpad=9)
    scale.grid(False)
