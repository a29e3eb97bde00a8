"""The loss against its formula and against PyTorch's."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from seqattn.metrics import perplexity
from seqattn.training import cross_entropy
from tests.hostile import every_rubbish, spoil, surround

BATCH, STEPS, VOCAB = 3, 5, 11


def example():
    logits = torch.randn(BATCH, STEPS, VOCAB, dtype=torch.float64) * 3
    targets = torch.randint(1, VOCAB, (BATCH, STEPS))
    targets[1, 3:] = 0
    targets[2, 1:] = 0
    return logits, targets


def by_hand(logits, targets, epsilon):
    """Equation of the docstring, one token after the other."""
    total, tokens = 0.0, 0
    for row, wanted in zip(logits.reshape(-1, VOCAB).tolist(), targets.flatten().tolist()):
        if wanted == 0:
            continue
        log_p = np.array(row) - np.log(np.sum(np.exp(row)))
        total -= (1 - epsilon) * log_p[wanted] + epsilon / VOCAB * log_p.sum()
        tokens += 1
    return total, tokens


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
def test_cross_entropy_is_its_formula(epsilon):
    logits, targets = example()
    total, tokens = by_hand(logits, targets, epsilon)
    loss = cross_entropy(logits, targets, smoothing=epsilon)
    assert loss.total.item() == pytest.approx(total, rel=1e-12)
    assert loss.tokens.item() == tokens == 9
    assert loss.mean.item() == pytest.approx(total / tokens, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_cross_entropy_is_pytorchs_mean_over_real_tokens(epsilon):
    logits, targets = example()
    expected = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=0, label_smoothing=epsilon
    )
    torch.testing.assert_close(cross_entropy(logits, targets, smoothing=epsilon).mean, expected)


@every_rubbish
def test_padding_has_no_influence_and_no_gradient(rubbish):
    logits, targets = example()
    logits = spoil(logits, targets != 0, rubbish)
    logits.requires_grad_()
    cross_entropy(logits, targets, smoothing=0.1).total.backward()
    assert (logits.grad[targets == 0] == 0).all()
    assert (logits.grad[targets != 0] != 0).all()
    wider = surround(logits, rubbish, 2)
    padded = F.pad(targets, (0, 2))
    torch.testing.assert_close(
        cross_entropy(wider, padded).total, cross_entropy(logits, targets).total, rtol=1e-14, atol=0
    )


def test_half_precision_is_summed_in_single():
    logits, targets = example()
    half = logits.bfloat16()
    assert cross_entropy(half, targets).total == cross_entropy(half.float(), targets).total


def test_sums_of_batches_give_the_mean_of_the_corpus():
    logits, targets = example()
    parts = [cross_entropy(logits[i : i + 1], targets[i : i + 1]) for i in range(BATCH)]
    mean = sum(part.total for part in parts) / sum(part.tokens for part in parts)
    torch.testing.assert_close(mean, cross_entropy(logits, targets).mean)
    mean_of_means = sum(part.mean for part in parts) / BATCH
    assert abs(mean_of_means - mean) > 0.01


def test_perplexity_of_a_uniform_model_is_the_size_of_its_vocabulary():
    loss = cross_entropy(torch.zeros(BATCH, STEPS, VOCAB), example()[1])
    assert perplexity(loss.mean.item()) == pytest.approx(VOCAB)
    assert math.isfinite(perplexity(1e9))


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_gradients_are_those_of_the_formula(epsilon):
    logits, targets = example()
    logits.requires_grad_()

    def total(x):
        return cross_entropy(x, targets, smoothing=epsilon).total

    assert torch.autograd.gradcheck(total, logits)


def test_the_gradient_of_half_precision_is_that_of_single_rounded_once():
    logits, targets = example()
    half = logits.bfloat16().requires_grad_()
    single = half.detach().float().requires_grad_()
    for x in (half, single):
        cross_entropy(x, targets, smoothing=0.1).total.backward()
    assert torch.equal(half.grad, single.grad.bfloat16())


def test_a_batch_without_sentences_has_no_loss():
    loss = cross_entropy(torch.zeros(0, 4, VOCAB), torch.zeros(0, 4, dtype=torch.long))
    assert loss.total == 0
    assert loss.tokens == 0


@pytest.mark.parametrize("smoothing", [-0.1, 1.5, float("nan")])
def test_a_smoothing_that_is_no_share_is_refused(smoothing):
    logits, targets = torch.zeros(1, 2, 8), torch.tensor([[4, 2]])
    with pytest.raises(ValueError, match=r"smoothing is .*; expected a share from 0 to 1"):
        cross_entropy(logits, targets, smoothing=smoothing)
