"""Decoding: greedy and beam search and sampling, over one step protocol."""

from seqattn.decoding.beams import beam_search
from seqattn.decoding.penalties import coverage_penalty, length_penalty
from seqattn.decoding.protocol import Hypotheses, StepModel, select
from seqattn.decoding.rolling import greedy
from seqattn.decoding.sampling import sample, truncate

__all__ = [
    "Hypotheses",
    "StepModel",
    "beam_search",
    "coverage_penalty",
    "greedy",
    "length_penalty",
    "sample",
    "select",
    "truncate",
]
