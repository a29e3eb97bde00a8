"""Attention in another order of work: exact block by block, and another function if linear."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.utils.flop_counter import FlopCounterMode

from seqattn import ScaledDotProductAttention, causal_mask, padding_mask
from seqattn.attention import linear_attention, online_softmax_attention
from tests import oracles
from tests.hostile import RUBBISH, spoil

B, T, S, D, D_VALUE = 3, 5, 7, 2, 11


def inputs(queries=T, keys=S, dtype=torch.float64):
    shapes = (B, queries, D), (B, keys, D), (B, keys, D_VALUE)
    return [torch.randn(*shape, dtype=dtype) for shape in shapes]


@given(st.integers(1, 9), st.booleans(), st.sampled_from(sorted(RUBBISH)))
def test_blocks_give_softmax_attention(block, padded, rubbish):
    query, keys, values = inputs()
    mask = padding_mask(torch.tensor([S, 2, 0]), S) if padded else None
    if mask is not None:
        keys, values = (spoil(x, mask, RUBBISH[rubbish]) for x in (keys, values))
    found = online_softmax_attention(query, keys, values, mask, block=block)
    whole = ScaledDotProductAttention()(query, keys, values, mask).context
    torch.testing.assert_close(found, whole)
    seen = np.ones((B, S), bool) if mask is None else mask.numpy()
    for b, t in np.ndindex(B, T):
        one = [query[b, t].numpy(), keys[b].numpy(), values[b].numpy(), seen[b]]
        np.testing.assert_allclose(found[b, t], oracles.online_softmax(*one, block), atol=1e-12)


def test_blocks_take_causal_masks_and_scores_far_from_zero():
    query, keys, values = inputs(S)
    query *= 2_000  # exponentials of such scores overflow unless the largest is subtracted
    mask = causal_mask(S)[None]
    whole = ScaledDotProductAttention()(query, keys, values, mask.expand(B, S, S)).context
    for block in (1, 3, S):
        found = online_softmax_attention(query, keys, values, mask, block=block)
        torch.testing.assert_close(found, whole)


@given(st.booleans(), st.booleans(), st.sampled_from(sorted(RUBBISH)))
def test_linear_attention_is_its_formula_in_either_order(causal, padded, rubbish):
    query, keys, values = inputs(S if causal else T)
    mask = padding_mask(torch.tensor([S, 2, 0]), S) if padded else None
    if mask is not None:
        keys, values = (spoil(x, mask, RUBBISH[rubbish]) for x in (keys, values))
    found = linear_attention(query, keys, values, mask, causal=causal)
    seen = np.ones((B, S), bool) if mask is None else mask.numpy()
    for b, t in np.ndindex(*query.shape[:2]):
        allowed = seen[b] & (np.arange(S) <= t) if causal else seen[b]
        one = query[b, t].numpy(), keys[b].numpy(), values[b].numpy(), allowed
        np.testing.assert_allclose(found[b, t], oracles.linear_attention(*one), atol=1e-12)


def test_linear_attention_multiplies_less_and_is_another_function():
    query, keys, values = inputs(200, 200, torch.float32)
    counts = {}
    for name, attention in (("linear", linear_attention), ("softmax", online_softmax_attention)):
        with FlopCounterMode(display=False) as counted:
            attention(query, keys, values)
        counts[name] = counted.get_total_flops()
    assert counts["linear"] < counts["softmax"] / 5
    far = (
        linear_attention(query, keys, values) - online_softmax_attention(query, keys, values)
    ).abs()
    assert far.max() > 0.05


def test_gradients_reach_everything():
    given_ = [x.requires_grad_() for x in inputs(4, 4)]
    mask = padding_mask(torch.tensor([4, 2, 0]), 4)
    assert gradcheck(lambda *x: online_softmax_attention(*x, mask, block=3), given_)
    assert gradcheck(lambda *x: linear_attention(*x, mask, causal=True), given_)
    assert gradcheck(lambda *x: linear_attention(*x, mask), given_)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q, k, v: online_softmax_attention(q, k, v, block=0), "block is 0; expected"),
        (lambda q, k, v: online_softmax_attention(q, k[:, :3], v), "query, keys and values have"),
        (lambda q, k, v: linear_attention(q, k[..., :1], v), "query, keys and values have"),
        (lambda q, k, v: linear_attention(q, k, v, causal=True), "one query for each key"),
        (lambda q, k, v: linear_attention(q, k, v, torch.ones(B, T).bool()), "mask has shape"),
    ],
)
def test_what_does_not_fit_is_refused(call, message, unchecked):
    with pytest.raises(ValueError, match=message):
        call(*inputs())


def test_features_far_below_zero_keep_their_digits():
    # By way of exp(x) - 1 half of the digits of exp(-8) go, and all of those of exp(-20).
    query, keys, values = inputs(dtype=torch.float32)
    query, keys = query - 8, keys - 20
    single = linear_attention(query, keys, values)
    full = linear_attention(query.double(), keys.double(), values.double())
    torch.testing.assert_close(single.double(), full, atol=0, rtol=1e-4)
