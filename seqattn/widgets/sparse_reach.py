"""Patterns of self-attention: which pairs are scored, and who has heard of whom, layer by layer."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.attention.masks import causal_mask
from seqattn.attention.reach import layers_to_connect, reach_of
from seqattn.attention.windowed import block_mask, global_mask, strided_mask, window_mask
from seqattn.widgets.base import LiveFigure

__all__ = ["SparseReach"]

SIZE, LAYERS, WIDEST = 32, 16, 8
PATTERNS = ("window", "window + one global word", "window + stride", "blocks", "blocks + stride")


class SparseReach(LiveFigure):
    """A sparse pattern over 32 words, what it costs, and how far it carries.

    Parameters
    ----------
    pattern : {"window", "window + one global word", "window + stride", "blocks", \
"blocks + stride"}
        Which masks are joined. The global word is the first.
    width : int
        How far the window reaches to each side, the length of a block, and the stride: from 1 to
        8.
    causal : bool
        Whether words look back alone.
    layers : int
        How many, from 1 to 16, all with the same pattern.
    word : int
        Whose reach is shown, from 1 to 32.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If the pattern is unknown, or a number is out of its limits.

    References
    ----------
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", section 4; Beltagy,
    Peters and Cohan (2020), "Longformer", section 3.1.

    Examples
    --------
    >>> figure = SparseReach("window", width=2)
    >>> figure.numbers()["layers_to_connect"]
    16
    >>> figure.pattern = "window + one global word"
    >>> figure.numbers()["layers_to_connect"]
    2
    """

    _js = "sparse_reach.js"
    _moves = ("pattern", "width", "causal", "layers", "word")
    _title = "Who has heard of whom?"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "32 words, and a window of 2 to each side. After how many layers can the first "
        "word have influenced the last?",
        "options": ["5", "16", "31", "Never: the last word never sees the first."],
        "answer": 1,
        "explain": [
            "So it would be if the reach doubled with each layer, since 32 is 2 to the power of 5. "
            "It grows by 2 a layer.",
            "The reach grows by 2 a layer, and the distance is 31.",
            "That is a window of 1. With 2, each layer carries two words further.",
            "Not in one layer. But its neighbour has heard of a word nearer to the first, and "
            "hands it on in the next. Blocks without overlap never connect.",
        ],
        "tests": "layers",
    }

    pattern = traitlets.Enum(PATTERNS, "window").tag(sync=True)
    width = traitlets.Int(2, min=1, max=WIDEST).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    layers = traitlets.Int(1, min=1, max=LAYERS).tag(sync=True)
    word = traitlets.Int(SIZE, min=1, max=SIZE).tag(sync=True)

    def __init__(
        self,
        pattern: str = "window",
        width: int = 2,
        *,
        causal: bool = False,
        layers: int = 1,
        word: int = SIZE,
        **options: Any,
    ) -> None:
        if pattern not in PATTERNS:
            raise ValueError(f"pattern is {pattern!r}; expected one of {', '.join(PATTERNS)}")
        limits = {"width": (width, WIDEST), "layers": (layers, LAYERS), "word": (word, SIZE)}
        for name, (value, most) in limits.items():
            if not 1 <= value <= most:
                raise ValueError(f"{name} is {value}; expected 1 to {most}")
        super().__init__(
            pattern=pattern, width=width, causal=bool(causal), layers=layers, word=word, **options
        )

    def mask(self) -> torch.Tensor:
        """Give the pattern that is shown, (32, 32)."""
        window = self.pattern.startswith("window")
        found = (window_mask if window else block_mask)(SIZE, self.width)
        if self.pattern.endswith("stride"):
            found = found | strided_mask(SIZE, self.width)
        elif self.pattern.endswith("word"):
            found = found | global_mask(SIZE, [0])
        return found & causal_mask(SIZE) if self.causal else found

    def numbers(self) -> dict[str, Any]:
        """Count pairs, and follow the pattern from layer to layer."""
        mask = self.mask()
        row = self.word - 1
        needed = layers_to_connect(mask, causal=self.causal)
        return {
            "pairs": int(mask.sum()),
            "all_pairs": SIZE * (SIZE + 1) // 2 if self.causal else SIZE**2,
            "reached": [int(reach_of(mask, k)[row].sum()) for k in range(self.layers + 1)],
            "layers_to_connect": "never" if needed is None else needed,
        }
