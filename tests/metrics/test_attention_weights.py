"""Entropy, effective positions, largest weight and hard alignments."""

import inspect
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from seqattn import attention_entropy, effective_positions, masked_softmax, padding_mask
from seqattn.metrics import (
    alignment_error_rate,
    hard_alignment,
    max_weight,
    pattern_scores,
    weight_distance,
)
from tests import oracles
from tests.hostile import every_rubbish


@st.composite
def attention_maps(draw):
    """Weights (B, Q, K) over a mask that may close single cells and whole rows."""
    shape = tuple(draw(st.integers(1, n)) for n in (3, 3, 7))
    flags = draw(st.lists(st.booleans(), min_size=math.prod(shape), max_size=math.prod(shape)))
    mask = torch.tensor(flags).reshape(shape)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    scores = torch.randn(shape, generator=generator, dtype=torch.float64)
    return masked_softmax(draw(st.sampled_from([0.0, 1.0, 100.0])) * scores, mask), mask


def rows(weights, mask):
    return zip(weights.flatten(0, 1).numpy(), mask.flatten(0, 1).numpy(), strict=True)


@given(attention_maps(), st.sampled_from([None, 2, math.e, 10.0]))
def test_entropy_is_the_formula(case, base):
    weights, mask = case
    expected = [oracles.entropy(w, m) / math.log(base or math.e) for w, m in rows(weights, mask)]
    for given_mask in (mask, None):  # masked weights are zero: the mask changes nothing here
        entropy = attention_entropy(weights, given_mask, base=base)
        assert entropy.shape == weights.shape[:2]
        np.testing.assert_allclose(entropy.flatten().numpy(), expected, atol=1e-12, rtol=0)


@given(attention_maps())
def test_normalised_entropy_divides_by_the_log_of_the_true_length(case):
    weights, mask = case
    expected = []
    for w, m in rows(weights, mask):
        length = int(m.sum())
        expected.append(oracles.entropy(w, m) / math.log(length) if length > 1 else 0.0)
        expected[-1] = math.nan if length == 0 else expected[-1]
    result = attention_entropy(weights, mask, normalized=True).flatten().numpy()
    np.testing.assert_allclose(result, expected, atol=1e-12, rtol=0)
    again = attention_entropy(weights, mask, normalized=True, base=2).flatten().numpy()
    np.testing.assert_array_equal(result, again)


@given(attention_maps())
def test_bounds(case):
    weights, mask = case
    attends = mask.any(-1)
    lengths = mask.sum(-1)[attends].double()
    slack = 1e-12
    for values, low, high in (
        (attention_entropy(weights, mask), 0, lengths.log()),
        (attention_entropy(weights, mask, normalized=True), 0, 1),
        (effective_positions(weights, mask), 1, lengths),
        (effective_positions(weights, mask, threshold=0.2), 0, lengths),
        (max_weight(weights, mask), 1 / lengths, 1),
    ):
        assert (values[attends] >= low - slack).all()
        assert (values[attends] <= high + slack).all()
        assert values[~attends].isnan().all()


def test_uniform_and_one_hot():
    uniform, one_hot = torch.full((1, 8), 1 / 8), torch.eye(8)[:1]
    assert attention_entropy(uniform).item() == pytest.approx(math.log(8))
    assert attention_entropy(uniform, base=2).item() == pytest.approx(3)
    assert attention_entropy(uniform, normalized=True).item() == pytest.approx(1)
    assert effective_positions(uniform).item() == pytest.approx(8)
    assert max_weight(uniform).item() == 1 / 8
    assert attention_entropy(one_hot).item() == 0
    assert math.copysign(1, attention_entropy(one_hot).item()) == 1  # not -0.0
    assert effective_positions(one_hot).item() == 1
    assert max_weight(one_hot).item() == 1


@given(attention_maps())
def test_entropy_agrees_with_torch_distributions(case):
    weights, mask = case
    attends = mask.any(-1)
    expected = torch.distributions.Categorical(probs=weights[attends]).entropy()
    ours = attention_entropy(weights, mask)[attends]
    torch.testing.assert_close(ours, expected, atol=1e-7, rtol=0)  # theirs clamps at epsilon


def test_entropy_does_not_depend_on_the_order_of_positions():
    weights = torch.randn(3, 5, 7).double().softmax(-1)
    shuffled = weights[..., torch.randperm(7)]
    torch.testing.assert_close(attention_entropy(weights), attention_entropy(shuffled))


@every_rubbish
def test_padding_changes_nothing(rubbish):
    weights, mask = torch.full((1, 9), rubbish), padding_mask(torch.tensor([5]), 9)
    weights[:, :5] = torch.tensor([0.4, 0.3, 0.1, 0.1, 0.1])
    for measure in (attention_entropy, effective_positions, max_weight):
        assert measure(weights, mask).item() == pytest.approx(measure(weights[:, :5]).item())
    assert attention_entropy(weights, mask, normalized=True).item() == pytest.approx(
        attention_entropy(weights[:, :5], normalized=True).item()
    )


def test_weight_outside_the_mask_is_ignored():
    weights = torch.tensor([[0.5, 0.5, 0.7]])
    mask = torch.tensor([[True, True, False]])
    assert attention_entropy(weights, mask).item() == pytest.approx(math.log(2))
    assert max_weight(weights, mask).item() == 0.5
    assert effective_positions(weights, mask, threshold=0.1).item() == 2


def test_padded_target_rows_are_left_out_of_a_mean():
    weights = torch.full((2, 3, 4), 0.25)
    source, target = padding_mask(torch.tensor([4, 4])), padding_mask(torch.tensor([3, 1]))
    both = target[:, :, None] & source[:, None, :]
    entropy = attention_entropy(weights, both)
    assert entropy.isnan().tolist() == (~target).tolist()
    assert entropy.nanmean().item() == pytest.approx(math.log(4))


def test_a_row_of_zeros_is_not_taken_for_a_focused_one():
    zeros = torch.zeros(2, 5)
    for measure in (attention_entropy, effective_positions, max_weight):
        assert measure(zeros).isnan().all()
    assert effective_positions(zeros, threshold=0.1).isnan().all()


def test_nan_weights_stay_visible():
    assert attention_entropy(torch.tensor([[math.nan, 0.5]])).isnan().all()


def test_heads_keep_their_axis():
    weights = torch.rand(2, 3, 5, 7).softmax(-1)
    mask = padding_mask(torch.tensor([7, 4]))
    assert attention_entropy(weights, mask).shape == (2, 3, 5)
    assert max_weight(weights, mask).shape == (2, 3, 5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_finite(dtype):
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], dtype=dtype)
    entropy = attention_entropy(weights)
    assert entropy.dtype == torch.float32  # half of it could not count far
    assert entropy.tolist() == [0, pytest.approx(math.log(2), abs=1e-2)]


def test_a_loss_on_entropy_has_finite_gradients_at_masked_and_at_zero_weights():
    scores = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0], [1.0, 1.0, 1.0]]).double()
    scores.requires_grad_()
    mask = padding_mask(torch.tensor([2, 3, 0]))
    with torch.autograd.set_detect_anomaly(True):
        attention_entropy(masked_softmax(scores, mask), mask).nanmean().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[~mask] == 0).all()
    assert (scores.grad[0, :2] != 0).all()

    one_hot = torch.eye(3).double().requires_grad_()
    attention_entropy(one_hot).sum().backward()
    assert torch.equal(one_hot.grad, -torch.eye(3).double())  # none where there is no weight


@pytest.mark.parametrize("options", [{}, {"normalized": True}, {"base": 2}], ids=str)
def test_gradcheck(options, float64):
    weights = torch.randn(3, 5).softmax(-1).requires_grad_()
    assert gradcheck(lambda w: attention_entropy(w, **options), weights)
    assert gradcheck(effective_positions, weights)


def test_a_count_above_a_threshold_depends_on_the_length():
    # The trap of a fixed threshold: the most diffuse row of ten has no position above a tenth.
    for length, count in ((9, 9), (10, 0), (50, 0)):
        uniform = torch.full((1, length), 1 / length, dtype=torch.float64)
        assert effective_positions(uniform, threshold=0.1).item() == count
        assert effective_positions(uniform).item() == pytest.approx(length)


@given(attention_maps(), st.sampled_from([None, 0.0, 0.2, 0.5]))
def test_hard_alignment_links_the_largest_or_those_above_a_threshold(case, threshold):
    weights, mask = case
    links = hard_alignment(weights, mask, threshold=threshold)
    for b, sentence in enumerate(weights.tolist()):
        expected = set()
        for t, row in enumerate(sentence):
            if threshold is not None:
                expected |= {(i, t) for i, w in enumerate(row) if w > threshold}
            elif max(row) > 0:
                expected.add((row.index(max(row)), t))
        assert links[b] == expected


def test_hard_alignment_of_a_diagonal_makes_no_error():
    links = hard_alignment(torch.eye(5).expand(3, -1, -1))
    gold = [{(i, i) for i in range(5)}] * 3
    assert alignment_error_rate(links, gold, gold) == 0


@pytest.mark.parametrize("shape", [(0, 5, 7), (3, 0, 7), (3, 5, 0)])
def test_nothing_to_measure(shape):
    weights = torch.zeros(shape)
    assert hard_alignment(weights) == [set()] * shape[0]
    assert attention_entropy(weights).shape == shape[:2]
    assert effective_positions(weights, threshold=0.1).shape == shape[:2]


@pytest.mark.parametrize("base", [0, -2.0, 1])
def test_an_impossible_base_is_refused(base):
    with pytest.raises(
        ValueError, match=f"base is {base}; expected a positive number other than 1"
    ):
        attention_entropy(torch.eye(3), base=base)


@pytest.mark.parametrize("threshold", [-0.1, 1.0, math.nan])
def test_an_impossible_threshold_is_refused(threshold):
    message = f"threshold is {threshold}; expected a weight from 0 to below 1"
    with pytest.raises(ValueError, match=message):
        effective_positions(torch.eye(3), threshold=threshold)
    with pytest.raises(ValueError, match=message):
        hard_alignment(torch.eye(3)[None], threshold=threshold)


def test_a_mask_that_does_not_fit_is_refused(unchecked):
    for measure in (attention_entropy, effective_positions, max_weight, hard_alignment):
        with pytest.raises(ValueError, match=r"mask has shape \(3, 5\)"):
            measure(torch.zeros(3, 2, 7), torch.ones(3, 5, dtype=torch.bool))


def test_without_a_mask_every_position_counts_towards_the_largest_entropy():
    weights = torch.randn(2, 3, 7).double().softmax(-1)
    expected = -(weights * weights.log()).sum(-1) / math.log(7)
    torch.testing.assert_close(attention_entropy(weights, normalized=True), expected)
    heads = weights[:, None].expand(-1, 5, -1, -1)
    torch.testing.assert_close(
        attention_entropy(heads, normalized=True), expected[:, None].expand(-1, 5, -1)
    )


def test_a_base_below_one_turns_the_sign():
    weights = torch.tensor([[0.5, 0.5]])
    torch.testing.assert_close(attention_entropy(weights, base=0.5), torch.tensor([-1.0]))


def test_weight_distance_is_half_the_sum_of_the_differences():
    torch.manual_seed(0)
    a, b = torch.randn(2, 3, 5, 7).softmax(-1).unbind(0)
    expected = [
        [sum(abs(float(a[n, t, i] - b[n, t, i])) for i in range(7)) / 2 for t in range(5)]
        for n in range(3)
    ]
    torch.testing.assert_close(weight_distance(a, b), torch.tensor(expected))
    torch.testing.assert_close(weight_distance(a, a), torch.zeros(3, 5))
    apart = weight_distance(torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.0, 0.0, 1.0]]))
    assert apart.tolist() == [1.0]


def test_weight_distance_knows_no_padding_and_no_other_shape():
    rows = torch.tensor([[0.5, 0.5], [0.0, 0.0]])
    assert weight_distance(rows, rows).isnan().tolist() == [False, True]
    unchecked = inspect.unwrap(weight_distance)  # without the tests' own check of shapes
    with pytest.raises(ValueError, match="two maps of the same words"):
        unchecked(rows, rows[:, :1])


@pytest.mark.parametrize("causal", [False, True])
@every_rubbish
def test_pattern_scores_are_means_over_the_rows_that_can_follow(causal, rubbish):
    lengths, size, heads = [5, 1, 3], 5, 2
    mask = padding_mask(torch.tensor(lengths), size)[:, None] & torch.ones(size, size).bool()
    mask = mask.tril() if causal else mask
    scores = torch.randn(3, heads, size, size, dtype=torch.float64)
    weights = masked_softmax(scores, mask)
    found = {
        name: [[] for _ in range(heads)] for name in ("previous", "own", "next", "last", "entropy")
    }
    for b, n in enumerate(lengths):
        weights[b, :, n:] = rubbish
        weights[b, :, :, n:] = rubbish
        for head in range(heads):
            for t in range(n):
                row = weights[b, head, t, : t + 1 if causal else n].tolist()
                for name, at in (("previous", t - 1), ("own", t), ("next", t + 1), ("last", n - 1)):
                    if 0 <= at < len(row):
                        found[name][head].append(row[at])
                if len(row) > 1:
                    share = -sum(w * math.log(w) for w in row) / math.log(len(row))
                    found["entropy"][head].append(share)
    expected = {name: [np.mean(x) if x else math.nan for x in rows] for name, rows in found.items()}
    for name, value in (
        pattern_scores(weights, torch.tensor(lengths), causal=causal)._asdict().items()
    ):
        np.testing.assert_allclose(value.numpy(), expected[name], rtol=1e-9)


def test_patterns_are_refused_where_maps_are_not_square_or_lengths_do_not_fit():
    with pytest.raises(ValueError, match="square"):
        pattern_scores(torch.ones(1, 2, 3), torch.tensor([3]))
    for lengths in ([4], [0]):
        with pytest.raises(ValueError, match="each from 1 to 3"):
            pattern_scores(torch.ones(1, 2, 3, 3), torch.tensor(lengths))
    with pytest.raises(
        ValueError, match=r"lengths have shape \(2,\); expected \(batch,\) = \(1,\)"
    ):
        pattern_scores(torch.ones(1, 2, 3, 3), torch.tensor([3, 3]))


def test_links_are_read_from_a_map_for_each_sentence(unchecked):
    for shape in ((3, 3), (1, 2, 3, 3)):
        with pytest.raises(ValueError, match=r"expected \(batch, queries, keys\)"):
            hard_alignment(torch.ones(shape))


def test_no_normalized_entropy_is_above_one():
    for n in range(2, 200):
        assert attention_entropy(torch.full((1, n), 1 / n), normalized=True) <= 1


def test_a_base_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="base is nan; expected a positive number"):
        attention_entropy(torch.eye(2), base=float("nan"))


def test_half_precision_is_counted_in_full():
    # 257 is no number in bfloat16, and a sum of small weights stops growing early.
    weights = torch.full((1, 600), 1 / 512, dtype=torch.bfloat16)
    mask = torch.arange(600) < 512
    found = attention_entropy(weights, mask[None], normalized=True)
    assert found.item() == pytest.approx(1.0, abs=1e-6)
