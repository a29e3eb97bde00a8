"""Coverage attention and its loss: against loops, and for what they promise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck

from seqattn import BahdanauAttention, CoverageAttention, coverage_loss, padding_mask
from tests import oracles
from tests.hostile import every_rubbish, surround

B, T, K, D_QUERY, D_KEY, D_VALUE, D_ATTN = 3, 4, 7, 5, 11, 13, 6


def build(dtype=torch.float64, **options):
    attention = CoverageAttention(D_QUERY, D_KEY, D_ATTN, **options).to(dtype)
    for p in attention.parameters():
        nn.init.normal_(p)  # w_c and b start at zero, which would hide them
    return attention


def inputs(dtype=torch.float64, batch=B, steps=T, keys=K):
    shapes = (batch, steps, D_QUERY), (batch, keys, D_KEY), (batch, keys, D_VALUE)
    return [torch.randn(*shape, dtype=dtype) for shape in shapes]


MASK = padding_mask(torch.tensor([K, 2, 0]), K)


@pytest.mark.parametrize("autocast", [True, False])
def test_coverage_is_summed_in_full_precision(autocast):
    """In 16 bits, a weight of 0.003 added to 1 is lost."""
    attention = build(torch.float32 if autocast else torch.bfloat16)
    queries, keys, values = inputs(torch.float32 if autocast else torch.bfloat16, steps=1)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        memory = attention.remember(keys, values)
        memory = memory._replace(keys=memory.keys.bfloat16(), values=memory.values.bfloat16())
        past, total = attention.first_past(memory.values), torch.zeros(B, K, dtype=torch.float64)
        for _ in range(100):
            _, weights, past = attention.look(queries[:, 0], memory, past)
            total += weights.double()
    assert past.coverage.dtype == torch.float32
    torch.testing.assert_close(past.coverage.double(), total, rtol=1e-5, atol=0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_output_is_the_formula(bias, dtype, atol):
    attention = build(dtype, bias=bias)
    queries, keys, values = inputs(dtype)
    context, weights, coverage = attention(queries, keys, values, MASK)
    p = {n.rpartition(".")[2]: x.detach().double().numpy() for n, x in attention.named_parameters()}
    for b in range(B):
        past = np.zeros(K)
        for t in range(T):
            s = queries[b, t].double().numpy()
            e = np.zeros(K)
            for i in range(K):
                inside = p["W_q"] @ s + p["W_k"] @ keys[b, i].double().numpy() + p["w_c"] * past[i]
                e[i] = p["v"] @ np.tanh(inside + p.get("b", 0.0))
            alpha = oracles.softmax(e, MASK[b].numpy())
            past += alpha
            expected = sum(a * x for a, x in zip(alpha, values[b].double().numpy()))
            np.testing.assert_allclose(weights[b, t].detach().double(), alpha, atol=atol, rtol=0)
            np.testing.assert_allclose(context[b, t].detach().double(), expected, atol=atol, rtol=0)
        np.testing.assert_allclose(coverage[b].detach().double(), past, atol=4 * atol, rtol=0)


def test_step_by_step_is_all_steps_at_once():
    attention = build()
    queries, keys, values = inputs()
    memory, coverage, rows = attention.remember(keys, values, MASK), None, []
    for query in queries.unbind(1):
        step = attention(query, memory, coverage=coverage)
        coverage = step.coverage
        rows.append(step.context)
    whole = attention(queries, keys, values, MASK)
    torch.testing.assert_close(torch.stack(rows, 1), whole.context)
    torch.testing.assert_close(coverage, whole.coverage)


def test_coverage_adds_up_to_the_number_of_steps_and_is_zero_at_padding():
    queries, keys, values = inputs()
    coverage = build()(queries, keys, values, MASK).coverage
    torch.testing.assert_close(coverage.sum(-1), torch.tensor([T, T, 0.0]).double())
    assert (coverage[~MASK] == 0).all()


def test_a_new_one_is_additive_attention():
    attention = CoverageAttention(D_QUERY, D_KEY, D_ATTN).double()
    additive = BahdanauAttention(D_QUERY, D_KEY, D_ATTN).double()
    additive.load_state_dict(attention.attention.state_dict())
    given = (*inputs(), MASK)
    torch.testing.assert_close(attention(*given).context, additive(*given).context)
    torch.testing.assert_close(attention(*given).weights, additive(*given).weights)


def test_a_mask_for_each_query_is_followed_query_by_query():
    attention, (queries, keys, values) = build(), inputs()
    mask = torch.rand(B, T, K) < 0.6
    mask[..., 0] = True
    weights = attention(queries, keys, values, mask).weights
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, T).double())
    alone = attention(queries[:1], keys[:1], values[:1], mask[0])  # (queries, keys)
    torch.testing.assert_close(alone.weights, weights[:1])
    # One mask for every sentence:
    shared = attention(queries, keys, values, mask[:1]).weights
    torch.testing.assert_close(shared, attention(queries, keys, values, mask[0]).weights)
    assert not torch.allclose(shared, weights)


def test_every_parameter_gets_a_gradient_once_there_is_a_past():
    attention = CoverageAttention(D_QUERY, D_KEY, D_ATTN, bias=True).double()
    attention(*inputs()).context.square().sum().backward()
    assert all(p.grad.abs().max() > 0 for p in attention.parameters())


def test_gradcheck():
    attention = build()
    query, keys, values = (x.requires_grad_() for x in inputs(batch=2, steps=2, keys=3))
    mask = padding_mask(torch.tensor([3, 0]), 3)
    assert gradcheck(lambda *x: tuple(attention(*x, mask)), (query, keys, values))


@pytest.mark.parametrize(("batch", "steps", "keys"), [(0, 4, 7), (1, 1, 1), (2, 0, 7)])
def test_small_and_empty_batches(batch, steps, keys):
    context, weights, coverage = build()(*inputs(batch=batch, steps=steps, keys=keys))
    assert context.shape == (batch, steps, D_VALUE)
    assert weights.shape == (batch, steps, keys)
    assert coverage.shape == (batch, keys)


def test_torch_compile_takes_it_whole(compile_whole):
    attention, given = build(), (*inputs(), MASK)
    compiled = compile_whole(attention)
    torch.testing.assert_close(compiled(*given).coverage, attention(*given).coverage)


# The loss


def looped_loss(weights, real):
    total, tokens = 0.0, 0
    for rows, flags in zip(weights, real):
        past = np.zeros(rows.shape[-1])
        for row, flag in zip(rows, flags):
            if flag:
                total += sum(min(a, c) for a, c in zip(row, past))
                tokens += 1
            past += row
    return total / max(tokens, 1)


@given(st.integers(0, 10**6))
def test_the_loss_is_the_formula(seed):
    torch.manual_seed(seed)
    weights = torch.randn(B, T, K).double().mul(3).softmax(-1)
    real = padding_mask(torch.randint(0, T + 1, (B,)), T)
    loss = coverage_loss(weights, target_mask=real)
    assert loss.item() == pytest.approx(looped_loss(weights.numpy(), real.numpy()), abs=1e-12)
    assert 0 <= loss <= 1
    before = weights.cumsum(1) - weights
    torch.testing.assert_close(coverage_loss(weights, before, real), loss)


@pytest.mark.parametrize("real", [None, torch.tensor([[False, True]])])
def test_a_single_token_counts_as_one(real):
    weights = torch.tensor([[[0.7, 0.3], [0.6, 0.4]]])
    if real is None:
        weights, before = weights[:, 1:], torch.tensor([[[0.7, 0.3]]])
        assert coverage_loss(weights, before).item() == pytest.approx(0.9)
    else:
        assert coverage_loss(weights, None, real).item() == pytest.approx(0.9)


def test_no_token_costs_nothing():
    assert coverage_loss(torch.zeros(0, 4, 7)).item() == 0


def test_steps_one_at_a_time_add_up_to_the_whole():
    weights = torch.randn(B, T, K).double().softmax(-1)
    before = weights.cumsum(1) - weights
    steps = [coverage_loss(weights[:, t], before[:, t]) for t in range(T)]
    assert steps[0] == 0  # nothing is covered before the first step
    torch.testing.assert_close(torch.stack(steps).mean(), coverage_loss(weights))


@every_rubbish
def test_neither_batch_size_nor_padding_changes_the_loss(rubbish):
    weights = torch.randn(1, T, K).double().softmax(-1)
    loss = coverage_loss(weights)
    torch.testing.assert_close(coverage_loss(weights.expand(8, T, K)), loss)
    padded = surround(weights, rubbish, 9).requires_grad_()
    found = coverage_loss(padded, target_mask=padding_mask(torch.tensor([T]), T + 9))
    torch.testing.assert_close(found, loss)
    (gradient,) = torch.autograd.grad(found, padded)
    assert gradient.isfinite().all()
    assert not gradient[:, T:].any()


def test_coverage_after_the_step_would_be_a_constant():
    weights = torch.randn(B, T, K).double().softmax(-1).requires_grad_()
    after = weights.cumsum(1)
    assert coverage_loss(weights, after).item() == pytest.approx(1)
    (gradient,) = torch.autograd.grad(coverage_loss(weights), weights)
    assert gradient.abs().max() > 0


def test_a_batch_of_padding_alone_costs_nothing():
    weights = torch.rand(B, T, K, requires_grad=True)
    loss = coverage_loss(weights, target_mask=torch.zeros(B, T).bool())
    loss.backward()
    assert loss == 0
    assert (weights.grad == 0).all()


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda: build()(inputs()[0], inputs()[1], coverage=torch.zeros(B, T).double()),
            ValueError,
            r"expected \(batch, keys\) = \(3, 7\)",
        ),
        (
            lambda: build()(inputs()[0], build().remember(inputs()[1]), mask=MASK),
            TypeError,
            "give them to remember",
        ),
        (
            lambda: build()(*inputs(), torch.ones(B, T + 1, K).bool()),
            ValueError,
            "mask has shape",
        ),
        (lambda: coverage_loss(torch.rand(B, K)), ValueError, r"expected \(batch, steps, keys\)"),
        (
            lambda: coverage_loss(torch.rand(B, T, K), torch.rand(B, K)),
            ValueError,
            "coverage before each step",
        ),
        (
            lambda: coverage_loss(torch.rand(B, T, K), target_mask=torch.ones(B, K).bool()),
            ValueError,
            "one flag per target token",
        ),
        (
            lambda: coverage_loss(torch.rand(B, T, K), target_mask=torch.ones(B, T).int()),
            TypeError,
            "target_mask has dtype torch.int32; expected torch.bool",
        ),
    ],
)
def test_errors_name_what_was_wrong(call, error, said, unchecked):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_loss_adds_up_in_32_bits(dtype):
    # In 16 bits a running sum soon stops growing, and so does the count of the tokens.
    weights = torch.rand(1, 300, 7).softmax(-1).to(dtype)
    found = coverage_loss(weights)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, coverage_loss(weights.float()))
