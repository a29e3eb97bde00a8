"""Proofs and properties that chapters/claims/08_reading_maps.yml and its formulas name."""

import importlib
import math

import pytest
import torch

from seqattn import alignment_error_rate, attention_entropy, effective_positions
from seqattn.data import FIVE, CorpusConfig, TextPair, read_split
from seqattn.evaluation import alignment_links
from seqattn.evaluation.evaluate import METHOD, THRESHOLD
from seqattn.metrics import alignment_precision_recall, coverage_report, merge_pieces
from seqattn.translator import Translator
from tests import oracles


@pytest.fixture
def some_map():
    torch.manual_seed(0)
    return torch.randn(7, 5, dtype=torch.float64).softmax(-1)


def test_the_row_by_hand():
    row = torch.tensor([[0.01, 0.0, 0.01, 0.72, 0.26, 0.0, 0.0]], dtype=torch.float64)
    assert round(attention_entropy(row).item(), 2) == 0.68
    assert round(effective_positions(row).item(), 1) == 2.0


@pytest.mark.weekly
def test_the_threshold_of_the_evaluation_hardly_matters_on_validation_pairs():
    valid = read_split(CorpusConfig(), "valid")
    gold, forced = [pair.links for pair in valid], Translator.load("toy").force(valid)
    rates = {
        threshold: alignment_error_rate(
            [alignment_links(known.weights, METHOD, threshold) for known in forced], gold, gold
        )
        for threshold in (0.2, 0.225, THRESHOLD, 0.275, 0.3)
    }
    assert min(rates, key=rates.get) == THRESHOLD == 0.25
    assert max(rates.values()) - min(rates.values()) < 0.004


def test_a_possible_link_helps_above_as_much_as_it_costs_below():
    sure = {(0, 0), (1, 1), (2, 4), (3, 5), (4, 6), (5, 7)}
    possible = {(2, 2), (2, 3)}
    found = {(0, 0), (1, 1), (2, 2), (2, 4), (3, 5), (4, 6)}
    rate = alignment_error_rate([found], [sure], [possible])
    assert rate == pytest.approx(1 - 11 / 12)
    # Without it the numerator falls by one, and so does the denominator: 1 - 10/11.
    assert alignment_error_rate([found - possible], [sure], [possible]) == pytest.approx(1 / 11)


def test_the_error_rate_is_one_minus_f1_if_and_only_if_all_is_sure():
    found, sure, extra = {(0, 0), (1, 2), (2, 1), (3, 3)}, {(0, 0), (2, 1), (4, 4)}, {(1, 2)}
    for possible, same in (set(), True), (extra, False):
        rate = alignment_error_rate([found], [sure], [possible])
        precision, recall = alignment_precision_recall([found], [sure], [possible])
        f1 = 2 * precision * recall / (precision + recall)
        assert (rate == pytest.approx(1 - f1)) is same
        assert rate == pytest.approx(oracles.alignment_error_rate([found], [sure], [possible]))
    assert pytest.approx(1 - 0.314, abs=5e-4) == 2 * 0.8 * 0.6 / (0.8 + 0.6)


def test_the_mean_total_knows_the_lengths_alone(some_map):
    torch.manual_seed(1)
    other = torch.rand(7, 5, dtype=torch.float64)
    for weights in (some_map, other / other.sum(-1, keepdim=True)):
        report = coverage_report(weights[None])
        assert report.total.mean().item() == pytest.approx(7 / 5)
        assert report.share.item() == pytest.approx(7 / 5)


def test_a_shift_can_make_the_rate_of_a_wrong_map_lower():
    gold = {(0, 0), (2, 1), (3, 2), (1, 3)}  # I love deep learning; I deep learning love
    diagonal = torch.eye(5)
    drawn = alignment_links(diagonal)
    moved = torch.cat([diagonal[1:], torch.zeros(1, 5)])  # up by one
    assert alignment_error_rate([drawn], [gold], [gold]) == 0.75
    assert alignment_links(moved) == {(1, 0), (2, 1), (3, 2)}
    rate = alignment_error_rate([alignment_links(moved)], [gold], [gold])
    assert round(rate, 2) == 0.43


def test_rows_of_any_length_by_hand():
    for n, nats in ((5, 1.61), (20, 3.0)):
        assert round(math.log(n), 2) == nats
    counts = [effective_positions(torch.full((1, n), 1 / n), threshold=0.1).item() for n in (9, 10)]
    assert counts == [9, 0]
    assert (round(1.2 / math.log(5), 2), round(1.6 / math.log(20), 2)) == (0.75, 0.53)


def test_pieces_by_hand():
    rows = torch.tensor([[0.2, 0.5, 0.3], [0.4, 0.0, 0.6]], dtype=torch.float64)
    by_hand = torch.tensor([[0.3, 0.7]], dtype=torch.float64)
    torch.testing.assert_close(merge_pieces(rows, [0, 0], [0, 1, 1]), by_hand)
    columns_averaged = torch.stack([rows[:, 0], rows[:, 1:].mean(1)], 1).mean(0)
    assert columns_averaged.sum().item() == pytest.approx(0.65)
    assert torch.stack([rows[:, 0], rows[:, 1:].sum(1)], 1).sum().item() == pytest.approx(2)


@pytest.mark.slow  # it draws the whole corpus
def test_rows_left_in_their_places_fail_the_comparison_with_forced_rows(monkeypatch, unchecked):
    """So some winner of the page's fifty-five sentences did change places in the beam."""
    translator = Translator.load("toy")
    test = read_split(CorpusConfig(), "test")[:50]
    asked = [pair.source for pair in (*FIVE, *test)]
    # Its package has the function of the same name.
    module = importlib.import_module("seqattn.decoding.beam_search")
    followed = module._trace_back

    def left(trail, places, scores):
        """Follow the words, but take each step's row from the winner's last place."""
        whole = followed(trail, places, scores)
        stays = [
            step._replace(parents=torch.arange(step.parents.shape[1]).expand_as(step.parents))
            for step in trail
        ]
        return whole._replace(weights=followed(stays, places, scores).weights)

    monkeypatch.setattr(module, "_trace_back", left)
    written = translator.translate(asked, beam=5)
    forced = translator.force([TextPair(t.source, t.text) for t in written])
    apart = [(a.weights - b.weights).abs().max() > 1e-3 for a, b in zip(written, forced)]
    assert 0 < sum(apart) < len(apart)
