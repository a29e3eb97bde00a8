"""What chapter 17 says beside its cells: its formulas against draws, and claims of its text."""

import itertools
import math

import numpy as np
import pytest
import torch

from benchmarks import seeds
from seqattn.data import generate, measured
from seqattn.metrics import bootstrap_bleu, paired_bootstrap, sentence_counts
from seqattn.widgets import PairedDraws


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


@pytest.fixture
def figure():
    """Draw the chapter's figure of draws again, as its cell does."""
    stored = measured("seeds")
    systems = {"seed 3": ("whole", 2), "seed 5": ("whole", 4), "half": ("half", 0)}
    return PairedDraws(
        {
            name: sentence_counts(stored["texts"][part][place], stored["references"])
            for name, (part, place) in systems.items()
        }
    )


def test_the_same_draws_narrow_the_interval_of_every_difference(figure):
    for against, size in itertools.product(("seed 5", "half"), range(len(figure.sizes))):
        figure.against, figure.size, figure.paired = against, size, False
        own = figure.numbers()
        figure.paired = True
        same = figure.numbers()
        assert same["plus_minus_difference"] < 0.8 * own["plus_minus_difference"]
        assert same["plus_minus"][0] == own["plus_minus"][0]
        assert same["correlation"] > 0.3 > abs(own["correlation"])


def test_the_interval_of_seeds_3_and_5_leaves_0_out_while_sentences_are_few(figure):
    figure.paired = True
    outside = []
    for size in range(len(figure.sizes)):
        figure.size = size
        shown = figure.numbers()
        outside.append(abs(shown["difference"]) > shown["plus_minus_difference"])
    assert outside[:2] == [True, True]
    assert not outside[3]
    # Nor does it hang on the draws.
    stored = measured("seeds")
    counts = [
        sentence_counts(stored["texts"]["whole"][place], stored["references"]) for place in (2, 4)
    ]
    for n, apart in ((50, True), (100, True), (400, False)):
        found = [paired_bootstrap(*(c[:n] for c in counts), seed=seed) for seed in range(3)]
        assert all((one.low > 0 or one.high < 0) == apart for one in found)


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


@pytest.mark.slow
def test_the_seeds_differ_in_their_first_weights_alone(monkeypatch):
    began = []

    def fit(model, batches, **_):
        weights = torch.cat([p.detach().flatten() for p in model.parameters()])
        began.append((weights, [batches.plan(epoch) for epoch in (0, 1)]))
        raise InterruptedError

    monkeypatch.setattr(seeds, "fit", fit)
    data = seeds.read()
    for seed in (1, 2):
        with pytest.raises(InterruptedError):
            seeds.train(data, "whole", 0.02, seed)
    (one, order), (other, same) = began
    assert not torch.equal(one, other)
    assert order == same
    assert seeds.MODEL.dropout == 0


def test_every_word_of_the_corpus_has_a_link():
    for pair in generate(2_000, seed=17):
        english, french = ({link[side] for link in pair.links} for side in (0, 1))
        assert english == set(range(len(pair.source)))
        assert french == set(range(len(pair.target)))
