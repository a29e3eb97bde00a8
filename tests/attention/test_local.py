"""Local attention: against loops, truly local, and global where the window covers everything."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.utils.flop_counter import FlopCounterMode

from seqattn import (
    LocalAttention,
    LocationAttention,
    ReducedRankAttention,
    padding_mask,
)
from seqattn.attention import online_softmax_attention
from tests import oracles
from tests.hostile import either_side, every_rubbish, surround

B, T, K, D_QUERY, D_KEY, D_VALUE, WINDOW = 3, 5, 23, 11, 13, 7, 3
LENGTHS = torch.tensor([K, 6, 1])
MASK = padding_mask(LENGTHS, K)


def build(alignment="predictive", dtype=torch.float64, window=WINDOW, **options):
    return LocalAttention(D_QUERY, D_KEY, window, alignment, **options).to(dtype)


def inputs(dtype=torch.float64, batch=B, steps=T, keys=K):
    shapes = (batch, steps, D_QUERY), (batch, keys, D_KEY), (batch, keys, D_VALUE)
    return [torch.randn(*shape, dtype=dtype) for shape in shapes]


def looped(attention, s, t, keys, values, length):
    """Equations 7, 9 and 10 of the paper, for one query and one sentence without padding."""
    p = {n.rpartition(".")[2]: x.detach().double().numpy() for n, x in attention.named_parameters()}
    centre = float(t)
    if "v_p" in p:
        centre = length / (1 + math.exp(-(p["v_p"] @ np.tanh(p["W_p"] @ s))))
    seen = [i for i in range(length) if centre - WINDOW <= i <= centre + WINDOW]
    weights, context = np.zeros(len(keys)), np.zeros(values.shape[-1])
    if seen:
        softmax = oracles.softmax(np.array([oracles.general(s, keys[i], p["W"]) for i in seen]))
        for i, alpha in zip(seen, softmax):
            sigma = WINDOW / 2
            near = math.exp(-((i - centre) ** 2) / (2 * sigma**2)) if "v_p" in p else 1.0
            weights[i] = alpha * near
    if attention.renormalize:
        weights /= weights.sum()
    for i in seen:
        context += weights[i] * values[i]
    return context, weights


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("alignment", ["predictive", "monotonic"])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_output_is_the_formula(alignment, renormalize, dtype, atol):
    attention = build(alignment, dtype, renormalize=renormalize and alignment == "predictive")
    queries, keys, values = inputs(dtype)
    context, weights = attention(queries, keys, values, MASK)
    for b, length in enumerate(LENGTHS.tolist()):
        arrays = [x[b].double().numpy() for x in (keys, values)]
        for t in range(T):
            expected = looped(attention, queries[b, t].double().numpy(), t, *arrays, length)
            found = context[b, t].detach().double(), weights[b, t].detach().double()
            np.testing.assert_allclose(found[0], expected[0], atol=atol, rtol=0)
            np.testing.assert_allclose(found[1], expected[1], atol=atol, rtol=0)


@given(st.integers(0, 10**6))
def test_nothing_outside_the_window_or_the_sentence_is_touched(seed):
    torch.manual_seed(seed)
    attention, (queries, keys, values) = build(), inputs()
    for remembered in (False, True):
        for t in range(T):
            clean = attention(queries[:, t], keys, values, MASK)
            # A Gaussian reaches everywhere in the window: what has no weight was not seen.
            outside = clean.weights == 0
            spoilt = [x.masked_fill(outside.unsqueeze(-1), torch.nan) for x in (keys, values)]
            if remembered:
                again = attention(queries[:, t], attention.remember(*spoilt, MASK))
            else:
                again = attention(queries[:, t], *spoilt, MASK)
            torch.testing.assert_close(again.context, clean.context)
            assert ((clean.weights > 0).sum(-1) <= 2 * WINDOW + 1).all()


def test_a_step_costs_the_same_for_any_length():
    attention, counts = build(), set()
    for length in (50, 500, 2000):
        query, keys, _ = inputs(batch=1, steps=1, keys=length)
        with FlopCounterMode(display=False) as counter:
            attention(query[:, 0], keys)
        counts.add(counter.get_total_flops())
    assert len(counts) == 1


def test_a_step_on_remembered_keys_costs_the_same_and_remembering_them_does_not():
    attention, steps, before = build(), set(), []
    for length in (50, 500, 2000):
        query, keys, _ = inputs(batch=1, steps=1, keys=length)
        with FlopCounterMode(display=False) as counter:
            memory = attention.remember(keys)
        before.append(counter.get_total_flops() / length)
        with FlopCounterMode(display=False) as counter:
            attention(query[:, 0], memory)
        steps.add(counter.get_total_flops())
    assert len(steps) == 1
    assert before[0] > 0
    assert len(set(before)) == 1


def test_a_window_over_everything_is_global_attention():
    queries, keys, values = inputs()
    local = build("monotonic", window=K)
    whole = local.global_attention(queries, keys, values, MASK)
    found = local(queries, keys, values, MASK)
    torch.testing.assert_close(found.context, whole.context)
    torch.testing.assert_close(found.weights, whole.weights)
    # With a Gaussian the limit is reached as the window grows.
    wide = build("predictive", window=10**4)
    whole = wide.global_attention(queries, keys, values, MASK)
    torch.testing.assert_close(
        wide(queries, keys, values, MASK).weights, whole.weights, atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("alignment", ["predictive", "monotonic"])
def test_step_by_step_is_all_steps_at_once(alignment):
    attention, (queries, keys, values) = build(alignment), inputs()
    whole = attention(queries, keys, values, MASK)
    memory = attention.remember(keys, values, MASK)
    for t in range(T):
        raw = attention(queries[:, t], keys, values, MASK, position=t)
        torch.testing.assert_close(raw.context, whole.context[:, t])
        step = attention(queries[:, t], memory, position=torch.tensor([t] * B))
        torch.testing.assert_close(step.weights, whole.weights[:, t])
    later = attention(queries[:, 2:], memory, position=2)
    torch.testing.assert_close(later.context, whole.context[:, 2:])


@pytest.mark.parametrize("alignment", ["predictive", "monotonic"])
@every_rubbish
@either_side
def test_padding_moves_no_centre(alignment, rubbish, side):
    attention, (queries, keys, values) = build(alignment), inputs()
    real = surround(torch.ones(B, K, dtype=torch.bool), False, 5, side)
    long = [surround(x, rubbish, 5, side) for x in (keys, values)]
    at = slice(0, K) if side == "right" else slice(5, None)
    short, padded = attention(queries, keys, values), attention(queries, *long, real)
    torch.testing.assert_close(padded.context, short.context)
    torch.testing.assert_close(padded.weights[..., at], short.weights)
    one = attention(queries[:, 2], *long, real, position=2)  # raw: its window is projected alone
    torch.testing.assert_close(one.context, short.context[:, 2])


def test_rows_sum_to_less_than_one_unless_renormalised():
    queries, keys, values = inputs()
    sums = build()(queries, keys, values).weights.sum(-1)
    assert (sums < 1).all()
    again = build(renormalize=True)(queries, keys, values).weights.sum(-1)
    torch.testing.assert_close(again, torch.ones(B, T).double())


def test_past_the_end_nothing_is_seen():
    attention, (queries, keys, values) = build("monotonic"), inputs()
    context, weights = attention(queries[:, 0], keys, values, MASK, position=K)
    assert (weights[1:] == 0).all()
    assert (context[1:] == 0).all()
    assert (weights[0] > 0).sum() == WINDOW


def test_the_centre_learns():
    attention = build()
    attention(*inputs()).context.square().sum().backward()
    assert all(p.grad.abs().max() > 0 for p in attention.parameters())


def test_gradcheck():
    attention = build()
    query, keys, values = (x.requires_grad_() for x in inputs(batch=2, steps=2, keys=9))
    mask = padding_mask(torch.tensor([9, 0]), 9)
    assert gradcheck(lambda *x: tuple(attention(*x, mask)), (query, keys, values))


def test_dropout_is_not_in_the_weights_returned():
    attention, given = build(dropout=0.5), inputs()
    context, weights = attention(*given)
    attention.eval()
    calm = attention(*given)
    torch.testing.assert_close(weights, calm.weights)
    assert not torch.allclose(context, calm.context)


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
def test_every_score_of_luong_goes_with_it(score):
    attention = LocalAttention(D_KEY, D_KEY, WINDOW, score=score).double()
    _, keys, values = inputs()
    context, weights = attention(keys[:, :T], keys, values, MASK)
    assert context.shape == (B, T, D_VALUE)
    assert weights.shape == (B, T, K)


@pytest.mark.parametrize(("batch", "steps", "keys"), [(0, 5, 7), (1, 1, 1), (2, 0, 7)])
def test_small_and_empty_batches(batch, steps, keys):
    context, weights = build()(*inputs(batch=batch, steps=steps, keys=keys))
    assert context.shape == (batch, steps, D_VALUE)
    assert weights.shape == (batch, steps, keys)


@pytest.mark.parametrize("alignment", ["predictive", "monotonic"])
def test_torch_compile_takes_it_whole(alignment, compile_whole):
    attention, given = build(alignment), (*inputs(), MASK)
    compiled = compile_whole(attention)
    torch.testing.assert_close(compiled(*given).context, attention(*given).context)


@pytest.mark.parametrize(
    "build",
    [
        lambda half: LocalAttention(3, 4, window=half),
        lambda half: LocationAttention(3, max_len=half),
        lambda half: ReducedRankAttention(3, 4, rank=half),
        lambda half: online_softmax_attention(*[torch.randn(2, 3, 4)] * 3, block=half),
    ],
)
def test_half_a_position_is_refused(build, unchecked):
    with pytest.raises(ValueError, match=r" is 1\.5; expected a whole number"):
        build(1.5)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: LocalAttention(3, 4, 0), ValueError, "window is 0; expected at least 1"),
        (lambda: build("diagonal"), ValueError, "alignment is 'diagonal'; expected 'predictive'"),
        (
            lambda: build("monotonic")(inputs()[0][:, 0], inputs()[1]),
            ValueError,
            "needs the position of the query",
        ),
        (
            lambda: build()(inputs()[0], build().remember(inputs()[1]), mask=MASK),
            TypeError,
            "give them to remember",
        ),
        (
            lambda: build()(*inputs(), torch.ones(B, T, K).bool()),
            ValueError,
            "expected a padding mask",
        ),
        (
            lambda: build().remember(inputs()[1], mask=torch.ones(T, K).bool()),
            ValueError,
            r"mask has shape \(5, 23\); local attention expected a padding mask",
        ),
        (
            lambda: build().remember(inputs()[1], mask=MASK.int()),
            TypeError,
            "mask has dtype torch.int32; expected torch.bool",
        ),
        (
            lambda: build()(inputs()[0][:, 0], inputs()[1], mask=MASK.int()),
            TypeError,
            "mask has dtype torch.int32; expected torch.bool",
        ),
        (
            lambda: build().remember(inputs()[1], mask=MASK.index_fill(1, torch.tensor(3), False)),
            ValueError,
            "the mask of sentence 0 has padding between real tokens; local attention expected",
        ),
        (
            lambda: build()(
                inputs()[0][:, 0], inputs()[1], mask=MASK.index_fill(1, torch.tensor(3), False)
            ),
            ValueError,
            "expected real tokens without gaps",
        ),
        (
            lambda: build().remember(inputs()[1], inputs(keys=K + 1)[2]),
            ValueError,
            r"values have shape \(3, 24, 7\); expected .* = \(3, 23, d_value\)",
        ),
        (
            lambda: build()(inputs()[0][:, 0], inputs()[1], inputs(keys=K + 1)[2]),
            ValueError,
            r"values have shape \(3, 24, 7\)",
        ),
        (
            lambda: build()(inputs()[0][:, 0], inputs(batch=1)[1]),
            ValueError,
            "with the same batch",
        ),
        (
            lambda: build()(inputs()[0], build().remember(inputs(batch=1)[1])),
            ValueError,
            "with the same batch",
        ),
        (
            lambda: build("monotonic")(*inputs(), position=1.5),
            ValueError,
            "position is 1.5; expected a whole number",
        ),
        (
            lambda: build("monotonic")(*inputs(), position=-1),
            ValueError,
            "position is -1; expected at least 0",
        ),
        (
            lambda: build("monotonic")(*inputs(), position=torch.zeros(B + 1, dtype=torch.long)),
            ValueError,
            rf"position has shape \({B + 1},\); expected \({B},\), one for each sentence",
        ),
        (
            lambda: build("monotonic")(*inputs(), position=torch.full((B,), math.nan)),
            ValueError,
            "position has dtype torch.float32; expected whole numbers",
        ),
        (
            lambda: build().reach(inputs()[0][:, 0], 5),
            ValueError,
            r"query has shape \(3, 11\); expected \(batch, queries, d_query\)",
        ),
    ],
)
def test_errors_name_what_was_wrong(call, error, said, unchecked):
    with pytest.raises(error, match=said):
        call()


def test_the_narrowest_window_has_one_position_to_each_side():
    attention, (query, keys, values) = build("monotonic", window=1), inputs()
    weights = attention(query[:, 0], keys, values, position=4).weights
    assert weights[0].nonzero()[:, 0].tolist() == [3, 4, 5]


@pytest.mark.parametrize("score", ["general", "concat"])
def test_one_query_on_raw_keys_gives_what_it_gives_on_remembered_ones(score):
    attention, (query, keys, values) = build(score=score), inputs()
    raw = attention(query[:, 0], keys, values, MASK)
    remembered = attention(query[:, 0], attention.remember(keys, values, MASK))
    torch.testing.assert_close(raw, remembered)


def test_weights_of_the_centre_start_within_their_bound_and_around_zero():
    attention = LocalAttention(100, 3, 2)
    for p in (attention.W_p, attention.v_p):
        assert 0.09 < p.abs().max() <= 0.1
        assert p.abs().mean().item() == pytest.approx(0.05, rel=0.2)
        assert abs(p.mean().item()) < 0.02


HALF = [torch.bfloat16, torch.float16]


def twin(attention):
    """The same weights in 32 bits."""
    other = copy.deepcopy(attention)
    return other.float()


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("position", [255, 257, 301, 399])
def test_a_step_keeps_its_window_in_half_precision(dtype, position):
    # bfloat16 has no number between 300 and 302: the window of 301 would be that of another word.
    attention = LocalAttention(D_QUERY, D_KEY, 1, "monotonic").to(dtype)
    query, keys = torch.randn(B, D_QUERY, dtype=dtype), torch.randn(B, 400, D_KEY, dtype=dtype)
    weights = attention(query, keys, position=position).weights
    assert weights.dtype == dtype
    around = [i for i in (position - 1, position, position + 1) if i < 400]
    assert all(row.nonzero().flatten().tolist() == around for row in weights)
    several = attention(query.unsqueeze(1).expand(-1, 3, -1), keys, position=position - 2).weights
    assert several[0, 2].nonzero().flatten().tolist() == around


@pytest.mark.parametrize("dtype", HALF)
def test_a_predicted_window_is_where_32_bits_put_it(dtype):
    attention = LocalAttention(D_QUERY, D_KEY, 3).to(dtype)
    query, keys = torch.randn(64, D_QUERY, dtype=dtype), torch.randn(64, 400, D_KEY, dtype=dtype)
    context, weights = attention(query, keys)
    assert context.dtype == weights.dtype == dtype
    exact = twin(attention)(query.float(), keys.float())
    seen = exact.weights > 1e-4  # the Gaussian's tail is below half precision's smallest numbers
    assert ((weights > 0) & seen).equal(seen)
    torch.testing.assert_close(weights.float(), exact.weights, atol=0.03, rtol=0)


def test_autocast_does_not_shift_a_predicted_window():
    attention = LocalAttention(D_QUERY, D_KEY, 3)
    query, keys = torch.randn(64, D_QUERY), torch.randn(64, 400, D_KEY)
    plain = attention(query, keys).weights
    with torch.autocast("cpu", torch.bfloat16):
        half = attention(query, keys).weights
    assert ((half > 0) == (plain > 0)).all()
