"""Diagrams: what feeds what in a translator, a weighted sum as arrows, what a mask left over."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from seqattn.plots.style import (
    CONTEXT,
    DPI,
    GREY,
    GROUND,
    INK,
    KEYS,
    LINE,
    PINK,
    QUERY,
    VALUES,
    WEIGHTS,
    WIDE,
    as_weights,
    import_pyplot,
    on_cell,
    refit,
    weight_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_masked", "plot_sum_of_arrows", "plot_transformer", "plot_translator"]

# Heights of the rows, from the source words up.
_SOURCE, _ENCODER, _CONTEXT, _DECODER, _TARGET = 0.0, 1.0, 2.1, 3.2, 4.3
_NAMES = 90  # pixels for the names of the rows


def plot_translator(
    source: Sequence[str],
    target: Sequence[str],
    *,
    weights: Any = None,
    bidirectional: bool = False,
    training: bool = False,
    ax: "Axes | None" = None,
    title: str | None = None,
) -> "Axes":
    """Draw an encoder–decoder: states as boxes, and an arrow wherever one thing feeds another.

    Source words stand at the bottom, encoder states (the colour of keys) above them, then what the
    decoder gets of them (a context, or weights), decoder states (the colour of queries) and target
    words. Each decoder state is fed the target word before it.

    Parameters
    ----------
    source : sequence of S str
        Source words.
    target : sequence of T str
        Target words, usually ended by ``<eos>``.
    weights : (T, S), optional
        Attention weights: every decoder state gets a context of its own, with lines as thick as
        the weights. Without them one vector c, made of the encoder's last state, serves all steps.
    bidirectional : bool
        Whether the encoder also reads from right to left.
    training : bool
        Draw one training step instead of a translation: the decoder is fed the reference's words,
        a loss compares, and a gradient goes back.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    title : str, optional
        Title of the diagram.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If the weights are no (T, S) attention weights, or a sentence is empty.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> ax = plot_translator(["the", "cat"], ["le", "chat", "<eos>"])
    >>> [t.get_text() for t in ax.texts if t.get_text().startswith("$s")]
    ['$s_{1}$', '$s_{2}$', '$s_{3}$']
    """
    if not source or not target:
        raise ValueError(f"{len(source)} source and {len(target)} target words; expected some")
    grid = None
    if weights is not None:
        meaning = "(target words, source words)"
        grid = as_weights(weights, (len(target), len(source)), meaning)
    ax = ax or import_pyplot().subplots(figsize=(WIDE / DPI, 4.6))[1]
    wide = max(len(source), len(target))
    h = [(i + (wide - len(source)) / 2, _ENCODER) for i in range(len(source))]
    s = [(t + (wide - len(target)) / 2, _DECODER) for t in range(len(target))]
    _draw_encoder(ax, source, h, bidirectional)
    if grid is None:
        _draw_fixed_context(ax, h, s, bidirectional)
    else:
        _draw_weights(ax, h, s, grid)
    _draw_decoder(ax, target, s, training)
    if training:
        _draw_loss(ax, s, wide)
    rows = {_SOURCE: "source", _ENCODER: "encoder", _DECODER: "decoder"}
    rows |= {_CONTEXT: "context" if grid is None else "weights"}
    rows |= {_TARGET: "reference" if training else "translation"}
    for y, name in rows.items():
        ax.text(-0.55, y, name, ha="right", va="center", color=GREY, size=11)
    ax.set(xlim=(-1.75, wide - 0.3), ylim=(-0.35, 5.45 if training else 4.65))
    # The names of the rows take the same pixels in a figure of any width.
    refit(ax, lambda width: ax.set_xlim(left=-0.55 - _NAMES * (wide + 0.25) / (width - _NAMES)))
    ax.axis("off")
    if title is not None:
        ax.set_title(title)
    return ax


def _box(ax: "Axes", place: tuple[float, float], text: str, colour: str) -> None:
    box = {"boxstyle": "round,pad=0.45", "fc": GROUND, "ec": colour, "lw": 2}
    ax.text(*place, text, ha="center", va="center", color=colour, bbox=box, zorder=3)


def _arrow(
    ax: "Axes", start: tuple[float, float], end: tuple[float, float], colour: str, **style: Any
) -> None:
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.6, "shrinkA": 0, "shrinkB": 0, **style}
    ax.annotate("", end, start, arrowprops=arrow, zorder=2)


def _draw_encoder(
    ax: "Axes", words: Sequence[str], h: list[tuple[float, float]], both: bool
) -> None:
    lane = 0.09 if both else 0.0
    for i, (word, (x, y)) in enumerate(zip(words, h), start=1):
        ax.text(x, _SOURCE, word, ha="center", va="center", color=INK)
        _arrow(ax, (x, _SOURCE + 0.2), (x, y - 0.3), GREY)
        _box(ax, (x, y), f"$h_{{{i}}}$", KEYS)
    for (x, y), (after, _) in itertools.pairwise(h):
        _arrow(ax, (x + 0.25, y - lane), (after - 0.25, y - lane), KEYS)
        if both:
            _arrow(ax, (after - 0.25, y + lane), (x + 0.25, y + lane), KEYS)


def _draw_fixed_context(
    ax: "Axes", h: list[tuple[float, float]], s: list[tuple[float, float]], both: bool
) -> None:
    c = ((s[0][0] + s[-1][0]) / 2, _CONTEXT)
    # Where each direction ends: the last word, and the first when read from right to left.
    for x, y in {h[-1], h[0]} if both else {h[-1]}:
        _arrow(ax, (x, y + 0.3), (c[0] + 0.12 * (x - c[0]), c[1] - 0.28), KEYS)
    for x, y in s:
        _arrow(ax, (c[0] + 0.12 * (x - c[0]), c[1] + 0.28), (x, y - 0.3), CONTEXT)
    _box(ax, c, "$c$", CONTEXT)


def _draw_weights(
    ax: "Axes", h: list[tuple[float, float]], s: list[tuple[float, float]], grid: np.ndarray
) -> None:
    for (x, y), row in zip(s, grid):
        for (start, below), weight in zip(h, row):
            line = {"color": WEIGHTS, "lw": 0.4 + 6 * weight, "alpha": 0.75, "zorder": 1}
            ax.plot([start, x], [below + 0.3, y - 0.3], solid_capstyle="butt", **line)


def _draw_decoder(
    ax: "Axes", words: Sequence[str], s: list[tuple[float, float]], training: bool
) -> None:
    colour = GREY if training else QUERY
    for t, (word, (x, y)) in enumerate(zip(words, s), start=1):
        _box(ax, (x, y), f"$s_{{{t}}}$", QUERY)
        _arrow(ax, (x, y + 0.3), (x, _TARGET - 0.2), QUERY)
        ax.text(x, _TARGET, word, ha="center", va="center", color=colour)
        if t < len(words):
            after = s[t][0]
            _arrow(ax, (x + 0.25, y), (after - 0.25, y), QUERY)
            # The word written (in training: the reference's) is read at the next step.
            fed = {"linestyle": (0, (3, 2)), "connectionstyle": "arc3,rad=0"}
            _arrow(ax, (x + 0.22, _TARGET - 0.2), (after - 0.16, y + 0.31), colour, **fed)


def _draw_loss(ax: "Axes", s: list[tuple[float, float]], wide: int) -> None:
    _box(ax, ((wide - 1) / 2, _TARGET + 0.8), "loss: mean of $-\\log p$", GREY)
    for x, _ in s:
        _arrow(ax, (x, _TARGET + 0.2), (x * 0.5 + (wide - 1) / 4, _TARGET + 0.55), GREY)
    edge = wide - 0.45
    ax.plot([edge - 0.9, edge, edge], [_TARGET + 0.8, _TARGET + 0.8, _DECODER], color=GREY, lw=1.6)
    _arrow(ax, (edge, _DECODER), (edge, _ENCODER - 0.3), GREY)
    ax.text(edge - 0.08, _CONTEXT, "gradient", rotation=90, ha="right", va="center", color=GREY)


# Of the drawing of a Transformer: the middles of its stacks, and how far from there boxes, residual
# connections and outlines reach, in percent of the width.
_LEFT, _RIGHT, _HALF, _LANE, _EDGE = 22.0, 78.0, 15.5, 18.8, 21.5
# In pixels, from below: positions are added; the first residual connection branches off; from there
# to its sub-layer, to its sum, and to the next branch.
_ADDED, _FIRST, _MIDDLE, _SUM, _PITCH = 78, 132, 75, 115, 128
_DASHED = (0, (3, 2))


def plot_transformer(*, ax: "Axes | None" = None, title: str | None = None) -> "Axes":
    """Draw the whole Transformer: two stacks of blocks, and what runs within and between them.

    It is :class:`~seqattn.models.Transformer` as it is made by default, in pre norm. Data run
    upwards. An arrow round a norm and a sub-layer is a residual connection. Masks stand between the
    stacks, each with an arrow into the attention that it limits.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure if not given.
    title : str, optional
        Title of the diagram.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ImportError
        If matplotlib is missing.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", figure 1, which shows post norm.

    Examples
    --------
    >>> ax = plot_transformer()
    >>> [text.get_text() for text in ax.texts].count("norm")
    7
    """
    ax = ax or import_pyplot().subplots(figsize=(WIDE / DPI, 8.2))[1]
    read = ["self-attention", "feed-forward"]
    write = ["masked\nself-attention", "cross-\nattention", "feed-forward"]
    encoded = _draw_stack(ax, _LEFT, "encoder", "source words", read)
    decoded = _draw_stack(ax, _RIGHT, "decoder", "", write)
    _draw_between(ax, encoded)
    top = _draw_output(ax, decoded)
    ax.set(xlim=(0, 104), ylim=(0, top))

    boxes: list[Any] = list(ax.patches)

    def keep_round(_: int) -> None:
        (across, up), (x, y) = ax.transData.transform([(1, 1), (0, 0)])
        for box in boxes:
            box.set_mutation_aspect((across - x) / (up - y))

    refit(ax, keep_round)
    keep_round(WIDE)
    ax.axis("off")
    if title is not None:
        ax.set_title(title)
    return ax


def _draw_stack(ax: "Axes", x: float, name: str, words: str, parts: Sequence[str]) -> float:
    """Draw words, embedding, positions and a block of sub-layers; give the height of its end."""
    out = -1 if x < 50 else 1  # to which side of the stack residual connections run
    ax.text(x, 10, words, ha="center", va="center")
    _arrow(ax, (x, 19), (x, 32), GREY)
    _slab(ax, x, 45, "embedding", GREY)
    _arrow(ax, (x, 58), (x, _ADDED - 9), GREY)
    _plus(ax, (50, _ADDED), (x, _ADDED), GREY)
    _arrow(ax, (x, _ADDED + 9), (x, _FIRST + 10), GREY)
    low, end = _ADDED + 22, _FIRST + len(parts) * _PITCH
    ax.text(x - 1.5, low + 14, name, ha="right", va="center", weight="bold")
    ax.text(x + 1.5, low + 14, "× N", va="center")
    for i, part in enumerate(parts):
        _draw_sub_layer(ax, x, out, _FIRST + i * _PITCH, part)
    _label(ax, x + _LANE * out, _FIRST + _SUM / 2, "residual", rotation=90, size=11)
    _slab(ax, x, (low + end) / 2, "", GREY, end - low, _EDGE, lw=1, fc="none", zorder=1)
    _slab(ax, x, end + 23, "norm", GREY, 22, 8)
    return end + 34


def _draw_sub_layer(ax: "Axes", x: float, out: int, tap: float, name: str) -> None:
    """Draw a norm, what reads it, and the residual connection round both."""
    attends = "attention" in name
    colour = CONTEXT if attends else GREY
    inputs = [("$q$", 0.0, QUERY)] if attends else [("", 0.0, GREY)]
    if "self" in name:
        inputs = [("$q$", -6.0, QUERY), ("$k$", 0.0, KEYS), ("$v$", 6.0, VALUES)]
    for letter, aside, its_colour in inputs:
        _arrow(ax, (x + aside, tap + 32), (x + aside, tap + 56), its_colour)
        ax.text(x + aside + 1.2, tap + 42, letter, va="center", color=its_colour)
    _slab(ax, x, tap + 21, "norm", GREY, 22, 8)
    _slab(ax, x, tap + _MIDDLE, name, colour, 38)
    _arrow(ax, (x, tap + _MIDDLE + 19), (x, tap + _SUM - 9), colour)
    lane = x + _LANE * out
    ax.plot([x, lane, lane], [tap, tap, tap + _SUM], color=INK, lw=1.6, zorder=2)
    _plus(ax, (lane, tap + _SUM), (x, tap + _SUM), INK)
    _arrow(ax, (x, tap + _SUM + 9), (x, tap + _PITCH + 10), GREY)


def _draw_between(ax: "Axes", encoded: float) -> None:
    """Draw what both stacks share, and the way from the encoder's end to cross-attention."""
    look, cross = _FIRST + _MIDDLE, _FIRST + _PITCH + _MIDDLE
    left, right = _LEFT + _HALF, _RIGHT - _HALF
    _label(ax, 50, _ADDED, "positional\nencoding")
    for letter, x, up, colour in (("$k$", 44.5, 0, KEYS), ("$v$", 49.5, 11, VALUES)):
        over, at = encoded + 14 + up, cross + up
        _way(ax, [(_LEFT, encoded), (_LEFT, over), (x, over), (x, at), (right, at)], colour)
        ax.text(x + 1.2, (over + at) / 2, letter, va="center", color=colour)
    for x, to, start, end in (
        (46, left, look + 46, look),
        (54, right, look + 46, cross - 11),
        (54, right, look - 46, look),
    ):
        _way(ax, [(x, start), (x, end), (to, end)], INK, ls=_DASHED)
    _label(ax, 50, look + 46, "padding\nmask")
    _label(ax, 50, look - 46, "causal\nmask")


def _draw_output(ax: "Axes", decoded: float) -> float:
    """Draw what makes words of the decoder's end; give the height of it all."""
    x, y = _RIGHT, decoded
    for name in ("linear", "softmax"):
        _arrow(ax, (x, y), (x, y + 12), GREY)
        _slab(ax, x, y + 25, name, GREY)
        y += 38
    _arrow(ax, (x, y), (x, y + 12), GREY)
    edge, top = 102, y + 30
    ax.plot([x, edge, edge], [top, top, 10], color=GREY, lw=1.6, ls=_DASHED, zorder=2)
    _label(ax, x, top, "probabilities of\nthe next word")
    fed = {"arrowstyle": "<|-", "color": GREY, "lw": 1.6, "ls": _DASHED, "shrinkB": 0}
    ax.annotate("target so far", (edge, 10), (x, 10), ha="center", va="center", arrowprops=fed)
    return top + 20


def _slab(
    ax: "Axes", x: float, y: float, text: str, colour: str, high: float = 26, half: float = _HALF,
    **style: Any,
) -> None:  # fmt: skip
    from matplotlib.patches import FancyBboxPatch

    style = {"fc": GROUND, "ec": colour, "lw": 2, "zorder": 3, **style}
    corner, shape = (x - half, y - high / 2), "round,pad=0,rounding_size=1.2"
    ax.add_patch(FancyBboxPatch(corner, 2 * half, high, boxstyle=shape, **style))
    if text:
        ink = INK if colour == GREY else colour
        ax.text(x, y, text, ha="center", va="center", color=ink, linespacing=1.1, zorder=4)


def _label(ax: "Axes", x: float, y: float, text: str, **style: Any) -> None:
    """Write on top of lines, which begin or go on beneath."""
    box = {"boxstyle": "square,pad=0.15", "fc": GROUND, "ec": "none"}
    ax.text(x, y, text, ha="center", va="center", bbox=box, linespacing=1.1, zorder=4, **style)


def _plus(ax: "Axes", start: tuple[float, float], at: tuple[float, float], colour: str) -> None:
    """Draw a sum, and the arrow of what is added."""
    box = {"boxstyle": "circle,pad=0.05", "fc": GROUND, "ec": INK, "lw": 1.4}
    _arrow(ax, start, at, colour, shrinkB=8.5)
    ax.text(*at, "+", ha="center", va="center", bbox=box, zorder=4)


def _way(ax: "Axes", places: Sequence[tuple[float, float]], colour: str, **style: Any) -> None:
    """Draw an arrow round corners."""
    ax.plot(*zip(*places[:-1]), color=colour, lw=1.6, zorder=2, **style)
    _arrow(ax, places[-2], places[-1], colour, **style)


def plot_sum_of_arrows(
    weights: Any,
    values: Any,
    words: Sequence[str],
    *,
    ax: "Axes | None" = None,
    title: str | None = None,
) -> "Axes":
    """Draw a weighted sum of vectors in the plane: shortened arrows, laid tip to tail.

    Parameters
    ----------
    weights : (n,)
        Attention weights.
    values : (n, 2)
        Vectors in the plane.
    words : sequence of n str
        What the vectors belong to.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    title : str, optional
        Title of the drawing.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If the weights are no attention weights, or the values are not n vectors of two numbers.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> ax = plot_sum_of_arrows([0.5, 0.5], [[2.0, 0.0], [0.0, 2.0]], ["a", "b"])
    >>> ax.texts[-1].get_text()
    'context (1.00, 1.00)'
    """
    alpha = as_weights(weights, (len(words),), "(len(words),)")
    if isinstance(values, Tensor):
        values = values.detach().cpu().double()
    points = np.asarray(values, dtype=float)
    if points.shape != (len(words), 2):
        raise ValueError(f"values have shape {points.shape}; expected {(len(words), 2)}")
    ax = ax or import_pyplot().subplots(figsize=(WIDE / DPI, 4.4))[1]
    x = y = 0.0  # where the next arrow begins
    for word, weight, point in zip(words, alpha, points):
        _arrow(ax, (0, 0), (point[0], point[1]), VALUES, alpha=0.3, lw=2)
        style: dict[str, Any] = {"ha": "center", "va": "center"}
        ax.text(1.12 * point[0], 1.12 * point[1], word, weight="bold", color=VALUES, **style)
        dx, dy = weight * point
        size = max(float(np.hypot(dx, dy)), 1e-9)
        _arrow(ax, (x, y), (x + dx, y + dy), VALUES, lw=2.4, mutation_scale=min(16, 4 + 60 * size))
        aside = (x + dx / 2 + 0.22 * dy / size, y + dy / 2 - 0.22 * dx / size)
        ax.text(*aside, f"{weight:.2f}", size=11, color=WEIGHTS, **style)
        x, y = x + dx, y + dy
    ax.plot([0, x], [0, y], color=CONTEXT, lw=1.6, ls=(0, (4, 2)), zorder=1)
    ax.plot(x, y, "o", color=CONTEXT, zorder=3)
    note: dict[str, Any] = {"textcoords": "offset points", "color": CONTEXT, "weight": "bold"}
    ax.annotate(f"context ({x:.2f}, {y:.2f})", (x, y), xytext=(8, 8), **note)
    low, high = (f(np.vstack([points, [x, y], [0, 0]]), axis=0) for f in (np.min, np.max))
    edge = 0.25 * (high - low).max()
    ax.set(xlim=(low[0] - edge, high[0] + edge), ylim=(low[1] - edge, high[1] + edge))
    ax.set(aspect="equal", title=title)
    return ax


def plot_masked(
    weights: Any,
    real: Any,
    *,
    ax: "Axes | None" = None,
    title: str | None = None,
) -> "Axes":
    """Draw weights as a grid of numbers, whatever they are, with the columns of pads hatched.

    Unlike :func:`~seqattn.plot_attention` it takes what a wrong mask makes: rows that do not
    sum to 1, and NaN.

    Parameters
    ----------
    weights : (queries, keys)
        What came out.
    real : (keys,) bool
        True where a key is a word, False where it is a pad.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    title : str, optional
        Title of the grid.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If there is not one flag for each column.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> ax = plot_masked([[0.5, 0.5, 0.0]], [True, True, False])
    >>> [text.get_text() for text in ax.texts]
    ['.50', '.50', '0']
    """
    if isinstance(weights, Tensor):
        weights = weights.detach().cpu().double()
    grid, flags = np.asarray(weights, dtype=float), np.asarray(real, dtype=bool)
    if grid.ndim != 2 or flags.shape != grid.shape[1:]:
        raise ValueError(
            f"weights have shape {grid.shape} and real {flags.shape}; expected (queries, keys) "
            "and one flag for each key"
        )
    from matplotlib.patches import Rectangle

    ax = ax or import_pyplot().subplots(figsize=(2.9, 2.6))[1]
    cells = np.ma.masked_invalid(grid)
    ax.pcolormesh(cells, cmap=weight_colours(), vmin=0, vmax=1, edgecolors=LINE, linewidth=1)
    for (t, i), weight in np.ndenumerate(grid):
        lost = not np.isfinite(weight)
        if not flags[i]:
            edge = PINK if lost or weight > 0.005 else GREY
            ax.add_patch(Rectangle((i, t), 1, 1, fc="none", ec=edge, hatch="//", lw=0, alpha=0.35))
        ink = PINK if lost else on_cell(weight)
        ax.text(i + 0.5, t + 0.5, _number(weight), ha="center", va="center", color=ink, size=11)
    n, keys = grid.shape
    labels = [str(i) if word else "pad" for i, word in enumerate(flags, start=1)]
    ax.set_xticks(np.arange(keys) + 0.5, labels)
    ax.set_yticks(np.arange(n) + 0.5, [str(t) for t in range(1, n + 1)])
    ax.set(xlim=(0, keys), ylim=(n, 0), aspect="equal")
    ax.tick_params(length=0, labelsize=10)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if title is not None:
        ax.set_title(title, size=11)
    return ax


def _number(weight: float) -> str:
    if np.isnan(weight):
        return "NaN"
    if weight == 0:
        return "0"
    return f"{weight:.2f}".lstrip("0") if abs(weight) < 0.995 else f"{weight:.3g}"
