"""Where a chapter is: one small picture of the translator, with the parts of that chapter lit.

``chapters/contents.yml`` says of each chapter which parts are ``lit`` and in which ``order`` of
events, and puts it into words, ``here``. The picture and the words stand below the chapter's title.
They open into the live figure ``Unrolled`` at an event of the first lit part. Its script and its
numbers come when a reader opens it; a plain notebook has the words and a line of code instead.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from seqattn.widgets import Unrolled
from seqattn.widgets.unrolled import _events
from tools import figures
from tools.thumbnails import Point, arrow, box, dot, line

WIDTH, HEIGHT = 400, 132
# Names of attention's parts, as in the roles of tools/part_colours.py.
ROLE = re.compile(r"\{(\w+)\}`([^`]+)`")
# What the style sheet says of all shapes here at once.
FULL = re.compile(r'(<(?:rect|polygon) class="\w+) full"')
IDLE = re.compile(r' class="ink"| rx="1.5"| fill-opacity="1.00"')
STEP = 3  # of writing, where the figure opens: the source has been read, and something is written
CAPTION = "In full colour: what this chapter is about."

# Places of the drawing: source words, written words, and the rows above them.
SOURCE = (24, 58, 92, 126)
TARGET = (214, 256, 298)
STATE, WEIGHTS = 82, (0.12, 0.62, 0.2, 0.06)
NOW = 1  # the written word whose step is drawn


@dataclass(frozen=True)
class Part:
    """A part of the translator: how it is drawn, and where ``Unrolled`` shows it."""

    draw: Callable[[bool], list[str]]  # told whether all words are read at once
    shown: tuple[str, ...]  # parts of Unrolled
    event: str


def _state(x: float) -> list[str]:
    shares = enumerate((0.9, 0.4, 0.7))
    return [box(x - 5, STATE + 8 * i, 10, 7, "ink", share) for i, share in shares]


def _between(places: Sequence[int]) -> list[str]:
    return [
        arrow((a + 7, STATE + 11), (b - 8, STATE + 11), "ink", 1.2) for a, b in pairwise(places)
    ]


def _arc(start: int, end: int, down: float, width: float) -> str:
    path = (
        f"M{start} {STATE + 26}Q{(start + end) / 2:g} {STATE + 26 + 2 * down:g} {end} {STATE + 26}"
    )
    return f'<path class="ink" d="{path}" stroke-width="{width}"/>'


def _words(places: Sequence[int], y: int) -> list[str]:
    return [box(x - 10, y, 20, 4, "ink", 0.8) for x in places]


def _encoder(at_once: bool) -> list[str]:
    up = [line([(x, 114), (x, 109)], "ink", 1.2) for x in SOURCE]
    return [
        *_words(SOURCE, 116),
        *(up if not at_once else []),
        *([] if at_once else _between(SOURCE)),
        *(shape for x in SOURCE for shape in _state(x)),
    ]


def _decoder(at_once: bool) -> list[str]:
    states = [shape for x in TARGET for shape in _state(x)]
    return [*([] if at_once else _between(TARGET)), *states]


def _self(at_once: bool) -> list[str]:
    if not at_once:
        return []
    rows = [(SOURCE, (0, 1), 3, 2.4), (SOURCE, (1, 3), 5, 1.4), (SOURCE, (0, 2), 4, 1.0)]
    rows += [(SOURCE, (2, 3), 3, 2.0), (TARGET, (0, 1), 3, 2.4), (TARGET, (0, 2), 5, 1.2)]
    return [_arc(at[a], at[b], down, width) for at, (a, b), down, width in rows]


def _positions(at_once: bool) -> list[str]:
    if not at_once:
        return []
    hands = [(0.0, -4.0), (3.5, -2.0), (3.5, 2.0), (0.0, 4.0)]
    return [
        f'<circle class="ink" cx="{x}" cy="126" r="4.5" stroke-width="1"/>'
        + line([(x, 126), (x + a, 126 + b)], "ink", 1.4)
        for at in (SOURCE, TARGET)
        for x, (a, b) in zip(at, hands, strict=False)
    ]


def _bridge(at_once: bool) -> list[str]:
    return (
        []
        if at_once
        else [arrow((SOURCE[-1] + 8, STATE + 11), (TARGET[0] - 9, STATE + 11), "ink", 1.6)]
    )


def _query(at_once: bool) -> list[str]:
    asks = TARGET[NOW if at_once else NOW - 1]
    return [arrow((asks - 7, STATE + 2), (SOURCE[-1] + 14, 58), "query", 3)]


def _keys(at_once: bool) -> list[str]:
    return [arrow((x, STATE - 2), (x, 69), "keys", 1.4) for x in SOURCE]


def _scores(at_once: bool) -> list[str]:
    knobs = zip(SOURCE, (-3, 7, 1, -7), strict=True)
    return [
        shape
        for x, right in knobs
        for shape in (
            line([(x - 11, 61), (x + 11, 61)], "soft", 1.2),
            dot(x + right, 61, 3.4, "scores"),
        )
    ]


def _weights(at_once: bool) -> list[str]:
    return [
        box(x - 4, 52 - 28 * w, 8, 28 * w, "weights") for x, w in zip(SOURCE, WEIGHTS, strict=True)
    ]


def _values(at_once: bool) -> list[str]:
    return [dot(x, 14, 1.6 + 8 * w, "values") for x, w in zip(SOURCE, WEIGHTS, strict=True)]


def _context(at_once: bool) -> list[str]:
    x = TARGET[NOW]
    path = f"M{SOURCE[0]} 14L{SOURCE[-1] + 40} 14C{x - 30} 14 {x - 28} 46 {x - 13} 70"
    curve = f'<path class="context" d="{path}" stroke-width="2.2"/>'
    return [curve, arrow((x - 15, 66), (x - 5, STATE - 4), "context", 2.2)]


def _readout(at_once: bool) -> list[str]:
    shapes = [*_words(TARGET, 46)]
    for k, x in enumerate(TARGET):
        shapes.append(arrow((x, STATE - 2), (x, 54), "ink", 1.2))
        likely = ((0.3, 1.0, 0.2), (1.0, 0.3, 0.4), (0.5, 0.4, 0.9))[k]
        shapes += [
            box(x - 9 + 7 * i, 42 - 14 * p, 5, 14 * p, "ink", 0.6) for i, p in enumerate(likely)
        ]
    return shapes


def _search(at_once: bool) -> list[str]:
    root: Point = (316, 48)
    middle: list[Point] = [(334, 34), (334, 62)]
    leaves: list[Point] = [(352, 26), (352, 42), (352, 54), (352, 70)]
    thin = [line([middle[i // 2], leaf], "ink", 1.2) for i, leaf in enumerate(leaves) if i != 1]
    best = line([root, middle[0], leaves[1]], "ink", 2.6)
    return [line([root, middle[1]], "ink", 1.2), *thin, best, dot(*leaves[1], 3, "ink")]


def _evaluation(at_once: bool) -> list[str]:
    ticks = [
        line([(376, y), (376 + (12 if i % 2 == 0 else 7), y)], "ink", 1.4)
        for i, y in enumerate(range(22, 80, 9))
    ]
    return [line([(376, 22), (376, 76)], "ink", 2), *ticks]


def _training(at_once: bool) -> list[str]:
    back = [(388, 88), (388, 118), (TARGET[-1] + 24, 118)]
    return [
        line(back, "ink", 1.6, dashed=True),
        arrow(back[-1], (SOURCE[-1] + 26, 118), "ink", 1.6),
    ]


ALL = ("attention",)
PARTS = {
    "encoder": Part(_encoder, ("encoder",), "read"),
    "self": Part(_self, ("encoder", "decoder"), "look around"),
    "positions": Part(_positions, ("encoder", "decoder"), "embed"),
    "bridge": Part(_bridge, ("bridge",), "bridge"),
    "query": Part(_query, ALL, "ask"),
    "keys": Part(_keys, ALL, "ask"),
    "scores": Part(_scores, ALL, "ask"),
    "weights": Part(_weights, ALL, "weigh"),
    "values": Part(_values, ALL, "mix"),
    "context": Part(_context, ALL, "mix"),
    "decoder": Part(_decoder, ("decoder",), "update"),
    "readout": Part(_readout, ("output",), "say"),
    "search": Part(_search, ("output",), "say"),
    "evaluation": Part(_evaluation, ("output",), "say"),
    "training": Part(_training, ("encoder", "attention", "decoder", "output"), "loss"),
}


@dataclass(frozen=True)
class Whereabouts:
    """Where a chapter is.

    Parameters
    ----------
    lit : sequence of str
        Names of :data:`PARTS`; the figure opens at an event of the first.
    order : str
        Order of events, as in ``Unrolled``.
    here : str
        What the chapter is about, as the end of a sentence; the roles of attention's parts give
        words their colours.

    Raises
    ------
    ValueError
        If a part is unknown, or not to be seen in a translator of this order.
    """

    lit: Sequence[str]
    order: str
    here: str

    def __post_init__(self) -> None:
        unseen = [p for p in self.lit if p not in PARTS or not PARTS[p].draw(self.at_once)]
        if unseen or not self.lit:
            raise ValueError(
                f"lit {f'holds {unseen[0]!r}' if unseen else 'is empty'}; expected some of "
                f"{', '.join(p for p in PARTS if PARTS[p].draw(self.at_once))}, for the order "
                f"{self.order!r}"
            )

    @property
    def at_once(self) -> bool:
        """Say whether all words are read at once, by self-attention."""
        return self.order == "transformer"

    @property
    def shown(self) -> list[str]:
        """Parts that ``Unrolled`` lights."""
        return list(dict.fromkeys(part for name in self.lit for part in PARTS[name].shown))

    @property
    def words(self) -> str:
        """The sentence as plain text."""
        return "This chapter: " + ROLE.sub(r"\2", self.here) + "."

    def in_a_notebook(self) -> str:
        """Give the sentence, and the line of code that draws the figure."""
        code = f'Unrolled(orders=["{self.order}"], lit={json.dumps(self.shown)})'
        return (
            f"**In the translator.** {self.words} To step through all of it, run in a cell of your "
            f"own: `from seqattn.widgets import Unrolled; {code}`"
        )

    def picture(self) -> str:
        """Draw the translator as an SVG, what is not lit first and pale."""
        drawn = {name: "".join(part.draw(self.at_once)) for name, part in PARTS.items()}
        groups = [
            f'<g class="{kind}">{"".join(drawn[name] for name in names)}</g>'
            for kind, names in (
                ("unlit", [name for name in PARTS if name not in self.lit]),
                ("lit", [name for name in PARTS if name in self.lit]),
            )
        ]
        shapes = IDLE.sub("", FULL.sub(r'\1"', "".join(groups)))
        return (
            f'<svg class="thumb" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{shapes}</svg>'
        )

    def fold(self, heights: Iterable[int] = ()) -> str:
        """Write the picture and the sentence, which open into the figure, as HTML."""
        says = ROLE.sub(
            r'<span class="sa-part sa-\1">\2</span>', html.escape(self.here, quote=False)
        )
        place = figures.place("Unrolled", figures.read(self.figure().get_state()), heights)
        return (
            f'<details class="where"><summary>{self.picture()}<span>This chapter: {says}. '
            f'<span class="where-open">Step through it</span></span></summary>{place}</details>'
        )

    def figure(self) -> Unrolled:
        """Make the figure, at an event of the first lit part."""
        whole = _whole(self.order)
        wanted = PARTS[self.lit[0]].event
        for phase in whole.phases:
            events = _events(self.order, phase, whole.runs[self.order], len(whole.words))
            found = [(t != STEP, i) for i, (t, name) in enumerate(events) if name == wanted]
            if found:
                return Unrolled(
                    orders=[self.order],
                    runs=whole.runs,
                    lit=self.shown,
                    phase=phase,
                    event=min(found)[1],
                    caption=CAPTION,
                )
        raise ValueError(f"the order {self.order!r} has no event {wanted!r}, for {self.lit[0]!r}")


@cache
def _whole(order: str) -> Unrolled:
    return Unrolled(orders=[order])


def key(page: str) -> str:
    """Name the height of a page's figure among those of :func:`tools.figures.known_heights`."""
    return f"{page}, at its head"
