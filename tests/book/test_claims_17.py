"""What chapter 17 says beside its cells: its formulas against draws, and claims of its text."""

import math

import numpy as np
import pytest

from seqattn.data import measured
from seqattn.metrics import bootstrap_bleu, sentence_counts


def test_the_half_width_holds_the_share_in_19_of_20_draws():
    dice = np.random.default_rng(0)
    for p, n in ((0.76, 1000), (0.5, 200)):
        w = 1.96 * math.sqrt(p * (1 - p) / n)
        shares = dice.binomial(n, p, size=20_000) / n
        assert (abs(shares - p) <= w).mean() == pytest.approx(0.95, abs=0.012)
    assert round(1.96 * math.sqrt(0.76 * 0.24 / 1000), 3) == 0.026


def test_pairing_takes_the_covariance_off():
    stored = measured("seeds")
    a, b = (
        bootstrap_bleu(sentence_counts(texts, stored["references"]), draws=300).numpy()
        for texts in stored["texts"]["whole"][:2]
    )
    both = np.cov(a, b)
    assert np.var(b - a, ddof=1) == pytest.approx(both[0, 0] + both[1, 1] - 2 * both[0, 1])
    assert both[0, 1] > 0


def test_the_best_of_more_seeds_flatters_more():
    scores = np.random.default_rng(1).normal(size=(20_000, 5))
    best = [scores[:, :n].max(1).mean() for n in (1, 3, 5)]
    assert best[0] + 0.5 < best[1] < best[2] - 0.2
    # Twice the spread, twice the flattery.
    assert (2 * scores[:, :3]).max(1).mean() == pytest.approx(2 * best[1])


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 3), (3, 5), (5, 5)])
def test_equal_methods_are_apart_as_often_as_the_formula_says(n, m):
    scores = np.random.default_rng(2).normal(size=(40_000, n + m))
    a, b = scores[:, :n], scores[:, n:]
    apart = (a.max(1) < b.min(1)) | (b.max(1) < a.min(1))
    chance = 2 / math.comb(n + m, n)
    assert apart.mean() == pytest.approx(chance, abs=4 * math.sqrt(chance / len(scores)))
