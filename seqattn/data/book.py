"""What the chapters share: three words in numbers, five sentences, and long measurements.

The numbers stand in every figure, derivation, test and quiz, the sentences in every chapter that
translates. Measurements are shown but not repeated: their trainings take too long for a page.

``TINY`` has three source words with 2-dimensional encoder states, one decoder state, and weights
for every score function that compares. All numbers have one decimal, so that each step fits on
paper. They are chosen so that

- no score saturates the softmax, and the tanh is neither linear nor flat;
- every score function gives different weights, and not all agree on the largest;
- no matrix is symmetric and no entry is zero, so that a transposed product or a forgotten term
  changes the result;
- weights rounded to two decimals sum to 1.00.
"""

import json
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from seqattn.data.pairs import TextPair

__all__ = ["DETOUR", "FIVE", "TINY", "TREE", "TinyExample", "measured"]


def _matrix(*rows: tuple[float, ...]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def _vector(*entries: float) -> Tensor:
    return torch.tensor(entries, dtype=torch.float64)


@dataclass(frozen=True)
class TinyExample:
    """Three words, one decoder state, and weights for the score functions that compare.

    Attributes
    ----------
    words : tuple of 3 str
        Source words.
    h : (3, 2)
        Encoder states, one row a word.
    s : (2,)
        Decoder state.
    W_q, W_k, v : (2, 2), (2, 2), (2,)
        Weights of the additive score.
    W : (2, 2)
        Weights of the general (bilinear) score.
    W_c : (2, 4)
        Weights of the concat score, which shares ``v``.
    U, V : (1, 2), (1, 2)
        Weights of the reduced-rank score, of rank 1.

    Examples
    --------
    >>> from seqattn.attention import additive_score, masked_softmax
    >>> scores = additive_score(TINY.query, TINY.keys, TINY.W_q, TINY.W_k, TINY.v)
    >>> [f"{w:.2f}" for w in masked_softmax(scores)[0]]
    ['0.52', '0.32', '0.16']
    """

    words: tuple[str, str, str] = ("cat", "sat", "mat")
    h: Float64[Tensor, "3 2"] = field(
        default_factory=lambda: _matrix((1.0, 0.5), (-0.5, 1.5), (0.5, -1.0))
    )
    s: Float64[Tensor, " 2"] = field(default_factory=lambda: _vector(0.5, 1.0))
    W_q: Float64[Tensor, "2 2"] = field(default_factory=lambda: _matrix((0.2, -0.3), (-1.0, 0.6)))
    W_k: Float64[Tensor, "2 2"] = field(default_factory=lambda: _matrix((0.2, -0.6), (0.5, 0.9)))
    v: Float64[Tensor, " 2"] = field(default_factory=lambda: _vector(1.0, 1.5))
    W: Float64[Tensor, "2 2"] = field(default_factory=lambda: _matrix((0.3, 0.4), (0.2, -0.5)))
    W_c: Float64[Tensor, "2 4"] = field(
        default_factory=lambda: _matrix((0.2, 0.7, -0.3, 0.2), (1.0, 0.4, 0.2, 0.4))
    )
    U: Float64[Tensor, "1 2"] = field(default_factory=lambda: _matrix((0.4, 1.0)))
    V: Float64[Tensor, "1 2"] = field(default_factory=lambda: _matrix((0.5, 0.3)))

    @property
    def query(self) -> Float64[Tensor, "1 2"]:
        """The decoder state as a batch of one: what score functions take."""
        return self.s.unsqueeze(0)

    @property
    def keys(self) -> Float64[Tensor, "1 3 2"]:
        """The encoder states as a batch of one."""
        return self.h.unsqueeze(0)


TINY = TinyExample()

FIVE = (
    TextPair(
        "the cat sat on the mat",
        "le chat s'est assis sur le tapis",
        frozenset({(0, 0), (1, 1), (2, 2), (2, 3), (2, 4), (3, 5), (4, 6), (5, 7)}),
    ),
    TextPair(
        "the thief loses it",
        "le voleur le perd",
        frozenset({(0, 0), (1, 1), (2, 3), (3, 2)}),
    ),
    TextPair(
        "the lazy owls are not eating the strawberry",
        "les hiboux paresseux ne mangent pas la fraise",
        frozenset({(0, 0), (1, 2), (2, 1), (3, 4), (4, 3), (4, 5), (5, 4), (6, 6), (7, 7)}),
    ),
    TextPair(
        "did the king buy the box?",
        "est-ce que le roi a acheté la boîte\N{NO-BREAK SPACE}?",
        frozenset(
            {(0, 0), (0, 1), (0, 4), (1, 2), (2, 3), (3, 5), (4, 6), (5, 7), (6, 8)},
        ),
    ),
    TextPair(
        "the hero no longer misses him",
        "il ne manque plus au héros",
        frozenset({(0, 4), (1, 5), (2, 1), (2, 3), (3, 1), (3, 3), (4, 2), (4, 4), (5, 0)}),
    ),
)
"""Five test pairs of the toy corpus, each harder to put in French than the one before.

The cat; a pronoun that stands before its verb; a negation on both sides of it, and an adjective
behind its noun; a question; a verb that exchanges subject and object. No ``toy_corpus`` of
up to 40,000 pairs, from seed 0, trains on them: all are test pairs of ``toy_corpus(40_000)``.
"""


TREE: dict[str, dict[str, float]] = {
    "": {"le": 0.6, "un": 0.4},
    "le": {"chat": 0.4, "chien": 0.35, "gros": 0.2, "<eos>": 0.05},
    "un": {"chat": 0.9, "chien": 0.05, "<eos>": 0.05},
    "le chat": {"<eos>": 0.55, "dort": 0.45},
    "le chien": {"<eos>": 0.6, "dort": 0.4},
    "le gros": {"chat": 0.9, "<eos>": 0.1},
    "un chat": {"<eos>": 0.52, "dort": 0.48},
}
"""Next words and their probabilities: greedy search misses the most probable sentence, a beam of
two finds it, and a length penalty prefers another. Beginnings that are not listed end there."""

DETOUR: dict[str, dict[str, float]] = {
    "": {"une": 0.40, "la": 0.32, "cette": 0.28},
    "une": {"petite": 0.52, "maison": 0.24, "porte": 0.24},
    "la": {"maisonnette": 0.40, "maison": 0.30, "porte": 0.30},
    "cette": {"petite": 0.51, "grande": 0.49},
    "une petite": {"maison": 0.55, "porte": 0.45},
    "cette petite": {"maison": 0.60, "porte": 0.40},
    "cette grande": {"maison": 0.60, "porte": 0.40},
}
"""Next words and their probabilities: a beam of two finds the most probable sentence, and a beam of
three does not."""


def measured(name: str) -> dict[str, Any]:
    """Read a measurement: a JSON file that a program in ``benchmarks/`` wrote.

    Parameters
    ----------
    name : str
        Name of the program in ``benchmarks/`` that made it, such as ``"bottleneck"``.

    Returns
    -------
    dict
        What the program wrote. ``card`` says how it was measured.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> measured("bottleneck")["card"]["command"]
    'python -m benchmarks.bottleneck'
    """
    folder = files("seqattn.data") / "measured"
    file = folder / f"{name}.json"
    if not file.is_file():
        names = sorted(f.name.removesuffix(".json") for f in folder.iterdir())
        raise ValueError(f"no measurement {name!r}; expected one of {', '.join(names)}")
    return json.loads(file.read_text(encoding="utf-8"))
