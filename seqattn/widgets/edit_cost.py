"""What one small edit of some sentences costs in BLEU, chrF and exact matches."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.data import EDITS
from seqattn.metrics import bleu_from_counts, corpus_chrf, sentence_counts
from seqattn.widgets.base import LiveFigure

__all__ = ["EditCost"]

SHARES = (0, 20, 40, 60, 80, 100)


class EditCost(LiveFigure):
    """Reference sentences, some of them edited, and scored against what they were.

    Each edit is shown on those of the sentences that it changes. BLEU is computed from stored sums
    of their n-gram counts, and so is exact.

    Parameters
    ----------
    sentences : sequence of str
        French sentences, at least one of which each of :data:`~seqattn.data.EDITS` changes.
    edit : str
        One of these edits.
    share : int
        Per cent of the sentences that get it: 0, 20, … 100.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there is no such edit or share, or an edit finds no sentence to change.
    ImportError
        If sacrebleu is missing.

    Examples
    --------
    >>> figure = EditCost(["le chat ne dort pas ici", "le chien dort"], share=100)
    >>> figure.numbers()["right"], figure.numbers()["exact"]
    ([7, 5, 3, 2], 0.0)
    """

    _js = "edit_cost.js"
    _moves = ("edit", "share")
    _title = "What does an edit cost?"
    _question: ClassVar[dict[str, Any]] = {
        "question": "One system writes the references with a capital letter in front, faultless "
        "French. Another misspells the last word of each sentence. Every sentence gets its edit. "
        "Which loses fewer points of BLEU?",
        "options": [
            "The one with the capital letters, by far.",
            "The one that misspells, by far.",
            "About the same: the two are within two points.",
        ],
        "answer": 2,
        "tests": "share",
        "explain": [
            "BLEU does not read. A word with a capital is another word, and so is a misspelt one.",
            "Both change one word at an end of the sentence. BLEU counts how many n-grams that "
            "breaks.",
            "Each edit breaks one word at one end of the sentence, and with it the n-grams that "
            "reach there. Whether it is a matter of style or a mistake, no count can see.",
        ],
    }

    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sums: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    chrf: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    examples: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    sizes: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    edit = traitlets.Unicode().tag(sync=True)
    share = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        sentences: Sequence[str],
        edit: str = "capital first",
        share: int = 0,
        **options: Any,
    ) -> None:
        if edit not in EDITS:
            raise ValueError(f"edit is {edit!r}; expected one of {', '.join(EDITS)}")
        if share not in SHARES:
            raise ValueError(f"share is {share}; expected one of {', '.join(map(str, SHARES))}")
        sums: dict[str, Any] = {}
        chrf: dict[str, Any] = {}
        examples: dict[str, Any] = {}
        sizes: dict[str, int] = {}
        for name, change in EDITS.items():
            before = [sentence for sentence in sentences if change(sentence) != sentence]
            if not before:
                raise ValueError(f"no sentence is changed by {name!r}; expected at least one")
            after = [change(sentence) for sentence in before]
            kept, edited = sentence_counts(before, before), sentence_counts(after, before)
            ends = [int(part * len(before) / 100 + 0.5) for part in SHARES]
            sums[name] = [(edited[:n].sum(0) + kept[n:].sum(0)).tolist() for n in ends]
            chrf[name] = [round(corpus_chrf(after[:n] + before[n:], before).score, 6) for n in ends]
            examples[name] = [before[0], after[0]]
            sizes[name] = len(before)
        super().__init__(
            names=list(EDITS),
            sums=sums,
            chrf=chrf,
            examples=examples,
            sizes=sizes,
            edit=edit,
            share=share,
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Compute BLEU of the sums, and what it is made of."""
        place = SHARES.index(self.share)
        sums = self.sums[self.edit][place]
        size = self.sizes[self.edit]
        edited = int(self.share * size / 100 + 0.5)
        return {
            "bleu": bleu_from_counts(torch.tensor(sums)).item(),
            "chrf": self.chrf[self.edit][place],
            "exact": 100 * (size - edited) / size,
            "right": sums[2:6],
            "counted": sums[6:],
            "brevity": min(
                1.0, torch.tensor(1 - sums[1] / sums[0], dtype=torch.float64).exp().item()
            ),
        }
