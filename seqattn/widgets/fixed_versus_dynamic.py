"""Quality against sentence length: a fixed-vector model beside an attention model."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from seqattn.widgets.base import LiveFigure, floats

__all__ = ["FixedVersusDynamic"]

ILLUSTRATION: dict[str, Any] = {
    "lengths": [5, 10, 20, 30, 40],
    "fixed": [91.0, 84.0, 61.0, 34.0, 18.0],
    "attention": [98.0, 97.0, 93.0, 86.0, 77.0],
    "fixed_spread": [1.0, 2.0, 4.0, 4.0, 3.0],
    "attention_spread": [1.0, 1.0, 2.0, 2.0, 3.0],
    "trained_to": 15.0,
    "note": "Invented numbers that show how the figure works; not a measurement.",
    "examples": [
        {
            "source": "the cat sat on the mat",
            "reference": "le chat était assis sur le tapis",
            "fixed": fixed,
            "attention": attention,
        }
        for fixed, attention in [
            ("le chat était assis sur le tapis", "le chat était assis sur le tapis"),
            ("le chat était assis sur le lit", "le chat était assis sur le tapis"),
            ("le chat était le chat sur le lit", "le chat était assis sur le tapis"),
            ("le chat était le chat était le chat", "le chat était assis sur un tapis"),
            ("le le chat le chat le", "le chat était assis sur sur tapis"),
        ]
    ],
}


class FixedVersusDynamic(LiveFigure):
    """Two measured curves over sentence length, and what both models wrote at each length.

    Parameters
    ----------
    lengths : sequence of float
        Sentence lengths, in words, ascending. Without any, an illustration that says so is shown.
    fixed, attention : sequence of float
        Quality of the fixed-vector and of the attention model at each length.
    fixed_spread, attention_spread : sequence of float, optional
        Half the height of the band around each curve, for instance a standard deviation over seeds.
    examples : sequence of mappings, optional
        One for each length, with ``source``, ``reference``, ``fixed`` and ``attention`` as text.
        Words that do not fit the reference (by longest common subsequence) are marked.
    trained_to : float, optional
        Longest sentence seen in training; drawn as a dotted line.
    index : int
        Index of the length shown first.
    ylabel : str
        What the curves measure, with units. The axis ends at 1, or at 100 if a value is above 1.5.
    note : str
        Where the numbers come from: seeds, test set, meaning of the band.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Examples
    --------
    >>> figure = FixedVersusDynamic([5, 50], fixed=[90.0, 20.0], attention=[91.0, 80.0], index=1)
    >>> figure.numbers()["gap"]
    60.0
    """

    _js = "fixed_versus_dynamic.js"
    _moves = ("index",)
    _title = "One fixed vector, or a context for each step"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "In training no sentence was longer than the dotted line. Where does the fixed "
        "vector fall behind?",
        "options": [
            "Only beyond the line: no model has seen such lengths.",
            "From about halfway to the line.",
            "At once, from the shortest sentences.",
        ],
        "answer": 2,
        "explain": [
            "The gap is wide there, but it opens well before: what was seen is not yet mastered.",
            "There it is plain to see, but look further to the left.",
            "Look at the left end: the two bands do not touch, not even there.",
        ],
        "tests": "index",
    }

    lengths = traitlets.List(traitlets.Float()).tag(sync=True)
    fixed = traitlets.List(traitlets.Float()).tag(sync=True)
    attention = traitlets.List(traitlets.Float()).tag(sync=True)
    fixed_spread = traitlets.List(traitlets.Float()).tag(sync=True)
    attention_spread = traitlets.List(traitlets.Float()).tag(sync=True)
    examples: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    trained_to = traitlets.Float(0.0).tag(sync=True)
    ylabel = traitlets.Unicode().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)
    index = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        lengths: Sequence[float] = (),
        fixed: Sequence[float] = (),
        attention: Sequence[float] = (),
        fixed_spread: Sequence[float] = (),
        attention_spread: Sequence[float] = (),
        examples: Sequence[Mapping[str, str]] = (),
        trained_to: float | None = None,
        index: int = 0,
        ylabel: str = "BLEU (0 to 100)",
        note: str = "",
        **options: Any,
    ) -> None:
        given: dict[str, Any] = {
            "lengths": lengths,
            "fixed": fixed,
            "attention": attention,
            "fixed_spread": fixed_spread,
            "attention_spread": attention_spread,
            "examples": [dict(example) for example in examples],
            "trained_to": float(trained_to or 0.0),
            "note": note,
        }
        data: dict[str, Any] = given if len(lengths) else ILLUSTRATION
        count = len(data["lengths"])
        for name in ("fixed", "attention", "fixed_spread", "attention_spread"):
            if name in ("fixed", "attention") or len(data[name]):
                data = {**data, name: floats(data[name], name, count)}
        if data["examples"] and len(data["examples"]) != count:
            raise ValueError(f"examples has {len(data['examples'])} entries; expected {count}")
        super().__init__(
            **{**data, "lengths": floats(data["lengths"], "lengths")},
            index=range(count)[index],
            ylabel=ylabel,
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Return both qualities at the length shown, and the words that do not fit."""
        at = self.index
        shown = {
            "length": self.lengths[at],
            "fixed": self.fixed[at],
            "attention": self.attention[at],
            "gap": self.attention[at] - self.fixed[at],
        }
        if self.examples:
            example = self.examples[at]
            for model in ("fixed", "attention"):
                wrong, missing = _misfits(example[model], example["reference"])
                shown |= {f"{model}_wrong_words": wrong, f"{model}_missing_words": missing}
        return shown


def _misfits(text: str, reference: str) -> tuple[int, int]:
    """Count words of the text, and of the reference, outside their longest common subsequence."""
    out, ref = text.split(), reference.split()
    best = [[0] * (len(ref) + 1) for _ in range(len(out) + 1)]
    for i, word in enumerate(out):
        for j, other in enumerate(ref):
            best[i + 1][j + 1] = (
                best[i][j] + 1 if word == other else max(best[i][j + 1], best[i + 1][j])
            )
    return len(out) - best[-1][-1], len(ref) - best[-1][-1]
