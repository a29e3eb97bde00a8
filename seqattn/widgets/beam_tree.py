"""Beam search as a tree: what was kept, what fell at which step, and what wins in the end."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.data.book import TREE
from seqattn.decoding import BeamSnapshot, Table, TableModel, beam_search, length_penalty
from seqattn.specials import EOS, PAD, SPECIALS
from seqattn.widgets.base import LiveFigure

__all__ = ["BeamTree"]

END = SPECIALS[EOS]
WIDEST, LARGEST = 4, 2.0


class BeamTree(LiveFigure):
    r"""The beginnings of a sentence that a beam search keeps and drops, step by step.

    .. math:: \frac{\log p(y)}{\left(\frac{5 + |y|}{6}\right)^\alpha}

    The search is that of :func:`~seqattn.decoding.beam_search`.

    Parameters
    ----------
    table : mapping
        The probabilities of the next words after each beginning, as
        :class:`~seqattn.decoding.TableModel` takes them: by hand, or a model's, from
        :func:`~seqattn.evaluation.beam_tree`.
    width : int
        Beginnings that are kept, from 1 to 4.
    alpha : float
        Exponent of the length penalty, from 0 to 2; the length counts the end of the sentence.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If the table holds no probabilities, or width or alpha is out of its limits.

    Examples
    --------
    >>> figure = BeamTree()
    >>> figure.numbers()["found"][0]
    'le chat'
    >>> figure.width = 2
    >>> figure.numbers()["found"][0]
    'un chat'
    """

    _js = "beam_tree.js"
    _moves = ("width", "alpha")
    _title = "Which beginnings does the search keep?"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "With a width of 1 the search takes the likeliest word at each step. It ends "
        "with “le chat”, p = 0.132. What does a width of 2 end with?",
        "options": [
            "“le chat” again: “le” is likelier than “un”, and its beginning stays ahead.",
            "“un chat”: less likely at its first word, likelier as a whole.",
            "“un chat dort”: a wider search finds longer sentences.",
        ],
        "answer": 1,
        "tests": "width",
        "explain": [
            "After “un” nearly all probability goes to one word, after “le” several share it. "
            "At the second word “un chat” is ahead, 0.36 to 0.24.",
            "The narrow search dropped “un” at the first word. Kept, it leads by the second.",
            "Every further word multiplies by a number of at most 1. That sentence needs the "
            "length penalty, the other slider.",
        ],
    }

    table: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    width = traitlets.Int(1).tag(sync=True)
    alpha = traitlets.Float(0.0).tag(sync=True)

    def __init__(
        self, table: Table = TREE, width: int = 1, alpha: float = 0.0, **options: Any
    ) -> None:
        model = TableModel(table)
        if not 1 <= width <= WIDEST:
            raise ValueError(f"width is {width}; expected 1 to {WIDEST}")
        if not 0 <= alpha <= LARGEST:
            raise ValueError(f"alpha is {alpha}; expected 0 to {LARGEST:g}")
        order = {word: i for i, word in enumerate(model.words)}
        rows = {
            beginning: sorted(row.items(), key=lambda entry: (-entry[1], order[entry[0]]))
            for beginning, row in table.items()
        }
        options.setdefault("predict", table is TREE)  # the question is about this one
        super().__init__(
            table={beginning: [list(entry) for entry in row] for beginning, row in rows.items()},
            width=width,
            alpha=float(alpha),
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Search the table by the package's beam search, and write down what it holds."""
        model = TableModel({start: dict(row) for start, row in self.table.items()})
        looks: list[BeamSnapshot] = []
        found = beam_search(
            model,
            *model.source,
            beam=self.width,
            n_best=self.width,
            max_len=model.longest,
            length_penalty=self.alpha,
            watch=looks.append,
        )
        held: list[list[str]] = []
        before = [""]
        for look in looks:
            tokens = look.tokens[0].tolist()
            now = [
                before[parent] if token in (PAD, EOS) else f"{before[parent]} {word}".strip()
                for parent, token, word in zip(
                    look.parents[0].tolist(), tokens, [model.words[t] for t in tokens], strict=True
                )
            ]
            alive = (look.scores[0] > -torch.inf).tolist()
            ended = look.done[0].tolist()
            held.append(
                [
                    f"{words} {END}".strip() if over else words
                    for words, ok, over in zip(now, alive, ended, strict=True)
                    if ok
                ]
            )
            before = now
        real = found.scores > -torch.inf
        logs = found.scores[real]
        ranks = logs / length_penalty(found.lengths[real], self.alpha)
        return {
            "width": self.width,
            "alpha": self.alpha,
            "held": held,
            "found": [words for words, ok in zip(model.read(found), real.tolist()) if ok],
            "probabilities": logs.exp().tolist(),
            "log_p": logs.tolist(),
            "scores": ranks.tolist(),
        }
