"""Sparse patterns: what they let through, and the window that saves work."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.utils.flop_counter import FlopCounterMode

from seqattn import ScaledDotProductAttention, causal_mask, padding_mask
from seqattn.attention import block_mask, global_mask, strided_mask, window_mask, windowed_attention
from tests.hostile import RUBBISH, spoil

B, D, D_VALUE = 3, 5, 7


@given(st.integers(1, 12), st.integers(0, 5), st.integers(1, 5))
def test_each_pattern_is_its_rule(size, window, step):
    chosen = [0, size - 1]
    for i in range(size):
        for j in range(size):
            assert window_mask(size, window)[i, j] == (abs(i - j) <= window)
            assert strided_mask(size, step)[i, j] == ((i - j) % step == 0)
            assert block_mask(size, step)[i, j] == (i // step == j // step)
            assert global_mask(size, chosen)[i, j] == (i in chosen or j in chosen)


def test_a_causal_window_with_stride_reaches_everything_before_in_two_layers():
    size, stride = 23, 5
    one = (window_mask(size, stride) | strided_mask(size, stride)) & causal_mask(size)
    two = (one.int() @ one.int()) > 0
    assert torch.equal(two, causal_mask(size))
    assert one.sum() < causal_mask(size).sum() / 1.5


def inputs(size, dtype=torch.float64):
    shapes = (B, size, D), (B, size, D), (B, size, D_VALUE)
    return [torch.randn(*shape, dtype=dtype) for shape in shapes]


@given(
    st.integers(1, 13),
    st.integers(0, 15),
    st.booleans(),
    st.booleans(),
    st.sampled_from(sorted(RUBBISH)),
)
def test_gathering_gives_what_the_mask_gives(size, window, causal, padded, rubbish):
    query, keys, values = inputs(size)
    mask = padding_mask(torch.tensor([size, size // 2, 0]), size) if padded else None
    if mask is not None:
        keys, values = (spoil(x, mask, RUBBISH[rubbish]) for x in (keys, values))
    pattern = window_mask(size, window)
    if causal:
        pattern = pattern & causal_mask(size)
    both = pattern[None] if mask is None else pattern[None] & mask[:, None]
    dense = ScaledDotProductAttention()(query, keys, values, both.expand(B, size, size))
    context, weights = windowed_attention(query, keys, values, window, mask, causal=causal)
    torch.testing.assert_close(context, dense.context)
    for t in range(size):
        for j in range(weights.shape[-1]):
            i = t - window + j
            expected = dense.weights[:, t, i] if 0 <= i < size else torch.zeros(B).double()
            torch.testing.assert_close(weights[:, t, j], expected)


def test_gathering_costs_in_proportion_to_the_length():
    costs = []
    for size in (100, 400):
        with FlopCounterMode(display=False) as counter:
            windowed_attention(*inputs(size), window=4)
        costs.append(counter.get_total_flops())
    assert costs[1] == 4 * costs[0]


def test_gradcheck():
    given_ = [x.requires_grad_() for x in inputs(6)]
    mask = padding_mask(torch.tensor([6, 3, 0]), 6)
    assert gradcheck(lambda *x: tuple(windowed_attention(*x, 2, mask)), given_)


def test_torch_compile_takes_it_whole(compile_whole):
    compiled = compile_whole(windowed_attention)
    x = inputs(11)
    torch.testing.assert_close(compiled(*x, 3).context, windowed_attention(*x, 3).context)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: window_mask(4, -1), ValueError, "window is -1; expected at least 0"),
        (lambda: window_mask(2.5, 1), ValueError, "size is 2.5; expected a whole number"),
        (lambda: strided_mask(-2, 1), ValueError, "size is -2; expected at least 0"),
        (lambda: block_mask(4.5, 2), ValueError, "size is 4.5; expected a whole number"),
        (lambda: global_mask(4.0, [1]), ValueError, "size is 4.0; expected a whole number"),
        (lambda: strided_mask(4, 0), ValueError, "stride is 0; expected at least 1"),
        (lambda: block_mask(4, 0), ValueError, "block is 0; expected at least 1"),
        (
            lambda: global_mask(4, [4]),
            IndexError,
            r"\[4\]; expected whole numbers",
        ),
        (lambda: global_mask(4, torch.tensor([1.7])), IndexError, "expected whole numbers"),
        (lambda: global_mask(4, [-1]), IndexError, "expected whole numbers"),
        (
            lambda: global_mask(4, [True, False]),
            IndexError,
            "expected whole numbers",
        ),
        (
            lambda: windowed_attention(*inputs(4), 1, mask=torch.ones(4, B, dtype=torch.bool)),
            ValueError,
            "one flag per position",
        ),
        (
            lambda: windowed_attention(*inputs(4), 1, mask=torch.zeros(B, 4)),
            TypeError,
            "torch.bool",
        ),
        (
            lambda: windowed_attention(*inputs(4)[:2], torch.randn(B, 5, D), 1),
            ValueError,
            "expected query and keys of one shape",
        ),
        (lambda: windowed_attention(*inputs(4), -1), ValueError, "window is -1; expected at least"),
    ],
)
def test_errors_name_what_was_wrong(call, error, said, unchecked):
    with pytest.raises(error, match=said):
        call()


def test_a_gathered_window_looks_both_ways_unless_it_is_causal():
    query, keys, values = inputs(9)
    assert windowed_attention(query, keys, values, 2).weights.shape[-1] == 5
    assert windowed_attention(query, keys, values, 0).weights.shape[-1] == 1
    assert windowed_attention(query, keys, values, 2, causal=True).weights.shape[-1] == 3
