"""Data: the tiny worked example, and the toy corpus with its gold alignments."""

from seqattn.data.grammar import (
    CONSTRUCTIONS,
    Pair,
    Splits,
    cat_on_the_mat,
    detokenize,
    generate,
    sentence_of_length,
    splits,
)
from seqattn.data.tiny import TINY, TinyExample

__all__ = [
    "CONSTRUCTIONS",
    "TINY",
    "Pair",
    "Splits",
    "TinyExample",
    "cat_on_the_mat",
    "detokenize",
    "generate",
    "sentence_of_length",
    "splits",
]
