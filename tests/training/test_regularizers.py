"""Penalties on weights: their values, and what minimising them does."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from seqattn import effective_positions, masked_softmax, padding_mask
from seqattn.training.regularizers import (
    doubly_stochastic_penalty,
    entropy_penalty,
    sparsity_penalty,
)
from tests import oracles
from tests.hostile import every_rubbish, surround

B, H, T, K = 3, 2, 4, 7
TARGET = padding_mask(torch.tensor([T, 2, 3]), T)
SOURCE = padding_mask(torch.tensor([K, 5, 2]), K)


def maps(heads=False):
    shape = (B, H, T, K) if heads else (B, T, K)
    return masked_softmax(2 * torch.randn(*shape).double(), SOURCE)


def rows(weights):
    """Each real row with its true length."""
    for b, t in TARGET.nonzero().tolist():
        for head in weights[b, ..., t, :].reshape(-1, K):
            yield head[SOURCE[b]].numpy(), int(SOURCE[b].sum())


@pytest.mark.parametrize("heads", [False, True])
def test_values_are_those_of_the_formulas(heads):
    weights = maps(heads)
    entropy = np.mean([oracles.entropy(w) / np.log(n) for w, n in rows(weights)])
    assert entropy_penalty(weights, TARGET, SOURCE).item() == pytest.approx(entropy)
    gini = np.mean([1 - sum(x**2 for x in w) for w, _ in rows(weights)])
    assert sparsity_penalty(weights, TARGET).item() == pytest.approx(gini)
    totals = []
    for b in range(B):
        for h in range(H if heads else 1):
            rows_ = (weights[b, h] if heads else weights[b])[TARGET[b]]
            totals += [(1.5 - rows_[:, i].sum().item()) ** 2 for i in range(int(SOURCE[b].sum()))]
    found = doubly_stochastic_penalty(weights, TARGET, SOURCE, target=1.5).item()
    assert found == pytest.approx(np.mean(totals))


@pytest.mark.parametrize("heads", [False, True])
@every_rubbish
def test_padding_changes_nothing(heads, rubbish):
    weights = maps(heads)
    longer = surround(surround(weights, 0.0, 3, dim=-1), rubbish, 5, dim=-2).requires_grad_()
    target, source = (torch.nn.functional.pad(m, (0, n)) for m, n in ((TARGET, 5), (SOURCE, 3)))
    for penalty, given, padded in (
        (entropy_penalty, (TARGET, SOURCE), (target, source)),
        (sparsity_penalty, (TARGET,), (target,)),
        (doubly_stochastic_penalty, (TARGET, SOURCE), (target, source)),
    ):
        found = penalty(longer, *padded)
        torch.testing.assert_close(found, penalty(weights, *given))
        (gradient,) = torch.autograd.grad(found, longer)
        assert gradient.isfinite().all()
        assert not gradient[..., -5:, :].any()


@pytest.mark.parametrize(
    ("penalty", "sign", "grows"),
    [(entropy_penalty, 1, False), (entropy_penalty, -1, True), (sparsity_penalty, 1, False)],
)
def test_minimising_sharpens_or_spreads_as_said(penalty, sign, grows):
    scores = torch.randn(1, T, K).double().requires_grad_()
    before = effective_positions(scores.softmax(-1)).mean()
    for _ in range(50):
        (gradient,) = torch.autograd.grad(sign * penalty(scores.softmax(-1)), scores)
        scores.data -= 5.0 * gradient
    after = effective_positions(scores.softmax(-1)).mean()
    assert (after > before + 0.5) if grows else (after < before - 0.5)


def test_minimising_coverage_looks_everywhere():
    scores = torch.zeros(1, K, K).double()
    scores[..., 0] = 3.0  # all look at the first
    scores.requires_grad_()
    least = scores.softmax(-1).sum(1).min().item()
    for _ in range(200):
        (gradient,) = torch.autograd.grad(doubly_stochastic_penalty(scores.softmax(-1)), scores)
        scores.data -= 2.0 * gradient
    assert least < 0.5
    assert scores.softmax(-1).sum(1).min() > 0.9


def test_rows_that_attend_nowhere_are_left_out_and_their_gradient_is_finite():
    scores = torch.randn(B, T, K).double().requires_grad_()
    mask = padding_mask(torch.tensor([K, 3, 0]), K)
    for penalty in (entropy_penalty, sparsity_penalty):
        loss = penalty(masked_softmax(scores, mask))
        alone = penalty(masked_softmax(scores[:2], mask[:2]))
        torch.testing.assert_close(loss, alone)
        (gradient,) = torch.autograd.grad(loss, scores)
        assert gradient.isfinite().all()
    assert entropy_penalty(torch.zeros(B, T, K)) == 0


def test_gradcheck():
    scores = torch.randn(2, 3, 5).double().requires_grad_()
    target, source = padding_mask(torch.tensor([3, 1]), 3), padding_mask(torch.tensor([5, 2]), 5)

    def all_three(e):
        weights = masked_softmax(e, source)
        return (
            entropy_penalty(weights, target, source),
            sparsity_penalty(weights, target),
            doubly_stochastic_penalty(weights, target, source),
        )

    assert gradcheck(all_three, scores)


@pytest.mark.parametrize("penalty", [entropy_penalty, sparsity_penalty, doubly_stochastic_penalty])
def test_a_mask_of_another_shape_is_refused(penalty, unchecked):
    with pytest.raises(ValueError, match="one flag per sentence and token"):
        penalty(maps(), torch.ones(B, T + 1).bool())
    with pytest.raises(TypeError, match=r"mask has dtype torch\.int32; expected"):
        penalty(maps(), torch.ones(B, T).int())


def test_coverage_is_wanted_once_unless_told_otherwise():
    assert doubly_stochastic_penalty(torch.eye(3)[None]) == 0
    assert doubly_stochastic_penalty(2 * torch.eye(3)[None], target=2.0) == 0
    assert doubly_stochastic_penalty(torch.zeros(1, 4, 3)) == 1


def test_a_single_row_is_its_own_mean():
    weights = torch.tensor([[[0.5, 0.5], [1.0, 0.0]]])
    only = torch.tensor([[True, False]])
    assert entropy_penalty(weights, only).item() == pytest.approx(1.0)
    assert sparsity_penalty(weights, only).item() == pytest.approx(0.5)


@pytest.mark.parametrize("heads", [False, True])
def test_a_mask_of_another_shape_is_refused_with_both(heads, unchecked):
    with pytest.raises(ValueError, match=r"\(3, 4\), one flag per sentence and token"):
        sparsity_penalty(maps(heads), torch.ones(B, T + 1, dtype=torch.bool))


@pytest.mark.parametrize("penalty", [entropy_penalty, sparsity_penalty, doubly_stochastic_penalty])
def test_a_weight_that_is_no_number_is_not_taken_for_a_row_without_words(penalty):
    weights = maps()
    weights[0, 0, 0] = torch.nan
    assert penalty(weights, TARGET).isnan()


@pytest.mark.parametrize("penalty", [entropy_penalty, sparsity_penalty])
def test_what_a_mask_hides_is_not_counted_even_if_it_is_no_number(penalty):
    weights = maps()
    expected = penalty(weights, TARGET)
    weights[1, 3] = torch.nan  # beyond the target's end
    torch.testing.assert_close(penalty(weights, TARGET), expected)


@pytest.mark.parametrize("penalty", [entropy_penalty, sparsity_penalty, doubly_stochastic_penalty])
def test_half_precision_is_averaged_in_full(penalty):
    # 300 rows: in bfloat16 a count stops at 256.
    weights = torch.rand(1, 300, 4).softmax(-1)
    found = penalty(weights.bfloat16())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, penalty(weights.bfloat16().float()))
