"""What holds for every attention mechanism: a new one is tested by adding it to SCORED."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from seqattn import (
    AdditiveAttention,
    AdditiveScore,
    Attention,
    BahdanauAttention,
    DotScore,
    HardAttention,
    LuongAttention,
    Memory,
    ReducedRankAttention,
    ScaledDotProductAttention,
    attend,
    masked_softmax,
    padding_mask,
)
from tests import oracles
from tests.attention.mechanisms import (
    BATCH,
    D_VALUE,
    KEYS,
    NAMES,
    QUERIES,
    SCORED,
    a_mask,
    as_arrays,
    weights_of,
)
from tests.hostile import either_side, every_rubbish, surround

every_mechanism = pytest.mark.parametrize("mechanism", SCORED, ids=NAMES)
every_query_form = pytest.mark.parametrize("one_query", [False, True], ids=["many", "one"])


def close(a, b, tolerance=1e-12):
    torch.testing.assert_close(a, b, atol=tolerance, rtol=0)


@every_mechanism
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_output_is_the_formula(mechanism, dtype, tolerance):
    attention = mechanism.build(dtype)
    query, keys, values = mechanism.inputs(dtype)
    mask = a_mask()
    scores = oracles.score_all(
        mechanism.oracle,
        query.double().numpy(),
        keys.double().numpy(),
        **as_arrays(weights_of(attention.score)),
    )
    flags = mask[:, None].expand(-1, QUERIES, -1).numpy()
    context, weights = oracles.attend(scores, values.double().numpy(), flags)
    output = attention(query, keys, values, mask)
    assert output.context.dtype == output.weights.dtype == dtype
    np.testing.assert_allclose(output.weights.detach().numpy(), weights, atol=tolerance, rtol=0)
    np.testing.assert_allclose(output.context.detach().numpy(), context, atol=tolerance, rtol=0)


@every_mechanism
def test_rows_sum_to_one_over_the_attendable_positions(mechanism):
    query, keys, values = mechanism.inputs()
    weights = mechanism.build()(query, keys, values, a_mask()).weights
    close(weights.sum(-1), torch.ones(BATCH, QUERIES).double())
    assert (weights >= 0).all()
    assert (weights[~a_mask()[:, None].expand_as(weights)] == 0).all()


@every_mechanism
def test_one_query_attends_as_many_queries_do(mechanism):
    attention, (query, keys, values) = mechanism.build(), mechanism.inputs()
    together = attention(query, keys, values, a_mask())
    for t in range(QUERIES):
        alone = attention(query[:, t], keys, values, a_mask())
        assert alone.context.shape == (BATCH, D_VALUE)
        assert alone.weights.shape == (BATCH, KEYS)
        close(alone.context, together.context[:, t])
        close(alone.weights, together.weights[:, t])


@every_mechanism
@every_query_form
def test_a_memory_gives_the_same_as_raw_keys(mechanism, one_query):
    attention, (query, keys, values) = mechanism.build(), mechanism.inputs()
    query = query[:, 0] if one_query else query
    for extras in [(), (values,), (values, a_mask())]:
        direct = attention(query, keys, *extras)
        remembered = attention(query, attention.remember(keys, *extras))
        assert torch.equal(direct.context, remembered.context)
        assert torch.equal(direct.weights, remembered.weights)


@every_mechanism
def test_values_default_to_the_keys(mechanism):
    attention, (query, keys, _) = mechanism.build(), mechanism.inputs()
    assert torch.equal(attention(query, keys).context, attention(query, keys, keys).context)


@every_mechanism
def test_a_batch_gives_what_its_sentences_give_one_by_one(mechanism):
    attention, (query, keys, values) = mechanism.build(), mechanism.inputs()
    mask = a_mask()
    together = attention(query, keys, values, mask)
    for b in range(BATCH):
        one = slice(b, b + 1)
        alone = attention(query[one], keys[one], values[one], mask[one])
        close(alone.context, together.context[one])
        # ... and without its padding:
        real = int(mask[b].sum())
        cut = attention(query[one], keys[one, :real], values[one, :real])
        close(cut.context, together.context[one])
        close(cut.weights, together.weights[one, :, :real])


@every_mechanism
@every_query_form
def test_masked_positions_have_no_influence_and_get_no_gradient(mechanism, one_query):
    attention, (query, keys, values) = mechanism.build(), mechanism.inputs()
    query, mask = query[:, 0] if one_query else query, a_mask()
    before = attention(query, keys, values, mask)
    keys, values = (x.masked_fill(~mask[..., None], 1e3).requires_grad_() for x in (keys, values))
    after = attention(query, keys, values, mask)
    assert torch.equal(before.weights, after.weights)
    assert torch.equal(before.context, after.context)
    after.context.square().sum().backward()
    assert (keys.grad[~mask] == 0).all()
    assert (values.grad[~mask] == 0).all()


@every_mechanism
@every_query_form
def test_a_sentence_with_nothing_to_attend_gives_zeros_and_finite_gradients(mechanism, one_query):
    attention, tensors = mechanism.build(), [x.requires_grad_() for x in mechanism.inputs()]
    query, keys, values = tensors
    mask = padding_mask(torch.tensor([KEYS, 0, 2]), KEYS)
    with torch.autograd.set_detect_anomaly(True):
        context, weights = attention(query[:, 0] if one_query else query, keys, values, mask)
        context.square().sum().backward()
    assert (weights[1] == 0).all()
    assert (context[1] == 0).all()
    for tensor in tensors:
        assert tensor.grad.isfinite().all()
        assert (tensor.grad[1] == 0).all()
    for parameter in attention.parameters():
        assert parameter.grad.isfinite().all()


@every_mechanism
def test_a_mask_per_query_closes_single_cells(mechanism):
    attention, (query, keys, values) = mechanism.build(), mechanism.inputs()
    mask = torch.rand(BATCH, QUERIES, KEYS) < 0.5
    mask[0, 1] = False
    together = attention(query, keys, values, mask)
    for t in range(QUERIES):
        close(attention(query[:, t], keys, values, mask[:, t]).context, together.context[:, t])
    assert (together.context[0, 1] == 0).all()


@every_mechanism
def test_permuted_positions_give_permuted_weights_and_the_same_context(mechanism):
    attention, (query, keys, values) = mechanism.build(), mechanism.inputs()
    order, mask = torch.randperm(KEYS), a_mask()
    plain = attention(query, keys, values, mask)
    permuted = attention(query, keys[:, order], values[:, order], mask[:, order])
    close(permuted.weights, plain.weights[..., order])
    close(permuted.context, plain.context)


@every_mechanism
@given(
    batch=st.integers(0, 3),
    queries=st.integers(0, 3),
    keys=st.integers(1, 5),
    masked=st.booleans(),
    dtype=st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16]),
)
def test_any_shape_and_dtype(mechanism, batch, queries, keys, masked, dtype):
    attention = mechanism.build(dtype)
    query, key, value = mechanism.inputs(dtype, batch, queries, keys)
    mask = torch.rand(batch, keys) < 0.7 if masked else None
    context, weights = attention(query, key, value, mask)
    assert context.shape == (batch, queries, D_VALUE)
    assert weights.shape == (batch, queries, keys)
    assert context.dtype == weights.dtype == dtype
    assert context.isfinite().all()
    reachable = torch.ones(batch) if mask is None else mask.any(-1).float()
    close(weights.float().sum(-1), reachable[:, None].expand(-1, queries), tolerance=3e-2)


@every_mechanism
def test_a_sentence_of_one_word_gets_all_the_weight(mechanism):
    query, keys, values = mechanism.inputs(keys=1)
    context, weights = mechanism.build()(query, keys, values)
    assert (weights == 1).all()
    close(context, values.expand(-1, QUERIES, -1))


@every_mechanism
@every_query_form
def test_non_contiguous_inputs(mechanism, one_query):
    attention, (query, keys, values) = mechanism.build(), mechanism.inputs()
    query = query[:, 0] if one_query else query
    expected = attention(query, keys, values, a_mask())

    def scattered(x):
        out = torch.empty(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)[..., ::2]
        return out.copy_(x)

    strange = attention(*map(scattered, (query, keys, values)), scattered(a_mask()))
    close(strange.context, expected.context)
    # Time-major tensors turned to batch-first, as an RNN may give them:
    keys, values = (x.transpose(0, 1).contiguous().transpose(0, 1) for x in (keys, values))
    close(attention(query, keys, values, a_mask()).context, expected.context)


@every_mechanism
@every_query_form
def test_every_input_and_every_parameter_gets_a_gradient(mechanism, one_query):
    attention, tensors = mechanism.build(), [x.requires_grad_() for x in mechanism.inputs()]
    query, keys, values = tensors
    attention(query[:, 0] if one_query else query, keys, values).context.square().sum().backward()
    for tensor in [*tensors, *attention.parameters()]:
        assert tensor.grad is not None
        assert (tensor.grad != 0).any()


@every_mechanism
def test_calls_leave_no_trace(mechanism):
    attention, (query, keys, values) = mechanism.build(), mechanism.inputs()
    before = set(vars(attention)), set(vars(attention.score))
    inputs = [x.clone() for x in (query, keys, values)]
    attention(query, attention.remember(keys, values, a_mask()))
    assert (set(vars(attention)), set(vars(attention.score))) == before
    assert all(torch.equal(x, y) for x, y in zip(inputs, (query, keys, values), strict=True))


@every_mechanism
def test_weights_survive_saving_and_copying(mechanism):
    attention, inputs = mechanism.build(), mechanism.inputs()
    other = mechanism.build()
    other.load_state_dict(attention.state_dict())
    for twin in (other, copy.deepcopy(attention)):
        assert torch.equal(twin(*inputs).context, attention(*inputs).context)


@every_mechanism
def test_torch_compile_takes_it_whole(mechanism, compile_whole):
    attention, inputs = mechanism.build(), mechanism.inputs()
    compiled = compile_whole(attention)
    close(compiled(*inputs, a_mask()).context, attention(*inputs, a_mask()).context)


@every_mechanism
def test_dropout_rests_in_eval_mode(mechanism):
    attention, inputs = mechanism.build(dropout=0.7).eval(), mechanism.inputs()
    attention.requires_grad_(False)
    plain = copy.deepcopy(attention)
    plain.dropout = 0.0
    assert torch.equal(attention(*inputs).context, plain(*inputs).context)


@every_mechanism
def test_dropout_drops_whole_weights_scales_the_rest_and_returns_what_was_before(mechanism):
    attention, (query, keys, _) = mechanism.build(dropout=0.25), mechanism.inputs()
    # With the identity as values the context shows the weights that were used.
    identity = torch.eye(KEYS).double().expand(BATCH, -1, -1)
    used, weights = attention(query, keys, identity)
    kept = used != 0
    assert 0 < kept.sum() < kept.numel()
    close(used[kept], weights[kept] / 0.75)
    close(weights, attention.eval()(query, keys, identity).weights)
    close(weights.sum(-1), torch.ones(BATCH, QUERIES).double())


def test_dropout_keeps_the_mean():
    draws = 20_000
    attention = Attention(DotScore(), dropout=0.4)
    query, keys = torch.randn(1, 1, 3), torch.randn(1, 5, 3)
    mean = attention(query.expand(1, draws, -1), keys).context.mean(1)
    # Standard error: |h| √(p/(1-p)) √Σα² / √draws, below 0.012 for |h| < 2.
    close(mean, attention.eval()(query, keys).context[:, 0], tolerance=0.05)


def test_another_normalisation_may_take_the_place_of_softmax():
    def hardest(scores, mask):
        return nn.functional.one_hot(masked_softmax(scores, mask).argmax(-1), KEYS).to(scores)

    attention = Attention(DotScore(), normalize=hardest)
    query, keys = torch.randn(BATCH, 11), torch.randn(BATCH, KEYS, 11)
    context, weights = attention(query, keys)
    best = (keys @ query[..., None])[..., 0].argmax(-1)
    assert torch.equal(weights.argmax(-1), best)
    assert torch.equal(context, keys[torch.arange(BATCH), best])


def test_names_and_sizes_of_the_parameters():
    def shapes(module):
        return {name: tuple(p.shape) for name, p in module.named_parameters()}

    assert shapes(BahdanauAttention(11, 13, 19)) == {
        "score.W_q": (19, 11),
        "score.W_k": (19, 13),
        "score.v": (19,),
    }
    assert shapes(BahdanauAttention(11, 13, 19, bias=True))["score.b"] == (19,)
    assert shapes(LuongAttention(11, 13)) == {"score.W": (11, 13)}
    assert shapes(LuongAttention(11, 13, "concat", 19)) == {
        "score.W": (19, 24),
        "score.v": (19,),
    }
    assert shapes(LuongAttention(11, 13, "concat"))["score.v"] == (11,)
    assert shapes(LuongAttention(11, 11, "dot")) == {}
    assert shapes(ReducedRankAttention(11, 13, 2)) == {"score.U": (2, 11), "score.V": (2, 13)}
    assert shapes(ScaledDotProductAttention()) == {}
    assert AdditiveAttention is BahdanauAttention


@pytest.mark.parametrize("rank", [1, 11])
def test_every_rank_up_to_the_full_one_is_allowed(rank):
    assert ReducedRankAttention(11, 13, rank).score.U.shape == (rank, 11)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Attention(DotScore(), dropout=1.0), "dropout is 1.0; expected a probability"),
        (lambda: BahdanauAttention(2, 3, 5, dropout=-0.1), "dropout is -0.1; expected"),
        (
            lambda: LuongAttention(11, 13, "additive"),
            "score is 'additive'; expected 'dot', 'general' or 'concat'",
        ),
        (
            lambda: LuongAttention(11, 13, "dot"),
            r"score='dot' needs d_query == d_key; got 11 and 13 \(score='general'",
        ),
        (
            lambda: LuongAttention(11, 13, "general", 19),
            "d_attn belongs to score='concat'; the score is 'general'",
        ),
        (lambda: ReducedRankAttention(11, 13, 0), "rank is 0; expected 1 to .* = 11"),
        (lambda: ReducedRankAttention(13, 11, 12), "rank is 12; expected 1 to .* = 11"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message, unchecked):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("extra", ["values", "mask"])
def test_a_memory_beside_values_or_a_mask_is_refused(extra):
    attention = ScaledDotProductAttention()
    memory = attention.remember(torch.zeros(3, 7, 11))
    assert isinstance(memory, Memory)
    late = {"values": torch.zeros(3, 7, 11), "mask": torch.ones(3, 7, dtype=torch.bool)}[extra]
    with pytest.raises(
        TypeError, match="a Memory holds its values and mask: give them to remember"
    ):
        attention(torch.zeros(3, 11), memory, **{extra: late})


def test_a_mask_in_the_place_of_values_is_told_its_name(unchecked):
    attention = Attention(AdditiveScore(3, 4, 5))
    with pytest.raises(
        ValueError, match=r"values have shape \(2, 7\); .* by its name, mask=\.\.\."
    ):
        attention(torch.zeros(2, 3), torch.zeros(2, 7, 4), torch.ones(2, 7).bool())


@pytest.mark.parametrize("kind", [Attention, HardAttention])
@pytest.mark.parametrize("score", ["dot", torch.nn.Identity()])
def test_what_is_no_score_is_refused(kind, score, unchecked):
    with pytest.raises(TypeError, match=r"score is .*; expected a score module, such as DotScore"):
        kind(score)


@pytest.mark.parametrize("values", [(3, 5, 17), (2, 7, 17), (3, 7)])
def test_values_that_do_not_fit_the_keys_are_refused(values, unchecked):
    with pytest.raises(ValueError, match=r"expected \(batch, keys, d_value\) = \(3, 7, d_value\)"):
        ScaledDotProductAttention()(torch.zeros(3, 11), torch.zeros(3, 7, 11), torch.zeros(values))
    with pytest.raises(ValueError, match=r"\(3, 7, d_value\) to fit weights of shape \(3, 5, 7\)"):
        attend(torch.zeros(3, 5, 7), torch.zeros(values))


def test_a_memory_of_another_batch_is_refused(unchecked):
    attention = BahdanauAttention(11, 13, 19)
    with pytest.raises(ValueError, match="query has shape"):
        attention(torch.zeros(2, 11), attention.remember(torch.zeros(3, 7, 13)))


@every_rubbish
@either_side
def test_values_at_padding_reach_neither_the_weighted_sum_nor_a_gradient(rubbish, side):
    scores, values = torch.randn(BATCH, QUERIES, KEYS), torch.randn(BATCH, KEYS, D_VALUE)
    real = surround(torch.ones(BATCH, KEYS, dtype=torch.bool), False, 3, side)
    padded = [surround(scores, rubbish, 3, side, dim=2), surround(values, rubbish, 3, side)]
    given = [x.requires_grad_() for x in padded]
    context, weights = attend(*given, real)
    alone = attend(scores, values)
    torch.testing.assert_close(context, alone.context)
    torch.testing.assert_close(weights[..., real[0]], alone.weights)
    for gradient in torch.autograd.grad(context.square().sum(), given):
        assert gradient.isfinite().all()
    one = attend(padded[0][:, 1], padded[1], real)
    torch.testing.assert_close(one.context, alone.context[:, 1])
