"""Instruments of the bottleneck chapter."""

import math

import pytest
import torch

from seqattn.metrics import gradient_reach, longest_countable, superpose, unpack


def _code(vocabulary, positions, d):
    g = torch.Generator().manual_seed(0)
    embeddings = torch.randn(vocabulary, d, generator=g) / math.sqrt(d)
    signs = torch.randint(0, 2, (positions, d), generator=g) * 2.0 - 1.0
    return embeddings, signs, torch.randint(vocabulary, (positions,), generator=g)


def test_superposed_vector_is_the_sum_over_positions():
    embeddings, signs, tokens = _code(vocabulary=11, positions=7, d=5)
    expected = [
        sum(signs[i, k].item() * embeddings[tokens[i], k].item() for i in range(7))
        for k in range(5)
    ]
    assert superpose(tokens, embeddings, signs).tolist() == pytest.approx(expected, abs=1e-6)


def test_a_short_sentence_is_read_back_and_a_long_one_is_not():
    embeddings, signs, tokens = _code(vocabulary=1000, positions=10, d=512)
    assert torch.equal(unpack(superpose(tokens, embeddings, signs), embeddings, signs), tokens)
    embeddings, signs, tokens = _code(vocabulary=1000, positions=100, d=512)
    read = unpack(superpose(tokens, embeddings, signs), embeddings, signs)
    assert (read == tokens).float().mean() < 0.4


@pytest.mark.slow
def test_gradient_reach_matches_the_jacobian():
    torch.manual_seed(3)
    rnn = torch.nn.GRU(3, 5, batch_first=True)
    x = torch.randn(2, 7, 3, requires_grad=True)
    jacobian = torch.autograd.functional.jacobian(lambda x: rnn(x)[0][:, -1], x)
    norms = torch.stack([jacobian[b, :, b].pow(2).sum((0, 2)).sqrt() for b in range(2)]).mean(0)
    g = torch.Generator().manual_seed(0)
    measured = gradient_reach(rnn(x)[0][:, -1], x, probes=3000, generator=g)
    torch.testing.assert_close(measured, norms / norms.max(), rtol=0.05, atol=0.005)


def test_gradient_reach_needs_a_gradient():
    with pytest.raises(ValueError, match="do not require a gradient"):
        gradient_reach(torch.ones(1, 2), torch.ones(1, 3, 2))
    with pytest.raises(ValueError, match="probes is 0; expected at least 1"):
        gradient_reach(torch.ones(1, 2), torch.ones(1, 3, 2).requires_grad_(), probes=0)


def test_the_counting_bound_is_the_last_length_that_fits():
    for d, vocabulary, bits in [(2, 7, 8), (512, 32_000, 32), (1000, 32_000, 32)]:
        words = longest_countable(d, vocabulary, bits)
        assert vocabulary**words <= 2 ** (bits * d) < vocabulary ** (words + 1)


def test_a_vocabulary_of_one_word_has_no_bound():
    with pytest.raises(ValueError, match="vocabulary is 1"):
        longest_countable(512, 1)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda e, r: superpose(torch.tensor([0]), e, r),
            ValueError,
            r"tokens has shape \(1,\); expected \(2,\) to fit signs of shape \(2, 5\)",
        ),
        (lambda e, r: superpose(torch.tensor([0, 1]), e, r[:, :1]), ValueError, "signs have shape"),
        (lambda e, r: superpose(torch.tensor([0, 1]), e, r[0]), ValueError, "signs have shape"),
        (
            lambda e, r: superpose(torch.tensor([True, False]), e, r),
            TypeError,
            "tokens have dtype torch.bool; expected whole numbers",
        ),
        (lambda e, r: unpack(torch.ones(1), e, r), ValueError, r"vector has shape \(1,\)"),
        (lambda e, r: unpack(torch.ones(5), e, r[:, :1]), ValueError, "signs have shape"),
    ],
)
def test_shapes_that_would_broadcast_are_refused(call, error, said, unchecked):
    with pytest.raises(error, match=said):
        call(torch.randn(7, 5), torch.ones(2, 5))
