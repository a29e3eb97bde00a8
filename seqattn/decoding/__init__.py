"""Decoding: greedy and beam search and sampling, over any model that writes step by step."""

from seqattn.decoding.beam_search import BeamSnapshot, beam_search, coverage_penalty, length_penalty
from seqattn.decoding.greedy import greedy, sample, truncate
from seqattn.decoding.interface import Hypotheses, Step, StepModel, select
from seqattn.decoding.table import Table, TableModel

__all__ = [
    "BeamSnapshot",
    "Hypotheses",
    "Step",
    "StepModel",
    "Table",
    "TableModel",
    "beam_search",
    "coverage_penalty",
    "greedy",
    "length_penalty",
    "sample",
    "select",
    "truncate",
]
