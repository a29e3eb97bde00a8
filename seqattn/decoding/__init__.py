"""Decoding: greedy and beam search and sampling, over any model that writes step by step."""

from seqattn.decoding.beam_search import beam_search, coverage_penalty, length_penalty
from seqattn.decoding.greedy import greedy, sample, truncate
from seqattn.decoding.interface import Hypotheses, Step, StepModel, select

__all__ = [
    "Hypotheses",
    "Step",
    "StepModel",
    "beam_search",
    "coverage_penalty",
    "greedy",
    "length_penalty",
    "sample",
    "select",
    "truncate",
]
