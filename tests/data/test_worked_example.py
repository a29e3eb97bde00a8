"""The tiny example keeps what the course says of it."""

import pytest
import torch

from benchmarks import bottleneck
from seqattn import attention
from seqattn.data import FIVE, TINY, toy_corpus

SCORES = {
    "additive": attention.additive_score(TINY.query, TINY.keys, TINY.W_q, TINY.W_k, TINY.v),
    "dot": attention.dot_score(TINY.query, TINY.keys),
    "scaled dot": attention.scaled_dot_score(TINY.query, TINY.keys),
    "general": attention.general_score(TINY.query, TINY.keys, TINY.W),
    "concat": attention.concat_score(TINY.query, TINY.keys, TINY.W_c, TINY.v),
    "reduced rank": attention.reduced_rank_score(TINY.query, TINY.keys, TINY.U, TINY.V),
}
WEIGHTS = {name: attention.masked_softmax(scores)[0] for name, scores in SCORES.items()}


@pytest.mark.parametrize("name", WEIGHTS)
def test_no_score_saturates_and_rounded_weights_sum_to_one(name):
    weights = WEIGHTS[name]
    assert weights.min() > 0.05
    assert weights.max() < 0.65
    assert sum(round(w, 2) for w in weights.tolist()) == pytest.approx(1.0)


def test_every_score_function_gives_different_weights_and_another_favourite():
    names = list(WEIGHTS)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert (WEIGHTS[one] - WEIGHTS[other]).abs().max() > 0.02
    assert {int(weights.argmax()) for weights in WEIGHTS.values()} == {0, 1, 2}


def test_matrices_are_not_symmetric_and_no_entry_is_zero():
    for matrix in (TINY.W_q, TINY.W_k, TINY.W):
        assert not torch.equal(matrix, matrix.T)
    for tensor in (TINY.h, TINY.s, TINY.W_q, TINY.W_k, TINY.v, TINY.W, TINY.W_c, TINY.U, TINY.V):
        assert tensor.dtype == torch.float64
        assert (tensor != 0).all()
        assert torch.equal(tensor, (tensor * 10).round() / 10)


@pytest.mark.parametrize("train", [800, 8_000, pytest.param(40_000, marks=pytest.mark.slow)])
def test_no_corpus_trains_on_the_five_sentences(train):
    corpus = toy_corpus(train)
    assert not {p.source for p in FIVE} & {p.source for p in corpus["train"]}
    if train == 40_000:
        assert set(FIVE) <= set(corpus["test"])


@pytest.mark.slow
def test_the_bottleneck_benchmark_keeps_the_five_sentences_out(monkeypatch):
    monkeypatch.setattr(bottleneck, "PAIRS", 6_000)  # the cat is the 5705th
    monkeypatch.setattr(bottleneck, "LENGTHS", (4,))
    train, tests = bottleneck.corpus()
    assert len(train) == 6_000
    assert not {p.source for p in FIVE} & {p.source for p in [*train, *tests[4]]}
