"""One small picture for each chapter of the book, drawn in the colours of attention's parts.

Each is a function without arguments that gives the shapes of an SVG, 160 wide and 100 high. Colours
are classes, so that a picture follows the page from light to dark. What has numbers in the book is
drawn from them.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import torch

from seqattn.attention import dot_score, masked_softmax
from seqattn.data import TINY, measured

WIDTH, HEIGHT = 160, 100
Point = tuple[float, float]


def svg(name: str) -> str:
    """Draw the picture of that name.

    Raises
    ------
    KeyError
        If there is none; the message lists those that there are.
    """
    if name not in PICTURES:
        raise KeyError(f"no picture is named {name!r}; there are {', '.join(PICTURES)}")
    shapes = "".join(PICTURES[name]())
    return f'<svg class="thumb" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{shapes}</svg>'


def _n(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def line(points: Iterable[Point], role: str, width: float = 2.5, dashed: bool = False) -> str:
    """Draw a line through points."""
    path = "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
    dash = ' stroke-dasharray="4 4"' if dashed else ""
    return f'<path class="{role}" d="{path}" stroke-width="{_n(width)}"{dash}/>'


def dot(x: float, y: float, size: float, role: str) -> str:
    """Draw a disc."""
    return f'<circle class="{role} full" cx="{_n(x)}" cy="{_n(y)}" r="{_n(size)}"/>'


def ring(x: float, y: float, size: float, role: str) -> str:
    """Draw a circle."""
    return f'<circle class="{role}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(size)}" stroke-width="2"/>'


def box(x: float, y: float, width: float, height: float, role: str, share: float = 1.0) -> str:
    """Draw a full rectangle, of a share of its colour."""
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
    return f'<rect class="{role} full" {place} rx="1.5" fill-opacity="{share:.2f}"/>'


def arrow(start: Point, end: Point, role: str, width: float = 2.5) -> str:
    """Draw an arrow."""
    (x0, y0), (x1, y1) = start, end
    angle, size = math.atan2(y1 - y0, x1 - x0), 5 + 1.5 * width
    wings = [
        (x1 - size * math.cos(angle + turn), y1 - size * math.sin(angle + turn))
        for turn in (0.42, -0.42)
    ]
    neck = (x1 - 0.7 * size * math.cos(angle), y1 - 0.7 * size * math.sin(angle))
    tip = " ".join(f"{_n(x)},{_n(y)}" for x, y in [end, *wings])
    head = f'<polygon class="{role} full" points="{tip}"/>'
    return line([start, neck], role, width) + head


def cells(rows: Sequence[Sequence[float]], size: float, left: float, top: float) -> list[str]:
    """Draw a map of weights."""
    return [
        box(left + size * i, top + size * t, size - 2, size - 2, "weights", max(w, 0.08))
        for t, row in enumerate(rows)
        for i, w in enumerate(row)
    ]


def peaks(places: Sequence[float], columns: int, width: float = 0.6) -> list[list[float]]:
    """Give rows of weights that are largest at those places."""
    scores = [[-(((i - place) / width) ** 2) / 2 for i in range(columns)] for place in places]
    return torch.tensor(scores).softmax(-1).tolist()


def _plane(vector: Sequence[float]) -> Point:
    return 72 + 34 * vector[0], 62 - 34 * vector[1]


def _tiny() -> tuple[list[float], list[list[float]], list[float]]:
    scores = dot_score(TINY.query, TINY.keys)
    weights = masked_softmax(scores, None)
    return TINY.query[0].tolist(), TINY.keys[0].tolist(), weights[0].tolist()


def bottleneck() -> list[str]:
    """Draw BLEU over length: the fixed vector falls, attention holds."""
    found = measured("bottleneck")["figure"]
    x = [12 + 136 * i / (len(found["lengths"]) - 1) for i in range(len(found["lengths"]))]

    def curve(name: str, role: str) -> str:
        return line([(a, 92 - 0.82 * b) for a, b in zip(x, found[name], strict=True)], role, 3.5)

    end = x[found["lengths"].index(found["trained_to"])]
    return [
        line([(end, 8), (end, 92)], "soft", 1.5, dashed=True),
        curve("fixed", "soft"),
        curve("attention", "weights"),
    ]


def lookup() -> list[str]:
    """Draw a query among keys, each as thick as its weight."""
    query, keys, weights = _tiny()
    drawn = [
        arrow(_plane((0, 0)), _plane(k), "keys", 1 + 7 * w)
        for k, w in zip(keys, weights, strict=True)
    ]
    return [*drawn, arrow(_plane((0, 0)), _plane(query), "query", 3)]


def alignment() -> list[str]:
    """Draw a map in which two words change places."""
    return cells(peaks([0, 1, 3, 2, 4, 5], 6), 14, 38, 8)


def product() -> list[str]:
    """Draw how the arrow that points best loses to the longest."""
    query, keys, _ = _tiny()
    cat, sat = keys[0], keys[1]
    along = sum(a * b for a, b in zip(query, sat, strict=True)) / sum(a * a for a in query)
    foot = [along * a for a in query]
    return [
        line([_plane((0, 0)), _plane([1.05 * a for a in foot])], "query", 1.5, dashed=True),
        line([_plane(sat), _plane(foot)], "scores", 1.5, dashed=True),
        arrow(_plane((0, 0)), _plane(cat), "keys", 2),
        arrow(_plane((0, 0)), _plane(sat), "keys", 4),
        arrow(_plane((0, 0)), _plane(query), "query", 3),
        dot(*_plane(foot), 4, "scores"),
    ]


def turn() -> list[str]:
    """Draw twelve words on a circle, turned by one place."""
    around = [(80 + 38 * math.sin(k * math.pi / 6), 50 - 38 * math.cos(k * math.pi / 6))
              for k in range(12)]  # fmt: skip
    inner = [(80 + (x - 80) * 0.62, 50 + (y - 50) * 0.62) for x, y in around]
    return [
        *(dot(x, y, 4, "keys") for x, y in around),
        *(line([inner[k], around[(k + 1) % 12]], "scores", 1.5) for k in range(12)),
        *(dot(x, y, 2.5, "query") for x, y in inner),
    ]


def saturated() -> list[str]:
    """Draw a histogram that has run to its two ends."""
    height = [2 + 74 * abs(k / 7 - 1) ** 6 for k in range(15)]
    bars = [box(14 + 9 * k, 90 - h, 6.5, h, "scores") for k, h in enumerate(height)]
    return [*bars, line([(10, 92), (152, 92)], "soft", 1.5)]


def tree() -> list[str]:
    """Draw a tree of translations, one way through it."""
    ends = [(144, y) for y in (12, 32, 50, 68, 88)]
    middle = [(82, 24), (82, 70)]
    thin = [((20, 50), middle[0]), (middle[0], ends[0]), (middle[0], ends[1]),
            (middle[1], ends[2]), (middle[1], ends[4])]  # fmt: skip
    return [
        *(line(branch, "soft", 2) for branch in thin),
        line([(20, 50), middle[1], ends[3]], "context", 4),
        *(dot(*place, 4.5, "soft") for place in [*ends[:3], ends[4], middle[0]]),
        *(dot(*place, 6, "context") for place in [(20, 50), middle[1], ends[3]]),
    ]


def shifted() -> list[str]:
    """Draw a map, and where its rows belong."""
    rows = peaks([1, 2, 3, 4, 5], 6, 0.4)
    marks = [ring(44.5 + 15 * k, 19.5 + 15 * k, 5.5, "query") for k in range(5)]
    return [*cells(rows, 15, 38, 13), *marks]


def shuffled() -> list[str]:
    """Draw what shuffled weights leave of two models."""
    bars = []
    for left, kept in ((24, 0.33), (94, 0.94)):
        bars += [box(left, 12, 18, 78, "soft", 0.45)]
        bars += [box(left + 24, 90 - 78 * kept, 18, 78 * kept, "weights")]
    return [*bars, line([(12, 92), (148, 92)], "soft", 1.5)]


def window() -> list[str]:
    """Draw weights behind a window that hides the others."""
    weights = [0.45 + 0.3 * math.sin(1.7 * k) for k in range(13)]
    inside = range(5, 9)
    bars = [
        box(10 + 11 * k, 86 - 70 * w, 7, 70 * w, "weights", 1 if k in inside else 0.2)
        for k, w in enumerate(weights)
    ]
    frame = [(61, 8), (109, 8), (109, 92), (61, 92), (61, 8)]
    return [*bars, line(frame, "query", 2.5)]


def coverage() -> list[str]:
    """Draw how a decoder that never moves reads three words in their order."""
    rows = [[0.52, 0.32, 0.16], [0.28, 0.46, 0.26], [0.29, 0.31, 0.40]]
    shown = [[(w / max(row)) ** 2.5 for w in row] for row in rows]
    steps = [(51.5 + 28 * k, 21.5 + 28 * k) for k in range(3)]
    return [
        *cells(shown, 28, 38, 8),
        line(steps, "query", 2.5),
        *(dot(*s, 4, "query") for s in steps),
    ]


def dice() -> list[str]:
    """Draw two clouds of estimates around the same point."""
    generator = torch.Generator().manual_seed(0)
    clouds = []
    for centre, spread in ((44.0, 17.0), (118.0, 5.0)):
        draws = torch.randn(40, 2, generator=generator).clamp(-2.2, 2.2) * spread
        clouds += [dot(centre + x, 50 + y, 2, "soft") for x, y in draws.tolist()]
        clouds += [ring(centre, 50, 7, "context"), dot(centre, 50, 3, "context")]
    return clouds


def heads() -> list[str]:
    """Draw how two heads together reach a point outside the triangle of the values."""
    _, keys, _ = _tiny()
    corners = [_plane(k) for k in keys]
    outline = " ".join(f"{_n(x)},{_n(y)}" for x, y in corners)
    return [
        f'<polygon class="values full" points="{outline}" fill-opacity="0.18"/>',
        line([*corners, corners[0]], "values", 2),
        *(dot(*corner, 5, "values") for corner in corners),
        dot(*_plane((0.512, 1.105)), 6, "context"),
    ]


def itself() -> list[str]:
    """Draw words of one sentence, and arcs between them."""
    places = [20 + 24 * k for k in range(6)]
    arcs = [(0, 1, 1.5), (0, 3, 4), (1, 4, 2), (2, 5, 3), (3, 5, 1.5)]
    bows = [
        f'<path class="weights" d="M{places[a]} 76Q{(places[a] + places[b]) / 2:.0f} '
        f'{76 - 1.05 * (places[b] - places[a]):.0f} {places[b]} 76" stroke-width="{width}"/>'
        for a, b, width in arcs
    ]
    return [*bows, *(dot(x, 80, 6, "keys") for x in places)]


def dials() -> list[str]:
    """Draw dials that turn from one position to the next, each at its own speed."""
    drawn = []
    for row, speed in enumerate((1.1, 0.35)):
        for k in range(4):
            x, y, angle = 26 + 36 * k, 28 + 44 * row, speed * k
            hand = (x + 14 * math.sin(angle), y - 14 * math.cos(angle))
            drawn += [ring(x, y, 15, "soft"), line([(x, y), hand], "query", 3)]
    return drawn


def blocks() -> list[str]:
    """Draw a block: attention, a sum, a network, a sum; and what passes by."""
    return [
        line([(80, 98), (80, 4)], "soft", 2.5),
        box(48, 60, 64, 20, "weights"),
        box(48, 22, 64, 20, "values"),
        *(
            f'<path class="soft" d="M80 {y}H132V{y - 35}H80" stroke-width="2"/>'
            + dot(80, y - 35, 4.5, "context")
            for y in (88, 50)
        ),
    ]


def links() -> list[str]:
    """Draw words of two sentences, linked."""
    top, bottom = ([(20 + 24 * k, y) for k in range(6)] for y in (18, 82))
    pairs = [(0, 0), (1, 1), (2, 3), (3, 2), (4, 4), (5, 5)]
    return [
        *(line([top[a], bottom[b]], "weights", 3) for a, b in pairs),
        *(dot(x, y, 6, "keys") for x, y in top),
        *(dot(x, y, 6, "query") for x, y in bottom),
    ]


def ranges() -> list[str]:
    """Draw four systems, each with its range: two are apart, two are not."""
    found = [(28, 60), (50, 78), (64, 96), (112, 144)]
    drawn = [line([(10, 94), (152, 94)], "soft", 1.5)]
    for row, (low, high) in enumerate(found):
        y = 14 + 22 * row
        drawn += [line([(low, y), (high, y)], "keys", 3), dot((low + high) / 2, y, 5.5, "keys")]
    return drawn


def padded() -> list[str]:
    """Draw a batch: sentences below each other, and the padding behind them."""
    lengths = (6, 6, 5, 3)
    return [
        box(
            10 + 24 * i,
            10 + 22 * row,
            20,
            16,
            "keys" if i < length else "soft",
            1 - 0.55 * (i >= length),
        )
        for row, length in enumerate(lengths)
        for i in range(6)
    ]


def factors() -> list[str]:
    """Draw two factors, each at two values, and how high the four stand."""
    found = [(30, 34), (62, 48), (98, 62), (130, 84)]
    return [
        line([(10, 94), (152, 94)], "soft", 1.5),
        *(box(x - 11, 94 - height, 22, height, role, 0.8)
          for (x, height), role in zip(found, ("keys", "query") * 2, strict=True)),
    ]  # fmt: skip


PICTURES: dict[str, Callable[[], list[str]]] = {
    draw.__name__: draw
    for draw in (bottleneck, lookup, alignment, product, turn, saturated, tree, shifted, shuffled,
                 window, coverage, dice, heads, itself, dials, blocks, ranges, padded, links,
                 factors)
}  # fmt: skip
