"""Two systems scored on draws of the test sentences: on the same draws, or each on its own."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from seqattn.metrics import bleu_from_counts, bootstrap_bleu
from seqattn.widgets.base import LiveFigure

__all__ = ["PairedDraws"]

DRAWS = 200


class PairedDraws(LiveFigure):
    r"""BLEU of two systems on drawn test sentences, a dot for each draw.

    .. math:: \operatorname{Var}(b - a) = \operatorname{Var} a + \operatorname{Var} b
        - 2 \operatorname{Cov}(a, b)

    There are 200 draws, made when the figure is. Each takes as many of the first sentences as are
    scored, with replacement. "Plus and minus" is 1.96 standard deviations over the draws.

    Parameters
    ----------
    counts : mapping of str to (sentences, 10)
        The name of each system, and its counts from
        :func:`~seqattn.metrics.sentence_counts`, all on the same sentences. The first system is
        compared with one of the others.
    sizes : sequence of int
        How many sentences may be scored, from few to many.
    against : str, optional
        Name of the other system; the second one if left out.
    size : int, optional
        Which of ``sizes`` is shown, counting from 0; the last one if left out.
    paired : bool
        Whether both systems are scored on the same draws.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If there are fewer than two systems, their sentences are not equally many, or an option is
        out of its limits.

    Examples
    --------
    >>> from seqattn.metrics import sentence_counts
    >>> wanted = ["le chat dort ici", "le chien dort ici", "la mer est ici"]
    >>> counts = {
    ...     name: sentence_counts([text.replace("ici", word) for text in wanted], wanted)
    ...     for name, word in (("a", "là"), ("b", "loin"))
    ... }
    >>> figure = PairedDraws(counts, sizes=(2, 3), paired=True)
    >>> figure.numbers()["difference"], figure.numbers()["plus_minus_difference"]
    (0.0, 0.0)
    """

    _js = "paired_draws.js"
    _moves = ("against", "size", "paired")
    _title = "One draw for both?"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "Each dot is a draw of the test sentences. So far each system has draws of its "
        "own. Now let both be scored on the same draw. What happens to the ± of their difference?",
        "options": [
            "It stays: neither score has become any more certain.",
            "It shrinks: the two scores rise and fall together.",
            "It grows: a draw of hard sentences now hurts both systems.",
        ],
        "answer": 1,
        "tests": "paired",
        "explain": [
            "Neither has. But what moves both scores alike drops out of their difference.",
            "A sentence that is hard for one system is often hard for the other. What moves both "
            "scores alike drops out of their difference.",
            "It hurts both, and therefore changes little in how far one is ahead of the other.",
        ],
    }

    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sizes = traitlets.List(traitlets.Int()).tag(sync=True)
    found: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    same: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    own: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    against = traitlets.Unicode().tag(sync=True)
    size = traitlets.Int().tag(sync=True)
    paired = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        counts: Mapping[str, Tensor],
        sizes: Sequence[int] = (50, 100, 200, 400),
        against: str | None = None,
        size: int | None = None,
        paired: bool = False,
        **options: Any,
    ) -> None:
        names = list(counts)
        if len(names) < 2:
            raise ValueError(f"counts has {len(names)} systems; expected two or more")
        known = {len(rows) for rows in counts.values()}
        if len(known) > 1:
            raise ValueError(f"the systems have {sorted(known)} sentences; expected equally many")
        if (
            not sizes
            or list(sizes) != sorted(set(sizes))
            or not 2 <= sizes[0] <= sizes[-1] <= max(known)
        ):
            raise ValueError(
                f"sizes is {tuple(sizes)}; expected growing numbers from 2 to {max(known)}, the "
                "number of sentences"
            )
        against = names[1] if against is None else against
        if against not in names[1:]:
            raise ValueError(f"against is {against!r}; expected one of {', '.join(names[1:])}")
        size = len(sizes) - 1 if size is None else size
        if not 0 <= size < len(sizes):
            raise ValueError(f"size is {size}; expected a place in sizes, 0 to {len(sizes) - 1}")

        def drawn(rows: Tensor, seed: int) -> list[list[float]]:
            scores = (bootstrap_bleu(rows[:n], draws=DRAWS, seed=seed) for n in sizes)
            return [[round(score, 2) for score in row.tolist()] for row in scores]

        super().__init__(
            names=names,
            sizes=list(sizes),
            found={
                name: [round(bleu_from_counts(rows[:n].sum(0)).item(), 4) for n in sizes]
                for name, rows in counts.items()
            },
            same={name: drawn(rows, 0) for name, rows in counts.items()},
            own={name: drawn(counts[name], 1) for name in names[1:]},
            against=against,
            size=size,
            paired=paired,
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Compute both scores, how far each may be off, and the same of their difference."""
        first, at = self.names[0], self.size
        other = (self.same if self.paired else self.own)[self.against][at]
        a, b = torch.tensor([self.same[first][at], other], dtype=torch.float64)
        scores = self.found[first][at], self.found[self.against][at]
        spread = a.std() * b.std()
        return {
            "sentences": self.sizes[at],
            "scores": list(scores),
            "plus_minus": [1.96 * x.std().item() for x in (a, b)],
            "difference": scores[1] - scores[0],
            "plus_minus_difference": 1.96 * (b - a).std().item(),
            "correlation": (torch.cov(torch.stack([a, b]))[0, 1] / spread).item()
            if spread
            else 0.0,
        }
