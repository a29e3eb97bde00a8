"""Proofs and properties that chapters/claims/14_self_attention.yml and its formulas name."""

import math
from collections import defaultdict

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from seqattn import MultiHeadAttention, causal_mask, scaled_dot_score
from seqattn.data import TINY, which_clause


def test_the_numbers_by_hand():
    # The states compared with each other.
    weights = (TINY.h @ TINY.h.T / math.sqrt(2)).softmax(-1)
    assert weights[0].tolist() == pytest.approx([0.52, 0.26, 0.22], abs=0.005)
    assert (weights @ TINY.h)[0].tolist() == pytest.approx([0.50, 0.43], abs=0.005)
    assert (weights.diagonal() == weights.amax(-1)).all()
    # Three matrices.
    W_q, W_k, W_v = torch.tensor([[[1, 1], [0, -1]], [[0, 1], [2, 0]], [[1, 0], [2, 1]]]).to(TINY.h)
    Q, K, V = TINY.h @ W_q, TINY.h @ W_k, TINY.h @ W_v
    assert Q.tolist()[::2] == [[1, 0.5], [0.5, 1.5]]
    assert TINY.h[0].tolist() == [1, 0.5]
    assert K.tolist() == [[1, 1], [3, -0.5], [-2, 0.5]]
    assert V.tolist() == [[2, 0.5], [2.5, 1.5], [-1.5, -1]]
    assert (K @ Q[0]).tolist() == [1.5, 2.75, -1.75]
    scores = Q @ K.T / math.sqrt(2)
    assert scores[0].tolist() == pytest.approx([1.06, 1.94, -1.24], abs=0.005)
    weights = scores.softmax(-1)
    assert weights[0].tolist() == pytest.approx([0.28, 0.69, 0.03], abs=0.005)
    assert (weights @ V)[0].tolist() == pytest.approx([2.24, 1.14], abs=0.005)
    causal = scores.masked_fill(~causal_mask(3), -math.inf).softmax(-1)
    assert causal[0].tolist() == [1, 0, 0]
    assert torch.equal(causal[2], weights[2])


def test_one_matrix_makes_scores_symmetric():
    torch.manual_seed(0)
    x = torch.randn(3, 5, 7, dtype=torch.float64) @ torch.randn(7, 11, dtype=torch.float64)
    scores = scaled_dot_score(x, x)
    torch.testing.assert_close(scores, scores.mT)
    own = x.square().sum(-1) / math.sqrt(11)
    torch.testing.assert_close(scores.diagonal(0, -2, -1), own)
    alike = x / x.norm(dim=-1, keepdim=True)
    assert (scaled_dot_score(alike, alike).argmax(-1) == torch.arange(5)).all()


def test_outputs_move_with_their_words():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(6, 3).double(), torch.randn(2, 5, 6, dtype=torch.float64)
    order = torch.tensor([3, 0, 4, 1, 2])
    moved, still = layer(x[:, order]).context, layer(x).context
    torch.testing.assert_close(moved, still[:, order])
    torch.testing.assert_close(moved.mean(1), still.mean(1))
    mask = causal_mask(5)[None]
    causal = layer(x[:, order], mask=mask).context - layer(x, mask=mask).context[:, order]
    assert causal.abs().max() > 0.1


def test_every_sentence_has_a_twin_of_the_same_words_with_the_other_label():
    labels = defaultdict(list)
    for one in which_clause(6144):
        labels[tuple(sorted(one.text.split()))].append(one.positive)
    assert all(sum(found) * 2 == len(found) for found in labels.values())


@pytest.mark.parametrize(("words", "size"), [(5, 8), (13, 8)])
def test_multiplications_of_self_attention_and_gru(words, size):
    layer, x = MultiHeadAttention(size, 2), torch.randn(1, words, size)
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        layer(x)
    assert counted.get_total_flops() // 2 == 4 * words * size**2 + 2 * words**2 * size
    gru = torch.nn.GRU(size, size)
    # Each word meets each weight once.
    assert words * sum(w.numel() for w in gru.parameters() if w.dim() == 2) == 6 * words * size**2


@pytest.mark.slow
def test_who_remembers_the_words_says_the_label_of_the_other_order():
    drawn = which_clause(4000)
    words = {w: i for i, w in enumerate(sorted({w for one in drawn for w in one.text.split()}))}
    counts, labels = torch.zeros(4000, len(words)), torch.tensor([one.positive for one in drawn])
    for row, one in zip(counts, drawn, strict=True):
        for word in one.text.split():
            row[words[word]] += 1
    seen = defaultdict(set)
    for row, one in zip(counts[:3000], drawn, strict=False):
        seen[tuple(row.tolist())].add(one.positive)
    test, truth = counts[3500:], labels[3500:]
    twins = torch.tensor(
        [seen[tuple(row.tolist())] == {not y} for row, y in zip(test, truth.tolist(), strict=True)]
    )
    for seed in (1, 2, 3):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(len(words), 64), nn.ReLU(), nn.Linear(64, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
        for _ in range(600):
            at = torch.randint(3000, (64,))
            loss = F.cross_entropy(model(counts[at]), labels[at].long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        right = (model(test).argmax(-1) == truth).double()
        assert right[twins].mean() < min(0.48, right[~twins].mean())
