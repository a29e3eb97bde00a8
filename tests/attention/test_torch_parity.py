"""Against PyTorch's own operator."""

import pytest
import torch
from torch.nn import functional as F

from seqattn import ReducedRankAttention, ScaledDotProductAttention, attend, causal_mask, dot_score

B, Q, K, D, D_VALUE = 3, 5, 7, 11, 13


@pytest.fixture
def qkv():
    return (
        torch.randn(B, Q, D).double(),
        torch.randn(B, K, D).double(),
        torch.randn(B, K, D_VALUE).double(),
    )


def a_mask(kind, queries=Q):
    if kind == "none":
        return None
    if kind == "padding":
        return torch.arange(K) < torch.tensor([[K], [2], [0]])
    mask = torch.rand(B, queries, K) < 0.5
    mask[1, 0] = False
    return mask


def same(a, b):
    torch.testing.assert_close(a, b, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", ["none", "padding", "per query"])
def test_many_queries(qkv, kind):
    query, keys, values = qkv
    mask = a_mask(kind)
    theirs = mask[:, None] if kind == "padding" else mask
    expected = F.scaled_dot_product_attention(query, keys, values, attn_mask=theirs)
    # A row with nothing to attend is zero in both.
    same(ScaledDotProductAttention()(query, keys, values, mask).context, expected)
    unscaled = F.scaled_dot_product_attention(query, keys, values, attn_mask=theirs, scale=1.0)
    same(attend(dot_score(query, keys), values, mask).context, unscaled)


@pytest.mark.parametrize("kind", ["none", "padding"])
def test_one_query(qkv, kind):
    query, keys, values = qkv
    mask = a_mask(kind)
    theirs = None if mask is None else mask[:, None]
    expected = F.scaled_dot_product_attention(query[:, :1], keys, values, attn_mask=theirs)
    same(ScaledDotProductAttention()(query[:, 0], keys, values, mask).context, expected[:, 0])


def test_causal_self_attention():
    x = torch.randn(B, K, D).double()
    expected = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    same(ScaledDotProductAttention()(x, x, x, causal_mask(K)).context, expected)


def test_reduced_rank_is_one_head_without_the_scale(qkv):
    query, keys, values = qkv
    attention = ReducedRankAttention(D, D, rank=2).double()
    U, V = attention.score.U, attention.score.V
    expected = F.scaled_dot_product_attention(query @ U.T, keys @ V.T, values, scale=1.0)
    same(attention(query, keys, values).context, expected)


def test_gradients_agree_where_rows_are_fully_masked(qkv):
    mask = a_mask("padding")
    grads = []
    for ours in (True, False):
        inputs = [x.clone().requires_grad_() for x in qkv]
        if ours:
            out = ScaledDotProductAttention()(*inputs, mask).context
        else:
            out = F.scaled_dot_product_attention(*inputs, attn_mask=mask[:, None])
        grads.append(torch.autograd.grad(out.square().sum(), inputs))
    for mine, theirs in zip(*grads, strict=True):
        same(mine, theirs)
