"""What holds for every kind of attention, those with a past or a window or several heads included.

What the core alone promises, and its compositions with it, is in ``test_attention.py``.
"""

import pytest
import torch

from seqattn import (
    AdditiveScore,
    BahdanauAttention,
    CoverageAttention,
    HardAttention,
    LocalAttention,
    LocationAttention,
    LuongAttention,
    Mechanism,
    Memory,
    MultiHeadAttention,
    ReducedRankAttention,
    ScaledDotProductAttention,
    check_padding,
    masked_softmax,
    padding_mask,
)
from tests.hostile import either_side, every_rubbish, spoil, surround

# Distinct primes: no swapped axis fits. Sizes are equal where a kind wants them so.
BATCH, STEPS, KEYS, D_QUERY, D_KEY, D_ATTN = 3, 5, 7, 11, 13, 17
D_EQUAL = 6

KINDS = {
    "additive": (lambda: BahdanauAttention(D_QUERY, D_KEY, D_ATTN, bias=True), D_QUERY, D_KEY),
    "dot": (lambda: LuongAttention(D_EQUAL, D_EQUAL, "dot"), D_EQUAL, D_EQUAL),
    "general": (lambda: LuongAttention(D_QUERY, D_KEY), D_QUERY, D_KEY),
    "concat": (lambda: LuongAttention(D_QUERY, D_KEY, "concat", D_ATTN), D_QUERY, D_KEY),
    "reduced rank": (lambda: ReducedRankAttention(D_QUERY, D_KEY, 2), D_QUERY, D_KEY),
    "scaled dot": (ScaledDotProductAttention, D_EQUAL, D_EQUAL),
    "location": (lambda: LocationAttention(D_QUERY, KEYS + 4), D_QUERY, D_KEY),
    "multi-head": (lambda: MultiHeadAttention(D_EQUAL, 2), D_EQUAL, D_EQUAL),
    "coverage": (lambda: CoverageAttention(D_QUERY, D_KEY, D_ATTN), D_QUERY, D_KEY),
    "local-m": (lambda: LocalAttention(D_QUERY, D_KEY, 2, "monotonic"), D_QUERY, D_KEY),
    "local-p": (lambda: LocalAttention(D_QUERY, D_KEY, 2), D_QUERY, D_KEY),
    "local-p, renormalised": (
        lambda: LocalAttention(D_QUERY, D_KEY, 2, score="concat", renormalize=True),
        D_QUERY,
        D_KEY,
    ),
    "hard": (
        lambda: HardAttention(AdditiveScore(D_QUERY, D_KEY, D_ATTN), "argmax", "straight-through"),
        D_QUERY,
        D_KEY,
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def build(kind, dtype=torch.float64):
    attention = KINDS[kind][0]().to(dtype)
    for p in attention.parameters():
        torch.nn.init.normal_(p, std=0.4)  # what starts at zero would hide
    return attention


def inputs(kind, dtype=torch.float64, batch=BATCH, steps=STEPS, keys=KEYS):
    _, d_query, d_key = KINDS[kind]
    query = torch.randn(batch, steps, d_query, dtype=dtype)
    return query, torch.randn(batch, keys, d_key, dtype=dtype)


def a_mask():
    return padding_mask(torch.tensor([KEYS, 2, 5]))


def look(attention, query, keys, mask=None):
    """Context and weights of all steps, as a decoder gets them."""
    memory = attention.remember(keys, mask=mask)
    return attention.look(query, memory, attention.first_past(keys))[:2]


def close(a, b, tolerance=1e-12):
    torch.testing.assert_close(a, b, atol=tolerance, rtol=0)


@every_kind
def test_steps_one_by_one_with_their_past_are_all_steps_at_once(kind):
    attention, (query, keys) = build(kind), inputs(kind)
    context, weights = look(attention, query, keys, a_mask())
    memory, past = attention.remember(keys, mask=a_mask()), attention.first_past(keys)
    for t, one in enumerate(query.unbind(1)):
        step_context, step_weights, past = attention.look(one, memory, past)
        assert step_weights.shape == (BATCH, KEYS)
        close(step_context, context[:, t])
        close(step_weights, weights[:, t])


@every_kind
def test_all_steps_in_two_parts_are_all_steps_at_once(kind):
    attention, (query, keys) = build(kind), inputs(kind)
    memory, past = attention.remember(keys, mask=a_mask()), attention.first_past(keys)
    parts = []
    for part in query.split((2, 3), 1):
        context, _, past = attention.look(part, memory, past)
        parts.append(context)
    close(torch.cat(parts, 1), look(attention, query, keys, a_mask())[0])


@every_kind
@every_rubbish
def test_a_batch_gives_what_its_sentences_give_alone_and_unpadded(kind, rubbish):
    attention, (query, keys) = build(kind), inputs(kind)
    together = look(attention, query, spoil(keys, a_mask(), rubbish), a_mask())
    for b, length in enumerate(a_mask().sum(1).tolist()):
        alone = look(attention, query[b : b + 1], keys[b : b + 1, :length])
        close(alone[0][0], together[0][b])
        close(alone[1][0], together[1][b, :, :length])
        assert not together[1][b, :, length:].any()


@every_kind
@every_rubbish
@either_side
def test_hostile_pads_reach_neither_result_nor_gradient(kind, rubbish, side):
    if (kind, side) == ("location", "left"):
        return  # it knows positions alone, and counts them from where a sentence's row begins
    attention, (query, keys) = build(kind).eval(), inputs(kind)

    def results(keys, real):
        given = [query.clone().requires_grad_(), keys.clone().requires_grad_()]
        context, weights = look(attention, *given, real)
        wanted = given + list(attention.parameters())
        grads = torch.autograd.grad(
            context.square().sum(), wanted, allow_unused=True, materialize_grads=True
        )
        return context, weights, *grads

    real = torch.ones(BATCH, KEYS, dtype=torch.bool)
    alone = list(results(keys, real))
    padded = list(results(surround(keys, rubbish, 4, side), surround(real, False, 4, side)))
    at = slice(0, KEYS) if side == "right" else slice(4, None)
    pads = ~surround(real[0], False, 4, side, dim=0)
    assert not padded[1][..., pads].any()
    assert not padded[3][:, pads].any()
    padded[1], padded[3] = padded[1][..., at], padded[3][:, at]
    torch.testing.assert_close(padded, alone, atol=1e-10, rtol=1e-10)


@every_kind
def test_the_public_check_of_padding_finds_nothing(kind):
    query, keys = inputs(kind)
    for found in (
        check_padding(build(kind), query, keys),
        check_padding(build(kind), query, keys, torch.randn_like(keys)),
    ):
        # Location-based attention counts positions from where a sentence's row begins.
        assert all(kind == "location" and " left" in fault for fault in found), found


@every_kind
@every_rubbish
def test_a_sentence_that_is_all_padding_gives_nothing(kind, rubbish):
    attention, (query, keys) = build(kind), inputs(kind)
    real = padding_mask(torch.tensor([KEYS, 0, 2]), KEYS)
    context, weights = look(attention, query, spoil(keys, real, rubbish), real)
    raw = attention(query, spoil(keys, real, rubbish), None, real)
    assert context.isfinite().all()
    assert not weights[1].any()
    close(raw.context, context)


@every_kind
def test_raw_keys_are_remembered_keys(kind):
    attention, (query, keys) = build(kind), inputs(kind)
    context, weights = attention(query, keys, None, a_mask())[:2]
    again = attention(query, attention.remember(keys, mask=a_mask()))
    close((context, weights), (again.context, again.weights))
    with pytest.raises(TypeError, match="a Memory holds its values and mask"):
        attention(query, attention.remember(keys), None, a_mask())


@every_kind
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_scores_in_the_ten_thousands_stay_finite_in_half_precision(kind, dtype):
    attention = build(kind, dtype)
    query, keys = inputs(kind, dtype)
    keys[:, ::2] *= 100.0
    query *= 30.0
    mask = padding_mask(torch.tensor([KEYS, 0, 5]), KEYS)
    context, weights = look(attention, query, keys, mask)
    assert context.dtype == weights.dtype == dtype
    assert context.isfinite().all()
    assert (weights >= 0).all()
    assert not weights[1].any()
    assert bool((weights[[0, 2]].float().sum(-1) < 1.01).all())


@every_kind
def test_where_nothing_may_be_attended_gradients_are_finite(kind):
    attention, (query, keys) = build(kind), inputs(kind)
    query, keys = query.requires_grad_(), keys.requires_grad_()
    mask = padding_mask(torch.tensor([KEYS, 0, 2]), KEYS)
    keys = spoil(keys.detach(), mask, torch.nan).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        context, weights = look(attention, query, keys, mask)
        context.square().sum().backward()
    assert not weights[1].any()
    assert not keys.grad[1].any()
    assert query.grad.isfinite().all()
    for name, p in attention.named_parameters():
        assert p.grad.isfinite().all(), name


@every_kind
@pytest.mark.parametrize(
    ("batch", "steps", "keys"), [(0, 4, 7), (1, 1, 1), (2, 0, 7), (1, 3, 1), (2, 3, 0)]
)
def test_empty_and_smallest_batches(kind, batch, steps, keys):
    attention = build(kind)
    query, source = inputs(kind, batch=batch, steps=steps, keys=keys)
    context, weights = look(attention, query, source, torch.ones(batch, keys, dtype=torch.bool))
    assert context.shape[:2] == (batch, steps)
    assert weights.shape == (batch, steps, keys)
    assert context.isfinite().all()


@every_kind
def test_input_need_not_be_contiguous(kind):
    attention, (query, keys) = build(kind), inputs(kind)
    strange = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in (query, keys)]
    assert not strange[0].is_contiguous()
    mask = a_mask().T.contiguous().T
    close(look(attention, *strange, mask), look(attention, query, keys, a_mask()))


class Looking(torch.nn.Module):
    """A call of tensors alone, as exporting wants it."""

    def __init__(self, attention):
        super().__init__()
        self.attention = attention

    def forward(self, query, keys, mask):
        return look(self.attention, query, keys, mask)


def other_inputs(kind):
    """Other numbers, and a sentence where nothing may be attended."""
    torch.manual_seed(1)
    return *inputs(kind), padding_mask(torch.tensor([1, KEYS, 0]), KEYS)


@pytest.mark.slow
@every_kind
def test_torch_export_keeps_what_it_does(kind, unchecked):
    attention = build(kind)
    exported = torch.export.export(Looking(attention), (*inputs(kind), a_mask())).module()
    given = other_inputs(kind)
    close(exported(*given), look(attention, *given))


@every_kind
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_trace_keeps_what_it_does(kind, unchecked):
    attention = build(kind)
    traced = torch.jit.trace(Looking(attention), (*inputs(kind), a_mask()), check_trace=False)
    given = other_inputs(kind)
    close(traced(*given), look(attention, *given))


@pytest.mark.slow
@every_kind
def test_torch_compile_takes_every_look_whole(kind, compile_whole):
    attention = build(kind)
    given = (*inputs(kind), a_mask())
    close(compile_whole(Looking(attention))(*given), look(attention, *given))


def test_masked_softmax_under_vmap():
    scores, mask = torch.randn(4, BATCH, KEYS), torch.rand(4, BATCH, KEYS) < 0.5
    together = torch.func.vmap(masked_softmax)(scores, mask)
    for one, s, m in zip(together, scores, mask):
        close(one, masked_softmax(s, m))


def test_a_mechanism_of_ones_own_needs_no_more_than_two_methods():
    class Average(Mechanism):
        def remember(self, keys, values=None, mask=None):
            return Memory(keys, keys if values is None else values, mask)

        def forward(self, query, memory):
            return memory.values.mean(1), query.new_ones(len(query), memory.keys.shape[1])

    keys = torch.randn(2, 3, 4)
    context, _, past = Average().look(torch.randn(2, 5), Average().remember(keys))
    close(context, keys.mean(1))
    assert past is None
    with pytest.raises(NotImplementedError, match="Mechanism must define remember"):
        Mechanism().remember(keys)
