"""Figures as small SVG: text stays text, a colour has one meaning, and a phone its own layout.

A figure is laid out twice, as wide as the book's column and as a phone's, with letters of the same
size; one file holds both drawings. The page (``tools/plots_ext.py``) puts them into its text, where
colours follow the theme and the width decides which drawing is seen. Elsewhere, as in JupyterLab,
the wide one is shown on white.

Nothing in the file depends on time or chance, so that storing a figure twice changes nothing.
"""

import io
import math
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.font_manager import ttfFontProperty, weight_dict
from matplotlib.gridspec import GridSpec
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox

from seqattn.plots.style import DPI, GROUND, INK, NARROW, READABLE, WIDE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_png", "figure_svg", "register"]

LETTERS = 14  # pixels, the size that the file does not repeat
HEAVIEST = 250_000  # characters; a figure that needs more is kept as a picture of dots
SMALLEST = 11.0  # pixels of a letter beside a panel where two stand beside each other on a phone
FINEST = 0.5  # pixels; what a line does within less is left out
MARGIN = 4.0  # pixels around what is drawn
ITALIC = ' class="m" font-family="serif" font-style="italic"'


def register(shell: Any) -> None:
    """Let an IPython kernel give figures as SVG, with a small PNG for where none is shown.

    Parameters
    ----------
    shell : InteractiveShell
        Of the kernel.
    """
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    # The inline backend sets up formats of its own at the first figure: have that behind us.
    plt.close(plt.figure())
    formatters = shell.display_formatter.formatters
    for formatter in formatters.values():
        formatter.pop(Figure, None)
    formatters["image/svg+xml"].for_type(Figure, figure_svg)
    formatters["image/png"].for_type(Figure, figure_png)


def figure_svg(figure: "Figure") -> str | None:
    """Draw a figure, wide and narrow, as one SVG.

    Parameters
    ----------
    figure : Figure
        What to draw. It is left as it was.

    Returns
    -------
    str or None
        The file. None if the figure holds a picture of dots, or so much that it is better one.
    """
    drawn = []
    for name, width in (("wide", WIDE), ("narrow", NARROW)):
        with _laid_out(figure, width) as height:
            renderer = CompactSVG(width, height)
            renderer.draw_all(figure)
            if renderer.has_images:
                return None
            box = _cropped(figure, renderer, width, height)
        x, y, w, h = map(_number, box)
        hidden = "" if name == "wide" else ' display="none"'
        drawn.append(
            f'<svg class="{name}" viewBox="{x} {y} {w} {h}" width="{w}" height="{h}"{hidden}>'
            f"{renderer.content()}</svg>"
        )
        if name == "wide":
            size = f'width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
    found = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sa-plot" {size} '
        f'font-family="sans-serif" font-size="{LETTERS}" fill="{INK}" stroke-linejoin="round">'
        f'<rect class="paper" width="100%" height="100%" fill="{GROUND}"/>{"".join(drawn)}</svg>'
    )
    return found if len(found) <= HEAVIEST else None


def figure_png(figure: "Figure") -> bytes:
    """Draw the wide layout of a figure as a picture of few colours.

    Parameters
    ----------
    figure : Figure
        What to draw. It is left as it was.

    Returns
    -------
    bytes
        A PNG.
    """
    from PIL import Image

    with _laid_out(figure, WIDE) as height:
        renderer = CompactSVG(WIDE, height)
        x, y, w, h = _cropped(figure, renderer, WIDE, height)
        inches = Bbox.from_bounds(x, height - y - h, w, h).transformed(Affine2D().scale(1 / DPI))
        content = io.BytesIO()
        figure.savefig(
            content, format="png", dpi=1.5 * DPI, facecolor="white", bbox_inches=inches,
            metadata={"Software": None},
        )  # fmt: skip
    if any(panel.images for panel in figure.axes):
        return content.getvalue()
    picture, small = Image.open(content).convert("RGB"), io.BytesIO()
    picture.quantize(32, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


@contextmanager
def _laid_out(figure: "Figure", width: int) -> Iterator[float]:
    """Give a figure this width for a while: panels restacked, letters refitted."""
    (wide, high), dpi, canvas = map(float, figure.get_size_inches()), figure.dpi, figure.canvas
    height = high * DPI
    grids = {id(grid): grid for panel in figure.axes if (grid := panel.get_gridspec())}
    before: list[tuple[Any, Any, bool]] = []
    try:
        FigureCanvasAgg(figure)
        figure.dpi = DPI
        columns = max((grid.ncols for grid in grids.values()), default=1)
        # Two panels beside each other are the most that a phone has room for.
        if width == NARROW and len(grids) == 1 and columns > 2:
            height *= _stack(figure, 2 if columns % 2 == 0 else 1, before)
        # A small figure stays small.
        own = wide * DPI
        figure.set_size_inches((min(width, own) if own < 0.6 * WIDE else width) / DPI, height / DPI)
        with warnings.catch_warnings():
            # Long names beside a chart leave it no room on a phone, until they are refitted.
            warnings.filterwarnings("ignore", "constrained_layout not applied")
            figure.draw_without_rendering()
        _fit(figure, width)
        # Maps make their letters as small as their cells: such a pair stands one below the other.
        if width == NARROW and len(grids) == 1 and columns == 2 and _smallest(figure) < SMALLEST:
            height *= _stack(figure, 1, before)
            figure.set_size_inches(figure.get_figwidth(), height / DPI)
            figure.draw_without_rendering()
            _fit(figure, width)
        yield height
    finally:
        for panel, place, labelled in before:
            panel.set_subplotspec(place)
            panel.tick_params(labelleft=labelled)
        figure.set_size_inches(wide, high)
        figure.dpi = dpi
        figure.set_canvas(canvas)


def _stack(figure: "Figure", columns: int, before: list[tuple[Any, Any, bool]]) -> float:
    """Set panels in fewer columns, note how they were, and say how much higher that is."""
    places = [(panel, place) for panel in figure.axes if (place := panel.get_subplotspec())]
    grid = places[0][1].get_gridspec()
    rows = grid.nrows * grid.ncols // columns
    stacked = GridSpec(rows, columns, figure=figure)
    for panel, place in places:
        before.append((panel, place, panel.yaxis.get_tick_params().get("labelleft", True)))
        panel.tick_params(labelleft=True)  # a shared axis names its ticks once
        panel.set_subplotspec(stacked[place.num1 // columns, place.num1 % columns])
    return float(rows / grid.nrows)


def _fit(figure: "Figure", width: int) -> None:
    """Have done again what depends on the width."""
    refits = getattr(figure, "refits", ())
    for refit in refits:
        refit(width)
    figure.draw_without_rendering()
    if refits:  # a layout takes up the room that a refit has left only when it is drawn again
        figure.draw_without_rendering()


def _smallest(figure: "Figure") -> float:
    """Give the size of the smallest letters beside a panel, in pixels."""
    names = [
        name
        for panel in figure.axes
        for name in (*panel.get_xticklabels(), *panel.get_yticklabels())
    ]
    return min((float(name.get_fontsize()) * DPI / 72 for name in names), default=math.inf)


def _cropped(
    figure: "Figure", renderer: RendererBase, width: float, height: float
) -> tuple[float, float, float, float]:
    """Give x, y, width and height of what a drawing fills, in pixels from the upper left."""
    tight = figure.get_tightbbox(renderer)
    x0, y0, x1, y1 = (value * DPI for value in tight.extents)
    left, right = max(0.0, x0 - MARGIN), min(float(width), x1 + MARGIN)
    # What fills the column nearly does so wholly: charts of one page are equally wide.
    if right - left > 0.9 * width:
        left, right = 0.0, float(width)
    top, bottom = max(0.0, height - y1 - MARGIN), min(height, height - y0 + MARGIN)
    return left, math.floor(top), math.ceil(right - left), math.ceil(bottom - math.floor(top))


def _number(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


class CompactSVG(RendererBase):
    """Writes what matplotlib draws as few and short elements.

    Elements of the same look that follow each other are one path, cells of a map one path for each
    level of its scale. Colours are literal attributes: what they become is left to the page.

    Parameters
    ----------
    width, height : float
        In pixels.
    """

    def __init__(self, width: float, height: float):
        super().__init__()
        self.width, self.height = width, height
        self.has_images = False
        self._texts: dict[str, Text] = {}
        self._text: Text | None = None
        self._elements: list[list[str]] = []  # attributes of a path, and its commands; or a text
        self._flip = Affine2D().scale(1, -1).translate(0, height)

    def get_canvas_width_height(self) -> tuple[float, float]:
        """Give the size in pixels."""
        return self.width, self.height

    def points_to_pixels(self, points: Any) -> Any:
        """Turn points into pixels."""
        return points * DPI / 72

    def draw_all(self, figure: "Figure") -> None:
        """Draw a figure without its ground, which is the page's."""
        # matplotlib says of a line of a longer text neither whose it is nor how it is aligned.
        texts = figure.findobj(Text)
        names = [text.get_gid() for text in texts]
        self._texts = {str(number): text for number, text in enumerate(texts)}
        try:
            for number, text in self._texts.items():
                text.set_gid(number)
            figure.patch.set_visible(False)
            figure.draw(self)
        finally:
            figure.patch.set_visible(True)
            for text, name in zip(texts, names):
                text.set_gid(name)

    def open_group(self, s: str, gid: Any = None) -> None:
        """Take note of the text that is going to be written."""
        if s == "text":
            self._text = self._texts.get(gid)

    def content(self) -> str:
        """Give what was drawn."""
        return "".join(
            f'<path{attributes} d="{"".join(data)}"/>' if data else attributes
            for attributes, *data in self._elements
        )

    def draw_image(self, gc: GraphicsContextBase, x: float, y: float, im: Any, *_: Any) -> None:
        """Remember that there is a picture of dots, which has no place here."""
        self.has_images = True

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Any, rgbFace: Any = None
    ) -> None:
        """Draw a path, clipped by changing its points."""
        placed = transform + self._flip
        fill = rgbFace is not None and (len(rgbFace) < 4 or rgbFace[3] > 0)
        stroke = gc.get_linewidth() > 0 and gc.get_rgb()[3] > 0
        if fill or stroke:
            data = self._commands(path, placed, self._clip(gc), fill)
            self._add(self._look(gc, rgbFace if fill else None, stroke), data)
        if gc.get_hatch():
            self._hatch(gc, path.get_extents(placed))

    def draw_markers(
        self, gc: GraphicsContextBase, marker_path: Path, marker_trans: Any, path: Path, trans: Any,
        rgbFace: Any = None,
    ) -> None:  # fmt: skip
        """Draw a sign at each point; discs as dots of a round pen."""
        points = [
            place
            for vertices, _ in path.iter_segments(trans + self._flip, simplify=False)
            if np.isfinite(place := vertices[-2:]).all()
        ]
        disc = Path.unit_circle().vertices
        if rgbFace is not None and np.array_equal(marker_path.vertices, disc):
            size = marker_path.get_extents(marker_trans).width
            if gc.get_linewidth() and gc.get_rgb()[3]:
                size += self.points_to_pixels(gc.get_linewidth())
            look = (
                f' fill="none" stroke="{to_hex(rgbFace)}" stroke-width="{_number(size)}"'
                ' stroke-linecap="round"'
            )
            data = [f"M{_points(place)}h0" for place in points if self._inside(gc, place)]
            # Dots that shine through each other must stay apart.
            if (alpha := self._alpha(gc, rgbFace)) < 1:
                look += f' stroke-opacity="{alpha:.2g}"'
                self._elements += [[look, dot] for dot in data]
            else:
                self._add(look, "".join(data))
            return
        for x, y in points:
            self.draw_path(
                gc, marker_path, marker_trans + Affine2D().translate(x, self.height - y), rgbFace
            )

    def draw_quad_mesh(
        self, gc: GraphicsContextBase, master_transform: Any, meshWidth: int, meshHeight: int,
        coordinates: Any, offsets: Any, offsetTrans: Any, facecolors: Any, antialiased: Any,
        edgecolors: Any,
    ) -> None:  # fmt: skip
        """Draw the cells of a map, a path for each colour, and their borders."""
        placed = (master_transform + self._flip).transform(np.asarray(coordinates).reshape(-1, 2))
        corners = placed.reshape(meshHeight + 1, meshWidth + 1, 2)
        cells = defaultdict(list)
        for (row, column), colour in zip(np.ndindex(meshHeight, meshWidth), facecolors):
            x, y = map(_number, corners[row, column])
            far_x, far_y = map(_number, corners[row + 1, column + 1])
            if colour[3] > 0:
                cells[to_hex(colour)].append(f"M{x} {y}H{far_x}V{far_y}H{x}z")
        for colour, squares in cells.items():
            self._add(f' fill="{colour}"', "".join(squares))
        if len(edgecolors) and gc.get_linewidth():
            gc.set_foreground(edgecolors[0], isRGBA=True)
            lines = [*corners, *corners.swapaxes(0, 1)]
            ends = [f"M{_points(line[[0, -1]])}" for line in lines]
            self._add(self._look(gc, None, True), "".join(ends))

    def draw_text(
        self, gc: GraphicsContextBase, x: float, y: float, s: str, prop: Any, angle: float,
        ismath: Any = False, mtext: Any = None,
    ) -> None:  # fmt: skip
        """Write a text. The page's letters may be narrower, so it hangs at its own anchor."""
        size = self.points_to_pixels(prop.get_size_in_points())
        width = self.get_text_width_height_descent(s, prop, ismath)[0]
        turned = math.radians(angle)
        along = 0.5
        text = self._text
        if text is not None and (angle == 0 or text.get_rotation_mode() == "anchor"):
            aligned = text.get_horizontalalignment()
            if "\n" in text.get_text():
                aligned = getattr(text, "_multialignment", None) or aligned
            along = {"left": 0.0, "center": 0.5, "right": 1.0}[aligned]
        x += along * width * math.cos(turned)
        y -= along * width * math.sin(turned)
        attributes = f' x="{_number(x)}" y="{_number(y)}"'
        if round(size, 1) != LETTERS:
            attributes += f' font-size="{_number(size)}"'
        weight = prop.get_weight()
        if weight_dict.get(weight, weight) > 500:
            attributes += ' font-weight="600"'
        if prop.get_style() != "normal":
            attributes += ' font-style="italic"'
        if along:
            attributes += f' text-anchor="{"middle" if along == 0.5 else "end"}"'
        if angle:
            attributes += f' transform="rotate({-angle:g} {_number(x)} {_number(y)})"'
        if (colour := to_hex(gc.get_rgb())) != INK:
            attributes += f' fill="{colour}"'
        if (alpha := self._alpha(gc, gc.get_rgb())) < 1:
            attributes += f' fill-opacity="{alpha:.2g}"'
        inner = self._formula(s, prop, size) if ismath else escape(s)
        self._elements.append([f"<text{attributes}>{inner}</text>"])

    def _formula(self, s: str, prop: Any, size: float) -> str:
        """Write a small formula as pieces of running text, so that any letters space it well."""
        parsed = self._text2path.mathtext_parser.parse(s, DPI, prop)
        pieces: list[tuple[float, float, bool, str]] = []
        end = None
        for font, points, code, _, x, y in parsed.glyphs:
            letter = chr(code)
            # A letter that stands upright is a word's or a digit.
            italic = ttfFontProperty(font).style != "normal"
            # An exponent shrinks no further than can be read.
            letters = max(self.points_to_pixels(points), min(size, READABLE))
            look = (letters, round(y, 1), italic)
            font.set_size(points, DPI)
            gap = end is not None and x - end > 0.12 * size and letter != " "
            text = ("\u2009" if gap else "") + letter
            if pieces and pieces[-1][:3] == look:
                pieces[-1] = (*look, pieces[-1][3] + text)
            else:
                pieces.append((*look, text))
            end = x + font.load_char(code).linearHoriAdvance / 65536
        written, level = [], 0.0
        for letters, y, italic, text in pieces:
            attributes = ITALIC if italic else ""
            if y != level:
                attributes += f' dy="{_number(level - y)}"'
            if abs(letters - size) > 0.5:
                attributes += f' font-size="{_number(letters)}"'
            level = y
            written.append(
                f"<tspan{attributes}>{escape(text)}</tspan>" if attributes else escape(text)
            )
        return "".join(written)

    def _add(self, look: str, data: str) -> None:
        """Add a path to the one before it, where both look the same and cover nothing."""
        if not data:
            return
        if 'fill="none"' in look and self._elements and self._elements[-1][0] == look:
            self._elements[-1].append(data)
        else:
            self._elements.append([look, data])

    def _look(self, gc: GraphicsContextBase, face: Any, stroke: bool) -> str:
        if face is None:
            look = ' fill="none"'
        else:
            look = f' fill="{to_hex(face)}"'
            if (alpha := self._alpha(gc, face)) < 1:
                look += f' fill-opacity="{alpha:.2g}"'
        if not stroke:
            return look
        width = self.points_to_pixels(gc.get_linewidth())
        look += f' stroke="{to_hex(gc.get_rgb())}"'
        if _number(width) != "1":
            look += f' stroke-width="{_number(width)}"'
        if (alpha := self._alpha(gc, gc.get_rgb())) < 1:
            look += f' stroke-opacity="{alpha:.2g}"'
        _, dashes = gc.get_dashes()
        if dashes is not None:
            lengths = " ".join(_number(self.points_to_pixels(d)) for d in np.asarray(dashes))
            look += f' stroke-dasharray="{lengths}"'
        if gc.get_capstyle() != "butt" and dashes is None and width > 1.5:
            cap = {"projecting": "square"}.get(gc.get_capstyle(), "round")
            look += f' stroke-linecap="{cap}"'
        return look

    def _alpha(self, gc: GraphicsContextBase, colour: Any) -> float:
        if gc.get_forced_alpha() or len(colour) < 4:
            return float(gc.get_alpha())
        return float(colour[3])

    def _clip(self, gc: GraphicsContextBase) -> Bbox | None:
        box = gc.get_clip_rectangle()
        if box is None:
            return None
        return Bbox.from_extents(box.x0, self.height - box.y1, box.x1, self.height - box.y0)

    def _inside(self, gc: GraphicsContextBase, place: Any) -> bool:
        box = self._clip(gc)
        return box is None or (
            box.x0 - 1 <= place[0] <= box.x1 + 1 and box.y0 - 1 <= place[1] <= box.y1 + 1
        )

    def _commands(self, path: Path, placed: Any, box: Bbox | None, fill: bool) -> str:
        """Give a path as commands of SVG, cut off at the box where it leaves it."""
        clip = None
        if box is not None:
            ends = path.get_extents(placed)
            within = (
                ends.x0 >= box.x0 - 1 and ends.x1 <= box.x1 + 1
                and ends.y0 >= box.y0 - 1 and ends.y1 <= box.y1 + 1
            )  # fmt: skip
            if not within and fill:
                path, placed = placed.transform_path(path).clip_to_bbox(box), Affine2D()
            elif not within:
                clip = box.extents
        straight = path.codes is None and not fill
        if straight:
            path = Path(path.vertices)
            path.simplify_threshold = FINEST
        clean = path.cleaned(placed, remove_nans=True, clip=clip, simplify=straight, curves=True)
        return _path_data(clean)

    def _hatch(self, gc: GraphicsContextBase, box: Bbox) -> None:
        """Draw the hatching of a rectangle."""
        pattern, tile = gc.get_hatch_path(), DPI
        lines = []
        for left in range(int(box.x0 // tile), int(box.x1 // tile) + 1):
            for top in range(int(box.y0 // tile), int(box.y1 // tile) + 1):
                placed = Affine2D().scale(tile, -tile).translate(left * tile, (top + 1) * tile)
                # matplotlib cuts a pixel beyond the box.
                inner = (box.x0 + 1, box.y0 + 1, box.x1 - 1, box.y1 - 1)
                ends = pattern.cleaned(placed, clip=inner)
                lines.append(_path_data(Path(np.round(np.asarray(ends.vertices)), ends.codes)))
        look = f' fill="none" stroke="{to_hex(gc.get_hatch_color())}"'
        if (alpha := self._alpha(gc, gc.get_hatch_color())) < 1:
            look += f' stroke-opacity="{alpha:.2g}"'
        self._add(look, "".join(lines))


_LETTERS = {
    int(Path.MOVETO): ("M", 1),
    int(Path.LINETO): ("L", 1),
    int(Path.CURVE3): ("Q", 2),
    int(Path.CURVE4): ("C", 3),
}


def _points(vertices: Any) -> str:
    return " ".join(_number(value) for value in np.asarray(vertices).ravel())


def _path_data(path: Path) -> str:
    """Write a path, whose every vertex has a code, as commands of SVG."""
    data, i, last = [], 0, ""
    codes, vertices = np.asarray(path.codes), np.asarray(path.vertices)
    while i < len(codes) and codes[i] != Path.STOP:
        if codes[i] == Path.CLOSEPOLY:
            data.append("z")
            i, last = i + 1, "z"
            continue
        letter, count = _LETTERS[int(codes[i])]
        # After M and L further points are lines anyway.
        again = letter == last or (letter == "L" and last == "M")
        data.append((" " if again and letter != "M" else letter) + _points(vertices[i : i + count]))
        i, last = i + count, letter
    return "".join(data)
