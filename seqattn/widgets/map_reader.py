"""An attention map read in several ways, its rows shifted, and what that does to its error rate."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from seqattn.evaluation import alignment_links
from seqattn.metrics import alignment_error_rate, merge_pieces
from seqattn.widgets.base import LiveFigure

__all__ = ["MapReader"]

DIGITS = 3  # a page stores every weight
WAYS = {"rows": "target", "columns": "source", "grow-diag": "grow-diag"}
SHIFTS = range(-2, 3)


class MapReader(LiveFigure):
    """One map: shift its rows, read links from it, and hold them against gold links.

    Parameters
    ----------
    weights : (T, S) tensor or nested sequence
        The map, with a row and a column for ``<eos>``, last. Kept to three decimals.
    source, target : sequence of str
        S source tokens and T target tokens, ``<eos>`` included; words or pieces of words.
    sure, possible : iterables of (source word, target word)
        Gold links, counted from 0. Every sure link is possible as well.
    source_words, target_words : sequences of int, optional
        For each token the number of its word, as :func:`~seqattn.metrics.merge_pieces` takes them,
        ``<eos>`` as a word of its own. Without them each token is a word.
    rates : mapping from "rows", "columns" and "grow-diag" to rows of numbers, optional
        Error rates of test sentences, to be shown beside this one: for each threshold a row with
        five numbers, one for each shift from -2 to 2.
    thresholds : sequence of float
        What the reader may choose from; 0 stands for none.
    shift : int
        By how many rows the map is moved down, from -2 to 2.
    way : {"rows", "columns", "grow-diag"}
        How links are read; see :func:`~seqattn.metrics.hard_alignment`.
    threshold : int
        Index of the threshold.
    merge : bool
        Whether pieces are merged to words.
    row, column : int
        The token pair chosen first.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If map, tokens, words, links or rates do not fit together, or an option is out of its
        limits.

    Examples
    --------
    >>> weights = [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]
    >>> words = (["the", "cat", "<eos>"], ["le", "chat", "<eos>"])
    >>> figure = MapReader(weights, *words, sure=[(0, 0), (1, 1)])
    >>> figure.numbers()["aer"]
    0.0
    >>> figure.shift = 1
    >>> figure.numbers()["links"], figure.numbers()["aer"]
    ([[0, 1]], 1.0)
    """

    _js = "map_reader.js"
    _moves = ("shift", "way", "threshold", "merge", "row", "column")
    _title = "A map, and the links in it"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "Shift all rows down by one, so that each word gets the row of the word "
        "before. Which error rate do you expect of the test sentences?",
        "options": [
            "A little more than before: neighbours of a word are often linked with the same word.",
            "About that of the diagonal, which does not look at the words at all.",
            "About 0.9: hardly a link is right.",
        ],
        "answer": 2,
        "tests": "shift",
        "explain": [
            "Some neighbours are, such as the words of a French verb. Most are not: each word gets "
            "the link of another word, and that counts twice, as one that is wrong and one that is "
            "missed.",
            "The diagonal errs where the order changes or a word has become two. A shifted map "
            "errs at nearly every word where the unshifted one was right.",
            "Each word gets the link of the word before: one wrong and one missed. Only words that "
            "share a link with their neighbour escape.",
        ],
    }

    weights: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    source = traitlets.List(traitlets.Unicode()).tag(sync=True)
    target = traitlets.List(traitlets.Unicode()).tag(sync=True)
    source_words = traitlets.List(traitlets.Int()).tag(sync=True)
    target_words = traitlets.List(traitlets.Int()).tag(sync=True)
    sure: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    possible: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    rates: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    thresholds = traitlets.List(traitlets.Float()).tag(sync=True)
    shift = traitlets.Int(0, min=-2, max=2).tag(sync=True)
    way = traitlets.Enum(tuple(WAYS), "rows").tag(sync=True)
    threshold = traitlets.Int().tag(sync=True)
    merge = traitlets.Bool(False).tag(sync=True)
    row = traitlets.Int().tag(sync=True)
    column = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        weights: Tensor | Sequence[Sequence[float]],
        source: Sequence[str],
        target: Sequence[str],
        sure: Iterable[tuple[int, int]],
        possible: Iterable[tuple[int, int]] = (),
        *,
        source_words: Sequence[int] | None = None,
        target_words: Sequence[int] | None = None,
        rates: Mapping[str, Sequence[Sequence[float]]] | None = None,
        thresholds: Sequence[float] = (0.0, 0.1, 0.25, 0.5),
        shift: int = 0,
        way: str = "rows",
        threshold: int = 0,
        merge: bool = False,
        row: int = 0,
        column: int = 0,
        **options: Any,
    ) -> None:
        table = torch.as_tensor(weights).double()
        if tuple(table.shape) != (len(target), len(source)):
            raise ValueError(
                f"weights have the shape {tuple(table.shape)}; expected "
                f"({len(target)}, {len(source)}): a row for each of the target tokens, a column "
                "for each of the source tokens"
            )
        columns = [*range(len(source))] if source_words is None else [*source_words]
        rows = [*range(len(target))] if target_words is None else [*target_words]
        merge_pieces(table, rows, columns)  # which says what does not fit
        gold = [sorted({(int(i), int(t)) for i, t in links}) for links in (sure, possible)]
        beyond = [link for links in gold for link in links if not _inside(link, columns, rows)]
        if beyond or not gold[0]:
            raise ValueError(
                f"gold links are {beyond or gold[0]}; expected at least one sure link, between "
                f"words that are numbered from 0 to {max(columns) - 1} in the source and to "
                f"{max(rows) - 1} in the target"
            )
        known = {
            name: [[*map(float, row)] for row in table] for name, table in (rates or {}).items()
        }
        wanted = (len(thresholds), len(SHIFTS))
        if known and (
            set(known) != set(WAYS)
            or any(len(t) != wanted[0] or {*map(len, t)} != {wanted[1]} for t in known.values())
        ):
            raise ValueError(
                f"rates are given for {sorted(known)}; expected them for {sorted(WAYS)}, each with "
                f"{wanted[0]} rows, one a threshold, of {wanted[1]} numbers, one a shift"
            )
        if shift not in SHIFTS or way not in WAYS:
            raise ValueError(
                f"shift is {shift} and way {way!r}; expected a shift from -2 to 2 and one of "
                f"{', '.join(WAYS)}"
            )
        options.setdefault("predict", bool(known))  # the question is about these rates
        super().__init__(
            weights=[[round(w, DIGITS) for w in line] for line in table.tolist()],
            source=[str(token) for token in source],
            target=[str(token) for token in target],
            source_words=columns,
            target_words=rows,
            sure=[[*link] for link in gold[0]],
            possible=[[*link] for link in gold[1]],
            rates=known,
            thresholds=[float(x) for x in thresholds],
            shift=shift,
            way=way,
            threshold=range(len(thresholds))[threshold],
            merge=merge,
            row=range(len(target))[row],
            column=range(len(source))[column],
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Read links and error rates by the package's functions, in float64."""
        weights = torch.tensor(self.weights, dtype=torch.float64)
        rows, columns = self.target_words, self.source_words
        word = (columns[self.column], rows[self.row])
        row, column = self.row, self.column
        if self.merge:
            # Rounded, so that what is equal stays equal whatever the order of a sum.
            weights = (1e9 * merge_pieces(weights, rows, columns)).round() / 1e9
            rows, columns = [*range(max(rows) + 1)], [*range(max(columns) + 1)]
            column, row = word
        moved = torch.zeros_like(weights)
        low, high = max(0, self.shift), min(0, self.shift)
        moved[low : len(weights) + high] = weights[-high : len(weights) - low]
        threshold = self.thresholds[self.threshold]
        read = alignment_links(moved, WAYS[self.way], threshold or None)
        links = {(columns[i], rows[t]) for i, t in read}
        sure = {(i, t) for i, t in self.sure}
        possible = {(i, t) for i, t in self.possible} | sure
        gold = "sure" if word in sure else "possible" if word in possible else "no"
        rates = self.rates.get(self.way)
        return {
            "shift": self.shift,
            "way": self.way,
            "threshold": threshold,
            "map": moved.tolist(),
            "links": [[*link] for link in sorted(links)],
            "found": len(links),
            "right": len(links & sure),
            "allowed": len(links & possible),
            "sure": len(sure),
            "aer": alignment_error_rate([links], [sure], [possible]),
            **({"aer_test": rates[self.threshold][self.shift + 2]} if rates else {}),
            "row": row,
            "column": column,
            "weight": moved[row, column].item(),
            "verdict": f"{'linked' if word in links else 'not linked'}, {gold} gold link",
        }


def _inside(link: tuple[int, int], columns: Sequence[int], rows: Sequence[int]) -> bool:
    """Tell whether a link is between words; the last number on each side is that of ``<eos>``."""
    return 0 <= link[0] < max(columns) and 0 <= link[1] < max(rows)
