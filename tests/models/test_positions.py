"""Positions: the formula, and what it is good for."""

import math
import pickle

import pytest
import torch

from seqattn.attention import causal_mask
from seqattn.models import ModelConfig, build_model
from seqattn.models.transformer import (
    LearnedPositions,
    RotaryAttention,
    SinusoidalPositions,
    rotate_positions,
    sinusoidal_positions,
)
from tests.oracles import rotated

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
    with pytest.raises(ValueError, match="reach 4 positions, padding included; 3 are learned"):
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


@pytest.mark.parametrize("base", [10_000.0, 50.0])
def test_rotated_features_are_those_of_the_formula(base):
    x = torch.randn(2, 3, LENGTH, D).double()
    for start in (0, 7):
        expected = torch.from_numpy(rotated(x.numpy(), start, base))
        torch.testing.assert_close(rotate_positions(x, start, base=base), expected)
    torch.testing.assert_close(rotate_positions(x[..., 4:, :], 4), rotate_positions(x)[..., 4:, :])


def test_turning_keeps_lengths_and_products_know_the_distance_alone():
    q, k = torch.randn(2, 1, D).double()
    turned = rotate_positions(q, 5)
    torch.testing.assert_close(turned.norm(), q.norm())
    for distance in (-3, 0, 4):
        products = [rotate_positions(q, p) @ rotate_positions(k, p + distance).T for p in (3, 90)]
        torch.testing.assert_close(*products)
    assert not torch.allclose(q @ k.T, rotate_positions(q, 3) @ k.T)


def test_one_row_of_the_table_turned_is_another(float64):
    """Sines before cosines: the table turns the other way round, so its pairs are exchanged."""
    table = sinusoidal_positions(1, D).unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    for start in (1, 30):
        expected = sinusoidal_positions(1, D, start=start).unflatten(-1, (-1, 2)).flip(-1)
        torch.testing.assert_close(rotate_positions(table, start), expected.flatten(-2))


def test_sines_before_cosines_are_the_same_table_in_another_order(table):
    """As Hugging Face's Marian has them."""
    rates = 10_000 ** (-torch.arange(0, D, 2) / D)
    angles = torch.arange(LENGTH)[:, None] * rates
    apart = torch.cat((angles.sin(), angles.cos()), 1)
    torch.testing.assert_close(torch.cat((table[:, 0::2], table[:, 1::2]), 1), apart)


def test_learned_positions_are_rows_of_an_embedding():
    ours, theirs = LearnedPositions(LENGTH, D), torch.nn.Embedding(LENGTH, D)
    theirs.weight = ours.table
    x = torch.randn(2, 4, D)
    torch.testing.assert_close(ours(x, 3), x + theirs(torch.arange(3, 7)))
    with pytest.raises(IndexError):
        theirs(torch.tensor([LENGTH]))
    with pytest.raises(ValueError, match=f"{LENGTH} are learned"):
        ours(x, LENGTH - 3)


def test_turning_a_pair_multiplies_a_complex_number():
    x = torch.randn(2, LENGTH, D)
    angles = torch.arange(LENGTH)[:, None] * 10_000 ** (-torch.arange(0, D, 2) / D)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    torch.testing.assert_close(rotate_positions(x), torch.view_as_real(turned).flatten(-2))


def test_pairs_far_apart_are_the_same_turn_in_another_order():
    """As Hugging Face's LLaMA has them: the features of the first halves, then of the second."""
    x = torch.randn(2, LENGTH, D)
    first, second = x[..., 0::2], x[..., 1::2]
    angles = torch.arange(LENGTH)[:, None] * 10_000 ** (-torch.arange(0, D, 2) / D)
    cosine, sine = (torch.cat((part, part), -1) for part in (angles.cos(), angles.sin()))
    apart = torch.cat((first, second), -1) * cosine + torch.cat((-second, first), -1) * sine
    ours = rotate_positions(x)
    torch.testing.assert_close(torch.cat((ours[..., 0::2], ours[..., 1::2]), -1), apart)


def test_what_cannot_turn_is_refused(unchecked):
    with pytest.raises(ValueError, match="x has 5 features; expected an even number"):
        rotate_positions(torch.zeros(3, 5))
    for x in (torch.zeros(4), torch.zeros(3, 4).long()):
        with pytest.raises(ValueError, match=r"expected real numbers, \(\.\.\., positions, d\)"):
            rotate_positions(x)
    for length in (-1, 2.5):
        with pytest.raises(ValueError, match=f"length is {length}; expected"):
            sinusoidal_positions(length, 4)
    for make in (lambda: rotate_positions(torch.zeros(3, 4), base=1.0),
                 lambda: sinusoidal_positions(3, 4, base=0.5),
                 lambda: sinusoidal_positions(3, 4, base=math.inf)):  # fmt: skip
        with pytest.raises(ValueError, match=r"base is .*; expected a number above 1"):
            make()


def test_half_precision_is_turned_by_angles_in_32_bits():
    x = torch.randn(2, D).bfloat16()
    turned = rotate_positions(x, 300)
    assert turned.dtype == torch.bfloat16
    torch.testing.assert_close(
        turned.float(), rotate_positions(x.float(), 300), atol=2**-6, rtol=2**-7
    )


def test_rotary_attention_turns_queries_and_keys_and_no_values():
    heads, size = 3, 12
    attention = RotaryAttention(size, heads).double()
    x = torch.randn(2, 5, size).double()
    found = attention(x, mask=causal_mask(5)[None])
    q, k, v = (
        p(x).unflatten(-1, (heads, -1)).transpose(1, 2)
        for p in (attention.query, attention.key, attention.value)
    )
    q, k = (torch.from_numpy(rotated(a.detach().numpy(), 0, 10_000.0)) for a in (q, k))
    scores = (q @ k.mT / math.sqrt(size / heads)).masked_fill(~causal_mask(5), -math.inf)
    torch.testing.assert_close(found.weights, scores.softmax(-1))
    context = attention.output((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(found.context, context)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
def test_a_configuration_and_a_model_come_back_from_what_is_stored(positions):
    config = ModelConfig(architecture="transformer", d_hidden=8, heads=2, positions=positions)
    again = ModelConfig.from_stored({**vars(config)})
    assert again == config
    model = build_model(config, 11, 13).eval()
    other = build_model(again, 11, 13).eval()
    other.load_state_dict(model.state_dict())
    inputs = torch.tensor([[4, 5, 2]]), torch.tensor([3]), torch.tensor([[1, 7]])
    expected = model(*inputs).logits
    for one in (other, pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(one(*inputs).logits, expected)


def test_without_positions_the_encoder_sees_a_bag_and_with_them_it_does_not():
    lengths, inputs = torch.tensor([4]), torch.tensor([[1, 7]])
    source, swapped = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[6, 4, 5, 2]])
    for positions in ("none", "rotary", "learned", "sinusoidal"):
        model = build_model(
            ModelConfig(architecture="transformer", d_hidden=8, heads=2, positions=positions),
            11, 13,
        ).double().eval()  # fmt: skip
        change = model(source, lengths, inputs).logits - model(swapped, lengths, inputs).logits
        assert (change.abs().max() < 1e-12) == (positions == "none")
