"""Masks: True means "may be attended", and every axis is placed by name."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn import causal_mask, masked_softmax, padding_mask
from seqattn.attention.masks import expand_mask


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 4))
def test_padding_mask_marks_the_first_length_positions(lengths, extra):
    mask = padding_mask(torch.tensor(lengths), max(lengths) + extra)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[i < n for i in range(max(lengths) + extra)] for n in lengths]


def test_padding_mask_is_as_wide_as_the_longest_sentence():
    assert padding_mask(torch.tensor([3, 5, 2])).shape == (3, 5)


@pytest.mark.parametrize(("max_len", "width"), [(None, 0), (7, 7)])
def test_padding_mask_of_an_empty_batch(max_len, width):
    assert padding_mask(torch.zeros(0, dtype=torch.int64), max_len).shape == (0, width)


@pytest.mark.parametrize(
    ("lengths", "max_len", "message"),
    [
        ([3, 8], 7, "lengths run from 3 to 8; expected values from 0 to max_len = 7"),
        ([-1, 2], None, "lengths run from -1 to 2; expected values from 0 to max_len = 2"),
    ],
)
def test_padding_mask_refuses_lengths_that_do_not_fit(lengths, max_len, message):
    with pytest.raises(ValueError, match=message):
        padding_mask(torch.tensor(lengths), max_len)


@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        ([3, 1], TypeError, r"lengths have type list; expected a tensor of whole numbers"),
        (torch.tensor([3.2, 1.0]), TypeError, "lengths have dtype torch.float32; expected whole"),
        (torch.tensor([True, False]), TypeError, "lengths have dtype torch.bool"),
        (
            torch.tensor([[3, 1]]),
            ValueError,
            r"lengths have shape \(1, 2\); expected \(batch,\)",
        ),
        (torch.tensor(3), ValueError, r"lengths have shape \(\); expected \(batch,\): one"),
    ],
    ids=str,
)
def test_what_are_no_lengths_is_refused(lengths, error, message, unchecked):
    for width in (None, 5):
        with pytest.raises(error, match=message):
            padding_mask(lengths, width)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: causal_mask(-1), "size is -1; expected at least 0"),
        (lambda: causal_mask(2.5), "size is 2.5; expected a whole number"),
        (lambda: padding_mask(torch.tensor([3]), 4.0), "max_len is 4.0; expected a whole number"),
        (lambda: padding_mask(torch.tensor([0]), -1), "max_len is -1; expected at least 0"),
    ],
)
def test_impossible_sizes_are_refused(make, message, unchecked):
    with pytest.raises(ValueError, match=message):
        make()


@given(st.integers(0, 8))
def test_causal_mask_lets_query_t_see_keys_up_to_t(size):
    assert causal_mask(size).tolist() == [[i <= t for i in range(size)] for t in range(size)]


def test_masks_of_one_shape_combine():
    padding = padding_mask(torch.tensor([2, 3]))
    both = padding[:, None, :] & causal_mask(3)[None]
    assert both.shape == (2, 3, 3)
    assert both[0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]


# Which flag decides about score (b, q, k), for every accepted shape. Sizes include the treacherous
# ones: as many queries or heads as sentences, where PyTorch would broadcast silently.
SIZES = [(2, 3, 5, 7), (3, 3, 3, 7), (2, 2, 5, 7), (5, 2, 5, 7), (3, 3, 3, 3), (1, 1, 1, 1)]
READINGS = {
    "(B, K)": (lambda B, Q, K: (B, K), lambda m, b, q: m[b]),
    "(B, Q, K)": (lambda B, Q, K: (B, Q, K), lambda m, b, q: m[b, q]),
    "(1, Q, K)": (lambda B, Q, K: (1, Q, K), lambda m, b, q: m[0, q]),
    "(Q, K)": (lambda B, Q, K: (Q, K), lambda m, b, q: m[q]),
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("with_heads", [False, True], ids=["no heads", "heads"])
def test_each_axis_of_a_mask_is_placed_by_name(reading, sizes, with_heads):
    batch, heads, queries, keys = sizes
    shape, flags_for = READINGS[reading]
    if reading == "(Q, K)" and batch == queries:
        flags_for = READINGS["(B, K)"][1]  # documented: read as padding
    mask = torch.rand(shape(batch, queries, keys)) < 0.5
    scores = torch.zeros((batch, heads, queries, keys) if with_heads else (batch, queries, keys))
    attended = masked_softmax(scores, mask) > 0
    for b in range(batch):
        for q in range(queries):
            expected = flags_for(mask, b, q)
            for row in attended[b, :, q] if with_heads else attended[b, q].unsqueeze(0):
                assert torch.equal(row, expected)


def test_a_causal_mask_with_a_batch_axis_is_causal_even_if_batch_equals_queries():
    weights = masked_softmax(torch.zeros(5, 5, 5), causal_mask(5)[None])
    assert torch.equal(weights > 0, causal_mask(5).expand(5, 5, 5))


def test_a_mask_for_one_query_per_sentence_has_one_flag_per_position():
    mask = torch.rand(3, 7) < 0.5
    assert expand_mask(mask, torch.zeros(3, 7)) is mask


@pytest.mark.parametrize(
    ("scores", "mask", "message"),
    [
        ((3, 7), (3, 5), r"mask has shape \(3, 5\); expected \(batch, keys\) = \(3, 7\): one flag"),
        ((3, 7), (7,), r"mask has shape \(7,\)"),
        ((3, 7), (1, 7), r"mask has shape \(1, 7\)"),
        ((3, 7), (3, 1), r"mask has shape \(3, 1\)"),
        ((3, 7), (3, 1, 7), r"mask has shape \(3, 1, 7\)"),
        ((3, 5, 7), (7,), r"mask has shape \(7,\)"),
        ((3, 5, 7), (1, 7), r"mask has shape \(1, 7\)"),
        ((3, 5, 7), (3, 5), r"mask has shape \(3, 5\); expected \(batch, keys\) = \(3, 7\)"),
        ((3, 5, 7), (3, 1, 7), r"\(batch, queries, keys\) = \(3, 5, 7\) or \(queries, keys\)"),
        ((3, 5, 7), (3, 5, 1), r"mask has shape \(3, 5, 1\)"),
        ((3, 5, 7), (7, 5), r"mask has shape \(7, 5\)"),
        ((3, 2, 5, 7), (3, 2, 5, 7), r"mask has shape \(3, 2, 5, 7\)"),
        ((3, 2, 5, 7), (3, 1, 1, 7), r"mask has shape \(3, 1, 1, 7\)"),
        ((3, 2, 5, 7), (2, 7), r"mask has shape \(2, 7\)"),
        ((3, 2, 2, 5, 7), (3, 7), r"scores have shape \(3, 2, 2, 5, 7\)"),
        ((7,), (7,), r"scores have shape \(7,\)"),
    ],
)
def test_any_other_shape_is_refused(scores, mask, message, unchecked):
    with pytest.raises(ValueError, match=message):
        masked_softmax(torch.zeros(scores), torch.ones(mask, dtype=torch.bool))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_that_is_not_boolean_is_refused(dtype, unchecked):
    with pytest.raises(TypeError, match=r"expected torch.bool with True = may be attended"):
        masked_softmax(torch.zeros(3, 7), torch.ones(3, 7, dtype=dtype))
    with pytest.raises(TypeError, match=r"mask is a list; expected torch.bool"):
        masked_softmax(torch.zeros(1, 2), [[True, True]])
