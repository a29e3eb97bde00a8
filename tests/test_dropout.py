"""Dropout: what is kept, how often, and what passes back."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn.dropout import Dropout, dropout


@given(
    p=st.floats(0.01, 0.99),
    size=st.lists(st.integers(0, 7), min_size=1, max_size=3),
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16]),
)
def test_every_number_is_dropped_or_scaled(p, size, dtype):
    x = torch.full(size, 3.0, dtype=dtype)
    y = dropout(x, p)
    assert y.shape == x.shape
    assert y.dtype == dtype
    scaled = 3.0 * torch.tensor(1 / (1 - p)).to(dtype).item()
    for value in y.flatten().tolist():
        assert value == 0.0 or value == pytest.approx(scaled, rel=1e-2)


def test_nearly_all_is_nearly_all():
    torch.manual_seed(0)
    kept = (dropout(torch.ones(400_000), 0.999999) > 0).double().mean().item()
    assert kept < 1e-3


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, float("nan")])
@pytest.mark.parametrize("training", [True, False])
def test_what_is_no_probability_of_dropping_is_refused(p, training):
    with pytest.raises(ValueError, match="expected a probability from 0 to below 1"):
        dropout(torch.ones(3), p, training)
    with pytest.raises(ValueError, match="expected a probability from 0 to below 1"):
        Dropout(p)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_the_share_dropped_is_p_in_every_lane(p):
    torch.manual_seed(0)
    lanes = (dropout(torch.ones(400_000), p) == 0).view(-1, 4).double().mean(0)
    # Five standard deviations of a mean of 100,000 draws.
    bound = 5 * (p * (1 - p) / 100_000) ** 0.5
    assert ((lanes - p).abs() < bound).all()


def test_neighbours_are_independent():
    torch.manual_seed(0)
    kept = (dropout(torch.ones(200_000), 0.5) > 0).double()
    for apart in (1, 2, 3, 4):
        both = (kept[apart:] * kept[:-apart]).mean()
        assert abs(both.item() - 0.25) < 5 * (0.25 * 0.75 / 200_000) ** 0.5


def test_the_gradient_passes_where_the_number_did():
    x = torch.randn(50, dtype=torch.float64, requires_grad=True)
    y = dropout(x, 0.4)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach() / x.detach())
    assert (x.grad == 0).any()


def test_nothing_is_dropped_outside_training_or_at_zero():
    x = torch.randn(20)
    layer = Dropout(0.9)
    assert layer.eval()(x) is x
    assert dropout(x, 0.9, training=False) is x
    assert dropout(x, 0.0) is x
    assert not torch.equal(layer.train()(x), x)


def test_other_devices_have_their_own():
    x = torch.ones(3, 5, device="meta")  # a device without numbers
    assert dropout(x, 0.5).device == x.device


def test_a_seed_gives_the_same_mask():
    x = torch.ones(30, 7)
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(dropout(x, 0.5))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
