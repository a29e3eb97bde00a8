"""What chapter 12 says beside its cells: its formulas against loops, and claims of its text."""

from itertools import product

import numpy as np
import pytest
import torch

from benchmarks import choosing
from seqattn.data import measured
from seqattn.training.regularizers import entropy_penalty, sparsity_penalty


def softmax(scores):
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


@pytest.fixture
def drawn():
    dice = np.random.default_rng(3)
    return softmax(dice.normal(size=5)), dice.normal(size=5)


def slopes(weights):
    return np.array([[(i == j) - w for j, w in enumerate(weights)] for i in range(len(weights))])


def variance(weights, rewards, b):
    estimates = [(r - b) * slope for r, slope in zip(rewards, slopes(weights), strict=True)]
    mean = sum(w * g for w, g in zip(weights, estimates, strict=True))
    return sum(w * ((g - mean) ** 2).sum() for w, g in zip(weights, estimates, strict=True))


def test_the_bound_lies_below_the_likelihood_and_meets_it_at_one_place(drawn):
    weights, rewards = drawn
    assert np.log((weights * np.exp(rewards)).sum()) > weights @ rewards + 0.01
    certain = np.eye(5)[2]
    assert np.log((certain * np.exp(rewards)).sum()) == pytest.approx(certain @ rewards)


@pytest.mark.parametrize("b", [0.0, -3.0, 10.0])
def test_estimates_average_to_the_gradient_of_the_expected_reward(drawn, b):
    weights, rewards = drawn
    average = sum(
        w * (r - b) * s for w, r, s in zip(weights, rewards, slopes(weights), strict=True)
    )
    scores, step = np.log(weights), 1e-6
    for j in range(5):
        moved = [softmax(scores + sign * step * (np.arange(5) == j)) for sign in (1, -1)]
        assert average[j] == pytest.approx(((moved[0] - moved[1]) @ rewards) / (2 * step), abs=1e-8)


def test_no_baseline_has_less_variance_than_the_best(drawn):
    weights, rewards = drawn
    sizes = (slopes(weights) ** 2).sum(1)
    best = (weights * sizes) @ rewards / (weights @ sizes)
    gradient = weights * (rewards - weights @ rewards)
    for b in np.linspace(-4, 4, 33):
        found = variance(weights, rewards, b)
        formula = (weights * (rewards - b) ** 2) @ sizes - (gradient**2).sum()
        assert found == pytest.approx(formula)
        assert found >= variance(weights, rewards, best) - 1e-12
    assert best != pytest.approx(weights @ rewards, abs=1e-3)


def test_a_baseline_that_counts_the_draw_itself_shortens_the_gradient():
    weights, rewards = np.array([0.5, 0.3, 0.2]), np.array([1.0, -2.0, 0.5])
    n, total = 4, np.zeros(3)
    for drawn in product(range(3), repeat=n):
        b = rewards[list(drawn)].mean()
        estimate = sum((rewards[i] - b) * slopes(weights)[i] for i in drawn) / n
        total += weights[list(drawn)].prod() * estimate
    exact = weights * (rewards - weights @ rewards)
    np.testing.assert_allclose(total, exact * (1 - 1 / n))


def test_straight_through_averages_to_the_soft_gradient_of_a_quadratic():
    dice = np.random.default_rng(5)
    weights, values = softmax(dice.normal(size=4)), dice.normal(size=(4, 3))
    context = weights @ values
    jacobian = np.diag(weights) - np.outer(weights, weights)
    through = sum(w * jacobian @ (values @ (2 * v)) for w, v in zip(weights, values, strict=True))
    np.testing.assert_allclose(through, jacobian @ (values @ (2 * context)))
    hard = jacobian @ (values**2).sum(1)
    assert np.abs(through - hard).max() > 0.05


def test_slopes_of_penalties_are_those_of_the_formula(drawn):
    weights, _ = drawn
    scores = torch.tensor(np.log(weights), requires_grad=True)
    row = scores.softmax(0)[None, None]
    entropy, squares = -(weights * np.log(weights)).sum(), (weights**2).sum()
    expected = {
        "entropy": (np.log(5) * entropy_penalty(row), -weights * (np.log(weights) + entropy)),
        "squares": (sparsity_penalty(row), -2 * weights * (weights - squares)),
        "absolute": (row.abs().sum(), np.zeros(5)),
    }
    for penalty, slope in expected.values():
        (found,) = torch.autograd.grad(penalty, scores, retain_graph=True)
        np.testing.assert_allclose(found.numpy(), slope, atol=1e-12)


def test_the_noise_of_dropout_counted_over_all_masks(drawn):
    weights, _ = drawn
    values, p = np.random.default_rng(1).normal(size=(5, 3)), 0.3
    noise = sums = 0.0
    for kept in product((0, 1), repeat=5):
        chance = np.prod([1 - p if k else p for k in kept])
        dropped = np.array(kept) * weights / (1 - p)
        noise += chance * ((dropped @ values - weights @ values) ** 2).sum()
        sums += chance * (dropped.sum() - 1) ** 2
    assert noise == pytest.approx(p / (1 - p) * weights**2 @ (values**2).sum(1))
    assert sums == pytest.approx(p / (1 - p) * (weights**2).sum())


def test_renormalised_rows_have_another_mean():
    """Over all ways to drop weights with p = 0.25 that leave some."""
    row, p = softmax(np.array([1.0, 1.25, -0.75])), 0.25
    mean, chance = np.zeros(3), 0.0
    for kept in product((0, 1), repeat=3):
        left = row * kept
        if left.any():
            weight = np.prod([1 - p if k else p for k in kept])
            mean, chance = mean + weight * left / left.sum(), chance + weight
    assert chance == pytest.approx(1 - p**3)
    assert (mean / chance).round(2).tolist() == [0.41, 0.48, 0.12]
    assert row.round(2).tolist() == [0.41, 0.52, 0.07]


def test_known_pairs_are_four_hundred_of_those_that_were_learned():
    assert choosing.TESTED == 400
    card = measured("choosing")["card"]
    assert card["tested on"] == 400 <= card["pairs"]


def test_sparsemax_is_the_nearest_row_and_has_exact_zeros():
    scores, found = np.array([1, 1.25, -0.75]), np.array([0.375, 0.625, 0])
    # Nearest in a convex set: no way from it to a corner leads towards the scores.
    assert found.sum() == 1
    assert max((np.eye(3) - found) @ (scores - found)) <= 1e-12
    # On these two words alone the nearest row is the scores less a common number. So the score of
    # the third moves nothing, and the others' slopes are those of a mean taken away.
    for step in np.random.default_rng(0).normal(size=(20, 3)) * 0.05:
        moved = scores + step
        row = np.append(moved[:2] - (moved[:2].sum() - 1) / 2, 0)
        assert max((np.eye(3) - row) @ (moved - row)) <= 1e-12


def test_the_place_of_the_largest_sum_with_gumbel_noise_is_a_draw(drawn):
    weights, _ = drawn
    noise = np.random.default_rng(0).gumbel(size=(200_000, 5))
    places = (np.log(weights) + noise).argmax(1)
    shares = np.bincount(places, minlength=5) / len(places)
    assert shares == pytest.approx(weights, abs=0.005)
