"""Decoding: greedy and beam search and sampling, over one step protocol."""

from seqattn.decoding.penalties import length_penalty
from seqattn.decoding.protocol import Hypotheses, StepModel, select
from seqattn.decoding.sampling import sample, truncate
from seqattn.decoding.search import beam_search, greedy

__all__ = [
    "Hypotheses",
    "StepModel",
    "beam_search",
    "greedy",
    "length_penalty",
    "sample",
    "select",
    "truncate",
]
