"""What it costs to write a sentence with kept keys and values, and without."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import traitlets

from seqattn.widgets.base import LiveFigure

__all__ = ["CacheCounter"]

SIZES = (64, 128, 256, 512, 1024)
HEADS = 8
GROUPS = (8, 4, 2, 1)


class CacheCounter(LiveFigure):
    r"""Multiplications and memory of a language model that writes T words, one after the other.

    Each of L layers has self-attention with 8 heads, which may share keys and values, and a
    feed-forward network four times as wide as the states. Step t costs a layer, with kept keys and
    values, :math:`P + 2td`; without, :math:`tP + 2t^2d`. Here :math:`P = 2d^2 + 2d\,d_{kv} + 8d^2`
    are the products of one word: queries and output, keys and values, feed-forward. Kept are
    :math:`2 L T d_{kv}` numbers.

    Parameters
    ----------
    words : int
        T, from 1 to 400.
    layers : int
        L, from 1 to 12.
    size : int
        d: 64, 128, 256, 512 or 1024.
    groups : int
        How many heads have keys and values of their own: 8, 4, 2 or 1; d_kv is d · groups / 8.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    TraitError
        If a number is none of these.

    Examples
    --------
    >>> figure = CacheCounter(words=2, layers=1, size=64)
    >>> found = figure.numbers()
    >>> found["with_cache"], found["without_cache"], found["kept_numbers"]
    (98688.0, 148096.0, 256.0)
    """

    _js = "cache_counter.js"
    _moves = ("words", "layers", "size", "groups")
    _title = "Writing with and without a cache"
    _question: ClassVar[Mapping[str, Any]] = {
        "question": "With the cache, 200 words take some number of multiplications. How many do "
        "400 words take?",
        "options": [
            "Twice as many, exactly: each word costs the same.",
            "Between two and four times as many.",
            "Eight times as many.",
        ],
        "answer": 1,
        "tests": "words",
        "explain": [
            "The projections and the feed-forward cost the same for each word. But each word also "
            "looks at all words before it, and these become more.",
            "The part of each word alone doubles, and the looking back becomes four times as much. "
            "The wider the states, the nearer it comes to two.",
            "That would be so if each step repeated the square of all words so far, as it does "
            "without the cache, and if nothing else had to be computed.",
        ],
    }

    words = traitlets.Int(200, min=1, max=400).tag(sync=True)
    layers = traitlets.Int(2, min=1, max=12).tag(sync=True)
    size = traitlets.Enum(SIZES, 64).tag(sync=True)
    groups = traitlets.Enum(GROUPS, 8).tag(sync=True)

    def __init__(
        self, words: int = 200, layers: int = 2, size: int = 64, groups: int = 8, **options: Any
    ) -> None:
        super().__init__(words=words, layers=layers, size=size, groups=groups, **options)

    def numbers(self) -> dict[str, Any]:
        """Count by adding up the steps, in float64."""
        d, d_kv = self.size, self.size * self.groups // HEADS
        word = 2 * d * d + 2 * d * d_kv + 8 * d * d
        steps = torch.arange(1, self.words + 1, dtype=torch.float64)
        with_cache = self.layers * (word + 2 * steps * d).cumsum(0)
        without = self.layers * (steps * word + 2 * steps**2 * d).cumsum(0)
        half = max(1, self.words // 2)
        return {
            "with_cache": with_cache[-1].item(),
            "without_cache": without[-1].item(),
            "times": (without[-1] / with_cache[-1]).item(),
            "with_cache_by_words": with_cache[[half - 1, self.words - 1]].tolist(),
            "without_cache_by_words": without[[half - 1, self.words - 1]].tolist(),
            "kept_numbers": float(2 * self.layers * self.words * d_kv),
            "kept_kilobytes": 2 * self.layers * self.words * d_kv * 2 / 1000,
        }
