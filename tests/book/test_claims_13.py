"""Proofs and properties that chapters/claims/13_heads.yml and its formulas name."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from seqattn import MultiHeadAttention
from seqattn.data import TINY
from seqattn.widgets import TwoHeads


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 12])
def test_weights_and_multiplications_do_not_depend_on_the_heads(heads):
    d, T, B = 12, 7, 5
    attention = MultiHeadAttention(d, heads)
    assert sum(p.numel() for p in attention.parameters()) == 4 * d * d + 4 * d
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        weights = attention(torch.randn(B, T, d)).weights
    # PyTorch counts an addition beside each multiplication.
    assert counted.get_total_flops() == 2 * B * (4 * T * d * d + 2 * T * T * d)
    assert weights.sum(-1).numel() == B * heads * T


def test_the_numbers_by_hand():
    h, s = TINY.h, TINY.s
    scores = h @ s / math.sqrt(2)
    assert scores.tolist() == pytest.approx([0.707, 0.884, -0.530], abs=0.00051)
    assert scores.softmax(0).tolist() == pytest.approx([0.403, 0.481, 0.117], abs=0.00051)
    assert (scores.softmax(0) @ h).tolist() == pytest.approx([0.221, 0.805], abs=0.00051)
    table = (
        ([0.5, -0.25, 0.25], [0.444, 0.210, 0.346], 0.512),
        ([0.5, 1.5, -1.0], [0.254, 0.690, 0.057], 1.105),
    )
    point = []
    for d, (compared, weighed, returned) in enumerate(table):
        assert (s[d] * h[:, d]).tolist() == pytest.approx(compared)
        weights = (s[d] * h[:, d]).softmax(0)
        assert weights.tolist() == pytest.approx(weighed, abs=0.00051)
        point.append((weights @ h[:, d]).item())
        assert point[-1] == pytest.approx(returned, abs=0.00051)
    # On the edge from cat to sat, straight below the point.
    share = (point[0] - 1.0) / (-0.5 - 1.0)
    assert 0.5 + share * (1.5 - 0.5) == pytest.approx(0.825, abs=0.00051)
    assert point[1] > 0.826


def test_one_head_never_leaves_the_triangle_and_two_do():
    lies = set()
    for query in torch.cartesian_prod(*[torch.linspace(-6, 6, 9)] * 2):
        shown = TwoHeads(query=query).numbers()
        shares = torch.linalg.solve(
            torch.cat([TINY.h.T, torch.ones(1, 3).double()]),
            torch.tensor([*shown["one_head"], 1.0], dtype=torch.float64),
        )
        assert shares.min() > 0
        lies.add(shown["two_heads_lie"])
        assert sum(shown["one_average_would_need"]) == pytest.approx(1.0)
        needed = torch.tensor(shown["one_average_would_need"], dtype=torch.float64)
        assert (needed @ TINY.h).tolist() == pytest.approx(shown["two_heads"], abs=1e-9)
    assert lies == {"inside", "outside"}


def test_heads_can_be_exchanged_with_their_blocks():
    torch.manual_seed(0)
    first, second = (MultiHeadAttention(12, 3).double() for _ in range(2))
    order = torch.tensor([2, 0, 1])
    rows = torch.arange(12).view(3, 4)[order].flatten()
    with torch.no_grad():
        for name in ("query", "key", "value"):
            ours, theirs = getattr(first, name), getattr(second, name)
            theirs.weight.copy_(ours.weight[rows])
            theirs.bias.copy_(ours.bias[rows])
        second.output.weight.copy_(first.output.weight[:, rows])
        second.output.bias.copy_(first.output.bias)
    x = torch.randn(2, 5, 12).double()
    one, other = first(x), second(x)
    torch.testing.assert_close(one.context, other.context)
    torch.testing.assert_close(one.weights[:, order], other.weights)


def test_the_score_matrix_of_a_head_has_its_rank():
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 4).double()
    for q, k in zip(attention.query.weight.split(3), attention.key.weight.split(3), strict=True):
        assert torch.linalg.matrix_rank(q.T @ k) == 3
