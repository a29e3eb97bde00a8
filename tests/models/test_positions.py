"""Positions: the formula, and what it is good for."""

import math

import pytest
import torch

from seqattn.models.transformer import LearnedPositions, SinusoidalPositions, sinusoidal_positions

LENGTH, D = 11, 6


@pytest.fixture
def table(float64):
    return sinusoidal_positions(LENGTH, D)


def test_entries_are_those_of_the_formula(table):
    for p in range(LENGTH):
        for k in range(D // 2):
            angle = p / 10_000 ** (2 * k / D)
            assert table[p, 2 * k].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[p, 2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)
    torch.testing.assert_close(sinusoidal_positions(4, D, start=7), table[7:])


def test_a_shift_is_one_linear_map_wherever_it_begins(table):
    for shift in (1, 5):
        there, here = table[shift:], table[:-shift]
        linear = torch.linalg.lstsq(here, there).solution
        torch.testing.assert_close(here @ linear, there)


def test_the_dot_product_depends_on_the_distance_alone(table):
    products = table @ table.T
    for distance in range(LENGTH):
        diagonal = products.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))


@pytest.mark.parametrize("make", [SinusoidalPositions, lambda: LearnedPositions(LENGTH, D)])
def test_later_positions_are_added_as_if_the_earlier_were_there(make):
    positions, x = make(), torch.randn(2, LENGTH, D)
    torch.testing.assert_close(positions(x[:, 7:], 7), positions(x)[:, 7:])


def test_learned_positions_get_gradients_and_refuse_what_they_never_learned(unchecked):
    positions = LearnedPositions(3, D)
    positions(torch.randn(2, 3, D)).square().sum().backward()
    assert (positions.table.grad != 0).all()
    with pytest.raises(ValueError, match="reaches position 4; learned positions end at 3"):
        positions(torch.randn(2, 1, D), 3)


def test_an_odd_size_is_refused():
    with pytest.raises(ValueError, match="d_model is 5; expected an even number"):
        sinusoidal_positions(3, 5)


def test_positions_are_computed_in_32_bits_where_the_default_is_half():
    exact = sinusoidal_positions(6, 8, start=300)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        table = sinusoidal_positions(6, 8, start=300)
    finally:
        torch.set_default_dtype(before)
    assert table.dtype == torch.bfloat16
    torch.testing.assert_close(table.float(), exact, atol=2**-8, rtol=0)
