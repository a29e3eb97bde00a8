"""Writing and copying in one distribution, with the gate in the reader's hand."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.models import mix_copy
from seqattn.widgets.base import LiveFigure, Numbers, floats

__all__ = ["CopyMixture"]


class CopyMixture(LiveFigure):
    r"""The mixture :math:`p_\text{gen} P_\text{vocab} + (1 - p_\text{gen}) \sum \alpha` as bars.

    Parameters
    ----------
    source : sequence of str, optional
        Words that may be copied; a word may stand twice.
    scores : sequence of float, optional
        Attention scores of those words, from -3 to 3; the reader moves them.
    known : sequence of str, optional
        Words of the vocabulary.
    logits : sequence of float, optional
        Of writing each of them.
    gate : float
        p_gen, from 0 to 1; the reader moves it.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    References
    ----------
    See, Liu and Manning (2017), equation 9.

    Examples
    --------
    >>> figure = CopyMixture(gate=0.2)
    >>> {w: round(p, 2) for w, p in zip(figure.extended, figure.numbers()["mixture"])}
    {'le': 0.04, 'voit': 0.06, '<unk>': 0.1, 'ada': 0.56, 'sees': 0.16, 'bo': 0.08}
    """

    _js = "copy_mixture.js"
    _moves = ("gate", "scores")
    _title = "Write, or copy"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "“ada” is in no vocabulary. P_vocab gives it nothing and <unk> 0.5; its weight "
        "is 0.7. For which p_gen is “ada” the most probable word?",
        "options": [
            "For none: a word outside the vocabulary cannot beat <unk>.",
            "For p_gen below 1/2 and no more.",
            "For p_gen below 0.58.",
        ],
        "answer": 2,
        "explain": [
            "Its probability is (1 − p_gen) · 0.7, which needs no place in the vocabulary.",
            "At 1/2 “ada” has 0.35 and <unk> 0.25. The border lies where the two are equal.",
            "(1 − p_gen) · 0.7 = p_gen · 0.5 where p_gen = 0.7/1.2 = 0.58. Move p_gen across it.",
        ],
        "tests": "gate",
    }

    source = traitlets.List(traitlets.Unicode()).tag(sync=True)
    known = traitlets.List(traitlets.Unicode()).tag(sync=True)
    scores = Numbers(traitlets.Float()).tag(sync=True)
    logits = Numbers(traitlets.Float()).tag(sync=True)
    gate = traitlets.Float(min=0.0, max=1.0).tag(sync=True)

    def __init__(
        self,
        source: Sequence[str] = ("ada", "sees", "bo"),
        scores: Sequence[float] | None = None,
        known: Sequence[str] = ("le", "voit", "<unk>"),
        logits: Sequence[float] | None = None,
        gate: float = 0.9,
        **options: Any,
    ) -> None:
        if scores is None:
            scores = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64).log().tolist()
        if logits is None:
            logits = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64).log().tolist()
        super().__init__(
            source=[str(word) for word in source],
            known=[str(word) for word in known],
            scores=floats(scores, "scores", len(source)),
            logits=floats(logits, "logits", len(known)),
            gate=gate,
            **options,
        )

    @property
    def extended(self) -> list[str]:
        """The vocabulary, and behind it what the source has besides."""
        return list(dict.fromkeys([*self.known, *self.source]))

    def numbers(self) -> dict[str, Any]:
        """Mix by :func:`~seqattn.models.mix_copy` in float64."""
        extended = self.extended
        weights = torch.tensor([self.scores], dtype=torch.float64).softmax(-1)
        logits = torch.tensor([self.logits], dtype=torch.float64)
        gate = torch.tensor([self.gate], dtype=torch.float64).logit()
        ids = torch.tensor([[extended.index(word) for word in self.source]])
        mixture = mix_copy(logits, weights, gate, ids, len(extended))[0].exp()
        return {
            "weights": weights[0].tolist(),
            "written": (self.gate * logits.softmax(-1))[0].tolist(),
            "mixture": mixture.tolist(),
        }
