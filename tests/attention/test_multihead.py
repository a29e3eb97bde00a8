"""Multi-head attention: against loops, PyTorch's module, Keras's layer, and its own promises."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck

from seqattn import MultiHeadAttention, ScaledDotProductAttention, causal_mask, padding_mask
from tests import oracles

B, Q, K, D, H = 3, 5, 7, 6, 2


def build(d_model=D, heads=H, dtype=torch.float64, **options):
    attention = MultiHeadAttention(d_model, heads, **options).to(dtype)
    for p in attention.parameters():
        nn.init.normal_(p, std=0.7)  # biases start at zero, which would hide them
    return attention


def inputs(dtype=torch.float64, batch=B, queries=Q, keys=K):
    shapes = (batch, queries, D), (batch, keys, D), (batch, keys, D)
    return [torch.randn(*shape, dtype=dtype) for shape in shapes]


def masks(batch=B, queries=Q, keys=K):
    per_query = torch.rand(batch, queries, keys) < 0.6
    per_query[0, 0] = False  # nothing to attend
    padding = padding_mask(torch.tensor([keys, 2, 0][:batch]), keys)
    return {"none": None, "padding": padding, "per query": per_query}


def looped(attention, query, keys, values, mask):
    """The paper's formula, one head, query and key at a time."""
    W = {n: p.detach().double().numpy() for n, p in attention.named_parameters()}

    def project(name, x):
        return W[f"{name}.weight"] @ x + W.get(f"{name}.bias", 0.0)

    d_head = query.shape[-1] // attention.heads
    contexts, rows = [], []
    for s in query:
        parts, row = [], []
        for head in range(attention.heads):
            mine = slice(head * d_head, (head + 1) * d_head)
            q = project("query", s)[mine]
            k = [project("key", h)[mine] for h in keys]
            v = [project("value", x)[mine] for x in values]
            e = np.array([sum(a * b for a, b in zip(q, x)) / math.sqrt(d_head) for x in k])
            alpha = oracles.softmax(e, None if mask is None else mask[len(contexts)])
            parts.append(sum(a * x for a, x in zip(alpha, v)))
            row.append(alpha)
        contexts.append(project("output", np.concatenate(parts)))
        rows.append(row)
    return np.array(contexts), np.array(rows).transpose(1, 0, 2)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["none", "padding", "per query"])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_output_is_the_formula(kind, bias, dtype, atol):
    attention, mask = build(bias=bias, dtype=dtype), masks()[kind]
    query, keys, values = inputs(dtype)
    context, weights = attention(query, keys, values, mask)
    for b in range(B):
        allowed = None if mask is None else mask[b].expand(Q, K).numpy()
        arrays = [x[b].double().numpy() for x in (query, keys, values)]
        expected = looped(attention, *arrays, allowed)
        np.testing.assert_allclose(context[b].detach().double(), expected[0], atol=atol, rtol=0)
        np.testing.assert_allclose(weights[b].detach().double(), expected[1], atol=atol, rtol=0)


def theirs(ours, **options):
    """PyTorch's module with our weights; it stacks the three input projections."""
    module = nn.MultiheadAttention(D, H, batch_first=True, dtype=torch.float64, **options)
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([p.weight for p in parts]))
        module.in_proj_bias.copy_(torch.cat([p.bias for p in parts]))
        module.out_proj.weight.copy_(ours.output.weight)
        module.out_proj.bias.copy_(ours.output.bias)
    return module


def test_agrees_with_pytorch_whose_masks_mean_the_opposite():
    ours = build()
    query, keys, values = inputs()
    padding = padding_mask(torch.tensor([K, 2, 5]), K)
    context, weights = ours(query, keys, values, padding)
    expected, rows = theirs(ours)(
        query, keys, values, key_padding_mask=~padding, average_attn_weights=False
    )
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(weights, rows)

    x = inputs(queries=K)[0]
    causal = causal_mask(K)[None]
    expected, rows = theirs(ours)(x, x, x, attn_mask=~causal[0], average_attn_weights=False)
    context, weights = ours(x, mask=causal)
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(weights, rows)


def test_agrees_with_keras(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    from keras import layers

    ours, d_head = build(dtype=torch.float32), D // H
    query, keys, values = inputs(torch.float32)
    layer = layers.MultiHeadAttention(H, d_head)
    layer.build(query.shape, values.shape, keys.shape)
    for dense, part in (
        (layer.query_dense, ours.query),
        (layer.key_dense, ours.key),
        (layer.value_dense, ours.value),
    ):
        weight = part.weight.detach().numpy()
        dense.set_weights([weight.T.reshape(D, H, d_head), part.bias.detach().reshape(H, d_head)])
    out = ours.output.weight.detach().numpy()
    layer.output_dense.set_weights([out.T.reshape(H, d_head, D), ours.output.bias.detach()])
    mask = masks()["per query"] | causal_mask(K)[:Q]  # True may be attended, there as here
    context, weights = ours(query, keys, values, mask)
    expected, rows = layer(query, values, keys, attention_mask=mask, return_attention_scores=True)
    torch.testing.assert_close(context, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(weights, rows, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["none", "padding", "per query"])
def test_without_weights_the_context_and_its_gradients_are_the_same(kind):
    attention, mask = build(), masks()[kind]
    results = []
    for need_weights in (True, False):
        leaves = [x.requires_grad_() for x in [y.clone() for y in SAME]]
        output = attention(*leaves, mask, need_weights=need_weights)
        assert (output.weights is not None) is need_weights
        results.append([output.context, *torch.autograd.grad(output.context.sum(), leaves)])
    torch.testing.assert_close(*results)


SAME = inputs()


def test_a_row_with_nothing_to_attend_is_the_bias_of_the_output_and_passes_no_gradient():
    attention = build()
    query, keys, values = (x.requires_grad_() for x in inputs())
    mask = masks()["padding"]
    for need_weights in (True, False):
        context, weights = attention(query, keys, values, mask, need_weights=need_weights)
        torch.testing.assert_close(context[2], attention.output.bias.expand(Q, D))
        assert weights is None or (weights[2] == 0).all()
        grads = torch.autograd.grad(context[2].sum(), (query, keys, values))
        assert all((g == 0).all() for g in grads)


def test_one_head_is_scaled_dot_product_attention_between_projections():
    attention = build(heads=1)
    query, keys, values = inputs()
    projected = attention.query(query), attention.key(keys), attention.value(values)
    expected = ScaledDotProductAttention()(*projected, masks()["padding"])
    context, weights = attention(query, keys, values, masks()["padding"])
    torch.testing.assert_close(weights[:, 0], expected.weights)
    torch.testing.assert_close(context, attention.output(expected.context))


def test_one_query_attends_as_many_queries_with_one():
    attention = build()
    query, keys, values = inputs()
    many = attention(query[:, :1], keys, values, masks()["padding"])
    one = attention(query[:, 0], keys, values, masks()["padding"])
    torch.testing.assert_close(one.context, many.context[:, 0])
    torch.testing.assert_close(one.weights, many.weights[:, :, 0])
    assert attention(query[:, 0], keys, need_weights=False).weights is None


def test_what_is_remembered_serves_every_step():
    attention = build()
    query, keys, values = inputs()
    memory = attention.remember(keys, values, masks()["padding"])
    steps = [attention(query[:, t], memory).context for t in range(Q)]
    torch.testing.assert_close(
        torch.stack(steps, 1), attention(query, keys, values, masks()["padding"]).context
    )


@given(st.integers(1, K - 1))
def test_under_a_causal_mask_later_positions_have_no_influence(t):
    attention = build()
    x = torch.randn(B, K, D).double()
    changed = x.clone()
    changed[:, t:] = torch.randn(B, K - t, D)
    for need_weights in (True, False):
        before, after = (
            attention(y, mask=causal_mask(K)[None], need_weights=need_weights).context[:, :t]
            for y in (x, changed)
        )
        torch.testing.assert_close(before, after)


@given(st.permutations(range(K)))
def test_the_order_of_keys_does_not_matter(order):
    attention, mask = build(), masks()["padding"]
    query, keys, values = inputs()
    there, back = attention(query, keys, values, mask), list(order)
    here = attention(query, keys[:, back], values[:, back], mask[:, back])
    torch.testing.assert_close(here.context, there.context)
    torch.testing.assert_close(here.weights, there.weights[..., back])


def test_padding_masks_fit_sentences_where_batch_heads_and_queries_are_as_many():
    attention = build(heads=3)  # as many heads as sentences
    x, keys, _ = inputs(queries=B)  # and as many queries
    mask = padding_mask(torch.tensor([K, 2, 4]), K)
    whole = attention(x, keys, mask=mask)
    for b, length in enumerate((K, 2, 4)):
        alone = attention(x[b : b + 1], keys[b : b + 1, :length])
        torch.testing.assert_close(whole.context[b : b + 1], alone.context)
        assert (whole.weights[b, ..., length:] == 0).all()


def test_weights_returned_are_those_before_dropout():
    attention = build(dropout=0.5)
    query, keys, values = inputs()
    context, weights = attention(query, keys, values)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, Q).double())
    attention.eval()
    calm = attention(query, keys, values)
    torch.testing.assert_close(weights, calm.weights)
    assert not torch.allclose(context, calm.context)
    fused = attention(query, keys, values, need_weights=False)
    torch.testing.assert_close(fused.context, calm.context)
    attention.train()
    assert not torch.allclose(attention(query, keys, need_weights=False).context, calm.context)


def test_gradcheck():
    attention = build()
    query, keys, values = (x.requires_grad_() for x in inputs(batch=1, queries=2, keys=3))
    mask = torch.tensor([[[True, False, True], [False, False, False]]])
    assert gradcheck(lambda *x: tuple(attention(*x, mask)), (query, keys, values))


def test_every_parameter_gets_a_gradient():
    attention = build()
    attention(*inputs()).context.square().sum().backward()
    # A constant added to all keys shifts a row of scores, which a softmax ignores.
    idle = {n for n, p in attention.named_parameters() if p.grad.abs().max() < 1e-12}
    assert idle == {"key.bias"}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("need_weights", [True, False])
def test_large_scores_in_half_precision_stay_finite(dtype, need_weights):
    attention = MultiHeadAttention(4, 2, bias=False)
    for part in (attention.query, attention.key, attention.value, attention.output):
        nn.init.eye_(part.weight)
    attention.to(dtype)
    x = torch.tensor([[[100.0, 100.0, -100.0, 50.0], [-100.0, 0.0, 100.0, 50.0]]], dtype=dtype)
    mask = torch.tensor([[[True, True], [False, False]]])
    context, _ = attention(x, mask=mask, need_weights=need_weights)
    assert context.isfinite().all()
    torch.testing.assert_close(context[0, 0, :2], x[0, 0, :2])
    assert (context[0, 1] == 0).all()


@pytest.mark.parametrize(("batch", "queries", "keys"), [(0, 5, 7), (1, 1, 1), (2, 0, 7)])
def test_small_and_empty_batches(batch, queries, keys):
    query, memory, values = inputs(batch=batch, queries=queries, keys=keys)
    context, weights = build()(query, memory, values)
    assert context.shape == (batch, queries, D)
    assert weights.shape == (batch, H, queries, keys)


def test_strided_input_gives_what_contiguous_input_gives():
    attention = build()
    query, keys, values = inputs()
    strided = [x.mT.contiguous().mT for x in (query, keys, values)]
    torch.testing.assert_close(attention(*strided).context, attention(query, keys, values).context)


@pytest.mark.parametrize("need_weights", [True, False])
def test_torch_compile_takes_it_whole(need_weights, compile_whole):
    attention, given = build(), (*inputs(), masks()["padding"], need_weights)
    compiled = compile_whole(attention)
    torch.testing.assert_close(compiled(*given).context, attention(*given).context)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: MultiHeadAttention(6, 4), ValueError, "4 heads cannot share d_model=6"),
        (lambda: MultiHeadAttention(6, 0), ValueError, "0 heads cannot share"),
        (lambda: MultiHeadAttention(6, 2, dropout=1.0), ValueError, "dropout is 1.0"),
        (lambda: MultiHeadAttention(6, 2, dropout=-0.1), ValueError, "dropout is -0.1"),
        (lambda: build()(torch.randn(B, D).double()), ValueError, "self-attention expected"),
        (
            lambda: build()(inputs()[0], build().remember(inputs()[1]), mask=masks()["padding"]),
            TypeError,
            "give them to remember",
        ),
        (
            lambda: build()(inputs(batch=2)[0], inputs()[1]),
            ValueError,
            "query has a batch of 2 and keys one of 3",
        ),
        (
            lambda: build()(*inputs(), torch.ones(B, H, Q, K).bool()),
            ValueError,
            r"expected \(batch, keys\) = \(3, 7\)",
        ),
        (lambda: MultiHeadAttention(0, 1), ValueError, "d_model is 0; expected at least 1"),
        (lambda: MultiHeadAttention(6, 2.0), ValueError, "heads is 2.0; expected a whole number"),
    ],
)
def test_errors_name_what_was_wrong(call, error, said, unchecked):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize(
    ("query", "keys", "values", "said"),
    [
        ((B, 2, Q, D), (B, K, D), (B, K, D), r"query has shape .*; expected \(batch, \[queries,\]"),
        ((B, Q, D + 1), (B, K, D), (B, K, D), r"query has shape .* with d_model = "),
        ((B, Q, D), (B, K, D + 1), None, r"keys have shape .*; expected \(batch, keys, d_model\)"),
        ((B, Q, D), (B, K), None, r"a mask goes by its name, mask=\.\.\."),
        ((B, Q, D), (B, K, D), (B, K + 1, D), "values have shape .*; expected that of the keys"),
        ((B, Q, D), (B, K, D), (B, K - 1, D), "values have shape .*; expected that of the keys"),
        ((B, Q, D), (B, K, D), (1, K, D), "values have shape .*; expected that of the keys"),
        ((B, Q, D), (B, K, D), (B, K, D + 1), "values have shape .*; expected that of the keys"),
        ((B, 2, Q, D), None, None, "query has shape"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_with_weights_and_without(
    need_weights, query, keys, values, said, unchecked
):
    given = [x and torch.zeros(x).double() for x in (query, keys, values)]
    with pytest.raises(ValueError, match=said):
        build()(*given, need_weights=need_weights)


def test_projections_start_as_glorot_and_bengio_have_it_and_biases_at_zero():
    attention = MultiHeadAttention(60, 4)
    bound = math.sqrt(6 / (60 + 60))
    for name, p in attention.named_parameters():
        if name.endswith("bias"):
            assert not p.any(), name
        else:
            assert 0.95 * bound < p.abs().max() <= bound, name
            assert p.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05), name
