"""Proofs and properties that chapters/claims/05_scaled.yml and its formulas name."""

import itertools
import math
from collections import defaultdict
from statistics import fmean

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from seqattn import (
    AdditiveScore,
    GeneralScore,
    LocalAttention,
    ReducedRankAttention,
    ReducedRankScore,
    SelfAttention,
    dot_score,
)
from seqattn.attention import truncate_rank
from seqattn.data import TINY, measured
from seqattn.widgets import DotVariance


@pytest.mark.parametrize("d", [1, 4, 6])
def test_mean_and_variance_of_all_sign_patterns(d):
    patterns = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=d)), dtype=torch.float64)
    sigma_q, sigma_k = 3.0, 0.5
    products = (sigma_q * patterns) @ (sigma_k * patterns).T
    assert products.mean() == 0
    assert products.square().mean() == d * sigma_q**2 * sigma_k**2
    # Each query of signs meets the same sums, so the variance is that of each row.
    assert set(products.square().mean(1).tolist()) == {d * sigma_q**2 * sigma_k**2}


def test_sixteen_keys_by_hand():
    keys = torch.tensor(list(itertools.product([-1, 1], repeat=4)))
    sums, counts = keys.sum(1).unique(return_counts=True)
    assert dict(zip(sums.tolist(), counts.tolist(), strict=True)) == {
        -4: 1,
        -2: 4,
        0: 6,
        2: 4,
        4: 1,
    }
    assert (sums.square() * counts).sum() == 64


def test_products_of_unit_vectors_shrink_with_the_root():
    torch.manual_seed(0)
    for d in (4, 100):
        u = torch.nn.functional.normalize(torch.randn(40_000, d, dtype=torch.float64), dim=-1)
        axis = torch.zeros(d, dtype=torch.float64)
        axis[0] = 1
        # The squares over all axes sum to 1 exactly, and no axis is special.
        torch.testing.assert_close(u.square().sum(1).mean().item(), 1.0)
        assert (u @ axis).square().mean().item() == pytest.approx(1 / d, rel=0.05)


@pytest.mark.parametrize("d", [64, 256, 1024])
def test_the_divided_spread_hangs_on_the_start_of_the_matrices(d):
    torch.manual_seed(0)
    asking, held = (F.layer_norm(torch.randn(400, d), (d,)) for _ in range(2))

    def divided_spread(start):
        q, k = (F.linear(x, start(torch.empty(d, d))) for x in (asking, held))
        return (q @ k.T / d**0.5).std().item()

    assert divided_spread(torch.nn.init.xavier_uniform_) == pytest.approx(1, rel=0.1)

    def as_linear(weight):
        layer = torch.nn.Linear(d, d)
        assert layer.weight.var().item() == pytest.approx(1 / (3 * d), rel=0.1)
        return layer.weight.detach()

    assert divided_spread(as_linear) == pytest.approx(1 / 3, rel=0.1)

    def as_packed(weight):
        """Give the matrix of queries, and after it that of keys."""
        return next(packed)

    queries, keys, _ = torch.nn.MultiheadAttention(d, 1).in_proj_weight.detach().chunk(3)
    packed = iter((queries, keys))
    assert queries.var().item() == pytest.approx(1 / (2 * d), rel=0.1)
    assert divided_spread(as_packed) == pytest.approx(1 / 2, rel=0.1)
    fixed = divided_spread(lambda weight: torch.nn.init.normal_(weight, std=0.02))
    assert fixed == pytest.approx(0.0004 * d, rel=0.1)


def test_half_the_rank_saves_nothing():
    def size(rank, d):
        return sum(p.numel() for p in ReducedRankAttention(d, d, rank).parameters())

    assert size(32, 64) == 64 * 64
    assert size(31, 64) < 64 * 64 < size(33, 64)


def test_rank_one_and_the_book_example_on_paper():
    t, close = TINY, {"rtol": 0, "atol": 0.00051}
    U, V = truncate_rank(t.W, 1)
    for found, on_paper in (
        (t.U @ t.s, [1.2]),
        ((t.h @ t.V.T)[:, 0], [0.65, 0.20, -0.05]),
        ((t.h @ t.V.T) @ (t.U @ t.s), [0.78, 0.24, -0.06]),
        ((t.h @ V.T @ (U @ t.s)).softmax(0), [0.303, 0.237, 0.461]),
    ):
        torch.testing.assert_close(found, torch.tensor(on_paper).double(), **close)


def test_at_rank_one_two_keys_at_most_are_first():
    torch.manual_seed(0)
    for _ in range(50):
        query, key = torch.randn(2, 12, dtype=torch.float64)
        assert len(set((query[:, None] * key).argmax(-1).tolist())) <= 2


def test_a_circle_turned_by_one_place_answers_all_with_rank_two():
    for n in (12, 100):
        torch.manual_seed(n)
        x = torch.randn(n, n, dtype=torch.float64)
        angle = torch.arange(n) * (2 * math.pi / n)
        circle = torch.stack([angle.cos(), angle.sin()]).double()
        V = torch.linalg.solve(x, circle.T).T
        U = torch.linalg.solve(x, circle.roll(-1, 1).T).T
        scores = (x @ U.T) @ (x @ V.T).T
        assert torch.equal(scores.argmax(-1), torch.arange(n).roll(-1))


def test_turning_both_factors_changes_no_score():
    torch.manual_seed(0)
    U, V = torch.randn(2, 3, 5, dtype=torch.float64)
    R, _ = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64))
    torch.testing.assert_close((R @ U).T @ (R @ V), U.T @ V)


def count(program):
    # Of itself the counter leaves out a matrix times a vector.
    by_vector = {torch.ops.aten.mv: lambda matrix, *_, **__: 2 * math.prod(matrix)}
    with FlopCounterMode(display=False, custom_mapping=by_vector) as counter:
        program()
    return counter.get_total_flops() // 2


@pytest.mark.parametrize(("T_s", "T_t"), [(5, 3), (7, 11)])
def test_multiplications_are_those_of_the_table(T_s, T_t):
    d_s, d_h, d_a, k = 6, 4, 3, 2
    queries, keys = torch.randn(T_t, 1, d_s), torch.randn(1, T_s, d_h)

    def remembered(score):
        def program():
            projected = score.project_keys(keys)
            for query in queries:
                score.compare(query, projected)

        return program

    additive, full = AdditiveScore(d_s, d_h, d_a), GeneralScore(d_s, d_h)
    same = torch.randn(T_t, 1, d_h)
    expected = {
        T_t * T_s * d_h: lambda: [dot_score(query, keys) for query in same],
        T_s * d_s * d_h + T_t * T_s * d_s: remembered(full),
        T_t * d_s * d_h + T_t * T_s * d_h: lambda: [(q @ full.W) @ keys.mT for q in queries],
        T_s * k * d_h + T_t * k * d_s + T_t * T_s * k: remembered(ReducedRankScore(d_s, d_h, k)),
        T_t * (d_a * d_s + T_s * d_a * d_h + T_s * d_a): lambda: [
            additive(query, keys) for query in queries
        ],
        T_s * d_a * d_h + T_t * (d_a * d_s + T_s * d_a): remembered(additive),
    }
    for multiplications, program in expected.items():
        assert count(program) == multiplications


def test_a_window_costs_the_same_for_any_source():
    D, d = 2, 6
    attention, query = LocalAttention(d, d, D, "monotonic", "dot"), torch.randn(1, d)
    counts = set()
    for T_s in (20, 40, 80):
        memory = attention.remember(torch.randn(1, T_s, d))
        past = attention.first_past(torch.randn(1, T_s, d))
        counts.add(count(lambda: attention.look(query, memory, past)))  # noqa: B023
    assert counts == {2 * (2 * D + 1) * d}  # scores and contexts


def test_self_attention_and_a_gru_are_those_of_the_table():
    T, d = 7, 6
    words = torch.randn(1, T, d)
    attention, cell = SelfAttention(d, 1), torch.nn.GRUCell(d, d)
    assert count(lambda: attention(words)) == 4 * T * d * d + 2 * T * T * d
    assert count(lambda: [cell(words[0, :1], torch.zeros(1, d)) for _ in range(T)]) == 6 * T * d * d


def test_the_figure_keeps_the_root_s_promise_for_its_own_kind_alone():
    largest = {
        (kind, factor): max(DotVariance(kind=kind, factor=factor, exponent=10).numbers()["weights"])
        for kind in ("independent", "length 1")
        for factor in ("÷ √d", "none", "× √d")
    }
    assert largest["independent", "none"] > 0.9
    assert largest["length 1", "÷ √d"] < largest["length 1", "none"] < 0.12
    for good in (("independent", "÷ √d"), ("length 1", "× √d")):
        assert 0.12 < largest[good] < 0.9


def test_a_factor_is_a_smaller_start_at_a_lower_rate():
    """Descent with scores over 8, and from matrices over the root of 8 at an eighth of the rate."""
    torch.manual_seed(0)
    d, lr = 6, 0.3
    start = torch.randn(2, d, d).double()
    keys, wanted = torch.randn(30, 8, d).double(), torch.randint(8, (30,))
    asked = keys[torch.arange(30), wanted]

    def learn(matrices, factor, lr):
        W_q, W_k = (matrix.clone().requires_grad_() for matrix in matrices)
        for _ in range(20):
            scores = factor * torch.einsum("nd,nkd->nk", asked @ W_q.T, keys @ W_k.T)
            slopes = torch.autograd.grad(F.cross_entropy(scores, wanted), (W_q, W_k))
            W_q, W_k = (
                (W - lr * slope).detach().requires_grad_()
                for W, slope in zip((W_q, W_k), slopes, strict=True)
            )
        return scores

    ours = learn(start, 1 / 8, lr)
    torch.testing.assert_close(learn(start / math.sqrt(8), 1, lr / 8), ours)
    assert not torch.allclose(ours, learn(start, 1 / 8, 0.0))


def test_in_the_capstone_additive_is_ahead_of_general_in_most_settings():
    study = measured("order")
    means = defaultdict(lambda: defaultdict(list))
    for row in (*study["rows"], *study["beyond"]["rows"]):
        setting = tuple(row[name] for name in ("lr", "updates", "readout", "order"))
        means[setting][row["score"]].append(row["bleu"])
    ahead = [fmean(of["additive"]) > fmean(of["general"]) for of in means.values()]
    assert len(ahead) == 24
    assert sum(ahead) > 20
