"""Proofs and properties that chapters/claims/11_coverage.yml and its formulas name."""

from random import Random

import numpy as np
import pytest
import torch

from benchmarks import copying, remembering
from seqattn import CoverageAttention, coverage_loss
from seqattn.data import TINY, tokenize
from seqattn.models import CopyGate, mix_copy


def stuck(w_c, steps):
    attention = CoverageAttention(2, 2, 2).double()
    with torch.no_grad():
        attention.w_c.copy_(torch.tensor(w_c))
        for name in ("W_q", "W_k", "v"):
            getattr(attention.attention.score, name).copy_(getattr(TINY, name))
        weights = attention(TINY.s.expand(1, steps, 2), TINY.keys).weights[0].numpy()
    before = np.cumsum(weights, 0) - weights
    return weights, before, [np.minimum(a, c).sum() for a, c in zip(weights, before, strict=True)]


def test_equal_letters_bound_the_loss_of_a_sorted_bag_from_below():
    """They have one state, so in a row they have equal weights, whatever the row.

    A place pays at least its total minus its largest weight, and the largest weights of equal
    letters sum to at most 1: so a bag pays its steps, the end included, minus its kinds.
    """
    bags = remembering.held_out(ends=False)[6]
    least = [1 - len(set(one.source)) / len(one.target) for one in bags]
    assert round(sum(least) / len(least), 2) == 0.53
    torch.manual_seed(0)
    for one, bound in zip(bags[:50], least):
        kinds = torch.tensor(one.source)
        scores = (5 * torch.randn(1, len(one.target), int(kinds.max()) + 1))[:, :, kinds]
        weights = scores.softmax(-1)[0]
        paid = torch.minimum(weights, weights.cumsum(0) - weights).sum(0)
        assert (paid > weights.sum(0) - weights.amax(0) - 1e-6).all()
        assert float(coverage_loss(weights[None])) > bound - 1e-6
    # Each kind once, then again: the least.
    one, bound = bags[0], least[0]
    order = sorted(set(one.source))
    asked = (order * len(one.target))[: len(one.target)]
    rows = (torch.tensor(one.source) == torch.tensor(asked)[:, None]).float()
    assert float(coverage_loss((rows / rows.sum(1, keepdim=True))[None])) == pytest.approx(bound)


def test_the_stuck_decoder_by_hand():
    weights, before, losses = stuck([-1.0, -2.0], 3)
    two_digits = dict(atol=0.00501, rtol=0)
    rows = [[0.52, 0.32, 0.16], [0.28, 0.46, 0.26], [0.29, 0.31, 0.40]]
    np.testing.assert_allclose(weights, rows, **two_digits)
    np.testing.assert_allclose(before[1:], [[0.52, 0.32, 0.16], [0.80, 0.78, 0.42]], **two_digits)
    np.testing.assert_allclose(losses, [0, 0.77, 1.0], **two_digits)
    np.testing.assert_allclose(before[2] + weights[2], [1.09, 1.09, 0.82], **two_digits)
    scores = [[0.88, 0.42, -0.29], [-0.65, -0.16, -0.72], [-1.54, -1.49, -1.24]]
    for seen, row in zip(before, scores, strict=True):
        s, h, W_q, W_k, v = (getattr(TINY, x).numpy() for x in ("s", "h", "W_q", "W_k", "v"))
        w_c = np.array([-1.0, -2.0])
        found = [v @ np.tanh(W_q @ s + W_k @ h[i] + w_c * seen[i]) for i in range(3)]
        np.testing.assert_allclose(found, row, **two_digits)


def test_without_w_c_the_stuck_decoder_stays():
    weights, _, losses = stuck([0.0, 0.0], 3)
    assert (weights == weights[0]).all()
    np.testing.assert_allclose(weights.sum(0), [1.55, 0.97, 0.48], atol=0.00501)
    np.testing.assert_allclose(losses, [0, 1, 1], atol=1e-12)


def test_even_looks_cost_as_much_as_the_same_look_twice():
    even = torch.full((1, 2, 10), 0.1)
    twice = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    for rows in (even, twice):
        assert coverage_loss(rows) * 2 == pytest.approx(1)  # the first of two steps costs nothing


def test_the_questions_by_hand():
    rows = torch.tensor([[[0.8, 0.2], [0.3, 0.7]]])
    assert coverage_loss(rows).item() * 2 == pytest.approx(0.5)
    assert (rows[0, 0] * rows[0, 1]).sum().item() == pytest.approx(0.38)
    weights, source = torch.tensor([[0.6, 0.3, 0.1]]), torch.tensor([[3, 0, 3]])
    mixed = mix_copy(torch.zeros(1, 3), weights, torch.tensor([0.2]).logit(), source, 4).exp()
    assert mixed[0, 3].item() == pytest.approx(0.56)


def test_the_gate_is_the_formula():
    torch.manual_seed(0)
    gate = CopyGate(3, 5, 2).double()
    context, state, word = (torch.randn(7, n).double() for n in (3, 5, 2))
    w, b = gate.gate.weight[0].detach().numpy(), gate.gate.bias.item()
    for row, *parts in zip(gate(context, state, word), context, state, word, strict=True):
        inside = w @ np.concatenate([x.numpy() for x in parts]) + b
        assert row.sigmoid().item() == pytest.approx(1 / (1 + np.exp(-inside)))


def test_a_copied_name_teaches_where_to_look():
    torch.manual_seed(0)
    scores = torch.randn(1, 6).double().requires_grad_()
    source = torch.tensor([[7, 2, 8, 0, 8, 1]])
    weights = scores.softmax(-1)
    logits = torch.randn(1, 5).double()
    log_p = mix_copy(logits, weights, torch.randn(1).double(), source, 9)[0]
    for word in (7, 8):
        (slope,) = torch.autograd.grad(log_p[word], scores, retain_graph=True)
        here = (source == word).double()
        expected = weights * here / (weights * here).sum() - weights
        torch.testing.assert_close(slope, expected)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_training_has_met_the_bags_of_6_and_none_that_is_longer(seed):
    dice = Random(seed)
    met = {
        tuple(sorted(bag.source))
        for _ in range(remembering.UPDATES)
        for bag in remembering.bags(remembering.ROWS, remembering.LENGTHS, dice, False)
    }
    for length, wanted in remembering.held_out(False).items():
        asked = {tuple(sorted(bag.source)) for bag in wanted}
        assert asked <= met if length == 6 else asked.isdisjoint(met)


def test_most_test_sentences_without_their_names_stand_in_the_training():
    data = copying.read()
    known = {word for pair in data["vocabulary"] for word in tokenize(pair.source, "en")}

    def without_names(pair):
        return tuple(word if word in known else "" for word in tokenize(pair.source, "en"))

    trained = set(map(without_names, data["train"]))
    share = np.mean([without_names(pair) in trained for pair in data["test"]])
    assert 0.6 < share < 0.9
