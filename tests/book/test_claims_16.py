"""Proofs and properties that chapters/claims/16_transformer.yml and its formulas name."""

import math

import pytest
import torch
from torch.nn import functional as F

from seqattn.data import TINY
from seqattn.models import Transformer
from seqattn.widgets import CacheCounter


def test_the_norms_by_hand():
    four = torch.tensor([1.0, 2.0, 3.0, 6.0])
    assert four.mean() == 3
    assert four.var(correction=0) == 3.5
    assert F.layer_norm(four, [4]).tolist() == pytest.approx([-1.07, -0.53, 0, 1.60], abs=0.0051)
    for pair in ([1.0, 3.0], [1.0, 100.0], [3.0, 7.0]):
        assert F.layer_norm(torch.tensor(pair), [2]).tolist() == pytest.approx([-1, 1], abs=1e-4)


def test_the_blocks_by_hand():
    scores = TINY.h @ TINY.s
    assert scores.tolist() == pytest.approx([1.0, 1.25, -0.75])
    first = math.exp(1.0 - 1.25) + 1
    assert first == pytest.approx(1.779, abs=0.001)
    assert first + math.exp(-2.0) == pytest.approx(1.914, abs=0.001)


def test_a_cache_holds_keys_and_values_of_each_layer():
    model = Transformer(11, 13, d_model=12, heads=3, layers=5, d_feedforward=7)
    state, memory = model.begin(torch.tensor([[4, 5, 2]]), torch.tensor([3]))
    for _ in range(7):
        state = model.step(torch.tensor([4]), state, memory).state
    kept = sum(part.keys.numel() + part.values.numel() for part in state)
    assert kept == 2 * 5 * 7 * 3 * 4


def test_shared_keys_and_values():
    own, shared = (CacheCounter(groups=groups).numbers() for groups in (8, 1))
    assert shared["kept_numbers"] * 8 == own["kept_numbers"]
    assert 0.8 < shared["with_cache"] / own["with_cache"] < 0.95
