"""Kendall's rank correlation and the Jensen–Shannon divergence, by loops."""

import math
import re
from itertools import combinations

import numpy as np
import pytest
import torch

from seqattn.metrics import jensen_shannon, kendall_tau


def tau_by_loops(a, b):
    order = ties_a = ties_b = pairs = 0
    for i, j in combinations(range(len(a)), 2):
        pairs += 1
        ties_a, ties_b = ties_a + (a[i] == a[j]), ties_b + (b[i] == b[j])
        order += np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
    return order / math.sqrt((pairs - ties_a) * (pairs - ties_b))


@pytest.mark.parametrize("values", [3, 1000])
def test_tau_with_and_without_ties(values):
    rng = np.random.default_rng(0)
    for n in (2, 5, 11):
        a, b = rng.integers(values, size=(2, n))
        a[0], a[1], b[0], b[1] = 0, 1, 0, 2  # not all equal
        assert kendall_tau(torch.tensor(a), b.tolist()) == pytest.approx(tau_by_loops(a, b))
    assert kendall_tau([1, 2, 3, 3], [3, 2, 1, 1]) == -1
    assert kendall_tau([-math.inf, 0, math.inf], [1, 2, 3]) == 1
    assert math.isnan(kendall_tau([1, 1], [1, 2]))
    with pytest.raises(ValueError, match=re.escape("shapes (2,) and (3,)")):
        kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="1 numbers are NaN; expected a number for each case"):
        kendall_tau([math.nan, 1, 2], [1, 2, 3])


def test_divergence_by_loops_and_its_gradient_at_zero():
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet([0.3] * 7, size=(2, 3))
    a[0, :3], b[0, 2:5] = 0, 0
    a, b = (x / x.sum(-1, keepdims=True) for x in (a, b))
    found = jensen_shannon(torch.tensor(a), torch.tensor(b))
    for p, q, d in zip(a, b, found, strict=True):
        m = (p + q) / 2
        kl = [sum(x * math.log(x / y) for x, y in zip(w, m, strict=True) if x) for w in (p, q)]
        assert d.item() == pytest.approx(sum(kl) / 2)
    apart = torch.tensor([[1.0, 0.0]], requires_grad=True)
    same = jensen_shannon(apart, torch.tensor([[0.0, 1.0]]))
    assert same.item() == pytest.approx(math.log(2))
    (slope,) = torch.autograd.grad(same.sum(), [apart])
    assert slope.isfinite().all()
    assert jensen_shannon(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).isnan().all()
    with pytest.raises(ValueError, match="two maps of the same words"):
        jensen_shannon(torch.ones(1, 2), torch.ones(1, 3))
