"""Tables of results and cards of experiments: what a reader compares, set as a table.

Pages and notebooks show them as HTML (``_repr_html_``), terminals as columns of text. Both hold the
same numbers.
"""

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ResultTable", "experiment_card"]

# What counts as a number for the eye: digits with a sign, a spread or a unit, or a range of such,
# stand on the right.
_ONE = r"[-+−–±~\d.,:%e\s/×]*(?: ?(?:min|s|h|MB|GB|%))?"
_NUMBER = re.compile(rf"{_ONE}(?: to {_ONE}| \({_ONE} to {_ONE}\))?")
# What programs print before a negative number is a hyphen.
_HYPHEN = re.compile(r"(?<![\w.])-(?=\.?\d)")
# An option of a command stays whole where the line breaks.
_OPTION = re.compile(r"(?<!\S)--[\w-]+")
# So does the end of a range, or a spread.
_END = re.compile(r" (to|±) (?=[+−\d.])")
# Names that programs give, and what readers call the same.
_NAMES = {
    "aer": "AER",
    "bleu": "BLEU",
    "chrf": "chrF",
    "exact": "exact match",
    "ibm1": "IBM Model 1",
    "lr": "learning rate",
}
# What a card says first, and how: how to repeat it, where and when it ran, what it was.
_CARD = {
    "command": "repeat it with",
    "machine": "hardware",
    "seconds": "seconds",
    "processor seconds": "seconds of processor",
    "longest training": "seconds of processor, longest training",
    "seeds": "seeds",
    "torch": "PyTorch",
    "date": "measured on",
}


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Parameters
    ----------
    columns : sequence of str
        Heads of the columns. The first column names the rows.
    rows : sequence of sequences
        Cells, a row each: text, or numbers. Integers get commas; of other numbers four digits
        are shown, or all before the point. Names of measures as in programs ("aer") become
        those of readers ("AER"), in the heads as well, and hyphens before numbers minus signs.
    caption : str
        What is compared, with units; it stands above.
    note : str, optional
        What a reader must know to judge it: seeds, spread, signature; it stands below.
    kind : str
        A class that the HTML has beside that of every table, for the page's style.

    Raises
    ------
    ValueError
        If a row has another number of cells than there are columns.

    Examples
    --------
    >>> ResultTable(["model", "BLEU"], [["fixed", 15.5], ["attention", 63.3]], "BLEU at 40 words")
    BLEU at 40 words
    model      BLEU
    fixed      15.5
    attention  63.3
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str
    note: str = ""
    kind: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"a row of the table {self.caption!r} has {len(row)} cells; expected one for "
                    f"each of {len(self.columns)} columns: {list(row)}"
                )

    def _heads(self) -> list[str]:
        return [_shown(str(name)) for name in self.columns]

    def _cells(self) -> list[list[str]]:
        cells = [[_shown(cell) for cell in row] for row in self.rows]
        if self.kind == "sa-card":  # it quotes commands
            return cells
        return [[_HYPHEN.sub("−", cell) for cell in row] for row in cells]

    def _right(self) -> list[bool]:
        """Say which columns are numbers."""
        columns = zip(*self._cells(), strict=True)
        numbers = [all(_NUMBER.fullmatch(cell) for cell in column) for column in columns]
        return [False, *numbers[1:]] if numbers else [False] * len(self.columns)

    def __repr__(self) -> str:
        lines = [self._heads(), *self._cells()]
        lines = [line for line in lines if any(line)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        right = self._right()
        text = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, *text, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        right = ['class="sa-number"' if number else "" for number in self._right()]
        head = "".join(
            f'<th scope="col" {kind}>{html.escape(name)}</th>'.replace(" >", ">")
            for name, kind in zip(self._heads(), right, strict=True)
        )
        body = []
        for first, *rest in self._cells():
            cells = "".join(
                f"<td {kind}>{_held(html.escape(cell))}</td>".replace(" >", ">")
                for cell, kind in zip(rest, right[1:], strict=True)
            )
            body.append(f'<tr><th scope="row">{html.escape(first)}</th>{cells}</tr>')
        note = f'<td colspan="{len(self.columns)}">{html.escape(self.note)}</td>'
        style = f"sa-table {self.kind}".strip()
        return (
            f'<table class="{style}"><caption>{html.escape(self.caption)}</caption>'
            + (f"<thead><tr>{head}</tr></thead>" if any(self.columns) else "")
            + f"<tbody>{''.join(body)}</tbody>"
            + (f"<tfoot><tr>{note}</tr></tfoot>" if self.note else "")
            + "</table>"
        )


def experiment_card(card: Mapping[str, Any], title: str = "The experiment's card") -> ResultTable:
    """Show on what an experiment ran, for how long, with which seeds, and how to repeat it.

    Parameters
    ----------
    card : mapping
        Names and values; ``command``, ``machine``, ``seconds``, ``seeds``, ``torch`` and ``date``
        come first. A mapping inside it becomes a line for each of its entries, a list one line.
    title : str, optional
        What stands above.

    Returns
    -------
    ResultTable
        A card with a line for each fact.

    Examples
    --------
    >>> experiment_card({"seeds": 3, "command": "python -m benchmarks.bottleneck"})
    The experiment's card
    repeat it with  python -m benchmarks.bottleneck
    seeds           3
    """
    order = [*(name for name in _CARD if name in card), *(n for n in card if n not in _CARD)]
    rows = [row for name in order for row in _facts(_CARD.get(name, name), card[name])]
    return ResultTable(("", ""), rows, title, kind="sa-card")


def _facts(name: str, value: Any) -> Iterable[tuple[str, str]]:
    name = _NAMES.get(name, name.replace("_", " "))
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _facts(f"{name}, {part}", inner)
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(map(_shown, value))
    else:
        yield name, _shown(value)


def _held(text: str) -> str:
    return _END.sub(" \\1\u00a0", _OPTION.sub(r'<span class="sa-held">\g<0></span>', text))


def _shown(cell: Any) -> str:
    if isinstance(cell, bool) or cell is None:
        return {True: "yes", False: "no", None: "–"}[cell]
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float) and math.isnan(cell):
        return "–"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"
    return _NAMES.get(str(cell), str(cell))
