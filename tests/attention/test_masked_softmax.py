"""Masked softmax: values, limits, gradients, extreme numbers."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from seqattn import attend, attention, masked_softmax
from tests import oracles

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
# What a row's sum may be off by, and a weight.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}


@st.composite
def masked_scores(draw, dtypes=tuple(DTYPES)):
    """Scores of two or three axes, any scale up to 1e4, with a mask that may close whole rows."""
    batch, queries, keys = draw(st.integers(1, 3)), draw(st.integers(0, 3)), draw(st.integers(1, 7))
    shape = (batch, queries, keys) if queries else (batch, keys)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    scale = draw(st.sampled_from([0.1, 1.0, 30.0, 1e4]))
    scores = scale * (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1)
    flags = draw(st.lists(st.booleans(), min_size=math.prod(shape), max_size=math.prod(shape)))
    return scores.to(draw(st.sampled_from(dtypes))), torch.tensor(flags).reshape(shape)


temperatures = st.sampled_from([1e-3, 0.3, 1.0, 2, 1e3])


@given(masked_scores((torch.float64, torch.float32)), temperatures)
def test_weights_are_those_of_the_formula(case, temperature):
    scores, mask = case
    weights = masked_softmax(scores, mask, temperature=temperature)
    rows = zip(scores.reshape(-1, scores.shape[-1]), mask.reshape(-1, mask.shape[-1]), strict=True)
    expected = [oracles.softmax(e.double().numpy(), m.numpy(), temperature) for e, m in rows]
    np.testing.assert_allclose(
        weights.reshape(-1, scores.shape[-1]).numpy(),
        np.array(expected),
        # In float32 a difference of scores of 1e4, divided by a small τ, is itself rounded.
        atol=1e-12 if scores.dtype == torch.float64 else 1e-5,
        rtol=1e-9 if scores.dtype == torch.float64 else 1e-3,
    )


@given(masked_scores(), temperatures)
def test_weights_form_a_distribution_over_the_attendable_positions(case, temperature):
    scores, mask = case
    weights = masked_softmax(scores, mask, temperature=temperature)
    assert weights.dtype == scores.dtype
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(
        weights.double().sum(-1),
        mask.any(-1).double(),
        atol=TOLERANCE[scores.dtype],
        rtol=0,
    )


@given(masked_scores(), temperatures)
def test_masked_positions_get_no_gradient_and_no_gradient_is_nan(case, temperature):
    scores, mask = case
    scores.requires_grad_()
    weights = masked_softmax(scores, mask, temperature=temperature)
    # Anomaly mode raises on any NaN inside the backward pass, even one that is masked later.
    with torch.autograd.set_detect_anomaly(True):
        (weights * torch.linspace(-1, 1, weights.numel()).reshape(weights.shape)).sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[~mask] == 0).all()


@given(masked_scores((torch.float64,)), temperatures)
def test_scores_of_masked_positions_have_no_influence(case, temperature):
    scores, mask = case
    for disturbance in (1e6, -1e6, math.inf, -math.inf, math.nan):
        changed = torch.where(mask, scores, disturbance)
        assert torch.equal(
            masked_softmax(scores, mask, temperature=temperature),
            masked_softmax(changed, mask, temperature=temperature),
        )


@given(masked_scores((torch.float64,)), temperatures, st.randoms(use_true_random=False))
def test_permuted_positions_give_permuted_weights(case, temperature, random):
    scores, mask = case
    order = random.sample(range(scores.shape[-1]), scores.shape[-1])
    torch.testing.assert_close(
        masked_softmax(scores[..., order], mask[..., order], temperature=temperature),
        masked_softmax(scores, mask, temperature=temperature)[..., order],
        atol=1e-12,
        rtol=0,
    )


@given(masked_scores((torch.float64,)), st.floats(-1e3, 1e3), st.sampled_from([0.3, 1.0, 2.0]))
def test_a_constant_added_to_all_scores_changes_nothing(case, constant, temperature):
    scores, mask = case
    torch.testing.assert_close(
        masked_softmax(scores + constant, mask, temperature=temperature),
        masked_softmax(scores, mask, temperature=temperature),
        atol=1e-10,
        rtol=0,
    )


@given(masked_scores((torch.float64,)))
def test_temperature_divides_the_scores(case):
    scores, mask = case
    torch.testing.assert_close(
        masked_softmax(scores, mask, temperature=2.5),
        masked_softmax(scores / 2.5, mask),
        atol=1e-12,
        rtol=0,
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("temperature", [1.0, 1e-2, 1e-4])
def test_scores_of_ten_thousand_are_safe_in_any_precision(dtype, temperature):
    scores = torch.tensor([[1e4, -1e4, 1e4, 0.0], [-1e4, 1e4, -1e4, -1e4]], dtype=dtype)
    mask = torch.tensor([[True, True, True, False], [True, False, True, False]])
    scores.requires_grad_()
    weights = masked_softmax(scores, mask, temperature=temperature)
    assert weights.tolist() == [[0.5, 0.0, 0.5, 0.0], [0.5, 0.0, 0.5, 0.0]]
    weights[:, 0].sum().backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_a_masked_position_weighs_nothing_however_low_the_others_score(dtype):
    scores = torch.tensor([[-1e30, -1e30, 0.0]], dtype=dtype)
    weights = masked_softmax(scores, torch.tensor([[True, True, False]]))
    assert weights.tolist() == [[0.5, 0.5, 0.0]]


def test_input_and_mask_are_left_as_they_were():
    scores, mask = torch.randn(3, 7), torch.rand(3, 7) < 0.5
    before = scores.clone(), mask.clone()
    masked_softmax(scores, mask, temperature=0.5)
    assert torch.equal(scores, before[0])
    assert torch.equal(mask, before[1])


def test_a_low_temperature_approaches_the_argmax():
    scores = torch.tensor([[0.1, 0.9, 0.5, 2.0]])
    mask = torch.tensor([[True, True, True, False]])
    cold = masked_softmax(scores, mask, temperature=1e-3)
    assert torch.equal(cold, torch.tensor([[0.0, 1.0, 0.0, 0.0]]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("temperature", [1e5, 1e38, math.inf])
def test_a_high_temperature_approaches_uniform_over_the_attendable_positions(dtype, temperature):
    scores = torch.tensor([[3.0, -1.0, 9.0, 0.0], [1.0, 2.0, 3.0, 4.0]], dtype=dtype)
    mask = torch.tensor([[True, True, False, False], [False] * 4])
    hot = masked_softmax(scores, mask, temperature=temperature)
    expected = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0] * 4], dtype=dtype)
    torch.testing.assert_close(hot, expected, atol=1e-3, rtol=0)


def test_equal_scores_share_equally_whatever_the_temperature():
    for temperature in (1e-6, 1.0, 1e6):
        weights = masked_softmax(torch.full((1, 5), 7.0), temperature=temperature)
        assert weights.tolist() == [[pytest.approx(0.2)] * 5]


def test_the_jacobian_is_diag_minus_outer_product(float64):
    scores = torch.randn(1, 5)
    temperature = 0.7
    (weights,) = masked_softmax(scores, temperature=temperature)
    jacobian = torch.autograd.functional.jacobian(
        lambda e: masked_softmax(e, temperature=temperature)[0], scores
    )[:, 0]
    expected = (weights.diag() - torch.outer(weights, weights)) / temperature
    torch.testing.assert_close(jacobian, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("temperature", [1.0, 0.4, 3.0])
@pytest.mark.parametrize("masked", [False, True])
def test_gradcheck(temperature, masked, float64):
    scores = torch.randn(3, 5, requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]).bool()
    mask = mask if masked else None
    assert gradcheck(lambda e: masked_softmax(e, mask, temperature=temperature), scores)
    assert torch.autograd.gradgradcheck(
        lambda e: masked_softmax(e, mask, temperature=temperature), scores
    )


def test_any_axis_without_a_mask():
    scores = torch.randn(3, 5, 7)
    torch.testing.assert_close(masked_softmax(scores, dim=1), scores.softmax(1))
    torch.testing.assert_close(
        masked_softmax(scores, dim=0, temperature=0.3), (scores / 0.3).softmax(0)
    )


@pytest.mark.parametrize("shape", [(0, 7), (3, 0), (0, 5, 7), (3, 0, 7), (3, 5, 0)])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_nothing_to_normalise_gives_nothing(shape, temperature):
    mask = torch.ones(shape, dtype=torch.bool)
    assert masked_softmax(torch.zeros(shape), mask, temperature=temperature).shape == shape


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match=rf"temperature is {temperature}; expected a number above"):
        masked_softmax(torch.zeros(3, 7), temperature=temperature)


@pytest.mark.parametrize("dim", [0, 1, -2])
def test_a_mask_for_another_axis_than_the_last_is_refused(dim):
    with pytest.raises(ValueError, match=f"a mask needs dim=-1.*got dim={dim}"):
        masked_softmax(torch.zeros(3, 5, 7), torch.ones(3, 7).bool(), dim=dim)


def test_the_last_axis_may_be_named_by_its_number():
    scores, mask = torch.randn(3, 7), torch.rand(3, 7) < 0.5
    assert torch.equal(masked_softmax(scores, mask, dim=1), masked_softmax(scores, mask))


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_attend_is_the_formula(temperature):
    scores, values = torch.randn(3, 5, 7).double(), torch.randn(3, 7, 11).double()
    mask = torch.rand(3, 5, 7) < 0.6
    mask[1, 2] = False
    context, weights = oracles.attend(scores.numpy(), values.numpy(), mask.numpy(), temperature)
    result = attend(scores, values, mask, temperature=temperature)
    np.testing.assert_allclose(result.weights.numpy(), weights, atol=1e-12, rtol=0)
    np.testing.assert_allclose(result.context.numpy(), context, atol=1e-12, rtol=0)
    one = attend(scores[:, 2], values, mask[:, 2], temperature=temperature)
    torch.testing.assert_close(one.context, result.context[:, 2], atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((3, 5, 11), r"values have shape \(3, 5, 11\); expected .* = \(3, 7, d_value\)"),
        ((2, 7, 11), r"values have shape \(2, 7, 11\)"),
        ((3, 7), r"values have shape \(3, 7\)"),
    ],
)
def test_values_that_do_not_fit_are_refused(values, message, unchecked):
    with pytest.raises(ValueError, match=message):
        attend(torch.zeros(3, 7), torch.zeros(values))


@pytest.mark.parametrize("scores", [(3, 3, 5, 7), (7,)])
def test_scores_with_other_axes_have_no_values_to_sum(scores, unchecked):
    # Where batch and heads are as many, the values of another sentence would be taken.
    with pytest.raises(ValueError, match=r"expected \(batch, \[queries,\] keys\)"):
        attend(torch.zeros(scores), torch.zeros(3, 7, 11))


def test_there_is_one_softmax_in_all_of_attention():
    places = [
        path.name
        for path in Path(attention.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "softmax"
    ]
    assert places == ["core.py"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("temperature", [1e-320, 1e-60, 1e60])
def test_a_temperature_that_the_scores_type_cannot_hold_is_brought_into_it(dtype, temperature):
    scores = torch.tensor([[0.0, 2.0, 1.0]], dtype=dtype)
    expected = [[0.0, 1.0, 0.0]] if temperature < 1 else [[1 / 3] * 3]
    found = masked_softmax(scores, temperature=temperature).double()
    torch.testing.assert_close(found, torch.tensor(expected).double(), atol=3e-3, rtol=0)


def test_scores_that_are_counts_are_refused(unchecked):
    with pytest.raises(
        TypeError, match=r"dtype torch\.int64; expected real numbers: scores\.float"
    ):
        masked_softmax(torch.tensor([[1, 2, 3]]))
