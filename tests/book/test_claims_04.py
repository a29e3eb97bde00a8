"""Proofs and properties that chapters/claims/04_multiplicative.yml and its formulas name."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from seqattn import LocationAttention, dot_score, general_score
from seqattn.data import TINY
from seqattn.widgets import TurnedQuestion


def test_the_numbers_by_hand():
    t, close = TINY, {"rtol": 0, "atol": 0.00051}
    lengths = t.h.norm(dim=1)
    cosines = t.h @ t.s / (t.s.norm() * lengths)
    question = t.s @ t.W
    for found, on_paper in (
        (dot_score(t.query, t.keys)[0], [1.0, 1.25, -0.75]),
        (lengths, [1.118, 1.581, 1.118]),
        (cosines, [0.8, 0.707, -0.6]),
        (question, [0.35, -0.30]),
        (general_score(t.query, t.keys, t.W)[0], [0.2, -0.625, 0.475]),
    ):
        torch.testing.assert_close(found, torch.tensor(on_paper).double(), **close)
    degrees = [math.degrees(math.acos(x)) for x in cosines]
    assert [round(x, 1) for x in degrees] == [36.9, 45.0, 126.9]


@pytest.fixture
def double():
    torch.manual_seed(0)
    return torch.float64


def test_the_length_of_the_query_is_a_temperature(double):
    query, keys = torch.randn(1, 5, dtype=double), torch.randn(1, 7, 5, dtype=double)
    scores = dot_score(query, keys)
    for c in (0.1, 3.0):
        longer = dot_score(c * query, keys)
        torch.testing.assert_close(longer.softmax(-1), (scores / (1 / c)).softmax(-1))
        assert longer.argsort().equal(scores.argsort())


def test_a_general_score_asks_another_question(double):
    query, keys = torch.randn(1, 5, dtype=double), torch.randn(1, 7, 3, dtype=double)
    W = torch.randn(5, 3, dtype=double)
    torch.testing.assert_close(general_score(query, keys, W), dot_score(query @ W, keys))


def test_the_parts_of_a_matrix(double):
    W, a, b = (torch.randn(*size, dtype=double) for size in ((4, 4), (4,), (4,)))
    symmetric, skew = (W + W.T) / 2, (W - W.T) / 2
    torch.testing.assert_close(symmetric + skew, W)
    torch.testing.assert_close(a @ symmetric @ b, b @ symmetric @ a)
    torch.testing.assert_close(a @ skew @ b, -(b @ skew @ a))
    assert abs(a @ skew @ a) < 1e-12


def test_scores_that_rise_all_the_way_round_a_ring_do_not_exist(double):
    # A symmetric score gives each pair of neighbours one number; the best of many still misses one.
    for _ in range(200):
        e = torch.randn(12, dtype=double)
        assert (e > e.roll(1)).sum() <= 11


def test_a_single_detector_gives_every_query_the_same_key(double):
    query, key = torch.randn(2, 12, dtype=double)
    scores = torch.tanh(query[:, None] + key)
    assert len(set(scores.argmax(-1).tolist())) == 1


@pytest.mark.parametrize(("T_s", "T_t"), [(5, 3), (5, 5), (5, 9)])
def test_multiplications_are_those_of_the_formula(T_s, T_t):
    d = 4
    states, queries, W = torch.randn(T_s, d), torch.randn(T_t, 1, d), torch.randn(d, d)
    with FlopCounterMode(display=False) as once:
        projected = states @ W.T
        one = [query @ projected.T for query in queries]
    with FlopCounterMode(display=False) as turned:
        other = [(query @ W) @ states.T for query in queries]
    torch.testing.assert_close(one, other)
    counts = once.get_total_flops() // 2, turned.get_total_flops() // 2
    assert counts == (T_s * d * d + T_t * T_s * d, T_t * d * d + T_t * T_s * d)
    assert (counts[0] < counts[1]) == (T_t > T_s)


def test_a_quarter_turn_leaves_the_skew_part_alone():
    found = TurnedQuestion(turn=90.0).numbers()
    assert abs(found["symmetric_part"]) < 1e-12
    assert found["largest"] == [1, 2]


def test_rows_beyond_the_source_get_no_gradient_and_a_longer_source_is_refused():
    attention, state = LocationAttention(d_query=4, max_len=16), torch.randn(2, 4)
    attention(state, torch.randn(2, 9, 8)).context.sum().backward()
    (W,) = attention.parameters()
    assert W.grad[:9].any()
    assert not W.grad[9:].any()
    with pytest.raises(ValueError, match="17 positions"):
        attention(state, torch.randn(2, 17, 8))
